//! The random number generator: xoshiro256++ (Blackman and Vigna 2019), seeded through SplitMix64.
//!
//! A golden vector in the tests fixes its output. Every component of a simulation has its own stream, derived from the
//! seed of the run and the component's name (path): adding a component does not change the numbers of others, and
//! paired comparisons use common random numbers.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng([u64; 4]);

impl Rng {
    /// The stream of component `path` in the run with `seed`.
    pub fn stream(seed: u64, path: &str) -> Self {
        // FNV-1a of the path, then SplitMix64 to fill the state. This must never change.
        let hash = path
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h: u64, byte| (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut x = seed ^ hash.rotate_left(32);
        Self([0; 4].map(|_| split_mix(&mut x)))
    }

    /// The generator with this state; at least one word must not be zero.
    pub const fn from_state(state: [u64; 4]) -> Self {
        Self(state)
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// 32 random bits: the upper half of the next 64. A kernel's `get_random_u32` for a rule that draws as Linux.
    #[inline]
    pub fn bits32(&mut self) -> u32 {
        (self.bits() >> 32) as u32
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on 0..n by multiplication (bias below n/2^64); 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }
}

fn split_mix(x: &mut u64) -> u64 {
    *x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*x)
}

/// SplitMix64's finaliser: a permutation in which every bit of `z` changes about half of the output bits. Also used for
/// hashing.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_equals_the_reference_implementation() {
        // First outputs of the reference C code from state {1, 2, 3, 4}.
        let mut rng = Rng::from_state([1, 2, 3, 4]);
        let got: [u64; 6] = core::array::from_fn(|_| rng.bits());
        let want = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn seed_and_path_determine_the_stream() {
        let first = |seed, path| Rng::stream(seed, path).bits();
        assert_eq!(first(1, "host/0"), first(1, "host/0"));
        assert_ne!(first(1, "host/0"), first(1, "host/1"));
        assert_ne!(first(1, "host/0"), first(2, "host/0"));
    }

    #[test]
    fn uniform_numbers_are_in_range_with_mean_half() {
        let mut rng = Rng::stream(7, "test");
        let n = 100_000;
        let sum: f64 = (0..n).map(|_| rng.uniform()).inspect(|u| assert!((0.0..1.0).contains(u))).sum();
        // The standard deviation of the mean is 0.2887/sqrt(1e5) = 0.0009; allow five.
        assert!((sum / f64::from(n) - 0.5).abs() < 0.0046);
    }
}
