//! The results of a run from the records of a guest, as the simulator returns them.

use std::collections::VecDeque;

use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::bundles::Bundles;
use forebay_sim::delays::Delays;
use forebay_sim::meter::Loss;
use forebay_sim::network::{FlowSpec, LinkSpec, Network, Traffic};
use forebay_sim::observed::{ObservedLink, Schedule};
use forebay_sim::outcome::{Completion, FlowOutcome, LinkOutcome, Outcome};
use forebay_sim::tcp::sender::SenderCounts;
use forebay_sim::tracks::Tracks;

use crate::arrivals::Arrivals;
use crate::records::{Event, FORWARD, Kind, PAYLOAD, Record, SYN, TCP};
use crate::round_trips::RoundTrips;
use forebay_sim::network::DATAGRAM_HEADERS;

/// What is known of a packet that waits at a link under study.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrived: u64,
    bundle: u8,
    ecn: u8,
}

/// A link under study.
struct Link<'a> {
    spec: &'a LinkSpec,
    observed: ObservedLink,
    /// Packets in order of arrival; `None`: no longer there. The first has the number `first`.
    waiting: VecDeque<Option<Waiting>>,
    first: u32,
    /// Bits whose transmission began in the measurement window.
    bits: u64,
    /// Packets lost on the wire until the end of the warm-up, and of the run.
    lost: [u64; 2],
}

/// Counters of a flow, as the agent reports them.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    received: u64,
    sent: u64,
    again: u64,
    timeouts: u64,
}

/// Packets of a flow that have left the network.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    /// In the complete run.
    packets: u64,
    /// In the measurement window; of a TCP flow only packets with data that arrived for the first time.
    bytes: u64,
    /// In the measurement window, of datagrams.
    payload: u64,
    /// Packets that entered the network in the complete run.
    entered: u64,
}

/// Collects the records of a run.
pub struct Measure<'a> {
    net: &'a Network,
    links: Vec<Link<'a>>,
    delays: Delays,
    tracks: Tracks,
    round_trips: RoundTrips,
    arrivals: Arrivals,
    /// Times at which packets entered the network, by their number, from 1.
    entered: Vec<u64>,
    carried: Vec<Carried>,
    last_delay: Vec<Option<Span>>,
    watched: Vec<bool>,
    warm: Vec<Counters>,
    last: Vec<Counters>,
    completions: Vec<Completion>,
    faults: Vec<String>,
    /// Bytes of a kernel stack that the construction of a discipline used, and that were left before.
    stacks: Vec<(u64, u64)>,
    events: u64,
    fingerprint: u64,
}

impl<'a> Measure<'a> {
    /// Nothing yet of a run of `net`.
    pub fn new(net: &'a Network) -> Self {
        let bundles = net.bundles();
        let schedule =
            Schedule { warmup: net.warmup, duration: net.duration, sample: net.sample, classes: &net.classes };
        let link = |spec: &'a LinkSpec| {
            let probes = spec.lane.discipline.probes();
            Link {
                spec,
                observed: ObservedLink::new(&schedule, probes, &bundles),
                waiting: VecDeque::new(),
                first: 0,
                bits: 0,
                lost: [0; 2],
            }
        };
        let flows = net.flows.len();
        let watched = |flow: &FlowSpec| net.routes[flow.forward].iter().any(|link| net.links[*link].lane.study);
        Self {
            net,
            links: net.links.iter().filter(|spec| spec.lane.study).map(link).collect(),
            delays: Delays::default(),
            tracks: Tracks::new(&net.tracks, flows, (net.sample, None)),
            round_trips: RoundTrips::new(flows),
            arrivals: Arrivals::new(flows),
            entered: vec![0],
            carried: vec![Carried::default(); flows],
            last_delay: vec![None; flows],
            watched: net.flows.iter().map(watched).collect(),
            warm: vec![Counters::default(); flows],
            last: vec![Counters::default(); flows],
            completions: Vec::new(),
            faults: Vec::new(),
            stacks: Vec::new(),
            events: 0,
            fingerprint: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: &Record) {
        match record {
            Record::Event(event) if event.at <= self.net.duration.nanos() => self.event(event),
            Record::Event(_) | Record::Headers { .. } => {}
            Record::Text(text) => text.lines().for_each(|line| self.line(line)),
            Record::Probes { link, at, values } => {
                if let Some(link) = self.links.get_mut(usize::from(*link))
                    && *at <= self.net.duration.nanos()
                {
                    link.observed.probes(values);
                }
            }
        }
    }

    /// Takes an event at the edge of the network that was not recorded by the guest. `came`: when a packet that leaves
    /// had entered.
    pub(crate) fn at_the_edge(&mut self, event: &Event, came: Instant) {
        self.count(event);
        match event.kind {
            Kind::Entered => self.enter(event),
            _ => self.leave(event, came),
        }
    }

    /// Counts an event, and includes it in the fingerprint.
    fn count(&mut self, event: &Event) {
        self.events += 1;
        let words = [u64::from(event.kind as u8), u64::from(event.link), u64::from(event.id), event.at];
        for word in words.into_iter().chain([u64::from(event.value), u64::from(event.ecn)]) {
            self.fingerprint = (self.fingerprint ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    fn event(&mut self, event: &Event) {
        self.count(event);
        match event.kind {
            Kind::Entered => {
                if event.id as usize >= self.entered.len() {
                    self.entered.resize(event.id as usize + 1, 0);
                }
                self.entered[event.id as usize] = event.at;
                self.enter(event);
            }
            Kind::Left => {
                let came = self.entered.get(event.id as usize).copied().unwrap_or(event.at);
                self.leave(event, Instant::from_nanos(came));
            }
            _ => {
                let bundle = self.net.flows.get(usize::from(event.flow)).map_or(0, |flow| flow.bundle);
                let warm = self.net.warmup.nanos();
                if let Some(link) = self.links.get_mut(usize::from(event.link)) {
                    link.event(event, bundle, warm);
                }
            }
        }
    }

    fn enter(&mut self, event: &Event) {
        let flow = usize::from(event.flow);
        if flow >= self.carried.len() {
            return;
        }
        let is_data = event.flags & FORWARD != 0;
        self.carried[flow].entered += u64::from(is_data);
        if event.flags & TCP != 0 {
            match (is_data, event.flags & (SYN | PAYLOAD)) {
                (true, SYN) => self.arrivals.begins(flow),
                (false, 0) => self.arrivals.acknowledged(flow, event.value),
                _ => {}
            }
        }
        if is_data && event.flags & TCP != 0 && self.watched[flow] {
            let is_syn = event.flags & SYN != 0;
            self.round_trips.sent(flow, event.flags & PAYLOAD != 0, is_syn, event.value, event.at);
        }
    }

    fn leave(&mut self, event: &Event, came: Instant) {
        let flow = usize::from(event.flow);
        if flow >= self.carried.len() {
            return;
        }
        let (at, spec) = (Instant::from_nanos(event.at), &self.net.flows[flow]);
        let counts = at >= Instant::ZERO + self.net.warmup;
        if event.flags & FORWARD == 0 {
            if event.flags & TCP != 0
                && self.watched[flow]
                && let Some(rtt) = self.round_trips.acknowledged(flow, event.value, event.at)
            {
                let rtt = Span::from_nanos(rtt);
                self.tracks.round_trip(flow, at, rtt);
                if counts {
                    self.delays.round_trip(spec.bundle, rtt);
                }
            }
            return;
        }
        if event.flags & PAYLOAD == 0 {
            return;
        }
        let delay = at.since(came);
        if self.tracks.has(flow) {
            self.tracks.arrived(flow, at, event.len, delay);
        }
        let is_new = event.flags & TCP == 0 || self.arrivals.is_new(flow, event.value);
        let carried = &mut self.carried[flow];
        carried.packets += 1;
        if counts {
            carried.bytes += if is_new { u64::from(event.len) } else { 0 };
            carried.payload += u64::from(event.len).saturating_sub(u64::from(DATAGRAM_HEADERS));
            if self.watched[flow] {
                self.delays.note(spec.bundle, delay, &mut self.last_delay[flow]);
            }
        }
    }

    /// A line of the agent or the kernel.
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let flow = number(1) as usize;
        match words.first().copied().unwrap_or_default() {
            kind @ ("warm" | "last") if flow < self.warm.len() => {
                let found = Counters { received: number(2), sent: number(3), again: number(4), timeouts: number(5) };
                let to = if kind == "warm" { &mut self.warm } else { &mut self.last };
                to[flow] = found;
            }
            kind @ ("lost-warm" | "lost-last") => {
                if let Some(link) = self.links.get_mut(flow) {
                    link.lost[usize::from(kind == "lost-last")] = number(2);
                }
            }
            "file" => self.file(flow, number(2), number(3)),
            "track" => {
                let flow = number(2) as usize;
                let at = Instant::from_nanos(number(1));
                if self.tracks.has(flow) {
                    self.tracks.sender(flow, at, number(3) as f64, number(4));
                }
            }
            "stack" => self.stacks.push((flow as u64, number(2))),
            "failed" => self.faults.push(line["failed".len()..].trim().to_string()),
            _ => {}
        }
    }

    fn file(&mut self, flow: usize, begun: u64, took: u64) {
        let at = Instant::from_nanos(begun + took);
        if self.watched.get(flow) == Some(&true) && at >= Instant::ZERO + self.net.warmup {
            let took = Span::from_nanos(took);
            self.completions.push(Completion { flow: flow as u32, at, took });
            self.delays.completed(self.net.flows[flow].bundle, took);
        }
    }

    /// What the ends of flows could not do.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// For each discipline that was built: the bytes of a kernel stack that this used, and those that were left before.
    pub fn stacks(&self) -> &[(u64, u64)] {
        &self.stacks
    }

    /// The results.
    pub fn finish(mut self) -> Outcome {
        let end = Instant::ZERO + self.net.duration;
        let links = std::mem::take(&mut self.links);
        let links = links.into_iter().map(|link| link.finish(self.net, end)).collect();
        self.finish_with(links)
    }

    /// The results with these of the links under study.
    pub(crate) fn finish_with(self, links: Vec<LinkOutcome>) -> Outcome {
        let net = self.net;
        let bundles: Bundles = net.bundles();
        let flows = (0..net.flows.len()).map(|flow| self.flow(flow)).collect();
        let mut completions = self.completions;
        completions.sort_by_key(|file| (file.at, file.flow));
        let rows = links.first().map_or(0, |link| link.series.time_s.len());
        Outcome {
            flows,
            classes: self.delays.of_classes(&bundles),
            bundles: self.delays.of_bundles(),
            all: net.bundles_across().iter().map(|bundles| self.delays.of_all(bundles)).collect(),
            completions,
            tracks: self.tracks.finish(rows, net.sample),
            links,
            events: self.events,
            fingerprint: self.fingerprint,
        }
    }

    fn flow(&self, number: usize) -> FlowOutcome {
        let (net, flow, carried) = (self.net, &self.net.flows[number], self.carried[number]);
        let (warm, last) = (self.warm[number], self.last[number]);
        let is_datagrams = matches!(flow.traffic, Traffic::Datagrams(_));
        let end = net.duration.secs();
        let stop = flow.stop.map_or(end, Instant::secs).min(end);
        let sent = if is_datagrams { carried.entered } else { last.sent };
        FlowOutcome {
            group: flow.group,
            class: flow.class,
            bundle: flow.bundle,
            goodput_bytes: if is_datagrams { carried.payload } else { last.received.saturating_sub(warm.received) },
            received_bytes: carried.bytes,
            delivered_pkts: carried.packets,
            active_s: (stop - flow.start.secs().max(net.warmup.secs())).max(0.0),
            sender: SenderCounts {
                sent,
                retransmitted: last.again,
                timeouts: last.timeouts,
                ..SenderCounts::default()
            },
            video: None,
        }
    }
}

impl Link<'_> {
    fn slot(&mut self, id: u32) -> Option<&mut Option<Waiting>> {
        self.waiting.get_mut(id.wrapping_sub(self.first) as usize)
    }

    fn remove(&mut self, id: u32) -> Option<Waiting> {
        let found = self.slot(id)?.take();
        while let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        found
    }

    fn event(&mut self, event: &Event, bundle: u8, warm: u64) {
        let now = Instant::from_nanos(event.at);
        match event.kind {
            Kind::Arrived => {
                if self.waiting.is_empty() {
                    self.first = event.id;
                }
                self.waiting.push_back(Some(Waiting { arrived: event.at, bundle, ecn: event.ecn }));
                self.observed.offer(now, bundle);
                self.observed.queue_is(now, event.value);
            }
            Kind::Early | Kind::Overflow => {
                let loss = if event.kind == Kind::Early { Loss::Early } else { Loss::Overflow };
                if let Some(gone) = self.remove(event.id) {
                    self.observed.lose(now, gone.bundle, loss);
                }
                self.observed.queue_is(now, event.value);
            }
            Kind::Freed => {
                if let Some(gone) = self.remove(event.id) {
                    self.observed.lose(now, gone.bundle, Loss::Early);
                }
            }
            Kind::Lost => self.observed.queue_is(now, event.value),
            Kind::Departed => {
                if let Some(packet) = self.remove(event.id) {
                    let busy = self.spec.lane.rate.time_for(u32::from(event.len));
                    let sojourn = Span::from_nanos(event.at - packet.arrived);
                    if event.ecn == 3 && packet.ecn != 3 {
                        self.observed.mark(now, packet.bundle);
                    }
                    self.observed.serve(now, packet.bundle, (event.len, busy), sojourn);
                    if event.at >= warm {
                        self.bits += u64::from(event.len) * 8;
                    }
                }
                self.observed.queue_is(now, event.value);
            }
            Kind::Entered | Kind::Left => {}
        }
    }

    fn finish(self, net: &Network, end: Instant) -> LinkOutcome {
        let conditions = &self.spec.lane.conditions;
        let from = Instant::ZERO + net.warmup;
        let capacity = conditions.schedule.as_ref().map(|schedule| schedule.bits(from, end));
        let utilisation = capacity.map(|capacity| self.bits as f64 / capacity.max(1.0));
        let found = self.observed.finish(&self.spec.name, end, utilisation);
        forebay_sim::outcome::LinkOutcome { lost_pkts: self.lost[1] - self.lost[0].min(self.lost[1]), ..found }
    }
}
