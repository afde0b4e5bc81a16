//! Runs in the built kernel. Without it they are skipped, with what would bring it.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod in_guest;
#[path = "../../cli/tests/skips/mod.rs"]
mod skips;
#[path = "../../lab/src/linux.rs"]
#[allow(unreachable_pub, dead_code, reason = "a module of another crate")]
mod words;

use std::sync::atomic::AtomicBool;

use forebay_aqm::Spec;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_linux::machine::Fault;
use forebay_linux::place::{Kernel, REMEDY};
use forebay_linux::run::{self, Finished};
use forebay_sim::network::{FlowSpec, HostSpec, Lane, Network, Traffic};
use forebay_sim::tcp::TcpOptions;

/// The kernel; `None` if the test is skipped.
fn kernel() -> Option<Kernel> {
    match Kernel::find() {
        Ok(kernel) => Some(kernel),
        Err(missing) => {
            skips::skip(format!("{missing}: {REMEDY}"));
            None
        }
    }
}

/// A bottleneck of 10 Mb/s with this discipline and its way back: links 0 and 1.
fn network(discipline: &str, seconds: u64) -> Network {
    let delay = Span::from_millis(10);
    let lane = |discipline: &str, study| Lane {
        discipline: Spec::parse(discipline).unwrap(),
        study,
        ..Lane::plain(Rate(10_000_000), delay, Limit::Packets(100))
    };
    let host = |name: &str| HostSpec { name: name.to_string(), jitter: Span::ZERO };
    Network {
        duration: Span::from_millis(1000 * seconds),
        warmup: Span::from_millis(500),
        sample: Span::from_millis(100),
        classes: Vec::new(),
        tracks: Vec::new(),
        links: vec![lane(discipline, true).link("bottleneck", 1500), lane("droptail", false).link("back", 1500)],
        hosts: vec![host("a"), host("b")],
        routes: vec![vec![0], vec![1]],
        markers: Vec::new(),
        flows: Vec::new(),
    }
}

/// A flow over links 0 and 1 with this traffic.
fn flow(name: &str, traffic: Traffic) -> FlowSpec {
    FlowSpec {
        group: 0,
        name: name.to_string(),
        from: 0,
        to: 1,
        forward: 0,
        back: 1,
        start: Instant::ZERO,
        stop: None,
        ecn: traffic.codepoint(),
        traffic,
        packet: 1500,
        class: 0,
        dscp: 0,
        bundle: 0,
        pair: 0,
        marker: None,
    }
}

/// A network with this number of TCP connections.
fn bulk(discipline: &str, flows: usize, seconds: u64) -> Network {
    let one = |number: usize| flow(&format!("ftp/{number}"), Traffic::Tcp(TcpOptions::default()));
    Network { flows: (0..flows).map(one).collect(), ..network(discipline, seconds) }
}

fn run(kernel: &Kernel, net: &Network, seed: u64) -> Result<Finished, Fault> {
    run::run(kernel, net, seed, 0, &AtomicBool::new(false))
}
