//! Faults that tests plant for the rules to find.

use crate::base::tree::Tree;

/// The rule finds `want` in these files, and nothing where that is empty.
pub(super) fn finds(rule: fn(&Tree) -> Vec<String>, files: &[(&str, &str)], want: &str) {
    let found = rule(&Tree::of(files)).join("\n");
    assert!(found.contains(want) && found.is_empty() == want.is_empty(), "{files:?}: '{found}', not '{want}'");
}
