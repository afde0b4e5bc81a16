//! Captures of runs: real headers, every packet and every drop.

use std::sync::atomic::AtomicBool;

use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Limit;
use forebay_linux::capture::{Capture, Captured};
use forebay_linux::run::{self, Finished};
use forebay_linux::{network, outside};
use forebay_sim::network::{Network, Traffic};
use forebay_sim::tcp::{TcpOptions, Variant};
use forebay_sim::world::Seen;

use crate::{flow, kernel, network as small, run as plain};

/// Four connections with ECN from the first moment on, which fill a short queue of this discipline or qdisc of Linux.
fn net(discipline: &str) -> Network {
    let options = TcpOptions { variant: Variant::CUBIC, ecn: discipline.contains("ecn"), ..TcpOptions::default() };
    let flows = (0..4).map(|number| flow(&format!("ftp/{number}"), Traffic::Tcp(options.clone()))).collect();
    let mut net = Network { flows, warmup: Span::ZERO, ..small("droptail", 8) };
    net.links[0].lane.limit = Limit::Packets(40);
    net.links[0].lane.discipline = match crate::words::parse(discipline) {
        Some(spec) => spec.unwrap(),
        None => forebay_aqm::Spec::parse(discipline).unwrap(),
    };
    net
}

/// The number of packets to which this happened.
fn count(packets: &[Captured], what: Seen) -> u64 {
    packets.iter().filter(|packet| packet.what == what).count() as u64
}

/// Is the checksum of the IP header right?
fn has_checksum(packet: &Captured) -> bool {
    let words = packet.kept[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// Has a segment a SACK option?
fn has_blocks(packet: &Captured) -> bool {
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
    let (packets, is_complete) = found.capture.unwrap().finish();
    assert!(is_complete, "{name}");
    assert!(packets.is_sorted_by_key(|packet| packet.at), "{name}");
    assert_eq!(count(&packets, Seen::Sent), link.served_pkts, "{name}: sent");
    let drops = link.dropped_early + link.dropped_overflow;
    // A qdisc of Linux does not tell which packets it drops from its queue. The last drops of a flow are known once a
    // later packet of the flow leaves.
    let dropped = count(&packets, Seen::Dropped);
    let known = if name.starts_with("linux") { drops.saturating_sub(4)..=drops } else { drops..=drops };
    assert!(known.contains(&dropped), "{name}: {dropped} of {drops} drops");
    let marked = |packet: &&Captured| packet.what == Seen::Sent && packet.kept[1] & 3 == 3;
    assert_eq!(packets.iter().filter(marked).count() as u64, link.marked, "{name}: marks");
    assert!(drops > 0 && (link.marked > 0) == name.contains("ecn"), "{name}: {drops} drops, {} marks", link.marked);
    assert!(packets.iter().all(has_checksum), "{name}: checksums");
    let acknowledgements = || packets.iter().filter(|packet| packet.what == Seen::Back);
    assert!(acknowledgements().count() as u64 > link.served_pkts / 3, "{name}");
    assert!(acknowledgements().any(has_blocks), "{name}: SACK");
    let is_whole = |packet: &Captured| packet.kept.len() == 96.min(packet.length as usize);
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
fn capture_has_every_packet_of_links_outside() {
    let Some(kernel) = kernel() else { return };
    let net = net("droptail");
    let stop = AtomicBool::new(false);
    check("droptail", outside::run_with(&kernel, &net, (1, 1, &stop), Capture::new(&net, 1 << 20)).unwrap());
    let short = outside::run_with(&kernel, &net, (1, 1, &stop), Capture::new(&net, 100)).unwrap();
    let (packets, is_complete) = short.capture.unwrap().finish();
    assert_eq!((packets.len(), is_complete), (100, false));
}
