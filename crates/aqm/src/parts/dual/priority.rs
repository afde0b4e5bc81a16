//! Two lists (queues) for a coupled AQM (RFC 9332), Classic (C) and low-latency (L), and a scheduler that gives the L
//! list limited priority.
//!
//! The scheduler `wrr` keeps a credit of the C list, which departures change while both lists hold packets. It is reset
//! when both lists are empty.

use crate::base::adapters::Decided;
use crate::base::cx::Cx;
use crate::base::packet::{Ecn, Packet};
use crate::base::port::{ListId, Port};
use crate::base::time::{Instant, Span};
use crate::base::units::Bytes;
use crate::base::verdict::{Reason, Verdict};
use crate::{choice, probes};

/// The Classic queue.
pub const CLASSIC: ListId = ListId(0);
/// The low-latency queue of L4S.
pub const LOW: ListId = ListId(1);

choice! {
    /// The scheduler that limits the priority of the low-latency list.
    pub enum Scheduler {
        /// Weighted round robin: limits the low-latency list's share of the link while both lists hold packets.
        Wrr = "wrr",
        /// Time-shifted FIFO: the low-latency list sends first, unless the head of the Classic list has waited longer
        /// than the other head by more than the time shift.
        TsFifo = "ts-fifo",
    }
}

/// Statistics of one list for an operator (RFC 9332 section 2.5.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Backlog in packets.
    pub waiting: u32,
    /// Bytes passed to the link.
    pub sent: u64,
    /// Packets of this list that were marked CE.
    pub marked: u64,
    /// Packets dropped by the AQM.
    pub dropped: u64,
    /// Sojourn time of the packet sent last.
    pub delay: Span,
}

/// The scheduler's state.
#[derive(Clone, Debug)]
pub struct Priority {
    scheduler: Scheduler,
    /// The Classic list's share of the link.
    weight: f64,
    tshift: Span,
    /// Credit of the Classic list: rises by the bytes of the low-latency list times `weight`, falls by the bytes of
    /// the Classic list times 1 - `weight`. While it is at most 0 the low-latency list sends.
    credit: f64,
    idle_credit: f64,
    seen: [Seen; 2],
}

impl Priority {
    /// A scheduler that starts with the low-latency list.
    pub fn new(scheduler: Scheduler, weight: f64, tshift: Span, mtu: Bytes) -> Self {
        let idle_credit = mtu.0 as f64 * (weight - (1.0 - weight));
        Self { scheduler, weight, tshift, credit: idle_credit, idle_credit, seen: [Seen::default(); 2] }
    }

    /// Keeps the parameters of `self` and takes the credit and the statistics of `before`.
    pub const fn after(self, before: &Self) -> Self {
        Self { credit: before.credit, seen: before.seen, ..self }
    }

    /// Queues a packet in `list` if it fits.
    #[inline]
    pub fn enter(&mut self, list: ListId, packet: Packet, port: &mut Port, cx: &mut Cx) {
        port.admit(list, packet, Verdict::Accept, &mut Decided(Verdict::Accept), cx);
        self.seen[usize::from(list.0)].waiting = port.level(list).pkts();
    }

    /// The list to send from; `None` if both are empty.
    #[inline]
    pub fn pick(&mut self, port: &Port, now: Instant) -> Option<ListId> {
        match (port.is_empty(LOW), port.is_empty(CLASSIC)) {
            (true, true) => {
                self.credit = self.idle_credit;
                None
            }
            (false, true) => Some(LOW),
            (true, false) => Some(CLASSIC),
            (false, false) => {
                let low_first = match self.scheduler {
                    Scheduler::Wrr => self.credit <= 0.0,
                    Scheduler::TsFifo => age(port, LOW, now) + self.tshift >= age(port, CLASSIC, now),
                };
                Some(if low_first { LOW } else { CLASSIC })
            }
        }
    }

    /// Sends the head of `list`, unless `verdict` drops it. After a drop the caller must pick a list again.
    #[inline]
    pub fn send(&mut self, list: ListId, verdict: Verdict, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        if verdict != Verdict::Accept && self.drops(list, verdict, port, cx) {
            return None;
        }
        let sent = port.pop_judged(list, &mut Decided(verdict), cx)?;
        let seen = &mut self.seen[usize::from(list.0)];
        seen.waiting = port.level(list).pkts();
        seen.sent += u64::from(sent.len);
        seen.delay = cx.now.since(sent.arrived);
        self.sent(list, sent.len, port);
        Some(sent)
    }

    /// Drops the head of `list` if `verdict` requires it, and returns whether it did. Otherwise counts a mark, if any.
    fn drops(&mut self, list: ListId, verdict: Verdict, port: &mut Port, cx: &mut Cx) -> bool {
        let (marks, fresh) = port.head(list).map_or((false, false), |p| (port.marks(p), p.ecn != Ecn::Ce));
        let drops = verdict == Verdict::Drop || (verdict == Verdict::Signal && !marks);
        let of_list = &mut self.seen[usize::from(list.0)];
        if drops {
            port.drop_head(list, Reason::Early, &mut Decided(verdict), cx);
            of_list.waiting = port.level(list).pkts();
            of_list.dropped += 1;
        } else {
            of_list.marked += u64::from(verdict == Verdict::Signal && fresh);
        }
        drops
    }

    /// Updates the credit after `len` bytes of `list` were sent, but only if the other list holds packets.
    fn sent(&mut self, list: ListId, len: u32, port: &Port) {
        match list {
            LOW if !port.is_empty(CLASSIC) => self.credit += self.weight * f64::from(len),
            CLASSIC if !port.is_empty(LOW) => self.credit -= (1.0 - self.weight) * f64::from(len),
            _ => (),
        }
    }

    /// The statistics of `list`.
    pub const fn seen(&self, list: ListId) -> &Seen {
        &self.seen[list.0 as usize]
    }

    /// Credit of the Classic list, in bytes times a list's share of the link.
    pub const fn credit(&self) -> f64 {
        self.credit
    }
}

probes! { Priority {
    /// Packets in the C queue.
    waiting_c ["packets"] = |s| f64::from(s.seen(CLASSIC).waiting);
    /// Sojourn time of the packet that the C queue sent last.
    delay_c ["s"] = |s| s.seen(CLASSIC).delay.secs();
    /// Bytes that the C queue has sent.
    sent_c ["bytes"] = |s| s.seen(CLASSIC).sent as f64;
    /// Marks in the C queue.
    marked_c ["packets"] = |s| s.seen(CLASSIC).marked as f64;
    /// Drops of the C queue's AQM.
    dropped_c ["packets"] = |s| s.seen(CLASSIC).dropped as f64;
    /// Packets in the L queue.
    waiting_l ["packets"] = |s| f64::from(s.seen(LOW).waiting);
    /// Sojourn time of the packet that the L queue sent last.
    delay_l ["s"] = |s| s.seen(LOW).delay.secs();
    /// Bytes that the L queue has sent.
    sent_l ["bytes"] = |s| s.seen(LOW).sent as f64;
    /// Marks in the L queue.
    marked_l ["packets"] = |s| s.seen(LOW).marked as f64;
    /// Drops of the L queue's AQM.
    dropped_l ["packets"] = |s| s.seen(LOW).dropped as f64;
} }

/// Sojourn time so far of the head of `list`; zero if the list is empty.
pub fn age(port: &Port, list: ListId, now: Instant) -> Span {
    port.head(list).map_or(Span::ZERO, |packet| now.since(packet.arrived))
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::base::rng::Rng;
    use crate::base::units::{Limit, Link, Rate};
    use crate::testing::by_hand::ms as at;

    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(1000), mean_packet: Bytes(1000) };

    /// A port with packets of 1000 bytes. At time 100 ms the `classic` packets of the Classic list are 100 ms old, the
    /// `low` packets of the low-latency list 10 ms.
    fn port(classic: u32, low: u32) -> Port {
        let mut port = Port::new(LINK, 2, true);
        let mut rng = Rng::stream(1, "port");
        for n in 0..classic + low {
            let (list, arrived) = if n < classic { (CLASSIC, at(0)) } else { (LOW, at(90)) };
            let packet = Packet { slot: n, len: 1000, arrived, ecn: Ecn::Ect1, ..Packet::default() };
            let mut cx = Cx::new(arrived, &mut rng);
            port.admit(list, packet, Verdict::Accept, &mut Decided(Verdict::Accept), &mut cx);
        }
        port
    }

    /// Sends up to `n` packets. Returns their lists in order: `c` for Classic, `l` for low-latency.
    fn order(priority: &mut Priority, port: &mut Port, n: usize) -> String {
        let mut rng = Rng::stream(1, "order");
        let mut cx = Cx::new(at(100), &mut rng);
        let mut lists = String::new();
        for _ in 0..n {
            let Some(list) = priority.pick(port, cx.now) else { break };
            assert!(priority.send(list, Verdict::Accept, port, &mut cx).is_some());
            lists.push(if list == LOW { 'l' } else { 'c' });
        }
        lists
    }

    #[test]
    fn classic_weight_one_quarter_gets_every_fourth_packet() {
        // The credit starts at -500. Two L packets add 250 each: 0. The third makes it positive.
        let mut wrr = Priority::new(Scheduler::Wrr, 0.25, Span::ZERO, Bytes(1000));
        assert_eq!(order(&mut wrr, &mut port(10, 20), 12), "lllclllclllc");
        assert_eq!(wrr.credit(), -500.0);
    }

    #[test]
    fn sending_without_contention_keeps_credit_idling_resets_it() {
        let mut wrr = Priority::new(Scheduler::Wrr, 0.25, Span::ZERO, Bytes(1000));
        assert_eq!(order(&mut wrr, &mut port(0, 5), 5), "lllll");
        assert_eq!(order(&mut wrr, &mut port(5, 0), 5), "ccccc");
        assert_eq!(wrr.credit(), -500.0);
        wrr.credit = 750.0;
        assert_eq!(order(&mut wrr, &mut port(0, 0), 1), "");
        assert_eq!(wrr.credit(), -500.0);
    }

    #[test]
    fn time_shift_favours_the_low_latency_list() {
        // At 100 ms: Classic packets are 100 ms old, L packets 10 ms.
        let first = |tshift| {
            let mut fifo = Priority::new(Scheduler::TsFifo, 0.25, Span::from_millis(tshift), Bytes(1000));
            order(&mut fifo, &mut port(1, 1), 2)
        };
        assert_eq!([first(89), first(90), first(0)], ["cl", "lc", "cl"]);
    }

    #[test]
    fn drops_do_not_change_credit_and_marks_do() {
        let (mut port, mut rng) = (port(2, 2), Rng::stream(1, "drop"));
        let mut wrr = Priority::new(Scheduler::Wrr, 0.25, Span::ZERO, Bytes(1000));
        let mut cx = Cx::new(at(100), &mut rng);
        assert_eq!((wrr.send(LOW, Verdict::Drop, &mut port, &mut cx), wrr.credit()), (None, -500.0));
        assert_eq!((wrr.seen(LOW).waiting, wrr.seen(LOW).dropped), (1, 1));
        let sent = wrr.send(LOW, Verdict::Signal, &mut port, &mut cx);
        assert_eq!(sent.map(|packet| (packet.slot, packet.ecn)), Some((3, Ecn::Ce)));
        assert_eq!((wrr.credit(), port.discarded().len(), port.tally().marked.pkts), (-250.0, 1, 1));
        let low = Seen { waiting: 0, sent: 1000, marked: 1, dropped: 1, delay: Span::from_millis(10) };
        assert_eq!((wrr.seen(LOW), wrr.seen(CLASSIC)), (&low, &Seen::default()));
        let mut no_ecn = Port::new(LINK, 2, false);
        no_ecn.admit(CLASSIC, Packet::default(), Verdict::Accept, &mut Decided(Verdict::Accept), &mut cx);
        assert_eq!(wrr.send(CLASSIC, Verdict::Signal, &mut no_ecn, &mut cx), None, "a signal without ECN is a drop");
    }
}
