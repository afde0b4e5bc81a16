//! BBR version 3 (draft-ietf-ccwg-bbr-06): a model of the path with a long-term bound from probing and a short-term bound
//! from losses sets rate and window.
//!
//! `model` estimates bandwidth and bounds, `cycle` has the states of the state machine, `cwnd` the window.
//!
//! Choices where draft and Google's module differ: DrainPacingGain and the gain of DOWN are the draft's; the precautionary
//! stop of a probe after one that went too high is the module's. Not implemented: the send quantum (packets are sent one by
//! one) and a response to marks: data is Not-ECT, because the draft requires a response from a sender that sets ECT.

mod cwnd;
mod cycle;
mod model;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use super::super::Stack;
use super::super::congestion::{Acked, CongestionControl, Design, EcnUse, PathModel, Profile, Progress, Sent, Start};
use super::super::window::Window;
use super::rate::Sampler;
use super::rate::extra_acked::ExtraAcked;
use cycle::{AckPhase, State};
use model::Model;

/// Section 2.5: StartupPacingGain, 4 ln 2.
const STARTUP_GAIN: f64 = 2.772_588_722_239_781;
/// Section 2.6: DefaultCwndGain, window as a multiple of the bandwidth-delay product.
const CWND_GAIN: f64 = 2.0;
/// Section 5.6.2: PacingMarginPercent. The pacing rate is lower than the estimate, so that queues can drain.
const PACING_MARGIN: f64 = 0.99;
/// Section 2.8: MinPipeCwnd in packets.
const MIN_CWND: f64 = 4.0;
/// Section 5.6.2: round-trip time assumed before the first measurement.
const NOMINAL_RTT: Span = Span::from_millis(1);

/// State of BBR version 3.
#[derive(Clone, Debug)]
pub(in super::super) struct Bbr3 {
    sampler: Sampler,
    model: Model,
    extra_acked: ExtraAcked,
    state: State,
    /// When the state began that ProbeBW_DOWN starts, and rounds in Drain.
    cycle_began: Instant,
    drain_rounds: u32,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Packets per second; `None` before the first round-trip measurement.
    pacing_rate: Option<f64>,
    /// The round ends when a packet is delivered that was sent after this number of deliveries.
    round_ends: u64,
    round_start: bool,
    /// Largest rate since growth was last seen, rounds without growth, and the results: in this probe, and ever.
    full_rate: f64,
    full_rounds: u32,
    full_now: bool,
    full_reached: bool,
    /// Wait before the next probe, as a time and in rounds.
    probe_wait: Span,
    rounds_since_probe: u32,
    ack_phase: AckPhase,
    /// Do losses of this probe count?
    probe_samples: bool,
    /// The last probe went too high; this one was stopped as a precaution.
    probe_too_high: bool,
    stopped_early: bool,
    /// Rounds of this probe, packets acknowledged at the bound, and acknowledgements that raise it by one packet.
    up_rounds: u32,
    up_acked: f64,
    up_count: f64,
    /// Window to return to after recovery or ProbeRTT.
    prior_cwnd: f64,
    in_recovery: bool,
    probe_rtt_ends: Option<Instant>,
    probe_rtt_round: bool,
    from_idle: bool,
    /// Separate runs of lost packets in this round, and the last packet lost.
    loss_runs: u32,
    last_lost: u32,
    /// The model before the first loss of the latest recovery.
    before: Model,
    /// Whether `before` is that of the current recovery.
    is_saved: bool,
    /// The state that the losses of the latest recovery ended.
    undo_state: Option<State>,
    initial_window: f64,
    /// Packets in flight and window after the latest acknowledgement.
    in_flight: f64,
    cwnd: f64,
    rng: Rng,
}

impl Bbr3 {
    fn start_round(&mut self) {
        self.round_ends = self.sampler.delivered;
    }

    /// Section 5.6.2: the rate never falls before the pipe is full.
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain * self.model.bandwidth() * PACING_MARGIN;
        if rate > 0.0 && (self.full_reached || self.pacing_rate.is_none_or(|old| rate > old)) {
            self.pacing_rate = Some(rate);
        }
    }
}

impl CongestionControl for Bbr3 {
    /// Section 5.4.1 (BBRHandleRestartFromIdle), and the record that the rate estimator keeps of each packet.
    fn on_sent(&mut self, sent: Sent) {
        if sent.in_flight == 0 && self.sampler.is_app_limited() {
            self.from_idle = true;
            self.extra_acked.restart(sent.now);
            if self.state.probes_bandwidth() {
                let gain = core::mem::replace(&mut self.pacing_gain, 1.0);
                self.set_pacing_rate();
                self.pacing_gain = gain;
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_end(sent.now);
            }
        }
        self.sampler.sent(sent);
    }

    fn on_delivered(&mut self, now: Instant, seq: u32) {
        self.sampler.arrived(now, seq);
    }

    fn on_lost(&mut self, now: Instant, seq: u32) {
        self.note_loss();
        self.loss_runs += u32::from(seq != self.last_lost.wrapping_add(1));
        self.last_lost = seq;
        let lost = self.sampler.lost(seq);
        if self.probe_samples {
            self.check_lost_packet(now, lost);
        }
    }

    fn on_out_of_data(&mut self, in_flight: u32) {
        self.sampler.limit(in_flight);
    }

    /// Section 5.2.3 (BBRUpdateModelAndState, BBRUpdateControlParameters).
    fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        self.in_flight = f64::from(progress.in_flight.1);
        let sample = self.sampler.take(None);
        self.update_latest(&sample);
        self.update_bounds(&sample, window);
        self.extra_acked.update(self.model.bandwidth(), progress, window.cwnd(), (self.full_reached, self.round_start));
        self.check_full_pipe(&sample);
        self.check_startup_done(progress.now);
        self.check_drain_done(progress.now);
        self.update_cycle(window, progress, &sample);
        let expired = self.model.update_min_rtt(progress.now, sample.rtt);
        if self.pacing_rate.is_none()
            && let Some(rtt) = sample.rtt
        {
            self.pacing_rate = Some(STARTUP_GAIN * self.initial_window / rtt.secs().max(1e-9));
        }
        self.check_probe_rtt(window, progress, expired);
        self.from_idle &= sample.delivered == 0;
        self.model.advance_latest(&sample);
        self.set_pacing_rate();
        self.set_cwnd(window, sample.delivered);
    }

    /// Does nothing, because [`after_ack`](Self::after_ack) sets the window.
    fn on_ack(&mut self, _window: &mut Window, _acked: Acked) {}

    /// Marks are ignored, because data is Not-ECT.
    fn on_mark(&mut self, _window: &mut Window) {}

    /// Section 5.6.4.4: recovery keeps the window; what the model learns from losses bounds it.
    fn on_loss(&mut self, window: &mut Window) {
        self.save(window);
        self.in_recovery = true;
    }

    fn on_timeout(&mut self, window: &mut Window, _is_reduced: bool) {
        self.save(window);
        self.in_recovery = true;
        window.set(1.0);
    }

    /// BBRHandleSpuriousLossDetection: restores the bounds and the state before recovery.
    fn on_undo(&mut self, window: &mut Window, before: f64) {
        window.set(window.cwnd().max(before));
        self.undo();
    }

    fn on_recovered(&mut self, window: &mut Window) {
        (self.in_recovery, self.is_saved) = (false, false);
        self.restore(window);
    }

    fn pacing_interval(&self) -> Option<Span> {
        let nominal = || STARTUP_GAIN * self.initial_window / NOMINAL_RTT.secs();
        Some(Span::from_secs(1.0 / self.pacing_rate.unwrap_or_else(nominal)))
    }

    fn path_model(&self) -> Option<PathModel> {
        Some(PathModel {
            phase: self.state.word(),
            bandwidth: self.model.bandwidth(),
            min_rtt: self.model.min_rtt(),
            pacing_gain: self.pacing_gain,
        })
    }
}

impl Design for Bbr3 {
    const PROFILE: Profile = Profile {
        word: "bbr3",
        summary: "version 3: paces at the rate of a path model that bounds losses",
        ecn: EcnUse::Never,
        paces: true,
        catches_up: true,
        owns_window: true,
        stack: Stack::Linux,
        ..Profile::TCP
    };

    fn new(start: Start) -> Self {
        Self {
            sampler: Sampler::default(),
            model: Model::default(),
            extra_acked: ExtraAcked::default(),
            state: State::Startup,
            cycle_began: Instant::ZERO,
            drain_rounds: 0,
            pacing_gain: STARTUP_GAIN,
            cwnd_gain: CWND_GAIN,
            pacing_rate: None,
            round_ends: 0,
            round_start: false,
            full_rate: 0.0,
            full_rounds: 0,
            full_now: false,
            full_reached: false,
            probe_wait: Span::ZERO,
            rounds_since_probe: 0,
            ack_phase: AckPhase::Init,
            probe_samples: false,
            probe_too_high: false,
            stopped_early: false,
            up_rounds: 0,
            up_acked: 0.0,
            up_count: f64::INFINITY,
            prior_cwnd: 0.0,
            in_recovery: false,
            probe_rtt_ends: None,
            probe_rtt_round: false,
            from_idle: false,
            loss_runs: 0,
            last_lost: u32::MAX - 1,
            before: Model::default(),
            is_saved: false,
            undo_state: None,
            initial_window: f64::from(start.initial_window),
            in_flight: 0.0,
            cwnd: f64::from(start.initial_window),
            rng: start.rng,
        }
    }
}
