//! The verdict table: delay, completion times, goodput and fairness of each class of traffic under each discipline.

use crate::figures::stats::Interval;
use crate::results::comparison::ContenderComparison;
use crate::results::traffic::ALL;

use super::digits::{interval, signed};
use super::look::Look;
use super::text_table::Table;

/// Which values are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Better {
    High,
    Low,
    /// Neither.
    None,
}

/// A column of the table.
struct Column {
    /// Name in `summary.json` and `--columns`.
    metric: &'static str,
    head: &'static str,
    unit: &'static str,
    /// Unit of differences, if it is another one.
    points: &'static str,
    factor: f64,
    better: Better,
    /// Rank: on a narrow terminal columns of high rank are left out.
    rank: u8,
}

const fn column(metric: &'static str, head: &'static str, unit: &'static str, better: Better, rank: u8) -> Column {
    Column { metric, head, unit, points: unit, factor: 1.0, better, rank }
}

const fn percent(metric: &'static str, head: &'static str, better: Better, rank: u8) -> Column {
    Column { points: "points", factor: 100.0, ..column(metric, head, "%", better, rank) }
}

const fn rate(metric: &'static str, head: &'static str, rank: u8) -> Column {
    Column { factor: 1e-6, ..column(metric, head, "Mb/s", Better::High, rank) }
}

/// All columns, in their order.
const COLUMNS: [Column; 11] = [
    rate("throughput_bps", "throughput", 10),
    rate("goodput_bps", "goodput", 1),
    column("wait_ms.p50", "wait p50", "ms", Better::Low, 2),
    column("wait_ms.p99", "wait p99", "ms", Better::Low, 0),
    column("rtt_ms.p50", "RTT p50", "ms", Better::Low, 8),
    column("rtt_ms.p99", "RTT p99", "ms", Better::Low, 7),
    column("fct_s.p50", "done p50", "s", Better::Low, 4),
    column("fct_s.p95", "done p95", "s", Better::Low, 3),
    percent("loss_ratio", "loss", Better::Low, 5),
    percent("mark_ratio", "marks", Better::None, 9),
    column("jain", "Jain", "", Better::High, 6),
];

/// A case: the values of its axes, and its contenders by name.
pub(super) struct Case<'a> {
    pub(super) axes: Vec<String>,
    pub(super) rows: Vec<(String, &'a ContenderComparison)>,
}

/// The table of these cases and, with several contenders, the table of differences from the first contender of the same
/// case. `axes`: headings of the axes. Empty for results without classes.
pub(super) fn tables(look: Look, axes: &[String], cases: &[Case<'_>]) -> String {
    let classes = classes(cases);
    if classes.is_empty() {
        return String::new();
    }
    let all = |metric: &str| -> Vec<Interval> {
        let rows = || cases.iter().flat_map(|case| &case.rows);
        let of = |class: &&str| rows().filter_map(|(_, it)| it.classes.get(class)?.mean.get(metric).copied()).collect();
        classes.iter().flat_map(|class| -> Vec<Interval> { of(class) }).collect()
    };
    let is_shown = |column: &&Column| {
        let found = all(column.metric);
        // Marks are shown if there are any.
        !found.is_empty() && (column.better != Better::None || found.iter().any(|found| found.mean > 0.0))
    };
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(is_shown).collect();
    let several = cases.iter().any(|case| case.rows.len() > 1);
    loop {
        let shape = Shape { classes: &classes, axes, columns: &columns };
        let text = means(look, &shape, cases);
        let is_wide = look.columns.is_some_and(|most| text.lines().any(|line| printed(line) > most));
        let last = columns.iter().enumerate().max_by_key(|(_, column)| column.rank).map(|(at, _)| at);
        match last {
            Some(at) if is_wide && columns.len() > 1 => drop(columns.remove(at)),
            _ if several => return text + "\n" + &differences(look, &shape, cases),
            _ => return text,
        }
    }
}

/// Rows and columns of a table.
struct Shape<'a> {
    classes: &'a [&'a str],
    axes: &'a [String],
    columns: &'a [&'a Column],
}

/// What the headings mean.
pub(super) fn legend() -> [&'static str; 4] {
    [
        "goodput: payload that arrived for the first time (RFC 2647); throughput: the same with headers",
        "wait: queueing delay at the link; RTT: as senders measure it; done: completion time of a file",
        "loss, marks: dropped or marked at the link / offered; Jain: fairness of flows active all the time, 1 is equal",
        "*: the best, if its interval overlaps no other",
    ]
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

/// The classes of all contenders; a single class is shown as all.
fn classes<'a>(cases: &[Case<'a>]) -> Vec<&'a str> {
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
                        it.classes.get(class)?.mean.get(column.metric).copied()
                    };
                    let all: Vec<Option<Interval>> = case.rows.iter().map(of).collect();
                    let own = contender.classes.get(class).and_then(|found| found.mean.get(column.metric));
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
                    let found = contender.classes.get(class).and_then(|found| found.difference.get(column.metric));
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
    /// A table whose first columns are the class, if there are several, the axes, and the discipline.
    fn table(&self, units: &[&str], title: &str) -> Table {
        let class = if self.classes.len() == 1 { &[][..] } else { &[""] };
        let axes: Vec<&str> = self.axes.iter().map(String::as_str).collect();
        let lead = [class, &axes, &[title]].concat();
        let heads: Vec<&str> = self.columns.iter().map(|column| column.head).collect();
        let blank = vec![""; lead.len()];
        let table = Table::new(&[&lead[..], &heads].concat()).units(&[&blank[..], units].concat());
        table.words(&(0..class.len()).collect::<Vec<_>>()).numbers(class.len()..lead.len() - 1).words(&[lead.len() - 1])
    }

    /// The first cells of a row; the class only in its first row.
    fn lead(&self, class: &str, is_first: bool, case: &Case<'_>, name: &str) -> Vec<String> {
        let class = (self.classes.len() > 1).then(|| if is_first { class.to_string() } else { String::new() });
        class.into_iter().chain(case.axes.iter().cloned()).chain([name.to_string()]).collect()
    }
}

fn cell(found: Option<&Interval>, factor: f64) -> String {
    let number = |of: fn(&Interval) -> f64| found.map(of).filter(|x| x.is_finite()).map(|x| x * factor);
    interval(number(|found| found.mean), number(|found| found.half))
}

/// Whether contender number `at` is better than all others, and its interval overlaps none of theirs.
fn is_best(at: usize, all: &[Option<Interval>], better: Better) -> bool {
    let Some(own) = all[at] else { return false };
    let others = all.iter().enumerate().filter(|(other, _)| *other != at);
    let mut others = others.filter_map(|(_, found)| *found).peekable();
    others.peek().is_some()
        && others.all(|other| match better {
            Better::High => own.lo() > other.hi(),
            Better::Low => own.hi() < other.lo(),
            Better::None => false,
        })
}
