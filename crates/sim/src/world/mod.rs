//! The running simulation: its state, its main loop, and the dispatch of events.

mod ahead;
mod applications;
mod audit;
mod capture;
mod endpoints;
mod flow;
mod forwarding;
mod record;
mod sampling;
mod setup;
mod tracking;

use forebay_aqm::AnyDiscipline;
use forebay_aqm::Spec;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::port::MAIN;
use forebay_aqm::base::time::Instant;

use crate::engine::agenda::{Agenda, Event, Sources};
use crate::link::Link;
use crate::measure::meter::Window;
use crate::measure::outcome::Outcome;
use crate::network::LinkId;
pub use capture::{Captured, IpPacket, SNAP, Seen};

use capture::Capture;
use endpoints::Endpoints;
use forwarding::Fabric;
use record::Record;
use sampling::Sampling;
use tracking::Tracking;

/// A callback of the caller, once per sampling interval.
pub trait Observer {
    /// The run has reached `now`. Return false to stop it.
    fn reached(&mut self, now: Instant) -> bool;
}

/// Observes nothing.
impl Observer for () {
    fn reached(&mut self, _: Instant) -> bool {
        true
    }
}

/// A network at run time.
pub struct World {
    now: Instant,
    /// From the end of the warm-up to the end of the run.
    window: Window,
    agenda: Agenda,
    sources: Sources,
    fabric: Fabric,
    ends: Endpoints,
    sampling: Sampling,
    tracking: Tracking,
    record: Record,
    capture: Option<Box<Capture>>,
}

impl World {
    /// Runs to the end. Returns `None` if the observer stops it.
    pub fn run(mut self, observer: &mut dyn Observer) -> Option<Outcome> {
        self.advance(self.window.to, observer).then(|| self.finish())
    }

    /// Runs to `until` or to the end of the run, for a caller that inspects or changes the world in between. Returns
    /// false if the observer stops it first; another call resumes.
    pub fn run_until(&mut self, until: Instant, observer: &mut dyn Observer) -> bool {
        let until = until.min(self.window.to);
        let reached = self.advance(until, observer);
        if reached {
            self.now = until;
        }
        reached
    }

    /// The hash of every packet event so far.
    pub const fn fingerprint(&self) -> u64 {
        self.record.fingerprint
    }

    /// Processes the events up to and including `until`. Returns false if the observer stops it.
    fn advance(&mut self, until: Instant, observer: &mut dyn Observer) -> bool {
        while let Some((at, source)) = self.agenda.first() {
            if at > until {
                break;
            }
            debug_assert!(at >= self.now, "time runs forward");
            self.now = at;
            self.record.events += 1;
            match self.sources.event(source) {
                Event::Pipe(pipe) => self.pipe_event(pipe),
                Event::Departure(managed) => self.serve(managed, at),
                Event::Tick(managed) => self.tick_event(managed),
                Event::Timers => self.timer_event(),
                Event::Window => self.window_event(),
                Event::Sampler => {
                    self.sample_event();
                    if !observer.reached(at) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The queue of a link with a discipline; `None` for other links.
    pub fn queue(&self, link: LinkId) -> Option<&Queue<AnyDiscipline>> {
        self.fabric.links.get(link)?.managed_queue()
    }

    /// Changes the parameters of the discipline at `link` to those of `spec`, keeping its state. Returns false if the
    /// discipline does not support this.
    pub fn retune(&mut self, link: LinkId, spec: &Spec) -> bool {
        let Some(queue) = self.fabric.links.get_mut(link).and_then(Link::managed_queue_mut) else { return false };
        let served = *queue.port.level(MAIN).link();
        let tuned = queue.discipline_mut().retune(spec, &served);
        if let Some(managed) = self.fabric.managed_at(link) {
            self.schedule_tick(managed);
        }
        tuned
    }
}
