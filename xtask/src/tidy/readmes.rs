//! What the documents say of crates and of Python is what the manifests say.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::arrows::{dependencies, is_ours};
use crate::base::tree::Tree;

/// The sentence of a crate's README that names the crates of ours that it depends on.
const SENTENCE: &str = "Depends on: ";
/// What it says where there are none.
const NONE: &str = "nothing of Forebay";
/// Before the version of the oldest interpreter that the package runs on.
const PYTHON: &str = "CPython 3.";

/// READMEs that name other dependencies than their manifests, and versions of Python that are not the package's.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut findings: Vec<String> = tree.files().filter_map(|file| crate_readme(tree, &file.path)).collect();
    findings.extend(python(tree));
    findings
}

/// What is wrong with the README beside a manifest.
fn crate_readme(tree: &Tree, manifest: &str) -> Option<String> {
    let folder = manifest.strip_suffix("/Cargo.toml")?;
    let readme = tree.get(&format!("{folder}/README.md"))?;
    // A manifest that cannot be read is a finding of another rule.
    let table: Table = toml::from_str(&tree.get(manifest)?.text).ok()?;
    let all = dependencies(&table).into_iter().filter(|(kind, _)| kind == "dependencies").flat_map(|(_, names)| names);
    let ours: BTreeSet<String> = all.filter(|name| is_ours(name)).collect();
    let words = if ours.is_empty() {
        NONE.to_string()
    } else {
        ours.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let said = readme.text.split_once(SENTENCE).map(|(_, rest)| rest.split('.').next().unwrap_or_default());
    let names = |said: &str| said.split('`').skip(1).step_by(2).map(str::to_string).collect::<BTreeSet<String>>();
    let right = said.is_some_and(|said| names(said) == ours && (said.trim() == NONE) == ours.is_empty());
    (!right).then(|| format!("{}: does not say '{SENTENCE}{words}.'", readme.path))
}

/// The oldest minor version of Python 3 that pyo3 builds for, and what else is said of it.
fn python(tree: &Tree) -> Vec<String> {
    let Some(root) = tree.get("Cargo.toml").and_then(|file| toml::from_str::<Table>(&file.text).ok()) else {
        return Vec::new();
    };
    let features = root.get("workspace").and_then(|w| w.get("dependencies")?.get("pyo3")?.get("features")?.as_array());
    let abi = features.into_iter().flatten().filter_map(Value::as_str).find_map(|one| one.strip_prefix("abi3-py3"));
    let Some(minor) = abi else { return Vec::new() };
    let mut findings = Vec::new();
    let wanted = format!("requires-python = \">=3.{minor}\"");
    if let Some(package) = tree.get("python/pyproject.toml").filter(|file| !file.text.contains(&wanted)) {
        findings.push(format!("{}: does not say '{wanted}', as pyo3's abi3-py3{minor} asks", package.path));
    }
    for file in tree.files().filter(|file| file.path.ends_with(".md")) {
        for (n, line) in file.text.lines().enumerate() {
            let said = line
                .split(PYTHON)
                .skip(1)
                .map(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default());
            let wrong = said.filter(|said| *said != minor);
            findings.extend(wrong.map(|said| {
                format!("{}:{}: {PYTHON}{said}, but the package is for 3.{minor} and later", file.path, n + 1)
            }));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(readme: &str, rest: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"forebay-lab\"\n{rest}");
        check(&Tree::of(&[("crates/lab/Cargo.toml", &manifest), ("crates/lab/README.md", readme)]))
    }

    #[test]
    fn finds_dependencies_that_are_not_those_of_the_manifest() {
        let two = "[dependencies]\nforebay-aqm.workspace = true\nforebay-sim.workspace = true\nserde = \"1\"\n\
                   [dev-dependencies]\nforebay-theory.workspace = true";
        for fine in [
            "# a\n\nDepends on: `forebay-aqm`, `forebay-sim`.",
            "Depends on: `forebay-sim` (its engine), `forebay-aqm`.",
        ] {
            assert_eq!(of(fine, two), Vec::<String>::new(), "{fine}");
        }
        for wrong in [
            "# a",
            "Depends on: `forebay-aqm`.",
            "Depends on: nothing of Forebay.",
            "Depends on: `forebay-aqm`, `forebay-sim`, `forebay-theory`.",
        ] {
            let wanted = "crates/lab/README.md: does not say 'Depends on: `forebay-aqm`, `forebay-sim`.'";
            assert_eq!(of(wrong, two), [wanted], "{wrong}");
        }
        assert_eq!(of("Depends on: nothing of Forebay.", ""), Vec::<String>::new());
        assert_eq!(of("Depends on: `forebay-sim`.", "").len(), 1);
        let linux = "[target.'cfg(target_os = \"linux\")'.dependencies]\nforebay-sim.workspace = true";
        assert_eq!(of("Depends on: `forebay-sim`.", linux), Vec::<String>::new());
    }

    #[test]
    fn finds_versions_of_python_that_are_not_the_packages() {
        let root = "[workspace.dependencies]\npyo3 = { version = \"1\", features = [\"abi3-py311\"] }";
        let of = |requires: &str, page: &str| {
            let package = format!("requires-python = \"{requires}\"");
            check(&Tree::of(&[("Cargo.toml", root), ("python/pyproject.toml", &package), ("docs/a.md", page)]))
        };
        assert_eq!(of(">=3.11", "for CPython 3.11 and later; CPython too"), Vec::<String>::new());
        assert_eq!(
            of(">=3.10", ""),
            ["python/pyproject.toml: does not say 'requires-python = \">=3.11\"', as pyo3's abi3-py311 asks"]
        );
        assert_eq!(of(">=3.11", "a\nfor CPython 3.10 and later").len(), 1);
    }
}
