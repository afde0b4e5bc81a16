//! A run as a data file of flent (version 4 of its format), which flent plots like one of its own: test `tcp_ndown`.

use serde_json::{Map, Value, json};

use crate::figures::stats::jain;
use crate::results::over_time::OF_TRAFFIC;
use crate::results::record::{RunRecord, SeriesRecord};
use crate::results::traffic::ALL;

/// Time of the start in the file. Simulations have no date, and the same run gives the same file.
const START: &str = "1970-01-01T00:00:00.000000Z";

/// The data file of a run, for `NAME.flent` or, compressed, `NAME.flent.gz`: throughput of each class of traffic as
/// `TCP download::N` in Mbit/s, queueing delay at the link as `Ping (ms) ICMP`. `file` is the name of the file.
pub fn document(run: &RunRecord, file: &str) -> Value {
    let series = &run.series;
    let [wait, throughput] = OF_TRAFFIC.map(|field| format!(".{field}"));
    let class = |(name, _): &&(String, Vec<Option<f64>>)| Some(name.strip_suffix(&throughput)?.to_string());
    let mut classes: Vec<String> =
        series.probes.iter().filter_map(|column| class(&column)).filter(|name| name != ALL).collect();
    if classes.is_empty() {
        classes.push(ALL.to_string());
    }
    let rates: Vec<Vec<Option<f64>>> =
        classes.iter().map(|name| mbps(series, &format!("{name}{throughput}"))).collect();
    let rows = || (0..series.time_s.len()).map(|row| rates.iter().filter_map(move |rate| rate[row]));
    let sum: Vec<Option<f64>> = rows().map(|row| Some(row.sum())).collect();
    let mean: Vec<Option<f64>> = sum.iter().map(|sum| Some((*sum)? / rates.len() as f64)).collect();
    let fair: Vec<Option<f64>> = rows().map(jain).collect();
    let mut results = Map::new();
    let mut about = Map::new();
    // flent draws nothing without single measurements.
    let mut raw = Map::new();
    for ((name, rate), number) in classes.iter().zip(&rates).zip(1..) {
        let of = format!("TCP download::{number}");
        about.insert(of.clone(), json!({ "UNITS": "Mbits/s", "TRAFFIC": name }));
        raw.insert(of.clone(), points(series, rate));
        results.insert(of, json!(rate));
    }
    let delay = column(series, &format!("{ALL}{wait}"));
    raw.insert("Ping (ms) ICMP".to_string(), points(series, &delay));
    for (of, values, unit) in [
        ("TCP download sum", sum, "Mbits/s"),
        ("TCP download avg", mean, "Mbits/s"),
        ("TCP download fairness", fair, "Idx"),
        ("Ping (ms) ICMP", delay, "ms"),
    ] {
        about.insert(of.to_string(), json!({ "UNITS": unit }));
        results.insert(of.to_string(), json!(values));
    }
    let link = &run.summary.link;
    let step = series.time_s.first().copied().unwrap_or(1.0);
    json!({
        "version": 4,
        "x_values": series.time_s,
        "results": results,
        "raw_values": raw,
        "metadata": {
            "NAME": "tcp_ndown", "TITLE": run.summary.label, "DATA_FILENAME": file, "TIME": START, "T0": START,
            "HOST": link, "HOSTS": [link], "LOCAL_HOST": "forebay", "IP_VERSION": 4, "DELAY": 0,
            "LENGTH": run.duration_s, "TOTAL_LENGTH": run.duration_s, "STEP_SIZE": step,
            "TEST_PARAMETERS": { "download_streams": classes.len().to_string() },
            "SERIES_META": about,
            "NOTE": format!("Simulated by Forebay, seed {}. Ping is the queueing delay at the link {link}.", run.summary.seed),
        },
    })
}

/// Values with their times, as single measurements.
fn points(series: &SeriesRecord, values: &[Option<f64>]) -> Value {
    let all = series.time_s.iter().zip(values);
    all.filter_map(|(at, value)| Some(json!({ "t": at, "val": (*value)? }))).collect()
}

/// A recorded column; empty values if it was not recorded.
fn column(series: &SeriesRecord, name: &str) -> Vec<Option<f64>> {
    let found = series.probes.iter().find(|(known, _)| known == name).map(|(_, values)| values.clone());
    found.unwrap_or_else(|| vec![None; series.time_s.len()])
}

fn mbps(series: &SeriesRecord, name: &str) -> Vec<Option<f64>> {
    column(series, name).into_iter().map(|bps| Some(bps? * 1e-6)).collect()
}
