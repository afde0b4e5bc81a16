//! `forebay theory stability --map`: stability of the control loop of TCP and a discipline, for ranges of two
//! quantities. The quantities are the number of flows, the round-trip time and the link rate.

use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::params::Value as _;
use forebay_aqm::base::text::{self, BadValue};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Rate;
use serde::Serialize;

use super::theory::{in_file, label};
use crate::scenario::{Case, Found, InputError};
use crate::theory::map::{self, Axis, Cell};
use crate::theory::setting::{self, Scaled, Setting};
use crate::theory::stability;

/// A side of the map: a quantity and its range. The unit depends on the quantity.
#[derive(Clone, Copy)]
pub struct Side {
    what: Scaled,
    /// Lower end of the range.
    pub from: f64,
    /// Upper end of the range.
    pub to: f64,
}

const ACCEPTS: &str = "flows, rtt or rate with a range, such as flows=5..500 or rtt=20ms..2s";

impl Side {
    fn read(words: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(ACCEPTS);
        let (name, range) = words.split_once('=').ok_or_else(bad)?;
        let (from, to) = range.split_once("..").ok_or_else(bad)?;
        let what = match name.trim() {
            "flows" => Scaled::Flows,
            "rtt" => Scaled::RoundTrip,
            "rate" => Scaled::Capacity,
            name => {
                let near = nearest(name, ["flows", "rtt", "rate"]);
                return Err(BadValue { hint: near.map(|near| format!("did you mean {near}?")), ..bad() });
            }
        };
        let value = |text: &str| match what {
            Scaled::Flows => text::number(text),
            Scaled::RoundTrip => Span::parse(text).map(Span::secs),
            Scaled::Capacity => Rate::parse(text).map(|rate| rate.0 as f64),
        };
        let (from, to) = (value(from.trim())?, value(to.trim())?);
        if from > 0.0 && to > from && to.is_finite() { Ok(Self { what, from, to }) } else { Err(bad()) }
    }

    /// Value of the quantity in the scenario of `setting`.
    fn now(self, setting: &Setting) -> f64 {
        match self.what {
            Scaled::Flows => setting.count(),
            Scaled::RoundTrip => setting.at_rest(0.0, setting.capacity).mean_rtt_s(),
            Scaled::Capacity => setting.link.rate.0 as f64,
        }
    }

    /// Name of the quantity in JSON documents.
    pub const fn name(self) -> &'static str {
        match self.what {
            Scaled::Flows => "flows",
            Scaled::RoundTrip => "rtt_s",
            Scaled::Capacity => "rate_bps",
        }
    }

    /// A value with its unit, for tables.
    pub fn show(self, value: f64) -> String {
        match self.what {
            Scaled::Flows => format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_string(),
            Scaled::RoundTrip => Span::from_secs(value).show(),
            Scaled::Capacity => Rate(value as u64).show(),
        }
    }

    fn axis(self, setting: &Setting, points: u32) -> Axis {
        let now = self.now(setting);
        Axis::new(self.what, self.from / now, self.to / now, points as usize)
    }

    fn values(self, points: u32) -> Vec<f64> {
        Axis::new(self.what, self.from, self.to, points as usize).factors
    }
}

/// Reads the two sides of a map, such as `flows=5..500` and `rtt=20ms..2s`; `None` if `words` is empty.
///
/// # Errors
/// The arguments are not two different sides.
pub fn sides(words: &[String]) -> Result<Option<[Side; 2]>, InputError> {
    let wrong = |found, accepts: &str| Err(InputError::new("--map", "", found, accepts));
    if words.is_empty() {
        return Ok(None);
    }
    let read = |words: &String| {
        let error = |bad: BadValue| InputError::new("--map", "", Found::text(words), bad.accepts).hint(bad.hint);
        Side::read(words).map_err(error)
    };
    match words.iter().map(read).collect::<Result<Vec<Side>, _>>()?[..] {
        [x, y] if x.what != y.what => Ok(Some([x, y])),
        [x, _] => wrong(Found::text(x.name()), "two different sides"),
        _ => wrong(Found::thing(format!("{} sides", words.len())), "two: horizontal and vertical"),
    }
}

/// The JSON document of `forebay theory stability --map --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    version: u32,
    topic: &'static str,
    scenario: String,
    map: Sides,
    results: Vec<Layers>,
}

#[derive(Clone, Debug, Serialize)]
struct Sides {
    x: Values,
    y: Values,
}

#[derive(Clone, Debug, Serialize)]
struct Values {
    axis: &'static str,
    values: Vec<f64>,
}

/// Values by row and column; `None` where the loop has no equilibrium.
type Layer<T> = Vec<Vec<Option<T>>>;

#[derive(Clone, Debug, Serialize)]
struct Layers {
    label: String,
    aqm: String,
    stable: Layer<bool>,
    delay_margin_ms: Layer<f64>,
    q_rest_pkts: Layer<f64>,
    p_rest: Layer<f64>,
}

/// The stability map of one discipline.
pub struct Drawn {
    /// Label of the discipline, with the values of the scenario's keys that vary.
    pub label: String,
    aqm: String,
    /// Results of the control loop at each point of the map, in rows from bottom to top.
    pub cells: Vec<Vec<Option<Cell>>>,
}

impl Drawn {
    fn layers(&self) -> Layers {
        fn layer<T>(of: &Drawn, value: impl Fn(&Cell) -> Option<T>) -> Layer<T> {
            of.cells.iter().map(|row| row.iter().map(|cell| cell.as_ref().and_then(&value)).collect()).collect()
        }
        Layers {
            label: self.label.clone(),
            aqm: self.aqm.clone(),
            stable: layer(self, |cell| Some(cell.stable)),
            delay_margin_ms: layer(self, |cell| cell.delay_margin_ms),
            q_rest_pkts: layer(self, |cell| Some(cell.q_rest_pkts)),
            p_rest: layer(self, |cell| Some(cell.p_rest)),
        }
    }
}

/// Stability maps of all compared disciplines that have a model, for each combination of the values of `[vary]`.
pub struct Maps {
    scenario: String,
    sides: [Side; 2],
    points: u32,
    /// One map for each discipline with a model and each combination of values.
    pub drawn: Vec<Drawn>,
    /// Why the other compared disciplines have no map.
    pub without: Vec<String>,
}

impl Maps {
    /// The JSON document of the command (`--json`).
    pub fn document(&self) -> Document {
        let [x, y] = self.sides.map(|side| Values { axis: side.name(), values: side.values(self.points) });
        let results = self.drawn.iter().map(Drawn::layers).collect();
        Document { version: 1, topic: "stability", scenario: self.scenario.clone(), map: Sides { x, y }, results }
    }
}

/// Computes a map for every case (combination of the values of `[vary]`) and every discipline that the model knows,
/// with `points` values per side. `file` is the scenario file, named in messages.
///
/// # Errors
/// The models cannot use the scenario, or know none of its disciplines.
pub fn draw(file: &str, cases: &[Case], sides: [Side; 2], points: u32) -> Result<Maps, InputError> {
    let (mut drawn, mut without, mut known) = (Vec::new(), Vec::new(), String::new());
    for case in cases {
        for contender in &case.scenario.compare {
            let setting = setting::of(case, &contender.spec).map_err(|error| in_file(file, &error))?;
            known = stability::with_a_model(&setting.link, false);
            let label = label(case, &contender.label);
            let [across, up] = sides.map(|side| side.axis(&setting, points));
            match map::of(&contender.spec, &setting, [&across, &up]) {
                Ok(cells) => drawn.push(Drawn { label, aqm: contender.spec.canonical(), cells }),
                Err(why) => without.push(format!("{label}: {}", why.text())),
            }
        }
    }
    if drawn.is_empty() {
        return Err(InputError::new(file, "--map", Found::thing(without.join("; ")), known));
    }
    let scenario = cases.first().map_or_else(String::new, |case| case.scenario.title.clone());
    Ok(Maps { scenario, sides, points, drawn, without })
}
