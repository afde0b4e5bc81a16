//! What ends a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay_agent::orders::CLIENTS;
use forebay_agent::{Message, Orders};
use forebay_aqm::base::time::Span;
use forebay_linux::machine::{self, Fault, Start};
use forebay_linux::network;
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::network::{Network, Traffic};
use forebay_sim::source::recording::{Recording, Replay};
use forebay_sim::source::{Pattern, Sizes};
use forebay_sim::tcp::{AccEcn, TcpOptions, Variant};

use crate::{bulk, flow, kernel, network as empty};

const START: Start = Start { seed: 1, core: None, silent_cpu_s: 2.0 };

/// The orders of a run with another discipline, which only the kernel knows; its name has as many letters.
fn with_discipline(name: &str) -> Orders {
    let mut orders = network::orders(&bulk("droptail", 1, 5), 1).unwrap();
    for message in &mut orders.setup {
        let found = message.bytes.windows(8).position(|part| part == b"droptail");
        if let Some(at) = found {
            message.bytes[at..at + 8].copy_from_slice(format!("{name:<8}").as_bytes());
        }
    }
    orders
}

#[test]
fn panic_of_a_discipline_ends_the_run_with_its_message() {
    let Some(kernel) = kernel() else { return };
    let found = machine::run(&kernel, &with_discipline("!panic"), START, &AtomicBool::new(false), |_| ());
    let Err(Fault::Failed(why)) = found else { panic!("{found:?}") };
    assert!(why.contains("panicked") && why.contains("as requested"), "{why}");
}

#[test]
fn endless_loop_of_a_discipline_ends_the_run() {
    let Some(kernel) = kernel() else { return };
    let found = machine::run(&kernel, &with_discipline("!loop"), START, &AtomicBool::new(false), |_| ());
    let Err(Fault::Failed(why)) = found else { panic!("{found:?}") };
    assert!(why.contains("endless loop"), "{why}");
}

/// The guest waits for an answer that never comes.
#[test]
fn virtual_deadline_ends_a_run_that_waits() {
    let Some(kernel) = kernel() else { return };
    let mut orders = network::orders(&bulk("droptail", 1, 5), 1).unwrap();
    // NLMSG_NOOP: 16 bytes, kind 1, a request.
    let bytes = [[16, 0, 0, 0, 1, 0, 1, 0], [0; 8]].concat();
    orders.counted.push((0, Message { namespace: CLIENTS, purpose: "wait".into(), bytes }));
    let found = machine::run(&kernel, &orders, START, &AtomicBool::new(false), |_| ());
    let Err(Fault::Failed(why)) = found else { panic!("{found:?}") };
    assert!(why.contains("after its end"), "{why}");
}

#[test]
fn unknown_discipline_is_refused_with_its_name() {
    let Some(kernel) = kernel() else { return };
    let found = machine::run(&kernel, &with_discipline("nonesuch"), START, &AtomicBool::new(false), |_| ());
    let Err(Fault::Failed(why)) = found else { panic!("{found:?}") };
    assert!(why.contains("forebay"), "{why}");
}

#[test]
fn senders_that_linux_lacks_are_refused_by_name() {
    let accurate = TcpOptions { variant: Variant::CUBIC, ecn: true, accecn: AccEcn::Option, ..TcpOptions::default() };
    for (options, words) in [
        (TcpOptions { variant: Variant::PRAGUE, ..TcpOptions::default() }, "prague is not in Linux 6.12"),
        (TcpOptions { variant: Variant::SCTP, ..TcpOptions::default() }, "sctp is not in Linux 6.12"),
        (accurate, "accurate ECN feedback is not in Linux 6.12"),
    ] {
        let flows = vec![flow("one", Traffic::Tcp(options))];
        let why = network::obstacle(&Network { flows, ..empty("droptail", 1) }).unwrap_or_default();
        assert_eq!(why, format!("one: {words}"));
    }
    let files = Work::Files(Files { opening: Opening::Ns2, ..Files::ENDLESS });
    let flows = vec![flow("one", Traffic::Application(TcpOptions::default(), files))];
    let why = network::obstacle(&Network { flows, ..empty("droptail", 1) }).unwrap_or_default();
    assert_eq!(why, "one: handshake = \"ns2\"; Linux has only the handshake of TCP");
    assert_eq!(network::obstacle(&bulk("droptail", 1, 1)), None);
}

#[test]
fn packets_that_can_exceed_a_frame_are_refused() {
    let recorded = Recording::new(vec![(Span::ZERO, 1000), (Span::from_millis(1), 3000)]).unwrap();
    let replay = Replay { recording: recorded.into(), from: Span::ZERO, repeat: false };
    for (pattern, longest) in [
        (Pattern::Poisson { every: Span::from_millis(1), sizes: Sizes::Exponential }, 65_535),
        (Pattern::Replay(replay), 3000),
    ] {
        let flows = vec![flow("one", Traffic::Datagrams(pattern))];
        let why = network::obstacle(&Network { flows, ..empty("droptail", 1) }).unwrap_or_default();
        assert_eq!(why, format!("one: packets of up to {longest} bytes; the maximum is 1514"));
    }
}

#[test]
fn stopped_run_ends_soon() {
    let Some(kernel) = kernel() else { return };
    let (stop, begun) = (AtomicBool::new(false), Instant::now());
    let orders = network::orders(&bulk("droptail", 4, 2000), 1).unwrap();
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            stop.store(true, Ordering::Relaxed);
        });
        machine::run(&kernel, &orders, START, &stop, |_| ())
    });
    assert!(matches!(found, Err(Fault::Stopped)), "{found:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}
