//! A link: a queue, a transmitter of fixed rate, and a pipe of constant delay.
//!
//! A plain FIFO needs no transmission-complete event: a packet's departure is known when it arrives,
//! and a finite drop-tail queue is a ring of the times at which waiting packets begin transmission.
//! Only a link that runs a discipline of `forebay-aqm` asks for events of its own.

mod described;

use forebay_aqm::AnyDiscipline;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::ladder::Discipline;
use forebay_aqm::base::packet::{Colour, Packet, Proto};
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_aqm::base::verdict::Reason;

use crate::audit::LinkBooks;
use crate::loss::Losses;
use crate::meter::{Loss, Meter};
use crate::ring::Ring;
use crate::segment::Segment;
use crate::wire::Wire;

/// The transmitter: turns lengths into times.
#[derive(Clone, Debug)]
pub struct Transmitter {
    rate: Rate,
    last: (u16, u64),
}

impl Transmitter {
    const fn new(rate: Rate) -> Self {
        Self { rate, last: (0, 0) }
    }

    /// Time on the wire in nanoseconds. Lengths repeat, divisions are slow: the last one is kept.
    #[inline]
    fn nanos(&mut self, len: u16) -> u64 {
        if self.last.0 != len {
            self.last = (len, self.rate.time_for(u32::from(len)).nanos());
        }
        self.last.1
    }
}

#[derive(Clone, Copy, Default)]
struct Waiting {
    start: u64,
    len: u16,
}

/// A drop-tail FIFO as arithmetic, for a buffer of packets that nobody watches: no queue, only the times at
/// which the packets of this busy period begin transmission.
pub struct Line {
    limit: usize,
    /// When the transmitter is free for the next arrival.
    free: u64,
    /// Packets since the line was last idle.
    count: usize,
    /// By packet, modulo its size: a power of two, which grows until it holds `limit` of them.
    starts: Vec<u64>,
}

impl Line {
    /// The longest buffer it may stand for: a line that is never idle remembers that many packets.
    const MOST: u32 = 1 << 16;

    const fn new(limit: usize) -> Self {
        Self { limit, free: 0, count: 0, starts: Vec::new() }
    }

    /// When a packet that arrives at `now` and takes `time` to send is on its way; `None`: the buffer is full,
    /// for the packet `limit` places before it still waits.
    #[inline(always)]
    fn admit(&mut self, now: u64, time: u64, wander: impl FnOnce(u64) -> i64) -> Option<u64> {
        let mut start = now;
        if self.free > now {
            if self.count >= self.limit && self.starts[self.place(self.count - self.limit)] > now {
                return None;
            }
            start = self.free.saturating_add_signed(wander(time)).max(now);
        } else {
            self.count = 0;
        }
        if self.count == self.starts.len() && self.count <= self.limit {
            self.starts.resize((2 * self.count).max(16), 0);
        }
        let place = self.place(self.count);
        self.starts[place] = start;
        self.count += 1;
        self.free = start + time;
        Some(self.free)
    }

    #[inline]
    const fn place(&self, packet: usize) -> usize {
        packet & (self.starts.len() - 1)
    }
}

/// A drop-tail FIFO as arithmetic, with its queue at hand: for a meter, or a buffer of bytes.
pub struct Plain {
    limit: Limit,
    /// When the transmitter is free for the next arrival.
    free: u64,
    waiting: Ring<Waiting>,
    bytes: u64,
}

impl Plain {
    /// Packets whose transmission has begun by `now` wait no longer.
    #[inline]
    fn begin_due(&mut self, now: u64, meter: &mut Option<Box<Meter>>, books: &mut LinkBooks) {
        while let Some(&first) = self.waiting.front()
            && first.start <= now
        {
            self.waiting.skip();
            books.begin();
            self.bytes -= u64::from(first.len);
            if let Some(meter) = meter {
                meter.queue_is(first.start, self.waiting.len() as u32);
            }
        }
    }

    const fn fits(&self, len: u16) -> bool {
        match self.limit {
            Limit::Packets(n) => self.waiting.len() < n as usize,
            Limit::Bytes(b) => self.bytes + len as u64 <= b,
        }
    }
}

/// A queue under a discipline, with the segments whose descriptors it holds.
pub struct Managed {
    /// The discipline and its memory.
    pub queue: Queue<AnyDiscipline>,
    segments: Vec<Segment>,
    free: Vec<u32>,
    sending: bool,
}

/// The queue of a link.
pub enum Buffer {
    /// Drop-tail without events.
    Line(Line),
    /// The same, watched or limited in bytes.
    Plain(Plain),
    /// Any discipline.
    Managed(Box<Managed>),
}

/// What a flow's packets look like to a discipline.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tag {
    /// Source-destination pair.
    pub pair: u32,
    /// Transport.
    pub proto: Proto,
}

/// A link, without the pipe behind it.
pub struct Link {
    buffer: Buffer,
    transmitter: Transmitter,
    delay: u64,
    /// Present at links under study.
    pub meter: Option<Box<Meter>>,
    /// Present where the link is more than a queue of constant rate.
    pub wire: Option<Box<Wire>>,
    /// Segments dropped here, in the whole run.
    pub dropped: u64,
    books: LinkBooks,
}

impl Link {
    /// A link with a drop-tail FIFO, perhaps under study, perhaps with a wire of its own kind.
    pub fn plain(rate: Rate, delay: u64, limit: Limit, meter: Option<Box<Meter>>, wire: Option<Box<Wire>>) -> Self {
        let buffer = match limit {
            Limit::Packets(n @ 1..=Line::MOST) if meter.is_none() && wire.is_none() => {
                Buffer::Line(Line::new(n as usize))
            }
            _ => Buffer::Plain(Plain { limit, free: 0, waiting: Ring::new(), bytes: 0 }),
        };
        Self::new(rate, delay, buffer, meter, wire)
    }

    /// A link under a discipline, perhaps under study, perhaps with a wire of its own kind.
    pub fn managed(
        rate: Rate,
        delay: u64,
        queue: Queue<AnyDiscipline>,
        meter: Option<Box<Meter>>,
        wire: Option<Box<Wire>>,
    ) -> Self {
        let managed = Managed { queue, segments: Vec::new(), free: Vec::new(), sending: false };
        Self::new(rate, delay, Buffer::Managed(Box::new(managed)), meter, wire)
    }

    fn new(rate: Rate, delay: u64, buffer: Buffer, meter: Option<Box<Meter>>, wire: Option<Box<Wire>>) -> Self {
        let transmitter = Transmitter::new(rate);
        Self { buffer, transmitter, delay, meter, wire, dropped: 0, books: LinkBooks::default() }
    }

    /// Segments that its wire has lost, in the whole run.
    pub fn lost(&self) -> u64 {
        self.wire.as_ref().map_or(0, |wire| wire.lost)
    }

    /// Is the packet whose transmission begins at `start` lost on its way? To be asked once for each.
    #[inline]
    pub fn loses(&mut self, start: u64) -> bool {
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
    /// `wander` tells by how many nanoseconds a packet that had to wait goes out later than the line's rate
    /// says, given the time it takes to send: 0 but for a host's inexact line (see `World::emit`), and never
    /// more than half of that time to either side, so that order is kept. A line with a schedule keeps to it.
    #[inline(always)]
    pub fn pass(
        &mut self,
        len: u16,
        counted_as: (u8, Colour),
        now: u64,
        wander: impl FnOnce(u64) -> i64,
    ) -> Result<u64, u64> {
        let Buffer::Line(line) = &mut self.buffer else { return self.pass_watched(len, counted_as, now, wander) };
        let sent = line.admit(now, self.transmitter.nanos(len), wander);
        self.dropped += u64::from(sent.is_none());
        self.books.offer(now);
        if let Some(sent) = sent {
            self.books.begin();
            self.books.end(sent);
        }
        self.books.balance(self.dropped, 0);
        sent.map(|sent| sent + self.delay).ok_or(now)
    }

    #[inline(never)]
    fn pass_watched(
        &mut self,
        len: u16,
        (class, colour): (u8, Colour),
        now: u64,
        wander: impl FnOnce(u64) -> i64,
    ) -> Result<u64, u64> {
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
            (Some(pace), Some(due)) => (due, pace.send(due, len) - due),
            _ => {
                let time = self.transmitter.nanos(len);
                (if waits { plain.free.saturating_add_signed(wander(time)).max(now) } else { now }, time)
            }
        };
        plain.free = start + time;
        if waits {
            plain.waiting.push(Waiting { start, len });
            plain.bytes += u64::from(len);
        } else {
            self.books.begin();
        }
        self.books.end(plain.free);
        self.books.balance(self.dropped, plain.waiting.len());
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, plain.waiting.len() as u32);
            meter.serve(start, (len, time), start - now, (class, colour));
        }
        let arrival = plain.free + self.delay;
        if self.loses(start) { Err(arrival) } else { Ok(arrival) }
    }

    /// Brings the books of a plain link up to `now`.
    pub fn settle(&mut self, now: u64) {
        if let Buffer::Plain(plain) = &mut self.buffer {
            plain.begin_due(now, &mut self.meter, &mut self.books);
        }
    }

    /// Offers `segment` to a managed link. True if the transmitter was idle: the host must call `serve` now.
    #[inline]
    pub fn arrive(&mut self, segment: Segment, tag: Tag, now: u64, mut on_drop: impl FnMut(&Segment)) -> bool {
        let Buffer::Managed(managed) = &mut self.buffer else {
            unreachable!("a plain link takes arrivals through `pass`")
        };
        let slot = managed.free.pop().unwrap_or_else(|| {
            managed.segments.push(Segment::default());
            (managed.segments.len() - 1) as u32
        });
        managed.segments[slot as usize] = segment;
        self.books.offer(now);
        self.books.store(slot);
        let packet = Packet {
            slot,
            len: u32::from(segment.len),
            flow: segment.flow,
            pair: tag.pair,
            ecn: segment.mark.ecn(),
            class: segment.class,
            colour: segment.mark.colour(),
            proto: tag.proto,
            ..Packet::default()
        };
        if let Some(meter) = &mut self.meter {
            meter.offer(now, segment.class, segment.mark.colour());
        }
        managed.queue.arrive(packet, Instant::from_nanos(now));
        self.dropped += managed.release_dropped(now, self.meter.as_deref_mut(), &mut on_drop);
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, managed.queue.port.pkts());
        }
        self.books.balance(self.dropped, managed.held());
        !managed.sending
    }

    /// A managed link whose transmitter is idle has got a packet: when to call `serve`, if not now.
    #[inline]
    pub fn idles_until(&mut self, now: u64) -> Option<u64> {
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
    pub fn serve(&mut self, now: u64, mut on_drop: impl FnMut(&Segment)) -> Option<(Segment, u64)> {
        let Buffer::Managed(managed) = &mut self.buffer else { unreachable!("a plain link serves itself") };
        let packet = managed.queue.depart(Instant::from_nanos(now));
        self.dropped += managed.release_dropped(now, self.meter.as_deref_mut(), &mut on_drop);
        managed.sending = packet.is_some();
        if let Some(meter) = &mut self.meter {
            meter.queue_is(now, managed.queue.port.pkts());
        }
        let packet = packet?;
        managed.free.push(packet.slot);
        self.books.take(packet.slot, managed.is_fifo());
        self.books.begin();
        self.books.balance(self.dropped, managed.held());
        let mut segment = managed.segments[packet.slot as usize];
        let pace = self.wire.as_mut().and_then(|wire| wire.pace.as_mut());
        let (time, free) = match pace {
            None => {
                let time = self.transmitter.nanos(segment.len);
                (time, now + time)
            }
            Some(pace) => (pace.send(now, segment.len) - now, pace.from_backlog()),
        };
        self.books.end(now + time);
        if let Some(meter) = &mut self.meter {
            if segment.mark.ecn() != packet.ecn {
                meter.mark(now);
            }
            let sojourn = now - packet.arrived.nanos();
            meter.serve(now, (segment.len, time), sojourn, (segment.class, packet.colour));
        }
        segment.mark = segment.mark.with_ecn(packet.ecn);
        segment.at = now + time + self.delay;
        Some((segment, free))
    }

    /// Runs the discipline's timer.
    pub fn tick(&mut self, now: u64) {
        if let Buffer::Managed(managed) = &mut self.buffer {
            managed.queue.tick(Instant::from_nanos(now));
        }
    }

    /// Closes the books at `end`, with a transmission under way until `sending`.
    pub fn end(&mut self, end: u64, sending: u64) {
        if let Some(meter) = &mut self.meter {
            meter.end(end, sending);
        }
        if let Some(pace) = self.wire.as_mut().and_then(|wire| wire.pace.as_mut()) {
            pace.end(end);
        }
    }

    /// When the discipline's timer is due.
    pub fn next_tick(&self) -> Option<u64> {
        self.managed_queue().and_then(Queue::next_tick).map(Instant::nanos)
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
            Buffer::Plain(plain) => plain.waiting.len(),
            Buffer::Managed(managed) => managed.held(),
        }
    }

    /// Checks that nothing was lost or invented: the port's own counters, and in debug builds the books.
    pub fn check(&self) -> Result<(), &'static str> {
        self.books.balance(self.dropped, self.queued());
        self.managed_queue().map_or(Ok(()), |queue| queue.port.check())
    }
}

impl Managed {
    /// A single list is served from its head.
    fn is_fifo(&self) -> bool {
        self.queue.discipline().lists() == 1
    }

    /// How many segments it holds; as many as the discipline has packets.
    fn held(&self) -> usize {
        let held = self.segments.len() - self.free.len();
        debug_assert_eq!(held, self.queue.port.pkts() as usize, "a segment for each packet of the discipline");
        held
    }

    /// Frees the slots of dropped packets and tells the meter; how many there were.
    #[inline]
    fn release_dropped(&mut self, now: u64, mut meter: Option<&mut Meter>, on_drop: &mut impl FnMut(&Segment)) -> u64 {
        let discarded = self.queue.port.discarded();
        let count = discarded.len() as u64;
        for (packet, reason) in discarded.drain(..) {
            self.free.push(packet.slot);
            on_drop(&self.segments[packet.slot as usize]);
            if let Some(meter) = &mut meter {
                let loss = match reason {
                    Reason::Early | Reason::Threshold => Loss::Early,
                    Reason::Overflow => Loss::Overflow,
                };
                meter.lose(now, packet.class, packet.colour, loss);
            }
        }
        count
    }
}
