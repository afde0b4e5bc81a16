//! Curves over time of what happened to classes.

use serde_json::{Value, json};

use super::figures::short;
use super::runs::Runs;
use crate::class_column::{ClassColumn, growth_per_s};

/// Counters are shown as rates over so many seconds.
const RATE_OVER_S: f64 = 1.0;

impl Runs {
    /// What happened to classes, where the scenario asks for it.
    pub(super) fn class_curves(&self, prefix: &str) -> Vec<Value> {
        let asked = self.series.iter().filter_map(|name| Some((name, ClassColumn::parse(name)?)));
        asked
            .flat_map(|(name, of)| self.over_time.iter().map(move |&case| self.class_over_time(prefix, name, of, case)))
            .collect()
    }

    fn class_over_time(&self, prefix: &str, name: &str, of: ClassColumn, case: usize) -> Value {
        let series: Vec<Value> = self
            .of_case(case)
            .map(|e| {
                let s = &e.runs[0].series;
                let column = s.probes.iter().find(|(known, _)| known == name);
                let rows =
                    column.into_iter().flat_map(|(_, column)| s.time_s.iter().copied().zip(column.iter().copied()));
                let rows: Vec<(f64, Option<f64>)> = rows.collect();
                let shown = if of.counts().is_some() { growth_per_s(&rows, RATE_OVER_S) } else { rows };
                let points: Vec<Value> = shown.iter().map(|(t, y)| json!([short(*t), y.map(short)])).collect();
                json!({ "name": e.runs[0].summary.contender_here(), "points": points })
            })
            .collect();
        let (what, unit) = of.counts().unwrap_or(("wait", "ms"));
        json!({
            "id": format!("{prefix}-{}-{case}", name.replace('.', "-")),
            "title": format!("Class {}: {what} against time{}", of.class, self.suffix(case)),
            "caption": match unit {
                "ms" => "Mean wait of the packets that left since the row before.".to_string(),
                _ => format!("Over {RATE_OVER_S} s each."),
            },
            "kind": "line",
            "layout": "small-multiples",
            "x": { "label": "time", "unit": "s" },
            "y": { "label": what, "unit": unit, "min": 0 },
            "series": series,
        })
    }
}
