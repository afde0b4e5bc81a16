//! HyStart++ (RFC 9406): slow start slows down when the round trip grows, and ends if it does not fall again.
//!
//! Section 4.3: used in the first slow start only. Each acknowledgement gives a round trip, that of the newest packet that
//! it delivers, unless the packet was retransmitted.

use forebay_aqm::base::time::{Instant, Span};

use super::super::super::congestion::Sent;
use super::super::super::window::Window;

/// MIN_RTT_THRESH and MAX_RTT_THRESH: bounds of the growth of the round trip that slows slow start down.
const THRESHOLD: [Span; 2] = [Span::from_millis(4), Span::from_millis(16)];
/// MIN_RTT_DIVISOR: between the bounds, the part of the last round's minimum.
const DIVISOR: u64 = 8;
/// N_RTT_SAMPLE: round trips in a round before they are compared.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR: packets acknowledged for each packet of growth in conservative slow start.
const GROWTH_DIVISOR: u32 = 4;
/// CSS_ROUNDS: rounds of conservative slow start, the first one included.
const ROUNDS: u32 = 5;
/// L: packets of an acknowledgement that count, if packets are not paced.
const LIMIT: u32 = 8;

/// Conservative slow start (CSS).
#[derive(Clone, Debug)]
struct Conservative {
    /// Smallest round trip at its start; a smaller one later ends it (`cssBaselineMinRtt`).
    baseline: Span,
    /// Rounds that have ended in it.
    rounds: u32,
}

/// State of HyStart++.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    is_paced: bool,
    /// When each outstanding packet was sent; `None`: retransmitted. Indexed by packet number modulo the length, a power of
    /// two.
    sent: Vec<Option<Instant>>,
    /// Round trip of the newest packet delivered by this acknowledgement.
    sample: Option<Span>,
    /// Smallest round trips of the last and of the current round, and the number of samples in the current one.
    last: Option<Span>,
    current: Option<Span>,
    samples: u32,
    /// The round ends when this packet is acknowledged, the first one that was not sent at its start (`windowEnd`).
    end: u32,
    conservative: Option<Conservative>,
    /// Packets acknowledged in conservative slow start that have not yet grown the window.
    credit: u32,
}

impl HyStart {
    pub(super) fn new(is_paced: bool) -> Self {
        Self { is_paced, ..Self::default() }
    }

    pub(super) fn on_sent(&mut self, sent: Sent) {
        let span = (sent.seq - sent.una) as usize + 1;
        if span > self.sent.len() {
            self.extend(sent.una, span);
        }
        let at = self.index(sent.seq);
        self.sent[at] = (!sent.again).then_some(sent.now);
    }

    const fn index(&self, seq: u32) -> usize {
        seq as usize & (self.sent.len() - 1)
    }

    /// Makes room for `span` packets from `una` on.
    fn extend(&mut self, una: u32, span: usize) {
        let old = core::mem::take(&mut self.sent);
        self.sent = vec![None; span.next_power_of_two().max(64)];
        for seq in (una..).take(old.len()) {
            let to = self.index(seq);
            self.sent[to] = old[seq as usize & (old.len() - 1)];
        }
    }

    pub(super) fn on_delivered(&mut self, now: Instant, seq: u32) {
        if !self.sent.is_empty() {
            let sent = self.sent[self.index(seq)];
            self.sample = sent.map(|sent| now.since(sent));
        }
    }

    /// Section 4.2: an acknowledgement of `packets` grows the window.
    pub(super) fn grow(&mut self, window: &mut Window, packets: u32) {
        let packets = if self.is_paced { packets } else { packets.min(LIMIT) };
        let more = if self.conservative.is_some() {
            self.credit += packets;
            let more = self.credit / GROWTH_DIVISOR;
            self.credit %= GROWTH_DIVISOR;
            more
        } else {
            packets
        };
        window.set(window.cwnd() + f64::from(more));
    }

    /// Section 4.2: an acknowledgement has grown the window. Returns whether slow start ends now.
    pub(super) fn ends(&mut self, una: u32, high: u32) -> bool {
        if una > self.end && self.begin_round(high) {
            return true;
        }
        if let Some(rtt) = self.sample.take() {
            self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
            self.compare();
        }
        false
    }

    /// Begins a round that ends at `high`. Returns whether the rounds of conservative slow start are over.
    fn begin_round(&mut self, high: u32) -> bool {
        (self.last, self.current, self.samples, self.end) = (self.current, None, 0, high);
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds >= ROUNDS
    }

    /// Compares the round trips of the current round with those before.
    fn compare(&mut self) {
        let Some(current) = self.current.filter(|_| self.samples >= SAMPLES) else { return };
        match (&self.conservative, self.last) {
            (Some(conservative), _) if current < conservative.baseline => self.conservative = None,
            (None, Some(last)) if current >= last + threshold(last) => {
                self.conservative = Some(Conservative { baseline: current, rounds: 0 });
            }
            _ => {}
        }
    }
}

/// `RttThresh`: by how much the round trip must exceed `last`.
fn threshold(last: Span) -> Span {
    let [low, high] = THRESHOLD;
    Span::from_nanos(last.nanos() / DIVISOR).clamp(low, high)
}

#[cfg(test)]
mod tests {
    use super::super::super::super::congestion::{Acked, CongestionControl};
    use super::super::super::super::{TcpOptions, Variant};
    use super::super::super::Control;
    use super::*;
    use forebay_aqm::base::rng::Rng;

    /// A flow that sends what its window allows and acknowledges every packet.
    struct Flow {
        hystart: HyStart,
        window: Window,
        una: u32,
        /// When each packet was sent.
        sent: Vec<Instant>,
        ended: bool,
    }

    impl Flow {
        fn new(cwnd: u32) -> Self {
            let window = Window::new(f64::from(cwnd), f64::INFINITY);
            let mut flow = Self { hystart: HyStart::new(false), window, una: 0, sent: Vec::new(), ended: false };
            flow.send(Instant::ZERO);
            flow
        }

        fn high(&self) -> u32 {
            self.sent.len() as u32
        }

        fn send(&mut self, now: Instant) {
            while f64::from(self.high() - self.una) < self.window.cwnd() {
                let seq = self.high();
                self.hystart.on_sent(Sent { now, seq, una: self.una, in_flight: seq - self.una, again: false });
                self.sent.push(now);
            }
        }

        /// The next `count` packets are acknowledged, each this long after it was sent.
        fn acks(&mut self, count: u32, rtt_us: u64) {
            for seq in self.una..self.una + count {
                let now = self.sent[seq as usize] + Span::from_micros(rtt_us);
                self.hystart.on_delivered(now, seq);
                self.una = seq + 1;
                self.hystart.grow(&mut self.window, 1);
                self.ended |= self.hystart.ends(self.una, self.high());
                self.send(now);
            }
        }

        /// As many packets as are outstanding.
        fn round(&mut self, rtt_us: u64) {
            self.acks(self.high() - self.una, rtt_us);
        }

        const fn is_conservative(&self) -> bool {
            self.hystart.conservative.is_some()
        }
    }

    #[test]
    fn threshold_is_an_eighth_from_4_to_16_ms() {
        for (last, wanted) in [(8, 4000), (32, 4000), (80, 10_000), (128, 16_000), (400, 16_000)] {
            assert_eq!(threshold(Span::from_millis(last)), Span::from_micros(wanted), "{last} ms");
        }
    }

    /// 80 ms in the last round: 90 ms in the eighth sample of the next one, not in the seventh, and not 89.9 ms.
    #[test]
    fn eighth_longer_sample_slows_growth() {
        for (rtt, slows) in [(90_000, true), (89_900, false)] {
            let mut flow = Flow::new(10);
            flow.round(80_000);
            assert_eq!(flow.window.cwnd(), 20.0);
            flow.acks(7, rtt);
            assert!(!flow.is_conservative());
            flow.acks(1, rtt);
            assert_eq!((flow.is_conservative(), flow.window.cwnd()), (slows, 28.0));
        }
    }

    #[test]
    fn fewer_than_eight_samples_do_not_count() {
        let mut flow = Flow::new(3);
        flow.round(80_000);
        flow.round(200_000);
        assert_eq!((flow.is_conservative(), flow.window.cwnd()), (false, 12.0), "3 + 3 + 6");
    }

    /// From 408 packets the first round adds 392/4, the next ones a quarter each: 506, 632, 790, 988, 1235.
    #[test]
    fn slow_start_ends_after_five_rounds() {
        let mut flow = Flow::new(200);
        flow.round(80_000);
        for (packets, wanted) in [(400, 506.0), (506, 632.0), (632, 790.0), (790, 988.0), (988, 1235.0)] {
            assert!(!flow.ended);
            flow.acks(packets, 95_000);
            assert_eq!((flow.is_conservative(), flow.window.cwnd()), (true, wanted));
        }
        assert!(!flow.ended);
        flow.acks(1, 95_000);
        assert_eq!((flow.ended, flow.window.cwnd()), (true, 1235.0));
    }

    /// 95 ms is the baseline. A round of 95 ms keeps conservative slow start, one sample of 94 ms ends it.
    #[test]
    fn shorter_round_trip_resumes_slow_start() {
        let mut flow = Flow::new(20);
        flow.round(80_000);
        flow.round(95_000);
        assert_eq!((flow.is_conservative(), flow.window.cwnd()), (true, 56.0), "40 + 8 + 32/4");
        flow.acks(10, 95_000);
        assert!(flow.is_conservative());
        flow.acks(1, 94_000);
        assert_eq!((flow.is_conservative(), flow.window.cwnd()), (false, 58.0), "11/4");
        flow.acks(10, 94_000);
        assert_eq!(flow.window.cwnd(), 68.0);
        // The rounds of the next conservative slow start are counted from 0.
        assert!(!flow.ended);
    }

    #[test]
    fn acknowledgement_grows_by_at_most_eight_unless_paced() {
        for (paced, wanted) in [(false, 18.0), (true, 30.0)] {
            let (mut hystart, mut window) = (HyStart::new(paced), Window::new(10.0, f64::INFINITY));
            hystart.grow(&mut window, 20);
            assert_eq!(window.cwnd(), wanted);
        }
    }

    #[test]
    fn retransmitted_packet_gives_no_sample() {
        let mut flow = Flow::new(10);
        flow.hystart.on_sent(Sent { now: Instant::ZERO, seq: 2, una: 0, in_flight: 9, again: true });
        flow.acks(3, 80_000);
        assert_eq!(flow.hystart.samples, 2);
    }

    /// An acknowledgement of 4 packets adds 4 with HyStart++, and 1 by RFC 5681 section 3.1 in a later slow start.
    #[test]
    fn loss_mark_or_timeout_ends_it_for_good() {
        let options = TcpOptions { variant: Variant::RENO, hystart: true, ..TcpOptions::default() };
        type Event = fn(&mut Control, &mut Window);
        let events: [Event; 4] = [
            |_, _| {},
            |control, window| control.on_loss(window),
            |control, window| control.on_mark(window),
            |control, window| control.on_timeout(window, false),
        ];
        for (event, wanted) in events.into_iter().zip([4.0, 1.0, 1.0, 1.0]) {
            let (mut control, mut window) =
                (Control::new(&options, Rng::stream(1, "hystart")), Window::new(10.0, f64::INFINITY));
            event(&mut control, &mut window);
            window.restore_threshold(f64::INFINITY);
            let before = window.cwnd();
            let acked = Acked { now: Instant::ZERO, packets: 4, srtt: Span::from_millis(80) };
            control.on_ack(&mut window, acked);
            assert_eq!(window.cwnd() - before, wanted);
        }
    }
}
