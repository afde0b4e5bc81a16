//! Time series of flows and of classes of traffic: recorded on request, consistent with the run's counters, without
//! effect on the run.

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::scenario::Overrides;

/// A round trip has 30 ms of propagation delay, one way 15 ms.
const SCENARIO: &str = r#"
version = 1
duration = "20s"
warmup = "4s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10mbit", delay = "5ms", queue = "60p", aqm = "droptail" }
access = { hosts = 2, rate = "100mbit", delays = ["5ms"] }
egress = { delay = "5ms" }
[[flows]]
kind = "ftp"
count = 2
[[flows]]
kind = "cbr"
name = "call"
rate = "100kbit"
active = ["10s", "20s"]
"#;

fn run(series: &str) -> RunRecord {
    let text = format!("{SCENARIO}[report]\nseries = [{series}]\n");
    let plan = Plan::new(load::parse("s.toml", &text, &Overrides::default()).unwrap(), 1, 1);
    plan.run(plan.jobs()[0], &mut ()).unwrap().unwrap()
}

fn column<'a>(run: &'a RunRecord, name: &str) -> &'a [Option<f64>] {
    let found = run.series.probes.iter().find(|(known, _)| known == name);
    let (_, column) = found.unwrap_or_else(|| panic!("{name}"));
    assert_eq!(column.len(), run.series.time_s.len(), "{name}");
    column
}

/// Values after the first second.
fn settled(run: &RunRecord, name: &str) -> Vec<f64> {
    let times = run.series.time_s.iter().zip(column(run, name));
    times.filter(|(time, _)| **time > 1.0).filter_map(|(_, value)| *value).collect()
}

/// Round-trip times and delays are between those of the path without a queue and those with a full queue. The sums of
/// the recorded rates are the bytes that the counters of the run have.
#[test]
fn flow_series_agree_with_counters_and_path_delays() {
    let of_one = ["cwnd", "rtt", "rate", "delay"].map(|field| format!("\"ftp.1.{field}\"")).join(", ");
    let run = run(&format!(
        "{of_one}, \"ftp.cwnd\", \"ftp.rate\", \"ftp.0.rate\", \"ftp.0.cwnd\", \"call.rate\", \"call.cwnd\""
    ));
    // A queue of 60 packets of 1500 bytes at 10 Mb/s takes 72 ms.
    let within = |name: &str, lo: f64, hi: f64| {
        let all = settled(&run, name);
        assert!(all.len() > 50, "{name}: {} values", all.len());
        let outside = all.iter().find(|x| !(lo..=hi).contains(*x));
        assert_eq!(outside, None, "{name} from {lo} to {hi}");
    };
    within("ftp.1.rtt", 30.0, 30.0 + 72.0 + 15.0);
    within("ftp.1.delay", 15.0, 15.0 + 72.0 + 5.0);
    // Sums over the run.
    let sample = run.series.time_s[0];
    let bytes = |name: &str| column(&run, name).iter().flatten().sum::<f64>() * sample / 8.0;
    assert!((bytes("ftp.0.rate") + bytes("ftp.1.rate") - bytes("ftp.rate")).abs() < 1.0);
    let [sent, again] = [0, 1].map(|flow| run.flows[flow].sent_pkts as f64);
    let received = bytes("ftp.rate") / 1500.0;
    assert!(received <= sent + again && received > 0.97 * (sent + again) - 120.0, "{received} of {sent} + {again}");
    assert!((bytes("call.rate") * 8.0 / 10.0 - 1e5).abs() < 5e3, "{}", bytes("call.rate"));
    assert!(column(&run, "call.cwnd").iter().all(Option::is_none), "datagrams have no window");
    // The group's window is the mean of its flows.
    let at = run.series.time_s.len() / 2;
    let [all, first, second] = ["ftp.cwnd", "ftp.0.cwnd", "ftp.1.cwnd"].map(|name| column(&run, name)[at].unwrap());
    assert!((all - f64::midpoint(first, second)).abs() < 2e-3, "{all} of {first} and {second}");
}

/// The bounds follow from the scenario: windows of 20 packets never fill the queue of 60, so nothing is lost.
#[test]
fn window_series_have_the_windows_of_the_scenario() {
    let windows = "count = 2\nwindow = 20\ninitial_window = 10\nstart = \"0s\"";
    let series = ["cwnd", "inflight", "rtt", "rate"].map(|field| format!("\"ftp.1.{field}\"")).join(", ");
    let text = format!("{}[report]\nseries = [{series}]\n", SCENARIO.replace("count = 2", windows));
    let plan = Plan::new(load::parse("s.toml", &text, &Overrides::default()).unwrap(), 1, 1);
    let run = plan.run(plan.jobs()[0], &mut ()).unwrap().unwrap();
    // The first row is at 20 ms; the first acknowledgement arrives after 30 ms.
    let first = |name: &str| column(&run, name)[0];
    assert_eq!((first("ftp.1.cwnd"), first("ftp.1.inflight")), (Some(10.0), Some(10.0)));
    let outstanding = settled(&run, "ftp.1.inflight");
    assert!(outstanding.iter().all(|packets| *packets <= 20.0), "the receiver's window");
    // Little's law; 5 %, because a row is an instant of one and an average of the other.
    let mean = |name: &str| settled(&run, name).iter().sum::<f64>() / settled(&run, name).len() as f64;
    let by_law = mean("ftp.1.rate") * mean("ftp.1.rtt") * 1e-3 / (8.0 * 1500.0);
    assert!((mean("ftp.1.inflight") / by_law - 1.0).abs() < 0.05, "{} and {by_law}", mean("ftp.1.inflight"));
}

#[test]
fn traffic_class_series_agree_with_link_results() {
    let run = run("");
    let of = |name: &str| quantity::of(&run, name).unwrap();
    let mean = |name: &str| {
        let values: Vec<f64> = column(&run, name).iter().flatten().copied().collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    assert!((of("mean(all.throughput_bps)@4..20") / 1e7 - of("utilisation")).abs() < 0.003);
    let parts = mean("ftp.throughput_bps") + mean("call.throughput_bps");
    assert!((parts - mean("all.throughput_bps")).abs() < 1.0, "{parts}");
    let (mean, exact) = (of("mean(all.wait_ms)@4..20"), run.summary.sojourn_ms.unwrap().mean);
    assert!((mean / exact - 1.0).abs() < 0.02, "rows have nearly equal numbers of packets: {mean} and {exact}");
    let early = column(&run, "call.wait_ms").iter().zip(&run.series.time_s).filter(|(_, time)| **time < 10.0);
    assert!(early.into_iter().all(|(wait, _)| wait.is_none()), "the call begins after 10 s");
}

#[test]
fn series_of_flow_covers_all_its_active_times() {
    let text = SCENARIO.replace("count = 2", "count = 2\nactive = [[\"0s\", \"5s\"], [\"10s\", \"20s\"]]");
    let text = format!("{text}[report]\nseries = [\"ftp.0.rate\"]\n");
    let plan = Plan::new(load::parse("s.toml", &text, &Overrides::default()).unwrap(), 1, 1);
    let run = plan.run(plan.jobs()[0], &mut ()).unwrap().unwrap();
    let mean = |from: f64, to: f64| quantity::of(&run, &format!("mean(ftp.0.rate)@{from}..{to}")).unwrap();
    assert!(mean(1.0, 5.0) > 1e6 && mean(6.0, 10.0) < 1.0 && mean(11.0, 20.0) > 1e6);
}

#[test]
fn recording_flow_series_does_not_change_the_run() {
    let with = run("\"ftp.cwnd\", \"ftp.0.rtt\", \"call.delay\"");
    assert_eq!(with.summary.fingerprint, run("").summary.fingerprint);
}

#[test]
fn unknown_flow_series_are_refused_with_nearest_name() {
    let refused = |name: &str| {
        let text = format!("{SCENARIO}[report]\nseries = [\"{name}\"]\n");
        load::parse("s.toml", &text, &Overrides::default()).unwrap_err().to_string()
    };
    for (name, want) in [
        ("ftp.window", "GROUP.FIELD or GROUP.NUMBER.FIELD with one of cwnd, rtt, rate, delay, inflight"),
        ("ftp.cwmd", "did you mean ftp.cwnd?"),
        ("ftp.0.rt", "did you mean ftp.0.rtt?"),
        ("fpt.cwnd", "did you mean ftp.cwnd?"),
        ("ftp.2.cwnd", "a number below 2, the count of ftp"),
        ("web.cwnd", "s.toml:19: report.series[0]: found 'web.cwnd'"),
    ] {
        assert!(refused(name).contains(want), "{}", refused(name));
    }
}
