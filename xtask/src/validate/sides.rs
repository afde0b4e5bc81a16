//! The two simulators that ours stands beside.

use super::Comparison;
use super::reasons::{self, Reason};
use crate::figures::Runs;

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

impl Side {
    /// The quantities of a row that lie outside the tolerances, and why.
    pub(super) fn outside(&self, row: &Comparison) -> Vec<(usize, Vec<Reason>)> {
        let outside = (self.ns2)(row).outside(&row.ours);
        outside.into_iter().map(|quantity| (quantity, reasons::of(self, row, quantity))).collect()
    }
}
