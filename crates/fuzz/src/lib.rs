//! Fuzz targets. Each takes any bytes and panics if Forebay violates a property.
//!
//! Readers must parse or refuse any input without a panic, and a parsed value that is written must read back equal.
//! Queues must keep the rules of the conformance suite under any parameters and any history. `fuzz/` runs the targets
//! with cargo-fuzz; this crate's program mutates the corpus on the stable toolchain.

mod account;
mod choices;
mod extremes;
#[cfg(target_os = "linux")]
mod frames;
mod queue;
mod readers;
mod words;

/// A fuzz target.
pub struct Target {
    /// Name of the target and of its corpus directory.
    pub name: &'static str,
    /// The function; a panic is a finding.
    pub run: fn(&[u8]),
    /// Tokens of the input format, which random bytes rarely form.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "scenario", run: readers::scenario, words: words::SCENARIO },
    Target { name: "set", run: readers::set, words: words::SET },
    Target { name: "vary", run: readers::vary, words: words::SET },
    Target { name: "tc", run: readers::tc, words: words::TC },
    Target { name: "params", run: readers::params, words: words::TC },
    Target { name: "traces", run: readers::traces, words: words::TRACES },
    Target { name: "claims", run: readers::claims, words: words::CLAIMS },
    Target { name: "packetdrill", run: readers::packetdrill, words: words::PACKETDRILL },
    #[cfg(target_os = "linux")]
    Target { name: "frames", run: frames::run, words: &[] },
    Target { name: "queue", run: queue::run, words: &[] },
];

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Runs the target with this name.
///
/// # Panics
/// If there is no such target, or a property is violated.
pub fn call(name: &str, bytes: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("no target is called {name}"));
    (target.run)(bytes);
}
