//! The quality of a telephone call over packets: the E-model, and the mean opinion score (MOS) from its rating.
//!
//! Sources: ITU-T G.107 (06/2015) with default values of all parameters but delay, codec and loss; numbers in
//! parentheses are its equations. ITU-T G.113 appendix I: codecs. ITU-T G.109: satisfaction. Constants that follow from
//! the defaults have the digits of flent's `mos_score`, which its authors compared with ITU's calculator.

/// Circuit noise No (7-3), in dBm0p.
const NO: f64 = -61.17921438624169;
/// Signal-to-noise ratio Ro = 15 - 1.5 (SLR + No) (7-2), with the send loudness rating SLR = 8 dB.
const RO: f64 = 15.0 - 1.5 * (8.0 + NO);
/// Impairments simultaneous with the voice, Is (7-8).
const IS: f64 = 1.4135680813438616;
/// Talker echo loudness rating TELR, weighted echo path loss WEPL, receive loudness rating RLR: table 3, in dB.
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
const RLR: f64 = 2.0;
/// Delay in ms up to which Idd is 0 (mT in table 1).
const MT_MS: f64 = 100.0;

/// The sensitivity of a codec to loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Codec {
    /// Equipment impairment factor Ie: what the rating loses without packet loss; 0 to 95.
    pub ie: f64,
    /// Packet-loss robustness factor Bpl: the loss in percent that halves 95 - Ie; above 0.
    pub bpl: f64,
}

impl Codec {
    /// G.711 without packet-loss concealment.
    pub const G711: Self = Self { ie: 0.0, bpl: 4.3 };
    /// G.711 with packet-loss concealment (its appendix I).
    pub const G711_CONCEALMENT: Self = Self { ie: 0.0, bpl: 25.1 };
    /// G.729A with voice activity detection.
    pub const G729A: Self = Self { ie: 11.0, bpl: 19.0 };

    /// Effective equipment impairment factor (7-29) of independent losses (BurstR = 1).
    fn impairment(self, loss_percent: f64) -> f64 {
        self.ie + (95.0 - self.ie) * loss_percent / (loss_percent + self.bpl)
    }
}

/// The rating R of the E-model: at most 93.2 here; negative for unusable calls.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Rating(pub f64);

/// Satisfaction of the users, by G.109, from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Satisfaction {
    /// A rating of 90 or more.
    VerySatisfied,
    /// 80 or more.
    Satisfied,
    /// 70 or more.
    SomeDissatisfied,
    /// 60 or more.
    ManyDissatisfied,
    /// 50 or more.
    NearlyAllDissatisfied,
    /// Below 50.
    NotRecommended,
}

impl Rating {
    /// The rating of calls with a one-way mouth-to-ear delay in ms and a packet loss in percent (7-1).
    ///
    /// The delay is that of codec, packets, network and playout buffer together. Packets that miss their playout count
    /// as lost. `None` if the delay is negative or not finite, the loss is not within 0 to 100, or the codec is not
    /// valid.
    pub fn of(codec: Codec, delay_ms: f64, loss_percent: f64) -> Option<Self> {
        let is_valid = delay_ms >= 0.0
            && delay_ms.is_finite()
            && (0.0..=100.0).contains(&loss_percent)
            && (0.0..=95.0).contains(&codec.ie)
            && codec.bpl > 0.0;
        let rating = RO - IS - delay_impairment(delay_ms) - codec.impairment(loss_percent);
        (is_valid && rating.is_finite()).then_some(Self(rating))
    }

    /// The mean opinion score, 1 to 4.5 (B-4). NaN for a rating of NaN.
    ///
    /// The polynomial of G.107 falls below 1 for ratings between 0 and 6.5, to 0.989. The score is 1 there (ours), so
    /// that it never falls when the rating rises.
    pub fn mos(self) -> f64 {
        let r = self.0.clamp(0.0, 100.0);
        (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).clamp(1.0, 4.5)
    }

    /// The satisfaction of the users; `None` for a rating of NaN.
    pub fn satisfaction(self) -> Option<Satisfaction> {
        match self.0 {
            r if r.is_nan() => None,
            r if r >= 90.0 => Some(Satisfaction::VerySatisfied),
            r if r >= 80.0 => Some(Satisfaction::Satisfied),
            r if r >= 70.0 => Some(Satisfaction::SomeDissatisfied),
            r if r >= 60.0 => Some(Satisfaction::ManyDissatisfied),
            r if r >= 50.0 => Some(Satisfaction::NearlyAllDissatisfied),
            _ => Some(Satisfaction::NotRecommended),
        }
    }
}

impl Satisfaction {
    /// The words of G.109, such as "some users dissatisfied".
    pub const fn word(self) -> &'static str {
        match self {
            Self::VerySatisfied => "very satisfied",
            Self::Satisfied => "satisfied",
            Self::SomeDissatisfied => "some users dissatisfied",
            Self::ManyDissatisfied => "many users dissatisfied",
            Self::NearlyAllDissatisfied => "nearly all users dissatisfied",
            Self::NotRecommended => "not recommended",
        }
    }
}

/// Impairment by delay Id (7-18), with T = Ta = Tr / 2.
fn delay_impairment(delay_ms: f64) -> f64 {
    talker_echo(delay_ms) + listener_echo(delay_ms) + absolute_delay(delay_ms)
}

/// Idte (7-19) to (7-22).
///
/// At 1 ms it falls from 0 to -0.109, by (7-19): the rating rises by 0.109 there. Elsewhere no impairment falls when
/// the delay rises.
fn talker_echo(t: f64) -> f64 {
    if t < 1.0 {
        return 0.0;
    }
    let terv = TELR - 40.0 * libm::log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * libm::exp(-0.3 * t * t);
    let (roe, re) = (-1.5 * (NO - RLR), 80.0 + 2.5 * (terv - 14.0));
    (half_hyperbola(roe - re, 100.0) - 1.0) * (1.0 - libm::exp(-t))
}

/// Idle (7-25), (7-26).
fn listener_echo(t: f64) -> f64 {
    let rle = 10.5 * (WEPL + 7.0) * libm::pow(2.0 * t + 1.0, -0.25);
    half_hyperbola(RO - rle, 169.0)
}

/// x/2 + sqrt(x^2/4 + c).
fn half_hyperbola(x: f64, c: f64) -> f64 {
    x / 2.0 + (x * x / 4.0 + c).sqrt()
}

/// Idd (7-27), (7-28); 0 to 50.
fn absolute_delay(t: f64) -> f64 {
    if t <= MT_MS {
        return 0.0;
    }
    let x = libm::log2(t / MT_MS);
    let root = |x: f64| libm::pow(1.0 + x.powi(6), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    const CODECS: [Codec; 3] = [Codec::G711, Codec::G711_CONCEALMENT, Codec::G729A];

    fn rating(codec: Codec, delay_ms: f64, loss_percent: f64) -> f64 {
        Rating::of(codec, delay_ms, loss_percent).unwrap().0
    }

    #[test]
    fn g711_matches_the_published_table() {
        // Delay in ms; R and MOS at losses of 0, 0.5, 1, 2 and 5 %, from an independent implementation in Python.
        let table = [
            (20.0, ["92.5 4.40", "82.6 4.12", "74.6 3.80", "62.4 3.22", "41.5 2.14"]),
            (50.0, ["91.8 4.38", "81.9 4.09", "73.8 3.77", "61.6 3.18", "40.7 2.10"]),
            (100.0, ["90.7 4.35", "80.8 4.05", "72.7 3.72", "60.5 3.13", "39.6 2.04"]),
            (200.0, ["85.8 4.22", "75.9 3.86", "67.9 3.50", "55.6 2.87", "34.7 1.81"]),
            (300.0, ["72.7 3.72", "62.8 3.24", "54.7 2.82", "42.5 2.19", "21.6 1.30"]),
            (400.0, ["62.2 3.22", "52.4 2.70", "44.3 2.28", "32.1 1.70", "11.2 1.05"]),
        ];
        for (delay, row) in table {
            for (loss, want) in [0.0, 0.5, 1.0, 2.0, 5.0].into_iter().zip(row) {
                let rating = Rating::of(Codec::G711, delay, loss).unwrap();
                assert_eq!(format!("{:.1} {:.2}", rating.0, rating.mos()), want, "{delay} ms, {loss} %");
            }
        }
    }

    #[test]
    fn defaults_without_delay_give_93_2() {
        // G.107, section 7.1: R = 93.2 with all default values.
        assert!((rating(Codec::G711, 0.0, 0.0) - 93.206).abs() < 1e-3);
    }

    #[test]
    fn delay_200_ms_matches_hand_calculation() {
        // X = 1: 25 (2^(1/6) - 3 (1 + 1/729)^(1/6) + 2) = 25 (1.1224620 - 3.0006855 + 2).
        assert!((absolute_delay(200.0) - 3.044413).abs() < 1e-5, "{}", absolute_delay(200.0));
        assert_eq!(absolute_delay(100.0), 0.0);
    }

    #[test]
    fn codecs_match_hand_calculation() {
        // 95 x 2 / 6.3; 95 x 2 / 27.1; 11 + 84 x 2 / 21.
        let expected = [30.158730, 7.011070, 19.0];
        for (codec, want) in CODECS.into_iter().zip(expected) {
            let lost = rating(codec, 100.0, 0.0) + codec.ie - rating(codec, 100.0, 2.0);
            assert!((lost - want).abs() < 1e-6, "{codec:?}: {lost}");
        }
    }

    #[test]
    fn scores_match_hand_calculation() {
        // 1 + 0.035 R + 7e-6 R (R - 60) (100 - R). G.107 annex B prints 4.34, 4.03, 3.60, 3.10 and 2.58.
        for (r, want) in [(90.0, 4.339), (80.0, 4.024), (70.0, 3.597), (60.0, 3.1), (50.0, 2.575)] {
            assert!((Rating(r).mos() - want).abs() < 1e-9, "{r}");
        }
        assert_eq!([-1.0, 0.0, 3.2, 100.0, 120.0].map(|r| Rating(r).mos()), [1.0, 1.0, 1.0, 4.5, 4.5]);
    }

    #[test]
    fn satisfaction_changes_at_the_bounds_of_g109() {
        let table = [
            (93.2, 90.0, "very satisfied"),
            (89.9, 80.0, "satisfied"),
            (79.9, 70.0, "some users dissatisfied"),
            (69.9, 60.0, "many users dissatisfied"),
            (59.9, 50.0, "nearly all users dissatisfied"),
            (49.9, -20.0, "not recommended"),
        ];
        for (most, least, word) in table {
            assert_eq!([most, least].map(|r| Rating(r).satisfaction().unwrap().word()), [word; 2]);
        }
        assert_eq!(Rating(f64::NAN).satisfaction(), None);
    }

    #[test]
    fn arguments_out_of_range_give_none() {
        for (delay, loss) in [(-1.0, 0.0), (f64::NAN, 0.0), (f64::INFINITY, 0.0), (1.0, -0.1), (1.0, 100.1)] {
            assert_eq!(Rating::of(Codec::G711, delay, loss), None);
        }
        assert_eq!(Rating::of(Codec::G711, 1.0, f64::NAN), None);
        assert_eq!(Rating::of(Codec { ie: 0.0, bpl: 0.0 }, 1.0, 0.0), None);
        assert!(Rating::of(Codec::G711, f64::MAX, 100.0).is_some());
    }

    #[test]
    fn rating_rises_only_at_one_millisecond() {
        let ratings: Vec<f64> = (0..100_000).map(|n| rating(Codec::G711, f64::from(n) / 100.0, 0.0)).collect();
        let rises: Vec<usize> = (1..ratings.len()).filter(|n| ratings[*n] > ratings[*n - 1] + 1e-9).collect();
        assert_eq!(rises, [100]);
        assert!((ratings[100] - ratings[99] - 0.109).abs() < 1e-3);
    }

    proptest! {
        #[test]
        fn score_falls_with_delay(delay in 1.0..2000.0, more in 0.0..2000.0, loss in 0.0..100.0) {
            for codec in CODECS {
                let [shorter, longer] = [delay, delay + more].map(|t| Rating::of(codec, t, loss).unwrap());
                prop_assert!(longer.0 <= shorter.0 + 1e-9 && longer.mos() <= shorter.mos() + 1e-9);
            }
        }

        #[test]
        fn score_falls_with_loss(delay in 0.0..2000.0, loss in 0.0..100.0, part in 0.0..1.0) {
            for codec in CODECS {
                let [fewer, more] = [loss * part, loss].map(|loss| Rating::of(codec, delay, loss).unwrap());
                prop_assert!(more.0 <= fewer.0 + 1e-9 && more.mos() <= fewer.mos() + 1e-9);
            }
        }

        #[test]
        fn any_finite_delay_has_finite_rating(delay in 0.0..f64::MAX, loss in 0.0..100.0, any in any::<f64>()) {
            let rating = Rating::of(Codec::G729A, delay, loss).unwrap();
            prop_assert!(rating.0.is_finite() && (1.0..=4.5).contains(&rating.mos()));
            prop_assert_eq!(Rating::of(Codec::G729A, any, loss).is_some(), any >= 0.0 && any.is_finite());
        }
    }
}
