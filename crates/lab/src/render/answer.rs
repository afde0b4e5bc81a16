//! The answer of a comparison in one or two sentences, made from its table.

use crate::figures::stats::Interval;
use crate::results::comparison::{CaseComparison, ContenderComparison};
use crate::results::summary::Summary;
use crate::results::traffic::ALL;

use super::digits::significant;

/// Goodputs that differ by less than this fraction are called the same.
const SAME: f64 = 0.01;

/// A question about one metric.
struct Question {
    metric: &'static str,
    /// The metric in words.
    object: &'static str,
    unit: &'static str,
}

const QUESTIONS: [Question; 2] = [
    Question { metric: "wait_ms.p99", object: "p99 queueing delay", unit: "ms" },
    Question { metric: "fct_s.p95", object: "p95 completion time", unit: "s" },
];

/// A discipline that is best in one class is said to be worse in another if its value there exceeds this multiple.
const WORSE: f64 = 1.1;

/// Verb for this many disciplines.
fn have(count: usize) -> &'static str {
    if count > 1 { "have" } else { "has" }
}

/// Such as ` for web`, or empty for all traffic.
fn place(class: &str) -> String {
    if class == ALL { String::new() } else { format!(" for {class}") }
}

/// A contender by name, with its results.
type Row<'a> = (&'a str, &'a ContenderComparison);

/// The contenders that are best in a metric and a class, and the worst one.
struct Found<'a> {
    class: &'a str,
    best: Vec<(Row<'a>, f64)>,
    worst: (Row<'a>, f64),
}

/// Which discipline is best, in one or two sentences; none if there is nothing to compare.
pub fn answer(summary: &Summary) -> Vec<String> {
    let cases: Vec<Vec<Row<'_>>> = summary.compare.cases.iter().map(|case| rows(summary, case)).collect();
    let is_compared = cases.iter().any(|rows| rows.len() > 1);
    let mut said: Vec<String> = match cases.as_slice() {
        _ if !is_compared => return Vec::new(),
        [rows] => of_case(rows),
        _ => QUESTIONS.iter().filter_map(|question| of_points(&cases, question)).collect(),
    };
    if said.is_empty() {
        said.push("No discipline is clearly better in p99 queueing delay or completion time.".to_string());
    }
    let is_single = cases.iter().flatten().all(|(_, it)| it.runs < 2);
    if is_single {
        said.push("This is one seed; use several to separate differences from chance.".to_string());
    }
    said
}

fn rows<'a>(summary: &'a Summary, case: &'a CaseComparison) -> Vec<Row<'a>> {
    let name = |it: &'a ContenderComparison| {
        let run = summary.runs.iter().find(|run| run.label == it.label);
        run.map_or(it.label.as_str(), |run| run.contender())
    };
    case.contenders.iter().map(|it| (name(it), it)).collect()
}

fn value(row: Row<'_>, class: &str, metric: &str) -> Option<Interval> {
    row.1.classes.get(class)?.mean.get(metric).copied()
}

/// The class with the largest ratio of worst to best contender. Classes where their intervals overlap are ignored.
fn find<'a>(rows: &[Row<'a>], classes: &[&'a str], metric: &str) -> Option<Found<'a>> {
    let of_class = |class: &'a str| {
        let all: Vec<(Row<'a>, Interval)> =
            rows.iter().filter_map(|row| Some((*row, value(*row, class, metric)?))).collect();
        let lowest = all.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?.1;
        let worst = *all.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
        // One seed has no interval: its mean counts.
        let end = |half: f64| if half.is_finite() { half } else { 0.0 };
        let is_close = |it: &Interval| it.mean - end(it.half) <= lowest.mean + end(lowest.half);
        let best = all.iter().filter(|(_, it)| is_close(it)).map(|(row, it)| (*row, it.mean));
        let found = Found { class, best: best.collect(), worst: (worst.0, worst.1.mean) };
        (!is_close(&worst.1)).then_some((worst.1.mean / lowest.mean.max(f64::MIN_POSITIVE), found))
    };
    let found = classes.iter().filter_map(|class| of_class(class));
    found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| found)
}

/// The classes of a case. If it has fewer than two, only [`ALL`]: all traffic.
fn classes<'a>(rows: &[Row<'a>]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for (class, _) in rows.iter().flat_map(|(_, it)| it.classes.iter()) {
        if class != ALL && !found.contains(&class) {
            found.push(class);
        }
    }
    if found.len() < 2 { vec![ALL] } else { found }
}

/// A sentence for each question with a clear answer. The goodput cost is omitted if the previous sentence has the same.
/// The last sentence says where the first sentence's discipline is worse than the one that it is compared with.
fn of_case(rows: &[Row<'_>]) -> Vec<String> {
    let (mut said, mut known, mut first, mut told) = (Vec::new(), String::new(), None, Vec::new());
    let classes = classes(rows);
    for question in &QUESTIONS {
        let Some(Found { class, best, worst }) = find(rows, &classes, question.metric) else { continue };
        let names: Vec<&str> = best.iter().map(|((name, _), _)| *name).collect();
        let values: Vec<String> = best.iter().map(|(_, value)| significant(*value, 2)).collect();
        let (object, unit, have, place) = (question.object, question.unit, have(names.len()), place(class));
        let (against, under) = (significant(worst.1, 2), worst.0.0);
        let cost = goodput(best[0].0, worst.0);
        let more = if cost == known { "" } else { &cost };
        let (names, values) = (listed(&names), listed(&values));
        said.push(format!(
            "{names} {have} the lowest {object}{place}: {values} {unit} against {against} {unit} under {under}{more}."
        ));
        known = cost;
        told.push((question.metric, class));
        first.get_or_insert((best[0].0, worst.0));
    }
    said.extend(first.and_then(|(own, other)| worse(own, other, &classes, &told)));
    said
}

/// Where `own` is clearly worse than `other`: the class and metric with the largest ratio, apart from those `told`.
fn worse(own: Row<'_>, other: Row<'_>, classes: &[&str], told: &[(&str, &str)]) -> Option<String> {
    let cells = QUESTIONS.iter().flat_map(|question| classes.iter().map(move |class| (question, *class)));
    let untold = cells.filter(|(question, class)| !told.contains(&(question.metric, *class)));
    let found = untold.filter_map(|(question, class)| {
        let [high, low] = [own, other].map(|row| value(row, class, question.metric));
        let (high, low) = (high?, low?);
        // One seed has no interval: its mean counts.
        let end = |half: f64| if half.is_finite() { half } else { 0.0 };
        let is_clear = high.mean - end(high.half) > low.mean + end(low.half) && high.mean > WORSE * low.mean;
        is_clear.then_some((high.mean / low.mean.max(f64::MIN_POSITIVE), question, class, [high, low]))
    });
    let (_, question, class, values) = found.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let [high, low] = values.map(|value| significant(value.mean, 2));
    let (Question { object, unit, .. }, place) = (question, place(class));
    Some(format!("But {} has a higher {object}{place}: {high} {unit} against {low} {unit} under {}.", own.0, other.0))
}

/// Goodput of all traffic under `best` relative to `worst`, such as `, with 2.1 % less goodput`; empty if unknown.
fn goodput(best: Row<'_>, worst: Row<'_>) -> String {
    let mean = |row| value(row, ALL, "goodput_bps").map(|found| found.mean).filter(|mean| *mean > 0.0);
    let Some((own, other)) = mean(best).zip(mean(worst)) else { return String::new() };
    match own / other - 1.0 {
        change if change.abs() < SAME => ", at the same total goodput".to_string(),
        change if change < 0.0 => format!(", with {} % less total goodput", significant(-100.0 * change, 2)),
        change => format!(", with {} % more total goodput", significant(100.0 * change, 2)),
    }
}

/// How many points of a sweep each contender wins.
fn of_points(cases: &[Vec<Row<'_>>], question: &Question) -> Option<String> {
    let found: Vec<Found<'_>> = cases.iter().filter_map(|rows| find(rows, &[ALL], question.metric)).collect();
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for (name, _) in found.iter().flat_map(|found| found.best.iter().map(|(row, _)| *row)) {
        match counts.iter_mut().find(|(known, _)| known == &name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let names: Vec<&str> = counts.iter().filter(|(_, count)| *count == most).map(|(name, _)| *name).collect();
    let each = if names.len() > 1 { " each" } else { "" };
    let (have, object) = (have(names.len()), question.object);
    Some(format!("{} {have} the lowest {object} at {most} of {} points{each}.", listed(&names), cases.len()))
}

/// `a`, `a and b`, `a, b and c`.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_string(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::comparison::{Comparison, TrafficComparison};
    use crate::results::summary::Shown;

    type Values<'a> = &'a [(&'a str, &'a str, f64, f64)];

    /// A contender with these values: class, metric, mean, half-width.
    fn contender(label: &str, runs: usize, values: Values<'_>) -> ContenderComparison {
        let mut classes: Vec<(&str, Vec<(&str, Interval)>)> = Vec::new();
        for (class, metric, mean, half) in values {
            let found = Interval { mean: *mean, half: *half, n: runs };
            match classes.iter_mut().find(|(known, _)| known == class) {
                Some((_, metrics)) => metrics.push((metric, found)),
                None => classes.push((class, vec![(metric, found)])),
            }
        }
        let traffic = |metrics: Vec<(&str, Interval)>| TrafficComparison {
            mean: metrics.into_iter().collect(),
            ..Default::default()
        };
        let classes = classes.into_iter().map(|(class, metrics)| (class, traffic(metrics))).collect();
        ContenderComparison { label: label.to_string(), runs, classes, ..Default::default() }
    }

    fn summary(cases: Vec<Vec<ContenderComparison>>) -> Summary {
        let case = |contenders| CaseComparison { axes: Default::default(), baseline: None, contenders };
        let compare = Comparison { confidence: 0.95, cases: cases.into_iter().map(case).collect() };
        Summary::new("test", Vec::new(), compare, Shown::default())
    }

    const WAIT: &str = "wait_ms.p99";
    const GOODPUT: &str = "goodput_bps";

    #[test]
    fn answer_names_most_different_class_and_goodput_cost() {
        let droptail = [("voip", WAIT, 119.0, 1.0), ("web", WAIT, 118.0, 2.0), (ALL, GOODPUT, 9.5e7, 1e5)];
        let fq = [("voip", WAIT, 0.5, 0.1), ("web", WAIT, 60.0, 2.0), (ALL, GOODPUT, 9.3e7, 1e5)];
        let said = answer(&summary(vec![vec![contender("droptail", 5, &droptail), contender("fq_codel", 5, &fq)]]));
        let want = "fq_codel has the lowest p99 queueing delay for voip: 0.50 ms against 119 ms under droptail, \
                    with 2.1 % less total goodput.";
        assert_eq!(said, [want]);
    }

    #[test]
    fn answer_says_where_the_best_is_worse() {
        let fifo = [("voip", WAIT, 100.0, 1.0), ("bulk", WAIT, 100.0, 1.0)];
        let said = |bulk| {
            let fq = [("voip", WAIT, 1.0, 0.1), ("bulk", WAIT, bulk, 0.1)];
            answer(&summary(vec![vec![contender("fifo", 5, &fifo), contender("fq", 5, &fq)]]))
        };
        assert_eq!(said(109.0).len(), 1, "9 % more: {:?}", said(109.0));
        let want = "But fq has a higher p99 queueing delay for bulk: 130 ms against 100 ms under fifo.";
        assert_eq!(said(130.0).last().unwrap(), want);
    }

    #[test]
    fn disciplines_with_overlapping_intervals_are_both_named() {
        let of = |mean| vec![(ALL, WAIT, mean, 2.0), (ALL, GOODPUT, 1e7, 0.0)];
        let all = [("a", 40.0), ("b", 10.0), ("c", 12.0)].map(|(name, mean)| contender(name, 5, &of(mean)));
        let said = answer(&summary(vec![all.to_vec()]));
        let want = "b and c have the lowest p99 queueing delay: 10 and 12 ms against 40 ms under a, at the same total goodput.";
        assert_eq!(said, [want]);
    }

    #[test]
    fn overlapping_intervals_give_no_best_discipline() {
        let all = [("a", 10.0), ("b", 11.0)].map(|(name, mean)| contender(name, 5, &[(ALL, WAIT, mean, 2.0)]));
        assert_eq!(answer(&summary(vec![all.to_vec()])).len(), 1);
        assert!(answer(&summary(vec![all.to_vec()]))[0].starts_with("No discipline is clearly better"));
    }

    #[test]
    fn answer_needs_two_disciplines_and_notes_single_seed() {
        let infinite = |mean| [(ALL, WAIT, mean, f64::INFINITY)];
        let all = [("a", 40.0), ("b", 10.0)].map(|(name, mean)| contender(name, 1, &infinite(mean)));
        let said = answer(&summary(vec![all.to_vec()]));
        assert!(said[0].starts_with("b has the lowest") && said[1].starts_with("This is one seed"), "{said:?}");
        assert!(answer(&summary(vec![vec![all[0].clone()]])).is_empty());
    }

    #[test]
    fn points_of_a_sweep_are_counted() {
        let case =
            |b: f64| [("a", 40.0), ("b", b)].map(|(name, mean)| contender(name, 5, &[(ALL, WAIT, mean, 1.0)])).to_vec();
        let said = answer(&summary(vec![case(10.0), case(20.0), case(60.0)]));
        assert_eq!(said, ["b has the lowest p99 queueing delay at 2 of 3 points."]);
    }
}
