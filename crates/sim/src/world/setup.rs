//! Builds the running simulation ([`World`]) from the description of a network.

use super::World;
use super::ahead::Ahead;
use super::audit::PacketCounters;
use super::endpoints::Endpoints;
use super::forwarding::Fabric;
use super::record::Record;
use super::sampling::Sampling;
use super::tracking::Tracking;
use crate::engine::agenda::{Agenda, MAX_SOURCES, Sources};
use crate::link::Link;
use crate::measure::meter::Window;
use crate::measure::over_time::OverTime;
use crate::network::{BadNetwork, Network};
use forebay_aqm::base::time::Instant;

impl World {
    /// A simulation of `net` at time zero, before its first event.
    ///
    /// # Errors
    /// If the network fails [`Network::check`] or has too many event sources.
    pub fn new(net: &Network, seed: u64) -> Result<Self, BadNetwork> {
        net.check()?;
        let window = Window::new(net.warmup, net.duration);
        let bundles = net.bundles();
        let over_time = || {
            (!net.classes.is_empty()).then(|| OverTime::new(&net.classes, bundles.clone(), net.duration, net.sample))
        };
        let links: Vec<Link> =
            net.links.iter().map(|spec| Link::of(spec, seed, (window, net.sample, over_time()), &bundles)).collect();
        let managed = links.iter().filter(|link| link.is_managed()).count();
        let ahead = Ahead::new(net);
        let sources = Sources { managed, pipes: ahead.pipes };
        if sources.count() > MAX_SOURCES {
            return Err(BadNetwork(format!(
                "the network needs more than {MAX_SOURCES} event sources: 2 per link with a discipline, 1 per pipe"
            )));
        }
        let in_order = net.flows.iter().map(|flow| {
            let mut route = [flow.forward, flow.back].into_iter().flat_map(|route| &net.routes[route]);
            route.all(|&link| links[link].is_fifo())
        });
        let record = Record::new(PacketCounters::new(in_order));
        let (fabric, route_start) = Fabric::new(net, seed, links, ahead);
        let tracking = Tracking::new(net);
        let mut world = Self {
            now: Instant::ZERO,
            window,
            agenda: Agenda::new(sources.count()),
            sources,
            fabric,
            ends: Endpoints::new(net, seed, &route_start, &tracking),
            sampling: Sampling::new(net),
            tracking,
            record,
            capture: None,
        };
        world.schedule_first_events();
        Ok(world)
    }

    fn schedule_first_events(&mut self) {
        for flow in 0..self.ends.flows.len() {
            self.arm(flow, self.ends.flows[flow].start);
        }
        for managed in 0..self.fabric.managed().len() {
            self.schedule_tick(managed);
        }
        self.agenda.set(self.sources.window(), Some(self.window.from));
        self.agenda.set(self.sources.sampler(), Some(Instant::ZERO + self.sampling.every));
    }
}
