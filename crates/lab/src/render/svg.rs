//! Writes pictures in SVG; no other file writes SVG markup. [`Svg`] is a list of elements. [`Panel`] is the frame of a
//! chart whose scales begin at 0.

use std::fmt::{self, Display, Write};

/// A picture under construction: the text of its elements.
pub struct Svg(String);

/// An attribute of an element: name and value.
pub type Attribute<'a> = (&'a str, &'a dyn Display);

/// A length that is written with one decimal. Screens do not show more.
#[derive(Clone, Copy, Debug)]
pub struct Tenth(pub f64);

impl Display for Tenth {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:.1}", self.0)
    }
}

impl Svg {
    /// An empty picture with a white background. `more` are additional attributes of the `svg` element.
    pub fn new(width: f64, height: f64, more: &[Attribute]) -> Self {
        let mut svg = Self(String::new());
        let view = format!("0 0 {width} {height}");
        let whole: [Attribute; 4] = [
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("viewBox", &view),
            ("font-family", &"sans-serif"),
            ("font-size", &"12"),
        ];
        svg.open("svg", &[&whole, more].concat());
        svg.0.push_str(">\n");
        svg.shape("rect", &[("width", &"100%"), ("height", &"100%"), ("fill", &"white")]);
        svg.end_line();
        svg
    }

    /// An empty picture for print, with a transparent background. Its size and that of its letters are in points.
    pub fn page(width: f64, height: f64, letters: f64) -> Self {
        let mut svg = Self(String::new());
        let (width, height) = (Tenth(width).to_string(), Tenth(height).to_string());
        let (width, height) = (width.trim_end_matches(".0"), height.trim_end_matches(".0"));
        let whole: [Attribute; 6] = [
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("width", &format!("{width}pt")),
            ("height", &format!("{height}pt")),
            ("viewBox", &format!("0 0 {width} {height}")),
            ("font-family", &"DejaVu Sans, Helvetica, Arial, sans-serif"),
            ("font-size", &letters),
        ];
        svg.open("svg", &whole);
        svg.0.push_str(">\n");
        svg
    }

    // Writing to a string cannot fail.
    fn open(&mut self, name: &str, attributes: &[Attribute]) {
        let _ = write!(self.0, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.0, " {key}=\"{value}\"");
        }
    }

    /// An element without text.
    pub fn shape(&mut self, name: &str, attributes: &[Attribute]) -> &mut Self {
        self.open(name, attributes);
        self.0.push_str("/>");
        self
    }

    /// A path element. `outline` is its attribute `d`, `look` the other attributes.
    pub fn path(&mut self, outline: &dyn Display, look: &[Attribute]) -> &mut Self {
        self.shape("path", &[&[("d", outline)], look].concat())
    }

    /// A text element. Escapes `&` and `<` in the text.
    pub fn text(&mut self, attributes: &[Attribute], words: &dyn Display) -> &mut Self {
        self.open("text", attributes);
        let words = words.to_string().replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(self.0, ">{words}</text>");
        self
    }

    /// A text at (`x`, `y`). `anchor` is the part of the text at this position: `start`, `middle` or `end`.
    pub fn label(&mut self, x: &dyn Display, y: &dyn Display, anchor: &str, words: &dyn Display) -> &mut Self {
        self.text(&[("x", x), ("y", y), ("text-anchor", &anchor)], words)
    }

    /// Elements of which only the part inside a rectangle (x, y, width, height) is visible. `id` is unique.
    pub fn clipped(&mut self, id: &str, (x, y, width, height): (f64, f64, f64, f64), draw: impl FnOnce(&mut Self)) {
        self.open("clipPath", &[("id", &id)]);
        self.0.push('>');
        let place: [Attribute; 4] =
            [("x", &Tenth(x)), ("y", &Tenth(y)), ("width", &Tenth(width)), ("height", &Tenth(height))];
        self.shape("rect", &place).0.push_str("</clipPath>\n");
        self.open("g", &[("clip-path", &format!("url(#{id})"))]);
        self.0.push_str(">\n");
        draw(self);
        self.0.push_str("</g>\n");
    }

    /// Ends a line of the file.
    pub fn end_line(&mut self) {
        self.0.push('\n');
    }

    /// Ends the picture and returns the text of an SVG file.
    #[must_use]
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Width of a picture that consists of panels. `LEFT` and `RIGHT` are the horizontal positions of the ends of each
/// panel.
pub const WIDTH: f64 = 720.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 708.0;

/// A panel with its scales, which begin at 0.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    /// Vertical positions of the top and the bottom of the panel.
    pub edge: (f64, f64),
    /// Right end of the horizontal scale.
    pub last: f64,
    /// Upper end of the vertical scale.
    pub most: f64,
}

impl Panel {
    fn x(&self, at: f64) -> f64 {
        LEFT + at / self.last * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        self.edge.1 - value / self.most * (self.edge.1 - self.edge.0)
    }

    /// Shades the background between two x values, to mark a span of time with different conditions, such as more load.
    pub fn band(&self, out: &mut Svg, (from, to): (f64, f64)) {
        let (top, height) = (self.edge.0, self.edge.1 - self.edge.0);
        let (x, width) = (Tenth(self.x(from)), Tenth(self.x(to) - self.x(from)));
        let place: [Attribute; 4] = [("x", &x), ("y", &top), ("width", &width), ("height", &height)];
        out.shape("rect", &[&place[..], &[("fill", &"#f3efe6")]].concat());
    }

    /// Draws the frame, the title, and marks at the ends and the middle of the vertical scale.
    pub fn frame(&self, out: &mut Svg, title: &str) {
        let (top, bottom) = self.edge;
        out.path(&format!("M{LEFT} {top}V{bottom}H{RIGHT}"), &[("fill", &"none"), ("stroke", &"#888")]);
        out.text(&[("x", &LEFT), ("y", &(top - 8.0))], &title).end_line();
        for value in [0.0, self.most / 2.0, self.most] {
            out.label(&(LEFT - 6.0), &Tenth(self.y(value) + 4.0), "end", &short(value)).end_line();
        }
    }

    /// Writes the numbers `marks` below the horizontal scale at their positions, and the label `what` of the scale.
    pub fn below(&self, out: &mut Svg, marks: &[f64], what: &str) {
        let bottom = self.edge.1;
        for mark in marks {
            out.label(&Tenth(self.x(*mark)), &(bottom + 16.0), "middle", mark).end_line();
        }
        out.label(&((LEFT + RIGHT) / 2.0), &(bottom + 32.0), "middle", &what).end_line();
    }

    /// Draws a line through the points. A point without a value is a gap in the line.
    pub fn line(&self, out: &mut Svg, points: impl Iterator<Item = (f64, Option<f64>)>, colour: &str) {
        self.stroke(out, points, colour, &[]);
    }

    /// Draws a dashed line through the points, for values that are given, not measured.
    pub fn dashes(&self, out: &mut Svg, points: &[(f64, f64)], colour: &str) {
        let points = points.iter().map(|(at, value)| (*at, Some(*value)));
        self.stroke(out, points, colour, &[("stroke-dasharray", &"6 3")]);
    }

    fn stroke(&self, out: &mut Svg, points: impl Iterator<Item = (f64, Option<f64>)>, colour: &str, how: &[Attribute]) {
        let (mut path, mut pen) = (String::new(), 'M');
        for (at, value) in points {
            if let Some(value) = value {
                let _ = write!(path, "{pen}{:.1} {:.1}", self.x(at), self.y(value.min(self.most)));
            }
            pen = if value.is_some() { 'L' } else { 'M' };
        }
        let look: [Attribute; 3] = [("fill", &"none"), ("stroke", &colour), ("stroke-width", &"1.2")];
        out.path(&path, &[&look, how].concat()).end_line();
    }

    /// Draws a dot at each point.
    pub fn dots(&self, out: &mut Svg, points: &[(f64, f64)], colour: &str) {
        for (at, value) in points {
            let (x, y) = (Tenth(self.x(*at)), Tenth(self.y(*value)));
            out.shape("circle", &[("cx", &x), ("cy", &y), ("r", &"2"), ("fill", &colour)]).end_line();
        }
    }
}

/// The smallest 1, 2 or 5 times a power of ten that is at least `value`; 1 if `value` is not positive.
#[must_use]
pub fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powi(value.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|top| *top >= value).unwrap_or(value)
}

fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_string(),
        v if !(0.001..1e5).contains(&v) => format!("{v:.0e}"),
        v => v.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        assert_eq!([0.0, 0.3, 1.0, 101.0, 149.0, 501.0].map(round_up), [1.0, 0.5, 1.0, 200.0, 200.0, 1000.0]);
        assert_eq!([0.0, 50.0, 2.5e-5, 1e6].map(short), ["0", "50", "3e-5", "1e6"].map(str::to_string));
    }

    #[test]
    fn text_escapes_ampersand_and_less_than() {
        let mut svg = Svg::new(10.0, 20.5, &[]);
        svg.label(&1, &Tenth(0.25), "end", &"a<b&c").end_line();
        let text = "<text x=\"1\" y=\"0.2\" text-anchor=\"end\">a&lt;b&amp;c</text>\n</svg>\n";
        assert!(svg.finish().ends_with(text));
    }
}
