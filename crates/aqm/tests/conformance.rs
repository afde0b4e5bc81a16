//! The conformance suite for all disciplines of the registry, and faults that the suite must find. A discipline is a
//! control law (sees counters), an AQM (sees packets, holds none) or a queue (holds its packets).

use forebay_aqm::base::adapters::Fifo;
use forebay_aqm::base::cx::Cx;
use forebay_aqm::base::design::{DisciplineKind, Entry, ProbeSpec, Probes, Readings};
use forebay_aqm::base::discipline::{Aqm, Discipline};
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::port::{Level, ListId, MAIN, Port};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::verdict::Verdict;
use forebay_aqm::testing::settings::random_settings;
use forebay_aqm::testing::{Order, Promises, Watch, check_aqm};
use forebay_aqm::{AnyDiscipline, ENTRIES, Spec};

/// Number of random parameter sets for each discipline.
const CASES: u64 = 1000;

fn check(spec: &Spec, seed: u64) {
    let watch = Watch { probes: spec.entry().probes, read: AnyDiscipline::probe };
    let outcome = check_aqm(|link, rng| spec.queue(link, rng), &watch, &spec.promises(), seed);
    outcome.unwrap_or_else(|e| panic!("{}: {e}", spec.canonical()));
}

fn check_defaults_and_presets(entry: &Entry) {
    let presets = entry.presets.iter().map(|preset| format!("{} preset={}", entry.name, preset.name));
    for (seed, text) in std::iter::once(entry.name.to_string()).chain(presets).enumerate() {
        let spec = Spec::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        (0..10).for_each(|n| check(&spec, 100 * seed as u64 + n));
    }
}

fn check_random_parameters(entry: &Entry) {
    let mut rng = Rng::stream(1, entry.name);
    let (mut done, mut refused) = (0, 0);
    while done < CASES {
        let text = random_settings(entry, &mut rng);
        let Ok(spec) = Spec::parse(&text) else {
            refused += 1;
            assert!(refused < 10 * CASES, "{} refuses nearly every parameter set, such as {text}", entry.name);
            continue;
        };
        let again = Spec::parse(&spec.canonical()).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(again.canonical(), spec.canonical(), "{text}: the canonical text reads back the same");
        check(&spec, done);
        done += 1;
    }
}

/// Checks the disciplines of one kind; with `FOREBAY_ONLY=red` only RED.
fn check_kind(kind: DisciplineKind) {
    let only = std::env::var("FOREBAY_ONLY").ok();
    let asked = |entry: &&Entry| entry.kind == kind && only.as_ref().is_none_or(|only| only == entry.name);
    for entry in ENTRIES.iter().filter(asked) {
        check_defaults_and_presets(entry);
        check_random_parameters(entry);
    }
}

#[test]
fn every_control_law_passes_the_conformance_suite() {
    check_kind(DisciplineKind::Law);
}

#[test]
fn every_aqm_passes_the_conformance_suite() {
    check_kind(DisciplineKind::Aqm);
}

#[test]
fn every_queue_passes_the_conformance_suite() {
    check_kind(DisciplineKind::Queue);
}

/// Accepts every packet. Each faulty design below differs from it in one way.
struct Plain;
impl Aqm for Plain {}

const FIFO: Promises = Promises { order: Order::Lists(1), ecn: true, spares_empty: true };

fn verdict<D: Discipline>(make: fn() -> D, promises: Promises) -> String {
    let queue = |link, rng| Queue::new(make(), link, promises.ecn, rng);
    let found = (0..20).find_map(|seed| check_aqm(queue, &Watch::nothing(), &promises, seed).err());
    found.unwrap_or_default()
}

#[test]
fn suite_accepts_a_plain_fifo() {
    assert_eq!(verdict(|| Fifo::new(Plain), FIFO), "");
}

#[test]
fn suite_finds_reordered_packets() {
    /// Two lists, filled alternately and emptied in random order.
    struct Shuffled(u16);
    impl Discipline for Shuffled {
        fn lists(&self) -> usize {
            2
        }
        fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
            self.0 = 1 - self.0;
            port.admit(ListId(self.0), packet, Verdict::Accept, &mut Plain, cx);
        }
        fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
            let first = ListId(cx.rng.below(2) as u16);
            port.pop_judged(first, &mut Plain, cx).or_else(|| port.pop_judged(ListId(1 - first.0), &mut Plain, cx))
        }
    }
    assert!(verdict(|| Shuffled(0), FIFO).contains("out of order"));
    assert!(verdict(|| Shuffled(0), Promises { order: Order::PerFlow, ..FIFO }).contains("out of order"));
    assert_eq!(verdict(|| Shuffled(0), Promises { order: Order::Lists(2), ..FIFO }), "");
    assert_eq!(verdict(|| Shuffled(0), Promises { order: Order::Free, ..FIFO }), "");
}

#[test]
fn suite_finds_idle_link_while_packets_wait() {
    struct Lazy(bool);
    impl Discipline for Lazy {
        fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
            port.admit(MAIN, packet, Verdict::Accept, &mut Plain, cx);
        }
        fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
            self.0 = !self.0;
            if self.0 { port.pop_judged(MAIN, &mut Plain, cx) } else { None }
        }
    }
    assert!(verdict(|| Lazy(false), FIFO).contains("although packets wait"));
}

#[test]
fn suite_finds_lost_duplicated_and_changed_packets() {
    struct Forger(fn(Packet, &mut Port, &mut Cx));
    impl Discipline for Forger {
        fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
            self.0(packet, port, cx);
        }
        fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
            port.pop_judged(MAIN, &mut Plain, cx)
        }
    }
    let free = Promises { order: Order::Free, ..FIFO };
    let lost = verdict(|| Forger(|_, _, _| ()), free);
    assert!(lost.contains("met no fate"), "{lost}");
    let doubled = verdict(
        || {
            Forger(|packet, port, cx| {
                for _ in 0..2 {
                    port.admit(MAIN, packet, Verdict::Accept, &mut Plain, cx);
                }
            })
        },
        free,
    );
    assert!(doubled.contains("two fates"), "{doubled}");
    let changed = verdict(
        || {
            Forger(|packet, port, cx| {
                let packet = Packet { class: packet.class.wrapping_add(1), ..packet };
                port.admit(MAIN, packet, Verdict::Accept, &mut Plain, cx);
            })
        },
        free,
    );
    assert!(changed.contains("changed in the queue"), "{changed}");
}

#[test]
fn suite_finds_signals_while_the_queue_is_empty() {
    struct Signals;
    impl Aqm for Signals {
        fn arrival(&mut self, _: &Packet, level: &Level, _: &mut Cx) -> Verdict {
            if level.pkts() == 0 { Verdict::Signal } else { Verdict::Accept }
        }
    }
    assert!(verdict(|| Fifo::new(Signals), FIFO).contains("found nothing queued"));
    assert_eq!(verdict(|| Fifo::new(Signals), Promises { spares_empty: false, ..FIFO }), "");
}

#[test]
fn suite_finds_timer_times_that_do_not_increase() {
    struct Stuck(Instant);
    impl Aqm for Stuck {
        fn next_tick(&self) -> Option<Instant> {
            Some(self.0)
        }
    }
    assert!(verdict(|| Fifo::new(Stuck(Instant::ZERO)), FIFO).contains("tick"));

    struct Back(Instant);
    impl Aqm for Back {
        fn next_tick(&self) -> Option<Instant> {
            Some(self.0)
        }
        fn tick(&mut self, _: &Level, cx: &mut Cx) {
            self.0 = cx.now - Span::from_micros(1);
        }
    }
    assert!(verdict(|| Fifo::new(Back(Instant::ZERO + Span::from_millis(1))), FIFO).contains("tick"));
}

#[test]
fn suite_finds_internal_variables_out_of_range() {
    struct Probed(f64);
    impl Aqm for Probed {}
    impl Probes for Probed {
        const PROBES: &'static [ProbeSpec] =
            &[ProbeSpec { name: "p", unit: "1", doc: "A probability.", readings: Readings::Probability, part: None }];
        fn probe(&self, _: usize) -> f64 {
            self.0
        }
    }
    let queue = |value| move |link, rng| Queue::new(Fifo::new(Probed(value)), link, true, rng);
    let verdict = |value| check_aqm(queue(value), &Watch::declared(), &FIFO, 1);
    assert_eq!(verdict(1.0), Ok(()));
    assert!(verdict(f64::NAN).unwrap_err().contains("probe p is NaN"));
    assert!(verdict(1.5).unwrap_err().contains("no probability"));
}

#[test]
fn suite_finds_irreproducible_runs() {
    struct Fickle(bool);
    impl Aqm for Fickle {
        fn arrival(&mut self, _: &Packet, level: &Level, _: &mut Cx) -> Verdict {
            if self.0 && level.pkts() > 2 { Verdict::Drop } else { Verdict::Accept }
        }
    }
    let mut odd = false;
    let make = |link, rng| {
        odd = !odd;
        Queue::new(Fifo::new(Fickle(odd)), link, true, rng)
    };
    assert!(check_aqm(make, &Watch::nothing(), &FIFO, 1).unwrap_err().contains("differ"));
}
