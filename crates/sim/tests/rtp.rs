//! Video over RTP: receiver reports are packets on the reverse path, and the sender adapts its rate to them.

use std::sync::Arc;

use crate::common::{case1, dumbbell, run};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{Network, Traffic};
use forebay_sim::rtp::{Control, Frames, Rtp};
use forebay_sim::source::recording::{Recording, Replay};
use forebay_sim::tcp::TcpOptions;

const SECS: u64 = 180;

/// One stream with a frame of 5000 bytes every 40 ms, in five packets of 1040 bytes: 1.04 Mb/s. Its bottleneck has
/// this rate.
fn network(rate: u64, floor: f64) -> Network {
    let mut bell = dumbbell("droptail", 20, Span::ZERO);
    bell.rate = Rate(rate);
    let mut net = case1(&bell, 1, SECS, TcpOptions::default(), 1);
    let recording = Recording::new((0..25).map(|i| (Span::from_millis(40 * i), 5000)).collect()).unwrap();
    let frames = Frames::Recorded(Replay { recording: Arc::new(recording), from: Span::ZERO, repeat: true });
    let flow = &mut net.flows[0];
    flow.traffic = Traffic::Rtp(Rtp {
        control: Control::ReceiverReports { frames, floor },
        report: Span::from_millis(900),
        report_size: 80,
    });
    (flow.start, flow.packet) = (Instant::ZERO, 1040);
    net.links.iter_mut().filter(|link| link.name == "reverse").for_each(|link| link.lane.study = true);
    net.warmup = Span::ZERO;
    net
}

/// Number of packets at the full rate.
const ALL: u64 = SECS * 25 * 5;

#[test]
fn rtp_on_free_link_loses_nothing() {
    let outcome = run(&network(10_000_000, 0.1), 1);
    let flow = &outcome.flows[0];
    assert!((ALL..=ALL + 5).contains(&flow.sender.sent) && flow.sender.sent - flow.delivered_pkts <= 10, "{flow:?}");
    let reports = &outcome.links.iter().find(|link| link.name == "reverse").unwrap();
    // One report every 0.9 s, the first one within 0.9 s.
    assert_eq!(reports.offered_pkts, SECS * 10 / 9);
    let class = &outcome.classes[0];
    assert!(class.owd_s.as_ref().unwrap().max < 0.04, "reports do not count as data");
}

/// A link of 0.5 Mb/s carries a share of 0.48. The sender increases its share by 0.05 per report until more than 2 %
/// are lost. This happens in the second report above 0.50 or, as the buffer of 20 packets (0.33 s) must fill first, in
/// the one after. So the share stays below 0.48 + 0.05 * 3 = 0.63, and is reduced to at least 0.8 * 0.48 = 0.38. A
/// second report with losses, while the buffer is still full, may reduce it to 0.31.
#[test]
fn sender_follows_the_rate_of_narrow_link() {
    let flow = &run(&network(500_000, 0.1), 1).flows[0];
    let bytes = flow.received_bytes as f64 / (SECS as f64 * 62_500.0);
    assert!(bytes > 0.31 / 0.48, "the link is used: {bytes}");
    let lost = 1.0 - flow.delivered_pkts as f64 / flow.sender.sent as f64;
    // Between 0.31 and 0.63, at most (0.63 - 0.48)/0.63 are lost; a sender that ignores reports loses half.
    assert!(lost < 0.24, "{lost}");
    let deaf = &run(&network(500_000, 1.0), 1).flows[0];
    assert!(1.0 - deaf.delivered_pkts as f64 / deaf.sender.sent as f64 > 0.5);
}

#[test]
fn sender_rate_is_at_least_its_floor() {
    // Frames have 2000 bytes (two packets) in the second half: losses are reported late, after a queue of 3.3 s, and
    // the reduction takes four more reports.
    let half = Span::from_millis(500 * SECS);
    let mut net = network(50_000, 0.4);
    let all = run(&net, 1).flows[0].sender.sent;
    net.duration = half;
    let first = run(&net, 1).flows[0].sender.sent;
    assert!((all - first).abs_diff(SECS / 2 * 25 * 2) <= 2, "{first} and {all}");
}

#[test]
fn rate_stays_constant_if_receiver_reports_are_lost() {
    let mut net = network(500_000, 0.1);
    net.links.iter_mut().filter(|link| link.name == "reverse").for_each(|link| {
        link.lane.conditions.loss = Some(LossModel::Bernoulli(1.0));
    });
    let unheard = run(&net, 1);
    let constant = run(&network(500_000, 1.0), 1);
    assert_eq!(unheard.flows[0], constant.flows[0]);
    assert!(unheard.links.iter().any(|link| link.lost_pkts == SECS * 10 / 9));
}

#[test]
fn stopped_stream_sends_nothing() {
    let mut net = network(10_000_000, 0.1);
    net.flows[0].stop = Some(Instant::from_nanos(9_010_000_000));
    let outcome = run(&net, 1);
    assert_eq!(outcome.flows[0].sender.sent, 226 * 5);
    assert_eq!(outcome.links.iter().find(|link| link.name == "reverse").unwrap().offered_pkts, 10);
}
