//! Quantities in the syntax of the file `claims.toml`: numbers of a run, numbers of some of its service classes or of a
//! colour (packets IN or OUT of profile), and expressions of such numbers. `docs/claims.md` is the reference.

use std::collections::BTreeSet;

use forebay_aqm::base::nearest::one_of;

use crate::claims::models::{self, Model};
use crate::figures::metric::{METRICS, Metric};
use crate::figures::stats;
use crate::results::column::Column;
use crate::results::metrics;
use crate::results::record::{ClassSummary, RunRecord, RunSummary, Spread};

/// A quantity of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// One number: `A`.
    One(Term),
    /// A quotient: `A / B`.
    Ratio(Term, Term),
    /// A sum with a constant: `A + 0.2`.
    Shifted(Term, f64),
}

/// The value in `run` of the quantity `text`; see [`Quantity`].
pub fn of(run: &RunRecord, text: &str) -> Result<f64, String> {
    Quantity::parse(text)?.of(run)
}

/// A number computed from a run or a model. A [`Quantity`] is a term, a quotient of two terms, or a term plus a
/// constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A number of the run, computed by [`metrics::of_run`].
    Run(String),
    /// A statistic of a recorded series.
    Column(Column),
    /// A number of one or more service classes, combined.
    Classes(Classes),
    /// A metric of a class of traffic, a row of the table: `traffic.calls.mos`.
    Traffic(String, &'static Metric),
    /// A function of the numbers of several classes. Each number is divided by the target of its class, by default 1:
    /// `jain(class.0-3.goodput_bps; 1/2/3/4)`.
    Across(Over, Classes, Vec<f64>),
    /// Total variation distance between the queue distributions of the run and of a model, or of two models.
    Apart(Model, Option<Model>),
}

/// Function over the numbers of several classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Jain's fairness index.
    Jain,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
}

/// A value of some classes, of a colour (IN or OUT of profile), or of both: `class.0-4.in.loss_ratio`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    /// The classes; `None` means all.
    set: Option<BTreeSet<u8>>,
    /// `in` or `out`; `None` means both.
    colour: Option<String>,
    /// Name of the value.
    field: String,
}

/// Values of a class at the link. There is one per colour; those of several classes and colours can be combined.
const AT_THE_LINK: [&str; 5] = ["offered_pkts", "dropped_pkts", "delivered_pkts", "loss_ratio", "utilisation"];
/// Names of distributions at the link.
const SPREADS_AT_THE_LINK: [&str; 1] = ["sojourn_ms"];
/// End-to-end values of a class. There is one for both colours together.
const END_TO_END: [&str; 3] = ["goodput_bps", "received_bps", "jitter_ms"];
/// Names of end-to-end distributions.
const SPREADS_END_TO_END: [&str; 2] = ["owd_ms", "fct_s"];
/// Statistics of a distribution.
pub(crate) const PARTS: [&str; 6] = ["mean", "std", "p50", "p95", "p99", "max"];

impl Quantity {
    /// Reads a quantity.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((above, below)) = text.split_once(" / ") {
            return Ok(Self::Ratio(Term::parse(above)?, Term::parse(below)?));
        }
        let Some((term, number)) = text.split_once(" + ") else { return Ok(Self::One(Term::parse(text)?)) };
        let number = number.trim().parse().map_err(|_| format!("'{number}' is not a number to add"))?;
        Ok(Self::Shifted(Term::parse(term)?, number))
    }

    /// The value in `run`; NaN without a measurement.
    pub fn of(&self, run: &RunRecord) -> Result<f64, String> {
        Ok(match self {
            Self::One(term) => term.of(run)?,
            Self::Ratio(above, below) => above.of(run)? / below.of(run)?,
            Self::Shifted(term, number) => term.of(run)? + number,
        })
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        let terms = match self {
            Self::One(term) | Self::Shifted(term, _) => [Some(term), None],
            Self::Ratio(above, below) => [Some(above), Some(below)],
        };
        terms.into_iter().flatten()
    }

    /// Names of the rows of the table of traffic that the quantity needs.
    pub(crate) fn traffic(&self) -> impl Iterator<Item = &str> {
        self.terms().filter_map(|term| match term {
            Term::Traffic(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Names of the recorded series that the quantity needs.
    pub(crate) fn series(&self) -> impl Iterator<Item = &str> {
        self.terms().filter_map(|term| match term {
            Term::Column(column) => Some(column.name()),
            _ => None,
        })
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(column) = Column::parse(text)? {
            return Ok(Self::Column(column));
        }
        if let Some(row) = text.strip_prefix("traffic.") {
            let (name, metric) = row.split_once('.').ok_or_else(|| format!("'{text}' has no metric"))?;
            let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            let metric = Metric::named(metric).ok_or_else(|| format!("'{text}': {}", one_of(metric, &known)))?;
            return Ok(Self::Traffic(name.to_string(), metric));
        }
        let Some((name, inside)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
            return match Classes::parse(text)? {
                Some(classes) => Ok(Self::Classes(classes)),
                None => metrics::check(text).map(|()| Self::Run(text.to_string())),
            };
        };
        let over = match name {
            "jain" => Over::Jain,
            "min" => Over::Min,
            "max" => Over::Max,
            "apart" => {
                let (one, other) = inside.split_once(';').map_or((inside, None), |(one, other)| (one, Some(other)));
                return Ok(Self::Apart(Model::parse(one)?, other.map(Model::parse).transpose()?));
            }
            _ => return Err(format!("'{name}' is none of jain, min, max, apart")),
        };
        let (each, targets) = inside.split_once(';').unwrap_or((inside, ""));
        let classes = Classes::parse(each.trim())?.filter(|classes| classes.set.is_some());
        let classes = classes.ok_or_else(|| format!("{name}({inside}): not a quantity of classes"))?;
        let targets = targets.trim().split('/').filter(|target| !target.is_empty());
        let targets: Vec<f64> = targets
            .map(|target| target.parse().ok().filter(|t| *t > 0.0))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("{name}({inside}): targets are numbers above 0"))?;
        let asked = classes.set.as_ref().map_or(0, BTreeSet::len);
        if !targets.is_empty() && targets.len() != asked {
            return Err(format!("{name}({inside}): {} targets for {asked} classes", targets.len()));
        }
        Ok(Self::Across(over, classes, targets))
    }

    fn of(&self, run: &RunRecord) -> Result<f64, String> {
        match self {
            Self::Run(name) => metrics::of_run(run, name),
            Self::Column(column) => Ok(column.of(run)),
            Self::Classes(classes) => classes.of(&run.summary),
            Self::Traffic(name, metric) => {
                let row = run.summary.traffic.iter().find(|row| row.name == *name);
                Ok(row.and_then(|row| row.metric(metric.name)).unwrap_or(f64::NAN))
            }
            Self::Apart(model, None) => Ok(models::apart(&run.queue_shares, model)),
            Self::Apart(model, Some(other)) => Ok(models::apart(&other.shares(), model)),
            Self::Across(over, classes, targets) => {
                let each = classes.each().map(|class| class.of(&run.summary));
                let each = each.collect::<Result<Vec<f64>, _>>()?;
                let targets = targets.iter().copied().chain(std::iter::repeat(1.0));
                Ok(over.of(&each.iter().zip(targets).map(|(x, target)| x / target).collect::<Vec<_>>()))
            }
        }
    }
}

impl Over {
    fn of(self, each: &[f64]) -> f64 {
        if each.iter().any(|x| x.is_nan()) {
            return f64::NAN;
        }
        match self {
            Self::Jain => stats::jain(each.iter().copied()).unwrap_or(f64::NAN),
            Self::Min => each.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => each.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

impl Classes {
    /// Reads `class.SET.FIELD`, `class.SET.COLOUR.FIELD` or `colour.COLOUR.FIELD`; `None` if it begins
    /// otherwise.
    fn parse(text: &str) -> Result<Option<Self>, String> {
        let (set, rest) = if let Some(rest) = text.strip_prefix("class.") {
            let (set, rest) = rest.split_once('.').ok_or_else(|| format!("'{text}' has no field"))?;
            (Some(parse_set(set).ok_or_else(|| format!("'{set}' is not a set of classes such as 0-4 or 1+5"))?), rest)
        } else if let Some(rest) = text.strip_prefix("colour.") {
            (None, rest)
        } else {
            return Ok(None);
        };
        let (colour, field) = match rest.split_once('.') {
            Some((colour @ ("in" | "out"), field)) => (Some(colour.to_string()), field),
            _ if set.is_none() => return Err(format!("'{text}' has no colour: colour.in or colour.out")),
            _ => (None, rest),
        };
        let spread = field.split_once('.').filter(|(_, part)| PARTS.contains(part)).map(|(spread, _)| spread);
        let link = AT_THE_LINK.contains(&field) || spread.is_some_and(|s| SPREADS_AT_THE_LINK.contains(&s));
        let end = END_TO_END.contains(&field) || spread.is_some_and(|s| SPREADS_END_TO_END.contains(&s));
        match (link, end, &colour) {
            (true, _, _) | (_, true, None) => Ok(Some(Self { set, colour, field: field.to_string() })),
            (_, true, Some(_)) => Err(format!("'{text}': {field} is per class, not per colour")),
            _ => Err(format!("a class has no number called '{field}'")),
        }
    }

    /// One quantity for each class of the set: `class.0-1.loss_ratio` gives `class.0.loss_ratio` and
    /// `class.1.loss_ratio`.
    fn each(&self) -> impl Iterator<Item = Self> {
        let classes = self.set.iter().flatten();
        classes.map(|class| Self { set: Some(BTreeSet::from([*class])), ..self.clone() })
    }

    /// The value of the quantity for all classes of the set together.
    fn of(&self, run: &RunSummary) -> Result<f64, String> {
        let asked = |c: &&ClassSummary| {
            self.set.as_ref().is_none_or(|set| set.contains(&c.class))
                && self.colour.as_ref().is_none_or(|colour| *colour == c.colour)
        };
        let rows: Vec<&ClassSummary> = run.classes.iter().filter(asked).collect();
        let sum = |of: fn(&ClassSummary) -> f64| rows.iter().map(|c| of(c)).sum::<f64>();
        if rows.is_empty() {
            return Ok(f64::NAN);
        }
        Ok(match self.field.as_str() {
            "offered_pkts" => sum(offered),
            "dropped_pkts" => sum(dropped),
            "delivered_pkts" => sum(delivered),
            "loss_ratio" => sum(dropped) / sum(offered),
            "utilisation" => run.utilisation * sum(delivered) / run.classes.iter().map(delivered).sum::<f64>(),
            "goodput_bps" => by_class(&rows).iter().map(|c| c.goodput_bps).sum(),
            "received_bps" => by_class(&rows).iter().map(|c| c.received_bps).sum(),
            "jitter_ms" => self.only(&by_class(&rows))?.jitter_ms.unwrap_or(f64::NAN),
            nested => self.spread(run, &rows, nested)?,
        })
    }

    fn spread(&self, run: &RunSummary, rows: &[&ClassSummary], nested: &str) -> Result<f64, String> {
        let (name, part) = nested.split_once('.').unwrap_or((nested, ""));
        let of_class = |class: u8| run.classes.iter().filter(|c| c.class == class).map(delivered).sum::<f64>();
        let spreads: Vec<(f64, Spread)> = match name {
            "sojourn_ms" => rows.iter().filter_map(|c| Some((delivered(c), c.sojourn_ms?))).collect(),
            "owd_ms" => by_class(rows).iter().filter_map(|c| Some((of_class(c.class), c.owd_ms?))).collect(),
            // The number of finished flows is not recorded, so completion times of several classes cannot be
            // combined.
            _ => self.only(&by_class(rows))?.fct_s.into_iter().map(|s| (1.0, s)).collect(),
        };
        joined(&spreads, part).ok_or_else(|| format!("{part} of several classes or colours cannot be joined: {nested}"))
    }

    fn only<'a>(&self, rows: &[&'a ClassSummary]) -> Result<&'a ClassSummary, String> {
        match rows {
            [one] => Ok(*one),
            _ => Err(format!("{} of several classes cannot be joined", self.field)),
        }
    }
}

/// Reads a set of classes: `3`, `0-4`, `1+5+8` or `0-2+7`.
fn parse_set(text: &str) -> Option<BTreeSet<u8>> {
    let mut set = BTreeSet::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u8, u8) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        set.extend(first..=last);
    }
    Some(set)
}

/// One of `rows` (results by class and colour) for each class. It is the row that has the end-to-end values: that of IN
/// packets if the class has one.
fn by_class<'a>(rows: &[&'a ClassSummary]) -> Vec<&'a ClassSummary> {
    let first = |(i, c): (usize, &&'a ClassSummary)| (!rows[..i].iter().any(|d| d.class == c.class)).then_some(*c);
    rows.iter().enumerate().filter_map(first).collect()
}

const fn offered(c: &ClassSummary) -> f64 {
    c.offered_pkts as f64
}

/// Number of dropped packets. It is computed from the loss ratio and rounded, because the stored results lack this
/// number.
fn dropped(c: &ClassSummary) -> f64 {
    (c.loss_ratio * offered(c)).round()
}

fn delivered(c: &ClassSummary) -> f64 {
    offered(c) - dropped(c)
}

/// The statistic `part` of the combination of `spreads`, which are distributions with their numbers of values. NaN
/// without a distribution. `None` for a percentile of several distributions, which cannot be computed.
fn joined(spreads: &[(f64, Spread)], part: &str) -> Option<f64> {
    let total: f64 = spreads.iter().map(|(n, _)| n).sum();
    let moment = |of: fn(&Spread) -> f64| spreads.iter().map(|(n, s)| n * of(s)).sum::<f64>() / total;
    let mean = moment(|s| s.mean);
    Some(match (part, spreads) {
        (_, []) => f64::NAN,
        ("mean", _) => mean,
        ("std", _) => (moment(|s| s.mean * s.mean + s.std * s.std) - mean * mean).max(0.0).sqrt(),
        ("max", _) => spreads.iter().map(|(_, s)| s.max).fold(f64::NEG_INFINITY, f64::max),
        ("p50", [(_, one)]) => one.p50,
        ("p95", [(_, one)]) => one.p95,
        ("p99", [(_, one)]) => one.p99,
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn class(class: u8, colour: &str, (offered_pkts, loss_ratio): (u64, f64), sojourn: (f64, f64)) -> ClassSummary {
        let (mean, std) = sojourn;
        let spread = Spread { mean, std, p50: mean, p95: mean + 8.0, p99: mean + 9.0, max: mean + 10.0 };
        ClassSummary {
            class,
            colour: colour.into(),
            offered_pkts,
            loss_ratio,
            sojourn_ms: Some(spread),
            owd_ms: (colour == "in").then_some(spread),
            jitter_ms: (colour == "in").then_some(1.5),
            fct_s: None,
            goodput_bps: 1000.0 * f64::from(class + 1),
            received_bps: 1100.0 * f64::from(class + 1),
        }
    }

    /// Three classes; class 0 has packets of both colours.
    pub(crate) fn run() -> RunSummary {
        let text = r#"{"label":"x","aqm":"x","axes":{},"seed":1,"link":"b","queue_pkts":{"mean":0,"std":0,"p50":0,
            "p99":0,"max":0},"sojourn_ms":null,"utilisation":0.5,"loss_ratio":0,"mark_ratio":0,"goodput_bps":0,
            "goodput_ratio":0,"offered_pkts":0,"delivered_pkts":0,"dropped":{"early":0,"overflow":0},"jain":null,
            "events":0,"packets":0,"cpu_seconds":0,"fingerprint":"","classes":[],"settling_s":null,"overshoot_pkts":0}"#;
        let mut run: RunSummary = serde_json::from_str(text).unwrap();
        run.classes = vec![
            class(0, "in", (100, 0.1), (4.0, 0.0)),
            class(0, "out", (300, 0.5), (8.0, 0.0)),
            class(1, "in", (200, 0.0), (4.0, 3.0)),
            class(2, "in", (50, 0.2), (2.0, 0.0)),
        ];
        run
    }

    fn value(text: &str) -> Result<f64, String> {
        let classes = Classes::parse(text)?.ok_or("not of classes")?;
        classes.of(&run())
    }

    fn close(text: &str, expected: f64) {
        let got = value(text).unwrap();
        assert!((got - expected).abs() < 1e-12, "{text}: {got}, not {expected}");
    }

    /// If a quantity covers several classes or colours, their counts are added, and their loss ratios are averaged with
    /// the numbers of packets as weights.
    #[test]
    fn counts_add_loss_ratios_weigh_packets() {
        close("class.0.offered_pkts", 400.0);
        close("class.0.in.loss_ratio", 0.1);
        // (10 + 150) / 400.
        close("class.0.loss_ratio", 0.4);
        // (10 + 0 + 10) / 350.
        close("colour.in.loss_ratio", 20.0 / 350.0);
        close("colour.out.dropped_pkts", 150.0);
        close("class.0-1.delivered_pkts", 440.0);
        // 90 + 200 + 40 of 480 packets sent, in half of the time.
        close("colour.in.utilisation", 0.5 * 330.0 / 480.0);
        assert!(value("class.9.loss_ratio").unwrap().is_nan(), "no such class was seen");
    }

    #[test]
    fn goodput_of_class_cannot_be_restricted_to_colour() {
        close("class.0.goodput_bps", 1000.0);
        close("class.0+2.goodput_bps", 4000.0);
        close("class.0+2.received_bps", 4400.0);
        close("class.1.jitter_ms", 1.5);
        assert!(value("class.0.in.goodput_bps").is_err() && value("class.0-1.jitter_ms").is_err());
    }

    #[test]
    fn class_delays_are_combined_weighted_by_packet_count() {
        // 90 packets with 4 ms and 150 with 8 ms.
        close("class.0.sojourn_ms.mean", (90.0 * 4.0 + 150.0 * 8.0) / 240.0);
        close("class.0.sojourn_ms.std", 4.0 * (90.0f64 * 150.0).sqrt() / 240.0);
        close("class.1.sojourn_ms.std", 3.0);
        close("class.0-2.sojourn_ms.max", 18.0);
        close("class.1.sojourn_ms.p95", 12.0);
        close("class.1.sojourn_ms.p99", 13.0);
        assert!(value("class.0.sojourn_ms.p99").is_err(), "percentiles cannot be joined");
        // Weighted by both colours of class 0.
        close("class.0-1.owd_ms.mean", 4.0);
        close("class.0+2.owd_ms.mean", (240.0 * 4.0 + 40.0 * 2.0) / 280.0);
        assert!(value("class.0.fct_s.mean").unwrap().is_nan(), "no flow has an end");
    }

    #[test]
    fn jain_min_max_across_classes_match_hand_calculation() {
        let across = |text: &str| match Term::parse(text).unwrap() {
            Term::Across(over, classes, targets) => {
                let each: Vec<f64> = classes.each().map(|c| c.of(&run()).unwrap()).collect();
                let targets = targets.into_iter().chain(std::iter::repeat(1.0));
                over.of(&each.iter().zip(targets).map(|(x, t)| x / t).collect::<Vec<_>>())
            }
            other => panic!("{other:?}"),
        };
        // 36 / (3 x 14).
        assert!((across("jain(class.0-2.goodput_bps)") - 36.0 / 42.0).abs() < 1e-12);
        assert!((across("jain(class.0-2.goodput_bps; 0.1/0.2/0.3)") - 1.0).abs() < 1e-12);
        assert_eq!(across("max(class.0-2.goodput_bps; 1/4/1)"), 3000.0);
        assert_eq!(across("min(class.0-2.goodput_bps; 1/4/1)"), 500.0);
        assert!(across("min(class.0-3.goodput_bps)").is_nan(), "class 3 was not seen");
    }

    #[test]
    fn class_sets_are_parsed_and_malformed_ones_refused() {
        assert_eq!(parse_set("0-2+7"), Some(BTreeSet::from([0, 1, 2, 7])));
        for bad in ["", "a", "3-1", "256", "1+", "-3"] {
            assert_eq!(parse_set(bad), None, "{bad}");
        }
        let good = [
            "loss_ratio",
            "mean_pkts@0..9 / mean_pkts@9..20",
            "max(class.0-1.sojourn_ms.max)",
            "class.0.fct_s.mean + 0.192",
            "traffic.calls.mos / traffic.1.rtt_ms.p99",
            "growth(red_tail.moved)@1..9 / growth(red_tail.met)@1..9",
            "apart(tail-chain n=20 sigma=77021 w=10.35)",
            "apart(tail-chain n=20 sigma=77021 w=10.35; tail-linear n=20 sigma=77021 w=10.35)",
        ];
        for good in good {
            assert!(Quantity::parse(good).is_ok(), "{good}");
        }
        let bad = [
            "class.1",
            "class.1.loss",
            "class.1.sojourn_ms",
            "class.x.loss_ratio",
            "colour.red.loss_ratio",
            "colour.loss_ratio",
            "sum(class.1.loss_ratio)",
            "jain(loss_ratio)",
            "jain(class.0-2.goodput_bps; 1/2)",
            "jain(class.0-1.goodput_bps; 1/0)",
            "loss_ratio / class.1",
            "loss_ratio + x",
            "share(queue)",
            "apart(tail-chain n=20)",
            "traffic.calls",
            "traffic.calls.moss",
            "clas.1.loss_ratio",
            "queue_pkts.median",
        ];
        for bad in bad {
            assert!(Quantity::parse(bad).is_err(), "{bad}");
        }
    }
}
