//! `cargo xtask sim-to-real`: compares the TCP of Linux with the simulator's senders, and writes `docs/sim-to-real.md`. A
//! cell of the comparison is one congestion control, round trip, number of connections and discipline.
//!
//! `forebay run --on linux` runs the cells. Its folder keeps every finished run, so the command can be interrupted.

mod cells;
mod page;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use forebay_lab::record::RunRecord;
use forebay_lab::results::meta::Meta;
use forebay_lab::store::{self, StoreError};
use runner::program;

/// Long connections, and connections with one file each; each scenario has all cells.
const SCENARIOS: [&str; 2] = ["examples/sim-to-real.toml", "examples/sim-to-real-files.toml"];
/// Runs of each cell on each side; their seeds are 1, 2 and so on.
const SEEDS: u64 = 5;
/// Settings of the first scenario with the senders of the RFCs: those that the Linux stack has as defaults.
const OF_THE_RFCS: [&str; 4] = [
    "flows.bulk.stack=rfc",
    "flows.bulk.initial_window=10",
    "flows.bulk.initial_rto=1s",
    "vary.flows.bulk.tcp=[\"cubic\", \"sack\", \"bbr\", \"dctcp\"]",
];

/// A picture of the windows has the cell of two connections, 30 ms and this discipline.
const PICTURED: &str = "pie";
/// Name of the figure with the windows.
const FIGURE: &str = "bulk-congestion-window";
/// Settings of the first scenario for a picture.
const OF_A_PICTURE: [&str; 3] =
    ["vary.topology.bottleneck.delay=[\"13ms\"]", "vary.flows.bulk.count=[2]", "report.series=[\"bulk.cwnd\"]"];

/// Folders of the runs.
#[derive(Clone, Copy)]
enum Folder {
    Long,
    Files,
    /// The first scenario with the senders of the RFCs; without Linux.
    Rfc,
}

impl Folder {
    fn path(self) -> PathBuf {
        program::build_dir().join(match self {
            Self::Long => "sim-to-real",
            Self::Files => "sim-to-real-files",
            Self::Rfc => "sim-to-real-rfc",
        })
    }

    /// Runs what is not finished yet.
    fn fill(self) -> Result<(), String> {
        let scenario = SCENARIOS[usize::from(matches!(self, Self::Files))];
        let words = ["run", "--release", "--quiet", "--bin", "forebay", "--", "run", scenario, "--quiet"];
        let mut command = program::cargo(&words);
        command.args(["--runs", &SEEDS.to_string(), "-o"]).arg(self.path());
        match self {
            Self::Long | Self::Files => command.args(["--on", "linux"]),
            Self::Rfc => command.args(OF_THE_RFCS.iter().flat_map(|set| ["--set", set])),
        };
        program::shown(command)
    }

    /// The finished runs, and the version of Linux.
    fn runs(self) -> Result<(impl Iterator<Item = RunRecord>, String), String> {
        let dir = self.path();
        let failed = |error: StoreError| error.to_string();
        let Meta::Run(meta) = Meta::read(&dir).map_err(failed)? else {
            return Err(format!("{} has no runs", dir.display()));
        };
        let guest = meta.provenance.facts.guest.iter().flatten().find_map(|line| line.strip_prefix("version "));
        let version = guest.unwrap_or_default().to_string();
        let mut jobs = store::jobs_on_disk(&dir, &meta).map_err(failed)?;
        // The order of the cases, then of the disciplines, as in the scenario.
        jobs.sort_by_key(|job| (job.case, job.contender, job.seed));
        Ok((jobs.into_iter().filter_map(move |job| store::read_run(&dir, &meta, job).ok().flatten()), version))
    }
}

/// Runs what is not finished yet, and writes the page.
///
/// # Errors
/// The kernel is missing, a run fails, or a file cannot be read or written.
pub fn run() -> Result<(), String> {
    [Folder::Long, Folder::Files, Folder::Rfc].into_iter().try_for_each(Folder::fill)?;
    cells::SENDERS.into_iter().try_for_each(|[name, sender, _]| picture(name, sender))?;
    page()
}

/// Draws the windows of the cell with this sender, on Linux and in the simulator, with one seed.
fn picture(name: &str, sender: &str) -> Result<(), String> {
    let dir = program::build_dir().join(format!("sim-to-real-{name}"));
    let forebay = ["run", "--release", "--quiet", "--bin", "forebay", "--"];
    let mut command = program::cargo(&forebay);
    command.args(["run", SCENARIOS[0], "--on", "linux", "--runs", "1", "--quiet", "--aqm", PICTURED]);
    command.args(OF_A_PICTURE.iter().flat_map(|set| ["--set", set]));
    command.args(["--set", &format!("vary.flows.bulk.tcp=[\"{sender}\"]"), "-o"]).arg(&dir);
    program::shown(command)?;
    let mut command = program::cargo(&forebay);
    command.arg("plot").arg(dir).args(["--figure", FIGURE, "--width", "5in", "-o"]);
    command.arg(format!("docs/pictures/sim-to-real-{name}.svg"));
    program::shown(command)
}

/// Writes the page from the runs of an earlier [`run`].
///
/// # Errors
/// There are no runs, or a file cannot be read or written.
pub fn page() -> Result<(), String> {
    let (long, version) = Folder::Long.runs()?;
    let [linux, ours] = cells::sides(long, &cells::LONG)?;
    let [_, rfc] = cells::sides(Folder::Rfc.runs()?.0, &cells::LONG)?;
    let [linux_files, our_files] = cells::sides(Folder::Files.runs()?.0, &cells::FILES)?;
    let compared = page::Compared {
        long: cells::cells(&linux, &ours),
        rfc: cells::cells(&linux, &rfc),
        files: cells::cells(&linux_files, &our_files),
    };
    program::write(page::FILE, &page::text(&compared, &version)?)?;
    println!("{}", page::FILE);
    Ok(())
}
