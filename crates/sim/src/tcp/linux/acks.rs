//! The acknowledgements of a Linux receiver: at the start and while the receive window grows one for each packet, at once;
//! later one for every second packet, or after a delay that adapts to the time between packets. A packet that arrives twice
//! is reported. While a packet is missing, the first three acknowledgements are sent at once; after that acknowledgements
//! are compressed (`tcp_comp_sack_*`): one is sent for all packets that arrive within a twentieth of a round trip, at most
//! 1 ms.
//!
//! Left out: aggregation by the network card (GRO). In place of its retransmission timeout the receiver uses the smallest
//! one; in place of the round trip of its handshake, the first that the sender measures.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};

use super::super::TcpOptions;
use super::super::reports::Block;

/// Acknowledgements sent at once at the start, after a pause and after a duplicate (`TCP_MAX_QUICKACKS`).
const QUICK: u32 = 16;
/// Acknowledgements sent at once after a sign of congestion.
const FEW: u32 = 2;
/// Shortest delay (`TCP_ATO_MIN`).
const MIN_DELAY: Span = Span::from_millis(40);
/// Longest delay (`TCP_DELACK_MAX`).
const MAX_DELAY: Span = Span::from_millis(200);

/// By how many packets the receive window can grow in a scenario without `window`. The receive buffer has 16 MiB. The window
/// is at first 128/256 of the buffer, 5793 packets of 1448 bytes. It grows to 158/256 of the buffer, because each such packet
/// needs 2346 bytes of memory.
const ROOM: u32 = 5793 * (2 * 158 - 256) / 256;
/// In a scenario with `window`: the part of the first window by which the receive window can grow, numerator and denominator.
/// The buffer has four windows, as that of a socket in `run --on linux`.
const GROWTH: (u64, u64) = (4 * 158 - 256, 256);
/// Packets by which the receive window grows with each packet that arrives.
const STEP: u32 = 2;

/// Acknowledgements for the same missing packet that are sent at once (`TCP_FASTRETRANS_THRESH`).
const REPEATED: u32 = 3;
/// A compressed acknowledgement stands for at most this number of packets (`tcp_comp_sack_nr`).
const COMPRESSED: u32 = 44;
/// The delay of a compressed acknowledgement is the round trip divided by this number.
const COMPRESSED_PART: u64 = 20;
/// Largest delay of a compressed acknowledgement (`tcp_comp_sack_delay_ns`).
const COMPRESSED_DELAY: Span = Span::from_millis(1);
/// Linux may run the timer later than the delay, by at most this time (`tcp_comp_sack_slack_ns`). Here it always runs this
/// much later.
const COMPRESSED_SLACK: Span = Span::from_micros(100);

/// State of the acknowledgements.
#[derive(Clone, Debug)]
pub(in super::super) struct Acks {
    /// Acknowledgements to send at once, and the most that may be.
    quick: u32,
    most: u32,
    /// Packets by which the receive window can grow.
    room: u32,
    /// Delay of an acknowledgement (`ato`).
    delay: Span,
    /// A pause of the data longer than this starts quick acknowledgements.
    pause: Span,
    /// When data arrived in order last.
    arrived: Option<Instant>,
    /// The number of the latest acknowledgement.
    acknowledged: u32,
    /// The stamp of the packet that advanced it; the other packets that it covers have none (RFC 7323 section 4.3).
    stamp: u8,
    duplicate: Option<Block>,
    /// An ECN-capable packet has arrived.
    capable: bool,
    /// The missing packet for which acknowledgements were repeated, and how often.
    missing: u32,
    repeated: u32,
    /// Packets whose acknowledgement waits, and when it is due.
    compressed: u32,
    due: Instant,
    /// Round trip of the handshake.
    round_trip: Option<Span>,
}

impl Acks {
    pub(in super::super) fn new(options: &TcpOptions) -> Self {
        Self {
            quick: 0,
            most: options.window.map_or(QUICK, |window| (window / 2).clamp(FEW, QUICK)),
            room: options.window.map_or(ROOM, |window| (u64::from(window) * GROWTH.0 / GROWTH.1) as u32),
            delay: MIN_DELAY,
            pause: options.min_rto,
            arrived: None,
            acknowledged: 0,
            stamp: 0,
            duplicate: None,
            capable: false,
            missing: 0,
            repeated: 0,
            compressed: 0,
            due: Instant::ZERO,
            round_trip: None,
        }
    }

    /// A new connection begins.
    pub(in super::super) fn renew(&mut self, options: &TcpOptions) {
        let (acknowledged, stamp) = (self.acknowledged, self.stamp);
        *self = Self { acknowledged, stamp, ..Self::new(options) };
    }

    /// The number of the latest acknowledgement.
    pub(in super::super) const fn acknowledged(&self) -> u32 {
        self.acknowledged
    }

    /// Is the next acknowledgement sent at once?
    pub(in super::super) const fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// For how long an acknowledgement is delayed.
    pub(in super::super) fn delay(&self) -> Span {
        self.delay.min(MAX_DELAY)
    }

    fn quicken(&mut self, count: u32) {
        self.quick = self.quick.max(count.min(self.most));
    }

    /// Packet `seq` has arrived in order (`tcp_event_data_recv`).
    pub(in super::super) fn arrives(&mut self, now: Instant, seq: u32, stamp: u8) {
        if seq == self.acknowledged {
            self.stamp = stamp;
        }
        let half = Span::from_nanos(self.delay.nanos() / 2);
        match self.arrived.replace(now).map(|before| now.since(before)) {
            None => self.quicken(QUICK),
            Some(gap) if gap.nanos() <= MIN_DELAY.nanos() / 2 => {
                self.delay = half + Span::from_nanos(MIN_DELAY.nanos() / 2);
            }
            Some(gap) if gap < self.delay => self.delay = (half + gap).min(self.pause).min(MAX_DELAY),
            Some(gap) if gap > self.pause => self.quicken(QUICK),
            Some(_) => {}
        }
    }

    /// A new packet has arrived, in order or not, and the receive window grows (`tcp_grow_window`). `early`: number of
    /// packets that had arrived out of order before; they occupy the buffer.
    pub(in super::super) fn grow(&mut self, early: u32) {
        if self.room > early {
            self.room -= STEP.min(self.room - early);
            self.quick |= 1;
        }
    }

    #[cfg(test)]
    pub(in super::super) const fn room(&self) -> u32 {
        self.room
    }

    /// Packet `seq` has arrived twice. `old`: it was acknowledged.
    pub(in super::super) fn arrives_twice(&mut self, seq: u32, old: bool) {
        self.duplicate = Some(Block { start: seq, end: seq + 1 });
        if old {
            self.quicken(QUICK);
            self.delay = MIN_DELAY;
        }
    }

    /// The sender has measured a round trip. The first counts.
    pub(in super::super) fn note_round_trip(&mut self, rtt: Span) {
        self.round_trip.get_or_insert(rtt);
    }

    /// Does the acknowledgement of an earlier packet wait while a packet is missing?
    pub(in super::super) const fn is_compressed(&self) -> bool {
        self.compressed > 0
    }

    /// Packet `next` is missing, and a later packet has arrived (`__tcp_ack_snd_check`). Returns when the acknowledgement must
    /// be sent; `None`: now.
    pub(in super::super) fn compress(&mut self, now: Instant, next: u32) -> Option<Instant> {
        if self.compressed == COMPRESSED {
            return None;
        }
        if self.missing != next {
            (self.missing, self.repeated) = (next, 0);
        }
        if self.repeated < REPEATED {
            self.repeated += 1;
            return None;
        }
        if self.compressed == 0 {
            let part = self.round_trip.map_or(0, |rtt| rtt.nanos() / COMPRESSED_PART);
            self.due = now + Span::from_nanos(part).min(COMPRESSED_DELAY) + COMPRESSED_SLACK;
        }
        self.compressed += 1;
        Some(self.due)
    }

    /// Notes the codepoint of a packet. `first`: no mark is being echoed. A packet without ECT after others with ECT is
    /// probably a retransmission.
    pub(in super::super) fn note_ecn(&mut self, ecn: Ecn, first: bool) {
        let urgent = match ecn {
            Ecn::NotEct => self.capable,
            Ecn::Ce => first,
            Ecn::Ect0 | Ecn::Ect1 => false,
        };
        self.capable |= ecn != Ecn::NotEct;
        if urgent {
            self.quicken(FEW);
            self.delay = MIN_DELAY;
        }
    }

    /// The timer of an acknowledgement has expired. If it was delayed, not compressed, the next delay is longer.
    pub(in super::super) fn waited(&mut self) {
        if !self.is_compressed() {
            self.delay = (self.delay * 2).min(self.pause).min(MAX_DELAY);
        }
    }

    /// An acknowledgement is sent that expects packet `next`. Returns its stamp, and the packet that has arrived twice.
    pub(in super::super) fn send(&mut self, next: u32) -> (u8, Option<Block>) {
        self.acknowledged = next;
        self.compressed = 0;
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = MIN_DELAY;
            }
        }
        (self.stamp, self.duplicate.take())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::receiver::{Ack, Data, Receiver};
    use super::super::super::{Stack, Variant};
    use super::*;

    /// Options with a receive window of `window` packets.
    fn options(window: u32) -> TcpOptions {
        TcpOptions { window: Some(window), ..TcpOptions::of(Variant::LINUX, Some(Stack::Linux)) }
    }

    /// Which of `count` packets from `first` are acknowledged at once. They arrive in order, 5 ms apart.
    fn acknowledged(receiver: &mut Receiver, first: u32, count: u32) -> Vec<bool> {
        (first..first + count).map(|seq| arrive(receiver, seq, 5000 * u64::from(seq)).is_some()).collect()
    }

    /// A window of 8 packets can grow by 8 * 376/256, rounded down to 11, so with the first 6 packets. The next 4 packets, half
    /// of the window, are acknowledged at once, of the others every second one. So again in a new connection.
    #[test]
    fn every_connection_begins_with_quick_acknowledgements() {
        let mut receiver = Receiver::new(&options(8));
        for connection in 0..3 {
            let sent = acknowledged(&mut receiver, 20 * connection, 20);
            assert_eq!(sent, [[true; 10].as_slice(), &[false, true].repeat(5)].concat(), "{connection}");
            receiver.renew(&options(8));
        }
    }

    /// Without a limit the window grows by 5793 * 60/256 = 1357 packets, with 679 packets that arrive. The 16 acknowledgements
    /// of the start remain.
    #[test]
    fn packets_are_acknowledged_while_window_grows() {
        let mut receiver = Receiver::new(&TcpOptions::of(Variant::LINUX, Some(Stack::Linux)));
        assert!(acknowledged(&mut receiver, 0, 679 + 16).iter().all(|sent| *sent));
        assert_eq!(acknowledged(&mut receiver, 679 + 16, 4), [false, true, false, true]);
    }

    /// A window of 6 packets can grow by 8. A packet is lost. The next packets find 0, 1, 2 and 3 that wait; a packet that
    /// arrives twice changes nothing.
    #[test]
    fn packets_that_wait_occupy_the_room_of_the_window() {
        let mut receiver = Receiver::new(&options(6));
        let mut room = |seq| {
            arrive(&mut receiver, seq, 0);
            receiver.room()
        };
        assert_eq!([1, 2, 2, 3, 4, 5].map(&mut room), [6, 4, 4, 2, 2, 2]);
    }

    /// When the packets after the first 40 arrive, µs.
    const LATER: u64 = 200_000;

    /// A receiver that has 40 packets, and the number of the next packet. The round trip is 10 ms, so the
    /// delay of a compressed acknowledgement is 0.5 ms plus the 0.1 ms by which the timer is late.
    fn receiver() -> (Receiver, u32) {
        let mut receiver = Receiver::new(&options(32));
        receiver.note_round_trip(Span::from_millis(10));
        receiver.note_round_trip(Span::from_millis(70));
        acknowledged(&mut receiver, 0, 40);
        (receiver, 40)
    }

    /// Packet `seq` arrives at `us`, µs. Returns the acknowledgement.
    fn arrive(receiver: &mut Receiver, seq: u32, us: u64) -> Option<Ack> {
        receiver.on_data(
            Instant::ZERO + Span::from_micros(us),
            Data { seq, ecn: Ecn::NotEct, cwr: false, stamp: 0, push: false, delay: Span::ZERO },
        )
    }

    /// The blocks of an acknowledgement, as pairs.
    fn blocks(receiver: &Receiver, ack: Ack) -> Vec<(u32, u32)> {
        receiver.blocks(ack).iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn acknowledgements_after_three_of_a_loss_are_compressed() {
        let (mut receiver, lost) = receiver();
        let sent: Vec<bool> =
            (0..8).map(|at| arrive(&mut receiver, lost + 1 + at, LATER + 100 * u64::from(at)).is_some()).collect();
        assert_eq!(sent, [true, true, true, false, false, false, false, false]);
        let due = Instant::ZERO + Span::from_micros(LATER + 300 + 600);
        assert_eq!(receiver.deadline(), Some(due), "the first of them counts");
        let ack = receiver.ack();
        assert_eq!((ack.next, blocks(&receiver, ack)), (lost, vec![(lost + 1, lost + 9)]));
        assert_eq!(receiver.deadline(), None);
        // At most 44 wait for one.
        let sent: Vec<u64> =
            (0..100).filter(|at| arrive(&mut receiver, lost + 9 + *at as u32, LATER + 900 + at).is_some()).collect();
        assert_eq!(sent, [44, 89]);
        // The lost packet arrives; the next packet after it is lost again.
        assert_eq!(arrive(&mut receiver, lost, LATER + 2000).unwrap().next, lost + 109);
        assert_eq!(receiver.deadline(), None);
        assert!((0..3).all(|at| arrive(&mut receiver, lost + 110 + at, LATER + 2100).is_some()));
        assert!(arrive(&mut receiver, lost + 113, LATER + 2200).is_none());
    }

    #[test]
    fn compressed_acknowledgement_is_sent_before_a_third_run() {
        let (mut receiver, lost) = receiver();
        for at in 1..=4 {
            arrive(&mut receiver, lost + at, LATER);
        }
        assert!(arrive(&mut receiver, lost + 6, LATER + 100).is_none(), "a second run");
        let ack = arrive(&mut receiver, lost + 8, LATER + 200).unwrap();
        assert_eq!(blocks(&receiver, ack), [(lost + 6, lost + 7), (lost + 1, lost + 5)]);
        assert!(receiver.deadline().is_some(), "the packet itself waits");
        assert!(arrive(&mut receiver, lost + 9, LATER + 300).is_none());
        let ack = receiver.ack();
        assert_eq!(blocks(&receiver, ack), [(lost + 8, lost + 10), (lost + 6, lost + 7), (lost + 1, lost + 5)]);
    }
}
