//! Every invariant in ARCHITECTURE.md names its check, and the check exists.
//!
//! Under the heading "Invariants" every list item must contain `check:` followed by one or more of these in backticks:
//! `path::test`, `tidy: rule`, `stage: name` of `cargo xtask test`, `lint: name`.

use super::manifests;
use crate::base::tree::Tree;

const FILE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Invariants";

/// Invariants without a check, and checks that do not exist.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let Some(file) = tree.get(FILE) else { return vec![format!("{FILE} is missing")] };
    let items = items(&file.text);
    if items.is_empty() {
        return vec![format!("{FILE}: no invariants under '{HEADING}'")];
    }
    let mut findings = Vec::new();
    for (line, item) in items {
        let checks: Vec<&str> =
            item.split_once("check:").map_or_else(Vec::new, |(_, rest)| rest.split('`').skip(1).step_by(2).collect());
        if checks.is_empty() {
            findings.push(format!("{FILE}:{line}: this invariant names no check"));
        }
        let lost = checks.into_iter().filter(|check| !exists(tree, check));
        findings.extend(lost.map(|check| format!("{FILE}:{line}: there is no check '{check}'")));
    }
    findings
}

/// The list items under the heading, each joined to one line, with the number of its first line.
fn items(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let mut items: Vec<(usize, String)> = Vec::new();
    for (n, line) in lines.take_while(|(_, line)| !line.starts_with("## ")) {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(first), _) => items.push((n + 1, first.to_string())),
            (None, Some((_, item))) if line.starts_with("  ") => *item += line,
            _ => {}
        }
    }
    items
}

fn exists(tree: &Tree, check: &str) -> bool {
    if let Some(rule) = check.strip_prefix("tidy: ") {
        return super::RULES.iter().any(|(name, ..)| *name == rule);
    }
    if let Some(stage) = check.strip_prefix("stage: ") {
        return crate::base::stages::STAGES.contains(&stage);
    }
    if let Some(lint) = check.strip_prefix("lint: ") {
        return matches!(manifests::level(tree, lint).as_deref(), Some("deny" | "forbid"));
    }
    let Some((path, name)) = check.split_once("::") else { return false };
    tree.get(path).is_some_and(|file| has_test(&file.code, name))
}

/// Whether there is a function of this name right below a `#[test]`.
fn has_test(code: &str, name: &str) -> bool {
    let (mut marked, signature) = (false, format!("fn {name}("));
    for line in code.lines().map(str::trim) {
        if line.starts_with(&signature) && marked {
            return true;
        }
        marked = line == "#[test]" || (marked && (line.is_empty() || line.starts_with("#[")));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::*;

    #[test]
    fn finds_missing_and_unknown_checks_of_invariants() {
        let code = "#[test]\n#[ignore]\nfn real() {}\nfn helper() {}\n// #[test]\nfn disguised() {}\n";
        let root = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\nunreachable_pub = \"warn\"\n";
        for (item, want) in [
            ("- **One.** Text,\n  more. check: `crates/x/tests/t.rs::real`", ""),
            ("- One. check: `tidy: arrows`, `stage: engine`, `lint: unsafe_code`, `lint: print_stdout`", ""),
            ("- **One.** Text with `code`.\n- **Two.** check: `tidy: sizes`", ":5: this invariant names no check"),
            ("nothing", "no invariants"),
            ("- One. check: `crates/x/tests/t.rs::unreal`", ":5: there is no check 'crates/x/tests/t.rs::unreal'"),
            ("- One. check: `crates/x/tests/t.rs::helper`", "no check"),
            ("- One. check: `crates/x/tests/t.rs::disguised`", "no check"),
            ("- One. check: `crates/x/tests/none.rs::real`", "no check"),
            ("- One. check: `tidy: none`", "no check"),
            ("- One. check: `stage: none`", "no check"),
            ("- One. check: `lint: unreachable_pub`", "no check"),
            ("- One. check: `by eye`", "no check"),
        ] {
            let page = format!("# A\n- not one\n{HEADING}\n\n{item}\n\n## Next\n- neither\n");
            finds(check, &[(FILE, &page), ("crates/x/tests/t.rs", code), ("Cargo.toml", root)], want);
        }
        finds(check, &[], "ARCHITECTURE.md is missing");
    }
}
