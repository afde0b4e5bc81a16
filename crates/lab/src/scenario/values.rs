//! Values with a rule of their own: bounded quantities, time ranges, windows, disciplines.

use forebay_aqm::Spec;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Depth, Limit, Rate};
use forebay_sim::agenda::MAX_NANOS;

use super::doc::{Node, Value};
use super::error::{Found, InputError};
use super::table::{self, Parsed, Table, quantity};
use crate::own;

/// Longer times would not survive being written and read again to the nanosecond.
const LONGEST: u64 = 1_000_000;

/// A time of at least 0.
pub(crate) fn time(words: &str) -> Parsed<Span> {
    let span = text::span(words)?;
    let short = span.nanos() <= LONGEST * 1_000_000_000;
    if short { Ok(span) } else { Err(BadValue::new(format!("a time of at most {LONGEST}s"))) }
}

/// The fastest link: packets still take time on it, to the nanosecond.
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

/// How long a run may last.
pub(crate) fn run_time(words: &str) -> Parsed<Span> {
    const LONGEST_S: u64 = MAX_NANOS / 2 / 1_000_000_000;
    match duration(words) {
        Ok(time) if time.nanos() > LONGEST_S * 1_000_000_000 => {
            Err(BadValue::new(format!("a time above 0 and at most {LONGEST_S}s")))
        }
        other => other,
    }
}

/// Shortest mean time of an on/off source in a state: below it the changes cost more than the packets.
const SHORTEST_STATE: Span = Span::from_millis(1);

/// The mean time of an on/off source in one of its states.
pub(crate) fn state_time(words: &str) -> Parsed<Span> {
    match duration(words)? {
        short if short < SHORTEST_STATE => Err(BadValue::new("a mean time of at least 1ms")),
        time => Ok(time),
    }
}

/// A buffer that holds something.
pub(crate) fn queue(words: &str) -> Parsed<Limit> {
    match text::limit(words)? {
        Limit::Packets(0) | Limit::Bytes(0) => Err(BadValue::new("a buffer size of at least 1p")),
        limit => Ok(limit),
    }
}

/// A queue to aim at.
pub(crate) fn reference(words: &str) -> Parsed<Depth> {
    let depth = text::depth(words)?;
    let sound = (0.0..=1e9).contains(&depth.value());
    if sound { Ok(depth) } else { Err(BadValue::new("a queue depth of at most 1e9")) }
}

/// A number of events per second: `10/s`.
pub(crate) fn per_second(words: &str) -> Parsed<f64> {
    let bad = || BadValue::new("a number per second above 0, such as 10/s");
    let Some(number) = words.trim().strip_suffix("/s") else {
        let number = text::number(words).ok();
        return Err(BadValue { hint: number.map(|n| format!("write {n}/s")), ..bad() });
    };
    let number = text::number(number).map_err(|_| bad())?;
    let sound = number > 0.0 && number <= 1e6;
    if sound { Ok(number) } else { Err(bad().hint("at most 1e6/s")) }
}

/// A time drawn uniformly from `lo` to `hi`; the same twice is a fixed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// Earliest or shortest.
    pub lo: Span,
    /// Latest or longest.
    pub hi: Span,
}

impl Uniform {
    /// A time within it.
    pub(crate) fn draw(self, rng: &mut Rng) -> Span {
        let width = self.hi.secs() - self.lo.secs();
        self.lo + Span::from_secs(width * rng.uniform())
    }
}

/// A time, or `{ uniform = [lo, hi] }`.
pub(crate) fn uniform(node: &Node, path: &str) -> Result<Uniform, InputError> {
    const ACCEPTS: &str = "a time such as 1s, or { uniform = [\"0s\", \"1s\"] }";
    if !matches!(node.value, Value::Table(_)) {
        let at = quantity(node, path, |words| time(words).map_err(|bad| BadValue { accepts: ACCEPTS.into(), ..bad }))?;
        return Ok(Uniform { lo: at, hi: at });
    }
    let table = Table::bare(node, path)?;
    table.only("uniform")?;
    let range = table.node("uniform", ACCEPTS)?;
    let path = table.path_of("uniform");
    match &range.value {
        Value::List(items) if items.len() == 2 => {
            let bound = |i: usize| quantity(&items[i], &format!("{path}[{i}]"), time);
            let range = Uniform { lo: bound(0)?, hi: bound(1)? };
            if range.lo <= range.hi { Ok(range) } else { Err(items[1].error(path, "a time no earlier than the first")) }
        }
        _ => Err(range.error(path, "two times, [earliest, latest]")),
    }
}

/// The windows of a flow: `["50s", "150s"]` or several such pairs; the last may end at `end`.
pub(crate) fn windows(node: &Node, path: &str) -> Result<Vec<(Span, Option<Span>)>, InputError> {
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
            Some(_) => return Err(item.error(path, "windows in order, each beginning after the last has ended")),
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

/// A discipline with its parameters; an error names the parameter after the key.
pub(crate) fn spec(node: &Node, path: &str) -> Result<Spec, InputError> {
    let words = table::text(node, path)?;
    own::parse(words).map_err(|bad| {
        let key = if node.place.is_argument() && path.starts_with("compare.") {
            bad.key
        } else {
            format!("{path} {}", bad.key)
        };
        node.place.error(key, Found::text(&bad.found), bad.accepts).hint(bad.hint)
    })
}

/// The rate of an on/off source while on, from its mean rate.
pub(crate) fn peak(mean: Rate, on: Span, off: Span) -> Rate {
    Rate((mean.0 as f64 * ((on + off).secs() / on.secs())).round() as u64)
}
