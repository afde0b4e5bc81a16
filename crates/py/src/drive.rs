//! `forebay.Discipline`: a single queue discipline, driven packet by packet.

use forebay_aqm::base::design::DisciplineKind;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Hosts, Packet, Proto};
use forebay_aqm::base::port::Backlog;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::text;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Link};
use forebay_aqm::{AnyDiscipline, Spec};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::errors;
use crate::seen;
use crate::turn::Turn;
use crate::watch::Call;

/// A discipline in front of a link. The queue is internal (`enqueue`, `dequeue`) or belongs to the caller (`arrival`).
/// Calls from several threads are serialized.
#[pyclass(frozen, module = "forebay._native")]
pub struct Discipline {
    name: &'static str,
    kind: DisciplineKind,
    begun: Begun,
    turn: Turn<Driven>,
}

/// The constructor's arguments.
struct Begun {
    aqm: String,
    rate: String,
    queue: String,
    packet: u64,
    seed: u64,
}

/// Constructor arguments in order, for pickling.
type Arguments = (String, String, String, u64, u64);

/// The state of a [`Discipline`] that its methods change.
struct Driven {
    spec: Spec,
    link: Link,
    queue: Queue<AnyDiscipline>,
    call: Arc<Call>,
    now: Instant,
    serial: u32,
    /// Does the queue belong to the caller? `None` before the first call of `arrival`, `enqueue` or `dequeue`.
    advises: Option<bool>,
}

/// Number of the discipline's ticks (timer events) that run in one piece. The first piece runs with the GIL, because
/// releasing the GIL costs more than these ticks. Between the later pieces the wall clock is read.
const FEW: u32 = 1_000;

/// How long ticks run without the GIL between two checks for Ctrl-C.
const PIECE: Duration = Duration::from_millis(50);

/// The argument `ecn`: a codepoint as a switch or as a name.
#[derive(FromPyObject)]
enum Codepoint {
    Flag(bool),
    Word(String),
}

impl Codepoint {
    fn read(&self) -> PyResult<Ecn> {
        match self {
            Self::Flag(false) => Ok(Ecn::NotEct),
            Self::Flag(true) => Ok(Ecn::Ect0),
            Self::Word(word) if word == "ect0" => Ok(Ecn::Ect0),
            Self::Word(word) if word == "ect1" => Ok(Ecn::Ect1),
            Self::Word(word) => Err(errors::argument("ecn", word, "True, False, \"ect0\" or \"ect1\"")),
        }
    }
}

/// The stream of random numbers of a discipline that is driven from Python.
fn stream(seed: u64) -> Rng {
    Rng::stream(seed, "python")
}

/// Parses a quantity given as a string.
fn quantity<T>(name: &str, words: &str, read: fn(&str) -> Result<T, text::BadValue>) -> PyResult<T> {
    read(words).map_err(|bad| errors::quantity(name, words, bad))
}

impl Driven {
    /// Advances the time to `now_s` and runs the discipline's ticks (timer events) that are due until then. Releases
    /// the GIL if there are many. If Ctrl-C interrupts it, the time stays at the last tick that ran.
    fn pass(&mut self, py: Python<'_>, now_s: f64) -> PyResult<()> {
        if !(now_s.is_finite() && now_s >= 0.0) {
            return Err(errors::argument("now", &now_s.to_string(), "seconds from 0 on"));
        }
        let now = Instant::ZERO + Span::from_secs(now_s);
        if now < self.now {
            return Err(errors::argument("now", &now_s.to_string(), &format!("{} s or later", self.now.secs())));
        }
        let mut over = self.tick(now);
        while !over {
            over = py.detach(|| {
                let begun = std::time::Instant::now();
                let mut over = false;
                while !over && begun.elapsed() < PIECE {
                    over = self.tick(now);
                }
                over
            });
            py.check_signals()?;
        }
        self.call.raised()?;
        self.now = now;
        Ok(())
    }

    /// Runs at most [`FEW`] of the ticks that are due until `now`. Returns true if none is left, or if a discipline
    /// written in Python has raised an exception.
    fn tick(&mut self, now: Instant) -> bool {
        let call = self.call.clone();
        call.here(|| {
            for _ in 0..FEW {
                let Some(due) = self.queue.next_tick().filter(|due| *due <= now) else { return true };
                self.queue.tick(due);
                self.now = self.now.max(due);
                if call.stop.load(Ordering::Relaxed) {
                    return true;
                }
            }
            false
        })
    }

    fn uses(&mut self, advises: bool) -> PyResult<()> {
        if self.advises.get_or_insert(advises) != &advises {
            let what =
                "arrival() uses the caller's queue, enqueue() and dequeue() an internal one: use a Discipline for each";
            return Err(PyTypeError::new_err(what));
        }
        Ok(())
    }

    /// Offers a packet to the internal queue or, if `backlog` is given, to the caller's queue with this backlog.
    /// Returns the packet's fate. Queued packets that the discipline drops to make room are discarded.
    fn offer(&mut self, backlog: Option<Backlog>, packet: Packet) -> PyResult<&'static str> {
        if !(1..=65_535).contains(&packet.len) {
            return Err(errors::argument("length", &packet.len.to_string(), "1 to 65535 bytes"));
        }
        self.serial = self.serial.wrapping_add(1);
        let slot = self.serial;
        let packet = Packet { slot, pair: packet.flow, proto: Proto::Tcp, ..packet };
        let marked = self.queue.port.tally().marked.pkts;
        let (queue, now) = (&mut self.queue, self.now);
        self.call.here(|| match backlog {
            None => queue.arrive(packet, now),
            // `uses` has ensured that the internal queue is empty.
            Some(backlog) => _ = queue.advise(packet, backlog, now),
        });
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

    /// Changes parameters of the discipline and keeps its state.
    fn retune(&mut self, changes: &[(String, String)]) -> PyResult<()> {
        let spec = changed(&self.spec, changes)?;
        let marker = |spec: &Spec| spec.get("th");
        if spec.ecn() != self.spec.ecn()
            || spec.link(&self.link) != self.spec.link(&self.link)
            || marker(&spec) != marker(&self.spec)
        {
            return Err(PyValueError::new_err("ecn, hard_limit and th belong to the queue and cannot change"));
        }
        if !self.queue.discipline_mut().retune(&spec, &self.link) {
            let names = changes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            let what = format!("{}: {names} cannot change while it runs", self.spec.name());
            return Err(PyValueError::new_err(what));
        }
        self.spec = spec;
        Ok(())
    }
}

#[pymethods]
impl Discipline {
    #[new]
    #[pyo3(signature = (aqm, rate = "10mbit", queue = "100p", packet = 1500, seed = 1))]
    fn new(aqm: &str, rate: &str, queue: &str, packet: u64, seed: u64) -> PyResult<Self> {
        let spec = forebay_lab::own::parse(aqm).map_err(|bad| errors::discipline(aqm, &bad))?;
        let begun = Begun { aqm: spec.canonical(), rate: rate.to_string(), queue: queue.to_string(), packet, seed };
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
        let (name, kind) = (spec.name(), spec.entry().kind);
        let driven = Driven { spec, link, queue, call: call.clone(), now: Instant::ZERO, serial: 0, advises: None };
        Ok(Self { name, kind, begun, turn: Turn::new(driven, call) })
    }

    /// The name of the discipline.
    #[getter]
    const fn name(&self) -> &'static str {
        self.name
    }

    /// The name and all parameters of the discipline, also those with their default values.
    #[getter]
    fn canonical(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.turn.take(py)?.spec.canonical())
    }

    /// Kind of the discipline: `law` (sees counters), `aqm` (sees packets) or `queue` (owns its queues).
    #[getter]
    const fn kind(&self) -> &'static str {
        self.kind.word()
    }

    /// Decides about a packet of `length` bytes that arrives at the caller's queue at time `now` (s), and counts it.
    /// The queue has `backlog` packets with `backlog_bytes` bytes in total; default: packets of mean size. Returns
    /// `"accepted"`, `"marked"` or `"dropped"`. For `ecn` see `enqueue`.
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    #[pyo3(
        signature = (now, length, backlog, backlog_bytes = None, ecn = Codepoint::Flag(false), flow = 0),
        text_signature = "($self, now, length, backlog, backlog_bytes=None, ecn=False, flow=0)",
    )]
    fn arrival(
        &self,
        py: Python<'_>,
        now: f64,
        length: u32,
        backlog: u32,
        backlog_bytes: Option<u64>,
        ecn: Codepoint,
        flow: u32,
    ) -> PyResult<&'static str> {
        if self.kind == DisciplineKind::Queue {
            let what = format!("{} owns its queues: use enqueue and dequeue", self.name);
            return Err(PyTypeError::new_err(what));
        }
        let mut driven = self.turn.take(py)?;
        driven.uses(true)?;
        driven.pass(py, now)?;
        let bytes = backlog_bytes.unwrap_or_else(|| u64::from(backlog) * driven.link.mean_packet.0);
        let packet = Packet { len: length, flow, ecn: ecn.read()?, ..Packet::default() };
        driven.offer(Some(Backlog { pkts: backlog, bytes }), packet)
    }

    /// Offers a packet to the internal queue. Returns `"accepted"`, `"marked"` or `"dropped"`. `ecn` is the codepoint:
    /// `"ect0"`, `"ect1"`, `True` for ECT(0), `False` for Not-ECT. `dscp` is the Differentiated Services codepoint, 0 to
    /// 63; `hosts` are the ids of source and destination, 0 to 65535.
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    #[pyo3(
        signature = (now, length, flow = 0, ecn = Codepoint::Flag(false), service_class = 0, *, dscp = 0, hosts = (0, 0)),
        text_signature = "($self, now, length, flow=0, ecn=False, service_class=0, *, dscp=0, hosts=(0, 0))",
    )]
    fn enqueue(
        &self,
        py: Python<'_>,
        now: f64,
        length: u32,
        flow: u32,
        ecn: Codepoint,
        service_class: u8,
        dscp: u8,
        hosts: (u16, u16),
    ) -> PyResult<&'static str> {
        let mut driven = self.turn.take(py)?;
        driven.uses(false)?;
        driven.pass(py, now)?;
        if dscp > 63 {
            return Err(errors::argument("dscp", &dscp.to_string(), "0 to 63"));
        }
        let hosts = Hosts { source: hosts.0, destination: hosts.1 };
        let ecn = ecn.read()?;
        driven.offer(None, Packet { len: length, flow, class: service_class, ecn, dscp, hosts, ..Packet::default() })
    }

    /// The next packet that the internal queue sends, or `None`.
    fn dequeue(&self, py: Python<'_>, now: f64) -> PyResult<Option<seen::Packet>> {
        let mut driven = self.turn.take(py)?;
        driven.uses(false)?;
        driven.pass(py, now)?;
        let Driven { queue, now, call, .. } = &mut *driven;
        let packet = call.here(|| queue.depart(*now));
        queue.port.discarded().clear();
        call.raised()?;
        Ok(packet.as_ref().map(seen::Packet::from))
    }

    /// The time (s) from which the internal queue sends a packet, if `dequeue` returned `None` although packets wait: a
    /// discipline with a shaper, such as `cake`, holds them back. `None`: it holds none back.
    #[getter]
    fn held_until(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.turn.take(py)?.queue.held_until().map(|until| until.nanos() as f64 * 1e-9))
    }

    /// Packets and bytes in the internal queue.
    #[getter]
    fn backlog(&self, py: Python<'_>) -> PyResult<(u32, u64)> {
        let driven = self.turn.take(py)?;
        Ok((driven.queue.port.pkts(), driven.queue.port.bytes()))
    }

    /// Packet counters: offered, accepted, departed, dropped_early, dropped_overflow, marked.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tally = self.turn.take(py)?.queue.port.tally();
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

    /// Internal variables of the discipline (probes) by name; `forebay explain` describes them.
    #[getter]
    fn probes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let driven = self.turn.take(py)?;
        let probes = PyDict::new(py);
        for (index, probe) in driven.spec.probes().iter().enumerate() {
            let value = driven.call.here(|| driven.queue.discipline().probe(index));
            probes.set_item(probe.name, value)?;
        }
        driven.call.raised()?;
        Ok(probes)
    }

    /// The value of a parameter of the discipline, as text.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let found = self.turn.take(py)?.spec.get(name);
        found.ok_or_else(|| PyKeyError::new_err(format!("{} has no parameter '{name}'", self.name)))
    }

    /// Changes parameters of the discipline and keeps its state.
    #[pyo3(signature = (**values))]
    fn set(&self, py: Python<'_>, values: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let Some(values) = values else { return Ok(()) };
        let changes: Vec<(String, String)> =
            values.iter().map(|(k, v)| Ok((k.extract()?, word(&v)?))).collect::<PyResult<_>>()?;
        self.turn.take(py)?.retune(&changes)
    }

    /// Pickles the constructor's arguments. Fails after the first packet, after time has advanced, or after a parameter
    /// has changed: this state cannot be pickled.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Arguments)> {
        let this = slf.get();
        let driven = this.turn.take(slf.py())?;
        let Begun { aqm, rate, queue, packet, seed } = &this.begun;
        if driven.serial > 0 || driven.now > Instant::ZERO || driven.spec.canonical() != *aqm {
            let what = "a Discipline in use cannot be pickled; pickle its .canonical and the packets offered to it";
            return Err(PyTypeError::new_err(what));
        }
        Ok((slf.get_type().into_any(), (aqm.clone(), rate.clone(), queue.clone(), *packet, *seed)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Discipline({:?})", self.turn.take(py)?.spec.canonical()))
    }
}

/// A Python value as a parameter value in a discipline string, such as `on` for True.
fn word(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(switch) = value.extract::<bool>() {
        return Ok(if switch { "on" } else { "off" }.to_string());
    }
    Ok(value.str()?.to_string())
}

/// The discipline `spec` with these parameters changed.
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
