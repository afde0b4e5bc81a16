//! One bulk connection under random loss compared with the square-root law and PFTK; FOREBAY_BLESS=1 rewrites
//! `docs/throughput.md` and its chart.

use std::path::Path;

use crate::theory::bulk::chart::chart;
use crate::theory::bulk::connection::Connection;
use crate::theory::bulk::formula::Formula;
use crate::theory::bulk::page::{Row, TOLERANCE, page};
use forebay_sim::tcp::Variant;

const LOSSES: [f64; 7] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];
const VARIANTS: [Variant; 3] = [Variant::RENO, Variant::NEWRENO, Variant::SACK];

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for delayed in [false, true] {
        for loss in LOSSES {
            rows.extend(VARIANTS.map(|variant| Row::new(Connection { variant, delayed, loss })));
        }
    }
    rows
}

/// `docs/throughput.md` states the tolerance, for which connections each formula must hold, and why.
#[test]
fn formulas_hold_under_their_assumptions() {
    let rows = rows();
    for row in &rows {
        let (at, rate) = (row.connection, row.measured.rate);
        assert!(rate.half <= 0.02 * rate.mean, "{at:?}: ± {} of {}", rate.half, rate.mean);
        for formula in Formula::ALL.into_iter().filter(|formula| formula.holds(&at)) {
            let excess = row.excess(formula);
            assert!(at.loss <= 0.01, "{at:?}, {}: the page says that none holds there", formula.name());
            assert!(excess.abs() <= TOLERANCE, "{at:?}, {}: {rate:?}, {:+.1} %", formula.name(), 100.0 * excess);
        }
    }
    for (file, current) in [("throughput.md", page(&rows)), ("pictures/throughput.svg", chart(&rows))] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
        if std::env::var_os("FOREBAY_BLESS").is_some() {
            std::fs::write(&path, &current).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(published == current, "docs/{file} is stale: cargo xtask throughput");
    }
}

/// A connection with delayed acknowledgements (b = 2 instead of 1) and one that does not react to loss (BBR) differ
/// from every formula that holds for Sack.
#[test]
fn deviating_senders_miss_every_formula() {
    let right = Connection { variant: Variant::SACK, delayed: false, loss: 0.002 };
    for wrong in [Connection { delayed: true, ..right }, Connection { variant: Variant::BBR, ..right }] {
        let row = Row { connection: right, measured: wrong.measured(4) };
        for formula in Formula::ALL {
            assert!(
                formula.holds(&right) && row.excess(formula).abs() > 2.0 * TOLERANCE,
                "{wrong:?}, {}",
                formula.name()
            );
        }
    }
}
