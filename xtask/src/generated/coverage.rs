//! `docs/rfc-coverage.md`: requirements of RFCs with the tests that check them, from comments of the tests.
//!
//! A test names its requirement: `/// RFC 8033 section 4.2 (MUST): text.` A requirement without a test is named with
//! the reason in the head of a file: `//! Left out: RFC 8033 section 5.2 (MAY): text.`

use serde_json::{Value, json};

use crate::base::tree::{File, Tree};
use pages::page;

pub(super) const PAGE: &str = "docs/rfc-coverage.md";
const WORDS: [&str; 3] = ["MUST", "SHOULD", "MAY"];
const LEFT_OUT: &str = "Left out: RFC ";

/// A requirement with its test, or with the file that leaves it out.
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

/// The requirements that the head of a file leaves out, with their reasons.
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

/// Reads `RFC 8033 section 4.2 (MUST): text`, also after `Left out: `.
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

pub(super) fn page(tree: &Tree) -> Result<String, String> {
    let mut all: Vec<Requirement> = ours(tree).flat_map(requirements).collect();
    let mut without: Vec<Requirement> = ours(tree)
        .flat_map(|file| left_out(file).into_iter().filter_map(|words| read(&words, String::new())))
        .collect();
    for list in [&mut all, &mut without] {
        list.sort_by_key(|one| (one.rfc, numbers(&one.section)));
    }
    let row = |r: &Requirement| json!([r.section, r.word, r.text, r.test, r.rfc]);
    let rfc = |all: &[Requirement]| json!([all[0].rfc, all.iter().map(row).collect::<Vec<_>>()]);
    let rfcs: Vec<Value> = all.chunk_by(|a, b| a.rfc == b.rfc).map(rfc).collect();
    page!("coverage.md.jinja", json!({ "rfcs": rfcs, "without": without.iter().map(row).collect::<Vec<_>>() }))
}

fn ours(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.rust().filter(|file| file.path.starts_with("crates/"))
}

/// The numbers of a section of an RFC, by which it is sorted: 5.10 comes after 5.9.
fn numbers(section: &str) -> Vec<u32> {
    section.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

/// Lines `Left out: RFC` in heads of files that cannot be parsed as a requirement.
pub(super) fn unread(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in ours(tree) {
        for words in left_out(file).iter().filter(|words| read(words, String::new()).is_none()) {
            findings.push(format!("{}: not '{LEFT_OUT}N section X (MUST|SHOULD|MAY): why': {words}", file.path));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "/// RFC 8033 section 5.10 (SHOULD): mark below\n/// a tenth.\n#[test]\nfn marks() {}\n\n\
                        /// RFC 8033 section 5.9 (MUST): first.\n#[test]\nfn first() {}\n/// Nothing.\nfn helper() {}\n";

    fn of(text: &str) -> String {
        page(&Tree::of(&[("crates/x/tests/rfc.rs", text)])).unwrap()
    }

    #[test]
    fn rfc_requirements_are_listed_in_section_order() {
        let rows = "| 5.9 | MUST | first. | `crates/x/tests/rfc.rs::first` |\n\
                    | 5.10 | SHOULD | mark below a tenth. | `crates/x/tests/rfc.rs::marks` |\n";
        assert!(
            of(CODE).ends_with(&format!(
                "## RFC 8033\n\n| section | word | requirement | test |\n|---|---|---|---|\n{rows}"
            ))
        );
    }

    #[test]
    fn reads_untested_rfc_requirements_and_finds_malformed_ones() {
        let head = "//! Tests.\n//!\n//! Left out: RFC 8033 section 5.10 (MAY): this | that,\n//! for a reason.\n\
                    //! Left out: RFC 8033 section 5.9 (SHOULD): another.\n//!\n//! No more.\n\n\
                    //! Left out: RFC 1 section 1 (MAY): not in the head.\n";
        let rows = "| 8033 | 5.9 | SHOULD | another. |\n| 8033 | 5.10 | MAY | this \\| that, for a reason. |\n";
        assert!(of(head).ends_with(&format!("|---|---|---|---|\n{rows}")), "{}", of(head));
        let unread_of = |head: &str| unread(&Tree::of(&[("crates/x/tests/rfc.rs", head)]));
        assert_eq!(unread_of(head), [""; 0]);
        assert_eq!(unread_of("//! Left out: `turn` of a flow.\n"), [""; 0], "no requirement");
        for wrong in ["RFC 8033 section 5.9: why", "RFC 8033 section 5.9 (CAN): why", "RFC 8033, 5.9 (MAY): why"] {
            let findings = unread_of(&format!("//! Left out: {wrong}\n"));
            assert!(findings.len() == 1 && findings[0].contains(wrong), "{findings:?}");
        }
    }
}
