//! `cargo xtask mutants`: deliberate faults in every discipline, and whether the tests find them.
//!
//! Compiling takes longer than testing. So each round puts one fault into every discipline at once and asks only
//! the tests of each discipline about it: its unit tests, its transcription, its golden trace. Disciplines that use
//! each other's files never share a round. What these tests let pass meets all tests of the crate, alone. All of them
//! take a quarter of an hour and more, so this is a chore and no stage of the tests.

mod fault;
mod trial;

use std::collections::BTreeSet;

use crate::tally::Tally;
use crate::tree::Tree;
use fault::Fault;
pub(crate) use fault::findings;
use trial::Trial;

/// The chore; with names only those disciplines.
pub(crate) fn run(names: &[&str]) -> std::process::ExitCode {
    let mut tally = Tally::default();
    tally.stage("mutants", "deliberate faults, and the tests that find them", |tally| stage(tally, names));
    tally.finish()
}

/// Every fault is found, or shown to be no fault.
fn stage(tally: &mut Tally, names: &[&str]) {
    if let Err(what) = try_all(tally, names) {
        tally.fail(what);
    }
}

fn try_all(tally: &mut Tally, names: &[&str]) -> Result<(), String> {
    let tree = Tree::read()?;
    let mut faults = fault::all(&tree)?;
    faults.retain(|fault| names.is_empty() || names.contains(&fault.discipline.as_str()));
    if faults.is_empty() {
        return Err("no faults: crates/aqm/mutants has one file a discipline".to_string());
    }
    let mut trial = Trial::new(&tree)?;
    let disciplines: BTreeSet<&str> = faults.iter().map(|fault| fault.discipline.as_str()).collect();
    trial.build(&[])?;
    for name in disciplines {
        if trial.finds(name)? {
            return Err(format!("the tests of {name} fail without any fault"));
        }
    }
    let rounds = rounds(&faults, &tree);
    for (i, round) in rounds.iter().enumerate() {
        println!("round {} of {}: {} faults", i + 1, rounds.len(), round.len());
        trial.build(round)?;
        let mut missed = Vec::new();
        for fault in round {
            match (trial.finds(&fault.discipline)?, &fault.equivalent) {
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

/// Faults that can be tried at once: of disciplines that do not look at each other's files.
fn rounds<'a>(faults: &'a [Fault], tree: &Tree) -> Vec<Vec<&'a Fault>> {
    let mut rounds: Vec<Vec<&Fault>> = Vec::new();
    for fault in faults {
        let apart = |other: &&Fault| other.discipline != fault.discipline && !touch(fault, other, tree);
        match rounds.iter_mut().find(|round| round.iter().all(apart)) {
            Some(round) => round.push(fault),
            None => rounds.push(vec![fault]),
        }
    }
    rounds
}

/// Could the fault of one be seen by the tests of the other? Parts are for everybody.
fn touch(a: &Fault, b: &Fault, tree: &Tree) -> bool {
    let shared = |fault: &Fault| fault.file.contains("/parts/") || fault.file.contains("/base/");
    let uses = |user: &Fault, used: &Fault| {
        let modules = ["law", "aqm", "queue"].map(|rung| format!("crate::{rung}::{}", used.discipline));
        tree.get(&user.file)
            .is_some_and(|file| file.text.lines().any(|line| modules.iter().any(|module| names(line, module))))
    };
    shared(a) || shared(b) || uses(a, b) || uses(b, a)
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
            ("crates/aqm/src/aqm/red.rs", "a\n"),
            ("crates/aqm/src/aqm/ared.rs", "use crate::aqm::red::Red;\nx\n"),
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
