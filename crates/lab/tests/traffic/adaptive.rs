//! Adaptive video in a scenario: defaults of its keys, metrics worked by hand, and errors.

use crate::dumbbell::{Dumbbell, case, read};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use forebay_lab::load;
use forebay_lab::results::traffic::TrafficSummary;
use forebay_lab::scenario::{FlowKind, Overrides};

fn text(rate: &str, keys: &str) -> String {
    let bell = Dumbbell {
        head: "duration = \"100s\"\nwarmup = \"20s\"",
        bottleneck: &format!("rate = \"{rate}\", delay = \"8ms\", queue = \"1000p\", aqm = \"droptail\""),
        access: "rate = \"100mbit\", delays = [\"1ms\"], jitter = \"0us\"",
        egress: "rate = \"100mbit\", delay = \"1ms\"",
    };
    bell.with(&format!("[[flows]]\nkind = \"video\"\nstart = \"0s\"\n{keys}"))
}

/// The results of the viewers, of a file of one packet, and of all traffic.
fn play(rate: &str, keys: &str) -> Vec<TrafficSummary> {
    let more = "\n[[flows]]\nkind = \"file\"\nsize = \"1p\"\nstart = \"50s\"";
    crate::dumbbell::run(read(&text(rate, &format!("{keys}{more}"))).unwrap()).summary.traffic
}

#[test]
fn defaults_are_those_of_the_publications() {
    let FlowKind::Video(video) = case(&text("10mbit", "adapt = \"buffer\"")).unwrap().scenario.flows.remove(0).kind
    else {
        panic!("a video")
    };
    assert_eq!(video.bitrates.iter().map(|rate| rate.0 / 1000).collect::<Vec<_>>(), [300, 750, 1200, 1850, 2850, 4300]);
    assert_eq!(
        [video.segment, video.buffer, video.startup, video.resume],
        [4, 60, 4, 4].map(|s| Span::from_millis(1000 * s))
    );
    assert_eq!(video.bitrates[5], Rate(4_300_000));
    assert_eq!((video.reservoir, video.cushion, video.request, video.handshake), (None, None, 400, false));
}

/// 1 Mbit/s has 500,000 bytes a segment, 343 packets: at 500 kbit/s 24 ms each, 8.232 s. A round trip of 20 ms, a request of
/// 6.5 ms, 0.3 ms on the fast links and 4 s of playback leave a stall of 4.259 s in each period of 8.259 s: 435.9 an hour.
/// The window of 80 s has nine periods and 5.67 s more: 38.33 s and up to 4.26 s, and 24 ms for the
/// packet of the file. QoE: 1 - 4.3 x 4.26 = -17.3.
#[test]
fn viewers_have_scores_of_their_stalls() {
    let classes = play("500kbit", "bitrates = [\"1mbit\"]\nbuffer = \"12s\"\ncount = 1");
    let of = |name: &str| classes.iter().find(|class| class.name == name).unwrap();
    let video = of("video");
    let stall = video.stall_s.unwrap();
    assert!((38.32..42.62).contains(&stall), "{stall}");
    assert!((video.stalls_per_hour.unwrap() / 435.9 - 1.0).abs() < 0.12, "{:?}", video.stalls_per_hour);
    assert!((video.qoe.unwrap() + 17.3).abs() < 2.0, "{:?}", video.qoe);
    assert_eq!(video.video_bps, Some(1e6));
    // The first segment has some round trips of slow start too.
    assert!((8.25..8.5).contains(&video.startup_s.unwrap()), "{:?}", video.startup_s);
    let all = of("all");
    assert_eq!((all.stall_s, all.qoe, all.metric("video_bps")), (video.stall_s, video.qoe, Some(1e6)));
    let file = of("file");
    assert_eq!([file.stall_s, file.startup_s, file.video_bps, file.qoe, file.stalls_per_hour], [None; 5]);
    assert_eq!(video.fct_n, 0, "segments are not files");
}

/// The buffer rule needs a fuller buffer for a higher bitrate: it gets the highest on a fast link, as the rate rule does.
#[test]
fn both_rules_use_a_fast_link() {
    for adapt in ["rate\"", "buffer\"", "buffer\"\nsegment = \"2s\"\nbuffer = \"8s\""] {
        let video = &play("20mbit", &format!("adapt = \"{adapt}\nhandshake = true\ncount = 2"))[0];
        assert_eq!((video.video_bps, video.stall_s), (Some(4.3e6), Some(0.0)), "{adapt}");
    }
}

/// The example, shortened: under drop-tail the live stream, behind downloads in a long buffer, is worse than under FQ-CoDel.
#[test]
fn short_queue_improves_the_live_stream() {
    let text = include_str!("../../../../examples/video.toml");
    let quality = |aqm: &str| {
        let (sets, aqm) = (vec!["duration=60s".to_string()], vec![aqm.to_string()]);
        let cases = load::parse("video.toml", text, &Overrides { sets, aqm, ..Overrides::default() }).unwrap();
        let classes = crate::dumbbell::run(cases).summary.traffic;
        classes.iter().find(|class| class.name == "live").and_then(|class| class.qoe).unwrap()
    };
    let (long, short) = (quality("droptail"), quality("fq_codel"));
    assert!(short > long + 0.5, "{short} and {long} Mbit/s");
}

#[test]
fn wrong_keys_of_video_are_named() {
    for (set, key, accepts) in [
        ("bitrates=[\"2mbit\", \"1mbit\"]", "bitrates", "1 to 100 bitrates in ascending order"),
        ("bitrates=[]", "bitrates", "1 to 100 bitrates in ascending order"),
        ("bitrates=[\"2\"]", "bitrates", "a rate such as 15mbit"),
        ("bitrates=[\"2gbit\"]", "bitrates", "a bitrate from 1kbit to 1gbit"),
        ("segment=1ms", "segment", "a time from 100ms to 60s"),
        ("buffer=3s", "buffer", "at least a segment, 4s"),
        ("startup=61s", "startup", "at most 60s, the whole segments"),
        ("resume=0s", "resume", "a time above 0"),
        ("adapt=bola", "adapt", "rate"),
        ("reservoir=5s", "reservoir", "no reservoir, or adapt = \"buffer\""),
        ("handshake=ns2", "handshake", "true or false"),
        ("size=5p", "size", "size belongs to kind web, file"),
    ] {
        let sets = vec![format!("flows.video.{set}")];
        let message = load::parse("s.toml", &text("1mbit", ""), &Overrides { sets, ..Overrides::default() })
            .unwrap_err()
            .to_string();
        assert!(message.contains(key) && message.contains(accepts), "{set}: {message}");
    }
}
