//! Custom congestion controls written in Python: a subclass of `forebay.CongestionControl` receives a report of each
//! acknowledgement, and losses, marks and timeouts. Its attributes `cwnd` and `pacing_rate` are read after each call.
//!
//! Exceptions are handled as in [`own`](crate::own).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use forebay_aqm::base::time::Instant;
use forebay_sim::tcp::congestion::controller::{Controller, Decision, Report};
use forebay_sim::tcp::congestion::{Echo, EcnUse, Profile, Start};
use forebay_sim::tcp::{Stack, Variant, register_controller, testing};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::errors;
use crate::own::{Object, doc};
use crate::seen::Ack;
use crate::watch::{Call, raise, watched, working};

/// Smallest pacing rate in packets per second. A smaller one would stop a connection for longer than an experiment lasts.
const MIN_PACING_RATE: f64 = 0.01;

/// Registers a class as a congestion control. Replaces an earlier class of the same name.
#[pyfunction]
pub fn register_control(class: &Bound<'_, PyType>) -> PyResult<()> {
    let text = |name: &str| -> PyResult<String> { class.getattr(name)?.extract() };
    let (name, code) = (text("name")?, text("_code")?);
    let is_scalable: bool = class.getattr("scalable")?.extract()?;
    let ecn = match text("ecn")?.as_str() {
        "on-request" if is_scalable => EcnUse::Always,
        "on-request" => EcnUse::OnRequest,
        "always" => EcnUse::Always,
        "never" if !is_scalable => EcnUse::Never,
        other => {
            let accepts = if is_scalable { "on-request or always" } else { "on-request, always or never" };
            return Err(errors::argument("ecn", other, accepts));
        }
    };
    let stack = match text("stack")?.as_str() {
        "rfc" => Stack::Rfc,
        "linux" => Stack::Linux,
        other => return Err(errors::argument("stack", other, "rfc or linux")),
    };
    let profile = Profile {
        word: doc(name.clone()),
        summary: doc(text("_summary")?),
        ecn,
        echo: if is_scalable { Echo::Accurate } else { Echo::UntilCwr },
        mark_is_loss: false,
        is_scalable,
        sends_ect1: is_scalable,
        stack,
        ..Profile::TCP
    };
    let class = class.clone().unbind();
    let make = move |start: Start| -> Box<dyn Controller> { Box::new(PyController::new(&class, &name, &start)) };
    register_controller(profile, &code, make).map_err(|unfit| errors::argument("name", "", &unfit.to_string()))?;
    Ok(())
}

/// An instance of the class, which controls one connection.
#[derive(Debug)]
struct PyController {
    own: Object,
    name: String,
    decision: Decision,
}

impl PyController {
    fn new(class: &Py<PyType>, name: &str, start: &Start) -> Self {
        let cwnd = f64::from(start.initial_window);
        let object = Python::attach(|py| {
            let _working = working(py);
            let made = (|| {
                let object = class.call0(py)?;
                object.setattr(py, "cwnd", cwnd)?;
                object.call_method0(py, "start")?;
                Ok(object)
            })();
            made.map_err(raise).ok()
        });
        let decision = Decision { cwnd, pacing_rate: None };
        let mut new = Self { own: Object::new(object), name: name.to_string(), decision };
        new.tell(|_| Ok(()));
        new
    }

    /// Calls the instance and reads its decision.
    fn tell(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let name = &self.name;
        let decided = self.own.ask(|object| {
            call(object)?;
            decision(name, object)
        });
        self.decision = decided.unwrap_or(self.decision);
    }

    fn event(&mut self, method: &str, now: Instant) {
        self.tell(|object| object.call_method1(method, (now.secs(),)).map(drop));
    }
}

/// The decision of an instance: its attributes `cwnd` and `pacing_rate`.
fn decision(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Decision> {
    let number = |attribute: &str, value: &Bound<'_, PyAny>, least: f64, accepts: &str| {
        let found = value.extract::<f64>().ok().filter(|number| number.is_finite() && *number >= least);
        found.ok_or_else(|| errors::argument(&format!("own:{name}.{attribute}"), &value.to_string(), accepts))
    };
    let (cwnd, rate) = (object.getattr("cwnd")?, object.getattr("pacing_rate")?);
    let cwnd = number("cwnd", &cwnd, 1.0, "a finite number of packets, at least 1")?;
    let rate = if rate.is_none() {
        None
    } else {
        let accepts = format!("None, or a finite number of packets per second, at least {MIN_PACING_RATE}");
        Some(number("pacing_rate", &rate, MIN_PACING_RATE, &accepts)?)
    };
    Ok(Decision { cwnd, pacing_rate: rate })
}

impl Controller for PyController {
    fn on_ack(&mut self, report: &Report) {
        self.tell(|object| object.call_method1("on_ack", (Ack::from(report),)).map(drop));
    }

    fn on_loss(&mut self, now: Instant) {
        self.event("on_loss", now);
    }

    fn on_mark(&mut self, now: Instant) {
        self.event("on_mark", now);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.event("on_timeout", now);
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn copy(&self) -> Box<dyn Controller> {
        Box::new(Self { own: self.own.copy(), name: self.name.clone(), decision: self.decision })
    }
}

/// Runs the conformance suite on the congestion control with this name: connections over `paths` random paths, with losses, marks,
/// small buffers and applications that pause. Returns the first rule that the control breaks, or `None`.
#[pyfunction]
pub fn control_conformance(py: Python<'_>, name: &str, paths: u64) -> PyResult<Option<String>> {
    let known = || Variant::all().into_iter().map(|variant| variant.name().to_string()).collect::<Vec<_>>();
    let variant = Variant::parse(name).ok_or_else(|| errors::word("tcp", name, &known()))?;
    let call = Arc::new(Call::default());
    let check = || {
        let each = (0..paths).take_while(|_| !call.stop.load(Ordering::SeqCst));
        each.map(|path| testing::check_control_over(variant, path)).find(Result::is_err).unwrap_or(Ok(()))
    };
    let found = watched(py, &call, None, check)?;
    Ok(found.err())
}
