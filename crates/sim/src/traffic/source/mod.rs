//! Sources of packets: constant rate, exponential and Pareto on/off, Poisson, Markov-modulated, recordings.

pub mod chain;
pub mod recording;
mod states;

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use chain::Chain;
use recording::{Player, Replay};
use states::Stay;

use crate::engine::due::Due;

/// Sending pattern of a source.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// Packets at a constant interval.
    Constant {
        /// Time between packets.
        every: Span,
    },
    /// Bursts at a constant rate, with exponential burst and pause lengths.
    OnOff {
        /// Time between packets of a burst.
        every: Span,
        /// Mean length of a burst.
        on: Span,
        /// Mean length of a pause.
        off: Span,
    },
    /// Bursts at a constant rate, with Pareto burst and pause lengths. The total rate of many of these sources is
    /// long-range dependent, with Hurst parameter (3 - shape)/2 for shapes from 1 to 2.
    Pareto {
        /// Time between packets of a burst.
        every: Span,
        /// Mean length of a burst.
        on: Span,
        /// Mean length of a pause.
        off: Span,
        /// Tail index of both; > 1.
        shape: f64,
    },
    /// A Poisson process: independent exponential times between packets.
    Poisson {
        /// Mean time between packets.
        every: Span,
        /// Packet lengths.
        sizes: Sizes,
    },
    /// Packets of a Markov chain: MMPP and MAP.
    Chain {
        /// The chain. Sources may share it; each has its own state.
        chain: Arc<Chain>,
        /// Packet lengths.
        sizes: Sizes,
    },
    /// Packets of a recording, with their times and lengths.
    Replay(Replay),
}

impl Pattern {
    /// Length of the longest possible packet in bytes, for a flow with packets of `packet` bytes.
    pub fn longest(&self, packet: u16) -> u32 {
        match self {
            Self::Constant { .. } | Self::OnOff { .. } | Self::Pareto { .. } => u32::from(packet),
            Self::Poisson { sizes, .. } | Self::Chain { sizes, .. } => match sizes {
                Sizes::Constant => u32::from(packet),
                Sizes::Exponential | Sizes::Erlang(_) => u32::from(u16::MAX),
            },
            Self::Replay(replay) => replay.recording.items().iter().map(|item| item.1).max().unwrap_or(0),
        }
    }

    /// Mean number of packets in `secs` seconds. For a chain, and for a recording of at least 1 ms, an upper bound.
    pub fn mean_packets(&self, secs: f64) -> f64 {
        let of = |every: &Span| secs / every.secs().max(1e-9);
        match self {
            Self::Constant { every } | Self::Poisson { every, .. } => of(every),
            Self::OnOff { every, on, off } | Self::Pareto { every, on, off, .. } => {
                of(every) * (on.secs() / (on.secs() + off.secs()).max(1e-9))
            }
            Self::Chain { chain, .. } => secs * chain.most_per_second(),
            Self::Replay(replay) => {
                let items = replay.recording.items();
                let round = items.last().map_or(0.0, |(at, _)| at.secs()).max(1e-3);
                items.len() as f64 * if replay.repeat { (secs / round).max(1.0) } else { 1.0 }
            }
        }
    }

    /// Estimates of the number of packets in `secs` seconds, and of the maximum in any one second:
    /// - constant and Poisson: the mean;
    /// - on/off: twice the mean plus ten mean bursts, at most the peak rate; in one second the peak rate;
    /// - chain: the transition rate of the fastest state;
    /// - recording: all packets of the repetitions in `secs` seconds, an upper bound for both.
    pub fn most_packets(&self, secs: f64) -> (f64, f64) {
        /// Estimate for on/off sources: `MORE` times the mean, plus `PERIODS` mean bursts.
        const MORE: f64 = 2.0;
        const PERIODS: f64 = 10.0;
        match self {
            Self::Constant { every } | Self::Poisson { every, .. } => (per_second(*every) * secs, per_second(*every)),
            Self::OnOff { every, on, off } | Self::Pareto { every, on, off, .. } => {
                let (peak, cycle) = (per_second(*every), (on.secs() + off.secs()).max(1e-9));
                ((peak * (MORE * secs * on.secs() / cycle + PERIODS * on.secs())).min(peak * secs), peak)
            }
            Self::Chain { chain, .. } => (chain.most_per_second() * secs, chain.most_per_second()),
            Self::Replay(replay) => replay.most(replay.recording.items().len() as f64, secs),
        }
    }

    /// Distributions of the on and off times.
    const fn states(&self) -> Option<(Stay, Stay)> {
        match *self {
            Self::OnOff { on, off, .. } => Some((Stay::Exponential(on), Stay::Exponential(off))),
            Self::Pareto { on, off, shape, .. } => Some((Stay::Pareto(on, shape), Stay::Pareto(off, shape))),
            Self::Constant { .. } | Self::Poisson { .. } | Self::Chain { .. } | Self::Replay(_) => None,
        }
    }
}

fn per_second(every: Span) -> f64 {
    1.0 / every.secs().max(1e-9)
}

/// Lengths of the packets of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// The flow's packet length.
    Constant,
    /// Independent exponential lengths in whole bytes, with the flow's packet length as mean.
    ///
    /// Exponential lengths are rounded up, which gives a geometric distribution. Its parameter is chosen so that the
    /// mean is exact. The squared coefficient of variation is 1 - 1/mean instead of 1. The maximum is 65,535 bytes,
    /// which reduces the mean by a fraction of exp(-65535/mean), for example 1e-7 at a mean of 4096 bytes.
    Exponential,
    /// Independent Erlang lengths in whole bytes, with the flow's packet length as mean. A length is the sum of n
    /// geometric lengths with equal means, where n is this number. The squared coefficient of variation is 1/n - 1/mean
    /// instead of 1/n.
    Erlang(u8),
}

/// State of a source.
#[derive(Clone, Debug)]
pub struct Source {
    pattern: Pattern,
    next: Option<Instant>,
    burst_ends: Instant,
    /// Time in the on state that must pass before the next packet. If the burst ends first, the rest of this time
    /// passes in the next burst.
    owed: Span,
    /// Mean length of a packet on the wire in bytes.
    packet: u16,
    /// Current state of its Markov chain, if it has one.
    state: u16,
    rng: Rng,
    /// Player of its recording, if it has one.
    player: Option<Box<Player>>,
}

impl Source {
    /// A source before its start; `packet`: mean length of its packets in bytes.
    pub fn new(pattern: Pattern, packet: u16, rng: Rng) -> Self {
        let player = match &pattern {
            Pattern::Replay(replay) => Some(Box::new(Player::new(replay.clone()))),
            _ => None,
        };
        Self { pattern, next: None, burst_ends: Instant::ZERO, owed: Span::ZERO, packet, state: 0, rng, player }
    }

    /// Starts. The first packet of a constant source comes at a random time within an interval. On/off sources and
    /// chains start in a state drawn with its long-run probability. Poisson sources start with an exponential time.
    pub fn start(&mut self, now: Instant) {
        match self.pattern {
            Pattern::Chain { ref chain, .. } => {
                self.state = chain.found(&mut self.rng);
                self.chained(now);
            }
            Pattern::Constant { every } => {
                self.next = Some(now + Span::from_secs(every.secs() * self.rng.uniform()));
            }
            Pattern::OnOff { .. } | Pattern::Pareto { .. } => self.enter(now),
            Pattern::Poisson { every, .. } => self.next = Some(now + self.exponential(every)),
            Pattern::Replay(_) => {
                if let Some(player) = &mut self.player {
                    player.start(now);
                }
                self.next = self.recorded().map(|(at, _)| at);
            }
        }
    }

    /// Stops the source.
    pub const fn stop(&mut self) {
        self.next = None;
    }

    /// When the next packet is due.
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Sends the packet that is due; returns its length on the wire in bytes.
    pub fn send(&mut self, now: Instant) -> u16 {
        match self.pattern {
            Pattern::Constant { every } => self.next = Some(now + every),
            Pattern::OnOff { every, .. } | Pattern::Pareto { every, .. } => {
                self.owed = every;
                self.burst_on(now);
            }
            Pattern::Poisson { every, sizes } => {
                self.next = Some(now + self.exponential(every));
                return self.length(sizes);
            }
            Pattern::Chain { sizes, .. } => {
                self.chained(now);
                return self.length(sizes);
            }
            Pattern::Replay(_) => return self.play(),
        }
        self.packet
    }

    /// Runs the chain to its next packet.
    fn chained(&mut self, now: Instant) {
        if let Pattern::Chain { chain, .. } = &self.pattern {
            let after = Span::from_secs(chain.next(&mut self.state, &mut self.rng));
            self.next = Due::at(now + after).get();
        }
    }

    /// The next packet of the recording.
    fn recorded(&self) -> Option<(Instant, u32)> {
        self.player.as_ref()?.next()
    }

    /// Sends the recorded packet that is due; returns its length.
    fn play(&mut self) -> u16 {
        let len = self.recorded().map_or(self.packet, |(_, size)| size.clamp(1, u32::from(u16::MAX)) as u16);
        if let Some(player) = &mut self.player {
            player.skip();
        }
        self.next = self.recorded().map(|(at, _)| at);
        len
    }

    /// The length of a packet.
    fn length(&mut self, sizes: Sizes) -> u16 {
        match sizes {
            Sizes::Constant => self.packet,
            Sizes::Exponential => self.geometrics(1),
            Sizes::Erlang(parts) => self.geometrics(parts),
        }
    }

    /// The sum of `parts` lengths of [`Sizes::Exponential`], each with P(length > k) = (1 - 1/mean)^k.
    fn geometrics(&mut self, parts: u8) -> u16 {
        let scale = -1.0 / libm::log1p(-f64::from(parts) / f64::from(self.packet));
        let whole: f64 = (0..parts).map(|_| libm::ceil(self.rng.exponential(scale)).max(1.0)).sum();
        whole.min(f64::from(u16::MAX)) as u16
    }

    /// Starts an on/off source in its steady state at `now`: within a burst or a pause.
    fn enter(&mut self, now: Instant) {
        let Some((on, off)) = self.pattern.states() else { return };
        let begins_on = self.rng.uniform() * (on.mean() + off.mean()).secs() < on.mean().secs();
        let (at, rest) = if begins_on {
            (now, on.rest(&mut self.rng))
        } else {
            (now + off.rest(&mut self.rng), on.whole(&mut self.rng))
        };
        self.burst_ends = at + rest;
        self.burst_on(at);
    }

    /// Schedules the next packet of an on/off source whose burst continues at `at`: it comes after the time `owed` in
    /// the on state, in this burst or a later one. The mean rate is thus exact even if bursts are shorter than the time
    /// between packets.
    fn burst_on(&mut self, mut at: Instant) {
        let Some((on, off)) = self.pattern.states() else { return };
        // A Pareto state may exceed the range of Instant.
        while at + self.owed >= self.burst_ends && self.burst_ends < Instant::NEVER {
            self.owed = self.owed - self.burst_ends.since(at);
            at = self.burst_ends + off.whole(&mut self.rng);
            self.burst_ends = at + on.whole(&mut self.rng);
        }
        self.next = Due::at(at + self.owed).get();
    }

    fn exponential(&mut self, mean: Span) -> Span {
        Span::from_secs(self.rng.exponential(mean.secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pattern: Pattern, secs: u64) -> u64 {
        let mut source = Source::new(pattern, 500, Rng::stream(3, "source"));
        source.start(Instant::ZERO);
        let mut n = 0;
        while let Some(t) = source.next().filter(|t| t.nanos() < secs * 1_000_000_000) {
            n += 1;
            source.send(t);
        }
        n
    }

    #[test]
    fn constant_source_sends_20_packets_per_second() {
        assert_eq!(count(Pattern::Constant { every: Span::from_millis(50) }, 100), 2000);
    }

    #[test]
    fn on_off_source_has_its_mean_rate() {
        // 20 packets/s at peak, on half of the time: 10/s. Over n cycles the fraction of on time has a relative sd of
        // 1/sqrt(2 n), 1 % for the longest. Tolerance: 4 sd. The bursts include some shorter than a packet time.
        for (cycle_ms, secs) in [(2000, 10_000), (200, 2000), (20, 1000)] {
            let half = Span::from_millis(cycle_ms / 2);
            let n = count(Pattern::OnOff { every: Span::from_millis(50), on: half, off: half }, secs) as f64;
            assert!((n / (10.0 * secs as f64) - 1.0).abs() < 0.04, "{cycle_ms} ms: {n}");
        }
    }

    #[test]
    fn replay_keeps_times_and_lengths() {
        let items = [(3, 40), (3, 1500), (10, 90_000)].map(|(ms, size)| (Span::from_millis(ms), size));
        let recording = std::sync::Arc::new(recording::Recording::new(items.to_vec()).unwrap());
        let pattern = Pattern::Replay(Replay { recording, from: Span::ZERO, repeat: false });
        let mut source = Source::new(pattern, 500, Rng::stream(3, "source"));
        source.start(Instant::from_nanos(1_000_000_000));
        let sent: Vec<(u64, u16)> =
            std::iter::from_fn(|| source.next().map(|at| (at.nanos() / 1_000_000, source.send(at)))).collect();
        assert_eq!(sent, [(1000, 40), (1000, 1500), (1007, u16::MAX)]);
    }

    #[test]
    fn source_ends_if_pareto_period_exceeds_clock_range() {
        let long = Span::from_secs(1e6);
        for seed in 0..20 {
            let pattern = Pattern::Pareto { every: long, on: long, off: long, shape: 1.0001 };
            let mut source = Source::new(pattern, 500, Rng::stream(seed, "source"));
            source.start(Instant::ZERO);
            while let Some(at) = source.next() {
                source.send(at);
            }
        }
    }

    /// An exponential interval of mean 1 has sd 1; its square has mean 2 and sd sqrt(20). Tolerance: 4 sd of their
    /// means.
    #[test]
    fn poisson_source_has_exponential_intervals() {
        let pattern = Pattern::Poisson { every: Span::from_millis(2), sizes: Sizes::Constant };
        let mut source = Source::new(pattern, 500, Rng::stream(3, "poisson"));
        source.start(Instant::ZERO);
        let (n, mut last, mut sum, mut squares) = (100_000u32, Instant::ZERO, 0.0, 0.0);
        for _ in 0..n {
            let at = source.next().unwrap();
            assert_eq!(source.send(at), 500);
            let x = at.since(last).secs() / 2e-3;
            (last, sum, squares) = (at, sum + x, squares + x * x);
        }
        let n = f64::from(n);
        assert!((sum / n - 1.0).abs() < 4.0 / n.sqrt(), "mean {}", sum / n);
        assert!((squares / n - 2.0).abs() < 4.0 * (20.0 / n).sqrt(), "mean square {}", squares / n);
    }

    /// The lengths are geometric with mean m and variance m (m - 1). Their squares have a standard deviation (sd) of
    /// about sqrt(20) m^2. Tolerance: 4 sd of the means.
    #[test]
    fn exponential_lengths_have_exact_mean() {
        for packet in [1, 2, 40, 4000] {
            let pattern = Pattern::Poisson { every: Span::from_millis(2), sizes: Sizes::Exponential };
            let mut source = Source::new(pattern, packet, Rng::stream(3, "lengths"));
            let (n, m) = (200_000u32, f64::from(packet));
            let lengths: Vec<f64> = (0..n).map(|_| f64::from(source.send(Instant::ZERO))).collect();
            let n = f64::from(n);
            let mean = lengths.iter().sum::<f64>() / n;
            let square = lengths.iter().map(|x| x * x).sum::<f64>() / n;
            let spread = m * m * (1.0 - 1.0 / m);
            assert!((mean - m).abs() <= 4.0 * (spread / n).sqrt(), "{packet}: mean {mean}");
            assert!((square - spread - m * m).abs() <= 4.0 * m * m * (20.0 / n).sqrt(), "{packet}: {square}");
            assert!(lengths.iter().all(|x| *x >= 1.0));
        }
    }

    /// The sum of n geometric lengths with total mean m has the variance v = m^2/n - m. Its kurtosis is about 9 or
    /// less. The measured variance thus has a standard deviation (sd) of at most about sqrt(8) v / sqrt(sample size).
    /// Tolerance: 4 sd of the mean and of the variance.
    #[test]
    fn erlang_lengths_have_exact_mean_and_variance() {
        for (packet, parts) in [(1282, 1), (1282, 2), (1282, 4), (41, 32)] {
            let chain = Arc::new(Chain::new(&[vec![0.0]], &[vec![500.0]], &[1.0]));
            let pattern = Pattern::Chain { chain, sizes: Sizes::Erlang(parts) };
            let mut source = Source::new(pattern, packet, Rng::stream(3, "lengths"));
            let (n, m) = (200_000u32, f64::from(packet));
            let lengths: Vec<f64> = (0..n).map(|_| f64::from(source.send(Instant::ZERO))).collect();
            let n = f64::from(n);
            let mean = lengths.iter().sum::<f64>() / n;
            let variance = lengths.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let expected = m * m / f64::from(parts) - m;
            assert!((mean - m).abs() <= 4.0 * (expected / n).sqrt(), "{packet} {parts}: mean {mean}");
            let sd = 8f64.sqrt() * expected / n.sqrt();
            assert!((variance - expected).abs() <= 4.0 * sd, "{packet} {parts}: {variance} for {expected}");
        }
    }

    /// A chain of one state is a Poisson process; the second chain has a silent state.
    #[test]
    fn chain_sources_have_their_mean_rate() {
        let one = Chain::new(&[vec![0.0]], &[vec![50.0]], &[1.0]);
        let two = Chain::new(&[vec![0.0, 20.0], vec![5.0, 0.0]], &[vec![250.0, 0.0], vec![0.0, 0.0]], &[0.2, 0.8]);
        for (chain, sd) in [(one, 224.0), (two, 900.0)] {
            let n = count(Pattern::Chain { chain: Arc::new(chain), sizes: Sizes::Constant }, 1000) as f64;
            assert!((n - 50_000.0).abs() < 4.0 * sd, "{n}");
        }
    }
}
