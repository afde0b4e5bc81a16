//! Sizes, rates and queue depths, each in its own type.

use crate::base::packet::Packet;
use crate::base::time::Span;

/// A number of bytes on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Bytes(pub u64);

/// A link rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rate(pub u64);

impl Rate {
    /// Bytes per second.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Time to put `bytes` on the wire, rounded to the nearest nanosecond.
    pub const fn time_for(self, bytes: u32) -> Span {
        // 2^32 bytes x 8e9 < 2^65: only the product of a jumbo frame and 1e9 needs care, not u128.
        let bits_ns = bytes as u128 * 8_000_000_000;
        Span::from_nanos(((bits_ns + (self.0 / 2) as u128) / self.0 as u128) as u64)
    }
}

/// A queue length or threshold, in packets or in bytes; the two never mix.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub enum Depth {
    /// Whole or fractional packets.
    Packets(f64),
    /// Bytes.
    Bytes(f64),
}

impl Depth {
    /// Are both in packets, or both in bytes?
    pub const fn is_like(self, other: Self) -> bool {
        matches!((self, other), (Self::Packets(_), Self::Packets(_)) | (Self::Bytes(_), Self::Bytes(_)))
    }

    /// The bare number, in the depth's own unit.
    pub const fn value(self) -> f64 {
        match self {
            Self::Packets(n) | Self::Bytes(n) => n,
        }
    }

    /// How much `packet` adds to a backlog counted in this depth's unit.
    pub fn weigh(self, packet: &Packet) -> f64 {
        match self {
            Self::Packets(_) => 1.0,
            Self::Bytes(_) => f64::from(packet.len),
        }
    }

    /// `rate` in this depth's unit per second, for packets of `mean` bytes.
    pub fn per_sec(self, rate: Rate, mean: Bytes) -> f64 {
        match self {
            Self::Packets(_) => rate.bytes_per_sec() / mean.0 as f64,
            Self::Bytes(_) => rate.bytes_per_sec(),
        }
    }

    /// The same unit with another number.
    pub const fn with(self, value: f64) -> Self {
        match self {
            Self::Packets(_) => Self::Packets(value),
            Self::Bytes(_) => Self::Bytes(value),
        }
    }
}

/// The most a buffer holds: waiting packets, the one in transmission not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

/// What a discipline may know about the link it serves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Capacity.
    pub rate: Rate,
    /// Buffer.
    pub limit: Limit,
    /// Typical packet, for rules that turn bytes into packets.
    pub mean_packet: Bytes,
}

impl Link {
    /// Capacity in typical packets per second.
    pub fn pkts_per_sec(&self) -> f64 {
        self.rate.bytes_per_sec() / self.mean_packet.0 as f64
    }

    /// The buffer in packets.
    pub fn limit_pkts(&self) -> f64 {
        match self.limit {
            Limit::Packets(n) => f64::from(n),
            Limit::Bytes(b) => b as f64 / self.mean_packet.0 as f64,
        }
    }

    /// The buffer in bytes.
    pub fn limit_bytes(&self) -> f64 {
        match self.limit {
            Limit::Packets(n) => f64::from(n) * self.mean_packet.0 as f64,
            Limit::Bytes(b) => b as f64,
        }
    }
}
