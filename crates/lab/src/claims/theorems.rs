//! Theorems of the papers, tested by computation with the formulas of the disciplines and models. Their names are those
//! of the key `theorem` in `claims.toml`, such as `raqm-1`.
//!
//! RAQM: r is the arrival rate, r0 its target, x = r/r0, alpha the gain and m = alpha r0. A step of the law gives the
//! next r. An orbit is the sequence of x from a start. The adaptive gain is alpha = eps alpha_hat(r) with alpha_hat(r)
//! = c(x)/r0, where c is the function of eq. 13.

pub(crate) mod aaqm;
pub(crate) mod msc;
pub(crate) mod msvb;
pub(crate) mod raqm;
pub(crate) mod tail;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::law::raqm::c;
use forebay_theory::mmpp::Mmpp;
use forebay_theory::recurrence;
use serde_json::json;

use crate::claims::models::{self, Chain};
use crate::claims::{CheckResult, Evidence, Outcome, Verdict, detail, yes_no};

/// Number of random rates at which the test of RAQM's theorem 1 computes a step of the law. Its Lyapunov function is
/// the squared distance of the rate from its target.
const TRIALS: usize = 10_000;
/// Start of the orbits of RAQM's rate, as a multiple of the target rate.
const START: f64 = 1.5;
/// An orbit of x = r/r0 has settled when it stays within this distance of 1.
const NEAR: f64 = 0.01;
/// Length of an orbit in steps.
const STEPS: usize = 2000;

/// RAQM's recurrence for the rate r, eq. 9: the next x = r/r0 is x exp(-m (x - 1)/2).
fn raqm_map(m: f64) -> impl Fn(f64) -> f64 {
    move |x| x * libm::exp(-m * (x - 1.0) / 2.0)
}

/// RAQM's recurrence with the adaptive gain, m = eps c(x). c is the function of the discipline `raqm`.
fn adaptive_map(eps: f64) -> impl Fn(f64) -> f64 {
    move |x| raqm_map(eps * c(x, f64::INFINITY))(x)
}

/// Verdict and evidence of a theorem; `None` if there is no theorem of that name.
pub fn try_theorem(name: &str) -> Option<(Verdict, Evidence)> {
    match name {
        "raqm-1" => Some(raqm_1()),
        "raqm-c" => Some(raqm_c()),
        "raqm-2" => Some(raqm_2()),
        "raqm-l1" => Some(raqm::lemma_1()),
        "raqm-l2" => Some(raqm::lemma_2()),
        "raqm-o1" => Some(raqm::complexity()),
        "tail-e1" => Some(tail_e1()),
        "tail-p61" => Some(tail::p61()),
        "tail-p62" => Some(tail::p62()),
        "tail-p63" => Some(tail::p63()),
        "tail-f20" => Some(tail::f20()),
        "tail-f15" => Some(tail::f15()),
        "tail-f15b" => Some(tail::f15b()),
        "tail-f18" => Some(tail::f18()),
        "tail-f19" => Some(tail::f19()),
        "tail-p62a" => Some(tail::p62a()),
        "tail-p62b" => Some(tail::p62b()),
        "tail-e21" => Some(tail::e21()),
        "msvb-l31" => Some(msvb::l31()),
        "msc-e3a" => Some(msc::e3a()),
        "msc-c1" => Some(msc::c1()),
        "aaqm-10" => Some(aaqm_10()),
        "aaqm-s5a" => aaqm::s5a(),
        "aaqm-10b" => aaqm::f10b(),
        "aaqm-e17" => aaqm::e17(),
        "aaqm-e18" => aaqm::e18(),
        _ => None,
    }
}

/// AAQM, Fig. 10: with the marking function of eq. 18, whose early drops begin at a threshold, the MMPP/Erlang/1/L
/// queue loses less with a higher threshold.
fn aaqm_10() -> (Verdict, Evidence) {
    let lost = |th| models::aaqm(Chain::Kinds, th).map_or(f64::NAN, |queue| queue.total_loss());
    let falls = |(low, high): (f64, f64)| {
        let change = lost(high) - lost(low);
        let what = format!("loss with th = {high} less that with {low}");
        yes_no(&what, change, "< 0", change < 0.0)
    };
    let checks: Vec<CheckResult> = [(0.25, 0.5), (0.5, 0.75), (0.75, 0.95)].into_iter().map(falls).collect();
    let holds = checks.iter().all(|c| c.outcome == Outcome::Holds);
    let verdict = if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
    let two = || Mmpp::two_state([1.0, 1.0], [1.0, 0.0]);
    let states = |sources: usize| Mmpp::together(&vec![two(); sources]).map_or(0, |all| all.states());
    let said = json!({
        "loss with th = 0.25": lost(0.25), "0.5": lost(0.5), "0.75": lost(0.75), "0.95": lost(0.95),
        "states of two, three and four MMPP-2, which have 8, 12 and 16 parameters": [states(2), states(3), states(4)],
    });
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}

/// RED+Tail, section II: probability that at least one of 64 packets is lost, each with probability 0.04.
fn tail_e1() -> (Verdict, Evidence) {
    let lost = 1.0 - libm::pow(1.0 - 0.04, 64.0);
    // As printed, to four digits.
    let holds = (lost - 0.9267).abs() < 5e-5;
    let checks = vec![yes_no("1 - (1 - 0.04)^64", lost, "0.9267", holds)];
    let verdict = if holds { Verdict::Reproduced } else { Verdict::Refuted };
    (verdict, Evidence { checks, ..Evidence::default() })
}

/// RAQM's theorem 1: with a gain below alpha_hat(r), a step decreases the squared distance of the rate r from r0; with
/// a gain above, it increases this distance.
fn raqm_1() -> (Verdict, Evidence) {
    let mut rng = Rng::stream(1, "theorem/raqm-1");
    let (mut below, mut above) = (0, 0);
    for _ in 0..TRIALS {
        // x in (0, 2), not so close to 0, 1 and 2 that rounding matters.
        let x = loop {
            let x = 2.0 * rng.uniform();
            if (1e-6..2.0 - 1e-6).contains(&x) && (x - 1.0).abs() > 1e-6 {
                break x;
            }
        };
        let eps = 0.999 * rng.uniform() + 1e-4;
        below += usize::from(recurrence::lyapunov_decreases(&adaptive_map(eps), x, 1.0));
        above += usize::from(!recurrence::lyapunov_decreases(&adaptive_map(1.0 + 1e-4 + rng.uniform()), x, 1.0));
    }
    let all = format!("all {TRIALS}");
    let checks = vec![
        yes_no("states in (0, 2 r0) where it decreases with eps < 1", below as f64, &all, below == TRIALS),
        yes_no("states in (0, 2 r0) where it does not with eps > 1", above as f64, &all, above == TRIALS),
    ];
    let verdict = if below == TRIALS && above == TRIALS { Verdict::Reproduced } else { Verdict::NotReproduced };
    let said = json!({
        "domain": "0 < r < 2 r0; beyond it alpha_hat is undefined and any alpha > 0 decreases the distance",
        "note": "a fixed alpha needs m = alpha r0 < 4: the bound holds for one step at one r, not for all r at once",
    });
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}

/// c(x) as eq. 13 of the RAQM paper prints it.
fn printed_c(x: f64) -> f64 {
    2.0 * libm::log((2.0 - x) / x) / (1.0 - x)
}

/// Eq. 13 of the RAQM paper: c(x) > 4 on (0, 1) and (1, 2), c(x) tends to 4 at x = 1, and c(x) = c(2 - x). Tests the
/// printed formula, and that the function c of the discipline `raqm` agrees with it.
fn raqm_c() -> (Verdict, Evidence) {
    // Closer to 1 than 1e-3 the printed formula loses digits to cancellation, about 1e-16/|1-x|.
    let grid = || (1..2000).map(|i| f64::from(i) * 1e-3).filter(|x| *x != 1.0);
    let excess = grid().map(|x| printed_c(x) - 4.0).fold(f64::INFINITY, f64::min);
    let asymmetry = grid().map(|x| (printed_c(x) / printed_c(2.0 - x) - 1.0).abs()).fold(0.0, f64::max);
    let apart = grid().map(|x| (c(x, f64::INFINITY) / printed_c(x) - 1.0).abs()).fold(0.0, f64::max);
    // c - 4 = 4 e^2/3 + ...: at a tenth of the distance from 1, a hundredth of the excess over 4.
    let shrinks = (printed_c(1.01) - 4.0) / (printed_c(1.1) - 4.0);
    let half = (printed_c(0.5) - 4.0 * libm::log(3.0)).abs();
    let checks = vec![
        yes_no("smallest c(x) - 4 on a grid of 1e-3", excess, "> 0", excess > 0.0),
        yes_no("(c(1.01) - 4) / (c(1.1) - 4)", shrinks, "0.009 .. 0.011", (0.009..0.011).contains(&shrinks)),
        yes_no("|c(0.5) - 4 ln 3|", half, "< 1e-12", half < 1e-12),
        yes_no("largest relative |c(x) - c(2-x)|", asymmetry, "< 1e-9", asymmetry < 1e-9),
        yes_no("largest relative distance of the discipline's c", apart, "< 1e-6", apart < 1e-6),
    ];
    let holds = checks.iter().all(|c| c.outcome == Outcome::Holds);
    let verdict = if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
    let said = json!({ "c(0.1)": printed_c(0.1), "c(0.5)": printed_c(0.5), "c(0.9)": printed_c(0.9) });
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}

/// RAQM's theorem 2: a larger gain alpha converges faster. Compares the numbers of steps until the orbit from 1.5 r0
/// stays within 1 % of r0.
fn raqm_2() -> (Verdict, Evidence) {
    let steps = |f: &dyn Fn(f64) -> f64| recurrence::steps_to_settle(f, START, 1.0, NEAR, STEPS);
    let fixed: Vec<(f64, Option<usize>)> =
        [0.5, 1.0, 2.0, 3.0, 3.9, 4.2].iter().map(|&m| (m, steps(&raqm_map(m)))).collect();
    let adaptive: Vec<(f64, Option<usize>)> =
        [0.25, 0.5, 0.9, 0.99].iter().map(|&eps| (eps, steps(&adaptive_map(eps)))).collect();
    // The theorem holds if no larger gain below the stability bound is slower.
    let monotone = |list: &[(f64, Option<usize>)]| {
        list.windows(2).all(|w| w[1].1.unwrap_or(usize::MAX) <= w[0].1.unwrap_or(usize::MAX))
    };
    let stable: Vec<_> = fixed.iter().copied().filter(|(m, _)| *m < 4.0).collect();
    let slower = |list: &[(f64, Option<usize>)]| {
        list.windows(2).filter(|w| w[1].1.unwrap_or(STEPS) > w[0].1.unwrap_or(STEPS)).count()
    };
    let checks = vec![
        yes_no("static gains below 4: larger gains that are slower", slower(&stable) as f64, "0", monotone(&stable)),
        yes_no(
            "adaptive gains below 1: larger gains that are slower",
            slower(&adaptive) as f64,
            "0",
            monotone(&adaptive),
        ),
    ];
    let orbit = |f: &dyn Fn(f64) -> f64| recurrence::orbit(f, START, 8);
    let said = json!({
        "steps to stay within 1 % from 1.5 r0, by m": fixed,
        "steps to stay within 1 % from 1.5 r0, by eps": adaptive,
        "orbit m=2": orbit(&raqm_map(2.0)),
        "orbit m=3.9": orbit(&raqm_map(3.9)),
        "orbit m=4.2": orbit(&raqm_map(4.2)),
        "orbit eps=0.5": orbit(&adaptive_map(0.5)),
        "orbit eps=0.9": orbit(&adaptive_map(0.9)),
        "note": "the multiplier at r0 is 1 - m/2: m = 2 (eps = 0.5) is the fastest, eps -> 1 tends to the oscillation x' = 2 - x",
    });
    let refuted = checks.iter().any(|c| c.outcome == Outcome::Fails);
    let verdict = if refuted { Verdict::Refuted } else { Verdict::Reproduced };
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::law::raqm::step;

    #[test]
    fn raqm_orbits_with_adaptive_gain_match_hand_calculation() {
        let close = |eps, start, want: &[f64]| {
            let got = recurrence::orbit(&adaptive_map(eps), start, want.len());
            got.iter().zip(want).for_each(|(g, w)| assert!((g - w).abs() < 1e-3, "eps {eps}: {got:?}"));
        };
        close(0.5, 1.5, &[0.866, 0.991, 0.99996]);
        close(0.9, 1.5, &[0.558, 1.311, 0.734, 1.199, 0.834]);
        close(0.99, 0.3, &[1.671, 0.335, 1.639]);
    }

    #[test]
    fn raqm_and_red_tail_theorems_have_documented_verdicts() {
        let verdict = |name| try_theorem(name).unwrap().0;
        assert_eq!(verdict("raqm-1"), Verdict::Reproduced);
        assert_eq!(verdict("raqm-c"), Verdict::Reproduced);
        assert_eq!(verdict("raqm-2"), Verdict::Refuted);
        assert_eq!(verdict("tail-e1"), Verdict::Reproduced);
        assert!(try_theorem("fermat").is_none());
    }

    /// A step of the discipline changes the drop probability p; eq. 5 gives the rate r, which is proportional to
    /// 1/sqrt(p).
    #[test]
    fn raqm_step_equals_the_recurrence_of_the_paper() {
        for (m, x) in [(2.0, 1.3), (3.9, 0.6), (1.0, 1.9)] {
            let p = 1e-3;
            let next = x * libm::sqrt(p / step(p, m, x, 0.0));
            assert!((next - raqm_map(m)(x)).abs() < 1e-12);
        }
    }
}
