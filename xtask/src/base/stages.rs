//! Names of the stages of `cargo xtask test`.

/// All stages, in the order in which they run.
pub(crate) const STAGES: [&str; 17] = [
    "tidy",
    "lints",
    "tests",
    "engine",
    "oracles",
    "fuzz",
    "linux",
    "live",
    "attach",
    "python",
    "peers",
    "book",
    "supply",
    "reproduce",
    "browser",
    "web",
    "readme",
];
