//! The packets at a link in a part of a run, for the animation of the queue.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Limit;
use forebay_sim::segment::Kind;
use forebay_sim::world::{Captured, Observer, Seen, World};
use serde::Serialize;

use crate::run::plan::{Job, Plan};

/// Most events of an answer.
const MOST: usize = 20_000;

/// What happens at the link between two times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Packets {
    /// Name of the link.
    link: String,
    /// Names of the flows' groups, by flow.
    flows: Vec<String>,
    /// Buffer of the link in packets, if it is in packets.
    room_pkts: Option<u32>,
    /// Packets that wait at the beginning, in the order of departure if the discipline is a FIFO.
    waiting: Vec<Event>,
    /// The events in the order of time.
    events: Vec<Event>,
    /// The time until which all events are listed, in seconds.
    until_s: f64,
}

/// An event of a packet: time in seconds; `a` (arrives), `d` (departs), `m` (departs with a CE mark), `x` (is dropped) or
/// `l` (is lost on the wire); index of the flow; number of the packet in its flow; bytes.
type Event = (f64, char, u32, u32, u16);

fn event(packet: &Captured) -> Event {
    let Captured { at, segment, what, .. } = packet;
    let what = match what {
        Seen::Arrived => 'a',
        Seen::Sent | Seen::Back if segment.mark.ecn() == Ecn::Ce => 'm',
        Seen::Sent | Seen::Back => 'd',
        Seen::Dropped => 'x',
        Seen::Lost => 'l',
    };
    // A retransmission has the number of the original packet; acknowledgements have numbers of their own.
    let number = if segment.mark.kind() == Kind::Ack { segment.seq | 1 << 31 } else { segment.seq };
    (at.secs(), what, segment.flow, number, segment.len)
}

/// The packets at the first link under study from `from` to `until`. At most [`MOST`] events are listed.
///
/// # Errors
/// The network cannot run, or `stop` was set meanwhile.
pub(super) fn packets(
    plan: &Plan,
    job: Job,
    (from, until): (Instant, Instant),
    stop: &AtomicBool,
) -> Result<Packets, String> {
    let mut net = plan.network(job);
    let link = net.links.iter().position(|link| link.lane.study).unwrap_or(0);
    // With an event for each departure; the packets are the same.
    net.links[link].fast_path = false;
    let mut world = World::new(&net, job.seed).map_err(|error| error.to_string())?;
    // What waits at `from` arrived in a time before that the longest queues do not exceed.
    let before = Span::from_secs(LONGEST_WAIT_S.min(from.secs()));
    let begin = Instant::from_nanos(from.nanos() - before.nanos());
    let run_until = |world: &mut World, end| {
        world.run_until(end, &mut Watch(stop)).then_some(()).ok_or_else(|| "stopped".to_string())
    };
    run_until(&mut world, begin)?;
    world.capture_arrivals(link, MOST_BEFORE);
    run_until(&mut world, from)?;
    let waiting = waiting(&world.captured());
    world.capture_arrivals(link, MOST);
    run_until(&mut world, until)?;
    let events: Vec<Event> = world.captured().iter().map(event).collect();
    let until_s = if events.len() == MOST { events.last().map_or(0.0, |last| last.0) } else { until.secs() };
    let lane = &net.links[link].lane;
    let room_pkts = match lane.limit {
        Limit::Packets(n) => Some(n),
        Limit::Bytes(_) => None,
    };
    let flows = net.flows.iter().map(|flow| flow.name.clone()).collect();
    Ok(Packets { link: net.links[link].name.clone(), flows, room_pkts, waiting, events, until_s })
}

/// The packets that arrived and have not left.
fn waiting(before: &[Captured]) -> Vec<Event> {
    // By flow and number; a packet and its retransmission can wait at the same time.
    let mut arrived: BTreeMap<(u32, u32), VecDeque<usize>> = BTreeMap::new();
    for (n, packet) in before.iter().enumerate() {
        let event = event(packet);
        let same = arrived.entry((event.2, event.3)).or_default();
        match packet.what {
            Seen::Arrived => same.push_back(n),
            _ => drop(same.pop_front()),
        }
    }
    let mut left: Vec<usize> = arrived.into_values().flatten().collect();
    left.sort_unstable();
    left.into_iter().map(|n| event(&before[n])).collect()
}

/// Ends a simulation once the flag is set.
struct Watch<'a>(&'a AtomicBool);

impl Observer for Watch<'_> {
    fn reached(&mut self, _: Instant) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Time before the first event in which arrivals are read, in seconds.
const LONGEST_WAIT_S: f64 = 5.0;
/// Most packets before the first event.
const MOST_BEFORE: usize = 2_000_000;
