//! The description of a network: links, hosts, routes and flows, before it runs.

pub mod dumbbell;
pub mod graph;
pub mod parking_lot;

use forebay_aqm::Spec;
use forebay_aqm::base::design::ProbeSpec;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Rate};

use crate::tcp::TcpOptions;
use crate::traffic::app::Work;
use crate::traffic::rtp::{self, Rtp};
use crate::traffic::source::Pattern;
pub use crate::wire::Conditions;
use crate::wire::levels::Levels;

/// Index into [`Network::links`].
pub type LinkId = usize;
/// Index into [`Network::hosts`].
pub type HostId = usize;
/// Index into [`Network::routes`].
pub type RouteId = usize;
/// Index into [`Network::markers`].
pub type MarkerId = usize;

/// What the first link of a flow may carry: 32 bits number that, and a window that is outstanding at the end.
const MOST_PACKETS: u32 = u32::MAX - (1 << 24);

/// A one-way link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Unique name; also names its random stream.
    pub name: String,
    /// Capacity, constant but for a schedule among the conditions.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Buffer, the packet in transmission not counted.
    pub limit: Limit,
    /// Its discipline; `None` is drop-tail on the engine's fast path.
    pub discipline: Option<Spec>,
    /// Typical packet, for disciplines that ask.
    pub mean_packet: Bytes,
    /// Losses and the like.
    pub conditions: Conditions,
    /// Measure it.
    pub study: bool,
}

/// One direction of a link, before it has a name and a place in a network.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// Capacity.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Buffer.
    pub limit: Limit,
    /// Its discipline.
    pub discipline: Spec,
    /// Losses and the like.
    pub conditions: Conditions,
    /// Measure it.
    pub study: bool,
}

impl Lane {
    /// Drop-tail on a wire that loses nothing, not measured.
    pub fn plain(rate: Rate, delay: Span, limit: Limit) -> Self {
        let (discipline, conditions) = Default::default();
        Self { rate, delay, limit, discipline, conditions, study: false }
    }

    /// The link of this name, for packets of about `packet` bytes.
    pub fn link(&self, name: &str, packet: u16) -> LinkSpec {
        LinkSpec {
            name: name.to_string(),
            rate: self.rate,
            delay: self.delay,
            limit: self.limit,
            // Drop-tail has a fast path that a test proves equal to the discipline.
            discipline: Some(&self.discipline).filter(|discipline| !is_plain(discipline)).cloned(),
            mean_packet: Bytes(u64::from(packet)),
            conditions: self.conditions.clone(),
            study: self.study,
        }
    }
}

/// Is it drop-tail with no option but ECN, which says nothing to it?
fn is_plain(discipline: &Spec) -> bool {
    discipline.name() == "droptail" && discipline.has_defaults()
}

/// A host: what it sends waits a random processing time first, order kept.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Unique name; also names its random stream.
    pub name: String,
    /// Processing times are uniform from zero to this.
    pub jitter: Span,
}

/// What a flow carries.
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// A TCP connection with data without end.
    Tcp(TcpOptions),
    /// A TCP connection under an application.
    Application(TcpOptions, Work),
    /// Datagrams.
    Datagrams(Pattern),
    /// Video over RTP, with reports of its receiver.
    Rtp(Rtp),
}

impl Traffic {
    /// How the connection behaves, if it is one.
    pub const fn tcp(&self) -> Option<&TcpOptions> {
        match self {
            Self::Tcp(options) | Self::Application(options, _) => Some(options),
            Self::Datagrams(_) | Self::Rtp(_) => None,
        }
    }

    /// The ECN codepoint of its data by default: of a connection [its own](TcpOptions::codepoint), else Not-ECT.
    pub fn codepoint(&self) -> Ecn {
        self.tcp().map_or(Ecn::NotEct, TcpOptions::codepoint)
    }

    /// Bytes on the wire of a packet without data from the receiver: an acknowledgement or a report; 0 if it sends none.
    pub const fn answer(&self) -> u16 {
        match self {
            Self::Tcp(options) | Self::Application(options, _) => options.ack,
            Self::Datagrams(_) => 0,
            Self::Rtp(rtp) => rtp.report_size,
        }
    }

    /// Does the receiver send anything but acknowledgements?
    pub(crate) const fn asks(&self) -> bool {
        match self {
            Self::Application(_, Work::Files(files)) => files.request.is_some() || files.handshake,
            Self::Rtp(_) => true,
            Self::Tcp(_) | Self::Application(..) | Self::Datagrams(_) => false,
        }
    }
}

/// A token bucket at the edge, for one flow or several: what exceeds it is OUT of its profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkerSpec {
    /// Committed information rate.
    pub cir: Rate,
    /// Committed burst size.
    pub cbs: Bytes,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Which group of the scenario it belongs to.
    pub group: u32,
    /// Unique name; also names its random stream.
    pub name: String,
    /// The host that sends data.
    pub from: HostId,
    /// The host that acknowledges.
    pub to: HostId,
    /// Links of the data.
    pub forward: RouteId,
    /// Links of the acknowledgements.
    pub back: RouteId,
    /// When it begins.
    pub start: Instant,
    /// When it ends, if before the run does.
    pub stop: Option<Instant>,
    /// What it carries.
    pub traffic: Traffic,
    /// Length of a data packet on the wire in bytes; the mean, where lengths vary
    /// ([`Sizes`](crate::traffic::source::Sizes)); the longest of a recording.
    pub packet: u16,
    /// Service class.
    pub class: u8,
    /// ECN codepoint of its data: of a connection an ECT if and only if that is
    /// [capable](TcpOptions::ecn_capable), never CE.
    pub ecn: Ecn,
    /// Source-destination pair.
    pub pair: u32,
    /// The marker that its data pass as it leaves the host.
    pub marker: Option<MarkerId>,
}

impl Traffic {
    /// Bytes of a data packet that are headers: IP 20; TCP 20, UDP 8, RTP 12 over UDP, SCTP 12 and 16 of a DATA chunk.
    pub const fn headers(&self) -> u16 {
        match self {
            Self::Tcp(options) | Self::Application(options, _) => options.variant.profile().headers,
            Self::Datagrams(_) => 28,
            Self::Rtp(_) => rtp::HEADERS,
        }
    }
}

/// Where a flow is attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// The host that sends data.
    pub from: HostId,
    /// The host that acknowledges.
    pub to: HostId,
    /// Route of the data.
    pub forward: RouteId,
    /// Route of the acknowledgements.
    pub back: RouteId,
}

/// Everything a run needs but its seed.
#[derive(Clone, Debug)]
pub struct Network {
    /// How long it runs.
    pub duration: Span,
    /// What is discarded at its start.
    pub warmup: Span,
    /// Time between two rows of the series.
    pub sample: Span,
    /// The classes whose packets the series count at links under study.
    pub classes: Vec<u8>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// Hosts.
    pub hosts: Vec<HostSpec>,
    /// Sequences of links.
    pub routes: Vec<Vec<LinkId>>,
    /// Markers at the edge.
    pub markers: Vec<MarkerSpec>,
    /// Flows.
    pub flows: Vec<FlowSpec>,
}

/// What is wrong with a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadNetwork(pub String);

impl core::fmt::Display for BadNetwork {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for BadNetwork {}

impl Network {
    /// Every index is in range, every route has a link, times make sense.
    pub fn check(&self) -> Result<(), BadNetwork> {
        let fail = |what: String| Err(BadNetwork(what));
        if self.warmup >= self.duration {
            return fail("the warm-up lasts as long as the run".into());
        }
        if self.duration.nanos() > crate::engine::agenda::MAX_NANOS / 2 {
            return fail("the run is longer than 19 hours of simulated time".into());
        }
        if self.sample == Span::ZERO {
            return fail("the sampling interval is zero".into());
        }
        if let Some(link) = self.links.iter().find(|link| link.conditions.loss.is_some_and(|loss| !loss.is_sound())) {
            return fail(format!("link {} loses packets with a probability outside 0 to 1", link.name));
        }
        let is_idle = |levels: &Levels| levels.rates.is_empty() || levels.hold == Span::ZERO;
        if let Some(link) = self.links.iter().find(|link| link.conditions.levels.as_ref().is_some_and(is_idle)) {
            return fail(format!("link {} has no levels, or no time between them", link.name));
        }
        for (i, route) in self.routes.iter().enumerate() {
            if route.is_empty() || route.len() > 255 || route.iter().any(|&link| link >= self.links.len()) {
                return fail(format!("route {i} is empty, too long, or names a link that does not exist"));
            }
        }
        for flow in &self.flows {
            let hosts = flow.from < self.hosts.len() && flow.to < self.hosts.len();
            if !hosts || flow.forward >= self.routes.len() || flow.back >= self.routes.len() {
                return fail(format!("flow {} names a host or route that does not exist", flow.name));
            }
            let is_capable = flow.traffic.tcp().map_or(flow.ecn.is_capable(), TcpOptions::ecn_capable);
            if flow.ecn == Ecn::Ce || flow.ecn.is_capable() != is_capable {
                return fail(format!("flow {} has data that its sender does not send: {:?}", flow.name, flow.ecn));
            }
            if flow.marker.is_some_and(|marker| marker >= self.markers.len()) {
                return fail(format!("flow {} names a marker that does not exist", flow.name));
            }
            let first = &self.links[self.routes[flow.forward][0]];
            if first.bits(self.duration) / (8.0 * f64::from(flow.packet)) >= f64::from(MOST_PACKETS) {
                return fail(format!("flow {} could send more packets than its 32 bits can number", flow.name));
            }
        }
        Ok(())
    }
}

impl LinkSpec {
    /// The probes of its discipline.
    pub(crate) fn probes(&self) -> &'static [ProbeSpec] {
        self.discipline.as_ref().map_or(&[], |discipline| discipline.entry().probes)
    }

    /// The most that it can send in a run of this length, in bits.
    pub fn bits(&self, duration: Span) -> f64 {
        let end = Instant::ZERO + duration;
        match (&self.conditions.levels, &self.conditions.schedule) {
            (Some(levels), _) => levels.most().0 as f64 * duration.secs(),
            (None, Some(schedule)) => schedule.bits(Instant::ZERO, end),
            (None, None) => self.rate.0 as f64 * duration.secs(),
        }
    }

    /// The most that it can send in any second, in bits.
    pub fn most_rate(&self) -> f64 {
        match (&self.conditions.levels, &self.conditions.schedule) {
            (Some(levels), _) => levels.most().0 as f64,
            (None, Some(schedule)) => schedule.most_in_a_second(),
            (None, None) => self.rate.0 as f64,
        }
    }
}
