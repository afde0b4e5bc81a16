//! The hooks of a congestion control for a [`Controller`], which decides on window and pacing rate only.

use core::cell::Cell;

use forebay_aqm::base::time::{Instant, Span};

use super::super::congestion::controller::{Controller, Decision, Report};
use super::super::congestion::{Acked, CongestionControl, Progress, Sent};
use super::super::window::Window;
use super::rate::Sampler;

thread_local! {
    /// The first unsound decision of a controller in this thread since the last call of [`take_unsound`].
    static UNSOUND: Cell<Option<Decision>> = const { Cell::new(None) };
}

/// The first decision in this thread since the last call that is not [sound](Decision::is_sound).
pub(in super::super) fn take_unsound() -> Option<Decision> {
    UNSOUND.take()
}

#[cold]
fn note_unsound(decision: Decision) {
    UNSOUND.set(UNSOUND.get().or(Some(decision)));
}

/// A controller, and what the transport measures for it.
#[derive(Clone, Debug)]
pub(in super::super) struct Controlled {
    controller: Box<dyn Controller>,
    sampler: Sampler,
    min_rtt: Option<Span>,
    /// Time of the latest event.
    now: Instant,
    /// The connection asks for pacing.
    pacing: bool,
    in_recovery: bool,
    /// A timeout has left a window of one packet.
    is_collapsed: bool,
}

impl Controlled {
    pub(super) fn new(controller: Box<dyn Controller>, pacing: bool) -> Self {
        Self {
            controller,
            sampler: Sampler::default(),
            min_rtt: None,
            now: Instant::ZERO,
            pacing,
            in_recovery: false,
            is_collapsed: false,
        }
    }

    /// Sets the window to the controller's. `f64::max` ignores a NaN.
    fn apply(&self, window: &mut Window) {
        let decision = self.controller.decision();
        if !decision.is_sound() {
            note_unsound(decision);
        }
        let cwnd = if self.is_collapsed { 1.0 } else { decision.cwnd };
        window.set(cwnd.max(1.0).min(f64::from(u32::MAX)));
    }
}

impl CongestionControl for Controlled {
    fn on_start(&mut self, window: &mut Window) {
        self.apply(window);
    }

    fn on_event(&mut self, now: Instant) {
        self.now = now;
    }

    fn on_open(&mut self, now: Instant, rtt: Span) {
        (self.now, self.min_rtt) = (now, Some(rtt));
        self.sampler.measured(rtt);
    }

    fn on_sent(&mut self, sent: Sent) {
        self.sampler.sent(sent);
    }

    fn on_delivered(&mut self, now: Instant, seq: u32) {
        self.sampler.arrived(now, seq);
    }

    fn on_out_of_data(&mut self, in_flight: u32) {
        self.sampler.limit(in_flight);
    }

    fn on_mark(&mut self, window: &mut Window) {
        self.controller.on_mark(self.now);
        self.apply(window);
    }

    fn on_loss(&mut self, window: &mut Window) {
        self.in_recovery = true;
        self.controller.on_loss(self.now);
        self.apply(window);
    }

    /// As a loss, after which there is no recovery.
    fn on_probe_repair(&mut self, window: &mut Window) {
        self.controller.on_loss(self.now);
        self.apply(window);
    }

    /// Does nothing: the controller was told of a loss, and decides by itself.
    fn on_undo(&mut self, _window: &mut Window, _before: f64) {}

    fn on_timeout(&mut self, window: &mut Window, _is_reduced: bool) {
        (self.in_recovery, self.is_collapsed) = (true, true);
        self.controller.on_timeout(self.now);
        self.apply(window);
    }

    fn on_recovered(&mut self, _window: &mut Window) {
        self.in_recovery = false;
    }

    /// Does nothing, because [`after_ack`](Self::after_ack) sets the window.
    fn on_ack(&mut self, _window: &mut Window, _acked: Acked) {}

    fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        let sample = self.sampler.take(self.min_rtt);
        self.min_rtt = self.min_rtt.into_iter().chain(sample.rtt).min();
        self.is_collapsed &= progress.delivered == 0;
        self.controller.on_ack(&Report {
            now: progress.now,
            rtt: sample.rtt,
            min_rtt: self.min_rtt,
            srtt: progress.srtt,
            delivered: progress.delivered,
            marked: progress.marked,
            lost: progress.lost,
            in_flight: progress.in_flight.1,
            rate: sample.rate,
            is_application_limited: sample.app_limited || !progress.is_limited,
            in_recovery: self.in_recovery,
        });
        self.apply(window);
    }

    /// A rate below one packet in 1,000 s counts as that, one above 10^9 packets/s as no pacing.
    fn pacing_interval(&self) -> Option<Span> {
        let Decision { pacing_rate, .. } = self.controller.decision();
        let unpaced = (!self.pacing).then_some(Span::ZERO);
        pacing_rate.map_or(unpaced, |rate| Some(Span::from_secs(1.0 / rate.max(1e-3))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use forebay_aqm::base::rng::Rng;

    use super::super::super::congestion::Profile;
    use super::super::super::{Stack, TcpOptions, register_controller, testing};
    use super::super::Variant;
    use super::*;

    /// Adds a packet per round trip, halves the window at a loss or mark.
    #[derive(Clone, Debug)]
    struct Aimd {
        cwnd: f64,
        told: Arc<Mutex<Vec<&'static str>>>,
    }

    impl Aimd {
        fn event(&mut self, name: &'static str) {
            self.cwnd = (self.cwnd / 2.0).max(2.0);
            self.told.lock().unwrap().push(name);
        }
    }

    impl Controller for Aimd {
        fn on_ack(&mut self, report: &Report) {
            self.cwnd += f64::from(report.delivered) / self.cwnd;
        }
        fn on_loss(&mut self, _: Instant) {
            self.event("loss");
        }
        fn on_mark(&mut self, _: Instant) {
            self.event("mark");
        }
        fn on_timeout(&mut self, _: Instant) {
            self.event("timeout");
        }
        fn decision(&self) -> Decision {
            Decision { cwnd: self.cwnd, pacing_rate: None }
        }
        fn copy(&self) -> Box<dyn Controller> {
            Box::new(self.clone())
        }
    }

    fn profile(word: &'static str) -> Profile {
        Profile { word, ..Profile::TCP }
    }

    /// Asks for this window and pacing rate for ever.
    #[derive(Clone, Debug)]
    struct Constant(Decision);

    impl Controller for Constant {
        fn on_ack(&mut self, _: &Report) {}
        fn on_loss(&mut self, _: Instant) {}
        fn on_mark(&mut self, _: Instant) {}
        fn on_timeout(&mut self, _: Instant) {}
        fn decision(&self) -> Decision {
            self.0
        }
        fn copy(&self) -> Box<dyn Controller> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn controllers_conform_on_both_stacks() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let events = told.clone();
        let make = move |_| -> Box<dyn Controller> { Box::new(Aimd { cwnd: 3.0, told: events.clone() }) };
        let variant = register_controller(profile("aimd"), "", make).unwrap();
        for stack in [Stack::Rfc, Stack::Linux] {
            testing::check_control_on(stack, variant, 100).unwrap();
        }
        let told = told.lock().unwrap();
        assert!(["loss", "mark", "timeout"].iter().all(|event| told.contains(event)));
    }

    #[test]
    fn timeout_has_the_time_of_the_timer() {
        let (told, ms) = (Arc::new(Mutex::new(Vec::new())), |ms| Instant::ZERO + Span::from_millis(ms));
        let options = TcpOptions { variant: register_watched(&told), ..TcpOptions::default() };
        let mut sender = crate::tcp::sender::Sender::new(options, Span::ZERO, Rng::stream(1, "timeout"));
        while sender.poll(ms(500)).is_some() {}
        let deadline = sender.deadline().unwrap();
        sender.on_deadline(deadline);
        assert_eq!(*told.lock().unwrap(), [deadline]);
        assert!(deadline > ms(1000));
    }

    /// Registers a controller that records the times of timeouts.
    fn register_watched(told: &Arc<Mutex<Vec<Instant>>>) -> Variant {
        #[derive(Clone, Debug)]
        struct Watched(Arc<Mutex<Vec<Instant>>>);
        impl Controller for Watched {
            fn on_ack(&mut self, _: &Report) {}
            fn on_loss(&mut self, _: Instant) {}
            fn on_mark(&mut self, _: Instant) {}
            fn on_timeout(&mut self, now: Instant) {
                self.0.lock().unwrap().push(now);
            }
            fn decision(&self) -> Decision {
                Decision { cwnd: 4.0, pacing_rate: None }
            }
            fn copy(&self) -> Box<dyn Controller> {
                Box::new(self.clone())
            }
        }
        let told = told.clone();
        register_controller(profile("watched"), "", move |_| Box::new(Watched(told.clone()))).unwrap()
    }

    #[test]
    fn undefined_decisions_count_as_one_packet() {
        for cwnd in [f64::NAN, f64::NEG_INFINITY, -5.0, 0.0] {
            let constant = Constant(Decision { cwnd, pacing_rate: Some(1e5) });
            let mut window = Window::new(2.0, f64::INFINITY);
            Controlled::new(Box::new(constant.clone()), false).on_start(&mut window);
            assert_eq!(window.cwnd(), 1.0);
            let make = move |_| -> Box<dyn Controller> { Box::new(constant.clone()) };
            let variant = register_controller(profile("constant"), "", make).unwrap();
            let fault = testing::check_control(variant, 1).unwrap_err();
            assert!(fault.contains("unsound decision: window") && fault.contains("rate 100000"), "{fault}");
        }
        let endless = Constant(Decision { cwnd: f64::INFINITY, pacing_rate: Some(f64::NAN) });
        let mut control = Controlled::new(Box::new(endless), false);
        assert_eq!(control.pacing_interval(), Some(Span::from_secs(1000.0)));
        let mut window = Window::new(2.0, 7.0);
        control.on_start(&mut window);
        assert_eq!(window.cwnd(), 7.0);
    }

    #[test]
    fn new_version_replaces_the_old_one() {
        let make = |_| -> Box<dyn Controller> { Box::new(Constant(Decision { cwnd: 5.0, pacing_rate: None })) };
        let old = register_controller(profile("versioned"), "a1", make).unwrap();
        let new = register_controller(profile("versioned"), "b2", make).unwrap();
        assert_eq!((old.word(), new.name()), ("own:versioned#a1", "own:versioned"));
        assert_eq!(Variant::parse("own:versioned"), Some(new));
        assert_eq!([Variant::parse("own:versioned#a1"), Variant::parse("own:versioned#b2")], [None, Some(new)]);
        assert!(TcpOptions { variant: new, ..TcpOptions::default() }.paced());
    }
}
