//! `forebay evaluate`: runs a suite of experiments and decides its claims.

use std::path::{Path, PathBuf};

use forebay_aqm::base::nearest::{nearest, one_of};

use super::super::failure::Failure;
use super::super::host::Host;
use super::super::{report, run};
use super::reproduce::{one, suffix};
use crate::claims::ClaimResult;
use crate::claims::calibration::Calibrated;
use crate::claims::papers::Paper;
use crate::claims::registration::Registered;
use crate::disk::store_error::Owner;
use crate::figures::level::Level;
use crate::reproduce::{Chosen, Reproduction, Shared};
use crate::run::batch::Control;
use crate::run::guard::Guard;
use crate::scenario::{Found, InputError};
use crate::suites;

/// Arguments of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Name of a built-in suite, or path of a folder.
    pub suite: &'a str,
    /// Ids of claims or sections; empty means all.
    pub names: &'a [String],
    /// Disciplines to test; empty means those of the suite.
    pub aqm: &'a [String],
    /// Level of effort, which sets the number of seeds: `--quick`, normal or `--full`.
    pub level: Level,
    /// Output directory; default `runs/evaluate-SUITE`.
    pub output: Option<&'a Path>,
    /// Concurrent runs; default one per core.
    pub jobs: Option<u16>,
}

/// Results of an evaluation.
pub struct Evaluated {
    /// The claims, in the order of the suite.
    pub claims: Vec<ClaimResult>,
    /// Keys whose values follow from runs.
    pub calibrated: Vec<Calibrated>,
    /// The registration of the claims, if it was made before the first run.
    pub registered: Option<Registered>,
    /// The directory of the results.
    pub dir: PathBuf,
    /// The path of its report, or the reason why it could not be written.
    pub page: Result<PathBuf, Failure>,
}

/// Runs a suite.
///
/// # Errors
/// The suite, a claim or a discipline is unknown or invalid, results cannot be stored, or the command was interrupted.
pub fn evaluate(asked: &Asked<'_>, host: &Host<'_>) -> Result<Evaluated, Failure> {
    let suite = suites::find(asked.suite)?;
    let dir = directory(asked, suite);
    let made = prepared(asked, suite, host)?;
    for calibrated in made.calibrated() {
        host.note(&format!("calibration: {}", calibrated.text()));
    }
    if made.is_registered_late(&dir) {
        host.note(&format!(
            "{} has runs from before the registration of the claims: they count as not registered",
            dir.display()
        ));
    }
    let (claims, lock) = one(&made, &dir, asked.jobs, host)?;
    let page = report::of(&lock);
    let registered = made.registered(&dir);
    Ok(Evaluated { claims, calibrated: made.calibrated().to_vec(), registered, dir, page })
}

/// The directory of the results, and the scenarios of the suite with their changes and seeds. Other processes can run
/// them; their results belong into the folders of the directory. [`evaluate`] then finds these runs there.
///
/// # Errors
/// As [`evaluate`].
pub fn scenarios(asked: &Asked<'_>, host: &Host<'_>) -> Result<(PathBuf, Vec<Shared>), Failure> {
    let suite = suites::find(asked.suite)?;
    let (dir, made) = (directory(asked, suite), prepared(asked, suite, host)?);
    host.waiting(|wait| made.claim(&dir, host.origin, wait))?;
    Ok((dir, made.shared()))
}

fn directory(asked: &Asked<'_>, suite: &Paper) -> PathBuf {
    let usual = || Path::new("runs").join(format!("evaluate-{}{}", suite.name, suffix(asked.level)));
    asked.output.map_or_else(usual, Path::to_path_buf)
}

/// The suite with the chosen claims and disciplines, calibrated.
fn prepared(asked: &Asked<'_>, suite: &'static Paper, host: &Host<'_>) -> Result<Reproduction, Failure> {
    let sections = Reproduction::sections(suite);
    let known: Vec<&str> = sections.iter().flat_map(|(section, claim)| [section.as_str(), claim.as_str()]).collect();
    let is_known = |name: &String| known.iter().any(|known| known.eq_ignore_ascii_case(name));
    if let Some(stranger) = asked.names.iter().find(|name| !is_known(name)) {
        let accepted = format!("a claim or section of {}, {}", suite.name, one_of(stranger, &known));
        let near = nearest(stranger, known.iter().copied()).map(|near| format!("did you mean {near}?"));
        return Err(InputError::new("evaluate", "CLAIM", Found::text(stranger), accepted).hint(near).into());
    }
    if !asked.aqm.is_empty() && !Reproduction::has_open_sections(suite) {
        let accepted = format!("no --aqm: the claims of {} name their disciplines", suite.name);
        return Err(InputError::new("evaluate", "--aqm", Found::text(&asked.aqm.join(" ")), accepted).into());
    }
    let is_asked = |name: &str| asked.names.iter().any(|asked| asked.eq_ignore_ascii_case(name));
    let section_of = |id: &str| sections.iter().find(|(_, claim)| claim == id).map_or("", |(section, _)| section);
    let wanted = |id: &str| asked.names.is_empty() || is_asked(id) || is_asked(section_of(id));
    let waits = |dir: &Path, owner: &Owner| host.waits(dir, owner);
    let control = Control { stop: host.stop, progress: &|_| (), waits: &waits, memory: &Guard::NONE };
    let (dir, build) = (directory(asked, suite), (host.build)());
    let chosen = Chosen { aqm: asked.aqm.to_vec(), known: Reproduction::calibrations_in(&dir, &build) };
    let interrupted = || Failure::Interrupted { dir: None, done: 0, total: 0 };
    run::pool(asked.jobs)?
        .install(|| Reproduction::of_suite(suite, asked.level, wanted, &chosen, &control))
        .map(|made| made.with_revision(&build))
        .map_err(|error| Failure::of_reproduction(error, interrupted))
}
