//! A load for benches. It needs no clock: the caller times it.

use alloc::vec::Vec;

use crate::base::host::Queue;
use crate::base::ladder::Discipline;
use crate::base::packet::{Ecn, Packet};
use crate::base::time::Instant;
use crate::base::units::{Bytes, Limit, Link, Rate};

/// A steady load of 1024 flows around a backlog of 50 packets.
#[derive(Debug)]
pub struct Churn {
    now: Instant,
    offered: u64,
    /// A packet of each flow: to make one anew would be timed with the queue.
    packets: Vec<Packet>,
}

impl Default for Churn {
    fn default() -> Self {
        Self { now: Instant::ZERO, offered: 0, packets: (0..Self::FLOWS).map(Self::packet).collect() }
    }
}

impl Churn {
    /// The backlog it keeps up, in packets.
    pub const BACKLOG: u32 = 50;
    /// Flows that take turns.
    pub const FLOWS: u32 = 1024;
    /// Length of its packets.
    pub const LENGTH: u32 = 500;
    /// The link it wants: 10 Mb/s with room for twice the backlog.
    pub const LINK: Link = Link {
        rate: Rate(10_000_000),
        limit: Limit::Packets(2 * Self::BACKLOG),
        mean_packet: Bytes(Self::LENGTH as u64),
    };

    /// Offers `packets` packets, sending one each packet time; at most two are offered meanwhile.
    /// Says how many were sent.
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
