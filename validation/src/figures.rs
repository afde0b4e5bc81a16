//! Quantities of runs, and tests of whether two means agree, for comparisons with other simulators.

use forebay_lab::quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::stats::{self, t95};

/// A measured quantity, and the tolerance between us and the other simulator, fixed before the first run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) name: &'static str,
    /// Its column in the files with the results of the other simulator.
    pub(crate) column: &'static str,
    /// Its name in the record of a run of ours.
    pub(crate) ours: &'static str,
    /// Number of decimals in tables.
    pub(crate) digits: usize,
    tolerance: Option<Tolerance>,
}

/// A tolerance: the larger of a share of the other simulator's value and an amount.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tolerance {
    share: f64,
    amount: f64,
}

const QUEUE: Tolerance = Tolerance { share: 0.05, amount: 2.0 };
const RATIO: Tolerance = Tolerance { share: 0.10, amount: 0.0 };
const UTILISATION: Tolerance = Tolerance { share: 0.0, amount: 0.005 };

const USE: &str = "utilisation";
/// Number of quantities.
pub(crate) const COUNT: usize = 5;
pub(crate) const QUANTITIES: [Quantity; COUNT] = [
    Quantity { name: "mean queue", column: "mean_queue", ours: "queue_pkts.mean", digits: 1, tolerance: Some(QUEUE) },
    Quantity { name: "drop ratio", column: "drop_ratio", ours: "loss_ratio", digits: 5, tolerance: Some(RATIO) },
    Quantity { name: "mark ratio", column: "mark_ratio", ours: "mark_ratio", digits: 5, tolerance: Some(RATIO) },
    Quantity { name: USE, column: USE, ours: USE, digits: 4, tolerance: Some(UTILISATION) },
    Quantity { name: "goodput", column: "goodput", ours: "received_ratio", digits: 4, tolerance: None },
];

/// The quantities of one run.
pub(crate) type Run = [f64; COUNT];

/// The quantities of a run of ours from its record.
pub(crate) fn of(record: &RunRecord) -> Result<Run, String> {
    let mut run = Run::default();
    for (figure, quantity) in run.iter_mut().zip(QUANTITIES) {
        *figure = quantity::of(record, quantity.ours)?;
    }
    Ok(run)
}

/// The other simulator's quantities, from a line of a table with this head.
pub(crate) fn read(head: &str, line: &str) -> Result<Run, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let mut run = Run::default();
    for (figure, quantity) in run.iter_mut().zip(QUANTITIES) {
        let field = head.split(',').position(|name| name == quantity.column).and_then(|at| fields.get(at));
        *figure = field.and_then(|f| f.parse().ok()).ok_or_else(|| format!("no {}: {line}", quantity.column))?;
    }
    Ok(run)
}

/// Arguments of the script that runs the other simulator: its options, with the columns that name the run as values.
pub(crate) fn arguments(options: &[&str], columns: &str) -> Vec<String> {
    options.iter().zip(columns.split(',')).flat_map(|(option, value)| [option.to_string(), value.to_string()]).collect()
}

/// Text that names the quantities outside their tolerance, each with its reason.
pub(crate) fn outside_words(outside: impl Iterator<Item = (usize, String)>) -> String {
    let parts: Vec<String> = outside.map(|(q, why)| format!("{} ({why})", QUANTITIES[q].name)).collect();
    if parts.is_empty() { "within".to_string() } else { format!("outside: {}", parts.join(", ")) }
}

/// The runs of one row (one setting of the comparison), by seed from 1 on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Runs(pub(crate) Vec<Run>);

impl Runs {
    fn samples(&self, quantity: usize) -> Vec<f64> {
        self.0.iter().map(|run| run[quantity]).collect()
    }

    pub(crate) fn mean(&self, quantity: usize) -> f64 {
        stats::mean(&self.samples(quantity))
    }

    pub(crate) fn first(&self, seeds: usize) -> Self {
        Self(self.0.iter().take(seeds).copied().collect())
    }

    /// Largest allowed distance of a mean of ours from that of these runs; `None` if the quantity has no tolerance.
    fn allowed(&self, quantity: usize) -> Option<f64> {
        let Tolerance { share, amount } = QUANTITIES[quantity].tolerance?;
        Some((share * self.mean(quantity)).max(amount))
    }

    fn distance(&self, other: &Self, quantity: usize) -> f64 {
        (other.mean(quantity) - self.mean(quantity)).abs()
    }

    /// Whether the mean of `ours` is within the tolerance around the mean of these runs.
    pub(crate) fn allows(&self, ours: &Self, quantity: usize) -> bool {
        self.allowed(quantity).is_none_or(|allowed| self.distance(ours, quantity) <= allowed)
    }

    /// The quantities whose mean in `ours` is outside the tolerance around the mean of these runs.
    pub(crate) fn outside(&self, ours: &Self) -> Vec<usize> {
        (0..COUNT).filter(|quantity| !self.allows(ours, *quantity)).collect()
    }

    /// Half the 95 % confidence interval of the difference of the two means, if both have the same standard deviation.
    pub(crate) fn uncertainty(&self, other: &Self, quantity: usize) -> f64 {
        let freedom = self.0.len() + other.0.len() - 2;
        let squares = |runs: &Self| stats::sd(&runs.samples(quantity)).powi(2) * (runs.0.len() - 1) as f64;
        let variance = (squares(self) + squares(other)) / freedom as f64;
        t95(freedom) * (variance * (1.0 / self.0.len() as f64 + 1.0 / other.0.len() as f64)).sqrt()
    }

    /// Whether the 95 % confidence interval of the difference from `ours` overlaps the tolerance.
    pub(crate) fn may_agree(&self, ours: &Self, quantity: usize) -> bool {
        let tells = self.0.len() + ours.0.len() > 2;
        let reach = |allowed| self.distance(ours, quantity) <= allowed + self.uncertainty(ours, quantity);
        tells && self.allowed(quantity).is_none_or(reach)
    }

    /// Whether, for some quantity, there are too few runs to decide if an equal simulator is within the tolerance.
    pub(crate) fn are_too_few(&self) -> bool {
        (0..COUNT).any(|q| self.allowed(q).is_some_and(|allowed| self.uncertainty(self, q) > allowed))
    }

    /// Whether the 95 % confidence interval of the difference of the two means excludes 0.
    pub(crate) fn is_apart(&self, other: &Self, quantity: usize) -> bool {
        self.distance(other, quantity) > self.uncertainty(other, quantity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS2: Run = [50.0, 0.04, 0.02, 1.0, 1.0];

    #[test]
    fn quantities_with_means_beyond_tolerance_are_listed() {
        for (ns2, ours, outside) in [
            (NS2, [52.4, 0.0438, 0.0181, 0.9951, 0.5], vec![]),
            (NS2, [53.0, 0.04, 0.02, 1.0, 1.0], vec![0]),
            (NS2, [50.0, 0.045, 0.0179, 0.99, 1.0], vec![1, 2, 3]),
            // Two packets are allowed; 0 agrees with 0.
            ([3.0, 0.0, 0.0, 1.0, 1.0], [4.9, 0.0, 0.0, 1.0, 1.0], vec![]),
            ([3.0, 0.0, 0.0, 1.0, 1.0], [3.0, 1e-6, 0.0, 1.0, 1.0], vec![1]),
        ] {
            assert_eq!(Runs(vec![ns2]).outside(&Runs(vec![ours])), outside, "{ours:?}");
        }
    }

    #[test]
    fn differences_within_the_spread_of_seeds_are_noise() {
        let drops = |all: &[f64]| Runs(all.iter().map(|x| [50.0, *x, 0.02, 1.0, 1.0]).collect());
        // Deviation 0.001 of three seeds each: 2.776 x 0.001 x sqrt(2/3) = 0.00227, compared with 10 % of 0.04.
        let (quiet, loud) = (drops(&[0.039, 0.040, 0.041]), drops(&[0.036, 0.040, 0.044]));
        assert!(!quiet.are_too_few() && loud.are_too_few());
        assert!((quiet.uncertainty(&quiet, 1) - 0.002_267).abs() < 1e-6);
        assert!(loud.may_agree(&drops(&[0.042, 0.046, 0.050]), 1));
        assert!(!quiet.may_agree(&drops(&[0.049, 0.050, 0.051]), 1));
        assert!(!drops(&[0.04]).may_agree(&drops(&[0.05]), 1), "one run has no spread");
        assert!(!loud.is_apart(&drops(&[0.042, 0.046, 0.050]), 1), "6 compared with 9.1 of a thousand");
        assert!(quiet.is_apart(&drops(&[0.0423, 0.0433, 0.0443]), 1) && quiet.allows(&drops(&[0.043; 3]), 1));
    }
}
