//! Tests of Adaptive RED against hand calculations.

use alloc::vec::Vec;

use super::*;
use crate::base::adapters::Fifo;
use crate::base::host::Queue;
use crate::base::rng::Rng;
use crate::base::units::{Limit, Rate};
use crate::testing::by_hand::{ms as at, near, packet, params};

const LINK: Link = Link { rate: Rate(4_000_000), limit: Limit::Packets(200), mean_packet: Bytes(1000) };

/// max_p after `steps` steps at a standing queue of `q` packets; thresholds 20 and 40, w_q = 1.
fn steps(q: u32, settings: &str, steps: u64) -> f64 {
    let params = params(&alloc::format!("min_th=20p max_th=40p w_q=1 {settings}"));
    let mut queue = Queue::new(Fifo::new(Ared::build(&params, &LINK)), LINK, false, Rng::stream(1, "ared"));
    while queue.port.pkts() < q {
        queue.arrive(packet(), at(0));
    }
    // One more arrival, at a queue of q packets, is the last before the steps.
    queue.arrive(packet(), at(0));
    (1..=steps).for_each(|n| queue.tick(at(500 * n)));
    queue.discipline().aqm().curve().max_p
}

#[test]
fn timer_adapts_max_p_outside_target_range() {
    // The middle fifth is 28 to 32.
    near(steps(27, "", 1), 0.09);
    near(steps(27, "", 3), 0.1 * 0.9 * 0.9 * 0.9);
    near(steps(28, "", 3), 0.1);
    near(steps(32, "", 3), 0.1);
    near(steps(33, "", 1), 0.11);
    near(steps(33, "", 3), 0.13);
    near(steps(33, "max_p=0.02", 1), 0.025);
    near(steps(33, "alpha=0.02", 1), 0.12);
    near(steps(27, "beta=0.5", 1), 0.05);
}

#[test]
fn max_p_stays_between_its_bounds() {
    // The last step may start at a bound: 0.01 and 0.5 are inclusive, in ns-2 exclusive.
    near(steps(33, "max_p=0.5", 9), 0.51);
    near(steps(33, "max_p=0.5 quirk=on", 9), 0.5);
    near(steps(27, "max_p=0.01", 9), 0.009);
    near(steps(27, "max_p=0.01 quirk=on", 9), 0.01);
    near(steps(27, "max_p=0.2 bottom=0.19", 9), 0.18);
    assert!(Ared::check(&params("bottom=0.6")).is_err());
}

#[test]
fn arrivals_adapt_max_p_unless_a_timer_does() {
    for (clock, want) in [("timer", 0.1), ("arrival", 0.09), ("change", 0.09)] {
        let params = params(&alloc::format!("clock={clock}"));
        let mut queue = Queue::new(Fifo::new(Ared::build(&params, &LINK)), LINK, false, Rng::stream(1, "ared"));
        queue.arrive(packet(), at(2_000));
        near(queue.discipline().aqm().curve().max_p, want);
    }
}

#[test]
fn thresholds_follow_the_target_delay() {
    let min_th = |settings: &str| {
        let link = Link { rate: Rate(40_000_000), ..LINK };
        Ared::build(&params(settings), &link).curve().min_th
    };
    // 5000 packets a second: 5 ms of them are 25, 20 ms are 100.
    assert_eq!([min_th(""), min_th("target=20ms"), min_th("target=0s")], [12.5, 50.0, 5.0]);
}

#[test]
fn max_p_moves_only_outside_target_range() {
    let curve = Curve::new(5.0, 15.0, 0.1, true);
    let ns2 = Aimd::new(&params("bottom=0.01 quirk=on"), &LINK);
    let step = |avg, max_p| ns2.adapted(&curve.with(max_p), avg).unwrap_or(max_p);
    near(step(11.1, 0.1), 0.11);
    near(step(11.1, 0.02), 0.025); // a quarter of max_p is less than alpha
    near(step(8.9, 0.1), 0.09);
    assert_eq!(step(10.0, 0.1), 0.1);
    assert_eq!([step(20.0, 0.5), step(0.0, 0.01)], [0.5, 0.01]);
    let paper = Aimd { inclusive: true, ..ns2 };
    let step = |avg, max_p| paper.adapted(&curve.with(max_p), avg).unwrap_or(max_p);
    near(step(20.0, 0.5), 0.51);
    near(step(0.0, 0.01), 0.009); // one step beyond
    assert_eq!([step(20.0, 0.51), step(0.0, 0.009)], [0.51, 0.009]);
    let greedy = Aimd { alpha: 1.0, top: 1.0, ..paper };
    assert_eq!(greedy.adapted(&curve.with(0.9), 20.0), Some(1.0), "0.9 + 0.9/4");
    assert_eq!(greedy.adapted(&curve, 10.0), None);
}

/// The default of `bottom`, below which max_p does not decrease, is min(0.01, 80000/C) with the link rate C in bit/s.
#[test]
fn faster_link_has_smaller_default_bottom() {
    let of = |given, mbit: u64| bottom(given, &Link { rate: Rate(mbit * 1_000_000), ..LINK });
    assert_eq!(of(Auto::Auto, 3), 0.01);
    assert!((of(Auto::Auto, 15) - 0.0053).abs() < 5e-5);
    assert_eq!(of(Auto::Given(0.02), 15), 0.02);
}

/// max_p after an arrival with this average at each of these milliseconds.
fn trajectory(clock: &str, avg: f64, times: &[u64]) -> Vec<f64> {
    let mut curve = Curve::new(20.0, 80.0, 0.1, true);
    let mut aimd = Aimd::new(&params(&alloc::format!("clock={clock} quirk=on")), &LINK);
    let one = |ms: &u64| {
        aimd.steer(&mut curve, avg, at(*ms));
        curve.max_p
    };
    times.iter().map(one).collect()
}

#[test]
fn arrival_after_long_idle_changes_max_p_once() {
    let once = 0.1 * 0.9;
    assert_eq!(trajectory("arrival", 0.0, &[400, 500, 501, 900, 60_000]), [0.1, 0.1, once, once, once * 0.9]);
}

#[test]
fn ns2_interval_starts_when_max_p_last_changed() {
    let once = 0.1 * 0.9;
    assert_eq!(trajectory("change", 0.0, &[501, 900, 1_001, 1_002]), [once, once, once, once * 0.9]);
    // 50 is in the middle fifth until 900 ms: no change, so the first arrival below it makes a step.
    let mut curve = Curve::new(20.0, 80.0, 0.1, true);
    let mut aimd = Aimd::new(&params("clock=change quirk=on"), &LINK);
    for (ms, avg, want) in [(501, 50.0, 0.1), (900, 50.0, 0.1), (901, 0.0, once)] {
        aimd.steer(&mut curve, avg, at(ms));
        assert_eq!(curve.max_p, want, "{ms} ms");
    }
}

#[test]
fn timer_updates_max_p_without_arrivals() {
    let link = Link { rate: Rate(3_000_000), limit: Limit::Bytes(160_000), ..LINK };
    let params = params("min_th=20000b max_th=80000b auto_w=second quirk=on");
    let mut queue = Queue::new(Fifo::new(Ared::build(&params, &link)), link, false, Rng::stream(1, ""));
    let max_p = |queue: &Queue<Fifo<Ared>>| queue.discipline().aqm().curve().max_p;
    (0..160).for_each(|_| queue.arrive(packet(), at(0)));
    assert!(queue.discipline().aqm().average() < 80_000.0);
    assert_eq!(queue.next_tick(), Some(at(500)));
    queue.tick(at(500));
    let first = max_p(&queue);
    assert!(first != 0.1 && queue.next_tick() == Some(at(1000)));
    while queue.depart(at(600)).is_some() {}
    // A late tick is one step; the next is an interval later. After 10 s at 375 packets a second the average is 0.
    queue.tick(at(10_600));
    assert_eq!((max_p(&queue), queue.next_tick()), (first * 0.9, Some(at(11_100))));
}

/// With `gentle`, the probability rises from max_p at max_th to 1 at twice max_th. Adaptive RED
/// changes max_p. This slope begins at the current max_p, or, as in ns-2, always at the max_p of the start.
#[test]
fn gentle_slope_can_keep_the_initial_max_p() {
    for (frozen, want) in [(true, 0.1 + 0.9 * 0.5), (false, 0.4 + 0.6 * 0.5)] {
        let params = params::<red::Params>("min_th=5p max_th=15p w_q=1");
        let mut red = Gateway::new(&params, TARGET_DELAY, Aimd::new(&Params::default(), &LINK), &LINK);
        red = if frozen { red.with_frozen_gentle() } else { red };
        red.steer_to(0.4);
        let mut queue = Queue::new(Fifo::new(red), LINK, false, Rng::stream(1, ""));
        // Half-way from max_th to its double are 22.5 packets: at 23, 0.5 more of a packet in 15.
        (0..24).for_each(|_| queue.arrive(packet(), at(0)));
        let red = queue.discipline().aqm();
        let more = (red.average() - 22.5) / 15.0 * if frozen { 0.9 } else { 0.6 };
        assert!((red.p_b() - want - more).abs() < 1e-12, "{}", red.p_b());
    }
}
