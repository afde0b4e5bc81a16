//! Changing parameters during a run keeps the state: the same parameters do not change the run, and other
//! parameters do.

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Colour, Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, ENTRIES, Spec};

const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(60), mean_packet: Bytes(1000) };
const STEPS: u64 = 40_000;

/// Runs a bursty load and calls `meddle` at some steps; a step is half of a packet time. Returns early drops, marks,
/// backlog and a hash of the departure order, every 1000 steps.
fn trajectory(spec: &Spec, mut meddle: impl FnMut(u64, &mut AnyDiscipline)) -> Vec<[u64; 4]> {
    let mut queue: Queue<AnyDiscipline> = spec.queue(LINK, Rng::stream(7, "queue"));
    let mut rng = Rng::stream(7, "load");
    let (mut seen, mut order) = (Vec::new(), 0_u64);
    for step in 0..STEPS {
        let now = Instant::ZERO + Span::from_micros(400 * step);
        while let Some(due) = queue.next_tick().filter(|due| *due <= now) {
            queue.tick(due);
        }
        if step % 97 == 50 {
            meddle(step, queue.discipline_mut());
        }
        // The load alternates between 1.24 and 0.2 of the link's rate, so that the queue fills and empties.
        let busy = (step / 2000) % 3 != 2;
        let (flow, class) = (rng.below(5) as u32, rng.below(2) as u8);
        let (coin, colour) = (rng.uniform(), if rng.uniform() < 0.5 { Colour::In } else { Colour::Out });
        if coin < if busy { 0.62 } else { 0.1 } {
            let packet = Packet { slot: step as u32, len: 1000, flow, pair: flow, class, colour, ..Packet::default() };
            let ecn = if flow == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            queue.arrive(Packet { ecn, ..packet }, now);
        }
        if step % 2 == 0 {
            let left = queue.depart(now).map_or(0, |packet| u64::from(packet.slot));
            order = order.wrapping_mul(31).wrapping_add(left);
        }
        queue.port.discarded().clear();
        if step % 1000 == 999 {
            let tally = queue.port.tally();
            seen.push([tally.dropped_early.pkts, tally.marked.pkts, u64::from(queue.port.pkts()), order]);
        }
    }
    seen
}

/// Every discipline with its defaults.
fn all() -> impl Iterator<Item = Spec> {
    ENTRIES.iter().map(|entry| Spec::parse(entry.name).unwrap())
}

#[test]
fn retuning_to_same_parameters_changes_nothing() {
    for spec in all() {
        let again =
            |_: u64, discipline: &mut AnyDiscipline| assert!(discipline.retune(&spec, &LINK), "{}", spec.name());
        assert_eq!(trajectory(&spec, again), trajectory(&spec, |_, _| ()), "{}", spec.name());
    }
}

#[test]
fn changed_parameters_apply_after_the_change_only() {
    for (before, after) in [
        ("pi q_ref=20", "pi q_ref=40"),
        ("raqm q0=20 p_init=0.1", "raqm q0=50 p_init=0.1"),
        ("red min_th=5 max_th=15", "red min_th=20 max_th=50"),
        ("codel target=5ms", "codel target=20ms"),
        ("svb b_cap=20", "svb b_cap=50"),
        ("sfb max=10", "sfb max=20"),
        ("wrr weights=1/1 classes=2", "wrr weights=1/3 classes=2"),
        ("drr quantum=1000b hard_limit=20p", "drr quantum=3000b hard_limit=20p"),
        ("choke min_th=5p max_th=15p", "choke min_th=20p max_th=50p"),
        ("fq_codel target=5ms", "fq_codel target=50ms"),
        ("fq_pie target=5ms", "fq_pie target=30ms"),
        ("cake bandwidth=1mbit", "cake bandwidth=2mbit"),
        ("dualpi2 target=5ms", "dualpi2 target=30ms"),
        ("curvy_red range=50ms", "curvy_red range=500ms"),
        ("red_tail n=0 min_th2=2kb max_th2=10kb", "red_tail n=0 min_th2=10kb max_th2=40kb"),
        ("red_tail n=0 split=count", "red_tail n=0 split=class"),
    ] {
        let [before, after] = [before, after].map(|words| Spec::parse(words).unwrap());
        let half = |step: u64, discipline: &mut AnyDiscipline| {
            if step > STEPS / 2 {
                assert!(discipline.retune(&after, &LINK));
            }
        };
        let (plain, changed) = (trajectory(&before, |_, _| ()), trajectory(&before, half));
        let (early, late) = plain.split_at(plain.len() / 2);
        assert_eq!(early, &changed[..early.len()], "{}", before.canonical());
        assert_ne!(late, &changed[early.len()..], "{}", before.canonical());
    }
}

#[test]
fn wrr_quantum_change_keeps_packets_per_round() {
    // Two backlogged classes send three packets each per round, at any cost of a packet.
    let [before, after] = ["1500b", "100b"].map(|quantum| {
        let words =
            format!("wrr scheduler=wrr classes=2 weights=3 quantum={quantum} min_th=50 max_th=60 class_limit=30");
        Spec::parse(&words).unwrap()
    });
    let mut queue: Queue<AnyDiscipline> = before.queue(LINK, Rng::stream(7, "queue"));
    for class in [0, 1] {
        let packet = Packet { len: 1000, class, ..Packet::default() };
        (0..20).for_each(|_| queue.arrive(packet, Instant::ZERO));
    }
    let mut order = vec![queue.depart(Instant::ZERO).unwrap().class];
    assert!(queue.discipline_mut().retune(&after, &LINK));
    order.extend((0..8).map(|_| queue.depart(Instant::ZERO).unwrap().class));
    assert_eq!(order, [0, 0, 0, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn removed_pie_burst_allowance_ends_in_every_flow() {
    let [with, without] =
        ["150ms", "0s"].map(|burst| Spec::parse(&format!("fq_pie target=1ms max_burst={burst}")).unwrap());
    let once = |step: u64, discipline: &mut AnyDiscipline| {
        if step == 50 {
            assert!(discipline.retune(&without, &LINK));
        }
    };
    // Step 50 is the first chance to change; until then the allowance has had no effect.
    assert_eq!(trajectory(&with, once), trajectory(&without, |_, _| ()));
}

#[test]
fn retuning_that_moves_queued_packets_is_refused() {
    for (before, after) in [
        ("red min_th=5p max_th=15p", "red min_th=5kb max_th=15kb"),
        ("choke min_th=5p max_th=15p", "choke min_th=5kb max_th=15kb"),
        ("sfb bins=16", "sfb bins=8"),
        ("wrr classes=2", "wrr classes=3"),
        ("drr key=flow", "drr key=pair"),
        ("drr hash=exact", "drr hash=salted"),
        ("fq_codel flows=16", "fq_codel flows=32"),
        ("fq_codel salt=1", "fq_codel salt=2"),
        ("fq_pie flows=16", "fq_pie flows=32"),
        ("cake tins=diffserv3", "cake tins=diffserv4"),
        ("cake memory=skb", "cake memory=wire"),
        ("red_tail key=pair", "red_tail key=flow"),
        ("red_tail pairs=100", "red_tail pairs=200"),
        ("red_tail scheduler=clocks", "red_tail scheduler=drr"),
        ("red", "codel"),
    ] {
        let [spec, other] = [before, after].map(|words| Spec::parse(words).unwrap());
        let refused = |_: u64, discipline: &mut AnyDiscipline| assert!(!discipline.retune(&other, &LINK), "{after}");
        assert_eq!(trajectory(&spec, refused), trajectory(&spec, |_, _| ()), "{before}");
    }
}
