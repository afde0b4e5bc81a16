//! `forebay tune`: searches for parameters of a discipline that meet aims (bounds on queue, delay or stability margins)
//! in the fluid model, then checks them in simulation.

use forebay_lab::commands::tune::{self, Outcome, Row};
use forebay_lab::input::{Found, InputError};
use forebay_lab::load;
use forebay_lab::render::digits::{interval, significant};
use forebay_lab::render::look::Tone;
use forebay_lab::render::summary;
use forebay_lab::render::text_table::Table;

use crate::args::TuneArgs;
use crate::args::batch::GridArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Searches for parameters, runs the simulation, and prints what model and simulation give for each aim.
pub(crate) fn command(args: &TuneArgs, ui: &Ui) -> Result<Exit, Failure> {
    let GridArgs { vary, batch } = &args.grid;
    let aims = tune::aims(&args.aims)?;
    let [given] = batch.aqm.as_slice() else {
        let found = Found::thing(format!("{} disciplines", batch.aqm.len()));
        return Err(InputError::new("--aqm", "", found, "one discipline to tune").into());
    };
    let cases = load::file(&batch.scenario, &batch.changes(vary))?;
    let found = ui.host(|host| tune::tune(&batch.batch(), &cases, given, &aims, host))?;
    let Outcome { document, mut summary, report } = found;
    summary.shown = batch.shown(summary.shown);
    if ui.json() {
        ui.print_json(&document)?;
    } else {
        let tables = if vary.is_empty() { summary::by_case } else { summary::by_point };
        let lead = ui.tone(Tone::Strong, &document.aqm);
        ui.print(&format!("{lead}\n\n{}\n{}", table(ui, &document.aims), tables(ui.look(), &summary)))?;
        ui.print(&format!("results  {}\nreport   {}", document.results.display(), report.display()))?;
    }
    Ok(Exit::Done)
}

fn table(ui: &Ui, rows: &[Row]) -> String {
    let mut table = Table::new(&["aim", "at", "model", "simulation", "unit", "holds"]);
    for row in rows {
        let at: Vec<String> = row.axes.words().map(|(axis, value)| format!("{axis}={value}")).collect();
        let holds = match (row.simulated.is_some(), row.holds) {
            (false, _) => "by the model",
            (true, Some(true)) => "yes",
            (true, Some(false)) => "no",
            (true, None) => "unclear",
        };
        let simulated =
            row.simulated.as_ref().map_or("-".to_string(), |found| interval(Some(found.mean), Some(found.half)));
        table.row(vec![
            row.aim.clone(),
            at.join(" "),
            row.model.map_or("any".to_string(), |x| significant(x, 3)),
            simulated,
            row.unit.to_string(),
            holds.to_string(),
        ]);
    }
    table.render(ui.look(), "")
}
