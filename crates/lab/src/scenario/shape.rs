//! The keys of every table, declared beside the code that reads them; the JSON Schema comes from here.

use serde_json::{Map, Value as Json, json};

/// The keys that one table of a scenario may have.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What the table is, for readers of the schema.
    pub(crate) doc: &'static str,
    /// The value of its `kind` key, for tables that are told apart by it.
    pub(crate) tag: Option<&'static str>,
    /// Its keys, in groups that several shapes share.
    pub(crate) groups: &'static [&'static [Key]],
    /// Keys of the published shape that are not built yet.
    pub(crate) later: &'static [&'static str],
}

/// A key, what it takes, and what it means.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    needed: bool,
    kind: Kind,
    doc: &'static str,
}

/// What a key takes, as far as the schema can say.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// A quantity with its unit; a bare number where tc takes one.
    Quantity,
    /// True or false.
    Flag,
    /// True or false, or one of these words.
    FlagOr(&'static [&'static str]),
    /// A whole number within bounds.
    Whole(u32, u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of quantities.
    Quantities,
    /// Rows of numbers.
    Matrix,
    /// A time, or `{ uniform = [lo, hi] }`.
    Uniform,
    /// `[from, to]`, or a list of such pairs.
    Windows,
    /// A list of times, each with the rate from then on.
    Steps,
    /// A whole number within bounds, or this word.
    WholeOr(u32, u32, &'static str),
    /// A table.
    Table(&'static Shape),
    /// A table that is one of these.
    OneOf(&'static [&'static Shape]),
    /// A quantity, or a table.
    QuantityOr(&'static Shape),
    /// A trace: the name of a file, or a list of milliseconds.
    Trace,
    /// A table, or a list of tables of another shape.
    TableOrMany(&'static Shape, &'static Shape),
    /// A list of tables, each one of these.
    Many(&'static [&'static Shape]),
    /// Axes of any name.
    Axes,
}

/// A key that must be there.
pub(crate) const fn need(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, needed: true, kind, doc }
}

/// A key that may be left out.
pub(crate) const fn may(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, needed: false, kind, doc }
}

impl Shape {
    /// Every accepted key, in order of declaration.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let tag = self.tag.map(|_| "kind");
        tag.into_iter().chain(self.keys().map(|k| k.name)).collect()
    }

    fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The JSON Schema of this table.
    pub(crate) fn schema(&self) -> Json {
        let mut properties = Map::new();
        let mut required: Vec<&str> = self.keys().filter(|k| k.needed).map(|k| k.name).collect();
        if let Some(tag) = self.tag {
            properties.insert("kind".into(), json!({ "const": tag }));
            required.insert(0, "kind");
        }
        for key in self.keys() {
            let mut schema = key.kind.schema();
            if let Json::Object(object) = &mut schema {
                object.insert("description".into(), key.doc.into());
            }
            properties.insert(key.name.into(), schema);
        }
        json!({
            "description": self.doc,
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl Kind {
    fn schema(&self) -> Json {
        let quantity = || json!({ "type": ["string", "number"] });
        let one_of = |shapes: &[&Shape]| match shapes {
            [only] => only.schema(),
            _ => json!({ "oneOf": shapes.iter().map(|s| s.schema()).collect::<Vec<_>>() }),
        };
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Quantity => quantity(),
            Self::Flag => json!({ "type": "boolean" }),
            Self::FlagOr(words) => json!({ "anyOf": [{ "type": "boolean" }, { "enum": words }, placeholder()] }),
            Self::Whole(lo, hi) => json!({ "type": "integer", "minimum": lo, "maximum": hi }),
            Self::Word(words) => json!({ "anyOf": [{ "enum": words }, placeholder()] }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Quantities => json!({ "type": "array", "items": quantity(), "minItems": 1 }),
            Self::Matrix => json!({ "type": "array", "items": {
                "type": "array", "items": { "type": ["string", "number"] }, "minItems": 1,
            }, "minItems": 1 }),
            Self::Uniform => json!({ "anyOf": [quantity(), {
                "type": "object",
                "properties": { "uniform": pair() },
                "required": ["uniform"],
                "additionalProperties": false,
            }] }),
            Self::Windows => json!({ "anyOf": [pair(), { "type": "array", "items": pair(), "minItems": 1 }] }),
            Self::Steps => json!({ "type": "array", "items": pair(), "minItems": 1 }),
            Self::WholeOr(lo, hi, word) => json!({ "anyOf": [
                { "type": "integer", "minimum": lo, "maximum": hi }, { "enum": [word] }, placeholder(),
            ] }),
            Self::Table(shape) => shape.schema(),
            Self::OneOf(shapes) => one_of(shapes),
            Self::QuantityOr(shape) => json!({ "anyOf": [quantity(), shape.schema()] }),
            Self::Trace => json!({ "anyOf": [
                { "type": "string" }, { "type": "array", "items": { "type": "integer" }, "minItems": 1 },
            ] }),
            Self::TableOrMany(shape, item) => json!({ "anyOf": [
                shape.schema(), { "type": "array", "items": item.schema(), "minItems": 1 },
            ] }),
            Self::Many(shapes) => json!({ "type": "array", "items": one_of(shapes), "minItems": 1 }),
            Self::Axes => json!({ "type": "object" }),
        }
    }
}

/// `[from, to]`, two quantities.
fn pair() -> Json {
    json!({ "type": "array", "items": { "type": ["string", "number"] }, "minItems": 2, "maxItems": 2 })
}

/// A text with an axis in it may become any word.
fn placeholder() -> Json {
    json!({ "type": "string", "pattern": "\\{[A-Za-z0-9_-]+\\}" })
}
