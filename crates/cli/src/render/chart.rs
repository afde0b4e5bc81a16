//! Line charts as SVG: trajectories and distributions for `forebay theory`.

use forebay_lab::render::digits::significant;
use forebay_lab::render::svg::{Svg, Tenth};

/// A chart with one horizontal and one vertical axis.
pub(crate) struct Chart {
    /// Axis labels, with units.
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    /// Whether the y axis is logarithmic; values of 0 or less are then left out.
    pub(crate) log: bool,
    pub(crate) lines: Vec<Line>,
}

/// A line of a chart.
pub(crate) struct Line {
    pub(crate) label: String,
    /// Values `[x, y]`.
    pub(crate) points: Vec<[f64; 2]>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 16.0;
/// Space below a chart for its axis labels, px.
const BELOW: f64 = 48.0;
/// Height of a legend line, px.
const ROW: f64 = 18.0;
/// Decades shown below the largest value on a logarithmic axis.
const DECADES: f64 = 9.0;
const COLOURS: [&str; 8] = ["#3b6fb6", "#d9822b", "#3f8f5b", "#b5463f", "#7a5fa8", "#8a6d4d", "#c46a9f", "#5a5a5a"];

/// Maps a range of values to a range of pixels.
#[derive(Clone, Copy)]
struct Scale {
    from: f64,
    to: f64,
    /// Pixel positions of `from` and `to`.
    places: [f64; 2],
    log: bool,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, places: [f64; 2], log: bool) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (from, to) = match log {
            true if high.is_finite() => (low.max(high - DECADES).floor(), high.ceil().max(low.floor() + 1.0)),
            true => (-1.0, 0.0),
            // Queue lengths and probabilities start at 0.
            false => (low.min(0.0), high),
        };
        let (from, to) = if to > from { (from, to) } else { (0.0, if to > 0.0 { to } else { 1.0 }) };
        Self { from, to, places, log }
    }

    fn place(self, value: f64) -> f64 {
        let part = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.places[0] + part * (self.places[1] - self.places[0])
    }

    /// Round numbers along the axis, at which it has a grid line and a label.
    fn ticks(self) -> Vec<(f64, String)> {
        let rough = (self.to - self.from) / 6.0;
        let power = 10.0_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough).max(if self.log { 1.0 } else { 0.0 });
        let first = (self.from / step - 1e-9).ceil() as i64;
        let short = |text: &str| match text.contains('.') && !text.contains('e') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text.to_string(),
        };
        let words = |value: f64| match (self.log, value == 0.0) {
            (true, _) => format!("1e{value}"),
            (false, true) => "0".to_string(),
            (false, false) => short(&significant(value, 3)),
        };
        (first..)
            .map(|i| i as f64 * step)
            .take_while(|value| *value <= self.to + 1e-9 * step)
            .map(|value| (value, words(value)))
            .collect()
    }
}

/// The charts as one SVG picture: one below the other, under a common legend.
pub(crate) fn picture(charts: &[Chart]) -> String {
    let labels: Vec<&str> = charts.first().map_or(Vec::new(), |c| c.lines.iter().map(|l| l.label.as_str()).collect());
    let legend = ROW * labels.len() as f64;
    let (width, height) = (WIDTH + LEFT + 24.0, TOP + legend + (HEIGHT + BELOW) * charts.len() as f64);
    let mut out = Svg::new(width, height, &[]);
    for (i, label) in labels.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        let colour = COLOURS[i % COLOURS.len()];
        out.shape("rect", &[("x", &LEFT), ("y", &y), ("width", &"16"), ("height", &"3"), ("fill", &colour)]);
        out.text(&[("x", &(LEFT + 24.0)), ("y", &(y + 6.0))], label).end_line();
    }
    for (i, chart) in charts.iter().enumerate() {
        draw(&mut out, chart, TOP + legend + (HEIGHT + BELOW) * i as f64);
    }
    out.finish()
}

/// Draws one chart with its upper edge at `top`.
fn draw(out: &mut Svg, chart: &Chart, top: f64) {
    let height = |y: f64| if chart.log { y.log10() } else { y };
    let shown = |point: &&[f64; 2]| !chart.log || point[1] > 0.0;
    let points = || chart.lines.iter().flat_map(|line| line.points.iter().filter(shown));
    let across = Scale::of(points().map(|p| p[0]), [LEFT, LEFT + WIDTH], false);
    let up = Scale::of(points().map(|p| height(p[1])), [top + HEIGHT, top], chart.log);
    for (value, words) in across.ticks() {
        let x = Tenth(across.place(value));
        out.path(&format!("M{x} {top}V{}", top + HEIGHT), &[("stroke", &"#e4e4e4")]);
        out.label(&x, &(top + HEIGHT + 15.0), "middle", &words).end_line();
    }
    for (value, words) in up.ticks() {
        let y = up.place(value);
        out.path(&format!("M{LEFT} {y:.1}H{}", LEFT + WIDTH), &[("stroke", &"#e4e4e4")]);
        out.label(&(LEFT - 6.0), &Tenth(y + 4.0), "end", &words).end_line();
    }
    for (i, line) in chart.lines.iter().enumerate() {
        let place = |p: &[f64; 2]| format!("{:.1},{:.1}", across.place(p[0]), up.place(height(p[1])));
        let places: Vec<String> =
            line.points.iter().filter(shown).filter(|p| height(p[1]) >= up.from).map(place).collect();
        let colour = COLOURS[i % COLOURS.len()];
        let look: [(&str, &dyn std::fmt::Display); 4] =
            [("points", &places.join(" ")), ("fill", &"none"), ("stroke", &colour), ("stroke-width", &"1.3")];
        out.shape("polyline", &look).end_line();
    }
    out.label(&(LEFT + 0.5 * WIDTH), &(top + HEIGHT + 32.0), "middle", &chart.x).end_line();
    let turned = format!("translate(14 {}) rotate(-90)", top + 0.5 * HEIGHT);
    out.text(&[("transform", &turned), ("text-anchor", &"middle")], &chart.y).end_line();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(low: f64, high: f64, log: bool) -> Vec<String> {
        Scale::of([low, high].into_iter(), [0.0, 1.0], log).ticks().into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn axis_ticks_have_round_values() {
        assert_eq!(ticks(3.0, 100.0, false), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(ticks(-0.02, 0.1, false), ["-0.02", "0", "0.02", "0.04", "0.06", "0.08", "0.1"]);
        assert_eq!(ticks(-30.0, -0.5, true), ["1e-10", "1e-8", "1e-6", "1e-4", "1e-2", "1e0"]);
        assert_eq!(ticks(0.0, 0.0, false).first().map(String::as_str), Some("0"));
    }

    #[test]
    fn log_axis_omits_values_of_zero() {
        let line = Line { label: "a <b> & c".to_string(), points: vec![[0.0, 0.0], [1.0, 0.5], [2.0, 0.25]] };
        let drawn = picture(&[Chart { x: "packets", y: "share", log: true, lines: vec![line] }]);
        let points = drawn.lines().find(|line| line.starts_with("<polyline")).unwrap();
        assert_eq!(points.matches(',').count(), 2, "{points}");
        assert!(drawn.contains("a &lt;b> &amp; c") && !drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
