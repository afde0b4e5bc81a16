//! The deliberate faults of `crates/aqm/mutants/*.txt`.
//!
//! A block a fault: what it is, perhaps `@ file`, the lines as they stand (`- `) and with the fault (`+ `),
//! perhaps `= why nobody could see it`. Blank lines part the blocks.

use std::collections::BTreeSet;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Entry;
use forebay_aqm::base::markers::MARKERS;

use crate::base::rules;
use crate::base::tree::Tree;

const FOLDER: &str = "crates/aqm/mutants/";
/// Every file has at least so many.
pub(super) const LEAST: usize = 5;

/// One deliberate fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) discipline: String,
    /// What is wrong, in words.
    pub(super) words: String,
    /// The discipline's own file.
    pub(super) own: String,
    /// The file it is in.
    pub(super) file: String,
    from: Vec<String>,
    to: Vec<String>,
    /// Why nobody could see it.
    pub(super) equivalent: Option<String>,
}

impl Fault {
    fn read(discipline: &str, block: &str, own: &str) -> Result<Self, String> {
        let mut lines = block.lines();
        let words = lines.next().unwrap_or_default().trim().to_string();
        let mut fault = Self {
            discipline: discipline.to_string(),
            words,
            own: own.to_string(),
            file: own.to_string(),
            from: Vec::new(),
            to: Vec::new(),
            equivalent: None,
        };
        for line in lines {
            let (sign, rest) = (line.get(..2).unwrap_or(line).trim(), line.get(2..).unwrap_or_default().trim());
            match sign {
                "-" => fault.from.push(rest.to_string()),
                "+" => fault.to.push(rest.to_string()),
                "@" => fault.file = rest.to_string(),
                "=" => fault.equivalent = Some(rest.to_string()),
                _ => return Err(format!("{discipline}: {}: what is '{line}'?", fault.words)),
            }
        }
        if fault.from.is_empty() || fault.from == fault.to {
            return Err(format!("{discipline}: {}: changes nothing", fault.words));
        }
        Ok(fault)
    }

    /// `text` with the fault. The lines to replace must stand there once; how far they are indented does not count.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        let lines: Vec<&str> = text.lines().collect();
        let places: Vec<usize> = match &self.from[..] {
            // A part of a line will do, if there is one line to find.
            [part] => (0..lines.len()).filter(|&at| lines[at].contains(part.as_str())).collect(),
            from => {
                let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
                (0..lines.len())
                    .filter(|&at| trimmed[at..].iter().zip(from).filter(|(a, b)| a == b).count() == from.len())
                    .collect()
            }
        };
        let &[at] = places.as_slice() else {
            return Err(format!("{}: {}: found {} times in {}", self.discipline, self.words, places.len(), self.file));
        };
        let mut out: Vec<String> = lines[..at].iter().map(|line| line.to_string()).collect();
        match (&self.from[..], &self.to[..]) {
            ([part], [to]) => out.push(lines[at].replace(part.as_str(), to)),
            _ => out.extend(self.to.iter().cloned()),
        }
        out.extend(lines[at + self.from.len()..].iter().map(|line| line.to_string()));
        Ok(out.join("\n") + "\n")
    }
}

/// Every fault of every file, and what is wrong with the files.
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

/// A house rule: enough faults of each discipline and marker, and each still fits the source.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let faults = match all(tree) {
        Ok(faults) => faults,
        Err(what) => return vec![what],
    };
    let files = tree.files().filter_map(|file| file.path.strip_prefix(FOLDER)?.strip_suffix(".txt"));
    // What has no file has no faults; a variant is a set of parameters.
    let markers = MARKERS.iter().filter(|marker| tree.get(marker.code).is_some()).map(|marker| marker.rule());
    let names: BTreeSet<&str> = files.chain(disciplines(tree)).chain(markers).collect();
    let counts = names.into_iter().map(|name| (name, faults.iter().filter(|fault| fault.discipline == name).count()));
    let few = counts.filter(|(_, count)| *count < LEAST);
    few.map(|(name, count)| format!("{FOLDER}{name}.txt has {count} faults of at least {LEAST}")).collect()
}

/// Every discipline of the registry whose source is here.
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
    fn replaces_what_stands_there_once() {
        let sign = fault("wrong sign\n- b + c\n+ b - c").unwrap();
        assert_eq!(sign.apply(CODE).unwrap(), CODE.replace("b + c", "b - c"));
        let lines = fault("no clamp\n- if a > 1 {\n- a -= 1;\n- }\n= never above 1").unwrap();
        assert_eq!(lines.apply(CODE).unwrap(), "fn f() {\n    let a = b + c;\n}\n");
        assert_eq!(lines.equivalent.as_deref(), Some("never above 1"));
    }

    #[test]
    fn refuses_what_is_ambiguous_or_changes_nothing() {
        assert!(fault("a\n- a\n+ b").unwrap().apply(CODE).unwrap_err().contains("times in"));
        assert!(fault("none\n- zzz\n+ b").unwrap().apply(CODE).unwrap_err().contains("found 0 times"));
        assert!(fault("nothing").is_err() && fault("same\n- b\n+ b").is_err() && fault("odd\n? b").is_err());
    }

    #[test]
    fn finds_disciplines_with_too_few_and_faults_that_no_longer_fit() {
        let five = "a\n- b + c\n+ b - c\n\n".repeat(5);
        let of = |faults: &str| findings(&Tree::of(&[(FILE, CODE), ("crates/aqm/mutants/x.txt", faults)]));
        assert!(of(&five).is_empty());
        assert!(of("a\n- b + c\n+ b - c")[0].contains("has 1 faults"));
        assert!(of("a\n- b * c\n+ b - c")[0].contains("found 0 times"));
        assert!(findings(&Tree::of(&[("crates/aqm/mutants/y.txt", "")]))[0].contains("no rule"));
        // A part may have a file; a discipline and a marker must.
        let part = [("crates/aqm/src/parts/y.rs", CODE), ("crates/aqm/mutants/y.txt", five.as_str())];
        assert!(findings(&Tree::of(&part)).is_empty());
        let red = findings(&Tree::of(&[("crates/aqm/src/aqm/backlog/red.rs", CODE)]));
        assert_eq!(red, ["crates/aqm/mutants/red.txt has 0 faults of at least 5"]);
        let bucket = findings(&Tree::of(&[("crates/aqm/src/parts/token_bucket.rs", CODE)]));
        assert_eq!(bucket, ["crates/aqm/mutants/token_bucket.txt has 0 faults of at least 5"]);
    }
}
