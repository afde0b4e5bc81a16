//! `forebay theory`: evaluates analytical models of a scenario; no packets are simulated.

mod map;
mod markov;
mod mmpp;
mod models;

use forebay_lab::commands::map as maps;
use forebay_lab::commands::theory::{self, Answer, Asked, Critical, Document, Margins, Row, Why};
use forebay_lab::disk;
use forebay_lab::load;
use forebay_lab::render::text_table::Table;
use forebay_lab::scenario::{Found, InputError, Overrides};
use forebay_lab::theory::fluid::Trajectory;
use forebay_lab::theory::stability;

use crate::args::theory::Model;
use crate::args::theory::TheoryArgs;
use crate::failure::{Exit, Failure};
use crate::render::chart::{self, Chart, Line};
use crate::render::output::Ui;
use models::{Cell, Column};

/// Evaluates the model for each compared discipline and each combination of values of the scenario keys that vary.
pub(crate) fn command(args: &TheoryArgs, ui: &Ui) -> Result<Exit, Failure> {
    if args.critical && args.model != Model::Stability {
        let accepts = "stability: no other model has critical values";
        return Err(InputError::new("--critical", "", Found::text(args.model.word()), accepts).into());
    }
    let ask = args.markov.ask(args.model)?;
    let sides = args.map.sides(args.model)?;
    if args.critical && sides.is_some() {
        return Err(InputError::new("--critical", "", Found::text("--map"), "either --critical or --map").into());
    }
    let (sets, vary, aqm) = (args.set.clone(), args.vary.clone(), args.aqm.clone());
    let overrides = Overrides { sets, vary, aqm, ..Overrides::default() };
    let (cases, file) = (load::file(&args.scenario, &overrides)?, args.scenario.display().to_string());
    if let Some(sides) = sides {
        let maps = maps::draw(&file, &cases, sides, args.map.points)?;
        map::show(&maps, sides, &args.map, ui)?;
        maps.without.iter().for_each(|why| ui.note(why));
        return Ok(Exit::Done);
    }
    let asked = match args.model {
        Model::Stability => Asked::Stability { critical: args.critical },
        Model::Fluid => Asked::Fluid,
        Model::Markov => Asked::Markov { ask: &ask, p: args.markov.p() },
        Model::Mmpp => return mmpp::command(&file, &cases, args, ui),
    };
    let document = theory::of_loop(&file, &cases, asked)?;
    if let Some(path) = &args.map.output {
        disk::write_whole(path, chart::picture(&charts(args.model, &document)).as_bytes())?;
    }
    if ui.json() {
        ui.print_json(&document)?;
    } else {
        ui.print(&text(args.model, ui, &document.results))?;
    }
    Ok(Exit::Done)
}

/// The charts of the results: trajectories or distributions.
fn charts(model: Model, document: &Document<Row>) -> Vec<Chart> {
    type Places<'a> = Option<(&'a [f64], &'a [f64])>;
    let chart = |x, y, log, places: fn(&Answer) -> Places<'_>| {
        let line = |row: &Row| {
            let (x, y) = places(&row.answer)?;
            let points = x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| [*x, *y]);
            Some(Line { label: row.title(), points: points.collect() })
        };
        Chart { x, y, log, lines: document.results.iter().filter_map(line).collect() }
    };
    if model == Model::Markov {
        let shares: fn(&Answer) -> Places<'_> = |answer| match answer {
            Answer::Markov(found) => {
                Some(found.distribution.as_ref().map_or((&[], &[]), |shares| (&shares.q_pkts, &shares.share)))
            }
            _ => None,
        };
        return vec![chart("queue, packets", "fraction of time", true, shares)];
    }
    vec![
        chart("time, s", "queue, packets", false, |answer| match answer {
            Answer::Fluid(trajectory) => Some((&trajectory.t_s, &trajectory.q_pkts)),
            _ => None,
        }),
        chart("time, s", "signal probability", false, |answer| match answer {
            Answer::Fluid(trajectory) => Some((&trajectory.t_s, &trajectory.p)),
            _ => None,
        }),
    ]
}

const STABILITY: [Column<Margins>; 10] = [
    (|a| Cell::Yes(a.here.stable), "stable", ""),
    (|a| Cell::Number(a.here.q_rest_pkts), "queue", "pkts"),
    (|a| Cell::Number(a.here.load_rest), "load", ""),
    (|a| Cell::Number(a.here.p_rest), "p", ""),
    (|a| Cell::Number(a.here.window_pkts), "window", "pkts"),
    (|a| Cell::Number(a.here.rtt_ms), "RTT", "ms"),
    (|a| Cell::of(a.here.crossover_rad_per_s), "crossover", "rad/s"),
    (|a| Cell::of(a.here.gain_margin), "gain margin", "x"),
    (|a| Cell::of(a.here.phase_margin_deg), "phase margin", "deg"),
    (|a| Cell::of(a.here.delay_margin_ms), "delay margin", "ms"),
];
const CRITICAL: [Column<Critical>; 3] = [
    (|a| Cell::of(a.flows), "critical flows", ""),
    (|a| Cell::of(a.base_rtt_factor), "critical base RTT", "x"),
    (|a| Cell::of(a.rate_mbps), "critical rate", "Mb/s"),
];
const FLUID: [Column<Trajectory>; 4] = [
    (|a| Cell::Number(a.q_mean_pkts), "queue", "pkts"),
    (|a| Cell::Number(a.q_std_pkts), "std", "pkts"),
    (|a| Cell::of(a.period_s), "period", "s"),
    (|a| Cell::Number(a.p_mean), "p", ""),
];

/// Heading and unit of each column of a table.
fn heads<T>(columns: &[Column<T>]) -> Vec<(&'static str, &'static str)> {
    columns.iter().map(|(_, head, unit)| (*head, *unit)).collect()
}

fn cells<T>(columns: &[Column<T>], of: &T) -> Vec<String> {
    columns.iter().map(|(figure, ..)| figure(of).text()).collect()
}

fn text(model: Model, ui: &Ui, rows: &[Row]) -> String {
    let with_edge = rows.iter().any(|row| matches!(&row.answer, Answer::Stability(Margins { critical: Some(_), .. })));
    let columns = match model {
        Model::Fluid => heads(&FLUID),
        Model::Markov => heads(&markov::COLUMNS),
        _ if with_edge => [heads(&STABILITY), heads(&CRITICAL)].concat(),
        _ => heads(&STABILITY),
    };
    let names: Vec<&str> = ["discipline"].into_iter().chain(columns.iter().map(|c| c.0)).collect();
    let units: Vec<&str> = [""].into_iter().chain(columns.iter().map(|c| c.1)).collect();
    let mut table = Table::new(&names).units(&units);
    let mut notes = Vec::new();
    for row in rows {
        let label = row.title();
        let figures = match &row.answer {
            Answer::Stability(found) => {
                let edge = found.critical.as_ref().map(|critical| cells(&CRITICAL, critical));
                Some([cells(&STABILITY, found), edge.unwrap_or_default()].concat())
            }
            Answer::Fluid(trajectory) => Some(cells(&FLUID, trajectory)),
            Answer::Markov(found) => Some(cells(&markov::COLUMNS, found)),
            Answer::None(silence) => {
                notes.push(format!("{label}: {}", silence.why.text()));
                silence.why.is_finding().then(|| vec!["-".to_string(); columns.len()])
            }
        };
        if let Some(figures) = figures {
            table.row([label].into_iter().chain(figures).collect());
        }
        for what in &row.left_out {
            let note = format!("left out: {what}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let about = match model {
        Model::Fluid => "-: no periodic oscillation",
        Model::Markov => markov::ABOUT,
        _ => "-: none (a margin without limit)",
    };
    if let Some(row) = rows.iter().find(|row| row.why().is_some_and(Why::lacks_model)) {
        notes.push(stability::with_a_model(&row.link, model == Model::Stability));
    }
    notes.insert(0, about.to_string());
    format!("{}\n{}", table.render(ui.look(), "").trim_end(), notes.join("\n"))
}
