//! The runs of an experiment in both simulators.

use std::fs;
use std::path::{Path, PathBuf};

use forebay_lab::scenario::{Case, Contender};
use forebay_lab::{lower, record};
use forebay_sim::world::World;
use rayon::prelude::*;
use runner::program;

use super::disciplines::Queue;
use super::figures::{self, Compared, QUANTITIES, Run};
use super::{network, points};

const DRIVER: &str = "validation/ns2/network.tcl";

/// An experiment after its runs.
pub(super) struct Experiment {
    pub(super) name: String,
    pub(super) seeds: u64,
    pub(super) rows: Vec<Row>,
    /// What was not compared, with the reason.
    pub(super) left_out: Vec<String>,
}

/// A contender with its quantities.
pub(super) struct Row {
    pub(super) contender: String,
    pub(super) compared: Vec<Compared>,
}

/// Runs the opponents of `wanted` in both simulators, with seeds from 1 on.
pub(super) fn compare(wanted: &points::Experiment, seeds: u64, folder: &Path) -> Result<Experiment, String> {
    let (name, mut left_out) = (wanted.name(), Vec::new());
    let mut opponents = Vec::new();
    for contender in &wanted.opponents {
        let net = lower::network(&wanted.case.scenario, &contender.spec, 1);
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
        Ok((ours(&wanted.case, contender, seed)?, ns2(&files[seed as usize - 1], seed, queue)?))
    });
    let done: Vec<(Run, Run)> = done.collect::<Result<_, String>>()?;
    let rows = opponents.iter().zip(done.chunks(seeds as usize)).map(|((contender, _), runs)| {
        let (ours, ns2): (Vec<Run>, Vec<Run>) = runs.iter().copied().unzip();
        let compared = (0..QUANTITIES.len()).map(|quantity| Compared::of(quantity, &ours, &ns2)).collect();
        Row { contender: record::label(contender, &wanted.case), compared }
    });
    Ok(Experiment { name, seeds, rows: rows.collect(), left_out })
}

/// The description of each seed, as a file in `folder`; the inner error says what cannot be described.
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
        let net = lower::network(&wanted.case.scenario, &first.spec, seed);
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

fn ours(case: &Case, contender: &Contender, seed: u64) -> Result<Run, String> {
    let net = lower::network(&case.scenario, &contender.spec, seed);
    let outcome = World::new(&net, seed).map_err(|e| e.to_string())?.run(&mut ()).ok_or("stopped")?;
    figures::of(&record::record(case, contender, seed, &net, &outcome, 0.0))
}

fn ns2(description: &Path, seed: u64, queue: &Queue) -> Result<Run, String> {
    let mut ns = program::at_root("ns");
    ns.arg(DRIVER).arg(description).arg(seed.to_string()).args(queue.arguments());
    figures::read(&program::said(ns)?)
}
