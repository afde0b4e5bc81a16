//! Differentiated services codepoints (RFC 2474) by name.

use alloc::format;
use alloc::string::{String, ToString};

use crate::base::nearest::nearest;
use crate::base::text::BadValue;

/// Largest codepoint: the field has six bits.
pub const MAX_DSCP: u8 = 63;

/// Names of codepoints: class selectors (RFC 2474), assured forwarding (RFC 2597), expedited forwarding (RFC 3246),
/// voice admit (RFC 5865), lower effort (RFC 8622).
pub const NAMES: [(&str, u8); 23] = [
    ("cs0", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

/// Description of accepted text. Error messages print it after "expected ".
pub const ACCEPTS: &str = "a DSCP by name, such as ef, cs1 or af41, or a number from 0 to 63";

/// Parses a codepoint: a name in upper or lower case, or a number from 0 to 63.
pub fn parse(text: &str) -> Result<u8, BadValue> {
    let word = text.trim().to_ascii_lowercase();
    if let Some((_, dscp)) = NAMES.iter().find(|(name, _)| *name == word) {
        return Ok(*dscp);
    }
    match word.parse::<u8>() {
        Ok(dscp) if dscp <= MAX_DSCP => Ok(dscp),
        Ok(_) => Err(BadValue::new(ACCEPTS)),
        Err(_) => {
            let bad = BadValue::new(ACCEPTS);
            Err(match nearest(&word, NAMES.map(|(name, _)| name)) {
                Some(near) => bad.hint(format!("did you mean {near}?")),
                None => bad,
            })
        }
    }
}

/// The name of a DSCP, such as `ef`, or its number if it has no name.
pub fn show(dscp: u8) -> String {
    NAMES.iter().find(|(_, value)| *value == dscp).map_or_else(|| dscp.to_string(), |(name, _)| (*name).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_have_names_and_numbers() {
        assert_eq!(
            [parse("EF"), parse("cs1"), parse(" af41"), parse("0"), parse("63")].map(Result::unwrap),
            [46, 8, 34, 0, 63]
        );
        for dscp in 0..=MAX_DSCP {
            assert_eq!(parse(&show(dscp)), Ok(dscp));
        }
    }

    #[test]
    fn unknown_codepoints_are_refused() {
        assert_eq!(parse("64").unwrap_err().accepts, ACCEPTS);
        assert_eq!(parse("af44").unwrap_err().hint.as_deref(), Some("did you mean af41?"));
        assert!(parse("").is_err() && parse("-1").is_err());
    }
}
