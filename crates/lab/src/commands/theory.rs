//! `forebay theory`: what models say about a scenario, without simulation. The disciplines that a scenario compares are
//! its contenders; its axes are the keys that vary. The loop is the control loop of TCP with a discipline at one link;
//! a loop model is a model of it.

use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::units::Link;
use serde::Serialize;

use crate::results::named::Axes;
use crate::scenario::{Case, Contender, Found, InputError};
use crate::theory::fluid::{self, Trajectory};
use crate::theory::markov::{self, Ask, Markov};
use crate::theory::mmpp;
use crate::theory::setting::{self, Flows, Scaled, Setting};
use crate::theory::stability::{self, NoAnswer, Stability};

/// A question to a model of TCP and a discipline.
#[derive(Clone, Copy)]
pub enum Asked<'a> {
    /// Equilibrium and stability margins of the linearized control loop of TCP and a discipline.
    Stability {
        /// Whether to find the number of flows, round-trip time and rate at which the loop becomes unstable or stable.
        critical: bool,
    },
    /// Trajectory of the nonlinear loop.
    Fluid,
    /// Distribution of the queue at one fixed signal probability of the discipline, from a Markov chain of queue
    /// lengths.
    Markov {
        /// Parameters of the chain.
        ask: &'a Ask,
        /// The signal probability as the caller wrote it.
        p: Option<&'a str>,
    },
}

impl Asked<'_> {
    /// Name of the model on the command line and in documents.
    const fn topic(self) -> &'static str {
        match self {
            Self::Stability { .. } => "stability",
            Self::Fluid => "fluid",
            Self::Markov { .. } => "markov",
        }
    }

    /// Whether the model has a result for some of the disciplines that give each class of traffic its share of the
    /// link.
    const fn knows_shares(self) -> bool {
        matches!(self, Self::Stability { .. })
    }
}

/// The JSON document of `forebay theory --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Document<R> {
    /// Format version, 1.
    pub version: u32,
    /// Name of the model.
    pub topic: &'static str,
    /// Title of the scenario.
    pub scenario: String,
    /// One result for each combination of values of the axes and each contender; of `mmpp`, one for each combination.
    pub results: Vec<R>,
}

impl<R> Document<R> {
    fn new(topic: &'static str, cases: &[Case], results: Vec<R>) -> Self {
        let scenario = cases.first().map_or_else(String::new, |case| case.scenario.title.clone());
        Self { version: 1, topic, scenario, results }
    }
}

/// Answer of a loop model for one contender and one combination of values of the axes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The contender as written.
    pub label: String,
    /// The contender in canonical form, with all parameters.
    pub aqm: String,
    /// Values of the axes.
    pub axes: Axes,
    flows: Vec<Flows>,
    capacity_pkts_per_s: f64,
    signals_are_drops: bool,
    /// Features of the scenario that the model ignores.
    pub left_out: Vec<String>,
    /// The answer, or why there is none.
    #[serde(flatten)]
    pub answer: Answer,
    /// The properties of the link that a discipline knows.
    #[serde(skip)]
    pub link: Link,
}

/// Answer of a model, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Answer of the linearised loop.
    Stability(Margins),
    /// Answer of the nonlinear loop.
    Fluid(Trajectory),
    /// Answer of the Markov chain of queue lengths.
    Markov(Box<Markov>),
    /// The model has no answer.
    None(Silence),
}

/// Equilibrium and stability margins of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct Margins {
    /// Equilibrium and margins of the scenario as written.
    #[serde(flatten)]
    pub here: Stability,
    /// Values at which the loop becomes unstable or stable, if requested.
    #[serde(flatten)]
    pub critical: Option<Critical>,
}

/// Values of three quantities, each varied alone, at which the loop becomes unstable or stable; `None` where there is
/// none.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Critical {
    /// Number of flows.
    #[serde(rename = "critical_flows")]
    pub flows: Option<f64>,
    /// Factor on the round-trip times without queueing.
    #[serde(rename = "critical_base_rtt_factor")]
    pub base_rtt_factor: Option<f64>,
    /// Rate of the link in Mbit/s.
    #[serde(rename = "critical_rate_mbps")]
    pub rate_mbps: Option<f64>,
}

/// Why a model has no answer, for JSON documents and for callers.
#[derive(Clone, Debug, Serialize)]
pub struct Silence {
    no_answer: String,
    /// The reason as a type, for callers.
    #[serde(skip)]
    pub why: Why,
}

/// The reason why there is no answer.
#[derive(Clone, Debug)]
pub enum Why {
    /// The model has no answer.
    Model(NoAnswer),
    /// An input is missing or unusable.
    Input {
        /// The input, and what is accepted.
        error: InputError,
        /// Whether the discipline has no model.
        lacks_model: bool,
    },
}

impl Why {
    /// The reason as text.
    pub fn text(&self) -> String {
        match self {
            Self::Model(why) => why.text().to_string(),
            Self::Input { error, .. } => error.to_string(),
        }
    }

    /// Whether the discipline has no model.
    pub const fn lacks_model(&self) -> bool {
        matches!(self, Self::Model(NoAnswer::NoModel) | Self::Input { lacks_model: true, .. })
    }

    /// Whether the discipline's loop model has no answer, for example because there is no equilibrium. Tables show this
    /// in a row.
    pub const fn is_finding(&self) -> bool {
        matches!(self, Self::Model(why) if !matches!(why, NoAnswer::NoModel))
    }
}

impl Row {
    /// Contender and values of the axes.
    pub fn title(&self) -> String {
        let axes: String = self.axes.words().map(|(axis, value)| format!("  {axis}={value}")).collect();
        format!("{}{axes}", self.label)
    }

    /// The reason why there is no answer; `None` if there is one.
    pub const fn why(&self) -> Option<&Why> {
        match &self.answer {
            Answer::None(silence) => Some(&silence.why),
            _ => None,
        }
    }
}

/// Contender and values of the axes, as a title.
pub fn label(case: &Case, compared: &str) -> String {
    let axes: String = case.axes.iter().map(|(axis, value)| format!("  {axis}={value}")).collect();
    format!("{compared}{axes}")
}

/// The error, with the name of the scenario file as its place.
pub fn in_file(file: &str, error: &InputError) -> InputError {
    InputError::new(file, error.key.clone(), error.found.clone(), error.accepts.clone())
}

/// Answers for every combination of values of the axes and every contender. `file` is the scenario file, named in
/// messages.
///
/// # Errors
/// The models cannot use the scenario, or have no answer for any row.
pub fn of_loop(file: &str, cases: &[Case], asked: Asked<'_>) -> Result<Document<Row>, InputError> {
    let mut rows = Vec::new();
    for case in cases {
        for contender in &case.scenario.compare {
            let setting = setting::of(case, &contender.spec).map_err(|error| in_file(file, &error))?;
            let answer = answer(asked, case, contender, &setting)
                .unwrap_or_else(|why| Answer::None(Silence { no_answer: why.text(), why }));
            rows.push(Row {
                label: contender.label.clone(),
                aqm: contender.spec.canonical(),
                axes: case.axes.iter().cloned().collect(),
                flows: setting.flows,
                capacity_pkts_per_s: setting.capacity,
                signals_are_drops: setting.drops,
                left_out: setting.left_out,
                answer,
                link: setting.link,
            });
        }
    }
    match refusal(file, asked, &rows) {
        Some(error) => Err(error),
        None => Ok(Document::new(asked.topic(), cases, rows)),
    }
}

/// The error if no row has an answer or a finding ([`Why::is_finding`]).
fn refusal(file: &str, asked: Asked<'_>, rows: &[Row]) -> Option<InputError> {
    let why = rows.iter().map(|row| row.why().filter(|why| !why.is_finding()));
    let why: Vec<&Why> = why.collect::<Option<_>>()?;
    let without: Vec<&Row> = rows.iter().zip(&why).filter(|(_, why)| why.lacks_model()).map(|(row, _)| row).collect();
    let missing = without.first().map(|row| {
        let names: Vec<String> = without.iter().map(|row| row.title()).collect();
        let found = Found::thing(format!("no model of {}", names.join(", ")));
        InputError::new(file, "compare.aqm", found, stability::with_a_model(&row.link, asked.knows_shares()))
    });
    match why.first()? {
        // Without a model of the discipline, an answer needs `--p`: the hint lists the disciplines that have a model.
        Why::Input { error, .. } => Some(error.clone().hint(missing.map(|missing| missing.accepts.clone()))),
        Why::Model(_) => missing,
    }
}

fn answer(asked: Asked<'_>, case: &Case, contender: &Contender, setting: &Setting) -> Result<Answer, Why> {
    let spec = &contender.spec;
    match asked {
        Asked::Stability { critical } => {
            let here = stability::of(spec, setting).map_err(Why::Model)?;
            let edge = |what, now: f64| stability::critical(spec, setting, what).map(|factor| factor * now);
            let critical = critical.then(|| Critical {
                flows: edge(Scaled::Flows, setting.count()),
                base_rtt_factor: edge(Scaled::RoundTrip, 1.0),
                rate_mbps: edge(Scaled::Capacity, setting.link.rate.0 as f64 * 1e-6),
            });
            Ok(Answer::Stability(Margins { here, critical }))
        }
        Asked::Fluid => {
            let scenario = &case.scenario;
            let trajectory = fluid::of(spec, setting, scenario.duration.secs(), scenario.warmup.secs());
            Ok(Answer::Fluid(trajectory.map_err(Why::Model)?))
        }
        Asked::Markov { ask, p } => match markov::of(spec, setting, ask) {
            Ok(found) => Ok(Answer::Markov(Box::new(found))),
            Err(why) => {
                let lacks_model = why == markov::NoAnswer::NoModel;
                Err(Why::Input { error: no_answer(p, &why), lacks_model })
            }
        },
    }
}

/// The error about the argument `--p`. It says which values would give an answer.
fn no_answer(p: Option<&str>, why: &markov::NoAnswer) -> InputError {
    let found = match (p, why) {
        (Some(p), _) => Found::text(p),
        (None, markov::NoAnswer::Outside { p, .. }) => Found::thing(format!("{p:.3e} by the discipline")),
        (None, _) => Found::thing("nothing"),
    };
    InputError::new("--p", "", found, why.accepts())
}

/// Reads the parameters of the Markov chain.
///
/// # Errors
/// A number has no unit or is out of range.
pub fn ask(p: Option<&str>, sigma: Option<&str>, step: Option<&str>) -> Result<Ask, InputError> {
    let wrong = |name: &'static str, text: &str, bad: BadValue| {
        InputError::new(name, "", Found::text(text), bad.accepts).hint(bad.hint)
    };
    let p = p.map(|text| markov::probability(text).map_err(|bad| wrong("--p", text, bad))).transpose()?;
    let mut ask = Ask { p, ..Ask::default() };
    if let Some(text) = sigma {
        ask.sigma = markov::Sigma::parse(text).map_err(|bad| wrong("--sigma", text, bad))?;
    }
    if let Some(text) = step {
        ask.step = markov::Step::parse(text).map_err(|bad| wrong("--step", text, bad))?;
    }
    Ok(ask)
}

/// Stationary distribution of the queue for one combination of values of the axes.
#[derive(Clone, Debug, Serialize)]
pub struct InTheLongRun {
    /// Result of the model.
    #[serde(flatten)]
    pub model: mmpp::Model,
    /// Values of the axes.
    pub axes: Axes,
}

/// The stationary queue for every combination of values of the axes. `file` is the scenario file, named in messages.
///
/// # Errors
/// The model cannot use the scenario.
pub fn of_mmpp(file: &str, cases: &[Case]) -> Result<Document<InTheLongRun>, InputError> {
    let one = |case: &Case| {
        let model = mmpp::of(case).map_err(|error| in_file(file, &error))?;
        Ok(InTheLongRun { model, axes: case.axes.iter().cloned().collect() })
    };
    Ok(Document::new("mmpp", cases, cases.iter().map(one).collect::<Result<_, InputError>>()?))
}
