//! Many simulations that run in parallel, step by step. Each step begins with an action of each agent. This is the basis
//! of `forebay.gym`.
//!
//! - [`queue`]: an agent sets the drop or mark probability of an AQM, or its parameters.
//! - [`senders`]: agents set the windows or rates of TCP senders.

pub mod queue;
pub mod senders;

use std::sync::Arc;
use std::time::Duration;

use forebay_aqm::Spec;
use forebay_aqm::base::time::{Instant, Span};
use forebay_lab::linux;
use forebay_lab::lower;
use forebay_lab::scenario::Case;
use forebay_sim::network::LinkId;
use forebay_sim::world::{Observer, World};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::errors;
use crate::scenario::Scenario;
use crate::turn::Turn;
use crate::watch::{Call, pool};

/// Maximum number of simulations of a [`Batch`].
const MAX_SIMULATIONS: usize = 1_000_000;

/// What the agents of a simulation do and see.
trait Role: Send + Sync {
    /// The agents of one simulation.
    type Agents: Send + Sync;

    /// Number of agents in each simulation.
    fn rows(&self) -> usize {
        1
    }

    /// Number of values in the action of an agent.
    fn columns(&self) -> usize;

    /// Number of values in the observation of an agent.
    fn observed(&self) -> usize;

    /// Refuses actions that no agent can do.
    fn check(&self, actions: &[f64]) -> PyResult<()>;

    /// Creates a simulation and its agents.
    fn begin(&self, case: &Case, seed: u64) -> PyResult<(World, Self::Agents)>;

    /// The agents act: `action` has the values of each in turn.
    fn act(&self, world: &mut World, agents: &mut Self::Agents, action: &[f64]) -> PyResult<()>;

    /// A step has ended.
    fn ended(&self, world: &World, agents: &mut Self::Agents);

    /// Value `column` in the observation of agent `row`.
    fn see(&self, world: &World, agents: &Self::Agents, clock: Clock, row: usize, column: usize) -> f64;
}

/// The time of a simulation.
#[derive(Clone, Copy)]
struct Clock {
    /// End of the current or last step.
    now: Instant,
    /// Length of that step, s.
    span_s: f64,
}

/// A running simulation.
struct One<A> {
    world: World,
    agents: A,
    clock: Clock,
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

impl<A> One<A> {
    /// Starts a step that ends at `until`.
    fn begin(&mut self, until: Instant) {
        self.clock = Clock { span_s: until.since(self.clock.now).secs(), now: until };
    }

    /// The agents act.
    fn act(&mut self, role: &impl Role<Agents = A>, action: &[f64]) -> PyResult<()> {
        role.act(&mut self.world, &mut self.agents, action)?;
        self.actions.extend(action);
        Ok(())
    }

    /// Continues the step; true if it has ended before `deadline`.
    fn go_on(&mut self, role: &impl Role<Agents = A>, deadline: std::time::Instant) -> bool {
        if !self.world.run_until(self.clock.now, &mut Deadline(deadline)) {
            return false;
        }
        role.ended(&self.world, &mut self.agents);
        self.steps += 1;
        true
    }
}

/// The simulation of the first case of `case` with this discipline, and the link that the scenario compares.
fn world(case: &Case, spec: &Spec, seed: u64) -> PyResult<(World, LinkId)> {
    if linux::words(spec).is_some() {
        return Err(errors::argument("aqm", &spec.canonical(), "a discipline that can be simulated"));
    }
    let mut net = lower::network(&case.scenario, spec, seed);
    let missing = || errors::run("no link of the scenario is compared");
    // The first link under study is the one that the scenario compares.
    let link = net.links.iter().position(|link| link.lane.study).ok_or_else(missing)?;
    // Observations need the state of the queue at any time.
    net.links[link].fast_path = false;
    let world = World::new(&net, seed).map_err(|error| errors::run(&error.to_string()))?;
    Ok((world, link))
}

/// The first case of a scenario.
fn case(scenario: &Py<Scenario>) -> PyResult<Case> {
    scenario.get().cases.first().cloned().ok_or_else(|| errors::run("a scenario without a case"))
}

/// Observations, one row per agent, and which agents' simulations have ended.
type Step<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<bool>>);

/// The pickled state of each simulation: seed, actions as little-endian bytes, fingerprint of its events.
type State<'py> = Vec<Option<(u64, Bound<'py, PyBytes>, u64)>>;

/// The state of a simulation, read from a pickle: seed, actions, fingerprint.
type Kept = (u64, Vec<u8>, u64);

/// Simulations of one scenario, stepped in parallel. Calls from several threads are serialized.
struct Batch<R: Role> {
    role: R,
    asked: Asked,
    case: Case,
    step: Span,
    end: Instant,
    turn: Turn<Sims<R::Agents>>,
}

/// Arguments of the constructor.
struct Asked {
    scenario: Py<Scenario>,
    count: usize,
    observation: Vec<String>,
    step_s: f64,
    jobs: Option<usize>,
}

/// The state of a [`Batch`] that its methods change.
struct Sims<A> {
    ones: Vec<Option<One<A>>>,
    pool: ThreadPool,
    process: u32,
}

impl<A> Sims<A> {
    /// In a forked process, creates a new thread pool: the threads of the old one do not exist there.
    fn pool(&mut self, jobs: Option<usize>, call: &Arc<Call>) -> PyResult<()> {
        if self.process != std::process::id() {
            (self.process, self.pool) = (std::process::id(), pool(jobs, call)?);
        }
        Ok(())
    }
}

impl<R: Role> Batch<R> {
    fn new(
        role: R,
        scenario: Py<Scenario>,
        case: Case,
        count: usize,
        observation: Vec<String>,
        step_s: f64,
        jobs: Option<usize>,
    ) -> PyResult<Self> {
        if !(step_s.is_finite() && (1e-6..=1e3).contains(&step_s)) {
            return Err(errors::argument("step", &step_s.to_string(), "1e-6 to 1000 seconds"));
        }
        if count > MAX_SIMULATIONS {
            let accepts = format!("at most {MAX_SIMULATIONS} simulations");
            return Err(errors::argument("count", &count.to_string(), &accepts));
        }
        let call = Arc::new(Call::default());
        let pool = pool(jobs, &call)?;
        let (end, step) = (Instant::ZERO + case.scenario.duration, Span::from_secs(step_s));
        let sims = Sims { ones: (0..count).map(|_| None).collect(), pool, process: std::process::id() };
        let asked = Asked { scenario, count, observation, step_s, jobs };
        Ok(Self { role, asked, case, step, end, turn: Turn::new(sims, call) })
    }

    /// Number of values in the actions of a simulation.
    fn actions(&self) -> usize {
        self.role.rows() * self.role.columns()
    }

    fn begin(&self, seed: u64) -> PyResult<One<R::Agents>> {
        let (world, agents) = self.role.begin(&self.case, seed)?;
        let clock = Clock { now: Instant::ZERO, span_s: 0.0 };
        Ok(One { world, agents, clock, seed, actions: Vec::new(), steps: 0 })
    }

    /// Starts a simulation for each seed, without the GIL.
    fn begin_all(&self, py: Python<'_>, sims: &Sims<R::Agents>, seeds: &[u64]) -> PyResult<Vec<One<R::Agents>>> {
        let begun = py.detach(|| sims.pool.install(|| seeds.par_iter().map(|seed| self.begin(*seed)).collect()));
        self.turn.call.raised()?;
        begun
    }

    /// Calls `work` on each simulation, without the GIL, until it has returned true for all. Checks for Ctrl-C
    /// every 50 ms ([`PIECE`]). Ctrl-C or an error discards all simulations, because they are at different times.
    fn finish(
        &self,
        py: Python<'_>,
        sims: &mut Sims<R::Agents>,
        work: impl Fn(usize, &mut One<R::Agents>, std::time::Instant) -> PyResult<bool> + Sync,
    ) -> PyResult<()> {
        let mut over: Vec<bool> = vec![false; sims.ones.len()];
        loop {
            let Sims { ones, pool, .. } = &mut *sims;
            let piece = py.detach(|| {
                let deadline = std::time::Instant::now() + PIECE;
                let left = ones.par_iter_mut().zip(&mut over).enumerate();
                pool.install(|| {
                    left.try_for_each(|(at, (one, over))| {
                        if let Some(one) = one.as_mut().filter(|_| !*over) {
                            *over = work(at, one, deadline)?;
                        }
                        Ok(())
                    })
                })
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
    fn repeat(&self, one: &mut One<R::Agents>, script: &[f64], deadline: std::time::Instant) -> PyResult<bool> {
        let columns = self.actions();
        while let Some(action) = script.chunks(columns).nth(one.steps) {
            if std::time::Instant::now() >= deadline {
                return Ok(false);
            }
            if one.actions.len() == one.steps * columns {
                one.begin((one.clock.now + self.step).min(self.end));
                one.act(&self.role, action)?;
            }
            if !one.go_on(&self.role, deadline) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn observations<'py>(&self, py: Python<'py>, ones: &[Option<One<R::Agents>>]) -> Bound<'py, PyArray2<f64>> {
        let (rows, columns) = (self.role.rows(), self.role.observed());
        let all = PyArray2::<f64>::zeros(py, [ones.len() * rows, columns], false);
        let mut values = all.try_readwrite();
        if let Ok(values) = &mut values
            && let Ok(values) = values.as_slice_mut()
        {
            for (one, block) in ones.iter().zip(values.chunks_mut((rows * columns).max(1))) {
                for (at, value) in block.iter_mut().enumerate() {
                    let see = |one: &One<R::Agents>| {
                        self.role.see(&one.world, &one.agents, one.clock, at / columns, at % columns)
                    };
                    *value = one.as_ref().map_or(f64::NAN, see);
                }
            }
        }
        drop(values);
        all
    }

    /// Restarts the simulations `which` with these seeds. Returns the observations of all agents, one row each.
    fn reset<'py>(&self, py: Python<'py>, which: Vec<usize>, seeds: &[u64]) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if which.len() != seeds.len() {
            return Err(PyValueError::new_err("the number of seeds must equal the number of simulations"));
        }
        if which.iter().any(|at| *at >= self.asked.count) {
            return Err(PyValueError::new_err("no such simulation"));
        }
        let mut sims = self.turn.take(py)?;
        sims.pool(self.asked.jobs, &self.turn.call)?;
        let begun = self.begin_all(py, &sims, seeds)?;
        for (at, one) in which.into_iter().zip(begun) {
            sims.ones[at] = Some(one);
        }
        Ok(self.observations(py, &sims.ones))
    }

    /// Advances all simulations by one step; those that have ended stay as they are. Returns the observations, and
    /// whether the simulation of each agent has ended.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: &PyReadonlyArray2<'py, f64>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<bool>)> {
        let (rows, columns) = (self.asked.count * self.role.rows(), self.role.columns());
        let actions = actions.as_array();
        if actions.dim() != (rows, columns) {
            return Err(PyValueError::new_err(format!("actions must have shape ({rows}, {columns})")));
        }
        let actions: Vec<f64> = actions.iter().copied().collect();
        self.role.check(&actions)?;
        let mut sims = self.turn.take(py)?;
        sims.pool(self.asked.jobs, &self.turn.call)?;
        if sims.ones.iter().any(Option::is_none) {
            return Err(reset_first());
        }
        let each = sims.ones.iter_mut().flatten().zip(actions.chunks(self.actions()));
        let acted = each.map(|(one, action)| {
            one.begin((one.clock.now + self.step).min(self.end));
            one.act(&self.role, action)
        });
        if let Err(error) = acted.collect::<PyResult<()>>() {
            // Some have already acted: discard all.
            sims.ones.iter_mut().for_each(|one| *one = None);
            return Err(error);
        }
        self.finish(py, &mut sims, |_, one, deadline| Ok(one.go_on(&self.role, deadline)))?;
        let done = sims.ones.iter().flatten().map(|one| one.clock.now >= self.end);
        let done = done.flat_map(|done| std::iter::repeat_n(done, self.role.rows())).collect();
        Ok((self.observations(py, &sims.ones), done))
    }

    /// For each simulation its seed, actions and a fingerprint of its events, for pickling.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let kept = |one: &One<R::Agents>| {
            let actions: Vec<u8> = one.actions.iter().flat_map(|action| action.to_le_bytes()).collect();
            (one.seed, PyBytes::new(py, &actions), one.world.fingerprint())
        };
        Ok(self.turn.take(py)?.ones.iter().map(|one| one.as_ref().map(kept)).collect())
    }

    /// Repeats the steps of a pickled environment.
    fn set_state(&self, py: Python<'_>, state: Vec<Option<Kept>>) -> PyResult<()> {
        if state.len() != self.asked.count {
            return Err(bad_state("another number of simulations"));
        }
        let mut sims = self.turn.take(py)?;
        let (mut which, mut seeds, mut scripts) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (seed, bytes, fingerprint)) in state.into_iter().enumerate().filter_map(|(at, one)| Some((at, one?))) {
            if !bytes.len().is_multiple_of(8 * self.actions()) {
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
        let same = |(at, one): (usize, &Option<One<R::Agents>>)| {
            one.as_ref().is_none_or(|one| one.world.fingerprint() == script(at).1)
        };
        if sims.ones.iter().enumerate().all(same) {
            return Ok(());
        }
        sims.ones.iter_mut().for_each(|one| *one = None);
        Err(errors::run(
            "repeated steps of an environment gave other packets: another build, or a nondeterministic discipline",
        ))
    }
}

fn reset_first() -> PyErr {
    PyValueError::new_err("call reset() first")
}

/// The error for an invalid pickled state.
fn bad_state(what: &str) -> PyErr {
    PyValueError::new_err(format!("not a pickled environment: {what}"))
}
