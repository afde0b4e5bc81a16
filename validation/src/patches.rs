//! Patches with rules of others, for tests.

use runner::program;

/// Panics unless the patch still applies: the lines that it removes exist.
pub(crate) fn assert_applies(path: &str) {
    let mut source = String::new();
    for line in program::read(path).unwrap().lines() {
        match line.strip_prefix("--- a/") {
            Some(path) => source = program::read(path).unwrap(),
            None if line.starts_with("---") => panic!("not a path: {line}"),
            None => assert!(line.strip_prefix('-').is_none_or(|line| source.contains(line)), "gone: {line}"),
        }
    }
}
