//! `index.html`: several papers at a glance, each with a link to its own report. No script.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::tables::significant;
use crate::claims::{CheckResult, ClaimResult, Outcome, Verdict};
use crate::disk;
use crate::lock::{Wait, WriteLock};
use crate::papers::PAPERS;
use crate::store::{self, StoreError};

/// What `meta.json` calls a directory of several papers.
pub(super) const KIND: &str = "reproductions";

const TEMPLATE: &str = include_str!("../../assets/index.html.j2");

const VERDICTS: [Verdict; 5] =
    [Verdict::Reproduced, Verdict::NotReproduced, Verdict::Inconclusive, Verdict::Refuted, Verdict::NotRun];

/// Takes possession of `dir` for the papers whose results lie in these folders, given as paths from `dir`; papers that
/// it has already stay. Refuses a directory that is something else.
pub fn record(
    dir: &Path,
    level: &str,
    papers: &[(&str, String)],
    meta: &Value,
    wait: &Wait<'_>,
) -> Result<(), StoreError> {
    // Before the lock, so that nothing is written into a directory that is somebody else's.
    known_papers(dir, level)?;
    let _lock = WriteLock::take(dir, wait)?;
    disk::remove_orphans(dir);
    let mut folders = known_papers(dir, level)?;
    folders.extend(papers.iter().map(|(name, folder)| (name.to_string(), folder.clone())));
    let place = |name: &String| PAPERS.iter().position(|p| p.name == name).unwrap_or(PAPERS.len());
    let mut folders: Vec<_> = folders.into_iter().collect();
    folders.sort_by_key(|(name, _)| place(name));
    let folders: Vec<Value> = folders.iter().map(|(name, at)| json!({ "paper": name, "dir": at })).collect();
    let mut all = json!({
        "version": 1,
        "forebay": env!("CARGO_PKG_VERSION"),
        "kind": KIND,
        "level": level,
        "papers": folders,
        "machine": store::machine(),
    });
    if let (Value::Object(all), Value::Object(meta)) = (&mut all, meta.clone()) {
        all.extend(meta);
    }
    disk::write_json(&dir.join("meta.json"), &all)
}

/// The papers that `dir` names already, with their folders; an error if it is something else.
fn known_papers(dir: &Path, level: &str) -> Result<BTreeMap<String, String>, StoreError> {
    let refuse = |holds| Err(StoreError::Foreign { dir: dir.to_path_buf(), holds });
    let path = dir.join("meta.json");
    let mut folders: BTreeMap<String, String> = BTreeMap::new();
    if path.exists() {
        let known = store::read_meta(dir)?;
        if known["kind"] != KIND {
            return refuse("the results of one scenario or paper");
        }
        if known["level"] != level {
            return refuse("results with another number of seeds");
        }
        folders.extend(self::papers(&known));
    } else if dir.join("index.html").exists() {
        return refuse("files that are no results");
    }
    Ok(folders)
}

/// Builds `DIR/index.html` from what its papers have; gives its path.
pub fn build(dir: &Path, wait: &Wait<'_>) -> Result<PathBuf, StoreError> {
    let lock = WriteLock::take(dir, wait)?;
    build_from(&lock, &store::read_meta(dir)?)
}

/// The same after the report of each paper.
pub(super) fn build_all(lock: &WriteLock, meta: &Value, wait: &Wait<'_>) -> Result<PathBuf, StoreError> {
    for (_, folder) in papers(meta) {
        let place = lock.dir().join(folder);
        // Nothing but a paper: an index that names itself would wait for its own lock.
        if is_there(&place) && store::read_meta(&place)?["kind"] == "reproduction" {
            super::build(&WriteLock::take(&place, wait)?, wait)?;
        }
    }
    build_from(lock, meta)
}

fn build_from(lock: &WriteLock, meta: &Value) -> Result<PathBuf, StoreError> {
    let dir = lock.dir();
    let path = dir.join("index.html");
    let papers = papers(meta).into_iter().map(|(name, folder)| paper(dir, &name, &folder));
    let papers: Vec<Value> = papers.collect::<Result<_, _>>()?;
    let html = render(meta, &papers);
    let html = html.map_err(|e| StoreError::Damaged { path: path.clone(), reason: e.to_string() })?;
    disk::write_whole(&path, html.as_bytes())?;
    Ok(path)
}

/// Names and folders.
fn papers(meta: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let all = meta["papers"].as_array().into_iter().flatten();
    all.map(|paper| (text(&paper["paper"]), text(&paper["dir"]))).collect()
}

/// Has the paper been reproduced to its end?
fn is_there(folder: &Path) -> bool {
    folder.join("claims.json").is_file()
}

/// One paper as the page shows it.
fn paper(dir: &Path, name: &str, folder: &str) -> Result<Value, StoreError> {
    let place = dir.join(folder);
    if !is_there(&place) {
        return Ok(json!({ "name": name, "title": name, "claims": [], "counts": counts(&[]), "missing": true }));
    }
    let meta = store::read_meta(&place)?;
    let path = place.join("claims.json");
    let claims: Vec<ClaimResult> = serde_json::from_value(disk::read_json(&path)?["claims"].take())
        .map_err(|e| StoreError::Damaged { path, reason: e.to_string() })?;
    let href = format!("./{}/report.html", encoded(folder));
    let (runs, cpu_seconds) = spent(&meta, &claims);
    let rows: Vec<Value> = claims.iter().map(|c| row(c, &href)).collect();
    Ok(json!({
        "name": name,
        "title": meta["title"],
        "authors": meta["authors"],
        "seeds": meta["seeds"],
        "href": href,
        "claims": rows,
        "counts": counts(&claims),
        "runs": runs,
        "cpu": minutes(cpu_seconds),
        "is_provisional": claims.iter().any(|c| c.provisional),
    }))
}

fn row(claim: &ClaimResult, href: &str) -> Value {
    json!({
        "id": claim.id,
        // As the script of the report names its rows.
        "href": format!("{href}#claim-{}", encoded(&slug(&claim.id))),
        "claim": claim.claim,
        "verdict": claim.verdict.word(),
        "word": words(claim.verdict),
        "is_provisional": claim.provisional,
        "decided": decided(claim),
        "why": claim.why,
        "variants": variants(claim),
    })
}

/// `2 of 3 variants reproduced`, or nothing without variants.
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

/// The check that decides: the first that fails, else the first that straddles, else the first.
fn decided(claim: &ClaimResult) -> String {
    let checks = &claim.evidence.checks;
    let first = |outcome| checks.iter().find(|c: &&CheckResult| c.outcome == outcome);
    let check = first(Outcome::Fails).or_else(|| first(Outcome::Straddles)).or_else(|| checks.first());
    let Some(check) = check else {
        // A claim that was not tried may say why.
        let said = claim.evidence.detail.as_object().into_iter().flat_map(|all| all.values());
        return said.filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    };
    match (check.value, check.low, check.high) {
        (Some(value), Some(low), Some(high)) if low < high => {
            let [value, low, high] = [value, low, high].map(significant);
            format!("{}: {value} ({low} .. {high}), asked {}", check.what, check.bound)
        }
        (Some(value), ..) => format!("{}: {}, asked {}", check.what, significant(value), check.bound),
        _ => format!("{}: {}", check.what, check.note.as_deref().unwrap_or("nothing to measure")),
    }
}

fn counts(claims: &[ClaimResult]) -> Vec<Value> {
    let count = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
    let each = VERDICTS.iter().map(|v| json!({ "verdict": v.word(), "word": words(*v), "n": count(*v) }));
    each.collect()
}

/// Runs and CPU time; claims of one scenario share theirs.
fn spent(meta: &Value, claims: &[ClaimResult]) -> (usize, f64) {
    let sections = || meta["sections"].as_array().into_iter().flatten();
    let mut by_scenario = BTreeMap::new();
    for claim in claims {
        let scenario = sections().find(|s| s["id"] == claim.section.as_str()).and_then(|s| s["scenario"].as_str());
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

/// A path as an address has it.
fn encoded(path: &str) -> String {
    let byte = |b: u8| match b {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => char::from(b).to_string(),
        _ => format!("%{b:02X}"),
    };
    path.bytes().map(byte).collect()
}

fn render(meta: &Value, papers: &[Value]) -> Result<String, minijinja::Error> {
    let mut totals = Vec::new();
    for (i, verdict) in VERDICTS.iter().enumerate() {
        let n: u64 = papers.iter().filter_map(|paper| paper["counts"][i]["n"].as_u64()).sum();
        totals.push(json!({ "verdict": verdict.word(), "word": words(*verdict).to_lowercase(), "n": n }));
    }
    let mut facts = Map::new();
    let known = [
        ("Level", meta["level"].as_str()),
        ("Version", meta["revision"].as_str().or(meta["forebay"].as_str())),
        ("Machine", meta["machine"]["cpu"].as_str()),
    ];
    facts.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?.into()))));
    let mut env = minijinja::Environment::new();
    env.add_template("index.html.j2", TEMPLATE)?;
    env.get_template("index.html.j2")?.render(context(&json!({
        "title": format!("Reproduction of {} {}", papers.len(), if papers.len() == 1 { "paper" } else { "papers" }),
        "css": super::CSS,
        "css_hash": super::hash(super::CSS),
        "papers": papers,
        "totals": totals,
        "facts": facts,
        "command": meta["command"],
        "version": format!("forebay {}", meta["forebay"].as_str().unwrap_or("?")),
        "is_provisional": papers.iter().any(|paper| paper["is_provisional"] == true),
    })))
}

/// The same for a template.
fn context(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => ().into(),
        Value::Bool(is) => (*is).into(),
        Value::Number(n) => n.as_u64().map_or_else(|| n.as_f64().unwrap_or(f64::NAN).into(), Into::into),
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().map(context).collect::<Vec<_>>().into(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), context(value))).collect::<BTreeMap<_, _>>().into()
        }
    }
}
