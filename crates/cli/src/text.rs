//! Running text on a terminal.

use std::sync::OnceLock;

use console::Term;

use crate::output::{Tone, Ui};

/// The widest line of running text that is read with ease.
const WIDEST: usize = 100;
/// In a narrower terminal lines break where they will.
const NARROWEST: usize = 40;
/// Text in a narrower column is no longer read with ease: it goes below.
const COLUMN: usize = 20;

/// Columns of the terminal that stdout is, if it is one.
fn columns() -> Option<usize> {
    static COLUMNS: OnceLock<Option<usize>> = OnceLock::new();
    let ask = || Term::stdout().size_checked().map(|(_, columns)| usize::from(columns).max(NARROWEST));
    *COLUMNS.get_or_init(ask)
}

/// `text` in lines of at most 100 letters, or fewer in a narrower terminal, the first after `first`, the others after as much
/// space.
pub(crate) fn wrap(first: &str, text: &str) -> String {
    wrap_within(width(), first, text)
}

/// So wide is running text here.
pub(crate) fn width() -> usize {
    columns().map_or(WIDEST, |columns| columns.min(WIDEST))
}

/// The same in lines as wide as the terminal, for the last cell of a row: in a file or a pipe a row is one line, which other
/// programs look for.
pub(crate) fn wrap_cell(first: &str, text: &str) -> String {
    cell_within(columns().unwrap_or(usize::MAX), first, text)
}

fn cell_within(width: usize, first: &str, text: &str) -> String {
    if first.chars().count().saturating_add(COLUMN) <= width {
        return wrap_within(width, first, text);
    }
    let indent = first.chars().take_while(|letter| *letter == ' ').count() + 4;
    wrap_within(width, first, "") + &wrap_within(width, &" ".repeat(indent), text)
}

/// `text` after `name`, which stands out.
pub(crate) fn titled(ui: &Ui, name: &str, text: &str) -> String {
    wrap_cell(&format!("{name}  "), text).replacen(name.trim_end(), &ui.tone(Tone::Strong, name.trim_end()), 1)
}

fn wrap_within(width: usize, first: &str, text: &str) -> String {
    let indent = " ".repeat(first.chars().count());
    let (mut out, mut line) = (String::new(), first.to_string());
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line.clone_from(&indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::{cell_within, wrap_within};

    #[test]
    fn hangs_below_the_first_word() {
        let text = wrap_within(80, "  1. ", &"word ".repeat(40));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("  1. word") && lines[1].starts_with("     word"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        assert_eq!(wrap_within(80, "- ", ""), "-\n");
    }

    #[test]
    fn a_cell_without_room_goes_below() {
        let name = "  papers/msvb/weighted-mixed-double.toml   ";
        assert_eq!(cell_within(80, name, "one\ntwo"), format!("{name}one two\n"));
        assert_eq!(cell_within(45, name, "one two"), format!("{}\n      one two\n", name.trim_end()));
        assert_eq!(cell_within(usize::MAX, name, &"word ".repeat(1000)).lines().count(), 1);
    }
}
