//! Arrivals of the comparison with qdiscs of Linux.
//!
//! All times and lengths are on a grid on which the kernel's clock and timers are exact. The clock has steps of 256 ns.
//! At 10 Mb/s the 80 bytes in which frame lengths differ take 64 us, 250 steps. Arrivals are at multiples of 64 us plus
//! 5632 ns. The bucket of tbf ends with half of 80 bytes, so that a packet that waits for tokens leaves 32 us after a
//! possible arrival. Both are at least 5.6 us after a tick of the kernel, at a whole millisecond, and 2.3 us before the
//! next. A timer that expires less than 500 ns after another is late.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;

/// Rate of the line, bit/s.
pub const RATE: u64 = 10_000_000;
/// Time of a byte on the line, ns.
pub const BYTE: u64 = 8_000_000_000 / RATE;
/// Frame lengths are multiples of this, bytes.
pub const GRAIN: u64 = 80;
/// Time between possible arrivals, ns.
const STEP: u64 = GRAIN * BYTE;
/// Time of the first possible arrival, ns.
const OFFSET: u64 = 5632;
/// Time without arrivals at the start, ns. The first update of PIE comes before it.
const START: f64 = 6e8;
/// Packets between changes of the load.
const PERIOD: usize = 1000;
/// Long and short frames, bytes.
const LONG: u16 = 1440;
const SHORT: u16 = 160;
/// Share of long frames where both occur.
const LONG_SHARE: f64 = 0.8;
/// Number of flows of most patterns.
const FEW: usize = 8;
/// Number of flows of [`Pattern::Flows`].
const MANY: usize = 80;
/// Largest burst of [`Pattern::Bursts`], packets.
const BURST: u64 = 60;
/// Packets of [`Pattern::Bursts`] between silences of 3 s.
const SILENT_AFTER: usize = 2500;
const SILENCE: f64 = 3e9;

/// A kind of arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Poisson arrivals of 8 flows, two sizes; half of the flows is ECT(0).
    Poisson,
    /// Bursts of up to 60 packets of a flow at 180 Mb/s, and silences of 3 s.
    Bursts,
    /// Poisson arrivals of 80 flows; 8 of them send half of the packets.
    Flows,
    /// Poisson arrivals with all four ECN codepoints.
    Ecn,
    /// Poisson arrivals with frames of 80 to 1440 bytes.
    Sizes,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Self; 5] = [Self::Poisson, Self::Bursts, Self::Flows, Self::Ecn, Self::Sizes];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Bursts => "bursts",
            Self::Flows => "flows",
            Self::Ecn => "ecn",
            Self::Sizes => "sizes",
        }
    }

    /// Load of the line in periods of [`PERIOD`] packets, in turn.
    const fn loads(self) -> [f64; 4] {
        match self {
            Self::Ecn => [1.2, 0.7, 1.5, 0.5],
            _ => [0.8, 1.3, 0.6, 1.1],
        }
    }

    /// The codepoint of each flow.
    fn codepoints(self) -> Vec<Ecn> {
        let count = if self == Self::Flows { MANY } else { FEW };
        let all = [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce];
        let kinds = if self == Self::Ecn { 4 } else { 2 };
        (0..count).map(|flow| all[flow % kinds]).collect()
    }
}

/// The DSCPs of the flows, in turn: best effort, CS1, EF, AF41. Only CAKE looks at them.
const DSCPS: [u8; 4] = [0, 8, 46, 34];

/// The DSCP of a flow.
pub const fn dscp(flow: usize) -> u8 {
    DSCPS[flow % 4]
}

/// A packet that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Time since the start of the run, ns.
    pub at: u64,
    /// Index of the flow.
    pub flow: u32,
    /// Length of the frame, bytes.
    pub len: u16,
}

/// Packets in order of arrival.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrivals {
    /// The codepoint of each flow.
    pub codepoints: Vec<Ecn>,
    /// The packets.
    pub packets: Vec<Arrival>,
}

impl Arrivals {
    /// The first `count` packets of `pattern` with this seed.
    pub fn new(pattern: Pattern, seed: u64, count: usize) -> Self {
        let codepoints = pattern.codepoints();
        let mut rng = Rng::stream(seed, pattern.name());
        let (mut packets, mut due, mut slot, mut left, mut flow) = (Vec::with_capacity(count), START, 0, 0, 0);
        while packets.len() < count {
            let load = pattern.loads()[packets.len() / PERIOD % 4];
            let len = match pattern {
                Pattern::Sizes => (1 + rng.below(18)) * GRAIN,
                _ if rng.uniform() < LONG_SHARE => u64::from(LONG),
                _ => u64::from(SHORT),
            };
            let mean = match pattern {
                Pattern::Sizes => f64::from(80 + LONG) / 2.0,
                _ => LONG_SHARE.mul_add(f64::from(LONG), (1.0 - LONG_SHARE) * f64::from(SHORT)),
            };
            if left == 0 {
                flow = match pattern {
                    Pattern::Flows if rng.uniform() < 0.5 => rng.below(FEW as u64),
                    _ => rng.below(codepoints.len() as u64),
                };
                left = if pattern == Pattern::Bursts { 1 + rng.below(BURST) } else { 1 };
                due += rng.exponential(mean * left as f64 * BYTE as f64 / load);
            }
            left -= 1;
            slot = (slot + 1).max(due as u64 / STEP);
            packets.push(Arrival { at: slot * STEP + OFFSET, flow: flow as u32, len: len as u16 });
            if pattern == Pattern::Bursts && packets.len().is_multiple_of(SILENT_AFTER) {
                due = due.max((slot * STEP) as f64) + SILENCE;
            }
        }
        Self { codepoints, packets }
    }

    /// Time at which all packets have left a line without drops, ns.
    pub fn end(&self) -> u64 {
        let last = self.packets.last().map_or(0, |last| last.at);
        let sent: u64 = self.packets.iter().map(|packet| u64::from(packet.len) * BYTE).sum();
        last.max(sent) + last / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_apart_and_on_the_grid() {
        for pattern in Pattern::ALL {
            let all = Arrivals::new(pattern, 1, 3000);
            assert!(all.packets.windows(2).all(|two| two[1].at >= two[0].at + STEP), "{pattern:?}");
            for packet in &all.packets {
                assert_eq!((packet.at - OFFSET) % STEP, 0);
                assert_eq!(u64::from(packet.len) % GRAIN, 0);
                assert!((packet.flow as usize) < all.codepoints.len());
                // The kernel ticks at whole milliseconds.
                let since = packet.at % 1_000_000;
                assert!(since >= OFFSET && 1_000_000 - since >= 2000, "{packet:?}");
            }
        }
    }

    #[test]
    fn fewer_packets_are_the_first_of_more() {
        for pattern in Pattern::ALL {
            let (few, many) = (Arrivals::new(pattern, 7, 100), Arrivals::new(pattern, 7, 200));
            assert_eq!(few.packets, many.packets[..100]);
        }
    }
}
