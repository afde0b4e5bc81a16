//! The state machine: Startup, Drain, the cycle of ProbeBW, and ProbeRTT (sections 5.3.1 to 5.3.4).

use forebay_aqm::base::time::{Instant, Span};

use super::super::super::congestion::Progress;
use super::super::super::window::Window;
use super::super::rate::Sample;
use super::{Bbr3, CWND_GAIN, MIN_CWND, STARTUP_GAIN};

/// Section 2.5: DrainPacingGain.
const DRAIN_GAIN: f64 = 0.5;
/// Section 5.3.2: rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u32 = 3;
/// Section 5.6.1: pacing gains of ProbeBW.
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
/// Section 5.3.3.5: window gain in UP.
const UP_CWND_GAIN: f64 = 2.25;
/// Section 2.16.2: ProbeRTTCwndGain.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Section 2.16.2: ProbeRTTDuration.
const PROBE_RTT_LASTS: Span = Span::from_millis(200);
/// Section 5.3.1.2: the pipe is full after three rounds in which the rate has not grown by a quarter.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Section 5.3.3.8.3: a probe at least every 63 rounds, so that flows of Reno or CUBIC on the path keep a share.
const RENO_ROUNDS: f64 = 63.0;

/// State of the state machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// The draft's name in snake case.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::Down => "probe_bw_down",
            Self::Cruise => "probe_bw_cruise",
            Self::Refill => "probe_bw_refill",
            Self::Up => "probe_bw_up",
            Self::ProbeRtt => "probe_rtt",
        }
    }

    /// Is it a state of ProbeBW?
    pub(super) const fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// Which phase of a probe the arriving acknowledgements belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

impl Bbr3 {
    const fn enter(&mut self, state: State, pacing_gain: f64, cwnd_gain: f64) {
        (self.state, self.pacing_gain, self.cwnd_gain) = (state, pacing_gain, cwnd_gain);
    }

    fn reset_full_pipe(&mut self) {
        (self.full_rate, self.full_rounds, self.full_now) = (0.0, 0, false);
    }

    /// Section 5.3.1.2 (BBRCheckFullBWReached).
    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        if self.full_now || !self.round_start || sample.app_limited {
            return;
        }
        let rate = sample.rate.unwrap_or(0.0);
        if rate >= self.full_rate * FULL_GROWTH {
            self.reset_full_pipe();
            self.full_rate = rate;
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.full_reached |= self.full_now;
    }

    pub(super) fn check_startup_done(&mut self, now: Instant) {
        if self.state == State::Startup && self.full_reached {
            self.enter(State::Drain, DRAIN_GAIN, CWND_GAIN);
            self.drain_rounds = 0;
            self.cycle_began = now;
        }
    }

    pub(super) fn check_drain_done(&mut self, now: Instant) {
        if self.state != State::Drain {
            return;
        }
        self.drain_rounds += u32::from(self.round_start);
        let product = self.model.flight_for(self.model.max_rate(), 1.0).unwrap_or(f64::INFINITY);
        if self.in_flight <= product || self.drain_rounds > DRAIN_ROUNDS {
            self.start_down(now);
        }
    }

    /// BBRStartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, now: Instant) {
        self.model.reset_signals();
        self.up_count = f64::INFINITY;
        self.rounds_since_probe = self.rng.below(2) as u32;
        self.probe_wait = Span::from_secs(2.0 + self.rng.uniform());
        self.cycle_began = now;
        self.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.enter(State::Down, DOWN_GAIN, CWND_GAIN);
    }

    fn start_refill(&mut self) {
        self.model.reset_short();
        (self.up_rounds, self.up_acked, self.stopped_early) = (0, 0.0, false);
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::Refill, 1.0, CWND_GAIN);
    }

    fn start_up(&mut self, rate: f64) {
        self.ack_phase = AckPhase::Starting;
        self.start_round();
        self.reset_full_pipe();
        self.full_rate = rate;
        self.enter(State::Up, UP_GAIN, UP_CWND_GAIN);
        self.raise_slope();
    }

    /// Section 5.5.11.2 (HandleSpuriousLossDetection): no packet was lost in the latest recovery. Restores the bounds, and
    /// the state if the recovery ended it. A probe begins again with REFILL.
    pub(super) fn undo(&mut self) {
        self.reset_full_pipe();
        self.model.raise_bounds(&self.before);
        let ended = self.undo_state.take().filter(|&state| self.state != state);
        self.full_reached &= ended != Some(State::Startup);
        match ended {
            _ if self.state == State::ProbeRtt => {}
            Some(State::Startup) => self.enter(State::Startup, STARTUP_GAIN, CWND_GAIN),
            Some(State::Up) => self.start_refill(),
            _ => {}
        }
    }

    /// BBRRaiseInflightLongtermSlope: the bound grows by 1, 2, 4.. packets per round.
    fn raise_slope(&mut self) {
        let growth = f64::from(1u32 << self.up_rounds.min(30));
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (self.cwnd / growth).max(1.0);
    }

    /// Section 5.3.3.9 (BBRUpdateProbeBWCyclePhase).
    pub(super) fn update_cycle(&mut self, window: &Window, progress: Progress, sample: &Sample) {
        self.cwnd = window.cwnd();
        // The window need not be a whole number of packets: it is full if another packet does not fit.
        let used = f64::from(progress.in_flight.0) + 1.0;
        let limited = used > self.cwnd;
        if !self.full_reached {
            return;
        }
        if self.adapt_long_bound(sample, limited) || !self.state.probes_bandwidth() {
            return;
        }
        match self.state {
            State::Down => {
                let product = self.model.flight_for(self.model.max_rate(), 1.0).unwrap_or(0.0);
                let drained = self.in_flight <= self.model.flight_with_headroom().min(product);
                if !self.check_probe_time(progress.now) && drained {
                    self.enter(State::Cruise, 1.0, CWND_GAIN);
                }
            }
            State::Cruise => {
                self.check_probe_time(progress.now);
            }
            State::Refill if self.round_start => {
                self.probe_samples = true;
                self.start_up(sample.rate.unwrap_or(0.0));
            }
            State::Up => self.check_probe_done(progress.now, sample, limited, used > self.model.flight_long),
            _ => {}
        }
    }

    /// BBRIsTimeToProbeBW: starts the next probe if its time or round has come.
    fn check_probe_time(&mut self, now: Instant) -> bool {
        let rounds = self.target_flight().min(RENO_ROUNDS);
        let due = now > self.cycle_began + self.probe_wait || f64::from(self.rounds_since_probe) >= rounds;
        if due {
            self.start_refill();
        }
        due
    }

    /// BBRIsTimeToGoDown, with the precautionary stop of the module. `at_bound`: before this acknowledgement the packets in
    /// flight had reached the long-term bound.
    fn check_probe_done(&mut self, now: Instant, sample: &Sample, limited: bool, at_bound: bool) {
        let done = if self.probe_too_high && at_bound {
            self.stopped_early = true;
            true
        } else if limited && self.cwnd >= self.model.flight_long {
            self.reset_full_pipe();
            self.full_rate = sample.rate.unwrap_or(0.0);
            false
        } else {
            self.full_now
        };
        if done {
            self.probe_too_high = false;
            self.start_down(now);
        }
    }

    /// BBRAdaptLongTermModel. Returns whether a new probe has begun.
    fn adapt_long_bound(&mut self, sample: &Sample, limited: bool) -> bool {
        if self.round_start && self.ack_phase == AckPhase::Starting {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.round_start && self.ack_phase == AckPhase::Stopping {
            self.probe_samples = false;
            self.ack_phase = AckPhase::Init;
            if self.state.probes_bandwidth() && !sample.app_limited {
                self.model.next_cycle();
            }
            // As in the module: a probe that was stopped as a precaution, and had no losses, continues.
            if self.state.probes_bandwidth() && self.stopped_early && !self.probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if Self::is_too_high(sample) || self.model.flight_long.is_infinite() {
            return false;
        }
        self.model.flight_long = self.model.flight_long.max(f64::from(sample.in_flight));
        if self.state == State::Up && limited && self.cwnd >= self.model.flight_long {
            self.up_acked += f64::from(sample.delivered);
            if self.up_acked >= self.up_count {
                let steps = (self.up_acked / self.up_count).floor();
                self.up_acked -= steps * self.up_count;
                self.model.flight_long += steps;
            }
            if self.round_start {
                self.raise_slope();
            }
        }
        false
    }

    /// Section 5.3.4.3 (BBRCheckProbeRTT, BBRHandleProbeRTT).
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, progress: Progress, expired: bool) {
        if self.state != State::ProbeRtt && expired && !self.from_idle {
            self.save(window);
            self.enter(State::ProbeRtt, 1.0, PROBE_RTT_CWND_GAIN);
            self.probe_rtt_ends = None;
            self.ack_phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state != State::ProbeRtt {
            return;
        }
        // Rates in this state do not measure the path.
        self.sampler.limit(progress.in_flight.1);
        match self.probe_rtt_ends {
            None if self.in_flight <= self.probe_rtt_cwnd() => {
                self.probe_rtt_ends = Some(progress.now + PROBE_RTT_LASTS);
                self.probe_rtt_round = false;
                self.start_round();
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round && self.check_probe_rtt_end(progress.now) {
                    self.restore(window);
                }
            }
        }
    }

    /// BBRCheckProbeRTTDone. Returns whether ProbeRTT has ended.
    pub(super) fn check_probe_rtt_end(&mut self, now: Instant) -> bool {
        let ended = self.probe_rtt_ends.is_some_and(|ends| now > ends);
        if ended {
            self.model.probed(now);
            self.model.reset_short();
            if self.full_reached {
                self.start_down(now);
                self.enter(State::Cruise, 1.0, CWND_GAIN);
            } else {
                self.enter(State::Startup, STARTUP_GAIN, CWND_GAIN);
            }
        }
        ended
    }

    /// Window in ProbeRTT.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.model.flight_for(self.model.bandwidth(), PROBE_RTT_CWND_GAIN).unwrap_or(self.initial_window).max(MIN_CWND)
    }
}
