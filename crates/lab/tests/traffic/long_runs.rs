//! Long runs: the time series cover every second, and the record of the results is read back unchanged.

use crate::dumbbell::{Dumbbell, SLOW, read, run};
use forebay_lab::record::{Reference, RunRecord};

#[test]
fn record_of_2500_s_run_is_complete() {
    let bell = Dumbbell {
        head: "duration = \"2500s\"\npacket = 1500",
        bottleneck: "rate = \"100kbit\", delay = \"10ms\", queue = \"10p\"",
        ..SLOW
    };
    let record = run(read(&bell.with("[[flows]]\nkind = \"ftp\"")).unwrap());
    assert!(record.series.time_s.len() >= 2500);
    assert!(matches!(record.reference, Reference::SteadyMean(q) if q.is_finite()));
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), record, "the same to the last bit");
}
