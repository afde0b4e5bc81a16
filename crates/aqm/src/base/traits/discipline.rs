//! The three traits of disciplines: [`Law`] (reads counters), [`Aqm`] (decides about each packet), [`Discipline`] (owns
//! its queues). Implement the first one that fits; adapters provide the others.

use alloc::boxed::Box;

use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::port::{Level, ListId, Port, Tally};
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};

/// The measurements of one period, as passed to a [`Law`].
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The end of the period.
    pub now: Instant,
    /// The length of the period.
    pub dt: Span,
    /// The link that the queue serves.
    pub link: Link,
    /// Current backlog in packets.
    pub backlog_pkts: f64,
    /// Current backlog in bytes.
    pub backlog_bytes: f64,
    /// Counters of the period.
    pub period: Tally,
}

impl Sample {
    /// The backlog in the unit of `depth`.
    pub const fn backlog(&self, depth: Depth) -> f64 {
        match depth {
            Depth::Packets(_) => self.backlog_pkts,
            Depth::Bytes(_) => self.backlog_bytes,
        }
    }
}

/// How a [`Law`] signals packets. There are only these forms, so that a kernel can implement all of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Signal {
    /// With this probability.
    Bernoulli(f64),
    /// With probability `p * q / q0`. Here q is the backlog when the packet is signalled.
    Scaled {
        /// Probability at q0.
        p: f64,
        /// Reference backlog, above 0.
        q0: Depth,
    },
}

/// How packets are signalled until the next update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Actuation {
    /// The signal probability: constant, or in proportion to the backlog.
    pub signal: Signal,
    /// The mean packet length in bytes in byte mode: the probability is multiplied by packet length / mean. `None` in
    /// packet mode.
    pub per_byte: Option<f64>,
    /// The moment at which ECT packets are marked. Other packets are always dropped at arrival.
    pub act_on: ActOn,
}

/// The moment at which an ECN-capable packet is marked: when it arrives or when it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActOn {
    /// At arrival.
    Arrival,
    /// At departure, as in REM.
    Departure,
}

impl Actuation {
    /// Signals each arrival with probability `p`.
    pub const fn bernoulli(p: f64) -> Self {
        Self { signal: Signal::Bernoulli(p), per_byte: None, act_on: ActOn::Arrival }
    }

    /// Whether all numbers are finite, and the divisors of the signal probability are above 0: `q0` of
    /// [`Signal::Scaled`] and the mean packet length `per_byte`.
    pub fn is_sound(&self) -> bool {
        let divides = |n: f64| n.is_finite() && n > 0.0;
        let signal = match self.signal {
            Signal::Bernoulli(p) => p.is_finite(),
            Signal::Scaled { p, q0 } => p.is_finite() && divides(q0.value()),
        };
        signal && self.per_byte.is_none_or(divides)
    }

    /// The signal probability of `packet` at backlog `level`, 0 to 1.
    #[inline]
    pub fn probability(&self, packet: &Packet, level: &Level) -> f64 {
        let p = match self.signal {
            Signal::Bernoulli(p) => p,
            Signal::Scaled { p, q0 } => p * q0.measure(level) / q0.value(),
        };
        let p = match self.per_byte {
            None => p,
            Some(mean) => p * f64::from(packet.len) / mean,
        };
        p.clamp(0.0, 1.0)
    }
}

/// What triggers the check whether a clock of a law is due. A clock is a periodic update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// The timer of the host (such as the simulator). Updates are exactly on time.
    Timer,
    /// Each arrival, as in some papers' listings. An update may be late by up to one inter-arrival time.
    Arrival,
}

/// Largest number of clocks (periodic updates) that a law may have.
pub const MAX_CLOCKS: usize = 2;

/// A control law: reads counters, not packets.
pub trait Law {
    /// The number of clocks (periodic updates), up to [`MAX_CLOCKS`]. Clocks due at the same time run in index order.
    const CLOCKS: usize = 1;
    /// What triggers the check whether a clock (periodic update) is due.
    const TRIGGER: Trigger = Trigger::Timer;

    /// The period of `clock`, a periodic update of the law; above zero.
    fn period(&self, clock: usize) -> Span;

    /// How packets are signalled before the first update.
    fn initial(&self) -> Actuation;

    /// Computes how packets are signalled after one period of `clock`. The result must satisfy
    /// [`Actuation::is_sound`].
    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation;

    /// How packets of this service class are signalled, for a law that treats classes differently. `None`: as the
    /// latest update says. See [`Design::has_classes`](crate::base::design::Design::has_classes).
    #[inline]
    fn of_class(&self, _class: u8) -> Option<&Actuation> {
        None
    }

    /// Counts a packet in its service class, for a law that treats classes differently. Other laws read the counters of
    /// [`Sample`].
    #[inline]
    fn count(&mut self, _packet: &Packet, _fate: Fate) {}
}

/// Object-safe [`Law`], for callers that supply the backlog themselves: fluid models, and the command `forebay attach`,
/// which runs a law on a real device.
pub trait BareLaw {
    /// The number of clocks (periodic updates).
    fn clocks(&self) -> usize;

    /// The period of `clock`, as [`Law::period`].
    fn period(&self, clock: usize) -> Span;

    /// How packets are signalled before the first update, as [`Law::initial`].
    fn initial(&self) -> Actuation;

    /// Computes how packets are signalled after one period of `clock`, as [`Law::update`].
    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation;

    /// Sets the update period of a law that defines none ([`Fluid`]).
    fn look_every(&mut self, _period: Span) {}

    /// Whether a custom law has failed, so that its results are invalid.
    fn has_failed(&self) -> bool {
        false
    }

    /// A copy with the same state.
    fn duplicate(&self) -> Box<dyn BareLaw>;
}

/// Adapter from a [`Law`] to a [`BareLaw`].
#[derive(Clone)]
pub struct Bare<L>(pub L);

impl<L: Law + Clone + 'static> BareLaw for Bare<L> {
    fn clocks(&self) -> usize {
        L::CLOCKS
    }

    fn period(&self, clock: usize) -> Span {
        self.0.period(clock)
    }

    fn initial(&self) -> Actuation {
        self.0.initial()
    }

    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation {
        self.0.update(clock, sample)
    }

    fn duplicate(&self) -> Box<dyn BareLaw> {
        Box::new(self.clone())
    }
}

/// Adapter that gives a fluid model the mean signal probability of a per-packet AQM after each period.
#[derive(Clone)]
pub struct Fluid<F> {
    rule: F,
    period: Span,
}

impl<F: FnMut(&Sample) -> f64> Fluid<F> {
    /// Default and shortest update period, well below any RTT. The AQM itself has no update period.
    const SHORTEST: Span = Span::from_millis(1);

    /// An adapter with the shortest period.
    pub const fn new(rule: F) -> Self {
        Self { rule, period: Self::SHORTEST }
    }
}

impl<F: FnMut(&Sample) -> f64 + Clone + 'static> BareLaw for Fluid<F> {
    fn clocks(&self) -> usize {
        1
    }

    fn period(&self, _: usize) -> Span {
        self.period
    }

    fn initial(&self) -> Actuation {
        Actuation::bernoulli(0.0)
    }

    fn update(&mut self, _: usize, sample: &Sample) -> Actuation {
        Actuation::bernoulli((self.rule)(sample))
    }

    fn look_every(&mut self, period: Span) {
        self.period = period.max(Self::SHORTEST);
    }

    fn duplicate(&self) -> Box<dyn BareLaw> {
        Box::new(self.clone())
    }
}

/// A per-packet AQM: decides about every packet but does not own the queue.
pub trait Aqm {
    /// Decides about an offered packet. Called for every arrival, also if the buffer is full. It draws the same number
    /// of random numbers each time, except where it follows a kernel packet by packet: there it draws where that does.
    #[inline]
    fn arrival(&mut self, _packet: &Packet, _level: &Level, _cx: &mut Cx) -> Verdict {
        Verdict::Accept
    }

    /// Whether the oldest packets of the queue are dropped if an accepted arrival does not fit into the buffer.
    /// Default: no.
    #[inline]
    fn makes_room(&self) -> bool {
        false
    }

    /// Notification that a packet was queued, delivered or dropped (its fate).
    #[inline]
    fn settled(&mut self, _packet: &Packet, _fate: Fate, _cx: &mut Cx) {}

    /// Decides about a departing packet; `level` is the backlog left behind.
    #[inline]
    fn departure(&mut self, _packet: &Packet, _level: &Level, _cx: &mut Cx) -> Verdict {
        Verdict::Accept
    }

    /// The next packet of the FIFO `list` to send. Override it only for an algorithm with a special dequeue loop, such
    /// as CoDel.
    #[inline]
    fn dequeue(&mut self, list: ListId, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        port.pop_judged(list, self, cx)
    }

    /// Notification that a dequeue found the queue empty: the link becomes idle.
    #[inline]
    fn emptied(&mut self, _cx: &mut Cx) {}

    /// When `tick` is due; `None`: never.
    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Called at the time given by `next_tick`.
    #[inline]
    fn tick(&mut self, _level: &Level, _cx: &mut Cx) {}
}

/// A queueing discipline: decides the order of packets and stores them in one or more FIFO lists of a [`Port`], which
/// also counts them.
pub trait Discipline {
    /// The number of FIFO lists in the port.
    fn lists(&self) -> usize {
        1
    }

    /// Enqueues or drops an arrival.
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx);

    /// [`enqueue`](Self::enqueue) of a packet by reference: a discipline that wraps another one passes it on without a
    /// copy.
    #[inline]
    fn enqueue_from(&mut self, packet: &Packet, port: &mut Port, cx: &mut Cx) {
        self.enqueue(*packet, port, cx);
    }

    /// The next packet to send; `None` if there is none, or if the discipline [holds](Self::held_until) all packets
    /// back.
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet>;

    /// The time from which a packet may leave, after a [`dequeue`](Self::dequeue) that returned none although packets
    /// wait. `None`: the discipline holds no packets back.
    #[inline]
    fn held_until(&self) -> Option<Instant> {
        None
    }

    /// When `tick` is due; `None`: never.
    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Called at the time given by `next_tick`.
    #[inline]
    fn tick(&mut self, _port: &mut Port, _cx: &mut Cx) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A signal probability can be scaled by the backlog over q0 and by the packet length over its mean. q0 and the
    /// mean are the divisors.
    #[test]
    fn probability_must_be_finite_and_its_divisors_positive() {
        let scaled = |p, q0| Actuation { signal: Signal::Scaled { p, q0 }, ..Actuation::bernoulli(0.0) };
        let per_byte = |mean| Actuation { per_byte: Some(mean), ..Actuation::bernoulli(0.5) };
        // A probability outside 0..1 is clamped.
        assert!([-1.0, 0.0, 0.5, 1.0, 7.0].into_iter().all(|p| Actuation::bernoulli(p).is_sound()));
        assert!(scaled(0.5, Depth::Packets(50.0)).is_sound() && per_byte(500.0).is_sound());
        for wild in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!Actuation::bernoulli(wild).is_sound() && !scaled(wild, Depth::Packets(50.0)).is_sound());
            assert!(!scaled(0.5, Depth::Bytes(wild)).is_sound() && !per_byte(wild).is_sound());
        }
        for no_divisor in [0.0, -1.0] {
            assert!(!scaled(0.5, Depth::Packets(no_divisor)).is_sound() && !per_byte(no_divisor).is_sound());
        }
    }
}
