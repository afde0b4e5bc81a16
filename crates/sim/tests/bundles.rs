//! Results of bundles. A bundle is a group of flows of one service class that are measured together.

use crate::common::{Dumbbell, case1, dumbbell, run};
use forebay_aqm::base::time::Span;
use forebay_sim::outcome::BundleOutcome;
use forebay_sim::tcp::TcpOptions;
use forebay_sim::world::World;

const JITTER: Span = Span::from_micros(10);

fn bell(aqm: &str) -> Dumbbell {
    dumbbell(aqm, 50, JITTER)
}

#[test]
fn bundle_counters_add_up_to_service_class_counters() {
    for aqm in ["droptail", "red", "fq_codel"] {
        let mut net = case1(&bell(aqm), 40, 20, TcpOptions::default(), 1);
        for (i, flow) in net.flows.iter_mut().enumerate() {
            (flow.class, flow.bundle) = [(2, 0), (2, 1), (5, 9)][i % 3];
        }
        let outcome = run(&net, 1);
        let link = &outcome.links[0];
        assert_eq!(link.bundles.iter().map(|b| b.bundle).collect::<Vec<_>>(), [0, 1, 9], "{aqm}");
        for (class, bundles) in [(2, &[0, 1][..]), (5, &[9])] {
            let sum = |of: fn(&BundleOutcome) -> u64| -> u64 {
                link.bundles.iter().filter(|b| bundles.contains(&b.bundle)).map(of).sum()
            };
            let whole = link.classes.iter().find(|c| c.class == class).unwrap();
            assert_eq!((sum(|b| b.offered_pkts), sum(|b| b.dropped_pkts)), (whole.offered_pkts, whole.dropped_pkts));
        }
        let dropped: u64 = link.bundles.iter().map(|b| b.dropped_pkts).sum();
        assert_eq!(dropped, link.dropped_early + link.dropped_overflow, "{aqm}");
        assert_eq!(link.bundles.iter().map(|b| b.marked_pkts).sum::<u64>(), link.marked, "{aqm}");
        let files: u64 = outcome.bundles.iter().map(|b| b.files).sum();
        assert_eq!((files, outcome.all[0].files), (0, 0));
    }
}

/// Bundles are for measurement: they do not change a packet.
#[test]
fn bundles_do_not_change_the_run() {
    for aqm in ["droptail", "raqm", "sfb"] {
        let mut net = case1(&bell(aqm), 20, 20, TcpOptions::default(), 3);
        let one = run(&net, 3);
        net.flows.iter_mut().enumerate().for_each(|(i, flow)| flow.bundle = i as u8);
        net.flows.iter_mut().for_each(|flow| flow.class = 0);
        let each = run(&net, 3);
        assert_eq!((one.fingerprint, &one.flows.len()), (each.fingerprint, &each.flows.len()), "{aqm}");
        assert_eq!(one.all, each.all, "{aqm}");
    }
}

/// A window of two packets never fills a queue: every round trip is that of the path, 60 ms and the transmission times.
#[test]
fn rtt_without_queue_equals_the_path_rtt() {
    let options = TcpOptions { window: Some(2), ..TcpOptions::default() };
    let outcome = run(&case1(&bell("droptail"), 1, 20, options, 1), 1);
    let rtt = outcome.bundles[0].rtt_s.unwrap();
    assert!((0.060..0.064).contains(&rtt.mean), "{rtt:?}");
    assert!(rtt.max - rtt.mean < 0.002 && rtt.p50 <= rtt.p95 && rtt.p95 <= rtt.p99, "{rtt:?}");
}

#[test]
fn bundle_with_two_service_classes_is_refused() {
    let mut net = case1(&bell("droptail"), 2, 20, TcpOptions::default(), 1);
    net.flows[1].class = 3;
    let refused = World::new(&net, 1).err().map(|bad| bad.to_string()).unwrap_or_default();
    assert!(refused.contains("has another class than other flows of its bundle"), "{refused}");
}
