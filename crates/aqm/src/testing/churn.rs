//! A load for benches. It needs no clock: the caller times it.

use crate::base::host::Queue;
use crate::base::ladder::Discipline;
use crate::base::packet::{Ecn, Packet};
use crate::base::time::Instant;
use crate::base::units::{Bytes, Limit, Link, Rate};

/// A steady load of 1024 flows around a backlog of 50 packets.
#[derive(Debug, Default)]
pub struct Churn {
    now: Instant,
    offered: u64,
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
                    queue.arrive(self.packet(), self.now);
                }
            }
            queue.port.discarded().clear();
            sent += u64::from(queue.depart(self.now).is_some());
        }
        sent
    }

    fn packet(&mut self) -> Packet {
        let (flow, slot) = (self.offered as u32 % Self::FLOWS, self.offered as u32);
        self.offered += 1;
        let ecn = if flow.is_multiple_of(4) { Ecn::Ect0 } else { Ecn::NotEct };
        Packet { slot, len: Self::LENGTH, flow, pair: flow / 2, class: (flow % 10) as u8, ecn, ..Packet::default() }
    }
}
