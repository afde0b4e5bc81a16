//! `ecn` of `[[flows]]`: the ECN codepoint of data packets.

use crate::declare::{Key, Table, may, schema};
use crate::document::{Value, quote};
use crate::input::{InputError, did_you_mean};

/// The value of `ecn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ect {
    /// `false`: Not-ECT. A congestion control that requires ECN, such as DCTCP, sends as with [`Own`](Self::Own).
    Off,
    /// `true`: the default of the sender, ECT(1) for Prague and for DCTCP with `l4s`, else ECT(0).
    Own,
    /// `"ect0"`: ECT(0).
    Ect0,
    /// `"ect1"`: ECT(1).
    Ect1,
}

const WORDS: [&str; 2] = ["ect0", "ect1"];

/// The key `ecn`; every kind of flows but `sctp` has it.
pub(super) const ECN: Key = may(
    "ecn",
    || schema::flag_or(&WORDS),
    "ECN codepoint of data: ect0, ect1 (L4S), false (Not-ECT) or true (ect1 for prague, l4s-linux and dctcp with l4s, else ect0). \
     Default false; a control that requires ECN then sends as with true. Controls without ECN and datagrams ignore marks; \
     rtp counts them as losses.",
);

impl Ect {
    /// The value as written in a scenario.
    pub(super) fn show(self) -> String {
        match self {
            Self::Off => "false".to_string(),
            Self::Own => "true".to_string(),
            Self::Ect0 => quote(WORDS[0]),
            Self::Ect1 => quote(WORDS[1]),
        }
    }
}

/// Reads the key `ecn`; default [`Ect::Off`].
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
