//! The qdisc of Forebay in its roles, and qdiscs of Linux with tc(8)'s parameters.

use forebay_agent::Message;
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::network::{FlowSpec, LinkSpec};

use crate::netlink::{self, At, Device, ROOT, Request, handle};
use crate::network::{linux_qdisc, packets};
use crate::tc;

/// Roles, and numbers of options, as in `crates/qdisc/kernel/sch_forebay.c`.
const DISCIPLINE: u32 = 0;
const CHILD: u32 = 1;
const ENTER: u32 = 2;
const EXIT: u32 = 3;
const ROLE: u16 = 1;
const LINK: u16 = 2;
const SPEC: u16 = 3;
const NAME: u16 = 4;
const SEED: u16 = 5;
const RATE: u16 = 6;
const LIMIT: u16 = 7;
const IN_BYTES: u16 = 8;
const MEAN: u16 = 9;
const START: u16 = 10;
const SAMPLE: u16 = 11;
const PROBES: u16 = 12;
const FIRST_PORT: u16 = 13;
const PAIRS: u16 = 14;
const CLASSES: u16 = 15;
const DRAWS: u16 = 16;
const QUEUES: u16 = 17;
const HOSTS: u16 = 18;
const SNAP: u16 = 19;

/// Largest number of internal variables that are recorded.
const MOST_PROBES: usize = 32;

fn word(request: &mut Request, kind: u16, value: u32) {
    request.put(kind, &value.to_le_bytes());
}

fn long(request: &mut Request, kind: u16, value: u64) {
    request.put(kind, &value.to_le_bytes());
}

/// The edge of the network at a device: packets enter it (before a child), or leave it. `snap`: number of bytes that are
/// recorded of each packet that leaves the network; 0 without a capture.
pub(crate) fn edge(
    device: &Device,
    (parent, own): (u32, u32),
    enter: bool,
    (ports, flows): (u16, usize),
    (start, snap): (u64, u32),
) -> Message {
    netlink::qdisc(At { device, parent, handle: own }, "forebay", |request| {
        word(request, ROLE, if enter { ENTER } else { EXIT });
        word(request, LINK, 254);
        long(request, START, start);
        word(request, FIRST_PORT, u32::from(ports));
        request.put(PAIRS, &vec![0; 4 * flows]);
        request.put(CLASSES, &vec![0; flows]);
        if snap > 0 {
            word(request, SNAP, snap);
        }
    })
}

/// Name of the transmitter of a link (`crates/qdisc/kernel/sch_forebay_line.c`).
pub(crate) const LINE: &str = "forebay_line";

/// Options of the transmitter of a link.
pub(crate) fn line(request: &mut Request, rate: Rate) {
    long(request, 1, rate.0);
}

/// Releases each datagram at the time that its sender gave.
pub(crate) fn release_at_times(device: &Device) -> Message {
    // fq: limit, limit of a flow, quantum, first quantum, timer slack, horizon in us.
    let options = [(1, 1 << 20), (2, 1 << 20), (3, 1 << 20), (4, 1 << 20), (13, 0), (14, 1_000_000_000)];
    netlink::qdisc(At { device, parent: ROOT, handle: handle(1, 0) }, "fq", |request| {
        options.into_iter().for_each(|(kind, value): (u16, u32)| word(request, kind, value));
    })
}

/// How the packets of a flow get their class or queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Classes {
    /// A filter: the number of the flow, from 0.
    FromZero,
    /// A filter: the number of the flow, from 1.
    FromOne,
    /// As `FromOne`; each is a class of DRR with a quantum of 1514 bytes and a pfifo of 20 packets.
    Drr,
    /// The hash of the packet: that of the queue with the number of the flow, among this number of queues.
    Hash(u32),
}

/// A link with a qdisc of Linux that is compared with a discipline of Forebay at another link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Twin {
    /// The link. It gets a copy of every datagram of the first pair of routes.
    pub link: forebay_sim::network::LinkId,
    /// The qdisc, in the words of tc(8).
    pub words: String,
    /// Name of the discipline's link, if the qdisc draws the same random numbers; `None`: it draws the kernel's.
    pub draws_of: Option<String>,
    /// Classes or queues of flows; `None`: those of the qdisc itself.
    pub classes: Option<Classes>,
    /// Time on the guest's clock at which the run starts, ns. At least 2 s.
    pub zero: u64,
}

/// DRR's quantum, an Ethernet frame, and the buffer of a class in packets.
const QUANTUM: u32 = 1514;
const CLASS_LIMIT: u32 = 20;

/// The filter of a qdisc, and its classes.
fn classify(qdisc: At<'_>, classes: Classes, ports: u16, flows: usize) -> Vec<Message> {
    if let Classes::Hash(_) = classes {
        return Vec::new();
    }
    let mut all = vec![netlink::class_by_port(qdisc, ports, u32::from(classes != Classes::FromZero))];
    if classes == Classes::Drr {
        for flow in 1..=flows as u16 {
            all.push(netlink::class(qdisc, flow, "drr", |request| word(request, 1, QUANTUM)));
            let parent = qdisc.handle | u32::from(flow);
            let fifo = At { device: qdisc.device, parent, handle: handle(16 + flow, 0) };
            all.push(netlink::qdisc(fifo, "pfifo", |request| request.raw(&CLASS_LIMIT.to_le_bytes())));
        }
    }
    all
}

/// The queue of a link.
pub(crate) struct Queue<'a> {
    /// The link.
    pub(crate) link: &'a LinkSpec,
    /// Its number in records.
    pub(crate) number: u32,
    /// Seed of the run.
    pub(crate) seed: u64,
    /// Time at which the run starts, ns on the guest's clock.
    pub(crate) start: u64,
    /// Time between samples of internal variables, ns.
    pub(crate) sample: u64,
    /// The flows of the network.
    pub(crate) flows: &'a [FlowSpec],
    /// Port of the first flow.
    pub(crate) ports: u16,
    /// Number of bytes that are recorded of each packet when it arrives; 0 without a capture.
    pub(crate) snap: u32,
    /// The qdisc of Linux that is compared with a discipline here.
    pub(crate) twin: Option<&'a Twin>,
}

/// The qdiscs of a queue under a class `parent` of a device.
pub(crate) fn queue(queue: &Queue<'_>, device: &Device, parent: u32) -> Result<Vec<Message>, String> {
    let Queue { link, number, seed, start, sample, flows, ports, snap, twin } = queue;
    let at = At { device, parent, handle: handle(3, 0) };
    let lane = &link.lane;
    let pairs: Vec<u8> = flows.iter().flat_map(|flow| flow.pair.to_le_bytes()).collect();
    let classes: Vec<u8> = flows.iter().map(|flow| flow.class).collect();
    // The ids of hosts have 16 bits, as in the simulator.
    let hosts: Vec<u8> =
        flows.iter().flat_map(|flow| [flow.from as u16, flow.to as u16]).flat_map(u16::to_le_bytes).collect();
    let common = |request: &mut Request, role: u32| {
        word(request, ROLE, role);
        word(request, LINK, *number);
        long(request, START, *start);
        word(request, FIRST_PORT, u32::from(*ports));
        request.put(PAIRS, &pairs);
        request.put(CLASSES, &classes);
        request.put(HOSTS, &hosts);
        if *snap > 0 {
            word(request, SNAP, *snap);
        }
    };
    match twin.map(|twin| twin.words.clone()).or_else(|| linux_qdisc(link)) {
        Some(words) => {
            let limit = packets(lane.limit, link.mean_packet.0);
            let own = netlink::qdisc(at, "forebay", |request| {
                common(request, CHILD);
                long(request, LIMIT, u64::from(limit));
                if let Some(draws_of) = twin.and_then(|twin| twin.draws_of.as_ref()) {
                    request.put(NAME, draws_of.as_bytes());
                    long(request, SEED, *seed);
                    word(request, DRAWS, 1);
                }
                if let Some(Classes::Hash(queues)) = twin.and_then(|twin| twin.classes) {
                    word(request, QUEUES, queues);
                }
            });
            let child = At { device, parent: handle(3, 1), handle: handle(4, 0) };
            let mut all = vec![own, tc::qdisc(child, &words, limit)?];
            if let Some(classes) = twin.and_then(|twin| twin.classes) {
                all.extend(classify(child, classes, *ports, flows.len()));
            }
            Ok(all)
        }
        None => {
            let probes = lane.discipline.probes().len().min(MOST_PROBES) as u32;
            let (limit, in_bytes) = match lane.limit {
                Limit::Packets(count) => (u64::from(count), 0),
                Limit::Bytes(bytes) => (bytes, 1),
            };
            let own = netlink::qdisc(at, "forebay", |request| {
                common(request, DISCIPLINE);
                request.put(SPEC, lane.discipline.canonical().as_bytes());
                request.put(NAME, link.name.as_bytes());
                long(request, SEED, *seed);
                long(request, RATE, lane.rate.0);
                long(request, LIMIT, limit);
                word(request, IN_BYTES, in_bytes);
                word(request, MEAN, link.mean_packet.0 as u32);
                if lane.study {
                    long(request, SAMPLE, *sample);
                    word(request, PROBES, probes);
                }
            });
            Ok(vec![own])
        }
    }
}
