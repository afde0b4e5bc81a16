//! `summary.json` as tables for people: each contender's means, and its differences from the first.

use forebay_lab::stats::Interval;
use serde_json::Value;

use crate::digits::{interval, signed, significant};
use crate::output::{Tone, Ui};
use crate::table::Table;

/// A column: quantity of `compare`, heading, unit, factor.
type Column = (&'static str, &'static str, &'static str, f64);

const MEANS: [Column; 4] = [
    ("queue_pkts.mean", "queue", "packets", 1.0),
    ("queue_pkts.std", "sd", "packets", 1.0),
    ("utilisation", "utilisation", "%", 100.0),
    ("loss_ratio", "loss", "%", 100.0),
];

const DIFFERENCES: [Column; 6] = [
    ("queue_pkts.mean", "queue", "packets", 1.0),
    ("queue_pkts.std", "sd", "packets", 1.0),
    ("utilisation", "utilisation", "points", 100.0),
    ("loss_ratio", "loss", "points", 100.0),
    ("goodput_ratio", "goodput", "points", 100.0),
    ("settling_s", "settling", "s", 1.0),
];

/// The tables of every case.
pub(crate) fn tables(ui: &Ui, summary: &Value) -> String {
    let cases = summary.pointer("/compare/cases").and_then(Value::as_array);
    let mut out = String::new();
    for case in cases.into_iter().flatten() {
        let contenders = case.get("contenders").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if contenders.is_empty() {
            continue;
        }
        if let Some(title) = axes(case) {
            out += &format!("{}\n", ui.tone(Tone::Strong, &title));
        }
        out += &means(ui, summary, contenders);
        out.push('\n');
        if contenders.len() > 1 {
            out += &differences(ui, summary, contenders);
            out.push('\n');
        }
    }
    out + &legend(summary).map(|line| ui.tone(Tone::Faint, &line) + "\n").concat()
}

/// The point of the axes, if there are any: `q = 20, n = 40`.
fn axes(case: &Value) -> Option<String> {
    let axes = case.get("axes")?.as_object().filter(|axes| !axes.is_empty())?;
    let parts: Vec<String> = axes.iter().map(|(k, v)| format!("{k} = {}", v.as_str().unwrap_or_default())).collect();
    Some(parts.join(", "))
}

/// A contender under the name that the scenario gives it, without the axes.
fn name<'a>(summary: &'a Value, contender: &'a Value) -> &'a str {
    let name = runs(summary, contender).next().and_then(|run| run.get("aqm")).or(contender.get("label"));
    name.and_then(Value::as_str).unwrap_or_default()
}

/// Mean and half-width of a quantity, scaled.
fn estimate(contender: &Value, part: &str, quantity: &str, factor: f64) -> (Option<f64>, Option<f64>) {
    let found = contender.get(part).and_then(|part| part.get(quantity));
    let number = |key| Some(found?.get(key)?.as_f64()? * factor);
    (number("mean"), number("half"))
}

fn means(ui: &Ui, summary: &Value, contenders: &[Value]) -> String {
    let heads: Vec<&str> = MEANS.iter().map(|c| c.1).chain(["goodput", "settling"]).collect();
    let units: Vec<&str> = MEANS.iter().map(|c| c.2).chain(["Mb/s", "s"]).collect();
    let mut table = Table::new(&[&[""], heads.as_slice()].concat()).units(&[&[""], units.as_slice()].concat());
    for contender in contenders {
        let mut row = vec![name(summary, contender).to_string()];
        for (quantity, _, _, factor) in MEANS {
            let (mean, half) = estimate(contender, "mean", quantity, factor);
            row.push(interval(mean, half));
        }
        row.push(goodput(summary, contender));
        row.push(settling(summary, contender));
        table.row(row);
    }
    table.render(ui, "")
}

/// The summaries of a contender's runs, at the first link under study.
fn runs<'a>(summary: &'a Value, contender: &'a Value) -> impl Iterator<Item = &'a Value> {
    let all = || summary.get("runs").and_then(Value::as_array).into_iter().flatten();
    let first = all().next().and_then(|run| run.get("link"));
    all().filter(move |run| run.get("label") == contender.get("label") && run.get("link") == first)
}

fn goodput(summary: &Value, contender: &Value) -> String {
    let rates = runs(summary, contender).filter_map(|run| Some(run.get("goodput_bps")?.as_f64()? * 1e-6));
    let estimate = Interval::of(&rates.collect::<Vec<_>>());
    interval(Some(estimate.mean), Some(estimate.half))
}

/// The mean, a run that never settles counted in full; how many settle, unless all or none.
fn settling(summary: &Value, contender: &Value) -> String {
    let all = runs(summary, contender).count();
    let settled = runs(summary, contender).filter(|run| run.get("settling_s").is_some_and(Value::is_number)).count();
    let (mean, half) = estimate(contender, "mean", "settling_s", 1.0);
    match settled {
        0 => "never".to_string(),
        n if n == all => interval(mean, half),
        n => format!("{} ({n} of {all})", mean.map_or_else(String::new, |mean| significant(mean, 3))),
    }
}

fn differences(ui: &Ui, summary: &Value, contenders: &[Value]) -> String {
    let base = name(summary, &contenders[0]);
    let title = format!("minus {base}");
    let heads: Vec<&str> = DIFFERENCES.iter().map(|c| c.1).collect();
    let units: Vec<&str> = DIFFERENCES.iter().map(|c| c.2).collect();
    let mut table =
        Table::new(&[&[title.as_str()], heads.as_slice()].concat()).units(&[&[""], units.as_slice()].concat());
    for contender in &contenders[1..] {
        let mut row = vec![name(summary, contender).to_string()];
        for (quantity, _, _, factor) in DIFFERENCES {
            let (mean, half) = estimate(contender, "difference", quantity, factor);
            let clear = mean.zip(half).is_some_and(|(mean, half)| mean.abs() > half);
            row.push(signed(interval(mean, half)) + if clear { " *" } else { "" });
        }
        table.row(row);
    }
    table.render(ui, "")
}

/// How to read the tables.
fn legend(summary: &Value) -> [String; 4] {
    let most = summary.pointer("/compare/cases").and_then(Value::as_array).into_iter().flatten();
    let most = most.filter_map(|case| case.pointer("/contenders/0/runs")?.as_u64()).max().unwrap_or(0);
    let spread = match most {
        0 | 1 => "one seed tells nothing about the spread: --runs 5 gives intervals".to_string(),
        n => format!("±: 95 % confidence over {n} seeds; differences are paired by seed, * where 0 is outside"),
    };
    [
        spread,
        "queue: packets waiting, time-weighted; sd: its standard deviation over time".to_string(),
        "settling: until the queue stays within 20 % of report.reference, else of its later mean".to_string(),
        "          a run that never settles counts in full; (k of n): that many settle".to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::settling;

    #[test]
    fn settling_is_the_mean_that_everything_else_shows() {
        let contender = json!({ "label": "pi", "mean": { "settling_s": { "mean": 60.0, "half": 9.0, "n": 2 } } });
        let of = |times: [Option<f64>; 2]| {
            let runs = times.map(|t| json!({ "label": "pi", "settling_s": t }));
            settling(&json!({ "runs": runs }), &contender)
        };
        assert_eq!(of([Some(20.0), None]), "60.0 (1 of 2)", "100 s count for the other");
        assert_eq!(of([None, None]), "never");
        assert!(of([Some(50.0), Some(70.0)]).starts_with("60 "), "{}", of([Some(50.0), Some(70.0)]));
    }
}
