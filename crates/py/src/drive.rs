//! `forebay.Discipline`: any discipline by itself, driven packet by packet.

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::text;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Link};
use forebay_aqm::{AnyDiscipline, Spec};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

use crate::errors;
use crate::seen;
use crate::watch::Call;

/// A discipline in front of a link, with a queue of its own or asked about queues of the caller's.
#[pyclass(module = "forebay._native")]
pub(crate) struct Discipline {
    spec: Spec,
    link: Link,
    queue: Queue<AnyDiscipline>,
    call: Arc<Call>,
    now: Instant,
    serial: u32,
    /// Is its own queue in use, or are queues pretended?
    pretends: Option<bool>,
}

/// Ticks between two looks for Ctrl-C.
const TICKS: u32 = 10_000;

/// A stream of its own for a discipline that is driven by hand.
fn stream(seed: u64) -> Rng {
    Rng::stream(seed, "python")
}

/// A word of the caller's as a quantity.
fn quantity<T>(name: &str, words: &str, read: fn(&str) -> Result<T, text::BadValue>) -> PyResult<T> {
    read(words).map_err(|bad| errors::argument(name, words, &bad.accepts))
}

impl Discipline {
    /// Time passes: clocks that are due by `now_s` run.
    fn pass(&mut self, py: Python<'_>, now_s: f64) -> PyResult<()> {
        if !(now_s.is_finite() && now_s >= 0.0) {
            return Err(errors::argument("now", &now_s.to_string(), "seconds from 0 on"));
        }
        let now = Instant::ZERO + Span::from_secs(now_s);
        if now < self.now {
            return Err(errors::argument("now", &now_s.to_string(), &format!("{} s or later", self.now.secs())));
        }
        let queue = &mut self.queue;
        self.call.here(|| {
            let mut ticks = 0_u32;
            while let Some(due) = queue.next_tick().filter(|due| *due <= now) {
                queue.tick(due);
                ticks = ticks.wrapping_add(1);
                if ticks.is_multiple_of(TICKS) {
                    py.check_signals()?;
                }
            }
            PyResult::Ok(())
        })?;
        self.now = now;
        self.call.raised()
    }

    fn uses(&mut self, pretends: bool) -> PyResult<()> {
        if self.pretends.get_or_insert(pretends) != &pretends {
            let what =
                "arrival() asks about queues of yours, enqueue() and dequeue() keep one: use a Discipline for each";
            return Err(PyTypeError::new_err(what));
        }
        Ok(())
    }

    /// Offers a packet; what became of it, and of others that it pushed out.
    fn offer(&mut self, length: u32, flow: u32, ecn: bool, service_class: u8) -> PyResult<&'static str> {
        if !(1..=65_535).contains(&length) {
            return Err(errors::argument("length", &length.to_string(), "1 to 65535 bytes"));
        }
        self.serial = self.serial.wrapping_add(1);
        let ecn = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        let (slot, class, proto) = (self.serial, service_class, Proto::Tcp);
        let packet = Packet { slot, len: length, flow, pair: flow, class, ecn, proto, ..Packet::default() };
        let marked = self.queue.port.tally().marked.pkts;
        let (queue, now) = (&mut self.queue, self.now);
        self.call.here(|| queue.arrive(packet, now));
        let fate = if self.queue.port.discarded().drain(..).any(|(dropped, _)| dropped.slot == slot) {
            "dropped"
        } else if self.queue.port.tally().marked.pkts > marked {
            "marked"
        } else {
            "accepted"
        };
        self.call.raised()?;
        Ok(fate)
    }
}

#[pymethods]
impl Discipline {
    #[new]
    #[pyo3(signature = (aqm, rate = "10mbit", queue = "100p", packet = 1500, seed = 1))]
    fn new(aqm: &str, rate: &str, queue: &str, packet: u64, seed: u64) -> PyResult<Self> {
        let spec = forebay_lab::own::parse(aqm).map_err(|bad| errors::discipline(aqm, &bad))?;
        if !(1..=65_535).contains(&packet) {
            return Err(errors::argument("packet", &packet.to_string(), "1 to 65535 bytes"));
        }
        let rate = quantity("rate", rate, text::rate)?;
        if rate.0 == 0 {
            return Err(errors::argument("rate", "0", "a rate above 0"));
        }
        let limit = quantity("queue", queue, text::limit)?;
        let link = Link { rate, limit, mean_packet: Bytes(packet) };
        let call = Arc::new(Call::default());
        let queue = call.here(|| spec.queue(link, stream(seed)));
        call.raised()?;
        Ok(Self { spec, link, queue, call, now: Instant::ZERO, serial: 0, pretends: None })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.spec.name()
    }

    /// Name and every parameter, defaults written out.
    #[getter]
    fn canonical(&self) -> String {
        self.spec.canonical()
    }

    /// `law`, `aqm` or `queue`: what it sees.
    #[getter]
    fn rung(&self) -> &'static str {
        self.spec.entry().rung
    }

    /// A packet of `length` bytes arrives at `now`, in seconds, and meets `backlog` packets, of mean size or of
    /// `backlog_bytes` in all: `"accepted"`, `"marked"` or `"dropped"`. Counters see what is decided.
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    #[pyo3(signature = (now, length, backlog, backlog_bytes = None, ecn = false, flow = 0))]
    fn arrival(
        &mut self,
        py: Python<'_>,
        now: f64,
        length: u32,
        backlog: u32,
        backlog_bytes: Option<u64>,
        ecn: bool,
        flow: u32,
    ) -> PyResult<&'static str> {
        if self.rung() == "queue" {
            let what =
                format!("{} owns its queues and cannot be asked about others: use enqueue and dequeue", self.name());
            return Err(PyTypeError::new_err(what));
        }
        self.uses(true)?;
        self.pass(py, now)?;
        let bytes = backlog_bytes.unwrap_or_else(|| u64::from(backlog) * self.link.mean_packet.0);
        self.queue.port.pretend(backlog, bytes);
        let fate = self.offer(length, flow, ecn, 0);
        self.queue.port.pretend(backlog, bytes);
        fate
    }

    /// Offers a packet to its own queue: `"accepted"`, `"marked"` or `"dropped"`.
    #[pyo3(signature = (now, length, flow = 0, ecn = false, service_class = 0))]
    fn enqueue(
        &mut self,
        py: Python<'_>,
        now: f64,
        length: u32,
        flow: u32,
        ecn: bool,
        service_class: u8,
    ) -> PyResult<&'static str> {
        self.uses(false)?;
        self.pass(py, now)?;
        self.offer(length, flow, ecn, service_class)
    }

    /// The next packet to send, if there is one.
    fn dequeue(&mut self, py: Python<'_>, now: f64) -> PyResult<Option<seen::Packet>> {
        self.uses(false)?;
        self.pass(py, now)?;
        let (queue, now) = (&mut self.queue, self.now);
        let packet = self.call.here(|| queue.depart(now));
        self.queue.port.discarded().clear();
        self.call.raised()?;
        Ok(packet.as_ref().map(seen::Packet::from))
    }

    /// Packets and bytes in its queue.
    #[getter]
    fn backlog(&self) -> (u32, u64) {
        (self.queue.port.pkts(), self.queue.port.bytes())
    }

    /// Packets so far: offered, accepted, departed, dropped_early, dropped_overflow, marked.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tally = self.queue.port.tally();
        let counts = PyDict::new(py);
        for (name, count) in [
            ("offered", tally.offered),
            ("accepted", tally.accepted),
            ("departed", tally.departed),
            ("dropped_early", tally.dropped_early),
            ("dropped_overflow", tally.dropped_overflow),
            ("marked", tally.marked),
        ] {
            counts.set_item(name, count.pkts)?;
        }
        Ok(counts)
    }

    /// Its inner state by name, as `forebay explain` lists it.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let probes = PyDict::new(py);
        for (index, probe) in self.spec.entry().probes.iter().enumerate() {
            let value = self.call.here(|| self.queue.discipline().probe(index));
            probes.set_item(probe.name, value)?;
        }
        self.call.raised()?;
        Ok(probes)
    }

    /// A parameter, as it is written.
    fn __getitem__(&self, name: &str) -> PyResult<String> {
        self.spec.get(name).ok_or_else(|| PyKeyError::new_err(format!("{} has no parameter '{name}'", self.name())))
    }

    /// Other values of parameters from now on, its state kept.
    #[pyo3(signature = (**values))]
    fn set(&mut self, values: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let Some(values) = values else { return Ok(()) };
        let changes: Vec<(String, String)> =
            values.iter().map(|(k, v)| Ok((k.extract()?, word(&v)?))).collect::<PyResult<_>>()?;
        let spec = changed(&self.spec, &changes)?;
        let marker = |spec: &Spec| spec.get("th");
        if spec.ecn() != self.spec.ecn()
            || spec.link(&self.link) != self.spec.link(&self.link)
            || marker(&spec) != marker(&self.spec)
        {
            return Err(PyValueError::new_err("ecn, hard_limit and th are those of its queue and stay as they are"));
        }
        if !self.queue.discipline_mut().retune(&spec, &self.link) {
            let names = changes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            let what = format!("{}: {names} cannot change while it runs", self.name());
            return Err(PyValueError::new_err(what));
        }
        self.spec = spec;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("Discipline({:?})", self.spec.canonical())
    }
}

/// A value of Python as the words of a discipline have it.
fn word(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(switch) = value.extract::<bool>() {
        return Ok(if switch { "on" } else { "off" }.to_string());
    }
    Ok(value.str()?.to_string())
}

/// `spec` with these parameters changed.
pub(crate) fn changed(spec: &Spec, changes: &[(String, String)]) -> PyResult<Spec> {
    let canonical = spec.canonical();
    let kept = canonical.split_whitespace().filter(|word| {
        let key = word.split_once('=').map_or("", |(key, _)| key);
        !changes.iter().any(|(changed, _)| changed == key)
    });
    let fresh = changes.iter().map(|(key, value)| format!("{key}={value}"));
    let text = kept.map(str::to_string).chain(fresh).collect::<Vec<_>>().join(" ");
    forebay_lab::own::parse(&text).map_err(|bad| errors::discipline(&text, &bad))
}
