//! `forebay advise`: which discipline a Linux box should have on a line. It simulates the disciplines that Linux has on the
//! line, with the traffic of a household, an office or an uplink, scores and ranks them.
//!
//! The candidates run with a few seeds. The best of them, the kernel's FIFO and FQ-CoDel then run with other seeds, which
//! alone decide the ranking: the choice among many candidates would otherwise favour one that was lucky.

mod candidates;
mod line;
mod rank;
mod script;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::text::show_rate;
use forebay_aqm::base::units::Rate;
use serde::Serialize;

use super::failure::Failure;
use super::host::Host;
use super::report;
use super::run::{Batch, pool};
use crate::disk;
use crate::input::{Found, InputError};
use crate::load::{self, Overrides};
use crate::results::record::RunRecord;
use crate::run::batch::{self, Control};
use crate::run::guard::Guard;
use crate::run::plan::Plan;
use crate::run::store::Owner;
use candidates::{Candidate, candidates};
pub use line::{Asked, Line, Profile};
pub use rank::Ranked;
use rank::{Measured, Runs, ranking};

/// The FIFO of the kernel.
const FIFO: &str = "droptail hard_limit=1000p";
/// The first seed of the first runs.
const FIRST_SEED: u64 = 1;
/// The first seed of the deciding runs unless the user names one.
pub const DECIDING_SEED: u64 = 1001;
/// Candidates that run again, besides the FIFO and FQ-CoDel.
const FINALISTS: usize = 4;

/// How to advise.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// A scenario in place of that of the profile.
    pub scenario: Option<&'a Path>,
    /// The device in the commands.
    pub device: &'a str,
    /// Number of deciding seeds; `None`: by the rate of the line.
    pub seeds: Option<u64>,
    /// The first deciding seed.
    pub seed: u64,
    /// Output directory; default `runs/advise-HASH`.
    pub output: Option<&'a Path>,
    /// Concurrent runs; default one per core.
    pub jobs: Option<u16>,
}

/// The advice: the JSON document of `forebay advise --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// Format version, 1.
    pub version: u32,
    /// The line in words.
    pub line: String,
    /// Number of candidates.
    pub candidates: usize,
    /// Number of runs, the first ones included.
    pub runs: usize,
    /// Number of seeds that decide.
    pub seeds: usize,
    /// The disciplines that were run with the deciding seeds, the best first.
    pub ranking: Vec<Ranked>,
    /// The commands that set the best one.
    pub commands: Vec<String>,
    /// Directory of the deciding runs.
    pub results: PathBuf,
    /// Path of the report.
    pub report: PathBuf,
}

/// Advises for a line.
///
/// # Errors
/// The line or the scenario is invalid, or a run fails or was interrupted.
pub fn advise(asked: &Asked<'_>, options: &Options<'_>, host: &Host<'_>) -> Result<Advice, Failure> {
    let line = Line::read(asked)?;
    script::check(options.device)?;
    let all = candidates(&line, asked.l4s);
    let (name, text) = match options.scenario {
        Some(file) => (file.display().to_string(), load::text(file)?),
        None => ("advice.toml".to_string(), line.scenario()),
    };
    let specs = |of: &[Candidate]| of.iter().map(|it| it.spec.clone()).collect::<Vec<String>>();
    // A fast line has runs with many packets.
    let first_seeds = if line.is_fast() { 1 } else { 3 };
    let first = plan(&name, &text, &specs(&all), FIRST_SEED, first_seeds)?;
    if options.scenario.is_some() {
        agrees(asked, &line, &first, &name)?;
    }
    host.note(&format!("{} candidates, {} runs", all.len(), first.jobs().len()));
    let files = files(&first);
    let simulate = |plan: &Plan| simulated(plan, options.jobs, host);
    let records = simulate(&first)?;
    let order: Vec<(String, &'static str)> = all.iter().map(|it| (it.spec.clone(), it.why)).collect();
    let tried = ranking(&measured(&records, &files), &order, None);
    let finalists = finalists(&all, &tried);
    let seeds = options.seeds.unwrap_or(if line.is_fast() { 6 } else { 10 });
    let idle_s = match options.scenario {
        Some(_) => None,
        None => idle(&plan(&name, &line.idle(), &[FIFO.to_string()], options.seed, seeds)?, &simulate)?,
    };
    let last = plan(&name, &text, &specs(&finalists), options.seed, seeds)?.with_revision(&(host.build)());
    let file = PathBuf::from("advise");
    let batch = Batch {
        file: &file,
        seed: options.seed,
        runs: seeds,
        output: options.output,
        part: None,
        force: true,
        jobs: options.jobs,
    };
    let (_, store) = batch.results(&last, host)?;
    let ranked = ranking(&measured(&store.records(&last)?, &files), &order, idle_s);
    let best = ranked.first().ok_or_else(|| Failure::Run("no candidate was run".to_string()))?.aqm.clone();
    let advice = Advice {
        version: 1,
        line: line.text(),
        candidates: all.len(),
        runs: records.len() + last.jobs().len(),
        seeds: seeds as usize,
        commands: script::commands(&line, &best, options.device)?,
        ranking: ranked,
        results: store.dir().to_path_buf(),
        report: store.dir().join("report.html"),
    };
    // The report shows it.
    disk::write_json(&store.dir().join(crate::report::ADVICE), &advice)?;
    report::write(&store)?;
    Ok(advice)
}

/// Refuses a line that differs from the scenario of the user: the commands would be for a line that was not simulated.
fn agrees(asked: &Asked<'_>, line: &Line, plan: &Plan, name: &str) -> Result<(), InputError> {
    let Some(job) = plan.jobs().first().copied() else { return Ok(()) };
    let net = plan.network(job);
    let rates: Vec<Rate> = net.links.iter().filter(|link| link.lane.study).map(|link| link.lane.rate).collect();
    let both = [("--rate", asked.rate, line.down), ("--up", asked.up.unwrap_or(asked.rate), line.up)];
    for ((key, words, given), rate) in both.into_iter().zip(rates) {
        if given.0.abs_diff(rate.0) > rate.0 / 100 {
            let accepts = format!("{}, the rate of the compared link of {name} in this direction", show_rate(rate));
            return Err(InputError::new("advise", key, Found::text(words), accepts));
        }
    }
    if let Some(words) = asked.overhead {
        let accepts = format!("no overhead with --scenario: {name} has packets without it");
        return Err(InputError::new("advise", "--overhead", Found::text(words), accepts));
    }
    if asked.l4s && !net.flows.iter().any(|flow| flow.ecn == Ecn::Ect1) {
        let accepts = format!("a scenario with L4S senders, such as tcp = \"l4s-linux\"; {name} has none");
        return Err(InputError::new("advise", "--l4s", Found::thing("nothing to test"), accepts));
    }
    Ok(())
}

/// The runs of the scenario in both directions with these disciplines.
fn plan(name: &str, text: &str, aqm: &[String], seed: u64, seeds: u64) -> Result<Plan, InputError> {
    let overrides = Overrides { aqm: aqm.to_vec(), both_directions: true, ..Overrides::default() };
    let cases = load::parse(name, text, &overrides)?;
    if cases.len() > 1 {
        let found = Found::thing(format!("{} combinations of values", cases.len()));
        return Err(InputError::new(name, "vary", found, "a scenario without [vary]"));
    }
    let plan = Plan::new(cases, seed, seeds);
    plan.check(name)?;
    Ok(plan)
}

/// Runs a plan without storing it.
fn simulated(plan: &Plan, jobs: Option<u16>, host: &Host<'_>) -> Result<Vec<RunRecord>, Failure> {
    let progress = (host.progress)(plan.simulated_s());
    let waits = |dir: &Path, owner: &Owner| host.waits(dir, owner);
    let control = Control {
        stop: host.stop,
        progress: &|seconds| progress.advance(seconds),
        waits: &waits,
        memory: &Guard::NONE,
    };
    let total = plan.jobs().len();
    let runs = pool(jobs)?.install(|| batch::runs(plan, None, &control));
    let interrupted = |done| Failure::Interrupted { dir: None, done, total };
    let runs = runs.map_err(|error| Failure::of_batch(error, || interrupted(0)))?;
    if runs.len() < total { Err(interrupted(runs.len())) } else { Ok(runs.into_iter().map(|(_, run)| run).collect()) }
}

/// The mean load time of a page on the idle line, over the seeds of the plan.
fn idle(plan: &Plan, simulate: &dyn Fn(&Plan) -> Result<Vec<RunRecord>, Failure>) -> Result<Option<f64>, Failure> {
    let files = files(plan);
    let loads: Vec<f64> = simulate(plan)?.iter().filter_map(|run| Measured::of(run, &files).load_s).collect();
    Ok((!loads.is_empty()).then(|| loads.iter().sum::<f64>() / loads.len() as f64))
}

/// The names of the groups that send files or pages.
fn files(plan: &Plan) -> BTreeSet<String> {
    let groups = plan.cases.iter().flat_map(|case| &case.scenario.flows);
    groups.filter(|group| ["file", "web"].contains(&group.kind.word())).map(|group| group.name.clone()).collect()
}

fn measured(records: &[RunRecord], files: &BTreeSet<String>) -> Runs {
    let mut runs = Runs::new();
    for record in records {
        let own = runs.entry(record.summary.contender().to_string()).or_default();
        own.insert(record.summary.seed, Measured::of(record, files));
    }
    runs
}

/// The best candidates, with the kernel's FIFO and FQ-CoDel, in the order of all candidates.
fn finalists(all: &[Candidate], tried: &[Ranked]) -> Vec<Candidate> {
    let is_best = |candidate: &Candidate| tried.iter().take(FINALISTS).any(|best| best.aqm == candidate.spec);
    let chosen = |(at, candidate): &(usize, &Candidate)| *at < 2 || is_best(candidate);
    all.iter().enumerate().filter(chosen).map(|(_, candidate)| candidate.clone()).collect()
}
