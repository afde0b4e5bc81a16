//! A cursor over one table: typed reading, with every complaint at its place.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use forebay_aqm::base::text::BadValue;

use super::doc::{self, Entry, Node, Place, Value};
use super::error::{Found, InputError, did_you_mean, no_such_word};
use super::shape::Shape;

/// A table being read.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    path: String,
    place: &'a Place,
    entries: &'a [Entry],
    asked: RefCell<BTreeSet<&'static str>>,
}

/// What a reader of quantities returns: `text::rate` and its like.
pub(crate) type Parsed<T> = Result<T, BadValue>;

impl<'a> Table<'a> {
    /// The table `node`, whose keys are not judged yet.
    pub(crate) fn bare(node: &'a Node, path: &str) -> Result<Self, InputError> {
        match &node.value {
            Value::Table(entries) => {
                Ok(Self { path: path.to_string(), place: &node.place, entries, asked: RefCell::default() })
            }
            _ => Err(node.error(path, "a table")),
        }
    }

    /// The table `node`, all of whose keys are in `shape`.
    pub(crate) fn open(node: &'a Node, path: &str, shape: &Shape) -> Result<Self, InputError> {
        let table = Self::bare(node, path)?;
        table.expect(shape)?;
        Ok(table)
    }

    /// Refuses keys that `shape` does not have.
    pub(crate) fn expect(&self, shape: &Shape) -> Result<(), InputError> {
        let known = shape.names();
        let stranger = self.entries.iter().find(|e| !known.contains(&e.key.as_str()));
        let Some(entry) = stranger else { return Ok(()) };
        let (key, found) = (self.path_of(&entry.key), Found::text(&entry.key));
        let error = entry.place.error(key, found, format!("one of {}", known.join(", ")));
        Err(if shape.later.contains(&entry.key.as_str()) {
            error.hint(format!("{} is not supported yet", entry.key))
        } else {
            error.hint(did_you_mean(&entry.key, known))
        })
    }

    /// Refuses every key but `key`.
    pub(crate) fn only(&self, key: &str) -> Result<(), InputError> {
        match self.entries.iter().find(|e| e.key != key) {
            Some(e) => {
                let error = e.place.error(self.path_of(&e.key), Found::text(&e.key), format!("no key but {key}"));
                Err(error.hint(did_you_mean(&e.key, [key])))
            }
            None => Ok(()),
        }
    }

    /// Ends the reading; a key that the shape and the reader do not share is a slip of ours.
    pub(crate) fn done(self, shape: &Shape) {
        let declared: BTreeSet<_> = shape.names().into_iter().collect();
        debug_assert_eq!(self.asked.into_inner(), declared, "keys read and keys declared at '{}'", self.path);
    }

    /// The dotted path of one of its keys.
    pub(crate) fn path_of(&self, key: &str) -> String {
        doc::join(&self.path, key)
    }

    /// The node of `key`, if it is there.
    pub(crate) fn get(&self, key: &'static str) -> Option<&'a Node> {
        self.asked.borrow_mut().insert(key);
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The node of `key`, which must be there.
    pub(crate) fn node(&self, key: &'static str, accepts: &str) -> Result<&'a Node, InputError> {
        self.get(key).ok_or_else(|| self.missing(key, accepts))
    }

    /// `key` is not there.
    pub(crate) fn missing(&self, key: &str, accepts: &str) -> InputError {
        self.place.error(self.path_of(key), Found::thing("nothing"), accepts)
    }

    /// An error about `key`: at its value if it is there, else at the table.
    pub(crate) fn bad(&self, key: &'static str, bad: BadValue) -> InputError {
        match self.get(key) {
            Some(node) => node.error(self.path_of(key), bad.accepts).hint(bad.hint),
            None => self.missing(key, &bad.accepts).hint(bad.hint),
        }
    }

    /// A quantity that must be there.
    pub(crate) fn need<T>(&self, key: &'static str, read: impl Fn(&str) -> Parsed<T>) -> Result<T, InputError> {
        match self.get(key) {
            Some(node) => quantity(node, &self.path_of(key), read),
            // What a reader says about no text at all is what it accepts.
            None => Err(self.missing(key, &read("").err().map_or_else(String::new, |bad| bad.accepts.into_owned()))),
        }
    }

    /// A quantity that may be left out.
    pub(crate) fn maybe<T>(
        &self,
        key: &'static str,
        read: impl Fn(&str) -> Parsed<T>,
    ) -> Result<Option<T>, InputError> {
        self.get(key).map(|node| quantity(node, &self.path_of(key), read)).transpose()
    }

    /// A quantity with a default.
    pub(crate) fn or<T>(
        &self,
        key: &'static str,
        default: T,
        read: impl Fn(&str) -> Parsed<T>,
    ) -> Result<T, InputError> {
        Ok(self.maybe(key, read)?.unwrap_or(default))
    }

    /// A text that may be left out.
    pub(crate) fn text(&self, key: &'static str) -> Result<Option<&'a str>, InputError> {
        self.get(key).map(|node| text(node, &self.path_of(key))).transpose()
    }

    /// A truth value with a default.
    pub(crate) fn flag(&self, key: &'static str, default: bool) -> Result<bool, InputError> {
        match self.get(key).map(|node| (node, &node.value)) {
            None => Ok(default),
            Some((_, Value::Flag(on))) => Ok(*on),
            Some((node, _)) => Err(node.error(self.path_of(key), "true or false")),
        }
    }

    /// A whole number with a default.
    pub(crate) fn whole(&self, key: &'static str, default: u32, range: RangeInclusive<u32>) -> Result<u32, InputError> {
        self.get(key).map_or(Ok(default), |node| whole(node, &self.path_of(key), range))
    }

    /// A whole number, or `word` for `None`.
    pub(crate) fn whole_or(
        &self,
        key: &'static str,
        default: Option<u32>,
        range: RangeInclusive<u32>,
        word: &str,
    ) -> Result<Option<u32>, InputError> {
        match self.get(key) {
            None => Ok(default),
            Some(node) if node.text() == Some(word) => Ok(None),
            Some(node) => whole(node, &self.path_of(key), range).map(Some).map_err(|mut error| {
                error.accepts += &format!(", or \"{word}\"");
                error
            }),
        }
    }

    /// One of the words of `choices`, with a default; those of `later` are names of things not built yet.
    pub(crate) fn word<T: Copy>(
        &self,
        key: &'static str,
        default: Option<T>,
        choices: &[(&str, T)],
        later: &[&str],
    ) -> Result<T, InputError> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let read = |word: &str| match choices.iter().find(|(choice, _)| *choice == word) {
            Some((_, value)) => Ok(*value),
            None if later.contains(&word) => Err(no_such_word("", &words).hint(format!("{word} is not supported yet"))),
            None => Err(no_such_word(word, &words)),
        };
        match default {
            Some(default) => self.or(key, default, read),
            None => self.need(key, read),
        }
    }

    /// The items of a list, each with its path; empty if the list is not there.
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

/// A quantity: its text, or a number where the reader takes one without a unit.
pub(crate) fn quantity<T>(node: &Node, path: &str, read: impl Fn(&str) -> Parsed<T>) -> Result<T, InputError> {
    let number_or_text = !matches!(node.value, Value::Flag(_));
    let words = node.scalar().filter(|_| number_or_text);
    read(words.as_deref().unwrap_or_default()).map_err(|bad| node.error(path, bad.accepts).hint(bad.hint))
}

/// Letters, digits, `-` and `_`, at least one.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// A text.
pub(crate) fn text<'a>(node: &'a Node, path: &str) -> Result<&'a str, InputError> {
    node.text().ok_or_else(|| {
        let hint = node.scalar().map(|words| format!("write \"{words}\", in quotes"));
        node.error(path, "a text in quotes").hint(hint)
    })
}

/// What results are called by: a text without line breaks and other control characters, which a terminal would obey.
pub(crate) fn name<'a>(node: &'a Node, path: &str) -> Result<&'a str, InputError> {
    let text = text(node, path)?;
    if text.contains(char::is_control) { Err(node.error(path, NO_CONTROL)) } else { Ok(text) }
}

/// What names and the values of axes are.
pub(crate) const NO_CONTROL: &str = "a text without line breaks and other control characters";

/// A whole number in `range`.
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
