//! Sources of datagrams that nobody acknowledges: constant rate, and exponential on/off.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

/// How a source sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// A packet every so often.
    Constant {
        /// Time between packets.
        every: Span,
    },
    /// Bursts at a constant rate, both states of exponential length.
    OnOff {
        /// Time between packets of a burst.
        every: Span,
        /// Mean length of a burst.
        on: Span,
        /// Mean length of a pause.
        off: Span,
    },
}

/// State of a source.
#[derive(Clone, Debug)]
pub struct Source {
    pattern: Pattern,
    next: Option<Instant>,
    burst_ends: Instant,
    rng: Rng,
}

impl Source {
    /// A source that has not begun.
    pub const fn new(pattern: Pattern, rng: Rng) -> Self {
        Self { pattern, next: None, burst_ends: Instant::ZERO, rng }
    }

    /// Begins: constant sources somewhere within their first interval, on/off sources in either state
    /// with the probability that it has in the long run.
    pub fn start(&mut self, now: Instant) {
        match self.pattern {
            Pattern::Constant { every } => {
                self.next = Some(now + Span::from_secs(every.secs() * self.rng.uniform()));
            }
            Pattern::OnOff { on, off, .. } => {
                let begins_on = self.rng.uniform() * (on + off).secs() < on.secs();
                let pause = if begins_on { Span::ZERO } else { self.exponential(off) };
                self.burst(now + pause);
            }
        }
    }

    /// Falls silent.
    pub const fn stop(&mut self) {
        self.next = None;
    }

    /// When the next packet is due.
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The packet that was due has been sent.
    pub fn sent(&mut self, now: Instant) {
        match self.pattern {
            Pattern::Constant { every } => self.next = Some(now + every),
            Pattern::OnOff { every, off, .. } => {
                if now + every < self.burst_ends {
                    self.next = Some(now + every);
                } else {
                    let pause = self.exponential(off);
                    self.burst(self.burst_ends.max(now) + pause);
                }
            }
        }
    }

    /// A burst begins at `at`.
    fn burst(&mut self, at: Instant) {
        if let Pattern::OnOff { on, .. } = self.pattern {
            self.burst_ends = at + self.exponential(on);
            self.next = Some(at);
        }
    }

    fn exponential(&mut self, mean: Span) -> Span {
        Span::from_secs(self.rng.exponential(mean.secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pattern: Pattern, secs: u64) -> u64 {
        let mut source = Source::new(pattern, Rng::stream(3, "source"));
        source.start(Instant::ZERO);
        let mut n = 0;
        while let Some(t) = source.next().filter(|t| t.nanos() < secs * 1_000_000_000) {
            n += 1;
            source.sent(t);
        }
        n
    }

    #[test]
    fn constant_source_keeps_its_rate() {
        assert_eq!(count(Pattern::Constant { every: Span::from_millis(50) }, 100), 2000);
    }

    #[test]
    fn on_off_source_keeps_its_mean_rate() {
        // 20 packets/s at peak, on half of the time: 10/s. Over n = 5000 cycles of 2 s the share of on
        // time has relative sd about 1/sqrt(2 n) = 1 %; a burst sends ceil(length x 20), half a packet
        // of each 20 more than its length: +2.5 %. Allow 4 sd around that.
        let one = Span::from_millis(1000);
        let n = count(Pattern::OnOff { every: Span::from_millis(50), on: one, off: one }, 10_000) as f64;
        assert!((n / 100_000.0 - 1.025).abs() < 0.04, "{n}");
    }
}
