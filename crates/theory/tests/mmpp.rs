//! The solver of MMPP/PH/1/L compared with two oracles that share no code with it: the complete chain as one matrix,
//! and a simulation of the queue.

use forebay_theory::dense::Matrix;
use forebay_theory::mmpp::{Mmpp, Service, Solution, solve};

type Rows = Vec<Vec<f64>>;

fn matrix(rows: &Rows) -> Matrix {
    Matrix::from_fn(rows.len(), rows.len(), |i, j| rows[i][j])
}

/// A class of packets: transition rates without and with a packet, per second; the diagonal of the first is ignored.
#[derive(Clone)]
struct Source {
    quiet: Rows,
    loud: Rows,
}

/// A queue: sources; service (initial probabilities, transition rates, completion rates of the phases); room.
struct Case {
    sources: Vec<Source>,
    begins: Vec<f64>,
    moves: Rows,
    ends: Vec<f64>,
    room: usize,
    refuses: fn(usize, usize) -> f64,
}

/// The compared quantities, by the number in the system.
#[derive(Debug)]
struct Figures {
    distribution: Vec<f64>,
    throughput: f64,
    losses: Vec<f64>,
    seen: Vec<Vec<f64>>,
}

impl Case {
    fn solved(&self) -> Figures {
        let one = |source: &Source| {
            let n = source.quiet.len();
            let goes = |i: usize, j: usize| source.quiet[i][j] + source.loud[i][j];
            let leaves = |i: usize| (0..n).filter(|j| *j != i).map(|j| goes(i, j)).sum::<f64>();
            let all = Matrix::from_fn(n, n, |i, j| if i == j { -leaves(i) } else { goes(i, j) });
            Mmpp::map(all, matrix(&source.loud))
        };
        let all: Vec<Mmpp> = self.sources.iter().map(one).collect();
        let p = self.begins.len();
        let leaves = |i: usize| (0..p).filter(|j| *j != i).map(|j| self.moves[i][j]).sum::<f64>() + self.ends[i];
        let moves = Matrix::from_fn(p, p, |i, j| if i == j { -leaves(i) } else { self.moves[i][j] });
        let service = Service::new(self.begins.clone(), moves);
        let found = solve(&Mmpp::together(&all).unwrap(), &service, self.room, self.refuses).unwrap();
        let classes = 0..self.sources.len();
        Figures {
            distribution: found.distribution(),
            throughput: found.throughput(),
            losses: classes.clone().map(|class| found.loss(class)).collect(),
            seen: classes.map(|class| found.seen_by(class)).collect(),
        }
    }

    /// All states: number in the system, state of each source, phase of the service (0 if idle).
    fn states(&self) -> Vec<(usize, Vec<usize>, usize)> {
        let mut sources = vec![vec![]];
        for source in &self.sources {
            sources = sources
                .iter()
                .flat_map(|so_far: &Vec<usize>| (0..source.quiet.len()).map(|i| [so_far.as_slice(), &[i]].concat()))
                .collect();
        }
        let phases = |n: usize| if n == 0 { 0..1 } else { 0..self.begins.len() };
        (0..=self.room)
            .flat_map(|n| phases(n).flat_map(move |k| [(n, k)]))
            .flat_map(|(n, k)| sources.iter().map(move |at| (n, at.clone(), k)))
            .collect()
    }

    fn brute(&self) -> Figures {
        let states = self.states();
        let place = |n: usize, at: &[usize], k: usize| {
            states.iter().position(|s| (s.0, s.1.as_slice(), s.2) == (n, at, k)).unwrap()
        };
        let mut q = vec![vec![0.0; states.len()]; states.len()];
        for (from, (n, at, k)) in states.iter().enumerate() {
            let mut goes = |n: usize, at: &[usize], k: usize, rate: f64| {
                let to = place(n, at, k);
                if rate > 0.0 && to != from {
                    q[from][to] += rate;
                }
            };
            for (class, source) in self.sources.iter().enumerate() {
                for j in 0..source.quiet.len() {
                    let mut next = at.clone();
                    next[class] = j;
                    if j != at[class] {
                        goes(*n, &next, *k, source.quiet[at[class]][j]);
                    }
                    let (rate, enters) = (source.loud[at[class]][j], self.enters(class, *n));
                    goes(*n, &next, *k, rate * (1.0 - enters));
                    for (first, chance) in self.begins.iter().enumerate().filter(|_| *n == 0) {
                        goes(1, &next, first, rate * enters * chance);
                    }
                    if (1..self.room).contains(n) {
                        goes(n + 1, &next, *k, rate * enters);
                    }
                }
            }
            if *n > 0 {
                (0..self.begins.len()).filter(|j| j != k).for_each(|j| goes(*n, at, j, self.moves[*k][j]));
                for (first, chance) in self.begins.iter().enumerate().filter(|_| *n > 1) {
                    goes(n - 1, at, first, self.ends[*k] * chance);
                }
                if *n == 1 {
                    goes(0, at, 0, self.ends[*k]);
                }
            }
        }
        self.figures(&states, &rest(q))
    }

    /// Probability that a packet of a class is accepted with n in the system.
    fn enters(&self, class: usize, n: usize) -> f64 {
        if n == self.room { 0.0 } else { 1.0 - (self.refuses)(class, n + 1) }
    }

    fn figures(&self, states: &[(usize, Vec<usize>, usize)], shares: &[f64]) -> Figures {
        let mut distribution = vec![0.0; self.room + 1];
        let mut arrivals = vec![vec![0.0; self.room + 1]; self.sources.len()];
        let mut throughput = 0.0;
        for ((n, at, k), share) in states.iter().zip(shares) {
            distribution[*n] += share;
            throughput += if *n > 0 { share * self.ends[*k] } else { 0.0 };
            for (class, source) in self.sources.iter().enumerate() {
                arrivals[class][*n] += share * source.loud[at[class]].iter().sum::<f64>();
            }
        }
        let sum = |class: usize| arrivals[class].iter().sum::<f64>();
        let lost = |class: usize| -> f64 {
            arrivals[class].iter().enumerate().map(|(n, rate)| rate * (1.0 - self.enters(class, n))).sum()
        };
        let classes = 0..self.sources.len();
        Figures {
            distribution,
            throughput,
            losses: classes.clone().map(|class| lost(class) / sum(class)).collect(),
            seen: classes.map(|class| arrivals[class].iter().map(|rate| rate / sum(class)).collect()).collect(),
        }
    }
}

/// Stationary distribution by Grassmann, Taksar and Heyman (1985), which uses only sums and quotients of positive
/// numbers.
fn rest(mut q: Rows) -> Vec<f64> {
    let n = q.len();
    for k in (1..n).rev() {
        let out: f64 = q[k][..k].iter().sum();
        for i in 0..k {
            q[i][k] /= out;
            for j in (0..k).filter(|j| *j != i) {
                q[i][j] += q[i][k] * q[k][j];
            }
        }
    }
    let mut shares: Vec<f64> = vec![1.0];
    while shares.len() < n {
        shares.push(shares.iter().zip(&q).map(|(share, row)| share * row[shares.len()]).sum());
    }
    let sum: f64 = shares.iter().sum();
    shares.iter().map(|share| share / sum).collect()
}

fn mmpp(moves: [f64; 2], rates: [f64; 2]) -> Source {
    Source {
        quiet: vec![vec![0.0, moves[0]], vec![moves[1], 0.0]],
        loud: vec![vec![rates[0], 0.0], vec![0.0, rates[1]]],
    }
}

/// Three states; transitions with and without packets.
fn map() -> Source {
    Source {
        quiet: vec![vec![0.0, 0.3, 0.0], vec![0.0, 0.0, 1.5], vec![0.2, 0.0, 0.0]],
        loud: vec![vec![0.0, 0.0, 0.7], vec![2.0, 0.1, 0.0], vec![0.0, 0.4, 1.1]],
    }
}

fn cases() -> Vec<Case> {
    let erlang_2 = (vec![1.0, 0.0], vec![vec![0.0, 2.0], vec![0.0, 0.0]], vec![0.0, 2.0]);
    let exponential = (vec![1.0], vec![vec![0.0]], vec![1.0]);
    // Two initial phases, a transition back, and completion from both.
    let any = (vec![0.3, 0.7], vec![vec![0.0, 0.4], vec![0.9, 0.0]], vec![1.6, 0.5]);
    let rises: fn(usize, usize) -> f64 = |class, n| (0.2 * n as f64 - 0.3 - 0.3 * class as f64).clamp(0.0, 1.0);
    let case = |sources, (begins, moves, ends): &(Vec<f64>, Rows, Vec<f64>), room, refuses| Case {
        sources,
        begins: begins.clone(),
        moves: moves.clone(),
        ends: ends.clone(),
        room,
        refuses,
    };
    vec![
        case(vec![mmpp([0.5, 0.25], [1.5, 0.2])], &erlang_2, 5, |_, _| 0.0),
        case(vec![mmpp([0.5, 0.25], [1.5, 0.2])], &exponential, 1, |_, _| 0.0),
        case(vec![mmpp([5.0, 1.0], [0.0, 0.9]), mmpp([0.1, 0.3], [0.6, 0.0])], &erlang_2, 6, rises),
        case(vec![map()], &any, 6, rises),
        case(vec![map(), mmpp([0.5, 0.25], [0.4, 0.1])], &any, 4, rises),
    ]
}

#[test]
fn solving_by_level_equals_solving_complete_chain() {
    for (i, case) in cases().iter().enumerate() {
        let (found, brute) = (case.solved(), case.brute());
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-12;
        let all_near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(*a, *b));
        let seen = found.seen.iter().zip(&brute.seen).all(|(a, b)| all_near(a, b));
        let rest = near(found.throughput, brute.throughput) && all_near(&found.losses, &brute.losses);
        assert!(seen && rest && all_near(&found.distribution, &brute.distribution), "{i}: {found:?}\n{brute:?}");
    }
}

/// Random numbers by Marsaglia's xorshift (2003).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.uniform()).ln() / rate
    }
}

const ROOM: usize = 5;
const RATE: f64 = 0.9;

/// An exponential service of rate 2, followed with probability 0.4 by one of rate 0.8: mean 1, squared coefficient of
/// variation 1.5.
fn service(random: &mut Random) -> f64 {
    let first = random.exponential(2.0);
    if random.uniform() < 0.4 { first + random.exponential(0.8) } else { first }
}

/// Share of the time with n in the system, and of arrivals lost: M/PH/1/5, packet by packet.
fn simulated(arrivals: u32, random: &mut Random) -> Vec<f64> {
    let (mut now, mut leaves): (f64, Vec<f64>) = (0.0, Vec::new());
    let (mut time, mut lost) = (vec![0.0; ROOM + 1], 0.0);
    for _ in 0..arrivals {
        let next = now + random.exponential(RATE);
        while let Some(&leave) = leaves.first().filter(|leave| **leave <= next) {
            time[leaves.len()] += leave - now;
            now = leave;
            leaves.remove(0);
        }
        time[leaves.len()] += next - now;
        now = next;
        if leaves.len() == ROOM {
            lost += 1.0;
        } else {
            leaves.push(leaves.last().copied().unwrap_or(now) + service(random));
        }
    }
    time.iter().map(|time| time / now).chain([lost / f64::from(arrivals)]).collect()
}

/// Thirty runs of 100,000 arrivals: each value within four standard errors, exceeded once in 16,000.
#[test]
fn simulation_matches_solution_for_phase_type_service() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let runs: Vec<Vec<f64>> = (0..30).map(|_| simulated(100_000, &mut random)).collect();
    let moves = Matrix::from_fn(2, 2, |i, j| [[-2.0, 0.8], [0.0, -0.8]][i][j]);
    let poisson = Mmpp::new(Matrix::zero(1, 1), vec![RATE]);
    let exact: Solution = solve(&poisson, &Service::new(vec![1.0, 0.0], moves), ROOM, |_, _| 0.0).unwrap();
    let mut figures = exact.distribution();
    figures.push(exact.loss(0));
    for (i, figure) in figures.iter().enumerate() {
        let n = runs.len() as f64;
        let mean = runs.iter().map(|run| run[i]).sum::<f64>() / n;
        let spread = runs.iter().map(|run| (run[i] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        assert!((mean - figure).abs() <= 4.0 * (spread / n).sqrt(), "{i}: {mean} for {figure}");
    }
}

#[test]
fn lumped_sources_equal_separate_sources() {
    for source in [mmpp([0.5, 0.25], [0.5, 0.2]), map()] {
        let n = source.quiet.len();
        let goes = |i: usize, j: usize| source.quiet[i][j] + source.loud[i][j];
        let leaves = |i: usize| (0..n).filter(|j| *j != i).map(|j| goes(i, j)).sum::<f64>();
        let one =
            Mmpp::map(Matrix::from_fn(n, n, |i, j| if i == j { -leaves(i) } else { goes(i, j) }), matrix(&source.loud));
        let (few, many) = (one.copies(3), Mmpp::together(&[one.clone(), one.clone(), one.clone()]).unwrap());
        assert_eq!(Some(few.states()), Mmpp::states_of_copies(3, n));
        let solved = |all: &Mmpp| solve(all, &Service::erlang(2, 3.0), 20, |_, _| 0.0).unwrap();
        let (few, many) = (solved(&few), solved(&many));
        assert!((few.mean() - many.mean()).abs() < 1e-9 && (few.loss(0) - many.total_loss()).abs() < 1e-12);
    }
    assert_eq!((Mmpp::states_of_copies(50, 2), Mmpp::states_of_copies(usize::MAX, 64)), (Some(51), None));
}

/// The capacity is the largest number of packets in the system, L. A chain is reducible if some of its states cannot
/// be reached from others.
#[test]
fn zero_capacity_and_reducible_arrival_chain_are_refused() {
    let poisson = Mmpp::new(Matrix::zero(1, 1), vec![RATE]);
    assert!(solve(&poisson, &Service::erlang(1, 1.0), 0, |_, _| 0.0).is_none());
    let apart = Mmpp::new(Matrix::zero(2, 2), vec![RATE, 0.1]);
    assert!(solve(&apart, &Service::erlang(1, 1.0), 3, |_, _| 0.0).is_none());
    assert!(apart.mean_rate(0).is_none());
}
