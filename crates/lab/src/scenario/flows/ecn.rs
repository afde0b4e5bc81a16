//! `ecn` of `[[flows]]`: the ECN codepoint of data.

use crate::declare::{Key, Table, may, schema};
use crate::document::{Value, quote};
use crate::input::{InputError, did_you_mean};

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

const WORDS: [&str; 2] = ["ect0", "ect1"];

/// The key, of every kind but `sctp`.
pub(super) const ECN: Key = may(
    "ecn",
    || schema::flag_or(&WORDS),
    "ECN codepoint of data: ect0, ect1 (L4S), false for Not-ECT, or true for the sender's own, ect1 for dctcp with l4s, else \
     ect0. Default false; dctcp then sends its own. bbr and datagrams take no notice of marks, rtp takes them for losses.",
);

impl Ect {
    /// It as it is written in a scenario.
    pub(super) fn show(self) -> String {
        match self {
            Self::Off => "false".to_string(),
            Self::Own => "true".to_string(),
            Self::Ect0 => quote(WORDS[0]),
            Self::Ect1 => quote(WORDS[1]),
        }
    }
}

/// Reads it.
pub(super) fn ecn(table: &Table<'_>) -> Result<Ect, InputError> {
    let Some(node) = table.get(ECN.name) else { return Ok(Ect::Off) };
    match (&node.value, node.text()) {
        (Value::Flag(true), _) => Ok(Ect::Own),
        (Value::Flag(false), _) => Ok(Ect::Off),
        (_, Some("ect0")) => Ok(Ect::Ect0),
        (_, Some("ect1")) => Ok(Ect::Ect1),
        (_, text) => {
            let near = text.and_then(|text| did_you_mean(text, WORDS));
            Err(node.error(table.path_of(ECN.name), "true, false, \"ect0\" or \"ect1\"").hint(near))
        }
    }
}
