//! A stability map of a discipline. Its axes are two of these: number of flows, round-trip time, link rate. Each cell
//! is one loop of the discipline and TCP flows, and a map can have tens of thousands of cells. p is the signal
//! probability.
//!
//! A discipline is linearised only at some signal probabilities and link rates. Its response in between is
//! interpolated. The stability of each loop is then computed with its own flows and exact delays.

use std::ops::Range;

use forebay_aqm::Spec;
use serde::Serialize;

use super::controller::{self, Controller, WITHIN};
use super::drive::{Driven, PACES};
use super::setting::{Scaled, Setting};
use super::stability::{self, NoAnswer, Stability};

/// An axis of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity along the axis.
    pub what: Scaled,
    /// Factors on the value that the quantity has in the scenario, ascending.
    pub factors: Vec<f64>,
}

impl Axis {
    /// `cells` factors from `from` to `to`, in geometric progression.
    pub fn new(what: Scaled, from: f64, to: f64, cells: usize) -> Self {
        let step = libm::log(to / from) / (cells.max(2) - 1) as f64;
        Self { what, factors: (0..cells).map(|i| from * libm::exp(step * i as f64)).collect() }
    }

    fn ends(&self) -> [f64; 2] {
        [self.factors.first(), self.factors.last()].map(|end| end.copied().unwrap_or(1.0))
    }
}

/// Result for one cell of the map: the loop with the values that the two quantities have there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Whether the loop is stable.
    pub stable: bool,
    /// Number of packets that wait at equilibrium.
    pub q_rest_pkts: f64,
    /// Signal probability at equilibrium.
    pub p_rest: f64,
    /// Delay that may be added to the loop before it becomes unstable; `None` if unlimited.
    pub delay_margin_ms: Option<f64>,
}

impl Cell {
    const fn new(found: &Stability) -> Self {
        let Stability { stable, q_rest_pkts, p_rest, delay_margin_ms, .. } = *found;
        Self { stable, q_rest_pkts, p_rest, delay_margin_ms }
    }
}

/// Ratio of the numbers of flows at successive equilibria at which a discipline with an integrator is linearised. Its
/// gain from the queue to the signal probability is a power of this probability.
const FAR: f64 = 2.5;
/// The same ratio for other disciplines.
const NEAR: f64 = 1.5;
/// Number of step sizes with which the next equilibrium is searched: the step size that found the previous equilibrium,
/// then smaller ones.
const FINER: usize = 2;
/// Link rates per decade at which a discipline is linearised.
const RATES: f64 = 8.0;

/// The stability map of the discipline `spec`: a row for each factor of the axis `y`, and in it a cell for each factor
/// of the axis `x`. A cell without equilibrium is `None`.
pub fn of(spec: &Spec, setting: &Setting, [x, y]: [&Axis; 2]) -> Result<Vec<Vec<Option<Cell>>>, NoAnswer> {
    let setting = Setting { left_out: Vec::new(), ..setting.clone() };
    let at = |fx: f64, fy: f64| setting.scaled(x.what, fx).scaled(y.what, fy);
    let corners: Vec<Setting> = x.ends().iter().flat_map(|fx| y.ends().map(|fy| at(*fx, fy))).collect();
    let rates = |side: &Axis| if side.what == Scaled::Capacity { side.ends() } else { [1.0; 2] };
    let [low, high] = [0, 1].map(|end| rates(x)[end] * rates(y)[end]);
    let steps = (libm::log10(high / low) * RATES).ceil().max(0.0);
    let factor = |i: f64| if steps > 0.0 { low * libm::pow(high / low, i / steps) } else { low };
    let mut why = NoAnswer::NoRest;
    let links: Vec<Family> = (0..=steps as u32)
        .filter_map(|i| {
            let link = setting.scaled(Scaled::Capacity, factor(f64::from(i)));
            Family::new(spec, &link, &corners).map_err(|reason| why = reason).ok()
        })
        .collect();
    if links.is_empty() {
        return Err(why);
    }
    let cell = |here: &Setting| -> Option<Cell> {
        let next = links.partition_point(|link| link.capacity < here.capacity * (1.0 - 1e-9));
        let after = links.get(next)?;
        // This link is slower than the slowest one at which the discipline was linearised: there is no equilibrium for
        // it.
        if next == 0 && after.capacity > here.capacity * (1.0 + 1e-9) {
            return None;
        }
        let before = &links[next.saturating_sub(1)];
        let width = libm::log(after.capacity / before.capacity);
        let part = if width > 0.0 { libm::log(here.capacity / before.capacity) / width } else { 1.0 };
        Some(Cell::new(&stability::closed(&rest_of(before, after, part, here)?, here)))
    };
    Ok(y.factors.iter().map(|fy| x.factors.iter().map(|fx| cell(&at(*fx, *fy))).collect()).collect())
}

/// A discipline on one link, linearised at equilibria with ascending signal probabilities.
struct Family {
    capacity: f64,
    rests: Vec<Controller>,
}

impl Family {
    /// The equilibria of the discipline on the link of `setting`, with numbers of flows such that the range of the
    /// flows' windows includes the windows at all corners of the map. `corners` are the link and flows at these
    /// corners.
    fn new(spec: &Spec, setting: &Setting, corners: &[Setting]) -> Result<Self, NoAnswer> {
        // The window with which the flows of a corner fill the link, for a queue of this length.
        let window = |flows: &Setting, queue: f64| {
            let queueing = queue / flows.capacity;
            flows.capacity / flows.flows.iter().map(|kind| kind.count / (kind.base_s + queueing)).sum::<f64>()
        };
        let span = |wanted: fn(f64, f64) -> f64, queue: f64, start: f64| {
            corners.iter().map(|corner| window(corner, queue * corner.limit)).fold(start, wanted)
        };
        let [least, most] = [span(f64::min, 0.0, f64::INFINITY), span(f64::max, 1.0, 0.0)];
        // Factors on the number of flows of `setting` that give the largest and the smallest of these windows.
        let [few, many] = [window(setting, 0.0) / most, window(setting, setting.limit) / least];
        let rtt = |wanted: fn(f64, f64) -> f64, queue: f64, start: f64| {
            let of = |corner: &Setting| corner.at_rest(queue * corner.limit, corner.capacity).mean_rtt_s();
            corners.iter().map(of).fold(start, wanted)
        };
        let rtts = [rtt(f64::min, 0.0, f64::INFINITY), rtt(f64::max, 1.0, 0.0)];
        let choose = |driven: &Driven<'_>, _| controller::frequencies(rtts, driven.period_s());
        let with = |factor: f64, paces: Range<usize>| {
            controller::driven_at(spec, &setting.scaled(Scaled::Flows, factor), paces, &choose)
        };
        let middle = 1.0_f64.clamp(few, many);
        let first = with(middle, PACES)?;
        let step = if first.integrators > 0 { FAR } else { NEAR };
        let mut rests = vec![first];
        // Searches equilibria with more and with fewer flows, until none is found. Beyond them a discipline with an
        // integrator is extrapolated.
        for (step, end) in [(step, many), (1.0 / step, few)] {
            let (mut factor, mut pace) = (middle, rests[0].pace);
            while (factor < end) == (step > 1.0) && factor != end {
                factor *= step;
                match with(factor, pace..(pace + FINER).min(PACES.end)) {
                    Ok(rest) => {
                        pace = rest.pace;
                        rests.push(rest);
                    }
                    Err(_) => break,
                }
            }
        }
        rests.sort_by(|a, b| a.rest.p.total_cmp(&b.rest.p));
        Ok(Self { capacity: setting.capacity, rests })
    }

    /// Whether the discipline holds the same queue for any signal probability p.
    fn integrates(&self) -> bool {
        self.rests.iter().all(|at| at.integrators > 0)
    }

    /// Smallest and largest signal probability of the equilibria in the family.
    fn span(&self) -> [f64; 2] {
        if self.integrates() { [1e-12, 0.9] } else { [0, self.rests.len() - 1].map(|i| self.rests[i].rest.p) }
    }

    /// The equilibria with the next lower and the next higher signal probability than `p`, and the weight of the higher
    /// one for the interpolation at `p`. `p` is within [`Self::span`].
    fn place(&self, p: f64) -> (&Controller, &Controller, f64) {
        let next = self.rests.partition_point(|at| at.rest.p < p).clamp(1, (self.rests.len() - 1).max(1));
        let (a, b) = (&self.rests[next - 1], &self.rests[next.min(self.rests.len() - 1)]);
        let width = libm::log(b.rest.p / a.rest.p);
        (a, b, if width > 0.0 { libm::log(p / a.rest.p) / width } else { 0.0 })
    }

    /// Queue in packets and load in packets per second at the equilibrium with signal probability `p`, interpolated.
    fn rest(&self, p: f64) -> [f64; 2] {
        let (a, b, part) = self.place(p);
        [(a.rest.q, b.rest.q), (a.rest.rate, b.rest.rate)].map(|(a, b)| a + part * (b - a))
    }

    fn at(&self, p: f64) -> Controller {
        let (a, b, part) = self.place(p);
        a.towards(b, part)
    }
}

/// The discipline linearised at its equilibrium with the flows of `here`, interpolated between the link rates of
/// `before` and `after`; `part` is the weight of `after`. `None` without equilibrium.
fn rest_of(before: &Family, after: &Family, part: f64, here: &Setting) -> Option<Controller> {
    let rest = |p: f64| {
        let ([q_a, rate_a], [q_b, rate_b]) = (before.rest(p), after.rest(p));
        [q_a + part * (q_b - q_a), rate_a + part * (rate_b - rate_a)]
    };
    // Above 0 if the flows would send more than the discipline allows at this p: then the p of the equilibrium is
    // larger.
    let excess = |p: f64| {
        let [q, rate] = rest(p);
        here.queue_for(p) + here.rate_for(p) - q - rate
    };
    let ([low_a, high_a], [low_b, high_b]) = (before.span(), after.span());
    let (mut low, mut high) = (low_a.max(low_b), high_a.min(high_b));
    if low > high || excess(low) < 0.0 || excess(high) > 0.0 {
        return None;
    }
    for _ in 0..40 {
        let p = libm::sqrt(low * high);
        if excess(p) > 0.0 { low = p } else { high = p }
    }
    let found = before.at(low).towards(&after.at(low), part);
    let full = found.rest.rate > (1.0 - WITHIN) * here.capacity;
    let pinned = full && found.rest.q < WITHIN * here.limit || found.rest.q > (1.0 - WITHIN) * here.limit;
    (!pinned).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::example;

    /// Number of cells of the map whose stability differs from that of the same loop computed alone, and number of
    /// cells.
    fn disagree(aqm: &str, x: &Axis, y: &Axis) -> (usize, usize) {
        let (spec, setting) = example(&[], aqm);
        let map = of(&spec, &setting, [x, y]).unwrap();
        let (mut wrong, mut all) = (0, 0);
        for (row, fy) in map.iter().zip(&y.factors) {
            for (cell, fx) in row.iter().zip(&x.factors) {
                let alone = stability::of(&spec, &setting.scaled(x.what, *fx).scaled(y.what, *fy));
                let same = match (cell, &alone) {
                    (Some(cell), Ok(alone)) => cell.stable == alone.stable,
                    // The search for a single loop can miss an equilibrium that the map has by extrapolation.
                    (None, Err(_)) | (Some(_), Err(NoAnswer::NotFound)) => true,
                    _ => false,
                };
                (wrong, all) = (wrong + usize::from(!same), all + 1);
            }
        }
        (wrong, all)
    }

    #[test]
    fn stability_map_agrees_with_loops_computed_alone() {
        let flows = Axis::new(Scaled::Flows, 0.1, 3.0, 4);
        let rtt = Axis::new(Scaled::RoundTrip, 0.3, 3.0, 3);
        let rate = Axis::new(Scaled::Capacity, 0.4, 2.5, 3);
        let pi = "pi a=1.822e-5 b=1.816e-5 w=170 q_ref=200";
        for (aqm, x, y) in [(pi, &flows, &rtt), (pi, &flows, &rate), ("raqm", &flows, &rtt), ("rem", &flows, &rtt)] {
            let (wrong, all) = disagree(aqm, x, y);
            assert!(wrong <= 1, "{aqm}, {:?}: {wrong} of {all}, and only one may lie on the edge", y.what);
        }
    }

    #[test]
    fn interpolated_margins_agree_with_loop_computed_alone() {
        let (spec, setting) = example(&[], "raqm");
        let (flows, rtt) = (0.7, 1.3);
        let axes = [Axis::new(Scaled::Flows, flows, flows, 1), Axis::new(Scaled::RoundTrip, rtt, rtt, 1)];
        let map = of(&spec, &setting, [&axes[0], &axes[1]]).unwrap();
        let here = setting.scaled(Scaled::Flows, flows).scaled(Scaled::RoundTrip, rtt);
        let (cell, alone) = (map[0][0].unwrap(), stability::of(&spec, &here).unwrap());
        let close = |got: f64, want: f64| (got / want - 1.0).abs() < 0.03;
        assert!(close(cell.q_rest_pkts, alone.q_rest_pkts) && close(cell.p_rest, alone.p_rest), "{cell:?} {alone:?}");
        assert!(close(cell.delay_margin_ms.unwrap(), alone.delay_margin_ms.unwrap()), "{cell:?} {alone:?}");
    }
}
