//! Translates the network of a scenario to the simulator's: links, hosts, and routes of the groups of flows. An access
//! group is a group of host pairs (sender and receiver) whose links are declared together. A crossing is the set of
//! host pairs of an access group that use the same bottlenecks.

use forebay_aqm::Spec;
use forebay_aqm::base::time::Span;
use forebay_sim::graph;
use forebay_sim::network::{Attachment, Lane, Network};
use forebay_sim::parking_lot::{self, Crossing};

use crate::scenario::{Direction, Ends, FlowGroup, Graph, Hosts, NamedLink, Scenario, Topology};

/// The links and hosts of a network, without flows.
pub(crate) enum Layout {
    /// Dumbbell or parking lot. For each crossing: its access group and its bottlenecks.
    Lot(parking_lot::ParkingLot, Vec<Pairs>),
    Graph(graph::Graph),
}

/// An access group, and the first and the last bottleneck that its flows cross.
type Pairs = (usize, usize, usize);

/// Which hosts the flows of a group connect.
pub(crate) enum Way {
    /// The flows use the host pairs of the crossing with this index in turn.
    Crossing(usize),
    /// All flows connect the same two nodes.
    Nodes(Attachment),
}

/// The hosts and routes of a flow.
pub(crate) struct Place {
    pub(crate) at: Attachment,
    /// Number of the host pair in a dumbbell or parking lot, or of the sending node in a graph.
    pub(crate) host: usize,
    /// Id of the flow's source and destination; the opposite direction has another id.
    pub(crate) pair: u32,
}

impl Layout {
    /// Layout of `scenario` with `discipline` at the links at which the scenario compares disciplines
    /// (`compare.links`). Each crossing has one host pair; [`Self::make_room`] adds more.
    pub(crate) fn new(scenario: &Scenario, discipline: &Spec) -> Self {
        let lane = |named: &NamedLink<'_>| {
            let is_compared = scenario.compared.contains(&named.name);
            let discipline = if is_compared { discipline } else { &named.link.discipline };
            Lane { discipline: discipline.clone(), ..named.link.clone() }
        };
        let links = scenario.topology.links();
        let packet = scenario.packet as u16;
        if let Topology::Graph(graph) = &scenario.topology {
            return Self::Graph(edges(graph, &links, lane, packet));
        }
        let hosts = scenario.topology.hosts();
        let pairs = pairs(&scenario.topology, &scenario.flows);
        let bottleneck = |pair: &[NamedLink<'_>]| parking_lot::Bottleneck {
            name: pair[0].name.clone(),
            reverse_name: pair[1].name.clone(),
            forward: lane(&pair[0]),
            reverse: lane(&pair[1]),
        };
        let bottlenecks: Vec<_> = links.chunks_exact(2).map(bottleneck).collect();
        let crossing = |&(group, enter, leave): &Pairs| {
            let span = (bottlenecks[enter].name.as_str(), bottlenecks[leave].name.as_str());
            let is_through = (enter, leave) == (0, bottlenecks.len() - 1);
            let name = crossing_name(hosts[group].name.as_deref(), (!is_through).then_some(span));
            crossing(name, (enter, leave), &hosts[group])
        };
        let crossings = pairs.iter().map(crossing).collect();
        Self::Lot(parking_lot::ParkingLot { bottlenecks, crossings, packet }, pairs)
    }

    /// Adds hosts for `flows` flows between `ends`. Hosts without flows would only take memory.
    pub(crate) fn make_room(&mut self, ends: Ends, flows: usize) {
        if let (Self::Lot(lot, pairs), Ends::Pairs { access, enter, leave }) = (self, ends)
            && let Some(crossing) = pairs.iter().position(|pair| *pair == (access, enter, leave))
        {
            let crossing = &mut lot.crossings[crossing];
            crossing.built = crossing.built.max(flows.min(crossing.hosts));
        }
    }

    /// The network, without flows.
    pub(crate) fn network(&self, duration: Span, warmup: Span, sample: Span) -> Network {
        match self {
            Self::Lot(lot, _) => lot.network(duration, warmup, sample),
            Self::Graph(graph) => graph.network(duration, warmup, sample),
        }
    }

    /// Which hosts flows between `ends` connect; adds the routes of these flows to `net`. `None` if there is no route.
    pub(crate) fn way(&self, net: &mut Network, ends: Ends, direction: Direction) -> Option<Way> {
        match (self, ends) {
            (Self::Lot(_, pairs), Ends::Pairs { access, enter, leave }) => {
                pairs.iter().position(|pair| *pair == (access, enter, leave)).map(Way::Crossing)
            }
            (Self::Graph(graph), Ends::Nodes { from, to }) => {
                let (from, to) = if direction == Direction::Forward { (from, to) } else { (to, from) };
                graph.attach(net, from, to).map(Way::Nodes)
            }
            _ => None,
        }
    }

    /// The hosts and routes of flow number `i` among the flows that connect the hosts `way`.
    pub(crate) fn attach(&self, way: &Way, i: usize, direction: Direction) -> Place {
        match (self, way) {
            (Self::Lot(lot, _), Way::Crossing(crossing)) => {
                let host = lot.pair(*crossing, i);
                let bit = u32::from(direction == Direction::Reverse);
                Place { at: lot.attach(*crossing, i, towards(direction)), host, pair: 2 * host as u32 + bit }
            }
            (Self::Graph(graph), Way::Nodes(at)) => {
                Place { at: *at, host: at.from, pair: (at.from * graph.nodes.len() + at.to) as u32 }
            }
            _ => unreachable!("ways come from the same layout"),
        }
    }

    /// The hosts and routes `at`, but with separate links on the senders' side, which have these delays. In a graph,
    /// which has no such side, `at` is unchanged.
    pub(crate) fn apart(
        &self,
        net: &mut Network,
        at: Attachment,
        direction: Direction,
        name: &str,
        delays: (Span, Span),
    ) -> Attachment {
        match self {
            Self::Lot(lot, _) => lot.apart(net, at, towards(direction), name, delays),
            Self::Graph(_) => at,
        }
    }
}

const fn towards(direction: Direction) -> parking_lot::Direction {
    match direction {
        Direction::Forward => parking_lot::Direction::Forward,
        Direction::Reverse => parking_lot::Direction::Reverse,
    }
}

/// Number of hosts that may send. The numbers of hosts ([`Place::host`]) are below it.
pub(crate) fn senders(net: &Topology, flows: &[FlowGroup]) -> u64 {
    match net {
        Topology::Graph(graph) => graph.nodes.len() as u64,
        _ => pairs(net, flows).into_iter().map(|(access, ..)| u64::from(net.hosts()[access].access.hosts)).sum(),
    }
}

/// The crossings, each of which has separate hosts. A dumbbell has one per access group. A parking lot has one per
/// access group and range of bottlenecks that flows use.
fn pairs(net: &Topology, flows: &[FlowGroup]) -> Vec<Pairs> {
    match net {
        Topology::ParkingLot(_) => used(flows),
        _ => (0..net.hosts().len()).map(|access| (access, 0, 0)).collect(),
    }
}

/// The access groups and ranges of bottlenecks that flows use, in order of first use.
fn used(flows: &[FlowGroup]) -> Vec<Pairs> {
    let mut out = Vec::new();
    for group in flows {
        if let Ends::Pairs { access, enter, leave } = group.ends
            && !out.contains(&(access, enter, leave))
        {
            out.push((access, enter, leave));
        }
    }
    out
}

/// Name of a crossing: the name of its access group and, unless it uses all bottlenecks, the first and the last
/// bottleneck.
fn crossing_name(group: Option<&str>, span: Option<(&str, &str)>) -> String {
    let span = span.map(|(enter, leave)| if enter == leave { enter.to_string() } else { format!("{enter}..{leave}") });
    [group.map(str::to_string), span].into_iter().flatten().collect::<Vec<_>>().join("/")
}

fn crossing(name: String, (enter, leave): (usize, usize), Hosts { access, egress, .. }: &Hosts) -> Crossing {
    Crossing {
        name,
        enter,
        leave,
        hosts: access.hosts as usize,
        built: 1,
        jitter: access.jitter,
        delays: access.delays.clone(),
        access: access.lane(),
        egress: egress.lane(),
    }
}

fn edges(graph: &Graph, links: &[NamedLink<'_>], lane: impl Fn(&NamedLink<'_>) -> Lane, packet: u16) -> graph::Graph {
    let mut named = links.iter();
    let mut edges = Vec::with_capacity(links.len());
    for edge in &graph.links {
        let (from, to) = (edge.from.number, edge.to.number);
        let ways = [(from, to)].into_iter().chain(edge.link.reverse.is_some().then_some((to, from)));
        // `links` has each link, followed by its reverse direction if it has one.
        edges.extend(ways.zip(&mut named).map(|((from, to), link)| graph::Edge {
            name: link.name.clone(),
            from,
            to,
            weight: edge.weight,
            lane: lane(link),
        }));
    }
    graph::Graph { nodes: graph.nodes.clone(), edges, jitter: graph.jitter, packet }
}
