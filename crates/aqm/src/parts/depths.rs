//! The type of parameters that give each service class a queue depth, such as `50p/20p`.

use alloc::string::String;

use crate::base::params::{Auto, MAX_CLASSES, Value};
use crate::base::text::{self, BadValue};
use crate::base::units::Depth;

/// One depth per class, written `50p/20p`; a single one applies to all classes. All have one unit.
#[derive(Clone, Copy, Debug)]
pub struct Depths {
    values: [Depth; MAX_CLASSES],
    len: u8,
}

impl PartialEq for Depths {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

impl Depths {
    /// The depths as the user gave them: a single one for all classes, or one per class.
    pub fn values(&self) -> &[Depth] {
        &self.values[..usize::from(self.len)]
    }
}

impl Value for Depths {
    const ACCEPTS: &'static str = "a queue depth such as 50p (packets) or 80kb, or up to 32 in one unit as a/b/c";
    const UNIT: &'static str = "packets|bytes";
    const RANGE_IN: Option<&'static str> = Some("packets or bytes");

    fn parse(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(Self::ACCEPTS);
        let mut out = Self { values: [Depth::Packets(0.0); MAX_CLASSES], len: 0 };
        for part in text.split('/') {
            let depth = text::depth(part).map_err(|e| BadValue { hint: e.hint, ..bad() })?;
            if out.values().iter().any(|other| other.with(0.0) != depth.with(0.0)) {
                return Err(bad());
            }
            *out.values.get_mut(usize::from(out.len)).ok_or_else(bad)? = depth;
            out.len += 1;
        }
        Ok(out)
    }

    fn show(&self) -> String {
        let mut out = String::new();
        for (i, depth) in self.values().iter().enumerate() {
            out.push_str(if i > 0 { "/" } else { "" });
            out.push_str(&text::show_depth(*depth));
        }
        out
    }

    /// The largest depth, to be compared with the parameter's upper bound. The lower bound needs no check: a depth is
    /// at least 0.
    fn number(&self) -> Option<f64> {
        self.values().iter().map(|depth| depth.value()).reduce(f64::max)
    }
}

/// A parameter with depths that may be `auto`.
pub trait Given {
    /// The given depths: none for auto, one for all classes, or one per class.
    fn given(&self) -> &[Depth];
}

impl Given for Auto<Depth> {
    fn given(&self) -> &[Depth] {
        match self {
            Self::Auto => &[],
            Self::Given(depth) => core::slice::from_ref(depth),
        }
    }
}

impl Given for Auto<Depths> {
    fn given(&self) -> &[Depth] {
        match self {
            Self::Auto => &[],
            Self::Given(depths) => depths.values(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn parsed_depths_of_same_unit_print_as_given() {
        for text in ["auto", "50p", "0b", "50p/20p/0.5p", "2000b/1b"] {
            assert_eq!(Auto::<Depths>::parse(text).map(|depths| depths.show()), Ok(text.to_string()));
        }
        for bad in ["", "50p/", "50p/2000b", "-1", "a/b", "50kB"] {
            assert!(Depths::parse(bad).is_err(), "{bad}");
        }
        assert!(Depths::parse(&vec!["1"; MAX_CLASSES].join("/")).is_ok());
        assert!(Depths::parse(&vec!["1"; MAX_CLASSES + 1].join("/")).is_err());
        assert_eq!(Depths::parse("3p/7p/5p").map(|depths| depths.number()), Ok(Some(7.0)));
    }
}
