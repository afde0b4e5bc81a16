//! Runs longer than the series has rows: every second is still covered, and the record survives the disk.

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::record::{Reference, RunRecord};
use forebay_lab::scenario::Overrides;

const TEXT: &str = r#"
version = 1
duration = "2500s"
packet = 1500
[topology]
kind = "dumbbell"
bottleneck = { rate = "100kbit", delay = "10ms", queue = "10p" }
access = { hosts = 1, rate = "1mbit", delays = ["10ms"] }
egress = { rate = "1mbit", delay = "10ms" }
[[flows]]
kind = "ftp"
"#;

#[test]
fn a_run_of_2500_s_is_whole() {
    let plan = Plan::new(load::parse("long.toml", TEXT, &Overrides::default()).unwrap(), 1, 1);
    let record = plan.run(plan.jobs()[0], &mut ()).unwrap().unwrap();
    assert!(record.series.time_s.len() >= 2500);
    assert!(matches!(record.reference, Reference::SteadyMean(q) if q.is_finite()));
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), record, "the same to the last bit");
}
