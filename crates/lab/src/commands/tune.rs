//! Parameters for an aim, found in the model and tried in the simulation.

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
use crate::scenario::{Case, Found, InputError, Overrides};
use crate::theory::setting::{self, Setting};
use crate::theory::stability;
use crate::theory::tune::{self, Aim, Figure, NotTuned, Tuned, Unit};

/// An aim at one point of the axes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// As it was written.
    pub aim: String,
    /// The point on the axes.
    pub axes: Axes,
    /// Unit of the figures.
    pub unit: &'static str,
    /// What the model has of it; none: any.
    pub model: Option<f64>,
    /// What the simulation has of it, if it can be measured.
    pub simulated: Option<Interval>,
    /// Does the simulation meet the aim? Not known where it cannot be measured, or the interval has the bound in it.
    pub holds: Option<bool>,
}

/// What `forebay tune --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Format, 1.
    pub version: u32,
    /// The discipline with its parameters, as `--aqm` takes it.
    pub aqm: String,
    /// The same with every parameter.
    pub canonical: String,
    /// Loops that were looked at.
    pub loops: usize,
    /// The aims at each point of the axes.
    pub aims: Vec<Row>,
    /// What was found beside what was given.
    pub compare: Comparison,
    /// Where the runs are.
    pub results: PathBuf,
}

/// What was found.
pub struct Outcome {
    /// As JSON.
    pub document: Document,
    /// The runs.
    pub summary: Summary,
    /// Their page.
    pub report: PathBuf,
}

/// Seeks parameters, runs what was found beside what was given, and compares. `changes` has the one discipline whose
/// parameters are sought.
///
/// # Errors
/// An aim or the scenario is wrong, the model cannot meet the aims, or the runs cannot be done.
pub fn tune(batch: &Batch<'_>, changes: &Overrides, aims: &[String], host: &Host<'_>) -> Result<Outcome, Failure> {
    let read = |words: &String| {
        Aim::parse(words).map_err(|bad| InputError::new("--for", "", Found::text(words), bad.accepts).hint(bad.hint))
    };
    let aims = aims.iter().map(read).collect::<Result<Vec<Aim>, _>>()?;
    let [given] = changes.aqm.as_slice() else {
        let found = Found::thing(format!("{} of them", changes.aqm.len()));
        return Err(InputError::new("--aqm", "", found, "the one discipline whose parameters are sought").into());
    };
    let cases = batch.source.cases(changes)?;
    let words = begun(given, &cases[0].scenario.compare[0].spec);
    let spec = Spec::parse(&words).unwrap_or_else(|_| cases[0].scenario.compare[0].spec.clone());
    let file = batch.source.name();
    let of = |case: &Case| setting::of(case, &spec).map_err(|error| in_file(&file, &error));
    let settings = cases.iter().map(of).collect::<Result<Vec<Setting>, _>>()?;
    let tuned = tune::tune(&words, &spec, &settings, &aims).map_err(|why| nothing(given, &why, &settings[0]))?;
    if !tuned.met {
        return Err(unmet(&tuned, &aims, &settings).into());
    }
    host.note(&format!("found after {} loops of the model: {}", tuned.loops, tuned.text));
    let mut aqm = vec![tuned.text.clone()];
    aqm.extend((tuned.text != *given).then(|| given.clone()));
    let plan = batch.plan(&Overrides { aqm, ..changes.clone() }, &(host.build)())?;
    let (summary, store) = batch.results(&plan, host)?;
    let report = report::write(&store)?;
    let document = Document {
        version: 1,
        aqm: tuned.text.clone(),
        canonical: tuned.spec.canonical(),
        loops: tuned.loops,
        aims: rows(&tuned, &aims, &cases, &settings, &summary.compare),
        compare: summary.compare.clone(),
        results: store.dir().to_path_buf(),
    };
    Ok(Outcome { document, summary, report })
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

/// Does what was found meet the aim? Not known where the interval has the bound in it.
fn holds(aim: &Aim, found: &Interval) -> Option<bool> {
    let (low, high, bound) = (found.lo(), found.hi(), aim.bound);
    let (all, none) = if aim.at_least { (low >= bound, high < bound) } else { (high <= bound, low > bound) };
    if all || none { Some(all) } else { None }
}
