//! `forebay theory mmpp`: the queue in the long run under datagrams that Markov chains bring.

use forebay_lab::disk;
use forebay_lab::scenario::Case;
use forebay_lab::theory::mmpp::{self, Model};
use serde_json::{Map, Value, json};

use crate::chart::{self, Chart, Line};
use crate::digits::significant;
use crate::failure::{Exit, Failure};
use crate::models::{in_file, label};
use crate::output::Ui;
use crate::table::Table;
use crate::theory_args::TheoryArgs;

/// The model of every case.
pub(crate) fn command(file: &str, cases: &[Case], args: &TheoryArgs, ui: &Ui) -> Result<Exit, Failure> {
    let models: Vec<Model> =
        cases.iter().map(mmpp::of).collect::<Result<_, _>>().map_err(|error| in_file(file, &error))?;
    if let Some(path) = &args.map.output {
        let lines = cases.iter().zip(&models).flat_map(|(case, model)| {
            model.queues.iter().map(move |queue| Line {
                label: label(case, &queue.label),
                points: queue.distribution.iter().enumerate().map(|(n, share)| [n as f64, *share]).collect(),
            })
        });
        let chart = Chart { x: "in the system, packets", y: "share of the time", log: true, lines: lines.collect() };
        disk::write_whole(path, chart::picture(&[chart]).as_bytes())?;
    }
    if ui.json() {
        let results: Vec<Value> = cases.iter().zip(&models).map(|(case, model)| document(case, model)).collect();
        ui.print_json(
            &json!({ "version": 1, "topic": "mmpp", "scenario": cases[0].scenario.title, "results": results }),
        )?;
    } else {
        let tables: Vec<String> = cases.iter().zip(&models).map(|(case, model)| text(ui, case, model)).collect();
        ui.print(&tables.join("\n\n"))?;
    }
    Ok(Exit::Done)
}

fn document(case: &Case, model: &Model) -> Value {
    let axes: Map<String, Value> = case.axes.iter().map(|(axis, value)| (axis.clone(), json!(value))).collect();
    let mut document = json!(model);
    document["axes"] = json!(axes);
    document
}

fn text(ui: &Ui, case: &Case, model: &Model) -> String {
    let axes: String = case.axes.iter().map(|(axis, value)| format!("{axis}={value}  ")).collect();
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
    let heads = ["discipline", "states", "in system", "waiting", "delay", "wait", "utilisation", "lost"];
    let units = ["", "", "pkts", "pkts", "ms", "ms", "%", "%"];
    let heads: Vec<&str> = heads.into_iter().chain(groups.iter().map(String::as_str)).collect();
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
    lines.push(table.render(ui, "").trim_end().to_string());
    lines.extend(model.left_out.iter().map(|what| format!("left out: {what}")));
    let of_queues = model.queues.iter().filter_map(|q| q.left_out.as_ref().map(|what| format!("{}: {what}", q.label)));
    lines.extend(of_queues);
    lines.extend(model.without.iter().map(|without| format!("{}: {}", without.label, without.no_answer)));
    lines.join("\n")
}
