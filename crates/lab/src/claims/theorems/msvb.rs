//! Lemma 3.1 of the MSVB paper, tested on its fluid model: the queue of a class of packets is stable if the threshold
//! of its virtual buffer is at least the one that the lemma gives. A class has the share phi of the link's capacity.

use forebay_theory::svb::Class;
use serde_json::json;

use crate::claims::{Evidence, Outcome, Verdict, detail, yes_no};

/// Simulated seconds of the model.
const SECONDS: f64 = 200.0;
/// After a perturbation of 1 %, the control loop counts as stable if its oscillation, relative to the equilibrium, is
/// below STABLE, and as unstable if it is above UNSTABLE.
const STABLE: f64 = 1e-3;
const UNSTABLE: f64 = 1e-2;

/// A class of `flows` TCP flows with the share `phi` of the paper's link: 10 Mbit/s with 1000-byte packets, round-trip
/// times of 120 ms.
const fn class(flows: f64, phi: f64) -> Class {
    Class { capacity: 1250.0, delay_s: 0.12, flows, phi, alpha: 0.5 }
}

/// Tests whether the queue becomes stable at the lemma's threshold: with one class alone on the link, and with ten
/// equal classes.
pub(crate) fn l31() -> (Verdict, Evidence) {
    let mut alone = Vec::new();
    for flows in [30.0, 50.0, 80.0] {
        let one = class(flows, 1.0);
        let b = one.lemma().unwrap_or(f64::NAN);
        for (times, bound) in [(1.1, format!("< {STABLE}")), (0.9, format!("> {UNSTABLE}"))] {
            let amplitude = one.deviation(1, times * b, SECONDS);
            let holds = b.is_finite() && if times > 1.0 { amplitude < STABLE } else { amplitude > UNSTABLE };
            let what =
                format!("relative amplitude of one class of {flows} flows at {times} of its threshold, {b:.0} packets");
            alone.push(yes_no(&what, amplitude, &bound, holds));
        }
    }
    let ten = class(5.0, 0.1);
    let b = ten.lemma().unwrap_or(f64::NAN);
    let amplitude = ten.deviation(10, 1.1 * b, SECONDS);
    let what = format!("relative amplitude of ten classes of 5 flows at 1.1 of the threshold of each, {b:.0} packets");
    let together = yes_no(&what, amplitude, &format!("< {STABLE}"), amplitude < STABLE);
    let (verdict, note) = match (alone.iter().all(|c| c.outcome == Outcome::Holds), together.outcome) {
        (true, Outcome::Holds) => (Verdict::Reproduced, "right for one class and for ten"),
        // The lemma is right for one class, but not for the system.
        (true, _) => (
            Verdict::Refuted,
            "right for one class; equal classes oscillate together, and their common threshold is larger",
        ),
        _ => (Verdict::NotReproduced, "its threshold is not where one class alone turns stable"),
    };
    let common = ten.common().unwrap_or(f64::NAN);
    let said = json!({
        "note": note,
        "common threshold of ten classes of 5 flows, packets": common,
        "relative amplitude at 0.9 of the common threshold": ten.deviation(10, 0.9 * common, SECONDS),
        "relative amplitude at 1.1 of the common threshold": ten.deviation(10, 1.1 * common, SECONDS),
    });
    let checks = alone.into_iter().chain([together]).collect();
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}
