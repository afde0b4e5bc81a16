//! Segmentation offload (TSO): packets that leave at one time form a piece (`tcp_tso_autosize`, `tcp_write_xmit`). Here a
//! piece decides only which packet has the flag PSH: the last of several (`__tcp_transmit_skb`). The receiver acknowledges
//! such a packet at once.
//!
//! Left out: packets that wait for a larger piece (`tcp_tso_should_defer`); pieces of retransmissions; PSH at the end of a
//! write within a file, and after half of the largest window. With pacing a piece is not longer than a burst.

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::CongestionControl;
use super::super::gate;
use super::Sender;

/// Packets in the shortest piece, if window and data allow it (`tcp_min_tso_segs`).
const LEAST: u32 = 2;
/// Bytes in the longest piece: `sk_gso_max_size`, 65,535 less 320 for headers.
const MOST: f64 = 65215.0;
/// Bytes of a packet.
const PACKET: f64 = 1448.0;
/// A piece has the packets of this time at the pacing rate, s (`sk_pacing_shift`).
const TIME: f64 = 1.0 / 1024.0;
/// A piece has as many bytes more as the longest piece divided by 2^n. n: number of whole units of this time in the smallest
/// round trip, ns (`tcp_tso_rtt_log`).
const UNIT: u64 = 512_000;

/// The packets of the current piece.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    /// Packets that have not left.
    left: u32,
    /// Has the piece more than one packet?
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
        let cwnd = self.window.cwnd() as u32;
        // At most half of the window (`tcp_cwnd_test`).
        let window = cwnd.saturating_sub(self.in_flight()).min(cwnd / 2);
        let receiver = self.receiver_window.saturating_sub(self.high - self.una);
        let data = self.gate.as_ref().map_or(u32::MAX, |gate| gate.left(self.high));
        let room = window.min(receiver).min(data).max(1);
        if self.paced {
            return room.min(self.control.burst());
        }
        // Fast path: no division.
        if room <= LEAST { room } else { room.min(self.longest_piece()) }
    }

    /// Most packets in a piece (`tcp_tso_autosize`). Before the first measurement of a round trip: as many as fit.
    fn longest_piece(&self) -> u32 {
        let outstanding = f64::from(self.high - self.una);
        let interval = gate::interval_of(&self.window, outstanding, self.rtt.precise());
        let paced = if interval > Span::ZERO { PACKET * TIME / interval.secs() } else { MOST };
        let units = self.min_rtt.get().map_or(u64::MAX, |rtt| rtt.nanos() / UNIT);
        let near = if units < 32 { MOST / (1u64 << units) as f64 } else { 0.0 };
        (((paced + near).min(MOST) / PACKET) as u32).max(LEAST)
    }
}
