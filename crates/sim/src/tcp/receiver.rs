//! The receiving end of a TCP connection: cumulative and selective acknowledgements, reordering, ECN echo.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};

use super::accecn::{Accurate, Echoes};
use super::bits::BitRing;
use super::congestion::Echo;
use super::linux::Acks;
use super::reports::{Block, Blocks, Reports};
use super::sender::Send;
use super::{AccEcn, Stack, TcpOptions};

/// A data packet that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// Number of the packet in the connection.
    pub seq: u32,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Congestion Window Reduced flag.
    pub cwr: bool,
    /// Its stamp ([`Send::stamp`]).
    pub stamp: u8,
    /// The flag PSH ([`Send::push`]).
    pub push: bool,
    /// Time since it was sent.
    pub delay: Span,
}

impl Data {
    /// The packet `send` as it arrives with the codepoint `ecn`, `delay` after it was sent.
    pub const fn of(send: Send, ecn: Ecn, delay: Span) -> Self {
        Self { seq: send.seq, ecn, cwr: send.cwr, stamp: send.stamp, push: send.push, delay }
    }
}

/// One acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// The next packet number expected.
    pub next: u32,
    /// ECN-Echo (RFC 3168 section 6.1.3; for DCTCP RFC 8257 section 3.2).
    pub ece: bool,
    /// AccECN feedback, which replaces ECN-Echo, and the stamp of the packet that advanced `next`; or the one-way delay of
    /// the latest packet.
    pub echoes: Echoes,
    /// Does it carry selective blocks? [`Receiver::blocks`] returns them until the next acknowledgement.
    pub is_selective: bool,
}

/// State of a receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    next: u32,
    held: u32,
    /// Packets beyond `next` that have arrived, one bit each; empty while everything is in order.
    early: BitRing,
    delayed: bool,
    /// Longest time to delay an acknowledgement.
    delay: Span,
    /// True for DCTCP: ECN-Echo is the CE mark of the latest packet. False: ECN-Echo stays set until CWR arrives.
    each_packet: bool,
    accecn: AccEcn,
    /// Whether acknowledgements have [`Echoes`]: AccECN, the Linux stack or delays.
    has_echoes: bool,
    /// The one-way delay of the latest packet, if acknowledgements report it.
    transit: Option<Span>,
    /// True without [`Echoes`] and DCTCP's echo, as in most receivers.
    is_plain: bool,
    /// With AccECN: number of packets that arrived with CE, and whether the latest one did.
    marked: u32,
    last_ce: bool,
    ece: bool,
    /// True if the packet whose acknowledgement is delayed has a CE mark.
    held_ce: bool,
    deadline: Option<Instant>,
    reports: Option<Box<Reports>>,
    /// State of the Linux stack.
    linux: Option<Box<Acks>>,
}

impl Receiver {
    /// A receiver that has received nothing yet.
    pub fn new(options: &TcpOptions) -> Self {
        let profile = options.variant.profile();
        let each_packet = profile.echo == Echo::EachPacket && options.accecn == AccEcn::Off;
        let has_feedback = options.accurate() != AccEcn::Off || options.stack() == Stack::Linux;
        let reports_delay = profile.reports_delay && !has_feedback;
        let has_echoes = has_feedback || reports_delay;
        Self {
            delayed: options.delayed_ack,
            delay: profile.ack_delay,
            each_packet,
            accecn: options.accurate(),
            has_echoes,
            transit: reports_delay.then_some(Span::ZERO),
            is_plain: !each_packet && !has_echoes,
            linux: (options.stack() == Stack::Linux).then(|| Box::new(Acks::new(options))),
            reports: options.is_selective().then(Box::default),
            ..Self::default()
        }
    }

    /// A new connection with the same peer begins, after everything sent has arrived and is acknowledged. Packet numbers go on.
    /// Only the Linux stack has state of a connection: it acknowledges the first packets at once.
    pub fn renew(&mut self, options: &TcpOptions) {
        if let Some(linux) = &mut self.linux {
            linux.renew(options);
        }
    }

    /// Number of packets received in order.
    pub const fn in_order(&self) -> u32 {
        self.next
    }

    /// Number of distinct packets received, in order or not.
    pub const fn received(&self) -> u32 {
        self.next + self.early.len()
    }

    /// Call before [`on_data`](Self::on_data) with the ECN codepoint of the arriving packet. Returns the delayed
    /// acknowledgement if it must be sent first.
    ///
    /// RFC 8257 section 3.2: ECN-Echo describes the packets acknowledged. The delayed acknowledgement is therefore sent
    /// when an unmarked packet follows a marked one or the reverse.
    #[inline]
    pub fn before_data(&mut self, ecn: Ecn) -> Option<Ack> {
        let changes = self.each_packet && (ecn == Ecn::Ce) != self.ece;
        (changes && self.held > 0).then(|| self.answer())
    }

    /// A packet has arrived. Returns the acknowledgement to send at once, if any.
    #[inline]
    pub fn on_data(&mut self, now: Instant, data: Data) -> Option<Ack> {
        if !self.is_plain {
            return self.on_data_unless_plain(now, data);
        }
        let changed = self.note_mark(data.ecn, data.cwr, false);
        self.take_or_hold(now, data, changed).then(|| {
            self.forget_held();
            self.plain_answer()
        })
    }

    /// As [`on_data`](Self::on_data), with AccECN or delays, for DCTCP, or in the Linux stack.
    #[inline(never)]
    fn on_data_unless_plain(&mut self, now: Instant, data: Data) -> Option<Ack> {
        if self.linux.is_some() {
            return self.on_linux_data(now, data);
        }
        if let Some(transit) = &mut self.transit {
            *transit = data.delay;
        }
        let changed = self.note_ecn(data.ecn, data.cwr);
        self.take_or_hold(now, data, changed).then(|| self.answer())
    }

    /// Takes a packet. Returns whether it must be acknowledged now; if not, its acknowledgement is delayed. `changed`: its
    /// codepoint must be reported at once.
    #[inline(always)]
    fn take_or_hold(&mut self, now: Instant, data: Data, changed: bool) -> bool {
        let in_order = data.seq == self.next;
        let filled_a_gap = in_order && !self.early.is_empty();
        self.take(data.seq);
        let holds = self.delayed && in_order && !filled_a_gap && !changed && self.held == 0;
        if holds {
            self.hold(data.ecn, now + self.delay);
        }
        !holds
    }

    /// As [`on_data`](Self::on_data), in the Linux stack: a packet that arrives twice is reported (RFC 2883), and Linux
    /// decides which acknowledgement to delay.
    #[cold]
    #[inline(never)]
    fn on_linux_data(&mut self, now: Instant, data: Data) -> Option<Ack> {
        let Data { seq, ecn, cwr, stamp, push, .. } = data;
        let echoed = self.ece;
        let changed = self.note_ecn(ecn, cwr);
        let in_order = seq == self.next;
        let early = self.early.len();
        let was_early = early > 0;
        let twice = seq < self.next || (was_early && self.early.has(self.next, seq));
        // If this packet changes a third run, the compressed acknowledgement is sent first (`tcp_sack_compress_send_ack`).
        // Otherwise later packets could push one of the two other runs out of its three blocks.
        let is_compressed = self.linux.as_ref().is_some_and(|linux| linux.is_compressed());
        let reports = self.reports.as_ref().filter(|_| is_compressed && seq > self.next);
        let before =
            reports.is_some_and(|reports| !reports.is_recent(self.next, seq, &self.early)).then(|| self.answer());
        self.take(seq);
        let linux = self.linux.as_mut()?;
        if in_order {
            linux.arrives(now, seq, stamp);
        }
        if twice {
            linux.arrives_twice(seq, seq < self.next);
        } else {
            linux.grow(early);
        }
        linux.note_ecn(ecn, !echoed);
        let outstanding = self.next - linux.acknowledged();
        let is_missing = !self.early.is_empty();
        let filled = in_order && was_early && !is_missing;
        // The application reads at once what is in order; after PSH this sends the acknowledgement (`tcp_cleanup_rbuf`).
        let pushed = push && in_order && !was_early;
        if !self.delayed || filled || pushed || changed || cwr || outstanding > 1 || linux.is_quick() {
            return Some(self.answer());
        }
        if !is_missing {
            let delay = linux.delay();
            self.hold(ecn, now + delay);
            return None;
        }
        let is_selective = self.reports.is_some();
        self.deadline = linux.compress(now, self.next).filter(|_| is_selective);
        match self.deadline {
            Some(_) => before,
            None => Some(self.answer()),
        }
    }

    /// Packet `seq` has arrived: in order, out of order or again.
    #[inline(always)]
    fn take(&mut self, seq: u32) {
        if seq == self.next {
            self.next += 1;
            self.next += self.early.take_run(self.next);
        } else if seq > self.next {
            self.early.insert(self.next, seq);
            if let Some(reports) = &mut self.reports {
                reports.note(self.next, seq, &self.early);
            }
        }
    }

    /// Delays the acknowledgement of a packet.
    #[inline]
    fn hold(&mut self, ecn: Ecn, until: Instant) {
        self.held = 1;
        self.held_ce = ecn == Ecn::Ce;
        self.deadline = Some(until);
    }

    /// Notes the codepoint of a packet that has arrived. Returns whether it must be acknowledged at once.
    #[inline]
    fn note_ecn(&mut self, ecn: Ecn, cwr: bool) -> bool {
        match self.accecn {
            AccEcn::Off => self.note_mark(ecn, cwr, self.each_packet),
            AccEcn::Field | AccEcn::Option => self.count_mark(ecn),
        }
    }

    /// Sets ECN-Echo for a packet that has arrived. Returns whether it must be acknowledged at once. `each`: ECN-Echo is the
    /// mark of this packet.
    #[inline(always)]
    fn note_mark(&mut self, ecn: Ecn, cwr: bool, each: bool) -> bool {
        let changed = each && (ecn == Ecn::Ce) != self.ece;
        if cwr || each {
            // CWR acknowledges earlier echoes, not the mark on the packet with the delayed acknowledgement.
            self.ece = self.held_ce && !each;
        }
        if ecn == Ecn::Ce {
            self.ece = true;
        }
        changed
    }

    /// AccECN: counts the mark of a packet that has arrived. Returns whether it must be acknowledged at once. RFC 9768
    /// section 3.2.2.5.1: if a marked packet follows an unmarked one; in Linux also the reverse.
    fn count_mark(&mut self, ecn: Ecn) -> bool {
        let marked = ecn == Ecn::Ce;
        self.marked = self.marked.wrapping_add(u32::from(marked));
        core::mem::replace(&mut self.last_ce, marked) != marked
    }

    /// The sender has measured a round trip. The Linux stack derives the delay of compressed acknowledgements from it.
    #[inline]
    pub fn note_round_trip(&mut self, rtt: Span) {
        if let Some(linux) = &mut self.linux {
            linux.note_round_trip(rtt);
        }
    }

    /// Packets by which the receive window of the Linux stack can grow.
    #[cfg(test)]
    pub(super) fn room(&self) -> u32 {
        self.linux.as_ref().map_or(0, |linux| linux.room())
    }

    /// When the delayed acknowledgement is due.
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The delayed acknowledgement, which is due.
    pub fn ack(&mut self) -> Ack {
        if let Some(linux) = &mut self.linux {
            linux.waited();
        }
        self.answer()
    }

    /// The application has read the end of a write. Returns the delayed acknowledgement if it must be sent now: in the Linux
    /// stack, because the end of a write has the flag PSH (`tcp_cleanup_rbuf`).
    pub(crate) fn end_of_write(&mut self) -> Option<Ack> {
        (self.linux.is_some() && self.held > 0).then(|| self.answer())
    }

    /// The current acknowledgement; cancels a delayed one.
    #[inline]
    fn answer(&mut self) -> Ack {
        self.forget_held();
        if self.has_echoes { self.answer_with_echoes() } else { self.plain_answer() }
    }

    /// Cancels a delayed acknowledgement.
    #[inline(always)]
    fn forget_held(&mut self) {
        (self.held, self.held_ce) = (0, false);
        self.deadline = None;
    }

    /// The current acknowledgement without [`Echoes`].
    #[inline(always)]
    fn plain_answer(&mut self) -> Ack {
        let is_selective = self.reports.is_some() && self.choose_blocks(None);
        Ack { next: self.next, ece: self.ece, echoes: Echoes::default(), is_selective }
    }

    #[inline(never)]
    fn answer_with_echoes(&mut self) -> Ack {
        let (stamp, duplicate) = match &mut self.linux {
            Some(linux) => linux.send(self.next),
            None => (0, None),
        };
        let is_selective = self.choose_blocks(duplicate);
        let accurate = match self.accecn {
            AccEcn::Off => None,
            AccEcn::Field => Some(Accurate::new(self.marked, false)),
            AccEcn::Option => Some(Accurate::new(self.marked, true)),
        };
        let echoes = self.transit.map_or_else(|| Echoes::new(accurate, stamp), Echoes::of_delay);
        Ack { next: self.next, ece: self.ece, echoes, is_selective }
    }

    /// Chooses the selective blocks of an acknowledgement; `duplicate`: a packet that arrived twice. Returns whether there
    /// are any.
    #[inline(never)]
    fn choose_blocks(&mut self, duplicate: Option<Block>) -> bool {
        match &mut self.reports {
            Some(reports) if !self.early.is_empty() || duplicate.is_some() => {
                reports.choose(self.next, &self.early, duplicate)
            }
            _ => false,
        }
    }

    /// The selective blocks of `ack`, which must be the latest acknowledgement.
    #[inline]
    pub fn blocks(&self, ack: Ack) -> Blocks {
        // Fast path: most acknowledgements have no blocks and need no access to the receiver's reports.
        match &self.reports {
            Some(reports) if ack.is_selective => reports.last(),
            _ => Blocks::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn arrive(r: &mut Receiver, seq: u32) -> Option<Ack> {
        r.on_data(Instant::ZERO, Data { seq, ecn: Ecn::NotEct, cwr: false, stamp: 0, push: false, delay: Span::ZERO })
    }

    fn selective() -> Receiver {
        Receiver::new(&TcpOptions { variant: crate::tcp::Variant::SACK, ..TcpOptions::default() })
    }

    /// The runs of consecutive packets in `seen` beyond `next`.
    fn runs(seen: &BTreeSet<u32>, next: u32) -> Vec<Block> {
        let mut runs: Vec<Block> = Vec::new();
        for &seq in seen.range(next..) {
            match runs.last_mut() {
                Some(run) if run.end == seq => run.end += 1,
                _ => runs.push(Block { start: seq, end: seq + 1 }),
            }
        }
        runs
    }

    proptest! {
        #[test]
        fn acks_and_sack_blocks_match_received_packet_set(seqs in prop::collection::vec(0u32..700, 1..600)) {
            let mut r = selective();
            let (mut seen, mut changed) = (BTreeSet::new(), Vec::new());
            for seq in seqs {
                seen.insert(seq);
                changed.push(seq);
                let next = (0..).find(|s| !seen.contains(s)).unwrap();
                let ack = arrive(&mut r, seq).unwrap();
                prop_assert_eq!(ack.next, next);

                let open = runs(&seen, next);
                let mut wanted: Vec<Block> = Vec::new();
                for seq in changed.iter().rev() {
                    let run = open.iter().find(|run| (run.start..run.end).contains(seq));
                    wanted.extend(run.filter(|run| !wanted.contains(run)));
                }
                wanted.truncate(3);
                prop_assert_eq!(&*r.blocks(ack), wanted.as_slice());
            }
        }
    }
}
