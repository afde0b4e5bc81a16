//! Scores of runs, and the ranking of the disciplines. The scores and their mean are those of
//! [`figures::scores`](crate::figures::scores).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::figures::scores::responsiveness::Rpm;
use crate::figures::scores::total::{Points, total};
use crate::figures::stats::Interval;
use crate::results::record::{RunRecord, RunSummary};
use crate::results::traffic::TrafficSummary;

/// Least points of a score, so that one score that fails does not hide the others.
const LEAST: f64 = 1.0;

/// What a run measured. A value is absent if the scenario has no such traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// The lowest mean opinion score of the calls.
    pub(super) mos: Option<f64>,
    /// Round trips per minute: the mean of those of new connections (class `probe`) and of connections under load.
    pub(super) rpm: Option<f64>,
    /// Median load time of pages, or completion time of files, in s.
    pub(super) load_s: Option<f64>,
    /// Goodput of all links, in bit/s.
    pub(super) goodput_bps: f64,
    /// Capacity of all links, in bit/s.
    pub(super) capacity_bps: f64,
}

/// The name of the class whose pages are probes: one packet on a new connection, two round trips.
const PROBE: &str = "probe";

impl Measured {
    /// What this run measured at all links. `files`: the names of the groups that send files or pages.
    pub(super) fn of(run: &RunRecord, files: &BTreeSet<String>) -> Self {
        let classes = || run.summaries().flat_map(|link| &link.traffic).filter(|class| class.name != "all");
        let least = |values: &mut dyn Iterator<Item = f64>| values.min_by(f64::total_cmp);
        let foreign = classes().find(|class| class.name == PROBE).and_then(|class| class.fct_s.as_ref());
        let foreign = foreign.and_then(|took| Rpm::of(took.mean * 1e3 / 2.0)).map(|rpm| rpm.0);
        let is_bulk = |class: &&TrafficSummary| class.fct_s.is_none() && !files.contains(&class.name);
        let loaded: Vec<f64> = classes().filter(is_bulk).filter_map(|class| class.rpm).collect();
        let loaded = (!loaded.is_empty()).then(|| loaded.iter().sum::<f64>() / loaded.len() as f64);
        let rpm = match (foreign, loaded) {
            (Some(foreign), Some(loaded)) => Some((foreign + loaded) / 2.0),
            (one, other) => one.or(other),
        };
        let pages = classes().filter(|class| class.name != PROBE).filter_map(|class| class.fct_s.as_ref());
        Self {
            mos: least(&mut classes().filter_map(|class| class.mos)),
            rpm,
            load_s: pages.map(|took| took.p50).max_by(f64::total_cmp),
            goodput_bps: run.summaries().map(|link| link.goodput_bps).sum(),
            capacity_bps: run.summaries().filter(|link| link.goodput_ratio > 0.0).map(capacity).sum(),
        }
    }

    /// The score of a run, 1 to 100.
    fn score(&self, scale: &Scale) -> f64 {
        let load = self.load_s.zip(scale.idle_s).and_then(|(load, idle)| Points::of_load_ratio(load / idle));
        let parts = [
            (scale.has_mos, self.mos.and_then(Points::of_mos)),
            (scale.has_rpm, self.rpm.and_then(|rpm| Points::of_rpm(Rpm(rpm)))),
            (scale.idle_s.is_some(), load),
            (true, Points::of_goodput(self.goodput_bps, self.capacity_bps)),
        ];
        // A run without a measurement, such as one in which no page arrives, has the least points.
        let counted = parts.into_iter().filter(|(counts, _)| *counts);
        let points = counted.map(|(_, points)| Points::new(points.map_or(LEAST, |points| points.get().max(LEAST))));
        total(points).map_or(0.0, Points::get)
    }
}

/// The capacity of a link in bit/s.
fn capacity(link: &RunSummary) -> f64 {
    link.goodput_bps / link.goodput_ratio
}

/// Which scores count: those that some run has.
#[derive(Clone, Copy, Debug, Default)]
struct Scale {
    has_mos: bool,
    has_rpm: bool,
    /// The load time of a page on the idle line; `None`: there are no pages.
    idle_s: Option<f64>,
}

impl Scale {
    /// The scale for all these runs. `idle_s`: the load time of a page on the idle line; `None`: the shortest of all runs.
    fn of(runs: &Runs, idle_s: Option<f64>) -> Self {
        let all = || runs.values().flat_map(|runs| runs.values());
        let shortest = all().filter_map(|run| run.load_s).min_by(f64::total_cmp);
        Self {
            has_mos: all().any(|run| run.mos.is_some()),
            has_rpm: all().any(|run| run.rpm.is_some()),
            idle_s: shortest.map(|shortest| idle_s.unwrap_or(shortest)),
        }
    }
}

/// A discipline and what its runs measured, by seed.
pub(super) type Runs = BTreeMap<String, BTreeMap<u64, Measured>>;

/// A discipline in the ranking.
#[derive(Clone, Debug, Serialize)]
pub struct Ranked {
    /// As in `--aqm`.
    pub aqm: String,
    /// Why it was tried.
    pub why: &'static str,
    /// Score, 1 to 100.
    pub score: Interval,
    /// Difference of its score from that of the best, paired by seed; `None` for the best.
    pub behind: Option<Interval>,
    /// Whether it cannot be told from the best: the interval of the difference contains 0.
    pub is_level: bool,
    /// The scores of the applications.
    pub mos: Option<Interval>,
    /// Round trips per minute.
    pub rpm: Option<Interval>,
    /// Median load time of a page in s.
    pub load_s: Option<Interval>,
    /// Goodput of both directions in bit/s.
    pub goodput_bps: Interval,
    /// Number of seeds with which it has the highest score.
    pub wins: usize,
}

/// The disciplines, the one with the highest mean score first. There is no correction for the number of comparisons. `order` has all of them with the reason, and decides between
/// equal scores. `idle_s`: the load time of a page on the idle line; `None`: the shortest of all runs.
pub(super) fn ranking(runs: &Runs, order: &[(String, &'static str)], idle_s: Option<f64>) -> Vec<Ranked> {
    let scale = Scale::of(runs, idle_s);
    let score = |aqm: &str, seed: u64| runs.get(aqm).and_then(|of| of.get(&seed)).map(|run| run.score(&scale));
    let seeds: Vec<u64> = runs.values().next().map(|of| of.keys().copied().collect()).unwrap_or_default();
    let scores = |aqm: &str| -> Vec<f64> { seeds.iter().filter_map(|seed| score(aqm, *seed)).collect() };
    let mut ranked: Vec<Ranked> = order
        .iter()
        .filter_map(|(aqm, why)| {
            let own: Vec<&Measured> = runs.get(aqm)?.values().collect();
            let of = |value: fn(&Measured) -> Option<f64>| {
                let values: Vec<f64> = own.iter().filter_map(|run| value(run)).collect();
                (!values.is_empty()).then(|| Interval::of(&values))
            };
            let wins = seeds.iter().filter(|seed| {
                let mine = score(aqm, **seed);
                runs.keys().all(|other| other == aqm || score(other, **seed) < mine)
            });
            Some(Ranked {
                aqm: aqm.clone(),
                why,
                score: Interval::of(&scores(aqm)),
                behind: None,
                is_level: false,
                mos: of(|run| run.mos),
                rpm: of(|run| run.rpm),
                load_s: of(|run| run.load_s),
                goodput_bps: Interval::of(&own.iter().map(|run| run.goodput_bps).collect::<Vec<_>>()),
                wins: wins.count(),
            })
        })
        .collect();
    ranked.sort_by(|one, other| other.score.mean.total_cmp(&one.score.mean));
    let Some(best) = ranked.first().map(|best| scores(&best.aqm)) else { return ranked };
    for other in ranked.iter_mut().skip(1) {
        let differences: Vec<f64> = scores(&other.aqm).iter().zip(&best).map(|(own, best)| own - best).collect();
        let behind = Interval::of(&differences);
        other.is_level = behind.contains(0.0);
        other.behind = Some(behind);
    }
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mos: f64, rpm: f64, load_s: f64, goodput_bps: f64) -> Measured {
        Measured { mos: Some(mos), rpm: Some(rpm), load_s: Some(load_s), goodput_bps, capacity_bps: 1e8 }
    }

    fn runs(of: &[(&str, &[Measured])]) -> Runs {
        let seeds = |all: &[Measured]| all.iter().enumerate().map(|(seed, run)| (seed as u64, *run)).collect();
        of.iter().map(|(aqm, all)| (aqm.to_string(), seeds(all))).collect()
    }

    const ORDER: [(&str, &str); 3] = [("fifo", ""), ("a", ""), ("b", "")];

    fn ranked(runs: &Runs) -> Vec<Ranked> {
        let order: Vec<(String, &'static str)> = ORDER.iter().map(|(aqm, why)| (aqm.to_string(), *why)).collect();
        ranking(runs, &order, Some(1.0))
    }

    /// 97.1, 56.2, 50 and 90 points: the geometric mean is 70.4.
    #[test]
    fn score_is_the_geometric_mean_of_the_points() {
        let scale = Scale { has_mos: true, has_rpm: true, idle_s: Some(1.0) };
        let score = run(4.4, 1000.0, 2.0, 9e7).score(&scale);
        let points = [100.0 * 3.4 / 3.5, 100.0 / 60f64.log10(), 50.0, 90.0];
        assert!((score - points.iter().product::<f64>().powf(0.25)).abs() < 1e-9, "{score}");
        let none = Measured { goodput_bps: 5e7, capacity_bps: 1e8, ..Measured::default() };
        assert!((none.score(&Scale::default()) - 50.0).abs() < 1e-9, "only what the scenario has counts");
        assert!(run(1.0, 50.0, 2.0, 9e7).score(&scale) > 1.0, "a score of 0 does not hide the others");
        let unfinished = Measured { load_s: None, ..run(4.4, 1000.0, 2.0, 9e7) };
        assert!(unfinished.score(&scale) < 0.5 * score, "a run in which no page arrives has the least points for it");
    }

    #[test]
    fn level_disciplines_are_marked() {
        let good = [run(4.4, 2000.0, 1.1, 9e7), run(4.4, 2100.0, 1.2, 9e7), run(4.4, 1900.0, 1.1, 9e7)];
        let alike = [run(4.4, 2050.0, 1.2, 9e7), run(4.4, 2000.0, 1.1, 9e7), run(4.4, 1950.0, 1.1, 9e7)];
        let fifo = [run(2.0, 300.0, 5.0, 9.5e7), run(2.1, 310.0, 5.5, 9.5e7), run(2.0, 290.0, 5.2, 9.5e7)];
        let found = ranked(&runs(&[("fifo", &fifo), ("a", &good), ("b", &alike)]));
        let names: Vec<&str> = found.iter().map(|it| it.aqm.as_str()).collect();
        assert_eq!(names[2], "fifo");
        assert!(found[1].is_level && !found[2].is_level && found[0].behind.is_none());
        assert_eq!(found[0].wins + found[1].wins, 3);
        assert!(found[2].behind.unwrap().mean < -20.0);
    }
}
