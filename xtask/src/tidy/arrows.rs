//! Which crate may depend on which.

use toml::{Table, Value};

use crate::base::tree::Tree;

/// A crate of ours, those of ours that it may use, and how many others at most.
const ARROWS: &[(&str, &[&str], usize)] = &[
    ("forebay-aqm", &[], 1),
    ("forebay-sim", &["forebay-aqm"], 3),
    ("forebay-theory", &[], 3),
    ("forebay-lab", &["forebay-aqm", "forebay-sim", "forebay-theory"], usize::MAX),
    ("forebay-live", &["forebay-aqm", "forebay-sim"], 3),
    ("forebay", &["forebay-aqm", "forebay-sim", "forebay-lab", "forebay-live"], usize::MAX),
    ("forebay-py", &["forebay-aqm", "forebay-sim", "forebay-lab"], usize::MAX),
    ("forebay-wheel", &["forebay", "forebay-py"], 1),
    ("forebay-fuzz", &["forebay-aqm", "forebay-sim", "forebay-lab"], 0),
    ("forebay-fuzz-targets", &["forebay-fuzz"], 1),
    ("xtask", &["forebay-aqm", "forebay-sim", "forebay-theory", "forebay-lab"], usize::MAX),
];

/// The only crate from elsewhere that `forebay-aqm` may use.
const AQM_USES: &str = "libm";

/// Dependencies that are not in the table above.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let manifests = tree.files().filter(|f| f.path.ends_with("/Cargo.toml"));
    manifests.flat_map(|file| manifest(&file.text).into_iter().map(|what| format!("{}: {what}", file.path))).collect()
}

fn manifest(text: &str) -> Vec<String> {
    let table: Table = match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => return vec![error.to_string()],
    };
    let name = table.get("package").and_then(|p| p.get("name")).and_then(Value::as_str).unwrap_or_default();
    let Some((_, ours, others)) = ARROWS.iter().find(|(crate_name, ..)| *crate_name == name) else {
        return vec![format!("'{name}' is not in the table of xtask/src/tidy/arrows.rs")];
    };
    let mut findings = Vec::new();
    for (kind, names) in dependencies(&table) {
        let wrong = names.iter().filter(|n| is_ours(n) && !ours.contains(&n.as_str()));
        findings.extend(wrong.map(|n| format!("{name} may not depend on {n} ({kind})")));
        let foreign: Vec<&String> = names.iter().filter(|n| !is_ours(n)).collect();
        if kind != "dependencies" {
            continue;
        }
        if foreign.len() > *others {
            findings.push(format!("{name} uses {} crates from elsewhere, the limit is {others}", foreign.len()));
        }
        if name == "forebay-aqm" && foreign.iter().any(|n| *n != AQM_USES) {
            findings.push(format!("{name} may use {AQM_USES} and nothing else"));
        }
    }
    findings
}

/// Is it a crate of ours?
pub(super) fn is_ours(dependency: &str) -> bool {
    ARROWS.iter().any(|(name, ..)| *name == dependency)
}

/// Every table of dependencies, those of one platform included, with the crates' true names.
pub(super) fn dependencies(table: &Table) -> Vec<(String, Vec<String>)> {
    let names = |table: &Table| {
        let real = |(key, value): (&String, &Value)| match value.get("package").and_then(Value::as_str) {
            Some(package) => package.to_string(),
            None => key.clone(),
        };
        table.iter().map(real).collect::<Vec<_>>()
    };
    let mut out = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if key.ends_with("dependencies") => out.push((key.clone(), names(inner))),
            Value::Table(platforms) if key == "target" => {
                out.extend(platforms.values().filter_map(Value::as_table).flat_map(dependencies));
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{name}\"\n{rest}");
        check(&Tree::of(&[("crates/x/Cargo.toml", &text)]))
    }

    #[test]
    fn lets_the_design_pass() {
        assert!(of("forebay-lab", "[dependencies]\nforebay-sim.workspace = true\nserde = \"1\"").is_empty());
        assert!(of("forebay-aqm", "[dependencies]\nlibm = \"0.2\"\n[dev-dependencies]\nproptest = \"1\"").is_empty());
    }

    #[test]
    fn finds_arrows_that_point_the_wrong_way() {
        for (name, rest, want) in [
            ("forebay-aqm", "[dependencies]\nforebay-sim.workspace = true", "may not depend on forebay-sim"),
            ("forebay-theory", "[dev-dependencies]\nforebay-aqm.workspace = true", "may not depend on forebay-aqm"),
            ("forebay-lab", "[dependencies]\nforebay.workspace = true", "may not depend on forebay (dependencies)"),
            ("forebay-lab", "[build-dependencies]\nxtask = { path = \"x\" }", "may not depend on xtask"),
            ("forebay-sim", "[dependencies]\nx = { package = \"forebay-lab\", path = \"y\" }", "on forebay-lab"),
            ("forebay-sim", "[target.'cfg(unix)'.dependencies]\nforebay-lab.workspace = true", "on forebay-lab"),
        ] {
            let findings = of(name, rest);
            assert!(findings.len() == 1 && findings[0].contains(want), "{name} {rest}: {findings:?}");
        }
    }

    #[test]
    fn finds_strangers_and_crates_too_many() {
        assert!(of("forebay-aqm", "[dependencies]\nrand = \"1\"")[0].contains("may use libm and nothing else"));
        assert!(of("forebay-sim", "[dependencies]\na=\"1\"\nb=\"1\"\nc=\"1\"\nd=\"1\"")[0].contains("uses 4 crates"));
        assert!(of("forebay-new", "")[0].contains("not in the table"));
        assert_eq!(of("forebay-sim", "dependencies = [").len(), 1);
    }
}
