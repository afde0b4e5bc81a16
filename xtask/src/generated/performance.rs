//! `cargo xtask performance`: docs/performance.md and its chart, from `forebay bench --scaling`.

use std::time::Instant;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Cost;
use forebay_lab::bench::{DisciplineRow, MarkerRow, SimRow};
use forebay_lab::render::svg::{Panel, Svg, WIDTH, round_up};
use serde_json::{Value, json};

use super::peers::{self, Peer};
use crate::base::program;
use pages::page;

/// Number of runs of the benchmark; the page shows the medians.
const ROUNDS: usize = 3;
/// Goals of the standard scenarios of the benchmark, by name, in packets per CPU second.
const GOALS: [(&str, f64); 4] = [("raqm-1-n40", 8e6), ("raqm-1-n400", 6e6), ("1g-n1000", 6e6), ("10g-n1000", 4e6)];
const PAGE: &str = "docs/performance.md";
const CHART: &str = "docs/pictures/scaling.svg";
/// Begin of the names of scenarios with another congestion control than [`NEWRENO`], their end is its name.
const SENDER: &str = "sender-";
/// The scenario with which those of [`SENDER`] are compared.
const NEWRENO: &str = "raqm-1-n40";
/// Begin of the names of scenarios with many flows on a link of 1 Gb/s, and of 100 Mb/s; their end is the number.
const WIDE: &str = "1g-n";
const NARROW: &str = "100m-n";
/// Between these numbers of flows the CPU time per packet should at most double.
const SPAN: (f64, f64) = (10.0, 10_000.0);

/// Number of flows of a scenario whose name begins with `family`.
fn flows(row: &SimRow, family: &str) -> Option<f64> {
    row.case.strip_prefix(family)?.parse().ok()
}

fn ns_per_packet(row: &SimRow) -> f64 {
    row.cpu_seconds * 1e9 / row.packets as f64
}

fn ns_per_offered(row: &SimRow) -> f64 {
    row.cpu_seconds * 1e9 / row.offered as f64
}

/// Results of one run of the benchmark.
struct Round {
    rows: Vec<SimRow>,
    disciplines: Vec<DisciplineRow>,
    markers: Vec<MarkerRow>,
    ns2: Vec<Peer>,
    cores: Vec<Cores>,
    /// A run over Linux, without the built kernel none: packets, CPU seconds.
    linux: Vec<(f64, f64)>,
}

/// Duration of a batch with one thread and with two, in seconds.
#[derive(Clone)]
struct Cores {
    what: &'static str,
    one: f64,
    two: f64,
}

/// The batches that are timed: name and arguments, without output directory and number of threads.
const BATCHES: [(&str, &str); 2] = [
    ("sweep", "sweep examples/pi-design.toml --vary flows.ftp.count=20,40,60,80 --runs 60"),
    ("reproduce", "reproduce msvb --quick"),
];

/// Runs the benchmark and writes the page. Run nothing else meanwhile.
pub(crate) fn run() -> Result<(), String> {
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| round()).collect::<Result<_, _>>()?;
    let round = median_of(&rounds);
    program::write(CHART, &chart(&round.rows))?;
    program::write(PAGE, &page(&round)?)?;
    println!("{PAGE}\n{CHART}");
    Ok(())
}

fn round() -> Result<Round, String> {
    let bench = program::cargo(&["run", "--release", "--quiet", "--", "bench", "--scaling", "--json"]);
    let bench: Value = serde_json::from_str(&program::said(bench)?).map_err(|error| error.to_string())?;
    Ok(Round {
        rows: rows(&bench["sim"])?,
        disciplines: rows(&bench["disciplines"])?,
        markers: rows(&bench["markers"])?,
        ns2: peers::ns2()?,
        cores: BATCHES.iter().map(|(what, words)| both(what, words)).collect::<Result<_, _>>()?,
        linux: linux()?,
    })
}

/// Runs a scenario over Linux.
fn linux() -> Result<Vec<(f64, f64)>, String> {
    let place = program::scratch("linux")?;
    let mut run = program::cargo(&["run", "--release", "--quiet", "--", "run", "xtask/templates/linux.toml"]);
    run.args(["--on", "linux", "--runs", "1", "--jobs", "1", "--quiet", "--json", "-o"]).arg(&place);
    let out = run.output().map_err(|error| error.to_string())?;
    std::fs::remove_dir_all(&place).map_err(|error| error.to_string())?;
    // The exit code if something is missing, here the kernel.
    if out.status.code() == Some(4) {
        return Ok(Vec::new());
    }
    let document: Value = serde_json::from_slice(&out.stdout).map_err(|error| error.to_string())?;
    let of = |name: &str| document["runs"][0][name].as_f64().ok_or_else(|| format!("no {name} in {document}"));
    Ok(vec![(of("delivered_pkts")?, of("cpu_seconds")?)])
}

fn rows<T: serde::de::DeserializeOwned>(of: &Value) -> Result<Vec<T>, String> {
    serde_json::from_value(of.clone()).map_err(|error| error.to_string())
}

/// Times a batch with one thread and with two.
fn both(what: &'static str, words: &str) -> Result<Cores, String> {
    let timed = |threads: &str| {
        let place = program::root().join("target/performance");
        let mut batch = program::cargo(&["run", "--release", "--quiet", "--"]);
        batch.args(words.split(' ')).args(["--quiet", "--jobs", threads]);
        batch.arg("-o").arg(&place);
        // Results that exist would not be simulated again.
        let _ = std::fs::remove_dir_all(&place);
        let begin = Instant::now();
        program::said(batch)?;
        let seconds = begin.elapsed().as_secs_f64();
        let _ = std::fs::remove_dir_all(&place);
        Ok::<_, String>(seconds)
    };
    Ok(Cores { what, one: timed("1")?, two: timed("2")? })
}

/// The median over the rounds of each measured figure.
fn median_of(rounds: &[Round]) -> Round {
    fn middle<T: Clone>(rounds: &[Round], of: fn(&Round) -> &Vec<T>, by: fn(&T) -> f64) -> Vec<T> {
        let figure = |at: usize| {
            let mut all: Vec<&T> = rounds.iter().filter_map(|round| of(round).get(at)).collect();
            all.sort_by(|a, b| by(a).total_cmp(&by(b)));
            all.get(all.len() / 2).map(|row| (*row).clone())
        };
        (0..).map_while(figure).collect()
    }
    Round {
        rows: middle(rounds, |round| &round.rows, |row| row.cpu_seconds),
        disciplines: middle(rounds, |round| &round.disciplines, |row| row.ns_per_packet),
        markers: middle(rounds, |round| &round.markers, |row| row.ns_per_packet),
        ns2: middle(rounds, |round| &round.ns2, |peer| peer.packets_per_second),
        cores: middle(rounds, |round| &round.cores, |cores| cores.one / cores.two),
        linux: middle(rounds, |round| &round.linux, |linux| linux.1 / linux.0),
    }
}

fn page(round: &Round) -> Result<String, String> {
    let speed = |case: &str| {
        let row = round.rows.iter().find(|row| row.case == case)?;
        Some(row.packets as f64 / row.cpu_seconds)
    };
    let case = |row: &SimRow| {
        let goal = GOALS.iter().find(|(case, _)| *case == row.case).map(|(_, goal)| goal * 1e-6);
        // The cases of RAQM have a warm-up, in which offered packets are not counted.
        let offered = flows(row, WIDE).or(flows(row, NARROW)).map(|_| ns_per_offered(row));
        let rate = row.packets as f64 / row.cpu_seconds * 1e-6;
        let memory = row.peak_rss_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
        let (seconds, setup) = (row.cpu_seconds, row.setup_seconds);
        json!([row.case, row.packets, seconds, rate, goal, ns_per_packet(row), offered, setup, memory])
    };
    let ns2 = round.ns2.iter().filter_map(|peer| {
        let (ours, theirs) = (speed(peer.case)?, peer.packets_per_second);
        Some(json!([peer.case, ours * 1e-6, theirs * 1e-6, ours / theirs]))
    });
    let elsewhere = peers::ELSEWHERE.map(|(name, figures)| {
        let cell = |((case, _), figure): (&(&str, f64), Option<f64>)| Some((figure? * 1e-6, speed(case)? / figure?));
        json!([name, GOALS.iter().zip(figures).map(cell).collect::<Vec<_>>()])
    });
    let discipline = |row: &DisciplineRow| {
        let cost = ENTRIES.iter().find(|entry| entry.name == row.name).map_or(Cost::Light, |entry| entry.cost);
        json!([row.name, row.ns_per_packet, cost.goal_ns(), 100.0 * row.loss_ratio, 100.0 * row.mark_ratio])
    };
    let marker = |row: &MarkerRow| {
        let [loss, mark, outside] = [row.loss_ratio, row.mark_ratio, row.out_ratio].map(|ratio| 100.0 * ratio);
        json!([row.name, row.ns_per_packet, loss, mark, outside])
    };
    let growth = CURVES.iter().filter_map(|curve| Some(json!([curve.name, curve.growth(&round.rows)?])));
    let cores = round.cores.iter().map(|cores| json!([cores.what, cores.one, cores.two, cores.one / cores.two]));
    let newreno = round.rows.iter().find(|row| row.case == NEWRENO).map(ns_per_packet);
    let sender = |row: &SimRow| {
        let name = row.case.strip_prefix(SENDER)?;
        Some(json!([name, row.packets, ns_per_packet(row) / newreno?]))
    };
    let values = json!({
        "cases": round.rows.iter().filter(|row| !row.case.starts_with(SENDER)).map(case).collect::<Vec<_>>(),
        "senders": round.rows.iter().filter_map(sender).collect::<Vec<_>>(),
        "growth": growth.collect::<Vec<_>>(),
        "ns2": ns2.collect::<Vec<_>>(),
        "elsewhere": elsewhere,
        "cores": cores.collect::<Vec<_>>(),
        "linux": round.linux,
        "disciplines": round.disciplines.iter().map(discipline).collect::<Vec<_>>(),
        "markers": round.markers.iter().map(marker).collect::<Vec<_>>(),
    });
    page!("performance.md.jinja", values)
}

/// A line of the chart: its scenarios, the CPU time per packet in each, name and colour.
struct Curve {
    family: &'static str,
    ns: fn(&SimRow) -> f64,
    name: &'static str,
    /// Name and value of the colour.
    colour: (&'static str, &'static str),
}

const CURVES: [Curve; 3] = [
    Curve { family: WIDE, ns: ns_per_packet, name: "1 Gb/s, served", colour: ("blue", "#1f5f8b") },
    Curve { family: NARROW, ns: ns_per_packet, name: "100 Mb/s, served", colour: ("orange", "#b3541e") },
    Curve { family: NARROW, ns: ns_per_offered, name: "100 Mb/s, offered", colour: ("green", "#3c7a3c") },
];

impl Curve {
    /// For each scenario of the line: number of flows, and nanoseconds per packet.
    fn points(&self, rows: &[SimRow]) -> Vec<(f64, f64)> {
        let point = |row: &SimRow| Some((flows(row, self.family)?, (self.ns)(row)));
        let mut points: Vec<_> = rows.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// CPU time per packet with 10,000 flows divided by that with 10 ([`SPAN`]).
    fn growth(&self, rows: &[SimRow]) -> Option<f64> {
        let points = self.points(rows);
        let at = |flows: f64| points.iter().find(|(n, _)| *n == flows).map(|(_, ns)| *ns);
        Some(at(SPAN.1)? / at(SPAN.0)?)
    }
}

/// The chart: nanoseconds per packet over the number of flows, which has a logarithmic scale.
fn chart(rows: &[SimRow]) -> String {
    let points: Vec<(f64, f64)> = CURVES.iter().flat_map(|curve| curve.points(rows)).collect();
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(1.0, f64::max);
    let last = most(|(flows, _)| flows.log10()).ceil();
    let panel = Panel { edge: (30.0, 260.0), last, most: round_up(most(|(_, ns)| *ns)) };
    let mut out = Svg::new(WIDTH, 300.0, &[]);
    let names = CURVES.map(|curve| format!("{} in {}", curve.name, curve.colour.0)).join("; ");
    panel.frame(&mut out, &format!("ns of CPU per packet: {names}"));
    for curve in &CURVES {
        let points = curve.points(rows).into_iter().map(|(flows, ns)| (flows.log10(), Some(ns)));
        panel.line(&mut out, points, curve.colour.1);
    }
    let marks: Vec<f64> = (1..=last as u32).map(f64::from).collect();
    panel.below(&mut out, &marks, "number of flows, as a power of ten");
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, cpu_seconds: f64) -> Value {
        json!({ "case": case, "aqm": "droptail", "packets": 1_000_000, "offered": 2_000_000, "events": 0,
                "cpu_seconds": cpu_seconds, "setup_seconds": 0.002, "packets_per_cpu_second": 0.0, "ns_per_packet": 0.0,
                "peak_rss_bytes": 5 << 20 })
    }

    fn round(factor: f64) -> Round {
        let cases =
            [("raqm-1-n40", 0.1), ("sender-cubic", 0.12), ("1g-n10", 0.1), ("1g-n10000", 0.4), ("100m-n10", 0.1)];
        let red = json!([{ "name": "red", "ns_per_packet": 17.25 * factor, "loss_ratio": 0.25, "mark_ratio": 0.125 }]);
        let bucket = json!([{ "name": "token-bucket", "ns_per_packet": 1.25 * factor, "loss_ratio": 0.0,
                              "mark_ratio": 0.0, "out_ratio": 0.4 }]);
        Round {
            rows: rows(&cases.map(|(case, seconds)| row(case, factor * seconds)).to_vec().into()).unwrap(),
            disciplines: rows(&red).unwrap(),
            markers: rows(&bucket).unwrap(),
            ns2: vec![Peer { case: "raqm-1-n40", packets_per_second: 8e5 / factor }],
            cores: vec![Cores { what: "sweep", one: 9.5 * factor, two: 5.0 }],
            linux: vec![(400_000.0, 2.0 * factor)],
        }
    }

    #[test]
    fn page_and_chart_show_every_benchmarked_scenario() {
        let round = median_of(&[round(1.0), round(3.0), round(0.5)]);
        let page = page(&round).unwrap();
        for row in [
            "| raqm-1-n40 | 1000000 | 0.100 | 10.00 | 8 | 100 | - | 0.002 | 5.0 |",
            "| `cubic` | 1000000 | 1.20 |",
            "| raqm-1-n40 | 10.00 | 0.80 | 12.5 |",
            "| csg-htsim | 1.040, 10 x | - | - | - |",
            "| `sweep` | 9.50 | 5.00 | 1.90 | 1.8 |",
            "| `red` | 17.2 | 20 | 25.0 | 12.5 |",
            "| `token-bucket` | 1.2 | 0.0 | 0.0 | 40.0 |",
            "| 1 Gb/s, served | 4.00 |",
            "| 400000 | 2.00 | 5.00 | 5 |",
        ] {
            assert!(page.contains(row), "{row}: {page}");
        }
        assert!(!page.contains("100 Mb/s, served |"), "{page}");
        let chart = chart(&round.rows);
        assert!(chart.contains(">1</text>") && chart.contains(">4</text>"), "{chart}");
        assert_eq!(chart.matches("stroke-width").count(), 3);
    }
}
