//! `forebay bench`: speed of this machine. Each simulation runs in a separate process.

use std::process::Stdio;

use forebay_lab::bench::{self, Case, DisciplineRow, MarkerRow, SimRow};
use forebay_lab::scenario::{Found, InputError};
use serde_json::json;

use crate::args::{BenchArgs, DISCIPLINES};
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;
use forebay_lab::render::digits::{grouped, significant};
use forebay_lab::render::text_table::Table;

/// Runs the benchmark cases one after the other. Other load on the machine distorts the results.
pub(crate) fn command(args: &BenchArgs, ui: &Ui) -> Result<Exit, Failure> {
    if let Some(name) = &args.child {
        return child(name, ui);
    }
    let named = |name: &str| args.cases.iter().any(|case| case == name);
    let all = args.cases.is_empty();
    let standard = bench::CASES.iter().chain(&bench::SENDER_CASES).filter(|case| all || named(case.name));
    let scaling = bench::SCALING_CASES.iter().filter(|case| args.scaling || named(case.name));
    let mut sims = Vec::new();
    for case in standard.chain(scaling) {
        ui.note(&format!("running {}", case.name));
        sims.push(in_a_child(case, ui)?);
    }
    let (disciplines, markers) = if all || named(DISCIPLINES) {
        ui.note("running each discipline and each marker alone");
        (bench::disciplines(), bench::markers())
    } else {
        (Vec::new(), Vec::new())
    };
    if ui.json() {
        ui.print_json(&json!({ "version": 1, "sim": sims, "disciplines": disciplines, "markers": markers }))?;
    } else {
        let tables = [sims_text(ui, &sims), disciplines_text(ui, &disciplines), markers_text(ui, &markers)];
        ui.print(&tables.into_iter().flatten().collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Done)
}

/// Runs one benchmark case in this process and prints its row of the table as one line of JSON.
fn child(name: &str, ui: &Ui) -> Result<Exit, Failure> {
    let case = bench::case(name)
        .ok_or_else(|| InputError::new("bench", "--child", Found::text(name), "a case name of forebay bench --case"))?;
    let row = bench::measure(case).map_err(|error| Failure::run(format!("{name}: {error}")))?;
    ui.print(&json!(row).to_string())?;
    Ok(Exit::Done)
}

fn in_a_child(case: &Case, ui: &Ui) -> Result<SimRow, Failure> {
    let failed = |what: String| Failure::run(format!("bench case {}: {what}", case.name));
    let mut program = ui.program().again().ok_or_else(|| failed("the path of this program is unknown".to_string()))?;
    let output = program
        .args(["bench", "--child", case.name])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("the process ended with {}", output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

/// The table of the simulations; `None` if there are none.
fn sims_text(ui: &Ui, sims: &[SimRow]) -> Option<String> {
    let heads = ["simulation", "aqm", "packets", "events", "CPU", "speed", "per packet", "set-up", "memory"];
    let units = ["", "", "", "", "s", "Mpkt/CPU s", "ns", "s", "MiB"];
    let mut table = Table::new(&heads).units(&units).words(&[1]);
    for row in sims {
        table.row(vec![
            row.case.clone(),
            row.aqm.clone(),
            grouped(row.packets),
            grouped(row.events),
            significant(row.cpu_seconds, 3),
            significant(row.packets_per_cpu_second * 1e-6, 3),
            significant(row.ns_per_packet, 3),
            significant(row.setup_seconds, 2),
            row.peak_rss_bytes.map_or("-".to_string(), |bytes| significant(bytes as f64 / f64::from(1 << 20), 3)),
        ]);
    }
    (!sims.is_empty()).then(|| table.render(ui.look(), ""))
}

fn disciplines_text(ui: &Ui, rows: &[DisciplineRow]) -> Option<String> {
    let mut table = Table::new(&["discipline", "per packet", "dropped", "marked"]).units(&["", "ns", "%", "%"]);
    for row in rows {
        let ns = significant(row.ns_per_packet, 3);
        table.row(vec![row.name.clone(), ns, percent(row.loss_ratio), percent(row.mark_ratio)]);
    }
    (!rows.is_empty()).then(|| table.render(ui.look(), ""))
}

fn markers_text(ui: &Ui, rows: &[MarkerRow]) -> Option<String> {
    let heads = ["marker", "per packet", "dropped", "marked", "OUT"];
    let mut table = Table::new(&heads).units(&["", "ns", "%", "%", "%"]);
    for row in rows {
        let ns = significant(row.ns_per_packet, 3);
        let [loss, mark, out] = [row.loss_ratio, row.mark_ratio, row.out_ratio].map(percent);
        table.row(vec![row.name.clone(), ns, loss, mark, out]);
    }
    (!rows.is_empty()).then(|| table.render(ui.look(), ""))
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}
