//! Maps failures to the exceptions of the Python package, whose classes are in `forebay.errors`.

use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::params::ParamError;
use forebay_aqm::base::text::BadValue;
use forebay_lab::batch::BatchError;
use forebay_lab::commands::failure::{ErrorDocument, Failure};
use forebay_lab::scenario::{Found, InputError};
use forebay_lab::store::StoreError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;

/// The exception of class `name` of `forebay.errors`, with `error` as its JSON document.
fn of(name: &str, message: &str, error: &impl Serialize) -> PyErr {
    let error = serde_json::to_string(error).unwrap_or_else(|_| "{}".to_string());
    Python::attach(|py| {
        let make = || py.import("forebay.errors")?.getattr(name)?.call1((message, error));
        make().map_or_else(|failed| failed, |made| PyErr::from_value(made))
    })
}

/// The exception for wrong input.
pub(crate) fn input(error: &InputError) -> PyErr {
    of("ScenarioError", &error.to_string(), error)
}

/// The exception for a wrong argument that is in no file.
pub(crate) fn argument(name: &str, found: &str, accepts: &str) -> PyErr {
    input(&InputError::new(name, "", Found::text(found), accepts))
}

/// The exception for a wrong quantity (number with unit), with the parser's hint on how to correct it.
pub(crate) fn quantity(name: &str, found: &str, bad: BadValue) -> PyErr {
    input(&InputError::new(name, "", Found::text(found), bad.accepts).hint(bad.hint))
}

/// The exception for an argument that is none of `words`.
pub(crate) fn word(name: &str, found: &str, words: &[String]) -> PyErr {
    let near = nearest(found, words.iter().map(String::as_str)).map(|near| format!("did you mean {near}?"));
    input(&InputError::new(name, "", Found::text(found), format!("one of {}", words.join(", "))).hint(near))
}

/// The exception for an error in a discipline string, such as `raqm q0=50`.
pub(crate) fn discipline(text: &str, bad: &ParamError) -> PyErr {
    let key = if bad.key == "discipline" { String::new() } else { bad.key.clone() };
    let error = InputError::new("aqm", key, Found::text(&bad.found), bad.accepts.clone());
    let hint = bad.hint.clone().or_else(|| Some(format!("in '{text}'")));
    input(&error.hint(hint))
}

/// The exception for a directory of results that cannot be used.
pub(crate) fn store(error: &StoreError) -> PyErr {
    of("StoreError", &error.to_string(), &json!({ "kind": "store" }))
}

/// The exception for a batch of runs that did not finish.
pub(crate) fn batch(error: BatchError) -> PyErr {
    match error {
        BatchError::Interrupted => PyKeyboardInterrupt::new_err("finished runs are kept"),
        BatchError::Run(bad) => run(&bad.to_string()),
        BatchError::Memory { .. } => run(&error.to_string()),
        BatchError::Store(error) => store(&error),
    }
}

/// The exception for a run that failed.
pub(crate) fn run(message: &str) -> PyErr {
    of("RunError", message, &json!({ "kind": "run" }))
}

/// The exception for the failure of one of Forebay's commands, such as `forebay.reproduce()`. `stopped`: whether Ctrl-C
/// has stopped the command.
pub(crate) fn failure(failure: &Failure, stopped: bool) -> PyErr {
    let (message, error) = (failure.to_string(), failure.document());
    match failure {
        Failure::Interrupted { .. } => PyKeyboardInterrupt::new_err(message),
        Failure::Store(StoreError::Busy { .. }) if stopped => PyKeyboardInterrupt::new_err(message),
        Failure::Store(StoreError::Foreign { .. }) => of("StoreError", &message, &error),
        Failure::Input(_) | Failure::Store(StoreError::Busy { .. }) => of("ScenarioError", &message, &error),
        Failure::Store(_) | Failure::Run(_) | Failure::Unavailable(_) => of("RunError", &message, &error),
    }
}

/// The exception for a wrong argument, with the message of the command line.
pub(crate) fn usage(message: &str) -> PyErr {
    of("ScenarioError", message, &ErrorDocument::new("usage", message.to_string()))
}

/// The exception for a thread that panicked, which is a bug in forebay.
pub(crate) fn broken() -> PyErr {
    PyRuntimeError::new_err("a simulation panicked; this is a bug in forebay")
}
