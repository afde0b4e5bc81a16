//! The scenarios that the page offers: the examples and those of the papers.

use std::borrow::Cow;

use serde::Serialize;

use crate::claims::papers::PAPERS;
use crate::load;
use crate::scenario::Overrides;

/// A scenario of the page's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// Heading in the list.
    pub group: String,
    /// Title of the scenario.
    pub title: String,
    /// Path of its file, for messages.
    pub file: String,
    /// Its text.
    pub text: Cow<'static, str>,
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

/// All scenarios, examples first.
pub fn all() -> Vec<Offered> {
    let examples = EXAMPLES.iter().map(|(file, text)| offered("Examples", (*file).to_string(), text));
    let papers = PAPERS.iter().flat_map(|paper| {
        let scenarios = paper.scenarios.iter();
        scenarios.map(|(name, text)| offered(paper.name, format!("{}/{name}.toml", paper.folder), text))
    });
    examples.chain(papers).collect()
}

fn offered(group: &str, file: String, text: &'static str) -> Offered {
    // Only the titles are needed, of which a text that cannot be read has none.
    let cases = load::parse(&file, text, &Overrides::default()).unwrap_or_default();
    let title = cases.first().map_or_else(|| file.clone(), |case| case.scenario.title.clone());
    Offered { group: group.to_string(), title, file, text: text.into() }
}
