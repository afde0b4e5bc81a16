//! Chooses disciplines with parameters at or near the ends of their ranges, for fuzz targets.

use forebay_aqm::Spec;
use forebay_aqm::base::design::Entry;
use forebay_aqm::base::params::ParamSpec;

use crate::choices::Choices;

/// Parameters common to all disciplines.
const COMMON: &[&str] =
    &["", " ecn=off", " th=0", " th=1", " th=0.5/1ms:0", " hard_limit=1p", " hard_limit=1b", " ecn=on th=0.1"];

/// The discipline with some of its parameters set; `None` if a rule between parameters refuses the values.
pub(crate) fn spec(entry: &Entry, choices: &mut Choices<'_>) -> Option<Spec> {
    let mut text = entry.name.to_string();
    for param in entry.params {
        if choices.below(4) == 0 {
            text.push_str(&format!(" {}={}", param.name, value(param, choices)));
        }
    }
    text.push_str(choices.of(COMMON));
    // The parser checks the rules between parameters.
    Spec::parse(&text).ok()
}

fn value(param: &ParamSpec, choices: &mut Choices<'_>) -> String {
    if let Some(words) = param.words() {
        return choices.of(&words.collect::<Vec<_>>()).to_string();
    }
    match choices.below(6) {
        0 => return (param.default)(),
        1 => return param.instead.map_or_else(param.default, str::to_string),
        _ => {}
    }
    let accepts = |form: &str| param.accepts.contains(form);
    match param.unit {
        "packets|bytes" => {
            let unit = choices.of(&["p", "b"]);
            list(param, choices, |number| format!("{number}{unit}"))
        }
        "s" => format!("{}s", number(param, choices)),
        "bytes" => format!("{}b", number(param, choices).round()),
        "bit/s" => format!("{}bit", number(param, choices).round()),
        _ if accepts("min/max/max_p") => band(choices),
        _ if accepts("fraction of the link") && choices.below(2) == 0 => {
            choices.of(&["0bit", "1bit", "1mbit", "400gbit"]).to_string()
        }
        _ if accepts("whole") => number(param, choices).round().to_string(),
        _ => list(param, choices, |number| number.to_string()),
    }
}

/// A number, or one number per service class if the parameter takes a list.
fn list(param: &ParamSpec, choices: &mut Choices<'_>, show: impl Fn(f64) -> String) -> String {
    let classes = if param.accepts.contains("a/b/c") { choices.of(&[1, 2, 3, 32]) } else { 1 };
    (0..classes).map(|_| show(number(param, choices))).collect::<Vec<_>>().join("/")
}

fn number(param: &ParamSpec, choices: &mut Choices<'_>) -> f64 {
    let (least, most) = param.range;
    match choices.below(5) {
        0 => least,
        1 => most,
        2 => least + (most - least) * 1e-9,
        // Ranges extend far beyond usual values; most behaviour changes near their lower ends.
        3 => least + (most - least) * f64::from(choices.byte()) / 255.0 * 1e-6,
        _ => least + (most - least) * f64::from(choices.byte()) / 255.0,
    }
}

/// A value of the form min/max/max_p: two thresholds, and the probability at the upper one. Its numbers come from fixed
/// lists, because a parameter's range describes only single numbers.
fn band(choices: &mut Choices<'_>) -> String {
    let unit = choices.of(&["p", "b"]);
    let min = choices.of(&[0.0, 1e-9, 0.5, 1.0, 20.0, 30_000.0, 1e9]);
    let wide = choices.of(&[1e-9, 0.5, 1.0, 20.0, 30_000.0, 1e9]);
    format!("{min}{unit}/{}{unit}/{}", min + wide, choices.of(&[0.0, 1e-9, 0.02, 0.5, 1.0]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use forebay_aqm::ENTRIES;
    use forebay_aqm::base::rng::Rng;

    use super::*;

    fn random(rng: &mut Rng) -> Vec<u8> {
        (0..256).map(|_| rng.below(256) as u8).collect()
    }

    #[test]
    fn every_parameter_takes_several_values() {
        let mut rng = Rng::stream(1, "extremes");
        for entry in ENTRIES {
            let specs: Vec<Spec> = (0..3000).filter_map(|_| spec(entry, &mut Choices(&random(&mut rng)))).collect();
            for param in entry.params {
                let values: BTreeSet<_> = specs.iter().map(|spec| spec.get(param.name)).collect();
                assert!(values.len() > 1, "{} {}: always {values:?}", entry.name, param.name);
            }
        }
    }

    #[test]
    fn rio_thresholds_in_packets_and_bytes_reach_extremes() {
        let mut rng = Rng::stream(1, "parts");
        let rio = ENTRIES.iter().find(|entry| entry.name == "rio").expect("rio is in the registry");
        let specs = (0..500).filter_map(|_| spec(rio, &mut Choices(&random(&mut rng))));
        let bands: Vec<String> = specs.filter_map(|spec| spec.get("out")).collect();
        for form in ["p/", "b/", "0p/", "/0", "/1"] {
            assert!(bands.iter().any(|band| band.contains(form)), "no band has {form}");
        }
    }
}
