//! Makes the JSON Schema of a table of scenario files from the declaration of its keys.

use serde_json::{Map, Value as Json, json};

use super::Key;

/// A table with exactly these keys, after `kind = WORD` if given.
pub(crate) fn table(doc: &str, kind: Option<&str>, keys: &[Key]) -> Json {
    let kind = kind.map(|word| ("kind", json!({ "const": word })));
    let described = keys.iter().map(|key| {
        let mut schema = (key.schema)();
        schema["description"] = key.doc.trim_start().into();
        (key.name, schema)
    });
    let needed = keys.iter().filter(|key| key.is_needed).map(|key| key.name);
    let required: Vec<&str> = kind.iter().map(|(key, _)| *key).chain(needed).collect();
    let properties: Map<String, Json> = kind.into_iter().chain(described).map(|(k, v)| (k.to_string(), v)).collect();
    json!({
        "description": doc.trim_start(),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Any text.
pub(crate) fn text() -> Json {
    json!({ "type": "string" })
}

/// A quantity with a unit, or a bare number where tc accepts one.
pub(crate) fn quantity() -> Json {
    json!({ "type": ["string", "number"] })
}

/// `true` or `false`.
pub(crate) fn flag() -> Json {
    json!({ "type": "boolean" })
}

/// A whole number within bounds.
pub(crate) fn whole(lo: u32, hi: u32) -> Json {
    json!({ "type": "integer", "minimum": lo, "maximum": hi })
}

/// One of these words.
pub(crate) fn word(words: &[&str]) -> Json {
    json!({ "anyOf": [{ "enum": words }, placeholder()] })
}

/// `true`, `false` or one of these words.
pub(crate) fn flag_or(words: &[&str]) -> Json {
    json!({ "anyOf": [flag(), { "enum": words }, placeholder()] })
}

/// A whole number within bounds, or this word.
pub(crate) fn whole_or(lo: u32, hi: u32, word: &str) -> Json {
    json!({ "anyOf": [whole(lo, hi), { "enum": [word] }, placeholder()] })
}

/// A list, possibly empty.
pub(crate) fn any_of(item: Json) -> Json {
    json!({ "type": "array", "items": item })
}

/// A list of at least one item.
pub(crate) fn many(item: Json) -> Json {
    json!({ "type": "array", "items": item, "minItems": 1 })
}

/// `[from, to]`, two quantities.
pub(crate) fn pair() -> Json {
    json!({ "type": "array", "items": quantity(), "minItems": 2, "maxItems": 2 })
}

/// A value that matches at least one of these schemas.
pub(crate) fn either(choices: &[Json]) -> Json {
    json!({ "anyOf": choices })
}

/// A table that matches exactly one of these schemas.
pub(crate) fn one_of(mut tables: Vec<Json>) -> Json {
    if tables.len() == 1 { tables.remove(0) } else { json!({ "oneOf": tables }) }
}

/// A text with a name from `[vary]` in braces. The values of this name replace the braces, so that any value may
/// result.
fn placeholder() -> Json {
    json!({ "type": "string", "pattern": "\\{[A-Za-z0-9_-]+\\}" })
}
