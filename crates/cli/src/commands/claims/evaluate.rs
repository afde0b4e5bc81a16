//! `forebay evaluate`: runs a suite of experiments and gives a verdict on each claim.

use forebay_lab::claims::{ClaimResult, Verdict};
use forebay_lab::commands::claims::evaluate::{self, Asked, Evaluated};
use forebay_lab::level::Level;
use forebay_lab::render::matrix;
use forebay_lab::render::text_table::Table;
use forebay_lab::results::verdicts::Verdicts;

use crate::args::EvaluateArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Runs the suite that the arguments name.
pub(crate) fn command(args: &EvaluateArgs, ui: &Ui) -> Result<Exit, Failure> {
    let level = match (args.quick, args.full) {
        (true, _) => Level::Quick,
        (_, true) => Level::Full,
        _ => Level::Normal,
    };
    let asked = Asked {
        suite: &args.suite,
        names: &args.names,
        aqm: &args.aqm,
        level,
        output: args.output.as_deref(),
        jobs: args.jobs.jobs,
    };
    let Evaluated { claims, calibrated: _, registered, dir, page } =
        ui.host(|host| evaluate::evaluate(&asked, host))?;
    if !ui.json() {
        ui.print(&table(ui, &claims))?;
        if let Some(registered) = &registered {
            ui.print(&format!("claims   {}", registered.text()))?;
        }
    }
    // Under --json the error replaces the result as the only document.
    let page = page?;
    let fails = claims.iter().any(|claim| {
        let variants = claim.evidence.variants.iter().map(|variant| variant.verdict);
        variants.chain([claim.verdict]).any(|verdict| matches!(verdict, Verdict::NotReproduced | Verdict::Refuted))
    });
    if ui.json() {
        ui.print_json(&Verdicts::new(claims))?;
    } else {
        ui.print(&format!("results  {}\nreport   {}", dir.display(), page.display()))?;
    }
    Ok(if args.strict && fails { Exit::Claims } else { Exit::Done })
}

/// A row for each claim, a column for each discipline, and how many claims hold for each.
fn table(ui: &Ui, claims: &[ClaimResult]) -> String {
    let matrix = matrix::of(claims);
    let mut out = totals(&matrix);
    let headings: Vec<&str> = ["claim"].into_iter().chain(matrix.contenders.iter().map(String::as_str)).collect();
    let words: Vec<usize> = (1..headings.len()).collect();
    let mut table = Table::new(&headings).words(&words);
    for row in &matrix.rows {
        table.row([row.id.clone()].into_iter().chain(row.cells.iter().cloned()).collect());
    }
    out.push('\n');
    out.push_str(&table.render(ui.look(), ""));
    out.push('\n');
    for row in &matrix.rows {
        out.push_str(&ui.look().titled(&format!("{:<8}", row.id), &row.claim));
    }
    for claim in claims {
        if let Some(reason) = claim.evidence.not_run() {
            out.push_str(&ui.look().titled(&format!("{:<8}", claim.id), &format!("not run: {reason}")));
        }
        if let Some(why) = &claim.why {
            out.push_str(&ui.look().titled(&format!("{:<8}", claim.id), &format!("{}: {why}", claim.verdict.word())));
        }
    }
    out.push('\n');
    out.push_str(&ui.look().wrap("", matrix::LEGEND));
    out
}

/// How many claims hold for each discipline.
fn totals(matrix: &matrix::Matrix) -> String {
    let line = |(place, name): (usize, &String)| {
        let [holds, fails, undecided] = matrix.counts(place);
        let name = if matrix.is_for_several { format!("{name}: ") } else { String::new() };
        let rest = if undecided > 0 { format!(", {undecided} undecided") } else { String::new() };
        format!("{name}{holds} of {} claims hold{rest}\n", holds + fails + undecided)
    };
    matrix.contenders.iter().enumerate().map(line).collect()
}
