//! The rows that lie outside the tolerances, each with its reason. The list is exact, as that of the comparison with
//! ns-2.

use Reason::{Burst, Early, Flight, NoSack, Noise, OwnQueue, WholeBytes};

use super::{Comparison, closed, open};
use crate::validation::figures::{QUANTITIES, Runs};

/// Why a row is outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The seeds do not tell that it is: checked.
    Noise,
    /// ns-3's FQ-CoDel asks for MinBytes in the flow's own queue.
    OwnQueue,
    /// ns-3's NewReno halves what is in flight without what was lost.
    Flight,
    /// ns-3's TCP without SACK sends much twice.
    NoSack,
    /// ns-3's NewReno grows by whole bytes.
    WholeBytes,
    /// ns-3's timer runs out early where the round trip is longer than its least timeout.
    Early,
    /// ns-3's PIE holds p at 0 during its burst allowance.
    Burst,
}

impl Reason {
    /// Its word in the tables.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Noise => "noise",
            OwnQueue => "own queue",
            Flight => "flight",
            NoSack => "no SACK",
            WholeBytes => "whole bytes",
            Early => "early timeouts",
            Burst => "burst allowance",
        }
    }
}

/// A row and quantities of it, each with its reason.
type Expected = (&'static str, &'static [(&'static str, Reason)]);

const LIST: &[Expected] = &[
    ("FqCoDel many 1000", &[("mean queue", OwnQueue)]),
    ("FqCoDel-1 many 1000", &[("mean queue", OwnQueue)]),
    ("PIE bursts 100000", &[("drop ratio", Burst)]),
    ("240 ms PIE Sack 10", &[("utilisation", WholeBytes)]),
    ("240 ms PIE Sack 40", &[("utilisation", WholeBytes)]),
    ("240 ms CoDel Sack 10", &[("drop ratio", WholeBytes), ("utilisation", WholeBytes)]),
    ("60 ms FqCoDel Sack 10", &[("mean queue", OwnQueue), ("drop ratio", OwnQueue), ("utilisation", OwnQueue)]),
    ("60 ms FqCoDel Sack 40", &[("mean queue", OwnQueue), ("drop ratio", OwnQueue)]),
    ("240 ms FqCoDel Sack 10", &[("mean queue", OwnQueue), ("drop ratio", OwnQueue), ("utilisation", OwnQueue)]),
    ("240 ms FqCoDel Sack 40", &[("mean queue", OwnQueue), ("drop ratio", OwnQueue), ("utilisation", OwnQueue)]),
    ("60 ms CoDel+ecn Sack 40", &[("drop ratio", Noise)]),
    ("60 ms FqCoDel-1 Sack 40", &[("mean queue", OwnQueue)]),
    ("60 ms RED Sack-flight 40", &[("mean queue", Flight), ("drop ratio", Flight)]),
    ("60 ms CoDel Sack-flight 40", &[("drop ratio", Flight)]),
    ("60 ms RED Newreno 40", &[("mean queue", NoSack), ("drop ratio", NoSack)]),
    ("60 ms CoDel Newreno 40", &[("mean queue", NoSack), ("drop ratio", NoSack)]),
    ("240 ms PIE Sack-exact 10", &[("utilisation", Noise)]),
    ("240 ms PIE Sack-200ms 40", &[("mean queue", Early), ("drop ratio", Early), ("utilisation", Early)]),
    ("240 ms CoDel Sack-200ms 40", &[("drop ratio", Early), ("utilisation", Early)]),
];

/// The reason why this quantity of the row is expected outside.
pub(super) fn reason(row: &str, quantity: usize) -> Option<Reason> {
    let (_, quantities) = LIST.iter().find(|(name, _)| *name == row)?;
    quantities.iter().find(|(name, _)| *name == QUANTITIES[quantity].name).map(|(_, reason)| *reason)
}

/// Where the list and the rows differ, and where a reason does not hold.
pub(super) fn faults(closed: &[Comparison<closed::Row>], open: &[open::Compared]) -> Vec<String> {
    let closed = closed.iter().map(|row| (row.row.to_string(), row.ours.clone(), row.ns3.clone()));
    let open =
        open.iter().map(|row| (row.case.to_string(), open::Compared::runs(&row.ours), open::Compared::runs(&row.ns3)));
    let rows: Vec<(String, Runs, Runs)> = closed.chain(open).collect();
    let is_row = |name: &str| rows.iter().any(|(row, _, _)| row == name);
    let unknown = LIST.iter().filter(|(name, _)| !is_row(name)).map(|(name, _)| format!("{name}: no such row"));
    rows.iter().flat_map(|(name, ours, ns3)| row_faults(name, ours, ns3)).chain(unknown).collect()
}

fn row_faults(name: &str, ours: &Runs, ns3: &Runs) -> Vec<String> {
    let outside = ns3.outside(ours);
    let fault = |quantity: usize| {
        let what = format!("{name}, {}", QUANTITIES[quantity].name);
        match (outside.contains(&quantity), reason(name, quantity)) {
            (true, None) => Some(format!("{what}: outside, and not listed")),
            (false, Some(_)) => Some(format!("{what}: listed, and not outside")),
            (true, Some(Noise)) if !ns3.may_agree(ours, quantity) => Some(format!("{what}: not for noise")),
            _ => None,
        }
    };
    (0..QUANTITIES.len()).filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_exact() {
        let runs = |queue: f64| Runs(vec![[queue, 0.02, 0.0, 1.0, 1.0]; 2]);
        let faults = |name, queue| row_faults(name, &runs(queue), &runs(50.0)).join("; ");
        assert_eq!(faults("no such", 51.0), "");
        assert_eq!(faults("no such", 59.0), "no such, mean queue: outside, and not listed");
        assert_eq!(faults("FqCoDel many 1000", 90.0), "");
        assert_eq!(faults("FqCoDel many 1000", 50.0), "FqCoDel many 1000, mean queue: listed, and not outside");
        assert_eq!(super::faults(&[], &[]).len(), LIST.len(), "each is no such row");
    }
}
