//! `cargo xtask verdicts`: docs/verdicts.md, a row per claim of the papers. A variant is a run with other settings.

use std::fs;

use serde_json::{Value, json};

use crate::base::program;
use pages::{cell, page};

const PAGE: &str = "docs/verdicts.md";

/// Writes the page from the output of `forebay reproduce --full --json`: from this file, or from a new run.
pub(crate) fn run(printed: Option<&str>) -> Result<(), String> {
    let text = match printed {
        Some(file) => fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?,
        None => reproduced()?,
    };
    let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    program::write(PAGE, &page(&document)?)?;
    println!("{PAGE}");
    Ok(())
}

fn reproduced() -> Result<String, String> {
    let scratch = program::scratch("verdicts")?;
    let mut command = program::cargo(&["run", "--release", "--quiet", "--", "reproduce", "--full", "--json", "-o"]);
    command.arg(scratch.join("papers"));
    let out = program::said(command)?;
    program::at(&scratch, fs::remove_dir_all(&scratch))?;
    Ok(out)
}

fn page(document: &Value) -> Result<String, String> {
    let claims = document["claims"].as_array().ok_or("no claims in the document")?;
    let row = |claim: &Value| {
        let (evidence, verdict) = (&claim["evidence"], claim["verdict"].as_str().unwrap_or_default());
        let (decided, others) = (decided(&evidence["checks"], verdict), others(&evidence["variants"], verdict));
        let numbers = |key: &str| claim["checks"][key].as_u64().unwrap_or(0);
        let checks = match numbers("asked") {
            0 => "-".to_string(),
            asked => {
                format!("{} of {asked}, printed {} of {}", numbers("held"), numbers("printed_held"), numbers("printed"))
            }
        };
        json!([claim["paper"], claim["id"], claim["grade"], checks, verdict, decided, others])
    };
    page!("verdicts.md.jinja", json!({ "claims": claims.iter().map(row).collect::<Vec<_>>() }))
}

/// The check that the page shows for a claim: the first that does not hold, or the first of a reproduced claim.
fn decided(checks: &Value, verdict: &str) -> String {
    let checks = checks.as_array().map_or(&[][..], Vec::as_slice);
    let counts = || checks.iter().filter(|check| check["added"] != true);
    let failed = counts().find(|check| check["outcome"] != "holds");
    let Some(check) = failed.filter(|_| verdict != "reproduced").or(counts().next()) else { return "-".to_string() };
    let text = |key: &str| cell(check[key].as_str().unwrap_or_default());
    let [value, low, high] = ["value", "low", "high"].map(|key| check[key].as_f64().map(short));
    let seeds = check["n"].as_u64().map_or(String::new(), |n| format!(", {n} seeds"));
    let figure = match (value, low, high) {
        (Some(value), Some(low), Some(high)) if low != high => format!("{value} [{low}, {high}]"),
        (Some(value), ..) => value,
        _ => "none".to_string(),
    };
    format!("{}: {figure}{seeds}, asked {}", text("what"), text("bound"))
}

/// `x` with four significant digits.
fn short(x: f64) -> String {
    let digits = if x == 0.0 { 0 } else { (3 - x.abs().log10().floor() as i32).clamp(0, 9) };
    let text = format!("{x:.0$}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// The variants (other settings of the experiment) whose verdict differs from that of the claim.
fn others(variants: &Value, verdict: &str) -> String {
    let variants = variants.as_array().map_or(&[][..], Vec::as_slice);
    let other = |variant: &&Value| variant["verdict"] != verdict;
    let name = |variant: &Value| {
        let text = |key: &str| variant[key].as_str().unwrap_or_default().to_string();
        format!("{}: {}", text("name"), text("verdict"))
    };
    match variants.iter().filter(other).map(name).collect::<Vec<_>>().as_slice() {
        [] if variants.is_empty() => "-".to_string(),
        [] => format!("none of {}", variants.len()),
        names => names.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_failed_check_and_deviating_variants() {
        let check = |what: &str, value: f64, outcome: &str| {
            json!({ "what": what, "value": value, "low": value - 0.5, "high": value + 0.5, "n": 30,
                    "bound": ">= 10", "outcome": outcome })
        };
        let document = json!({ "claims": [
            { "id": "A-1", "paper": "a", "verdict": "not-reproduced", "grade": "direction-holds",
              "checks": { "held": 1, "asked": 2, "printed": 1, "printed_held": 1 }, "evidence": {
                "checks": [check("first", 12.25, "holds"), check("second", 9.0, "fails")],
                "variants": [{ "name": "alpha=1", "verdict": "reproduced" }] } },
            { "id": "B-1", "paper": "b", "verdict": "reproduced", "grade": "holds", "evidence": {
                "checks": [check("first", 12345.678, "holds")], "variants": [] } },
        ] });
        let page = page(&document).unwrap();
        let rows = [
            "| A-1 | direction-holds | 1 of 2, printed 1 of 1 | not-reproduced | second: 9 [8.5, 9.5], 30 seeds, asked >= 10 | alpha=1: reproduced |",
            "| B-1 | holds | - | reproduced | first: 12346 [12345, 12346], 30 seeds, asked >= 10 | - |",
        ];
        assert!(rows.iter().all(|row| page.contains(row)), "{page}");
        assert!(page.contains("\n## a\n") && page.contains("\n## b\n"));
    }
}
