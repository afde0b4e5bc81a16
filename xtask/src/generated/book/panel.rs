//! A panel of a picture of the book: a frame with its scales, and what is drawn in it.

use std::fmt::Write;

pub(super) const WIDTH: f64 = 720.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 708.0;

/// A panel with its scales.
pub(super) struct Panel {
    /// Top and bottom.
    pub(super) edge: (f64, f64),
    /// Right end of the horizontal scale, which begins at 0.
    pub(super) last: f64,
    /// Upper end of the vertical one, which begins at 0.
    pub(super) most: f64,
}

impl Panel {
    fn x(&self, at: f64) -> f64 {
        LEFT + at / self.last * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        self.edge.1 - value / self.most * (self.edge.1 - self.edge.0)
    }

    /// A band of the background: when something is otherwise than usual.
    pub(super) fn band(&self, out: &mut String, (from, to): (f64, f64)) {
        let (top, bottom) = self.edge;
        let (x, width) = (self.x(from), self.x(to) - self.x(from));
        let _ = write!(
            out,
            "<rect x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{}\" fill=\"#f3efe6\"/>",
            bottom - top
        );
    }

    /// Frame, title, and marks at both ends of the vertical scale and half way.
    pub(super) fn frame(&self, out: &mut String, title: &str) {
        let (top, bottom) = self.edge;
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {top}V{bottom}H{RIGHT}\" fill=\"none\" stroke=\"#888\"/>\
             <text x=\"{LEFT}\" y=\"{}\">{title}</text>",
            top - 8.0,
        );
        for value in [0.0, self.most / 2.0, self.most] {
            let y = self.y(value) + 4.0;
            let _ =
                writeln!(out, "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", LEFT - 6.0, short(value));
        }
    }

    /// Marks below the panel, and what they count.
    pub(super) fn below(&self, out: &mut String, marks: &[f64], what: &str) {
        let bottom = self.edge.1;
        for mark in marks {
            let (x, y) = (self.x(*mark), bottom + 16.0);
            let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{mark}</text>");
        }
        let (x, y) = ((LEFT + RIGHT) / 2.0, bottom + 32.0);
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{what}</text>");
    }

    /// A line through the points that there are.
    pub(super) fn line(&self, out: &mut String, points: impl Iterator<Item = (f64, Option<f64>)>, colour: &str) {
        self.stroke(out, points, colour, "");
    }

    /// The same in dashes, for what is given and not measured.
    pub(super) fn dashes(&self, out: &mut String, points: &[(f64, f64)], colour: &str) {
        let points = points.iter().map(|(at, value)| (*at, Some(*value)));
        self.stroke(out, points, colour, " stroke-dasharray=\"6 3\"");
    }

    fn stroke(&self, out: &mut String, points: impl Iterator<Item = (f64, Option<f64>)>, colour: &str, how: &str) {
        let (mut path, mut down) = (String::new(), false);
        for (at, value) in points {
            match value {
                Some(value) => {
                    let pen = if down { 'L' } else { 'M' };
                    let _ = write!(path, "{pen}{:.1} {:.1}", self.x(at), self.y(value.min(self.most)));
                    down = true;
                }
                None => down = false,
            }
        }
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\"{how}/>");
    }

    /// A dot for each point.
    pub(super) fn dots(&self, out: &mut String, points: &[(f64, f64)], colour: &str) {
        for (at, value) in points {
            let (x, y) = (self.x(*at), self.y(*value));
            let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"{colour}\"/>");
        }
    }
}

/// The beginning of a picture of this height.
pub(super) fn begin(height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    )
}

/// Its end.
pub(super) const END: &str = "</svg>\n";

/// The next of 1, 2, 5 times a power of ten; 1 for nothing.
pub(super) fn round_up(value: f64) -> f64 {
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
}
