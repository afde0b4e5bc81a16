//! A network of ours as the description that `validation/ns2/network.tcl` reads.
//!
//! Random start times, file sizes, think times and packet times are those of our run with the same seed, so both
//! simulators have the same demand. So are the rates of links whose rate changes at random, and the numbers of the packets
//! that links lose in bursts. What ns-2 draws itself: the jitter of hosts, independent losses of links, and the decisions
//! of the discipline.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::Limit;
use forebay_sim::network::{FlowSpec, LinkId, Network, RouteId};
use forebay_sim::schedule::Schedule;
use forebay_sim::wire::loss::{LossModel, Losses};

use super::flows::{self, ACK};

/// The link whose discipline is compared. It is an error if there is none or more than one.
pub(super) fn studied(net: &Network) -> Result<LinkId, String> {
    let mut studied = (0..net.links.len()).filter(|id| net.links[*id].lane.study);
    match (studied.next(), studied.next()) {
        (Some(link), None) => Ok(link),
        _ => Err("not exactly one link under study".to_string()),
    }
}

/// The description of `net` for the run with this seed. An error names what ns-2 lacks or what we have not implemented.
pub(super) fn describe(net: &Network, seed: u64) -> Result<String, String> {
    let nodes = Nodes::of(net)?;
    let mut text = String::new();
    let mut line = |words: String| writeln!(text, "{words}").map_err(|e| e.to_string());
    line(format!("run {} {}", net.duration.secs(), net.warmup.secs()))?;
    line(format!("nodes {}", nodes.count))?;
    let studied = studied(net)?;
    for (&id, &(from, to)) in &nodes.ends {
        for words in link(net, id, (from, to), id == studied, seed)? {
            line(words)?;
        }
    }
    for (link, words) in at_edge(net)? {
        let (from, to) = nodes.ends[&link];
        for (kind, values) in words {
            line(format!("{kind} {from} {to} {values}"))?;
        }
    }
    for ((at, to), next) in &nodes.hops {
        line(format!("hop {at} {to} {next}"))?;
    }
    for flow in &net.flows {
        let words = flows::describe(net, flow, seed).map_err(|what| format!("{}: {what}", flow.name))?;
        let (kind, rest) = words.split_once(' ').unwrap_or((&words, ""));
        line(format!("{kind} {} {} {rest}", nodes.hosts[&flow.from], nodes.hosts[&flow.to]))?;
    }
    Ok(text)
}

/// The lines of the description for the link `id` from one node to another.
fn link(
    net: &Network,
    id: LinkId,
    (from, to): (usize, usize),
    studied: bool,
    seed: u64,
) -> Result<Vec<String>, String> {
    let (link, lane) = (&net.links[id], &net.links[id].lane);
    let refuse = |what: &str| Err(format!("link {}: {what}", link.name));
    let ends = format!("{from} {to} {} {}", lane.rate.0, lane.delay.secs());
    let mut lines = match (studied, lane.limit) {
        (true, _) => vec![format!("study {ends}")],
        (false, _) if !lane.is_plain() => return refuse("a discipline outside the comparison"),
        (false, Limit::Packets(packets)) => vec![format!("link {ends} {packets} packets")],
        (false, Limit::Bytes(bytes)) => vec![format!("link {ends} {bytes} bytes")],
    };
    let end = Instant::ZERO + net.duration;
    match lane.conditions.drawn_rates(&link.name, seed, end).as_deref() {
        None => {}
        Some(Schedule::Steps(steps)) if !studied && steps.iter().all(|(_, rate)| rate.0 > 0) => {
            let steps: Vec<String> = steps.iter().map(|(at, rate)| format!("{} {}", at.secs(), rate.0)).collect();
            lines.push(format!("rates {from} {to} {{{}}}", steps.join(" ")));
        }
        Some(_) => return refuse("a trace, a pause, or a variable rate of the link under study"),
    }
    match lane.conditions.loss {
        None => {}
        Some(LossModel::Bernoulli(p)) => lines.extend((p > 0.0).then(|| format!("loss {from} {to} {p}"))),
        Some(_) => {
            let smallest = net.flows.iter().map(|flow| flow.packet).min().unwrap_or(ACK).min(ACK);
            let most = lane.most_rate() * net.duration.secs() / f64::from(8 * smallest);
            let mut losses = lane.conditions.losses(&link.name, seed);
            let lost = (0..most as u64).filter(|_| losses.as_mut().is_some_and(Losses::draw));
            let lost: Vec<String> = lost.map(|number| number.to_string()).collect();
            lines.extend((!lost.is_empty()).then(|| format!("lost {from} {to} {{{}}}", lost.join(" "))));
        }
    }
    Ok(lines)
}

/// A command of `network.tcl` for a link, and its last arguments.
type Words = (&'static str, String);

/// What hosts do before their first link, as commands: the processing time and the token bucket.
fn at_edge(net: &Network) -> Result<BTreeMap<LinkId, Vec<Words>>, String> {
    let mut firsts: BTreeMap<LinkId, (usize, Option<usize>)> = BTreeMap::new();
    for flow in &net.flows {
        let (data, answers) = (net.routes[flow.forward][0], net.routes[flow.back][0]);
        let known = firsts.entry(data).or_insert((flow.from, flow.marker));
        if known.1 != flow.marker {
            return Err(format!("{}: flows of a host with different token buckets", flow.name));
        }
        let known = firsts.entry(answers).or_insert((flow.to, None));
        if known.1.is_some() {
            return Err(format!("{}: answers pass a token bucket", flow.name));
        }
    }
    let words = |(host, marker): (usize, Option<usize>)| {
        let (jitter, bucket) = (net.hosts[host].jitter.secs(), marker.map(|marker| net.markers[marker]));
        let jitter = (jitter > 0.0).then(|| ("jitter", jitter.to_string()));
        let bucket = bucket.map(|bucket| ("bucket", format!("{} {}", bucket.cir.0, bucket.cbs.0)));
        jitter.into_iter().chain(bucket).collect()
    };
    Ok(firsts.into_iter().map(|(link, first)| (link, words(first))).collect())
}

/// The nodes that the routes of the flows imply. Links that no route uses are left out.
struct Nodes {
    count: usize,
    /// The node of each host that has a flow.
    hosts: BTreeMap<usize, usize>,
    /// The nodes at the two ends of each link.
    ends: BTreeMap<LinkId, (usize, usize)>,
    /// The next node, for each pair of a node and a destination.
    hops: BTreeMap<(usize, usize), usize>,
}

/// A host or an end of a link. Places that are the same node are joined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Host(usize),
    Tail(LinkId),
    Head(LinkId),
}

/// Disjoint sets of places (union-find): each place has a parent in its set, except the root.
#[derive(Default)]
struct Sets(BTreeMap<Place, Place>);

impl Sets {
    fn root(&self, mut place: Place) -> Place {
        while let Some(parent) = self.0.get(&place) {
            place = *parent;
        }
        place
    }

    fn join(&mut self, one: Place, other: Place) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.0.insert(one.max(other), one.min(other));
        }
    }
}

/// The two routes of a flow, each with its first and last host: first the route of the data, then that of the answers.
fn ways(flow: &FlowSpec) -> [(usize, RouteId, usize); 2] {
    [(flow.from, flow.forward, flow.to), (flow.to, flow.back, flow.from)]
}

impl Nodes {
    fn of(net: &Network) -> Result<Self, String> {
        let mut sets = Sets::default();
        for (from, route, to) in net.flows.iter().flat_map(ways) {
            let route = &net.routes[route];
            sets.join(Place::Host(from), Place::Tail(route[0]));
            sets.join(Place::Head(route[route.len() - 1]), Place::Host(to));
            route.windows(2).for_each(|pair| sets.join(Place::Head(pair[0]), Place::Tail(pair[1])));
        }
        let mut numbers = BTreeMap::new();
        let mut number = |place| {
            let next = numbers.len();
            *numbers.entry(sets.root(place)).or_insert(next)
        };
        let (mut hosts, mut ends, mut hops) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (from, route, to) in net.flows.iter().flat_map(ways) {
            let last = number(Place::Host(to));
            hosts.insert(to, last);
            hosts.insert(from, number(Place::Host(from)));
            for &link in &net.routes[route] {
                let (tail, head) = (number(Place::Tail(link)), number(Place::Head(link)));
                ends.insert(link, (tail, head));
                if *hops.entry((tail, last)).or_insert(head) != head {
                    return Err("two routes between the same nodes".to_string());
                }
            }
        }
        let pairs: std::collections::BTreeSet<_> = ends.values().collect();
        if pairs.len() < ends.len() {
            return Err("two links between the same nodes".to_string());
        }
        Ok(Self { count: numbers.len(), hosts, ends, hops })
    }
}
