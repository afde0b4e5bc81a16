//! The keys that all kinds of `[[flows]]` have. A `[[flows]]` table is a group of flows.

use forebay_aqm::base::dscp;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::time::Span;

use super::ecn::{ECN, Ect, ecn};
use super::marker::{Marker, TOKEN_BUCKET, fits};
use super::rtt::{self, RTT, Rtt};
use super::{FlowKind, Kind, MAX_FLOWS};
use crate::declare::{
    Custom, Form, Key, Keys, NAME, TIMES, Table, Uniform, WINDOWS, WholeOr, Words, may, schema, table, whole_number,
};
use crate::document::{Text, quote};
use crate::input::InputError;
use crate::scenario::topology::{Ends, Hosts, Topology};

pub(super) const START: Key = may(
    "start",
    || TIMES.schema(),
    "Start of a flow, relative to the start of an active window; default uniform in 0s..1s.",
);

const HOSTS: Key = may("hosts", schema::text, "Access group whose hosts send; default the first.");
const ENTER: Key =
    may("enter", schema::text, "First bottleneck of a parking lot on the path; default the first in the row.");
const LEAVE: Key =
    may("leave", schema::text, "Last bottleneck of a parking lot on the path; default the last in the row.");
const FROM: Key = may("from", schema::text, "Sending node; needed in a graph.");
const TO: Key = may("to", schema::text, "Receiving node; needed in a graph.");

table! {
    /// A group of flows with the same keys.
    pub struct FlowGroup {
        /// Kind of traffic.
        - kind: FlowKind = FlowKind::read;
        /// Name of the group; default its kind.
        name: String = NAME, or_else |table| Ok(table.name().to_string());
        /// Number of flows; default 1. A scenario has at most 1000000.
        count: u32 = whole_number::<u32>(0, MAX_FLOWS), or 1;
        /// Direction of the data; default forward.
        direction: Direction = DIRECTION, or Direction::Forward;
        /// Number of the packets' service class; host: the number of the flow's host. Default 0.
        class: Class = CLASS, or Class::Fixed(0);
        /// DSCP of the packets in both directions, by name (cs1, ef, af41) or number; default 0.
        dscp: Option<u8> = DSCP, optional;
        /// Time windows in which the flows may send; default the complete run.
        active: Vec<(Span, Option<Span>)> = WINDOWS, or vec![(Span::ZERO, None)];
        + HOSTS;
        + ENTER;
        + LEAVE;
        + FROM;
        + TO;
        /// Sending and receiving hosts.
        - ends: Ends = |_: &Table<'_>| Ok(Ends::Pairs { access: 0, enter: 0, leave: 0 });
        /// Two-way propagation delay of each flow over all its links; each flow then has its own access link. Default
        /// the delay through the access link of its hosts.
        rtt: Option<Rtt> = RTT, optional;
        /// Token bucket that colours packets IN or OUT; default all are IN.
        marker: Option<Marker> = TOKEN_BUCKET, optional;
        /// Value of the key `ecn`; see [`FlowGroup::codepoint`] for the codepoint of the data.
        - ecn: Ect = ecn;
        /// Start of a flow, relative to the start of an active window. `None` for a kind without the key `start`: its
        /// flows [arrive](super::Arrivals) at random.
        - start: Option<Uniform> = start;
    }
}

impl FlowGroup {
    /// ECN codepoint of the data. A congestion control that always uses ECN sends ECN-capable packets even
    /// with `ecn = false`.
    pub fn codepoint(&self) -> Ecn {
        let own = |ecn| self.kind.tcp().map(|tcp| forebay_sim::tcp::TcpOptions { ecn, ..tcp }.codepoint());
        match self.ecn {
            Ect::Ect0 => Ecn::Ect0,
            Ect::Ect1 => Ecn::Ect1,
            Ect::Off => own(false).unwrap_or(Ecn::NotEct),
            Ect::Own => own(true).unwrap_or(Ecn::Ect0),
        }
    }

    /// Does the group send ECT(1) without a scalable response to marks, which RFC 9331 section 4.3 requires?
    pub fn breaks_rfc_9331(&self) -> bool {
        let is_scalable = self.kind.tcp().is_some_and(|tcp| tcp.variant.profile().is_scalable);
        self.codepoint() == Ecn::Ect1 && !is_scalable
    }

    /// The time windows of the key `active`, clipped at `duration`.
    pub fn active_within(&self, duration: Span) -> impl Iterator<Item = (Span, Span)> {
        self.active.iter().map(move |&(from, to)| (from, to.unwrap_or(duration).min(duration)))
    }
}

/// Direction of a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From senders to receivers, through the bottlenecks in their order; in a graph from `from` to `to`.
    Forward,
    /// From receivers to senders.
    Reverse,
}

const DIRECTION: Words<Direction> = Words(&[("forward", Direction::Forward), ("reverse", Direction::Reverse)]);

/// Service class of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The same class for all packets of the group.
    Fixed(u8),
    /// The number, from 0, of the flow's pair of sending and receiving host; in a graph, of its sending node.
    Host,
}

const CLASS: Custom<Class> = Custom {
    schema: || CLASS_OR_HOST.schema(),
    read: |table, node, path| {
        Ok(CLASS_OR_HOST.read(table, node, path)?.map_or(Class::Host, |class| Class::Fixed(class as u8)))
    },
    show: |class| match class {
        Class::Fixed(class) => class.to_string(),
        Class::Host => quote("host"),
    },
    accepts: "",
};
const CLASS_OR_HOST: WholeOr = WholeOr(0, 255, "host");

const DSCP: Custom<u8> = Custom {
    schema: || schema::either(&[schema::whole(0, u32::from(dscp::MAX_DSCP)), schema::text()]),
    read: |table, node, path| match node.text() {
        Some(text) => dscp::parse(text).map_err(|bad| node.error(path, bad.accepts).hint(bad.hint)),
        None => {
            let number = whole_number::<u8>(0, u32::from(dscp::MAX_DSCP)).read(table, node, path);
            number.map_err(|_| node.error(path, dscp::ACCEPTS))
        }
    },
    show: |value| quote(&dscp::show(*value)),
    accepts: dscp::ACCEPTS,
};

fn start(table: &Table<'_>) -> Result<Option<Uniform>, InputError> {
    const DEFAULT: Uniform = Uniform { lo: Span::ZERO, hi: Span::from_millis(1000) };
    let start = table.given(START.name, &TIMES)?.unwrap_or(DEFAULT);
    Ok(Kind::of(table)?.has(&START).then_some(start))
}

/// The keys that say which hosts the flows connect, and the kinds of network that have them.
const PLACES: [(&str, &str); 5] = [
    (HOSTS.name, "dumbbell and parking-lot"),
    (ENTER.name, "parking-lot"),
    (LEAVE.name, "parking-lot"),
    (FROM.name, "graph"),
    (TO.name, "graph"),
];

fn ends(table: &Table<'_>, net: &Topology) -> Result<Ends, InputError> {
    let refuse = |keys: &[(&'static str, &str)]| {
        let stranger = keys.iter().find(|(key, _)| table.get(key).is_some());
        stranger.map_or(Ok(()), |(key, kinds)| {
            Err(table.bad(key, BadValue::new(format!("no {key}, which belongs to topologies of kind {kinds}"))))
        })
    };
    let access = |hosts: &[Hosts]| {
        let names: Vec<(&str, usize)> =
            hosts.iter().enumerate().filter_map(|(i, group)| Some((group.name.as_deref()?, i))).collect();
        match (names.as_slice(), table.get("hosts")) {
            ([], Some(_)) => {
                Err(table.bad("hosts", BadValue::new("no hosts, as topology.access is not a list of groups")))
            }
            _ => table.word("hosts", Some(0), &names),
        }
    };
    match net {
        Topology::Dumbbell(bell) => {
            refuse(&PLACES[1..])?;
            Ok(Ends::Pairs { access: access(&bell.hosts)?, enter: 0, leave: 0 })
        }
        Topology::ParkingLot(lot) => {
            refuse(&PLACES[3..])?;
            let names: Vec<(&str, usize)> =
                lot.bottlenecks.iter().enumerate().map(|(i, b)| (b.name.as_str(), i)).collect();
            let enter = table.word("enter", Some(0), &names)?;
            let leave = table.word("leave", Some(names.len() - 1), &names)?;
            if enter > leave {
                return Err(table.bad("leave", BadValue::new("enter or a bottleneck after it")));
            }
            Ok(Ends::Pairs { access: access(&lot.hosts)?, enter, leave })
        }
        Topology::Graph(graph) => {
            refuse(&PLACES[..3])?;
            let names: Vec<(&str, usize)> = graph.nodes.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
            let (from, to) = (table.word("from", None, &names)?, table.word("to", None, &names)?);
            if from == to {
                return Err(table.bad("to", BadValue::new("a node other than from")));
            }
            Ok(Ends::Nodes { from, to })
        }
    }
}

/// Reads a group whose flows cross `net`. Refuses an `rtt` below the delay of the links that all its flows
/// share, and a token bucket smaller than a packet.
pub(super) fn group(table: &Table<'_>, net: &Topology) -> Result<FlowGroup, InputError> {
    let mut group = FlowGroup::read(table)?;
    group.ends = ends(table, net)?;
    if let Some(rtt) = &group.rtt {
        let Some(shared) = net.shared_delay(group.ends) else {
            let accepts = "no rtt, which belongs to topologies of kind dumbbell and parking-lot";
            return Err(table.bad("rtt", BadValue::new(accepts)));
        };
        rtt::not_below(rtt, table, shared)?;
    }
    if let Some(marker) = &group.marker {
        fits(marker, group.kind.packet(table.setting.packet), table)?;
    }
    Ok(group)
}

/// Order of the keys of a group of flows in the canonical text. Other keys follow in the order of their declaration.
const ORDER: [&str; 29] = [
    "name",
    "kind",
    "count",
    "hosts",
    "enter",
    "leave",
    "from",
    "to",
    "direction",
    "rtt",
    "ecn",
    "class",
    "dscp",
    "start",
    "active",
    "arrivals",
    "lifetime",
    "marker",
    "size",
    "packets",
    "frames",
    "repeat",
    "begin",
    "synthetic",
    "rate",
    "on",
    "off",
    "packet",
    "transport",
];

/// Writes a group whose flows cross `net`.
pub(crate) fn write(group: &FlowGroup, net: &Topology, out: &mut Text) {
    let mut keys = Text::default();
    group.write(&mut keys);
    keys.text("kind", group.kind.word());
    write_ends(&mut keys, group.ends, net);
    if Kind::named(group.kind.word()).is_some_and(|kind| kind.has(&ECN)) {
        keys.set(ECN.name, group.ecn.show());
    }
    if let Some(start) = group.start {
        keys.set(START.name, start.show());
    }
    group.kind.write(&mut keys);
    out.item("flows", |out| out.ordered(&keys, &ORDER));
}

fn write_ends(out: &mut Text, ends: Ends, net: &Topology) {
    match (ends, net) {
        (Ends::Nodes { from, to }, Topology::Graph(graph)) => {
            out.text("from", &graph.nodes[from]);
            out.text("to", &graph.nodes[to]);
        }
        (Ends::Pairs { access, enter, leave }, _) => {
            if let Some(name) = net.hosts().get(access).and_then(|group| group.name.as_ref()) {
                out.text("hosts", name);
            }
            if let Topology::ParkingLot(lot) = net {
                out.text("enter", &lot.bottlenecks[enter].name);
                out.text("leave", &lot.bottlenecks[leave].name);
            }
        }
        (Ends::Nodes { .. }, _) => {}
    }
}
