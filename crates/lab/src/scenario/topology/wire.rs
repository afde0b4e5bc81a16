//! Keys of a link for losses, for a rate that changes (steps, a trace, random levels), and for a delay that changes (a
//! trace, jitter).

use std::path::Path;
use std::sync::Arc;

use forebay_aqm::base::text::{self, BadValue, show_rate, show_span};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::delay::{DELAY_LINE, DelayModel, DelayTrace};
use forebay_sim::levels::Levels;
use forebay_sim::loss::LossModel;
use forebay_sim::network::Conditions;
use forebay_sim::schedule::{Schedule, Trace};
use serde_json::json;

use crate::declare::{
    Custom, Form, Key, Keys, LINK_RATE, Parsed, Quantities, Quantity, TIME, Table, duration, inline, link_rate,
    quantity, schema, table, table_of, time,
};
use crate::disk;
use crate::document::{Node, Text, Value, list, quote};
use crate::input::{Found, InputError};

table! {
    /// Losses, rate changes and varying delays in the form of a scenario file.
    struct Changes {
        /// Random loss on the wire: a probability such as 0.02 or 2%; default none.
        loss: Option<LossModel> = LOSS, optional;
        /// Rate changes at given times, as steps [time, new rate] such as [["50s", "2mbit"]]. Disciplines still use the
        /// value of the key rate.
        rate_steps: Option<Schedule> = STEPS, optional;
        /// Mahimahi trace: a file (relative to this file's folder) or a list of milliseconds. Disciplines use the value
        /// of the key rate.
        rate_trace: Option<Trace> = TRACE, optional;
        /// Rates between which the link changes at random, like a radio link. Disciplines use the value of the key rate
        /// (default: the mean of these rates).
        rate_levels: Option<Levels> = LEVELS, optional;
        /// Propagation delays in place of the key delay: a file with a time and a delay in ms per line (relative to this
        /// file's folder), or a list such as [["0s", "20ms"], ["1s", "45ms"]]. Packets keep their order.
        delay_trace: Option<DelayTrace> = DELAYS, optional;
        /// A random delay in addition, uniform from 0 to this, such as 5ms; default none. Packets keep their order.
        delay_jitter: Option<Span> = TIME, optional;
    }
}

table! {
    impl Levels {
        /// The rates. A change is to the previous or the next rate in this list.
        rates: Vec<Rate> = Quantities(LINK_RATE, "a list of rates, such as [\"1mbit\", \"2mbit\"]");
        /// Mean time between two changes, at least 10ms.
        hold: Span = Quantity(hold, show_span);
    }
}

table! {
    /// Losses in bursts, like netem's gemodel: a Markov chain with a good and a bad state, one step per
    /// packet.
    struct Gilbert {
        /// Probability to go from good to bad.
        p: f64 = SHARE;
        /// Probability to go from bad to good; default 1 - p.
        r: f64 = SHARE, or_else |table| Ok(1.0 - table.needed("p", &SHARE)?);
        /// Loss probability in the bad state; default 1.
        bad as "1-h": f64 = SHARE, or 1.0;
        /// Loss probability in the good state; default 0.
        good as "1-k": f64 = SHARE, or 0.0;
    }
}

/// Largest trace file in bytes. A larger file is probably not a trace.
const MAX_BYTES: u64 = 16 << 20;
/// Most delivery opportunities of a trace: they stay in memory for each combination of values of the keys that vary.
const MAX_OPPORTUNITIES: usize = 1_000_000;

impl Keys for Conditions {
    fn keys() -> Vec<Key> {
        Changes::keys()
    }
    fn read(table: &Table<'_>) -> Result<Self, InputError> {
        let not_both = |key, other| Err(table.bad(key, BadValue::new(format!("{key} or {other}, not both"))));
        match Changes::read(table)? {
            Changes { rate_steps: Some(_), rate_levels: Some(_), .. } => not_both("rate_steps", "rate_levels"),
            Changes { rate_trace: Some(_), rate_levels: Some(_), .. } => not_both("rate_trace", "rate_levels"),
            Changes { rate_steps: Some(_), rate_trace: Some(_), .. } => not_both("rate_steps", "rate_trace"),
            Changes { loss, rate_steps, rate_trace, rate_levels: levels, delay_trace, delay_jitter } => {
                let schedule = rate_steps.or(rate_trace.map(Schedule::Trace)).map(Arc::new);
                let jitter = delay_jitter.unwrap_or(Span::ZERO);
                let delay = DelayModel { trace: delay_trace.map(Arc::new), jitter };
                Ok(Self { loss, schedule, levels, delay })
            }
        }
    }
    fn write(&self, out: &mut Text) {
        let Self { loss, schedule, levels, delay } = self.clone();
        let mut changes = Changes {
            loss,
            rate_steps: None,
            rate_trace: None,
            rate_levels: levels,
            delay_trace: delay.trace.map(Arc::unwrap_or_clone),
            delay_jitter: Some(delay.jitter).filter(|jitter| *jitter > Span::ZERO),
        };
        match schedule.map(Arc::unwrap_or_clone) {
            None => {}
            Some(steps @ Schedule::Steps(_)) => changes.rate_steps = Some(steps),
            // Written inline, so that a stored scenario does not depend on other files.
            Some(Schedule::Trace(trace)) => changes.rate_trace = Some(trace),
        }
        changes.write(out);
    }
}

/// The rate of a link. If the key `rate` is missing, it is the first of these that exists: the mean of `rate_levels`,
/// the mean of `rate_trace`, `default`, the rate of the link `table.setting.like`, whose values are the defaults.
pub(super) fn rate(table: &Table<'_>, default: Option<Rate>) -> Result<Rate, InputError> {
    if let Some(rate) = table.given("rate", &LINK_RATE)? {
        return Ok(rate);
    }
    if let Some(levels) = table.given("rate_levels", &LEVELS)? {
        return Ok(levels.mean());
    }
    if let Some(trace) = table.given("rate_trace", &TRACE)? {
        return Ok(mean(&trace));
    }
    match default.or(table.setting.like.map(|like| like.rate)) {
        Some(rate) => Ok(rate),
        None => table.needed("rate", &LINK_RATE),
    }
}

fn mean(trace: &Trace) -> Rate {
    trace.mean().max(Rate(1))
}

/// Reads the mean time between two rate changes. With less than 10 ms the simulation would spend more time on rate
/// changes than on packets.
fn hold(words: &str) -> Parsed<Span> {
    match duration(words)? {
        short if short < Span::from_millis(10) => Err(BadValue::new("a mean time of at least 10ms")),
        time => Ok(time),
    }
}

/// A probability, from 0 to 1.
const SHARE: Custom<f64> = Custom {
    schema: schema::quantity,
    read: |_, node, path| quantity(node, path, share),
    show: |share| format!("{share:?}"),
    accepts: A_SHARE,
};
const A_SHARE: &str = "a probability from 0 to 1, such as 0.02 or 2%";

fn share(words: &str) -> Parsed<f64> {
    let (number, unit) = words.trim().strip_suffix('%').map_or((words, 1.0), |percent| (percent, 100.0));
    let share = text::number(number).ok().map(|x| x / unit).filter(|x| (0.0..=1.0).contains(x));
    share.ok_or_else(|| BadValue::new(A_SHARE))
}

/// The value of the key `loss`: a probability, or a table with the keys of [`Gilbert`], for losses in bursts.
const LOSS: Custom<LossModel> = Custom {
    schema: || schema::either(&[schema::quantity(), table_of::<Gilbert>(Gilbert::DOC)]),
    read: |table, node, path| {
        if !matches!(node.value, Value::Table(_)) {
            let or_table =
                |bad: BadValue| BadValue { accepts: format!("{A_SHARE}, or {{ p, r, 1-h, 1-k }}").into(), ..bad };
            return Ok(LossModel::Bernoulli(quantity(node, path, |words| share(words).map_err(or_table))?));
        }
        let Gilbert { p, r, bad, good } = Table::whole_of(node, path, table.setting)?;
        Ok(LossModel::GilbertElliott { p, r, bad, good })
    },
    show: |loss| match *loss {
        LossModel::Bernoulli(p) => SHARE.show(&p),
        LossModel::GilbertElliott { p, r, bad, good } => inline(&Gilbert { p, r, bad, good }),
    },
    accepts: "",
};

const LEVELS: Custom<Levels> = Custom {
    schema: || table_of::<Levels>(""),
    read: |table, node, path| Table::whole_of(node, path, table.setting),
    show: inline,
    accepts: "",
};

const STEPS: Custom<Schedule> = Custom {
    schema: || schema::many(schema::pair()),
    // The first step has the link's rate.
    read: |table, node, path| rate_steps(node, path, rate(table, None)?),
    show: |schedule| {
        let Schedule::Steps(steps) = schedule else { return String::new() };
        let rate = |rate: Rate| if rate.0 == 0 { "0bit".to_string() } else { show_rate(rate) };
        let step =
            |&(at, r): &(Instant, Rate)| list([quote(&show_span(Span::from_nanos(at.nanos()))), quote(&rate(r))]);
        list(steps.iter().skip(1).map(step))
    },
    accepts: "",
};

const TRACE: Custom<Trace> = Custom {
    schema: || schema::either(&[schema::text(), schema::many(json!({ "type": "integer" }))]),
    read: |_, node, path| rate_trace(node, path),
    show: |trace| list(trace.millis().iter().map(u32::to_string)),
    accepts: "",
};

/// Largest number of steps of a trace of delays.
const MAX_DELAYS: usize = 1_000_000;

const DELAYS: Custom<DelayTrace> = Custom {
    schema: || schema::either(&[schema::text(), schema::many(schema::pair())]),
    read: |_, node, path| delay_trace(node, path),
    show: |trace| {
        let step = |&(at, delay): &(Instant, Span)| {
            list([quote(&show_span(Span::from_nanos(at.nanos()))), quote(&show_span(delay))])
        };
        list(trace.steps().iter().map(step))
    },
    accepts: "",
};

fn delay_trace(node: &Node, path: &str) -> Result<DelayTrace, InputError> {
    const ACCEPTS: &str = "the name of a file with times and delays, or a list such as [[\"0s\", \"20ms\"]]";
    let trace = match &node.value {
        Value::Text(name) => {
            let file = node.place.beside(name);
            let text = trace_text(&file).map_err(|why| node.error(path, ACCEPTS).hint(why))?;
            DelayTrace::parse(&text).map_err(|bad| {
                let found = if bad.found == "nothing" { Found::thing(bad.found) } else { Found::text(&bad.found) };
                InputError::new(file.display().to_string(), path, found, DELAY_LINE).at(bad.line, 1)
            })?
        }
        Value::List(items) if !items.is_empty() => {
            let mut steps = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let path = format!("{path}[{i}]");
                let Value::List(pair) = &item.value else { return Err(item.error(path, ACCEPTS)) };
                let [at, delay] = pair.as_slice() else { return Err(item.error(path, "a time and the new delay")) };
                let from = Instant::ZERO + quantity(at, &format!("{path}[0]"), time)?;
                steps.push((from, quantity(delay, &format!("{path}[1]"), time)?));
            }
            DelayTrace::new(steps)
                .map_err(|i| items[i].error(format!("{path}[{i}]"), "a time after that of the previous step"))?
        }
        _ => return Err(node.error(path, ACCEPTS)),
    };
    if trace.steps().len() > MAX_DELAYS {
        return Err(node.error(path, format!("a trace of at most {MAX_DELAYS} delays")));
    }
    Ok(trace)
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
        let [at, rate] = pair.as_slice() else { return Err(item.error(path, "a time and the new rate")) };
        let from = Instant::ZERO + quantity(at, &format!("{path}[0]"), time)?;
        if steps.last().is_some_and(|(before, _)| from <= *before) {
            return Err(at.error(format!("{path}[0]"), "a time after that of the previous step, and after 0s"));
        }
        steps.push((from, quantity(rate, &format!("{path}[1]"), rate_or_none)?));
    }
    Schedule::steps(steps).map_err(|bad| node.error(path, bad.accepts))
}

/// The capacity of a link; 0 while it is down.
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
    if trace.millis().len() > MAX_OPPORTUNITIES {
        let accepts = format!("a trace of at most {MAX_OPPORTUNITIES} delivery opportunities");
        return Err(node.error(path, accepts));
    }
    link_rate(&show_rate(mean(&trace))).map_err(|bad| node.error(path, bad.accepts))?;
    Ok(trace)
}

/// Text of a trace, or why it cannot be read.
fn trace_text(file: &Path) -> Result<String, String> {
    let why = |what: &str| format!("{}: {what}", file.display());
    let bytes = disk::read_at_most(file, MAX_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => why("no such file"),
        std::io::ErrorKind::InvalidInput => why("not a file"),
        _ => why(&error.to_string()),
    })?;
    let bytes = bytes.ok_or_else(|| why("more than 16 MiB"))?;
    String::from_utf8(bytes).map_err(|_| why("stream did not contain valid UTF-8"))
}
