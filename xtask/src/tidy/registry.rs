//! What must exist for every line of the registry of `forebay-aqm` and for every marker.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Entry;
use forebay_aqm::base::markers::{MARKERS, MarkerEntry};

use crate::base::tree::Tree;
use crate::generated::book::REFERENCES;
use crate::generated::docs;

const GOLDEN: &str = "crates/aqm/golden/";
/// A golden trace for every name, a reference for every rule, and no trace without a name.
pub(super) fn files(tree: &Tree) -> Vec<String> {
    files_of(tree, ENTRIES, MARKERS)
}

fn files_of(tree: &Tree, entries: &[Entry], markers: &[MarkerEntry]) -> Vec<String> {
    // A variant is a set of parameters: its rule is transcribed under the base's name.
    let rule = |entry: &Entry| entry.variant_of.map_or(entry.name, |(base, _)| base);
    let disciplines = entries.iter().map(|entry| (entry.name, rule(entry)));
    let named: Vec<_> = disciplines.chain(markers.iter().map(|marker| (marker.rule(), marker.rule()))).collect();
    let mut findings = Vec::new();
    for (name, rule) in &named {
        let golden = format!("{GOLDEN}{name}.txt");
        if tree.get(&golden).is_none() {
            findings.push(format!("{golden} is missing: cargo xtask bless"));
        }
        let file = format!("{rule}.rs");
        if tree.below(REFERENCES, &file).is_none() {
            findings.push(format!("{rule} has no transcription: no {file} in {REFERENCES}"));
        }
    }
    for file in tree.files() {
        let name = file.path.strip_prefix(GOLDEN).and_then(|name| name.strip_suffix(".txt"));
        if name.is_some_and(|name| !named.iter().any(|(known, _)| *known == name)) {
            findings.push(format!("{}: no discipline or marker has this name", file.path));
        }
    }
    findings
}

/// The table in README.md says what the registry says.
pub(super) fn table(tree: &Tree) -> Vec<String> {
    let Some(readme) = tree.get(docs::README) else { return vec![format!("{} is missing", docs::README)] };
    match docs::renewed(&readme.text) {
        Err(what) => vec![what],
        Ok(text) if text != readme.text => vec![format!("{}: the table is stale: cargo xtask docs", docs::README)],
        Ok(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_missing_and_what_is_left_over() {
        let entry = ENTRIES.iter().find(|entry| entry.variant_of.is_none()).unwrap();
        let (golden, rule) = (format!("{GOLDEN}{}.txt", entry.name), format!("{REFERENCES}aqm/{}.rs", entry.name));
        let of = |files: &[(&str, &str)]| files_of(&Tree::of(files), std::slice::from_ref(entry), &[]);
        assert!(of(&[(&golden, ""), (&rule, "")]).is_empty());
        assert_eq!(of(&[(&rule, "")]), [format!("{golden} is missing: cargo xtask bless")]);
        assert!(of(&[(&golden, "")])[0].contains("has no transcription"));
        let extra = format!("{GOLDEN}nonsense.txt");
        let left_over = format!("{extra}: no discipline or marker has this name");
        assert_eq!(of(&[(&golden, ""), (&rule, ""), (&extra, "")]), [left_over]);
    }

    #[test]
    fn finds_what_a_marker_lacks() {
        for marker in MARKERS {
            let name = marker.rule();
            let (golden, rule) = (format!("{GOLDEN}{name}.txt"), format!("{REFERENCES}{name}.rs"));
            let of = |files: &[(&str, &str)]| files_of(&Tree::of(files), &[], std::slice::from_ref(marker));
            assert!(of(&[(&golden, ""), (&rule, "")]).is_empty());
            assert_eq!(of(&[(&rule, "")]), [format!("{golden} is missing: cargo xtask bless")]);
            assert_eq!(of(&[(&golden, "")]), [format!("{name} has no transcription: no {name}.rs in {REFERENCES}")]);
        }
    }

    #[test]
    fn finds_a_stale_table() {
        let readme = docs::renewed(&format!("a\n{}\n{}\nb\n", docs::BEGIN, docs::END)).unwrap();
        assert!(table(&Tree::of(&[(docs::README, &readme)])).is_empty());
        let stale = readme.replace("droptail", "droptale");
        assert!(table(&Tree::of(&[(docs::README, &stale)]))[0].contains("stale"));
        assert!(table(&Tree::of(&[(docs::README, "no table")]))[0].contains(docs::BEGIN));
        assert!(table(&Tree::of(&[]))[0].contains("missing"));
    }
}
