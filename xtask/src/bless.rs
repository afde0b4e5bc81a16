//! `cargo xtask bless`: what the program does now becomes what it should do. Look at the diff.

use crate::{program, verdicts};

/// What blessing may change.
const BLESSED: [&str; 3] = ["crates/aqm/golden", "docs/scenario.schema.json", verdicts::EXPECTED];
/// Tests that write what they otherwise compare: package, test.
const WRITERS: [(&str, &str); 2] = [("forebay-aqm", "golden"), ("forebay-lab", "published_schema")];

/// Renews golden traces, schema and quick verdicts, and shows what that changed.
pub(crate) fn run() -> Result<(), String> {
    for (package, test) in WRITERS {
        let mut writer = program::cargo();
        writer.args(["test", "-p", package, "--test", test]).env("FOREBAY_BLESS", "1");
        succeed(writer)?;
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

fn succeed(command: std::process::Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = program::stream(command, |line| println!("{line}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
}
