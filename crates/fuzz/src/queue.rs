//! Any discipline under any history: made, changed, offered packets, asked for some, ticked and made anew.

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Colour, Ecn, Packet, Proto};
use forebay_aqm::base::params::ParamSpec;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, ENTRIES, Spec};

/// After so many operations the history ends, however many bytes there are.
const MOST_OPERATIONS: usize = 4096;
/// A tick that is due is given so often on time before time goes on without it.
const MOST_TICKS: usize = 64;

/// Bytes as choices; zeros when they are used up.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// What happens to a queue whose bytes these are.
pub(crate) fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let entry = &ENTRIES[choices.below(ENTRIES.len())];
    let link = Link {
        rate: Rate(choices.of(&[1, 8_000, 1_000_000, 100_000_000, 400_000_000_000])),
        limit: match choices.below(2) {
            0 => Limit::Packets(choices.of(&[1, 2, 10, 1000])),
            _ => Limit::Bytes(choices.of(&[1, 1500, 64_000, 1 << 40])),
        },
        mean_packet: Bytes(choices.of(&[1, 500, 1500, 65_535])),
    };
    let Some(spec) = spec(entry.name, &mut choices) else { return };
    let mut history = History::new(&spec, link);
    for _ in 0..MOST_OPERATIONS {
        if choices.0.is_empty() {
            break;
        }
        match choices.below(8) {
            0..=2 => history.arrive(&mut choices),
            3 | 4 => history.depart(),
            5 => history.pass(Span::from_nanos(choices.word() >> choices.below(64))),
            6 => {
                if let Some(spec) = self::spec(entry.name, &mut choices) {
                    history.change(&spec);
                }
            }
            _ if choices.byte() == 0 => history = History::new(&spec, link),
            _ => history.pass(Span::from_nanos(1_000_000)),
        }
        history.inspect();
    }
    history.drain();
}

/// The discipline with some of its parameters at an end of their range or a little beside.
fn spec(name: &str, choices: &mut Choices<'_>) -> Option<Spec> {
    let entry = ENTRIES.iter().find(|entry| entry.name == name)?;
    let mut text = name.to_string();
    for spec in entry.params {
        if choices.below(4) == 0 {
            text.push_str(&format!(" {}={}", spec.name, value(spec, choices)));
        }
    }
    text.push_str(choices.of(&["", " ecn=off", " th=0", " th=1", " hard_limit=1p", " hard_limit=1b"]));
    // Rules between parameters are the parser's to know.
    Spec::parse(&text).ok()
}

fn value(spec: &ParamSpec, choices: &mut Choices<'_>) -> String {
    let (least, most) = spec.range;
    let number = match choices.below(5) {
        0 => least,
        1 => most,
        2 => least + (most - least) * 1e-9,
        3 => least + (most - least) * f64::from(choices.byte()) / 255.0,
        _ => return (spec.default)(),
    };
    match spec.unit {
        "packets|bytes" => format!("{number}{}", choices.of(&["p", "b"])),
        words if words.contains('|') => {
            let words: Vec<&str> = words.split('|').collect();
            choices.of(&words).to_string()
        }
        "s" => format!("{number}s"),
        "bytes" => format!("{}b", number.round()),
        "bit/s" => format!("{}bit", number.round()),
        _ if spec.accepts.contains("whole") => number.round().to_string(),
        _ => number.to_string(),
    }
}

/// A queue, and what must be true of it.
struct History {
    queue: Queue<AnyDiscipline>,
    spec: Spec,
    link: Link,
    now: Instant,
    offered: u32,
    fates: u64,
}

impl History {
    fn new(spec: &Spec, link: Link) -> Self {
        let queue = spec.queue(link, Rng::stream(1, "queue"));
        Self { queue, spec: spec.clone(), link, now: Instant::from_nanos(1 << 40), offered: 0, fates: 0 }
    }

    fn arrive(&mut self, choices: &mut Choices<'_>) {
        let shape = choices.byte();
        let packet = Packet {
            arrived: self.now,
            slot: self.offered,
            len: choices.of(&[1, 40, 576, 1500, 9000, 65_535]),
            flow: u32::from(choices.byte()),
            pair: u32::from(shape >> 6),
            class: choices.byte(),
            colour: if shape & 1 == 0 { Colour::In } else { Colour::Out },
            proto: if shape & 2 == 0 { Proto::Tcp } else { Proto::Udp },
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(shape >> 2 & 3)],
        };
        self.offered += 1;
        self.queue.arrive(packet, self.now);
        self.collect();
    }

    fn depart(&mut self) {
        let waited = self.queue.port.pkts() > 0;
        let packet = self.queue.depart(self.now);
        self.fates += u64::from(packet.is_some());
        self.collect();
        assert!(packet.is_some() || !waited || self.queue.port.pkts() == 0, "sent nothing although packets wait");
    }

    /// Drops, each of a packet that was offered.
    fn collect(&mut self) {
        for (packet, _) in std::mem::take(self.queue.port.discarded()) {
            assert!(packet.slot < self.offered, "packet {} was never offered", packet.slot);
            self.fates += 1;
        }
    }

    fn pass(&mut self, gap: Span) {
        let until = Instant::from_nanos(self.now.nanos().saturating_add(gap.nanos()).min(1 << 62));
        for _ in 0..MOST_TICKS {
            let Some(due) = self.queue.next_tick().filter(|due| *due <= until) else { break };
            self.now = due.max(self.now);
            self.queue.tick(self.now);
            self.collect();
            let next = self.queue.next_tick();
            assert!(next.is_none_or(|next| next > due), "after a tick due at {due:?} the next is {next:?}");
        }
        self.now = until;
    }

    fn change(&mut self, spec: &Spec) {
        if self.queue.discipline_mut().retune(spec, &self.link) {
            self.spec = spec.clone();
        }
    }

    fn inspect(&self) {
        if let Err(broken) = self.queue.port.check() {
            panic!("{}: {broken}", self.spec.canonical());
        }
        for (i, probe) in self.spec.entry().probes.iter().enumerate() {
            let value = self.queue.discipline().probe(i);
            assert!(value.is_finite(), "{}: probe {} is {value}", self.spec.canonical(), probe.name);
            assert!(probe.name != "p" || (0.0..=1.0).contains(&value), "{}: p is {value}", self.spec.canonical());
        }
    }

    fn drain(mut self) {
        while self.queue.port.pkts() > 0 {
            self.depart();
        }
        self.inspect();
        assert_eq!(self.fates, u64::from(self.offered), "{}: packets with no fate or two", self.spec.canonical());
    }
}
