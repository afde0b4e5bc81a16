//! Statements of section 3 of the MSC paper: equation (3), which gives the drop probability Pa from the measured
//! arrival rate, and the number of updates of the drop probability. rho is the load, the arrival rate over the link's
//! capacity; gamma is the share of the capacity that MSC aims to use.

use forebay_aqm::base::design::Design;
use forebay_aqm::base::discipline::{Law, Sample, Signal};
use forebay_aqm::base::port::{Count, Tally};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::law::msc::{Msc, Params};
use forebay_theory::mmpp::{self, Mmpp, Service};
use serde_json::json;

use crate::claims::{By, CheckResult, Evidence, Outcome, Verdict, detail, yes_no};

/// Number of pairs of a random load and a random link that are tested.
const TRIALS: usize = 10_000;
/// Size of the paper's packets in bytes.
const PACKET: u32 = 500;
/// Indices of MSC's two clocks: that of updates of the drop probability from the queue, and that of measurements of the
/// rate.
const QUEUE: usize = 0;
const RATE: usize = 1;
/// Capacities in bits per second: the paper's link, and a tenth of it.
const CAPACITIES: [u64; 2] = [15_000_000, 1_500_000];

fn link(bits_per_s: u64) -> Link {
    Link { rate: Rate(bits_per_s), limit: Limit::Packets(400), mean_packet: Bytes(u64::from(PACKET)) }
}

/// MSC's drop probability Pa by equation (3) alone, after `bytes` have arrived in `dt`: without the correction by the
/// queue and without the filter of the measured rate.
fn pdp(gamma: f64, link: &Link, bytes: u64, dt: Span) -> f64 {
    let mut law = Msc::build(&Params { gamma, alpha: 0.0, r_w: 1.0, ..Params::default() }, link);
    let offered = Count { pkts: bytes / u64::from(PACKET), bytes };
    let period = Tally { offered, ..Tally::default() };
    let sample = Sample { now: Instant::ZERO, dt, link: *link, backlog_pkts: 0.0, backlog_bytes: 0.0, period };
    law.update(RATE, &sample);
    match law.update(QUEUE, &sample).signal {
        Signal::Bernoulli(p) => p,
        Signal::Scaled { .. } => f64::NAN,
    }
}

/// Equation (2): the growth of the queue in an interval, relative to the bytes that the link can send in it. `p` is the
/// drop probability.
fn growth(rho: f64, p: f64, gamma: f64) -> f64 {
    rho * (1.0 - p) - gamma
}

fn verdict(checks: Vec<CheckResult>, said: serde_json::Value) -> (Verdict, Evidence) {
    let holds = checks.iter().all(|c| c.outcome == Outcome::Holds);
    let verdict = if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}

/// Equation (3): with MSC's drop probability Pa the queue of equation (2) is constant, and with Pa - 0.01 or Pa + 0.01
/// it is not. `detail` of the evidence has the mean queue if packets arrive at random times; equation (2) does not
/// model them.
pub(crate) fn e3a() -> (Verdict, Evidence) {
    let mut rng = Rng::stream(1, "msc/e3a");
    let (mut constant, mut others) = (0, 0);
    for _ in 0..TRIALS {
        let link = link(1_000_000 + rng.below(99_000_000));
        let dt = Span::from_millis(1 + rng.below(1000));
        let (gamma, load) = (0.5 + 0.5 * rng.uniform(), 1.01 + 4.0 * rng.uniform());
        let most = link.rate.bytes_per_sec() * dt.secs();
        let bytes = (gamma * load * most) as u64;
        let rho = bytes as f64 / most;
        let p = pdp(gamma, &link, bytes, dt);
        constant += usize::from(growth(rho, p, gamma).abs() < 1e-9);
        others += usize::from([p - 0.01, p + 0.01].iter().all(|p| growth(rho, *p, gamma).abs() > 1e-9));
    }
    let all = format!("all {TRIALS}");
    let checks = vec![
        yes_no("random loads and links with a constant queue", constant as f64, &all, constant == TRIALS),
        yes_no("of these, a queue that grows or falls with Pa 0.01 apart", others as f64, &all, others == TRIALS),
    ];
    verdict(
        checks,
        json!({
            "mean queue of Poisson arrivals at a load of 1.5 with this Pa, buffer of 400 packets": {
                "gamma = 1": poisson_queue(1.0), "gamma = 0.95": poisson_queue(0.95),
            },
            "note": "equation (2) has no random arrivals; with gamma = 1 they use all of the link, so the queue drifts",
        }),
    )
}

/// Mean queue in packets of the queue M/M/1/400 whose arrivals, 1.5 times the capacity, are dropped with the
/// probability of equation (3).
fn poisson_queue(gamma: f64) -> f64 {
    let link = link(CAPACITIES[0]);
    let capacity = link.pkts_per_sec();
    let p = pdp(gamma, &link, (1.5 * link.rate.bytes_per_sec()) as u64, Span::from_secs(1.0));
    let arrivals = Mmpp::two_state([1.0, 1.0], [1.5 * capacity; 2]);
    let queue = mmpp::solve(&arrivals, &Service::erlang(1, capacity), 400, |_, _| p);
    queue.map_or(f64::NAN, |queue| queue.mean())
}

/// Updates per second of one of MSC's clocks while packets fill the link. As in the paper's listing, an arriving packet
/// causes an update if the clock's period has passed since the last one.
fn updates(clock: usize, link: &Link) -> f64 {
    const SECONDS: u64 = 100;
    let period = Msc::build(&Params::default(), link).period(clock);
    let packets = link.pkts_per_sec() as u64 * SECONDS;
    let at = |packet: u64| Instant::from_nanos(packet * SECONDS * 1_000_000_000 / packets);
    let (mut count, mut last) = (0_u64, Instant::ZERO);
    for now in (1..=packets).map(at) {
        if now.since(last) >= period {
            (count, last) = (count + 1, now);
        }
    }
    count as f64 / SECONDS as f64
}

/// Section 3.3: MSC computes the drop probability less often than RED and ARED, which compute it at each arrival.
pub(crate) fn c1() -> (Verdict, Evidence) {
    let [paper, tenth] = CAPACITIES.map(link);
    let times = |link: &Link| link.pkts_per_sec() / updates(QUEUE, link);
    let (factor, slow, fast) = (times(&paper), times(&tenth), updates(RATE, &paper) / updates(QUEUE, &paper));
    let ours = |check: CheckResult| CheckResult { by: By::Ours, ..check };
    let checks = vec![
        yes_no("arrivals, and updates of RED and ARED, for an update of MSC at 15 Mb/s", factor, "> 1", factor > 1.0),
        ours(yes_no("the same: several to tens", factor, "2 .. 99", (2.0..=99.0).contains(&factor))),
        yes_no("this factor at 15 Mb/s over that at 1.5 Mb/s", factor / slow, "> 1", factor > slow),
        ours(yes_no("measurements of the rate for an update with the queue", fast, "<= 0.1", fast <= 0.1)),
    ];
    let said = json!({
        "updates per second at 15 Mb/s": {
            "MSC, queue": updates(QUEUE, &paper), "MSC, rate": updates(RATE, &paper), "RED and ARED": paper.pkts_per_sec(),
            "AVQ": paper.pkts_per_sec(), "PI, ns-2's w": 170, "REM, ns-2's 2 ms": 500,
        },
        "factor at 1.5 Mb/s": slow,
        "factor at 150 Mb/s": times(&link(150_000_000)),
        "note": "each arrival still adds its bytes, compares two times and draws a random number",
    });
    verdict(checks, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 15 Mb/s are 1875000 bytes per second, so 562500 bytes in 0.2 s are a load rho of 1.5. Then Pa = 1 - gamma/1.5,
    /// with gamma of 1 and of 0.9.
    #[test]
    fn drop_probability_matches_equation_3_by_hand() {
        let (link, dt) = (link(15_000_000), Span::from_millis(200));
        assert!((pdp(1.0, &link, 562_500, dt) - 1.0 / 3.0).abs() < 1e-12);
        assert!((pdp(0.9, &link, 562_500, dt) - 0.4).abs() < 1e-12);
        assert!(growth(1.5, 0.4, 0.9).abs() < 1e-12 && (growth(1.5, 0.3, 0.9) - 0.15).abs() < 1e-12);
    }

    /// MSC updates the drop probability at the first arrival after a period of 10 ms. At 15 Mb/s a packet of 500 bytes
    /// takes 0.2667 ms, so this is the 38th arrival after the last update. At 1.5 Mb/s it is the 4th (10.67 ms). MSC
    /// measures the rate every 200 ms, which are 750 packets at 15 Mb/s.
    #[test]
    fn numbers_of_msc_updates_match_hand_calculation() {
        let [paper, tenth] = CAPACITIES.map(link);
        assert!((3750.0 / updates(QUEUE, &paper) - 38.0).abs() < 0.01);
        assert!((375.0 / updates(QUEUE, &tenth) - 4.0).abs() < 0.01);
        assert!((updates(RATE, &paper) - 5.0).abs() < 0.02);
    }

    /// With the drop probability of equation (3) the accepted load is gamma. The queue M/M/1/400 at a load of 1 has
    /// every length with the same probability: mean 200. At a load of 0.95 its mean is 0.95/0.05 = 19, because it
    /// nearly never has 400 packets.
    #[test]
    fn poisson_arrivals_at_full_load_form_a_queue() {
        assert!((poisson_queue(1.0) - 200.0).abs() < 1e-3);
        assert!((poisson_queue(0.95) - 19.0).abs() < 1e-3);
    }
}
