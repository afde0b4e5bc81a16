//! The agent at a queue: it sets the drop or mark probability of an AQM, or parameters of a discipline.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_aqm::Spec;
use forebay_aqm::base::cx::Cx;
use forebay_aqm::base::design::{About, Cost, DisciplineKind, Entry, Order, Probes};
use forebay_aqm::base::discipline::Aqm;
use forebay_aqm::base::own::{Own, OwnDiscipline, OwnParameters};
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::port::{Level, MAIN, Tally};
use forebay_aqm::base::units::Link;
use forebay_aqm::base::verdict::Verdict;
use forebay_lab::scenario::Case;
use forebay_sim::network::LinkId;
use forebay_sim::world::World;
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Batch, Clock, Kept, Role, State, Step, world};
use crate::drive::changed;
use crate::errors;
use crate::scenario::Scenario;

/// The drop or mark probability of one discipline, set by actions, as the bits of an f64.
type Cell = Arc<AtomicU64>;

thread_local! {
    /// The probability cells of the disciplines that this thread has built.
    static BUILT: RefCell<Vec<Cell>> = const { RefCell::new(Vec::new()) };
}

/// An AQM that drops or marks each arriving packet with the probability in its cell.
struct External(Cell);

impl Probes for External {}

impl Aqm for External {
    #[inline]
    fn arrival(&mut self, _: &Packet, _: &Level, cx: &mut Cx) -> Verdict {
        let p = f64::from_bits(self.0.load(Ordering::Relaxed));
        if cx.rng.uniform() < p { Verdict::Signal } else { Verdict::Accept }
    }
}

struct NoParameters;

impl OwnParameters for NoParameters {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn build(&self, _: &Link) -> OwnDiscipline {
        let cell = Cell::default();
        BUILT.with_borrow_mut(|built| built.push(cell.clone()));
        OwnDiscipline::aqm(External(cell))
    }
}

/// The discipline whose drop or mark probability is set by actions.
fn external(ecn: bool) -> PyResult<Spec> {
    const ABOUT: About =
        About { summary: "signals with a probability set from outside", source: "", rule: "", deviations: &[] };
    let (params, presets, probes) = (&[], &[], &[]);
    let (order, cost, kind) = (Order::Lists(1), Cost::Light, DisciplineKind::Aqm);
    let (name, variant_of, about, tc) = ("external", None, &ABOUT, None);
    let entry = Entry { name, kind, variant_of, about, params, presets, tc, probes, order, cost };
    let own = Own::made(entry, |_| Ok((String::new(), NoParameters)));
    let word = if ecn { "ecn=on" } else { "ecn=off" };
    Spec::own(&own, &[word]).map_err(|bad| errors::run(&bad.to_string()))
}

/// A quantity that an observation of the queue has.
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
        let probes = spec.probes();
        let own = |probe: &str| name == probe || name.split_once('.') == Some((spec.name(), probe));
        if let Some(index) = probes.iter().position(|probe| own(probe.name)) {
            return Ok(Self::Probe(index));
        }
        let known = NAMES.iter().map(|(known, _)| (*known).to_string());
        let all = known.chain(probes.iter().map(|probe| format!("{}.{}", spec.name(), probe.name)));
        Err(errors::word("observation", name, &all.collect::<Vec<_>>()))
    }
}

/// The agent of one simulation.
pub(super) struct Agent {
    link: LinkId,
    cells: Vec<Cell>,
    p: f64,
    spec: Spec,
    before: Tally,
    during: Tally,
}

/// What actions and observations are.
pub(super) struct AtQueue {
    spec: Spec,
    seen: Vec<Seen>,
    /// The parameters of the discipline that an action sets. If the list is empty, an action sets the probability with
    /// which the discipline drops or marks a packet.
    parameters: Vec<String>,
}

impl Role for AtQueue {
    type Agents = Agent;

    fn columns(&self) -> usize {
        self.parameters.len().max(1)
    }

    fn observed(&self) -> usize {
        self.seen.len()
    }

    fn check(&self, actions: &[f64]) -> PyResult<()> {
        let wrong = actions.iter().find(|p| self.parameters.is_empty() && !(0.0..=1.0).contains(*p));
        wrong.map_or(Ok(()), |p| Err(bad_action(*p)))
    }

    fn begin(&self, case: &Case, seed: u64) -> PyResult<(World, Agent)> {
        BUILT.with_borrow_mut(Vec::clear);
        let (mut world, link) = world(case, &self.spec, seed)?;
        if !self.parameters.is_empty() && !world.retune(link, &self.spec) {
            let accepts = "a discipline that can be tuned while it runs";
            return Err(errors::argument("parameters", self.spec.name(), accepts));
        }
        let cells = BUILT.with_borrow_mut(std::mem::take);
        let (spec, before, during) = (self.spec.clone(), Tally::default(), Tally::default());
        Ok((world, Agent { link, cells, p: 0.0, spec, before, during }))
    }

    /// Sets the parameters or, if there are none, the drop or mark probability.
    fn act(&self, world: &mut World, agent: &mut Agent, action: &[f64]) -> PyResult<()> {
        if self.parameters.is_empty() {
            agent.p = action.first().copied().unwrap_or_default();
            self.check(action)?;
            agent.cells.iter().for_each(|cell| cell.store(agent.p.to_bits(), Ordering::Relaxed));
        } else {
            let named = self.parameters.iter().zip(action);
            let changes = named.map(|(name, value)| (name.clone(), written(&agent.spec, name, *value)));
            agent.spec = changed(&agent.spec, &changes.collect::<Vec<_>>())?;
            if !world.retune(agent.link, &agent.spec) {
                let accepts = "parameters that can change while it runs";
                return Err(errors::argument("action", &self.parameters.join(", "), accepts));
            }
        }
        Ok(())
    }

    fn ended(&self, world: &World, agent: &mut Agent) {
        let tally = world.queue(agent.link).map(|queue| queue.port.tally()).unwrap_or_default();
        agent.during = tally.since(&agent.before);
        agent.before = tally;
    }

    fn see(&self, world: &World, agent: &Agent, clock: Clock, _row: usize, column: usize) -> f64 {
        let Some(queue) = world.queue(agent.link) else { return f64::NAN };
        let (port, link) = (&queue.port, queue.port.level(MAIN));
        let rate = link.rate().0 as f64;
        let per_s = |bytes: u64| if clock.span_s > 0.0 { bytes as f64 * 8.0 / clock.span_s } else { 0.0 };
        let offered = agent.during.offered.pkts;
        let share = |n: u64| if offered > 0 { n as f64 / offered as f64 } else { 0.0 };
        match self.seen[column] {
            Seen::Time => clock.now.secs(),
            Seen::QueuePackets => f64::from(port.pkts()),
            Seen::QueueBytes => port.bytes() as f64,
            Seen::QueueDelay => port.bytes() as f64 * 8.0 / rate,
            Seen::ArrivalRate => per_s(agent.during.offered.bytes),
            Seen::DepartureRate => per_s(agent.during.departed.bytes),
            Seen::Utilisation => per_s(agent.during.departed.bytes) / rate,
            Seen::LossRatio => share(agent.during.dropped_early.pkts + agent.during.dropped_overflow.pkts),
            Seen::MarkRatio => share(agent.during.marked.pkts),
            Seen::Probability => agent.p,
            Seen::Probe(index) => queue.discipline().probe(index),
        }
    }
}

/// A number in the notation of a parameter: times in seconds, integers rounded.
fn written(spec: &Spec, name: &str, value: f64) -> String {
    let unit = spec.entry().params.iter().find(|spec| spec.name == name).map_or("", |spec| spec.unit);
    let words = |value: f64| if unit == "s" { format!("{value}s") } else { value.to_string() };
    let fits = |words: &String| changed(spec, &[(name.to_string(), words.clone())]).is_ok();
    Some(words(value)).filter(fits).unwrap_or_else(|| words(value.round()))
}

/// The error for an action out of range.
fn bad_action(value: f64) -> PyErr {
    errors::argument("action", &value.to_string(), "a probability from 0 to 1")
}

/// Simulations of one scenario, stepped in parallel. An action sets the drop or mark probability of the scenario's first
/// discipline, or parameters of it.
#[pyclass(frozen, module = "forebay._native")]
pub struct Env {
    batch: Batch<AtQueue>,
    ecn: bool,
}

/// Constructor arguments in order, for pickling.
type Arguments = (Py<Scenario>, usize, Vec<String>, f64, Vec<String>, Option<usize>, bool);

#[pymethods]
impl Env {
    /// Creates `count` simulations of the scenario. Keys that vary have their first values. A step lasts `step_s`
    /// simulated seconds. An action has values for `parameters` of the first discipline of the scenario. If
    /// `parameters` is empty, an action is the probability with which a packet is marked or dropped.
    #[new]
    #[pyo3(signature = (scenario, count, observation, step_s = 0.01, parameters = vec![], jobs = None, ecn = false))]
    fn new(
        scenario: Py<Scenario>,
        count: usize,
        observation: Vec<String>,
        step_s: f64,
        parameters: Vec<String>,
        jobs: Option<usize>,
        ecn: bool,
    ) -> PyResult<Self> {
        let case = super::case(&scenario)?;
        let spec = match (parameters.as_slice(), case.scenario.compare.first()) {
            ([], _) => external(ecn)?,
            (_, Some(first)) => first.spec.clone(),
            (_, None) => return Err(errors::argument("parameters", "no discipline", "a scenario with a discipline")),
        };
        for name in &parameters {
            if spec.entry().params.iter().all(|spec| spec.name != name) {
                let known: Vec<&str> = spec.entry().params.iter().map(|spec| spec.name).collect();
                return Err(errors::argument("parameters", name, &format!("of {}: {}", spec.name(), known.join(", "))));
            }
        }
        let seen = observation.iter().map(|name| Seen::parse(name, &spec)).collect::<PyResult<_>>()?;
        let role = AtQueue { spec, seen, parameters };
        Ok(Self { batch: Batch::new(role, scenario, case, count, observation, step_s, jobs)?, ecn })
    }

    /// Names of the quantities that can be observed with every discipline.
    #[classattr]
    #[pyo3(name = "OBSERVABLE")]
    fn observable(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, NAMES.iter().map(|(name, _)| *name))
    }

    /// Restarts the simulations `which` with these seeds. Returns the observations of all simulations, one row each.
    fn reset<'py>(&self, py: Python<'py>, which: Vec<usize>, seeds: Vec<u64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.batch.reset(py, which, &seeds)
    }

    /// Advances all simulations by one step; those that have ended stay as they are. Returns the observations, and
    /// which simulations have ended.
    fn step<'py>(&self, py: Python<'py>, actions: PyReadonlyArray2<'py, f64>) -> PyResult<Step<'py>> {
        let (rows, ended) = self.batch.step(py, &actions)?;
        Ok((rows, PyArray1::from_vec(py, ended)))
    }

    /// Pickles the constructor's arguments, and for each simulation its seed, actions and a fingerprint of its events.
    /// The copy repeats the actions.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Arguments, State<'py>)> {
        let (this, py) = (slf.get(), slf.py());
        let asked = &this.batch.asked;
        let parameters = this.batch.role.parameters.clone();
        let (scenario, seen) = (asked.scenario.clone_ref(py), asked.observation.clone());
        let parts = (scenario, asked.count, seen, asked.step_s, parameters, asked.jobs, this.ecn);
        Ok((slf.get_type().into_any(), parts, this.batch.state(py)?))
    }

    /// Repeats the steps of the pickled environment.
    fn __setstate__(&self, py: Python<'_>, state: Vec<Option<Kept>>) -> PyResult<()> {
        self.batch.set_state(py, state)
    }
}
