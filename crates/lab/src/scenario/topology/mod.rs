//! `[topology]`: the network.

mod access_networks;
mod net;
mod sides;
mod wire;

use std::collections::BTreeSet;

use forebay_aqm::Spec;
use forebay_aqm::base::text::{BadValue, show_span};
use forebay_sim::network::{Conditions, Lane};
use serde_json::Value as Json;

use crate::declare::{
    self, AQM, BUFFER, Flag, Form, Key, Keys, LINK_RATE, NAME, Setting, TIME, Table, Whole, is_plain, may, names, need,
    schema, table, text, whole_number,
};
use crate::document::{Node, Text};
use crate::input::{Found, InputError};
use sides::{JITTER, SIDES, sides, write_sides};

pub use net::{Bottleneck, Dumbbell, Edge, Ends, Graph, NamedLink, ParkingLot, Topology};
pub use sides::{Access, Egress};

/// Most nodes, links of a graph, and groups of hosts.
const MOST_NODES: usize = 10_000;
/// Most bottlenecks: with the hosts' links, the longest route.
const MOST_BOTTLENECKS: usize = 253;
/// Largest weight of a link.
const HEAVIEST: u32 = 1_000_000;

table! {
    impl Lane {
        /// Capacity, such as 10mbit; at most 100gbit. Needed without rate_trace.
        rate: Rate = LINK_RATE, or_else |table| wire::rate(table, None);
        /// One-way propagation delay, such as 10ms.
        delay: Span = TIME, or_like |link| link.delay;
        /// Buffer, such as 100p or 160kb; in bytes, at least the largest packet.
        limit as "queue": Limit = BUFFER, or_like |link| link.limit;
        /// Discipline, such as raqm q0=50; default droptail.
        discipline as "aqm": Spec = AQM, or Spec::default();
        + REVERSE;
        /// Losses and rate changes.
        ..conditions: Conditions;
        /// Whether the link is measured. Default: only links between two routers.
        - study: bool = |table: &Table<'_>| table.given(STUDY.name, &Flag).map(|study| study.unwrap_or(false));
    }
}

const REVERSE: Key = may("reverse", reverse_table, "The reverse direction of the link.");
const STUDY: Key = may("study", schema::flag, "Record results for this link; default true.");
const NO_STUDY: Key = may("study", schema::flag, "Record results for this link; default false.");

/// Keys of `reverse`; those of the wire follow.
const OF_REVERSE: &[Key] = &[
    may("rate", schema::quantity, "Capacity; default that of the forward direction."),
    may("delay", schema::quantity, "One-way propagation delay; default that of the forward direction."),
    may("queue", schema::quantity, "Buffer; default that of the forward direction."),
    may("aqm", schema::text, "Discipline; default droptail."),
];

fn reverse_keys() -> Vec<Key> {
    [OF_REVERSE.to_vec(), Conditions::keys(), vec![NO_STUDY]].concat()
}

fn reverse_table() -> Json {
    let doc = "Reverse direction of a link: rate, delay and queue default to the forward direction's.";
    schema::table(doc, None, &reverse_keys())
}

/// Further keys of a bottleneck of a parking lot, and of a link of a graph.
const OF_BOTTLENECK: &[Key] = &[may("name", schema::text, "Name; default b1, b2, ...")];
const OF_EDGE: &[Key] = &[
    may("name", schema::text, "Name; default from-to."),
    need("from", schema::text, "Node where the link begins."),
    need("to", schema::text, "Node where the link ends."),
    may("weight", || WEIGHT.schema(), "Routing cost in either direction; default 1."),
    may("one_way", schema::flag, "Whether the link has no reverse direction; default false."),
];

const WEIGHT: Whole<u32> = whole_number(1, HEAVIEST);

/// The keys of a link after those in `before`.
fn link_keys(before: &[Key], study: Key) -> Vec<Key> {
    [before.to_vec(), Lane::keys(), vec![study]].concat()
}

/// A kind of network: name, keys and reader.
struct Kind {
    word: &'static str,
    doc: &'static str,
    keys: &'static [&'static [Key]],
    read: fn(&Table<'_>) -> Result<Topology, InputError>,
}

static KINDS: [Kind; 3] = [
    Kind {
        word: "dumbbell",
        doc: "One bottleneck with hosts on either side.",
        keys: &[
            &[need(
                "bottleneck",
                || schema::table("The link under study.", None, &link_keys(&[], STUDY)),
                "The link under study.",
            )],
            SIDES,
        ],
        read: |table| dumbbell(table).map(|bell| Topology::Dumbbell(Box::new(bell))),
    },
    Kind {
        word: "parking-lot",
        doc: "Bottlenecks in a row, with hosts at their routers; flows choose where they enter and leave.",
        keys: &[
            &[need(
                "bottlenecks",
                || schema::many(schema::table("A bottleneck.", None, &link_keys(OF_BOTTLENECK, STUDY))),
                "The bottlenecks in order.",
            )],
            SIDES,
        ],
        read: |table| parking_lot(table).map(Topology::ParkingLot),
    },
    Kind {
        word: "graph",
        doc: "Nodes, each a host, and links. Routes minimise the sum of weights; the link declared first decides ties.",
        keys: &[&[
            need("nodes", || schema::any_of(schema::text()), "Names of the nodes."),
            need(
                "links",
                || schema::many(schema::table("A link between two nodes.", None, &link_keys(OF_EDGE, NO_STUDY))),
                "The links; bidirectional unless one_way is true.",
            ),
            may(
                "jitter",
                schema::quantity,
                "Processing time of a packet at its sending host, uniform from 0 to this; default 10us.",
            ),
        ]],
        read: |table| graph(table).map(Topology::Graph),
    },
];

/// All kinds of network.
pub(crate) fn topology_kinds() -> Vec<declare::Kind> {
    KINDS.iter().map(|kind| declare::Kind { word: kind.word, doc: kind.doc, keys: kind.keys.concat() }).collect()
}

/// JSON Schema of `[topology]`.
pub(super) fn topology_schema() -> Json {
    schema::one_of(topology_kinds().iter().map(declare::Kind::schema).collect())
}

/// Reads `[topology]`.
pub(super) fn topology(node: &Node) -> Result<Topology, InputError> {
    let table = Table::bare(node, "topology", Setting::default())?;
    let kind = table.word("kind", None, &KINDS.each_ref().map(|kind| (kind.word, kind)))?;
    table.expect(&[vec!["kind"], names(&kind.keys.concat())].concat(), &[])?;
    let topology = (kind.read)(&table)?;
    names_are_unique(node, &topology)?;
    if topology.links().iter().any(|l| l.link.study) {
        return Ok(topology);
    }
    Err(node.place.error("topology", Found::thing("no link under study"), "a link with study = true"))
}

fn dumbbell(table: &Table<'_>) -> Result<Dumbbell, InputError> {
    let node = table.node("bottleneck", "a table with rate, delay and queue")?;
    let of_it = Table::bare(node, "topology.bottleneck", table.setting)?;
    let (bottleneck, reverse) = both(&of_it, &[], true)?;
    let (access, egress) = sides(table)?;
    Ok(Dumbbell { bottleneck, reverse, access, egress })
}

fn parking_lot(table: &Table<'_>) -> Result<ParkingLot, InputError> {
    let items = tables(table, "bottlenecks", MOST_BOTTLENECKS)?;
    let mut bottlenecks = Vec::with_capacity(items.len());
    for (i, (item, path)) in items.into_iter().enumerate() {
        let of_it = Table::bare(item, &path, table.setting)?;
        let (forward, reverse) = both(&of_it, OF_BOTTLENECK, true)?;
        let name = of_it.given("name", &NAME)?.unwrap_or_else(|| format!("b{}", i + 1));
        bottlenecks.push(Bottleneck { name, forward, reverse });
    }
    let (access, egress) = sides(table)?;
    Ok(ParkingLot { bottlenecks, access, egress })
}

fn graph(table: &Table<'_>) -> Result<Graph, InputError> {
    const ACCEPTS: &str = "a list of two or more names, such as [\"a\", \"b\"]";
    let items = table.list("nodes", ACCEPTS)?;
    let mut nodes: Vec<String> = Vec::with_capacity(items.len());
    for (item, path) in &items {
        let node = text(item, path)?;
        if !is_plain(node) {
            return Err(item.error(path, "a name of letters, digits, - and _"));
        }
        if nodes.iter().any(|other| other == node) {
            return Err(item.error(path, "a name unique among nodes"));
        }
        nodes.push(node.to_string());
    }
    if !(2..=MOST_NODES).contains(&nodes.len()) {
        let accepts = if nodes.len() < 2 { ACCEPTS.to_string() } else { format!("at most {MOST_NODES} nodes") };
        return Err(table.bad("nodes", BadValue::new(accepts)));
    }
    let choices: Vec<(&str, usize)> = nodes.iter().enumerate().map(|(i, node)| (node.as_str(), i)).collect();
    let items = tables(table, "links", MOST_NODES)?;
    let links = items.into_iter().map(|(item, path)| edge(item, &path, &choices)).collect::<Result<_, _>>()?;
    let jitter = table.given("jitter", &TIME)?.unwrap_or(JITTER);
    Ok(Graph { nodes, links, jitter })
}

fn edge(node: &Node, path: &str, nodes: &[(&str, usize)]) -> Result<Edge, InputError> {
    let table = Table::bare(node, path, Setting::default())?;
    table.expect(&names(&link_keys(OF_EDGE, NO_STUDY)), &[])?;
    let (from, to) = (table.word("from", None, nodes)?, table.word("to", None, nodes)?);
    if from == to {
        return Err(table.bad("to", BadValue::new("a node other than from")));
    }
    let (link, reverse) = both(&table, OF_EDGE, false)?;
    let one_way = table.given("one_way", &Flag)?.unwrap_or(false);
    if one_way && table.get(REVERSE.name).is_some() {
        return Err(table.bad(REVERSE.name, BadValue::new("no reverse with one_way = true")));
    }
    let name = table.given("name", &NAME)?.unwrap_or_else(|| format!("{}-{}", nodes[from].0, nodes[to].0));
    let weight = table.given("weight", &WEIGHT)?.unwrap_or(1);
    Ok(Edge { name, from, to, weight, link, reverse: (!one_way).then_some(reverse) })
}

/// Refuses two links with one name: results and random streams identify links by name.
fn names_are_unique(node: &Node, topology: &Topology) -> Result<(), InputError> {
    let links = topology.links();
    let mut seen = BTreeSet::new();
    let Some(twice) = links.iter().find(|l| !seen.insert(l.name.as_str())) else { return Ok(()) };
    // If the name of a reverse direction is taken, the fault is in the table of its link, which has the key
    // `name`.
    let path = if twice.is_forward { twice.path.as_slice() } else { &twice.path[..twice.path.len() - 1] };
    let table = path.iter().try_fold(node, |at, key| at.step(key)).unwrap_or(node);
    let key = ["topology".to_string()].iter().chain(path).map(String::as_str).collect::<Vec<_>>().join(".");
    let (place, key) = match table.get("name") {
        Some(name) => (&name.place, format!("{key}.name")),
        None => (&table.place, key),
    };
    let error = place.error(key, Found::text(&twice.name), "a name unique among links");
    Err(error.hint("the reverse direction of a link is called NAME-reverse".to_string()))
}

/// Forward and reverse direction of the link that a table with the keys `further` describes. `study` is the
/// default of its key `study`.
fn both(table: &Table<'_>, further: &[Key], study: bool) -> Result<(Lane, Lane), InputError> {
    table.expect(&names(&link_keys(further, STUDY)), &[])?;
    let mut there = Lane::read(table)?;
    there.study |= study && table.get(STUDY.name).is_none();
    let Some(node) = table.get(REVERSE.name) else {
        let back =
            Lane { discipline: Spec::default(), conditions: Conditions::default(), study: false, ..there.clone() };
        return Ok((there, back));
    };
    let setting = Setting { like: Some(&there), ..Setting::default() };
    let reverse = Table::bare(node, &table.path_of(REVERSE.name), setting)?;
    reverse.expect(&names(&reverse_keys()), &[])?;
    let back = Lane::read(&reverse)?;
    Ok((there, back))
}

/// The tables of a list, at least one; their paths use names where given.
fn tables<'a>(table: &Table<'a>, key: &'static str, most: usize) -> Result<Vec<(&'a Node, String)>, InputError> {
    let accepts = format!("one or more [[topology.{key}]] tables, at most {most}");
    let items = table.list(key, &accepts)?;
    if items.is_empty() || items.len() > most {
        return Err(table.bad(key, BadValue::new(accepts)));
    }
    let path = table.path_of(key);
    let named = |(i, (item, _)): (usize, (&'a Node, String))| {
        let name = item.get("name").and_then(Node::text).map_or_else(|| i.to_string(), str::to_string);
        (item, format!("{path}.{name}"))
    };
    Ok(items.into_iter().enumerate().map(named).collect())
}

/// Writes `[topology]`.
pub(super) fn write_topology(out: &mut Text, net: &Topology) {
    out.line("\n[topology]");
    match net {
        Topology::Dumbbell(bell) => {
            out.text("kind", "dumbbell");
            write_link(out, "[topology.bottleneck]", |_| (), &bell.bottleneck);
            write_link(out, "[topology.bottleneck.reverse]", |_| (), &bell.reverse);
            write_sides(out, &bell.access, &bell.egress);
        }
        Topology::ParkingLot(lot) => {
            out.text("kind", "parking-lot");
            for b in &lot.bottlenecks {
                write_link(out, "[[topology.bottlenecks]]", |out| out.text("name", &b.name), &b.forward);
                write_link(out, "[topology.bottlenecks.reverse]", |_| (), &b.reverse);
            }
            write_sides(out, &lot.access, &lot.egress);
        }
        Topology::Graph(graph) => write_graph(out, graph),
    }
}

fn write_graph(out: &mut Text, graph: &Graph) {
    out.text("kind", "graph");
    out.texts("nodes", graph.nodes.iter().map(String::as_str));
    out.text("jitter", &show_span(graph.jitter));
    for edge in &graph.links {
        let ends = |out: &mut Text| {
            out.text("name", &edge.name);
            out.text("from", &graph.nodes[edge.from]);
            out.text("to", &graph.nodes[edge.to]);
            out.set("weight", edge.weight);
            out.set("one_way", edge.reverse.is_none());
        };
        write_link(out, "[[topology.links]]", ends, &edge.link);
        if let Some(reverse) = &edge.reverse {
            write_link(out, "[topology.links.reverse]", |_| (), reverse);
        }
    }
}

fn write_link(out: &mut Text, header: &str, first: impl FnOnce(&mut Text), link: &Lane) {
    out.line(&format!("\n{header}"));
    first(out);
    link.write(out);
    out.set(STUDY.name, link.study);
}
