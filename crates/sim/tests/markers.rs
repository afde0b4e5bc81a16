//! Token buckets at the edge: numbers of IN and OUT packets; colours alone do not change a run.

use crate::common::{case1, dumbbell, run};
use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Rate};
use forebay_sim::network::{MarkerSpec, Network, Traffic};
use forebay_sim::outcome::Outcome;
use forebay_sim::source::Pattern;
use forebay_sim::tcp::TcpOptions;

const JITTER: Span = Span::from_micros(10);

/// Ten sources of 500-byte packets at 2 Mb/s each, for 20 s, of which the last 18 are measured.
fn sources(aqm: &str, secs: u64) -> Network {
    let mut net = case1(&dumbbell(aqm, 100, JITTER), 10, secs, TcpOptions::default(), 1);
    for flow in &mut net.flows {
        flow.traffic = Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(2) });
        flow.start = Instant::ZERO;
    }
    net
}

fn offered(outcome: &Outcome, colour: Colour) -> f64 {
    outcome.links[0].classes.iter().filter(|class| class.colour == colour).map(|class| class.offered_pkts as f64).sum()
}

#[test]
fn packets_marked_in_arrive_at_committed_rate() {
    // 5 x 0.5 Mb/s are 625 packets of 4000 bits per second. Each bucket holds 4 packets, which are used before the
    // measured window.
    let marker = MarkerSpec { cir: Rate(500_000), cbs: Bytes(2000) };
    for aqm in ["droptail", "droptail th=1", "red", "sio"] {
        let mut net = sources(aqm, 20);
        net.markers = vec![marker; 5];
        net.flows.iter_mut().enumerate().for_each(|(i, flow)| flow.marker = Some(i % 5));
        let outcome = run(&net, 1);
        let (within, all) = (offered(&outcome, Colour::In), outcome.links[0].offered_pkts as f64);
        assert!((within / (18.0 * 625.0) - 1.0).abs() < 0.002, "{aqm}: {within}");
        assert_eq!(offered(&outcome, Colour::Out), all - within, "{aqm}");
    }
}

#[test]
fn separate_buckets_add_their_committed_rates() {
    let mut net = sources("droptail", 20);
    net.markers = vec![MarkerSpec { cir: Rate(500_000), cbs: Bytes(2000) }; 10];
    net.flows.iter_mut().enumerate().for_each(|(i, flow)| flow.marker = Some(i));
    let within = offered(&run(&net, 1), Colour::In);
    assert!((within / (18.0 * 1250.0) - 1.0).abs() < 0.002, "{within}");
}

#[test]
fn colour_blind_discipline_ignores_the_colour_of_packets() {
    for aqm in ["droptail", "red", "msvb"] {
        let plain = case1(&dumbbell(aqm, 100, JITTER), 20, 20, TcpOptions::default(), 1);
        let mut coloured = plain.clone();
        coloured.markers = vec![MarkerSpec { cir: Rate(1_000_000), cbs: Bytes(8000) }];
        coloured.flows.iter_mut().for_each(|flow| flow.marker = Some(0));
        let (plain, coloured) = (run(&plain, 1), run(&coloured, 1));
        assert_eq!(plain.fingerprint, coloured.fingerprint, "{aqm}");
        assert_eq!((offered(&plain, Colour::Out), offered(&coloured, Colour::Out) > 0.0), (0.0, true), "{aqm}");
    }
}

#[test]
fn sio_drops_only_out_packets() {
    // 12.5 Mb/s are offered to a link of 10 Mb/s, 5 Mb/s of it in profile: only OUT packets are dropped.
    let mut net = sources("sio preset=paper", 20);
    net.flows.iter_mut().for_each(|flow| {
        flow.traffic = Traffic::Datagrams(Pattern::Constant { every: Span::from_micros(3200) });
    });
    net.markers = vec![MarkerSpec { cir: Rate(500_000), cbs: Bytes(4000) }; 10];
    net.flows.iter_mut().enumerate().for_each(|(i, flow)| flow.marker = Some(i));
    let outcome = run(&net, 1);
    let dropped = |colour| {
        let classes = outcome.links[0].classes.iter().filter(|class| class.colour == colour);
        classes.map(|class| class.dropped_pkts).sum::<u64>()
    };
    assert_eq!(dropped(Colour::In), 0);
    assert!((dropped(Colour::Out) as f64 / (18.0 * 625.0) - 1.0).abs() < 0.1, "{}", dropped(Colour::Out));
}

#[test]
fn unknown_marker_is_refused() {
    let mut net = sources("droptail", 2);
    net.flows[0].marker = Some(0);
    assert!(net.check().is_err_and(|bad| bad.0.contains("marker")));
}
