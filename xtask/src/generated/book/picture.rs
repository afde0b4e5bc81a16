//! The book's picture of each discipline: its queue and its first internal variable (probe) over time.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Entry;
use forebay_aqm::base::markers::MARKERS;
use forebay_lab::record::SeriesRecord;
use forebay_lab::render::svg::{Panel, Svg, WIDTH, round_up};
use rayon::prelude::*;

use super::behaviour::{CROWD, SECONDS, queues, series};
use super::marking;

/// Name and picture of each discipline and each marker (what signals or colours in front of a queue).
pub(super) fn all() -> Result<Vec<(&'static str, String)>, String> {
    let grey = series("droptail")?;
    let disciplines = ENTRIES.par_iter().map(|entry| Ok((entry.name, draw(entry, &series(entry.name)?, &grey))));
    let markers = MARKERS.par_iter().map(|marker| Ok((marker.name, marking::draw(marker, &grey)?)));
    disciplines.chain(markers).collect()
}

/// Top and bottom of the panels of the queue and the probe.
const QUEUE: (f64, f64) = (30.0, 190.0);
const PROBE: (f64, f64) = (226.0, 326.0);

fn draw(entry: &Entry, own: &SeriesRecord, grey: &SeriesRecord) -> String {
    let probe = entry.probes.first().zip(own.probes.first());
    let bottom = if probe.is_some() { PROBE.1 } else { QUEUE.1 };
    let mut out = Svg::new(WIDTH, bottom + 40.0, &[]);
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
    out.finish()
}
