//! Numbers as tc(8) parses them: C's `strtoul` and `strtod`, and iproute2's units.
//!
//! Whole numbers are octal after `0` and hexadecimal after `0x`, except where tc accepts decimal digits only. Real
//! numbers are decimal, or hexadecimal after `0x`, and may have an exponent. Units of time, size and rate are
//! case-insensitive. Text after a number that is not a unit is an error, even if tc ignores it (`probability 0.02x`).

/// The number of characters at the start of `text` that are digits in base `radix`.
fn digits(text: &str, radix: u32) -> usize {
    text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len())
}

/// The text after an optional sign, and whether it is negative.
fn unsigned(text: &str) -> (&str, bool) {
    match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    }
}

/// The text after `0x`, if a hexadecimal digit follows.
fn hexadecimal(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    rest.trim_start_matches('.').starts_with(|c: char| c.is_ascii_hexdigit()).then_some(rest)
}

/// A whole number, as `strtoul` parses it. With `any_base` the prefixes `0` and `0x` mean octal and hexadecimal.
/// Otherwise numbers are decimal. Negative numbers wrap around at 2^64.
fn whole(text: &str, any_base: bool) -> Option<u64> {
    let (rest, negative) = unsigned(text);
    let (rest, radix) = match hexadecimal(rest) {
        Some(rest) if any_base => (rest, 16),
        _ if any_base && rest.starts_with('0') => (rest, 8),
        _ => (rest, 10),
    };
    let all = !rest.is_empty() && digits(rest, radix) == rest.len();
    let number = if all { u64::from_str_radix(rest, radix).ok()? } else { return None };
    Some(if negative { number.wrapping_neg() } else { number })
}

/// iproute2's `get_unsigned` and `get_u32`: a whole number of 32 bits. `any_base` permits octal and hexadecimal.
pub(super) fn count(text: &str, any_base: bool) -> Option<u32> {
    u32::try_from(whole(text, any_base)?).ok()
}

/// The number at the start of `text`, as `strtod` parses it, and the text after it. Infinities and NaN are not
/// accepted.
pub(super) fn real(text: &str) -> Option<(f64, &str)> {
    let (start, negative) = unsigned(text);
    let (number, rest) = match hexadecimal(start) {
        Some(digits) => hexadecimal_real(digits),
        None => decimal_real(start)?,
    };
    number.is_finite().then_some((if negative { -number } else { number }, rest))
}

fn decimal_real(text: &str) -> Option<(f64, &str)> {
    let before = digits(text, 10);
    let after = text[before..].strip_prefix('.').map_or(0, |rest| 1 + digits(rest, 10));
    let mantissa = before + after;
    let end = mantissa + exponent(&text[mantissa..], ['e', 'E']).map_or(0, |(_, len)| len);
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// A hexadecimal number; `text` is the text after `0x`.
fn hexadecimal_real(text: &str) -> (f64, &str) {
    let before = digits(text, 16);
    let fraction = text[before..].strip_prefix('.').map_or("", |rest| &rest[..digits(rest, 16)]);
    let mantissa = before + usize::from(text[before..].starts_with('.')) + fraction.len();
    let add = |sum: f64, c: char| sum * 16.0 + f64::from(c.to_digit(16).unwrap_or(0));
    let number = text[..before].chars().chain(fraction.chars()).fold(0.0, add);
    let (power, len) = exponent(&text[mantissa..], ['p', 'P']).unwrap_or((0, 0));
    let power = power.saturating_sub(4 * fraction.len() as i32);
    (libm::scalbn(number, power), &text[mantissa + len..])
}

/// The exponent at the start of `text`, and its length in bytes.
fn exponent(text: &str, letters: [char; 2]) -> Option<(i32, usize)> {
    let rest = text.strip_prefix(letters)?;
    let (start, negative) = unsigned(rest);
    let len = digits(start, 10);
    let size = start[..len]
        .chars()
        .fold(0_i32, |sum, c| sum.saturating_mul(10).saturating_add(c.to_digit(10).map_or(0, |digit| digit as i32)));
    (len > 0).then(|| (if negative { -size } else { size }, text.len() - start.len() + len))
}

/// A number times the factor of its unit. `units` has the names, which are case-insensitive, and the factors. `None`
/// for an unknown unit and for a negative or infinite result.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = real(text)?;
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    Some(number * factor).filter(|value| *value >= 0.0 && value.is_finite())
}

/// The integer part, if it fits 32 bits.
fn whole_part(value: f64) -> Option<u32> {
    (value < f64::from(u32::MAX) + 1.0).then_some(value as u32)
}

/// A time as iproute2's `get_time` parses it, in whole microseconds, truncated.
pub(super) fn time(text: &str) -> Option<u32> {
    const UNITS: [(&str, f64); 10] = [
        ("", 1.0),
        ("s", 1e6),
        ("sec", 1e6),
        ("secs", 1e6),
        ("ms", 1e3),
        ("msec", 1e3),
        ("msecs", 1e3),
        ("us", 1.0),
        ("usec", 1.0),
        ("usecs", 1.0),
    ];
    whole_part(scaled(text, &UNITS)?)
}

/// A size as iproute2's `get_size` parses it, in whole bytes, truncated. Units of bits have factors of 1024 too:
/// `1kbit` is 128 bytes.
pub(super) fn size(text: &str) -> Option<u32> {
    const K: f64 = 1024.0;
    const UNITS: [(&str, f64); 11] = [
        ("", 1.0),
        ("b", 1.0),
        ("k", K),
        ("kb", K),
        ("m", K * K),
        ("mb", K * K),
        ("g", K * K * K),
        ("gb", K * K * K),
        ("kbit", K / 8.0),
        ("mbit", K * K / 8.0),
        ("gbit", K * K * K / 8.0),
    ];
    whole_part(scaled(text, &UNITS)?)
}

/// A whole number in decimal digits, possibly negative.
pub(super) fn signed(text: &str) -> Option<i32> {
    let (rest, negative) = unsigned(text);
    let number: i32 = rest.parse().ok().filter(|_| digits(rest, 10) == rest.len())?;
    Some(if negative { -number } else { number })
}

/// A rate as iproute2's `get_rate` parses it, in whole bytes per second, of less than 2^32.
pub(super) fn rate(text: &str) -> Option<u32> {
    whole_part(bytes_per_second(text)?)
}

/// A rate as iproute2's `get_rate64` parses it, in whole bytes per second.
pub(super) fn bandwidth(text: &str) -> Option<f64> {
    bytes_per_second(text).map(libm::floor)
}

/// A rate in bytes per second. Units that end in `bps` mean bytes per
/// second, all others bits per second.
fn bytes_per_second(text: &str) -> Option<f64> {
    const BITS: [(&str, f64); 10] = [
        ("", 1.0),
        ("bit", 1.0),
        ("kbit", 1e3),
        ("mbit", 1e6),
        ("gbit", 1e9),
        ("tbit", 1e12),
        ("kibit", 1024.0),
        ("mibit", 1_048_576.0),
        ("gibit", 1_073_741_824.0),
        ("tibit", 1_099_511_627_776.0),
    ];
    const BYTES: [(&str, f64); 9] = [
        ("bps", 1.0),
        ("kbps", 1e3),
        ("mbps", 1e6),
        ("gbps", 1e9),
        ("tbps", 1e12),
        ("kibps", 1024.0),
        ("mibps", 1_048_576.0),
        ("gibps", 1_073_741_824.0),
        ("tibps", 1_099_511_627_776.0),
    ];
    scaled(text, &BITS).map_or_else(|| scaled(text, &BYTES), |bits| Some(bits / 8.0))
}

/// A percentage of a rate, `50%`, from 0 to 100.
pub(super) fn percent_of_rate(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?;
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    percent(number).filter(|_| plain)
}

/// A percentage as iproute2's `parse_percent` parses it: from 0 to 100, with `%` or without.
pub(super) fn percent(text: &str) -> Option<f64> {
    let (number, rest) = real(text)?;
    ((0.0..=100.0).contains(&number) && ["", "%"].contains(&rest)).then_some(number)
}

/// A number with a unit of packets, as `get_packets` of iproute2's q_dualpi2.c parses it.
pub(super) fn packets(text: &str) -> Option<u32> {
    const UNITS: [&str; 5] = ["p", "pkt", "pkts", "packet", "packets"];
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    count(number, false).filter(|_| UNITS.contains(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_sets_the_base_of_whole_numbers() {
        for (text, any, tens) in [
            ("10", Some(10), Some(10)),
            ("010", Some(8), Some(10)),
            ("0x1F", Some(31), None),
            ("0X1f", Some(31), None),
            ("08", None, Some(8)),
            ("0", Some(0), Some(0)),
            ("+7", Some(7), Some(7)),
            ("-1", None, None),
            ("-0", Some(0), Some(0)),
            ("-18446744073709551615", Some(1), Some(1)),
            ("4294967295", Some(u32::MAX), Some(u32::MAX)),
            ("4294967296", None, None),
            ("18446744073709551616", None, None),
            ("", None, None),
            ("0x", None, None),
            ("0x.8", None, None),
            ("1.0", None, None),
            ("1e3", None, None),
            ("10p", None, None),
            ("٣", None, None),
        ] {
            assert_eq!((count(text, true), count(text, false)), (any, tens), "{text}");
        }
    }

    #[test]
    fn reals_may_be_hexadecimal_or_have_an_exponent() {
        for (text, number, rest) in [
            ("1.5ms", 1.5, "ms"),
            (".5", 0.5, ""),
            ("5.", 5.0, ""),
            ("1e3us", 1000.0, "us"),
            ("1e", 1.0, "e"),
            ("2E-1x", 0.2, "x"),
            ("-3", -3.0, ""),
            ("0x10b", 267.0, ""),
            ("0x1.8p3ms", 12.0, "ms"),
            ("0x.8", 0.5, ""),
            ("0xs", 0.0, "xs"),
            ("0x1p", 1.0, "p"),
            ("007", 7.0, ""),
        ] {
            assert_eq!(real(text), Some((number, rest)), "{text}");
        }
        assert!(
            ["", "ms", ".", "-", "e5", "inf", "nan", "1e999", "0x1p9999", "ä"].iter().all(|text| real(text).is_none())
        );
        assert_eq!(real("0x1p-99999999999"), Some((0.0, "")));
    }

    #[test]
    fn units_are_case_insensitive() {
        assert_eq!(["5MS", "5000", "5000.9US", "0.005Sec", "0x1388"].map(time), [Some(5000); 5]);
        assert_eq!([("5ns"), ("-1ms"), ("4295s"), ("5 ms"), ("ms")].map(time), [None; 5]);
        assert_eq!(["10K", "10240", "10240.7B", "80kBit", "0x2800"].map(size), [Some(10_240); 5]);
        assert_eq!(["1Gb", "8gbit"].map(size), [Some(1 << 30); 2]);
        assert_eq!(["4gb", "-1", "10p", "10tb"].map(size), [None; 4]);
        assert_eq!(["10MBIT", "1.25MBps", "10000000", "1250kbps"].map(rate), [Some(1_250_000); 4]);
        assert_eq!(["1Kibit", "128BPS"].map(rate), [Some(128); 2]);
        assert_eq!(["40gbit", "10m", "50%", "-1bit"].map(rate), [None; 4]);
    }

    #[test]
    fn percentages_range_from_0_to_100() {
        assert_eq!(
            ["50%", "0%", "99.5%", "100%", ".5%"].map(percent_of_rate).map(|p| p.unwrap()),
            [50.0, 0.0, 99.5, 100.0, 0.5]
        );
        assert!(["50", "101%", "-1%", "%", "50%%", "x%"].iter().all(|text| percent_of_rate(text).is_none()));
        assert_eq!((percent("10"), percent("10.5%"), percent("1e1%")), (Some(10.0), Some(10.5), Some(10.0)));
        assert!(["101", "-1", "10%%", "10p"].iter().all(|text| percent(text).is_none()));
    }

    /// For an argument that is a time or a number of packets, such as `step_thresh` of dualpi2.
    #[test]
    fn packet_count_in_place_of_time_needs_unit() {
        assert_eq!(["5p", "5pkt", "5pkts", "05packet", "5packets"].map(packets), [Some(5); 5]);
        assert!(["5", "p", "5cows", "0x5p", "5P"].iter().all(|text| packets(text).is_none()));
    }
}
