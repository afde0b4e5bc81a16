//! The comparison in the kernel: two lines that get the same packets.

use std::sync::atomic::AtomicBool;

use forebay_agent::Work;
use forebay_aqm::Spec;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::network::{FlowSpec, HostSpec, Lane, Network, Traffic};
use forebay_sim::source::Pattern;

use super::arrivals::{Arrivals, RATE, dscp};
use super::pairs::Pair;
use super::{BUCKET, Fate, OURS, link};
use crate::machine::{self, Fault, SILENT_CPU_S, Start};
use crate::network;
use crate::place::Kernel;
use crate::qdiscs::Twin;
use crate::records::{Event, Kind, Record};
use forebay_sim::network::DATAGRAM_HEADERS;

/// Bytes that `crates/linux/src/network.rs` adds to the longest packet for tbf's bucket.
const ADDED: u64 = 3;
/// Links: ours, the way back, and that of Linux.
const OUR_LINK: usize = 0;
const LINUX_LINK: usize = 2;
/// Records have the indexes of the links under study.
const RECORDS: [u8; 2] = [1, 0];

/// The fates of the packets at a link, in order of arrival.
fn at_link(events: &[Event], link: u8) -> Vec<Fate> {
    let mut fates: Vec<Fate> = Vec::new();
    for event in events.iter().filter(|event| event.link == link) {
        match event.kind {
            Kind::Arrived => fates.push(Fate { arrived: event.at, departed: None }),
            Kind::Departed => fates[event.id as usize].departed = Some((event.at, event.ecn == 3)),
            _ => {}
        }
    }
    fates
}

/// Two lines with the same rate, and a way back.
fn twins(spec: &Spec, arrivals: &Arrivals) -> Network {
    let lane =
        |discipline: Spec, study| Lane { discipline, study, ..Lane::plain(Rate(RATE), Span::ZERO, link().limit) };
    let plain = || Spec::parse("droptail").unwrap_or_else(|_| spec.clone());
    let mean = link().mean_packet.0 as u16;
    let back = Lane { study: false, ..Lane::plain(Rate(RATE), Span::ZERO, Limit::Packets(1000)) };
    let links = vec![
        lane(spec.clone(), true).link(OURS, mean),
        back.link("back", mean),
        lane(plain(), true).link("linux", mean),
    ];
    let host = |name: &str| HostSpec { name: name.to_string(), jitter: Span::ZERO };
    let duration = Span::from_nanos(arrivals.end());
    let flow = |number: usize, ecn: Ecn| FlowSpec {
        group: 0,
        name: format!("udp/{number}"),
        from: 0,
        to: 1,
        forward: 0,
        back: 1,
        start: Instant::ZERO,
        stop: None,
        ecn,
        traffic: Traffic::Datagrams(Pattern::Constant { every: duration }),
        packet: (BUCKET - ADDED) as u16,
        class: 0,
        dscp: dscp(number),
        bundle: 0,
        pair: 0,
        marker: None,
    };
    let mut flows: Vec<FlowSpec> =
        arrivals.codepoints.iter().enumerate().map(|(number, ecn)| flow(number, *ecn)).collect();
    // Nothing is sent on it: it makes the second line a part of the network.
    flows.push(FlowSpec { forward: 2, start: Instant::ZERO + duration, ..flow(flows.len(), Ecn::NotEct) });
    Network {
        duration,
        warmup: Span::from_millis(1),
        sample: Span::from_secs(1e6),
        classes: Vec::new(),
        tracks: Vec::new(),
        links,
        hosts: vec![host("a"), host("b")],
        routes: vec![vec![OUR_LINK], vec![1], vec![LINUX_LINK]],
        markers: Vec::new(),
        flows,
    }
}

/// The fates under the qdisc of Linux and under the discipline of Forebay.
pub(super) fn fates(
    kernel: &Kernel,
    pair: &Pair,
    spec: &Spec,
    arrivals: &Arrivals,
    seed: u64,
) -> Result<[Vec<Fate>; 2], Fault> {
    let twin = Twin {
        link: LINUX_LINK,
        words: pair.linux.to_string(),
        draws_of: pair.same_random.then(|| OURS.to_string()),
        classes: pair.classes,
        zero: pair.zero,
    };
    let mut orders = network::orders_of_twins(&twins(spec, arrivals), seed, &twin).map_err(Fault::Failed)?;
    let mut packets = vec![Vec::new(); orders.flows.len()];
    for packet in &arrivals.packets {
        packets[packet.flow as usize].push((packet.at, u64::from(u32::from(packet.len) - DATAGRAM_HEADERS)));
    }
    for (flow, packets) in orders.flows.iter_mut().zip(packets) {
        flow.work = Work::Datagrams(packets);
    }
    let start = Start { seed, core: None, silent_cpu_s: SILENT_CPU_S };
    let mut events = Vec::new();
    let take = |record: Record| match record {
        Record::Event(event) if matches!(event.kind, Kind::Arrived | Kind::Departed) => events.push(event),
        _ => {}
    };
    machine::run(kernel, &orders, start, &AtomicBool::new(false), take)?;
    let fates = RECORDS.map(|link| at_link(&events, link));
    let expected = arrivals.packets.len();
    match fates.iter().find(|fates| fates.len() != expected) {
        Some(other) => Err(Fault::Failed(format!("{} packets arrived, {expected} were sent", other.len()))),
        None => Ok(fates),
    }
}
