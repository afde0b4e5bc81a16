//! Checks a complete scenario: number of flows, routes, buffers that hold at least a packet, number of service classes
//! of hosts.

use forebay_aqm::base::units::Limit;
use forebay_sim::agenda::MAX_SOURCES;

use crate::build::layout::{Layout, senders};
use crate::build::lower;
use crate::input::{Found, InputError};
use crate::scenario::{Arrivals, Class, Ends, FlowGroup, Hosts, MAX_FLOWS, NamedLink, Node, Rtt, Scenario, Value};
use crate::traces::MAX_ITEMS;

/// Most flows with separate links (key `rtt`). Each flow has two such links, which are event sources of the simulator.
/// Thus half of the [`MAX_SOURCES`] event sources remain for other links and hosts.
const MAX_APART: u32 = MAX_SOURCES as u32 / 4;
/// Most hosts that have a service class each: the number of a class is a byte.
const MAX_CLASSES: u64 = 256;

/// Refuses a scenario, read from `root`, whose keys are valid but not their combination.
pub(crate) fn check(root: &Node, scenario: &Scenario) -> Result<(), InputError> {
    routes(root, scenario)?;
    recordings(root, scenario)?;
    let hosts = senders(&scenario.topology, &scenario.flows);
    let (mut total, mut apart) = (0.0, 0.0);
    for (i, group) in scenario.flows.iter().enumerate() {
        classes(root, i, group, hosts)?;
        total += expected(group, scenario);
        apart += own_links(group, scenario);
        let key = if group.kind.arrivals().is_some() { "arrivals" } else { "count" };
        if total > f64::from(MAX_FLOWS) {
            return Err(at_group(root, i, group, key, format!("at most {MAX_FLOWS} flows in all, not {total:.0}")));
        }
        if apart > f64::from(MAX_APART) {
            let accepts = format!("at most {MAX_APART} flows with an rtt, not {apart:.0}");
            return Err(at_group(root, i, group, key, accepts));
        }
    }
    sources(root, scenario, apart)
}

/// Expected number of flows of this group that have separate links. A flow that starts again reuses its links.
fn own_links(group: &FlowGroup, scenario: &Scenario) -> f64 {
    match (&group.rtt, group.kind.arrivals()) {
        (None, _) => 0.0,
        (Some(_), None) => f64::from(group.count),
        (Some(_), Some(_)) => expected(group, scenario),
    }
}

/// Checks that hosts and links are not more event sources than the simulator supports, with two links for each of
/// `apart` flows.
fn sources(root: &Node, scenario: &Scenario, apart: f64) -> Result<(), InputError> {
    let hosts = |group: &FlowGroup| match group.ends {
        Ends::Pairs { access, .. } => scenario.topology.hosts()[access].access.hosts as usize,
        Ends::Nodes { .. } => 0,
    };
    // A pair of hosts has two hosts and four links; a link with a discipline has two timers and a transmitter.
    // This bound avoids building the network: most scenarios, and all graphs, are far below the limit.
    let pairs: usize = scenario.flows.iter().map(hosts).sum();
    if 6 * pairs + 3 * scenario.topology.links().len() + 2 * (apart as usize) < MAX_SOURCES / 2 {
        return Ok(());
    }
    for contender in &scenario.compare {
        let sources = lower::network(scenario, &contender.spec, 1).sources();
        if sources > MAX_SOURCES {
            let access = root.get("topology").and_then(|topology| topology.get("access")).unwrap_or(root);
            let found = Found::thing(format!("{sources} hosts and links with a queue"));
            let error = access.place.error("topology.access", found, format!("at most {MAX_SOURCES}"));
            return Err(error.hint("use fewer hosts".to_string()));
        }
    }
    Ok(())
}

/// Expected number of flows of this group within the run.
fn expected(group: &FlowGroup, scenario: &Scenario) -> f64 {
    let per_stream: f64 = match group.kind.arrivals() {
        None => group.active.len() as f64,
        Some(Arrivals { rate, .. }) => {
            group.active_within(scenario.duration).map(|(from, to)| rate * (to - from).secs()).sum()
        }
    };
    // A recording with classes is one flow per class, a user of pages with many objects one flow per connection.
    let parts = group.kind.recorded().map_or(1, |recorded| recorded.classes().len().max(1));
    let parts = parts.max(group.kind.connections() as usize);
    f64::from(group.count) * per_stream * parts as f64
}

/// Recordings of packets or frames must fit into a scenario file, because the file stored with the results has them
/// inline.
fn recordings(root: &Node, scenario: &Scenario) -> Result<(), InputError> {
    let mut total = 0;
    for (i, group) in scenario.flows.iter().enumerate() {
        let measured = group.rtt.as_ref().map_or(0, Rtt::measurements);
        total += group.kind.recorded().map_or(0, |recorded| recorded.items.len()) + measured;
        if total > MAX_ITEMS {
            let accepts = format!("recordings of at most {MAX_ITEMS} packets, frames and round trips in all groups");
            return Err(at_group(root, i, group, if measured > 0 { "rtt" } else { "kind" }, accepts));
        }
    }
    Ok(())
}

fn classes(root: &Node, i: usize, group: &FlowGroup, hosts: u64) -> Result<(), InputError> {
    if group.class != Class::Host || hosts <= MAX_CLASSES {
        return Ok(());
    }
    let accepts = format!("a class from 0 to 255, or \"host\" with at most {MAX_CLASSES} hosts; there are {hosts}");
    Err(at_group(root, i, group, "class", accepts))
}

/// Longest route in links: the simulator counts them in a byte.
const LONGEST_ROUTE: usize = 255;

/// Checks that every flow has a route there and back, and that buffers in bytes hold the largest packet.
fn routes(root: &Node, scenario: &Scenario) -> Result<(), InputError> {
    let layout = Layout::new(scenario, &scenario.compare[0].spec);
    let mut net = layout.network(scenario.duration, scenario.warmup, scenario.duration);
    let mut largest = vec![0; net.links.len()];
    for (i, group) in scenario.flows.iter().enumerate() {
        let Some(way) = layout.way(&mut net, group.ends, group.direction) else {
            let accepts = "a node with a route to it and back".to_string();
            return Err(at_group(root, i, group, "to", accepts));
        };
        let at = layout.attach(&way, 0, group.direction).at;
        let (data, ack) = (group.kind.packet(scenario.packet), group.kind.answer());
        for (route, size) in [(at.forward, data), (at.back, ack)] {
            if net.routes[route].len() > LONGEST_ROUTE {
                return Err(at_group(root, i, group, "to", format!("a node at most {LONGEST_ROUTE} links away")));
            }
            if group.count > 0 {
                net.routes[route].iter().for_each(|&link| largest[link] = largest[link].max(size));
            }
        }
    }
    let links: Vec<(NamedLink<'_>, u32)> = scenario.topology.links().into_iter().zip(largest.iter().copied()).collect();
    for (i, (link, ahead)) in links.iter().enumerate() {
        let path = |more: &[&str]| {
            [&["topology".to_string()], link.path.as_slice(), &more.iter().map(|s| s.to_string()).collect::<Vec<_>>()]
                .concat()
        };
        // The reverse direction of a link has the values of the forward direction for the keys that it does not set.
        let inherits =
            links.get(i + 1).filter(|(next, _)| !next.is_forward && !is_written(root, &path(&["reverse", "queue"])));
        let need = inherits.map_or(*ahead, |(_, back)| *ahead.max(back));
        fits(root, &path(&["queue"]), link.link.limit, need)?;
    }
    let need = largest[links.len().min(largest.len())..].iter().copied().max().unwrap_or(0);
    for (i, Hosts { name, access, egress }) in scenario.topology.hosts().iter().enumerate() {
        let item = name.is_some().then(|| i.to_string());
        let path = ["topology", "access"].into_iter().map(str::to_string).chain(item).chain(["queue".to_string()]);
        fits(root, &path.collect::<Vec<_>>(), access.queue, need)?;
        let own = ["topology", "access", &i.to_string(), "egress", "queue"].map(str::to_string);
        let path = if is_written(root, &own[..4]) {
            own.to_vec()
        } else {
            own[..1].iter().chain(&own[3..]).cloned().collect()
        };
        fits(root, &path, egress.queue, need)?;
    }
    Ok(())
}

fn fits(root: &Node, path: &[String], limit: Limit, need: u32) -> Result<(), InputError> {
    if matches!(limit, Limit::Bytes(bytes) if bytes < u64::from(need)) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        return Err(at(root, &path, &path.join("."), format!("at least {need}b, the largest packet on this link")));
    }
    Ok(())
}

fn is_written(root: &Node, path: &[String]) -> bool {
    path.iter().try_fold(root, |node, key| node.step(key)).is_some()
}

/// An error about `key` of the group of flows with the index `i`.
fn at_group(root: &Node, i: usize, group: &FlowGroup, key: &str, accepts: String) -> InputError {
    let groups = root.get("flows").map(|node| &node.value);
    let node = match groups {
        Some(Value::List(items)) => items.get(i),
        _ => None,
    };
    at(node.unwrap_or(root), &[key], &format!("flows.{}.{key}", group.name), accepts)
}

/// An error at the value to which `path` leads; if the file lacks this value, at the last table of the path that it
/// has.
fn at(from: &Node, path: &[&str], key: &str, accepts: String) -> InputError {
    let mut node = from;
    for step in path {
        match node.step(step) {
            Some(next) => node = next,
            None => return node.place.error(key, Found::thing("nothing"), accepts),
        }
    }
    node.error(key, accepts)
}
