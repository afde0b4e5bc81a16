//! Goodput is payload received for the first time within the window, and never exceeds the link's capacity.

use crate::dumbbell::{Dumbbell, read, run};
use forebay_lab::record::RunRecord;

fn with(rate: &str, aqm: &str, flows: &str) -> RunRecord {
    let bell = Dumbbell {
        head: "duration = \"10s\"\nwarmup = \"2s\"",
        bottleneck: &format!("rate = \"{rate}\", delay = \"10ms\", queue = \"400p\", aqm = \"{aqm}\""),
        access: "rate = \"100mbit\", delays = [\"1ms\"], hosts = 4",
        egress: "rate = \"1gbit\", delay = \"1ms\"",
    };
    run(read(&bell.with(flows)).unwrap_or_else(|error| panic!("{flows}: {error}")))
}

/// An overflowing buffer of 400 packets leaves hundreds of packets behind a hole at the end of the warm-up. At most
/// one packet more than the link rate reaches the receivers within the window.
#[test]
fn goodput_is_at_most_payload_at_capacity() {
    for (rate, bps) in [("50mbit", 50e6), ("100mbit", 100e6)] {
        for aqm in ["droptail", "pie", "fq_codel"] {
            for tcp in ["newreno", "sack", "cubic"] {
                let flows = format!("[[flows]]\nkind = \"ftp\"\ntcp = \"{tcp}\"\ncount = 4");
                let summary = with(rate, aqm, &flows).summary;
                let packet = 1500.0 * 8.0 / (bps * 8.0);
                let case = format!("{rate} {aqm} {tcp}: {} {}", summary.received_ratio, summary.goodput_ratio);
                assert!(summary.received_ratio <= 1.0 + packet && summary.received_ratio > 0.9, "{case}");
                assert!(summary.goodput_ratio <= (1.0 + packet) * 1460.0 / 1500.0, "{case}");
            }
        }
    }
}

#[test]
fn goodput_excludes_the_headers_of_each_transport() {
    for (kind, packet, headers) in [
        ("kind = \"ftp\"", 1500.0, 40.0),
        ("kind = \"sctp\"", 1500.0, 48.0),
        ("kind = \"cbr\"\nrate = \"4mbit\"\npacket = 1000", 1000.0, 28.0),
        (
            "kind = \"rtp\"\npacket = 1040\nfloor = 1\nframes = \"0 I 2000, 40000000 I 2000\"\nrepeat = true",
            1040.0,
            40.0,
        ),
    ] {
        let record = with("20mbit", "droptail", &format!("[[flows]]\n{kind}"));
        let flow = &record.flows[0];
        let packets = flow.received_bytes as f64 / packet;
        assert!(packets > 100.0 && flow.goodput_bytes as f64 == packets * (packet - headers), "{kind}: {flow:?}");
    }
}
