//! `forebay merge`: joins the results of `run` or `sweep` with `--shard`.

use forebay_lab::commands::{merge, report};
use forebay_lab::render::summary;

use crate::args::MergeArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Joins the directories, writes the report, and prints the table of all runs. Fails after that if runs are missing.
pub(crate) fn command(args: &MergeArgs, ui: &Ui) -> Result<Exit, Failure> {
    let merged = ui.host(|host| merge::merge(&args.dirs, args.output.as_deref(), host))?;
    let report = report::write(&merged.store)?;
    if let Some(missing) = merged.missing {
        return Err(Failure::run(format!("{missing} in {}", merged.store.dir().display())));
    }
    if ui.json() {
        ui.print_json(&merged.summary)?;
        return Ok(Exit::Done);
    }
    let table = summary::by_point(ui.look(), &merged.summary);
    ui.print(&format!("{table}\nresults  {}\nreport   {}", merged.store.dir().display(), report.display()))?;
    Ok(Exit::Done)
}
