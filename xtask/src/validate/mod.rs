//! `cargo xtask validate-ns2`: our simulator beside ns-2 on the same network, as `docs/validation.md`.
//!
//! With ns-2 installed its figures are made anew from the driver under `validation/ns2`; otherwise the
//! committed ones stand. Ours are always run.

mod figures;
mod grid;
mod ns2;
mod outside;
mod page;

use forebay_lab::metrics;
use forebay_lab::plan::{Job, Plan};
use rayon::prelude::*;

use figures::{QUANTITIES, Run, Runs};
use grid::Row;

use crate::program;

/// How many seeds a row has at first, and how many if these say too little; `ns2::Figures::seeds` says when.
const SEEDS: [usize; 2] = [3, 10];

/// Makes the figures and writes the page.
pub(crate) fn run() -> Result<(), String> {
    if ns2::is_installed() {
        ns2::renew()?;
    } else {
        println!("ns-2 is not installed (package ns2): its committed figures stand");
    }
    let rows = compare()?;
    program::write(page::FILE, &page::page(&rows))?;
    println!("{}", page::FILE);
    match faults(&rows).as_slice() {
        [] => Ok(()),
        faults => Err(format!("xtask/src/validate/outside.rs lists other rows:\n{}", faults.join("\n"))),
    }
}

/// A row in both simulators.
struct Comparison {
    row: Row,
    ours: Runs,
    /// ns-2 with the processing jitter that our hosts have.
    jittered: Runs,
    /// ns-2 as it is.
    plain: Runs,
}

/// Every row: ns-2's committed figures, and ours of today.
fn compare() -> Result<Vec<Comparison>, String> {
    let ns2 = ns2::Figures::read()?;
    let ours = ours(&ns2)?;
    let runs = ours.into_iter().zip(ns2.jittered).zip(ns2.plain);
    Ok(grid::rows()
        .into_iter()
        .zip(runs)
        .map(|(row, ((ours, jittered), plain))| Comparison { row, ours, jittered, plain })
        .collect())
}

/// Where the rows outside the tolerances are not those that are expected there.
fn faults(rows: &[Comparison]) -> Vec<String> {
    outside::SIDES.iter().flat_map(|side| side.faults(rows)).collect()
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
    fn rows_with_more_seeds_are_those_that_need_them() {
        let ns2 = ns2::Figures::read().unwrap();
        for (at, row) in grid::rows().iter().enumerate() {
            let seeds = [ns2.jittered[at].0.len(), ns2.plain[at].0.len()];
            assert_eq!(seeds, [ns2.seeds(at, row); 2], "{row}: cargo xtask validate-ns2 with ns-2 installed");
        }
    }

    /// The page is current, and the rows outside the tolerances are exactly those that are listed.
    #[test]
    fn ours_agree_with_ns2_but_where_it_is_known_why_not() {
        let rows = compare().unwrap();
        assert_eq!(faults(&rows), [""; 0]);
        let committed = std::fs::read_to_string(program::root().join(page::FILE)).unwrap();
        assert!(committed == page::page(&rows), "{} is stale: cargo xtask validate-ns2", page::FILE);
    }
}
