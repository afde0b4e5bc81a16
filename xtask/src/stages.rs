//! What the stages of `cargo xtask test` are called.

/// The stages in their order.
pub(crate) const STAGES: [&str; 13] = [
    "tidy",
    "tests",
    "engine",
    "oracles",
    "fuzz",
    "live",
    "peers",
    "python",
    "book",
    "supply",
    "reproduce",
    "browser",
    "readme",
];
