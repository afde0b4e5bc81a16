//! The flows of a network as orders for the guest agent. Random sizes and times are drawn here, from the random streams
//! that the simulator uses.

use forebay_agent::{Piece, Work};
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_sim::app::{Files, Work as Application};
use forebay_sim::network::{DATAGRAM_HEADERS, FlowSpec, Network, SEGMENT_HEADERS, Traffic};
use forebay_sim::source::{Pattern, Source};
use forebay_sim::tcp::{AccEcn, TcpOptions};

use crate::netlink::Metrics;

/// Port of the first flow.
pub(crate) const PORTS: u16 = 10_000;
/// Maximum number of flows; each needs a port and two threads.
const MAX_FLOWS: usize = 5_000;
/// Maximum frame length, bytes.
const MAX_FRAME: u16 = 1514;
/// Minimum frame length of segments, bytes: the kernel refuses a smaller `TCP_MAXSEG`.
const MIN_FRAME: u32 = SEGMENT_HEADERS + 76;
/// Receive windows of at least this many bytes count as unlimited.
const UNLIMITED_WINDOW: u64 = 1 << 22;
/// Largest number of files of a flow.
const MAX_FILES: usize = 200_000;
/// Congestion controls that Linux 6.12 lacks and later kernels can have, by their names in kernels that have them.
const LATER: [&str; 1] = ["prague"];

/// Why the guest cannot run this network's flows; `None` if it can.
pub(crate) fn obstacle(net: &Network) -> Option<String> {
    if net.flows.len() > MAX_FLOWS {
        return Some(format!("{} flows; the maximum is {MAX_FLOWS}", net.flows.len()));
    }
    net.flows.iter().find_map(|flow| {
        let because = |why: String| Some(format!("{}: {why}", flow.name));
        let bytes = u32::from(flow.packet);
        if flow.packet > MAX_FRAME {
            return because(format!("packets of {bytes} bytes; the maximum is {MAX_FRAME}"));
        }
        if flow.marker.is_some() {
            return because("edge markers are not supported".into());
        }
        match &flow.traffic {
            Traffic::Rtp(_) => because("RTP video is not supported".into()),
            Traffic::Application(_, Application::Page(_)) => {
                because("pages of several objects are not supported".into())
            }
            Traffic::Application(_, Application::Video(_)) => because("adaptive video is not supported".into()),
            Traffic::Datagrams(_) if bytes <= DATAGRAM_HEADERS => {
                because(format!("packets of {bytes} bytes; the headers alone need {DATAGRAM_HEADERS}"))
            }
            Traffic::Datagrams(pattern) if pattern.longest(flow.packet) > MAX_FRAME.into() => {
                let longest = pattern.longest(flow.packet);
                because(format!("packets of up to {longest} bytes; the maximum is {MAX_FRAME}"))
            }
            Traffic::Datagrams(_) => None,
            Traffic::Tcp(options) | Traffic::Application(options, _) => {
                match options.kernel() {
                    Some(control) if !LATER.contains(&control) => {}
                    _ => return because(format!("{} is not in Linux 6.12", options.variant.word())),
                }
                if options.amends() {
                    return because(format!("Linux 6.12 has no {}", options.amending_keys().join(", ")));
                }
                if options.accurate() != AccEcn::Off {
                    return because("accurate ECN feedback is not in Linux 6.12".into());
                }
                if flow.traffic.opens_as_ns2() {
                    return because("handshake = \"ns2\"; Linux has only the handshake of TCP".into());
                }
                if flow.ecn == Ecn::Ect1 {
                    return because("ECT(1) over TCP; Linux 6.12 sends ECT(0)".into());
                }
                let small = bytes < MIN_FRAME;
                small.then(|| format!("{}: packets of {bytes} bytes; the minimum is {MIN_FRAME}", flow.name))
            }
        }
    })
}

/// Data bytes per segment.
fn data(flow: &FlowSpec) -> u64 {
    u64::from(u32::from(flow.packet).saturating_sub(SEGMENT_HEADERS).max(1))
}

/// The metrics of the routes of a flow: keys of a sender whose value is not the default of its stack. The others have the
/// kernel's own values.
pub(crate) fn metrics(flow: &FlowSpec) -> Metrics {
    let Some(options) = flow.traffic.tcp() else { return Metrics::default() };
    let default = TcpOptions::of(options.variant, options.stack);
    Metrics {
        ecn: flow.ecn.is_capable(),
        initial_window: (options.initial_window != default.initial_window).then_some(options.initial_window),
        quick_ack: default.delayed_ack && !options.delayed_ack,
        rto_min: (options.min_rto != default.min_rto)
            .then(|| options.min_rto.nanos().div_ceil(1_000_000).max(1) as u32),
    }
}

/// The addresses of a flow's ends, and the device of its datagrams.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// Client.
    pub(crate) client: u32,
    /// Server.
    pub(crate) server: u32,
    /// Device of datagrams; empty for TCP.
    pub(crate) device: String,
}

/// The order for flow `number` of a network.
pub(crate) fn flow(net: &Network, number: usize, seed: u64, ends: Ends) -> forebay_agent::Flow {
    let flow = &net.flows[number];
    let options = flow.traffic.tcp();
    let window = options.and_then(|options| options.window).map(|packets| u64::from(packets) * data(flow));
    let end = net.duration.nanos();
    let stop = flow.stop.map_or(end, Instant::nanos).min(end);
    forebay_agent::Flow {
        name: flow.name.clone(),
        port: PORTS + number as u16,
        client: ends.client,
        server: ends.server,
        control: options.and_then(TcpOptions::kernel).unwrap_or_default().to_string(),
        // TCP_MAXSEG includes TCP options.
        segment: options.map_or(0, |_| u32::from(flow.packet) - 14 - 40),
        window: window.filter(|bytes| *bytes < UNLIMITED_WINDOW).unwrap_or(0) as u32,
        paced: options.is_some_and(|options| options.pacing),
        traffic_class: flow.dscp << 2 | flow.ecn.bits(),
        device: ends.device,
        start: flow.start.nanos(),
        stop,
        work: work(net, flow, seed, stop),
    }
}

fn work(net: &Network, flow: &FlowSpec, seed: u64, stop: u64) -> Work {
    let own = || Rng::stream(seed, &format!("flow/{}/application", flow.name));
    match &flow.traffic {
        Traffic::Tcp(_) | Traffic::Rtp(_) | Traffic::Application(_, Application::Page(_) | Application::Video(_)) => {
            Work::Bulk
        }
        Traffic::Application(_, Application::Files(files)) if *files == Files::ENDLESS => Work::Bulk,
        Traffic::Application(_, Application::Files(files)) => {
            let pieces = pieces(net, flow, files, own(), stop);
            let (fresh, handshake) = (files.fresh, files.opening.has_syn());
            match files.request {
                None => Work::Push { files: pieces, fresh, handshake },
                Some(request) => {
                    let request = u64::from(u32::from(request).saturating_sub(SEGMENT_HEADERS).max(1));
                    Work::Pull { files: pieces, request, fresh, handshake }
                }
            }
        }
        Traffic::Application(_, Application::Written(pattern)) => {
            Work::Written(times(flow, pattern, own(), stop, |_| data(flow)))
        }
        Traffic::Datagrams(pattern) => {
            let rng = Rng::stream(seed, &format!("flow/{}", flow.name));
            let payload = |len: u16| u64::from(u32::from(len).saturating_sub(DATAGRAM_HEADERS).max(1));
            Work::Datagrams(times(flow, pattern, rng, stop, payload))
        }
    }
}

/// Sizes and pauses of files until the flow stops. A file takes at least its transmission time at the fastest link of
/// its route.
fn pieces(net: &Network, flow: &FlowSpec, files: &Files, mut rng: Rng, stop: u64) -> Vec<Piece> {
    let route = net.routes[flow.forward].iter().map(|link| net.links[*link].lane.most_rate());
    let rate = route.fold(f64::INFINITY, f64::min).max(1.0);
    let (mut pieces, mut at, mut pause) = (Vec::new(), flow.start.nanos(), 0);
    let most = files.count.map_or(MAX_FILES, |count| (count as usize).min(MAX_FILES));
    while pieces.len() < most && at < stop {
        let packets = (files.size.next(&mut rng) / f64::from(flow.packet)).ceil().clamp(1.0, 1e9) as u64;
        let bytes = packets * data(flow);
        pieces.push(Piece { pause, bytes });
        pause = (files.think.next(&mut rng) * 1e9) as u64;
        at = at.saturating_add(pause).saturating_add((bytes as f64 * 8e9 / rate) as u64);
    }
    pieces
}

/// Times at which a source sends, and the payload of each packet.
fn times(flow: &FlowSpec, pattern: &Pattern, rng: Rng, stop: u64, payload: impl Fn(u16) -> u64) -> Vec<(u64, u64)> {
    let mut source = Source::new(pattern.clone(), flow.packet, rng);
    source.start(flow.start);
    let mut times = Vec::new();
    while let Some(at) = source.next().filter(|at| at.nanos() < stop) {
        times.push((at.nanos(), payload(source.send(at))));
    }
    times
}
