//! Prague's mode for low rates (module 0.7: `cwnd_mode` 2): with a window of at most four packets, it controls the rate, and
//! the window follows. Pacing then sends less than two packets per round trip, or less than one.
//!
//! Left out: shorter packets. The rate is at least a packet of 1500 bytes each 120 ms.

use forebay_aqm::base::time::Span;

use super::MAX_INTERVAL;

/// Largest window in packets at which the rate is controlled.
const MOST: f64 = 4.0;
/// Part by which the pacing rate is higher in the first half of a virtual round trip and lower in the second, so that marks
/// are spread.
const WOBBLE: f64 = 4.0 / 128.0;
/// Weight of a round in the average of the round trip.
const WEIGHT: f64 = 1.0 / 128.0;

/// State of the mode.
#[derive(Clone, Debug, Default)]
pub(super) struct LowRate {
    /// Packets per second; `None`: the window is controlled.
    rate: Option<f64>,
    /// Average of the round trip in seconds.
    rtt: f64,
}

impl LowRate {
    /// Enters or leaves the mode for a window of `cwnd` packets; `target`: the window with fractions.
    pub(super) fn switch(&mut self, cwnd: f64, target: f64, srtt: Span) {
        if cwnd > MOST || srtt == Span::ZERO {
            self.rate = None;
        } else if self.rate.is_none() {
            self.rtt = srtt.secs();
            self.set(target / self.rtt);
        }
    }

    fn set(&mut self, rate: f64) {
        self.rate = Some(rate.max(1.0 / MAX_INTERVAL.secs()));
    }

    /// Is the rate controlled?
    pub(super) const fn is_active(&self) -> bool {
        self.rate.is_some()
    }

    /// The window with fractions that the rate fills. `None`: the rate is not controlled.
    fn target(&self) -> Option<f64> {
        self.rate.map(|rate| rate * self.rtt)
    }

    /// Multiplies the rate by `part`. Returns the window.
    pub(super) fn reduce(&mut self, part: f64) -> Option<f64> {
        self.set(self.rate? * part);
        self.target()
    }

    /// `unmarked` packets were delivered: the rate grows by a packet per virtual round trip in each of them, in equal steps
    /// for the packets that are sent in one. Returns the window.
    pub(super) fn grow(&mut self, unmarked: u32, virtual_rtt: Span) -> Option<f64> {
        let (rate, virtual_rtt) = (self.rate?, virtual_rtt.secs());
        let packets = (rate * virtual_rtt).ceil().max(1.0);
        self.set(rate + f64::from(unmarked) / (virtual_rtt * packets));
        self.target()
    }

    /// The window after a reduction is undone.
    pub(super) fn restore(&mut self, target: f64) {
        if self.rate.is_some() {
            self.set(target / self.rtt);
        }
    }

    /// A round ends.
    pub(super) fn end_round(&mut self, srtt: Span) {
        self.rtt += (srtt.secs() - self.rtt) * WEIGHT;
    }

    /// Time to the next packet; `since`: time since the last update of the estimate of marks.
    pub(super) fn interval(&self, since: Span, virtual_rtt: Span) -> Option<Span> {
        let half = since.nanos() % virtual_rtt.nanos().max(1) * 2 < virtual_rtt.nanos();
        let wobble = if half { 1.0 + WOBBLE } else { 1.0 - WOBBLE };
        self.rate.map(|rate| Span::from_secs(1.0 / (rate * wobble)).min(MAX_INTERVAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIRTUAL: Span = Span::from_millis(25);

    /// In the mode with this rate and a round trip of 10 ms.
    fn at_rate(rate: f64) -> LowRate {
        LowRate { rate: Some(rate), rtt: 0.01 }
    }

    /// 40 packets/s are one per 25 ms: one packet adds 1/25 ms. 80: two, which add half of it each. 100: 2.5, in thirds.
    #[test]
    fn rate_grows_by_a_packet_per_virtual_round_trip() {
        for (rate, wanted) in [(40.0, 80.0), (80.0, 100.0), (100.0, 100.0 + 40.0 / 3.0)] {
            let mut low = at_rate(rate);
            let target = low.grow(1, VIRTUAL).unwrap();
            assert!((low.rate.unwrap() - wanted).abs() < 1e-9);
            assert!((target - wanted * 0.01).abs() < 1e-9, "the window is the rate times 10 ms");
        }
    }

    /// 100 kbit/s are 8.33 packets of 12,000 bits.
    #[test]
    fn reduction_stops_at_100_kbit_per_second() {
        let mut low = at_rate(40.0);
        assert!((low.reduce(0.5).unwrap() - 0.2).abs() < 1e-12);
        assert!((low.reduce(0.1).unwrap() - 0.01 / 0.12).abs() < 1e-12);
        assert_eq!(low.interval(Span::ZERO, VIRTUAL), Some(Span::from_secs(0.12 / 1.03125)));
        assert_eq!(low.interval(VIRTUAL * 2, Span::ZERO), Some(MAX_INTERVAL), "the lower half, at most 120 ms");
    }

    /// 80 packets/s, 3.125 % more in the first 12.5 ms and less in the second.
    #[test]
    fn pacing_wobbles_within_a_virtual_round_trip() {
        let low = at_rate(80.0);
        let interval = |us| low.interval(Span::from_micros(us), VIRTUAL).unwrap().nanos() / 1000;
        assert_eq!([0, 12_499, 12_500, 24_999, 25_000].map(interval), [12_121, 12_121, 12_903, 12_903, 12_121]);
    }

    #[test]
    fn mode_begins_at_four_packets() {
        let mut low = LowRate::default();
        low.switch(5.0, 4.5, Span::from_millis(10));
        assert!(!low.is_active());
        assert_eq!(low.grow(1, VIRTUAL), None);
        low.switch(4.0, 3.2, Span::from_millis(10));
        assert_eq!(low.rate, Some(320.0));
        low.switch(4.0, 1.0, Span::from_millis(10));
        assert_eq!(low.rate, Some(320.0), "the rate is controlled now");
        low.end_round(Span::from_millis(138));
        assert!((low.rtt - 0.011).abs() < 1e-12, "10 + 128/128 ms");
        low.switch(5.0, 4.5, Span::from_millis(10));
        assert!(!low.is_active());
    }
}
