//! Style of text output: colours and bold letters (tones), and line width.

/// Width of the longest line of running text, in columns of the terminal.
const WIDEST: usize = 100;
/// Smallest width for running text in the last cell of a table's row. If the row has less space, the text starts on the
/// next line.
const COLUMN: usize = 20;

/// Emphasis of text on a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// Headings, names.
    Strong,
    /// Less important text.
    Faint,
    /// Errors.
    Bad,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Bad => "1;31",
        }
    }

    /// `text` with the control sequences of this tone if colours are `on`, otherwise unchanged.
    pub fn paint(self, text: &str, on: bool) -> String {
        if on && !text.is_empty() { format!("\x1b[{}m{text}\x1b[0m", self.code()) } else { text.to_string() }
    }
}

/// Properties of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// Whether the output may have colours.
    pub colours: bool,
    /// Number of columns of the terminal; `None` for a file or pipe.
    pub columns: Option<usize>,
}

impl Look {
    /// Output without colours, for a file or a string.
    pub const PLAIN: Self = Self { colours: false, columns: None };

    /// `text` in a tone.
    pub fn tone(self, tone: Tone, text: &str) -> String {
        tone.paint(text, self.colours)
    }

    /// Width of running text: 100 columns, or that of the terminal if it is narrower.
    pub fn width(self) -> usize {
        self.columns.map_or(WIDEST, |columns| columns.min(WIDEST))
    }

    /// `text` wrapped to [`Self::width`]. The first line starts with `first`; the others are indented by the width of
    /// `first`.
    pub fn wrap(self, first: &str, text: &str) -> String {
        wrap_within(self.width(), first, text)
    }

    /// `text` wrapped to the terminal's width, for the last cell of a table's row, after the other cells `first`. In a
    /// file or pipe a row is one line, so that other programs can read it.
    pub fn wrap_cell(self, first: &str, text: &str) -> String {
        cell_within(self.columns.unwrap_or(usize::MAX), first, text)
    }

    /// `text` after an emphasised `name`.
    pub fn titled(self, name: &str, text: &str) -> String {
        self.wrap_cell(&format!("{name}  "), text).replacen(
            name.trim_end(),
            &self.tone(Tone::Strong, name.trim_end()),
            1,
        )
    }
}

fn cell_within(width: usize, first: &str, text: &str) -> String {
    if first.chars().count().saturating_add(COLUMN) <= width {
        return wrap_within(width, first, text);
    }
    let indent = first.chars().take_while(|letter| *letter == ' ').count() + 4;
    wrap_within(width, first, "") + &wrap_within(width, &" ".repeat(indent), text)
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
    fn wrapped_text_has_indented_second_line() {
        let text = wrap_within(80, "  1. ", &"word ".repeat(40));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("  1. word") && lines[1].starts_with("     word"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        assert_eq!(wrap_within(80, "- ", ""), "-\n");
    }

    /// A row has a name and, to its right, a text.
    #[test]
    fn text_without_room_next_to_name_moves_below() {
        let name = "  papers/msvb/weighted-mixed-double.toml   ";
        assert_eq!(cell_within(80, name, "one\ntwo"), format!("{name}one two\n"));
        assert_eq!(cell_within(45, name, "one two"), format!("{}\n      one two\n", name.trim_end()));
        assert_eq!(cell_within(usize::MAX, name, &"word ".repeat(1000)).lines().count(), 1);
    }
}
