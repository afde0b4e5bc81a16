//! Runs of the scenario of the book's pictures, and the panel of their queue.

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::record::SeriesRecord;
use forebay_lab::render::svg::{Panel, Svg, round_up};
use forebay_lab::scenario::Overrides;

use crate::base::program;

const SCENARIO: &str = "docs/book/behaviour.toml";
const SEED: u64 = 1;
/// Begin and end of the time with more flows, in seconds.
pub(super) const CROWD: (f64, f64) = (10.0, 20.0);
/// Labels of the time axis.
pub(super) const SECONDS: [f64; 4] = [0.0, 10.0, 20.0, 30.0];

/// The time series of a run of the scenario with this discipline.
pub(super) fn series(aqm: &str) -> Result<SeriesRecord, String> {
    let overrides = Overrides { aqm: vec![aqm.to_string()], ..Overrides::default() };
    let cases = load::parse(SCENARIO, &program::read(SCENARIO)?, &overrides).map_err(|error| error.to_string())?;
    let plan = Plan::new(cases, SEED, 1);
    let job = plan.jobs().into_iter().next().ok_or("nothing to run")?;
    let run = plan.run(job, &mut ()).map_err(|error| error.to_string())?;
    Ok(run.ok_or("the run was ended")?.series)
}

/// Draws the queue of one run over time, in front of drop-tail's in grey. More can be drawn into the returned panel.
pub(super) fn queues(
    out: &mut Svg,
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
