//! What the compiler is asked to check, and that it is asked.

use toml::{Table, Value};

use crate::tree::Tree;

/// Lints of the workspace and what they must say.
const LINTS: [(&str, &str); 2] = [("unsafe_code", "forbid"), ("missing_docs", "deny")];

/// `forebay-aqm` declares that it has no std, and only its tests bring it back.
pub(super) fn no_std(tree: &Tree) -> Vec<String> {
    let lib = "crates/aqm/src/lib.rs";
    let mut findings = Vec::new();
    if !tree.get(lib).is_some_and(|file| file.code.lines().any(|line| line.trim() == "#![no_std]")) {
        findings.push(format!("{lib}: no #![no_std]"));
    }
    for file in tree.rust().filter(|file| file.path.starts_with("crates/aqm/src/")) {
        let mut before = "";
        for (n, line) in file.code.lines().enumerate() {
            if line.contains("extern crate std") && before.trim() != "#[cfg(test)]" {
                findings.push(format!("{}:{}: std outside of tests", file.path, n + 1));
            }
            before = line;
        }
    }
    findings
}

/// The workspace has the lints, and every crate takes them.
pub(super) fn inherited(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml")) {
        let Ok(table) = toml::from_str::<Table>(&file.text) else {
            findings.push(format!("{}: is no TOML", file.path));
            continue;
        };
        if file.path != "Cargo.toml" {
            let takes = table.get("lints").and_then(|l| l.get("workspace")).and_then(Value::as_bool);
            if takes != Some(true) {
                findings.push(format!("{}: no [lints] workspace = true", file.path));
            }
            continue;
        }
        for (name, want) in LINTS {
            if level(&table, name) != Some(want) {
                findings.push(format!("{}: [workspace.lints.rust] {name} is not \"{want}\"", file.path));
            }
        }
    }
    findings
}

/// What the workspace says about a lint of rustc.
pub(super) fn level<'a>(workspace: &'a Table, lint: &str) -> Option<&'a str> {
    workspace.get("workspace")?.get("lints")?.get("rust")?.get(lint)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_std_in_aqm() {
        let of = |lib: &str| no_std(&Tree::of(&[("crates/aqm/src/lib.rs", lib)]));
        assert!(of("//! Words.\n#![no_std]\n#[cfg(test)]\nextern crate std;").is_empty());
        assert_eq!(of("// #![no_std]").len(), 1);
        assert_eq!(of("#![no_std]\nextern crate std;"), ["crates/aqm/src/lib.rs:2: std outside of tests"]);
    }

    #[test]
    fn finds_crates_and_workspaces_without_lints() {
        let root = "[workspace.lints.rust]\nmissing_docs = \"deny\"\nunsafe_code = \"forbid\"";
        let of =
            |root: &str, member: &str| inherited(&Tree::of(&[("Cargo.toml", root), ("crates/x/Cargo.toml", member)]));
        assert!(of(root, "[lints]\nworkspace = true").is_empty());
        assert_eq!(of(root, "[package]").len(), 1);
        assert_eq!(of(&root.replace("forbid", "deny"), "[lints]\nworkspace = true").len(), 1);
        assert_eq!(of("[workspace]", "[lints]\nworkspace = true").len(), 2);
    }
}
