//! `docs/licences.md`: under which licences the crates stand that a build of Forebay contains.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;

use crate::base::program;

const PAGE: &str = "docs/licences.md";

/// For crates that have to be fetched.
const LONGEST: Duration = Duration::from_secs(120);

/// Writes the page.
pub(crate) fn write() -> Result<(), String> {
    program::write(PAGE, &text(&manifests()?))?;
    println!("{PAGE}");
    Ok(())
}

/// Is it current?
pub(crate) fn check(manifests: &Value) -> Result<(), String> {
    if program::read(PAGE)? == text(manifests) { Ok(()) } else { Err(format!("{PAGE} is stale: cargo xtask docs")) }
}

/// The manifests of all crates. Those for other platforms may not have been fetched so far: then the network is asked.
pub(crate) fn manifests() -> Result<Value, String> {
    let ask = |words: &[&str]| {
        let mut command = program::cargo();
        command.args(["metadata", "--format-version", "1", "--all-features", "--locked", "--quiet"]).args(words);
        program::output_within(command, LONGEST)
    };
    let out = ask(&["--offline"])
        .or_else(|alone| ask(&[]).map_err(|asked| format!("{asked}; without a network: {alone}")))?;
    serde_json::from_str(&out).map_err(|error| format!("cargo metadata: {error}"))
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
