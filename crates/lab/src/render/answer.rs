//! The result of a comparison of disciplines (contenders) in a few sentences, made from the numbers in its table: which
//! one is best for a class of traffic (a group of flows), and where it is worse. A sweep varies keys of the scenario. A
//! point of the sweep, or case, is one combination of their values.

use crate::figures::stats::Interval;
use crate::results::comparison::{CaseComparison, ContenderComparison};
use crate::results::summary::Summary;
use crate::results::traffic::ALL;

use super::digits::significant;

/// Goodputs that differ by less than this fraction are called the same.
const SAME: f64 = 0.01;

/// A metric for which a sentence names the best discipline.
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

/// A discipline is said to be worse than another one for a class of traffic if its value exceeds this multiple of the
/// other's.
const WORSE: f64 = 1.1;

/// Tolerance of a value, relative to it, that was measured with one seed and so has no confidence interval.
const ONE_SEED: f64 = 0.05;

/// The verb of a sentence about this number of disciplines.
fn have(count: usize) -> &'static str {
    if count > 1 { "have" } else { "has" }
}

/// End of a sentence about a class of traffic, such as ` for web`; empty for all traffic.
fn place(class: &str) -> String {
    if class == ALL { String::new() } else { format!(" for {class}") }
}

/// A contender by name, with its results in one case.
type Row<'a> = (&'a str, &'a ContenderComparison);

/// The contenders that are best in a metric for a class of traffic, and the worst one.
struct Found<'a> {
    class: &'a str,
    best: Vec<(Row<'a>, f64)>,
    worst: (Row<'a>, f64),
}

/// Which discipline is best, in a few sentences; none if there is nothing to compare.
pub fn answer(summary: &Summary) -> Vec<String> {
    let cases: Vec<Vec<Row<'_>>> = summary.compare.cases.iter().map(|case| rows(summary, case)).collect();
    let is_compared = cases.iter().any(|rows| rows.len() > 1);
    let mut said: Vec<String> = match cases.as_slice() {
        _ if !is_compared => return Vec::new(),
        [rows] => of_case(rows),
        _ => QUESTIONS.iter().filter_map(|question| of_points(&cases, question)).chain(worse_at(&cases)).collect(),
    };
    if said.is_empty() {
        said.push("No discipline is clearly better in p99 queueing delay or completion time.".to_string());
    }
    match cases.iter().flatten().map(|(_, it)| it.runs).max() {
        Some(2) => said.push("These are two seeds; use five or more for narrower intervals.".to_string()),
        Some(3..) => {}
        _ => said.push("This is one seed; use several to separate differences from chance.".to_string()),
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

/// The contenders that are best in a class of traffic, best value first, and the worst one. `None` if the intervals of
/// best and worst overlap.
fn find_in<'a>(rows: &[Row<'a>], class: &'a str, metric: &str) -> Option<Found<'a>> {
    let all: Vec<(Row<'a>, Interval)> =
        rows.iter().filter_map(|row| Some((*row, value(*row, class, metric)?))).collect();
    let lowest = all.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?.1;
    let worst = *all.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let is_close = |it: &Interval| it.mean - end(it) <= lowest.mean + end(&lowest);
    let mut best: Vec<(Row<'a>, f64)> =
        all.iter().filter(|(_, it)| is_close(it)).map(|(row, it)| (*row, it.mean)).collect();
    best.sort_by(|a, b| a.1.total_cmp(&b.1));
    (!is_close(&worst.1)).then_some(Found { class, best, worst: (worst.0, worst.1.mean) })
}

/// Half-width of a confidence interval. The value of one seed has no interval: the half-width is 5 % of the
/// value ([`ONE_SEED`]).
fn end(it: &Interval) -> f64 {
    if it.half.is_finite() { it.half } else { ONE_SEED * it.mean.abs() }
}

impl Found<'_> {
    /// Value of the worst contender divided by that of the best.
    fn ratio(&self) -> f64 {
        self.worst.1 / self.best[0].1.max(f64::MIN_POSITIVE)
    }
}

/// The class of traffic with the largest ratio of the worst contender's value to the best one's. Classes where the
/// intervals of these two overlap are ignored.
fn find<'a>(rows: &[Row<'a>], classes: &[&'a str], metric: &str) -> Option<Found<'a>> {
    let found = classes.iter().filter_map(|class| find_in(rows, class, metric));
    found.max_by(|a, b| a.ratio().total_cmp(&b.ratio()))
}

/// The classes of traffic of a case. If it has fewer than two, only [`ALL`]: all traffic.
fn classes<'a>(rows: &[Row<'a>]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for (class, _) in rows.iter().flat_map(|(_, it)| it.classes.iter()) {
        if class != ALL && !found.contains(&class) {
            found.push(class);
        }
    }
    if found.len() < 2 { vec![ALL] } else { found }
}

/// The sentences about one case. If one discipline has clearly the lowest p99 queueing delay, a sentence names this
/// discipline, and how far its goodput differs from that of the discipline with the highest delay; likewise for the p95
/// completion time. The goodput is left out if the previous sentence has the same difference. The last sentence says
/// where the discipline of the first sentence is worse than another one.
fn of_case(rows: &[Row<'_>]) -> Vec<String> {
    let (mut said, mut known, mut first, mut told) = (Vec::new(), String::new(), None, Vec::new());
    let classes = classes(rows);
    for question in &QUESTIONS {
        let Some(Found { class, best, worst }) = find(rows, &classes, question.metric) else { continue };
        let (Question { object, unit, .. }, place) = (question, place(class));
        let ((own, value), close) = (best[0], &best[1..]);
        let cost = cost(&change(own, worst.0).into_iter().collect::<Vec<_>>());
        let more = if cost == known { "" } else { &cost };
        let [value, against] = [value, worst.1].map(|value| significant(value, 2));
        said.push(format!(
            "{} has the lowest {object}{place}: {value} {unit} against {against} {unit} under {}{more}.",
            own.0, worst.0.0
        ));
        if !close.is_empty() {
            let close: Vec<String> =
                close.iter().map(|(row, value)| format!("{} ({} {unit})", row.0, significant(*value, 2))).collect();
            let are = if close.len() > 1 { "are" } else { "is" };
            said.push(format!("{} {are} not clearly higher.", listed(&close)));
        }
        known = cost;
        told.push((question.metric, class));
        first.get_or_insert(own);
    }
    said.extend(first.and_then(|own| worse(own, rows, &classes, &told)));
    said
}

/// A sentence that says where the contender `own` is clearly worse than another one. It has the class, metric and other
/// contender with the largest ratio of the two values. Pairs of metric and class in `told` are left out, because a
/// previous sentence has them.
fn worse(own: Row<'_>, rows: &[Row<'_>], classes: &[&str], told: &[(&str, &str)]) -> Option<String> {
    let cells = QUESTIONS.iter().flat_map(|question| classes.iter().map(move |class| (question, *class)));
    let untold = cells.filter(|(question, class)| !told.contains(&(question.metric, *class)));
    let all = untold.flat_map(|(question, class)| rows.iter().map(move |other| (question, class, *other)));
    let found = all.filter_map(|(question, class, other)| {
        let [high, low] = worse_values(own, other, class, question.metric)?;
        Some((high / low.max(f64::MIN_POSITIVE), question, class, other, [high, low]))
    });
    let (_, question, class, other, values) = found.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let [high, low] = values.map(|value| significant(value, 2));
    let (Question { object, unit, .. }, place) = (question, place(class));
    Some(format!("But {} has a higher {object}{place}: {high} {unit} against {low} {unit} under {}.", own.0, other.0))
}

/// The values of the contenders `own` and `other`, if that of `own` is clearly worse.
fn worse_values(own: Row<'_>, other: Row<'_>, class: &str, metric: &str) -> Option<[f64; 2]> {
    let [high, low] = [own, other].map(|row| value(row, class, metric));
    let (high, low) = (high?, low?);
    let is_clear = high.mean - end(&high) > low.mean + end(&low) && high.mean > WORSE * low.mean;
    is_clear.then_some([high.mean, low.mean])
}

/// A sentence that says at how many points of a sweep the best discipline of the first sentence is clearly worse than
/// another one, with the metric, class and other contender for which this is most often so.
fn worse_at(cases: &[Vec<Row<'_>>]) -> Option<String> {
    let all: Vec<Row<'_>> = cases.iter().flatten().copied().collect();
    let names = QUESTIONS.iter().find_map(|question| winners(cases, question))?.1;
    let [name] = names.as_slice() else { return None };
    let mut others: Vec<&str> = all.iter().map(|row| row.0).filter(|other| other != name).collect();
    others.dedup();
    let mut best: Option<(usize, String)> = None;
    for question in &QUESTIONS {
        for class in classes(&all) {
            for other in &others {
                let row = |rows: &[Row<'_>], name: &str| rows.iter().position(|row| row.0 == name);
                let pairs: Vec<(f64, f64)> = (cases.iter())
                    .filter_map(|rows| {
                        let (own, other) = (rows[row(rows, name)?], rows[row(rows, other)?]);
                        worse_values(own, other, class, question.metric).map(|[own, other]| (own, other))
                    })
                    .collect();
                if pairs.len() > best.as_ref().map_or(0, |(most, _)| *most) {
                    let (Question { object, unit, .. }, place) = (question, place(class));
                    let (own, against) = (range(&pairs, |pair| pair.0, unit), range(&pairs, |pair| pair.1, unit));
                    let (n, of) = (pairs.len(), cases.len());
                    let text = format!(
                        "But {name} has a higher {object}{place} at {n} of {of} points: {own} against {against} under {other}."
                    );
                    best = Some((n, text));
                }
            }
        }
    }
    best.map(|(_, text)| text)
}

/// Goodput of all traffic under `own` relative to `other`, minus 1.
fn change(own: Row<'_>, other: Row<'_>) -> Option<f64> {
    let mean = |row| value(row, ALL, "goodput_bps").map(|found| found.mean).filter(|mean| *mean > 0.0);
    Some(mean(own)? / mean(other)? - 1.0)
}

/// Relative changes of goodput in words, such as `, with 2.1 % less total goodput`; empty if `changes` is empty or has
/// both signs.
fn cost(changes: &[f64]) -> String {
    let (less, more) = (changes.iter().all(|x| *x < SAME), changes.iter().all(|x| *x > -SAME));
    match (less, more) {
        _ if changes.is_empty() => String::new(),
        (true, true) => ", at the same total goodput".to_string(),
        (true, false) => format!(", with {} less total goodput", percent(changes.iter().map(|x| -x))),
        (false, true) => format!(", with {} more total goodput", percent(changes.iter().copied())),
        (false, false) => String::new(),
    }
}

/// The range of relative changes, in percent: `1.6 to 14 %`, or `up to 14 %` if the smallest is below [`SAME`].
fn percent(changes: impl Iterator<Item = f64>) -> String {
    let all: Vec<f64> = changes.map(|x| 100.0 * x).collect();
    let most = all.iter().copied().fold(0.0, f64::max);
    let is_open = all.iter().any(|x| *x < 100.0 * SAME);
    if is_open { format!("up to {} %", significant(most, 2)) } else { range(&all, |x| *x, "%") }
}

/// The points of a sweep that have a clearly best contender in one class of traffic, and the contenders that are best
/// at the largest number of points. The class is the one with the most such points; of several classes with equally
/// many, the one with the largest ratios of the worst contender's value to the best one's.
fn winners<'a>(cases: &[Vec<Row<'a>>], question: &Question) -> Option<(Vec<Found<'a>>, Vec<&'a str>)> {
    let all: Vec<Row<'_>> = cases.iter().flatten().copied().collect();
    let of_class = |class| cases.iter().filter_map(|rows| find_in(rows, class, question.metric)).collect::<Vec<_>>();
    let weight = |found: &Vec<Found<'_>>| found.iter().map(|found| found.ratio().max(1.0).ln()).sum::<f64>();
    let order = |a: &Vec<Found<'_>>, b: &Vec<Found<'_>>| a.len().cmp(&b.len()).then(weight(a).total_cmp(&weight(b)));
    let found = classes(&all).into_iter().map(of_class).max_by(order)?;
    let mut names: Vec<&str> = Vec::new();
    for name in found.iter().map(|found| found.best[0].0.0) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let most = names.iter().map(|name| wins(&found, name)).max()?;
    names.retain(|name| wins(&found, name) == most);
    Some((found, names))
}

/// At how many points of the sweep the contender `name` is best.
fn wins(found: &[Found<'_>], name: &str) -> usize {
    found.iter().filter(|found| found.best[0].0.0 == name).count()
}

/// The sentence that says at how many points of a sweep the best contender is best.
fn of_points(cases: &[Vec<Row<'_>>], question: &Question) -> Option<String> {
    let (found, names) = winners(cases, question)?;
    let most = wins(&found, names[0]);
    let each = if names.len() > 1 { " each" } else { "" };
    let (have, place, object) = (have(names.len()), place(found[0].class), question.object);
    let values = if let [name] = names.as_slice() { extent(&found, name, question.unit) } else { String::new() };
    let open = match cases.len() - found.len() {
        0 => String::new(),
        1 => " At 1 point no discipline is clearly better.".to_string(),
        n => format!(" At {n} points no discipline is clearly better."),
    };
    let (names, all) = (listed(&names), cases.len());
    Some(format!("{names} {have} the lowest {object}{place} at {most} of {all} points{each}{values}.{open}"))
}

/// Part of a sentence: the values of a contender at the points where it is best, and those of the worst contender at
/// these points, such as `: 0.20 to 0.22 ms against 105 to 119 ms`.
fn extent(found: &[Found<'_>], name: &str, unit: &str) -> String {
    let mut won: Vec<(&Found<'_>, (Row<'_>, f64))> = Vec::new();
    for found in found {
        won.extend(Some((found, found.best[0])).filter(|(_, own)| own.0.0 == name));
    }
    let pairs: Vec<(f64, f64)> = won.iter().map(|(found, (_, value))| (*value, found.worst.1)).collect();
    let changes: Vec<f64> = won.iter().filter_map(|(found, (row, _))| change(*row, found.worst.0)).collect();
    let worst: Vec<&str> = won.iter().map(|(found, _)| found.worst.0.0).collect();
    let under = if worst.iter().all(|name| *name == worst[0]) { worst[0] } else { "the worst" };
    let (own, against) = (range(&pairs, |pair| pair.0, unit), range(&pairs, |pair| pair.1, unit));
    format!(": {own} against {against} under {under}{}", cost(&changes))
}

/// The least and the largest of these values, such as `0.20 to 0.22 ms`.
fn range<T>(all: &[T], of: fn(&T) -> f64, unit: &str) -> String {
    let least = all.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let [least, most] = [least, most].map(|value| significant(value, 2));
    if least == most { format!("{least} {unit}") } else { format!("{least} to {most} {unit}") }
}

/// The words as a list in a sentence: `a`, `a and b`, or `a, b and c`.
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
    fn names_class_with_largest_delay_and_goodput_change() {
        let droptail = [("voip", WAIT, 119.0, 1.0), ("web", WAIT, 118.0, 2.0), (ALL, GOODPUT, 9.5e7, 1e5)];
        let fq = [("voip", WAIT, 0.5, 0.1), ("web", WAIT, 60.0, 2.0), (ALL, GOODPUT, 9.3e7, 1e5)];
        let said = answer(&summary(vec![vec![contender("droptail", 5, &droptail), contender("fq_codel", 5, &fq)]]));
        let want = "fq_codel has the lowest p99 queueing delay for voip: 0.50 ms against 119 ms under droptail, \
                    with 2.1 % less total goodput.";
        assert_eq!(said, [want]);
    }

    #[test]
    fn answer_says_where_best_discipline_is_worse() {
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
    fn answer_names_discipline_not_clearly_worse_than_best() {
        let of = |mean| vec![(ALL, WAIT, mean, 2.0), (ALL, GOODPUT, 1e7, 0.0)];
        let all = [("a", 40.0), ("b", 10.0), ("c", 12.0)].map(|(name, mean)| contender(name, 5, &of(mean)));
        let said = answer(&summary(vec![all.to_vec()]));
        let want = "b has the lowest p99 queueing delay: 10 ms against 40 ms under a, at the same total goodput.";
        assert_eq!(said, [want, "c (12 ms) is not clearly higher."]);
    }

    #[test]
    fn no_discipline_is_best_if_all_intervals_overlap() {
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
        let close = [("a", 40.0), ("b", 38.0)].map(|(name, mean)| contender(name, 1, &infinite(mean)));
        assert!(answer(&summary(vec![close.to_vec()]))[0].starts_with("No discipline is clearly better"), "5 % less");
        assert!(answer(&summary(vec![vec![all[0].clone()]])).is_empty());
    }

    #[test]
    fn answer_counts_sweep_points_with_clearly_best_discipline() {
        let case =
            |b: f64| [("a", 40.0), ("b", b)].map(|(name, mean)| contender(name, 5, &[(ALL, WAIT, mean, 1.0)])).to_vec();
        let said = answer(&summary(vec![case(10.0), case(20.0), case(60.0)]));
        let want = "b has the lowest p99 queueing delay at 2 of 3 points: 10 to 20 ms against 40 ms under a.";
        let but = "But b has a higher p99 queueing delay at 1 of 3 points: 60 ms against 40 ms under a.";
        assert_eq!(said, [want, but]);
    }

    #[test]
    fn answer_counts_points_where_best_discipline_is_worse() {
        let case = |web: f64| {
            let fifo = [("call", WAIT, 100.0, 1.0), ("web", WAIT, 100.0, 1.0)];
            let fq = [("call", WAIT, 1.0, 0.1), ("web", WAIT, web, 5.0)];
            vec![contender("fifo", 5, &fifo), contender("fq", 5, &fq)]
        };
        let said = answer(&summary(vec![case(150.0), case(105.0), case(180.0)]));
        let want = "But fq has a higher p99 queueing delay for web at 2 of 3 points: 150 to 180 ms against 100 ms under \
                    fifo.";
        assert_eq!(said.last().unwrap(), want);
    }

    #[test]
    fn goodput_cost_over_sweep_points_is_a_range() {
        assert_eq!(cost(&[-0.02, -0.14]), ", with 2.0 to 14 % less total goodput");
        assert_eq!(cost(&[-0.001, -0.14, 0.002]), ", with up to 14 % less total goodput");
        assert_eq!(cost(&[0.02, 0.002]), ", with up to 2.0 % more total goodput");
        assert_eq!(
            (cost(&[0.009, -0.009]), cost(&[0.5, -0.5])),
            (", at the same total goodput".to_string(), String::new())
        );
    }

    #[test]
    fn answer_names_class_with_most_often_clear_best() {
        let case = |call: f64, web: f64| {
            let fifo = [("call", WAIT, 100.0, 1.0), ("web", WAIT, 100.0, 1.0)];
            let fq = [("call", WAIT, call, 0.1), ("web", WAIT, web, 5.0)];
            vec![contender("fifo", 5, &fifo), contender("fq", 5, &fq)]
        };
        let said = answer(&summary(vec![case(1.0, 50.0), case(2.0, 98.0), case(100.5, 97.0)]));
        let want = "fq has the lowest p99 queueing delay for call at 2 of 3 points: 1.0 to 2.0 ms against 100 ms under \
                    fifo. At 1 point no discipline is clearly better.";
        assert_eq!(said, [want]);
    }
}
