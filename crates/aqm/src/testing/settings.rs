//! Random parameters within their ranges, for any discipline of the registry.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::base::design::Entry;
use crate::base::params::ParamSpec;
use crate::base::rng::Rng;
use crate::base::text;
use crate::base::time::Span;

/// A discipline text with random values, each within the range of its parameter. The values may contradict each other;
/// then `Spec::parse` rejects the text.
pub fn random_settings(entry: &Entry, rng: &mut Rng) -> String {
    let mut out = entry.name.to_string();
    for spec in entry.params {
        if rng.uniform() < 0.5 {
            out.push_str(&format!(" {}={}", spec.name, random_value(spec, rng)));
        }
    }
    out.push_str(if rng.uniform() < 0.5 { " ecn=on" } else { " ecn=off" });
    out.push_str(&common_settings(rng));
    out
}

/// Random settings that every discipline accepts: sometimes a threshold marker, constant or changing over time, and
/// sometimes a buffer.
fn common_settings(rng: &mut Rng) -> String {
    let mut out = String::new();
    let share = |rng: &mut Rng| if rng.uniform() < 0.2 { rng.below(2) as f64 } else { rng.uniform() };
    if rng.uniform() < 0.2 {
        out.push_str(&format!(" th={}", share(rng)));
        if rng.uniform() < 0.5 {
            out.push_str(&format!("/{}s:{}", rng.exponential(1.0) + 1e-9, share(rng)));
        }
    }
    if rng.uniform() < 0.2 {
        let unit = if rng.uniform() < 0.5 { "p" } else { "b" };
        out.push_str(&format!(" hard_limit={}{unit}", libm::round(magnitude(1.0, 1e5, rng))));
    }
    out
}

fn random_value(spec: &ParamSpec, rng: &mut Rng) -> String {
    let default = (spec.default)();
    match spec.unit {
        "packets|bytes" => format!("{}{}", random_number(spec, rng), if rng.uniform() < 0.7 { "p" } else { "b" }),
        words if words.contains('|') => {
            let words: Vec<&str> = words.split('|').collect();
            words[rng.below(words.len() as u64) as usize].to_string()
        }
        _ if usual(spec).is_none() && rng.uniform() < 0.3 => default,
        "s" => format!("{}s", random_number(spec, rng)),
        "bytes" => format!("{}b", libm::round(random_number(spec, rng))),
        "bit/s" => format!("{}bit", libm::round(random_number(spec, rng))),
        _ if spec.accepts.contains("min/max/max_p") => {
            let (unit, scale) = if rng.uniform() < 0.7 { ("p", 1.0) } else { ("b", 1000.0) };
            let min = magnitude(0.1, 100.0, rng) * scale;
            format!("{min}{unit}/{}{unit}/{}", min * (1.0 + 3.0 * rng.uniform()), rng.uniform())
        }
        _ if spec.accepts.contains("fraction of the link") && rng.uniform() < 0.5 => {
            format!("{}bit", libm::round(magnitude(1e3, 1e10, rng)))
        }
        _ if spec.accepts.contains("whole") => format!("{}", libm::round(random_number(spec, rng))),
        _ if spec.accepts.contains("a/b/c") => {
            let classes = 1 + rng.below(4);
            (0..classes).map(|_| random_number(spec, rng).to_string()).collect::<Vec<_>>().join("/")
        }
        _ => random_number(spec, rng).to_string(),
    }
}

/// The default as a number in base units, if it is a number.
fn usual(spec: &ParamSpec) -> Option<f64> {
    let default = (spec.default)();
    match spec.unit {
        "s" => text::span(&default).ok().map(Span::secs),
        "bytes" => text::bytes(&default).ok().map(|bytes| bytes.0 as f64),
        "bit/s" => text::rate(&default).ok().map(|rate| rate.0 as f64),
        "packets|bytes" => text::depth(&default).ok().map(|depth| depth.value()),
        _ => text::number(&default).ok(),
    }
}

/// A log-uniform random number.
fn magnitude(from: f64, to: f64, rng: &mut Rng) -> f64 {
    from * libm::pow(to / from, rng.uniform())
}

/// A bound of the range, a number within a factor of ten of the default, or a log-uniform number.
fn random_number(spec: &ParamSpec, rng: &mut Rng) -> f64 {
    let (lo, hi) = spec.range;
    let number = match (rng.below(16), usual(spec)) {
        (0, _) => lo,
        (1, _) => hi,
        (2..=9, Some(usual)) if usual > 0.0 => magnitude(usual / 10.0, usual * 10.0, rng),
        _ => magnitude(lo.max(hi * 1e-9), hi, rng),
    };
    number.clamp(lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ENTRIES;

    #[test]
    fn random_values_cover_units_rates_auto_and_fractions() {
        let mut rng = Rng::stream(1, "forms");
        let mut drawn = |name: &str, param: &str| -> Vec<String> {
            let entry = ENTRIES.iter().find(|entry| entry.name == name);
            let spec = entry.and_then(|entry| entry.params.iter().find(|spec| spec.name == param));
            (0..100).filter_map(|_| spec.map(|spec| random_value(spec, &mut rng))).collect()
        };
        let bands = drawn("rio", "in");
        assert!(bands.iter().any(|band| band.contains("p/")) && bands.iter().any(|band| band.contains("b/")));
        let shares = drawn("red_tail", "c1_max");
        let (rates, others): (Vec<&String>, Vec<&String>) = shares.iter().partition(|share| share.ends_with("bit"));
        assert!(rates.len() > 10 && others.iter().any(|share| *share == "auto"));
        assert!(others.iter().any(|share| text::number(share).is_ok()));
    }
}
