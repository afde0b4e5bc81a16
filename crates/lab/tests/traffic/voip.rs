//! Calls in a scenario: rates of the codecs; delay, jitter and loss by class.

use crate::dumbbell::{Dumbbell, read};
use forebay_lab::record::RunSummary;

/// The summary of a link of this rate with these flows.
fn run(rate: &str, flows: &str) -> RunSummary {
    let bell = Dumbbell {
        head: "duration = \"600s\"",
        bottleneck: &format!("rate = \"{rate}\", delay = \"20ms\", queue = \"20p\", aqm = \"droptail\""),
        access: "rate = \"100mbit\", delays = [\"1ms\"], hosts = 10",
        egress: "rate = \"100mbit\", delay = \"1ms\"",
    };
    crate::dumbbell::run(read(&bell.with(flows)).unwrap()).summary
}

/// On for 1.004/2.591 = 0.3875 of the time. The on time of a call in 600 s has a variance of about
/// 2 (1.004 * 1.587)^2 / 2.591^3 * 600 = 175 s^2, so the mean of 50 calls has an sd of 13.2/sqrt(50) = 1.87 s of
/// 232.5 s, 0.8 %; four of them are allowed. A packet each 20 ms.
#[test]
fn calls_on_free_link_have_codec_rate() {
    for (codec, packet) in [("g711", 200.0), ("g729", 60.0)] {
        let flows = format!("[[flows]]\nkind = \"voip\"\ncodec = \"{codec}\"\ncount = 50\nclass = 3\nstart = \"0s\"");
        let summary = run("10mbit", &flows);
        let class = &summary.classes[0];
        let expected = 50.0 * packet * 8.0 / 0.02 * 1.004 / 2.591;
        assert!((class.received_bps / expected - 1.0).abs() < 0.032, "{codec}: {} of {expected}", class.received_bps);
        assert_eq!((class.class, class.loss_ratio), (3, 0.0));
        let delay = class.owd_ms.as_ref().unwrap();
        assert!((22.0..23.0).contains(&delay.mean) && class.jitter_ms.is_some_and(|ms| ms < 1.0), "{delay:?}");
    }
}

#[test]
fn bulk_transfers_cause_call_loss_delay_and_jitter() {
    let flows = "[[flows]]\nkind = \"voip\"\ncount = 10\nclass = 5\n[[flows]]\nkind = \"ftp\"\ncount = 5";
    let summary = run("2mbit", flows);
    let call = summary.classes.iter().find(|class| class.class == 5).unwrap();
    assert!(call.loss_ratio > 0.001 && call.owd_ms.as_ref().unwrap().mean > 30.0, "{call:?}");
    assert!(call.jitter_ms.is_some_and(|ms| ms > 1.0), "{call:?}");
}

/// G.711 at 22 ms without loss: R = 92.4, a score of 4.40 (ITU-T G.107). Behind bulk transfers with 20 packets of buffer
/// at 2 Mb/s a packet waits up to 120 ms, and more than 5 % are lost, for which the score is below 2.14.
#[test]
fn calls_have_the_score_of_the_e_model() {
    let flows = "[[flows]]\nkind = \"voip\"\ncodec = \"g711\"\ncount = 5\n";
    let score = |summary: &RunSummary| {
        let of = |name: &str| summary.traffic.iter().find(|class| class.name == name).unwrap().clone();
        (of("voip").mos, of("all").mos, of("voip").rpm)
    };
    let (alone, all, rpm) = score(&run("10mbit", flows));
    assert!((alone.unwrap() - 4.40).abs() < 0.01, "{alone:?}");
    assert_eq!((all, rpm), (None, None), "a score of calls only");
    let loaded = run("2mbit", &format!("{flows}[[flows]]\nkind = \"ftp\"\ncount = 5"));
    let (loaded_score, ..) = score(&loaded);
    let loss = loaded.traffic.iter().find(|class| class.name == "voip").unwrap().loss_ratio;
    assert!(loss > 0.05 && (1.0..2.14).contains(&loaded_score.unwrap()), "{loaded_score:?} at {loss}");
    let bulk = loaded.traffic.iter().find(|class| class.name == "ftp").unwrap();
    // The mean of the shortest 95 % is between the median and the mean, or close to them.
    let (rpm, rtt) = (bulk.rpm.unwrap(), bulk.rtt_ms.as_ref().unwrap());
    let mean = 60_000.0 / rpm;
    assert!(mean < rtt.mean && mean > 0.9 * rtt.mean, "{mean} {}", rtt.mean);
}
