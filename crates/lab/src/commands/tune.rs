//! `forebay tune`: finds parameters that meet aims (bounds on the queue or on margins) in a model, and checks them by
//! simulation. The axes of a scenario are the keys that vary.

use std::path::PathBuf;

use forebay_aqm::Spec;
use serde::Serialize;

use super::failure::Failure;
use super::host::Host;
use super::report;
use super::run::Batch;
use super::theory::in_file;
use crate::figures::stats::Interval;
use crate::render::digits::significant;
use crate::results::comparison::Comparison;
use crate::results::named::Axes;
use crate::results::summary::Summary;
use crate::scenario::{Case, Contender, Found, InputError};
use crate::theory::setting::{self, Setting};
use crate::theory::stability;
use crate::theory::tune::{self, Aim, Figure, NotTuned, Tuned, Unit};

/// An aim, evaluated at one combination of values of the axes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The aim as written.
    pub aim: String,
    /// Values of the axes.
    pub axes: Axes,
    /// Unit of the two values `model` and `simulated`.
    pub unit: &'static str,
    /// Value of the bounded quantity in the model. `None` if it is infinite, or for the phase margin of several control
    /// loops together.
    pub model: Option<f64>,
    /// Value of this quantity in the simulation, if it can be measured there.
    pub simulated: Option<Interval>,
    /// Whether the simulation meets the aim. `None` if the quantity cannot be measured, or its confidence interval
    /// contains the bound.
    pub holds: Option<bool>,
}

/// The JSON document of `forebay tune --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Format version, 1.
    pub version: u32,
    /// The discipline with its parameters, in the syntax of `--aqm`.
    pub aqm: String,
    /// The discipline in canonical form, with all parameters.
    pub canonical: String,
    /// Number of models that were evaluated during the search.
    pub loops: usize,
    /// The aims at each combination of values of the axes.
    pub aims: Vec<Row>,
    /// Comparison of simulated runs: of the discipline with the parameters found, and of the discipline to tune.
    pub compare: Comparison,
    /// Directory of the runs.
    pub results: PathBuf,
}

/// Result of a tuning.
pub struct Outcome {
    /// The JSON document of the command (`--json`).
    pub document: Document,
    /// Summary of the runs.
    pub summary: Summary,
    /// Path of `report.html`.
    pub report: PathBuf,
}

/// Reads aims, such as `queue<=20ms`.
///
/// # Errors
/// An aim is invalid.
pub fn aims(words: &[String]) -> Result<Vec<Aim>, InputError> {
    let read = |words: &String| {
        Aim::parse(words).map_err(|bad| InputError::new("--for", "", Found::text(words), bad.accepts).hint(bad.hint))
    };
    words.iter().map(read).collect()
}

/// Finds parameters, simulates the discipline with and without them, and compares the runs. `given` is the discipline
/// to tune, in the syntax of `--aqm`. `cases` are the combinations of values of the axes, with `given` as the
/// discipline.
///
/// # Errors
/// The model cannot meet the aims, or the runs fail.
pub fn tune(batch: &Batch<'_>, cases: &[Case], given: &str, aims: &[Aim], host: &Host<'_>) -> Result<Outcome, Failure> {
    let words = begun(given, &cases[0].scenario.compare[0].spec);
    let spec = Spec::parse(&words).unwrap_or_else(|_| cases[0].scenario.compare[0].spec.clone());
    let file = batch.name();
    let of = |case: &Case| setting::of(case, &spec).map_err(|error| in_file(&file, &error));
    let settings = cases.iter().map(of).collect::<Result<Vec<Setting>, _>>()?;
    let tuned = tune::tune(&words, &spec, &settings, aims).map_err(|why| nothing(given, &why, &settings[0]))?;
    if !tuned.met {
        return Err(unmet(&tuned, aims, &settings).into());
    }
    host.note(&format!("found after {} loops of the model: {}", tuned.loops, tuned.text));
    let label = tuned.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let best = Contender { label, spec: tuned.spec.clone() };
    let both = cases.iter().cloned().map(|case| with_tuned(case, &best)).collect();
    let plan = batch.plan(both)?.with_revision(&(host.build)());
    let (summary, store) = batch.results(&plan, host)?;
    let report = report::write(&store)?;
    let document = Document {
        version: 1,
        aqm: tuned.text.clone(),
        canonical: tuned.spec.canonical(),
        loops: tuned.loops,
        aims: rows(&tuned, aims, cases, &settings, &summary.compare),
        compare: summary.compare.clone(),
        results: store.dir().to_path_buf(),
    };
    Ok(Outcome { document, summary, report })
}

/// The scenario of `case` (a combination of values of the axes) with the tuned discipline as the first that it
/// compares. A given discipline with the same label is removed.
fn with_tuned(mut case: Case, tuned: &Contender) -> Case {
    let compare = &mut case.scenario.compare;
    compare.retain(|given| given.label != tuned.label);
    compare.insert(0, tuned.clone());
    case
}

/// The discipline from which the search starts: `given`, plus `preset=tuned` (parameters by the discipline's design
/// rule) if it has this preset and `given` names none.
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
            let free = "a discipline with an unset numeric parameter above 0; red needs min_th=20p";
            ("no unset numeric parameter", free.to_string())
        }
    };
    InputError::new("--aqm", given, Found::thing(found.to_string()), accepts)
}

/// The error if the search finds no parameters that meet the aims. It names the best parameters found.
fn unmet(tuned: &Tuned, aims: &[Aim], settings: &[Setting]) -> InputError {
    let worst = |aim: &Aim| {
        let figures: Vec<Option<f64>> =
            tuned.model.iter().zip(settings).map(|(model, setting)| aim.figure_of(model, setting)).collect();
        let known = figures.iter().flatten().copied();
        let figure = if aim.at_least { known.fold(f64::INFINITY, f64::min) } else { known.fold(0.0, f64::max) };
        format!("{} has {} {}", aim.text, significant(figure, 3), unit(aim.figure))
    };
    let all: Vec<String> = aims.iter().map(worst).collect();
    let oscillates = if tuned.model.iter().all(|model| model.stable) { "" } else { ", and it oscillates" };
    let found =
        format!("no parameters that meet the aims; the best of {} loops is {}{oscillates}", tuned.loops, tuned.text);
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

fn rows(tuned: &Tuned, aims: &[Aim], cases: &[Case], settings: &[Setting], compare: &Comparison) -> Vec<Row> {
    let mut rows = Vec::new();
    for (i, (case, setting)) in cases.iter().zip(settings).enumerate() {
        let tuned_one = compare.cases.get(i).and_then(|case| case.contenders.first());
        let queue = tuned_one.and_then(|one| one.mean.get("queue_pkts.mean")).filter(|queue| queue.mean.is_finite());
        for aim in aims {
            let times = match aim.figure {
                Figure::Queue(Unit::Ms) => Some(1e3 / setting.capacity),
                Figure::Queue(Unit::Pkts) => Some(1.0),
                _ => None,
            };
            let simulated =
                times.zip(queue).map(|(x, queue)| Interval { mean: queue.mean * x, half: queue.half * x, n: queue.n });
            rows.push(Row {
                aim: aim.text.clone(),
                axes: case.axes.iter().cloned().collect(),
                unit: unit(aim.figure),
                model: aim.figure_of(&tuned.model[i], setting),
                holds: simulated.as_ref().and_then(|found| holds(aim, found)),
                simulated,
            });
        }
    }
    rows
}

/// Whether the measured value meets the aim. `None` if its confidence interval contains the bound.
fn holds(aim: &Aim, found: &Interval) -> Option<bool> {
    let (low, high, bound) = (found.lo(), found.hi(), aim.bound);
    let (all, none) = if aim.at_least { (low >= bound, high < bound) } else { (high <= bound, low > bound) };
    if all || none { Some(all) } else { None }
}
