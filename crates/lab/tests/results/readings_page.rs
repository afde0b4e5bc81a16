//! `docs/readings.md`: for each paper, which claims hold under which readings. A reading is a choice of one value for
//! each setting that the paper leaves open. FOREBAY_BLESS=1 rewrites the page.

use std::path::Path;

use forebay_lab::claims::Verdict;
use forebay_lab::papers::{PAPERS, Paper};
use forebay_lab::readings::bench::{Bench, ClaimVerdict};
use forebay_lab::readings::space::{Dimension, Space};
use forebay_lab::readings::summary::{BestReading, ClaimReadings, ReadingsSummary};
use forebay_lab::render::digits::{grouped, significant};
use serde_json::{Value, json};

fn percent(x: f64) -> String {
    significant(100.0 * x, 2)
}

fn list(ids: &[String]) -> String {
    if ids.is_empty() { "none".to_string() } else { ids.join(", ") }
}

fn claim(claim: &ClaimReadings, best: &[BestReading]) -> Value {
    let confirms = |best: &BestReading| best.confirmed.as_ref().is_some_and(|confirmed| confirmed.holds(&claim.id));
    let ([low, high], [held, asked], rule) = (claim.interval, claim.checks, claim.rule.as_ref());
    json!({
        "id": claim.id,
        "decidable": claim.decidable,
        "confirmed": best.iter().position(confirms).map_or("-".to_string(), |at| (at + 1).to_string()),
        "first": if claim.first { "yes" } else { "no" },
        "share": percent(claim.share),
        "low": percent(low),
        "high": percent(high),
        "found": claim.found,
        "found_printed": claim.found_printed,
        "held": held,
        "asked": asked,
        "rule": rule.map(|rule| &rule.text),
        "rule_holds": rule.map(|rule| percent(rule.holds)),
        "rule_otherwise": rule.map(|rule| percent(rule.otherwise)),
    })
}

fn best(best: &BestReading) -> Value {
    let confirmed = best.confirmed.as_ref().map(|confirmed| {
        let ids = |is: &dyn Fn(&ClaimVerdict) -> bool| -> String {
            list(&confirmed.verdicts.iter().filter(|it| is(it)).map(|it| it.id.clone()).collect::<Vec<_>>())
        };
        json!({
            "seeds": confirmed.seeds,
            "hold": ids(&|it| it.verdict == Verdict::Reproduced),
            "printed": ids(&|it| it.verdict != Verdict::Reproduced && it.checks.printed_hold()),
            "inconclusive": ids(&|it| it.verdict == Verdict::Inconclusive),
        })
    });
    json!({ "reading": best.reading, "differs": best.differs.join(", "), "confirmed": confirmed })
}

/// What the search has found; `None` if it has not been run.
fn found(paper: &Paper) -> Option<Value> {
    if paper.found.trim() == "{}" {
        return None;
    }
    let found: ReadingsSummary = serde_json::from_str(paper.found).unwrap();
    let bench = Bench::new(paper.claims, paper.scenarios, paper.readings).unwrap();
    assert_eq!(Ok(&found.files), bench.fingerprint().as_ref(), "{}: its files changed after the search", paper.name);
    let matter = found.sensitivity.iter().filter(|it| it.index >= 0.01);
    let matter: Vec<String> = matter.map(|it| format!("{} {}", it.dimension, significant(it.index, 2))).collect();
    Some(json!({
        "tried": grouped(found.tried as u64),
        "size": significant(found.size as f64, 2),
        "seeds": if found.seeds == 1 { "one seed".to_string() } else { format!("{} seeds", found.seeds) },
        "minutes": significant(found.cpu_seconds / 60.0, 2),
        "sampled": grouped(found.sampled as u64),
        "first": found.claims.iter().filter(|claim| claim.first).count(),
        "again": found.again,
        "confirmed": found.confirmed(),
        "most": found.best.iter().map(|best| found.confirmed_by(best)).max(),
        "decidable": found.claims.iter().filter(|claim| claim.decidable).count(),
        "undecidable": found.claims.iter().any(|claim| !claim.decidable),
        "certain": found.certain().join(", "),
        "claims": found.claims.iter().map(|it| claim(it, &found.best)).collect::<Vec<_>>(),
        "best": found.best.iter().map(best).collect::<Vec<_>>(),
        "sensitivity": list(&matter),
        "conflicts": found.conflicts.iter().map(|conflict| conflict.join(", ")).collect::<Vec<_>>(),
    }))
}

fn dimension(dimension: &Dimension) -> Value {
    let values = dimension.values.iter().map(|value| match value {
        first if *first == dimension.first => format!("**{first}**"),
        other if dimension.differs.contains(other) => format!("({other})"),
        plain => plain.clone(),
    });
    json!({
        "name": dimension.name,
        "words": dimension.words,
        "source": dimension.source.word(),
        "values": values.collect::<Vec<_>>().join(", "),
    })
}

#[test]
fn published_page_of_readings_is_current() {
    let papers = PAPERS.iter().map(|paper| {
        let dimensions = Space::parse(paper.readings).unwrap().dimensions;
        let dimensions: Vec<Value> = dimensions.iter().map(dimension).collect();
        json!({ "name": paper.name, "found": found(paper), "dimensions": dimensions })
    });
    let page = pages::page!("readings.md.jinja", json!({ "papers": papers.collect::<Vec<_>>() })).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/readings.md");
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == page, "docs/readings.md is stale: cargo xtask bless");
}
