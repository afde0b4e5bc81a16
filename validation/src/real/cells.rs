//! The cells of the comparison, their quantities, and the rule by which two means differ.

use forebay_lab::record::RunSummary;
use forebay_lab::results::summary::Summary;
use forebay_lab::stats::Interval;

/// A measured quantity. Two means are close if they differ by at most a share of the larger one, or by an amount.
pub(super) struct Quantity {
    pub(super) name: &'static str,
    /// Number of decimals in tables.
    pub(super) digits: usize,
    share: f64,
    amount: f64,
    of: fn(&RunSummary) -> f64,
}

/// Number of quantities.
pub(super) const COUNT: usize = 4;
/// The quantities. Shares and amounts were fixed before the first complete run.
pub(super) const QUANTITIES: [Quantity; COUNT] = [
    Quantity { name: "queue, packets", digits: 1, share: 0.1, amount: 2.0, of: |run| run.queue_pkts.mean },
    Quantity { name: "signals, %", digits: 3, share: 0.1, amount: 0.005, of: signals },
    Quantity {
        name: "wait p99, ms",
        digits: 1,
        share: 0.1,
        amount: 1.0,
        of: |run| run.sojourn_ms.map_or(0.0, |wait| wait.p99),
    },
    Quantity { name: "goodput, Mb/s", digits: 2, share: 0.0, amount: 0.25, of: |run| run.received_bps / 1e6 },
];

/// Drops and marks in per cent of the offered packets.
fn signals(run: &RunSummary) -> f64 {
    100.0 * (run.loss_ratio + run.mark_ratio)
}

/// The quantities of the runs of one side.
pub(super) type Side = [Vec<f64>; COUNT];

/// The quantities of one more run.
pub(super) fn add(side: &mut Side, run: &RunSummary) {
    for (samples, quantity) in side.iter_mut().zip(&QUANTITIES) {
        samples.push((quantity.of)(run));
    }
}

/// How two means compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// They are close.
    Close,
    /// They are not close, but the interval of their difference includes 0: the seeds are too few to decide.
    Open,
    /// They are not close, and the interval of their difference excludes 0.
    Apart,
}

impl Quantity {
    /// Compares the means of two samples.
    pub(super) fn verdict(&self, one: &[f64], other: &[f64]) -> Verdict {
        let larger = Interval::of(one).mean.max(Interval::of(other).mean);
        let difference = Interval::of_difference(one, other);
        if difference.mean.abs() <= (self.share * larger).max(self.amount) {
            Verdict::Close
        } else if difference.contains(0.0) {
            Verdict::Open
        } else {
            Verdict::Apart
        }
    }
}

/// A cell with its runs on Linux and in the simulator.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cell {
    /// The congestion control, as Linux names it.
    pub(super) control: String,
    /// Mean round trip without queue, ms.
    pub(super) round_trip: u32,
    /// Number of connections.
    pub(super) flows: u32,
    pub(super) discipline: String,
    pub(super) linux: Side,
    pub(super) ours: Side,
}

impl Cell {
    /// The verdict on each quantity.
    pub(super) fn verdicts(&self) -> [Verdict; COUNT] {
        std::array::from_fn(|at| QUANTITIES[at].verdict(&self.linux[at], &self.ours[at]))
    }

    /// The simulator's mean of a quantity, divided by that of Linux.
    pub(super) fn ratio(&self, quantity: usize) -> f64 {
        Interval::of(&self.ours[quantity]).mean / Interval::of(&self.linux[quantity]).mean
    }
}

/// The cells in the order of the runs.
pub(super) fn of(summary: &Summary) -> Result<Vec<Cell>, String> {
    let mut cells: Vec<Cell> = Vec::new();
    for run in &summary.runs {
        let axis = |name: &str| run.axes.get(name).map(String::as_str).ok_or_else(|| format!("no {name} in a run"));
        let number =
            |text: &str| text.trim_end_matches("ms").parse::<u32>().map_err(|error| format!("{text}: {error}"));
        let is_ours = run.aqm.ends_with(" (simulated)");
        let discipline = run.aqm.trim_end_matches(" (simulated)").trim_end_matches(" (linux)").to_string();
        let control = axis("flows.bulk.tcp")?.replace("sack", "reno");
        // The other links add 2 ms in each direction on average.
        let round_trip = 2 * (number(axis("topology.bottleneck.delay")?)? + 2);
        let flows = number(axis("flows.bulk.count")?)?;
        let is_same = |cell: &Cell| {
            (&cell.control, cell.round_trip, cell.flows, &cell.discipline) == (&control, round_trip, flows, &discipline)
        };
        let at = cells.iter().position(is_same).unwrap_or_else(|| {
            let (linux, ours) = (Side::default(), Side::default());
            let (control, discipline) = (control.clone(), discipline.clone());
            cells.push(Cell { control, round_trip, flows, discipline, linux, ours });
            cells.len() - 1
        });
        let cell = &mut cells[at];
        add(if is_ours { &mut cell.ours } else { &mut cell.linux }, run);
    }
    Ok(cells)
}
