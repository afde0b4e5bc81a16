//! `forebay attach` in a Linux kernel in virtual time, whose device has another root qdisc before. Without the built
//! kernel the tests are skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_linux::machine::{GuestFile, SILENT_CPU_S, Start, run_with_files};
use forebay_linux::network::cable;
use forebay_linux::orders::{CLIENTS, Program, SERVERS};
use forebay_linux::place::{Kernel, REMEDY};
use forebay_linux::records::Record;
use forebay_sim::network::{FlowSpec, HostSpec, Lane, Network, Traffic};
use forebay_sim::tcp::TcpOptions;
use serde_json::Value;

use crate::skips::skip;

const MS: u64 = 1_000_000;
/// The device of the senders.
const DEVICE: &str = "c0";
/// Between the steps with one root qdisc, and until the next.
const ATTACHED: u64 = 4_000 * MS;
const NEXT: u64 = 7_000 * MS;
/// Senders, and the receive window of each, bytes: with a delay of 40 ms they send 30 Mb/s without a shaper.
const FLOWS: usize = 10;
const WINDOW: u32 = 15_000;

/// What the tests need besides the kernel.
struct Needs {
    kernel: Kernel,
    files: Vec<GuestFile>,
}

/// The kernel, and the programs with their libraries; `None` if the test is skipped.
fn needs() -> Option<Needs> {
    let missing = |what: String| skip(what);
    let kernel = Kernel::find().map_err(|what| missing(format!("{what}: {REMEDY}"))).ok()?;
    let Some(types) = kernel.types() else {
        missing("the compiler of the kernel does not describe types (gcc 12 and later do)".to_string());
        return None;
    };
    let mut files = vec![
        ("run/".to_string(), Vec::new()),
        ("sys/fs/bpf/".to_string(), Vec::new()),
        // What the loader of the BPF program reads of /sys.
        ("sys/devices/system/cpu/possible".to_string(), b"0\n".to_vec()),
        ("sys/kernel/btf/vmlinux".to_string(), types),
    ];
    let forebay = stripped(Path::new(env!("CARGO_BIN_EXE_forebay")));
    let mut programs = vec![("usr/bin/forebay", forebay.clone())];
    for (name, place) in [("tc", "sbin/tc"), ("ip", "sbin/ip")] {
        let found = ["/sbin", "/usr/sbin", "/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        let Some(found) = found.into_iter().find(|path| path.is_file()) else {
            missing(format!("{name}: install the package iproute2"));
            return None;
        };
        programs.push((place, found));
    }
    let mut libraries = BTreeMap::new();
    for (place, program) in &programs {
        files.push((place.to_string(), fs::read(program).unwrap()));
        for library in libraries_of(program) {
            libraries.entry(library.trim_start_matches('/').to_string()).or_insert_with(|| fs::read(&library).unwrap());
        }
    }
    files.extend(libraries);
    let _ = fs::remove_file(forebay);
    Some(Needs { kernel, files })
}

/// A copy of a program without debug information, which would fill the guest's memory.
fn stripped(program: &Path) -> PathBuf {
    // Tests run in parallel.
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default().replace("::", "-");
    let copy = std::env::temp_dir().join(format!("forebay-guest-{}-{name}", std::process::id()));
    let done = Command::new("objcopy").arg("--strip-all").args([program, &copy]).status();
    assert!(done.unwrap().success(), "objcopy built the kernel");
    copy
}

/// The shared libraries of a program, by ldd(1).
fn libraries_of(program: &Path) -> Vec<String> {
    let out = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/'))).map(Into::into).collect()
}

/// Connections over a link, for the addresses and the work of the flows.
fn flows(seconds: u64) -> Network {
    let link = || Lane::plain(Rate(100_000_000), Span::ZERO, Limit::Packets(1000));
    let flow = |number: usize| FlowSpec {
        group: 0,
        name: format!("ftp/{number}"),
        from: 0,
        to: 1,
        forward: 0,
        back: 1,
        start: Instant::ZERO + Span::from_millis(500),
        stop: None,
        ecn: Traffic::Tcp(TcpOptions::default()).codepoint(),
        traffic: Traffic::Tcp(TcpOptions::default()),
        packet: 1500,
        class: 0,
        dscp: 0,
        bundle: 0,
        pair: 0,
        marker: None,
    };
    let host = |name: &str| HostSpec { name: name.to_string(), jitter: Span::ZERO };
    Network {
        duration: Span::from_millis(1000 * seconds),
        warmup: Span::ZERO,
        sample: Span::from_millis(100),
        classes: Vec::new(),
        tracks: Vec::new(),
        links: vec![link().link("there", 1500), link().link("back", 1500)],
        hosts: vec![host("a"), host("b")],
        routes: vec![vec![0], vec![1]],
        markers: Vec::new(),
        flows: (0..FLOWS).map(flow).collect(),
    }
}

/// Runs programs in the guest while the flows send. A step is the earliest start in ns, the namespace and the command
/// line; `+` stands for a space within an argument. Returns the exit status and the output of each.
fn play(needs: &Needs, steps: &[(u64, u64, String)]) -> Vec<(String, String)> {
    let seconds = steps.last().unwrap().0 / 1_000 / MS + 2;
    let mut orders = cable(&flows(seconds), 1);
    orders.flows.iter_mut().for_each(|flow| flow.window = WINDOW);
    let program = |(at, namespace, words): &(u64, u64, String)| Program {
        at: *at,
        namespace: *namespace,
        words: words.split(' ').map(|word| word.replace('+', " ")).collect(),
    };
    let before = [
        // The device segments nothing: the queue has packets.
        (0, CLIENTS, "/sbin/ip link set dev c0 gso_max_segs 1".to_string()),
        (0, SERVERS, "/sbin/tc qdisc add dev s0 root netem delay 40ms limit 100000".to_string()),
    ];
    orders.programs = before.iter().chain(steps).map(program).collect();
    let start = Start { seed: 1, core: None, silent_cpu_s: SILENT_CPU_S };
    let mut ended = Vec::new();
    let each = |record: Record| {
        if let Record::Text(text) = record
            && let Some(rest) = text.strip_prefix("program ")
        {
            let (head, output) = rest.split_once('\n').unwrap_or((rest, ""));
            ended.push((head.split_once(' ').unwrap().1.to_string(), output.trim().to_string()));
        }
    };
    run_with_files(&needs.kernel, (&orders, &needs.files), start, &AtomicBool::new(false), each).unwrap();
    assert_eq!(ended.len(), orders.programs.len(), "{ended:?}");
    for (program, (status, output)) in orders.programs.iter().zip(&ended) {
        assert_eq!(status, "0", "{}: {output}", program.words.join(" "));
    }
    ended.split_off(before.len())
}

fn real(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {value}"))
}

/// Attaches to a device with this root qdisc, in the words of tc(8), and detaches from it.
fn comes_back(needs: &Needs, qdiscs: &[&str], actuator: &str) {
    let mut steps = Vec::new();
    for (number, qdisc) in qdiscs.iter().enumerate() {
        let at = 1_000 * MS + number as u64 * NEXT;
        let mut step = |after: u64, words: String| steps.push((at + after, CLIENTS, words));
        step(0, format!("/sbin/tc qdisc replace dev {DEVICE} root handle 80{number}: {qdisc}"));
        step(0, format!("/sbin/tc qdisc show dev {DEVICE}"));
        let law = "pi+preset=tuned+q_ref=8+n=10+rtt=50ms+ecn=off";
        let more = format!("--actuator {actuator} --background --json");
        step(MS, format!("/usr/bin/forebay attach {DEVICE} --rate 10mbit --aqm {law} {more}"));
        step(ATTACHED, format!("/usr/bin/forebay top {DEVICE} --once --json"));
        // `top` measures for a second.
        step(ATTACHED, format!("/sbin/tc qdisc show dev {DEVICE}"));
        step(ATTACHED, format!("/usr/bin/forebay detach {DEVICE}"));
        step(ATTACHED, format!("/sbin/tc qdisc show dev {DEVICE}"));
        // The traffic goes on.
        step(NEXT - MS, format!("/sbin/tc -s qdisc show dev {DEVICE}"));
    }
    let ended = play(needs, &steps);
    for (qdisc, said) in qdiscs.iter().zip(ended.chunks(8)) {
        let [_, before, _, top, during, detach, after, later] = said else { panic!("{said:?}") };
        let kind = qdisc.split(' ').next().unwrap();
        println!("{}\n{}\n{}\n{}", before.1, top.1, detach.1, later.1);
        assert!(before.1.starts_with(&format!("qdisc {kind} 80")), "{before:?}");
        assert!(during.1.starts_with("qdisc tbf fb:"), "{during:?}");
        assert_eq!(after.1, before.1, "{qdisc}: {detach:?}");
        let top: Value = serde_json::from_str(&top.1).unwrap();
        let top = &top["devices"][0];
        let (sent, dropped) = (real(top, "/per_second/sent_bits"), real(top, "/dropped_early/pkts"));
        assert!((9e6..10.2e6).contains(&sent), "{qdisc}: {top}");
        assert!(dropped > 20.0 && real(top, "/dropped_overflow/pkts") == 0.0, "{qdisc}: {top}");
        assert!(real(top, "/backlog_bytes") < 20.0 * 1514.0, "{qdisc}: {top}");
    }
}

/// Kinds with options that are not their defaults.
#[test]
fn earlier_root_qdiscs_come_back_with_their_options() {
    let Some(needs) = needs() else { return };
    let qdiscs = [
        "fq_codel limit 700 flows 64 target 7ms interval 90ms quantum 600 noecn",
        "fq limit 900 flow_limit 40 quantum 2000 initial_quantum 6000 nopacing",
        "cake bandwidth 25mbit besteffort dual-srchost rtt 80ms wash ack-filter",
        "pie limit 800 target 12ms tupdate 20ms alpha 3 beta 25 ecn bytemode",
        "sfq limit 100 perturb 7 quantum 3000 depth 20 divisor 512",
        "codel limit 600 target 4ms interval 70ms ecn",
        "fq_pie limit 800 flows 32 target 12ms",
        "pfifo limit 77",
    ];
    comes_back(&needs, &qdiscs, "tcx");
}

#[test]
fn root_qdisc_comes_back_after_clsact() {
    let Some(needs) = needs() else { return };
    comes_back(&needs, &["fq_codel limit 700 flows 64"], "clsact");
}
