//! Adaptive video over one bottleneck: bitrates and stalls computed by hand.
//!
//! Packets have 1500 bytes, 1460 of them video. Three links of 10 ms; the first and the last have 10 Mbit/s, on which a packet
//! takes 1.2 ms. A segment of 4 s at 1.2 Mbit/s has 600,000 bytes or 411 packets, one at 1.85 Mbit/s 925,000 bytes or 634
//! packets.

use std::sync::Arc;

use crate::common::{case1, dumbbell, run};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::app::Work;
use forebay_sim::network::{Network, Traffic};
use forebay_sim::outcome::VideoOutcome;
use forebay_sim::schedule::Schedule;
use forebay_sim::tcp::TcpOptions;
use forebay_sim::video::{Adapt, Video};

const fn secs(secs: u64) -> Span {
    Span::from_millis(1000 * secs)
}

fn video(bitrates: &[u64], buffer: Span) -> Video {
    let (bitrates, segment) = (bitrates.iter().map(|rate| Rate(rate * 1000)).collect(), secs(4));
    let (startup, resume, adapt) = (segment, segment, Adapt::Rate);
    Video { bitrates, segment, buffer, startup, resume, adapt, request: 400, handshake: false }
}

/// One client that starts at 0, over a bottleneck of `kbits` kbit/s.
fn network(video: Video, kbits: u64, duration: u64, warmup: u64) -> Network {
    let mut bell = dumbbell("droptail", 1000, Span::ZERO);
    bell.rate = Rate(kbits * 1000);
    let mut net = case1(&bell, 1, duration, TcpOptions::default(), 1);
    net.warmup = secs(warmup);
    for flow in &mut net.flows {
        flow.packet = 1500;
        flow.start = Instant::ZERO;
        flow.traffic = Traffic::Application(TcpOptions::default(), Work::Video(video.clone()));
    }
    net
}

fn played(net: &Network) -> VideoOutcome {
    run(net, 1).flows[0].video.expect("it has started")
}

/// A segment of n packets takes 65 ms for the request and the first packet, and n packet times. At 2 Mbit/s, 6 ms a packet,
/// 1.2 Mbit/s need 2.531 s for 4 s: a throughput of 1.896 Mbit/s. This is above 1.85, which needs 3.869 s: 1.913 Mbit/s. So
/// the client stays at 1.85 Mbit/s. At 1.9 Mbit/s, 6.32 ms a packet, 1.2 Mbit/s give 1.804 Mbit/s: less than 1.85.
#[test]
fn client_settles_at_the_bitrate_that_fits() {
    let bitrates = [300, 750, 1200, 1850, 2850, 4300];
    let settled = |kbits| played(&network(video(&bitrates, secs(60)), kbits, 100, 20));
    let found = settled(2000);
    assert_eq!((found.bitrate_bps(), found.switches, found.stall), (Some(1.85e6), 0, Span::ZERO));
    assert!((20..=21).contains(&found.segments), "80 s / 3.869 s: {}", found.segments);
    assert_eq!(found.qoe(), Some(1.85));
    // The first segment, 103 packets, takes 0.68 s and some round trips of slow start.
    assert!((0.68..1.2).contains(&found.startup.secs()), "{}", found.startup.secs());
    assert_eq!(settled(1900).bitrate_bps(), Some(1.2e6));
}

/// After 20 s the link has 0.5 Mbit/s instead of 2: 24 ms a packet. A segment of 1 Mbit/s, 500,000 bytes or 343 packets, takes
/// 37.04 ms for the request (400 bytes: 0.32, 6.4 and 0.32 ms), 56.4 ms for the first packet and 342 x 24 ms for the others:
/// 8.3014 s. It plays 4 s, then the client stalls for 4.3014 s. The window of 60 s has seven such periods and 1.89 s more.
#[test]
fn slow_link_stalls_for_the_missing_time() {
    let mut net = network(video(&[1000], secs(12)), 2000, 120, 60);
    let rates = vec![(Instant::ZERO, Rate(2_000_000)), (Instant::ZERO + secs(20), Rate(500_000))];
    let schedule = Arc::new(Schedule::steps(rates).unwrap());
    net.links[..2].iter_mut().for_each(|link| link.lane.conditions.schedule = Some(schedule.clone()));
    let found = played(&net);
    let least = 7.0 * 4.3014;
    assert!((least - 0.01..least + 1.9).contains(&found.stall.secs()), "{}", found.stall.secs());
    assert!((7..=8).contains(&found.segments) && (7..=9).contains(&found.stalls), "{found:?}");
    // Before, a segment takes 2.1 s, so that nothing stalls.
    net.duration = secs(19);
    net.warmup = secs(1);
    assert_eq!(played(&net).stalls, 0);
}

/// Segments are not files of the run: only playback is measured. A client that stops has no more results.
#[test]
fn segments_are_no_completed_files() {
    let mut net = network(video(&[1000], secs(12)), 2000, 20, 0);
    net.flows[0].stop = Some(Instant::ZERO + secs(10));
    let outcome = run(&net, 1);
    assert!(outcome.completions.is_empty());
    let found = outcome.flows[0].video.unwrap();
    assert_eq!((found.active, found.stalls), (secs(10), 0));
    // The first takes 2.12 s and some round trips of slow start, each other 2.12 s; the fifth arrives after 10 s.
    assert_eq!(found.segments, 4);
}

/// Arrivals and answers that are computed ahead of time give the same playback as events at their times.
#[test]
fn drop_tail_fast_path_plays_the_same_video() {
    for stop in [None, Some(Instant::ZERO + Span::from_millis(33_333))] {
        let mut net = network(video(&[300, 1200, 2850], secs(12)), 2000, 60, 5);
        net.flows[0].stop = stop;
        let fast = run(&net, 1);
        net.links.iter_mut().for_each(|link| link.fast_path = false);
        let slow = run(&net, 1);
        assert_eq!((fast.fingerprint, fast.flows), (slow.fingerprint, slow.flows));
    }
}

/// Each client has its own state. The same network and seed give the same packets.
#[test]
fn several_clients_share_a_link() {
    let mut net = network(video(&[300, 1200], secs(20)), 4000, 60, 20);
    let mut second = net.flows[0].clone();
    second.name = "video/1".into();
    net.flows.push(second);
    let outcome = run(&net, 1);
    assert_eq!(run(&net, 1).fingerprint, outcome.fingerprint);
    for flow in &outcome.flows {
        let found = flow.video.unwrap();
        assert_eq!((found.bitrate_bps(), found.stalls), (Some(1.2e6), 0));
    }
}
