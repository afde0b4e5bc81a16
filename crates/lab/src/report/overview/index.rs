//! `index.html`: overview of the claims and verdicts of several papers, with links to the papers' reports. The page has
//! no script. The directory of `index.html` records the papers and the folders with their results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::super::summary_tables::significant;
use crate::claims::papers::PAPERS;
use crate::claims::{ClaimResult, Verdict, deciding};
use crate::disk;
use crate::disk::lock::{Wait, WriteLock};
use crate::results::meta::{Folder, Meta, Origin, PaperMeta, PapersMeta, Provenance};
use crate::results::verdicts::Verdicts;
use crate::run::store::{self, StoreError};

const TEMPLATE: &str = include_str!("../../../assets/index.html.j2");

/// A paper in the overview.
#[derive(Serialize)]
struct Row {
    name: String,
    title: String,
    authors: Option<String>,
    seeds: Option<String>,
    /// Link to the paper's report.
    href: Option<String>,
    claims: Vec<ClaimRow>,
    counts: Vec<Count>,
    runs: usize,
    cpu: Option<String>,
    is_provisional: bool,
    /// Whether there are no results of the paper yet.
    missing: bool,
}

/// A claim of a paper in the overview.
#[derive(Serialize)]
struct ClaimRow {
    id: String,
    href: String,
    claim: String,
    verdict: &'static str,
    word: &'static str,
    /// Grade in words: how much of the claim holds, also under other interpretations of the paper. `None` in results of
    /// earlier versions.
    grade: Option<String>,
    counts: String,
    reason: Option<String>,
    is_provisional: bool,
    decided: String,
    why: Option<String>,
    variants: Option<String>,
}

/// A verdict, and the number of claims that have it.
#[derive(Serialize)]
struct Count {
    verdict: &'static str,
    word: String,
    n: usize,
}

/// Data for the template of `index.html`.
#[derive(Serialize)]
struct Page<'a> {
    title: String,
    css: &'a str,
    css_hash: String,
    papers: &'a [Row],
    totals: Vec<Count>,
    facts: BTreeMap<&'a str, &'a str>,
    command: Option<&'a str>,
    version: String,
    is_provisional: bool,
}

/// Records these papers in `dir`, the directory of `index.html`. Each paper has a name and a folder relative to `dir`.
/// Papers recorded before are kept. Refuses a directory with other content.
pub fn record(
    dir: &Path,
    level: &str,
    papers: &[(&str, String)],
    origin: &Origin,
    wait: &Wait<'_>,
) -> Result<(), StoreError> {
    // Checked before locking, so that nothing is written into an unrelated directory.
    known_papers(dir, level)?;
    let _lock = WriteLock::take(dir, wait)?;
    disk::remove_orphans(dir);
    let mut folders = known_papers(dir, level)?;
    folders.extend(papers.iter().map(|(name, folder)| (name.to_string(), folder.clone())));
    let place = |name: &String| PAPERS.iter().position(|p| p.name == name).unwrap_or(PAPERS.len());
    let mut folders: Vec<_> = folders.into_iter().collect();
    folders.sort_by_key(|(name, _)| place(name));
    let folders = folders.into_iter().map(|(paper, dir)| Folder { paper, dir }).collect();
    let provenance = Provenance { machine: store::machine(), origin: origin.clone(), ..Provenance::default() };
    let meta = PapersMeta::new(level, folders, provenance);
    disk::write_json(&dir.join("meta.json"), &meta)
}

/// The papers recorded in `dir` and their folders; an error if `dir` has other content.
fn known_papers(dir: &Path, level: &str) -> Result<BTreeMap<String, String>, StoreError> {
    let refuse = |holds| Err(StoreError::Foreign { dir: dir.to_path_buf(), holds });
    let path = dir.join("meta.json");
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    if path.exists() {
        let Meta::Papers(known) = Meta::read(dir)? else {
            return refuse("the results of one scenario or paper");
        };
        if known.level != level {
            return refuse("results with another number of seeds");
        }
        folders.extend(known.papers.into_iter().map(|folder| (folder.paper, folder.dir)));
    } else if dir.join("index.html").exists() {
        return refuse("files that are not results");
    }
    Ok(folders)
}

/// Builds `index.html` in `dir` from the results of the recorded papers; returns its path.
pub fn build(dir: &Path, wait: &Wait<'_>) -> Result<PathBuf, StoreError> {
    let lock = WriteLock::take(dir, wait)?;
    match Meta::read(dir)? {
        Meta::Papers(meta) => build_from(&lock, &meta),
        _ => Err(StoreError::Damaged {
            path: dir.join("meta.json"),
            reason: "does not describe several papers".to_string(),
        }),
    }
}

/// Builds the report of each recorded paper, then `index.html`.
pub(in super::super) fn build_all(lock: &WriteLock, meta: &PapersMeta, wait: &Wait<'_>) -> Result<PathBuf, StoreError> {
    for folder in &meta.papers {
        let place = lock.dir().join(&folder.dir);
        // Only folders with results of a paper: a directory recorded in itself would wait for its own lock.
        if is_there(&place) && matches!(Meta::read(&place)?, Meta::Paper(_)) {
            super::super::build(&WriteLock::take(&place, wait)?, wait)?;
        }
    }
    build_from(lock, meta)
}

fn build_from(lock: &WriteLock, meta: &PapersMeta) -> Result<PathBuf, StoreError> {
    let dir = lock.dir();
    let path = dir.join("index.html");
    let papers = meta.papers.iter().map(|folder| paper(dir, folder));
    let papers: Vec<Row> = papers.collect::<Result<_, _>>()?;
    let html = render(meta, &papers).map_err(disk::damaged(&path))?;
    disk::write_whole(&path, html.as_bytes())?;
    Ok(path)
}

/// Whether `folder` has complete results of a paper.
fn is_there(folder: &Path) -> bool {
    folder.join("claims.json").is_file()
}

fn paper(dir: &Path, folder: &Folder) -> Result<Row, StoreError> {
    let place = dir.join(&folder.dir);
    let name = folder.paper.clone();
    if !is_there(&place) {
        return Ok(Row {
            title: name.clone(),
            name,
            authors: None,
            seeds: None,
            href: None,
            claims: Vec::new(),
            counts: counts(&[]),
            runs: 0,
            cpu: None,
            is_provisional: false,
            missing: true,
        });
    }
    let Meta::Paper(meta) = Meta::read(&place)? else {
        let reason = "does not describe a paper".to_string();
        return Err(StoreError::Damaged { path: place.join("meta.json"), reason });
    };
    let Verdicts { claims, .. } = disk::read_json(&place.join("claims.json"))?;
    let href = format!("./{}/report.html", encoded(&folder.dir));
    let (runs, cpu_seconds) = spent(&meta, &claims);
    Ok(Row {
        name,
        claims: claims.iter().map(|claim| row(claim, &href)).collect(),
        counts: counts(&claims),
        is_provisional: claims.iter().any(|claim| claim.provisional),
        seeds: meta.seeds.as_ref().map(ToString::to_string),
        title: meta.title,
        authors: meta.authors,
        href: Some(href),
        runs,
        cpu: Some(minutes(cpu_seconds)),
        missing: false,
    })
}

fn row(claim: &ClaimResult, href: &str) -> ClaimRow {
    ClaimRow {
        id: claim.id.clone(),
        // The script of the report makes the same ids of its elements for claims.
        href: format!("{href}#claim-{}", encoded(&slug(&claim.id))),
        claim: claim.claim.clone(),
        verdict: claim.verdict.word(),
        word: words(claim.verdict),
        grade: claim.grade.map(|grade| grade.word().replace('-', " ")),
        counts: if claim.checks.asked > 0 { claim.checks.text() } else { "none".to_string() },
        reason: Some(claim.reason.clone()).filter(|reason| !reason.is_empty() && claim.why.as_ref() != Some(reason)),
        is_provisional: claim.provisional,
        decided: decided(claim),
        why: claim.why.clone(),
        variants: variants(claim),
    }
}

/// Text such as `variants: 2 of 3 reproduced`, for the variants of a claim: the same checks for another discipline, or
/// with another scenario or values of the varied keys. `None` if the claim has no variants.
fn variants(claim: &ClaimResult) -> Option<String> {
    let all = &claim.evidence.variants;
    let good = all.iter().filter(|v| v.verdict == Verdict::Reproduced).count();
    (!all.is_empty()).then(|| format!("variants: {good} of {} reproduced", all.len()))
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "Reproduced",
        Verdict::NotReproduced => "Not reproduced",
        Verdict::Inconclusive => "Inconclusive",
        Verdict::Refuted => "Refuted",
        Verdict::NotRun => "Not run",
    }
}

/// Text of the check that decides the verdict: the first that fails, else the first whose confidence interval is only
/// partly within the bound, else the first.
fn decided(claim: &ClaimResult) -> String {
    let checks = &claim.evidence.checks;
    let Some(check) = deciding(checks) else {
        // A claim that was not tested may say why.
        let said = claim.evidence.detail.values();
        return said.filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    };
    match (check.value, check.low, check.high) {
        (Some(value), Some(low), Some(high)) if low < high => {
            let [value, low, high] = [value, low, high].map(significant);
            format!("{}: {value} ({low} .. {high}), required {}", check.what, check.bound)
        }
        (Some(value), ..) => format!("{}: {}, required {}", check.what, significant(value), check.bound),
        _ => format!("{}: {}", check.what, check.note.as_deref().unwrap_or("no measurement")),
    }
}

fn counts(claims: &[ClaimResult]) -> Vec<Count> {
    let count = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
    let each = Verdict::ALL.iter().map(|v| Count { verdict: v.word(), word: words(*v).to_string(), n: count(*v) });
    each.collect()
}

/// Number of runs of a paper, and their CPU seconds. Each scenario counts once, because all its claims use the same
/// runs.
fn spent(meta: &PaperMeta, claims: &[ClaimResult]) -> (usize, f64) {
    let mut by_scenario = BTreeMap::new();
    for claim in claims {
        let section = meta.sections.iter().find(|section| section.id == claim.section);
        let scenario = section.and_then(|section| section.scenario.as_deref());
        by_scenario.insert(scenario.unwrap_or_default(), (claim.runs, claim.cpu_seconds));
    }
    by_scenario.values().fold((0, 0.0), |(runs, cpu), (n, seconds)| (runs + n, cpu + seconds))
}

fn minutes(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "under 1 s".to_string(),
        s if s < 100.0 => format!("{s:.0} s"),
        s => format!("{:.1} min", s / 60.0),
    }
}

fn slug(id: &str) -> String {
    let mut out = String::new();
    for c in id.chars() {
        match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '.' | '-' => out.push(c),
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out
}

/// The path, encoded for a URL.
fn encoded(path: &str) -> String {
    let byte = |b: u8| match b {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => char::from(b).to_string(),
        _ => format!("%{b:02X}"),
    };
    path.bytes().map(byte).collect()
}

fn render(meta: &PapersMeta, papers: &[Row]) -> Result<String, Box<dyn std::error::Error>> {
    let total = |i: usize| papers.iter().map(|paper| paper.counts[i].n).sum();
    let totals = Verdict::ALL.iter().enumerate();
    let totals =
        totals.map(|(i, verdict)| Count { verdict: verdict.word(), word: words(*verdict).to_lowercase(), n: total(i) });
    let known = [
        ("Level", Some(meta.level.as_str())),
        ("Version", meta.provenance.origin.revision().or(Some(&meta.forebay))),
        ("Machine", meta.provenance.machine.cpu.as_deref()),
    ];
    let page = Page {
        title: format!("Reproduction of {} {}", papers.len(), if papers.len() == 1 { "paper" } else { "papers" }),
        css: super::super::CSS,
        css_hash: super::super::hash(super::super::CSS),
        papers,
        totals: totals.collect(),
        facts: known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        command: meta.provenance.origin.command.as_deref(),
        version: format!("forebay {}", meta.forebay),
        is_provisional: papers.iter().any(|paper| paper.is_provisional),
    };
    let mut env = minijinja::Environment::new();
    env.add_template("index.html.j2", TEMPLATE)?;
    Ok(env.get_template("index.html.j2")?.render(context(&serde_json::to_value(&page)?))?)
}

/// A JSON value in the form that the template engine takes.
fn context(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => ().into(),
        Value::Bool(is) => (*is).into(),
        Value::Number(n) => n.as_u64().map_or_else(|| n.as_f64().unwrap_or(f64::NAN).into(), Into::into),
        Value::String(text) => text.clone().into(),
        Value::Array(items) => items.iter().map(context).collect::<Vec<_>>().into(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), context(value))).collect::<BTreeMap<_, _>>().into()
        }
    }
}
