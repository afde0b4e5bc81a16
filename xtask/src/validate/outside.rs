//! The rows that lie outside the tolerances, each with its reason. The list is exact: a row that leaves the
//! tolerances and one that comes back both have to be dealt with here.

use Reason::{Cwr, Noise, Sack, Ties};

use super::figures::{QUANTITIES, Runs};
use super::{Comparison, SEEDS};

/// Why a row is outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The larger number of seeds does not tell that it is: checked.
    Noise,
    /// Plain ns-2's ties: with jitter ns-2 agrees, as far as the seeds tell. Checked.
    Ties,
    /// ns-2's `Sack1` is not RFC 6675.
    Sack,
    /// ns-2 sends CWR with one retransmission too many.
    Cwr,
}

impl Reason {
    /// In the order of the page.
    pub(super) const ALL: [Self; 4] = [Noise, Ties, Sack, Cwr];

    /// Its word in the tables.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Noise => "noise",
            Ties => "ties",
            Sack => "SACK",
            Cwr => "CWR",
        }
    }
}

/// What is expected: a row and quantities of it, each with its reason.
pub(super) type Expected = (&'static str, &'static [(&'static str, Reason)]);

/// Against ns-2 with jitter.
const JITTERED: &[Expected] = &[
    ("1 DropTail Sack1 40", &[("drop ratio", Noise)]),
    ("1 DropTail Sack1 400", &[("drop ratio", Sack)]),
    ("1 RED Sack1 400", &[("drop ratio", Sack)]),
    ("1 RED+ecn Sack1 400", &[("drop ratio", Sack)]),
    ("1 PI+ecn Newreno 400", &[("drop ratio", Cwr)]),
    ("1 PI+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("1 PI+ecn Sack1 400", &[("drop ratio", Cwr)]),
    ("1 REM Sack1 400", &[("mean queue", Sack), ("drop ratio", Sack)]),
    ("1 REM+ecn Newreno 40", &[("drop ratio", Noise)]),
    ("1 REM+ecn Newreno 400", &[("drop ratio", Cwr)]),
    ("1 REM+ecn Reno 40", &[("drop ratio", Noise)]),
    ("1 REM+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("1 REM+ecn Sack1 40", &[("drop ratio", Noise)]),
    ("1 REM+ecn Sack1 400", &[("drop ratio", Cwr)]),
    ("2 RED+ecn Newreno 400", &[("mark ratio", Noise)]),
    ("2 RED+ecn Sack1 400", &[("mark ratio", Sack)]),
    ("2 PI+ecn Newreno 40", &[("mark ratio", Noise)]),
    ("2 PI+ecn Newreno 400", &[("drop ratio", Cwr)]),
    ("2 PI+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("2 PI+ecn Sack1 40", &[("utilisation", Noise)]),
    ("2 PI+ecn Sack1 400", &[("drop ratio", Cwr)]),
    ("2 REM+ecn Newreno 400", &[("drop ratio", Cwr)]),
    ("2 REM+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("2 REM+ecn Sack1 400", &[("drop ratio", Cwr)]),
];

/// Against plain ns-2.
const PLAIN: &[Expected] = &[
    ("1 DropTail Newreno 40", &[("mean queue", Ties), ("drop ratio", Ties)]),
    ("1 DropTail Sack1 40", &[("mean queue", Ties), ("drop ratio", Ties)]),
    ("1 DropTail Sack1 400", &[("drop ratio", Sack)]),
    ("1 RED Sack1 400", &[("drop ratio", Sack)]),
    ("1 RED+ecn Sack1 400", &[("drop ratio", Sack)]),
    ("1 PI Sack1 400", &[("drop ratio", Ties)]),
    ("1 PI+ecn Newreno 40", &[("drop ratio", Ties)]),
    ("1 PI+ecn Newreno 400", &[("drop ratio", Cwr)]),
    ("1 PI+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("1 PI+ecn Sack1 40", &[("drop ratio", Ties)]),
    ("1 REM Sack1 400", &[("drop ratio", Sack)]),
    ("1 REM+ecn Newreno 40", &[("drop ratio", Ties)]),
    ("1 REM+ecn Newreno 400", &[("drop ratio", Cwr)]),
    ("1 REM+ecn Reno 40", &[("drop ratio", Noise)]),
    ("1 REM+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("1 REM+ecn Sack1 40", &[("drop ratio", Ties)]),
    ("1 REM+ecn Sack1 400", &[("drop ratio", Cwr)]),
    ("2 DropTail Newreno 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 DropTail Newreno 400", &[("drop ratio", Ties)]),
    ("2 DropTail Reno 40", &[("utilisation", Ties)]),
    ("2 DropTail Reno 400", &[("drop ratio", Ties)]),
    ("2 DropTail Sack1 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 DropTail Sack1 400", &[("drop ratio", Ties)]),
    ("2 RED Newreno 40", &[("utilisation", Ties)]),
    ("2 RED Reno 40", &[("utilisation", Ties)]),
    ("2 RED Sack1 40", &[("utilisation", Ties)]),
    ("2 RED Sack1 400", &[("mean queue", Ties)]),
    ("2 RED+ecn Newreno 40", &[("utilisation", Ties)]),
    ("2 RED+ecn Newreno 400", &[("mark ratio", Noise)]),
    ("2 RED+ecn Reno 40", &[("utilisation", Ties)]),
    ("2 RED+ecn Reno 400", &[("mark ratio", Ties)]),
    ("2 RED+ecn Sack1 40", &[("utilisation", Ties)]),
    ("2 RED+ecn Sack1 400", &[("mark ratio", Sack)]),
    ("2 PI Newreno 40", &[("mean queue", Ties), ("utilisation", Ties)]),
    ("2 PI Reno 40", &[("utilisation", Ties)]),
    ("2 PI Sack1 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 PI+ecn Newreno 40", &[("mean queue", Ties), ("mark ratio", Ties), ("utilisation", Ties)]),
    ("2 PI+ecn Reno 40", &[("utilisation", Ties)]),
    ("2 PI+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("2 PI+ecn Sack1 40", &[("mean queue", Ties), ("drop ratio", Ties), ("mark ratio", Ties), ("utilisation", Ties)]),
    ("2 REM Newreno 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 REM Reno 40", &[("utilisation", Ties)]),
    ("2 REM Sack1 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 REM+ecn Newreno 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 REM+ecn Newreno 400", &[("drop ratio", Cwr)]),
    ("2 REM+ecn Reno 40", &[("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 REM+ecn Reno 400", &[("drop ratio", Cwr)]),
    ("2 REM+ecn Sack1 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("2 REM+ecn Sack1 400", &[("drop ratio", Cwr)]),
    ("3 DropTail Newreno 40", &[("mean queue", Ties), ("drop ratio", Ties)]),
    ("3 DropTail Newreno 400", &[("drop ratio", Ties)]),
    ("3 DropTail Reno 40", &[("mean queue", Ties), ("drop ratio", Ties), ("utilisation", Ties)]),
    ("3 DropTail Reno 400", &[("drop ratio", Ties)]),
    ("3 RED Reno 400", &[("mean queue", Ties), ("drop ratio", Ties)]),
    ("3 PI Newreno 400", &[("drop ratio", Ties)]),
    ("3 PI Reno 40", &[("utilisation", Ties)]),
    ("3 PI Reno 400", &[("drop ratio", Ties)]),
    ("3 REM Reno 40", &[("utilisation", Ties)]),
];

/// One of the two simulators that ours stands beside.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) list: &'static [Expected],
    pub(super) ns2: fn(&Comparison) -> &Runs,
}

/// Both.
pub(super) const SIDES: [Side; 2] = [
    Side { name: "ns-2 with jitter", list: JITTERED, ns2: |row| &row.jittered },
    Side { name: "plain ns-2", list: PLAIN, ns2: |row| &row.plain },
];

impl Side {
    /// The quantities of a row that lie outside.
    pub(super) fn outside(&self, row: &Comparison) -> Vec<usize> {
        (self.ns2)(row).outside(&row.ours)
    }

    /// The reason why this quantity of the row is expected outside.
    pub(super) fn reason(&self, row: &str, quantity: usize) -> Option<Reason> {
        let (_, quantities) = self.list.iter().find(|(name, _)| *name == row)?;
        quantities.iter().find(|(name, _)| *name == QUANTITIES[quantity].name).map(|(_, reason)| *reason)
    }

    /// Where the list and the rows differ, and where a reason does not hold.
    pub(super) fn faults(&self, rows: &[Comparison]) -> Vec<String> {
        let mut faults = Vec::new();
        for row in rows {
            let name = row.row.to_string();
            let outside = self.outside(row);
            for (quantity, about) in QUANTITIES.iter().enumerate() {
                let what = format!("{name}, {} against {}", about.name, self.name);
                match (outside.contains(&quantity), self.reason(&name, quantity)) {
                    (true, None) => faults.push(format!("{what}: outside, and not listed")),
                    (false, Some(_)) => faults.push(format!("{what}: listed, and not outside")),
                    (true, Some(reason)) if !holds(reason, row, (self.ns2)(row), quantity) => {
                        faults.push(format!("{what}: not for {}", reason.word()));
                    }
                    _ => {}
                }
            }
        }
        let is_row = |name: &str| rows.iter().any(|row| row.row.to_string() == name);
        faults
            .extend(self.list.iter().filter(|(name, _)| !is_row(name)).map(|(name, _)| format!("{name}: no such row")));
        faults
    }
}

/// What the runs can say about the reason.
fn holds(reason: Reason, comparison: &Comparison, ns2: &Runs, quantity: usize) -> bool {
    match reason {
        Noise => ns2.0.len() == SEEDS[1] && ns2.may_agree(&comparison.ours, quantity),
        Ties => comparison.jittered.may_agree(&comparison.ours, quantity),
        Sack | Cwr => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Run;
    use super::super::grid;
    use super::*;

    /// The first row, with these drop ratios of ours, of ns-2 with jitter and of plain ns-2, ten seeds each.
    fn comparison(drops: [f64; 3]) -> Comparison {
        let runs =
            |drops: f64| Runs((0..10).map(|i| Run::from([80.0, drops + 1e-4 * f64::from(i), 0.0, 1.0, 1.0])).collect());
        let [ours, jittered, plain] = drops.map(runs);
        Comparison { row: grid::rows()[0], ours, jittered, plain }
    }

    fn faults(list: &'static [Expected], drops: [f64; 3]) -> String {
        Side { name: "ns-2", list, ns2: |row| &row.plain }.faults(&[comparison(drops)]).join("; ")
    }

    #[test]
    fn the_list_is_exact() {
        let listed: &'static [Expected] = &[("1 DropTail Newreno 40", &[("drop ratio", Ties)])];
        let (same, far, near) = ([0.030; 3], [0.030, 0.030, 0.040], [0.030, 0.030, 0.0334]);
        assert_eq!(faults(&[], same), "");
        assert_eq!(faults(&[], far), "1 DropTail Newreno 40, drop ratio against ns-2: outside, and not listed");
        assert_eq!(faults(listed, far), "");
        assert_eq!(faults(listed, same), "1 DropTail Newreno 40, drop ratio against ns-2: listed, and not outside");
        assert_eq!(
            faults(listed, [0.030, 0.040, 0.040]),
            "1 DropTail Newreno 40, drop ratio against ns-2: not for ties"
        );
        let noise: &'static [Expected] = &[("1 DropTail Newreno 40", &[("drop ratio", Noise)])];
        assert_eq!(faults(noise, far), "1 DropTail Newreno 40, drop ratio against ns-2: not for noise");
        assert_eq!(faults(noise, near), "");
        assert_eq!(faults(&[("1 DropTail Tahoe 40", &[])], same), "1 DropTail Tahoe 40: no such row");
    }
}
