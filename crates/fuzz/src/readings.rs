//! Between which ends a probe's readings must lie.

use forebay_aqm::base::design::ProbeSpec;

/// Probes that are probabilities, or roots or averages of some.
const PROBABILITIES: &[&str] = &["p", "p_a", "p_avg", "p_b", "p_c", "p_cl", "p_l", "max_p"];
/// Probes that say whether something is so.
const SWITCHES: &[&str] = &["awake", "dropping", "overload"];
/// Probes that may be below 0: what a scheduler owes, and counts that RED starts at -1.
const SIGNED: &[&str] = &["count", "credit", "deficit"];

/// A probe, and what it may say.
pub(crate) struct Reading {
    name: &'static str,
    least: f64,
    most: f64,
    whole: bool,
}

/// Of every probe, in order.
pub(crate) fn readings(probes: &[ProbeSpec]) -> Vec<Reading> {
    probes.iter().map(|probe| Reading::of(probe.name)).collect()
}

impl Reading {
    fn of(name: &'static str) -> Self {
        let is = |names: &[&str]| names.contains(&name);
        let most = if is(PROBABILITIES) || is(SWITCHES) { 1.0 } else { f64::MAX };
        let least = if is(SIGNED) { f64::MIN } else { 0.0 };
        Self { name, least, most, whole: is(SWITCHES) }
    }

    pub(crate) fn check(&self, value: f64) -> Result<(), String> {
        let inside = (self.least..=self.most).contains(&value);
        if inside && !(self.whole && value.fract() != 0.0) {
            return Ok(());
        }
        Err(format!("probe {} is {value:e}, not from {:e} to {:e}", self.name, self.least, self.most))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use forebay_aqm::ENTRIES;

    use super::*;

    #[test]
    fn every_probe_called_a_probability_is_taken_for_one() {
        let probes = ENTRIES.iter().flat_map(|entry| entry.probes).filter(|probe| probe.unit == "1");
        let called = probes.filter(|probe| probe.doc.to_lowercase().contains("probability"));
        // What accumulates until a signal is due.
        let others: BTreeSet<&str> =
            called.map(|probe| probe.name).filter(|name| !PROBABILITIES.contains(name)).collect();
        assert_eq!(others, BTreeSet::from(["spacing"]));
    }

    #[test]
    fn every_name_here_is_some_probe() {
        let known: BTreeSet<&str> = ENTRIES.iter().flat_map(|entry| entry.probes).map(|probe| probe.name).collect();
        for name in [PROBABILITIES, SWITCHES, SIGNED].concat() {
            assert!(known.contains(name), "{name}");
        }
    }

    #[test]
    fn ends_belong_to_what_is_allowed_and_nothing_beyond_does() {
        let allows = |name, value| Reading::of(name).check(value).is_ok();
        assert!(allows("p_cl", 0.0) && allows("p_cl", 1.0) && allows("avg", 1e300) && allows("credit", -3.0));
        for (name, value) in [("p_cl", 1.0 + 1e-9), ("p_cl", -1e-9), ("avg", -1e-9), ("avg", f64::INFINITY)] {
            assert!(!allows(name, value), "{name} {value}");
        }
        assert!(allows("overload", 1.0) && !allows("overload", 0.5) && !allows("credit", f64::NAN));
    }
}
