//! A flow of ours as a line of the description that `validation/ns2/network.tcl` reads.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_sim::app::{Files, Work};
use forebay_sim::network::{FlowSpec, Network, RouteId, Traffic};
use forebay_sim::source::{Pattern, Source};
use forebay_sim::tcp::TcpOptions;
use forebay_sim::tcp::congestion::Transport;

/// Header bytes that ns-2 adds to the payload `packetSize_` of a packet.
const HEADERS: u16 = 40;
/// Length of ns-2's acknowledgements, bytes.
pub(super) const ACK: u16 = 40;
/// ns-2's variable `window_` for a connection whose window has no limit.
const UNLIMITED: u32 = 1_000_000;

/// Whether ns-2 has this kind of traffic. It does not have video over RTP that adapts its rate, nor SCTP like ours.
pub(super) fn is_known(flow: &FlowSpec) -> bool {
    let is_sctp = |options: &TcpOptions| options.variant.profile().transport == Transport::Sctp;
    !matches!(flow.traffic, Traffic::Rtp(_)) && !flow.traffic.tcp().is_some_and(is_sctp)
}

/// The line of the description for a flow, without its nodes.
pub(super) fn describe(net: &Network, flow: &FlowSpec, seed: u64) -> Result<String, String> {
    let times = format!("{} {}", flow.start.secs(), flow.stop.map_or("-".to_string(), |stop| stop.secs().to_string()));
    Ok(match &flow.traffic {
        Traffic::Tcp(options) => format!("tcp {times} {}", connection(options, flow.packet, false)?),
        Traffic::Application(options, Work::Files(files)) => {
            let connection = connection(options, flow.packet, files.opening.has_syn())?;
            let (fresh, request) = (u8::from(files.fresh), files.request.unwrap_or(0));
            let back = delay(net, flow.back).secs();
            let draws = draws(net, flow, files, seed);
            format!("files {times} {connection} {fresh} {request} {back} {{{draws}}}")
        }
        Traffic::Application(options, Work::Written(pattern)) => {
            let source = source(pattern, flow, &format!("flow/{}/application", flow.name), seed);
            let times: Vec<String> = packets(source, net, flow).map(|(at, _)| at.secs().to_string()).collect();
            format!("writes {} {{{}}}", connection(options, flow.packet, false)?, times.join(" "))
        }
        Traffic::Datagrams(pattern) => datagrams(net, flow, pattern, seed),
        Traffic::Rtp(_) => return Err("video over RTP that adapts its rate".to_string()),
        Traffic::Application(_, Work::Page(_)) => return Err("pages of several objects".to_string()),
        Traffic::Application(_, Work::Video(_)) => return Err("adaptive video".to_string()),
    })
}

/// The arguments KIND, SINK and OPTIONS of `network.tcl` for a connection: sender, receiver, variables of the sender.
fn connection(options: &TcpOptions, packet: u16, handshake: bool) -> Result<String, String> {
    let profile = options.variant.profile();
    let (kind, sack) = match profile.word {
        "tahoe" => ("{}", ""),
        "reno" => ("/Reno", ""),
        "newreno" => ("/Newreno", ""),
        "sack" => ("/Sack1", "/Sack1"),
        other => return Err(format!("tcp {other}")),
    };
    if options.pacing || options.l4s || options.ack != ACK {
        return Err("pacing, L4S, or acknowledgements of another length".to_string());
    }
    if options.ecn_capable() && !options.repeats_with_ect() {
        return Err("retransmissions that are not ECN-capable".to_string());
    }
    let sink = format!("{sack}{}", if options.delayed_ack { "/DelAck" } else { "" });
    let sink = if sink.is_empty() { "{}".to_string() } else { sink };
    let initial_rto = options.initial_rto.unwrap_or(profile.initial_rto).secs();
    let flag = u8::from;
    let settings = [
        ("packetSize_", (packet - HEADERS).to_string()),
        ("window_", options.window.unwrap_or(UNLIMITED).to_string()),
        ("windowInit_", options.initial_window.to_string()),
        ("rtxcur_init_", initial_rto.to_string()),
        ("minrto_", options.min_rto.secs().to_string()),
        ("maxrto_", options.max_rto.secs().to_string()),
        ("tcpTick_", options.tick.secs().to_string()),
        ("singledup_", flag(options.limited_transmit).to_string()),
        ("ecn_", flag(options.ecn_capable()).to_string()),
        ("slow_start_restart_", flag(options.idle_restart).to_string()),
        ("syn_", flag(handshake).to_string()),
        ("delay_growth_", flag(handshake).to_string()),
    ];
    let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    Ok(format!("{kind} {sink} {{{}}}", settings.join(" ")))
}

/// Propagation delay of a route.
fn delay(net: &Network, route: RouteId) -> Span {
    net.routes[route].iter().fold(Span::ZERO, |sum, link| sum + net.links[*link].lane.delay)
}

/// Number of packets of each file and seconds until the next file, from the random numbers of our run. There are as
/// many files as the flow could send until it stops.
fn draws(net: &Network, flow: &FlowSpec, files: &Files, seed: u64) -> String {
    let mut rng = Rng::stream(seed, &format!("flow/{}/application", flow.name));
    let left = flow.stop.map_or(net.duration, |stop| stop.since(Instant::ZERO)).secs() - flow.start.secs();
    let least = (delay(net, flow.forward) + delay(net, flow.back)).secs().max(1e-3);
    let (mut words, mut spent, mut count) = (Vec::new(), 0.0, 0);
    while spent <= left && files.count.is_none_or(|most| count < most) {
        let packets = (files.size.next(&mut rng) / f64::from(flow.packet)).ceil().max(1.0);
        let think = files.think.next(&mut rng);
        words.push(format!("{packets} {think}"));
        spent += least + think;
        count += 1;
    }
    words.join(" ")
}

fn source(pattern: &Pattern, flow: &FlowSpec, stream: &str, seed: u64) -> Source {
    let mut source = Source::new(pattern.clone(), flow.packet, Rng::stream(seed, stream));
    source.start(flow.start);
    source
}

/// Times and lengths of the packets that `source` sends until the flow stops.
fn packets(mut source: Source, net: &Network, flow: &FlowSpec) -> impl Iterator<Item = (Instant, u16)> {
    let stop = flow.stop.unwrap_or(Instant::ZERO + net.duration);
    std::iter::from_fn(move || {
        let at = source.next().filter(|at| *at < stop)?;
        Some((at, source.send(at)))
    })
}

fn datagrams(net: &Network, flow: &FlowSpec, pattern: &Pattern, seed: u64) -> String {
    let source = source(pattern, flow, &format!("flow/{}", flow.name), seed);
    match (pattern, source.next()) {
        (Pattern::Constant { every }, Some(first)) => {
            let stop = flow.stop.map_or("-".to_string(), |stop| stop.secs().to_string());
            format!("cbr {} {stop} {} {}", first.secs(), every.secs(), flow.packet)
        }
        _ => {
            let packets = packets(source, net, flow).map(|(at, bytes)| format!("{} {bytes}", at.secs()));
            format!("udp {{{}}}", packets.collect::<Vec<_>>().join(" "))
        }
    }
}
