//! The verdict table: delay, completion times, goodput and fairness of each class of traffic (a group of flows) under
//! each contender (compared discipline). A case is a combination of the values of the axes, which are the keys that
//! vary. The table has a row for each class, case and contender, and a column for each metric.

use crate::figures::metric::{Better, METRICS, Metric};
use crate::figures::stats::Interval;
use crate::results::comparison::ContenderComparison;
use crate::results::summary::Shown;
use crate::results::traffic::ALL;

use super::digits::{interval, signed};
use super::look::Look;
use super::text_table::Table;

/// A case: the values of the axes, and the results of each contender, with its name.
pub(crate) struct Case<'a> {
    pub(crate) axes: Vec<String>,
    pub(crate) rows: Vec<(String, &'a ContenderComparison)>,
}

/// The tables as text, and the definitions of their columns.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) text: String,
    pub(super) legend: Vec<&'static str>,
}

/// The table of means of these cases. With several contenders it is followed by the table of differences from the first
/// contender of the same case. `axes` are the headings of the columns with the values of the axes. Results without
/// classes of traffic have no tables.
pub(super) fn verdict(look: Look, shown: &Shown, axes: &[String], cases: &[Case<'_>]) -> Verdict {
    let classes = classes(cases);
    let (mut text, columns) = fitting_means(look, shown, axes, cases);
    let mut legend: Vec<&str> = columns.iter().map(|column| column.about).collect();
    legend.dedup();
    if cases.iter().any(|case| case.rows.len() > 1) && !classes.is_empty() {
        text += &format!("\n{}", differences(look, &Shape { classes: &classes, axes, columns: &columns }, cases));
        legend.push("*: the best, if its interval overlaps no other");
    }
    Verdict { text, legend }
}

/// The table of means of these cases, and its metrics: those that the scenario requests, or as many as fit into the
/// terminal's width. Results without classes of traffic have an empty table.
pub(super) fn fitting_means(
    look: Look,
    shown: &Shown,
    axes: &[String],
    cases: &[Case<'_>],
) -> (String, Vec<&'static Metric>) {
    let classes = classes(cases);
    if classes.is_empty() {
        return Default::default();
    }
    let mut columns = columns(shown, &classes, cases);
    let is_fixed = !shown.columns.is_empty();
    loop {
        let text = means(look, &Shape { classes: &classes, axes, columns: &columns }, cases);
        let is_wide = look.columns.is_some_and(|most| text.lines().any(|line| printed(line) > most));
        let last = columns.iter().enumerate().max_by_key(|(_, column)| column.rank).map(|(at, _)| at);
        match last.filter(|_| is_wide && !is_fixed && columns.len() > 1) {
            Some(at) => drop(columns.remove(at)),
            None => return (text, columns),
        }
    }
}

/// The metrics that the scenario requests for the table. If it requests none: all metrics that have values, except
/// those that are shown only on request.
pub(crate) fn columns(shown: &Shown, classes: &[&str], cases: &[Case<'_>]) -> Vec<&'static Metric> {
    if !shown.columns.is_empty() {
        return shown.columns.iter().filter_map(|name| Metric::named(name)).collect();
    }
    let contenders = || cases.iter().flat_map(|case| case.rows.iter().map(|(_, it)| it));
    let found = |class: &str, metric: &Metric| -> Vec<Interval> {
        contenders().filter_map(|it| it.classes.get(class)?.mean.get(metric.name).copied()).collect()
    };
    let is_shown = |metric: &&Metric| {
        let found: Vec<Interval> = classes.iter().flat_map(|class| found(class, metric)).collect();
        // A metric of which neither larger nor smaller values are better, such as the ratio of ECN marks, is shown only
        // if a value is above 0.
        let has_values = !found.is_empty() && (metric.better != Better::Neither || found.iter().any(|x| x.mean > 0.0));
        metric.rank.is_some() && has_values
    };
    METRICS.iter().filter(is_shown).collect()
}

/// What the rows and columns of a table are: classes of traffic, headings of the axes, and metrics.
struct Shape<'a> {
    classes: &'a [&'a str],
    axes: &'a [String],
    columns: &'a [&'static Metric],
}

/// Width of a line on a terminal, without control sequences.
fn printed(line: &str) -> usize {
    let (mut width, mut escaped) = (0, false);
    for letter in line.chars() {
        match (escaped, letter) {
            (false, '\x1b') => escaped = true,
            (false, _) => width += 1,
            (true, 'm') => escaped = false,
            (true, _) => {}
        }
    }
    width
}

/// The classes of traffic in the results of all contenders, followed by [`ALL`], which is all traffic. If the results
/// have only one class, only [`ALL`].
pub(crate) fn classes<'a>(cases: &[Case<'a>]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for (_, contender) in cases.iter().flat_map(|case| &case.rows) {
        for (class, _) in contender.classes.iter() {
            if !found.contains(&class) {
                found.push(class);
            }
        }
    }
    found.sort_by_key(|class| *class == ALL);
    if found.len() == 2 { vec![ALL] } else { found }
}

fn means(look: Look, shape: &Shape<'_>, cases: &[Case<'_>]) -> String {
    let units: Vec<&str> = shape.columns.iter().map(|column| column.unit).collect();
    let mut table = shape.table(&units, "");
    for class in shape.classes {
        let mut is_first = true;
        for case in cases {
            for (at, (name, contender)) in case.rows.iter().enumerate() {
                let mut cells = shape.lead(class, is_first, case, name);
                is_first = false;
                for column in shape.columns {
                    let of = |(_, it): &(String, &ContenderComparison)| {
                        it.classes.get(class)?.mean.get(column.name).copied()
                    };
                    let all: Vec<Option<Interval>> = case.rows.iter().map(of).collect();
                    let own = contender.classes.get(class).and_then(|found| found.mean.get(column.name));
                    let mark = if is_best(at, &all, column.better) { " *" } else { "" };
                    cells.push(cell(own, column.factor) + mark);
                }
                table.row(cells);
            }
        }
    }
    table.render(look, "")
}

fn differences(look: Look, shape: &Shape<'_>, cases: &[Case<'_>]) -> String {
    let units: Vec<&str> = shape.columns.iter().map(|column| column.points).collect();
    let first = cases.first().and_then(|case| case.rows.first()).map_or("", |(name, _)| name);
    let is_same = cases.iter().all(|case| case.rows.first().is_some_and(|(name, _)| name == first));
    let title = if is_same { format!("minus {first}") } else { "minus the first".to_string() };
    let mut table = shape.table(&units, &title);
    for class in shape.classes {
        let mut is_first = true;
        for case in cases {
            for (name, contender) in case.rows.iter().skip(1) {
                let mut cells = shape.lead(class, is_first, case, name);
                is_first = false;
                for column in shape.columns {
                    let found = contender.classes.get(class).and_then(|found| found.difference.get(column.name));
                    let found = found.and_then(Option::as_ref);
                    let is_clear = found.is_some_and(|found| !found.contains(0.0));
                    cells.push(signed(cell(found, column.factor)) + if is_clear { " *" } else { "" });
                }
                table.row(cells);
            }
        }
    }
    table.render(look, "")
}

impl Shape<'_> {
    /// A table whose first columns are the class of traffic, if there are several, the values of the axes, and the
    /// discipline.
    fn table(&self, units: &[&str], title: &str) -> Table {
        let class = if self.classes.len() == 1 { &[][..] } else { &[""] };
        let axes: Vec<&str> = self.axes.iter().map(String::as_str).collect();
        let lead = [class, &axes, &[title]].concat();
        let heads: Vec<&str> = self.columns.iter().map(|column| column.head).collect();
        let blank = vec![""; lead.len()];
        let table = Table::new(&[&lead[..], &heads].concat()).units(&[&blank[..], units].concat());
        table.words(&(0..class.len()).collect::<Vec<_>>()).numbers(class.len()..lead.len() - 1).words(&[lead.len() - 1])
    }

    /// The first cells of a row: class of traffic, values of the axes, discipline. Only the first row of a class names
    /// the class.
    fn lead(&self, class: &str, is_first: bool, case: &Case<'_>, name: &str) -> Vec<String> {
        let class = (self.classes.len() > 1).then(|| if is_first { class.to_string() } else { String::new() });
        class.into_iter().chain(case.axes.iter().cloned()).chain([name.to_string()]).collect()
    }
}

/// Mean and half-width of a confidence interval as text, both times `factor`.
pub(crate) fn cell(found: Option<&Interval>, factor: f64) -> String {
    let number = |of: fn(&Interval) -> f64| found.map(of).filter(|x| x.is_finite()).map(|x| x * factor);
    interval(number(|found| found.mean), number(|found| found.half))
}

/// Whether the contender with index `at` is better than all others, and its confidence interval overlaps none of
/// theirs.
pub(crate) fn is_best(at: usize, all: &[Option<Interval>], better: Better) -> bool {
    let Some(own) = all[at] else { return false };
    let others = all.iter().enumerate().filter(|(other, _)| *other != at);
    let mut others = others.filter_map(|(_, found)| *found).peekable();
    others.peek().is_some()
        && others.all(|other| match better {
            Better::High => own.lo() > other.hi(),
            Better::Low => own.hi() < other.lo(),
            Better::Neither => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::comparison::TrafficComparison;

    fn estimate(mean: f64, half: f64) -> Interval {
        Interval { mean, half, n: 5 }
    }

    /// Results of a contender for one class of traffic: `goodput` in Mb/s, and the delay `p99` in ms.
    fn contender(goodput: f64, p99: f64) -> ContenderComparison {
        let mean = [("goodput_bps", estimate(goodput * 1e6, 0.1e6)), ("wait_ms.p99", estimate(p99, 1.0))];
        let class = TrafficComparison { mean: mean.into_iter().collect(), ..TrafficComparison::default() };
        ContenderComparison { classes: [(ALL, class)].into_iter().collect(), ..ContenderComparison::default() }
    }

    fn table(look: Look, contenders: &[ContenderComparison]) -> Verdict {
        let rows = contenders.iter().enumerate().map(|(n, it)| (format!("aqm{n}"), it)).collect();
        verdict(look, &Shown::default(), &[], &[Case { axes: Vec::new(), rows }])
    }

    #[test]
    fn best_value_is_marked_if_intervals_are_disjoint() {
        let text = table(Look::PLAIN, &[contender(9.0, 40.0), contender(9.1, 20.0), contender(9.05, 30.0)]).text;
        let rows: Vec<&str> = text.lines().skip(2).take(3).collect();
        assert!(rows[1].ends_with("20.0 ± 1.0 *"), "{text}");
        assert_eq!(rows.iter().map(|row| row.matches('*').count()).sum::<usize>(), 1, "goodput overlaps: {text}");
    }

    #[test]
    fn value_of_single_contender_is_not_marked_best() {
        assert!(!table(Look::PLAIN, &[contender(9.0, 40.0)]).text.contains('*'));
    }

    #[test]
    fn narrow_terminal_hides_goodput_but_keeps_p99_delay() {
        let narrow = Look { columns: Some(25), ..Look::PLAIN };
        let Verdict { text, legend } = table(narrow, &[contender(9.0, 40.0)]);
        assert!(text.contains("wait p99") && !text.contains("goodput"), "{text}");
        assert!(legend.iter().all(|line| !line.starts_with("goodput")));
    }
}
