//! `kind = "file"` and `"web"`: files over connections, and the amounts they are drawn from.

use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Limit;
use forebay_sim::app::Files;
use forebay_sim::draw::Draw;

use super::doc::{Node, Value};
use super::error::InputError;
use super::shape::{Key, Kind, Shape, may, need};
use super::table::{Parsed, Table, quantity};
use super::values::time;

/// Bytes on the wire of a request for a page, unless the scenario says: a GET with its usual headers. Ours.
const REQUEST: u32 = 400;
/// The largest file in bytes, and the most files.
const LARGEST: u64 = 1_000_000_000_000;
const MOST: u32 = 1_000_000_000;

const SIZE_KEY: Key = need(
    "size",
    Kind::QuantityOr(&SIZE),
    "A file in bytes on the wire, headers included, such as 30000b, or in packets, 30p; or drawn.",
);
const PERSISTENT: &str = "Do the files of a flow share a connection, or has each its own?";
const HANDSHAKE: &str =
    "Does a connection begin with a SYN and its answer? Then a file's time runs from the SYN; default false.";

/// What `file` has beside the keys of every flow.
pub(crate) const FILE: &[Key] = &[
    SIZE_KEY,
    may("repeat", Kind::WholeOr(1, MOST, "forever"), "How many files a flow sends, one after the other; default 1."),
    may("think", Kind::QuantityOr(&THINK), "Time between the end of a file and the next; default 0s."),
    may("persistent", Kind::Flag, PERSISTENT),
    may("handshake", Kind::Flag, HANDSHAKE),
];

/// What `web` has beside the keys of every flow.
pub(crate) const WEB: &[Key] = &[
    SIZE_KEY,
    may("repeat", Kind::WholeOr(1, MOST, "forever"), "How many pages a user asks for; default forever."),
    need("think", Kind::QuantityOr(&THINK), "Time from the arrival of a page to the request for the next."),
    may("persistent", Kind::Flag, PERSISTENT),
    may("handshake", Kind::Flag, HANDSHAKE),
    may("request", Kind::Whole(40, 65_535), "A request in bytes on the wire; default 400."),
];

const DISTRIBUTION: &[Key] = &[
    may("uniform", Kind::Quantities, "Between the two."),
    may("exponential", Kind::Quantity, "Mean of an exponential distribution."),
    may("pareto", Kind::Quantity, "Smallest value of a Pareto distribution; with shape."),
    may("lognormal", Kind::Quantity, "Median of a lognormal distribution; with sigma."),
    may("shape", Kind::Quantity, "Tail index of a Pareto distribution, 0.1 to 100."),
    may("sigma", Kind::Quantity, "Standard deviation of the logarithm, 0 to 10."),
    may("most", Kind::Quantity, "What is larger is drawn again (pareto, lognormal); default no bound."),
];

static SIZE: Shape = Shape { doc: "A size by one distribution.", tag: None, groups: &[DISTRIBUTION], later: &[] };
static THINK: Shape = Shape { doc: "A time by one distribution.", tag: None, groups: &[DISTRIBUTION], later: &[] };

/// Reads the keys of `file`, or of `web`; `packet` is the scenario's.
pub(crate) fn files(table: &Table<'_>, is_web: bool, packet: u32) -> Result<Files, InputError> {
    let size = table.node("size", "a size such as 30000b or 30p, or { pareto = \"2300b\", shape = 1.3 }")?;
    let size = amount(size, &table.path_of("size"), &SIZE, |words| bytes(words, packet))?;
    let think = match table.get("think") {
        Some(node) => amount(node, &table.path_of("think"), &THINK, |words| time(words).map(Span::secs))?,
        None if is_web => return Err(table.missing("think", "a time such as 1s, or { exponential = \"1s\" }")),
        None => Draw::Constant(0.0),
    };
    Ok(Files {
        size,
        think,
        count: table.whole_or("repeat", (!is_web).then_some(1), 1..=MOST, "forever")?,
        fresh: !table.flag("persistent", is_web)?,
        handshake: table.flag("handshake", false)?,
        request: if is_web { Some(table.whole("request", REQUEST, 40..=65_535)? as u16) } else { None },
    })
}

/// A size in bytes: with its unit, or in packets.
fn bytes(words: &str, packet: u32) -> Parsed<f64> {
    let bad = || BadValue::new(format!("a size of 1b to {LARGEST}b such as 30000b, or in packets, 30p"));
    let bytes = match text::limit(words).map_err(|error| BadValue { hint: error.hint, ..bad() })? {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => u64::from(packets) * u64::from(packet),
    };
    if (1..=LARGEST).contains(&bytes) { Ok(bytes as f64) } else { Err(bad()) }
}

/// One number, or a distribution.
fn amount(
    node: &Node,
    path: &str,
    shape: &'static Shape,
    read: impl Fn(&str) -> Parsed<f64>,
) -> Result<Draw, InputError> {
    if !matches!(node.value, Value::Table(_)) {
        return quantity(node, path, read).map(Draw::Constant);
    }
    let table = Table::bare(node, path)?;
    table.expect(shape)?;
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
        return Err(table.bad(key, BadValue::new(format!("no {key}: this distribution has none"))));
    }
    if bound < least.unwrap_or(0.0) {
        return Err(table.bad("most", BadValue::new("no less than the smallest value")));
    }
    table.done(shape);
    Ok(draw)
}

/// Two numbers in order.
fn pair(node: &Node, path: &str, read: impl Fn(&str) -> Parsed<f64>) -> Result<(f64, f64), InputError> {
    let Value::List(items) = &node.value else { return Err(node.error(path, "two values, [smallest, largest]")) };
    let [lo, hi] = items.as_slice() else { return Err(node.error(path, "two values, [smallest, largest]")) };
    let (least, most) = (quantity(lo, &format!("{path}[0]"), &read)?, quantity(hi, &format!("{path}[1]"), &read)?);
    if least <= most { Ok((least, most)) } else { Err(hi.error(path, "a value no less than the first")) }
}

/// An amount as a scenario writes it, each value by `show`, which quotes.
pub(crate) fn show(draw: &Draw, show: impl Fn(f64) -> String) -> String {
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
