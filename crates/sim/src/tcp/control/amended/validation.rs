//! Congestion window validation (RFC 7661): a window that was not used recently does not grow, and congestion reduces it to
//! a part of what was used.
//!
//! Left out: the limit on bursts in the non-validated phase (section 4.4.2); `pacing` limits them.

use forebay_aqm::base::time::{Instant, Span};

use super::super::super::congestion::{Feedback, Progress, Sent};
use super::super::super::window::{MIN_SSTHRESH, Window};

/// Section 4.2: a sample of pipeACK counts for this time, or for three round trips if they are longer.
const SAMPLING: Span = Span::from_millis(1000);
/// Section 4.5.1: parts of this time of which only the largest sample is kept.
const PARTS: usize = 4;
/// Section 4.4: the non-validated phase ends after five minutes (NVP).
const NON_VALIDATED: Span = Span::from_millis(300_000);

/// A loss in the non-validated phase, until it is repaired.
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// Packets in use at the loss: the larger of pipeACK and the packets outstanding (`LossFlightSize`).
    used: f64,
    /// The part of them that the control's reduction leaves: half for Reno.
    part: f64,
    /// Different packets retransmitted (`R`), and one above the highest of them.
    repeated: u32,
    top: u32,
}

/// State of the validation.
#[derive(Clone, Debug)]
pub(super) struct Validation {
    initial_window: f64,
    now: Instant,
    srtt: Span,
    /// Lowest packet not acknowledged; `None` before the first packet is sent.
    una: Option<u32>,
    /// Packets outstanding.
    flight: u32,
    /// First packet of the sample being taken, and one above the last.
    round: Option<(u32, u32)>,
    /// The largest samples of the parts of the sampling period, with the start of each part, the newest first. A sample is
    /// the number of packets acknowledged in a round trip.
    samples: [(Instant, u32); PARTS],
    /// Was a sample taken? If not, pipeACK is undefined.
    is_defined: bool,
    /// When the window was last validated.
    valid_at: Instant,
    /// A loss is being repaired: no samples.
    recovers: bool,
    repair: Option<Repair>,
}

impl Validation {
    pub(super) fn new(initial_window: u32) -> Self {
        Self {
            initial_window: f64::from(initial_window),
            now: Instant::ZERO,
            srtt: Span::ZERO,
            una: None,
            flight: 0,
            round: None,
            samples: [(Instant::ZERO, 0); PARTS],
            is_defined: false,
            valid_at: Instant::ZERO,
            recovers: false,
            repair: None,
        }
    }

    /// Section 4.2: the time for which a sample counts.
    fn period(&self) -> Span {
        SAMPLING.max(self.srtt * 3)
    }

    /// pipeACK: the most packets acknowledged in a round trip of the sampling period. `None`: undefined.
    fn pipe_ack(&self) -> Option<u32> {
        let fresh = |&&(start, _): &&(Instant, u32)| self.now.since(start) < self.period();
        self.is_defined.then(|| self.samples.iter().filter(fresh).map(|(_, most)| *most).max().unwrap_or(0))
    }

    /// Section 4.3: is at least half of the window in use?
    pub(super) fn is_validated(&self, window: &Window) -> bool {
        self.pipe_ack().is_none_or(|pipe| 2.0 * f64::from(pipe) >= window.cwnd())
    }

    fn undefine(&mut self) {
        self.is_defined = false;
        self.round = None;
        self.samples = [(Instant::ZERO, 0); PARTS];
    }

    /// A sample of `packets` ends.
    fn push(&mut self, packets: u32) {
        let part = Span::from_nanos(self.period().nanos() / PARTS as u64);
        if self.is_defined && self.now.since(self.samples[0].0) < part {
            self.samples[0].1 = self.samples[0].1.max(packets);
            return;
        }
        self.samples.rotate_right(1);
        self.samples[0] = (self.now, packets);
        self.is_defined = true;
    }

    pub(super) fn on_sent(&mut self, sent: Sent) {
        self.now = sent.now;
        self.una.get_or_insert(sent.una);
        if let Some(repair) = self.repair.as_mut().filter(|repair| sent.again && sent.seq >= repair.top) {
            repair.repeated += 1;
            repair.top = sent.seq + 1;
        }
    }

    pub(super) const fn on_delivered(&mut self, now: Instant) {
        self.now = now;
    }

    pub(super) const fn on_feedback(&mut self, feedback: Feedback) {
        self.flight = feedback.high - feedback.una;
    }

    pub(super) fn after_ack(&mut self, window: &mut Window, progress: Progress) {
        (self.now, self.srtt) = (progress.now, progress.srtt);
        let before = self.una.replace(progress.una).unwrap_or(progress.una);
        if progress.una > before && !self.recovers {
            let (from, end) = *self.round.get_or_insert((before, progress.high));
            if progress.una >= end {
                self.push(progress.una - from);
                self.round = None;
            }
        }
        self.expire(window);
    }

    /// The application hands over data when nothing is outstanding.
    pub(super) fn on_resume(&mut self, window: &mut Window, now: Instant) {
        self.now = now;
        self.expire(window);
    }

    /// Section 4.4.3: at the end of the non-validated phase the window halves, but not below the initial window. The threshold
    /// is at least three quarters of the window.
    fn expire(&mut self, window: &mut Window) {
        if self.is_validated(window) {
            self.valid_at = self.now;
        }
        while self.now.since(self.valid_at) >= NON_VALIDATED {
            let cwnd = window.cwnd();
            if cwnd <= self.initial_window {
                self.valid_at = self.now;
                return;
            }
            window.restore_threshold(window.ssthresh().max(0.75 * cwnd));
            window.set((cwnd / 2.0).max(self.initial_window));
            self.valid_at += NON_VALIDATED;
        }
    }

    /// Section 4.4.1: congestion is about to reduce the window. In the non-validated phase the reduction is of the packets in
    /// use, not of the window. Returns their number then.
    pub(super) fn before_reduction(&self, window: &mut Window) -> Option<f64> {
        if self.is_validated(window) {
            return None;
        }
        let used = f64::from(self.pipe_ack().unwrap_or(0).max(self.flight)).max(1.0);
        window.set(used.min(window.cwnd()));
        Some(window.cwnd())
    }

    /// The control has reduced the window for a loss. `used`: the packets in use in the non-validated phase.
    pub(super) fn on_loss(&mut self, window: &Window, used: Option<f64>) {
        (self.recovers, self.round) = (true, None);
        self.repair = used.map(|used| Repair { used, part: window.cwnd() / used, repeated: 0, top: 0 });
    }

    /// The control has reduced the window for a mark, or for a loss that is repaired already.
    pub(super) fn on_reduction(&mut self, used: Option<f64>) {
        if used.is_some() {
            self.undefine();
        }
    }

    /// Section 4.4.1: the loss is repaired. The packets retransmitted exceeded the capacity of the path, so that the window
    /// becomes the same part of the packets in use without them; the threshold follows. pipeACK becomes undefined.
    pub(super) fn on_recovered(&mut self, window: &mut Window) {
        self.recovers = false;
        if let Some(Repair { used, part, repeated, .. }) = self.repair.take() {
            let safe = ((used - f64::from(repeated)) * part).max(1.0);
            window.set(safe.min(window.cwnd()));
            window.restore_threshold(libm::floor(safe).max(MIN_SSTHRESH));
            self.undefine();
        }
    }

    pub(super) fn on_timeout(&mut self) {
        (self.recovers, self.repair) = (true, None);
        self.undefine();
    }

    pub(super) const fn on_undo(&mut self) {
        (self.recovers, self.repair) = (false, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// A flow whose application sends bursts, with a window of this many packets in congestion avoidance.
    struct Flow {
        validation: Validation,
        window: Window,
        una: u32,
    }

    impl Flow {
        fn new(cwnd: f64) -> Self {
            let mut window = Window::new(cwnd, f64::INFINITY);
            window.restore_threshold(8.0);
            Self::from(window, 0)
        }

        /// A flow whose first packet has this number.
        fn from(window: Window, una: u32) -> Self {
            let mut validation = Validation::new(4);
            validation.on_sent(Sent { now: at(0), seq: una, una, in_flight: 0, again: false });
            Self { validation, window, una }
        }

        /// A burst of `packets`, acknowledged one by one at `ms`.
        fn burst(&mut self, ms: u64, packets: u32) {
            let high = self.una + packets;
            while self.una < high {
                self.una += 1;
                self.ack(ms, high);
            }
        }

        fn ack(&mut self, ms: u64, high: u32) {
            let (now, una) = (at(ms), self.una);
            self.validation.on_delivered(now);
            self.validation.on_feedback(Feedback { delivered: 1, marked: 0, una, high });
            let progress = Progress {
                now,
                in_flight: (0, 0),
                lost: 0,
                delivered: 1,
                marked: 0,
                is_done: una == high,
                una,
                high,
                srtt: RTT,
                is_limited: false,
                pause: Span::ZERO,
            };
            self.validation.after_ack(&mut self.window, progress);
        }

        fn is_validated(&self) -> bool {
            self.validation.is_validated(&self.window)
        }
    }

    /// 10 of 20 packets in a round trip are half, 9 are less.
    #[test]
    fn half_of_the_window_in_use_validates() {
        for (packets, wanted) in [(10, true), (9, false)] {
            let mut flow = Flow::new(20.0);
            assert!(flow.is_validated(), "pipeACK is undefined");
            flow.burst(100, packets);
            assert_eq!((flow.validation.pipe_ack(), flow.is_validated()), (Some(packets), wanted));
        }
    }

    #[test]
    fn later_connection_counts_from_its_first_packet() {
        let mut flow = Flow::from(Window::new(20.0, f64::INFINITY), 1000);
        flow.burst(100, 9);
        assert_eq!(flow.validation.pipe_ack(), Some(9));
    }

    /// The largest sample of the last second counts, or of three round trips.
    #[test]
    fn sample_counts_for_a_second() {
        let mut flow = Flow::new(20.0);
        flow.burst(100, 12);
        flow.burst(200, 4);
        flow.burst(700, 5);
        assert_eq!(flow.validation.pipe_ack(), Some(12));
        flow.burst(1099, 3);
        assert_eq!(flow.validation.pipe_ack(), Some(12));
        flow.burst(1100, 3);
        assert_eq!(flow.validation.pipe_ack(), Some(5));
        flow.burst(5000, 2);
        assert_eq!(flow.validation.pipe_ack(), Some(2));
        flow.validation.on_resume(&mut flow.window, at(9000));
        assert_eq!(flow.validation.pipe_ack(), Some(0), "idle");
        flow.validation.srtt = Span::from_millis(2000);
        assert_eq!(flow.validation.pipe_ack(), Some(2), "three round trips of 2 s");
    }

    /// pipeACK 6, 8 outstanding: 8/2. Two packets are retransmitted, one of them twice: (8 - 2)/2.
    #[test]
    fn loss_reduces_to_a_part_of_what_is_used() {
        let mut flow = Flow::new(40.0);
        flow.burst(100, 6);
        flow.ack(200, 14);
        let used = flow.validation.before_reduction(&mut flow.window);
        assert_eq!((used, flow.window.cwnd()), (Some(8.0), 8.0));
        flow.window.halve();
        flow.validation.on_loss(&flow.window, used);
        for seq in [6, 9, 6] {
            let sent = Sent { now: at(210), seq, una: 6, in_flight: 5, again: true };
            flow.validation.on_sent(sent);
        }
        flow.validation.on_recovered(&mut flow.window);
        assert_eq!((flow.window.cwnd(), flow.window.ssthresh()), (3.0, 3.0));
        assert_eq!(flow.validation.pipe_ack(), None);
        // More retransmitted than in use: one packet.
        flow.window.set(40.0);
        flow.burst(300, 6);
        flow.ack(400, 14);
        let used = flow.validation.before_reduction(&mut flow.window);
        flow.window.halve();
        flow.validation.on_loss(&flow.window, used);
        (0..9).for_each(|seq| {
            flow.validation.on_sent(Sent { now: at(410), seq, una: 6, in_flight: 5, again: true });
        });
        flow.validation.on_recovered(&mut flow.window);
        assert_eq!((flow.window.cwnd(), flow.window.ssthresh()), (1.0, 2.0));
    }

    #[test]
    fn validated_window_is_reduced_as_ever() {
        let mut flow = Flow::new(20.0);
        flow.burst(100, 15);
        assert_eq!(flow.validation.before_reduction(&mut flow.window), None);
        flow.window.halve();
        flow.validation.on_loss(&flow.window, None);
        flow.burst(200, 30);
        assert_eq!(flow.validation.pipe_ack(), Some(15), "no samples in recovery");
        flow.validation.on_recovered(&mut flow.window);
        assert_eq!((flow.window.cwnd(), flow.window.ssthresh()), (10.0, 10.0));
    }

    /// 80, 40, 20 ... packets, each five minutes; the threshold is three quarters of the window before.
    #[test]
    fn window_halves_every_five_minutes_of_disuse() {
        let mut flow = Flow::new(80.0);
        flow.burst(0, 40);
        flow.validation.on_resume(&mut flow.window, at(299_999));
        assert_eq!(flow.window.cwnd(), 80.0);
        flow.validation.on_resume(&mut flow.window, at(300_000));
        assert_eq!((flow.window.cwnd(), flow.window.ssthresh()), (40.0, 60.0));
        flow.validation.on_resume(&mut flow.window, at(900_000));
        assert_eq!((flow.window.cwnd(), flow.window.ssthresh()), (10.0, 60.0));
        flow.validation.on_resume(&mut flow.window, at(90_000_000));
        assert_eq!(flow.window.cwnd(), 4.0, "the initial window");
    }
}
