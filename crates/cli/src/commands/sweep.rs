//! `forebay sweep`: runs a scenario with each combination of values of the keys that vary; prints all results in one
//! table.

use forebay_lab::render::summary;
use forebay_lab::scenario::{Found, InputError};

use crate::args::SweepArgs;
use crate::args::batch::GridArgs;
use crate::commands::run;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Runs each combination of values of the keys that vary: those in `[vary]` of the file, and those of `--vary`.
pub(crate) fn command(args: &SweepArgs, ui: &Ui) -> Result<Exit, Failure> {
    let GridArgs { vary, batch } = &args.grid;
    let plan = run::plan(batch, vary, ui)?;
    if plan.cases.iter().all(|case| case.axes.is_empty()) {
        let accepts = "--vary PATH=VALUES, or [vary] in the file";
        let error = InputError::new(batch.scenario.display().to_string(), "", Found::thing("no axis"), accepts);
        return Err(error.hint("e.g. --vary flows.0.count=5,50,150".to_string()).into());
    }
    run::batch(batch, &plan, ui, summary::by_point)
}
