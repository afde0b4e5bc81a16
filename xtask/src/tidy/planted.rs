//! For tests of the rules of `cargo xtask tidy`: runs a rule on files with a deliberate fault.

use crate::base::tree::Tree;

/// Checks that the rule reports `want` for these files, and nothing if `want` is empty.
pub(super) fn finds(rule: fn(&Tree) -> Vec<String>, files: &[(&str, &str)], want: &str) {
    let found = rule(&Tree::of(files)).join("\n");
    assert!(found.contains(want) && found.is_empty() == want.is_empty(), "{files:?}: '{found}', not '{want}'");
}
