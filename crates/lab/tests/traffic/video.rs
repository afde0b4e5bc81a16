//! Video in a scenario: lists of frames, read from its folder and stored with the results, and generated frames.

use std::fs;
use std::path::Path;

use crate::dumbbell::{Dumbbell, read, run};
use forebay_lab::load;
use forebay_lab::scenario::Overrides;

/// A scenario of these flows over a link of 10 Mb/s.
fn text(flows: &str) -> String {
    let bell = Dumbbell {
        head: "duration = \"200s\"",
        bottleneck: "rate = \"10mbit\", delay = \"10ms\", queue = \"1000p\", aqm = \"droptail\"",
        access: "rate = \"100mbit\", delays = [\"1ms\"], hosts = 5, queue = \"10000p\"",
        egress: "rate = \"100mbit\", delay = \"1ms\"",
    };
    bell.with(flows)
}

#[test]
fn frame_list_is_read_and_kept_with_results() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("video-kept");
    fs::create_dir_all(&dir).unwrap();
    // In coding order: a P frame before the B frames that need it.
    fs::write(dir.join("v.txt"), "# No. type ms bytes\n1 I 0 3000\n2 P 120 1000\n3 B 40 100\n4 B 80 100\n").unwrap();
    let path = dir.join("scenario.toml");
    let flows = "[[flows]]\nkind = \"rtp\"\nfile = \"v.txt\"\npacket = 1040";
    fs::write(&path, text(flows)).unwrap();
    let cases = load::file(&path, &Overrides::default()).unwrap();
    fs::remove_file(dir.join("v.txt")).unwrap();
    let written = cases[0].scenario.to_toml();
    assert!(written.contains("frames = \"0 I 3000, 40000000 B 100, 80000000 B 100, 120000000 P 1000\""), "{written}");
    let again = read(&written).unwrap();
    assert_eq!(again[0].scenario, cases[0].scenario);
    let flow = &run(cases).flows[0];
    // Three packets, one, one and one, each with 40 bytes of headers.
    assert_eq!((flow.sent_pkts, flow.goodput_bytes, flow.received_bytes), (6, 4200, 4200 + 6 * 40));
}

/// A group of 12 frames has a mean of 12 * 2500 bytes for 500 kb/s. In units of 30000/19 bytes, its frames have these
/// means: one frame 5, three frames 2 and eight frames 1. The group's sd is 0.31 times the root of the sum of the
/// squares of these means: 0.31 * 6.7 * 1579 = 3300 bytes, 11 %. The mean of 5 * 416 groups has an sd of 0.24 %;
/// allowed are four of them, and one group more or less in each flow, 1/416. The measured rate includes headers of 40
/// bytes per packet of at most 1282 bytes. They add at least 40/1242 of the payload's rate. The last packet of a frame
/// can be shorter, so that they add up to 40 bytes per frame more.
#[test]
fn generated_frames_have_the_requested_rate() {
    let flows =
        "[[flows]]\nkind = \"rtp\"\ncount = 5\nstart = \"0s\"\npacket = 1282\nsynthetic = { rate = \"500kbit\" }";
    let record = run(read(&text(flows)).unwrap());
    let rate = record.summary.received_bps / 5.0;
    let error = 4.0 * 0.0024 + 1.0 / 416.0;
    let (least, most) = (500e3 * (1.0 + 40.0 / 1242.0), 500e3 * (1.0 + 40.0 / 1242.0) + 25.0 * 40.0 * 8.0);
    assert!((least * (1.0 - error)..=most * (1.0 + error)).contains(&rate), "{rate}");
    assert_eq!(record.summary.loss_ratio, 0.0);
}

/// Ten streams of 2 Mb/s over 10 Mb/s: senders that follow receiver reports lose at most half as much as those that do
/// not.
#[test]
fn streams_share_a_link_that_is_too_narrow() {
    let lost = |floor: &str| {
        let flows = format!(
            "[[flows]]\nkind = \"rtp\"\ncount = 10\npacket = 1282\nfloor = {floor}\nsynthetic = {{ rate = \"2mbit\" }}"
        );
        run(read(&text(&flows)).unwrap()).summary.loss_ratio
    };
    let (listening, deaf) = (lost("0.1"), lost("1"));
    assert!(deaf > 0.45 && listening < 0.5 * deaf, "{listening} and {deaf}");
}
