//! The parking lot: bottlenecks in a row, and traffic that crosses some or all of them. With one bottleneck it is the
//! dumbbell.
//!
//! ```text
//! client --access--> R0 ==b1==> R1 ==b2==> R2 --egress--> server      through traffic: enters at b1, leaves after b2
//!                               R1 <-access-- client                  cross traffic: enters at b2, leaves after b2
//! ```
//!
//! Every bottleneck has a reverse link. Acknowledgements pass the same routers in the opposite order.

use forebay_aqm::base::time::Span;

use crate::network::{Attachment, HostSpec, Lane, LinkSpec, Network};

/// Parameters of a parking lot.
#[derive(Clone, Debug)]
pub struct ParkingLot {
    /// The links in a row; at least one.
    pub bottlenecks: Vec<Bottleneck>,
    /// Groups of hosts that send across the bottlenecks.
    pub crossings: Vec<Crossing>,
    /// Typical packet length in bytes.
    pub packet: u16,
}

/// A link between two routers.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// Unique name of the forward link.
    pub name: String,
    /// Unique name of the reverse link.
    pub reverse_name: String,
    /// The link in forward direction, from clients to servers.
    pub forward: Lane,
    /// The link in the opposite direction.
    pub reverse: Lane,
}

/// A group of client-server pairs. Clients connect to the router before bottleneck `enter`, servers to the router after
/// bottleneck `leave`.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// Prefix of the names of its hosts and links; may be empty.
    pub name: String,
    /// Index of the first bottleneck in forward direction.
    pub enter: usize,
    /// Index of the last bottleneck in forward direction; >= `enter`.
    pub leave: usize,
    /// Number of hosts on each side.
    pub hosts: usize,
    /// Number of host pairs to build, at most `hosts`. No flow uses the other pairs.
    pub built: usize,
    /// Maximum processing time of a host.
    pub jitter: Span,
    /// Delay of client link h in both directions: `delays[h mod n]`.
    pub delays: Vec<Span>,
    /// The client links, both directions; `delays` replaces the delay.
    pub access: Lane,
    /// The server links, both directions.
    pub egress: Lane,
}

/// Direction of a flow's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Client to server, through the bottlenecks in order.
    Forward,
    /// Server to client.
    Reverse,
}

impl ParkingLot {
    /// The network, without flows.
    pub fn network(&self, duration: Span, warmup: Span, sample: Span) -> Network {
        let (links, hosts, routes, markers, flows) = Default::default();
        let mut net = Network {
            duration,
            warmup,
            sample,
            classes: Vec::new(),
            tracks: Vec::new(),
            links,
            hosts,
            routes,
            markers,
            flows,
        };
        for b in &self.bottlenecks {
            net.links.extend([b.forward.link(&b.name, self.packet), b.reverse.link(&b.reverse_name, self.packet)]);
        }
        self.crossings.iter().for_each(|crossing| crossing.add_hosts(&mut net, self.packet));
        net
    }

    /// Hosts and routes of flow number `i` of a group of hosts (crossing): host pair `i mod hosts`.
    pub fn attach(&self, crossing: usize, i: usize, direction: Direction) -> Attachment {
        let before: usize = self.crossings[..crossing].iter().map(|c| c.built).sum();
        let h = before + i % self.crossings[crossing].hosts;
        let (client, server, there, back) = (2 * h, 2 * h + 1, 2 * h, 2 * h + 1);
        match direction {
            Direction::Forward => Attachment { from: client, to: server, forward: there, back },
            Direction::Reverse => Attachment { from: server, to: client, forward: back, back: there },
        }
    }

    /// Returns `at` with separate links between client and router, which it adds to `net`. They are copies of the host
    /// pair's links with other names, which contain `name`, and other delays. `delays`: from the client, and to the
    /// client. Flows between the same hosts can thus have different propagation delays.
    pub fn apart(
        &self,
        net: &mut Network,
        at: Attachment,
        direction: Direction,
        name: &str,
        delays: (Span, Span),
    ) -> Attachment {
        let is_forward = direction == Direction::Forward;
        let (there, back) = if is_forward { (at.forward, at.back) } else { (at.back, at.forward) };
        let [mut there, mut back] = [there, back].map(|route| net.routes[route].clone());
        let mut copy = |link: &mut usize, name: String, delay| {
            let mut own = LinkSpec { name, ..net.links[*link].clone() };
            own.lane.delay = delay;
            net.links.push(own);
            *link = net.links.len() - 1;
        };
        if let (Some(first), Some(last)) = (there.first_mut(), back.last_mut()) {
            copy(first, format!("own/{name}"), delays.0);
            copy(last, format!("own-back/{name}"), delays.1);
        }
        let route = net.routes.len();
        net.routes.extend([there, back]);
        let (forward, back) = if is_forward { (route, route + 1) } else { (route + 1, route) };
        Attachment { forward, back, ..at }
    }

    /// The number of the host pair of flow `i` of a group of hosts (crossing), counted over all groups.
    pub fn pair(&self, crossing: usize, i: usize) -> usize {
        let before: usize = self.crossings[..crossing].iter().map(|c| c.hosts).sum();
        before + i % self.crossings[crossing].hosts
    }
}

impl Crossing {
    fn add_hosts(&self, net: &mut Network, packet: u16) {
        let prefix = if self.name.is_empty() { String::new() } else { format!("{}/", self.name) };
        for h in 0..self.built {
            let base = net.links.len();
            let client = Lane { delay: self.delays[h % self.delays.len()], ..self.access.clone() };
            let server = &self.egress;
            for (name, lane) in
                [("access", &client), ("egress", server), ("egress-back", server), ("access-back", &client)]
            {
                net.links.push(lane.link(&format!("{name}/{prefix}{h}"), packet));
            }
            let there = (self.enter..=self.leave).map(|b| 2 * b);
            let back = (self.enter..=self.leave).rev().map(|b| 2 * b + 1);
            net.routes.push([base].into_iter().chain(there).chain([base + 1]).collect());
            net.routes.push([base + 2].into_iter().chain(back).chain([base + 3]).collect());
            for side in ["client", "server"] {
                net.hosts.push(HostSpec { name: format!("{side}/{prefix}{h}"), jitter: self.jitter });
            }
        }
    }
}
