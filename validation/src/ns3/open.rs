//! Open loop: our discipline and ns-3's receive the same packets at the same times.
//!
//! The sources do not react to drops, so the two can be compared drop by drop. `validation/ns3/open.py` runs ns-3.

use std::fmt;

use forebay_aqm::Spec;
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};

use crate::figures::{self, Runs};

/// The columns of the file with ns-3's results.
pub(super) const COLUMNS: &str = "aqm,arrivals,limit,seed,offered,dropped,mean_queue,gaps";
pub(super) const FILE: &str = "validation/ns3/open.csv";
/// Seeds of PIE, which drops at random.
const SEEDS: u64 = 10;

const END: u64 = 10_000_000_000;
const BYTES: u32 = 500;
const RATE: Rate = Rate(10_000_000);
/// Transmission time of a packet: 500 bytes at 10 Mb/s.
const SERVICE: Span = Span::from_micros(400);

/// One comparison: discipline, arrivals and buffer, as arguments of `open.py`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    aqm: &'static str,
    arrivals: Arrivals,
    limit: u32,
}

/// Arrival times, as in `open.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrivals {
    /// One flow at 1.2 times the rate of the link.
    Steady,
    /// One flow at twice the rate of the link.
    Double,
    /// One flow that sends twice a second, for 200 ms at twice the rate of the link.
    Bursts,
    /// Ten flows, together 1.46 times the rate of the link.
    Flows,
    /// 40 flows, together 1.2 times the rate of the link.
    Many,
}

// ns-3 drops with MinBytes or more behind the packet, ours with more than `mtu`.
const CODEL: &str = "codel ecn=off mtu=1499b inv_sqrt=newton";
const FQ_CODEL: &str = "fq_codel ecn=off quantum=1500b mtu=1499b inv_sqrt=newton hash=exact rules=rfc8290";
const PIE: &str = "pie ecn=off max_burst=15ms min_backlog=2p cap=on";
const PIE_0: &str = "pie ecn=off max_burst=0s min_backlog=2p cap=on";
/// A buffer that is never full, packets.
const WIDE: u32 = 100_000;

pub(super) const CASES: [Case; 13] = [
    case("CoDel", Arrivals::Steady, WIDE),
    case("CoDel", Arrivals::Double, WIDE),
    case("CoDel", Arrivals::Bursts, WIDE),
    case("CoDel", Arrivals::Steady, 100),
    case("FqCoDel", Arrivals::Bursts, WIDE),
    case("FqCoDel", Arrivals::Flows, WIDE),
    case("FqCoDel", Arrivals::Flows, 100),
    case("FqCoDel", Arrivals::Many, 1000),
    case("FqCoDel-1", Arrivals::Many, 1000),
    case("PIE", Arrivals::Steady, WIDE),
    case("PIE", Arrivals::Bursts, WIDE),
    case("PIE-0", Arrivals::Steady, WIDE),
    case("PIE-0", Arrivals::Bursts, WIDE),
];

const fn case(aqm: &'static str, arrivals: Arrivals, limit: u32) -> Case {
    Case { aqm, arrivals, limit }
}

/// The result of a run: numbers of packets offered and dropped, and the mean queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) offered: usize,
    pub(super) drops: usize,
    /// The sequence numbers of the dropped packets, in the order of the drops; of ns-3 only for deterministic
    /// disciplines.
    pub(super) dropped: Vec<i64>,
    pub(super) mean_queue: f64,
}

/// The results of a comparison in both simulators, by seed.
pub(super) struct Compared {
    pub(super) case: Case,
    pub(super) ours: Vec<Outcome>,
    pub(super) ns3: Vec<Outcome>,
}

impl Arrivals {
    /// The arrivals in order: time in ns, and flow.
    fn all(self) -> Vec<(u64, u32)> {
        let every = |gap: u64, flow: u32, start: u64| (start + gap..END).step_by(gap as usize).map(move |t| (t, flow));
        let mut all: Vec<(u64, u32)> = match self {
            Self::Steady => every(333_333, 0, 0).collect(),
            Self::Double => every(200_003, 0, 0).collect(),
            Self::Bursts => {
                (0..END).step_by(500_000_000).flat_map(|start| every(200_003, 0, start).take(1000)).collect()
            }
            Self::Flows => (0..10).flat_map(|i| every(800_003 * (u64::from(i) + 1) + 7 * u64::from(i), i, 0)).collect(),
            Self::Many => (0..40).flat_map(|i| every(13_333_333, i, 333_331 * u64::from(i))).collect(),
        };
        all.sort_unstable();
        all
    }
}

/// The arrivals as an argument of `open.py`.
impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl Case {
    /// Our discipline with the same parameters.
    fn spec(&self) -> &'static str {
        match self.aqm {
            "CoDel" => CODEL,
            "PIE" => PIE,
            "PIE-0" => PIE_0,
            _ => FQ_CODEL,
        }
    }

    /// The seeds of the runs in ns-3 and here: one for a deterministic discipline.
    pub(super) fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        1..=if self.aqm.starts_with("PIE") { SEEDS } else { 1 }
    }

    /// The first columns of the file with ns-3's results, which name this comparison and seed.
    fn columns(&self, seed: u64) -> String {
        format!("{},{},{},{seed}", self.aqm, self.arrivals, self.limit)
    }

    /// The arguments of `open.py` for this comparison.
    pub(super) fn arguments(&self, seed: u64) -> Vec<String> {
        figures::arguments(&["--aqm", "--arrivals", "--limit", "--seed"], &self.columns(seed))
    }

    /// The results of both simulators: ours from a new run, ns-3's from the committed file with the content `text`.
    pub(super) fn compare(self, text: &str) -> Result<Compared, String> {
        let spec = Spec::parse(self.spec()).map_err(|e| format!("{e:?}"))?;
        let arrivals = self.arrivals.all();
        let ours = self.seeds().map(|seed| serve(&spec, Limit::Packets(self.limit), &arrivals, seed)).collect();
        let ns3 = self.seeds().map(|seed| self.ns3(text, seed)).collect::<Result<_, _>>()?;
        Ok(Compared { case: self, ours, ns3 })
    }

    fn ns3(&self, text: &str, seed: u64) -> Result<Outcome, String> {
        let columns = format!("{},", self.columns(seed));
        let line = text.lines().find_map(|line| line.strip_prefix(&columns)).ok_or(format!("{FILE}: no {columns}"))?;
        read(line).ok_or_else(|| format!("{FILE}: not an outcome: {columns}"))
    }
}

/// The comparison's name, such as `CoDel steady 100`: discipline, arrivals, buffer.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {} {}", self.aqm, self.arrivals, self.limit)
    }
}

impl Compared {
    /// The results of one simulator as [`Runs`], for means.
    pub(super) fn runs(side: &[Outcome]) -> Runs {
        let ratio = |run: &Outcome| run.drops as f64 / run.offered as f64;
        Runs(side.iter().map(|run| [run.mean_queue, ratio(run), 0.0, 0.0, 0.0]).collect())
    }

    /// The largest difference between the packet numbers of the k-th drops. `None` if the numbers of drops differ or
    /// the discipline is random.
    pub(super) fn apart(&self) -> Option<i64> {
        let ([ours], [ns3]) = (self.ours.as_slice(), self.ns3.as_slice()) else { return None };
        let sorted = |run: &Outcome| {
            let mut numbers = run.dropped.clone();
            numbers.sort_unstable();
            numbers
        };
        let most = sorted(ours).iter().zip(&sorted(ns3)).map(|(a, b)| (a - b).abs()).max()?;
        (ours.drops == ns3.drops).then_some(most)
    }
}

/// Reads a result from the columns after those that name the comparison.
fn read(line: &str) -> Option<Outcome> {
    let mut fields = line.split(',');
    let offered = fields.next()?.parse().ok()?;
    let drops = fields.next()?.parse().ok()?;
    let mean_queue = fields.next()?.parse().ok()?;
    let gaps = fields.next()?;
    let mut number = 0;
    let mut dropped = Vec::new();
    for gap in gaps.split_whitespace().filter(|gap| *gap != "-") {
        number += gap.parse::<i64>().ok()?;
        dropped.push(number);
    }
    (gaps == "-" || dropped.len() == drops).then_some(Outcome { offered, drops, dropped, mean_queue })
}

/// A queue under `spec`, and a link that sends the next packet as soon as the last has left.
fn serve(spec: &Spec, limit: Limit, arrivals: &[(u64, u32)], seed: u64) -> Outcome {
    let link = Link { rate: RATE, limit, mean_packet: Bytes(u64::from(BYTES)) };
    let mut queue = spec.queue(link, Rng::stream(seed, "open"));
    let mut arrivals = arrivals.iter().peekable();
    let mut out = Outcome::default();
    let (mut free, mut last, mut area) = (None, Instant::ZERO, 0.0);
    let end = Instant::from_nanos(END);
    loop {
        let arrival = arrivals.peek().map_or(end, |(t, _)| Instant::from_nanos(*t));
        let tick = queue.next_tick().unwrap_or(end);
        let now = arrival.min(tick).min(free.unwrap_or(end)).min(end);
        area += f64::from(queue.port.pkts()) * now.since(last).secs();
        last = now;
        if now == end {
            out.drops = out.dropped.len();
            out.mean_queue = area / end.since(Instant::ZERO).secs();
            return out;
        }
        if free == Some(now) {
            free = queue.depart(now).map(|_| now + SERVICE);
        } else if tick == now {
            queue.tick(now);
        } else if let Some((_, flow)) = arrivals.next() {
            queue.arrive(Packet { slot: out.offered as u32, flow: *flow, len: BYTES, ..Packet::default() }, now);
            out.offered += 1;
            if free.is_none() {
                free = queue.depart(now).map(|_| now + SERVICE);
            }
        }
        out.dropped.extend(queue.port.discarded().drain(..).map(|(packet, _)| i64::from(packet.slot)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_takes_400_us_for_each_packet() {
        let spec = Spec::parse("droptail").unwrap();
        // Three at once for two places: one is sent, two wait, the fourth is dropped.
        let out = serve(&spec, Limit::Packets(2), &[(10, 0), (11, 0), (12, 0), (13, 0), (900_000, 0)], 1);
        assert_eq!((out.offered, out.drops, out.dropped), (5, 1, vec![3]));
        // From 11 and from 12 until 400 010 and 800 010 ns, and the last from 900 000 until 1 200 010.
        let waited = (399_999 + 799_998 + 300_010) as f64 / END as f64;
        assert!((out.mean_queue - waited).abs() < 1e-12, "{}", out.mean_queue);
    }

    #[test]
    fn arrivals_are_in_order_and_at_their_rates() {
        use Arrivals::{Bursts, Double, Flows, Many, Steady};
        for (arrivals, load) in [(Steady, 1.2), (Double, 2.0), (Bursts, 0.8), (Flows, 1.464), (Many, 1.2)] {
            let all = arrivals.all();
            assert!(all.is_sorted() && all.last().unwrap().0 < END);
            assert!((all.len() as f64 * 400e-6 / 10.0 - load).abs() < 0.002, "{arrivals}: {}", all.len());
        }
    }

    #[test]
    fn drops_are_compared_in_order_of_packet_number() {
        let read_as = |line| read(line).map(|run| (run.offered, run.drops, run.dropped, run.mean_queue));
        assert_eq!(read_as("9,3,1.5,4 -2 5"), Some((9, 3, vec![4, 2, 7], 1.5)));
        assert_eq!(read_as("9,3,1.5,-"), Some((9, 3, vec![], 1.5)));
        assert_eq!((read_as("9,3,1.5,4 -2"), read_as("9,3,1.5")), (None, None), "one is missing");
        for (ours, ns3, want) in [
            (vec!["9,3,0,5 -4 8"], vec!["9,3,0,1 4 2"], Some(2)),
            (vec!["9,2,0,5 -4"], vec!["9,3,0,1 4 2"], None),
            (vec!["9,1,0,5"; 2], vec!["9,1,0,5"; 2], None),
        ] {
            let [ours, ns3] = [ours, ns3].map(|side| side.into_iter().filter_map(read).collect());
            assert_eq!(Compared { case: CASES[0], ours, ns3 }.apart(), want);
        }
    }
}
