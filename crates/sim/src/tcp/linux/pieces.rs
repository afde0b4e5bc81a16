//! Segmentation offload (TSO): packets that leave at one time form a piece (`tcp_write_xmit`, `tcp_tso_autosize`). The last
//! packet of a piece of several has the flag PSH (`__tcp_transmit_skb`); the receiver acknowledges it at once. A packet may
//! wait for the next acknowledgement, so that a longer piece can leave (`tcp_tso_should_defer`).
//!
//! Left out: pieces of retransmissions; PSH at the end of a write within a file, and after half of the largest window. With
//! pacing a piece is not longer than a burst, and no packet waits.

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::CongestionControl;
use super::super::gate;
use super::{Sender, State};

/// A piece may have this number of packets at any pacing rate (`tcp_min_tso_segs`).
const LEAST: u32 = 2;
/// Bytes in the longest piece: `sk_gso_max_size`, 65,535 less 320 for headers.
const MOST: f64 = 65215.0;
/// Bytes of a packet.
const PACKET: f64 = 1448.0;
/// A piece may have the packets that the pacing rate sends in this time, s (`sk_pacing_shift`).
const TIME: f64 = 1.0 / 1024.0;
/// A piece may be longer if the round trip is short: by [`MOST`] / 2^n bytes, where the smallest round trip has n whole units
/// of this time, ns (`tcp_tso_rtt_log`).
const UNIT: u64 = 512_000;

/// A packet waits only if the last one left within this time, and if an acknowledgement is expected within it.
const SOON: Span = Span::from_millis(1);
/// A packet waits only if less than this part of the window is free (`tcp_tso_win_divisor`).
const FREE_PART: u32 = 3;

/// The packets of the current piece.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    /// Packets that have not left.
    left: u32,
    /// Has the piece more than one packet?
    is_long: bool,
    /// A packet waits for a longer piece.
    pub(super) waits: bool,
}

impl Sender {
    /// May a packet of new data leave now? It may if the current piece has packets left, or if a new piece may begin.
    pub(super) fn has_piece(&mut self, now: Instant) -> bool {
        if self.piece.left > 0 && now == self.last_sent {
            return true;
        }
        let left = self.next_piece(now);
        self.piece = Piece { left, is_long: left > 1, waits: left == 0 };
        left > 0
    }

    /// A packet leaves; `again`: a retransmission. Returns whether it is the last of a piece of several packets.
    pub(super) fn ends_piece(&mut self, again: bool) -> bool {
        if again || self.piece.left == 0 {
            self.piece.left = 0;
            return false;
        }
        self.piece.left -= 1;
        self.piece.left == 0 && self.piece.is_long
    }

    /// Number of packets in a piece that begins now; 0: no piece may begin, the packets wait.
    fn next_piece(&self, now: Instant) -> u32 {
        let cwnd = self.window.cwnd() as u32;
        let receiver = self.receiver_window.saturating_sub(self.high - self.una);
        let free = cwnd.saturating_sub(self.in_flight()).min(receiver);
        let data = self.gate.as_ref().map_or(u32::MAX, |gate| gate.left(self.high));
        // At most half of the window (`tcp_cwnd_test`).
        let most = free.min(cwnd / 2).min(data).max(1);
        if self.paced {
            return most.min(self.control.burst());
        }
        let longest = self.longest_piece();
        if data > 1 && free < longest && self.waits(now, free) { 0 } else { most.min(longest) }
    }

    /// Does a packet wait for the next acknowledgement? `free`: packets that the windows allow (`tcp_tso_should_defer`).
    fn waits(&self, now: Instant, free: u32) -> bool {
        let window = (self.window.cwnd() as u32).min(self.receiver_window);
        if matches!(self.state, State::Recovery | State::Loss)
            || now.since(self.last_sent) >= SOON
            || free >= window.div_ceil(FREE_PART)
            || self.una == self.high
        {
            return false;
        }
        let srtt = self.rtt.precise();
        let expected = self.packets.get(self.una).sent + srtt;
        srtt > Span::ZERO && expected <= now + SOON.min(Span::from_nanos(srtt.nanos() / 2))
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
