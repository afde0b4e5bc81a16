//! A TOML document as a tree in which every node has its place in the source, for error messages.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::lines::{join, quote};
use crate::input::{Found, InputError};

/// A text that values come from: a scenario file or a command-line argument.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    text: String,
    has_lines: bool,
}

impl Source {
    /// A file with its name and content.
    pub(crate) fn file(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_string(), text: text.to_string(), has_lines: true })
    }

    /// The value of the option `name`.
    pub(crate) fn argument(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_string(), text: text.to_string(), has_lines: false })
    }
}

/// The place of a node in the text that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    source: Arc<Source>,
    span: Range<usize>,
}

impl Place {
    /// The place that consists of all of `source`.
    pub(crate) fn whole(source: &Arc<Source>) -> Self {
        Self { source: source.clone(), span: 0..source.text.len() }
    }

    /// Whether it is in an argument rather than in a file.
    pub(crate) fn is_argument(&self) -> bool {
        !self.source.has_lines
    }

    /// Path of the file `name`: relative to the folder of this source's file, or to the working directory for
    /// arguments.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let folder = if self.is_argument() { None } else { Path::new(&self.source.name).parent() };
        folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
    }

    /// The bytes of the text that the place consists of.
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Byte offset of the first character of the place.
    pub(crate) const fn start(&self) -> usize {
        self.span.start
    }

    /// An error about `key`, at this place.
    pub(crate) fn error(&self, key: impl Into<String>, found: Found, accepts: impl Into<String>) -> InputError {
        let error = InputError::new(&self.source.name, key, found, accepts);
        if self.is_argument() {
            return error;
        }
        let before = self.source.text.get(..self.span.start).unwrap_or(&self.source.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        error.at(line, column)
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A key of a table, its place and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// A TOML value. Dates are missing: scenarios have none.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Keys in file order.
    Table(Vec<Entry>),
    List(Vec<Node>),
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
}

impl Node {
    /// A table's entry for `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            _ => None,
        }
    }

    /// Entry `key` of a table, or item number `key` of a list.
    pub(crate) fn step(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => self.get(key),
        }
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A scalar as a user would type it; `None` for tables and lists.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Table(_) | Value::List(_) => None,
            Value::Text(text) => Some(text.clone()),
            Value::Integer(n) => Some(n.to_string()),
            Value::Float(x) => Some(x.to_string()),
            Value::Flag(on) => Some(on.to_string()),
        }
    }

    /// The value as a user would type it, on one line.
    pub(crate) fn shown(&self) -> String {
        let inner = |node: &Self| node.text().map_or_else(|| node.shown(), quote);
        match &self.value {
            Value::List(items) => format!("[{}]", items.iter().map(inner).collect::<Vec<_>>().join(", ")),
            Value::Table(entries) => {
                let entries = entries.iter().map(|e| format!("{} = {}", e.key, inner(&e.node)));
                format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
            _ => self.scalar().unwrap_or_default(),
        }
    }

    /// Description of the value for messages.
    pub(crate) fn found(&self) -> Found {
        match &self.value {
            Value::Table(_) => Found::thing("a table"),
            Value::List(items) if items.is_empty() => Found::thing("an empty list"),
            Value::List(items) => Found::thing(format!("a list of {}", items.len())),
            _ => Found::text(&self.scalar().unwrap_or_default()),
        }
    }

    /// An error about this node, under the name `key`.
    pub(crate) fn error(&self, key: impl Into<String>, accepts: impl Into<String>) -> InputError {
        self.place.error(key, self.found(), accepts)
    }
}

/// Reads a document; the root is a table.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Node, InputError> {
    let table = DeTable::parse(&source.text).map_err(|e| syntax_error(source, &e))?;
    let place = Place { source: source.clone(), span: 0..0 };
    Ok(Node { value: entries(source, table.into_inner(), "")?, place })
}

fn entries(source: &Arc<Source>, table: DeTable<'_>, path: &str) -> Result<Value, InputError> {
    let read = |(key, value): (Spanned<DeString<'_>>, Spanned<DeValue<'_>>)| {
        let place = Place { source: source.clone(), span: key.span() };
        let key = key.into_inner().into_owned();
        let node = node(source, value, &join(path, &key))?;
        Ok(Entry { key, place, node })
    };
    table.into_iter().map(read).collect::<Result<_, _>>().map(Value::Table)
}

fn node(source: &Arc<Source>, value: Spanned<DeValue<'_>>, path: &str) -> Result<Node, InputError> {
    let place = Place { source: source.clone(), span: value.span() };
    let bad = |words: &str, accepts: &str| Err(place.error(path, Found::text(words), accepts));
    let value = match value.into_inner() {
        DeValue::Table(table) => entries(source, table, path)?,
        DeValue::Array(items) => Value::List(
            items
                .into_iter()
                .enumerate()
                .map(|(i, item)| node(source, item, &format!("{path}[{i}]")))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(on) => Value::Flag(on),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => return bad(n.as_str(), "a whole number of at most 64 bits"),
        },
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(x) => Value::Float(x),
            Err(_) => return bad(x.as_str(), "a number"),
        },
        DeValue::Datetime(date) => return bad(&date.to_string(), "a text, a number, a list or a table, not a date"),
    };
    Ok(Node { value, place })
}

/// The error for a file with this content that cannot be read: its place is that of `error`.
pub(crate) fn toml_error(file: &str, text: &str, error: &toml::de::Error) -> InputError {
    syntax_error(&Source::file(file, text), error)
}

fn syntax_error(source: &Arc<Source>, error: &toml::de::Error) -> InputError {
    // In a truncated file the error is at the last character, not on the empty line after it.
    let end = source.text.trim_end().len();
    let offset = error.span().map_or(end, |span| span.start).min(end);
    let start = source.text.get(..offset).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1);
    let line = source.text.get(start..).and_then(|t| t.lines().next()).unwrap_or_default();
    let found = if offset == end { Found::thing("the end of the file") } else { Found::text(line.trim()) };
    let place = Place { source: source.clone(), span: offset..offset };
    let accepts = match error.message() {
        "duplicate key" => "each key once",
        message if message.starts_with("missing field") => "the missing key",
        message if ["invalid type:", "invalid value:"].iter().any(|it| message.starts_with(it)) => {
            "a value of another type"
        }
        _ => "valid TOML",
    };
    place.error(key_near(&source.text, start, line), found, accepts).hint(error.message().to_string())
}

/// The key of a line, from the line and the last `[header]` before it.
fn key_near(text: &str, line_start: usize, line: &str) -> String {
    let header = text.get(..line_start).unwrap_or_default().lines().rev().find(|l| l.starts_with('['));
    let header = header.map_or("", |l| l.split('#').next().unwrap_or_default().trim().trim_matches(['[', ']']));
    let is_key = |k: &&str| !k.is_empty() && k.chars().all(|c| c.is_alphanumeric() || "-_.\"".contains(c));
    match line.split_once('=').map(|(key, _)| key.trim()).filter(is_key) {
        Some(key) => join(header, key),
        None if line.starts_with('[') => line.trim_matches(['[', ']', ' ']).to_string(),
        None => header.to_string(),
    }
}
