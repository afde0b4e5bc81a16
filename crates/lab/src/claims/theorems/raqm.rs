//! Lemmas 1 and 2 of the RAQM paper and its complexity, tested with the control law of the discipline `raqm`. Once a
//! period the law changes the drop probability p so that the arrival rate r approaches the target r0. In the paper's
//! eqs. (3) to (5) TCP flows have the rate r = eta H / sqrt(p), and alpha is the law's gain. The adaptive gain has the
//! factor epsilon (parameter `eps`).

use std::cell::Cell;
use std::collections::BTreeSet;

use forebay_aqm::Spec;
use forebay_aqm::base::adapters::{Fifo, Ticked};
use forebay_aqm::base::cx::Cx;
use forebay_aqm::base::design::Design;
use forebay_aqm::base::discipline::{Actuation, Discipline, Law, Sample, Signal};
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::params::ParamSet;
use forebay_aqm::base::port::{Count, Port, Tally};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::base::verdict::Fate;
use forebay_aqm::law::raqm::{Raqm, step};
use serde_json::json;

use crate::claims::{CheckResult, Evidence, Outcome, Verdict, detail, yes_no};

/// Number of random systems that each lemma is tested with.
const TRIALS: usize = 1000;
/// Largest distance of a rate from r0, relative to r0, that counts as equal.
const NEAR: f64 = 1e-9;
/// A link so fast that rounding a rate to whole bytes per period is an error of 1e-12 at most.
const FAST: Link = Link { rate: Rate(8_000_000_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };
/// The paper's link.
const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };
/// Number of packets that are offered in the test of the complexity.
const PACKETS: u32 = 20_000;

/// The system of eqs. (3) to (5): the law, which sets p, and flows with the rate eta H / sqrt(p).
struct System {
    /// The law's gain as a parameter of `raqm`: `alpha=2` or `eps=0.5`.
    gain: String,
    /// eta H divided by r0.
    h: f64,
    /// Drop probability p in the first period.
    p: f64,
}

impl System {
    /// A random system with eta H below r0, at its equilibrium: r = r0.
    fn random(rng: &mut Rng) -> Self {
        let h = 0.001 + 0.998 * rng.uniform();
        let size = rng.uniform();
        let gain = if rng.uniform() < 0.5 { format!("alpha={}", 0.2 + 3.6 * size) } else { adaptive(size) };
        Self { gain, h, p: h * h }
    }

    /// r/r0 in each of `periods` periods; empty if `gain` or `p` is not valid.
    fn rates(&self, periods: usize) -> Vec<f64> {
        let words = format!("raqm preset=paper mode=queue-independent f=0 p_init={} {}", self.p, self.gain);
        let Some(mut law) = Spec::parse(&words).ok().and_then(|spec| spec.fluid(&FAST)) else { return Vec::new() };
        let (mut p, r0) = (of(law.initial()), FAST.rate.bytes_per_sec());
        let step = |_| {
            let x = self.h / libm::sqrt(p);
            let offered = Count { pkts: 1, bytes: libm::round(x * r0) as u64 };
            p = of(law.update(0, &sample(Tally { offered, ..Tally::default() })));
            x
        };
        (0..periods).map(step).collect()
    }
}

/// The adaptive gain as a parameter of `raqm`, with epsilon from 0.1 (`size` 0) to 0.95 (`size` 1).
fn adaptive(size: f64) -> String {
    format!("eps={}", 0.1 + 0.85 * size)
}

fn of(actuation: Actuation) -> f64 {
    match actuation.signal {
        Signal::Bernoulli(p) | Signal::Scaled { p, .. } => p,
    }
}

fn sample(period: Tally) -> Sample {
    let (now, dt) = (Instant::ZERO, Span::from_millis(1000));
    Sample { now, dt, link: FAST, backlog_pkts: 0.0, backlog_bytes: 0.0, period }
}

/// A check that all of [`TRIALS`] random systems satisfy `holds`. `what` describes the check, `name` selects the random
/// stream.
fn all(what: &str, name: &str, holds: impl Fn(&mut Rng) -> bool) -> CheckResult {
    let mut rng = Rng::stream(1, name);
    let held = (0..TRIALS).filter(|_| holds(&mut rng)).count();
    yes_no(what, held as f64, &format!("all {TRIALS}"), held == TRIALS)
}

fn verdict(checks: Vec<CheckResult>, said: serde_json::Value) -> (Verdict, Evidence) {
    let holds = checks.iter().all(|c| c.outcome == Outcome::Holds);
    let verdict = if holds { Verdict::Reproduced } else { Verdict::NotReproduced };
    (verdict, Evidence { checks, detail: detail(said), ..Evidence::default() })
}

/// Lemma 1: a system whose rate is r0 keeps this rate.
pub(crate) fn lemma_1() -> (Verdict, Evidence) {
    let stays = |rng: &mut Rng| {
        let rates = System::random(rng).rates(50);
        rates.len() == 50 && rates.iter().all(|x| (x - 1.0).abs() < NEAR)
    };
    let last = |gain: &str, h: f64, p: f64| {
        let system = System { gain: gain.to_string(), h, p };
        system.rates(400).last().copied()
    };
    let said = json!({
        "stable point": "the proof shows a fixed point; the rate also returns to it only if alpha r0 < 4, see RAQM-TH1",
        "r/r0 after 400 periods from 0.99, alpha r0 = 3.9": last("alpha=3.9", 0.1, 0.01 / 0.9801),
        "r/r0 after 400 periods from 0.99, alpha r0 = 4": last("alpha=4", 0.1, 0.01 / 0.9801),
        "condition": "eta H <= r0. Otherwise eq. (5) needs p above 1; with p = 1 the rate stays at eta H",
        "r/r0 after 400 periods, eta H = 2 r0": last("alpha=2", 2.0, 0.5),
    });
    verdict(vec![all("systems that keep the rate r0 for 50 periods", "raqm/lemma-1", stays)], said)
}

/// Lemma 2: at any rate other than r0 the drop probability p changes, so that this rate is not a fixed point. From any
/// p the rate converges to r0.
pub(crate) fn lemma_2() -> (Verdict, Evidence) {
    let moves = |rng: &mut Rng| {
        let (p, m) = (1e-6 + (1.0 - 2e-6) * rng.uniform(), 0.1 + 3.9 * rng.uniform());
        let x = 4.0 * rng.uniform();
        let next = step(p, m, x, 0.0);
        (x - 1.0).abs() < NEAR || if x > 1.0 { next > p } else { next < p }
    };
    let ends = |rng: &mut Rng| {
        let mut system = System::random(rng);
        system.p = libm::exp(libm::log(1e-6) * rng.uniform());
        system.rates(1000).last().is_some_and(|x| (x - 1.0).abs() < NEAR)
    };
    let said = json!({
        "proof": "it cites eq. (10) for p_k = p_(k-1); that follows from eq. (6)",
        "condition": "0 < p < 1. Eqs. (3) to (5) have no p = 0; the listing, with p_min = 0, can reach it",
        "p after a period with r = 1.5 r0 from p = 0, alpha r0 = 2, in the listing": step(0.0, 2.0, 1.5, 0.0),
        "p after a period with r = 1.5 r0 from p = 1, alpha r0 = 2, in the listing": step(1.0, 2.0, 1.5, 0.0),
    });
    let checks = vec![
        all("states with r != r0 where p moves in the direction of r - r0", "raqm/lemma-2", moves),
        all("systems whose rate is r0 after 1000 periods, from any p", "raqm/lemma-2/orbits", ends),
    ];
    verdict(checks, said)
}

/// RAQM's control law with a count of the calls of its functions.
struct Counted {
    law: Raqm,
    calls: Cell<u64>,
}

impl Counted {
    fn call(&self) {
        self.calls.set(self.calls.get() + 1);
    }
}

impl Law for Counted {
    fn period(&self, clock: usize) -> Span {
        self.law.period(clock)
    }
    fn initial(&self) -> Actuation {
        self.law.initial()
    }
    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation {
        self.call();
        self.law.update(clock, sample)
    }
    fn of_class(&self, class: u8) -> Option<&Actuation> {
        self.call();
        self.law.of_class(class)
    }
    fn count(&mut self, packet: &Packet, fate: Fate) {
        self.call();
        self.law.count(packet, fate);
    }
}

/// Offers 13 Mb/s of packets at random times (a Poisson process) to a link of 10 Mb/s, in turn from each of `flows`
/// flows. Returns the numbers of the dropped packets, and the next random number, which differs if more or fewer random
/// numbers were drawn.
fn offer(discipline: &mut impl Discipline, flows: u32) -> (BTreeSet<u32>, u64) {
    let mut port = Port::new(LINK, discipline.lists(), false);
    let (mut traffic, mut rng) = (Rng::stream(1, "raqm/traffic"), Rng::stream(1, "raqm/queue"));
    let (mut arrives, mut departs) = (0.0, 0.0);
    let at = |seconds: f64| Instant::from_nanos((1e9 * seconds) as u64);
    let mut dropped = BTreeSet::new();
    for slot in 0..PACKETS {
        arrives += traffic.exponential(500.0 * 8.0 / 13e6);
        while departs < arrives {
            discipline.dequeue(&mut port, &mut Cx::new(at(departs), &mut rng));
            departs += 500.0 * 8.0 / 10e6;
        }
        let arrived = at(arrives);
        while let Some(due) = discipline.next_tick().filter(|due| *due <= arrived) {
            discipline.tick(&mut port, &mut Cx::new(due, &mut rng));
        }
        let packet = Packet { arrived, slot, len: 500, flow: slot % flows, ..Packet::default() };
        discipline.enqueue(packet, &mut port, &mut Cx::new(arrived, &mut rng));
        dropped.extend(port.discarded().drain(..).map(|(packet, _)| packet.slot));
    }
    (dropped, rng.bits())
}

/// RAQM under the traffic of `flows` flows: the dropped packets and the next random number, as [`offer`] returns them,
/// and the number of calls of the law's functions.
fn raqm(flows: u32) -> ((BTreeSet<u32>, u64), u64) {
    let mut params = <Raqm as Design>::Params::default();
    let _ = params.set("period", "10ms");
    let counted = Counted { law: Raqm::build(&params, &LINK), calls: Cell::new(0) };
    let mut queue = Fifo::new(Ticked::new(counted));
    let result = offer(&mut queue, flows);
    (result, queue.aqm().law().calls.get())
}

/// Number of packets with a different fate: dropped with one flow and not with many, or with many and not with one.
fn differ(one: &BTreeSet<u32>, many: &BTreeSet<u32>) -> f64 {
    one.symmetric_difference(many).count() as f64
}

/// Section 4: the complexity does not depend on the number of flows. The same packets are offered to RAQM twice: as
/// packets of one flow and as packets of many.
pub(crate) fn complexity() -> (Verdict, Evidence) {
    let ((dropped, drawn), calls) = raqm(1);
    let mut checks = Vec::new();
    for flows in [10, 100, 1000, 10_000] {
        let ((other, other_drawn), other_calls) = raqm(flows);
        let mut check = |what: String, value: f64| checks.push(yes_no(&what, value, "0", value == 0.0));
        check(format!("packets with another fate if {flows} flows send them instead of one"), differ(&dropped, &other));
        let more = other_calls as f64 - calls as f64;
        check(format!("further calls of the law with {flows} flows"), more);
        check(
            format!("whether another number of random numbers is drawn with {flows} flows"),
            f64::from(drawn != other_drawn),
        );
    }
    let per_flow = |name: &str| {
        let of = |flows| Spec::parse(name).map(|spec| offer(&mut spec.build(&LINK), flows).0).unwrap_or_default();
        differ(&of(1), &of(1000))
    };
    let said = json!({
        "measure": "calls of the law and random numbers drawn; a call has no loop over flows or packets",
        "packets": PACKETS,
        "packets dropped": dropped.len(),
        "calls of the law per packet": calls as f64 / f64::from(PACKETS),
        "bytes of state": size_of::<Raqm>(),
        "for comparison, packets with another fate with 1000 flows under a discipline with state per flow": {
            "fq_codel": per_flow("fq_codel"), "fred": per_flow("fred"),
        },
    });
    verdict(checks, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_tcp_under_raqm_match_hand_calculation() {
        // p = 0.04, eta H = 0.3 r0: r = 1.5 r0. With alpha r0 = 2: p = 0.04 e, r = 1.5 r0 e^-0.5 = 0.9098 r0, and so on.
        let system = System { gain: "alpha=2".to_string(), h: 0.3, p: 0.04 };
        let want = [1.5, 0.909_796, 0.995_678, 0.999_991];
        let got = system.rates(4);
        assert!(got.len() == 4 && got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-6), "{got:?}");
        // eta H = 2 r0: p = 0.25 e^5, limited to 1, where the rate is 2 r0.
        let full = System { gain: "alpha=2".to_string(), h: 2.0, p: 0.25 };
        assert_eq!(full.rates(4), [4.0, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn lemmas_1_and_2_and_complexity_are_reproduced() {
        for (verdict, evidence) in [lemma_1(), lemma_2(), complexity()] {
            assert_eq!(verdict, Verdict::Reproduced, "{:?}", evidence.checks);
        }
    }

    #[test]
    fn complexity_test_detects_disciplines_with_state_per_flow() {
        let (_, evidence) = complexity();
        let others = evidence.detail.iter().find(|(key, _)| key.starts_with("for comparison")).unwrap().1;
        assert!(others["fq_codel"].as_f64() > Some(0.0) && others["fred"].as_f64() > Some(0.0), "{others}");
        // Two calls at the arrival of a packet, two at its departure, and one every 10 ms of the 6.15 s that 20,000
        // packets at 3250 per second take. At most 100 packets are still queued at the end.
        let [per_packet, dropped] =
            ["calls of the law per packet", "packets dropped"].map(|key| evidence.detail[key].as_f64().unwrap());
        assert!((per_packet - (4.0 - dropped / 10_000.0 + 0.0308)).abs() < 0.011, "{per_packet}, {dropped}");
        assert!(dropped > 1000.0);
    }
}
