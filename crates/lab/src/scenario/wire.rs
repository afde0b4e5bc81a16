//! What the wire of a link does beside sending at a fixed rate: losses, steps of its rate, a trace.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::levels::Levels;
use forebay_sim::loss::LossModel;
use forebay_sim::network::Conditions;
use forebay_sim::schedule::{Schedule, Trace};

use super::doc::{Node, Value};
use super::error::{Found, InputError};
use super::shape::{Key, Kind, Shape, may, need};
use super::table::{Parsed, Table, quantity};
use super::values::{duration, link_rate, time};

/// How fast a link is.
pub(crate) const CAPACITY: Key =
    may("rate", Kind::Quantity, "Capacity, such as 10mbit; at most 100gbit. Needed without rate_trace.");

/// The keys of every link.
pub(crate) const WIRE: &[Key] = &[
    may("loss", Kind::QuantityOr(&GILBERT), "Loss on the wire: a probability such as 0.02 or 2%; default none."),
    may(
        "rate_steps",
        Kind::Steps,
        "Times and the rates from then on, such as [[\"50s\", \"2mbit\"]]; disciplines are told rate all the same.",
    ),
    may(
        "rate_trace",
        Kind::Trace,
        "A mahimahi trace, by its file (from this one's folder) or its milliseconds; rate is what disciplines are told.",
    ),
    may(
        "rate_levels",
        Kind::Table(&LEVELS),
        "Rates between which it moves by lot, as a radio link does; rate, by default their mean, is what disciplines are told.",
    ),
];

static LEVELS: Shape = Shape {
    doc: "A rate that moves up or down to the next of a list, after exponential times.",
    tag: None,
    groups: &[&[
        need("rates", Kind::Quantities, "The rates, in their order."),
        need("hold", Kind::Quantity, "Mean time between two moves, at least 10ms."),
    ]],
    later: &[],
};

static GILBERT: Shape = Shape {
    doc: "Losses in bursts, as netem's gemodel: a chain of a good and a bad state with a step per packet.",
    tag: None,
    groups: &[&[
        need("p", Kind::Quantity, "Probability to go from good to bad."),
        may("r", Kind::Quantity, "Probability to go from bad to good; default 1 - p."),
        may("1-h", Kind::Quantity, "Loss in the bad state; default 1."),
        may("1-k", Kind::Quantity, "Loss in the good state; default 0."),
    ]],
    later: &[],
};

/// A trace is recorded by a program; more than this is another kind of file.
const LARGEST: u64 = 16 << 20;
/// The most delivery opportunities of a trace: they are kept in memory for each case.
const MOST_OPPORTUNITIES: usize = 1_000_000;

/// The rate of a link and what its wire does. Without a rate of its own a link with a trace has the trace's mean,
/// another one the default if there is one.
pub(crate) fn rated(table: &Table<'_>, default: Option<Rate>) -> Result<(Rate, Conditions), InputError> {
    let loss = losses(table)?;
    let steps = table.get("rate_steps");
    let trace = table.get("rate_trace");
    if let Some(node) = table.get("rate_levels") {
        if let Some(key) = [("rate_steps", steps), ("rate_trace", trace)].iter().find(|(_, node)| node.is_some()) {
            return Err(table.bad(key.0, BadValue::new(format!("{} or rate_levels, not both", key.0))));
        }
        let levels = levels(node, &table.path_of("rate_levels"))?;
        let rate = table.or("rate", levels.mean(), link_rate)?;
        return Ok((rate, Conditions { loss, levels: Some(levels), ..Conditions::default() }));
    }
    let Some(node) = trace else {
        let rate = default.map_or_else(|| table.need("rate", link_rate), |rate| table.or("rate", rate, link_rate))?;
        let schedule = steps.map(|node| rate_steps(node, &table.path_of("rate_steps"), rate)).transpose()?;
        return Ok((rate, Conditions { loss, schedule: schedule.map(Arc::new), levels: None }));
    };
    if steps.is_some() {
        return Err(table.bad("rate_steps", BadValue::new("rate_steps or rate_trace, not both")));
    }
    let trace = rate_trace(node, &table.path_of("rate_trace"))?;
    let mean = trace.mean().max(Rate(1));
    let schedule = Schedule::Trace(trace);
    link_rate(&text::show_rate(mean)).map_err(|bad| node.error(table.path_of("rate_trace"), bad.accepts))?;
    Ok((table.or("rate", mean, link_rate)?, Conditions { loss, schedule: Some(Arc::new(schedule)), levels: None }))
}

/// What a link loses.
pub(crate) fn losses(table: &Table<'_>) -> Result<Option<LossModel>, InputError> {
    table.get("loss").map(|node| loss(node, &table.path_of("loss"))).transpose()
}

/// Shorter times between two rates cost more than the packets.
const SHORTEST_HOLD: Span = Span::from_millis(10);

fn levels(node: &Node, path: &str) -> Result<Levels, InputError> {
    const ACCEPTS: &str = "a list of rates, such as [\"1mbit\", \"2mbit\"]";
    let table = Table::open(node, path, &LEVELS)?;
    let rates = table.list("rates", ACCEPTS)?;
    if rates.is_empty() {
        return Err(table.bad("rates", BadValue::new(ACCEPTS)));
    }
    let rates = rates.iter().map(|(item, path)| quantity(item, path, link_rate)).collect::<Result<_, _>>()?;
    let hold = table.need("hold", |words| match duration(words)? {
        short if short < SHORTEST_HOLD => Err(BadValue::new("a mean time of at least 10ms")),
        time => Ok(time),
    })?;
    table.done(&LEVELS);
    Ok(Levels { rates, hold })
}

/// A share of all packets.
fn share(words: &str) -> Parsed<f64> {
    let (number, unit) = words.trim().strip_suffix('%').map_or((words, 1.0), |percent| (percent, 100.0));
    let share = text::number(number).ok().map(|x| x / unit).filter(|x| (0.0..=1.0).contains(x));
    share.ok_or_else(|| BadValue::new("a probability from 0 to 1, such as 0.02 or 2%"))
}

fn loss(node: &Node, path: &str) -> Result<LossModel, InputError> {
    if !matches!(node.value, Value::Table(_)) {
        let or_table =
            |bad: BadValue| BadValue { accepts: format!("{}, or {{ p, r, 1-h, 1-k }}", bad.accepts).into(), ..bad };
        return Ok(LossModel::Bernoulli(quantity(node, path, |words| share(words).map_err(or_table))?));
    }
    let table = Table::open(node, path, &GILBERT)?;
    let p = table.need("p", share)?;
    let model = LossModel::GilbertElliott {
        p,
        r: table.or("r", 1.0 - p, share)?,
        bad: table.or("1-h", 1.0, share)?,
        good: table.or("1-k", 0.0, share)?,
    };
    table.done(&GILBERT);
    Ok(model)
}

fn rate_steps(node: &Node, path: &str, first: Rate) -> Result<Schedule, InputError> {
    const ACCEPTS: &str = "a list of times and rates, such as [[\"50s\", \"2mbit\"], [\"100s\", \"10mbit\"]]";
    let Value::List(items) = &node.value else { return Err(node.error(path, ACCEPTS)) };
    if items.is_empty() {
        return Err(node.error(path, ACCEPTS));
    }
    let mut steps = vec![(Instant::ZERO, first)];
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let Value::List(pair) = &item.value else { return Err(item.error(path, ACCEPTS)) };
        let [at, rate] = pair.as_slice() else { return Err(item.error(path, "a time and the rate from then on")) };
        let from = Instant::ZERO + quantity(at, &format!("{path}[0]"), time)?;
        if steps.last().is_some_and(|(before, _)| from <= *before) {
            return Err(at.error(format!("{path}[0]"), "a time after that of the step before, and after 0s"));
        }
        steps.push((from, quantity(rate, &format!("{path}[1]"), rate_or_none)?));
    }
    Schedule::steps(steps).map_err(|bad| node.error(path, bad.accepts))
}

/// The capacity of a link, 0 while it is down.
fn rate_or_none(words: &str) -> Parsed<Rate> {
    if matches!(words.trim(), "0" | "0bit") { Ok(Rate(0)) } else { link_rate(words) }
}

fn rate_trace(node: &Node, path: &str) -> Result<Trace, InputError> {
    const ACCEPTS: &str = "the name of a mahimahi trace file, or a list of milliseconds";
    let trace = match &node.value {
        Value::Text(name) => {
            let file = node.place.beside(name);
            let text = trace_text(&file).map_err(|why| node.error(path, ACCEPTS).hint(why))?;
            Trace::parse(&text).map_err(|bad| {
                let is_absent = ["nothing", "an empty line"].contains(&bad.found.as_str());
                let found = if is_absent { Found::thing(bad.found) } else { Found::text(&bad.found) };
                InputError::new(file.display().to_string(), path, found, bad.accepts).at(bad.line, 1)
            })?
        }
        Value::List(items) if !items.is_empty() => {
            let lines: Vec<String> = items.iter().map(|item| item.scalar().unwrap_or_default()).collect();
            Trace::parse(&lines.join("\n")).map_err(|bad| {
                let i = (bad.line - 1).min(items.len() - 1);
                items[i].error(format!("{path}[{i}]"), bad.accepts)
            })?
        }
        _ => return Err(node.error(path, ACCEPTS)),
    };
    if trace.millis().len() > MOST_OPPORTUNITIES {
        let accepts = format!("a trace of at most {MOST_OPPORTUNITIES} delivery opportunities");
        return Err(node.error(path, accepts));
    }
    Ok(trace)
}

/// The text of a trace, or why there is none.
fn trace_text(file: &Path) -> Result<String, String> {
    let why = |what: &str| format!("{}: {what}", file.display());
    let size = fs::metadata(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => why("no such file"),
        _ => why(&error.to_string()),
    })?;
    if !size.is_file() {
        return Err(why("not a file"));
    }
    if size.len() > LARGEST {
        return Err(why("more than 16 MiB"));
    }
    fs::read_to_string(file).map_err(|error| why(&error.to_string()))
}
