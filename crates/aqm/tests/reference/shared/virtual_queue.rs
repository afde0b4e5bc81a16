//! What SVB and MSVB have in common at an arrival, after the update of the virtual queue `qv` and the threshold `bv`:
//! the signal probability, and whether a drop restores both.

use crate::reference::harness::*;

/// Branches that the traces must take.
pub(crate) const BRANCHES: [&str; 7] = [
    "at the cap",
    "at the floor",
    "certain",
    "neither sure nor impossible",
    "dropped and restored",
    "dropped and counted",
    "marked",
];

/// Eq. (1) and (2) of the MSVB paper: the probability of a signal.
pub(crate) fn probability(qv: f64, bv: f64, seen: &mut Seen) -> f64 {
    let mut p = 0.0;
    if qv > bv {
        p = (qv - bv) / qv;
    }
    seen.note("certain", p == 1.0);
    seen.note("neither sure nor impossible", p > 0.0 && p < 1.0);
    p
}

/// Whether to restore `qv` and `bv` from before the arrival: the packet was dropped, and only accepted packets count.
pub(crate) fn restored(outcome: Outcome, offered: bool, seen: &mut Seen) -> bool {
    let dropped = matches!(outcome, Outcome::Early | Outcome::Overflow);
    seen.note("dropped and restored", dropped && !offered);
    seen.note("dropped and counted", dropped && offered);
    seen.note("marked", outcome == Outcome::Marked);
    dropped && !offered
}
