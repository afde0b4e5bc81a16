//! Random topologies: parking lots, of which the dumbbell is one, and graphs; losses and schedules of their links.

use std::sync::Arc;

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::delay::{DelayModel, DelayTrace};
use forebay_sim::graph::{Edge, Graph};
use forebay_sim::levels::Levels;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{Attachment, Conditions, Lane, Network};
use forebay_sim::parking_lot::{Bottleneck, Crossing, Direction, ParkingLot};
use forebay_sim::schedule::{Schedule, Trace};

use super::Dice;

/// A topology whose first link is under study and has this rate.
pub(super) enum Shape {
    Lot(ParkingLot),
    Graph(Graph),
}

impl Shape {
    pub(super) fn draw(dice: &mut Dice, rate: Rate, packet: u16) -> Self {
        match dice.whole(0, 3) {
            0 | 1 => Self::Lot(lot(dice, 1, rate, packet)),
            2 => {
                let bottlenecks = dice.whole(2, 4);
                Self::Lot(lot(dice, bottlenecks, rate, packet))
            }
            _ => Self::Graph(graph(dice, rate, packet)),
        }
    }

    pub(super) fn network(&self, duration: Span, warmup: Span, sample: Span) -> Network {
        match self {
            Self::Lot(lot) => lot.network(duration, warmup, sample),
            Self::Graph(graph) => graph.network(duration, warmup, sample),
        }
    }

    pub(super) fn attach(&self, dice: &mut Dice, net: &mut Network, i: usize) -> Attachment {
        match self {
            Self::Lot(lot) => {
                let crossing = dice.whole(0, lot.crossings.len() as u64 - 1) as usize;
                lot.attach(crossing, i, if dice.once_in(3) { Direction::Reverse } else { Direction::Forward })
            }
            Self::Graph(graph) => {
                let last = graph.nodes.len() as u64 - 1;
                let from = dice.whole(0, last) as usize;
                let to = (from + dice.whole(1, last) as usize) % graph.nodes.len();
                graph.attach(net, from, to).expect("a ring joins all nodes")
            }
        }
    }
}

/// 0.5 to 20 times `rate`.
fn relative(dice: &mut Dice, rate: Rate) -> Rate {
    Rate((rate.0 as f64 * dice.scale(0.5, 20.0)) as u64)
}

fn delay(dice: &mut Dice) -> Span {
    if dice.once_in(8) { Span::ZERO } else { dice.span(1e-5, 3e-2) }
}

fn lane(dice: &mut Dice, rate: Rate, packet: u16) -> Lane {
    Lane {
        rate,
        delay: delay(dice),
        limit: dice.limit(packet),
        discipline: dice.discipline(),
        conditions: Conditions::default(),
        study: false,
    }
}

fn lot(dice: &mut Dice, bottlenecks: u64, rate: Rate, packet: u16) -> ParkingLot {
    let first = Lane { study: true, ..lane(dice, rate, packet) };
    let bottleneck = |dice: &mut Dice, i: u64| Bottleneck {
        name: format!("b{i}"),
        reverse_name: format!("b{i}-reverse"),
        forward: if i == 0 {
            first.clone()
        } else {
            let rate = relative(dice, rate);
            Lane { study: dice.once_in(2), ..lane(dice, rate, packet) }
        },
        reverse: {
            let rate = if dice.once_in(3) { relative(dice, rate) } else { rate };
            lane(dice, rate, packet)
        },
    };
    let bottlenecks: Vec<_> = (0..bottlenecks).map(|i| bottleneck(dice, i)).collect();
    let last = bottlenecks.len() - 1;
    let spans = [(0, last)].into_iter().chain((0..=last).filter(|_| last > 0).map(|i| (i, i)));
    let crossings = spans.map(|(enter, leave)| crossing(dice, enter, leave, rate, packet)).collect();
    ParkingLot { bottlenecks, crossings, packet }
}

fn crossing(dice: &mut Dice, enter: usize, leave: usize, rate: Rate, packet: u16) -> Crossing {
    let hosts = dice.whole(1, 4) as usize;
    let delays;
    Crossing {
        name: format!("{enter}-{leave}"),
        enter,
        leave,
        hosts,
        built: hosts,
        access: {
            let rate = if dice.once_in(3) { rate } else { relative(dice, rate) };
            delays = (0..dice.whole(1, 3)).map(|_| delay(dice)).collect();
            Lane::plain(rate, Span::ZERO, dice.limit(packet))
        },
        jitter: dice.jitter(),
        egress: Lane::plain(relative(dice, rate), delay(dice), dice.limit(packet)),
        delays,
    }
}

/// A ring, so that every node can reach every other, and some further links.
fn graph(dice: &mut Dice, rate: Rate, packet: u16) -> Graph {
    let n = dice.whole(2, 6);
    let ring: Vec<(u64, u64)> = (0..n).map(|i| (i, (i + 1) % n)).collect();
    let more = (0..dice.whole(0, 2 * n)).map(|_| {
        let from = dice.whole(0, n - 1);
        (from, (from + dice.whole(1, n - 1)) % n)
    });
    let ends: Vec<(u64, u64)> = ring.into_iter().chain(more.collect::<Vec<_>>()).collect();
    let edge = |dice: &mut Dice, i: usize, (from, to): (u64, u64)| {
        let rate = if i == 0 || dice.once_in(3) { rate } else { relative(dice, rate) };
        let mut lane = lane(dice, rate, packet);
        lane.study = i == 0 || dice.once_in(4);
        Edge { name: format!("e{i}"), from: from as usize, to: to as usize, weight: dice.whole(1, 3) as u32, lane }
    };
    Graph {
        nodes: (0..n).map(|i| i.to_string()).collect(),
        edges: ends.into_iter().enumerate().map(|(i, ends)| edge(dice, i, ends)).collect(),
        jitter: dice.jitter(),
        packet,
    }
}

/// Adds losses, schedules and varying delays to some links each, in half of the networks.
pub(super) fn spoil(dice: &mut Dice, net: &mut Network) {
    if dice.once_in(2) {
        return;
    }
    let duration = net.duration;
    for link in &mut net.links {
        if dice.once_in(4) {
            link.lane.conditions.loss = Some(loss(dice));
        }
        if dice.once_in(8) {
            let rates =
                (0..dice.whole(1, 4)).map(|_| Rate((link.lane.rate.0 as f64 * dice.scale(0.2, 3.0)) as u64 + 1));
            link.lane.conditions.levels = Some(Levels { rates: rates.collect(), hold: dice.span(1e-3, 1.0) });
        }
        if dice.once_in(6) {
            link.lane.conditions.schedule = Some(Arc::new(schedule(dice, link.lane.rate, duration)));
        }
        if dice.once_in(6) {
            link.lane.conditions.delay = delays(dice, duration);
        }
    }
}

/// Delays that change at up to four times, and jitter.
fn delays(dice: &mut Dice, duration: Span) -> DelayModel {
    let mut times: Vec<Instant> =
        (0..dice.whole(0, 4)).map(|_| Instant::ZERO + dice.span(1e-3, duration.secs())).collect();
    times.sort_unstable();
    times.dedup();
    let steps = times.into_iter().map(|at| (at, delay(dice))).collect();
    DelayModel { trace: DelayTrace::new(steps).ok().map(Arc::new), jitter: delay(dice) }
}

fn loss(dice: &mut Dice) -> LossModel {
    let share = |dice: &mut Dice| dice.scale(1e-3, 1.0);
    if dice.once_in(2) {
        return LossModel::Bernoulli(dice.scale(1e-3, 0.3));
    }
    let (p, r, bad) = (dice.scale(1e-3, 0.1), share(dice), share(dice));
    LossModel::GilbertElliott { p, r, bad, good: if dice.once_in(2) { 0.0 } else { dice.scale(1e-4, 1e-2) } }
}

/// Steps around the link's rate, some of them 0, or a trace of about that rate.
fn schedule(dice: &mut Dice, rate: Rate, duration: Span) -> Schedule {
    if dice.once_in(2) {
        let steps = dice.whole(1, 5);
        let step = |i: u64| {
            let rate = if dice.once_in(6) { Rate(0) } else { Rate((rate.0 as f64 * dice.scale(0.2, 3.0)) as u64) };
            (Instant::from_nanos(duration.nanos() / steps * i), rate)
        };
        return Schedule::steps((0..steps).map(step).collect()).expect("times in order");
    }
    let millis = dice.whole(1, 60);
    let count = (rate.0 * millis / 12_000_000).clamp(1, 2000);
    let mut at: Vec<u64> = (0..count).map(|_| dice.whole(0, millis)).collect();
    at.push(millis);
    at.sort_unstable();
    let lines: String = at.iter().map(|ms| format!("{ms}\n")).collect();
    Schedule::Trace(Trace::parse(&lines).expect("times in order"))
}
