//! What an AQM says about a packet, and what then happens to it.

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The discipline chose to.
    Early,
    /// A marker in front of the discipline chose to: the buffer's doing, as an overflow is.
    Marker,
    /// The buffer was full.
    Overflow,
}

/// An AQM's opinion on one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it pass.
    Accept,
    /// Signal congestion: mark if the packet is ECT and ECN is on, else drop.
    Signal,
    /// Mark it if it is ECT, also where ECN is off; else let it pass.
    Mark,
    /// Drop it, ECN-capable or not.
    Drop,
}

/// What really happened to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Stored on arrival; with `marked`, CE was set first.
    Queued {
        /// CE was set.
        marked: bool,
    },
    /// Handed to the link; with `marked`, CE was set at that moment.
    Delivered {
        /// CE was set.
        marked: bool,
    },
    /// Discarded, on arrival or later.
    Dropped(Reason),
}

impl Fate {
    /// Dropped by the buffer, not by the rule: full, or guarded by a marker.
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
    use crate::base::host::Queue;
    use crate::base::ladder::Aqm;
    use crate::base::packet::{Ecn, Packet};
    use crate::base::port::Level;
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Link, Rate};

    /// The same opinion on every packet, at arrival and at departure.
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
    fn a_mark_needs_an_ect_packet_and_nothing_else() {
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
