//! A load on markers for benchmarks, like [`churn`](super::churn) for disciplines. The markers are the threshold marker
//! in front of drop-tail, and the token bucket that colours packets IN or OUT. The caller measures the time.

use alloc::boxed::Box;

use super::churn::Churn;
use crate::base::host::Queue;
use crate::base::markers::MarkerEntry;
use crate::base::packet::Colour;
use crate::base::rng::Rng;
use crate::base::time::Instant;
use crate::base::units::{Bytes, Rate};
use crate::parts::token_bucket::TokenBucket;
use crate::{AnyDiscipline, Spec};

/// The threshold marker in front of drop-tail. The load keeps the buffer half full, where the signal probability is
/// 1/3.
const FRONT: &str = "droptail th=0.25";
/// Rate of the token bucket's profile; the load is 10 Mb/s.
const CIR: Rate = Rate(6_000_000);
/// Burst of the token bucket's profile: eight packets.
const CBS: Bytes = Bytes(8 * Churn::LENGTH as u64);

/// A marker under load.
pub struct Marked(Kind);

enum Kind {
    Front(Box<Queue<AnyDiscipline>>, Churn),
    Edge(Edge),
}

/// A token bucket alone, with one packet per packet time.
struct Edge {
    bucket: TokenBucket,
    now: Instant,
    offered: u64,
    out: u64,
}

/// Fractions of the offered packets, 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Dropped packets.
    pub dropped: f64,
    /// Marked packets.
    pub marked: f64,
    /// Packets coloured OUT.
    pub out: f64,
}

impl Marked {
    /// Puts `marker` under a load that exceeds its threshold or profile. `None` if no load is defined for this marker.
    pub fn of(marker: &MarkerEntry) -> Option<Self> {
        match marker.name {
            "th" => {
                let queue = Spec::parse(FRONT).ok()?.queue(Churn::LINK, Rng::stream(1, marker.name));
                Some(Self(Kind::Front(Box::new(queue), Churn::default())))
            }
            "token-bucket" => {
                let bucket = TokenBucket::new(CIR, CBS);
                Some(Self(Kind::Edge(Edge { bucket, now: Instant::ZERO, offered: 0, out: 0 })))
            }
            _ => None,
        }
    }

    /// Offers `packets` packets.
    pub fn run(&mut self, packets: u64) {
        match &mut self.0 {
            Kind::Front(queue, churn) => {
                churn.run(queue, packets);
            }
            Kind::Edge(edge) => edge.run(packets),
        }
    }

    /// The fractions of all packets so far that were dropped, marked and coloured OUT.
    pub fn shares(&self) -> Shares {
        match &self.0 {
            Kind::Front(queue, _) => {
                let tally = queue.port.tally();
                let share = |count: u64| count as f64 / tally.offered.pkts as f64;
                let dropped = share(tally.dropped_early.pkts + tally.dropped_overflow.pkts);
                Shares { dropped, marked: share(tally.marked.pkts), out: 0.0 }
            }
            Kind::Edge(edge) => Shares { dropped: 0.0, marked: 0.0, out: edge.out as f64 / edge.offered as f64 },
        }
    }
}

impl Edge {
    fn run(&mut self, packets: u64) {
        let gap = Churn::LINK.rate.time_for(Churn::LENGTH);
        for _ in 0..packets {
            self.now += gap;
            self.offered += 1;
            self.out += u64::from(self.bucket.colour(Churn::LENGTH, self.now) == Colour::Out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::markers::MARKERS;

    #[test]
    fn marker_load_has_expected_drops_marks_and_colours() {
        for marker in MARKERS {
            let mut marked = Marked::of(marker).unwrap_or_else(|| panic!("no load for {}", marker.name));
            marked.run(50_000);
            let Shares { dropped, marked, out } = marked.shares();
            // A third is signalled, of which a quarter is ECT. 6 of 10 Mb/s are within the profile.
            let want = if marker.is_param { [0.25, 0.0833, 0.0] } else { [0.0, 0.0, 0.4] };
            let near = [dropped, marked, out].iter().zip(want).all(|(is, want)| (is - want).abs() < 0.02);
            assert!(near, "{}: {dropped} {marked} {out}", marker.name);
        }
    }
}
