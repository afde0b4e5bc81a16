//! Reads pcap files (pcap-savefile(5)): both byte orders, microseconds and nanoseconds.

use std::io::BufRead;

use super::bytes::{Bytes, Order};
use super::{BadRecording, Raw, Read, Recorded, gather, packet_length, room};

const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;

/// Byte order of the file, and the unit of the fraction of a second in its time stamps, in nanoseconds; from the magic
/// number. `None` if it is not that of a pcap file.
fn units(magic: [u8; 4]) -> Option<(Order, u32)> {
    [Order::Little, Order::Big].into_iter().find_map(|order| match order.u32(magic) {
        MICROS => Some((order, 1000)),
        NANOS => Some((order, 1)),
        _ => None,
    })
}

/// Whether a file that begins like this is pcap.
pub(super) fn is_magic(start: [u8; 4]) -> bool {
    units(start).is_some()
}

/// Reads times and original lengths of the packets. Times may decrease from packet to packet, because several
/// processors write them.
pub(super) fn read<R: BufRead>(bytes: &mut Bytes<R>) -> Read<Recorded> {
    const HEADER: &str = "a header of 24 bytes";
    const RECORD: &str = "a packet's header of 16 bytes";
    let start = bytes.here();
    let Some((order, unit)) = units(bytes.take(HEADER)?) else {
        return Err(BadRecording::new(start, "another file", "a pcap file"));
    };
    let at = bytes.here();
    let major = order.u16(bytes.take(HEADER)?);
    if major != 2 {
        return Err(BadRecording::new(at, format!("version {major}"), "version 2 of the format"));
    }
    bytes.skip(18, HEADER)?;
    let mut items: Vec<Raw> = Vec::new();
    while !bytes.at_end()? {
        room(&items, bytes.here())?;
        let seconds = order.u32(bytes.take(RECORD)?);
        let at = bytes.here();
        let fraction = order.u32(bytes.take(RECORD)?);
        if fraction >= 1_000_000_000 / unit {
            let found = format!("a fraction of {fraction}");
            return Err(BadRecording::new(at, found, format!("less than {} in a second", 1_000_000_000 / unit)));
        }
        let kept = order.u32(bytes.take(RECORD)?);
        let at = bytes.here();
        let length = packet_length(order.u32(bytes.take(RECORD)?), at)?;
        bytes.skip(u64::from(kept), "a packet")?;
        let time = i128::from(seconds) * 1_000_000_000 + i128::from(fraction) * i128::from(unit);
        items.push((time, length, 0));
    }
    gather(items, false, "packets")
}
