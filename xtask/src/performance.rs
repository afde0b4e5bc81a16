//! `cargo xtask performance`: docs/performance.md and its chart, from `forebay bench --scaling`.

use std::fmt::Write;

use serde_json::Value;

use crate::program;

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
    mebibytes: f64,
}

impl Row {
    fn read(row: &Value) -> Option<Self> {
        Some(Self {
            case: row["case"].as_str()?.to_string(),
            packets: row["packets"].as_f64()?,
            offered: row["offered"].as_f64()?,
            seconds: row["cpu_seconds"].as_f64()?,
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

/// Runs the bench and writes the page. Let nothing else run meanwhile.
pub(crate) fn run() -> Result<(), String> {
    let mut bench = program::cargo();
    bench.args(["run", "--release", "--quiet", "--", "bench", "--scaling", "--json"]);
    let (status, out) = program::output(bench)?;
    if !status.success() {
        return Err(format!("forebay bench: {status}"));
    }
    let bench: Value = serde_json::from_str(&out).map_err(|error| error.to_string())?;
    let rows: Vec<Row> = bench["sim"].as_array().into_iter().flatten().filter_map(Row::read).collect();
    let disciplines = bench["disciplines"].as_array().cloned().unwrap_or_default();
    program::write(CHART, &chart(&rows))?;
    program::write(PAGE, &page(&rows, &disciplines))?;
    println!("{PAGE}\n{CHART}");
    Ok(())
}

fn page(rows: &[Row], disciplines: &[Value]) -> String {
    let mut out = String::from(HEAD);
    // Writing to a string cannot fail.
    for row in rows {
        let _ = writeln!(
            out,
            "| {} | {:.0} | {:.3} | {:.2} | {:.0} | {} | {:.1} |",
            row.case,
            row.packets,
            row.seconds,
            row.packets / row.seconds * 1e-6,
            row.ns_per_packet(),
            // The standard cases have a warm-up, in which what is offered does not count.
            row.flows().map_or("-".to_string(), |_| format!("{:.0}", row.ns_per_offered())),
            row.mebibytes
        );
    }
    out.push_str(MIDDLE);
    for row in disciplines {
        let (name, ns) = (row["name"].as_str().unwrap_or_default(), row["ns_per_packet"].as_f64().unwrap_or(f64::NAN));
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

Written by `cargo xtask performance` from `forebay bench --scaling` on the machine at hand; do not edit.

Drop-tail, NewReno, one simulation in a process of its own, set-up included. *Served*: packets that the bottleneck
sent. *Offered*: those that came to it. With thousands of flows on 100 Mb/s a third and more of them is dropped, and
a dropped packet costs as much to bring to the bottleneck as another.

| case | packets served | CPU s | M served per CPU s | ns per packet served | ns per packet offered | memory MiB |
|---|---|---|---|---|---|---|
";

const MIDDLE: &str = "
![Cost of a packet against the number of flows](pictures/scaling.svg)

The cases `scaling-n` have 100 Mb/s, 1500-byte packets, a base round trip of 44 ms, a buffer of 350 packets and 20 s.
A run that lasts longer spreads set-up and slow start over more packets.

What one enqueue and its dequeue cost. Drop-tail's row is the packet memory and the load generator; what a rule adds
is the difference.

| discipline | ns |
|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_case_and_the_chart_every_scaling_case() {
        let row =
            |case: &str, seconds| Row { case: case.to_string(), packets: 1e6, offered: 2e6, seconds, mebibytes: 5.0 };
        let rows = [row("raqm-1-n40", 0.1), row("scaling-n10", 0.1), row("scaling-n1000", 0.4)];
        let page = page(&rows, &[serde_json::json!({"name": "red", "ns_per_packet": 17.25})]);
        assert!(page.contains("| raqm-1-n40 | 1000000 | 0.100 | 10.00 | 100 | - | 5.0 |"), "{page}");
        assert!(page.contains("| `red` | 17.2 |") || page.contains("| `red` | 17.3 |"), "{page}");
        let chart = chart(&rows);
        assert!(chart.contains(">10</text>") && chart.contains(">1000</text>"), "{chart}");
        assert_eq!(chart.matches("stroke-width").count(), 2);
    }
}
