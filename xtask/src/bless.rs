//! `cargo xtask bless`: what the program does now becomes what it should do. Look at the diff.

use crate::{program, verdicts};

/// What blessing may change.
const BLESSED: [&str; 4] = ["crates/aqm/golden", "docs/scenario.schema.json", QUEUES.2, verdicts::EXPECTED];
/// Tests that write what they otherwise compare: package, test.
const WRITERS: [(&str, &str); 3] =
    [("forebay-aqm", "golden"), ("forebay-lab", "published_schema"), (QUEUES.0, QUEUES.1)];
/// The page of queueing systems: package, test, file.
const QUEUES: (&str, &str, &str) = ("forebay-lab", "queues", "docs/queues.md");

/// Renews golden traces, schema and quick verdicts, and shows what that changed.
pub(crate) fn run() -> Result<(), String> {
    for (package, test) in WRITERS {
        write(package, test)?;
    }
    println!("quick verdicts");
    let scratch = program::scratch("bless")?;
    verdicts::record(&verdicts::reproduce(&scratch.join("raqm"))?)?;
    std::fs::remove_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut diff = program::at_root("git");
    diff.args(["--no-pager", "diff", "--stat", "--"]).args(BLESSED);
    println!("changed:");
    succeed(diff)
}

/// Renews the page of queueing systems alone.
pub(crate) fn queues() -> Result<(), String> {
    write(QUEUES.0, QUEUES.1)?;
    println!("{}", QUEUES.2);
    Ok(())
}

fn write(package: &str, test: &str) -> Result<(), String> {
    let mut writer = program::cargo();
    writer.args(["test", "-p", package, "--test", test]).env("FOREBAY_BLESS", "1");
    succeed(writer)
}

fn succeed(command: std::process::Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = program::stream(command, |line| println!("{line}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
}
