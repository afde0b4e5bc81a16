//! CAKE in a simulated network: its shaper, its tins by the key `dscp`, and its fairness among access hosts.

use forebay_lab::load;
use forebay_lab::lower;
use forebay_lab::scenario::Overrides;
use forebay_sim::world::World;

/// Throughput in Mb/s of each group of flows that overload a link of 20 Mb/s.
fn throughput(aqm: &str, flows: &[&str]) -> Vec<f64> {
    let host = |name: &str| format!("{{ name = \"{name}\", hosts = 1, rate = \"1gbit\", delays = [\"1ms\"] }}");
    let mut text = format!(
        "version = 1\nduration = \"22s\"\nwarmup = \"2s\"\npacket = 1000\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"20mbit\", delay = \"5ms\", queue = \"2000p\" }}\naccess = [{}, {}]\n\
         egress = {{ rate = \"1gbit\", delay = \"1ms\" }}\n",
        host("a"),
        host("b"),
    );
    for (number, keys) in flows.iter().enumerate() {
        text += &format!("[[flows]]\nkind = \"cbr\"\nname = \"f{number}\"\nrate = \"16mbit\"\n{keys}\n");
    }
    text += &format!("[compare]\naqm = [\"{aqm}\"]\n");
    let cases = load::parse("cake", &text, &Overrides::default()).unwrap();
    let net = lower::network(&cases[0].scenario, &cases[0].scenario.compare[0].spec, 1);
    let outcome = World::new(&net, 1).unwrap().run(&mut ()).unwrap();
    let mut groups = vec![0.0; flows.len()];
    outcome.flows.iter().for_each(|flow| groups[flow.group as usize] += flow.received_bytes as f64 * 8.0 / 20.0 / 1e6);
    groups
}

fn assert_near(got: &[f64], want: &[f64]) {
    assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 0.05), "{got:?}, expected {want:?}");
}

#[test]
fn shaper_holds_the_link_to_its_rate() {
    assert_near(&throughput("cake bandwidth=10mbit", &["hosts = \"a\""]), &[10.0]);
    assert_near(&throughput("cake bandwidth=10mbit overhead=250", &["hosts = \"a\""]), &[8.0]);
}

#[test]
fn tins_share_the_link_by_dscp() {
    let groups = ["hosts = \"a\"\ndscp = \"ef\"", "hosts = \"a\"", "hosts = \"a\"\ndscp = 8"];
    assert_near(&throughput("cake bandwidth=10mbit", &groups), &[2.5, 6.875, 0.625]);
    assert_near(&throughput("cake bandwidth=10mbit tins=besteffort", &groups), &[10.0 / 3.0; 3]);
}

/// One flow of host a, four of host b.
#[test]
fn access_hosts_share_the_link_equally() {
    let groups = ["hosts = \"a\"", "hosts = \"b\"\ncount = 4"];
    assert_near(&throughput("cake bandwidth=10mbit flows=dual-srchost", &groups), &[5.0, 5.0]);
    assert_near(&throughput("cake bandwidth=10mbit flows=flows", &groups), &[2.0, 8.0]);
}
