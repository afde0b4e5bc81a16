//! Figures of one scenario: queue against time, its distribution, goodput and drops against mean queue.

use serde_json::{Value, json};

use super::runs::{CASES_OVER_TIME, Entry, Runs};
use crate::class_column::ClassColumn;
use crate::record::{Reference, RunRecord};
use crate::stats::Interval;

impl Runs {
    /// The curves over time.
    pub(super) fn curves(&self, prefix: &str) -> Vec<Value> {
        let mut figures: Vec<Value> = self.over_time.iter().map(|&case| self.queue_over_time(prefix, case)).collect();
        figures.extend(self.probe_curves(prefix));
        figures.extend(self.class_curves(prefix));
        figures
    }

    fn probe_curves(&self, prefix: &str) -> Vec<Value> {
        let suffixes = self.probe_suffixes();
        let cases = |suffix| self.over_time.iter().filter_map(move |&case| self.probe_over_time(prefix, suffix, case));
        suffixes.into_iter().flat_map(cases).collect()
    }

    /// What goes with the figures of a paper: the disciplines from within, and the distribution of the queue.
    pub(super) fn inner_figures(&self, prefix: &str) -> Vec<Value> {
        let mut figures = self.probe_curves(prefix);
        figures.extend(self.over_time.iter().map(|&case| self.distribution(prefix, case)));
        figures
    }

    /// Every figure, in the order of the page.
    pub(super) fn figures(&self, prefix: &str) -> Vec<Value> {
        let cases = self.cases();
        let mut figures = self.curves(prefix);
        for &case in &self.over_time {
            figures.push(self.distribution(prefix, case));
        }
        let ways = [
            ("goodput", "Goodput against mean queue", "goodput / capacity", Which::Goodput),
            ("drops", "Drop ratio against mean queue", "dropped / offered", Which::Drops),
        ];
        for (id, title, label, which) in ways {
            if cases.len() > CASES_OVER_TIME {
                let title = format!("{title}{}", self.place());
                figures.push(self.against_queue(&format!("{prefix}-{id}"), &title, label, which, &cases));
            } else {
                figures.extend(cases.iter().map(|&case| {
                    let title = format!("{title}{}", self.suffix(case));
                    self.against_queue(&format!("{prefix}-{id}-{case}"), &title, label, which, &[case])
                }));
            }
        }
        figures
    }

    fn queue_over_time(&self, prefix: &str, case: usize) -> Value {
        let mut series: Vec<Value> = self
            .of_case(case)
            .map(|e| {
                let s = &e.runs[0].series;
                json!({ "name": e.runs[0].summary.contender_here(), "points": points(&s.time_s, &s.queue_pkts) })
            })
            .collect();
        series.extend(self.of_case(case).filter_map(|e| {
            let course = self.theory.get(&(case, e.contender))?.fluid.as_ref()?;
            let host = e.runs[0].summary.contender_here();
            let name = format!("fluid: {host}");
            Some(json!({ "name": name, "beside": host, "points": points(&course.t_s, &course.q_pkts) }))
        }));
        let is_laid_over = self.theory.values().any(|found| found.fluid.is_some());
        let model = if is_laid_over { " Dashes: the same as a fluid, by the discipline's own code." } else { "" };
        let seed = self.of_case(case).next().map_or(0, |e| e.runs[0].summary.seed);
        let rules: Vec<Value> = self
            .of_case(case)
            .filter_map(|e| match e.runs[0].reference {
                Reference::Given(q) => Some(json!({ "axis": "y", "at": q, "label": "target" })),
                Reference::SteadyMean(_) => None,
            })
            .take(1)
            .collect();
        json!({
            "id": format!("{prefix}-queue-{case}"),
            "title": format!("Queue against time{}", self.suffix(case)),
            "caption": format!("Waiting packets, the one in transmission not counted; seed {seed}.{model}"),
            "kind": "line",
            "layout": "small-multiples",
            "x": { "label": "time", "unit": "s" },
            "y": { "label": "queue", "unit": "packets", "min": 0 },
            "series": series,
            "rules": rules,
        })
    }

    /// The last words of the probes asked for: `raqm.p` and `pi.p` share a figure.
    fn probe_suffixes(&self) -> Vec<&str> {
        let mut suffixes = Vec::new();
        let probes = self.series.iter().filter(|name| ClassColumn::parse(name).is_none());
        for (_, suffix) in probes.filter_map(|name| name.split_once('.')) {
            if !suffixes.contains(&suffix) {
                suffixes.push(suffix);
            }
        }
        suffixes
    }

    fn probe_over_time(&self, prefix: &str, suffix: &str, case: usize) -> Option<Value> {
        let asked = |probe: &str| {
            self.series.iter().any(|s| s == probe) && probe.split_once('.').is_some_and(|(_, s)| s == suffix)
        };
        let series: Vec<Value> = self
            .of_case(case)
            .filter_map(|e| {
                let s = &e.runs[0].series;
                let (_, column) = s.probes.iter().find(|(probe, _)| asked(probe))?;
                let points: Vec<Value> =
                    s.time_s.iter().zip(column).map(|(t, y)| json!([short(*t), y.map(short)])).collect();
                Some(json!({ "name": e.runs[0].summary.contender_here(), "points": points }))
            })
            .collect();
        if series.is_empty() {
            return None;
        }
        Some(json!({
            "id": format!("{prefix}-probe-{suffix}-{case}"),
            "title": format!("{suffix} against time{}", self.suffix(case)),
            "caption": "Internal state of the disciplines, sampled.",
            "kind": "line",
            "layout": "small-multiples",
            "x": { "label": "time", "unit": "s" },
            "y": { "label": suffix, "unit": "" },
            "series": series,
        }))
    }

    fn distribution(&self, prefix: &str, case: usize) -> Value {
        let mut series: Vec<Value> = self
            .of_case(case)
            .map(|e| json!({ "name": e.runs[0].summary.contender_here(), "points": cumulative(&e.runs) }))
            .collect();
        let runs = series.len();
        for e in self.of_case(case) {
            let host = e.runs[0].summary.contender_here();
            for (word, shares) in self.theory.get(&(case, e.contender)).map_or(&[][..], |found| &found.shares) {
                let places: Vec<Value> = shares.iter().map(|[q, sum]| json!([short(*q), short(*sum)])).collect();
                series.push(json!({ "name": format!("{word}: {host}"), "beside": host, "points": places }));
            }
        }
        let is_laid_over = series.len() > runs;
        let model = if is_laid_over { " Dashes: the model's." } else { "" };
        let pooled = if self.are_several() { "; all seeds" } else { "" };
        let mut figure = json!({
            "id": format!("{prefix}-cdf-{case}"),
            "title": format!("Distribution of the queue{}", self.suffix(case)),
            "caption": format!("Share of the time, after the warm-up, at or below a queue length{pooled}.{model}"),
            "kind": "cdf",
            "x": { "label": "queue", "unit": "packets" },
            "y": { "label": "share of the time", "unit": "" },
            "series": series,
        });
        if is_laid_over {
            figure["layout"] = json!("small-multiples");
        }
        figure
    }

    fn against_queue(&self, id: &str, title: &str, label: &str, which: Which, cases: &[usize]) -> Value {
        let mut contenders: Vec<usize> = self.entries.iter().map(|e| e.contender).collect();
        contenders.sort_unstable();
        contenders.dedup();
        let series: Vec<Value> = contenders
            .into_iter()
            .map(|contender| {
                let here = |e: &&Entry| e.contender == contender && cases.contains(&e.case);
                let mut dots: Vec<(Interval, Interval)> =
                    self.entries.iter().filter(here).map(|e| (which_x(e), which.interval(e))).collect();
                dots.sort_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
                let points: Vec<Value> = dots.iter().map(|(x, y)| json!([short(x.mean), short(y.mean)])).collect();
                let bars: Vec<Value> = dots.iter().map(|(x, y)| bar(x, y)).collect();
                let name = self.entries.iter().find(here).map(|e| self.contender_name(e, cases.len() > 1));
                json!({ "name": name, "points": points, "bars": bars })
            })
            .collect();
        json!({
            "id": id,
            "title": title,
            "caption": self.are_several().then_some("Means over the seeds with 95 % confidence intervals."),
            "kind": "points",
            "x": { "label": "mean queue", "unit": "packets", "min": 0 },
            "y": { "label": label, "unit": "" },
            "series": series,
        })
    }

    /// The contender as the scenario writes it: axis values give way to their names.
    fn contender_name(&self, entry: &Entry, several: bool) -> String {
        let summary = &entry.runs[0].summary;
        if !several {
            return summary.contender().to_string();
        }
        summary.axes.iter().fold(summary.contender().to_string(), |name, (axis, value)| {
            with_axis(&name, axis, value.as_str().unwrap_or("?"))
        })
    }
}

/// `name` with the axis in place of its value, where that is the whole of a parameter.
fn with_axis(name: &str, axis: &str, value: &str) -> String {
    let word = |word: &str| match word.split_once('=') {
        Some((key, found)) if found == value => format!("{key}={{{axis}}}"),
        _ => word.to_string(),
    };
    name.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy)]
enum Which {
    Goodput,
    Drops,
}

impl Which {
    fn interval(self, entry: &Entry) -> Interval {
        let of = |f: fn(&RunRecord) -> f64| Interval::of(&entry.runs.iter().map(f).collect::<Vec<_>>());
        match self {
            Self::Goodput => of(|r| r.summary.goodput_ratio),
            Self::Drops => of(|r| r.summary.loss_ratio),
        }
    }
}

fn which_x(entry: &Entry) -> Interval {
    Interval::of(&entry.runs.iter().map(|r| r.summary.queue_pkts.mean).collect::<Vec<_>>())
}

fn bar(x: &Interval, y: &Interval) -> Value {
    if !(x.half.is_finite() && y.half.is_finite()) {
        return Value::Null;
    }
    json!([short(x.lo()), short(x.hi()), short(y.lo()), short(y.hi())])
}

/// Six significant digits: enough for a chart, half the bytes.
pub(super) fn short(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

fn points(x: &[f64], y: &[f64]) -> Vec<Value> {
    x.iter().zip(y).map(|(x, y)| json!([short(*x), short(*y)])).collect()
}

/// Cumulative distribution of the queue, pooled over runs of equal length.
fn cumulative(runs: &[RunRecord]) -> Vec<Value> {
    let longest = runs.iter().map(|r| r.queue_shares.len()).max().unwrap_or(0);
    let mut sum = 0.0;
    let share = |q: usize| runs.iter().map(|r| r.queue_shares.get(q).copied().unwrap_or(0.0)).sum::<f64>();
    (0..longest)
        .map(|q| {
            sum += share(q) / runs.len() as f64;
            json!([q, short(sum.min(1.0))])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::with_axis;

    #[test]
    fn an_axis_replaces_whole_values_only() {
        assert_eq!(with_axis("red mean_packet=500 q=50 w=50", "q", "50"), "red mean_packet=500 q={q} w={q}");
        assert_eq!(with_axis("droptail", "q", "50"), "droptail");
    }
}
