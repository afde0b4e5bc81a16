//! Flows of kinds `file` and `web`: files over TCP, and the distributions of their sizes and think times.

use forebay_aqm::base::text::{self, BadValue, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Limit;
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::draw::Draw;
use forebay_sim::network::Traffic;
use forebay_sim::page::{MOST_CONNECTIONS, PageConnection};
use forebay_sim::tcp::TcpOptions;
use serde_json::Value as Json;

use super::cbr::PACKET;
use super::ecn::ECN;
use super::group::START;
use super::{Part, Source};
use crate::declare::{
    Custom, Flag, Form, Key, Parsed, Table, WholeOr, may, names, quantity, schema, table, time, whole_number,
};
use crate::document::{Node, Value, quote};
use crate::input::{InputError, did_you_mean};

/// Default size of a page request in bytes on the wire: an HTTP GET with usual headers. Chosen by this project.
pub(super) const REQUEST: u16 = 400;
/// Largest file in bytes.
const MAX_FILE: u64 = 1_000_000_000_000;
/// Number of files or pages of a flow.
const REPEAT: WholeOr = WholeOr(1, 1_000_000_000, "forever");

table! {
    /// TCP flows that each send files, one after the other.
    pub struct File {
        + START;
        /// File size in bytes on the wire including headers, such as 30000b, or in packets, 30p; or a
        /// distribution.
        size: Draw = Amount::Size;
        /// Packet size in bytes on the wire; default the scenario's packet.
        packet: Option<u32> = PACKET, optional;
        /// Number of files that a flow sends, one after the other; default 1.
        repeat: Option<u32> = REPEAT, or Some(1);
        /// Time between the end of a file and the start of the next; default 0s.
        think: Draw = Amount::Think, or Draw::Constant(0.0);
        /// Whether the files of a flow share a connection; default false.
        persistent: bool = Flag, or false;
        /// How a connection begins: false (established), true (SYN handshake) or "ns2" (as ns-2's Agent/TCP: the sender
        /// sends a SYN, and only it retransmits the SYN). The time of a file begins with the SYN. Default false.
        handshake: Opening = HANDSHAKE, or Opening::Established;
        + ECN;
        /// The keys of the scenario file that set the flows' TCP options.
        ..tcp: TcpOptions;
    }
}

table! {
    /// Web users over TCP: each requests a page, waits for it, reads it and requests the next.
    pub struct Web {
        + START;
        /// Page size in bytes on the wire including headers, such as 30000b, or in packets, 30p; or a
        /// distribution. With objects it is the size of each object.
        size: Draw = Amount::Size;
        /// Packet size in bytes on the wire; default the scenario's packet.
        packet: Option<u32> = PACKET, optional;
        /// Number of objects of a page. The first is requested alone, the others when it has arrived, each on a connection
        /// that is free. Default 1.
        objects: u32 = whole_number::<u32>(1, 1_000_000), or 1 => |web: &Self| web.objects > 1;
        /// Number of connections of a user, for pages of several objects; default 6 with objects, else 1.
        connections: u32 = whole_number::<u32>(1, MOST_CONNECTIONS), or_else connections
            => |web: &Self| web.objects > 1;
        /// Number of pages that a user requests; default forever.
        repeat: Option<u32> = REPEAT, or None;
        /// Time from the arrival of a page to the next request.
        think: Draw = Amount::Think;
        /// Whether the pages of a flow share a connection; default true. With false, a user opens new connections for each page.
        persistent: bool = Flag, or true;
        /// How a connection begins: false (established), true (SYN handshake) or "ns2" (as ns-2's Agent/TCP: the sender of
        /// the page sends a SYN, only it retransmits the SYN, and users send no requests). The time of a page begins with
        /// the SYN. Default false.
        handshake: Opening = HANDSHAKE, or Opening::Established;
        /// Size of a request in bytes on the wire; default 400.
        request: u16 = whole_number::<u16>(40, 65_535), or REQUEST;
        + ECN;
        /// The keys of the scenario file that set the flows' TCP options.
        ..tcp: TcpOptions;
    }
    finish |web: Web, table: &Table<'_>| match web {
        Web { objects: 1, connections: 2.., .. } => {
            Err(table.bad("connections", BadValue::new("1, or objects above 1")))
        }
        Web { objects: 2.., handshake: Opening::Ns2, .. } => {
            Err(table.bad("handshake", BadValue::new("true or false with several objects")))
        }
        _ => Ok(web),
    };
}

/// Number of connections of a browser for a page of several objects.
fn connections(table: &Table<'_>) -> Result<u32, InputError> {
    let objects = table.given("objects", &whole_number::<u32>(1, 1_000_000))?.unwrap_or(1);
    Ok(if objects > 1 { 6 } else { 1 })
}

impl Source for File {
    fn tcp(&self) -> Option<TcpOptions> {
        Some(self.tcp)
    }
    fn packet(&self, default: u32) -> u32 {
        self.packet.unwrap_or(default)
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        let Self { size, think, repeat: count, persistent, handshake: opening, tcp, .. } = *self;
        let files = Files { size, think, count, fresh: !persistent, opening, request: None };
        Part::only(Traffic::Application(TcpOptions { ecn, ..tcp }, Work::Files(files)))
    }
}

impl Source for Web {
    fn tcp(&self) -> Option<TcpOptions> {
        Some(self.tcp)
    }
    fn answer(&self) -> u32 {
        u32::from(self.request.max(self.tcp.ack))
    }
    fn packet(&self, default: u32) -> u32 {
        self.packet.unwrap_or(default)
    }
    fn parts(&self, ecn: bool) -> Vec<Part> {
        let Self { size, think, repeat: count, persistent, handshake: opening, request, tcp, .. } = *self;
        let (objects, connections) = (self.objects, self.connections);
        let request = (opening != Opening::Ns2).then_some(request);
        let (files, tcp) =
            (Files { size, think, count, fresh: !persistent, opening, request }, TcpOptions { ecn, ..tcp });
        if objects == 1 {
            return Part::only(Traffic::Application(tcp, Work::Files(files)));
        }
        let connection = |number| PageConnection { files, objects, connections, number };
        let traffic = |number| Traffic::Application(tcp, Work::Page(connection(number)));
        (0..connections).flat_map(|number| Part::only(traffic(number))).collect()
    }
}

/// The value of `handshake`: true, false, or the name of another way to begin a connection.
pub(super) const HANDSHAKE: Custom<Opening> = Custom {
    schema: || schema::flag_or(&[NS2]),
    read: |_, node, path| match (&node.value, node.text()) {
        (Value::Flag(false), _) => Ok(Opening::Established),
        (Value::Flag(true), _) => Ok(Opening::Handshake),
        (_, Some(NS2)) => Ok(Opening::Ns2),
        (_, text) => {
            let near = text.and_then(|text| did_you_mean(text, [NS2]));
            Err(node.error(path, "true, false or \"ns2\"").hint(near))
        }
    },
    show: |opening| match opening {
        Opening::Established => "false".to_string(),
        Opening::Handshake => "true".to_string(),
        Opening::Ns2 => quote(NS2),
    },
    accepts: "",
};
const NS2: &str = "ns2";

const DISTRIBUTION: &[Key] = &[
    may("uniform", || schema::many(schema::quantity()), "Uniform distribution between two values."),
    may("exponential", schema::quantity, "Mean of an exponential distribution."),
    may("pareto", schema::quantity, "Smallest value of a Pareto distribution; with shape."),
    may("lognormal", schema::quantity, "Median of a lognormal distribution; with sigma."),
    may("shape", schema::quantity, "Tail index of a Pareto distribution, 0.1 to 100."),
    may("sigma", schema::quantity, "Standard deviation of the logarithm, 0 to 10."),
    may("most", schema::quantity, "Upper bound; larger values are drawn again (pareto, lognormal). Default none."),
];

/// Kind of a value that a scenario gives as a number or as a distribution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Amount {
    /// A size in bytes.
    Size,
    /// A think time.
    Think,
}

impl Form for Amount {
    type Value = Draw;
    fn schema(&self) -> Json {
        let doc = if *self == Self::Size { "A size; give one distribution." } else { "A time; give one distribution." };
        schema::either(&[schema::quantity(), schema::table(doc, None, DISTRIBUTION)])
    }
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Draw, InputError> {
        let packet = table.given("packet", &PACKET)?.unwrap_or(table.setting.packet);
        amount(table, node, path, |words| match self {
            Self::Size => bytes(words, packet),
            Self::Think => time(words).map(Span::secs),
        })
    }
    fn show(&self, draw: &Draw) -> String {
        show(draw, |value| match self {
            Self::Size => quote(&format!("{value}b")),
            Self::Think => quote(&show_span(Span::from_secs(value))),
        })
    }
    fn accepts(&self, _: &Table<'_>, _: &str) -> String {
        match self {
            Self::Size => "a size such as 30000b or 30p, or { pareto = \"2300b\", shape = 1.3 }",
            Self::Think => "a time such as 1s, or { exponential = \"1s\" }",
        }
        .to_string()
    }
}

/// Parses a size such as 30kb, or a number of packets such as 30p; returns bytes.
fn bytes(words: &str, packet: u32) -> Parsed<f64> {
    let bad = || BadValue::new(format!("a size of 1b to {MAX_FILE}b such as 30000b, or in packets, 30p"));
    let bytes = match text::limit(words).map_err(|error| BadValue { hint: error.hint, ..bad() })? {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * u64::from(packet),
    };
    if (1..=MAX_FILE).contains(&bytes) { Ok(bytes as f64) } else { Err(bad()) }
}

fn amount(around: &Table<'_>, node: &Node, path: &str, read: impl Fn(&str) -> Parsed<f64>) -> Result<Draw, InputError> {
    if !matches!(node.value, Value::Table(_)) {
        return quantity(node, path, read).map(Draw::Constant);
    }
    let table = Table::bare(node, path, around.setting)?;
    table.expect(&names(DISTRIBUTION), &[])?;
    let within = |key: &'static str, lo: f64, hi: f64| {
        table.maybe(key, |words| {
            let known = text::number(words).ok().filter(|x| (lo..=hi).contains(x));
            known.ok_or_else(|| BadValue::new(format!("a number from {lo} to {hi}")))
        })
    };
    let (tail, sigma, most) = (within("shape", 0.1, 100.0)?, within("sigma", 0.0, 10.0)?, table.maybe("most", &read)?);
    let range = table.get("uniform").map(|node| pair(node, &table.path_of("uniform"), &read)).transpose()?;
    let mean = table.maybe("exponential", &read)?;
    let (least, median) = (table.maybe("pareto", &read)?, table.maybe("lognormal", &read)?);
    let bound = most.unwrap_or(f64::INFINITY);
    let draw = match (range, mean, least, median) {
        (Some((lo, hi)), None, None, None) => Draw::Uniform(lo, hi),
        (None, Some(mean), None, None) => Draw::Exponential(mean),
        (None, None, Some(least), None) => {
            let shape = tail.ok_or_else(|| table.missing("shape", "the tail index, such as 1.3"))?;
            Draw::Pareto { least, shape, most: bound }
        }
        (None, None, None, Some(median)) => {
            let sigma =
                sigma.ok_or_else(|| table.missing("sigma", "the logarithm's standard deviation, such as 1.2"))?;
            Draw::Lognormal { median, sigma, most: bound }
        }
        _ => return Err(node.error(path, "one of uniform, exponential, pareto and lognormal")),
    };
    let stranger = [
        ("shape", tail.is_some() && least.is_none()),
        ("sigma", sigma.is_some() && median.is_none()),
        ("most", most.is_some() && least.is_none() && median.is_none()),
    ];
    if let Some((key, _)) = stranger.iter().find(|(_, strange)| *strange) {
        return Err(table.bad(key, BadValue::new(format!("no {key}, as this distribution has none"))));
    }
    if bound < least.unwrap_or(0.0) {
        return Err(table.bad("most", BadValue::new("at least the smallest value")));
    }
    Ok(draw)
}

/// Two numbers in ascending order.
fn pair(node: &Node, path: &str, read: impl Fn(&str) -> Parsed<f64>) -> Result<(f64, f64), InputError> {
    let Value::List(items) = &node.value else { return Err(node.error(path, "two values, [smallest, largest]")) };
    let [lo, hi] = items.as_slice() else { return Err(node.error(path, "two values, [smallest, largest]")) };
    let (least, most) = (quantity(lo, &format!("{path}[0]"), &read)?, quantity(hi, &format!("{path}[1]"), &read)?);
    if least <= most { Ok((least, most)) } else { Err(hi.error(path, "a value at least as large as the first")) }
}

/// A distribution in the syntax of a scenario. `show` returns the text of one value, including quotes.
fn show(draw: &Draw, show: impl Fn(f64) -> String) -> String {
    let most = |most: f64| if most.is_finite() { format!(", most = {}", show(most)) } else { String::new() };
    match *draw {
        Draw::Constant(x) => show(x),
        Draw::Uniform(lo, hi) => format!("{{ uniform = [{}, {}] }}", show(lo), show(hi)),
        Draw::Exponential(mean) => format!("{{ exponential = {} }}", show(mean)),
        Draw::Pareto { least, shape, most: bound } => {
            format!("{{ pareto = {}, shape = {shape:?}{} }}", show(least), most(bound))
        }
        Draw::Lognormal { median, sigma, most: bound } => {
            format!("{{ lognormal = {}, sigma = {sigma:?}{} }}", show(median), most(bound))
        }
    }
}
