//! What the page of real packets says before anything else: that they are real, whether their timing was that of the network,
//! and how late they were.

use std::path::Path;

use serde_json::{Value, json};

use super::tables::significant;
use crate::disk;

/// The file with the timing of each real run beside simulated ones.
pub const TIMING: &str = "timing.json";

/// The timing of one real run, as its emulator told it.
struct Run {
    /// What it is called; none where it is the only one.
    name: Option<String>,
    seed: Value,
    timing: Value,
}

impl Run {
    fn is_valid(&self) -> bool {
        self.timing["valid"] == true
    }

    /// Percentiles of what was late one way, in milliseconds.
    fn late(&self, way: &str) -> [String; 3] {
        ["p50", "p99", "max"].map(|part| number(&self.timing["late_ms"][way][part]))
    }
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "–".to_string(), significant)
}

/// The real runs of a directory.
pub(super) struct Real {
    runs: Vec<Run>,
    /// Are there simulated runs beside them?
    pub(super) mixed: bool,
}

impl Real {
    /// Those of this directory; none if it has simulated runs alone.
    pub(super) fn read(dir: &Path, meta: &Value) -> Option<Self> {
        if meta["kind"] == "link" {
            let run = Run { name: None, seed: Value::Null, timing: meta["timing"].clone() };
            return Some(Self { runs: vec![run], mixed: false });
        }
        let known = disk::read_json(&dir.join(TIMING)).ok()?;
        let run = |run: &Value| Run {
            name: run["label"].as_str().map(str::to_string),
            seed: run["seed"].clone(),
            timing: run["timing"].clone(),
        };
        // Those of other seeds are kept for a later run of more.
        let seeds = meta["seeds"].as_array();
        let counts = |run: &&Value| seeds.is_none_or(|seeds| seeds.contains(&run["seed"]));
        let runs: Vec<Run> = known.as_array()?.iter().filter(counts).map(run).collect();
        (!runs.is_empty()).then_some(Self { runs, mixed: true })
    }

    /// What stands above everything else.
    pub(super) fn notice(&self) -> Value {
        let invalid: Vec<&Run> = self.runs.iter().filter(|run| !run.is_valid()).collect();
        let what = if self.mixed { "Real packets beside simulated ones" } else { "Real packets" };
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
                "Packets were not delayed, queued and sent as the link says: do not use the figures of an invalid run."
                    .to_string(),
            );
        }
        for run in invalid {
            let faults = run.timing["faults"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let faults = faults.collect::<Vec<_>>().join("; ");
            text.push(run.name.as_ref().map_or(faults.clone(), |name| format!("{name}, seed {}: {faults}", run.seed)));
        }
        json!({ "valid": self.runs.iter().all(Run::is_valid), "title": title, "text": text })
    }

    /// How late packets of each run were, each way.
    pub(super) fn table(&self) -> Value {
        let mut columns: Vec<Value> = ["run", "timing", "way"].map(|name| json!({ "name": name })).to_vec();
        let late = ["median", "p99", "longest"];
        columns.extend(late.map(|name| json!({ "name": name, "unit": "ms", "numeric": true })));
        let rows = self.runs.iter().flat_map(|run| ["up", "down"].map(|way| row(run, way)));
        let mut caption = "How long after its due time a packet was handed on.".to_string();
        if let [Run { timing, .. }] = self.runs.as_slice() {
            let share = timing["cpu_seconds"].as_f64().zip(timing["wall_seconds"].as_f64());
            if let Some((cpu, wall)) = share {
                caption += &format!(" The link took {} % of a processor.", significant(100.0 * cpu / wall));
            }
            if let (Some(missed), Some(refused)) = (timing["missed_pkts"].as_u64(), timing["refused_pkts"].as_u64()) {
                let [median, p99] = ["p50", "p99"].map(|part| number(&timing["age_ms"][part]));
                caption += &format!(" Packets were seen {median} ms after they came (p99 {p99} ms)");
                caption += &format!("; {missed} were missed, {refused} refused by an interface.");
            }
        }
        json!({
            "id": "timing",
            "title": "How late packets were",
            "caption": caption,
            "columns": columns,
            "rows": rows.collect::<Vec<_>>(),
        })
    }
}

fn row(run: &Run, way: &str) -> Vec<String> {
    let name = run.name.as_ref().map_or("this run".to_string(), |name| format!("{name}, seed {}", run.seed));
    let timing = if run.is_valid() { "valid" } else { "invalid" };
    [name, timing.to_string(), way.to_string()].into_iter().chain(run.late(way)).collect()
}
