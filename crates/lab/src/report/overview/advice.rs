//! The advice of `forebay advise` at the top of the report of its deciding runs.

use std::path::Path;

use serde::Deserialize;

use super::super::shapes::{Cell, Column, Table};
use crate::disk;
use crate::figures::stats::Interval;
use crate::render::digits::interval;

/// File with the advice, in the directory of the deciding runs.
pub const ADVICE: &str = "advice.json";

/// What the report shows of the advice.
#[derive(Deserialize)]
struct Advice {
    line: String,
    seeds: usize,
    ranking: Vec<Ranked>,
    commands: Vec<String>,
}

#[derive(Deserialize)]
struct Ranked {
    aqm: String,
    why: String,
    score: Interval,
    behind: Option<Interval>,
    is_level: bool,
    mos: Option<Interval>,
    rpm: Option<Interval>,
    load_s: Option<Interval>,
    goodput_bps: Interval,
    wins: usize,
}

/// A ranking and the commands of tc; empty if the directory has no advice.
pub(in super::super) fn overview(dir: &Path) -> Vec<Table> {
    let Ok(advice) = disk::read_json::<Advice>(&dir.join(ADVICE)) else { return Vec::new() };
    let of = |value: Option<&Interval>, scale: f64| {
        interval(value.map(|it| it.mean * scale), value.map(|it| it.half * scale))
    };
    let row = |it: &Ranked| {
        let difference = match &it.behind {
            None => "best".to_string(),
            behind => format!("{}{}", of(behind.as_ref(), 1.0), if it.is_level { " (level)" } else { "" }),
        };
        let cells = [
            it.aqm.clone(),
            of(Some(&it.score), 1.0),
            difference,
            of(it.mos.as_ref(), 1.0),
            of(it.rpm.as_ref(), 1.0),
            of(it.load_s.as_ref(), 1.0),
            of(Some(&it.goodput_bps), 1e-6),
            format!("{} of {}", it.wins, advice.seeds),
            it.why.clone(),
        ];
        cells.map(Cell::Text).to_vec()
    };
    let headings =
        ["discipline", "score", "difference", "call, MOS", "RPM", "page, s", "goodput, Mbit/s", "best with", "why"];
    let caption = "Score: geometric mean of the points of call, RPM, page and goodput, 1 to 100. Difference: of the score \
                   from that of the best, paired by seed; level: its 95 % interval contains 0. The goodput is that of both \
                   directions. Best with: number of seeds with which the discipline has the highest score.";
    let ranking = Table {
        id: "ranking".to_string(),
        title: format!("Advice for {}", advice.line),
        caption: Some(caption.to_string()),
        columns: headings.map(Column::words).to_vec(),
        rows: advice.ranking.iter().map(row).collect(),
        ..Table::default()
    };
    let commands = Table {
        id: "commands".to_string(),
        title: "Commands for the best one".to_string(),
        columns: vec![Column::words("command")],
        rows: advice.commands.iter().map(|command| vec![Cell::Text(command.clone())]).collect(),
        ..Table::default()
    };
    vec![ranking, commands]
}
