//! A picture of each discipline at work: the queue against time, and the first thing it lets one look at.

use std::fmt::Write;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Entry;
use forebay_lab::plan::Plan;
use forebay_lab::record::SeriesRecord;
use forebay_lab::scenario::{self, Overrides};
use rayon::prelude::*;

use crate::program;

const SCENARIO: &str = "docs/book/behaviour.toml";
const SEED: u64 = 1;
/// When there are more flows than usual, in seconds.
const CROWD: (f64, f64) = (10.0, 20.0);

/// Each discipline's name and picture.
pub(super) fn all() -> Result<Vec<(&'static str, String)>, String> {
    let grey = series("droptail")?;
    ENTRIES.par_iter().map(|entry| Ok((entry.name, draw(entry, &series(entry.name)?, &grey)))).collect()
}

/// What a run under this discipline recorded.
fn series(aqm: &str) -> Result<SeriesRecord, String> {
    let overrides = Overrides { aqm: vec![aqm.to_string()], ..Overrides::default() };
    let cases = scenario::parse(SCENARIO, &program::read(SCENARIO)?, &overrides).map_err(|error| error.to_string())?;
    let plan = Plan::new(cases, SEED, 1);
    let job = plan.jobs().into_iter().next().ok_or("nothing to run")?;
    let run = plan.run(job, &mut ()).map_err(|error| error.to_string())?;
    Ok(run.ok_or("the run was ended")?.series)
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 708.0;
/// Top and bottom of the queue's panel and of the probe's.
const QUEUE: (f64, f64) = (30.0, 190.0);
const PROBE: (f64, f64) = (226.0, 326.0);

/// A panel with its scales.
struct Panel {
    edge: (f64, f64),
    /// Seconds.
    last: f64,
    most: f64,
}

impl Panel {
    fn x(&self, t: f64) -> f64 {
        LEFT + t / self.last * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        self.edge.1 - value / self.most * (self.edge.1 - self.edge.0)
    }

    /// Frame, crowd, and marks at both ends of the scale.
    fn frame(&self, out: &mut String, title: &str) {
        let (top, bottom) = self.edge;
        let (from, to) = (self.x(CROWD.0), self.x(CROWD.1));
        let _ = writeln!(
            out,
            "<rect x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{}\" fill=\"#f3efe6\"/>\
             <path d=\"M{LEFT} {top}V{bottom}H{RIGHT}\" fill=\"none\" stroke=\"#888\"/>\
             <text x=\"{LEFT}\" y=\"{}\">{title}</text>",
            to - from,
            bottom - top,
            top - 8.0,
        );
        for value in [0.0, self.most / 2.0, self.most] {
            let y = self.y(value) + 4.0;
            let _ =
                writeln!(out, "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", LEFT - 6.0, short(value));
        }
    }

    /// A line through the points that there are.
    fn line(&self, out: &mut String, points: impl Iterator<Item = (f64, Option<f64>)>, colour: &str) {
        let (mut path, mut down) = (String::new(), false);
        for (t, value) in points {
            match value {
                Some(value) => {
                    let pen = if down { 'L' } else { 'M' };
                    let _ = write!(path, "{pen}{:.1} {:.1}", self.x(t), self.y(value.min(self.most)));
                    down = true;
                }
                None => down = false,
            }
        }
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\"/>");
    }
}

fn draw(entry: &Entry, own: &SeriesRecord, grey: &SeriesRecord) -> String {
    let probe = entry.probes.first().zip(own.probes.first());
    let bottom = if probe.is_some() { PROBE.1 } else { QUEUE.1 };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        bottom + 40.0
    );
    let last = own.time_s.last().copied().unwrap_or(1.0);
    let most = own.queue_mean_pkts.iter().chain(&grey.queue_mean_pkts).copied().fold(1.0, f64::max);
    let queue = Panel { edge: QUEUE, last, most: round_up(most) };
    queue.frame(&mut out, &format!("queue in packets: {}, and drop-tail in grey", entry.name));
    let of = |series: &SeriesRecord| -> Vec<(f64, Option<f64>)> {
        series.time_s.iter().copied().zip(series.queue_mean_pkts.iter().map(|q| Some(*q))).collect()
    };
    queue.line(&mut out, of(grey).into_iter(), "#c4c4c4");
    queue.line(&mut out, of(own).into_iter(), "#1f5f8b");
    if let Some((spec, (_, values))) = probe {
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        let panel = Panel { edge: PROBE, last, most: round_up(most) };
        let unit = if spec.unit == "1" { String::new() } else { format!(" in {}", spec.unit.replace('|', " or ")) };
        panel.frame(&mut out, &format!("{}.{}{unit}", entry.name, spec.name));
        panel.line(&mut out, own.time_s.iter().copied().zip(values.iter().copied()), "#b3541e");
    }
    for t in [0.0, 10.0, 20.0, 30.0] {
        let (x, y) = (queue.x(t), bottom + 16.0);
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{t}</text>");
    }
    let (x, y) = ((LEFT + RIGHT) / 2.0, bottom + 32.0);
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">seconds</text>\n</svg>");
    out
}

/// The next of 1, 2, 5 times a power of ten; 1 for nothing.
fn round_up(value: f64) -> f64 {
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
