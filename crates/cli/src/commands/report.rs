//! `forebay report`: rebuilds the report in a directory of results from the data there.

use std::path::PathBuf;

use chrono::Utc;
use forebay_lab::commands::host::Host;
use forebay_lab::commands::report::{self, Repeat};
use forebay_lab::commands::{failure, ro_crate};
use forebay_lab::plan::Plan;

use crate::args::ReportArgs;
use crate::failure::{Exit, Failure};
#[cfg(target_os = "linux")]
use crate::live::linux;
use crate::render::output::Ui;

/// Returns the function that repeats runs of a plan: on Linux if it has runs there, else in the simulator.
fn repeat<'a>(plan: &'a Plan, host: &Host<'_>) -> Result<Repeat<'a>, failure::Failure> {
    #[cfg(target_os = "linux")]
    if plan.guest.is_some() {
        return linux::repeat(plan, &(host.build)());
    }
    report::repeat_simulations(plan, host)
}

/// Rebuilds the report of one directory.
pub(crate) fn command(args: &ReportArgs, ui: &Ui) -> Result<Exit, Failure> {
    let mut document = ui.host(|host| report::build(&args.dir, host))?;
    let words = |paths: Vec<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
    if args.csv {
        document.csv = words(ui.host(|host| report::csv(&args.dir, host))?);
    }
    if args.pcapng {
        document.pcapng = words(ui.host(|host| report::pcapng(&args.dir, host, repeat))?);
    }
    if args.flent {
        document.flent = words(ui.host(|host| report::flent(&args.dir, host))?);
    }
    if args.ro_crate {
        // The report is one of the files that it describes.
        let path = ro_crate::write(&args.dir, &Utc::now().format("%F").to_string())?;
        document.ro_crate = Some(path.display().to_string());
    }
    if ui.json() {
        ui.print_json(&document)?;
    } else {
        ui.print(&document.report)?;
        document
            .csv
            .iter()
            .chain(&document.pcapng)
            .chain(&document.flent)
            .chain(&document.ro_crate)
            .try_for_each(|path| ui.print(path))?;
    }
    Ok(Exit::Done)
}
