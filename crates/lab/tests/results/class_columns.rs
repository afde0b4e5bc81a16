//! Time series (columns) of service classes: recorded on request, and drawn in the report of the run. A column of
//! packets or bytes counts from the start of the run, so its last value is the counter of the class in the results.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use forebay_lab::batch::{self, Control};
use forebay_lab::load;
use forebay_lab::lock::Wait;
use forebay_lab::plan::Plan;
use forebay_lab::quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::report;
use forebay_lab::results::meta::Origin;
use forebay_lab::scenario::Overrides;
use forebay_lab::store::Store;
use serde_json::{Value, json};

const SCENARIO: &str = include_str!("../data/class-columns.toml");

const SERIES: &str = r#"
[report]
series = ["queue", "raqm.p", "class.0.dropped_pkts", "class.2.offered_pkts", "class.2.dropped_pkts",
  "class.2.delivered_pkts", "class.2.delivered_bytes", "class.2.sojourn_ms", "class.9.offered_pkts"]
"#;

fn plan(series: &str) -> Plan {
    Plan::new(load::parse("s.toml", &format!("{SCENARIO}{series}"), &Overrides::default()).unwrap(), 1, 1)
}

fn runs(plan: &Plan) -> Vec<RunRecord> {
    plan.jobs().into_iter().map(|job| plan.run(job, &mut ()).unwrap().unwrap()).collect()
}

#[test]
fn last_value_of_column_equals_counter_of_class() {
    for run in runs(&plan(SERIES)) {
        let label = &run.summary.label;
        let ours = run.series.probes.iter().filter(|(name, _)| name.starts_with("class."));
        assert_eq!(ours.count(), 7, "{label}");
        let of = |name: &str| quantity::of(&run, name).unwrap();
        let last = |name: &str| {
            let (_, column) = run.series.probes.iter().find(|(known, _)| known == name).unwrap();
            assert_eq!(column.len(), run.series.time_s.len(), "{label}: {name}");
            column.last().copied().flatten().unwrap()
        };
        for name in ["class.0.dropped_pkts", "class.2.dropped_pkts", "class.2.offered_pkts"] {
            assert_eq!(last(name), of(name), "{label}: {name}");
        }
        assert_eq!(last("class.0.dropped_pkts") + last("class.2.dropped_pkts"), of("loss_ratio") * of("offered_pkts"));
        assert_eq!(last("class.2.delivered_bytes"), last("class.2.delivered_pkts") * 1500.0, "{label}");
        assert_eq!(last("class.9.offered_pkts"), 0.0, "{label}: there is no class 9");
        // 25 packets per second from the fifth second on.
        assert_eq!(of("growth(class.2.offered_pkts)@0..5"), 0.0, "{label}");
        assert!((of("growth(class.2.offered_pkts)@6..9") - 75.0).abs() <= 1.0, "{label}");
        let (mean, longest) = (of("mean(class.2.sojourn_ms)"), of("class.2.sojourn_ms.max"));
        assert!(0.0 < mean && mean < longest, "{label}: {mean} of {longest} ms");
    }
}

#[test]
fn class_series_not_requested_are_not_recorded() {
    let without = runs(&plan(""));
    assert!(without.iter().all(|run| run.series.probes.iter().all(|(name, _)| !name.starts_with("class."))));
    let prints = |runs: &[RunRecord]| runs.iter().map(|run| run.summary.fingerprint.clone()).collect::<Vec<_>>();
    assert_eq!(prints(&without), prints(&runs(&plan(SERIES))));
}

#[test]
fn report_has_rates_and_sojourn_times_of_classes() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("class-columns");
    let _ = fs::remove_dir_all(&dir);
    let plan = plan(SERIES);
    let store = Store::open(&dir, &plan, &Origin::default(), &Wait::NEVER).unwrap();
    batch::run(&plan, &store, &Control::silent(&AtomicBool::new(false))).unwrap();
    let html = fs::read_to_string(report::build(store.lock().unwrap(), &Wait::NEVER).unwrap()).unwrap();
    let (_, data) = html.split_once("id=\"forebay-data\">").unwrap();
    let page: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let figures = page["figures"].as_array().unwrap();
    let titled = |title: &str| figures.iter().find(|f| f["title"] == title).unwrap_or_else(|| panic!("{title}"));
    let offered = titled("Class 2: offered against time");
    assert_eq!((&offered["y"]["unit"], offered["series"].as_array().unwrap().len()), (&json!("packets/s"), 3));
    let points = &offered["series"][0]["points"];
    let y = points["y"].as_array().unwrap();
    assert_eq!((y.len(), &points["from"], &points["step"]), (10, &json!(1.0), &json!(1.0)), "one a second");
    assert_eq!(y[2], json!(0.0));
    assert!((y[7].as_f64().unwrap() - 25.0).abs() <= 1.0);
    assert_eq!(titled("Class 2: delivered against time")["y"]["unit"], "packets/s");
    let wait = titled("Class 2: wait against time");
    assert_eq!(wait["y"]["unit"], "ms");
    assert!(wait["series"][1]["points"]["y"][0].is_null(), "nothing waits before the fifth second");
    assert!(figures.iter().all(|f| !f["title"].as_str().unwrap().starts_with("2.")));
}
