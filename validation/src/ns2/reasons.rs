//! Why our results and those of ns-2 for the same network (a row) differ by more than the tolerances: reasons that the
//! runs confirm.

use forebay_sim::tcp::Ns2Rules;

use super::{Comparison, SEEDS};
use crate::figures::Runs;

use Reason::{Cwr, Lines, Noise, Open, Sack, Ties};

/// One of the two comparisons: with ns-2 whose hosts have processing jitter, or with plain ns-2.
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) ns2: fn(&Comparison) -> &Runs,
    /// Whether simultaneous arrivals from links of equal rates affect this ns-2.
    pub(super) has_ties: bool,
}

pub(super) const SIDES: [Side; 2] = [
    Side { name: "ns-2 with jitter", ns2: |row| &row.jittered, has_ties: false },
    Side { name: "plain ns-2", ns2: |row| &row.plain, has_ties: true },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The means of ours and ns-2's do not differ significantly, even with the larger number of seeds.
    Noise,
    /// Simultaneous arrivals in plain ns-2: with jitter, ns-2's own result is closer to ours.
    Ties,
    /// ns-2's `Sack1` is not RFC 6675: our sender with the rules of `Sack1` agrees with ns-2.
    Sack,
    /// ns-2 sends CWR with one retransmission too many: our sender agrees with ns-2 if it does so too.
    Cwr,
    /// The clients' links have the rate of the bottleneck: if they are faster in both simulators, ours agrees with
    /// ns-2.
    Lines,
    /// The runs confirm none of these reasons.
    Open,
}

impl Reason {
    /// All reasons, in the order of `docs/validation.md`.
    pub(super) const ALL: [Self; 6] = [Noise, Ties, Sack, Cwr, Lines, Open];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Noise => "noise",
            Ties => "ties",
            Sack => "SACK",
            Cwr => "CWR",
            Lines => "lines",
            Open => "open",
        }
    }

    /// The reasons that our runs with these rules of ns-2 can confirm.
    fn of_rules(rules: Ns2Rules) -> Vec<Self> {
        [(rules.sack1, Sack), (rules.cwr, Cwr)].into_iter().filter(|(on, _)| *on).map(|(_, reason)| reason).collect()
    }
}

/// The names of the reasons, such as `noise, ties`.
pub(super) fn words(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| reason.word()).collect::<Vec<_>>().join(", ")
}

/// Our runs with the rules of ns-2 that are among `reasons`.
pub(super) fn by_rules<'a>(row: &'a Comparison, reasons: &[Reason]) -> Option<&'a Runs> {
    let wanted: Vec<Reason> = [Sack, Cwr].into_iter().filter(|reason| reasons.contains(reason)).collect();
    row.by_rules.iter().find(|(rules, _)| Reason::of_rules(*rules) == wanted).map(|(_, runs)| runs)
}

/// Our runs with each set of ns-2's rules that applies to the row.
pub(super) fn all_by_rules(row: &Comparison) -> impl Iterator<Item = (String, &Runs)> {
    row.by_rules.iter().map(|(rules, runs)| (words(&Reason::of_rules(*rules)), runs))
}

impl Side {
    /// The quantities of a row that are outside the tolerances, with the reasons.
    pub(super) fn outside(&self, row: &Comparison) -> Vec<(usize, Vec<Reason>)> {
        let outside = (self.ns2)(row).outside(&row.ours);
        outside.into_iter().map(|quantity| (quantity, of(self, row, quantity))).collect()
    }
}

/// Why the row is outside the tolerance of `quantity` in this comparison: the first reason that the runs confirm.
/// Single reasons are tried before pairs. The second of a pair is always simultaneous arrivals: a difference between
/// ours and ns-2 with jitter affects plain ns-2 too.
pub(super) fn of(side: &Side, row: &Comparison, quantity: usize) -> Vec<Reason> {
    let Comparison { ours, jittered, .. } = row;
    let ns2 = (side.ns2)(row);
    let tied = |ours: &Runs| side.has_ties && ties_explain(row, ours, quantity);
    let moved: Vec<(Vec<Reason>, &Runs)> = row
        .by_rules
        .iter()
        .filter(|(_, runs)| runs.is_apart(ours, quantity))
        .map(|(rules, runs)| (Reason::of_rules(*rules), runs))
        .collect();
    if is_noise(ns2, ours, quantity) {
        return vec![Noise];
    }
    if jittered.allows(ours, quantity) && tied(ours) {
        return vec![Ties];
    }
    if let Some((reasons, _)) = moved.iter().find(|(_, runs)| ns2.allows(runs, quantity)) {
        return reasons.clone();
    }
    if let Some((reasons, _)) = moved.iter().find(|(_, runs)| jittered.allows(runs, quantity) && tied(runs)) {
        return [reasons.as_slice(), &[Ties]].concat();
    }
    if is_noise(jittered, ours, quantity) && tied(ours) {
        return vec![Noise, Ties];
    }
    match &row.faster {
        Some(faster) if !side.has_ties && faster.ns2.allows(&faster.ours, quantity) => vec![Lines],
        Some(faster) if !side.has_ties && faster.ns2.allows(&faster.by_rules, quantity) => {
            let rules = row.row.rules().pop().unwrap_or_default();
            [Reason::of_rules(rules).as_slice(), &[Lines]].concat()
        }
        _ => vec![Open],
    }
}

fn is_noise(ns2: &Runs, ours: &Runs, quantity: usize) -> bool {
    ns2.0.len() == SEEDS[1] && !ns2.is_apart(ours, quantity)
}

/// Whether ns-2's own result is significantly closer to ours with jitter, by more than the tolerance or by at least
/// half of the difference.
fn ties_explain(row: &Comparison, ours: &Runs, quantity: usize) -> bool {
    let Comparison { jittered, plain, .. } = row;
    let way = ours.mean(quantity) - plain.mean(quantity);
    let own = jittered.mean(quantity) - plain.mean(quantity);
    let is_much = !plain.allows(jittered, quantity) || own.abs() >= way.abs() / 2.0;
    own * way > 0.0 && is_much && jittered.is_apart(plain, quantity)
}

#[cfg(test)]
mod tests {
    use super::super::grid;
    use super::*;
    use crate::figures::Run;

    const SACK1: Ns2Rules = Ns2Rules { sack1: true, cwr: false };

    /// The reasons in both comparisons for four drop ratios, in thousandths, each with a standard deviation of 0.3:
    /// ours, ours with the rules of `Sack1`, ns-2 with jitter, and plain ns-2.
    fn found(seeds: u32, drops: [f64; 4]) -> [String; 2] {
        let run = |drops: f64, i: u32| Run::from([80.0, 1e-3 * drops + 1e-4 * f64::from(i), 0.0, 1.0, 1.0]);
        let [ours, by_rules, jittered, plain] = drops.map(|drops| Runs((0..seeds).map(|i| run(drops, i)).collect()));
        let by_rules = vec![(SACK1, by_rules)];
        let row = Comparison { row: grid::rows()[0], ours, by_rules, jittered, plain, faster: None };
        SIDES.map(|side| words(&of(&side, &row, 1)))
    }

    #[test]
    fn reason_explains_difference_only_if_runs_confirm_it() {
        for (drops, [with_jitter, plain]) in [
            ([30.0, 30.0, 30.2, 30.2], ["noise", "noise"]),
            ([30.0, 30.0, 30.0, 40.0], ["noise", "ties"]),
            ([40.0, 30.0, 30.0, 30.0], ["SACK", "SACK"]),
            ([50.0, 35.0, 35.0, 30.0], ["SACK", "SACK, ties"]),
            ([30.0, 30.0, 30.2, 40.0], ["noise", "ties"]),
            // Its rules have no effect, or too little, or too much.
            ([40.0, 40.0, 30.0, 30.0], ["open", "open"]),
            ([50.0, 40.0, 30.0, 30.0], ["open", "open"]),
            ([40.0, 20.0, 30.0, 30.0], ["open", "open"]),
            // Jitter moves ns-2's figure away from ours, or hardly at all.
            ([30.0, 30.0, 40.0, 35.0], ["open", "open"]),
            ([33.0, 33.0, 30.5, 30.0], ["open", "open"]),
        ] {
            assert_eq!(found(10, drops), [with_jitter, plain], "{drops:?}");
        }
        assert_eq!(found(3, [30.0, 30.0, 30.2, 30.2]), ["open", "open"], "three seeds are too few for noise");
    }
}
