//! DualPI2 and Curvy RED compared with section 5 of RFC 9331, which RFC 9332 section 2.5.1 requires: rules for any
//! network node with L4S.
//!
//! Not tested: bursts of the lower layer (section 5.5), which are not part of the algorithm.

use crate::coupled::{BOTH, KINDS, N, at, based, near, order, packet, queue, signals};
use forebay_aqm::Spec;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::rng::Rng;

/// The departure order of one packet of each codepoint; numbers are indexes of `KINDS`.
fn first_two(words: &str, class: u8) -> Vec<u32> {
    let mut queue = queue(words);
    for (slot, ecn) in (0..).zip(KINDS) {
        queue.arrive(Packet { slot, ..packet(ecn, class) }, at(0.0));
    }
    order(&mut queue, 0.0)
}

/// RFC 9331 section 5.1 (MUST): ECT(1) is classified for L4S treatment, unless another classifier says otherwise.
#[test]
fn rfc9331_5_1_ect1_goes_to_l_queue() {
    for name in BOTH {
        assert!(first_two(name, 0)[..2].contains(&1), "{name}");
        assert_eq!(first_two(&format!("{name} c_class=7"), 7), [0, 1, 2, 3], "{name}: another classifier excludes it");
    }
}

/// RFC 9331 section 5.1 (MUST): CE is classified for L4S treatment as well, unless another classifier says otherwise.
#[test]
fn rfc9331_5_1_ce_goes_to_l_queue() {
    for name in BOTH {
        assert!(first_two(name, 0)[..2].contains(&3), "{name}");
        // Above p_cmax = 0.05 classic packets are dropped; here p is 0.09. A CE packet that is treated as L4S is not
        // dropped, and cannot be marked again.
        assert_eq!(signals(&format!("{} p_cmax=0.05", based(name, 0.3)), Ecn::Ce, 0), (0, 0), "{name}: as ECT(1)");
    }
}

/// RFC 9331 section 5.1 (MUST NOT): ECT(1) is changed only to CE, and CE is not changed.
#[test]
fn rfc9331_5_1_ect1_changes_only_to_ce() {
    for name in BOTH {
        for more in ["", "l4s=off", "l_class=1", "c_class=1"] {
            let mut queue = queue(&format!("{} {more}", based(name, 0.3)));
            (0..1000).for_each(|n| queue.arrive(packet([Ecn::Ect1, Ecn::Ce][n % 2], 1), at(0.0)));
            while let Some(sent) = queue.depart(at(20.0)) {
                assert!(matches!(sent.ecn, Ecn::Ect1 | Ecn::Ce), "{name} {more}: {:?}", sent.ecn);
            }
        }
    }
}

/// RFC 9331 section 5.1 (MUST): during persistent overload L4S traffic is dropped; the drops end with the overload.
#[test]
fn rfc9331_5_1_l4s_is_dropped_only_in_overload() {
    for name in BOTH {
        let dropped = |p| signals(&based(name, p), Ecn::Ect1, 0).1;
        assert!(dropped(0.6) > 0, "{name}");
        assert_eq!(dropped(0.4), 0, "{name}: no longer in overload");
    }
}

/// RFC 9331 section 5.1 (MUST): in overload the drop probability of L4S traffic is that of classic traffic.
#[test]
fn rfc9331_5_1_overload_drops_l4s_as_often_as_classic() {
    for name in BOTH {
        for p in [0.51, 0.7, 0.9] {
            for ecn in KINDS {
                let (_, dropped) = signals(&based(name, p), ecn, 0);
                assert!(near(dropped, p * p), "{name} p' {p} {ecn:?}: {dropped}");
            }
        }
    }
}

/// RFC 9331 section 5.1 (MUST): there is an AQM for classic traffic too, which treats ECT(0) and Not-ECT.
#[test]
fn rfc9331_5_1_classic_packets_have_a_separate_aqm() {
    for name in BOTH {
        for (ecn, drops) in [(Ecn::Ect0, false), (Ecn::NotEct, true)] {
            let (marked, dropped) = signals(&based(name, 0.3), ecn, 0);
            let (signalled, others) = if drops { (dropped, marked) } else { (marked, dropped) };
            assert!(near(signalled, 0.09) && others == 0, "{name} {ecn:?}: {marked} {dropped}");
        }
        assert_eq!(first_two(name, 0)[2..], [0, 2], "{name}: behind L4S");
    }
}

/// RFC 9331 section 5.1 (MUST): the L4S treatment can be disabled.
#[test]
fn rfc9331_5_1_l4s_can_be_disabled() {
    for name in BOTH {
        for more in ["", "l_class=7"] {
            assert_eq!(first_two(&format!("{name} l4s=off {more}"), 7), [0, 1, 2, 3], "{name} {more}: one queue");
        }
        let words = format!("{} l4s=off", based(name, 0.3));
        assert_eq!(signals(&words, Ecn::Ce, 0), (0, 0), "{words}: CE is ECN-capable");
        let (_, dropped) = signals(&format!("{words} p_cmax=0.05"), Ecn::Ce, 0);
        assert!(near(dropped, 0.09), "{words}: CE is classic, {dropped}");
    }
}

/// RFC 9331 section 5.1 (MUST): once L4S is disabled, ECT(1) is treated as Not-ECT.
#[test]
fn rfc9331_5_1_disabled_l4s_treats_ect1_as_not_ect() {
    let pi2 = "pi2 min_backlog=0b at=departure target=10ms tupdate=20ms beta=0 alpha=";
    for p in [0.3, 0.45] {
        let words = BOTH.map(|name| based(name, p)).into_iter();
        let words = words.chain([format!("{pi2}{}", p / 0.010), format!("{pi2}{} scalable=ect", p / 0.010)]);
        for words in words.flat_map(|words| [words.clone(), format!("{words} p_cmax=0.05")]) {
            let words = format!("{words} l4s=off");
            let (marked, dropped) = signals(&words, Ecn::Ect1, 0);
            assert!(near(dropped, p * p) && marked == 0, "{words}: {marked} {dropped}");
            assert_eq!(signals(&words, Ecn::NotEct, 0), (0, dropped), "{words}: same random numbers, same drops");
        }
    }
}

/// RFC 9331 section 5.2 (MUST): the probability of a classic drop is the square of (L4S marking probability / k).
#[test]
fn rfc9331_5_2_drops_are_the_square_of_marks() {
    for name in BOTH {
        for (p, k) in [(0.1, 2.0), (0.3, 2.0), (0.3, 1.5)] {
            let words = format!("{} k={k}", based(name, p));
            let (marked, dropped) = (signals(&words, Ecn::Ect1, 0).0, signals(&words, Ecn::NotEct, 0).1);
            let p_l = marked as f64 / f64::from(N);
            assert!(near(dropped, (p_l / k).powi(2)), "{words}: {marked} {dropped}");
        }
    }
}

/// RFC 9331 section 5.2 (SHOULD): the constant of proportionality is 2.
#[test]
fn rfc9331_5_2_the_coupling_factor_is_2() {
    for name in BOTH {
        let spec = Spec::parse(name).expect("a line of the registry");
        assert_eq!(spec.get("k").as_deref(), Some("2"), "{name}");
    }
}

/// RFC 9331 section 5.2 (MUST): congestion of L4S traffic is signalled as early as possible.
#[test]
fn rfc9331_5_2_congestion_is_signalled_at_once() {
    // A queue builds up after ten idle seconds, and p' is not updated before it leaves: the marks do not depend on a
    // smoothed value. With recur of Figure 4 the first packet is not marked, even at p = 1.
    for (words, passed) in [("dualpi2", 1), ("dualpi2 toss=random", 0), ("curvy_red t=1ms", 0), ("curvy_red", 0)] {
        let mut queue = queue(words);
        (0..10).for_each(|_| queue.arrive(packet(Ecn::Ect1, 0), at(10_000.0)));
        let marks: Vec<bool> = (0..9).map(|_| queue.depart(at(10_006.0)).is_some_and(|p| p.ecn == Ecn::Ce)).collect();
        assert_eq!(marks.iter().position(|mark| *mark), Some(passed), "{words}: {marks:?}");
        assert!(marks[passed..].iter().all(|mark| *mark), "{words}: {marks:?}");
    }
}

/// RFC 9331 section 5.3 (MUST): a node without flow state treats every CE packet as L4S.
#[test]
fn rfc9331_5_3_ce_is_l4s_regardless_of_its_flow() {
    for name in BOTH {
        let mut queue = queue(name);
        (0..9).for_each(|slot| queue.arrive(Packet { slot, flow: 5, ..packet(Ecn::Ect0, 0) }, at(0.0)));
        queue.arrive(Packet { slot: 9, flow: 5, ..packet(Ecn::Ce, 0) }, at(0.0));
        assert_eq!(queue.depart(at(0.0)).map(|packet| packet.slot), Some(9), "{name}");
    }
}

/// RFC 9331 section 5.4.1.1 (MAY): other identifiers, here the service class, may classify more packets into the
/// L queue.
#[test]
fn rfc9331_5_4_1_1_service_class_can_select_l_queue() {
    for name in BOTH {
        let mut queue = queue(&format!("{name} l_class=7"));
        queue.arrive(Packet { slot: 1, ..packet(Ecn::NotEct, 0) }, at(0.0));
        queue.arrive(Packet { slot: 2, ..packet(Ecn::NotEct, 7) }, at(0.0));
        assert_eq!(order(&mut queue, 0.0), [2, 1], "{name}");
    }
}

/// RFC 9331 section 5.4.1.1 (MUST NOT): Not-ECT and ECT(0) packets in the L queue are not changed to ECT(1).
#[test]
fn rfc9331_5_4_1_1_packets_in_l_queue_never_become_ect1() {
    for name in BOTH {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let mut queue = queue(&format!("{} l_class=1", based(name, 0.3)));
            (0..1000).for_each(|_| queue.arrive(packet(ecn, 1), at(0.0)));
            while let Some(sent) = queue.depart(at(20.0)) {
                assert!(sent.ecn == ecn || (ecn == Ecn::Ect0 && sent.ecn == Ecn::Ce), "{name} {ecn:?}");
            }
        }
    }
}

/// RFC 9331 section 5.4.1.2 (MUST): the local identifier, here the service class, excludes packets from the L queue
/// before the ECN field is read.
#[test]
fn rfc9331_5_4_1_2_excluding_service_class_overrides_ecn_field() {
    for name in BOTH {
        let words = format!("{name} c_class=7");
        assert_eq!(first_two(&words, 7), [0, 1, 2, 3], "{name}: one queue, in order");
        assert_eq!(first_two(&words, 6), [1, 3, 0, 2], "{name}: other packets are classified by ECN");
        let both = format!("{name} l_class=7 c_class=7");
        assert_eq!(first_two(&both, 7), [0, 1, 2, 3], "{name}: exclusion overrides inclusion");
    }
}

/// RFC 9331 section 5.4.1.2 (MUST NOT): an excluded packet keeps its L4S identifier.
#[test]
fn rfc9331_5_4_1_2_excluded_ect1_changes_only_to_ce() {
    for name in BOTH {
        let mut queue = queue(&format!("{} c_class=1", based(name, 0.3)));
        (0..1000).for_each(|_| queue.arrive(packet(Ecn::Ect1, 1), at(0.0)));
        while let Some(sent) = queue.depart(at(20.0)) {
            assert!(matches!(sent.ecn, Ecn::Ect1 | Ecn::Ce), "{name}: {:?}", sent.ecn);
        }
    }
}

/// RFC 9331 section 5.4.1.2 (MUST): an excluded L4S packet is marked with a probability that suits L4S: the coupled
/// one.
#[test]
fn rfc9331_5_4_1_2_excluded_l4s_has_coupled_marking_probability() {
    for name in BOTH {
        for p in [0.1, 0.3] {
            let (marked, dropped) = signals(&format!("{} c_class=7", based(name, p)), Ecn::Ect1, 7);
            assert!(near(marked, 2.0 * p) && dropped == 0, "{name} p' {p}: {marked} {dropped}");
        }
    }
}

/// RFC 9331 section 5.4.1.2 (MUST NOT): an excluded L4S packet is not marked with a classic probability.
#[test]
fn rfc9331_5_4_1_2_excluded_l4s_has_no_classic_marking_probability() {
    for name in BOTH {
        for more in ["c_class=7", "l4s=off"] {
            let (marked, _) = signals(&format!("{} {more}", based(name, 0.3)), Ecn::Ect1, 7);
            assert!(!near(marked, 0.09), "{name} {more}: {marked}");
        }
    }
}

/// Checks the helper `based`: its settings give the requested base probability.
#[test]
fn test_helper_gives_the_requested_base_probability() {
    for name in BOTH {
        let words = based(name, 0.25);
        let mut queue = Spec::parse(&words).expect("valid words").queue(crate::coupled::LINK, Rng::stream(1, "queue"));
        (0..2).for_each(|_| queue.arrive(packet(Ecn::NotEct, 0), at(0.0)));
        if queue.next_tick().is_some() {
            queue.tick(at(20.0));
        }
        queue.depart(at(20.0));
        assert!((crate::coupled::probe(&queue, &words, "p") - 0.25).abs() < 1e-12, "{name}");
    }
}
