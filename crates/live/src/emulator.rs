//! Moves frames between two interfaces through a network of links in real time.
//!
//! A command runs at the client end of the network. Single-threaded loop: offer received frames to the links, at the
//! kernel's receive timestamps; advance the links to the present; send what is due; sleep until the next event. The
//! lateness of each frame, the time from when it was due to when it was sent, is part of the result.

use std::io;
use std::os::fd::AsFd;

use forebay_aqm::base::time::Instant;
use forebay_sim::histogram::Histogram;

use crate::fabric::{FAR, Fabric, NEAR, Report, Way};
use crate::port::{Odd, Port};
use crate::sys::clock;
use crate::sys::process::{self, Child, Ended, Signal, Signals};
use crate::sys::ring::{BATCH, FRAMES};

/// Options of the emulator.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorOptions {
    /// Busy-wait for the last 80 us before an event? Needs a dedicated core.
    pub spins: bool,
    /// Largest accepted 99th percentile of the lateness of frames, ns.
    pub late_ns: u64,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self { spins: false, late_ns: 2_000_000 }
    }
}

/// With [`EmulatorOptions::spins`], the loop stops sleeping this long before an event, ns: shorter sleeps are too imprecise.
const SPIN: u64 = 80_000;

/// The result of a run.
pub struct Outcome {
    /// What was measured of the links and the frames.
    pub fabric: Report,
    /// Duration of the run, ns.
    pub took_ns: u64,
    /// CPU time of the emulator, ns.
    pub cpu_ns: u64,
    /// Time from the kernel's receive timestamp of a frame to its processing, ns.
    pub age: Histogram,
    /// Frames lost before reception, per receiving end.
    pub missed: [u64; 2],
    /// Frames that were not single complete packets, because of offloads or truncation, per receiving end.
    pub odd: [Odd; 2],
    /// Frames that an interface refused, per sending end.
    pub refused: [u64; 2],
    /// Exit status of the command at the client end; `None` if this process was asked to end first.
    pub ended: Option<Ended>,
    /// Why the emulation was not valid; empty if it was.
    pub faults: Vec<String>,
}

/// Chooses the [`Way`] (route) of a frame that arrived at an end (0 client, 1 server). `None`: the frame bypasses the
/// links.
pub type Router<'a> = dyn Fn(usize, &[u8]) -> Option<Way> + 'a;

struct Emulator<'a> {
    ports: [Port; 2],
    fabric: Fabric,
    router: &'a Router<'a>,
    options: EmulatorOptions,
    /// Time zero of the network on the monotonic clock, ns.
    start: u64,
    age: Histogram,
    refused: [u64; 2],
}

/// Start and end, ns on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time zero of the network.
    pub start: u64,
    /// End; `None`: when the command at the client end ends.
    pub end: Option<u64>,
}

/// How long the processes at both ends may take to exit after the end time, ns.
const EXIT_TIMEOUT: u64 = 3_000_000_000;

/// Runs until the end time, the end of the command at the client end, or a signal. `ports` lead to the client and
/// server ends.
pub fn run(
    ports: [Port; 2],
    (fabric, router): (Fabric, &Router<'_>),
    command: Child,
    signals: &Signals,
    options: EmulatorOptions,
    times: Times,
) -> io::Result<Outcome> {
    process::exact_timers();
    let cpu = clock::cpu();
    let (age, refused, start) = (Histogram::new(), [0; 2], times.start);
    let mut emulator = Emulator { ports, fabric, router, options, start, age, refused };
    let over = emulator.until_the_end(&command, signals, times.end)?;
    let took_ns = clock::monotonic().min(times.end.unwrap_or(u64::MAX)).saturating_sub(start);
    let in_time = match over {
        // The processes watch the clock themselves.
        Over::Time => process::wait(&[command.descriptor()], Some(EXIT_TIMEOUT))?[0].read,
        Over::Ended => true,
        Over::Asked | Over::Vanished(_) => false,
    };
    if !in_time {
        command.kill();
    }
    let ended = command.wait().ok().filter(|_| in_time);
    let mut outcome = emulator.report(took_ns, clock::cpu() - cpu, ended);
    if let Over::Vanished(end) = over {
        outcome.faults.insert(0, format!("the interface to the {} end has disappeared", ENDS[end]));
    }
    Ok(outcome)
}

/// Why the run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Over {
    /// The command at the client end ended.
    Ended,
    /// The end time was reached.
    Time,
    /// A signal asked this process to end.
    Asked,
    /// The interface at this end disappeared.
    Vanished(usize),
}

/// Retry interval for an interface without buffer space, ns.
const RETRY: u64 = 200_000;

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
            let next = next.map(|next| if self.options.spins { next.saturating_sub(SPIN) } else { next });
            let [client, server] = &self.ports;
            let left = end.map(|end| end.saturating_sub(clock::monotonic()));
            let next = next.into_iter().chain(left).chain(blocked.then_some(RETRY)).min();
            let descriptors = [client.as_fd(), server.as_fd(), command.descriptor(), signals.as_fd()];
            let ready = process::wait(&descriptors, next)?;
            if let Some(end) = ready[..2].iter().position(|port| port.failed) {
                return Ok(Over::Vanished(end));
            }
            if ready[2].read {
                return Ok(Over::Ended);
            }
            // Ctrl-C reaches the command directly.
            if ready[3].read && signals.take() == Some(Signal::End) {
                return Ok(Over::Asked);
            }
        }
    }

    /// Offers the received frames to the links.
    fn take(&mut self, now: Instant) {
        // Timestamps use CLOCK_REALTIME, which can be set, so the offset is measured each time.
        let offset = offset(self.start);
        // At most the capacity of the rings; later frames wait for the next turn.
        for _ in 0..2 * FRAMES {
            // In order of arrival over both ends.
            let heads = [0, 1].map(|end| self.ports[end].head());
            let end = match heads {
                [None, None] => break,
                [Some(client), Some(server)] => usize::from(server < client),
                [client, _] => usize::from(client.is_none()),
            };
            let at = Instant::from_nanos(heads[end].unwrap_or_default().saturating_sub(offset)).min(now);
            self.age.add(now.since(at));
            let (fabric, router) = (&mut self.fabric, self.router);
            self.ports[end].receive(|frame| fabric.arrive(frame, router(end, frame), 1 - end, at));
        }
    }

    /// Sends the frames that are due. Returns true if an interface has no space for all of them.
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
            let (percent, bound) = (late.quantile(0.99) / 1e6, self.options.late_ns as f64 / 1e6);
            if late.count() > 0 && percent > bound {
                faults.push(format!("p99 lateness of packets to the {name} end is {percent:.3} ms, above {bound} ms"));
            }
        }
        for (count, what) in [
            (missed, "lost before reception (buffer full)"),
            (self.refused, "refused by an interface (longer than its MTU?)"),
            (odd.map(|odd| odd.cut), "truncated: longer than a ring slot while the socket buffer was full"),
            (odd.map(|odd| odd.unknown), "left incomplete by an unknown offload at an end"),
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

/// CLOCK_REALTIME minus the time since `start` on the monotonic clock, ns. It is measured again, at most three times,
/// if this process was interrupted between the readings of the two clocks.
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

/// If reading the clocks takes this long or longer, ns, the process was interrupted.
const HELD_UP: u64 = 10_000;

/// Names of the ends in messages.
const ENDS: [&str; 2] = ["client", "server"];
