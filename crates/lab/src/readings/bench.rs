//! Scores readings: simulates the experiments of a paper under a reading and applies the checks of its claims. A check
//! compares a quantity of the runs with a bound. A reading is a combination of values for the settings (dimensions)
//! that the paper does not state. The first reading is that of the scenario files. A section is an experiment in
//! `claims.toml`: a scenario, the claims that its runs decide, and its point, the values of varied keys at which they
//! are decided. The axes of a scenario are the keys that vary.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use forebay_sim::network::BadNetwork;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::claims::grade::Checks;
use crate::claims::{By, Check, CheckResult, Claim, Outcome, Section, Verdict};
use crate::load;
use crate::readings::space::{AS_IS, Dimension, Reading, Source, Space};
use crate::reproduce::claim_file::{self, ClaimFile};
use crate::reproduce::judge::{self, Runs};
use crate::results::record::RunRecord;
use crate::run::plan::{Job, Plan, hex_hash};
use crate::scenario::{Case, Overrides, Scenario};

/// The result of a claim under a reading.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct ClaimScore {
    /// Numbers of checks: all, those that hold, and those whose bound or comparison the paper prints.
    pub checks: Checks,
    /// How far the claim is from holding: the mean over its checks of 0 for a check that holds, and 0.5 to 1 for one
    /// that does not, the more the further the measured value is from the bound.
    pub miss: f64,
    /// Smallest margin of a check ([`CheckResult::margin`]), -1 to 1.
    pub margin: f64,
    /// Smallest margin of a check whose bound or comparison the paper prints, -1 to 1; 1 if there is none.
    pub margin_printed: f64,
}

impl ClaimScore {
    fn of(results: &[CheckResult]) -> Self {
        let holds = |result: &CheckResult| result.outcome == Outcome::Holds;
        let miss = |result: &CheckResult| if holds(result) { 0.0 } else { 0.5 + 0.5 * (-result.margin).max(0.0) };
        let miss = results.iter().map(miss).sum::<f64>() / results.len().max(1) as f64;
        let smallest =
            |all: &mut dyn Iterator<Item = &CheckResult>| all.map(|result| result.margin).fold(1.0, f64::min);
        let margin_printed = smallest(&mut results.iter().filter(|result| result.by == By::Printed));
        Self { checks: Checks::of(results), miss, margin: smallest(&mut results.iter()), margin_printed }
    }

    /// Whether every check holds.
    pub const fn holds(&self) -> bool {
        self.checks.all_hold()
    }
}

/// The verdict on a claim under a reading.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// Id of the claim.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Numbers of checks: all, those that hold, and those whose bound or comparison the paper prints.
    pub checks: Checks,
}

/// A scenario with the sections that use it.
struct Experiment {
    name: String,
    text: String,
    /// Each section, with the indices of its claims in [`Bench::claims`].
    sections: Vec<(Section, Vec<usize>)>,
    /// The contenders (compared disciplines) that checks refer to: label, and the discipline as the scenario writes it.
    contenders: Vec<(String, String)>,
    /// For each dimension, the changes that this scenario accepts, each a path of a key or `PATH=VALUE`. The first text
    /// of a pair is as `readings.toml` has it; the second has the name of a group of flows in place of `*`.
    paths: Vec<Vec<(String, String)>>,
    /// Arguments of `--set` that leave out those values of the keys that the scenario varies that no check uses.
    fixed: Vec<String>,
    /// The measured time of the scenario file: end of the warm-up and end of the run, s.
    measured: [f64; 2],
}

/// The experiments of a paper.
pub struct Bench {
    /// The settings that the paper does not state, with their candidate values.
    pub space: Space,
    /// The paper's claims that have checks of runs. Checks that were written only after the claim's first simulation
    /// (key `added` of `claims.toml`) count like the others; those that ask for more than the paper says (key
    /// `superseded`) are left out.
    pub claims: Vec<Claim>,
    experiments: Vec<Experiment>,
    /// Results of runs, by the hash that identifies a run ([`key`]). Readings that differ only in the settings of one
    /// discipline share the runs of the other disciplines.
    known: Mutex<BTreeMap<String, RunRecord>>,
}

/// Largest number of runs whose results are kept in memory, about 0.2 GB. When there are more, all are deleted from
/// memory.
const MAX_RUNS: usize = 4000;

impl Bench {
    /// Reads the files of a paper: the texts of `claims.toml`, of the scenarios by name, and of `readings.toml`.
    ///
    /// # Errors
    /// A file is invalid, or a dimension changes nothing in any scenario.
    pub fn new(claims: &str, scenarios: &[(&str, &str)], readings: &str) -> Result<Self, String> {
        let space = Space::parse(readings)?;
        let ClaimFile { sections, claims, .. } = claim_file::parse(claims)?;
        let mut claims = claims;
        for claim in &mut claims {
            claim.checks.retain(|check| !check.superseded);
            claim.checks.iter_mut().for_each(|check| check.added = false);
        }
        claims.retain(|claim| !claim.checks.is_empty());
        let mut experiments: Vec<Experiment> = Vec::new();
        for section in sections {
            let numbers: Vec<usize> = (0..claims.len()).filter(|claim| claims[*claim].section == section.id).collect();
            let Some(name) = section.scenario.clone().filter(|_| !numbers.is_empty()) else { continue };
            let named = contenders(&section, numbers.iter().map(|claim| &claims[*claim]));
            let at = match experiments.iter().position(|experiment| experiment.name == name) {
                Some(at) => at,
                None => {
                    let text = scenarios.iter().find(|(known, _)| *known == name);
                    let text = text.ok_or_else(|| format!("there is no scenario '{name}'"))?.1.to_string();
                    let (sections, contenders, paths, fixed, measured) = Default::default();
                    experiments.push(Experiment { name, text, sections, contenders, paths, fixed, measured });
                    experiments.len() - 1
                }
            };
            let experiment = &mut experiments[at];
            experiment.sections.push((section, numbers));
            for label in named {
                if experiment.contenders.iter().all(|(known, _)| *known != label) {
                    let discipline = discipline(&experiment.text, &label)?;
                    experiment.contenders.push((label, discipline));
                }
            }
        }
        for experiment in &mut experiments {
            experiment.fixed = fixed(&experiment.sections, &claims);
            experiment.measured = measured(&parsed(experiment, Vec::new())?);
        }
        find_paths(&space, &mut experiments)?;
        Ok(Self { space, claims, experiments, known: Mutex::default() })
    }

    /// Whether runs can decide the claim with this index: the paper does not contradict it, no data of the paper that it
    /// needs are lost, and not every discipline would meet it. Other claims do not count when readings are compared.
    pub fn is_decidable(&self, claim: usize) -> bool {
        let Claim { contradicted, undecidable, vacuous, .. } = &self.claims[claim];
        contradicted.is_none() && undecidable.is_none() && vacuous.is_none()
    }

    /// Simulated seconds of all runs of one reading with one seed.
    pub fn simulated_s(&self) -> Result<f64, String> {
        let first = self.space.first();
        self.experiments.iter().map(|experiment| Ok(self.plan(experiment, &first, 1, 1)?.simulated_s())).sum()
    }

    /// Hash of what the results depend on: scenarios, sections, checks and dimensions. Comments and explanations in the
    /// files do not change it.
    pub fn fingerprint(&self) -> Result<String, String> {
        let mut text = String::new();
        for experiment in &self.experiments {
            let scenario: toml::Table = toml::from_str(&experiment.text).map_err(|error| error.to_string())?;
            text += &format!("{}\n{scenario}\n", experiment.name);
            for (section, numbers) in &experiment.sections {
                text += &format!("{} {} {:?}\n", section.id, section.subject, section.point);
                for claim in numbers.iter().map(|number| &self.claims[*number]) {
                    let checks = claim.checks.iter().map(|check| Check { what: String::new(), ..check.clone() });
                    // A later key that a check does not use leaves the hash of earlier searches as it was.
                    text += &format!("{} {:?}\n", claim.id, checks.collect::<Vec<_>>()).replace(" plus: {},", "");
                }
            }
        }
        for dimension in &self.space.dimensions {
            let unexplained =
                Dimension { words: String::new(), source: Source::Ours, added: false, ..dimension.clone() };
            text += &format!("{unexplained:?}\n").replace(" term: {},", "");
        }
        Ok(hex_hash(text))
    }

    /// Verifies that every scenario is valid under a reading, and has the runs that the claims' checks use.
    ///
    /// # Errors
    /// The reading makes a scenario invalid, or a check has no runs.
    pub fn check(&self, reading: &Reading) -> Result<(), String> {
        for experiment in &self.experiments {
            let plan = self.plan(experiment, reading, 1, 1)?;
            for (section, claims) in self.sections(experiment, reading) {
                let runs = Runs::new(&plan, &[], true).at(&section.point);
                let mut checks = claims.iter().flat_map(|claim| &self.claims[*claim].checks);
                if let Some(check) = checks.find(|check| !runs.has_points_of(check)) {
                    return Err(format!("{}: no runs for the check '{}'", experiment.name, check.what));
                }
            }
        }
        Ok(())
    }

    /// Where scenarios under the first reading differ from the scenario files: the name of the experiment, and the
    /// first line that differs in both versions. Empty if `first` of every dimension is what the files have.
    pub fn differences_of_first(&self) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        for experiment in &self.experiments {
            let listed = |words: Vec<&String>| serde_json::to_string(&words).unwrap_or_default();
            let (labels, disciplines) = experiment.contenders.iter().map(|(label, written)| (label, written)).unzip();
            let compare =
                [format!("compare.aqm={}", listed(disciplines)), format!("compare.labels={}", listed(labels))];
            let sets = experiment.fixed.iter().cloned().chain(compare).collect();
            let plain = Plan::new(parsed(experiment, sets)?, 1, 1);
            let first = self.plan(experiment, &self.space.first(), 1, 1)?;
            for (a, b) in plain.cases.iter().zip(&first.cases) {
                let (a, b) = (a.scenario.to_toml(), b.scenario.to_toml());
                let other = a.lines().zip(b.lines()).find(|(a, b)| a != b);
                found.extend(other.map(|(a, b)| format!("{}: {a} / {b}", experiment.name)));
            }
        }
        Ok(found)
    }

    /// The results of the claims under a reading with `seeds` seeds from number `from` on, in the order of
    /// [`Bench::claims`], and the CPU time of the simulations, s. A check holds if the mean over the seeds is within its
    /// bound.
    ///
    /// # Errors
    /// The reading makes a scenario invalid.
    pub fn score(&self, reading: &Reading, from: u64, seeds: u64) -> Result<(Vec<ClaimScore>, f64), String> {
        let mut scores = vec![ClaimScore::default(); self.claims.len()];
        let mut cpu_s = 0.0;
        for experiment in &self.experiments {
            let plan = self.plan(experiment, reading, from, seeds)?;
            let mut records: Vec<RunRecord> = Vec::new();
            for job in plan.jobs() {
                let record = self.run(&plan, job, &mut cpu_s);
                records.extend(record.map_err(|error| format!("{}: {error}", experiment.name))?);
            }
            for (claim, results) in self.of_experiment(experiment, reading, &plan, &records, true)? {
                scores[claim] = ClaimScore::of(&results);
            }
        }
        Ok((scores, cpu_s))
    }

    /// The record of a run of `plan`, simulated unless an earlier reading had the same run. Adds the CPU time of the
    /// simulation to `cpu_s`.
    fn run(&self, plan: &Plan, job: Job, cpu_s: &mut f64) -> Result<Option<RunRecord>, BadNetwork> {
        let key = key(plan, job);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = known().get(&key) {
            return Ok(Some(record.clone()));
        }
        let record = plan.run(job, &mut ())?;
        *cpu_s += record.as_ref().map_or(0.0, |record| record.summary.cpu_seconds);
        let mut known = known();
        if known.len() >= MAX_RUNS {
            known.clear();
        }
        known.extend(record.clone().map(|record| (key, record)));
        Ok(record)
    }

    /// The verdict on each claim under a reading with `seeds` seeds from number `from` on, decided by confidence
    /// intervals, and the CPU time of the simulations, s. `None` if `stop` was set. `progress` is called with the
    /// simulated seconds of each finished run.
    ///
    /// # Errors
    /// The reading makes a scenario invalid.
    pub fn confirm(
        &self,
        reading: &Reading,
        from: u64,
        seeds: u64,
        stop: &AtomicBool,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Option<(Vec<ClaimVerdict>, f64)>, String> {
        let mut verdicts: Vec<Option<ClaimVerdict>> = vec![None; self.claims.len()];
        let mut cpu_s = 0.0;
        for experiment in &self.experiments {
            let plan = self.plan(experiment, reading, from, seeds)?;
            let one = |job: &Job| {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let record = plan.run(*job, &mut ()).map_err(|error| format!("{}: {error}", experiment.name))?;
                progress(plan.cases[job.case].scenario.duration.secs());
                Ok(record)
            };
            let records: Result<Option<Vec<RunRecord>>, String> =
                plan.jobs().par_iter().map(one).collect::<Result<Vec<_>, _>>().map(|all| all.into_iter().collect());
            let Some(records) = records? else { return Ok(None) };
            cpu_s += records.iter().map(|record| record.summary.cpu_seconds).sum::<f64>();
            for (claim, results) in self.of_experiment(experiment, reading, &plan, &records, false)? {
                let (id, verdict) = (self.claims[claim].id.clone(), judge::verdict(&results));
                verdicts[claim] = Some(ClaimVerdict { id, verdict, checks: Checks::of(&results) });
            }
        }
        Ok(Some((verdicts.into_iter().flatten().collect(), cpu_s)))
    }

    /// The index of each claim of an experiment, with the results of its checks.
    fn of_experiment(
        &self,
        experiment: &Experiment,
        reading: &Reading,
        plan: &Plan,
        records: &[RunRecord],
        provisional: bool,
    ) -> Result<Vec<(usize, Vec<CheckResult>)>, String> {
        let mut all = Vec::new();
        let measured = [experiment.measured, measured(&plan.cases)];
        for (section, claims) in &self.sections(experiment, reading) {
            let runs = Runs::new(plan, records, provisional).at(&section.point);
            for claim in claims {
                let claim_of = &self.claims[*claim];
                let checks = claim_of.checks.iter().map(|check| self.under(check, reading, measured));
                let answers = checks.map(|check| runs.answer(&check, &section.subject));
                let results: Result<Vec<_>, String> = answers.collect();
                let results = results.map_err(|error| format!("{}: {error}", claim_of.id))?;
                all.push((*claim, results.into_iter().flatten().collect()));
            }
        }
        Ok(all)
    }

    /// The check as a reading changes it: terms are replaced (key `term`), and spans of time are adapted ([`with_spans`]).
    /// `measured`: the measured time of the scenario file, then that of the reading.
    fn under(&self, check: &Check, reading: &Reading, measured: [[f64; 2]; 2]) -> Check {
        let replaced = |mut quantity: String| {
            for (dimension, at) in self.space.dimensions.iter().zip(&reading.0) {
                let value = &dimension.values[*at];
                if let Some(window) = dimension.window.as_ref().filter(|_| value != AS_IS) {
                    quantity = quantity.replace(&format!("@{window}"), &format!("@{value}"));
                }
                if let Some((from, to)) = dimension.term.get(value) {
                    quantity = quantity.replace(from, to);
                }
            }
            with_spans(&quantity, measured)
        };
        let quantity = replaced(check.quantity.clone());
        Check { quantity, against: check.against.clone().map(replaced), ..check.clone() }
    }

    /// The sections that use the experiment's scenario, with the indices of their claims. A reading can change the
    /// point of a section, the values of the axes at which its claims are decided. If a dimension sets a key that is an
    /// axis of the scenario, its value is that of the point.
    fn sections(&self, experiment: &Experiment, reading: &Reading) -> Vec<(Section, Vec<usize>)> {
        let mut sections = experiment.sections.clone();
        for (dimension, at) in self.space.dimensions.iter().zip(&reading.0) {
            let value = &dimension.values[*at];
            let points = dimension.point.get(value);
            for (section, _) in &mut sections {
                section.point.extend(points.and_then(|points| points.get(&section.id)).cloned().unwrap_or_default());
                for axis in dimension.set.iter().filter(|_| value != AS_IS) {
                    section.point.entry(axis.clone()).and_modify(|own| own.clone_from(value));
                }
            }
        }
        sections
    }

    /// The runs of an experiment under a reading, with `seeds` seeds from number `from` on.
    fn plan(&self, experiment: &Experiment, reading: &Reading, from: u64, seeds: u64) -> Result<Plan, String> {
        let mut sets = fixed(&self.sections(experiment, reading), &self.claims);
        let mut parameters: Vec<(&str, &str)> = Vec::new();
        for ((dimension, at), paths) in self.space.dimensions.iter().zip(&reading.0).zip(&experiment.paths) {
            let value = dimension.values[*at].as_str();
            if value == AS_IS {
                continue;
            }
            if let Some(means) = dimension.means.get(value) {
                for change in means {
                    match change.strip_prefix("aqm ").and_then(|rest| rest.split_once('=')) {
                        Some(parameter) => parameters.push(parameter),
                        None => sets.extend(paths.iter().filter(|it| it.0 == *change).map(|it| it.1.clone())),
                    }
                }
                continue;
            }
            let is_axis =
                |path: &String| experiment.sections.iter().any(|(section, _)| section.point.contains_key(path));
            let keys = paths.iter().map(|it| &it.1).filter(|path| !path.contains('=') && !is_axis(path));
            sets.extend(keys.map(|path| format!("{path}={value}")));
            parameters.extend(dimension.parameter.iter().map(|parameter| (parameter.as_str(), value)));
        }
        let written = |(_, contender): &(String, String)| {
            // Complete parameters of this contender (`{NAME}` in place of `name=value`) come from an axis of the
            // scenario. The reading does not change them.
            if contender.split(' ').any(|word| word.starts_with('{')) {
                return contender.clone();
            }
            let of = parameters.iter().filter_map(|(name, value)| {
                let (discipline, key) = name.split_once('.')?;
                (contender.split(' ').next() == Some(discipline)).then_some((key, *value))
            });
            of.fold(contender.clone(), |text, (key, value)| with_parameter(&text, key, value))
        };
        let listed = |words: Vec<String>| serde_json::to_string(&words).unwrap_or_default();
        let labels = experiment.contenders.iter().map(|(label, _)| label.clone());
        sets.push(format!("compare.aqm={}", listed(experiment.contenders.iter().map(written).collect())));
        sets.push(format!("compare.labels={}", listed(labels.collect())));
        Ok(Plan::new(parsed(experiment, sets)?, from, seeds))
    }
}

/// Identifies a run: hash of the scenario without the other contenders, and seed.
fn key(plan: &Plan, job: Job) -> String {
    let case = &plan.cases[job.case];
    let contender = &case.scenario.compare[job.contender];
    let alone = Scenario { compare: vec![contender.clone()], ..case.scenario.clone() };
    hex_hash(format!("{}\n{:?}\n{}", alone.runs_to_toml(), case.axes, job.seed))
}

fn parsed(experiment: &Experiment, sets: Vec<String>) -> Result<Vec<Case>, String> {
    let overrides = Overrides { sets, ..Overrides::default() };
    load::parse(&experiment.name, &experiment.text, &overrides).map_err(|error| format!("{}: {error}", experiment.name))
}

/// The measured time of a scenario: end of the warm-up and end of the run, s.
fn measured(cases: &[Case]) -> [f64; 2] {
    let of = |case: &Case| [case.scenario.warmup.secs(), case.scenario.duration.secs()];
    cases.first().map_or([0.0; 2], of)
}

/// Adapts the spans of time (`@20..200`) of a quantity to a reading. A span that begins at the end of the scenario file's
/// warm-up then begins at the end of the reading's warm-up. A span that ends with the file's run then ends with the
/// reading's run. Other spans stay as they are. `stated` and `own` are the measured times, s, of the file and of the reading.
fn with_spans(quantity: &str, [stated, own]: [[f64; 2]; 2]) -> String {
    let mut parts = quantity.split('@');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|char: char| char != '.' && !char.is_ascii_digit()).unwrap_or(part.len());
        let (span, rest) = part.split_at(end);
        let times = span.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let Some((a, b)): Option<(f64, f64)> = times else {
            text += &format!("@{part}");
            continue;
        };
        let [a, b] = [if a == stated[0] { own[0] } else { a }, if b == stated[1] { own[1] } else { b }];
        text += &format!("@{a}..{b}{rest}");
    }
    text
}

/// The discipline with this label in the comparison of a scenario, as the scenario writes it.
fn discipline(scenario: &str, label: &str) -> Result<String, String> {
    let table: toml::Table = toml::from_str(scenario).map_err(|error| error.to_string())?;
    let words = |key: &str| -> Vec<String> {
        let list = table.get("compare").and_then(|compare| compare.get(key)).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_string).collect()
    };
    let (disciplines, mut labels) = (words("aqm"), words("labels"));
    if disciplines.is_empty() {
        // The label is the discipline of the bottleneck.
        return Ok(label.to_string());
    }
    if labels.is_empty() {
        labels.clone_from(&disciplines);
    }
    let at = labels.iter().position(|known| known == label);
    let found = at.and_then(|at| disciplines.get(at)).cloned();
    found.ok_or_else(|| format!("the scenario does not compare '{label}'"))
}

/// The discipline `contender` with this parameter in place of any other value of the parameter.
fn with_parameter(contender: &str, key: &str, value: &str) -> String {
    let is_other = |word: &&str| word.split_once('=').is_none_or(|(known, _)| known != key);
    let words: Vec<&str> = contender.split(' ').filter(is_other).collect();
    format!("{} {key}={value}", words.join(" "))
}

/// The contenders that the claims of a section refer to, as the scenario writes them.
fn contenders<'a>(section: &Section, claims: impl Iterator<Item = &'a Claim>) -> BTreeSet<String> {
    let checks = claims.flat_map(|claim| &claim.checks);
    let named = checks.flat_map(|check| [check.of.as_deref(), check.other()]).flatten();
    named.filter(|name| *name != "subject").chain([section.subject.as_str()]).map(str::to_string).collect()
}

/// For each key that varies in the scenario and has a value in the point of every one of these sections, an argument of
/// `--set` with the values that the checks of the sections' claims use.
fn fixed(sections: &[(Section, Vec<usize>)], claims: &[Claim]) -> Vec<String> {
    let Some((first, _)) = sections.first() else { return Vec::new() };
    let is_fixed = |axis: &&String| sections.iter().all(|(section, _)| section.point.contains_key(*axis));
    let of_axis = |axis: &String| {
        let mut values: Vec<&String> = Vec::new();
        for (section, numbers) in sections {
            let checks = numbers.iter().flat_map(|claim| &claims[*claim].checks);
            let elsewhere = checks.flat_map(|check| [check.at_points.get(axis), check.there.get(axis)]).flatten();
            for value in section.point.get(axis).into_iter().chain(elsewhere) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        let literal = |value: &&String| match value.parse::<f64>() {
            Ok(_) => value.to_string(),
            Err(_) => format!("{value:?}"),
        };
        format!("vary.{axis}=[{}]", values.iter().map(literal).collect::<Vec<_>>().join(", "))
    };
    first.point.keys().filter(is_fixed).map(of_axis).collect()
}

/// Finds for each dimension which scenarios have the keys that it sets, and stores the paths of these keys in the
/// experiments.
fn find_paths(space: &Space, experiments: &mut [Experiment]) -> Result<(), String> {
    for dimension in &space.dimensions {
        let mut fault = None;
        let mut is_used = !dimension.parameter.is_empty() || dimension.window.is_some();
        let value = dimension.values.iter().find(|value| **value != AS_IS && !dimension.means.contains_key(*value));
        let changes: Vec<String> = (dimension.means.values().flatten())
            .filter(|change| !change.starts_with("aqm "))
            .cloned()
            .chain(dimension.set.iter().cloned())
            .collect();
        let of = |section: &Section| dimension.point.values().any(|points| points.contains_key(&section.id));
        is_used |= experiments.iter().any(|it| it.sections.iter().any(|(section, _)| of(section)));
        is_used |= dimension.means.values().flatten().any(|change| change.starts_with("aqm "));
        let mut scenarios = changes.iter().filter_map(|change| limited(change).0);
        if let Some(name) = scenarios.find(|name| experiments.iter().all(|it| it.name != *name)) {
            return Err(format!("dimension {}: the claims use no scenario '{name}'", dimension.name));
        }
        for experiment in experiments.iter_mut() {
            let mut found = Vec::new();
            for declared in &changes {
                for change in expanded(experiment, declared)? {
                    let set = match (change.contains('='), value) {
                        (true, _) => change.clone(),
                        (false, Some(value)) => format!("{change}={value}"),
                        (false, None) => continue,
                    };
                    let sets = experiment.fixed.iter().cloned().chain([set]).collect();
                    match parsed(experiment, sets) {
                        Ok(_) => found.push((declared.clone(), change)),
                        Err(error) => fault = Some(error),
                    }
                }
            }
            // If the scenario itself varies this key, it is an error to set it in every group, because the axis would
            // have no effect. Then the key is not set.
            let together = found.iter().filter(|it| !it.0.contains('=')).zip(value.iter().cycle());
            let together = together.map(|((_, path), value)| format!("{path}={value}"));
            if let Err(error) = parsed(experiment, experiment.fixed.iter().cloned().chain(together).collect()) {
                fault = Some(error);
                found.retain(|it| it.0.contains('='));
            }
            is_used |= !found.is_empty();
            experiment.paths.push(found);
        }
        if !is_used {
            return Err(format!("dimension {}: no scenario takes it: {}", dimension.name, fault.unwrap_or_default()));
        }
    }
    Ok(())
}

/// Splits `SCENARIO:CHANGE`, a change of one scenario only. A change of all scenarios has no `SCENARIO`.
fn limited(change: &str) -> (Option<&str>, &str) {
    match change.split_once(':') {
        Some((scenario, rest)) if !scenario.contains('=') => (Some(scenario), rest),
        _ => (None, change),
    }
}

/// The changes of this scenario that `change` stands for, each `PATH` or `PATH=VALUE`. `flows.*` stands for one change for
/// each group of flows. Empty if `change` names another scenario.
fn expanded(experiment: &Experiment, change: &str) -> Result<Vec<String>, String> {
    let (scenario, path) = limited(change);
    if scenario.is_some_and(|name| name != experiment.name) {
        return Ok(Vec::new());
    }
    let Some(key) = path.strip_prefix("flows.*.") else { return Ok(vec![path.to_string()]) };
    let cases = parsed(experiment, Vec::new())?;
    let groups = cases.first().into_iter().flat_map(|case| &case.scenario.flows);
    Ok(groups.map(|group| format!("flows.{}.{key}", group.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_follow_measured_time() {
        let of = |quantity: &str| with_spans(quantity, [[20.0, 200.0], [0.0, 80.5]]);
        assert_eq!(of("mean_pkts@20..200"), "mean_pkts@0..80.5");
        assert_eq!(
            of("std(queue)@150..200 / std(queue)@20..100 + 20"),
            "std(queue)@150..80.5 / std(queue)@0..100 + 20"
        );
        assert_eq!(of("share(queue; 20..200)"), "share(queue; 20..200)");
        assert_eq!(of("swing_pkts@45..75"), "swing_pkts@45..75");
    }
}
