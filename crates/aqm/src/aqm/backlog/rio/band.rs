//! The value of RIO's parameters `in` and `out`: two thresholds of the average queue, and the drop probability at the
//! upper threshold.

use alloc::format;
use alloc::string::String;

use crate::aqm::backlog::red::Curve;
use crate::base::params::Value;
use crate::base::text::{self, BadValue};
use crate::base::units::Depth;

/// Thresholds between which a probability rises linearly from 0 to `max_p`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Band {
    /// Below this average nothing is signalled.
    pub min_th: Depth,
    /// Average at which the probability is `max_p`; in the unit of `min_th`.
    pub max_th: Depth,
    /// Probability at `max_th`.
    pub max_p: f64,
}

impl Band {
    /// A band with thresholds in packets.
    pub const fn packets(min_th: f64, max_th: f64, max_p: f64) -> Self {
        Self { min_th: Depth::Packets(min_th), max_th: Depth::Packets(max_th), max_p }
    }

    /// RED's curve with the thresholds and `max_p` of this band.
    pub const fn curve(&self, gentle: bool) -> Curve {
        Curve::new(self.min_th.value(), self.max_th.value(), self.max_p, gentle)
    }
}

impl Value for Band {
    const ACCEPTS: &'static str = "min/max/max_p such as 20p/40p/0.1: thresholds in one unit, the lower first";
    const UNIT: &'static str = "packets or bytes";
    fn parse(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(Self::ACCEPTS);
        let mut parts = text.split('/');
        let mut next = || parts.next().ok_or_else(bad);
        let (min_th, max_th) = (text::depth(next()?)?, text::depth(next()?)?);
        let max_p = text::number(next()?)?;
        let ordered = min_th.with(0.0) == max_th.with(0.0) && min_th < max_th;
        if ordered && (0.0..=1.0).contains(&max_p) && parts.next().is_none() {
            Ok(Self { min_th, max_th, max_p })
        } else {
            Err(bad())
        }
    }
    fn show(&self) -> String {
        format!("{}/{}/{}", text::show_depth(self.min_th), text::show_depth(self.max_th), self.max_p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsed_parameter_prints_as_given() {
        for text in ["40p/80p/0.02", "20000b/40000b/1", "0p/0.5p/0"] {
            assert_eq!(Band::parse(text).map(|band| band.show()), Ok(text.into()));
        }
        assert_eq!(Band::parse("40/80/0.02"), Ok(Band::packets(40.0, 80.0, 0.02)));
        for text in ["", "40p", "40p/80p", "80p/40p/0.1", "40p/40p/0.1", "40p/80000b/0.1", "1p/2p/1.5", "1p/2p/0.1/1"] {
            assert!(Band::parse(text).is_err(), "{text}");
        }
    }
}
