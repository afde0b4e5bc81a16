//! The key `rtt` of a group of flows, the two-way propagation delay: a fixed time, a distribution, or measurements from
//! a file.

use std::path::PathBuf;
use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::text::{self, BadValue, show_span};
use forebay_aqm::base::time::Span;

use super::replay::unreadable;
use crate::declare::{
    Custom, Form, Key, Quantities, TIME, Table, Uniform, Words, may, names, quantity, range, schema, text as words_of,
    time,
};
use crate::document::{Node, Value, list, quote};
use crate::input::{Found, InputError};
use crate::traces::{self, MAX_ITEMS, Where};

/// Two-way propagation delay of the flows of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Rtt {
    /// Uniform between two times.
    Uniform(Uniform),
    /// Points of a distribution function that is linear between them: probability and time, both ascending. The first
    /// probability is 0, the last is 1.
    Quantiles(Vec<(f64, Span)>),
    /// Measurements in ascending order. Each flow has one of them, drawn at random with replacement.
    Measured(Arc<Vec<Span>>),
}

impl Rtt {
    /// A random round-trip time.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Span {
        let (from, more) = self.quantile(rng.uniform());
        from + Span::from_secs(more)
    }

    /// The time, in seconds, that the fraction `p` of the flows does not exceed.
    pub(crate) fn quantile_s(&self, p: f64) -> f64 {
        let (from, more) = self.quantile(p);
        from.secs() + more
    }

    /// The round-trip time that the fraction `p` (0 to 1) of the flows does not exceed. It is the sum of the two
    /// results: a time, and a number of seconds.
    fn quantile(&self, p: f64) -> (Span, f64) {
        match self {
            Self::Uniform(Uniform { lo, hi }) => (*lo, (hi.secs() - lo.secs()) * p),
            Self::Quantiles(points) => {
                let next = points.iter().position(|point| point.0 > p).unwrap_or(points.len() - 1);
                let ((p0, from), (p1, to)) = (points[next - 1], points[next]);
                (from, (to.secs() - from.secs()) * ((p - p0) / (p1 - p0)))
            }
            Self::Measured(times) => (times[((p * times.len() as f64) as usize).min(times.len() - 1)], 0.0),
        }
    }

    /// The shortest round-trip time.
    pub(crate) fn shortest(&self) -> Span {
        match self {
            Self::Uniform(range) => range.lo,
            Self::Quantiles(points) => points[0].1,
            Self::Measured(times) => times[0],
        }
    }

    /// Whether all flows have the same round-trip time.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Self::Uniform(range) => range.lo == range.hi,
            Self::Quantiles(points) => points[0].1 == points[points.len() - 1].1,
            Self::Measured(times) => times[0] == times[times.len() - 1],
        }
    }

    /// The mean of the distribution or of the measurements, in seconds.
    pub(crate) fn mean_s(&self) -> f64 {
        match self {
            Self::Uniform(range) => (range.lo.secs() + range.hi.secs()) / 2.0,
            Self::Quantiles(points) => {
                let part = |pair: &[(f64, Span)]| (pair[1].0 - pair[0].0) * (pair[0].1.secs() + pair[1].1.secs()) / 2.0;
                points.windows(2).map(part).sum()
            }
            Self::Measured(times) => times.iter().map(|time| time.secs()).sum::<f64>() / times.len() as f64,
        }
    }

    /// Number of measurements.
    pub(crate) fn measurements(&self) -> usize {
        if let Self::Measured(times) = self { times.len() } else { 0 }
    }

    /// The round-trip times as a scenario writes them. Measurements are inline, so that a stored scenario does not
    /// depend on other files.
    fn show(&self) -> String {
        let time = |time: Span| quote(&show_span(time));
        match self {
            Self::Uniform(range) => range.show(),
            Self::Quantiles(points) => {
                let points = points.iter().map(|(p, at)| list([format!("{p:?}"), time(*at)]));
                format!("{{ quantiles = {} }}", list(points))
            }
            Self::Measured(times) => format!("{{ measured = {} }}", list(times.iter().copied().map(time))),
        }
    }
}

const UNIT: Words<&str> = Words(&[("s", "s"), ("ms", "ms"), ("us", "us"), ("ns", "ns")]);
const MEASURED: Quantities<Span> = Quantities(TIME, "a list of times, such as [\"12.3ms\", \"48ms\"]");

const KEYS: &[Key] = &[
    may("uniform", schema::pair, "Uniform between two times, such as [\"16ms\", \"240ms\"]."),
    may(
        "quantiles",
        || schema::many(schema::pair()),
        "Points [probability, time] of a distribution function that is linear between them, such as [[0, \"5ms\"], \
         [0.5, \"20ms\"], [1, \"240ms\"]]. Probabilities increase from 0 to 1, times do not decrease.",
    ),
    may(
        "file",
        schema::text,
        "CSV file of measured round-trip times; relative to this file's folder. The first column has the times. A \
         heading, empty lines and lines that begin with # are skipped. Each flow has one of the times, drawn at \
         random; all disciplines get the same.",
    ),
    may("unit", || UNIT.schema(), "Unit of the numbers in file; needed if they have no unit."),
    may("measured", || MEASURED.schema(), "Inline measurements in place of file."),
];

/// The value of the key `rtt`: a time, or a table with one distribution.
pub(super) const RTT: Custom<Rtt> = Custom {
    schema: || schema::either(&[schema::quantity(), schema::table("A distribution; give one.", None, KEYS)]),
    read: |table, node, path| rtt(table, node, path),
    show: |rtt| rtt.show(),
    accepts: "",
};

fn rtt(around: &Table<'_>, node: &Node, path: &str) -> Result<Rtt, InputError> {
    const ACCEPTS: &str = "a time such as 64ms, or a table with uniform, quantiles or file";
    if !matches!(node.value, Value::Table(_)) {
        let read = |words: &str| time(words).map_err(|bad| BadValue { accepts: ACCEPTS.into(), ..bad });
        let at = quantity(node, path, read)?;
        return Ok(Rtt::Uniform(Uniform { lo: at, hi: at }));
    }
    let table = Table::bare(node, path, around.setting)?;
    table.expect(&names(KEYS), &[])?;
    let given = ["uniform", "quantiles", "file", "measured"].map(|key| table.get(key).map(|node| (key, node)));
    let mut given = given.into_iter().flatten();
    let (Some((key, value)), None) = (given.next(), given.next()) else {
        return Err(node.error(path, "one of uniform, quantiles, file and measured"));
    };
    if key != "file" && table.get("unit").is_some() {
        return Err(table.bad("unit", BadValue::new("no unit, which belongs to file")));
    }
    let path = table.path_of(key);
    match key {
        "uniform" => range(value, &path).map(Rtt::Uniform),
        "quantiles" => quantiles(value, &path).map(Rtt::Quantiles),
        "measured" => {
            let times = MEASURED.read(&table, value, &path)?;
            if times.len() > MAX_ITEMS {
                return Err(value.error(path, format!("at most {MAX_ITEMS} times")));
            }
            Ok(Rtt::Measured(sorted(times)))
        }
        _ => Ok(Rtt::Measured(sorted(measured(&table, value)?.1.into_iter().map(|(_, time)| time).collect()))),
    }
}

/// Sorts the measurements, so that scenarios with the same measurements in another order are equal.
fn sorted(mut times: Vec<Span>) -> Arc<Vec<Span>> {
    times.sort_unstable();
    Arc::new(times)
}

fn quantiles(node: &Node, path: &str) -> Result<Vec<(f64, Span)>, InputError> {
    const ACCEPTS: &str = "two or more points [probability, time], such as [[0, \"5ms\"], [1, \"240ms\"]]";
    let items = match &node.value {
        Value::List(items) if items.len() >= 2 => items,
        _ => return Err(node.error(path, ACCEPTS)),
    };
    let mut out: Vec<(f64, Span)> = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let point = if let Value::List(point) = &item.value { point.as_slice() } else { &[] };
        let [share, at] = point else { return Err(item.error(path, "a point [probability, time]")) };
        let accepts = match out.last() {
            None => "the probability 0, with which the first point begins".to_string(),
            Some(_) if i + 1 == items.len() => "the probability 1, with which the last point ends".to_string(),
            Some((before, _)) => format!("a probability above {before} and below 1"),
        };
        let is_sound = |p: &f64| match out.last() {
            None => *p == 0.0,
            Some(_) if i + 1 == items.len() => *p == 1.0,
            Some((before, _)) => before < p && *p < 1.0,
        };
        let share = quantity(share, &format!("{path}[0]"), |words| {
            text::number(words).ok().filter(is_sound).ok_or_else(|| BadValue::new(accepts.clone()))
        })?;
        let path = format!("{path}[1]");
        let time = quantity(at, &path, time)?;
        if out.last().is_some_and(|(_, before)| time < *before) {
            return Err(at.error(path, "a time at or after that of the previous point"));
        }
        // -0 is written as 0.
        out.push((share + 0.0, time));
    }
    Ok(out)
}

/// The file of the key `file` in `table`, and its measurements, each with its line in the file.
fn measured(table: &Table<'_>, node: &Node) -> Result<(PathBuf, Vec<(Where, Span)>), InputError> {
    let path = table.path_of("file");
    let file = node.place.beside(words_of(node, &path)?);
    let unit = table.given("unit", &UNIT)?;
    let field = |words: &str| match (unit, text::number(words)) {
        (Some(unit), Ok(number)) if number >= 0.0 => time(&format!("{number}{unit}")).map_err(|bad| bad.accepts.into()),
        (Some(unit), _) => Err(format!("a number of at least 0, as the scenario gives unit = \"{unit}\"")),
        (None, Ok(_)) => Err("a time with a unit such as 12.3ms, or the key unit next to file".to_string()),
        (None, Err(_)) => time(words).map_err(|bad| bad.accepts.into()),
    };
    match traces::times(&file, &field) {
        Ok(times) => Ok((file, times)),
        Err(bad) => Err(unreadable(node, &path, "the name of a CSV file with round-trip times", &file, bad)),
    }
}

/// Refuses a time of `rtt`, the key of `group`, that is shorter than `shared`, the delay of the links that all flows of
/// the group share.
pub(super) fn not_below(rtt: &Rtt, group: &Table<'_>, shared: Span) -> Result<(), InputError> {
    if rtt.shortest() >= shared {
        return Ok(());
    }
    let accepts = format!("at least {}, the two-way delay of bottleneck and egress links", show_span(shared));
    let path = group.path_of("rtt");
    let Some(node) = group.get("rtt").filter(|node| matches!(node.value, Value::Table(_))) else {
        return Err(group.bad("rtt", BadValue::new(accepts)));
    };
    let table = Table::bare(node, &path, group.setting)?;
    if let Some(node) = table.get("file") {
        let (file, times) = measured(&table, node)?;
        let short = times.iter().find_map(|(at, time)| match at {
            Where::Line(line) if *time < shared => Some((*line, *time)),
            _ => None,
        });
        if let Some((line, time)) = short {
            let (name, found) = (file.display().to_string(), Found::text(&show_span(time)));
            return Err(InputError::new(name, table.path_of("file"), found, accepts).at(line, 1));
        }
    }
    let items = |key: &'static str| match table.get(key).map(|node| &node.value) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    let is_short = |node: &&Node| node.scalar().and_then(|words| time(&words).ok()).is_some_and(|time| time < shared);
    let short = items("measured").iter().position(|node| is_short(&node));
    match (short, items("quantiles").first().and_then(|point| point.step("1"))) {
        (Some(i), _) => Err(items("measured")[i].error(format!("{path}.measured[{i}]"), accepts)),
        (None, Some(first)) => Err(first.error(format!("{path}.quantiles[0][1]"), accepts)),
        (None, None) => Err(group.bad("rtt", BadValue::new(accepts))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    const fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// A quarter of the flows have times between 5 and 25 ms (mean 15), three quarters between 25 and 105 ms (mean 65).
    fn quartered() -> Rtt {
        Rtt::Quantiles(vec![(0.0, ms(5)), (0.25, ms(25)), (1.0, ms(105))])
    }

    /// In [`quartered`], the quantile of 0.1 is 5 + 20 x 0.1 / 0.25 = 13 ms, that of 0.4 is 25 + 80 x (0.4 - 0.25) /
    /// 0.75 = 41 ms. The mean is 0.25 x 15 + 0.75 x 65 ms.
    #[test]
    fn quantiles_are_linear_between_points() {
        let rtt = quartered();
        for (p, want) in [(0.0, 5.0), (0.1, 13.0), (0.25, 25.0), (0.4, 41.0), (1.0, 105.0)] {
            assert!((rtt.quantile_s(p) * 1e3 - want).abs() < 1e-9, "{p}");
        }
        assert!((rtt.mean_s() - 52.5e-3).abs() < 1e-12);
        assert_eq!((rtt.shortest(), rtt.is_fixed()), (ms(5), false));
    }

    #[test]
    fn measured_round_trips_are_equally_frequent() {
        let rtt = Rtt::Measured(sorted(vec![ms(30), ms(10), ms(20), ms(20)]));
        let quantiles = [0.0, 0.24, 0.25, 0.74, 0.75, 1.0].map(|p| (rtt.quantile_s(p) * 1e3).round());
        assert_eq!(quantiles, [10.0, 10.0, 20.0, 20.0, 30.0, 30.0]);
        assert!((rtt.mean_s() - 20e-3).abs() < 1e-12);
    }

    proptest! {
        /// A distribution of two points gives the same random times as a uniform distribution between them.
        #[test]
        fn two_quantiles_give_draws_of_uniform_distribution(
            seed in any::<u64>(),
            lo in 0..1_000_000_000u64,
            width in 0..1_000_000_000u64,
        ) {
            let (lo, hi) = (Span::from_nanos(lo), Span::from_nanos(lo + width));
            let (one, other) = (Rtt::Uniform(Uniform { lo, hi }), Rtt::Quantiles(vec![(0.0, lo), (1.0, hi)]));
            let draws = |rtt: &Rtt| {
                let mut rng = Rng::stream(seed, "rtt");
                (0..20).map(|_| rtt.draw(&mut rng)).collect::<Vec<_>>()
            };
            prop_assert_eq!(draws(&one), draws(&other));
        }

        /// Quantiles do not decrease, and stay between the first and the last time.
        #[test]
        fn quantiles_do_not_decrease(
            cuts in prop::collection::vec(1..1_000_000u32, 0..6),
            steps in prop::collection::vec(0..1_000_000_000u64, 8),
            p in 0.0..1.0,
            q in 0.0..1.0,
        ) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            cuts.dedup();
            let shares = [0.0].into_iter().chain(cuts.iter().map(|cut| f64::from(*cut) / 1e6)).chain([1.0]);
            let mut at = 0;
            let points = shares.zip(&steps).map(|(share, step)| {
                at += step;
                (share, Span::from_nanos(at))
            });
            let rtt = Rtt::Quantiles(points.collect());
            let (low, high) = (f64::min(p, q), f64::max(p, q));
            prop_assert!(rtt.quantile_s(low) <= rtt.quantile_s(high) + 1e-12);
            prop_assert!(rtt.quantile_s(0.0) == rtt.shortest().secs());
            prop_assert!(rtt.quantile_s(high) <= Span::from_nanos(at).secs() + 1e-12);
        }
    }
}
