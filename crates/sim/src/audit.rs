//! Books that must balance, kept in builds with debug assertions; elsewhere the calls are empty.
//!
//! They count beside the engine's own counters, so that a packet that is lost, doubled, overtaken or sent
//! back in time stops the run where it happens.

use crate::app::is_answer;
use crate::segment::{Kind, Segment};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;

/// Books of one link.
#[derive(Default)]
pub(crate) struct LinkBooks {
    offered: u64,
    begun: u64,
    /// Time of the last arrival, and the latest at which a transmission ends.
    arrived: u64,
    ends: u64,
    /// By slot: which arrival it holds. Drop-tail as arithmetic has no slots.
    arrivals: Vec<u64>,
    /// The arrival that was served last.
    served: u64,
}

impl LinkBooks {
    /// A packet is offered at `now`.
    #[inline(always)]
    pub(crate) fn offer(&mut self, now: u64) {
        if cfg!(debug_assertions) {
            assert!(now >= self.arrived, "arrivals at a link run forward");
            self.arrived = now;
            self.offered += 1;
        }
    }

    /// The packet that was just offered is put into `slot`.
    #[inline(always)]
    pub(crate) fn store(&mut self, slot: u32) {
        if cfg!(debug_assertions) {
            let slot = slot as usize;
            self.arrivals.resize(self.arrivals.len().max(slot + 1), 0);
            self.arrivals[slot] = self.offered;
        }
    }

    /// The packet in `slot` is served next. A queue with one list serves in the order of arrival.
    #[inline(always)]
    pub(crate) fn take(&mut self, slot: u32, one_list: bool) {
        if cfg!(debug_assertions) {
            let arrival = self.arrivals[slot as usize];
            assert!(!one_list || arrival > self.served, "first in, first out");
            self.served = arrival;
        }
    }

    /// A packet waits no longer.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        if cfg!(debug_assertions) {
            self.begun += 1;
        }
    }

    /// The transmission of the next packet in order ends at `end`. Its begin says less: a host's line wanders,
    /// and a long packet may begin before the end of a short one before it.
    #[inline(always)]
    pub(crate) fn end(&mut self, end: u64) {
        if cfg!(debug_assertions) {
            assert!(end >= self.ends, "transmissions end one after the other");
            self.ends = end;
        }
    }

    /// Conservation: what was offered has begun its transmission, was dropped, or waits.
    #[inline(always)]
    pub(crate) fn balance(&self, dropped: u64, queued: usize) {
        debug_assert_eq!(self.offered, self.begun + dropped + queued as u64, "offered = begun + dropped + queued");
    }
}

/// Books of a whole network.
#[derive(Default)]
pub(crate) struct Books {
    emitted: u64,
    delivered: u64,
    /// Bound to arrive after the end of the run.
    beyond: u64,
    /// By flow: are all queues on its routes first in, first out?
    in_order: Vec<bool>,
    /// By flow: when the data that arrived last was sent, what the acknowledgement that did expects next, and when
    /// the request that did was sent, and the answer to a SYN.
    last: Vec<[u64; 4]>,
}

impl Books {
    /// Books of a network whose flows have routes of queues with one list each, or not.
    pub(crate) fn new(in_order: impl Iterator<Item = bool>) -> Self {
        if !cfg!(debug_assertions) {
            return Self::default();
        }
        let in_order: Vec<bool> = in_order.collect();
        Self { last: vec![[0; 4]; in_order.len()], in_order, ..Self::default() }
    }

    /// A host sends a segment at `now`; it is ready at `at`.
    #[inline(always)]
    pub(crate) fn emit(&mut self, now: u64, at: u64) {
        if cfg!(debug_assertions) {
            assert!(at >= now, "no host sends into the past");
            self.emitted += 1;
        }
    }

    /// A segment has reached its host at `at`.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, segment: &Segment, at: u64) {
        if cfg!(debug_assertions) {
            self.delivered += 1;
            let flow = segment.flow as usize;
            let ack = segment.mark.kind() == Kind::Ack;
            let which = match segment.mark.kind() {
                Kind::Data | Kind::Datagram => 0,
                Kind::Ack => 1,
                Kind::Control => 2 + usize::from(is_answer(segment.seq)),
            };
            assert!(ack || at >= segment.sent, "no segment arrives before it was sent");
            let order = if ack { u64::from(segment.seq) } else { segment.sent };
            let last = core::mem::replace(&mut self.last[flow][which], order);
            assert!(!self.in_order[flow] || order >= last, "a path of FIFO queues keeps a flow's order");
        }
    }

    /// A segment will reach its host after the end.
    #[inline(always)]
    pub(crate) fn beyond(&mut self) {
        if cfg!(debug_assertions) {
            self.beyond += 1;
        }
    }

    /// Conservation: every segment sent was delivered or dropped, waits in a queue or is on its way.
    pub(crate) fn balance(&self, dropped: u64, queued: u64, on_the_way: u64) {
        let known = self.delivered + dropped + queued + on_the_way + self.beyond;
        debug_assert_eq!(self.emitted, known, "emitted = delivered + dropped + queued + on the way");
    }
}

/// The sequence space of a connection, whose sender has sent packets 0 to `high` - 1: what is acknowledged
/// has arrived, what has arrived was sent.
#[inline(always)]
pub(crate) fn connection(sender: &Sender, receiver: &Receiver) {
    if cfg!(debug_assertions) {
        assert_eq!(sender.check(), Ok(()));
        let counts = sender.counts();
        let high = counts.sent - counts.retransmitted;
        let (una, in_order) = (u64::from(sender.acknowledged()), u64::from(receiver.in_order()));
        assert!(una <= in_order && in_order <= high, "acknowledged {una}, in order {in_order}, sent {high}");
    }
}

#[cfg(test)]
#[cfg(debug_assertions)]
mod tests {
    use super::*;
    use crate::segment::Mark;
    use forebay_aqm::base::packet::Ecn;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Does the fault stop the run?
    fn stops(fault: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(fault)).is_err()
    }

    /// A link that took packets 1 to 3 into slots 0 to 2 at times 10 to 30 and sends the first.
    fn link() -> LinkBooks {
        let mut books = LinkBooks::default();
        for slot in 0..3 {
            books.offer(10 * u64::from(slot + 1));
            books.store(slot);
        }
        books.take(0, true);
        books.begin();
        books.end(35);
        books
    }

    #[test]
    fn a_sound_link_passes() {
        let mut books = link();
        books.balance(0, 2);
        books.take(1, true);
        books.begin();
        books.balance(1, 0);
        books.take(0, false);
    }

    #[test]
    fn faults_of_a_link_are_found() {
        assert!(stops(|| link().balance(0, 1)), "dropped without counting");
        assert!(stops(|| link().balance(1, 2)), "counted without dropping");
        assert!(stops(|| link().offer(29)), "time travel");
        assert!(stops(|| link().end(34)), "two transmissions at once");
        let swapped = || {
            let mut books = link();
            books.take(2, true);
            books.take(1, true);
        };
        assert!(stops(swapped), "overtaken");
        assert!(stops(|| link().take(0, true)), "served twice");
    }

    #[test]
    fn faults_of_a_network_are_found() {
        let segment = |sent| Segment { sent, mark: Mark::data(Kind::Data, Ecn::NotEct, false), ..Segment::default() };
        let two_sent = |in_order| {
            let mut books = Books::new([in_order].into_iter());
            books.emit(5, 5);
            books.emit(7, 8);
            books.deliver(&segment(7), 20);
            books
        };
        two_sent(true).balance(1, 0, 0);
        two_sent(true).balance(0, 0, 1);
        two_sent(false).deliver(&segment(5), 21);
        assert!(stops(|| two_sent(true).balance(0, 0, 0)), "lost");
        assert!(stops(|| two_sent(true).balance(0, 1, 1)), "doubled");
        assert!(stops(|| two_sent(true).deliver(&segment(5), 21)), "overtaken");
        assert!(stops(|| two_sent(true).deliver(&segment(9), 8)), "arrived before it was sent");
        assert!(stops(|| two_sent(true).emit(9, 8)), "sent into the past");
    }
}
