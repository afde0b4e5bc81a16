//! `[topology]`: the network.

use std::collections::BTreeSet;

use forebay_aqm::Spec;
use forebay_aqm::base::text::BadValue;

use super::doc::Node;
use super::error::{Found, InputError};
use super::listed::{MOST_NODES, name, tables};
use super::net::{Bottleneck, Dumbbell, Edge, Graph, Link, ParkingLot, Topology};
use super::shape::{Key, Kind, Shape, may, need};
use super::sides::{JITTER, SIDES, sides};
use super::table::{Table, is_plain, text};
use super::values::{queue, spec, time};
use super::wire::{CAPACITY, WIRE, rated};

/// Every kind of network.
pub(crate) const KINDS: &[&Shape] = &[&DUMBBELL, &PARKING_LOT, &GRAPH];

static DUMBBELL: Shape = Shape {
    doc: "Hosts on either side of one bottleneck.",
    tag: Some("dumbbell"),
    groups: &[&[need("bottleneck", Kind::Table(&BOTTLENECK), "The link under study.")], SIDES],
    later: &[],
};

static PARKING_LOT: Shape = Shape {
    doc: "Bottlenecks in a row, and hosts at the routers between them: flows say where they enter and leave.",
    tag: Some("parking-lot"),
    groups: &[&[need("bottlenecks", Kind::Many(&[&NAMED_BOTTLENECK]), "The bottlenecks in their order.")], SIDES],
    later: &[],
};

static GRAPH: Shape = Shape {
    doc: "Nodes, each of them a host, and links; routes have the least sum of weights, the first link deciding ties.",
    tag: Some("graph"),
    groups: &[&[
        need("nodes", Kind::Texts, "The names of the nodes."),
        need("links", Kind::Many(&[&LINK]), "The links, both ways unless they say otherwise."),
        may("jitter", Kind::Quantity, "Processing time of a packet at its host, uniform from 0 to this; default 10us."),
    ]],
    later: &[],
};

const ONE_WAY: &[Key] = &[
    CAPACITY,
    need("delay", Kind::Quantity, "One-way propagation delay, such as 10ms."),
    need("queue", Kind::Quantity, "Buffer, such as 100p or 160kb; in bytes it holds the largest packet."),
    may("aqm", Kind::Text, "Discipline, such as raqm q0=50; default droptail."),
    may("reverse", Kind::Table(&REVERSE), "The other direction of the link."),
];

const STUDY: Key = may("study", Kind::Flag, "Measure it? Default true.");
const NO_STUDY: Key = may("study", Kind::Flag, "Measure it? Default false.");

static BOTTLENECK: Shape =
    Shape { doc: "The link under study.", tag: None, groups: &[ONE_WAY, WIRE, &[STUDY]], later: &[] };

static NAMED_BOTTLENECK: Shape = Shape {
    doc: "One of the bottlenecks.",
    tag: None,
    groups: &[&[may("name", Kind::Text, "What it is called; default b1, b2, ...")], ONE_WAY, WIRE, &[STUDY]],
    later: &[],
};

static LINK: Shape = Shape {
    doc: "A link between two nodes.",
    tag: None,
    groups: &[
        &[
            may("name", Kind::Text, "What it is called; default from-to."),
            need("from", Kind::Text, "The node where it begins."),
            need("to", Kind::Text, "The node where it ends."),
            may("weight", Kind::Whole(1, HEAVIEST), "What it costs a route, either way; default 1."),
            may("one_way", Kind::Flag, "Has it no reverse? Default false."),
        ],
        ONE_WAY,
        WIRE,
        &[NO_STUDY],
    ],
    later: &[],
};

static REVERSE: Shape = Shape {
    doc: "The other direction of a link: rate, delay and queue are the link's unless given, the rest is its own.",
    tag: None,
    groups: &[
        &[
            may("rate", Kind::Quantity, "Capacity; default that of the link."),
            may("delay", Kind::Quantity, "One-way propagation delay; default that of the link."),
            may("queue", Kind::Quantity, "Buffer; default that of the link."),
            may("aqm", Kind::Text, "Discipline; default droptail."),
        ],
        WIRE,
        &[NO_STUDY],
    ],
    later: &[],
};

/// The most bottlenecks: with the links of the hosts as many as a route may have.
const MOST_BOTTLENECKS: usize = 253;
/// The largest weight of a link.
const HEAVIEST: u32 = 1_000_000;

/// Reads `[topology]`.
pub(crate) fn topology(node: &Node) -> Result<Topology, InputError> {
    let table = Table::bare(node, "topology")?;
    let kinds: Vec<(&str, &Shape)> = KINDS.iter().filter_map(|shape| Some((shape.tag?, *shape))).collect();
    let shape = table.word("kind", None, &kinds, &[])?;
    table.expect(shape)?;
    let topology = match shape.tag {
        Some("graph") => Topology::Graph(graph(&table)?),
        Some("parking-lot") => Topology::ParkingLot(parking_lot(&table)?),
        _ => Topology::Dumbbell(Box::new(dumbbell(&table)?)),
    };
    table.done(shape);
    names_are_unique(node, &topology)?;
    if topology.links().iter().any(|l| l.link.study) {
        return Ok(topology);
    }
    Err(node.place.error("topology", Found::thing("no link under study"), "a link with study = true"))
}

fn dumbbell(table: &Table<'_>) -> Result<Dumbbell, InputError> {
    let node = table.node("bottleneck", "a table with rate, delay and queue")?;
    let of_it = Table::open(node, "topology.bottleneck", &BOTTLENECK)?;
    let bottleneck = link(&of_it, None, true)?;
    let reverse = reverse(&of_it, &bottleneck)?;
    of_it.done(&BOTTLENECK);
    let (access, egress) = sides(table)?;
    Ok(Dumbbell { bottleneck, reverse, access, egress })
}

fn parking_lot(table: &Table<'_>) -> Result<ParkingLot, InputError> {
    let items = tables(table, "bottlenecks", MOST_BOTTLENECKS)?;
    let mut bottlenecks = Vec::with_capacity(items.len());
    for (i, (item, path)) in items.into_iter().enumerate() {
        let of_it = Table::open(item, &path, &NAMED_BOTTLENECK)?;
        let name = name(&of_it)?.unwrap_or_else(|| format!("b{}", i + 1));
        let forward = link(&of_it, None, true)?;
        let reverse = reverse(&of_it, &forward)?;
        of_it.done(&NAMED_BOTTLENECK);
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
            return Err(item.error(path, "a name that no other node has"));
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
    let jitter = table.or("jitter", JITTER, time)?;
    Ok(Graph { nodes, links, jitter })
}

fn edge(node: &Node, path: &str, nodes: &[(&str, usize)]) -> Result<Edge, InputError> {
    let table = Table::open(node, path, &LINK)?;
    let (from, to) = (table.word("from", None, nodes, &[])?, table.word("to", None, nodes, &[])?);
    if from == to {
        return Err(table.bad("to", BadValue::new("another node than from")));
    }
    let there = link(&table, None, false)?;
    let back = reverse(&table, &there)?;
    let one_way = table.flag("one_way", false)?;
    if one_way && table.get("reverse").is_some() {
        return Err(table.bad("reverse", BadValue::new("no reverse beside one_way = true")));
    }
    let edge = Edge {
        name: name(&table)?.unwrap_or_else(|| format!("{}-{}", nodes[from].0, nodes[to].0)),
        from,
        to,
        weight: table.whole("weight", 1, 1..=HEAVIEST)?,
        link: there,
        reverse: (!one_way).then_some(back),
    };
    table.done(&LINK);
    Ok(edge)
}

/// Links are told apart by their names in results and random streams.
fn names_are_unique(node: &Node, topology: &Topology) -> Result<(), InputError> {
    let links = topology.links();
    let mut seen = BTreeSet::new();
    let Some(twice) = links.iter().find(|l| !seen.insert(l.name.as_str())) else { return Ok(()) };
    // The table of the link, also where its reverse is at fault: that has its name.
    let path = if twice.is_forward { twice.path.as_slice() } else { &twice.path[..twice.path.len() - 1] };
    let table = path.iter().try_fold(node, |at, key| at.step(key)).unwrap_or(node);
    let key = ["topology".to_string()].iter().chain(path).map(String::as_str).collect::<Vec<_>>().join(".");
    let (place, key) = match table.get("name") {
        Some(name) => (&name.place, format!("{key}.name")),
        None => (&table.place, key),
    };
    let error = place.error(key, Found::text(&twice.name), "a name that no other link has");
    Err(error.hint("the reverse of a link is called NAME-reverse".to_string()))
}

/// One direction; what it does not say is that of `default`.
fn link(table: &Table<'_>, default: Option<&Link>, study: bool) -> Result<Link, InputError> {
    let (rate, wire) = rated(table, default.map(|link| link.rate))?;
    let (delay, limit) = match default {
        None => (table.need("delay", time)?, table.need("queue", queue)?),
        Some(link) => (table.or("delay", link.delay, time)?, table.or("queue", link.queue, queue)?),
    };
    let aqm = table.get("aqm").map_or_else(droptail, |node| spec(node, &table.path_of("aqm")))?;
    Ok(Link { rate, delay, queue: limit, aqm, wire, study: table.flag("study", study)? })
}

fn reverse(table: &Table<'_>, there: &Link) -> Result<Link, InputError> {
    let Some(node) = table.get("reverse") else {
        return Ok(Link { aqm: droptail()?, wire: Default::default(), study: false, ..there.clone() });
    };
    let table = Table::open(node, &table.path_of("reverse"), &REVERSE)?;
    let back = link(&table, Some(there), false)?;
    table.done(&REVERSE);
    Ok(back)
}

fn droptail() -> Result<Spec, InputError> {
    Spec::parse("droptail")
        .map_err(|bad| InputError::new("the default discipline", bad.key, Found::text(&bad.found), bad.accepts))
}
