//! The ladder of three traits. Implement the lowest that fits; adapters climb the rest.

use alloc::boxed::Box;

use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::port::{Level, ListId, Port, Tally};
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};

/// What a [`Law`] learns about one period.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The end of the period.
    pub now: Instant,
    /// Its length.
    pub dt: Span,
    /// The link served.
    pub link: Link,
    /// Packets waiting now.
    pub backlog_pkts: f64,
    /// Bytes waiting now.
    pub backlog_bytes: f64,
    /// What happened during the period.
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

/// The closed list of things a [`Law`] can have done to packets, so that a kernel can do them too.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Signal {
    /// With this probability.
    Bernoulli(f64),
    /// With probability `p * q / q0`, q being the backlog the packet meets.
    Scaled {
        /// Probability at q0.
        p: f64,
        /// Reference backlog, above 0.
        q0: Depth,
    },
}

/// What to do to packets until the next update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Actuation {
    /// The probability of a signal.
    pub signal: Signal,
    /// Byte mode: multiply by length / this mean.
    pub per_byte: Option<f64>,
    /// Where ECT packets are signalled; others always on arrival.
    pub act_on: ActOn,
}

/// Where an ECN-capable packet meets the actuation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActOn {
    /// When it is offered.
    Arrival,
    /// When it leaves: ECN marks of REM.
    Departure,
}

impl Actuation {
    /// Signal each arrival with probability `p`.
    pub const fn bernoulli(p: f64) -> Self {
        Self { signal: Signal::Bernoulli(p), per_byte: None, act_on: ActOn::Arrival }
    }

    /// Are all its numbers finite, and those that divide above 0?
    pub fn is_sound(&self) -> bool {
        let divides = |n: f64| n.is_finite() && n > 0.0;
        let signal = match self.signal {
            Signal::Bernoulli(p) => p.is_finite(),
            Signal::Scaled { p, q0 } => p.is_finite() && divides(q0.value()),
        };
        signal && self.per_byte.is_none_or(divides)
    }

    /// The probability that `packet`, meeting `level`, is signalled.
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

/// When a law's clocks are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// By the host's timer, exactly on time.
    Timer,
    /// At arrivals, as some papers' listings do: late by up to one inter-arrival time.
    Arrival,
}

/// The most clocks a law may have.
pub const MAX_CLOCKS: usize = 2;

/// A control law: sees counters, never a packet.
pub trait Law {
    /// How many clocks it has, up to [`MAX_CLOCKS`]; due together, they run in this order.
    const CLOCKS: usize = 1;
    /// What moves the clocks.
    const TRIGGER: Trigger = Trigger::Timer;

    /// The period of a clock; above zero.
    fn period(&self, clock: usize) -> Span;

    /// The actuation before the first update.
    fn initial(&self) -> Actuation;

    /// The law itself: one period of `clock` has passed. What it gives is [`Actuation::is_sound`].
    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation;
}

/// A law without a queue, whichever it is: for those that ask it about queues of their own, as models do.
pub trait BareLaw {
    /// How many clocks it has.
    fn clocks(&self) -> usize;

    /// What [`Law::period`] says.
    fn period(&self, clock: usize) -> Span;

    /// What [`Law::initial`] says.
    fn initial(&self) -> Actuation;

    /// What [`Law::update`] says.
    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation;

    /// How often it should be asked, as far as it has no clock of its own.
    fn look_every(&mut self, _period: Span) {}

    /// Has its code failed, so that what it says means nothing any more?
    fn has_failed(&self) -> bool {
        false
    }

    /// Another in the same state.
    fn duplicate(&self) -> Box<dyn BareLaw>;
}

/// Makes a [`BareLaw`] of a law.
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

/// What a fluid meets in place of a discipline that judges packets: the probability of a signal after each period.
#[derive(Clone)]
pub struct Fluid<F> {
    rule: F,
    period: Span,
}

impl<F: FnMut(&Sample) -> f64> Fluid<F> {
    /// Short for any round trip: such a discipline has no clock.
    const SHORTEST: Span = Span::from_millis(1);

    /// One that is asked as often as it may be.
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

/// Per-packet opinions: sees every packet, holds none.
pub trait Aqm {
    /// Every offered packet, also when the buffer is full. Draws the same number of randoms each time.
    #[inline]
    fn arrival(&mut self, _packet: &Packet, _level: &Level, _cx: &mut Cx) -> Verdict {
        Verdict::Accept
    }

    /// Asked where an arrival that it accepts does not fit: are the oldest packets of the list dropped for it?
    #[inline]
    fn makes_room(&self) -> bool {
        false
    }

    /// What really happened to a packet.
    #[inline]
    fn settled(&mut self, _packet: &Packet, _fate: Fate, _cx: &mut Cx) {}

    /// Every popped packet; `level` is the backlog left behind.
    #[inline]
    fn departure(&mut self, _packet: &Packet, _level: &Level, _cx: &mut Cx) -> Verdict {
        Verdict::Accept
    }

    /// The next packet of `list` to send. Only a rule whose source has a loop of its own here overrides it.
    #[inline]
    fn dequeue(&mut self, list: ListId, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        port.pop_judged(list, self, cx)
    }

    /// A dequeue found nothing: the link goes idle.
    #[inline]
    fn emptied(&mut self, _cx: &mut Cx) {}

    /// When `tick` wants to be called next.
    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// The time `next_tick` asked for has come.
    #[inline]
    fn tick(&mut self, _level: &Level, _cx: &mut Cx) {}
}

/// Order and storage: one or many lists of one port.
pub trait Discipline {
    /// How many lists of the port it uses.
    fn lists(&self) -> usize {
        1
    }

    /// Takes an arrival.
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx);

    /// [`enqueue`](Self::enqueue) of a packet where it lies: what only passes it on copies nothing.
    #[inline]
    fn enqueue_from(&mut self, packet: &Packet, port: &mut Port, cx: &mut Cx) {
        self.enqueue(*packet, port, cx);
    }

    /// Gives the next packet to send; `None` means nothing now.
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet>;

    /// When `tick` wants to be called next.
    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// The time `next_tick` asked for has come.
    #[inline]
    fn tick(&mut self, _port: &mut Port, _cx: &mut Cx) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actuation_of_finite_numbers_is_sound() {
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
