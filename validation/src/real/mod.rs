//! `cargo xtask sim-to-real`: compares the TCP of Linux with the simulator's senders, and writes `docs/sim-to-real.md`. A
//! cell of the comparison is one congestion control, round trip, number of connections and discipline.
//!
//! `forebay run --on linux` runs the cells. Its folder keeps every finished run, so the command can be interrupted.

mod cells;
mod page;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::PathBuf;

use forebay_lab::results::summary::Summary;
use runner::program;
use serde_json::Value;

/// The scenario with all cells.
const SCENARIO: &str = "examples/sim-to-real.toml";
/// Runs of each cell on each side; their seeds are 1, 2 and so on.
const SEEDS: u64 = 5;

fn folder() -> PathBuf {
    program::build_dir().join("sim-to-real")
}

/// Runs what is not finished yet, and writes the page.
///
/// # Errors
/// The kernel is missing, a run fails, or a file cannot be read or written.
pub fn run() -> Result<(), String> {
    let words = ["run", "--release", "--quiet", "--bin", "forebay", "--", "run", SCENARIO, "--on", "linux", "--quiet"];
    let mut command = program::cargo(&words);
    command.args(["--runs", &SEEDS.to_string(), "-o"]).arg(folder());
    program::shown(command)?;
    page()
}

/// Writes the page from the runs of an earlier [`run`].
///
/// # Errors
/// There are no complete runs, or a file cannot be read or written.
pub fn page() -> Result<(), String> {
    let read = |name: &str| program::at(&folder().join(name), fs::read_to_string(folder().join(name)));
    let summary: Summary = serde_json::from_str(&read("summary.json")?).map_err(|error| error.to_string())?;
    let meta: Value = serde_json::from_str(&read("meta.json")?).map_err(|error| error.to_string())?;
    let guest = meta["guest"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let version = guest.filter_map(|line| line.strip_prefix("version ")).next().unwrap_or("unknown");
    program::write(page::FILE, &page::text(&cells::of(&summary)?, version)?)?;
    println!("{}", page::FILE);
    Ok(())
}
