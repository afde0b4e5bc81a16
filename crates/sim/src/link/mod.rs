//! A link: a queue, a transmitter of fixed rate, and a pipe of constant delay.
//!
//! A plain FIFO needs no transmission-complete event: a packet's departure is known when it arrives,
//! and a finite drop-tail queue is a ring of the times at which waiting packets begin transmission.
//! Only a link that runs a discipline of `forebay-aqm` asks for events of its own.

mod books;
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

use crate::measure::meter::{Loss, Meter, Window};
use crate::measure::outcome::{LinkOutcome, Series};
use crate::measure::over_time::OverTime;
use crate::network::LinkSpec;
use crate::wire::Wire;
use crate::wire::loss::Losses;
use crate::wire::pace::Pace;
use books::LinkBooks;
use droptail::{Line, Plain};
use managed::Managed;
pub use managed::Tag;
use segment::Segment;

/// The transmitter: turns lengths into times.
#[derive(Clone, Debug)]
struct Transmitter {
    rate: Rate,
    last: (u16, Span),
}

impl Transmitter {
    const fn new(rate: Rate) -> Self {
        Self { rate, last: (0, Span::ZERO) }
    }

    /// Time on the wire. Lengths repeat, divisions are slow: the last one is kept.
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
    /// Drop-tail without events.
    Line(Line),
    /// The same, watched or limited in bytes.
    Plain(Plain),
    /// Any discipline.
    Managed(Box<Managed>),
}

/// A link, without the pipe behind it.
pub struct Link {
    buffer: Buffer,
    transmitter: Transmitter,
    delay: Span,
    /// Present at links under study.
    pub meter: Option<Box<Meter>>,
    /// Present where the link is more than a queue of constant rate.
    wire: Option<Box<Wire>>,
    /// Segments dropped here, in the whole run.
    pub dropped: u64,
    books: LinkBooks,
}

impl Link {
    /// The link that `spec` describes.
    pub(crate) fn of(spec: &LinkSpec, seed: u64, window: Window, over_time: Option<OverTime>) -> Self {
        let meter = spec.study.then(|| Box::new(Meter::new(window, over_time)));
        let wire = Wire::new(&spec.conditions, &spec.name, seed, window);
        let buffer = match (&spec.discipline, spec.limit) {
            (Some(discipline), limit) => {
                let facts = units::Link { rate: spec.rate, limit, mean_packet: spec.mean_packet };
                let queue = discipline.queue(facts, Rng::stream(seed, &format!("link/{}", spec.name)));
                Buffer::Managed(Box::new(Managed::new(queue)))
            }
            (None, Limit::Packets(n @ 1..=Line::MOST)) if meter.is_none() && wire.is_none() => {
                Buffer::Line(Line::new(n as usize))
            }
            (None, limit) => Buffer::Plain(Plain::new(limit)),
        };
        let transmitter = Transmitter::new(spec.rate);
        Self { buffer, transmitter, delay: spec.delay, meter, wire, dropped: 0, books: LinkBooks::default() }
    }

    /// Segments that its wire has lost, in the whole run.
    pub fn lost(&self) -> u64 {
        self.wire.as_ref().map_or(0, |wire| wire.lost)
    }

    /// Is the packet whose transmission begins at `start` lost on its way? To be asked once for each.
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

    /// The discipline, if it runs one.
    pub fn managed_queue(&self) -> Option<&Queue<AnyDiscipline>> {
        match &self.buffer {
            Buffer::Line(_) | Buffer::Plain(_) => None,
            Buffer::Managed(m) => Some(&m.queue),
        }
    }

    /// The same, to be changed.
    pub fn managed_queue_mut(&mut self) -> Option<&mut Queue<AnyDiscipline>> {
        match &mut self.buffer {
            Buffer::Line(_) | Buffer::Plain(_) => None,
            Buffer::Managed(m) => Some(&mut m.queue),
        }
    }

    /// Does its queue need events of its own?
    pub const fn is_managed(&self) -> bool {
        matches!(self.buffer, Buffer::Managed(_))
    }

    /// Offers a segment of `len` bytes to a plain link at `now`; the time it reaches the far end, or `Err` of the time
    /// at which it is dropped, or would have got there if it is lost. Times of successive calls must not decrease.
    ///
    /// `begins` tells when a packet that had to wait goes out, given when the line is free and the time it takes to send:
    /// when it is free but for a host's inexact line (see `World::emit`), and never more than half of that time earlier or
    /// later, so that order is kept. A line with a schedule keeps to it.
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
        self.books.offer(now);
        if let Some(sent) = sent {
            self.books.begin();
            self.books.end(sent);
        }
        self.books.balance(self.dropped, 0);
        sent.map(|sent| sent.plus(self.delay)).ok_or(now)
    }

    #[inline(never)]
    fn pass_watched(
        &mut self,
        len: u16,
        (class, colour): (u8, Colour),
        now: Instant,
        begins: impl FnOnce(Instant, Span) -> Instant,
    ) -> Result<Instant, Instant> {
        let Buffer::Plain(plain) = &mut self.buffer else {
            unreachable!("a managed link takes arrivals through `arrive`")
        };
        plain.begin_due(now, &mut self.meter, &mut self.books);
        self.books.offer(now);
        if let Some(meter) = &mut self.meter {
            meter.offer(now, class, colour);
        }
        let waits = plain.free > now;
        let pace = self.wire.as_mut().and_then(|wire| wire.pace.as_mut());
        let due = pace.as_ref().map(|pace| if waits { pace.from_backlog() } else { pace.from_idle(now) });
        let waits = due.map_or(waits, |due| due > now);
        // Also where nothing waits: what is longer than the whole buffer has no place in it.
        if !plain.fits(len) {
            self.dropped += 1;
            if let Some(meter) = &mut self.meter {
                meter.lose(now, class, colour, Loss::Overflow);
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
            self.books.begin();
        }
        self.books.end(plain.free);
        self.books.balance(self.dropped, plain.len());
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, plain.len() as u32);
            meter.serve(start, (len, time), start.since(now), (class, colour));
        }
        let arrival = plain.free.plus(self.delay);
        if self.loses(start) { Err(arrival) } else { Ok(arrival) }
    }

    /// Brings the books of a plain link up to `now`.
    pub fn settle(&mut self, now: Instant) {
        if let Buffer::Plain(plain) = &mut self.buffer {
            plain.begin_due(now, &mut self.meter, &mut self.books);
        }
    }

    /// Offers `segment` to a managed link. True if the transmitter was idle: the host must call `serve` now.
    #[inline]
    pub fn arrive(&mut self, segment: Segment, tag: Tag, now: Instant, mut on_drop: impl FnMut(&Segment)) -> bool {
        let Buffer::Managed(managed) = &mut self.buffer else {
            unreachable!("a plain link takes arrivals through `pass`")
        };
        let packet = managed.describe(segment, tag);
        self.books.offer(now);
        self.books.store(packet.slot);
        if let Some(meter) = &mut self.meter {
            meter.offer(now, segment.class, segment.mark.colour());
        }
        managed.queue.arrive(packet, now);
        self.dropped += managed.release_dropped(now, self.meter.as_deref_mut(), &mut on_drop);
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, managed.queue.port.pkts());
        }
        self.books.balance(self.dropped, managed.held());
        !managed.sending
    }

    /// A managed link whose transmitter is idle has got a packet: when to call `serve`, if not now.
    #[inline]
    pub fn idles_until(&mut self, now: Instant) -> Option<Instant> {
        let pace = self.wire.as_ref().and_then(|wire| wire.pace.as_ref())?;
        let start = pace.from_idle(now);
        if let Buffer::Managed(managed) = &mut self.buffer {
            managed.sending = start > now;
        }
        (start > now).then_some(start)
    }

    /// The transmitter is free: takes the next packet, if any. Gives its segment, already stamped with
    /// the time it reaches the far end, and the time at which the transmitter is free again.
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
        self.books.take(packet.slot, managed.is_fifo());
        self.books.begin();
        self.books.balance(self.dropped, managed.held());
        let pace = self.wire.as_mut().and_then(|wire| wire.pace.as_mut());
        let (time, free) = match pace {
            None => {
                let time = self.transmitter.time(segment.len);
                (time, now.plus(time))
            }
            Some(pace) => (pace.send(now, segment.len).since(now), pace.from_backlog()),
        };
        self.books.end(now.plus(time));
        if let Some(meter) = &mut self.meter {
            if segment.mark.ecn() != packet.ecn {
                meter.mark(now);
            }
            meter.serve(now, (segment.len, time), now.since(packet.arrived), (segment.class, packet.colour));
        }
        segment.mark = segment.mark.with_ecn(packet.ecn);
        segment.at = now.plus(time).plus(self.delay);
        Some((segment, free))
    }

    /// Runs the discipline's timer.
    pub fn tick(&mut self, now: Instant) {
        if let Buffer::Managed(managed) = &mut self.buffer {
            managed.queue.tick(now);
        }
    }

    /// Adds a row to the series of a link under study: that of time `row`, which has come by `now`.
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

    /// Closes the books at `end`, with a transmission under way until `sending`.
    pub fn end(&mut self, end: Instant, sending: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.end(end, sending);
        }
        if let Some(pace) = self.wire.as_mut().and_then(|wire| wire.pace.as_mut()) {
            pace.end(end);
        }
    }

    /// What its meter says, and its series; `None` if it has no meter.
    pub(crate) fn outcome(&self, name: String, series: Series) -> Option<LinkOutcome> {
        let pace = self.wire.as_ref().and_then(|wire| wire.pace.as_ref());
        Some(LinkOutcome::of(self.meter.as_deref()?, pace.map(Pace::utilisation), name, series))
    }

    /// When the discipline's timer is due.
    pub fn next_tick(&self) -> Option<Instant> {
        self.managed_queue().and_then(Queue::next_tick)
    }

    /// Does it serve in the order of arrival?
    pub fn is_fifo(&self) -> bool {
        match &self.buffer {
            Buffer::Line(_) | Buffer::Plain(_) => true,
            Buffer::Managed(managed) => managed.is_fifo(),
        }
    }

    /// Packets waiting; those of a drop-tail link are in the pipe behind it already, and of a mere line not counted.
    pub fn queued(&self) -> usize {
        match &self.buffer {
            Buffer::Line(_) => 0,
            Buffer::Plain(plain) => plain.len(),
            Buffer::Managed(managed) => managed.held(),
        }
    }

    /// Checks that nothing was lost or invented: the port's own counters, and in debug builds the books.
    pub fn check(&self) -> Result<(), &'static str> {
        self.books.balance(self.dropped, self.queued());
        self.managed_queue().map_or(Ok(()), |queue| queue.port.check())
    }
}
