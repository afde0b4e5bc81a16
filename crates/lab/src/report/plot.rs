//! Draws a figure of the report as a picture for a paper: by default one column wide, with letters of 8 pt, and with
//! lines that can be told apart in black and white.

use super::shapes::{Axis, End, Figure, Points, Series};
use crate::render::svg::{Attribute, Svg, Tenth};

/// Colours of the report on a light background.
const COLOURS: [&str; 7] = ["#0d47c4", "#ce400a", "#1b8669", "#6c0e50", "#ba8d40", "#2b96b5", "#55595d"];
/// Dashes of the lines in the order of the colours (SVG's `stroke-dasharray`), so that lines differ in black and white
/// too.
const DASHES: [&str; 7] = ["", "5 2", "1.5 1.5", "7 1.5 1.5 1.5", "4 1.5 1 1.5 1 1.5", "10 2", "1 2"];
/// Disciplines that are often compared, with the indices of their colours. They have these colours in the report too.
const DISCIPLINES: [(&str, usize); 12] = [
    ("droptail", 6),
    ("fq_codel", 0),
    ("pie", 1),
    ("codel", 2),
    ("dualpi2", 3),
    ("red", 4),
    ("pi", 5),
    ("raqm", 0),
    ("raqm_plus", 1),
    ("rem", 3),
    ("fq_pie", 5),
    ("pi2", 2),
];
/// Size of the letters and mean width of a letter, in points.
const LETTERS: f64 = 8.0;
const LETTER: f64 = 0.6 * LETTERS;
/// Height of a line of text, in points.
const LINE: f64 = 11.0;
/// Height of a picture with one panel relative to its width, and height of one of several panels in points.
const SHAPE: f64 = 0.56;
const PANEL: f64 = 62.0;
/// Lines with more points have no dashes, because dashes would look like noise.
const DENSE: usize = 250;
/// Length of the line next to a name in the legend, in points.
const SAMPLE: f64 = 16.0;

/// The scale of an axis: maps data to positions in the picture, in points.
#[derive(Clone, Copy, Debug)]
struct Scale {
    data: (f64, f64),
    page: (f64, f64),
    is_log: bool,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let place = |x: f64| if self.is_log { x.max(f64::MIN_POSITIVE).log10() } else { x };
        let (lo, hi) = (place(self.data.0), place(self.data.1));
        self.page.0 + (place(value) - lo) / (hi - lo) * (self.page.1 - self.page.0)
    }

    fn holds(&self, value: f64) -> bool {
        (self.data.0..=self.data.1).contains(&value)
    }

    /// Round numbers for the marks on the axis, at most about `most` in number.
    fn ticks(&self, most: usize) -> Vec<f64> {
        let (lo, hi) = self.data;
        if self.is_log && lo > 0.0 {
            let (first, last) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
            let decades = (first..=last).step_by(((last - first) / 8 + 1) as usize).map(|e| 10f64.powi(e));
            let steps: &[f64] = if hi / lo < 50.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let all = decades.flat_map(|decade| steps.iter().map(move |step| step * decade));
            let ticks: Vec<f64> = all.filter(|tick| self.holds(*tick)).collect();
            // A logarithmic range with fewer than two such values has the marks of a linear scale.
            if ticks.len() > 1 {
                return ticks;
            }
        }
        let rough = (hi - lo) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        if !(step > 0.0 && step.is_finite() && lo.is_finite()) {
            return Vec::new();
        }
        let first = (lo / step - 1e-9).ceil();
        // At most `most` + 1 marks fit. The limit is for ranges so narrow that adding a step does not change the
        // number.
        let ticks = (0..2 * most + 2).map(|n| (first + n as f64) * step);
        ticks.take_while(|tick| *tick <= hi + step * 1e-9).collect()
    }
}

/// A line of the figure with its points, colour and dashes.
struct Line<'a> {
    series: &'a Series,
    places: Vec<(f64, Option<f64>)>,
    colour: &'static str,
    dash: &'static str,
}

/// The figure as an SVG picture `width` points wide. `height` is in points; its default depends on the width and the
/// number of panels.
pub(super) fn svg(figure: &Figure, width: f64, height: Option<f64>) -> String {
    Plot::new(figure, width, height).draw()
}

struct Plot<'a> {
    figure: &'a Figure,
    lines: Vec<Line<'a>>,
    width: f64,
    /// Height of the frame of a panel, in points.
    frame: f64,
    x: Scale,
    y: Scale,
    /// Exponents of the powers of ten by which numbers at the x and the y axis are divided. The labels of the axes have
    /// the powers.
    powers: (i32, i32),
    /// The rows of the legend, each with the indices of the lines that it names.
    legend: Vec<Vec<usize>>,
}

impl<'a> Plot<'a> {
    fn new(figure: &'a Figure, width: f64, height: Option<f64>) -> Self {
        let lines = lines(&figure.series);
        let categories = figure.x.categories.as_ref().map(Vec::len);
        // Dots of the smallest and largest values are inside the frame.
        let padding = if figure.kind == "points" { 0.04 } else { 0.0 };
        let range = |axis: &Axis, data: Vec<f64>, from_zero| padded(axis, range(axis, data, from_zero), padding);
        let x = categories.map_or_else(
            || range(&figure.x, lines.iter().flat_map(|line| across(line)).collect(), false),
            |n| (-0.5, n as f64 - 0.5),
        );
        let rules = figure.rules.iter().flatten().filter(|rule| rule.axis == "y").map(|rule| rule.at);
        let along = lines.iter().flat_map(|line| along(line, x)).chain(rules).collect();
        let y = range(&figure.y, along, categories.is_some());
        let scale = |data, axis: &Axis| Scale { data, page: (0.0, 1.0), is_log: axis.scale.is_some() };
        let (mut x, mut y) = (scale(x, &figure.x), scale(y, &figure.y));
        let power = |scale: &Scale| if scale.is_log { 0 } else { power(scale.data) };
        let powers = (if categories.is_some() { 0 } else { power(&x) }, power(&y));
        let longest = y.ticks(5).iter().map(|tick| number(*tick, powers.1).chars().count()).max().unwrap_or(1);
        x.page = ((LINE + 6.0 + longest as f64 * LETTER).min(0.45 * width), width - 6.0);
        let frames = panels(figure, &lines).len();
        let is_single = frames == 1;
        // A panel with a single line has the line's name as title; several lines in a panel need a legend.
        let legend = if frames > 1 && frames == lines.len() { Vec::new() } else { legend(&lines, width) };
        let around = LINE * legend.len() as f64 + 2.6 * LINE + if is_single { 3.0 } else { LINE * frames as f64 };
        let frame = match height {
            Some(height) => ((height - around) / frames as f64).max(20.0),
            None if is_single => width * SHAPE,
            None => PANEL,
        };
        y.page = (frame, 0.0);
        Self { figure, lines, width, frame, x, y, powers, legend }
    }

    fn draw(&self) -> String {
        let groups = panels(self.figure, &self.lines);
        let panels = groups.len() > 1;
        let head = LINE * self.legend.len() as f64 + 3.0;
        let step = self.frame + if panels { LINE } else { 0.0 };
        let first = head + if panels { LINE - 3.0 } else { 0.0 };
        let bottom = first + step * groups.len() as f64 - if panels { LINE } else { 0.0 };
        let mut out = Svg::page(self.width, bottom + 2.6 * LINE, LETTERS);
        self.names(&mut out);
        for (n, group) in groups.iter().enumerate() {
            let top = first + step * n as f64;
            if panels {
                out.label(&Tenth(self.x.page.0), &Tenth(top - 2.5), "start", &name(group[0].series)).end_line();
            }
            self.frame(&mut out, top, group, n + 1 == groups.len());
        }
        let centre = (self.x.page.0 + self.x.page.1) / 2.0;
        out.label(&Tenth(centre), &Tenth(bottom + 2.3 * LINE), "middle", &title(&self.figure.x, self.powers.0))
            .end_line();
        let middle = Tenth(f64::midpoint(first, bottom));
        let turn = format!("rotate(-90 {} {middle})", Tenth(LETTERS));
        let place: [Attribute; 4] =
            [("x", &Tenth(LETTERS)), ("y", &middle), ("text-anchor", &"middle"), ("transform", &turn)];
        out.text(&place, &title(&self.figure.y, self.powers.1)).end_line();
        out.finish()
    }

    /// Draws the legend: the name of each line, with a piece of the line before it.
    fn names(&self, out: &mut Svg) {
        for (row, lines) in self.legend.iter().enumerate() {
            let y = LINE * (row as f64 + 0.85);
            let mut x = self.x.page.0;
            for line in lines.iter().map(|at| &self.lines[*at]) {
                if self.is_area() {
                    let place: [Attribute; 5] = [
                        ("x", &Tenth(x)),
                        ("y", &Tenth(y - 6.0)),
                        ("width", &Tenth(SAMPLE)),
                        ("height", &"6"),
                        ("fill", &line.colour),
                    ];
                    out.shape("rect", &place);
                } else if self.figure.join == Some(false) {
                    let (cx, cy) = (Tenth(x + SAMPLE / 2.0), Tenth(y - 2.8));
                    out.shape("circle", &[("cx", &cx), ("cy", &cy), ("r", &"1.6"), ("fill", &line.colour)]);
                } else {
                    stroke(out, &format!("M{} {}h{SAMPLE}", Tenth(x), Tenth(y - 2.8)), line.colour, line.dash);
                }
                out.label(&Tenth(x + SAMPLE + 3.0), &Tenth(y), "start", &name(line.series)).end_line();
                x += entry(line.series);
            }
        }
    }

    fn is_area(&self) -> bool {
        self.figure.kind == "columns"
    }

    fn frame(&self, out: &mut Svg, top: f64, lines: &[&Line], is_last: bool) {
        let (left, right, bottom) = (self.x.page.0, self.x.page.1, top + self.frame);
        let grid: [Attribute; 3] = [("fill", &"none"), ("stroke", &"#ddd"), ("stroke-width", &"0.5")];
        for tick in self.y.ticks(if self.frame < 90.0 { 3 } else { 5 }) {
            let y = top + self.y.at(tick);
            out.path(&format!("M{} {}H{}", Tenth(left), Tenth(y), Tenth(right)), &grid);
            out.label(&Tenth(left - 3.0), &Tenth(y + 2.8), "end", &number(tick, self.powers.1)).end_line();
        }
        let axis: [Attribute; 3] = [("fill", &"none"), ("stroke", &"#222"), ("stroke-width", &"0.6")];
        for (at, label) in self.marks() {
            let x = Tenth(self.x.at(at));
            out.path(&format!("M{x} {}v-2.5", Tenth(bottom)), &axis);
            if is_last {
                out.label(&x, &Tenth(bottom + LINE - 1.0), "middle", &label).end_line();
            }
        }
        // Dots at the edge of the frame are drawn completely.
        let frame = (left - 2.0, top - 2.0, right - left + 4.0, self.frame + 4.0);
        out.clipped(&format!("frame-{}", Tenth(top)), frame, |out| {
            for (n, line) in lines.iter().enumerate() {
                self.line(out, top, line, (n, lines.len()));
            }
        });
        for rule in self.figure.rules.iter().flatten() {
            let path = match rule.axis.as_str() {
                "x" if self.x.holds(rule.at) => {
                    format!("M{} {}V{}", Tenth(self.x.at(rule.at)), Tenth(top), Tenth(bottom))
                }
                "y" if self.y.holds(rule.at) => {
                    format!("M{} {}H{}", Tenth(left), Tenth(top + self.y.at(rule.at)), Tenth(right))
                }
                _ => continue,
            };
            out.path(&path, &[&axis[..], &[("stroke-dasharray", &"2 1.5")]].concat()).end_line();
            let (x, y, anchor) = match rule.axis.as_str() {
                "x" => (self.x.at(rule.at) + 2.0, top + LETTERS, "start"),
                _ => (right, top + self.y.at(rule.at) - 2.0, "end"),
            };
            out.label(&Tenth(x), &Tenth(y), anchor, &rule.label).end_line();
        }
        out.path(&format!("M{} {}V{}H{}", Tenth(left), Tenth(top), Tenth(bottom), Tenth(right)), &axis).end_line();
    }

    /// Marks on the x axis, below the frame: position and label.
    fn marks(&self) -> Vec<(f64, String)> {
        match &self.figure.x.categories {
            Some(names) => names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect(),
            None => self.x.ticks(6).into_iter().map(|tick| (tick, number(tick, self.powers.0))).collect(),
        }
    }

    fn line(&self, out: &mut Svg, top: f64, line: &Line, (n, of): (usize, usize)) {
        let place = |x: f64, y: f64| format!("{} {}", Tenth(self.x.at(x)), Tenth(top + self.y.at(y)));
        let known = &line.places;
        if self.is_area() {
            let room = self.x.at(1.0) - self.x.at(0.0);
            let wide = room * 0.8 / of as f64;
            for (x, y) in known.iter().filter_map(|(x, y)| Some((*x, (*y)?))) {
                let (from, base) = (self.x.at(x) - room * 0.4 + wide * n as f64, self.y.at(0.0));
                let height = (base - self.y.at(y)).max(0.0);
                let place: [Attribute; 5] = [
                    ("x", &Tenth(from)),
                    ("y", &Tenth(top + base - height)),
                    ("width", &Tenth(wide)),
                    ("height", &Tenth(height)),
                    ("fill", &line.colour),
                ];
                out.shape("rect", &place).end_line();
                let at = line.places.iter().position(|(place, _)| *place == x);
                let whisker = at.and_then(|at| line.series.bars.as_ref().and_then(|bars| *bars.get(at)?));
                if let Some([_, _, Some(low), Some(high)]) = whisker {
                    let [low, high] = [low, high].map(|y| Tenth(top + self.y.at(y)));
                    stroke(out, &format!("M{} {low}V{high}", Tenth(from + wide / 2.0)), "#222", "");
                }
            }
            return;
        }
        if let (Some(low), Some(high)) = (&line.series.low, &line.series.high) {
            let xs = || line.places.iter().map(|(x, _)| *x);
            let up = xs().zip(high).map(|(x, y)| place(x, *y));
            let down = xs().zip(low).rev().map(|(x, y)| place(x, *y));
            let path = format!("M{}Z", up.chain(down).collect::<Vec<_>>().join("L"));
            out.path(&path, &[("fill", &line.colour), ("fill-opacity", &"0.18")]).end_line();
        }
        let is_step = ["cdf", "step"].contains(&self.figure.kind);
        if self.figure.join.unwrap_or(true) {
            let (mut path, mut pen) = (String::new(), 'M');
            for (x, y) in known {
                let Some(y) = y else {
                    pen = 'M';
                    continue;
                };
                if is_step && pen == 'L' {
                    path += &format!("H{}", Tenth(self.x.at(*x)));
                }
                path += &format!("{pen}{}", place(*x, *y));
                pen = 'L';
            }
            stroke(out, &path, line.colour, if known.len() > DENSE { "" } else { line.dash });
        }
        if let Some(outline) = &line.series.outline {
            let path: Vec<String> = outline.iter().map(|[x, y]| place(*x, *y)).collect();
            stroke(out, &format!("M{}Z", path.join("L")), line.colour, "");
        }
        if self.figure.kind == "points" {
            for (at, (x, y)) in line.places.iter().enumerate() {
                let Some(y) = y.filter(|_| self.x.holds(*x)) else { continue };
                let whisker = line.series.bars.as_ref().and_then(|bars| *bars.get(at)?);
                if let Some([_, _, Some(low), Some(high)]) = whisker {
                    stroke(out, &format!("M{}L{}", place(*x, low), place(*x, high)), line.colour, "");
                }
                if let Some([Some(low), Some(high), ..]) = whisker {
                    stroke(out, &format!("M{}L{}", place(low, y), place(high, y)), line.colour, "");
                }
                let (cx, cy) = (Tenth(self.x.at(*x)), Tenth(top + self.y.at(y)));
                out.shape("circle", &[("cx", &cx), ("cy", &cy), ("r", &"1.6"), ("fill", &line.colour)]).end_line();
            }
        }
    }
}

fn stroke(out: &mut Svg, path: &str, colour: &str, dash: &str) {
    let look: [Attribute; 4] =
        [("fill", &"none"), ("stroke", &colour), ("stroke-width", &"1"), ("stroke-linejoin", &"round")];
    let dash: &[Attribute] = if dash.is_empty() { &[] } else { &[("stroke-dasharray", &dash)] };
    out.path(&path, &[&look, dash].concat()).end_line();
}

fn is_panels(figure: &Figure) -> bool {
    figure.layout.is_some_and(|layout| layout.is_some())
}

/// The lines of each panel. A line that shows a model is in the panel of the discipline that it models.
fn panels<'a, 'b>(figure: &Figure, lines: &'b [Line<'a>]) -> Vec<Vec<&'b Line<'a>>> {
    if !is_panels(figure) {
        return vec![lines.iter().collect()];
    }
    let hosts = lines.iter().filter(|line| line.series.partner.is_none());
    let with_guests = |host: &'b Line<'a>| {
        let is_guest = |line: &&Line| line.series.partner.as_deref() == Some(name(host.series));
        std::iter::once(host).chain(lines.iter().filter(is_guest)).collect()
    };
    let all: Vec<Vec<&Line>> = hosts.map(with_guests).collect();
    if all.is_empty() { vec![Vec::new()] } else { all }
}

fn name(series: &Series) -> &str {
    series.name.as_deref().unwrap_or_default()
}

/// Width of a line's name in the legend, with the piece of line before it, in points.
fn entry(series: &Series) -> f64 {
    SAMPLE + 3.0 + name(series).chars().count() as f64 * LETTER + 10.0
}

/// The rows of the legend as indices of lines, with as many names in a row as fit into `width`.
fn legend(lines: &[Line], width: f64) -> Vec<Vec<usize>> {
    let (mut rows, mut room): (Vec<Vec<usize>>, f64) = (Vec::new(), 0.0);
    for (at, line) in lines.iter().enumerate() {
        let wide = entry(line.series);
        match rows.last_mut().filter(|_| wide <= room + 10.0) {
            Some(row) => row.push(at),
            None => {
                rows.push(vec![at]);
                room = width - 30.0;
            }
        }
        room -= wide;
    }
    rows
}

/// The lines with their colours. A discipline has the colour that it has in the report; of two disciplines with the
/// same colour, the second takes an unused one. A line that shows a model has the colour of the discipline.
fn lines(all: &[Series]) -> Vec<Line<'_>> {
    let base = |series: &Series| {
        let name = series.partner.as_deref().unwrap_or_else(|| name(series));
        name.trim_end_matches(" (kernel)").trim_end_matches(" (simulated)").to_string()
    };
    let own = |name: &str| {
        let word = name.split(' ').next().unwrap_or_default();
        DISCIPLINES.iter().find(|(known, _)| *known == word).map(|(_, colour)| *colour)
    };
    let mut taken: Vec<(String, usize)> = Vec::new();
    for is_known in [true, false] {
        for name in all.iter().map(base).filter(|name| own(name).is_some() == is_known) {
            if taken.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let is_free = |colour: &usize| taken.iter().all(|(_, other)| other != colour);
            let free = own(&name).filter(is_free).or_else(|| (0..COLOURS.len()).find(is_free));
            taken.push((name, free.unwrap_or(taken.len() % COLOURS.len())));
        }
    }
    let line = |(at, series): (usize, &'_ Series)| {
        let colour = taken.iter().find(|(known, _)| *known == base(series)).map_or(at, |(_, colour)| *colour);
        (COLOURS[colour % COLOURS.len()], DASHES[at % DASHES.len()])
    };
    let looks: Vec<_> = all.iter().enumerate().map(line).collect();
    let with = |(series, (colour, dash))| Line { series, places: Points::places(&series.points), colour, dash };
    all.iter().zip(looks).map(with).collect()
}

/// All x values of a line.
fn across<'a>(line: &'a Line<'_>) -> impl Iterator<Item = f64> + 'a {
    let outline = line.series.outline.iter().flatten().map(|[x, _]| *x);
    line.places.iter().filter(|(_, y)| y.is_some()).map(|(x, _)| *x).chain(outline)
}

/// All y values of a line within a range of x.
fn along<'a>(line: &'a Line<'_>, (from, to): (f64, f64)) -> impl Iterator<Item = f64> + 'a {
    let inside = move |x: f64| (from..=to).contains(&x);
    let of = move |ends: &'a Option<Vec<f64>>| {
        line.places.iter().zip(ends.iter().flatten()).filter(move |((x, _), _)| inside(*x)).map(|(_, y)| *y)
    };
    let bars = line.series.bars.iter().flatten().flatten().flat_map(|[_, _, low, high]| [*low, *high]).flatten();
    let outline = line.series.outline.iter().flatten().map(|[_, y]| *y);
    let points = line.places.iter().filter(move |(x, _)| inside(*x)).filter_map(|(_, y)| *y);
    points.chain(of(&line.series.low)).chain(of(&line.series.high)).chain(bars).chain(outline)
}

/// The range of an axis: the ends that the figure gives, else those of the data. With `from_zero` the range of the data
/// begins at 0.
fn range(axis: &Axis, data: Vec<f64>, from_zero: bool) -> (f64, f64) {
    let given = axis.min.map(|end| match end {
        End::Whole(n) => f64::from(n),
        End::At(at) => at,
    });
    let is_log = axis.scale.is_some();
    let given = given.filter(|end| !is_log || *end > 0.0);
    let most = axis.max.filter(|end| !is_log || *end > 0.0);
    let known = data.into_iter().filter(|x| x.is_finite() && (!is_log || *x > 0.0));
    let (lo, hi) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
    let lo = if from_zero && !is_log { lo.min(0.0) } else { lo };
    let (lo, hi) = (given.unwrap_or(lo), most.unwrap_or(hi));
    match () {
        () if lo < hi => (lo, hi),
        () if is_log && lo.is_finite() => (lo / 2.0, lo * 2.0),
        () if is_log => (1.0, 10.0),
        () if lo.is_finite() => (lo - 0.5, lo + 0.5 + lo.abs() * 0.2),
        () => (0.0, 1.0),
    }
}

/// The range (`lo`, `hi`), enlarged by the fraction `share` of it at each end that the figure does not give.
fn padded(axis: &Axis, (lo, hi): (f64, f64), share: f64) -> (f64, f64) {
    let (below, above) = if axis.scale.is_some() {
        let factor = (hi / lo).powf(share);
        (lo / factor, hi * factor)
    } else {
        let room = (hi - lo) * share;
        (lo - room, hi + room)
    };
    (if axis.min.is_some() { lo } else { below }, if axis.max.is_some() { hi } else { above })
}

/// Exponent, a multiple of 3, of the power of ten by which the numbers at an axis with this range are divided.
fn power((lo, hi): (f64, f64)) -> i32 {
    let most = lo.abs().max(hi.abs());
    match most {
        m if m >= 1e5 || m > 0.0 && m < 1e-2 => (m.log10() / 3.0).floor() as i32 * 3,
        _ => 0,
    }
}

/// `value` divided by 10 to the power of `power`, as text with at most 6 digits.
fn number(value: f64, power: i32) -> String {
    let value = value / 10f64.powi(power);
    if value != 0.0 && !(1e-3..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.replace('-', "\u{2212}") }
}

/// Label of an axis, with its unit and the power of ten by which the numbers are divided.
fn title(axis: &Axis, power: i32) -> String {
    let power = if power == 0 { String::new() } else { format!("10^{power}") };
    let unit =
        [power.as_str(), &axis.unit].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ");
    let label = if unit.is_empty() { axis.label.clone() } else { format!("{} ({unit})", axis.label) };
    if axis.scale == Some("log") { label + ", logarithmic" } else { label }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: Some(name.to_string()), points: Points::of(points.iter().copied()), ..Series::default() }
    }

    fn figure(series: Vec<Series>) -> Figure {
        Figure {
            kind: "line",
            x: Axis::new("time", "s"),
            y: Axis::from_zero("queue", "packets"),
            series,
            ..Figure::default()
        }
    }

    #[test]
    fn marks_on_axes_are_round_numbers() {
        let ticks = |lo, hi, is_log| Scale { data: (lo, hi), page: (0.0, 1.0), is_log }.ticks(5);
        assert_eq!(ticks(0.0, 100.0, false), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.03, 0.21, false).len(), 4, "0.05 to 0.2");
        assert_eq!(ticks(0.5, 2000.0, true), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(3.0, 30.0, true), [5.0, 10.0, 20.0]);
        assert_eq!(ticks(2.1, 4.9, true), [3.0, 4.0], "a range between two steps");
        for (lo, hi) in [(0.0, 1.0), (0.0, 1e-323), (-1.0, f64::MAX), (1e15, 1e15 + 1.0), (f64::MIN, f64::MAX)] {
            assert!(ticks(lo, hi, false).len() <= 12 && ticks(lo, hi, true).len() <= 12, "{lo} {hi}");
        }
        assert_eq!([number(0.1, 0), number(-5.0, 0), number(2e6, 6)], ["0.1", "\u{2212}5", "2"].map(str::to_string));
    }

    #[test]
    fn colours_of_picture_equal_those_of_report() {
        let [script, style] = [include_str!("../../assets/base.js"), include_str!("../../assets/report.css")];
        let (_, table) = script.split_once("const DISCIPLINES = {").unwrap();
        let (table, _) = table.split_once('}').unwrap();
        let ours: Vec<String> = DISCIPLINES.iter().map(|(name, colour)| format!("{name}: {colour}")).collect();
        assert_eq!(table.trim(), ours.join(", "));
        for (n, colour) in COLOURS.iter().enumerate() {
            assert!(style.contains(&format!("--c{n}: {colour};")), "{n}");
        }
    }

    #[test]
    fn disciplines_have_same_colours_in_any_order() {
        let look = |names: &[&str]| {
            let all: Vec<Series> = names.iter().map(|name| line(name, &[])).collect();
            lines(&all).iter().map(|line| line.colour).collect::<Vec<_>>()
        };
        assert_eq!(look(&["droptail", "fq_codel"]), [COLOURS[6], COLOURS[0]]);
        assert_eq!(look(&["fq_codel", "raqm q0=5"]), [COLOURS[0], COLOURS[1]], "raqm has the colour of fq_codel");
        assert_eq!(look(&["mine", "fq_codel"]), [COLOURS[1], COLOURS[0]], "an unknown one takes a free colour");
    }

    #[test]
    fn picture_has_lines_labels_and_legend() {
        let text = svg(&figure(vec![line("pie", &[(0.0, 0.0), (1.0, 4.0)]), line("a<b", &[(0.0, 2.0)])]), 252.0, None);
        for part in ["width=\"252pt\"", "queue (packets)", "time (s)", ">pie</text>", "a&lt;b", COLOURS[1]] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn figures_with_no_or_one_point_are_drawn() {
        for series in [vec![], vec![line("a", &[])], vec![line("a", &[(1.0, 1.0)])]] {
            for kind in ["line", "points", "cdf", "columns", "band"] {
                for scale in [None, Some("log")] {
                    let mut figure = Figure { kind, ..figure(series.clone()) };
                    (figure.x.scale, figure.y.scale) = (scale, scale);
                    let text = svg(&figure, 100.0, Some(80.0));
                    assert!(!text.contains("NaN") && !text.contains("inf"), "{kind} {text}");
                }
            }
        }
    }
}
