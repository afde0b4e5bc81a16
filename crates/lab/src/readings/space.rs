//! The settings that a paper leaves open, and its readings. A setting is a dimension with candidate values; a reading
//! has one value of each dimension. The first reading is that of our scenario files. A section is an experiment of the
//! paper in `claims.toml`; the axes of a scenario are the keys that vary.

use std::collections::BTreeMap;

use forebay_aqm::base::rng::Rng;
use serde::{Deserialize, Serialize};

use crate::claims::Point;

/// The candidate value that leaves the scenario as it is.
pub const AS_IS: &str = "as is";

/// Why a value is a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Source {
    /// The paper prints candidates or a range.
    #[serde(rename = "printed")]
    Printed,
    /// The paper's text and its listing differ.
    #[serde(rename = "text against listing")]
    TextAgainstListing,
    /// The value is a default of ns-2 when the paper was written.
    #[serde(rename = "default of ns-2 at the time")]
    DefaultOfNs2,
    /// Our own choice.
    #[serde(rename = "ours")]
    Ours,
}

impl Source {
    /// The source as `readings.toml` writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::TextAgainstListing => "text against listing",
            Self::DefaultOfNs2 => "default of ns-2 at the time",
            Self::Ours => "ours",
        }
    }
}

/// A setting that a paper leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// Name of the setting, unique among those of the paper.
    pub name: String,
    /// The paper's words, or what it does not say.
    pub words: String,
    /// Why the values are candidates.
    pub source: Source,
    /// The candidate values. The value `as is` leaves the scenarios as they are.
    pub values: Vec<String>,
    /// Plausibility of each value, relative to the others; default equal.
    #[serde(default)]
    pub weights: Vec<f64>,
    /// The value of the first reading: that of the scenario files.
    pub first: String,
    /// The values that differ from what the paper prints. A reading with one of them is not plausible: it is tried only
    /// after the plausible readings.
    #[serde(default)]
    pub differs: Vec<String>,
    /// Whether the dimension was declared after the first search of the paper.
    #[serde(default)]
    pub added: bool,
    /// Dotted paths of keys in scenarios that take the value. A scenario without the key is left as it is.
    /// `flows.*.KEY` is the key of every group of flows that has it, `SCENARIO:PATH` a key of this scenario only.
    #[serde(default)]
    pub set: Vec<String>,
    /// Parameters of disciplines that take the value, such as `raqm.eps`.
    #[serde(default)]
    pub parameter: Vec<String>,
    /// A time window, such as `20..200` (seconds). Checks of claims in `claims.toml` whose quantity is measured over
    /// this window are measured over the window that is the dimension's value instead.
    #[serde(default)]
    pub window: Option<String>,
    /// For a value of the setting: a term of quantities in `claims.toml`, such as `+ 0.192`, and the term in its place.
    #[serde(default)]
    pub term: BTreeMap<String, (String, String)>,
    /// For a value of the setting: several changes, each `PATH=VALUE`, with paths as in `set`, or `aqm NAME.KEY=VALUE`
    /// for a parameter of a discipline.
    #[serde(default)]
    pub means: BTreeMap<String, Vec<String>>,
    /// For a value of the setting: the values of the axes at which the claims of a section are decided, by section.
    #[serde(default)]
    pub point: BTreeMap<String, BTreeMap<String, Point>>,
}

impl Dimension {
    /// Whether the setting changes the runs of all disciplines of a scenario. Other settings change the runs of one
    /// discipline, or only the checks of claims.
    pub fn is_common(&self) -> bool {
        !self.set.is_empty() || self.means.values().flatten().any(|change| !change.starts_with("aqm "))
    }

    /// Plausibility (key `weights`) of the value with the index `at`, relative to the others. With `plausible` it is 0
    /// for a value that differs from what the paper prints.
    fn weight(&self, at: usize, plausible: bool) -> f64 {
        if plausible && self.differs.contains(&self.values[at]) {
            return 0.0;
        }
        self.weights.get(at).copied().unwrap_or(1.0)
    }

    /// Index of the value at this fraction, 0 to 1, of the cumulative plausibility (key `weights`) of all values, or of
    /// the `plausible` ones.
    fn at(&self, fraction: f64, plausible: bool) -> usize {
        let weights = || (0..self.values.len()).map(|at| (at, self.weight(at, plausible))).filter(|it| it.1 > 0.0);
        let mut left = fraction * weights().map(|it| it.1).sum::<f64>();
        let mut chosen = 0;
        for (at, weight) in weights() {
            chosen = at;
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        chosen
    }
}

/// `readings.toml` of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// Format version, 1.
    pub version: u32,
    /// Name of the paper on the command line.
    pub paper: String,
    /// The settings that the paper does not state.
    #[serde(rename = "dimension")]
    pub dimensions: Vec<Dimension>,
}

/// A reading: for each dimension, the index of its value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Reading(pub Vec<usize>);

impl Space {
    /// Reads and checks `readings.toml`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let space: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if space.version != 1 {
            return Err(format!("version {} of readings.toml is not 1", space.version));
        }
        for (at, dimension) in space.dimensions.iter().enumerate() {
            let Dimension { name, values, weights, first, set, parameter, window, means, point, .. } = dimension;
            let fault = if space.dimensions[..at].iter().any(|other| other.name == *name) {
                "there are two of this name"
            } else if values.len() < 2 || (1..values.len()).any(|at| values[..at].contains(&values[at])) {
                "needs two different values or more"
            } else if !values.contains(first) {
                "first is not one of the values"
            } else if dimension.differs.contains(first) {
                "first differs from what the paper prints"
            } else if !weights.is_empty()
                && (weights.len() != values.len() || weights.iter().any(|w| *w <= 0.0 || !w.is_finite()))
            {
                "needs a weight above 0 for each value"
            } else if set.is_empty() && parameter.is_empty() && window.is_none() && means.is_empty() && point.is_empty()
            {
                "changes nothing: needs set, parameter, window, means or point"
            } else if (means.keys().chain(point.keys()).chain(dimension.term.keys()))
                .chain(&dimension.differs)
                .any(|value| !values.contains(value))
            {
                "means, point, term or differs has a value that is not one of the values"
            } else {
                continue;
            };
            return Err(format!("dimension {name}: {fault}"));
        }
        if space.dimensions.is_empty() { Err("there is no dimension".to_string()) } else { Ok(space) }
    }

    /// The reading of the scenario files.
    pub fn first(&self) -> Reading {
        let of = |dimension: &Dimension| dimension.values.iter().position(|value| *value == dimension.first);
        Reading(self.dimensions.iter().map(|dimension| of(dimension).unwrap_or(0)).collect())
    }

    /// Number of possible readings, at most the largest `u64`.
    pub fn size(&self) -> u64 {
        self.dimensions.iter().fold(1, |size: u64, dimension| size.saturating_mul(dimension.values.len() as u64))
    }

    /// A Latin hypercube sample (McKay, Beckman and Conover 1979) of `n` plausible readings: each dimension takes its
    /// values, those under `differs` excluded, in proportion to their plausibility (key `weights`), in an independent
    /// random order. `group` readings in succession
    /// have the same values of the dimensions that change the runs of all disciplines ([`Dimension::is_common`]). So
    /// they share the runs of the disciplines in which they do not differ. For these dimensions the sample has
    /// `n / group` readings.
    pub fn latin(&self, n: usize, group: usize, rng: &mut Rng) -> Vec<Reading> {
        let mut readings = vec![Reading(Vec::new()); n];
        for dimension in &self.dimensions {
            let each = if dimension.is_common() { group.max(1) } else { 1 };
            let strata = n.div_ceil(each);
            let mut order: Vec<usize> = (0..strata).collect();
            for at in (1..strata).rev() {
                order.swap(at, rng.below(at as u64 + 1) as usize);
            }
            for (readings, stratum) in readings.chunks_mut(each).zip(order) {
                let value = dimension.at((stratum as f64 + rng.uniform()) / strata as f64, true);
                readings.iter_mut().for_each(|reading| reading.0.push(value));
            }
        }
        readings
    }

    /// Whether two readings have the same values of the dimensions that change the runs of all disciplines.
    pub fn is_same_group(&self, a: &Reading, b: &Reading) -> bool {
        (0..self.dimensions.len()).all(|at| !self.dimensions[at].is_common() || a.0[at] == b.0[at])
    }

    /// A random reading near `parent`: the value of one dimension is drawn again, and the value of each other dimension
    /// with probability `rate`. Only `plausible` values are drawn, or all.
    pub fn neighbour(&self, parent: &Reading, rate: f64, plausible: bool, rng: &mut Rng) -> Reading {
        let certain = rng.below(self.dimensions.len() as u64) as usize;
        let mut child = parent.clone();
        for (at, dimension) in self.dimensions.iter().enumerate() {
            if rng.uniform() < rate || at == certain {
                child.0[at] = dimension.at(rng.uniform(), plausible);
            }
        }
        child
    }

    /// The readings that differ from `reading` in one dimension.
    pub fn neighbours(&self, reading: &Reading) -> Vec<Reading> {
        let mut all = Vec::new();
        for (at, dimension) in self.dimensions.iter().enumerate() {
            for value in (0..dimension.values.len()).filter(|value| *value != reading.0[at]) {
                let mut other = reading.clone();
                other.0[at] = value;
                all.push(other);
            }
        }
        all
    }

    /// The reading as pairs of the name of a dimension and its value.
    pub fn words<'a>(&'a self, reading: &'a Reading) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.dimensions
            .iter()
            .zip(&reading.0)
            .map(|(dimension, at)| (dimension.name.as_str(), dimension.values[*at].as_str()))
    }

    /// The reading with these values, by name of the dimension; `None` if a name or value is unknown or a dimension is
    /// missing.
    pub fn reading(&self, words: &BTreeMap<String, String>) -> Option<Reading> {
        let of = |dimension: &Dimension| {
            let value = words.get(&dimension.name)?;
            dimension.values.iter().position(|known| known == value)
        };
        let found: Option<Vec<usize>> = self.dimensions.iter().map(of).collect();
        found.filter(|found| found.len() == words.len()).map(Reading)
    }

    /// Whether no value differs from what the paper prints.
    pub fn is_plausible(&self, reading: &Reading) -> bool {
        self.differing(reading).is_empty()
    }

    /// The settings whose value differs from what the paper prints, as `packet = 1000`.
    pub fn differing(&self, reading: &Reading) -> Vec<String> {
        let pairs = self.dimensions.iter().zip(self.words(reading));
        let differing = pairs.filter(|(dimension, (_, value))| dimension.differs.iter().any(|it| it == value));
        differing.map(|(_, (name, value))| format!("{name} = {value}")).collect()
    }

    fn changes<'a>(&'a self, reading: &'a Reading) -> impl Iterator<Item = (&'a str, &'a str)> {
        let changed = self.words(reading).zip(reading.0.iter().zip(self.first().0));
        changed.filter(|(_, (own, first))| *own != first).map(|(words, _)| words).collect::<Vec<_>>().into_iter()
    }

    /// The values that differ from the first reading, by dimension.
    pub fn changed(&self, reading: &Reading) -> BTreeMap<String, String> {
        self.changes(reading).map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    /// The reading in words: the values that differ from the first reading.
    pub fn short(&self, reading: &Reading) -> String {
        let words = self.changes(reading).map(|(name, value)| format!("{name} = {value}"));
        let words: Vec<String> = words.collect();
        if words.is_empty() { "the first reading".to_string() } else { words.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        version = 1
        paper = "p"
        [[dimension]]
        name = "tcp"
        words = "not named"
        source = "default of ns-2 at the time"
        values = ["newreno", "sack"]
        weights = [3, 1]
        first = "newreno"
        set = ["flows.*.tcp"]
        [[dimension]]
        name = "eps"
        words = "'close to 1'"
        source = "printed"
        values = ["0.5", "0.9", "0.99"]
        first = "0.9"
        parameter = ["raqm.eps"]
    "#;

    #[test]
    fn sample_has_values_in_proportion_to_their_weights() {
        let space = Space::parse(TEXT).unwrap();
        let readings = space.latin(400, 1, &mut Rng::stream(1, "test"));
        let count = |dimension: usize, value: usize| readings.iter().filter(|r| r.0[dimension] == value).count();
        assert_eq!([count(0, 0), count(0, 1)], [300, 100]);
        assert!((0..3).all(|value| count(1, value).abs_diff(133) <= 1));
        let both = readings.iter().filter(|r| r.0 == [1, 2]).count();
        assert!((20..50).contains(&both), "the dimensions are independent: {both} of 400, 33 expected");
    }

    #[test]
    fn sample_has_no_values_that_differ_from_the_print() {
        let space = Space::parse(&TEXT.replace("first = \"0.9\"", "first = \"0.9\"\ndiffers = [\"0.5\"]")).unwrap();
        let readings = space.latin(400, 1, &mut Rng::stream(1, "test"));
        let count = |value: usize| readings.iter().filter(|r| r.0[1] == value).count();
        assert_eq!([count(0), count(1), count(2)], [0, 200, 200]);
        assert!(readings.iter().all(|reading| space.is_plausible(reading)));
        let mut rng = Rng::stream(2, "test");
        let of = |plausible| (0..200).map(move |_| plausible);
        let mut drawn =
            |plausible| of(plausible).filter(|p| space.neighbour(&space.first(), 1.0, *p, &mut rng).0[1] == 0).count();
        assert!(drawn(true) == 0 && drawn(false) > 0);
    }

    #[test]
    fn successive_readings_share_settings_of_all_disciplines() {
        let space = Space::parse(TEXT).unwrap();
        let readings = space.latin(402, 4, &mut Rng::stream(1, "test"));
        assert_eq!(readings.len(), 402);
        assert!(readings.chunks(4).all(|group| group.iter().all(|r| r.0[0] == group[0].0[0])), "tcp");
        assert!(readings.chunks(4).any(|group| group.iter().any(|r| r.0[1] != group[0].0[1])), "eps of raqm");
        let count = |dimension: usize, value: usize| readings.iter().filter(|r| r.0[dimension] == value).count();
        assert!(count(0, 0).abs_diff(302) <= 4, "{}", count(0, 0));
        assert!((0..3).all(|value| count(1, value).abs_diff(134) <= 1));
        assert!(space.is_same_group(&Reading(vec![0, 1]), &Reading(vec![0, 2])));
        assert!(!space.is_same_group(&Reading(vec![0, 1]), &Reading(vec![1, 1])));
    }

    #[test]
    fn neighbours_of_a_reading_differ_in_one_setting() {
        let space = Space::parse(TEXT).unwrap();
        let mut rng = Rng::stream(2, "test");
        let children: Vec<Reading> = (0..200).map(|_| space.neighbour(&space.first(), 0.0, true, &mut rng)).collect();
        let changed = |r: &Reading| r.0.iter().zip(&space.first().0).filter(|(a, b)| a != b).count();
        assert!(children.iter().all(|r| changed(r) <= 1) && children.iter().any(|r| changed(r) == 1));
        let all = space.neighbours(&space.first());
        assert!(all.len() == 3 && all.iter().all(|r| changed(r) == 1), "{all:?}");
    }

    #[test]
    fn reading_is_shown_as_differences_from_first_reading() {
        let space = Space::parse(TEXT).unwrap();
        assert_eq!((space.first(), space.size()), (Reading(vec![0, 1]), 6));
        let other = Reading(vec![1, 1]);
        assert_eq!(
            (space.short(&other).as_str(), space.short(&space.first()).as_str()),
            ("tcp = sack", "the first reading")
        );
        let words: BTreeMap<String, String> =
            space.words(&other).map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(space.reading(&words), Some(other));
        assert_eq!(space.reading(&BTreeMap::new()), None);
    }

    #[test]
    fn invalid_readings_toml_is_refused() {
        for (from, to, fault) in [
            ("name = \"eps\"", "name = \"tcp\"", "two of this name"),
            ("first = \"0.9\"", "first = \"0.8\"", "first is not one"),
            ("weights = [3, 1]", "weights = [3]", "a weight above 0"),
            ("parameter = [\"raqm.eps\"]", "", "changes nothing"),
            ("\"0.9\", ", "\"0.5\", ", "two different values"),
            ("first = \"0.9\"", "first = \"0.9\"\ndiffers = [\"0.7\"]", "differs has a value"),
            ("first = \"0.9\"", "first = \"0.9\"\ndiffers = [\"0.9\"]", "first differs"),
            ("version = 1", "version = 2", "version 2"),
            ("source = \"printed\"", "source = \"guess\"", "unknown variant"),
        ] {
            let error = Space::parse(&TEXT.replace(from, to)).unwrap_err();
            assert!(error.contains(fault), "{error}");
        }
    }
}
