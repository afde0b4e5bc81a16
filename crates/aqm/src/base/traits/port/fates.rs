//! Enqueue, dequeue and drop at a port, which stores the packets of a queue: the loops that ask an [`Aqm`] for its
//! decisions and notify it of each packet's fate.

use super::{ListId, NONE, Node, Port, Taken};
use crate::base::cx::Cx;
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::units::Limit;
use crate::base::verdict::{Fate, Reason, Verdict};

impl Port {
    /// Queues, marks or drops an arrival according to `verdict`. A threshold marker in front of the discipline can turn
    /// Accept or Mark into a signal. If the buffer is full, the arrival is dropped, unless the verdict is Accept, the
    /// marker does not signal, and [`Aqm::makes_room`] is true.
    #[inline(always)] // A call, with the packet through memory, costs about 2 ns per arrival.
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
        // Ok: whether it is marked. Err: why it is dropped.
        let outcome = match verdict {
            // The most common case.
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

    /// The next packet of `list` that the AQM does not drop at departure.
    ///
    /// This is the loop of every drop-at-dequeue rule: pop, decide, drop, repeat.
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

    /// Removes the oldest packet of `list`, for disciplines with their own dequeue loop. [`Port::send_taken`] or
    /// [`Port::drop_taken`] must follow before any other packet enters.
    #[inline]
    pub fn take(&mut self, list: ListId) -> Option<Taken> {
        self.unlink(list).map(Taken)
    }

    /// The packet that [`Port::take`] has removed from its list.
    #[inline]
    pub fn taken(&self, taken: &Taken) -> &Packet {
        &self.nodes[taken.0 as usize].packet
    }

    /// Passes the packet that [`Port::take`] has removed to the link.
    #[inline]
    pub fn send_taken<A: Aqm + ?Sized>(&mut self, taken: Taken, marked: bool, aqm: &mut A, cx: &mut Cx) -> Packet {
        self.deliver(taken.0, marked, aqm, cx)
    }

    /// Drops the packet that [`Port::take`] has removed.
    #[inline]
    pub fn drop_taken<A: Aqm + ?Sized>(&mut self, taken: Taken, reason: Reason, aqm: &mut A, cx: &mut Cx) {
        self.discard(self.nodes[taken.0 as usize].packet, reason, aqm, cx);
    }

    /// Drops the oldest packet of `list` and returns it.
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

    /// Drops the oldest packets of `list` until `len` bytes fit. Drops none if dropping all of them does not suffice.
    /// Out of line because it is rare.
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

    /// Drops the packet at position `place` of `list`, counted from the head, and returns it.
    ///
    /// It walks the list from the head, which takes some nanoseconds per packet.
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

    /// Stores a packet in `list`. If `marked`, sets CE in the stored packet; see [`Port::deliver`] for the reason.
    #[inline(always)] // Like `admit`.
    fn accept<A: Aqm + ?Sized>(&mut self, list: ListId, packet: Packet, marked: bool, aqm: &mut A, cx: &mut Cx) {
        let (packet, tally) = self.push(list, packet);
        if marked {
            tally.mark(packet);
        }
        aqm.settled(packet, Fate::Queued { marked }, cx);
    }

    /// Passes the removed packet at node `at` to the link.
    ///
    /// The packet is marked and counted in its node and then copied as a whole. If it were copied in parts around the
    /// changed field, the next read of the whole packet would stall.
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

    /// Drops a packet, at arrival or later.
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
