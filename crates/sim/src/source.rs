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
    /// On time still to pass before the next packet; what a burst leaves of it, the next one has to spend.
    owed: Span,
    rng: Rng,
}

impl Source {
    /// A source that has not begun.
    pub const fn new(pattern: Pattern, rng: Rng) -> Self {
        Self { pattern, next: None, burst_ends: Instant::ZERO, owed: Span::ZERO, rng }
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
            Pattern::OnOff { every, .. } => {
                self.owed = every;
                self.burst_on(now);
            }
        }
    }

    /// A burst begins at `at`.
    fn burst(&mut self, at: Instant) {
        if let Pattern::OnOff { on, .. } = self.pattern {
            self.burst_ends = at + self.exponential(on);
            self.burst_on(at);
        }
    }

    /// The burst goes on from `at`: the next packet comes when the on time it is owed has passed, in this
    /// burst or a later one. So the mean rate is exact, however short the bursts are.
    fn burst_on(&mut self, mut at: Instant) {
        let Pattern::OnOff { on, off, .. } = self.pattern else { return };
        while at + self.owed >= self.burst_ends {
            self.owed = self.owed - self.burst_ends.since(at);
            at = self.burst_ends + self.exponential(off);
            self.burst_ends = at + self.exponential(on);
        }
        self.next = Some(at + self.owed);
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
        // 20 packets/s at peak, on half of the time: 10/s. Over n cycles the share of on time has relative
        // sd 1/sqrt(2 n), 1 % for the longest; allow 4 of them. Bursts shorter than a packet time too.
        for (cycle_ms, secs) in [(2000, 10_000), (200, 2000), (20, 1000)] {
            let half = Span::from_millis(cycle_ms / 2);
            let n = count(Pattern::OnOff { every: Span::from_millis(50), on: half, off: half }, secs) as f64;
            assert!((n / (10.0 * secs as f64) - 1.0).abs() < 0.04, "{cycle_ms} ms: {n}");
        }
    }
}
