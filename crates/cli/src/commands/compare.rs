//! `forebay compare`: the results of several directories in one table.

use forebay_lab::commands::compare;
use forebay_lab::render::summary;

use crate::args::CompareArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Prints the keys in which the scenarios of the directories differ, then the tables of results.
pub(crate) fn command(args: &CompareArgs, ui: &Ui) -> Result<Exit, Failure> {
    let compared = compare::compare(&args.dirs)?;
    if ui.json() {
        ui.print_json(&compared.summary)?;
        return Ok(Exit::Done);
    }
    let differing = match compared.differing.as_slice() {
        [] => "The scenario files and axes are equal.\n".to_string(),
        lines => lines.iter().map(|line| ui.look().wrap("", line)).collect(),
    };
    ui.print(&format!("{differing}\n{}", summary::by_directory(ui.look(), &compared.summary).trim_end()))?;
    Ok(Exit::Done)
}
