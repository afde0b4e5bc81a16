//! The queue MMPP/PH/1/L (AAQM paper, section 5): one server, phase-type service times, at most L packets. A Markov
//! chain drives the arrivals of one or several classes. Packets arrive as a Poisson process in each of its states
//! (MMPP) or at its transitions (MAP).
//!
//! The state is (packets in the system, state of the arrivals, phase of the service). An arrival of class c that would
//! raise the number of packets to n is refused with probability d_c(n), and always if n > L. The solver eliminates one
//! level (number of packets) after the other, from L down; each level is a small system of equations.

use std::collections::BTreeMap;

use crate::dense::{Matrix, cut_off, stationary};

/// Arrivals: a Markov chain, and which of its transitions bring packets of which class. Poisson packets are
/// transitions from a state to itself.
#[derive(Clone, Debug)]
pub struct Mmpp {
    /// Rates of all transitions, per second; rows sum to 0.
    generator: Matrix,
    /// Rates of the transitions that bring a packet, per second; one matrix per class.
    packets: Vec<Matrix>,
}

impl Mmpp {
    /// One class with this chain, and Poisson rates by state in packets per second.
    pub fn new(generator: Matrix, rates: Vec<f64>) -> Self {
        Self { generator, packets: vec![Matrix::diagonal(&rates)] }
    }

    /// One class whose packets come with transitions (MAP). `generator`: rates of all transitions, D0 + D1, with rows
    /// that sum to 0. `packets`: rates of the transitions that bring a packet, D1.
    pub fn map(generator: Matrix, packets: Matrix) -> Self {
        Self { generator, packets: vec![packets] }
    }

    /// Two states with these mean durations in seconds and Poisson rates in packets per second.
    pub fn two_state(mean_s: [f64; 2], rates: [f64; 2]) -> Self {
        let [on, off] = mean_s.map(|mean| 1.0 / mean);
        Self::new(Matrix::from_fn(2, 2, |i, j| [[-on, on], [off, -off]][i][j]), rates.to_vec())
    }

    /// Several classes whose rates one chain of two states sets. `classes`: each class's packets per second in the two
    /// states.
    pub fn shared(mean_s: [f64; 2], classes: &[[f64; 2]]) -> Self {
        let packets = classes.iter().map(|rates| Matrix::diagonal(rates)).collect();
        Self { packets, ..Self::two_state(mean_s, [0.0, 0.0]) }
    }

    /// `count` identical on/off sources. In state i, i of them are on, each with `rate` packets per second.
    pub fn minisources(count: usize, mean_on_s: f64, mean_off_s: f64, rate: f64) -> Self {
        let up = |i: usize| (count - i) as f64 / mean_off_s;
        let down = |i: usize| i as f64 / mean_on_s;
        let generator = Matrix::from_fn(count + 1, count + 1, |i, j| match j.cmp(&i) {
            std::cmp::Ordering::Equal => -up(i) - down(i),
            std::cmp::Ordering::Greater if j == i + 1 => up(i),
            std::cmp::Ordering::Less if i == j + 1 => down(i),
            _ => 0.0,
        });
        Self::new(generator, (0..=count).map(|i| i as f64 * rate).collect())
    }

    /// The superposition of independent arrivals; each keeps its classes. `None` if `all` is empty.
    pub fn together(all: &[Self]) -> Option<Self> {
        let (first, rest) = all.split_first()?;
        Some(rest.iter().fold(first.clone(), |a, b| {
            let (n, m) = (a.states(), b.states());
            let of_a = a.packets.iter().map(|packets| packets.kron(&Matrix::identity(m)));
            let of_b = b.packets.iter().map(|packets| Matrix::identity(n).kron(packets));
            Self { generator: a.generator.kron_sum(&b.generator), packets: of_a.chain(of_b).collect() }
        }))
    }

    /// `count` independent copies of these arrivals, with the same classes. A state records how many copies are in each
    /// state of the chain. These are far fewer states than [`Mmpp::together`] has.
    #[must_use]
    pub fn copies(&self, count: usize) -> Self {
        let all = occupancies(count, self.states());
        let place: BTreeMap<&[usize], usize> = all.iter().enumerate().map(|(i, at)| (at.as_slice(), i)).collect();
        let of = |one: &Matrix| {
            let mut cells = vec![0.0; all.len() * all.len()];
            for (from, at) in all.iter().enumerate() {
                for (i, j) in (0..at.len()).flat_map(|i| (0..at.len()).map(move |j| (i, j))) {
                    let mut to = at.clone();
                    if at[i] > 0 && one.at(i, j) != 0.0 {
                        to[i] -= 1;
                        to[j] += 1;
                        cells[from * all.len() + place[to.as_slice()]] += at[i] as f64 * one.at(i, j);
                    }
                }
            }
            Matrix::from_fn(all.len(), all.len(), |i, j| cells[i * all.len() + j])
        };
        Self { generator: of(&self.generator), packets: self.packets.iter().map(of).collect() }
    }

    /// Number of states of `count` copies of a chain of `states` states; `None` if it exceeds `usize`.
    pub fn states_of_copies(count: usize, states: usize) -> Option<usize> {
        // Binomial of count + states - 1 over states - 1, an integer after every step.
        (1..states as u128)
            .try_fold(1_u128, |all, i| all.checked_mul(count as u128 + i).map(|all| all / i))
            .and_then(|all| usize::try_from(all).ok())
    }

    /// Number of states of the chain.
    pub const fn states(&self) -> usize {
        self.generator.rows()
    }

    /// Number of classes.
    pub const fn classes(&self) -> usize {
        self.packets.len()
    }

    /// Packets per second of a class, by state.
    fn rates(&self, class: usize) -> Vec<f64> {
        (0..self.states()).map(|i| self.packets[class].row(i).iter().sum()).collect()
    }

    /// Long-run packets per second of a class; `None` if the chain has no unique stationary distribution.
    pub fn mean_rate(&self, class: usize) -> Option<f64> {
        Some(dot(&stationary(&self.generator)?, &self.rates(class)))
    }
}

/// All ways to distribute `count` items over `places`, in order.
fn occupancies(count: usize, places: usize) -> Vec<Vec<usize>> {
    if places <= 1 {
        return vec![vec![count; places]];
    }
    let rest = |first: usize| occupancies(count - first, places - 1).into_iter().map(move |rest| [vec![first], rest]);
    (0..=count).flat_map(rest).map(|parts| parts.concat()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Service time: a phase-type distribution.
#[derive(Clone, Debug)]
pub struct Service {
    /// Probability of starting in each phase.
    begins: Vec<f64>,
    /// Transitions between phases, per second. The amount by which a row's sum is below 0 is the rate at which
    /// service ends.
    moves: Matrix,
}

impl Service {
    /// A phase-type distribution: `begins` for the first phase, `moves` between phases (per second).
    pub const fn new(begins: Vec<f64>, moves: Matrix) -> Self {
        Self { begins, moves }
    }

    /// Erlang: `phases` phases of equal mean; mean rate `per_second` packets.
    pub fn erlang(phases: usize, per_second: f64) -> Self {
        let rate = phases as f64 * per_second;
        let moves = Matrix::from_fn(phases, phases, |i, j| match j {
            _ if j == i => -rate,
            _ if j == i + 1 => rate,
            _ => 0.0,
        });
        Self { begins: (0..phases).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect(), moves }
    }

    fn ends(&self) -> Vec<f64> {
        (0..self.begins.len()).map(|i| -self.moves.row(i).iter().sum::<f64>()).collect()
    }
}

/// The AAQM paper's marking function (eq. 18), here the probability that an arrival is refused: 0 up to the fraction
/// `th` of `limit` packets, then linear to 1 at a full buffer. `n` counts the arriving packet.
pub fn threshold(n: usize, limit: usize, th: f64) -> f64 {
    let x = n as f64 / limit as f64;
    if x <= th { 0.0 } else { ((x - th) / (1.0 - th)).min(1.0) }
}

/// The stationary distribution of the queue.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Probability by packets in the system, then by state of the arrivals.
    levels: Vec<Vec<f64>>,
    /// Arrivals per second, by class and by state of the arrivals.
    rates: Vec<Vec<f64>>,
    /// By class, then by packets in the system: the probability of admission.
    admits: Vec<Vec<f64>>,
    /// Departures per second, by packets in the system, then by state of the arrivals.
    served: Vec<Vec<f64>>,
    throughput: f64,
}

/// Solves the queue for at most L = `limit` packets, including the one in service. `refuses(class, n)`: probability
/// that an arrival is refused if it would raise the number of packets to n. `None` if the limit is 0 or the chain of
/// the arrivals is not irreducible.
///
/// Time grows as L (m r)^3 for m states and r phases, memory as L (m r)^2. With 16 states and Erlang-4: 0.03 s and 5
/// MB for L = 100 (6416 states in all), 0.3 s and 35 MB for L = 1000, on one core of an AMD EPYC.
pub fn solve(
    arrivals: &Mmpp,
    service: &Service,
    limit: usize,
    refuses: impl Fn(usize, usize) -> f64,
) -> Option<Solution> {
    if limit == 0 || cut_off(&arrivals.generator).is_some() {
        return None;
    }
    let (m, p) = (arrivals.states(), service.begins.len());
    let admits: Vec<Vec<f64>> = (0..arrivals.classes())
        .map(|class| (0..=limit).map(|n| if n < limit { 1.0 - refuses(class, n + 1) } else { 0.0 }).collect())
        .collect();
    // Transitions of the arrivals that admit a packet, with n packets in the system.
    let enters = |n: usize| {
        let all = arrivals.packets.iter().zip(&admits);
        all.fold(Matrix::zero(m, m), |sum, (packets, admits)| sum.plus(admits[n], packets))
    };
    let ends = service.ends();
    let (phases, states) = (Matrix::identity(p), Matrix::identity(m));
    let begins = Matrix::from_fn(1, p, |_, k| service.begins[k]);
    let over = Matrix::from_fn(p, 1, |k, _| ends[k]);
    let up = |n: usize| {
        if n == 0 { enters(n).kron(&begins) } else { enters(n).kron(&phases) }
    };
    let down = |n: usize| if n == 1 { states.kron(&over) } else { states.kron(&over.times(&begins)) };
    let stays = |n: usize| {
        let others = arrivals.generator.clone().plus(-1.0, &enters(n));
        if n == 0 { others } else { others.kron_sum(&service.moves) }
    };
    // From the top: pi(n) = pi(n-1) R(n); R(n) also gives the reduced equations of the level below.
    let mut ratios = vec![Matrix::zero(0, 0); limit + 1];
    let mut here = stays(limit);
    for n in (1..=limit).rev() {
        let minus = Matrix::zero(here.rows(), here.cols()).plus(-1.0, &here).transposed();
        ratios[n] = minus.solve(&up(n - 1).transposed())?.transposed();
        here = stays(n - 1).plus(1.0, &ratios[n].times(&down(n)));
    }
    let mut level = stationary(&here)?;
    let mut full = vec![level.clone()];
    for ratio in &ratios[1..] {
        level = ratio.after(&level);
        full.push(level.clone());
    }
    let whole: f64 = full.iter().flatten().sum();
    full.iter_mut().flatten().for_each(|cell| *cell /= whole);
    let throughput =
        full[1..].iter().map(|level| level.iter().enumerate().map(|(i, x)| x * ends[i % p]).sum::<f64>()).sum();
    let ending = |(n, level): (usize, &Vec<f64>)| match n {
        0 => vec![0.0; m],
        _ => level.chunks(p).map(|phases| dot(phases, &ends)).collect(),
    };
    let served = full.iter().enumerate().map(ending).collect();
    let by_state = |(n, level): (usize, &Vec<f64>)| match n {
        0 => level.clone(),
        _ => level.chunks(p).map(|phases| phases.iter().sum()).collect(),
    };
    let levels = full.iter().enumerate().map(by_state).collect();
    let rates = (0..arrivals.classes()).map(|class| arrivals.rates(class)).collect();
    Some(Solution { levels, rates, admits, served, throughput })
}

impl Solution {
    /// Probability of n packets in the system, including the one in service.
    pub fn distribution(&self) -> Vec<f64> {
        self.levels.iter().map(|level| level.iter().sum()).collect()
    }

    /// Mean number of packets in the system.
    pub fn mean(&self) -> f64 {
        self.distribution().iter().enumerate().map(|(n, p)| n as f64 * p).sum()
    }

    /// Packets served per second.
    pub const fn throughput(&self) -> f64 {
        self.throughput
    }

    /// Mean time in the system in seconds (Little's law).
    pub fn delay_s(&self) -> f64 {
        self.mean() / self.throughput
    }

    /// Arrivals of `class` per second with n packets in the system.
    fn arrivals(&self, class: usize) -> Vec<f64> {
        self.levels.iter().map(|level| dot(level, &self.rates[class])).collect()
    }

    fn refused(&self, class: usize) -> f64 {
        self.arrivals(class).iter().zip(&self.admits[class]).map(|(rate, admits)| rate * (1.0 - admits)).sum()
    }

    /// Packets per second that enter with n packets in the system while the arrivals are in state i.
    fn entering(&self, n: usize, i: usize) -> f64 {
        let of = |(rates, admits): (&Vec<f64>, &Vec<f64>)| rates[i] * admits[n];
        self.levels[n][i] * self.rates.iter().zip(&self.admits).map(of).sum::<f64>()
    }

    /// Packets per second that enter and that leave, by state of the arrivals.
    pub fn flows_by_state(&self) -> Vec<[f64; 2]> {
        let levels = || 0..self.levels.len();
        let both = |i| [levels().map(|n| self.entering(n, i)).sum(), self.served.iter().map(|of| of[i]).sum()];
        (0..self.levels[0].len()).map(both).collect()
    }

    /// For each n below L: packets per second that enter with n packets in the system, and that leave with n + 1.
    pub fn flows_by_level(&self) -> Vec<[f64; 2]> {
        let states = 0..self.levels[0].len();
        let entering = |n| states.clone().map(|i| self.entering(n, i)).sum();
        (1..self.levels.len()).map(|n| [entering(n - 1), self.served[n].iter().sum()]).collect()
    }

    /// Fraction of a class's packets that are refused.
    pub fn loss(&self, class: usize) -> f64 {
        self.refused(class) / self.arrivals(class).iter().sum::<f64>()
    }

    /// Fraction of all packets that are refused.
    pub fn total_loss(&self) -> f64 {
        let classes = || 0..self.rates.len();
        let offered: f64 = classes().map(|class| self.arrivals(class).iter().sum::<f64>()).sum();
        classes().map(|class| self.refused(class)).sum::<f64>() / offered
    }

    /// Probability that an arrival of `class` finds n packets in the system.
    pub fn seen_by(&self, class: usize) -> Vec<f64> {
        let arrivals = self.arrivals(class);
        let all: f64 = arrivals.iter().sum();
        arrivals.iter().map(|rate| rate / all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The AAQM paper's four kinds of traffic (video, multimedia, www, ftp), with rates that we chose.
    fn kinds() -> Mmpp {
        Mmpp::together(&[
            Mmpp::two_state([0.5, 0.5], [260.0, 140.0]),
            Mmpp::two_state([0.8, 0.2], [250.0, 0.0]),
            Mmpp::two_state([1.0, 2.0], [360.0, 60.0]),
            Mmpp::two_state([5.0, 5.0], [320.0, 240.0]),
        ])
        .unwrap()
    }

    /// 10 Mb/s of 1282-byte packets.
    const PER_SECOND: f64 = 10e6 / (8.0 * 1282.0);

    #[test]
    fn mean_rates_match_values_by_hand() {
        let means: Vec<f64> = (0..4).map(|class| kinds().mean_rate(class).unwrap()).collect();
        for (mean, want) in means.iter().zip([200.0, 200.0, 160.0, 280.0]) {
            assert!((mean - want).abs() < 1e-9, "{means:?}");
        }
        assert_eq!(kinds().states(), 16);
        assert!((means.iter().sum::<f64>() / PER_SECOND - 0.8615).abs() < 5e-5);
    }

    /// The specification of this project (section D.6; it is not in this repository) has these values, computed before
    /// this code was written. r is the number of exponential phases of a service time, th the threshold of the marking
    /// function as a fraction of 100 packets.
    #[test]
    fn solutions_match_values_of_the_specification() {
        for (phases, th, mean, delay_ms, losses, total) in [
            (1, Some(0.95), 22.965, 27.827, [0.01488, 0.01583, 0.02895, 0.01406], 0.01751),
            (2, Some(0.95), 22.397, 27.111, [0.01403, 0.01494, 0.02730, 0.01323], 0.01651),
            (2, Some(0.50), 15.022, 18.314, [0.02005, 0.02127, 0.03899, 0.01887], 0.02356),
            (2, Some(0.25), 10.216, 12.540, [0.02562, 0.02731, 0.04986, 0.02413], 0.03014),
            (4, Some(0.95), 22.092, 26.728, [0.01361, 0.01450, 0.02646, 0.01282], 0.01600),
            (2, None, 23.035, 27.868, [0.01359, 0.01448, 0.02646, 0.01282], 0.01600),
        ] {
            let refuses = |_, n| th.map_or(0.0, |th| threshold(n, 100, th));
            let solution = solve(&kinds(), &Service::erlang(phases, PER_SECOND), 100, refuses).unwrap();
            let case = format!("r = {phases}, th = {th:?}");
            assert!((solution.mean() - mean).abs() < 6e-4, "{case}: {}", solution.mean());
            // Tolerance of one unit of the last digit: the table truncates.
            assert!((1e3 * solution.delay_s() - delay_ms).abs() < 1e-3, "{case}: {}", solution.delay_s());
            for (class, loss) in losses.into_iter().enumerate() {
                assert!((solution.loss(class) - loss).abs() < 6e-6, "{case}, {class}: {}", solution.loss(class));
            }
            assert!((solution.total_loss() - total).abs() < 6e-6, "{case}: {}", solution.total_loss());
            let accepted = 840.0 * (1.0 - solution.total_loss());
            assert!((solution.throughput() / accepted - 1.0).abs() < 1e-9, "{case}: throughput is the accepted rate");
        }
    }

    #[test]
    fn mm1k_and_erlang_service_match_textbook_values() {
        let poisson = Mmpp::new(Matrix::zero(1, 1), vec![0.9]);
        let mm1 = solve(&poisson, &Service::erlang(1, 1.0), 10, |_, _| 0.0).unwrap();
        assert!((mm1.loss(0) - 0.050_813_7).abs() < 5e-8 && (mm1.mean() - 3.969_44).abs() < 5e-6);
        let me2 = solve(&poisson, &Service::erlang(2, 1.0), 5, |_, _| 0.0).unwrap();
        let distribution = me2.distribution();
        assert!((distribution[0] - 0.188_316).abs() < 5e-7 && (distribution[5] - 0.098_129).abs() < 5e-7);
        assert!((me2.mean() - 2.172_201).abs() < 5e-7);
        // Poisson arrivals see time averages; bursty arrivals see a longer queue.
        assert!(me2.seen_by(0).iter().zip(&distribution).all(|(a, b)| (a - b).abs() < 1e-12));
        let bursts = Mmpp::two_state([1.0, 1.0], [1.8, 0.0]);
        let solution = solve(&bursts, &Service::erlang(1, 1.0), 10, |_, _| 0.0).unwrap();
        let seen: f64 = solution.seen_by(0).iter().enumerate().map(|(n, p)| n as f64 * p).sum();
        assert!(seen > solution.mean());
    }

    #[test]
    fn counting_active_sources_equals_separate_on_off_sources() {
        let one = || Mmpp::two_state([0.8, 0.2], [250.0, 0.0]);
        let named = Mmpp::together(&[one(), one(), one()]).unwrap();
        let counted = Mmpp::minisources(3, 0.8, 0.2, 250.0);
        let mean = |arrivals: &Mmpp| solve(arrivals, &Service::erlang(2, 700.0), 40, |_, _| 0.0).unwrap().mean();
        assert_eq!((named.states(), counted.states(), named.classes(), counted.classes()), (8, 4, 3, 1));
        assert!((mean(&named) - mean(&counted)).abs() < 1e-9);
    }

    /// One packet at most, service at rate 2; the arrivals have rate 2 in state A and 0 in B, and change state at rate 1.
    /// With a = P(A, one packet) and b = P(B, one packet), each state has probability 1/2. Balance of (A, one packet):
    /// 2 (1/2 - a) + b = 3 a; of (B, one packet): a = 3 b. So b = 1/14 and a = 3/14. In A 2 x 4/14 packets per second
    /// enter and 2 x 3/14 leave; in B none enter and 2/14 leave.
    #[test]
    fn flows_by_state_match_values_by_hand() {
        let bursts = Mmpp::two_state([1.0, 1.0], [2.0, 0.0]);
        let solution = solve(&bursts, &Service::erlang(1, 2.0), 1, |_, _| 0.0).unwrap();
        let near = |found: &[[f64; 2]], want: &[[f64; 2]]| {
            let apart = found.iter().flatten().zip(want.iter().flatten()).map(|(a, b)| (a - b).abs());
            found.len() == want.len() && apart.fold(0.0, f64::max) < 1e-12
        };
        assert!(near(&solution.flows_by_state(), &[[8.0 / 14.0, 6.0 / 14.0], [0.0, 2.0 / 14.0]]));
        assert!(near(&solution.flows_by_level(), &[[8.0 / 14.0, 8.0 / 14.0]]));
    }

    /// Two classes on one chain are the single class with their sum.
    #[test]
    fn shared_chain_equals_chain_of_sum() {
        let one = Mmpp::two_state([0.6, 0.3], [470.0, 215.0]);
        let two = Mmpp::shared([0.6, 0.3], &[[220.0, 151.0], [250.0, 64.0]]);
        let solved = |arrivals: &Mmpp| solve(arrivals, &Service::erlang(2, 450.0), 20, |_, _| 0.0).unwrap();
        let (one, two) = (solved(&one), solved(&two));
        assert!((one.mean() - two.mean()).abs() < 1e-9 && (one.total_loss() - two.total_loss()).abs() < 1e-12);
        assert!((two.loss(1) - two.loss(0)).abs() > 1e-4, "the burstier class loses more");
    }

    /// [`threshold`]: the refusal probability is 0 up to 95 of 100 packets, then linear to 1 at 100.
    #[test]
    fn refusal_probability_rises_from_threshold_to_full_buffer() {
        assert_eq!(
            [94, 95, 96, 100].map(|n| threshold(n, 100, 0.95)).map(|d| (d * 1e9).round() / 1e9),
            [0.0, 0.0, 0.2, 1.0]
        );
    }
}
