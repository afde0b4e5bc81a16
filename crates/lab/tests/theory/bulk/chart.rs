//! The chart `docs/pictures/throughput.svg`: send rate of TCP against loss on logarithmic axes.

use std::fmt::Display;

use forebay_lab::render::svg::{Svg, Tenth};
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
/// Ranges of the axes: loss, packets per second.
const LOSS: (f64, f64) = (0.0008, 0.125);
const RATE: (f64, f64) = (4.0, 600.0);

/// The chart: formulas as lines, connections as points with their intervals, filled if some formula holds.
pub(crate) fn chart(rows: &[Row]) -> String {
    let mut out = Svg::new(WIDTH, HEIGHT, &[]);
    for (delayed, left) in [false, true].into_iter().zip(LEFTS) {
        let panel = Panel { left, delayed };
        panel.axes(&mut out);
        Formula::ALL.into_iter().for_each(|formula| panel.line(&mut out, formula));
        rows.iter().filter(|row| row.connection.delayed == delayed).for_each(|row| panel.point(&mut out, row));
    }
    legend(&mut out);
    out.finish()
}

struct Panel {
    left: f64,
    delayed: bool,
}

impl Panel {
    fn x(&self, loss: f64) -> f64 {
        self.left + ACROSS * share(loss, LOSS)
    }

    fn axes(&self, out: &mut Svg) {
        let (left, right) = (self.left, self.left + ACROSS);
        for rate in [5, 10, 20, 50, 100, 200, 500] {
            let at = y(f64::from(rate));
            out.path(&format!("M{left} {at:.1}H{right}"), &[("stroke", &"#ddd")]).end_line();
            out.label(&(left - 6.0), &Tenth(at + 4.0), "end", &rate).end_line();
        }
        for loss in [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1] {
            let at = Tenth(self.x(loss));
            out.path(&format!("M{at} {TOP}V{BOTTOM}"), &[("stroke", &"#ddd")]).end_line();
            out.label(&at, &(BOTTOM + 18.0), "middle", &format!("{} %", 100.0 * loss)).end_line();
        }
        let title =
            if self.delayed { "packets/s, every second one acknowledged" } else { "packets/s, every one acknowledged" };
        out.text(&[("x", &left), ("y", &(TOP - 8.0)), ("font-weight", &"bold")], &title).end_line();
    }

    fn line(&self, out: &mut Svg, formula: Formula) {
        let steps = 60;
        let place = |step| {
            let loss = LOSS.0 * libm::pow(LOSS.1 / LOSS.0, f64::from(step) / f64::from(steps));
            let connection = Connection { variant: Variant::RENO, delayed: self.delayed, loss };
            format!("{:.1} {:.1}", self.x(loss), y(formula.rate(&connection)))
        };
        let path: Vec<String> = (0..=steps).map(place).collect();
        out.path(&format!("M{}", path.join("L")), &stroke(formula)).end_line();
    }

    fn point(&self, out: &mut Svg, row: &Row) {
        let (x, rate) = (self.x(row.connection.loss), row.measured.rate);
        let (_, colour) = look(row.connection.variant);
        let interval = format!("M{x:.1} {:.1}V{:.1}", y(rate.lo()), y(rate.hi()));
        out.path(&interval, &[("stroke", &colour)]).end_line();
        let holds = Formula::ALL.iter().any(|formula| formula.holds(&row.connection));
        mark(out, row.connection.variant, (x, y(rate.mean)), holds);
    }
}

fn y(rate: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * share(rate, RATE)
}

/// Position on a logarithmic axis. The platform's logarithm would give another chart on another platform.
fn share(value: f64, (from, to): (f64, f64)) -> f64 {
    libm::log(value / from) / libm::log(to / from)
}

/// Line of a formula.
fn stroke(formula: Formula) -> Vec<(&'static str, &'static dyn Display)> {
    let (colour, dashes): (&dyn Display, Option<&dyn Display>) = match formula {
        Formula::SquareRoot => (&"#888", Some(&"7 4")),
        Formula::Approximate => (&"#222", Some(&"1.5 3")),
        Formula::Full => (&"#222", None),
    };
    let look: [(&str, &dyn Display); 3] = [("fill", &"none"), ("stroke", colour), ("stroke-width", &"1.5")];
    look.into_iter().chain(dashes.map(|dashes| ("stroke-dasharray", dashes))).collect()
}

/// Outline around (0, 0) and colour of a variant.
fn look(variant: Variant) -> (&'static str, &'static str) {
    match variant.word() {
        "reno" => ("M-3.5-3.5H3.5V3.5H-3.5Z", "#b3541e"),
        "newreno" => ("M0-4.5L4 3.2H-4Z", "#2e7d4f"),
        _ => ("M-3.5 0A3.5 3.5 0 1 0 3.5 0A3.5 3.5 0 1 0-3.5 0Z", "#1f5f8b"),
    }
}

fn mark(out: &mut Svg, variant: Variant, (x, y): (f64, f64), full: bool) {
    let (outline, colour) = look(variant);
    let fill = if full { colour } else { "none" };
    let place = format!("translate({x:.1} {y:.1})");
    let look: [(&str, &dyn Display); 5] =
        [("transform", &place), ("d", &outline), ("fill", &fill), ("stroke", &colour), ("stroke-width", &"1.2")];
    out.shape("path", &look).end_line();
}

fn legend(out: &mut Svg) {
    let mut x = LEFTS[0];
    for formula in Formula::ALL {
        out.path(&format!("M{x} 18H{}", x + 30.0), &stroke(formula)).end_line();
        out.text(&[("x", &(x + 36.0)), ("y", &"22")], &formula.name()).end_line();
        x += 160.0;
    }
    for variant in [Variant::RENO, Variant::NEWRENO, Variant::SACK] {
        mark(out, variant, (x + 6.0, 18.0), true);
        out.text(&[("x", &(x + 16.0)), ("y", &"22")], &variant.word()).end_line();
        x += 85.0;
    }
    let middle = (LEFTS[0] + LEFTS[1] + ACROSS) / 2.0;
    let words =
        "loss; points are filled where a formula's assumptions hold; 95 % intervals are narrower than the points";
    out.label(&middle, &(HEIGHT - 14.0), "middle", &words).end_line();
}
