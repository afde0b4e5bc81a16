//! `docs/rfc-coverage.md`: the requirements of RFCs that are tests, from the tests' own words.
//!
//! A test that stands for one says so: `/// RFC 8033 section 4.2 (MUST): what it requires.` What no test stands for is
//! named with the reason in the head of a file: `//! Left out: RFC 8033 section 5.2 (MAY): what, and why not.`

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::base::program;
use crate::base::tree::{File, Tree};

const PAGE: &str = "docs/rfc-coverage.md";
const WORDS: [&str; 3] = ["MUST", "SHOULD", "MAY"];
const LEFT_OUT: &str = "Left out: RFC ";

/// A requirement and the test that stands for it, or the file that leaves it out.
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

/// What the head of a file leaves out, each with its reason, as it stands there.
fn left_out(file: &File) -> Vec<String> {
    let (mut found, mut open) = (Vec::<String>::new(), false);
    for line in file.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim) {
        if line.starts_with(LEFT_OUT) {
            found.push(line.to_string());
            open = true;
        } else if line.is_empty() {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            *last += " ";
            *last += line;
        }
    }
    found
}

/// `RFC 8033 section 4.2 (MUST): text`, perhaps after `Left out: `.
fn read(words: &str, test: String) -> Option<Requirement> {
    let words = words.trim();
    let words = words.strip_prefix("Left out: ").unwrap_or(words);
    let (head, text) = words.strip_prefix("RFC ")?.split_once("): ")?;
    let (place, word) = head.split_once(" (")?;
    let (rfc, section) = place.split_once(" section ")?;
    let known = WORDS.iter().any(|known| word == *known || word.starts_with(&format!("{known} ")));
    let (section, word, text) = (section.to_string(), word.to_string(), text.trim().to_string());
    known.then_some(Requirement { rfc: rfc.parse().ok()?, section, word, text, test })
}

/// The page as the tests make it now.
fn page(tree: &Tree) -> String {
    let mut by_rfc: BTreeMap<u32, Vec<Requirement>> = BTreeMap::new();
    for requirement in ours(tree).flat_map(requirements) {
        by_rfc.entry(requirement.rfc).or_default().push(requirement);
    }
    let mut without: Vec<_> = ours(tree)
        .flat_map(|file| left_out(file).into_iter().filter_map(|words| read(&words, String::new())))
        .collect();
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
    without.sort_by_key(|r| (r.rfc, numbers(&r.section)));
    if !without.is_empty() {
        out.push_str("\n## Left out\n\nWhat no test stands for, and why.\n\n");
        out.push_str("| RFC | section | word | reason |\n|---|---|---|---|\n");
    }
    for Requirement { rfc, section, word, text, .. } in without {
        let _ = writeln!(out, "| {rfc} | {section} | {word} | {} |", text.replace('|', "\\|"));
    }
    out
}

fn ours(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.rust().filter(|file| file.path.starts_with("crates/"))
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

/// A house rule: the page is current, and what is left out is named in the form that the page can read.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let unread = |file: &File| {
        let unread = left_out(file).into_iter().filter(|words| read(words, String::new()).is_none());
        let path = file.path.clone();
        unread.map(move |words| {
            format!("{path}: not of the form '{LEFT_OUT}N section X (MUST|SHOULD|MAY): why': {words}")
        })
    };
    let mut findings: Vec<String> = ours(tree).flat_map(unread).collect();
    if tree.get(PAGE).is_none_or(|file| file.text != page(tree)) {
        findings.push(format!("{PAGE} is stale: cargo xtask docs"));
    }
    findings
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
        assert!(!page.contains("Left out"));
        let stale = Tree::of(&[("crates/x/tests/rfc.rs", CODE), (PAGE, "old")]);
        assert_eq!(findings(&stale).len(), 1);
    }

    #[test]
    fn what_is_left_out_comes_with_its_reason() {
        let head = "//! Tests.\n//!\n//! Left out: RFC 8033 section 5.10 (MAY): this | that,\n//! for a reason.\n\
                    //! Left out: RFC 8033 section 5.9 (SHOULD): another.\n//!\n//! No more.\n\n\
                    //! Left out: RFC 1 section 1 (MAY): not in the head.\n";
        let of = |head: &str| page(&Tree::of(&[("crates/x/tests/rfc.rs", head)]));
        let rows = "| 8033 | 5.9 | SHOULD | another. |\n| 8033 | 5.10 | MAY | this \\| that, for a reason. |\n";
        assert!(of(head).ends_with(&format!("|---|---|---|---|\n{rows}")), "{}", of(head));
        let findings_of = |head: &str| findings(&Tree::of(&[("crates/x/tests/rfc.rs", head), (PAGE, &of(head))]));
        assert_eq!(findings_of(head).len(), 0);
        assert_eq!(findings_of("//! Left out: `turn` of a flow.\n").len(), 0, "no requirement");
        for wrong in ["RFC 8033 section 5.9: why", "RFC 8033 section 5.9 (CAN): why", "RFC 8033, 5.9 (MAY): why"] {
            let findings = findings_of(&format!("//! Left out: {wrong}\n"));
            assert!(findings.len() == 1 && findings[0].contains(wrong), "{findings:?}");
        }
    }
}
