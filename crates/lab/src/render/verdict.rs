//! The verdict table: delay, completion times, goodput and fairness of each class of traffic under each discipline.

use crate::figures::stats::Interval;
use crate::results::comparison::{CaseComparison, ContenderComparison};
use crate::results::traffic::ALL;

use super::digits::{interval, signed};
use super::look::{Look, Tone};
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

/// The rows of a case: name of the contender, and its results.
pub(super) type Row<'a> = (&'a str, &'a ContenderComparison);

/// The table of a case and, with several contenders, the table of differences; empty for results without classes.
pub(super) fn tables(look: Look, case: &CaseComparison, rows: &[Row<'_>]) -> String {
    let classes = classes(case);
    if classes.is_empty() {
        return String::new();
    }
    let shown = |column: &&Column| {
        let values = |class: &&str| {
            let of = |(_, contender): &Row<'_>| contender.classes.get(class)?.mean.get(column.metric).copied();
            rows.iter().filter_map(of).collect::<Vec<Interval>>()
        };
        let all: Vec<Interval> = classes.iter().flat_map(values).collect();
        // Marks are shown if there are any.
        !all.is_empty() && (column.better != Better::None || all.iter().any(|found| found.mean > 0.0))
    };
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(shown).collect();
    loop {
        let text = means(look, &classes, rows, &columns);
        let is_wide = look.columns.is_some_and(|most| text.lines().any(|line| printed(line) > most));
        let last = columns.iter().enumerate().max_by_key(|(_, column)| column.rank).map(|(at, _)| at);
        match last {
            Some(at) if is_wide && columns.len() > 1 => drop(columns.remove(at)),
            _ if rows.len() > 1 => return text + "\n" + &differences(look, &classes, rows, &columns),
            _ => return text,
        }
    }
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

/// The classes of a case; a single class is shown as all.
fn classes(case: &CaseComparison) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for contender in &case.contenders {
        for (class, _) in contender.classes.iter() {
            if !found.contains(&class) {
                found.push(class);
            }
        }
    }
    found.sort_by_key(|class| *class == ALL);
    if found.len() == 2 { vec![ALL] } else { found }
}

fn means(look: Look, classes: &[&str], rows: &[Row<'_>], columns: &[&Column]) -> String {
    let units: Vec<&str> = columns.iter().map(|column| column.unit).collect();
    let mut table = table(classes, columns, &units, "");
    for class in classes {
        for (at, (name, contender)) in rows.iter().enumerate() {
            let mut cells = lead(classes, class, at, name);
            for column in columns {
                let of = |row: &Row<'_>| row.1.classes.get(class)?.mean.get(column.metric).copied();
                let all: Vec<Option<Interval>> = rows.iter().map(of).collect();
                let own = contender.classes.get(class).and_then(|found| found.mean.get(column.metric));
                let mark = if is_best(at, &all, column.better) { " *" } else { "" };
                cells.push(cell(own, column.factor) + mark);
            }
            table.row(cells);
        }
    }
    table.render(look, "")
}

fn differences(look: Look, classes: &[&str], rows: &[Row<'_>], columns: &[&Column]) -> String {
    let units: Vec<&str> = columns.iter().map(|column| column.points).collect();
    let title = format!("minus {}", rows[0].0);
    let mut table = table(classes, columns, &units, &title);
    for class in classes {
        for (at, (name, contender)) in rows.iter().skip(1).enumerate() {
            let mut cells = lead(classes, class, at, name);
            for column in columns {
                let found = contender.classes.get(class).and_then(|found| found.difference.get(column.metric));
                let found = found.and_then(Option::as_ref);
                let is_clear = found.is_some_and(|found| !found.contains(0.0));
                cells.push(signed(cell(found, column.factor)) + if is_clear { " *" } else { "" });
            }
            table.row(cells);
        }
    }
    table.render(look, "")
}

/// A table with a column for the discipline and, with several classes, one before it for the class.
fn table(classes: &[&str], columns: &[&Column], units: &[&str], title: &str) -> Table {
    let heads = columns.iter().map(|column| column.head);
    if classes.len() == 1 {
        let heads: Vec<&str> = [title].into_iter().chain(heads).collect();
        return Table::new(&heads).units(&[&[""], units].concat());
    }
    let heads: Vec<&str> = ["", title].into_iter().chain(heads).collect();
    Table::new(&heads).units(&[&["", ""], units].concat()).words(&[1])
}

/// The first cells of a row: the class in its first row, and the discipline.
fn lead(classes: &[&str], class: &str, at: usize, name: &str) -> Vec<String> {
    match classes {
        [_] => vec![name.to_string()],
        _ => vec![if at == 0 { class.to_string() } else { String::new() }, name.to_string()],
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
