//! The rows of the comparison with ns-3 (each one network, discipline, TCP and number of flows) in which our results
//! are outside the tolerances, with the reasons. A test checks that the list is exact.

use super::{Comparison, closed, open};
use crate::figures::{QUANTITIES, Runs};

// Why a row is outside.
/// With these seeds it cannot be decided whether the difference exceeds the tolerance; `row_faults` checks this.
const NOISE: &str = "noise";
/// ns-3's FQ-CoDel compares MinBytes with the flow's own backlog.
const OWN_QUEUE: &str = "own queue";
/// ns-3's NewReno halves the flight size without the lost packets.
const FLIGHT: &str = "flight";
/// ns-3's TCP without SACK retransmits many packets that have arrived.
const NO_SACK: &str = "no SACK";
/// ns-3's NewReno increases the window by whole bytes.
const WHOLE_BYTES: &str = "whole bytes";
/// ns-3's retransmission timer expires early if the round trip exceeds its minimum timeout.
const EARLY: &str = "early timeouts";
/// ns-3's PIE holds p at 0 during its burst allowance.
const BURST: &str = "burst allowance";

/// Quantities that are outside their tolerances in several rows.
const QUEUE: &[&str] = &["mean queue"];
const DROPS: &[&str] = &["drop ratio"];
const USE: &[&str] = &["utilisation"];
const QUEUE_DROPS: &[&str] = &["mean queue", "drop ratio"];
const DROPS_USE: &[&str] = &["drop ratio", "utilisation"];
const ALL: &[&str] = &["mean queue", "drop ratio", "utilisation"];

/// Rows, the quantities that are outside their tolerances there, and why.
const LIST: &[(&str, &[&str], &str)] = &[
    ("FqCoDel many 1000", QUEUE, OWN_QUEUE),
    ("FqCoDel-1 many 1000", QUEUE, OWN_QUEUE),
    ("PIE bursts 100000", DROPS, BURST),
    ("240 ms PIE Sack 10", USE, WHOLE_BYTES),
    ("240 ms PIE Sack 40", USE, WHOLE_BYTES),
    ("240 ms CoDel Sack 10", DROPS_USE, WHOLE_BYTES),
    ("60 ms FqCoDel Sack 10", ALL, OWN_QUEUE),
    ("60 ms FqCoDel Sack 40", QUEUE_DROPS, OWN_QUEUE),
    ("240 ms FqCoDel Sack 10", ALL, OWN_QUEUE),
    ("240 ms FqCoDel Sack 40", ALL, OWN_QUEUE),
    ("60 ms CoDel+ecn Sack 40", DROPS, NOISE),
    ("60 ms FqCoDel-1 Sack 40", QUEUE, OWN_QUEUE),
    ("60 ms RED Sack-flight 40", QUEUE_DROPS, FLIGHT),
    ("60 ms CoDel Sack-flight 40", DROPS, FLIGHT),
    ("60 ms RED Newreno 40", QUEUE_DROPS, NO_SACK),
    ("60 ms CoDel Newreno 40", QUEUE_DROPS, NO_SACK),
    ("240 ms PIE Sack-exact 10", USE, NOISE),
    ("240 ms PIE Sack-200ms 40", ALL, EARLY),
    ("240 ms CoDel Sack-200ms 40", DROPS_USE, EARLY),
];

/// The reason why this quantity of the row is outside its tolerance; `None` if the list does not expect that.
pub(super) fn reason(row: &str, quantity: usize) -> Option<&'static str> {
    let (_, quantities, reason) = LIST.iter().find(|(name, ..)| *name == row)?;
    quantities.contains(&QUANTITIES[quantity].name).then_some(reason)
}

/// Differences between the list and the rows, and reasons that do not hold.
pub(super) fn faults(closed: &[Comparison<closed::Row>], open: &[open::Compared]) -> Vec<String> {
    let closed = closed.iter().map(|row| (row.row.to_string(), row.ours.clone(), row.ns3.clone()));
    let open =
        open.iter().map(|row| (row.case.to_string(), open::Compared::runs(&row.ours), open::Compared::runs(&row.ns3)));
    let rows: Vec<(String, Runs, Runs)> = closed.chain(open).collect();
    let is_row = |name: &str| rows.iter().any(|(row, _, _)| row == name);
    let unknown = LIST.iter().filter(|(name, ..)| !is_row(name)).map(|(name, ..)| format!("{name}: no such row"));
    rows.iter().flat_map(|(name, ours, ns3)| row_faults(name, ours, ns3)).chain(unknown).collect()
}

fn row_faults(name: &str, ours: &Runs, ns3: &Runs) -> Vec<String> {
    let outside = ns3.outside(ours);
    let fault = |quantity: usize| {
        let what = format!("{name}, {}", QUANTITIES[quantity].name);
        match (outside.contains(&quantity), reason(name, quantity)) {
            (true, None) => Some(format!("{what}: outside, and not listed")),
            (false, Some(_)) => Some(format!("{what}: listed, and not outside")),
            (true, Some(NOISE)) if !ns3.may_agree(ours, quantity) => Some(format!("{what}: not for noise")),
            _ => None,
        }
    };
    (0..QUANTITIES.len()).filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_unlisted_rows_outside_tolerance_and_listed_inside() {
        let runs = |queue: f64| Runs(vec![[queue, 0.02, 0.0, 1.0, 1.0]; 2]);
        let faults = |name, queue| row_faults(name, &runs(queue), &runs(50.0)).join("; ");
        assert_eq!(faults("no such", 51.0), "");
        assert_eq!(faults("no such", 59.0), "no such, mean queue: outside, and not listed");
        assert_eq!(faults("FqCoDel many 1000", 90.0), "");
        assert_eq!(faults("FqCoDel many 1000", 50.0), "FqCoDel many 1000, mean queue: listed, and not outside");
        assert_eq!(super::faults(&[], &[]).len(), LIST.len(), "each is no such row");
    }
}
