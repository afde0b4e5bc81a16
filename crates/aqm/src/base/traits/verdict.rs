//! Verdicts of AQMs on packets (accept, signal, mark or drop), and fates of packets (queued, delivered or dropped).

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// By decision of the discipline.
    Early,
    /// By decision of a threshold marker in front of the discipline. The discipline handles it like an overflow drop.
    Marker,
    /// The buffer was full.
    Overflow,
}

/// An AQM's decision about one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Accept it unchanged.
    Accept,
    /// Signal congestion: mark if the packet is ECT and ECN is on, else drop.
    Signal,
    /// Mark it if it is ECT, even if ECN is off; otherwise accept it unchanged.
    Mark,
    /// Drop it, even if it is ECT.
    Drop,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Queued at arrival.
    Queued {
        /// Whether CE was set at arrival.
        marked: bool,
    },
    /// Passed to the link.
    Delivered {
        /// Whether CE was set at departure.
        marked: bool,
    },
    /// Dropped, at arrival or later.
    Dropped(Reason),
}

impl Fate {
    /// Whether the packet was dropped by the buffer (overflow) or a threshold marker, not by the discipline.
    #[inline]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::Dropped(Reason::Overflow | Reason::Marker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::cx::Cx;
    use crate::base::discipline::Aqm;
    use crate::base::host::Queue;
    use crate::base::packet::{Ecn, Packet};
    use crate::base::port::Level;
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Link, Rate};

    /// Fixed verdicts for every packet, at arrival and at departure.
    struct Says([Verdict; 2]);
    impl Aqm for Says {
        fn arrival(&mut self, _: &Packet, _: &Level, _: &mut Cx) -> Verdict {
            self.0[0]
        }
        fn departure(&mut self, _: &Packet, _: &Level, _: &mut Cx) -> Verdict {
            self.0[1]
        }
    }

    #[test]
    fn mark_verdict_marks_ect_with_ecn_off() {
        let link = Link { rate: Rate(1_000_000), limit: Limit::Packets(1), mean_packet: Bytes(1000) };
        for (says, on) in [
            ([Verdict::Mark, Verdict::Accept], false),
            ([Verdict::Mark, Verdict::Accept], true),
            ([Verdict::Accept, Verdict::Mark], false),
            ([Verdict::Accept, Verdict::Mark], true),
        ] {
            let mut queue = Queue::new(Fifo::new(Says(says)), link, on, Rng::stream(1, "queue"));
            for (ecn, leaves) in [(Ecn::Ect0, Ecn::Ce), (Ecn::NotEct, Ecn::NotEct), (Ecn::Ect1, Ecn::Ce)] {
                queue.arrive(Packet { len: 1000, ecn, ..Packet::default() }, Instant::ZERO);
                assert_eq!(queue.depart(Instant::ZERO).map(|packet| packet.ecn), Some(leaves));
            }
            assert_eq!((queue.port.tally().marked.pkts, queue.port.tally().dropped_early.pkts), (2, 0));
        }
        let mut full = Queue::new(Fifo::new(Says([Verdict::Mark; 2])), link, true, Rng::stream(1, "queue"));
        (0..2).for_each(|_| full.arrive(Packet { len: 1000, ecn: Ecn::Ect0, ..Packet::default() }, Instant::ZERO));
        assert_eq!((full.port.tally().marked.pkts, full.port.tally().dropped_overflow.pkts), (1, 1));
    }
}
