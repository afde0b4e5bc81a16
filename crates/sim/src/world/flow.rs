//! A flow in the running simulation: its sending end, its receiving end and its counters.

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
use crate::traffic::session::is_handshake;
use crate::traffic::source::Source;

/// Both ends of a flow.
#[expect(clippy::large_enum_variant, reason = "most flows are connections: a box would cost each packet an access")]
pub(crate) enum Body {
    /// A TCP connection.
    Tcp {
        /// The end that sends data.
        sender: Sender,
        /// The end that sends acknowledgements.
        receiver: Receiver,
    },
    /// Datagrams without feedback.
    Datagrams {
        /// Times and lengths of the datagrams.
        source: Source,
        /// Datagrams sent.
        sent: u32,
        /// Datagrams that arrived.
        received: u32,
        /// Arrivals after the warm-up.
        arrived: Arrived,
    },
    /// Video over RTP, with reports.
    Rtp(Box<Stream>),
}

/// An application, and the TCP options and random numbers of its further connections.
pub(crate) struct Application {
    /// The application's state.
    pub(crate) app: App,
    options: TcpOptions,
    rng: Rng,
}

impl Application {
    /// Is a control segment with this number an ECN-capable handshake packet?
    pub(crate) fn sends_ect(&self, seq: u32) -> bool {
        self.options.ect_handshake() && is_handshake(seq)
    }

    /// Starts a new connection of `sender` to `receiver`.
    pub(crate) fn renew(&mut self, sender: &mut Sender, receiver: &mut Receiver) {
        let phase = Span::from_nanos(self.rng.below(self.options.tick.nanos()));
        let seed = Rng::from_state([self.rng.bits(), self.rng.bits(), self.rng.bits(), 1]);
        sender.renew(self.options, phase, seed);
        receiver.renew(&self.options);
    }
}

/// A flow during a run: its two ends, routes, timer and state.
pub(crate) struct Flow {
    /// The state of the sending and the receiving end.
    pub(crate) body: Body,
    group: u32,
    /// The host that sends data.
    pub(crate) from: u32,
    /// The host that receives data and sends acknowledgements.
    pub(crate) to: u32,
    /// Index of the first hop of the data's route.
    pub(crate) forward: u32,
    /// Index of the first hop of the acknowledgements' route.
    pub(crate) back: u32,
    /// Length of a data packet in bytes.
    pub(crate) packet: u16,
    /// Header bytes of a data packet.
    headers: u16,
    /// Length of an acknowledgement in bytes.
    pub(crate) ack: u16,
    /// Class of service.
    pub(crate) class: u8,
    pub(crate) bundle: u8,
    /// ECN codepoint of its data.
    pub(crate) ecn: Ecn,
    /// ECN codepoint of its acknowledgements without data.
    pub(crate) ack_ecn: Ecn,
    /// The token bucket that colours its data IN or OUT, if any.
    pub(crate) marker: Option<Index>,
    /// Does its data pass a link under study (a link with a meter)?
    pub(crate) watched: bool,
    /// Is it in a track (a set of flows that have one time series together)?
    pub(crate) tracked: bool,
    /// Has it started?
    pub(crate) started: bool,
    /// Has it stopped?
    pub(crate) stopped: bool,
    /// Start time.
    pub(crate) start: Instant,
    /// Stop time.
    pub(crate) stop: Due,
    /// Time for which the flow's timer is armed. Timer entries for other times are ignored.
    pub(crate) armed: Due,
    /// Packets that the receiver had received at the start of the measurement window. Set at that start, or earlier
    /// if an arrival in the window is computed ahead of time.
    pub(crate) before_window: Option<u32>,
    /// One-way delay of the last packet in the window.
    pub(crate) last_delay: Option<Span>,
    /// The application on the connection; `None`: unlimited data.
    pub(crate) app: Option<Box<Application>>,
    /// The client that fetches pages over this and other connections.
    pub(crate) client: Option<Index>,
}

/// The application of a flow. It has a separate random stream, so that the connection's behaviour does not change what
/// the application sends.
fn application(spec: &FlowSpec, seed: u64) -> Option<Box<Application>> {
    let Traffic::Application(options, work) = &spec.traffic else { return None };
    let rng = Rng::stream(seed, &format!("flow/{}/application", spec.name));
    let app = App::new(work, spec.packet, options, rng);
    let rng = Rng::stream(seed, &format!("flow/{}/connections", spec.name));
    Some(Box::new(Application { app, options: *options, rng }))
}

impl Flow {
    /// Creates a flow that has not started. `route_start`: index of the first hop of each route.
    pub(crate) fn new(spec: &FlowSpec, seed: u64, route_start: &[u32], (watched, tracked): (bool, bool)) -> Self {
        let mut rng = Rng::stream(seed, &format!("flow/{}", spec.name));
        let app = application(spec, seed);
        let body = match &spec.traffic {
            Traffic::Tcp(options) | Traffic::Application(options, _) => {
                let phase = Span::from_nanos(rng.below(options.tick.nanos()));
                let mut sender = Sender::new(*options, phase, rng);
                if app.is_some() {
                    // Before the first offer a sender has unlimited data.
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
            bundle: spec.bundle,
            ecn: spec.ecn,
            ack_ecn: if spec.traffic.tcp().is_some_and(TcpOptions::acknowledges_with_ect) {
                spec.ecn
            } else {
                Ecn::NotEct
            },
            marker: spec.marker.map(Index::new),
            watched,
            tracked,
            started: false,
            stopped: false,
            start: spec.start,
            stop: Due::from(spec.stop),
            armed: Due::NEVER,
            before_window: None,
            last_delay: None,
            app,
            client: None,
        }
    }

    /// Packets delivered: in order for a connection, else all.
    pub(crate) fn delivered(&self) -> u32 {
        match &self.body {
            Body::Tcp { receiver, .. } => receiver.in_order(),
            Body::Datagrams { received, .. } => *received,
            Body::Rtp(stream) => stream.received(),
        }
    }

    /// Distinct packets that reached the receiver of a connection.
    pub(crate) fn received(&self) -> u32 {
        if let Body::Tcp { receiver, .. } = &self.body { receiver.received() } else { 0 }
    }

    /// Time of its next timer event.
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

    /// The flow's results for this measurement window.
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
            bundle: self.bundle,
            goodput_bytes: arrived.payload(self.headers),
            received_bytes: arrived.bytes,
            delivered_pkts: u64::from(total),
            active_s: active.nanos() as f64 * 1e-9,
            sender,
            video: self.app.as_ref().and_then(|own| own.app.video(window.from, stop)),
        }
    }
}
