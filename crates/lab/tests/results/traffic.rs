//! Classes of traffic: their summaries, comparisons and Parquet rows.

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::record::RunRecord;
use forebay_lab::scenario::Overrides;
use forebay_lab::{compare, table};

/// The scenario `examples/home.toml` has three groups of flows: download, web and call. Only web has completion times.
#[test]
fn traffic_class_results_reach_parquet_and_summary() {
    let text = include_str!("../../../../examples/home.toml");
    let sets = ["duration=12s", "warmup=2s"].map(str::to_string).to_vec();
    let changes = Overrides { sets, aqm: vec!["droptail".into(), "fq_codel".into()], ..Overrides::default() };
    let plan = Plan::new(load::parse("home", text, &changes).unwrap(), 1, 2);
    let records: Vec<RunRecord> = plan.jobs().into_iter().map(|job| plan.run(job, &mut ()).unwrap().unwrap()).collect();
    let names = |record: &RunRecord| record.summary.traffic.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert!(records.iter().all(|record| names(record) == ["download", "web", "call", "all"]));
    let rows = |table: table::Table| table.columns().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    assert!(
        rows(table::traffic(&records))
            .ends_with(&["rpm", "startup_s", "stall_s", "stalls_per_hour", "video_bps", "qoe"].map(str::to_string))
    );
    for record in &records {
        let all = record.summary.traffic.last().unwrap();
        assert_eq!(record.completions.len() as u64, all.fct_n);
        assert!(record.completions.iter().all(|file| record.flows[file.flow as usize].group == "web"));
        let sum: f64 = record.summary.traffic[..3].iter().map(|class| class.goodput_bps).sum();
        assert!((sum / all.goodput_bps - 1.0).abs() < 1e-9);
        assert!((all.goodput_bps / record.summary.goodput_bps - 1.0).abs() < 1e-9);
    }
    let compared = compare::compare(&plan, &records);
    let [droptail, fq_codel] = compared.cases[0].contenders.as_slice() else { panic!() };
    assert!(droptail.classes.get("web").unwrap().difference.is_empty());
    let call = fq_codel.classes.get("call").unwrap();
    assert!(call.mean.get("wait_ms.p99").unwrap().mean < 5.0);
    assert!(call.mean.get("rtt_ms.p50").is_none(), "a call has no TCP sender");
    assert!(call.difference.get("wait_ms.p99").unwrap().unwrap().mean < -50.0);
}

/// Up to 256 groups of flows are measured one by one, because the number of a measured group has 8 bits. More groups
/// are measured together, by service class.
#[test]
fn more_than_256_flow_groups_are_measured_together() {
    let group = |n: usize| format!("[[flows]]\nname = \"g{n}\"\nkind = \"cbr\"\nrate = \"8kbit\"\npacket = 100\n");
    let head = "version = 1\nduration = \"2s\"\n[topology]\nkind = \"dumbbell\"\n\
        bottleneck = { rate = \"10mbit\", delay = \"1ms\", queue = \"100p\" }\n\
        access = { rate = \"100mbit\", delays = [\"1ms\"] }\negress = { delay = \"1ms\" }\n";
    let names = |groups: usize| {
        let text = head.to_string() + &(0..groups).map(group).collect::<String>();
        let plan = Plan::new(load::parse("many", &text, &Overrides::default()).unwrap(), 1, 1);
        let record = plan.run(plan.jobs()[0], &mut ()).unwrap().unwrap();
        record.summary.traffic.into_iter().map(|traffic| traffic.name).collect::<Vec<_>>()
    };
    assert_eq!(names(257), ["0", "all"]);
    let all = names(256);
    assert_eq!((all.len(), all[255].as_str()), (257, "g255"));
}
