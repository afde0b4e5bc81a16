//! Arrivals driven by a Markov chain: Markov-modulated Poisson (MMPP) and, more general, Markovian arrivals (MAP).

use forebay_aqm::base::rng::Rng;

/// A continuous-time Markov chain in which some transitions generate a packet. A transition from a state to itself
/// generates a packet and does not change the state.
#[derive(Clone, PartialEq, Debug)]
pub struct Chain {
    states: Vec<State>,
    /// Cumulative long-run probabilities of the states.
    up_to: Vec<f64>,
}

#[derive(Clone, PartialEq, Debug)]
struct State {
    /// Mean time to the next transition, in seconds.
    stay: f64,
    moves: Vec<Move>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Move {
    /// Cumulative probability of the transitions up to this one.
    up_to: f64,
    to: u16,
    brings: bool,
}

impl Chain {
    /// A chain with `moves[i][j]` transitions per second from state i to j without a packet (j other than i), and
    /// `packets[i][j]` with one. `shares`: long-run probabilities of the states. Every state must lead to a packet.
    pub fn new(moves: &[Vec<f64>], packets: &[Vec<f64>], shares: &[f64]) -> Self {
        let states = moves.iter().zip(packets).enumerate().map(|(i, (moves, packets))| {
            let quiet = moves.iter().enumerate().filter(|(j, _)| *j != i).map(|(j, rate)| (j, *rate, false));
            let loud = packets.iter().enumerate().map(|(j, rate)| (j, *rate, true));
            let all: Vec<_> = loud.chain(quiet).filter(|(_, rate, _)| *rate > 0.0).collect();
            let whole: f64 = all.iter().map(|(_, rate, _)| rate).sum();
            let shares = summed(all.iter().map(|(_, rate, _)| rate / whole));
            let moves = all.iter().zip(shares);
            let moves = moves.map(|(&(to, _, brings), up_to)| Move { up_to, to: to as u16, brings }).collect();
            State { stay: 1.0 / whole, moves }
        });
        Self { states: states.collect(), up_to: summed(shares.iter().copied()) }
    }

    /// Upper bound on the transitions, and thus packets, per second in the long run.
    pub fn most_per_second(&self) -> f64 {
        self.states.iter().map(|state| 1.0 / state.stay).fold(0.0, f64::max)
    }

    /// A random state, drawn with the long-run probabilities.
    pub(super) fn found(&self, rng: &mut Rng) -> u16 {
        let u = rng.uniform();
        self.up_to.partition_point(|up_to| *up_to <= u) as u16
    }

    /// Runs the chain from `state` to the next packet. Returns the time to that packet in seconds.
    pub(super) fn next(&self, state: &mut u16, rng: &mut Rng) -> f64 {
        let mut secs = 0.0;
        loop {
            let here = &self.states[usize::from(*state)];
            secs += rng.exponential(here.stay);
            let u = rng.uniform();
            let Move { to, brings, .. } = here.moves[here.moves.partition_point(|it| it.up_to <= u)];
            *state = to;
            if brings {
                return secs;
            }
        }
    }
}

/// Cumulative sums. The last one is infinite instead of about 1, so that every random number is below it in spite of
/// rounding.
fn summed(shares: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums: Vec<f64> = shares
        .map(|share| {
            sum += share;
            sum
        })
        .collect();
    if let Some(last) = sums.last_mut() {
        *last = f64::INFINITY;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals between `n` packets, in seconds.
    fn intervals(chain: &Chain, n: u32) -> Vec<f64> {
        let mut rng = Rng::stream(3, "chain");
        let mut state = chain.found(&mut rng);
        (0..n).map(|_| chain.next(&mut state, &mut rng)).collect()
    }

    #[test]
    fn initial_state_is_drawn_from_stationary_distribution() {
        let moves = [vec![0.0, 1.0], vec![3.0, 0.0]];
        let chain = Chain::new(&moves, &[vec![1.0, 0.0], vec![0.0, 2.0]], &[0.75, 0.25]);
        let mut rng = Rng::stream(3, "found");
        let n = 100_000;
        let found = (0..n).filter(|_| chain.found(&mut rng) == 0).count();
        // sd 0.0014; tolerance: 4 sd.
        assert!((found as f64 / f64::from(n) - 0.75).abs() < 0.0055, "{found}");
    }

    /// An MMPP with rates 200/s and 0 and mean state durations of 10 ms has a long-run rate of 100/s. The sum of the
    /// two transition rates is d = 200/s. The variance of the number of packets in a time t is mean + 2 (100)^2
    /// (exp(-dt) + dt - 1)/d^2. For t = 100 ms it is 10 + 2 * 0.25 * 19 = 19.5.
    #[test]
    fn mmpp_counts_have_mean_and_variance() {
        let chain = Chain::new(&[vec![0.0, 100.0], vec![100.0, 0.0]], &[vec![200.0, 0.0], vec![0.0, 0.0]], &[0.5, 0.5]);
        let (windows, mut counts, mut at) = (20_000_usize, vec![0.0; 20_000], 0.0);
        for interval in intervals(&chain, 2_000_000) {
            at += interval;
            if let Some(count) = counts.get_mut((at / 0.1) as usize) {
                *count += 1.0;
            }
        }
        let n = windows as f64;
        assert!(at > 0.1 * n);
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        // Neighbouring windows are nearly independent: sd of the mean 0.031, of the variance about
        // 19.5 sqrt(2/n) = 0.2.
        assert!((mean - 10.0).abs() < 0.13 && (variance - 19.5).abs() < 0.8, "{mean} {variance}");
    }

    /// A MAP of two phases with transition rate 20/s; only the transition out of the second one generates a packet. The
    /// intervals are Erlang-2 with mean 0.1 s and squared coefficient of variation 1/2. Their mean square is 0.015.
    #[test]
    fn map_of_two_phases_has_erlang_intervals() {
        let chain = Chain::new(&[vec![0.0, 20.0], vec![0.0, 0.0]], &[vec![0.0, 0.0], vec![20.0, 0.0]], &[0.5, 0.5]);
        let all = intervals(&chain, 200_000);
        let mean = |power: i32| all.iter().map(|x| x.powi(power)).sum::<f64>() / all.len() as f64;
        // sd of an interval 0.07, of its square 0.021. Tolerance: 4 sd of the means, and a little for the first
        // interval.
        assert!((mean(1) - 0.1).abs() < 7e-4 && (mean(2) - 0.015).abs() < 2e-4, "{} {}", mean(1), mean(2));
    }
}
