//! Statements of the RED+Tail paper about its queue model (section VI), tested on the model.

use forebay_aqm::base::rng::Rng;
use forebay_theory::lindley::Loop;
use serde_json::json;

use crate::claims::{By, CheckResult, Evidence, Outcome, Verdict, detail, yes_no};

/// Number of random networks.
const TRIALS: usize = 1000;
/// Bits per packet in the paper's example.
const PACKET: f64 = 8000.0;
/// Largest final distance of an orbit from the equilibrium, relative to it.
const NEAR: f64 = 1e-6;
/// Length of an orbit in steps.
const STEPS: usize = 10_000;

/// The paper's example of Figs. 17 to 21: 6 Mbit/s, 64 ms, p = 0.014 and a buffer of 500 KB. `round_trips` is S in
/// round-trip times at equilibrium.
fn example(sources: usize, round_trips: f64) -> Loop {
    let (capacity, window) = (6e6, Loop::tcp_window(PACKET, 0.014));
    let interval_s = round_trips * sources as f64 * window / capacity;
    Loop { capacity, window, delays_s: vec![0.064; sources], interval_s, buffer: 4e6 }
}

/// A random network: 1 to 50 sources with delays of 10 to 300 ms, a link of 1 to 100 Mbit/s, windows that fill the
/// link, and an unlimited buffer.
fn network(rng: &mut Rng) -> Loop {
    let sources = 1 + rng.below(50) as usize;
    let capacity = 1e6 + 99e6 * rng.uniform();
    let delays_s: Vec<f64> = (0..sources).map(|_| 0.01 + 0.29 * rng.uniform()).collect();
    let enough = capacity / delays_s.iter().map(|d| 1.0 / d).sum::<f64>();
    let window = enough * (1.01 + 4.0 * rng.uniform());
    Loop { capacity, window, delays_s, interval_s: 0.0, buffer: f64::INFINITY }
}

fn verdict(checks: Vec<CheckResult>, said: serde_json::Value) -> (Verdict, Evidence) {
    let holds = checks.iter().all(|c| c.outcome == Outcome::Holds);
    let verdict = if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}

/// A check of how many of [`TRIALS`] random networks satisfy `holds`.
fn all_networks(what: &str, name: &str, holds: impl Fn(Loop, &mut Rng) -> bool) -> CheckResult {
    let mut rng = Rng::stream(1, name);
    let held = (0..TRIALS).filter(|_| holds(network(&mut rng), &mut rng)).count();
    yes_no(what, held as f64, &format!("all {TRIALS}"), held == TRIALS)
}

/// Proposition 6.1: if S is below the printed bound, every step moves the queue closer to the equilibrium, from any
/// queue.
pub(crate) fn p61() -> (Verdict, Evidence) {
    let nearer = |mut one: Loop, rng: &mut Rng| {
        one.interval_s = one.contraction_bound_s() * (0.01 + 0.989 * rng.uniform());
        let rest = one.equilibrium();
        (0..=100).map(|i| 0.1 * f64::from(i) * rest).filter(|q| (q - rest).abs() > NEAR * rest).all(|q| {
            let next = one.next(q);
            (next - rest).abs() < (q - rest).abs()
        })
    };
    let checks =
        vec![all_networks("networks where each step from 0 to 10 q_e leads nearer to q_e", "tail/p61", nearer)];
    let bound = |sources| 1e3 * example(sources, 1.0).contraction_bound_s();
    let local = |sources| 2e3 * example(sources, 1.0).interval_s;
    let said = json!({
        "bound on S in the paper's example, ms": { "20 sources": bound(20), "40 sources": bound(40) },
        "local stability ends there at S, ms": { "20 sources": local(20), "40 sources": local(40) },
    });
    verdict(checks, said)
}

/// Proposition 6.2: if f'(q_e) >= 0, every orbit ends at q_e. The inequality in the paper's proof does not hold in
/// every step.
pub(crate) fn p62() -> (Verdict, Evidence) {
    let ends = |mut one: Loop, rng: &mut Rng| {
        let rest = one.equilibrium();
        // f'(q_e) = 1 - S times this value.
        one.interval_s = 1.0;
        let fall = 1.0 - one.slope(rest);
        one.interval_s = (0.01 + 0.99 * rng.uniform()) / fall;
        [0.0, 0.5, 2.0, 10.0].into_iter().all(|start| {
            let end = (0..STEPS).fold(start * rest, |q, _| one.next(q));
            (end - rest).abs() <= NEAR * rest
        })
    };
    let checks = vec![all_networks("networks where orbits from 0, 0.5, 2 and 10 q_e end at q_e", "tail/p62", ends)];
    let one = Loop { buffer: f64::INFINITY, ..example(20, 1.0) };
    let (rest, first) = (one.equilibrium(), one.next(0.0));
    let (before, after) = (rest, (first - rest).abs());
    let step = if after <= before {
        "holds in this step"
    } else {
        "does not hold in this step: the orbit jumps over q_e and far beyond, once; from there it falls to q_e"
    };
    let said = json!({
        "the proof's |q(n+1) - q_e| <= |q(n) - q_e|": step,
        "20 sources, S = RTT, packets": {
            "q_e": rest / PACKET, "q(0)": 0.0, "q(1)": first / PACKET,
            "|q(0) - q_e|": before / PACKET, "|q(1) - q_e|": after / PACKET,
        },
    });
    verdict(checks, said)
}

/// Proposition 6.3: the queue with noise has an invariant distribution, and other distributions converge to
/// it.
pub(crate) fn p63() -> (Verdict, Evidence) {
    let mut one = example(20, 1.0);
    one.interval_s = 0.9 * one.contraction_bound_s();
    let Some(rest) = one.chain(77021.0, PACKET, 0.5) else {
        return (Verdict::NotReproduced, Evidence::default());
    };
    let far = one.distance_after(77021.0, &rest, STEPS);
    let sum: f64 = rest.chance.iter().sum();
    let least = rest.chance.iter().copied().fold(f64::INFINITY, f64::min);
    let checks = vec![
        yes_no("sum of the invariant distribution", sum, "1 within 1e-9", (sum - 1.0).abs() < 1e-9),
        yes_no("its smallest probability", least, ">= -1e-12", least >= -1e-12),
        yes_no("distance from it after 10000 steps from an empty queue", far[0], "< 1e-6", far[0] < 1e-6),
        yes_no("distance from it after 10000 steps from a full one", far[1], "< 1e-6", far[1] < 1e-6),
    ];
    verdict(checks, json!({ "mean, packets": rest.mean() / PACKET, "std, packets": rest.std() / PACKET }))
}

/// Variance of the noise xi in packets^2; xi is S times the sum of the N rate deviations. The variance is simulated,
/// and computed by the correct and by the printed formula.
fn noise(one: &Loop, sigma: f64) -> serde_json::Value {
    const DRAWS: usize = 20_000;
    let (sources, s) = (one.delays_s.len(), one.interval_s);
    let mut rng = Rng::stream(1, "tail/noise");
    // Deviations of +sigma or -sigma have the variance sigma^2.
    let mut draw = || (0..sources).map(|_| if rng.uniform() < 0.5 { sigma } else { -sigma }).sum::<f64>() * s / PACKET;
    let drawn = (0..DRAWS).map(|_| draw()).map(|xi| xi * xi).sum::<f64>() / DRAWS as f64;
    let of = |factor: f64| sources as f64 * factor * sigma * sigma / (PACKET * PACKET);
    json!({ "drawn": drawn, "N S^2 sigma^2": of(s * s), "N S sigma^2, as printed": of(s) })
}

/// Fig. 20: at S = 2 RTT the queue varies at least twice as much as at S = RTT ("much more chaotic").
pub(crate) fn f20() -> (Verdict, Evidence) {
    let std =
        |round_trips| example(40, round_trips).chain(128_490.0, PACKET, 0.5).map_or(f64::NAN, |d| d.std() / PACKET);
    let [calm, erratic] = [1.0, 2.0].map(std);
    let ratio = erratic / calm;
    let checks = vec![yes_no("standard deviation with S = 2 RTT over that with S = RTT", ratio, ">= 2", ratio >= 2.0)];
    // The paper says "much more chaotic", no number.
    let checks = checks.into_iter().map(|check| CheckResult { by: By::Ours, ..check }).collect();
    let said = json!({
        "std with S = RTT, packets": calm,
        "with S = 2 RTT": erratic,
        "variance of the noise with S = 2 RTT, packets^2": noise(&example(40, 2.0), 128_490.0),
    });
    verdict(checks, said)
}
