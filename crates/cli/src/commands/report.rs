//! `forebay report`: rebuilds the report in a directory of results from the data there.

use forebay_lab::commands::report;

use crate::args::ReportArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Rebuilds the report of one directory.
pub(crate) fn command(args: &ReportArgs, ui: &Ui) -> Result<Exit, Failure> {
    let document = ui.host(|host| report::build(&args.dir, host))?;
    if ui.json() {
        ui.print_json(&document)?;
    } else {
        ui.print(&document.report)?;
    }
    Ok(Exit::Done)
}
