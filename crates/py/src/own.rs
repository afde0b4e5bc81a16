//! Custom disciplines written in Python. A subclass of `forebay.Law` computes a signal probability once per period. A
//! subclass of `forebay.Aqm` decides about each packet. Both use the same queue as built-in disciplines.
//!
//! If the user's code raises an exception, the call that runs it stops and raises the exception with its traceback.
//! Once a method has raised an exception, the methods of this instance are not called again.

use forebay_aqm::AnyDiscipline;
use forebay_aqm::base::cx::Cx;
use forebay_aqm::base::design::{About, Cost, DisciplineKind, Entry, Order, ProbeSpec, Probes, Readings};
use forebay_aqm::base::discipline::{ActOn, Actuation, Aqm, BareLaw, Law, Sample, Signal};
use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::own::{Own, OwnDiscipline, OwnParameters};
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::params::{ParamError, ParamSpec};
use forebay_aqm::base::port;
use forebay_aqm::base::text;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Depth, Link};
use forebay_aqm::base::verdict::{Fate, Reason, Verdict};
use forebay_aqm::testing::{Promises, Watch, check_aqm};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};

use crate::errors;
use crate::seen;
use crate::watch::{Call, raise, watched, working};

/// Key in a discipline string whose value is a hash of the class's code.
const CODE: &str = "code";

/// Registers a class as a custom discipline under its name. Replaces an earlier class of the same name.
#[pyfunction]
pub fn register(class: Bound<'_, PyAny>) -> PyResult<()> {
    let name: String = class.getattr("name")?.extract()?;
    let interface: String = class.getattr("_trait")?.extract()?;
    let summary: String = class.getattr("_summary")?.extract()?;
    let names: Vec<String> = class.getattr("probes")?.extract()?;
    let word = |text: &str| doc(text.to_string());
    let probe =
        |name: &String| ProbeSpec { name: word(name), unit: "", doc: "", readings: Readings::Signed, part: None };
    let param = |(name, value): (String, Bound<'_, PyAny>)| ParamSpec {
        name: word(&name),
        symbol: "",
        unit: "1",
        doc: "",
        source: "",
        range: (f64::NEG_INFINITY, f64::INFINITY),
        accepts: kind(&class, &name, &value),
        instead: None,
        range_in: None,
        default: String::new,
    };
    let defaults = class.call_method0("_defaults")?.cast_into::<PyDict>()?;
    let defaults: Vec<_> = defaults.iter().map(|(key, value)| Ok((key.extract()?, value))).collect::<PyResult<_>>()?;
    let about = About { summary: doc(summary), source: "a class in Python", rule: "", deviations: &[] };
    let entry = Entry {
        name: word(&name),
        kind: if interface == "law" { DisciplineKind::Law } else { DisciplineKind::Aqm },
        variant_of: None,
        about: Box::leak(Box::new(about)),
        params: Vec::leak(defaults.into_iter().map(param).collect()),
        presets: &[],
        tc: None,
        probes: Vec::leak(names.iter().map(probe).collect()),
        order: Order::Lists(1),
        cost: Cost::Heavy,
    };
    let law = interface == "law";
    let code: String = class.getattr("_code")?.extract()?;
    let class = class.unbind();
    let own = Own::made(entry, move |words| {
        Python::attach(|py| {
            let class = class.bind(py);
            let (written, values) = read(class, words, &code)?;
            let parameters =
                Kind { class: class.clone().unbind(), values: values.unbind(), law, probes: names.clone() };
            Ok((written, parameters))
        })
    });
    if forebay_lab::own::replace(own) {
        return Ok(());
    }
    Err(errors::argument("name", &name, "a name other than that of a built-in discipline"))
}

/// A text that lives as long as the process.
pub(crate) fn doc(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The values accepted for a parameter, by its annotation or else by the type of its default.
fn kind(class: &Bound<'_, PyAny>, name: &str, value: &Bound<'_, PyAny>) -> &'static str {
    let annotated = || class.getattr("_types")?.get_item(name)?.getattr("__name__")?.extract::<String>();
    let word = annotated().unwrap_or_default();
    if word == "bool" || value.is_instance_of::<PyBool>() {
        "on or off"
    } else if word == "int" || (word.is_empty() && value.is_instance_of::<PyInt>()) {
        "a whole number"
    } else if word == "float" || (word.is_empty() && value.is_instance_of::<PyFloat>()) {
        "a number"
    } else {
        "a word"
    }
}

/// The parameters of a class with the values in `words`: as text, in order of declaration, and as a dictionary. The
/// text ends with a hash of the class's code, so that stored results of an older version of the code are not reused.
fn read<'py>(
    class: &Bound<'py, PyAny>,
    words: &[&str],
    code: &str,
) -> Result<(String, Bound<'py, PyDict>), ParamError> {
    let py = class.py();
    let fault = |error: PyErr| ParamError {
        key: "class".to_string(),
        found: error.to_string(),
        accepts: "a class with readable parameters".into(),
        hint: None,
    };
    let values: Bound<'py, PyDict> =
        class.getattr("_defaults").and_then(|d| Ok(d.call0()?.cast_into()?)).map_err(fault)?;
    for word in words {
        let (key, text) = word.split_once('=').unwrap_or((word, ""));
        if key == CODE {
            let other = || ParamError {
                key: key.to_string(),
                found: text.to_string(),
                accepts: format!("{code}: the code of the class has changed since").into(),
                hint: None,
            };
            (text == code).then_some(()).ok_or_else(other)?;
            continue;
        }
        let names: Vec<String> = values.keys().extract().map_err(fault)?;
        if !names.iter().any(|name| name == key) {
            let known = || names.iter().map(String::as_str);
            return Err(ParamError {
                key: key.to_string(),
                found: (*word).to_string(),
                accepts: format!("one of {}", names.join(", ")).into(),
                hint: nearest(key, known()).map(|near| format!("did you mean {near}?")),
            });
        }
        let value = class.call_method1("_read", (key, text)).map_err(|error| ParamError {
            key: key.to_string(),
            found: text.to_string(),
            accepts: error.value(py).to_string().into(),
            hint: None,
        })?;
        values.set_item(key, value).map_err(fault)?;
    }
    let written: String = class.call_method1("_write", (&values,)).and_then(|text| text.extract()).map_err(fault)?;
    Ok((format!("{written} {CODE}={code}"), values))
}

/// A class with its parameter values.
struct Kind {
    class: Py<PyAny>,
    values: Py<PyDict>,
    law: bool,
    probes: Vec<String>,
}

impl OwnParameters for Kind {
    fn get(&self, key: &str) -> Option<String> {
        Python::attach(|py| {
            let value = self.values.bind(py).get_item(key).ok()??;
            let switch = value.cast::<PyBool>().ok().map(|on| if on.is_true() { "on" } else { "off" });
            Some(switch.map_or_else(|| value.to_string(), str::to_string))
        })
    }

    fn fluid(&self, link: &Link) -> Option<Box<dyn BareLaw>> {
        self.law.then(|| -> Box<dyn BareLaw> { Box::new(PyLaw::new(self.make(link))) })
    }

    fn build(&self, link: &Link) -> OwnDiscipline {
        let own = self.make(link);
        if self.law { OwnDiscipline::law(PyLaw::new(own)) } else { OwnDiscipline::aqm(PyAqm::new(own)) }
    }
}

impl Kind {
    fn make(&self, link: &Link) -> Object {
        let object = Python::attach(|py| {
            let _working = working(py);
            let made = (|| {
                let object = self.class.call_method1(py, "_make", (self.values.clone_ref(py),))?;
                let start = (link.rate.0 as f64, link.limit_pkts(), link.mean_packet.0);
                object.call_method1(py, "start", start)?;
                Ok(object)
            })();
            made.map_err(raise).ok()
        });
        Object { object, probes: self.probes.clone() }
    }
}

/// An instance of a user's class; `None` after its code has raised an exception.
#[derive(Debug)]
pub(crate) struct Object {
    object: Option<Py<PyAny>>,
    probes: Vec<String>,
}

impl Object {
    /// An instance without probes.
    pub(crate) const fn new(object: Option<Py<PyAny>>) -> Self {
        Self { object, probes: Vec::new() }
    }

    /// A deep copy of the instance.
    pub(crate) fn copy(&self) -> Self {
        let copy = |py: Python<'_>| {
            let _working = working(py);
            let object = self.object.as_ref()?;
            let copy = || Ok(py.import("copy")?.call_method1("deepcopy", (object,))?.unbind());
            copy().map_err(raise).ok()
        };
        Self { object: Python::attach(copy), probes: self.probes.clone() }
    }

    /// Calls the instance. `None` if it raises an exception, now or earlier.
    pub(crate) fn ask<T>(&mut self, ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.object.as_ref()?;
        match Python::attach(|py| {
            let _working = working(py);
            ask(object.bind(py))
        }) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.object = None;
                raise(error);
                None
            }
        }
    }

    fn probe(&self, index: usize) -> f64 {
        let (Some(object), Some(name)) = (&self.object, self.probes.get(index)) else { return f64::NAN };
        Python::attach(|py| {
            let _working = working(py);
            let value = || object.bind(py).getattr(name.as_str())?.extract::<f64>();
            value().map_err(raise).unwrap_or(f64::NAN)
        })
    }
}

/// A control law written in Python: called once per period.
struct PyLaw {
    own: Object,
    period: Span,
    now: Actuation,
}

impl PyLaw {
    fn new(mut own: Object) -> Self {
        let period = own.ask(|object| period(&object.getattr("period")?)).unwrap_or(Span::from_millis(1000));
        let initial = own.ask(|object| actuation("initial", &object.call_method0("initial")?));
        Self { own, period, now: initial.unwrap_or(Actuation::bernoulli(0.0)) }
    }
}

/// Reads the period of a law: a text such as `"20ms"`, or a number of seconds.
fn period(found: &Bound<'_, PyAny>) -> PyResult<Span> {
    let wrong = || errors::argument("period", &found.to_string(), "a time above 0 such as \"20ms\", or seconds");
    let read = |words: String| text::span(&words).map_err(|_| wrong());
    let span = match found.extract::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Span::from_secs(seconds),
        Ok(_) => return Err(wrong()),
        Err(_) => read(found.extract()?)?,
    };
    if span.nanos() == 0 { Err(wrong()) } else { Ok(span) }
}

/// The return value of `method` of a law: a probability, or an object with the attributes of `forebay.Actuation`:
/// `p`, `q0_packets`, `mean_packet`, `marks_at_departure`. Numbers must be finite; p is clamped to [0, 1].
fn actuation(method: &str, found: &Bound<'_, PyAny>) -> PyResult<Actuation> {
    let wrong = || {
        let accepts = "a probability, or an Actuation: finite numbers, q0_packets and mean_packet above 0";
        errors::argument(method, &found.to_string(), accepts)
    };
    let actuation = match found.extract::<f64>() {
        Ok(p) => Actuation::bernoulli(p),
        Err(_) => attributes(found).map_err(|_| wrong())?,
    };
    if !actuation.is_sound() {
        return Err(wrong());
    }
    let signal = match actuation.signal {
        Signal::Bernoulli(p) => Signal::Bernoulli(p.clamp(0.0, 1.0)),
        Signal::Scaled { p, q0 } => Signal::Scaled { p: p.clamp(0.0, 1.0), q0 },
    };
    Ok(Actuation { signal, ..actuation })
}

fn attributes(found: &Bound<'_, PyAny>) -> PyResult<Actuation> {
    let p: f64 = found.getattr("p")?.extract()?;
    let q0: Option<f64> = found.getattr("q0_packets")?.extract()?;
    let per_byte: Option<f64> = found.getattr("mean_packet")?.extract()?;
    let late: bool = found.getattr("marks_at_departure")?.extract()?;
    let signal = q0.map_or(Signal::Bernoulli(p), |q0| Signal::Scaled { p, q0: Depth::Packets(q0) });
    Ok(Actuation { signal, per_byte, act_on: if late { ActOn::Departure } else { ActOn::Arrival } })
}

impl Law for PyLaw {
    fn period(&self, _: usize) -> Span {
        self.period
    }

    fn initial(&self) -> Actuation {
        self.now
    }

    fn update(&mut self, _: usize, sample: &Sample) -> Actuation {
        let ask = |object: &Bound<'_, PyAny>| {
            let sample = Py::new(object.py(), seen::Sample::from(sample))?;
            actuation("update", &object.call_method1("update", (sample,))?)
        };
        if let Some(now) = self.own.ask(ask) {
            self.now = now;
        }
        self.now
    }
}

impl BareLaw for PyLaw {
    fn clocks(&self) -> usize {
        Self::CLOCKS
    }

    fn period(&self, clock: usize) -> Span {
        Law::period(self, clock)
    }

    fn initial(&self) -> Actuation {
        Law::initial(self)
    }

    fn update(&mut self, clock: usize, sample: &Sample) -> Actuation {
        Law::update(self, clock, sample)
    }

    fn has_failed(&self) -> bool {
        self.own.object.is_none()
    }

    fn duplicate(&self) -> Box<dyn BareLaw> {
        Box::new(Self { own: self.own.copy(), period: self.period, now: self.now })
    }
}

impl Probes for PyLaw {
    fn probe(&self, index: usize) -> f64 {
        self.own.probe(index)
    }
}

/// An AQM written in Python: the methods that its class defines are called for each packet.
struct PyAqm {
    own: Object,
    /// Whether the class defines `arrival`, `departure`, `settled`, `emptied`, `tick`.
    defines: [bool; 5],
    due: Option<Instant>,
}

const METHODS: [&str; 5] = ["arrival", "departure", "settled", "emptied", "tick"];

impl PyAqm {
    fn new(mut own: Object) -> Self {
        let defines = own.ask(|object| object.call_method1("_defines", (METHODS,))?.extract()).unwrap_or_default();
        let mut aqm = Self { own, defines, due: None };
        aqm.look_at_clock(None);
        aqm
    }

    /// Reads the time of the next tick (timer event). It must be after `last`, so that time advances.
    fn look_at_clock(&mut self, last: Option<Instant>) {
        if !self.defines[4] {
            return;
        }
        let due = |object: &Bound<'_, PyAny>| {
            let Some(seconds) = object.getattr("next_tick_s")?.extract::<Option<f64>>()? else { return Ok(None) };
            let at = Instant::ZERO + Span::from_secs(if seconds.is_finite() { seconds.max(0.0) } else { 0.0 });
            let accepts = last.map_or("seconds".to_string(), |last| format!("a time after {} s", last.secs()));
            let later = seconds.is_finite() && last.is_none_or(|last| at > last);
            let wrong = || errors::argument("next_tick_s", &seconds.to_string(), &accepts);
            later.then_some(Some(at)).ok_or_else(wrong)
        };
        self.due = self.own.ask(due).flatten();
    }

    /// Calls a method with a context that has the time and the discipline's stream of random numbers.
    fn call<T: Default>(
        &mut self,
        cx: &mut Cx,
        call: impl FnOnce(&Bound<'_, PyAny>, &Py<seen::Context>) -> PyResult<T>,
    ) -> T {
        let (now, rng) = (cx.now, &mut *cx.rng);
        let answer = self.own.ask(|object| {
            let py = object.py();
            let context = Py::new(py, seen::Context::new(now, rng.clone()))?;
            let answer = call(object, &context);
            rng.clone_from(&context.borrow(py).rng);
            answer
        });
        answer.unwrap_or_default()
    }

    /// The verdict that a method returns on a packet: accept, mark, drop, or signal (mark if ECN allows it, else drop).
    fn ask(&mut self, method: &str, packet: &Packet, level: &port::Level, cx: &mut Cx) -> Verdict {
        let Said(verdict) = self.call(cx, |object, cx| {
            let (packet, level) = (seen::Packet::from(packet), seen::Level::from(level));
            said(&object.call_method1(method, (packet, level, cx))?)
        });
        verdict
    }
}

/// A verdict returned from Python; the default is acceptance.
struct Said(Verdict);

impl Default for Said {
    fn default() -> Self {
        Self(Verdict::Accept)
    }
}

fn said(found: &Bound<'_, PyAny>) -> PyResult<Said> {
    if found.is_none() {
        return Ok(Said::default());
    }
    if let Ok(signal) = found.extract::<bool>() {
        return Ok(Said(if signal { Verdict::Signal } else { Verdict::Accept }));
    }
    let word: String = found.extract()?;
    let accepts = "accept, signal, mark or drop; True means signal, False and None mean accept";
    match word.as_str() {
        "accept" => Ok(Said(Verdict::Accept)),
        "signal" => Ok(Said(Verdict::Signal)),
        "mark" => Ok(Said(Verdict::Mark)),
        "drop" => Ok(Said(Verdict::Drop)),
        other => Err(errors::argument("verdict", other, accepts)),
    }
}

impl Aqm for PyAqm {
    fn arrival(&mut self, packet: &Packet, level: &port::Level, cx: &mut Cx) -> Verdict {
        if self.defines[0] { self.ask("arrival", packet, level, cx) } else { Verdict::Accept }
    }

    fn departure(&mut self, packet: &Packet, level: &port::Level, cx: &mut Cx) -> Verdict {
        if self.defines[1] { self.ask("departure", packet, level, cx) } else { Verdict::Accept }
    }

    fn settled(&mut self, packet: &Packet, fate: Fate, cx: &mut Cx) {
        if !self.defines[2] {
            return;
        }
        let word = match fate {
            Fate::Queued { marked: false } => "queued",
            Fate::Queued { marked: true } | Fate::Delivered { marked: true } => "marked",
            Fate::Delivered { marked: false } => "delivered",
            Fate::Dropped(Reason::Early) => "dropped-early",
            Fate::Dropped(Reason::Overflow) => "dropped-overflow",
            Fate::Dropped(Reason::Marker) => "dropped-threshold",
        };
        self.call(cx, |object, cx| object.call_method1("settled", (seen::Packet::from(packet), word, cx)).map(drop));
    }

    fn emptied(&mut self, cx: &mut Cx) {
        if self.defines[3] {
            self.call(cx, |object, cx| object.call_method1("emptied", (cx,)).map(drop));
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        self.due
    }

    fn tick(&mut self, level: &port::Level, cx: &mut Cx) {
        let now = cx.now;
        self.call(cx, |object, cx| object.call_method1("tick", (seen::Level::from(level), cx)).map(drop));
        self.look_at_clock(Some(now));
    }
}

impl Probes for PyAqm {
    fn probe(&self, index: usize) -> f64 {
        self.own.probe(index)
    }
}

/// Runs the conformance suite on a discipline: random arrivals, departures and ticks (timer events), also with a slow
/// link, overload, buffers of 0 and 1 packets, a clock that stands still, and idle times. Returns the first requirement
/// that the discipline violates, or `None`.
#[pyfunction]
pub fn conformance(py: Python<'_>, aqm: &str, seed: u64) -> PyResult<Option<String>> {
    let spec = forebay_lab::own::parse(aqm).map_err(|bad| errors::discipline(aqm, &bad))?;
    let promises = Promises { order: Order::Lists(1), ecn: true, spares_empty: false };
    let watch = Watch { probes: spec.entry().probes, read: AnyDiscipline::probe };
    let call = Arc::new(Call::default());
    let found = watched(py, &call, None, || check_aqm(|link, rng| spec.queue(link, rng), &watch, &promises, seed))?;
    Ok(found.err())
}
