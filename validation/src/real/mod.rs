//! `cargo xtask sim-to-real`: compares the TCP of Linux with the simulator's senders, and writes `docs/sim-to-real.md`. A
//! cell of the comparison is one congestion control, round trip, number of connections and discipline.
//!
//! `forebay run --on linux` runs the cells. Its folder keeps every finished run, so the command can be interrupted.

mod cells;
mod page;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use forebay_lab::results::summary::Summary;
use runner::program;

/// The scenario with all cells.
const SCENARIO: &str = "examples/sim-to-real.toml";
/// Runs of each cell on each side; their seeds are 1, 2 and so on.
const SEEDS: &str = "5";

/// Runs what is not finished yet, and writes the page.
///
/// # Errors
/// The kernel is missing, a run fails, or a file cannot be read or written.
pub fn run() -> Result<(), String> {
    let folder = program::build_dir().join("sim-to-real");
    let words = ["run", "--release", "--quiet", "--bin", "forebay", "--", "run", SCENARIO, "--on", "linux"];
    let mut command = program::cargo(&words);
    command.args(["--runs", SEEDS, "--quiet", "-o"]).arg(&folder);
    program::shown(command)?;
    let cells = cells::of(&summary(&folder.join("summary.json"))?)?;
    program::write(page::FILE, &page::page(&cells)?)?;
    println!("{}", page::FILE);
    Ok(())
}

fn summary(path: &Path) -> Result<Summary, String> {
    let text = program::at(path, fs::read_to_string(path))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
