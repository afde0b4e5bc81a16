//! Flows over SCTP, from the scenario file to the results of a run.

use crate::dumbbell::{Dumbbell, case};
use forebay_aqm::base::time::Span;
use forebay_lab::record::RunRecord;
use forebay_lab::scenario::TcpVariant;

fn bell(loss: &str, flows: &str) -> String {
    let bell = Dumbbell {
        head: "duration = \"60s\"\nwarmup = \"10s\"",
        bottleneck: &format!("rate = \"10mbit\", delay = \"20ms\", queue = \"100p\"{loss}"),
        access: "rate = \"100mbit\", delays = [\"5ms\"], hosts = 5",
        egress: "delay = \"5ms\"",
    };
    bell.with(flows)
}

fn run(text: &str) -> RunRecord {
    crate::dumbbell::run(vec![case(text).unwrap()])
}

fn goodputs(record: &RunRecord, group: &str) -> f64 {
    record.flows.iter().filter(|flow| flow.group == group).map(|flow| flow.goodput_bytes as f64 * 8.0 / 50.0).sum()
}

/// The timeouts are those of RFC 9260 section 16; the other initial values are those of ns-2.
#[test]
fn sctp_defaults_are_those_of_rfc_and_ns2() {
    let flows = &case(&bell("", "[[flows]]\nkind = \"sctp\"")).unwrap().scenario.flows[0];
    let sctp = flows.kind.tcp().unwrap();
    assert_eq!((sctp.variant, sctp.initial_window, sctp.delayed_ack, sctp.ack), (TcpVariant::SCTP, 2, true, 48));
    assert_eq!((sctp.min_rto, sctp.max_rto), (Span::from_millis(1000), Span::from_millis(60_000)));
    for (key, words) in [("tcp = \"reno\"", "belongs to kind ftp"), ("ecn = true", "belongs to kind ftp")] {
        let refused = case(&bell("", &format!("[[flows]]\nkind = \"sctp\"\n{key}"))).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let refused = case(&bell("", "[[flows]]\nkind = \"ftp\"\ntcp = \"sctp\"")).unwrap_err().to_string();
    assert!(refused.contains("flows.ftp.tcp"), "{refused}");
}

#[test]
fn sctp_fills_a_link_and_shares_with_tcp() {
    let alone = run(&bell("", "[[flows]]\nkind = \"sctp\"\ncount = 5"));
    assert!(alone.summary.utilisation > 0.95 && alone.summary.jain > Some(0.8), "{:?}", alone.summary);
    let both = "[[flows]]\nkind = \"sctp\"\ncount = 5\n[[flows]]\nkind = \"ftp\"\ntcp = \"sack\"\ndelayed_ack = true\ncount = 5";
    let both = run(&bell("", both));
    let (sctp, sack) = (goodputs(&both, "sctp"), goodputs(&both, "ftp"));
    // No flow starves: both halve their windows at a loss and gain a packet in about two round trips.
    assert!(sctp + sack > 9e6 && (0.4..2.5).contains(&(sctp / sack)), "{sctp} {sack}");
}

/// Square-root law with delayed acknowledgements: sqrt(3 / (2 b p)) packets per round trip. SCTP's window grows by
/// bytes acknowledged, whatever the number of acknowledgements, so b is 1; with a loss ratio of 0.5 % timeouts are
/// rare. A quarter is allowed.
#[test]
fn sctp_window_follows_the_square_root_law() {
    let record = run(&bell(", loss = 0.005", "[[flows]]\nkind = \"sctp\"\ncount = 5").replace("10mbit", "100mbit"));
    let rtt = 2.0 * 0.03 + 0.0002;
    let law = (1.5f64 / 0.005).sqrt() / rtt * 1500.0 * 8.0;
    let mean = goodputs(&record, "sctp") / 5.0;
    assert!((mean / law - 1.0).abs() < 0.25, "{mean} for {law}");
}
