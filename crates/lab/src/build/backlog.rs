//! Upper bounds on the packets at each link of a network: those that wait in its buffer, and those that propagate on
//! its wire. They follow from the traffic that the flows offer. The estimate of a run's memory uses them.
//!
//! They assume that every source always sends at its peak rate and that no packet is lost before the next link. For
//! random sources the rates are estimates, so the results can be exceeded.
//!
//! At a link of rate C with arrivals at rate R or less, at least the fraction C/R of the arrivals is served while they
//! arrive; the others wait, as far as the buffer has room. TCP sends at most two packets per delivered packet (slow
//! start): over the complete run at most its initial window plus twice what the slowest link of its route carries, and
//! never more in flight than its window.

use std::collections::BTreeMap;

use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Link};
use forebay_sim::network::{FlowSpec, Lane, LinkId, LinkSpec, Network, Traffic};
use forebay_sim::rtp::{Control, Frames};

/// Packets at one link.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Backlog {
    /// Most packets that wait.
    pub(crate) waiting: f64,
    /// Most packets that propagate on the link, or are processed in the hosts that send to it.
    pub(crate) travelling: f64,
}

/// Packets from one host along one route.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// Peak rate, in bits and in packets per second.
    peak: [f64; 2],
    /// Total of the run, in bits and in packets.
    total: [f64; 2],
    /// Largest burst in packets.
    burst: f64,
    /// Most packets in flight; infinite for datagrams, which have no feedback.
    window: f64,
    /// Smallest packet in bits.
    shortest: f64,
}

impl Stream {
    const NONE: Self = Self { peak: [0.0; 2], total: [0.0; 2], burst: 0.0, window: 0.0, shortest: f64::INFINITY };

    fn add(&mut self, other: &Self) {
        for i in [0, 1] {
            self.peak[i] += other.peak[i];
            self.total[i] += other.total[i];
        }
        self.burst += other.burst;
        self.window += other.window;
        self.shortest = self.shortest.min(other.shortest);
    }

    /// The stream after a link that carries at most `rate` bits per second, and at most `all` bits in the run.
    fn through(mut self, rate: f64, all: f64) -> Self {
        let part = |most: f64, of: f64| if of > most { most / of } else { 1.0 };
        let (slower, fewer) = (part(rate, self.peak[0]), part(all, self.total[0]));
        self.peak = self.peak.map(|x| x * slower);
        self.total = self.total.map(|x| x * fewer);
        // A burst waits at the first link of the route and leaves it at the rate of that link.
        self.burst = 0.0;
        self
    }
}

/// Where a stream comes from: a host, or the previous link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Feeder {
    Host(usize),
    Link(LinkId),
}

/// The backlog of each link of `net`, in the order of its links.
pub(crate) fn of(net: &Network) -> Vec<Backlog> {
    let mut fed: Vec<BTreeMap<Feeder, Stream>> = vec![BTreeMap::new(); net.links.len()];
    let secs = net.duration.secs();
    for ((host, route), stream) in streams(net) {
        let (mut feeder, mut stream) = (Feeder::Host(host), stream);
        for &link in &net.routes[route] {
            fed[link].entry(feeder).or_insert(Stream::NONE).add(&stream);
            let lane = &net.links[link].lane;
            (feeder, stream) = (Feeder::Link(link), stream.through(lane.most_rate(), lane.bits(net.duration)));
        }
    }
    let jitter = |feeder: &Feeder| match feeder {
        Feeder::Host(host) => net.hosts[*host].jitter.secs().min(secs),
        Feeder::Link(_) => 0.0,
    };
    let link = |(spec, fed): (&LinkSpec, BTreeMap<Feeder, Stream>)| {
        let (mut all, mut held) = (Stream::NONE, 0.0);
        for (feeder, stream) in fed {
            held += (stream.peak[1] * jitter(&feeder)).min(stream.total[1]);
            all.add(&match feeder {
                Feeder::Host(_) => stream,
                Feeder::Link(before) => {
                    let before = &net.links[before].lane;
                    stream.through(before.most_rate(), before.bits(net.duration))
                }
            });
        }
        at(spec, &all, net.duration, held)
    };
    net.links.iter().zip(fed).map(link).collect()
}

/// Backlog of a link with the arrivals `all`. At most `held` packets are processed in the hosts before it.
fn at(spec: &LinkSpec, all: &Stream, duration: Span, held: f64) -> Backlog {
    let ([peak, packets], [bits, count]) = (all.peak, all.total);
    let most = count.min(all.window);
    let waiting =
        (unserved(&spec.lane, all.peak, bits, duration) * count + all.burst).min(most).min(room(spec, all.shortest));
    let flow = if peak > 0.0 { packets * (spec.lane.most_rate() / peak).min(1.0) } else { 0.0 };
    Backlog { waiting, travelling: (flow * spec.lane.most_delay().secs()).min(most) + held }
}

/// Fraction of the arrivals that is not served while they arrive: `bits` in total, at the rate `peak`.
fn unserved(lane: &Lane, [peak, _]: [f64; 2], bits: f64, duration: Span) -> f64 {
    /// The run is split into this many intervals. For each the bits that the link can send are computed.
    const PARTS: u64 = 1000;
    let slower = |rate: f64| if peak > rate { 1.0 - rate / peak } else { 0.0 };
    match (&lane.conditions.levels, &lane.conditions.schedule) {
        (Some(levels), _) => slower(levels.rates.iter().map(|rate| rate.0).min().unwrap_or(0) as f64),
        (None, Some(schedule)) => {
            let time = |part| Instant::from_nanos((u128::from(duration.nanos()) * u128::from(part) / 1000) as u64);
            let left = (0..PARTS).map(|part: u64| {
                let (from, to) = (time(part), time(part + 1));
                (peak * (to.secs() - from.secs()) - schedule.bits(from, to)).max(0.0)
            });
            // Within a part all arrivals may come before any service.
            let all = left.sum::<f64>() + peak * duration.secs() / PARTS as f64;
            if bits > all { all / bits } else { 1.0 }
        }
        (None, None) => slower(lane.rate.0 as f64),
    }
}

/// Most packets that the buffer of a link holds if each has at least `shortest` bits.
pub(crate) fn room(spec: &LinkSpec, shortest: f64) -> f64 {
    let Lane { rate, limit, discipline, .. } = &spec.lane;
    // A discipline may set its own limit.
    match discipline.link(&Link { rate: *rate, limit: *limit, mean_packet: spec.mean_packet }).limit {
        Limit::Packets(n) => f64::from(n),
        Limit::Bytes(bytes) => bytes as f64 * 8.0 / shortest.max(8.0),
    }
}

/// Streams of a network, by first host and route.
fn streams(net: &Network) -> BTreeMap<(usize, usize), Stream> {
    let mut all: BTreeMap<(usize, usize), Stream> = BTreeMap::new();
    // Connections over equal routes share what the slowest link carries.
    let mut shared: BTreeMap<(usize, usize, usize), (Stream, &FlowSpec)> = BTreeMap::new();
    for flow in &net.flows {
        if flow.traffic.tcp().is_some() {
            let group = shared.entry((flow.from, flow.forward, flow.back)).or_insert((Stream::NONE, flow));
            group.0.add(&connection(flow));
        } else {
            all.entry((flow.from, flow.forward)).or_insert(Stream::NONE).add(&datagrams(flow, net.duration));
        }
    }
    for (first, flow) in shared.values() {
        let [data, acks] = under_way(net, flow, first);
        all.entry((flow.from, flow.forward)).or_insert(Stream::NONE).add(&data);
        all.entry((flow.to, flow.back)).or_insert(Stream::NONE).add(&acks);
    }
    all
}

/// The data of the TCP connections over the routes of `flow`, and their acknowledgements. `first` has their initial
/// windows.
fn under_way(net: &Network, flow: &FlowSpec, first: &Stream) -> [Stream; 2] {
    let links = |route: usize| net.routes[route].iter().map(|&link| &net.links[link].lane);
    let least = |of: &dyn Fn(&Lane) -> f64| links(flow.forward).map(of).fold(f64::INFINITY, f64::min);
    let secs = net.duration.secs();
    // Nothing is acknowledged in the first round trip.
    let round_trip = links(flow.forward).chain(links(flow.back)).map(|link| link.delay.secs()).sum::<f64>();
    let rate = least(&Lane::most_rate);
    let bits = least(&|link| link.bits(net.duration)).min(rate * (secs - round_trip).max(0.0));
    let [per_second, delivered] = [rate, bits].map(|bits| bits / first.shortest);
    let ack = 8.0 * f64::from(flow.traffic.answer());
    let data = Stream {
        peak: [2.0 * rate, 2.0 * per_second],
        total: [first.total[0] + 2.0 * bits, first.total[1] + 2.0 * delivered],
        ..*first
    };
    let acknowledged = delivered + first.total[1];
    let acks = Stream {
        peak: [ack * per_second, per_second],
        total: [ack * acknowledged, acknowledged],
        burst: 0.0,
        window: first.window,
        shortest: ack,
    };
    [data, acks]
}

/// What a connection sends before the first acknowledgement: its initial window.
fn connection(flow: &FlowSpec) -> Stream {
    let Some(options) = flow.traffic.tcp() else { return Stream::NONE };
    let (length, first) = (8.0 * f64::from(flow.packet), f64::from(options.initial_window));
    let window = options.window.map_or(f64::INFINITY, f64::from);
    Stream { peak: [0.0; 2], total: [length * first, first], burst: first, window, shortest: length }
}

/// Datagrams of one flow.
fn datagrams(flow: &FlowSpec, duration: Span) -> Stream {
    let end = flow.stop.map_or(duration.secs(), |stop| stop.secs()).min(duration.secs());
    let (packets, most) = sent(flow, (end - flow.start.secs()).max(0.0));
    let length = 8.0 * f64::from(flow.packet);
    Stream {
        peak: [length * most, most],
        total: [length * packets, packets],
        burst: 1.0,
        window: f64::INFINITY,
        shortest: length.max(8.0),
    }
}

/// Most datagrams that a flow sends: in `secs` seconds, and in any one second. For random sources these are estimates
/// that can be exceeded: for Poisson arrivals they are the mean.
fn sent(flow: &FlowSpec, secs: f64) -> (f64, f64) {
    /// Assumed ratio of peak to mean of the rate of a video with random frame sizes.
    const MORE: f64 = 2.0;
    match &flow.traffic {
        Traffic::Datagrams(pattern) => pattern.most_packets(secs),
        Traffic::Rtp(rtp) => {
            let payload = f64::from(flow.packet).max(41.0) - 40.0;
            match &rtp.control {
                Control::Nada(nada) => {
                    let most = nada.fps + nada.rmax.bytes_per_sec() / payload;
                    (most * secs, most)
                }
                Control::ReceiverReports { frames: Frames::Recorded(replay), .. } => {
                    let frames = replay.recording.items().len() as f64;
                    replay.most(frames + replay.recording.bytes() as f64 / payload, secs)
                }
                Control::ReceiverReports { frames: Frames::Synthetic(frames), .. } => {
                    // A group of pictures may begin with its largest frames.
                    let each = (1.0 / frames.every.secs().max(1e-9)) * (1.0 + frames.mean / payload);
                    let peak = each * f64::from(frames.gop.max(1));
                    ((MORE * each * secs).min(peak * secs), peak)
                }
            }
        }
        Traffic::Tcp(_) | Traffic::Application(..) => (0.0, 0.0),
    }
}
