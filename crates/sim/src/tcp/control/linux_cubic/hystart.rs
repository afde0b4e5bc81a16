//! HyStart of Linux (`hystart_update`): slow start ends before the queue is full, when acknowledgements of a round arrive in
//! a train that lasts half of the minimum round trip, or when the round trip has grown.

use forebay_aqm::base::time::{Instant, Span};

use super::super::super::congestion::RoundTrip;

/// No exit below this window in packets (`hystart_low_window`).
const LEAST: f64 = 16.0;
/// Acknowledgements that are at most this far apart form a train (`hystart_ack_delta_us`).
const TRAIN_GAP: Span = Span::from_millis(2);
/// Samples of a round that only count (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Bounds of the growth of the round trip that ends slow start.
const THRESHOLD: [Span; 2] = [Span::from_millis(4), Span::from_millis(16)];
/// Packets of 1448 bytes in four of the largest bursts of a host, 64 KiB each.
const FOUR_BURSTS: f64 = 4.0 * 65_536.0 / 1448.0;
/// Largest allowance for bursts.
const MOST: Span = Span::from_millis(1);

/// State of HyStart.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// The exit was found.
    found: bool,
    /// Start of the round; `None` before the first sample.
    round: Option<Instant>,
    /// The round ends when a packet above this number is acknowledged.
    end: u32,
    /// When the latest acknowledgement of the train arrived.
    train: Instant,
    /// Smallest sample of the round, and the number of samples.
    least: Option<Span>,
    samples: u32,
}

impl HyStart {
    /// A sample in slow start, with a window of `cwnd` packets. `min_rtt`: the minimum round trip. Returns whether slow start
    /// ends now.
    pub(super) fn ends(&mut self, cwnd: f64, min_rtt: Span, sample: RoundTrip) -> bool {
        if self.found {
            return false;
        }
        let round = match self.round {
            Some(round) if sample.una <= self.end => round,
            _ => self.begin(sample),
        };
        if cwnd < LEAST {
            return false;
        }
        self.found = self.train_is_long(cwnd, min_rtt, sample, round);
        self.found |= self.delay_grows(min_rtt, sample.rtt);
        self.found
    }

    const fn begin(&mut self, sample: RoundTrip) -> Instant {
        (self.round, self.train, self.end) = (Some(sample.now), sample.now, sample.high);
        (self.least, self.samples) = (None, 0);
        sample.now
    }

    /// The allowance for bursts is 4 * 64 KiB at the pacing rate, two windows per round trip, at most 1 ms.
    fn train_is_long(&mut self, cwnd: f64, min_rtt: Span, sample: RoundTrip, round: Instant) -> bool {
        if sample.now.since(self.train) > TRAIN_GAP {
            return false;
        }
        self.train = sample.now;
        let bursts = Span::from_secs(FOUR_BURSTS * sample.srtt.secs() / (2.0 * cwnd)).min(MOST);
        let threshold = min_rtt + bursts;
        let part = if sample.is_paced { 1 } else { 2 };
        sample.now.since(round).nanos() > threshold.nanos() / part
    }

    fn delay_grows(&mut self, min_rtt: Span, rtt: Span) -> bool {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let [low, high] = THRESHOLD;
        least > min_rtt + Span::from_nanos(min_rtt.nanos() / 8).clamp(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(80);

    fn sample(us: u64, rtt: Span, una: u32, high: u32) -> RoundTrip {
        let now = Instant::ZERO + Span::from_micros(us);
        RoundTrip { now, rtt, srtt: RTT, una, high, is_paced: false }
    }

    /// The window at the exit of a flow at 8333 packets/s that acknowledges every packet. The rounds begin with windows of 10,
    /// 20, 40, ...
    fn exit(rtt_ms: u64, rate: f64, paced: bool) -> Option<u32> {
        let (mut hystart, mut cwnd, mut una) = (HyStart::default(), 10u32, 0);
        let rtt = Span::from_millis(rtt_ms);
        for round in 1..8 {
            let start = (rtt_ms * 1000 * round) as f64;
            for nth in 0..10 << (round - 1) {
                una += 1;
                let us = start + f64::from(nth) * 1e6 / rate;
                let high = una - 1 + cwnd;
                let sample = RoundTrip { srtt: rtt, is_paced: paced, ..sample(us as u64, rtt, una, high) };
                if hystart.ends(f64::from(cwnd), rtt, sample) {
                    return Some(cwnd);
                }
                cwnd += 1;
            }
        }
        None
    }

    #[test]
    fn train_of_half_a_round_trip_ends_slow_start() {
        let rate = 100e6 / 12_000.0;
        for (rtt, rate, window) in [(80, rate, 978), (20, rate, 248), (200, rate / 5.0, 488)] {
            let found = exit(rtt, rate, false).unwrap();
            assert!(found.abs_diff(window) <= 1, "{found}, not {window}");
        }
        assert_eq!(exit(80, rate, true), None, "640 packets last 77 ms, less than 81 ms");
    }

    #[test]
    fn ninth_sample_of_a_longer_round_trip_ends_slow_start() {
        for (ms, wanted) in [(91, Some(9)), (90, None), (89, None)] {
            let mut hystart = HyStart::default();
            // Samples 3 ms apart are no train.
            let mut ends = |nth: u64| hystart.ends(20.0, RTT, sample(3000 * nth, Span::from_millis(ms), 1, 30));
            assert_eq!((1..20).find(|&nth| ends(nth)), wanted);
        }
    }
}
