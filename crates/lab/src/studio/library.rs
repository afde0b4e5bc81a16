//! The scenarios that the page offers: the examples and those of the papers.

use std::borrow::Cow;

use serde::Serialize;

use crate::claims::papers::PAPERS;
use crate::load;
use crate::scenario::Overrides;

/// A scenario of the page's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// Heading in the list.
    pub group: String,
    /// Title of the scenario.
    pub title: String,
    /// Path of its file, for messages.
    pub file: String,
    /// Its text.
    pub text: Cow<'static, str>,
    /// Address of the report of its runs, relative to the page; `None` if there is none.
    pub report: Option<String>,
    /// Seed of the runs; `None` for the page's default, 1.
    pub seed: Option<u64>,
    /// Index of the case that the page shows first.
    pub case: usize,
}

macro_rules! examples {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("examples/", $name), include_str!(concat!("../../../../examples/", $name)))),*]
    };
}

/// Examples that can be simulated, with their paths. The page opens the first.
const EXAMPLES: &[(&str, &str)] = examples![
    "bufferbloat.toml",
    "home.toml",
    "l4s.toml",
    "lte.toml",
    "mobile.toml",
    "video.toml",
    "parking-lot.toml",
    "fluid.toml",
    "pi-design.toml",
    "aaqm-model.toml",
    "aaqm-model-8.toml",
    "real.toml",
    "sim-to-real.toml",
    "sim-to-real-files.toml",
];

/// Files that examples refer to.
pub const FILES: &[(&str, &str)] = examples!["mobile.trace"];

/// A slider of an [`Experiment`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Slider {
    /// Id of the adjustable value.
    pub id: &'static str,
    /// Smallest and largest value, in base units.
    pub range: (f64, f64),
}

/// A small instance of the page for the book: a scenario with one or two sliders and a few figures. The address of the
/// page selects it: `#f=NAME`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Experiment {
    /// Name in the address.
    pub name: &'static str,
    /// Path of the scenario, for messages.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The sliders.
    pub sliders: &'static [Slider],
    /// First words of the titles of the figures; `Theory` is the table of the model.
    pub figures: &'static [&'static str],
}

macro_rules! experiment {
    ($name:literal in $file:literal, [$($id:literal $low:literal ..= $high:literal),*], $figures:expr) => {
        Experiment {
            name: $name,
            file: $file,
            text: include_str!(concat!("../../../../", $file)),
            sliders: &[$(Slider { id: $id, range: ($low, $high) }),*],
            figures: &$figures,
        }
    };
}

/// The experiments of the book, in their order in docs/experiments.md.
pub const EXPERIMENTS: &[Experiment] = &[
    experiment!("bufferbloat" in "examples/bufferbloat.toml",
        ["topology.bottleneck.queue" 5.0 ..= 1000.0, "flows.0.count" 1.0 ..= 10.0],
        ["Queueing delay against time", "Throughput at the link"]),
    experiment!("phase-effects" in "docs/experiments/phase-effects.toml",
        ["flows.1.rtt" 0.225 ..= 0.255],
        ["first: rate", "second: rate"]),
    experiment!("codel-law" in "docs/experiments/codel-law.toml",
        ["compare.aqm.0:target" 0.001 ..= 0.05, "compare.aqm.0:interval" 0.01 ..= 0.5],
        ["Queueing delay against time", "count against time"]),
    experiment!("red-stability" in "docs/experiments/red-stability.toml",
        ["topology.bottleneck.delay" 0.04 ..= 0.4, "flows.0.count" 10.0 ..= 100.0],
        ["Queue against time", "Theory"]),
    experiment!("raqm-rest" in "docs/experiments/raqm-rest.toml",
        ["flows.0.count" 5.0 ..= 120.0, "topology.bottleneck.delay" 0.042 ..= 0.3],
        ["Queue against time", "Theory"]),
    experiment!("dualpi2-coupling" in "docs/experiments/dualpi2-coupling.toml",
        ["compare.aqm.0:k" 0.5 ..= 8.0, "flows.1.count" 1.0 ..= 8.0],
        ["l4s: rate", "classic: rate"]),
];

/// All scenarios, examples first.
pub fn all() -> Vec<Offered> {
    let examples = EXAMPLES.iter().map(|(file, text)| offered("Examples", (*file).to_string(), text));
    let papers = PAPERS.iter().flat_map(|paper| {
        let scenarios = paper.scenarios.iter();
        scenarios.map(|(name, text)| offered(paper.name, format!("{}/{name}.toml", paper.folder), text))
    });
    let experiments = EXPERIMENTS.iter().filter(|one| EXAMPLES.iter().all(|(file, _)| *file != one.file));
    let experiments = experiments.map(|one| offered("Experiments of the book", one.file.to_string(), one.text));
    examples.chain(experiments).chain(papers).collect()
}

fn offered(group: &str, file: String, text: &'static str) -> Offered {
    // Only the titles are needed, of which a text that cannot be read has none.
    let cases = load::parse(&file, text, &Overrides::default()).unwrap_or_default();
    let title = cases.first().map_or_else(|| file.clone(), |case| case.scenario.title.clone());
    Offered { group: group.to_string(), title, file, text: text.into(), ..Offered::default() }
}
