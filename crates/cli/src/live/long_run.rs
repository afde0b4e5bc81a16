//! Two days of `forebay link` in virtual time: new connections and datagrams of ever new flows. On the second day, when the
//! time series has its most rows and every queue of FQ-CoDel was used, memory grows by the completed connections alone.

use std::fs;
use std::process::Command;

use clap::Parser;
use forebay_aqm::base::time::{Instant, Span};
use forebay_live::fabric::{Fabric, Way};
use forebay_live::frame;

use super::link::{MAX_DURATION, bundle, bundles, network, rows};
use crate::args::{Cli, Command as Of};

/// The variable that makes this program run two days; its value is the discipline.
const CHILD: &str = "FOREBAY_TEST_DAY";
const HOURS: u64 = 48;
/// Growth on the second day in bytes. Each of its 86,400 completed connections takes 24 bytes.
const MOST: f64 = 3e6;

/// A frame from 10.0.SUBNET.HOST with this protocol, these ports and this content of the transport header after them.
fn ipv4(protocol: u8, client: (u8, u8), ports: [u16; 2], rest: &[u8], from_client: bool) -> Vec<u8> {
    let length = (20 + 4 + rest.len()) as u16;
    let (mine, other) = ([10, 0, client.0, client.1], [100, 64, 0, 1]);
    let (from, to) = if from_client { (mine, other) } else { (other, mine) };
    let [high, low] = length.to_be_bytes();
    let header = [&[0x45, 0, high, low, 0, 0, 0, 0, 64, protocol, 0, 0][..], &from, &to].concat();
    let [source, sink] = if from_client { ports } else { [ports[1], ports[0]] };
    let ethernet = [&[2u8; 12][..], &[8, 0]].concat();
    [&ethernet[..], &header, &source.to_be_bytes(), &sink.to_be_bytes(), rest].concat()
}

/// A TCP segment after the ports: sequence numbers, flags, `payload` bytes.
fn segment(sequence: u32, acknowledged: u32, flags: u8, payload: usize) -> Vec<u8> {
    let head =
        [&sequence.to_be_bytes()[..], &acknowledged.to_be_bytes(), &[0x50, flags, 255, 255, 0, 0, 0, 0]].concat();
    [&head[..], &vec![0; payload]].concat()
}

/// Resident memory in bytes.
fn resident() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    1024.0 * line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap()
}

/// Sends the frames that are due at both ends.
fn send(fabric: &mut Fabric, now: Instant) {
    for end in 0..2 {
        let due = fabric.ready(end, usize::MAX).count();
        fabric.sent(end, due, now);
    }
}

/// The child process: two days behind a link with this discipline. Returns the memory after each hour.
fn two_days(aqm: &str) -> Vec<f64> {
    let words = ["forebay", "link", "--rate", "1mbit", "--delay", "5ms", "--aqm", aqm, "--", "true"];
    let Of::Link(args) = Cli::try_parse_from(words).unwrap().command else { panic!("not link") };
    let net = network(&args.case().unwrap_or_else(|error| panic!("{error}")), 1);
    let rows = rows(&args).unwrap_or_else(|_| panic!("rows"));
    let mut fabric = Fabric::new(&net, 1, &bundles(), (rows, MAX_DURATION), false).with_completions();
    let mut memory = Vec::new();
    let (syn, ack, fin) = (2, 16, 17);
    for second in 0..HOURS * 3600 {
        let client = ((second >> 8) as u8, second as u8);
        let ports = [1024 + (second % 60_000) as u16, 443];
        let tcp = |from_client: bool, rest: Vec<u8>| (from_client, ipv4(6, client, ports, &rest, from_client));
        let udp = |k: u64| (true, ipv4(17, client, [(second * 7 + k) as u16, 53], &[0; 40], true));
        let frames = [
            tcp(true, segment(1, 0, syn, 0)),
            tcp(false, segment(1, 2, syn | ack, 0)),
            tcp(true, segment(2, 2, ack, 500)),
            tcp(false, segment(2, 502, ack, 1400)),
            udp(0),
            tcp(true, segment(502, 1402, fin, 0)),
            tcp(false, segment(1402, 503, fin, 0)),
            tcp(true, segment(503, 1403, ack, 0)),
            udp(1),
        ];
        for (number, (from_client, bytes)) in frames.iter().enumerate() {
            let at = Instant::ZERO + Span::from_millis(second * 1000 + number as u64 * 100);
            let end = usize::from(!from_client);
            let (flow, about) = (end, frame::about(bytes));
            let way = Way { route: net.flows[flow].forward, flow: Some(flow), bundle: bundle(about.class, end), about };
            fabric.arrive(bytes, Some(way), 1 - end, at);
            send(&mut fabric, at);
        }
        if (second + 1) % 3600 == 0 {
            memory.push(resident());
        }
    }
    let end = Instant::ZERO + Span::from_millis(HOURS * 3_600_000);
    fabric.advance(end);
    send(&mut fabric, end);
    let report = fabric.finish(end);
    let carried: u64 = report.carried.iter().map(|carried| carried.packets).sum();
    assert_eq!(carried, 9 * HOURS * 3600, "every frame was delivered");
    assert_eq!(report.completions.len() as u64, HOURS * 3600);
    memory
}

#[test]
fn child_runs_two_days() {
    let Ok(aqm) = std::env::var(CHILD) else { return };
    let memory = two_days(&aqm);
    println!("memory {}", memory.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
}

#[test]
fn memory_of_second_day_is_constant() {
    for aqm in ["droptail", "fq_codel", "cake"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["live::long_run::child_runs_two_days", "--exact", "--nocapture"]);
        let output = child.env(CHILD, aqm).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        let line = said.lines().find_map(|line| line.strip_prefix("memory ")).unwrap();
        let memory: Vec<f64> = line.split(' ').map(|bytes| bytes.parse().unwrap()).collect();
        let (first, last) = (memory[23], memory[47]);
        let growth = last - first;
        println!("{aqm}: {:.1} MB after one day, {:.1} MB after two", first / 1e6, last / 1e6);
        assert!(growth < MOST, "{aqm}: {memory:?}");
    }
}
