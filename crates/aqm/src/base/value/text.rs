//! Parsing of quantities in tc(8)'s notation, and their canonical form.
//!
//! Rates are in bits per second (`15mbit`), times need a unit (`20ms`), sizes are tc's 1024-based `160kb` or plain
//! `160000b`, queue depths are `400p` or bytes. Notation that tc reads in a surprising way (`mbps` as megabytes, a bare
//! time as microseconds, a bare rate as bits per second) is rejected with a hint.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::time::Span;
use crate::base::units::{Bytes, Depth, Limit, Rate};

/// A parse error of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadValue {
    /// Description of accepted text. Error messages print it after "expected ".
    pub accepts: Cow<'static, str>,
    /// How to correct it, if known.
    pub hint: Option<String>,
}

impl BadValue {
    /// An error without a hint.
    pub fn new(accepts: impl Into<Cow<'static, str>>) -> Self {
        Self { accepts: accepts.into(), hint: None }
    }

    /// This error with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Splits `12.5mbit` into 12.5 and `mbit`; `None` unless it begins with a finite number >= 0.
pub fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent = (c == 'e' || c == 'E')
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
            let sign = (c == '-' || c == '+') && i > 0 && matches!(text.as_bytes()[i - 1], b'e' | b'E');
            !(c.is_ascii_digit() || c == '.' || exponent || sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let number: f64 = text[..end].parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, text[end..].trim_start()))
}

/// A finite number, possibly negative.
pub fn number(text: &str) -> Result<f64, BadValue> {
    text.trim().parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| BadValue::new("a number"))
}

/// A rate in bits per second, from 1bit to 1000tbit. A unit is required.
pub fn rate(text: &str) -> Result<Rate, BadValue> {
    let bad = || BadValue::new("a rate such as 15mbit");
    let (n, unit) = split(text).ok_or_else(bad)?;
    let unit = unit.to_ascii_lowercase();
    let factor = match unit.as_str() {
        "" if n > 0.0 => {
            return Err(bad().hint(format!("a bare number is bits per second to tc; write {n}mbit or {n}bit")));
        }
        "" | "bit" => 1.0,
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        "tbit" => 1e12,
        "kibit" => 1024.0,
        "mibit" => 1_048_576.0,
        "gibit" => 1_073_741_824.0,
        "bps" | "kbps" | "mbps" | "gbps" | "tbps" => {
            let prefix = &unit[..unit.len() - 3];
            return Err(bad().hint(format!(
                "tc reads {unit} as {}bytes per second; write {n}{prefix}bit",
                match prefix {
                    "k" => "kilo",
                    "m" => "mega",
                    "g" => "giga",
                    "t" => "tera",
                    _ => "",
                }
            )));
        }
        _ => return Err(bad().hint("units: bit, kbit, mbit, gbit")),
    };
    let bits = libm::round(n * factor);
    if (1.0..=1e15).contains(&bits) { Ok(Rate(bits as u64)) } else { Err(bad().hint("from 1bit to 1000tbit")) }
}

/// Largest number of ns (2^53, 104 days) up to which every duration is exact as a floating-point number.
const EXACT_SPAN: u64 = 1 << 53;
/// Step of longer durations, 10 ms in ns.
const LONG_STEP: u64 = 10_000_000;

/// A duration from 0 to 1e9 s. A unit is required except for 0. Durations above 104 days are rounded to 10 ms, so that
/// the text of a duration has the same value as the duration.
pub fn span(text: &str) -> Result<Span, BadValue> {
    let bad = || BadValue::new("a time of at least 0, such as 20ms");
    let (n, unit) = split(text).ok_or_else(bad)?;
    let secs = match unit {
        "s" | "sec" | "secs" => n,
        "ms" | "msec" | "msecs" => n * 1e-3,
        "us" | "usec" | "usecs" => n * 1e-6,
        "ns" | "nsec" | "nsecs" => n * 1e-9,
        "min" | "m" => return Err(bad().hint(format!("write {}s", n * 60.0))),
        "" if n == 0.0 => 0.0,
        "" => return Err(bad().hint(format!("a bare number is microseconds to tc; write {n}ms or {n}s"))),
        _ => return Err(bad().hint("units: s, ms, us, ns")),
    };
    if secs.is_nan() || secs > 1e9 {
        return Err(bad().hint("at most 1e9s"));
    }
    let nanos = Span::from_secs(secs).nanos();
    let step = if nanos > EXACT_SPAN { LONG_STEP } else { 1 };
    Ok(Span::from_nanos((nanos + step / 2) / step * step))
}

fn bytes_of(n: f64, unit: &str, accepts: &'static str) -> Result<f64, BadValue> {
    let factor = match unit {
        "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1_048_576.0,
        "g" | "gb" => 1_073_741_824.0,
        "B" | "KB" | "kB" | "Kb" | "K" | "MB" | "mB" | "Mb" | "GB" => {
            let plain = n * if unit.starts_with(['k', 'K']) {
                1e3
            } else if unit.starts_with(['m', 'M']) {
                1e6
            } else if unit.starts_with('G') {
                1e9
            } else {
                1.0
            };
            let lower = unit.to_ascii_lowercase();
            return Err(BadValue::new(accepts)
                .hint(format!("write {plain}b for {plain} bytes, or {n}{lower} for tc's 1024-based unit")));
        }
        _ => return Err(BadValue::new(accepts).hint("units: p (packets), b, kb, mb (bytes)")),
    };
    Ok(n * factor)
}

/// A number of bytes; a bare number is bytes.
pub fn bytes(text: &str) -> Result<Bytes, BadValue> {
    const ACCEPTS: &str = "a size such as 1500b or 160kb";
    let (n, unit) = split(text).ok_or_else(|| BadValue::new(ACCEPTS))?;
    let n = if unit.is_empty() { n } else { bytes_of(n, unit, ACCEPTS)? };
    if n <= 1e15 { Ok(Bytes(libm::round(n) as u64)) } else { Err(BadValue::new(ACCEPTS)) }
}

/// A queue depth; a bare number is packets.
pub fn depth(text: &str) -> Result<Depth, BadValue> {
    const ACCEPTS: &str = "a queue depth such as 50p (packets) or 80kb";
    let (n, unit) = split(text).ok_or_else(|| BadValue::new(ACCEPTS))?;
    match unit {
        "" | "p" => Ok(Depth::Packets(n)),
        _ => Ok(Depth::Bytes(bytes_of(n, unit, ACCEPTS)?)),
    }
}

/// A buffer size; a bare number is packets.
pub fn limit(text: &str) -> Result<Limit, BadValue> {
    const ACCEPTS: &str = "a buffer size such as 100p (packets) or 160kb";
    let bad = |_| BadValue::new(ACCEPTS);
    match depth(text).map_err(|e| BadValue { accepts: ACCEPTS.into(), hint: e.hint })? {
        Depth::Packets(n) if n == libm::floor(n) => Ok(Limit::Packets(u32::try_from(n as u64).map_err(|_| bad(()))?)),
        Depth::Packets(_) => Err(bad(()).hint("whole packets")),
        Depth::Bytes(b) => Ok(Limit::Bytes(libm::round(b) as u64)),
    }
}

/// Formats a rate: `10mbit`.
pub fn show_rate(rate: Rate) -> String {
    let (unit, name) = [(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1_000, "kbit")]
        .into_iter()
        .find(|(unit, _)| rate.0 >= *unit && rate.0.is_multiple_of(unit / 1000))
        .unwrap_or((1, "bit"));
    format!("{}{name}", rate.0 as f64 / unit as f64)
}

/// Formats a duration: `20ms`.
pub fn show_span(span: Span) -> String {
    let (unit, name) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
        .into_iter()
        .find(|(unit, _)| span.nanos() >= *unit && span.nanos().is_multiple_of(unit / 1000))
        .unwrap_or((1, "ns"));
    if span == Span::ZERO { "0s".to_string() } else { format!("{}{name}", span.nanos() as f64 / unit as f64) }
}

/// Formats a depth: `50p` or `80000b`.
pub fn show_depth(depth: Depth) -> String {
    match depth {
        Depth::Packets(n) => format!("{n}p"),
        Depth::Bytes(n) => format!("{n}b"),
    }
}

/// Formats a buffer size: `100p` or `160000b`.
pub fn show_limit(limit: Limit) -> String {
    match limit {
        Limit::Packets(n) => format!("{n}p"),
        Limit::Bytes(n) => format!("{n}b"),
    }
}

/// Joins names with commas: `a, b, c`.
pub fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_times_and_sizes_use_tc_notation() {
        assert_eq!(rate("15mbit"), Ok(Rate(15_000_000)));
        assert_eq!(rate("1.5Gbit"), Ok(Rate(1_500_000_000)));
        assert_eq!(rate("9600bit"), Ok(Rate(9600)));
        assert_eq!(span("20ms"), Ok(Span::from_millis(20)));
        assert_eq!(span("1.5s"), Ok(Span::from_millis(1500)));
        assert_eq!(span("1e-3s"), Ok(Span::from_millis(1)));
        assert_eq!(bytes("160kb"), Ok(Bytes(163_840)));
        assert_eq!(bytes("160000b"), Ok(Bytes(160_000)));
        assert_eq!(depth("50"), Ok(Depth::Packets(50.0)));
        assert_eq!(depth("80kb"), Ok(Depth::Bytes(81_920.0)));
        assert_eq!(limit("100p"), Ok(Limit::Packets(100)));
    }

    #[test]
    fn ambiguous_units_are_rejected_with_a_hint() {
        let hint = |r: Result<(), BadValue>| r.unwrap_err().hint.unwrap_or_default();
        assert!(hint(rate("10mbps").map(drop)).contains("write 10mbit"));
        assert!(hint(rate("5").map(drop)).contains("5mbit or 5bit"));
        assert!(hint(rate("1e6").map(drop)).contains("1000000bit"));
        assert!(hint(depth("30kB").map(drop)).contains("30000b"));
        assert!(hint(span("20").map(drop)).contains("20ms"));
        assert!(span("-5ms").is_err());
        assert!(rate("0mbit").is_err());
        assert!(rate("").is_err());
        assert!(rate("nanmbit").is_err());
        assert!(limit("2.5p").is_err());
        assert!(span("5 parsecs").is_err());
    }

    #[test]
    fn formatted_quantities_parse_to_equal_values() {
        for text in ["10mbit", "1.5gbit", "300bit", "2.5mbit", "1234567bit"] {
            assert_eq!(rate(&show_rate(rate(text).unwrap())), rate(text), "{text}");
        }
        for text in ["0s", "20ms", "1.5s", "10us", "1234567ns"] {
            assert_eq!(span(&show_span(span(text).unwrap())), span(text), "{text}");
        }
        // Around and above 2^53 ns.
        for n in 0..10_000 {
            let text = format!("{}s", 9_000_000.0 + f64::from(n) * 98_765.432_123_457);
            let text = if n < 10_000 - 1 { text } else { "1000000000s".to_string() };
            assert_eq!(span(&show_span(span(&text).unwrap())), span(&text), "{text}");
        }
        assert_eq!(show_span(span("1234567ns").unwrap()), "1234.567us");
        assert_eq!(show_rate(Rate(10_000_000)), "10mbit");
        assert_eq!(show_depth(Depth::Bytes(81_920.0)), "81920b");
    }
}
