//! `cargo xtask bless`: what the disciplines do now becomes what they should do. Look at the diff first.

use crate::{program, verdicts};

/// What blessing may change.
const BLESSED: [&str; 2] = ["crates/aqm/golden", verdicts::EXPECTED];

/// Renews the golden traces and the quick verdicts, and shows what that changed.
pub(crate) fn run() -> Result<(), String> {
    println!("golden traces");
    let mut traces = program::cargo();
    traces.args(["test", "-p", "forebay-aqm", "--test", "golden"]).env("FOREBAY_BLESS", "1");
    succeed(traces)?;
    println!("quick verdicts");
    let scratch = program::scratch("bless")?;
    verdicts::record(&verdicts::reproduce(&scratch.join("raqm"))?)?;
    std::fs::remove_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut diff = program::at_root("git");
    diff.args(["--no-pager", "diff", "--stat", "--"]).args(BLESSED);
    println!("changed:");
    succeed(diff)
}

fn succeed(command: std::process::Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = program::stream(command, |line| println!("{line}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
}
