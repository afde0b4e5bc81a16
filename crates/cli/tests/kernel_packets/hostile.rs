//! `forebay link` around a command that changes the interface, the addresses, the routes and the namespaces under it, at
//! random and under load. Whatever it does:
//!
//! - the link ends with the command, with its exit code, or with an error that names the interface;
//! - no process remains;
//! - the document counts no more packets carried than offered;
//! - a link afterwards works.
//!
//! The test tries a few commands; with `FOREBAY_EVERY_FAULT=1` 200.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use forebay_aqm::base::rng::Rng;
use serde_json::Value;

use crate::behind_link::{as_user, forebay, place, role};

const QUICK: u64 = 6;
const ALL: u64 = 200;
/// The exit code of the command.
const CODE: i32 = 42;
/// A link that takes longer hangs. The command takes two seconds.
const LONGEST: Duration = Duration::from_secs(20);
/// A word in the command line of every process of an attack.
const MARK: &str = "hostile-command";

/// What a command does to the network around it. `N` is a random number below 100.
const ATTACKS: [&str; 30] = [
    "ethtool -K eth0 tx on",
    "ethtool -K eth0 tx off",
    "ethtool -K eth0 tso on gso on",
    "ethtool -K eth0 tso off gso off sg off",
    "ethtool -K eth0 gro on lro on rx on",
    "ethtool -K eth0 tx-udp-segmentation on",
    "ip link set eth0 mtu 9000",
    "ip link set eth0 mtu 60000",
    "ip link set eth0 mtu 68",
    "ip link set eth0 mtu 1280",
    "ip addr add 100.64.0.1N/24 dev eth0",
    "ip addr add 10.N.0.1/8 dev eth0",
    "ip addr flush dev eth0",
    "ip -6 addr add fd00::N/64 dev eth0",
    "ip route add blackhole 100.64.0.1/32",
    "ip route del blackhole 100.64.0.1/32",
    "ip route replace default dev eth0",
    "ip link set eth0 down; sleep 0.0N; ip link set eth0 up",
    "ip link set eth0 address 02:00:00:00:00:N",
    "ip link set eth0 down; ip link set eth0 name lan0; ip link set lan0 up",
    "ip link set eth0 promisc on multicast off txqueuelen 1",
    "ip neigh flush dev eth0; ip neigh add 100.64.0.1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent",
    "ip link add veth9 type veth peer name veth8; ip link set veth9 up",
    "tc qdisc replace dev eth0 root pfifo limit 1",
    "tc qdisc replace dev eth0 root tbf rate 1mbit burst 1600 latency 10ms",
    "unshare -n sleep 5 & sleep 0.1; ip link set eth0 netns $!",
    "ip link del eth0",
    "(sleep 600 &) ; (setsid sleep 600 &)",
    "kill -STOP $PPID; sleep 0.N; kill -CONT $PPID",
    "mount -t tmpfs none /run; mount -t tmpfs none /sys",
];

/// The command with these attacks, while data and datagrams are sent.
fn command(seed: u64) -> String {
    let mut rng = Rng::stream(seed, "hostile");
    let mut text =
        format!(": {MARK}; exec 2>/dev/null; {} >/dev/null & {} >/dev/null & ", role("source"), role("probe"));
    for _ in 0..1 + rng.below(6) {
        let attack = ATTACKS[rng.below(ATTACKS.len() as u64) as usize].replace('N', &rng.below(100).to_string());
        text += &format!("sleep 0.{:02}; {attack}; ", rng.below(30));
    }
    text + &format!("sleep 0.3; exit {CODE}")
}

/// Processes of an attack that are left.
fn left() -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let words = all.map(|entry| fs::read(entry.path().join("cmdline")).unwrap_or_default());
    let words = words.map(|words| String::from_utf8_lossy(&words).replace('\0', " "));
    words.filter(|words| words.contains(MARK) || words.starts_with("sleep 600")).collect()
}

/// What is wrong after the command with this seed; `None`: nothing.
fn attack(seed: u64) -> Option<String> {
    let text = command(seed);
    let out = place().join("hostile.json");
    let mut link = as_user(&place().join("forebay"));
    link.args([
        "link",
        "--json",
        "--rate",
        "20mbit",
        "--delay",
        "2ms",
        "--server",
        &role("sink"),
        "--",
        "sh",
        "-c",
        &text,
    ]);
    link.stdout(fs::File::create(&out).unwrap()).stderr(Stdio::piped());
    let mut child = link.spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LONGEST {
            child.kill().unwrap();
            return Some(format!("hangs: {text}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let until = Instant::now() + Duration::from_secs(5);
    while !left().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let document: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap_or_default();
    let runs = document["runs"].as_array().cloned().unwrap_or_default();
    let count = |run: &Value, key: &str| run[key].as_f64().unwrap_or_default();
    let is_right = match ended.status.code() {
        _ if said.contains("panicked") => false,
        Some(CODE) => !runs.is_empty(),
        // The timing of a busy machine, or an interface that is gone.
        Some(1) => document["timing"]["valid"] == false || said.contains("interface") || said.contains("eth0"),
        _ => false,
    };
    let wrong = match () {
        () if !is_right => format!("ended with {:?}: {said}{}", ended.status, document["timing"]),
        () if !left().is_empty() => format!("left behind: {:?}", left()),
        () if runs.iter().any(|run| count(run, "carried_pkts") > count(run, "offered_pkts")) => format!("{document}"),
        () => return None,
    };
    Some(format!("{wrong}\n{text}"))
}

#[test]
fn hostile_commands_cannot_break_the_link() {
    let all = if std::env::var_os("FOREBAY_EVERY_FAULT").is_some() { ALL } else { QUICK };
    let wrong: Vec<String> = (1..=all).filter_map(|seed| Some(format!("seed {seed}: {}", attack(seed)?))).collect();
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n"));
    let out = forebay(&["link", "--quiet", "--", "sh", "-c", "exit 7"]);
    assert_eq!(out.status.code(), Some(7), "{}", String::from_utf8_lossy(&out.stderr));
    println!("{all} commands");
}
