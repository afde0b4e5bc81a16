//! What the compiler is asked to check, and that it is asked.

use toml::{Table, Value};

use crate::base::tree::Tree;

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

/// Where the kernel is talked to, the only folder with unsafe code.
pub(super) const SYS: &str = "crates/live/src/sys/";
/// The manifest of its crate, and the lints there beside the workspace's.
const UNSAFE: &str = "crates/live/Cargo.toml";
const ITS_LINTS: [(&str, &str, &str); 3] = [
    ("rust", "unsafe_code", "deny"),
    ("rust", "missing_docs", "deny"),
    ("clippy", "undocumented_unsafe_blocks", "deny"),
];

/// The crate with unsafe code has it in one folder.
fn kept_apart(tree: &Tree, manifest: &Table) -> Vec<String> {
    let says = |(group, lint, want): &(&str, &str, &str)| {
        manifest.get("lints").and_then(|l| l.get(group)?.get(lint)?.as_str()).is_none_or(|found| found != *want)
    };
    let lints = ITS_LINTS.iter().filter(|lint| says(lint));
    let mut findings: Vec<_> = lints.map(|(_, lint, want)| format!("{}: {lint} is not \"{want}\"", UNSAFE)).collect();
    for file in tree.rust().filter(|file| file.path.starts_with("crates/live/") && !file.path.starts_with(SYS)) {
        if file.code.contains("unsafe_code") {
            findings.push(format!("{}: unsafe code outside of {}", file.path, SYS));
        }
    }
    findings
}

/// Three lines for each target of cargo-fuzz, whose macro makes the rest; a workspace of its own.
const FOREIGN: &str = "fuzz/Cargo.toml";

/// The workspace has the lints, and every crate takes them.
pub(super) fn inherited(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml")) {
        let Ok(table) = toml::from_str::<Table>(&file.text) else {
            findings.push(format!("{}: is no TOML", file.path));
            continue;
        };
        if file.path == FOREIGN {
            continue;
        }
        if file.path == UNSAFE {
            findings.extend(kept_apart(tree, &table));
            continue;
        }
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

    #[test]
    fn finds_unsafe_code_outside_of_its_folder() {
        let lints = "[lints.rust]\nunsafe_code = \"deny\"\nmissing_docs = \"deny\"\n[lints.clippy]\n\
                     undocumented_unsafe_blocks = \"deny\"";
        let of = |lints: &str, path: &str| {
            inherited(&Tree::of(&[(UNSAFE, lints), (path, "#![expect(unsafe_code, reason = \"syscalls\")]")]))
        };
        assert!(of(lints, "crates/live/src/sys/ring.rs").is_empty());
        assert_eq!(of(lints, "crates/live/src/lane.rs").len(), 1);
        assert_eq!(of(&lints.replace("unsafe_code = \"deny\"", ""), "crates/live/src/sys/ring.rs").len(), 1);
    }
}
