//! Confirms what a search of readings found: simulates the best readings again, with seeds that the search did not use.
//! A reading is a combination of values for the settings that the paper does not state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::bench::{Bench, ClaimScore, ClaimVerdict};
use super::search::{self, Log, SearchError, Settings, Trial};
use super::space::Reading;
use super::summary::{BestReading, ReadingsSummary};
use crate::claims::Verdict;

/// First of the fresh seeds. The search uses smaller seeds.
pub const FRESH: u64 = 1001;
/// Number of readings under which most claims hold that are confirmed.
const BEST: usize = 5;
/// For a claim that is not confirmed under any of these: the number of further readings that are tried, one after the
/// other.
const TRIES: usize = 4;

/// Verdicts of a reading with seeds that the search did not use, with confidence intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    /// Number of seeds.
    pub seeds: u64,
    /// The first of these seeds.
    pub from: u64,
    /// CPU time of the simulations, s.
    #[serde(default)]
    pub cpu_s: f64,
    /// The verdict on each claim.
    pub verdicts: Vec<ClaimVerdict>,
}

impl Confirmed {
    fn of(&self, id: &str) -> Option<&ClaimVerdict> {
        self.verdicts.iter().find(|verdict| verdict.id == id)
    }

    /// Whether every check of the claim holds.
    pub fn holds(&self, id: &str) -> bool {
        self.of(id).is_some_and(|own| own.verdict == Verdict::Reproduced)
    }

    /// Whether every check of the claim holds whose bound or comparison the paper prints.
    pub fn printed_holds(&self, id: &str) -> bool {
        self.of(id).is_some_and(|own| own.checks.printed_hold())
    }
}

/// What a further reading is to confirm of a claim.
#[derive(Clone, Copy)]
struct Wanted {
    /// Whether the claim holds under the reading of these scores.
    found: fn(&ClaimScore) -> bool,
    /// How clearly it holds.
    margin: fn(&ClaimScore) -> f64,
    /// Whether fresh seeds confirm it.
    confirmed: fn(&Confirmed, &str) -> bool,
}

/// First that every check holds, then that every check holds whose bound or comparison the paper prints.
const WANTED: [Wanted; 2] = [
    Wanted { found: ClaimScore::holds, margin: |score| score.margin, confirmed: Confirmed::holds },
    Wanted {
        found: |score| score.checks.printed_hold(),
        margin: |score| score.margin_printed,
        confirmed: Confirmed::printed_holds,
    },
];

/// The readings under which most claims hold, each with a different set of claims that hold; at most [`BEST`]. With
/// equal numbers of claims, the smaller distance comes first. Readings that differ from what the paper prints are left
/// out unless there are no others.
pub fn best<'a>(bench: &Bench, trials: &'a [Trial]) -> Vec<&'a Trial> {
    let mut order: Vec<&Trial> = trials.iter().collect();
    order.sort_by(|a, b| b.held.cmp(&a.held).then(a.distance.total_cmp(&b.distance)));
    if order.iter().any(|trial| bench.space.is_plausible(&trial.reading)) {
        order.retain(|trial| bench.space.is_plausible(&trial.reading));
    }
    let held = |trial: &Trial| trial.scores.iter().map(ClaimScore::holds).collect::<Vec<bool>>();
    let mut chosen: Vec<&Trial> = Vec::new();
    for trial in order {
        if chosen.len() < BEST && chosen.iter().all(|known| held(known) != held(trial)) {
            chosen.push(trial);
        }
    }
    chosen
}

/// The readings for a claim, most promising first: those that agree with what the paper prints before the others, then
/// those with the larger margin.
fn candidates<'a>(bench: &Bench, trials: &'a [Trial], claim: usize, wanted: Wanted) -> Vec<&'a Trial> {
    let score = |trial: &&'a Trial| trial.scores.get(claim).filter(|score| (wanted.found)(score));
    let mut found: Vec<(usize, f64, &Trial)> = trials
        .iter()
        .filter_map(|trial| {
            let margin = (wanted.margin)(score(&trial)?);
            Some((bench.space.differing(&trial.reading).len(), margin, trial))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut seen = BTreeSet::new();
    let distinct = found.into_iter().filter(|(_, _, trial)| seen.insert(&trial.reading));
    distinct.take(TRIES).map(|it| it.2).collect()
}

/// How a confirmation is run: what [`Bench::confirm`] needs.
pub struct Run<'a> {
    /// Number of fresh seeds.
    pub seeds: u64,
    /// Readings that an earlier search confirmed, with its verdicts ([`on_record`]).
    pub record: &'a [(Reading, Confirmed)],
    /// Set to interrupt.
    pub stop: &'a AtomicBool,
    /// Called before some readings are simulated, with their number. What it returns is called with the simulated
    /// seconds of each finished run.
    pub begin: &'a (dyn Fn(usize) -> Box<dyn Fn(f64) + Sync + 'a> + Sync),
}

/// The readings of an earlier search with the verdicts of its fresh seeds. Readings with dimensions or values that the
/// paper no longer declares are left out; dimensions that were declared since have the value of the first reading.
pub fn on_record(bench: &Bench, found: &ReadingsSummary) -> Vec<(Reading, Confirmed)> {
    let read = |best: &BestReading| {
        let first = bench.space.first();
        let mut words = bench.space.words(&first).map(|(name, value)| (name.to_string(), value.to_string())).collect();
        BTreeMap::extend(&mut words, best.settings.clone());
        Some((bench.space.reading(&words)?, best.confirmed.clone()?))
    };
    found.best.iter().filter_map(read).collect()
}

/// Confirms readings with seeds that the search did not use:
///
/// 1. the best readings ([`best`]);
/// 2. for each claim that is not confirmed yet, up to four further readings under which it holds, until one confirms it;
///    then the same for claims of which every check that the paper prints holds, but not every check;
/// 3. for each claim that is not confirmed yet, the readings that confirmed it in an earlier search, in the same way.
///
/// Returns the readings in the order in which they were simulated, with their verdicts. Readings that the search did not
/// try are added to `trials`. After the time limit of `settings` no reading is begun.
///
/// # Errors
/// Interrupted, or the log cannot be written.
pub fn confirm(
    bench: &Bench,
    trials: &mut Vec<Trial>,
    settings: &Settings,
    log: &mut Log,
    run: &Run<'_>,
) -> Result<Vec<(Trial, Confirmed)>, SearchError> {
    let mut done: Vec<(Trial, Confirmed)> = Vec::new();
    let best = best(bench, trials).into_iter().cloned().collect();
    round(bench, best, settings, log, run, &mut done)?;
    for wanted in WANTED {
        for rank in 0..TRIES {
            let next = open(bench, &done, wanted)
                .filter_map(|claim| candidates(bench, trials, claim, wanted).get(rank).copied().cloned())
                .collect();
            round(bench, next, settings, log, run, &mut done)?;
        }
    }
    for wanted in WANTED {
        for rank in 0..TRIES {
            let of_claim = |claim: usize| {
                let id = &bench.claims[claim].id;
                let confirmed = run.record.iter().filter(|(_, verdicts)| (wanted.confirmed)(verdicts, id));
                confirmed.map(|(reading, _)| reading.clone()).nth(rank)
            };
            let next: Vec<Reading> = open(bench, &done, wanted).filter_map(of_claim).collect();
            search::add(bench, settings, log, run.stop, next.clone(), trials)?;
            let next = next.iter().filter_map(|reading| trials.iter().find(|trial| trial.reading == *reading).cloned());
            round(bench, next.collect(), settings, log, run, &mut done)?;
        }
    }
    Ok(done)
}

/// Indices of the claims that no reading in `done` confirms.
fn open<'a>(bench: &'a Bench, done: &'a [(Trial, Confirmed)], wanted: Wanted) -> impl Iterator<Item = usize> + 'a {
    (0..bench.claims.len()).filter(move |claim| {
        let id = &bench.claims[*claim].id;
        bench.is_decidable(*claim) && done.iter().all(|(_, verdicts)| !(wanted.confirmed)(verdicts, id))
    })
}

/// Simulates with fresh seeds those of `readings` that are not in `done`, and adds each with its verdicts to `done`.
fn round(
    bench: &Bench,
    readings: Vec<Trial>,
    settings: &Settings,
    log: &mut Log,
    run: &Run<'_>,
    done: &mut Vec<(Trial, Confirmed)>,
) -> Result<(), SearchError> {
    let mut new: Vec<Trial> = Vec::new();
    for trial in readings {
        let is_same = |other: &Trial| other.reading == trial.reading;
        if !done.iter().any(|(other, _)| is_same(other)) && !new.iter().any(is_same) {
            new.push(trial);
        }
    }
    let unknown = new.iter().filter(|trial| log.confirmed(&trial.reading, run.seeds).is_none()).count();
    let progress = (unknown > 0 && !settings.is_late()).then(|| (run.begin)(unknown));
    let advance = |seconds: f64| progress.iter().for_each(|progress| progress(seconds));
    for trial in new {
        if log.confirmed(&trial.reading, run.seeds).is_none() {
            if settings.is_late() {
                continue;
            }
            let verdicts = bench.confirm(&trial.reading, FRESH, run.seeds, run.stop, &advance);
            let Some((verdicts, cpu_s)) = verdicts.map_err(SearchError::Invalid)? else {
                return Err(SearchError::Interrupted);
            };
            let confirmed = Confirmed { seeds: run.seeds, from: FRESH, cpu_s, verdicts };
            log.confirm(bench, &trial.reading, confirmed).map_err(SearchError::Log)?;
        }
        let confirmed = log.confirmed(&trial.reading, run.seeds).cloned();
        done.extend(confirmed.map(|confirmed| (trial, confirmed)));
    }
    Ok(())
}
