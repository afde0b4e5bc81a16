//! What the models say about a scenario, no packet simulated.

use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::units::Link;
use serde::Serialize;

use crate::results::named::Axes;
use crate::scenario::{Case, Contender, Found, InputError};
use crate::theory::fluid::{self, Course};
use crate::theory::markov::{self, Ask, Markov};
use crate::theory::mmpp;
use crate::theory::setting::{self, Flows, Scaled, Setting};
use crate::theory::stability::{self, NoAnswer, Stability};

/// A model of a loop of TCP and a discipline, and what is asked of it.
#[derive(Clone, Copy)]
pub enum Asked<'a> {
    /// Rest and margins of the linear loop.
    Stability {
        /// Also at which flows, round trip and rate it turns unstable?
        critical: bool,
    },
    /// The course of the nonlinear loop.
    Fluid,
    /// The distribution of the queue at one signal probability.
    Markov {
        /// What is asked.
        ask: &'a Ask,
        /// The probability as it was given.
        p: Option<&'a str>,
    },
}

impl Asked<'_> {
    /// Its word.
    const fn topic(self) -> &'static str {
        match self {
            Self::Stability { .. } => "stability",
            Self::Fluid => "fluid",
            Self::Markov { .. } => "markov",
        }
    }

    /// Does it know some disciplines that hold classes to shares?
    const fn knows_shares(self) -> bool {
        matches!(self, Self::Stability { .. })
    }
}

/// What `forebay theory --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Document<R> {
    /// Format, 1.
    pub version: u32,
    /// The model.
    pub topic: &'static str,
    /// Title of the scenario.
    pub scenario: String,
    /// By case and contender.
    pub results: Vec<R>,
}

impl<R> Document<R> {
    fn new(topic: &'static str, cases: &[Case], results: Vec<R>) -> Self {
        let scenario = cases.first().map_or_else(String::new, |case| case.scenario.title.clone());
        Self { version: 1, topic, scenario, results }
    }
}

/// What the model of a loop says of one contender at one case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The contender as it was written.
    pub label: String,
    /// The same with every parameter.
    pub aqm: String,
    /// The point on the axes.
    pub axes: Axes,
    flows: Vec<Flows>,
    capacity_pkts_per_s: f64,
    signals_are_drops: bool,
    /// What of the scenario the model leaves out.
    pub left_out: Vec<String>,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// The link, as its discipline knows it.
    #[serde(skip)]
    pub link: Link,
}

/// An answer, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Of the linear loop.
    Stability(Margins),
    /// Of the nonlinear loop.
    Fluid(Course),
    /// Of the Markov chain.
    Markov(Box<Markov>),
    /// There is none.
    None(Silence),
}

/// Rest and margins.
#[derive(Clone, Debug, Serialize)]
pub struct Margins {
    /// As the scenario is.
    #[serde(flatten)]
    pub here: Stability,
    /// Where it turns unstable, if that was asked for.
    #[serde(flatten)]
    pub critical: Option<Critical>,
}

/// Where a loop turns unstable; none where it does not.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Critical {
    /// Number of flows.
    #[serde(rename = "critical_flows")]
    pub flows: Option<f64>,
    /// Factor on the round trips without queueing.
    #[serde(rename = "critical_base_rtt_factor")]
    pub base_rtt_factor: Option<f64>,
    /// Rate of the link.
    #[serde(rename = "critical_rate_mbps")]
    pub rate_mbps: Option<f64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, Serialize)]
pub struct Silence {
    no_answer: String,
    /// The same for a caller.
    #[serde(skip)]
    pub why: Why,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Why {
    /// The model has none.
    Model(NoAnswer),
    /// It lacks something, or has something that it cannot use; and does it lack a model of the discipline?
    Input(InputError, bool),
}

impl Why {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            Self::Model(why) => why.text().to_string(),
            Self::Input(error, _) => error.to_string(),
        }
    }

    /// Does the model not know the discipline?
    pub const fn lacks_model(&self) -> bool {
        matches!(self, Self::Model(NoAnswer::NoModel) | Self::Input(_, true))
    }

    /// Did the model look and find no rest? That is worth a row.
    pub const fn is_finding(&self) -> bool {
        matches!(self, Self::Model(why) if !matches!(why, NoAnswer::NoModel))
    }
}

impl Row {
    /// What is compared, at the point of the axes.
    pub fn title(&self) -> String {
        let axes: String = self.axes.words().map(|(axis, value)| format!("  {axis}={value}")).collect();
        format!("{}{axes}", self.label)
    }

    /// Why there is no answer, if there is none.
    pub const fn why(&self) -> Option<&Why> {
        match &self.answer {
            Answer::None(silence) => Some(&silence.why),
            _ => None,
        }
    }
}

/// The same title for a case and a contender.
pub fn label(case: &Case, compared: &str) -> String {
    let axes: String = case.axes.iter().map(|(axis, value)| format!("  {axis}={value}")).collect();
    format!("{compared}{axes}")
}

/// The same error, about the file.
pub fn in_file(file: &str, error: &InputError) -> InputError {
    InputError::new(file, error.key.clone(), error.found.clone(), error.accepts.clone())
}

/// Answers for every case and every discipline compared; `file` is for messages.
///
/// # Errors
/// The models cannot take the scenario, or answer nothing at all.
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

/// Why nothing can be answered: no row has an answer, and none is a loop without a rest.
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
        // Without a model there is an answer all the same, to another question.
        Why::Input(error, _) => Some(error.clone().hint(missing.map(|missing| missing.accepts.clone()))),
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
            let course = fluid::of(spec, setting, scenario.duration.secs(), scenario.warmup.secs());
            Ok(Answer::Fluid(course.map_err(Why::Model)?))
        }
        Asked::Markov { ask, p } => match markov::of(spec, setting, ask) {
            Ok(found) => Ok(Answer::Markov(Box::new(found))),
            Err(why) => Err(Why::Input(no_answer(p, &why), why == markov::NoAnswer::NoModel)),
        },
    }
}

/// The argument that would give an answer.
fn no_answer(p: Option<&str>, why: &markov::NoAnswer) -> InputError {
    let found = match (p, why) {
        (Some(p), _) => Found::text(p),
        (None, markov::NoAnswer::Outside { p, .. }) => Found::thing(format!("{p:.3e} by the discipline")),
        (None, _) => Found::thing("nothing"),
    };
    InputError::new("--p", "", found, why.accepts())
}

/// Reads what is asked of the Markov chain.
///
/// # Errors
/// A number without its unit, or out of its range.
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

/// The queue of one case in the long run.
#[derive(Clone, Debug, Serialize)]
pub struct InTheLongRun {
    /// What the model says.
    #[serde(flatten)]
    pub model: mmpp::Model,
    /// The point on the axes.
    pub axes: Axes,
}

/// The queue in the long run of every case; `file` is for messages.
///
/// # Errors
/// The model cannot take the scenario.
pub fn of_mmpp(file: &str, cases: &[Case]) -> Result<Document<InTheLongRun>, InputError> {
    let one = |case: &Case| {
        let model = mmpp::of(case).map_err(|error| in_file(file, &error))?;
        Ok(InTheLongRun { model, axes: case.axes.iter().cloned().collect() })
    };
    Ok(Document::new("mmpp", cases, cases.iter().map(one).collect::<Result<_, InputError>>()?))
}
