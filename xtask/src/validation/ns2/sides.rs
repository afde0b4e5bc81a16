//! The two simulators that ours stands beside.

use super::Comparison;
use crate::validation::figures::Runs;

/// One of them.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) ns2: fn(&Comparison) -> &Runs,
    /// Do the ties of equal link rates decide there?
    pub(super) has_ties: bool,
}

/// Both.
pub(super) const SIDES: [Side; 2] = [
    Side { name: "ns-2 with jitter", ns2: |row| &row.jittered, has_ties: false },
    Side { name: "plain ns-2", ns2: |row| &row.plain, has_ties: true },
];
