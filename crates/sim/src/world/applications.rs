//! Applications on connections, and video with its reports: events that they receive, and actions that they request.

use forebay_aqm::base::time::{Instant, Span};

use super::World;
use super::flow::Body;
use crate::link::segment::{Load, Mark, Segment};
use crate::measure::outcome::Completion;
use crate::tcp::receiver::Ack;
use crate::traffic::page::Fetch;
use crate::traffic::session::{Action, End};

impl World {
    /// Notifies the sending application of acknowledged data.
    #[inline(never)]
    pub(super) fn acknowledged(&mut self, id: usize, una: u32) {
        let Some(application) = &mut self.ends.flows[id].app else { return };
        let took = application.app.acknowledged(una, self.now);
        let wakes = application.app.wakes();
        if let Some(took) = took {
            self.completed(id, self.now, took);
        }
        if let Some(at) = wakes {
            self.arm(id, at);
        }
    }

    /// Records that a file was complete at `at`.
    fn completed(&mut self, id: usize, at: Instant, took: Span) {
        let flow = &self.ends.flows[id];
        if flow.watched && at >= self.window.from {
            self.ends.delays.completed(flow.bundle, took);
            self.ends.completions.push(Completion { flow: id as u32, at, took });
        }
    }

    /// Notifies the receiving application of data that has arrived by `at`. Returns the delayed acknowledgement if a file
    /// has ended and its end must be acknowledged at once.
    #[inline(never)]
    pub(super) fn arrived(&mut self, id: usize, at: Instant) -> Option<Ack> {
        let flow = &mut self.ends.flows[id];
        let (Some(application), Body::Tcp { receiver, .. }) = (&mut flow.app, &mut flow.body) else { return None };
        let took = application.app.arrived(receiver.in_order(), at)?;
        let ack = if application.app.ends_at_once() { receiver.end_of_write() } else { None };
        let (wakes, counts) = (application.app.wakes(), application.app.counts_files());
        match self.ends.flows[id].client {
            Some(client) => self.object_arrived(client.get(), id, at),
            None if counts => self.completed(id, at, took),
            None => (),
        }
        if let Some(at) = wakes {
            self.arm(id, at);
        }
        ack
    }

    /// An object of a page has arrived over flow `id`: the client requests the next ones.
    fn object_arrived(&mut self, client: usize, id: usize, at: Instant) {
        let (pages, first) = &mut self.ends.clients[client];
        let first = *first;
        if let Some(took) = pages.arrived((id - first) as u32, at) {
            self.completed(first, at, took);
        }
        while let Some(fetch) = self.ends.clients[client].0.next(at) {
            self.fetch(first, fetch);
        }
    }

    /// A client whose first flow is `first` requests an object.
    fn fetch(&mut self, first: usize, fetch: Fetch) {
        let id = first + fetch.connection as usize;
        let flow = &mut self.ends.flows[id];
        if let Some(application) = flow.app.as_mut().filter(|_| !flow.stopped) {
            application.app.fetch(fetch.at, fetch.fresh);
            self.arm(id, fetch.at);
        }
    }

    /// A request, a report or a handshake packet has arrived.
    pub(super) fn control(&mut self, segment: Segment) {
        let id = segment.flow as usize;
        self.record.delivered(self.now, &segment);
        if let Body::Rtp(stream) = &mut self.ends.flows[id].body {
            stream.on_report(self.now, segment.seq);
            return;
        }
        let Some(application) = &mut self.ends.flows[id].app else { return };
        let action = application.app.on_control(segment.seq, self.now);
        let wakes = application.app.wakes();
        self.grant(id, action);
        self.pump(id);
        if let Some(at) = wakes {
            self.arm(id, at);
        }
    }

    /// A flow's timer has expired: runs its application, if it has one.
    pub(super) fn run_application(&mut self, id: usize, starts: bool, stops: bool) {
        let Some(application) = &mut self.ends.flows[id].app else { return };
        if starts {
            application.app.start(self.now);
            self.start_client(id);
        }
        let Some(application) = &mut self.ends.flows[id].app else { return };
        if stops {
            application.app.stop();
        }
        let action = application.app.wake(self.now);
        self.grant(id, action);
    }

    /// Requests the first page, if the flow is the first connection of a client.
    fn start_client(&mut self, id: usize) {
        let Some(client) = self.ends.flows[id].client else { return };
        let (pages, first) = &mut self.ends.clients[client.get()];
        if *first == id
            && let Some(fetch) = pages.begin(self.now)
        {
            self.fetch(id, fetch);
        }
    }

    /// Carries out the action that an application requests. Data is only handed to the TCP sender: the caller must call
    /// `pump`, which sends it.
    fn grant(&mut self, id: usize, action: Action) {
        let now = self.now;
        let flow = &mut self.ends.flows[id];
        match action {
            Action::Nothing => (),
            Action::Control { end, word, length } => self.send_control(id, end, word, length),
            Action::Send { packets, fresh } => {
                let (Some(application), Body::Tcp { sender, receiver }) = (&mut flow.app, &mut flow.body) else {
                    return;
                };
                if fresh {
                    application.renew(sender, receiver);
                }
                if let Some(handshake) = application.app.set_up() {
                    sender.opened(now, *handshake);
                }
                sender.offer(now, packets);
            }
        }
    }

    /// One end sends a control packet to the other.
    fn send_control(&mut self, id: usize, end: End, seq: u32, len: u16) {
        let (now, flow) = (self.now, &self.ends.flows[id]);
        let (host, hop) = match end {
            End::Sender => (flow.from, flow.forward),
            End::Receiver => (flow.to, flow.back),
        };
        let (at, load, mut mark) = (Instant::ZERO, Load::sent(now), Mark::control());
        if flow.app.as_ref().is_some_and(|application| application.sends_ect(seq)) {
            mark = mark.with_ecn(flow.ecn);
        }
        let segment = Segment { at, load, flow: id as u32, seq, hop, len, bundle: flow.bundle, mark };
        self.emit::<false>(host as usize, segment, now);
    }

    /// Sends the packet and the report of a video stream that are due.
    #[inline(never)]
    pub(super) fn run_stream(&mut self, id: usize, starts: bool, stops: bool) {
        let now = self.now;
        let Body::Rtp(stream) = &mut self.ends.flows[id].body else { return };
        if starts {
            stream.start(now);
        }
        if stops {
            stream.stop();
        }
        let report = if stream.next_report().has_come(now) { stream.report(now) } else { None };
        let packet = stream.next_packet().filter(|at| *at <= now).map(|_| stream.send(now));
        if let Some(report) = report {
            let len = self.ends.flows[id].ack;
            self.send_control(id, End::Receiver, report, len);
        }
        if let Some((len, seq)) = packet {
            self.send_datagram(id, len, seq);
        }
    }
}
