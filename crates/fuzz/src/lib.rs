//! What fuzzers call: each target takes any bytes and panics where Forebay breaks a promise.
//!
//! Readers promise to understand or to refuse, never to panic; what was understood and is written again must read the same.
//! Queues promise what the conformance suite asks, under settings and histories that no suite would think of.
//! `fuzz/` hands these to cargo-fuzz; this crate's program mutates the corpus on the stable toolchain.

mod account;
mod choices;
mod extremes;
mod queue;
mod readers;
mod words;

/// A target: its name, what it promises, and the function.
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Takes any bytes; a panic is a finding.
    pub run: fn(&[u8]),
    /// Words that random bytes seldom make.
    pub words: &'static [&'static str],
}

/// All of them.
pub const TARGETS: [Target; 6] = [
    Target { name: "scenario", run: readers::scenario, words: words::SCENARIO },
    Target { name: "tc", run: readers::tc, words: words::TC },
    Target { name: "params", run: readers::params, words: words::TC },
    Target { name: "traces", run: readers::traces, words: words::TRACES },
    Target { name: "claims", run: readers::claims, words: words::CLAIMS },
    Target { name: "queue", run: queue::run, words: &[] },
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Calls the target of that name.
///
/// # Panics
/// If there is no such target, or a promise is broken.
pub fn call(name: &str, bytes: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("no target is called {name}"));
    (target.run)(bytes);
}
