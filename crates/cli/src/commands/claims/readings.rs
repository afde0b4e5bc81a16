//! `forebay readings`: searches readings of a paper. A reading is a combination of values for the settings (dimensions)
//! that the paper does not state.

use std::time::Duration;

use forebay_lab::claims::Verdict;
use forebay_lab::commands::claims::readings::{self, Asked};
use forebay_lab::readings::summary::{BestReading, ClaimReadings, ReadingsSummary};
use forebay_lab::render::digits::significant;
use forebay_lab::render::text_table::Table;

use crate::args::ReadingsArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Largest number of dimensions that the printed result lists as the most influential.
const MAX_DIMENSIONS: usize = 4;
/// Largest number of readings that the printed result lists as the best (under which most claims hold). The file of
/// results has further ones.
const MAX_READINGS: usize = 5;
/// The printed result does not list dimensions whose first-order sensitivity index is smaller.
const MIN_INDEX: f64 = 0.02;

/// Searches readings of a paper and prints which claims hold under which of them.
pub(crate) fn command(args: &ReadingsArgs, ui: &Ui) -> Result<Exit, Failure> {
    let asked = Asked {
        paper: &args.paper,
        output: args.output.as_deref(),
        readings: args.readings as usize,
        seeds: args.seeds,
        confirm: args.confirm,
        budget: args.budget.map(Duration::from_secs),
        jobs: args.jobs.jobs,
    };
    let (summary, file) = ui.host(|host| readings::readings(&asked, host))?;
    if ui.json() {
        ui.print_json(&summary)?;
    } else {
        ui.print(&text(ui, &summary))?;
        ui.print(&format!("results  {}", file.display()))?;
    }
    Ok(Exit::Done)
}

fn text(ui: &Ui, summary: &ReadingsSummary) -> String {
    let ReadingsSummary { paper, size, tried, differing, sampled, seeds, claims, .. } = summary;
    let decidable = |id: &String| claims.iter().any(|claim| claim.decidable && claim.id == *id);
    let possible = claims.iter().filter(|claim| claim.decidable && claim.found > 0).count();
    let best = summary.best.first().map_or(0, |best| best.claims.iter().filter(|id| decidable(id)).count());
    let (first, all) = (summary.first(), summary.decidable());
    let confirmed = summary.most_under_one();
    let answer = match summary.confirmed() {
        Some([some, differing]) => {
            let some = some.len();
            let more = match differing.len() {
                0 => String::new(),
                more => format!("; {more} more only under readings that differ from what the paper prints"),
            };
            format!("Fresh seeds confirm {some} of {all} claims under some reading, {confirmed} under one{more}")
        }
        None => format!("{possible} of {all} claims hold under some of {tried} readings, {best} under the best one"),
    };
    let mut out = format!("{paper}: {answer}; {first} hold under the first reading.\n");
    let is_never = |claim: &&ClaimReadings| claim.decidable && claim.found == 0;
    let never: Vec<&str> = claims.iter().filter(is_never).map(|claim| claim.id.as_str()).collect();
    if !never.is_empty() {
        out += &ui.look().wrap("", &format!("Under none of {tried} readings: {}.", never.join(", ")));
    }
    out.push('\n');
    let heads = ["claim", "first", "holds in", "of readings", "best", "holds if (holds otherwise)"];
    let mut table = Table::new(&heads).units(&["", "", "%", "95 %", "checks", ""]).words(&[1, 5]);
    for claim in claims {
        let percent = |x: f64| significant(100.0 * x, 2);
        let [low, high] = claim.interval;
        let rule = claim.rule.as_ref().map_or_else(String::new, |rule| {
            format!("{}: {} % ({} %)", rule.text, percent(rule.holds), percent(rule.otherwise))
        });
        table.row(vec![
            claim.id.clone(),
            if claim.first { "yes" } else { "no" }.to_string(),
            percent(claim.share),
            format!("{} to {}", percent(low), percent(high)),
            claim.checks.text(),
            rule,
        ]);
    }
    out += &table.render(ui.look(), "");
    out += "\nThe best readings, as changes of the first one:\n";
    for (number, best) in summary.best.iter().take(MAX_READINGS).enumerate() {
        out += &ui.look().wrap(&format!("{}. ", number + 1), &described(best));
    }
    for conflict in &summary.conflicts {
        out += &ui.look().wrap("", &format!("Hold together under no reading: {}.", conflict.join(", ")));
    }
    let matter = summary.sensitivity.iter().filter(|it| it.index >= MIN_INDEX).take(MAX_DIMENSIONS);
    let matter: Vec<String> = matter.map(|it| format!("{} {}", it.dimension, significant(it.index, 2))).collect();
    if !matter.is_empty() {
        out += &ui.look().wrap("", &format!("What matters most (first-order index): {}.", matter.join(", ")));
    }
    let seeds = if *seeds == 1 { "one seed".to_string() } else { format!("{seeds} seeds") };
    out += &ui.look().wrap(
        "",
        &format!(
            "{tried} of {size} readings were tried with {seeds} each, {sampled} of them a sample by plausibility, from \
             which the percentages are, and {differing} more that differ from what the paper prints. They were found \
             after the fact: the verdicts of `reproduce` do not change."
        ),
    );
    out
}

fn described(best: &BestReading) -> String {
    let BestReading { reading, claims, directions, checks, distance, confirmed, .. } = best;
    let claims = if claims.is_empty() { "none".to_string() } else { claims.join(", ") };
    let directions = match directions.as_slice() {
        [] => String::new(),
        some => format!("; what the paper prints of {}", some.join(", ")),
    };
    let differs = match best.differs.as_slice() {
        [] => String::new(),
        some => format!(" (the paper prints another value: {})", some.join(", ")),
    };
    let fresh = confirmed.as_ref().map_or_else(String::new, |confirmed| {
        let of = |verdict: Verdict| -> Vec<&str> {
            confirmed.verdicts.iter().filter(|it| it.verdict == verdict).map(|it| it.id.as_str()).collect()
        };
        let list = |ids: Vec<&str>| if ids.is_empty() { "none".to_string() } else { ids.join(", ") };
        format!(
            " With {} fresh seeds and intervals: reproduced {}; inconclusive {}.",
            confirmed.seeds,
            list(of(Verdict::Reproduced)),
            list(of(Verdict::Inconclusive))
        )
    });
    format!(
        "{reading}{differs}. Holds: {claims}{directions}; {checks} checks; distance {}.{fresh}",
        significant(*distance, 2)
    )
}
