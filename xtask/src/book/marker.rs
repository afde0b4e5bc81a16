//! The pages of the markers.

use std::fmt::Write;

use forebay_aqm::base::markers::{MARKERS, MarkerEntry};
use forebay_aqm::base::params::{Common, ParamSet};
use forebay_lab::scenario;

use super::page::{cell, faults, sentence};
use crate::tree::Tree;

/// All markers, a line each.
pub(super) fn index() -> String {
    let mut out = String::from(
        "# Markers\n\nWhat signals or colours packets beside any discipline. Written by `cargo xtask docs` from the code; \
         `forebay explain NAME` says the same.\n\n| name | what it does |\n|---|---|\n",
    );
    for marker in MARKERS {
        let _ = writeln!(out, "| [`{0}`](markers/{0}.md) | {1} |", marker.name, cell(marker.about.summary));
    }
    out
}

/// The page of one marker.
pub(super) fn page(marker: &MarkerEntry, tree: &Tree) -> String {
    let about = marker.about;
    let mut out = format!("# {}\n\n{}.\n\n", marker.name, sentence(about.summary, &[]));
    let _ = writeln!(out, "Source: {}.\n\n```text\n{}\n```\n", about.source, about.rule);
    let _ = writeln!(out, "## Written as\n\n```text\n{}\n```\n", marker.written);
    out += "## Parameters\n\n| name | meaning |\n|---|---|\n";
    for (name, meaning) in keys(marker) {
        let _ = writeln!(out, "| `{name}` | {} |", cell(&meaning));
    }
    out += "\n## Differences from the source\n\n";
    for (i, deviation) in about.deviations.iter().enumerate() {
        let _ = writeln!(out, "{}. {}.", i + 1, sentence(deviation, &[]));
    }
    let _ = writeln!(out, "\n## In the code\n\n| what | where |\n|---|---|\n| rule | `{}` |", marker.code);
    let rule = marker.code.rsplit('/').next().and_then(|file| file.strip_suffix(".rs")).unwrap_or_default();
    let listing = format!("crates/aqm/tests/reference/{rule}.rs");
    if tree.get(&listing).is_some() {
        let _ = writeln!(out, "| published rule, transcribed | `{listing}` |");
    }
    match faults(rule, tree) {
        0 => {}
        n => {
            let _ = writeln!(out, "| {n} deliberate faults | `crates/aqm/mutants/{rule}.txt` |");
        }
    }
    out
}

/// What can be set, and what it means.
fn keys(marker: &MarkerEntry) -> Vec<(String, String)> {
    if marker.is_param {
        let params = Common::SPECS.iter().filter(|param| param.name == marker.name);
        return params.map(|p| (p.name.to_string(), format!("{}; {}", p.accepted(), p.doc.trim()))).collect();
    }
    let schema = scenario::schema();
    let keys = schema.pointer("/properties/flows/items/oneOf/0/properties/marker/properties");
    let keys = keys.and_then(|keys| keys.as_object()).into_iter().flatten();
    let of = |value: &serde_json::Value| value["description"].as_str().unwrap_or_default().to_string();
    keys.filter(|(key, _)| *key != "kind").map(|(key, value)| (key.clone(), of(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_parameter_and_deviation() {
        for marker in MARKERS {
            let page = page(marker, &Tree::of(&[("crates/aqm/mutants/token_bucket.txt", "a\n\nb")]));
            let keys = if marker.is_param { vec![marker.name] } else { vec!["cir", "cbs", "per"] };
            assert!(keys.iter().all(|key| page.contains(&format!("\n| `{key}` | "))), "{page}");
            assert!((1..=marker.about.deviations.len()).all(|n| page.contains(&format!("\n{n}. "))), "{page}");
            assert_eq!(page.contains("2 deliberate faults"), marker.name == "token-bucket");
        }
    }
}
