//! What a run may compute ahead of time, because nothing else can come in between.

use crate::engine::agenda::Sources;
use crate::engine::index::Index;
use crate::network::{LinkId, Network};

/// What of a network needs no event.
pub(crate) struct Ahead {
    /// By link: it may be passed at once, for a single host or link feeds it and nobody watches it. A meter
    /// must not run ahead of the clock.
    pub(crate) eager: Vec<bool>,
    /// By host: what comes in may be answered at once, for it comes over a single link and nothing else
    /// makes the host send.
    pub(crate) reflex: Vec<bool>,
    /// By link, then by host: the pipe behind it, unless its segments are always passed on at once.
    pub(crate) pipe_of: Vec<Option<Index>>,
    /// How many pipes there are.
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
    /// How many event sources it has; an agenda holds [`MAX_SOURCES`](crate::engine::agenda::MAX_SOURCES).
    pub fn sources(&self) -> usize {
        let managed = self.links.iter().filter(|link| link.discipline.is_some()).count();
        Sources { managed, pipes: Ahead::new(self).pipes }.count()
    }
}

/// Who feeds a link or a host.
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
    let plain = net.links.iter().map(|l| l.discipline.is_none() && !l.study);
    plain.zip(feeders).map(|(plain, feeder)| plain && matches!(feeder, Feeder::One(_))).collect()
}

fn reflex_hosts(net: &Network) -> Vec<bool> {
    // Where each route ends: a table of routes shared between hosts would send some packets of a host by
    // event and some ahead of it.
    let mut ends = vec![Feeder::Nobody; net.routes.len()];
    for flow in &net.flows {
        ends[flow.forward].and(flow.to);
        ends[flow.back].and(flow.from);
    }
    let mut feeders = vec![Feeder::Nobody; net.hosts.len()];
    let mut passive = vec![true; net.hosts.len()];
    for flow in &net.flows {
        passive[flow.from] = false;
        // A held acknowledgement waits for a timer.
        passive[flow.to] &= flow.traffic.tcp().is_none_or(|options| !options.delayed_ack) && !flow.traffic.asks();
        passive[flow.to] &= ends[flow.forward] == Feeder::One(flow.to);
        net.routes[flow.forward].last().into_iter().for_each(|&link| feeders[flow.to].and(link));
    }
    passive.into_iter().zip(feeders).map(|(passive, feeder)| passive && matches!(feeder, Feeder::One(_))).collect()
}

/// Which links and hosts (numbered after the links) need a pipe: those that feed anything but an eager link
/// or a reflex host.
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
