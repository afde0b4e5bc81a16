//! A flow while it runs: its two ends, and what the world knows of it.

use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use crate::engine::due::Due;
use crate::engine::index::Index;
use crate::measure::meter::Window;
use crate::measure::outcome::FlowOutcome;
use crate::network::{FlowSpec, Traffic};
use crate::tcp::TcpOptions;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{Sender, SenderCounts};
use crate::traffic::app::App;
use crate::traffic::arrived::Arrived;
use crate::traffic::rtp::Stream;
use crate::traffic::source::Source;

/// Both ends of a flow.
pub(crate) enum Body {
    /// A TCP connection.
    Tcp {
        /// The end that has data.
        sender: Sender,
        /// The end that acknowledges.
        receiver: Receiver,
    },
    /// Datagrams without feedback.
    Datagrams {
        /// When and how much it sends.
        source: Source,
        /// Datagrams sent.
        sent: u32,
        /// Datagrams that have arrived.
        received: u32,
        /// What has arrived since the warm-up.
        arrived: Arrived,
    },
    /// Video, with feedback.
    Rtp(Box<Stream>),
}

/// An application, and what a connection of its own for each file begins with.
pub(crate) struct Application {
    /// What it does.
    pub(crate) app: App,
    options: TcpOptions,
    rng: Rng,
}

impl Application {
    /// A new connection for `sender`.
    pub(crate) fn renew(&mut self, sender: &mut Sender) {
        let phase = Span::from_nanos(self.rng.below(self.options.tick.nanos()));
        let seed = Rng::from_state([self.rng.bits(), self.rng.bits(), self.rng.bits(), 1]);
        sender.renew(self.options, phase, seed);
    }
}

/// A flow.
pub(crate) struct Flow {
    /// Its ends.
    pub(crate) body: Body,
    group: u32,
    /// The hosts of its data and of its acknowledgements.
    pub(crate) from: u32,
    /// See `from`.
    pub(crate) to: u32,
    /// First step of the route of its data, and of its acknowledgements.
    pub(crate) forward: u32,
    /// See `forward`.
    pub(crate) back: u32,
    /// Bytes of a data packet.
    pub(crate) packet: u16,
    /// Of these, headers.
    headers: u16,
    /// Bytes of an acknowledgement.
    pub(crate) ack: u16,
    /// Class of service.
    pub(crate) class: u8,
    /// What its data says of ECN.
    pub(crate) ecn: Ecn,
    /// The marker of its data.
    pub(crate) marker: Option<Index>,
    /// Does its data pass a link under study?
    pub(crate) watched: bool,
    /// Has it started?
    pub(crate) started: bool,
    /// Has it been told to stop?
    pub(crate) stopped: bool,
    /// When it starts.
    pub(crate) start: Instant,
    /// When it stops.
    pub(crate) stop: Due,
    /// The earliest timer entry that counts; later entries of this flow are stale.
    pub(crate) armed: Due,
    /// Packets that had reached the receiver of a connection when the window began, once something came after it did.
    pub(crate) before_window: Option<u32>,
    /// One-way delay of the last packet in the window.
    pub(crate) last_delay: Option<Span>,
    /// What sends over the connection, unless it has data without end.
    pub(crate) app: Option<Box<Application>>,
}

/// The application of a flow, with a random stream of its own: how a connection behaves does not change what it sends.
fn application(spec: &FlowSpec, seed: u64) -> Option<Box<Application>> {
    let Traffic::Application(options, work) = &spec.traffic else { return None };
    let rng = Rng::stream(seed, &format!("flow/{}/application", spec.name));
    let app = App::new(work, spec.packet, options, rng);
    let rng = Rng::stream(seed, &format!("flow/{}/connections", spec.name));
    Some(Box::new(Application { app, options: *options, rng }))
}

impl Flow {
    /// A flow that has not started; `route_start`: the first step of each route.
    pub(crate) fn new(spec: &FlowSpec, seed: u64, route_start: &[u32], watched: bool) -> Self {
        let mut rng = Rng::stream(seed, &format!("flow/{}", spec.name));
        let app = application(spec, seed);
        let body = match &spec.traffic {
            Traffic::Tcp(options) | Traffic::Application(options, _) => {
                let phase = Span::from_nanos(rng.below(options.tick.nanos()));
                let mut sender = Sender::new(*options, phase, rng);
                if app.is_some() {
                    // Before the first offer data would be without end.
                    sender.offer(Instant::ZERO, 0);
                }
                let receiver = Receiver::new(options);
                Body::Tcp { sender, receiver }
            }
            Traffic::Rtp(rtp) => Body::Rtp(Box::new(Stream::new(rtp, spec.packet, rng))),
            Traffic::Datagrams(pattern) => {
                let source = Source::new(pattern.clone(), spec.packet, rng);
                Body::Datagrams { source, sent: 0, received: 0, arrived: Arrived::default() }
            }
        };
        Self {
            body,
            headers: spec.traffic.headers(),
            group: spec.group,
            from: spec.from as u32,
            to: spec.to as u32,
            forward: route_start[spec.forward],
            back: route_start[spec.back],
            packet: spec.packet,
            ack: spec.traffic.answer(),
            class: spec.class,
            ecn: spec.ecn,
            marker: spec.marker.map(Index::new),
            watched,
            started: false,
            stopped: false,
            start: spec.start,
            stop: Due::from(spec.stop),
            armed: Due::NEVER,
            before_window: None,
            last_delay: None,
            app,
        }
    }

    /// Packets delivered in order, or datagrams.
    pub(crate) fn delivered(&self) -> u32 {
        match &self.body {
            Body::Tcp { receiver, .. } => receiver.in_order(),
            Body::Datagrams { received, .. } => *received,
            Body::Rtp(stream) => stream.received(),
        }
    }

    /// Packets that have reached the receiver of a connection, each once.
    pub(crate) fn received(&self) -> u32 {
        if let Body::Tcp { receiver, .. } = &self.body { receiver.received() } else { 0 }
    }

    /// When it wants to be woken next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let app = Due::from(self.app.as_ref().and_then(|app| app.app.wakes()));
        let own = match &self.body {
            Body::Tcp { sender, receiver } => Due::from(sender.deadline()).min(Due::from(receiver.deadline())).min(app),
            Body::Datagrams { source, .. } => Due::from(source.next()),
            Body::Rtp(stream) => Due::from(stream.next_packet()).min(stream.next_report()),
        };
        let stop = if self.stopped { Due::NEVER } else { self.stop };
        own.min(stop).get()
    }

    /// What became of it in a run with this window.
    pub(crate) fn outcome(&self, window: Window) -> FlowOutcome {
        let total = self.delivered();
        let sender = match &self.body {
            Body::Tcp { sender, .. } => *sender.counts(),
            Body::Datagrams { sent, .. } => SenderCounts { sent: u64::from(*sent), ..SenderCounts::default() },
            Body::Rtp(stream) => SenderCounts { sent: u64::from(stream.sent()), ..SenderCounts::default() },
        };
        let arrived = match &self.body {
            Body::Tcp { receiver, .. } => {
                let packets = receiver.received().saturating_sub(self.before_window.unwrap_or(0));
                Arrived::of(packets, self.packet)
            }
            Body::Datagrams { arrived, .. } => *arrived,
            Body::Rtp(stream) => stream.arrived(),
        };
        let stop = self.stop.get().map_or(window.to, |stop| stop.min(window.to));
        let active = stop.since(self.start.max(window.from));
        FlowOutcome {
            group: self.group,
            class: self.class,
            goodput_bytes: arrived.payload(self.headers),
            received_bytes: arrived.bytes,
            delivered_pkts: u64::from(total),
            active_s: active.nanos() as f64 * 1e-9,
            sender,
        }
    }
}
