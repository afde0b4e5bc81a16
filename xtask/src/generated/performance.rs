//! `cargo xtask performance`: docs/performance.md and its chart, from `forebay bench --scaling`.

use std::fmt::Write;
use std::time::Instant;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Cost;
use forebay_lab::bench::{DisciplineRow, MarkerRow};
use serde_json::Value;

use super::peers::{self, Peer};
use crate::base::program;

/// How often all of it is measured; the median counts.
const ROUNDS: usize = 3;
/// What the standard cases should reach, in packets per CPU second.
const GOALS: [(&str, f64); 4] = [("raqm-1-n40", 8e6), ("raqm-1-n400", 6e6), ("1g-n1000", 6e6), ("10g-n1000", 4e6)];
const PAGE: &str = "docs/performance.md";
const CHART: &str = "docs/pictures/scaling.svg";
/// Many flows on a link of 1 Gb/s, and on one of 100 Mb/s.
const WIDE: &str = "1g-n";
const NARROW: &str = "100m-n";
/// From so many flows to so many the cost of a packet should at most double.
const SPAN: (f64, f64) = (10.0, 10_000.0);

/// What one simulation took.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    case: String,
    packets: f64,
    offered: f64,
    seconds: f64,
    setup: f64,
    mebibytes: f64,
}

impl Row {
    fn read(row: &Value) -> Option<Self> {
        Some(Self {
            case: row["case"].as_str()?.to_string(),
            packets: row["packets"].as_f64()?,
            offered: row["offered"].as_f64()?,
            seconds: row["cpu_seconds"].as_f64()?,
            setup: row["setup_seconds"].as_f64()?,
            mebibytes: row["peak_rss_bytes"].as_f64().unwrap_or(f64::NAN) / f64::from(1 << 20),
        })
    }

    /// How many flows a case of this family has.
    fn flows(&self, family: &str) -> Option<f64> {
        self.case.strip_prefix(family)?.parse().ok()
    }

    fn ns_per_packet(&self) -> f64 {
        self.seconds * 1e9 / self.packets
    }

    fn ns_per_offered(&self) -> f64 {
        self.seconds * 1e9 / self.offered
    }
}

/// What one round measured.
struct Round {
    rows: Vec<Row>,
    disciplines: Vec<DisciplineRow>,
    markers: Vec<MarkerRow>,
    ns2: Vec<Peer>,
    cores: Vec<Cores>,
}

/// What a batch took with one thread and with two, in seconds on the clock on the wall.
#[derive(Clone)]
struct Cores {
    what: &'static str,
    one: f64,
    two: f64,
}

/// The batches that are timed, as typed, without where results go and the number of threads.
const BATCHES: [(&str, &str); 2] = [
    ("sweep", "sweep examples/pi-design.toml --vary flows.ftp.count=20,40,60,80 --runs 60"),
    ("reproduce", "reproduce msvb --quick"),
];

/// Runs the bench and writes the page. Let nothing else run meanwhile.
pub(crate) fn run() -> Result<(), String> {
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| round()).collect::<Result<_, _>>()?;
    let round = median_of(&rounds)?;
    program::write(CHART, &chart(&round.rows))?;
    program::write(PAGE, &page(&round))?;
    println!("{PAGE}\n{CHART}");
    Ok(())
}

fn round() -> Result<Round, String> {
    let mut bench = program::cargo();
    bench.args(["run", "--release", "--quiet", "--", "bench", "--scaling", "--json"]);
    let (status, out) = program::output(bench)?;
    if !status.success() {
        return Err(format!("forebay bench: {status}"));
    }
    let bench: Value = serde_json::from_str(&out).map_err(|error| error.to_string())?;
    let all = |key: &str| bench[key].as_array().cloned().unwrap_or_default();
    Ok(Round {
        rows: all("sim").iter().filter_map(Row::read).collect(),
        disciplines: all("disciplines").into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect(),
        markers: all("markers").into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect(),
        ns2: peers::ns2()?,
        cores: BATCHES.iter().map(|(what, words)| both(what, words)).collect::<Result<_, _>>()?,
    })
}

/// A batch with one thread and with two.
fn both(what: &'static str, words: &str) -> Result<Cores, String> {
    let timed = |threads: &str| {
        let place = program::root().join("target/performance");
        let mut batch = program::cargo();
        batch.args(["run", "--release", "--quiet", "--"]).args(words.split(' ')).args(["--quiet", "--jobs", threads]);
        batch.arg("-o").arg(&place);
        // What is there already would not be run again.
        let _ = std::fs::remove_dir_all(&place);
        let begin = Instant::now();
        let (status, _) = program::output(batch)?;
        let seconds = begin.elapsed().as_secs_f64();
        let _ = std::fs::remove_dir_all(&place);
        if status.success() { Ok(seconds) } else { Err(format!("forebay {words}: {status}")) }
    };
    Ok(Cores { what, one: timed("1")?, two: timed("2")? })
}

/// Of each figure the median, by time.
fn median_of(rounds: &[Round]) -> Result<Round, String> {
    let first = rounds.first().ok_or("nothing was measured")?;
    let row = |i: usize| middle(rounds.iter().map(|round| round.rows[i].clone()), |row| row.seconds);
    let discipline =
        |i: usize| middle(rounds.iter().map(|round| round.disciplines[i].clone()), |row| row.ns_per_packet);
    let marker = |i: usize| middle(rounds.iter().map(|round| round.markers[i].clone()), |row| row.ns_per_packet);
    let cores = |i: usize| middle(rounds.iter().map(|round| round.cores[i].clone()), |cores| cores.one / cores.two);
    let peer = |i: usize| middle(rounds.iter().map(|round| round.ns2[i].clone()), |peer| peer.packets_per_second);
    Ok(Round {
        rows: (0..first.rows.len()).filter_map(row).collect(),
        disciplines: (0..first.disciplines.len()).filter_map(discipline).collect(),
        markers: (0..first.markers.len()).filter_map(marker).collect(),
        ns2: (0..first.ns2.len()).filter_map(peer).collect(),
        cores: (0..first.cores.len()).filter_map(cores).collect(),
    })
}

fn middle<T>(all: impl Iterator<Item = T>, by: impl Fn(&T) -> f64) -> Option<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_by(|a, b| by(a).total_cmp(&by(b)));
    let at = all.len() / 2;
    all.into_iter().nth(at)
}

// Writing to a string cannot fail.
fn page(round: &Round) -> String {
    let mut out = String::from(HEAD);
    for row in &round.rows {
        let goal = GOALS.iter().find(|(case, _)| *case == row.case);
        let _ = writeln!(
            out,
            "| {} | {:.0} | {:.3} | {:.2} | {} | {:.0} | {} | {:.3} | {:.1} |",
            row.case,
            row.packets,
            row.seconds,
            row.packets / row.seconds * 1e-6,
            goal.map_or("-".to_string(), |(_, goal)| format!("{:.0}", goal * 1e-6)),
            row.ns_per_packet(),
            // The cases of RAQM have a warm-up, in which what is offered does not count.
            match row.flows(WIDE).or(row.flows(NARROW)) {
                None => "-".to_string(),
                Some(_) => format!("{:.0}", row.ns_per_offered()),
            },
            row.setup,
            row.mebibytes
        );
    }
    out.push_str(CHART_AND_CASES);
    out.push_str(&growth(&round.rows));
    out.push_str(BOUNDS);
    if !round.ns2.is_empty() {
        out.push_str(NS2);
    }
    for peer in &round.ns2 {
        let Some(row) = round.rows.iter().find(|row| row.case == peer.case) else { continue };
        let (ours, theirs) = (row.packets / row.seconds, peer.packets_per_second);
        let _ = writeln!(out, "| {} | {:.2} | {:.2} | {:.1} |", peer.case, ours * 1e-6, theirs * 1e-6, ours / theirs);
    }
    out.push_str(ELSEWHERE);
    for (name, figures) in peers::ELSEWHERE {
        let cell = |(case, figure): (&(&str, f64), Option<f64>)| {
            let row = round.rows.iter().find(|row| row.case == case.0);
            let both = figure.zip(row).map(|(figure, row)| (figure, row.packets / row.seconds / figure));
            both.map_or("-".to_string(), |(figure, ratio)| format!("{:.3}, {ratio:.0} x", figure * 1e-6))
        };
        let cells: Vec<String> = GOALS.iter().zip(figures).map(cell).collect();
        let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
    }
    out.push_str(&cores(&round.cores));
    out.push_str(DISCIPLINES);
    for DisciplineRow { name, ns_per_packet, loss_ratio, mark_ratio } in &round.disciplines {
        let [loss, mark] = [loss_ratio, mark_ratio].map(|ratio| 100.0 * ratio);
        let goal = ENTRIES.iter().find(|entry| entry.name == name).map_or(Cost::Light, |entry| entry.cost).goal_ns();
        let _ = writeln!(out, "| `{name}` | {ns_per_packet:.1} | {goal} | {loss:.1} | {mark:.1} |");
    }
    out.push_str(MARKERS);
    for MarkerRow { name, ns_per_packet, loss_ratio, mark_ratio, out_ratio } in &round.markers {
        let [loss, mark, outside] = [loss_ratio, mark_ratio, out_ratio].map(|ratio| 100.0 * ratio);
        let _ = writeln!(out, "| `{name}` | {ns_per_packet:.1} | {loss:.1} | {mark:.1} | {outside:.1} |");
    }
    out
}

/// A line of the chart: whose rows, which cost, and how it is called and drawn.
struct Curve {
    family: &'static str,
    ns: fn(&Row) -> f64,
    name: &'static str,
    colour: &'static str,
}

const CURVES: [Curve; 3] = [
    Curve { family: WIDE, ns: Row::ns_per_packet, name: "1 Gb/s, served", colour: "#1f5f8b" },
    Curve { family: NARROW, ns: Row::ns_per_packet, name: "100 Mb/s, served", colour: "#b3541e" },
    Curve { family: NARROW, ns: Row::ns_per_offered, name: "100 Mb/s, offered", colour: "#3c7a3c" },
];

impl Curve {
    /// Flows and nanoseconds.
    fn points(&self, rows: &[Row]) -> Vec<(f64, f64)> {
        let mut points: Vec<_> =
            rows.iter().filter_map(|row| Some((row.flows(self.family)?, (self.ns)(row)))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// How much dearer a packet is at the upper end of the span than at its lower end.
    fn growth(&self, rows: &[Row]) -> Option<f64> {
        let points = self.points(rows);
        let at = |flows: f64| points.iter().find(|(n, _)| *n == flows).map(|(_, ns)| *ns);
        Some(at(SPAN.1)? / at(SPAN.0)?)
    }
}

/// Nanoseconds a packet against the number of flows, the latter by powers of ten.
fn chart(rows: &[Row]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 300.0;
    const LEFT: f64 = 56.0;
    const RIGHT: f64 = 160.0;
    const BOTTOM: f64 = 256.0;
    const TOP: f64 = 20.0;
    let points: Vec<(f64, f64)> = CURVES.iter().flat_map(|curve| curve.points(rows)).collect();
    let most = points.iter().map(|(_, ns)| *ns).fold(1.0, f64::max);
    let flows = points.iter().map(|(flows, _)| *flows);
    let (first, last) = (flows.clone().fold(f64::MAX, f64::min), flows.fold(0.0, f64::max));
    let x = |flows: f64| LEFT + (flows / first).log10() / (last / first).log10().max(1.0) * (WIDTH - LEFT - RIGHT);
    // By doublings: equal steps are equal factors.
    let floor = 32.0_f64;
    let y = |ns: f64| BOTTOM - (ns / floor).log2() / (most / floor).log2().max(1.0) * (BOTTOM - TOP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut tick = floor;
    while tick <= most {
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {0:.1}H{1}\" stroke=\"#ddd\"/><text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{tick}</text>",
            y(tick),
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(tick) + 4.0
        );
        tick *= 2.0;
    }
    for (flows, _) in CURVES[0].points(rows) {
        let _ =
            writeln!(out, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{flows}</text>", x(flows), BOTTOM + 18.0);
    }
    for curve in &CURVES {
        let points = curve.points(rows);
        let path: Vec<String> = points.iter().map(|(n, ns)| format!("{:.1} {:.1}", x(*n), y(*ns))).collect();
        let Curve { name, colour, .. } = curve;
        let _ = writeln!(out, "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>", path.join("L"));
        if let Some((n, ns)) = points.last() {
            let (x, y) = (x(*n) + 8.0, y(*ns) + 4.0);
            let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{name}</text>");
        }
    }
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"12\">ns of CPU</text>");
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">flows</text>\n</svg>", HEIGHT - 6.0);
    out
}

/// What the number of flows costs, against the goal.
fn growth(rows: &[Row]) -> String {
    let mut out = String::from(GROWTH);
    for curve in &CURVES {
        let Some(factor) = curve.growth(rows) else { continue };
        let _ = writeln!(out, "| {} | {factor:.2} |", curve.name);
    }
    out
}

/// What two cores give.
fn cores(all: &[Cores]) -> String {
    let mut out = String::from(CORES);
    for Cores { what, one, two } in all {
        let _ = writeln!(out, "| `{what}` | {one:.2} | {two:.2} | {:.2} | 1.8 |", one / two);
    }
    out.push_str(BATCH_MEMORY);
    out
}

const HEAD: &str = "# Performance

Written by `cargo xtask performance` from `forebay bench --scaling` on the machine at hand, the median of three rounds;
do not edit.

Drop-tail, NewReno, one simulation in a process of its own, set-up included. *Served*: packets that the bottleneck
sent. *Offered*: those that came to it.

| case | packets served | CPU s | M served per CPU s | goal | ns per packet served | ns per packet offered | set-up s | memory MiB |
|---|---|---|---|---|---|---|---|---|
";

const CHART_AND_CASES: &str = "
Memory should be at most 2 KB a flow beside the packets in flight, set-up of 100,000 flows under 0.5 s: see
`1g-n100000`, of whose memory that of `1g-n10` is the program.

![Cost of a packet against the number of flows](pictures/scaling.svg)

The cases `1g-n` have 1 Gb/s, 1500-byte packets, a base round trip of 44 ms, a buffer of 3500 packets and 10 s; the
cases `100m-n` 100 Mb/s, a buffer of 350 packets and 20 s.
";

const GROWTH: &str = "
From 10 to 10,000 flows the cost of a packet should at most double: of a packet served, on the link of `1g-n1000`, for
which the standard cases and the first figure for 10,000 flows were laid down. It grows by:

| cost | factor |
|---|---|
";

const BOUNDS: &str = "
On a link of 100 Mb/s, which this page measured at first, the goal is missed: a packet served costs more than twice as
much. With 10,000 flows each has a window below one packet there; 43 % of what they send is dropped, and a dropped packet costs as much to bring to the bottleneck
as another. By the processor's counters a packet offered takes as many instructions as with 10 flows, but four wrongly
predicted branches in place of one, and the flows' 3.8 MB are not in its second cache. Tried without gain: loading the
next flow's state one event ahead. With 100,000 flows each sends a few packets in all, and their state is in no cache.

What bounds it, by profile (`perf record -e cpu-clock`, `raqm-1-n40`): the event loop with the agenda, pipes and
acknowledgements inlined into it 44 %, sending 23 %, answers ahead of time 10 %, the bottleneck's queue 10 %, the
receiver 7 %, the meter's histogram 4 %. A packet takes three events and some 100 ns
of dependent loads and of branches that depend on the event: instructions wait for each other, not for memory. Tried
without gain: a tree of fixed size for the agenda, flows split into hot and cold halves, cache-line alignment, a
reciprocal for the round trip's division. `raqm-1-n400` brings 22 % more packets to the bottleneck than it sends (a
sixth is dropped), hence its lower figure.
";

const NS2: &str = "
## Beside ns-2

ns-2.35 on the same cases in the same minutes (`validation/ns2/case.tcl -loop 1`): its event loop alone on the clock on
the wall, without set-up and without samples; ours with set-up.

| case | ours, M packets/s | ns-2, M packets/s | ratio |
|---|---|---|---|
";

const ELSEWHERE: &str = "
htsim and ns-3 were not run in the same minutes. Their figures are of another machine (two virtual Xeon cores of 2.6 GHz,
where ns-2's loop made 0.88, 0.79, 0.74 and 0.48 M), in M packets per CPU second, with how many times as many ours are here:

| simulator | raqm-1-n40 | raqm-1-n400 | 1g-n1000 | 10g-n1000 |
|---|---|---|---|---|
";

const CORES: &str = "
## Batches

Seconds on the clock on the wall with one thread and with two, report and tables included; the goal is 1.8 times.

| batch | one | two | times | goal |
|---|---|---|---|---|
";

const BATCH_MEMORY: &str = "
Of a finished run memory holds its summary only, however long the run and however many its flows: 40 MB and some 12 KB a
run (peaks of 40 MB with 50 runs of `examples/pi-design.toml`, 77 MB with 3200). A batch has at most 200,000.
";

const DISCIPLINES: &str = "
## Disciplines

What one enqueue and its dequeue cost with 1024 flows, in ns, and the share of the load that was dropped and marked.
Drop-tail's row is the packet memory and the load generator; what a rule adds is the difference. The load keeps 50
packets waiting, with up to twice what the link can take: a rule that aims at less drops much of it, and each such
decision is a branch that no processor can predict. The goal is 20 ns for a law or a RED-like AQM, 40 ns for CoDel,
for FQ and for what hashes every flow as it does (SFB). Those that divide a link between a few queues, each under RED or
the like, are held to 20 ns too. A machine that is shared has faster and slower hours, by a tenth: compare rows of one
page.

| discipline | ns | goal | dropped, % | marked, % |
|---|---|---|---|---|
";

const MARKERS: &str = "
## Markers

The threshold marker in front of drop-tail under the same load, which it signals with probability 1/3: what it adds is
the difference from drop-tail's row. The token bucket alone, for it has no queue: one colour, at a rate of which 60 %
are within the profile.

| marker | ns | dropped, % | marked, % | OUT, % |
|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_case_and_the_chart_every_scaling_case() {
        let row = |case: &str, seconds| {
            let case = case.to_string();
            Row { case, packets: 1e6, offered: 2e6, seconds, setup: 0.002, mebibytes: 5.0 }
        };
        let round = |factor: f64| Round {
            rows: [("raqm-1-n40", 0.1), ("1g-n10", 0.1), ("1g-n10000", 0.4), ("100m-n10", 0.1)]
                .map(|(case, seconds)| row(case, factor * seconds))
                .to_vec(),
            disciplines: vec![DisciplineRow {
                name: "red".to_string(),
                ns_per_packet: 17.25 * factor,
                loss_ratio: 0.25,
                mark_ratio: 0.125,
            }],
            markers: vec![MarkerRow {
                name: "token-bucket".to_string(),
                ns_per_packet: 1.25 * factor,
                loss_ratio: 0.0,
                mark_ratio: 0.0,
                out_ratio: 0.4,
            }],
            ns2: vec![Peer { case: "raqm-1-n40", packets_per_second: 8e5 / factor }],
            cores: vec![Cores { what: "sweep", one: 9.5 * factor, two: 5.0 }],
        };
        let round = median_of(&[round(1.0), round(3.0), round(0.5)]).unwrap();
        let page = page(&round);
        assert!(page.contains("| raqm-1-n40 | 1000000 | 0.100 | 10.00 | 8 | 100 | - | 0.002 | 5.0 |"), "{page}");
        assert!(page.contains("| raqm-1-n40 | 10.00 | 0.80 | 12.5 |"), "{page}");
        assert!(page.contains("| csg-htsim | 1.040, 10 x | - | - | - |"), "{page}");
        assert!(page.contains("| `sweep` | 9.50 | 5.00 | 1.90 | 1.8 |"), "{page}");
        assert!(page.contains("| `red` | 17.2 | 20 | 25.0 | 12.5 |"), "{page}");
        assert!(page.contains("| `token-bucket` | 1.2 | 0.0 | 0.0 | 40.0 |"), "{page}");
        let chart = chart(&round.rows);
        assert!(chart.contains(">10</text>") && chart.contains(">10000</text>"), "{chart}");
        assert_eq!(chart.matches("stroke-width").count(), 3);
        assert!(page.contains("| 1 Gb/s, served | 4.00 |") && !page.contains("100 Mb/s, served |"), "{page}");
    }
}
