//! A scenario in the form of the loop models: one link, and TCP flows that always have data to send. A loop is the
//! control loop of these flows and a discipline at the link. The discipline computes a signal probability p, at which
//! packets are marked or dropped; then a flow has a window of sqrt(2/p) packets.

use forebay_aqm::Spec;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_sim::tcp::Stack;
use forebay_theory::{tcp_fluid, tcp_loop};
use serde::Serialize;

use crate::scenario::{
    Access, Case, Class, Direction, Dumbbell, Ends, FlowGroup, FlowKind, Found, InputError, Topology,
};

/// A number of flows with equal round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Flows {
    /// Number of flows.
    pub count: f64,
    /// Base round-trip time in seconds: transmission times included, queueing at the link excluded.
    pub base_s: f64,
    /// Service class of their packets if the discipline gives each class its share of the link, else 0.
    pub class: u8,
}

/// One link and its TCP flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The properties of the link that its discipline knows.
    pub link: Link,
    /// Capacity in packets per second.
    pub capacity: f64,
    /// Buffer in packets.
    pub limit: f64,
    /// Packet size in bytes.
    pub packet: u32,
    /// Whether signals are drops, because the flows or the discipline have no ECN.
    pub drops: bool,
    /// The flows, one entry for each round-trip time and class.
    pub flows: Vec<Flows>,
    /// Features of the scenario that the models ignore.
    pub left_out: Vec<String>,
}

/// Number of round-trip times that represent a distribution of round-trip times, each for an equal share of the flows.
const OF_A_RANGE: u32 = 5;

/// The parameters of the models (capacity, buffer, flows, round-trip times) for `case`, a scenario with one value of
/// each key that varies, and the discipline `spec` at the bottleneck.
pub fn of(case: &Case, spec: &Spec) -> Result<Setting, InputError> {
    let scenario = &case.scenario;
    let wrong = |key: &str, found: &str, accepts: &str| {
        let found = Found::thing(found.to_string());
        Err(InputError::new(scenario.title.as_str(), key, found, accepts))
    };
    let Topology::Dumbbell(bell) = &scenario.topology else {
        return wrong("topology.kind", "several links", "a dumbbell: the models have one link");
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
            ("tcp, modelled as Reno", !options.variant.profile().is_aimd),
            ("stack", options.stack() != Stack::Rfc),
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
            // Exact comparison works: equal delays give equal sums.
            match flows.iter_mut().find(|kind| kind.base_s == found.base_s && kind.class == found.class) {
                Some(kind) => kind.count += found.count,
                None => flows.push(found),
            }
        }
    }
    if flows.is_empty() {
        return wrong("flows", "no TCP flow that always has data to send", "at least one of kind ftp");
    }
    if bell.bottleneck.forward.conditions != Default::default() {
        left_out.push("losses and rate changes of the bottleneck".to_string());
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
        return wrong("topology.bottleneck.queue", "less than a packet", "at least one packet");
    }
    let capacity = link.rate.bytes_per_sec() / f64::from(packet);
    Ok(Setting { link, capacity, limit, packet, drops: !(spec.ecn() && all_ecn), flows, left_out })
}

fn link_of(bell: &Dumbbell, packet: u32) -> Link {
    Link {
        rate: bell.bottleneck.forward.rate,
        limit: bell.bottleneck.forward.limit,
        mean_packet: Bytes(u64::from(packet)),
    }
}

/// The flows of a group, one entry for each round-trip time and class.
fn round_trips(bell: &Dumbbell, group: &FlowGroup, packet: u32) -> Vec<Flows> {
    let Ends::Pairs { access, .. } = group.ends else { return Vec::new() };
    let (near, far) = (&bell.hosts[access].access, &bell.hosts[access].egress);
    // Transmission times of a packet and its acknowledgement, per link.
    let on =
        |bytes: u32, rates: [Rate; 3]| rates.map(|rate| f64::from(bytes) / rate.bytes_per_sec()).iter().sum::<f64>();
    let sent = on(packet, [near.rate, bell.bottleneck.forward.rate, far.rate])
        + on(group.kind.answer(), [near.rate, bell.bottleneck.reverse.rate, far.rate]);
    let used = hosts(near, group.count);
    let class = |host: u32| match group.class {
        Class::Fixed(class) => class,
        Class::Host => host as u8,
    };
    if let Some(rtt) = &group.rtt {
        let kinds = if rtt.is_fixed() { 1 } else { OF_A_RANGE };
        let middle = |i: u32| rtt.quantile_s((f64::from(i) + 0.5) / f64::from(kinds));
        // With `rtt`, the round-trip times do not depend on the host; only the class can differ between hosts.
        let alike = if group.class == Class::Host { used } else { 1 };
        let of = |host: u32, i: u32| {
            let count = flows_of(host, alike, group.count) / f64::from(kinds);
            Flows { count, base_s: sent + middle(i), class: class(host) }
        };
        return (0..alike).flat_map(|host| (0..kinds).map(move |i| of(host, i))).collect();
    }
    let shared = bell.bottleneck.forward.delay.secs() + bell.bottleneck.reverse.delay.secs() + 2.0 * far.delay.secs();
    let delays = &near.delays;
    let of = |host: u32| {
        let base_s = sent + shared + 2.0 * delays[host as usize % delays.len()].secs();
        Flows { count: flows_of(host, used, group.count), base_s, class: class(host) }
    };
    (0..used).map(of).collect()
}

/// Number of sending hosts that `flows` flows use, at least 1. `access` describes the hosts.
fn hosts(access: &Access, flows: u32) -> u32 {
    access.hosts.min(flows).max(1)
}

/// Number of flows at the host `host`, if flow i of `flows` is at host i mod `hosts`.
fn flows_of(host: u32, hosts: u32, flows: u32) -> f64 {
    f64::from(flows / hosts + u32::from(host < flows % hosts))
}

impl Setting {
    /// Number of flows.
    pub fn count(&self) -> f64 {
        self.flows.iter().map(|kind| kind.count).sum()
    }

    /// The loop at an equilibrium with a queue of `q` packets and a load of `rate` packets per second.
    pub fn at_rest(&self, q: f64, rate: f64) -> tcp_loop::TcpLoop {
        let queueing = q / self.capacity;
        let kind = |kind: &Flows| tcp_loop::Flows { count: kind.count, rtt_s: kind.base_s + queueing };
        tcp_loop::TcpLoop { capacity: rate, drops: self.drops, flows: self.flows.iter().map(kind).collect() }
    }

    /// Number of packets that are dropped while `entering` packets enter the queue, at signal probability `p`; 0 if
    /// signals are marks.
    pub(crate) fn dropped_beside(&self, entering: f64, p: f64) -> f64 {
        // Finite even if everything would be dropped.
        if self.drops { entering * p / (1.0 - p).max(0.01) } else { 0.0 }
    }

    /// Load of the flows at signal probability `p` with an empty queue, in packets per second; at most the link's rate.
    pub fn rate_for(&self, p: f64) -> f64 {
        let rate = self.window_for(p) * self.flows.iter().map(|kind| kind.count / kind.base_s).sum::<f64>();
        rate.min(self.capacity)
    }

    /// The part of the window of a flow that enters the queue, in packets. The window is sqrt(2/p) for signal
    /// probability `p`. If signals are drops, the fraction 1 - p of it enters.
    fn window_for(&self, p: f64) -> f64 {
        libm::sqrt(2.0 / p) * if self.drops { 1.0 - p } else { 1.0 }
    }

    /// The queue in packets at which the flows just fill the link, at signal probability `p`; from 0 to the buffer.
    pub fn queue_for(&self, p: f64) -> f64 {
        // The flows fill the link if the sum of N W/R over the round-trip times R equals the capacity. N is the number
        // of flows, W the part of their window that enters the queue.
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

    /// Link and flows in the form of the fluid model.
    pub fn fluid(&self) -> tcp_fluid::Fluid {
        let kind = |kind: &Flows| tcp_fluid::Flows { count: kind.count, base_s: kind.base_s };
        tcp_fluid::Fluid {
            capacity: self.capacity,
            limit: self.limit,
            drops: self.drops,
            flows: self.flows.iter().map(kind).collect(),
        }
    }

    /// This setting with the quantity `what` (number of flows, round-trip times or capacity) multiplied by `factor`.
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

/// A quantity of a [`Setting`] that can be multiplied by a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    /// Number of flows.
    Flows,
    /// Base round-trip times of all flows.
    RoundTrip,
    /// The link's rate.
    Capacity,
}
