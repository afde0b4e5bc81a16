//! Quantities of runs in our simulator and in ns-2, and whether their means agree.

use forebay_lab::quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::stats::{mean, sd, t95};

/// Number of quantities.
const COUNT: usize = 4;

/// A quantity, and how far our mean may be from ns-2's.
pub(super) struct Quantity {
    pub(super) name: &'static str,
    /// Its name in the record of a run of ours.
    ours: &'static str,
    /// Number of decimals in tables.
    pub(super) digits: usize,
    /// Allowed distance as a fraction of ns-2's mean.
    share: f64,
    /// Allowed distance in the unit of the quantity.
    amount: f64,
}

/// The quantities, in the order in which `network.tcl` prints them.
pub(super) const QUANTITIES: [Quantity; COUNT] = [
    Quantity { name: "mean queue", ours: "queue_pkts.mean", digits: 1, share: 0.1, amount: 1.0 },
    Quantity { name: "deviation of queue", ours: "queue_pkts.std", digits: 1, share: 0.1, amount: 1.0 },
    Quantity { name: "drop ratio", ours: "loss_ratio", digits: 4, share: 0.1, amount: 0.001 },
    Quantity { name: "utilisation", ours: "utilisation", digits: 3, share: 0.0, amount: 0.01 },
];

/// The quantities of one run.
pub(super) type Run = [f64; COUNT];

/// The quantities of a run of ours from its record.
pub(super) fn of(record: &RunRecord) -> Result<Run, String> {
    let mut run = Run::default();
    for (figure, quantity) in run.iter_mut().zip(QUANTITIES) {
        *figure = quantity::of(record, quantity.ours)?;
    }
    Ok(run)
}

/// The quantities in the line that `network.tcl` prints.
pub(super) fn read(line: &str) -> Result<Run, String> {
    let mut run = Run::default();
    let mut words = line.split_whitespace();
    for figure in &mut run {
        *figure = words.next().and_then(|word| word.parse().ok()).ok_or_else(|| format!("not figures: {line}"))?;
    }
    Ok(run)
}

/// A quantity in both simulators.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compared {
    /// Mean and standard deviation over the seeds; with one seed the deviation is NaN.
    pub(super) ours: (f64, f64),
    pub(super) ns2: (f64, f64),
    /// Largest distance of the means that counts as agreement.
    pub(super) allowed: f64,
}

impl Compared {
    /// Compares quantity number `quantity` of these runs. The allowed distance is the largest of three: `share` of
    /// ns-2's mean, `amount`, and the half-width of the 95 % confidence interval of the difference of the two means.
    pub(super) fn of(quantity: usize, ours: &[Run], ns2: &[Run]) -> Self {
        let samples = |runs: &[Run]| runs.iter().map(|run| run[quantity]).collect::<Vec<f64>>();
        let (ours, ns2) = (samples(ours), samples(ns2));
        let [a, b] = [&ours, &ns2].map(|all| (mean(all), sd(all)));
        let Quantity { share, amount, .. } = QUANTITIES[quantity];
        let (n, m) = (ours.len() as f64, ns2.len() as f64);
        let interval = if ours.len() > 1 && ns2.len() > 1 {
            t95(ours.len() + ns2.len() - 2) * (a.1 * a.1 / n + b.1 * b.1 / m).sqrt()
        } else {
            0.0
        };
        Self { ours: a, ns2: b, allowed: (share * b.0).max(amount).max(interval) }
    }

    pub(super) fn difference(&self) -> f64 {
        self.ours.0 - self.ns2.0
    }

    pub(super) fn is_within(&self) -> bool {
        self.difference().abs() <= self.allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(quantity: usize, ours: &[f64], ns2: &[f64]) -> Compared {
        let runs = |all: &[f64]| all.iter().map(|x| [*x; COUNT]).collect::<Vec<Run>>();
        Compared::of(quantity, &runs(ours), &runs(ns2))
    }

    #[test]
    fn means_may_differ_by_largest_of_three_tolerances() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(compared(0, &[50.0; 3], &[40.0; 3]).allowed, 4.0), "10 %");
        assert!(near(compared(0, &[5.0; 3], &[4.0; 3]).allowed, 1.0), "one packet");
        assert!(near(compared(3, &[0.9; 3], &[0.95; 3]).allowed, 0.01), "one point");
        // Both have three seeds and a standard deviation of 10. The half-width is t s sqrt(2/n) = 2.776 x 10 x
        // sqrt(2/3).
        let noisy = compared(0, &[40.0, 50.0, 60.0], &[20.0, 30.0, 40.0]);
        assert!((noisy.allowed - 22.67).abs() < 0.01 && noisy.is_within(), "{noisy:?}");
        assert!(!compared(0, &[50.0; 2], &[40.0; 2]).is_within());
        assert!(near(compared(0, &[50.0], &[40.0]).allowed, 4.0), "one seed has no interval");
    }

    #[test]
    fn line_of_ns2_output_gives_four_quantities() {
        assert_eq!(read("52.1 8.2 0.031 0.99 0"), Ok([52.1, 8.2, 0.031, 0.99]));
        assert!(read("52.1 8.2").is_err());
    }
}
