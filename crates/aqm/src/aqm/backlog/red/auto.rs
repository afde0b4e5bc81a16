//! RED's automatic parameters: thresholds and weight, computed from the link and the buffer.
//!
//! Each source of RED's rules (ns-2, the paper of 1993, Linux with tc) computes them differently.

use super::{Params, Rule};
use crate::base::params::Auto;
use crate::base::time::Span;
use crate::base::units::{Bytes, Depth, Link};
use crate::choice;
use crate::parts::kernel_red::Settings;

choice! {
    /// Averaging time of ns-2's automatic weight.
    pub enum AutoWeight {
        /// Ten RTTs (q_weight_ = -1). An RTT is 3 (delay + packet time), but at least 100 ms.
        Rtts = "rtts",
        /// 1 s (q_weight_ = 0).
        Second = "second",
        /// 0.1 s (q_weight_ = -2).
        Tenth = "tenth",
    }
}

/// Target queueing delay of ns-2's thresholds: targetdelay_.
pub const TARGET_DELAY: Span = Span::from_millis(5);
/// Smallest automatic min_th of ns-2, and min_th of the paper of 1993, in packets.
const SMALLEST_MIN_TH: f64 = 5.0;
/// Weight w_q of the paper of 1993.
const PAPER_WEIGHT: f64 = 0.002;
/// ns-2's automatic weight: the shortest RTT that it assumes, in seconds, and the number of RTTs that it averages over.
const RTT: (f64, f64) = (0.1, 10.0);
/// tc: max_th is the buffer divided by this; min_th is a third of max_th.
const PART: f64 = 4.0;
/// Largest n of tc's weight 2^-n.
const MAX_SHIFT: i32 = 31;

/// Link rate in packets per second, for packets of `mean` bytes.
pub fn packets_per_sec(link: &Link, mean: Bytes) -> f64 {
    Depth::Packets(0.0).per_sec(link.rate, mean)
}

/// ns-2's weight for a link of `rate` packets per second.
pub(super) fn ns2_weight(rate: f64, auto_w: AutoWeight, delay: Span) -> f64 {
    let remembered = match auto_w {
        AutoWeight::Rtts => RTT.1 * (3.0 * (delay.secs() + 1.0 / rate)).max(RTT.0),
        AutoWeight::Second => 1.0,
        AutoWeight::Tenth => 0.1,
    };
    1.0 - libm::exp(-1.0 / (remembered * rate))
}

/// tc's weight: the largest 2^-n with which a burst of `burst` packets raises the average from 0 to at most `min`
/// packets (Floyd and Jacobson 1993, eq. 3). tc rejects a burst shorter than `min`, and one for which there is no such
/// n. Here both get the weight for a burst of `min` packets.
pub fn tc_weight(burst: f64, min: f64) -> f64 {
    let min = min.max(1.0);
    let least = libm::ceil(min);
    let weight = |burst: f64| {
        let fits = |w: f64| burst + 1.0 - min <= (1.0 - libm::pow(1.0 - w, burst)) / w;
        (1..=MAX_SHIFT).map(|n| libm::scalbn(1.0, -n)).find(|&w| fits(w))
    };
    weight(burst.max(least)).or_else(|| weight(least)).unwrap_or(0.5)
}

/// min_th and max_th in one unit: the unit of a given threshold; if none is given, bytes in byte mode and with Linux's
/// rule, else packets. An automatic min_th is below a given max_th, and an automatic max_th above a given min_th.
pub(super) fn thresholds(params: &Params, target: Span, link: &Link) -> (Depth, f64) {
    let mean_packet = params.mean_packet.or(link.mean_packet);
    let unit = match (params.min_th, params.max_th) {
        (Auto::Given(depth), _) | (_, Auto::Given(depth)) => depth,
        _ if params.bytes || params.rule == Rule::Linux => Depth::Bytes(0.0),
        _ => Depth::Packets(0.0),
    };
    let (packet, buffer) = match unit {
        Depth::Packets(_) => (1.0, link.limit_pkts()),
        Depth::Bytes(_) => (mean_packet.0 as f64, link.limit_bytes()),
    };
    let auto_min = match (params.rule, params.max_th) {
        (Rule::Linux, Auto::Given(_)) => f64::INFINITY,
        (Rule::Linux, Auto::Auto) => buffer / PART / 3.0,
        (Rule::Paper, _) => SMALLEST_MIN_TH * packet,
        (Rule::Ns2, _) => {
            let target = target.secs() * packets_per_sec(link, mean_packet) / 2.0;
            target.max(SMALLEST_MIN_TH) * packet
        }
    };
    let auto_min = match params.max_th {
        Auto::Auto => auto_min,
        Auto::Given(max) => auto_min.min(max.value() / 3.0),
    };
    let min = params.min_th.or(unit.with(auto_min));
    let auto_max = (3.0 * min.value()).max(min.value() + packet);
    (min, params.max_th.or(unit.with(auto_max)).value())
}

/// The weight of the average: the given one, else the automatic one for these thresholds.
pub(super) fn weight(params: &Params, min_th: Depth, max_th: f64, link: &Link) -> f64 {
    let mean_packet = params.mean_packet.or(link.mean_packet);
    let Auto::Auto = params.w_q else { return params.w_q.or(0.0) };
    let packet = match min_th {
        Depth::Packets(_) => 1.0,
        Depth::Bytes(_) => mean_packet.0 as f64,
    };
    match params.rule {
        Rule::Ns2 => ns2_weight(packets_per_sec(link, mean_packet), params.auto_w, params.delay),
        Rule::Paper => PAPER_WEIGHT,
        Rule::Linux => {
            let (min, max) = (min_th.value() / packet, max_th / packet);
            let usual = libm::floor((2.0 * min + max) / 3.0);
            let burst = match params.burst {
                Auto::Auto => usual,
                Auto::Given(packets) => f64::from(packets),
            };
            tc_weight(burst, min)
        }
    }
}

/// The parameters as whole numbers, for RED in the kernel's integers.
pub(super) fn kernel(params: &Params, link: &Link) -> Settings {
    let (min, max) = thresholds(params, TARGET_DELAY, link);
    let mean = params.mean_packet.or(link.mean_packet);
    Settings {
        min: min.value() as u32,
        max: max as u32,
        packet: if matches!(min, Depth::Packets(_)) { 1 } else { mean.0 as u32 },
        max_p: params.max_p,
        weight: if let Auto::Given(weight) = params.w_q { Some(weight) } else { None },
        burst: if let Auto::Given(packets) = params.burst { Some(packets) } else { None },
        mean,
        rate: link.rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::{Limit, Rate};
    use Auto::{Auto as Own, Given};
    use Depth::{Bytes as B, Packets as P};

    const fn link(mbit: u64, mean: u64) -> Link {
        Link { rate: Rate(mbit * 1_000_000), limit: Limit::Packets(100), mean_packet: Bytes(mean) }
    }

    /// RED's default parameters (ns-2's rule) with these thresholds and a mean packet size of 500 bytes.
    fn given(min_th: Auto<Depth>, max_th: Auto<Depth>) -> Params {
        Params { min_th, max_th, mean_packet: Given(Bytes(500)), ..Params::default() }
    }

    fn near(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance, "{got} is not {want}");
    }

    #[test]
    fn thresholds_and_weight_set_to_auto_match_ns2() {
        // From the specification: 15 Mb/s of 500 B packets, 3 and 10 Mb/s of 1000 B.
        for (mbit, mean, min, w, w_tol) in
            [(15, 500, 9.375, 2.67e-4, 5e-7), (3, 1000, 5.0, 2.66e-3, 5e-6), (10, 1000, 5.0, 8.0e-4, 5e-7)]
        {
            let (params, link) = (Params { mean_packet: Given(Bytes(mean)), ..given(Own, Own) }, link(mbit, mean));
            assert_eq!(thresholds(&params, TARGET_DELAY, &link), (P(min), 3.0 * min));
            for auto_w in [AutoWeight::Rtts, AutoWeight::Second] {
                let params = Params { auto_w, ..params.clone() };
                near(weight(&params, P(min), 3.0 * min, &link), w, w_tol);
            }
        }
        // Below 30 packets a second three packet times are longer than 100 ms: the weight stops at 1/30.
        near(ns2_weight(2.0, AutoWeight::Rtts, Span::ZERO), 1.0 - libm::exp(-1.0 / 30.0), 1e-15);
        // 50 ms and a packet time of 0.5 ms, three times that, ten of them: 1.515 s.
        near(ns2_weight(2000.0, AutoWeight::Rtts, Span::from_millis(50)), 1.0 - libm::exp(-1.0 / 3030.0), 1e-15);
        near(ns2_weight(2000.0, AutoWeight::Tenth, Span::from_millis(50)), 1.0 - libm::exp(-1.0 / 200.0), 1e-15);
    }

    #[test]
    fn thresholds_set_to_auto_use_the_given_unit() {
        let of = |min_th, max_th, bytes| {
            thresholds(&Params { bytes, ..given(min_th, max_th) }, TARGET_DELAY, &link(15, 500))
        };
        assert_eq!(of(Given(B(20_000.0)), Own, false), (B(20_000.0), 60_000.0));
        assert_eq!(of(Own, Own, true), (B(4687.5), 14_062.5));
        assert_eq!(of(Own, Given(B(40_000.0)), false), (B(4687.5), 40_000.0));
    }

    #[test]
    fn threshold_set_to_auto_never_crosses_given_threshold() {
        let of = |min_th, max_th| thresholds(&given(min_th, max_th), TARGET_DELAY, &link(15, 500));
        // The rule's 9.375 packets are above or too close to a small max_th: a third of it instead.
        assert_eq!(of(Own, Given(P(9.0))), (P(3.0), 9.0));
        assert_eq!(of(Own, Given(B(6_000.0))), (B(2_000.0), 6_000.0));
        assert_eq!(of(Own, Given(P(30.0))), (P(9.375), 30.0));
        // 3 min_th is too close to a small min_th: one packet more instead.
        assert_eq!(of(Given(P(0.0)), Own), (P(0.0), 1.0));
        assert_eq!(of(Given(B(100.0)), Own), (B(100.0), 600.0));
        assert_eq!(of(Given(P(0.5)), Own), (P(0.5), 1.5));
    }

    #[test]
    fn parameters_set_to_auto_match_paper_and_tc() {
        let paper = Params { rule: Rule::Paper, ..given(Own, Own) };
        assert_eq!(thresholds(&paper, TARGET_DELAY, &link(15, 500)), (P(5.0), 15.0));
        assert_eq!(weight(&paper, P(5.0), 15.0, &link(15, 500)), 0.002);
        // tc: a buffer of 120,000 bytes, max a quarter, min a third of that, burst (2 min + max)/3 avpkt = 33 packets.
        let tc = |max_th| Params { rule: Rule::Linux, ..given(Own, max_th) };
        let link = Link { limit: Limit::Bytes(120_000), ..link(15, 500) };
        let thresholds = |max_th| thresholds(&tc(max_th), TARGET_DELAY, &link);
        assert_eq!(thresholds(Own), (B(10_000.0), 30_000.0));
        assert_eq!(thresholds(Given(B(60_000.0))), (B(20_000.0), 60_000.0));
        let weight = |params: Params| weight(&params, B(10_000.0), 30_000.0, &link);
        assert_eq!(weight(tc(Own)), tc_weight(33.0, 20.0));
        assert_eq!(weight(Params { burst: Given(70), ..tc(Own) }), tc_weight(70.0, 20.0));
        assert_eq!(weight(Params { w_q: Given(0.3), ..tc(Own) }), 0.3);
    }

    #[test]
    fn tc_weight_is_largest_that_admits_burst() {
        let longest = |n: i32, min| {
            let w = libm::scalbn(1.0, -n);
            (1..300).map(f64::from).filter(|&burst| tc_weight(burst, min) >= w).fold(0.0, f64::max)
        };
        // By hand: 4 + 1 - 4 <= (1 - 2^-4) 2 but 5 + 1 - 4 > (1 - 2^-5) 2; 6 + 1 - 4 <= (1 - 0.75^6) 4 = 3.29, not 7.
        assert_eq!([longest(1, 4.0), longest(2, 4.0)], [4.0, 6.0]);
        // The table in the kernel's red.h, th_min/S = 32, where it is exact.
        assert_eq!([4, 5, 6, 7].map(|n| longest(n, 32.0)), [46.0, 57.0, 75.0, 101.0]);
        assert_eq!([tc_weight(0.0, 20.0), tc_weight(1e12, 20.0)], [tc_weight(20.0, 20.0); 2], "tc refuses both");
        assert_eq!([tc_weight(1.0, 1.0), tc_weight(0.0, 0.0)], [0.5; 2]);
    }
}
