//! Flows with their own propagation delays (key `rtt`), from the scenario file to the run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dumbbell::{Dumbbell, case, run};
use forebay_lab::scenario::{InputError, Overrides, Scenario};
use forebay_lab::{load, lower};
use forebay_sim::network::{FlowSpec, Network};

/// Bottleneck and egress have a delay of 2 (10 + 1) ms, the links of the hosts 10 ms more.
fn bell(flows: &str) -> String {
    let bell = Dumbbell {
        head: "duration = \"10s\"",
        bottleneck: "rate = \"10mbit\", delay = \"10ms\", queue = \"100p\"",
        access: "rate = \"100mbit\", delays = [\"5ms\"], hosts = 5",
        egress: "delay = \"1ms\"",
    };
    bell.with(&format!("[[flows]]\nkind = \"ftp\"\n{flows}"))
}

fn network(text: &str, seed: u64) -> Network {
    let scenario = case(text).unwrap().scenario;
    lower::network(&scenario, &scenario.compare[0].spec, seed)
}

/// Delay of the links of a flow in both directions, in milliseconds.
fn delay(net: &Network, flow: &FlowSpec) -> f64 {
    let routes = [flow.forward, flow.back].map(|route| &net.routes[route]);
    routes.into_iter().flatten().map(|&link| net.links[link].lane.delay.secs() * 1e3).sum()
}

fn delays(text: &str, seed: u64) -> Vec<f64> {
    let net = network(text, seed);
    net.check().unwrap();
    net.flows.iter().map(|flow| delay(&net, flow)).collect()
}

fn fingerprint(text: &str) -> String {
    run(vec![case(text).unwrap()]).summary.fingerprint
}

/// 1000 uniform numbers from 22 to 240: the mean has an sd of 218 / sqrt(12000) = 2; four of them are allowed.
#[test]
fn flows_of_one_host_pair_have_different_delays() {
    let text = bell("count = 1000\nrtt = { uniform = [\"22ms\", \"240ms\"] }");
    let all = delays(&text, 1);
    assert!(all.iter().all(|ms| (22.0..=240.0).contains(ms)));
    assert!((all.iter().sum::<f64>() / 1000.0 - 131.0).abs() < 8.0);
    assert_ne!((all[0], all[1]), (all[5], all[6]));
    let net = network(&text, 1);
    assert_eq!((net.hosts.len(), net.flows[0].from), (10, net.flows[5].from), "and the same hosts");
    assert_ne!(delays(&text, 2), all, "each seed draws other delays");
    let few = delays(&text.replace("1000", "10"), 1);
    assert_eq!(few, all[..10], "more flows change nothing for the first ones");
}

/// A fixed RTT applies to every flow of the group, also in the reverse direction, and with an odd number of
/// nanoseconds.
#[test]
fn a_fixed_rtt_is_exact() {
    for (flows, ms) in [
        ("count = 7\nrtt = \"64ms\"", 64.0),
        ("count = 7\nrtt = \"64ms\"\ndirection = \"reverse\"", 64.0),
        ("rtt = \"22000001ns\"", 22.000_001),
        ("rtt = \"22ms\"", 22.0),
        ("count = 7", 32.0),
    ] {
        assert!(delays(&bell(flows), 1).iter().all(|took| (took - ms).abs() < 1e-9), "{flows}");
    }
    let lot = r#"
        version = 1
        duration = "10s"
        [topology]
        kind = "parking-lot"
        bottlenecks = [
            { rate = "10mbit", delay = "10ms", queue = "100p", reverse = { delay = "7ms" } },
            { rate = "10mbit", delay = "20ms", queue = "100p" },
        ]
        access = { rate = "100mbit", delays = ["5ms"] }
        egress = { delay = "1ms" }
        [[flows]]
        name = "all"
        kind = "ftp"
        rtt = "59ms"
        [[flows]]
        name = "first"
        kind = "short-tcp"
        leave = "b1"
        arrivals = "5/s"
        lifetime = "1s"
        rtt = "30ms"
    "#;
    let net = network(lot, 1);
    assert!(net.flows.len() > 20);
    for flow in &net.flows {
        let ms = if flow.group == 0 { 59.0 } else { 30.0 };
        assert!((delay(&net, flow) - ms).abs() < 1e-9, "{}", flow.name);
    }
    assert_eq!(case(&lot.replace("59ms", "58ms")).unwrap_err().key, "flows.all.rtt");
}

/// A fixed `rtt` equal to the delay of the hosts' path gives the same run as no `rtt`.
#[test]
fn rtt_equal_to_path_delay_changes_nothing() {
    let flows = "count = 5\nstart = { uniform = [\"0s\", \"1s\"] }";
    assert_eq!(fingerprint(&bell(flows)), fingerprint(&bell(&format!("{flows}\nrtt = \"32ms\""))));
    assert_ne!(fingerprint(&bell(flows)), fingerprint(&bell(&format!("{flows}\nrtt = \"33ms\""))));
}

/// A flow that starts again in its second active interval has the same delay.
#[test]
fn flow_keeps_its_delay_across_active_intervals() {
    let windows = "count = 4\nrtt = { uniform = [\"22ms\", \"90ms\"] }\nactive = [[\"0s\", \"2s\"], [\"4s\", \"end\"]]";
    let all = delays(&bell(windows), 1);
    assert_eq!(all[..4], all[4..]);
}

#[test]
fn impossible_rtt_or_flow_count_is_refused() {
    let refused = |flows: &str| case(&bell(flows)).unwrap_err().to_string();
    let short = refused("rtt = { uniform = [\"16ms\", \"240ms\"] }");
    assert!(short.contains("flows.ftp.rtt") && short.contains("at least 22ms"), "{short}");
    let many = refused("rtt = \"64ms\"\ncount = 40000");
    assert!(many.contains("flows.ftp.count") && many.contains("at most 32768 flows with an rtt"), "{many}");
    let two = "count = 20000\nrtt = \"64ms\"\n[[flows]]\nname = \"b\"\nkind = \"cbr\"\nrate = \"1kbit\"\n";
    let many = refused(&format!("{two}count = 20000\nrtt = \"64ms\""));
    assert!(many.contains("flows.b.count") && many.contains("not 40000"), "{many}");
    let graph = r#"
        version = 1
        duration = "10s"
        [topology]
        kind = "graph"
        nodes = ["a", "b"]
        links = [{ from = "a", to = "b", rate = "10mbit", delay = "1ms", queue = "10p", study = true }]
        [[flows]]
        kind = "ftp"
        from = "a"
        to = "b"
        rtt = "64ms"
    "#;
    let graph = case(graph).unwrap_err().to_string();
    assert!(graph.contains("which belongs to topologies of kind dumbbell and parking-lot"), "{graph}");
}

/// Half of the flows have a round trip of 22 to 40 ms, a quarter 40 to 100 ms, a quarter 100 ms. With 2000 flows, the
/// standard deviation of these shares is at most 0.0112. The test allows four standard deviations.
#[test]
fn quantiles_give_their_shares_of_flows() {
    let points = "[[0, \"22ms\"], [0.5, \"40ms\"], [0.75, \"100ms\"], [1, \"100ms\"]]";
    let all = delays(&bell(&format!("count = 2000\nrtt = {{ quantiles = {points} }}")), 1);
    let share = |lo: f64, hi: f64| all.iter().filter(|ms| (lo..hi).contains(*ms)).count() as f64 / 2000.0;
    for (lo, hi, want) in [(22.0, 31.0, 0.25), (22.0, 40.0, 0.5), (40.0, 70.0, 0.125), (99.999, 100.001, 0.25)] {
        assert!((share(lo, hi) - want).abs() < 0.045, "{lo} to {hi}: {}", share(lo, hi));
    }
    assert_eq!(share(22.0, 100.001), 1.0);
}

/// A folder with a scenario whose `rtt` names a file of this content.
fn with_file(folder: &str, content: &[u8], more: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(dir.join("measured")).unwrap();
    fs::write(dir.join("measured/rtts.csv"), content).unwrap();
    let path = dir.join("scenario.toml");
    fs::write(&path, bell(&format!("count = 300\nrtt = {{ file = \"measured/rtts.csv\"{more} }}"))).unwrap();
    path
}

fn load(path: &Path) -> Result<Scenario, InputError> {
    load::file(path, &Overrides::default()).map(|mut cases| cases.remove(0).scenario)
}

/// Units, a heading, comments, other columns, quotes and the order of lines make no difference.
#[test]
fn rtt_measurements_are_read_and_kept_with_results() {
    let plain = load(&with_file("rtt-plain", b"25ms\n64ms\n0.1s\n64ms\n", "")).unwrap();
    let written = plain.to_toml();
    assert!(written.contains("rtt = { measured = [\"25ms\", \"64ms\", \"64ms\", \"100ms\"] }"), "{written}");
    assert_eq!(case(&written).unwrap().scenario, plain, "and needs the file no more");
    let csv = "\u{feff}rtt_ms,host\r\n# night\r\n\"100\",b\r\n64.0,a\r\n\r\n25,a\r\n6.4e1,c\r\n";
    assert_eq!(load(&with_file("rtt-csv", csv.as_bytes(), ", unit = \"ms\"")).unwrap(), plain);
    let mut drawn = delays(&written, 1);
    assert_eq!(drawn, delays(&written, 1));
    assert_ne!(drawn, delays(&written, 2), "each seed draws other measurements");
    // Of 300 flows, a half and two quarters; the sd is at most 8.7.
    let count = |ms: f64| drawn.iter().filter(|drawn| (**drawn - ms).abs() < 1e-6).count();
    assert!(count(25.0).abs_diff(75) < 35 && count(64.0).abs_diff(150) < 35 && count(100.0).abs_diff(75) < 35);
    drawn.retain(|ms| ![25.0, 64.0, 100.0].iter().any(|known| (ms - known).abs() < 1e-6));
    assert_eq!(drawn, [0.0; 0]);
}

/// All disciplines get the same round trips.
#[test]
fn disciplines_share_the_drawn_round_trips() {
    let text = bell(
        "count = 50\nrtt = { measured = [\"25ms\", \"64ms\", \"90ms\"] }\n[compare]\naqm = [\"droptail\", \"pi\"]",
    );
    let scenario = case(&text).unwrap().scenario;
    let of = |i: usize| {
        let net = lower::network(&scenario, &scenario.compare[i].spec, 3);
        net.flows.iter().map(|flow| delay(&net, flow)).collect::<Vec<_>>()
    };
    assert_eq!(of(0), of(1));
}

#[test]
fn bad_rtt_measurement_is_reported_with_its_line() {
    for (content, more, line, found, words) in [
        ("25ms\n30\n", "", Some(2), "30", "a time with a unit such as 12.3ms, or the key unit"),
        ("rtt\n\n25ms\n# x\n30mz,1\n", "", Some(5), "30mz", "a time of at least 0"),
        ("25ms\nlost\n", "", Some(2), "lost", "a time of at least 0"),
        ("25\n30ms\n", ", unit = \"ms\"", Some(2), "30ms", "unit = \"ms\""),
        ("25\n-1\n", ", unit = \"ms\"", Some(2), "-1", "a number of at least 0"),
        ("25ms\n2e6s\n", "", Some(2), "2e6s", "at most 1000000s"),
        ("40ms\n25ms\n21ms\n20ms\n", "", Some(3), "21ms", "at least 22ms"),
        ("rtt\n# nothing\n", "", None, "no times", "one or more lines"),
        ("", "", None, "no times", "one or more lines"),
    ] {
        let path = with_file("rtt-bad", content.as_bytes(), more);
        let error = load(&path).unwrap_err();
        let file = path.with_file_name("measured").join("rtts.csv").display().to_string();
        assert_eq!((&error.file, error.line, error.key.as_str()), (&file, line, "flows.ftp.rtt.file"), "{error}");
        assert!(error.found.as_str() == found && error.accepts.contains(words), "{error}");
    }
    let path = with_file("rtt-missing", b"25ms", "");
    fs::remove_file(path.with_file_name("measured").join("rtts.csv")).unwrap();
    let error = load(&path).unwrap_err();
    assert!(error.line.is_some() && error.hint.as_deref().is_some_and(|h| h.contains("no such file")), "{error}");
    let error = load(&with_file("rtt-binary", b"25ms\n\xff\n", "")).unwrap_err().to_string();
    assert!(error.contains("not UTF-8 text at byte 5"), "{error}");
}

#[test]
fn wrong_rtt_distributions_are_refused_with_their_key() {
    for (rtt, key, words) in [
        ("{ quantiles = [[0, \"25ms\"]] }", "quantiles", "two or more points"),
        ("{ quantiles = [[0.1, \"25ms\"], [1, \"90ms\"]] }", "quantiles[0][0]", "the probability 0"),
        ("{ quantiles = [[0, \"25ms\"], [0.9, \"90ms\"]] }", "quantiles[1][0]", "the probability 1"),
        (
            "{ quantiles = [[0, \"25ms\"], [0.5, \"30ms\"], [0.5, \"40ms\"], [1, \"90ms\"]] }",
            "quantiles[2][0]",
            "a probability above 0.5 and below 1",
        ),
        ("{ quantiles = [[0, \"25ms\"], [1, \"24ms\"]] }", "quantiles[1][1]", "at or after that of the previous"),
        ("{ quantiles = [[0, \"25\"], [1, \"90ms\"]] }", "quantiles[0][1]", "a time"),
        ("{ quantiles = [[0, \"25ms\", 1], [1, \"90ms\"]] }", "quantiles[0]", "a point [probability, time]"),
        ("{ quantiles = [[0, \"21ms\"], [1, \"90ms\"]] }", "quantiles[0][1]", "at least 22ms"),
        ("{ measured = [] }", "measured", "a list of times"),
        ("{ measured = [\"30ms\", \"21ms\"] }", "measured[1]", "at least 22ms"),
        ("{ measured = [\"30ms\"], unit = \"ms\" }", "unit", "no unit, which belongs to file"),
        ("{ measured = [\"30ms\"], uniform = [\"30ms\", \"31ms\"] }", "", "one of uniform, quantiles, file"),
        ("{ unit = \"ms\" }", "", "one of uniform, quantiles, file and measured"),
        ("{ file = \"x.csv\", unit = \"min\" }", "unit", "s, ms, us, ns"),
        ("{ quantile = [] }", "quantile", "one of uniform, quantiles, file, unit, measured"),
    ] {
        let error = case(&bell(&format!("rtt = {rtt}"))).expect_err(rtt);
        let want = if key.is_empty() { "flows.ftp.rtt".to_string() } else { format!("flows.ftp.rtt.{key}") };
        assert_eq!((error.key.as_str(), error.line.is_some()), (want.as_str(), true), "{error}");
        assert!(error.accepts.contains(words), "{error}");
    }
}
