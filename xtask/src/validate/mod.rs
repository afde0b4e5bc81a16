//! `cargo xtask validate-ns2`: our simulator beside ns-2 on the same network, as `docs/validation.md`.
//!
//! With ns-2 installed its figures are made anew from the driver under `validation/ns2`; otherwise the
//! committed ones stand. Ours are always run.

mod figures;
mod grid;
mod ns2;

use forebay_lab::metrics;
use forebay_lab::plan::{Job, Plan};
use rayon::prelude::*;

use figures::{QUANTITIES, Run, Runs};

use crate::program;

/// How many seeds a row has, and how many if its runs differ much; `ns2::Figures::seeds` says when.
const SEEDS: [usize; 2] = [3, 10];

/// Makes the figures and writes the page.
pub(crate) fn run() -> Result<(), String> {
    if ns2::is_installed() {
        ns2::renew()?;
    } else {
        println!("ns-2 is not installed (package ns2): its committed figures stand");
    }
    Ok(())
}

/// Our own runs of every row, as many seeds as ns-2 has.
fn ours(ns2: &ns2::Figures) -> Result<Vec<Runs>, String> {
    let rows = grid::rows();
    let plans = rows.iter().zip(&ns2.jittered).map(|(row, runs)| row.plan(runs.0.len() as u64));
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    let jobs: Vec<(usize, Job)> =
        plans.iter().enumerate().flat_map(|(row, plan)| plan.jobs().into_iter().map(move |job| (row, job))).collect();
    let done: Vec<Run> = jobs.par_iter().map(|(row, job)| one(&plans[*row], *job)).collect::<Result<_, _>>()?;
    let mut all = vec![Runs::default(); rows.len()];
    for ((row, _), run) in jobs.iter().zip(done) {
        all[*row].0.push(run);
    }
    Ok(all)
}

fn one(plan: &Plan, job: Job) -> Result<Run, String> {
    let record = plan.run(job, &mut ()).map_err(|e| e.to_string())?.ok_or("stopped")?;
    let mut run = Run::default();
    for (figure, quantity) in run.iter_mut().zip(QUANTITIES) {
        *figure = metrics::quantity(&record, quantity.ours)?;
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn explore() {
        let ns2 = ns2::Figures::read().unwrap();
        let t = std::time::Instant::now();
        let ours = ours(&ns2).unwrap();
        println!("{:?}", t.elapsed());
        for (i, row) in grid::rows().iter().enumerate() {
            let show = |r: &Runs| (0..5).map(|q| format!("{:.4}", r.mean(q))).collect::<Vec<_>>().join(" ");
            println!("{row} [{} of {}]: {} | {} | {} | {:?} | {:?}", ns2.seeds(i), ns2.plain[i].0.len(), show(&ours[i]), show(&ns2.jittered[i]), show(&ns2.plain[i]),
                ns2.jittered[i].outside(&ours[i]), ns2.plain[i].outside(&ours[i]));
        }
    }
}
