//! The model of the path: bandwidth, round trip, and two bounds of what may be in flight (sections 5.5.1 to 5.5.11).

use forebay_aqm::base::time::{Instant, Span};

use super::super::super::window::Window;
use super::super::rate::{Lost, Sample};
use super::cycle::State;
use super::{Bbr3, MIN_CWND};

/// Section 2.8: LossThresh, the tolerated share of lost packets.
const LOSS_THRESHOLD: f64 = 0.02;
/// Section 2.8: Beta, reduction of the bounds.
const BETA: f64 = 0.7;
/// Section 2.8: Headroom, share of the long-term bound that is left to other flows.
const HEADROOM: f64 = 0.15;
/// Section 2.16.1: MinRTTFilterLen.
const MIN_RTT_LASTS: Span = Span::from_millis(10_000);
/// Section 2.16.2: ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Span = Span::from_millis(5_000);

/// Estimates of the path. Bounds are infinite until a loss sets them.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// Largest rate samples of the previous and of this cycle of ProbeBW, in packets per second (MaxBwFilter).
    max_by_cycle: [f64; 2],
    /// Short-term bounds: packets per second, packets in flight.
    pub(super) rate_short: f64,
    pub(super) flight_short: f64,
    /// Long-term bound in packets in flight.
    pub(super) flight_long: f64,
    /// Largest rate and delivery of a sample in this round.
    rate_latest: f64,
    flight_latest: f64,
    /// The round for losses ends when a packet is delivered that was sent after this number of deliveries.
    loss_round_ends: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    min_rtt: Option<(Span, Instant)>,
    /// Smallest round trip since the last ProbeRTT.
    probed_rtt: Option<(Span, Instant)>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            max_by_cycle: [0.0; 2],
            rate_short: f64::INFINITY,
            flight_short: f64::INFINITY,
            flight_long: f64::INFINITY,
            rate_latest: 0.0,
            flight_latest: 0.0,
            loss_round_ends: 0,
            loss_round_start: false,
            loss_in_round: false,
            min_rtt: None,
            probed_rtt: None,
        }
    }
}

impl Model {
    /// `max_bw`: the largest rate of the last two cycles, in packets per second.
    pub(super) const fn max_rate(&self) -> f64 {
        self.max_by_cycle[0].max(self.max_by_cycle[1])
    }

    /// `bw`: the rate that the flow uses, in packets per second.
    pub(super) const fn bandwidth(&self) -> f64 {
        self.max_rate().min(self.rate_short)
    }

    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// Packets in flight for `gain` times the product of `rate` and the round trip. `None` before the first measurement.
    pub(super) fn flight_for(&self, rate: f64, gain: f64) -> Option<f64> {
        self.min_rtt().map(|rtt| gain * rate * rtt.secs())
    }

    pub(super) const fn next_cycle(&mut self) {
        self.max_by_cycle = [self.max_by_cycle[1], 0.0];
    }

    /// The long-term bound, less the headroom.
    pub(super) fn flight_with_headroom(&self) -> f64 {
        if self.flight_long.is_infinite() {
            return f64::INFINITY;
        }
        (self.flight_long - (HEADROOM * self.flight_long).max(1.0)).max(MIN_CWND)
    }

    /// BBRResetCongestionSignals.
    pub(super) const fn reset_signals(&mut self) {
        (self.loss_in_round, self.rate_latest, self.flight_latest) = (false, 0.0, 0.0);
    }

    /// Raises the bounds to those of an earlier model, and forgets the losses of this round.
    pub(super) const fn raise_bounds(&mut self, before: &Self) {
        self.loss_in_round = false;
        self.rate_short = self.rate_short.max(before.rate_short);
        self.flight_short = self.flight_short.max(before.flight_short);
        self.flight_long = self.flight_long.max(before.flight_long);
    }

    /// BBRResetShortTermModel.
    pub(super) const fn reset_short(&mut self) {
        (self.rate_short, self.flight_short) = (f64::INFINITY, f64::INFINITY);
    }

    /// Section 5.5.7 (BBRUpdateMinRTT). Returns whether it is time for ProbeRTT.
    pub(super) fn update_min_rtt(&mut self, now: Instant, rtt: Option<Span>) -> bool {
        let expired = self.probed_rtt.is_some_and(|(_, at)| now > at + PROBE_RTT_INTERVAL);
        if let Some(rtt) = rtt
            && (expired || self.probed_rtt.is_none_or(|(least, _)| rtt < least))
        {
            self.probed_rtt = Some((rtt, now));
        }
        let is_old = self.min_rtt.is_some_and(|(_, at)| now > at + MIN_RTT_LASTS);
        if let Some((rtt, at)) = self.probed_rtt
            && (is_old || self.min_rtt.is_none_or(|(least, _)| rtt < least))
        {
            self.min_rtt = Some((rtt, at));
        }
        expired
    }

    /// ProbeRTT has ended: the next one follows after a whole interval.
    pub(super) fn probed(&mut self, now: Instant) {
        self.probed_rtt = self.probed_rtt.map(|(rtt, _)| (rtt, now));
    }

    /// BBRAdvanceLatestDeliverySignals.
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.rate_latest = sample.rate.unwrap_or(0.0);
            self.flight_latest = sample.acked_while_in_flight();
        }
    }
}

impl Bbr3 {
    /// BBRUpdateLatestDeliverySignals, BBRUpdateRound and BBRUpdateMaxBw.
    pub(super) fn update_latest(&mut self, sample: &Sample) {
        let delivered = self.sampler.delivered;
        let model = &mut self.model;
        model.rate_latest = model.rate_latest.max(sample.rate.unwrap_or(0.0));
        model.flight_latest = model.flight_latest.max(sample.acked_while_in_flight());
        let ends = |round: u64| sample.prior_delivered.is_some_and(|prior| prior >= round);
        model.loss_round_start = ends(model.loss_round_ends);
        if model.loss_round_start {
            model.loss_round_ends = delivered;
        }
        self.round_start = ends(self.round_ends);
        if self.round_start {
            self.start_round();
            self.rounds_since_probe += 1;
        }
        if let Some(rate) = sample.rate
            && (rate >= self.model.max_rate() || !sample.app_limited)
        {
            let slot = &mut self.model.max_by_cycle[1];
            *slot = slot.max(rate);
        }
    }

    /// BBRUpdateCongestionSignals: at the end of a round with losses that was not a probe, lowers the short-term bounds.
    pub(super) fn update_bounds(&mut self, sample: &Sample, window: &Window) {
        let probes = matches!(self.state, State::Startup | State::Refill | State::Up);
        let model = &mut self.model;
        if !model.loss_round_start {
            return;
        }
        if model.loss_in_round && !probes {
            if model.rate_short.is_infinite() {
                model.rate_short = model.max_rate();
            }
            if model.flight_short.is_infinite() {
                model.flight_short = window.cwnd();
            }
            model.rate_short = model.rate_latest.max(BETA * model.rate_short);
            model.flight_short = model.flight_latest.max(BETA * model.flight_short);
        }
        self.check_startup_loss(sample);
        self.model.loss_in_round = false;
        self.loss_runs = 0;
    }

    /// BBRCheckStartupHighLoss: Startup ends after a round in recovery with too many losses.
    fn check_startup_loss(&mut self, sample: &Sample) {
        const RUNS: u32 = 6;
        let lossy = self.in_recovery && Self::is_too_high(sample) && self.loss_runs >= RUNS;
        if self.state == State::Startup && !self.full_reached && lossy {
            self.full_reached = true;
            self.undo_state = Some(State::Startup);
            let product = self.model.flight_for(self.model.max_rate(), 1.0).unwrap_or(0.0);
            self.model.flight_long = product.max(self.model.flight_latest);
        }
    }

    /// BBRNoteLoss, and SaveStateUponLoss (section 5.5.11.1) for the first loss of a recovery.
    pub(super) fn note_loss(&mut self) {
        if !self.is_saved {
            (self.is_saved, self.undo_state, self.before) = (true, None, self.model.clone());
        }
        if !self.model.loss_in_round {
            self.model.loss_round_ends = self.sampler.delivered;
        }
        self.model.loss_in_round = true;
    }

    /// BBRHandleLostPacket: a probe has gone too high if more than LossThresh of what was in flight is lost.
    pub(super) fn check_lost_packet(&mut self, now: Instant, lost: Lost) {
        let (flight, all) = (f64::from(lost.in_flight), f64::from(lost.lost));
        if all > flight * LOSS_THRESHOLD {
            self.lower_long_bound(now, flight_at_threshold(flight, all), lost.app_limited);
        }
    }

    /// IsInflightTooHigh, for the sample of an acknowledgement.
    pub(super) fn is_too_high(sample: &Sample) -> bool {
        f64::from(sample.lost) > f64::from(sample.in_flight) * LOSS_THRESHOLD
    }

    /// BBRHandleInflightTooHigh.
    fn lower_long_bound(&mut self, now: Instant, flight: f64, app_limited: bool) {
        self.probe_samples = false;
        self.probe_too_high = true;
        if !app_limited {
            self.model.flight_long = flight.max(BETA * self.target_flight());
        }
        if self.state == State::Up {
            self.undo_state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// BBRTargetInflight: the product of rate and round trip, or what the window allows.
    pub(super) fn target_flight(&self) -> f64 {
        let product = self.model.flight_for(self.model.bandwidth(), 1.0).unwrap_or(self.initial_window);
        product.min(self.cwnd)
    }
}

/// BBRInflightAtLoss: number of packets that were in flight when the share of lost packets reached LossThresh. `flight`:
/// packets in flight when the last lost packet was sent; `lost`: packets lost since. Both include that packet.
fn flight_at_threshold(flight: f64, lost: f64) -> f64 {
    let (before, lost_before) = (flight - 1.0, lost - 1.0);
    let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
    before + prefix.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::flight_at_threshold;

    /// 98 packets in flight before the lost one, one lost before it: (0.02 * 98 - 1) / 0.98 = 0.98 more.
    #[test]
    fn long_bound_is_the_flight_at_two_percent_loss() {
        assert!((flight_at_threshold(99.0, 2.0) - 98.979_591_836).abs() < 1e-6);
    }
}
