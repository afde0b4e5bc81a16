//! A congestion control with rules that a connection requests in addition. Each rule is a module; the control does not
//! know them.

mod abe;
mod byte_counting;
mod hystart;
mod validation;

use forebay_aqm::base::time::{Instant, Span};

use super::super::TcpOptions;
use super::super::congestion::{Acked, CongestionControl, Feedback, PathModel, Progress, RoundTrip, Sent};
use super::super::window::Window;
use super::Control;
use byte_counting::ByteCounting;
use hystart::HyStart;
use validation::Validation;

/// State of an amended control.
#[derive(Clone, Debug)]
pub(in super::super) struct Amended {
    control: Control,
    /// Part of the window that a mark leaves.
    ecn_beta: Option<f64>,
    counting: Option<ByteCounting>,
    /// HyStart++ until the first slow start ends, and whether it replaces the control's HyStart.
    hystart: Option<HyStart>,
    has_hystart: bool,
    validation: Option<Validation>,
}

impl Amended {
    /// `control` with the rules that `options` requests.
    pub(super) fn new(control: Control, options: &TcpOptions) -> Self {
        Self {
            control,
            ecn_beta: options.ecn_beta,
            counting: options.byte_counting.map(ByteCounting::new),
            hystart: options.hystart.then(|| HyStart::new(options.paced())),
            has_hystart: options.hystart,
            validation: options.pipe_ack.then(|| Validation::new(options.initial_window)),
        }
    }

    /// Called before a reduction. In the non-validated phase (RFC 7661 section 4.4.1) sets the window to max(pipeACK, packets in
    /// flight) and returns it.
    fn before_reduction(&self, window: &mut Window) -> Option<f64> {
        self.validation.as_ref().and_then(|validation| validation.before_reduction(window))
    }

    /// A loss or mark has reduced the window. RFC 9406 section 4.2: slow start ends.
    fn on_reduction(&mut self) {
        self.hystart = None;
        if let Some(counting) = &mut self.counting {
            counting.on_reduction();
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl CongestionControl for Amended {
    fn on_start(&mut self, window: &mut Window) {
        self.control.on_start(window);
    }

    fn on_event(&mut self, now: Instant) {
        self.control.on_event(now);
    }

    fn on_sent(&mut self, sent: Sent) {
        if let Some(hystart) = &mut self.hystart {
            hystart.on_sent(sent);
        }
        if let Some(validation) = &mut self.validation {
            validation.on_sent(sent);
        }
        self.control.on_sent(sent);
    }

    fn on_delivered(&mut self, now: Instant, seq: u32) {
        if let Some(hystart) = &mut self.hystart {
            hystart.on_delivered(now, seq);
        }
        if let Some(validation) = &mut self.validation {
            validation.on_delivered(now);
        }
        self.control.on_delivered(now, seq);
    }

    fn on_lost(&mut self, now: Instant, seq: u32) {
        self.control.on_lost(now, seq);
    }

    fn on_feedback(&mut self, feedback: Feedback) {
        if let Some(validation) = &mut self.validation {
            validation.on_feedback(feedback);
        }
        self.control.on_feedback(feedback);
    }

    fn on_delay(&mut self, now: Instant, delay: Span) {
        self.control.on_delay(now, delay);
    }

    fn on_round_trip(&mut self, window: &mut Window, sample: RoundTrip) {
        let threshold = window.ssthresh();
        self.control.on_round_trip(window, sample);
        if self.has_hystart {
            // Not the exit that Linux's HyStart finds.
            window.restore_threshold(threshold);
        }
    }

    fn on_mark(&mut self, window: &mut Window) {
        let used = self.before_reduction(window);
        let before = window.cwnd();
        self.control.on_mark(window);
        if let Some(beta) = self.ecn_beta {
            abe::reduce(window, before, beta);
        }
        if let Some(validation) = &mut self.validation {
            validation.on_reduction(used);
        }
        self.on_reduction();
    }

    fn on_recovered(&mut self, window: &mut Window) {
        self.control.on_recovered(window);
        if let Some(counting) = &mut self.counting {
            counting.on_recovered(window);
        }
        if let Some(validation) = &mut self.validation {
            validation.on_recovered(window);
        }
    }

    fn on_loss(&mut self, window: &mut Window) {
        let used = self.before_reduction(window);
        self.control.on_loss(window);
        if let Some(validation) = &mut self.validation {
            validation.on_loss(window, used);
        }
        self.on_reduction();
    }

    fn on_probe_repair(&mut self, window: &mut Window) {
        let used = self.before_reduction(window);
        self.control.on_probe_repair(window);
        if let Some(validation) = &mut self.validation {
            validation.on_reduction(used);
        }
        self.on_reduction();
    }

    fn on_undo(&mut self, window: &mut Window, before: f64) {
        if let Some(validation) = &mut self.validation {
            validation.on_undo();
        }
        self.control.on_undo(window, before);
    }

    fn on_ack(&mut self, window: &mut Window, acked: Acked) {
        match (&mut self.hystart, &mut self.counting) {
            (Some(hystart), _) if window.in_slow_start() => hystart.grow(window, acked.packets),
            (_, Some(counting)) => counting.grow(window, acked.packets),
            (_, None) => self.control.on_ack(window, acked),
        }
    }

    fn on_application_limited(&mut self, now: Instant) {
        self.control.on_application_limited(now);
    }

    fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        if self.hystart.as_mut().is_some_and(|hystart| hystart.ends(progress.una, progress.high)) {
            self.hystart = None;
            window.restore_threshold(window.cwnd());
        }
        if let Some(validation) = &mut self.validation {
            validation.after_ack(window, progress);
        }
        self.control.after_ack(window, progress);
    }

    fn on_out_of_data(&mut self, in_flight: u32) {
        self.control.on_out_of_data(in_flight);
    }

    fn on_timeout(&mut self, window: &mut Window, is_reduced: bool) {
        if !is_reduced {
            self.before_reduction(window);
        }
        self.control.on_timeout(window, is_reduced);
        if let Some(validation) = &mut self.validation {
            validation.on_timeout();
        }
        self.hystart = None;
        if let Some(counting) = &mut self.counting {
            counting.on_timeout();
        }
    }

    fn on_restart(&mut self) {
        self.control.on_restart();
    }

    fn on_open(&mut self, now: Instant, rtt: Span) {
        self.control.on_open(now, rtt);
    }

    fn on_resume(&mut self, window: &mut Window, now: Instant) {
        if let Some(validation) = &mut self.validation {
            validation.on_resume(window, now);
        }
        self.control.on_resume(window, now);
    }

    fn is_validated(&self, window: &Window) -> bool {
        let own = self.validation.as_ref().is_some_and(|validation| validation.is_validated(window));
        own || self.control.is_validated(window)
    }

    fn burst(&self) -> u32 {
        self.control.burst()
    }

    fn pacing_interval(&self) -> Option<Span> {
        self.control.pacing_interval()
    }

    fn burst_limit(&self) -> Option<u32> {
        self.control.burst_limit()
    }

    fn marked_share(&self) -> Option<f64> {
        self.control.marked_share()
    }

    fn path_model(&self) -> Option<PathModel> {
        self.control.path_model()
    }
}
