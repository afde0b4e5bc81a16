//! Responsiveness under working conditions, in round trips per minute (RPM).
//!
//! Source: draft-ietf-ippm-responsiveness-09 (July 2026), "Aggregating the Measurements". It averages the rates of new
//! connections (foreign) and of connections that carry the load (loaded). Versions before 04 averaged their times, as
//! goresponsiveness still does: that RPM is lower whenever the two differ.

/// Milliseconds of a minute.
const MINUTE_MS: f64 = 60_000.0;
/// The percentage of the samples that the trimmed mean keeps (`TMP` in the draft).
const KEPT_PERCENT: usize = 95;

/// Times of responsiveness probes in ms, each normalised to one round trip.
///
/// The draft uses the probes of the last four intervals (`MAD`). The order of the samples has no effect.
#[derive(Clone, Copy, Debug)]
pub struct Probes<'a> {
    /// Handshakes of TCP on new connections (`tcp_f`).
    pub tcp_ms: &'a [f64],
    /// Handshakes of TLS on new connections (`tls_f`), divided by their number of round trips: 1 in TLS 1.3, 2 in TLS
    /// 1.2. `None`: the connections have no TLS.
    pub tls_ms: Option<&'a [f64]>,
    /// From a request for one byte to the end of the answer, on new connections (`http_f`).
    pub http_ms: &'a [f64],
    /// The same on connections that carry the load (`http_l`).
    pub loaded_ms: &'a [f64],
}

/// A rate in round trips per minute; above 0.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Rpm(pub f64);

/// The categories of the draft's introduction, from worst to best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Category {
    /// At most 300 RPM: a round trip of 200 ms or more.
    Poor,
    /// Above 300 and below 1000 RPM.
    Fair,
    /// From 1000 RPM, a round trip of 60 ms, to below 6000 RPM.
    Good,
    /// 6000 RPM or more: a round trip of at most 10 ms.
    Excellent,
}

impl Rpm {
    /// The category of this rate; `None` for NaN.
    pub fn category(self) -> Option<Category> {
        match self.0 {
            rpm if rpm.is_nan() => None,
            rpm if rpm >= 6000.0 => Some(Category::Excellent),
            rpm if rpm >= 1000.0 => Some(Category::Good),
            rpm if rpm > 300.0 => Some(Category::Fair),
            _ => Some(Category::Poor),
        }
    }

    /// The rate of round trips that take `mean_ms`; `None` unless it is finite and above 0.
    pub fn of(mean_ms: f64) -> Option<Self> {
        let rate = MINUTE_MS / mean_ms;
        (rate > 0.0 && rate.is_finite()).then_some(Self(rate))
    }
}

impl Category {
    /// The draft's word: "poor", "fair", "good" or "excellent".
    pub const fn word(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::Excellent => "excellent",
        }
    }
}

/// The responsiveness of a line under load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Responsiveness {
    /// Of new connections while others carry the load: 60000 over the mean of TM(tcp), TM(tls) and TM(http). Without
    /// TLS: over the mean of TM(tcp) and TM(http).
    pub foreign: Rpm,
    /// Of the connections that carry the load: 60000 / TM(loaded). It includes their own queue and send buffer, also
    /// under flow queueing.
    pub loaded: Rpm,
}

impl Responsiveness {
    /// From the times of probes; TM is [`trimmed_mean`]. `None` if a set of samples has no trimmed mean, or if the
    /// trimmed means are 0.
    pub fn of(probes: Probes) -> Option<Self> {
        let (tcp, http) = (trimmed_mean(probes.tcp_ms)?, trimmed_mean(probes.http_ms)?);
        let foreign_ms = match probes.tls_ms {
            Some(samples) => (tcp + trimmed_mean(samples)? + http) / 3.0,
            None => (tcp + http) / 2.0,
        };
        Some(Self { foreign: Rpm::of(foreign_ms)?, loaded: Rpm::of(trimmed_mean(probes.loaded_ms)?)? })
    }

    /// The responsiveness of the draft: the mean of `foreign` and `loaded`.
    pub fn rpm(self) -> Rpm {
        Rpm((self.foreign.0 + self.loaded.0) / 2.0)
    }
}

/// The mean of the samples up to their 95th percentile, in the unit of the samples. `None` without samples, or if a
/// sample is negative or not finite.
///
/// The draft does not define the percentile of few samples. Ours is the nearest rank: of n samples the smallest
/// ceil(0.95 n) count. Below 20 samples these are all; of 100 samples, 95. Apple's goresponsiveness keeps floor(0.95
/// n), which is one sample less unless 20 divides n.
pub fn trimmed_mean(samples: &[f64]) -> Option<f64> {
    if samples.iter().any(|sample| !sample.is_finite() || *sample < 0.0) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let kept = (sorted.len() * KEPT_PERCENT).div_ceil(100);
    let sum: f64 = sorted.iter().take(kept).sum();
    (kept > 0 && sum.is_finite()).then(|| sum / kept as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, proptest};

    fn all_equal(times: &[f64]) -> Option<Responsiveness> {
        Responsiveness::of(Probes { tcp_ms: times, tls_ms: Some(times), http_ms: times, loaded_ms: times })
    }

    #[test]
    fn equal_times_of_60_ms_give_1000() {
        assert_eq!(all_equal(&[60.0; 30]).unwrap().rpm(), Rpm(1000.0));
    }

    #[test]
    fn foreign_25_and_loaded_60_ms_give_1700() {
        // 60000 / 25 = 2400, 60000 / 60 = 1000.
        for tls_ms in [Some(&[25.0; 5][..]), None] {
            let probes = Probes { tcp_ms: &[25.0; 5], tls_ms, http_ms: &[25.0; 5], loaded_ms: &[60.0; 5] };
            let found = Responsiveness::of(probes).unwrap();
            assert_eq!((found.foreign, found.loaded, found.rpm()), (Rpm(2400.0), Rpm(1000.0), Rpm(1700.0)));
        }
    }

    #[test]
    fn missing_tls_is_no_handshake_of_zero() {
        // (20 + 40) / 2 = 30 ms; with TLS (20 + 60 + 40) / 3 = 40 ms.
        let plain = Probes { tcp_ms: &[20.0], tls_ms: None, http_ms: &[40.0], loaded_ms: &[60.0] };
        let secured = Probes { tls_ms: Some(&[60.0]), ..plain };
        assert_eq!(Responsiveness::of(plain).unwrap().foreign, Rpm(2000.0));
        assert_eq!(Responsiveness::of(secured).unwrap().foreign, Rpm(1500.0));
    }

    #[test]
    fn trimmed_mean_omits_only_the_largest_samples() {
        // 1 to 100: the mean of 1 to 95 is 48. Of 20 samples the largest is omitted, of 19 none: 10 in both cases.
        let numbers = |most: u32| (1..=most).rev().map(f64::from).collect::<Vec<_>>();
        assert_eq!(trimmed_mean(&numbers(100)), Some(48.0));
        assert_eq!(trimmed_mean(&numbers(20)), Some(10.0));
        assert_eq!(trimmed_mean(&numbers(19)), Some(10.0));
        assert_eq!(trimmed_mean(&[7.0]), Some(7.0));
    }

    #[test]
    fn samples_without_mean_give_none() {
        for samples in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY], &[-1.0, 1.0], &[f64::MAX, f64::MAX]] {
            assert_eq!(trimmed_mean(samples), None);
        }
        assert_eq!(all_equal(&[0.0]), None);
        assert_eq!(all_equal(&[]), None);
        let probes = Probes { tcp_ms: &[25.0], tls_ms: Some(&[]), http_ms: &[25.0], loaded_ms: &[60.0] };
        assert_eq!(Responsiveness::of(probes), None);
    }

    #[test]
    fn categories_change_at_the_bounds_of_the_draft() {
        let table = [
            (1.0, "poor"),
            (300.0, "poor"),
            (300.1, "fair"),
            (999.9, "fair"),
            (1000.0, "good"),
            (5999.9, "good"),
            (6000.0, "excellent"),
        ];
        for (rpm, word) in table {
            assert_eq!(Rpm(rpm).category().unwrap().word(), word, "{rpm}");
        }
        assert_eq!(Rpm(f64::NAN).category(), None);
    }

    proptest! {
        #[test]
        fn slower_probes_never_raise_rpm(
            times in prop::collection::vec(0.1..1000.0, 1..60),
            added in prop::collection::vec(0.0..500.0, 60),
        ) {
            let slower: Vec<f64> = times.iter().zip(added).map(|(time, more)| time + more).collect();
            let (before, after) = (all_equal(&times).unwrap(), all_equal(&slower).unwrap());
            prop_assert!(after.rpm().0 <= before.rpm().0 * (1.0 + 1e-12));
        }
    }
}
