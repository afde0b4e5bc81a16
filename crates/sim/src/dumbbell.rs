//! The dumbbell: hosts, access links, one bottleneck each way, egress links.
//!
//! ```text
//! client h --access h--> R1 ==bottleneck==> R2 --egress h--> server h
//! client h <--access h-- R1 <===reverse==== R2 <--egress h-- server h
//! ```

use forebay_aqm::Spec;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Bytes, Limit, Rate};

use crate::network::{Conditions, HostId, HostSpec, LinkSpec, Network, RouteId};

/// Shape and figures of a dumbbell.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Bottleneck rate, both ways.
    pub rate: Rate,
    /// Bottleneck delay, each way.
    pub delay: Span,
    /// Bottleneck buffer.
    pub limit: Limit,
    /// The discipline under study.
    pub discipline: Spec,
    /// Buffer of the reverse bottleneck.
    pub reverse_limit: Limit,
    /// Discipline of the reverse bottleneck.
    pub reverse_discipline: Spec,
    /// Hosts on each side.
    pub hosts: usize,
    /// Rate of the client links.
    pub access_rate: Rate,
    /// Delay of client link h: `access_delays[h mod n]`.
    pub access_delays: Vec<Span>,
    /// Buffer of the client and server links.
    pub access_limit: Limit,
    /// Largest processing time of a host.
    pub jitter: Span,
    /// Rate of the server links.
    pub egress_rate: Rate,
    /// Delay of the server links.
    pub egress_delay: Span,
    /// Typical packet.
    pub packet: u16,
}

/// Which way a flow's data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Client to server, through the bottleneck under study.
    Forward,
    /// Server to client.
    Reverse,
}

/// Where flow number `i` of a dumbbell is attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// The host that sends data.
    pub from: HostId,
    /// The host that acknowledges.
    pub to: HostId,
    /// Route of the data.
    pub forward: RouteId,
    /// Route of the acknowledgements.
    pub back: RouteId,
}

/// Links per host pair: access, egress and their reverses.
const PER_HOST: usize = 4;

impl Dumbbell {
    /// The network, without flows.
    pub fn network(&self, duration: Span, warmup: Span, sample: Span) -> Network {
        let mut links = vec![
            self.link("bottleneck", self.rate, self.delay, self.limit, Some(&self.discipline)),
            self.link("reverse", self.rate, self.delay, self.reverse_limit, Some(&self.reverse_discipline)),
        ];
        links[0].study = true;
        let (mut hosts, mut routes) = (Vec::new(), Vec::new());
        for h in 0..self.hosts {
            let near = self.access_delays[h % self.access_delays.len()];
            let base = links.len();
            for (name, rate, delay) in [
                ("access", self.access_rate, near),
                ("egress", self.egress_rate, self.egress_delay),
                ("egress-back", self.egress_rate, self.egress_delay),
                ("access-back", self.access_rate, near),
            ] {
                links.push(self.link(&format!("{name}/{h}"), rate, delay, self.access_limit, None));
            }
            debug_assert_eq!(links.len() - base, PER_HOST);
            routes.push(vec![base, 0, base + 1]);
            routes.push(vec![base + 2, 1, base + 3]);
            for side in ["client", "server"] {
                hosts.push(HostSpec { name: format!("{side}/{h}"), jitter: self.jitter });
            }
        }
        Network { duration, warmup, sample, links, hosts, routes, flows: Vec::new() }
    }

    fn link(&self, name: &str, rate: Rate, delay: Span, limit: Limit, discipline: Option<&Spec>) -> LinkSpec {
        LinkSpec {
            name: name.to_string(),
            rate,
            delay,
            limit,
            // Drop-tail has a fast path that a test proves equal to the discipline.
            discipline: discipline.filter(|d| d.name() != "droptail").cloned(),
            mean_packet: Bytes(u64::from(self.packet)),
            conditions: Conditions::default(),
            study: false,
        }
    }

    /// Where flow number `i` goes: host pair `i mod hosts`.
    pub const fn attach(&self, i: usize, direction: Direction) -> Attachment {
        let h = i % self.hosts;
        let (client, server, there, back) = (2 * h, 2 * h + 1, 2 * h, 2 * h + 1);
        match direction {
            Direction::Forward => Attachment { from: client, to: server, forward: there, back },
            Direction::Reverse => Attachment { from: server, to: client, forward: back, back: there },
        }
    }
}
