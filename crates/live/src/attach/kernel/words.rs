//! The values that the daemon of `forebay attach` shares with its fast path, the BPF program that marks and drops
//! packets: the fields of the two maps in `bpf/aqm.bpf.c`, in the same order.

use forebay_aqm::base::discipline::{Actuation, Signal};
use forebay_aqm::base::port::Count;
use forebay_aqm::base::units::Depth;

/// Number of u64 fields in `struct settings` of the BPF program.
pub(in crate::attach) const SETTINGS: usize = 6;
/// Number of u64 fields in `struct tally` (counters) of the BPF program.
pub(in crate::attach) const TALLY: usize = 9;
/// Probability one, in units of 2^-32.
const ALWAYS: u64 = 1 << 32;
/// How long settings stay in force without an update from the daemon, ns.
pub const SETTINGS_TIMEOUT: u64 = 1_000_000_000;

/// What the fast path does to packets: the output of a control law, an [`Actuation`], in integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Signal probability in units of 2^-32.
    pub p: u64,
    /// If above 0, the probability is proportional to the backlog, and is `p` at this backlog in bytes.
    pub q0: u64,
    /// If above 0, the probability is proportional to the packet length, and is `p` at this length in bytes.
    pub mean: u64,
    /// Are ECT packets marked instead of dropped?
    pub ecn: bool,
    /// Time of writing, on the clock of [`monotonic`](crate::sys::attach_process::monotonic), ns.
    pub updated: u64,
}

impl Settings {
    /// Settings with probability 0.
    pub const fn none(ecn: bool) -> Self {
        Self { p: 0, q0: 0, mean: 0, ecn, updated: 0 }
    }

    /// Settings from the `actuation` of a control law, for a mean packet of `packet` bytes. The signal is always
    /// applied on arrival, even if the law's [`ActOn`](forebay_aqm::base::discipline::ActOn) demands departures, because
    /// the fast path does not see them.
    pub fn of(actuation: &Actuation, ecn: bool, packet: f64) -> Self {
        let (p, q0) = match actuation.signal {
            Signal::Bernoulli(p) => (p, 0),
            Signal::Scaled { p, q0: Depth::Packets(q0) } => (p, at_least_one(q0 * packet)),
            Signal::Scaled { p, q0: Depth::Bytes(q0) } => (p, at_least_one(q0)),
        };
        let p = (p.clamp(0.0, 1.0) * ALWAYS as f64).round() as u64;
        Self { p, q0, mean: actuation.per_byte.map_or(0, at_least_one), ecn, updated: 0 }
    }

    /// The settings as the array of numbers that the BPF program's map stores.
    pub fn words(&self) -> [u64; SETTINGS] {
        [self.p, self.q0, self.mean, u64::from(self.ecn), self.updated, SETTINGS_TIMEOUT]
    }

    /// The settings from the array of numbers in the BPF program's map.
    pub const fn read([p, q0, mean, ecn, updated, _]: [u64; SETTINGS]) -> Self {
        Self { p, q0, mean, ecn: ecn != 0, updated }
    }

    /// Are the settings in force at time `now`, ns?
    pub const fn rules_at(&self, now: u64) -> bool {
        now.saturating_sub(self.updated) <= SETTINGS_TIMEOUT
    }

    /// The signal probability for a packet of `len` bytes at a backlog of `backlog` bytes.
    pub fn probability(&self, backlog: u64, len: u64) -> f64 {
        let mut p = u128::from(self.p.min(ALWAYS));
        if self.q0 > 0 {
            p = p * u128::from(backlog) / u128::from(self.q0);
        }
        if self.mean > 0 {
            p = p * u128::from(len) / u128::from(self.mean);
        }
        p.min(u128::from(ALWAYS)) as f64 / ALWAYS as f64
    }
}

/// Rounds a divisor to an integer, at least 1.
fn at_least_one(value: f64) -> u64 {
    (value.round() as u64).max(1)
}

/// Counters of the fast path since it was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Packets that arrived at the fast path.
    pub offered: Count,
    /// Packets passed, including marked ones.
    pub passed: Count,
    /// Packets that it CE-marked.
    pub marked: Count,
    /// Early drops.
    pub dropped: Count,
    /// Packets passed because the settings had expired.
    pub unruled: u64,
}

impl Counters {
    /// The sum of the counters of all CPUs.
    pub fn sum(all: impl IntoIterator<Item = [u64; TALLY]>) -> Self {
        let mut sum = [0u64; TALLY];
        for words in all {
            sum.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        let count = |at: usize| Count { pkts: sum[at], bytes: sum[at + 1] };
        Self { offered: count(0), passed: count(2), marked: count(4), dropped: count(6), unruled: sum[8] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::base::discipline::ActOn;

    fn scaled(p: f64, q0: Depth, per_byte: Option<f64>) -> Settings {
        let actuation = Actuation { signal: Signal::Scaled { p, q0 }, per_byte, act_on: ActOn::Arrival };
        Settings::of(&actuation, true, 1500.0)
    }

    #[test]
    fn bpf_settings_keep_nine_digits_of_signal_probability() {
        for p in [0.0, 1e-6, 0.0137, 0.5, 1.0] {
            let got = Settings::of(&Actuation::bernoulli(p), false, 1500.0).probability(0, 1);
            assert!((got - p).abs() <= 1.2e-10, "{p}: {got}");
        }
        for (p, want) in [(-1.0, 0), (7.0, ALWAYS), (f64::NAN, 0)] {
            assert_eq!(Settings::of(&Actuation::bernoulli(p), false, 1500.0).p, want);
        }
    }

    #[test]
    fn signal_probability_scales_with_backlog_and_packet_length() {
        // 40 packets of 1500 bytes are 60,000 bytes.
        let settings = scaled(0.01, Depth::Packets(40.0), None);
        assert_eq!(settings.q0, 60_000);
        for (backlog, want) in [(0, 0.0), (30_000, 0.005), (60_000, 0.01), (600_000, 0.1), (60_000_000, 1.0)] {
            let got = settings.probability(backlog, 1500);
            assert!((got - want).abs() < 1e-8, "{backlog}: {got}");
        }
        let by_length = scaled(0.01, Depth::Bytes(60_000.0), Some(500.0));
        assert!((by_length.probability(60_000, 1500) - 0.03).abs() < 1e-8);
        assert_eq!(scaled(0.01, Depth::Bytes(0.2), None).q0, 1);
    }

    #[test]
    fn settings_round_trip_through_bpf_map_values() {
        let settings = Settings { updated: 77, ..scaled(0.25, Depth::Bytes(9.0), Some(700.0)) };
        assert_eq!(settings.words(), [1 << 30, 9, 700, 1, 77, SETTINGS_TIMEOUT]);
        assert_eq!(Settings::read(settings.words()), settings);
        assert!(
            settings.rules_at(77 + SETTINGS_TIMEOUT)
                && !settings.rules_at(78 + SETTINGS_TIMEOUT)
                && settings.rules_at(0)
        );
    }

    #[test]
    fn per_cpu_counters_are_summed() {
        let sum = Counters::sum([[1, 10, 2, 20, 3, 30, 4, 40, 5], [1, 1, 1, 1, 1, 1, 1, 1, 1]]);
        assert_eq!((sum.offered, sum.passed), (Count { pkts: 2, bytes: 11 }, Count { pkts: 3, bytes: 21 }));
        assert_eq!((sum.marked, sum.dropped), (Count { pkts: 4, bytes: 31 }, Count { pkts: 5, bytes: 41 }));
        assert_eq!(sum.unruled, 6);
    }
}
