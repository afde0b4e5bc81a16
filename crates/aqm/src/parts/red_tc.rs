//! tc(8) arguments of RED and CHOKe that are checked together (iproute2, tc/q_red.c, tc/q_choke.c, tc/tc_red.c), in
//! 32-bit arithmetic as in tc.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::Display;

use crate::base::params::ParamError;
use crate::base::tc::{Form, Setting, Tail, Typed, Words, sets};

/// RED's tc arguments.
pub const WORDS: Words = &[
    ("limit", sets(Form::Size, "hard_limit").tail()),
    ("min", sets(Form::Size, "min_th").but_zero()),
    ("max", sets(Form::Size, "max_th").but_zero()),
    ("avpkt", sets(Form::Size, "mean_packet").tail()),
    ("burst", sets(Form::Count, "burst").but_zero()),
    ("probability", sets(Form::Real, "max_p").tail()),
    ("bandwidth", Tail::Ignored(Form::Rate, "the link's rate")),
    ("ecn", Tail::Flag("ecn=on")),
    ("harddrop", Tail::Flag("harddrop=on")),
    ("nodrop", Tail::Flag("nodrop=on")),
    ("qevent", Tail::Refused("there are no filters to pass packets to")),
];

/// tc's default of the argument `probability`.
const MAX_P: f64 = 0.02;
/// The weights of the average that tc tries are 2^-n, with n from 1 to one below this.
const LOGS: i32 = 32;

/// tc's arguments min, max and avpkt in bytes, and burst in packets.
struct Red {
    min: u32,
    max: u32,
    /// Burst size in packets, by which tc computes the weight.
    burst: u32,
    avpkt: u32,
}

fn whole(all: &[Typed], word: &str) -> u32 {
    Typed::number(all, word) as u32
}

/// An error about the value of `word`, or about the value that tc computes if `word` is absent.
fn wrong(all: &[Typed], word: &str, value: impl Display, accepts: &str) -> ParamError {
    match Typed::find(all, word) {
        Some(typed) => typed.wrong(accepts.to_string(), None),
        None => ParamError {
            key: word.to_string(),
            found: format!("{value}, computed by tc"),
            accepts: accepts.to_string().into(),
            hint: None,
        },
    }
}

/// Checks the arguments of `red`. The kernel accepts `nodrop` only with ECN.
pub fn red(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
    if let (Some(nodrop), None) = (Typed::find(all, "nodrop"), Typed::find(all, "ecn")) {
        return Err(nodrop.wrong("ecn too: the kernel accepts nodrop only with ecn", None));
    }
    let [limit, min, max, burst, avpkt] = ["limit", "min", "max", "burst", "avpkt"].map(|word| whole(all, word));
    let max = match (max, min) {
        (0, 0) => limit / 4,
        (0, min) => min.wrapping_mul(3),
        (max, _) => max,
    };
    let min = if min == 0 { max / 3 } else { min };
    let usual = || min.wrapping_mul(2).wrapping_add(max) / avpkt.wrapping_mul(3).max(1);
    let burst = if burst == 0 { usual() } else { burst };
    Red { min, max, burst, avpkt }.check(all)
}

/// Checks the arguments of `choke`, whose thresholds are in packets.
pub fn choke(all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
    let [limit, min, max, burst] = ["limit", "min", "max", "burst"].map(|word| whole(all, word));
    let avpkt = Typed::find(all, "avpkt").map_or(1000, |typed| typed.number as u32);
    let max = if max == 0 { limit / 4 } else { max };
    let min = if min == 0 { max / 3 } else { min };
    let burst = if burst == 0 { min.wrapping_mul(2).wrapping_add(max) / 3 } else { burst };
    if max > limit {
        return Err(wrong(all, "max", max, "at most limit"));
    }
    if min >= max {
        return Err(wrong(all, "min", min, "less than max"));
    }
    Red { min: min.wrapping_mul(avpkt), max: max.wrapping_mul(avpkt), burst, avpkt }.check(all)
}

impl Red {
    fn check(&self, all: &[Typed]) -> Result<Vec<Setting>, ParamError> {
        let &Self { min, max, burst, avpkt } = self;
        if max < min {
            return Err(wrong(all, "max", max, "at least min"));
        }
        if !self.has_weight() {
            let least = 1 + min.checked_div(avpkt).unwrap_or(0);
            return Err(wrong(all, "burst", burst, &format!("a burst that fits a weight of 2^-n, at least {least}")));
        };
        let max_p = Typed::find(all, "probability").map_or(MAX_P, |typed| typed.number);
        if max > min && !(1..=LOGS).any(|log| libm::scalbn(max_p / f64::from(max - min), log - 1) > 1.0) {
            return Err(wrong(all, "probability", max_p, "a larger probability, or thresholds closer together"));
        }
        Ok(Vec::new())
    }

    /// Whether some weight 2^-n keeps the average below min during the burst (Floyd and Jacobson 1993, eq. 3).
    fn has_weight(&self) -> bool {
        let a = f64::from(self.burst) + 1.0 - f64::from(self.min) / f64::from(self.avpkt);
        let fits = |w: f64| a <= (1.0 - libm::pow(1.0 - w, f64::from(self.burst))) / w;
        a >= 1.0 && (1..LOGS).any(|n| fits(libm::scalbn(1.0, -n)))
    }
}
