//! `cargo xtask mutants`: deliberate faults in every discipline, and whether the tests find them.
//!
//! Compiling takes longer than testing. So each round puts one fault into every discipline at once and asks only
//! the tests of each discipline about it: its unit tests, its transcription, its golden trace. Disciplines that use
//! each other's files never share a round. What these tests let pass meets all tests of the crate, alone. All of them
//! take 15 minutes and more, so this is a task and not a stage of the tests.

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

/// Every fault is found, or shown to be no fault.
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
                tally.fail(format!("{}: nobody noticed: {}", fault.discipline, fault.words));
            }
        }
    }
    Ok(())
}

/// Faults that can be tried at once: no discipline has, in what it is made of, a file with another's fault.
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

/// What is there for everybody.
fn is_base(file: &str) -> bool {
    file.contains("/base/")
}

/// `file` and the disciplines and parts that it names, and those that they name.
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

/// Does `line` name `module` itself, and not one whose name only begins like it?
fn names(line: &str, module: &str) -> bool {
    let next = |rest: &str| rest.chars().next();
    line.match_indices(module)
        .any(|(at, _)| next(&line[at + module.len()..]).is_none_or(|c| !c.is_alphanumeric() && c != '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_a_fault_a_discipline_and_no_neighbours() {
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
