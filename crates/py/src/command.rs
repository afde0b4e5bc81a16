//! The program's commands: as the console script runs them, and as documents.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use forebay::interrupt;
use forebay::program::{self, Program};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

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

/// The JSON document of a command of the program, as text.
#[pyfunction]
#[pyo3(signature = (words, quiet = true))]
pub(crate) fn document(py: Python<'_>, words: Vec<OsString>, quiet: bool) -> PyResult<String> {
    set_program(py, Vec::new())?;
    let _one = ONE.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
    interrupt::stop(false);
    let call = Arc::new(Call::stopped_by(|| interrupt::stop(true)));
    let found = watched(py, &call, None, || forebay::document(words, quiet))?;
    found.map(|document| document.to_string()).map_err(|refusal| errors::refusal(&refusal))
}
