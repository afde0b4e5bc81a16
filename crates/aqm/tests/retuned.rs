//! What is tuned while it runs goes on in the state that it is in: with its own parameters again it goes on as if
//! nothing had been, and with others it does not.

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::ladder::Discipline;
use forebay_aqm::base::packet::{Colour, Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, ENTRIES, Spec};

const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(60), mean_packet: Bytes(1000) };
const STEPS: u64 = 40_000;

/// What became of a load somewhat above the link's rate, each step of half a packet; `meddle` is called at some.
fn course(spec: &Spec, mut meddle: impl FnMut(u64, &mut AnyDiscipline)) -> Vec<(u64, u64, u64)> {
    let mut queue: Queue<AnyDiscipline> = spec.queue(LINK, Rng::stream(7, "queue"));
    let mut rng = Rng::stream(7, "load");
    let mut seen = Vec::new();
    for step in 0..STEPS {
        let now = Instant::ZERO + Span::from_micros(400 * step);
        while let Some(due) = queue.next_tick().filter(|due| *due <= now) {
            queue.tick(due);
        }
        if step % 97 == 50 {
            meddle(step, queue.discipline_mut());
        }
        // Bursts and silences: the queue is full and empty by turns.
        let busy = (step / 2000) % 3 != 2;
        let (flow, class) = (rng.below(5) as u32, rng.below(2) as u8);
        let (coin, colour) = (rng.uniform(), if rng.uniform() < 0.5 { Colour::In } else { Colour::Out });
        if coin < if busy { 0.62 } else { 0.1 } {
            let packet = Packet { slot: step as u32, len: 1000, flow, pair: flow, class, colour, ..Packet::default() };
            let ecn = if flow == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            queue.arrive(Packet { ecn, ..packet }, now);
        }
        if step % 2 == 0 {
            queue.depart(now);
        }
        queue.port.discarded().clear();
        if step % 1000 == 999 {
            let tally = queue.port.tally();
            seen.push((tally.dropped_early.pkts, tally.marked.pkts, u64::from(queue.port.pkts())));
        }
    }
    seen
}

/// The disciplines whose queues are one list: they can be tuned while they run.
fn tunable() -> impl Iterator<Item = Spec> {
    let rungs = ENTRIES.iter().filter(|entry| entry.rung != "queue" && entry.name != "sfb");
    rungs.map(|entry| Spec::parse(entry.name).unwrap())
}

#[test]
fn the_same_parameters_change_nothing() {
    for spec in tunable() {
        let again =
            |_: u64, discipline: &mut AnyDiscipline| assert!(discipline.retune(&spec, &LINK), "{}", spec.name());
        assert_eq!(course(&spec, again), course(&spec, |_, _| ()), "{}", spec.name());
    }
}

#[test]
fn other_parameters_count_from_then_on() {
    for (before, after) in [
        ("pi q_ref=20", "pi q_ref=40"),
        ("raqm q0=20 p_init=0.1", "raqm q0=50 p_init=0.1"),
        ("red min_th=5 max_th=15", "red min_th=20 max_th=50"),
        ("codel target=5ms", "codel target=20ms"),
        ("svb b_cap=20", "svb b_cap=50"),
    ] {
        let [before, after] = [before, after].map(|words| Spec::parse(words).unwrap());
        let half = |step: u64, discipline: &mut AnyDiscipline| {
            if step > STEPS / 2 {
                assert!(discipline.retune(&after, &LINK));
            }
        };
        let (plain, changed) = (course(&before, |_, _| ()), course(&before, half));
        let (early, late) = plain.split_at(plain.len() / 2);
        assert_eq!(early, &changed[..early.len()], "{}", before.canonical());
        assert_ne!(late, &changed[early.len()..], "{}", before.canonical());
    }
}

#[test]
fn what_cannot_be_tuned_says_so_and_goes_on() {
    let others = ENTRIES.iter().filter(|entry| entry.rung == "queue" || entry.name == "sfb");
    for spec in others.map(|entry| Spec::parse(entry.name).unwrap()) {
        let refused = |_: u64, discipline: &mut AnyDiscipline| assert!(!discipline.retune(&spec, &LINK));
        assert_eq!(course(&spec, refused), course(&spec, |_, _| ()), "{}", spec.name());
    }
    let [packets, bytes, other] = ["red min_th=5p max_th=15p", "red min_th=5kb max_th=15kb", "codel"];
    let [packets, bytes, other] = [packets, bytes, other].map(|words| Spec::parse(words).unwrap());
    let mut red = packets.build(&LINK);
    assert!(!red.retune(&bytes, &LINK), "an average in packets says nothing about bytes");
    assert!(!red.retune(&other, &LINK), "another discipline");
    assert_eq!(red.lists(), 1);
}
