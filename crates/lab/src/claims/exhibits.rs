//! Figures and tables of a paper as data: what it shows of which runs, so that the report shows the same.

use serde::{Deserialize, Serialize};

use crate::claims::Point;
use crate::claims::models::Model;

/// What a figure draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Recorded columns over time, one seed.
    Series,
    /// A quantity against an axis or another quantity, means over the seeds.
    Curve,
    /// A quantity by group, means over the seeds.
    Bars,
    /// Share of the time at or below a queue length, all seeds.
    Cdf,
    /// Share of the time at a queue length, all seeds.
    Density,
}

/// One axis of a figure: its words and range are the paper's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// In which unit.
    #[serde(default)]
    pub unit: String,
    /// Where it begins; with the data by default.
    pub from: Option<f64>,
    /// Where it ends; with the data by default.
    pub to: Option<f64>,
    /// Logarithmic.
    #[serde(default)]
    pub log: bool,
    /// The axis of the scenario along x.
    pub axis: Option<String>,
    /// The quantity along it.
    pub quantity: Option<String>,
    /// The recorded column along y: `queue_pkts`, `queue_mean_pkts`, a probe.
    pub series: Option<String>,
    /// Of a recorded counter: its growth per second is shown, over so many seconds each.
    pub rate: Option<f64>,
    /// Values are multiplied by it.
    pub scale: Option<f64>,
}

/// One line of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Whose, as the scenario writes it.
    #[serde(default)]
    pub of: String,
    /// In place of whose: the model that works it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its name; by default that of the contender or the model.
    pub label: Option<String>,
    /// At which points of the axes, beside those of the figure.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// In place of the quantity of y.
    pub quantity: Option<String>,
    /// In place of the column of y.
    pub series: Option<String>,
}

/// A straight line to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `x` or `y`.
    pub axis: String,
    /// Where; a rule that slopes, at 0 of the other axis.
    pub at: f64,
    /// Of a curve: by how much it rises along x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    /// What it is.
    pub label: String,
}

/// A figure of a paper; see `docs/claims.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// As the paper calls it.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The section whose runs it shows.
    pub section: String,
    /// How.
    pub kind: Kind,
    /// Anything else to say below it.
    #[serde(default)]
    pub text: String,
    /// The claims it belongs to.
    #[serde(default)]
    pub claims: Vec<String>,
    /// At which points of the axes.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// At which link under study; at the first by default.
    pub link: Option<String>,
    /// The seed of a series; 1 by default.
    pub seed: Option<u64>,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Of bars: what stands in the quantity for `{group}`.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Of bars: what stands below each group; its own word by default.
    #[serde(default)]
    pub group_labels: Vec<String>,
    /// Of bars: a factor for each group, such as 1 / its target.
    #[serde(default)]
    pub group_scales: Vec<f64>,
    /// One panel for each line; by default for series.
    pub panels: Option<bool>,
    /// Straight lines.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What is compared.
    pub lines: Vec<Line>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Heading.
    pub label: String,
    /// Unit.
    #[serde(default)]
    pub unit: String,
    /// The quantity; none in a table of what was given.
    #[serde(default)]
    pub quantity: String,
    /// Values are multiplied by it.
    pub scale: Option<f64>,
    /// Decimals.
    pub digits: u8,
    /// By how much ours may differ from the printed number, in the column's unit.
    pub tolerance: Option<f64>,
    /// The same in % of the printed number.
    pub tolerance_percent: Option<f64>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Heading; by default the contender.
    pub label: Option<String>,
    /// Whose numbers, as the scenario writes it.
    #[serde(default)]
    pub of: String,
    /// In place of whose: what our scenarios were given, a number for each column; `nan` where there is no such thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "numbers")]
    pub given: Vec<f64>,
    /// At which point of the axes.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// What the paper printed, a number for each column; `nan` where it printed none.
    #[serde(default, with = "numbers")]
    pub printed: Vec<f64>,
}

/// A table of a paper; see `docs/claims.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// As the paper calls it.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The section whose runs it shows.
    pub section: String,
    /// Anything else to say below it.
    #[serde(default)]
    pub text: String,
    /// The claims it belongs to.
    #[serde(default)]
    pub claims: Vec<String>,
    /// At which link under study; at the first by default.
    pub link: Option<String>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// JSON has no NaN: there it is `null`.
mod numbers {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(all: &[f64], to: S) -> Result<S::Ok, S::Error> {
        all.iter().map(|x| x.is_finite().then_some(*x)).collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<f64>, D::Error> {
        let all = Vec::<Option<f64>>::deserialize(from)?;
        Ok(all.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
    }
}

impl Line {
    /// Its name in the figure.
    pub fn name(&self) -> &str {
        self.label.as_deref().or(self.model.as_deref()).unwrap_or(&self.of)
    }

    /// Is it one of a contender or a model, and does that model exist?
    fn check(&self) -> Result<(), String> {
        match &self.model {
            Some(model) if self.of.is_empty() => Model::parse(model).map(|_| ()),
            None if !self.of.is_empty() => Ok(()),
            _ => Err("a line is of a contender or of a model".to_string()),
        }
    }
}

impl Figure {
    /// The points of a line: the figure's and its own.
    pub fn points_of(&self, line: &Line) -> Point {
        let mut all = self.at_points.clone();
        all.extend(line.at_points.clone());
        all
    }

    /// Does it show models and no runs?
    pub fn is_theory(&self) -> bool {
        self.lines.iter().all(|line| line.model.is_some())
    }

    /// Is it a whole one? What is wrong with it otherwise.
    pub(crate) fn check(&self) -> Result<(), String> {
        let needs = |what: &str| Err(format!("{}: {what}", self.id));
        self.lines.iter().try_for_each(Line::check).or_else(|what| needs(&what))?;
        let each = |own: fn(&Line) -> bool, shared: bool| {
            shared || self.lines.iter().all(|line| own(line) || line.model.is_some())
        };
        let quantities = each(|line| line.quantity.is_some(), self.y.quantity.is_some());
        let by_axis = self.x.axis.is_some() as usize;
        match self.kind {
            _ if self.lines.is_empty() => needs("no lines"),
            _ if [&self.x, &self.y].iter().any(|a| matches!((a.from, a.to), (Some(from), Some(to)) if from >= to)) => {
                needs("an axis ends before it begins")
            }
            _ if self.rules.iter().any(|rule| !["x", "y"].contains(&rule.axis.as_str())) => {
                needs("the axis of a rule is x or y")
            }
            _ if [&self.x, &self.y].iter().any(|axis| axis.rate.is_some_and(|over| over.is_nan() || over <= 0.0)) => {
                needs("rate is a time above 0 s")
            }
            _ if self.x.rate.is_some() || self.y.rate.is_some() && self.kind != Kind::Series => {
                needs("only y of a series has a rate")
            }
            _ if self
                .rules
                .iter()
                .any(|rule| rule.slope.is_some() && (self.kind != Kind::Curve || rule.axis != "y")) =>
            {
                needs("only a rule on y of a curve has a slope")
            }
            Kind::Series if !each(|line| line.series.is_some(), self.y.series.is_some()) => {
                needs("y does not say which series")
            }
            Kind::Curve | Kind::Bars if !quantities => needs("y does not say which quantity"),
            Kind::Curve if !self.is_theory() && by_axis + self.x.quantity.is_some() as usize != 1 => {
                needs("x is an axis or a quantity")
            }
            Kind::Bars if self.lines.iter().any(|line| line.model.is_some()) => needs("a model has no bars"),
            Kind::Bars if by_axis + !self.groups.is_empty() as usize != 1 => {
                needs("bars stand at groups or at the values of an axis")
            }
            Kind::Bars if !self.group_labels.is_empty() && self.group_labels.len() != self.groups.len() => {
                needs("group_labels has a word for each of groups")
            }
            Kind::Bars if !self.group_scales.is_empty() && self.group_scales.len() != self.groups.len() => {
                needs("group_scales has a number for each of groups")
            }
            _ => Ok(()),
        }
    }
}

impl Table {
    /// Is it a whole one? What is wrong with it otherwise.
    pub(crate) fn check(&self) -> Result<(), String> {
        let needs = |what: &str| Err(format!("{}: {what}", self.id));
        match self {
            _ if self.columns.is_empty() || self.rows.is_empty() => needs("no columns or no rows"),
            _ if self.rows.iter().any(|row| !row.printed.is_empty() && row.printed.len() != self.columns.len()) => {
                needs("printed has a number for each column")
            }
            _ if self.rows.iter().any(|row| row.given.is_empty() == row.of.is_empty()) => {
                needs("a row is of a contender or of what was given")
            }
            _ if self.rows.iter().any(|row| !row.given.is_empty() && row.given.len() != self.columns.len()) => {
                needs("given has a number for each column")
            }
            _ if self.columns.iter().any(|c| c.quantity.is_empty()) && self.rows.iter().any(|r| r.given.is_empty()) => {
                needs("a column does not say which quantity")
            }
            _ if self.columns.iter().any(|c| c.tolerance.is_some() && c.tolerance_percent.is_some()) => {
                needs("a tolerance is absolute or in %")
            }
            _ if self.columns.iter().any(|c| c.digits > 9) => needs("digits are at most 9"),
            _ => Ok(()),
        }
    }
}
