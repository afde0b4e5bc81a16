//! The actuator of `forebay attach` for systems that refuse BPF: nftables rules, in front of the device's qdisc, that
//! mark and drop packets.
//!
//! A rule draws a random number per packet, and marks or drops the packet if the number is below a bound. The daemon
//! renews the rule every 50 ms. Only then does the bound follow the backlog; the packet length is the typical one.
//! Watchdog: the rule applies only while an nftables set has an element for the device; the element expires 1 s after a
//! renewal.
//! The rules count a GSO packet as one packet, without link-layer header. This module adds the header to the byte
//! counters, but it cannot correct the packet counters.

use std::io::Write;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_aqm::base::port::Count;
use serde_json::Value;

use super::fault::Fault;
use super::qdisc::{gone, is_ours, program, refused};
use super::state::State;
use super::words::Counters;
use crate::sys::interfaces::index;
use crate::sys::netlink::Netlink;
use crate::sys::qdisc_list::Qdisc;

/// The random number that a rule draws per packet is below this.
const OUT_OF: u64 = 1 << 30;
/// Interval between renewals of the rule. Starting nft takes about 10 ms.
const EVERY: Duration = Duration::from_millis(50);
/// Lifetime of the watchdog's set element after a renewal.
const LASTS: &str = "1s";

/// State shared by the daemon and the thread that renews the rule.
struct Shared {
    p: f64,
    counters: Counters,
    /// The qdisc, read together with `counters`.
    root: Qdisc,
    fault: Option<Fault>,
    over: bool,
}

/// The rules for a device, and the thread that renews the one with the random number.
pub(in crate::attach) struct Nft {
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread that renews the rules needs.
struct Rules {
    table: String,
    number: u32,
    header: u64,
    netlink: Netlink,
}

impl Nft {
    /// Creates the nftables table, and starts the thread that renews the rule.
    pub(in crate::attach) fn put(state: &State) -> Result<Self, Fault> {
        unmistakable(state.index)?;
        let header = Self::header(state.index)?;
        let netlink = Netlink::open().map_err(|error| Fault::system("netlink", &error))?;
        let rules = Rules { table: table(state.index), number: state.index, header, netlink };
        run(&["-f", "-"], &made(&rules.table, state.index, state.ecn))?;
        let (counters, root) = (Counters::default(), Qdisc::default());
        let shared = Arc::new(Mutex::new(Shared { p: 0.0, counters, root, fault: None, over: false }));
        let hers = Arc::clone(&shared);
        let thread = std::thread::spawn(move || rules.renew(&hers));
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Link-layer header in bytes. The qdisc counts it, the rules do not.
    pub(in crate::attach) fn header(number: u32) -> Result<u64, Fault> {
        let found = Netlink::open().and_then(|netlink| netlink.interface(number));
        found.map(|found| u64::from(found.header)).map_err(|error| gone("the device", "the header", &error))
    }

    /// The counters of the rules, and the qdisc with its counters, as read at the last renewal of the rule.
    pub(in crate::attach) fn counters(&self) -> Result<(Counters, Qdisc), Fault> {
        let shared = lock(&self.shared);
        shared.fault.clone().map_or_else(|| Ok((shared.counters, shared.root.clone())), Err)
    }

    /// Sets the signal probability. It takes effect when the thread next replaces the rule.
    pub(in crate::attach) fn set(&self, p: f64) -> Result<(), Fault> {
        let mut shared = lock(&self.shared);
        shared.p = p;
        shared.fault.clone().map_or(Ok(()), Err)
    }

    /// Removes the device's nftables table if it exists.
    pub(in crate::attach) fn remove(device: u32) -> Result<(), Fault> {
        let table = table(device);
        // Create it first: deleting a missing table is an error.
        run(&["-f", "-"], &format!("table inet {table}\ndelete table inet {table}\n")).map(|_| ())
    }

    /// Reads from nft the counters, the signal probability, and whether the rules are in force.
    pub(in crate::attach) fn read(device: u32, header: u64) -> Result<(Counters, f64, bool), Fault> {
        let table = table(device);
        let counters = counters_in(&run(&["list", "counters", "table", "inet", &table], "")?, header);
        let shown = run(&["-j", "list", "table", "inet", &table], "")?;
        let shown: Value = serde_json::from_str(&shown).map_err(|error| Fault::Failed(format!("nft: {error}")))?;
        let rules = find(&shown, "elem").is_some_and(|elements| elements.as_array().is_some_and(|all| !all.is_empty()));
        Ok((counters, if rules { drawn(&shown) } else { 0.0 }, rules))
    }
}

impl Drop for Nft {
    fn drop(&mut self) {
        lock(&self.shared).over = true;
        // The thread has already reported its failure.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rules {
    /// Renews the rule and reads the counters, until [`Nft`] is dropped or two renewals in a row fail.
    fn renew(&self, shared: &Mutex<Shared>) {
        let mut next = Instant::now();
        let mut missed = false;
        loop {
            let (p, over) = {
                let shared = lock(shared);
                (shared.p, shared.over || shared.fault.is_some())
            };
            if over {
                return;
            }
            let outcome =
                unmistakable(self.number).and_then(|()| run(&["-f", "-"], &renewed(&self.table, self.number, p)));
            // If it is missing or unreadable, the daemon reports why.
            let root = self.netlink.root(self.number).ok().filter(is_ours);
            {
                let mut shared = lock(shared);
                match outcome {
                    Ok(shown) => {
                        (shared.counters, missed) = (counters_in(&shown, self.header), false);
                        shared.root = root.unwrap_or_else(|| shared.root.clone());
                    }
                    // Ctrl-C may kill an nft process that is just starting, so one failure is tolerated.
                    Err(_) if !missed => missed = true,
                    Err(fault) => shared.fault = Some(fault),
                }
            }
            next += EVERY;
            let now = Instant::now();
            // After a delay, do not catch up.
            next = next.max(now);
            std::thread::sleep(next - now);
        }
    }
}

/// Fails if another device has this index as its name: nft would take the number for the name.
fn unmistakable(number: u32) -> Result<(), Fault> {
    match index(&number.to_string()) {
        Ok(other) if other != number => {
            Err(Fault::Unavailable(format!("nft: another device is named {number}, the index of this device")))
        }
        _ => Ok(()),
    }
}

/// Name of the nftables table of a device.
fn table(device: u32) -> String {
    format!("forebay_{device}")
}

/// The nft commands that create the table, without a rule that marks or drops.
fn made(table: &str, device: u32, ecn: bool) -> String {
    let marks = if ecn {
        "    ip ecn ce return
    ip6 ecn ce return
    ip ecn != not-ect ip ecn set ce counter name marked return
    ip6 ecn != not-ect ip6 ecn set ce counter name marked return
"
    } else {
        ""
    };
    format!(
        "table inet {table}
delete table inet {table}
table inet {table} {{
  counter offered {{ }}
  counter marked {{ }}
  counter dropped {{ }}
  set served {{ type iface_index; flags timeout; }}
  chain signal {{
{marks}    counter name dropped drop
  }}
  chain draw {{ }}
  chain egress {{
    type filter hook postrouting priority 300; policy accept;
    oif {device} counter name offered
    oif {device} oif @served goto draw
  }}
}}
"
    )
}

/// The nft commands that set the rule's new probability, renew the watchdog's set element and list the counters.
fn renewed(table: &str, device: u32, p: f64) -> String {
    let bound = (p.clamp(0.0, 1.0) * OUT_OF as f64).round() as u64;
    // A bound of `OUT_OF` matches every number.
    let draw = if bound >= OUT_OF { String::new() } else { format!("numgen random mod {OUT_OF} < {bound} ") };
    let rule = if bound == 0 { String::new() } else { format!("add rule inet {table} draw {draw}goto signal\n") };
    format!(
        "flush chain inet {table} draw
{rule}flush set inet {table} served
add element inet {table} served {{ {device} timeout {LASTS} }}
list counters table inet {table}
"
    )
}

/// Parses the counters that nft printed. Text, because with -j nft also expects JSON input.
fn counters_in(shown: &str, header: u64) -> Counters {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let of = |name: &str| {
        let found =
            words.windows(7).find(|all| all[..3] == ["counter", name, "{"] && all[3] == "packets" && all[5] == "bytes");
        let number = |at: usize| found.and_then(|all| all[at].parse().ok()).unwrap_or_default();
        Count { pkts: number(4), bytes: number(6) + header * number(4) }
    };
    let (offered, marked, dropped) = (of("offered"), of("marked"), of("dropped"));
    let passed =
        Count { pkts: offered.pkts.saturating_sub(dropped.pkts), bytes: offered.bytes.saturating_sub(dropped.bytes) };
    Counters { offered, passed, marked, dropped, unruled: 0 }
}

/// The probability in the rule set that nft printed as JSON.
fn drawn(shown: &Value) -> f64 {
    let all = shown["nftables"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rule = all.iter().map(|item| &item["rule"]).find(|rule| rule["chain"] == "draw");
    let Some(rule) = rule else { return 0.0 };
    find(rule, "right").map_or(1.0, |bound| bound.as_u64().unwrap_or_default() as f64 / OUT_OF as f64)
}

/// The first value of `key` in the JSON `value`, at any depth.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(key).or_else(|| fields.values().find_map(|inner| find(inner, key))),
        Value::Array(items) => items.iter().find_map(|inner| find(inner, key)),
        _ => None,
    }
}

/// Runs nft with these arguments and this input. Returns its output.
fn run(words: &[&str], input: &str) -> Result<String, Fault> {
    let failed = |error: std::io::Error| Fault::system("nft", &error);
    let mut command = program("nft", "nftables")?;
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If nft stops reading, its exit status and stderr tell why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let out = child.wait_with_output().map_err(failed)?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(refused(&format!("nft {}", words.join(" ")), &out.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_matches_random_numbers_below_its_bound() {
        let of = |p: f64| renewed("t", 7, p);
        assert!(of(0.25).contains("add rule inet t draw numgen random mod 1073741824 < 268435456 goto signal\n"));
        assert!(of(1.0).contains("add rule inet t draw goto signal\n"));
        assert!(!of(0.0).contains("add rule"));
        assert!(of(0.0).contains("add element inet t served { 7 timeout 1s }"));
    }

    #[test]
    fn nftables_counters_are_found_by_name() {
        let shown = "table inet t {\n\tcounter offered {\n\t\tpackets 10 bytes 1000\n\t}\n\
                     \tcounter dropped {\n\t\tpackets 2 bytes 200\n\t}\n}\n";
        let found = counters_in(shown, 14);
        assert_eq!((found.offered.pkts, found.passed.bytes, found.dropped.pkts, found.marked.pkts), (10, 912, 2, 0));
        assert_eq!(counters_in("", 14), Counters::default());
    }

    #[test]
    fn signal_probability_is_parsed_from_nftables_rule() {
        let of = |rule: Value| {
            drawn(&serde_json::json!({ "nftables": [{ "rule": { "chain": "signal", "right": 3 } }, rule] }))
        };
        let less = serde_json::json!({ "op": "<", "left": { "numgen": {} }, "right": 268_435_456u64 });
        assert_eq!(of(serde_json::json!({ "rule": { "chain": "draw", "expr": [{ "match": less }] } })), 0.25);
        assert_eq!(
            of(serde_json::json!({ "rule": { "chain": "draw", "expr": [{ "goto": { "target": "signal" } }] } })),
            1.0
        );
        assert_eq!(of(Value::Null), 0.0);
    }
}
