//! Many simulations that run in parallel, step by step. Each step begins with an action, which sets the drop or mark
//! probability of an AQM, or its parameters. This is the basis of `forebay.gym`.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use forebay_aqm::Spec;
use forebay_aqm::base::cx::Cx;
use forebay_aqm::base::design::{About, Cost, DisciplineKind, Entry, Order, Probes};
use forebay_aqm::base::discipline::Aqm;
use forebay_aqm::base::own::{Own, OwnDiscipline, OwnParameters};
use forebay_aqm::base::packet::Packet;
use forebay_aqm::base::port::{Level, Tally};
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Link;
use forebay_aqm::base::verdict::Verdict;
use forebay_lab::linux;
use forebay_lab::lower;
use forebay_lab::scenario::Case;
use forebay_sim::network::LinkId;
use forebay_sim::world::{Observer, World};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::drive::changed;
use crate::errors;
use crate::scenario::Scenario;
use crate::turn::Turn;
use crate::watch::{Call, pool};

/// Maximum number of simulations per environment ([`Env`]).
const MAX_SIMULATIONS: usize = 1_000_000;

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

/// A running simulation.
struct One {
    world: World,
    link: LinkId,
    cells: Vec<Cell>,
    p: f64,
    spec: Spec,
    /// End of the current or last step.
    now: Instant,
    /// Length of that step, s.
    span_s: f64,
    before: Tally,
    during: Tally,
    seed: u64,
    /// All actions since the start, concatenated. A copy made by pickling the environment repeats them.
    actions: Vec<f64>,
    /// Number of finished steps.
    steps: usize,
}

/// Stops the simulation at a wall-clock time.
struct Deadline(std::time::Instant);

impl Observer for Deadline {
    fn reached(&mut self, _: Instant) -> bool {
        std::time::Instant::now() < self.0
    }
}

/// How long simulations run between two checks for Ctrl-C.
const PIECE: Duration = Duration::from_millis(50);

impl One {
    fn tally(&self) -> Tally {
        self.world.queue(self.link).map(|queue| queue.port.tally()).unwrap_or_default()
    }

    /// Starts a step: sets `parameters` or, if there are none, the drop or mark probability.
    fn act(&mut self, parameters: &[String], action: &[f64]) -> PyResult<()> {
        if parameters.is_empty() {
            self.p = action.first().copied().unwrap_or_default();
            if !(0.0..=1.0).contains(&self.p) {
                return Err(bad_action(self.p));
            }
            self.cells.iter().for_each(|cell| cell.store(self.p.to_bits(), Ordering::Relaxed));
        } else {
            let named = parameters.iter().zip(action);
            let changes = named.map(|(name, value)| (name.clone(), written(&self.spec, name, *value)));
            self.spec = changed(&self.spec, &changes.collect::<Vec<_>>())?;
            if !self.world.retune(self.link, &self.spec) {
                let accepts = "parameters that can change while it runs";
                return Err(errors::argument("action", &parameters.join(", "), accepts));
            }
        }
        self.actions.extend(action);
        Ok(())
    }

    /// Starts a step that ends at `until`.
    fn begin(&mut self, until: Instant) {
        (self.span_s, self.now) = (until.since(self.now).secs(), until);
    }

    /// Continues the step; true if it has ended before `deadline`.
    fn go_on(&mut self, deadline: std::time::Instant) -> bool {
        if !self.world.run_until(self.now, &mut Deadline(deadline)) {
            return false;
        }
        let tally = self.tally();
        self.during = tally.since(&self.before);
        self.before = tally;
        self.steps += 1;
        true
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

/// Observations, one row per simulation, and which simulations have ended.
type Step<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<bool>>);

/// The pickled state of each simulation: seed, actions as little-endian bytes, fingerprint of its events.
type State<'py> = Vec<Option<(u64, Bound<'py, PyBytes>, u64)>>;

/// The state of a simulation, read from a pickle: seed, actions, fingerprint.
type Kept = (u64, Vec<u8>, u64);

/// Simulations of one scenario, stepped in parallel. Calls from several threads are serialized.
#[pyclass(frozen, module = "forebay._native")]
pub struct Env {
    asked: Asked,
    case: Case,
    spec: Spec,
    seen: Vec<Seen>,
    step: Span,
    end: Instant,
    turn: Turn<Sims>,
}

/// The constructor's arguments.
struct Asked {
    scenario: Py<Scenario>,
    count: usize,
    observation: Vec<String>,
    step_s: f64,
    /// The parameters of the discipline that an action sets. If the list is empty, an action sets the probability with
    /// which the discipline drops or marks a packet.
    parameters: Vec<String>,
    jobs: Option<usize>,
    ecn: bool,
}

/// Constructor arguments in order, for pickling.
type Arguments = (Py<Scenario>, usize, Vec<String>, f64, Vec<String>, Option<usize>, bool);

/// The state of an [`Env`] that its methods change.
struct Sims {
    ones: Vec<Option<One>>,
    pool: ThreadPool,
    process: u32,
}

impl Sims {
    /// In a forked process, creates a new thread pool: the threads of the old one do not exist there.
    fn pool(&mut self, jobs: Option<usize>, call: &Arc<Call>) -> PyResult<()> {
        if self.process != std::process::id() {
            (self.process, self.pool) = (std::process::id(), pool(jobs, call)?);
        }
        Ok(())
    }
}

impl Env {
    /// Number of values in an action.
    fn columns(&self) -> usize {
        self.asked.parameters.len().max(1)
    }

    fn begin(&self, seed: u64) -> PyResult<One> {
        let net = lower::network(&self.case.scenario, &self.spec, seed);
        let missing = || errors::run("no link of the scenario is compared");
        // The first link under study is the one that the scenario compares.
        let link = net.links.iter().position(|link| link.lane.study).ok_or_else(missing)?;
        if linux::words(&self.spec).is_some() {
            return Err(errors::argument("aqm", &self.spec.canonical(), "a discipline that can be simulated"));
        }
        BUILT.with_borrow_mut(Vec::clear);
        let world = World::new(&net, seed).map_err(|error| errors::run(&error.to_string()))?;
        if world.queue(link).is_none() {
            return Err(errors::argument("aqm", &self.spec.canonical(), "a discipline other than plain drop-tail"));
        }
        let mut one = One {
            world,
            link,
            cells: BUILT.with_borrow_mut(std::mem::take),
            p: 0.0,
            spec: self.spec.clone(),
            now: Instant::ZERO,
            span_s: 0.0,
            before: Tally::default(),
            during: Tally::default(),
            seed,
            actions: Vec::new(),
            steps: 0,
        };
        if !self.asked.parameters.is_empty() && !one.world.retune(link, &self.spec) {
            let accepts = "a discipline that can be tuned while it runs";
            return Err(errors::argument("parameters", self.spec.name(), accepts));
        }
        Ok(one)
    }

    /// Starts a simulation for each seed, without the GIL.
    fn begin_all(&self, py: Python<'_>, sims: &Sims, seeds: &[u64]) -> PyResult<Vec<One>> {
        let begun = py.detach(|| sims.pool.install(|| seeds.par_iter().map(|seed| self.begin(*seed)).collect()));
        self.turn.call.raised()?;
        begun
    }

    /// Calls `work` on each simulation, without the GIL, until it has returned true for all. Checks for Ctrl-C
    /// every 50 ms ([`PIECE`]). Ctrl-C or an error discards all simulations, because they are at different times.
    fn finish(
        &self,
        py: Python<'_>,
        sims: &mut Sims,
        work: impl Fn(usize, &mut One, std::time::Instant) -> PyResult<bool> + Sync,
    ) -> PyResult<()> {
        let mut over: Vec<bool> = vec![false; sims.ones.len()];
        loop {
            let Sims { ones, pool, .. } = &mut *sims;
            let piece = py.detach(|| {
                let deadline = std::time::Instant::now() + PIECE;
                let left = ones.par_iter_mut().zip(&mut over).enumerate();
                let go_on = |(at, (one, over)): (usize, (&mut Option<One>, &mut bool))| {
                    if let Some(one) = one.as_mut().filter(|_| !*over) {
                        *over = work(at, one, deadline)?;
                    }
                    Ok(())
                };
                pool.install(|| left.try_for_each(go_on))
            });
            let ended = over.iter().zip(&sims.ones).all(|(over, one)| *over || one.is_none());
            let interrupted = piece.and_then(|()| if ended { Ok(()) } else { py.check_signals() });
            if let Err(error) = interrupted.and_then(|()| self.turn.call.raised()) {
                sims.ones.iter_mut().for_each(|one| *one = None);
                return Err(error);
            }
            if ended {
                return Ok(());
            }
        }
    }

    /// Continues to repeat the actions `script` of a pickled simulation; true if all were done before `deadline`.
    fn repeat(&self, one: &mut One, script: &[f64], deadline: std::time::Instant) -> PyResult<bool> {
        let columns = self.columns();
        while let Some(action) = script.chunks(columns).nth(one.steps) {
            if std::time::Instant::now() >= deadline {
                return Ok(false);
            }
            if one.actions.len() == one.steps * columns {
                one.begin((one.now + self.step).min(self.end));
                one.act(&self.asked.parameters, action)?;
            }
            if !one.go_on(deadline) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn observations<'py>(&self, py: Python<'py>, ones: &[Option<One>]) -> Bound<'py, PyArray2<f64>> {
        let (rows, columns) = (ones.len(), self.seen.len());
        let all = PyArray2::<f64>::zeros(py, [rows, columns], false);
        let mut values = all.try_readwrite();
        if let Ok(values) = &mut values
            && let Ok(values) = values.as_slice_mut()
        {
            for (one, row) in ones.iter().zip(values.chunks_mut(columns.max(1))) {
                let see = |seen: &Seen| one.as_ref().map_or(f64::NAN, |one| one.see(*seen));
                row.iter_mut().zip(&self.seen).for_each(|(value, seen)| *value = see(seen));
            }
        }
        drop(values);
        all
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

fn reset_first() -> PyErr {
    PyValueError::new_err("call reset() first")
}

/// The error for an invalid pickled state.
fn bad_state(what: &str) -> PyErr {
    PyValueError::new_err(format!("not a pickled environment: {what}"))
}

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
        let case = scenario.get().cases.first().cloned().ok_or_else(|| errors::run("a scenario without a case"))?;
        if !(step_s.is_finite() && (1e-6..=1e3).contains(&step_s)) {
            return Err(errors::argument("step", &step_s.to_string(), "1e-6 to 1000 seconds"));
        }
        if count > MAX_SIMULATIONS {
            return Err(errors::argument(
                "count",
                &count.to_string(),
                &format!("at most {MAX_SIMULATIONS} simulations"),
            ));
        }
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
        let call = Arc::new(Call::default());
        let pool = pool(jobs, &call)?;
        let (end, step) = (Instant::ZERO + case.scenario.duration, Span::from_secs(step_s));
        let sims = Sims { ones: (0..count).map(|_| None).collect(), pool, process: std::process::id() };
        let asked = Asked { scenario, count, observation, step_s, parameters, jobs, ecn };
        Ok(Self { asked, case, spec, seen, step, end, turn: Turn::new(sims, call) })
    }

    /// Names of the quantities that can be observed with every discipline.
    #[classattr]
    #[pyo3(name = "OBSERVABLE")]
    fn observable(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, NAMES.iter().map(|(name, _)| *name))
    }

    /// Restarts the simulations `which` with these seeds. Returns the observations of all simulations, one row each.
    fn reset<'py>(&self, py: Python<'py>, which: Vec<usize>, seeds: Vec<u64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if which.len() != seeds.len() {
            return Err(PyValueError::new_err("the number of seeds must equal the number of simulations"));
        }
        if which.iter().any(|at| *at >= self.asked.count) {
            return Err(PyValueError::new_err("no such simulation"));
        }
        let mut sims = self.turn.take(py)?;
        sims.pool(self.asked.jobs, &self.turn.call)?;
        let begun = self.begin_all(py, &sims, &seeds)?;
        for (at, one) in which.into_iter().zip(begun) {
            sims.ones[at] = Some(one);
        }
        Ok(self.observations(py, &sims.ones))
    }

    /// Advances all simulations by one step; those that have ended stay as they are. Returns the observations, and
    /// which simulations have ended.
    fn step<'py>(&self, py: Python<'py>, actions: PyReadonlyArray2<'py, f64>) -> PyResult<Step<'py>> {
        let (rows, columns) = (self.asked.count, self.columns());
        let actions = actions.as_array();
        if actions.dim() != (rows, columns) {
            return Err(PyValueError::new_err(format!("actions must have shape ({rows}, {columns})")));
        }
        let actions: Vec<f64> = actions.iter().copied().collect();
        let parameters = &self.asked.parameters;
        if let Some(p) = actions.iter().find(|p| parameters.is_empty() && !(0.0..=1.0).contains(*p)) {
            return Err(bad_action(*p));
        }
        let mut sims = self.turn.take(py)?;
        sims.pool(self.asked.jobs, &self.turn.call)?;
        if sims.ones.iter().any(Option::is_none) {
            return Err(reset_first());
        }
        let each = sims.ones.iter_mut().flatten().zip(actions.chunks(columns));
        let acted = each.map(|(one, action)| {
            one.begin((one.now + self.step).min(self.end));
            one.act(parameters, action)
        });
        if let Err(error) = acted.collect::<PyResult<()>>() {
            // Some have already acted: discard all.
            sims.ones.iter_mut().for_each(|one| *one = None);
            return Err(error);
        }
        self.finish(py, &mut sims, |_, one, deadline| Ok(one.go_on(deadline)))?;
        let done = sims.ones.iter().flatten().map(|one| one.now >= self.end).collect();
        Ok((self.observations(py, &sims.ones), PyArray1::from_vec(py, done)))
    }

    /// Pickles the constructor's arguments, and for each simulation its seed, actions and a fingerprint of its events.
    /// The copy repeats the actions.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Arguments, State<'py>)> {
        let (this, py) = (slf.get(), slf.py());
        let sims = this.turn.take(py)?;
        let Asked { scenario, count, observation, step_s, parameters, jobs, ecn } = &this.asked;
        let kept = |one: &One| {
            let actions: Vec<u8> = one.actions.iter().flat_map(|action| action.to_le_bytes()).collect();
            (one.seed, PyBytes::new(py, &actions), one.world.fingerprint())
        };
        let parts = (scenario.clone_ref(py), *count, observation.clone(), *step_s, parameters.clone(), *jobs, *ecn);
        let state = sims.ones.iter().map(|one| one.as_ref().map(kept)).collect();
        Ok((slf.get_type().into_any(), parts, state))
    }

    /// Repeats the steps of the pickled environment.
    fn __setstate__(&self, py: Python<'_>, state: Vec<Option<Kept>>) -> PyResult<()> {
        if state.len() != self.asked.count {
            return Err(bad_state("another number of simulations"));
        }
        let mut sims = self.turn.take(py)?;
        let (mut which, mut seeds, mut scripts) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (seed, bytes, fingerprint)) in state.into_iter().enumerate().filter_map(|(at, one)| Some((at, one?))) {
            if !bytes.len().is_multiple_of(8 * self.columns()) {
                return Err(bad_state("actions of another shape"));
            }
            let number = |chunk: &[u8]| chunk.try_into().map_or(f64::NAN, f64::from_le_bytes);
            scripts.push((bytes.chunks(8).map(number).collect::<Vec<f64>>(), fingerprint));
            which.push(at);
            seeds.push(seed);
        }
        let begun = self.begin_all(py, &sims, &seeds)?;
        let mut whose = vec![None; self.asked.count];
        for (n, (at, one)) in which.into_iter().zip(begun).enumerate() {
            (sims.ones[at], whose[at]) = (Some(one), Some(n));
        }
        let script = |at: usize| whose[at].map_or((&[][..], 0), |n: usize| (scripts[n].0.as_slice(), scripts[n].1));
        self.finish(py, &mut sims, |at, one, deadline| self.repeat(one, script(at).0, deadline))?;
        let same =
            |(at, one): (usize, &Option<One>)| one.as_ref().is_none_or(|one| one.world.fingerprint() == script(at).1);
        if sims.ones.iter().enumerate().all(same) {
            return Ok(());
        }
        sims.ones.iter_mut().for_each(|one| *one = None);
        Err(errors::run(
            "repeated steps of an environment gave other packets: another build, or a nondeterministic discipline",
        ))
    }
}
