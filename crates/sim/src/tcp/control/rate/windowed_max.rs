//! The windowed maximum of Linux (`lib/win_minmax.c`, the algorithm of Kathleen Nichols): three samples stand for the
//! window.

/// A value, and the number of the round trip in which it was measured.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    round: u32,
    value: f64,
}

/// The largest value of the last rounds, and two smaller, later ones that follow when it is too old.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct WindowedMax([Measured; 3]);

impl WindowedMax {
    pub(in super::super) const fn get(&self) -> f64 {
        self.0[0].value
    }

    /// A value of this round; values count for `window` rounds after their own.
    pub(in super::super) fn update(&mut self, window: u32, round: u32, value: f64) {
        let new = Measured { round, value };
        let age = |other: Measured| round - other.round;
        let [best, second, third] = self.0;
        if value >= best.value || age(third) > window {
            self.0 = [new; 3];
            return;
        }
        if value >= second.value {
            self.0 = [best, new, new];
        } else if value >= third.value {
            self.0 = [best, second, new];
        }
        let [best, second, third] = self.0;
        if age(best) > window {
            let is_second_old = age(second) > window;
            self.0 = if is_second_old { [third, new, new] } else { [second, third, new] };
        } else if second.round == best.round && age(best) > window / 4 {
            self.0 = [best, new, new];
        } else if third.round == second.round && age(best) > window / 2 {
            self.0 = [best, second, new];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maximum after each of these values, one per round, with a window of four rounds.
    fn maxima(values: &[f64]) -> Vec<f64> {
        let mut max = WindowedMax::default();
        let mut after = |(round, value): (u32, &f64)| {
            max.update(4, round, *value);
            max.get()
        };
        (0..).zip(values).map(&mut after).collect()
    }

    #[test]
    fn largest_value_counts_for_the_window_after_its_round() {
        assert_eq!(maxima(&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0]), [9.0, 9.0, 9.0, 9.0, 9.0, 1.0]);
        assert_eq!(maxima(&[3.0, 5.0, 5.0, 7.0]), [3.0, 5.0, 5.0, 7.0]);
    }

    /// After 9 the filter keeps 7 of a quarter of the window later, and 6 of the second half: 8 is forgotten.
    #[test]
    fn later_values_stand_for_those_between() {
        let all = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0];
        assert_eq!(maxima(&all), [9.0, 9.0, 9.0, 9.0, 9.0, 7.0, 7.0, 6.0]);
    }
}
