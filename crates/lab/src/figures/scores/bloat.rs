//! The bufferbloat grade of speed tests: a letter for the increase of the round-trip time under load over the idle
//! line.
//!
//! Source: DSLReports, "Bufferbloat Grades", <https://www.dslreports.com/faq/17930>.

/// How the increases of the two directions become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Directions {
    /// Their mean: DSLReports, LibreQoS.
    Mean,
    /// The larger one: the test of Waveform, according to others who describe it.
    Worse,
}

impl Directions {
    /// The increase of the round-trip time in ms, from the increase during a download and that during an upload, both
    /// in ms. Each is the mean round-trip time under load minus the mean on the idle line. `None` if one is not finite.
    pub fn increase_ms(self, down_ms: f64, up_ms: f64) -> Option<f64> {
        let increase = match self {
            // Each half is finite even if the sum is not.
            Self::Mean => down_ms / 2.0 + up_ms / 2.0,
            Self::Worse => down_ms.max(up_ms),
        };
        (down_ms.is_finite() && up_ms.is_finite()).then_some(increase)
    }
}

/// A bufferbloat grade, from best to worst. There is no E.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// An increase of less than 5 ms.
    APlus,
    /// Less than 30 ms.
    A,
    /// Less than 60 ms.
    B,
    /// Less than 200 ms.
    C,
    /// Less than 400 ms.
    D,
    /// 400 ms or more.
    F,
}

impl Grade {
    /// The grade of an increase of the round-trip time in ms. A negative increase is noise: its grade is A+. `None` for
    /// NaN.
    pub fn of(increase_ms: f64) -> Option<Self> {
        if increase_ms.is_nan() {
            return None;
        }
        let bounds = [(5.0, Self::APlus), (30.0, Self::A), (60.0, Self::B), (200.0, Self::C), (400.0, Self::D)];
        let met = bounds.into_iter().find(|(below, _)| increase_ms < *below);
        Some(met.map_or(Self::F, |(_, grade)| grade))
    }

    /// The grade as speed tests write it, such as "A+".
    pub const fn word(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_change_at_the_bounds_of_dslreports() {
        let table = [
            (-3.0, "A+"),
            (0.0, "A+"),
            (4.999, "A+"),
            (5.0, "A"),
            (29.999, "A"),
            (30.0, "B"),
            (59.999, "B"),
            (60.0, "C"),
            (199.999, "C"),
            (200.0, "D"),
            (399.999, "D"),
            (400.0, "F"),
            (f64::INFINITY, "F"),
        ];
        for (increase, word) in table {
            assert_eq!(Grade::of(increase).unwrap().word(), word, "{increase}");
        }
        assert_eq!(Grade::of(f64::NAN), None);
    }

    #[test]
    fn directions_give_mean_or_larger_increase() {
        assert_eq!(Directions::Mean.increase_ms(2.0, 10.0), Some(6.0));
        assert_eq!(Directions::Worse.increase_ms(2.0, 10.0), Some(10.0));
        assert_eq!(Directions::Mean.increase_ms(f64::MAX, f64::MAX), Some(f64::MAX));
        for directions in [Directions::Mean, Directions::Worse] {
            assert_eq!(directions.increase_ms(f64::NAN, 1.0), None);
            assert_eq!(directions.increase_ms(1.0, f64::INFINITY), None);
        }
    }

    #[test]
    fn better_grades_are_smaller() {
        assert!(Grade::APlus < Grade::A && Grade::A < Grade::B && Grade::D < Grade::F);
    }
}
