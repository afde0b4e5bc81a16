//! Translates a scenario to a network for the simulator: groups of flows become single flows, random times are drawn.

use std::collections::BTreeMap;
use std::ops::Range;

use forebay_aqm::Spec;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::network::{Attachment, FlowSpec, MarkerId, MarkerSpec, Network};

use crate::build::layout::{Layout, Place, Way};
use crate::build::own_links::OwnLinks;
use crate::figures::class_column::ClassColumn;
use crate::figures::flow_column::FlowColumn;
use crate::scenario::{Arrivals, Class, FlowGroup, Marker, Part, Per, Scenario};

/// Rows of each recorded time series in a run of up to 1000 s.
const SERIES_ROWS: u64 = 1000;
/// Longest time between two rows. Settling times are computed from at least one row per second.
const LONGEST_SAMPLE: Span = Span::from_millis(1000);

/// The network of `scenario` with `discipline` at the links whose discipline the scenario compares. The random times
/// of flows use separate random streams, so that they are the same for every discipline.
pub fn network(scenario: &Scenario, discipline: &Spec, seed: u64) -> Network {
    let mut layout = Layout::new(scenario, discipline);
    let lives: Vec<Vec<Life>> = scenario.flows.iter().map(|group| lives(group, scenario.duration, seed)).collect();
    for (group, lives) in scenario.flows.iter().zip(&lives) {
        layout.make_room(group.ends, lives.iter().map(|life| life.number as usize + 1).max().unwrap_or(0));
    }
    let sample = Span::from_nanos((scenario.duration.nanos() / SERIES_ROWS).max(1)).min(LONGEST_SAMPLE);
    let mut net = layout.network(scenario.duration, scenario.warmup, sample);
    net.classes = scenario.report.series.iter().filter_map(|name| Some(ClassColumn::parse(name)?.class)).collect();
    net.classes.sort_unstable();
    net.classes.dedup();
    let mut builder = Builder { scenario, seed, net, numbers: Vec::new(), buckets: BTreeMap::new() };
    for (number, (group, lives)) in scenario.flows.iter().zip(lives).enumerate() {
        // Reading checked that each group has a route.
        if let Some(way) = layout.way(&mut builder.net, group.ends, group.direction) {
            builder.add_group(number as u32, group, lives, &layout, &way);
        }
    }
    bundle(&mut builder.net.flows);
    builder.net.tracks = tracks(scenario, &builder.net.flows, &builder.numbers);
    builder.net
}

/// The flows (indices in `flows`) of each time series that the scenario requests: all flows of a group, or one of them.
/// `numbers`: the number of each flow in its group. A flow with several active windows, or whose recording has several
/// service classes, has several entries.
fn tracks(scenario: &Scenario, flows: &[FlowSpec], numbers: &[u32]) -> Vec<Vec<usize>> {
    let of_group = |name: &str| {
        let number = scenario.flows.iter().position(|group| group.name == name);
        let is_in = move |(_, flow): &(usize, &FlowSpec)| number == Some(flow.group as usize);
        flows.iter().enumerate().filter(is_in).map(|(at, _)| at)
    };
    let track = |(_, column): (&str, FlowColumn<'_>)| match column.flow {
        None => of_group(column.group).collect(),
        Some(n) => of_group(column.group).filter(|flow| numbers[*flow] as usize == n).collect(),
    };
    scenario.flow_columns().into_iter().map(track).collect()
}

/// Sets the bundle of each flow, the number of its class of traffic in results. It is the flow's service class if any
/// flow has a service class other than 0 or there are more than 256 groups. Otherwise it is the number of the flow's
/// group.
fn bundle(flows: &mut [FlowSpec]) {
    let by_class = flows.iter().any(|flow| flow.class != 0 || flow.group > u32::from(u8::MAX));
    flows.iter_mut().for_each(|flow| flow.bundle = if by_class { flow.class } else { flow.group as u8 });
}

/// A network under construction.
struct Builder<'a> {
    scenario: &'a Scenario,
    seed: u64,
    net: Network,
    /// The number in its group of each flow of `net`.
    numbers: Vec<u32>,
    /// Token-bucket markers created so far, by owner.
    buckets: BTreeMap<Owner, MarkerId>,
}

/// Owner of a token bucket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    /// A flow or a host of one group: the number of the group, then the number of the flow or host.
    Group(u32, usize),
    /// A host, for all groups of flows whose token buckets have equal parameters: the number of the host, the rate in
    /// bit/s, the burst in bytes.
    Edge(usize, u64, u64),
}

impl Owner {
    const fn of(marker: &Marker, packet: u32, group: u32, flow: u32, host: usize) -> Self {
        match marker.per {
            Per::Host => Self::Group(group, host),
            Per::Flow => Self::Group(group, flow as usize),
            Per::Edge => Self::Edge(host, marker.cir.0, marker.burst(packet).0),
        }
    }
}

/// A period in which a flow of a group is active.
struct Life {
    /// Number of the flow in its group, which selects its hosts.
    number: u32,
    start: Span,
    stop: Span,
}

fn lives(group: &FlowGroup, duration: Span, seed: u64) -> Vec<Life> {
    let mut rng = Rng::stream(seed, &format!("group/{}", group.name));
    let mut lives = Vec::new();
    for (from, to) in group.active_within(duration) {
        if let Some(arrivals) = group.kind.arrivals() {
            (0..group.count).for_each(|_| arrive(&mut lives, arrivals, from..to, &mut rng));
        } else if let Some(start) = group.start {
            let life = |number| Life { number, start: from + start.draw(&mut rng), stop: to };
            lives.extend((0..group.count).map(life));
        }
    }
    lives
}

impl Builder<'_> {
    fn add_group(&mut self, number: u32, group: &FlowGroup, lives: Vec<Life>, layout: &Layout, way: &Way) {
        let mut own = OwnLinks::new(group, &self.scenario.topology, self.seed);
        let parts = group.kind.parts(group.codepoint().is_capable());
        let packet = group.kind.packet(self.scenario.packet);
        let mut places = Rng::stream(self.seed, &format!("group/{}/places", group.name));
        for (serial, life) in lives.into_iter().enumerate() {
            let pair = life.number as usize;
            let Place { at, host, pair: place_pair } = layout.attach(way, pair, group.direction);
            let at = own.as_mut().map_or(at, |own| own.attach(&mut self.net, layout, pair, at));
            let Attachment { from, to, forward, back } = at;
            let place = places.uniform();
            for (part, Part { class: own_class, traffic }) in parts.iter().enumerate() {
                let marker = group.marker.map(|marker| self.marker(&marker, packet, number, life.number, from));
                let name = match (part, own_class) {
                    // The first part has the name of a flow with one part.
                    (1.., None) => format!("{}/{serial}/connection-{part}", group.name),
                    _ => format!("{}/{serial}", group.name),
                };
                self.numbers.push(life.number);
                self.net.flows.push(FlowSpec {
                    group: number,
                    name: own_class.map_or(name.clone(), |class| format!("{name}/class-{class}")),
                    from,
                    to,
                    forward,
                    back,
                    start: Instant::ZERO + life.start,
                    stop: (life.stop < self.scenario.duration).then_some(Instant::ZERO + life.stop),
                    traffic: traffic(place),
                    packet: packet as u16,
                    class: own_class.unwrap_or(match group.class {
                        Class::Fixed(class) => class,
                        Class::Host => host as u8,
                    }),
                    dscp: group.dscp.unwrap_or_default(),
                    bundle: 0,
                    ecn: group.codepoint(),
                    pair: place_pair,
                    marker,
                });
            }
        }
    }

    /// The token-bucket marker of flow number `flow` of group `group`; the flow starts at `host` and has packets of
    /// `packet` bytes.
    fn marker(&mut self, marker: &Marker, packet: u32, group: u32, flow: u32, host: usize) -> MarkerId {
        let net = &mut self.net;
        *self.buckets.entry(Owner::of(marker, packet, group, flow, host)).or_insert_with(|| {
            net.markers.push(MarkerSpec { cir: marker.cir, cbs: marker.burst(packet) });
            net.markers.len() - 1
        })
    }
}

/// Appends flows that arrive as a Poisson process within `window`. Each has a random lifetime, and ends with the window
/// at the latest.
fn arrive(lives: &mut Vec<Life>, arrivals: Arrivals, window: Range<Span>, rng: &mut Rng) {
    let mut start = window.start;
    loop {
        start = start + Span::from_secs(rng.exponential(1.0 / arrivals.rate));
        if start >= window.end {
            return;
        }
        let stop = (start + arrivals.lifetime.draw(rng)).min(window.end);
        lives.push(Life { number: lives.len() as u32, start, stop });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use crate::scenario::Overrides;

    /// The network of a dumbbell with two host pairs and these groups of flows, for 10 s.
    fn lowered(flows: &str) -> Network {
        lowered_from("access = { rate = \"10mbit\", delays = [\"10ms\"], hosts = 2 }", flows)
    }

    /// The network of a dumbbell with these links of the senders and these groups of flows.
    fn lowered_from(access: &str, flows: &str) -> Network {
        let text = format!(
            r#"
            version = 1
            duration = "10s"
            [topology]
            kind = "dumbbell"
            bottleneck = {{ rate = "10mbit", delay = "10ms", queue = "100p" }}
            {access}
            egress = {{ delay = "10ms" }}
            {flows}
            "#
        );
        let case = load::parse("s.toml", &text, &Overrides::default()).unwrap().remove(0);
        network(&case.scenario, &case.scenario.compare[0].spec, 1)
    }

    #[test]
    fn flows_between_same_hosts_have_same_pair_id() {
        let net = lowered(
            "[[flows]]\nkind = \"ftp\"\ncount = 5\n\
             [[flows]]\nname = \"back\"\nkind = \"ftp\"\ncount = 3\ndirection = \"reverse\"\n",
        );
        let pairs: Vec<u32> = net.flows.iter().map(|flow| flow.pair).collect();
        assert_eq!(pairs, [0, 2, 0, 2, 0, 1, 3, 1]);
    }

    /// The host pairs that are built keep the numbers that they have among all hosts of the scenario.
    #[test]
    fn only_hosts_that_have_flows_are_built() {
        let flows = |count| {
            format!(
                "[[flows]]\nkind = \"ftp\"\nname = \"few\"\ncount = {count}\nclass = \"host\"\n\
                 [[flows]]\nkind = \"ftp\"\nname = \"more\"\ncount = 5\nhosts = \"near\"\nclass = \"host\"\n\
                 [[flows]]\nkind = \"ftp\"\nname = \"none\"\ncount = 0\nhosts = \"near\"\n"
            )
        };
        let two = "access = [{ name = \"far\", rate = \"10mbit\", delays = [\"1ms\"], hosts = 100 },\
                   { name = \"near\", rate = \"10mbit\", delays = [\"1ms\", \"2ms\"], hosts = 4 }]";
        let net = lowered_from(two, &flows(2));
        assert_eq!(net.hosts.len(), 2 * (2 + 4));
        assert_eq!((net.links.len(), net.routes.len()), (2 + 4 * 6, 2 * 6));
        let classes: Vec<u8> = net.flows.iter().map(|flow| flow.class).collect();
        assert_eq!(classes, [0, 1, 100, 101, 102, 103, 100]);
        assert!(net.flows.iter().all(|flow| flow.pair == 2 * u32::from(flow.class)));
        let names = |i: usize| [net.flows[i].from, net.flows[i].to].map(|host| net.hosts[host].name.as_str());
        assert_eq!((names(1), names(5)), (["client/far/1", "server/far/1"], ["client/near/3", "server/near/3"]));
        let back: Vec<&str> = net.routes[net.flows[5].back].iter().map(|&l| net.links[l].name.as_str()).collect();
        assert_eq!(back, ["egress-back/near/3", "reverse", "access-back/near/3"]);
    }

    #[test]
    fn token_buckets_are_per_host_or_per_flow() {
        let marker = |per: &str| {
            format!(
                "[[flows]]\nkind = \"ftp\"\ncount = 5\nactive = [[\"0s\", \"2s\"], [\"3s\", \"end\"]]\n\
                 marker = {{ kind = \"token-bucket\", cir = \"1mbit\", cbs = \"8p\"{per} }}\n\
                 [[flows]]\nkind = \"cbr\"\nrate = \"1mbit\"\n\
                 [[flows]]\nkind = \"cbr\"\nname = \"own\"\nrate = \"1mbit\"\npacket = 200\n\
                 marker = {{ kind = \"token-bucket\", cir = \"2mbit\", cbs = \"3p\" }}\n"
            )
        };
        let ids = |net: &Network| net.flows.iter().map(|flow| flow.marker).collect::<Vec<_>>();
        let net = lowered(&marker(""));
        // Two hosts; five flows that are active twice each, one without a marker, one with a marker of its own.
        let host = |i: usize| Some(i % 2);
        let expected: Vec<_> = (0..5).chain(0..5).map(host).chain([None, Some(2)]).collect();
        assert_eq!(ids(&net), expected);
        let burst = |i: usize| net.markers[i].cbs.0;
        assert_eq!((net.markers.len(), burst(0), burst(2)), (3, 8 * net.flows[0].packet as u64, 600));
        let each = lowered(&marker(", per = \"flow\""));
        assert_eq!(ids(&each), (0..5).chain(0..5).map(Some).chain([None, Some(5)]).collect::<Vec<_>>());
    }

    /// With `per = "edge"` a host has one token bucket for its flows of all groups with an equal marker.
    #[test]
    fn groups_with_equal_edge_marker_share_hosts_bucket() {
        let group = |name: &str, cbs: &str| {
            format!(
                "[[flows]]\nkind = \"ftp\"\nname = \"{name}\"\ncount = 2\n\
                 marker = {{ kind = \"token-bucket\", cir = \"1mbit\", cbs = \"{cbs}\", per = \"edge\" }}\n"
            )
        };
        let net = lowered(&[group("a", "8p"), group("b", "8p"), group("c", "9p")].concat());
        let ids: Vec<_> = net.flows.iter().filter_map(|flow| flow.marker).collect();
        assert_eq!(ids, [0, 1, 0, 1, 2, 3]);
    }

    #[test]
    fn no_flow_arrives_after_the_run_ends() {
        let window = |to| {
            format!(
                "[[flows]]\nkind = \"short-tcp\"\narrivals = \"50/s\"\nlifetime = \"1s\"\nactive = [\"2s\", \"{to}\"]"
            )
        };
        let starts = |to| lowered(&window(to)).flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
        assert_eq!(starts("500s"), starts("end"));
        assert!(starts("end").len() > 300);
    }
}
