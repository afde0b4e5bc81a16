//! The virtual buffer of SVB, MSVB and SIO: a virtual queue and a threshold on it.
//!
//! A packet that counts adds its length to the virtual queue Q_v and subtracts alpha times its length from the
//! threshold B of its class. Between arrivals Q_v falls at the link rate C, and B rises at alpha phi C, where phi is
//! the share of the class; both are integrated exactly. With a leak kappa, B' also has the term kappa (target - B). An
//! arrival is signalled with probability (Q_v - B)/Q_v, or 0 if B is larger. All lengths are in one unit, packets or
//! bytes.

use alloc::format;
use alloc::string::{String, ToString};

use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::time::Instant;
use crate::base::units::{Bytes, Depth, Limit, Link};
use crate::base::verdict::Fate;
use crate::choice;

choice! {
    /// Which packets count in Q_v and B.
    pub enum RateBasis {
        /// Packets that enter the buffer. Q_v then differs from the real backlog only because it drains continuously.
        Accepted = "accepted",
        /// Every arrival, as in the paper; suitable for marks, not for drops.
        Offered = "offered",
    }
}

impl RateBasis {
    /// Whether a packet counts when it is queued, delivered or dropped (its fate).
    #[inline]
    pub const fn counts(self, fate: Fate) -> bool {
        match fate {
            Fate::Queued { .. } => true,
            Fate::Dropped(_) => matches!(self, Self::Offered),
            Fate::Delivered { .. } => false,
        }
    }
}

/// Automatic b_cap (largest threshold) as a fraction of the buffer: our choice.
const CAP_OF_BUFFER: f64 = 0.5;
/// Automatic b_floor (smallest threshold) as a fraction of b_cap: our choice.
const FLOOR_OF_CAP: f64 = 0.1;

/// Seconds in a nanosecond.
const NANO: f64 = 1e-9;

/// Q_v after `dt` without traffic: Q_v' = -C, at least 0.
fn drained(q_v: f64, capacity: f64, dt: f64) -> f64 {
    (q_v - capacity * dt).max(0.0)
}

/// B after `dt` without traffic, not limited to its bounds: B' = fill.
fn filled(b: f64, fill: f64, dt: f64) -> f64 {
    b + fill * dt
}

/// B after `dt` without traffic, with a leak: B' = kappa (rest - B).
fn relaxed(b: f64, kappa: f64, rest: f64, dt: f64) -> f64 {
    b - (rest - b) * libm::expm1(-kappa * dt)
}

/// B after traffic of `size`, which subtracts `alpha` `size`; at least `floor`.
fn charged(b: f64, alpha: f64, size: f64, floor: f64) -> f64 {
    (b - alpha * size).max(floor)
}

/// The signal probability max(0, (q - b)/q).
fn probability(q: f64, b: f64) -> f64 {
    if q > b { (q - b) / q } else { 0.0 }
}

/// A queue and its threshold at an arrival.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Odds {
    q: f64,
    b: f64,
}

impl Odds {
    /// A queue of length `q` and a threshold `b`.
    pub const fn new(q: f64, b: f64) -> Self {
        Self { q, b }
    }

    /// Whether an arrival with random number `u` is signalled: u < p, without a division.
    #[inline]
    pub fn signal(self, u: f64) -> bool {
        u * self.q < self.q - self.b
    }

    /// The signal probability max(0, (q - b)/q).
    pub fn p(self) -> f64 {
        probability(self.q, self.b)
    }
}

/// The bounds of the thresholds as given by the user.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// Largest threshold: one for all classes, or one per class; empty: half the buffer.
    pub cap: &'a [Depth],
    /// Initial threshold; auto: the largest.
    pub init: Auto<Depth>,
    /// Smallest threshold; auto: a tenth of the largest.
    pub floor: Auto<Depth>,
    /// `target` of the leak term kappa (target - B); auto: the initial threshold.
    pub target: Auto<Depth>,
}

/// The bounds of one threshold, in the unit of Q_v.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// Smallest threshold.
    pub floor: f64,
    /// Initial threshold.
    pub init: f64,
    /// Largest threshold.
    pub cap: f64,
    /// `target` of the leak term kappa (target - B).
    pub target: f64,
}

impl Bounds<'_> {
    /// The values that the user has given, each with its name and rank. A value must not exceed a value of higher rank.
    fn given(&self) -> impl Iterator<Item = (&'static str, u8, Depth)> {
        let one = |name, rank, depth| match depth {
            Auto::Given(depth) => Some((name, rank, depth)),
            Auto::Auto => None,
        };
        let inner = [one("b_floor", 0, self.floor), one("b_init", 1, self.init), one("b_target", 1, self.target)];
        inner.into_iter().flatten().chain(self.cap.iter().map(|cap| ("b_cap", 2, *cap)))
    }

    /// The values that the user has given, except 0, which needs no unit.
    fn with_unit(&self) -> impl Iterator<Item = (&'static str, u8, Depth)> {
        self.given().filter(|(.., depth)| depth.value() > 0.0)
    }

    /// Checks that all values have the same unit, cap > 0, floor <= init <= cap and floor <= target <= cap.
    pub fn check(&self) -> Result<(), String> {
        let mut others = self.with_unit();
        if let Some((name, _, depth)) = others.next()
            && let Some((other, ..)) = others.find(|(.., other)| other.with(0.0) != depth.with(0.0))
        {
            return Err(format!("{name} and {other} in the same unit, packets or bytes"));
        }
        if self.cap.iter().any(|cap| cap.value() <= 0.0) {
            return Err("b_cap above 0: at 0 every packet is signalled".to_string());
        }
        for (lower, rank, least) in self.given() {
            let broken = |(_, above, most): &(_, u8, Depth)| *above > rank && least.value() > most.value();
            if let Some((upper, ..)) = self.given().find(broken) {
                return Err(format!("{lower} at most {upper}"));
            }
        }
        Ok(())
    }

    /// The unit of the values that the user has given, else the unit of the buffer; returned as a depth of 0.
    pub fn unit(&self, link: &Link) -> Depth {
        match (self.with_unit().next(), link.limit) {
            (Some((.., depth)), _) => depth.with(0.0),
            (None, Limit::Packets(_)) => Depth::Packets(0.0),
            (None, Limit::Bytes(_)) => Depth::Bytes(0.0),
        }
    }

    /// The bounds of class `class`. If `cap` is a list of n values, class i has value i mod n.
    pub fn of(&self, class: usize, link: &Link) -> Range {
        let unit = self.unit(link);
        let buffer = match unit {
            Depth::Packets(_) => link.limit_pkts(),
            Depth::Bytes(_) => link.limit_bytes(),
        };
        let cap = match self.cap {
            [] => CAP_OF_BUFFER * buffer,
            caps => caps[class % caps.len()].value(),
        };
        let floor = self.floor.or(unit.with(FLOOR_OF_CAP * cap)).value().min(cap);
        let init = self.init.or(unit.with(cap)).value().clamp(floor, cap);
        let target = self.target.or(unit.with(init)).value().clamp(floor, cap);
        Range { floor, init, cap, target }
    }
}

/// B: a threshold on Q_v, at the time of the latest arrival that used it.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    alpha: f64,
    /// Fill rate alpha phi C per nanosecond.
    fill: f64,
    range: Range,
    b: f64,
    at: Instant,
    /// Leak kappa in 1/s; 0: none.
    kappa: f64,
    /// Equilibrium of a threshold with a leak, without traffic.
    rest: f64,
}

impl Threshold {
    /// A threshold that fills at alpha phi `capacity`.
    pub const fn new(alpha: f64, phi: f64, capacity: f64, range: Range) -> Self {
        Self {
            alpha,
            fill: alpha * phi * capacity * NANO,
            range,
            b: range.init,
            at: Instant::ZERO,
            kappa: 0.0,
            rest: 0.0,
        }
    }

    /// Keeps the parameters of `self` and takes the value of `before`, limited to the bounds of `self`.
    #[must_use]
    pub const fn after(self, before: &Self) -> Self {
        Self { b: before.b.clamp(self.range.floor, self.range.cap), at: before.at, ..self }
    }

    /// This threshold with a leak towards its target at rate `kappa` in 1/s.
    #[must_use]
    pub fn leaking(self, kappa: f64) -> Self {
        let rest = if kappa > 0.0 { self.range.target + self.fill / (NANO * kappa) } else { 0.0 };
        Self { kappa, rest, ..self }
    }

    /// The threshold B at `now` if there was no traffic, before it is limited to its bounds.
    #[inline]
    fn unbounded(&self, now: Instant) -> f64 {
        let dt = now.since(self.at);
        if self.kappa > 0.0 {
            relaxed(self.b, self.kappa, self.rest, dt.secs())
        } else {
            filled(self.b, self.fill, dt.nanos() as f64)
        }
    }

    /// Advances the threshold B to `now`, without traffic.
    #[inline]
    fn advance(&mut self, now: Instant) {
        self.b = self.unbounded(now).min(self.range.cap);
        self.at = now;
    }

    /// Advances the threshold B to `now`, with evenly distributed traffic of `size`.
    fn flow(&mut self, size: f64, now: Instant) {
        let (dt, charge) = (now.since(self.at).secs(), self.alpha * size);
        let b = if self.kappa > 0.0 && dt > 0.0 {
            // The equilibrium of the leak with this traffic.
            relaxed(self.b, self.kappa, self.rest - charge / (self.kappa * dt), dt)
        } else {
            self.unbounded(now) - charge
        };
        self.b = b.clamp(self.range.floor, self.range.cap);
        self.at = now;
    }

    /// The threshold B after traffic of `size`.
    #[inline]
    fn with(&self, size: f64) -> f64 {
        charged(self.b, self.alpha, size, self.range.floor)
    }

    /// The threshold B.
    pub const fn value(&self) -> f64 {
        self.b
    }
}

/// Q_v at the time of the latest arrival.
#[derive(Clone, Copy, Debug)]
pub struct VirtualBuffer {
    unit: Depth,
    /// Link rate C per nanosecond. Stored because a division per arrival would cost more than all other operations.
    capacity: f64,
    q_v: f64,
    at: Instant,
}

impl VirtualBuffer {
    /// An empty virtual queue for `link`, in this unit.
    pub fn new(unit: Depth, link: &Link) -> Self {
        Self { unit, capacity: unit.per_sec(link.rate, link.mean_packet) * NANO, q_v: 0.0, at: Instant::ZERO }
    }

    /// This virtual queue with the length of `before`; `None` if the units differ.
    pub fn after(self, before: &Self) -> Option<Self> {
        self.unit.is_like(before.unit).then_some(Self { q_v: before.q_v, at: before.at, ..self })
    }

    /// The link rate C per second, in the unit of the virtual queue.
    pub const fn capacity(&self) -> f64 {
        self.capacity / NANO
    }

    /// The length of the virtual queue, Q_v.
    pub const fn value(&self) -> f64 {
        self.q_v
    }

    /// Advances Q_v and `threshold` to `now`. Returns the signal odds of `packet`: Q_v and B as they would be if it
    /// were counted. Does not count it.
    #[inline]
    pub fn arrival(&mut self, threshold: &mut Threshold, packet: &Packet, now: Instant) -> Odds {
        self.advance(threshold, now);
        let size = self.unit.weigh(packet);
        Odds::new(self.q_v + size, threshold.with(size))
    }

    #[inline]
    fn advance(&mut self, threshold: &mut Threshold, now: Instant) {
        self.q_v = drained(self.q_v, self.capacity, now.since(self.at).nanos() as f64);
        self.at = now;
        threshold.advance(now);
    }

    /// Advances Q_v and `threshold` to `now` with `bytes` of evenly distributed traffic in packets of `mean` bytes.
    /// Returns the signal odds at `now`.
    pub fn flow(&mut self, threshold: &mut Threshold, bytes: u64, mean: Bytes, now: Instant) -> Odds {
        let size = match self.unit {
            Depth::Packets(_) => bytes as f64 / mean.0 as f64,
            Depth::Bytes(_) => bytes as f64,
        };
        // Traffic and drain are simultaneous: only their sum is bounded by 0.
        self.q_v = drained(self.q_v + size, self.capacity, now.since(self.at).nanos() as f64);
        self.at = now;
        threshold.flow(size, now);
        Odds::new(self.q_v, threshold.b)
    }

    /// Counts `packet`, the latest arrival.
    #[inline]
    pub fn count(&mut self, threshold: &mut Threshold, packet: &Packet) {
        let size = self.unit.weigh(packet);
        self.q_v += size;
        threshold.b = threshold.with(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Span;
    use crate::base::units::Rate;
    use crate::base::verdict::Reason;
    use crate::testing::by_hand::ms as at;

    /// 10 Mb/s of 1000-byte packets: C = 1250 packets a second, a buffer of 100.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };
    const PKTS: Depth = Depth::Packets(0.0);

    fn range(floor: f64, init: f64, cap: f64) -> Range {
        Range { floor, init, cap, target: init }
    }

    fn bounds(cap: &[Depth], init: Option<Depth>, floor: Option<Depth>) -> Bounds<'_> {
        let auto = |depth: Option<Depth>| depth.map_or(Auto::Auto, Auto::Given);
        Bounds { cap, init: auto(init), floor: auto(floor), target: Auto::Auto }
    }

    #[test]
    fn q_v_b_and_probability_match_hand_calculation() {
        assert_eq!(drained(10.0, 1250.0, 0.004), 5.0);
        assert_eq!(drained(1.0, 1250.0, 0.004), 0.0);
        // alpha phi C dt = 0.5 x 0.1 x 1250 x 0.02 = 1.25.
        assert_eq!(filled(20.0, 0.5 * 0.1 * 1250.0, 0.02), 21.25);
        assert_eq!(charged(20.0, 0.5, 1.0, 0.0), 19.5);
        assert_eq!(charged(0.25, 0.5, 1.0, 0.0), 0.0);
        assert_eq!(probability(80.0, 60.0), 0.25);
        assert_eq!(probability(60.0, 80.0), 0.0);
        assert_eq!(probability(0.0, 0.0), 0.0);
        // The decision is u < p, so p = 0 never signals.
        let odds = [Odds::new(80.0, 60.0), Odds::new(60.0, 80.0), Odds::new(0.0, 0.0), Odds::new(1.0, 0.0)];
        assert_eq!(
            odds.map(|odds| [0.0, 0.249, 0.25, 0.999].map(|u| odds.signal(u))),
            [[true, true, false, false], [false; 4], [false; 4], [true; 4]]
        );
    }

    #[test]
    fn threshold_with_leak_approaches_equilibrium_exponentially() {
        // kappa = 0.1/s: half of the distance in ln 2/0.1 = 6.93 s, in one step or in two.
        let half = core::f64::consts::LN_2 / 0.1;
        assert!((relaxed(10.0, 0.1, 50.0, half) - 30.0).abs() < 1e-12);
        let steps = relaxed(relaxed(10.0, 0.1, 50.0, 1.0), 0.1, 50.0, half - 1.0);
        assert!((steps - 30.0).abs() < 1e-12);
        assert_eq!(relaxed(10.0, 0.1, 50.0, 0.0), 10.0);
        // B' = fill + kappa (target - B): 6.25 a second against 0.1 (20 - B) settles at 20 + 62.5.
        let range = range(0.0, 20.0, 1000.0);
        let mut leaking = Threshold::new(0.5, 0.01, 1250.0, range).leaking(0.1);
        assert_eq!(leaking.rest, 82.5);
        leaking.advance(at(1_000_000));
        assert!((leaking.value() - 82.5).abs() < 1e-9);
        // No leak: 100 s of 6.25 a second.
        let mut plain = Threshold::new(0.5, 0.01, 1250.0, range).leaking(0.0);
        plain.advance(at(100_000));
        assert_eq!(plain.value(), 645.0);
    }

    #[test]
    fn decision_does_not_add_packet_to_virtual_queue() {
        let mut buffer = VirtualBuffer::new(PKTS, &LINK);
        let mut b = Threshold::new(1.5, 0.0, buffer.capacity(), range(0.0, 2.5, 2.5));
        let packet = Packet { len: 1000, ..Packet::default() };
        assert_eq!(buffer.arrival(&mut b, &packet, at(0)).p(), 0.0);
        buffer.count(&mut b, &packet);
        assert_eq!((buffer.value(), b.value()), (1.0, 1.0));
        // With it they would be 2 and 0: certain.
        assert_eq!(buffer.arrival(&mut b, &packet, at(0)).p(), 1.0);
        assert_eq!((buffer.value(), b.value()), (1.0, 1.0));
        // 0.4 ms drain half a packet: 1.5 and 0 now.
        assert_eq!(buffer.arrival(&mut b, &packet, Instant::from_nanos(400_000)).p(), 1.0);
        assert_eq!(buffer.value(), 0.5);
    }

    #[test]
    fn threshold_stays_within_its_bounds() {
        let mut b = Threshold::new(1.0, 1.0, 1000.0, range(3.0, 5.0, 8.0));
        assert_eq!((b.value(), b.with(1.0), b.with(9.0)), (5.0, 4.0, 3.0));
        b.advance(at(2));
        assert_eq!(b.value(), 7.0);
        b.advance(at(10_000));
        assert_eq!(b.value(), 8.0);
    }

    /// `rate_basis` decides which packets add to the virtual queue: `offered` all arrivals, `accepted` those that enter
    /// the buffer.
    #[test]
    fn basis_offered_adds_dropped_packets_to_virtual_queue() {
        use RateBasis::{Accepted, Offered};
        for basis in [Accepted, Offered] {
            assert!(basis.counts(Fate::Queued { marked: false }) && basis.counts(Fate::Queued { marked: true }));
            assert!(!basis.counts(Fate::Delivered { marked: false }));
            for reason in [Reason::Early, Reason::Overflow] {
                assert_eq!(basis.counts(Fate::Dropped(reason)), basis == Offered);
            }
        }
    }

    #[test]
    fn unset_threshold_bounds_follow_the_given_ones() {
        let (p, b) = (Depth::Packets, Depth::Bytes);
        let none = Some(p(0.0));
        let of = |bounds: Bounds<'_>, class| (bounds.unit(&LINK), bounds.of(class, &LINK));
        assert_eq!(of(bounds(&[], None, none), 7), (p(0.0), range(0.0, 50.0, 50.0)));
        assert_eq!(of(bounds(&[], None, None), 7), (p(0.0), range(5.0, 50.0, 50.0)));
        assert_eq!(of(bounds(&[p(20.0)], None, none), 7), (p(0.0), range(0.0, 20.0, 20.0)));
        assert_eq!(of(bounds(&[], Some(b(3e4)), none), 0), (b(0.0), range(0.0, 3e4, 5e4)));
        // Classes wrap around the list; values above the cap of a class are clamped.
        let caps = [p(20.0), p(8.0), p(0.0)];
        let list = bounds(&caps, Some(p(10.0)), Some(p(1.0)));
        assert_eq!(
            [3, 4, 5].map(|class| list.of(class, &LINK)),
            [range(1.0, 10.0, 20.0), range(1.0, 8.0, 8.0), range(0.0, 0.0, 0.0)]
        );
    }

    #[test]
    fn contradictory_bounds_are_rejected() {
        let (p, b) = (Depth::Packets, Depth::Bytes);
        let refused = |cap: &[Depth], init, floor| bounds(cap, init, floor).check().is_err();
        assert!(refused(&[p(50.0)], Some(b(1000.0)), None) && refused(&[p(50.0)], None, Some(p(60.0))));
        assert!(refused(&[p(50.0), p(5.0)], Some(p(10.0)), None) && refused(&[], Some(p(10.0)), Some(p(11.0))));
        assert!(refused(&[p(0.0)], Some(p(1.0)), None) && refused(&[p(5.0), b(5.0)], None, None));
        assert!(refused(&[p(0.0)], None, None) && refused(&[p(5.0), p(0.0)], None, None));
        assert!(!refused(&[p(50.0)], None, Some(b(0.0))) && !refused(&[p(9.0), p(10.0)], Some(p(9.0)), Some(p(9.0))));
        let caps = [p(50.0)];
        let target = |target| Bounds { target: Auto::Given(target), ..bounds(&caps, Some(p(40.0)), Some(p(5.0))) };
        assert_eq!([4.0, 5.0, 45.0, 51.0].map(|n| target(p(n)).check().is_ok()), [false, true, true, false]);
        assert!(target(b(45.0)).check().is_err());
        assert_eq!(target(p(45.0)).of(0, &LINK), Range { target: 45.0, ..range(5.0, 40.0, 50.0) });
    }

    #[test]
    fn fluid_update_matches_packet_updates_within_one_packet() {
        let range = Range { floor: 0.0, init: 40_000.0, cap: 50_000.0, target: 40_000.0 };
        let new = || {
            let buffer = VirtualBuffer::new(Depth::Bytes(0.0), &LINK);
            (buffer, Threshold::new(0.5, 1.0, buffer.capacity(), range))
        };
        let ((mut packets, mut b_packets), (mut fluid, mut b_fluid)) = (new(), new());
        // Small packets, evenly over each millisecond: 2.4 and 0.4 times the link rate. The fluid gets all of them at
        // the end of the millisecond and must be within one packet.
        let packet = Packet { len: 10, ..Packet::default() };
        for ms in 1..=90 {
            let many = if ms <= 15 { 300 } else { 50 };
            for i in 1..=many {
                let now = at(ms - 1) + Span::from_nanos(1_000_000 * i / many);
                packets.arrival(&mut b_packets, &packet, now);
                packets.count(&mut b_packets, &packet);
            }
            fluid.flow(&mut b_fluid, 10 * many, Bytes(1000), at(ms));
            let apart = [packets.value() - fluid.value(), b_packets.value() - b_fluid.value()];
            assert!(apart.iter().all(|bytes| bytes.abs() <= 10.0 + 1e-6), "{ms} ms: {apart:?}");
        }
        assert!(fluid.value() == 0.0 && b_fluid.value() == 50_000.0, "{fluid:?} {b_fluid:?}");
    }

    #[test]
    fn threshold_with_leak_is_independent_of_update_interval() {
        let range = Range { floor: 0.0, init: 40.0, cap: 90.0, target: 40.0 };
        let after = |ms: u64| {
            let mut buffer = VirtualBuffer::new(PKTS, &LINK);
            let mut b = Threshold::new(0.5, 1.0, buffer.capacity(), range).leaking(0.5);
            for n in 1..=2000 / ms {
                buffer.flow(&mut b, 1_200_000 * ms / 1000, Bytes(1000), at(n * ms));
            }
            b.value()
        };
        // The equilibrium is 40 + 0.5 (1250 - 1200)/0.5 = 90: 90 - 50 e^-1 after two seconds.
        assert!([1, 20, 200, 1000].map(after).iter().all(|b| (b - (90.0 - 50.0 / core::f64::consts::E)).abs() < 1e-6));
    }
}
