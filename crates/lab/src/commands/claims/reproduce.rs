//! `forebay reproduce`: runs the experiments of papers and decides their claims.

use std::path::{Path, PathBuf};

use forebay_aqm::base::nearest::{nearest, one_of};

use super::super::failure::Failure;
use super::super::host::Host;
use super::super::{report, run};
use crate::claims::ClaimResult;
use crate::claims::papers::{PAPERS, Paper};
use crate::disk::lock::WriteLock;
use crate::disk::store_error::Owner;
use crate::figures::level::Level;
use crate::report as pages;
use crate::reproduce::Reproduction;
use crate::run::batch::Control;
use crate::run::guard::Guard;
use crate::scenario::{Found, InputError};

/// Arguments of a reproduction.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Papers or ids of claims; empty means all papers.
    pub names: &'a [String],
    /// Level of effort, which sets the number of seeds: `--quick`, normal or `--full`.
    pub level: Level,
    /// Output directory; several papers get a folder each.
    pub output: Option<&'a Path>,
    /// Concurrent runs; default one per core.
    pub jobs: Option<u16>,
}

/// Label of a page (a report, or the overview of several papers), its directory, and the page's path or the reason why
/// the page could not be written.
pub type Place = (&'static str, PathBuf, Result<PathBuf, Failure>);

/// Results of a reproduction.
pub struct Reproduced {
    /// The claims, in the order of their papers.
    pub claims: Vec<ClaimResult>,
    /// The directories and their pages.
    pub places: Vec<Place>,
}

/// Reproduces papers. Each paper has its own directory; several papers also get an index page, an overview of their
/// claims.
///
/// # Errors
/// A name is unknown, results cannot be stored, or the command was interrupted.
pub fn reproduce(asked: &Asked<'_>, host: &Host<'_>) -> Result<Reproduced, Failure> {
    let chosen = chosen(asked.names)?;
    let several = asked.names.is_empty() || chosen.len() > 1;
    let (build, mut reproductions) = ((host.build)(), Vec::new());
    for (paper, ids) in chosen {
        let wanted = |id: &str| ids.is_empty() || ids.iter().any(|w| w == id);
        let reproduction = Reproduction::new(paper, asked.level, wanted).map_err(|e| Failure::Run(e.to_string()))?;
        reproductions.push((reproduction.with_revision(&build), place(asked, paper, &ids, several)));
    }
    let index = several.then(|| Index::new(asked));
    if let Some(index) = &index {
        index.record(host, reproductions.iter().map(|(it, dir)| (it.paper().name, dir.as_path())))?;
        if let [_, _, ..] = reproductions.as_slice() {
            let runs: usize = reproductions.iter().map(|(it, _)| it.runs()).sum();
            host.note(&format!("{} papers: {runs} runs", reproductions.len()));
        }
    }
    let (mut claims, mut places) = (Vec::new(), Vec::new());
    for (reproduction, dir) in &reproductions {
        let (found, lock) = one(reproduction, dir, asked.jobs, host)?;
        claims.extend(found);
        places.push(("report", dir.clone(), report::of(&lock)));
        drop(lock);
        // Index of the papers that are finished so far, in case later papers fail. The last call reports an error.
        let _ = index.as_ref().map(|index| index.build(host));
    }
    if let Some(index) = &index {
        places.push(("index ", index.dir.clone(), index.build(host)));
    }
    Ok(Reproduced { claims, places })
}

/// The index page: an overview of the claims of several papers.
struct Index {
    dir: PathBuf,
    level: Level,
}

impl Index {
    fn new(asked: &Asked<'_>) -> Self {
        let words: String = asked.names.iter().map(|name| format!("-{name}")).collect();
        let usual = || Path::new("runs").join(format!("reproduce{words}{}", suffix(asked.level)));
        Self { dir: asked.output.map_or_else(usual, Path::to_path_buf), level: asked.level }
    }

    /// Records in the directory of the index page where the results of the papers are. With `-o` they are inside this
    /// directory; without `-o` they are next to it.
    fn record<'a>(&self, host: &Host<'_>, papers: impl Iterator<Item = (&'a str, &'a Path)>) -> Result<(), Failure> {
        let folder = |dir: &Path| match dir.strip_prefix(&self.dir) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => format!("../{}", dir.file_name().unwrap_or_default().to_string_lossy()),
        };
        let papers: Vec<(&str, String)> = papers.map(|(name, dir)| (name, folder(dir))).collect();
        Ok(host.waiting(|wait| pages::record_index(&self.dir, self.level.word(), &papers, host.origin, wait))?)
    }

    fn build(&self, host: &Host<'_>) -> Result<PathBuf, Failure> {
        Ok(host.waiting(|wait| pages::build_index(&self.dir, wait))?)
    }
}

/// Suffix of the name of an output directory for this level of effort.
pub(super) const fn suffix(level: Level) -> &'static str {
    match level {
        Level::Quick => "-quick",
        Level::Normal => "",
        Level::Full => "-full",
    }
}

/// The papers that `names` selects, each with the ids of its selected claims. An empty list of ids means all claims of
/// the paper.
fn chosen(names: &[String]) -> Result<Vec<(&'static Paper, Vec<String>)>, InputError> {
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
    let known: Vec<&str> = PAPERS.iter().map(|p| p.name).chain(ids.iter().map(|id| &**id)).collect();
    let stranger = names.iter().find(|n| !known.iter().any(|k| k.eq_ignore_ascii_case(n)));
    if let Some(name) = stranger {
        let error = InputError::new("reproduce", "PAPER|CLAIM", Found::text(name), one_of(name, &known));
        let near = nearest(name, known.iter().copied()).map(|near| format!("did you mean {near}?"));
        return Err(error.hint(near));
    }
    Ok(chosen)
}

/// Directory for the results of a paper: that of `-o`, or one below `runs` with the names of the paper, the selected
/// claims and the level in its name.
fn place(asked: &Asked<'_>, paper: &Paper, ids: &[String], several: bool) -> PathBuf {
    if let Some(dir) = asked.output {
        return if several { dir.join(paper.name) } else { dir.to_path_buf() };
    }
    let level = suffix(asked.level);
    let claims = if ids.is_empty() { String::new() } else { format!("-{}", ids.join("-")) };
    Path::new("runs").join(format!("reproduce-{}{claims}{level}", paper.name))
}

/// Reproduces the claims of one paper. Returns the claims, and the lock of the paper's directory for the report.
pub(super) fn one(
    reproduction: &Reproduction,
    dir: &Path,
    jobs: Option<u16>,
    host: &Host<'_>,
) -> Result<(Vec<ClaimResult>, WriteLock), Failure> {
    let pool = run::pool(jobs)?;
    let finished = || pool.install(|| reproduction.finished(dir));
    let (runs, known) = (reproduction.runs(), finished());
    let known = if known > 0 { format!(", {known} of them already finished") } else { String::new() };
    host.note(&format!("{}: {runs} runs{known}", reproduction.paper().name));
    let progress = (host.progress)(reproduction.simulated_s());
    let waits = |dir: &Path, owner: &Owner| host.waits(dir, owner);
    let control = Control {
        stop: host.stop,
        progress: &|seconds| progress.advance(seconds),
        waits: &waits,
        memory: &Guard::NONE,
    };
    let outcome = pool.install(|| reproduction.run(dir, host.origin, &control));
    drop(progress);
    outcome.map_err(|error| {
        let interrupted = || Failure::Interrupted { dir: Some(dir.to_path_buf()), done: finished(), total: runs };
        Failure::of_reproduction(error, interrupted)
    })
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn paper_names_ignore_letter_case() {
        for name in ["raqm", "RAQM", "Raqm"] {
            let chosen = chosen(&[name.to_string()]).unwrap();
            assert_eq!(chosen.len(), 1, "{name}");
            assert!(chosen[0].0.name == "raqm" && chosen[0].1.is_empty(), "{name}");
        }
        assert_eq!(chosen(&["raqm-th1".to_string()]).unwrap()[0].1, ["RAQM-TH1"]);
    }
}
