//! What `deny.toml` asks of crates, asked without cargo-deny, which is not everywhere: licences, bans and sources.

use serde_json::Value;
use toml::Table;

use crate::base::program;

const RULES: &str = "deny.toml";
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Does every crate among these manifests keep the rules?
pub(crate) fn check(manifests: &Value) -> Result<(), String> {
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
    let packages = manifests["packages"].as_array().into_iter().flatten();
    // Those without a source are ours.
    for package in packages.clone().filter(|package| package["source"].is_null()) {
        let needs = package["dependencies"].as_array().into_iter().flatten();
        for any in needs.filter(|need| need["req"] == "*" && need["path"].is_null()) {
            findings.push(format!("{} takes any version of {}", package["name"], any["name"]));
        }
    }
    for package in packages.filter(|package| package["source"].is_string()) {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let name = word("name");
        if banned.contains(&name) {
            findings.push(format!("{name} is banned"));
        }
        if word("source") != CRATES_IO {
            findings.push(format!("{name} is from {}", word("source")));
        }
        if !is_allowed(word("license"), &allowed) {
            findings.push(format!("{name} is under '{}'", word("license")));
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

    const RULE: &str = "[licenses]\nallow = [\"MIT\", \"Zlib\"]\n[bans]\ndeny = [{ crate = \"curl\" }]";

    fn of(name: &str, licence: &str, source: Option<&str>) -> usize {
        let package = serde_json::json!({ "name": name, "license": licence, "source": source });
        findings(&serde_json::json!({ "packages": [package] }), &toml::from_str(RULE).unwrap()).len()
    }

    #[test]
    fn what_may_not_come_in_is_found() {
        assert_eq!(of("a", "MIT", Some(CRATES_IO)), 0);
        assert_eq!(of("curl", "GPL-3.0", Some("git+https://x.org/y")), 3);
        assert_eq!(of("curl", "", None), 0, "ours");
        assert_eq!(of("a", "", Some(CRATES_IO)), 1, "none stated");
        let needs = serde_json::json!([{ "name": "x", "req": "*" }, { "name": "y", "req": "*", "path": "y" }]);
        let ours = serde_json::json!({ "packages": [{ "name": "a", "dependencies": needs }] });
        assert_eq!(findings(&ours, &toml::from_str(RULE).unwrap()), ["\"a\" takes any version of \"x\""]);
    }

    #[test]
    fn one_licence_of_several_suffices_and_all_of_those_joined_are_needed() {
        let is = |licences: &str| is_allowed(licences, &["MIT", "Zlib"]);
        for fine in ["GPL-3.0 OR MIT", "MIT/GPL-3.0", "(GPL-3.0 OR MIT) AND Zlib", "MIT AND Zlib OR GPL-3.0"] {
            assert!(is(fine), "{fine}");
        }
        for wrong in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "MIT WITH X", ""] {
            assert!(!is(wrong), "{wrong}");
        }
    }
}
