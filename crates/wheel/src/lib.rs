//! The native module `forebay._native` of the Python package, with the program `forebay` for the package's console
//! script.

use std::ffi::OsString;
use std::path::PathBuf;

use forebay::program::Program;
use pyo3::prelude::*;

/// Runs the program `forebay` with these arguments. Returns the exit code.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> PyResult<u8> {
    let file: PathBuf = py.import("forebay._native")?.getattr("__file__")?.extract()?;
    let python: OsString = py.import("sys")?.getattr("executable")?.extract()?;
    let start = vec![python, "-m".into(), "forebay".into()];
    let program = Program::new(Some(file), start, words);
    Ok(py.detach(|| forebay::main(program)))
}

/// The module `forebay._native`: all native functions and classes of the Python package.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use forebay_py::command::{
        Search, disciplines, evaluate, explain, fluid, markov, mmpp, readings, reproduce, stability, stability_map,
        suite_scenarios, tune,
    };
    #[pymodule_export]
    use forebay_py::drive::Discipline;
    #[pymodule_export]
    use forebay_py::env::queue::Env;
    #[pymodule_export]
    use forebay_py::env::senders::{SenderEnv, register_agent};
    #[pymodule_export]
    use forebay_py::own::{conformance, register};
    #[pymodule_export]
    use forebay_py::results::{Results, load};
    #[pymodule_export]
    use forebay_py::runs::{Sweep, bring, run, work};
    #[pymodule_export]
    use forebay_py::scenario::Scenario;
    #[pymodule_export]
    use forebay_py::seen::{Ack, Context, Level, Packet, Sample};
    #[pymodule_export]
    use forebay_py::sender::{control_conformance, register_control};
    #[pymodule_export]
    use forebay_py::table::{Column, Table};
}
