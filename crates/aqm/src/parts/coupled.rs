//! Signals coupled by a square (PI2; RFC 9332 section 2.4): p'^2 for Classic packets, k p' for scalable packets.
//!
//! A Classic sender's rate falls with the square root of the probability, a scalable sender's with the probability
//! itself, so both get the same rate from one p'. In a coupled AQM with two queues, packets of the low-latency queue
//! also have a native probability, from the delay of that queue. The larger of native and coupled probability applies.

use crate::base::time::Span;
use crate::base::verdict::Verdict;
use crate::choice;

choice! {
    /// How a probability is turned into signals.
    pub enum Toss {
        /// At random. For the probability p'^2, each of two random numbers must be below p'.
        Random = "random",
        /// Deterministic, as RFC 9332's `recur`: probabilities are added up. Each time the sum exceeds 1, one packet is
        /// signalled and 1 is subtracted.
        Accumulate = "accumulate",
    }
}

choice! {
    /// Reaction to overload, when marks alone cannot control the load.
    pub enum Overload {
        /// ECN-capable packets are dropped too, with the Classic probability.
        Drop = "drop",
        /// p' is limited to the value at which all scalable packets are marked, and delay grows.
        Delay = "delay",
    }
}

/// Random or accumulating decisions for one queue.
#[derive(Clone, Copy, Debug)]
pub struct Tosses {
    toss: Toss,
    count: f64,
}

impl Tosses {
    /// Decisions of the kind `toss`, with no probability accumulated yet.
    pub const fn new(toss: Toss) -> Self {
        Self { toss, count: 0.0 }
    }

    /// Copy of `self` that continues with the accumulated probabilities of `before`.
    pub const fn after(self, before: &Self) -> Self {
        Self { count: before.count, ..self }
    }

    /// True with probability `p`. `u` has two random numbers, uniform on [0, 1).
    pub fn linear(&mut self, p: f64, u: [f64; 2]) -> bool {
        match self.toss {
            Toss::Random => u[0] < p,
            Toss::Accumulate => {
                self.count += p;
                let whole = self.count > 1.0;
                self.count -= f64::from(u8::from(whole));
                whole
            }
        }
    }

    /// True with probability `root` squared. `u` is as in [`linear`](Self::linear).
    pub fn squared(&mut self, root: f64, u: [f64; 2]) -> bool {
        match self.toss {
            Toss::Random => (u[0] < root) & (u[1] < root),
            Toss::Accumulate => self.linear(root * root, u),
        }
    }

    /// The accumulated sum of probabilities, minus 1 for each signal; 0 if decisions are random.
    pub const fn count(&self) -> f64 {
        self.count
    }
}

/// The relation between Classic and scalable probability, and the reaction to overload.
#[derive(Clone, Copy, Debug)]
pub struct Coupling {
    /// The coupling factor between the Classic and the scalable probability.
    pub k: f64,
    /// Exponent: p'^(2 curve) for Classic packets, (k p')^curve for scalable packets; 1, or Curvy RED's U.
    pub curve: u32,
    /// Classic probability from which Classic packets are dropped, ECN-capable or not.
    pub p_cmax: f64,
    /// The reaction to overload.
    pub overload: Overload,
}

impl Coupling {
    /// min(1/k^(2 curve), 1): at this Classic probability the coupled probability is 1.
    pub fn p_cmax(k: f64, curve: u32) -> f64 {
        (1.0 / power(k, 2 * curve)).min(1.0)
    }

    /// The largest base probability p' that the reaction to overload permits.
    pub fn most(&self) -> f64 {
        match self.overload {
            Overload::Drop => 1.0,
            Overload::Delay => (1.0 / self.k).min(1.0),
        }
    }

    /// The probability of scalable packets that is coupled to the base probability `p`: k p', at most 1.
    pub fn linear(&self, p: f64) -> f64 {
        (self.k * p).min(1.0)
    }

    /// Whether the base probability `p` means overload, in which scalable packets are dropped too.
    pub fn is_saturated(&self, p: f64) -> bool {
        self.overload == Overload::Drop && self.k * p >= 1.0
    }

    /// Whether at the base probability `p` signals drop ECN-capable Classic packets instead of marking them.
    pub fn disables_ecn(&self, p: f64) -> bool {
        self.overload == Overload::Drop && power(p, 2 * self.curve) >= self.p_cmax
    }

    /// The verdict on a Classic packet; `native` is the probability from the low-latency queue's own delay.
    #[inline]
    pub fn classic(&self, p: f64, native: f64, tosses: &mut Tosses, u: [f64; 2]) -> Verdict {
        let own = native / self.k;
        match tosses.squared(if own > p { own } else { p }, u) {
            false => Verdict::Accept,
            true if self.disables_ecn(p) => Verdict::Drop,
            true => Verdict::Signal,
        }
    }

    /// The verdict on a scalable packet; `native` is the probability from its own queue's delay.
    #[inline]
    pub fn scalable(&self, p: f64, native: f64, tosses: &mut Tosses, u: [f64; 2]) -> Verdict {
        if self.is_saturated(p) && tosses.squared(p, u) {
            return Verdict::Drop;
        }
        if tosses.linear(self.linear(p).max(native), u) { Verdict::Signal } else { Verdict::Accept }
    }
}

fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

/// RFC 9332 Figure 5: the probability from a scalable packet's own sojourn time `stay`; a step if `range` is 0.
pub fn ramp(stay: Span, min_th: Span, range: Span) -> f64 {
    if stay >= min_th + range {
        1.0
    } else if stay > min_th {
        (stay - min_th).secs() / range.secs()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    const TWO: Coupling = Coupling { k: 2.0, curve: 1, p_cmax: 0.25, overload: Overload::Drop };

    /// The numbers of accepted, signalled and dropped packets of 10,000. `decide` returns the verdict on one packet.
    fn counts(toss: Toss, mut decide: impl FnMut(&mut Tosses, [f64; 2]) -> Verdict) -> [u32; 3] {
        let (mut tosses, mut rng) = (Tosses::new(toss), Rng::stream(1, "tosses"));
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            let verdict = decide(&mut tosses, [rng.uniform(), rng.uniform()]);
            counts[match verdict {
                Verdict::Accept | Verdict::Mark => 0,
                Verdict::Signal => 1,
                Verdict::Drop => 2,
            }] += 1;
        }
        counts
    }

    /// Whether `got` is within five standard deviations of 10,000 p, or within 1 if decisions accumulate.
    fn near(toss: Toss, got: u32, p: f64) -> bool {
        let allowed = if toss == Toss::Random { 5.0 * libm::sqrt(1e4 * p * (1.0 - p)) } else { 1.0 };
        (f64::from(got) - 1e4 * p).abs() <= allowed + 0.5
    }

    #[test]
    fn classic_gets_p_squared_scalable_k_times_p() {
        for toss in [Toss::Random, Toss::Accumulate] {
            for p in [0.0, 0.1, 0.3, 0.45] {
                let [_, classic, dropped] = counts(toss, |tosses, u| TWO.classic(p, 0.0, tosses, u));
                assert!(near(toss, classic, p * p) && dropped == 0, "{toss:?} {p}: {classic}");
                let [_, scalable, dropped] = counts(toss, |tosses, u| TWO.scalable(p, 0.0, tosses, u));
                assert!(near(toss, scalable, 2.0 * p) && dropped == 0, "{toss:?} {p}: {scalable}");
            }
        }
    }

    #[test]
    fn larger_of_native_and_coupled_probability_applies() {
        for toss in [Toss::Random, Toss::Accumulate] {
            let marked = |native| counts(toss, |tosses, u| TWO.scalable(0.2, native, tosses, u))[1];
            assert!(near(toss, marked(0.1), 0.4) && near(toss, marked(0.7), 0.7));
            let classic = |native| counts(toss, |tosses, u| TWO.classic(0.2, native, tosses, u));
            let [_, low, _] = classic(0.1);
            let [_, high, dropped] = classic(1.0);
            assert!(near(toss, low, 0.04) && near(toss, high, 0.25), "(native/k)^2: {low} {high}");
            assert_eq!(dropped, 0, "a large native probability is no overload");
        }
    }

    #[test]
    fn overload_drops_classic_and_scalable_packets_equally() {
        for toss in [Toss::Random, Toss::Accumulate] {
            for p in [0.5, 0.6, 0.9] {
                let [_, marked, classic] = counts(toss, |tosses, u| TWO.classic(p, 0.0, tosses, u));
                assert!(marked == 0 && near(toss, classic, p * p), "{toss:?} {p}: {classic}");
                let [passed, marked, scalable] = counts(toss, |tosses, u| TWO.scalable(p, 0.0, tosses, u));
                assert!(near(toss, scalable, p * p), "{toss:?} {p}: {scalable}");
                assert!(passed <= 1 && near(toss, marked, 1.0 - p * p), "the rest is marked: {marked}");
            }
        }
    }

    #[test]
    fn overload_setting_delay_limits_p_and_never_drops() {
        let delay = Coupling { overload: Overload::Delay, ..TWO };
        assert_eq!((TWO.most(), delay.most()), (1.0, 0.5));
        let [passed, marked, dropped] = counts(Toss::Random, |tosses, u| delay.scalable(0.5, 0.0, tosses, u));
        assert_eq!((passed, marked, dropped), (0, 10_000, 0));
        let [_, marked, dropped] = counts(Toss::Random, |tosses, u| delay.classic(0.5, 0.0, tosses, u));
        assert!(near(Toss::Random, marked, 0.25) && dropped == 0);
    }

    #[test]
    fn accumulated_probability_above_one_gives_a_signal() {
        let mut tosses = Tosses::new(Toss::Accumulate);
        let told: [bool; 6] = core::array::from_fn(|_| tosses.linear(0.5, [0.0; 2]));
        assert_eq!(told, [false, false, true, false, true, false], "0.5, 1.0, 1.5 and so on");
        assert_eq!(tosses.count(), 1.0);
    }

    #[test]
    fn high_classic_probability_disables_ecn() {
        let most = |k, curve| Coupling::p_cmax(k, curve);
        assert_eq!([most(2.0, 1), most(0.5, 1), most(2.0, 2), most(4.0, 1)], [0.25, 1.0, 0.0625, 0.0625]);
        let disables = |curve, p: f64| Coupling { curve, ..TWO }.disables_ecn(p);
        // 0.25 is the square of 0.5, and the fourth power of 0.707.
        assert_eq!(
            [disables(1, 0.49), disables(1, 0.5), disables(2, 0.5), disables(2, 0.7)],
            [false, true, false, false]
        );
        assert!(disables(2, 0.71));
    }

    #[test]
    fn marking_ramp_rises_from_800_to_1200_microseconds() {
        let at = |us| ramp(Span::from_micros(us), Span::from_micros(800), Span::from_micros(400));
        assert_eq!([at(0), at(800), at(900), at(1000), at(1200), at(9000)], [0.0, 0.0, 0.25, 0.5, 1.0, 1.0]);
        let step = |us| ramp(Span::from_micros(us), Span::from_micros(1000), Span::ZERO);
        assert_eq!([step(999), step(1000)], [0.0, 1.0]);
    }
}
