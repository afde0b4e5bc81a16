//! `cargo xtask mutants`: puts deliberate faults into every discipline, and checks that the tests find them.
//!
//! Compiling takes longer than testing. So each round has one fault in every discipline, and runs only the tests of
//! each discipline: unit tests, transcription, golden trace. Disciplines that use each other's files are not in the
//! same round. A fault that these tests do not find is tried alone with all tests of the crate. All faults take 15
//! minutes or more, so this is a task and not a stage of the tests.

mod fault;
mod trial;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::tally::Tally;
use crate::base::tree::Tree;
use fault::Fault;
pub(crate) use fault::findings;
use trial::Trial;

/// Runs the task; with names, for those disciplines only.
pub(crate) fn run(names: &[&str]) -> std::process::ExitCode {
    let mut tally = Tally::default();
    tally.stage("mutants", "deliberate faults, and the tests that find them", |tally| {
        try_all(tally, names).unwrap_or_else(|what| tally.fail(what));
    });
    tally.finish()
}

/// Checks that every fault is found, or marked as equivalent.
fn try_all(tally: &mut Tally, names: &[&str]) -> Result<(), String> {
    let tree = Tree::read()?;
    let mut faults = fault::all(&tree)?;
    faults.retain(|fault| names.is_empty() || names.contains(&fault.discipline.as_str()));
    if faults.is_empty() {
        return Err("no faults: crates/aqm/mutants has one file a discipline".to_string());
    }
    let mut trial = Trial::new(&tree)?;
    let disciplines: BTreeMap<&str, &Fault> = faults.iter().map(|fault| (fault.discipline.as_str(), fault)).collect();
    trial.build(&[])?;
    for (name, fault) in disciplines {
        if trial.finds(fault)? {
            return Err(format!("the tests of {name} fail without any fault"));
        }
    }
    let rounds = rounds(&faults, &tree);
    for (i, round) in rounds.iter().enumerate() {
        println!("round {} of {}: {} faults", i + 1, rounds.len(), round.len());
        trial.build(round)?;
        let mut missed = Vec::new();
        for fault in round {
            match (trial.finds(fault)?, &fault.equivalent) {
                (true, None) | (false, Some(_)) => tally.pass_all(1),
                (true, Some(_)) => {
                    tally.fail(format!("{}: {}: said to be equivalent, was found", fault.discipline, fault.words))
                }
                (false, None) => missed.push(*fault),
            }
        }
        for fault in missed {
            trial.build(&[fault])?;
            if trial.crate_finds()? {
                tally.pass_all(1);
            } else {
                tally.fail(format!("{}: no test fails: {}", fault.discipline, fault.words));
            }
        }
    }
    Ok(())
}

/// Groups faults that are tested together: within a group, no discipline uses a file with a fault of another.
fn rounds<'a>(faults: &'a [Fault], tree: &Tree) -> Vec<Vec<&'a Fault>> {
    let own: BTreeMap<&str, BTreeSet<String>> =
        faults.iter().map(|fault| (fault.discipline.as_str(), made_of(&fault.own, tree))).collect();
    let mut rounds: Vec<Vec<&Fault>> = Vec::new();
    for fault in faults {
        let sees = |a: &Fault, b: &Fault| is_base(&b.file) || own[a.discipline.as_str()].contains(&b.file);
        let apart = |other: &&Fault| other.discipline != fault.discipline && !sees(fault, other) && !sees(other, fault);
        match rounds.iter_mut().find(|round| round.iter().all(apart)) {
            Some(round) => round.push(fault),
            None => rounds.push(vec![fault]),
        }
    }
    rounds
}

/// Folders that every discipline uses.
fn is_base(file: &str) -> bool {
    file.contains("/base/")
}

/// `file`, and the disciplines and parts that it names, directly or not.
fn made_of(file: &str, tree: &Tree) -> BTreeSet<String> {
    let (mut all, mut left) = (BTreeSet::new(), vec![file.to_string()]);
    let modules: Vec<(String, &str)> = tree
        .files()
        .filter_map(|file| {
            let path = file.path.strip_prefix("crates/aqm/src/")?.strip_suffix(".rs")?;
            Some((format!("crate::{}", path.replace('/', "::")), file.path.as_str()))
        })
        .collect();
    while let Some(path) = left.pop() {
        let Some(file) = tree.get(&path).filter(|_| all.insert(path.clone())) else { continue };
        let named = |module: &str| {
            file.text.lines().any(|line| names(line, module) || names(line, &module.replace("crate::parts", "super")))
        };
        left.extend(modules.iter().filter(|(module, _)| named(module)).map(|(_, path)| path.to_string()));
    }
    all
}

/// Whether `line` names `module`, not a longer name.
fn names(line: &str, module: &str) -> bool {
    let next = |rest: &str| rest.chars().next();
    line.match_indices(module)
        .any(|(at, _)| next(&line[at + module.len()..]).is_none_or(|c| !c.is_alphanumeric() && c != '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_tested_together_affect_different_disciplines() {
        let files = [
            ("crates/aqm/src/aqm/backlog/red.rs", "a\n"),
            ("crates/aqm/src/aqm/backlog/ared.rs", "use crate::aqm::backlog::red::Red;\nx\n"),
            ("crates/aqm/src/law/pi.rs", "// like crate::aqm::red_tail\nz\n"),
            ("crates/aqm/mutants/red.txt", "1\n- a\n+ b\n\n2\n- a\n+ c"),
            ("crates/aqm/mutants/ared.txt", "3\n- x\n+ y"),
            ("crates/aqm/mutants/pi.txt", "4\n- z\n+ y"),
        ];
        let tree = Tree::of(&files);
        let faults = fault::all(&tree).unwrap();
        let rounds = rounds(&faults, &tree);
        let words: Vec<Vec<&str>> = rounds.iter().map(|r| r.iter().map(|f| f.words.as_str()).collect()).collect();
        let of = |word: &str| words.iter().position(|round| round.contains(&word)).unwrap();
        assert!(of("1") != of("2") && of("3") != of("1") && of("3") != of("2"), "{words:?}");
        assert_eq!(words.len(), 3, "{words:?}");
    }
}
