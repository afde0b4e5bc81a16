//! The deliberate faults of `crates/aqm/mutants/*.txt`.
//!
//! One block per fault, separated by blank lines: its description, optionally `@ file`, the lines of the source (`- `)
//! and with the fault (`+ `), optionally `= why it has no effect`.

use std::collections::BTreeSet;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Entry;
use forebay_aqm::base::markers::MARKERS;

use crate::base::rules;
use crate::base::tree::Tree;

const FOLDER: &str = "crates/aqm/mutants/";
/// Fewest faults of a file.
pub(super) const MIN_FAULTS: usize = 5;

/// One deliberate fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) discipline: String,
    /// Description.
    pub(super) words: String,
    /// The discipline's own file.
    pub(super) own: String,
    /// The file into which the fault is put.
    pub(super) file: String,
    from: Vec<String>,
    to: Vec<String>,
    /// Why the fault has no effect that a test could find; `None`: it has one.
    pub(super) equivalent: Option<String>,
}

impl Fault {
    fn read(discipline: &str, block: &str, own: &str) -> Result<Self, String> {
        let (words, lines) = block.split_once('\n').unwrap_or((block, ""));
        let [discipline, words, own, file] = [discipline, words.trim(), own, own].map(str::to_string);
        let mut fault = Self { discipline, words, own, file, from: Vec::new(), to: Vec::new(), equivalent: None };
        for line in lines.lines() {
            let (sign, rest) = line.split_at_checked(1).unwrap_or((line, ""));
            let rest = rest.trim().to_string();
            match sign {
                "-" => fault.from.push(rest),
                "+" => fault.to.push(rest),
                "@" => fault.file = rest,
                "=" => fault.equivalent = Some(rest),
                _ => return Err(format!("{}: {}: what is '{line}'?", fault.discipline, fault.words)),
            }
        }
        if fault.from.is_empty() || fault.from == fault.to {
            return Err(format!("{}: {}: changes nothing", fault.discipline, fault.words));
        }
        Ok(fault)
    }

    /// `text` with the fault. The lines to replace must occur once; indentation does not count.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        let lines: Vec<&str> = text.lines().collect();
        let fits = |at: &usize| match &self.from[..] {
            // A single line to replace may be part of a line.
            [part] => lines[*at].contains(part.as_str()),
            from => lines[*at..].len() >= from.len() && lines[*at..].iter().zip(from).all(|(a, b)| a.trim() == b),
        };
        let &[at] = (0..lines.len()).filter(fits).collect::<Vec<_>>().as_slice() else {
            return Err(format!("{}: {}: does not occur exactly once in {}", self.discipline, self.words, self.file));
        };
        let new = match (&self.from[..], &self.to[..]) {
            ([part], [to]) => vec![lines[at].replace(part.as_str(), to)],
            _ => self.to.clone(),
        };
        let old = |range: &[&str]| range.iter().map(|line| line.to_string()).collect::<Vec<_>>();
        Ok([old(&lines[..at]), new, old(&lines[at + self.from.len()..])].concat().join("\n") + "\n")
    }
}

/// All faults of all files, and errors in the files.
pub(super) fn all(tree: &Tree) -> Result<Vec<Fault>, String> {
    let mut faults = Vec::new();
    for file in tree.files() {
        let name = file.path.strip_prefix(FOLDER).and_then(|name| name.strip_suffix(".txt"));
        let Some(name) = name else { continue };
        let own = rules::file(tree, name).ok_or_else(|| format!("{}: no rule has this name", file.path))?;
        for block in file.text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
            let fault = Fault::read(name, block, own)?;
            let source =
                tree.get(&fault.file).ok_or_else(|| format!("{name}: {}: no file {}", fault.words, fault.file))?;
            fault.apply(&source.text)?;
            faults.push(fault);
        }
    }
    Ok(faults)
}

/// The rule `mutants`: each discipline and marker has enough faults, and each fits the source.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let faults = match all(tree) {
        Ok(faults) => faults,
        Err(what) => return vec![what],
    };
    let files = tree.files().filter_map(|file| file.path.strip_prefix(FOLDER)?.strip_suffix(".txt"));
    // Only markers whose source file is in the tree: tests use trees without them.
    let markers = MARKERS.iter().filter(|marker| tree.get(marker.code).is_some()).map(|marker| marker.rule());
    let names: BTreeSet<&str> = files.chain(disciplines(tree)).chain(markers).collect();
    let counts = names.into_iter().map(|name| (name, faults.iter().filter(|fault| fault.discipline == name).count()));
    let few = counts.filter(|(_, count)| *count < MIN_FAULTS);
    few.map(|(name, count)| format!("{FOLDER}{name}.txt has {count} faults of at least {MIN_FAULTS}")).collect()
}

/// Every discipline of the registry with a source file here.
fn disciplines(tree: &Tree) -> impl Iterator<Item = &str> {
    let here = |entry: &&Entry| rules::file(tree, entry.name).is_some();
    ENTRIES.iter().filter(|entry| entry.variant_of.is_none()).filter(here).map(|entry| entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn f() {\n    let a = b + c;\n    if a > 1 {\n        a -= 1;\n    }\n}\n";
    const FILE: &str = "crates/aqm/src/law/x.rs";

    fn fault(block: &str) -> Result<Fault, String> {
        Fault::read("x", block, FILE)
    }

    #[test]
    fn replaces_text_that_occurs_exactly_once() {
        let sign = fault("wrong sign\n- b + c\n+ b - c").unwrap();
        assert_eq!(sign.apply(CODE).unwrap(), CODE.replace("b + c", "b - c"));
        let lines = fault("no clamp\n- if a > 1 {\n- a -= 1;\n- }\n= never above 1").unwrap();
        assert_eq!(lines.apply(CODE).unwrap(), "fn f() {\n    let a = b + c;\n}\n");
        assert_eq!(lines.equivalent.as_deref(), Some("never above 1"));
    }

    #[test]
    fn refuses_ambiguous_faults_and_faults_that_change_nothing() {
        for block in ["a\n- a\n+ b", "none\n- zzz\n+ b"] {
            assert!(
                fault(block).unwrap().apply(CODE).is_err_and(|what| what.contains("does not occur exactly once")),
                "{block}"
            );
        }
        assert!(fault("nothing").is_err() && fault("same\n- b\n+ b").is_err() && fault("odd\n? b").is_err());
    }

    #[test]
    fn finds_files_with_too_few_or_inapplicable_faults() {
        let five = "a\n- b + c\n+ b - c\n\n".repeat(5);
        let x = "crates/aqm/mutants/x.txt";
        for (files, want) in [
            (vec![(FILE, CODE), (x, five.as_str())], ""),
            (vec![(FILE, CODE), (x, "a\n- b + c\n+ b - c")], "has 1 faults"),
            (vec![(FILE, CODE), (x, "a\n- b * c\n+ b - c")], "does not occur exactly once"),
            (vec![("crates/aqm/mutants/y.txt", "")], "no rule"),
            // A shared part may have a file; a discipline and a marker must.
            (vec![("crates/aqm/src/parts/y.rs", CODE), ("crates/aqm/mutants/y.txt", &five)], ""),
            (vec![("crates/aqm/src/aqm/backlog/red.rs", CODE)], "mutants/red.txt has 0 faults of at least 5"),
            (vec![("crates/aqm/src/parts/token_bucket.rs", CODE)], "mutants/token_bucket.txt has 0 faults"),
        ] {
            let found = findings(&Tree::of(&files)).join("; ");
            assert!(found.contains(want) && found.is_empty() == want.is_empty(), "{found}");
        }
    }
}
