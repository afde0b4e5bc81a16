//! A queue for a host program (simulator, Python, live traffic): a discipline with its packet storage (port) and its
//! stream of random numbers.

use crate::base::cx::Cx;
use crate::base::discipline::Discipline;
use crate::base::packet::Packet;
use crate::base::port::{Backlog, Port};
use crate::base::rng::Rng;
use crate::base::time::Instant;
use crate::base::units::Link;

/// A queue under a discipline.
pub struct Queue<D> {
    /// Storage and counters.
    pub port: Port,
    discipline: D,
    rng: Rng,
}

impl<D: Discipline> Queue<D> {
    /// A queue for `link` under `discipline`, which draws random numbers from `rng`. With `ecn`, signals mark ECT
    /// packets.
    pub fn new(discipline: D, link: Link, ecn: bool, rng: Rng) -> Self {
        Self { port: Port::new(link, discipline.lists(), ecn), discipline, rng }
    }

    /// Offers a packet. [`Port::discarded`] then has the packets that were dropped.
    #[inline]
    pub fn arrive(&mut self, mut packet: Packet, now: Instant) {
        packet.arrived = now;
        self.discipline.enqueue(packet, &mut self.port, &mut Cx::new(now, &mut self.rng));
    }

    /// Decides about a packet that arrives at an external queue with this `backlog`. Counters and [`Port::discarded`]
    /// show the decision; the packet is not stored. The discipline's timer uses this backlog until the next call.
    /// Returns false and does nothing if this queue has ever stored a packet.
    pub fn advise(&mut self, packet: Packet, backlog: Backlog, now: Instant) -> bool {
        let free = self.port.is_untouched();
        if free {
            self.port.stand_for(backlog);
            self.arrive(packet, now);
            self.port.stand_for(backlog);
        }
        free
    }

    /// The next packet to send, if any.
    #[inline]
    pub fn depart(&mut self, now: Instant) -> Option<Packet> {
        self.discipline.dequeue(&mut self.port, &mut Cx::new(now, &mut self.rng))
    }

    /// The time from which a packet may leave, after a [`depart`](Self::depart) that returned none although packets
    /// wait. `None`: the discipline holds no packets back.
    pub fn held_until(&self) -> Option<Instant> {
        self.discipline.held_until().filter(|_| self.port.pkts() > 0)
    }

    /// When [`tick`](Self::tick) is due; `None`: never.
    #[inline]
    pub fn next_tick(&self) -> Option<Instant> {
        self.discipline.next_tick()
    }

    /// Runs the discipline's timer; called at the time given by `next_tick`.
    pub fn tick(&mut self, now: Instant) {
        self.discipline.tick(&mut self.port, &mut Cx::new(now, &mut self.rng));
    }

    /// The discipline.
    pub const fn discipline(&self) -> &D {
        &self.discipline
    }

    /// The discipline, mutable.
    pub const fn discipline_mut(&mut self) -> &mut D {
        &mut self.discipline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use crate::base::units::{Bytes, Limit, Rate};

    fn queue(words: &str) -> Queue<crate::AnyDiscipline> {
        let link = Link { rate: Rate(10_000_000), limit: Limit::Packets(10), mean_packet: Bytes(500) };
        Spec::parse(words).unwrap().queue(link, Rng::stream(1, "queue"))
    }

    fn packet() -> Packet {
        Packet { len: 500, ..Packet::default() }
    }

    /// The queue is stored elsewhere, for example in the kernel. `advise` only decides whether a packet is dropped.
    #[test]
    fn advise_uses_the_backlog_of_external_queue() {
        let mut queue = queue("droptail");
        for (pkts, dropped) in [(9, 0), (10, 1), (0, 0)] {
            let backlog = Backlog { pkts, bytes: 500 * u64::from(pkts) };
            assert!(queue.advise(packet(), backlog, Instant::ZERO));
            assert_eq!(queue.port.discarded().drain(..).count(), dropped, "{pkts}");
            assert_eq!((queue.port.pkts(), queue.port.bytes()), (pkts, backlog.bytes));
        }
        let tally = queue.port.tally();
        assert_eq!((tally.offered.pkts, tally.accepted.pkts, tally.dropped_overflow.pkts), (3, 2, 1));
    }

    #[test]
    fn advise_refuses_after_queue_has_stored_a_packet() {
        let mut queue = queue("droptail");
        queue.arrive(packet(), Instant::ZERO);
        assert!(!queue.advise(packet(), Backlog::default(), Instant::ZERO));
        assert_eq!((queue.port.tally().offered.pkts, queue.port.check()), (1, Ok(())));
    }
}
