//! The queue of a scenario in the long run, where Markov chains bring the packets: MMPP/PH/1/L.
//!
//! What the model leaves out of a scenario it says; what it cannot take it refuses. Its queue counts the packet in
//! transmission, so that its L is the link's buffer and one.

use forebay_aqm::Spec;
use forebay_aqm::base::params::Value as _;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Limit;
use forebay_sim::source::Sizes;
use forebay_theory::dense::Matrix;
use forebay_theory::mmpp::{self, Mmpp, Service, Solution};
use serde::Serialize;

use crate::scenario::{
    self, Bursts, Case, Chain, Direction, Dumbbell, FlowGroup, FlowKind, Found, InputError, Map, OnOff, Scenario,
    Spacing, Topology,
};

/// The largest system of equations that is solved for each number of packets: states of the arrivals times phases.
const LARGEST: usize = 512;
/// The most cells that are kept, 1 GiB of them.
const MOST_CELLS: usize = 1 << 27;
/// The most multiplications, about ten seconds of them.
const MOST_WORK: f64 = 2e10;
/// Lengths that are all the same have no phases. So many stand for them, or as many as leave room for the arrivals.
const PHASES_OF_CONSTANT: usize = 16;
const ROOM_FOR_CONSTANT: usize = 128;
/// Access links hold back packets less than this part of the link's time for one.
const MUCH_FASTER: f64 = 10.0;

/// What the model says of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// Packets per second that the link sends.
    pub capacity_pkts_s: f64,
    /// Packets per second that arrive, over the capacity.
    pub load: f64,
    /// States of the arrivals.
    pub arrival_states: usize,
    /// Phases of a transmission.
    pub phases: usize,
    /// What of the scenario the model leaves out.
    pub left_out: Vec<String>,
    /// By contender, without those that the model does not know.
    pub queues: Vec<Queue>,
    /// The contenders that the model does not know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<Without>,
}

/// A contender that the model does not know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Without {
    /// The contender.
    pub label: String,
    /// Why.
    pub no_answer: String,
}

/// The queue under one contender.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// The contender.
    pub label: String,
    /// Threshold of its marking function.
    pub th: Option<f64>,
    /// What it does that the model leaves out.
    pub left_out: Option<String>,
    /// The most packets in the system, the one in transmission counted.
    pub room_pkts: usize,
    /// States of the whole chain.
    pub states: usize,
    /// Mean number of packets in the system.
    pub mean_pkts: f64,
    /// Mean number that waits.
    pub waiting_pkts: f64,
    /// Mean time in the system.
    pub delay_ms: f64,
    /// Mean time waited.
    pub wait_ms: f64,
    /// The part of all packets that is lost.
    pub loss: f64,
    /// Packets per second that are sent.
    pub throughput_pkts_s: f64,
    /// The part of the time in which the link sends.
    pub utilisation: f64,
    /// Chance of n packets in the system.
    pub distribution: Vec<f64>,
    /// By group of flows.
    pub groups: Vec<Group>,
}

/// A group of flows in the queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Packets per second that arrive.
    pub offered_pkts_s: f64,
    /// The part of them that is lost.
    pub loss: f64,
    /// Chance that an arrival meets n packets in the system.
    pub seen: Vec<f64>,
}

impl Queue {
    /// Chance of n packets that wait.
    pub fn waiting(&self) -> Vec<f64> {
        let (none, rest) = self.distribution.split_at(2.min(self.distribution.len()));
        [none.iter().sum()].into_iter().chain(rest.iter().copied()).collect()
    }
}

/// What it knows.
const KNOWN: &str = "droptail, or a discipline behind a threshold marker (th=0.95)";

/// What the model says of `case`; an error if it knows none of its contenders.
pub fn of(case: &Case) -> Result<Model, InputError> {
    let setting = Setting::of(&case.scenario)?;
    let (mut queues, mut without) = (Vec::new(), Vec::new());
    for contender in &case.scenario.compare {
        let (spec, label) = (&contender.spec, contender.label.clone());
        if knows(spec) {
            queues.push(Queue { label, ..setting.queue(spec)? });
        } else {
            without.push(Without { label, no_answer: format!("no model of this discipline: {KNOWN}") });
        }
    }
    if queues.is_empty() {
        let names: Vec<&str> = without.iter().map(|without| without.label.as_str()).collect();
        return Err(wrong(&case.scenario, "compare.aqm", format!("no model of {}", names.join(", ")), KNOWN));
    }
    let offered: f64 = setting.offered.iter().sum();
    Ok(Model {
        capacity_pkts_s: setting.per_second,
        load: offered / setting.per_second,
        arrival_states: setting.arrivals.states(),
        phases: setting.phases,
        left_out: setting.left_out,
        queues,
        without,
    })
}

/// Is it a drop-tail queue, or one behind a threshold marker?
fn knows(spec: &Spec) -> bool {
    let plain = spec.name() == "droptail" && spec.get("front").as_deref() != Some("on");
    plain || !spec.common().th.is_off()
}

/// A scenario as the model sees it.
struct Setting<'a> {
    scenario: &'a Scenario,
    arrivals: Mmpp,
    names: Vec<String>,
    /// Packets per second, by group.
    offered: Vec<f64>,
    phases: usize,
    per_second: f64,
    queue: Limit,
    left_out: Vec<String>,
}

fn wrong(scenario: &Scenario, key: &str, found: impl Into<String>, accepts: &str) -> InputError {
    InputError::new(scenario.title.as_str(), key, Found::thing(found), accepts)
}

impl<'a> Setting<'a> {
    fn of(scenario: &'a Scenario) -> Result<Self, InputError> {
        let bell = link(scenario)?;
        let mut left_out = Vec::new();
        let mut groups: Vec<(&FlowGroup, Mmpp)> = Vec::new();
        let mut states = Some(1_usize);
        for group in scenario.flows.iter().filter(|group| group.count > 0) {
            if group.direction == Direction::Reverse {
                left_out.push(format!("flows.{}, which go the other way", group.name));
                continue;
            }
            let one = arrivals(scenario, group, &mut left_out)?;
            let own = Mmpp::states_of_copies(group.count as usize, one.states());
            states = states.and_then(|all| all.checked_mul(own?)).filter(|all| *all <= LARGEST);
            let Some(_) = states else {
                let accepts = format!("flows whose chains have at most {LARGEST} states together");
                return Err(wrong(scenario, &format!("flows.{}", group.name), "too many states", &accepts));
            };
            groups.push((group, one.copies(group.count as usize)));
        }
        let chains: Vec<Mmpp> = groups.iter().map(|(_, chain)| chain.clone()).collect();
        let accepts = "one or more groups of kind mmpp, map, onoff or cbr at random times";
        let arrivals = Mmpp::together(&chains).ok_or_else(|| wrong(scenario, "flows", "no packets", accepts))?;
        let (packet, phases) = lengths(scenario, &groups)?;
        let phases = phases.unwrap_or_else(|| {
            let stand_in = (ROOM_FOR_CONSTANT / arrivals.states()).clamp(1, PHASES_OF_CONSTANT);
            left_out.push(format!("that all packets are of one length: the model has Erlang-{stand_in} lengths"));
            stand_in
        });
        beside(scenario, bell, packet, &mut left_out);
        let offered = (0..arrivals.classes()).map(|class| arrivals.mean_rate(class).unwrap_or(0.0)).collect();
        let per_second = bell.bottleneck.rate.bytes_per_sec() / f64::from(packet);
        let names = groups.iter().map(|(group, _)| group.name.clone()).collect();
        let queue = bell.bottleneck.limit;
        Ok(Self { scenario, arrivals, names, offered, phases, per_second, queue, left_out })
    }

    fn queue(&self, spec: &Spec) -> Result<Queue, InputError> {
        let wrong = |found: String, accepts: &str| wrong(self.scenario, "compare.aqm", found, accepts);
        let th = self.threshold(spec)?;
        let plain = spec.name() == "droptail";
        let of_model = |group: &&FlowGroup| group.count > 0 && group.direction == Direction::Forward;
        let marked = self.scenario.flows.iter().filter(of_model).find(|group| group.codepoint().is_capable());
        if let (Some(group), true) = (marked, th.is_some() && spec.ecn()) {
            let accepts = "false, or ecn=off of the discipline: the model drops what its marker signals";
            return Err(self::wrong(
                self.scenario,
                &format!("flows.{}.ecn", group.name),
                "ECN-capable packets",
                accepts,
            ));
        }
        let Limit::Packets(waiting) = spec.common().hard_limit.or(self.queue) else {
            return Err(wrong("a buffer in bytes".to_string(), "a buffer in packets: the model counts those"));
        };
        let (waiting, block) = (waiting as usize, self.arrivals.states() * self.phases);
        let room = waiting + 1;
        let work = room as f64 * (block as f64).powi(3);
        if block > LARGEST || room.saturating_mul(block * block) > MOST_CELLS || work > MOST_WORK {
            let found =
                format!("{} states and {} phases, and room for {room} packets", block / self.phases, self.phases);
            return Err(wrong(found, "fewer flows, a smaller buffer or lengths of fewer phases"));
        }
        // The marker sees those that wait, the arrival among them even where the link is free.
        let refuses = |_, n: usize| th.map_or(0.0, |th| mmpp::threshold((n - 1).max(1), waiting, th));
        let service = Service::erlang(self.phases, self.per_second);
        let solution = mmpp::solve(&self.arrivals, &service, room, refuses)
            .ok_or_else(|| wrong("no single stationary state".to_string(), "a chain that comes back to every state"))?;
        let left_out = (!plain).then(|| format!("what {} itself drops: the model has its marker alone", spec.name()));
        Ok(Queue { th, left_out, ..self.figures(&solution, room, block) })
    }

    /// The marking function's threshold, which has to stay the same.
    fn threshold(&self, spec: &Spec) -> Result<Option<f64>, InputError> {
        let th = spec.common().th;
        match th.constant() {
            None if !th.is_off() => {
                Err(wrong(self.scenario, "compare.aqm th", th.show(), "one threshold for all of the run"))
            }
            constant => Ok(constant),
        }
    }

    fn figures(&self, solution: &Solution, room: usize, block: usize) -> Queue {
        let throughput = solution.throughput();
        let distribution = solution.distribution();
        let busy = 1.0 - distribution[0];
        let waiting = solution.mean() - busy;
        let group = |(class, name): (usize, &String)| Group {
            name: name.clone(),
            offered_pkts_s: self.offered[class],
            loss: solution.loss(class),
            seen: solution.seen_by(class),
        };
        Queue {
            label: String::new(),
            th: None,
            left_out: None,
            room_pkts: room,
            states: self.arrivals.states() + room * block,
            mean_pkts: solution.mean(),
            waiting_pkts: waiting,
            delay_ms: 1e3 * solution.delay_s(),
            wait_ms: 1e3 * waiting / throughput,
            loss: solution.total_loss(),
            throughput_pkts_s: throughput,
            utilisation: busy,
            distribution,
            groups: self.names.iter().enumerate().map(group).collect(),
        }
    }
}

/// The one link, at a constant rate.
fn link(scenario: &Scenario) -> Result<&Dumbbell, InputError> {
    let Topology::Dumbbell(bell) = &scenario.topology else {
        return Err(wrong(scenario, "topology.kind", "several links", "a dumbbell: the model knows one link"));
    };
    if !scenario.compared.iter().any(|name| name == "bottleneck") {
        return Err(wrong(scenario, "compare.links", "another link", "the bottleneck: the model is of that"));
    }
    let wire = &bell.bottleneck.conditions;
    if wire.schedule.is_some() || wire.levels.is_some() {
        return Err(wrong(scenario, "topology.bottleneck", "a rate that changes", "a constant rate"));
    }
    Ok(bell)
}

/// The arrivals of one flow of a group.
fn arrivals(scenario: &Scenario, group: &FlowGroup, left_out: &mut Vec<String>) -> Result<Mmpp, InputError> {
    let wrong =
        |key: &str, found: &str, accepts: &str| wrong(scenario, &format!("flows.{}{key}", group.name), found, accepts);
    if group.active.iter().any(|&(from, to)| from > Span::ZERO || to.is_some_and(|to| to < scenario.duration)) {
        return Err(wrong(
            ".active",
            "flows that come or go",
            "flows for all of the run: the model is of the long run",
        ));
    }
    if group.kind.tcp().is_some() && !matches!(group.kind, FlowKind::Sctp(_)) {
        return Err(wrong(".kind", "flows over TCP", "datagrams: the model's packets do not wait for each other"));
    }
    if group.start.hi > scenario.warmup {
        left_out.push(format!("the beginning: flows.{} begin after the warm-up", group.name));
    }
    let poisson = |rate: f64| Mmpp::new(Matrix::zero(1, 1), vec![rate]);
    let of_chain = |chain: &Chain| Ok(Mmpp::map(chain.generator(), chain.with()));
    match &group.kind {
        FlowKind::Mmpp(mmpp) => of_chain(&mmpp.chain.0),
        FlowKind::Map(map) => of_chain(&map.chain.0),
        FlowKind::Cbr(cbr) if cbr.spacing == Spacing::Poisson => {
            Ok(poisson(cbr.rate.bytes_per_sec() / f64::from(cbr.packet)))
        }
        FlowKind::OnOff(OnOff { bursts: Bursts { rate, on, off, packet }, .. }) => {
            left_out.push(format!("that packets of flows.{} come evenly while on: at random in the model", group.name));
            let rate = rate.bytes_per_sec() / f64::from(*packet);
            Ok(Mmpp::two_state([on.secs(), off.secs()], [rate, 0.0]))
        }
        _ => Err(wrong(".kind", "flows of another kind", "mmpp, map, onoff, or cbr with spacing = \"poisson\"")),
    }
}

/// The mean length and the number of phases, `None` for one and the same length, of all groups.
fn lengths(scenario: &Scenario, groups: &[(&FlowGroup, Mmpp)]) -> Result<(u32, Option<usize>), InputError> {
    let of = |kind: &FlowKind| {
        let phases = match kind {
            FlowKind::Mmpp(scenario::Mmpp { lengths, .. }) | FlowKind::Map(Map { lengths, .. }) => {
                lengths.erlang.map(usize::from)
            }
            FlowKind::Cbr(cbr) => (cbr.sizes == Sizes::Exponential).then_some(1),
            _ => None,
        };
        (kind.packet(scenario.packet), phases)
    };
    let first = groups.first().map_or((scenario.packet, None), |(group, _)| of(&group.kind));
    let Some((other, _)) = groups.iter().find(|(group, _)| of(&group.kind) != first) else { return Ok(first) };
    let shown = |(packet, phases): (u32, Option<usize>)| {
        phases.map_or_else(|| format!("{packet} bytes"), |phases| format!("Erlang-{phases} lengths of mean {packet}"))
    };
    let accepts = format!("{} as in flows.{}: the model has one service", shown(first), groups[0].0.name);
    Err(wrong(scenario, &format!("flows.{}.packet", other.name), shown(of(&other.kind)), &accepts))
}

/// What else the model does not know.
fn beside(scenario: &Scenario, bell: &Dumbbell, packet: u32, left_out: &mut Vec<String>) {
    let sends = |bytes_per_sec: f64| f64::from(packet) / bytes_per_sec;
    let held = sends(bell.bottleneck.rate.bytes_per_sec()) / MUCH_FASTER;
    if bell.access.iter().any(|access| sends(access.rate.bytes_per_sec()) > held) {
        left_out.push("access links, which hold packets back".to_string());
    }
    if scenario.topology.jitter().secs() > held {
        left_out.push("processing times of hosts".to_string());
    }
    if bell.access.iter().any(|access| access.wire != Default::default()) {
        left_out.push("losses and changes of access links".to_string());
    }
    if bell.bottleneck.conditions.loss.is_some() {
        left_out.push("losses behind the queue".to_string());
    }
}
