//! Reads the keys of one TOML table as typed values. Errors have the position in the file.

use std::ops::RangeInclusive;

use forebay_aqm::base::text::BadValue;
use forebay_sim::network::Lane;
use serde_json::Value as Json;

use super::{Keys, names};
use crate::document::{Entry, NO_CONTROL, Node, Place, Text, Value, join};
use crate::input::{Found, InputError, did_you_mean, no_such_word};

/// The context of a table. Defaults and units of its keys depend on it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Setting<'a> {
    /// Default title of the scenario.
    pub(crate) title: &'a str,
    /// Size of the scenario's packets in bytes.
    pub(crate) packet: u32,
    /// The link whose values are the defaults; for a reverse direction it is the forward direction.
    pub(crate) like: Option<&'a Lane>,
    /// Default of the key `study`: whether results of a link are recorded.
    pub(crate) studied: bool,
    /// Names of the nodes of a graph.
    pub(crate) nodes: &'a [String],
    /// Names of the groups of flows.
    pub(crate) groups: &'a [&'a str],
    /// Position of the table in its list.
    pub(crate) index: usize,
}

/// How the values of a key are read, written and described.
pub(crate) trait Form {
    /// The type of the values.
    type Value;
    /// JSON Schema of the values.
    fn schema(&self) -> Json;
    /// Reads the value of the key at `path` of `table`.
    fn read(&self, table: &Table<'_>, node: &Node, path: &str) -> Result<Self::Value, InputError>;
    /// The value in canonical form, as TOML.
    fn show(&self, value: &Self::Value) -> String;
    /// Appends `key` and its value to `out`. Tables with a `[header]` override it.
    fn write(&self, out: &mut Text, key: &str, value: &Self::Value) {
        out.set(key, self.show(value));
    }
    /// What is accepted; the error for a missing key at `path` of `table` shows it after "expected ".
    fn accepts(&self, _table: &Table<'_>, _path: &str) -> String {
        String::new()
    }
}

/// A table being read.
#[derive(Clone, Debug)]
pub(crate) struct Table<'a> {
    path: String,
    place: &'a Place,
    entries: &'a [Entry],
    /// The context on which its defaults depend.
    pub(crate) setting: Setting<'a>,
}

/// Result of a reader of quantities such as `text::rate`.
pub(crate) type Parsed<T> = Result<T, BadValue>;

impl<'a> Table<'a> {
    /// The table `node`; its keys are not checked yet.
    pub(crate) fn bare(node: &'a Node, path: &str, setting: Setting<'a>) -> Result<Self, InputError> {
        match &node.value {
            Value::Table(entries) => Ok(Self { path: path.to_string(), place: &node.place, entries, setting }),
            _ => Err(node.error(path, "a table")),
        }
    }

    /// The same table in the context `setting`.
    pub(crate) fn within<'b>(&self, setting: Setting<'b>) -> Table<'b>
    where
        'a: 'b,
    {
        let table: Table<'b> = self.clone();
        Table { setting, ..table }
    }

    /// Reads the table `node`, which may only have the keys of `T`.
    pub(crate) fn whole_of<T: Keys>(node: &'a Node, path: &str, setting: Setting<'a>) -> Result<T, InputError> {
        let table = Self::bare(node, path, setting)?;
        table.expect(&names(&T::keys()), &[])?;
        T::read(&table)
    }

    /// Refuses keys that are not in `known`. Keys in `later` are not supported yet.
    pub(crate) fn expect(&self, known: &[&str], later: &[&str]) -> Result<(), InputError> {
        let stranger = self.entries.iter().find(|e| !known.contains(&e.key.as_str()));
        let Some(entry) = stranger else { return Ok(()) };
        let (key, found) = (self.path_of(&entry.key), Found::text(&entry.key));
        let error = entry.place.error(key, found, format!("one of {}", known.join(", ")));
        Err(match later.contains(&entry.key.as_str()) {
            true => error.hint(format!("{} is not supported yet", entry.key)),
            false => error.hint(did_you_mean(&entry.key, known.iter().copied())),
        })
    }

    /// Refuses every key but `key`.
    pub(crate) fn only(&self, key: &str) -> Result<(), InputError> {
        match self.entries.iter().find(|e| e.key != key) {
            Some(e) => {
                let error = e.place.error(self.path_of(&e.key), Found::text(&e.key), format!("only the key {key}"));
                Err(error.hint(did_you_mean(&e.key, [key])))
            }
            None => Ok(()),
        }
    }

    /// The value of a required key.
    pub(crate) fn needed<F: Form>(&self, key: &'static str, form: &F) -> Result<F::Value, InputError> {
        self.given(key, form)?.ok_or_else(|| self.missing(key, &form.accepts(self, &self.path_of(key))))
    }

    /// The value of an optional key.
    pub(crate) fn given<F: Form>(&self, key: &'static str, form: &F) -> Result<Option<F::Value>, InputError> {
        self.get(key).map(|node| form.read(self, node, &self.path_of(key))).transpose()
    }

    /// Last part of its path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// Dotted path of one of its keys.
    pub(crate) fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The node of `key`, if given.
    pub(crate) fn get(&self, key: &'static str) -> Option<&'a Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The node of `key`; an error if it is missing.
    pub(crate) fn node(&self, key: &'static str, accepts: &str) -> Result<&'a Node, InputError> {
        self.get(key).ok_or_else(|| self.missing(key, accepts))
    }

    /// The error for a missing `key`.
    pub(crate) fn missing(&self, key: &str, accepts: &str) -> InputError {
        self.place.error(self.path_of(key), Found::thing("nothing"), accepts)
    }

    /// An error about `key`: at its value if given, else at the table.
    pub(crate) fn bad(&self, key: &'static str, bad: BadValue) -> InputError {
        match self.get(key) {
            Some(node) => node.error(self.path_of(key), bad.accepts).hint(bad.hint),
            None => self.missing(key, &bad.accepts).hint(bad.hint),
        }
    }

    /// Reads the value of `key` as a quantity; `None` if the key is missing.
    pub(crate) fn maybe<T>(
        &self,
        key: &'static str,
        read: impl Fn(&str) -> Parsed<T>,
    ) -> Result<Option<T>, InputError> {
        self.get(key).map(|node| quantity(node, &self.path_of(key), read)).transpose()
    }

    /// Reads the value of `key` as one of the words of `choices`; `default` if the key is missing, an error if there is
    /// no default.
    pub(crate) fn word<T: Copy>(
        &self,
        key: &'static str,
        default: Option<T>,
        choices: &[(&str, T)],
    ) -> Result<T, InputError> {
        match (self.get(key), default) {
            (Some(node), _) => one_of(node, &self.path_of(key), choices),
            (None, Some(default)) => Ok(default),
            (None, None) => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                Err(self.missing(key, &no_such_word("", &words).accepts))
            }
        }
    }

    /// The items of a list, each with its path; empty if the list is missing.
    pub(crate) fn list(&self, key: &'static str, accepts: &str) -> Result<Vec<(&'a Node, String)>, InputError> {
        let path = self.path_of(key);
        match self.get(key).map(|node| (node, &node.value)) {
            None => Ok(Vec::new()),
            Some((_, Value::List(items))) => {
                Ok(items.iter().enumerate().map(|(i, item)| (item, format!("{path}[{i}]"))).collect())
            }
            Some((node, _)) => Err(node.error(path, accepts)),
        }
    }
}

/// Reads a quantity: text, or a number if the reader `read` accepts one without a unit.
pub(crate) fn quantity<T>(node: &Node, path: &str, read: impl Fn(&str) -> Parsed<T>) -> Result<T, InputError> {
    let number_or_text = !matches!(node.value, Value::Flag(_));
    let words = node.scalar().filter(|_| number_or_text);
    read(words.as_deref().unwrap_or_default()).map_err(|bad| node.error(path, bad.accepts).hint(bad.hint))
}

/// Reads a word of `choices` and returns the value that belongs to it.
pub(crate) fn one_of<T: Copy>(node: &Node, path: &str, choices: &[(&str, T)]) -> Result<T, InputError> {
    quantity(node, path, |word| {
        let known = choices.iter().find(|(choice, _)| *choice == word).map(|(_, value)| *value);
        known.ok_or_else(|| no_such_word(word, &choices.iter().map(|(word, _)| *word).collect::<Vec<_>>()))
    })
}

/// Whether a name consists of letters, digits, `-` and `_`; not empty.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Reads a text.
pub(crate) fn text<'a>(node: &'a Node, path: &str) -> Result<&'a str, InputError> {
    node.text().ok_or_else(|| {
        let hint = node.scalar().map(|words| format!("write \"{words}\", in quotes"));
        node.error(path, "a text in quotes").hint(hint)
    })
}

/// Reads a name that results show: text without line breaks and other control characters, which could control a
/// terminal.
pub(crate) fn name<'a>(node: &'a Node, path: &str) -> Result<&'a str, InputError> {
    let text = text(node, path)?;
    if text.contains(char::is_control) { Err(node.error(path, NO_CONTROL)) } else { Ok(text) }
}

/// Reads a whole number in `range`.
pub(crate) fn whole(node: &Node, path: &str, range: RangeInclusive<u32>) -> Result<u32, InputError> {
    let number = match node.value {
        Value::Integer(n) => u32::try_from(n).ok().filter(|n| range.contains(n)),
        _ => None,
    };
    number.ok_or_else(|| {
        let error = node.error(path, format!("a whole number from {} to {}", range.start(), range.end()));
        let quoted = node.text().filter(|t| t.parse::<u32>().is_ok());
        error.hint(quoted.map(|n| format!("write {n}, without quotes; to vary it, name its path in [vary]")))
    })
}
