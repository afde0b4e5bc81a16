//! Qdiscs of Linux with parameters in the words of tc(8): `fq_codel limit 1000 target 5ms noecn`.

mod structs;

use forebay_agent::Message;
use forebay_aqm::base::text;

use crate::netlink::{self, At, Request};

/// What a parameter's value means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    /// A whole number.
    Number,
    /// A time; the kernel takes microseconds.
    Time,
    /// A length in bytes.
    Length,
    /// A time in milliseconds.
    Millis,
    /// A rate; the kernel takes bytes per second.
    Rate,
    /// A probability as a part of 2^32.
    Share32,
    /// A probability as a part of 65,535.
    Share16,
    /// No value: the word alone sets 1, or 0 after `no`.
    Switch,
}

/// A parameter: its word, its attribute, and its unit.
type Parameter = (&'static str, u16, Unit);

/// How a qdisc takes its options.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Attributes of 32 bits.
    Attributes,
    /// The options of a FIFO: its limit alone.
    Limit,
    /// The structures of RED, CHOKe or SFB: the parameters' attributes are numbers of [`structs`].
    Struct(fn(&structs::Given) -> Result<structs::Options, String>),
    /// No options; its classes have them.
    Classes,
}

/// A qdisc. The parameter `limit` has the link's buffer if it is not given.
struct Kind {
    name: &'static str,
    form: Form,
    parameters: &'static [Parameter],
}

use Unit::{Length, Millis, Number, Rate, Share16, Share32, Switch, Time};

const KINDS: &[Kind] = &[
    Kind {
        name: "codel",
        form: Form::Attributes,
        parameters: &[
            ("target", 1, Time),
            ("limit", 2, Number),
            ("interval", 3, Time),
            ("ecn", 4, Switch),
            ("ce_threshold", 5, Time),
        ],
    },
    Kind {
        name: "fq_codel",
        form: Form::Attributes,
        parameters: &[
            ("target", 1, Time),
            ("limit", 2, Number),
            ("interval", 3, Time),
            ("ecn", 4, Switch),
            ("flows", 5, Number),
            ("quantum", 6, Number),
            ("ce_threshold", 7, Time),
            ("drop_batch", 8, Number),
            ("memory_limit", 9, Length),
        ],
    },
    Kind {
        name: "pie",
        form: Form::Attributes,
        parameters: &[
            ("target", 1, Time),
            ("limit", 2, Number),
            ("tupdate", 3, Time),
            ("alpha", 4, Number),
            ("beta", 5, Number),
            ("ecn", 6, Switch),
            ("bytemode", 7, Switch),
            ("dq_rate_estimator", 8, Switch),
        ],
    },
    Kind {
        name: "fq_pie",
        form: Form::Attributes,
        parameters: &[
            ("limit", 1, Number),
            ("flows", 2, Number),
            ("target", 3, Time),
            ("tupdate", 4, Time),
            ("alpha", 5, Number),
            ("beta", 6, Number),
            ("quantum", 7, Number),
            ("memory_limit", 8, Length),
            ("ecn_prob", 9, Number),
            ("ecn", 10, Switch),
            ("bytemode", 11, Switch),
            ("dq_rate_estimator", 12, Switch),
        ],
    },
    Kind {
        name: "fq",
        form: Form::Attributes,
        parameters: &[
            ("limit", 1, Number),
            ("flow_limit", 2, Number),
            ("quantum", 3, Number),
            ("initial_quantum", 4, Number),
        ],
    },
    Kind { name: "cake", form: Form::Attributes, parameters: &[("rtt", 7, Time), ("memlimit", 10, Length)] },
    Kind { name: "pfifo", form: Form::Limit, parameters: &[("limit", 0, Number)] },
    Kind { name: "bfifo", form: Form::Limit, parameters: &[("limit", 0, Length)] },
    Kind {
        name: "red",
        form: Form::Struct(structs::red),
        parameters: &[
            ("limit", structs::LIMIT, Length),
            ("min", structs::MIN, Length),
            ("max", structs::MAX, Length),
            ("avpkt", structs::AVPKT, Length),
            ("burst", structs::BURST, Number),
            ("probability", structs::PROBABILITY, Share32),
            ("bandwidth", structs::BANDWIDTH, Rate),
            ("ecn", structs::ECN, Switch),
            ("harddrop", structs::HARDDROP, Switch),
            ("nodrop", structs::NODROP, Switch),
        ],
    },
    Kind {
        name: "choke",
        form: Form::Struct(structs::choke),
        parameters: &[
            ("limit", structs::LIMIT, Number),
            ("min", structs::MIN, Number),
            ("max", structs::MAX, Number),
            ("avpkt", structs::AVPKT, Length),
            ("burst", structs::BURST, Number),
            ("probability", structs::PROBABILITY, Share32),
            ("bandwidth", structs::BANDWIDTH, Rate),
            ("ecn", structs::ECN, Switch),
        ],
    },
    Kind {
        name: "sfb",
        form: Form::Struct(structs::sfb),
        parameters: &[
            ("rehash", structs::REHASH, Millis),
            ("db", structs::DB, Millis),
            ("limit", structs::LIMIT, Number),
            ("max", structs::MAX, Number),
            ("target", structs::TARGET, Number),
            ("increment", structs::INCREMENT, Share16),
            ("decrement", structs::DECREMENT, Share16),
            ("penalty_rate", structs::PENALTY_RATE, Number),
            ("penalty_burst", structs::PENALTY_BURST, Number),
        ],
    },
    Kind { name: "drr", form: Form::Classes, parameters: &[] },
];

/// The names of the qdiscs that need no classes.
pub fn names() -> Vec<&'static str> {
    KINDS.iter().filter(|kind| !matches!(kind.form, Form::Classes)).map(|kind| kind.name).collect()
}

/// A probability below 1.
fn share(word: &str) -> Option<f64> {
    word.parse().ok().filter(|share| (0.0..1.0).contains(share))
}

/// The value of a parameter, as the kernel takes it.
fn value(word: &str, unit: Unit) -> Result<u32, String> {
    let number = match unit {
        Unit::Time => text::span(word).map(|span| span.nanos() / 1000).ok(),
        Unit::Millis => text::span(word).map(|span| span.nanos() / 1_000_000).ok(),
        Unit::Rate => text::rate(word).map(|rate| rate.0 / 8).ok(),
        Unit::Share32 => share(word).map(|share| (share * 4_294_967_296.0) as u64),
        Unit::Share16 => share(word).map(|share| (share * 65_535.0 + 0.5).floor() as u64),
        Unit::Length => text::bytes(word).map(|bytes| bytes.0).ok(),
        Unit::Number | Unit::Switch => word.trim_end_matches('p').parse().ok(),
    };
    number.and_then(|number: u64| u32::try_from(number).ok()).ok_or_else(|| format!("'{word}' is not a valid value"))
}

/// Attributes with their values.
type Attributes = Vec<(u16, u32)>;

/// The attributes of a qdisc in these words.
fn attributes(words: &str) -> Result<(&'static Kind, Attributes), String> {
    let mut words = words.split_whitespace();
    let name = words.next().unwrap_or_default();
    let known = || format!("no qdisc '{name}'; known: {}", names().join(", "));
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(known)?;
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let (plain, on) = word.strip_prefix("no").map_or((word, 1), |plain| (plain, 0));
        let parameter = |word: &str| kind.parameters.iter().find(|parameter| parameter.0 == word);
        match (parameter(word), parameter(plain)) {
            (Some((_, attribute, Switch)), _) => found.push((*attribute, 1)),
            (None, Some((_, attribute, Switch))) => found.push((*attribute, on)),
            (Some((_, attribute, unit)), _) => {
                let text = words.next().ok_or_else(|| format!("{name}: '{word}' needs a value"))?;
                found.push((*attribute, value(text, *unit).map_err(|why| format!("{name} {word}: {why}"))?));
            }
            _ => {
                let all: Vec<&str> = kind.parameters.iter().map(|parameter| parameter.0).collect();
                return Err(format!("{name}: no parameter '{word}'; known: {}", all.join(", ")));
            }
        }
    }
    Ok((kind, found))
}

/// Checks the words of a qdisc.
///
/// # Errors
/// The qdisc or a parameter is not known, or a value is not valid.
pub fn check(words: &str) -> Result<(), String> {
    let (kind, found) = attributes(words)?;
    match kind.form {
        Form::Struct(options) => options(&found.into_iter().collect()).map(drop),
        Form::Classes => Err(format!("{} needs classes; only cargo xtask validate-linux makes them", kind.name)),
        Form::Attributes | Form::Limit => Ok(()),
    }
}

/// A qdisc in these words on a link with a buffer of `limit` packets.
pub(crate) fn qdisc(at: At<'_>, words: &str, limit: u32) -> Result<Message, String> {
    let (kind, mut found) = attributes(words)?;
    let own = kind.parameters.iter().find(|parameter| parameter.0 == "limit");
    if let Some((_, attribute, unit)) = own
        && !found.iter().any(|(known, _)| known == attribute)
    {
        let limit = if *unit == Unit::Length { limit.saturating_mul(1514) } else { limit };
        found.push((*attribute, limit));
    }
    let options = match kind.form {
        Form::Attributes => found.iter().map(|(attribute, value)| (*attribute, value.to_le_bytes().to_vec())).collect(),
        Form::Struct(options) => options(&found.iter().copied().collect())?,
        Form::Limit | Form::Classes => Vec::new(),
    };
    Ok(netlink::qdisc(at, kind.name, |request: &mut Request| {
        options.iter().for_each(|(attribute, value)| request.put(*attribute, value));
        if let (Form::Limit, Some((_, limit))) = (kind.form, found.last()) {
            request.raw(&limit.to_le_bytes());
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_in_their_units() {
        let (kind, found) = attributes("fq_codel limit 1000 target 5ms noecn memory_limit 32kb").unwrap();
        assert_eq!(kind.name, "fq_codel");
        assert_eq!(found, [(2, 1000), (1, 5000), (4, 0), (9, 32 * 1024)]);
    }

    #[test]
    fn unknown_words_are_refused_with_known_ones() {
        for (words, part) in [("fq_codle", "fq_codel"), ("codel limt 5", "limit"), ("pie target x", "target")] {
            assert!(check(words).unwrap_err().contains(part), "{words}");
        }
    }
}
