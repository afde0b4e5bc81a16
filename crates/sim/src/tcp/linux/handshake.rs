//! The end of the handshake, at the sending end.

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::CongestionControl;
use super::super::sender::Handshake;
use super::Sender;

impl Sender {
    /// Ends the handshake. Timestamps measure the round trip of a retransmitted packet too. The window starts at one
    /// packet only after two retransmissions (`tcp_init_transfer`). A connection whose SYN was retransmitted has no ECN
    /// (RFC 3168 section 6.1.1.1, `tcp_ecn_clear_syn`).
    pub(in super::super) fn opened(&mut self, now: Instant, handshake: Handshake) {
        let Handshake { rtt, retransmissions, round_trip, syn_lost, .. } = handshake;
        self.rtt = rtt;
        if round_trip > Span::ZERO {
            self.measure(now, round_trip, round_trip);
            self.control.on_open(now, round_trip);
        }
        if retransmissions > 1 {
            self.window.set(1.0);
        }
        if syn_lost {
            (self.ect, self.ecn, self.sends_cwr) = (false, false, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_aqm::base::rng::Rng;

    use super::super::super::rtt::Rtt;
    use super::super::super::{Stack, TcpOptions, Variant};
    use super::*;

    /// After a handshake of 40 ms: initial window, timeout, and whether data is ECN-capable.
    fn opened(retransmissions: u32, syn_lost: bool) -> (f64, Span, bool) {
        let options = TcpOptions { ecn: true, ..TcpOptions::of(Variant::LINUX, Some(Stack::Linux)) };
        let mut sender = Sender::new(options, Rng::from_state([1; 4]));
        let mut rtt = Rtt::new(options.timer(Span::ZERO));
        let round_trip = Span::from_millis(40);
        if retransmissions > 0 {
            rtt.begin_after_lost_syn();
        } else {
            rtt.measure(Instant::ZERO, Instant::ZERO + round_trip);
        }
        sender.opened(Instant::ZERO, Handshake { rtt, retransmissions, round_trip, syn_lost, counts_as_loss: false });
        let (window, timeout) = (sender.cwnd(), sender.rtt.timeout());
        sender.offer(Instant::ZERO, 1);
        (window, timeout, sender.poll(Instant::ZERO).unwrap().ect)
    }

    #[test]
    fn one_retransmitted_syn_keeps_window_and_timeout() {
        // srtt + max(4 x 20 ms, 200 ms).
        let timeout = Span::from_millis(240);
        assert_eq!(opened(0, false), (10.0, timeout, true));
        assert_eq!(opened(1, true), (10.0, timeout, false), "no ECN");
        assert_eq!(opened(1, false), (10.0, timeout, true), "a retransmitted answer");
        assert_eq!(opened(2, true), (1.0, timeout, false));
    }
}
