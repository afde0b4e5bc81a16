//! A discipline linearised at the equilibrium of discipline and TCP flows: the frequency response from the queue to the
//! discipline's signal probability p, measured by running the discipline's own code with an oscillating queue.

use std::ops::Range;

use forebay_aqm::Spec;
use num_complex::Complex64;

use super::answer::NoAnswer;
use super::answer::Rest;
use super::drive::{self, Driven};
use super::setting::Setting;

/// Frequency response from the queue to the signal probability p; interpolated between the measured frequencies.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) rest: Rest,
    /// Index of the step size with which the search found the equilibrium; see [`PACES`](super::drive::PACES).
    pub(super) pace: usize,
    /// Logarithm of the lowest measured frequency, and the distance between the logarithms of successive frequencies.
    first: f64,
    step: f64,
    /// For each measured frequency: logarithm of the absolute value of the response, and its phase in radians,
    /// continuous over the frequencies.
    points: Vec<[f64; 2]>,
    pub(super) integrators: u32,
    /// Immediate part of the response: the change of p per packet of queue without a periodic update of the discipline.
    direct: f64,
}

/// Number of measured frequencies per decade.
const PER_DECADE: f64 = 12.0;
/// Lowest and highest measured frequency, in radians per round trip.
pub(super) const SLOW: f64 = 0.02;
pub(super) const FAST: f64 = 40.0;

/// A queue that differs from an empty or full one by at most this fraction of the buffer counts as empty or full. The
/// discipline does not control such a queue.
pub(super) const WITHIN: f64 = 1e-3;

impl Controller {
    /// The response with these `gains`, which are pairs of frequency in rad/s and complex gain from the queue to p.
    /// Each frequency is the previous one times a constant factor above 1. `None` if a gain is zero or infinite, or if
    /// there are fewer than two.
    fn new(rest: Rest, pace: usize, direct: f64, gains: &[(f64, Complex64)]) -> Option<Self> {
        let mut points: Vec<[f64; 2]> = Vec::new();
        for (_, gain) in gains {
            let (size, mut phase) = (gain.norm(), gain.arg());
            if !(size.is_finite() && size > 0.0) {
                return None;
            }
            if let Some(before) = points.last() {
                phase = nearest_turn(phase, before[1]);
            }
            points.push([libm::log(size), phase]);
        }
        let [(one, _), (next, _), ..] = gains else { return None };
        let (first, step) = (libm::log(*one), libm::log(next / one));
        let falls = (points[0][0] - points[1][0]) / step;
        Some(Self { rest, pace, first, step, points, integrators: u32::from(falls > 0.5), direct })
    }

    /// The complex gain from the queue to p at `w` rad/s.
    pub(super) fn at(&self, w: f64) -> Complex64 {
        let place = (libm::log(w) - self.first) / self.step;
        // The cast maps frequencies below the first one to index 0.
        let from = (place as usize).min(self.points.len() - 2);
        let ([size_a, phase_a], [size_b, phase_b]) = (self.points[from], self.points[from + 1]);
        let part = place - from as f64;
        if part > 1.0 {
            // At frequencies that the periodic updates cannot follow: the immediate part of the gain, and of the other
            // part what a sample-and-hold lets through.
            let edge = Complex64::from_polar(libm::exp(size_b), phase_b);
            return self.direct + (edge - self.direct) * libm::exp((1.0 - part) * self.step);
        }
        // Below the lowest measured frequency, the gain of a discipline with an integrator is extrapolated; other gains
        // are constant.
        let size = size_a + if part < 0.0 && self.integrators == 0 { 0.0 } else { part * (size_b - size_a) };
        let phase = phase_a + part.max(0.0) * (phase_b - phase_a);
        Complex64::from_polar(libm::exp(size), phase)
    }

    /// Interpolation between this response and `other`, measured at the same frequencies; `part` is the weight of
    /// `other`.
    pub(super) fn towards(&self, other: &Self, part: f64) -> Self {
        let between = |a: f64, b: f64| a + part * (b - a);
        let turns = nearest_turn(other.points[0][1], self.points[0][1]) - other.points[0][1];
        let points = self.points.iter().zip(&other.points);
        Self {
            rest: Rest {
                q: between(self.rest.q, other.rest.q),
                p: libm::exp(between(libm::log(self.rest.p), libm::log(other.rest.p))),
                rate: between(self.rest.rate, other.rest.rate),
            },
            points: points.map(|(a, b)| [between(a[0], b[0]), between(a[1], b[1] + turns)]).collect(),
            integrators: if part < 0.5 { self.integrators } else { other.integrators },
            direct: between(self.direct, other.direct),
            ..*self
        }
    }
}

/// `phase` plus the multiple of 2 pi with which it is closest to the phase `other`.
fn nearest_turn(phase: f64, other: f64) -> f64 {
    use std::f64::consts::TAU;
    phase + TAU * ((other - phase) / TAU).round()
}

/// The frequencies at which the response of a discipline is measured, in rad/s, ascending. `rtt_s`: shortest and
/// longest round-trip time of the flows in seconds. The highest frequency is below the Nyquist frequency of the
/// discipline's periodic updates every `tick_s` seconds, except that it is at least four times the lowest.
pub(super) fn frequencies(rtt_s: [f64; 2], tick_s: f64) -> Vec<f64> {
    let from = SLOW / rtt_s[1];
    let to = (FAST / rtt_s[0]).min(0.9 * std::f64::consts::PI / tick_s).max(4.0 * from);
    let steps = (libm::log10(to / from) * PER_DECADE).ceil();
    (0..=steps as u32).map(|i| from * libm::pow(to / from, f64::from(i) / steps)).collect()
}

/// The discipline `spec` with the link and flows of `setting`, linearised at the equilibrium.
pub(super) fn of(spec: &Spec, setting: &Setting) -> Result<Controller, NoAnswer> {
    let own = |driven: &Driven<'_>, rest: Rest| {
        let rtt_s = setting.at_rest(rest.q, rest.rate).mean_rtt_s();
        frequencies([rtt_s; 2], driven.period_s())
    };
    driven_at(spec, setting, drive::PACES, &own)
}

/// The discipline linearised at the equilibrium, which is searched with the step sizes of the indices `paces` until one
/// converges. `choose` returns the frequencies at which the response is measured, ascending.
pub(super) fn driven_at(
    spec: &Spec,
    setting: &Setting,
    paces: Range<usize>,
    choose: &dyn Fn(&Driven<'_>, Rest) -> Vec<f64>,
) -> Result<Controller, NoAnswer> {
    let make = || spec.fluid(&setting.link).ok_or(NoAnswer::NoModel);
    make()?;
    let fresh = || make().unwrap_or_else(|_| unreachable!("it was one a line ago"));
    let (at_rest, rest, pace) = drive::rest(&fresh, setting, paces).ok_or(NoAnswer::NotFound)?;
    let full = rest.rate > (1.0 - WITHIN) * setting.capacity;
    let pinned = full && rest.q < WITHIN * setting.limit || rest.q > (1.0 - WITHIN) * setting.limit;
    if pinned || rest.p >= 1.0 {
        return Err(NoAnswer::NoRest);
    }
    let mut driven = at_rest.clone();
    let mut gains: Vec<(f64, Complex64)> = Vec::new();
    let (frequencies, mut line) = (choose(&at_rest, rest), None);
    for w in frequencies.iter().copied().rev() {
        let gain = if let Some(((from, gain), order)) = line {
            gain * libm::pow(from / w, order)
        } else {
            // Each measurement starts from the equilibrium: the state that an integrator keeps of the previous
            // oscillation must not affect the next one.
            driven = at_rest.clone();
            drive::response(&mut driven, rest, w)
        };
        gains.push((w, gain));
        if line.is_none() && w < SHOWS * frequencies[0] {
            line = straight(&gains).map(|order| ((w, gain), order));
        }
    }
    gains.reverse();
    let direct = if rest.q > 0.0 { driven.p(rest.q + 0.5) - driven.p(rest.q - 0.5) } else { 0.0 };
    Controller::new(rest, pace, direct, &gains).ok_or(NoAnswer::NotFound)
}

/// Constants of [`straight`], which finds out whether a discipline integrates: number of consecutive gains that are
/// tested, tolerances for slope and phase, and the phase error that is ignored. Such an error arises because packet
/// counters are whole numbers.
const STRAIGHT: usize = 4;
const SLOPE: f64 = 0.02;
const PHASE: f64 = 0.01;
const UNHEEDED: f64 = 0.002;
/// The phase of a gain shows whether the gain has a corner at a lower frequency, down to the gain's frequency divided
/// by SHOWS.
const SHOWS: f64 = 100.0;

/// The number of integrators of a discipline, 0 or 1, if its last gains are on a straight line in the Bode plot, else
/// `None`. `gains` have falling frequencies. The gain must be constant (0 integrators) or inversely proportional to the
/// frequency (1 integrator). The difference of the phase from 0 or -90 degrees must decrease; a corner of the gain at a
/// lower frequency would increase it.
fn straight(gains: &[(f64, Complex64)]) -> Option<f64> {
    let last = &gains[gains.len().checked_sub(STRAIGHT)?..];
    let ([(fast, a), .., (slow, b)], lines) = (last, [(0.0, 1.0.into()), (1.0, -Complex64::i())]) else { return None };
    lines.into_iter().find_map(|(order, turn)| {
        // The sign of the gain has no effect on its straightness.
        let lacks = |gain: Complex64| (gain / turn).im.abs() / gain.norm();
        let slope = libm::log(b.norm() / a.norm()) / libm::log(fast / slow);
        let near = (slope - order).abs() < SLOPE && last.iter().all(|(_, gain)| lacks(*gain) < PHASE);
        (near && lacks(*b) < (0.75 * lacks(*a)).max(UNHEEDED)).then_some(order)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::example;

    #[test]
    fn frequency_response_of_linearised_pi_matches_its_formula() {
        // PI every 1/170 s: p += a (q - ref) - b (before - ref), with the queue q and the queue `before` one period
        // earlier.
        let (spec, setting) = example(&[], "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200");
        let controller = of(&spec, &setting).unwrap();
        assert!((controller.rest.q - 200.0).abs() < 1.0, "{:?}", controller.rest);
        assert_eq!(controller.integrators, 1);
        for i in 0..controller.points.len() {
            let w = libm::exp(controller.first + i as f64 * controller.step);
            let z = Complex64::from_polar(1.0, -w / 170.0);
            let want = (1.822e-5 - 1.816e-5 * z) / Complex64::new(0.0, w / 170.0);
            let ratio = controller.at(w) / want;
            assert!((ratio - 1.0).norm() < 0.03, "{w}: {ratio}");
        }
    }
    #[test]
    fn frequency_response_of_rem_matches_its_formula() {
        // REM near its equilibrium, every 2 ms: p += g ((1 + alpha) (q - b) - (before - b)), with g = gamma ln(phi)
        // (1 - p) and the queue `before` one period earlier. The gain is a straight line below some frequency.
        let (spec, setting) = example(&[], "rem gamma=0.001 phi=1.001 alpha=0.1 b=200 interval=2ms");
        let controller = of(&spec, &setting).unwrap();
        let g = 0.001 * libm::log(1.001) * (1.0 - controller.rest.p);
        for i in 0..controller.points.len() {
            let w = libm::exp(controller.first + i as f64 * controller.step);
            let z = Complex64::from_polar(1.0, -w * 0.002);
            let want = g * (1.1 - z) / Complex64::new(0.0, w * 0.002);
            let ratio = controller.at(w) / want;
            assert!((ratio - 1.0).norm() < 0.03, "{w}: {ratio}");
        }
    }
}
