//! Points from 0 to 100 for each score, and one figure for a discipline on a line: their geometric mean.
//!
//! The scales and the mean are ours. The figure compares disciplines on the same line. It is meaningful only if the
//! same scores are present for each of them.

use super::responsiveness::Rpm;

/// The RPM with 0 points, and the ratio to it with 100 points: 6000 RPM.
const RPM_WITHOUT_POINTS: f64 = 100.0;
const RPM_RANGE: f64 = 60.0;
/// The range of the mean opinion score: 1 to 4.5.
const MOS_LEAST: f64 = 1.0;
const MOS_RANGE: f64 = 3.5;

/// Points from 0, unusable, to 100, best.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Points(f64);

impl Points {
    /// Points, limited to 0 to 100; `None` for NaN.
    pub fn new(points: f64) -> Option<Self> {
        (!points.is_nan()).then(|| Self(points.clamp(0.0, 100.0)))
    }

    /// As a number from 0 to 100.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Of a responsiveness: 100 log10(RPM / 100) / log10(60), which is 0 up to 100 RPM and 100 from 6000 RPM on. `None`
    /// for NaN and for negative rates.
    pub fn of_rpm(rpm: Rpm) -> Option<Self> {
        Self::new(100.0 * libm::log10(rpm.0 / RPM_WITHOUT_POINTS) / libm::log10(RPM_RANGE))
    }

    /// Of the mean opinion score of calls: 100 (MOS - 1) / 3.5. `None` for NaN. The E-model gives at most 4.41, which
    /// is 97 points.
    pub fn of_mos(mos: f64) -> Option<Self> {
        Self::new(100.0 * (mos - MOS_LEAST) / MOS_RANGE)
    }

    /// Of the ratio of the load time of a page to that on the idle line: 100 / ratio. `None` unless the ratio is above
    /// 0.
    pub fn of_load_ratio(ratio: f64) -> Option<Self> {
        (ratio > 0.0).then(|| Self::new(100.0 / ratio))?
    }

    /// Of the goodput of all flows together, relative to the capacity of the line in the same unit: 100 sum / capacity.
    /// `None` unless the capacity is above 0.
    pub fn of_goodput(sum: f64, capacity: f64) -> Option<Self> {
        Self::of_share(sum, capacity)
    }

    fn of_share(part: f64, whole: f64) -> Option<Self> {
        (whole > 0.0).then(|| Self::new(100.0 * (part / whole)))?
    }
}

/// The geometric mean of the points that are present; `None` if none is.
///
/// It is 0 if one of them is 0: a line that fails in one application fails.
pub fn total(parts: impl IntoIterator<Item = Option<Points>>) -> Option<Points> {
    let present: Vec<f64> = parts.into_iter().flatten().map(Points::get).collect();
    // ln 0 is -inf, and exp(-inf) is 0.
    let sum: f64 = present.iter().map(|points| libm::log(*points)).sum();
    Points::new(libm::exp(sum / present.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert, proptest};

    #[track_caller]
    fn close(got: Option<Points>, want: f64) {
        assert!(got.is_some_and(|got| (got.get() - want).abs() < 1e-9), "{got:?}, not {want}");
    }

    #[test]
    fn rpm_scale_is_logarithmic_and_bounded() {
        close(Points::of_rpm(Rpm(100.0)), 0.0);
        close(Points::of_rpm(Rpm(6000.0)), 100.0);
        close(Points::of_rpm(Rpm(100.0 * 60f64.sqrt())), 50.0);
        close(Points::of_rpm(Rpm(20_000.0)), 100.0);
        close(Points::of_rpm(Rpm(50.0)), 0.0);
        close(Points::of_rpm(Rpm(0.0)), 0.0);
        assert_eq!(Points::of_rpm(Rpm(-1.0)), None);
    }

    #[test]
    fn other_scales_match_hand_calculation() {
        close(Points::of_mos(4.5), 100.0);
        close(Points::of_mos(2.75), 50.0);
        close(Points::of_mos(1.0), 0.0);
        close(Points::of_load_ratio(1.0), 100.0);
        close(Points::of_load_ratio(4.0), 25.0);
        close(Points::of_load_ratio(0.9), 100.0);
        close(Points::of_goodput(9.5e6, 1e7), 95.0);
    }

    #[test]
    fn undefined_scores_have_no_points() {
        assert_eq!(Points::new(f64::NAN), None);
        assert_eq!(Points::of_mos(f64::NAN), None);
        for whole in [0.0, -1.0, f64::NAN] {
            assert_eq!(Points::of_load_ratio(whole), None);
            assert_eq!(Points::of_goodput(1.0, whole), None);
        }
    }

    #[test]
    fn total_is_geometric_mean_of_present_points() {
        // 25 x 100 = 50^2; 8 x 27 x 64 = 24^3.
        close(total([Points::new(25.0), None, Points::new(100.0)]), 50.0);
        close(total([8.0, 27.0, 64.0].map(Points::new)), 24.0);
        close(total([Points::new(100.0); 6]), 100.0);
        close(total([Points::new(0.0), Points::new(100.0)]), 0.0);
        assert_eq!(total([Points::new(0.0)]), Points::new(0.0));
        assert_eq!(total([None, None]), None);
        assert_eq!(total([]), None);
    }

    proptest! {
        #[test]
        fn total_lies_between_the_extremes(parts in prop::collection::vec(0.0..100.0, 1..20)) {
            let found = total(parts.iter().copied().map(Points::new)).unwrap().get();
            let (least, most) = parts.iter().fold((100.0f64, 0.0f64), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
            prop_assert!(least - 1e-9 <= found && found <= most + 1e-9);
        }

        #[test]
        fn any_score_gives_points_in_range(x in any::<f64>(), y in any::<f64>()) {
            let parts = [
                Points::of_rpm(Rpm(x)),
                Points::of_mos(x),
                Points::of_load_ratio(x),
                Points::of_goodput(x, y),
                total([Points::new(x), Points::new(y)]),
            ];
            for points in parts.into_iter().flatten() {
                prop_assert!((0.0..=100.0).contains(&points.get()));
            }
        }
    }
}
