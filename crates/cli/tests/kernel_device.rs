//! `forebay attach` on real devices, in network namespaces of the tests, with TCP of the kernel. The tests need root;
//! without it they are skipped.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::skips::skip;
use crate::wire::{DEVICE, Rig, run};
use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::DisciplineKind;
use serde_json::Value;

const RATE: &str = "30mbit";
const BITS: f64 = 30e6;
const FLOWS: usize = 4;
/// Holds 60 packets (24 ms) with any number of flows.
const LAW: &str = "pi preset=tuned q_ref=60 n=4 rtt=60ms";

/// The namespaces. `None`: something is missing, and the test is skipped.
fn rig() -> Option<Rig> {
    Rig::new().map_err(skip).ok()
}

/// Attaches in the background. Returns the daemon's process id, or what this machine lacks.
fn try_attach(rig: &Rig, aqm: &str, more: &[&str]) -> Result<u64, String> {
    let words = [&["attach", DEVICE, "--rate", RATE, "--aqm", aqm, "--background", "--json"], more].concat();
    let out = rig.ended(&words);
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    if out.status.code() == Some(4) {
        return Err(document["error"]["message"].as_str().unwrap_or_default().to_string());
    }
    assert!(out.status.success(), "{out:?}");
    Ok(document["attached"]["pid"].as_u64().unwrap())
}

/// The first attachment of a test. `None`: this machine does not support it, and the test is skipped.
fn attach(rig: &Rig, aqm: &str, more: &[&str]) -> Option<u64> {
    try_attach(rig, aqm, more).map_err(skip).ok()
}

/// A further attachment of the same kind, which must succeed.
fn attach_again(rig: &Rig, aqm: &str, more: &[&str]) -> u64 {
    try_attach(rig, aqm, more).unwrap()
}

/// Output of `forebay top` for the device over the next second.
fn top(rig: &Rig) -> Value {
    rig.document(&["top", DEVICE])["devices"][0].clone()
}

/// As [`top`], for the first of three seconds in which `holds` is true, otherwise for the third. One second can be
/// spoiled: another virtual machine can take the processor for a large part of it.
fn top_when(rig: &Rig, holds: impl Fn(&Value) -> bool) -> Value {
    (0..2).map(|_| top(rig)).find(holds).unwrap_or_else(|| top(rig))
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path} in {value}"))
}

fn real(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {value}"))
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).trim().to_string()
}

/// The client or server process of a TCP load. It is a test of this program, so that a test can start it; if the
/// environment names no role, it does nothing.
#[test]
fn plays_a_child_process() {
    crate::wire::play();
}

/// Every dropped packet is retransmitted once. On a busy machine a late acknowledgement causes further
/// retransmissions, which the receiver reports as duplicates (DSACK).
fn drops_are_retransmissions(actuator: &str) {
    let Some(rig) = rig() else { return };
    let law = format!("{LAW} ecn=off");
    if attach(&rig, &law, &["--actuator", actuator, "--limit", "600p"]).is_none() {
        return;
    }
    let load = rig.load(FLOWS, 8);
    sleep(Duration::from_secs(5));
    let during = top(&rig);
    load.finish();
    // The daemon reads nftables' counters twenty times a second.
    sleep(Duration::from_millis(200));
    let after = top(&rig);
    let dropped = number(&after, "/dropped_early/pkts") + number(&after, "/dropped_overflow/pkts");
    let again = rig.counter(0, "snmp", "Tcp", "RetransSegs");
    let duplicates = rig.counter(0, "netstat", "TcpExt", "TCPDSACKRecvSegs");
    println!("{actuator}: {dropped} dropped, {again} sent again, {duplicates} duplicates; {during}");
    assert!(dropped >= 30, "{after}");
    let elsewhere = ["TCPTimeouts", "TCPSpuriousRTOs", "TCPRetransFail", "TCPBacklogDrop", "PruneCalled", "TCPOFODrop"]
        .map(|name| (name, [0, 2].map(|place| rig.counter(place, "netstat", "TcpExt", name))));
    assert!(
        dropped.abs_diff(again.saturating_sub(duplicates)) <= 2 + dropped / 50,
        "{dropped} dropped, {again} sent again, {duplicates} duplicates; client and server: {elsewhere:?}"
    );
    assert!(real(&during, "/per_second/sent_bits") > 0.9 * BITS, "{during}");
    assert!(number(&during, "/backlog_bytes") < 200 * 1514, "{during}");
    assert!(rig.ended(&["detach", DEVICE]).status.success());
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn packets_dropped_by_tcx_link_are_retransmitted_once() {
    drops_are_retransmissions("tcx");
}

#[test]
fn packets_dropped_by_nftables_are_retransmitted_once() {
    drops_are_retransmissions("nft");
}

/// Every marked packet is received.
fn marks_are_received(actuator: &str) {
    let Some(rig) = rig() else { return };
    if attach(&rig, LAW, &["--actuator", actuator, "--limit", "600p"]).is_none() {
        return;
    }
    rig.load(FLOWS, 8).finish();
    sleep(Duration::from_millis(200));
    let after = top(&rig);
    let (marked, received) = (number(&after, "/marked/pkts"), rig.counter(2, "netstat", "IpExt", "InCEPkts"));
    let dropped = number(&after, "/dropped_early/pkts");
    println!("{actuator}: {marked} marked, {received} received, {dropped} dropped");
    // A packet that is marked and then overflows the buffer is not received.
    assert!(marked >= 30 && received <= marked, "{after}");
    assert!(marked - received <= number(&after, "/dropped_overflow/pkts"), "{received} received: {after}");
    assert!(dropped <= marked / 5, "{after}");
    assert!(rig.ended(&["detach", DEVICE]).status.success());
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn marks_of_a_tcx_link_are_received() {
    marks_are_received("tcx");
}

#[test]
fn marks_of_a_clsact_filter_are_received() {
    marks_are_received("clsact");
}

#[test]
fn marks_of_nftables_are_received() {
    marks_are_received("nft");
}

/// Traffic continues, early drops end within 1.5 s, and the remains can be removed.
fn outlives_its_daemon(actuator: &str) {
    let Some(rig) = rig() else { return };
    // A set point so low that packets are always dropped.
    let law = "pi preset=tuned q_ref=5 n=4 rtt=60ms ecn=off";
    let Some(pid) = attach(&rig, law, &["--actuator", actuator]) else { return };
    let load = rig.load(FLOWS, 12);
    sleep(Duration::from_secs(4));
    let drops = |now: &Value| now["served"] == true && real(now, "/per_second/dropped_early") > 0.0;
    let before = top_when(&rig, drops);
    assert!(drops(&before), "{before}");
    let killed = Instant::now();
    run(&format!("kill -9 {pid}")).unwrap();
    sleep(Duration::from_millis(1500).saturating_sub(killed.elapsed()));
    let after = top(&rig);
    println!("{actuator}: before {}, after {}", before["per_second"], after["per_second"]);
    assert_eq!(after["served"], false);
    assert_eq!(real(&after, "/per_second/dropped_early") + real(&after, "/p"), 0.0, "{after}");
    let fills = |now: &Value| real(now, "/per_second/sent_bits") > 0.9 * BITS;
    assert!(fills(&after) || fills(&top_when(&rig, fills)), "{after}");
    assert!(actuator == "nft" || number(&after, "/passed_without_daemon/pkts") > 0, "{after}");
    // The next attachment removes the remains of that one.
    attach_again(&rig, law, &["--actuator", actuator]);
    assert!(top(&rig)["served"] == true);
    let out = rig.ended(&["detach", DEVICE]);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(rig.left(), Vec::<String>::new());
    load.finish();
}

#[test]
fn a_tcx_link_outlives_its_daemon() {
    outlives_its_daemon("tcx");
}

#[test]
fn a_clsact_filter_outlives_its_daemon() {
    outlives_its_daemon("clsact");
}

#[test]
fn nftables_rules_last_one_second_after_their_daemon() {
    outlives_its_daemon("nft");
}

fn tc(rig: &Rig, words: &str) -> Result<(), String> {
    let out = rig.within(1, "tc").args(words.split(' ')).output().unwrap();
    if out.status.success() { Ok(()) } else { Err(said(&out)) }
}

/// Attaches to a device with a root qdisc and a filter of another program, and detaches. `false`: this machine does
/// not support it, and the test is skipped.
fn is_put_back(rig: &Rig, qdisc: &str) -> bool {
    if let Err(refusal) = tc(rig, &format!("qdisc add dev {DEVICE} root handle 17: {qdisc}")) {
        assert!(refusal.contains("unknown"), "{qdisc}: {refusal}");
        skip(format!("not in this kernel: {qdisc}"));
        return false;
    }
    tc(rig, &format!("qdisc add dev {DEVICE} clsact")).unwrap();
    // A filter of another program, at our preference.
    let at = ["filter", "add", "dev", DEVICE, "egress", "protocol", "all", "pref", "64251", "handle", "1"];
    let filter = rig.within(1, "tc").args(at).args(["bpf", "bytecode", "1,6 0 0 0"]).output().unwrap();
    assert!(filter.status.success(), "{filter:?}");
    let before = (rig.qdisc(), rig.filters());
    if attach(rig, "raqm", &["--actuator", "clsact"]).is_none() {
        return false;
    }
    assert!(rig.qdisc().contains("qdisc tbf fb:") && rig.qdisc().contains("rate 30Mbit"), "{}", rig.qdisc());
    let second = rig.ended(&["attach", DEVICE, "--rate", RATE]);
    assert!(second.status.code() == Some(2) && said(&second).contains("forebay detach"), "{second:?}");
    assert!(rig.ended(&["detach", DEVICE]).status.success());
    assert_eq!((rig.qdisc(), rig.filters()), before);
    tc(rig, &format!("qdisc del dev {DEVICE} clsact")).unwrap();
    tc(rig, &format!("qdisc del dev {DEVICE} root")).unwrap();
    assert_eq!(rig.left(), Vec::<String>::new());
    true
}

#[test]
fn detach_restores_the_previous_qdisc() {
    let Some(rig) = rig() else { return };
    // Attaching needs tbf, and FIFOs are in every kernel with qdiscs: if the first attachment works, all do.
    let qdiscs = [
        "tbf rate 1gbit burst 64kb limit 1000000b",
        "tbf rate 7mbit burst 10kb latency 50ms peakrate 8mbit mtu 1540",
        "pfifo limit 321",
        "bfifo limit 123456b",
    ];
    for (n, qdisc) in qdiscs.iter().enumerate() {
        if !is_put_back(&rig, qdisc) {
            return assert_eq!(n, 0, "{qdisc}");
        }
    }
}

/// One test for each qdisc that a kernel may lack.
macro_rules! are_put_back {
    ($($test:ident: $qdisc:literal,)*) => { $(
        #[test]
        fn $test() {
            if let Some(rig) = rig() {
                is_put_back(&rig, $qdisc);
            }
        }
    )* };
}

are_put_back! {
    fq_is_put_back: "fq flow_limit 50 quantum 3000",
    fq_codel_is_put_back: "fq_codel",
    codel_is_put_back: "codel ecn",
    pie_is_put_back: "pie",
    fq_pie_is_put_back: "fq_pie",
    sfq_is_put_back: "sfq perturb 10",
    cake_is_put_back: "cake",
}

/// Attaches without a program that it needs: the qdisc of before stays.
fn starts_that_fail(rig: &Rig) {
    let before = rig.qdisc();
    // A file at the place of the program hides it for this command.
    for (program, actuator) in [("nft", "nft"), ("tc", "nft"), ("tc", "tcx"), ("tc", "clsact")] {
        let script = format!(
            "for place in /usr/sbin /sbin /usr/bin /bin; do
            test -f $place/{program} && mount --bind /dev/null $place/{program}; done
            exec {} attach {DEVICE} --rate {RATE} --actuator {actuator}",
            env!("CARGO_BIN_EXE_forebay")
        );
        let out = rig.within(1, "unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
        let why = format!("{program} is not installed");
        assert!(out.status.code() == Some(4) && said(&out).contains(&why), "{program}, {actuator}: {out:?}");
        assert_eq!(rig.qdisc(), before, "{program}, {actuator}");
        assert_eq!(rig.left(), Vec::<String>::new(), "{program}, {actuator}");
    }
}

#[test]
fn failed_attach_restores_the_previous_qdisc() {
    let Some(rig) = rig() else { return };
    tc(&rig, "qdisc add dev out root handle 17: pfifo limit 321").unwrap();
    starts_that_fail(&rig);
}

#[test]
fn failed_attach_does_not_block_the_next() {
    let Some(rig) = rig() else { return };
    tc(&rig, "qdisc add dev out root handle 17: pfifo limit 321").unwrap();
    let before = rig.qdisc();
    if attach(&rig, "pi", &[]).is_none() {
        return;
    }
    assert!(rig.ended(&["detach", DEVICE]).status.success());
    starts_that_fail(&rig);
    attach_again(&rig, "pi", &[]);
    assert!(rig.ended(&["detach", DEVICE]).status.success());
    assert_eq!(rig.qdisc(), before);
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn one_of_two_simultaneous_attach_commands_succeeds() {
    let Some(rig) = rig() else { return };
    for _ in 0..5 {
        let words = ["attach", DEVICE, "--rate", RATE, "--background"];
        let both = [(); 2].map(|()| rig.forebay(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let mut codes = both.map(|one| {
            let out = one.wait_with_output().unwrap();
            // The message of the daemon about its input is that of this command.
            assert!(out.status.success() || said(&out).contains("detach it first: forebay detach out"), "{out:?}");
            out.status.code()
        });
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(2)]);
        assert!(rig.ended(&["detach", DEVICE]).status.success());
        assert_eq!(rig.left(), Vec::<String>::new());
    }
}

fn a_renamed_device_is_the_same(actuator: &str) {
    let Some(rig) = rig() else { return };
    let ip = |words: &str| assert!(rig.within(1, "ip").args(words.split(' ')).status().unwrap().success(), "{words}");
    ip("link property add dev out altname the-way-out-of-here");
    let words = ["attach", "the-way-out-of-here", "--rate", RATE, "--background", "--actuator", actuator];
    let out = rig.ended(&words);
    if out.status.code() == Some(4) {
        return skip(said(&out));
    }
    assert!(out.status.success(), "{out:?}");
    // The device is renamed, as udev does, and another device gets its old name.
    for words in
        ["link set out down", "link set out name wan", "link set wan up", "link add out type veth peer name other"]
    {
        ip(words);
    }
    sleep(Duration::from_millis(1200));
    let seen = rig.document(&["top", "wan"])["devices"][0].clone();
    assert!(seen["served"] == true && seen["attachment"]["device"] == "out", "{actuator}: {seen}");
    let other = rig.ended(&["detach", "out"]);
    assert!(other.status.code() == Some(2) && said(&other).contains("expected wan"), "{other:?}");
    // An attachment of the other device is separate.
    assert!(rig.ended(&["attach", "out", "--rate", RATE, "--background"]).status.success());
    for device in ["out", "wan"] {
        let out = rig.ended(&["detach", device]);
        assert!(out.status.success(), "{actuator}: {out:?}");
        assert!(device == "wan" || rig.document(&["top", "wan"])["devices"][0]["served"] == true, "{actuator}");
    }
    for words in ["link del out", "link set wan down", "link set wan name out", "link set out up"] {
        ip(words);
    }
    assert_eq!(rig.left(), Vec::<String>::new(), "{actuator}");
}

#[test]
fn a_tcx_link_follows_a_renamed_device() {
    a_renamed_device_is_the_same("tcx");
}

#[test]
fn a_clsact_filter_follows_a_renamed_device() {
    a_renamed_device_is_the_same("clsact");
}

#[test]
fn rules_of_nftables_follow_a_renamed_device() {
    a_renamed_device_is_the_same("nft");
}

/// The handle is in use when the device's own qdisc is restored, by the daemon or, if it was killed, by `detach`.
fn what_is_not_back_is_said(killed: bool) {
    let Some(rig) = rig() else { return };
    tc(&rig, "qdisc add dev out root handle 17: pfifo limit 321").unwrap();
    let Some(pid) = attach(&rig, "pi", &[]) else { return };
    // The kernel does not give two qdiscs of a device the same handle.
    tc(&rig, "qdisc add dev out parent fb:1 handle 17: bfifo limit 9999").unwrap();
    if killed {
        run(&format!("kill -9 {pid}")).unwrap();
    }
    let out = rig.ended(&["detach", DEVICE]);
    assert!(out.status.code() == Some(1) && said(&out).contains("pfifo 17:"), "{out:?}");
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn daemon_reports_what_it_cannot_restore() {
    what_is_not_back_is_said(false);
}

#[test]
fn detach_reports_what_it_cannot_restore() {
    what_is_not_back_is_said(true);
}

#[test]
fn daemon_ends_if_its_qdisc_is_replaced() {
    let Some(rig) = rig() else { return };
    if attach(&rig, "pi", &[]).is_none() {
        return;
    }
    tc(&rig, "qdisc replace dev out root handle 99: pfifo limit 7").unwrap();
    sleep(Duration::from_millis(300));
    // The daemon has noticed, and restored what could be restored.
    assert!(rig.qdisc().contains("pfifo 99:"), "{}", rig.qdisc());
    tc(&rig, "qdisc del dev out root").unwrap();
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn stray_state_file_does_not_prevent_detach() {
    let Some(rig) = rig() else { return };
    if attach(&rig, "pi", &[]).is_none() {
        return;
    }
    let stray = std::path::Path::new("/run/forebay/7@1.json");
    std::fs::write(stray, "{").unwrap();
    let seen = top(&rig);
    let out = rig.ended(&["detach", DEVICE]);
    std::fs::remove_file(stray).unwrap();
    assert!(seen["served"] == true && out.status.success(), "{out:?}");
    // A process that may only read cannot block the others.
    let words = ["attach", DEVICE, "--rate", RATE, "--background"];
    assert!(rig.ended(&words).status.success());
    let script = "test -d /run/forebay && ! test -r /run/forebay/.lock";
    let seen = Command::new("setpriv").args(["--reuid", "65534", "--clear-groups", "sh", "-c", script]).status();
    assert!(seen.unwrap().success());
    assert!(rig.ended(&["detach", DEVICE]).status.success());
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn daemon_under_nohup_ends_on_request() {
    let Some(rig) = rig() else { return };
    let script = format!("trap '' HUP; exec {} attach {DEVICE} --rate {RATE}", env!("CARGO_BIN_EXE_forebay"));
    let mut daemon = rig.within(1, "sh").args(["-c", &script]).stderr(Stdio::null()).spawn().unwrap();
    sleep(Duration::from_secs(1));
    for signal in ["HUP", "TERM"] {
        let ended = daemon.try_wait().unwrap();
        assert!(ended.is_none() || ended.unwrap().code() == Some(4), "{ended:?}");
        if ended.is_some() {
            return skip("nothing can be attached here");
        }
        run(&format!("kill -{signal} {}", daemon.id())).unwrap();
        sleep(Duration::from_millis(300));
    }
    assert!(daemon.wait().unwrap().success());
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn wrong_input_leaves_the_device_unchanged() {
    let Some(rig) = rig() else { return };
    let before = rig.qdisc();
    for (words, says) in [
        ("attach nowhere --rate 10mbit", "DEV: found 'nowhere', expected a network device"),
        ("attach out --rate 0", "--rate: found '0', expected a rate such as 15mbit"),
        ("attach out --rate fast", "--rate: found 'fast'"),
        ("attach out --rate 10mbit --aqm codel", "--aqm: found 'codel', expected a control law"),
        ("attach out --rate 10mbit --aqm nothing", "found 'nothing'"),
        (
            "attach out --rate 10mbit --metrics 0.0.0.0:9550",
            "--metrics: found '0.0.0.0:9550', expected a loopback address",
        ),
        ("attach out --rate 10mbit --limit 1b", "--limit: found"),
        ("attach nowhere --rate 10mbit --background", "DEV: found 'nowhere'"),
        ("detach out", "DEV: found 'out', expected an attached device"),
        ("top out", "DEV: found 'out'"),
    ] {
        let out = rig.ended(&words.split(' ').collect::<Vec<_>>());
        assert!(out.status.code() == Some(2) && said(&out).contains(says), "{words}: {out:?}");
        assert_eq!(said(&out).lines().count(), 1, "{words}: {}", said(&out));
    }
    // A classful qdisc could not be restored.
    if run(&format!("nsenter --net=/run/netns/fb{}r tc qdisc add dev out root handle 1: htb", std::process::id()))
        .is_ok()
    {
        for words in [&["attach", DEVICE, "--rate", RATE][..], &["attach", DEVICE, "--rate", RATE, "--background"]] {
            let out = rig.ended(words);
            assert!(out.status.code() == Some(2) && said(&out).contains("root qdisc htb"), "{out:?}");
        }
        assert!(rig.within(1, "tc").args(["qdisc", "del", "dev", DEVICE, "root"]).status().unwrap().success());
    }
    assert_eq!(rig.qdisc(), before);
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn missing_permission_and_wrong_input_have_different_messages() {
    // Every user can be refused: the loopback device exists, and is not changed.
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(["attach", "lo", "--rate", "10mbit"]);
    let root = std::fs::read_to_string("/proc/self/status").unwrap().contains("Uid:\t0\t");
    if root {
        // If other users cannot read the program: a copy.
        let copy = std::env::temp_dir().join(format!("forebay-attach-{}", std::process::id()));
        std::fs::copy(env!("CARGO_BIN_EXE_forebay"), &copy).unwrap();
        command = Command::new(&copy);
        command.args(["attach", "lo", "--rate", "10mbit"]).uid(65_534).gid(65_534);
        let out = command.output().unwrap();
        std::fs::remove_file(copy).unwrap();
        return refused(&out);
    }
    refused(&command.output().unwrap());
}

fn refused(out: &Output) {
    assert!(out.status.code() == Some(4) && said(out).contains("CAP_NET_ADMIN"), "{out:?}");
}

#[test]
fn nftables_is_used_without_bpf() {
    // Namespaces only for the tests that need them.
    let Some(_rig) = rig() else { return };
    let program = env!("CARGO_BIN_EXE_forebay");
    let script = format!(
        "ip link add ve type veth peer name vf && ip link set ve up || exit 77
        timeout -s INT 2 {program} attach ve --rate 10mbit --aqm raqm; echo status $?
        {program} attach ve --rate 10mbit --aqm raqm --actuator tcx; echo status $?
        nft list tables; tc qdisc show dev ve"
    );
    let out = Command::new("unshare").args(["-Urn", "bash", "-c", &script]).output();
    let Some(out) = out.ok().filter(|out| out.status.success()) else {
        return skip("no user namespaces");
    };
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said(&out).contains("tcx: BPF: cannot") && said(&out).contains("using actuator nft"), "{out:?}");
    // timeout sends two signals and exits with 124; afterwards the kernel's own qdisc is installed.
    assert!(text.contains("the device is restored\nstatus 124\nstatus 4\nqdisc noqueue 0:"), "{out:?}");
}

fn a_device_that_goes_leaves_nothing(actuator: &str) {
    let Some(rig) = rig() else { return };
    let made = rig.within(1, "ip").args("link add gone type veth peer name other".split(' ')).status();
    assert!(made.unwrap().success());
    let mut daemon = rig.forebay(&["attach", "gone", "--rate", RATE, "--aqm", "raqm", "--actuator", actuator]);
    let mut daemon = daemon.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    sleep(Duration::from_millis(1500));
    let refused = daemon.try_wait().unwrap();
    assert!(rig.within(1, "ip").args(["link", "del", "gone"]).status().unwrap().success());
    let out = daemon.wait_with_output().unwrap();
    if refused.is_some_and(|status| status.code() == Some(4)) {
        return skip(said(&out));
    }
    assert!(out.status.code() == Some(4) && said(&out).contains("gone no longer exists"), "{actuator}: {out:?}");
    assert_eq!(rig.left(), Vec::<String>::new());
}

#[test]
fn tcx_link_is_removed_with_its_device() {
    a_device_that_goes_leaves_nothing("tcx");
}

#[test]
fn clsact_filter_is_removed_with_its_device() {
    a_device_that_goes_leaves_nothing("clsact");
}

#[test]
fn nftables_rules_are_removed_with_their_device() {
    a_device_that_goes_leaves_nothing("nft");
}

/// `forebay attach --metrics` serves counters for Prometheus.
#[test]
fn prometheus_counters_count_every_packet_under_every_law() {
    let Some(rig) = rig() else { return };
    let laws = ENTRIES.iter().filter(|entry| entry.kind == DisciplineKind::Law).map(|entry| entry.name);
    for (n, law) in laws.chain(["droptail"]).enumerate() {
        let metrics = ["--metrics", "127.0.0.1:9551"];
        if n == 0 && attach(&rig, law, &metrics).is_none() {
            return;
        }
        if n > 0 {
            attach_again(&rig, law, &metrics);
        }
        rig.load(1, 1).finish();
        sleep(Duration::from_millis(300));
        let get = "exec 3<>/dev/tcp/127.0.0.1/9551; \
                   printf 'GET /metrics HTTP/1.1\\r\\nHost: 127.0.0.1:9551\\r\\n\\r\\n' >&3; cat <&3";
        let out = rig.within(1, "bash").args(["-c", get]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("forebay_{name}{{device=\"out\"}} ")));
            line.and_then(|value| value.parse::<f64>().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
        };
        assert_eq!(value("rate_bits_per_second"), BITS, "{law}");
        assert!(value("offered_packets_total") > 1000.0, "{law}: {text}");
        let lost = value("dropped_early_packets_total") + value("passed_packets_total");
        assert_eq!(lost, value("offered_packets_total"), "{law}: {text}");
        assert!(rig.ended(&["detach", DEVICE]).status.success());
    }
    assert_eq!(rig.left(), Vec::<String>::new());
}
