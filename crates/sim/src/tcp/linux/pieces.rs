//! Segmentation offload: packets that leave at one time form a piece (`tcp_tso_autosize`). Here a piece decides only which
//! packet has the flag PSH: the last of several (`__tcp_transmit_skb`). The receiver acknowledges such a packet at once.
//!
//! Left out: deferring a packet until a larger piece can leave (`tcp_tso_should_defer`).

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::CongestionControl;
use super::super::gate;
use super::Sender;

/// A piece is at least as long, if the window allows it (`tcp_min_tso_segs`).
const LEAST: u32 = 2;
/// Most packets of 1448 bytes in a piece of 64 KiB.
const MOST: u32 = 44;
/// Bytes in the longest piece (`sk_gso_max_size`).
const MOST_BYTES: f64 = 65536.0;
/// Bytes of a packet.
const PACKET: f64 = 1448.0;
/// A piece has the packets of this time at the pacing rate (`sk_pacing_shift`), s.
const TIME: f64 = 1.0 / 1024.0;
/// To which power of two the smallest round trip is divided, µs: each such part halves the further bytes of a piece
/// (`tcp_tso_rtt_log`).
const PART: u32 = 9;

/// The packets of the current piece.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    /// Packets that have not left.
    left: u32,
    /// More than one packet.
    is_long: bool,
}

impl Sender {
    /// A packet leaves; `again`: a retransmission. Call before it counts as sent. Returns whether it is the last of a piece of
    /// several packets.
    pub(super) fn ends_piece(&mut self, now: Instant, again: bool) -> bool {
        if again {
            self.piece.left = 0;
            return false;
        }
        if self.piece.left == 0 || now != self.last_sent {
            let left = self.next_piece();
            self.piece = Piece { left, is_long: left > 1 };
        }
        self.piece.left -= 1;
        self.piece.left == 0 && self.piece.is_long
    }

    /// Number of packets in the piece that begins now, at least 1.
    fn next_piece(&self) -> u32 {
        let window = (self.window.cwnd() as u32).saturating_sub(self.in_flight());
        let receiver = self.receiver_window.saturating_sub(self.high - self.una);
        let data = self.gate.as_ref().map_or(u32::MAX, |gate| gate.left(self.high));
        let room = window.min(receiver).min(data).max(1);
        if self.paced {
            return room.min(self.control.burst());
        }
        // Fast path: no division.
        if room <= LEAST { room } else { room.min(self.longest_piece()) }
    }

    /// `tcp_tso_autosize`.
    fn longest_piece(&self) -> u32 {
        let outstanding = f64::from(self.high - self.una);
        let interval = gate::interval_of(&self.window, outstanding, self.rtt.precise());
        let paced = if interval > Span::ZERO { PACKET * TIME / interval.secs() } else { MOST_BYTES };
        let parts = self.min_rtt.get().map_or(u32::MAX, |rtt| (rtt.nanos() / 1000 >> PART) as u32);
        let near = if parts < 32 { MOST_BYTES / f64::from(1u32 << parts.min(31)) } else { 0.0 };
        (((paced + near).min(MOST_BYTES) / PACKET) as u32).clamp(LEAST, MOST)
    }
}
