//! Stability of a loop with gain L by the Nyquist criterion, with exact delays (no rational approximation).

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use num_complex::Complex64;

/// Stability margins of a loop. Frequencies are in rad/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Margins {
    /// Number of unstable modes of the closed loop.
    pub growing: u32,
    /// Highest frequency at which the gain crosses 1; `None` if it never does.
    pub crossover: Option<f64>,
    /// Phase margin in degrees, the minimum over all crossovers; negative if the phase at a crossover is below -180
    /// degrees.
    pub phase_deg: Option<f64>,
    /// Delay margin in seconds: additional delay at which a mode becomes unstable; 0 if one already is.
    pub delay_s: Option<f64>,
    /// Gain margin as a factor: gain at which a mode becomes unstable; `None`: unlimited, or one already is.
    pub gain: Option<f64>,
}

impl Margins {
    /// Are all modes of the closed loop stable?
    pub const fn is_stable(&self) -> bool {
        self.growing == 0
    }
}

/// Number of initial frequencies per decade.
const PER_DECADE: f64 = 32.0;
/// If 1 + L turns by more than 0.2 radians between two frequencies, one is inserted. This is the tangent of 0.2.
const TAN_TURN: f64 = 0.202_710_035_508_672_5;
/// Maximum number of bisections of an interval.
const DEPTH: u32 = 24;

/// L(jw) at a frequency.
#[derive(Clone, Copy)]
struct Point {
    w: f64,
    gain: Complex64,
}

/// The margins of a loop with negative feedback and the loop gain `gain(w)` = L(jw), where `w` is in rad/s. L must have
/// `integrators` poles at 0 and none in the right half plane. Above `to` it must be negligible. At and below `from` its
/// poles at 0 must dominate.
pub fn margins(gain: &dyn Fn(f64) -> Complex64, integrators: u32, from: f64, to: f64) -> Margins {
    let points = curve(gain, from, to);
    let turn = turned(&points);
    // 1 + L turns from -90 degrees per integrator to 0, minus half a turn per unstable mode.
    let growing = ((f64::from(integrators) * FRAC_PI_2 - turn) / PI).round().max(0.0) as u32;
    let falls = |two: &&[Point]| (two[0].gain.norm_sqr() > 1.0) != (two[1].gain.norm_sqr() > 1.0);
    let crossovers: Vec<Point> =
        points.windows(2).filter(falls).map(|two| cross(gain, two, |l| libm::log(l.norm_sqr()))).collect();
    // Remaining phase to -180 degrees, between -180 and 180 degrees.
    let left = |point: &Point| {
        let left = point.gain.arg() + PI;
        if left > PI { left - TAU } else { left }
    };
    // Delay only turns the curve clockwise: a negative phase has another full turn to go.
    let delay = |point: &Point| left(point).rem_euclid(TAU) / point.w;
    let least = |values: Vec<f64>| values.into_iter().reduce(f64::min);
    let behind = |two: &&[Point]| {
        (two[0].gain.im > 0.0) != (two[1].gain.im > 0.0) && two[0].gain.re < 0.0 && two[1].gain.re < 0.0
    };
    let edges = points.windows(2).filter(behind).map(|two| cross(gain, two, |l| l.im / l.re));
    let room = edges.map(|point| 1.0 / point.gain.norm()).filter(|room| *room > 1.0);
    Margins {
        growing,
        crossover: crossovers.last().map(|point| point.w),
        phase_deg: least(crossovers.iter().map(|point| left(point).to_degrees()).collect()),
        delay_s: if growing > 0 { Some(0.0) } else { least(crossovers.iter().map(delay).collect()) },
        gain: if growing > 0 { None } else { least(room.collect()) },
    }
}

/// A number whose argument is the angle from 1 + `a` to 1 + `b`, from -pi to pi. Its magnitude is |1 + a| |1 + b|.
fn between(a: Complex64, b: Complex64) -> Complex64 {
    (a + 1.0).conj() * (b + 1.0)
}

/// Total turn of 1 + L in radians, counterclockwise positive: the last argument minus the first, plus a full turn, in
/// the direction of the crossing, for each crossing of the negative real axis.
fn turned(points: &[Point]) -> f64 {
    let rounds = points.windows(2).map(|two| {
        let [a, b] = [two[0].gain, two[1].gain];
        match (a.im >= 0.0, b.im >= 0.0) {
            (true, false) if between(a, b).im > 0.0 => 1.0,
            (false, true) if between(a, b).im < 0.0 => -1.0,
            _ => 0.0,
        }
    });
    let arg = |point: Option<&Point>| point.map_or(0.0, |at| (at.gain + 1.0).arg());
    arg(points.last()) - arg(points.first()) + TAU * rounds.sum::<f64>()
}

/// The gain over all frequencies, with more points where 1 + L turns fast.
fn curve(gain: &dyn Fn(f64) -> Complex64, from: f64, to: f64) -> Vec<Point> {
    let decades = libm::log10(to / from);
    let steps = (decades * PER_DECADE).ceil().max(1.0);
    let step = libm::pow(to / from, 1.0 / steps);
    let at = |w: f64| Point { w, gain: gain(w) };
    let mut last = at(from);
    let mut points = vec![last];
    for _ in 0..steps as u32 {
        let next = at(last.w * step);
        refine(gain, last, next, DEPTH, &mut points);
        last = next;
    }
    points
}

/// Adds `end`, and before it intermediate points between which 1 + L turns little.
fn refine(gain: &dyn Fn(f64) -> Complex64, start: Point, end: Point, depth: u32, points: &mut Vec<Point>) {
    let angle = between(start.gain, end.gain);
    if depth > 0 && angle.im.abs() > TAN_TURN * angle.re {
        let w = libm::sqrt(start.w * end.w);
        let middle = Point { w, gain: gain(w) };
        refine(gain, start, middle, depth - 1, points);
        refine(gain, middle, end, depth - 1, points);
    } else {
        points.push(end);
    }
}

/// Finds the point between two frequencies at which `value` of the gain is 0, by regula falsi (Illinois method).
fn cross(gain: &dyn Fn(f64) -> Complex64, two: &[Point], value: impl Fn(Complex64) -> f64) -> Point {
    let at = |x: f64| Point { w: libm::exp(x), gain: gain(libm::exp(x)) };
    let (mut a, mut b) = (libm::log(two[0].w), libm::log(two[1].w));
    let (mut at_a, mut at_b) = (value(two[0].gain), value(two[1].gain));
    let mut found = two[0];
    for _ in 0..60 {
        let x = if at_b == at_a { 0.5 * (a + b) } else { b - at_b * (b - a) / (at_b - at_a) };
        found = at(x);
        let here = value(found.gain);
        if (x - b).abs() < 1e-12 || here == 0.0 {
            break;
        }
        if (here > 0.0) == (at_b > 0.0) {
            // The other end did not move: the Illinois method halves its value.
            at_a *= 0.5;
        } else {
            (a, at_a) = (b, at_b);
        }
        (b, at_b) = (x, here);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// k e^(-s d)/s: stable for k d < pi/2.
    fn delayed(k: f64, d: f64) -> impl Fn(f64) -> Complex64 {
        move |w| Complex64::from_polar(k / w, -FRAC_PI_2 - w * d)
    }

    #[test]
    fn delayed_integrator_has_known_margins() {
        let calm = margins(&delayed(1.0, 1.0), 1, 1e-4, 1e3);
        assert!(calm.is_stable());
        assert!((calm.crossover.unwrap() - 1.0).abs() < 1e-9);
        assert!((calm.phase_deg.unwrap() - (90.0 - 1.0_f64.to_degrees())).abs() < 1e-6);
        assert!((calm.delay_s.unwrap() - (FRAC_PI_2 - 1.0)).abs() < 1e-9);
        assert!((calm.gain.unwrap() - FRAC_PI_2).abs() < 1e-6);
        for (k, growing) in [(1.56, 0), (1.58, 2), (7.8, 2), (7.9, 4)] {
            assert_eq!(margins(&delayed(k, 1.0), 1, 1e-4, 1e4).growing, growing, "{k}");
        }
        assert_eq!(margins(&delayed(2.0, 1.0), 1, 1e-4, 1e3).delay_s, Some(0.0));
    }

    #[test]
    fn third_order_lag_matches_routh_criterion() {
        // k/(s + 1)^3 is stable for k < 8; its critical frequency is sqrt(3).
        let lags = |k: f64| move |w: f64| k / Complex64::new(1.0, w).powu(3);
        let calm = margins(&lags(4.0), 0, 1e-4, 1e4);
        assert!(calm.is_stable() && (calm.gain.unwrap() - 2.0).abs() < 1e-6);
        assert_eq!([7.9, 8.1].map(|k| margins(&lags(k), 0, 1e-4, 1e4).growing), [0, 2]);
        let quiet = margins(&lags(0.5), 0, 1e-4, 1e4);
        assert_eq!((quiet.crossover, quiet.phase_deg, quiet.delay_s), (None, None, None));
    }

    #[test]
    fn double_integrator_is_stable_only_with_phase_lead() {
        let lead = |w: f64| Complex64::new(1.0, w) / Complex64::new(-w * w, 0.0);
        assert!(margins(&lead, 2, 1e-3, 1e5).is_stable());
        let none = |w: f64| Complex64::new(1.0, -0.1 * w) / Complex64::new(-w * w, 0.0);
        assert_eq!(margins(&none, 2, 1e-3, 1e5).growing, 2);
    }
}
