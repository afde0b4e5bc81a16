//! Links with losses or a variable rate, and sources that pause or stop: on Linux and in the simulator.

use std::sync::Arc;

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{FlowSpec, Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::schedule::Schedule;
use forebay_sim::source::{Pattern, Sizes};
use forebay_sim::world::World;

use crate::{bulk, flow, kernel, network, run};

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Span::from_secs(seconds)
}

fn simulated(net: &Network) -> Outcome {
    World::new(net, 1).unwrap().run(&mut ()).unwrap()
}

/// Datagrams at 80 % of the link's rate: 20 s, 666 a second.
fn datagrams() -> Network {
    let every = Span::from_micros(1500);
    Network { flows: vec![flow("cbr/0", Traffic::Datagrams(Pattern::Constant { every }))], ..network("droptail", 20) }
}

/// The share of datagrams that a link with these losses delivers after the warm-up.
fn delivered(model: LossModel) -> Option<f64> {
    let kernel = kernel()?;
    let mut net = datagrams();
    net.links[0].lane.conditions.loss = Some(model);
    let outcome = run(&kernel, &net, 1).unwrap().outcome;
    let link = &outcome.links[0];
    // What is on the wire at either end of the window: 10 ms.
    let window = outcome.flows[0].received_bytes / 1500 + link.lost_pkts;
    assert!(window.abs_diff(link.delivered_pkts) <= 14, "{window} {}", link.delivered_pkts);
    Some(1.0 - link.lost_pkts as f64 / link.delivered_pkts as f64)
}

/// Four standard deviations of the share among 13,000 packets: 0.0035.
#[test]
fn independent_losses_have_their_probability() {
    let Some(share) = delivered(LossModel::Bernoulli(0.01)) else { return };
    assert!((share - 0.99).abs() < 0.0035, "{share}");
}

/// In the long run p/(p + r) of the packets are in the bad state, where all are lost. The variance of the share is
/// 6.7 times that of independent losses, (1 + l)/(1 - l) for l = 1 - p - r. Four standard deviations: 0.018.
#[test]
fn losses_in_bursts_have_their_share() {
    let Some(share) = delivered(LossModel::GilbertElliott { p: 0.01, r: 0.25, bad: 1.0, good: 0.0 }) else { return };
    assert!((share - (1.0 - 0.01 / 0.26)).abs() < 0.018, "{share}");
}

/// Four CUBIC flows fill the link at each rate: within 2 % of its capacity, at most a buffer late.
#[test]
fn variable_rate_is_filled() {
    let Some(kernel) = kernel() else { return };
    let mut net = bulk("droptail", 4, 12);
    let steps = vec![(at(0.0), Rate(10_000_000)), (at(4.0), Rate(4_000_000)), (at(8.0), Rate(8_000_000))];
    net.links[0].lane.conditions.schedule = Some(Arc::new(Schedule::Steps(steps)));
    let link = &run(&kernel, &net, 1).unwrap().outcome.links[0];
    assert!((0.98..=1.005).contains(&link.utilisation), "{}", link.utilisation);
}

/// At rate 0 nothing leaves. What waits leaves when the link is up again: without another arrival.
#[test]
fn queue_leaves_after_an_outage() {
    let Some(kernel) = kernel() else { return };
    let mut net = datagrams();
    let Traffic::Datagrams(pattern) = &mut net.flows[0].traffic else { unreachable!() };
    // Twice the rate of the link, and then nothing: a queue of 83 packets at the outage.
    *pattern = Pattern::Constant { every: Span::from_micros(600) };
    (net.flows[0].start, net.flows[0].stop) = (at(1.0), Some(at(1.1)));
    let steps = vec![(at(0.0), Rate(10_000_000)), (at(1.11), Rate(0)), (at(2.0), Rate(10_000_000))];
    net.links[0].lane.conditions.schedule = Some(Arc::new(Schedule::Steps(steps)));
    net.duration = Span::from_millis(3000);
    let [real, simulated] = [run(&kernel, &net, 1).unwrap().outcome, simulated(&net)];
    let counts = |outcome: &Outcome| (outcome.links[0].delivered_pkts, outcome.links[0].dropped_overflow);
    let ((sent, dropped), (expected, lost)) = (counts(&real), counts(&simulated));
    assert!(sent.abs_diff(expected) <= 2 && dropped.abs_diff(lost) <= 2, "{sent} {expected} {dropped} {lost}");
    // The last ones wait for the outage, and for the queue before them.
    let longest = real.links[0].bundles[0].sojourn_s.as_ref().unwrap().max;
    assert!((0.85..1.01).contains(&longest), "{longest}");
}

/// The times are drawn from the same random stream: the same datagrams, and none is dropped.
#[test]
fn bursts_and_poisson_arrivals_are_the_simulators() {
    let Some(kernel) = kernel() else { return };
    let millis = Span::from_millis;
    let patterns = [
        Pattern::OnOff { every: millis(4), on: millis(100), off: millis(200) },
        Pattern::Pareto { every: millis(4), on: millis(100), off: millis(200), shape: 1.5 },
        Pattern::Poisson { every: millis(20), sizes: Sizes::Constant },
    ];
    let source = |(number, pattern)| flow(&format!("source/{number}"), Traffic::Datagrams(pattern));
    let net = Network { flows: patterns.into_iter().enumerate().map(source).collect(), ..network("droptail", 10) };
    let [real, simulated] = [run(&kernel, &net, 1).unwrap().outcome, simulated(&net)];
    for (number, (real, simulated)) in real.flows.iter().zip(&simulated.flows).enumerate() {
        assert!(real.delivered_pkts > 50, "source {number}: {}", real.delivered_pkts);
        // One may be on its way at either end of the window.
        let apart = real.delivered_pkts.abs_diff(simulated.delivered_pkts);
        assert!(apart <= 1, "source {number}: {} {}", real.delivered_pkts, simulated.delivered_pkts);
    }
}

/// Two flows share the link; one stops in the middle of the window, and the other takes all.
#[test]
fn stopped_flow_sends_nothing_more() {
    let Some(kernel) = kernel() else { return };
    let mut net = bulk("droptail", 2, 20);
    net.warmup = Span::from_millis(2000);
    let stop = |flow: &mut FlowSpec| flow.stop = Some(at(5.0));
    stop(&mut net.flows[1]);
    let outcome = run(&kernel, &net, 1).unwrap().outcome;
    assert!((outcome.flows[1].active_s - 3.0).abs() < 1e-9);
    let bytes: Vec<u64> = outcome.flows.iter().map(|flow| flow.goodput_bytes).collect();
    // The stopped one has at most 3 s and a full queue at 10 Mb/s; together they fill 18 s.
    assert!((bytes[1] as f64) < 3.2 * 1.25e6, "{bytes:?}");
    let all = (bytes[0] + bytes[1]) as f64 / (18.0 * 1.25e6 * 1434.0 / 1500.0);
    assert!((0.96..1.01).contains(&all), "{all}");
}
