//! Reproduces a paper: runs the scenarios of its experiments and decides the verdicts on its claims. A section is one
//! experiment in `claims.toml`. A level of effort (`--quick`, normal, `--full`) sets the number of seeds.

mod calibrate;
pub mod claim_file;
pub mod judge;
pub mod trial;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::claims::calibration::{Calibrated, Calibration};
use crate::claims::found;
use crate::claims::grade::{self, Checks, Graded, Searched};
use crate::claims::papers::Paper;
use crate::claims::registration::Registered;
use crate::claims::theorems;
use crate::claims::{Claim, ClaimResult, Evidence, Section, Verdict};
use crate::disk;
use crate::disk::lock::{Wait, WriteLock};
pub use crate::figures::level::Level;
use crate::input::{Found, InputError};
use crate::load;
use crate::results::meta::{Meta, Origin, PaperMeta, Provenance, SectionMeta, SeedCount};
use crate::results::verdicts::Verdicts;
use crate::run::batch::{self, BatchError, Control};
use crate::run::plan::{Plan, engine};
use crate::run::store::{self, Store, StoreError};
use crate::scenario::Overrides;
use claim_file::ClaimFile;
use rayon::prelude::*;
use trial::Finished;

/// A reproduction: paper, level of effort and chosen claims.
pub struct Reproduction {
    paper: &'static Paper,
    file: ClaimFile,
    /// The chosen claims, in the order of `claims.toml`.
    chosen: Vec<Claim>,
    level: Level,
    /// The name of each scenario, and its runs: one for each compared discipline, each combination of the values that
    /// vary, and each seed.
    plans: Vec<(String, Plan)>,
    /// Build of the program that simulates the runs.
    revision: String,
    /// What the search of other readings (interpretations of the paper) found, by id of the claim.
    searched: BTreeMap<String, Searched>,
    /// Of a suite: keys whose values follow from runs.
    calibrated: Vec<Calibrated>,
    /// Results of earlier calls, for scenarios that this call does not run. They stay in `meta.json`.
    kept: Vec<Calibrated>,
    /// The changes of each scenario, in the order of `plans`.
    changes: Vec<Overrides>,
}

/// A scenario of a suite, for runs in other processes. Their results belong into the folder `name` of the results.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Name of the scenario.
    pub name: String,
    /// Path of its file, for messages.
    pub path: String,
    /// Text of its file.
    pub text: &'static str,
    /// Changes to it.
    pub overrides: Overrides,
    /// Its seeds.
    pub seeds: Vec<u64>,
}

/// What `forebay evaluate` chooses in a suite.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The disciplines to test; empty means those of the suite.
    pub aqm: Vec<String>,
    /// Results of earlier calibrations by this build.
    pub known: Vec<Calibrated>,
}

/// Why a reproduction did not finish.
#[derive(Debug)]
pub enum ReproduceError {
    /// The paper's own files are invalid: a defect of this program.
    Files(String),
    /// A scenario of a suite is invalid.
    Input(InputError),
    /// The runs of a scenario did not finish.
    Batch(BatchError),
    /// A result could not be stored.
    Store(StoreError),
}

impl std::fmt::Display for ReproduceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files(reason) => f.write_str(reason),
            Self::Input(error) => write!(f, "{error}"),
            Self::Batch(error) => write!(f, "{error}"),
            Self::Store(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ReproduceError {}

impl ReproduceError {
    fn no_scenario(name: &str) -> Self {
        Self::Files(format!("there is no scenario '{name}'"))
    }
}

impl Reproduction {
    /// The claims of `paper` whose ids `wanted` selects, at this level of effort.
    pub fn new(paper: &'static Paper, level: Level, wanted: impl Fn(&str) -> bool) -> Result<Self, ReproduceError> {
        let stop = AtomicBool::new(false);
        Self::of_suite(paper, level, wanted, &Chosen::default(), &Control::silent(&stop))
    }

    /// As [`new`](Self::new), of a suite: runs its calibrations, and tests the chosen disciplines.
    pub fn of_suite(
        paper: &'static Paper,
        level: Level,
        wanted: impl Fn(&str) -> bool,
        asked: &Chosen,
        control: &Control,
    ) -> Result<Self, ReproduceError> {
        let mut file = claim_file::parse(paper.claims).map_err(ReproduceError::Files)?;
        if !asked.aqm.is_empty() && !file.aqm.is_empty() {
            file.aqm.clone_from(&asked.aqm);
        }
        let chosen: Vec<Claim> = file.claims.iter().filter(|c| wanted(&c.id)).cloned().collect();
        let needed = |s: &&Section| (s.quick || level != Level::Quick) && needs(&file, &chosen, s);
        let names: Vec<(&String, bool)> = file
            .sections
            .iter()
            .filter(needed)
            .flat_map(|s| s.scenarios().map(|name| (name, file.is_open(s))))
            .collect();
        let is_needed = |calibration: &&Calibration| names.iter().any(|(name, _)| calibration.concerns(name));
        let calibrated: Vec<Result<Calibrated, ReproduceError>> = file
            .calibrations
            .par_iter()
            .filter(is_needed)
            .map(|calibration| calibrate::calibrate(calibration, paper, &asked.known, control))
            .collect();
        // Of several errors the first in the file.
        let calibrated = calibrated.into_iter().collect::<Result<Vec<Calibrated>, _>>()?;
        let (mut plans, mut changes): (Vec<(String, Plan)>, Vec<Overrides>) = Default::default();
        for (name, is_open) in names {
            if plans.iter().any(|(planned, _)| planned == name) {
                continue;
            }
            let concerned = calibrated.iter().filter(|known: &&Calibrated| known.scenarios.contains(name));
            let mut overrides = Overrides {
                sets: concerned.map(|it| format!("{}={}", it.key, it.value)).collect(),
                ..Overrides::default()
            };
            if is_open {
                let new = file.aqm.iter().filter(|aqm| file.baseline.as_ref() != Some(aqm));
                overrides.aqm = file.baseline.iter().chain(new).cloned().collect();
            }
            plans.push((name.clone(), plan(paper, name, &overrides, seeds(&file, name, level))?));
            changes.push(overrides);
        }
        let is_open: Vec<bool> = file.sections.iter().map(|section| file.is_open(section)).collect();
        for (section, _) in file.sections.iter_mut().zip(is_open).filter(|(_, is_open)| *is_open) {
            let (first, others) = file
                .aqm
                .split_first()
                .map_or_else(Default::default, |(first, others)| (first.clone(), others.to_vec()));
            (section.subject, section.variants) = (first, others);
        }
        known_contenders(paper, &file, &chosen, &plans)?;
        let searched = found::searched(paper.found).map_err(ReproduceError::Files)?;
        let is_other = |known: &&Calibrated| {
            let same = |scenarios: &[String], key: &str| known.scenarios == scenarios && known.key == key;
            file.calibrations.iter().any(|it| same(&it.scenarios, &it.key))
                && !calibrated.iter().any(|it| same(&it.scenarios, &it.key))
        };
        let kept = asked.known.iter().filter(is_other).cloned().collect();
        Ok(Self { paper, file, chosen, level, plans, revision: String::new(), searched, calibrated, kept, changes })
    }

    /// Whether claims of the suite are tested for the disciplines of `--aqm`.
    pub fn has_open_sections(suite: &Paper) -> bool {
        claim_file::parse(suite.claims).is_ok_and(|file| file.sections.iter().any(|section| file.is_open(section)))
    }

    fn is_tested_for_several(&self, section: &Section) -> bool {
        self.file.aqm.contains(&section.subject)
    }

    /// Results of calibrations that are stored in `dir`, by the build `revision`.
    pub fn calibrations_in(dir: &Path, revision: &str) -> Vec<Calibrated> {
        match Meta::read(dir) {
            Ok(Meta::Paper(known)) if known.engine == engine(revision) => known.calibrated,
            _ => Vec::new(),
        }
    }

    /// The keys whose values follow from runs.
    pub fn calibrated(&self) -> &[Calibrated] {
        &self.calibrated
    }

    /// Sets `revision`, which identifies the build of the program.
    pub fn with_revision(mut self, revision: &str) -> Self {
        self.plans = self.plans.into_iter().map(|(name, plan)| (name, plan.with_revision(revision))).collect();
        self.revision = revision.to_string();
        self
    }

    /// Ids of all claims of `paper`.
    pub fn claim_ids(paper: &Paper) -> Vec<String> {
        claim_file::parse(paper.claims).map_or_else(|_| Vec::new(), |f| f.claims.into_iter().map(|c| c.id).collect())
    }

    /// The section and the id of each claim of `paper`.
    pub fn sections(paper: &Paper) -> Vec<(String, String)> {
        let of = |file: ClaimFile| file.claims.into_iter().map(|claim| (claim.section, claim.id)).collect();
        claim_file::parse(paper.claims).map_or_else(|_| Vec::new(), of)
    }

    /// The paper that is reproduced.
    pub const fn paper(&self) -> &'static Paper {
        self.paper
    }

    /// The scenarios with their changes and seeds.
    pub fn shared(&self) -> Vec<Shared> {
        let of = |((name, plan), overrides): (&(String, Plan), &Overrides)| {
            let (path, text) = self.paper.scenario(name)?;
            Some(Shared { name: name.clone(), path, text, overrides: overrides.clone(), seeds: plan.seeds.clone() })
        };
        self.plans.iter().zip(&self.changes).filter_map(of).collect()
    }

    /// Simulated seconds of all runs together.
    pub fn simulated_s(&self) -> f64 {
        self.plans.iter().map(|(_, plan)| plan.simulated_s()).sum()
    }

    /// Number of all runs.
    pub fn runs(&self) -> usize {
        self.plans.iter().map(|(_, plan)| plan.jobs().len()).sum()
    }

    /// Number of seeds of each scenario: a number, or a range as text if scenarios differ.
    fn seeds(&self) -> SeedCount {
        let counts = self.plans.iter().map(|(_, plan)| plan.seeds.len());
        match (counts.clone().min(), counts.max()) {
            (Some(least), Some(most)) if least < most => SeedCount::Words(format!("{least} to {most}")),
            (Some(count), _) => SeedCount::Each(count as u64),
            _ => SeedCount::Each(self.file.seeds.at(self.level).unwrap_or(self.level.seeds())),
        }
    }

    /// Number of runs whose results `dir` has already.
    pub fn finished(&self, dir: &Path) -> usize {
        self.plans.iter().map(|(name, plan)| store::finished(&dir.join(name), plan)).sum()
    }

    /// Simulates all runs into `dir`, which has one directory for each scenario, decides the claims and writes
    /// `claims.json`. Results in `dir` for other claims of the same paper, level and build are kept. `origin` (the
    /// command and the revision of the program) goes into `meta.json`. Returns the results for the claims, and the lock
    /// of `dir` so that its report can be built.
    pub fn run(
        &self,
        dir: &Path,
        origin: &Origin,
        control: &Control,
    ) -> Result<(Vec<ClaimResult>, WriteLock), ReproduceError> {
        let (lock, earlier) = self.open(dir, origin, &control.wait()).map_err(ReproduceError::Store)?;
        let mut stores = Vec::new();
        for (name, plan) in &self.plans {
            let store = Store::open(&dir.join(name), plan, origin, &control.wait());
            let store = store.map_err(ReproduceError::Store)?;
            batch::run(plan, &store, control).map_err(ReproduceError::Batch)?;
            stores.push((name, plan, store));
        }
        // One section after the other, because the runs of all sections may not fit into memory.
        let mut results = Vec::new();
        for section in &self.file.sections {
            let claims = || self.chosen.iter().filter(|claim| claim.section == section.id);
            if claims().next().is_none() {
                continue;
            }
            let its = stores.iter().filter(|(name, ..)| section.scenarios().any(|s| s == *name));
            let finished = its.map(|(name, plan, store)| Ok((name.as_str(), *plan, store.records(plan)?)));
            let finished: Vec<Finished<'_>> = finished.collect::<Result<_, _>>().map_err(ReproduceError::Store)?;
            for claim in claims() {
                results.push(self.judge(claim, &finished)?);
            }
        }
        let results = self.merged(Vec::new(), &results);
        let all = self.merged(earlier, &results);
        disk::write_json(&dir.join("claims.json"), &Verdicts::new(all)).map_err(ReproduceError::Store)?;
        Ok((results, lock))
    }

    /// The results for claims in `dir` that are still valid: those of the same build. An error if the directory has
    /// other content.
    fn earlier(&self, dir: &Path) -> Result<Vec<ClaimResult>, StoreError> {
        let refuse = |holds| Err(StoreError::Foreign { dir: dir.to_path_buf(), holds });
        let meta_path = dir.join("meta.json");
        if !meta_path.exists() {
            return if store::is_free(dir, "")? { Ok(Vec::new()) } else { refuse("files that are not results") };
        }
        let Meta::Paper(known) = Meta::read(dir)? else { return refuse("the results of a scenario") };
        if known.paper != self.paper.name {
            return refuse("the results of another paper");
        }
        if known.level != self.level.word() {
            return refuse("results with another number of seeds");
        }
        let path = dir.join("claims.json");
        if known.engine != engine(&self.revision) || !path.exists() {
            return Ok(Vec::new());
        }
        Ok(disk::read_json::<Verdicts>(&path)?.claims)
    }

    /// Earlier and new results together, in the order of `claims.toml`. A new result replaces the earlier one for the
    /// same claim.
    fn merged(&self, earlier: Vec<ClaimResult>, new: &[ClaimResult]) -> Vec<ClaimResult> {
        let find = |results: &[ClaimResult], id: &str| results.iter().find(|r| r.id == id).cloned();
        self.file.claims.iter().filter_map(|c| find(new, &c.id).or_else(|| find(&earlier, &c.id))).collect()
    }

    /// Stores in `dir` what it is for, so that other processes can put their runs into it.
    ///
    /// # Errors
    /// The directory has other content, or is not writable.
    pub fn claim(&self, dir: &Path, origin: &Origin, wait: &Wait<'_>) -> Result<(), StoreError> {
        self.open(dir, origin, wait).map(drop)
    }

    /// Locks `dir` for this paper. Returns the lock, and the results in `dir` that are still valid.
    fn open(&self, dir: &Path, origin: &Origin, wait: &Wait<'_>) -> Result<(WriteLock, Vec<ClaimResult>), StoreError> {
        // Checked before locking, so that nothing is written into an unrelated directory.
        self.earlier(dir)?;
        let lock = WriteLock::take(dir, wait)?;
        let earlier = self.earlier(dir)?;
        disk::remove_orphans(dir);
        let meta = PaperMeta { registered: self.registered(dir), ..self.meta(origin) };
        disk::write_json(&dir.join("meta.json"), &meta)?;
        Ok((lock, earlier))
    }

    /// The registration of the claims, if it was made before the first run in `dir`.
    pub fn registered(&self, dir: &Path) -> Option<Registered> {
        let now = self.paper.registered?;
        match Meta::read(dir) {
            // Runs are there: the same registration must have been there before them.
            Ok(Meta::Paper(known)) if known.registered.as_ref().is_none_or(|of| of.sha256 != now.sha256) => None,
            _ => Some(now.clone()),
        }
    }

    /// Whether the claims are registered, but not before the first run in `dir`.
    pub fn is_registered_late(&self, dir: &Path) -> bool {
        self.paper.registered.is_some() && self.registered(dir).is_none()
    }

    fn meta(&self, origin: &Origin) -> PaperMeta {
        let section = |s: &Section| SectionMeta {
            id: s.id.clone(),
            title: s.title.clone(),
            text: s.text.clone(),
            scenario: s.scenario.clone(),
        };
        PaperMeta {
            engine: engine(&self.revision),
            paper: self.paper.name.to_string(),
            title: self.file.title.clone(),
            authors: Some(self.file.authors.clone()),
            level: self.level.word().to_string(),
            seeds: Some(self.seeds()),
            sections: self.file.sections.iter().map(section).collect(),
            is_suite: self.paper.is_suite,
            calibrated: self.calibrated.iter().chain(&self.kept).cloned().collect(),
            figures: self.file.figures.clone(),
            tables: self.file.tables.clone(),
            provenance: Provenance {
                machine: store::machine(),
                facts: self.plans.first().map(|(_, plan)| plan.facts()).unwrap_or_default(),
                origin: origin.clone(),
            },
            ..PaperMeta::default()
        }
    }

    fn judge(&self, claim: &Claim, finished: &[Finished<'_>]) -> Result<ClaimResult, ReproduceError> {
        let section = self.file.sections.iter().find(|s| s.id == claim.section);
        let section = section.ok_or_else(|| ReproduceError::Files(format!("{}: no section", claim.id)))?;
        let provisional = self.level == Level::Quick;
        let mut result = ClaimResult {
            id: claim.id.clone(),
            paper: self.paper.name.to_string(),
            claim: claim.claim.clone(),
            verdict: Verdict::NotRun,
            grade: None,
            reason: String::new(),
            checks: Checks::default(),
            reading: None,
            why: None,
            provisional: provisional && !claim.checks.is_empty(),
            evidence: Evidence::default(),
            runs: 0,
            cpu_seconds: 0.0,
            section: claim.section.clone(),
        };
        let left_out = self.level == Level::Quick && !section.quick;
        let decided = match (&claim.theorem, &claim.not_run) {
            (None, None) if left_out => Some(trial::not_run("not part of --quick")),
            (Some(theorem), _) => theorems::try_theorem(theorem),
            (None, Some(reason)) => Some(trial::not_run(reason)),
            (None, None) => trial::on_runs(claim, section, finished, provisional).map_err(ReproduceError::Files)?,
        };
        if let Some((verdict, evidence)) = decided {
            (result.verdict, result.evidence) = (verdict, evidence);
        }
        result.evidence.subject = self.is_tested_for_several(section).then(|| section.subject.clone());
        if !claim.checks.is_empty() {
            for (.., records) in finished.iter().filter(|(name, ..)| section.scenarios().any(|s| s == name)) {
                result.runs += records.len();
                result.cpu_seconds += records.iter().map(|r| r.summary.cpu_seconds).sum::<f64>();
            }
        }
        result.evidence.printed.clone_from(&claim.printed);
        result.evidence.sentence.clone_from(&claim.sentence);
        let Graded { grade, reason, reading } =
            grade::grade(claim, &result.evidence.checks, self.searched.get(&claim.id));
        (result.grade, result.reason, result.reading) = (Some(grade), reason, reading);
        result.checks = Checks::of(&result.evidence.checks);
        result.why = claim.why.clone().filter(|_| result.verdict.asks_why());
        Ok(result)
    }
}

/// Whether one of the `chosen` claims needs the runs of this section, for its checks or for one of its figures or
/// tables.
fn needs(file: &ClaimFile, chosen: &[Claim], section: &Section) -> bool {
    let figures = file.figures.iter().map(|f| (&f.section, &f.claims));
    let exhibits = figures.chain(file.tables.iter().map(|t| (&t.section, &t.claims)));
    let mut here = exhibits.filter(|(of, _)| **of == section.id).flat_map(|(_, claims)| claims);
    chosen.iter().any(|c| c.section == section.id) || here.any(|id| chosen.iter().any(|c| c.id == *id))
}

/// The runs of the scenario `name` of `paper`, with this number of seeds and these changes.
fn plan(paper: &Paper, name: &str, overrides: &Overrides, seeds: u64) -> Result<Plan, ReproduceError> {
    let (path, text) = paper.scenario(name).ok_or_else(|| ReproduceError::no_scenario(name))?;
    let cases = load::parse(&path, text, overrides).map_err(ReproduceError::Input)?;
    Ok(Plan::new(cases, 1, seeds))
}

/// Number of seeds of a scenario: the largest number that a section with this scenario requires.
fn seeds(file: &ClaimFile, scenario: &str, level: Level) -> u64 {
    let usual = file.seeds.at(level).unwrap_or(level.seeds());
    let sections = file.sections.iter().filter(|s| s.scenarios().any(|name| name == scenario));
    sections.map(|s| s.seeds.at(level).unwrap_or(usual)).max().unwrap_or(usual)
}
/// Checks before the first run that a scenario of each claim's section compares the contenders that the claim's checks
/// name.
fn known_contenders(
    paper: &Paper,
    file: &ClaimFile,
    claims: &[Claim],
    plans: &[(String, Plan)],
) -> Result<(), ReproduceError> {
    for claim in claims {
        let Some(section) = file.sections.iter().find(|section| section.id == claim.section) else { continue };
        let its = || plans.iter().filter(|(name, _)| section.scenarios().any(|s| s == name));
        for check in &claim.checks {
            let known = |(_, plan): &(String, Plan)| {
                judge::Runs::new(plan, &[], false).has_contenders_of(check, &section.subject)
            };
            let found: Vec<Result<(), String>> = its().map(known).collect();
            if let Some(Err(reason)) = found.first().filter(|_| found.iter().all(Result::is_err)) {
                let found = Found::thing(format!("the check '{}'", check.what));
                let place = format!("{}/claims.toml", paper.folder);
                let accepts = "contenders of the scenario, 'subject' or none";
                return Err(ReproduceError::Input(
                    InputError::new(place, &claim.id, found, accepts).hint(reason.clone()),
                ));
            }
        }
    }
    Ok(())
}
