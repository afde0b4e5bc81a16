//! Moves frames between two interfaces through the two lanes of a link, by the clock of this machine.
//!
//! One thread: what has come is offered to the lanes at the times that the kernel stamped it with, both are brought up to the
//! present, what is due is sent, and it sleeps until the next of these. How late it was each time is part of the result.

use std::io;
use std::os::fd::AsFd;

use forebay_sim::histogram::Histogram;

use crate::lane::{Lane, Report};
use crate::sys::clock;
use crate::sys::process::{self, Child, Ended, Signal, Signals};
use crate::sys::ring::{BATCH, RingSocket};

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
    /// From near to far, and back.
    pub lanes: [Report; 2],
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// CPU time of the emulator, in nanoseconds.
    pub cpu_ns: u64,
    /// How old frames were when they were looked at, in nanoseconds.
    pub age: Histogram,
    /// Frames for which a ring had no room, by lane.
    pub missed: [u64; 2],
    /// Frames that an interface did not take, by lane.
    pub refused: [u64; 2],
    /// How the command ended; none if this process was asked to end before.
    pub ended: Option<Ended>,
    /// Why the timing was not that of the link; empty if it was.
    pub faults: Vec<String>,
}

/// Words for the lanes.
pub const LANES: [&str; 2] = ["up", "down"];

struct Emulator {
    ports: [RingSocket; 2],
    lanes: [Lane; 2],
    manner: Manner,
    /// On the monotonic clock.
    start: u64,
    age: Histogram,
    refused: [u64; 2],
}

/// Runs until the command has ended, or this process is asked to. `ports` lead near and far, `lanes` go there and back.
pub fn run(
    ports: [RingSocket; 2],
    lanes: [Lane; 2],
    command: Child,
    signals: &Signals,
    manner: Manner,
) -> io::Result<Outcome> {
    process::exact_timers();
    let cpu = clock::cpu();
    let (age, refused, start) = (Histogram::new(), [0; 2], clock::monotonic());
    let mut emulator = Emulator { ports, lanes, manner, start, age, refused };
    let asked = emulator.until_the_end(&command, signals)?;
    let took_ns = clock::monotonic() - start;
    if asked {
        command.kill();
    }
    let ended = command.wait().ok().filter(|_| !asked);
    Ok(emulator.report(took_ns, clock::cpu() - cpu, ended))
}

impl Emulator {
    fn now(&self) -> u64 {
        clock::monotonic() - self.start
    }

    /// True if this process was asked to end.
    fn until_the_end(&mut self, command: &Child, signals: &Signals) -> io::Result<bool> {
        loop {
            let now = self.now();
            self.take(now);
            self.lanes.iter_mut().for_each(|lane| lane.advance(now));
            self.deliver(now);
            let now = self.now();
            let next = self.lanes.iter().filter_map(Lane::next).min().map(|next| next.saturating_sub(now));
            let next = next.map(|next| if self.manner.spins { next.saturating_sub(SPIN) } else { next });
            let [near, far] = &self.ports;
            let descriptors = [near.as_fd(), far.as_fd(), command.descriptor(), signals.as_fd()];
            let [_, _, is_over, signalled, ..] = process::wait(&descriptors, next)?;
            if is_over {
                return Ok(false);
            }
            // The keyboard's are for the command, which gets them too.
            if signalled && signals.take() == Some(Signal::End) {
                return Ok(true);
            }
        }
    }

    /// Offers what has come.
    fn take(&mut self, now: u64) {
        // Stamps are of the other clock, which may be set: the difference is of this moment.
        let offset = clock::realtime().saturating_sub(now);
        for (port, lane) in self.ports.iter_mut().zip(&mut self.lanes) {
            let age = &mut self.age;
            port.receive(|frame, stamp| {
                let at = stamp.saturating_sub(offset).min(now);
                age.add(now - at);
                lane.arrive(frame, at);
            });
        }
    }

    /// Sends what is due.
    fn deliver(&mut self, now: u64) {
        for (side, lane) in self.lanes.iter_mut().enumerate() {
            while lane.due(now, 1).next().is_some() {
                let sent = self.ports[1 - side].send(lane.due(now, BATCH)).unwrap_or(0);
                if sent == 0 {
                    self.refused[side] += 1;
                }
                // The one that is refused is lost: an interface whose other end is gone takes nothing.
                lane.sent(sent.max(1), clock::monotonic() - self.start);
            }
        }
    }

    fn report(mut self, took_ns: u64, cpu_ns: u64, ended: Option<Ended>) -> Outcome {
        let missed = [self.ports[0].dropped(), self.ports[1].dropped()];
        let lanes = self.lanes.map(|lane| lane.finish(took_ns));
        let mut faults = Vec::new();
        for (at, lane) in lanes.iter().enumerate() {
            let late = lane.lateness.quantile(0.99);
            if lane.lateness.count() > 0 && late > self.manner.late_ns as f64 {
                let bound = self.manner.late_ns as f64 / 1e6;
                faults.push(format!(
                    "one packet in a hundred went {} {:.3} ms late or more, {bound} ms are allowed",
                    LANES[at],
                    late / 1e6
                ));
            }
            if missed[at] > 0 {
                faults.push(format!("{} packets {} were not seen for want of room", missed[at], LANES[at]));
            }
        }
        let Self { age, refused, .. } = self;
        Outcome { lanes, took_ns, cpu_ns, age, missed, refused, ended, faults }
    }
}
