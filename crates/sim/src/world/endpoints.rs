//! The two ends of flows: arrivals, transmissions and timers.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::parts::token_bucket::TokenBucket;

use super::World;
use super::audit;
use super::flow::{Body, Flow};
use super::tracking::Tracking;
use crate::engine::due::Due;
use crate::engine::index::Index;
use crate::engine::slab::Slab;
use crate::engine::timers::Timers;
use crate::link::segment::{Kind, Load, Mark, Segment};
use crate::measure::delays::Delays;
use crate::measure::outcome::Completion;
use crate::network::{FlowSpec, Network};
use crate::tcp::receiver::{Ack, Data};
use crate::tcp::reports::{Block, Blocks};
use crate::traffic::nada::Packet;
use crate::traffic::page::Client;

/// State of flows and their timers.
pub(super) struct Endpoints {
    pub(super) flows: Vec<Flow>,
    markers: Vec<TokenBucket>,
    timers: Timers,
    pub(super) delays: Delays,
    pub(super) completions: Vec<Completion>,
    /// SACK blocks of the acknowledgements in transit.
    pub(super) blocks: Slab<Blocks>,
    /// Clients that fetch pages, and the first flow of each.
    pub(super) clients: Vec<(Client, usize)>,
}

impl Endpoints {
    /// Creates the flows, none of which has started. `route_start`: index of the first hop of each route.
    pub(super) fn new(net: &Network, seed: u64, route_start: &[u32], tracking: &Tracking) -> Self {
        let watched = |f: &FlowSpec| net.routes[f.forward].iter().any(|&link| net.links[link].lane.study);
        let flow = |(id, f)| Flow::new(f, seed, route_start, (watched(f), tracking.tracks.has(id)));
        let mut flows: Vec<Flow> = net.flows.iter().enumerate().map(flow).collect();
        let clients = clients(net, seed, &mut flows);
        Self {
            flows,
            clients,
            markers: net.markers.iter().map(|marker| TokenBucket::new(marker.cir, marker.cbs)).collect(),
            timers: Timers::new(),
            delays: Delays::default(),
            completions: Vec::new(),
            blocks: Slab::new(),
        }
    }

    /// Stores the SACK blocks of an acknowledgement. Not inlined, because most acknowledgements have none.
    #[inline(never)]
    fn load(&mut self, id: usize, ack: Ack) -> Load {
        match &self.flows[id].body {
            Body::Tcp { receiver, .. } => Load::blocks(Some(self.blocks.insert(receiver.blocks(ack)))),
            Body::Datagrams { .. } | Body::Rtp(_) => Load::blocks(None),
        }
    }

    /// Frees the SACK blocks of a lost packet.
    #[inline]
    pub(super) fn release(&mut self, segment: &Segment) {
        if let Some(place) = segment.blocks() {
            self.blocks.remove(place);
        }
    }
}

/// The clients that fetch pages. Each flow gets the client that it is a connection of.
fn clients(net: &Network, seed: u64, flows: &mut [Flow]) -> Vec<(Client, usize)> {
    let mut clients = Vec::new();
    for (first, spec) in net.flows.iter().enumerate() {
        let Some(page) = spec.traffic.page().filter(|page| page.number == 0) else { continue };
        let rng = Rng::stream(seed, &format!("flow/{}/client", spec.name));
        let its = flows.iter_mut().skip(first).take(page.connections as usize);
        its.for_each(|flow| flow.client = Some(Index::new(clients.len())));
        clients.push((Client::new(page, rng), first));
    }
    clients
}

impl World {
    /// A packet has reached its destination.
    #[inline]
    pub(super) fn deliver(&mut self, segment: Segment) {
        let now = self.now;
        let id = segment.flow as usize;
        if let (Body::Tcp { sender, receiver }, Kind::Ack) = (&mut self.ends.flows[id].body, segment.mark.kind()) {
            self.record.delivered(now, &segment);
            let blocks: &[Block] = match segment.blocks() {
                Some(place) => self.ends.blocks.remove(place),
                None => &[],
            };
            let ack = Ack {
                next: segment.seq,
                ece: segment.mark.ece(),
                echoes: segment.echoes(),
                is_selective: !blocks.is_empty(),
            };
            sender.on_ack(now, ack, blocks);
            let una = sender.acknowledged();
            if let Some(rtt) = sender.take_round_trip() {
                receiver.note_round_trip(rtt);
                self.round_trip(id, rtt);
            }
            self.pump(id);
            if self.ends.flows[id].app.is_some() {
                self.acknowledged(id, una);
            }
            self.audit(id);
            return;
        }
        if segment.mark.kind() == Kind::Control {
            self.control(segment);
            return;
        }
        // Only a receiver with a delayed acknowledgement has something to send before it processes the packet.
        let held = match &mut self.ends.flows[id].body {
            Body::Tcp { receiver, .. } => receiver.before_data(segment.mark.ecn()),
            Body::Datagrams { .. } | Body::Rtp(_) => None,
        };
        if let Some(ack) = held {
            self.send_ack(id, ack, now);
        }
        let ack = self.receive(segment, now);
        if let Body::Tcp { receiver, .. } = &self.ends.flows[id].body
            && let Some(deadline) = receiver.deadline()
        {
            self.arm(id, deadline);
        }
        if let Some(ack) = ack {
            self.send_ack(id, ack, now);
        }
    }

    /// Records a round-trip time that a sender has measured. Only after the warm-up, and only if the flow's data passes
    /// a link under study.
    fn round_trip(&mut self, id: usize, rtt: Span) {
        let flow = &self.ends.flows[id];
        if flow.tracked {
            self.tracking.tracks.round_trip(id, self.now, rtt);
        }
        if flow.watched && self.now >= self.window.from {
            self.ends.delays.round_trip(flow.bundle, rtt);
        }
    }

    /// Delivers a packet to its receiver ahead of time, and sends the acknowledgement. Both are computed for the
    /// arrival time `segment.at`. Only for hosts at which no other event can come first (`Ahead::reflex`).
    #[inline(never)]
    pub(super) fn answer(&mut self, segment: Segment) {
        let at = segment.at;
        if at > self.window.to {
            self.record.counters.beyond();
            return;
        }
        let flow = &mut self.ends.flows[segment.flow as usize];
        if at > self.window.from && flow.before_window.is_none() {
            flow.before_window = Some(flow.received());
        }
        if let Some(ack) = self.receive(segment, at) {
            self.send_ack(segment.flow as usize, ack, at);
        }
    }

    /// Data or a datagram reaches its receiver at `at`. Returns the acknowledgement to send at once, if any.
    #[inline]
    fn receive(&mut self, segment: Segment, at: Instant) -> Option<Ack> {
        let mark = segment.mark;
        self.record.delivered(at, &segment);
        let flow = &mut self.ends.flows[segment.flow as usize];
        if flow.watched && at >= self.window.from {
            self.ends.delays.note(segment.bundle, at.since(segment.sent()), &mut flow.last_delay);
        }
        if flow.tracked {
            self.tracking.tracks.arrived(segment.flow as usize, at, segment.len, at.since(segment.sent()));
        }
        match &mut flow.body {
            Body::Tcp { receiver, .. } => {
                let before = receiver.in_order();
                let has_effect = || flow.app.as_ref().is_none_or(|application| !application.app.is_dialogue());
                let data = Data {
                    seq: segment.seq,
                    ecn: mark.ecn(),
                    cwr: mark.cwr(),
                    stamp: mark.stamp(),
                    push: segment.push() && has_effect(),
                    delay: at.since(segment.sent()),
                };
                let ack = receiver.on_data(at, data);
                debug_assert!(before <= receiver.in_order(), "what is in order stays so");
                debug_assert!(ack.is_none_or(|ack| ack.next <= receiver.in_order()), "acknowledges what has come");
                if flow.app.is_some() {
                    let last = self.arrived(segment.flow as usize, at);
                    return ack.or(last);
                }
                ack
            }
            Body::Datagrams { received, arrived, .. } => {
                *received += 1;
                // An arrival exactly at the end of the warm-up belongs to the warm-up.
                if at > self.window.from {
                    arrived.add(segment.len);
                }
                None
            }
            Body::Rtp(stream) => {
                let (sent, seq, len) = (segment.sent(), segment.seq, segment.len);
                let packet = Packet { sent, at, seq, len, marked: mark.ecn() == Ecn::Ce };
                stream.receive(packet, at > self.window.from);
                None
            }
        }
    }

    /// Sends everything that the flow's sender may send now, and arms its timer.
    #[inline]
    pub(super) fn pump(&mut self, id: usize) {
        loop {
            let flow = &mut self.ends.flows[id];
            let Body::Tcp { sender, .. } = &mut flow.body else { return };
            let Some(send) = sender.poll(self.now) else {
                if let Some(deadline) = sender.deadline() {
                    self.arm(id, deadline);
                }
                return;
            };
            let ecn = if send.ect { flow.ecn } else { Ecn::NotEct };
            let mark = Mark::data(Kind::Data, ecn, send.cwr).with_stamp(send.stamp);
            let packet = (flow.packet, send.seq, send.push);
            let (from, segment) = outgoing(id, flow, &mut self.ends.markers, packet, mark, self.now);
            self.emit::<true>(from, segment, self.now);
        }
    }

    /// A flow's sender sends a datagram of `len` bytes.
    #[inline]
    pub(super) fn send_datagram(&mut self, id: usize, len: u16, seq: u32) {
        let flow = &self.ends.flows[id];
        let mark = Mark::data(Kind::Datagram, flow.ecn, false);
        let (from, segment) = outgoing(id, flow, &mut self.ends.markers, (len, seq, false), mark, self.now);
        self.emit::<true>(from, segment, self.now);
    }

    #[inline(always)]
    fn send_ack(&mut self, id: usize, ack: Ack, now: Instant) {
        let load = if ack.is_selective { self.ends.load(id, ack) } else { Load::blocks(None) };
        let flow = &self.ends.flows[id];
        let segment = Segment {
            at: Instant::ZERO,
            load: load.with_echoes(ack.echoes),
            flow: id as u32,
            seq: ack.next,
            hop: flow.back,
            len: flow.ack,
            bundle: flow.bundle,
            mark: Mark::ack(ack.ece).with_ecn(flow.ack_ecn),
        };
        self.emit::<false>(flow.to as usize, segment, now);
    }

    /// Arms the flow's timer for `at`, unless it is armed for an earlier time.
    #[inline]
    pub(super) fn arm(&mut self, id: usize, at: Instant) {
        let armed = &mut self.ends.flows[id].armed;
        if Due::at(at) < *armed {
            *armed = Due::at(at);
            self.ends.timers.push(at, id);
            self.schedule_timers();
        }
    }

    fn schedule_timers(&mut self) {
        self.agenda.set(self.sources.timers(), self.ends.timers.first());
    }

    /// Handles the timer entry that is due. Entries are never cancelled. An entry is ignored if its flow is armed for
    /// another time. Otherwise the flow's due timers run, and the flow is armed for its next deadline.
    pub(super) fn timer_event(&mut self) {
        let Some((at, id)) = self.ends.timers.pop() else { return };
        self.schedule_timers();
        if self.ends.flows[id].armed != Due::at(at) {
            return;
        }
        self.ends.flows[id].armed = Due::NEVER;
        self.run_flow_timers(id);
        self.audit(id);
        if let Some(next) = self.ends.flows[id].next_deadline() {
            self.arm(id, next);
        }
    }

    fn run_flow_timers(&mut self, id: usize) {
        let now = self.now;
        let due = |deadline: Option<Instant>| Due::from(deadline).has_come(now);
        let flow = &mut self.ends.flows[id];
        let starts = !flow.started && flow.start <= now;
        let stops = !flow.stopped && flow.stop.has_come(now);
        flow.started |= starts;
        flow.stopped |= stops;
        self.run_application(id, starts, stops);
        let flow = &mut self.ends.flows[id];
        match &mut flow.body {
            Body::Tcp { sender, receiver } => {
                if stops {
                    sender.stop();
                }
                if due(sender.deadline()) {
                    sender.on_deadline(now);
                }
                let ack = due(receiver.deadline()).then(|| receiver.ack());
                if let Some(ack) = ack {
                    self.send_ack(id, ack, now);
                }
                self.pump(id);
            }
            Body::Datagrams { source, sent, .. } => {
                if starts {
                    source.start(now);
                }
                if stops {
                    source.stop();
                }
                if due(source.next()) {
                    let len = source.send(now);
                    *sent += 1;
                    let seq = *sent;
                    self.send_datagram(id, len, seq);
                }
            }
            Body::Rtp(_) => self.run_stream(id, starts, stops),
        }
    }

    /// Checks the invariants of a TCP connection, in debug builds.
    #[inline(always)]
    fn audit(&self, id: usize) {
        if let Body::Tcp { sender, receiver } = &self.ends.flows[id].body {
            audit::connection(sender, receiver);
        }
    }
}

/// The packet that flow `id` sends, and its host: `len` bytes on the wire, number `seq`; `push`: with the flag PSH. A marker
/// colours it.
#[inline(always)]
fn outgoing(
    id: usize,
    flow: &Flow,
    markers: &mut [TokenBucket],
    (len, seq, push): (u16, u32, bool),
    mark: Mark,
    now: Instant,
) -> (usize, Segment) {
    let mark = match flow.marker {
        Some(marker) => mark.with_colour(markers[marker.get()].colour(u32::from(len), now)),
        None => mark,
    };
    let (load, hop, bundle) = (Load::sent(now).with_push(push), flow.forward, flow.bundle);
    (flow.from as usize, Segment { at: Instant::ZERO, load, flow: id as u32, seq, hop, len, bundle, mark })
}
