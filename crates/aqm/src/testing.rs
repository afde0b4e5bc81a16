//! The conformance suite as a library: requirements on every discipline.
//!
//! [`check_aqm`] runs a discipline with random arrivals, departures and ticks, and returns the first violation. Among
//! its scenarios are a slow link, overload, buffers of zero and one packet, a clock that stands still, and idle times.
//! [`settings`] draws random parameters. For benchmarks, [`churn`] is a steady load on a discipline, and [`marked`] a
//! load on a threshold marker in front of drop-tail, or on a token bucket that colours packets IN or OUT.

#[cfg(test)]
pub(crate) mod by_hand;
pub mod churn;
pub mod marked;
mod scenarios;
pub mod settings;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::design::{ProbeSpec, Probes, Readings};
use crate::base::discipline::Discipline;
use crate::base::host::Queue;
use crate::base::packet::{Ecn, Packet};
use crate::base::rng::Rng;
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Link};
use crate::base::verdict::Reason;
use scenarios::{FLOWS, SCENARIOS, Scenario, random_packet};

pub use crate::base::design::{Order, Promises};

/// How to read a discipline's measured variables (probes).
pub struct Watch<D> {
    /// The probes.
    pub probes: &'static [ProbeSpec],
    /// Reads the probe with this index.
    pub read: fn(&D, usize) -> f64,
}

impl<D: Probes> Watch<D> {
    /// The probes that `D` declares.
    pub const fn declared() -> Self {
        Self { probes: D::PROBES, read: D::probe }
    }
}

impl<D> Watch<D> {
    /// No probes.
    pub const fn nothing() -> Self {
        Self { probes: &[], read: |_, _| f64::NAN }
    }
}

/// Events of each scenario before the buffer is drained.
const EVENTS: usize = 160;
const SILENCE: Span = Span::from_millis(10_000);
/// Number of ticks on time between two events. If more are due, one late tick replaces them.
const TICKS_ON_TIME: usize = 8;

/// A packet's history.
struct Record {
    packet: Packet,
    settled: bool,
}

/// A queue under test.
struct Bench<'a, D> {
    queue: Queue<D>,
    watch: &'a Watch<D>,
    promises: &'a Promises,
    rng: Rng,
    now: Instant,
    records: Vec<Record>,
    delivered: Vec<u32>,
    dropped: u64,
    marks: u64,
    print: u64,
}

impl<D: Discipline> Bench<'_, D> {
    fn run(&mut self, scenario: &Scenario) -> Result<(), String> {
        for event in 1..=EVENTS {
            let gap = Span::from_secs(self.rng.exponential(scenario.gap.secs()));
            let silent = event.is_multiple_of(scenario.silence);
            self.pass(if silent { SILENCE } else { gap })?;
            let arrives = self.rng.uniform() < scenario.load;
            let outcome = if arrives { self.arrive(scenario) } else { self.depart().map(drop) };
            outcome.map_err(|e| format!("event {event}: {e}"))?;
        }
        while self.depart()? {}
        self.settle_accounts()
    }

    /// Advances time, with the ticks that are due.
    fn pass(&mut self, gap: Span) -> Result<(), String> {
        let until = self.now + gap;
        for n in 0.. {
            let Some(due) = self.queue.next_tick().filter(|due| *due <= until) else { break };
            self.now = if n < TICKS_ON_TIME { due.max(self.now) } else { until };
            self.queue.tick(self.now);
            let late = self.now > due;
            match self.queue.next_tick() {
                Some(next) if next <= due => return Err(format!("after a tick due at {due:?} the next is {next:?}")),
                Some(next) if !late && next <= self.now => return Err(format!("next tick {next:?} lies in the past")),
                _ => {}
            }
            self.inspect()?;
            if late && n >= TICKS_ON_TIME {
                break;
            }
        }
        self.now = until;
        Ok(())
    }

    fn arrive(&mut self, scenario: &Scenario) -> Result<(), String> {
        let packet = random_packet(&mut self.rng, scenario.lengths, self.records.len() as u32);
        let packet = Packet { arrived: self.now, ..packet };
        self.records.push(Record { packet, settled: false });
        let (fits, was_empty) = (self.queue.port.fits(packet.len), self.queue.port.pkts() == 0);
        let before = self.queue.port.tally();
        self.queue.arrive(packet, self.now);
        let happened = self.queue.port.tally().since(&before);
        if self.promises.spares_empty && was_empty && fits && happened.marked.pkts + happened.dropped_early.pkts > 0 {
            return Err("signalled an arrival that found nothing queued".to_string());
        }
        if !fits && happened.dropped_early.pkts + happened.dropped_overflow.pkts == 0 {
            return Err("accepted a packet that does not fit, and dropped none for it".to_string());
        }
        self.collect_drops(fits.then_some(packet.slot))?;
        self.inspect()
    }

    /// Dequeues one packet; returns whether there was one. If the discipline holds packets back, it waits until one may
    /// leave.
    fn depart(&mut self) -> Result<bool, String> {
        let mut packet = self.queue.depart(self.now);
        self.collect_drops(None)?;
        while let (None, Some(until)) = (packet, self.queue.held_until()) {
            if until <= self.now {
                return Err(format!("holds packets back until {until:?}, which is not in the future"));
            }
            self.pass(until.since(self.now))?;
            packet = self.queue.depart(self.now);
            self.collect_drops(None)?;
        }
        match packet {
            Some(packet) => self.deliver(&packet)?,
            None if self.queue.port.pkts() > 0 => return Err("sent nothing although packets wait".to_string()),
            None => self.note(u64::MAX),
        }
        self.inspect()?;
        Ok(packet.is_some())
    }

    fn deliver(&mut self, packet: &Packet) -> Result<(), String> {
        let offered = self.settle(packet)?;
        let marked = packet.ecn == Ecn::Ce && offered.ecn != Ecn::Ce;
        if marked && !(self.promises.ecn && offered.ecn.is_capable()) {
            return Err(format!("marked packet {} although ECN is off or it is not ECT", packet.slot));
        }
        let ecn = if marked { Ecn::Ce } else { offered.ecn };
        // A discipline may clear the DSCP, as CAKE with `wash`.
        let dscp = if packet.dscp == 0 { 0 } else { offered.dscp };
        if (Packet { ecn, dscp, ..offered }) != *packet {
            return Err(format!("packet {} was changed in the queue", packet.slot));
        }
        self.marks += u64::from(marked);
        self.delivered.push(packet.slot);
        self.note(u64::from(packet.slot) << 1 | u64::from(marked));
        Ok(())
    }

    /// Records the drops since the last call; `fitted` is the slot of an arrival that fitted into the buffer.
    fn collect_drops(&mut self, fitted: Option<u32>) -> Result<(), String> {
        for (packet, reason) in core::mem::take(self.queue.port.discarded()) {
            self.settle(&packet)?;
            if reason == Reason::Overflow && fitted == Some(packet.slot) {
                return Err(format!("packet {} overflowed a buffer with room for it", packet.slot));
            }
            self.dropped += 1;
            self.note(u64::from(packet.slot) << 2 | 1 << 40 | u64::from(reason != Reason::Overflow));
        }
        Ok(())
    }

    /// Records the fate of a packet; an error if it already has one.
    fn settle(&mut self, packet: &Packet) -> Result<Packet, String> {
        match self.records.get_mut(packet.slot as usize) {
            None => Err(format!("packet {} was never offered", packet.slot)),
            Some(record) if record.settled => Err(format!("packet {} met two fates", packet.slot)),
            Some(record) => {
                record.settled = true;
                Ok(record.packet)
            }
        }
    }

    /// Checks what must hold after every call.
    fn inspect(&mut self) -> Result<(), String> {
        self.queue.port.check()?;
        for (i, probe) in self.watch.probes.iter().enumerate() {
            let value = (self.watch.read)(self.queue.discipline(), i);
            if !value.is_finite() {
                return Err(format!("probe {} is {value}", probe.name));
            }
            if probe.name == "p" && !(0.0..=1.0).contains(&value) {
                return Err(format!("probe p is {value}: no probability"));
            }
            if matches!(probe.readings, Readings::Probability | Readings::Switch) && !probe.readings.allow(value) {
                let [least, most] = probe.readings.ends();
                return Err(format!("probe {} is {value:e}, not from {least:e} to {most:e}", probe.name));
            }
            self.note(value.to_bits());
        }
        Ok(())
    }

    /// Checks the counters after the last departure.
    fn settle_accounts(&self) -> Result<(), String> {
        if let Some(lost) = self.records.iter().find(|record| !record.settled) {
            return Err(format!("packet {} met no fate", lost.packet.slot));
        }
        let tally = self.queue.port.tally();
        let counted = [tally.offered, tally.departed].map(|count| count.pkts);
        let dropped = tally.dropped_early.pkts + tally.dropped_overflow.pkts;
        if (counted, dropped) != ([self.records.len() as u64, self.delivered.len() as u64], self.dropped) {
            return Err("the port's counters differ from what was seen".to_string());
        }
        if !(self.marks..=self.marks + dropped).contains(&tally.marked.pkts) {
            return Err(format!("counted {} marks, {} were seen", tally.marked.pkts, self.marks));
        }
        self.check_order()
    }

    fn check_order(&self) -> Result<(), String> {
        let broken = match self.promises.order {
            Order::Free => None,
            Order::Lists(n) => out_of_order(&self.delivered, n),
            Order::PerFlow => (0..FLOWS).find_map(|flow| {
                let of_flow = |slot: &&u32| self.records[**slot as usize].packet.flow == flow;
                out_of_order(&self.delivered.iter().filter(of_flow).copied().collect::<Vec<_>>(), 1)
            }),
        };
        broken.map_or(Ok(()), |slot| Err(format!("packet {slot} left out of order")))
    }

    /// Adds an event to the FNV-1a fingerprint of the run.
    const fn note(&mut self, word: u64) {
        self.print = (self.print ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// The first packet that violates FIFO order in `lists` lists. Each packet is assigned to the list whose last packet is
/// the latest one before it.
fn out_of_order(slots: &[u32], lists: usize) -> Option<u32> {
    let mut ends: Vec<Option<u32>> = alloc::vec![None; lists];
    slots.iter().copied().find(|&slot| match ends.iter_mut().filter(|end| **end < Some(slot)).max() {
        Some(end) => {
            *end = Some(slot);
            false
        }
        None => true,
    })
}

/// Runs new queues under a discipline through every scenario, twice each from `seed`.
///
/// Returns the first violation as the error: a packet with no fate or two fates, a changed packet, a mark without
/// ECN, a wrong order, an empty dequeue although packets are queued, a measured variable (probe) of the discipline that
/// is not finite, a probability `p` outside 0..1, a next tick in the past, two runs that differ.
pub fn check_aqm<D: Discipline>(
    mut make: impl FnMut(Link, Rng) -> Queue<D>,
    watch: &Watch<D>,
    promises: &Promises,
    seed: u64,
) -> Result<(), String> {
    for scenario in SCENARIOS {
        let link = Link { rate: scenario.rate, limit: scenario.limit, mean_packet: Bytes(500) };
        let mut run = || {
            let mut bench = Bench {
                queue: make(link, Rng::stream(seed, "queue")),
                watch,
                promises,
                rng: Rng::stream(seed, scenario.name),
                now: Instant::ZERO,
                records: Vec::new(),
                delivered: Vec::new(),
                dropped: 0,
                marks: 0,
                print: 0xcbf2_9ce4_8422_2325,
            };
            bench.run(scenario).map_err(|e| format!("{}, seed {seed}: {e}", scenario.name))?;
            Ok::<u64, String>(bench.print)
        };
        if run()? != run()? {
            return Err(format!("{}, seed {seed}: two runs from the same seed differ", scenario.name));
        }
    }
    Ok(())
}
