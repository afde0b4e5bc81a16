//! `ecn` of `[[flows]]`: the ECN codepoint of data.

use super::doc::Value;
use super::error::{InputError, did_you_mean};
use super::lines::quote;
use super::shape::{Key, Kind, may};
use super::table::Table;

/// What a group asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ect {
    /// `false`: Not-ECT; DCTCP, which needs ECN, sends as with [`Own`](Self::Own).
    Off,
    /// `true`: the sender's own, ECT(1) for DCTCP with `l4s`, else ECT(0).
    Own,
    /// `"ect0"`.
    Ect0,
    /// `"ect1"`.
    Ect1,
}

/// The words of the key.
pub(crate) const WORDS: [&str; 2] = ["ect0", "ect1"];

/// The key, of every kind but `sctp`.
pub(crate) const ECN: &[Key] = &[may(
    "ecn",
    Kind::FlagOr(&WORDS),
    "ECN codepoint of data: ect0, ect1 (L4S), false for Not-ECT, or true for the sender's own, ect1 for dctcp with l4s, else \
     ect0. Default false; dctcp then sends its own. bbr and datagrams take no notice of marks, rtp takes them for losses.",
)];

impl Ect {
    /// It as it is written in a scenario.
    pub(crate) fn show(self) -> String {
        match self {
            Self::Off => "false".to_string(),
            Self::Own => "true".to_string(),
            Self::Ect0 => quote(WORDS[0]),
            Self::Ect1 => quote(WORDS[1]),
        }
    }
}

/// Reads it.
pub(crate) fn ecn(table: &Table<'_>) -> Result<Ect, InputError> {
    let Some(node) = table.get("ecn") else { return Ok(Ect::Off) };
    match (&node.value, node.text()) {
        (Value::Flag(true), _) => Ok(Ect::Own),
        (Value::Flag(false), _) => Ok(Ect::Off),
        (_, Some("ect0")) => Ok(Ect::Ect0),
        (_, Some("ect1")) => Ok(Ect::Ect1),
        (_, text) => {
            let near = text.and_then(|text| did_you_mean(text, WORDS));
            Err(node.error(table.path_of("ecn"), "true, false, \"ect0\" or \"ect1\"").hint(near))
        }
    }
}
