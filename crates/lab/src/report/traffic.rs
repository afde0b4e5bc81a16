//! Classes of traffic (groups of flows) in the report: the table of their results, delay against goodput, distributions
//! of delay and of completion time, and the main metrics over the axis of a sweep. A sweep varies keys of the scenario;
//! its axes are these keys, and a case is a combination of their values. A contender is a compared discipline. A folded
//! table shows only its title until the reader opens it.

use std::collections::BTreeMap;

use forebay_sim::histogram::SHARES;

use super::each_run::{CASES_OVER_TIME, Entry, Runs};
use super::figures::{short, with_axis};
use super::shapes::{Axis, Cell, Column, Figure, HEATS, Points, Series, Table};
use crate::figures::metric::{Better, Metric};
use crate::figures::stats::Interval;
use crate::render::digits::significant;
use crate::render::verdict::{self, Case};
use crate::results::comparison::{CaseComparison, ContenderComparison};
use crate::results::record::{self, RunRecord, RunSummary};
use crate::results::summary::{Shown, Summary};
use crate::results::traffic::{ALL, TrafficSummary};
use crate::run::compare;

/// Number of points with which the ellipse around the runs of a contender is drawn.
const OUTLINE: usize = 48;
/// Largest number of points in a distribution of completion times. Of more, evenly spaced ones are drawn.
const MAX_POINTS: usize = 400;
/// A table with more rows is folded.
const MAX_ROWS: usize = 40;
/// With fewer seeds, charts have no confidence intervals, because those of two seeds are wider than the charts.
pub(super) const FEWEST_SEEDS: usize = 3;
/// Explanation of the sign ± below a table.
const PERCENTILES: &str = " ±: 95 % confidence interval, symmetric, so it can pass 0 or a capacity; that of a percentile \
                           also has the resolution of the histogram, 0.8 %.";
/// Metrics that are shown over the axes of a sweep.
const OVER_AXIS: [&str; 6] = ["goodput_bps", "wait_ms.p50", "wait_ms.p99", "fct_s.p95", "loss_ratio", "jain"];
/// The metric whose heat maps are not folded.
const FIRST_MAP: &str = "wait_ms.p99";

/// A table of means of each class of traffic and, with several contenders, a folded table of differences from the first
/// contender; with two axes also heat maps. Results without classes of traffic have no tables. `is_repeated`: whether
/// there are several seeds.
pub(super) fn tables(summary: &Summary, prefix: &str, is_repeated: bool) -> Vec<Table> {
    let name = |it: &ContenderComparison| {
        let run = summary.runs.iter().find(|run| run.label == it.label);
        run.map_or(it.label.clone(), |run| run.contender().to_string())
    };
    let cases: Vec<Case<'_>> = (summary.compare.cases.iter())
        .map(|case| Case {
            axes: case.axes.words().map(|(_, value)| value.to_string()).collect(),
            rows: case.contenders.iter().map(|it| (name(it), it)).collect(),
        })
        .collect();
    let axes = summary.compare.cases.first().map(|case| case.axes.words());
    let axes: Vec<String> = axes.into_iter().flatten().map(|(axis, _)| record::axis_name(axis)).collect();
    let classes = verdict::classes(&cases);
    if classes.is_empty() {
        return Vec::new();
    }
    let columns = verdict::columns(&summary.shown, &classes, &cases);
    let lead = |title: &str| {
        let class = (classes.len() > 1).then(|| Column::words("traffic"));
        let axes = axes.iter().map(|axis| Column::axis(axis));
        class.into_iter().chain(axes).chain([Column::words(title)]).collect::<Vec<_>>()
    };
    let row = |class: &str, case: &Case<'_>, name: &str, cells: Vec<Cell>| {
        let class = (classes.len() > 1).then(|| Cell::from(class.to_string()));
        let axes = case.axes.iter().map(|value| Cell::from(value.clone()));
        class.into_iter().chain(axes).chain([Cell::from(name.to_string())]).chain(cells).collect::<Vec<_>>()
    };
    let (mut means, mut differences) = (Vec::new(), Vec::new());
    for class in &classes {
        for case in &cases {
            for (at, (name, it)) in case.rows.iter().enumerate() {
                let cells = columns.iter().map(|metric| mean(case, at, class, metric)).collect();
                means.push(row(class, case, name, cells));
                if at > 0 {
                    let cells = columns.iter().map(|metric| difference(it, class, metric)).collect();
                    differences.push(row(class, case, name, cells));
                }
            }
        }
    }
    let mut legend: Vec<&str> = columns.iter().map(|metric| metric.about).collect();
    legend.dedup();
    let several = cases.iter().any(|case| case.rows.len() > 1);
    let best = if several { " Bold: the best, if its interval overlaps no other." } else { "" };
    let numbers = |unit: fn(&Metric) -> &'static str| {
        columns.iter().map(move |metric| Column::numbers(metric.head, unit(metric))).collect::<Vec<_>>()
    };
    let mut tables = vec![Table {
        id: format!("{prefix}-traffic"),
        title: "Each class of traffic".to_string(),
        caption: Some(format!("{}.{best}{}", legend.join("; "), if is_repeated { PERCENTILES } else { "" })),
        columns: [lead("discipline"), numbers(|metric| metric.unit)].concat(),
        folded: means.len() > MAX_ROWS,
        rows: means,
        ..Table::default()
    }];
    if several {
        tables.push(Table {
            id: format!("{prefix}-traffic-differences"),
            title: format!(
                "Differences from the first discipline{}",
                if is_repeated { ", paired by seed" } else { "" }
            ),
            caption: Some("Bold: the interval does not contain 0.".to_string()),
            columns: [lead("discipline"), numbers(|metric| metric.points)].concat(),
            rows: differences,
            folded: true,
            ..Table::default()
        });
    }
    tables.extend(heat_maps(summary, &classes, prefix));
    tables
}

/// Tables of the classes of traffic like those of [`tables`], which are for the first link whose results are recorded,
/// for another one of these links. `runs` has the results at this link.
pub(super) fn tables_of_link(runs: &Runs, shown: &Shown, prefix: &str) -> Vec<Table> {
    let cases = runs.entries.chunk_by(|a, b| a.case == b.case).map(|entries| {
        let axes = entries[0].runs[0].summary.axes.clone();
        (axes, entries.iter().map(Entry::group).collect())
    });
    let of_link = runs.entries.iter().flat_map(|entry| &entry.runs).map(|run| run.summary.clone()).collect();
    let summary = Summary::new("", of_link, compare::of_groups(cases), shown.clone());
    let mut tables = tables(&summary, prefix, runs.are_several());
    tables.iter_mut().for_each(|table| table.title += &runs.place());
    tables
}

/// Heat maps for a sweep with two axes, one for each class of traffic and each of six metrics ([`OVER_AXIS`]). A map
/// has a row for each discipline and value of the first axis, and a column for each value of the second one.
fn heat_maps(summary: &Summary, classes: &[&str], prefix: &str) -> Vec<Table> {
    let cases = &summary.compare.cases;
    let names = cases.first().map_or_else(Vec::new, |case| case.axes.words().map(|(axis, _)| axis).collect());
    let [down, across] = names.as_slice() else { return Vec::new() };
    let values = |axis: &str| {
        let mut values: Vec<&str> = Vec::new();
        for value in cases.iter().filter_map(|case| case.axes.get(axis)) {
            if !values.contains(&value.as_str()) {
                values.push(value);
            }
        }
        values
    };
    let (rows, columns) = (values(down), values(across));
    let known: BTreeMap<&str, String> = summary.runs.iter().map(|run| (run.label.as_str(), with_axes(run))).collect();
    let name = |it: &ContenderComparison| known.get(it.label.as_str()).cloned().unwrap_or_else(|| it.label.clone());
    let mut disciplines: Vec<String> = Vec::new();
    for it in cases.iter().flat_map(|case| &case.contenders) {
        if !disciplines.contains(&name(it)) {
            disciplines.push(name(it));
        }
    }
    let at = |row: &str, column: &str, discipline: usize| {
        let is_here = |case: &&CaseComparison| case.axes.words().map(|(_, value)| value).eq([row, column]);
        cases.iter().find(is_here)?.contenders.iter().find(|it| name(it) == disciplines[discipline])
    };
    let map = |(n, class): (usize, &str), metric: &'static Metric| {
        let of =
            |row: &str, column: &str, k: usize| at(row, column, k)?.classes.get(class)?.mean.get(metric.name).copied();
        let places = || (0..disciplines.len()).flat_map(|k| rows.iter().map(move |row| (k, *row)));
        let all = places().flat_map(|(k, row)| columns.iter().filter_map(move |column| of(row, column, k)));
        let shades = Shades::of(all.map(|it| it.mean));
        let cell = |it: Option<Interval>| match it {
            Some(it) => Cell::Heat { text: verdict::cell(Some(&it), metric.factor), heat: shades.at(it.mean) },
            None => Cell::from(String::new()),
        };
        let row = |(k, row): (usize, &str)| {
            let cells = columns.iter().map(|column| cell(of(row, column, k)));
            [Cell::from(disciplines[k].clone()), Cell::from(row.to_string())].into_iter().chain(cells).collect()
        };
        let name = record::axis_name(across);
        let heads =
            columns.iter().map(|column| Column { numeric: true, ..Column::words(&format!("{name} = {column}")) });
        let better = match metric.better {
            Better::High => "more is better",
            Better::Low => "less is better",
            Better::Neither => "neither is better",
        };
        shades.is_known().then(|| Table {
            id: format!("{prefix}-heat-{n}-{}", metric.name.replace('.', "-")),
            title: format!("Heat map: {} of {} in {}", metric.head, named(class), metric.unit)
                .trim_end_matches(" in ")
                .to_string(),
            caption: Some(format!("{}; {better}.", shades.words(metric.factor))),
            columns: [Column::words("discipline"), Column::axis(&record::axis_name(down))]
                .into_iter()
                .chain(heads)
                .collect(),
            rows: places().map(row).collect(),
            folded: metric.name != FIRST_MAP,
            ..Table::default()
        })
    };
    let metrics: Vec<&'static Metric> = OVER_AXIS.iter().filter_map(|name| Metric::named(name)).collect();
    let all =
        classes.iter().enumerate().flat_map(|(n, class)| metrics.iter().map(move |metric| ((n, *class), *metric)));
    let mut maps: Vec<Table> = all.filter_map(|(class, metric)| map(class, metric)).collect();
    // Maps that are not folded come first.
    maps.sort_by_key(|map| map.folded);
    maps
}

/// The name of a run's contender as the scenario writes it, with the names of axes in place of their values.
fn with_axes(run: &RunSummary) -> String {
    run.axes.words().fold(run.contender().to_string(), |name, (axis, value)| with_axis(&name, axis, value))
}

/// The range of the numbers in a heat map, which is divided into shades of colour.
struct Shades {
    lo: f64,
    hi: f64,
}

impl Shades {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let known = values.filter(|x| x.is_finite());
        let (lo, hi) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        Self { lo, hi }
    }

    fn is_known(&self) -> bool {
        self.lo <= self.hi
    }

    /// Whether the scale is logarithmic: the values are positive and differ by more than a factor of 20.
    fn is_logarithmic(&self) -> bool {
        self.lo > 0.0 && self.hi > 20.0 * self.lo
    }

    /// Text that explains the shades: ends of the range, times `factor`, and whether the scale is logarithmic.
    fn words(&self, factor: f64) -> String {
        let scale = if self.is_logarithmic() { "logarithmic" } else { "linear" };
        let [lo, hi] = [self.lo, self.hi].map(|x| significant(x * factor, 2));
        format!("Colour: {lo} to {hi}, {scale}")
    }

    fn at(&self, value: f64) -> usize {
        let place = |x: f64| if self.is_logarithmic() { x.ln() } else { x };
        let share = (place(value) - place(self.lo)) / (place(self.hi) - place(self.lo));
        if share.is_finite() { ((share * (HEATS - 1) as f64).round() as usize).min(HEATS - 1) } else { 0 }
    }
}

fn mean(case: &Case<'_>, at: usize, class: &str, metric: &Metric) -> Cell {
    let of = |it: &ContenderComparison| it.classes.get(class)?.mean.get(metric.name).copied();
    let all: Vec<Option<Interval>> = case.rows.iter().map(|(_, it)| of(it)).collect();
    let text = verdict::cell(all[at].as_ref(), metric.factor);
    if verdict::is_best(at, &all, metric.better) { Cell::Best { text, best: true } } else { Cell::from(text) }
}

fn difference(it: &ContenderComparison, class: &str, metric: &Metric) -> Cell {
    let found = it.classes.get(class).and_then(|found| found.difference.get(metric.name)).and_then(Option::as_ref);
    let text = crate::render::digits::signed(verdict::cell(found, metric.factor));
    let is_clear = found.is_some_and(|found| !found.contains(0.0));
    if is_clear { Cell::Best { text, best: true } } else { Cell::from(text) }
}

/// The classes of traffic of the runs. If there are fewer than two, only [`ALL`], which is all traffic.
fn classes(runs: &Runs) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for traffic in runs.entries.iter().flat_map(|entry| &entry.runs).flat_map(|run| &run.summary.traffic) {
        if traffic.name != ALL && !found.contains(&traffic.name.as_str()) {
            found.push(&traffic.name);
        }
    }
    if found.len() < 2 { vec![ALL] } else { found }
}

fn of_class<'a>(run: &'a RunRecord, class: &str) -> Option<&'a TrafficSummary> {
    run.summary.traffic.iter().find(|traffic| traffic.name == class)
}

/// Name of a class of traffic in a title.
fn named(class: &str) -> &str {
    if class == ALL { "all traffic" } else { class }
}

/// End of a title that names a class of traffic, such as ` of web`; empty for all traffic.
fn place(class: &str) -> String {
    if class == ALL { String::new() } else { format!(" of {class}") }
}

/// The figures of a link: `runs` has the results of all runs at this link.
pub(super) fn figures(runs: &Runs, prefix: &str) -> Vec<Figure> {
    if runs.entries.iter().all(|entry| entry.runs.iter().all(|run| run.summary.traffic.is_empty())) {
        return Vec::new();
    }
    let mut figures = over_axes(runs, prefix);
    if runs.cases().len() > CASES_OVER_TIME {
        return figures;
    }
    for &case in &runs.over_time {
        for (n, class) in classes(runs).iter().enumerate() {
            let id = |kind: &str| format!("{prefix}-{kind}-{case}-{n}");
            figures.extend(delay_goodput(runs, case, class, id("tradeoff")));
            figures.extend(waits(runs, case, class, id("wait")));
            figures.extend(completions(runs, case, class, id("fct")));
            figures.extend(runs.traffic_curves(prefix, class, &place(class), case));
        }
    }
    figures
}

/// Queueing delay and throughput of all traffic against time, the distribution of its queueing delay, and the completion
/// times of each class of traffic, of a case.
pub(super) fn curves(runs: &Runs, prefix: &str, case: usize) -> Vec<Figure> {
    let mut figures = runs.traffic_curves(prefix, ALL, "", case);
    figures.extend(waits(runs, case, ALL, format!("{prefix}-wait-{case}")));
    let classes = classes(runs).into_iter().enumerate();
    figures.extend(classes.filter_map(|(n, class)| completions(runs, case, class, format!("{prefix}-fct-{case}-{n}"))));
    figures
}

/// Queueing delay against goodput of a class of traffic: a point for each run, and for each contender the 1-sigma
/// contour of a Gaussian fitted to its runs.
fn delay_goodput(runs: &Runs, case: usize, class: &str, id: String) -> Option<Figure> {
    let series = |entry: &Entry| {
        let place = |run: &RunRecord| {
            let traffic = of_class(run, class)?;
            Some((traffic.wait_ms?.mean, traffic.goodput_bps * 1e-6))
        };
        let mut places: Vec<(f64, f64)> = entry.runs.iter().filter_map(place).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series {
            name: Some(entry.runs[0].summary.contender_here()),
            points: Points::of(places.iter().map(|(x, y)| (short(*x), short(*y)))),
            outline: contour(&places),
            ..Series::default()
        }
    };
    let series: Vec<Series> =
        runs.of_case(case).map(series).filter(|series| !series.points.places().is_empty()).collect();
    let has_ellipses = series.iter().any(|series| series.outline.is_some());
    let ellipses = if has_ellipses { "; ellipses: 1-sigma contours (RFC 7928 section 2.7)" } else { "" };
    (series.len() > 1).then(|| Figure {
        id,
        title: format!("Goodput against queueing delay{}{}", place(class), runs.suffix(case)),
        caption: Some(format!("One point for each seed{ellipses}. Up and left is better.")),
        kind: "points",
        join: Some(false),
        x: Axis::from_zero("mean queueing delay", "ms"),
        y: Axis::new("goodput", "Mb/s"),
        series,
        ..Figure::default()
    })
}

/// The 1-sigma contour of the Gaussian of maximum likelihood for these points, as points of an ellipse; `None` for
/// fewer than three points.
fn contour(places: &[(f64, f64)]) -> Option<Vec<[f64; 2]>> {
    let n = places.len() as f64;
    if places.len() < 3 {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| places.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let covariance = |of: &dyn Fn(&(f64, f64)) -> f64| places.iter().map(of).sum::<f64>() / n;
    let (sxx, syy) = (covariance(&|p| (p.0 - mx).powi(2)), covariance(&|p| (p.1 - my).powi(2)));
    let sxy = covariance(&|p| (p.0 - mx) * (p.1 - my));
    // Cholesky factor: maps the unit circle to the contour.
    let a = sxx.sqrt();
    let b = if a > 0.0 { sxy / a } else { 0.0 };
    let c = (syy - b * b).max(0.0).sqrt();
    let at = |k: usize| {
        let angle = core::f64::consts::TAU * k as f64 / OUTLINE as f64;
        let (u, v) = (angle.cos(), angle.sin());
        [short(mx + a * u), short(my + b * u + c * v)]
    };
    Some((0..=OUTLINE).map(at).collect())
}

/// The distribution of the queueing delay of a class of traffic: each quantile is the mean of this quantile over the
/// seeds.
fn waits(runs: &Runs, case: usize, class: &str, id: String) -> Option<Figure> {
    let series = |entry: &Entry| {
        let of_run = |run: &RunRecord| {
            run.waits.iter().find(|wait| wait.traffic == class).map(|wait| wait.ms.clone()).filter(|ms| !ms.is_empty())
        };
        let all: Vec<Vec<f64>> = entry.runs.iter().filter_map(of_run).collect();
        let mean = |at: usize| all.iter().map(|ms| ms.get(at).copied().unwrap_or(0.0)).sum::<f64>() / all.len() as f64;
        let points = SHARES.iter().enumerate().filter(|_| !all.is_empty()).map(|(at, share)| (short(mean(at)), *share));
        Series { name: Some(entry.runs[0].summary.contender_here()), points: Points::of(points), ..Series::default() }
    };
    let series: Vec<Series> =
        runs.of_case(case).map(series).filter(|series| !series.points.places().is_empty()).collect();
    let seeds = if runs.are_several() { "; quantiles are means over the seeds" } else { "" };
    (!series.is_empty()).then(|| Figure {
        id,
        title: format!("Queueing delay{}{}", place(class), runs.suffix(case)),
        caption: Some(format!("Fraction of packets that wait at most so long at the link, after the warm-up{seeds}.")),
        kind: "line",
        x: Axis::from_zero("queueing delay", "ms"),
        y: Axis { max: Some(1.0), ..Axis::from_zero("fraction of packets", "") },
        series,
        ..Figure::default()
    })
}

/// The distribution of completion times of a class of traffic, over all seeds together.
fn completions(runs: &Runs, case: usize, class: &str, id: String) -> Option<Figure> {
    let series = |entry: &Entry| {
        let of_run = |run: &'_ RunRecord| {
            let is_of = |flow: u32| class == ALL || run.flow_class(flow) == Some(class);
            run.completions.iter().filter(|file| is_of(file.flow)).map(|file| file.fct_s).collect::<Vec<_>>()
        };
        let mut all: Vec<f64> = entry.runs.iter().flat_map(of_run).collect();
        all.sort_by(f64::total_cmp);
        let n = all.len();
        let kept = (0..n).step_by(n.div_ceil(MAX_POINTS).max(1)).chain(n.checked_sub(1));
        let points = kept.map(|at| (short(all[at]), short((at + 1) as f64 / n as f64)));
        Series { name: Some(entry.runs[0].summary.contender_here()), points: Points::of(points), ..Series::default() }
    };
    let series: Vec<Series> =
        runs.of_case(case).map(series).filter(|series| !series.points.places().is_empty()).collect();
    (!series.is_empty()).then(|| Figure {
        id,
        title: format!("Completion time{}{}", place(class), runs.suffix(case)),
        caption: Some("Fraction of files or pages that are complete within a time; all seeds.".to_string()),
        kind: "line",
        x: Axis { scale: Some("log"), ..Axis::new("completion time", "s") },
        y: Axis { max: Some(1.0), ..Axis::from_zero("fraction of files or pages", "") },
        series,
        ..Figure::default()
    })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Caption of a chart of means. It says that confidence intervals are drawn as `form`, or that there are too few seeds
/// for intervals.
pub(super) fn intervals(runs: &Runs, form: &str) -> String {
    match runs.entries.iter().map(|entry| entry.runs.len()).max().unwrap_or(0) {
        0 | 1 => "One seed".to_string(),
        n if n < FEWEST_SEEDS => format!("Means over {n} seeds, too few for intervals"),
        n => format!("Means over {n} seeds with 95 % confidence {form}"),
    }
}

/// Figures of six metrics ([`OVER_AXIS`]) over the axis of a sweep; none unless the sweep has exactly one axis and all
/// values of this axis are numbers.
fn over_axes(runs: &Runs, prefix: &str) -> Vec<Figure> {
    let Some(first) = runs.entries.first() else { return Vec::new() };
    let axes: Vec<&str> = first.runs[0].summary.axes.words().map(|(axis, _)| axis).collect();
    let [axis] = axes.as_slice() else { return Vec::new() };
    let value = |entry: &Entry| entry.runs[0].summary.axes.words().next().and_then(|(_, value)| number(value));
    if runs.entries.iter().any(|entry| value(entry).is_none()) || runs.cases().len() < 2 {
        return Vec::new();
    }
    let mut contenders: Vec<usize> = runs.entries.iter().map(|entry| entry.contender).collect();
    contenders.sort_unstable();
    contenders.dedup();
    let metrics = OVER_AXIS.iter().filter_map(|name| Metric::named(name));
    let figure = |(n, class): (usize, &str), metric: &'static Metric| {
        let series = |contender: &usize| {
            let entries = runs.entries.iter().filter(|entry| entry.contender == *contender);
            let mut dots: Vec<(f64, Interval)> = entries
                .filter_map(|entry| {
                    let values = entry.runs.iter().filter_map(|run| of_class(run, class)?.metric(metric.name));
                    let values: Vec<f64> = values.map(|value| value * metric.factor).collect();
                    (!values.is_empty()).then(|| (value(entry).unwrap_or_default(), metric.interval(&values)))
                })
                .collect();
            dots.sort_by(|a, b| a.0.total_cmp(&b.0));
            // A confidence interval can exceed the range of the metric; the drawn band is cut off at the ends of the
            // range.
            let most = match (metric.unit, metric.name) {
                ("%", _) => 100.0,
                (_, "jain") => 1.0,
                _ => f64::INFINITY,
            };
            let end = |of: fn(&Interval) -> f64, it: &Interval| {
                if it.n >= FEWEST_SEEDS { short(of(it).clamp(0.0, most)) } else { it.mean }
            };
            Series {
                name: runs
                    .entries
                    .iter()
                    .find(|entry| entry.contender == *contender)
                    .map(|entry| entry.runs[0].summary.contender().to_string()),
                points: Points::of(dots.iter().map(|(x, it)| (*x, short(it.mean)))),
                low: Some(dots.iter().map(|(_, it)| end(Interval::lo, it)).collect()),
                high: Some(dots.iter().map(|(_, it)| end(Interval::hi, it)).collect()),
                ..Series::default()
            }
        };
        let series: Vec<Series> =
            contenders.iter().map(series).filter(|series| !series.points.places().is_empty()).collect();
        let better = match metric.better {
            Better::High => "; more is better",
            Better::Low => "; less is better",
            Better::Neither => "",
        };
        (!series.is_empty()).then(|| Figure {
            id: format!("{prefix}-axis-{n}-{}", metric.name.replace('.', "-")),
            title: capitalised(&format!("{}{} against {}", metric.head, place(class), record::axis_name(axis))),
            caption: Some(format!("{}{better}.", intervals(runs, "bands"))),
            kind: "band",
            x: Axis::new(&record::axis_name(axis), ""),
            y: Axis::new(metric.head, metric.unit),
            series,
            ..Figure::default()
        })
    };
    let metrics: Vec<&'static Metric> = metrics.collect();
    let classes = classes(runs);
    let all =
        classes.iter().enumerate().flat_map(|(n, class)| metrics.iter().map(move |metric| ((n, *class), *metric)));
    all.filter_map(|(class, metric)| figure(class, metric)).collect()
}

/// The number in a value of a key that varies, in the basic unit: `10mbit` is 10e6.
fn number(text: &str) -> Option<f64> {
    let at = text.find(|letter: char| !(letter.is_ascii_digit() || ".-+".contains(letter))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let factor = match unit {
        "" | "p" | "b" | "s" | "bit" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "kbit" | "kb" => 1e3,
        "mbit" | "mb" => 1e6,
        "gbit" | "gb" => 1e9,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contour in the figure of delay against goodput is an ellipse around the points of a contender, one for each
    /// seed.
    #[test]
    fn contour_extends_to_standard_deviation_of_its_points() {
        let outline = contour(&[(1.0, 10.0), (3.0, 10.0), (2.0, 12.0), (2.0, 8.0)]).unwrap();
        let most = |at: usize| outline.iter().map(|p| p[at]).fold(f64::MIN, f64::max);
        assert!((most(0) - 2.0 - 0.5_f64.sqrt()).abs() < 1e-3, "{outline:?}");
        assert!((most(1) - 10.0 - 2.0_f64.sqrt()).abs() < 1e-3, "{outline:?}");
        assert_eq!(contour(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }

    #[test]
    fn heat_map_shades_are_linear_or_logarithmic() {
        let shades = |values: [f64; 2]| Shades::of(values.into_iter());
        assert_eq!([0.0, 5.0, 10.0].map(|x| shades([0.0, 10.0]).at(x)), [0, 3, 6]);
        assert_eq!([1.0, 10.0, 100.0].map(|x| shades([1.0, 100.0]).at(x)), [0, 3, 6], "a factor of 100");
        assert_eq!(shades([2.0, 2.0]).at(2.0), 0, "all values are equal");
        assert!(!Shades::of(core::iter::empty()).is_known());
    }

    #[test]
    fn axis_values_with_units_are_read_as_numbers() {
        assert_eq!(["5", "10mbit", "20ms", "1.5gbit"].map(number), [Some(5.0), Some(1e7), Some(0.02), Some(1.5e9)]);
        assert_eq!(number("droptail"), None);
    }
}
