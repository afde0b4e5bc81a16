//! A steady load of packets on a discipline, for benchmarks. It reads no clock; the caller measures the time.

use alloc::vec::Vec;

use crate::base::discipline::Discipline;
use crate::base::host::Queue;
use crate::base::packet::{Ecn, Packet};
use crate::base::time::Instant;
use crate::base::units::{Bytes, Limit, Link, Rate};

/// A steady load of 1024 flows around a backlog of 50 packets.
#[derive(Debug)]
pub struct Churn {
    now: Instant,
    offered: u64,
    /// One packet per flow, prepared so that its construction is not measured.
    packets: Vec<Packet>,
}

impl Default for Churn {
    fn default() -> Self {
        Self { now: Instant::ZERO, offered: 0, packets: (0..Self::FLOWS).map(Self::packet).collect() }
    }
}

impl Churn {
    /// The backlog in packets.
    pub const BACKLOG: u32 = 50;
    /// Number of flows, offered in turn.
    pub const FLOWS: u32 = 1024;
    /// Packet length in bytes.
    pub const LENGTH: u32 = 500;
    /// The link: 10 Mb/s with a buffer of twice the backlog.
    pub const LINK: Link = Link {
        rate: Rate(10_000_000),
        limit: Limit::Packets(2 * Self::BACKLOG),
        mean_packet: Bytes(Self::LENGTH as u64),
    };

    /// Offers `packets` packets, at most two per packet time, and sends one per packet time. Returns the number sent.
    pub fn run<D: Discipline>(&mut self, queue: &mut Queue<D>, packets: u64) -> u64 {
        let service = Self::LINK.rate.time_for(Self::LENGTH);
        let (until, mut sent) = (self.offered + packets, 0);
        while self.offered < until {
            self.now += service;
            while let Some(due) = queue.next_tick().filter(|due| *due <= self.now) {
                queue.tick(due);
            }
            for _ in 0..2 {
                if queue.port.pkts() < Self::BACKLOG {
                    queue.arrive(self.packets[(self.offered % u64::from(Self::FLOWS)) as usize], self.now);
                    self.offered += 1;
                }
            }
            queue.port.discarded().clear();
            sent += u64::from(queue.depart(self.now).is_some());
        }
        sent
    }

    fn packet(flow: u32) -> Packet {
        let ecn = if flow.is_multiple_of(4) { Ecn::Ect0 } else { Ecn::NotEct };
        Packet {
            slot: flow,
            len: Self::LENGTH,
            flow,
            pair: flow / 2,
            class: (flow % 10) as u8,
            ecn,
            ..Packet::default()
        }
    }
}
