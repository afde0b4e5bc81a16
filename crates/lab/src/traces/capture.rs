//! Writes the capture of a simulated link as pcapng (draft-ietf-opsawg-pcapng): IP packets with their headers, without
//! payload; drops and losses have comments.

use forebay_aqm::base::packet::Proto;
use forebay_sim::network::{FlowSpec, LinkId, Network};
use forebay_sim::segment::{Kind, Segment};
use forebay_sim::world::{Captured, Seen};

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const ENHANCED: u32 = 6;
/// Link type of IP packets without a link-layer header.
const RAW: u16 = 101;
/// Bytes of IP and transport headers that are kept at most.
const SNAP: u32 = 64;
/// Options of blocks: end, comment, name of an interface, its description, its time resolution, the program that wrote
/// the file.
const END: u16 = 0;
const COMMENT: u16 = 1;
const NAME: u16 = 2;
const DESCRIPTION: u16 = 3;
const RESOLUTION: u16 = 9;
const PROGRAM: u16 = 4;

/// The link of a capture.
pub struct Place<'a> {
    /// The network.
    pub net: &'a Network,
    /// The link.
    pub link: LinkId,
    /// Name of the discipline; comments on drops have it.
    pub discipline: &'a str,
}

/// A file with these packets.
pub fn pcapng(place: &Place<'_>, packets: &[Captured]) -> Vec<u8> {
    let mut out = Vec::new();
    let program = format!("forebay {}", env!("CARGO_PKG_VERSION"));
    block(&mut out, SECTION, |out| {
        [BYTE_ORDER, 1, u32::MAX, u32::MAX].iter().for_each(|word| out.extend(word.to_le_bytes()));
        option(out, PROGRAM, program.as_bytes());
        option(out, END, &[]);
    });
    let name = &place.net.links[place.link].name;
    block(&mut out, INTERFACE, |out| {
        out.extend(u32::from(RAW).to_le_bytes());
        out.extend(SNAP.to_le_bytes());
        option(out, NAME, name.as_bytes());
        option(
            out,
            DESCRIPTION,
            format!("departures of {name} ({}), and packets in the other direction", place.discipline).as_bytes(),
        );
        option(out, RESOLUTION, &[9]);
        option(out, END, &[]);
    });
    for packet in packets {
        let headers = headers(&place.net.flows[packet.segment.flow as usize], packet);
        block(&mut out, ENHANCED, |out| {
            let nanos = packet.at.nanos();
            let words = [0, (nanos >> 32) as u32, nanos as u32, headers.len() as u32, u32::from(packet.segment.len)];
            words.iter().for_each(|word| out.extend(word.to_le_bytes()));
            out.extend(&headers);
            pad(out);
            let comment = match packet.what {
                Seen::Dropped => format!("dropped by {} at {name}", place.discipline),
                Seen::Lost => format!("lost on the wire behind {name}"),
                Seen::Sent | Seen::Back => return,
            };
            option(out, COMMENT, comment.as_bytes());
            option(out, END, &[]);
        });
    }
    out
}

/// A block: its type, its length, its body and its length again.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    body(&mut inner);
    pad(&mut inner);
    let length = (inner.len() as u32 + 12).to_le_bytes();
    out.extend(kind.to_le_bytes());
    out.extend(length);
    out.extend(inner);
    out.extend(length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out);
}

/// Zeros up to a multiple of four bytes.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
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
