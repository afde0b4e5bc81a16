//! Standard figures of the runs of one scenario: queue over time, its distribution, goodput and drops against mean
//! queue. A probe is an internal variable of a discipline. A contender is a compared discipline; an axis is a key whose
//! values vary between the runs.

use super::each_run::{CASES_OVER_TIME, Entry, Runs};
use super::shapes::{Axis, Figure, Layout, Points, Series};
use super::traffic::{FEWEST_SEEDS, intervals};
use crate::claims::exhibits::Rule;
use crate::figures::class_column::ClassColumn;
use crate::figures::flow_column::FlowColumn;
use crate::figures::stats::Interval;
use crate::own;
use crate::results::record::{Reference, RunRecord};

impl Runs {
    /// All figures with curves over time: queue, probes, and columns of service classes and flows.
    pub(super) fn curves(&self, prefix: &str) -> Vec<Figure> {
        let mut figures: Vec<Figure> = self.over_time.iter().map(|&case| self.queue_over_time(prefix, case)).collect();
        figures.extend(self.probe_curves(prefix));
        figures.extend(self.class_curves(prefix));
        figures
    }

    pub(super) fn probe_curves(&self, prefix: &str) -> Vec<Figure> {
        let suffixes = self.probe_suffixes();
        let cases = |suffix| self.over_time.iter().filter_map(move |&case| self.probe_over_time(prefix, suffix, case));
        suffixes.into_iter().flat_map(cases).collect()
    }

    /// The standard figures that the report shows after the figures of a paper: probes over time, and the queue
    /// distribution.
    pub(super) fn inner_figures(&self, prefix: &str) -> Vec<Figure> {
        let mut figures = self.probe_curves(prefix);
        figures.extend(self.over_time.iter().map(|&case| self.distribution(prefix, case)));
        figures
    }

    /// All standard figures, in the order of the report.
    pub(super) fn figures(&self, prefix: &str) -> Vec<Figure> {
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

    pub(super) fn queue_over_time(&self, prefix: &str, case: usize) -> Figure {
        let mut series: Vec<Series> = self
            .of_case(case)
            .map(|e| {
                let s = &e.runs[0].series;
                let (name, points) = (Some(e.runs[0].summary.contender_here()), points(&s.time_s, &s.queue_pkts));
                Series { name, points, ..Series::default() }
            })
            .collect();
        series.extend(self.of_case(case).filter_map(|e| {
            let trajectory = self.theory.get(&(case, e.contender))?.fluid.as_ref()?;
            let host = e.runs[0].summary.contender_here();
            let (name, points) = (Some(format!("fluid: {host}")), points(&trajectory.t_s, &trajectory.q_pkts));
            Some(Series { name, partner: Some(host), points, ..Series::default() })
        }));
        let is_laid_over = self.theory.values().any(|found| found.fluid.is_some());
        let model = if is_laid_over { " Dashed: fluid model with the discipline's own code." } else { "" };
        let seed = self.of_case(case).next().map_or(0, |e| e.runs[0].summary.seed);
        let rules: Vec<Rule> = self
            .of_case(case)
            .filter_map(|e| match e.runs[0].reference {
                Reference::Given(at) => {
                    Some(Rule { axis: "y".to_string(), at, slope: None, label: "target".to_string() })
                }
                Reference::SteadyMean(_) => None,
            })
            .take(1)
            .collect();
        let caption = format!("Waiting packets, without the one in transmission; seed {seed}.{model}");
        Figure {
            id: format!("{prefix}-queue-{case}"),
            title: format!("Queue against time{}", self.suffix(case)),
            caption: Some(caption),
            kind: "line",
            layout: Some(Some(Layout::SmallMultiples)),
            x: Axis::new("time", "s"),
            y: Axis::from_zero("queue", "packets"),
            series,
            rules: Some(rules),
            ..Figure::default()
        }
    }

    /// Names of the probes that the scenario requests, without the discipline: `raqm.p` and `pi.p` are in one figure,
    /// `p`.
    fn probe_suffixes(&self) -> Vec<&str> {
        let mut suffixes = Vec::new();
        let groups = self.groups();
        let is_probe = |name: &&String| {
            let of_discipline = name.split_once('.').is_some_and(|(owner, _)| own::entry(owner).is_some());
            of_discipline && ClassColumn::parse(name).is_none() && FlowColumn::parse(name, &groups).is_none()
        };
        let probes = self.series.iter().filter(is_probe);
        for (_, suffix) in probes.filter_map(|name| name.split_once('.')) {
            if !suffixes.contains(&suffix) {
                suffixes.push(suffix);
            }
        }
        suffixes
    }

    fn probe_over_time(&self, prefix: &str, suffix: &str, case: usize) -> Option<Figure> {
        let asked = |probe: &str| {
            self.series.iter().any(|s| s == probe) && probe.split_once('.').is_some_and(|(_, s)| s == suffix)
        };
        let series: Vec<Series> = self
            .of_case(case)
            .filter_map(|e| {
                let s = &e.runs[0].series;
                let (_, column) = s.probes.iter().find(|(probe, _)| asked(probe))?;
                let points = s.time_s.iter().zip(column).map(|(t, y)| (short(*t), y.map(short)));
                let (name, points) = (Some(e.runs[0].summary.contender_here()), Points::Places(points.collect()));
                Some(Series { name, points, ..Series::default() })
            })
            .collect();
        if series.is_empty() {
            return None;
        }
        Some(Figure {
            id: format!("{prefix}-probe-{suffix}-{case}"),
            title: format!("{suffix} against time{}", self.suffix(case)),
            caption: Some("Sampled internal state of the disciplines.".to_string()),
            kind: "line",
            layout: Some(Some(Layout::SmallMultiples)),
            x: Axis::new("time", "s"),
            y: Axis::new(suffix, ""),
            series,
            ..Figure::default()
        })
    }

    fn distribution(&self, prefix: &str, case: usize) -> Figure {
        let measured = |e: &Entry| {
            let (name, points) = (Some(e.runs[0].summary.contender_here()), cumulative(&e.runs));
            Series { name, points, ..Series::default() }
        };
        let mut series: Vec<Series> = self.of_case(case).map(measured).collect();
        let runs = series.len();
        for e in self.of_case(case) {
            let host = e.runs[0].summary.contender_here();
            for (word, shares) in self.theory.get(&(case, e.contender)).map_or(&[][..], |found| &found.shares) {
                let points = Points::of(shares.iter().map(|[q, sum]| (short(*q), short(*sum))));
                let (name, partner) = (Some(format!("{word}: {host}")), Some(host.clone()));
                series.push(Series { name, partner, points, ..Series::default() });
            }
        }
        let is_laid_over = series.len() > runs;
        let model = if is_laid_over { " Dashed: model." } else { "" };
        let pooled = if self.are_several() { "; all seeds" } else { "" };
        let caption = format!("Fraction of time after the warm-up at or below a queue length{pooled}.{model}");
        Figure {
            id: format!("{prefix}-cdf-{case}"),
            title: format!("Distribution of the queue{}", self.suffix(case)),
            caption: Some(caption),
            kind: "cdf",
            layout: is_laid_over.then_some(Some(Layout::SmallMultiples)),
            x: Axis::new("queue", "packets"),
            y: Axis::new("fraction of time", ""),
            series,
            ..Figure::default()
        }
    }

    fn against_queue(&self, id: &str, title: &str, label: &str, which: Which, cases: &[usize]) -> Figure {
        let mut contenders: Vec<usize> = self.entries.iter().map(|e| e.contender).collect();
        contenders.sort_unstable();
        contenders.dedup();
        let series: Vec<Series> = contenders
            .into_iter()
            .map(|contender| {
                let here = |e: &&Entry| e.contender == contender && cases.contains(&e.case);
                let mut dots: Vec<(Interval, Interval)> =
                    self.entries.iter().filter(here).map(|e| (which_x(e), which.interval(e))).collect();
                dots.sort_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
                let points = Points::of(dots.iter().map(|(x, y)| (short(x.mean), short(y.mean))));
                let bars = dots.iter().map(|(x, y)| bar(x, y)).collect();
                let name = self.entries.iter().find(here).map(|e| self.contender_name(e, cases.len() > 1));
                Series { name, points, bars: Some(bars), ..Series::default() }
            })
            .collect();
        // With two axes, points with similar queues can have very different values of the axes, so no line joins them.
        let axes = self.entries.first().map_or(0, |e| e.runs[0].summary.axes.words().count());
        let is_line = axes == 1 && cases.len() > 1;
        let points = if cases.len() > 1 { "; one mark for each point of the sweep" } else { "" };
        let caption = format!("{}{points}.", intervals(self, "intervals"));
        Figure {
            id: id.to_string(),
            title: title.to_string(),
            caption: Some(caption),
            kind: "points",
            join: (!is_line).then_some(false),
            x: Axis::from_zero("mean queue", "packets"),
            y: Axis::new(label, ""),
            series,
            ..Figure::default()
        }
    }

    /// The contender as the scenario writes it. If `several` cases are in the figure, names of axes replace their
    /// values.
    fn contender_name(&self, entry: &Entry, several: bool) -> String {
        let summary = &entry.runs[0].summary;
        if !several {
            return summary.contender().to_string();
        }
        let name = summary.contender().to_string();
        summary.axes.words().fold(name, |name, (axis, value)| with_axis(&name, axis, value))
    }
}

/// Replaces parameter values that are equal to `value`, the value of the axis `axis`: `red q=50` becomes `red q={q}`.
pub(super) fn with_axis(name: &str, axis: &str, value: &str) -> String {
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

fn bar(x: &Interval, y: &Interval) -> Option<[Option<f64>; 4]> {
    (x.n >= FEWEST_SEEDS && y.n >= FEWEST_SEEDS).then(|| [x.lo(), x.hi(), y.lo(), y.hi()].map(|end| Some(short(end))))
}

/// Rounds to six significant digits, to keep the report small.
pub(super) fn short(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

fn points(x: &[f64], y: &[f64]) -> Points {
    Points::of(x.iter().zip(y).map(|(x, y)| (short(*x), short(*y))))
}

/// Cumulative distribution of the queue over all runs, which have equal length.
fn cumulative(runs: &[RunRecord]) -> Points {
    let longest = runs.iter().map(|r| r.queue_shares.len()).max().unwrap_or(0);
    let mut sum = 0.0;
    let share = |q: usize| runs.iter().map(|r| r.queue_shares.get(q).copied().unwrap_or(0.0)).sum::<f64>();
    let places = (0..longest).map(|q| {
        sum += share(q) / runs.len() as f64;
        (q, short(sum.min(1.0)))
    });
    Points::Shares(places.collect())
}

#[cfg(test)]
mod tests {
    use super::with_axis;

    /// If the key q varies, `red q={q}` stands for `red q=20`, `red q=50` and so on.
    #[test]
    fn contender_label_shows_varying_key_instead_of_value() {
        assert_eq!(with_axis("red mean_packet=500 q=50 w=50", "q", "50"), "red mean_packet=500 q={q} w={q}");
        assert_eq!(with_axis("droptail", "q", "50"), "droptail");
    }
}
