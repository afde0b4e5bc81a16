//! ECN codepoints of flows, from the file to the queue: `ecn = "ect0" | "ect1" | true | false`, and `l4s` of DCTCP.

use std::path::Path;

use crate::dumbbell::{Dumbbell, read};
use forebay_lab::load;
use forebay_lab::record::RunRecord;
use forebay_lab::scenario::Overrides;

/// 40 Mb/s and a round trip of 20 ms under this discipline.
fn text(aqm: &str, flows: &str) -> String {
    lossy(aqm, "", flows)
}

/// As [`text`]; `loss`: more keys of the link behind the discipline.
fn lossy(aqm: &str, loss: &str, flows: &str) -> String {
    let bell = Dumbbell {
        head: "duration = \"20s\"\nwarmup = \"5s\"\n[report]\nseries = [\"queue\", \"dualpi2.sent_l\", \"dualpi2.sent_c\"]",
        bottleneck: &format!("rate = \"40mbit\", delay = \"8ms\", queue = \"400p\", aqm = \"{aqm}\""),
        access: "rate = \"100mbit\", delays = [\"1ms\"], hosts = 4",
        egress: &format!("rate = \"100mbit\", delay = \"1ms\"{loss}"),
    };
    bell.with(flows)
}

fn run(aqm: &str, flows: &str) -> RunRecord {
    crate::dumbbell::run(read(&text(aqm, flows)).unwrap_or_else(|error| panic!("{flows}: {error}")))
}

/// The last value of an internal variable of the discipline (probe) that counts from the start of the run.
fn last(record: &RunRecord, probe: &str) -> f64 {
    let (_, column) = record.series.probes.iter().find(|(name, _)| name == probe).unwrap();
    column.last().unwrap().unwrap()
}

/// Bytes that the L queue and the C queue of DualPI2 sent.
fn queues(flows: &str) -> (f64, f64) {
    let record = run("dualpi2", flows);
    (last(&record, "dualpi2.sent_l"), last(&record, "dualpi2.sent_c"))
}

/// Mb/s of the flows of a group.
fn goodput(record: &RunRecord, group: &str) -> f64 {
    let of_group = record.flows.iter().filter(|flow| flow.group == group);
    of_group.map(|flow| flow.goodput_bytes as f64 * 8.0 / 15e6).sum()
}

/// DCTCP against CUBIC: in one queue DCTCP takes nearly all, because CUBIC multiplies its window by 0.7 at each mark. In
/// the L queue both have about the same rate and DCTCP hardly waits (RFC 9332 section 4.1).
#[test]
fn dualpi2_holds_dctcp_to_its_share_with_ect1() {
    let flows = |ecn: &str| {
        format!(
            "[[flows]]\nkind = \"ftp\"\nname = \"dctcp\"\ntcp = \"dctcp\"\nclass = 1\ncount = 2\n{ecn}\n\
             [[flows]]\nkind = \"ftp\"\nname = \"cubic\"\ntcp = \"cubic\"\ncount = 2"
        )
    };
    let (one, two) = (run("dualpi2", &flows("")), run("dualpi2", &flows("ecn = \"ect1\"")));
    assert_eq!(last(&one, "dualpi2.sent_l"), 0.0, "ECT(0) is classic");
    let (sent, all) = (last(&two, "dualpi2.sent_l"), last(&two, "dualpi2.sent_l") + last(&two, "dualpi2.sent_c"));
    assert!((0.3..0.9).contains(&(sent / all)), "{sent} of {all}");
    let ratio = |record| goodput(record, "dctcp") / goodput(record, "cubic");
    assert!(ratio(&one) > 5.0 && (0.33..3.0).contains(&ratio(&two)), "{} {}", ratio(&one), ratio(&two));
    let wait = |record: &RunRecord| {
        let class = record.summary.classes.iter().find(|class| class.class == 1).unwrap();
        class.sojourn_ms.as_ref().unwrap().mean
    };
    assert!(wait(&one) > 5.0 && wait(&two) < 1.0, "{} ms and {} ms", wait(&one), wait(&two));
}

#[test]
fn ecn_true_selects_the_senders_default_codepoint() {
    let flow = |more: &str| queues(&format!("[[flows]]\nkind = \"ftp\"\n{more}"));
    for (more, in_l) in [
        ("tcp = \"dctcp\"", false),
        ("tcp = \"dctcp\"\necn = true", false),
        ("tcp = \"dctcp\"\nl4s = false\necn = true", false),
        ("tcp = \"dctcp\"\nl4s = true", true),
        ("tcp = \"dctcp\"\nl4s = true\necn = true", true),
        ("tcp = \"dctcp\"\nl4s = true\necn = false", true),
        ("tcp = \"dctcp\"\nl4s = true\necn = \"ect0\"", false),
        ("tcp = \"dctcp\"\necn = \"ect1\"", true),
        ("tcp = \"cubic\"\necn = true", false),
        ("tcp = \"prague\"", true),
        ("tcp = \"prague\"\necn = true", true),
        ("tcp = \"prague\"\necn = \"ect0\"", false),
        ("tcp = \"cubic\"", false),
    ] {
        let (l, c) = flow(more);
        assert_eq!((l > 0.0, c > 0.0), (in_l, !in_l), "{more}: {l} {c}");
    }
}

#[test]
fn every_tcp_sends_the_requested_codepoint() {
    for tcp in ["tahoe", "reno", "newreno", "sack", "cubic", "dctcp", "bbr", "prague"] {
        let more = "ect_retransmissions = true";
        let flow = |ecn: &str| queues(&format!("[[flows]]\nkind = \"ftp\"\ntcp = \"{tcp}\"\n{more}\necn = {ecn}"));
        let ((l1, c1), (l0, c0)) = (flow("\"ect1\""), flow("\"ect0\""));
        assert!(l1 > 1e6 && c1 == 0.0 && l0 == 0.0 && c0 > 1e6, "{tcp}: {l1} {c1}, {l0} {c0}");
    }
}

/// A link that loses packets at random. ECT(1) data is counted in the L queue, Not-ECT retransmissions in the C queue.
#[test]
fn retransmissions_have_the_codepoint_of_the_senders_rules() {
    for (tcp, bare) in [
        ("tcp = \"cubic\"", true),
        ("tcp = \"bbr\"", true),
        ("tcp = \"cubic\"\nect_retransmissions = true", false),
        ("tcp = \"cubic\"\naccecn = true", false),
        ("tcp = \"prague\"", false),
        ("tcp = \"dctcp\"", false),
        ("tcp = \"dctcp\"\nect_retransmissions = false", true),
        ("tcp = \"reno\"", true),
        ("tcp = \"newreno\"", true),
        ("tcp = \"sack\"", true),
        ("tcp = \"sack\"\naccecn = true", false),
        ("tcp = \"newreno\"\nect_retransmissions = true", false),
    ] {
        let flow = format!("[[flows]]\nkind = \"ftp\"\nwindow = 20\necn = \"ect1\"\n{tcp}");
        assert_eq!(queues(&flow).1, 0.0, "no retransmissions: {tcp}");
        let record = crate::dumbbell::run(read(&lossy("dualpi2", ", loss = 0.01", &flow)).unwrap());
        let (l, c) = (last(&record, "dualpi2.sent_l"), last(&record, "dualpi2.sent_c"));
        let repeated = record.flows.iter().map(|flow| flow.retransmitted_pkts).sum::<u64>();
        assert!(l > 0.0 && repeated > 0, "{tcp}: {l} {repeated}");
        assert_eq!(c, if bare { repeated as f64 * 1500.0 } else { 0.0 }, "{tcp}");
    }
}

/// Data goes in the reverse direction, so that only acknowledgements enter DualPI2.
#[test]
fn acknowledgements_are_not_ect_but_in_linux() {
    for (tcp, capable) in [
        ("tcp = \"prague\"", false),
        ("tcp = \"prague\"\nect_acks = true", true),
        ("tcp = \"dctcp\"", false),
        ("tcp = \"cubic\"\naccecn = true", false),
        ("tcp = \"linux\"", false),
        ("tcp = \"linux\"\naccecn = true", true),
        ("tcp = \"dctcp\"\nstack = \"linux\"", true),
        ("tcp = \"l4s-linux\"", true),
        ("tcp = \"l4s-linux\"\nect_acks = false", false),
    ] {
        let (l, c) = queues(&format!("[[flows]]\nkind = \"ftp\"\ndirection = \"reverse\"\necn = \"ect1\"\n{tcp}"));
        assert!(l + c > 40.0 && (l > 0.0, c > 0.0) == (capable, !capable), "{tcp}: {l} {c}");
    }
}

/// Every kind of datagrams, at up to a tenth of the link rate.
const DATAGRAMS: [&str; 9] = [
    "kind = \"cbr\"\nrate = \"4mbit\"",
    "kind = \"cbr\"\nrate = \"4mbit\"\nspacing = \"poisson\"",
    "kind = \"onoff\"\nrate = \"4mbit\"\non = \"100ms\"\noff = \"10ms\"",
    "kind = \"pareto\"\nrate = \"4mbit\"\non = \"100ms\"\noff = \"10ms\"",
    "kind = \"voip\"\ncount = 4",
    "kind = \"mmpp\"\nrates = [\"300/s\", \"100/s\"]\ngenerator = [[-1, 1], [1, -1]]",
    "kind = \"map\"\nd0 = [[-300]]\nd1 = [[300]]",
    "kind = \"trace\"\npackets = \"0 1000, 1000000 1000, 2000000 1000\"\nrepeat = true",
    "kind = \"rtp\"\nsynthetic = { rate = \"2mbit\" }",
];

#[test]
fn datagrams_and_video_have_the_requested_codepoint() {
    for kind in DATAGRAMS {
        let flow = |ecn: &str| queues(&format!("[[flows]]\n{kind}\n{ecn}"));
        for (ecn, in_l) in [
            ("", false),
            ("ecn = false", false),
            ("ecn = true", false),
            ("ecn = \"ect0\"", false),
            ("ecn = \"ect1\"", true),
        ] {
            let (l, c) = flow(ecn);
            assert_eq!((l > 0.0, c > 0.0), (in_l, !in_l), "{kind} {ecn}: {l} {c}");
        }
    }
}

/// A packet that the discipline signals (here PI) is marked if it is ECT(0) or ECT(1), and dropped otherwise.
#[test]
fn ecn_capable_datagrams_are_marked_others_dropped() {
    let flow = |ecn: &str| run("pi q_ref=20", &format!("[[flows]]\nkind = \"cbr\"\nrate = \"44mbit\"\n{ecn}"));
    let (plain, zero, one) = (flow("ecn = false"), flow("ecn = \"ect0\""), flow("ecn = \"ect1\""));
    assert_eq!(flow("").summary.fingerprint, plain.summary.fingerprint);
    assert_eq!(flow("ecn = true").summary.fingerprint, zero.summary.fingerprint);
    assert!(plain.summary.mark_ratio == 0.0 && plain.summary.dropped.early > 0, "{:?}", plain.summary);
    for marked in [zero, one] {
        assert!(marked.summary.mark_ratio > 0.01 && marked.summary.dropped.early == 0, "{:?}", marked.summary);
    }
}

/// RFC 6679: a video sender treats marks as losses.
#[test]
fn video_sender_treats_marks_as_losses() {
    let flow = |floor: &str, ecn: &str| {
        let flows = format!(
            "[[flows]]\nkind = \"rtp\"\ncount = 10\nfloor = {floor}\nsynthetic = {{ rate = \"6mbit\" }}\necn = {ecn}"
        );
        goodput(&run("pi q_ref=20 hard_limit=100000p", &flows), "rtp")
    };
    let (deaf, drops, marks) = (flow("1", "true"), flow("0.1", "false"), flow("0.1", "true"));
    assert!(deaf > 37.0, "a link of 40 Mb/s is full: {deaf}");
    // A sender that ignores signals sends 60 Mb/s; the others reduce their rate until few packets are marked or
    // dropped.
    assert!(marks < 0.9 * deaf && (0.5..2.0).contains(&(marks / drops)), "{deaf} {drops} {marks}");
}

#[test]
fn ecn_keys_round_trip_through_stored_scenario() {
    let cases = [
        ("kind = \"ftp\"", "ecn = false"),
        ("kind = \"ftp\"\necn = true", "ecn = true"),
        ("kind = \"ftp\"\necn = \"ect0\"", "ecn = \"ect0\""),
        ("kind = \"ftp\"\necn = \"ect1\"", "ecn = \"ect1\""),
        ("kind = \"ftp\"\ntcp = \"dctcp\"", "l4s = false"),
        ("kind = \"ftp\"\ntcp = \"dctcp\"\nl4s = true", "l4s = true"),
        ("kind = \"cbr\"\nrate = \"1mbit\"", "ecn = false"),
        ("kind = \"cbr\"\nrate = \"1mbit\"\necn = \"ect1\"", "ecn = \"ect1\""),
        (
            "kind = \"onoff\"\nrate = \"1mbit\"\non = \"1s\"\noff = \"1s\"\ntransport = \"tcp\"\necn = \"ect1\"",
            "ecn = \"ect1\"",
        ),
    ];
    for (flows, line) in cases {
        let read = |text: &str| {
            crate::dumbbell::read(text).unwrap_or_else(|error| panic!("{text}: {error}")).remove(0).scenario
        };
        let first = read(&text("dualpi2", &format!("[[flows]]\n{flows}")));
        let written = first.to_toml();
        assert!(written.lines().any(|found| found == line), "{line} in {written}");
        assert_eq!(read(&written), first);
    }
}

#[test]
fn ecn_key_of_unsupported_sender_is_refused() {
    for (flows, key, words) in [
        ("kind = \"ftp\"\necn = \"ect2\"", "flows.ftp.ecn", "true, false, \"ect0\" or \"ect1\""),
        ("kind = \"ftp\"\necn = 1", "flows.ftp.ecn", "true, false, \"ect0\" or \"ect1\""),
        ("kind = \"cbr\"\nrate = \"1mbit\"\necn = \"ce\"", "flows.cbr.ecn", "true, false, \"ect0\" or \"ect1\""),
        ("kind = \"sctp\"\necn = \"ect1\"", "flows.sctp.ecn", "belongs to kind"),
        ("kind = \"ftp\"\ntcp = \"cubic\"\nl4s = true", "flows.ftp.l4s", "tcp = \"dctcp\""),
        ("kind = \"ftp\"\ntcp = \"newreno\"\naccecn = true", "flows.ftp.accecn", "\"sack\", \"cubic\""),
        ("kind = \"ftp\"\ntcp = \"sack\"\naccecn = \"option\"", "flows.ftp.accecn", "true, false or \"field\""),
        ("kind = \"cbr\"\nrate = \"1mbit\"\nl4s = true", "flows.cbr.l4s", "belongs to kind"),
    ] {
        let error = read(&text("dualpi2", &format!("[[flows]]\n{flows}"))).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(words), "{error}");
    }
}

/// `examples/l4s.toml` under one discipline, with this scalable sender and this many flows of each kind.
fn example(aqm: &str, (sender, l4s): (&str, bool), count: u32) -> RunRecord {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/l4s.toml");
    let sets = [
        format!("flows.l4s.tcp={sender}"),
        format!("flows.l4s.l4s={l4s}"),
        format!("flows.l4s.count={count}"),
        format!("flows.classic.count={count}"),
    ];
    let overrides = Overrides { sets: sets.to_vec(), aqm: vec![aqm.to_string()], ..Overrides::default() };
    crate::dumbbell::run(load::file(&file, &overrides).unwrap_or_else(|error| panic!("{error}")))
}

/// What docs/choosing.md says of scalable senders with CUBIC. Its values are means over five seeds; this is the first seed.
/// 20 % is allowed: single seeds differ from these means by up to 9 %, one of `pie ecn=off` by 18 %. The sojourn times in
/// the L queue are far below their bounds, 0.3 and 1 ms.
#[test]
fn scalable_shares_agree_with_the_choosing_page() {
    let near = |found: f64, page: f64, of: &str| assert!((0.8..1.2).contains(&(found / page)), "{of}: {found}, {page}");
    let ratio = |record: &RunRecord| goodput(record, "l4s") / goodput(record, "classic");
    let waits = |record: &RunRecord, number: u8| {
        let class = record.summary.classes.iter().find(|class| class.class == number).unwrap();
        let sojourn = class.sojourn_ms.as_ref().unwrap();
        (sojourn.mean, sojourn.p99)
    };
    let (prague, dctcp, old) = (("l4s-linux", true), ("dctcp", true), ("dctcp", false));
    for (sender, count, page, cubic) in [
        (prague, 2, 1.82, 15.4),
        (prague, 1, 2.23, 15.2),
        (dctcp, 2, 1.73, 15.5),
        (dctcp, 1, 2.07, 14.1),
        (old, 2, 14.6, 15.3),
        (old, 1, 18.9, 15.4),
    ] {
        let record = example("dualpi2", sender, count);
        let of = format!("{sender:?}, {count} and {count}");
        let (low, classic) = (last(&record, "dualpi2.sent_l"), last(&record, "dualpi2.sent_c"));
        near(ratio(&record), page, &of);
        near(waits(&record, 0).0, cubic, &of);
        let (mean, p99) = waits(&record, 1);
        if sender.1 {
            // The L queue has exactly the ECT(1) packets. Slow start counts here, and not in the ratio.
            near(low / (low + classic), page / (1.0 + page), &of);
            assert!(mean < 0.3 && p99 < 1.0, "{of}: {mean} ms, {p99} ms");
        } else {
            assert_eq!(low, 0.0, "{of}");
            near(mean, cubic, &of);
        }
    }
    for (aqm, page) in [("pie", 13.7), ("codel", 12.5), ("fq_codel", 1.0), ("pie ecn=off", 0.83)] {
        near(ratio(&example(aqm, prague, 2)), page, aqm);
    }
    let codepoints = [dctcp, old].map(|sender| example("pie", sender, 2).summary.fingerprint);
    assert_eq!(codepoints[0], codepoints[1], "pie tells no codepoint");
}

/// Alizadeh and others (SIGCOMM 2010), section 3.3: W* = (C R + K)/N = 74.2 packets, alpha = sqrt(2/W*) = 0.164. The model
/// has no random times, so the hosts have none. 25 % is allowed: the model has equal windows and whole round trips.
#[test]
fn dctcp_has_the_marked_fraction_of_the_model() {
    let sets = ["topology.access.jitter=0s", "duration=300ms", "warmup=100ms"].map(str::to_string).to_vec();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/senders/step.toml");
    let cases = load::file(&file, &Overrides { sets, ..Overrides::default() }).unwrap();
    let marked = crate::dumbbell::run(cases).summary.mark_ratio;
    assert!((0.123..0.205).contains(&marked), "{marked}");
}
