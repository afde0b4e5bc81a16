//! `docs/rfc-coverage.md`: the requirements of RFCs that are tests, from the tests' own words.
//!
//! A test that stands for one says so: `/// RFC 8033 section 4.2 (MUST): what it requires.`

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::program;
use crate::tree::{File, Tree};

const PAGE: &str = "docs/rfc-coverage.md";
const WORDS: [&str; 3] = ["MUST", "SHOULD", "MAY"];

/// A requirement and the test that stands for it.
#[derive(Debug, PartialEq)]
struct Requirement {
    rfc: u32,
    section: String,
    word: String,
    text: String,
    test: String,
}

/// The requirements of one file.
fn requirements(file: &File) -> Vec<Requirement> {
    let (mut found, mut words) = (Vec::new(), String::new());
    for line in file.text.lines().map(str::trim) {
        if let Some(words_of) = line.strip_prefix("///") {
            words.push_str(words_of);
        } else if let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()) {
            found.extend(read(&words, format!("{}::{name}", file.path)));
            words.clear();
        } else if !line.starts_with("#[") {
            words.clear();
        }
    }
    found
}

/// `RFC 8033 section 4.2 (MUST): text`.
fn read(words: &str, test: String) -> Option<Requirement> {
    let (head, text) = words.trim().strip_prefix("RFC ")?.split_once("): ")?;
    let (place, word) = head.split_once(" (")?;
    let (rfc, section) = place.split_once(" section ")?;
    let known = WORDS.iter().any(|known| word == *known || word.starts_with(&format!("{known} ")));
    let (section, word, text) = (section.to_string(), word.to_string(), text.trim().to_string());
    known.then_some(Requirement { rfc: rfc.parse().ok()?, section, word, text, test })
}

/// The page as the tests make it now.
fn page(tree: &Tree) -> String {
    let mut by_rfc: BTreeMap<u32, Vec<Requirement>> = BTreeMap::new();
    for requirement in tree.rust().filter(|file| file.path.starts_with("crates/")).flat_map(requirements) {
        by_rfc.entry(requirement.rfc).or_default().push(requirement);
    }
    let mut out = String::from(
        "# Requirements of RFCs\n\nWritten by `cargo xtask docs` from the tests: each line is a test that says which \
         requirement it stands for.\n",
    );
    for (rfc, mut all) in by_rfc {
        all.sort_by_key(|r| numbers(&r.section));
        let _ = writeln!(out, "\n## RFC {rfc}\n\n| section | word | requirement | test |\n|---|---|---|---|");
        for Requirement { section, word, text, test, .. } in all {
            let _ = writeln!(out, "| {section} | {word} | {} | `{test}` |", text.replace('|', "\\|"));
        }
    }
    out
}

/// `5.10` comes after `5.9`.
fn numbers(section: &str) -> Vec<u32> {
    section.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

/// Writes the page.
pub(crate) fn write() -> Result<(), String> {
    let page = page(&Tree::read()?);
    println!("{PAGE}: {} requirements", page.matches("`crates/").count());
    program::write(PAGE, &page)
}

/// A house rule: the page is current.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let current = tree.get(PAGE).is_some_and(|file| file.text == page(tree));
    if current { Vec::new() } else { vec![format!("{PAGE} is stale: cargo xtask docs")] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "/// RFC 8033 section 5.10 (SHOULD): mark below\n/// a tenth.\n#[test]\nfn marks() {}\n\n\
                        /// RFC 8033 section 5.9 (MUST): first.\n#[test]\nfn first() {}\n/// Nothing.\nfn helper() {}\n";

    #[test]
    fn requirements_come_from_the_words_of_tests_in_order_of_section() {
        let page = page(&Tree::of(&[("crates/x/tests/rfc.rs", CODE)]));
        let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| 5")).collect();
        assert_eq!(
            lines,
            [
                "| 5.9 | MUST | first. | `crates/x/tests/rfc.rs::first` |",
                "| 5.10 | SHOULD | mark below a tenth. | `crates/x/tests/rfc.rs::marks` |",
            ]
        );
        let stale = Tree::of(&[("crates/x/tests/rfc.rs", CODE), (PAGE, "old")]);
        assert_eq!(findings(&stale).len(), 1);
    }
}
