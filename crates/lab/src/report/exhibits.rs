//! Figures that a paper's `claims.toml` or a scenario declares, as data for the script in `assets/` that draws the
//! report. A figure declares what it shows; its values are found in the runs.

use super::figures::short;
use super::finds::{AtCase, Finds, Seen, Want, whats};
use super::shapes::{self, End, Layout, Points, Series};
use crate::claims::exhibits::{Axis, Figure, Kind, Line, Rule};
use crate::claims::models::Model;
use crate::figures::class_column::growth_per_s;
use crate::figures::stats::Interval;
use crate::results::record;

/// The declared figure `figure`, with the quantities and series that were found in the runs.
pub(super) fn draw(figure: &Figure, finds: &Finds) -> shapes::Figure {
    let mut series: Vec<Series> = figure.lines.iter().map(|line| drawn(figure, line, finds)).collect();
    let caption = caption(figure, &series, finds);
    series.extend(slopes(figure, &series));
    let (kind, join) = match figure.kind {
        Kind::Series => ("line", true),
        Kind::Curve => ("points", true),
        Kind::Bars => ("columns", false),
        Kind::Cdf => ("cdf", true),
        Kind::Density => ("step", true),
    };
    let panels = figure.panels.unwrap_or(figure.kind == Kind::Series) && figure.lines.len() > 1;
    let mut x = axis(&figure.x);
    if figure.kind == Kind::Bars {
        x.categories = Some(categories(figure, finds));
    }
    shapes::Figure {
        id: figure.id.clone(),
        title: format!("{}: {}", figure.id, figure.title),
        caption: Some(caption),
        claims: Some(figure.claims.clone()),
        kind,
        join: Some(join),
        layout: Some(panels.then_some(Layout::SmallMultiples)),
        x,
        y: axis(&figure.y),
        series,
        rules: Some(figure.rules.iter().filter(|rule| rule.slope.is_none()).cloned().collect()),
    }
}

/// The figure's reference lines that have a slope. They extend from the smallest to the largest x of the data.
fn slopes(figure: &Figure, series: &[Series]) -> Vec<Series> {
    let places: Vec<f64> = series.iter().flat_map(|one| one.points.places()).map(|(x, _)| x).collect();
    let first = places.iter().copied().fold(f64::INFINITY, f64::min);
    let last = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sloping = figure.rules.iter().filter_map(|rule| Some((rule, rule.slope?))).filter(|_| first < last);
    let line = |(rule, slope): (&Rule, f64)| {
        let points = Points::of([first, last].map(|x| (short(x), short(rule.at + slope * x))));
        Series { name: Some(rule.label.clone()), points, ..Series::default() }
    };
    sloping.map(line).collect()
}

fn axis(axis: &Axis) -> shapes::Axis {
    shapes::Axis {
        min: axis.from.map(End::At),
        max: axis.to,
        scale: axis.log.then_some("log"),
        ..shapes::Axis::new(&axis.label, &axis.unit)
    }
}

/// The error bars (whiskers) of a point; `None` if neither x nor y has a confidence interval, as with one seed.
fn whisker(x: &Interval, y: &Interval) -> Option<[Option<f64>; 4]> {
    let end = |half: f64, end: f64| half.is_finite().then(|| short(end));
    if !y.half.is_finite() && !x.half.is_finite() {
        return None;
    }
    Some([end(x.half, x.lo()), end(x.half, x.hi()), end(y.half, y.lo()), end(y.half, y.hi())])
}

fn drawn(figure: &Figure, line: &Line, finds: &Finds) -> Series {
    let of = |what| finds.found(&Want::of_line(figure, line, what));
    let found: Vec<Vec<AtCase>> = whats(figure, line).into_iter().map(of).collect();
    let plain = |points| Series { name: Some(line.name().to_string()), points, ..Series::default() };
    if let Some(model) = &line.model {
        return plain(worked_out(figure, model));
    }
    match figure.kind {
        Kind::Series => plain(over_time(figure, &found[0])),
        Kind::Curve => with_whiskers(line.name(), curve(figure, &found)),
        Kind::Bars => with_whiskers(line.name(), bars(figure, &found, &categories(figure, finds))),
        Kind::Cdf => plain(shares(figure, &found[0], true)),
        Kind::Density => plain(shares(figure, &found[0], false)),
    }
}

/// The points of a line that shows a model and needs no runs.
fn worked_out(figure: &Figure, model: &str) -> Points {
    let (x, y) = (figure.x.scale.unwrap_or(1.0), figure.y.scale.unwrap_or(1.0));
    let points = Model::parse(model).map_or_else(|_| Vec::new(), |model| model.points());
    Points::of(points.into_iter().map(|(a, b)| (short(a * x), short(b * y))))
}

fn with_whiskers(name: &str, mut dots: Vec<(Interval, Interval)>) -> Series {
    dots.retain(|(x, y)| x.mean.is_finite() && y.mean.is_finite());
    dots.sort_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
    let points = Points::of(dots.iter().map(|(x, y)| (short(x.mean), short(y.mean))));
    let whiskers = dots.iter().map(|(x, y)| whisker(x, y)).collect();
    Series { name: Some(name.to_string()), points, bars: Some(whiskers), ..Series::default() }
}

fn over_time(figure: &Figure, found: &[AtCase]) -> Points {
    let (x, y) = (figure.x.scale.unwrap_or(1.0), figure.y.scale.unwrap_or(1.0));
    let Some(Seen::Curve(points)) = found.first().and_then(|case| case.seen.first()) else { return Points::default() };
    let drawn = |(t, v): &(f64, Option<f64>)| (short(t * x), v.map(|v| short(v * y)));
    Points::Places(match figure.y.rate {
        Some(over) => growth_per_s(points, over).iter().map(drawn).collect(),
        None => points.iter().map(drawn).collect(),
    })
}

/// A value that is known exactly, and so has no error bar.
const fn exactly(x: f64) -> Interval {
    Interval { mean: x, half: f64::INFINITY, n: 1 }
}

fn curve(figure: &Figure, found: &[Vec<AtCase>]) -> Vec<(Interval, Interval)> {
    let (x, y) = (figure.x.scale.unwrap_or(1.0), figure.y.scale.unwrap_or(1.0));
    let along = |case: &AtCase, i: usize| match (&figure.x.axis, found.get(1)) {
        (Some(name), _) => case.axes.get(name).and_then(|value| number(value)).map(|at| exactly(at * x)),
        (None, Some(quantity)) => quantity.get(i).map(|case| case.interval(x)),
        (None, None) => None,
    };
    found[0].iter().enumerate().filter_map(|(i, case)| Some((along(case, i)?, case.interval(y)))).collect()
}

fn bars(figure: &Figure, found: &[Vec<AtCase>], categories: &[String]) -> Vec<(Interval, Interval)> {
    let y = figure.y.scale.unwrap_or(1.0);
    if let Some(name) = &figure.x.axis {
        let place = |case: &AtCase| categories.iter().position(|value| Some(value) == case.axes.get(name));
        let bar = |case: &AtCase| Some((exactly(place(case)? as f64), case.interval(y)));
        return found[0].iter().filter_map(bar).collect();
    }
    let scale = |i: usize| y * figure.group_scales.get(i).copied().unwrap_or(1.0);
    let groups = found.iter().enumerate();
    groups.filter_map(|(i, cases)| Some((exactly(i as f64), cases.first()?.interval(scale(i))))).collect()
}

/// Labels below the bars of a figure: names of the groups, or values of the key that varies.
fn categories(figure: &Figure, finds: &Finds) -> Vec<String> {
    let Some(name) = &figure.x.axis else {
        return if figure.group_labels.is_empty() { &figure.groups } else { &figure.group_labels }.clone();
    };
    let of = |line: &Line| whats(figure, line).pop().map(|what| finds.found(&Want::of_line(figure, line, what)));
    let longest = figure.lines.iter().filter_map(of).max_by_key(Vec::len).unwrap_or_default();
    longest.iter().map(|case| case.axes.get(name).cloned().unwrap_or_default()).collect()
}

/// Fraction of time at each queue length, over all runs, which have equal length. With `is_cumulative`: at or below
/// this queue length.
fn shares(figure: &Figure, found: &[AtCase], is_cumulative: bool) -> Points {
    let x = figure.x.scale.unwrap_or(1.0);
    let Some(case) = found.first() else { return Points::default() };
    let of = |seen: &&Seen| if let Seen::Shares(shares) = seen { Some(shares.clone()) } else { None };
    let runs: Vec<Vec<f64>> = case.seen.iter().filter_map(of).collect();
    let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
    let mut below = 0.0;
    let point = |q: usize| {
        let share = runs.iter().map(|run| run.get(q).copied().unwrap_or(0.0)).sum::<f64>() / runs.len() as f64;
        below = if is_cumulative { below + share } else { share };
        (short(q as f64 * x), short(below.min(1.0)))
    };
    Points::of((0..longest).map(point))
}

/// The number in a value of a key that varies, without its unit. All values of the key have the same unit.
fn number(value: &str) -> Option<f64> {
    value.trim_end_matches(|c: char| c.is_alphabetic() || c == '%').trim_end().parse().ok()
}

/// Text below the figure: from which runs its values are, which values are beyond the range of its axes, and what is
/// missing.
fn caption(figure: &Figure, series: &[Series], finds: &Finds) -> String {
    let mut parts = vec![match figure.kind {
        _ if figure.is_theory() => "Computed by the model, without simulation.".to_string(),
        Kind::Series => figure.seed.map_or("The first seed.".to_string(), |seed| format!("Seed {seed}.")),
        Kind::Curve | Kind::Bars => "Means over the seeds; whiskers are 95 % confidence intervals.".to_string(),
        Kind::Cdf | Kind::Density => "Fraction of time after the warm-up; all seeds.".to_string(),
    }];
    let point = record::point_name(figure.at_points.iter().map(|(axis, at)| (axis.as_str(), at.as_str())));
    if !point.is_empty() {
        parts.push(format!("At {point}."));
    }
    parts.extend((!figure.text.is_empty()).then(|| figure.text.clone()));
    // A time span shorter than the run is a choice of the figure's author: data outside it are not reported as beyond
    // the axis.
    let x = Some((&figure.x, "x")).filter(|_| figure.kind == Kind::Curve);
    let span = Some(&figure.x).filter(|_| figure.kind == Kind::Series);
    for (axis, name) in x.into_iter().chain([(&figure.y, "y")]) {
        let far = beyond(axis, series, name == "x", span);
        parts.extend(far.map(|far| format!("Some data exceed the {name} axis: {far}.")));
    }
    let wants = figure.lines.iter().flat_map(|line| whats(figure, line).into_iter().map(move |what| (line, what)));
    let mut lacks: Vec<String> =
        wants.filter_map(|(line, what)| finds.lack(&Want::of_line(figure, line, what))).collect();
    lacks.dedup();
    parts.extend(lacks.into_iter().map(|why| format!("Not drawn: {why}.")));
    parts.join(" ")
}

/// Text with the largest and smallest values that are outside the range of an axis, such as `up to 20`; `None` if all
/// values are inside. Values outside the time span `span` do not count.
fn beyond(axis: &Axis, series: &[Series], along_x: bool, span: Option<&Axis>) -> Option<String> {
    let points = series.iter().flat_map(|one| one.points.places());
    let (begin, end) = span.map(|x| (x.from, x.to)).unwrap_or_default();
    let is_shown = |(t, _): &(f64, Option<f64>)| begin.is_none_or(|from| *t >= from) && end.is_none_or(|to| *t <= to);
    let value = |(x, y): (f64, Option<f64>)| if along_x { Some(x) } else { y };
    let values: Vec<f64> = points.filter(is_shown).filter_map(value).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let far = [
        axis.from.filter(|from| least < *from).map(|_| format!("down to {}", short(least))),
        axis.to.filter(|to| most > *to).map(|_| format!("up to {}", short(most))),
    ];
    let far: Vec<String> = far.into_iter().flatten().collect();
    (!far.is_empty()).then(|| far.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caption_ignores_data_outside_time_span_of_figure() {
        let points = Points::Places(vec![(0.0, Some(20.0)), (5.0, Some(8.0)), (6.0, None), (9.0, Some(11.0))]);
        let series = [Series { points, ..Series::default() }];
        let y = Axis { from: Some(8.0), to: Some(10.0), ..Axis::default() };
        let span = |from, to| Axis { from, to, ..Axis::default() };
        assert_eq!(beyond(&y, &series, false, None).as_deref(), Some("up to 20"));
        assert_eq!(beyond(&y, &series, false, Some(&span(Some(1.0), None))).as_deref(), Some("up to 11"));
        assert_eq!(beyond(&y, &series, false, Some(&span(Some(1.0), Some(8.0)))), None);
    }
}
