//! The runs of a paper's experiment in our simulator and in ns-2.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use forebay_aqm::Spec;
use forebay_lab::scenario::{Case, Contender};
use forebay_lab::{lower, record};
use forebay_sim::network::{Network, Traffic};
use forebay_sim::world::World;
use rayon::prelude::*;
use runner::program;

use super::disciplines::Queue;
use super::figures::{self, Compared, QUANTITIES, Run};
use super::reasons::{self, Change};
use super::{flows, network, points};

const DRIVER: &str = "validation/ns2/network.tcl";

/// An experiment after its runs.
pub(super) struct Experiment {
    pub(super) name: String,
    pub(super) seeds: u64,
    pub(super) rows: Vec<Row>,
    /// What was not compared, with the reason.
    pub(super) left_out: Vec<String>,
}

/// A compared discipline with its quantities in both simulators.
pub(super) struct Row {
    pub(super) contender: String,
    pub(super) compared: Vec<Compared>,
    /// If a quantity is outside its tolerance: the same comparison with each change of our run towards ns-2.
    pub(super) changed: Vec<(String, Vec<Compared>)>,
}

impl Row {
    /// The quantities that are outside their tolerance.
    pub(super) fn outside(compared: &[Compared]) -> Vec<&'static str> {
        let outside = compared.iter().zip(QUANTITIES).filter(|(compared, _)| !compared.is_within());
        outside.map(|(_, quantity)| quantity.name).collect()
    }
}

/// Runs the disciplines of `wanted` that ns-2 has in both simulators, with seeds from 1 on.
pub(super) fn compare(wanted: &points::Experiment, seeds: u64, folder: &Path) -> Result<Experiment, String> {
    let (name, mut left_out) = (wanted.name(), Vec::new());
    if let Some(contender) = wanted.opponents.first() {
        let unknown = unknown(&wanted.case, &contender.spec);
        left_out.extend((!unknown.is_empty()).then(|| format!("in both simulators, the flows {}", unknown.join(", "))));
    }
    let mut opponents = Vec::new();
    for contender in &wanted.opponents {
        let net = network(&wanted.case, &contender.spec, 1);
        let queue = network::studied(&net).and_then(|link| Queue::of(&contender.spec, &net.links[link]));
        match queue {
            Ok(queue) => opponents.push((contender, queue)),
            Err(what) => left_out.push(format!("{}: {what}", contender.label)),
        }
    }
    let files = match described(wanted, &opponents, seeds, folder)? {
        Ok(files) => files,
        Err(what) => {
            left_out.push(format!("all: {what}"));
            return Ok(Experiment { name, seeds, rows: Vec::new(), left_out });
        }
    };
    let jobs: Vec<(usize, u64)> = (0..opponents.len()).flat_map(|at| (1..=seeds).map(move |seed| (at, seed))).collect();
    let done = jobs.par_iter().map(|&(at, seed)| {
        let (contender, queue) = &opponents[at];
        let ours = ours(&wanted.case, contender, &reasons::none(&contender.spec), seed)?;
        Ok((ours, ns2(&files[seed as usize - 1], seed, queue)?))
    });
    let done: Vec<(Run, Run)> = done.collect::<Result<_, String>>()?;
    let rows = opponents.iter().zip(done.chunks(seeds as usize)).map(|((contender, _), runs)| {
        let (ours, ns2): (Vec<Run>, Vec<Run>) = runs.iter().copied().unzip();
        row(wanted, contender, &ours, &ns2)
    });
    Ok(Experiment { name, seeds, rows: rows.collect::<Result<_, _>>()?, left_out })
}

/// Compares the runs of a discipline. If a quantity is outside its tolerance, compares also our runs with each change
/// towards ns-2.
fn row(wanted: &points::Experiment, contender: &Contender, ours: &[Run], ns2: &[Run]) -> Result<Row, String> {
    let compare = |ours: &[Run]| (0..QUANTITIES.len()).map(|at| Compared::of(at, ours, ns2)).collect::<Vec<_>>();
    let (compared, mut changed) = (compare(ours), Vec::new());
    if !Row::outside(&compared).is_empty() {
        for change in reasons::changes(&contender.spec, &wanted.case) {
            let seeds = (1..=ns2.len() as u64).into_par_iter();
            let runs = seeds.map(|seed| self::ours(&wanted.case, contender, &change, seed));
            changed.push((change.name.clone(), compare(&runs.collect::<Result<Vec<Run>, String>>()?)));
        }
    }
    Ok(Row { contender: contender.label.clone(), compared, changed })
}

/// Writes the description of the network for each seed to a file in `folder`. The inner error says what cannot be
/// described.
fn described(
    wanted: &points::Experiment,
    opponents: &[(&Contender, Queue)],
    seeds: u64,
    folder: &Path,
) -> Result<Result<Vec<PathBuf>, String>, String> {
    let Some((first, _)) = opponents.first() else { return Ok(Err("no opponent".to_string())) };
    let word = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    let stem: String = wanted.name().chars().map(word).collect();
    let mut files = Vec::new();
    for seed in 1..=seeds {
        let net = network(&wanted.case, &first.spec, seed);
        match network::describe(&net, seed) {
            Ok(text) => {
                let file = folder.join(format!("{stem}-{seed}.tcl"));
                program::at(&file, fs::write(&file, text))?;
                files.push(file);
            }
            Err(what) => return Ok(Err(what)),
        }
    }
    Ok(Ok(files))
}

/// Our network, without flows that ns-2 lacks.
fn network(case: &Case, spec: &Spec, seed: u64) -> Network {
    let mut net = lower::network(&case.scenario, spec, seed);
    net.flows.retain(flows::is_known);
    net
}

/// Names of the groups of flows that ns-2 lacks.
fn unknown(case: &Case, spec: &Spec) -> Vec<String> {
    let net = lower::network(&case.scenario, spec, 1);
    let groups: BTreeSet<u32> = net.flows.iter().filter(|flow| !flows::is_known(flow)).map(|flow| flow.group).collect();
    groups.into_iter().filter_map(|group| Some(case.scenario.flows.get(group as usize)?.name.clone())).collect()
}

fn ours(case: &Case, contender: &Contender, change: &Change, seed: u64) -> Result<Run, String> {
    let mut net = network(case, &change.spec, seed);
    for flow in &mut net.flows {
        if let Traffic::Tcp(options) | Traffic::Application(options, _) = &mut flow.traffic {
            options.ns2 = change.rules;
        }
    }
    let outcome = World::new(&net, seed).map_err(|e| e.to_string())?.run(&mut ()).ok_or("stopped")?;
    figures::of(&record::record(case, contender, seed, &net, &outcome, 0.0))
}

fn ns2(description: &Path, seed: u64, queue: &Queue) -> Result<Run, String> {
    let mut ns = program::at_root("ns");
    ns.arg(DRIVER).arg(description).arg(seed.to_string()).args(queue.arguments());
    figures::read(&program::said(ns)?)
}
