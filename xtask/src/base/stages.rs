//! Names of the stages of `cargo xtask test`.

/// All stages, in the order in which they run.
pub(crate) const STAGES: [&str; 15] = [
    "tidy",
    "lints",
    "tests",
    "engine",
    "oracles",
    "fuzz",
    "live",
    "attach",
    "peers",
    "python",
    "book",
    "supply",
    "reproduce",
    "browser",
    "readme",
];
