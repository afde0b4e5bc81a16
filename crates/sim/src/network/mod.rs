//! The description of a network before it runs: links, hosts, routes and flows.

pub mod graph;
pub mod parking_lot;

use std::collections::BTreeSet;

use forebay_aqm::Spec;
use forebay_aqm::base::design::ProbeSpec;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Rate};

use crate::measure::bundles::Bundles;
use crate::tcp::TcpOptions;
use crate::traffic::app::{Files, Opening, Work};
use crate::traffic::page::{MOST_CONNECTIONS, PageConnection};
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

/// Upper bound on the packets of a flow. Packet numbers are u32, with a margin of 2^24 for one window.
const MAX_PACKETS: u32 = u32::MAX - (1 << 24);

/// A one-way link of a network, with its name.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Unique name; also names its random stream.
    pub name: String,
    /// Rate, delay, buffer, discipline and losses.
    pub lane: Lane,
    /// Typical packet length, for disciplines that use it.
    pub mean_packet: Bytes,
    /// May [plain](Lane::is_plain) drop-tail compute departures at arrival, without events (fast path)? A test shows
    /// that the results are equal with and without it.
    pub fast_path: bool,
}

/// One direction of a link, without a name.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// Capacity. Not used if `conditions` has a rate schedule or random rate levels, which then set the rate.
    pub rate: Rate,
    /// Propagation delay, without the transmission time.
    pub delay: Span,
    /// Buffer, without the packet in transmission.
    pub limit: Limit,
    /// Queue discipline with its parameters.
    pub discipline: Spec,
    /// Losses and variable rates.
    pub conditions: Conditions,
    /// Measure the link?
    pub study: bool,
}

impl Lane {
    /// Drop-tail, without losses, constant rate, not measured.
    pub fn plain(rate: Rate, delay: Span, limit: Limit) -> Self {
        let (discipline, conditions) = Default::default();
        Self { rate, delay, limit, discipline, conditions, study: false }
    }

    /// The link with this name; `packet`: typical packet length in bytes.
    pub fn link(&self, name: &str, packet: u16) -> LinkSpec {
        let mean_packet = Bytes(u64::from(packet));
        LinkSpec { name: name.to_string(), lane: self.clone(), mean_packet, fast_path: true }
    }

    /// Is its discipline drop-tail with default parameters? `ecn` may differ, because drop-tail never marks.
    pub fn is_plain(&self) -> bool {
        self.discipline.name() == "droptail" && self.discipline.has_defaults()
    }

    /// Upper bound on the bits that the link can send in a run of this length.
    pub fn bits(&self, duration: Span) -> f64 {
        let end = Instant::ZERO + duration;
        match (&self.conditions.levels, &self.conditions.schedule) {
            (Some(levels), _) => levels.most().0 as f64 * duration.secs(),
            (None, Some(schedule)) => schedule.bits(Instant::ZERO, end),
            (None, None) => self.rate.0 as f64 * duration.secs(),
        }
    }

    /// The longest propagation delay.
    pub fn most_delay(&self) -> Span {
        let model = &self.conditions.delay;
        let traced = model.trace.iter().flat_map(|trace| trace.steps()).map(|(_, delay)| *delay);
        traced.chain([self.delay]).max().unwrap_or(self.delay) + model.jitter
    }

    /// Upper bound on the bits that the link can send in any second.
    pub fn most_rate(&self) -> f64 {
        match (&self.conditions.levels, &self.conditions.schedule) {
            (Some(levels), _) => levels.most().0 as f64,
            (None, Some(schedule)) => schedule.most_in_a_second(),
            (None, None) => self.rate.0 as f64,
        }
    }
}

impl LinkSpec {
    /// Are its departures computed at arrival, without events (the fast path for drop-tail)?
    pub fn is_fast(&self) -> bool {
        self.fast_path && self.lane.is_plain()
    }

    /// The internal variables of the link's discipline that can be recorded (probes).
    pub(crate) fn probes(&self) -> &'static [ProbeSpec] {
        if self.is_fast() { &[] } else { self.lane.discipline.probes() }
    }
}

/// A host. Each packet that it sends first waits for a random processing time; the order is kept.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Unique name; also names its random stream.
    pub name: String,
    /// Processing times are uniform from zero to this time.
    pub jitter: Span,
}

/// Traffic of a flow.
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// A TCP connection with unlimited data.
    Tcp(TcpOptions),
    /// A TCP connection with an application.
    Application(TcpOptions, Work),
    /// Datagrams without feedback, at the times that the pattern gives.
    Datagrams(Pattern),
    /// Video over RTP, with receiver reports.
    Rtp(Rtp),
}

/// Header bytes of a TCP segment of a real host: Ethernet, IP, TCP with timestamps.
pub const SEGMENT_HEADERS: u32 = 14 + 20 + 32;
/// Header bytes of a datagram of a real host: Ethernet, IP, UDP.
pub const DATAGRAM_HEADERS: u32 = 14 + 20 + 8;

impl Traffic {
    /// The options of the connection; `None` for other traffic.
    pub const fn tcp(&self) -> Option<&TcpOptions> {
        match self {
            Self::Tcp(options) | Self::Application(options, _) => Some(options),
            Self::Datagrams(_) | Self::Rtp(_) => None,
        }
    }

    /// Default ECN codepoint of the data: for a connection its [codepoint](TcpOptions::codepoint), else Not-ECT.
    pub fn codepoint(&self) -> Ecn {
        self.tcp().map_or(Ecn::NotEct, TcpOptions::codepoint)
    }

    /// Length on the wire of an acknowledgement or report in bytes; 0 if the receiver sends none.
    pub const fn answer(&self) -> u16 {
        match self {
            Self::Tcp(options) | Self::Application(options, _) => options.ack,
            Self::Datagrams(_) => 0,
            Self::Rtp(rtp) => rtp.report_size,
        }
    }

    /// Do connections begin with the SYN of ns-2's one-way agents, which kernels do not have?
    pub const fn opens_as_ns2(&self) -> bool {
        matches!(self, Self::Application(_, Work::Files(Files { opening: Opening::Ns2, .. })))
    }

    /// The connection of a client that fetches pages; `None` for other traffic.
    pub const fn page(&self) -> Option<PageConnection> {
        match self {
            Self::Application(_, Work::Page(page)) => Some(*page),
            _ => None,
        }
    }

    /// Does the receiver send anything other than acknowledgements?
    pub(crate) const fn asks(&self) -> bool {
        match self {
            Self::Application(_, Work::Files(files)) => files.request.is_some() || files.opening.has_syn(),
            Self::Application(_, Work::Page(_) | Work::Video(_)) => true,
            Self::Rtp(_) => true,
            Self::Tcp(_) | Self::Application(..) | Self::Datagrams(_) => false,
        }
    }
}

/// A token bucket at the edge of the network, for one flow or several. It colours packets beyond its traffic profile
/// OUT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkerSpec {
    /// Committed information rate.
    pub cir: Rate,
    /// Committed burst size.
    pub cbs: Bytes,
}

/// A flow: its two hosts, the routes of data and acknowledgements, its traffic, and when it starts and stops.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Index of the `[[flows]]` table of the scenario that describes the flow.
    pub group: u32,
    /// Unique name of the flow and of its random stream.
    pub name: String,
    /// The host that sends data.
    pub from: HostId,
    /// The host that acknowledges.
    pub to: HostId,
    /// Route of the data.
    pub forward: RouteId,
    /// Route of the acknowledgements.
    pub back: RouteId,
    /// When it starts, since the start of the run.
    pub start: Instant,
    /// Stop time; `None`: the end of the run.
    pub stop: Option<Instant>,
    /// The traffic that the flow sends.
    pub traffic: Traffic,
    /// Length of a data packet on the wire in bytes. For variable lengths ([`Sizes`](crate::traffic::source::Sizes))
    /// it is the mean, for recordings of real traffic the maximum.
    pub packet: u16,
    /// Service class, which disciplines see.
    pub class: u8,
    /// Differentiated services codepoint of its packets in both directions, 0 to 63.
    pub dscp: u8,
    /// Bundle of flows that are measured together, all of one class.
    pub bundle: u8,
    /// ECN codepoint of its data; never CE. For a connection it is ECT(0) or ECT(1) if the connection is
    /// [ECN-capable](TcpOptions::ecn_capable), otherwise Not-ECT.
    pub ecn: Ecn,
    /// Source-destination pair, for disciplines that hash it.
    pub pair: u32,
    /// The token bucket that colours its data IN or OUT when it leaves the host.
    pub marker: Option<MarkerId>,
}

impl Traffic {
    /// Header bytes of a data packet: IP 20; TCP 20, UDP 8, RTP 12 over UDP, SCTP 12 and 16 of a DATA chunk.
    pub const fn headers(&self) -> u16 {
        match self {
            Self::Tcp(options) | Self::Application(options, _) => options.variant.profile().headers,
            Self::Datagrams(_) => 28,
            Self::Rtp(_) => rtp::HEADERS,
        }
    }

    /// Header bytes of a data packet of a real host.
    pub const fn real_headers(&self) -> u32 {
        if matches!(self, Self::Datagrams(_)) { DATAGRAM_HEADERS } else { SEGMENT_HEADERS }
    }
}

/// Hosts and routes of a flow.
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

/// Complete description of a run, except for its seed.
#[derive(Clone, Debug)]
pub struct Network {
    /// Duration of the run.
    pub duration: Span,
    /// Time at the start of the run that is not measured.
    pub warmup: Span,
    /// Time between rows of the time series.
    pub sample: Span,
    /// Service classes whose packets the time series of links under study count.
    pub classes: Vec<u8>,
    /// Tracks: sets of flows that have one time series together. Each has the indexes of its flows.
    pub tracks: Vec<Vec<usize>>,
    /// Links; a [`LinkId`] is an index into them.
    pub links: Vec<LinkSpec>,
    /// Hosts; a [`HostId`] is an index into them.
    pub hosts: Vec<HostSpec>,
    /// Routes, as sequences of links.
    pub routes: Vec<Vec<LinkId>>,
    /// Token buckets that mark packets at the edge of the network.
    pub markers: Vec<MarkerSpec>,
    /// Flows; results of flows have the same order.
    pub flows: Vec<FlowSpec>,
}

/// An error in a network description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadNetwork(pub String);

impl core::fmt::Display for BadNetwork {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for BadNetwork {}

impl Network {
    /// The service class of each bundle, a group of flows that are measured together.
    pub fn bundles(&self) -> Bundles {
        Bundles::of(self.flows.iter().map(|flow| (flow.bundle, flow.class)))
    }

    /// For each link under study, the bundles (groups of flows that are measured together) whose data crosses it.
    pub fn bundles_across(&self) -> Vec<BTreeSet<u8>> {
        let across = |id| {
            let crosses = |flow: &&FlowSpec| self.routes[flow.forward].contains(&id);
            self.flows.iter().filter(crosses).map(|flow| flow.bundle).collect()
        };
        (0..self.links.len()).filter(|id| self.links[*id].lane.study).map(across).collect()
    }

    /// The link in the opposite direction: that of the acknowledgements of the flows whose data crosses `link`.
    pub fn opposite(&self, link: LinkId) -> Option<LinkId> {
        self.flows.iter().find_map(|flow| {
            let (forward, back) = (&self.routes[flow.forward], &self.routes[flow.back]);
            let at = forward.iter().position(|id| *id == link)?;
            back.len().checked_sub(at + 1).and_then(|at| back.get(at)).copied()
        })
    }

    /// The name of a flow that fetches pages and does not follow, or is not followed by, the neighbouring connections of its
    /// client.
    fn broken_page(&self) -> Option<&str> {
        let number = |at: Option<usize>| at.and_then(|at| self.flows.get(at)?.traffic.page()).map(|page| page.number);
        let is_sound = |at: usize, page: PageConnection| {
            let follows = page.number == 0 || number(at.checked_sub(1)) == Some(page.number - 1);
            let is_last = page.number + 1 == page.connections;
            let range = 1..=MOST_CONNECTIONS;
            follows && (is_last || number(Some(at + 1)) == Some(page.number + 1)) && range.contains(&page.connections)
        };
        let mut pages = self.flows.iter().enumerate().filter_map(|(at, flow)| Some((at, flow, flow.traffic.page()?)));
        pages.find(|(at, _, page)| !is_sound(*at, *page)).map(|(_, flow, _)| flow.name.as_str())
    }

    /// Checks that indices are in range, routes are not empty, and times are consistent.
    pub fn check(&self) -> Result<(), BadNetwork> {
        let fail = |what: String| Err(BadNetwork(what));
        if self.warmup >= self.duration {
            return fail("the warm-up is not shorter than the run".into());
        }
        if self.duration.nanos() > crate::engine::agenda::MAX_NANOS / 2 {
            return fail("the run is longer than 19 hours of simulated time".into());
        }
        if self.sample == Span::ZERO {
            return fail("the sampling interval is zero".into());
        }
        if let Some(link) =
            self.links.iter().find(|link| link.lane.conditions.loss.is_some_and(|loss| !loss.is_sound()))
        {
            return fail(format!("link {} loses packets with a probability outside 0 to 1", link.name));
        }
        if let Some(flow) = self.broken_page() {
            return fail(format!("{flow} fetches pages, but the connections of its client are not consecutive flows"));
        }
        let plays = |flow: &FlowSpec| match &flow.traffic {
            Traffic::Application(_, Work::Video(video)) => video.is_sound(),
            Traffic::Rtp(rtp::Rtp { control: rtp::Control::Nada(nada), .. }) => nada.is_sound(),
            _ => true,
        };
        if let Some(flow) = self.flows.iter().find(|flow| !plays(flow)) {
            return fail(format!("{} sends a video whose parameters do not fit together", flow.name));
        }
        if self.tracks.iter().flatten().any(|flow| *flow >= self.flows.len()) {
            return fail("a track names a flow that does not exist".into());
        }
        let is_idle = |levels: &Levels| levels.rates.is_empty() || levels.hold == Span::ZERO;
        if let Some(link) = self.links.iter().find(|link| link.lane.conditions.levels.as_ref().is_some_and(is_idle)) {
            return fail(format!("link {} has no levels, or a hold time of 0", link.name));
        }
        for (i, route) in self.routes.iter().enumerate() {
            if route.is_empty() || route.len() > 255 || route.iter().any(|&link| link >= self.links.len()) {
                return fail(format!("route {i} is empty, too long, or names a link that does not exist"));
            }
        }
        let bundles = self.bundles();
        for flow in &self.flows {
            let hosts = flow.from < self.hosts.len() && flow.to < self.hosts.len();
            if !hosts || flow.forward >= self.routes.len() || flow.back >= self.routes.len() {
                return fail(format!("flow {} names a host or route that does not exist", flow.name));
            }
            let is_capable = flow.traffic.tcp().map_or(flow.ecn.is_capable(), TcpOptions::ecn_capable);
            if flow.ecn == Ecn::Ce || flow.ecn.is_capable() != is_capable {
                return fail(format!("flow {}: its sender does not send ECN codepoint {:?}", flow.name, flow.ecn));
            }
            if flow.marker.is_some_and(|marker| marker >= self.markers.len()) {
                return fail(format!("flow {} names a marker that does not exist", flow.name));
            }
            if bundles.class(flow.bundle) != flow.class {
                return fail(format!("flow {} has another class than other flows of its bundle", flow.name));
            }
            let first = &self.links[self.routes[flow.forward][0]];
            if first.lane.bits(self.duration) / (8.0 * f64::from(flow.packet)) >= f64::from(MAX_PACKETS) {
                return fail(format!("flow {} could send more packets than a 32-bit number can count", flow.name));
            }
        }
        Ok(())
    }
}
