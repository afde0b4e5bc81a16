//! Proportional rate reduction (RFC 6937, as `tcp_cwnd_reduction` of Linux): a reduction of the window is spread over the
//! packets that are delivered in the round trip after it.

use super::{Sender, State};

/// State of a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// The window at its start.
    pub(super) before: u32,
    /// Packets delivered and sent since.
    delivered: u32,
    pub(super) sent: u32,
}

impl Prr {
    pub(super) const fn new(before: u32) -> Self {
        Self { before, delivered: 0, sent: 0 }
    }

    /// Packets that may be sent after `fresh` packets were delivered, `fresh > 0`. `in_flight`: packets in flight; `target`:
    /// the slow-start threshold; `clean`: the cumulative acknowledgement has advanced, and nothing was lost.
    pub(super) fn allow(&mut self, fresh: u32, in_flight: u32, target: u32, clean: bool) -> u32 {
        self.delivered += fresh;
        let [target, delivered, sent] = [target, self.delivered, self.sent].map(i64::from);
        let room = target - i64::from(in_flight);
        let allowed = if room < 0 {
            let share = (target * delivered).unsigned_abs().div_ceil(u64::from(self.before.max(1)));
            share as i64 - sent
        } else {
            ((delivered - sent).max(i64::from(fresh)) + i64::from(clean)).min(room)
        };
        // The first packet, a fast retransmit, is always sent.
        allowed.max(i64::from(sent == 0)) as u32
    }
}

impl Sender {
    /// Is a reduction under way?
    pub(super) const fn is_reducing(&self) -> bool {
        matches!(self.state, State::Reduced | State::Recovery)
    }

    /// Sets the window in the course of a reduction.
    pub(super) fn reduce_proportionally(&mut self, fresh: u32, lost: u32, advanced: bool) {
        if fresh == 0 || self.prr.before == 0 {
            return;
        }
        let in_flight = self.in_flight();
        // The conversion saturates.
        let target = self.window.ssthresh() as u32;
        let more = self.prr.allow(fresh, in_flight, target, advanced && lost == 0);
        self.window.set(f64::from(in_flight + more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 packets are outstanding, 0 is lost. Packets 3 to 19 arrive; the first packet sent is the retransmission of 0. Returns
    /// the arrivals after which a packet is sent, and the packets in flight at the end.
    fn sent_after(target: u32) -> (Vec<u32>, u32) {
        let mut prr = Prr::new(20);
        // Packets 0 to 2 have left: 0 is lost, as the arrival of 3 shows.
        let (mut in_flight, mut after) = (17, Vec::new());
        for seq in 3..20 {
            in_flight -= 1;
            let more = prr.allow(1, in_flight, target, false);
            assert!(more <= 1);
            if more == 1 {
                prr.sent += 1;
                in_flight += 1;
                after.push(seq);
            }
        }
        (after, in_flight)
    }

    #[test]
    fn reduction_is_spread_over_the_window() {
        assert_eq!(sent_after(10), (vec![3, 5, 7, 9, 11, 13, 16, 17, 18, 19], 10));
        assert_eq!(sent_after(14), (vec![3, 4, 5, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 19], 14));
    }
}
