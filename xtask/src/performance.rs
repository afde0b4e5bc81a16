//! `cargo xtask performance`: docs/performance.md and its chart, from `forebay bench --scaling`.

use std::fmt::Write;

use serde_json::Value;

use crate::peers::{self, Peer};
use crate::program;

/// How often all of it is measured; the median counts.
const ROUNDS: usize = 3;
/// What the standard cases should reach, in packets per CPU second.
const GOALS: [(&str, f64); 4] = [("raqm-1-n40", 8e6), ("raqm-1-n400", 6e6), ("1g-n1000", 6e6), ("10g-n1000", 4e6)];
const PAGE: &str = "docs/performance.md";
const CHART: &str = "docs/pictures/scaling.svg";
const SCALING: &str = "scaling-n";

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

    /// How many flows a scaling case has.
    fn flows(&self) -> Option<f64> {
        self.case.strip_prefix(SCALING)?.parse().ok()
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
    /// Name and nanoseconds.
    disciplines: Vec<(String, f64)>,
    ns2: Vec<Peer>,
}

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
    let discipline = |row: &Value| Some((row["name"].as_str()?.to_string(), row["ns_per_packet"].as_f64()?));
    Ok(Round {
        rows: all("sim").iter().filter_map(Row::read).collect(),
        disciplines: all("disciplines").iter().filter_map(discipline).collect(),
        ns2: peers::ns2()?,
    })
}

/// Of each figure the median, by time.
fn median_of(rounds: &[Round]) -> Result<Round, String> {
    let first = rounds.first().ok_or("nothing was measured")?;
    let row = |i: usize| middle(rounds.iter().map(|round| round.rows[i].clone()), |row| row.seconds);
    let discipline = |i: usize| middle(rounds.iter().map(|round| round.disciplines[i].clone()), |(_, ns)| *ns);
    let peer = |i: usize| middle(rounds.iter().map(|round| round.ns2[i].clone()), |peer| peer.packets_per_second);
    Ok(Round {
        rows: (0..first.rows.len()).filter_map(row).collect(),
        disciplines: (0..first.disciplines.len()).filter_map(discipline).collect(),
        ns2: (0..first.ns2.len()).filter_map(peer).collect(),
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
            // The standard cases have a warm-up, in which what is offered does not count.
            row.flows().map_or("-".to_string(), |_| format!("{:.0}", row.ns_per_offered())),
            row.setup,
            row.mebibytes
        );
    }
    out.push_str(MIDDLE);
    if !round.ns2.is_empty() {
        out.push_str(NS2);
    }
    for peer in &round.ns2 {
        let Some(row) = round.rows.iter().find(|row| row.case == peer.case) else { continue };
        let (ours, theirs) = (row.packets / row.seconds, peer.packets_per_second);
        let _ = writeln!(out, "| {} | {:.2} | {:.2} | {:.1} |", peer.case, ours * 1e-6, theirs * 1e-6, ours / theirs);
    }
    out.push_str(DISCIPLINES);
    for (name, ns) in &round.disciplines {
        let _ = writeln!(out, "| `{name}` | {ns:.1} |");
    }
    out
}

/// Nanoseconds a packet against the number of flows, the latter by powers of ten.
fn chart(rows: &[Row]) -> String {
    const WIDTH: f64 = 640.0;
    const HEIGHT: f64 = 300.0;
    const LEFT: f64 = 56.0;
    const BOTTOM: f64 = 256.0;
    const TOP: f64 = 20.0;
    let points: Vec<(f64, &Row)> = rows.iter().filter_map(|row| Some((row.flows()?.log10(), row))).collect();
    let most = points.iter().map(|(_, row)| row.ns_per_packet()).fold(1.0, f64::max);
    let (first, last) = (points.first().map_or(1.0, |p| p.0), points.last().map_or(2.0, |p| p.0));
    let x = |log: f64| LEFT + (log - first) / (last - first).max(1.0) * (WIDTH - LEFT - 150.0);
    // By doublings: equal steps are equal factors.
    let floor = 64.0_f64;
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
            WIDTH - 150.0,
            LEFT - 6.0,
            y(tick) + 4.0
        );
        tick *= 2.0;
    }
    for (log, row) in &points {
        let flows = row.flows().unwrap_or_default();
        let _ =
            writeln!(out, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{flows}</text>", x(*log), BOTTOM + 18.0);
    }
    type Curve = (&'static str, &'static str, fn(&Row) -> f64);
    let curves: [Curve; 2] = [("served", "#1f5f8b", Row::ns_per_packet), ("offered", "#b3541e", Row::ns_per_offered)];
    for (name, colour, ns) in curves {
        let path: Vec<String> = points.iter().map(|(log, row)| format!("{:.1} {:.1}", x(*log), y(ns(row)))).collect();
        let _ = writeln!(out, "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>", path.join("L"));
        if let Some((log, row)) = points.last() {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">per packet {name}</text>",
                x(*log) + 8.0,
                y(ns(row)) + 4.0
            );
        }
    }
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"12\">ns of CPU</text>");
    let middle = (LEFT + WIDTH - 150.0) / 2.0;
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">flows</text>\n</svg>", HEIGHT - 6.0);
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

const MIDDLE: &str = "
![Cost of a packet against the number of flows](pictures/scaling.svg)

The cases `scaling-n` have 100 Mb/s, 1500-byte packets, a base round trip of 44 ms, a buffer of 350 packets and 20 s.
With thousands of flows on such a link a third and more of the packets is dropped, and a dropped packet costs as much
to bring to the bottleneck as another. The goal, cost at most doubled from 10 to 10,000 flows, is therefore held
against what is *offered*, the packets that the engine has handled; per packet served it would count the losses that
TCP causes, too. With 100,000 flows each sends a few packets in all, and their state is in no cache.

What bounds it, by profile (`perf record -e cpu-clock`, `raqm-1-n40`): the event loop with the agenda, pipes and
acknowledgements inlined into it 44 %, sending 21 %, answers ahead of time 11 %, the bottleneck's queue 10 %, the
receiver 7 %, the meter's histogram 3 %; no instruction has more than 3 %. A packet takes three events and some 120 ns
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

const DISCIPLINES: &str = "
## Disciplines

What one enqueue and its dequeue cost, in ns. Drop-tail's row is the packet memory and the load generator; what a rule
adds is the difference.

| discipline | ns |
|---|---|
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
            rows: [("raqm-1-n40", 0.1), ("scaling-n10", 0.1), ("scaling-n1000", 0.4)]
                .map(|(case, seconds)| row(case, factor * seconds))
                .to_vec(),
            disciplines: vec![("red".to_string(), 17.25 * factor)],
            ns2: vec![Peer { case: "raqm-1-n40", packets_per_second: 8e5 / factor }],
        };
        let round = median_of(&[round(1.0), round(3.0), round(0.5)]).unwrap();
        let page = page(&round);
        assert!(page.contains("| raqm-1-n40 | 1000000 | 0.100 | 10.00 | 8 | 100 | - | 0.002 | 5.0 |"), "{page}");
        assert!(page.contains("| raqm-1-n40 | 10.00 | 0.80 | 12.5 |"), "{page}");
        assert!(page.contains("| `red` | 17.2 |") || page.contains("| `red` | 17.3 |"), "{page}");
        let chart = chart(&round.rows);
        assert!(chart.contains(">10</text>") && chart.contains(">1000</text>"), "{chart}");
        assert_eq!(chart.matches("stroke-width").count(), 2);
    }
}
