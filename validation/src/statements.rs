//! `cargo xtask statements`: tests statements on scenarios. `docs/senders.md` has published statements about how senders
//! share a link, `docs/recommendations.md` those of `docs/choosing.md`.
//!
//! The statements and their scenarios are in `validation/senders` and `validation/choosing`, in the format of the papers'
//! claims.

use std::sync::atomic::AtomicBool;

use forebay_lab::batch::Control;
use forebay_lab::claim_file;
use forebay_lab::claims::{CheckResult, ClaimResult, Outcome, Verdict};
use forebay_lab::papers::Paper;
use forebay_lab::reproduce::{Level, Reproduction};
use forebay_lab::results::meta::Origin;
use pages::page;
use runner::program;
use serde_json::{Value, json};

macro_rules! files {
    ($folder:literal; $($name:literal),+) => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name, ".toml")))),+]
    };
}

/// A page with statements.
struct Page {
    /// The file, in the checkout.
    file: &'static str,
    /// The text before the tables; `{all}` is the number of statements, `{holds}` that of those that hold.
    head: &'static str,
    /// What the statements follow from.
    source: &'static str,
    /// Ids of figures, which become pictures of the page.
    pictures: &'static [&'static str],
    statements: Paper,
}

const fn statements(
    name: &'static str,
    summary: &'static str,
    claims: &'static str,
    scenarios: &'static [(&'static str, &'static str)],
) -> Paper {
    Paper {
        name,
        summary,
        folder: "validation",
        claims,
        scenarios,
        readings: "",
        found: "{}",
        is_suite: false,
        registered: None,
        arithmetic: "",
    }
}

static PAGES: [Page; 2] = [
    Page {
        file: "docs/senders.md",
        head: include_str!("../senders/head.txt"),
        source: "published",
        pictures: &["shares", "delays", "queues-prague", "queues-dctcp", "step", "bbr"],
        statements: statements(
            "senders",
            "How senders share a link",
            include_str!("../senders/claims.toml"),
            files!("senders"; "coexist", "one-queue", "two", "alone", "step", "bbr", "bbr-alone"),
        ),
    },
    Page {
        file: "docs/recommendations.md",
        head: include_str!("../choosing/head.txt"),
        source: "reason",
        pictures: &[],
        statements: statements(
            "choosing",
            "The recommendations, measured",
            include_str!("../choosing/claims.toml"),
            files!("choosing"; "many-users", "one-queue", "l4s", "known-load", "shares", "profile", "short", "flood", "fifo"),
        ),
    },
];

/// Runs the scenarios of every page, or of `only` the one with these statements, and writes the pages and their pictures.
///
/// # Errors
/// A run fails, or a file cannot be read or written.
pub fn run(only: Option<&str>) -> Result<(), String> {
    let mut pages = PAGES.iter().filter(|page| only.is_none_or(|only| only == page.statements.name)).peekable();
    pages.peek().ok_or("the statements are senders and choosing")?;
    pages.try_for_each(write)
}

fn write(page: &'static Page) -> Result<(), String> {
    let stop = AtomicBool::new(false);
    let folder = program::build_dir().join(page.statements.name);
    // Results of an earlier version of the scenarios are of no use.
    let _ = std::fs::remove_dir_all(&folder);
    let all = Reproduction::new(&page.statements, Level::Normal, |_| true).map_err(|error| error.to_string())?;
    let (results, lock) =
        all.run(&folder, &Origin::default(), &Control::silent(&stop)).map_err(|error| error.to_string())?;
    drop(lock);
    program::write(page.file, &text(page, &results)?)?;
    for figure in page.pictures {
        let picture = format!("docs/pictures/{}-{figure}.svg", page.statements.name);
        let words = ["run", "--release", "--quiet", "--bin", "forebay", "--", "plot"];
        let mut command = program::cargo(&words);
        command.arg(&folder).args(["--figure", figure, "--width", "5in", "-o", &picture]);
        program::shown(command)?;
    }
    println!("{}", page.file);
    Ok(())
}

fn text(page: &Page, results: &[ClaimResult]) -> Result<String, String> {
    let file = claim_file::parse(page.statements.claims)?;
    let section = |section: &forebay_lab::claims::Section| {
        let own = file.claims.iter().filter(|claim| claim.section == section.id);
        let rows = own.filter_map(|claim| {
            let result = results.iter().find(|result| result.id == claim.id)?;
            Some(json!({
                "id": claim.id,
                "claim": claim.claim,
                "printed": claim.printed,
                "verdict": verdict(result.verdict),
                "why": if result.verdict == Verdict::Reproduced { "" } else { claim.why.as_deref().unwrap_or("") },
                "checks": checks(result),
            }))
        });
        json!({ "title": section.title, "text": section.text, "claims": rows.collect::<Vec<_>>() })
    };
    let sections: Vec<Value> = file.sections.iter().map(section).collect();
    let holds = results.iter().filter(|result| result.verdict == Verdict::Reproduced).count();
    let numbers = [("{all}", results.len()), ("{holds}", holds)];
    let head =
        numbers.iter().fold(page.head.to_string(), |head, (name, number)| head.replace(name, &number.to_string()));
    page!("statements.md.jinja", json!({ "head": head, "source": page.source, "sections": sections }))
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "holds",
        Verdict::Inconclusive => "undecided",
        Verdict::NotRun => "not run",
        Verdict::NotReproduced | Verdict::Refuted => "does not hold",
    }
}

fn checks(result: &ClaimResult) -> Vec<Value> {
    let half = |check: &CheckResult| Some((check.high? - check.low?) / 2.0);
    let row = |check: &CheckResult| {
        let value = check.value.map_or("-".to_string(), |value| format!("{value:.2}"));
        json!({
            "what": check.what,
            "bound": check.bound,
            "value": half(check).map_or(value.clone(), |half| format!("{value} ± {half:.2}")),
            "holds": check.outcome == Outcome::Holds,
        })
    };
    result.evidence.checks.iter().map(row).collect()
}
