//! CHOKe with the numbers of Linux 6.12 (`spacing=once`), so that both treat every packet alike: sch_choke.c.
//!
//! Linux keeps the queue in an array. A queued packet that a match drops leaves a hole, which stays until the head of
//! the queue has passed it. The random selection draws a place up to three times, until it is no hole, and then takes
//! the head.

use alloc::collections::VecDeque;

use crate::base::cx::Cx;
use crate::base::packet::Packet;
use crate::base::port::{MAIN, Port};
use crate::base::rng::Rng;
use crate::base::units::Depth;
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::parts::kernel_red::KernelRed;

/// How often a place is drawn.
const TRIES: usize = 3;

/// State of Linux's CHOKe.
pub(super) struct Linux {
    unit: Depth,
    red: KernelRed,
    /// The flow of each queued packet in FIFO order; `None`: a hole. The first is no hole.
    places: VecDeque<Option<u32>>,
    /// Base probability of the latest arrival, as the probe shows it.
    p: f64,
    matched: u64,
}

/// `get_random_u32_below`: uniform from 0 to `n` - 1 without bias. Draws 32 bits, again while the product is in the
/// remainder of 2^32.
fn below(n: u32, rng: &mut Rng) -> u32 {
    loop {
        let product = u64::from(n) * u64::from(rng.bits32());
        if product as u32 >= n || product as u32 >= n.wrapping_neg() % n {
            return (product >> 32) as u32;
        }
    }
}

impl Linux {
    pub(super) const fn new(unit: Depth, red: KernelRed) -> Self {
        Self { unit, red, places: VecDeque::new(), p: 0.0, matched: 0 }
    }

    /// This CHOKe with the state of `before`; `None` if the units differ.
    pub(super) fn after(self, before: &Self) -> Option<Self> {
        let (red, places) = (self.red.after(&before.red), before.places.clone());
        let same = self.unit.is_like(before.unit);
        same.then_some(Self { unit: self.unit, red, places, p: before.p, matched: before.matched })
    }

    pub(super) const fn red(&self) -> &KernelRed {
        &self.red
    }

    pub(super) const fn p(&self) -> f64 {
        self.p
    }

    pub(super) const fn matched(&self) -> u64 {
        self.matched
    }

    /// `choke_peek_random`: the place of a queued packet. The queue is not empty.
    fn random_place(&self, rng: &mut Rng) -> usize {
        let draw = |_| below(self.places.len() as u32, rng) as usize;
        (0..TRIES).map(draw).find(|place| self.places[*place].is_some()).unwrap_or(0)
    }

    /// Drops the holes at the head.
    fn skip_holes(&mut self) {
        while self.places.front() == Some(&None) {
            self.places.pop_front();
        }
    }

    /// Selects a queued packet at random. Drops it if it has the same flow as `packet`, and returns whether it did.
    fn drops_its_like(&mut self, packet: &Packet, port: &mut Port, cx: &mut Cx) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let place = self.random_place(cx.rng);
        if self.places[place] != Some(packet.flow) {
            return false;
        }
        let before = self.places.iter().take(place).flatten().count();
        self.places[place] = None;
        self.skip_holes();
        port.drop_at(MAIN, before as u32, Reason::Early, &mut self.red, cx);
        self.matched += 1;
        true
    }

    /// RED's verdict on an arrival that matches no queued packet, with the average above min_th.
    fn judge(&mut self, cx: &mut Cx) -> Verdict {
        if self.red.is_above_max() {
            self.p = 1.0;
            self.red.restart();
            return Verdict::Signal;
        }
        self.p = self.red.p();
        if self.red.ends_gap(cx.rng) { Verdict::Signal } else { Verdict::Accept }
    }

    /// `choke_enqueue`.
    #[inline(never)]
    pub(super) fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        self.red.average(self.unit.measure(&port.level(MAIN)) as u64, cx.now);
        let verdict = if !self.red.is_above_min() {
            self.p = 0.0;
            self.red.restart();
            Verdict::Accept
        } else if self.drops_its_like(&packet, port, cx) {
            Verdict::Drop
        } else {
            self.judge(cx)
        };
        if let Fate::Queued { .. } = port.admit(MAIN, packet, verdict, &mut self.red, cx) {
            self.places.push_back(Some(packet.flow));
        }
    }

    /// `choke_dequeue`.
    #[inline(never)]
    pub(super) fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        self.places.pop_front();
        self.skip_holes();
        port.pop_judged(MAIN, &mut self.red, cx)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::Choke;
    use super::*;
    use crate::base::host::Queue;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Link, Rate};
    use crate::testing::by_hand::queue;

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(300), mean_packet: Bytes(500) };

    fn choke(settings: &str) -> Queue<Choke> {
        queue(&alloc::format!("spacing=once w_q=1 {settings}"), LINK, true)
    }

    fn offer(queue: &mut Queue<Choke>, slot: u32, flow: u32) {
        queue.arrive(Packet { slot, flow, len: 500, ..Packet::default() }, Instant::ZERO);
    }

    fn places(queue: &Queue<Choke>) -> Vec<Option<u32>> {
        queue.discipline().linux.as_ref().unwrap().places.iter().copied().collect()
    }

    #[test]
    fn numbers_below_a_bound_are_drawn_without_bias() {
        // 3 x 2^30 leaves a remainder of 2^30: a quarter of the numbers is drawn again.
        let (mut rng, mut raw) = (Rng::stream(1, "below"), Rng::stream(1, "below"));
        for _ in 0..1000 {
            let accepted = core::iter::repeat_with(|| (3_u64 << 30) * u64::from(raw.bits32()))
                .find(|product| *product as u32 >= 1 << 30)
                .unwrap();
            assert_eq!(u64::from(below(3 << 30, &mut rng)), accepted >> 32);
        }
        let mut counts = [0; 5];
        (0..5000).for_each(|_| counts[below(5, &mut rng) as usize] += 1);
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn dropped_packets_leave_holes_until_the_head_passes() {
        let mut queue = choke("min_th=2p max_th=200p max_p=0");
        for slot in 0..3 {
            offer(&mut queue, slot, slot % 2);
        }
        // The average lags: it is 2 at the third arrival after the idle time.
        let mut slot = 3;
        while queue.discipline().linux.as_ref().unwrap().matched == 0 {
            offer(&mut queue, slot, 10 + slot);
            offer(&mut queue, slot + 1, 1);
            slot += 2;
        }
        let held = places(&queue);
        assert_eq!(held.iter().flatten().count(), queue.port.pkts() as usize);
        let hole = held.iter().position(Option::is_none).expect("a hole");
        for _ in 0..hole {
            assert_eq!(places(&queue)[0], queue.depart(Instant::ZERO).map(|packet| packet.flow));
        }
        assert!(places(&queue).iter().all(Option::is_some), "the head has passed it");
    }

    #[test]
    fn after_three_holes_the_head_is_selected() {
        let mut linux = Linux::new(Depth::Packets(0.0), choke("").discipline().linux.as_ref().unwrap().red.clone());
        linux.places = core::iter::once(Some(7)).chain((0..1_000_000).map(|_| None)).collect();
        let (mut rng, mut raw) = (Rng::stream(1, "place"), Rng::stream(1, "place"));
        assert_eq!(linux.random_place(&mut rng), 0);
        (0..3).for_each(|_| assert!(raw.bits() > 0));
        assert_eq!(rng.bits(), raw.bits(), "three numbers were drawn");
    }

    #[test]
    fn empty_queue_above_min_th_draws_no_place() {
        let mut queue = choke("min_th=2p max_th=4p max_p=0");
        (0..5).for_each(|slot| offer(&mut queue, slot, slot));
        queue.port.discarded().clear();
        while queue.port.pkts() > 0 {
            queue.depart(Instant::ZERO);
        }
        // No dequeue has found it empty: the average of 5 packets is not an idle one.
        offer(&mut queue, 9, 9);
        assert!(queue.discipline().linux.as_ref().unwrap().places.len() <= 1);
    }
}
