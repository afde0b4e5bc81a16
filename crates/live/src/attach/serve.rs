//! The daemon of `forebay attach`: calls the control law at its update times and writes the result to the fast path,
//! which marks and drops packets in the kernel.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_aqm::base::discipline::{BareLaw, MAX_CLOCKS, Sample};
use forebay_aqm::base::port::Tally;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Link;

use super::kernel::actuator::Actuator;
use super::kernel::fault::Fault;
use super::kernel::qdisc;
use super::kernel::state::State;
use super::kernel::words::{Counters, Settings};
use super::look::Live;
use super::meter::Meter;
use super::metrics::Metrics;
use super::undo;
use crate::sys::attach_process::{monotonic, wake_exactly};
use crate::sys::netlink::Netlink;
use crate::sys::qdisc_list::Qdisc;

/// Maximum interval between updates of the fast path, and interval of the checks of the device.
const BEAT: Span = Span::from_millis(100);

/// State of one of the law's periodic timers (clocks), as in [`Ticked`](forebay_aqm::base::adapters::Ticked).
#[derive(Clone, Copy, Default)]
struct Clock {
    last: Instant,
    due: Instant,
    tally: Tally,
}

/// An attached device and its daemon.
pub struct Attachment {
    state: State,
    link: Link,
    netlink: Netlink,
    actuator: Actuator,
    law: Option<Box<dyn BareLaw>>,
    metrics: Option<Metrics>,
    settings: Settings,
    clocks: [Clock; MAX_CLOCKS],
    meter: Meter,
    begun: u64,
    /// Number of law updates.
    updates: u64,
}

impl Attachment {
    pub(super) fn new(
        state: State,
        link: Link,
        netlink: Netlink,
        actuator: Actuator,
        law: Option<Box<dyn BareLaw>>,
        metrics: Option<Metrics>,
    ) -> Self {
        let packet = link.mean_packet.0 as f64;
        let settings =
            law.as_ref().map_or(Settings::none(state.ecn), |law| Settings::of(&law.initial(), state.ecn, packet));
        let meter = Meter::new(netlink.root(state.index).unwrap_or_default());
        let begun = monotonic();
        let mut attachment = Self {
            state,
            link,
            netlink,
            actuator,
            law,
            metrics,
            settings,
            clocks: [Clock::default(); MAX_CLOCKS],
            meter,
            begun,
            updates: 0,
        };
        attachment.set_dues();
        attachment
    }

    /// What was attached, and what this changed on the machine.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Address of the metrics server.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|metrics| metrics.address)
    }

    /// Serves the device until `stop`. Returns the number of law updates.
    pub fn serve(&mut self, stop: &AtomicBool) -> Result<u64, Fault> {
        wake_exactly();
        let mut beat = Instant::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let now = self.now();
            let due = (0..self.clock_count()).any(|i| now >= self.clocks[i].due);
            if due || now >= beat {
                let (root, (counters, then)) = self.read()?;
                if due {
                    self.ask(&root, &counters, &then);
                }
                self.actuator.set(&self.settings, root.backlog, self.state.packet)?;
                if now >= beat {
                    beat = now + BEAT;
                    self.show(&root, counters);
                }
            }
            let next = (0..self.clock_count()).map(|i| self.clocks[i].due).fold(beat, Ord::min);
            std::thread::sleep(Duration::from_nanos(next.since(self.now()).nanos()));
        }
        Ok(self.updates)
    }

    /// Takes a last snapshot of backlog and counters, then restores the device.
    pub fn end(self) -> Result<Option<Live>, Fault> {
        // If the counters cannot be read any more, there is no snapshot.
        let live = self.read().ok().map(|(root, (counters, _))| self.live(&root, counters));
        self.undo().map(|()| live)
    }

    /// Takes a last snapshot of backlog and counters, and leaves qdisc and fast path installed. Early drops stop after
    /// one second.
    pub fn leave(self) -> Option<Live> {
        self.read().ok().map(|(root, (counters, _))| self.live(&root, counters))
    }

    /// Restores the device after `fault`. Returns the fault to report.
    pub fn give_up(self, fault: Fault) -> Fault {
        let gone = self.state.name().is_none();
        let device = self.state.device.clone();
        match self.undo() {
            Ok(()) if gone => undo::gone(&device),
            Ok(()) => fault,
            Err(also) => Fault::Failed(format!("{fault}; {also}")),
        }
    }

    fn undo(self) -> Result<(), Fault> {
        let Self { state, actuator, .. } = self;
        // Stops the renewal thread and closes the maps before they are removed.
        drop(actuator);
        undo::undo_own(&state)
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(monotonic() - self.begun)
    }

    fn clock_count(&self) -> usize {
        self.law.as_ref().map_or(0, |law| law.clocks())
    }

    fn set_dues(&mut self) {
        if let Some(law) = &self.law {
            for (i, clock) in self.clocks.iter_mut().enumerate().take(law.clocks()) {
                clock.due = clock.last + law.period(i);
            }
        }
    }

    /// Reads the root qdisc, and the counters of the fast path with the qdisc as it was when they were read. Fails if
    /// the root qdisc is not the one that we installed.
    fn read(&self) -> Result<(Qdisc, (Counters, Qdisc)), Fault> {
        let device = &self.state.device;
        let root = self.netlink.root(self.state.index);
        match root {
            Ok(root) if qdisc::is_ours(&root) => {
                let counters = self.actuator.counters(&root)?;
                Ok((root, counters))
            }
            Ok(root) => Err(Fault::Failed(format!("{device}: the qdisc was replaced by {}", root.kind))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Fault::Failed(format!("{device}: the qdisc was removed")))
            }
            Err(error) => Err(qdisc::gone(device, "the qdisc", &error)),
        }
    }

    /// Calls the law for each of its clocks (periodic updates) that is due, in the order of their numbers, as `Ticked`
    /// does in the simulator.
    fn ask(&mut self, root: &Qdisc, counters: &Counters, then: &Qdisc) {
        let now = self.now();
        let tally = self.meter.tally(counters, then);
        let packet = self.link.mean_packet.0 as f64;
        let Some(law) = &mut self.law else { return };
        for i in 0..law.clocks() {
            let clock = &mut self.clocks[i];
            if now < clock.due {
                continue;
            }
            let sample = Sample {
                now,
                dt: now.since(clock.last),
                link: self.link,
                // In units of the mean packet, like the fast path: one GSO packet is many on the wire.
                backlog_pkts: root.backlog as f64 / packet,
                backlog_bytes: root.backlog as f64,
                period: tally.since(&clock.tally),
            };
            let actuation = law.update(i, &sample);
            self.settings = Settings::of(&actuation, self.state.ecn, packet);
            (clock.last, clock.tally) = (now, tally);
            self.updates += 1;
        }
        self.set_dues();
    }

    fn live(&self, root: &Qdisc, counters: Counters) -> Live {
        let p = self.settings.probability(root.backlog, self.state.packet);
        Live::new(&self.state, root, counters, p, true)
    }

    fn show(&self, root: &Qdisc, counters: Counters) {
        if let Some(metrics) = &self.metrics {
            metrics.show(self.live(root, counters));
        }
    }
}
