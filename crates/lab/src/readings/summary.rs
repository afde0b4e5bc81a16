//! Results of a search of readings: those under which most claims hold, how often each claim holds, which settings
//! decide this, and which claims exclude each other. A reading is a combination of values for the settings (dimensions)
//! that the paper does not state; the first reading is that of the scenario files. The sampled readings are those of
//! the search's Latin hypercube sample. Printed checks of a claim are those whose bound or comparison the paper prints.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::bench::{Bench, ClaimScore};
use super::confirm::{self, Confirmed};
use super::search::Trial;
use super::space::{Reading, Space};
use crate::claims::grade::Checks;

/// Number of readings that are listed as the best. Readings that confirm further claims are added.
const BEST: usize = 5;
/// Largest number of conditions in a rule that says when a claim holds. A rule is a branch of a decision tree.
const DEPTH: usize = 2;
/// Fraction of the readings that each leaf of the decision tree must have at least.
const LEAF: f64 = 0.02;
/// A claim has a rule only if it holds under at least this number of sampled readings, and under as many not.
const POSITIVES: usize = 20;
/// Claims exclude each other if there is no reading under which all of them hold, although at least this number of such
/// readings would be expected if the claims were independent.
const EXPECTED: f64 = 5.0;
/// What the paper states of a claim says little if it holds under at least this share of the sample.
const CERTAIN: f64 = 0.99;
/// 97.5 % point of the normal distribution.
const Z: f64 = 1.959_964;

/// Results of a search: an entry in the JSON document of `forebay readings --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadingsSummary {
    /// Format version, 1.
    pub version: u32,
    /// Name of the paper.
    pub paper: String,
    /// Hash of the paper's files ([`Bench::fingerprint`]).
    pub files: String,
    /// Number of possible readings.
    pub size: u64,
    /// Number of different plausible readings tried: no value differs from what the paper prints.
    pub tried: usize,
    /// Number of further readings tried, with values that differ from what the paper prints.
    #[serde(default)]
    pub differing: usize,
    /// Number of readings in the Latin hypercube sample, in which values are as frequent as they are plausible.
    pub sampled: usize,
    /// Number of seeds with which each reading was simulated.
    pub seeds: u64,
    /// CPU time of all simulations, s.
    pub cpu_seconds: f64,
    /// Number of readings that were simulated again with fresh seeds, the first reading excluded.
    #[serde(default)]
    pub again: usize,
    /// The readings under which fresh seeds confirm most claims; without fresh seeds, under which most claims hold.
    pub best: Vec<BestReading>,
    /// How often each claim holds, and under which readings.
    pub claims: Vec<ClaimReadings>,
    /// Sets of claims that exclude each other: each claim holds under some reading, but there is no reading under which
    /// all claims of the set hold.
    pub conflicts: Vec<Vec<String>>,
    /// How much each dimension contributes to the variance of the distance of results from the claims, the largest
    /// first.
    pub sensitivity: Vec<Sensitivity>,
}

impl ReadingsSummary {
    /// Ids of the decidable claims that hold with fresh seeds under some listed plausible reading, and of those that do
    /// so only under readings that differ from what the paper prints. `None` if no reading was simulated again.
    pub fn confirmed(&self) -> Option<[Vec<&str>; 2]> {
        let some = |claim: &ClaimReadings, plausible: bool| {
            let best = self.best.iter().filter(|best| best.differs.is_empty() == plausible);
            best.filter_map(|best| best.confirmed.as_ref()).any(|confirmed| confirmed.holds(&claim.id))
        };
        let ids = |is: &dyn Fn(&ClaimReadings) -> bool| {
            self.claims.iter().filter(|claim| claim.decidable && is(claim)).map(|claim| claim.id.as_str()).collect()
        };
        let is_confirmed = self.best.iter().any(|best| best.confirmed.is_some());
        is_confirmed.then(|| [ids(&|it| some(it, true)), ids(&|it| some(it, false) && !some(it, true))])
    }

    /// Number of claims that runs can decide.
    pub fn decidable(&self) -> usize {
        self.claims.iter().filter(|claim| claim.decidable).count()
    }

    /// Number of decidable claims that hold under the first reading, with the seeds of the search.
    pub fn first(&self) -> usize {
        self.claims.iter().filter(|claim| claim.decidable && claim.first).count()
    }

    /// Largest number of decidable claims that hold with fresh seeds under one plausible reading.
    pub fn most_under_one(&self) -> usize {
        let plausible = self.best.iter().filter(|best| best.differs.is_empty());
        plausible.map(|best| self.confirmed_by(best)).max().unwrap_or(0)
    }

    /// Number of decidable claims that hold under this reading with fresh seeds.
    fn confirmed_by(&self, best: &BestReading) -> usize {
        let confirmed = best.confirmed.as_ref();
        let holds = |claim: &&ClaimReadings| claim.decidable && confirmed.is_some_and(|it| it.holds(&claim.id));
        self.claims.iter().filter(holds).count()
    }

    /// Ids of the claims of which what the paper states holds under at least 99 % of the sample.
    pub fn certain(&self) -> Vec<&str> {
        let certain = self.claims.iter().filter(|claim| claim.share_printed >= CERTAIN);
        certain.map(|claim| claim.id.as_str()).collect()
    }
}

/// A reading with its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestReading {
    /// The values that differ from the first reading.
    pub reading: String,
    /// The values that differ from the first reading, by dimension.
    pub settings: BTreeMap<String, String>,
    /// The settings whose value differs from what the paper prints, as `packet = 1000`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// Ids of the claims that hold.
    pub claims: Vec<String>,
    /// Ids of the claims of which every printed check holds, but not every check.
    pub directions: Vec<String>,
    /// Number of checks that hold.
    pub checks: usize,
    /// Distance of the results from the claims, 0 to 1.
    pub distance: f64,
    /// Results with seeds that the search did not use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
}

/// How often a claim holds under the sampled readings, and the conditions under which it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClaimReadings {
    /// Id of the claim.
    pub id: String,
    /// Whether runs can decide the claim ([`Bench::is_decidable`]).
    #[serde(default)]
    pub decidable: bool,
    /// Whether the claim holds under the first reading.
    pub first: bool,
    /// Fraction of the sampled readings under which the claim holds.
    pub share: f64,
    /// 95 % confidence interval of this fraction (Wilson).
    pub interval: [f64; 2],
    /// Number of plausible readings under which the claim holds, of all that were tried.
    pub found: usize,
    /// Number of further readings, which differ from what the paper prints, under which the claim holds.
    #[serde(default)]
    pub found_differing: usize,
    /// Fraction of the sampled readings under which every printed check of the claim holds.
    pub share_printed: f64,
    /// Number of plausible readings under which every printed check of the claim holds, of all that were tried.
    pub found_printed: usize,
    /// Numbers of checks of the claim under the plausible reading under which most of them hold.
    pub checks: Checks,
    /// The simplest rule that separates the readings under which the claim holds from the others; `None` if there is
    /// none.
    pub rule: Option<Rule>,
    /// How much each dimension contributes to the variance of the number of the claim's checks that hold, the largest
    /// first.
    pub sensitivity: Vec<Sensitivity>,
}

/// Conditions under which a claim holds. Only if the readings that were not used to find them confirm them: the 95 %
/// intervals of the two fractions must not overlap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The conditions, such as `min_rto in {1s, 2s} and ecn = on`.
    pub text: String,
    /// Fraction of the readings with these conditions under which the claim holds, of the half of the sample that was
    /// not used to find the conditions.
    pub holds: f64,
    /// Fraction of the readings without these conditions under which the claim holds, of the same half.
    pub otherwise: f64,
    /// Number of readings with these conditions, of the same half.
    pub readings: usize,
}

/// The first-order index of a dimension (Sobol 1993): the part of the variance of a result over the readings that the
/// dimension's value alone explains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// Name of the dimension.
    pub dimension: String,
    /// The index, 0 to 1, minus its expected value for a dimension without effect.
    pub index: f64,
}

/// The summary of `trials`, the tried readings with their results; `trials` begins with the first reading.
pub fn summary(
    bench: &Bench,
    paper: &str,
    seeds: u64,
    trials: &[Trial],
    confirmed: &[(Trial, Confirmed)],
) -> ReadingsSummary {
    let sampled: Vec<&Trial> = trials.iter().filter(|trial| trial.is_sampled).collect();
    let mut seen = BTreeSet::new();
    let distinct: Vec<&Trial> = trials.iter().filter(|trial| seen.insert(&trial.reading)).collect();
    let is_plausible = |trial: &&Trial| bench.space.is_plausible(&trial.reading);
    let (plausible, differing): (Vec<&Trial>, Vec<&Trial>) = distinct.iter().copied().partition(is_plausible);
    let of = |claim| {
        let found = differing.iter().filter(|trial| holds(trial, claim)).count();
        ClaimReadings { found_differing: found, ..of_claim(bench, claim, &plausible, &sampled) }
    };
    let claims = (0..bench.claims.len()).map(of).collect();
    let first = bench.space.first();
    ReadingsSummary {
        version: 1,
        paper: paper.to_string(),
        files: String::new(),
        size: bench.space.size(),
        tried: plausible.len(),
        differing: differing.len(),
        sampled: sampled.len(),
        seeds,
        cpu_seconds: distinct.iter().map(|trial| trial.cpu_s).sum::<f64>()
            + confirmed.iter().map(|(_, confirmed)| confirmed.cpu_s).sum::<f64>(),
        again: confirmed.iter().filter(|(trial, _)| trial.reading != first).count(),
        best: listed(bench, trials, confirmed),
        claims,
        conflicts: conflicts(bench, &sampled),
        sensitivity: sensitivity(&bench.space, &sampled, |trial| trial.distance),
    }
}

/// The confirmed readings, plausible ones first, then those that confirm most claims. In addition to the first [`BEST`],
/// the list has for every claim the first reading that confirms it, and the first that confirms every check that the paper prints. Without
/// confirmed readings: the readings under which most claims hold.
fn listed(bench: &Bench, trials: &[Trial], confirmed: &[(Trial, Confirmed)]) -> Vec<BestReading> {
    if confirmed.is_empty() {
        return confirm::best(bench, trials).into_iter().map(|trial| described(bench, trial, None)).collect();
    }
    let ids =
        || (0..bench.claims.len()).filter(|claim| bench.is_decidable(*claim)).map(|claim| &bench.claims[claim].id);
    let count = |it: &Confirmed| ids().filter(|id| it.holds(id)).count();
    let mut order: Vec<&(Trial, Confirmed)> = confirmed.iter().collect();
    let agrees = |trial: &Trial| bench.space.is_plausible(&trial.reading);
    order.sort_by(|(a, a_confirmed), (b, b_confirmed)| {
        let by_print = agrees(b).cmp(&agrees(a));
        by_print.then(count(b_confirmed).cmp(&count(a_confirmed))).then(a.distance.total_cmp(&b.distance))
    });
    let mut kept: Vec<usize> = (0..order.len().min(BEST)).collect();
    for serves in [Confirmed::holds, Confirmed::printed_holds] {
        kept.extend(ids().filter_map(|id| order.iter().position(|(_, confirmed)| serves(confirmed, id))));
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|at| described(bench, &order[at].0, Some(order[at].1.clone()))).collect()
}

fn described(bench: &Bench, trial: &Trial, confirmed: Option<Confirmed>) -> BestReading {
    let which = |serves: &dyn Fn(&ClaimScore) -> bool| {
        let all = bench.claims.iter().zip(&trial.scores).filter(|(_, score)| serves(score));
        all.map(|(claim, _)| claim.id.clone()).collect()
    };
    BestReading {
        reading: bench.space.short(&trial.reading),
        settings: bench.space.changed(&trial.reading),
        differs: bench.space.differing(&trial.reading),
        claims: which(&ClaimScore::holds),
        directions: which(&|score| !score.holds() && score.checks.printed_hold()),
        checks: trial.checks(),
        distance: trial.distance,
        confirmed,
    }
}

fn printed_hold(trial: &Trial, claim: usize) -> bool {
    trial.scores.get(claim).is_some_and(|score| score.checks.printed_hold())
}

fn holds(trial: &Trial, claim: usize) -> bool {
    trial.scores.get(claim).is_some_and(ClaimScore::holds)
}

fn of_claim(bench: &Bench, claim: usize, trials: &[&Trial], sampled: &[&Trial]) -> ClaimReadings {
    let groups: Vec<Vec<f64>> = groups(&bench.space, sampled)
        .map(|group| group.iter().map(|trial| f64::from(u8::from(holds(trial, claim)))).collect())
        .collect();
    let held = groups.iter().flatten().sum::<f64>();
    let checks = trials.iter().filter_map(|trial| trial.scores.get(claim)).map(|score| score.checks);
    let part = |trial: &Trial| {
        trial.scores.get(claim).map_or(0.0, |score| score.checks.held as f64 / score.checks.asked.max(1) as f64)
    };
    ClaimReadings {
        id: bench.claims[claim].id.clone(),
        decidable: bench.is_decidable(claim),
        first: trials.first().is_some_and(|trial| holds(trial, claim)),
        share: held / sampled.len().max(1) as f64,
        interval: wilson(held / sampled.len().max(1) as f64, independent(&groups)),
        found: trials.iter().filter(|trial| holds(trial, claim)).count(),
        found_differing: 0,
        share_printed: sampled.iter().filter(|trial| printed_hold(trial, claim)).count() as f64
            / sampled.len().max(1) as f64,
        found_printed: trials.iter().filter(|trial| printed_hold(trial, claim)).count(),
        checks: checks.max_by_key(|checks| checks.held).unwrap_or_default(),
        rule: rule(&bench.space, sampled, |trial| holds(trial, claim)),
        sensitivity: sensitivity(&bench.space, sampled, part),
    }
}

/// The groups of sampled readings in succession that share the runs of some disciplines ([`Space::latin`]).
fn groups<'a>(space: &'a Space, sampled: &'a [&Trial]) -> impl Iterator<Item = &'a [&'a Trial]> {
    sampled.chunk_by(|a, b| space.is_same_group(&a.reading, &b.reading))
}

/// The number of independent readings that would give the fraction under which a claim holds with the same variance as
/// these readings, which are not independent within a group: the number of readings divided by the design effect (Kish
/// 1965). `groups` has 1 for a reading under which the claim holds, and 0 for another. The result is at least the
/// number of groups, and at most the number of readings.
fn independent(groups: &[Vec<f64>]) -> f64 {
    let n = groups.iter().map(Vec::len).sum::<usize>() as f64;
    let count = groups.len() as f64;
    let p = groups.iter().flatten().sum::<f64>() / n.max(1.0);
    // The variance of the share as a ratio estimator, from the differences between the groups.
    let spread = groups.iter().map(|group| (group.iter().sum::<f64>() - p * group.len() as f64).powi(2)).sum::<f64>();
    let variance = spread / (n * n) * count / (count - 1.0);
    let found = p * (1.0 - p) / variance;
    // NaN: the claim holds always or never, which says nothing about the differences between the groups.
    if found.is_nan() { count } else { found.clamp(count, n) }
}

/// The 95 % confidence interval of a fraction `p` of `n` independent readings (Wilson 1927).
fn wilson(p: f64, n: f64) -> [f64; 2] {
    if n == 0.0 {
        return [0.0, 1.0];
    }
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    // Without rounding errors, the bounds of 0 and 1 are exact.
    [if p == 0.0 { 0.0 } else { (centre - half).max(0.0) }, if p == 1.0 { 1.0 } else { (centre + half).min(1.0) }]
}

/// A condition of a rule: the indices of the values of one dimension that satisfy it.
#[derive(Clone, PartialEq, Debug)]
struct Condition {
    dimension: usize,
    accepted: Vec<usize>,
}

impl Condition {
    fn accepts(&self, reading: &Reading) -> bool {
        self.accepted.contains(&reading.0[self.dimension])
    }

    fn words(&self, space: &Space) -> String {
        let dimension = &space.dimensions[self.dimension];
        let values: Vec<&str> = self.accepted.iter().map(|at| dimension.values[*at].as_str()).collect();
        match values.as_slice() {
            [only] => format!("{} = {only}", dimension.name),
            several => format!("{} in {{{}}}", dimension.name, several.join(", ")),
        }
    }
}

/// The simplest conditions under which a claim holds: the branch of a decision tree (CART, Breiman and others 1984)
/// with up to two conditions that has the largest gain of Youden's index. Every second group of the sample decides the
/// conditions, the others say how often the claim holds with and without them. `None` if the claim holds, or does not
/// hold, under fewer than [`POSITIVES`] sampled readings, or if no condition separates the readings under which it holds
/// from the others.
fn rule(space: &Space, sample: &[&Trial], holds: impl Fn(&Trial) -> bool) -> Option<Rule> {
    let held = sample.iter().filter(|trial| holds(trial)).count();
    if held.min(sample.len() - held) < POSITIVES {
        return None;
    }
    let half = |odd: usize| -> Vec<&Trial> {
        groups(space, sample)
            .enumerate()
            .filter(|(at, _)| at % 2 == odd)
            .flat_map(|(_, group)| group.to_vec())
            .collect()
    };
    let (sampled, others) = (half(0), half(1));
    let outcomes: Vec<bool> = sampled.iter().map(|trial| holds(trial)).collect();
    let all = outcomes.iter().filter(|held| **held).count();
    if all == 0 || all == sampled.len() {
        return None;
    }
    let least = ((sampled.len() as f64 * LEAF).ceil() as usize).max(2);
    let mut conditions: Vec<Condition> = Vec::new();
    let mut quality = 0.0;
    for _ in 0..DEPTH {
        let inside: Vec<usize> = (0..sampled.len())
            .filter(|at| conditions.iter().all(|condition| condition.accepts(&sampled[*at].reading)))
            .collect();
        let mut better: Option<(f64, Condition)> = None;
        for dimension in (0..space.dimensions.len()).filter(|d| conditions.iter().all(|c| c.dimension != *d)) {
            // Values by the fraction of readings under which the claim holds: of two classes (it holds or not) the best
            // subset of values is a prefix of this order.
            let count = space.dimensions[dimension].values.len();
            let mut shares: Vec<(usize, f64)> = (0..count)
                .filter_map(|value| {
                    let here: Vec<usize> =
                        inside.iter().copied().filter(|at| sampled[*at].reading.0[dimension] == value).collect();
                    let held = here.iter().filter(|at| outcomes[**at]).count();
                    (!here.is_empty()).then(|| (value, held as f64 / here.len() as f64))
                })
                .collect();
            shares.sort_by(|a, b| b.1.total_cmp(&a.1));
            for prefix in 1..shares.len() {
                let mut accepted: Vec<usize> = shares[..prefix].iter().map(|(value, _)| *value).collect();
                accepted.sort_unstable();
                let condition = Condition { dimension, accepted };
                let chosen: Vec<usize> =
                    inside.iter().copied().filter(|at| condition.accepts(&sampled[*at].reading)).collect();
                if chosen.len() < least {
                    continue;
                }
                let held = chosen.iter().filter(|at| outcomes[**at]).count();
                let found = held as f64 / all as f64;
                let wrong = (chosen.len() - held) as f64 / (sampled.len() - all) as f64;
                let youden = found - wrong;
                if better.as_ref().is_none_or(|(known, _)| youden > *known) {
                    better = Some((youden, condition));
                }
            }
        }
        match better {
            // A further condition has to separate clearly better.
            Some((youden, condition)) if youden > quality + 0.05 => {
                quality = youden;
                conditions.push(condition);
            }
            _ => break,
        }
    }
    if conditions.is_empty() {
        return None;
    }
    let is_inside = |trial: &Trial| conditions.iter().all(|condition| condition.accepts(&trial.reading));
    let of = |wanted: bool| {
        let here: Vec<&&Trial> = others.iter().filter(|trial| is_inside(trial) == wanted).collect();
        let held = here.iter().filter(|trial| holds(trial)).count();
        (held as f64 / here.len().max(1) as f64, here.len())
    };
    let ((holds, readings), (otherwise, rest)) = (of(true), of(false));
    if wilson(holds, readings as f64)[0] <= wilson(otherwise, rest as f64)[1] {
        return None;
    }
    let words: Vec<String> = conditions.iter().map(|condition| condition.words(space)).collect();
    Some(Rule { text: words.join(" and "), holds, otherwise, readings })
}

/// First-order indices of all dimensions for `value`, which gives a result of each sampled reading as a number; the
/// largest index first.
fn sensitivity(space: &Space, sampled: &[&Trial], value: impl Fn(&Trial) -> f64) -> Vec<Sensitivity> {
    let all: Vec<(&Reading, f64)> = sampled.iter().map(|trial| (&trial.reading, value(trial))).collect();
    // The readings of a group are not independent in the dimensions that they share: there the group counts as one.
    let means: Vec<(&Reading, f64)> = groups(space, sampled)
        .map(|group| (&group[0].reading, group.iter().map(|trial| value(trial)).sum::<f64>() / group.len() as f64))
        .collect();
    let index = |dimension: usize| {
        let is_common = space.dimensions[dimension].is_common();
        let index = omega_squared(dimension, if is_common { &means } else { &all });
        let of_all = if is_common { variance(&means) / variance(&all) } else { 1.0 };
        if (index * of_all).is_finite() { (index * of_all).max(0.0) } else { 0.0 }
    };
    let mut all: Vec<Sensitivity> = (0..space.dimensions.len())
        .map(|at| Sensitivity { dimension: space.dimensions[at].name.clone(), index: index(at) })
        .collect();
    all.sort_by(|a, b| b.index.total_cmp(&a.index));
    all
}

fn variance(values: &[(&Reading, f64)]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().map(|(_, y)| y).sum::<f64>() / n;
    values.iter().map(|(_, y)| (y - mean).powi(2)).sum::<f64>() / n
}

/// Omega squared: the part of the variance of the numbers in `values` that the value of a dimension explains, less the
/// part that would be expected by chance.
fn omega_squared(dimension: usize, values: &[(&Reading, f64)]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().map(|(_, y)| y).sum::<f64>() / n;
    let mut levels: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (reading, y) in values {
        let (count, sum) = levels.entry(reading.0[dimension]).or_default();
        (*count, *sum) = (*count + 1.0, *sum + y);
    }
    let between = levels.values().map(|(count, sum)| count * (sum / count - mean).powi(2)).sum::<f64>();
    let (total, free) = (n * variance(values), levels.len() as f64 - 1.0);
    let within = (total - between) / (n - free - 1.0).max(1.0);
    (between - free * within) / (total + within)
}

/// Sets of two or three decidable claims that exclude each other in the sample: each claim holds under some readings,
/// all claims of the set hold under none, and at least [`EXPECTED`] readings with all of them would be expected if the
/// claims were independent. A set of three that contains such a pair is left out.
fn conflicts(bench: &Bench, trials: &[&Trial]) -> Vec<Vec<String>> {
    let count =
        |claims: &[usize]| trials.iter().filter(|trial| claims.iter().all(|claim| holds(trial, *claim))).count();
    let n = trials.len() as f64;
    let alone: Vec<f64> = (0..bench.claims.len()).map(|claim| count(&[claim]) as f64 / n).collect();
    let excludes = |claims: &[usize]| {
        let expected = claims.iter().map(|claim| alone[*claim]).product::<f64>() * n;
        expected >= EXPECTED && count(claims) == 0
    };
    let all: Vec<usize> = (0..bench.claims.len()).filter(|claim| bench.is_decidable(*claim)).collect();
    let after = |claim: usize| all.iter().copied().filter(move |other| *other > claim);
    let mut found: Vec<Vec<usize>> = Vec::new();
    let pairs = all.iter().flat_map(|a| after(*a).map(move |b| vec![*a, b]));
    found.extend(pairs.filter(|pair| excludes(pair)));
    let triples = all.iter().flat_map(|a| after(*a).flat_map(move |b| after(b).map(move |c| vec![*a, b, c])));
    let has_pair =
        |triple: &[usize], pairs: &[Vec<usize>]| pairs.iter().any(|pair| pair.iter().all(|it| triple.contains(it)));
    let known = found.clone();
    found.extend(triples.filter(|triple| !has_pair(triple, &known) && excludes(triple)));
    let ids = |set: Vec<usize>| set.into_iter().map(|claim| bench.claims[claim].id.clone()).collect();
    found.into_iter().map(ids).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::grade::Checks;

    const SPACE: &str = r#"
        version = 1
        paper = "p"
        [[dimension]]
        name = "tcp"
        words = "not named"
        source = "ours"
        values = ["reno", "newreno", "sack"]
        first = "reno"
        set = ["flows.*.tcp"]
        [[dimension]]
        name = "ecn"
        words = "not named"
        source = "ours"
        values = ["off", "on"]
        first = "off"
        set = ["flows.*.ecn"]
        [[dimension]]
        name = "other"
        words = "not named"
        source = "ours"
        values = ["a", "b", "c"]
        first = "a"
        set = ["x"]
    "#;

    /// All 18 possible readings, ten times each, five times in each half of the sample. `holds` decides which claims hold
    /// under a reading.
    fn trials(holds: impl Fn(&[usize]) -> bool) -> Vec<Trial> {
        let readings = (0..180).map(|n| (n + n / 18) % 18).map(|n| vec![n % 3, n / 3 % 2, n / 6 % 3]);
        let score = |held: bool| ClaimScore {
            checks: Checks { held: usize::from(held), asked: 1, ..Checks::default() },
            miss: f64::from(u8::from(!held)),
            ..ClaimScore::default()
        };
        readings
            .map(|at| {
                let scores = vec![score(holds(&at))];
                Trial { is_sampled: true, scores, reading: Reading(at), cpu_s: 0.0, distance: 0.0, held: 0 }
            })
            .collect()
    }

    fn found(holds: impl Fn(&[usize]) -> bool) -> (Option<Rule>, Vec<Sensitivity>) {
        let (space, trials) = (Space::parse(SPACE).unwrap(), trials(holds));
        let sampled: Vec<&Trial> = trials.iter().collect();
        let holds = |trial: &Trial| trial.scores[0].holds();
        (rule(&space, &sampled, holds), sensitivity(&space, &sampled, |trial| f64::from(u8::from(holds(trial)))))
    }

    #[test]
    fn rule_names_settings_that_decide_whether_claim_holds() {
        let (rule, indices) = found(|at| at[0] > 0 && at[1] == 1);
        let rule = rule.unwrap();
        assert_eq!(rule.text, "ecn = on and tcp in {newreno, sack}");
        assert_eq!((rule.holds, rule.otherwise, rule.readings), (1.0, 0.0, 30));
        assert_eq!([&indices[0].dimension, &indices[1].dimension], ["ecn", "tcp"]);
        assert!(indices[2].index < 0.02, "{indices:?}");
        let (rule, indices) = found(|at| at[0] == 2);
        assert_eq!(rule.unwrap().text, "tcp = sack");
        assert!(indices[0].index > 0.99 && indices[1].index < 0.01, "{indices:?}");
        assert_eq!(found(|_| false).0, None);
    }

    #[test]
    fn wilson_interval_matches_published_values() {
        // Brown, Cai and DasGupta (2001): 0 of 10 gives 0 to 0.2775, 5 of 10 gives 0.2366 to 0.7634.
        let [lo, hi] = wilson(0.0, 10.0);
        assert!(lo == 0.0 && (hi - 0.2775).abs() < 1e-4, "{lo} {hi}");
        let [lo, hi] = wilson(0.5, 10.0);
        assert!((lo - 0.2366).abs() < 1e-4 && (hi - 0.7634).abs() < 1e-4, "{lo} {hi}");
    }

    /// Readings in a group share the runs of some disciplines, so they are not independent. If a claim holds under all
    /// or none of the readings of each group, a group counts as one independent reading.
    #[test]
    fn equal_readings_of_a_group_count_as_one() {
        let of = |groups: [[f64; 2]; 4]| independent(&groups.map(Vec::from));
        let (both, none, one) = ([1.0, 1.0], [0.0, 0.0], [1.0, 0.0]);
        assert_eq!(of([both, none, both, none]), 4.0);
        assert_eq!(of([one, one, one, one]), 8.0);
        // p = 1/2, the groups differ by (1, -1, 0, 0) from their expected sum 1: variance 2/64 * 4/3 = 1/24; 1/4 of it is 6.
        assert!((of([both, none, one, one]) - 6.0).abs() < 1e-9);
        assert_eq!(of([none; 4]), 4.0, "it never holds");
    }
}
