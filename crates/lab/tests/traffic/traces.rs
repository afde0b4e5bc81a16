//! Recorded packets (packet traces) in a scenario: read from its folder, stored with the results, replayed at their
//! times.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dumbbell::{Dumbbell, read, run};
use forebay_aqm::Spec;
use forebay_lab::load;
use forebay_lab::lower;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::{Case, InputError, Overrides};
use forebay_sim::network::Traffic;
use forebay_sim::source::Pattern;

/// A separate folder with a scenario of these flows.
fn scenario(folder: &str, flows: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&dir).unwrap();
    let bell = Dumbbell {
        head: "duration = \"10s\"",
        bottleneck: "rate = \"10mbit\", delay = \"10ms\", queue = \"100p\", aqm = \"droptail\"",
        access: "rate = \"100mbit\", delays = [\"1ms\"], hosts = 2, jitter = \"0s\"",
        egress: "rate = \"100mbit\", delay = \"1ms\"",
    };
    let path = dir.join("scenario.toml");
    fs::write(&path, bell.with(flows)).unwrap();
    path
}

fn load(path: &Path) -> Result<Vec<Case>, InputError> {
    load::file(path, &Overrides::default())
}

/// A capture of packets of these lengths, one each second: little-endian, microseconds.
fn pcap(lengths: &[u32]) -> Vec<u8> {
    let words = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1];
    let packets = lengths.iter().enumerate().flat_map(|(i, length)| [1_700_000_000 + i as u32, 0, 0, *length]);
    words.into_iter().chain(packets).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn packet_trace_is_read_and_kept_with_results() {
    let path = scenario("traces-kept", "[[flows]]\nkind = \"trace\"\nfile = \"x.trace\"\nstart = \"1s\"");
    let file = path.with_file_name("x.trace");
    fs::write(&file, pcap(&[100, 1500])).unwrap();
    let first = load(&path).unwrap();
    fs::write(&file, pcap(&[100, 1501])).unwrap();
    let other = load(&path).unwrap();
    fs::remove_file(&file).unwrap();
    let hash = |cases: &[Case]| Plan::new(cases.to_vec(), 1, 1).hash();
    assert_ne!(hash(&first), hash(&other), "a changed trace is not mistaken for a finished run");
    let written = first[0].scenario.to_toml();
    assert!(written.contains("packets = \"0 100, 1000000000 1500\""), "{written}");
    let again = read(&written).unwrap();
    assert_eq!(again[0].scenario, first[0].scenario);
    let record = run(first);
    let flow = &record.flows[0];
    assert_eq!((flow.sent_pkts, flow.received_bytes, flow.goodput_bytes), (2, 1600, 1600 - 2 * 28));
}

#[test]
fn service_classes_of_packet_trace_are_counted_separately() {
    let flows =
        "[[flows]]\nkind = \"trace\"\nfile = \"c.csv\"\nstart = \"0s\"\ncount = 2\nbegin = \"random\"\nrepeat = true";
    let path = scenario("traces-classes", flows);
    fs::write(path.with_file_name("c.csv"), "time_s,size_bytes,class\n0,1000,2\n0.01,200,7\n0.02,1000,2\n").unwrap();
    let cases = load(&path).unwrap();
    let summary = run(cases.clone()).summary;
    let classes: Vec<u8> = summary.classes.iter().map(|class| class.class).collect();
    assert_eq!(classes, [2, 7]);
    // A period of 30 ms has two packets of class 2 and one of class 7.
    for (class, bits) in summary.classes.iter().zip([16_000.0, 1600.0]) {
        let expected = 2.0 * bits / 0.03;
        assert!((class.received_bps / expected - 1.0).abs() < 0.01, "{class:?}");
    }
    let net = lower::network(&cases[0].scenario, &Spec::parse("droptail").unwrap(), 1);
    let replays: Vec<_> = net
        .flows
        .iter()
        .map(|flow| match &flow.traffic {
            Traffic::Datagrams(Pattern::Replay(replay)) => (flow.class, replay.from, replay.recording.period()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(replays.iter().map(|r| r.0).collect::<Vec<_>>(), [2, 7, 2, 7]);
    assert!(replays[0].1 == replays[1].1 && replays[2].1 == replays[3].1, "classes of a flow are played together");
    assert!(replays[0].1 != replays[2].1, "flows begin each at a place of its own");
    assert!(replays.iter().all(|r| r.2.millis() == 30.0));
}

#[test]
fn bad_packet_trace_is_reported_with_its_line() {
    let path = scenario("traces-bad", "[[flows]]\nkind = \"trace\"\nfile = \"bad\"");
    let file = path.with_file_name("bad");
    let name = file.display().to_string();
    let mut cut = pcap(&[100, 1500]);
    cut.pop();
    for (bytes, message) in [
        (cut, "flows.trace.file: found the end of the file at byte 52, expected 4 more bytes of a packet's header"),
        (b"0,100\n1,x\n".to_vec(), "2: flows.trace.file: found 'x', expected a length in bytes, such as 1500"),
        (vec![], "flows.trace.file: found no packets, expected one or more packets"),
        (vec![0xff, 0xfe], "flows.trace.file: found bytes that are not UTF-8 text at byte 0, expected text"),
    ] {
        fs::write(&file, bytes).unwrap();
        let error = load(&path).unwrap_err();
        assert_eq!(error.file, name);
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn number_of_packets_of_all_traces_is_limited() {
    let group = |name: &str| format!("[[flows]]\nname = \"{name}\"\nkind = \"trace\"\nfile = \"many.csv\"\n");
    let path = scenario("traces-many", &(group("one") + &group("two")));
    fs::write(path.with_file_name("many.csv"), "0,100\n".repeat(250_001)).unwrap();
    let error = load(&path).unwrap_err();
    assert!(error.to_string().contains("flows.two.kind") && error.accepts.contains("500000 packets"), "{error}");
}
