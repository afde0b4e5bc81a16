//! The type of parameters that are a share of a link's rate: a rate, or a fraction of the link's rate.

use alloc::string::{String, ToString};

use crate::base::params::Value;
use crate::base::text::{self, BadValue};
use crate::base::units::Rate;

/// A share of the link: a rate, or a fraction of the link rate C.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Share {
    /// Computed by the discipline.
    Auto,
    /// A fraction of C.
    Fraction(f64),
    /// An absolute rate.
    Rate(Rate),
}

impl Share {
    /// The rate in bytes per second, at most C; `auto` is the fraction for [`Self::Auto`].
    pub fn of(self, capacity: f64, auto: f64) -> f64 {
        match self {
            Self::Auto => auto * capacity,
            Self::Fraction(fraction) => fraction * capacity,
            Self::Rate(rate) => rate.bytes_per_sec(),
        }
        .min(capacity)
    }
}

impl Value for Share {
    const ACCEPTS: &'static str = "auto, a rate such as 2mbit, or a fraction of the link's rate";
    const UNIT: &'static str = "of C, or bit/s";
    const RANGE_IN: Option<&'static str> = Some("");
    fn parse(text: &str) -> Result<Self, BadValue> {
        let bad = |_| BadValue::new(Self::ACCEPTS);
        match text.trim() {
            "auto" => Ok(Self::Auto),
            text if text.ends_with("bit") => {
                text::rate(text).map(Self::Rate).map_err(|e| BadValue { accepts: Self::ACCEPTS.into(), ..e })
            }
            text => text::number(text).map(Self::Fraction).map_err(bad),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_string(),
            Self::Fraction(fraction) => fraction.to_string(),
            Self::Rate(rate) => text::show_rate(*rate),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Self::Fraction(fraction) => Some(*fraction),
            Self::Auto | Self::Rate(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsed_share_prints_as_given_and_is_bounded() {
        for text in ["auto", "0", "0.75", "2mbit"] {
            assert_eq!(Share::parse(text).map(|share| share.show()), Ok(text.to_string()));
        }
        assert!(Share::parse("half").is_err() && Share::parse("0mbit").is_err() && Share::parse("2mb").is_err());
        let of = |text| Share::parse(text).map(|share| share.of(1000.0, 0.1));
        assert_eq!([of("auto"), of("0.75"), of("800bit"), of("1mbit")], [100.0, 750.0, 100.0, 1000.0].map(Ok));
    }
}
