//! `forebay reproduce`: a paper's experiments and the verdict on each of its claims.

use std::path::{Path, PathBuf};

use forebay_aqm::base::nearest::nearest;
use forebay_lab::batch::{BatchError, Control};
use forebay_lab::claims::{CheckResult, ClaimResult, Outcome, Verdict};
use forebay_lab::lock::{Wait, WriteLock};
use forebay_lab::papers::{PAPERS, Paper};
use forebay_lab::reproduce::{Level, ReproduceError, Reproduction};
use forebay_lab::results::verdicts::Verdicts;
use forebay_lab::scenario::{Found, InputError};
use forebay_lab::store::Owner;

use crate::args::ReproduceArgs;
use crate::failure::{Exit, Failure};
use crate::output::Ui;
use crate::progress::Progress;
use crate::run::pool;
use crate::table::Table;
use crate::text::titled;
use crate::{interrupt, program, report};

/// Reproduces what the arguments name; every paper has a directory of its own, several have an index.
pub(crate) fn command(args: &ReproduceArgs, ui: &Ui) -> Result<Exit, Failure> {
    let level = match (args.quick, args.full) {
        (true, _) => Level::Quick,
        (_, true) => Level::Full,
        _ => Level::Normal,
    };
    let chosen = chosen(&args.names)?;
    let several = args.names.is_empty() || chosen.len() > 1;
    let revision = program::this().build();
    let mut reproductions = Vec::new();
    for (paper, ids) in chosen {
        let wanted = |id: &str| ids.is_empty() || ids.iter().any(|w| w == id);
        let reproduction = Reproduction::new(paper, level, wanted).map_err(|e| Failure::Run(e.to_string()))?;
        reproductions.push((reproduction.with_revision(revision), place(args, paper, level, &ids, several)));
    }
    let index = several.then(|| Index::new(args, level));
    if let Some(index) = &index {
        index.record(ui, reproductions.iter().map(|(it, dir)| (it.paper().name, dir.as_path())))?;
        if let [_, _, ..] = reproductions.as_slice() {
            let runs: usize = reproductions.iter().map(|(it, _)| it.runs()).sum();
            ui.note(&format!("{} papers: {runs} runs", reproductions.len()));
        }
    }
    let (mut results, mut places) = (Vec::new(), Vec::new());
    for (reproduction, dir) in &reproductions {
        let (found, lock) = one(reproduction, dir, args, ui)?;
        results.extend(found);
        places.push(("report", dir.clone(), report::of(&lock)));
        drop(lock);
        // What is finished is in the index, whatever becomes of the others. Why it cannot be written, the last says.
        let _ = index.as_ref().map(|index| index.build(ui));
    }
    if let Some(index) = &index {
        places.push(("index ", index.dir.clone(), index.build(ui)));
    }
    show(args, ui, &results, places)
}

/// A directory, the word for its page, and where that is or why it could not be written.
type Place = (&'static str, PathBuf, Result<PathBuf, Failure>);

fn show(args: &ReproduceArgs, ui: &Ui, results: &[ClaimResult], places: Vec<Place>) -> Result<Exit, Failure> {
    if !ui.json() {
        ui.print(&claims_table(ui, results))?;
    }
    for (word, dir, page) in places {
        // Under --json an error is the only document.
        let page = page?;
        if !ui.json() {
            ui.print(&format!("results  {}\n{word}   {}", dir.display(), page.display()))?;
        }
    }
    if ui.json() {
        ui.print_json(&Verdicts::new(results.to_vec()))?;
    }
    let broken = results.iter().any(|r| matches!(r.verdict, Verdict::NotReproduced | Verdict::Refuted));
    Ok(if args.strict && broken { Exit::Claims } else { Exit::Done })
}

/// The page of several papers.
struct Index {
    dir: PathBuf,
    level: Level,
}

impl Index {
    fn new(args: &ReproduceArgs, level: Level) -> Self {
        let words: String = args.names.iter().map(|name| format!("-{name}")).collect();
        let usual = || Path::new("runs").join(format!("reproduce{words}{}", suffix(level)));
        Self { dir: args.output.clone().unwrap_or_else(usual), level }
    }

    /// Says in its directory where the papers are. Without -o they lie beside it, with it inside.
    fn record<'a>(&self, ui: &Ui, papers: impl Iterator<Item = (&'a str, &'a Path)>) -> Result<(), Failure> {
        let folder = |dir: &Path| match dir.strip_prefix(&self.dir) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => format!("../{}", dir.file_name().unwrap_or_default().to_string_lossy()),
        };
        let papers: Vec<(&str, String)> = papers.map(|(name, dir)| (name, folder(dir))).collect();
        let begins = |dir: &Path, owner: &Owner| ui.waits(dir, owner);
        let wait = Wait { stop: interrupt::watch(), begins: &begins };
        forebay_lab::report::record_index(&self.dir, self.level.word(), &papers, &program::origin(), &wait)
            .map_err(Failure::Store)
    }

    fn build(&self, ui: &Ui) -> Result<PathBuf, Failure> {
        let begins = |dir: &Path, owner: &Owner| ui.waits(dir, owner);
        Ok(forebay_lab::report::build_index(&self.dir, &Wait { stop: interrupt::watch(), begins: &begins })?)
    }
}

/// What a directory of this level ends in.
const fn suffix(level: Level) -> &'static str {
    match level {
        Level::Quick => "-quick",
        Level::Normal => "",
        Level::Full => "-full",
    }
}

/// The papers named, each with the claims named; no claims means all of the paper's.
fn chosen(names: &[String]) -> Result<Vec<(&'static Paper, Vec<String>)>, Failure> {
    let mut chosen: Vec<(&Paper, Vec<String>)> = Vec::new();
    for paper in PAPERS {
        let ids = Reproduction::claim_ids(paper);
        let mine: Vec<String> = ids.into_iter().filter(|id| names.iter().any(|n| n.eq_ignore_ascii_case(id))).collect();
        if names.is_empty() || names.iter().any(|n| n.eq_ignore_ascii_case(paper.name)) {
            chosen.push((paper, Vec::new()));
        } else if !mine.is_empty() {
            chosen.push((paper, mine));
        }
    }
    let ids: Vec<String> = PAPERS.iter().flat_map(Reproduction::claim_ids).collect();
    let known: Vec<&str> = PAPERS.iter().map(|p| p.name).chain(ids.iter().map(String::as_str)).collect();
    let stranger = names.iter().find(|n| !known.iter().any(|k| k.eq_ignore_ascii_case(n)));
    if let Some(name) = stranger {
        let error =
            InputError::new("reproduce", "PAPER|CLAIM", Found::text(name), format!("one of {}", known.join(", ")));
        let near = nearest(name, known.iter().copied()).map(|near| format!("did you mean {near}?"));
        return Err(Failure::Input(error.hint(near)));
    }
    Ok(chosen)
}

/// `-o`, or a directory that says what is in it.
fn place(args: &ReproduceArgs, paper: &Paper, level: Level, ids: &[String], several: bool) -> PathBuf {
    if let Some(dir) = &args.output {
        return if several { dir.join(paper.name) } else { dir.clone() };
    }
    let level = suffix(level);
    let claims = if ids.is_empty() { String::new() } else { format!("-{}", ids.join("-")) };
    Path::new("runs").join(format!("reproduce-{}{claims}{level}", paper.name))
}

/// The claims of one paper, and the lock of its directory for the report.
fn one(
    reproduction: &Reproduction,
    dir: &Path,
    args: &ReproduceArgs,
    ui: &Ui,
) -> Result<(Vec<ClaimResult>, WriteLock), Failure> {
    let pool = pool(args.jobs)?;
    let stop = interrupt::watch();
    let finished = || pool.install(|| reproduction.finished(dir));
    let (runs, known) = (reproduction.runs(), finished());
    let known = if known > 0 { format!(", {known} of them there already") } else { String::new() };
    ui.note(&format!("{}: {runs} runs{known}", reproduction.paper().name));
    let progress = Progress::new(ui, reproduction.simulated_s());
    let waits = |dir: &Path, owner: &Owner| ui.waits(dir, owner);
    let control = Control { stop, progress: &|seconds| progress.advance(seconds), waits: &waits };
    let outcome = pool.install(|| reproduction.run(dir, &program::origin(), &control));
    progress.finish();
    outcome.map_err(|error| match error {
        ReproduceError::Batch(BatchError::Interrupted) => {
            Failure::Interrupted { dir: dir.to_path_buf(), done: finished(), total: runs }
        }
        ReproduceError::Batch(BatchError::Store(error)) | ReproduceError::Store(error) => Failure::Store(error),
        ReproduceError::Batch(BatchError::Run(error)) => Failure::Run(error.to_string()),
        ReproduceError::Files(reason) => Failure::Run(reason),
    })
}

fn claims_table(ui: &Ui, results: &[ClaimResult]) -> String {
    let mut table = Table::new(&["claim", "verdict", "checks", "decided by"]).words(&[1, 2, 3]);
    for result in results {
        let checks = &result.evidence.checks;
        let held = checks.iter().filter(|c| c.outcome == Outcome::Holds).count();
        let provisional = if result.provisional { " *" } else { "" };
        table.row(vec![
            result.id.clone(),
            format!("{}{provisional}", result.verdict.word()),
            format!("{held} of {}", checks.len()),
            deciding(checks).map_or_else(|| why_not(result), describe),
        ]);
        for variant in &result.evidence.variants {
            let held = variant.checks.iter().filter(|c| c.outcome == Outcome::Holds).count();
            let decided = deciding(&variant.checks).map_or_else(String::new, describe);
            table.row(vec![
                format!("  {}", variant.name),
                format!("  {}", variant.verdict.word()),
                format!("  {held} of {}", variant.checks.len()),
                format!("  {decided}"),
            ]);
        }
    }
    let mut out = table.render(ui, "");
    out.push('\n');
    for result in results {
        out.push_str(&titled(ui, &format!("{:<8}", result.id), &result.claim));
    }
    let counts = Verdict::ALL.iter().filter_map(|v| {
        let n = results.iter().filter(|r| r.verdict == *v).count();
        (n > 0).then(|| format!("{n} {}", v.word()))
    });
    out.push_str(&format!("\n{}", counts.collect::<Vec<_>>().join(", ")));
    if results.iter().any(|r| r.provisional) {
        out.push_str("   (* provisional: few seeds)");
    }
    out.push('\n');
    out
}

/// The check that decides: the first that fails, else the first that straddles, else the first.
fn deciding(checks: &[CheckResult]) -> Option<&CheckResult> {
    let first = |outcome| checks.iter().find(|c| c.outcome == outcome);
    first(Outcome::Fails).or_else(|| first(Outcome::Straddles)).or_else(|| checks.first())
}

/// Why a claim was not tried; empty for a theorem.
fn why_not(result: &ClaimResult) -> String {
    result.evidence.not_run().unwrap_or_default().to_string()
}

fn describe(check: &CheckResult) -> String {
    match (check.value, &check.note) {
        (Some(value), _) => format!("{}: {}, asked {}", check.what, crate::digits::short(value), check.bound),
        (None, note) => format!("{}: {}", check.what, note.as_deref().unwrap_or("nothing to measure")),
    }
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn names_are_known_in_any_case() {
        for name in ["raqm", "RAQM", "Raqm"] {
            let chosen = chosen(&[name.to_string()]).unwrap();
            assert_eq!(chosen.len(), 1, "{name}");
            assert!(chosen[0].0.name == "raqm" && chosen[0].1.is_empty(), "{name}");
        }
        assert_eq!(chosen(&["raqm-th1".to_string()]).unwrap()[0].1, ["RAQM-TH1"]);
    }
}
