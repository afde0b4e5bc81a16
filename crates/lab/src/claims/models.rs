//! Models for comparison with simulation: lines of figures, and queue distributions that simulated queues are compared
//! with. `docs/claims.md` lists them.
//!
//! RED+Tail (section VI of its paper): N TCP connections with windows of W packets share a link of rate C. Their rates
//! change every S seconds. The function f gives the queue S seconds later, without noise; q_e, with f(q_e) = q_e, is
//! the equilibrium queue. RED+Tail divides its buffer between two queues; queue 1 has the rate C1, from C1min to C1max.
//! AAQM (section 5): the arrival rates of four classes of traffic depend on the state of a Markov chain. While the
//! queue is above a threshold, a fraction of the buffer, arriving packets are dropped early at random. RAQM: c is a
//! factor of its gain, a function of x, the arrival rate over the target rate.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use forebay_aqm::base::rng::Rng;
use forebay_aqm::law::raqm;
use forebay_aqm::queue::red_tail;
use forebay_theory::fit::{RateMoments, TwoStates};
use forebay_theory::lindley::Loop;
use forebay_theory::mmpp::{self, Mmpp, Service, Solution};

use super::theorems::tail::{CAPACITY, MAX_TH1, MIN_TH1, eq1};

/// A model with its parameters, as figures and checks write it: `tail-chain n=20 sigma=77021 w=10.35`.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// RED+Tail's queue model, section VI.
    Tail(Shows, Tail),
    /// RED+Tail, C1 against the length of queue 1. The numbers are C1min and C1max as fractions of the link rate C.
    TailC1(Formula, [f64; 2]),
    /// AAQM, section 5: loss ratio against the threshold of its early drops, for the class of traffic with this index
    /// or for all packets (`None`).
    AaqmLoss(Chain, Option<usize>),
    /// AAQM, section 5, with a Markov chain of eight states: distribution of the number of packets that wait at a link
    /// with early drops above a threshold. The number is the threshold as a fraction of the buffer.
    AaqmQueue(f64),
    /// RAQM, eq. 13: c against x, computed with the function of the discipline `raqm`.
    RaqmC,
}

/// Which formula of the RED+Tail paper gives C1, the rate of queue 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// The listing of section III, as the discipline `red_tail` implements it.
    Listing,
    /// Eq. 1, section VI-A.
    Eq1,
}

/// The Markov chain whose state determines the arrival rates of AAQM's classes of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// A chain of two states for each of the four classes of traffic: 16 states.
    Kinds,
    /// A chain of two states for each of three time scales: 8 states, the paper's "three levels".
    Levels,
}

/// Output of the RED+Tail model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Distribution of the queue, from a Markov chain of queue lengths with f and noise, eq. 17.
    Chain,
    /// Distribution of the queue, with f linearised around the equilibrium q_e, eq. 21.
    Linear,
    /// Queue over time, with random deviations of the connections' rates (noise), eq. 15.
    Queue,
    /// Rate of one connection over time, eq. 3.
    Rate,
    /// f: the queue S seconds later without noise against the queue, eq. 6.
    Map,
}

/// Parameters of the RED+Tail model. The link is that of the example of the paper's Figs. 17 to 21: 6 Mbit/s, 64 ms of
/// round-trip time without a queue, and a buffer of 500 KB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// N, number of connections.
    pub flows: usize,
    /// Standard deviation of a connection's rate, bit/s.
    pub sigma: f64,
    /// W, window of a connection in packets.
    pub window: f64,
    /// S, the time between two changes of the connections' rates, in round-trip times at the equilibrium queue.
    pub round_trips: f64,
}

/// Bits per packet in RED+Tail's example.
const PACKET: f64 = 8000.0;
/// Start and end of the computed queue and rate over time, in seconds; the figures show the same span of the simulated
/// run.
const SPAN_S: (f64, f64) = (76.0, 276.0);
/// Buffer in AAQM's model in packets.
const AAQM_LIMIT: usize = 100;
/// Stages of the Erlang distribution of AAQM's service times.
const AAQM_STAGES: usize = 2;
/// The classes of traffic in AAQM's model, in the order of their numbers.
const KINDS: [&str; 4] = ["video", "multimedia", "www", "ftp"];

impl Model {
    /// Reads a model with its parameters, as figures and checks write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let shows = match words.next().unwrap_or_default() {
            "tail-chain" => Shows::Chain,
            "tail-linear" => Shows::Linear,
            "tail-queue" => Shows::Queue,
            "tail-rate" => Shows::Rate,
            "tail-map" => Shows::Map,
            "tail-c1" => return Self::parse_c1(Formula::Listing, words, text),
            "tail-eq1" => return Self::parse_c1(Formula::Eq1, words, text),
            "aaqm-queue-8" => {
                let th = words.next().and_then(|word| word.strip_prefix("th=")?.parse().ok());
                let th = th.filter(|th| (0.0..1.0).contains(th) && words.next().is_none());
                return th.map(Self::AaqmQueue).ok_or_else(|| format!("'{text}' needs th=, from 0 to below 1"));
            }
            name @ ("aaqm-loss" | "aaqm-loss-8") => {
                let chain = if name == "aaqm-loss" { Chain::Kinds } else { Chain::Levels };
                let class = match words.next() {
                    None => None,
                    Some(kind) => Some(
                        KINDS
                            .iter()
                            .position(|known| *known == kind)
                            .ok_or_else(|| format!("'{kind}' is none of video, multimedia, www, ftp"))?,
                    ),
                };
                return words
                    .next()
                    .map_or(Ok(Self::AaqmLoss(chain, class)), |more| Err(format!("unexpected '{more}'")));
            }
            "raqm-c" => return words.next().map_or(Ok(Self::RaqmC), |more| Err(format!("unexpected '{more}'"))),
            other => return Err(format!("unknown model '{other}'")),
        };
        let numbers = numbers(words, &["n", "sigma", "w", "s"], |x| x > 0.0, "n, sigma, w or s with a number above 0")?;
        let get = |key: &str| numbers.get(key).copied().ok_or_else(|| format!("'{text}' lacks {key}"));
        let flows = get("n")?;
        if flows.fract() != 0.0 || flows > 1000.0 {
            return Err(format!("'{text}': n must be a whole number up to 1000"));
        }
        let round_trips = numbers.get("s").copied().unwrap_or(1.0);
        if !(0.1..=10.0).contains(&round_trips) {
            return Err(format!("'{text}': s must be 0.1 to 10 round trips"));
        }
        // f has no noise.
        let sigma = if shows == Shows::Map { 0.0 } else { get("sigma")? };
        let tail = Tail { flows: flows as usize, sigma, window: get("w")?, round_trips };
        // With two round trips the linear model does not converge.
        if shows == Shows::Linear && round_trips >= 2.0 {
            return Err(format!("'{text}': the linear model needs s below 2 round trips"));
        }
        Ok(Self::Tail(shows, tail))
    }

    /// Reads C1min and C1max, fractions of the link rate, for a formula of C1.
    fn parse_c1<'a>(formula: Formula, words: impl Iterator<Item = &'a str>, text: &str) -> Result<Self, String> {
        let share = |x| (0.0..=1.0).contains(&x);
        let numbers = numbers(words, &["min", "max"], share, "min or max with a number from 0 to 1")?;
        let get = |key: &str| numbers.get(key).copied().ok_or_else(|| format!("'{text}' lacks {key}"));
        Ok(Self::TailC1(formula, [get("min")?, get("max")?]))
    }

    /// The model as points (x, y); empty if it has no solution:
    /// - `tail-chain`, `tail-linear` and `aaqm-queue-8`: queue in packets, fraction of time;
    /// - `tail-queue`: seconds, queue in packets;
    /// - `tail-rate`: seconds, packets per second;
    /// - `tail-map`: queue in packets, queue S seconds later in packets;
    /// - `tail-c1` and `tail-eq1`: length of queue 1 in KB, C1 as a fraction of the link rate C;
    /// - `aaqm-loss` and `aaqm-loss-8`: threshold of the early drops as a fraction of the buffer, loss ratio;
    /// - `raqm-c`: arrival rate over the target rate, c.
    pub fn points(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Tail(Shows::Queue, tail) => tail.path().into_iter().map(|(t, queue, _)| (t, queue)).collect(),
            Self::Tail(Shows::Rate, tail) => tail.path().into_iter().map(|(t, _, rate)| (t, rate)).collect(),
            Self::Tail(Shows::Map, tail) => {
                let one = tail.network();
                (0..=70).map(|i| 10.0 * f64::from(i)).map(|q| (q, one.drift(q * PACKET) / PACKET)).collect()
            }
            Self::TailC1(formula, bounds) => {
                let bounds = (bounds[0] * CAPACITY, bounds[1] * CAPACITY);
                let c1 = |q1| match formula {
                    Formula::Listing => red_tail::c1(q1, CAPACITY, bounds, (MIN_TH1, MAX_TH1)),
                    Formula::Eq1 => eq1(q1, CAPACITY, bounds, MAX_TH1),
                };
                (1..=80).map(|i| 0.5 * f64::from(i)).map(|kb| (kb, c1(1e3 * kb) / CAPACITY)).collect()
            }
            Self::Tail(..) | Self::AaqmQueue(_) => {
                self.shares().into_iter().enumerate().map(|(q, share)| (q as f64, share)).collect()
            }
            Self::AaqmLoss(chain, class) => {
                let loss = |queue: &Solution| class.map_or_else(|| queue.total_loss(), |class| queue.loss(class));
                let at = |th: f64| Some((th, loss(&aaqm(*chain, th)?)));
                (5..=19).filter_map(|i| at(0.05 * f64::from(i))).collect()
            }
            Self::RaqmC => {
                let at = |i| 0.01 * f64::from(i);
                (1..200).map(|i| (at(i), raqm::c(at(i), f64::INFINITY))).collect()
            }
        }
    }

    /// Fraction of time at each queue length from 0 packets; empty if the model has no distribution.
    pub fn shares(&self) -> Vec<f64> {
        match self {
            Self::Tail(Shows::Chain, tail) => {
                tail.network().chain(tail.sigma, PACKET, 0.5).map_or_else(Vec::new, |rest| rest.chance)
            }
            Self::Tail(Shows::Linear, tail) => tail.bell(),
            Self::AaqmQueue(th) => aaqm_waiting(*th).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// Reads words such as `n=20` whose keys are `known` and whose values are `allowed`. `what` describes them.
fn numbers<'a>(
    words: impl Iterator<Item = &'a str>,
    known: &[&str],
    allowed: impl Fn(f64) -> bool,
    what: &str,
) -> Result<BTreeMap<&'a str, f64>, String> {
    let number = |word: &'a str| {
        let (key, x) = word.split_once('=').filter(|(key, _)| known.contains(key))?;
        Some((key, x.parse::<f64>().ok().filter(|x| allowed(*x))?))
    };
    words.map(|word| number(word).ok_or_else(|| format!("'{word}' is not {what}"))).collect()
}

impl Tail {
    /// The network of the model: its flows and its link.
    pub fn network(&self) -> Loop {
        let (capacity, window) = (6e6, self.window * PACKET);
        let interval_s = self.round_trips * self.flows as f64 * window / capacity;
        Loop { capacity, window, delays_s: vec![0.064; self.flows], interval_s, buffer: 4e6 }
    }

    /// Queue distribution with f linearised: probabilities of a normal distribution around the equilibrium queue q_e,
    /// in intervals of one packet. The first and the last interval include the tails.
    fn bell(&self) -> Vec<f64> {
        let one = self.network();
        let (mean, width) = (one.equilibrium() / PACKET, one.linear_std(self.sigma) / PACKET);
        let last = (one.buffer / PACKET) as usize;
        let below = |q: usize| match q {
            0 => 0.0,
            _ if q == last => 1.0,
            _ => 0.5 * libm::erfc((mean - q as f64) / (width * std::f64::consts::SQRT_2)),
        };
        (0..last).map(|q| below(q + 1) - below(q)).collect()
    }

    /// Time in seconds, queue in packets and rate of the first connection in packets per second. The queue is empty at
    /// 0 s.
    fn path(&self) -> Vec<(f64, f64, f64)> {
        let one = self.network();
        let mut rng = Rng::stream(1, "tail/path");
        let (mut q, mut at) = (0.0, 0.0);
        let mut path = Vec::new();
        while at <= SPAN_S.1 {
            let off: Vec<f64> = (0..self.flows).map(|_| self.sigma * normal(&mut rng)).collect();
            let rate = one.window * one.capacity / (q + one.delays_s[0] * one.capacity) + off[0];
            if at >= SPAN_S.0 {
                path.push((at, q / PACKET, rate / PACKET));
            }
            q = (one.drift(q) + one.interval_s * off.iter().sum::<f64>()).clamp(0.0, one.buffer);
            at += one.interval_s;
        }
        path
    }
}

/// A random number with the standard normal distribution, by the method of Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let (u, v) = (1.0 - rng.uniform(), rng.uniform());
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v)
}

/// The sources of video, multimedia, www and ftp in AAQM's model: mean seconds in each of two states, and packets
/// per second in that state. The rates are ours, because the paper's are not available.
const SOURCES: [TwoStates; 4] = [
    TwoStates { mean_s: [0.5, 0.5], rates: [260.0, 140.0], third_matched: true },
    TwoStates { mean_s: [0.8, 0.2], rates: [250.0, 0.0], third_matched: true },
    TwoStates { mean_s: [1.0, 2.0], rates: [360.0, 60.0], third_matched: true },
    TwoStates { mean_s: [5.0, 5.0], rates: [320.0, 240.0], third_matched: true },
];

/// Several sources whose rates depend on one common chain of two states. The sum of the rates has the same moments as
/// with a separate chain for each source. The rate of a source in a state is its linear regression on the sum, so that
/// each source contributes its part of the variance.
fn merged(sources: &[TwoStates]) -> Mmpp {
    let moments: Vec<RateMoments> = sources.iter().map(TwoStates::rate).collect();
    let sum = RateMoments::sum(&moments);
    let one = TwoStates::of_rate(&sum);
    let rates = |of: &RateMoments| one.rates.map(|rate| of.mean + of.variance / sum.variance * (rate - sum.mean));
    Mmpp::shared(one.mean_s, &moments.iter().map(rates).collect::<Vec<_>>())
}

/// The arrivals in AAQM's model as a Markov-modulated Poisson process, with the classes video, multimedia,
/// www and ftp in this order.
pub(crate) fn aaqm_arrivals(chain: Chain) -> Option<Mmpp> {
    // With eight states, video and multimedia, whose time scales are nearly equal (0.25 and 0.16 s), share one level.
    // www (0.67 s) and ftp (2.5 s) are the other two levels.
    let levels: &[&[TwoStates]] = match chain {
        Chain::Kinds => &[&SOURCES[..1], &SOURCES[1..2], &SOURCES[2..3], &SOURCES[3..]],
        Chain::Levels => &[&SOURCES[..2], &SOURCES[2..3], &SOURCES[3..]],
    };
    let of = |level: &&[TwoStates]| match level {
        [one] => Mmpp::two_state(one.mean_s, one.rates),
        several => merged(several),
    };
    Mmpp::together(&levels.iter().map(of).collect::<Vec<_>>())
}

/// Capacity of the link in AAQM's model in packets per second: 10 Mbit/s with 1282-byte packets.
pub(crate) const fn aaqm_capacity() -> f64 {
    10e6 / (8.0 * 1282.0)
}

fn aaqm_service() -> Service {
    Service::erlang(AAQM_STAGES, aaqm_capacity())
}

/// Solution of AAQM's queue model with these arrivals. By the marking function of eq. 18 the early drops begin at the
/// fraction `th` of the buffer.
pub(crate) fn aaqm_with(arrivals: &Mmpp, th: f64) -> Option<Solution> {
    mmpp::solve(arrivals, &aaqm_service(), AAQM_LIMIT, |_, n| mmpp::threshold(n, AAQM_LIMIT, th))
}

/// Solution of AAQM's queue model with the arrivals of this Markov chain. By the marking function of eq. 18 the early
/// drops begin at the fraction `th` of the buffer.
pub(crate) fn aaqm(chain: Chain, th: f64) -> Option<Solution> {
    aaqm_with(&aaqm_arrivals(chain)?, th)
}

/// Distribution of the number of waiting packets in AAQM's model, without the packet in transmission, with a Markov
/// chain of eight states. The queue that decides about early drops is counted as at a simulated link (parameter `th` of
/// its discipline): the waiting packets, the arriving one included, even if the link is idle.
fn aaqm_waiting(th: f64) -> Option<Vec<f64>> {
    let room = AAQM_LIMIT - 1;
    let refuses = |_, n: usize| mmpp::threshold((n - 1).max(1), room, th);
    let solution = mmpp::solve(&aaqm_arrivals(Chain::Levels)?, &aaqm_service(), AAQM_LIMIT, refuses)?;
    let all = solution.distribution();
    Some([all[0] + all[1]].into_iter().chain(all[2..].iter().copied()).collect())
}

/// Queue distributions computed so far, by the model's text. Solving a Markov chain takes longer than a run, and many
/// runs are compared with the same model.
static SOLVED: Mutex<BTreeMap<String, Vec<f64>>> = Mutex::new(BTreeMap::new());

/// Total variation distance of two queue distributions: half the sum of the absolute differences between `shares`,
/// fractions of time by queue length, and the model's distribution. NaN if one of them is empty.
pub fn apart(shares: &[f64], model: &Model) -> f64 {
    let mut solved = SOLVED.lock().unwrap_or_else(PoisonError::into_inner);
    let other = solved.entry(format!("{model:?}")).or_insert_with(|| model.shares());
    if other.is_empty() || shares.is_empty() {
        return f64::NAN;
    }
    let at = |all: &[f64], q: usize| all.get(q).copied().unwrap_or(0.0);
    let lengths = 0..shares.len().max(other.len());
    0.5 * lengths.map(|q| (at(shares, q) - at(other, q)).abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(text: &str) -> Model {
        Model::parse(text).unwrap()
    }

    fn moments(shares: &[f64]) -> (f64, f64) {
        let sum = |of: &dyn Fn(f64) -> f64| shares.iter().enumerate().map(|(q, p)| of(q as f64 + 0.5) * p).sum::<f64>();
        let mean = sum(&|q| q);
        (mean, sum(&|q| (q - mean) * (q - mean)).sqrt())
    }

    /// Mean and standard deviation of the queue, by the Markov chain and by its linear approximation.
    #[test]
    fn red_tail_model_gives_known_mean_and_deviation() {
        for (text, mean, std) in [
            ("tail-chain n=20 sigma=77021 w=10.351", 159.2, 11.93),
            ("tail-linear n=20 sigma=77021 w=10.351", 159.0, 11.88),
            ("tail-chain n=40 sigma=128490 w=10.351", 373.7, 57.5),
            ("tail-linear n=40 sigma=128490 w=10.351", 366.0, 56.1),
        ] {
            let shares = model(text).shares();
            let (found, width) = moments(&shares);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares.len() == 500, "{text}");
            assert!((found / mean - 1.0).abs() < 0.005 && (width / std - 1.0).abs() < 0.02, "{text}: {found} {width}");
        }
    }

    #[test]
    fn equal_distributions_have_distance_0_disjoint_ones_1() {
        let chain = model("tail-chain n=20 sigma=77021 w=10.351");
        assert!(apart(&chain.shares(), &chain).abs() < 1e-12);
        assert!((apart(&[1.0], &chain) - 1.0).abs() < 1e-9, "an empty queue is not where the model is");
        assert!(apart(&chain.shares(), &model("tail-linear n=20 sigma=77021 w=10.351")) < 0.05);
        assert!(apart(&[1.0], &model("aaqm-loss")).is_nan() && apart(&[], &chain).is_nan());
    }

    /// The standard deviations of the queue are those of the theorem `tail-f20`: 57.5 packets with S of one round-trip
    /// time, and 2.12 times as much with two. With 40 flows the round-trip time at equilibrium is 0.552 s.
    #[test]
    fn longer_time_between_rate_changes_increases_queue_deviation() {
        let base = "n=40 sigma=128490 w=10.351";
        assert_eq!(model(&format!("tail-queue {base} s=1")), model(&format!("tail-queue {base}")));
        let [calm, erratic] = ["s=1", "s=2"].map(|s| moments(&model(&format!("tail-chain {base} {s}")).shares()).1);
        assert!((erratic / calm - 2.12).abs() < 0.01, "{calm} and {erratic}");
        for (s, step_s) in [("s=0.5", 0.276), ("s=1", 0.552), ("s=2", 1.104)] {
            let path = model(&format!("tail-queue {base} {s}")).points();
            assert!((path[1].0 - path[0].0 - step_s).abs() < 1e-3, "{s}: {:?}", &path[..2]);
        }
    }

    #[test]
    fn simulated_red_tail_model_matches_its_markov_chain() {
        let mut path: Vec<f64> =
            model("tail-queue n=20 sigma=77021 w=10.351").points().into_iter().map(|(_, q)| q).collect();
        let mean = path.iter().sum::<f64>() / path.len() as f64;
        path.iter_mut().for_each(|q| *q = (*q - mean) * (*q - mean));
        let std = (path.iter().sum::<f64>() / path.len() as f64).sqrt();
        // 725 steps, nearly independent.
        assert!((mean - 159.2).abs() < 2.0 && (std / 11.93 - 1.0).abs() < 0.1, "{mean} +- {std}");
        let rates = model("tail-rate n=20 sigma=77021 w=10.351").points();
        let mean = rates.iter().map(|(_, rate)| rate).sum::<f64>() / rates.len() as f64;
        assert!((mean - 37.5).abs() < 1.5, "a twentieth of 750 packets per second: {mean}");
    }

    #[test]
    fn higher_aaqm_threshold_gives_lower_model_loss() {
        let losses = model("aaqm-loss").points();
        assert_eq!(losses.len(), 15);
        assert!(losses.windows(2).all(|pair| pair[1].1 < pair[0].1), "{losses:?}");
        assert!((losses[0].1 - 0.03014).abs() < 1e-5 && (losses[14].1 - 0.01651).abs() < 1e-5);
        assert!(model("aaqm-loss www").points()[0].1 > losses[0].1);
    }

    /// A Markov-modulated Poisson process (MMPP) with eight states has the same mean rate of each class as one with
    /// sixteen, and its loss is within 10 %.
    #[test]
    fn mmpp_of_8_states_keeps_rates_of_16() {
        let [kinds, levels] = [Chain::Kinds, Chain::Levels].map(|chain| aaqm_arrivals(chain).unwrap());
        assert_eq!((kinds.states(), levels.states(), levels.classes()), (16, 8, 4));
        for (class, mean) in [200.0, 200.0, 160.0, 280.0].into_iter().enumerate() {
            assert!((levels.mean_rate(class).unwrap() - mean).abs() < 1e-9, "{class}");
        }
        let [of_kinds, of_levels] = [&kinds, &levels].map(|arrivals| aaqm_with(arrivals, 0.95).unwrap().total_loss());
        assert!((of_levels / of_kinds - 1.0).abs() < 0.1, "{of_levels} and {of_kinds}");
    }

    #[test]
    fn aaqm_distribution_of_waiting_packets_sums_to_1() {
        let shares = model("aaqm-queue-8 th=0.95").shares();
        assert!(shares.len() == 100 && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(moments(&shares).0 > moments(&model("aaqm-queue-8 th=0.25").shares()).0);
    }

    /// The function f of section VI gives the queue after S seconds from the present queue, without noise. C1 is the
    /// rate of queue 1 as a fraction of the link rate.
    #[test]
    fn red_tail_f_and_c1_match_hand_calculation() {
        let at = |text: &str, x: f64| model(text).points().into_iter().find(|point| point.0 == x).unwrap().1;
        // f(0) with S = RTT = N W/C is N W (N W/(d C) - 1), N W being 207.02 and d C 48 packets.
        assert!((at("tail-map n=20 w=10.351", 0.0) - 207.02 * (207.02 / 48.0 - 1.0)).abs() < 1e-6);
        assert!((at("tail-map n=20 w=10.351 s=2", 0.0) - 2.0 * 207.02 * (207.02 / 48.0 - 1.0)).abs() < 1e-6);
        // 1 and 15 of 30 KB.
        for (text, short, middle, long) in [
            ("tail-c1 min=0 max=1", 0.0, 0.5, 1.0),
            ("tail-eq1 min=0 max=1", 1.0 / 30.0, 0.5, 1.0),
            ("tail-c1 min=0.2 max=0.75", 0.2, 0.5, 0.75),
            ("tail-eq1 min=0.2 max=0.75", 0.2, 0.5, 0.75),
        ] {
            [(1.0, short), (15.0, middle), (40.0, long)]
                .into_iter()
                .for_each(|(kb, share)| assert!((at(text, kb) - share).abs() < 1e-12, "{text} at {kb} KB"));
        }
        assert!(apart(&[1.0], &model("tail-map n=20 w=10")).is_nan());
    }

    /// RAQM's adaptive gain is epsilon c(x), eq. 13. x is the input rate over its target.
    #[test]
    fn raqm_c_of_eq_13_matches_hand_calculation() {
        // 2 ln(1.99/0.01)/0.99, 4 ln 3, the limit 4 at x = 1, and the same at 2 - x.
        let points = model("raqm-c").points();
        for (i, x, c) in [(0, 0.01, 10.694), (49, 0.5, 4.394), (99, 1.0, 4.0), (149, 1.5, 4.394), (198, 1.99, 10.694)] {
            assert!((points[i].0 - x).abs() < 1e-12 && (points[i].1 - c).abs() < 1e-3, "{:?}", points[i]);
        }
        assert!(points.len() == 199 && model("raqm-c").shares().is_empty());
    }

    #[test]
    fn invalid_models_are_refused() {
        for bad in [
            "",
            "tail",
            "tail-chain",
            "tail-chain n=20 sigma=1",
            "tail-chain n=20 sigma=0 w=1",
            "tail-chain n=2.5 sigma=1 w=1",
            "tail-chain n=9999 sigma=1 w=1",
            "tail-chain n=20 sigma=x w=1",
            "tail-chain n=20 sigma=1 w=1 p=1",
            "tail-chain n=20 sigma=1 w=1 s=0",
            "tail-chain n=20 sigma=1 w=1 s=x",
            "tail-chain n=20 sigma=1 w=1 s=nan",
            "tail-chain n=20 sigma=1 w=1 s=inf",
            "tail-queue n=20 sigma=1 w=1 s=0.01",
            "tail-queue n=20 sigma=1 w=1 s=11",
            "tail-linear n=20 sigma=1 w=1 s=2",
            "tail-chain sigma=1 w=1 s=2",
            "tail-map n=20",
            "tail-map n=20 w=0",
            "tail-c1 min=0",
            "tail-c1 min=0 max=2",
            "tail-eq1 min=nan max=1",
            "tail-eq1 min=0 max=1 n=1",
            "aaqm-loss cbr",
            "aaqm-loss www ftp",
            "raqm-c 2",
            "aaqm-loss-8 www ftp",
            "aaqm-queue-8",
            "aaqm-queue-8 0.5",
            "aaqm-queue-8 th=1",
            "aaqm-queue-8 th=nan",
            "aaqm-queue-8 th=0.5 www",
        ] {
            assert!(Model::parse(bad).is_err(), "{bad}");
        }
    }
}
