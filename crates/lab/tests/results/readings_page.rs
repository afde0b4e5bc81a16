//! `docs/readings.md`: for each paper, which claims hold under which readings. A reading is a choice of one value for
//! each setting that the paper leaves open. FOREBAY_BLESS=1 rewrites the page.

use std::path::Path;

use forebay_lab::claims::Verdict;
use forebay_lab::papers::{PAPERS, Paper};
use forebay_lab::readings::bench::Bench;
use forebay_lab::readings::space::Space;
use forebay_lab::readings::summary::{BestReading, ClaimReadings, ReadingsSummary};
use forebay_lab::render::digits::{grouped, significant};

const HEAD: &str = "# Readings of the papers

A paper does not print every setting of its experiments. A *reading* is a choice of one value for each setting
(*dimension*) that the paper leaves open. `forebay readings PAPER` searches the readings;
[claims.md](claims.md#readings) describes the method. `cargo xtask bless` generates this page from
`papers/*/found.json`.

All results on this page were found after the first run of the claims. `forebay reproduce` gives each claim a verdict
and a [grade](claims.md#grades). The verdict is that under the first reading (that of our scenario files), which was
fixed before the first run. The grade also uses the results on this page.

Known faults of these searches, which will be run again:

- RAQM: the readings with packets of 1000 or 1040 bytes, or with another period than 1 s, differ from what the paper
  prints. Those that are listed below, except number 7, do.
- MSVB: the setting `ecn` switches ECN on at the senders; RED, RIO and FRED then mark, but MSVB, SVB and SIO drop.
- RED+Tail: no reading loses acknowledgements or the packets of a handshake, which matters for Table I (TAIL-T1).
- A claim that holds under many readings was confirmed with few of them. Checks count that ask for more than the paper
  says.

Columns of the tables of claims; a claim holds if all its checks hold:

- *first*: whether every check of the claim holds under the first reading.
- *share*: percentage of the readings of the sample (a Latin hypercube, tried first) under which every check holds, with
  a 95 % confidence interval (Wilson).
- *tried*: number of readings under which every check holds, among all readings that were tried; in parentheses the
  number under which every check holds whose requirement the paper states, as opposed to one that we chose.
- *best*: the largest number of checks that hold under one reading, and the number of all checks.
- *holds if*: the conditions that best separate the readings under which the claim holds from the others. Two
  percentages follow: of the readings with these conditions, and of those without, how many satisfy the claim.
";

fn percent(x: f64) -> String {
    significant(100.0 * x, 2)
}

fn row(claim: &ClaimReadings) -> String {
    let [low, high] = claim.interval;
    let [held, asked] = claim.checks;
    let rule = claim.rule.as_ref().map_or_else(
        || "-".to_string(),
        |rule| format!("{}: {} %, otherwise {} %", rule.text, percent(rule.holds), percent(rule.otherwise)),
    );
    format!(
        "| {} | {} | {} [{}, {}] | {} ({}) | {held} of {asked} | {rule} |\n",
        claim.id,
        if claim.first { "yes" } else { "no" },
        percent(claim.share),
        percent(low),
        percent(high),
        claim.found,
        claim.found_printed,
    )
}

fn list(ids: &[String]) -> String {
    if ids.is_empty() { "none".to_string() } else { ids.join(", ") }
}

fn reading(number: usize, best: &BestReading) -> String {
    let mut text = format!("{number}. {}.\n", best.reading);
    if let Some(confirmed) = &best.confirmed {
        let ids = |verdict: Verdict| -> Vec<String> {
            confirmed.verdicts.iter().filter(|it| it.verdict == verdict).map(|it| it.id.clone()).collect()
        };
        let printed = confirmed.verdicts.iter();
        let printed = printed.filter(|it| it.verdict != Verdict::Reproduced && it.checks.printed_hold());
        let printed: Vec<String> = printed.map(|it| it.id.clone()).collect();
        text += &format!(
            "   With {} seeds that the search did not use, every check of these claims holds: {}. Of these claims every \
             check with a requirement of the paper holds, but not every one with a requirement of ours: {}. Of these \
             claims no check fails, but a 95 % interval contains a bound: {}.\n",
            confirmed.seeds,
            list(&ids(Verdict::Reproduced)),
            list(&printed),
            list(&ids(Verdict::Inconclusive)),
        );
    }
    text
}

fn results(paper: &Paper) -> String {
    if paper.found.trim() == "{}" {
        let what = "This command tries values for the settings that the paper does not state.";
        return format!("`forebay readings {}` has not been run to its end yet. {what}\n", paper.name);
    }
    let found: ReadingsSummary = serde_json::from_str(paper.found).unwrap();
    let bench = Bench::new(paper.claims, paper.scenarios, paper.readings).unwrap();
    assert_eq!(Ok(found.files), bench.fingerprint(), "{}: its files changed after the search", paper.name);
    let possible = found.claims.iter().filter(|claim| claim.found > 0).count();
    let first = found.claims.iter().filter(|claim| claim.first).count();
    let mut text = format!(
        "{} of {} readings were tried with {} each in {} minutes of CPU time; {} of them are the sample. Of {} claims \
         {first} hold under the first reading, {} under the best one, {possible} under some reading.\n\n",
        grouped(found.tried as u64),
        significant(found.size as f64, 2),
        if found.seeds == 1 { "one seed".to_string() } else { format!("{} seeds", found.seeds) },
        significant(found.cpu_seconds / 60.0, 2),
        grouped(found.sampled as u64),
        found.claims.len(),
        found.best.first().map_or(0, |best| best.claims.len()),
    );
    text += "| claim | first | share, % | tried | best | holds if |\n|---|---|---|---|---|---|\n";
    text.extend(found.claims.iter().map(row));
    text += "\nThe best readings (most claims hold), each as its differences from the first reading, and readings for \
             claims that hold under none of the best:\n\n";
    text.extend(found.best.iter().enumerate().map(|(at, best)| reading(at + 1, best)));
    let matter = found.sensitivity.iter().filter(|it| it.index >= 0.01);
    let matter: Vec<String> = matter.map(|it| format!("{} {}", it.dimension, significant(it.index, 2))).collect();
    text += &format!(
        "\nA reading has a distance from the claims: how far the measured values are from the bounds of the checks. \
         Each number is the part of the variance of this distance, over the sample, that the value of one dimension \
         (setting) alone explains (first-order Sobol index; below 0.01 not shown): {}.\n",
        list(&matter)
    );
    for conflict in &found.conflicts {
        text += &format!("\nUnder no tried reading do all of these claims hold: {}.\n", conflict.join(", "));
    }
    text
}

fn dimensions(paper: &Paper) -> String {
    let space = Space::parse(paper.readings).unwrap();
    let mut text =
        "\n| dimension | the paper | source | values, the first reading's in bold |\n|---|---|---|---|\n".to_string();
    for dimension in &space.dimensions {
        let values = dimension.values.iter().map(|value| match *value == dimension.first {
            true => format!("**{value}**"),
            false => value.clone(),
        });
        let values: Vec<String> = values.collect();
        text += &format!(
            "| {} | {} | {} | {} |\n",
            dimension.name,
            dimension.words.replace('|', "\\|"),
            dimension.source.word(),
            values.join(", ")
        );
    }
    text
}

#[test]
fn published_page_of_readings_is_current() {
    let papers = PAPERS.iter().map(|paper| format!("\n## {}\n\n{}{}", paper.name, results(paper), dimensions(paper)));
    let page = HEAD.to_string() + &papers.collect::<String>();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/readings.md");
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == page, "docs/readings.md is stale: cargo xtask bless");
}
