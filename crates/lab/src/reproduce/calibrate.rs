//! Runs the calibrations of a suite.

use super::ReproduceError;
use crate::claims::calibration::{Calibrated, Calibration};
use crate::claims::papers::Paper;
use crate::load;
use crate::results::quantity;
use crate::run::batch::{self, BatchError, Control};
use crate::run::plan::{Plan, hex_hash};
use crate::scenario::Overrides;

/// Searches the value of a key with runs of its first scenario with seed 1. A known result of the same search is taken.
pub(super) fn calibrate(
    calibration: &Calibration,
    paper: &Paper,
    known: &[Calibrated],
    control: &Control,
) -> Result<Calibrated, ReproduceError> {
    let hash = hex_hash(format!("{calibration:?}\n{}", planned(calibration, paper, calibration.first)?.hash()));
    if let Some(same) = known.iter().find(|known| known.hash == hash) {
        return Ok(same.clone());
    }
    let found = calibration.search(|value| measure(calibration, paper, value, control))?;
    Ok(Calibrated { hash, ..found })
}

fn planned(calibration: &Calibration, paper: &Paper, value: u32) -> Result<Plan, ReproduceError> {
    let overrides = Overrides {
        sets: vec![format!("{}={value}", calibration.key)],
        aqm: vec![calibration.of.clone()],
        ..Overrides::default()
    };
    let name = calibration.scenarios.first().map_or("", String::as_str);
    let (path, text) = paper.scenario(name).ok_or_else(|| ReproduceError::no_scenario(name))?;
    let cases = load::parse(&path, text, &overrides).map_err(ReproduceError::Input)?;
    Ok(Plan::new(cases, 1, 1))
}

fn measure(calibration: &Calibration, paper: &Paper, value: u32, control: &Control) -> Result<f64, ReproduceError> {
    let plan = planned(calibration, paper, value)?;
    let Some(job) = plan.jobs().first().copied() else { return Ok(f64::NAN) };
    let record = batch::one(&plan, job, None, control).map_err(ReproduceError::Batch)?;
    let record = record.ok_or(ReproduceError::Batch(BatchError::Interrupted))?;
    quantity::of(&record, &calibration.quantity).map_err(ReproduceError::Files)
}
