//! Drop-tail: a full buffer drops the arrival, or with `front` its oldest packets. There is no AQM.

use crate::base::design::{About, Design, Preset, Probes};
use crate::base::discipline::Aqm;
use crate::base::tc::{LIMIT_PACKETS, Tc};
use crate::base::units::Link;
use crate::params;

params! {
    /// Parameters of drop-tail.
    pub struct Params {
        /// A full buffer drops its oldest packets instead of the arrival.
        front: bool = false, in 0.0 ..= 1.0, "drop_front_", "Lakshman et al. 1996; ns-2.35 has it off";
    }
}

/// Accepts every packet that fits into the buffer. Disciplines with several queues use it for queues without an AQM.
pub struct DropTail;

impl Aqm for DropTail {}

/// Drop-tail or, with `front`, drop-front.
pub struct TailOrFront {
    front: bool,
}

impl Design for TailOrFront {
    type Params = Params;
    const ABOUT: About = About {
        summary: "drops only when the buffer is full: the arrival, or the oldest packet",
        source: "RFC 7567 section 2, as the default to compare with; front: Lakshman, Neidhardt, Ott: The Drop from \
                 Front Strategy in TCP and in TCP over ATM, INFOCOM 1996",
        rule: "arrival:   if it does not fit: drop, else enqueue\n\
               front=on:  while it does not fit: drop the oldest;  enqueue",
        deviations: &[
            "the buffer differs from ns-2: ns-2 holds one packet less than its limit; compare with queue = limit - 1",
            "front=on with a buffer in bytes differs from ns-2: it drops as many packets as needed; ns-2 drops one, \
             and may exceed its limit",
            "front=on with an arrival longer than the buffer drops only the arrival",
        ],
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "ns2",
        settings: "ecn=off front=off",
        source: "ns-2.35 drop-tail; set the buffer one packet smaller",
    }];
    const TC: Option<Tc> = Some(Tc::new("ecn=off hard_limit=1000p", &[LIMIT_PACKETS]));
    fn spares_empty(_: &Params) -> bool {
        true
    }

    fn build(params: &Params, _: &Link) -> Self {
        Self { front: params.front }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self::build(params, link))
    }
}

impl Aqm for TailOrFront {
    #[inline]
    fn makes_room(&self) -> bool {
        self.front
    }
}

impl Probes for TailOrFront {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::cx::Cx;
    use crate::base::host::Queue;
    use crate::base::packet::Packet;
    use crate::base::params::ParamSet;
    use crate::base::port::{ListId, Port};
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::base::verdict::{Fate, Reason, Verdict};
    use alloc::vec::Vec;

    fn queue(front: &str, limit: Limit) -> Queue<Fifo<TailOrFront>> {
        let link = Link { rate: Rate(10_000_000), limit, mean_packet: Bytes(500) };
        let mut params = Params::default();
        params.set("front", front).unwrap().unwrap();
        Queue::new(Fifo::new(TailOrFront::build(&params, &link)), link, true, Rng::stream(1, "queue"))
    }

    /// Offers packets of these lengths, numbered from 0. Returns the numbers of the dropped and the queued ones.
    fn fates(queue: &mut Queue<Fifo<TailOrFront>>, lengths: &[u32]) -> (Vec<u32>, Vec<u32>) {
        for (slot, &len) in (0..).zip(lengths) {
            queue.arrive(Packet { slot, len, ..Packet::default() }, Instant::ZERO);
            assert_eq!(queue.port.check(), Ok(()));
        }
        assert!(queue.port.discarded().iter().all(|(_, reason)| *reason == Reason::Overflow));
        let dropped = queue.port.discarded().drain(..).map(|(packet, _)| packet.slot).collect();
        (dropped, core::iter::from_fn(|| queue.depart(Instant::ZERO)).map(|packet| packet.slot).collect())
    }

    #[test]
    fn full_buffer_drops_arrival_or_oldest() {
        let fates = |front| fates(&mut queue(front, Limit::Packets(3)), &[500; 5]);
        assert_eq!(fates("off"), (alloc::vec![3, 4], alloc::vec![0, 1, 2]));
        assert_eq!(fates("on"), (alloc::vec![0, 1], alloc::vec![2, 3, 4]));
    }

    #[test]
    fn byte_buffer_drops_oldest_until_arrival_fits() {
        let fates = |lengths: &[u32]| fates(&mut queue("on", Limit::Bytes(1000)), lengths);
        assert_eq!(fates(&[300, 300, 300, 100]), (alloc::vec![], alloc::vec![0, 1, 2, 3]));
        assert_eq!(fates(&[300, 300, 300, 600]), (alloc::vec![0, 1], alloc::vec![2, 3]));
        assert_eq!(fates(&[300, 300, 300, 1000]), (alloc::vec![0, 1, 2], alloc::vec![3]));
        // Longer than the buffer: no other packet is dropped.
        assert_eq!(fates(&[300, 300, 1001, 300]), (alloc::vec![2], alloc::vec![0, 1, 3]));
    }

    #[test]
    fn zero_buffer_drops_the_arrival() {
        assert_eq!(fates(&mut queue("on", Limit::Packets(0)), &[500; 2]), (alloc::vec![0, 1], alloc::vec![]));
    }

    #[test]
    fn drop_front_never_drops_from_another_queue() {
        let link = Link { rate: Rate(10_000_000), limit: Limit::Bytes(1000), mean_packet: Bytes(500) };
        let (mut port, mut rng) = (Port::new(link, 2, true), Rng::stream(1, "port"));
        let mut cx = Cx::new(Instant::ZERO, &mut rng);
        let mut offer = |list, len| {
            let packet = Packet { len, ..Packet::default() };
            let fate = port.admit(ListId(list), packet, Verdict::Accept, &mut TailOrFront { front: true }, &mut cx);
            (fate == Fate::Queued { marked: false }, port.level(ListId(0)).bytes(), port.level(ListId(1)).bytes())
        };
        assert_eq!(offer(0, 300), (true, 300, 0));
        assert_eq!(offer(1, 600), (true, 300, 600));
        assert_eq!(offer(0, 400), (true, 400, 600));
        assert_eq!(offer(0, 401), (false, 400, 600));
        assert_eq!(offer(1, 200), (true, 400, 200));
    }
}
