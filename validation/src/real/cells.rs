//! The cells of the comparison, their quantities, and the rule by which two means differ.

use forebay_lab::record::{FlowRecord, RunRecord, RunSummary};
use forebay_lab::results::spread::Spread;
use forebay_lab::results::traffic::ALL;
use forebay_lab::stats::{Interval, mean};

/// The names of a sender: on Linux, on the simulator's Linux stack, and on that of the RFCs.
pub(super) const SENDERS: [[&str; 3]; 4] =
    [["cubic", "linux", "cubic"], ["reno", "sack", "sack"], ["bbr", "bbr", "bbr"], ["dctcp", "dctcp", "dctcp"]];
/// The recorded column with the mean window of the connections.
pub(super) const WINDOW: &str = "bulk.cwnd";

/// A measured quantity. Two means are close if they differ by at most a share of the larger one, or by an amount.
pub(super) struct Quantity {
    pub(super) name: &'static str,
    /// Number of decimals in tables.
    pub(super) digits: usize,
    share: f64,
    amount: f64,
    of: fn(&RunRecord) -> f64,
}

const fn quantity(name: &'static str, digits: usize, [share, amount]: [f64; 2], of: fn(&RunRecord) -> f64) -> Quantity {
    Quantity { name, digits, share, amount, of }
}

/// Seconds from the start of the run over which the window is averaged apart from the rest.
const START_S: f64 = 10.0;

/// The quantities of long connections. Shares and amounts were fixed before the first complete run that measured them.
pub(super) const LONG: [Quantity; 8] = [
    quantity("queue, packets", 1, [0.1, 2.0], |run| run.summary.queue_pkts.mean),
    quantity("signals, %", 3, [0.1, 0.005], |run| signals(&run.summary)),
    quantity("wait p99, ms", 1, [0.1, 1.0], |run| run.summary.sojourn_ms.map_or(0.0, |wait| wait.p99)),
    quantity("goodput, Mb/s", 2, [0.0, 0.25], |run| run.summary.received_bps / 1e6),
    quantity("retransmissions, %", 3, [0.1, 0.005], retransmissions),
    quantity("Jain's index", 3, [0.0, 0.05], |run| run.summary.jain.unwrap_or(0.0)),
    quantity("window at the start, packets", 1, [0.1, 1.0], |run| window(run, |at| at <= START_S)),
    quantity("window, packets", 1, [0.1, 1.0], |run| window(run, |at| at > START_S)),
];

/// The quantities of connections with one file each.
pub(super) const FILES: [Quantity; 4] = [
    quantity("mean completion time, ms", 0, [0.1, 5.0], |run| completion(run, |times| times.mean)),
    quantity("completion time p99, ms", 0, [0.1, 10.0], |run| completion(run, |times| times.p99)),
    quantity("files", 0, [0.1, 10.0], |run| run.completions.len() as f64),
    quantity("retransmissions, %", 3, [0.1, 0.005], retransmissions),
];

/// Drops and marks in per cent of the offered packets.
fn signals(run: &RunSummary) -> f64 {
    100.0 * (run.loss_ratio + run.mark_ratio)
}

/// Retransmissions in per cent of the packets that the senders sent, in the complete run.
fn retransmissions(run: &RunRecord) -> f64 {
    let sum = |of: fn(&FlowRecord) -> u64| run.flows.iter().map(of).sum::<u64>() as f64;
    100.0 * sum(|flow| flow.retransmitted_pkts) / sum(|flow| flow.sent_pkts).max(1.0)
}

/// Mean congestion window of the connections, over the rows at the chosen times.
fn window(run: &RunRecord, is_chosen: impl Fn(f64) -> bool) -> f64 {
    let windows = run.series.probes.iter().filter(|(name, _)| name == WINDOW).flat_map(|(_, windows)| windows);
    let rows = run.series.time_s.iter().zip(windows).filter(|(at, _)| is_chosen(**at));
    mean(&rows.filter_map(|(_, window)| *window).collect::<Vec<_>>())
}

/// A statistic of the completion times, in ms.
fn completion(run: &RunRecord, statistic: impl Fn(&Spread) -> f64) -> f64 {
    let all = run.summary.traffic.iter().find(|traffic| traffic.name == ALL);
    all.and_then(|all| all.fct_s.as_ref()).map_or(0.0, |times| 1e3 * statistic(times))
}

/// The values of each quantity, one for each run of one side of a cell.
pub(super) type Side = Vec<Vec<f64>>;

/// The quantities of one more run.
pub(super) fn add(side: &mut Side, quantities: &[Quantity], run: &RunRecord) {
    side.resize_with(quantities.len(), Vec::new);
    for (samples, quantity) in side.iter_mut().zip(quantities) {
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

/// What one side has in common with the other side of a cell.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Place {
    /// The congestion control, as Linux names it.
    pub(super) control: String,
    /// Mean round trip without queue, ms.
    pub(super) round_trip: u32,
    /// Number of connections.
    pub(super) flows: u32,
    pub(super) discipline: String,
}

/// A cell with its runs on Linux and in the simulator.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Cell {
    pub(super) place: Place,
    pub(super) linux: Side,
    pub(super) ours: Side,
}

impl Cell {
    /// The verdict on each quantity.
    pub(super) fn verdicts(&self, quantities: &[Quantity]) -> Vec<Verdict> {
        let sides = quantities.iter().zip(self.linux.iter().zip(&self.ours));
        sides.map(|(quantity, (linux, ours))| quantity.verdict(linux, ours)).collect()
    }

    /// The simulator's mean of a quantity, divided by that of Linux.
    pub(super) fn ratio(&self, quantity: usize) -> f64 {
        Interval::of(&self.ours[quantity]).mean / Interval::of(&self.linux[quantity]).mean
    }
}

impl Place {
    /// The place of a run, and whether its connections ended in Linux.
    fn of(run: &RunSummary) -> Result<(Self, bool), String> {
        let axis = |end: &str| {
            let found = run.axes.words().find(|(name, _)| name.ends_with(end));
            found.map(|(_, value)| value).ok_or_else(|| format!("no {end} in a run"))
        };
        let number =
            |text: &str| text.trim_end_matches("ms").parse::<u32>().map_err(|error| format!("{text}: {error}"));
        let (discipline, is_linux) = match run.aqm.strip_suffix(" (linux)") {
            Some(discipline) => (discipline, true),
            None => (run.aqm.trim_end_matches(" (simulated)"), false),
        };
        // The access and egress links add 2 ms of delay in each direction, on average over the hosts.
        let round_trip = 2 * (number(axis("bottleneck.delay")?)? + 2);
        let control = axis(".tcp")?;
        let names = SENDERS.iter().find(|names| names.contains(&control)).ok_or("a sender without a name")?;
        let flows = axis(".count").and_then(number).unwrap_or(0);
        let (control, discipline) = (names[0].to_string(), discipline.to_string());
        Ok((Self { control, round_trip, flows, discipline }, is_linux))
    }
}

/// Runs of one side, by their place.
pub(super) type Sides = Vec<(Place, Side)>;

/// The runs on Linux and in the simulator, in the order of the runs.
pub(super) fn sides(runs: impl IntoIterator<Item = RunRecord>, quantities: &[Quantity]) -> Result<[Sides; 2], String> {
    let mut sides = [Sides::new(), Sides::new()];
    for run in runs {
        let (place, is_linux) = Place::of(&run.summary)?;
        let side = &mut sides[usize::from(!is_linux)];
        let at = side.iter().position(|(other, _)| *other == place).unwrap_or_else(|| {
            side.push((place, Side::new()));
            side.len() - 1
        });
        add(&mut side[at].1, quantities, &run);
    }
    Ok(sides)
}

/// The cells that have runs on both sides.
pub(super) fn cells(linux: &Sides, ours: &Sides) -> Vec<Cell> {
    let cell = |(place, linux): &(Place, Side)| {
        let (_, ours) = ours.iter().find(|(other, _)| other == place)?;
        Some(Cell { place: place.clone(), linux: linux.clone(), ours: ours.clone() })
    };
    linux.iter().filter_map(cell).collect()
}
