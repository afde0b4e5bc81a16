//! `docs/scenario.md`: the keys of a scenario file, from its JSON schema.

use serde_json::{Value, json};

use crate::base::program;
use pages::{cell, page};

const SCHEMA: &str = "docs/scenario.schema.json";
pub(super) const PAGE: &str = "docs/scenario.md";

pub(super) fn page() -> Result<String, String> {
    let schema: Value = serde_json::from_str(&program::read(SCHEMA)?).map_err(|error| format!("{SCHEMA}: {error}"))?;
    let top = &schema["properties"];
    let (topologies, flows) = (kinds(&top["topology"]), kinds(&top["flows"]["items"]));
    let own = |(kind, table): &Kind| json!([kind, about(table), rows(table, &|key| key != "kind")]);
    let anywhere = || topologies.iter().chain(&flows).map(|(_, table)| *table);
    let shared = SHARED.iter().filter_map(|key| Some((key, anywhere().find_map(|table| table_called(key, table))?)));
    let mut values = all_flows(&flows);
    values["top"] = json!(rows(&schema, &|key| !["topology", "flows"].contains(&key)));
    values["topologies"] = topologies.iter().map(own).collect();
    values["shared"] = shared.map(|(key, table)| json!([key, about(table), rows(table, &|_| true)])).collect();
    page!("scenario.md.jinja", values)
}

/// Name and schema of a kind of flows, networks etc.: a table that the key `kind` selects.
type Kind<'a> = (&'a str, &'a Value);

/// Tables that are the same wherever they occur: described once.
const SHARED: [&str; 5] = ["loss", "rate_levels", "reverse", "size", "think"];

/// The kinds of flows: keys that all kinds have, keys of the kinds over TCP, and keys of one kind only.
fn all_flows(flows: &[Kind<'_>]) -> Value {
    let Some((_, first)) = flows.first() else { return json!({}) };
    let is_of_all = |key: &str, kinds: &[&str]| {
        let of = flows.iter().filter(|(kind, _)| kinds.is_empty() || kinds.contains(kind));
        key != "kind"
            && of.into_iter().all(|(_, table)| table["properties"].get(key) == Some(&first["properties"][key]))
    };
    let all = |key: &str| is_of_all(key, &[]);
    let tcp = |key: &str| is_of_all(key, &OVER_TCP) && !all(key);
    let own = |(kind, table): &Kind| {
        let keys = &table["properties"];
        let told = |key: &str| (all(key) || tcp(key)) && keys[key] == first["properties"][key];
        json!([kind, about(table), rows(table, &|key| key != "kind" && !told(key))])
    };
    let kinds: Vec<Value> = flows.iter().map(own).collect();
    json!({ "all": rows(first, &all), "tcp": rows(first, &tcp), "over_tcp": OVER_TCP, "flows": kinds })
}

/// Kinds of flows over TCP.
const OVER_TCP: [&str; 5] = ["ftp", "web", "short-tcp", "file", "video"];

/// The alternatives of a table, each with the value of `kind`.
fn kinds(choice: &Value) -> Vec<Kind<'_>> {
    let all = choice["oneOf"].as_array().into_iter().flatten();
    all.filter_map(|one| Some((one.pointer("/properties/kind/const")?.as_str()?, one))).collect()
}

fn about(value: &Value) -> String {
    cell(value["description"].as_str().unwrap_or_default())
}

/// The first table below `within` with the name `key`.
fn table_called<'a>(key: &str, within: &'a Value) -> Option<&'a Value> {
    let keys = within["properties"].as_object().into_iter().flatten();
    keys.clone()
        .find_map(|(name, value)| tables(value).first().filter(|_| name == key).map(|(_, table)| *table))
        .or_else(|| keys.flat_map(|(_, value)| tables(value)).find_map(|(_, table)| table_called(key, table)))
}

/// Every table that a key accepts, with its suffix of the path: `[]` for an item of a list.
fn tables(value: &Value) -> Vec<(&'static str, &Value)> {
    if value["properties"].is_object() {
        return vec![("", value)];
    }
    let choices = ["anyOf", "oneOf"].into_iter().flat_map(|choice| value[choice].as_array().into_iter().flatten());
    let listed = value.get("items").into_iter().flat_map(tables).map(|(_, table)| ("[]", table));
    choices.flat_map(tables).chain(listed).collect()
}

/// Key, accepted values and description: a row for each wanted key of a table and of the tables in it.
type Rows = Vec<[String; 3]>;

fn rows(table: &Value, wanted: &dyn Fn(&str) -> bool) -> Rows {
    let mut out = Rows::new();
    below(&mut out, "", table, wanted);
    out
}

fn below(out: &mut Rows, prefix: &str, table: &Value, wanted: &dyn Fn(&str) -> bool) {
    let required = |key: &str| table["required"].as_array().into_iter().flatten().any(|name| name == key);
    for (key, value) in table["properties"].as_object().into_iter().flatten().filter(|(key, _)| wanted(key)) {
        let path = format!("{prefix}{key}");
        let needed = if required(key) { " Needed." } else { "" };
        let inner = tables(value);
        let shared = !inner.is_empty() && SHARED.contains(&key.as_str());
        let more = if shared { format!(" See [`{key}`](#{key}).") } else { String::new() };
        out.push([path.clone(), accepts(value), format!("{}{needed}{more}", about(value))]);
        // If a key accepts several tables, a key that they share has one row.
        let mut told: Vec<(&str, &Value)> = Vec::new();
        for (place, table) in inner.into_iter().filter(|_| !shared) {
            let new = |key: &str| told.iter().all(|(name, value)| *name != key || **value != table["properties"][key]);
            below(out, &format!("{path}{place}."), table, &new);
            told.extend(
                table["properties"].as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value)),
            );
        }
    }
}

/// The accepted values in a few words.
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
            // A name of `[vary]` in braces is accepted everywhere.
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
        // Text with a unit, or a number without one.
        _ => "quantity".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_values_of_keys_are_described() {
        assert_eq!(accepts(&json!({ "type": "integer", "minimum": 1, "maximum": 9 })), "1 to 9");
        assert_eq!(
            accepts(&json!({ "anyOf": [{ "enum": ["a", "b"] }, { "type": "string", "pattern": "x" }] })),
            "`\"a\"`, `\"b\"`"
        );
        assert_eq!(accepts(&json!({ "type": "array", "items": { "type": ["string", "number"] } })), "list: quantity");
    }

    /// Path and value of every key of the schema, and whether it is a table that is described once.
    fn keys<'a>(prefix: &str, table: &'a Value, into: &mut Vec<(String, &'a Value, bool)>) {
        for (key, value) in table["properties"].as_object().unwrap() {
            let shared = SHARED.contains(&key.as_str());
            into.push((format!("{prefix}{key}"), value, shared));
            for (place, inner) in tables(value) {
                keys(&if shared { String::new() } else { format!("{prefix}{key}{place}.") }, inner, into);
            }
        }
    }

    #[test]
    fn every_scenario_key_has_a_row() {
        let schema: Value = serde_json::from_str(&program::read(SCHEMA).unwrap()).unwrap();
        let (page, mut all) = (page().unwrap(), Vec::new());
        let choices = [&schema["properties"]["topology"], &schema["properties"]["flows"]["items"]];
        choices.iter().flat_map(|choice| kinds(choice)).for_each(|(_, table)| keys("", table, &mut all));
        assert!(all.len() > 500 && all.iter().any(|(key, ..)| key == "links[].one_way"), "{}", all.len());
        for (key, ..) in all.iter().filter(|(key, ..)| key != "kind") {
            // A key that alternative tables share has one row.
            let row = |key: &str| page.contains(&format!("\n| `{key}` |"));
            assert!(row(key) || row(&key.replace("[].", ".")), "{key}");
        }
        for row in ["| `links[].from` | text | ", "| `version` | 1 |", "delay, such as 10ms. Needed."] {
            assert!(page.contains(row), "{row}");
        }
        // A table that is described once is the same everywhere.
        for key in SHARED {
            let is_it = |path: &str| path.rsplit('.').next() == Some(key);
            let values = all.iter().filter(|(path, _, shared)| *shared && is_it(path)).map(|(_, value, _)| *value);
            let one: Vec<&Value> = values.flat_map(tables).map(|(_, table)| table).collect();
            let is_same = |other: &&Value| ["properties", "required"].iter().all(|part| other[part] == one[0][part]);
            assert!(one.len() > 1 && one.iter().all(is_same), "{key}: {}", one.len());
        }
    }
}
