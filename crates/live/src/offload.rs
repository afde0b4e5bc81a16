//! Software offloads: converts a frame into the packets that the sender's hardware would put on the wire.
//!
//! Offloads are disabled at both ends of the emulated link, but a command there can enable them. Then checksums are
//! incomplete and one frame holds many segments. A VLAN tag always arrives separately from its frame.

use crate::sys::ring::{Frame, Left, Segments};

/// Length of the Ethernet addresses, bytes.
const ADDRESSES: usize = 12;
/// Offset of the network header.
const ETHERNET: usize = 14;
/// Offset of the checksum in the TCP, UDP and SCTP headers, bytes. SCTP's checksum is a CRC, which is not supported.
const IN_TCP: usize = 16;
const IN_UDP: usize = 6;
const IN_SCTP: usize = 8;
const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// TCP flags.
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Why a frame cannot be put on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// Truncated: longer than the receive buffer.
    Cut,
    /// Offloads that are not supported: SCTP checksum, segmentation inside a tunnel, or inconsistent headers.
    Unknown,
}

/// Passes to `give` the frames that hardware would send, in order. Returns true if an offload had left work to
/// do.
pub fn complete(frame: &Frame<'_>, give: &mut dyn FnMut(&[u8])) -> Result<bool, Unfit> {
    let left = frame.left;
    if !frame.is_whole {
        return Err(Unfit::Cut);
    }
    if frame.tag.is_none() && left.checksum.is_none() && left.segments.is_none() {
        give(frame.bytes);
        return Ok(false);
    }
    let tag = frame.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
    let (addresses, rest) = frame.bytes.split_at_checked(ADDRESSES).ok_or(Unfit::Unknown)?;
    let mut whole = [addresses, tag, rest].concat();
    // Offsets are relative to the frame without its tag.
    let checksum = left.checksum.map(|(start, field)| (start + tag.len(), field));
    match (left.segments, checksum) {
        (Some((kind, size)), Some((start, _))) => {
            let headers = Headers::read(&whole, ETHERNET + tag.len(), start, kind).ok_or(Unfit::Unknown)?;
            headers.cut(&whole, usize::from(size), give).ok_or(Unfit::Unknown)?;
        }
        (Some(_), None) => return Err(Unfit::Unknown),
        (None, checksum) => {
            if let Some((start, field)) = checksum {
                finish(&mut whole, start, field).ok_or(Unfit::Unknown)?;
            }
            give(&whole);
        }
    }
    Ok(left != Left::default())
}

/// Sum of 16-bit words (RFC 1071), not folded.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Completes a checksum over all bytes from `start` on. The field at offset `field` holds the sum of the pseudo
/// header.
fn finish(frame: &mut [u8], start: usize, field: usize) -> Option<()> {
    let covered = frame.get_mut(start..).filter(|_| field != IN_SCTP)?;
    let sum = !fold(sum(covered));
    // 0 means no checksum (RFC 768); 0xffff is the same number.
    let sum = if sum == 0 { 0xffff } else { sum };
    covered.get_mut(field..field + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// The headers of a frame to be segmented.
struct Headers {
    is_tcp: bool,
    is_v4: bool,
    /// Offsets of the network header, the transport header and the data.
    network: usize,
    transport: usize,
    data: usize,
}

impl Headers {
    /// Reads the headers. `None` if they are incomplete, if they do not agree with `kind`, or if `transport` does not
    /// follow the IP header directly, as in a tunnel.
    fn read(frame: &[u8], network: usize, transport: usize, kind: Segments) -> Option<Self> {
        let ip = frame.get(network..)?;
        let is_v4 = match (frame.get(network - 2..network)?, kind) {
            ([0x08, 0x00], Segments::TcpV4 | Segments::Udp) => true,
            ([0x86, 0xdd], Segments::TcpV6 | Segments::Udp) => false,
            _ => return None,
        };
        let (header, protocol) = if is_v4 { (usize::from(ip.first()? & 15) * 4, ip.get(9)?) } else { (40, ip.get(6)?) };
        let is_tcp = *protocol == TCP;
        let fits = transport == network + header
            && if is_tcp { kind != Segments::Udp } else { *protocol == UDP && kind == Segments::Udp };
        let data = if is_tcp { usize::from(frame.get(transport + 12)? >> 4) * 4 } else { UDP_HEADER };
        let least = if is_tcp { 20 } else { UDP_HEADER };
        let fits = fits && header >= if is_v4 { 20 } else { 40 } && data >= least && frame.len() > transport + data;
        fits.then_some(Self { is_tcp, is_v4, network, transport, data: transport + data })
    }

    /// Passes frames with `size` data bytes each (the last may have fewer) to `give`.
    fn cut(&self, frame: &[u8], size: usize, give: &mut dyn FnMut(&[u8])) -> Option<()> {
        let (headers, data) = frame.split_at(self.data);
        let count = data.len().div_ceil(size.max(1));
        if size == 0 {
            return None;
        }
        for (number, part) in data.chunks(size).enumerate() {
            let mut segment = [headers, part].concat();
            self.number(&mut segment, number, size, number + 1 == count);
            self.lengths(&mut segment)?;
            give(&segment);
        }
        Some(())
    }

    /// Sets the fields that differ between segments.
    fn number(&self, segment: &mut [u8], number: usize, size: usize, is_last: bool) {
        if self.is_v4 {
            let field = self.network + 4;
            let id = u16::from_be_bytes([segment[field], segment[field + 1]]).wrapping_add(number as u16);
            segment[field..field + 2].copy_from_slice(&id.to_be_bytes());
        }
        if self.is_tcp {
            let field = &mut segment[self.transport + 4..self.transport + 8];
            let sequence = u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
            field.copy_from_slice(&sequence.wrapping_add((number * size) as u32).to_be_bytes());
            let not_here = if is_last { 0 } else { FIN | PSH } | if number == 0 { 0 } else { CWR };
            segment[self.transport + 13] &= !not_here;
        }
    }

    /// Sets lengths and checksums.
    fn lengths(&self, segment: &mut [u8]) -> Option<()> {
        let (network, transport) = (self.network, self.transport);
        let length = u16::try_from(segment.len() - transport).ok()?;
        let addresses = if self.is_v4 {
            let total = u16::try_from(segment.len() - network).ok()?;
            segment[network + 2..network + 4].copy_from_slice(&total.to_be_bytes());
            segment[network + 10..network + 12].fill(0);
            let header = !fold(sum(&segment[network..transport]));
            segment[network + 10..network + 12].copy_from_slice(&header.to_be_bytes());
            network + 12..network + 20
        } else {
            segment[network + 4..network + 6].copy_from_slice(&length.to_be_bytes());
            network + 8..network + 40
        };
        let (protocol, field) = if self.is_tcp { (TCP, IN_TCP) } else { (UDP, IN_UDP) };
        if !self.is_tcp {
            segment[transport + 4..transport + 6].copy_from_slice(&length.to_be_bytes());
        }
        let pseudo = fold(sum(&segment[addresses]) + u64::from(protocol) + u64::from(length));
        segment[transport + field..transport + field + 2].copy_from_slice(&pseudo.to_be_bytes());
        finish(segment, transport, field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: usize = ETHERNET + 20;
    const V6: usize = ETHERNET + 40;
    /// FIN, PSH, ACK and CWR.
    const FLAGS: u8 = 0x99;

    fn ethernet(kind: [u8; 2]) -> Vec<u8> {
        [&[2; 6][..], &[3; 6], &kind].concat()
    }

    /// IPv4 headers for this protocol. Length and checksum are left to hardware.
    fn v4(protocol: u8) -> Vec<u8> {
        let ip = [0x45, 2, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        [ethernet([8, 0]), ip.to_vec()].concat()
    }

    fn v6(protocol: u8) -> Vec<u8> {
        [ethernet([0x86, 0xdd]), vec![0x60, 0, 0, 0, 0, 0, protocol, 64], vec![7; 16], vec![9; 16]].concat()
    }

    fn tcp(len: usize) -> Vec<u8> {
        let header = [0, 80, 0, 81, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 1, 0x80, FLAGS, 1, 1, 0, 0, 0, 0];
        [&header[..], &[1; 12], &data(len)].concat()
    }

    fn data(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at * 7 % 251) as u8).collect()
    }

    /// Verifies the checksum over pseudo header and packet, with a different algorithm than the code under test.
    fn verified(frame: &[u8], network: usize, transport: usize) -> bool {
        let (addresses, protocol) = if transport - network == 20 {
            (&frame[network + 12..network + 20], frame[network + 9])
        } else {
            (&frame[network + 8..network + 40], frame[network + 6])
        };
        let length = (frame.len() - transport) as u32;
        let mut all = [addresses, &length.to_be_bytes(), &[0, 0, 0, protocol], &frame[transport..]].concat();
        all.resize(all.len().next_multiple_of(2), 0);
        let add = |sum: u16, pair: &[u8]| {
            let (sum, carry) = sum.overflowing_add(u16::from_be_bytes([pair[0], pair[1]]));
            sum + u16::from(carry)
        };
        all.chunks(2).fold(0, add) == 0xffff
    }

    /// Writes the pseudo header's sum into the field, as the kernel does for checksum offload.
    fn begun(mut frame: Vec<u8>, network: usize, transport: usize, field: usize) -> Vec<u8> {
        let protocol = if transport - network == 20 { frame[network + 9] } else { frame[network + 6] };
        let addresses = if transport - network == 20 { network + 12..network + 20 } else { network + 8..network + 40 };
        let length = (frame.len() - transport) as u64;
        let pseudo = fold(sum(&frame[addresses]) + u64::from(protocol) + length);
        frame[transport + field..transport + field + 2].copy_from_slice(&pseudo.to_be_bytes());
        frame
    }

    fn completed(frame: &Frame<'_>) -> Result<Vec<Vec<u8>>, Unfit> {
        let mut all = Vec::new();
        complete(frame, &mut |frame| all.push(frame.to_vec())).map(|_| all)
    }

    fn left(start: usize, field: usize, segments: Option<(Segments, u16)>) -> Left {
        Left { checksum: Some((start, field)), segments }
    }

    #[test]
    fn frames_without_offloads_pass_unchanged() {
        let frame = [v4(TCP), tcp(100)].concat();
        let mut seen = Vec::new();
        assert_eq!(complete(&Frame::complete(&frame), &mut |frame| seen.push(frame.to_vec())), Ok(false));
        assert_eq!(seen, [frame]);
    }

    #[test]
    fn checksums_left_to_hardware_are_completed() {
        for len in [0, 1, 99, 100, 1448] {
            let udp = [&[0, 9, 0, 9, 0, 0, 0, 0][..], &data(len)].concat();
            for (frame, start, field) in [
                ([v4(TCP), tcp(len)].concat(), V4, IN_TCP),
                ([v6(TCP), tcp(len)].concat(), V6, IN_TCP),
                ([v4(UDP), udp.clone()].concat(), V4, IN_UDP),
                ([v6(UDP), udp].concat(), V6, IN_UDP),
            ] {
                let bytes = begun(frame, ETHERNET, start, field);
                let got = completed(&Frame { left: left(start, field, None), ..Frame::complete(&bytes) }).unwrap();
                assert_eq!((got.len(), got[0].len()), (1, bytes.len()));
                assert!(verified(&got[0], ETHERNET, start), "{len} at {start}");
                assert_ne!(&got[0][start + field..start + field + 2], &[0, 0], "0 means no checksum");
            }
        }
    }

    #[test]
    fn tcp_gso_frames_are_segmented() {
        for (headers, start, kind) in [(v4(TCP), V4, Segments::TcpV4), (v6(TCP), V6, Segments::TcpV6)] {
            let bytes = [headers, tcp(1000)].concat();
            let wanted = Some((kind, 300));
            let got = completed(&Frame { left: left(start, IN_TCP, wanted), ..Frame::complete(&bytes) }).unwrap();
            let parts: Vec<&[u8]> = got.iter().map(|frame| &frame[start + 32..]).collect();
            assert_eq!((parts.concat(), parts[3].len()), (data(1000), 100));
            for (number, frame) in got.iter().enumerate() {
                assert!(verified(frame, ETHERNET, start), "{number}");
                let sequence = 0xffff_fff0_u32.wrapping_add(300 * number as u32);
                assert_eq!(frame[start + 4..start + 8], sequence.to_be_bytes());
                let flags =
                    [FLAGS & !(FIN | PSH), FLAGS & !(FIN | PSH | CWR), FLAGS & !(FIN | PSH | CWR), FLAGS & !CWR];
                assert_eq!(frame[start + 13], flags[number]);
                let length = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
                if kind == Segments::TcpV4 {
                    assert_eq!(length(ETHERNET + 2), frame.len() - ETHERNET);
                    assert_eq!(length(ETHERNET + 4), (0xffff + number) & 0xffff, "identification");
                    assert_eq!(fold(sum(&frame[ETHERNET..V4])), 0xffff, "checksum of the header");
                } else {
                    assert_eq!(length(ETHERNET + 4), frame.len() - V6);
                }
            }
        }
    }

    #[test]
    fn udp_gso_frames_are_segmented() {
        for (headers, start) in [(v4(UDP), V4), (v6(UDP), V6)] {
            let bytes = [&headers[..], &[0, 9, 0, 9, 0, 0, 0, 0], &data(700)].concat();
            let wanted = Some((Segments::Udp, 300));
            let got = completed(&Frame { left: left(start, IN_UDP, wanted), ..Frame::complete(&bytes) }).unwrap();
            assert_eq!(got.iter().map(|frame| frame.len() - start).collect::<Vec<_>>(), [308, 308, 108]);
            assert_eq!(got.iter().map(|frame| frame[start + 5]).collect::<Vec<_>>(), [52, 52, 108], "length");
            assert!(got.iter().all(|frame| verified(frame, ETHERNET, start)));
        }
    }

    #[test]
    fn vlan_tags_are_reinserted() {
        let tag = [0x81, 0, 0x20, 5];
        let bytes = begun([v4(TCP), tcp(100)].concat(), ETHERNET, V4, IN_TCP);
        let frame = Frame { tag: Some(tag), left: left(V4, IN_TCP, None), ..Frame::complete(&bytes) };
        let got = completed(&frame).unwrap();
        assert_eq!((&got[0][..12], &got[0][12..16], &got[0][16..18]), (&bytes[..12], &tag[..], &bytes[12..14]));
        assert!(verified(&got[0], ETHERNET + 4, V4 + 4));
        let wanted = Some((Segments::TcpV4, 60));
        let got = completed(&Frame { left: left(V4, IN_TCP, wanted), ..frame }).unwrap();
        assert!(got.len() == 2 && got.iter().all(|frame| verified(frame, ETHERNET + 4, V4 + 4)));
    }

    #[test]
    fn unknown_offloads_are_refused() {
        let bytes = [v4(TCP), tcp(1000)].concat();
        let whole = Frame::complete(&bytes);
        let of = |start, field, segments| completed(&Frame { left: left(start, field, segments), ..whole });
        assert_eq!(completed(&Frame { is_whole: false, ..whole }), Err(Unfit::Cut));
        for (start, field, segments) in [
            (V4, IN_SCTP, None),
            (bytes.len(), IN_TCP, None),
            (70_000, IN_TCP, None),
            // Inside a tunnel; wrong protocol; segment size 0.
            (V4 + 28, IN_TCP, Some((Segments::TcpV4, 300))),
            (V4, IN_TCP, Some((Segments::TcpV6, 300))),
            (V4, IN_TCP, Some((Segments::Udp, 300))),
            (V4, IN_TCP, Some((Segments::Other, 300))),
            (V4, IN_TCP, Some((Segments::TcpV4, 0))),
        ] {
            assert_eq!(of(start, field, segments), Err(Unfit::Unknown), "{start} {field} {segments:?}");
        }
        let none = Left { checksum: None, segments: Some((Segments::TcpV4, 300)) };
        assert_eq!(completed(&Frame { left: none, ..whole }), Err(Unfit::Unknown));
    }

    #[test]
    fn frames_too_short_for_headers_do_not_panic() {
        let whole = [v4(TCP), tcp(40)].concat();
        for len in 0..whole.len() {
            for start in [0, ETHERNET, V4, V4 + 4] {
                for segments in [None, Some((Segments::TcpV4, 9)), Some((Segments::Udp, 9))] {
                    let frame = Frame { left: left(start, IN_TCP, segments), ..Frame::complete(&whole[..len]) };
                    let _ = completed(&frame);
                    let _ = completed(&Frame { tag: Some([0x81, 0, 0, 1]), ..frame });
                }
            }
        }
    }
}
