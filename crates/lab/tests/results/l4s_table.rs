//! The table of `docs/choosing.md` about L4S: every cell is computed again. FOREBAY_BLESS=1 writes it.

use std::path::Path;

use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::quantity;
use forebay_lab::record::RunRecord;
use forebay_lab::scenario::Overrides;
use forebay_lab::stats;
use rayon::prelude::*;

const SCENARIO: &str = include_str!("../../../../examples/l4s.toml");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/choosing.md");
/// The first line of the table; the next one is the line below the head.
const HEAD: &str = "| discipline | scalable sender | flows | ratio |";

/// Discipline, sender as the table names it, flows of each group.
const ROWS: [(&str, &str, u32); 9] = [
    ("dualpi2", "Prague", 2),
    ("dualpi2", "Prague", 1),
    ("dualpi2", "DCTCP, ECT(1)", 2),
    ("dualpi2", "DCTCP, ECT(1)", 1),
    ("dualpi2", "DCTCP, ECT(0)", 2),
    ("dualpi2", "DCTCP, ECT(0)", 1),
    ("pie", "Prague", 2),
    ("codel", "Prague", 2),
    ("fq_codel", "Prague", 2),
];

/// The scenario's five runs of a row.
fn runs((aqm, sender, flows): (&str, &str, u32)) -> Vec<RunRecord> {
    let mut sets = vec![format!("flows.l4s.count={flows}"), format!("flows.classic.count={flows}")];
    if sender != "Prague" {
        sets.push("flows.l4s.tcp=dctcp".to_string());
    }
    if sender == "DCTCP, ECT(0)" {
        sets.push("flows.l4s.l4s=false".to_string());
    }
    let overrides = Overrides { sets, aqm: vec![aqm.to_string()], ..Overrides::default() };
    let plan = Plan::new(load::parse("l4s.toml", SCENARIO, &overrides).unwrap(), 1, 5);
    plan.jobs().into_par_iter().map(|job| plan.run(job, &mut ()).unwrap().unwrap()).collect()
}

/// The L queue's share of the bytes sent after the warm-up.
fn share_of_l(run: &RunRecord) -> f64 {
    let bytes = |queue: &str| quantity::of(run, &format!("growth(dualpi2.sent_{queue})@10..30")).unwrap();
    bytes("l") / (bytes("l") + bytes("c"))
}

fn line(row: (&str, &str, u32)) -> String {
    let runs = runs(row);
    let mean = |of: &dyn Fn(&RunRecord) -> f64| stats::mean(&runs.iter().map(of).collect::<Vec<_>>());
    let of = |text: &str| mean(&|run| quantity::of(run, text).unwrap());
    let ms = |value: f64| format!("{value:.*}", if value < 1.0 { 2 } else { 1 });
    let sojourn = |class: u8| {
        let [mean, p99] = ["mean", "p99"].map(|what| ms(of(&format!("class.{class}.sojourn_ms.{what}"))));
        format!("{mean}, {p99}")
    };
    let ratio = of("class.1.goodput_bps / class.0.goodput_bps");
    let l = match row.0 {
        "dualpi2" => format!("{:.2}", mean(&share_of_l)),
        _ => "-".to_string(),
    };
    let (aqm, sender, n) = row;
    let digits = if ratio < 10.0 { 2 } else { 1 };
    format!("| `{aqm}` | {sender} | {n} + {n} | {ratio:.digits$} | {l} | {} | {} |", sojourn(1), sojourn(0))
}

#[test]
fn table_of_l4s_is_current() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let start = page.find(HEAD).unwrap();
    let body = start + page[start..].find("|\n| `").unwrap() + 2;
    let end = body + page[body..].find("\n\n").unwrap() + 1;
    let lines: String = ROWS.map(|row| line(row) + "\n").concat();
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(Path::new(PAGE), format!("{}{lines}{}", &page[..body], &page[end..])).unwrap();
    }
    let page = std::fs::read_to_string(PAGE).unwrap();
    assert!(page.contains(&lines), "docs/choosing.md has another table; now:\n{lines}");
}
