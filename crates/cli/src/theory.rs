//! `forebay theory`: what the models say about a scenario, no packet simulated.

use forebay_lab::disk;
use forebay_lab::scenario::{Case, Contender, Found, InputError, Overrides};
use forebay_lab::theory::setting::{self, Scaled, Setting};
use forebay_lab::theory::stability::NoAnswer;
use forebay_lab::theory::{self as models, fluid, stability};
use serde_json::{Map, Value, json};

use crate::chart::{self, Chart, Line};
use crate::digits::significant;
use crate::failure::{Exit, Failure};
use crate::map::{Drawn, Side};
use crate::models::{Column, Model, in_file, label};
use crate::output::Ui;
use crate::table::Table;
use crate::theory_args::TheoryArgs;
use crate::{map, markov, mmpp};

/// The models of a loop of TCP and a discipline.
#[derive(Clone, Copy, PartialEq)]
enum OfLoop {
    Stability,
    Fluid,
    Markov,
}

impl OfLoop {
    const fn of(model: Model) -> Option<Self> {
        match model {
            Model::Stability => Some(Self::Stability),
            Model::Fluid => Some(Self::Fluid),
            Model::Markov => Some(Self::Markov),
            Model::Mmpp => None,
        }
    }
}

/// Answers for every case of the file and every discipline compared.
pub(crate) fn command(args: &TheoryArgs, ui: &Ui) -> Result<Exit, Failure> {
    if args.critical && args.model != Model::Stability {
        let accepts = "stability: only a linear loop has an edge";
        return Err(InputError::new("--critical", "", Found::text(args.model.word()), accepts).into());
    }
    let ask = args.markov.ask(args.model)?;
    let sides = args.map.sides(args.model)?;
    if args.critical && sides.is_some() {
        return Err(
            InputError::new("--critical", "", Found::text("--map"), "one of the two: a map shows the edge").into()
        );
    }
    let overrides = Overrides { sets: args.set.clone(), vary: args.vary.clone(), aqm: args.aqm.clone() };
    let cases = ui.cases(&args.scenario, &overrides)?;
    let file = args.scenario.display().to_string();
    let Some(asked) = OfLoop::of(args.model) else { return mmpp::command(&file, &cases, args, ui) };
    if let Some(sides) = sides {
        return maps(&file, &cases, sides, args, ui);
    }
    let mut rows = Vec::new();
    for case in &cases {
        for contender in &case.scenario.compare {
            let setting = setting::of(case, &contender.spec).map_err(|error| in_file(&file, &error))?;
            rows.push(Row { case, contender, answer: answer(asked, args, &ask, case, contender, &setting), setting });
        }
    }
    if let Some(error) = refusal(&file, asked, &rows) {
        return Err(error.into());
    }
    if let Some(path) = &args.map.output {
        disk::write_whole(path, chart::picture(&charts(asked, &rows)).as_bytes())?;
    }
    if ui.json() {
        let results: Vec<Value> = rows.iter().map(Row::json).collect();
        let topic = args.model.word();
        ui.print_json(
            &json!({ "version": 1, "topic": topic, "scenario": cases[0].scenario.title, "results": results }),
        )?;
    } else {
        ui.print(&text(asked, ui, &rows))?;
    }
    Ok(Exit::Done)
}

/// Why nothing can be answered: no row has an answer, and none is a loop without a rest.
fn refusal(file: &str, asked: OfLoop, rows: &[Row<'_>]) -> Option<InputError> {
    let why = rows.iter().map(|row| row.answer.as_ref().err().filter(|why| !why.is_finding()));
    let why: Vec<&Why> = why.collect::<Option<_>>()?;
    let without: Vec<&Row<'_>> =
        rows.iter().zip(&why).filter(|(_, why)| why.lacks_model()).map(|(row, _)| row).collect();
    let missing = without.first().map(|row| {
        let names: Vec<String> = without.iter().map(|row| label(row.case, &row.contender.label)).collect();
        no_model(file, &names, asked == OfLoop::Stability, &row.setting)
    });
    match why.first()? {
        // Without a model there is an answer all the same, to another question.
        Why::Input(error, _) => Some(error.clone().hint(missing.map(|missing| missing.accepts.clone()))),
        Why::Model(_) => missing,
    }
}

/// The error for disciplines that the models do not know; `shares`: of those that hold classes to shares they know some.
fn no_model(file: &str, names: &[String], shares: bool, setting: &Setting) -> InputError {
    let found = Found::thing(format!("no model of {}", names.join(", ")));
    InputError::new(file, "compare.aqm", found, stability::with_a_model(&setting.link, shares))
}

/// What a picture of the answers shows: a course, or a distribution.
fn charts(asked: OfLoop, rows: &[Row<'_>]) -> Vec<Chart> {
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let line = |row: &Row<'_>, at: &dyn Fn(&Map<String, Value>) -> [Value; 2]| {
        let [x, y] = at(row.answer.as_ref().ok()?).map(|value| all(&value));
        let points = x.iter().zip(&y).filter_map(|(x, y)| Some([x.as_f64()?, y.as_f64()?])).collect();
        Some(Line { label: label(row.case, &row.contender.label), points })
    };
    let chart = |x, y, log, at: &dyn Fn(&Map<String, Value>) -> [Value; 2]| Chart {
        x,
        y,
        log,
        lines: rows.iter().filter_map(|row| line(row, at)).collect(),
    };
    if asked == OfLoop::Markov {
        let shares = |a: &Map<String, Value>| ["q_pkts", "share"].map(|name| a["distribution"][name].clone());
        return vec![chart("queue, packets", "share of the time", true, &shares)];
    }
    let over_time = |name: &'static str| move |a: &Map<String, Value>| ["t_s", name].map(|name| a[name].clone());
    vec![
        chart("time, s", "queue, packets", false, &over_time("q_pkts")),
        chart("time, s", "signal probability", false, &over_time("p")),
    ]
}

/// A map for every case and every discipline that the model knows.
fn maps(file: &str, cases: &[Case], sides: [Side; 2], args: &TheoryArgs, ui: &Ui) -> Result<Exit, Failure> {
    let (mut found, mut without, mut known) = (Vec::new(), Vec::new(), String::new());
    for case in cases {
        for contender in &case.scenario.compare {
            let setting = setting::of(case, &contender.spec).map_err(|error| in_file(file, &error))?;
            known = stability::with_a_model(&setting.link, false);
            match Drawn::of(label(case, &contender.label), &contender.spec, &setting, sides, &args.map) {
                Ok(map) => found.push(map),
                Err(why) => without.push(why),
            }
        }
    }
    if found.is_empty() {
        return Err(InputError::new(file, "--map", Found::thing(without.join("; ")), known).into());
    }
    map::show(&cases[0].scenario.title, &found, sides, &args.map, ui)?;
    without.iter().for_each(|why| ui.note(why));
    Ok(Exit::Done)
}

struct Row<'a> {
    case: &'a Case,
    contender: &'a Contender,
    setting: Setting,
    answer: Result<Map<String, Value>, Why>,
}

/// Why there is no answer.
enum Why {
    /// The model has none.
    Model(NoAnswer),
    /// It lacks something, or has something that it cannot use; and does it lack a model of the discipline?
    Input(InputError, bool),
}

impl From<NoAnswer> for Why {
    fn from(why: NoAnswer) -> Self {
        Self::Model(why)
    }
}

impl Why {
    fn text(&self) -> String {
        match self {
            Self::Model(why) => why.text().to_string(),
            Self::Input(error, _) => error.to_string(),
        }
    }

    /// Does the model not know the discipline?
    fn lacks_model(&self) -> bool {
        matches!(self, Self::Model(NoAnswer::NoModel) | Self::Input(_, true))
    }

    /// Did the model look and find no rest? That is worth a row.
    const fn is_finding(&self) -> bool {
        matches!(self, Self::Model(why) if !matches!(why, NoAnswer::NoModel))
    }
}

/// The figures by name.
fn answer(
    asked: OfLoop,
    args: &TheoryArgs,
    ask: &models::markov::Ask,
    case: &Case,
    contender: &Contender,
    setting: &Setting,
) -> Result<Map<String, Value>, Why> {
    let map = |value: Value| match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    match asked {
        OfLoop::Stability => {
            let mut found = map(json!(stability::of(&contender.spec, setting)?));
            if args.critical {
                for (name, what, now) in [
                    ("critical_flows", Scaled::Flows, setting.count()),
                    ("critical_base_rtt_factor", Scaled::RoundTrip, 1.0),
                    ("critical_rate_mbps", Scaled::Capacity, setting.link.rate.0 as f64 * 1e-6),
                ] {
                    let edge = stability::critical(&contender.spec, setting, what).map(|factor| factor * now);
                    found.insert(name.to_string(), json!(edge));
                }
            }
            Ok(found)
        }
        OfLoop::Fluid => {
            let scenario = &case.scenario;
            let course = fluid::of(&contender.spec, setting, scenario.duration.secs(), scenario.warmup.secs())?;
            Ok(map(json!(course)))
        }
        OfLoop::Markov => match models::markov::of(&contender.spec, setting, ask) {
            Ok(found) => Ok(map(json!(found))),
            Err(why) => Err(Why::Input(args.markov.no_answer(&why), why == models::markov::NoAnswer::NoModel)),
        },
    }
}

impl Row<'_> {
    fn json(&self) -> Value {
        let axes: Map<String, Value> =
            self.case.axes.iter().map(|(axis, value)| (axis.clone(), json!(value))).collect();
        let mut row = json!({
            "label": self.contender.label,
            "aqm": self.contender.spec.canonical(),
            "axes": axes,
            "flows": self.setting.flows,
            "capacity_pkts_per_s": self.setting.capacity,
            "signals_are_drops": self.setting.drops,
            "left_out": self.setting.left_out,
        });
        match &self.answer {
            Ok(found) => found.iter().for_each(|(name, value)| row[name] = value.clone()),
            Err(why) => row["no_answer"] = json!(why.text()),
        }
        row
    }
}

const STABILITY: [Column; 10] = [
    ("stable", "stable", ""),
    ("q_rest_pkts", "queue", "pkts"),
    ("load_rest", "load", ""),
    ("p_rest", "p", ""),
    ("window_pkts", "window", "pkts"),
    ("rtt_ms", "RTT", "ms"),
    ("crossover_rad_per_s", "crossover", "rad/s"),
    ("gain_margin", "gain margin", "x"),
    ("phase_margin_deg", "phase margin", "deg"),
    ("delay_margin_ms", "delay margin", "ms"),
];
const CRITICAL: [Column; 3] = [
    ("critical_flows", "edge: flows", ""),
    ("critical_base_rtt_factor", "edge: base RTT", "x"),
    ("critical_rate_mbps", "edge: rate", "Mb/s"),
];
const FLUID: [Column; 4] = [
    ("q_mean_pkts", "queue", "pkts"),
    ("q_std_pkts", "std", "pkts"),
    ("period_s", "swings every", "s"),
    ("p_mean", "p", ""),
];

fn text(asked: OfLoop, ui: &Ui, rows: &[Row<'_>]) -> String {
    let columns: Vec<Column> = match asked {
        OfLoop::Stability
            if rows.iter().any(|row| row.answer.as_ref().is_ok_and(|a| a.contains_key(CRITICAL[0].0))) =>
        {
            STABILITY.iter().chain(&CRITICAL).copied().collect()
        }
        OfLoop::Stability => STABILITY.to_vec(),
        OfLoop::Fluid => FLUID.to_vec(),
        OfLoop::Markov => markov::COLUMNS.to_vec(),
    };
    let heads: Vec<&str> = ["discipline"].into_iter().chain(columns.iter().map(|c| c.1)).collect();
    let units: Vec<&str> = [""].into_iter().chain(columns.iter().map(|c| c.2)).collect();
    let mut table = Table::new(&heads).units(&units);
    let mut notes = Vec::new();
    for row in rows {
        let label = label(row.case, &row.contender.label);
        match &row.answer {
            Ok(found) => {
                let cell = |(name, ..): &Column| match &found[*name] {
                    Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_string(),
                    Value::Number(n) => n.as_f64().map_or("-".to_string(), |x| significant(x, 3)),
                    _ => "-".to_string(),
                };
                table.row([label].into_iter().chain(columns.iter().map(cell)).collect());
            }
            Err(why) => {
                notes.push(format!("{label}: {}", why.text()));
                if why.is_finding() {
                    let none = columns.iter().map(|_| "-".to_string());
                    table.row([label].into_iter().chain(none).collect());
                }
            }
        }
        for what in &row.setting.left_out {
            let note = format!("left out: {what}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let about = match asked {
        OfLoop::Stability => "-: none; a gain that may grow for ever, a delay that may be as long as it likes",
        OfLoop::Fluid => "-: nothing repeats",
        OfLoop::Markov => markov::ABOUT,
    };
    if let Some(row) = rows.iter().find(|row| row.answer.as_ref().is_err_and(Why::lacks_model)) {
        notes.push(stability::with_a_model(&row.setting.link, asked == OfLoop::Stability));
    }
    notes.insert(0, about.to_string());
    format!("{}\n{}", table.render(ui, "").trim_end(), notes.join("\n"))
}
