//! `forebay theory mmpp`: the stationary queue under Markov-modulated arrivals.

use forebay_lab::commands::theory::{self, InTheLongRun, label};
use forebay_lab::disk;
use forebay_lab::render::digits::significant;
use forebay_lab::render::text_table::Table;
use forebay_lab::scenario::Case;

use crate::args::theory::TheoryArgs;
use crate::failure::{Exit, Failure};
use crate::render::chart::{self, Chart, Line};
use crate::render::output::Ui;

/// Evaluates the model for each combination of values of the scenario keys that vary (a case); prints the results.
pub(crate) fn command(file: &str, cases: &[Case], args: &TheoryArgs, ui: &Ui) -> Result<Exit, Failure> {
    let document = theory::of_mmpp(file, cases)?;
    if let Some(path) = &args.map.output {
        let lines = cases.iter().zip(&document.results).flat_map(|(case, row)| {
            row.model.queues.iter().map(move |queue| Line {
                label: label(case, &queue.label),
                points: queue.distribution.iter().enumerate().map(|(n, share)| [n as f64, *share]).collect(),
            })
        });
        let chart = Chart { x: "packets in the system", y: "fraction of time", log: true, lines: lines.collect() };
        disk::write_whole(path, chart::picture(&[chart]).as_bytes())?;
    }
    if ui.json() {
        ui.print_json(&document)?;
    } else {
        ui.print(&document.results.iter().map(|row| text(ui, row)).collect::<Vec<_>>().join("\n\n"))?;
    }
    Ok(Exit::Done)
}

fn text(ui: &Ui, row: &InTheLongRun) -> String {
    let InTheLongRun { model, axes } = row;
    let axes: String = axes.words().map(|(axis, value)| format!("{axis}={value}  ")).collect();
    let mut lines = vec![format!(
        "{axes}load {}, {} arrival states, {} phases of service",
        significant(model.load, 4),
        model.arrival_states,
        model.phases
    )];
    let groups: Vec<String> = model
        .queues
        .first()
        .map_or(Vec::new(), |queue| queue.groups.iter().map(|g| format!("lost: {}", g.name)).collect());
    let heads = ["discipline", "states", "in system", "waiting", "delay", "waiting time", "utilisation", "lost"];
    let units = ["", "", "pkts", "pkts", "ms", "ms", "%", "%"];
    let heads: Vec<&str> = heads.into_iter().chain(groups.iter().map(|group| &**group)).collect();
    let units: Vec<&str> = units.into_iter().chain(groups.iter().map(|_| "%")).collect();
    let mut table = Table::new(&heads).units(&units);
    for queue in &model.queues {
        let numbers = [
            queue.mean_pkts,
            queue.waiting_pkts,
            queue.delay_ms,
            queue.wait_ms,
            100.0 * queue.utilisation,
            100.0 * queue.loss,
        ];
        let losses = queue.groups.iter().map(|group| 100.0 * group.loss);
        let cells = numbers.into_iter().chain(losses).map(|x| significant(x, 4));
        table.row([queue.label.clone(), queue.states.to_string()].into_iter().chain(cells).collect());
    }
    lines.push(table.render(ui.look(), "").trim_end().to_string());
    lines.extend(model.left_out.iter().map(|what| format!("left out: {what}")));
    let of_queues = model.queues.iter().filter_map(|q| q.left_out.as_ref().map(|what| format!("{}: {what}", q.label)));
    lines.extend(of_queues);
    lines.extend(model.without.iter().map(|without| format!("{}: {}", without.label, without.no_answer)));
    lines.join("\n")
}
