use std::sync::atomic::AtomicBool;

use forebay_lab::load;
use forebay_lab::plan::{Job, Plan};
use forebay_lab::record::{self, RunRecord};
use forebay_lab::scenario::Overrides;
use forebay_lab::stats::mean;
use runner::program;

use super::cells::{self, LONG, Side, Verdict};
use super::page::{self, IN_TABLES};
use super::{SCENARIOS, SEEDS};
use crate::skips;

/// A run of a cell: queue, drop ratio, mark ratio, p99 of the wait, goodput.
fn run(side: &str, [queue, drops, marks, wait, goodput]: [f64; 5]) -> RunRecord {
    let spread = |mean: f64, p99: f64| serde_json::json!({ "mean": mean, "std": 0, "p50": 0, "p99": p99, "max": 0 });
    let axes = serde_json::json!({
        "flows.bulk.tcp": "sack", "topology.bottleneck.delay": "13ms", "flows.bulk.count": "8",
    });
    let summary = serde_json::json!({
        "label": "", "aqm": format!("codel target=5ms ({side})"), "axes": axes, "seed": 1, "link": "",
        "utilisation": 1, "goodput_ratio": 1, "queue_pkts": spread(queue, 0.0), "sojourn_ms": spread(0.0, wait),
        "loss_ratio": drops, "mark_ratio": marks, "goodput_bps": goodput, "received_bps": goodput,
        "offered_pkts": 1, "delivered_pkts": 1, "dropped": { "early": 0, "overflow": 0 }, "jain": 1, "events": 1,
        "packets": 1, "cpu_seconds": 1, "fingerprint": "", "classes": [], "settling_s": null, "overshoot_pkts": 0,
    });
    let flow = |sent: u64, again: u64| {
        serde_json::json!({
            "group": "bulk", "class": 0, "goodput_bytes": 1, "active_s": 1, "sent_pkts": sent,
            "retransmitted_pkts": again, "timeouts": 0,
        })
    };
    let series = serde_json::json!({
        "time_s": [5.0, 10.0, 15.0, 20.0], "queue_pkts": [0, 0, 0, 0], "queue_mean_pkts": [0, 0, 0, 0],
        "probes": [["bulk.cwnd", [10.0, 20.0, 31.0, null]]],
    });
    serde_json::from_value(serde_json::json!({
        "summary": summary, "duration_s": 20, "reference": { "Given": 0.0 }, "queue_shares": [], "series": series,
        "flows": [flow(100, 1), flow(300, 3)],
    }))
    .unwrap()
}

#[test]
fn means_differ_beyond_limit_and_interval() {
    let [queue, signals, wait, goodput, ..] = &LONG;
    for (quantity, one, other, verdict) in [
        // 10 % of 100, and less than 10 packets: both within 2.
        (queue, [99.0, 101.0], [89.0, 91.5], Verdict::Close),
        (queue, [5.0, 5.0], [6.9, 6.9], Verdict::Close),
        // Variances 2 and 2: sqrt(2) x 4.302653 = 6.08, and 11 packets of difference.
        (queue, [99.0, 101.0], [88.0, 90.0], Verdict::Apart),
        // Variances 2 and 162, freedom 1.02: 12.7 x sqrt(82).
        (queue, [99.0, 101.0], [80.0, 98.0], Verdict::Open),
        (signals, [0.0, 0.0], [0.004, 0.004], Verdict::Close),
        (signals, [0.0, 0.0], [0.006, 0.006], Verdict::Apart),
        (signals, [1.0, 1.0], [1.1, 1.1], Verdict::Close),
        (wait, [1.0, 1.0], [2.1, 2.1], Verdict::Apart),
        (goodput, [25.0, 25.0], [24.7, 24.7], Verdict::Apart),
    ] {
        assert_eq!(quantity.verdict(&one, &other), verdict, "{}: {one:?} {other:?}", quantity.name);
        assert_eq!(quantity.verdict(&other, &one), verdict, "{}: {other:?} {one:?}", quantity.name);
    }
}

#[test]
fn row_has_means_intervals_and_stars() {
    let linux = [[9.0, 0.01, 0.0, 5.0, 25e6], [11.0, 0.01, 0.0, 5.0, 25e6]].map(|one| run("linux", one));
    let ours = [[10.0, 0.01, 0.01, 5.5, 24.9e6], [10.0, 0.01, 0.01, 5.5, 24.9e6]].map(|one| run("simulated", one));
    let [linux, ours] = cells::sides(linux.into_iter().chain(ours), &LONG).unwrap();
    let [cell] = &cells::cells(&linux, &ours)[..] else { panic!("one cell") };
    let place = &cell.place;
    assert_eq!((place.control.as_str(), place.round_trip, place.flows), ("reno", 30, 8));
    // 12.706 x sqrt(2) / sqrt(2).
    let row = "| 8 | codel | 10.0 ± 12.7 | 10.0 ± 0.0 | 1.000 ± 0.000 | 2.000 ± 0.000 * | 5.0 ± 0.0 | 5.5 ± 0.0 | 25.00 ± 0.00 | 24.90 ± 0.00 |";
    assert_eq!(page::row(cell), row);
    assert_eq!(cell.ratio(1), 2.0);
    // Retransmissions 4 of 400; windows of the first 10 s, and of the rows after them that have one.
    let means: Vec<f64> = cell.linux[IN_TABLES..].iter().map(|samples| mean(samples)).collect();
    assert_eq!(means, [1.0, 1.0, 15.0, 31.0]);
}

/// Cells that the tests repeat: congestion control in the scenario and on Linux, delay of the bottleneck, round trip,
/// number of connections, discipline. None with BBR: it draws the kernel's random numbers, which differ with the
/// kernel's configuration.
const REPEATED: [(&str, &str, &str, u32, u32, &str); 3] = [
    ("linux", "cubic", "13ms", 30, 16, "codel"),
    ("dctcp", "dctcp", "3ms", 10, 2, "pie"),
    ("sack", "reno", "48ms", 100, 6, "dualpi2"),
];

/// A run of a plan.
type Run<'a> = &'a dyn Fn(&Plan, Job) -> RunRecord;

/// Repeats cells with `run`, and compares the results with those of Linux (0) or of the simulator (1) in the committed
/// page.
fn repeat(side_in_page: usize, run: Run<'_>) {
    let committed = program::read(page::FILE).unwrap();
    for (control, named, delay, round_trip, flows, discipline) in REPEATED {
        let sets = [
            format!("vary.flows.bulk.tcp=[\"{control}\"]"),
            format!("vary.topology.bottleneck.delay=[\"{delay}\"]"),
            format!("vary.flows.bulk.count=[{flows}]"),
        ];
        let overrides = Overrides { sets: sets.to_vec(), aqm: vec![discipline.to_string()], ..Overrides::default() };
        let cases = load::file(&program::root().join(SCENARIOS[0]), &overrides).unwrap();
        let plan = Plan::new(cases, 1, SEEDS);
        let mut side = Side::default();
        for job in plan.jobs() {
            cells::add(&mut side, &LONG, &run(&plan, job));
        }
        let title = format!("### {named}, {round_trip} ms\n");
        let section = committed.split(&title).nth(1).unwrap().split("\n#").next().unwrap();
        let row = section.lines().find(|line| line.starts_with(&format!("| {flows} | {discipline} |"))).unwrap();
        let printed: Vec<&str> = row.split(" | ").skip(2).map(|cell| cell.trim_end_matches([' ', '|', '*'])).collect();
        let found: Vec<String> = (0..IN_TABLES).map(|at| page::interval(&side[at], LONG[at].digits)).collect();
        let expected: Vec<&str> = (0..IN_TABLES).map(|at| printed[2 * at + side_in_page]).collect();
        assert_eq!(found, expected, "{title}{row}");
    }
}

#[test]
fn simulated_runs_reproduce_the_page() {
    repeat(1, &|plan, job| plan.run(job, &mut ()).unwrap().unwrap());
}

/// Other versions of Linux have other results.
#[cfg(target_os = "linux")]
#[test]
fn runs_on_linux_reproduce_the_page() {
    use forebay_linux::place::{Kernel, REMEDY};

    let kernel = match Kernel::find() {
        Ok(kernel) => kernel,
        Err(missing) => return skips::skip(format!("{missing}: {REMEDY}")),
    };
    if !program::read(page::FILE).unwrap().contains(&format!("Linux {}", kernel.version())) {
        return skips::skip(format!("the kernel is Linux {}, not that of {}", kernel.version(), page::FILE));
    }
    repeat(0, &|plan, job| {
        let (case, net) = (&plan.cases[job.case], plan.network(job));
        let found = forebay_linux::run::run(&kernel, &net, job.seed, 0, &AtomicBool::new(false)).unwrap();
        record::record(case, &case.scenario.compare[job.contender], job.seed, &net, &found.outcome, 0.0)
    });
}
