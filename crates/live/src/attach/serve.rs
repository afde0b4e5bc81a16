//! The daemon: asks the law when its clocks are due, and tells the fast path.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_aqm::base::ladder::{BareLaw, MAX_CLOCKS, Sample};
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
use crate::sys::qdiscs::Qdisc;

/// How often the fast path hears something at least, and the device is looked after.
const BEAT: Span = Span::from_millis(100);

/// What [`Ticked`](forebay_aqm::base::adapters::Ticked) keeps of a clock.
#[derive(Clone, Copy, Default)]
struct Clock {
    last: Instant,
    due: Instant,
    tally: Tally,
}

/// A device under a law, and the daemon that asks it.
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
    /// How often the law was asked.
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

    /// What it is.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Where metrics are offered.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|metrics| metrics.address)
    }

    /// Serves the device until `stop`; how often the law was asked.
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

    /// The last look at it, and then everything as it was before.
    pub fn end(self) -> Result<Option<Live>, Fault> {
        // Where it cannot be read any more there is nothing to say.
        let live = self.read().ok().map(|(root, (counters, _))| self.live(&root, counters));
        self.undo().map(|()| live)
    }

    /// Leaves queue and fast path where they are: from a second later on without early drops.
    pub fn leave(self) -> Option<Live> {
        self.read().ok().map(|(root, (counters, _))| self.live(&root, counters))
    }

    /// Everything as it was before, after `fault`; what is to be said.
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
        // Nobody renews rules that are being removed, and nobody holds the maps.
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

    /// The queue, if it is still ours; and the counters with the queue as it was when they were read.
    fn read(&self) -> Result<(Qdisc, (Counters, Qdisc)), Fault> {
        let device = &self.state.device;
        let root = self.netlink.root(self.state.index);
        match root {
            Ok(root) if qdisc::is_ours(&root) => {
                let books = self.actuator.books(&root)?;
                Ok((root, books))
            }
            Ok(root) => Err(Fault::Failed(format!("{device}: somebody put {} in place of its queue", root.kind))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Fault::Failed(format!("{device}: somebody removed its queue")))
            }
            Err(error) => Err(qdisc::gone(device, "the queue", &error)),
        }
    }

    /// Runs the clocks that are due, in their order: what `Ticked` does in the simulator.
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
                // As the fast path measures: a packet of a large send may be many on the wire.
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
