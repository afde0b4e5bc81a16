//! Runs the same packets through a discipline of the crate and through the transcription of its published listing, and
//! compares verdicts, order of departures and state.

use std::collections::{BTreeMap, BTreeSet};

use super::listing::{Departure, Listing, Net, Outcome, Pkt, Unit};
use super::traffic::{Dice, Trace, trace};
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Colour, Ecn, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::base::verdict::Reason;
use forebay_aqm::{AnyDiscipline, Spec};

const TRACES: u64 = 400;
/// Least number of times that all traces together must take each branch.
const ENOUGH: u64 = 100;

/// Both sides of the comparison.
struct Pair<'a> {
    spec: &'a Spec,
    queue: Queue<AnyDiscipline>,
    listing: Box<dyn Listing>,
    chance: Rng,
    /// Slots of packets that arrived with CE: a mark does not change them, and is not counted.
    ce: BTreeSet<u32>,
    /// Index of each compared probe.
    probes: Vec<usize>,
}

impl<'a> Pair<'a> {
    fn new(spec: &'a Spec, net: &Net, mut listing: Box<dyn Listing>, seed: u64) -> Self {
        let limit = match net.limit_in {
            Unit::Pkts => Limit::Packets(net.limit as u32),
            Unit::Bytes => Limit::Bytes(net.limit),
        };
        let link = Link { rate: Rate(net.bandwidth), limit, mean_packet: Bytes(net.mean_pktsize) };
        let chance = Rng::stream(seed, "chance");
        let all = spec.entry().probes;
        let index = |name| all.iter().position(|probe| probe.name == name).expect("a probe of that name");
        let probes = listing.shown().iter().map(|(name, ..)| index(*name)).collect();
        let queue = spec.queue(link, chance.clone());
        listing.adopt(&chance);
        Self { spec, queue, listing, chance, ce: BTreeSet::new(), probes }
    }

    fn arrive(&mut self, now: u64, packet: Packet) {
        let Packet { slot: id, len: size, class, flow, pair, hosts, ack, dscp, .. } = packet;
        let (udp, ect) = (packet.proto == Proto::Udp, packet.ecn.is_capable());
        let (l4s, ect1) = (matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce), packet.ecn == Ecn::Ect1);
        let out = packet.colour == Colour::Out;
        let pkt = Pkt { id, size, class, flow, pair, udp, ect, l4s, ect1, out, hosts, ack, dscp, tstamp: now };
        if packet.ecn == Ecn::Ce {
            self.ce.insert(id);
        }
        let marked = self.queue.port.tally().marked.pkts;
        self.queue.arrive(packet, Instant::from_nanos(now));
        let dropped = core::mem::take(self.queue.port.discarded());
        let (own, victims): (Vec<_>, Vec<_>) = dropped.into_iter().partition(|(packet, _)| packet.slot == id);
        let got = match own.first() {
            Some((_, Reason::Early | Reason::Marker)) => Outcome::Early,
            Some((_, Reason::Overflow)) => Outcome::Overflow,
            None if self.queue.port.tally().marked.pkts > marked => Outcome::Marked,
            None => Outcome::Queued,
        };
        let want = match self.listing.enque(pkt, now, &mut || self.chance.uniform()) {
            Outcome::Marked if self.ce.contains(&id) => Outcome::Queued,
            want => want,
        };
        assert_eq!(got, want, "{pkt:?}: {}", self.spec.canonical());
        let victims: Vec<u32> = victims.into_iter().map(|(packet, _)| packet.slot).collect();
        assert_eq!(victims, self.listing.victims(), "dropped for {pkt:?}: {}", self.spec.canonical());
        self.compare(now);
    }

    fn depart(&mut self, now: u64) -> Option<Packet> {
        let marked = self.queue.port.tally().marked.pkts;
        let sent = self.queue.depart(Instant::from_nanos(now));
        let marked = self.queue.port.tally().marked.pkts > marked;
        let dropped = self.queue.port.discarded().drain(..).map(|(packet, _)| packet.slot).collect();
        let got = Departure { dropped, sent: sent.map(|packet| (packet.slot, marked)) };
        self.listing.break_tie(sent.map(|packet| packet.slot));
        let mut want = self.listing.deque(now, &mut || self.chance.uniform());
        want.sent = want.sent.map(|(id, marked)| (id, marked && !self.ce.contains(&id)));
        assert_eq!(got, want, "departure at {now} ns: {}", self.spec.canonical());
        let held = self.queue.held_until().map(Instant::nanos);
        assert_eq!(held, self.listing.held(), "held back at {now} ns: {}", self.spec.canonical());
        self.compare(now);
        sent
    }

    /// Runs the timers due up to `now`, before other events of that time.
    fn tick(&mut self, now: u64) {
        loop {
            let due = self.queue.next_tick().map(Instant::nanos);
            assert_eq!(due, self.listing.next_timer(), "timer: {}", self.spec.canonical());
            let Some(due) = due.filter(|due| *due <= now) else { return };
            self.queue.tick(Instant::from_nanos(due));
            self.listing.timer();
            self.compare(due);
        }
    }

    fn compare(&mut self, now: u64) {
        for ((name, want, scale), &index) in self.listing.shown().into_iter().zip(&self.probes) {
            let got = self.queue.discipline().probe(index);
            let allowed = self.listing.rounding() * want.abs().max(scale);
            assert!((got - want).abs() <= allowed, "{name} at {now} ns: {got} {want}: {}", self.spec.canonical());
        }
        let port = &self.queue.port;
        assert_eq!((u64::from(port.pkts()), port.bytes()), self.listing.backlog(), "backlog at {now} ns");
        assert_eq!(port.check(), Ok(()));
    }
}

/// Runs `trace` through both until both queues are empty. An idle link polls again at the next arrival.
fn drive(pair: &mut Pair, trace: &Trace, dice: &mut Dice) {
    let mut free_at: Option<u64> = None;
    let mut arrivals = trace.arrivals.iter().peekable();
    loop {
        let next_arrival = arrivals.peek().map(|(at, _)| *at);
        let departs = match (free_at, next_arrival) {
            (None, None) => break,
            (Some(free), Some(at)) => free < at || (free == at && trace.departures_first),
            (free, _) => free.is_some(),
        };
        let now = if departs { free_at } else { next_arrival }.expect("one of them");
        pair.tick(now);
        if departs {
            free_at = None;
        } else if let Some((_, packet)) = arrivals.next() {
            pair.arrive(now, *packet);
        }
        if free_at.is_none() {
            free_at = pair.depart(now).map(|packet| {
                let nominal = Rate(trace.net.bandwidth).time_for(packet.len).nanos();
                now + (nominal as f64 * dice.between(trace.service.0, trace.service.1)).round() as u64
            });
            // A discipline that holds its packets back is asked again when one may leave.
            free_at = free_at.or_else(|| pair.queue.held_until().map(Instant::nanos));
        }
    }
    let offered = pair.queue.port.tally().offered.pkts;
    assert_eq!((offered, pair.queue.port.pkts()), (trace.arrivals.len() as u64, 0), "packets remain after the trace");
}

pub(crate) type Case = fn(&mut Dice, &Trace) -> (String, Box<dyn Listing>);

/// Runs all traces of one discipline. Fails if library and listing differ, or if a branch in `branches` was taken too
/// rarely (see [`ENOUGH`]).
pub(crate) fn differ(name: &str, case: Case, branches: &[&str]) {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..TRACES {
        let mut dice = Dice(Rng::stream(seed, name));
        let trace = trace(&mut dice);
        let (words, listing) = case(&mut dice, &trace);
        let ecn = if trace.net.setbit { "on" } else { "off" };
        let spec = Spec::parse(&format!("{name} {words} ecn={ecn}")).expect("a valid discipline");
        let mut pair = Pair::new(&spec, &trace.net, listing, seed);
        drive(&mut pair, &trace, &mut dice);
        for (branch, times) in &pair.listing.seen().0 {
            *seen.entry(branch).or_default() += times;
        }
    }
    for branch in branches {
        assert!(seen.get(branch).is_some_and(|times| *times >= ENOUGH), "{branch}: {seen:?}");
    }
    assert_eq!(seen.len(), branches.len(), "{seen:?}");
}
