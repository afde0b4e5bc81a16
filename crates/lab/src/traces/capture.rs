//! The capture of a link as pcapng: IP packets with their headers, without payload; drops and losses have comments.

use forebay_aqm::base::packet::Proto;
use forebay_sim::network::FlowSpec;
use forebay_sim::segment::{Kind, Segment};
use forebay_sim::world::{Captured, IpPacket, SNAP, Seen};

use super::pcapng_writer::{Interface, Writer};

/// Link type of IP packets without a link-layer header.
const RAW: u16 = 101;

/// The link at which packets are captured.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its name.
    pub name: &'a str,
    /// Name of the discipline; comments on drops have it.
    pub discipline: &'a str,
}

/// A file with these packets.
pub fn pcapng(place: Place<'_>, packets: impl Iterator<Item = IpPacket>) -> Vec<u8> {
    let Place { name, discipline } = place;
    let description = format!("departures of {name} ({discipline}), and packets in the other direction");
    let interface = Interface { name, description: &description, link_type: RAW, snap: SNAP as u32 };
    let mut file = Vec::new();
    let write = || {
        let mut out = Writer::new(&mut file, &[interface])?;
        for packet in packets {
            let comment = match packet.what {
                Seen::Dropped => format!("dropped by {discipline} at {name}"),
                Seen::Lost => format!("lost on the wire behind {name}"),
                Seen::Arrived | Seen::Sent | Seen::Back => String::new(),
            };
            out.packet(0, packet.at.nanos(), (&packet.kept, packet.length), &comment)?;
        }
        out.finish()
    };
    // Writing to memory does not fail.
    let _: std::io::Result<()> = write();
    file
}

/// The bytes of a simulated packet of a flow: its headers.
pub fn ip_packet(flow: &FlowSpec, packet: &Captured) -> IpPacket {
    let Captured { at, segment, what, .. } = packet;
    let mut kept = headers(flow, packet);
    kept.truncate(SNAP);
    IpPacket { at: *at, length: u32::from(segment.len), kept, what: *what }
}

/// The IP and transport headers of a packet, cut to its length.
fn headers(flow: &FlowSpec, packet: &Captured) -> Vec<u8> {
    let Captured { segment, tag, .. } = packet;
    let is_tcp = tag.proto == Proto::Tcp;
    let mut ip = vec![0x45, tag.dscp << 2 | segment.mark.ecn().bits()];
    ip.extend(segment.len.to_be_bytes());
    // Identification 0, not to be fragmented, TTL 64.
    ip.extend([0, 0, 0x40, 0, 64, if is_tcp { 6 } else { 17 }, 0, 0]);
    ip.extend(address(tag.hosts.source));
    ip.extend(address(tag.hosts.destination));
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    // A port for each flow; the side that receives data has port 5001.
    let own = 10_000 + (segment.flow % 50_000) as u16;
    let from_receiver = tag.hosts.source == flow.to as u16;
    let ports = if from_receiver { [5001, own] } else { [own, 5001] };
    ports.iter().for_each(|port| ip.extend(port.to_be_bytes()));
    if is_tcp {
        ip.extend(tcp(flow, segment));
    } else {
        ip.extend(segment.len.saturating_sub(20).to_be_bytes());
        ip.extend([0, 0]);
    }
    ip.truncate(usize::from(segment.len));
    ip
}

/// The header of TCP after the ports. Sequence numbers count bytes from 1 on; the checksum is 0.
fn tcp(flow: &FlowSpec, segment: &Segment) -> Vec<u8> {
    let payload = u32::from(flow.packet.saturating_sub(flow.traffic.headers()));
    let (mut sequence, mut acknowledged, mut flags) = (1u32, 1u32, 0x10);
    match segment.mark.kind() {
        Kind::Ack => {
            acknowledged = segment.seq.wrapping_mul(payload).wrapping_add(1);
            flags |= if segment.mark.ece() { 0x40 } else { 0 };
        }
        Kind::Data => {
            sequence = segment.seq.wrapping_mul(payload).wrapping_add(1);
            flags |= if segment.push() { 0x08 } else { 0 };
            flags |= if segment.mark.cwr() { 0x80 } else { 0 };
        }
        Kind::Datagram | Kind::Control => {}
    }
    let mut out = Vec::from(sequence.to_be_bytes());
    out.extend(acknowledged.to_be_bytes());
    // Five words of header, the largest window, no checksum, no urgent data.
    out.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    out
}

/// 10.x.y.z for the host of this number.
fn address(host: u16) -> [u8; 4] {
    let [_, x, y, z] = (u32::from(host) + 1).to_be_bytes();
    [10, x, y, z]
}

/// The checksum of IP (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
