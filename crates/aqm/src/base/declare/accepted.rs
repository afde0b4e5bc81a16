//! The description of accepted values of a parameter, for error messages, the command `explain` and the documentation.

use alloc::format;
use alloc::string::{String, ToString};

/// Describes the accepted values: the keyword `instead` if there is one, the text `accepts`, and the `range` of the
/// numbers with its unit.
pub fn phrase(instead: Option<&str>, accepts: &str, range: Option<((f64, f64), &str)>) -> String {
    let mut out = instead.map_or_else(String::new, |word| format!("{word}, or "));
    out.push_str(accepts);
    if let Some(((least, most), unit)) = range {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        out.push_str(&format!(", from {} to {}{unit}", bound(least), bound(most)));
    }
    out
}

/// A bound of a range; large and small numbers in exponent form such as `1e9`.
fn bound(value: f64) -> String {
    let size = value.abs();
    if size >= 1e5 || (size > 0.0 && size < 1e-3) { format!("{value:e}") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::common::Common;
    use crate::base::params::{ParamSet, ParamSpec};
    use crate::base::text;
    use crate::{ENTRIES, Spec};
    use alloc::vec::Vec;

    /// Every parameter of every discipline, with the discipline's name.
    fn all() -> impl Iterator<Item = (&'static str, &'static ParamSpec)> {
        ENTRIES.iter().flat_map(|entry| entry.params.iter().chain(Common::SPECS).map(|spec| (entry.name, spec)))
    }

    fn of(name: &str, param: &str) -> String {
        let spec = all().find(|(entry, spec)| *entry == name && spec.name == param);
        spec.map_or_else(String::new, |(_, spec)| spec.accepted())
    }

    #[test]
    fn each_value_type_describes_its_accepted_values() {
        let band = "min/max/max_p such as 20p/40p/0.1: thresholds in one unit, the lower first";
        assert_eq!([of("rio", "in"), of("rio", "out")], [band; 2]);
        assert_eq!(of("red", "w_q"), "auto, or a number, from 1e-9 to 1");
        assert_eq!(of("codel", "ce_threshold"), "off, or a time such as 20ms, from 0 to 1000 s");
        assert_eq!(of("pie", "burst"), "one of timer, departure");
        assert_eq!(of("msvb", "phi"), "one number for all classes, or up to 32 as a/b/c, from 0 to 1");
        assert_eq!(of("raqm", "alpha"), "adaptive, or a number m = alpha*r0, from 1e-6 to 4");
        assert!(of("red_tail", "c1_min").contains("a rate such as 2mbit, or a fraction"));
        assert!(of("msvb", "b_cap").starts_with("auto, or a queue depth such as 50p (packets) or 80kb, or up to 32"));
        assert!(of("red", "th").contains("0.95/125s:0.5") && !of("red", "th").contains("from 0 to 1e"));
        assert_eq!(of("red", "ecn"), "on or off");
    }

    #[test]
    fn every_default_is_accepted() {
        for (name, spec) in all() {
            let default = (spec.default)();
            assert!(Spec::parse(&format!("{name} {}={default}", spec.name)).is_ok(), "{name} {}={default}", spec.name);
            let accepted = spec.accepted();
            if default.parse::<f64>().is_err() && !default.starts_with(|c: char| c.is_ascii_digit()) {
                assert!(accepted.contains(&default), "{name} {}: no {default} in '{accepted}'", spec.name);
            }
            if let (Ok(number), Some(_)) = (text::number(&default), spec.range_in) {
                assert!((spec.range.0..=spec.range.1).contains(&number), "{name} {}={default}", spec.name);
            }
            assert!(!default.contains('/') || accepted.contains('/'), "{name} {}={default}", spec.name);
        }
    }

    #[test]
    fn every_accepted_notation_is_described() {
        let forms = [
            ("auto", "auto"),
            ("off", "off"),
            ("adaptive", "adaptive"),
            ("0.5/0.5", "a/b/c"),
            ("5p/2p", "a/b/c"),
            ("2p/5p/0.5", "/b/c|min/max/max_p"),
            ("2mbit", "a rate"),
            ("0.5/9s:0.7", "steps with times"),
            ("5p", "(packets)"),
            ("5kb", "kb"),
            ("5ms", "a time"),
        ];
        let mut met = [0; 11];
        for (name, spec) in all() {
            for (i, (value, form)) in forms.iter().enumerate() {
                let read = Spec::parse(&format!("{name} {}={value}", spec.name)).is_ok();
                let accepted = spec.accepted();
                assert!(
                    !read || form.split('|').any(|form| accepted.contains(form)),
                    "{name} {}={value}: '{accepted}'",
                    spec.name
                );
                met[i] += usize::from(read);
            }
        }
        assert!(met.iter().all(|met| *met > 0), "{met:?}");
    }

    #[test]
    fn error_describes_accepted_values_and_range() {
        let error = Spec::parse("red w_q=7").unwrap_err();
        assert_eq!(error.accepts, of("red", "w_q"));
        let beyond: Vec<_> = ["msvb phi=0.1/7", "wrr weights=1/0", "red_tail c1_max=2", "codel ce_threshold=1e9s"]
            .iter()
            .map(|text| Spec::parse(text).unwrap_err().accepts.to_string())
            .collect();
        assert!(beyond.iter().all(|accepts| accepts.contains(", from ")), "{beyond:?}");
    }
}
