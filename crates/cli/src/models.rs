//! What the models of `forebay theory` share: which there are, and how what they answer is named.

use clap::ValueEnum;
use forebay_lab::scenario::{Case, InputError};

/// Which model.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Model {
    /// Rest and margins of the linear loop.
    Stability,
    /// The course of the nonlinear loop.
    Fluid,
    /// The queue in the long run under datagrams that Markov chains bring.
    Mmpp,
    /// The distribution of the queue at one signal probability.
    Markov,
}

impl Model {
    /// Its word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Stability => "stability",
            Self::Fluid => "fluid",
            Self::Mmpp => "mmpp",
            Self::Markov => "markov",
        }
    }
}

/// A column: the name of its figure, its heading, and its unit.
pub(crate) type Column = (&'static str, &'static str, &'static str);

/// What is compared, at the point of the axes.
pub(crate) fn label(case: &Case, compared: &str) -> String {
    let axes: String = case.axes.iter().map(|(axis, value)| format!("  {axis}={value}")).collect();
    format!("{compared}{axes}")
}

/// The same error, about the file.
pub(crate) fn in_file(file: &str, error: &InputError) -> InputError {
    InputError::new(file, error.key.clone(), error.found.clone(), error.accepts.clone())
}
