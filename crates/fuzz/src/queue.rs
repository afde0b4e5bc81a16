//! Fuzz target for queues: any discipline under any history of creation, parameter changes, arrivals, departures,
//! expiries of its timer (ticks) and restarts.

use forebay_aqm::base::dscp::MAX_DSCP;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ack, Colour, Ecn, Hosts, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, ENTRIES, Spec};

use crate::account::Account;
use crate::choices::Choices;
use crate::extremes;

/// Maximum number of operations of a history, however long the input is.
const MAX_OPERATIONS: usize = 4096;
/// Maximum number of ticks in one step of time. Further ticks that are due are late: they occur in the next step.
const MAX_TICKS: usize = 64;

/// Runs the history that these bytes describe.
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
    let Some(spec) = extremes::spec(entry, &mut choices).or_else(|| Spec::parse(entry.name).ok()) else { return };
    let mut history = History::new(&spec, link);
    for _ in 0..MAX_OPERATIONS {
        if choices.0.is_empty() {
            break;
        }
        match choices.below(8) {
            0..=2 => history.arrive(&mut choices),
            3 | 4 => history.depart(),
            5 => history.pass(Span::from_nanos(choices.word() >> choices.below(64))),
            6 => {
                if let Some(spec) = extremes::spec(entry, &mut choices) {
                    history.change(&spec);
                }
            }
            _ if choices.byte() == 0 => {
                history.drain();
                history = History::new(&spec, link);
            }
            _ => history.pass(Span::from_nanos(1_000_000)),
        }
        history.inspect();
    }
    history.drain();
}

/// A queue and the properties checked.
struct History {
    queue: Queue<AnyDiscipline>,
    spec: Spec,
    link: Link,
    now: Instant,
    account: Account,
}

impl History {
    fn new(spec: &Spec, link: Link) -> Self {
        Self {
            queue: spec.queue(link, Rng::stream(1, "queue")),
            spec: spec.clone(),
            link,
            now: Instant::from_nanos(1 << 40),
            account: Account::default(),
        }
    }

    fn must(&self, promise: Result<(), impl std::fmt::Display>) {
        if let Err(broken) = promise {
            panic!("{}: {broken}", self.spec.canonical());
        }
    }

    fn arrive(&mut self, choices: &mut Choices<'_>) {
        let shape = choices.byte();
        let (len, flow, class) = (choices.of(&[1, 40, 576, 1500, 9000, 65_535]), choices.byte(), choices.byte());
        let slot = self.account.slot();
        let packet = Packet {
            arrived: self.now,
            slot,
            len,
            flow: u32::from(flow),
            pair: u32::from(shape >> 6),
            hosts: Hosts { source: u16::from(flow % 7), destination: u16::from(flow % 3) },
            ack: if shape & 16 == 0 { Ack::pure(slot) } else { Ack::default() },
            class,
            dscp: class & MAX_DSCP,
            colour: if shape & 1 == 0 { Colour::In } else { Colour::Out },
            proto: if shape & 2 == 0 { Proto::Tcp } else { Proto::Udp },
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(shape >> 2 & 3)],
        };
        self.account.offered(packet);
        self.queue.arrive(packet, self.now);
        self.collect();
    }

    fn depart(&mut self) {
        let waited = self.queue.port.pkts() > 0;
        let packet = self.queue.depart(self.now);
        let told = packet.map_or(Ok(()), |packet| self.account.departed(&packet));
        self.must(told);
        self.collect();
        let idle = waited && packet.is_none() && self.queue.port.pkts() > 0;
        match self.queue.held_until() {
            Some(until) if idle => {
                let later = until > self.now;
                self.must(if later { Ok(()) } else { Err("holds packets back until a time that has passed") });
                self.pass(until.since(self.now));
                self.now = self.now.max(until);
                self.depart();
            }
            _ => self.must(if idle { Err("sent nothing although packets wait") } else { Ok(()) }),
        }
    }

    /// Accounts for drops; each must be a packet that was offered.
    fn collect(&mut self) {
        for (packet, _) in std::mem::take(self.queue.port.discarded()) {
            let told = self.account.dropped(&packet);
            self.must(told);
        }
    }

    fn pass(&mut self, gap: Span) {
        let until = Instant::from_nanos(self.now.nanos().saturating_add(gap.nanos()).min(1 << 62));
        for _ in 0..MAX_TICKS {
            let Some(due) = self.queue.next_tick().filter(|due| *due <= until) else { break };
            self.now = due.max(self.now);
            self.queue.tick(self.now);
            self.collect();
            let next = self.queue.next_tick().filter(|next| *next <= due);
            self.must(next.map_or(Ok(()), |next| Err(format!("after a tick due at {due:?} the next is {next:?}"))));
        }
        self.now = until;
    }

    fn change(&mut self, spec: &Spec) {
        if self.queue.discipline_mut().retune(spec, &self.link) {
            self.spec = spec.clone();
        }
    }

    fn inspect(&self) {
        self.must(self.queue.port.check());
        for (i, probe) in self.spec.entry().probes.iter().enumerate() {
            let (value, [least, most]) = (self.queue.discipline().probe(i), probe.readings.ends());
            let outside = || format!("probe {} is {value:e}, not from {least:e} to {most:e}", probe.name);
            self.must(if probe.readings.allow(value) { Ok(()) } else { Err(outside()) });
        }
    }

    /// Sends all waiting packets and checks the accounting.
    fn drain(&mut self) {
        while self.queue.port.pkts() > 0 {
            self.depart();
        }
        self.inspect();
        self.must(self.account.close(&self.queue.port.tally()));
    }
}

#[cfg(test)]
mod faults;
