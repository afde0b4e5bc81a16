//! Agents at TCP senders: each sets the window or the pacing rate of a flow with `tcp = "own:agent"`. A window applies
//! from the next acknowledgement on, a rate from the next packet on.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_aqm::Spec;
use forebay_aqm::base::port::{MAIN, Tally};
use forebay_aqm::base::time::{Instant, Span};
use forebay_lab::lower;
use forebay_lab::scenario::Case;
use forebay_sim::network::{FlowSpec, LinkId, Network, Traffic};
use forebay_sim::tcp::congestion::controller::{Controller, Decision, Report};
use forebay_sim::tcp::congestion::{Profile, Start};
use forebay_sim::tcp::register_controller;
use forebay_sim::world::World;
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Batch, Clock, Kept, Role, State, Step, world};
use crate::errors;
use crate::scenario::Scenario;

/// The name of an agent's congestion control in a scenario.
const NAME: &str = "agent";
/// The largest window of an agent in packets, if the receiver's window is unlimited.
const WIDEST: f64 = 1e6;
/// Limits of an agent's pacing rate, as multiples of the rate of the slowest link on its path; and the largest lower limit, in
/// packets per second: below it, a higher rate would take effect after seconds.
const RATE: (f64, f64) = (1e-3, 4.0);
const LEAST_RATE: f64 = 10.0;
/// Round-trip time before the first measurement, from which the first pacing rate follows.
const NOMINAL_RTT_S: f64 = 0.1;
/// While an agent sets the rate, the window is this multiple of rate times round-trip time, so that the rate decides.
const WINDOW_PER_RATE: f64 = 2.0;
/// While an agent sets the rate, the window has at least this many packets.
const LEAST_WINDOW: f64 = 4.0;
/// Largest round-trip time in an observation, s.
const LONGEST_S: f64 = 60.0;

/// What an agent and its congestion control share.
#[derive(Clone, Copy, Debug)]
struct Shared {
    cwnd: f64,
    /// The largest window in packets.
    widest: f64,
    /// Pacing rate in packets per second; `None`: the agent sets the window.
    rate: Option<f64>,
    /// Counts of the current step.
    delivered: u32,
    marked: u32,
    lost: u32,
    /// Sum and number of the round trips of the current step, s.
    rtt: (f64, u32),
    /// The latest mean round trip, s.
    last_rtt: f64,
    min_rtt: f64,
    srtt: f64,
    in_flight: u32,
}

type Cell = Arc<Mutex<Shared>>;

thread_local! {
    /// The cells of the controls that this thread has made.
    static MADE: RefCell<Vec<Cell>> = const { RefCell::new(Vec::new()) };
}

/// The congestion control of an agent.
#[derive(Debug)]
struct External(Cell);

fn lock(cell: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Controller for External {
    fn on_ack(&mut self, report: &Report) {
        let mut shared = lock(&self.0);
        shared.delivered += report.delivered;
        shared.marked += report.marked;
        shared.lost += report.lost;
        if let Some(rtt) = report.rtt {
            shared.rtt = (shared.rtt.0 + rtt.secs(), shared.rtt.1 + 1);
        }
        shared.min_rtt = report.min_rtt.map_or(0.0, Span::secs);
        shared.srtt = report.srtt.secs();
        shared.in_flight = report.in_flight;
    }

    fn on_loss(&mut self, _: Instant) {}

    fn on_mark(&mut self, _: Instant) {}

    fn on_timeout(&mut self, _: Instant) {}

    fn decision(&self) -> Decision {
        let Shared { cwnd, widest, rate, srtt, .. } = *lock(&self.0);
        let product = |rate: f64| (WINDOW_PER_RATE * rate * srtt).max(LEAST_WINDOW).min(widest);
        let by_rate = |rate: f64| if srtt > 0.0 { product(rate) } else { cwnd };
        Decision { cwnd: rate.map_or(cwnd, by_rate), pacing_rate: rate }
    }

    fn copy(&self) -> Box<dyn Controller> {
        Box::new(Self(Arc::new(Mutex::new(*lock(&self.0)))))
    }
}

/// Registers the congestion control `own:agent`. Outside of an environment its window stays as it begins.
#[pyfunction]
pub fn register_agent() -> PyResult<()> {
    let profile =
        Profile { word: NAME, summary: "set by an agent of forebay.gym", mark_is_loss: false, ..Profile::TCP };
    let make = |start: Start| -> Box<dyn Controller> {
        let cwnd = f64::from(start.initial_window);
        let cell = Cell::new(Mutex::new(Shared {
            cwnd,
            widest: WIDEST,
            rate: None,
            delivered: 0,
            marked: 0,
            lost: 0,
            rtt: (0.0, 0),
            last_rtt: 0.0,
            min_rtt: 0.0,
            srtt: 0.0,
            in_flight: 0,
        }));
        MADE.with_borrow_mut(|made| made.push(cell.clone()));
        Box::new(External(cell))
    };
    register_controller(profile, "", make).map_err(|unfit| errors::argument("name", NAME, &unfit.to_string()))?;
    Ok(())
}

/// A quantity that an agent's observation has.
#[derive(Clone, Copy)]
enum Seen {
    Time,
    Throughput,
    Rtt,
    MinRtt,
    Srtt,
    LossRatio,
    MarkRatio,
    Window,
    InFlight,
    PacingRate,
    LinkRate,
    LinkDelay,
    LinkUtilisation,
    LinkLossRatio,
}

const NAMES: [(&str, Seen); 14] = [
    ("time_s", Seen::Time),
    ("throughput_bps", Seen::Throughput),
    ("rtt_s", Seen::Rtt),
    ("min_rtt_s", Seen::MinRtt),
    ("srtt_s", Seen::Srtt),
    ("loss_ratio", Seen::LossRatio),
    ("mark_ratio", Seen::MarkRatio),
    ("cwnd_packets", Seen::Window),
    ("in_flight_packets", Seen::InFlight),
    ("pacing_rate_bps", Seen::PacingRate),
    ("link_rate_bps", Seen::LinkRate),
    ("link_queue_delay_s", Seen::LinkDelay),
    ("link_utilisation", Seen::LinkUtilisation),
    ("link_loss_ratio", Seen::LinkLossRatio),
];

impl Seen {
    fn parse(name: &str) -> PyResult<Self> {
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, seen)| *seen);
        let all = || NAMES.iter().map(|(name, _)| (*name).to_string()).collect::<Vec<_>>();
        known.ok_or_else(|| errors::word("observation", name, &all()))
    }
}

/// What an action means.
#[derive(Clone, Copy, PartialEq)]
enum Action {
    /// The window in packets.
    Window,
    /// The pacing rate in bit/s.
    Rate,
    /// Factor on the current window.
    WindowFactor,
    /// Factor on the current pacing rate.
    RateFactor,
}

const ACTIONS: [(&str, Action); 4] = [
    ("window", Action::Window),
    ("rate", Action::Rate),
    ("window-factor", Action::WindowFactor),
    ("rate-factor", Action::RateFactor),
];

/// The agents of one simulation.
struct Agents {
    link: LinkId,
    cells: Vec<Cell>,
    /// What each agent's control reported in the last step.
    during: Vec<Shared>,
    before: Tally,
    of_link: Tally,
}

/// What actions and observations are.
struct AtSenders {
    spec: Spec,
    seen: Vec<Seen>,
    action: Action,
    /// Bits on the wire of a data packet of each agent.
    packet_bits: Vec<f64>,
    /// The largest window of each agent in packets: the receiver's.
    widest: Vec<f64>,
    /// Limits of the pacing rate of each agent, packets per second.
    rates: Vec<(f64, f64)>,
    /// The largest throughput of an agent, bit/s: the rate of the slowest link on its path.
    most_bps: f64,
    /// The largest rate of the compared link, bit/s.
    link_bps: f64,
    duration_s: f64,
}

impl AtSenders {
    /// The smallest and the largest value of an observed quantity. Values beyond are clipped.
    fn bounds(&self, seen: Seen) -> (f64, f64) {
        let most_rate =
            self.rates.iter().zip(&self.packet_bits).map(|((_, high), bits)| high * bits).fold(0.0, f64::max);
        match seen {
            Seen::Time => (0.0, self.duration_s),
            Seen::Throughput => (0.0, self.most_bps),
            Seen::LinkRate => (0.0, self.link_bps),
            Seen::Rtt | Seen::MinRtt | Seen::Srtt | Seen::LinkDelay => (0.0, LONGEST_S),
            Seen::LossRatio | Seen::MarkRatio | Seen::LinkUtilisation | Seen::LinkLossRatio => (0.0, 1.0),
            Seen::Window | Seen::InFlight => (0.0, self.widest.iter().copied().fold(0.0, f64::max)),
            Seen::PacingRate => (0.0, most_rate),
        }
    }

    fn value(&self, world: &World, agents: &Agents, clock: Clock, row: usize, seen: Seen) -> f64 {
        let (shared, bits) = (&agents.during[row], self.packet_bits[row]);
        let per_s = |amount: f64| if clock.span_s > 0.0 { amount / clock.span_s } else { 0.0 };
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let [delivered, marked, lost] = [shared.delivered, shared.marked, shared.lost].map(f64::from);
        let of_link = &agents.of_link;
        let dropped = of_link.dropped_early.pkts + of_link.dropped_overflow.pkts;
        let queue = world.queue(agents.link);
        let link_bps = queue.map_or(0.0, |queue| queue.port.level(MAIN).rate().0 as f64);
        match seen {
            Seen::Time => clock.now.secs(),
            Seen::Throughput => per_s(delivered * bits),
            Seen::Rtt => shared.last_rtt,
            Seen::MinRtt => shared.min_rtt,
            Seen::Srtt => shared.srtt,
            Seen::LossRatio => share(lost, lost + delivered),
            Seen::MarkRatio => share(marked, delivered),
            Seen::Window => External(agents.cells[row].clone()).decision().cwnd,
            Seen::InFlight => f64::from(shared.in_flight),
            Seen::PacingRate => shared.rate.unwrap_or(0.0) * bits,
            Seen::LinkRate => link_bps,
            Seen::LinkDelay => queue.map_or(0.0, |queue| share(queue.port.bytes() as f64 * 8.0, link_bps)),
            Seen::LinkUtilisation => share(per_s(of_link.departed.bytes as f64 * 8.0), link_bps),
            Seen::LinkLossRatio => share(dropped as f64, of_link.offered.pkts as f64),
        }
    }
}

impl Role for AtSenders {
    type Agents = Agents;

    fn rows(&self) -> usize {
        self.packet_bits.len()
    }

    fn columns(&self) -> usize {
        1
    }

    fn observed(&self) -> usize {
        self.seen.len()
    }

    fn check(&self, actions: &[f64]) -> PyResult<()> {
        let wrong = actions.iter().find(|action| !(action.is_finite() && **action > 0.0));
        let refused = |action: &f64| {
            errors::argument("action", &action.to_string(), "a finite number; a window, a rate or a factor is above 0")
        };
        wrong.map_or(Ok(()), |action| Err(refused(action)))
    }

    fn begin(&self, case: &Case, seed: u64) -> PyResult<(World, Agents)> {
        MADE.with_borrow_mut(Vec::clear);
        let (world, link) = world(case, &self.spec, seed)?;
        let cells = MADE.with_borrow_mut(std::mem::take);
        for (row, cell) in cells.iter().enumerate() {
            let mut shared = lock(cell);
            shared.widest = self.widest[row];
            if matches!(self.action, Action::Rate | Action::RateFactor) {
                let (low, high) = self.rates[row];
                shared.rate = Some((shared.cwnd / NOMINAL_RTT_S).clamp(low, high));
            }
        }
        let during = cells.iter().map(|cell| *lock(cell)).collect();
        Ok((world, Agents { link, cells, during, before: Tally::default(), of_link: Tally::default() }))
    }

    fn act(&self, _: &mut World, agents: &mut Agents, action: &[f64]) -> PyResult<()> {
        self.check(action)?;
        for (row, (cell, value)) in agents.cells.iter().zip(action).enumerate() {
            let (bits, widest, (low, high)) = (self.packet_bits[row], self.widest[row], self.rates[row]);
            let mut shared = lock(cell);
            let rate = shared.rate.unwrap_or(low);
            match self.action {
                Action::Window => shared.cwnd = value.clamp(1.0, widest),
                Action::WindowFactor => shared.cwnd = (shared.cwnd * value).clamp(1.0, widest),
                Action::Rate => shared.rate = Some((value / bits).clamp(low, high)),
                Action::RateFactor => shared.rate = Some((rate * value).clamp(low, high)),
            }
        }
        Ok(())
    }

    fn ended(&self, world: &World, agents: &mut Agents) {
        for (cell, during) in agents.cells.iter().zip(&mut agents.during) {
            let mut shared = lock(cell);
            let (sum, number) = shared.rtt;
            if number > 0 {
                shared.last_rtt = sum / f64::from(number);
            }
            *during = *shared;
            *shared = Shared { delivered: 0, marked: 0, lost: 0, rtt: (0.0, 0), ..*shared };
        }
        let tally = world.queue(agents.link).map(|queue| queue.port.tally()).unwrap_or_default();
        agents.of_link = tally.since(&agents.before);
        agents.before = tally;
    }

    fn see(&self, world: &World, agents: &Agents, clock: Clock, row: usize, column: usize) -> f64 {
        let seen = self.seen[column];
        let (low, high) = self.bounds(seen);
        self.value(world, agents, clock, row, seen).clamp(low, high)
    }
}

/// The agents of the network.
///
/// # Errors
/// There is no agent, or one of them has an application, which opens connections by itself.
fn agents(net: &Network) -> PyResult<Vec<&FlowSpec>> {
    let is_agent = |traffic: &Traffic| traffic.tcp().is_some_and(|tcp| tcp.variant.word() == format!("own:{NAME}"));
    let ours: Vec<_> = net.flows.iter().filter(|flow| is_agent(&flow.traffic)).collect();
    if let Some(flow) = ours.iter().find(|flow| !matches!(flow.traffic, Traffic::Tcp(_))) {
        return Err(errors::argument("scenario", &flow.name, "agents with unlimited data: kind = \"ftp\""));
    }
    if ours.is_empty() {
        return Err(errors::argument("scenario", "no agent", "at least one flow with tcp = \"own:agent\""));
    }
    Ok(ours)
}

/// What the agents of a network do and see.
fn role(case: &Case, observation: &[String], action: &str) -> PyResult<AtSenders> {
    let Some(first) = case.scenario.compare.first() else {
        return Err(errors::argument("aqm", "no discipline", "a scenario with a discipline"));
    };
    let known = ACTIONS.iter().find(|(name, _)| *name == action).map(|(_, action)| *action);
    let all = || ACTIONS.iter().map(|(name, _)| (*name).to_string()).collect::<Vec<_>>();
    let net = lower::network(&case.scenario, &first.spec, 1);
    let agents = agents(&net)?;
    let most_rate = |link: &LinkId| net.links[*link].lane.most_rate();
    let slowest = |flow: &&FlowSpec| net.routes[flow.forward].iter().map(most_rate).fold(f64::INFINITY, f64::min);
    let window = |flow: &FlowSpec| flow.traffic.tcp().and_then(|tcp| tcp.window);
    let widest = |flow: &&FlowSpec| window(flow).map_or(WIDEST, f64::from).max(1.0);
    let rates = |flow: &&FlowSpec| {
        let packets = slowest(flow) / (f64::from(flow.packet) * 8.0);
        ((RATE.0 * packets).min(LEAST_RATE), RATE.1 * packets)
    };
    let compared = net.links.iter().filter(|link| link.lane.study).map(|link| link.lane.most_rate());
    Ok(AtSenders {
        spec: first.spec.clone(),
        seen: observation.iter().map(|name| Seen::parse(name)).collect::<PyResult<_>>()?,
        action: known.ok_or_else(|| errors::word("action", action, &all()))?,
        packet_bits: agents.iter().map(|flow| f64::from(flow.packet) * 8.0).collect(),
        widest: agents.iter().map(widest).collect(),
        rates: agents.iter().map(rates).collect(),
        most_bps: agents.iter().map(slowest).fold(0.0, f64::max),
        link_bps: compared.fold(0.0, f64::max),
        duration_s: case.scenario.duration.secs(),
    })
}

/// Simulations of one scenario, stepped in parallel. In each, the flows with `tcp = "own:agent"` are agents. Observations and
/// actions have one row per agent, those of a simulation one below the other.
#[pyclass(frozen, module = "forebay._native")]
pub struct SenderEnv {
    batch: Batch<AtSenders>,
    action: String,
}

/// Constructor arguments in order, for pickling.
type Arguments = (Py<Scenario>, usize, Vec<String>, f64, String, Option<usize>);

#[pymethods]
impl SenderEnv {
    /// Creates `count` simulations of the scenario. Keys that vary have their first values. A step lasts `step_s`
    /// simulated seconds. `action`: `window` (packets), `rate` (bit/s), `window-factor` or `rate-factor`.
    #[new]
    #[pyo3(signature = (scenario, count, observation, step_s = 0.01, action = "window-factor".to_string(), jobs = None))]
    fn new(
        scenario: Py<Scenario>,
        count: usize,
        observation: Vec<String>,
        step_s: f64,
        action: String,
        jobs: Option<usize>,
    ) -> PyResult<Self> {
        let case = super::case(&scenario)?;
        let role = role(&case, &observation, &action)?;
        Ok(Self { batch: Batch::new(role, scenario, case, count, observation, step_s, jobs)?, action })
    }

    /// Names of the quantities that can be observed.
    #[classattr]
    #[pyo3(name = "OBSERVABLE")]
    fn observable(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, NAMES.iter().map(|(name, _)| *name))
    }

    /// Number of agents in each simulation.
    #[getter]
    fn agents(&self) -> usize {
        self.batch.role.rows()
    }

    /// The smallest and the largest value of each observed quantity.
    #[getter]
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.batch.role.seen.iter().map(|seen| self.batch.role.bounds(*seen)).collect()
    }

    /// Restarts the simulations `which` with these seeds. Returns the observations of all agents, one row each.
    fn reset<'py>(&self, py: Python<'py>, which: Vec<usize>, seeds: Vec<u64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.batch.reset(py, which, &seeds)
    }

    /// Advances all simulations by one step; those that have ended stay as they are. Returns the observations, and
    /// whether the simulation of each agent has ended.
    fn step<'py>(&self, py: Python<'py>, actions: PyReadonlyArray2<'py, f64>) -> PyResult<Step<'py>> {
        let (rows, ended) = self.batch.step(py, &actions)?;
        Ok((rows, PyArray1::from_vec(py, ended)))
    }

    /// Pickles the constructor's arguments, and for each simulation its seed, actions and a fingerprint of its events.
    /// The copy repeats the actions.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Arguments, State<'py>)> {
        let (this, py) = (slf.get(), slf.py());
        let asked = &this.batch.asked;
        let (scenario, seen) = (asked.scenario.clone_ref(py), asked.observation.clone());
        let parts = (scenario, asked.count, seen, asked.step_s, this.action.clone(), asked.jobs);
        Ok((slf.get_type().into_any(), parts, this.batch.state(py)?))
    }

    /// Repeats the steps of the pickled environment.
    fn __setstate__(&self, py: Python<'_>, state: Vec<Option<Kept>>) -> PyResult<()> {
        self.batch.set_state(py, state)
    }
}
