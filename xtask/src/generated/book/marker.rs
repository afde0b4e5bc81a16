//! The pages of the markers.

use std::fmt::Write;

use forebay_aqm::base::markers::{MARKERS, MarkerEntry};

use super::marking;
use super::page::{self, cell, sentence};
use crate::base::tree::Tree;

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
    let caption = marking::caption(marker);
    let _ = writeln!(out, "![{0} at work](../pictures/{0}.svg)\n\n{caption}\n", marker.name);
    let _ = writeln!(out, "## Written as\n\n```text\n{}\n```\n", marker.written);
    out += &page::parameters(marker.params());
    out += &page::presets(marker.presets);
    out += &page::probes(marker.name, marker.probes);
    out += "\n## Differences from the source\n\n";
    for (i, deviation) in about.deviations.iter().enumerate() {
        let _ = writeln!(out, "{}. {}.", i + 1, sentence(deviation, &[]));
    }
    let _ = writeln!(out, "\n## In the code\n\n| what | where |\n|---|---|\n| rule | `{}` |", marker.code);
    let rule = marker.rule();
    let (faults, reference) = (page::faults(rule, tree), page::reference(rule, tree));
    let _ = writeln!(
        out,
        "| published rule, transcribed | `{reference}` |\n\
         | golden trace | `crates/aqm/golden/{rule}.txt` |\n\
         | {faults} deliberate faults | `crates/aqm/mutants/{rule}.txt` |"
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_parameter_and_deviation() {
        for marker in MARKERS {
            let page = page(marker, &Tree::of(&[("crates/aqm/mutants/token_bucket.txt", "a\n\nb")]));
            let has = |text: String| assert!(page.contains(&text), "{}: no {text} in {page}", marker.name);
            marker.params().for_each(|param| has(format!("\n| `{}` | ", param.name)));
            (1..=marker.about.deviations.len()).for_each(|n| has(format!("\n{n}. ")));
            has(format!("(../pictures/{}.svg)", marker.name));
            has(format!("`crates/aqm/golden/{}.txt`", marker.rule()));
            assert_eq!(page.matches("\n\nNone.\n").count(), 2, "{page}");
            assert_eq!(page.contains("2 deliberate faults"), marker.name == "token-bucket");
        }
        let bucket = page(&MARKERS[1], &Tree::of(&[]));
        assert!(bucket.contains("| `cir` | needed | a rate such as 15mbit, from 1 to 1e15 bit/s | CIR |"), "{bucket}");
    }
}
