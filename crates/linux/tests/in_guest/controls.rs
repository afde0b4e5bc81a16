//! Every congestion control of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use forebay_aqm::base::packet::Ecn;
use forebay_linux::machine::{self, SILENT_CPU_S, Start};
use forebay_linux::measure::Measure;
use forebay_linux::network;
use forebay_linux::records::Record;

use crate::{bulk, kernel};

/// The controls that the kernel is built with; Reno is always there.
fn controls() -> Vec<String> {
    let fragment = include_str!("../../kernel/fragment.config").lines();
    let names = fragment.filter_map(|line| line.strip_prefix("CONFIG_TCP_CONG_")?.strip_suffix("=y"));
    let named = |name: &str| if name == "HSTCP" { "highspeed".to_string() } else { name.to_lowercase() };
    names.filter(|name| *name != "ADVANCED").map(named).chain(["reno".to_string()]).collect()
}

/// Two connections with each control share a link with CoDel, which marks them.
#[test]
fn every_congestion_control_fills_the_link() {
    const SECONDS: u64 = 20;
    let Some(kernel) = kernel() else { return };
    let mut net = bulk("codel ecn=on", 2, SECONDS);
    net.flows.iter_mut().for_each(|flow| flow.ecn = Ecn::Ect0);
    let mut fingerprints: BTreeMap<u64, String> = BTreeMap::new();
    let all = controls();
    assert!(all.len() >= 17, "{all:?}");
    for control in all {
        let mut orders = network::orders(&net, 1).unwrap();
        orders.flows.iter_mut().for_each(|flow| flow.control.clone_from(&control));
        let (mut measure, mut used) = (Measure::new(&net), BTreeSet::new());
        let start = Start { seed: 1, core: None, silent_cpu_s: SILENT_CPU_S };
        let each = |record: Record| {
            if let Record::Text(text) = &record {
                let names = text.lines().filter_map(|line| line.strip_prefix("control "));
                used.extend(names.map(|words| words.to_string()));
            }
            measure.take(&record);
        };
        machine::run(&kernel, &orders, start, &AtomicBool::new(false), each).unwrap();
        assert_eq!(measure.faults(), [""; 0], "{control}");
        // The kernel names what each connection has used.
        assert_eq!(used, BTreeSet::from([0, 1].map(|flow| format!("{flow} {control}"))));
        let outcome = measure.finish();
        let goodput: u64 = outcome.flows.iter().map(|flow| flow.goodput_bytes).sum();
        let seconds = SECONDS as f64 - 0.5;
        let share = goodput as f64 / (seconds * 1.25e6 * 1434.0 / 1500.0);
        println!("{control}: {share:.3} of the link, {} marks", outcome.links[0].marked);
        assert!((0.85..1.03).contains(&share), "{control}: {share} of the link");
        let other = fingerprints.insert(outcome.fingerprint, control.clone());
        // TCP-LP is Reno until delays show other traffic.
        assert!(other.is_none() || other.as_deref() == Some("lp"), "{control} sends the same packets as {other:?}");
    }
}
