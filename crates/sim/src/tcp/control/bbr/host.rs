//! Rules of Linux's version 1 that the draft does not have (`tcp_bbr.c` of Linux 6.12): the window has room for bursts of
//! the host and for aggregated acknowledgements, and packets are paced 1 % below the estimated bandwidth.

use forebay_aqm::base::time::Instant;

use super::super::super::congestion::Progress;
use super::super::super::window::Window;
use super::super::extra_acked::ExtraAcked;
use super::{Bbr, Phase};

/// `bbr_pacing_margin_percent`.
const MARGIN: f64 = 0.99;
/// `bbr_extra_acked_max_us`: the allowance for aggregation is at most what the bandwidth carries in this time, in seconds.
const EXTRA_LASTS: f64 = 0.1;
/// `bbr_min_tso_rate`: below this pacing rate a burst has one packet. 1.2 Mb/s, in packets of 1448 bytes per second.
const SINGLE_RATE: f64 = 1.2e6 / (8.0 * 1448.0);
/// `sk_pacing_shift`: a burst lasts 1/1024 s.
const BURSTS_PER_S: f64 = 1024.0;

/// State of the allowance for aggregated acknowledgements.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    extra: ExtraAcked,
}

impl Host {
    /// A new epoch begins: data is sent after idle time.
    pub(super) const fn restart(&mut self, now: Instant) {
        self.extra.restart(now);
    }
}

impl Bbr {
    /// Factor on the pacing rate.
    pub(super) const fn margin(&self) -> f64 {
        if self.host.is_some() { MARGIN } else { 1.0 }
    }

    /// `bbr_update_ack_aggregation`.
    pub(super) fn count_extra(&mut self, window: &Window, progress: Progress) {
        let (bandwidth, round) = (self.bandwidth(), self.round_start);
        if let Some(host) = &mut self.host {
            host.extra.update(bandwidth, progress, window.cwnd(), (true, round));
        }
    }

    /// `bbr_ack_aggregation_cwnd`: packets of the window for aggregated acknowledgements.
    pub(super) fn extra(&self) -> f64 {
        let host = self.host.as_ref().filter(|_| self.filled_pipe);
        host.map_or(0.0, |host| host.extra.get().min(self.bandwidth() * EXTRA_LASTS))
    }

    /// `bbr_quantization_budget`: a window with room for three bursts, an even number of packets, and two more while the
    /// rate is probed.
    pub(super) fn budget(&self, packets: f64) -> f64 {
        let rate = self.pacing_rate.unwrap_or(0.0);
        let least = if rate < SINGLE_RATE { 1.0 } else { 2.0 };
        let burst = libm::floor(rate / BURSTS_PER_S).max(least);
        let even = 2.0 * libm::ceil((packets + 3.0 * burst) / 2.0);
        let probes = self.phase == Phase::ProbeBw && self.cycle == 0;
        if probes { even + 2.0 } else { even }
    }
}

#[cfg(test)]
mod tests {
    use forebay_aqm::base::rng::Rng;
    use forebay_aqm::base::time::Span;

    use super::super::super::super::Stack;
    use super::super::super::super::congestion::{Design, Start};
    use super::*;

    fn bbr(stack: Stack) -> Bbr {
        let start = Start {
            initial_window: 10,
            virtual_rtt: Span::from_millis(25),
            low_rate: false,
            stack,
            rng: Rng::from_state([1; 4]),
        };
        let mut bbr = Bbr::new(start);
        // 1000 packets per second and 20.5 ms: 20.5 packets.
        (bbr.min_rtt, bbr.filled_pipe) = (Some(Span::from_micros(20_500)), true);
        bbr.max_rate.next_round();
        bbr.max_rate.update(1000.0);
        bbr
    }

    #[test]
    fn window_has_room_for_three_bursts() {
        assert_eq!(bbr(Stack::Rfc).in_flight_for(2.0), 44.0, "41 + 3");
        let mut linux = bbr(Stack::Linux);
        assert_eq!(linux.in_flight_for(2.0), 44.0, "41 + 3 x 1: no rate yet");
        linux.set_pacing_rate(1.0);
        assert_eq!(linux.pacing_rate, Some(990.0));
        assert_eq!(linux.in_flight_for(2.0), 48.0, "41 + 3 x 2, rounded up to an even number");
        (linux.phase, linux.cycle) = (Phase::ProbeBw, 0);
        assert_eq!(linux.in_flight_for(2.0), 50.0, "two more while the rate is probed");
        linux.cycle = 1;
        assert_eq!(linux.in_flight_for(1.0), 28.0, "21 + 3 x 2, rounded up");
        linux.pacing_rate = Some(5000.0);
        assert_eq!(linux.in_flight_for(1.0), 34.0, "21 + 3 x 4, rounded up");
    }

    #[test]
    fn equal_round_trip_does_not_renew_the_minimum() {
        for (stack, at) in [(Stack::Rfc, 3), (Stack::Linux, 0)] {
            let mut bbr = bbr(stack);
            let now = Instant::ZERO + Span::from_millis(3);
            assert!(!bbr.update_min_rtt(now, bbr.min_rtt));
            assert_eq!(bbr.min_rtt_at, Instant::ZERO + Span::from_millis(at));
        }
    }
}
