//! `forebay tune`: parameters for an aim, found in the model and tried in the simulation.

use forebay_aqm::Spec;
use forebay_lab::results::summary::Summary;
use forebay_lab::scenario::{Case, Found, InputError, Overrides};
use forebay_lab::stats::Interval;
use forebay_lab::theory::setting::{self, Setting};
use forebay_lab::theory::stability;
use forebay_lab::theory::tune::{self, Aim, Figure, NotTuned, Tuned, Unit};
use serde_json::{Value, json};

use crate::args::TuneArgs;
use crate::batch_args::BatchArgs;
use crate::digits::{interval, significant};
use crate::failure::{Exit, Failure};
use crate::output::{Tone, Ui};
use crate::table::Table;
use crate::{report, run, summary};

/// Seeks, runs, compares.
pub(crate) fn command(args: &TuneArgs, ui: &Ui) -> Result<Exit, Failure> {
    let read = |words: &String| {
        Aim::parse(words).map_err(|bad| InputError::new("--for", "", Found::text(words), bad.accepts).hint(bad.hint))
    };
    let aims = args.aims.iter().map(read).collect::<Result<Vec<Aim>, _>>()?;
    let [given] = args.batch.aqm.as_slice() else {
        let found = Found::thing(format!("{} of them", args.batch.aqm.len()));
        return Err(InputError::new("--aqm", "", found, "the one discipline whose parameters are sought").into());
    };
    let overrides = Overrides { sets: args.batch.set.clone(), vary: args.vary.clone(), aqm: args.batch.aqm.clone() };
    let cases = ui.cases(&args.batch.scenario, &overrides)?;
    let words = begun(given, &cases[0].scenario.compare[0].spec);
    let spec = Spec::parse(&words).unwrap_or_else(|_| cases[0].scenario.compare[0].spec.clone());
    let file = args.batch.scenario.display().to_string();
    let of = |case: &Case| setting::of(case, &spec).map_err(|error| crate::models::in_file(&file, &error));
    let settings = cases.iter().map(of).collect::<Result<Vec<Setting>, _>>()?;
    let tuned = tune::tune(&words, &spec, &settings, &aims).map_err(|why| nothing(given, &why, &settings[0]))?;
    if !tuned.met {
        return Err(unmet(&tuned, &aims, &settings).into());
    }
    if !ui.quiet() {
        ui.note(&format!("found after {} loops of the model: {}", tuned.loops, tuned.text));
    }
    let mut aqm = vec![tuned.text.clone()];
    aqm.extend((tuned.text != *given).then(|| given.clone()));
    let BatchArgs { scenario, seed, runs, set, output, jobs, force, .. } = &args.batch;
    let (scenario, set, output) = (scenario.clone(), set.clone(), output.clone());
    let batch = BatchArgs { scenario, aqm, seed: *seed, runs: *runs, set, output, force: *force, jobs: *jobs };
    let plan = run::plan(&batch, &args.vary, ui)?;
    let (document, store) = run::results(&batch, &plan, ui)?;
    let (dir, report) = (store.dir(), report::write(&store)?);
    let rows = rows(&tuned, &aims, &cases, &settings, &document);
    if ui.json() {
        ui.print_json(&json!({
            "version": 1,
            "aqm": tuned.text,
            "canonical": tuned.spec.canonical(),
            "loops": tuned.loops,
            "aims": rows.iter().map(Row::json).collect::<Vec<_>>(),
            "compare": document.compare,
            "results": dir,
        }))?;
    } else {
        let tables = if args.vary.is_empty() { summary::by_case } else { summary::by_point };
        let lead = ui.tone(Tone::Strong, &tuned.text);
        ui.print(&format!("{lead}\n\n{}\n{}", table(ui, &rows), tables(ui, &document)))?;
        ui.print(&format!("results  {}\nreport   {}", dir.display(), report.display()))?;
    }
    Ok(Exit::Done)
}

/// The discipline to begin with: by its design rule, if it has one and no preset was named.
fn begun(given: &str, spec: &Spec) -> String {
    let rule = spec.entry().presets.iter().any(|preset| preset.name == "tuned");
    match given.trim().split_once(char::is_whitespace) {
        _ if !rule || given.contains("preset=") => given.trim().to_string(),
        Some((name, rest)) => format!("{name} preset=tuned {}", rest.trim()),
        None => format!("{} preset=tuned", given.trim()),
    }
}

fn nothing(given: &str, why: &NotTuned, setting: &Setting) -> InputError {
    let (found, accepts) = match why {
        NotTuned::Model(why) => (why.text(), stability::with_a_model(&setting.link, true)),
        NotTuned::NothingFree => {
            let free = "a discipline with a parameter free that is a number above 0; red has with min_th=20p";
            ("every number set", free.to_string())
        }
    };
    InputError::new("--aqm", given, Found::thing(found.to_string()), accepts)
}

/// The aims cannot be met, as far as was sought.
fn unmet(tuned: &Tuned, aims: &[Aim], settings: &[Setting]) -> InputError {
    let worst = |aim: &Aim| {
        let figures: Vec<Option<f64>> =
            tuned.model.iter().zip(settings).map(|(model, setting)| aim.figure_of(model, setting)).collect();
        let known = figures.iter().flatten().copied();
        let figure = if aim.at_least { known.fold(f64::INFINITY, f64::min) } else { known.fold(0.0, f64::max) };
        format!("{} has {} {}", aim.text, significant(figure, 3), unit(aim.figure))
    };
    let all: Vec<String> = aims.iter().map(worst).collect();
    let swings = if tuned.model.iter().all(|model| model.stable) { "" } else { ", and it swings" };
    let found = format!("no parameters that meet them; the best of {} loops is {}{swings}", tuned.loops, tuned.text);
    let error = InputError::new("--for", "", Found::thing(found), "aims that the model can meet");
    error.hint(all.join(", "))
}

const fn unit(figure: Figure) -> &'static str {
    match figure {
        Figure::Queue(Unit::Pkts) => "packets",
        Figure::Queue(Unit::Ms) | Figure::DelayMargin => "ms",
        Figure::PhaseMargin => "degrees",
        Figure::GainMargin => "times",
    }
}

/// An aim at one point of the axes.
struct Row<'a> {
    aim: &'a Aim,
    case: &'a Case,
    model: Option<f64>,
    /// What the simulation has of it, if it can be measured.
    simulated: Option<Interval>,
}

fn rows<'a>(
    tuned: &Tuned,
    aims: &'a [Aim],
    cases: &'a [Case],
    settings: &[Setting],
    document: &Summary,
) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (i, (case, setting)) in cases.iter().zip(settings).enumerate() {
        let tuned_one = document.compare.cases.get(i).and_then(|case| case.contenders.first());
        let queue = tuned_one.and_then(|one| one.mean.get("queue_pkts.mean")).filter(|queue| queue.mean.is_finite());
        for aim in aims {
            let times = match aim.figure {
                Figure::Queue(Unit::Ms) => Some(1e3 / setting.capacity),
                Figure::Queue(Unit::Pkts) => Some(1.0),
                _ => None,
            };
            let simulated =
                times.zip(queue).map(|(x, queue)| Interval { mean: queue.mean * x, half: queue.half * x, n: queue.n });
            rows.push(Row { aim, case, model: aim.figure_of(&tuned.model[i], setting), simulated });
        }
    }
    rows
}

impl Row<'_> {
    /// Does the simulation meet the aim? Not known where it cannot be measured, or the interval has the bound in it.
    fn holds(&self) -> Option<bool> {
        let found = self.simulated.as_ref()?;
        let (low, high, bound) = (found.lo(), found.hi(), self.aim.bound);
        let (all, none) = if self.aim.at_least { (low >= bound, high < bound) } else { (high <= bound, low > bound) };
        if all || none { Some(all) } else { None }
    }

    fn json(&self) -> Value {
        let axes: serde_json::Map<String, Value> =
            self.case.axes.iter().map(|(axis, value)| (axis.clone(), json!(value))).collect();
        json!({
            "aim": self.aim.text,
            "axes": axes,
            "unit": unit(self.aim.figure),
            "model": self.model,
            "simulated": self.simulated,
            "holds": self.holds(),
        })
    }
}

fn table(ui: &Ui, rows: &[Row<'_>]) -> String {
    let mut table = Table::new(&["aim", "at", "model", "simulation", "unit", "holds"]);
    for row in rows {
        let at: Vec<String> = row.case.axes.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        let holds = match (row.simulated.is_some(), row.holds()) {
            (false, _) => "by the model",
            (true, Some(true)) => "yes",
            (true, Some(false)) => "no",
            (true, None) => "unclear",
        };
        let simulated =
            row.simulated.as_ref().map_or("-".to_string(), |found| interval(Some(found.mean), Some(found.half)));
        table.row(vec![
            row.aim.text.clone(),
            at.join(" "),
            row.model.map_or("any".to_string(), |x| significant(x, 3)),
            simulated,
            unit(row.aim.figure).to_string(),
            holds.to_string(),
        ]);
    }
    table.render(ui, "")
}
