//! `forebay reproduce`: runs a paper's experiments and gives a verdict on each claim.

use forebay_lab::arithmetic::{Agreement, Kind, Side};
use forebay_lab::claims::grade::{Checks, Grade};
use forebay_lab::claims::{CheckResult, ClaimResult, Verdict, deciding};
use forebay_lab::commands::claims::reproduce::{self, Asked, Reproduced};
use forebay_lab::level::Level;
use forebay_lab::render::digits::short;
use forebay_lab::render::text_table::Table;
use forebay_lab::results::verdicts::{self, Verdicts};

use crate::args::ReproduceArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Reproduces the papers or claims that the arguments name. Each paper has its own directory of results; several papers
/// also have an index page.
pub(crate) fn command(args: &ReproduceArgs, ui: &Ui) -> Result<Exit, Failure> {
    let level = match (args.quick, args.full) {
        (true, _) => Level::Quick,
        (_, true) => Level::Full,
        _ => Level::Normal,
    };
    let asked = Asked { names: &args.names, level, output: args.output.as_deref(), jobs: args.jobs.jobs };
    let Reproduced { claims, places } = ui.host(|host| reproduce::reproduce(&asked, host))?;
    if !ui.json() {
        ui.print(&claims_table(ui, &claims))?;
    }
    for (word, dir, page) in places {
        // Under --json the error replaces the result as the only document.
        let page = page?;
        if !ui.json() {
            ui.print(&format!("results  {}\n{word}   {}", dir.display(), page.display()))?;
        }
    }
    let broken = claims.iter().any(|r| matches!(r.verdict, Verdict::NotReproduced | Verdict::Refuted));
    if ui.json() {
        ui.print_json(&Verdicts::new(claims))?;
    }
    Ok(if args.strict && broken { Exit::Claims } else { Exit::Done })
}

fn claims_table(ui: &Ui, results: &[ClaimResult]) -> String {
    let mut table = Table::new(&["claim", "grade", "verdict", "checks", "decided by"]).words(&[1, 2, 3, 4]);
    for result in results {
        let checks = &result.evidence.checks;
        let provisional = if result.provisional { " *" } else { "" };
        table.row(vec![
            result.id.clone(),
            result.grade.map_or("", Grade::word).to_string(),
            format!("{}{provisional}", result.verdict.word()),
            if checks.is_empty() { String::new() } else { result.checks.text() },
            deciding(checks).map_or_else(|| why_not(result), describe),
        ]);
        for variant in &result.evidence.variants {
            let decided = deciding(&variant.checks).map_or_else(String::new, describe);
            table.row(vec![
                format!("  {}", variant.name),
                String::new(),
                format!("  {}", variant.verdict.word()),
                format!("  {}", Checks::of(&variant.checks).text()),
                format!("  {decided}"),
            ]);
        }
    }
    let mut out = table.render(ui.look(), "");
    out.push('\n');
    for result in results {
        out.push_str(&ui.look().titled(&format!("{:<8}", result.id), &result.claim));
        let why = result.why.iter().filter(|why| **why != result.reason);
        let reason = Some(&result.reason).filter(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!("{}: {reason}", result.grade.map_or("", Grade::word)));
        for line in reason.into_iter().chain(why.map(|why| format!("{}: {why}", result.verdict.word()))) {
            out.push_str(&ui.look().wrap(&" ".repeat(10), &line));
        }
    }
    out.push_str(&arithmetic(ui, results));
    let count = |word: &str, n: usize| (n > 0).then(|| format!("{n} {word}"));
    let grades = Grade::ALL
        .iter()
        .filter_map(|grade| count(grade.word(), results.iter().filter(|result| result.grade == Some(*grade)).count()));
    let verdicts = Verdict::ALL.iter().filter_map(|verdict| {
        count(verdict.word(), results.iter().filter(|result| result.verdict == *verdict).count())
    });
    let [grades, verdicts] = [grades.collect::<Vec<_>>(), verdicts.collect()].map(|words| words.join(", "));
    out.push_str(&format!("\ngrades: {grades}\nverdicts of the first reading: {verdicts}"));
    if results.iter().any(|r| r.provisional) {
        out.push_str("   (* provisional: few seeds)");
    }
    out.push('\n');
    out
}

/// Relations such as Little's law between numbers that a paper prints: a line for each relation that the numbers
/// contradict, and how many relations agree with them.
fn arithmetic(ui: &Ui, results: &[ClaimResult]) -> String {
    let all = verdicts::relations(results);
    let contradicted = || all.iter().filter(|relation| relation.agreement == Agreement::Contradicts);
    if all.is_empty() {
        return String::new();
    }
    let agree = all.len() - contradicted().count();
    let mut out = format!("\nrelations between printed numbers: {agree} of {} agree\n", all.len());
    for relation in contradicted() {
        let side = |side: &Side| match (short(side.interval.from), short(side.interval.to)) {
            (from, to) if from == to => from,
            (from, to) => format!("{from} to {to}"),
        };
        let unit = if relation.unit.is_empty() { String::new() } else { format!(" {}", relation.unit) };
        let [this, other] = [&relation.this, &relation.other].map(side);
        let is_ours = relation.numbers.iter().any(|number| number.kind == Kind::Words);
        let words = if is_ours { " (with our reading of a word)" } else { "" };
        let text = format!("contradiction{words}: {}: {this} against {other}{unit}", relation.what);
        out.push_str(&ui.look().titled(&format!("{:<8}", relation.id), &text));
    }
    out
}

/// Why a claim was not tested; empty if it was.
fn why_not(result: &ClaimResult) -> String {
    result.evidence.not_run().unwrap_or_default().to_string()
}

fn describe(check: &CheckResult) -> String {
    match (check.value, &check.note) {
        (Some(value), _) => format!("{}: {}, required {}", check.what, short(value), check.bound),
        (None, note) => format!("{}: {}", check.what, note.as_deref().unwrap_or("no value measured")),
    }
}
