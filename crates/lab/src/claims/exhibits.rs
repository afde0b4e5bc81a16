//! Figures and tables of a paper as data: which results of which runs they show. The report draws the figures. A
//! contender is a discipline that a scenario compares; the axes of a scenario are the keys that vary between its runs.
//! A quantity is a number computed from the results of a run, in the syntax of `docs/claims.md`. A link under study is
//! one whose results are recorded.

use serde::{Deserialize, Serialize};

use crate::claims::Point;
use crate::claims::models::Model;

/// Kind of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Recorded series over time, one seed.
    Series,
    /// A quantity against an axis of the scenario or another quantity; means over the seeds.
    Curve,
    /// A quantity as bars side by side, one per group, such as a class of traffic; means over the seeds.
    Bars,
    /// Fraction of time at or below each queue length, all seeds.
    Cdf,
    /// Fraction of time at each queue length, all seeds.
    Density,
}

/// An axis of a figure, with the labels and range of the paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Label of the axis.
    pub label: String,
    /// Unit of the values.
    #[serde(default)]
    pub unit: String,
    /// Lower end; default from the data.
    pub from: Option<f64>,
    /// Upper end; default from the data.
    pub to: Option<f64>,
    /// Whether the axis is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// Key that varies in the scenario and whose values are shown along x.
    pub axis: Option<String>,
    /// Quantity shown along the axis, in the syntax of `docs/claims.md`.
    pub quantity: Option<String>,
    /// Recorded series shown along y: `queue_pkts`, `queue_mean_pkts`, an internal variable of the discipline (probe),
    /// or a column of a traffic class, such as `class.1.dropped_pkts`.
    pub series: Option<String>,
    /// For a recorded counter: shows its growth per second, over intervals of this many seconds.
    pub rate: Option<f64>,
    /// Factor by which the values are multiplied.
    pub scale: Option<f64>,
}

/// One line of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The contender whose results the line shows, as written in the scenario; empty if the line shows a model.
    #[serde(default)]
    pub of: String,
    /// The model that the line shows, in place of a contender, such as `tail-chain n=20 sigma=77021 w=10.35`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Name in the legend; default the contender or the model.
    pub label: Option<String>,
    /// Values of the keys that the scenario varies: they select the runs, in addition to those of the figure.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// Quantity shown along y, in place of that of the figure.
    pub quantity: Option<String>,
    /// Recorded series shown along y, in place of that of the figure.
    pub series: Option<String>,
}

/// A straight line for comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `x` or `y`.
    pub axis: String,
    /// Value on `axis` at which the line is drawn; with a `slope`, the value of y at x = 0.
    pub at: f64,
    /// For a curve: rise per unit of x.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    /// Label of the line.
    pub label: String,
}

/// A figure of a paper; see `docs/claims.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name in the paper.
    pub id: String,
    /// Title of the figure.
    pub title: String,
    /// Id of the section of `claims.toml`, an experiment of the paper, whose runs it shows.
    pub section: String,
    /// Kind of the figure.
    pub kind: Kind,
    /// Sentence below the figure.
    #[serde(default)]
    pub text: String,
    /// Ids of the claims that the figure illustrates.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Values of the keys that the scenario varies: they select the runs.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// Link whose results it shows; default the first link under study.
    pub link: Option<String>,
    /// Seed of a series; default the first.
    pub seed: Option<u64>,
    /// Horizontal axis, with the label and range of the paper.
    pub x: Axis,
    /// Vertical axis, with the label and range of the paper.
    pub y: Axis,
    /// For bars: names of the groups. Each of them in turn replaces `{group}` in the quantity.
    #[serde(default)]
    pub groups: Vec<String>,
    /// For bars: labels of the groups; default the names in `groups`.
    #[serde(default)]
    pub group_labels: Vec<String>,
    /// For bars: factors on the values, one per group. Example: 1/T for a class of traffic with the target rate T.
    #[serde(default)]
    pub group_scales: Vec<f64>,
    /// Whether each line has a separate panel. Default: true for a series, false for other kinds.
    pub panels: Option<bool>,
    /// Straight lines for comparison.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// The lines, each of a contender or a model.
    pub lines: Vec<Line>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Heading of the column.
    pub label: String,
    /// Unit of the values.
    #[serde(default)]
    pub unit: String,
    /// Quantity; empty in a table of scenario parameters.
    #[serde(default)]
    pub quantity: String,
    /// Factor by which the values are multiplied.
    pub scale: Option<f64>,
    /// Number of decimal places shown.
    pub digits: u8,
    /// Tolerated difference from the printed number, in the column's unit.
    pub tolerance: Option<f64>,
    /// Tolerated difference in % of the printed number.
    pub tolerance_percent: Option<f64>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Heading; default the contender.
    pub label: Option<String>,
    /// Contender, as the scenario writes it.
    #[serde(default)]
    pub of: String,
    /// Parameters of our scenarios, one number per column, `nan` for none. A row with them has no contender and shows
    /// no results.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "numbers")]
    pub given: Vec<f64>,
    /// Values of the keys that the scenario varies: they select the runs.
    #[serde(default, rename = "where")]
    pub at_points: Point,
    /// Numbers printed in the paper, one per column; `nan` where there is none.
    #[serde(default, with = "numbers")]
    pub printed: Vec<f64>,
}

/// A table of a paper; see `docs/claims.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Name in the paper.
    pub id: String,
    /// Title of the table.
    pub title: String,
    /// Id of the section of `claims.toml`, an experiment of the paper, whose runs it shows.
    pub section: String,
    /// Sentence below the table.
    #[serde(default)]
    pub text: String,
    /// Ids of the claims that the table illustrates.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Link whose results it shows; default the first link under study.
    pub link: Option<String>,
    /// Columns, from left to right.
    pub columns: Vec<Column>,
    /// Rows, from top to bottom.
    pub rows: Vec<Row>,
}

/// Serialization of lists of numbers. JSON has no NaN: it is written as `null`.
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
    /// Name in the legend of the figure.
    pub fn name(&self) -> &str {
        self.label.as_deref().or(self.model.as_deref()).unwrap_or(&self.of)
    }

    /// Checks that the line has a contender or an existing model.
    fn check(&self) -> Result<(), String> {
        match &self.model {
            Some(model) if self.of.is_empty() => Model::parse(model).map(|_| ()),
            None if !self.of.is_empty() => Ok(()),
            _ => Err("a line needs either a contender or a model".to_string()),
        }
    }
}

impl Figure {
    /// Values of the keys that the scenario varies, for a line: those of the figure and of the line. Those of the line
    /// have precedence.
    pub fn points_of(&self, line: &Line) -> Point {
        let mut all = self.at_points.clone();
        all.extend(line.at_points.clone());
        all
    }

    /// Whether the figure shows only models and no runs.
    pub fn is_theory(&self) -> bool {
        self.lines.iter().all(|line| line.model.is_some())
    }

    /// Checks that the figure is complete and consistent.
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
            _ if [&self.x, &self.y].iter().any(|a| a.log && [a.from, a.to].iter().flatten().any(|end| *end <= 0.0)) => {
                needs("a logarithmic axis begins and ends above 0")
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
                needs("x needs either an axis or a quantity")
            }
            Kind::Bars if self.lines.iter().any(|line| line.model.is_some()) => needs("a model has no bars"),
            Kind::Bars if by_axis + !self.groups.is_empty() as usize != 1 => {
                needs("bars need either groups or an axis")
            }
            Kind::Bars if !self.group_labels.is_empty() && self.group_labels.len() != self.groups.len() => {
                needs("group_labels needs one label per group")
            }
            Kind::Bars if !self.group_scales.is_empty() && self.group_scales.len() != self.groups.len() => {
                needs("group_scales needs one number per group")
            }
            _ => Ok(()),
        }
    }
}

impl Table {
    /// Checks that the table is complete and consistent.
    pub(crate) fn check(&self) -> Result<(), String> {
        let needs = |what: &str| Err(format!("{}: {what}", self.id));
        match self {
            _ if self.columns.is_empty() || self.rows.is_empty() => needs("no columns or no rows"),
            _ if self.rows.iter().any(|row| !row.printed.is_empty() && row.printed.len() != self.columns.len()) => {
                needs("printed needs one number per column")
            }
            _ if self.rows.iter().any(|row| row.given.is_empty() == row.of.is_empty()) => {
                needs("a row needs either a contender or given")
            }
            _ if self.rows.iter().any(|row| !row.given.is_empty() && row.given.len() != self.columns.len()) => {
                needs("given needs one number per column")
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
