//! Tests of PIE against hand calculations.

use alloc::vec::Vec;

use super::*;
use crate::base::adapters::Fifo;
use crate::base::host::Queue;
use crate::base::port::MAIN;
use crate::base::rng::Rng;
use crate::base::units::Rate;
use crate::testing::by_hand::{ms as at, params};

const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

fn packet() -> Packet {
    Packet { len: 1000, ..Packet::default() }
}

fn queue() -> Queue<Fifo<Pie>> {
    Queue::new(Fifo::new(Pie::build(&Params::default(), &LINK)), LINK, true, Rng::stream(1, "queue"))
}

fn rule(settings: &str) -> Rule {
    let params: Params = params(settings);
    Rule::new(&params, &LINK)
}

/// A congested state with signal probability `p`: both delays are 100 ms, and no burst allowance is left.
fn congested(rule: &Rule, p: f64) -> PieState {
    PieState { p, delay: 0.1, delay_old: 0.1, burst: Span::ZERO, ..PieState::new(rule) }
}

/// The verdicts on `n` arrivals at a queue of ten packets.
fn verdicts(state: &mut PieState, rule: &Rule, n: usize) -> Vec<Verdict> {
    let mut queue = queue();
    (0..10).for_each(|_| queue.arrive(packet(), at(0)));
    let mut rng = Rng::stream(1, "pie");
    let mut cx = Cx::new(at(0), &mut rng);
    (0..n).map(|_| state.arrival(rule, &packet(), &queue.port.level(MAIN), &mut cx)).collect()
}

#[test]
fn accumulated_probability_spaces_drops() {
    let rule = rule("derandomise=on");
    let mut state = congested(&rule, 0.25);
    let signals = verdicts(&mut state, &rule, 4000);
    let drops: Vec<usize> = (0..4000).filter(|n| signals[*n] == Verdict::Drop).collect();
    // 0.25, 0.5, 0.75 are below 0.85, 8.5 = 34 x 0.25 is forced.
    let gaps = drops.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.clone().all(|gap| (4..=34).contains(&gap)) && gaps.min() == Some(4));
    assert!((400..700).contains(&drops.len()), "one in 3 + 1/0.25: {}", drops.len());
}

#[test]
fn accumulated_probability_of_8_5_forces_signal() {
    let rule = rule("derandomise=on");
    let mut state = PieState { spacing: 8.499, ..congested(&rule, 0.001) };
    assert_eq!(verdicts(&mut state, &rule, 2), [Verdict::Signal, Verdict::Accept]);
    assert_eq!(state.spacing, 0.001);
    let mut saved = PieState { spacing: 8.499, burst: Span::from_millis(1), ..congested(&rule, 0.001) };
    assert_eq!(verdicts(&mut saved, &rule, 1), [Verdict::Accept]);
    assert_eq!(saved.spacing, 8.5, "the allowance saves it, the next one is forced too");
}

#[test]
fn accumulated_probability_is_reset_at_p_0() {
    let rule = rule("derandomise=on");
    let mut state = PieState { spacing: 8.0, ..congested(&rule, 0.0) };
    verdicts(&mut state, &rule, 1);
    assert_eq!(state.spacing, 0.0);
}

#[test]
fn byte_mode_scales_p_for_short_packets() {
    let (plain, by_bytes) = (rule(""), rule("bytes=on"));
    let hits = |rule: &Rule| {
        let signals = verdicts(&mut congested(rule, 0.5), rule, 1000);
        signals.iter().filter(|verdict| **verdict == Verdict::Drop).count()
    };
    assert_eq!(hits(&plain), hits(&by_bytes), "a packet of mean length");
    let short = rule("bytes=on mtu=4000b");
    assert!((90..160).contains(&hits(&short)), "a quarter of 500: {}", hits(&short));
    let long = rule("bytes=on mtu=10b");
    assert_eq!(hits(&long), hits(&plain), "bounded: a long packet is dropped with p, not more");
}

#[test]
fn departures_reduce_linux_burst_allowance() {
    let rule = rule("burst=departure");
    let mut state = PieState::new(&rule);
    let queue = queue();
    let level = queue.port.level(MAIN);
    for (ms, left) in [(10, 150), (40, 120), (100, 60), (200, 0)] {
        state.departure(&rule, &packet(), &level, at(ms));
        assert_eq!(state.burst, Span::from_millis(left), "{ms} ms");
    }
    state.update(&rule, 0, at(210)); // no delay and p = 0: renewed
    assert_eq!((state.burst, state.departed), (Span::from_millis(150), None));
}

#[test]
fn rate_measurements_reduce_linux_burst_allowance() {
    let rule = rule("burst=departure latency=rate dq_threshold=3000b");
    let mut state = PieState::new(&rule);
    let mut queue = queue();
    (0..10).for_each(|_| queue.arrive(packet(), at(0)));
    let level = queue.port.level(MAIN);
    // The departure at 10 ms starts a measurement, the third after it ends it; the one at 60 ms is in the next.
    for (ms, left) in [(10, 150), (20, 150), (30, 150), (50, 110), (60, 110)] {
        state.departure(&rule, &packet(), &level, at(ms));
        assert_eq!(state.burst, Span::from_millis(left), "{ms} ms");
    }
    assert!(state.drain.is_known() && !state.is_at_rest(&rule));
    state.update(&rule, 0, at(70)); // no delay and p = 0: renewed
    assert!(state.burst == Span::from_millis(150) && state.drain.rate() == 0.0);
    assert!(state.is_at_rest(&rule));
    for ms in [80, 90, 100, 110] {
        state.departure(&rule, &packet(), &level, at(ms));
    }
    assert_eq!(state.burst, Span::from_millis(120), "restarted at 80 ms");
}

#[test]
fn byte_mode_reference_length_is_mtu_if_given() {
    assert_eq!(rule("bytes=on").whole, Some(1000.0), "the mean packet");
    assert_eq!(rule("bytes=on mtu=1514b").whole, Some(1514.0));
    assert_eq!(rule("mtu=1514b").whole, None);
    for line in ["pie bytemode", "fq_pie bytemode"] {
        assert_eq!(crate::Spec::parse(line).unwrap().get("mtu").as_deref(), Some("1514b"), "{line}: Linux's");
    }
}

/// p after one update from `p`, with this delay and the last one, in seconds.
fn updated(settings: &str, p: f64, delay: f64, delay_old: f64) -> f64 {
    let rule = rule(settings);
    let mut state = PieState { p, delay, delay_old, ..PieState::new(&rule) };
    state.update(&rule, 0, at(15));
    state.p
}

fn near(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-15, "{got} is not {want}");
}

#[test]
fn autotune_divides_changes_of_p_as_rfc_8033() {
    // 20 ms above the target and 40 ms more than before: 0.125 x 0.02 + 1.25 x 0.04 = 0.0525.
    let change = |p| updated("", p, 0.035, -0.005) - p;
    let table = [(0.0, 2048.0), (1e-6, 512.0), (1e-5, 128.0), (1e-4, 32.0), (1e-3, 8.0), (1e-2, 2.0), (0.1, 1.0)];
    for (p, divisor) in table {
        near(change(p), 0.0525 / divisor);
        near(change(p * 1.01 + 1e-9), 0.0525 / divisor);
    }
    near(updated("autotune=off", 0.0, 0.035, -0.005), 0.0525);
}

#[test]
fn cap_limits_increases_of_p_above_tenth() {
    let change = |p, delay, delay_old| updated("cap=on", p, delay, delay_old) - p;
    near(change(0.1, 0.035, -0.005), 0.02);
    near(change(0.0999, 0.035, -0.005), 0.026_25);
    assert!(change(0.5, 0.0, 0.1) < -0.1, "decreases are not capped");
}

#[test]
fn delay_above_250_ms_raises_p_beyond_cap() {
    let change = |p, delay, delay_old| updated("cap=on boost=on", p, delay, delay_old) - p;
    near(change(0.1, 0.250, 0.0), 0.02);
    near(change(0.1, 0.251, 0.0), 0.04);
    near(change(0.0, 0.251, 0.251), 0.125 * 0.236 / 2048.0 + 0.02);
}

#[test]
fn update_applies_decay_and_clamps_p() {
    // One update from 0.5 without delay: 0.5 - 0.125 x 0.015, then a decay of 2 %.
    near(updated("", 0.5, 0.0, 0.0), (0.5 - 0.001_875) * 0.98);
    near(updated("", 0.5, 0.0, 0.001), 0.5 - 0.001_875 - 0.001_25);
    near(updated("decay=half", 0.5, 0.007, 0.007), (0.5 - 0.001) * 0.98);
    near(updated("decay=half", 0.5, 0.007, 0.0075), 0.5 - 0.001 - 0.000_625); // half is not below half
    near(updated("decay=off", 0.5, 0.0, 0.0), 0.498_125);
    assert_eq!((updated("", 1e-4, 0.0, 1.0), updated("", 0.9, 5.0, 0.0)), (0.0, 1.0));
}
