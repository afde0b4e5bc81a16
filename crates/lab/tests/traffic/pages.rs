//! Pages of many objects over several connections, and packet sizes by group, worked by hand.

use crate::dumbbell::{Dumbbell, read};
use forebay_lab::record::RunRecord;

/// A run of 10 s on a path without queue: 1 Gbit/s, a round trip of 100 ms.
fn run(flows: &str) -> RunRecord {
    let bell = Dumbbell {
        head: "duration = \"10s\"\nwarmup = \"0s\"",
        bottleneck: "rate = \"1gbit\", delay = \"48ms\", queue = \"1000p\", aqm = \"droptail\"",
        access: "rate = \"1gbit\", delays = [\"1ms\"], jitter = \"0us\"",
        egress: "rate = \"1gbit\", delay = \"1ms\"",
    };
    crate::dumbbell::run(read(&bell.with(flows)).unwrap())
}

/// Mean load time of the pages, in round trips, and their number.
fn load(keys: &str) -> (f64, usize) {
    let flows = format!("[[flows]]\nkind = \"web\"\nstart = \"0s\"\nthink = \"1000s\"\nsize = \"1p\"\n{keys}");
    mean(&run(&flows))
}

fn mean(record: &RunRecord) -> (f64, usize) {
    (record.summary.classes[0].fct_s.as_ref().unwrap().mean / 0.1, record.completions.len())
}

/// A document takes a round trip; the other objects, of one packet each, one for every six.
#[test]
fn page_takes_a_round_trip_for_six_objects() {
    for (objects, rounds) in [(2, 2.0), (7, 2.0), (8, 3.0), (13, 3.0), (14, 4.0), (50, 10.0)] {
        let (took, n) = load(&format!("objects = {objects}"));
        assert!((took - rounds).abs() < 0.02, "{objects} objects: {took} round trips");
        assert_eq!(n, 1, "a page counts once");
    }
    let (took, _) = load("objects = 50\nconnections = 1");
    assert!((took - 50.0).abs() < 0.1, "{took}");
    let (took, _) = load("objects = 50\nconnections = 64");
    assert!((took - 2.0).abs() < 0.02, "{took}");
}

/// The SYN of each connection takes a round trip: two for the document, two for the objects on new connections.
#[test]
fn connections_of_a_page_open_when_they_are_used() {
    let (took, _) = load("objects = 7\nhandshake = true");
    assert!((took - 4.0).abs() < 0.02, "{took} round trips");
    // Of two objects after the document, the first is on the open connection and takes one; the second takes two.
    let (took, _) = load("objects = 2\nhandshake = true");
    assert!((took - 3.0).abs() < 0.02, "{took} round trips");
}

/// Two pages: new connections for each, or the same ones.
#[test]
fn second_page_reuses_persistent_connections() {
    let pages = "objects = 7\nhandshake = true\nthink = \"1s\"\nrepeat = 2";
    let load = |keys: &str| {
        let flows = format!("[[flows]]\nkind = \"web\"\nstart = \"0s\"\nsize = \"1p\"\n{pages}\n{keys}");
        let (took, n) = mean(&run(&flows));
        assert_eq!(n, 2);
        took
    };
    assert!((load("") - 3.0).abs() < 0.02, "4 and 2 round trips");
    assert!((load("persistent = false") - 4.0).abs() < 0.02, "4 and 4");
}

/// Packets of 500 bytes have 460 bytes of data; a file of 30 packets takes 15,000 bytes of the link.
#[test]
fn groups_have_their_own_packet_sizes() {
    let file = |packet: &str| format!("[[flows]]\nkind = \"file\"\nstart = \"0s\"\nsize = \"30p\"\n{packet}");
    let sent = |packet: &str| {
        let record = run(&file(packet));
        (record.summary.delivered_pkts, record.summary.classes[0].received_bps * 10.0 / 8.0)
    };
    assert_eq!(sent("packet = 500"), (30, 15_000.0));
    assert_eq!(sent(""), (30, 45_000.0), "the packet of the scenario, 1500 bytes");
}
