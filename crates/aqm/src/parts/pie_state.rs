//! PIE for one queue (RFC 8033): what it remembers, and what it does at arrivals, departures and updates.
//!
//! A [`PieState`] is small and knows its queue only as a [`Level`], so that each of many lists can have one; they
//! share a [`Rule`].

use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::Limit;
use crate::base::verdict::Verdict;

use super::drain_time::DrainTime;
use super::pie_rule::{Burst, Empty, Latency, Rule, Sleep, Spare};

/// While p is below this, a short delay spares arrivals: section 4.1.
const LOW_P: f64 = 0.2;
/// Accumulated probability before which nothing is dropped, and from which on everything: section 5.4.
const SPACING: (f64, f64) = (0.85, 8.5);

/// PIE's memory of one queue. Delays in seconds.
#[derive(Clone, Debug)]
pub struct PieState {
    p: f64,
    delay: f64,
    before: f64,
    burst: Span,
    spacing: f64,
    awake: bool,
    /// Of the last update, or of waking up.
    updated: Instant,
    departed: Option<Instant>,
    drain: DrainTime,
}

impl PieState {
    /// A queue that nothing is known of.
    pub fn new(rule: &Rule) -> Self {
        Self {
            p: 0.0,
            delay: 0.0,
            before: 0.0,
            burst: rule.max_burst,
            spacing: 0.0,
            awake: rule.sleep == Sleep::Off,
            updated: Instant::ZERO,
            departed: None,
            drain: DrainTime::new(rule.dq_threshold),
        }
    }

    /// An arrival that meets `level`; draws one random number, also when the buffer is full.
    pub fn arrival(&mut self, rule: &Rule, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let u = cx.rng.uniform();
        if rule.sleep == Sleep::Off && rule.burst == Burst::Timer && self.is_calm(rule) {
            self.burst = rule.max_burst;
        }
        let fits = level.fits(packet.len);
        if !fits {
            self.spacing = 0.0;
        }
        if !self.awake {
            self.wake(rule, if fits { packet.len } else { 0 }, level, cx.now);
            return Verdict::Accept;
        }
        match fits && self.picks(rule, packet, level, u) {
            false => Verdict::Accept,
            true if self.p < rule.ecn_cut => Verdict::Signal,
            true => Verdict::Drop,
        }
    }

    /// Section 4.4: no congestion, p is 0 and this delay and the one before are below half the target.
    fn is_calm(&self, rule: &Rule) -> bool {
        self.p == 0.0 && rule.is_short(self.delay) && rule.is_short(self.before)
    }

    /// Is it this packet's turn? Sections 4.1, 4.4 and 5.4.
    fn picks(&mut self, rule: &Rule, packet: &Packet, level: &Level, u: f64) -> bool {
        let allowed = self.burst > Span::ZERO;
        if (rule.burst == Burst::Departure && allowed) || self.spares(rule, level) {
            return false;
        }
        let p = rule.per_byte.map_or(self.p, |whole| self.p * (f64::from(packet.len) / whole).min(1.0));
        if !rule.derandomise {
            return u < p && !allowed;
        }
        self.spacing = if p == 0.0 { 0.0 } else { self.spacing + p };
        let forced = self.spacing >= SPACING.1;
        let picked = forced || (self.spacing >= SPACING.0 && u < p);
        // Appendix B: a packet picked at random begins the spacing anew even if the burst allowance then saves it.
        if picked && !(forced && allowed) {
            self.spacing = 0.0;
        }
        picked && !allowed
    }

    /// Section 4.1: dropping now would leave the link idle.
    fn spares(&self, rule: &Rule, level: &Level) -> bool {
        let short = match rule.spare {
            Spare::Sample => rule.is_short(self.before),
            Spare::Latest => rule.is_short(self.delay),
            Spare::Off => false,
        };
        (short && self.p < LOW_P) || rule.min_backlog.measure(level) <= rule.min_backlog.value()
    }

    /// Section 5.3: does enough wait, with the `len` bytes that arrive?
    fn wake(&mut self, rule: &Rule, len: u32, level: &Level, now: Instant) {
        let enough = match level.link().limit {
            Limit::Packets(n) => f64::from(level.pkts() + u32::from(len > 0)) >= f64::from(n) * rule.wake_at,
            Limit::Bytes(n) => (level.bytes() + u64::from(len)) as f64 >= n as f64 * rule.wake_at,
        };
        if enough {
            (self.awake, self.updated) = (true, now);
            (self.p, self.before, self.spacing) = (0.0, 0.0, 0.0);
            self.burst = rule.max_burst;
            self.drain.restart(now);
        }
    }

    /// A departure that leaves `level` behind.
    pub fn departure(&mut self, rule: &Rule, packet: &Packet, level: &Level, now: Instant) {
        let took = match rule.latency {
            Latency::Timestamp => {
                let idle = level.pkts() == 0 && rule.empty == Empty::Zero;
                self.delay = if idle { 0.0 } else { now.since(packet.arrived).secs() };
                self.departed.replace(now).map(|last| now.since(last))
            }
            Latency::Rate => self.drain.departure(packet.len, level.bytes(), now),
        };
        if rule.burst == Burst::Departure {
            self.burst = self.burst - took.unwrap_or(Span::ZERO);
        }
    }

    /// A period has passed; `backlog` bytes wait.
    pub fn update(&mut self, rule: &Rule, backlog: u64, now: Instant) {
        // Woken since the last update: the first one comes a whole period later.
        if !self.awake || (rule.sleep != Sleep::Off && now.since(self.updated) < rule.period) {
            return;
        }
        if rule.latency == Latency::Rate {
            self.delay = self.drain.delay(backlog);
        }
        self.p = rule.next(self.p, self.delay, self.before);
        let known = rule.latency == Latency::Timestamp || self.drain.is_known();
        match rule.burst {
            Burst::Timer => self.burst = self.burst - rule.period,
            Burst::Departure if known && self.is_calm(rule) => {
                (self.burst, self.departed, self.spacing) = (rule.max_burst, None, 0.0);
                self.drain.forget();
            }
            Burst::Departure => (),
        }
        let sleeps = match rule.sleep {
            Sleep::Off => false,
            Sleep::Half => self.is_calm(rule),
            Sleep::Zero => self.p == 0.0 && self.delay == 0.0 && self.before == 0.0,
        };
        if sleeps && known {
            self.awake = false;
            self.drain.stop();
        }
        (self.before, self.updated) = (self.delay, now);
    }

    /// Would an update leave it as it is, while its queue is empty? Under Linux's burst allowance.
    pub fn is_at_rest(&self, rule: &Rule) -> bool {
        let calm = self.p == 0.0 && self.delay == 0.0 && self.before == 0.0 && self.spacing == 0.0;
        calm && self.departed.is_none() && !self.drain.is_known() && self.burst == rule.max_burst
    }

    /// Signal probability.
    pub const fn p(&self) -> f64 {
        self.p
    }

    /// The latest delay known, in seconds.
    pub const fn delay(&self) -> f64 {
        self.delay
    }

    /// What is left of the burst allowance.
    pub const fn burst(&self) -> Span {
        self.burst
    }

    /// Probability accumulated since the last drop.
    pub const fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Is it active?
    pub const fn is_awake(&self) -> bool {
        self.awake
    }

    /// The measured departure rate in bits per second; 0 while unknown, or if delays are timestamps.
    pub fn rate(&self) -> f64 {
        self.drain.rate()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::aqm::pie::{Params, Pie};
    use crate::base::adapters::Fifo;
    use crate::base::design::Design;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::port::MAIN;
    use crate::base::rng::Rng;
    use crate::base::units::{Bytes, Link, Rate};

    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };
    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn packet() -> Packet {
        Packet { len: 1000, ..Packet::default() }
    }

    fn queue() -> Queue<Fifo<Pie>> {
        Queue::new(Fifo::new(Pie::build(&Params::default(), &LINK)), LINK, true, Rng::stream(1, "queue"))
    }

    fn rule(settings: &str) -> Rule {
        let mut params = Params::default();
        for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
            params.set(key, value).unwrap().unwrap();
        }
        params.rule(&LINK)
    }

    /// Congested, without a burst allowance.
    fn congested(rule: &Rule, p: f64) -> PieState {
        PieState { p, delay: 0.1, before: 0.1, burst: Span::ZERO, ..PieState::new(rule) }
    }

    /// What `n` arrivals that meet ten packets hear.
    fn verdicts(state: &mut PieState, rule: &Rule, n: usize) -> Vec<Verdict> {
        let mut queue = queue();
        (0..10).for_each(|_| queue.arrive(packet(), at(0)));
        let mut rng = Rng::stream(1, "pie");
        let mut cx = Cx { now: at(0), rng: &mut rng };
        (0..n).map(|_| state.arrival(rule, &packet(), &queue.port.level(MAIN), &mut cx)).collect()
    }

    #[test]
    fn drops_are_spaced_by_the_accumulated_probability() {
        let rule = rule("derandomise=on");
        let mut state = congested(&rule, 0.25);
        let heard = verdicts(&mut state, &rule, 4000);
        let drops: Vec<usize> = (0..4000).filter(|n| heard[*n] == Verdict::Drop).collect();
        // 0.25, 0.5, 0.75 are below 0.85, 8.5 = 34 x 0.25 is forced.
        let gaps = drops.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.clone().all(|gap| (4..=34).contains(&gap)) && gaps.min() == Some(4));
        assert!((400..700).contains(&drops.len()), "one in 3 + 1/0.25: {}", drops.len());
    }

    #[test]
    fn at_8_5_the_drop_is_forced() {
        let rule = rule("derandomise=on");
        let mut state = PieState { spacing: 8.499, ..congested(&rule, 0.001) };
        assert_eq!(verdicts(&mut state, &rule, 2), [Verdict::Signal, Verdict::Accept]);
        assert_eq!(state.spacing, 0.001);
        let mut saved = PieState { spacing: 8.499, burst: Span::from_millis(1), ..congested(&rule, 0.001) };
        assert_eq!(verdicts(&mut saved, &rule, 1), [Verdict::Accept]);
        assert_eq!(saved.spacing, 8.5, "the allowance saves it, the next one is forced too");
    }

    #[test]
    fn accumulates_nothing_at_p_0() {
        let rule = rule("derandomise=on");
        let mut state = PieState { spacing: 8.0, ..congested(&rule, 0.0) };
        verdicts(&mut state, &rule, 1);
        assert_eq!(state.spacing, 0.0);
    }

    #[test]
    fn short_packets_meet_less_in_byte_mode() {
        let (plain, by_bytes) = (rule(""), rule("bytes=on"));
        let hits = |rule: &Rule| {
            let heard = verdicts(&mut congested(rule, 0.5), rule, 1000);
            heard.iter().filter(|verdict| **verdict == Verdict::Drop).count()
        };
        assert_eq!(hits(&plain), hits(&by_bytes), "a packet of mean length");
        let short = Rule { per_byte: Some(4000.0), ..by_bytes };
        assert!((90..160).contains(&hits(&short)), "a quarter of 500: {}", hits(&short));
        let long = Rule { per_byte: Some(10.0), ..short };
        assert_eq!(hits(&long), hits(&plain), "bounded: a long packet meets p, not more");
    }

    #[test]
    fn departures_use_up_the_allowance_of_linux() {
        let rule = rule("burst=departure");
        let mut state = PieState::new(&rule);
        let queue = queue();
        let level = queue.port.level(MAIN);
        for (ms, left) in [(10, 150), (40, 120), (100, 60), (200, 0)] {
            state.departure(&rule, &packet(), &level, at(ms));
            assert_eq!(state.burst, Span::from_millis(left), "{ms} ms");
        }
        state.update(&rule, 0, at(210)); // no delay and p = 0: renewed
        assert_eq!((state.burst, state.departed), (Span::from_millis(150), None));
    }

    #[test]
    fn measurements_use_up_the_allowance_of_linux_and_are_forgotten_with_it() {
        let rule = rule("burst=departure latency=rate dq_threshold=3000b");
        let mut state = PieState::new(&rule);
        let mut queue = queue();
        (0..10).for_each(|_| queue.arrive(packet(), at(0)));
        let level = queue.port.level(MAIN);
        // The departure at 10 ms begins a measurement, the third after it ends it; the one at 60 ms is within the next.
        for (ms, left) in [(10, 150), (20, 150), (30, 150), (50, 110), (60, 110)] {
            state.departure(&rule, &packet(), &level, at(ms));
            assert_eq!(state.burst, Span::from_millis(left), "{ms} ms");
        }
        assert!(state.drain.is_known() && !state.is_at_rest(&rule));
        state.update(&rule, 0, at(70)); // no delay and p = 0: renewed
        assert!(state.burst == Span::from_millis(150) && state.rate() == 0.0);
        assert!(state.is_at_rest(&rule));
        for ms in [80, 90, 100, 110] {
            state.departure(&rule, &packet(), &level, at(ms));
        }
        assert_eq!(state.burst, Span::from_millis(120), "measured anew from 80 ms on");
    }

    #[test]
    fn the_length_that_meets_all_of_p_is_the_mtu_if_given() {
        assert_eq!(rule("bytes=on").per_byte, Some(1000.0), "the mean packet");
        assert_eq!(rule("bytes=on mtu=1514b").per_byte, Some(1514.0));
        assert_eq!(rule("mtu=1514b").per_byte, None);
        for line in ["pie bytemode", "fq_pie bytemode"] {
            assert_eq!(crate::Spec::parse(line).unwrap().get("mtu").as_deref(), Some("1514b"), "{line}: Linux's");
        }
    }
}
