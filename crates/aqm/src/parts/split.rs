//! A scheduler for two queues that share a link at variable rates.
//!
//! It is work-conserving: the rates matter only while both queues hold packets, and service without contention is not
//! charged later.

use crate::base::time::Instant;
use crate::base::units::Bytes;
use crate::choice;

choice! {
    /// How the rates are enforced.
    pub enum Scheduler {
        /// A virtual clock per queue: the head that would finish first is sent first.
        Clocks = "clocks",
        /// Deficit round robin with quanta in proportion to the rates.
        Drr = "drr",
    }
}

/// Total quantum of one DRR round, in packets of mean size: our choice; the paper on RED+Tail has none.
const ROUND: f64 = 2.0;

/// The scheduler's state.
#[derive(Clone)]
pub struct Split {
    scheduler: Scheduler,
    /// Rates of the two queues in bytes per second.
    rates: [f64; 2],
    /// Clocks: bytes of the head that the rate of its queue has not yet covered. DRR: the deficit counter.
    owed: [f64; 2],
    /// Time of the last update of `owed`.
    at: Instant,
    /// DRR: index of the queue that has the turn.
    turn: usize,
    /// DRR: total quantum of a round in bytes.
    round: f64,
}

/// Time to cover `owed` bytes at `rate`, in seconds.
fn finish(owed: f64, rate: f64) -> f64 {
    if rate > 0.0 { owed / rate } else { f64::INFINITY }
}

impl Split {
    /// A scheduler for two empty queues; the second one has the full rate.
    pub fn new(scheduler: Scheduler, mean_packet: Bytes) -> Self {
        let round = ROUND * mean_packet.0 as f64;
        Self { scheduler, rates: [0.0, 1.0], owed: [0.0; 2], at: Instant::ZERO, turn: 0, round }
    }

    /// Advances the virtual clocks to `now` at the current rates.
    pub fn advance(&mut self, now: Instant) {
        // Arrivals and departures often coincide.
        if self.scheduler == Scheduler::Clocks && now > self.at {
            let dt = now.since(self.at).secs();
            for (owed, rate) in self.owed.iter_mut().zip(self.rates) {
                *owed -= rate * dt;
            }
        }
        self.at = now;
    }

    /// Sets the rates in bytes per second; at least one must be above 0.
    pub const fn set_rates(&mut self, rates: [f64; 2]) {
        self.rates = rates;
    }

    /// The current rates in bytes per second.
    pub const fn rates(&self) -> [f64; 2] {
        self.rates
    }

    /// Records that queue `i` was empty and now has a head of `len` bytes.
    pub fn begin(&mut self, i: usize, len: u32) {
        self.owed[i] = match self.scheduler {
            Scheduler::Clocks => f64::from(len),
            Scheduler::Drr => 0.0,
        };
    }

    /// The queue that sends next if both hold packets; `head` gives the length of a queue's head.
    #[inline]
    pub fn pick(&mut self, head: impl Fn(usize) -> u32) -> usize {
        match self.scheduler {
            Scheduler::Clocks => {
                let [first, second] = [0, 1].map(|i| finish(self.owed[i], self.rates[i]));
                usize::from(second < first)
            }
            Scheduler::Drr => {
                while self.owed[self.turn] < f64::from(head(self.turn)) {
                    self.turn = 1 - self.turn;
                    self.owed[self.turn] += self.round * self.rates[self.turn] / (self.rates[0] + self.rates[1]);
                }
                self.turn
            }
        }
    }

    /// Queue `i` sent `len` bytes and has a new head of `next` bytes; `contended`: the other queue held packets too.
    pub fn served(&mut self, i: usize, len: u32, next: Option<u32>, contended: bool) {
        let kept = if contended { self.owed[i] } else { 0.0 };
        self.owed[i] = match self.scheduler {
            Scheduler::Clocks => kept + next.map_or(0.0, f64::from),
            Scheduler::Drr if contended => kept - f64::from(len),
            Scheduler::Drr => 0.0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Span;

    /// Bytes sent by each of two queues that never empty, 1 MB at C = 1000 bytes a second.
    fn sent(scheduler: Scheduler, rates: [f64; 2], len: [u32; 2]) -> [f64; 2] {
        let mut split = Split::new(scheduler, Bytes(500));
        split.set_rates(rates);
        (0..2).for_each(|i| split.begin(i, len[i]));
        let (mut now, mut sent) = (Instant::ZERO, [0.0; 2]);
        while sent[0] + sent[1] < 1e6 {
            split.advance(now);
            let i = split.pick(|i| len[i]);
            split.served(i, len[i], Some(len[i]), true);
            sent[i] += f64::from(len[i]);
            now += Span::from_secs(f64::from(len[i]) / 1000.0);
        }
        sent
    }

    #[test]
    fn bytes_follow_the_rates_at_any_packet_size() {
        for scheduler in [Scheduler::Clocks, Scheduler::Drr] {
            for (rates, len) in
                [([250.0, 750.0], [500, 500]), ([250.0, 750.0], [1500, 40]), ([900.0, 100.0], [40, 9000])]
            {
                let [a, b] = sent(scheduler, rates, len);
                let share = a / (a + b);
                assert!((share - rates[0] / 1000.0).abs() < 0.01, "{scheduler:?} {rates:?} {len:?}: {share}");
            }
        }
    }

    #[test]
    fn queue_with_rate_0_waits_for_the_other() {
        for scheduler in [Scheduler::Clocks, Scheduler::Drr] {
            assert_eq!(sent(scheduler, [0.0, 1000.0], [500, 500])[0], 0.0);
            assert_eq!(sent(scheduler, [1000.0, 0.0], [500, 500])[1], 0.0);
        }
    }

    #[test]
    fn head_that_finishes_first_is_sent_first() {
        let mut split = Split::new(Scheduler::Clocks, Bytes(500));
        split.set_rates([100.0, 900.0]);
        split.begin(0, 500);
        split.begin(1, 500);
        // Before packet n: 5 - n/2 s against (500 + 50 n)/900 s, equal at n = 8.
        let mut now = Instant::ZERO;
        for n in 0..10 {
            split.advance(now);
            let i = split.pick(|_| 500);
            assert_eq!(i, usize::from(n != 8), "packet {n}");
            split.served(i, 500, Some(500), true);
            now += Span::from_millis(500);
        }
    }

    #[test]
    fn service_without_contention_is_not_charged() {
        let mut split = Split::new(Scheduler::Clocks, Bytes(500));
        split.set_rates([100.0, 900.0]);
        split.begin(0, 500);
        for _ in 0..100 {
            split.served(0, 500, Some(500), false);
        }
        split.begin(1, 5000);
        assert_eq!(split.pick(|i| [500, 5000][i]), 0, "5 s against 5.6 s");
    }
}
