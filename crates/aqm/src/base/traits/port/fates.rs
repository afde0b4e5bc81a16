//! What becomes of each packet at a port: the loops that ask an [`Aqm`] and tell it.

use super::{ListId, NONE, Node, Port, Taken};
use crate::base::cx::Cx;
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::units::Limit;
use crate::base::verdict::{Fate, Reason, Verdict};

impl Port {
    /// An arrival's fate: `verdict`, or a signal if it is accepted and a marker in front says so, unless the
    /// buffer is full and [`Aqm::makes_room`] does not help.
    #[inline(always)] // A call, and its packet through memory, cost each arrival some two nanoseconds.
    pub fn admit<A: Aqm + ?Sized>(
        &mut self,
        list: ListId,
        packet: Packet,
        verdict: Verdict,
        aqm: &mut A,
        cx: &mut Cx,
    ) -> Fate {
        self.tally.offered.add(packet.len);
        let signalled = cx.signalled;
        let fits = self.fits(packet.len);
        // Whether it is marked, or why it is dropped.
        let outcome = match verdict {
            // What most packets meet.
            Verdict::Accept if fits && !signalled => Ok(false),
            _ if !fits => match verdict {
                Verdict::Accept if !signalled && aqm.makes_room() => self.make_room(list, packet.len, aqm, cx),
                _ => Err(Reason::Overflow),
            },
            Verdict::Mark if !signalled => Ok(packet.ecn.is_capable()),
            Verdict::Accept | Verdict::Mark | Verdict::Signal if self.marks(&packet) => Ok(true),
            Verdict::Accept | Verdict::Mark => Err(Reason::Marker),
            Verdict::Signal | Verdict::Drop => Err(Reason::Early),
        };
        match outcome {
            Ok(marked) => {
                self.accept(list, packet, marked, aqm, cx);
                Fate::Queued { marked }
            }
            Err(reason) => {
                self.refused.add(packet.len);
                self.discard(packet, reason, aqm, cx);
                Fate::Dropped(reason)
            }
        }
    }

    /// The next packet of `list` that survives its AQM's judgement at departure.
    ///
    /// Pop, judge, discard, pop again: the loop of every drop-at-dequeue rule, here once.
    #[inline]
    pub fn pop_judged<A: Aqm + ?Sized>(&mut self, list: ListId, aqm: &mut A, cx: &mut Cx) -> Option<Packet> {
        while let Some(at) = self.unlink(list) {
            let judged = &self.nodes[at as usize].packet;
            let marked = match aqm.departure(judged, &self.level(list), cx) {
                Verdict::Accept => false,
                Verdict::Mark => judged.ecn.is_capable(),
                Verdict::Signal if self.marks(judged) => true,
                Verdict::Signal | Verdict::Drop => {
                    self.discard(*judged, Reason::Early, aqm, cx);
                    continue;
                }
            };
            return Some(self.deliver(at, marked, aqm, cx));
        }
        aqm.emptied(cx);
        None
    }

    /// Takes the oldest packet off `list`, for a rule that judges it between two others. [`Port::send_taken`] or
    /// [`Port::drop_taken`] decides its fate, before any other packet enters.
    #[inline]
    pub fn take(&mut self, list: ListId) -> Option<Taken> {
        self.unlink(list).map(Taken)
    }

    /// The packet that was taken.
    #[inline]
    pub fn taken(&self, taken: &Taken) -> &Packet {
        &self.nodes[taken.0 as usize].packet
    }

    /// Hands the taken packet to the link.
    #[inline]
    pub fn send_taken<A: Aqm + ?Sized>(&mut self, taken: Taken, marked: bool, aqm: &mut A, cx: &mut Cx) -> Packet {
        self.deliver(taken.0, marked, aqm, cx)
    }

    /// Drops the taken packet.
    #[inline]
    pub fn drop_taken<A: Aqm + ?Sized>(&mut self, taken: Taken, reason: Reason, aqm: &mut A, cx: &mut Cx) {
        self.discard(self.nodes[taken.0 as usize].packet, reason, aqm, cx);
    }

    /// Drops the oldest packet of `list`: room for another, or a choice. Says what it was.
    pub fn drop_head<A: Aqm + ?Sized>(
        &mut self,
        list: ListId,
        reason: Reason,
        aqm: &mut A,
        cx: &mut Cx,
    ) -> Option<Packet> {
        let packet = self.pop(list)?;
        self.discard(packet, reason, aqm, cx);
        Some(packet)
    }

    /// What becomes of an arrival of `len` bytes that does not fit, and is accepted all the same: the oldest packets of
    /// `list` go for it, but none of them if not even all would do. Seldom asked for, so kept out of the way.
    #[cold]
    #[inline(never)]
    fn make_room<A: Aqm + ?Sized>(&mut self, list: ListId, len: u32, aqm: &mut A, cx: &mut Cx) -> Result<bool, Reason> {
        let others = self.bytes - self.lists[usize::from(list.0)].bytes;
        if matches!(self.link.limit, Limit::Bytes(b) if others + u64::from(len) > b) {
            return Err(Reason::Overflow);
        }
        while !self.fits(len) {
            if self.drop_head(list, Reason::Overflow, aqm, cx).is_none() {
                return Err(Reason::Overflow);
            }
        }
        Ok(false)
    }

    /// Drops the packet of `list` that `place` others wait before. Says what it was.
    ///
    /// It walks the list from its head, which takes some nanoseconds for each packet passed.
    pub fn drop_at<A: Aqm + ?Sized>(
        &mut self,
        list: ListId,
        place: u32,
        reason: Reason,
        aqm: &mut A,
        cx: &mut Cx,
    ) -> Option<Packet> {
        if place == 0 {
            return self.drop_head(list, reason, aqm, cx);
        }
        let mut before = self.lists[usize::from(list.0)].head;
        for _ in 1..place {
            before = self.nodes.get(before as usize)?.next;
        }
        let at = self.nodes.get(before as usize)?.next;
        let Node { packet, next } = *self.nodes.get(at as usize)?;
        self.nodes[before as usize].next = next;
        if next == NONE {
            self.lists[usize::from(list.0)].tail = before;
        }
        self.release(list, at, packet.len);
        self.discard(packet, reason, aqm, cx);
        Some(packet)
    }

    /// The way into the buffer; the packet is marked where it then lies, as [`Port::deliver`] does.
    #[inline(always)] // As `admit`, which is inlined too.
    fn accept<A: Aqm + ?Sized>(&mut self, list: ListId, packet: Packet, marked: bool, aqm: &mut A, cx: &mut Cx) {
        let (packet, tally) = self.push(list, packet);
        if marked {
            tally.mark(packet);
        }
        aqm.settled(packet, Fate::Queued { marked }, cx);
    }

    /// The way out to the link, of the packet at `at`, off its list.
    ///
    /// It is marked and counted where it lies, then copied whole: one that is copied in pieces, for a field that
    /// changes, stalls whoever reads it whole.
    #[inline]
    fn deliver<A: Aqm + ?Sized>(&mut self, at: u32, marked: bool, aqm: &mut A, cx: &mut Cx) -> Packet {
        let packet = &mut self.nodes[at as usize].packet;
        if marked {
            self.tally.mark(packet);
        }
        self.tally.departed.add(packet.len);
        aqm.settled(packet, Fate::Delivered { marked }, cx);
        *packet
    }

    /// The way out of all others, on arrival or later.
    #[inline]
    fn discard<A: Aqm + ?Sized>(&mut self, packet: Packet, reason: Reason, aqm: &mut A, cx: &mut Cx) {
        match reason {
            Reason::Early | Reason::Marker => self.tally.dropped_early.add(packet.len),
            Reason::Overflow => self.tally.dropped_overflow.add(packet.len),
        }
        self.discarded.push((packet, reason));
        aqm.settled(&packet, Fate::Dropped(reason), cx);
    }
}
