//! The AAQM paper's threshold marker (eq. 18): d(x) = 0 for x <= th, (x - th)/(x_max - th) above.
//!
//! x is the occupancy including the arriving packet, and d is at most 1, also for x > th = x_max. The marker has a
//! separate stream of random numbers, so that it does not change those of the discipline behind it.

use forebay_aqm::Spec;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::base::verdict::Reason;

use crate::reference::harness::*;

/// Random arrivals and departures at a drop-tail buffer; the fate of each arrival is also computed independently.
fn one(seed: u64, seen: &mut [u64; 5]) {
    let mut dice = Dice(Rng::stream(seed, "threshold"));
    let in_bytes = dice.odds(0.5);
    let x_max = if in_bytes { dice.upto(1000, 40_000) } else { dice.upto(1, 60) };
    let steps: Vec<(u64, f64)> =
        (0..dice.upto(1, 3)).map(|step| (step * 1_000_000_000, dice.pick(&[0.0, 0.25, 0.5, 0.95, 1.0]))).collect();
    let later: Vec<String> = steps[1..].iter().map(|(from, th)| format!("/{from}ns:{th}")).collect();
    let words = format!("droptail th={}{}", steps[0].1, later.concat());
    let limit = if in_bytes { Limit::Bytes(x_max) } else { Limit::Packets(x_max as u32) };
    let link = Link { rate: Rate(10_000_000), limit, mean_packet: Bytes(500) };
    let rng = Rng::stream(seed, "queue");
    let mut chance = Rng::stream(rng.clone().bits(), "threshold");
    let mut queue = Spec::parse(&words).expect("a threshold marker").queue(link, rng);
    let (mut now, mut held) = (0, Vec::<u64>::new());
    for slot in 0..200 {
        now += (dice.0.exponential(1.5e7)) as u64;
        if dice.odds(0.3) {
            queue.depart(Instant::from_nanos(now));
            held.drain(..held.len().min(1));
            continue;
        }
        let size = dice.upto(1, 1500);
        let ecn = dice.pick(&[Ecn::NotEct, Ecn::Ect0]);
        let used = if in_bytes { held.iter().sum::<u64>() } else { held.len() as u64 };
        let x = (used + if in_bytes { size } else { 1 }) as f64;
        let th = steps.iter().rev().find(|(from, _)| *from <= now).map_or(1.0, |(_, th)| *th) * x_max as f64;
        let d = if x <= th { 0.0 } else { ((x - th) / (x_max as f64 - th)).min(1.0) };
        let signalled = chance.uniform() < d;
        let fits = x <= x_max as f64;
        let marked = queue.port.tally().marked.pkts;
        queue.arrive(Packet { slot, len: size as u32, ecn, ..Packet::default() }, Instant::from_nanos(now));
        let dropped = queue.port.discarded().pop().map(|(_, reason)| reason);
        let marked = queue.port.tally().marked.pkts > marked;
        let want = match (fits, signalled, ecn) {
            (false, ..) => (Some(Reason::Overflow), false),
            (true, true, Ecn::NotEct) => (Some(Reason::Marker), false),
            (true, signalled, _) => (None, signalled),
        };
        assert_eq!((dropped, marked), want, "{words}, {limit:?}: {x} of {x_max} at {now}");
        if want.0.is_none() {
            held.push(size);
        }
        let kinds = [!fits, want.0 == Some(Reason::Marker), marked, signalled && in_bytes, now > 1_000_000_000];
        seen.iter_mut().zip(kinds).for_each(|(count, kind)| *count += u64::from(kind));
    }
}

#[test]
fn threshold_marker_signals_by_eq_18_of_paper() {
    let mut seen = [0; 5];
    (0..400).for_each(|seed| one(seed, &mut seen));
    assert!(seen.iter().all(|count| *count >= 100), "overflow, drop, mark, bytes, later: {seen:?}");
}
