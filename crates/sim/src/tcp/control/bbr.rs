//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path sets rate and window.
//!
//! Not implemented:
//! - the send quantum (packets are sent one by one: a quantum is one packet);
//! - anything from later drafts (loss and ECN bounds).
//!
//! On the Linux stack it also has the rules that Linux's version 1 adds to the draft: pacing margin, bursts, window and recovery
//! (`host.rs`), and the detection of policers (`policer.rs`).
//!
//! As in Linux's version 1 a connection with ECN sends ECT and ignores marks.

mod cwnd;
mod host;
mod policer;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::super::Stack;
use super::super::congestion::{Acked, CongestionControl, Design, EcnUse, PathModel, Profile, Progress, Sent, Start};
use super::super::window::Window;
use super::rate::{MaxRate, Sample, Sampler};
use host::Host;

/// Section 4.2.1 (BBRHighGain): 2 / ln 2, the smallest gain that doubles the rate per round.
const HIGH_GAIN: f64 = 2.885_390_081_777_927;
/// Section 4.3.4 (BBR.cwnd_gain in ProbeBW): window as a multiple of the bandwidth-delay product.
const CWND_GAIN: f64 = 2.0;
/// Section 4.3.4.2: pacing gains of a cycle of ProbeBW. Each lasts one round-trip propagation time;
/// `check_cycle` has the exceptions.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Section 4.3.2.1: the pipe is full after `FULL_ROUNDS` rounds in which the rate has not grown by this factor.
const FULL_GROWTH: f64 = 1.25;
/// Section 4.3.2.1: number of rounds without growth of the rate after which the pipe is full.
const FULL_ROUNDS: u32 = 3;
/// Section 4.1.2.2 (RTpropFilterLen): validity of the minimum round trip.
const MIN_RTT_LASTS: Span = Span::from_millis(10_000);
/// Section 4.3.5 (ProbeRTTDuration): minimum duration of ProbeRTT.
const PROBE_RTT_LASTS: Span = Span::from_millis(200);
/// Section 4.2.3.1 (BBRMinPipeCwnd): minimum window in packets.
const MIN_CWND: f64 = 4.0;
/// Section 4.2.1: round-trip time assumed before the first measurement.
const NOMINAL_RTT: Span = Span::from_millis(1);

/// The states of BBR's state machine: section 4.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of BBR's model of the path.
#[derive(Clone, Debug)]
pub(in super::super) struct Bbr {
    sampler: Sampler,
    max_rate: MaxRate,
    min_rtt: Option<Span>,
    min_rtt_at: Instant,
    phase: Phase,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Packets per second; `None` before the first round-trip measurement.
    pacing_rate: Option<f64>,
    /// The round ends when a packet is delivered that was sent after this number of deliveries.
    round_ends: u64,
    round_start: bool,
    full_rate: f64,
    full_rounds: u32,
    filled_pipe: bool,
    cycle: usize,
    cycle_began: Instant,
    probe_rtt_ends: Option<Instant>,
    probe_rtt_round: bool,
    /// The window to return to after recovery or ProbeRTT.
    prior_cwnd: f64,
    in_recovery: bool,
    entering: bool,
    conserving: bool,
    from_idle: bool,
    initial_window: f64,
    /// Only on the Linux stack.
    host: Option<Host>,
    rng: Rng,
}

impl Phase {
    /// The draft's name of this phase, in snake case.
    const fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::ProbeBw => "probe_bw",
            Self::ProbeRtt => "probe_rtt",
        }
    }
}

impl Bbr {
    /// The estimated bottleneck bandwidth, BBR.BtlBw, in packets per second.
    fn bandwidth(&self) -> f64 {
        self.max_rate.get()
    }

    /// Sections 4.1.1.2 and 4.1.1.5: updates round count and bandwidth estimate.
    fn update_rate(&mut self, now: Instant, has_loss: bool, sample: &Sample) {
        // Linux ignores an acknowledgement without a rate.
        let counts = self.host.is_none() || sample.rate.is_some();
        self.round_start = counts && sample.prior_delivered.is_some_and(|prior| prior >= self.round_ends);
        if self.round_start {
            self.round_ends = self.sampler.delivered;
            self.conserving = false;
            self.max_rate.next_round();
        }
        if sample.rate.is_some() {
            self.watch_for_policer(now, has_loss, sample.app_limited);
        }
        if let Some(rate) = sample.rate
            && (rate >= self.bandwidth() || !sample.app_limited)
        {
            self.max_rate.update(rate);
        }
    }

    /// Section 4.3.4.3: advances the gain cycle of ProbeBW.
    fn check_cycle(&mut self, progress: Progress) {
        if self.phase != Phase::ProbeBw {
            return;
        }
        let (before, now) = (self.in_network(progress.in_flight.0, progress.pause), progress.now);
        let full_length = now.since(self.cycle_began) > self.min_rtt.unwrap_or(Span::ZERO);
        let over = if self.pacing_gain > 1.0 {
            full_length && (progress.lost > 0 || before >= self.in_flight_for(self.pacing_gain))
        } else {
            full_length || self.pacing_gain < 1.0 && before <= self.in_flight_for(1.0)
        };
        if over {
            self.next_in_cycle(now);
        }
    }

    fn next_in_cycle(&mut self, now: Instant) {
        self.cycle_began = now;
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.pacing_gain = self.probing_gain();
    }

    /// Section 4.3.2.2: detects a full pipe in Startup.
    fn check_full_pipe(&mut self, sample: &Sample) {
        if self.filled_pipe || !self.round_start || sample.app_limited {
            return;
        }
        let rate = self.bandwidth();
        if rate >= self.full_rate * FULL_GROWTH {
            (self.full_rate, self.full_rounds) = (rate, 0);
            return;
        }
        self.full_rounds += 1;
        self.filled_pipe = self.full_rounds >= FULL_ROUNDS;
    }

    /// Section 4.3.3: enters and leaves Drain.
    fn check_drain(&mut self, progress: Progress) {
        if self.phase == Phase::Startup && self.filled_pipe {
            self.enter(Phase::Drain, 1.0 / HIGH_GAIN, HIGH_GAIN);
        }
        if self.phase == Phase::Drain
            && self.in_network(progress.in_flight.1, progress.pause) <= self.in_flight_for(1.0)
        {
            self.enter_probe_bw(progress.now);
        }
    }

    const fn enter(&mut self, phase: Phase, pacing_gain: f64, cwnd_gain: f64) {
        self.phase = phase;
        self.pacing_gain = pacing_gain;
        self.cwnd_gain = cwnd_gain;
    }

    /// Section 4.3.4.3: starts at a random phase of the cycle other than the draining one.
    fn enter_probe_bw(&mut self, now: Instant) {
        self.enter(Phase::ProbeBw, 1.0, CWND_GAIN);
        self.cycle = CYCLE.len() - 1 - self.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.next_in_cycle(now);
    }

    /// Section 4.1.2.3: updates the minimum round-trip time. Returns whether the old estimate had expired.
    fn update_min_rtt(&mut self, now: Instant, rtt: Option<Span>) -> bool {
        let expired = self.min_rtt.is_some() && now > self.min_rtt_at + MIN_RTT_LASTS;
        if let Some(rtt) = rtt
            && (expired || self.min_rtt.is_none_or(|least| rtt < least || rtt == least && self.host.is_none()))
        {
            if self.min_rtt.is_none() {
                // As in Linux: initial pacing rate from the first round trip.
                self.pacing_rate = Some(self.margin() * HIGH_GAIN * self.initial_window / rtt.secs().max(1e-9));
            }
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        expired
    }

    /// Section 4.3.5: enters and leaves ProbeRTT.
    fn check_probe_rtt(&mut self, window: &mut Window, progress: Progress, expired: bool) {
        if self.phase != Phase::ProbeRtt && expired && !self.from_idle {
            self.save(window);
            self.enter(Phase::ProbeRtt, 1.0, 1.0);
            self.probe_rtt_ends = None;
        }
        if self.phase != Phase::ProbeRtt {
            return;
        }
        let (in_flight, now) = (progress.in_flight.1, progress.now);
        // Rates in this phase do not measure the path.
        self.sampler.limit(in_flight);
        let Some(ends) = self.probe_rtt_ends else {
            if f64::from(in_flight) <= MIN_CWND {
                self.probe_rtt_ends = Some(now + PROBE_RTT_LASTS);
                self.probe_rtt_round = false;
                self.round_ends = self.sampler.delivered;
            }
            return;
        };
        self.probe_rtt_round |= self.round_start;
        if self.probe_rtt_round && now > ends {
            self.min_rtt_at = now;
            self.restore(window);
            if self.filled_pipe {
                self.enter_probe_bw(now);
            } else {
                self.enter(Phase::Startup, HIGH_GAIN, HIGH_GAIN);
            }
        }
    }

    /// Section 4.2.1: sets the pacing rate to `gain` times the bandwidth. Until the pipe has been full once, the rate
    /// never decreases.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.margin() * gain * self.sending_bandwidth();
        if rate > 0.0 && (self.filled_pipe || self.pacing_rate.is_none_or(|old| rate > old)) {
            self.pacing_rate = Some(rate);
        }
    }
}

impl CongestionControl for Bbr {
    /// As in Linux (`bbr_init`): the round trip of the handshake is the first sample.
    fn on_open(&mut self, now: Instant, rtt: Span) {
        self.sampler.measured(rtt);
        self.update_min_rtt(now, Some(rtt));
    }

    /// A packet is sent: section 4.4 (BBROnTransmit), and the record that the rate estimator keeps of each packet.
    fn on_sent(&mut self, sent: Sent) {
        if sent.in_flight == 0 && self.sampler.is_app_limited() {
            self.from_idle = true;
            if let Some(host) = &mut self.host {
                host.restart(sent.now);
            }
            if self.phase == Phase::ProbeBw {
                self.set_pacing_rate(1.0);
            }
        }
        self.sampler.sent(sent);
    }

    fn on_delivered(&mut self, now: Instant, seq: u32) {
        self.sampler.arrived(now, seq);
    }

    fn on_lost(&mut self, _now: Instant, _seq: u32) {
        if let Some(host) = &mut self.host {
            host.policer.lost += 1;
        }
    }

    fn on_out_of_data(&mut self, in_flight: u32) {
        self.sampler.limit(in_flight);
    }

    /// An acknowledgement has been processed: updates model, pacing rate and window. Section 4.1 (BBRUpdateOnACK).
    fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        let sample = self.sampler.take(self.min_rtt);
        self.update_rate(progress.now, progress.lost > 0, &sample);
        self.count_extra(window, progress, &sample);
        self.check_cycle(progress);
        self.check_full_pipe(&sample);
        self.check_drain(progress);
        let expired = self.update_min_rtt(progress.now, sample.rtt);
        self.check_probe_rtt(window, progress, expired);
        if sample.delivered > 0 || self.host.is_none() {
            self.from_idle = false;
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(window, progress, sample.delivered);
    }

    /// Does nothing, because [`after_ack`](Self::after_ack) sets the window.
    fn on_ack(&mut self, _window: &mut Window, _acked: Acked) {}

    /// As in Linux's version 1: marks are ignored.
    fn on_mark(&mut self, _window: &mut Window) {}

    /// Section 4.2.3.4: fast recovery begins. For one round trip, one packet is sent per packet delivered.
    fn on_loss(&mut self, window: &mut Window) {
        if self.begins_recovery(window) {
            return;
        }
        self.save(window);
        (self.in_recovery, self.entering, self.conserving) = (true, true, true);
        self.round_ends = self.sampler.delivered;
    }

    /// A single repaired loss does not change the model.
    fn on_probe_repair(&mut self, _window: &mut Window) {}

    /// As in Linux: the pipe is not full yet. The window before is restored when recovery ends.
    fn on_undo(&mut self, _window: &mut Window, _before: f64) {
        (self.full_rate, self.full_rounds) = (0.0, 0);
        if let Some(host) = &mut self.host {
            host.policer.reset();
        }
    }

    fn on_timeout(&mut self, window: &mut Window, _is_reduced: bool) {
        self.save(window);
        self.note_timeout();
        (self.in_recovery, self.conserving) = (true, false);
        window.set(1.0);
    }

    /// All packets outstanding at the loss are acknowledged.
    fn on_recovered(&mut self, window: &mut Window) {
        if self.ends_recovery() {
            return;
        }
        (self.in_recovery, self.conserving) = (false, false);
        self.restore(window);
    }

    fn pacing_interval(&self) -> Option<Span> {
        let nominal = || self.pacing_gain * self.initial_window / NOMINAL_RTT.secs();
        Some(Span::from_secs(1.0 / self.pacing_rate.unwrap_or_else(nominal)))
    }

    fn burst(&self) -> u32 {
        if self.host.is_some() { self.burst_goal() as u32 } else { 1 }
    }

    fn path_model(&self) -> Option<PathModel> {
        Some(PathModel {
            phase: self.phase.word(),
            bandwidth: self.bandwidth(),
            min_rtt: self.min_rtt,
            pacing_gain: self.pacing_gain,
        })
    }
}

impl Design for Bbr {
    const PROFILE: Profile = Profile {
        word: "bbr",
        summary: "version 1: paces at the rate of a path model, recovery as in sack",
        ecn: EcnUse::Unanswered,
        paces: true,
        owns_window: true,
        kernel: Some("bbr"),
        ..Profile::TCP
    };

    fn new(start: Start) -> Self {
        let is_linux = start.stack == Stack::Linux;
        Self {
            sampler: if is_linux { Sampler::of_linux() } else { Sampler::default() },
            max_rate: MaxRate::new(is_linux),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            phase: Phase::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: None,
            round_ends: 0,
            round_start: false,
            full_rate: 0.0,
            full_rounds: 0,
            filled_pipe: false,
            cycle: 0,
            cycle_began: Instant::ZERO,
            probe_rtt_ends: None,
            probe_rtt_round: false,
            prior_cwnd: 0.0,
            in_recovery: false,
            entering: false,
            conserving: false,
            from_idle: false,
            initial_window: f64::from(start.initial_window),
            host: is_linux.then(Host::default),
            rng: start.rng,
        }
    }
}
