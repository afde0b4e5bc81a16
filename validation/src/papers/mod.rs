//! `cargo xtask ns2 PAPER`: a paper's experiments in our simulator and in ns-2, with disciplines that both have.
//!
//! The experiments are the main scenarios of the sections of `papers/PAPER/claims.toml`. A scenario varies keys. A key
//! that the section's `point` fixes has only that value. If more than three combinations of the other keys' values
//! remain, the first, the middle and the last are compared. Each becomes a description with the links, routes and flows
//! of our network, which `validation/ns2/network.tcl` reads. The opponents are the contenders that ns-2 has too: RED,
//! Adaptive RED, PI, REM, AVQ (Vq), RIO and drop-tail; if a scenario has none of these, drop-tail is added, so that the
//! traffic is compared. Vq's adaptation speed and the rule of Feng's Adaptive RED are those of ns-2 in both simulators.
//!
//! The tolerance was fixed before the first comparison. The mean of a quantity over the seeds agrees if its distance
//! from ns-2's mean is at most the largest of
//!
//! - 10 % of ns-2's mean. The differences that the papers claim are larger;
//! - the half-width of the 95 % confidence interval of the difference of the two means (about two standard errors), so
//!   that a row with few seeds is not outside only by chance;
//! - an amount below which a difference has no effect on a claim: one packet for the mean queue and its standard
//!   deviation, 0.001 for the drop ratio.
//!
//! A discipline that is outside its tolerance is run again with rules of ns-2 in our simulator, one at a time, which
//! shows what explains it.
//!
//! The utilisation has no share of 10 %, because that would permit nearly every value. Its tolerance is 0.01 (one
//! percentage point), or the half-width.

mod disciplines;
mod figures;
mod flows;
mod network;
mod points;
mod reasons;
mod runs;
mod table;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use forebay_lab::papers;
use runner::program;

/// Number of seeds if there is no `--seeds`.
const SEEDS: u64 = 5;
const USAGE: &str = "cargo xtask ns2 PAPER [--seeds N] [--only SCENARIO|EXPERIMENT]";

/// What the command line asks to compare.
struct Wanted<'a> {
    paper: &'a str,
    seeds: u64,
    /// A scenario, or an experiment by its name in a table, such as `case-1 [flows.ftp.count=40]`. Only it is compared.
    only: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    fn read(words: &[&'a str]) -> Result<Self, String> {
        let (paper, mut rest) = match words {
            [paper, rest @ ..] if !paper.starts_with('-') => (*paper, rest),
            _ => return Err(USAGE.to_string()),
        };
        let mut wanted = Self { paper, seeds: SEEDS, only: None };
        while let [option, value, others @ ..] = rest {
            match *option {
                "--seeds" => wanted.seeds = value.parse().map_err(|_| USAGE.to_string())?,
                "--only" => wanted.only = Some(value),
                _ => return Err(USAGE.to_string()),
            }
            rest = others;
        }
        if rest.is_empty() && wanted.seeds > 0 { Ok(wanted) } else { Err(USAGE.to_string()) }
    }
}

/// Compares the experiments of a paper and prints a table of each. Descriptions and `results.json` are in the folder
/// `ns2/PAPER` of the build directory.
///
/// # Errors
/// Wrong arguments, a run that fails, or a quantity outside its tolerance.
pub fn run(words: &[&str]) -> Result<(), String> {
    let wanted = Wanted::read(words)?;
    let names: Vec<&str> = papers::PAPERS.iter().map(|paper| paper.name).collect();
    let paper = papers::find(wanted.paper).ok_or_else(|| format!("papers: {}", names.join(", ")))?;
    if program::find(&["ns"]).is_none() {
        println!("skipped: ns-2 is not installed (the program ns; Debian and Ubuntu: package ns2)");
        return Ok(());
    }
    let folder = program::build_dir().join("ns2").join(paper.name);
    program::at(&folder, fs::create_dir_all(&folder))?;
    let mut experiments = points::experiments(paper)?;
    experiments.retain(|it| wanted.only.is_none_or(|only| only == it.scenario || only == it.name()));
    if experiments.is_empty() {
        return Err(format!("the sections of {} have no scenario {}", paper.name, wanted.only.unwrap_or_default()));
    }
    let mut all = Vec::new();
    for experiment in &experiments {
        let compared = runs::compare(experiment, wanted.seeds, &folder)?;
        print!("{}", table::text(&compared));
        all.push(compared);
    }
    write(&folder, &all)
}

fn write(folder: &Path, all: &[runs::Experiment]) -> Result<(), String> {
    let path = folder.join("results.json");
    program::at(&path, fs::write(&path, table::json(all).to_string()))?;
    let [rows, outside, explained] = table::count(all);
    println!(
        "{outside} of {rows} rows are outside the tolerance; {explained} of them agree with a rule of ns-2 in ours"
    );
    println!("{}", path.display());
    if outside == 0 { Ok(()) } else { Err(format!("{outside} rows are outside the tolerance")) }
}
