//! Linear model of a discipline that gives each service class its share of the link, with one queue (MSVB), and of TCP
//! flows in several classes. The loop is the control loop of these flows and the discipline.
//!
//! Symbols: Q is the queue; class i has signal probability p_i and a threshold B_i of the queue, which adapts with the
//! gain alpha_i: dB_i/dt = alpha_i times (share of the link rate minus rate of the class). At equilibrium
//! B_i = (1 - p_i) Q. Q plus the sum of B_i/alpha_i keeps its initial value, unless a threshold reaches its maximum.
//! These conditions determine the equilibrium.

use std::collections::BTreeMap;

use forebay_aqm::Spec;
use forebay_aqm::base::design::{Share, Shares};
use forebay_theory::classes::{Class, Classes};
use forebay_theory::tcp_loop::{self, Near, TcpLoop};

use super::answer::{NoAnswer, Rest, Stability};
use super::controller::{FAST, SLOW, WITHIN};
use super::setting::{Flows, Setting};

/// Tolerance for the sum of the shares of the classes that send, because users write shares with few digits.
const ROUNDING: f64 = 1e-3;

/// A class of service that sends: its share of the link and its flows.
struct Sender<'a> {
    share: Share,
    flows: Vec<&'a Flows>,
}

impl Sender<'_> {
    /// The loop of the flows of the class if `q` packets wait.
    fn at(&self, setting: &Setting, q: f64) -> TcpLoop {
        let queueing = q / setting.capacity;
        let flows = self.flows.iter().map(|kind| tcp_loop::Flows { count: kind.count, rtt_s: kind.base_s + queueing });
        TcpLoop { capacity: self.share.phi * setting.capacity, drops: setting.drops, flows: flows.collect() }
    }
}

/// Equilibrium and stability with the discipline `spec`; `None` if it does not give classes their shares of the link.
pub(super) fn of(spec: &Spec, setting: &Setting) -> Option<Result<Stability, NoAnswer>> {
    Some(at_rest(&spec.shares(&setting.link)?, setting))
}

fn at_rest(shares: &Shares, setting: &Setting) -> Result<Stability, NoAnswer> {
    if shares.offered && setting.drops {
        return Err(NoAnswer::Offered);
    }
    let mut classes: BTreeMap<usize, Vec<&Flows>> = BTreeMap::new();
    for flows in &setting.flows {
        classes.entry(usize::from(flows.class) % shares.of.len()).or_default().push(flows);
    }
    let senders: Vec<Sender> =
        classes.into_iter().map(|(class, flows)| Sender { share: shares.of[class], flows }).collect();
    if (senders.iter().map(|sender| sender.share.phi).sum::<f64>() - 1.0).abs() > ROUNDING {
        return Err(NoAnswer::Shares);
    }
    let stays = |share: &Share| share.alpha <= 0.0 || share.phi <= 0.0 || share.bounds_pkts[0] >= share.bounds_pkts[1];
    if senders.iter().any(|sender| stays(&sender.share)) {
        return Err(NoAnswer::Threshold);
    }
    let kept: f64 = senders.iter().map(|sender| sender.share.threshold_pkts / sender.share.alpha).sum();
    let wanting = |q: f64| {
        let (mut sum, mut above) = (q - kept, f64::NEG_INFINITY);
        for sender in &senders {
            let threshold = q * (1.0 - sender.at(setting, q).p());
            sum += threshold / sender.share.alpha;
            above = above.max(threshold - sender.share.bounds_pkts[1]);
        }
        // A threshold at its maximum does not grow. Then Q plus the sum of B_i/alpha_i does not keep its initial value,
        // but loses the part of B_i above the maximum.
        sum.max(above)
    };
    // This value increases with q, and is at most 0 for an empty queue.
    let (mut low, mut high) = (0.0, setting.limit);
    if wanting(high) < 0.0 {
        return Err(NoAnswer::NoRest);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if wanting(middle) < 0.0 { low = middle } else { high = middle }
    }
    if high < WITHIN * setting.limit || high > (1.0 - WITHIN) * setting.limit {
        return Err(NoAnswer::NoRest);
    }
    stability(&senders, setting, high)
}

/// Local stability of all classes together at the equilibrium with a queue of `q` packets.
fn stability(senders: &[Sender<'_>], setting: &Setting, q: f64) -> Result<Stability, NoAnswer> {
    let loops: Vec<TcpLoop> = senders.iter().map(|sender| sender.at(setting, q)).collect();
    let classes: Vec<Class> =
        senders.iter().zip(&loops).map(|(sender, own)| Class { alpha: sender.share.alpha, p: own.p() }).collect();
    if classes.iter().any(|class| !(0.0..1.0).contains(&class.p)) {
        return Err(NoAnswer::NoRest);
    }
    if senders.iter().zip(&classes).any(|(sender, class)| (1.0 - class.p) * q < sender.share.bounds_pkts[0]) {
        return Err(NoAnswer::Threshold);
    }
    let near: Vec<Near> = loops.iter().map(|own| own.near_on(setting.capacity)).collect();
    let answer = |i: usize, w: f64| near[i].load(w);
    let mean = |of: &dyn Fn(&TcpLoop, &tcp_loop::Flows) -> f64| {
        let all = || loops.iter().flat_map(|own| own.flows.iter().map(move |kind| (own, kind)));
        all().map(|(own, kind)| kind.count * of(own, kind)).sum::<f64>()
            / all().map(|(_, kind)| kind.count).sum::<f64>()
    };
    let rtt_s = mean(&|_, kind| kind.rtt_s);
    let rtts = || loops.iter().flat_map(|own| own.flows.iter().map(|kind| kind.rtt_s));
    let (shortest, longest) = (rtts().fold(f64::INFINITY, f64::min), rtts().fold(0.0, f64::max));
    // The lowest frequency is so low that each threshold acts as a pure integrator.
    let mut from = SLOW / longest;
    let own = |i: usize, w: f64| classes[i].alpha * near[i].load(w).to_signals.norm() / (w * q);
    while (0..classes.len()).any(|i| own(i, from) < 100.0) && from > 1e-12 {
        from *= 0.5;
    }
    let margins = Classes { queue: q, classes: &classes, answer: &answer }.margins(from, FAST / shortest);
    let p = senders.iter().zip(&classes).map(|(sender, class)| sender.share.phi * class.p).sum();
    let rest = Rest { q, p, rate: setting.capacity };
    Ok(Stability::at(rest, setting.capacity, mean(&|own, _| own.window()), rtt_s, &margins))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::stability;
    use crate::theory::testing::example;

    fn found(sets: &[&str], aqm: &str) -> Result<Stability, NoAnswer> {
        let (spec, setting) = example(sets, aqm);
        stability::of(&spec, &setting)
    }

    /// SVB is the discipline of which MSVB is the extension to several classes: it has one threshold for all packets.
    #[test]
    fn msvb_with_one_class_has_stability_of_svb() {
        let link = ["topology.bottleneck.rate=5mbit", "topology.bottleneck.delay=5ms", "topology.egress.delay=5ms"];
        for (flows, limits) in [
            ("80", "alpha=0.1 b_init=100p b_cap=110p"),
            ("200", "alpha=0.1 b_cap=400p"),
            ("80", "alpha=0.2 b_cap=200p"),
        ] {
            let count = format!("flows.ftp.count={flows}");
            let sets = [&link[..], &[&count]].concat();
            let [one, svb] = ["msvb", "svb"].map(|name| found(&sets, &format!("{name} phi=1 {limits}")).unwrap());
            assert_eq!((one.stable, svb.stable), (flows == "200" || limits.contains("110p"), one.stable));
            for (name, a, b) in [
                ("queue", Some(one.q_rest_pkts), Some(svb.q_rest_pkts)),
                ("p", Some(one.p_rest), Some(svb.p_rest)),
                ("crossover", one.crossover_rad_per_s, svb.crossover_rad_per_s),
                ("delay", one.delay_margin_ms, svb.delay_margin_ms),
                ("gain", one.gain_margin, svb.gain_margin),
            ] {
                let near = match (a, b) {
                    (Some(a), Some(b)) => (a - b).abs() <= 0.03 * b,
                    _ => a == b,
                };
                assert!(near, "{flows} {limits}: {name} {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn stability_with_two_equal_classes_equals_one_class() {
        // Each class has half of the load and changes its threshold half as much, so it needs twice the alpha. Only
        // their own thresholds control the difference between the two classes; this control is far from the stability
        // limit here.
        let link = ["topology.bottleneck.rate=5mbit", "topology.bottleneck.delay=5ms", "topology.egress.delay=5ms"];
        let halves = ["topology.access.hosts=2", "flows.ftp.class=host", "flows.ftp.count=80"];
        for (alpha, cap) in [(0.1, 110), (0.2, 200)] {
            let two =
                found(&[&link[..], &halves].concat(), &format!("msvb phi=0.5 alpha={} b_cap={cap}p", 2.0 * alpha));
            let one = found(&[&link[..], &halves[2..]].concat(), &format!("msvb phi=1 alpha={alpha} b_cap={cap}p"));
            let (two, one) = (two.unwrap(), one.unwrap());
            assert_eq!((two.stable, two.crossover_rad_per_s), (one.stable, None), "{two:?} {one:?}");
            let near = |a: Option<f64>, b: Option<f64>| a == b || (a.unwrap() / b.unwrap() - 1.0).abs() < 0.01;
            assert!(near(Some(two.q_rest_pkts), Some(one.q_rest_pkts)), "{two:?} {one:?}");
            assert!(near(two.gain_margin, one.gain_margin), "{two:?} {one:?}");
            assert!(near(two.delay_margin_ms, one.delay_margin_ms), "{two:?} {one:?}");
        }
    }

    #[test]
    fn msvb_without_equilibrium_gives_the_reason() {
        assert_eq!(found(&[], "msvb"), Err(NoAnswer::Shares), "one class with a tenth of the link");
        assert_eq!(found(&[], "msvb phi=1 ecn=off rate_basis=offered"), Err(NoAnswer::Offered));
        assert_eq!(found(&[], "msvb phi=1 alpha=0"), Err(NoAnswer::Threshold));
        assert_eq!(found(&[], "msvb phi=1 b_cap=100p b_floor=100p"), Err(NoAnswer::Threshold));
        assert_eq!(found(&[], "msvb phi=1 b_init=0p"), Err(NoAnswer::NoRest), "an empty queue");
        assert_eq!(found(&["flows.ftp.count=20000"], "msvb phi=1 b_init=10p b_cap=20p"), Err(NoAnswer::NoRest));
    }
}
