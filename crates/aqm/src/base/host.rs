//! A discipline with its memory and its randomness: what a host (simulator, Python, live path) holds.

use super::cx::Cx;
use super::ladder::Discipline;
use super::packet::Packet;
use super::port::Port;
use super::rng::Rng;
use super::time::Instant;
use super::units::Link;

/// One queue, ready to take packets.
pub struct Queue<D> {
    /// Its memory and counters.
    pub port: Port,
    discipline: D,
    rng: Rng,
}

impl<D: Discipline> Queue<D> {
    /// `discipline` serving `link`, drawing from `rng`; with `ecn`, ECT packets are marked.
    pub fn new(discipline: D, link: Link, ecn: bool, rng: Rng) -> Self {
        Self { port: Port::new(link, discipline.lists(), ecn), discipline, rng }
    }

    /// Offers a packet; see [`Port::discarded`] for what was dropped on account of it.
    #[inline]
    pub fn arrive(&mut self, mut packet: Packet, now: Instant) {
        packet.arrived = now;
        self.discipline.enqueue(packet, &mut self.port, &mut Cx { now, rng: &mut self.rng });
    }

    /// The next packet to send, if any.
    #[inline]
    pub fn depart(&mut self, now: Instant) -> Option<Packet> {
        self.discipline.dequeue(&mut self.port, &mut Cx { now, rng: &mut self.rng })
    }

    /// When the discipline's timer is due.
    #[inline]
    pub fn next_tick(&self) -> Option<Instant> {
        self.discipline.next_tick()
    }

    /// That time has come.
    pub fn tick(&mut self, now: Instant) {
        self.discipline.tick(&mut self.port, &mut Cx { now, rng: &mut self.rng });
    }

    /// The discipline inside.
    pub const fn discipline(&self) -> &D {
        &self.discipline
    }

    /// The same, to be changed.
    pub const fn discipline_mut(&mut self) -> &mut D {
        &mut self.discipline
    }
}
