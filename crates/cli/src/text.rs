//! Running text on a terminal.

use std::sync::OnceLock;

use console::Term;

/// The widest line of running text that is read with ease.
const WIDEST: usize = 100;
/// In a narrower terminal lines break where they will.
const NARROWEST: usize = 40;

/// So wide is running text here.
fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    let columns = || Term::stdout().size_checked().map_or(WIDEST, |(_, columns)| usize::from(columns));
    *WIDTH.get_or_init(|| columns().clamp(NARROWEST, WIDEST))
}

/// `text` in lines of at most 100 letters, or fewer in a narrower terminal, the first after `first`, the others after as much
/// space.
pub(crate) fn wrap(first: &str, text: &str) -> String {
    wrap_within(width(), first, text)
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
    use super::wrap_within;

    #[test]
    fn hangs_below_the_first_word() {
        let text = wrap_within(80, "  1. ", &"word ".repeat(40));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("  1. word") && lines[1].starts_with("     word"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        assert_eq!(wrap_within(80, "- ", ""), "-\n");
    }
}
