//! Moves frames between two interfaces through a network of links, by the clock of this machine.
//!
//! One thread: what has come is offered to the links at the times that the kernel stamped it with, they are brought up to the
//! present, what is due is sent, and it sleeps until the next of these. How late it was each time is part of the result.

use std::io;
use std::os::fd::AsFd;

use forebay_aqm::base::time::Instant;
use forebay_sim::histogram::Histogram;

use crate::fabric::{FAR, Fabric, NEAR, Report, Way};
use crate::port::{Odd, Port};
use crate::sys::clock;
use crate::sys::process::{self, Child, Ended, Signal, Signals};
use crate::sys::ring::{BATCH, FRAMES};

/// How it waits, and when its timing is no longer that of the link that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Does it stay awake for the last moments before something is due? It needs a core of its own.
    pub spins: bool,
    /// Frames may be sent so late, in nanoseconds, but for one in a hundred.
    pub late_ns: u64,
}

impl Default for Manner {
    fn default() -> Self {
        Self { spins: false, late_ns: 2_000_000 }
    }
}

/// Sleeping is not exact enough for less than this, in nanoseconds.
const SPIN: u64 = 80_000;

/// What a run leaves behind.
pub struct Outcome {
    /// What was seen of links and frames.
    pub fabric: Report,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// CPU time of the emulator, in nanoseconds.
    pub cpu_ns: u64,
    /// How old frames were when they were looked at, in nanoseconds.
    pub age: Histogram,
    /// Frames lost before reception, per receiving end.
    pub missed: [u64; 2],
    /// Frames that were not single wire packets (offloads), per receiving end.
    pub odd: [Odd; 2],
    /// Frames that an interface refused, per sending end.
    pub refused: [u64; 2],
    /// How the command ended; none if this process was asked to end before.
    pub ended: Option<Ended>,
    /// Why it was not the link that was asked for; empty if it was.
    pub faults: Vec<String>,
}

/// Which way a frame goes that came at an end; none goes past the network.
pub type Router<'a> = dyn Fn(usize, &[u8]) -> Option<Way> + 'a;

struct Emulator<'a> {
    ports: [Port; 2],
    fabric: Fabric,
    router: &'a Router<'a>,
    manner: Manner,
    /// On the monotonic clock.
    start: u64,
    age: Histogram,
    refused: [u64; 2],
}

/// From when to when, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When time zero of the network is.
    pub start: u64,
    /// When it ends; none is when the command has ended.
    pub end: Option<u64>,
}

/// How long processes may take to end after the network has, in nanoseconds.
const PATIENCE: u64 = 3_000_000_000;

/// Runs until its time is over, the command has ended, or this process is asked to. `ports` lead near and far.
pub fn run(
    ports: [Port; 2],
    (fabric, router): (Fabric, &Router<'_>),
    command: Child,
    signals: &Signals,
    manner: Manner,
    times: Times,
) -> io::Result<Outcome> {
    process::exact_timers();
    let cpu = clock::cpu();
    let (age, refused, start) = (Histogram::new(), [0; 2], times.start);
    let mut emulator = Emulator { ports, fabric, router, manner, start, age, refused };
    let over = emulator.until_the_end(&command, signals, times.end)?;
    let took_ns = clock::monotonic().min(times.end.unwrap_or(u64::MAX)).saturating_sub(start);
    let in_time = match over {
        // They look at the clock themselves.
        Over::Time => process::wait(&[command.descriptor()], Some(PATIENCE))?[0].read,
        Over::Ended => true,
        Over::Asked | Over::Vanished(_) => false,
    };
    if !in_time {
        command.kill();
    }
    let ended = command.wait().ok().filter(|_| in_time);
    let mut outcome = emulator.report(took_ns, clock::cpu() - cpu, ended);
    if let Over::Vanished(end) = over {
        outcome.faults.insert(0, format!("the interface to the {} end has gone", ENDS[end]));
    }
    Ok(outcome)
}

/// Why it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Over {
    /// The command has ended.
    Ended,
    /// The time is over.
    Time,
    /// This process was asked to end.
    Asked,
    /// An interface has gone.
    Vanished(usize),
}

/// How soon an interface that has no room is tried again, in nanoseconds.
const AGAIN: u64 = 200_000;

impl Emulator<'_> {
    fn now(&self) -> Instant {
        Instant::from_nanos(clock::monotonic().saturating_sub(self.start))
    }

    fn until_the_end(&mut self, command: &Child, signals: &Signals, end: Option<u64>) -> io::Result<Over> {
        loop {
            let now = self.now();
            self.take(now);
            self.fabric.advance(now);
            let blocked = self.deliver();
            let now = self.now();
            if end.is_some_and(|end| clock::monotonic() >= end) {
                return Ok(Over::Time);
            }
            let next = self.fabric.next().map(|next| next.since(now).nanos());
            let next = next.map(|next| if self.manner.spins { next.saturating_sub(SPIN) } else { next });
            let [near, far] = &self.ports;
            let left = end.map(|end| end.saturating_sub(clock::monotonic()));
            let next = next.into_iter().chain(left).chain(blocked.then_some(AGAIN)).min();
            let descriptors = [near.as_fd(), far.as_fd(), command.descriptor(), signals.as_fd()];
            let ready = process::wait(&descriptors, next)?;
            if let Some(end) = ready[..2].iter().position(|port| port.failed) {
                return Ok(Over::Vanished(end));
            }
            if ready[2].read {
                return Ok(Over::Ended);
            }
            // The keyboard's are for the command, which gets them too.
            if ready[3].read && signals.take() == Some(Signal::End) {
                return Ok(Over::Asked);
            }
        }
    }

    /// Offers what has come.
    fn take(&mut self, now: Instant) {
        // Stamps are of the other clock, which may be set: the difference is of this moment.
        let offset = offset(self.start);
        // No more than the rings hold: what comes meanwhile is for the next time.
        for _ in 0..2 * FRAMES {
            // In the order in which they came, whichever the end.
            let heads = [0, 1].map(|end| self.ports[end].head());
            let end = match heads {
                [None, None] => break,
                [Some(near), Some(far)] => usize::from(far < near),
                [near, _] => usize::from(near.is_none()),
            };
            let at = Instant::from_nanos(heads[end].unwrap_or_default().saturating_sub(offset)).min(now);
            self.age.add(now.since(at));
            let (fabric, router) = (&mut self.fabric, self.router);
            self.ports[end].receive(|frame| fabric.arrive(frame, router(end, frame), 1 - end, at));
        }
    }

    /// Sends what is due; true if an interface has no room for all of it now.
    fn deliver(&mut self) -> bool {
        let mut blocked = false;
        for end in [NEAR, FAR] {
            while self.fabric.ready(end, 1).next().is_some() {
                match self.ports[end].send(self.fabric.ready(end, BATCH)) {
                    Ok(0) => break,
                    Ok(sent) => self.fabric.sent(end, sent, self.now()),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        blocked = true;
                        break;
                    }
                    Err(_) => {
                        self.refused[end] += 1;
                        self.fabric.refused(end);
                    }
                }
            }
        }
        blocked
    }

    fn report(mut self, took_ns: u64, cpu_ns: u64, ended: Option<Ended>) -> Outcome {
        let (missed, odd) = ([0, 1].map(|end| self.ports[end].missed()), [0, 1].map(|end| self.ports[end].odd()));
        let fabric = self.fabric.finish(Instant::from_nanos(took_ns));
        let mut faults = Vec::new();
        for (late, name) in fabric.lateness.iter().zip(ENDS) {
            let (percent, bound) = (late.quantile(0.99) / 1e6, self.manner.late_ns as f64 / 1e6);
            if late.count() > 0 && percent > bound {
                faults.push(format!(
                    "of 100 packets to the {name} end one was {percent:.3} ms late or more, {bound} ms are allowed"
                ));
            }
        }
        for (count, what) in [
            (missed, "lost on their way here for want of room"),
            (self.refused, "refused by an interface, as those that are longer than its MTU are"),
            (odd.map(|odd| odd.cut), "longer than a place in the ring while the queue of the socket was full"),
            (
                odd.map(|odd| odd.unknown),
                "left unfinished by an offload that is on at an end, in a way that is not known here",
            ),
        ] {
            let all: u64 = count.iter().sum();
            if all > 0 {
                faults.push(format!("{all} packets were {what}"));
            }
        }
        let Self { age, refused, .. } = self;
        Outcome { fabric, took_ns, cpu_ns, age, missed, odd, refused, ended, faults }
    }
}

/// What the clock of stamps is ahead of time that counts from `start` on the other one. It may be set: the difference is of
/// this moment, and read again if this process was held up in between.
fn offset(start: u64) -> u64 {
    let read = || {
        let before = clock::monotonic();
        let stamps = clock::realtime();
        (clock::monotonic() - before, stamps.saturating_sub(before.saturating_sub(start)))
    };
    let mut found = read();
    for _ in 0..3 {
        if found.0 < HELD_UP {
            break;
        }
        found = read();
    }
    found.1
}

/// Reading a clock takes no longer than this, in nanoseconds, unless something else was done meanwhile.
const HELD_UP: u64 = 10_000;

/// Words for the ends.
const ENDS: [&str; 2] = ["near", "far"];
