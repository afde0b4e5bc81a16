//! `docs/licences.md`: the licences of the crates that a build of Forebay contains.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::base::program;
use pages::page;

const PAGE: &str = "docs/licences.md";
/// Time limit to fetch crates.
const LONGEST: Duration = Duration::from_secs(120);

pub(crate) fn write() -> Result<(), String> {
    program::write(PAGE, &text(&manifests()?)?)
}

pub(super) fn is_current(manifests: &Value) -> Result<(), String> {
    if program::read(PAGE)? == text(manifests)? { Ok(()) } else { Err(format!("{PAGE} is stale: cargo xtask docs")) }
}

/// The manifests of all crates. Those for other platforms may not have been fetched yet: then they are fetched.
pub(super) fn manifests() -> Result<Value, String> {
    let ask = |words: &[&str]| {
        let mut cargo = program::cargo(&["metadata", "--format-version", "1", "--all-features", "--locked", "--quiet"]);
        cargo.args(words);
        program::output_within(cargo, LONGEST)
    };
    let out = ask(&["--offline"])
        .or_else(|alone| ask(&[]).map_err(|asked| format!("{asked}; without a network: {alone}")))?;
    serde_json::from_str(&out).map_err(|error| format!("cargo metadata: {error}"))
}

fn text(manifests: &Value) -> Result<String, String> {
    let mut by_licence: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let all = manifests["packages"].as_array().into_iter().flatten();
    // Crates of this repository have no source.
    for package in all.filter(|package| !package["source"].is_null()) {
        let word = |key: &str| package[key].as_str().unwrap_or("none stated");
        by_licence.entry(word("license").replace('/', " OR ")).or_default().push(word("name"));
    }
    by_licence.values_mut().for_each(|names| {
        names.sort_unstable();
        names.dedup();
    });
    page!("licences.md.jinja", json!({ "rows": by_licence.into_iter().collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, licence: &str, source: Option<&str>) -> Value {
        let licence = if licence.is_empty() { Value::Null } else { licence.into() };
        json!({ "name": name, "license": licence, "source": source })
    }

    #[test]
    fn crates_are_listed_by_licence() {
        let elsewhere = Some("registry");
        let all = [
            package("b", "MIT/Apache-2.0", elsewhere),
            package("a", "MIT OR Apache-2.0", elsewhere),
            package("c", "", elsewhere),
            package("ours", "MIT", None),
        ];
        let text = text(&json!({ "packages": all })).unwrap();
        assert!(text.ends_with("|---|---|\n| MIT OR Apache-2.0 | a, b |\n| none stated | c |\n"), "{text}");
    }
}
