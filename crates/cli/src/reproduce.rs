//! `forebay reproduce`: a paper's experiments and the verdict on each of its claims.

use crate::args::ReproduceArgs;
use crate::failure::{Exit, Failure};
use crate::output::Ui;

/// Reproduces what the arguments name.
pub(crate) fn command(_args: &ReproduceArgs, _ui: &Ui) -> Result<Exit, Failure> {
    Err(Failure::Unavailable("reproductions are not part of this build".to_string()))
}
