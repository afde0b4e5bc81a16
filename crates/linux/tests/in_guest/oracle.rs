//! Qdiscs of Linux and disciplines of Forebay with the same packets: every verdict and departure is compared. The
//! recorded digests are what Linux did; `cargo xtask validate-linux` writes them.

use std::path::Path;

use forebay_aqm::Spec;
use forebay_linux::oracle::arrivals::{Arrivals, Pattern};
use forebay_linux::oracle::pairs::{CONTRASTS, PAIRS, Pair};
use forebay_linux::oracle::{compare, line, page};

use crate::kernel;

/// A recorded digest: its words, and its line.
struct Recorded {
    name: String,
    drops: usize,
    marks: usize,
    line: String,
}

fn recorded() -> Vec<Recorded> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/oracle.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let one = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [drops, marks] = [words[3], words[4]].map(|word| word.parse().unwrap());
        Recorded { name: words[0].to_string(), drops, marks, line: line.to_string() }
    };
    text.lines().filter(|line| !line.starts_with('#')).map(one).collect()
}

/// Every pair with every pattern.
fn cases() -> impl Iterator<Item = (&'static Pair, Pattern)> {
    PAIRS.iter().flat_map(|pair| Pattern::ALL.map(|pattern| (pair, pattern)))
}

fn arrivals(pattern: Pattern) -> Arrivals {
    Arrivals::new(pattern, page::SEED, page::RECORDED)
}

#[test]
fn disciplines_treat_packets_as_linux_did() {
    let recorded = recorded();
    assert_eq!(recorded.len(), cases().count());
    for ((pair, pattern), recorded) in cases().zip(recorded) {
        let fates = line::fates(&Spec::parse(pair.ours).unwrap(), &arrivals(pattern), page::SEED);
        assert_eq!(page::line(pair, pattern, &fates), recorded.line);
    }
}

#[test]
fn recorded_packets_include_drops_and_marks() {
    let recorded = recorded();
    for pair in PAIRS {
        let of_pair = || recorded.iter().filter(|recorded| recorded.name == pair.name);
        assert!(of_pair().map(|one| one.drops).sum::<usize>() >= 100, "{}", pair.name);
        // Only one pattern has CE at arrival.
        let marks = of_pair().filter(|one| one.marks > 0).count();
        let never_marks = ["pfifo", "codel", "pie-rate", "drr"].contains(&pair.name);
        assert!(if never_marks { marks == 1 } else { marks > 1 }, "{}", pair.name);
    }
}

#[test]
fn linux_still_does_what_was_recorded() {
    let Some(kernel) = kernel() else { return };
    for ((pair, pattern), recorded) in cases().zip(recorded()) {
        let fates = compare(&kernel, pair, &arrivals(pattern), page::SEED).unwrap();
        for fates in [&fates.linux, &fates.ours, &fates.simulated] {
            assert_eq!(page::line(pair, pattern, fates), recorded.line);
        }
    }
}

#[test]
fn each_condition_of_the_comparison_matters() {
    let Some(kernel) = kernel() else { return };
    for contrast in CONTRASTS {
        let row = page::contrast(&kernel, &contrast).unwrap();
        assert!(row.kernel.verdicts > 0, "{}", contrast.about);
    }
}
