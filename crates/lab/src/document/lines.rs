//! Writes a scenario as text in TOML, line by line.

use std::fmt::Display;

/// Accepted form of names, and of values in `[vary]`, for error messages.
pub(crate) const NO_CONTROL: &str = "a text without line breaks and other control characters";

/// A table under construction: its lines, then the tables in it.
#[derive(Default)]
pub(crate) struct Text {
    path: String,
    lines: String,
    tables: String,
}

impl Text {
    /// The whole document.
    pub(crate) fn document(self) -> String {
        self.lines + &self.tables
    }

    /// Appends the table `key` under its own header, after all lines of this table.
    pub(crate) fn table(&mut self, key: &str, write: impl FnOnce(&mut Self)) {
        self.below(key, ["[", "]"], write);
    }

    /// Appends an item of the list of tables `key`.
    pub(crate) fn item(&mut self, key: &str, write: impl FnOnce(&mut Self)) {
        self.below(key, ["[[", "]]"], write);
    }

    fn below(&mut self, key: &str, [open, close]: [&str; 2], write: impl FnOnce(&mut Self)) {
        let path = join(&self.path, key);
        self.tables += &format!("\n{open}{path}{close}\n");
        let mut table = Self { path, ..Self::default() };
        write(&mut table);
        self.tables += &table.document();
    }

    /// Appends a line as is.
    pub(crate) fn line(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// Appends `key = value`, with the value as is.
    pub(crate) fn set(&mut self, key: &str, value: impl Display) {
        self.line(&format!("{key} = {value}"));
    }

    /// Appends the lines `key = value` of `keys`: first those whose key is in `first`, in the order of `first`, then
    /// the others in their order.
    pub(crate) fn ordered(&mut self, keys: &Self, first: &[&str]) {
        let mut lines: Vec<&str> = keys.lines.lines().collect();
        lines.sort_by_cached_key(|line| {
            let name = line.split_once(' ').map_or(*line, |(name, _)| name);
            first.iter().position(|key| *key == name).unwrap_or(first.len())
        });
        lines.into_iter().for_each(|line| self.line(line));
    }

    /// All lines as an inline table.
    pub(crate) fn inline(&self) -> String {
        format!("{{ {} }}", self.lines.lines().collect::<Vec<_>>().join(", "))
    }

    /// `key = "value"`.
    pub(crate) fn text(&mut self, key: &str, value: &str) {
        self.set(key, quote(value));
    }

    /// `key = ["value", ...]`.
    pub(crate) fn texts<'a>(&mut self, key: &str, values: impl IntoIterator<Item = &'a str>) {
        self.set(key, list(values.into_iter().map(quote)));
    }
}

/// A TOML array; the items are written as is.
pub(crate) fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

/// A TOML basic string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// `a.b`, or `b` at the root.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}
