//! A picture of each discipline at work: the queue against time, and the first thing it lets one look at.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Entry;
use forebay_aqm::base::markers::MARKERS;
use forebay_lab::plan::Plan;
use forebay_lab::record::SeriesRecord;
use forebay_lab::scenario::{self, Overrides};
use rayon::prelude::*;

use super::marking;
use super::panel::{self, Panel, round_up};
use crate::program;

const SCENARIO: &str = "docs/book/behaviour.toml";
const SEED: u64 = 1;
/// When there are more flows than usual, in seconds.
const CROWD: (f64, f64) = (10.0, 20.0);
/// Marks of the time.
pub(super) const SECONDS: [f64; 4] = [0.0, 10.0, 20.0, 30.0];

/// Each discipline's name and picture, and each marker's.
pub(super) fn all() -> Result<Vec<(&'static str, String)>, String> {
    let grey = series("droptail")?;
    let disciplines = ENTRIES.par_iter().map(|entry| Ok((entry.name, draw(entry, &series(entry.name)?, &grey))));
    let markers = MARKERS.par_iter().map(|marker| Ok((marker.name, marking::draw(marker, &grey)?)));
    disciplines.chain(markers).collect()
}

/// What a run under this discipline recorded.
pub(super) fn series(aqm: &str) -> Result<SeriesRecord, String> {
    let overrides = Overrides { aqm: vec![aqm.to_string()], ..Overrides::default() };
    let cases = scenario::parse(SCENARIO, &program::read(SCENARIO)?, &overrides).map_err(|error| error.to_string())?;
    let plan = Plan::new(cases, SEED, 1);
    let job = plan.jobs().into_iter().next().ok_or("nothing to run")?;
    let run = plan.run(job, &mut ()).map_err(|error| error.to_string())?;
    Ok(run.ok_or("the run was ended")?.series)
}

/// Top and bottom of the queue's panel and of the probe's.
const QUEUE: (f64, f64) = (30.0, 190.0);
const PROBE: (f64, f64) = (226.0, 326.0);

fn draw(entry: &Entry, own: &SeriesRecord, grey: &SeriesRecord) -> String {
    let probe = entry.probes.first().zip(own.probes.first());
    let bottom = if probe.is_some() { PROBE.1 } else { QUEUE.1 };
    let mut out = panel::begin(bottom + 40.0);
    let last = own.time_s.last().copied().unwrap_or(1.0);
    let mut lowest = queues(&mut out, (entry.name, own), grey, QUEUE);
    if let Some((spec, (_, values))) = probe {
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        let panel = Panel { edge: PROBE, last, most: round_up(most) };
        let unit = if spec.unit == "1" { String::new() } else { format!(" in {}", spec.unit.replace('|', " or ")) };
        panel.band(&mut out, CROWD);
        panel.frame(&mut out, &format!("{}.{}{unit}", entry.name, spec.name));
        panel.line(&mut out, own.time_s.iter().copied().zip(values.iter().copied()), "#b3541e");
        lowest = panel;
    }
    lowest.below(&mut out, &SECONDS, "seconds");
    out + panel::END
}

/// The queue of one run against time in front of drop-tail's in grey; the panel may take more.
pub(super) fn queues(
    out: &mut String,
    (name, own): (&str, &SeriesRecord),
    grey: &SeriesRecord,
    edge: (f64, f64),
) -> Panel {
    let last = own.time_s.last().copied().unwrap_or(1.0);
    let most = own.queue_mean_pkts.iter().chain(&grey.queue_mean_pkts).copied().fold(1.0, f64::max);
    let panel = Panel { edge, last, most: round_up(most) };
    panel.band(out, CROWD);
    panel.frame(out, &format!("queue in packets: {name}, and drop-tail in grey"));
    for (series, colour) in [(grey, "#c4c4c4"), (own, "#1f5f8b")] {
        let points = series.time_s.iter().copied().zip(series.queue_mean_pkts.iter().map(|q| Some(*q)));
        panel.line(out, points, colour);
    }
    panel
}
