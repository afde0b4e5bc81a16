//! Adapters between the three traits of disciplines: [`Ticked`] makes a per-packet AQM ([`Aqm`]) from a control law
//! ([`Law`]), [`Fifo`] makes a queueing discipline ([`Discipline`]) from an AQM.

use crate::base::cx::Cx;
use crate::base::design::{ProbeSpec, Probes};
use crate::base::discipline::{ActOn, Actuation, Aqm, Discipline, Law, MAX_CLOCKS, Sample, Trigger};
use crate::base::packet::Packet;
use crate::base::port::{Level, MAIN, Port, Tally};
use crate::base::time::Instant;
use crate::base::verdict::{Fate, Verdict};

#[derive(Clone, Copy, Default)]
struct Clock {
    last: Instant,
    due: Instant,
    tally: Tally,
}

/// A [`Law`] as an [`Aqm`]: gives the law counters of the queue once per period, and signals packets as the law's last
/// output says.
pub struct Ticked<L> {
    law: L,
    actuation: Actuation,
    clocks: [Clock; MAX_CLOCKS],
}

impl<L: Law> Ticked<L> {
    /// An adapter for `law`, whose update periods start at time 0.
    pub fn new(law: L) -> Self {
        let actuation = law.initial();
        debug_assert!(actuation.is_sound(), "{actuation:?}");
        let mut ticked = Self { law, actuation, clocks: [Clock::default(); MAX_CLOCKS] };
        ticked.set_dues();
        ticked
    }

    /// Stores when each clock (periodic update of the law) is due next. Computing a period may need a division, and
    /// every packet is compared with these times.
    fn set_dues(&mut self) {
        for (i, clock) in self.clocks.iter_mut().enumerate().take(L::CLOCKS) {
            clock.due = clock.last + self.law.period(i);
        }
    }

    /// The law.
    pub const fn law(&self) -> &L {
        &self.law
    }

    /// A copy of this adapter with another `law`. The last output of the old law is used until the new law's next
    /// update.
    pub fn under(&self, law: L) -> Self {
        let mut ticked = Self { law, ..*self };
        ticked.set_dues();
        ticked
    }

    /// Runs the clocks (periodic updates of the law) that are due, in index order.
    fn run_clocks(&mut self, level: &Level, now: Instant) {
        for i in 0..L::CLOCKS {
            let clock = &mut self.clocks[i];
            if now < clock.due {
                continue;
            }
            let tally = level.tally();
            let sample = Sample {
                now,
                dt: now.since(clock.last),
                link: *level.link(),
                backlog_pkts: f64::from(level.pkts()),
                backlog_bytes: level.bytes() as f64,
                period: tally.since(&clock.tally),
            };
            self.actuation = self.law.update(i, &sample);
            debug_assert!(self.actuation.is_sound(), "{:?}", self.actuation);
            (clock.last, clock.tally) = (now, tally);
            self.set_dues();
        }
    }
}

impl<L: Law> Aqm for Ticked<L> {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        if L::TRIGGER == Trigger::Arrival {
            self.run_clocks(level, cx.now);
        }
        let u = cx.rng.uniform();
        let actuation = self.law.of_class(packet.class).unwrap_or(&self.actuation);
        let later = actuation.act_on == ActOn::Departure && level.marks(packet);
        if !later && u < actuation.probability(packet, level) { Verdict::Signal } else { Verdict::Accept }
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, _: &mut Cx) {
        self.law.count(packet, fate);
    }

    #[inline]
    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let actuation = self.law.of_class(packet.class).unwrap_or(&self.actuation);
        if actuation.act_on == ActOn::Arrival || !level.marks(packet) {
            return Verdict::Accept;
        }
        let signal = cx.rng.uniform() < actuation.probability(packet, level);
        if signal { Verdict::Signal } else { Verdict::Accept }
    }

    fn next_tick(&self) -> Option<Instant> {
        match L::TRIGGER {
            Trigger::Arrival => None,
            Trigger::Timer => self.clocks[..L::CLOCKS].iter().map(|clock| clock.due).min(),
        }
    }

    fn tick(&mut self, level: &Level, cx: &mut Cx) {
        self.run_clocks(level, cx.now);
    }
}

impl<L: Probes> Probes for Ticked<L> {
    const PROBES: &'static [ProbeSpec] = L::PROBES;

    fn probe(&self, index: usize) -> f64 {
        self.law.probe(index)
    }
}

/// An AQM that gives a fixed verdict at departure, for a caller that decides before the packet is popped.
pub struct Decided(pub Verdict);

impl Aqm for Decided {
    #[inline]
    fn departure(&mut self, _: &Packet, _: &Level, _: &mut Cx) -> Verdict {
        self.0
    }
}

/// A FIFO under an [`Aqm`].
pub struct Fifo<A> {
    aqm: A,
}

impl<A: Aqm> Fifo<A> {
    /// A FIFO under `aqm`.
    pub const fn new(aqm: A) -> Self {
        Self { aqm }
    }

    /// The AQM.
    pub const fn aqm(&self) -> &A {
        &self.aqm
    }
}

impl<A: Aqm> Discipline for Fifo<A> {
    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        let verdict = self.aqm.arrival(&packet, &port.level(MAIN), cx);
        port.admit(MAIN, packet, verdict, &mut self.aqm, cx);
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        self.aqm.dequeue(MAIN, port, cx)
    }

    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        self.aqm.next_tick()
    }

    fn tick(&mut self, port: &mut Port, cx: &mut Cx) {
        self.aqm.tick(&port.level(MAIN), cx);
    }
}

impl<A: Probes> Probes for Fifo<A> {
    const PROBES: &'static [ProbeSpec] = A::PROBES;

    fn probe(&self, index: usize) -> f64 {
        self.aqm.probe(index)
    }
}
