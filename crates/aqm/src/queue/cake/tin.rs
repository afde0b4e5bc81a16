//! A tin: its clock, its flow queues, its COBALT parameters, and its statistics.

use super::autorate::average;
use super::flows::{Flows, index};
use super::hosts::{Hosts, Isolation, WayCounts};
use super::shaper::{Clock, Pace};
use crate::aqm::delay::cobalt::{self, Rule, Start};
use crate::base::time::{Instant, Span};
use crate::base::units::Bytes;
use crate::probes;

/// Bytes per second, divided by this, give the bytes that a flow may send per turn (`cake_set_rate`).
const QUANTUM_SHIFT: u32 = 12;
/// Least and largest number of bytes that a flow may send per turn.
const QUANTA: (u64, u64) = (300, 1514);

/// What the rules of a tin depend on, except its rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Expected round trip; COBALT's interval.
    pub(super) rtt: Span,
    /// Largest packet in bytes.
    pub(super) mtu: u32,
}

/// A tin.
#[derive(Clone)]
pub(super) struct Tin {
    /// Its virtual clock.
    pub(super) clock: Clock,
    /// Its flow queues.
    pub(super) flows: Flows,
    /// COBALT's parameters at its rate.
    pub(super) rule: Rule,
    /// Its threshold in bytes per second; 0: unlimited.
    pub(super) rate: u64,
    /// Bytes that a flow may send per turn.
    pub(super) quantum: u16,
    /// Bytes that the tin may send per turn if the queue is not shaped.
    pub(super) share: i32,
    /// Bytes that the tin may send now if the queue is not shaped.
    pub(super) deficit: i64,
    /// Packets in its queues.
    pub(super) waiting: u32,
    /// Its statistics.
    pub(super) seen: Seen,
}

/// Statistics of a tin, as `tc -s` shows them.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Seen {
    /// Bytes in its queues.
    pub(super) backlog: u64,
    /// Arrivals, also dropped ones.
    pub(super) packets: u64,
    /// Bytes of them.
    pub(super) bytes: u64,
    /// Packets dropped, without those of the ACK filter.
    pub(super) drops: u64,
    /// Packets marked.
    pub(super) marks: u64,
    /// Acknowledgements that the ACK filter dropped.
    pub(super) acks: u64,
    /// Queues from which BLUE drops.
    pub(super) unresponsive: u32,
    /// Longest packet in bytes.
    pub(super) longest: u32,
    /// Counters of the hash table.
    pub(super) ways: WayCounts,
    /// Moving averages of the sojourn time of sent packets in ns: one that follows peaks, the mean, one that follows
    /// minima.
    pub(super) delays: [u64; 3],
}

impl Seen {
    /// A packet is sent after `sojourn`.
    #[inline]
    pub(super) fn sent(&mut self, sojourn: Span) {
        let delay = sojourn.nanos();
        let [peak, mean, base] = self.delays;
        self.delays = [
            average(peak, delay, if delay > peak { 2 } else { 8 }),
            average(mean, delay, 8),
            average(base, delay, if delay < base { 2 } else { 8 }),
        ];
    }
}

/// The rules at a rate: pace, COBALT, bytes per turn of a flow. `cake_set_rate`.
fn rules(rate: u64, scale: Scale) -> (Pace, Rule, u16) {
    let pace = Pace::new(rate);
    let quantum = if rate == 0 { QUANTA.1 } else { (rate >> QUANTUM_SHIFT).clamp(QUANTA.0, QUANTA.1) };
    // Target is 1/20 of the RTT in whole microseconds, as tc computes it.
    let target = Span::from_micros((scale.rtt.nanos() / 1000 / 20).max(1));
    let params = cobalt::Params {
        target,
        interval: scale.rtt,
        mtu: Bytes(u64::from(scale.mtu)),
        start: Start::Kernel,
        ..cobalt::Params::default()
    };
    (pace, Rule::with(&params, pace.time(scale.mtu)), quantum as u16)
}

impl Tin {
    /// An empty tin with this threshold and turn.
    pub(super) fn new((rate, share): (u64, i32), scale: Scale, isolation: Isolation) -> Self {
        let (pace, rule, quantum) = rules(rate, scale);
        let flows = Flows::new(&rule, Hosts::new(isolation));
        let (clock, seen) = (Clock::new(pace), Seen::default());
        Self { clock, flows, rule, rate, quantum, share, deficit: 0, waiting: 0, seen }
    }

    /// A dequeue finds queue `at` empty. Returns whether its COBALT is at rest.
    #[inline]
    pub(super) fn empty(&mut self, at: u16, now: Instant) -> bool {
        let state = &mut self.flows.cobalt[index(at)];
        let was_blue = state.is_blue();
        self.rule.emptied(state, now);
        if was_blue {
            self.seen.unresponsive -= u32::from(!state.is_blue());
        }
        state.is_at_rest(now)
    }

    /// Takes `charged` bytes from the deficits of the tin and of its queue `at`.
    #[inline]
    pub(super) fn pay(&mut self, at: u16, charged: u32) {
        let deficit = &mut self.flows.flows[index(at)].deficit;
        *deficit = deficit.saturating_sub_unsigned(charged);
        self.deficit -= i64::from(charged);
    }

    /// Sets another threshold and turn, and keeps the state.
    pub(super) fn set_rate(&mut self, (rate, share): (u64, i32), scale: Scale) {
        let (pace, rule, quantum) = rules(rate, scale);
        self.clock.pace = pace;
        (self.rule, self.quantum, self.rate, self.share) = (rule, quantum, rate, share);
    }
}

probes! { Tin {
    /// Backlog of tin N. 0: best effort, 1: bulk, 2: voice (diffserv3) or video, 3: voice (diffserv4).
    backlog ["bytes"] = |s| s.seen.backlog as f64;
    /// Mean delay of the packets that tin N has sent.
    delay ["s"] = |s| s.seen.delays[1] as f64 * 1e-9;
    /// Peak delay of tin N: an average that rises fast and falls slowly.
    pk_delay ["s"] = |s| s.seen.delays[0] as f64 * 1e-9;
    /// Base delay of tin N: an average that falls fast and rises slowly.
    sp_delay ["s"] = |s| s.seen.delays[2] as f64 * 1e-9;
    /// Arrivals of tin N, also dropped ones.
    pkts ["packets"] = |s| s.seen.packets as f64;
    /// Bytes of the arrivals of tin N.
    bytes ["bytes"] = |s| s.seen.bytes as f64;
    /// Packets that tin N dropped, without those of the ACK filter.
    drops ["packets"] = |s| s.seen.drops as f64;
    /// Packets that tin N marked.
    marks ["packets"] = |s| s.seen.marks as f64;
    /// Acknowledgements of tin N that the ACK filter dropped.
    ack_drops ["packets"] = |s| s.seen.acks as f64;
    /// Packets of tin N whose flow was in another way of its set of the hash table.
    way_inds ["packets"] = |s| f64::from(s.seen.ways.hits);
    /// First packets of flows of tin N that got a free queue.
    way_miss ["packets"] = |s| f64::from(s.seen.ways.misses);
    /// First packets of flows of tin N that got the queue of another flow.
    way_cols ["packets"] = |s| f64::from(s.seen.ways.collisions);
    /// Queues of tin N of flows that send less than their share, with decaying ones.
    sp_flows ["1"] = |s| f64::from(s.flows.sparse + s.flows.decay);
    /// Queues of tin N of flows with a backlog.
    bk_flows ["1"] = |s| f64::from(s.flows.bulk);
    /// Queues of tin N from which BLUE drops.
    un_flows ["1"] = |s| f64::from(s.seen.unresponsive);
    /// Longest packet of tin N so far.
    max_len ["bytes"] = |s| f64::from(s.seen.longest);
    /// Threshold of tin N; 0: unlimited.
    thresh ["bit/s"] = |s| 8.0 * s.rate as f64;
    /// COBALT's target in tin N.
    target ["s"] = |s| s.rule.target().secs();
    /// COBALT's interval in tin N.
    interval ["s"] = |s| s.rule.interval().secs();
    /// Bytes that a flow of tin N may send in a round of DRR++.
    quantum ["bytes"] = |s| f64::from(s.quantum);
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::cake::diffserv::Tins;

    /// Target and interval in microseconds, and quantum, of each tin at `mbit` Mb/s.
    fn of(tins: Tins, mbit: u64, rtt: Span, mtu: u32) -> alloc::vec::Vec<(u64, u64, u16)> {
        let shares = tins.shares(mbit * 125_000);
        let rules = shares[..tins.count()].iter().map(|share| rules(share.0, Scale { rtt, mtu }));
        rules
            .map(|(_, rule, quantum)| {
                let [target, interval] = [rule.target(), rule.interval()].map(|span| (span.nanos() + 500) / 1000);
                (target, interval, quantum)
            })
            .collect()
    }

    const RTT: Span = Span::from_millis(100);

    #[test]
    fn slow_tins_have_the_times_of_linux() {
        // 1514 bytes take 12.112 ms; the sixteenth of the rate is 7812 bytes/s.
        let one = of(Tins::Diffserv3, 1, RTT, 1514);
        assert_eq!((one[0], one[2]), ((18_168, 113_168, 300), (72_672, 167_672, 300)));
        assert!(one[1].0.abs_diff(290_707) < 10 && one[1].1.abs_diff(581_414) < 20 && one[1].2 == 300, "{one:?}");
        let ten = of(Tins::Diffserv4, 10, RTT, 1514);
        assert_eq!(ten.iter().map(|tin| tin.2).collect::<alloc::vec::Vec<_>>(), [305, 300, 300, 300]);
        assert_eq!((ten[0].0, ten[2].0, ten[3].0), (5000, 5000, 7267));
        assert_eq!((ten[1].0, ten[1].1, ten[3].1), (29_069, 124_069, 102_267));
    }

    #[test]
    fn quanta_and_thresholds_equal_those_of_linux() {
        let eight = of(Tins::Precedence, 20, RTT, 1514);
        let quanta: alloc::vec::Vec<u16> = eight.iter().map(|tin| tin.2).collect();
        assert_eq!(quanta, [610, 534, 467, 408, 357, 313, 300, 300]);
        // datacentre at 50 Mb/s.
        assert_eq!(of(Tins::BestEffort, 50, Span::from_micros(100), 1514), [(363, 727, 1514)]);
        // A device with an MTU of 9000 bytes.
        assert_eq!(of(Tins::Diffserv3, 100, RTT, 9014)[1].0, 17_307);
        assert_eq!(of(Tins::BestEffort, 0, RTT, 1514), [(5000, 100_000, 1514)]);
    }

    #[test]
    fn peak_delay_rises_fast_and_base_delay_falls_fast() {
        let mut seen = Seen::default();
        (0..50).for_each(|_| seen.sent(Span::from_millis(10)));
        let [peak, mean, base] = seen.delays;
        assert!(peak > 9_900_000 && mean < 2_000_000 && base < 2_000_000);
        (0..50).for_each(|_| seen.sent(Span::ZERO));
        assert!(seen.delays[0] > 8_000_000 && seen.delays[2] < 10_000);
    }
}
