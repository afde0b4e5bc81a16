//! Buffers given as time or as bandwidth-delay products: `queue = "50ms"`, `queue = "1bdp"`.
//!
//! [`resolve`] replaces them by bytes before a case (combination of the values of the keys that vary) is read as a
//! typed scenario. A time becomes the number of bytes that the link sends in this time. A bandwidth-delay product
//! becomes the number of bytes that the link sends in the mean base round trip of the flows that cross it.
//!
//! The base round trip of a group of flows is the mean of the group's key `rtt`. Without this key it is the propagation
//! delay of all links from the senders to the receivers and back; if the delays of the senders' links differ, their
//! mean counts. The mean over groups is weighted by the number of flows. A flow crosses the links of both directions.

use forebay_aqm::Spec;
use forebay_aqm::base::text;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;

use crate::build::layout::Layout;
use crate::build::limits;
use crate::input::InputError;
use crate::scenario::{Ends, FlowGroup, Node, Scenario, Topology, Value, read};

const KEY: &str = "queue";
/// Stands for a buffer given as time or bandwidth-delay product while the sizes of the buffers are not known.
const UNKNOWN: &str = "1000000p";
const UNUSED: &str = "a size such as 100p, 160kb or 50ms, as no flow crosses this link";

/// A buffer relative to the rate of its link.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Relative {
    Time(Span),
    /// Multiple of the bandwidth-delay product.
    Bdp(f64),
}

fn relative(words: &str) -> Option<Relative> {
    if let Some(number) = words.trim().strip_suffix("bdp") {
        let number = text::number(number.trim()).ok().filter(|number| *number > 0.0 && *number <= 1e6);
        return number.map(Relative::Bdp);
    }
    text::span(words).ok().filter(|span| *span > Span::ZERO).map(Relative::Time)
}

/// Keys and item numbers that lead to a table below `topology`.
type Path = Vec<String>;

/// Replaces every buffer of the topology that is a time or a bandwidth-delay product by its size in bytes. `name` is
/// the default title of the scenario.
///
/// # Errors
/// The case is not a scenario, or no flow crosses a link whose buffer is a bandwidth-delay product.
pub(crate) fn resolve(root: &mut Node, name: &str) -> Result<(), InputError> {
    let mut buffers = Vec::new();
    if let Some(topology) = root.get("topology") {
        find(topology, &mut Path::new(), &mut buffers);
    }
    if buffers.is_empty() {
        return Ok(());
    }
    let mut probe = root.clone();
    for (path, _) in &buffers {
        put(&mut probe, path, UNKNOWN);
    }
    let scenario = read::scenario(&probe, name)?;
    limits::check(&probe, &scenario)?;
    let groups = Groups::of(&scenario);
    for (path, buffer) in buffers {
        let (rate, crossing) = groups.at(root, &path);
        let seconds = match buffer {
            Relative::Time(span) => span.secs(),
            Relative::Bdp(times) => times * crossing.ok_or_else(|| unused(root, &path))?,
        };
        put(root, &path, &format!("{}b", (rate.0 as f64 * seconds / 8.0).round().max(1.0)));
    }
    Ok(())
}

/// Collects the relative buffers in `node`, which is at `path`, with the paths of their tables.
fn find(node: &Node, path: &mut Path, out: &mut Vec<(Path, Relative)>) {
    let mut inside = |key: String, node: &Node, out: &mut Vec<(Path, Relative)>| {
        path.push(key);
        find(node, path, out);
        path.pop();
    };
    match &node.value {
        Value::Table(entries) => {
            for entry in entries {
                inside(entry.key.clone(), &entry.node, out);
            }
        }
        Value::List(items) => items.iter().enumerate().for_each(|(i, item)| inside(i.to_string(), item, out)),
        Value::Text(words) if path.last().is_some_and(|key| key == KEY) => {
            if let Some(buffer) = relative(words) {
                out.push((path[..path.len() - 1].to_vec(), buffer));
            }
        }
        _ => {}
    }
}

/// Sets the buffer of the table at `path` of the topology.
fn put(root: &mut Node, path: &Path, size: &str) {
    let path = ["topology"].into_iter().chain(path.iter().map(String::as_str)).chain([KEY]);
    let node = path.into_iter().try_fold(root, |node, key| match &mut node.value {
        Value::Table(entries) => entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node),
        Value::List(items) => items.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    });
    if let Some(node) = node {
        node.value = Value::Text(size.to_string());
    }
}

/// The error for a link that no flow crosses. It shows the path of the link's buffer with the names of list items
/// (`topology.access.NAME.queue`), not with their numbers.
fn unused(root: &Node, path: &Path) -> InputError {
    let mut key = "topology".to_string();
    let mut at = root.get("topology").unwrap_or(root);
    for segment in path {
        at = at.step(segment).unwrap_or(at);
        let name = at.get("name").and_then(Node::text).filter(|_| segment.parse::<usize>().is_ok());
        key = format!("{key}.{}", name.unwrap_or(segment));
    }
    at.get(KEY).unwrap_or(at).error(format!("{key}.{KEY}"), UNUSED)
}

/// Mean base round trip (without queueing) of the flows of a scenario, in seconds; `None` without flows.
pub(crate) fn mean_round_trip_s(scenario: &Scenario) -> Option<f64> {
    Groups::of(scenario).mean_s(|_, _| true)
}

/// The groups of flows that have at least one flow, each with its base round trip in seconds and the links that it
/// crosses (indices in [`Topology::links`]).
struct Groups<'a> {
    scenario: &'a Scenario,
    groups: Vec<(&'a FlowGroup, f64, Vec<usize>)>,
}

impl<'a> Groups<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        let layout = Layout::new(scenario, &Spec::default());
        let groups = scenario.flows.iter().filter(|group| group.count > 0);
        let group = |group: &'a FlowGroup| {
            let crossed = crossed(scenario, group, &layout);
            (group, round_trip_s(scenario, group, &crossed), crossed)
        };
        Self { scenario, groups: groups.map(group).collect() }
    }

    /// Rate of the link whose table is at `path` below `topology`, and the mean base round trip in seconds of the flows
    /// that cross it; `None` if no flow does.
    fn at(&self, root: &Node, path: &Path) -> (Rate, Option<f64>) {
        let topology = &self.scenario.topology;
        let hosts = topology.hosts();
        let of_hosts = |group: &FlowGroup, is_of: &dyn Fn(usize) -> bool| match group.ends {
            Ends::Pairs { access, .. } => is_of(access),
            Ends::Nodes { .. } => false,
        };
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let number = |key: &str| key.parse::<usize>().unwrap_or(0);
        match keys.as_slice() {
            ["access"] => (hosts[0].access.rate, self.mean_s(|_, _| true)),
            ["access", i] => {
                (hosts[number(i)].access.rate, self.mean_s(|group, _| of_hosts(group, &|n| n == number(i))))
            }
            ["access", i, ..] => {
                (hosts[number(i)].egress.rate, self.mean_s(|group, _| of_hosts(group, &|n| n == number(i))))
            }
            ["egress"] => {
                let access = root.get("topology").and_then(|topology| topology.get("access"));
                let has_own = |i: usize| access.and_then(|all| all.step(&i.to_string())?.get("egress")).is_some();
                let first = (0..hosts.len()).find(|i| !has_own(*i)).unwrap_or(0);
                (hosts[first].egress.rate, self.mean_s(|group, _| of_hosts(group, &|n| !has_own(n))))
            }
            _ => {
                let links = topology.links();
                let at = links.iter().position(|link| link.path == *path).unwrap_or(0);
                (links[at].link.rate, self.mean_s(|_, crossed| crossed.contains(&at)))
            }
        }
    }

    /// Mean base round trip of the flows of the groups that `is_in` selects by the group and the links that it crosses.
    fn mean_s(&self, is_in: impl Fn(&FlowGroup, &[usize]) -> bool) -> Option<f64> {
        let (mut flows, mut sum) = (0.0, 0.0);
        for (group, round_trip, _) in self.groups.iter().filter(|(group, _, crossed)| is_in(group, crossed)) {
            flows += f64::from(group.count);
            sum += f64::from(group.count) * round_trip;
        }
        (flows > 0.0).then(|| sum / flows)
    }
}

/// The links of [`Topology::links`] that a group crosses in either direction.
fn crossed(scenario: &Scenario, group: &FlowGroup, layout: &Layout) -> Vec<usize> {
    match (group.ends, &scenario.topology, layout) {
        (Ends::Nodes { from, to }, _, Layout::Graph(graph)) => {
            // Edge number n of the graph is link number n.
            [graph.route(from, to), graph.route(to, from)].into_iter().flatten().flatten().collect()
        }
        (Ends::Pairs { enter, leave, .. }, ..) => (2 * enter..2 * leave + 2).collect(),
        _ => Vec::new(),
    }
}

fn round_trip_s(scenario: &Scenario, group: &FlowGroup, crossed: &[usize]) -> f64 {
    if let Some(rtt) = &group.rtt {
        return rtt.mean_s();
    }
    let topology: &Topology = &scenario.topology;
    let links = topology.links();
    let shared: f64 = crossed.iter().map(|link| links[*link].link.delay.secs()).sum();
    let Ends::Pairs { access, .. } = group.ends else { return shared };
    let hosts = &topology.hosts()[access];
    let delays = &hosts.access.delays;
    let mean = delays.iter().map(|delay| delay.secs()).sum::<f64>() / delays.len() as f64;
    shared + 2.0 * (hosts.egress.delay.secs() + mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{self, Overrides};
    use forebay_aqm::base::units::Limit;
    use proptest::prelude::{prop, prop_assert, proptest};

    const BELL: &str = "version = 1\nduration = \"20s\"\n[topology]\nkind = \"dumbbell\"\n\
        bottleneck = { rate = \"10mbit\", delay = \"10ms\", queue = \"50ms\" }\n\
        access = { rate = \"100mbit\", delays = [\"5ms\", \"15ms\"] }\negress = { delay = \"5ms\" }\n\
        [[flows]]\nkind = \"ftp\"\n";

    const LOT: &str = "version = 1\nduration = \"20s\"\n[topology]\nkind = \"parking-lot\"\n\
        bottlenecks = [{ rate = \"10mbit\", delay = \"10ms\", queue = \"1bdp\" },\n\
        { rate = \"20mbit\", delay = \"20ms\", queue = \"1bdp\",\n\
        reverse = { delay = \"30ms\", rate = \"2mbit\", queue = \"1bdp\" } }]\n\
        access = [{ name = \"a\", rate = \"100mbit\", delays = [\"1ms\", \"5ms\"], queue = \"1bdp\" },\n\
        { name = \"b\", rate = \"1mbit\", delays = [\"4ms\"], queue = \"1bdp\",\n\
        egress = { delay = \"6ms\", queue = \"1bdp\" } }]\n\
        egress = { delay = \"2ms\", queue = \"0.5bdp\" }\n\
        [[flows]]\nname = \"through\"\nkind = \"ftp\"\ncount = 2\n\
        [[flows]]\nname = \"first\"\nkind = \"ftp\"\ncount = 6\nleave = \"b1\"\n\
        [[flows]]\nname = \"second\"\nkind = \"ftp\"\nenter = \"b2\"\nrtt = { uniform = [\"90ms\", \"110ms\"] }\n\
        [[flows]]\nname = \"other\"\nkind = \"cbr\"\nrate = \"1mbit\"\nhosts = \"b\"\nleave = \"b1\"\n";

    const GRAPH: &str = "version = 1\nduration = \"2s\"\n[topology]\nkind = \"graph\"\nnodes = [\"a\", \"b\", \"c\"]\n\
        links = [{ from = \"a\", to = \"b\", rate = \"10mbit\", delay = \"10ms\", queue = \"1bdp\", study = true },\n\
        { from = \"b\", to = \"c\", rate = \"5mbit\", delay = \"20ms\", queue = \"1bdp\",\n\
        reverse = { delay = \"5ms\" } },\n\
        { from = \"a\", to = \"c\", weight = 9, rate = \"5mbit\", delay = \"1ms\", queue = \"9p\" }]\n\
        [[flows]]\nname = \"one\"\nkind = \"ftp\"\nfrom = \"a\"\nto = \"c\"\n\
        [[flows]]\nname = \"two\"\nkind = \"ftp\"\nfrom = \"b\"\nto = \"a\"\ncount = 2\n";

    fn scenario(text: &str, sets: &[&str]) -> Result<Scenario, InputError> {
        let sets = sets.iter().map(|set| (*set).to_string()).collect();
        let cases = load::parse("a.toml", text, &Overrides { sets, ..Overrides::default() })?;
        Ok(cases.into_iter().next().unwrap().scenario)
    }

    fn limits(text: &str, sets: &[&str]) -> Vec<Limit> {
        let scenario = scenario(text, sets).unwrap_or_else(|e| panic!("{e}"));
        scenario.topology.links().iter().map(|link| link.link.limit).collect()
    }

    #[test]
    fn buffer_time_becomes_bytes_at_link_rate() {
        assert_eq!(limits(BELL, &[])[0], Limit::Bytes(62_500));
        assert_eq!(limits(BELL, &["topology.bottleneck.rate=20mbit"])[0], Limit::Bytes(125_000));
        let rates = scenario(BELL, &["topology.egress.queue=10ms"]).unwrap();
        assert_eq!(rates.topology.hosts()[0].egress.queue, Limit::Bytes(125_000), "the default is the rate of access");
    }

    /// At 10 Mb/s, the round trip of 2 x (10 + 5 + 10) ms corresponds to 62,500 bytes. If the bottleneck has a delay of
    /// 20 ms instead of 10 ms in the reverse direction, these are 12,500 bytes more. An `rtt` replaces the round trip.
    #[test]
    fn bdp_uses_round_trip_without_queueing() {
        let bdp = |sets: &[&str]| limits(BELL, &[&["topology.bottleneck.queue=1bdp"], sets].concat())[0];
        assert_eq!(bdp(&[]), Limit::Bytes(62_500));
        assert_eq!(bdp(&["flows.ftp.count=7"]), Limit::Bytes(62_500));
        assert_eq!(bdp(&["topology.bottleneck.queue=0.5bdp"]), Limit::Bytes(31_250));
        assert_eq!(bdp(&["topology.bottleneck.reverse.delay=20ms"]), Limit::Bytes(75_000));
        assert_eq!(bdp(&["flows.ftp.rtt=80ms"]), Limit::Bytes(100_000));
        assert_eq!(bdp(&["flows.ftp.rtt={ measured = ['40ms', '40ms', '160ms'] }"]), Limit::Bytes(100_000));
    }

    /// Base round trips of the groups of flows in a parking lot, the scenario [`LOT`]: `through` 20 + 50 + 4 + 6 = 80
    /// ms, `first` 20 + 4 + 6 = 30 ms, `second` 100 ms by its `rtt`, `other` 20 + 12 + 8 = 40 ms. Means over the flows
    /// of a link: bottleneck b1 (2 x 80 + 6 x 30 + 40) / 9 = 42.222 ms, bottleneck b2 (2 x 80 + 100) / 3 = 86.667 ms,
    /// links of the hosts a (2 x 80 + 6 x 30 + 100) / 9 = 48.889 ms, of the hosts b 40 ms.
    #[test]
    fn bdp_in_parking_lots_uses_crossing_flows() {
        let bytes = [52_778, 52_778, 216_667, 21_667].map(Limit::Bytes);
        assert_eq!(limits(LOT, &[]), bytes);
        let lot = scenario(LOT, &[]).unwrap();
        let hosts: Vec<[Limit; 2]> = lot.topology.hosts().iter().map(|h| [h.access.queue, h.egress.queue]).collect();
        // The receivers' links have the rates of the senders' links, 100 and 1 Mb/s.
        assert_eq!(hosts, [[611_111, 305_556], [5000, 5000]].map(|pair| pair.map(Limit::Bytes)));
        assert_eq!(
            load::parse("b.toml", &lot.to_toml(), &Overrides::default()).unwrap()[0].scenario.topology,
            lot.topology
        );
    }

    /// Base round trips in a graph, the scenario [`GRAPH`]: one flow from a to c and back 10 + 20 + 5 + 10 = 45 ms, two
    /// flows from b to a and back 20 ms. The link a-b carries all three; their mean is 28.333 ms.
    #[test]
    fn bdp_in_graphs_uses_routes() {
        let limit = [35_417, 35_417, 28_125, 28_125].map(Limit::Bytes);
        assert_eq!(limits(GRAPH, &[])[..4], limit);
        assert_eq!(
            limits(GRAPH, &["topology.links.a-c.weight=1", "topology.links.b-c.queue=9p"])[0],
            Limit::Bytes(25_000),
            "now only b to a"
        );
    }

    #[test]
    fn bdp_without_crossing_flow_is_refused() {
        for (text, set, key, found) in [
            (GRAPH, "topology.links.a-c.queue=1bdp", "topology.links.2.queue", "1bdp"),
            (LOT, "flows.other.hosts=a", "topology.access.b.queue", "1bdp"),
            (LOT, "flows.*={ kind = 'ftp', leave = 'b1' }", "topology.bottlenecks.1.queue", "1bdp"),
            (BELL, "flows.ftp.count=0", "topology.bottleneck.queue", "1bdp"),
        ] {
            let names = "flows.0.name=x";
            let more = ["flows.1.name=y", "flows.2.name=z", "flows.3.name=w"];
            let sets: Vec<&str> = match (text == BELL, set.starts_with("flows.*")) {
                (true, _) => vec![set, "topology.bottleneck.queue=1bdp"],
                (_, true) => [&[set, names], &more[..]].concat(),
                _ => vec![set],
            };
            let error = scenario(text, &sets).expect_err(set);
            assert_eq!((error.key.as_str(), error.found.as_str()), (key, found), "{error}");
            assert!(error.accepts.contains("no flow crosses this link"), "{error}");
        }
    }

    #[test]
    fn invalid_buffer_errors_state_their_location() {
        let error = scenario(BELL, &["topology.bottleneck.queue=50mz"]).unwrap_err().to_string();
        assert!(error.contains("topology.bottleneck.queue") && error.contains("50ms"), "{error}");
        let text = GRAPH.replace("to = \"a\"", "to = \"x\"");
        let error = scenario(&text, &[]).unwrap_err();
        assert_eq!((error.key.as_str(), error.line), ("flows.two.to", Some(19)), "{error}");
    }

    proptest! {
        /// A buffer of one bandwidth-delay product holds what the link sends in a time between the shortest and the
        /// longest base round trip.
        #[test]
        fn bdp_is_between_those_of_extreme_rtts(
            counts in prop::collection::vec(0..50u32, 3),
            times in prop::collection::vec(60..900u64, 3),
        ) {
            let names = ["x", "y", "z"];
            let mut text = BELL.split("[[flows]]").next().unwrap().replace("\"50ms\"", "\"1bdp\"");
            for ((count, time), name) in counts.iter().zip(&times).zip(names) {
                text += &format!("[[flows]]\nkind = \"ftp\"\nname = \"{name}\"\ncount = {count}\nrtt = \"{time}ms\"\n");
            }
            let used = counts.iter().zip(&times).filter(|(count, _)| **count > 0);
            let used: Vec<u64> = used.map(|(_, time)| *time).collect();
            match scenario(&text, &[]) {
                Err(error) => prop_assert!(used.is_empty(), "{}", error),
                Ok(scenario) => {
                    // 10 Mb/s are 1250 bytes in a millisecond.
                    let range = 1250 * used.iter().min().unwrap()..=1250 * used.iter().max().unwrap();
                    let limit = scenario.topology.links()[0].link.limit;
                    prop_assert!(matches!(limit, Limit::Bytes(bytes) if range.contains(&bytes)), "{:?}", limit);
                }
            }
        }
    }
}
