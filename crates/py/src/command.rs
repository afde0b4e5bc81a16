//! The program's commands: as the console script runs them, and as documents.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use forebay::interrupt;
use forebay::program::{self, Program};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;
use crate::watch::{Call, watched};

/// Which program this process is, in files and in the hash that tells builds apart: the module, not the interpreter.
pub(crate) fn set_program(py: Python<'_>, words: Vec<OsString>) -> PyResult<&'static Program> {
    let file: PathBuf = py.import("forebay._native")?.getattr("__file__")?.extract()?;
    let python: OsString = py.import("sys")?.getattr("executable")?.extract()?;
    let start = vec![python, "-m".into(), "forebay".into()];
    Ok(program::set(Program { file: Some(file), start, words }))
}

/// What tells this build from any other.
pub(crate) fn build(py: Python<'_>) -> PyResult<&'static str> {
    Ok(set_program(py, Vec::new())?.build())
}

/// The program `forebay` with these words; its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>) -> PyResult<u8> {
    let program = set_program(py, words)?.clone();
    Ok(py.detach(|| forebay::main(program)))
}

/// One at a time: they share a flag for Ctrl-C.
static ONE: Mutex<()> = Mutex::new(());

/// How long another one is waited for between two looks for Ctrl-C.
const WAIT: Duration = Duration::from_millis(20);

thread_local! {
    /// Does this thread work on one?
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The JSON document of a command of the program, as text; `scenario` stands in place of what is in the scenario file.
#[pyfunction]
#[pyo3(signature = (words, quiet = true, scenario = None))]
pub(crate) fn document(
    py: Python<'_>,
    words: Vec<OsString>,
    quiet: bool,
    scenario: Option<String>,
) -> PyResult<String> {
    set_program(py, Vec::new())?;
    if INSIDE.get() {
        return Err(PyRuntimeError::new_err("a command of the program cannot be asked for from within another one"));
    }
    let _one = loop {
        match ONE.try_lock() {
            Ok(one) => break one,
            Err(TryLockError::Poisoned(error)) => break error.into_inner(),
            Err(TryLockError::WouldBlock) => {
                py.detach(|| std::thread::sleep(WAIT));
                py.check_signals()?;
            }
        }
    };
    interrupt::stop(false);
    let call = Arc::new(Call::stopped_by(|| interrupt::stop(true)));
    let found = watched(py, &call, None, || {
        INSIDE.set(true);
        forebay::document(words, quiet, scenario)
    })?;
    found.map(|document| document.to_string()).map_err(|refusal| errors::refusal(&refusal))
}
