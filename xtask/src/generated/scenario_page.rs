//! `docs/scenario.md`: the keys of a scenario file, from the schema that the reader itself is made of.

use std::fmt::Write;

use serde_json::Value;

use crate::base::program;
use crate::base::tree::Tree;

const SCHEMA: &str = "docs/scenario.schema.json";
const PAGE: &str = "docs/scenario.md";

/// Writes the page.
pub(crate) fn write() -> Result<(), String> {
    program::write(PAGE, &page()?)?;
    println!("{PAGE}");
    Ok(())
}

/// Is the page what the schema asks for?
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    match (page(), tree.get(PAGE)) {
        (Err(what), _) => vec![what],
        (Ok(page), Some(file)) if file.text == page => Vec::new(),
        _ => vec![format!("{PAGE} is stale: cargo xtask docs")],
    }
}

fn page() -> Result<String, String> {
    let schema: Value = serde_json::from_str(&program::read(SCHEMA)?).map_err(|error| format!("{SCHEMA}: {error}"))?;
    Ok(text(&schema))
}

/// A kind's word and its table.
type Kind<'a> = (&'a str, &'a Value);

/// Tables that stand in many places and are the same everywhere: told once.
const SHARED: [&str; 5] = ["loss", "rate_levels", "reverse", "size", "think"];

fn text(schema: &Value) -> String {
    let mut out = HEAD.to_string();
    let top = &schema["properties"];
    rows(&mut out, schema, &|key| !["topology", "flows"].contains(&key));
    out.push_str(TOPOLOGY);
    let topologies = kinds(&top["topology"]);
    for (kind, table) in &topologies {
        let _ = write!(out, "\n### {kind}\n\n{}\n\n{COLUMNS}", about(table));
        rows(&mut out, table, &|key| key != "kind");
    }
    let flows = kinds(&top["flows"]["items"]);
    out.push_str(&all_flows(&flows));
    out.push_str(MANY);
    let anywhere = topologies.iter().chain(&flows).map(|(_, table)| *table);
    let anywhere: Vec<&Value> = anywhere.collect();
    for key in SHARED {
        let Some(table) = anywhere.iter().find_map(|table| table_called(key, table)) else { continue };
        let _ = write!(out, "\n### `{key}`\n\n{}\n\n{COLUMNS}", about(table));
        rows(&mut out, table, &|_| true);
    }
    out
}

/// Kinds of flows: what all take, what those over TCP take, and what is each one's own.
fn all_flows(flows: &[Kind<'_>]) -> String {
    let everywhere = |key: &str, value: &Value, over: &[&str]| {
        let of = flows.iter().filter(|(kind, _)| over.is_empty() || over.contains(kind));
        of.clone().count() > 0 && of.clone().all(|(_, table)| table["properties"].get(key) == Some(value))
    };
    let Some((_, first)) = flows.first() else { return String::new() };
    let shared = |over: &[&str], known: &[&str]| -> Vec<String> {
        let keys = first["properties"].as_object().into_iter().flatten();
        let keys = keys.filter(|(key, value)| *key != "kind" && everywhere(key, value, over));
        keys.map(|(key, _)| key.clone()).filter(|key| !known.contains(&key.as_str())).collect()
    };
    let all = shared(&[], &[]);
    let tcp = shared(&OVER_TCP, &all.iter().map(String::as_str).collect::<Vec<_>>());
    let mut out = format!("{FLOWS}{COLUMNS}");
    rows(&mut out, first, &|key| all.iter().any(|one| one == key));
    let _ = write!(out, "\n### Over TCP\n\n`{}` take these too.\n\n{COLUMNS}", OVER_TCP.join("`, `"));
    rows(&mut out, first, &|key| tcp.iter().any(|one| one == key));
    for (kind, table) in flows {
        let _ = write!(out, "\n### {kind}\n\n{}\n", about(table));
        let keys = &table["properties"];
        let told = |key: &str| all.iter().chain(&tcp).any(|one| one == key && keys[key] == first["properties"][key]);
        let own = |key: &str| key != "kind" && !told(key);
        if keys.as_object().into_iter().flatten().any(|(key, _)| own(key)) {
            let _ = write!(out, "\n{COLUMNS}");
            rows(&mut out, table, &own);
        }
    }
    out
}

/// Kinds of flows that are TCP's.
const OVER_TCP: [&str; 4] = ["ftp", "web", "short-tcp", "file"];

/// The kinds among which a table chooses, each with its word.
fn kinds(choice: &Value) -> Vec<Kind<'_>> {
    let all = choice["oneOf"].as_array().into_iter().flatten();
    all.filter_map(|one| Some((one.pointer("/properties/kind/const")?.as_str()?, one))).collect()
}

fn about(value: &Value) -> String {
    value["description"].as_str().unwrap_or_default().replace('|', "\\|")
}

/// The first table below `within` that stands as `key`.
fn table_called<'a>(key: &str, within: &'a Value) -> Option<&'a Value> {
    let keys = within["properties"].as_object().into_iter().flatten();
    keys.clone()
        .find_map(|(name, value)| tables(value).first().filter(|_| name == key).map(|(_, table)| *table))
        .or_else(|| keys.flat_map(|(_, value)| tables(value)).find_map(|(_, table)| table_called(key, table)))
}

/// Every table that may stand there, with what its place adds to the path: `[]` for one of a list.
fn tables(value: &Value) -> Vec<(&'static str, &Value)> {
    if value["properties"].is_object() {
        return vec![("", value)];
    }
    let choices = ["anyOf", "oneOf"].into_iter().flat_map(|choice| value[choice].as_array().into_iter().flatten());
    let listed = value.get("items").into_iter().flat_map(tables).map(|(_, table)| ("[]", table));
    choices.flat_map(tables).chain(listed).collect()
}

/// A row for each wanted key of a table, and for those of tables in it.
fn rows(out: &mut String, table: &Value, wanted: &dyn Fn(&str) -> bool) {
    below(out, "", table, wanted);
}

fn below(out: &mut String, prefix: &str, table: &Value, wanted: &dyn Fn(&str) -> bool) {
    let required = |key: &str| table["required"].as_array().into_iter().flatten().any(|name| name == key);
    for (key, value) in table["properties"].as_object().into_iter().flatten().filter(|(key, _)| wanted(key)) {
        let path = format!("{prefix}{key}");
        let needed = if required(key) { " Needed." } else { "" };
        let inner = tables(value);
        let shared = !inner.is_empty() && SHARED.contains(&key.as_str());
        let more = if shared { format!(" See [`{key}`](#{key}).") } else { String::new() };
        let _ = writeln!(out, "| `{path}` | {} | {}{needed}{more} |", accepts(value), about(value));
        if shared {
            continue;
        }
        // Where one of several tables may stand, a key that they share has one row.
        let mut told: Vec<(&str, &Value)> = Vec::new();
        for (place, table) in inner {
            let new = |key: &str| told.iter().all(|(name, value)| *name != key || **value != table["properties"][key]);
            below(out, &format!("{path}{place}."), table, &new);
            told.extend(
                table["properties"].as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value)),
            );
        }
    }
}

/// What may stand there, in a few words.
fn accepts(value: &Value) -> String {
    if let Some(word) = value["const"].as_str() {
        return format!("`\"{word}\"`");
    }
    if let Some(words) = value["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(all) = value[choice].as_array() {
            // The name of an axis in braces may stand everywhere.
            let all: Vec<String> = all.iter().filter(|one| one["pattern"].is_null()).map(accepts).collect();
            let mut once = all.clone();
            once.dedup();
            return once.join(" or ");
        }
    }
    match value["type"].as_str() {
        Some("boolean") => "`true`, `false`".to_string(),
        Some("integer") => match (value["minimum"].as_i64(), value["maximum"].as_i64()) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            _ => "a whole number".to_string(),
        },
        Some("number") => "a number".to_string(),
        Some("string") => "text".to_string(),
        Some("array") => format!("list: {}", accepts(&value["items"])),
        Some("object") => "table".to_string(),
        // Text with a unit, or a bare number where there is none.
        _ => "quantity".to_string(),
    }
}

const HEAD: &str = "\
# Scenario reference

Written by `cargo xtask docs` from [the schema](scenario.schema.json), which is written by the reader of these files itself, and
which editors that know JSON Schema take. A quantity is text with a unit as tc(8) writes it: `10mbit`, `20ms`, `100p`, `160kb`. A
rate or a time without a unit is an error, but for 0 where a time or a rate may be 0. The name of an axis in braces, `\"{n}\"`, may
stand for any value. [Networks](networks.md), [access networks](access-networks.md) and
[TCP](tcp.md) tell what the keys mean; `forebay explain web` and its like, what a kind of traffic does. `links[].rate` is the key
`rate` of each table of the list `links`.

## The file

| key | takes | what it is |
|---|---|---|
";
const COLUMNS: &str = "| key | takes | what it is |\n|---|---|---|\n";
const TOPOLOGY: &str = "\n## `[topology]`\n\nOne of three kinds; `kind` says which.\n";
const MANY: &str = "\n## Tables that stand in many places\n";
const FLOWS: &str = "\n## `[[flows]]`\n\nGroups of flows; `kind` says what they carry. All kinds take these.\n\n";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_may_stand_is_said_in_words() {
        assert_eq!(accepts(&json!({ "type": "integer", "minimum": 1, "maximum": 9 })), "1 to 9");
        assert_eq!(
            accepts(&json!({ "anyOf": [{ "enum": ["a", "b"] }, { "type": "string", "pattern": "x" }] })),
            "`\"a\"`, `\"b\"`"
        );
        assert_eq!(accepts(&json!({ "type": "array", "items": { "type": ["string", "number"] } })), "list: quantity");
    }

    /// Every key of a table and those below, but for tables that are told apart from where they stand.
    fn keys(prefix: &str, table: &Value, into: &mut Vec<String>) {
        for (key, value) in table["properties"].as_object().unwrap() {
            into.push(format!("{prefix}{key}"));
            for (place, inner) in tables(value) {
                let prefix =
                    if SHARED.contains(&key.as_str()) { String::new() } else { format!("{prefix}{key}{place}.") };
                keys(&prefix, inner, into);
            }
        }
    }

    #[test]
    fn every_key_has_a_row() {
        let schema: Value = serde_json::from_str(&program::read(SCHEMA).unwrap()).unwrap();
        let page = page().unwrap();
        let mut all = Vec::new();
        for (_, table) in
            kinds(&schema["properties"]["topology"]).iter().chain(&kinds(&schema["properties"]["flows"]["items"]))
        {
            keys("", table, &mut all);
        }
        assert!(all.len() > 500 && all.contains(&"links[].one_way".to_string()), "{}", all.len());
        for key in all.iter().filter(|key| *key != "kind") {
            // What tables that may stand in one place share has one row.
            let row = |key: &str| page.contains(&format!("\n| `{key}` |"));
            assert!(row(key) || row(&key.replace("[].", ".")), "{key}");
        }
        for row in ["| `links[].from` | text | ", "| `version` | 1 |", "| `access[].name` |"] {
            assert!(page.contains(row), "{row}");
        }
        assert!(page.contains("One-way propagation delay, such as 10ms. Needed."));
    }

    #[test]
    fn what_is_told_once_is_the_same_everywhere() {
        fn called<'a>(key: &str, table: &'a Value, into: &mut Vec<&'a Value>) {
            for (name, value) in table["properties"].as_object().unwrap() {
                for (_, inner) in tables(value) {
                    if name == key {
                        into.push(inner);
                    }
                    called(key, inner, into);
                }
            }
        }
        let schema: Value = serde_json::from_str(&program::read(SCHEMA).unwrap()).unwrap();
        for key in SHARED {
            let mut all = Vec::new();
            for (_, table) in
                kinds(&schema["properties"]["topology"]).iter().chain(&kinds(&schema["properties"]["flows"]["items"]))
            {
                called(key, table, &mut all);
            }
            assert!(
                all.len() > 1
                    && all.iter().all(|one| ["properties", "required"].iter().all(|part| one[part] == all[0][part])),
                "{key}: {}",
                all.len()
            );
        }
    }
}
