//! Shared by the models of `forebay theory`: table columns and cells.

use forebay_lab::render::digits::significant;

/// A column: the function that gives its cell in a row, the heading, the unit.
pub(crate) type Column<T> = (fn(&T) -> Cell, &'static str, &'static str);

/// A table cell.
#[derive(Clone, Copy)]
pub(crate) enum Cell {
    /// A number.
    Number(f64),
    /// Yes or no.
    Yes(bool),
    /// No value; shown as `-`.
    Nothing,
}

impl Cell {
    /// A number, or [`Cell::Nothing`].
    pub(crate) fn of(number: Option<f64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }

    /// The cell as text; numbers with three significant digits.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Number(x) => significant(x, 3),
            Self::Yes(yes) => if yes { "yes" } else { "no" }.to_string(),
            Self::Nothing => "-".to_string(),
        }
    }
}
