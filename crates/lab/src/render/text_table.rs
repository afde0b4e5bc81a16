//! Tables with aligned columns: text to the left, numbers to the right, with their ± aligned.

use std::ops::Range;

use super::look::{Look, Tone};

/// Space between columns.
const GAP: &str = "   ";
/// Text between a mean and the half-width of its confidence interval.
const PLUS_MINUS: &str = " ± ";

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table under construction.
#[derive(Debug)]
pub struct Table {
    align: Vec<Align>,
    head: Vec<Vec<String>>,
    rows: Vec<Vec<String>>,
}

/// Width on a terminal. Each character counts as one column.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Widths of the two parts of a cell, before and after the sign ±.
fn parts(cell: &str) -> (usize, usize) {
    match cell.split_once(PLUS_MINUS) {
        Some((mean, half)) => (width(mean), width(half)),
        None => (width(cell), 0),
    }
}

fn cells(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_string()).collect()
}

impl Table {
    /// A table with the headings `head`. The first column has text, the others numbers.
    pub fn new(head: &[&str]) -> Self {
        let align = (0..head.len()).map(|i| if i == 0 { Align::Left } else { Align::Right }).collect();
        Self { align, head: vec![cells(head)], rows: Vec::new() }
    }

    /// A table without headings. All columns have text; the last one has sentences, which are wrapped.
    pub fn of_words(columns: usize) -> Self {
        Self { align: vec![Align::Left; columns], head: Vec::new(), rows: Vec::new() }
    }

    /// Aligns these columns as text, to the left.
    pub fn words(mut self, columns: &[usize]) -> Self {
        for &column in columns {
            self.align[column] = Align::Left;
        }
        self
    }

    /// Aligns these columns as numbers, to the right.
    pub fn numbers(mut self, columns: Range<usize>) -> Self {
        self.align[columns].fill(Align::Right);
        self
    }

    /// Adds a second line of headings: the units.
    pub fn units(mut self, units: &[&str]) -> Self {
        self.head.push(cells(units));
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table as text. Each line begins with `indent`; headings are bold, units faint.
    pub fn render(&self, look: Look, indent: &str) -> String {
        let columns: Vec<Column> = (0..self.align.len()).map(|i| self.column(i)).collect();
        let padded = |row: &[String]| {
            let cells: Vec<String> = columns.iter().zip(row).map(|(column, cell)| column.pad(cell)).collect();
            format!("{indent}{}", cells.join(GAP))
        };
        let line = |row: &[String]| format!("{}\n", padded(row).trim_end());
        let of = |row: &[String]| match row.split_last() {
            Some((text, before)) if self.head.is_empty() => look.wrap_cell(&(padded(before) + GAP), text),
            _ => line(row),
        };
        let tones = [Tone::Strong, Tone::Faint];
        let head = self.head.iter().zip(tones).map(|(row, tone)| look.tone(tone, line(row).trim_end()) + "\n");
        head.chain(self.rows.iter().map(|row| of(row))).collect()
    }

    fn column(&self, index: usize) -> Column {
        let own = |rows: &[Vec<String>]| rows.iter().filter_map(|row| row.get(index).cloned()).collect::<Vec<_>>();
        let (rows, head) = (own(&self.rows), own(&self.head));
        let mean = rows.iter().map(|cell| parts(cell).0).max().unwrap_or(0);
        let half = rows.iter().map(|cell| parts(cell).1).max().unwrap_or(0);
        let both = if half > 0 { mean + width(PLUS_MINUS) + half } else { mean };
        let total = head.iter().map(|cell| width(cell)).fold(both, usize::max);
        Column { align: self.align[index], half, total }
    }
}

struct Column {
    align: Align,
    /// Width of the part of a cell after the sign ±; 0 if no cell has the sign.
    half: usize,
    total: usize,
}

impl Column {
    fn pad(&self, cell: &str) -> String {
        let after = match cell.split_once(PLUS_MINUS) {
            Some((_, half)) => self.half - width(half).min(self.half),
            // A heading spans the complete column; a number without the sign ± aligns with the means of other rows.
            None if self.half > 0 && cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '>')) => {
                self.half + width(PLUS_MINUS)
            }
            None => 0,
        };
        let padded = format!("{cell}{}", " ".repeat(after));
        let space = " ".repeat(self.total.saturating_sub(width(&padded)));
        match self.align {
            Align::Left => format!("{padded}{space}"),
            Align::Right => format!("{space}{padded}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plus_minus_signs_are_aligned() {
        let mut table = Table::new(&["", "queue", "n"]).units(&["", "pkts", ""]);
        table.row(vec!["raqm".into(), "49.8 ± 1.2".into(), "5".into()]);
        table.row(vec!["droptail".into(), "9.81 ± 0.04".into(), "12".into()]);
        table.row(vec!["one".into(), "7".into(), "-".into()]);
        let text = table.render(Look::PLAIN, " ");
        let want = [
            "                  queue    n",
            "                   pkts",
            " raqm       49.8 ± 1.2     5",
            " droptail   9.81 ± 0.04   12",
            " one           7           -",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), want);
    }
}
