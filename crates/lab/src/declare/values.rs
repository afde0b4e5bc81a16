//! How values that several tables of scenario files have are read and written: bounded quantities, time ranges, active
//! windows, disciplines.

use forebay_aqm::Spec;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::text::{self, BadValue, show_limit, show_rate, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Depth, Limit, Rate};
use forebay_sim::agenda::MAX_NANOS;

use serde_json::json;

use super::cursor::{self, Parsed, Setting, Table, is_plain, quantity};
use super::form::{Custom, Quantity};
use super::schema;
use crate::document::{Node, Value, list, quote};
use crate::input::{Found, InputError};
use crate::own;

/// A time of at least 0.
pub(crate) const TIME: Quantity<Span> = Quantity(time, show_span);
/// A time above 0.
pub(crate) const DURATION: Quantity<Span> = Quantity(duration, show_span);
/// Mean time of an on/off source in one of its states.
pub(crate) const STATE_TIME: Quantity<Span> = Quantity(state_time, show_span);
/// A rate that may be higher than the highest rate of a link.
pub(crate) const RATE: Quantity<Rate> = Quantity(text::rate, show_rate);
/// The capacity of a link.
pub(crate) const LINK_RATE: Quantity<Rate> = Quantity(link_rate, show_rate);
/// A buffer of at least one packet or byte.
pub(crate) const BUFFER: Quantity<Limit> = Quantity(queue, show_limit);

/// Longest time in seconds. Longer times lose nanoseconds when written and read again.
const LONGEST: u64 = 1_000_000;

/// A time of at least 0.
pub(crate) fn time(words: &str) -> Parsed<Span> {
    let span = text::span(words)?;
    let short = span.nanos() <= LONGEST * 1_000_000_000;
    if short { Ok(span) } else { Err(BadValue::new(format!("a time of at most {LONGEST}s"))) }
}

/// Highest rate of a link. At this rate the transmission of a packet takes several nanoseconds; time has a resolution
/// of 1 ns.
const FASTEST_LINK: Rate = Rate(100_000_000_000);

/// The capacity of a link.
pub(crate) fn link_rate(words: &str) -> Parsed<Rate> {
    let rate = text::rate(words)?;
    if rate <= FASTEST_LINK { Ok(rate) } else { Err(BadValue::new("a link rate of at most 100gbit")) }
}

/// A time above 0.
pub(crate) fn duration(words: &str) -> Parsed<Span> {
    const ACCEPTS: &str = "a time above 0, such as 200s";
    match time(words) {
        Ok(Span::ZERO) => Err(BadValue::new(ACCEPTS)),
        Err(bad) if bad.hint.is_none() && text::span(words).is_err() => Err(BadValue::new(ACCEPTS)),
        other => other,
    }
}

/// Duration of a run.
pub(crate) fn run_time(words: &str) -> Parsed<Span> {
    const LONGEST_S: u64 = MAX_NANOS / 2 / 1_000_000_000;
    match duration(words) {
        Ok(time) if time.nanos() > LONGEST_S * 1_000_000_000 => {
            Err(BadValue::new(format!("a time above 0 and at most {LONGEST_S}s")))
        }
        other => other,
    }
}

/// Shortest mean time of an on/off source in a state. With shorter times the changes of state would cost more run time
/// than the packets.
const SHORTEST_STATE: Span = Span::from_millis(1);

/// Mean time of an on/off source in one of its states.
pub(crate) fn state_time(words: &str) -> Parsed<Span> {
    match duration(words)? {
        short if short < SHORTEST_STATE => Err(BadValue::new("a mean time of at least 1ms")),
        time => Ok(time),
    }
}

/// A buffer of at least one packet or byte.
pub(crate) fn queue(words: &str) -> Parsed<Limit> {
    const ACCEPTS: &str = "a buffer size such as 100p (packets), 160kb, 50ms or 1bdp";
    match text::limit(words).map_err(|bad| BadValue { accepts: ACCEPTS.into(), ..bad })? {
        Limit::Packets(0) | Limit::Bytes(0) => Err(BadValue::new("a buffer size of at least 1p")),
        limit => Ok(limit),
    }
}

/// Reads a target queue length.
pub(crate) fn reference(words: &str) -> Parsed<Depth> {
    let depth = text::depth(words)?;
    let sound = (0.0..=1e9).contains(&depth.value());
    if sound { Ok(depth) } else { Err(BadValue::new("a queue depth of at most 1e9")) }
}

const EVENTS: &str = "a number per second above 0, such as 10/s";

/// A number of events per second: `10/s`.
fn per_second(words: &str) -> Parsed<f64> {
    let bad = || BadValue::new(EVENTS);
    let Some(number) = words.trim().strip_suffix("/s") else {
        let number = text::number(words).ok();
        return Err(BadValue { hint: number.map(|n| format!("write {n}/s")), ..bad() });
    };
    let number = text::number(number).map_err(|_| bad())?;
    let sound = number > 0.0 && number <= 1e6;
    if sound { Ok(number) } else { Err(bad().hint("at most 1e6/s")) }
}

/// Name of a group of flows or of a link. It may not consist of digits alone, because names are parts of paths and a
/// number in a path is an index.
pub(crate) const NAME: Custom<String> = Custom {
    schema: schema::text,
    read: |_, node, path| {
        let name = cursor::text(node, path)?;
        let sound = is_plain(name) && !name.chars().all(|c| c.is_ascii_digit());
        let accepts = "a name of letters, digits, - and _, not digits alone";
        if sound { Ok(name.to_string()) } else { Err(node.error(path, accepts)) }
    },
    show: |name| quote(name),
    accepts: "",
};

/// A number of events per second.
pub(crate) const PER_SECOND: Custom<f64> = Custom {
    schema: schema::text,
    read: |_, node, path| quantity(node, path, per_second),
    show: |rate| quote(&format!("{rate}/s")),
    accepts: EVENTS,
};

/// A time, uniform between `lo` and `hi`; constant if both are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// Earliest or shortest time.
    pub lo: Span,
    /// Latest or longest time.
    pub hi: Span,
}

impl Uniform {
    /// A random time between `lo` and `hi`.
    pub(crate) fn draw(self, rng: &mut Rng) -> Span {
        let width = self.hi.secs() - self.lo.secs();
        self.lo + Span::from_secs(width * rng.uniform())
    }

    /// The range as a scenario writes it.
    pub(crate) fn show(self) -> String {
        format!("{{ uniform = {} }}", list([self.lo, self.hi].map(|at| quote(&show_span(at)))))
    }
}

/// A time, or `{ uniform = [lo, hi] }`.
pub(crate) const TIMES: Custom<Uniform> = Custom {
    schema: || {
        let properties = json!({ "uniform": schema::pair() });
        let table = json!({
            "type": "object", "properties": properties, "required": ["uniform"], "additionalProperties": false,
        });
        schema::either(&[schema::quantity(), table])
    },
    read: |_, node, path| uniform(node, path),
    show: |range| range.show(),
    accepts: "a time, or { uniform = [\"1s\", \"2s\"] }",
};

fn uniform(node: &Node, path: &str) -> Result<Uniform, InputError> {
    const ACCEPTS: &str = "a time such as 1s, or { uniform = [\"0s\", \"1s\"] }";
    if !matches!(node.value, Value::Table(_)) {
        let at = quantity(node, path, |words| time(words).map_err(|bad| BadValue { accepts: ACCEPTS.into(), ..bad }))?;
        return Ok(Uniform { lo: at, hi: at });
    }
    let table = Table::bare(node, path, Setting::default())?;
    table.only("uniform")?;
    range(table.node("uniform", ACCEPTS)?, &table.path_of("uniform"))
}

/// Two times in ascending order.
pub(crate) fn range(node: &Node, path: &str) -> Result<Uniform, InputError> {
    match &node.value {
        Value::List(items) if items.len() == 2 => {
            let bound = |i: usize| quantity(&items[i], &format!("{path}[{i}]"), time);
            let range = Uniform { lo: bound(0)?, hi: bound(1)? };
            if range.lo <= range.hi { Ok(range) } else { Err(items[1].error(path, "a time at or after the first")) }
        }
        _ => Err(node.error(path, "two times, [earliest, latest]")),
    }
}

/// Active windows of a flow: `["50s", "150s"]`, or a list of such pairs in ascending order without overlap. The last
/// window may end at `end`, the end of the run, which is read as `None`.
pub(crate) const WINDOWS: Custom<Vec<(Span, Option<Span>)>> = Custom {
    schema: || schema::either(&[schema::pair(), schema::many(schema::pair())]),
    read: |_, node, path| windows(node, path),
    show: |windows| {
        let end = |end: Option<Span>| end.map_or_else(|| "end".to_string(), show_span);
        list(windows.iter().map(|(from, to)| list([quote(&show_span(*from)), quote(&end(*to))])))
    },
    accepts: "",
};

fn windows(node: &Node, path: &str) -> Result<Vec<(Span, Option<Span>)>, InputError> {
    const ACCEPTS: &str = "a window such as [\"50s\", \"150s\"], or a list of windows";
    let Value::List(items) = &node.value else { return Err(node.error(path, ACCEPTS)) };
    let nested = items.first().is_some_and(|item| matches!(item.value, Value::List(_)));
    if !nested {
        return Ok(vec![window(node, path)?]);
    }
    let mut out: Vec<(Span, Option<Span>)> = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let next = window(item, &path)?;
        match out.last() {
            Some((_, Some(end))) if *end <= next.0 => {}
            None => {}
            Some(_) => {
                return Err(item.error(path, "windows in order, each starting after the end of the previous one"));
            }
        }
        out.push(next);
    }
    Ok(out)
}

fn window(node: &Node, path: &str) -> Result<(Span, Option<Span>), InputError> {
    let Value::List(items) = &node.value else { return Err(node.error(path, "a window [from, to]")) };
    let [from, to] = items.as_slice() else { return Err(node.error(path, "a window of two times, [from, to]")) };
    let start = quantity(from, &format!("{path}[0]"), time)?;
    if to.text() == Some("end") {
        return Ok((start, None));
    }
    let path = format!("{path}[1]");
    let or_end =
        |words: &str| time(words).map_err(|bad| BadValue { accepts: "a time such as 150s, or end".into(), ..bad });
    let end = quantity(to, &path, or_end)?;
    if start < end { Ok((start, Some(end))) } else { Err(to.error(path, "a time after the start of the window")) }
}

/// A discipline with its parameters.
pub(crate) const AQM: Custom<Spec> = Custom {
    schema: schema::text,
    read: |_, node, path| spec(node, path),
    show: |spec| quote(&spec.canonical()),
    accepts: "",
};

/// Reads a discipline; errors name the key and the parameter.
fn spec(node: &Node, path: &str) -> Result<Spec, InputError> {
    let words = cursor::text(node, path)?;
    own::parse(words).map_err(|bad| {
        let key = if node.place.is_argument() && path.starts_with("compare.") {
            bad.key
        } else {
            format!("{path} {}", bad.key)
        };
        node.place.error(key, Found::text(&bad.found), bad.accepts).hint(bad.hint)
    })
}
