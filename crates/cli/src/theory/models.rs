//! What the models of `forebay theory` share: which there are, and how what they answer is named.

use forebay_lab::render::digits::significant;

/// A column: its figure, its heading, and its unit.
pub(crate) type Column<T> = (fn(&T) -> Cell, &'static str, &'static str);

/// A figure of a table.
#[derive(Clone, Copy)]
pub(crate) enum Cell {
    /// A number.
    Number(f64),
    /// Yes or no.
    Yes(bool),
    /// There is none.
    Nothing,
}

impl Cell {
    /// A number, or nothing.
    pub(crate) fn of(number: Option<f64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }

    /// In words.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Number(x) => significant(x, 3),
            Self::Yes(yes) => if yes { "yes" } else { "no" }.to_string(),
            Self::Nothing => "-".to_string(),
        }
    }
}
