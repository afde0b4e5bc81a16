//! Reads from an Ethernet frame what disciplines need, and sets CE marks.
//!
//! - Flow: hash of the five-tuple, 32 bits. Pair: hash of source and destination, 32 bits.
//! - Service class: the upper three bits of the DSCP (class selector, RFC 2474).
//! - Colour: the drop precedence of assured forwarding (RFC 2597). AFx2 and AFx3 are OUT; AFx1 and all other
//!   DSCPs are IN.

use forebay_aqm::base::packet::{Ack, Colour, Ecn, Hosts, Proto};
use forebay_aqm::base::rng::mix;
use forebay_sim::link::Tag;

/// Length of the Ethernet header without VLAN tag, bytes.
const LINK: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// What a discipline sees of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// Hash of the five-tuple.
    pub flow: u32,
    /// Hash of source and destination.
    pub pair: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Service class, 0 to 7.
    pub class: u8,
    /// Colour (IN or OUT), from the drop precedence in the DSCP.
    pub colour: Colour,
    /// Transport protocol; UDP for anything but TCP.
    pub proto: Proto,
    /// 16-bit hashes of source and destination.
    pub hosts: Hosts,
    /// DSCP of the IP header.
    pub dscp: u8,
    /// The acknowledgement that it has, if it is TCP. Its number is in units of 16 bytes.
    pub ack: Ack,
}

impl About {
    /// The properties of the frame that a link of the simulator needs in addition to its packet record (`Segment`).
    pub(crate) const fn tag(&self) -> Tag {
        Tag { pair: self.pair, hosts: self.hosts, ack: self.ack, proto: self.proto, dscp: self.dscp }
    }
}

/// An IP packet: the bytes from its IP header on, by version.
enum Ip<'a> {
    V4(&'a [u8]),
    V6(&'a [u8]),
}

fn ip(frame: &[u8]) -> Option<Ip<'_>> {
    let (kind, rest) = (frame.get(12..LINK)?, frame.get(LINK..)?);
    match kind {
        kind if kind == IPV4 && rest.len() >= 20 => Some(Ip::V4(rest)),
        kind if kind == IPV6 && rest.len() >= 40 => Some(Ip::V6(rest)),
        _ => None,
    }
}

/// A 32-bit hash of all `parts`.
fn hash(parts: &[&[u8]]) -> u32 {
    let mut state = 0;
    for chunk in parts.iter().flat_map(|part| part.chunks(8)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word));
    }
    (state >> 32) as u32
}

/// Reads the properties of a frame. All frames that are not IP form one flow.
pub fn about(frame: &[u8]) -> About {
    let Some(ip) = ip(frame) else { return About::default() };
    let (traffic, protocol, ends, rest) = match ip {
        Ip::V4(header) => {
            let length = usize::from(header[0] & 15) * 4;
            // Only the first fragment has ports, so fragments are classified by their addresses alone.
            let fragment = (header[6] & 0x3f, header[7]) != (0, 0);
            let rest = if fragment { &[][..] } else { header.get(length..).unwrap_or_default() };
            (header[1], header[9], &header[12..20], rest)
        }
        Ip::V6(header) => (header[0] << 4 | header[1] >> 4, header[6], &header[8..40], &header[40..]),
    };
    let proto = match protocol {
        6 => Proto::Tcp,
        _ => Proto::Udp,
    };
    let ports = if [6, 17, 132].contains(&protocol) { rest.get(..4).unwrap_or_default() } else { &[] };
    let dscp = traffic >> 2;
    let (source, destination) = ends.split_at(ends.len() / 2);
    // The upper half of a 32-bit hash.
    let host = |address: &[u8]| (hash(&[address]) >> 16) as u16;
    let forwarding = (1..=4).contains(&(dscp >> 3)) && dscp & 1 == 0;
    About {
        flow: hash(&[ends, ports, &[protocol]]),
        pair: hash(&[ends]),
        ecn: ecn(traffic),
        class: dscp >> 3,
        colour: if forwarding && dscp >> 1 & 3 >= 2 { Colour::Out } else { Colour::In },
        proto,
        hosts: Hosts { source: host(source), destination: host(destination) },
        dscp,
        ack: acknowledgement(frame),
    }
}

/// The acknowledgement of a frame, for an ACK filter. It is pure if the TCP segment has no data, no flags except ACK, ECE
/// and CWR, and no options except NOP, MD5, SACK and timestamps.
fn acknowledgement(frame: &[u8]) -> Ack {
    let Some((6, true, rest)) = transport(frame) else { return Ack::default() };
    let Some(fixed) = rest.first_chunk::<20>() else { return Ack::default() };
    let header = usize::from(fixed[12] >> 4) * 4;
    let Some(options) = rest.get(20..header).filter(|_| rest.len() == header) else { return Ack::default() };
    // Reserved flags and URG, PSH, RST, SYN, FIN are clear, ACK is set.
    if fixed[12] & 0x0f != 0 || fixed[13] & 0x3f != 0x10 {
        return Ack::default();
    }
    let Some(blocks) = plain_options(options) else { return Ack::default() };
    let number = u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]);
    Ack::pure(number >> 4).with_flags(fixed[13] & 0x40 != 0, fixed[13] & 0x80 != 0).with_blocks(blocks)
}

/// Whether the options of a TCP segment have SACK blocks. `None` if one of them is not NOP, MD5, SACK or timestamps.
fn plain_options(mut options: &[u8]) -> Option<bool> {
    let mut blocks = false;
    loop {
        match *options {
            // End of the list.
            [] | [0, ..] => return Some(blocks),
            // No operation.
            [1, ref left @ ..] => options = left,
            [kind @ (5 | 8 | 19), length, ..] if length >= 2 => {
                blocks |= kind == 5;
                options = options.get(usize::from(length)..)?;
            }
            _ => return None,
        }
    }
}

/// Bytes after the headers of Ethernet, IP, and TCP, UDP or SCTP; 0 for other frames. Ethernet padding does not
/// count.
pub fn payload(frame: &[u8]) -> usize {
    let Some((protocol, first, rest)) = transport(frame) else { return 0 };
    let headers = match protocol {
        _ if !first => 0,
        6 => rest.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4),
        17 => 8,
        132 => 12,
        _ => 0,
    };
    rest.len().saturating_sub(headers)
}

/// The header of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// Hash of the connection, the same in both directions.
    pub connection: u32,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number; `None` without the ACK flag.
    pub acknowledged: Option<u32>,
    /// Is the SYN flag set?
    pub is_syn: bool,
    /// Is the FIN flag set?
    pub is_fin: bool,
    /// Is the RST flag set?
    pub is_reset: bool,
    /// Payload in bytes.
    pub payload: u32,
    /// TSval and TSecr of the timestamps option (RFC 7323).
    pub timestamps: Option<[u32; 2]>,
}

/// The TCP header of a frame; `None` for other frames, fragments other than the first, and cut headers.
pub fn tcp(frame: &[u8]) -> Option<Tcp> {
    let (6, true, rest) = transport(frame)? else { return None };
    let fixed: &[u8; 20] = rest.first_chunk()?;
    let header = usize::from(fixed[12] >> 4) * 4;
    let options = rest.get(20..header)?;
    let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let has = |flag: u8| fixed[13] & flag != 0;
    let ends = match ip(frame)? {
        Ip::V4(header) => &header[12..20],
        Ip::V6(header) => &header[8..40],
    };
    let (from, to) = ends.split_at(ends.len() / 2);
    let end = |address: &[u8], port: &[u8]| hash(&[address, port]);
    Some(Tcp {
        // The sum does not depend on the direction.
        connection: end(from, &fixed[..2]).wrapping_add(end(to, &fixed[2..4])),
        sequence: word(4),
        acknowledged: has(0x10).then(|| word(8)),
        is_syn: has(0x02),
        is_fin: has(0x01),
        is_reset: has(0x04),
        payload: (rest.len() - header) as u32,
        timestamps: timestamps(options),
    })
}

/// TSval and TSecr among the options of a TCP segment.
fn timestamps(mut options: &[u8]) -> Option<[u32; 2]> {
    loop {
        match *options {
            // End of the list.
            [] | [0, ..] => return None,
            // No operation.
            [1, ref left @ ..] => options = left,
            [8, 10, a, b, c, d, e, f, g, h, ..] => {
                return Some([u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]);
            }
            [_, length, ..] => options = options.get(usize::from(length.max(2))..)?,
            [_] => return None,
        }
    }
}

/// The number of the transport protocol; whether the packet begins with the transport header (false for a fragment
/// other than the first); and the bytes after the IP header, without Ethernet padding.
fn transport(frame: &[u8]) -> Option<(u8, bool, &[u8])> {
    Some(match ip(frame)? {
        Ip::V4(header) => {
            let length = usize::from(header[0] & 15) * 4;
            let whole = usize::from(u16::from_be_bytes([header[2], header[3]])).min(header.len());
            let is_first = (header[6] & 0x1f, header[7]) == (0, 0);
            (header[9], is_first, header.get(length..whole).unwrap_or_default())
        }
        Ip::V6(header) => {
            let whole = (40 + usize::from(u16::from_be_bytes([header[4], header[5]]))).min(header.len());
            (header[6], true, &header[40..whole])
        }
    })
}

const fn ecn(traffic: u8) -> Ecn {
    match traffic & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Source and destination port of a TCP or UDP frame over IPv4.
pub fn ports(frame: &[u8]) -> Option<[u16; 2]> {
    let Some(Ip::V4(header)) = ip(frame) else { return None };
    if (header[6] & 0x3f, header[7]) != (0, 0) {
        return None;
    }
    let rest = header.get(usize::from(header[0] & 15) * 4..)?.get(..4)?;
    [6, 17]
        .contains(&header[9])
        .then(|| [u16::from_be_bytes([rest[0], rest[1]]), u16::from_be_bytes([rest[2], rest[3]])])
}

/// Sets CE in an ECN-capable IP frame and updates the IPv4 header checksum (RFC 1624).
pub fn mark(frame: &mut [u8]) {
    match ip(frame) {
        Some(Ip::V4(_)) => {
            let header = &mut frame[LINK..];
            let before = u16::from_be_bytes([header[0], header[1]]);
            header[1] |= 3;
            let after = u16::from_be_bytes([header[0], header[1]]);
            let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + u32::from(!before) + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        // IPv6 has no header checksum.
        Some(Ip::V6(_)) => frame[LINK + 1] |= 0x30,
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 frame with this traffic class, a valid checksum, and ports.
    fn v4(traffic: u8, source: u8, ports: [u8; 4]) -> Vec<u8> {
        let mut header = [0x45, traffic, 0, 60, 1, 2, 0, 0, 64, 6, 0, 0, 10, 0, 0, source, 10, 0, 0, 9];
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        [&[0; 12][..], &IPV4, &header, &ports, &[0; 36]].concat()
    }

    #[test]
    fn payload_is_what_follows_the_headers() {
        let ipv4 = |protocol: u8, fragment: u8, length: u16, rest: &[u8]| {
            let [high, low] = length.to_be_bytes();
            let header = [0x45, 0, high, low, 1, 2, 0, fragment, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            payload(&[&[0; 12][..], &IPV4, &header, rest].concat())
        };
        let mut tcp = [0; 132];
        tcp[12] = 0x80;
        assert_eq!(ipv4(6, 0, 152, &tcp), 100, "32 bytes of header with options");
        assert_eq!(ipv4(17, 0, 128, &[0; 108]), 100);
        assert_eq!(ipv4(17, 8, 128, &[0; 108]), 108, "a later fragment has no UDP header");
        assert_eq!(ipv4(6, 0, 40, &[0x50; 26]), 0, "padding of a short frame");
        assert_eq!(ipv4(17, 0, 9000, &[0; 108]), 100, "a length beyond the frame");
        let mut ipv6 = [0; 40];
        (ipv6[0], ipv6[5], ipv6[6]) = (0x60, 108, 17);
        assert_eq!(payload(&[&[0; 12][..], &IPV6, &ipv6, &[0; 108]].concat()), 100);
        assert_eq!((payload(&[0; 60]), payload(&[])), (0, 0));
    }

    #[test]
    fn tcp_headers_are_read() {
        let segment = |options: &[u8], payload: &[u8], reversed: bool| {
            let length = (20 + 20 + options.len() + payload.len()) as u16;
            let [high, low] = length.to_be_bytes();
            let mut ip = [0x45, 0, high, low, 1, 2, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let mut tcp = [0, 80, 0, 90, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x11, 0, 0, 0, 0, 0, 0];
            tcp[12] = ((20 + options.len()) as u8 / 4) << 4;
            if reversed {
                (ip[15], ip[19], tcp[1], tcp[3], tcp[13]) = (2, 1, 90, 80, 0x06);
            }
            super::tcp(&[&[0; 12][..], &IPV4, &ip, &tcp, options, payload].concat())
        };
        let stamps = [1, 1, 8, 10, 0, 0, 1, 0, 0, 0, 0, 9];
        let seen = segment(&stamps, &[5; 3], false).unwrap();
        assert_eq!((seen.timestamps, seen.payload), (Some([256, 9]), 3));
        assert_eq!((seen.sequence, seen.acknowledged), (0x0102_0304, Some(0x0506_0708)));
        assert_eq!([seen.is_syn, seen.is_fin, seen.is_reset], [false, true, false]);
        let back = segment(&stamps, &[], true).unwrap();
        assert_eq!((back.connection, back.payload, back.acknowledged), (seen.connection, 0, None));
        assert_eq!([back.is_syn, back.is_fin, back.is_reset], [true, false, true]);
        let sack_first = [&[5, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1][..], &stamps[2..], &[1, 0]].concat();
        assert_eq!(segment(&sack_first, &[], false).unwrap().timestamps, Some([256, 9]));
        for malformed in [&[][..], &[1, 1, 1, 0], &[5, 0, 8, 10], &[8, 10, 0, 0], &[1, 1, 1, 8]] {
            assert_eq!(segment(malformed, &[1], false).unwrap().timestamps, None);
        }
    }

    /// Internet checksum, RFC 1071.
    fn checksum(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn ce_mark_updates_ipv4_header_checksum() {
        for traffic in 0..=255 {
            for ecn in [1, 2] {
                let mut frame = v4(traffic & !3 | ecn, traffic, [1, 2, 3, 4]);
                assert_eq!(checksum(&frame[LINK..LINK + 20]), 0);
                mark(&mut frame);
                assert_eq!((frame[LINK + 1], checksum(&frame[LINK..LINK + 20])), (traffic | 3, 0), "{traffic}");
            }
        }
        let mut six = [&[0; 12][..], &IPV6, &[0x60, 0x20], &[0; 38]].concat();
        assert_eq!(about(&six).ecn, Ecn::Ect0);
        mark(&mut six);
        assert_eq!((about(&six).ecn, six[LINK]), (Ecn::Ce, 0x60));
    }

    #[test]
    fn flows_host_pairs_and_service_classes_are_distinguished() {
        let one = about(&v4(0, 1, [0, 80, 1, 1]));
        let other_port = about(&v4(0, 1, [0, 80, 1, 2]));
        let other_host = about(&v4(0, 2, [0, 80, 1, 1]));
        assert_eq!((one, one.pair), (about(&v4(0, 1, [0, 80, 1, 1])), other_port.pair));
        assert!(one.flow != other_port.flow && one.pair != other_host.pair && one.flow != other_host.flow);
        assert_eq!((one.proto, one.ecn, one.class), (Proto::Tcp, Ecn::NotEct, 0));
        // AF31 is 26, AF32 is 28, AF33 is 30, EF is 46, CS5 is 40.
        let seen = |dscp: u8| {
            let about = about(&v4(dscp << 2 | 2, 1, [0; 4]));
            (about.class, about.colour == Colour::Out, about.ecn)
        };
        assert_eq!([26, 28, 30].map(seen), [(3, false, Ecn::Ect0), (3, true, Ecn::Ect0), (3, true, Ecn::Ect0)]);
        assert_eq!([46, 40, 0].map(seen), [(5, false, Ecn::Ect0), (5, false, Ecn::Ect0), (0, false, Ecn::Ect0)]);
    }

    #[test]
    fn truncated_and_non_ip_frames_do_not_panic() {
        let whole = v4(2, 1, [0, 80, 1, 1]);
        for len in 0..whole.len() {
            let mut frame = whole[..len].to_vec();
            about(&frame);
            tcp(&frame);
            mark(&mut frame);
        }
        let arp = [&[0; 12][..], &[8, 6], &[0; 28]].concat();
        assert_eq!(about(&arp), About::default());
        let mut fragment = whole.clone();
        fragment[LINK + 7] = 9;
        assert_eq!(
            about(&fragment).flow,
            about(&{
                let mut other = fragment.clone();
                other[LINK + 20] = 99;
                other
            })
            .flow,
            "no ports in a fragment"
        );
    }
}
