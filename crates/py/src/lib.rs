//! Forebay for Python: what the package in `python/forebay` stands on.
//!
//! [`scenario`] reads files, [`runs`] runs them under [`watch`], which listens for Ctrl-C; [`results`] and [`table`] hand
//! out what was found. [`drive`] is a discipline by itself, [`own`] a discipline written in Python, [`env`] many
//! simulations stepped side by side; [`turn`] lets one call at a time use either. Everything else is a command of the program, whose document [`command`] gives.

mod command;
mod drive;
mod env;
mod errors;
mod own;
mod results;
mod runs;
mod scenario;
mod seen;
mod table;
mod turn;
mod watch;

use pyo3::prelude::*;

/// The module `forebay._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::command::{document, main};
    #[pymodule_export]
    use super::drive::Discipline;
    #[pymodule_export]
    use super::env::Env;
    #[pymodule_export]
    use super::own::{conformance, register};
    #[pymodule_export]
    use super::results::Results;
    #[pymodule_export]
    use super::runs::{Sweep, bring, run, work};
    #[pymodule_export]
    use super::scenario::Scenario;
    #[pymodule_export]
    use super::seen::{Context, Level, Packet, Sample};
    #[pymodule_export]
    use super::table::{Column, Table};
}
