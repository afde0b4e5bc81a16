//! What `report.html` shows if packets were real, not simulated: a notice that says so and whether the emulated link
//! sent them at the times that it computed, and a table of their lateness: how long after these times they were sent.

use std::path::Path;

use super::shapes::{Cell, Column, Notice, Table};
use super::summary_tables::significant;
use crate::disk;
use crate::disk::store_error::StoreError;
use crate::results::meta::RunMeta;
use crate::results::record::Spread;
use crate::results::timing::{RunTiming, Seen, Timing};

/// The file with the timing of each run with real packets. Its directory can have simulated runs too.
pub const TIMING: &str = "timing.json";

/// The runs of a directory that had real packets.
pub(super) struct Real {
    runs: Vec<RunTiming>,
    /// Whether there are simulated runs too.
    pub(super) mixed: bool,
}

impl Real {
    /// The runs of this directory that had real packets; `None` if all runs were simulated.
    ///
    /// # Errors
    /// The file with the timings cannot be read or is damaged.
    pub(super) fn read(dir: &Path, meta: &RunMeta) -> Result<Option<Self>, StoreError> {
        if let Some(timing) = meta.link() {
            let run = RunTiming { label: None, seed: 0, attempts: 1, timing };
            return Ok(Some(Self { runs: vec![run], mixed: false }));
        }
        let path = dir.join(TIMING);
        let Some(text) = disk::text_if_there(&path)? else { return Ok(None) };
        let mut runs: Vec<RunTiming> = serde_json::from_str(&text).map_err(disk::damaged(&path))?;
        // The file also has runs with seeds that `report.html` does not show.
        runs.retain(|run| meta.seeds.contains(&run.seed));
        Ok((!runs.is_empty()).then_some(Self { runs, mixed: true }))
    }

    /// The notice at the top of the page.
    pub(super) fn notice(&self) -> Notice {
        let invalid: Vec<&RunTiming> = self.runs.iter().filter(|run| !run.timing.valid).collect();
        let what = if self.mixed { "Real packets and simulated ones" } else { "Real packets" };
        let title = match (invalid.len(), self.runs.len()) {
            (0, _) => format!("{what}: their timing is valid"),
            (_, 1) => format!("{what}: their timing is INVALID"),
            (some, all) => format!("{what}: the timing of {some} of {all} runs is INVALID"),
        };
        let mut text = vec![if self.mixed {
            "Rows and curves with (kernel) are connections of this machine's kernel over emulated links; those with (simulated) are \
             the same scenario in the simulator."
                .to_string()
        } else {
            "A command of this machine behind an emulated link.".to_string()
        }];
        if !invalid.is_empty() {
            text.push(
                "The link did not delay, queue and send packets as specified: do not use the figures of an invalid run."
                    .to_string(),
            );
        }
        for run in invalid {
            let faults = run.timing.faults.join("; ");
            text.push(run.label.as_ref().map_or(faults.clone(), |name| format!("{name}, seed {}: {faults}", run.seed)));
        }
        Notice { valid: self.runs.iter().all(|run| run.timing.valid), title, text }
    }

    /// Table of the lateness of each run's packets, in each direction.
    pub(super) fn table(&self) -> Table {
        let mut columns = ["run", "timing", "way"].map(Column::words).to_vec();
        columns.extend(["median", "p99", "longest"].map(|name| Column::numbers(name, "ms")));
        let rows = self.runs.iter().flat_map(|run| ["up", "down"].map(|way| row(run, way)));
        let mut caption = "How long after its due time a packet was sent.".to_string();
        if let [RunTiming { timing, .. }] = self.runs.as_slice() {
            if let Some((cpu, wall)) = timing.cpu_seconds.zip(timing.wall_seconds) {
                caption += &format!(" The link used {} % of a CPU.", significant(100.0 * cpu / wall));
            }
            if let Some(Seen { age_ms, missed_pkts, refused_pkts, .. }) = &timing.seen {
                let [median, p99, _] = late(age_ms.as_ref());
                caption += &format!(" Packets were read {median} ms after they arrived (p99 {p99} ms)");
                caption += &format!("; {missed_pkts} were missed; an interface refused {refused_pkts}.");
            }
        }
        Table {
            id: "timing".to_string(),
            title: "Transmit lateness".to_string(),
            caption: Some(caption),
            columns,
            rows: rows.collect(),
            ..Table::default()
        }
    }
}

fn row(run: &RunTiming, way: &str) -> Vec<Cell> {
    let name = run.label.as_ref().map_or("this run".to_string(), |name| format!("{name}, seed {}", run.seed));
    let Timing { valid, late_ms, .. } = &run.timing;
    let timing = if *valid { "valid" } else { "invalid" };
    let late = late(late_ms.get(way).and_then(Option::as_ref));
    [name, timing.to_string(), way.to_string()].into_iter().chain(late).map(Cell::from).collect()
}

/// Median, 99th percentile and maximum of the packets' lateness, in milliseconds, as text.
fn late(spread: Option<&Spread>) -> [String; 3] {
    spread.map_or_else(|| ["–"; 3].map(str::to_string), |s| [s.p50, s.p99, s.max].map(significant))
}
