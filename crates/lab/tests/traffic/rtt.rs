//! Flows with their own propagation delays, from the file to the run.

use crate::dumbbell::{Dumbbell, case, run};
use forebay_lab::lower;
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
fn a_fixed_delay_is_exact() {
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
