//! `cargo xtask`: runs the tests of one discipline or congestion control, and starts the program `xtask` for other
//! tasks.
//!
//! `xtask` depends on the crate `lab`, which takes a minute to build after an edit of a discipline. This program has no
//! dependencies. It builds `xtask` with the features of the complete workspace, so that `cargo test --workspace`
//! reuses every crate.

mod one;

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use runner::program;
use runner::tally::Tally;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [test, name] = arguments.as_slice()
        && test == "test"
        && let Some(subject) = one::subject(name)
    {
        let mut tally = Tally::default();
        tally.stage(name, "its tests", |tally| one::run(&subject, tally));
        return tally.finish();
    }
    match program::cargo(&["build", "--workspace", "--bin", "xtask"]).status() {
        Ok(status) if status.success() => {}
        // cargo has printed the reason.
        Ok(_) => return ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo: {error}");
            return ExitCode::FAILURE;
        }
    }
    let mut xtask = std::process::Command::new(program::build_dir().join("debug").join("xtask"));
    let error = xtask.args(arguments).exec();
    eprintln!("error: xtask: {error}");
    ExitCode::FAILURE
}
