//! Figures of runs, and when two means of them agree: the tolerances of the comparison with ns-2.

use forebay_lab::stats::{self, t95};

/// A measured quantity and how far ours may lie from ns-3's, fixed before the first run.
pub(super) struct Quantity {
    pub(super) name: &'static str,
    /// Its column in the figures of ns-3.
    pub(super) column: &'static str,
    /// Its name in our records.
    pub(super) ours: &'static str,
    /// Decimals on the page.
    pub(super) digits: usize,
    /// The larger of a share of ns-3's value and an amount.
    tolerance: Option<(f64, f64)>,
}

/// How many quantities there are.
pub(super) const COUNT: usize = 5;
/// All, in the order of the page's columns.
pub(super) const QUANTITIES: [Quantity; COUNT] = [
    quantity("mean queue", "mean_queue", "queue_pkts.mean", 1, Some((0.05, 2.0))),
    quantity("drop ratio", "drop_ratio", "loss_ratio", 5, Some((0.10, 0.0))),
    quantity("mark ratio", "mark_ratio", "mark_ratio", 5, Some((0.10, 0.0))),
    quantity("utilisation", "utilisation", "utilisation", 4, Some((0.0, 0.005))),
    quantity("goodput", "goodput", "goodput_ratio", 4, None),
];

const fn quantity(
    name: &'static str,
    column: &'static str,
    ours: &'static str,
    digits: usize,
    tolerance: Option<(f64, f64)>,
) -> Quantity {
    Quantity { name, column, ours, digits, tolerance }
}

/// The quantities of one run.
pub(super) type Run = [f64; COUNT];

/// The runs of one row, by seed from 1 on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Runs(pub(super) Vec<Run>);

impl Runs {
    fn samples(&self, quantity: usize) -> Vec<f64> {
        self.0.iter().map(|run| run[quantity]).collect()
    }

    pub(super) fn mean(&self, quantity: usize) -> f64 {
        stats::mean(&self.samples(quantity))
    }

    /// How far the mean of `ours` lies outside the tolerance around this one.
    fn excess(&self, ours: &Self, quantity: usize) -> f64 {
        let distance = (ours.mean(quantity) - self.mean(quantity)).abs();
        QUANTITIES[quantity]
            .tolerance
            .map_or(f64::NEG_INFINITY, |(share, amount)| distance - (share * self.mean(quantity)).max(amount))
    }

    /// The quantities of `ours` whose means lie outside the tolerances around these.
    pub(super) fn outside(&self, ours: &Self) -> Vec<usize> {
        (0..COUNT).filter(|q| self.excess(ours, *q) > 0.0).collect()
    }

    /// May the true difference from `ours`, as far as the seeds tell, be within the tolerance?
    ///
    /// By the 95 % confidence interval of the difference of two means, under a common deviation.
    pub(super) fn may_agree(&self, ours: &Self, quantity: usize) -> bool {
        let (a, b) = (self.0.len(), ours.0.len());
        if a + b < 3 {
            return false;
        }
        let squares = |runs: &Self| stats::sd(&runs.samples(quantity)).powi(2) * (runs.0.len() - 1) as f64;
        let variance = (squares(self) + squares(ours)) / (a + b - 2) as f64;
        self.excess(ours, quantity) <= t95(a + b - 2) * (variance * (1.0 / a as f64 + 1.0 / b as f64)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(quantity: usize, values: &[f64]) -> Runs {
        let mut run = [50.0, 0.04, 0.02, 1.0, 1.0];
        Runs(
            values
                .iter()
                .map(|x| {
                    run[quantity] = *x;
                    run
                })
                .collect(),
        )
    }

    #[test]
    fn tolerances_catch_what_lies_outside() {
        let ns3 = runs(0, &[50.0]);
        for (quantity, within, outside) in
            [(0, 52.4, 52.6), (1, 0.0361, 0.0359), (2, 0.0219, 0.0221), (3, 0.996, 0.994)]
        {
            assert_eq!(ns3.outside(&runs(quantity, &[within])), [0; 0], "{quantity}");
            assert_eq!(ns3.outside(&runs(quantity, &[outside])), [quantity]);
        }
        assert_eq!(runs(0, &[3.0]).outside(&runs(0, &[4.9])), [0; 0], "two packets are allowed");
        assert_eq!(ns3.outside(&runs(4, &[0.5])), [0; 0], "goodput is only told");
    }

    #[test]
    fn noise_is_what_the_seeds_cannot_tell() {
        let loud = runs(1, &[0.036, 0.040, 0.044]);
        assert!(loud.may_agree(&runs(1, &[0.042, 0.046, 0.050]), 1));
        assert!(!runs(1, &[0.039, 0.040, 0.041]).may_agree(&runs(1, &[0.049, 0.050, 0.051]), 1));
        assert!(!runs(1, &[0.04]).may_agree(&runs(1, &[0.05]), 1), "one run each tells nothing of noise");
    }
}
