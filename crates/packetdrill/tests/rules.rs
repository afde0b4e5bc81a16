//! Rules of the runner, each with a short script after a handshake.

use forebay_aqm::base::time::Span;
use forebay_packetdrill::{Options, Report, Verdict, check};
use forebay_sim::tcp::Variant;

/// The handshake of a server with segments of 1000 bytes, SACK and a round trip of 100 ms; ten lines.
const OPEN: &str = "`../common/defaults.sh`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4

";

/// The sender of these tests, whatever the default is.
const CUBIC: Options = Options { tcp: Some(Variant::CUBIC), tolerance: None };

fn with(body: &str, options: &Options) -> Report {
    check("s.pkt", &format!("{OPEN}{body}"), options).unwrap()
}

fn run(body: &str) -> Report {
    with(body, &CUBIC)
}

/// The differences as `LINE: expected ..., came ...`, counted from the end of the handshake.
fn mismatches(body: &str) -> Vec<String> {
    let report = run(body);
    assert!(report.reasons.is_empty(), "{:?}", report.reasons);
    let lines = OPEN.lines().count();
    let shown = report.mismatches.into_iter().map(|mut mismatch| {
        mismatch.line -= lines;
        mismatch.to_string()
    });
    shown.collect()
}

#[test]
fn inexpressible_features_are_named() {
    for (body, reason) in [
        ("+0 < . 1:1(0) ack 1001 win 257", "an acknowledgement of data that was never handed over"),
        ("+0 write(4, ..., 70000000) = 70000000", "more than 64 MiB of data"),
        (
            "+0 < . 1:1(0) ack 1 win 7\n+0 write(4, ..., 1000) = 1000\n+1 > . 1:897(896) ack 1",
            "a window of less than one segment",
        ),
        ("+0 < FP. 2:1001(999) ack 1", "a FIN out of order"),
        ("+0 < FP. 1:1001(1000) ack 1\n+0 < P. 1001:2001(1000) ack 1", "data after FIN"),
        ("+0 shutdown(4, SHUT_WR) = 0\n+0 write(4, ..., 1) = 1", "data after the connection has begun to close"),
        ("+0 `tc qdisc replace dev tun0 root netem loss 1%`", "the queue `netem loss 1%`"),
        ("+0 < . 1:1(0) ack 1 win 257\n+1 > . 0:0(0) ack 1", "keepalive packets"),
        ("+0 < R. 1:1(0) ack 1\n+0 write(4, ..., 1000) = 1000", "RST"),
        ("+0 > R. 1:1(0) ack 1", "RST"),
        ("+0 < U. 1:1(0) ack 1", "urgent data"),
        ("+0 < .5 1:1(0) ack 1", "the field ACE of AccECN"),
        ("+0 < icmp unreachable frag_needed mtu 1024 [1:1001(1000)]", "ICMP"),
        ("+0 > udp (1000)", "UDP"),
        ("+0 < . 1:1(0) ack 1 <FO 12ab>", "TCP Fast Open"),
        ("+0 < . 1:1(0) ack 1 <md5 12ab>", "TCP MD5 signatures"),
        ("+0 send(4, ..., 1000, MSG_OOB) = 1000", "urgent data"),
        (
            "+0 sendmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 9}], msg_flags=0}, MSG_ZEROCOPY) = 9",
            "zero-copy sending",
        ),
        ("+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [9], 4) = 0", "the timeout of the user (TCP_USER_TIMEOUT)"),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0",
            "another congestion control during a connection",
        ),
        ("+0 `sysctl -q net.ipv4.tcp_ecn=1`", "settings that change during a connection"),
        ("+0 < S 0:0(0) win 9 <mss 1000>", "retransmissions of the handshake, or a second connection"),
        ("+1 > S. 0:0(0) ack 1 <...>", "retransmissions of the handshake"),
        ("+0 < P. 1:1001(1000) ack 1\n+.04 > . 1:1(0) ack 1001 win 9", "the window that the receiver announces"),
        ("+0 %{ assert tcpi_options == 0 }%", "the field `tcpi_options` of tcp_info"),
        ("+0 %{ import os }%", "the Python statement `import os`"),
        (
            "+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0",
            "nothing in it is about a sender or receiver of data",
        ),
    ] {
        let report = run(body);
        assert_eq!(report.verdict(), Verdict::CannotExpress, "{body}: {:?}", report.mismatches);
        let found = &report.reasons[0].what;
        assert!(found.starts_with(reason), "{body}\n{found}");
    }
}

#[test]
fn all_visible_reasons_are_listed() {
    let report = run("+0 < R. 1:1(0)\n+0 < icmp x\n+0 < R. 1:1(0)\n+0 < U. 1:1(0)");
    let reasons: Vec<_> = report.reasons.iter().map(|reason| (reason.line - 9, reason.what.as_str())).collect();
    assert_eq!(reasons, [(1, "RST"), (2, "ICMP"), (4, "urgent data")]);
}

#[test]
fn difference_before_inexpressible_line_is_failure() {
    let report = run("+0 %{ assert tcpi_snd_cwnd == 9 }%\n+0 > R. 1:1(0)");
    assert_eq!((report.verdict(), report.reasons.len()), (Verdict::Fail, 1));
    let report = run("+0 %{ assert tcpi_snd_cwnd == 10 }%\n+0 < R. 1:1(0)\n+0 %{ assert tcpi_snd_cwnd == 9 }%");
    assert_eq!(report.verdict(), Verdict::CannotExpress, "it ran only up to the RST");
}

#[test]
fn every_difference_is_reported_with_its_line() {
    let found = mismatches(
        "+0 write(4, ..., 3000) = 3000
+0 > P. 1:4001(4000) ack 1
+0 > P. 2001:3001(1000) ack 1
+0 %{ assert tcpi_snd_cwnd == 9 and tcpi_unacked == 3, tcpi_snd_cwnd }%
+.1 < . 1:1(0) ack 3001 win 257
+0 write(4, ..., 2000) = 2000
+0 > P. 4001:5001(1000) ack 1
+.1 < . 1:1(0) ack 5001 win 257 <sack 4001:5001>
+0 write(4, ..., 1000) = 1000
+0 > [ect0] EW. 5001:6001(1000) ack 5
+0 > P. 6001:7001(1000) ack 1",
    );
    assert_eq!(
        found,
        [
            "2: expected . 1:4001(4000) ack 1, came only . 1:3001(3000) ack 1",
            "3: expected . 2001:3001(1000) ack 1, came nothing",
            "4: expected assert tcpi_snd_cwnd == 9 and tcpi_unacked == 3, came tcpi_snd_cwnd = 10, tcpi_unacked = 3",
            "7: expected . 4001:5001(1000) ack 1, came . 3001:4001(1000) ack 1, before it",
            "10: expected [ect0] EW. 5001:6001(1000) ack 5, came . 5001:6001(1000) ack 1 (another acknowledgement)",
            "11: expected . 6001:7001(1000) ack 1, came nothing",
        ]
    );
}

#[test]
fn acknowledgement_of_unsent_data_is_a_difference() {
    let found = mismatches("+0 write(4, ..., 20000) = 20000\n+.1 < . 1:1(0) ack 12001 win 257");
    assert_eq!(found, ["2: expected data up to 12001, which this packet acknowledges, came data up to 10001"]);
}

#[test]
fn packets_must_come_within_the_tolerance() {
    let timeout = |time: &str| {
        format!("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n{time} > . 1:1001(1000) ack 1")
    };
    // The timeout is 300 ms, so an eighth of the time is 37.5 ms.
    for (time, holds) in [
        ("+.3", true),
        ("+.27", true),
        ("+.26", false),
        ("+.34", true),
        ("+.35", false),
        ("+.2~+.25", false),
        ("+.2~+.28", true),
        ("0.4", true),
        ("0.3~0.5", true),
        ("0.5~0.6", false),
        ("*", true),
    ] {
        let report = run(&timeout(time));
        assert_eq!(report.verdict() == Verdict::Pass, holds, "{time}: {:?}", report.mismatches);
    }
    let wide = Options { tolerance: Some(Span::from_millis(50)), ..CUBIC };
    assert_eq!(with(&timeout("+.35"), &wide).verdict(), Verdict::Pass);
    assert_eq!(run(&format!("--tolerance_usecs=50000\n{}", timeout("+.35"))).verdict(), Verdict::Pass);
    assert_eq!(run(&format!("--tolerance_percent=0\n{}", timeout("+.31"))).verdict(), Verdict::Fail);
    assert_eq!(mismatches(&timeout("+.35")), ["3: expected . 1:1001(1000) ack 1 at 0.45 s, came the packet at 0.4 s"]);
}

#[test]
fn relative_times_follow_a_late_packet() {
    let found = mismatches(
        "+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.2 > P. 1:1001(1000) ack 1
+.6 > P. 1:1001(1000) ack 1",
    );
    assert_eq!(found, ["3: expected . 1:1001(1000) ack 1 at 0.3 s, came the packet at 0.4 s"]);
}

#[test]
fn sender_is_chosen_by_user_or_script() {
    let script = |congestion: &str| format!("{congestion}{OPEN}+0 %{{ assert tcpi_snd_cwnd == 10 }}%");
    let tcp = |congestion: &str, tcp: Option<&str>| {
        let options = Options { tcp: tcp.and_then(Variant::parse), ..Options::default() };
        check("s.pkt", &script(congestion), &options).unwrap()
    };
    let reno = "`sysctl net.ipv4.tcp_congestion_control=reno`\n";
    assert_eq!(tcp(reno, None).tcp, "sack");
    assert_eq!(tcp("`sysctl net.ipv4.tcp_congestion_control=dctcp`\n", None).tcp, "dctcp");
    assert_eq!(tcp(reno, Some("cubic")).tcp, "cubic");
    let why = tcp("`sysctl net.ipv4.tcp_congestion_control=vegas`\n", None).why().unwrap();
    assert!(why.ends_with("the congestion control `vegas`"), "{why}");
}

/// A peer without SACK reports a loss by three duplicate acknowledgements.
fn without_sack() -> String {
    let body = "+0 write(4, ..., 4000) = 4000
+0 > P. 1:4001(4000) ack 1
+.1 < . 1:1(0) ack 1 win 257
+0 < . 1:1(0) ack 1 win 257
+0 < . 1:1(0) ack 1 win 257
+0 > . 1:1001(1000) ack 1";
    format!("{OPEN}{body}").replace("sackOK", "nop")
}

#[test]
fn duplicates_without_sack_need_a_sender_that_counts_them() {
    let text = without_sack();
    let cubic = check("s.pkt", &text, &CUBIC).unwrap();
    assert_eq!(cubic.reasons[0].what, "duplicate acknowledgements without SACK on a sender that needs SACK");
    let newreno = Options { tcp: Some(Variant::NEWRENO), ..Options::default() };
    assert_eq!(check("s.pkt", &text, &newreno).unwrap().verdict(), Verdict::Pass);
}

#[test]
fn data_and_window_updates_are_no_duplicates() {
    let body = "+0 write(4, ..., 4000) = 4000
+0 > P. 1:4001(4000) ack 1
+.1 < . 1:1(0) ack 1 win 300
+0 < P. 1:1001(1000) ack 1 win 300
+0 < . 1:1(0) ack 1 win 257";
    let text = format!("{OPEN}{body}").replace("sackOK", "nop");
    let newreno = Options { tcp: Some(Variant::NEWRENO), ..Options::default() };
    let report = check("s.pkt", &format!("{text}\n+0 %{{ assert tcpi_ca_state == TCP_CA_Open }}%"), &newreno).unwrap();
    assert_eq!(report.verdict(), Verdict::Pass, "{:?} {:?}", report.mismatches, report.reasons);
}

#[test]
fn reset_at_the_end_is_not_compared() {
    let data = "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n";
    let end = "+0 < R. 1:1(0) ack 1 win 0\n+0 close(4) = 0\n`./sysctl_restore_${PPID}.sh`";
    assert_eq!(run(&format!("{data}{end}")).verdict(), Verdict::Pass);
}

#[test]
fn every_field_of_an_acknowledgement_is_compared() {
    let answer = |wanted: &str| {
        // Without ECN a mark is ignored.
        let data = "+0 < P. 1:1001(1000) ack 1 win 257\n+0 < [ce] P. 2001:3001(1000) ack 1 win 257\n";
        mismatches(&format!("{data}+0 > {wanted}"))
    };
    let came = "came . 1:1(0) ack 1001 <sack 2001:3001>";
    assert!(answer(". 1:1(0) ack 1001 <sack 2001:3001>").is_empty() && answer(". 1:1(0) ack 1001 <...>").is_empty());
    for (wanted, what) in [
        (". 2:2(0) ack 1001 <...>", "another sequence number"),
        (". 1:1(0) ack 1001", "other selective blocks"),
        (". 1:1(0) ack 1001 <sack 2001:4001>", "other selective blocks"),
        ("E. 1:1(0) ack 1001 <...>", "ECN-Echo"),
        ("W. 1:1(0) ack 1001 <...>", "CWR"),
        ("[ect0] . 1:1(0) ack 1001 <...>", "another ECN codepoint"),
    ] {
        let found = answer(wanted);
        assert!(found.len() == 1 && found[0].ends_with(&format!("{came} ({what})")), "{wanted}: {found:?}");
    }
    let none = answer(". 1:1(0) ack 3001 <...>");
    assert!(none[0].ends_with(came), "{none:?}");
}

#[test]
fn queue_that_refuses_packets_stops_a_paced_sender() {
    let data =
        "+0 write(4, ..., 40000) = 40000\n+0 `tc qdisc replace dev tun0 root pfifo limit 0`\n+2 write(4, ..., 1) = 1";
    let text = format!("`tc qdisc replace dev tun0 root fq`\n{OPEN}{data}").replace("`../common/defaults.sh`\n", "\n");
    for tcp in ["linux", "cubic", "bbr"] {
        let options = Options { tcp: Variant::parse(tcp), ..Options::default() };
        assert_eq!(check("s.pkt", &text, &options).unwrap().verdict(), Verdict::CannotExpress, "{tcp}");
    }
}

#[test]
fn script_without_sack_runs_on_newreno_by_default() {
    let report = check("s.pkt", &without_sack(), &Options::default()).unwrap();
    assert_eq!((report.verdict(), report.tcp), (Verdict::Pass, "newreno"));
}

#[test]
fn values_of_timestamps_are_compared_on_request_only() {
    let text = OPEN.replace("sackOK,nop,nop", "sackOK,TS val 1 ecr 0").replace("sackOK", "sackOK,TS val 1 ecr 1");
    let body = "+0 write(4, ..., 988) = 988\n+0 > P. 1:989(988) ack 1 <nop,nop,TS val 1 ecr 1>";
    assert_eq!(check("s.pkt", &format!("{text}{body}"), &CUBIC).unwrap().verdict(), Verdict::Pass);
    let report = check("s.pkt", &format!("--tcp_ts_tick_usecs=1000\n{text}{body}"), &CUBIC).unwrap();
    assert_eq!(report.reasons[0].what, "the values of timestamps");
}
