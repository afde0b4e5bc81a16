//! Reads pcapng files (draft-ietf-opsawg-pcapng): sections of either byte order, with a clock per interface.

use std::io::BufRead;

use super::bytes::{Bytes, Order};
use super::{BadRecording, Raw, Read, Recorded, Where, gather, packet_length, room};

/// First bytes of a section header, which are the same in both byte orders.
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
/// Type of the Packet Block. The draft calls it obsolete, but files still contain it.
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;

/// Unit and offset of the time stamps of an interface.
#[derive(Clone, Copy)]
struct Clock {
    /// Units per second, as in the option if_tsresol: a power of ten or, with the high bit, of two.
    resolution: u8,
    /// Seconds to add to the time stamps.
    offset: i64,
}

impl Clock {
    const DEFAULT: Self = Self { resolution: 6, offset: 0 };

    /// The time stamp `stamp` of a packet in nanoseconds.
    fn nanos(self, stamp: u64) -> i128 {
        let scaled = u128::from(stamp) * 1_000_000_000;
        let power = self.resolution & 0x7f;
        let nanos = if self.resolution & 0x80 == 0 {
            // With more than 10^38 units per second every time stamp is 0 ns.
            10u128.checked_pow(u32::from(power)).map_or(0, |units| scaled / units)
        } else {
            scaled >> power
        };
        nanos as i128 + i128::from(self.offset) * 1_000_000_000
    }
}

/// A block of the file whose body is being read.
struct Block {
    start: Where,
    /// Number of bytes of the body that are not yet read.
    left: u64,
}

impl Block {
    /// Reads the next `N` bytes of the body.
    fn take<const N: usize, R: BufRead>(&mut self, bytes: &mut Bytes<R>) -> Read<[u8; N]> {
        self.left = self
            .left
            .checked_sub(N as u64)
            .ok_or_else(|| BadRecording::new(self.start, "a block that is too short", "a block with all its fields"))?;
        bytes.take("a block")
    }

    /// Skips `n` bytes of the body, or all that are left if these are fewer.
    fn skip<R: BufRead>(&mut self, bytes: &mut Bytes<R>, n: u64) -> Read<()> {
        let n = n.min(self.left);
        self.left -= n;
        bytes.skip(n, "a block")
    }
}

/// Reads times and original lengths of the packets.
pub(super) fn read<R: BufRead>(bytes: &mut Bytes<R>) -> Read<Recorded> {
    let (mut order, mut clocks, mut items) = (Order::Little, Vec::new(), Vec::new());
    while !bytes.at_end()? {
        let start = bytes.here();
        let kind = bytes.take("a block's type")?;
        let length = bytes.take("a block's length")?;
        let mut head = 8;
        if kind == SECTION {
            order = byte_order(bytes)?;
            clocks.clear();
            head += 4;
        }
        let total = order.u32(length);
        let body = u64::from(total).checked_sub(head + 4).filter(|_| total.is_multiple_of(4));
        let Some(left) = body else {
            return Err(BadRecording::new(start, format!("a block of {total} bytes"), "a multiple of 4, from 12 on"));
        };
        let mut block = Block { start, left };
        match order.u32(kind) {
            INTERFACE => clocks.push(interface(&mut block, bytes, order)?),
            kind @ (PACKET | ENHANCED) => {
                room(&items, start)?;
                items.push(packet(&mut block, bytes, (order, &clocks), kind)?);
            }
            SIMPLE => {
                let found = "a simple packet block, which has no time";
                return Err(BadRecording::new(start, found, "packets with their times"));
            }
            _ => {}
        }
        block.skip(bytes, u64::MAX)?;
        let at = bytes.here();
        let again = order.u32(bytes.take("a block's length, repeated")?);
        if again != total {
            return Err(BadRecording::new(at, format!("a length of {again}"), format!("the block's {total} again")));
        }
    }
    gather(items, false, "packets")
}

fn byte_order<R: BufRead>(bytes: &mut Bytes<R>) -> Read<Order> {
    let at = bytes.here();
    let magic = bytes.take("a section header")?;
    let order = [Order::Little, Order::Big].into_iter().find(|order| order.u32(magic) == BYTE_ORDER);
    order.ok_or_else(|| BadRecording::new(at, format!("{magic:02x?}"), "a byte order, 1a2b3c4d or 4d3c2b1a"))
}

/// Reads an interface description block: skips link type, reserved field and snapshot length, and returns the clock by
/// the options if_tsresol and if_tsoffset.
fn interface<R: BufRead>(block: &mut Block, bytes: &mut Bytes<R>, order: Order) -> Read<Clock> {
    let mut clock = Clock::DEFAULT;
    block.take::<8, R>(bytes)?;
    while block.left >= 4 {
        let code = order.u16(block.take(bytes)?);
        let length = order.u16(block.take(bytes)?);
        match (code, length) {
            (0, _) => break,
            (9, 1) => {
                let [resolution, ..] = block.take::<4, R>(bytes)?;
                clock.resolution = resolution;
            }
            (14, 8) => clock.offset = order.u64(block.take(bytes)?) as i64,
            _ => block.skip(bytes, u64::from(length).next_multiple_of(4))?,
        }
    }
    Ok(clock)
}

fn packet<R: BufRead>(
    block: &mut Block,
    bytes: &mut Bytes<R>,
    (order, clocks): (Order, &[Clock]),
    kind: u32,
) -> Read<Raw> {
    let at = bytes.here();
    let interface = if kind == PACKET {
        let number = order.u16(block.take(bytes)?);
        block.take::<2, R>(bytes)?;
        u32::from(number)
    } else {
        order.u32(block.take(bytes)?)
    };
    let Some(clock) = clocks.get(interface as usize) else {
        let found = format!("a packet of interface {interface}");
        return Err(BadRecording::new(at, found, format!("one of the {} described before", clocks.len())));
    };
    let high = order.u32(block.take(bytes)?);
    let low = order.u32(block.take(bytes)?);
    block.take::<4, R>(bytes)?;
    let at = bytes.here();
    let length = packet_length(order.u32(block.take(bytes)?), at)?;
    Ok((clock.nanos(u64::from(high) << 32 | u64::from(low)), length, 0))
}
