//! The memory that the queue may use, and what a packet is charged.
//!
//! Linux: `cake_reconfigure`, `cake_enqueue`.

use crate::base::time::Span;
use crate::choice;

choice! {
    /// What a packet is charged.
    pub enum Charge {
        /// The buffer of the Linux kernel: data and descriptor.
        Skb = "skb",
        /// Its length on the wire.
        Wire = "wire",
    }
}

/// Largest lengths, each with the charge of the frames up to it: most frames need no arithmetic.
const USUAL: [(u32, u64); 3] = [(303, 896), (687, 1280), (1711, 2304)];

/// The buffer of a frame of `len` bytes that a local UDP socket of the kernel of `run --on linux` sends, in bytes
/// (`__alloc_skb`): room for the headers of lower layers, the packet and `skb_shared_info`, rounded up to a size of the
/// allocator; then the descriptor `sk_buff`.
const fn buffer(len: u32) -> u32 {
    // 16 for the Ethernet header of 14, and 15 for its alignment.
    let data = (len - if len < 14 { len } else { 14 } + 16 + 15).next_multiple_of(64) + 320;
    // The smallest size follows from the configuration of the kernel (`SKB_SMALL_HEAD_SIZE`).
    (if data <= 640 { 640 } else { data.next_power_of_two() }) + 256
}

/// Least limit that follows from rate and RTT, 4 MiB.
const LEAST: u64 = 4 << 20;
/// Packets of the largest size that the limit holds at most (`sch->limit`).
const PACKETS: u64 = 10_240;

impl Charge {
    /// Bytes that a packet of `len` bytes is charged.
    #[inline]
    pub(super) fn of(self, len: u32) -> u64 {
        match self {
            Self::Wire => u64::from(len),
            Self::Skb => {
                USUAL.iter().find(|usual| len <= usual.0).map_or_else(|| u64::from(buffer(len)), |usual| usual.1)
            }
        }
    }
}

/// The limit in bytes at `rate` bytes per second (0: unlimited), if `given` is not.
pub(super) fn limit(given: Option<u64>, rate: u64, rtt: Span, mtu: u32) -> u64 {
    let most = PACKETS * u64::from(mtu);
    let own = match rate {
        0 => u64::MAX,
        // rate in bytes/s, rtt in us; as the kernel, in 32 bits.
        _ => (u128::from(rate) * u128::from(rtt.nanos() / 1000) / 250_000).min(u128::from(u32::MAX)) as u64,
    };
    given.unwrap_or_else(|| own.max(LEAST)).min(most.max(given.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    #[test]
    fn limits_equal_those_of_linux() {
        let of = |given, rate| limit(given, rate, RTT, 1514);
        assert_eq!([of(None, 125_000), of(None, 12_500_000)], [4 << 20, 5_000_000]);
        assert_eq!([of(None, 250_000_000), of(None, 0)], [15_503_360; 2]);
        assert_eq!([of(Some(64 << 20), 0), of(Some(1000), 125_000)], [64 << 20, 1000]);
    }

    #[test]
    fn packets_are_charged_their_kernel_buffers() {
        assert_eq!(
            [42, 303, 304, 687, 688, 1514, 1711, 1712, 9000].map(|len| Charge::Skb.of(len)),
            [896, 896, 1280, 1280, 2304, 2304, 2304, 4352, 16_640]
        );
        assert!((0..4000).all(|len| Charge::Skb.of(len) == u64::from(buffer(len))));
        assert_eq!(Charge::Wire.of(1042), 1042);
        assert!(Charge::Skb.of(65_535) > 65_535);
    }
}
