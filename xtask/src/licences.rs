//! `docs/licences.md`: under which licences the crates stand that a build of Forebay contains.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::program;

const PAGE: &str = "docs/licences.md";

/// Writes the page.
pub(crate) fn write() -> Result<(), String> {
    program::write(PAGE, &page()?)?;
    println!("{PAGE}");
    Ok(())
}

/// Is it current?
pub(crate) fn check() -> Result<(), String> {
    if program::read(PAGE)? == page()? { Ok(()) } else { Err(format!("{PAGE} is stale: cargo xtask docs")) }
}

fn page() -> Result<String, String> {
    let mut command = program::cargo();
    command.args(["metadata", "--format-version", "1", "--all-features", "--locked", "--quiet"]);
    let (status, out) = program::output(command)?;
    let document: Value = serde_json::from_str(&out).map_err(|error| format!("cargo metadata: {status}: {error}"))?;
    Ok(text(&document))
}

fn text(document: &Value) -> String {
    let mut by_licence: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let packages = document["packages"].as_array().into_iter().flatten();
    // Those without a source are ours.
    for package in packages.filter(|package| package["source"].is_string()) {
        let word = |key: &str| package[key].as_str().unwrap_or("none stated").to_string();
        by_licence.entry(word("license").replace('/', " OR ")).or_default().push(word("name"));
    }
    let mut out = HEAD.to_string();
    for (licence, mut names) in by_licence {
        names.sort();
        names.dedup();
        let _ = writeln!(out, "| {licence} | {} |", names.join(", "));
    }
    out
}

const HEAD: &str = "\
# Licences

Written by `cargo xtask docs` from the manifests of the crates in `Cargo.lock`: what the program, the Python package and
their tests are built with, on any platform. Forebay itself is under MIT or Apache 2.0. Which licences may come in says
`deny.toml`, which `cargo deny check licenses bans sources` reads.

| licence | crates |
|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_others_stand_under_their_licences() {
        let package = |name: &str, licence: Value, source: Value| serde_json::json!({ "name": name, "license": licence, "source": source });
        let document = serde_json::json!({ "packages": [
            package("b", "MIT/Apache-2.0".into(), "registry".into()),
            package("a", "MIT OR Apache-2.0".into(), "registry".into()),
            package("c", Value::Null, "registry".into()),
            package("ours", "MIT".into(), Value::Null),
        ] });
        let text = text(&document);
        assert!(text.ends_with("|---|---|\n| MIT OR Apache-2.0 | a, b |\n| none stated | c |\n"), "{text}");
    }
}
