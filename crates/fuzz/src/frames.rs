//! A fuzz target for the readers of Ethernet frames on the live path.

use forebay_live::frame::{about, mark, payload, ports, tcp};
use forebay_live::offload::complete;
use forebay_live::sys::ring::{Frame, Left, Segments};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Eight bytes with the work that is left to hardware, then a frame. Must not panic. A mark changes the ECN field and the
/// header checksum alone, and a right checksum stays right. The frames that replace one are not more than its bytes.
pub(crate) fn run(bytes: &[u8]) {
    let Some((work, frame)) = bytes.split_at_checked(8) else { return };
    assert!(payload(frame) <= frame.len(), "more payload than bytes");
    let _ = (tcp(frame), ports(frame), about(frame));
    check_mark(frame, mark);
    let word = |at: usize| u16::from_le_bytes([work[at], work[at + 1]]);
    let kinds = [Segments::TcpV4, Segments::TcpV6, Segments::Udp, Segments::Other];
    let left = Left {
        checksum: (work[0] & 1 == 1).then_some((usize::from(word(4)), usize::from(word(6)))),
        segments: (work[0] & 2 == 2).then_some((kinds[usize::from(work[1]) % 4], word(2))),
    };
    let tag = (work[0] & 4 == 4).then_some([0x81, 0, 0, work[1]]);
    let mut given = 0;
    let outcome = complete(&Frame { bytes: frame, tag, left, is_whole: true }, &mut |_| given += 1);
    assert!(outcome.is_err() || (1..=frame.len().max(1)).contains(&given), "{given} frames");
}

/// Checks what `mark` changes.
fn check_mark(frame: &[u8], mark: fn(&mut [u8])) {
    let mut marked = frame.to_vec();
    mark(&mut marked);
    let is_ipv4 = frame.get(12..ETHERNET) == Some(&[8, 0]);
    for (at, (before, after)) in frame.iter().zip(&marked).enumerate() {
        let may = match at - ETHERNET.min(at) {
            1 if at > ETHERNET => {
                if is_ipv4 {
                    3
                } else {
                    0x30
                }
            }
            10 | 11 if at > ETHERNET && is_ipv4 => 0xff,
            _ => 0,
        };
        assert!((before ^ after) & !may == 0, "byte {at} changed from {before} to {after}");
    }
    if is_ipv4 && sum(frame) == Some(0xffff) {
        assert_eq!(sum(&marked), Some(0xffff), "the checksum is wrong after the mark");
    }
}

/// The sum in one's complement of the IPv4 header without options: 0xffff if its checksum is right.
fn sum(frame: &[u8]) -> Option<u32> {
    let header = frame.get(ETHERNET..ETHERNET + 20)?;
    let words = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum = words.sum::<u32>();
    Some((sum & 0xffff) + (sum >> 16)).map(|sum| (sum & 0xffff) + (sum >> 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ECT(0) segment with a right checksum.
    fn segment() -> Vec<u8> {
        let header = [0x45, 2, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let mut frame = [&[2; 12][..], &[8, 0], &header, &[0; 20]].concat();
        let right = !(sum(&frame).unwrap() as u16);
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&right.to_be_bytes());
        frame
    }

    #[test]
    fn faulty_marks_are_found() {
        check_mark(&segment(), mark);
        let faults: [fn(&mut [u8]); 3] = [
            // The checksum stays as it was.
            |frame| frame[ETHERNET + 1] |= 3,
            // Another field changes.
            |frame| frame[ETHERNET + 8] -= 1,
            // The DSCP changes.
            |frame| frame[ETHERNET + 1] |= 0xff,
        ];
        for fault in faults {
            assert!(std::panic::catch_unwind(|| check_mark(&segment(), fault)).is_err());
        }
    }
}
