//! Tests of RED against hand calculations.

use super::*;
use crate::aqm::backlog::droptail::DropTail;
use crate::base::packet::Ecn;
use crate::base::port::{MAIN, Port};
use crate::base::rng::Rng;
use crate::base::time::Instant;
use crate::base::units::{Limit, Rate};
use crate::testing::by_hand::params;

const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };

/// Verdicts on alternating ECN-capable and other packets at a constant queue of `q` packets, with ECN, thresholds 5 and
/// 15 and w_q = 1. At q >= 10 p_b is at least 0.5, so that every packet after the first is signalled.
fn verdicts<const N: usize>(q: u32, settings: &str) -> [Verdict; N] {
    let params: Params = params(&alloc::format!("min_th=5p max_th=15p max_p=1 w_q=1 wait=off {settings}"));
    Red::check(&params).unwrap();
    let mut port = Port::new(LINK, 1, true);
    let packet = Packet { len: 500, ..Packet::default() };
    let mut rng = Rng::stream(1, "red");
    let mut cx = Cx::new(Instant::ZERO, &mut rng);
    for _ in 0..q {
        port.admit(MAIN, packet, Verdict::Accept, &mut DropTail, &mut cx);
    }
    let mut red = Red::build(&params, &LINK);
    core::array::from_fn(|i| {
        let ecn = if i % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        red.arrival(&Packet { ecn, ..packet }, &port.level(MAIN), &mut cx)
    })
}

use Verdict::{Accept, Drop, Signal};

#[test]
fn first_arrival_with_average_above_min_th_passes() {
    assert_eq!(verdicts(4, ""), [Accept; 3]);
    assert_eq!(verdicts(10, ""), [Accept, Signal, Signal]);
    assert_eq!(verdicts(15, ""), [Accept, Signal, Signal]);
    assert_eq!(verdicts(15, "gentle=off"), [Drop; 3]);
    assert_eq!(verdicts(29, ""), [Accept, Signal, Signal]);
    assert_eq!(verdicts(30, ""), [Drop; 3]);
    assert_eq!(verdicts(1, "min_th=0p max_th=1p"), [Accept; 3], "no signal at a queue of one packet");
    // use_mark_p: the average never forces; from p_b = 0.9, at 14 packets, marks become drops.
    assert_eq!(verdicts(13, "use_mark_p=on mark_p=0.9"), [Accept, Signal, Signal]);
    assert_eq!(verdicts(14, "use_mark_p=on mark_p=0.9"), [Accept, Drop, Drop]);
    assert_eq!(verdicts(99, "use_mark_p=on mark_p=0.9 gentle=off"), [Accept, Drop, Drop]);
}

#[test]
fn harddrop_and_nodrop_select_mark_or_drop() {
    assert_eq!(verdicts(10, "nodrop=on"), [Accept, Accept, Signal, Accept, Signal], "only marks");
    assert_eq!(verdicts(30, "nodrop=on"), [Drop; 3]);
    assert_eq!(verdicts(30, "harddrop=off"), [Signal; 3]);
    assert_eq!(verdicts(30, "harddrop=off nodrop=on"), [Signal, Accept, Signal]);
}

#[test]
fn paper_and_linux_add_no_sample_after_idle() {
    for rule in ["paper", "linux"] {
        let forced = alloc::format!("rule={rule} harddrop=off gentle=off");
        assert_eq!(verdicts(15, &forced), [Accept, Signal, Signal, Signal], "{rule}");
        assert_eq!(verdicts(1, &alloc::format!("{forced} min_th=0p max_th=1p")), [Accept, Signal, Signal], "{rule}");
    }
    // 14 packets, p_b = 0.9: the first draws the gap, which ends after at most two more.
    let [_, first, a, b, ..] = verdicts::<5>(14, "rule=linux");
    assert_eq!((first, [a, b].contains(&Signal)), (Accept, true));
}

#[test]
fn contradictory_parameters_are_rejected() {
    let check = |settings: &str| Red::check(&params(settings));
    assert!(check("min_th=5p max_th=15p").is_ok());
    assert!(check("min_th=15p max_th=5p").is_err());
    assert!(check("min_th=5p max_th=15kb").is_err());
    assert!(check("min_th=auto max_th=15kb").is_ok());
    assert!(check("min_th=auto max_th=0p").is_err());
    assert!(check("min_th=0p max_th=auto").is_ok());
    assert!(check("rule=linux wait=off").is_ok());
    assert!(check("rule=linux wait=on").is_err() && check("rule=linux wait=off bytes=on").is_err());
    assert!(check("rule=paper bytes=on").is_ok() && check("rule=paper use_mark_p=on").is_err());
}

#[test]
fn tc_arguments_are_parsed() {
    let words =
        "red limit 120000 min 10000 max 30000 avpkt 500 burst 20 probability 0.05 bandwidth 10mbit ecn harddrop";
    let ours = "red preset=linux hard_limit=120000b min_th=10000b max_th=30000b mean_packet=500b burst=20 max_p=0.05 \
                ecn=on harddrop=on";
    let canonical = |text| crate::Spec::parse(text).unwrap().canonical();
    assert_eq!(canonical(words), canonical(ours));
    assert!(canonical("ared limit 120000 avpkt 500 adaptive ecn nodrop").contains("nodrop=on"));
}

const CURVE: Curve = Curve::new(5.0, 15.0, 0.1, true);

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn base_probability_matches_piecewise_linear_curve() {
    let p = |avg| CURVE.base_probability(avg);
    assert_eq!(p(4.999), None);
    assert_eq!(p(5.0), Some(0.0));
    assert!(near(p(10.0).unwrap(), 0.05));
    assert!(near(p(15.0).unwrap(), 0.1));
    assert!(near(p(22.5).unwrap(), 0.55), "half-way to twice max_th");
    assert_eq!(p(30.0), Some(1.0));
    assert_eq!(p(99.0), Some(1.0));
    assert_eq!(Curve { gentle: false, ..CURVE }.base_probability(15.0), Some(1.0));
}

#[test]
fn idle_time_counts_as_samples_of_zero() {
    // 0.5 s at 1000 packets a second: 500 decays and one more for the arrival itself.
    let mut avg = Average::new(0.002, 1000.0);
    for _ in 0..2000 {
        avg.arrival(20.0, Instant::from_nanos(0));
    }
    let before = avg.value();
    avg.emptied(Instant::from_nanos(1_000_000_000));
    avg.emptied(Instant::from_nanos(1_300_000_000));
    let after = avg.arrival(0.0, Instant::from_nanos(1_500_000_000));
    assert!(near(after / before, libm::pow(0.998, 501.0)));
    // Not idle any more: the next arrival decays once.
    assert!(near(avg.arrival(0.0, Instant::from_nanos(9_000_000_000)) / after, 0.998));
}

#[test]
fn paper_average_decays_over_fractional_packet_times() {
    let mut avg = Average::new(0.5, 1000.0);
    avg.arrival_or_decay(0.0, Instant::ZERO);
    assert_eq!(avg.arrival_or_decay(8.0, Instant::ZERO), 4.0, "half of what was met");
    avg.emptied(Instant::ZERO);
    let later = Instant::from_nanos(1_500_000);
    assert!(near(avg.at(later), 4.0 * libm::pow(0.5, 1.5)));
    assert_eq!(avg.value(), 4.0, "only asked");
    assert!(near(avg.arrival_or_decay(0.0, later), 4.0 * libm::pow(0.5, 1.5)));
    assert_eq!(avg.at(Instant::NEVER), avg.value(), "not idle any more");
    avg.emptied(later);
    avg.restart_idle(later + Span::from_millis(1));
    assert!(near(avg.at(later + Span::from_millis(2)) / avg.value(), 0.5));
    avg.forget_idle();
    assert_eq!(avg.at(Instant::NEVER), avg.value());
}

/// A sample is a queue length that is added to the moving average.
#[test]
fn many_equal_samples_at_once_equal_single_samples() {
    let average = || Average { idle_since: None, ..Average::new(0.002, 1250.0) };
    let (mut one_by_one, mut at_once) = (average(), average());
    (0..500).for_each(|_| {
        one_by_one.sample(40.0);
    });
    assert!((one_by_one.value() - at_once.sample_many(40.0, 500.0)).abs() < 1e-9);
}
