//! DualPI2 and Curvy RED against the text of RFC 9332: what it asks of any DualQ Coupled AQM.
//!
//! Comments of the form "RFC 9332 section X.Y (MUST, SHOULD or MAY): ..." make the table of what is covered; "may",
//! "should" and "recommended" count as well. Not the algorithm's business: statistics for an operator (section
//! 2.5.2.2) and reports of overload (section 2.5.2.3), for which there are the port's counters, the lab's meters and
//! the probe `overload`.

mod coupled;

use coupled::{BOTH, KINDS, LINK, N, at, based, near, order, packet, probe, queue, signals, spec};
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::ladder::Discipline;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::units::{Link, Rate};
use forebay_aqm::{AnyDiscipline, Spec};

/// RFC 9332 section 2.3 (MUST): the device does not alter the L4S identifier, nor make one; CE is all it may write.
#[test]
fn rfc9332_2_3_leaves_the_ecn_field_alone_but_for_ce() {
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

/// RFC 9332 section 2.5.1 (MUST): L4S behaviour of RFC 9331 section 5: ECT(1) and CE to the L queue, the rest to C.
#[test]
fn rfc9332_2_5_1_classifies_by_the_ecn_field() {
    for name in BOTH {
        let mut queue = queue(name);
        for (slot, ecn) in (0..).zip(KINDS) {
            queue.arrive(Packet { slot, ..packet(ecn, 0) }, at(0.0));
        }
        assert_eq!(order(&mut queue, 0.0), [1, 3, 0, 2], "{name}: the L queue goes first");
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
        // A stay of 20 ms is far beyond the ramp or step. CE is there already with the others.
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

/// How many L packets pass a classic one while L packets keep coming, one a ms with two waiting.
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
        // Section 4.2.2: with a weight of 1/16 a head waits for 15 packets at most, with a time shift for 50 ms.
        let wrr = passed_by(&format!("{name} scheduler=wrr weight=0.0625"));
        assert!((14..=16).contains(&wrr), "{name}: {wrr}");
        let fifo = passed_by(&format!("{name} scheduler=ts-fifo tshift=50ms"));
        assert!((50..=52).contains(&fifo), "{name}: {fifo}");
    }
}

/// RFC 9332 section 2.5.1 (SHOULD): the scheduler is work-conserving.
#[test]
fn rfc9332_2_5_1_sends_whatever_waits() {
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

/// RFC 9332 section 2.5.1 (MUST): the likelihood of a classic drop is the square of that of an L4S mark over k.
#[test]
fn rfc9332_2_5_1_couples_by_a_square() {
    for name in BOTH {
        for p in [0.05, 0.2, 0.45] {
            let words = based(name, p);
            let (_, dropped) = signals(&words, Ecn::NotEct, 0);
            let (marked, none) = signals(&words, Ecn::Ect1, 0);
            assert!(near(dropped, p * p) && near(marked, 2.0 * p) && none == 0, "{name} {p}: {dropped} {marked}");
            let (classic_marks, none) = signals(&words, Ecn::Ect0, 0);
            assert!(near(classic_marks, p * p) && none == 0, "{name} {p}: ECT(0) is marked alike");
        }
    }
}

/// RFC 9332 section 2.5.1 (MUST): L packets are marked no less than the coupling says, whatever their own queue.
#[test]
fn rfc9332_2_5_1_own_aqm_never_lowers_the_coupled_marking() {
    for name in BOTH {
        // Its own AQM asks for nothing, for half, for everything.
        for (asks, more) in [(0.0, ["", ""]), (0.5, ["min_th=10ms range=20ms", "t=10ms t_range=20ms"])] {
            for p in [0.1, 0.4] {
                let words = format!("{} {}", based(name, p), more[usize::from(name == "curvy_red")]);
                let (marked, _) = signals(&words, Ecn::Ect1, 0);
                assert!(near(marked, f64::max(2.0 * p, asks)), "{words}: {marked}");
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

/// RFC 9332 section 2.5.1 (MAY): an operator chooses another k.
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

/// RFC 9332 section 2.5.1.1 (SHOULD): ECT(0) in the L queue is marked as suits classic senders and the L queue's target.
#[test]
fn rfc9332_2_5_1_1_ect0_in_the_l_queue_is_marked_as_classic() {
    for name in BOTH {
        let words = format!("{} l_class=7", based(name, 0.2));
        let (marked, dropped) = signals(&words, Ecn::Ect0, 7);
        assert!(near(marked, 0.04) && dropped == 0, "{words}: {marked}");
        // The L queue's own AQM asks for half of the scalable packets: a square over k^2 of the classic ones.
        let ramp = ["min_th=10ms range=20ms", "t=10ms t_range=20ms"][usize::from(name == "curvy_red")];
        let (marked, dropped) = signals(&format!("{words} {ramp}"), Ecn::Ect0, 7);
        assert!(near(marked, 0.0625) && dropped == 0, "{words}: {marked}");
    }
}

/// RFC 9332 section 2.5.1.1 (SHOULD): Not-ECT in the L queue passes untouched if queue protection is provided.
#[test]
fn rfc9332_2_5_1_1_not_ect_in_a_protected_l_queue_is_ignored() {
    for name in BOTH {
        for p in [0.3, 0.9] {
            let words = format!("{} l_class=7 protected=on", based(name, p));
            assert_eq!(signals(&words, Ecn::NotEct, 7), (0, 0), "{words}");
        }
    }
}

/// RFC 9332 section 2.5.1.1 (SHOULD): Not-ECT in an unprotected L queue is dropped as suits classic senders and the L
/// queue's target.
#[test]
fn rfc9332_2_5_1_1_not_ect_in_the_l_queue_is_dropped_as_classic() {
    for name in BOTH {
        let words = format!("{} l_class=7", based(name, 0.3));
        let (marked, dropped) = signals(&words, Ecn::NotEct, 7);
        assert!(near(dropped, 0.09) && marked == 0, "{words}: {dropped}");
    }
}

/// RFC 9332 section 2.5.1.1 (SHOULD): ECT(1) in the C queue is marked with the coupled probability.
#[test]
fn rfc9332_2_5_1_1_ect1_in_the_c_queue_is_marked_with_the_coupled_probability() {
    for name in BOTH {
        let words = format!("{} c_class=7", based(name, 0.3));
        let (marked, dropped) = signals(&words, Ecn::Ect1, 7);
        assert!(near(marked, 0.6) && dropped == 0, "{words}: {marked}");
    }
}

/// RFC 9332 section 2.5.1.1 (MUST): in overload both kinds of ECN-capable traffic meet classic drops, until it is over.
#[test]
fn rfc9332_2_5_1_1_overload_drops_ecn_capable_packets_of_both_kinds() {
    for name in BOTH {
        for p in [0.5, 0.6, 0.8] {
            for ecn in [Ecn::Ect0, Ecn::Ect1] {
                let (marked, dropped) = signals(&based(name, p + 1e-9), ecn, 0);
                assert!(near(dropped, p * p), "{name} p' {p} {ecn:?}: {dropped}");
                let rest = if ecn == Ecn::Ect1 { u64::from(N) - dropped } else { 0 };
                assert!(marked.abs_diff(rest) <= 1, "{name} p' {p} {ecn:?}: the rest of L is marked, of C not");
            }
        }
        let below = based(name, 0.49);
        assert_eq!((signals(&below, Ecn::Ect0, 0).1, signals(&below, Ecn::Ect1, 0).1), (0, 0), "{name}");
    }
}

/// Overload caused in the L queue alone drops there too, and ends with it: Appendix A.2.
#[test]
fn overload_of_the_l_queue_alone_is_noticed_and_subsides() {
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
        assert!(queue.port.pkts() < 200, "{name}: unresponsive traffic is held back by drops");
        run(&mut queue, 2000, 0);
        let (dropped, _) = run(&mut queue, 1, 0);
        let (later, overload) = run(&mut queue, 2000, 1);
        assert_eq!((later, overload), (dropped, 0.0), "{name}: over");
    }
}

/// RFC 9332 section 2.5.2.1 (SHOULD): no configuration is needed, whatever the link.
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

/// RFC 9332 section 2.5.2.1 (MAY): classifiers, RTTs, k, the bound on L4S's priority and p_Cmax are configurable.
#[test]
fn rfc9332_2_5_2_1_parameters_may_be_configured() {
    let own = ["target=25ms rtt_max=200ms scheduler=ts-fifo tshift=100ms", "g=6 range=250ms scheduler=wrr weight=0.1"];
    for (name, own) in BOTH.into_iter().zip(own) {
        let words = format!("{name} {own} l_class=3 c_class=4 k=1.5 p_cmax=0.1");
        let written = spec(&words).canonical();
        assert!(words.split(' ').skip(1).all(|word| written.contains(word)), "{written}");
    }
}

/// RFC 9332 section 2.5.2.1 (SHOULD): the classic AQM's operating point is in units of time.
#[test]
fn rfc9332_2_5_2_1_the_operating_point_is_a_time() {
    assert!(Spec::parse("dualpi2 target=20p").is_err() && Spec::parse("dualpi2 target=30kb").is_err());
    assert!(Spec::parse("curvy_red range=20p").is_err() && Spec::parse("curvy_red min_th=30kb").is_err());
    assert!(Spec::parse("dualpi2 target=20ms").is_ok() && Spec::parse("curvy_red range=20ms min_th=1ms").is_ok());
}

/// RFC 9332 section 2.5.2.1 (SHOULD): the bound on L4S's priority relates the delays of both kinds.
#[test]
fn rfc9332_2_5_2_1_the_bound_on_priority_relates_delays() {
    for name in BOTH {
        // A weight of 1 : w makes a classic packet wait w times as long, a time shift so much longer.
        let wrr = |w: f64| passed_by(&format!("{name} scheduler=wrr weight={}", 1.0 / (w + 1.0)));
        assert!([3, 7, 31].into_iter().all(|w| wrr(w as f64).abs_diff(w) <= 1), "{name}");
        let fifo = |ms| passed_by(&format!("{name} scheduler=ts-fifo tshift={ms}ms"));
        assert!([10, 30].into_iter().all(|ms| fifo(ms).abs_diff(ms) <= 2), "{name}");
    }
}

/// RFC 9332 section 2.5.2.1 (MAY): the classic marking probability beyond which there are drops is configurable.
#[test]
fn rfc9332_2_5_2_1_p_cmax_may_be_configured() {
    for name in BOTH {
        let heard = |p, p_cmax: f64, ecn| signals(&format!("{} p_cmax={p_cmax}", based(name, p)), ecn, 0);
        // p' = 0.3: a classic probability of 0.09, on either side of p_cmax.
        assert!(matches!(heard(0.3, 0.08, Ecn::Ect0), (0, dropped) if near(dropped, 0.09)), "{name}");
        assert!(matches!(heard(0.3, 0.1, Ecn::Ect0), (marked, 0) if near(marked, 0.09)), "{name}");
        // Not of L4S packets: Figure 7 asks their coupled probability, 0.6 and then 1, whatever p_cmax.
        assert!(matches!(heard(0.3, 0.08, Ecn::Ect1), (marked, 0) if near(marked, 0.6)), "{name}");
        for p_cmax in [0.08, 0.9] {
            let (marked, dropped) = heard(0.6, p_cmax, Ecn::Ect1);
            assert!(near(dropped, 0.36) && marked + dropped >= u64::from(N) - 1, "{name} {p_cmax}: {marked} {dropped}");
        }
        assert_eq!(spec(name).get("p_cmax").as_deref(), Some("auto"), "min(1/k^2, 1) = 1/4");
    }
}

/// RFC 9332 section A.2: p_Cmax is a probability that classic packets meet, whatever the curve of Curvy RED.
#[test]
fn rfc9332_a_2_p_cmax_is_compared_with_the_classic_probability() {
    // U = 2: p_C is the fourth power of the root, 0.0625 where every L packet is marked.
    let heard = |root, more: &str| signals(&format!("{} u=2 {more}", based("curvy_red", root)), Ecn::Ect0, 0);
    assert!(matches!(heard(0.6, "p_cmax=0.25"), (marked, 0) if near(marked, 0.1296)));
    assert!(matches!(heard(0.8, "p_cmax=0.25"), (0, dropped) if near(dropped, 0.4096)));
    assert!(matches!(heard(0.49, ""), (marked, 0) if near(marked, 0.49_f64.powi(4))));
    assert!(matches!(heard(0.51, ""), (0, dropped) if near(dropped, 0.51_f64.powi(4))));
}

/// RFC 9332 section 4.2.2 (SHOULD): the classic queue's weight is small, such as 1/16.
#[test]
fn rfc9332_4_2_2_the_classic_weight_is_a_sixteenth() {
    for name in BOTH {
        assert_eq!(spec(name).get("weight").as_deref(), Some("0.0625"), "{name}");
    }
}

/// RFC 9332 section A.1 (SHOULD): the L queue's own AQM is a ramp rather than a step.
#[test]
fn rfc9332_a_1_the_native_aqm_is_a_ramp() {
    assert_eq!(spec("dualpi2").get("range").as_deref(), Some("400us"));
    for (words, p) in [("dualpi2 min_th=19.8ms", 0.5), ("dualpi2 min_th=19.9ms", 0.25)] {
        let (marked, _) = signals(&format!("{words} alpha=0 beta=0"), Ecn::Ect1, 0);
        assert!(near(marked, p), "{words}: {marked}");
    }
}

/// RFC 9332 section A.2 (SHOULD): the scheduler is a weighted one such as WRR.
#[test]
fn rfc9332_a_2_the_scheduler_is_weighted_round_robin() {
    assert_eq!(spec("dualpi2").get("scheduler").as_deref(), Some("wrr"));
    assert_eq!(spec("dualpi2 scheduler=ts-fifo").get("tshift").as_deref(), Some("50ms"), "the alternative");
}

/// RFC 9332 section A.2: on a slow link a queue of one packet is not marked for its stay.
#[test]
fn rfc9332_a_2_a_single_packet_is_not_marked() {
    let mut queue = queue("dualpi2 toss=random");
    for n in 0..100 {
        queue.arrive(packet(Ecn::Ect1, 0), at(100.0 * f64::from(n)));
        queue.depart(at(100.0 * f64::from(n) + 12.0));
    }
    assert_eq!(queue.port.tally().marked.pkts, 0);
}
