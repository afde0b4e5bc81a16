//! `[[flows]]`: the traffic.

use std::sync::Arc;

use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;

use super::bursts::{ONOFF, PARETO, bursts, over_tcp, spaced};
use super::chain::{self, Chain, MAP, MMPP};
use super::doc::{Node, Value};
use super::ecn::{ECN, Ect, ecn};
use super::error::InputError;
use super::files::{FILE, WEB, files};
use super::flow_keys::{COMMON, LARGEST_MEAN, MOST_FLOWS, START, TCP, UDP_PACKET, WIDEST};
use super::marker::marker;
use super::model::{Class, Direction, FlowGroup, FlowKind, TcpOptions, TcpVariant};
use super::net::{Access, Ends, Topology};
use super::paths::names;
use super::replay::{TRACE, trace};
use super::rtp::{RTP, rtp};
use super::rtt::rtt;
use super::sctp::{SCTP, sctp};
use super::shape::{Kind, Shape, may, need};
use super::table::{Table, is_plain};
use super::values::{Uniform, duration, per_second, uniform, windows};
use super::voip::{VOIP, voip};
use crate::traces::Recorded;

/// Every kind of flows.
pub(crate) const KINDS: &[&Shape] =
    &[&FTP, &WEB_FLOWS, &SHORT_TCP, &FILE_FLOWS, &CBR, &ONOFF, &PARETO, &VOIP, &MMPP, &MAP, &TRACE, &RTP, &SCTP];

static FTP: Shape =
    Shape { doc: "TCP with always more to send.", tag: Some("ftp"), groups: &[COMMON, &[START], ECN, TCP], later: &[] };

static SHORT_TCP: Shape = Shape {
    doc: "TCP flows that arrive, send greedily and leave.",
    tag: Some("short-tcp"),
    groups: &[
        COMMON,
        &[
            need("arrivals", Kind::Text, "New flows per second (Poisson), such as 10/s; at most 1000000 flows in all."),
            need("lifetime", Kind::Uniform, "How long a flow lives."),
        ],
        ECN,
        TCP,
    ],
    later: &[],
};

static FILE_FLOWS: Shape = Shape {
    doc: "TCP that sends files, one after the other.",
    tag: Some("file"),
    groups: &[COMMON, &[START], FILE, ECN, TCP],
    later: &[],
};

static WEB_FLOWS: Shape = Shape {
    doc: "Users who ask for pages over TCP, read, and ask for more: each page waits for its request.",
    tag: Some("web"),
    groups: &[COMMON, &[START], WEB, ECN, TCP],
    later: &[],
};

static CBR: Shape = Shape {
    doc: "Packets at a constant rate, evenly spaced or at random.",
    tag: Some("cbr"),
    groups: &[
        COMMON,
        ECN,
        &[
            START,
            need("rate", Kind::Quantity, "Rate of each flow; at most a packet a microsecond."),
            UDP_PACKET,
            may("spacing", Kind::Word(&["constant", "poisson"]), "Times between packets; default constant."),
            may(
                "sizes",
                Kind::Word(&["constant", "exponential"]),
                "Lengths of packets; exponential, of mean packet, with spacing poisson only. Default constant.",
            ),
        ],
    ],
    later: &[],
};

/// Reads every group; `packet` and `net` are the scenario's.
pub(crate) fn flows(node: &Node, packet: u32, net: &Topology) -> Result<Vec<FlowGroup>, InputError> {
    const ACCEPTS: &str = "one or more [[flows]] tables";
    let items = match &node.value {
        Value::List(items) if !items.is_empty() => items,
        Value::Table(_) => return Err(node.error("flows", ACCEPTS).hint("write [[flows]], not [flows]".to_string())),
        _ => return Err(node.error("flows", ACCEPTS)),
    };
    let mut out: Vec<FlowGroup> = Vec::with_capacity(items.len());
    for (i, (item, name)) in items.iter().zip(names(items)).enumerate() {
        let name = name.unwrap_or_else(|| i.to_string());
        let group = group(item, &name, packet, net)?;
        if out.iter().any(|other| other.name == group.name) {
            let at = item.get("name").unwrap_or(item);
            return Err(at.error(format!("flows.{name}.name"), "a name that no other group has"));
        }
        out.push(group);
    }
    Ok(out)
}

fn group(node: &Node, name: &str, packet: u32, net: &Topology) -> Result<FlowGroup, InputError> {
    let table = Table::bare(node, &format!("flows.{name}"))?;
    let kinds: Vec<(&str, &Shape)> = KINDS.iter().filter_map(|shape| Some((shape.tag?, *shape))).collect();
    let shape = table.word("kind", None, &kinds, &[])?;
    table.expect(shape).map_err(|error| belongs_elsewhere(error, shape))?;
    let (kind, Plays { recorded, chain }) = kind(&table, shape, packet)?;
    let (arrivals, lifetime) = match kind {
        FlowKind::ShortTcp => (Some(table.need("arrivals", per_second)?), Some(lifetime(&table)?)),
        _ => (None, None),
    };
    let over_tcp = match kind {
        FlowKind::Ftp | FlowKind::ShortTcp | FlowKind::Files(_) => true,
        FlowKind::OnOff { .. } | FlowKind::Pareto { .. } => over_tcp(&table)?,
        FlowKind::Sctp
        | FlowKind::Cbr { .. }
        | FlowKind::Poisson { .. }
        | FlowKind::Voip { .. }
        | FlowKind::Mmpp { .. }
        | FlowKind::Map { .. }
        | FlowKind::Trace { .. }
        | FlowKind::Rtp { .. } => false,
    };
    let (transport, ecn) = match kind {
        FlowKind::Sctp => (sctp(&table, packet)?, Ect::Off),
        _ if over_tcp => (tcp(&table)?, ecn(&table)?),
        _ => (TcpOptions::default(), ecn(&table)?),
    };
    let active = match table.get("active") {
        Some(node) => windows(node, &table.path_of("active"))?,
        None => vec![(Span::ZERO, None)],
    };
    let directions = [("forward", Direction::Forward), ("reverse", Direction::Reverse)];
    let ends = ends(&table, net)?;
    let group = FlowGroup {
        name: checked_name(&table, name)?,
        kind,
        count: table.whole("count", 1, 0..=MOST_FLOWS)?,
        ends,
        direction: table.word("direction", Some(Direction::Forward), &directions, &[])?,
        rtt: rtt(&table, net, ends)?,
        over_tcp,
        ecn,
        class: class(&table)?,
        start: start(&table, kind)?,
        active,
        arrivals,
        lifetime,
        marker: table
            .get("marker")
            .map(|node| marker(node, &table.path_of("marker"), kind.packet(packet)))
            .transpose()?,
        recorded,
        chain,
        transport,
    };
    table.done(shape);
    Ok(group)
}

/// The keys that say where flows go, and the networks that have them.
const PLACES: [(&str, &str); 5] = [
    ("hosts", "dumbbell and parking-lot"),
    ("enter", "parking-lot"),
    ("leave", "parking-lot"),
    ("from", "graph"),
    ("to", "graph"),
];

fn ends(table: &Table<'_>, net: &Topology) -> Result<Ends, InputError> {
    let refuse = |keys: &[(&'static str, &str)]| {
        let stranger = keys.iter().find(|(key, _)| table.get(key).is_some());
        stranger.map_or(Ok(()), |(key, kinds)| {
            Err(table.bad(key, BadValue::new(format!("no {key}: it belongs to topologies of kind {kinds}"))))
        })
    };
    let access = |names: &[Access]| {
        let names: Vec<(&str, usize)> =
            names.iter().enumerate().filter_map(|(i, group)| Some((group.name.as_deref()?, i))).collect();
        match (names.as_slice(), table.get("hosts")) {
            ([], Some(_)) => Err(table.bad("hosts", BadValue::new("no hosts: topology.access is no list of groups"))),
            _ => table.word("hosts", Some(0), &names, &[]),
        }
    };
    match net {
        Topology::Dumbbell(bell) => {
            refuse(&PLACES[1..])?;
            Ok(Ends::Pairs { access: access(&bell.access)?, enter: 0, leave: 0 })
        }
        Topology::ParkingLot(lot) => {
            refuse(&PLACES[3..])?;
            let names: Vec<(&str, usize)> =
                lot.bottlenecks.iter().enumerate().map(|(i, b)| (b.name.as_str(), i)).collect();
            let enter = table.word("enter", Some(0), &names, &[])?;
            let leave = table.word("leave", Some(names.len() - 1), &names, &[])?;
            if enter > leave {
                return Err(table.bad("leave", BadValue::new("a bottleneck no earlier in the row than enter")));
            }
            Ok(Ends::Pairs { access: access(&lot.access)?, enter, leave })
        }
        Topology::Graph(graph) => {
            refuse(&PLACES[..3])?;
            let names: Vec<(&str, usize)> = graph.nodes.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
            let (from, to) = (table.word("from", None, &names, &[])?, table.word("to", None, &names, &[])?);
            if from == to {
                return Err(table.bad("to", BadValue::new("another node than from")));
            }
            Ok(Ends::Nodes { from, to })
        }
    }
}

/// Flows of kind `short-tcp` begin when they arrive, and have no such key.
fn start(table: &Table<'_>, kind: FlowKind) -> Result<Uniform, InputError> {
    let written = if kind == FlowKind::ShortTcp { None } else { table.get("start") };
    match written {
        Some(node) => uniform(node, &table.path_of("start")),
        None => Ok(Uniform { lo: Span::ZERO, hi: Span::from_millis(1000) }),
    }
}

/// Points a key of other kinds of flows to them.
fn belongs_elsewhere(error: InputError, shape: &Shape) -> InputError {
    let key = error.found.as_str();
    if shape.later.contains(&key) {
        return error;
    }
    let others = KINDS.iter().filter(|other| other.tag != shape.tag && other.names().contains(&key));
    let kinds: Vec<&str> = others.filter_map(|other| other.tag).collect();
    let hint = (!kinds.is_empty()).then(|| format!("{key} belongs to kind {}", kinds.join(", ")));
    let hint = hint.or_else(|| error.hint.clone());
    error.hint(hint)
}

/// Names are parts of paths, where digits alone are an index.
fn checked_name(table: &Table<'_>, name: &str) -> Result<String, InputError> {
    table.text("name")?;
    let sound = is_plain(name) && !name.chars().all(|c| c.is_ascii_digit());
    let accepts = "a name of letters, digits, - and _, not digits alone";
    if sound { Ok(name.to_string()) } else { Err(table.bad("name", BadValue::new(accepts))) }
}

/// What flows play.
#[derive(Default)]
struct Plays {
    recorded: Option<Arc<Recorded>>,
    chain: Option<Arc<Chain>>,
}

/// What flows send, and what they play.
fn kind(table: &Table<'_>, shape: &Shape, packet: u32) -> Result<(FlowKind, Plays), InputError> {
    let kind = match shape.tag {
        Some("short-tcp") => FlowKind::ShortTcp,
        Some("file") => FlowKind::Files(files(table, false, packet)?),
        Some("web") => FlowKind::Files(files(table, true, packet)?),
        Some("sctp") => FlowKind::Sctp,
        Some("cbr") => {
            let packet = table.whole("packet", packet, 41..=65_535)?;
            let rate = table.need("rate", text::rate)?;
            spaced(table, "rate", "", rate, packet)?;
            let poisson = table.word("spacing", Some(false), &[("constant", false), ("poisson", true)], &[])?;
            let exponential = exponential(table, poisson, packet)?;
            if poisson { FlowKind::Poisson { rate, packet, exponential } } else { FlowKind::Cbr { rate, packet } }
        }
        Some("onoff" | "pareto") => bursts(table, shape, packet)?,
        Some("voip") => {
            let (codec, talk, pause) = voip(table)?;
            FlowKind::Voip { codec, talk, pause }
        }
        Some("mmpp" | "map") => {
            let (packet, phases) = chain::lengths(table, packet)?;
            let (kind, chain) = match shape.tag {
                Some("map") => (FlowKind::Map { packet, phases }, chain::map(table)?),
                _ => (FlowKind::Mmpp { packet, phases }, chain::mmpp(table, packet)?),
            };
            return Ok((kind, Plays { chain: Some(Arc::new(chain)), ..Plays::default() }));
        }
        Some("rtp") => {
            let (kind, recorded) = rtp(table, packet)?;
            return Ok((kind, Plays { recorded, ..Plays::default() }));
        }
        Some("trace") => {
            let (kind, recorded) = trace(table)?;
            return Ok((kind, Plays { recorded: Some(recorded), ..Plays::default() }));
        }
        _ => FlowKind::Ftp,
    };
    Ok((kind, Plays::default()))
}

/// Are lengths exponential? Only in a Poisson process, and with a mean far below the longest packet there is.
fn exponential(table: &Table<'_>, poisson: bool, packet: u32) -> Result<bool, InputError> {
    let exponential = table.word("sizes", Some(false), &[("constant", false), ("exponential", true)], &[])?;
    if exponential && !poisson {
        return Err(table.bad("sizes", BadValue::new("constant, or spacing = \"poisson\" beside it")));
    }
    if exponential && packet > LARGEST_MEAN {
        return Err(table.bad("packet", BadValue::new(format!("at most {LARGEST_MEAN} with exponential sizes"))));
    }
    Ok(exponential)
}

fn lifetime(table: &Table<'_>) -> Result<Uniform, InputError> {
    let accepts = "a time, or { uniform = [\"1s\", \"2s\"] }";
    let node = table.node("lifetime", accepts)?;
    let range = uniform(node, &table.path_of("lifetime"))?;
    if range.hi > Span::ZERO { Ok(range) } else { Err(table.bad("lifetime", BadValue::new("a time above 0"))) }
}

fn class(table: &Table<'_>) -> Result<Class, InputError> {
    Ok(match table.whole_or("class", Some(0), 0..=255, "host")? {
        Some(class) => Class::Fixed(class as u8),
        None => Class::Host,
    })
}

/// The controls that may send ECT(1), for a message.
fn scalable() -> String {
    let known = TcpVariant::tcps().into_iter().filter(|(_, variant)| variant.profile().is_scalable);
    known.map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
}

fn tcp(table: &Table<'_>) -> Result<TcpOptions, InputError> {
    let default = TcpOptions::default();
    let min_rto = table.or("min_rto", default.min_rto, duration)?;
    let max_rto = table.or("max_rto", default.max_rto.max(min_rto), duration)?;
    if max_rto < min_rto {
        return Err(table.bad("max_rto", BadValue::new("a time no shorter than min_rto")));
    }
    let initial_rto = table.maybe("initial_rto", duration)?;
    if initial_rto.is_some_and(|first| first > max_rto) {
        return Err(table.bad("initial_rto", BadValue::new("a time no longer than max_rto")));
    }
    let variant = table.word("tcp", Some(default.variant), &TcpVariant::tcps(), &[])?;
    let l4s = table.flag("l4s", default.l4s)?;
    if l4s && !variant.profile().is_scalable {
        return Err(table.bad("l4s", BadValue::new(format!("false, or tcp = {} beside it", scalable()))));
    }
    Ok(TcpOptions {
        variant,
        l4s,
        initial_window: table.whole("initial_window", default.initial_window, 1..=WIDEST)?,
        delayed_ack: table.flag("delayed_ack", default.delayed_ack)?,
        initial_rto,
        min_rto,
        max_rto,
        tick: table.or("tick", default.tick, duration)?,
        ack: table.whole("ack", u32::from(default.ack), 1..=65_535)? as u16,
        window: table.whole_or("window", default.window, 1..=WIDEST, "unlimited")?,
        limited_transmit: table.flag("limited_transmit", default.limited_transmit)?,
        pacing: table.flag("pacing", default.pacing)?,
        ..default
    })
}
