//! Quantities of one run by name: from its summary, or computed from its recorded queue over a time span.

use forebay_aqm::base::nearest::one_of;

use crate::figures::settling::{amplitude, entry, in_band, overshoot, resettling, rms_error, seconds, settling};
use crate::results::quantity::PARTS;
use crate::results::record::{Reference, RunRecord, SeriesRecord};

/// Numbers of the summary that describe the run as a whole.
const NUMBERS: [&str; 17] = [
    "utilisation",
    "loss_ratio",
    "mark_ratio",
    "goodput_bps",
    "goodput_ratio",
    "received_bps",
    "received_ratio",
    "offered_pkts",
    "delivered_pkts",
    "dropped.early",
    "dropped.overflow",
    "wire_lost_pkts",
    "jain",
    "events",
    "packets",
    "cpu_seconds",
    "seed",
];
/// Its distributions.
const SPREADS: [&str; 2] = ["queue_pkts", "sojourn_ms"];
/// Numbers computed from the queue over time, of the complete run or of a time span.
const OVER_TIME: [&str; 9] = [
    "settling_s",
    "overshoot_pkts",
    "entry_s",
    "in_band",
    "resettling_s",
    "swing_pkts",
    "rms_error_pkts",
    "mean_pkts",
    "std_pkts",
];

/// Checks that a run has a number called `name`; see [`of_run`].
pub(crate) fn check(name: &str) -> Result<(), String> {
    let (name, span) = match name.split_once('@') {
        None => (name, None),
        Some((name, span)) => (name, Some(parse_span(span)?)),
    };
    let spreads = SPREADS.iter().flat_map(|spread| PARTS.iter().map(move |part| format!("{spread}.{part}")));
    let of_summary: Vec<String> = NUMBERS.iter().map(|name| (*name).to_string()).chain(spreads).collect();
    let is_of_summary = of_summary.iter().any(|known| known == name);
    if OVER_TIME.contains(&name) || (is_of_summary && span.is_none()) {
        return Ok(());
    }
    if is_of_summary {
        return Err(format!("'{name}' cannot be taken over a span of time"));
    }
    let known: Vec<&str> = of_summary.iter().map(String::as_str).chain(OVER_TIME).collect();
    Err(format!("a run has no number called '{name}', but {}", one_of(name, &known)))
}

/// Standard deviation of the sampled queue in (from, to]; NaN without samples.
fn std_between(series: &SeriesRecord, from: f64, to: f64) -> f64 {
    let rows = series.time_s.iter().zip(&series.queue_pkts);
    let queue: Vec<f64> = rows.filter(|(t, _)| **t > from && **t <= to).map(|(_, q)| *q).collect();
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    (queue.iter().map(|q| (q - mean) * (q - mean)).sum::<f64>() / queue.len() as f64).sqrt()
}

/// A quantity of a run by name: a field of the summary (`queue_pkts.mean`, `loss_ratio`), or computed from the
/// series over a time span (`settling_s@50..150`). If the queue does not settle, the settling time is the length of
/// the span. NaN for a number that the run does not have, such as the fairness of no flows.
pub(crate) fn of_run(run: &RunRecord, name: &str) -> Result<f64, String> {
    let (name, span) = match name.split_once('@') {
        None => (name, None),
        Some((name, span)) => (name, Some(parse_span(span)?)),
    };
    let (from, to) = span.unwrap_or((0.0, run.duration_s));
    let steps = || seconds(&run.series.time_s, &run.series.queue_mean_pkts, from, to);
    let reference = match run.reference {
        Reference::Given(q) | Reference::SteadyMean(q) => q,
    };
    Ok(match name {
        // The settling time of the complete run was computed when the run ended.
        "settling_s" if span.is_none() => run.summary.settling_s.unwrap_or(run.duration_s),
        "overshoot_pkts" if span.is_none() => run.summary.overshoot_pkts,
        "settling_s" => settling(&steps(), reference).unwrap_or(to - from),
        "overshoot_pkts" => overshoot(&steps(), reference),
        "entry_s" => entry(&steps(), reference).unwrap_or(to - from),
        "in_band" => in_band(&steps(), reference),
        "resettling_s" => resettling(&steps()).unwrap_or(to - from),
        "swing_pkts" => amplitude(&steps()),
        "rms_error_pkts" => rms_error(&steps(), reference),
        "mean_pkts" => {
            let steps = steps();
            steps.iter().sum::<f64>() / steps.len().max(1) as f64
        }
        "std_pkts" => std_between(&run.series, from, to),
        _ => summary_field(run, name)?,
    })
}

/// Reads the time span `a..b`, in seconds, with a < b.
pub(crate) fn parse_span(text: &str) -> Result<(f64, f64), String> {
    let bad = || format!("'{text}' is not a span of seconds such as 50..150");
    let (from, to) = text.split_once("..").ok_or_else(bad)?;
    let span = (from.parse().map_err(|_| bad())?, to.parse().map_err(|_| bad())?);
    if span.0 < span.1 { Ok(span) } else { Err(bad()) }
}

fn summary_field(run: &RunRecord, name: &str) -> Result<f64, String> {
    let value = serde_json::to_value(&run.summary).map_err(|e| e.to_string())?;
    let field = name.split('.').try_fold(&value, |at, key| at.get(key));
    Ok(field.and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_summary_is_known() {
        let summary = crate::results::quantity::tests::run();
        let serde_json::Value::Object(fields) = serde_json::to_value(&summary).unwrap() else { panic!("an object") };
        for (name, value) in fields.iter().filter(|(name, _)| *name != "traffic" && *name != "classes") {
            let is_known = match value {
                serde_json::Value::Object(parts) => {
                    parts.iter().all(|(part, _)| name == "axes" || check(&format!("{name}.{part}")).is_ok())
                }
                serde_json::Value::Number(_) => check(name).is_ok(),
                // May be a number or a distribution.
                serde_json::Value::Null => check(name).or_else(|_| check(&format!("{name}.mean"))).is_ok(),
                _ => check(name).is_err(),
            };
            assert!(is_known, "{name}");
        }
    }

    #[test]
    fn queue_standard_deviation_uses_samples_within_time_span() {
        let series = SeriesRecord {
            time_s: vec![1.0, 2.0, 3.0, 4.0],
            queue_pkts: vec![100.0, 10.0, 14.0, 100.0],
            ..SeriesRecord::default()
        };
        assert!((std_between(&series, 1.0, 3.0) - 2.0).abs() < 1e-12);
        assert!(std_between(&series, 5.0, 6.0).is_nan());
    }
}
