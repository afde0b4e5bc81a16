//! A scenario as the models see it: one link, and TCP flows that always have more to send.

use forebay_aqm::Spec;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_theory::{tcp_fluid, tcp_loop};
use serde::Serialize;

use crate::scenario::{
    Access, Case, Class, Direction, Dumbbell, Ends, FlowGroup, FlowKind, Found, InputError, Topology,
};

/// Flows with one round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flows {
    /// How many.
    pub count: f64,
    /// Round trip without queueing, transmission included, in seconds.
    pub base_s: f64,
    /// The class of their packets, where the discipline holds classes to shares; else 0.
    pub class: u8,
}

/// One link and who shares it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The link, as its discipline knows it.
    pub link: Link,
    /// Capacity in packets per second.
    pub capacity: f64,
    /// Buffer in packets.
    pub limit: f64,
    /// A packet in bytes.
    pub packet: u32,
    /// Are signals drops, because the flows or the discipline have no ECN?
    pub drops: bool,
    /// The flows by their round trips.
    pub flows: Vec<Flows>,
    /// What of the scenario the models leave out.
    pub left_out: Vec<String>,
}

/// Round trips that stand for a range of them.
const OF_A_RANGE: u32 = 5;

/// The setting of a case, for the discipline `spec` at its link.
pub fn of(case: &Case, spec: &Spec) -> Result<Setting, InputError> {
    let scenario = &case.scenario;
    let wrong = |key: &str, found: &str, accepts: &str| {
        let found = Found::thing(found.to_string());
        Err(InputError::new(scenario.title.as_str(), key, found, accepts))
    };
    let Topology::Dumbbell(bell) = &scenario.topology else {
        return wrong("topology.kind", "several links", "a dumbbell: the models know one link");
    };
    let packet = scenario.packet;
    let mut left_out = Vec::new();
    let mut flows: Vec<Flows> = Vec::new();
    let mut all_ecn = true;
    let by_class = spec.shares(&link_of(bell, packet)).is_some();
    for group in &scenario.flows {
        if group.count == 0 {
            continue;
        }
        let ftp = match &group.kind {
            FlowKind::Ftp(ftp) if group.direction == Direction::Forward => ftp,
            _ => {
                left_out.push(format!("flows.{}", group.name));
                continue;
            }
        };
        all_ecn &= group.codepoint().is_capable();
        let options = &ftp.tcp;
        let whole = group.active == [(Span::ZERO, None)];
        for (key, is_left) in [
            ("tcp, taken for Reno", !options.variant.profile().is_reno),
            ("window", options.window.is_some()),
            ("delayed_ack", options.delayed_ack),
            ("pacing", options.pacing),
            ("active", !whole),
        ] {
            if is_left {
                left_out.push(format!("flows.{}.{key}", group.name));
            }
        }
        for found in round_trips(bell, group, packet) {
            let found = Flows { class: if by_class { found.class } else { 0 }, ..found };
            // Exactly: equal delays make equal sums.
            match flows.iter_mut().find(|kind| kind.base_s == found.base_s && kind.class == found.class) {
                Some(kind) => kind.count += found.count,
                None => flows.push(found),
            }
        }
    }
    if flows.is_empty() {
        return wrong("flows", "no TCP flow that always has more to send", "at least one of kind ftp");
    }
    if bell.bottleneck.conditions != Default::default() {
        left_out.push("losses and changes of the bottleneck".to_string());
    }
    if !spec.common().th.is_off() {
        left_out.push(format!("th of {}", spec.name()));
    }
    let link = spec.link(&link_of(bell, packet));
    let limit = match link.limit {
        Limit::Packets(n) => f64::from(n),
        Limit::Bytes(b) => b as f64 / f64::from(packet),
    };
    if limit < 1.0 {
        return wrong("topology.bottleneck.queue", "no room", "room for at least one packet");
    }
    let capacity = link.rate.bytes_per_sec() / f64::from(packet);
    Ok(Setting { link, capacity, limit, packet, drops: !(spec.ecn() && all_ecn), flows, left_out })
}

fn link_of(bell: &Dumbbell, packet: u32) -> Link {
    Link { rate: bell.bottleneck.rate, limit: bell.bottleneck.limit, mean_packet: Bytes(u64::from(packet)) }
}

/// The flows of a group by their round trips and classes.
fn round_trips(bell: &Dumbbell, group: &FlowGroup, packet: u32) -> Vec<Flows> {
    let Ends::Pairs { access, .. } = group.ends else { return Vec::new() };
    let (near, far) = (&bell.access[access], &bell.egress[access]);
    // What a packet and its acknowledgement take to be sent, on each link.
    let on =
        |bytes: u32, rates: [Rate; 3]| rates.map(|rate| f64::from(bytes) / rate.bytes_per_sec()).iter().sum::<f64>();
    let sent = on(packet, [near.rate, bell.bottleneck.rate, far.rate])
        + on(group.kind.answer(), [near.rate, bell.reverse.rate, far.rate]);
    let used = hosts(near, group.count);
    let class = |host: u32| match group.class {
        Class::Fixed(class) => class,
        Class::Host => host as u8,
    };
    if let Some(range) = group.rtt {
        let (low, width) = (range.lo.secs(), range.hi.secs() - range.lo.secs());
        let kinds = if width > 0.0 { OF_A_RANGE } else { 1 };
        let middle = |i: u32| low + width * (f64::from(i) + 0.5) / f64::from(kinds);
        // Hosts have the same round trips then: they differ in their class only.
        let alike = if group.class == Class::Host { used } else { 1 };
        let of = |host: u32, i: u32| {
            let count = flows_of(host, alike, group.count) / f64::from(kinds);
            Flows { count, base_s: sent + middle(i), class: class(host) }
        };
        return (0..alike).flat_map(|host| (0..kinds).map(move |i| of(host, i))).collect();
    }
    let shared = bell.bottleneck.delay.secs() + bell.reverse.delay.secs() + 2.0 * far.delay.secs();
    let delays = &near.delays;
    let of = |host: u32| {
        let base_s = sent + shared + 2.0 * delays[host as usize % delays.len()].secs();
        Flows { count: flows_of(host, used, group.count), base_s, class: class(host) }
    };
    (0..used).map(of).collect()
}

/// The hosts of an access group that so many flows use.
fn hosts(access: &Access, flows: u32) -> u32 {
    access.hosts.min(flows).max(1)
}

/// Of `flows` flows, those of host `host`: flow i has host i mod hosts.
fn flows_of(host: u32, hosts: u32, flows: u32) -> f64 {
    f64::from(flows / hosts + u32::from(host < flows % hosts))
}

impl Setting {
    /// How many flows there are.
    pub fn count(&self) -> f64 {
        self.flows.iter().map(|kind| kind.count).sum()
    }

    /// The loop at the rest that a queue of `q` packets means, with a load of `rate` packets per second.
    pub fn at_rest(&self, q: f64, rate: f64) -> tcp_loop::TcpLoop {
        let queueing = q / self.capacity;
        let kind = |kind: &Flows| tcp_loop::Flows { count: kind.count, rtt_s: kind.base_s + queueing };
        tcp_loop::TcpLoop { capacity: rate, drops: self.drops, flows: self.flows.iter().map(kind).collect() }
    }

    /// What is dropped beside so many packets that enter, if signals of probability `p` are drops.
    pub(crate) fn dropped_beside(&self, entering: f64, p: f64) -> f64 {
        // Kept finite where all would be dropped.
        if self.drops { entering * p / (1.0 - p).max(0.01) } else { 0.0 }
    }

    /// The load of flows that hear signals with probability `p` where no queue stands, in packets per second; at most
    /// what the link takes.
    pub fn rate_for(&self, p: f64) -> f64 {
        let rate = self.window_for(p) * self.flows.iter().map(|kind| kind.count / kind.base_s).sum::<f64>();
        rate.min(self.capacity)
    }

    /// Of the window that signals of probability `p` mean, the root of 2/p, what enters.
    fn window_for(&self, p: f64) -> f64 {
        libm::sqrt(2.0 / p) * if self.drops { 1.0 - p } else { 1.0 }
    }

    /// The queue at which flows that hear signals with probability `p` fill the link, within the buffer.
    pub fn queue_for(&self, p: f64) -> f64 {
        // What enters of the sum of N W/R is C.
        let wanted = self.capacity / self.window_for(p);
        let excess = |q: f64| {
            let queueing = q / self.capacity;
            self.flows.iter().map(|kind| kind.count / (kind.base_s + queueing)).sum::<f64>() - wanted
        };
        if let [kind] = self.flows.as_slice() {
            return (self.capacity * (kind.count / wanted - kind.base_s)).clamp(0.0, self.limit);
        }
        if excess(0.0) <= 0.0 {
            return 0.0;
        }
        if excess(self.limit) >= 0.0 {
            return self.limit;
        }
        let (mut low, mut high) = (0.0, self.limit);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if excess(middle) > 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// The same flows as a fluid.
    pub fn fluid(&self) -> tcp_fluid::Fluid {
        let kind = |kind: &Flows| tcp_fluid::Flows { count: kind.count, base_s: kind.base_s };
        tcp_fluid::Fluid {
            capacity: self.capacity,
            limit: self.limit,
            drops: self.drops,
            flows: self.flows.iter().map(kind).collect(),
        }
    }

    /// The same with `factor` times the flows, the round trips, or the capacity.
    #[must_use]
    pub fn scaled(&self, what: Scaled, factor: f64) -> Self {
        let mut other = self.clone();
        match what {
            Scaled::Flows => other.flows.iter_mut().for_each(|kind| kind.count *= factor),
            Scaled::RoundTrip => other.flows.iter_mut().for_each(|kind| kind.base_s *= factor),
            Scaled::Capacity => {
                other.capacity *= factor;
                other.link.rate.0 = (other.link.rate.0 as f64 * factor) as u64;
            }
        }
        other
    }
}

/// What of a setting may be scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    /// How many flows there are.
    Flows,
    /// Round trips without queueing.
    RoundTrip,
    /// The link's rate.
    Capacity,
}
