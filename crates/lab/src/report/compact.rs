//! Reduces the size of `report.html`: the lines of its figures get fewer points and digits, and points that are evenly
//! spaced in x are stored without x.

use super::shapes::{Figure, Points, Series};

/// Largest number of points of all lines of a report together. With more, lines of evenly spaced points are reduced to
/// fewer points.
const MAX_POINTS: usize = 200_000;

/// Reduces the points of all figures that are lines. Other figures keep their points.
pub(super) fn compact(figures: &mut [Figure]) {
    let mut lines: Vec<&mut Series> =
        figures.iter_mut().filter(|figure| figure.kind == "line").flat_map(|figure| &mut figure.series).collect();
    let total: usize = lines.iter().map(|line| line.points.len()).sum();
    let bucket = 2 * total.div_ceil(MAX_POINTS);
    for line in &mut lines {
        let Points::Places(all) = &mut line.points else { continue };
        all.iter_mut().for_each(|(_, y)| *y = y.map(four_digits));
        if let Some((from, step)) = even(all) {
            let y: Vec<Option<f64>> = all.iter().map(|(_, y)| *y).collect();
            line.points = match bucket {
                0..=2 => Points::Even { from, step, y },
                _ => Points::Even { from, step: step * bucket as f64 / 2.0, y: extremes(&y, bucket) },
            };
        }
    }
}

/// Replaces each `bucket` y values of a line in succession by two: the smallest and the largest, in their order. If all
/// of them are missing, the line has a gap.
fn extremes(all: &[Option<f64>], bucket: usize) -> Vec<Option<f64>> {
    let of_bucket = |values: &[Option<f64>]| -> [Option<f64>; 2] {
        let known = || values.iter().enumerate().filter_map(|(at, y)| Some((at, (*y)?)));
        let low = known().min_by(|a, b| a.1.total_cmp(&b.1));
        let high = known().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((low, high)) = low.zip(high) else { return [None; 2] };
        let (first, second) = if low.0 < high.0 { (low, high) } else { (high, low) };
        [Some(first.1), Some(second.1)]
    };
    all.chunks(bucket).flat_map(of_bucket).collect()
}

fn four_digits(y: f64) -> f64 {
    format!("{y:.3e}").parse().unwrap_or(y)
}

/// First x, and distance in x between two points, if the points are evenly spaced.
fn even(all: &[(f64, Option<f64>)]) -> Option<(f64, f64)> {
    let ([(from, _), ..], [.., (to, _)]) = (all, all) else { return None };
    let step = (to - from) / (all.len().max(2) - 1) as f64;
    let is_even = |(k, (x, _)): (usize, &(f64, Option<f64>))| (x - from - k as f64 * step).abs() <= 1e-6 * step.abs();
    (all.len() > 2 && step > 0.0 && all.iter().enumerate().all(is_even)).then_some((*from, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(y: &[f64]) -> Vec<(f64, Option<f64>)> {
        y.iter().enumerate().map(|(x, y)| (0.5 * x as f64, Some(*y))).collect()
    }

    #[test]
    fn lines_reduced_to_fewer_points_keep_their_peaks() {
        let all = [1.0, 9.0, 2.0, 3.0, 5.0, 4.0, 0.5, 4.0].map(Some);
        assert_eq!(extremes(&all, 4), [1.0, 9.0, 5.0, 0.5].map(Some));
        assert_eq!(extremes(&[None, None, Some(1.0)], 2), [None, None, Some(1.0), Some(1.0)]);
    }

    #[test]
    fn points_evenly_spaced_in_x_are_recognised() {
        assert_eq!(even(&places(&[1.0, 2.0, 3.0])), Some((0.0, 0.5)));
        assert_eq!(even(&[(0.0, None), (1.0, None), (3.0, None)]), None);
        assert_eq!(even(&places(&[1.0])), None);
    }

    #[test]
    fn lines_of_a_large_report_get_fewer_points() {
        let line = || Series { points: Points::Places(places(&vec![1.234_56; 100_000])), ..Series::default() };
        let mut figures = [Figure { kind: "line", series: (0..7).map(|_| line()).collect(), ..Figure::default() }];
        compact(&mut figures);
        let total: usize = figures[0].series.iter().map(|line| line.points.len()).sum();
        assert!(total <= MAX_POINTS, "{total}");
    }
}
