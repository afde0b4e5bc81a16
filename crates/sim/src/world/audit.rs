//! Accounting checks of the network. They run in builds with debug assertions; in others the calls are empty.
//!
//! Their counters are independent of the engine's, so that a run stops where a packet is lost, duplicated, overtaken
//! or sent into the past.

use forebay_aqm::base::time::Instant;

use crate::link::segment::{Kind, Segment};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::traffic::session::is_answer;

/// Packet counters of a network.
#[derive(Default)]
pub(crate) struct PacketCounters {
    emitted: u64,
    delivered: u64,
    /// Packets that will arrive after the end of the run.
    beyond: u64,
    /// By flow: are all queues on its routes first in, first out?
    in_order: Vec<bool>,
    /// For each flow: its latest arrivals.
    last: Vec<Last>,
}

/// Latest arrivals of a flow.
#[derive(Clone, Default)]
struct Last {
    /// Sending time of the latest data, of the latest request or SYN, and of the latest answer to a SYN.
    sent: [Instant; 3],
    /// Packet number that the latest acknowledgement expects next.
    expected: u32,
}

impl PacketCounters {
    /// Counters at 0. `in_order`: for each flow, whether all queues on its routes are FIFO.
    pub(crate) fn new(in_order: impl Iterator<Item = bool>) -> Self {
        if !cfg!(debug_assertions) {
            return Self::default();
        }
        let in_order: Vec<bool> = in_order.collect();
        Self { last: vec![Last::default(); in_order.len()], in_order, ..Self::default() }
    }

    /// A host has a packet to send at `now`. It leaves the host at `at`, after the processing time.
    #[inline(always)]
    pub(crate) fn emit(&mut self, now: Instant, at: Instant) {
        if cfg!(debug_assertions) {
            assert!(at >= now, "no host sends into the past");
            self.emitted += 1;
        }
    }

    /// Counts a packet that has reached its host at time `at`.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, segment: &Segment, at: Instant) {
        if cfg!(debug_assertions) {
            self.delivered += 1;
            let flow = segment.flow as usize;
            let last = &mut self.last[flow];
            let which = match segment.mark.kind() {
                Kind::Data | Kind::Datagram => Some(0),
                Kind::Ack => None,
                Kind::Control => Some(1 + usize::from(is_answer(segment.seq))),
            };
            let keeps_order = match which {
                Some(which) => {
                    assert!(at >= segment.sent(), "no segment arrives before it was sent");
                    core::mem::replace(&mut last.sent[which], segment.sent()) <= segment.sent()
                }
                None => core::mem::replace(&mut last.expected, segment.seq) <= segment.seq,
            };
            assert!(!self.in_order[flow] || keeps_order, "a path of FIFO queues keeps a flow's order");
        }
    }

    /// A packet will reach its host after the end of the run.
    #[inline(always)]
    pub(crate) fn beyond(&mut self) {
        if cfg!(debug_assertions) {
            self.beyond += 1;
        }
    }

    /// Checks conservation: every packet sent was delivered, dropped, is queued or in transit. Selective blocks are
    /// stored only for acknowledgements that are queued or in transit.
    pub(crate) fn balance(&self, dropped: u64, queued: u64, on_the_way: u64, blocks: usize) {
        debug_assert!(blocks as u64 <= queued + on_the_way, "blocks of {blocks} acknowledgements, which are gone");
        let known = self.delivered + dropped + queued + on_the_way + self.beyond;
        debug_assert_eq!(self.emitted, known, "emitted = delivered + dropped + queued + on the way");
    }
}

/// Checks the sequence space of a connection: acknowledged packets have arrived, and arrived packets were sent.
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
    use crate::link::segment::{Load, Mark};
    use crate::testing::{at, stops};
    use forebay_aqm::base::packet::Ecn;

    #[test]
    fn network_accounting_finds_lost_duplicated_and_reordered_packets() {
        let segment = |sent| Segment {
            load: Load::sent(at(sent)),
            mark: Mark::data(Kind::Data, Ecn::NotEct, false),
            ..Segment::default()
        };
        let two_sent = |in_order| {
            let mut counters = PacketCounters::new([in_order].into_iter());
            counters.emit(at(5), at(5));
            counters.emit(at(7), at(8));
            counters.deliver(&segment(7), at(20));
            counters
        };
        two_sent(true).balance(1, 0, 0, 0);
        two_sent(true).balance(0, 0, 1, 0);
        two_sent(false).deliver(&segment(5), at(21));
        assert!(stops(|| two_sent(true).balance(0, 0, 0, 0)), "lost");
        assert!(stops(|| two_sent(true).balance(0, 1, 1, 0)), "duplicated");
        assert!(stops(|| two_sent(true).deliver(&segment(5), at(21))), "overtaken");
        assert!(stops(|| two_sent(true).deliver(&segment(9), at(8))), "arrived before it was sent");
        assert!(stops(|| two_sent(true).emit(at(9), at(8))), "sent into the past");
        assert!(stops(|| two_sent(true).balance(0, 0, 1, 2)), "blocks not released");
    }
}
