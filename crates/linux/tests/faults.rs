//! What ends a run, and that nothing is left behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay_agent::Orders;
use forebay_linux::machine::{self, Fault, Start};
use forebay_linux::network;

use crate::{bulk, kernel};

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

fn folders() -> usize {
    let own = format!("forebay-linux-{}-", std::process::id());
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count()
}

/// Is there a time without folders of runs? Other tests of this process may be running.
pub(crate) fn folders_are_gone() -> bool {
    (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        folders() == 0
    })
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

#[test]
fn unknown_discipline_is_refused_with_its_name() {
    let Some(kernel) = kernel() else { return };
    let found = machine::run(&kernel, &with_discipline("nonesuch"), START, &AtomicBool::new(false), |_| ());
    let Err(Fault::Failed(why)) = found else { panic!("{found:?}") };
    assert!(why.contains("forebay"), "{why}");
}

#[test]
fn stopped_run_ends_soon_and_leaves_no_folder() {
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
    assert!(folders_are_gone());
}
