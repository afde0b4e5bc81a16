//! Types for sizes, rates and queue depths.

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

    /// Transmission time of `bytes`, rounded to the nearest nanosecond.
    pub const fn time_for(self, bytes: u32) -> Span {
        // u128: bytes x 8e9 overflows u64 above 2.3 GB.
        let bits_ns = bytes as u128 * 8_000_000_000;
        Span::from_nanos(((bits_ns + (self.0 / 2) as u128) / self.0 as u128) as u64)
    }
}

/// A queue length or threshold, in packets or in bytes.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub enum Depth {
    /// In packets, possibly fractional.
    Packets(f64),
    /// In bytes.
    Bytes(f64),
}

impl Depth {
    /// Whether both have the same unit.
    pub const fn is_like(self, other: Self) -> bool {
        matches!((self, other), (Self::Packets(_), Self::Packets(_)) | (Self::Bytes(_), Self::Bytes(_)))
    }

    /// The number, in the depth's unit.
    pub const fn value(self) -> f64 {
        match self {
            Self::Packets(n) | Self::Bytes(n) => n,
        }
    }

    /// The size of `packet` in this depth's unit.
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

/// The buffer size: queued packets, without the packet in transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// In packets.
    Packets(u32),
    /// In bytes.
    Bytes(u64),
}

/// The properties of a link that a discipline knows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Rate in bit/s.
    pub rate: Rate,
    /// Buffer size, without the packet in transmission.
    pub limit: Limit,
    /// Mean packet size, to convert bytes to packets.
    pub mean_packet: Bytes,
}

impl Link {
    /// The link's rate in packets of mean size per second.
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
