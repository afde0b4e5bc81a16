//! The formats that values of tc(8)'s arguments can have, such as times, sizes, rates and whole numbers.

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::RangeInclusive;

use super::read;

/// The format of a tc argument's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A time; a bare number is microseconds.
    Time,
    /// A whole number of milliseconds.
    Millis,
    /// A whole number of packets.
    Packets,
    /// A whole number of packets in decimal digits only.
    DecimalPackets,
    /// A number of packets that may have a unit of size.
    SizedPackets,
    /// A size in bytes, with units.
    Size,
    /// A whole number of bytes.
    Bytes,
    /// A whole number of bytes in decimal digits only.
    DecimalBytes,
    /// A whole number.
    Count,
    /// A number.
    Real,
    /// A number from 0 to 1.
    Probability,
    /// A gain in Hz, from 0 to 2^24.
    Gain,
    /// A percentage, with or without `%`.
    Percent,
    /// A rate, or a percentage of the device's rate.
    Rate,
    /// A rate of any size, in whole bytes per second.
    Bandwidth,
    /// A number of bytes from -64 to 256.
    Overhead,
    /// A time, or a number of packets with a unit such as `p`.
    TimeOrPackets,
}

impl Form {
    /// The placeholder of the value in a synopsis.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Time => "TIME",
            Self::Millis => "MS",
            Self::Packets | Self::DecimalPackets | Self::SizedPackets => "PACKETS",
            Self::Size | Self::Bytes | Self::DecimalBytes => "BYTES",
            Self::Count | Self::Real | Self::Probability | Self::Gain => "NUMBER",
            Self::Percent => "PERCENT",
            Self::Rate => "RATE|PERCENT",
            Self::Bandwidth => "RATE",
            Self::Overhead => "BYTES",
            Self::TimeOrPackets => "TIME|PACKETS",
        }
    }

    /// Description of accepted text. Error messages print it after "expected ".
    pub(super) const fn accepts(self) -> &'static str {
        match self {
            Self::Time => "a time such as 5ms, or a number of microseconds (units: s, ms, us)",
            Self::Millis => "a number of milliseconds, without a unit",
            Self::Packets | Self::DecimalPackets | Self::SizedPackets => "a number of packets",
            Self::Size => "a size in bytes such as 1500 or 160kb",
            Self::Bytes | Self::DecimalBytes => "a whole number of bytes, without a unit",
            Self::Count => "a whole number",
            Self::Real => "a number",
            Self::Probability => "a number from 0 to 1",
            Self::Gain => "a number from 0 to 16777215",
            Self::Percent => "a percentage from 0 to 100",
            Self::Bandwidth => "a rate such as 10mbit",
            Self::Overhead => "a whole number of bytes from -64 to 256",
            Self::Rate => "a rate such as 10mbit, of less than 2^32 bytes a second, or a percentage such as 50%",
            Self::TimeOrPackets => "a time such as 1ms, or packets such as 5p",
        }
    }

    /// The number that tc reads from `value`, in the unit of this format. A rate is in bytes per second or percent.
    pub(super) fn read(self, value: &str) -> Option<f64> {
        let real = |range: RangeInclusive<f64>| {
            let (number, rest) = read::real(value)?;
            (rest.is_empty() && range.contains(&number)).then_some(number)
        };
        let bare = value.strip_suffix('p').unwrap_or(value);
        match self {
            Self::Time => read::time(value).map(f64::from),
            Self::Millis | Self::Bytes | Self::Count => read::count(value, true).map(f64::from),
            Self::Packets => read::count(bare, true).map(f64::from),
            Self::DecimalPackets => read::count(bare, false).map(f64::from),
            Self::DecimalBytes => read::count(value, false).map(f64::from),
            Self::SizedPackets => read::size(bare).map(f64::from),
            Self::Size => read::size(value).map(f64::from),
            Self::Real => real(f64::NEG_INFINITY..=f64::INFINITY),
            Self::Probability => real(0.0..=1.0),
            Self::Gain => real(0.0..=16_777_215.0),
            Self::Percent => read::percent(value),
            Self::Bandwidth => read::bandwidth(value),
            Self::Overhead => read::signed(value).filter(|bytes| (-64..=256).contains(bytes)).map(f64::from),
            Self::Rate => read::rate(value).map(f64::from).or_else(|| read::percent_of_rate(value)),
            Self::TimeOrPackets => read::time(value).or_else(|| read::packets(value)).map(f64::from),
        }
    }

    /// Formats `number` with its unit, such as `5000us`, for a setting `key=value` in Forebay's own syntax.
    pub(super) fn written(self, number: f64) -> String {
        if self == Self::Bandwidth {
            return format!("{}bit", 8.0 * number);
        }
        let unit = match self {
            Self::Time => "us",
            Self::Millis => "ms",
            Self::Packets | Self::DecimalPackets | Self::SizedPackets => "p",
            Self::Size | Self::Bytes | Self::DecimalBytes => "b",
            _ => "",
        };
        format!("{number}{unit}")
    }

    /// A hint on the probable cause of a parse error.
    pub(super) fn hint(self, value: &str) -> Option<String> {
        let octal = value.len() > 1 && value.starts_with('0') && value.chars().all(|c| c.is_ascii_digit());
        match (self, read::real(value)) {
            (Self::Millis | Self::Packets | Self::Bytes | Self::Count, _) if octal => {
                Some("tc reads a number with a leading 0 as octal".to_string())
            }
            (Self::Real | Self::Probability | Self::Gain, Some((number, rest))) if !rest.is_empty() => {
                Some(format!("tc would read {number} and ignore the rest"))
            }
            _ => None,
        }
    }
}
