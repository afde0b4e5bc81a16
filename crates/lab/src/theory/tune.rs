//! Finds parameters of a discipline that meet aims, which are bounds on the queue or on stability margins, in the
//! linear model of the control loop of TCP flows and the discipline. A setting is the link and the flows of the loop.
//!
//! The method is a compass search over the logarithms of the free parameters (those that the user did not set): each is
//! increased and decreased in turn, and improvements are kept. If no parameter gives an improvement, the steps are
//! halved. The search ends when every aim is met with some slack, when the steps are small, or when a maximum number of
//! loops was computed.

use forebay_aqm::Spec;
use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::params::Value as _;
use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use serde::Serialize;

use super::setting::Setting;
use super::stability::{self, NoAnswer, Stability};

/// The quantity that an aim bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Queue at equilibrium, in packets or as the time in milliseconds that the link needs to send it.
    Queue(Unit),
    /// Delay margin in milliseconds.
    DelayMargin,
    /// Phase margin in degrees.
    PhaseMargin,
    /// Gain margin as a factor.
    GainMargin,
}

/// Unit of a queue in an aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Milliseconds that the link needs to send the queue.
    Ms,
    /// Packets.
    Pkts,
}

/// An aim: an upper or lower bound on a quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aim {
    /// The aim as written.
    pub text: String,
    /// The quantity that it bounds.
    pub figure: Figure,
    /// Whether the bound is a lower one; otherwise an upper one.
    pub at_least: bool,
    /// The bound, in the unit of the quantity.
    pub bound: f64,
}

/// Text that lists the aims that `tune` accepts.
const ACCEPTS: &str =
    "an aim such as queue<=20ms, queue<=50p, delay-margin>=50ms, phase-margin>=45 (degrees) or gain-margin>=2";

impl Aim {
    /// Reads an aim such as `delay-margin>=50ms`.
    pub fn parse(words: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(ACCEPTS);
        let (name, bound, at_least) = match (words.split_once(">="), words.split_once("<=")) {
            (Some((name, bound)), None) => (name.trim(), bound.trim(), true),
            (None, Some((name, bound))) => (name.trim(), bound.trim(), false),
            _ => return Err(bad()),
        };
        let ms = |text: &str| Span::parse(text).map(Span::millis);
        let (figure, bound) = match name {
            "queue" => match bound.strip_suffix('p') {
                Some(packets) => (Figure::Queue(Unit::Pkts), text::number(packets)?),
                None => (Figure::Queue(Unit::Ms), ms(bound)?),
            },
            "delay-margin" => (Figure::DelayMargin, ms(bound)?),
            "phase-margin" => (Figure::PhaseMargin, text::number(bound)?),
            "gain-margin" => (Figure::GainMargin, text::number(bound)?),
            _ => {
                let near = nearest(name, ["queue", "delay-margin", "phase-margin", "gain-margin"]);
                return Err(BadValue { hint: near.map(|near| format!("did you mean {near}?")), ..bad() });
            }
        };
        // Margins only have lower bounds.
        if bound > 0.0 && (at_least || matches!(figure, Figure::Queue(_))) {
            Ok(Self { text: words.to_string(), figure, at_least, bound })
        } else {
            Err(bad())
        }
    }

    /// The value of the bounded quantity in the model's result `found`, in the unit of the bound; `None` if it is
    /// infinite or unknown.
    pub fn figure_of(&self, found: &Stability, setting: &Setting) -> Option<f64> {
        match self.figure {
            Figure::Queue(Unit::Ms) => Some(1e3 * found.q_rest_pkts / setting.capacity),
            Figure::Queue(Unit::Pkts) => Some(found.q_rest_pkts),
            Figure::DelayMargin => found.delay_margin_ms,
            Figure::PhaseMargin => found.phase_margin_deg,
            Figure::GainMargin => found.gain_margin,
        }
    }

    /// The slack of the aim: how far the model's value is on the right side of the bound, negative if it is on the
    /// wrong side. It is the logarithm of value over bound for a lower bound, and of bound over value for an upper
    /// bound.
    fn slack(&self, found: &Stability, setting: &Setting) -> f64 {
        let Some(figure) = self.figure_of(found, setting) else {
            // A discipline with a loop for each service class has a delay margin, but no phase margin.
            let unknown = matches!(self.figure, Figure::PhaseMargin) && found.delay_margin_ms.is_some();
            return if unknown { -MAX_SLACK } else { MAX_SLACK };
        };
        let over = libm::log(figure.max(1e-9) / self.bound);
        if self.at_least { over } else { -over }.clamp(-MAX_SLACK, MAX_SLACK)
    }
}

/// Largest absolute value of a slack; larger values are reduced to it.
const MAX_SLACK: f64 = 5.0;
/// The search ends when every aim has this slack: the values are about a tenth better than the bounds.
const SPARE: f64 = 0.1;
/// Factors by which the first and the smallest step of the search change a parameter; and the number of loops computed
/// after which the search ends.
const FIRST: f64 = 4.0;
const LAST: f64 = 1.05;
const MAX_LOOPS: usize = 600;

/// A free parameter, which the search can change: its name and its value with the unit.
#[derive(Clone, Debug, PartialEq)]
struct Parameter {
    name: &'static str,
    value: f64,
    /// Value of the parameter before the search, and its text.
    first: (f64, String),
    unit: String,
    whole: bool,
}

impl Parameter {
    /// The parameter `name` of the discipline `spec`; `None` if its value is not a number above 0.
    fn of(spec: &Spec, name: &'static str) -> Option<Self> {
        let text = spec.get(name)?;
        let digits = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let value: f64 = number.parse().ok()?;
        let whole = (spec.entry().params.iter().find(|p| p.name == name)?.accepts).contains("whole");
        let parameter = Self { name, value, first: (value, text.clone()), unit: unit.to_string(), whole };
        (value > 0.0 && value.is_finite()).then_some(parameter)
    }

    fn is_changed(&self) -> bool {
        self.value != self.first.0
    }

    /// The parameter as `NAME=VALUE`. The value has three digits if the search changed it.
    fn text(&self) -> String {
        if !self.is_changed() {
            return format!("{}={}", self.name, self.first.1);
        }
        let value = if self.whole { self.value.round().max(1.0) } else { rounded(self.value) };
        format!("{}={value}{}", self.name, self.unit)
    }
}

fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

/// Result of the search for parameters.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The discipline with its parameters.
    pub spec: Spec,
    /// The discipline in the syntax of `--aqm`.
    pub text: String,
    /// Result of the model for each setting.
    pub model: Vec<Stability>,
    /// Whether every aim is met in every setting.
    pub met: bool,
    /// Number of loops whose stability was computed.
    pub loops: usize,
}

/// Why there was no search for parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTuned {
    /// The model has no result with any of the parameters tried.
    Model(NoAnswer),
    /// The user set every parameter that is a number above 0.
    NothingFree,
}

/// The free parameters: those of the discipline itself (not the ones common to all disciplines) that are numbers above
/// 0 and that the user's text `words` (`NAME key=value ...`) does not set.
fn free(spec: &Spec, words: &str) -> Vec<Parameter> {
    let given = |name: &str| {
        let mut keys = words.split_whitespace().skip(1).filter_map(|word| word.split_once('=')).map(|(key, _)| key);
        keys.any(|key| key == name)
    };
    let params = spec.entry().params.iter().filter(|param| param.range_in.is_some() && !given(param.name));
    params.filter_map(|param| Parameter::of(spec, param.name)).collect()
}

/// Searches values for the free parameters of `words`, a discipline in the syntax of `--aqm`, that meet every aim in
/// every setting. Returns the best values found, whether or not they meet the aims.
pub fn tune(words: &str, spec: &Spec, settings: &[Setting], aims: &[Aim]) -> Result<Tuned, NotTuned> {
    let parameters = free(spec, words);
    if parameters.is_empty() {
        return Err(NotTuned::NothingFree);
    }
    let mut search = Search { words, settings, aims, loops: 0, why: None };
    let (mut best, mut at) = (search.look(&parameters), parameters);
    let mut factor = FIRST;
    while factor > LAST && search.loops < MAX_LOOPS && best.score < SPARE {
        let mut better = false;
        for i in 0..at.len() {
            for factor in [factor, 1.0 / factor] {
                let mut other = at.clone();
                other[i].value *= factor;
                let found = search.look(&other);
                if found.score > best.score + 1e-6 {
                    (best, at, better) = (found, other, true);
                    break;
                }
            }
        }
        if !better {
            factor = libm::sqrt(factor);
        }
    }
    let Some((spec, model)) = best.answer else {
        return Err(NotTuned::Model(search.why.unwrap_or(NoAnswer::NotFound)));
    };
    Ok(Tuned { text: search.words(&at), spec, model, met: best.score >= 0.0, loops: search.loops })
}

struct Search<'a> {
    words: &'a str,
    settings: &'a [Setting],
    aims: &'a [Aim],
    loops: usize,
    why: Option<NoAnswer>,
}

/// Result for one set of parameter values.
struct Look {
    /// The smallest slack of all aims in all settings; far below 0 if a loop is unstable, and lower still if it has no
    /// equilibrium.
    score: f64,
    answer: Option<(Spec, Vec<Stability>)>,
}

impl Search<'_> {
    /// The discipline in the syntax of `--aqm`, with the values that the search changed.
    fn words(&self, parameters: &[Parameter]) -> String {
        let changed = parameters.iter().filter(|parameter| parameter.is_changed());
        changed.fold(self.words.to_string(), |words, parameter| format!("{words} {}", parameter.text()))
    }

    fn look(&mut self, parameters: &[Parameter]) -> Look {
        const NO_REST: f64 = -30.0;
        const UNSTABLE: f64 = -10.0;
        // Parameter values are out of range.
        let Ok(spec) = Spec::parse(&self.words(parameters)) else { return Look { score: 2.0 * NO_REST, answer: None } };
        let (mut score, mut model) = (MAX_SLACK, Vec::new());
        for setting in self.settings {
            self.loops += 1;
            match stability::of(&spec, setting) {
                Err(why) => {
                    self.why = Some(why);
                    return Look { score: NO_REST, answer: None };
                }
                Ok(found) => {
                    let here = if found.stable {
                        self.aims.iter().map(|aim| aim.slack(&found, setting)).fold(MAX_SLACK, f64::min)
                    } else {
                        // An unstable loop has a higher score if it lacks less phase.
                        UNSTABLE + found.phase_margin_deg.unwrap_or(-180.0).clamp(-180.0, 180.0) / 180.0
                    };
                    score = score.min(here);
                    model.push(found);
                }
            }
        }
        Look { score, answer: Some((spec, model)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::testing::example;

    fn tuned(words: &str, sets: &[&str], aims: &[&str]) -> Result<Tuned, NotTuned> {
        let (spec, setting) = example(sets, words);
        let aims: Vec<Aim> = aims.iter().map(|aim| Aim::parse(aim).unwrap()).collect();
        tune(words, &spec, &[setting], &aims)
    }

    #[test]
    fn tuning_aims_are_parsed_with_units() {
        let read = |text| Aim::parse(text).map(|aim| (aim.figure, aim.at_least, aim.bound));
        assert_eq!(read("queue<=20ms"), Ok((Figure::Queue(Unit::Ms), false, 20.0)));
        assert_eq!(read("queue >= 50p"), Ok((Figure::Queue(Unit::Pkts), true, 50.0)));
        assert_eq!(read("delay-margin>=0.05s"), Ok((Figure::DelayMargin, true, 50.0)));
        assert_eq!(read("phase-margin>=45"), Ok((Figure::PhaseMargin, true, 45.0)));
        assert_eq!(read("gain-margin>=2"), Ok((Figure::GainMargin, true, 2.0)));
        for bad in ["queue=20ms", "queue<=20", "queue<=0p", "delay<=5ms", "delay-margin<=5ms", "gain-margin>=x", ""] {
            assert!(Aim::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tuned_pi_meets_delay_margin_and_queue_aims() {
        let found = tuned("pi preset=tuned", &[], &["delay-margin>=300ms", "queue<=10ms"]).unwrap();
        let model = &found.model[0];
        assert!(found.met && model.stable, "{found:?}");
        assert!(model.delay_margin_ms.unwrap() >= 300.0 && model.q_rest_pkts <= 37.5, "{found:?}");
        // The text of the result gives the evaluated discipline.
        assert_eq!(Spec::parse(&found.text).unwrap().canonical(), found.spec.canonical());
        assert!(found.text.starts_with("pi preset=tuned q_ref="), "{}", found.text);
    }

    #[test]
    fn tune_reports_unmet_aims_and_missing_models() {
        let found = tuned("pi preset=tuned q_ref=300", &[], &["queue<=20ms", "delay-margin>=50ms"]).unwrap();
        assert!(!found.met && found.text.contains("q_ref=300") && found.model[0].q_rest_pkts > 290.0, "{found:?}");
        let all = "pi q_ref=300 a=1e-5 b=1e-6 w=170 n=1 rtt=1s";
        assert_eq!(tuned(all, &[], &["queue<=20ms"]).unwrap_err(), NotTuned::NothingFree);
        assert_eq!(tuned("codel", &[], &["queue<=20ms"]).unwrap_err(), NotTuned::Model(NoAnswer::NoModel));
    }
}
