//! Our simulator's runs of a row of the comparison with ns-2 (one discipline, TCP and number of flows), by the RFCs or
//! with rules of ns-2.

use forebay_lab::plan::{Job, Plan};
use forebay_lab::{lower, record};
use forebay_sim::network::Traffic;
use forebay_sim::tcp::Ns2Rules;
use forebay_sim::world::World;
use rayon::prelude::*;

use super::grid::Row;
use crate::figures::{self, Run, Runs};

/// Rate of the clients' links: that of the bottleneck, and twice that (`-access 20e6` of `case.tcl`).
const EQUAL: &str = "10mbit";
pub(super) const FASTER: &str = "20mbit";

/// The runs to make of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) row: Row,
    pub(super) seeds: usize,
    pub(super) rules: Ns2Rules,
    /// Rate of the clients' links.
    pub(super) lines: &'static str,
}

impl Wanted {
    pub(super) fn plain(row: Row, seeds: usize) -> Self {
        Self { row, seeds, rules: Ns2Rules::default(), lines: EQUAL }
    }
}

/// Makes the wanted runs on all cores. The results are in the order of `wanted`.
pub(super) fn run(wanted: &[Wanted]) -> Result<Vec<Runs>, String> {
    some(wanted, |_, _| true)
}

/// Makes only the runs for which `chooses` returns true. Its arguments are the index of the wanted row and the seed.
pub(super) fn some(wanted: &[Wanted], chooses: impl Fn(usize, u64) -> bool) -> Result<Vec<Runs>, String> {
    let plans = wanted.iter().map(|wanted| wanted.row.plan(wanted.seeds as u64, wanted.lines));
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    let jobs = plans.iter().enumerate().flat_map(|(at, plan)| plan.jobs().into_iter().map(move |job| (at, job)));
    let jobs: Vec<(usize, Job)> = jobs.filter(|(at, job)| chooses(*at, job.seed)).collect();
    let done: Vec<Run> =
        jobs.par_iter().map(|(at, job)| one(&plans[*at], *job, wanted[*at].rules)).collect::<Result<_, _>>()?;
    let mut all = vec![Runs::default(); wanted.len()];
    for ((at, _), run) in jobs.iter().zip(done) {
        all[*at].0.push(run);
    }
    Ok(all)
}

/// As `Plan::run`, but senders may have rules that scenarios cannot set.
fn one(plan: &Plan, job: Job, rules: Ns2Rules) -> Result<Run, String> {
    let case = &plan.cases[job.case];
    let contender = &case.scenario.compare[job.contender];
    let mut net = lower::network(&case.scenario, &contender.spec, job.seed);
    for flow in &mut net.flows {
        if let Traffic::Tcp(options) = &mut flow.traffic {
            options.ns2 = rules;
        }
    }
    let outcome = World::new(&net, job.seed).map_err(|e| e.to_string())?.run(&mut ()).ok_or("stopped")?;
    figures::of(&record::record(case, contender, job.seed, &net, &outcome, 0.0))
}
