//! Statements of sections 5 and 6.2 of the AAQM paper, tested on its queue model. Packets of four classes of traffic
//! arrive at rates that depend on the state of a Markov chain, here with eight states. While the queue is above a
//! threshold, a fraction of the buffer, arriving packets are dropped early at random (eq. 18, the paper's marking
//! function).

use forebay_theory::mmpp::{Mmpp, Solution};
use serde_json::json;

use crate::claims::models::{self, Chain};
use crate::claims::{By, CheckResult, Evidence, Outcome, Verdict, detail, yes_no};

/// Thresholds of section 6.2, "from a 25% to 95%", and two between, as fractions of the buffer.
const THRESHOLDS: [f64; 4] = [0.25, 0.5, 0.75, 0.95];
/// The threshold that section 6.2 uses for AAQM, as a fraction of the buffer.
const USUAL: f64 = 0.95;
/// The classes of traffic, in the order of their numbers in the model.
const KINDS: [&str; 4] = ["video", "multimedia", "www", "ftp"];
/// Largest relative difference of two flows of packets, in packets per second, that count as equal.
const ROUNDING: f64 = 1e-9;

type Answer = Option<(Verdict, Evidence)>;

fn verdict(checks: Vec<CheckResult>, said: serde_json::Value) -> Answer {
    let holds = checks.iter().all(|c| c.outcome == Outcome::Holds);
    let verdict = if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
    Some((verdict, Evidence { checks, detail: detail(said), ..Evidence::default() }))
}

fn ours(check: CheckResult) -> CheckResult {
    CheckResult { by: By::Ours, ..check }
}

/// The model's solution at each threshold of the marking function that is tested, [`THRESHOLDS`].
fn solutions(chain: Chain) -> Option<Vec<Solution>> {
    THRESHOLDS.iter().map(|th| models::aaqm(chain, *th)).collect()
}

/// Section 5: the burstiness of the arrivals increases loss and delay, compared with Poisson arrivals of the same mean
/// rate.
pub(crate) fn s5a() -> Answer {
    let arrivals = models::aaqm_arrivals(Chain::Levels)?;
    let offered = (0..arrivals.classes()).map(|class| arrivals.mean_rate(class)).sum::<Option<f64>>()?;
    let smooth = models::aaqm_with(&Mmpp::two_state([1.0, 1.0], [offered; 2]), USUAL)?;
    let bursty = models::aaqm_with(&arrivals, USUAL)?;
    let load = offered / models::aaqm_capacity();
    let (lost, delay) = (bursty.total_loss(), bursty.delay_s() / smooth.delay_s());
    let more = lost - smooth.total_loss();
    let times = lost / smooth.total_loss();
    let checks = vec![
        yes_no("load", load, "< 1", load < 1.0),
        yes_no("loss less that of Poisson arrivals", more, "> 0", more > 0.0),
        ours(yes_no("loss over that of Poisson arrivals", times, ">= 2", times >= 2.0)),
        ours(yes_no("mean time in the system over that of Poisson arrivals", delay, ">= 2", delay >= 2.0)),
    ];
    verdict(checks, json!({ "loss": lost, "loss of Poisson arrivals": smooth.total_loss() }))
}

/// Fig. 10, with a Markov chain of eight states: a higher threshold gives less loss, of all packets and of each class
/// of traffic.
pub(crate) fn f10b() -> Answer {
    let (eight, sixteen) = (solutions(Chain::Levels)?, solutions(Chain::Kinds)?);
    let losses = |all: &[Solution], class: Option<usize>| -> Vec<f64> {
        all.iter().map(|one| class.map_or_else(|| one.total_loss(), |class| one.loss(class))).collect()
    };
    let mut checks = Vec::new();
    for (class, name) in [(None, "all")].into_iter().chain((0..4).map(|class| (Some(class), KINDS[class]))) {
        for (th, loss) in THRESHOLDS.windows(2).zip(losses(&eight, class).windows(2)) {
            let what = format!("{name}: loss with th = {} less that with {}", th[1], th[0]);
            checks.push(yes_no(&what, loss[1] - loss[0], "< 0", loss[1] < loss[0]));
        }
    }
    let means = |all: &[Solution]| all.iter().map(Solution::mean).collect::<Vec<_>>();
    let of = |all: &[Solution]| {
        let kinds: Vec<_> = (0..4).map(|class| (KINDS[class], losses(all, Some(class)))).collect();
        json!({ "loss": losses(all, None), "mean packets": means(all), "by kind": kinds })
    };
    verdict(checks, json!({ "thresholds": THRESHOLDS, "eight states": of(&eight), "sixteen states": of(&sixteen) }))
}

/// Section 5.2: in each state of the arrivals' Markov chain, packets enter and leave the queue at equal rates. Also
/// compares the rates at which the number of packets changes from n to n + 1 and back.
pub(crate) fn e17() -> Answer {
    let queue = models::aaqm(Chain::Levels, USUAL)?;
    let apart = |[enter, leave]: [f64; 2]| enter / leave - 1.0;
    let states = queue.flows_by_state();
    let total = states.iter().fold([0.0, 0.0], |[a, b], [enter, leave]| [a + enter, b + leave]);
    let equal = |what: String, x: f64| yes_no(&what, x, "0 within 1e-9", x.abs() < ROUNDING);
    let by_state = states.iter().enumerate().map(|(i, flows)| {
        equal(
            format!("state {} of the arrivals: packets that enter over those that leave, less 1", i + 1),
            apart(*flows),
        )
    });
    // The largest relative difference between n and n + 1 packets.
    let worst = queue.flows_by_level().into_iter().map(|flows| apart(flows).abs()).fold(0.0, f64::max);
    let checks = by_state
        .chain([
            ours(equal("all states together: the same".to_string(), apart(total))),
            ours(equal("between n and n + 1 packets: largest difference".to_string(), worst)),
        ])
        .collect();
    let said = json!({
        "packets per second that enter and that leave, by state of the arrivals": states,
        "note": "the arrivals change their state while packets wait: the queue that one state builds is served in another",
    });
    verdict(checks, said)
}

/// Section 6.2: the share of packets that are dropped early, and the mean time in the system, change as the threshold
/// becomes lower.
pub(crate) fn e18() -> Answer {
    let all = solutions(Chain::Levels)?;
    let mut checks = Vec::new();
    for (th, two) in THRESHOLDS.windows(2).zip(all.windows(2)) {
        let more = two[0].total_loss() - two[1].total_loss();
        let what = format!("share dropped with th = {} less that with {}", th[0], th[1]);
        checks.push(yes_no(&what, more, "> 0", more > 0.0));
    }
    for (th, two) in THRESHOLDS.windows(2).zip(all.windows(2)) {
        let change = two[0].delay_s() / two[1].delay_s() - 1.0;
        let what = format!("mean time in the system with th = {} over that with {}, less 1", th[0], th[1]);
        checks.push(ours(yes_no(&what, change, "at least 0.05 above or below 0", change.abs() >= 0.05)));
    }
    let delays: Vec<f64> = all.iter().map(|one| 1e3 * one.delay_s()).collect();
    let shares: Vec<f64> = all.iter().map(Solution::total_loss).collect();
    verdict(checks, json!({ "thresholds": THRESHOLDS, "mean time in the system, ms": delays, "share dropped": shares }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all states of the arrivals, packets enter and leave the queue at the accepted rate: 840 packets per second
    /// less the loss.
    #[test]
    fn rates_into_queue_sum_to_accepted_rate() {
        let queue = models::aaqm(Chain::Levels, USUAL).unwrap();
        let states = queue.flows_by_state();
        let accepted = 840.0 * (1.0 - queue.total_loss());
        assert_eq!(states.len(), 8);
        for side in 0..2 {
            assert!((states.iter().map(|flows| flows[side]).sum::<f64>() / accepted - 1.0).abs() < 1e-9);
        }
        assert!(states.iter().any(|[enter, leave]| enter > leave) && states.iter().any(|[enter, leave]| enter < leave));
    }

    #[test]
    fn every_aaqm_statement_gets_verdict_and_checks() {
        for (answer, checks) in [(s5a(), 4), (f10b(), 15), (e17(), 10), (e18(), 6)] {
            assert_eq!(answer.unwrap().1.checks.len(), checks);
        }
    }
}
