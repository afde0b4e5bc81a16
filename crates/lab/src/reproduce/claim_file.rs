//! Reads and checks `claims.toml`, the claims of a paper and how each is tested. A section is one experiment of the
//! paper: a scenario, and the discipline that decides the verdicts.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::claims::calibration::Calibration;
use crate::claims::exhibits::{Figure, Table};
use crate::claims::{Claim, Section};
use crate::figures::level::Seeds;
use crate::results::quantity::Quantity;

/// The content of a `claims.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFile {
    /// Format version, 1.
    pub version: u32,
    /// Name of the paper on the command line.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Authors of the paper.
    pub authors: String,
    /// Number of seeds for each level of effort (`--quick`, normal, `--full`); default 3, 10 and 30
    /// ([`Level::seeds`](crate::figures::level::Level::seeds)).
    #[serde(default)]
    pub seeds: Seeds,
    /// Of a suite: the disciplines for which the sections without a subject are tested, if the command names no others.
    #[serde(default)]
    pub aqm: Vec<String>,
    /// Of a suite: the discipline that is compared with those of `aqm` in these sections.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Of a suite: keys whose values follow from runs.
    #[serde(default, rename = "calibrate")]
    pub calibrations: Vec<Calibration>,
    /// Experiments of the paper.
    #[serde(default, rename = "section")]
    pub sections: Vec<Section>,
    /// Claims of the paper.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Figures of the paper.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
    /// Tables of the paper.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
}

impl ClaimFile {
    /// Whether the claims of `section` are tested for each discipline of [`aqm`](Self::aqm).
    pub fn is_open(&self, section: &Section) -> bool {
        !self.aqm.is_empty() && section.subject.is_empty() && section.scenario.is_some()
    }
}

/// What another file of the folder adds to `claims.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Addition {
    #[serde(default, rename = "calibrate")]
    _calibrations: Vec<Calibration>,
    #[serde(default, rename = "section")]
    _sections: Vec<Section>,
    #[serde(default, rename = "claim")]
    _claims: Vec<Claim>,
    #[serde(default, rename = "figure")]
    _figures: Vec<Figure>,
    #[serde(default, rename = "table")]
    _tables: Vec<Table>,
}

/// Checks the keys of a file and the types of their values. `is_first`: it is `claims.toml`, not an addition to it.
///
/// # Errors
/// A key is unknown, missing or has a value of another type, or the text is not TOML.
pub fn check_keys(text: &str, is_first: bool) -> Result<(), toml::de::Error> {
    if is_first { toml::from_str::<ClaimFile>(text).map(drop) } else { toml::from_str::<Addition>(text).map(drop) }
}

/// Reads and checks the text of a `claims.toml`. An error names the claim, figure or table.
pub fn parse(text: &str) -> Result<ClaimFile, String> {
    let file: ClaimFile = toml::from_str(text).map_err(|e| e.to_string())?;
    if file.version != 1 {
        return Err(format!("version {} of claims.toml is not 1", file.version));
    }
    if file.claims.is_empty() {
        return Err("there is no [[claim]]".to_string());
    }
    let ids = file.sections.iter().map(|s| ("sections", &s.id)).chain(file.claims.iter().map(|c| ("claims", &c.id)));
    let mut known = BTreeSet::new();
    if let Some((what, id)) = ids.into_iter().find(|id| !known.insert(*id)) {
        return Err(format!("{id}: there are two {what} of this name"));
    }
    for claim in &file.claims {
        if !file.sections.iter().any(|s| s.id == claim.section) {
            return Err(format!("{}: there is no section '{}'", claim.id, claim.section));
        }
        let ways = [claim.theorem.is_some(), claim.not_run.is_some(), !claim.checks.is_empty()];
        if ways.iter().filter(|way| **way).count() != 1 {
            return Err(format!("{}: needs exactly one of check, theorem and not_run", claim.id));
        }
        if claim.why.as_ref().is_some_and(|why| claim.not_run.is_some() || why.trim().is_empty()) {
            return Err(format!("{}: why needs text and a claim that is tested", claim.id));
        }
        if !claim.checks.is_empty() && claim.checks.iter().all(|check| check.added) {
            return Err(format!("{}: every check is added, so nothing decides the verdict", claim.id));
        }
        for check in &claim.checks {
            let is_part = |part: f64| part > 0.0 && part <= 1.0 && check.against.is_some() && check.other().is_some();
            if !check.overlap.is_none_or(is_part) {
                return Err(format!(
                    "{}: the check '{}' has an overlap that is not above 0 and at most 1, or does not compare curves",
                    claim.id, check.what
                ));
            }
            let compared = check.other().is_some() && check.against.is_none();
            if !check.plus.is_empty() && (!compared || check.there.is_empty()) {
                return Err(format!(
                    "{}: the check '{}' has plus without there, or without a contender to compare with",
                    claim.id, check.what
                ));
            }
            if check.times.is_some_and(|times| !compared || !times.is_finite() || times <= 0.0) {
                return Err(format!(
                    "{}: the check '{}' has times without a contender to compare with, or not above 0",
                    claim.id, check.what
                ));
            }
            for quantity in std::iter::once(&check.quantity).chain(&check.against) {
                Quantity::parse(quantity).map_err(|e| format!("{}: {e}", claim.id))?;
            }
        }
        if let Some(check) = claim.checks.iter().find(|check| check.relative_to.is_some() && check.against.is_some()) {
            return Err(format!("{}: the check '{}' has relative_to with against", claim.id, check.what));
        }
        if let Some(check) = claim.checks.iter().find(|check| !check.has_bound()) {
            return Err(format!("{}: the check '{}' has no bound", claim.id, check.what));
        }
    }
    for calibration in &file.calibrations {
        calibration.check(&file.sections)?;
        Quantity::parse(&calibration.quantity).map_err(|error| format!("calibrate {}: {error}", calibration.key))?;
    }
    if !file.sections.iter().map(|s| s.seeds).chain([file.seeds]).all(Seeds::is_sound) {
        return Err("a number of seeds is not from 1 to 100000".to_string());
    }
    check_exhibits(&file)?;
    Ok(file)
}

/// Checks the figures and tables of a `claims.toml`.
fn check_exhibits(file: &ClaimFile) -> Result<(), String> {
    let figures = file.figures.iter().map(|f| (&f.id, &f.section, &f.claims, f.check(), f.is_theory()));
    let tables = file.tables.iter().map(|t| (&t.id, &t.section, &t.claims, t.check(), false));
    let mut ids = BTreeSet::new();
    for (id, section, claims, sound, is_theory) in figures.chain(tables) {
        sound?;
        if !ids.insert(id) {
            return Err(format!("{id}: there are two of this name"));
        }
        if !file.sections.iter().any(|s| s.id == *section && (s.scenario.is_some() || is_theory)) {
            return Err(format!("{id}: there is no section '{section}' with a scenario"));
        }
        if let Some(lost) = claims.iter().find(|claim| !file.claims.iter().any(|c| c.id == **claim)) {
            return Err(format!("{id}: there is no claim '{lost}'"));
        }
    }
    Ok(())
}
