//! Rules of Linux's version 1 that the draft does not have (`tcp_bbr.c` of Linux 6.12):
//! - packets leave in bursts, 1 % slower than the estimated bandwidth;
//! - packets that the path delivers before the next burst do not count as in flight;
//! - the window has room for three bursts and for aggregated acknowledgements;
//! - a recovery that begins with the acknowledgement that ends another does not reduce the window.

use forebay_aqm::base::time::{Instant, Span};

use super::super::super::congestion::Progress;
use super::super::super::window::Window;
use super::super::rate::Sample;
use super::super::rate::extra_acked::ExtraAcked;
use super::policer::{Change, Observation, Policer};
use super::{Bbr, CYCLE, Phase};

/// `bbr_pacing_margin_percent`.
const MARGIN: f64 = 0.99;
/// `bbr_extra_acked_max_us`: the allowance for aggregation is at most what the bandwidth carries in this time, in seconds.
const EXTRA_LASTS: f64 = 0.1;
/// `bbr_min_tso_rate`: below this pacing rate a burst has one packet. 1.2 Mb/s, in packets of 1448 bytes per second.
const SINGLE_RATE: f64 = 1.2e6 / (8.0 * 1448.0);
/// `sk_pacing_shift`: a burst lasts 1/1024 s.
const BURSTS_PER_S: f64 = 1024.0;
/// Longest burst: 65,535 bytes less 320 for headers (`GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER`), in packets of 1448 bytes.
const MOST: f64 = 45.0;

/// The congestion state of the sender, as far as the control distinguishes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Open,
    Recovery,
    Loss,
}

/// State of the additional rules.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    extra: ExtraAcked,
    pub(super) policer: Policer,
    /// Now, and when the latest acknowledgement that delivered a packet had been processed (`prev_ca_state`).
    state: State,
    seen: State,
}

impl Host {
    /// A new epoch begins: data is sent after idle time.
    pub(super) const fn restart(&mut self, now: Instant) {
        self.extra.restart_empty(now);
    }
}

impl Bbr {
    /// Factor on the pacing rate.
    pub(super) const fn margin(&self) -> f64 {
        if self.host.is_some() { MARGIN } else { 1.0 }
    }

    /// `bbr_bw`: the bandwidth by which packets are sent, in packets per second.
    pub(super) fn sending_bandwidth(&self) -> f64 {
        let policed = self.host.as_ref().and_then(|host| host.policer.rate());
        policed.unwrap_or_else(|| self.bandwidth())
    }

    /// Pacing gain of the current phase of ProbeBW.
    pub(super) fn probing_gain(&self) -> f64 {
        let policed = self.host.as_ref().is_some_and(|host| host.policer.rate().is_some());
        if policed { 1.0 } else { CYCLE[self.cycle] }
    }

    /// `bbr_lt_bw_sampling`. `app_limited`: the data of the sender limited the sample.
    pub(super) fn watch_for_policer(&mut self, now: Instant, has_loss: bool, app_limited: bool) {
        let Some(host) = &mut self.host else { return };
        let change = host.policer.observe(Observation {
            now,
            delivered: self.sampler.delivered,
            has_loss,
            app_limited,
            round_start: self.round_start,
            is_probing_bandwidth: self.phase == Phase::ProbeBw,
        });
        match change {
            Change::Found if self.phase == Phase::ProbeBw => self.pacing_gain = 1.0,
            Change::Over => self.enter_probe_bw(now),
            Change::Found | Change::None => {}
        }
    }

    /// `bbr_update_ack_aggregation`.
    pub(super) fn count_extra(&mut self, window: &Window, progress: Progress, sample: &Sample) {
        if sample.rate.is_none() || progress.delivered == 0 {
            return;
        }
        let (bandwidth, round) = (self.sending_bandwidth(), self.round_start);
        if let Some(host) = &mut self.host {
            host.extra.update(bandwidth, progress, window.cwnd(), (true, round));
        }
    }

    /// `bbr_ack_aggregation_cwnd`: packets of the window for aggregated acknowledgements.
    pub(super) fn extra(&self) -> f64 {
        let host = self.host.as_ref().filter(|_| self.filled_pipe);
        host.map_or(0.0, |host| host.extra.get().min(self.sending_bandwidth() * EXTRA_LASTS))
    }

    /// Fast recovery begins. [`update_recovery`](Self::update_recovery) reacts to it. On the stack of the RFCs: false.
    pub(super) fn begins_recovery(&mut self, window: &Window) -> bool {
        let Some(host) = &mut self.host else { return false };
        host.state = State::Recovery;
        self.save(window);
        true
    }

    /// Recovery ends. [`update_recovery`](Self::update_recovery) reacts to it. On the stack of the RFCs: false.
    pub(super) const fn ends_recovery(&mut self) -> bool {
        let Some(host) = &mut self.host else { return false };
        host.state = State::Open;
        true
    }

    /// `bbr_set_state`: after a timeout the search for a full pipe restarts. For a policer it counts as a round.
    pub(super) fn note_timeout(&mut self) {
        if let Some(host) = &mut self.host {
            (host.state, host.seen) = (State::Loss, State::Loss);
            (self.full_rate, self.round_start) = (0.0, true);
            self.watch_for_policer(self.sampler.delivered_at, true, false);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: the window after an acknowledgement that delivers `delivered` packets, before it
    /// grows. A recovery that begins with the acknowledgement that ends another is no change of the state.
    pub(super) fn update_recovery(&mut self, window: &Window, progress: Progress, delivered: f64) -> f64 {
        let mut cwnd = window.cwnd();
        if progress.lost > 0 {
            cwnd = (cwnd - f64::from(progress.lost)).max(1.0);
        }
        let Some(host) = &mut self.host else { return cwnd };
        let before = core::mem::replace(&mut host.seen, host.state);
        self.in_recovery = host.state != State::Open;
        if host.state == State::Recovery && before != State::Recovery {
            self.conserving = true;
            self.round_ends = self.sampler.delivered;
            cwnd = f64::from(progress.in_flight.1) + delivered;
        } else if before != State::Open && host.state == State::Open {
            self.conserving = false;
            cwnd = cwnd.max(self.prior_cwnd);
        }
        cwnd
    }

    /// `bbr_packets_in_net_at_edt`: packets in the network when the next burst leaves, of `in_flight` now. The path delivers
    /// some before. While the rate grows the burst counts too. On the stack of the RFCs: `in_flight`.
    pub(super) fn in_network(&self, in_flight: u32, pause: Span) -> f64 {
        let now = f64::from(in_flight);
        if self.host.is_none() {
            return now;
        }
        let burst = if self.pacing_gain > 1.0 { self.burst_goal() } else { 0.0 };
        (now + burst - libm::floor(self.sending_bandwidth() * pause.secs())).max(0.0)
    }

    /// `bbr_tso_segs_goal`: packets that leave at once.
    pub(super) fn burst_goal(&self) -> f64 {
        let rate = self.pacing_rate.unwrap_or(0.0);
        let least = if rate < SINGLE_RATE { 1.0 } else { 2.0 };
        libm::floor(rate / BURSTS_PER_S).clamp(least, MOST)
    }

    /// `bbr_quantization_budget`: a window with room for three bursts, an even number of packets, and two more while the
    /// rate is probed.
    pub(super) fn budget(&self, packets: f64) -> f64 {
        let burst = self.burst_goal();
        let even = 2.0 * libm::ceil((packets + 3.0 * burst) / 2.0);
        let probes = self.phase == Phase::ProbeBw && self.cycle == 0;
        if probes { even + 2.0 } else { even }
    }
}

#[cfg(test)]
mod tests {
    use forebay_aqm::base::rng::Rng;

    use super::super::super::super::congestion::{CongestionControl, Design, Start};
    use super::super::super::super::{Stack, TcpOptions};
    use super::*;

    fn bbr(stack: Stack) -> Bbr {
        let options = TcpOptions { initial_window: 10, stack: Some(stack), ..TcpOptions::default() };
        let mut bbr = Bbr::new(Start::new(&options, Rng::from_state([1; 4])));
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
        linux.pacing_rate = Some(1e6);
        assert_eq!(linux.in_flight_for(1.0), 156.0, "21 + 3 x 45: a burst has at most 45 packets");
    }

    fn progress(lost: u32) -> Progress {
        Progress {
            now: Instant::ZERO + Span::from_millis(50),
            in_flight: (20, 18),
            lost,
            delivered: 2,
            marked: 0,
            is_done: false,
            una: 10,
            high: 30,
            srtt: Span::ZERO,
            is_limited: true,
            pause: Span::ZERO,
        }
    }

    #[test]
    fn recovery_that_follows_another_at_once_keeps_the_window() {
        let mut bbr = bbr(Stack::Linux);
        let mut window = Window::new(48.0, f64::INFINITY);
        bbr.cwnd_gain = 2.0;
        bbr.on_loss(&mut window);
        bbr.set_cwnd(&mut window, progress(1), 2);
        assert_eq!(window.cwnd(), 20.0, "18 in flight + 2 delivered");
        bbr.conserving = false;
        bbr.on_recovered(&mut window);
        bbr.on_loss(&mut window);
        bbr.set_cwnd(&mut window, progress(3), 2);
        assert_eq!(window.cwnd(), 19.0, "20 - 3 lost + 2 delivered");
        bbr.on_recovered(&mut window);
        bbr.set_cwnd(&mut window, progress(0), 2);
        assert_eq!(window.cwnd(), 44.0, "48 of before the recovery, not more than the target");
    }

    #[test]
    fn acknowledgement_without_delivery_keeps_the_window() {
        let mut bbr = bbr(Stack::Linux);
        let mut window = Window::new(48.0, f64::INFINITY);
        bbr.on_loss(&mut window);
        bbr.set_cwnd(&mut window, progress(1), 0);
        assert_eq!(window.cwnd(), 48.0);
    }

    /// 1000 packets per second, of which 2 leave at once: during a pause of 3.9 ms three of 20 packets are delivered.
    #[test]
    fn packets_that_arrive_before_the_next_burst_do_not_count() {
        let pause = Span::from_micros(3900);
        assert_eq!(bbr(Stack::Rfc).in_network(20, pause), 20.0);
        let mut linux = bbr(Stack::Linux);
        linux.set_pacing_rate(1.0);
        linux.pacing_gain = 1.0;
        assert_eq!(linux.in_network(20, pause), 17.0);
        linux.pacing_gain = 1.25;
        assert_eq!(linux.in_network(20, pause), 19.0, "with the next burst");
        assert_eq!(linux.in_network(1, Span::from_millis(90)), 0.0);
    }

    #[test]
    fn handshake_measures_the_first_round_trip() {
        let mut linux = bbr(Stack::Linux);
        (linux.min_rtt, linux.filled_pipe) = (None, false);
        linux.on_open(Instant::ZERO + Span::from_millis(9), Span::from_millis(20));
        assert_eq!(linux.min_rtt, Some(Span::from_millis(20)));
        // 0.99 x 2.885 x 10 packets in 20 ms.
        assert_eq!(linux.pacing_rate.map(|rate| (rate * 10.0) as u32), Some(14_282));
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
