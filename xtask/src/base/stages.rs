//! What the stages of `cargo xtask test` are called.

/// The stages in their order.
pub(crate) const STAGES: [&str; 14] = [
    "tidy",
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
