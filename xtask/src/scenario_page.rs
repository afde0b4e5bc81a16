//! `docs/scenario.md`: the keys of a scenario file but those of lists of tables, from the schema that the reader itself is made of.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::program;

const SCHEMA: &str = "docs/scenario.schema.json";
const PAGE: &str = "docs/scenario.md";

/// Writes the page.
pub(crate) fn write() -> Result<(), String> {
    program::write(PAGE, &page()?)?;
    println!("{PAGE}");
    Ok(())
}

/// The page as the schema has it now.
pub(crate) fn page() -> Result<String, String> {
    let schema: Value = serde_json::from_str(&program::read(SCHEMA)?).map_err(|error| format!("{SCHEMA}: {error}"))?;
    Ok(text(&schema))
}

/// A kind's word, what it is, and its keys.
type Kind<'a> = (&'a str, &'a str, &'a Map<String, Value>);

fn text(schema: &Value) -> String {
    let mut out = HEAD.to_string();
    let top = &schema["properties"];
    let plain = |key: &&str| !["topology", "flows"].contains(key);
    for key in top.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).filter(plain) {
        row(&mut out, key, &top[key], required(schema, key));
    }
    out.push_str(TOPOLOGY);
    for (kind, about, keys) in kinds(&top["topology"]) {
        let _ = write!(out, "\n### {kind}\n\n{about}\n\n{COLUMNS}");
        rows(&mut out, keys);
    }
    let flows = kinds(&top["flows"]["items"]);
    let everywhere = |key: &str, value: &Value, over: &[&str]| {
        let of = flows.iter().filter(|(kind, ..)| over.is_empty() || over.contains(kind));
        of.clone().count() > 0 && of.clone().all(|(.., keys)| keys.get(key) == Some(value))
    };
    let Some((.., first)) = flows.first() else { return out };
    let (all, tcp): (Vec<_>, Vec<_>) =
        first.iter().filter(|(key, _)| *key != "kind").partition(|(key, value)| everywhere(key, value, &[]));
    let tcp: Vec<_> = tcp.into_iter().filter(|(key, value)| everywhere(key, value, &OVER_TCP)).collect();
    let _ = write!(out, "{FLOWS}{COLUMNS}");
    all.iter().for_each(|(key, value)| row(&mut out, key, value, false));
    let _ = write!(out, "\n### Over TCP\n\n`{}` take these too.\n\n{COLUMNS}", OVER_TCP.join("`, `"));
    tcp.iter().for_each(|(key, value)| row(&mut out, key, value, false));
    for (kind, about, keys) in &flows {
        let _ = write!(out, "\n### {kind}\n\n{about}\n");
        let known =
            |key: &str| all.iter().chain(&tcp).any(|(known, value)| *known == key && keys.get(key) == Some(*value));
        let own: Map<String, Value> =
            keys.iter().filter(|(key, _)| !known(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        if own.len() > 1 {
            let _ = write!(out, "\n{COLUMNS}");
            rows(&mut out, &own);
        }
    }
    out
}

/// Kinds of flows that are TCP's.
const OVER_TCP: [&str; 4] = ["ftp", "web", "short-tcp", "file"];

/// The kinds among which a table chooses.
fn kinds(choice: &Value) -> Vec<Kind<'_>> {
    choice["oneOf"].as_array().into_iter().flatten().filter_map(unpack).collect()
}

fn unpack(one: &Value) -> Option<Kind<'_>> {
    let keys = one["properties"].as_object()?;
    Some((keys.get("kind")?["const"].as_str()?, one["description"].as_str().unwrap_or_default(), keys))
}

fn required(table: &Value, key: &str) -> bool {
    table["required"].as_array().into_iter().flatten().any(|name| name == key)
}

/// A row for each key of a table but its kind, and for those of tables in it.
fn rows(out: &mut String, keys: &Map<String, Value>) {
    for (key, value) in keys.iter().filter(|(key, _)| *key != "kind") {
        row(out, key, value, false);
    }
}

/// So deep do rows go; the other direction of a link has the keys of the link.
const DEEPEST: usize = 3;

fn row(out: &mut String, path: &str, value: &Value, needed: bool) {
    let about = value["description"].as_str().unwrap_or_default().replace('|', "\\|");
    let needed = if needed { " Needed." } else { "" };
    let _ = writeln!(out, "| `{path}` | {} | {about}{needed} |", accepts(value));
    if path.split('.').count() >= DEEPEST {
        return;
    }
    let inner = |value: &Value| value["properties"].as_object().cloned();
    let tables = inner(value).into_iter().chain(value["anyOf"].as_array().into_iter().flatten().filter_map(inner));
    // Alternatives of one table: the first has what the others have.
    let Some(table) = tables.into_iter().next() else { return };
    for (key, value) in &table {
        row(out, &format!("{path}.{key}"), value, required(value, key));
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
which editors that know JSON Schema take. A quantity is text with a unit as tc(8) writes it: `10mbit`, `20ms`, `100p`, `160kb`. The
name of an axis in braces, `\"{n}\"`, may stand for any value. [Networks](networks.md), [access networks](access-networks.md) and
[TCP](tcp.md) tell what the keys mean, those of `[[topology.links]]` and `[[topology.bottlenecks]]` too, which are not here;
`forebay explain web` and its like, what a kind of traffic does.

## The file

| key | takes | what it is |
|---|---|---|
";
const COLUMNS: &str = "| key | takes | what it is |\n|---|---|---|\n";
const TOPOLOGY: &str = "\n## `[topology]`\n\nOne of three kinds; `kind` says which.\n";
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

    #[test]
    fn every_key_has_a_row() {
        let page = page().unwrap();
        for key in
            ["duration", "compare.aqm", "bottleneck.rate", "nodes", "direction", "initial_window", "think", "cir"]
        {
            assert!(page.contains(&format!("{key}` |")), "{key}");
        }
    }
}
