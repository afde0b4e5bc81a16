//! Curves over time of the counters of classes.

use super::each_run::Runs;
use super::figures::short;
use super::shapes::{Axis, Figure, Layout, Points, Series};
use crate::figures::class_column::{ClassColumn, growth_per_s};

/// Counters are shown as rates over this many seconds.
const RATE_OVER_S: f64 = 1.0;

impl Runs {
    /// Curves of the classes that the scenario requests.
    pub(super) fn class_curves(&self, prefix: &str) -> Vec<Figure> {
        let asked = self.series.iter().filter_map(|name| Some((name, ClassColumn::parse(name)?)));
        asked
            .flat_map(|(name, of)| self.over_time.iter().map(move |&case| self.class_over_time(prefix, name, of, case)))
            .collect()
    }

    fn class_over_time(&self, prefix: &str, name: &str, of: ClassColumn, case: usize) -> Figure {
        let series = self
            .of_case(case)
            .map(|e| {
                let s = &e.runs[0].series;
                let column = s.probes.iter().find(|(known, _)| known == name);
                let rows =
                    column.into_iter().flat_map(|(_, column)| s.time_s.iter().copied().zip(column.iter().copied()));
                let rows: Vec<(f64, Option<f64>)> = rows.collect();
                let shown = if of.counts().is_some() { growth_per_s(&rows, RATE_OVER_S) } else { rows };
                let points = Points::Places(shown.iter().map(|(t, y)| (short(*t), y.map(short))).collect());
                Series { name: Some(e.runs[0].summary.contender_here()), points, ..Series::default() }
            })
            .collect();
        let (what, unit) = of.counts().unwrap_or(("wait", "ms"));
        let caption = match unit {
            "ms" => "Mean delay of the packets that left since the previous sample.".to_string(),
            _ => format!("Averaged over {RATE_OVER_S} s."),
        };
        Figure {
            id: format!("{prefix}-{}-{case}", name.replace('.', "-")),
            title: format!("Class {}: {what} against time{}", of.class, self.suffix(case)),
            caption: Some(caption),
            kind: "line",
            layout: Some(Some(Layout::SmallMultiples)),
            x: Axis::new("time", "s"),
            y: Axis::from_zero(what, unit),
            series,
            ..Figure::default()
        }
    }
}
