//! A link: a queue, a transmitter, and a pipe of constant delay.
//!
//! A link with a FIFO (plain link) needs no event at the end of a transmission: a packet's departure is computed when
//! it arrives, and a finite drop-tail queue is a ring of the times at which the waiting packets begin transmission.
//! Only a link with a discipline of `forebay-aqm` (managed link) needs events.

mod counters;
mod droptail;
pub mod lone;
mod managed;
pub mod segment;

use forebay_aqm::AnyDiscipline;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{self, Limit, Rate};

use crate::measure::bundles::Bundles;
use crate::measure::meter::{Loss, Meter, Window};
use crate::measure::outcome::{LinkOutcome, Series};
use crate::measure::over_time::OverTime;
use crate::network::{Lane, LinkSpec};
use crate::wire::Wire;
use crate::wire::loss::Losses;
use crate::wire::pace::Pace;
use counters::LinkCounters;
use droptail::{Line, Plain};
use managed::Managed;
pub use managed::Tag;
use segment::Segment;

/// The transmitter: converts lengths to transmission times.
#[derive(Clone, Debug)]
struct Transmitter {
    rate: Rate,
    last: (u16, Span),
}

impl Transmitter {
    const fn new(rate: Rate) -> Self {
        Self { rate, last: (0, Span::ZERO) }
    }

    /// Transmission time. Caches the last one: lengths repeat, and divisions are slow.
    #[inline]
    fn time(&mut self, len: u16) -> Span {
        if self.last.0 != len {
            self.last = (len, self.rate.time_for(u32::from(len)));
        }
        self.last.1
    }
}

/// The queue of a link.
enum Buffer {
    /// Drop-tail without events: at most `Line::MAX_LIMIT` packets, no meter, no losses, constant rate.
    Line(Line),
    /// Drop-tail without events, for all other links.
    Plain(Plain),
    /// A queue with any discipline.
    Managed(Box<Managed>),
}

/// A link, without the pipe behind it.
pub struct Link {
    buffer: Buffer,
    transmitter: Transmitter,
    delay: Span,
    /// The measurements; present on links under study.
    pub meter: Option<Box<Meter>>,
    /// Present on links with losses, a variable rate or a variable delay.
    wire: Option<Box<Wire>>,
    /// Number of packets dropped by the queue in the complete run.
    pub dropped: u64,
    counters: LinkCounters,
}

impl Link {
    /// The link that `spec` describes.
    pub(crate) fn of(
        spec: &LinkSpec,
        seed: u64,
        (window, sample, over_time): (Window, Span, Option<OverTime>),
        bundles: &Bundles,
    ) -> Self {
        let Lane { rate, delay, limit, discipline, conditions, study } = &spec.lane;
        let meter = study.then(|| Box::new(Meter::new(window, sample, over_time)));
        let wire = Wire::new(conditions, &spec.name, seed, window);
        let buffer = match *limit {
            limit if !spec.is_fast() => {
                let facts = units::Link { rate: *rate, limit, mean_packet: spec.mean_packet };
                let queue = discipline.queue(facts, Rng::stream(seed, &format!("link/{}", spec.name)));
                Buffer::Managed(Box::new(Managed::new(queue, bundles.clone())))
            }
            Limit::Packets(n @ 1..=Line::MAX_LIMIT) if meter.is_none() && wire.is_none() => {
                Buffer::Line(Line::new(n as usize))
            }
            limit => Buffer::Plain(Plain::new(limit)),
        };
        let transmitter = Transmitter::new(*rate);
        Self { buffer, transmitter, delay: *delay, meter, wire, dropped: 0, counters: LinkCounters::default() }
    }

    /// Number of packets lost on the wire (random losses, not drops of the queue) in the complete run.
    pub fn lost(&self) -> u64 {
        self.wire.as_ref().map_or(0, |wire| wire.lost)
    }

    /// Is the packet whose transmission begins at `start` lost on the wire? Call once per packet.
    #[inline]
    pub fn loses(&mut self, start: Instant) -> bool {
        let Some(wire) = &mut self.wire else { return false };
        let lost = wire.losses.as_mut().is_some_and(Losses::draw);
        if lost {
            wire.lost += 1;
            if let Some(meter) = &mut self.meter {
                meter.lose_sent(start);
            }
        }
        lost
    }

    /// The discipline's queue; `None` for drop-tail without events.
    pub fn managed_queue(&self) -> Option<&Queue<AnyDiscipline>> {
        match &self.buffer {
            Buffer::Line(_) | Buffer::Plain(_) => None,
            Buffer::Managed(m) => Some(&m.queue),
        }
    }

    /// Mutable access to the discipline's queue; `None` for drop-tail without events.
    pub fn managed_queue_mut(&mut self) -> Option<&mut Queue<AnyDiscipline>> {
        match &mut self.buffer {
            Buffer::Line(_) | Buffer::Plain(_) => None,
            Buffer::Managed(m) => Some(&mut m.queue),
        }
    }

    /// Does its queue need events?
    pub const fn is_managed(&self) -> bool {
        matches!(self.buffer, Buffer::Managed(_))
    }

    /// Offers a packet of `len` bytes to a plain link at `now`. Returns the time at which it reaches the far end.
    /// Successive calls need non-decreasing times.
    ///
    /// `begins` computes when a packet that had to wait begins transmission. Its arguments are the time at which the
    /// transmitter becomes idle, and the transmission time. It normally returns the first argument. For a host with
    /// serialization jitter (see `World::emit` in the module `world`) it returns a time at most half a transmission
    /// time earlier or later, which keeps the order of packets. A link with a rate schedule ignores `begins`.
    ///
    /// # Errors
    /// If the queue drops the packet: `now`. If the wire loses it: the time at which it would have arrived.
    #[inline(always)]
    pub fn pass(
        &mut self,
        len: u16,
        counted_as: (u8, Colour),
        now: Instant,
        begins: impl FnOnce(Instant, Span) -> Instant,
    ) -> Result<Instant, Instant> {
        let Buffer::Line(line) = &mut self.buffer else { return self.pass_watched(len, counted_as, now, begins) };
        let sent = line.admit(now, self.transmitter.time(len), begins);
        self.dropped += u64::from(sent.is_none());
        self.counters.offer(now);
        if let Some(sent) = sent {
            self.counters.begin();
            self.counters.end(sent);
        }
        self.counters.balance(self.dropped, 0);
        sent.map(|sent| sent.plus(self.delay)).ok_or(now)
    }

    #[inline(never)]
    fn pass_watched(
        &mut self,
        len: u16,
        counted_as: (u8, Colour),
        now: Instant,
        begins: impl FnOnce(Instant, Span) -> Instant,
    ) -> Result<Instant, Instant> {
        let Buffer::Plain(plain) = &mut self.buffer else {
            unreachable!("a managed link takes arrivals through `arrive`")
        };
        plain.begin_due(now, &mut self.meter, &mut self.counters);
        self.counters.offer(now);
        if let Some(meter) = &mut self.meter {
            meter.offer(now, counted_as);
        }
        let waits = plain.free > now;
        let pace = self.wire.as_mut().and_then(|wire| wire.pace.as_mut());
        let due = pace.as_ref().map(|pace| if waits { pace.from_backlog() } else { pace.from_idle(now) });
        let waits = due.map_or(waits, |due| due > now);
        // Checked for an idle line too: a packet longer than the complete buffer is dropped.
        if !plain.fits(len) {
            self.dropped += 1;
            if let Some(meter) = &mut self.meter {
                meter.lose(now, counted_as, Loss::Overflow);
            }
            return Err(now);
        }
        let (start, time) = match (pace, due) {
            (Some(pace), Some(due)) => (due, pace.send(due, len).since(due)),
            _ => {
                let time = self.transmitter.time(len);
                (if waits { begins(plain.free, time).max(now) } else { now }, time)
            }
        };
        plain.free = start.plus(time);
        if waits {
            plain.push(start, len);
        } else {
            self.counters.begin();
        }
        self.counters.end(plain.free);
        self.counters.balance(self.dropped, plain.len());
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, plain.len() as u32);
            meter.serve(start, (len, time), start.since(now), counted_as);
        }
        let (free, delay) = (plain.free, self.delay);
        let arrival = self.wire.as_mut().map_or_else(|| free.plus(delay), |wire| wire.arrival(free, delay));
        if self.loses(start) { Err(arrival) } else { Ok(arrival) }
    }

    /// Updates a plain link's queue and meter to `now`.
    pub fn settle(&mut self, now: Instant) {
        if let Buffer::Plain(plain) = &mut self.buffer {
            plain.begin_due(now, &mut self.meter, &mut self.counters);
        }
    }

    /// Offers the packet `segment` to a managed link. Returns true if the transmitter is idle: the caller must then
    /// call `serve`.
    #[inline]
    pub fn arrive(&mut self, segment: Segment, tag: Tag, now: Instant, mut on_drop: impl FnMut(&Segment)) -> bool {
        let Buffer::Managed(managed) = &mut self.buffer else {
            unreachable!("a plain link takes arrivals through `pass`")
        };
        let packet = managed.describe(segment, tag);
        self.counters.offer(now);
        self.counters.store(packet.slot);
        if let Some(meter) = &mut self.meter {
            meter.offer(now, segment.counted_as());
        }
        managed.queue.arrive(packet, now);
        self.dropped += managed.release_dropped(now, self.meter.as_deref_mut(), &mut on_drop);
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, managed.queue.port.pkts());
        }
        self.counters.balance(self.dropped, managed.held());
        !managed.sending
    }

    /// When to call `serve` after a packet has arrived at an idle managed link. `None`: now. A later time means that
    /// the rate schedule does not allow transmission before.
    #[inline]
    pub fn idles_until(&mut self, now: Instant) -> Option<Instant> {
        let pace = self.wire.as_ref().and_then(|wire| wire.pace.as_ref())?;
        let start = pace.from_idle(now);
        if let Buffer::Managed(managed) = &mut self.buffer {
            managed.sending = start > now;
        }
        (start > now).then_some(start)
    }

    /// Removes the next packet and starts its transmission. The transmitter must be idle. Returns the packet and the
    /// time at which the transmitter is idle again. The packet's `at` is the time at which it reaches the far end.
    /// `None`: the queue is empty, or its discipline holds the packets back (see `held_until`).
    #[inline]
    pub fn serve(&mut self, now: Instant, mut on_drop: impl FnMut(&Segment)) -> Option<(Segment, Instant)> {
        let Buffer::Managed(managed) = &mut self.buffer else { unreachable!("a plain link serves itself") };
        let packet = managed.queue.depart(now);
        self.dropped += managed.release_dropped(now, self.meter.as_deref_mut(), &mut on_drop);
        managed.sending = packet.is_some();
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, managed.queue.port.pkts());
        }
        let packet = packet?;
        let mut segment = *managed.release(&packet);
        self.counters.take(packet.slot, managed.is_fifo());
        self.counters.begin();
        self.counters.balance(self.dropped, managed.held());
        let pace = self.wire.as_mut().and_then(|wire| wire.pace.as_mut());
        let (time, free) = match pace {
            None => {
                let time = self.transmitter.time(segment.len);
                (time, now.plus(time))
            }
            Some(pace) => (pace.send(now, segment.len).since(now), pace.from_backlog()),
        };
        self.counters.end(now.plus(time));
        if let Some(meter) = &mut self.meter {
            if segment.mark.ecn() != packet.ecn {
                meter.mark(now, segment.bundle);
            }
            meter.serve(now, (segment.len, time), now.since(packet.arrived), (segment.bundle, packet.colour));
        }
        segment.mark = segment.mark.with_ecn(packet.ecn);
        let (end, delay) = (now.plus(time), self.delay);
        segment.at = self.wire.as_mut().map_or_else(|| end.plus(delay), |wire| wire.arrival(end, delay));
        Some((segment, free))
    }

    /// When to call `serve` again after it has returned no packet. `None`: after the next arrival. A discipline may hold
    /// its packets back until a time; arrivals until then do not start a transmission. Call it only after `serve`.
    #[cold]
    pub fn held_until(&mut self, now: Instant) -> Option<Instant> {
        let Buffer::Managed(managed) = &mut self.buffer else { return None };
        // A time that has passed would stop the clock: use the next nanosecond.
        let held = managed.queue.held_until()?.max(now + Span::from_nanos(1));
        managed.sending = true;
        let pace = self.wire.as_ref().and_then(|wire| wire.pace.as_ref());
        Some(pace.map_or(held, |pace| pace.from_idle(held)))
    }

    /// Runs the discipline's timer.
    pub fn tick(&mut self, now: Instant) {
        if let Buffer::Managed(managed) = &mut self.buffer {
            managed.queue.tick(now);
        }
    }

    /// Adds a row with the time `row` to the time series of a link under study. The values are those at `now`.
    pub(crate) fn look(&mut self, row: Instant, now: Instant, series: &mut Series) {
        if let Some(meter) = &mut self.meter {
            let (queue, mean) = meter.look(now);
            series.time_s.push(row.nanos() as f64 * 1e-9);
            series.queue_pkts.push(f64::from(queue));
            series.queue_mean_pkts.push(mean);
        }
        if let Some(queue) = self.managed_queue() {
            let probes = series.probes.iter_mut().enumerate();
            probes.for_each(|(i, (_, column))| column.push(queue.discipline().probe(i)));
        }
    }

    /// Ends the measurement at `end`; `sending`: end of the current transmission.
    pub fn end(&mut self, end: Instant, sending: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.end(end, sending);
        }
        if let Some(pace) = self.wire.as_mut().and_then(|wire| wire.pace.as_mut()) {
            pace.end(end);
        }
    }

    /// The results of the link's meter, with its time series; `None` if the link has no meter.
    pub(crate) fn outcome(&self, bundles: &Bundles, name: String, series: Series) -> Option<LinkOutcome> {
        let pace = self.wire.as_ref().and_then(|wire| wire.pace.as_ref());
        Some(LinkOutcome::of(self.meter.as_deref()?, bundles, pace.map(Pace::utilisation), name, series))
    }

    /// Next expiry of the discipline's timer.
    pub fn next_tick(&self) -> Option<Instant> {
        self.managed_queue().and_then(Queue::next_tick)
    }

    /// Does the link's queue send packets in order of arrival?
    pub fn is_fifo(&self) -> bool {
        match &self.buffer {
            Buffer::Line(_) | Buffer::Plain(_) => true,
            Buffer::Managed(managed) => managed.is_fifo(),
        }
    }

    /// Number of waiting packets; 0 for drop-tail that does not store packets (`Line`). Drop-tail without events puts
    /// a packet in the pipe when it arrives, so that its waiting packets are in the pipe too.
    pub fn queued(&self) -> usize {
        match &self.buffer {
            Buffer::Line(_) => 0,
            Buffer::Plain(plain) => plain.len(),
            Buffer::Managed(managed) => managed.held(),
        }
    }

    /// Checks that no packet was lost or duplicated. Fails if the packet counters of the link's discipline do not add
    /// up. Debug builds also count arrivals and begun transmissions of the link (`LinkCounters`), and panic unless the
    /// number of arrivals is that of the begun transmissions, the dropped and the waiting packets together.
    pub fn check(&self) -> Result<(), &'static str> {
        self.counters.balance(self.dropped, self.queued());
        self.managed_queue().map_or(Ok(()), |queue| queue.port.check())
    }
}
