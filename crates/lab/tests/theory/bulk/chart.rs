//! `docs/pictures/throughput.svg`: send rate against loss, both by powers of ten.

use std::fmt::Write as _;

use forebay_sim::tcp::Variant;

use super::connection::Connection;
use super::formula::Formula;
use super::page::Row;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 484.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 430.0;
/// Left edges of the two panels, and their width.
const LEFTS: [f64; 2] = [60.0, 470.0];
const ACROSS: f64 = 370.0;
/// The axes: loss from left to right, packets per second from bottom to top.
const LOSS: (f64, f64) = (0.0008, 0.125);
const RATE: (f64, f64) = (4.0, 600.0);

/// The chart: formulas as lines, connections as points with their intervals, full where some formula holds.
pub(crate) fn chart(rows: &[Row]) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (delayed, left) in [false, true].into_iter().zip(LEFTS) {
        let panel = Panel { left, delayed };
        panel.axes(&mut out);
        Formula::ALL.into_iter().for_each(|formula| panel.line(&mut out, formula));
        rows.iter().filter(|row| row.connection.delayed == delayed).for_each(|row| panel.point(&mut out, row));
    }
    legend(&mut out);
    out.push_str("</svg>\n");
    out
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($what:tt)*) => { let _ = writeln!($out, $($what)*); };
}

struct Panel {
    left: f64,
    delayed: bool,
}

impl Panel {
    fn x(&self, loss: f64) -> f64 {
        self.left + ACROSS * share(loss, LOSS)
    }

    fn axes(&self, out: &mut String) {
        let (left, right) = (self.left, self.left + ACROSS);
        for rate in [5, 10, 20, 50, 100, 200, 500] {
            let at = y(f64::from(rate));
            put!(out, "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/>");
            put!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{rate}</text>", left - 6.0, at + 4.0);
        }
        for loss in [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1] {
            let at = self.x(loss);
            put!(out, "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/>");
            put!(out, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{} %</text>", BOTTOM + 18.0, 100.0 * loss);
        }
        let title =
            if self.delayed { "packets/s, every second one acknowledged" } else { "packets/s, every one acknowledged" };
        put!(out, "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{title}</text>", TOP - 8.0);
    }

    fn line(&self, out: &mut String, formula: Formula) {
        let steps = 60;
        let place = |step| {
            let loss = LOSS.0 * libm::pow(LOSS.1 / LOSS.0, f64::from(step) / f64::from(steps));
            let connection = Connection { variant: Variant::RENO, delayed: self.delayed, loss };
            format!("{:.1} {:.1}", self.x(loss), y(formula.rate(&connection)))
        };
        let path: Vec<String> = (0..=steps).map(place).collect();
        put!(out, "<path d=\"M{}\" {}/>", path.join("L"), stroke(formula));
    }

    fn point(&self, out: &mut String, row: &Row) {
        let (x, rate) = (self.x(row.connection.loss), row.measured.rate);
        let (_, colour) = look(row.connection.variant);
        put!(out, "<path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"{colour}\"/>", y(rate.lo()), y(rate.hi()));
        let holds = Formula::ALL.iter().any(|formula| formula.holds(&row.connection));
        mark(out, row.connection.variant, (x, y(rate.mean)), holds);
    }
}

fn y(rate: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * share(rate, RATE)
}

/// How far along a logarithmic axis; not by the platform's logarithm, which would make another chart.
fn share(value: f64, (from, to): (f64, f64)) -> f64 {
    libm::log(value / from) / libm::log(to / from)
}

/// Line of a formula.
fn stroke(formula: Formula) -> &'static str {
    match formula {
        Formula::SquareRoot => "fill=\"none\" stroke=\"#888\" stroke-width=\"1.5\" stroke-dasharray=\"7 4\"",
        Formula::Approximate => "fill=\"none\" stroke=\"#222\" stroke-width=\"1.5\" stroke-dasharray=\"1.5 3\"",
        Formula::Full => "fill=\"none\" stroke=\"#222\" stroke-width=\"1.5\"",
    }
}

/// Outline around 0, 0 and colour of a variant.
fn look(variant: Variant) -> (&'static str, &'static str) {
    match variant.word() {
        "reno" => ("M-3.5-3.5H3.5V3.5H-3.5Z", "#b3541e"),
        "newreno" => ("M0-4.5L4 3.2H-4Z", "#2e7d4f"),
        _ => ("M-3.5 0A3.5 3.5 0 1 0 3.5 0A3.5 3.5 0 1 0-3.5 0Z", "#1f5f8b"),
    }
}

fn mark(out: &mut String, variant: Variant, (x, y): (f64, f64), full: bool) {
    let (outline, colour) = look(variant);
    let fill = if full { colour } else { "none" };
    put!(
        out,
        "<path transform=\"translate({x:.1} {y:.1})\" d=\"{outline}\" fill=\"{fill}\" stroke=\"{colour}\" \
         stroke-width=\"1.2\"/>"
    );
}

fn legend(out: &mut String) {
    let mut x = LEFTS[0];
    for formula in Formula::ALL {
        put!(out, "<path d=\"M{x} 18H{}\" {}/>", x + 30.0, stroke(formula));
        put!(out, "<text x=\"{}\" y=\"22\">{}</text>", x + 36.0, formula.name());
        x += 160.0;
    }
    for variant in [Variant::RENO, Variant::NEWRENO, Variant::SACK] {
        mark(out, variant, (x + 6.0, 18.0), true);
        put!(out, "<text x=\"{}\" y=\"22\">{}</text>", x + 16.0, variant.word());
        x += 85.0;
    }
    let middle = (LEFTS[0] + LEFTS[1] + ACROSS) / 2.0;
    put!(
        out,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">loss; points are filled where a formula's \
         assumptions hold; 95 % intervals are narrower than the points</text>",
        HEIGHT - 14.0
    );
}
