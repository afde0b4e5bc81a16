//! The acknowledgements of a Linux receiver: the first ones at once, then every second packet, or after a delay that adapts
//! to the time between packets. A packet that arrives twice is reported.
//!
//! Left out: compressed SACKs, and aggregation by the network card (GRO). The receiver does not know its round trip; in place
//! of its retransmission timeout it uses the smallest one.

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

/// State of the acknowledgements.
#[derive(Clone, Debug)]
pub(in super::super) struct Acks {
    /// Acknowledgements to send at once, and the most that may be.
    quick: u32,
    most: u32,
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
}

impl Acks {
    pub(in super::super) fn new(options: &TcpOptions) -> Self {
        Self {
            quick: 0,
            most: options.window.map_or(QUICK, |window| (window / 2).clamp(FEW, QUICK)),
            delay: MIN_DELAY,
            pause: options.min_rto,
            arrived: None,
            acknowledged: 0,
            stamp: 0,
            duplicate: None,
            capable: false,
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

    /// Packet `seq` has arrived twice. `old`: it was acknowledged.
    pub(in super::super) fn arrives_twice(&mut self, seq: u32, old: bool) {
        self.duplicate = Some(Block { start: seq, end: seq + 1 });
        if old {
            self.quicken(QUICK);
            self.delay = MIN_DELAY;
        }
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

    /// The timer of a delayed acknowledgement has expired: the next delay is longer.
    pub(in super::super) fn waited(&mut self) {
        self.delay = (self.delay * 2).min(self.pause).min(MAX_DELAY);
    }

    /// An acknowledgement is sent that expects packet `next`. Returns its stamp, and the packet that has arrived twice.
    pub(in super::super) fn send(&mut self, next: u32) -> (u8, Option<Block>) {
        self.acknowledged = next;
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
    use super::super::super::receiver::{Data, Receiver};
    use super::super::super::{Stack, Variant};
    use super::*;

    /// 16 of the first 20 packets are acknowledged at once, of the others every second one. So again in a new connection, 5 ms
    /// later.
    #[test]
    fn every_connection_begins_with_quick_acknowledgements() {
        let options = TcpOptions::of(Variant::LINUX, Some(Stack::Linux));
        let mut receiver = Receiver::new(&options);
        let mut now = Instant::ZERO;
        for connection in 0..3 {
            let mut answered = |seq| {
                now += Span::from_millis(5);
                let data = Data { seq, ecn: Ecn::NotEct, cwr: false, stamp: 0 };
                receiver.on_data(now, data).is_some()
            };
            let all: Vec<bool> = (0..20).map(|seq| answered(20 * connection + seq)).collect();
            assert_eq!(all, [[true; 16].as_slice(), &[false, true, false, true]].concat(), "{connection}");
            receiver.renew(&options);
        }
    }
}
