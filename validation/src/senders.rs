//! `cargo xtask senders`: tests published statements about how senders share a link, and writes `docs/senders.md`.
//!
//! The statements and their scenarios are in `validation/senders`, in the format of the papers' claims.

use std::path::PathBuf;
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

const FILE: &str = "docs/senders.md";

macro_rules! files {
    ($($name:literal),+) => {
        &[$(($name, include_str!(concat!("../senders/", $name, ".toml")))),+]
    };
}

static STATEMENTS: Paper = Paper {
    name: "senders",
    summary: "How senders share a link",
    claims: include_str!("../senders/claims.toml"),
    scenarios: files!("coexist", "one-queue", "two", "alone", "step", "bbr", "bbr-alone"),
    readings: "",
    found: "{}",
    arithmetic: "",
};

/// Pictures of the page: the figure's id, and the name in a file.
const PICTURES: [&str; 3] = ["shares", "delays", "bbr"];

fn folder() -> PathBuf {
    program::build_dir().join("senders")
}

/// Runs every scenario, and writes the page and its pictures.
///
/// # Errors
/// A run fails, or a file cannot be read or written.
pub fn run() -> Result<(), String> {
    let stop = AtomicBool::new(false);
    // Results of an earlier version of the scenarios are of no use.
    let _ = std::fs::remove_dir_all(folder());
    let all = Reproduction::new(&STATEMENTS, Level::Normal, |_| true).map_err(|error| error.to_string())?;
    let (results, lock) =
        all.run(&folder(), &Origin::default(), &Control::silent(&stop)).map_err(|error| error.to_string())?;
    drop(lock);
    program::write(FILE, &text(&results)?)?;
    for figure in PICTURES {
        let picture = format!("docs/pictures/senders-{figure}.svg");
        let words = ["run", "--release", "--quiet", "--bin", "forebay", "--", "plot"];
        let mut command = program::cargo(&words);
        command.arg(folder()).args(["--figure", figure, "--width", "5in", "-o", &picture]);
        program::shown(command)?;
    }
    println!("{FILE}");
    Ok(())
}

fn text(results: &[ClaimResult]) -> Result<String, String> {
    let file = claim_file::parse(STATEMENTS.claims)?;
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
    page!("senders.md.jinja", json!({ "sections": sections, "holds": holds, "all": results.len() }))
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
