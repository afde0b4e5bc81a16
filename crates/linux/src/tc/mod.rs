//! Qdiscs of Linux with parameters in the words of tc(8): `fq_codel limit 1000 target 5ms noecn`.

mod kinds;
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
    /// A rate; the kernel takes bytes per second in 64 bits.
    Rate64,
    /// A whole number that can be negative.
    Signed,
    /// A whole number; the kernel takes 8 bits.
    Byte,
    /// A percentage; the kernel takes 8 bits.
    Percent,
    /// A factor in Hz; the kernel takes 256 times its value.
    Hertz,
    /// No value: the word alone sets 1, or 0 after `no`.
    Switch,
    /// A word without a value. It means this number: `diffserv4` is 1.
    Fixed(u32),
    /// The word has no value and stands for a rate of 0, in 64 bits.
    Unlimited,
    /// As `Fixed`; the kernel takes 8 bits.
    FixedByte(u8),
}

impl Unit {
    /// Whether the word stands alone.
    const fn is_alone(self) -> bool {
        self.placeholder().is_empty()
    }

    /// What stands for a value in a synopsis; empty: the word stands alone.
    const fn placeholder(self) -> &'static str {
        match self {
            Self::Number | Self::Signed | Self::Byte => "NUMBER",
            Self::Time | Self::Millis => "TIME",
            Self::Length => "BYTES",
            Self::Rate | Self::Rate64 => "RATE",
            Self::Share32 | Self::Share16 => "PROBABILITY",
            Self::Percent => "PERCENT",
            Self::Hertz => "HZ",
            Self::Switch | Self::Unlimited | Self::Fixed(_) | Self::FixedByte(_) => "",
        }
    }

    /// The bytes of an attribute with this value, in the width that the kernel expects.
    fn bytes(self, value: u32) -> Vec<u8> {
        match self {
            Self::Rate64 | Self::Unlimited => u64::from(value).to_le_bytes().to_vec(),
            Self::Byte | Self::Percent | Self::FixedByte(_) => vec![value as u8],
            _ => value.to_le_bytes().to_vec(),
        }
    }
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
    /// The structure of SFQ alone.
    Sfq,
    /// No options; its classes have them.
    Classes,
}

/// The names of the qdiscs that need no classes.
pub fn names() -> Vec<&'static str> {
    kinds::KINDS.iter().filter(|kind| !matches!(kind.form, Form::Classes)).map(|kind| kind.name).collect()
}

/// The parameters of a qdisc of Linux in tc's notation, such as `target TIME`. `[no]ecn` stands for `ecn` and `noecn`.
///
/// # Errors
/// The qdisc is not known.
pub fn parameters(name: &str) -> Result<Vec<String>, String> {
    let (kind, _) = attributes(name)?;
    let synopsis = |(word, _, unit): &Parameter| match (unit, unit.placeholder()) {
        (Unit::Switch, _) => format!("[no]{word}"),
        (_, "") => (*word).to_string(),
        (_, value) => format!("{word} {value}"),
    };
    Ok(kind.parameters.iter().map(synopsis).collect())
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
        Unit::Rate | Unit::Rate64 => text::rate(word).map(|rate| rate.0 / 8).ok(),
        // Two's complement.
        Unit::Signed => word.parse().ok().map(|number: i32| u64::from(number as u32)),
        Unit::Percent => word.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100),
        Unit::Hertz => {
            word.parse().ok().filter(|hertz| (0.0..1e6).contains(hertz)).map(|hertz: f64| (hertz * 256.0) as u64)
        }
        Unit::Byte => word.parse().ok().filter(|number| *number < 256),
        Unit::Share32 => share(word).map(|share| (share * 4_294_967_296.0) as u64),
        Unit::Share16 => share(word).map(|share| (share * 65_535.0 + 0.5).floor() as u64),
        Unit::Length => text::bytes(word).map(|bytes| bytes.0).ok(),
        Unit::Number | Unit::Switch | Unit::Unlimited | Unit::Fixed(_) | Unit::FixedByte(_) => {
            word.trim_end_matches('p').parse().ok()
        }
    };
    number.and_then(|number: u64| u32::try_from(number).ok()).ok_or_else(|| format!("'{word}' is not a valid value"))
}

/// Attributes with their values.
type Attributes = Vec<(u16, u32, Unit)>;

/// The attributes of a qdisc in these words.
fn attributes(words: &str) -> Result<(&'static kinds::Kind, Attributes), String> {
    let mut words = words.split_whitespace();
    let name = words.next().unwrap_or_default();
    let known = || format!("no qdisc '{name}'; known: {}", names().join(", "));
    let kind = kinds::KINDS.iter().find(|kind| kind.name == name).ok_or_else(known)?;
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let (plain, on) = word.strip_prefix("no").map_or((word, 1), |plain| (plain, 0));
        let parameter = |word: &str| kind.parameters.iter().find(|parameter| parameter.0 == word).copied();
        match (parameter(word), parameter(plain)) {
            (Some((_, attribute, unit)), _) if unit.is_alone() => {
                let value = match unit {
                    Unit::Fixed(number) => number,
                    Unit::FixedByte(number) => number.into(),
                    Unit::Unlimited => 0,
                    _ => 1,
                };
                found.push((attribute, value, unit));
            }
            (None, Some((_, attribute, Unit::Switch))) => found.push((attribute, on, Unit::Switch)),
            (Some((_, attribute, unit)), _) => {
                let text = words.next().ok_or_else(|| format!("{name}: '{word}' needs a value"))?;
                found.push((attribute, value(text, unit).map_err(|why| format!("{name} {word}: {why}"))?, unit));
            }
            _ => {
                let all: Vec<&str> = kind.parameters.iter().map(|parameter| parameter.0).collect();
                return Err(format!("{name}: no parameter '{word}'; known: {}", all.join(", ")));
            }
        }
    }
    found.extend(kinds::implied(kind.name, &found));
    Ok((kind, found))
}

/// The numbers of parameters with their values.
fn given(found: &Attributes) -> structs::Given {
    found.iter().map(|(attribute, value, _)| (*attribute, *value)).collect()
}

/// Checks the words of a qdisc.
///
/// # Errors
/// The qdisc or a parameter is not known, or a value is not valid.
pub fn check(words: &str) -> Result<(), String> {
    let (kind, found) = attributes(words)?;
    match kind.form {
        Form::Struct(options) => options(&given(&found)).map(drop),
        Form::Classes => Err(format!("{} needs classes; only cargo xtask validate-linux makes them", kind.name)),
        Form::Attributes | Form::Limit | Form::Sfq => Ok(()),
    }
}

/// A qdisc in these words on a link with a buffer of `limit` packets.
pub(crate) fn qdisc(at: At<'_>, words: &str, limit: u32) -> Result<Message, String> {
    let (kind, mut found) = attributes(words)?;
    let own = kind.parameters.iter().find(|parameter| parameter.0 == "limit");
    if let Some((_, attribute, unit)) = own
        && !found.iter().any(|(known, ..)| known == attribute)
    {
        let limit = if *unit == Unit::Length { limit.saturating_mul(1514) } else { limit };
        found.push((*attribute, limit, *unit));
    }
    let options = match kind.form {
        Form::Attributes => found.iter().map(|(attribute, value, unit)| (*attribute, unit.bytes(*value))).collect(),
        Form::Struct(options) => options(&given(&found))?,
        Form::Limit | Form::Sfq | Form::Classes => Vec::new(),
    };
    let raw = match (kind.form, found.last()) {
        (Form::Limit, Some((_, limit, _))) => limit.to_le_bytes().to_vec(),
        (Form::Sfq, _) => structs::sfq(&given(&found)),
        _ => Vec::new(),
    };
    Ok(netlink::qdisc(at, kind.name, |request: &mut Request| {
        options.iter().for_each(|(attribute, value)| request.put(*attribute, value));
        request.raw(&raw);
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_in_their_units() {
        let (kind, found) = attributes("fq_codel limit 1000 target 5ms noecn memory_limit 32kb").unwrap();
        assert_eq!(kind.name, "fq_codel");
        let found: Vec<(u16, u32)> = found.into_iter().map(|(attribute, value, _)| (attribute, value)).collect();
        assert_eq!(found, [(2, 1000), (1, 5000), (4, 0), (9, 32 * 1024)]);
    }

    /// Attributes and bytes of a qdisc.
    fn encoded(words: &str) -> Vec<(u16, Vec<u8>)> {
        let (_, found) = attributes(words).unwrap();
        found.into_iter().map(|(attribute, value, unit)| (attribute, unit.bytes(value))).collect()
    }

    fn word(value: u32) -> Vec<u8> {
        value.to_le_bytes().to_vec()
    }

    /// As tc(8): the target of CAKE is a twentieth of its round trip.
    #[test]
    fn words_of_cake_are_those_of_tc() {
        let words = "cake bandwidth 20Mbit diffserv4 dual-dsthost noatm overhead -4 mpu 64 rtt 50ms nowash ack-filter";
        let bandwidth = (2, 2_500_000u64.to_le_bytes().to_vec());
        let rest = [(3, 1), (5, 6), (4, 0), (6, (-4i32) as u32), (14, 64), (7, 50_000), (13, 0), (16, 1), (8, 2500)];
        let all: Vec<_> = [bandwidth].into_iter().chain(rest.map(|(at, value)| (at, word(value)))).collect();
        assert_eq!(encoded(words), all);
        assert_eq!(encoded("cake metro unlimited"), [(7, word(10_000)), (2, vec![0; 8]), (8, word(500))]);
    }

    #[test]
    fn words_of_dualpi2_have_their_widths() {
        let all = [(5, word(41)), (10, vec![3]), (8, word(2000)), (13, vec![5]), (12, vec![1]), (14, vec![3])];
        let words =
            "dualpi2 alpha 0.16015625 coupling_factor 3 step_thresh 2ms classic_protection 5% drop_enqueue any_ect";
        assert_eq!(encoded(words), all);
    }

    #[test]
    fn parameters_are_listed_with_their_values() {
        let words = parameters("red").unwrap();
        assert!(
            ["min BYTES", "probability PROBABILITY", "[no]ecn"].iter().all(|word| words.contains(&word.to_string()))
        );
        assert!(parameters("rde").unwrap_err().contains("red"));
    }

    #[test]
    fn unknown_words_are_refused_with_known_ones() {
        for (words, part) in [("fq_codle", "fq_codel"), ("codel limt 5", "limit"), ("pie target x", "target")] {
            assert!(check(words).unwrap_err().contains(part), "{words}");
        }
    }
}
