//! Types of the data that the script in `assets/` draws. [`PageData`] is the data of `report.html`, the report of the
//! runs of one scenario or of the experiments of a paper.

use serde::Serialize;

use crate::claims::Outcome;
use crate::claims::exhibits::Rule;

/// The data of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct PageData {
    pub(super) title: String,
    pub(super) subtitle: String,
    /// The scenario as TOML, with all defaults and with the first value of each key that varies; `None` in the report
    /// of a paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scenario: Option<String>,
    pub(super) version: String,
    /// The command that produced the results.
    pub(super) command: Option<String>,
    /// Facts about the runs, such as the number of seeds: name and value.
    pub(super) facts: Vec<(String, String)>,
    /// Sentences that say which discipline is best.
    pub(super) answer: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) real: Option<Notice>,
    pub(super) claims: Vec<Claim>,
    pub(super) sections: Vec<Section>,
    pub(super) figures: Vec<Figure>,
    pub(super) tables: Vec<Table>,
}

/// Notice at the top of the report, if packets of some runs were real and not simulated: whether the emulated link sent
/// them on time.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Notice {
    pub(super) valid: bool,
    pub(super) title: String,
    /// Paragraphs of the notice.
    pub(super) text: Vec<String>,
}

/// A section of the report (an experiment, or the runs of a scenario), with the ids of its figures and tables.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) text: Option<String>,
    pub(super) figures: Vec<String>,
    pub(super) tables: Vec<String>,
    /// Path of the page with all results of the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) page: Option<String>,
    /// Folder with the `scenario.toml` of the section, relative to the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<String>,
}

/// A claim and its verdict.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Claim {
    pub(super) id: String,
    pub(super) claim: String,
    pub(super) verdict: &'static str,
    /// The discipline that the verdict is about, if the claim is tested for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<String>,
    /// Name of the grade: how much of the claim holds, also under other interpretations of the paper.
    pub(super) grade: Option<&'static str>,
    pub(super) reason: String,
    pub(super) counts: String,
    pub(super) provisional: bool,
    pub(super) why: Option<String>,
    pub(super) printed: String,
    pub(super) sentence: String,
    pub(super) checks: Vec<Check>,
    pub(super) variants: Vec<Variant>,
    pub(super) note: Option<String>,
    pub(super) section: String,
    /// Figures and tables that show the claim.
    pub(super) shown: Vec<Shown>,
}

/// A check of a claim (a quantity of the runs against a bound) with its result as text.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    pub(super) what: String,
    /// Who states the requirement of the check: `printed` (the paper) or `ours`.
    pub(super) by: &'static str,
    /// Whether the check was written only after the claim's first simulation. It then counts for the claim's grade and
    /// not for its verdict.
    pub(super) added: bool,
    /// Whether the check asks for more than the paper says. It then counts for the verdict and not for the grade.
    pub(super) superseded: bool,
    pub(super) value: String,
    pub(super) interval: Option<String>,
    pub(super) bound: String,
    pub(super) outcome: Outcome,
}

/// The result of a claim's checks for a variant, such as another discipline.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) verdict: &'static str,
    pub(super) checks: Vec<Check>,
}

/// A reference to a figure or a table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Shown {
    /// `figure` or `table`.
    pub(super) kind: &'static str,
    pub(super) id: String,
}

/// A figure of the report.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Figure {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) caption: Option<String>,
    /// Ids of the claims that the figure illustrates; `None` if the figure is not of a paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) claims: Option<Vec<String>>,
    /// `line`, `points`, `columns`, `cdf`, `step` or `band`.
    pub(super) kind: &'static str,
    /// Whether points are joined by lines; `None`: as the script does by default for figures of this `kind`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) join: Option<bool>,
    /// Arrangement of the lines in panels; `Some(None)` or `None` if all are in one panel. In JSON these are `null`
    /// (figures that a paper or scenario declares) and no key (other figures).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) layout: Option<Option<Layout>>,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rules: Option<Vec<Rule>>,
}

/// Arrangement of the series of a figure.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Layout {
    /// One panel per series.
    SmallMultiples,
}

/// An axis of a figure.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) unit: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<f64>,
    /// `log`; `None` means linear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scale: Option<&'static str>,
    /// Labels below the columns of a figure of kind `columns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) categories: Option<Vec<String>>,
}

/// Value at which an axis begins.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum End {
    Whole(u32),
    At(f64),
}

impl Axis {
    pub(super) fn new(label: &str, unit: &str) -> Self {
        Self { label: label.to_string(), unit: unit.to_string(), ..Self::default() }
    }

    /// An axis that begins at 0.
    pub(super) fn from_zero(label: &str, unit: &str) -> Self {
        Self { min: Some(End::Whole(0)), ..Self::new(label, unit) }
    }
}

/// A line of a figure.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Series {
    pub(super) name: Option<String>,
    /// For a line that shows a model: name of the line, of simulated runs, in whose panel it is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partner: Option<String>,
    pub(super) points: Points,
    /// Error bars (whiskers) of each point: lower and upper end along x, then along y.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bars: Option<Vec<Option<[Option<f64>; 4]>>>,
    /// Lower ends of the band of a figure of kind `band`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) low: Option<Vec<f64>>,
    /// Upper ends of the band of a figure of kind `band`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) high: Option<Vec<f64>>,
    /// Points of a closed curve that is drawn around the points of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outline: Option<Vec<[f64; 2]>>,
}

/// Points of a line.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Points {
    /// x and y; y is `None` in a gap.
    Places(Vec<(f64, Option<f64>)>),
    /// Fraction of time by number of packets.
    Shares(Vec<(usize, f64)>),
    /// Evenly spaced points: x of the first, distance in x from one to the next, and y of each.
    Even { from: f64, step: f64, y: Vec<Option<f64>> },
}

impl Default for Points {
    fn default() -> Self {
        Self::Places(Vec::new())
    }
}

impl Points {
    /// Points without gaps.
    pub(super) fn of(all: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::Places(all.into_iter().map(|(x, y)| (x, Some(y))).collect())
    }

    /// x and y of each point.
    pub(super) fn places(&self) -> Vec<(f64, Option<f64>)> {
        match self {
            Self::Places(all) => all.clone(),
            Self::Shares(all) => all.iter().map(|(q, share)| (*q as f64, Some(*share))).collect(),
            Self::Even { from, step, y } => y.iter().enumerate().map(|(k, y)| (from + k as f64 * step, *y)).collect(),
        }
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Places(all) => all.len(),
            Self::Shares(all) => all.len(),
            Self::Even { y, .. } => y.len(),
        }
    }
}

/// A table of the report.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Table {
    pub(super) id: String,
    pub(super) title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caption: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) claims: Option<Vec<String>>,
    /// Whether only the title of the table is shown until the reader opens it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) folded: bool,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// The heading of a column.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Column {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unit: Option<String>,
    /// Whether the cells of the column are numbers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) numeric: bool,
    /// Whether the column has the values of a key of the scenario that varies. On a narrow page each value has the name
    /// of this key before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) axis: bool,
}

impl Column {
    /// A column of text.
    pub(super) fn words(name: &str) -> Self {
        Self { name: name.to_string(), ..Self::default() }
    }

    /// A column of numbers.
    pub(super) fn numbers(name: &str, unit: &str) -> Self {
        Self { name: name.to_string(), unit: Some(unit.to_string()), numeric: true, axis: false }
    }

    /// A column with the values of a key of the scenario that varies.
    pub(super) fn axis(name: &str) -> Self {
        Self { name: name.to_string(), axis: true, ..Self::default() }
    }
}

/// Number of shades of colour in a heat map.
pub(super) const HEATS: usize = 7;

/// A cell of a table.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Cell {
    Text(String),
    /// Our value, where the paper prints no number.
    Ours {
        text: String,
    },
    /// A value in bold: the best of its column, or a difference whose interval does not contain 0.
    Best {
        text: String,
        best: bool,
    },
    /// A cell of a heat map: `heat` from 0, the smallest value of the map, to [`HEATS`] - 1, the largest.
    Heat {
        text: String,
        heat: usize,
    },
    /// Our value and the number that the paper prints.
    Beside {
        text: String,
        printed: String,
        /// Whether our confidence interval is outside the tolerance around the printed number or straddles its ends;
        /// `None` if it is within, or if there is no tolerance.
        outcome: Option<Outcome>,
    },
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
