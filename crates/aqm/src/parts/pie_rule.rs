//! What PIE does (RFC 8033), apart from what it remembers: the choices it leaves, and how p changes.
//!
//! [`PieState`](super::pie_state::PieState) has the memory.

use crate::base::time::Span;
use crate::base::units::Depth;
use crate::choice;

use super::delay_pi::Gains;

choice! {
    /// How the delay is known.
    pub enum Latency {
        /// The stay of the packet that left last.
        Timestamp = "timestamp",
        /// Backlog times the measured time for a byte.
        Rate = "rate",
    }
}

choice! {
    /// The stay that a departure tells of when it leaves nothing behind.
    pub enum Empty {
        /// None: an empty queue delays nobody. Linux, ns-3.
        Zero = "zero",
        /// Its own, until the next departure: Appendix A to the letter.
        Last = "last",
    }
}

choice! {
    /// What uses up the burst allowance.
    pub enum Burst {
        /// Each update takes its period; arrivals renew it when there is no congestion.
        Timer = "timer",
        /// Each departure takes the time since the last, or with latency=rate each measurement its own; updates renew
        /// it. Linux.
        Departure = "departure",
    }
}

choice! {
    /// The delay that must be below half the target for arrivals to be spared while p < 0.2.
    pub enum Spare {
        /// That of the last update.
        Sample = "sample",
        /// The latest. Linux.
        Latest = "latest",
        /// None: they are not spared.
        Off = "off",
    }
}

choice! {
    /// The delay that both this sample and the one before must have for p to decay.
    pub enum Decay {
        /// None at all: section 4.2.
        Zero = "zero",
        /// Less than half the target: Appendix B.
        Half = "half",
        /// It does not decay.
        Off = "off",
    }
}

choice! {
    /// When PIE goes to sleep, to be woken by a long queue.
    pub enum Sleep {
        /// Never: it is always active.
        Off = "off",
        /// At p = 0 with two samples below half the target: section 5.3.
        Half = "half",
        /// At p = 0 with two samples without delay: Appendix B.
        Zero = "zero",
    }
}

/// What all queues under one PIE have in common, with the link's part in it worked out.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// QDELAY_REF, alpha, beta.
    pub gains: Gains,
    /// T_UPDATE.
    pub period: Span,
    /// MAX_BURST; zero: no allowance.
    pub max_burst: Span,
    /// What uses it up.
    pub burst: Burst,
    /// Whose delay spares arrivals.
    pub spare: Spare,
    /// Arrivals that meet no more than this are spared.
    pub min_backlog: Depth,
    /// Are the gains scaled with p?
    pub autotune: bool,
    /// When p decays.
    pub decay: Decay,
    /// To what fraction of itself.
    pub decay_to: f64,
    /// Is the increase capped at high p?
    pub cap: bool,
    /// Does a very long delay raise p further? Linux.
    pub boost: bool,
    /// p from which ECT packets are dropped too.
    pub ecn_cut: f64,
    /// Are drops spaced?
    pub derandomise: bool,
    /// When PIE goes to sleep.
    pub sleep: Sleep,
    /// Share of the buffer that wakes it.
    pub wake_at: f64,
    /// Byte mode: length of a packet that meets all of p.
    pub per_byte: Option<f64>,
    /// How the delay is known.
    pub latency: Latency,
    /// DQ_THRESHOLD in bytes.
    pub dq_threshold: u64,
    /// What an emptied queue's delay is.
    pub empty: Empty,
}

/// p below the first number divides the change by the second: section 4.2.
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// From this p on, an update adds at most so much: section 5.5.
const CAP: (f64, f64) = (0.1, 0.02);
/// A delay above this many seconds adds so much more: Linux's `pie_calculate_probability`.
const BOOST: (f64, f64) = (0.25, 0.02);
impl Rule {
    /// By how much an update changes `p`: sections 4.2 and 5.5.
    pub fn change(&self, p: f64, delay: f64, before: f64) -> f64 {
        let mut change = self.gains.change(delay, before);
        if self.autotune {
            change /= SCALES.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, divisor)| *divisor);
        }
        if self.cap && p >= CAP.0 {
            change = change.min(CAP.1);
        }
        if self.boost && delay > BOOST.0 { change + BOOST.1 } else { change }
    }

    /// The next p: after a change, a decay if there is no congestion, and within 0 and 1.
    pub fn next(&self, p: f64, delay: f64, before: f64) -> f64 {
        let calm = match self.decay {
            Decay::Zero => delay == 0.0 && before == 0.0,
            Decay::Half => self.is_short(delay) && self.is_short(before),
            Decay::Off => false,
        };
        let p = p + self.change(p, delay, before);
        (if calm { p * self.decay_to } else { p }).clamp(0.0, 1.0)
    }

    /// Is it less than half the target?
    pub fn is_short(&self, delay: f64) -> bool {
        delay < self.gains.target / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::pie::Params;
    use crate::base::units::{Bytes, Limit, Link, Rate};

    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn rule() -> Rule {
        Params::default().rule(&LINK)
    }

    #[test]
    fn the_change_is_divided_by_the_table() {
        // 20 ms above the target and 40 ms more than before: 0.125 x 0.02 + 1.25 x 0.04 = 0.0525.
        let change = |p| rule().change(p, 0.035, -0.005);
        let table = [(0.0, 2048.0), (1e-6, 512.0), (1e-5, 128.0), (1e-4, 32.0), (1e-3, 8.0), (1e-2, 2.0), (0.1, 1.0)];
        for (p, divisor) in table {
            assert!((change(p) - 0.0525 / divisor).abs() < 1e-15, "p {p}");
            assert!((change(p * 1.01 + 1e-9) - 0.0525 / divisor).abs() < 1e-15, "a little above p {p}");
        }
        let plain = Rule { autotune: false, ..rule() };
        assert!((plain.change(0.0, 0.035, -0.005) - 0.0525).abs() < 1e-15);
    }

    #[test]
    fn the_cap_is_two_hundredths_from_one_tenth_on() {
        let capped = Rule { cap: true, ..rule() };
        assert_eq!(capped.change(0.1, 0.035, -0.005), 0.02);
        assert!((capped.change(0.0999, 0.035, -0.005) - 0.026_25).abs() < 1e-15);
        assert!(capped.change(0.5, 0.0, 0.1) < -0.1, "decreases are not capped");
    }

    #[test]
    fn linux_adds_two_hundredths_above_250_ms_and_after_the_cap() {
        let linux = Rule { cap: true, boost: true, ..rule() };
        assert_eq!(linux.change(0.1, 0.250, 0.0), 0.02);
        assert_eq!(linux.change(0.1, 0.251, 0.0), 0.04);
        assert!((linux.change(0.0, 0.251, 0.251) - (0.125 * 0.236 / 2048.0 + 0.02)).abs() < 1e-15);
    }

    #[test]
    fn p_decays_without_congestion_and_stays_a_probability() {
        // One step down from 0.5 without delay: 0.5 - 0.125 x 0.015, and 2 % off.
        assert!((rule().next(0.5, 0.0, 0.0) - (0.5 - 0.001_875) * 0.98).abs() < 1e-15);
        assert!((rule().next(0.5, 0.0, 0.001) - (0.5 - 0.001_875 - 0.001_25)).abs() < 1e-15);
        let half = Rule { decay: Decay::Half, ..rule() };
        assert!((half.next(0.5, 0.007, 0.007) - (0.5 - 0.001) * 0.98).abs() < 1e-15);
        assert!((half.next(0.5, 0.007, 0.0075) - (0.5 - 0.001 - 0.000_625)).abs() < 1e-15, "half is not below half");
        let off = Rule { decay: Decay::Off, ..rule() };
        assert!((off.next(0.5, 0.0, 0.0) - 0.498_125).abs() < 1e-15);
        assert_eq!((rule().next(1e-4, 0.0, 1.0), rule().next(0.9, 5.0, 0.0)), (0.0, 1.0));
    }
}
