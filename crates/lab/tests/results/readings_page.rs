//! `docs/readings.md`: for each paper, which claims hold under which readings. A reading is a choice of one value for
//! each setting that the paper leaves open. `docs/revisited.md`: the parts with the grades of the claims, which are those
//! of `docs/verdicts.md`, and with the size of the search. FOREBAY_BLESS=1 rewrites these.

use std::path::{Path, PathBuf};

use forebay_lab::claims::Verdict;
use forebay_lab::claims::grade::Grade;
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
    let ([low, high], rule) = (claim.interval, claim.rule.as_ref());
    let confirmed = best.iter().position(confirms);
    json!({
        "id": claim.id,
        "decidable": claim.decidable,
        "confirmed": confirmed.map_or("-".to_string(), |at| (at + 1).to_string()),
        "differs": confirmed.is_some_and(|at| !best[at].differs.is_empty()),
        "first": if claim.first { "yes" } else { "no" },
        "share": percent(claim.share),
        "low": percent(low),
        "high": percent(high),
        "found": claim.found,
        "found_printed": claim.found_printed,
        "found_differing": claim.found_differing,
        "checks": claim.checks.text(),
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
    let [confirmed, differing] = found.confirmed().unwrap_or_default();
    let matter = found.sensitivity.iter().filter(|it| it.index >= 0.01);
    let matter: Vec<String> = matter.map(|it| format!("{} {}", it.dimension, significant(it.index, 2))).collect();
    Some(json!({
        "tried": grouped(found.tried as u64),
        "size": significant(found.size as f64, 2),
        "seeds": if found.seeds == 1 { "one seed".to_string() } else { format!("{} seeds", found.seeds) },
        "minutes": significant(found.cpu_seconds / 60.0, 2),
        "sampled": grouped(found.sampled as u64),
        "differing": grouped(found.differing as u64),
        "first": found.first(),
        "again": found.again,
        "confirmed": confirmed,
        "confirmed_differing": differing,
        "most": found.most_under_one(),
        "decidable": found.decidable(),
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
        "added": dimension.added,
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
    compare("readings.md", &page);
}

/// Asserts that `docs/NAME` has this text, or writes it if FOREBAY_BLESS is set.
fn compare(name: &str, text: &str) {
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(docs(name), text).unwrap();
    }
    assert!(page(name) == text, "docs/{name} is stale: cargo xtask bless");
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn page(name: &str) -> String {
    std::fs::read_to_string(docs(name)).unwrap_or_default()
}

/// The rows of `docs/verdicts.md`: paper, id of a claim, grade.
fn graded(verdicts: &str) -> Vec<(String, String, Grade)> {
    let mut paper = "";
    let mut rows = Vec::new();
    for line in verdicts.lines() {
        let cells: Vec<&str> = line.split(" | ").collect();
        if let Some(name) = line.strip_prefix("## ") {
            paper = name;
        } else if let [id, grade, ..] = cells[..]
            && let Some(grade) = Grade::ALL.into_iter().find(|it| it.word() == grade)
        {
            rows.push((paper.to_string(), id.trim_start_matches("| ").to_string(), grade));
        }
    }
    rows
}

/// `text` with `content` between the line `<!-- NAME -->` and the next line `<!-- end -->`.
fn replaced(text: &str, name: &str, content: &str) -> String {
    let (before, rest) = text.split_once(&format!("<!-- {name} -->\n")).expect(name);
    let (_, after) = rest.split_once("<!-- end -->\n").expect(name);
    format!("{before}<!-- {name} -->\n\n{content}\n<!-- end -->\n{after}")
}

#[test]
fn grades_and_counts_of_revisited_papers_are_current() {
    let claims = graded(&page("verdicts.md"));
    let papers: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
    let rows = Grade::ALL.into_iter().map(|grade| {
        let ids = |paper: &str| -> Vec<&str> {
            claims.iter().filter(|it| it.0 == paper && it.2 == grade).map(|it| it.1.as_str()).collect()
        };
        let of: Vec<Vec<&str>> = papers.iter().map(|paper| ids(paper)).collect();
        json!({ "grade": grade.word(), "ids": of, "all": of.iter().map(Vec::len).sum::<usize>() })
    });
    let rows: Vec<Value> = rows.collect();
    let filled = |part: &str, at: usize, found: &Option<Value>| {
        let values = json!({ "part": part, "papers": papers, "at": at, "rows": rows, "found": found,
                             "claims": claims.len() });
        pages::page!("revisited.md.jinja", values).unwrap()
    };
    let mut text = replaced(&page("revisited.md"), "grades: all", &filled("all", 0, &None));
    for (at, paper) in PAPERS.iter().enumerate() {
        text = replaced(&text, &format!("grades: {}", paper.name), &filled("grades", at, &None));
        text = replaced(&text, &format!("readings: {}", paper.name), &filled("readings", at, &found(paper)));
    }
    compare("revisited.md", &text);
}
