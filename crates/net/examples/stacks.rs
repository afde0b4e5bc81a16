//! Prints the tables of docs/net.md: how transport stacks do under queue disciplines. The test compares them with that
//! page; with `FOREBAY_BLESS=1` it writes them there.

// Each example has its own copy of the common path.
#![allow(clippy::duplicate_mod)]

use std::sync::Arc;
use std::time::Duration;

use ::smoltcp::socket::tcp::CongestionControl;
use forebay_net::{Endpoint, Event, Happened, Limit, Link, Net, Rate, Stack, Topology};
use quinn_proto::congestion::{BbrConfig, NewRenoConfig};

#[allow(dead_code)]
#[path = "quinn.rs"]
mod quinn;
#[allow(dead_code)]
#[path = "smoltcp.rs"]
mod smoltcp;
#[allow(dead_code)]
#[path = "str0m.rs"]
mod str0m;

/// What the tables of docs/net.md follow.
#[cfg(test)]
const MARK: &str = "<!-- tables -->\n";

const DISCIPLINES: [&str; 5] = ["droptail", "codel", "fq_codel", "pie", "dualpi2"];
/// Bytes that each client uploads.
const UPLOAD: usize = 3_000_000;
/// Rate of the path, and its delay in each direction.
const RATE: Rate = Rate(10_000_000);
const DELAY: Duration = Duration::from_millis(20);

/// A client and its server.
type Pair = [Box<dyn Stack>; 2];
/// The name of a stack, and what makes a pair of it.
type Named = (&'static str, fn() -> Pair);

fn pair<S: Stack + 'static>(stacks: [S; 2]) -> Pair {
    stacks.map(|stack| Box::new(stack) as Box<dyn Stack>)
}

/// The stacks by name.
fn uploads() -> [Named; 5] {
    [
        ("quinn, CUBIC", || pair(quinn::support::peers(quinn::support::cubic(), UPLOAD))),
        ("quinn, NewReno", || pair(quinn::support::peers(Arc::<NewRenoConfig>::default(), UPLOAD))),
        ("quinn, BBR", || pair(quinn::support::peers(Arc::<BbrConfig>::default(), UPLOAD))),
        ("smoltcp, CUBIC", || pair(smoltcp::support::hosts(CongestionControl::Cubic, UPLOAD))),
        ("smoltcp, Reno", || pair(smoltcp::support::hosts(CongestionControl::Reno, UPLOAD))),
    ]
}

/// Runs pairs of stacks over one path, with the discipline in both directions, until all are done or `until`. Returns the
/// log and the clients' ends.
fn run(discipline: &str, pairs: Vec<Pair>, until: Duration) -> (Vec<Event>, Vec<Endpoint>) {
    let link = || Link::new(RATE, DELAY).buffer(Limit::Packets(100)).discipline(discipline).unwrap();
    let mut net = Net::new(&Topology::path(link(), link()).unwrap(), 1).with_log();
    let (mut stacks, mut clients) = (Vec::new(), Vec::new());
    for [client, server] in pairs {
        let (a, b) = net.connect("a", "b").unwrap();
        stacks.extend([(a, client), (b, server)]);
        clients.push(a);
    }
    net.run(&mut stacks, Duration::ZERO, until);
    (net.log().to_vec(), clients)
}

/// What happened to the packets of a sender.
#[derive(Default)]
struct Sender {
    /// Arrival of the last packet with data.
    done: f64,
    /// Bytes that arrived from `from` on.
    bytes: f64,
    /// Queueing delays of these packets in ms.
    delays: Vec<f64>,
    sent: f64,
    dropped: f64,
    marked: f64,
}

fn sender(log: &[Event], end: Endpoint, from: f64) -> Sender {
    let (mut all, mut flying) = (Sender::default(), std::collections::BTreeMap::new());
    for event in log.iter().filter(|event| event.from == end) {
        let at = event.at.as_secs_f64();
        match &event.what {
            Happened::Sent { length, .. } => {
                flying.insert(event.packet, (at, f64::from(*length)));
                all.sent += 1.0;
            }
            Happened::Dropped { .. } => all.dropped += 1.0,
            Happened::Marked { .. } => all.marked += 1.0,
            Happened::Delivered => {
                let (sent, length) = flying.remove(&event.packet).unwrap();
                let least = length * 8.0 / RATE.0 as f64 + DELAY.as_secs_f64();
                if at >= from {
                    all.delays.push((at - sent - least) * 1e3);
                    all.bytes += length;
                }
                if length > 1000.0 {
                    all.done = at;
                }
            }
            _ => {}
        }
    }
    all.delays.sort_by(f64::total_cmp);
    all
}

impl Sender {
    fn mean(&self) -> f64 {
        self.delays.iter().sum::<f64>() / self.delays.len() as f64
    }

    fn p99(&self) -> f64 {
        self.delays[self.delays.len() * 99 / 100]
    }
}

/// Two equal uploads at the same time, each with this stack.
fn equal(stack: fn() -> Pair, discipline: &str) -> String {
    let (log, clients) = run(discipline, vec![stack(), stack()], Duration::from_secs(60));
    let both: Vec<Sender> = clients.iter().map(|end| sender(&log, *end, 0.0)).collect();
    let of = |value: fn(&Sender) -> f64| both.iter().map(value).sum::<f64>() / 2.0;
    let rates = [1.0 / both[0].done, 1.0 / both[1].done];
    let jain = (rates[0] + rates[1]).powi(2) / (2.0 * (rates[0].powi(2) + rates[1].powi(2)));
    let (done, mean, p99) = (of(|s| s.done), of(Sender::mean), of(Sender::p99));
    let (lost, marked) = (of(|s| 100.0 * s.dropped / s.sent), of(|s| 100.0 * s.marked / s.sent));
    format!("{done:.2} | {mean:.1} | {p99:.1} | {lost:.2} | {marked:.2} | {jain:.3}")
}

/// Two long transfers with different stacks: Mbit/s of each, and the 99th percentile of its queueing delay, from `from`
/// seconds on.
fn different(pairs: [Pair; 2], discipline: &str, (from, until): (f64, f64)) -> String {
    let (log, clients) = run(discipline, pairs.into(), Duration::from_secs_f64(until));
    let cells = clients.iter().map(|end| {
        let sender = sender(&log, *end, from);
        format!("{:.2} | {:.1}", sender.bytes * 8e-6 / (until - from), sender.p99())
    });
    cells.collect::<Vec<_>>().join(" | ")
}

/// The tables, with the rows of these disciplines.
fn tables(disciplines: &[&str]) -> String {
    let mut out = format!(
        "Two uploads of {} MB start at the same time with the same stack.\n\n\
         | stack | discipline | done, s | delay mean, ms | delay p99, ms | lost, % | marked, % | Jain |\n\
         |---|---|---|---|---|---|---|---|\n",
        UPLOAD / 1_000_000
    );
    for (name, stack) in uploads() {
        for discipline in disciplines {
            out += &format!("| {name} | `{discipline}` | {} |\n", equal(stack, discipline));
        }
    }
    let quic = || pair(quinn::support::peers(quinn::support::cubic(), 100 * UPLOAD));
    let tcp = || pair(smoltcp::support::hosts(CongestionControl::Cubic, 100 * UPLOAD));
    let call = || pair(str0m::support::peers());
    let columns = "Mbit/s | delay p99, ms";
    out += &format!(
        "\nA long upload with quinn next to one with smoltcp, both CUBIC, from 10 s to 30 s.\n\n\
         | discipline | quinn: {columns} | smoltcp: {columns} |\n|---|---|---|---|---|\n"
    );
    for discipline in disciplines {
        out += &format!("| `{discipline}` | {} |\n", different([quic(), tcp()], discipline, (10.0, 30.0)));
    }
    out += &format!(
        "\nA video call with str0m next to a long upload with quinn, CUBIC, from 30 s to 40 s. The call wants 8 Mbit/s. \
         Its handshake has signatures of random lengths: rows differ by a few percent from run to run.\n\n\
         | discipline | call: {columns} | upload: {columns} |\n|---|---|---|---|---|\n"
    );
    for discipline in disciplines {
        out += &format!("| `{discipline}` | {} |\n", different([call(), quic()], discipline, (30.0, 40.0)));
    }
    out
}

fn main() {
    println!("{}", tables(&DISCIPLINES));
}

/// Compares the rows of one discipline, to save time.
#[test]
fn page_has_what_the_stacks_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/net.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (text, _) = page.split_once(MARK).unwrap();
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(path, format!("{text}{MARK}\n{}", tables(&DISCIPLINES))).unwrap();
        return;
    }
    let (now, call_now) = of_call(&tables(&["codel"]));
    let (before, call_before) = of_call(&page);
    for line in now.lines() {
        assert!(before.contains(line), "{line}");
    }
    let row = |table: &str| -> Vec<f64> {
        let row = table.lines().find(|line| line.starts_with("| `codel`")).unwrap();
        row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()
    };
    let (now, before) = (row(&call_now), row(&call_before));
    let is_close = |(now, before): (&f64, &f64)| (now - before).abs() <= 0.1 * before;
    assert!(now.len() == 4 && now.iter().zip(&before).all(is_close), "{now:?} {before:?}");
}

/// The tables before that of the call, and from it on. The handshake of a call has signatures of random lengths, so that a row
/// of its table differs by a few percent from run to run.
#[cfg(test)]
fn of_call(text: &str) -> (String, String) {
    let (before, after) = text.split_once("A video call").unwrap();
    (before.to_string(), after.to_string())
}
