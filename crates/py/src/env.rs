//! Many simulations side by side, each stepped by an action: what the environments of `forebay.gym` stand on.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_aqm::Spec;
use forebay_aqm::base::cx::Cx;
use forebay_aqm::base::design::{About, Entry, Probes};
use forebay_aqm::base::ladder::Aqm;
use forebay_aqm::base::own::{Knobs, Own, OwnDiscipline};
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::port::{Level, Tally};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Link;
use forebay_aqm::base::verdict::Verdict;
use forebay_lab::lower;
use forebay_lab::scenario::Case;
use forebay_sim::network::LinkId;
use forebay_sim::world::World;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::drive::changed;
use crate::errors;
use crate::scenario::Scenario;
use crate::watch::{Call, pool};

/// A probability that is set from outside.
type Cell = Arc<AtomicU64>;

thread_local! {
    /// Those of the disciplines that this thread has built.
    static BUILT: RefCell<Vec<Cell>> = const { RefCell::new(Vec::new()) };
}

/// Signals with the probability that was set last.
struct External(Cell);

impl Probes for External {}

impl Aqm for External {
    #[inline]
    fn arrival(&mut self, _: &Packet, _: &Level, cx: &mut Cx) -> Verdict {
        let p = f64::from_bits(self.0.load(Ordering::Relaxed));
        if cx.rng.uniform() < p { Verdict::Signal } else { Verdict::Accept }
    }
}

struct Knob;

impl Knobs for Knob {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn build(&self, _: &Link) -> OwnDiscipline {
        let cell = Cell::default();
        BUILT.with_borrow_mut(|built| built.push(cell.clone()));
        OwnDiscipline::aqm(External(cell))
    }
}

/// A discipline whose probability is set from outside, with or without ECN.
fn external(ecn: bool) -> PyResult<Spec> {
    const ABOUT: About =
        About { summary: "signals with a probability that is set from outside", source: "", rule: "", deviations: &[] };
    let (params, presets, probes) = (&[], &[], &[]);
    let entry =
        Entry { name: "external", rung: "aqm", variant_of: None, about: &ABOUT, params, presets, tc: None, probes };
    let own = Own::made(entry, |_| Ok((String::new(), Knob)));
    let word = if ecn { "ecn=on" } else { "ecn=off" };
    Spec::own(&own, &[word]).map_err(|bad| errors::run(&bad.to_string()))
}

/// What an observation has.
#[derive(Clone, Copy)]
enum Seen {
    Time,
    QueuePackets,
    QueueBytes,
    QueueDelay,
    ArrivalRate,
    DepartureRate,
    Utilisation,
    LossRatio,
    MarkRatio,
    Probability,
    Probe(usize),
}

const NAMES: [(&str, Seen); 10] = [
    ("time_s", Seen::Time),
    ("queue_packets", Seen::QueuePackets),
    ("queue_bytes", Seen::QueueBytes),
    ("queue_delay_s", Seen::QueueDelay),
    ("arrival_rate_bps", Seen::ArrivalRate),
    ("departure_rate_bps", Seen::DepartureRate),
    ("utilisation", Seen::Utilisation),
    ("loss_ratio", Seen::LossRatio),
    ("mark_ratio", Seen::MarkRatio),
    ("p", Seen::Probability),
];

impl Seen {
    fn parse(name: &str, spec: &Spec) -> PyResult<Self> {
        if let Some((_, seen)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(*seen);
        }
        let probes = spec.entry().probes;
        let own = |probe: &str| name == probe || name.split_once('.') == Some((spec.name(), probe));
        if let Some(index) = probes.iter().position(|probe| own(probe.name)) {
            return Ok(Self::Probe(index));
        }
        let known = NAMES.iter().map(|(known, _)| (*known).to_string());
        let all = known.chain(probes.iter().map(|probe| format!("{}.{}", spec.name(), probe.name)));
        Err(errors::argument("observation", name, &format!("one of {}", all.collect::<Vec<_>>().join(", "))))
    }
}

/// One simulation while it runs.
struct One {
    world: World,
    link: LinkId,
    cells: Vec<Cell>,
    p: f64,
    spec: Spec,
    now: Instant,
    /// Seconds of the last step.
    span_s: f64,
    before: Tally,
    during: Tally,
}

impl One {
    fn tally(&self) -> Tally {
        self.world.queue(self.link).map(|queue| queue.port.tally()).unwrap_or_default()
    }

    fn step(&mut self, until: Instant) {
        self.world.run_until(until);
        (self.span_s, self.now) = (until.since(self.now).secs(), until);
        let tally = self.tally();
        self.during = tally.since(&self.before);
        self.before = tally;
    }

    fn see(&self, seen: Seen) -> f64 {
        let Some(queue) = self.world.queue(self.link) else { return f64::NAN };
        let (port, link) = (&queue.port, queue.port.level(forebay_aqm::base::port::MAIN));
        let rate = link.rate().0 as f64;
        let per_s = |bytes: u64| if self.span_s > 0.0 { bytes as f64 * 8.0 / self.span_s } else { 0.0 };
        let share =
            |n: u64| if self.during.offered.pkts > 0 { n as f64 / self.during.offered.pkts as f64 } else { 0.0 };
        match seen {
            Seen::Time => self.now.secs(),
            Seen::QueuePackets => f64::from(port.pkts()),
            Seen::QueueBytes => port.bytes() as f64,
            Seen::QueueDelay => port.bytes() as f64 * 8.0 / rate,
            Seen::ArrivalRate => per_s(self.during.offered.bytes),
            Seen::DepartureRate => per_s(self.during.departed.bytes),
            Seen::Utilisation => per_s(self.during.departed.bytes) / rate,
            Seen::LossRatio => share(self.during.dropped_early.pkts + self.during.dropped_overflow.pkts),
            Seen::MarkRatio => share(self.during.marked.pkts),
            Seen::Probability => self.p,
            Seen::Probe(index) => queue.discipline().probe(index),
        }
    }
}

/// Observations, a row each, and which simulations have come to their end.
type Step<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<bool>>);

/// Simulations of one scenario, stepped together on all cores.
#[pyclass(module = "forebay._native")]
pub(crate) struct Env {
    case: Case,
    spec: Spec,
    /// The parameters that an action sets; none: it is the probability of a signal.
    parameters: Vec<String>,
    seen: Vec<Seen>,
    step: Span,
    end: Instant,
    ones: Vec<Option<One>>,
    pool: ThreadPool,
    jobs: Option<usize>,
    process: u32,
    call: Arc<Call>,
}

impl Env {
    fn begin(&self, seed: u64) -> PyResult<One> {
        let net = lower::network(&self.case.scenario, &self.spec, seed);
        let missing = || errors::run("no link of the scenario is compared");
        // The first link under study is the one that the scenario compares.
        let link = net.links.iter().position(|link| link.study).ok_or_else(missing)?;
        BUILT.with_borrow_mut(Vec::clear);
        let world = self.call.here(|| World::new(&net, seed)).map_err(|error| errors::run(&error.to_string()))?;
        self.call.raised()?;
        if world.queue(link).is_none() {
            return Err(errors::argument("aqm", &self.spec.canonical(), "a discipline other than plain drop-tail"));
        }
        let cells = BUILT.with_borrow_mut(std::mem::take);
        let (spec, before, during) = (self.spec.clone(), Tally::default(), Tally::default());
        let mut one = One { world, link, cells, p: 0.0, spec, now: Instant::ZERO, span_s: 0.0, before, during };
        if !self.parameters.is_empty() && !one.world.retune(link, &self.spec) {
            let accepts = "a discipline that can be tuned while it runs";
            return Err(errors::argument("parameters", self.spec.name(), accepts));
        }
        Ok(one)
    }

    fn observations<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let (rows, columns) = (self.ones.len(), self.seen.len());
        let all = PyArray2::<f64>::zeros(py, [rows, columns], false);
        let mut values = all.try_readwrite();
        if let Ok(values) = &mut values
            && let Ok(values) = values.as_slice_mut()
        {
            for (one, row) in self.ones.iter().zip(values.chunks_mut(columns.max(1))) {
                let see = |seen: &Seen| one.as_ref().map_or(f64::NAN, |one| one.see(*seen));
                row.iter_mut().zip(&self.seen).for_each(|(value, seen)| *value = see(seen));
            }
        }
        drop(values);
        all
    }
}

/// A number as a parameter has it: times in seconds, and whole where it must be.
fn written(spec: &Spec, name: &str, value: f64) -> String {
    let unit = spec.entry().params.iter().find(|spec| spec.name == name).map_or("", |spec| spec.unit);
    let words = |value: f64| if unit == "s" { format!("{value}s") } else { value.to_string() };
    let fits = |words: &String| changed(spec, &[(name.to_string(), words.clone())]).is_ok();
    Some(words(value)).filter(fits).unwrap_or_else(|| words(value.round()))
}

/// An action that is out of range or no number.
fn bad_action(value: f64) -> PyErr {
    errors::argument("action", &value.to_string(), "a probability from 0 to 1")
}

#[pymethods]
impl Env {
    /// `count` simulations of the scenario's first case, `step_s` simulated seconds a step. Without `parameters` an action
    /// is the probability of a signal; else values of these parameters of the first discipline that is compared.
    #[new]
    #[pyo3(signature = (scenario, count, observation, step_s = 0.01, parameters = vec![], jobs = None, ecn = false))]
    fn new(
        scenario: &Scenario,
        count: usize,
        observation: Vec<String>,
        step_s: f64,
        parameters: Vec<String>,
        jobs: Option<usize>,
        ecn: bool,
    ) -> PyResult<Self> {
        let case = scenario.cases.first().cloned().ok_or_else(|| errors::run("a scenario without a case"))?;
        if !(step_s.is_finite() && (1e-6..=1e3).contains(&step_s)) {
            return Err(errors::argument("step", &step_s.to_string(), "1e-6 to 1000 seconds"));
        }
        let spec = match (parameters.as_slice(), case.scenario.compare.first()) {
            ([], _) => external(ecn)?,
            (_, Some(first)) => first.spec.clone(),
            (_, None) => return Err(errors::argument("parameters", "no discipline", "a scenario that compares one")),
        };
        for name in &parameters {
            if spec.entry().params.iter().all(|spec| spec.name != name) {
                let known: Vec<&str> = spec.entry().params.iter().map(|spec| spec.name).collect();
                return Err(errors::argument("parameters", name, &format!("of {}: {}", spec.name(), known.join(", "))));
            }
        }
        let seen = observation.iter().map(|name| Seen::parse(name, &spec)).collect::<PyResult<_>>()?;
        let call = Arc::new(Call::default());
        let pool = pool(jobs, &call)?;
        let (end, step) = (Instant::ZERO + case.scenario.duration, Span::from_secs(step_s));
        let ones = (0..count).map(|_| None).collect();
        let process = std::process::id();
        Ok(Self { case, spec, parameters, seen, step, end, ones, pool, jobs, process, call })
    }

    /// The names of what can be observed whatever the discipline.
    #[classattr]
    #[pyo3(name = "OBSERVABLE")]
    fn observable(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, NAMES.iter().map(|(name, _)| *name))
    }

    /// Begins some of them anew, each with its seed; what all look like then, a row for each.
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        which: Vec<usize>,
        seeds: Vec<u64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if which.len() != seeds.len() {
            return Err(PyValueError::new_err("as many seeds as simulations"));
        }
        for (at, seed) in which.into_iter().zip(seeds) {
            let begun = self.begin(seed)?;
            let one = self.ones.get_mut(at).ok_or_else(|| PyValueError::new_err("no such simulation"))?;
            *one = Some(begun);
        }
        Ok(self.observations(py))
    }

    /// A step of all of them: what they look like then, and which have come to their end. Those that had before stay.
    fn step<'py>(&mut self, py: Python<'py>, actions: PyReadonlyArray2<'py, f64>) -> PyResult<Step<'py>> {
        let (rows, columns) = (self.ones.len(), self.parameters.len().max(1));
        let actions = actions.as_array();
        if actions.dim() != (rows, columns) {
            return Err(PyValueError::new_err(format!("actions of shape ({rows}, {columns})")));
        }
        for (one, action) in self.ones.iter_mut().zip(actions.rows()) {
            let one = one.as_mut().ok_or_else(|| PyValueError::new_err("reset() comes first"))?;
            if self.parameters.is_empty() {
                let p = action[0];
                if !(0.0..=1.0).contains(&p) {
                    return Err(bad_action(p));
                }
                one.p = p;
                one.cells.iter().for_each(|cell| cell.store(p.to_bits(), Ordering::Relaxed));
            } else {
                let named = self.parameters.iter().zip(action);
                let changes = named.map(|(name, value)| (name.clone(), written(&one.spec, name, *value)));
                one.spec = changed(&one.spec, &changes.collect::<Vec<_>>())?;
                if !one.world.retune(one.link, &one.spec) {
                    let accepts = "parameters that can change while it runs";
                    return Err(errors::argument("action", &self.parameters.join(", "), accepts));
                }
            }
        }
        if self.process != std::process::id() {
            // The threads of a process that was forked are not there.
            (self.process, self.pool) = (std::process::id(), pool(self.jobs, &self.call)?);
        }
        let (step, end) = (self.step, self.end);
        let (ones, pool) = (&mut self.ones, &self.pool);
        py.detach(|| {
            pool.install(|| {
                ones.par_iter_mut().flatten().for_each(|one| one.step((one.now + step).min(end)));
            });
        });
        self.call.raised()?;
        let done = self.ones.iter().flatten().map(|one| one.now >= end).collect();
        Ok((self.observations(py), PyArray1::from_vec(py, done)))
    }
}
