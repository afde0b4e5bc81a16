//! DualPI2 and Curvy RED compared with the text of RFC 9332: requirements for any DualQ Coupled AQM.
//!
//! Comments of the form "RFC 9332 section X.Y (MUST, SHOULD or MAY): ..." are the source of the coverage table; "may",
//! "should" and "recommended" count too.
//!
//! Left out: RFC 9332 section 2.5.2.2 (SHOULD): arrivals and overflows per queue: the queues share one buffer, with one
//! counter of each.
//! Left out: RFC 9332 section 2.5.2.2 (SHOULD): 99th percentile of the delay per queue: Forebay reports it for all
//! packets together.
//! Left out: RFC 9332 section 2.5.2.3 (SHOULD): reports of the start and duration of overload: the internal variable
//! `overload` shows the current state.
//! Left out: RFC 9332 section 2.5.2.3 (SHOULD): hysteresis of overload reports: there are no reports.

use crate::coupled::{BOTH, KINDS, LINK, N, at, based, near, order, packet, probe, queue, signals, spec};
use forebay_aqm::base::discipline::Discipline;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::units::{Bytes, Link, Rate};
use forebay_aqm::{AnyDiscipline, Spec};

/// `words` with the settings of `more`, which replace those with the same key.
fn with(words: &str, more: &str) -> String {
    let key = |word: &str| word.split('=').next().map(str::to_string);
    let kept = words.split_whitespace().filter(|word| more.split_whitespace().all(|other| key(other) != key(word)));
    kept.chain(more.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// RFC 9332 section 2.3 (MUST): the device neither changes nor sets the L4S identifier; it may only write CE.
#[test]
fn rfc9332_2_3_ecn_field_changes_only_to_ce() {
    for name in BOTH {
        for more in ["", "l_class=1", "c_class=1"] {
            let words = format!("{} {more}", based(name, 0.3));
            for ecn in KINDS {
                let mut queue = queue(&words);
                (0..1000).for_each(|_| queue.arrive(packet(ecn, 1), at(0.0)));
                while let Some(sent) = queue.depart(at(20.0)) {
                    assert!(sent.ecn == ecn || (sent.ecn == Ecn::Ce && ecn.is_capable()), "{words}: {ecn:?}");
                }
            }
        }
    }
}

/// RFC 9332 section 2.5.1 (MUST): L4S behaviour of RFC 9331 section 5: ECT(1) and CE go to the L queue, the rest to C.
#[test]
fn rfc9332_2_5_1_classifies_by_the_ecn_field() {
    for name in BOTH {
        let mut queue = queue(name);
        for (slot, ecn) in (0..).zip(KINDS) {
            queue.arrive(Packet { slot, ..packet(ecn, 0) }, at(0.0));
        }
        assert_eq!(order(&mut queue, 0.0), [1, 3, 0, 2], "{name}: the L queue is served first");
    }
}

/// RFC 9332 section 2.5.1 (MUST): there are two queues, each with an AQM.
#[test]
fn rfc9332_2_5_1_has_two_queues_each_with_an_aqm() {
    for name in BOTH {
        let words = based(name, 0.3);
        assert_eq!(queue(&words).discipline().lists(), 2);
        let (classic, low) = (signals(&words, Ecn::Ect0, 0).0, signals(&words, Ecn::Ect1, 0).0);
        assert!(classic > 0 && low > classic, "{name}: {classic} {low}");
    }
}

/// RFC 9332 section 2.5.1 (MUST): the L queue's AQM can mark ECN-capable packets.
#[test]
fn rfc9332_2_5_1_marks_in_the_l_queue() {
    for name in BOTH {
        // A sojourn time of 20 ms is far above the ramp or step. Some packets arrive with CE.
        let (marked, dropped) = signals(name, Ecn::Ect1, 0);
        assert!(marked >= u64::from(N) - 2 && dropped == 0, "{name}: {marked} {dropped}");
        assert_eq!(signals(name, Ecn::Ce, 0), (0, 0), "{name}");
    }
}

/// RFC 9332 section 2.5.1 (MUST): L4S packets have priority over classic ones.
#[test]
fn rfc9332_2_5_1_prefers_the_l_queue() {
    for name in BOTH {
        let mut queue = queue(name);
        (0..5).for_each(|slot| queue.arrive(Packet { slot, ..packet(Ecn::NotEct, 0) }, at(0.0)));
        (5..10).for_each(|slot| queue.arrive(Packet { slot, ..packet(Ecn::Ect1, 0) }, at(0.5)));
        assert_eq!(order(&mut queue, 0.6), [5, 6, 7, 8, 9, 0, 1, 2, 3, 4], "{name}");
    }
}

/// Number of L packets sent before the first classic packet, when an L packet arrives every ms and the L queue is never
/// empty.
fn passed_by(words: &str) -> usize {
    let mut queue = queue(words);
    let arrive = |queue: &mut Queue<AnyDiscipline>, ms| queue.arrive(packet(Ecn::Ect1, 0), at(ms));
    arrive(&mut queue, 0.0);
    queue.arrive(packet(Ecn::NotEct, 0), at(0.0));
    for n in 0..1000 {
        arrive(&mut queue, n as f64);
        if queue.depart(at(n as f64)).is_some_and(|packet| packet.ecn == Ecn::NotEct) {
            return n;
        }
    }
    usize::MAX
}

/// RFC 9332 section 2.5.1 (MUST): the priority is bounded, so that classic traffic does not starve.
#[test]
fn rfc9332_2_5_1_does_not_starve_the_classic_queue() {
    for name in BOTH {
        // Section 4.2.2: at a weight of 1/16 a classic head waits for at most 15 packets; with the time
        // shift it waits for 50 ms.
        let wrr = passed_by(&format!("{name} scheduler=wrr weight=0.0625"));
        assert!((14..=16).contains(&wrr), "{name}: {wrr}");
        let fifo = passed_by(&format!("{name} scheduler=ts-fifo tshift=50ms"));
        assert!((50..=52).contains(&fifo), "{name}: {fifo}");
    }
}

/// RFC 9332 section 2.5.1 (SHOULD): the scheduler is work-conserving.
#[test]
fn rfc9332_2_5_1_scheduler_is_work_conserving() {
    for name in BOTH {
        for scheduler in ["wrr", "ts-fifo"] {
            for ecn in KINDS {
                let mut queue = queue(&format!("{name} scheduler={scheduler}"));
                (0..100).for_each(|_| queue.arrive(packet(ecn, 0), at(0.0)));
                let sent = (0..100).filter(|_| queue.depart(at(0.0)).is_some()).count();
                assert_eq!(sent, 100, "{name} {scheduler} {ecn:?}");
            }
        }
    }
}

/// RFC 9332 section 2.5.1 (MUST): the probability of a classic drop is the square of (L4S marking probability / k).
#[test]
fn rfc9332_2_5_1_classic_drops_are_square_of_marks() {
    for name in BOTH {
        for p in [0.05, 0.2, 0.45] {
            let words = based(name, p);
            let (_, dropped) = signals(&words, Ecn::NotEct, 0);
            let (marked, none) = signals(&words, Ecn::Ect1, 0);
            assert!(near(dropped, p * p) && near(marked, 2.0 * p) && none == 0, "{name} {p}: {dropped} {marked}");
            let (classic_marks, none) = signals(&words, Ecn::Ect0, 0);
            assert!(near(classic_marks, p * p) && none == 0, "{name} {p}: ECT(0) is marked as often");
        }
    }
}

/// RFC 9332 section 2.5.1 (MUST): L packets are marked with at least the coupled probability, at any marking
/// probability of the L queue's native AQM.
#[test]
fn rfc9332_2_5_1_native_aqm_never_lowers_coupled_marking() {
    for (name, [half, all]) in BOTH
        .into_iter()
        .zip([["min_th=10ms range=20ms", "min_th=1ms range=0s th_len=0"], ["t=10ms t_range=20ms", "t=1ms t_range=0s"]])
    {
        // The native AQM of the L queue requests marks for none, half or all of the packets.
        for (asks, more) in [(0.0, ""), (0.5, half), (1.0, all)] {
            for p in [0.1, 0.4] {
                let words = with(&based(name, p), more);
                let (marked, dropped) = signals(&words, Ecn::Ect1, 0);
                assert!(near(marked, f64::max(2.0 * p, asks)) && dropped == 0, "{words}: {marked}");
            }
        }
    }
}

/// RFC 9332 section 2.5.1 (SHOULD): k is 2.
#[test]
fn rfc9332_2_5_1_the_coupling_factor_is_2() {
    for words in ["dualpi2", "dualpi2 preset=rfc9332", "dualpi2 preset=linux", "curvy_red", "pi2 preset=rfc9332"] {
        assert_eq!(spec(words).get("k").as_deref(), Some("2"), "{words}");
    }
}

/// RFC 9332 section 2.5.1 (MAY): the operator may choose another k.
#[test]
fn rfc9332_2_5_1_the_coupling_factor_may_be_chosen() {
    for name in BOTH {
        for k in [1.0, 3.0] {
            let words = format!("{} k={k}", based(name, 0.2));
            let (marked, dropped) = (signals(&words, Ecn::Ect1, 0).0, signals(&words, Ecn::NotEct, 0).1);
            assert!(near(marked, 0.2 * k) && near(dropped, 0.04), "{words}: {marked} {dropped}");
        }
    }
}

// In the L queue the probability for classic packets is the larger of that in the C queue and (q/k)^2, where q is the
// probability of the L queue's native AQM.

/// RFC 9332 section 2.5.1.1 (SHOULD): ECT(0) in the L queue is marked with a probability that suits classic senders and
/// the L queue's target.
#[test]
fn rfc9332_2_5_1_1_ect0_in_l_queue_gets_larger_classic_p() {
    for name in BOTH {
        let words = format!("{} l_class=7", based(name, 0.2));
        let (marked, dropped) = signals(&words, Ecn::Ect0, 7);
        assert!(near(marked, 0.04) && dropped == 0, "{words}: {marked}");
        // The native AQM of the L queue marks scalable packets with 0.5, so classic ones with (0.5/k)^2 = 0.0625.
        let ramp = ["min_th=10ms range=20ms", "t=10ms t_range=20ms"][usize::from(name == "curvy_red")];
        let (marked, dropped) = signals(&with(&words, ramp), Ecn::Ect0, 7);
        assert!(near(marked, 0.0625) && dropped == 0, "{words}: {marked}");
    }
}

/// RFC 9332 section 2.5.1.1 (SHOULD): Not-ECT in the L queue is not signalled if queue protection is provided.
#[test]
fn rfc9332_2_5_1_1_protected_l_queue_never_drops_not_ect() {
    for name in BOTH {
        for p in [0.3, 0.9] {
            let words = format!("{} l_class=7 protected=on", based(name, p));
            assert_eq!(signals(&words, Ecn::NotEct, 7), (0, 0), "{words}");
        }
    }
}

/// RFC 9332 section 2.5.1.1 (SHOULD): Not-ECT in an unprotected L queue is dropped with a probability that suits
/// classic senders and the L queue's target.
#[test]
fn rfc9332_2_5_1_1_unprotected_not_ect_has_classic_drop_probability() {
    for name in BOTH {
        let words = format!("{} l_class=7", based(name, 0.3));
        let (marked, dropped) = signals(&words, Ecn::NotEct, 7);
        assert!(near(dropped, 0.09) && marked == 0, "{words}: {dropped}");
    }
}

/// RFC 9332 section 2.5.1.1 (SHOULD): ECT(1) in the C queue is marked with the coupled probability.
#[test]
fn rfc9332_2_5_1_1_ect1_in_c_queue_gets_coupled_p() {
    for name in BOTH {
        let words = format!("{} c_class=7", based(name, 0.3));
        let (marked, dropped) = signals(&words, Ecn::Ect1, 7);
        assert!(near(marked, 0.6) && dropped == 0, "{words}: {marked}");
    }
}

/// RFC 9332 section 2.5.1.1 (MUST): during overload the classic drop probability applies to both kinds of ECN-capable
/// traffic.
#[test]
fn rfc9332_2_5_1_1_overload_drops_ect0_and_ect1() {
    for name in BOTH {
        for p in [0.5, 0.6, 0.8] {
            for ecn in [Ecn::Ect0, Ecn::Ect1] {
                let (marked, dropped) = signals(&based(name, p + 1e-9), ecn, 0);
                assert!(near(dropped, p * p), "{name} p' {p} {ecn:?}: {dropped}");
                let rest = if ecn == Ecn::Ect1 { u64::from(N) - dropped } else { 0 };
                assert!(marked.abs_diff(rest) <= 1, "{name} p' {p} {ecn:?}: other L packets are marked");
            }
        }
        let below = based(name, 0.49);
        assert_eq!((signals(&below, Ecn::Ect0, 0).1, signals(&below, Ecn::Ect1, 0).1), (0, 0), "{name}");
    }
}

/// RFC 9332 appendix A.2: overload caused by the L queue alone drops L packets, and ends when the load ends.
#[test]
fn l_queue_overload_ends_after_the_load_falls() {
    for name in BOTH {
        let words = format!("{name} {}", if name == "curvy_red" { "g=0 range=100ms" } else { "" });
        let mut queue = queue(&words);
        let mut now = 0.0;
        let mut run = |queue: &mut Queue<AnyDiscipline>, ms: u32, arrivals: u32| {
            for _ in 0..ms {
                now += 1.0;
                while queue.next_tick().is_some_and(|due| due <= at(now)) {
                    queue.tick(at(now));
                }
                (0..arrivals).for_each(|_| queue.arrive(packet(Ecn::Ect1, 0), at(now)));
                queue.depart(at(now));
            }
            (queue.port.tally().dropped_early.pkts, probe(queue, &words, "overload"))
        };
        let (dropped, overload) = run(&mut queue, 5000, 2);
        assert!(dropped > 1000 && overload == 1.0, "{name}: {dropped}");
        assert!(queue.port.pkts() < 200, "{name}: drops limit the queue of unresponsive traffic");
        run(&mut queue, 2000, 0);
        let (dropped, _) = run(&mut queue, 1, 0);
        let (later, overload) = run(&mut queue, 2000, 1);
        assert_eq!((later, overload), (dropped, 0.0), "{name}: over");
    }
}

/// RFC 9332 section 2.5.2.1 (SHOULD): no configuration is needed at any link rate.
#[test]
fn rfc9332_2_5_2_1_needs_no_configuration() {
    for name in BOTH {
        let after = |rate| {
            let link = Link { rate: Rate(rate), ..LINK };
            let mut queue = spec(name).queue(link, Rng::stream(1, "queue"));
            (0..100).for_each(|_| queue.arrive(packet(Ecn::Ect0, 0), at(0.0)));
            queue.depart(at(30.0));
            if queue.next_tick().is_some() {
                queue.tick(at(30.0));
            }
            probe(&queue, name, "p")
        };
        assert!(after(1_000_000) > 0.0, "{name}");
        assert_eq!(after(1_000_000), after(1_000_000_000), "{name}: delays are the same at any rate");
    }
}

/// p' after the first update of DualPI2, with a packet waiting since 0, and the time of that update in seconds.
fn first_update(words: &str) -> (f64, f64) {
    let mut queue = queue(words);
    queue.arrive(packet(Ecn::NotEct, 0), at(0.0));
    let due = queue.next_tick().expect("an update");
    queue.tick(due);
    (probe(&queue, words, "p"), due.since(at(0.0)).secs())
}

/// RFC 9332 section 2.5.2.1 (MAY): the classic AQM's delay at its operating point is configurable.
#[test]
fn rfc9332_2_5_2_1_the_operating_point_may_be_configured() {
    for target in [5.0, 25.0] {
        let words = format!("dualpi2 target={target}ms tupdate=16ms alpha=1 beta=0");
        assert!((first_update(&words).0 - f64::max(0.016 - target * 1e-3, 0.0)).abs() < 1e-12, "{words}");
    }
    for range in [50.0, 200.0] {
        let words = format!("curvy_red g=0 min_th=0s range={range}ms");
        let mut queue = queue(&words);
        queue.arrive(packet(Ecn::NotEct, 0), at(0.0));
        queue.depart(at(20.0));
        assert!((probe(&queue, &words, "p") - 20.0 / range).abs() < 1e-12, "{words}");
    }
}

/// RFC 9332 section 2.5.2.1 (MAY): the largest RTT, which sets the stability of the classic AQM, is configurable.
#[test]
fn rfc9332_2_5_2_1_the_largest_rtt_may_be_configured() {
    // A.1: the period is min(target, RTT_max/3), alpha is 0.1 period/RTT_max^2, and beta is 0.3/RTT_max.
    for (target, rtt_max) in [(0.015, 0.1), (0.015, 0.03), (0.005, 0.2), (0.09, 0.2)] {
        let (p, period) = first_update(&format!("dualpi2 target={target}s rtt_max={rtt_max}s"));
        let want = f64::min(target, rtt_max / 3.0);
        assert!((period - want).abs() < 1e-9, "{target} {rtt_max}: {period}");
        let alpha = 0.1 * period / (rtt_max * rtt_max);
        let change = alpha * (period - target) + 0.3 / rtt_max * period;
        assert!((p - change).abs() < 1e-9, "{target} {rtt_max}: {p} {change}");
    }
    // Curvy RED: the smoothing parameter.
    for g in [0, 3, 6] {
        let words = format!("curvy_red g={g}");
        let mut queue = queue(&words);
        queue.arrive(packet(Ecn::NotEct, 0), at(0.0));
        queue.depart(at(64.0));
        assert!((probe(&queue, &words, "average") - 0.064 / f64::from(1 << g)).abs() < 1e-12, "{words}");
    }
}

/// RFC 9332 section 2.5.2.1 (MAY): classifiers in addition to the ECN field are configurable.
#[test]
fn rfc9332_2_5_2_1_classifiers_may_be_configured() {
    for name in BOTH {
        let mut queue = queue(&format!("{name} l_class=3 c_class=4"));
        for (slot, ecn, class) in [(0, Ecn::Ect0, 0), (1, Ecn::Ect1, 4), (2, Ecn::Ect0, 3), (3, Ecn::Ect1, 0)] {
            queue.arrive(Packet { slot, ..packet(ecn, class) }, at(0.0));
        }
        assert_eq!(order(&mut queue, 0.0), [2, 3, 0, 1], "{name}");
    }
}

/// RFC 9332 section 2.5.2.1 (SHOULD): the operating point of the classic AQM is given in units of time.
#[test]
fn rfc9332_2_5_2_1_the_operating_point_is_a_time() {
    assert!(Spec::parse("dualpi2 target=20p").is_err() && Spec::parse("dualpi2 target=30kb").is_err());
    assert!(Spec::parse("curvy_red range=20p").is_err() && Spec::parse("curvy_red min_th=30kb").is_err());
    assert!(Spec::parse("dualpi2 target=20ms").is_ok() && Spec::parse("curvy_red range=20ms min_th=1ms").is_ok());
}

/// RFC 9332 section 2.5.2.1 (SHOULD): the bound on L4S priority relates the delays of L4S and classic packets.
#[test]
fn rfc9332_2_5_2_1_scheduler_relates_classic_delay_to_l4s_delay() {
    for name in BOTH {
        // At weights of 1 : w a classic packet waits w times as long as an L packet; with a time shift it waits longer
        // by the shift.
        let wrr = |w: f64| passed_by(&format!("{name} scheduler=wrr weight={}", 1.0 / (w + 1.0)));
        assert!([3, 7, 31].into_iter().all(|w| wrr(w as f64).abs_diff(w) <= 1), "{name}");
        let fifo = |ms| passed_by(&format!("{name} scheduler=ts-fifo tshift={ms}ms"));
        assert!([10, 30].into_iter().all(|ms| fifo(ms).abs_diff(ms) <= 2), "{name}");
    }
}

/// RFC 9332 section 2.5.2.1 (MAY): the classic marking probability above which packets are dropped is configurable.
#[test]
fn rfc9332_2_5_2_1_p_cmax_may_be_configured() {
    for name in BOTH {
        let signals = |p, p_cmax: f64, ecn| signals(&format!("{} p_cmax={p_cmax}", based(name, p)), ecn, 0);
        // p' = 0.3 makes the classic probability 0.09, once above p_cmax and once below.
        assert!(matches!(signals(0.3, 0.08, Ecn::Ect0), (0, dropped) if near(dropped, 0.09)), "{name}");
        assert!(matches!(signals(0.3, 0.1, Ecn::Ect0), (marked, 0) if near(marked, 0.09)), "{name}");
        // p_cmax does not apply to L4S packets: Figure 7 uses their coupled probability, here 0.6 and then 1.
        assert!(matches!(signals(0.3, 0.08, Ecn::Ect1), (marked, 0) if near(marked, 0.6)), "{name}");
        for p_cmax in [0.08, 0.9] {
            let (marked, dropped) = signals(0.6, p_cmax, Ecn::Ect1);
            assert!(near(dropped, 0.36) && marked + dropped >= u64::from(N) - 1, "{name} {p_cmax}: {marked} {dropped}");
        }
        assert_eq!(spec(name).get("p_cmax").as_deref(), Some("auto"), "min(1/k^2, 1) = 1/4");
    }
}

/// RFC 9332 section A.2: p_Cmax is compared with the classic probability, at any exponent U of Curvy RED.
#[test]
fn rfc9332_a_2_p_cmax_applies_to_the_classic_probability() {
    // U = 2: p_C is the fourth power of the root: 0.0625 at the root 0.5, from which on every L packet is marked.
    let signals = |root, more: &str| signals(&format!("{} u=2 {more}", based("curvy_red", root)), Ecn::Ect0, 0);
    assert!(matches!(signals(0.6, "p_cmax=0.25"), (marked, 0) if near(marked, 0.1296)));
    assert!(matches!(signals(0.8, "p_cmax=0.25"), (0, dropped) if near(dropped, 0.4096)));
    assert!(matches!(signals(0.49, ""), (marked, 0) if near(marked, 0.49_f64.powi(4))));
    assert!(matches!(signals(0.51, ""), (0, dropped) if near(dropped, 0.51_f64.powi(4))));
}

/// RFC 9332 section 2.5.2.2 (SHOULD): an operator can read the packets sent, marked and dropped by each queue, and
/// its delay.
#[test]
fn rfc9332_2_5_2_2_each_queue_can_be_monitored() {
    for name in BOTH {
        let words = based(name, 0.3);
        let mut queue = queue(&words);
        for n in 0..N {
            queue.arrive(packet([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][n as usize % 3], 0), at(0.0));
        }
        if queue.next_tick().is_some() {
            queue.tick(at(20.0));
        }
        let left = (0..5000).filter_map(|_| queue.depart(at(20.0))).count();
        let sum = |what: &str| ["c", "l"].map(|list| probe(&queue, &words, &format!("{what}_{list}")));
        let (waiting, sent, marked, dropped) = (sum("waiting"), sum("sent"), sum("marked"), sum("dropped"));
        let tally = queue.port.tally();
        let total = |count: [f64; 2]| (count[0] + count[1]) as u64;
        assert_eq!(total(waiting), u64::from(queue.port.pkts()), "{words}");
        assert_eq!(total(sent), tally.departed.bytes, "{words}");
        assert_eq!((total(marked), total(dropped)), (tally.marked.pkts, tally.dropped_early.pkts), "{words}");
        assert!(waiting[1] == 0.0 && sent[1] == 3_333_000.0 && dropped[1] == 0.0, "{words}: L is served first");
        assert!(left == 5000 && marked[0] > 0.0 && dropped[0] > 0.0, "{words}: {marked:?} {dropped:?}");
        // Curvy RED's average stays 0 until the first classic departure.
        let l_marks = if name == "dualpi2" { 0.6 * 3333.0 } else { 0.0 };
        assert!((marked[1] - l_marks).abs() < 150.0, "{words}: {marked:?}");
        assert_eq!(sum("delay"), [0.020; 2], "{words}");
    }
}

/// RFC 9332 section 4.2.2 (SHOULD): the classic queue's weight is small, such as 1/16.
#[test]
fn rfc9332_4_2_2_the_classic_weight_is_a_sixteenth() {
    for name in BOTH {
        // Neither queue ever becomes empty, so 100 of 1600 packets are classic.
        let mut queue = queue(&format!("{name} scheduler=wrr ecn=off"));
        (0..3200).for_each(|n| queue.arrive(packet([Ecn::Ect1, Ecn::NotEct][n % 2], 0), at(0.0)));
        let classic = (0..1600).filter_map(|_| queue.depart(at(0.0))).filter(|sent| sent.ecn == Ecn::NotEct).count();
        assert!(classic.abs_diff(100) <= 1, "{name}: {classic}");
    }
}

/// RFC 9332 section 4.2.2 (SHOULD): the classic queue's weight is not too small: a packet at its head waits for at
/// most 15 L packets of the largest size.
#[test]
fn rfc9332_4_2_2_classic_waits_for_at_most_15_packets() {
    for name in BOTH {
        let passed = passed_by(&format!("{name} scheduler=wrr"));
        assert!(passed <= 16, "{name}: {passed}, including the L packet that was already queued");
    }
}

/// RFC 9332 section A.1 (SHOULD): the target of the classic queue is 15 ms.
#[test]
fn rfc9332_a_1_the_target_is_15_ms() {
    // p' does not change if the delay is at the target, and changes if it is one millisecond off.
    let moved = |ms: f64| {
        let words = "dualpi2 beta=0 alpha=1 tupdate=1ms";
        let mut queue = queue(words);
        queue.arrive(packet(Ecn::NotEct, 0), at(0.0));
        queue.tick(at(30.0));
        let before = probe(&queue, words, "p");
        while queue.depart(at(30.0)).is_some() {}
        queue.arrive(packet(Ecn::NotEct, 0), at(31.0));
        queue.tick(at(31.0 + ms));
        probe(&queue, words, "p") - before
    };
    assert!(moved(15.0).abs() < 1e-12 && (moved(16.0) - 0.001).abs() < 1e-12 && (moved(14.0) + 0.001).abs() < 1e-12);
}

/// RFC 9332 section A.1 (SHOULD): the gains are alpha = 0.1 Tupdate/RTT_max^2 and beta = 0.3/RTT_max.
#[test]
fn rfc9332_a_1_gains_follow_from_the_largest_rtt() {
    // The delay is the same at both updates, so the second one has only the integral term.
    for (words, alpha, beta) in [
        ("dualpi2", 0.15, 3.0),
        ("dualpi2 tupdate=16ms", 0.16, 3.0),
        ("dualpi2 rtt_max=30ms", 0.1 * 0.01 / 0.0009, 10.0),
        ("dualpi2 preset=linux", 0.16, 3.2),
    ] {
        let mut queue = queue(words);
        queue.arrive(packet(Ecn::NotEct, 0), at(0.0));
        queue.tick(at(25.0));
        let first = probe(&queue, words, "p");
        queue.depart(at(25.0));
        queue.arrive(packet(Ecn::NotEct, 0), at(25.0));
        queue.tick(at(50.0));
        let second = probe(&queue, words, "p") - first;
        assert!((second - alpha * 0.010).abs() < 1e-9, "{words}: alpha {}", second / 0.010);
        assert!((first - second - beta * 0.025).abs() < 1e-9, "{words}: beta {}", (first - second) / 0.025);
    }
}

/// RFC 9332 section B.1 (SHOULD): S_C is -1 and g_C is 5: the range from p = 0 to 1 is half a second, and each sample
/// has a weight of 1/32.
#[test]
fn rfc9332_b_1_curvy_red_has_the_recommended_range_and_smoothing() {
    let mut queue = queue("curvy_red");
    let mut average = 0.0;
    for n in 0..3 {
        queue.arrive(packet(Ecn::Ect0, 0), at(1000.0 * f64::from(n)));
        queue.depart(at(1000.0 * f64::from(n) + 320.0));
        average += (0.320 - average) / 32.0;
        assert!((probe(&queue, "curvy_red", "average") - average).abs() < 1e-12);
        assert!((probe(&queue, "curvy_red", "p") - (average - 0.0005) / 0.5).abs() < 1e-12);
    }
}

/// RFC 9332 section B.1 (SHOULD): T is the transmission time of five packets of the largest size.
#[test]
fn rfc9332_b_1_step_is_at_five_packet_times() {
    // 1000 bytes take 1 ms at 8 Mb/s, so T is 5 ms. 1500 bytes take 0.2 ms at 60 Mb/s, so T is 1 ms, as in Figure 9.
    let fast = Link { rate: Rate(60_000_000), mean_packet: Bytes(1500), ..LINK };
    for (link, ms) in [(LINK, 5.0), (Link { rate: Rate(80_000_000), ..LINK }, 0.5), (fast, 1.0)] {
        let marks = |ms| {
            let mut queue = spec("curvy_red").queue(link, Rng::stream(1, "queue"));
            queue.arrive(packet(Ecn::Ect1, 0), at(0.0));
            queue.depart(at(ms)).map(|packet| packet.ecn)
        };
        assert_eq!((marks(ms), marks(ms + 0.001)), (Some(Ecn::Ect1), Some(Ecn::Ce)), "{link:?}");
    }
}

/// RFC 9332 section B.1 (SHOULD): the native AQM of the L queue is a ramp, which is available; the default
/// is the step of Figure 10.
#[test]
fn rfc9332_b_1_ramp_is_available() {
    for (t, p) in [("10ms", 0.5), ("15ms", 0.25), ("20ms", 0.0)] {
        let (marked, _) = signals(&format!("curvy_red min_th=100s t={t} t_range=20ms"), Ecn::Ect1, 0);
        assert!(near(marked, p), "{t}: {marked}");
    }
}

/// RFC 9332 section C.2 (SHOULD): for the public Internet the target is 15 ms, and k is 2, which suits Reno at
/// this target.
#[test]
fn rfc9332_c_2_coupling_factor_is_2_at_15_ms_target() {
    let [target, k] = ["target", "k"].map(|key| spec("dualpi2").get(key).expect("a parameter"));
    assert_eq!((target.as_str(), k.as_str()), ("15ms", "2"));
    // Equations 8 and 9, for a typical base RTT of 25 ms.
    let k_reno: f64 = 1.64 * 0.75 * (1.0 + 15.0 / 25.0);
    assert_eq!(k_reno.round(), 2.0);
}

/// RFC 9332 section A.1 (SHOULD): the native AQM of the L queue is a ramp rather than a step.
#[test]
fn rfc9332_a_1_the_native_aqm_is_a_ramp() {
    assert_eq!(spec("dualpi2").get("range").as_deref(), Some("400us"));
    for (words, p) in [("dualpi2 min_th=19.8ms", 0.5), ("dualpi2 min_th=19.9ms", 0.25)] {
        let (marked, _) = signals(&format!("{words} alpha=0 beta=0"), Ecn::Ect1, 0);
        assert!(near(marked, p), "{words}: {marked}");
    }
}

/// RFC 9332 section A.2 (SHOULD): the scheduler is a weighted one, such as WRR.
#[test]
fn rfc9332_a_2_the_scheduler_is_weighted_round_robin() {
    assert_eq!(spec("dualpi2").get("scheduler").as_deref(), Some("wrr"));
    assert_eq!(spec("dualpi2 scheduler=ts-fifo").get("tshift").as_deref(), Some("50ms"), "the alternative");
}

/// RFC 9332 section A.2: on a slow link a queue of one packet is not marked for its sojourn time.
#[test]
fn rfc9332_a_2_a_single_packet_is_not_marked() {
    let mut queue = queue("dualpi2 toss=random");
    for n in 0..100 {
        queue.arrive(packet(Ecn::Ect1, 0), at(100.0 * f64::from(n)));
        queue.depart(at(100.0 * f64::from(n) + 12.0));
    }
    assert_eq!(queue.port.tally().marked.pkts, 0);
}
