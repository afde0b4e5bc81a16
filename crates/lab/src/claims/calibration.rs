//! Keys of a suite's scenarios whose values follow from runs: the number of flows at which the baseline discipline loses
//! a given share of packets. RFC 7928 section 8.2 defines its levels of congestion in this way.

use serde::{Deserialize, Serialize};

use super::Section;

/// Largest number of runs of a search, and largest value that it tries.
const MOST_RUNS: usize = 12;
const LARGEST: u32 = 100_000;

/// A whole-number key that is calibrated: a `[[calibrate]]` of `claims.toml`. The quantity must grow with the key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The scenarios in which the key gets the value. The runs are those of the first.
    pub scenarios: Vec<String>,
    /// Path of the key, such as `flows.bulk.count`.
    pub key: String,
    /// The value to begin with.
    pub first: u32,
    /// The discipline that runs.
    pub of: String,
    /// What is measured, in the syntax of checks.
    pub quantity: String,
    /// The value that the quantity must reach.
    pub target: f64,
    /// The first value whose quantity differs from the target by at most this factor is taken.
    #[serde(default = "two")]
    pub factor: f64,
}

const fn two() -> f64 {
    2.0
}

/// The result of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// The scenarios that got the value.
    pub scenarios: Vec<String>,
    /// Path of the key.
    pub key: String,
    /// Its value.
    pub value: u32,
    /// The value with which the search began.
    pub first: u32,
    /// The discipline that was run.
    pub of: String,
    /// What was measured.
    pub quantity: String,
    /// The value that the quantity had to reach.
    pub target: f64,
    /// The value that it has; `None`: it has no value.
    pub measured: Option<f64>,
    /// Whether it is within the factor that the suite allows.
    pub is_near: bool,
    /// Number of runs.
    pub runs: usize,
    /// Hash of the calibration and of the scenario with the first value.
    #[serde(default)]
    pub hash: String,
}

impl Calibrated {
    /// The result as a sentence.
    pub fn text(&self) -> String {
        let Self { key, value, of, quantity, target, measured, .. } = self;
        let of_first =
            if self.value == self.first { String::new() } else { format!(" (the search began with {})", self.first) };
        let measured = measured.map_or_else(|| "without a value".to_string(), |measured| format!("{measured:.2e}"));
        let near = if self.is_near { "" } else { ", the nearest value found" };
        format!(
            "{}: {key} = {value}{of_first}: {quantity} of {of} is {measured}, wanted {target:.2e}{near}",
            self.scenarios.join(", ")
        )
    }
}

impl Calibration {
    /// Checks the calibration. An error names it.
    pub fn check(&self, sections: &[Section]) -> Result<(), String> {
        let of = || format!("calibrate {}", self.key);
        let known = |name: &String| sections.iter().flat_map(Section::scenarios).any(|scenario| scenario == name);
        if let Some(stranger) = self.scenarios.iter().find(|name| !known(name)) {
            return Err(format!("{}: no section has the scenario '{stranger}'", of()));
        }
        if self.scenarios.is_empty() || self.first == 0 {
            return Err(format!("{}: needs a scenario and a first value above 0", of()));
        }
        if !(self.target > 0.0 && self.target.is_finite() && self.factor >= 1.0 && self.factor.is_finite()) {
            return Err(format!("{}: needs a target above 0 and a factor of at least 1", of()));
        }
        Ok(())
    }

    /// Whether the value is a key of this scenario.
    pub fn concerns(&self, scenario: &str) -> bool {
        self.scenarios.iter().any(|name| name == scenario)
    }

    /// Searches the value with the quantity that `measure` returns for a value.
    ///
    /// # Errors
    /// Those of `measure`.
    pub fn search<E>(&self, mut measure: impl FnMut(u32) -> Result<f64, E>) -> Result<Calibrated, E> {
        let mut tried: Vec<(u32, f64)> = Vec::new();
        let mut next = Some(self.first);
        while let Some(value) = next.filter(|_| tried.len() < MOST_RUNS) {
            let measured = measure(value)?;
            tried.push((value, measured));
            let is_done = self.is_near(measured) || measured.is_nan();
            next = if is_done { None } else { self.next(&tried).filter(|value| *value <= LARGEST) };
        }
        let distance = |measured: f64| if measured > 0.0 { (measured / self.target).ln().abs() } else { f64::INFINITY };
        let best = tried.iter().copied().min_by(|one, other| distance(one.1).total_cmp(&distance(other.1)));
        let (value, measured) = best.unwrap_or((self.first, f64::NAN));
        Ok(Calibrated {
            scenarios: self.scenarios.clone(),
            key: self.key.clone(),
            value,
            first: self.first,
            of: self.of.clone(),
            quantity: self.quantity.clone(),
            target: self.target,
            measured: (!measured.is_nan()).then_some(measured),
            is_near: self.is_near(measured),
            runs: tried.len(),
            hash: String::new(),
        })
    }

    fn is_near(&self, measured: f64) -> bool {
        measured >= self.target / self.factor && measured <= self.target * self.factor
    }

    /// The next value: between those that are too small and too large, else twice or half of the outermost one. `None`: all
    /// were tried.
    fn next(&self, tried: &[(u32, f64)]) -> Option<u32> {
        let is_large = |measured: f64| measured > self.target;
        let low = tried.iter().filter(|(_, measured)| !is_large(*measured)).map(|(value, _)| *value).max();
        let high = tried.iter().filter(|(_, measured)| is_large(*measured)).map(|(value, _)| *value).min();
        let value = match (low, high) {
            (Some(low), Some(high)) => low + high.checked_sub(low)? / 2,
            (Some(low), None) => low.saturating_mul(2),
            (None, Some(high)) => high / 2,
            (None, None) => return None,
        };
        (value > 0 && tried.iter().all(|(known, _)| *known != value)).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches `target`, beginning with 8; the quantity is `law(value)`. Returns the values tried, and the one taken.
    fn search(target: f64, law: impl Fn(u32) -> f64) -> (Vec<u32>, u32) {
        let [scenario, key, of, quantity] = ["s", "flows.bulk.count", "droptail", "loss_ratio"].map(str::to_string);
        let calibration = Calibration { scenarios: vec![scenario], key, first: 8, of, quantity, target, factor: 2.0 };
        let mut tried = Vec::new();
        let found = calibration.search(|value| {
            tried.push(value);
            Ok::<f64, ()>(law(value))
        });
        (tried, found.unwrap().value)
    }

    #[test]
    fn search_doubles_halves_and_bisects() {
        let square = |value: u32| 1e-5 * f64::from(value * value);
        assert_eq!(search(1e-3, square), (vec![8], 8), "6.4e-4 is within a factor of 2");
        assert_eq!(search(1e-2, square), (vec![8, 16, 32], 32), "1.02e-2; 2.6e-3 is too small");
        assert_eq!(search(4e-5, square), (vec![8, 4, 2], 2), "4e-5; 1.6e-4 is too large");
        assert_eq!(
            search(1e-3, |_| 1.0),
            (vec![8, 4, 2, 1], 8),
            "the smallest value is 1; the first of equal ones is taken"
        );
        let jump = |value: u32| if value > 20 { 1.0 } else { 1e-5 };
        assert_eq!(search(1e-3, jump), (vec![8, 16, 32, 24, 20, 22, 21], 8), "nothing is near");
        assert_eq!(search(1e-3, |_| f64::NAN), (vec![8], 8), "a quantity without a value ends the search");
        assert_eq!(search(1e-3, |_| 0.0).0.last(), Some(&16_384), "twelve runs");
    }
}
