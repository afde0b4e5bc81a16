//! A network of the simulator as orders for a guest: namespaces, devices, qdiscs, addresses and filters.
//!
//! Clients, links and routers are in one namespace, servers in another. A link is a device with a
//! queue. What the queue sends goes to the device of the next link, by its destination. Each pair of
//! routes has an own pair of addresses.
//!
//! - Links under study, and those with losses, a variable rate, a small buffer or another discipline than drop-tail: a
//!   transmitter of our own (`sch_forebay_line.c`) has the rate, its child the discipline; a second device has the delay and
//!   the losses (netem).
//! - All others: netem has rate, delay and a buffer for the packets in the queue and on the wire. One that follows a
//!   delay, and to which no other packets go, shares its netem.

use std::collections::{BTreeMap, BTreeSet};

use forebay_agent::orders::{CLIENTS, SERVERS, SERVERS_DESCRIPTOR};
use forebay_agent::{Message, Orders};
use forebay_aqm::base::tc::in_words_of_tc;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Limit;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{FlowSpec, Lane, LinkId, LinkSpec, Network, Traffic};
use forebay_sim::schedule::Schedule;

use crate::netlink::{self, At, Device, Loss, Metrics, ROOT, Request, handle};
use crate::qdiscs::{self, Queue, Twin};
use crate::tc;
use crate::traffic::{self, Ends, PORTS};

/// Time on the guest's clock at which runs start, ns. The set-up ends before.
pub(crate) const ZERO: u64 = 2_000_000_000;
/// A timer of the guest expires up to this much late, ns: what a link can send in this time is added to the bucket of tbf.
const TIMER_LATE: u64 = 2_000;
/// Links that are not under study have this number in records.
pub(crate) const NOT_STUDIED: u32 = 255;

/// A drop-tail buffer of at least this many packets hardly ever overflows: netem alone stands for the link.
const AMPLE: u32 = 1000;

/// What the name of a discipline begins with that is a qdisc of Linux.
const LINUX: &str = "linux:";

/// The qdisc of Linux at a link with its parameters, in the words of tc(8); `None` if the discipline is Forebay's.
pub(crate) fn linux_qdisc(link: &LinkSpec) -> Option<String> {
    link.lane.discipline.canonical().strip_prefix(LINUX).map(in_words_of_tc)
}

/// Addresses of the ends of a pair of routes.
const fn addresses(pair: usize) -> (u32, u32) {
    let low = pair as u32 + 1;
    (0x0a01_0000 | low, 0x0a02_0000 | low)
}

/// What distinguishes pairs of addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Route {
    forward: usize,
    back: usize,
    metrics: Metrics,
    datagrams: bool,
}

/// The pairs of routes of a network, each with an own pair of addresses.
pub(crate) struct Addressed {
    routes: BTreeMap<Route, usize>,
    /// For each flow the number of its pair.
    of_flow: Vec<usize>,
}

/// The devices at the ends of a network: of the clients, of the servers, and of the clients' datagrams.
type Devices<'a> = (&'a Device, &'a Device, Option<&'a Device>);

impl Addressed {
    /// The pairs of routes that flows of `net` use.
    pub(crate) fn new(net: &Network) -> Self {
        let mut routes: BTreeMap<Route, usize> = BTreeMap::new();
        let number = |flow: &FlowSpec| {
            let datagrams = matches!(flow.traffic, Traffic::Datagrams(_));
            let metrics = traffic::metrics(flow);
            let route = Route { forward: flow.forward, back: flow.back, metrics, datagrams };
            let count = routes.len();
            *routes.entry(route).or_insert(count)
        };
        let of_flow = net.flows.iter().map(number).collect();
        Self { routes, of_flow }
    }

    /// Gives the devices their addresses and routes.
    pub(crate) fn messages(&self, (client, server, datagrams): Devices<'_>) -> Vec<Message> {
        const PREFIX: u8 = 16;
        let own = Metrics::default();
        let mut messages = vec![
            netlink::route(client, (0x0a02_0000, PREFIX), 10, own),
            netlink::route(server, (0x0a01_0000, PREFIX), 10, own),
        ];
        if let Some(device) = datagrams {
            messages.push(netlink::route(device, (0x0a02_0000, PREFIX), 20, own));
        }
        for (route, pair) in &self.routes {
            let (client_ip, server_ip) = addresses(*pair);
            let source = if route.datagrams { datagrams.unwrap_or(client) } else { client };
            messages.push(netlink::address(source, client_ip));
            messages.push(netlink::address(server, server_ip));
            if route.metrics != own {
                messages.push(netlink::route(client, (server_ip, 32), 5, route.metrics));
                messages.push(netlink::route(server, (client_ip, 32), 5, route.metrics));
            }
        }
        messages
    }
}

/// The orders of a run whose devices are set up by `setup`. `plain`: devices whose offloads are switched off.
/// `datagrams`: name of the device of datagrams.
pub(crate) fn common_orders(
    net: &Network,
    seed: u64,
    (addressed, datagrams): (&Addressed, &str),
    setup: Vec<Message>,
    plain: Vec<(u64, String)>,
) -> Orders {
    let ends = |number: usize| {
        let (client, server) = addresses(addressed.of_flow[number]);
        let is_datagrams = matches!(net.flows[number].traffic, Traffic::Datagrams(_));
        Ends { client, server, device: if is_datagrams { datagrams.to_string() } else { String::new() } }
    };
    let tracked: std::collections::BTreeSet<u64> = net.tracks.iter().flatten().map(|flow| *flow as u64).collect();
    Orders {
        zero: ZERO,
        warm: net.warmup.nanos(),
        end: net.duration.nanos(),
        sample: net.sample.nanos(),
        tracked: tracked.into_iter().collect(),
        settings: settings(),
        setup,
        plain,
        changes: Vec::new(),
        counted: Vec::new(),
        flows: (0..net.flows.len()).map(|number| traffic::flow(net, number, seed, ends(number))).collect(),
        programs: Vec::new(),
    }
}

/// The orders of a run of the flows of `net` between two devices, `c0` of the clients and `s0` of the servers, without
/// links and qdiscs. Programs of the guest can add these; something must limit the rate.
pub fn cable(net: &Network, seed: u64) -> Orders {
    let addressed = Addressed::new(net);
    let [client, server] = [(CLIENTS, "c0", 11), (SERVERS, "s0", 12)].map(|(namespace, name, index)| Device {
        namespace,
        index,
        name: name.to_string(),
    });
    let mut setup = netlink::pair(&client, &server, Some(SERVERS_DESCRIPTOR)).to_vec();
    setup.extend(addressed.messages((&client, &server, None)));
    let plain = vec![(CLIENTS, client.name), (SERVERS, server.name)];
    common_orders(net, seed, (&addressed, ""), setup, plain)
}

/// Devices and messages so far.
struct Builder<'a> {
    net: &'a Network,
    seed: u64,
    zero: u64,
    /// Number of bytes that are recorded of each packet: at its arrival at the first link under study, and when it leaves the
    /// network. 0 without a capture.
    snap: u32,
    twin: Option<&'a Twin>,
    messages: Vec<Message>,
    /// Qdiscs of links. They are sent after the routes: setting a route resets the qdiscs of its device.
    queues: Vec<Message>,
    changes: Vec<(u64, Message)>,
    counted: Vec<(u64, Message)>,
    next: u32,
}

/// A link that was built: where packets enter it, and where they leave it.
#[derive(Clone, Debug)]
struct Built {
    entry: Device,
    exit: Device,
}

/// The orders of a run of `net`.
///
/// # Errors
/// The guest cannot have this network: the text says why.
pub fn orders(net: &Network, seed: u64) -> Result<Orders, String> {
    orders_with(net, seed, 0, None)
}

/// As [`orders`], for a run with a capture: the guest also records the first `snap` bytes of each packet, at its arrival at
/// the first link under study and when it leaves the network.
///
/// # Errors
/// As for [`orders`].
pub(crate) fn orders_with_capture(net: &Network, seed: u64, snap: u32) -> Result<Orders, String> {
    orders_with(net, seed, snap, None)
}

/// As [`orders`], with a link that is compared with another. It gets a copy of every datagram of the first pair of
/// routes at the time at which the datagram enters the network.
///
/// # Errors
/// As for [`orders`].
pub fn orders_of_twins(net: &Network, seed: u64, twin: &Twin) -> Result<Orders, String> {
    orders_with(net, seed, 0, Some(twin))
}

fn orders_with(net: &Network, seed: u64, snap: u32, twin: Option<&Twin>) -> Result<Orders, String> {
    let zero = twin.map_or(ZERO, |twin| twin.zero);
    if let Some(obstacle) = obstacle(net) {
        return Err(obstacle);
    }
    let mut builder = Builder {
        net,
        seed,
        zero,
        snap,
        twin,
        messages: Vec::new(),
        queues: Vec::new(),
        changes: Vec::new(),
        counted: Vec::new(),
        next: 10,
    };
    let addressed = Addressed::new(net);
    let routes = &addressed.routes;
    let any_datagrams = routes.keys().any(|route| route.datagrams);
    let (client, from_client) = builder.end("c", "x", None)?;
    let (from_server, server) = builder.end("y", "s", Some(SERVERS_DESCRIPTOR))?;
    let datagrams = if any_datagrams { Some(builder.end("u", "v", None)?) } else { None };
    for device in [&from_client, &from_server] {
        let flows = (PORTS, net.flows.len());
        builder.messages.push(qdiscs::edge(device, (ROOT, handle(1, 0)), false, flows, (zero, snap)));
    }
    if let Some((device, _)) = &datagrams {
        builder.messages.push(qdiscs::release_at_times(device));
    }
    builder.links(routes, (&from_client, &from_server, datagrams.as_ref().map(|pair| &pair.1)))?;
    builder.messages.extend(addressed.messages((&client, &server, datagrams.as_ref().map(|pair| &pair.0))));
    builder.changes.sort_by_key(|change| change.0);
    let plain = vec![(CLIENTS, client.name.clone()), (SERVERS, server.name.clone())];
    let orders = common_orders(net, seed, (&addressed, "u0"), builder.messages, plain);
    Ok(Orders { zero, changes: builder.changes, counted: builder.counted, ..orders })
}

/// Settings of the guest's kernel. Its computer is infinitely fast: many packets can wait for a device at one time. The
/// receive buffer has its full size from the start, so that the window of the scenario limits, not that of a host: Linux
/// begins with 128 KB, and lets it grow more slowly than BBR's window when many packets are lost.
fn settings() -> Vec<(u64, String, String)> {
    let all = [
        ("net/ipv4/tcp_wmem", "4096 262144 16777216"),
        ("net/ipv4/tcp_rmem", "4096 16777216 16777216"),
        ("net/ipv4/tcp_no_metrics_save", "1"),
    ];
    let both = |(path, content): (&str, &str)| {
        [CLIENTS, SERVERS].map(|namespace| (namespace, format!("/proc/sys/{path}"), content.to_string()))
    };
    let mut settings: Vec<_> = all.into_iter().flat_map(both).collect();
    for (path, content) in [("net/core/netdev_max_backlog", "1000000"), ("net/ipv4/tcp_mem", "100000 150000 200000")] {
        settings.push((CLIENTS, format!("/proc/sys/{path}"), content.to_string()));
    }
    settings
}

/// Why the guest cannot have this network; `None` if it can.
pub fn obstacle(net: &Network) -> Option<String> {
    let of_link = |link: &LinkSpec| match linux_qdisc(link).map(|words| tc::check(&words)) {
        Some(Err(why)) => Some(format!("{}: {why}", link.name)),
        _ => None,
    };
    let of_rate = |link: &LinkSpec| match (&link.lane.conditions.schedule, &link.lane.conditions.levels) {
        (Some(schedule), _) if matches!(**schedule, Schedule::Trace(_)) => {
            Some(format!("{}: traces of delivery times are not supported", link.name))
        }
        _ => None,
    };
    let of_delay = |link: &LinkSpec| {
        (!link.lane.conditions.delay.is_constant()).then(|| format!("{}: variable delays are not supported", link.name))
    };
    let studied = net.links.iter().filter(|link| link.lane.study).count();
    let many = (studied > 200).then(|| format!("{studied} links under study; the maximum is 200"));
    traffic::obstacle(net).or(many).or_else(|| {
        net.links.iter().find_map(|link| of_link(link).or_else(|| of_rate(link)).or_else(|| of_delay(link)))
    })
}

impl Builder<'_> {
    fn device(&mut self, name: String, namespace: u64) -> Device {
        self.next += 1;
        Device { namespace, index: self.next, name }
    }

    /// Creates a pair of devices at the edge of the network.
    fn end(&mut self, first: &str, second: &str, servers: Option<u32>) -> Result<(Device, Device), String> {
        let namespace = if servers.is_some() { SERVERS } else { CLIENTS };
        let pair = (self.device(format!("{first}0"), CLIENTS), self.device(format!("{second}0"), namespace));
        self.messages.extend(netlink::pair(&pair.0, &pair.1, servers));
        Ok(pair)
    }

    /// Creates a device inside of the network.
    fn inner(&mut self, name: String) -> Device {
        let device = self.device(name, CLIENTS);
        self.messages.push(netlink::link(&device));
        device
    }

    /// Builds the links of all routes, and sends packets from each to the next.
    fn links(
        &mut self,
        routes: &BTreeMap<Route, usize>,
        (from_client, from_server, from_datagrams): (&Device, &Device, Option<&Device>),
    ) -> Result<(), String> {
        let net = self.net;
        let paths: Vec<&[LinkId]> =
            routes.keys().flat_map(|route| [route.forward, route.back].map(|route| &*net.routes[route])).collect();
        let firsts: Vec<LinkId> = paths.iter().map(|path| path[0]).collect();
        let joined = joined(net, &paths);
        let mut built: BTreeMap<LinkId, Built> = BTreeMap::new();
        let mut study = 0;
        for (id, link) in net.links.iter().enumerate() {
            let number = if link.lane.study { study } else { NOT_STUDIED };
            study += u32::from(link.lane.study);
            let is_used = paths.iter().any(|path| path.contains(&id)) || link.lane.study;
            if is_used && !joined.values().any(|next| *next == id) {
                built.insert(id, self.link((id, link), number, firsts.contains(&id), joined.get(&id).copied())?);
            }
        }
        // For each device at which packets arrive: the next device by destination.
        let mut next: BTreeMap<u32, (Device, BTreeMap<u32, Device>)> = BTreeMap::new();
        let mut send = |from: &Device, ip: u32, to: &Device| {
            let entry = next.entry(from.index).or_insert_with(|| (from.clone(), BTreeMap::new()));
            entry.1.insert(ip, to.clone());
        };
        for (route, pair) in routes {
            let (client, server) = addresses(*pair);
            let start = if route.datagrams { from_datagrams.unwrap_or(from_client) } else { from_client };
            for (ip, links, start, end) in [
                (server, &net.routes[route.forward], start, from_server),
                (client, &net.routes[route.back], from_server, from_client),
            ] {
                let mut from = start;
                for link in links.iter().filter_map(|link| built.get(link)) {
                    send(from, ip, &link.entry);
                    from = &link.exit;
                }
                send(from, ip, end);
            }
        }
        let twin = self.twin.and_then(|twin| built.get(&twin.link)).map(|link| link.entry.clone());
        for (from, to) in next.into_values() {
            // A link that is compared with another gets copies of datagrams.
            let copies = twin.as_ref().filter(|_| from_datagrams == Some(&from));
            self.messages.push(netlink::forward(&from, &to, copies));
        }
        self.messages.append(&mut self.queues);
        Ok(())
    }

    /// Builds a link. `is_first`: packets enter the network here. `joined`: the next link, if one netem stands for it
    /// and for the delay of this one.
    fn link(
        &mut self,
        (id, link): (LinkId, &LinkSpec),
        number: u32,
        is_first: bool,
        joined: Option<LinkId>,
    ) -> Result<Built, String> {
        let lane = &link.lane;
        let entry = self.inner(format!("a{id}"));
        let mut parent = ROOT;
        if is_first {
            let flows = self.net.flows.len();
            self.queues.push(qdiscs::edge(&entry, (ROOT, handle(1, 0)), true, (PORTS, flows), (self.zero, 0)));
            parent = handle(1, 1);
        }
        let loss = lane.conditions.loss.map(loss);
        let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(id as u64);
        let delay = lane.delay.nanos();
        if is_netem_alone(link) {
            let at = At { device: &entry, parent, handle: handle(2, 0) };
            let fill = |request: &mut Request| netlink::netem(request, delay, rate(lane), buffer(link), None, seed);
            self.queues.push(netlink::qdisc(at, "netem", fill));
            return Ok(Built { exit: entry.clone(), entry });
        }
        let at = At { device: &entry, parent, handle: handle(2, 0) };
        self.rates(link, at)?;
        let queue = Queue {
            link,
            number,
            seed: self.seed,
            start: self.zero,
            sample: self.net.sample.nanos(),
            flows: &self.net.flows,
            ports: PORTS,
            snap: if number == 0 { self.snap } else { 0 },
            twin: self.twin.filter(|twin| twin.link == id),
        };
        self.queues.extend(qdiscs::queue(&queue, &entry, handle(2, 1))?);
        if delay == 0 && loss.is_none() {
            return Ok(Built { exit: entry.clone(), entry });
        }
        let wire = self.inner(format!("a{id}w"));
        let at = At { device: &wire, parent: ROOT, handle: handle(1, 0) };
        // A constant delay before the transmission or after it gives the same times.
        let next = joined.map(|next| &self.net.links[next]);
        let delay = delay + next.map_or(0, |next| next.lane.delay.nanos());
        let limit = on_the_wire(lane).saturating_add(next.map_or(0, buffer));
        let rate = next.map_or(0, |next| rate(&next.lane));
        let fill = |request: &mut Request| netlink::netem(request, delay, rate, limit, loss, seed);
        self.queues.push(netlink::qdisc(at, "netem", fill));
        if loss.is_some() && lane.study {
            self.counted.push((u64::from(number), netlink::counters(at)));
        }
        self.messages.push(netlink::forward(&entry, &BTreeMap::from([(0, wire.clone())]), None));
        Ok(Built { entry, exit: wire })
    }

    /// The transmitter of a link, and the changes of its rate. A comparison of qdiscs has tbf(8).
    fn rates(&mut self, link: &LinkSpec, at: At<'_>) -> Result<(), String> {
        if self.twin.is_some() {
            let bytes = (link.lane.rate.0 / 8).max(1);
            let frame = self.net.flows.iter().map(|flow| flow.packet).max().unwrap_or(1514).max(100);
            // The bucket holds one packet, and what a late timer lets through.
            let late = u128::from(bytes) * u128::from(TIMER_LATE) / 1_000_000_000;
            let bucket = u32::from(frame) + late as u32 + 1;
            self.queues.push(netlink::qdisc(at, "tbf", |request| netlink::tbf(request, bytes, bucket)));
            return Ok(());
        }
        let conditions = &link.lane.conditions;
        let steps = match (&conditions.schedule, &conditions.levels) {
            (Some(schedule), _) => Some(schedule.as_ref().clone()),
            (None, Some(levels)) => {
                let rng = forebay_aqm::base::rng::Rng::stream(self.seed, &format!("rate/{}", link.name));
                Some(levels.draw(rng, Instant::ZERO + self.net.duration))
            }
            (None, None) => None,
        };
        let steps = match steps {
            Some(Schedule::Steps(steps)) => steps,
            Some(Schedule::Trace(_)) => return Err(format!("{}: a trace of delivery times", link.name)),
            None => vec![(Instant::ZERO, link.lane.rate)],
        };
        for (from, rate) in steps {
            let set = |request: &mut Request| qdiscs::line(request, rate);
            if from == Instant::ZERO {
                self.queues.push(netlink::qdisc(at, qdiscs::LINE, set));
            } else {
                self.changes.push((from.nanos(), netlink::change(at, qdiscs::LINE, set)));
            }
        }
        Ok(())
    }
}

/// Is a link netem alone?
fn is_netem_alone(link: &LinkSpec) -> bool {
    let (lane, conditions) = (&link.lane, &link.lane.conditions);
    let is_constant = conditions.loss.is_none() && conditions.schedule.is_none() && conditions.levels.is_none();
    !lane.study && is_constant && lane.is_plain() && packets(lane.limit, link.mean_packet.0) >= AMPLE
}

/// Bytes per second.
fn rate(lane: &Lane) -> u64 {
    (lane.rate.0 / 8).max(1)
}

/// Largest number of packets on the wire.
fn on_the_wire(lane: &Lane) -> u32 {
    let bytes = u128::from(lane.delay.nanos()) * u128::from(rate(lane)) / 1_000_000_000;
    (bytes / 60 + 1000).min(1 << 30) as u32
}

/// Packets in the queue and on the wire of a link that is netem alone.
fn buffer(link: &LinkSpec) -> u32 {
    packets(link.lane.limit, link.mean_packet.0).saturating_add(on_the_wire(&link.lane))
}

/// For a link with a delay: the next link, if all packets go there, no others do, and it is netem alone.
fn joined(net: &Network, paths: &[&[LinkId]]) -> BTreeMap<LinkId, LinkId> {
    let mut neighbours: [BTreeMap<LinkId, BTreeSet<Option<LinkId>>>; 2] = Default::default();
    for path in paths {
        for (at, link) in path.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| path.get(at));
            for (map, neighbour) in neighbours.iter_mut().zip([before, path.get(at + 1)]) {
                map.entry(*link).or_default().insert(neighbour.copied());
            }
        }
    }
    let [before, after] = neighbours;
    let only = |map: &BTreeMap<LinkId, BTreeSet<Option<LinkId>>>, link: &LinkId| match map.get(link) {
        Some(all) if all.len() == 1 => all.iter().copied().next().flatten(),
        _ => None,
    };
    let next = |link: &LinkId| {
        let next = only(&after, link)?;
        let has_wire = !is_netem_alone(&net.links[*link]) && net.links[*link].lane.delay > Span::ZERO;
        let is_joined = has_wire && only(&before, &next) == Some(*link) && is_netem_alone(&net.links[next]);
        is_joined.then_some((*link, next))
    };
    after.keys().filter_map(next).collect()
}

/// A buffer in packets.
pub(crate) fn packets(limit: Limit, mean_packet: u64) -> u32 {
    match limit {
        Limit::Packets(count) => count,
        Limit::Bytes(bytes) => u32::try_from(bytes / mean_packet.max(1)).unwrap_or(u32::MAX).max(1),
    }
}

/// Losses as netem takes them.
fn loss(model: LossModel) -> Loss {
    let share = |probability: f64| (probability * f64::from(u32::MAX)).round() as u32;
    match model {
        LossModel::Bernoulli(probability) => Loss::Plain(share(probability)),
        LossModel::GilbertElliott { p, r, bad, good } => {
            Loss::GilbertElliott([share(p), share(r), share(1.0 - bad), share(good)])
        }
    }
}
