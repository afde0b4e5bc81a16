//! The crates that a build of Forebay contains: their licences as `docs/licences.md`, and the rules of `deny.toml`, which
//! cargo-deny checks too but is not everywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use toml::Table;

use crate::base::page::page;
use crate::base::program;

const PAGE: &str = "docs/licences.md";
const RULES: &str = "deny.toml";
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// For crates that have to be fetched.
const LONGEST: Duration = Duration::from_secs(120);

pub(crate) fn write() -> Result<(), String> {
    program::write(PAGE, &text(&manifests()?)?)
}

pub(super) fn is_current(manifests: &Value) -> Result<(), String> {
    if program::read(PAGE)? == text(manifests)? { Ok(()) } else { Err(format!("{PAGE} is stale: cargo xtask docs")) }
}

/// The manifests of all crates. Those for other platforms may not have been fetched so far: then the network is asked.
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

/// Crates from elsewhere, or ours, which have no source.
fn packages(manifests: &Value, are_ours: bool) -> impl Iterator<Item = &Value> {
    let all = manifests["packages"].as_array().into_iter().flatten();
    all.filter(move |package| package["source"].is_null() == are_ours)
}

fn text(manifests: &Value) -> Result<String, String> {
    let mut by_licence: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in packages(manifests, false) {
        let word = |key: &str| package[key].as_str().unwrap_or("none stated");
        by_licence.entry(word("license").replace('/', " OR ")).or_default().push(word("name"));
    }
    by_licence.values_mut().for_each(|names| {
        names.sort_unstable();
        names.dedup();
    });
    page!("licences.md.jinja", json!({ "rows": by_licence.into_iter().collect::<Vec<_>>() }))
}

/// Does every crate among these manifests keep the rules?
pub(super) fn keep_rules(manifests: &Value) -> Result<(), String> {
    let rules = toml::from_str(&program::read(RULES)?).map_err(|error| format!("{RULES}: {error}"))?;
    let findings = findings(manifests, &rules);
    if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) }
}

fn findings(manifests: &Value, rules: &Table) -> Vec<String> {
    let list = |table: &str, key: &str| rules.get(table)?.get(key)?.as_array();
    let allowed: Vec<&str> = list("licenses", "allow").into_iter().flatten().filter_map(|word| word.as_str()).collect();
    let banned = list("bans", "deny").into_iter().flatten().filter_map(|ban| ban.get("crate")?.as_str());
    let banned: Vec<&str> = banned.collect();
    let mut findings = Vec::new();
    for package in packages(manifests, true) {
        let needs = package["dependencies"].as_array().into_iter().flatten();
        let any = needs.filter(|need| need["req"] == "*" && need["path"].is_null());
        findings.extend(any.map(|any| format!("{} takes any version of {}", package["name"], any["name"])));
    }
    for package in packages(manifests, false) {
        let [name, source, licence] =
            ["name", "source", "license"].map(|key| package[key].as_str().unwrap_or_default());
        for (is_wrong, what) in [
            (banned.contains(&name), "is banned".to_string()),
            (source != CRATES_IO, format!("is from {source}")),
            (!is_allowed(licence, &allowed), format!("is under '{licence}'")),
        ] {
            findings.extend(is_wrong.then(|| format!("{name} {what}")));
        }
    }
    findings
}

/// May a crate under these licences come in? Of those with OR between them one suffices; OR in brackets binds tighter.
fn is_allowed(licences: &str, allowed: &[&str]) -> bool {
    let one = |choice: &str| choice.split(" OR ").any(|licence| allowed.contains(&licence.trim()));
    let without = licences.replace('/', " OR ");
    if without.contains('(') {
        return without.split(" AND ").all(|part| one(part.trim_matches(['(', ')'])));
    }
    // AND binds tighter than OR.
    without.split(" OR ").any(|choice| choice.split(" AND ").all(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, licence: &str, source: Option<&str>) -> Value {
        let licence = if licence.is_empty() { Value::Null } else { licence.into() };
        json!({ "name": name, "license": licence, "source": source })
    }

    #[test]
    fn crates_of_others_stand_under_their_licences() {
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

    #[test]
    fn what_may_not_come_in_is_found() {
        let rules = toml::from_str("[licenses]\nallow = [\"MIT\"]\n[bans]\ndeny = [{ crate = \"curl\" }]").unwrap();
        for (package, want) in [
            (package("a", "MIT", Some(CRATES_IO)), 0),
            (package("curl", "GPL-3.0", Some("git+https://x.org/y")), 3),
            (package("curl", "", None), 0),
            (package("a", "", Some(CRATES_IO)), 1),
            (json!({ "name": "a", "dependencies": [{ "name": "x", "req": "*" }, { "req": "*", "path": "y" }] }), 1),
        ] {
            assert_eq!(findings(&json!({ "packages": [package] }), &rules).len(), want, "{package}");
        }
    }

    #[test]
    fn one_licence_of_several_suffices() {
        let is = |licences: &str| is_allowed(licences, &["MIT", "Zlib"]);
        for fine in ["GPL-3.0 OR MIT", "MIT/GPL-3.0", "(GPL-3.0 OR MIT) AND Zlib", "MIT AND Zlib OR GPL-3.0"] {
            assert!(is(fine), "{fine}");
        }
        for wrong in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "MIT WITH X", ""] {
            assert!(!is(wrong), "{wrong}");
        }
    }
}
