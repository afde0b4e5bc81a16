//! Errors in the user's input (scenario files and arguments): the place, what was found, what is accepted, and a hint
//! on how to correct it.

use std::fmt;
use std::ops::{Deref, DerefMut};

use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::text::BadValue;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Most characters of the input that a message repeats.
const LONGEST: usize = 80;
/// Most characters of a key's path in a message.
const LONGEST_KEY: usize = 200;

/// What was found in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Words of the input; messages quote them.
    Text(String),
    /// A description, such as `a table` or `nothing`.
    Thing(String),
}

impl Found {
    /// Words of the input, shortened and on one line.
    pub fn text(words: &str) -> Self {
        Self::Text(one_line(words, LONGEST))
    }

    /// A description in place of words of the input.
    pub fn thing(name: impl Into<String>) -> Self {
        Self::Thing(name.into())
    }

    /// The words or the description, without quotes.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(words) | Self::Thing(words) => words,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(words) => write!(f, "'{words}'"),
            Self::Thing(name) => f.write_str(name),
        }
    }
}

/// The first `longest` characters, control characters escaped.
fn one_line(words: &str, longest: usize) -> String {
    let mut short = String::new();
    for (i, c) in words.chars().enumerate() {
        match c {
            _ if i == longest => return short + "...",
            c if c.is_control() => short.extend(c.escape_default()),
            c => short.push(c),
        }
    }
    short
}

/// The parts of an [`InputError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file as given, or the argument: `--aqm`, `--set`.
    pub file: String,
    /// Line in the file, from 1; none for arguments and unreadable files.
    pub line: Option<usize>,
    /// Column in that line, from 1, in characters.
    pub column: Option<usize>,
    /// Dotted path of the key; empty if no key is concerned.
    pub key: String,
    /// What was found at this place.
    pub found: Found,
    /// What is accepted; shown after "expected ".
    pub accepts: String,
    /// How to correct the input.
    pub hint: Option<String>,
}

/// An error in input. It dereferences to its [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError(Box<Fault>);

impl InputError {
    /// An error about a file, without a line.
    pub fn new(file: impl Into<String>, key: impl Into<String>, found: Found, accepts: impl Into<String>) -> Self {
        Self(Box::new(Fault {
            file: file.into(),
            line: None,
            column: None,
            key: one_line(&key.into(), LONGEST_KEY),
            found,
            accepts: accepts.into(),
            hint: None,
        }))
    }

    /// Sets line and column, both from 1.
    pub fn at(mut self, line: usize, column: usize) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }

    /// Sets the hint on how to correct the input.
    pub fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl Deref for InputError {
    type Target = Fault;
    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl DerefMut for InputError {
    fn deref_mut(&mut self) -> &mut Fault {
        &mut self.0
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        let key = if self.key.is_empty() { String::new() } else { format!(": {}", self.key) };
        let hint = self.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        let message = format!("{}{line}{key}: found {}, expected {}{hint}", self.file, self.found, self.accepts);
        // Names of files and keys may contain line breaks too.
        f.write_str(&one_line(&message, usize::MAX))
    }
}

impl std::error::Error for InputError {}

impl Serialize for InputError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("InputError", 9)?;
        out.serialize_field("kind", "input")?;
        out.serialize_field("file", &self.file)?;
        out.serialize_field("line", &self.line)?;
        out.serialize_field("column", &self.column)?;
        out.serialize_field("key", &self.key)?;
        out.serialize_field("found", self.found.as_str())?;
        out.serialize_field("accepts", &self.accepts)?;
        out.serialize_field("hint", &self.hint)?;
        out.serialize_field("message", &self.to_string())?;
        out.end()
    }
}

/// The hint `did you mean X?`, if a candidate is close to `word`.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean {near}?"))
}

/// The error for an input `word` that is none of the accepted `words`.
pub(crate) fn no_such_word(word: &str, words: &[&str]) -> BadValue {
    let bad = BadValue::new(match words {
        [only] => (*only).to_string(),
        _ => format!("one of {}", words.join(", ")),
    });
    BadValue { hint: did_you_mean(word, words.iter().copied()), ..bad }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong_unit() -> InputError {
        InputError::new("scenario.toml", "topology.bottleneck.rate", Found::text("10mbps"), "a rate such as 15mbit")
            .at(7, 3)
            .hint("write 10mbit".to_string())
    }

    #[test]
    fn error_message_is_one_line() {
        assert_eq!(
            wrong_unit().to_string(),
            "scenario.toml:7: topology.bottleneck.rate: found '10mbps', expected a rate such as 15mbit (write 10mbit)"
        );
        let bare = InputError::new("a.toml", "", Found::thing("no such file"), "a scenario file");
        assert_eq!(bare.to_string(), "a.toml: found no such file, expected a scenario file");
    }

    #[test]
    fn json_of_error_has_all_fields_and_message() {
        let json = serde_json::to_value(wrong_unit()).unwrap();
        assert_eq!(json["kind"], "input");
        assert_eq!(json["line"], 7);
        assert_eq!(json["found"], "10mbps");
        assert_eq!(json["message"], wrong_unit().to_string());
    }

    #[test]
    fn error_quotes_input_shortened_and_on_one_line() {
        assert_eq!(Found::text("a\nb").as_str(), "a\\nb");
        assert_eq!(Found::text(&"x".repeat(500)).as_str().len(), LONGEST + 3);
    }
}
