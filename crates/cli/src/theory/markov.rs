//! Columns of the table that `forebay theory markov` prints.

use forebay_lab::theory::markov::Markov;

use super::models::{Cell, Column};

/// The columns of the table. A row has the result for one discipline and one combination of values of the scenario
/// keys that vary.
pub(crate) const COLUMNS: [Column<Markov>; 14] = [
    (|a| Cell::Yes(a.stable), "stable", ""),
    (|a| Cell::Number(a.p), "p", ""),
    (|a| Cell::Number(a.q_rest_pkts), "equilibrium", "pkts"),
    (|a| Cell::Number(a.rtt_ms), "RTT", "ms"),
    (|a| Cell::Number(a.step_ms), "S", "ms"),
    (|a| Cell::Number(a.slope), "slope", ""),
    (|a| Cell::Number(a.contraction_bound_ms), "S (6.1)", "ms"),
    (|a| Cell::Number(a.mixed_bound_ms), "S (6.2)", "ms"),
    (|a| Cell::Number(a.edge_ms), "S (edge)", "ms"),
    (|a| Cell::of(a.q_mean_pkts), "mean", "pkts"),
    (|a| Cell::of(a.q_std_pkts), "std", "pkts"),
    (|a| Cell::of(a.linear_std_pkts), "linear", "pkts"),
    (|a| Cell::of(a.q_p99_pkts), "p99", "pkts"),
    (|a| Cell::of(a.overflow), "lost", ""),
];
/// Legend of the table.
pub(crate) const ABOUT: &str = "S below (6.1): every step approaches the equilibrium; up to (6.2): every orbit \
converges; above the edge: the equilibrium is unstable\nlinear: std of the map linearized at the equilibrium; \
-: none, or noise too small for a chain";
