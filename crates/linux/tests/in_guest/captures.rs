//! Captures of runs: real headers, every packet and every drop.

use std::sync::atomic::AtomicBool;

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Limit;
use forebay_linux::capture::Capture;
use forebay_linux::run::{self, Finished};
use forebay_linux::{network, outside};
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::draw::Draw;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{FlowSpec, Network, Traffic};
use forebay_sim::source::Pattern;
use forebay_sim::tcp::{TcpOptions, Variant};
use forebay_sim::world::{IpPacket, SNAP, Seen};

use crate::{flow, kernel, network as small, run as plain};

/// Four connections with ECN from the first moment on, which fill a short queue of this discipline or qdisc of Linux.
fn net(discipline: &str) -> Network {
    let options = TcpOptions { variant: Variant::CUBIC, ecn: discipline.contains("ecn"), ..TcpOptions::default() };
    let flows = (0..4).map(|number| flow(&format!("ftp/{number}"), Traffic::Tcp(options))).collect();
    let mut net = Network { flows, warmup: Span::ZERO, ..small("droptail", 8) };
    net.links[0].lane.limit = Limit::Packets(40);
    net.links[0].lane.discipline = match crate::words::parse(discipline) {
        Some(spec) => spec.unwrap(),
        None => forebay_aqm::Spec::parse(discipline).unwrap(),
    };
    net
}

/// Files that each open a connection, fetches, datagrams, a bulk flow in each direction, losses on the wire, a second link
/// under study: over a short queue of this qdisc of Linux.
fn mixed(words: &str) -> Network {
    let files = |request| {
        let (size, think) = (Draw::Constant(60_000.0), Draw::Exponential(0.1));
        let files = Files { size, think, count: None, fresh: true, request, opening: Opening::Handshake };
        Traffic::Application(TcpOptions::default(), Work::Files(files))
    };
    let mut net = net(&format!("linux:{words}"));
    for number in 0..16 {
        net.flows.push(flow(&format!("push/{number}"), files(None)));
        net.flows.push(flow(&format!("pull/{number}"), files(Some(200))));
    }
    net.flows.push(flow("cbr", Traffic::Datagrams(Pattern::Constant { every: Span::from_millis(5) })));
    net.flows.push(FlowSpec { forward: 1, back: 0, ..net.flows[0].clone() });
    net.links[0].lane.conditions.loss = Some(LossModel::Bernoulli(0.01));
    net.links[1].lane.study = true;
    net
}

/// The number of packets to which this happened.
fn count(packets: &[IpPacket], what: Seen) -> u64 {
    packets.iter().filter(|packet| packet.what == what).count() as u64
}

/// Is the checksum of the IP header right?
fn has_checksum(packet: &IpPacket) -> bool {
    let words = packet.kept[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// Has a segment a SACK option?
fn has_blocks(packet: &IpPacket) -> bool {
    let header = usize::from(packet.kept[32] >> 4) * 4;
    let mut options = &packet.kept[40..20 + header];
    loop {
        match options {
            [0, ..] | [] | [_] => return false,
            [1, rest @ ..] => options = rest,
            [5, ..] => return true,
            [_, long, ..] => options = &options[usize::from(*long)..],
        }
    }
}

fn check(name: &str, found: Finished) {
    let link = &found.outcome.links[0];
    let (packets, is_complete) = found.capture.unwrap().finish().unwrap();
    assert!(is_complete, "{name}");
    assert!(packets.is_sorted_by_key(|packet| packet.at), "{name}");
    assert_eq!(count(&packets, Seen::Sent), link.served_pkts, "{name}: sent");
    let drops = link.dropped_early + link.dropped_overflow;
    assert_eq!(count(&packets, Seen::Dropped), drops, "{name}: drops");
    let marked = |packet: &&IpPacket| packet.what == Seen::Sent && packet.kept[1] & 3 == 3;
    assert_eq!(packets.iter().filter(marked).count() as u64, link.marked, "{name}: marks");
    assert!(drops > 0 && (link.marked > 0) == name.contains("ecn"), "{name}: {drops} drops, {} marks", link.marked);
    assert!(packets.iter().all(has_checksum), "{name}: checksums");
    let acknowledgements = || packets.iter().filter(|packet| packet.what == Seen::Back);
    assert!(acknowledgements().count() as u64 > link.served_pkts / 3, "{name}");
    assert!(acknowledgements().any(has_blocks), "{name}: SACK");
    let is_whole = |packet: &IpPacket| packet.kept.len() == SNAP.min(packet.length as usize);
    assert!(packets.iter().all(is_whole), "{name}: lengths");
}

#[test]
fn capture_has_every_packet_of_linux() {
    let Some(kernel) = kernel() else { return };
    let stop = AtomicBool::new(false);
    for name in ["droptail", "codel ecn=true", "linux:codel", "linux:fq_codel ecn", "linux:pie"] {
        let net = net(name);
        assert!(network::obstacle(&net).is_none());
        let found = run::run_with(&kernel, &net, (1, 0, &stop), Capture::new(&net, 1 << 20)).unwrap();
        let without = plain(&kernel, &net, 1).unwrap();
        assert_eq!(found.outcome.fingerprint, without.outcome.fingerprint, "{name}: a capture changes nothing");
        check(name, found);
    }
}

#[test]
fn every_qdisc_says_which_packets_it_drops() {
    let Some(kernel) = kernel() else { return };
    let qdiscs =
        ["cake bandwidth 9mbit", "choke limit 30 bandwidth 10mbit", "codel", "fq", "fq_codel", "fq_pie", "sfq"];
    for words in qdiscs {
        let net = mixed(words);
        let found = run::run_with(&kernel, &net, (2, 0, &AtomicBool::new(false)), Capture::new(&net, 1 << 20)).unwrap();
        let link = &found.outcome.links[0];
        let (packets, _) = found.capture.unwrap().finish().unwrap_or_else(|why| panic!("{words}: {why}"));
        let drops = link.dropped_early + link.dropped_overflow;
        assert_eq!(count(&packets, Seen::Sent), link.served_pkts, "{words}: sent");
        assert_eq!(count(&packets, Seen::Dropped), drops, "{words}: drops");
        assert!(drops > 0, "{words}");
    }
}

#[test]
fn capture_has_every_packet_of_links_outside() {
    let Some(kernel) = kernel() else { return };
    let net = net("droptail");
    let stop = AtomicBool::new(false);
    check("droptail", outside::run_with(&kernel, &net, (1, 1, &stop), Capture::new(&net, 1 << 20)).unwrap());
    let short = outside::run_with(&kernel, &net, (1, 1, &stop), Capture::new(&net, 100)).unwrap();
    let (packets, is_complete) = short.capture.unwrap().finish().unwrap();
    assert_eq!((packets.len(), is_complete), (100, false));
}
