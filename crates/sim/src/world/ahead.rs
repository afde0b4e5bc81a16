//! Selects the links and hosts of a network that the simulator computes ahead of the simulated time, without an event.

use crate::engine::agenda::Sources;
use crate::engine::index::Index;
use crate::network::{LinkId, Network};

/// The links and hosts that need no event, and the pipes of the others. A pipe is a queue of packets in order of time,
/// of which only the first has an event.
pub(crate) struct Ahead {
    /// For each link: may packets pass it without an event? True if a single host or link feeds it, it runs no
    /// discipline, and no meter observes it. (A meter must not run ahead of the simulated time.)
    pub(crate) eager: Vec<bool>,
    /// For each host: may it acknowledge without an event? True if all its packets arrive over a single link, and only
    /// these arrivals make it send.
    pub(crate) reflex: Vec<bool>,
    /// For each link, then for each host: the pipe that its packets enter next. `None`: all of them go on without an
    /// event.
    pub(crate) pipe_of: Vec<Option<Index>>,
    /// Number of pipes.
    pub(crate) pipes: usize,
}

impl Ahead {
    pub(crate) fn new(net: &Network) -> Self {
        let eager = eager_links(net);
        let reflex = reflex_hosts(net);
        let (pipe_of, pipes) = lay_pipes(net, &eager, &reflex);
        Self { eager, reflex, pipe_of, pipes }
    }
}

impl Network {
    /// Number of event sources; an agenda holds at most [`MAX_SOURCES`](crate::engine::agenda::MAX_SOURCES).
    pub fn sources(&self) -> usize {
        let managed = self.links.iter().filter(|link| !link.is_fast()).count();
        Sources { managed, pipes: Ahead::new(self).pipes }.count()
    }
}

/// The links and hosts that feed a link or a host.
#[derive(Clone, Copy, PartialEq)]
enum Feeder {
    Nobody,
    One(usize),
    Many,
}

impl Feeder {
    fn and(&mut self, another: usize) {
        *self = match *self {
            Self::Nobody => Self::One(another),
            Self::One(same) if same == another => Self::One(same),
            _ => Self::Many,
        }
    }
}

fn eager_links(net: &Network) -> Vec<bool> {
    let mut feeders = vec![Feeder::Nobody; net.links.len()];
    for flow in &net.flows {
        for (route, host) in [(flow.forward, flow.from), (flow.back, flow.to)] {
            let links = &net.routes[route];
            feeders[links[0]].and(net.links.len() + host);
            links.windows(2).for_each(|pair| feeders[pair[1]].and(pair[0]));
        }
    }
    let plain = net.links.iter().map(|l| l.is_fast() && !l.lane.study);
    plain.zip(feeders).map(|(plain, feeder)| plain && matches!(feeder, Feeder::One(_))).collect()
}

fn reflex_hosts(net: &Network) -> Vec<bool> {
    // Where each route ends. If hosts shared the hops of a route, some packets of a host would be sent by event and
    // others ahead of time.
    let mut ends = vec![Feeder::Nobody; net.routes.len()];
    for flow in &net.flows {
        ends[flow.forward].and(flow.to);
        ends[flow.back].and(flow.from);
    }
    let mut feeders = vec![Feeder::Nobody; net.hosts.len()];
    let mut passive = vec![true; net.hosts.len()];
    for flow in &net.flows {
        passive[flow.from] = false;
        // A delayed acknowledgement needs a timer.
        passive[flow.to] &= flow.traffic.tcp().is_none_or(|options| !options.delayed_ack) && !flow.traffic.asks();
        passive[flow.to] &= ends[flow.forward] == Feeder::One(flow.to);
        net.routes[flow.forward].last().into_iter().for_each(|&link| feeders[flow.to].and(link));
    }
    passive.into_iter().zip(feeders).map(|(passive, feeder)| passive && matches!(feeder, Feeder::One(_))).collect()
}

/// Numbers the pipes. A link or host needs one unless all its packets go to links and hosts that need no event (eager
/// links, reflex hosts). Returns the pipe of each link, then of each host, and the number of pipes.
fn lay_pipes(net: &Network, eager: &[bool], reflex: &[bool]) -> (Vec<Option<Index>>, usize) {
    let mut needed = vec![false; net.links.len() + net.hosts.len()];
    for flow in &net.flows {
        for (route, from, to) in [(flow.forward, flow.from, flow.to), (flow.back, flow.to, flow.from)] {
            let links: &[LinkId] = &net.routes[route];
            needed[net.links.len() + from] |= !eager[links[0]];
            for (i, &link) in links.iter().enumerate() {
                needed[link] |= !links.get(i + 1).map_or(reflex[to], |&next| eager[next]);
            }
        }
    }
    let mut pipes = 0;
    let mut number = |needed: bool| {
        pipes += usize::from(needed);
        needed.then(|| Index::new(pipes - 1))
    };
    let pipe_of = needed.into_iter().map(&mut number).collect();
    (pipe_of, pipes)
}
