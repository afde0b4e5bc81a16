//! `forebay claims register`: hashes of the files of a suite, made before its runs.

use chrono::{SecondsFormat, Utc};
use forebay_lab::suites;

use crate::args::{ClaimsArgs, ClaimsCommand};
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Registers the claims of a suite.
pub(crate) fn command(args: &ClaimsArgs, ui: &Ui) -> Result<Exit, Failure> {
    let ClaimsCommand::Register { suite } = &args.command;
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
    let (path, made) = suites::register(suite, now)?;
    if ui.json() {
        ui.print_json(&made)?;
    } else {
        let files: Vec<&str> = made.files.iter().map(|one| one.file.as_str()).collect();
        ui.print(&format!(
            "registered {} of {}\nSHA-256    {}\nfile       {}",
            made.registered,
            files.join(", "),
            made.sha256,
            path.display()
        ))?;
    }
    Ok(Exit::Done)
}
