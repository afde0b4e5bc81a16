//! Links with losses or a changing rate: all packets are accounted for, and meters and the fast path of drop-tail,
//! which needs no events, do not change the run.

use std::sync::Arc;

use crate::common::{case1, dumbbell, run};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::delay::{DelayModel, DelayTrace};
use forebay_sim::levels::Levels;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::schedule::{Schedule, Trace};
use forebay_sim::source::Pattern;
use forebay_sim::tcp::TcpOptions;

const BURSTS: LossModel = LossModel::GilbertElliott { p: 0.01, r: 0.2, bad: 0.9, good: 0.001 };

/// RAQM case 1 with losses on every link.
fn lossy(aqm: &str, secs: u64) -> Network {
    let mut net = case1(&dumbbell(aqm, 20, Span::from_micros(10)), 10, secs, TcpOptions::default(), 1);
    for (i, link) in net.links.iter_mut().enumerate() {
        link.lane.conditions.loss = Some(if i % 2 == 0 { BURSTS } else { LossModel::Bernoulli(0.01) });
    }
    net
}

/// Replaces the traffic of `net` with datagrams every `every`, measured on every link from the start. They end 10 s
/// before the run, so that each is delivered, dropped or lost.
fn count_all(net: &mut Network, every: Span) {
    for flow in &mut net.flows {
        flow.traffic = Traffic::Datagrams(Pattern::Constant { every });
        flow.stop = Some(Instant::ZERO + (net.duration - Span::from_millis(10_000)));
    }
    net.warmup = Span::ZERO;
    net.links.iter_mut().for_each(|link| link.lane.study = true);
}

/// Packets dropped by queues and lost on links, in a run that ends with no packet in the network.
fn fates(outcome: &Outcome) -> (u64, u64) {
    let dropped = outcome.links.iter().map(|link| link.dropped_early + link.dropped_overflow).sum();
    let lost = outcome.links.iter().map(|link| link.lost_pkts).sum();
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sender.sent).sum();
    let delivered: u64 = outcome.flows.iter().map(|flow| flow.delivered_pkts).sum();
    assert_eq!(sent, delivered + dropped + lost);
    (dropped, lost)
}

#[test]
fn packets_sent_equal_arrived_plus_dropped_plus_lost() {
    for aqm in ["droptail", "raqm", "codel", "red_tail", "fq_codel", "drr"] {
        let mut net = lossy(aqm, 30);
        count_all(&mut net, Span::from_micros(3500));
        let outcome = run(&net, 1);
        let (dropped, lost) = fates(&outcome);
        assert!(lost > 1000 && dropped > 1000, "{aqm}: {dropped} {lost}");
        let link = &outcome.links[0];
        assert!(link.lost_pkts > 0 && link.lost_pkts < link.delivered_pkts, "{aqm}");
    }
}

/// The bottleneck loses (0.01 * 0.9 + 0.2 * 0.001) / 0.21 = 0.0438 of the packets, in bursts. For about 23,000 packets
/// the sd is 0.0043, taken from a chain that loses all or no packets of a state; four sd are allowed.
#[test]
fn meter_measures_the_loss_rate() {
    for aqm in ["droptail", "raqm"] {
        let mut net = lossy(aqm, 30);
        for flow in &mut net.flows {
            flow.traffic = Traffic::Datagrams(Pattern::Constant { every: Span::from_micros(3500) });
        }
        let link = run(&net, 1).links.remove(0);
        let share = link.lost_pkts as f64 / link.delivered_pkts as f64;
        assert!((share - BURSTS.mean()).abs() < 0.017, "{aqm}: {share}");
        assert!(link.utilisation > 0.99, "{aqm}: lost packets use the link too");
    }
}

#[test]
fn fast_paths_and_meters_do_not_change_losses() {
    let net = lossy("droptail", 20);
    let fast = run(&net, 1);
    let mut slow = net.clone();
    for link in &mut slow.links[..2] {
        link.fast_path = false;
    }
    assert_eq!(fast.fingerprint, run(&slow, 1).fingerprint);
    let mut watched = net.clone();
    // A host's own link has serialization jitter only if it is computed ahead of time, so it is not under study.
    let others = |name: &str| !name.starts_with("access/") && !name.starts_with("egress-back/");
    watched.links.iter_mut().for_each(|link| link.lane.study = others(&link.name));
    assert_eq!(fast.fingerprint, run(&watched, 1).fingerprint);
}

#[test]
fn zero_loss_probability_changes_nothing() {
    let net = case1(&dumbbell("raqm", 20, Span::from_micros(10)), 10, 20, TcpOptions::default(), 1);
    let mut with = net.clone();
    with.links.iter_mut().for_each(|link| link.lane.conditions.loss = Some(LossModel::Bernoulli(0.0)));
    assert!(run(&net, 1) == run(&with, 1));
}

#[test]
fn invalid_loss_probability_is_refused() {
    let mut net = lossy("droptail", 1);
    net.links[2].lane.conditions.loss = Some(LossModel::Bernoulli(1.5));
    assert!(net.check().unwrap_err().0.contains("access"), "{:?}", net.check());
}

fn steps(steps: &[(u64, u64)]) -> Arc<Schedule> {
    let at = |ms: u64| Instant::ZERO + Span::from_millis(ms);
    Arc::new(Schedule::steps(steps.iter().map(|&(ms, rate)| (at(ms), Rate(rate))).collect()).unwrap())
}

/// Irregular delivery opportunities, some at the same time, one pause of 200 ms, 5.4 Mb/s on average.
fn trace() -> Arc<Schedule> {
    let lines: String = (0..450u64).map(|i| format!("{}\n", (i * i * 7 / 4000 + i).min(800) + 200)).collect();
    Arc::new(Schedule::Trace(Trace::parse(&lines).unwrap()))
}

fn outage() -> Arc<Schedule> {
    steps(&[(0, 10_000_000), (3000, 2_000_000), (6000, 0), (8000, 0), (9000, 30_000_000), (9500, 333_333)])
}

/// RAQM case 1 with a bottleneck of changing rate, in both directions.
fn changing(aqm: &str, schedule: &Arc<Schedule>, secs: u64) -> Network {
    let mut net = lossy(aqm, secs);
    net.links[..2].iter_mut().for_each(|link| link.lane.conditions.schedule = Some(schedule.clone()));
    net
}

#[test]
fn rate_schedule_of_one_step_equals_constant_rate() {
    for aqm in ["droptail", "raqm", "codel"] {
        let net = case1(&dumbbell(aqm, 20, Span::from_micros(10)), 10, 20, TcpOptions::default(), 1);
        let mut stepped = net.clone();
        stepped.links[..2].iter_mut().for_each(|link| link.lane.conditions.schedule = Some(steps(&[(0, 10_000_000)])));
        let (mut one, mut other) = (run(&net, 1), run(&stepped, 1));
        assert!((one.links[0].utilisation - other.links[0].utilisation).abs() < 1e-9, "{aqm}");
        (one.links[0].utilisation, other.links[0].utilisation) = (1.0, 1.0);
        assert!(one == other, "{aqm}");
    }
}

#[test]
fn fast_path_equals_discipline_under_rate_schedule() {
    for schedule in [outage(), trace()] {
        let fast = changing("droptail", &schedule, 20);
        let mut slow = fast.clone();
        for link in &mut slow.links[..2] {
            link.fast_path = false;
        }
        let (fast, mut slow) = (run(&fast, 1), run(&slow, 1));
        assert!(fast.links[0].lost_pkts > 0 && fast.links[0].dropped_overflow > 0);
        slow.events = fast.events;
        assert!(fast == slow, "{:?}\n{:?}", fast.links[0].queue_pkts, slow.links[0].queue_pkts);
    }
}

/// Case 1 whose bottleneck has these delays in both directions.
fn delayed(aqm: &str, trace: &str, jitter: Span) -> Network {
    let mut net = case1(&dumbbell(aqm, 20, Span::from_micros(10)), 10, 20, TcpOptions::default(), 1);
    let trace = (!trace.is_empty()).then(|| Arc::new(DelayTrace::parse(trace).unwrap()));
    let delay = DelayModel { trace, jitter };
    net.links[..2].iter_mut().for_each(|link| link.lane.conditions.delay = delay.clone());
    net
}

#[test]
fn delay_trace_of_one_step_equals_constant_delay() {
    for aqm in ["droptail", "raqm", "codel"] {
        let net = case1(&dumbbell(aqm, 20, Span::from_micros(10)), 10, 20, TcpOptions::default(), 1);
        let delay = net.links[0].lane.delay.secs() * 1e3;
        let traced = delayed(aqm, &format!("0 {delay}\n"), Span::ZERO);
        assert_eq!(run(&net, 1).fingerprint, run(&traced, 1).fingerprint, "{aqm}");
    }
}

#[test]
fn fast_path_equals_discipline_under_varying_delays() {
    let fast = delayed("droptail", "0 10\n2000 40\n5000 1\n9000 25\n", Span::from_millis(3));
    let mut slow = fast.clone();
    slow.links[..2].iter_mut().for_each(|link| link.fast_path = false);
    let (fast, mut slow) = (run(&fast, 1), run(&slow, 1));
    slow.events = fast.events;
    assert!(fast == slow && fast.links[0].dropped_overflow > 0);
}

/// Datagrams at a tenth of the rate: no queue, so that each delay is that of the path. Jitter has half of its bound as its
/// mean. Flows start in the first second: of the packets, 9.5 in 19.5 have the first delay of the trace, 10 the second.
#[test]
fn one_way_delays_follow_trace_and_jitter() {
    let mean_ms = |mut net: Network| {
        for flow in &mut net.flows {
            flow.traffic = Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(40) });
        }
        net.warmup = Span::ZERO;
        run(&net, 1).all[0].owd_s.unwrap() * 1e3
    };
    let constant = mean_ms(delayed("droptail", "", Span::ZERO));
    let (own, expected) = (10.0, (20.0 * 9.5 + 60.0 * 10.0) / 19.5);
    let traced = mean_ms(delayed("droptail", "0 20\n10000 60\n", Span::ZERO));
    assert!((traced - constant - (expected - own)).abs() < 0.2, "{traced} {constant}");
    let jittery = mean_ms(delayed("droptail", "", Span::from_millis(2)));
    assert!((jittery - constant - 1.0).abs() < 0.1, "{jittery} {constant}");
}

/// The bottleneck's buffer is small enough to overflow while the link is down.
#[test]
fn packets_are_conserved_while_rate_changes() {
    for schedule in [outage(), trace()] {
        for aqm in ["droptail", "raqm", "codel", "red_tail", "fq_codel", "drr"] {
            let mut net = changing(aqm, &schedule, 30);
            count_all(&mut net, Span::from_micros(5000));
            fates(&run(&net, 1));
        }
    }
}

/// The offered load exceeds both schedules, so a drop-tail link is always busy and delivers all bits of its schedule,
/// except for one packet at either end of the window.
#[test]
fn a_busy_link_delivers_what_its_schedule_carries() {
    for schedule in [steps(&[(0, 8_000_000), (7000, 3_000_000), (12_000, 9_000_000)]), trace()] {
        let mut net = case1(&dumbbell("droptail", 20, Span::ZERO), 10, 20, TcpOptions::default(), 1);
        net.links[0].lane.conditions.schedule = Some(schedule.clone());
        for flow in &mut net.flows {
            flow.traffic = Traffic::Datagrams(Pattern::Constant { every: Span::from_micros(3500) });
            flow.start = Instant::ZERO;
        }
        let link = run(&net, 1).links.remove(0);
        let end = Instant::ZERO + net.duration;
        let bits = schedule.bits(Instant::ZERO + net.warmup, end);
        assert!((link.delivered_pkts as f64 - bits / 4000.0).abs() <= 3.0, "{} {bits}", link.delivered_pkts);
        assert!((link.utilisation - 1.0).abs() < 1e-3, "{}", link.utilisation);
    }
}

/// A link with random rates between 2 and 6 Mb/s has a mean of 4 Mb/s: over 400 s with changes every 100 ms,
/// correlated over a few of them, 5 % is allowed. Each link and each seed has its own rates.
#[test]
fn random_rates_have_their_mean() {
    let mut net = case1(&dumbbell("droptail", 100, Span::from_micros(10)), 20, 400, TcpOptions::default(), 1);
    let rates = [2, 4, 6].map(|mbit| Rate(mbit * 1_000_000)).to_vec();
    net.links[0].lane.conditions.levels = Some(Levels { rates, hold: Span::from_millis(100) });
    let outcome = run(&net, 1);
    let sent = outcome.links[0].delivered_pkts as f64 * 500.0 * 8.0 / (net.duration - net.warmup).secs();
    assert!((sent / 4e6 - 1.0).abs() < 0.05, "{sent}");
    assert!((0.95..=1.0).contains(&outcome.links[0].utilisation), "{}", outcome.links[0].utilisation);
    assert_ne!(run(&net, 2).fingerprint, outcome.fingerprint);
    net.links[0].lane.conditions.levels = Some(Levels { rates: Vec::new(), hold: Span::from_millis(100) });
    assert!(net.check().is_err());
}
