//! The program has too little memory: each limit on its address space gives an error or the right result.

use std::fs;
use std::process::Command;

use super::{RUN, sample};
use crate::common::{Ended, Place, temporaries};
use crate::kills::results;

/// Steps between two limits, in KiB.
const STEP: u64 = 256;

/// Runs the program with a limit of its address space.
fn limited(place: &Place, words: &[&str], kib: u64) -> Ended {
    let program = place.command(words);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v \"$1\"; shift; exec \"$@\"", "sh", &kib.to_string()]);
    shell.arg(program.get_program()).args(program.get_args()).current_dir(&place.dir);
    Ended::new(shell.output().unwrap())
}

/// The least limit, in steps of [`STEP`], with which `is_enough`. More is never too little.
fn least(is_enough: impl Fn(u64) -> bool) -> u64 {
    let (mut few, mut many) = (0, (1 << 20) / STEP);
    while many - few > 1 {
        let middle = few.midpoint(many);
        if is_enough(middle * STEP) { many = middle } else { few = middle }
    }
    many * STEP
}

#[test]
fn too_little_memory_is_reported_or_harmless() {
    let reference = Place::new("memory-reference");
    reference.run(&RUN).good();
    let expected = results(&reference.dir.join("out"));
    let place = Place::new("memory");
    let out = place.dir.join("out");
    // With less the program cannot be loaded.
    let to_load = least(|kib| limited(&place, &["--version"], kib).code == Some(0));
    let ended = |kib: u64| {
        let _ = fs::remove_dir_all(&out);
        limited(&place, &RUN, kib)
    };
    let enough = least(|kib| ended(kib).code == Some(0));
    let (mut failed, mut tried) = (0, 0);
    for kib in sample((to_load..=enough).step_by(STEP as usize).collect(), 16) {
        let ended = ended(kib);
        tried += 1;
        match ended.code {
            Some(0) => assert!(results(&out) == expected, "{kib} KiB"),
            Some(1 | 4) => {
                failed += 1;
                let causes = ["out of memory", "cannot start", "Cannot allocate memory"];
                assert!(causes.iter().any(|cause| ended.stderr.contains(cause)), "{kib} KiB: {ended:?}");
            }
            _ => panic!("{kib} KiB: {ended:?}"),
        }
        place.run(&RUN).good();
        assert!(results(&out) == expected && temporaries(&out).is_empty(), "{kib} KiB");
    }
    println!("{tried} limits from {to_load} to {enough} KiB, {failed} of them too small");
    assert!(failed > tried / 4, "{failed} of {tried}");
}
