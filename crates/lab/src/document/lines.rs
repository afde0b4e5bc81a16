//! Lines of TOML, and values as they stand in them.

use std::fmt::Display;

/// What names and the values of axes are.
pub(crate) const NO_CONTROL: &str = "a text without line breaks and other control characters";

/// Lines being gathered.
#[derive(Default)]
pub(crate) struct Text(pub(crate) String);

impl Text {
    /// A line as it stands.
    pub(crate) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// `key = value`, the value as it stands.
    pub(crate) fn set(&mut self, key: &str, value: impl Display) {
        self.line(&format!("{key} = {value}"));
    }

    /// Lines of `key = value`, those of `first` in its order before the others in theirs.
    pub(crate) fn ordered(&mut self, keys: &Self, first: &[&str]) {
        let mut lines: Vec<&str> = keys.0.lines().collect();
        let place = |line: &str| first.iter().position(|key| line.split(' ').next() == Some(key));
        lines.sort_by_key(|line| place(line).unwrap_or(first.len()));
        lines.into_iter().for_each(|line| self.line(line));
    }

    /// All of it as a table on one line.
    pub(crate) fn inline(&self) -> String {
        format!("{{ {} }}", self.0.lines().collect::<Vec<_>>().join(", "))
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

/// A TOML array of values as they stand.
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
