//! Fuzz targets on the stable toolchain: inputs that cargo-fuzz found, and a minute of mutations.

use crate::base::program;
use crate::base::tally::Tally;

const TARGETS: [&str; 10] =
    ["scenario", "set", "vary", "tc", "params", "traces", "claims", "packetdrill", "frames", "queue"];

/// One check for each fuzz target.
pub(crate) fn check(tally: &mut Tally) {
    let mut command = match program::built("forebay-fuzz") {
        Ok(program) => program::at_root(program),
        Err(why) => return tally.fail(why),
    };
    command.args(TARGETS).args(["--secs", "60"]);
    let mut passed = 0;
    let status = program::stream(command, |line| {
        println!("   {line}");
        passed += u64::from(line.ends_with("no property violated"));
    });
    tally.pass_all(passed);
    match status {
        Ok(status) if status.success() && passed == TARGETS.len() as u64 => {}
        Ok(status) => tally.fail(format!("forebay-fuzz: {status}; the input that did it is named above")),
        Err(why) => tally.fail(why),
    }
}
