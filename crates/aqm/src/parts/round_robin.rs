//! Deficit round robin: each turn gives a queue a quantum (Shreedhar and Varghese 1995).
//!
//! At its turn a queue adds its quantum to its deficit. It sends packets from its head while the deficit covers their
//! costs. It keeps the rest of the deficit for its next turn, unless it becomes empty. The caller gives the cost of a
//! head as an integer. If all costs are equal, this is weighted round robin by packets. The scheduler is
//! work-conserving. A decision takes constant time if every quantum covers the cost of a head. Otherwise it passes over
//! the queues a fixed number of times, however many rounds are needed.

/// Largest number of queues.
pub const MAX_QUEUES: usize = 32;

/// The scheduler; queues are numbered from 0.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    quanta: [u64; MAX_QUEUES],
    accounts: [u64; MAX_QUEUES],
    /// Bit i: queue i holds packets.
    backlogged: u32,
    /// The queue that has the turn.
    turn: usize,
}

impl RoundRobin {
    /// Queues 0, 1, ... with these quanta, raised to at least 1; up to [`MAX_QUEUES`] queues. Queue 0 has the first turn.
    pub fn new(quanta: impl Iterator<Item = u64>) -> Self {
        let mut own = [1; MAX_QUEUES];
        own.iter_mut().zip(quanta).for_each(|(own, quantum)| *own = quantum.max(1));
        Self { quanta: own, accounts: [0; MAX_QUEUES], backlogged: 0, turn: MAX_QUEUES - 1 }
    }

    /// Keeps the quanta of `self` and takes the turn, the deficits and the backlogged queues of `before`.
    pub const fn after(self, before: &Self) -> Self {
        Self { quanta: self.quanta, accounts: before.accounts, backlogged: before.backlogged, turn: before.turn }
    }

    /// Converts the deficits to another unit of cost: multiplies them by `new`/`old`.
    pub fn in_units(mut self, new: u64, old: u64) -> Self {
        for account in &mut self.accounts {
            *account = (u128::from(*account) * u128::from(new) / u128::from(old.max(1))) as u64;
        }
        self
    }

    /// Records that queue `i` holds packets.
    #[inline]
    pub const fn joined(&mut self, i: usize) {
        self.backlogged |= 1 << i;
    }

    /// The queue that sends its head, and the cost; `None` if all are empty. `cost` gives the cost of a queue's head.
    #[inline]
    pub fn pick(&mut self, cost: impl Fn(usize) -> u64) -> Option<(usize, u64)> {
        if self.backlogged == 0 {
            return None;
        }
        // A deficit of 0 covers nothing: in most cases this avoids reading the head. Empty queues have deficit 0.
        if self.accounts[self.turn % MAX_QUEUES] > 0 {
            let price = cost(self.turn);
            if self.pays(self.turn, price) {
                return Some((self.turn, price));
            }
        }
        let mut left = self.backlogged;
        loop {
            self.turn = self.next();
            self.accounts[self.turn] += self.quanta[self.turn];
            let price = cost(self.turn);
            if self.pays(self.turn, price) {
                return Some((self.turn, price));
            }
            left &= !(1 << self.turn);
            if left == 0 {
                self.skip_rounds(&cost);
                left = self.backlogged;
            }
        }
    }

    /// Records that queue `i` has sent its head at this cost. `more`: whether it holds another packet.
    #[inline]
    pub const fn sent(&mut self, i: usize, cost: u64, more: bool) {
        if more {
            self.accounts[i] -= cost;
        } else {
            self.accounts[i] = 0;
            self.backlogged &= !(1 << i);
        }
    }

    const fn pays(&self, i: usize, price: u64) -> bool {
        self.accounts[i] >= price
    }

    /// The next queue with packets after the current one, in cyclic order; the current one if it is the only one.
    const fn next(&self) -> usize {
        let after = self.turn as u32 + 1;
        // Rotated so that the queue after the current one is bit 0.
        let from_next = self.backlogged.rotate_right(after % MAX_QUEUES as u32);
        (after + from_next.trailing_zeros()) as usize % MAX_QUEUES
    }

    /// Skips all rounds in which no queue could send: adds their quanta to the deficits. Called after one such round.
    #[inline(never)]
    fn skip_rounds(&mut self, cost: impl Fn(usize) -> u64) {
        let waiting = self.backlogged;
        let holders = || (0..MAX_QUEUES).filter(|i| waiting >> i & 1 == 1);
        // A queue needs ceil(missing/quantum) turns. Skip one less than the smallest of these numbers.
        let rounds = holders().map(|i| (cost(i) - self.accounts[i] - 1) / self.quanta[i]).min().unwrap_or(0);
        holders().for_each(|i| self.accounts[i] += rounds * self.quanta[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;
    use alloc::vec::Vec;

    /// The senders of `n` packets if no queue ever becomes empty.
    fn order(quanta: &[u64], costs: &[u64], n: usize) -> Vec<usize> {
        let mut turns = RoundRobin::new(quanta.iter().copied());
        (0..quanta.len()).for_each(|i| turns.joined(i));
        let send = |_| {
            let (i, _) = turns.pick(|i| costs[i]).unwrap();
            turns.sent(i, costs[i], true);
            i
        };
        (0..n).map(send).collect()
    }

    #[test]
    fn packets_of_cost_one_give_weighted_round_robin() {
        assert_eq!(order(&[1, 2, 3], &[1, 1, 1], 12), [0, 1, 1, 2, 2, 2, 0, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn unused_deficit_is_kept() {
        // Quanta of 500 and heads of 400: 500 pays one and leaves 100, then 600 and 200, 700 and 300, 800 pays two.
        assert_eq!(order(&[500, 500], &[400, 500], 9), [0, 1, 0, 1, 0, 1, 0, 0, 1]);
    }

    #[test]
    fn bytes_sent_are_proportional_to_the_quanta() {
        for (quanta, costs) in
            [([100, 300], [500, 500]), ([1500, 4500], [1500, 40]), ([1, 3], [40, 9000]), ([7, 21], [65, 1])]
        {
            let sent = order(&quanta, &costs, 100_000);
            let total = |i| sent.iter().filter(|&&j| j == i).count() as f64 * costs[i] as f64;
            let share = total(0) / (total(0) + total(1));
            assert!((share - 0.25).abs() < 0.01, "{quanta:?} {costs:?}: {share}");
        }
    }

    #[test]
    fn empty_queue_loses_its_deficit() {
        let mut turns = RoundRobin::new([1000, 1000].into_iter());
        assert_eq!(turns.pick(|_| 0), None);
        turns.joined(1);
        assert_eq!(turns.pick(|_| 100), Some((1, 100)));
        turns.sent(1, 100, false);
        assert_eq!(turns.pick(|_| 0), None);
        turns.joined(1);
        // The 900 left from its last turn are gone: it gets a new turn, at once.
        assert_eq!((turns.pick(|_| 950), turns.accounts[1]), (Some((1, 950)), 1000));
        turns.joined(0);
        turns.sent(1, 950, true);
        assert_eq!(turns.pick(|_| 950), Some((0, 950)));
    }

    #[test]
    fn skipping_rounds_equals_stepping_through_them() {
        let mut rng = Rng::stream(1, "rounds");
        for _ in 0..2000 {
            let n = 1 + rng.below(6) as usize;
            let quanta: Vec<u64> = (0..n).map(|_| 1 + rng.below(50)).collect();
            let mut turns = RoundRobin::new(quanta.iter().copied());
            let (mut accounts, mut turn, mut held) = (alloc::vec![0; n], n - 1, alloc::vec![false; n]);
            for _ in 0..50 {
                let i = rng.below(n as u64) as usize;
                held[i] = true;
                turns.joined(i);
                let costs: Vec<u64> = (0..n).map(|_| 1 + rng.below(500)).collect();
                // The paper's listing.
                while !held[turn] || accounts[turn] < costs[turn] {
                    turn = (turn + 1) % n;
                    accounts[turn] += if held[turn] { quanta[turn] } else { 0 };
                }
                let picked = turns.pick(|i| costs[i]);
                assert_eq!((picked, turns.accounts[turn]), (Some((turn, costs[turn])), accounts[turn]));
                let more = rng.uniform() < 0.7;
                turns.sent(turn, costs[turn], more);
                held[turn] = more;
                accounts[turn] = if more { accounts[turn] - costs[turn] } else { 0 };
            }
        }
    }

    #[test]
    fn all_32_queues_are_served() {
        let sent = order(&[1; MAX_QUEUES], &[1; MAX_QUEUES], 2 * MAX_QUEUES);
        assert_eq!(sent, (0..MAX_QUEUES).chain(0..MAX_QUEUES).collect::<Vec<_>>());
    }
}
