//! Requirements on every marker (threshold marker, token bucket), with 1000 random parameter sets. The sources have
//! bursts, ten idle seconds, or all packets at one time, with packets from 1 byte to 64 KB.

use forebay_aqm::base::markers::{BUCKET_KEYS, LARGEST_BURST, MARKERS};
use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Rate};
use forebay_aqm::parts::token_bucket::TokenBucket;
use forebay_aqm::testing::{Order, Promises, Watch, check_aqm};
use forebay_aqm::{AnyDiscipline, Spec};

/// Random parameter sets for each marker.
const CASES: u64 = 1000;
/// Number of packets of each source.
const PACKETS: usize = 200;
/// Units per byte: bits per byte times nanoseconds per second, so that the sums below are exact.
const PARTS: u128 = 8_000_000_000;

#[test]
fn every_marker_satisfies_its_requirements() {
    for marker in MARKERS {
        let mut rng = Rng::stream(1, marker.name);
        for seed in 0..CASES {
            match marker.name {
                "th" => check_threshold(&mut rng, seed),
                "token-bucket" => SOURCES.iter().for_each(|source| check_bucket(source, &mut rng, seed)),
                other => panic!("{other} is not checked"),
            }
        }
    }
}

/// A number with a uniform logarithm.
fn magnitude(from: f64, to: f64, rng: &mut Rng) -> f64 {
    from * (to / from).powf(rng.uniform())
}

/// A threshold of up to eight values in front of drop-tail, with the buffer of the discipline or of the link, passes
/// the suite: conservation, marks only with ECN, order, reproducibility and others.
fn check_threshold(rng: &mut Rng, seed: u64) {
    let share = |rng: &mut Rng| match rng.below(10) {
        0 => 0.0,
        1 => 1.0,
        _ => rng.uniform(),
    };
    let (mut text, mut from) = (format!("droptail th={}", share(rng)), 0.0);
    for _ in 0..rng.below(8) {
        from += magnitude(1e-6, 100.0, rng);
        text.push_str(&format!("/{from}s:{}", share(rng)));
    }
    if rng.uniform() < 0.5 {
        let unit = if rng.uniform() < 0.5 { "p" } else { "b" };
        text.push_str(&format!(" hard_limit={}{unit}", magnitude(1.0, 1e6, rng).round()));
    }
    text.push_str(if rng.uniform() < 0.5 { " ecn=on" } else { " ecn=off" });
    let spec = Spec::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let again = Spec::parse(&spec.canonical()).map(|again| again.canonical());
    assert_eq!(again, Ok(spec.canonical()), "{text}: the canonical text reads back the same");
    let watch = Watch { probes: spec.entry().probes, read: AnyDiscipline::probe };
    let promises = Promises { order: Order::Lists(1), ecn: spec.ecn(), spares_empty: false };
    let outcome = check_aqm(|link, rng| spec.queue(link, rng), &watch, &promises, seed);
    outcome.unwrap_or_else(|e| panic!("{text}: {e}"));
}

/// Arrivals at a token bucket.
struct Source {
    name: &'static str,
    lengths: &'static [u32],
    /// Mean time between packets over the transmission time of the longest packet at the bucket's rate.
    gap: f64,
    /// Number of packets between two pauses of ten seconds.
    silence: usize,
}

const USUAL: Source = Source { name: "usual", lengths: &[40, 500, 1500], gap: 0.6, silence: usize::MAX };

const SOURCES: &[Source] = &[
    USUAL,
    Source { name: "within the rate", gap: 2.0, ..USUAL },
    Source { name: "far beyond it", gap: 0.001, ..USUAL },
    Source { name: "frozen clock", gap: 0.0, ..USUAL },
    Source { name: "bursts and silences", gap: 0.0, silence: 25, ..USUAL },
    Source { name: "extreme lengths", lengths: &[1, 65_535], ..USUAL },
    Source { name: "extreme lengths and silences", lengths: &[1, 65_535], silence: 25, ..USUAL },
];

/// Runs two equal buckets with random rate and burst.
fn check_bucket(source: &Source, rng: &mut Rng, seed: u64) {
    let (least, most) = BUCKET_KEYS[0].range;
    let rate = Rate(magnitude(least, most, rng).round() as u64);
    let burst = match rng.below(8) {
        0 => 1,
        1 => LARGEST_BURST,
        _ => magnitude(1.0, LARGEST_BURST as f64, rng).round() as u64,
    };
    let chance = Rng::stream(seed, source.name);
    let run = || {
        let colours =
            colours(source, TokenBucket::new(rate, Bytes(burst)), PacketCounters::new(rate, burst), chance.clone());
        colours.unwrap_or_else(|e| panic!("{}, seed {seed}, {} bit/s, {burst} bytes: {e}", source.name, rate.0))
    };
    assert_eq!(run(), run(), "{}, seed {seed}: two runs differ", source.name);
}

fn colours(
    source: &Source,
    mut bucket: TokenBucket,
    mut counters: PacketCounters,
    mut rng: Rng,
) -> Result<Vec<Colour>, String> {
    let longest = source.lengths.iter().copied().max().unwrap_or_default();
    let gap = source.gap * Rate(counters.rate as u64).time_for(longest).secs();
    let mut now = Instant::ZERO;
    let mut packet = |n: usize| {
        now += Span::from_secs(rng.exponential(gap));
        if n.is_multiple_of(source.silence) {
            now += Span::from_millis(10_000);
        }
        let len = source.lengths[rng.below(source.lengths.len() as u64) as usize];
        let colour = bucket.colour(len, now);
        counters.enter(len, now, colour, bucket.level()).map_err(|e| format!("packet {n}: {e}"))?;
        Ok(colour)
    };
    (1..=PACKETS).map(&mut packet).collect()
}

/// Independent accounting of the bucket's tokens.
struct PacketCounters {
    rate: u128,
    burst: u128,
    at: Instant,
    packets: usize,
    /// For intervals that start at every 16th packet: burst plus tokens since then minus IN bytes, exactly, in
    /// fractions of a byte ([`PARTS`]).
    allowed: Vec<u128>,
    level: f64,
}

impl PacketCounters {
    /// Tolerance of token counts in bytes: they are floating-point numbers of up to 1e9 bytes.
    const ROUNDING: f64 = 1e-6;

    fn new(rate: Rate, burst: u64) -> Self {
        let (rate, burst) = (u128::from(rate.0), u128::from(burst));
        Self { rate, burst, at: Instant::ZERO, packets: 0, allowed: Vec::new(), level: burst as f64 }
    }

    /// Checks a packet: the tokens are correct and at most the burst; it is OUT only without enough tokens; over any
    /// interval the IN bytes are at most the burst plus the rate times the time.
    fn enter(&mut self, len: u32, now: Instant, colour: Colour, level: f64) -> Result<(), String> {
        let earned = u128::from(now.since(self.at).nanos()) * self.rate;
        self.allowed.iter_mut().for_each(|allowed| *allowed += earned);
        if self.packets.is_multiple_of(16) {
            self.allowed.push(self.burst * PARTS);
        }
        (self.at, self.packets) = (now, self.packets + 1);
        let (size, full) = (f64::from(len), self.burst as f64);
        if !(0.0..=full).contains(&level) {
            return Err(format!("{level} bytes of tokens"));
        }
        let taken = if colour == Colour::In { size } else { 0.0 };
        let want = (self.level + earned as f64 / PARTS as f64).min(full) - taken;
        if (level - want).abs() > Self::ROUNDING {
            return Err(format!("{level} bytes of tokens after {colour:?}, not {want}"));
        }
        if colour == Colour::Out && level > size {
            return Err(format!("OUT with {level} bytes of tokens for {len}"));
        }
        if colour == Colour::In {
            for allowed in &mut self.allowed {
                let left = allowed.checked_sub(u128::from(len) * PARTS);
                *allowed = left.ok_or("more is IN than burst and rate allow")?;
            }
        }
        self.level = level;
        Ok(())
    }
}
