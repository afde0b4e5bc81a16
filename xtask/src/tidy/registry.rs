//! Files that every discipline of the registry of `forebay-aqm` and every marker must have.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::markers::MARKERS;

use crate::base::tree::Tree;
use crate::generated::book::REFERENCES;

const GOLDEN: &str = "crates/aqm/golden/";

/// Finds disciplines without a golden trace, rules without a transcribed listing, and traces of unknown disciplines.
pub(super) fn files(tree: &Tree) -> Vec<String> {
    // A variant is a set of parameters: its rule has the name of the base.
    let disciplines = ENTRIES.iter().map(|entry| (entry.name, entry.variant_of.map_or(entry.name, |(base, _)| base)));
    let named = disciplines.chain(MARKERS.iter().map(|marker| (marker.rule(), marker.rule())));
    files_of(tree, &named.collect::<Vec<_>>())
}

/// As [`files`], for these names and their rules.
fn files_of(tree: &Tree, named: &[(&str, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, rule) in named {
        let golden = format!("{GOLDEN}{name}.txt");
        if tree.get(&golden).is_none() {
            findings.push(format!("{golden} is missing: cargo xtask bless"));
        }
        if tree.below(REFERENCES, &format!("{rule}.rs")).is_none() {
            findings.push(format!("{rule} has no transcription: no {rule}.rs in {REFERENCES}"));
        }
    }
    let golden = tree.files().filter_map(|file| file.path.strip_prefix(GOLDEN)?.strip_suffix(".txt"));
    let extra = golden.filter(|name| !named.iter().any(|(known, _)| known == name));
    findings.extend(extra.map(|name| format!("{GOLDEN}{name}.txt: no discipline or marker has this name")));
    findings
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::*;

    #[test]
    fn finds_missing_and_extra_files_of_disciplines() {
        let of_red = |tree: &Tree| files_of(tree, &[("red", "red")]);
        let (golden, rule) = (("crates/aqm/golden/red.txt", ""), ("crates/aqm/tests/reference/aqm/red.rs", ""));
        finds(of_red, &[golden, rule], "");
        finds(of_red, &[rule], "crates/aqm/golden/red.txt is missing");
        finds(of_red, &[golden], "red has no transcription");
        finds(of_red, &[golden, rule, ("crates/aqm/golden/nonsense.txt", "")], "nonsense.txt: no discipline");
        assert_eq!(files(&Tree::of(&[])).len(), 2 * (ENTRIES.len() + MARKERS.len()));
    }
}
