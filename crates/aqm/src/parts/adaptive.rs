//! Adaptive RED as an [`Aqm`] over one list: RED whose max_p keeps the average between its thresholds,
//! and optionally the thresholds themselves follow the drop probability.
//!
//! Gentle and waiting as in ns-2.35, counted in packets. One random number an arrival.

use super::red_curve::{Aimd, Average, Curve, Spacer, auto_weight};
use crate::base::cx::Cx;
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};

/// max_p at the start. ns-2.35.
const MAX_P: f64 = 0.1;
/// Floyd, Gummadi, Shenker 2001.
const AIMD: Aimd = Aimd { alpha: 0.01, beta: 0.9, bottom: 0.01, top: 0.5 };
/// On links faster than 8 Mb/s max_p may sink to this over C in bits per second. ns-2.35.
const BOTTOM_RATE: f64 = 80_000.0;
/// Time between two steps of max_p, and of dynamic thresholds.
const INTERVAL: Span = Span::from_millis(500);
/// Relative step of the dynamic thresholds: RED+Tail, section V.
const GAMMA: f64 = 0.05;
/// Weight of an arrival in the average drop probability. Ours.
const W_P: f64 = 0.02;
/// Dynamic thresholds keep min_th at this or above, in packets. Ours.
const LEAST_MIN_TH: f64 = 5.0;
/// Nothing is signalled to an arrival that meets no more than this. ns-2.35, in the unit of the queue.
const SPARED: f64 = 1.0;

/// Thresholds that follow the average drop probability.
#[derive(Clone, Copy, Debug)]
struct Dynamic {
    band: (f64, f64),
    bounds: (f64, f64),
    p_avg: f64,
}

/// The thresholds' lower end after one step: up while p is above the band, down while below it,
/// within `bounds`, the lower one of which wins.
fn moved(min_th: f64, p_avg: f64, band: (f64, f64), bounds: (f64, f64)) -> f64 {
    let factor = match p_avg {
        p if p > band.1 => 1.0 + GAMMA,
        p if p < band.0 => 1.0 - GAMMA,
        _ => return min_th,
    };
    (min_th * factor).min(bounds.1).max(bounds.0)
}

/// State of Adaptive RED; queue, average and thresholds in one unit.
pub struct Adaptive {
    unit: Depth,
    curve: Curve,
    aimd: Aimd,
    average: Average,
    spacer: Spacer,
    stepped: Instant,
    p: f64,
    dynamic: Option<Dynamic>,
}

impl Adaptive {
    /// Thresholds in one unit, which becomes that of the queue; with `band` (P_L, P_U) they move.
    pub fn new(min_th: Depth, max_th: Depth, band: Option<(f64, f64)>, link: &Link) -> Self {
        let (mean, buffer) = match max_th {
            Depth::Packets(_) => (1.0, link.limit_pkts()),
            Depth::Bytes(_) => (link.mean_packet.0 as f64, link.limit_bytes()),
        };
        let curve = Curve { min_th: min_th.value(), max_th: max_th.value(), max_p: MAX_P, gentle: true };
        let bounds = (LEAST_MIN_TH * mean, buffer - (curve.max_th - curve.min_th));
        let rate = link.pkts_per_sec();
        Self {
            unit: max_th,
            curve,
            aimd: Aimd { bottom: AIMD.bottom.min(BOTTOM_RATE / link.rate.0 as f64), ..AIMD },
            average: Average::new(auto_weight(rate), rate),
            spacer: Spacer::default(),
            stepped: Instant::ZERO,
            p: 0.0,
            dynamic: band.map(|band| Dynamic { band, bounds, p_avg: 0.0 }),
        }
    }

    /// The present curve.
    pub const fn curve(&self) -> &Curve {
        &self.curve
    }

    /// The average queue.
    pub const fn average(&self) -> f64 {
        self.average.value()
    }

    /// The signal probability of the latest arrival.
    pub const fn p(&self) -> f64 {
        self.p
    }

    /// max_p, then the thresholds: at the first arrival after each interval, as in ns-2.
    fn step(&mut self, now: Instant) {
        if now.since(self.stepped) <= INTERVAL {
            return;
        }
        self.stepped = now;
        self.curve.max_p = self.aimd.step(&self.curve, self.average.value());
        if let Some(Dynamic { band, bounds, p_avg }) = self.dynamic {
            let distance = self.curve.max_th - self.curve.min_th;
            self.curve.min_th = moved(self.curve.min_th, p_avg, band, bounds);
            self.curve.max_th = self.curve.min_th + distance;
        }
    }
}

impl Aqm for Adaptive {
    #[inline]
    fn arrival(&mut self, _: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let u = cx.rng.uniform();
        let q = self.unit.measure(level);
        let avg = self.average.arrival(q, cx.now);
        self.step(cx.now);
        let p_b = self.curve.base_probability(avg);
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.p_avg += W_P * (p_b.unwrap_or(0.0) - dynamic.p_avg);
        }
        let p_b = p_b.filter(|_| q > SPARED);
        self.p = self.spacer.arrival(p_b, 1.0, true);
        match p_b {
            Some(1.0) => Verdict::Drop,
            _ if u < self.p => Verdict::Signal,
            _ => Verdict::Accept,
        }
    }

    #[inline]
    fn settled(&mut self, _: &Packet, fate: Fate, _: &mut Cx) {
        if matches!(fate, Fate::Dropped(_) | Fate::Queued { marked: true }) {
            self.spacer.reset();
        }
    }

    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        self.average.emptied(cx.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::{Bytes, Limit, Rate};

    fn link(rate: u64) -> Link {
        Link { rate: Rate(rate), limit: Limit::Bytes(160_000), mean_packet: Bytes(1000) }
    }

    fn adaptive(rate: u64, band: Option<(f64, f64)>) -> Adaptive {
        Adaptive::new(Depth::Bytes(20_000.0), Depth::Bytes(80_000.0), band, &link(rate))
    }

    #[test]
    fn thresholds_move_by_a_twentieth_within_the_buffer() {
        let (band, bounds) = ((0.005, 0.010), (5_000.0, 100_000.0));
        assert_eq!(moved(20_000.0, 0.02, band, bounds), 21_000.0);
        assert_eq!(moved(20_000.0, 0.001, band, bounds), 19_000.0);
        assert_eq!(moved(20_000.0, 0.007, band, bounds), 20_000.0);
        assert_eq!(moved(99_000.0, 0.02, band, bounds), 100_000.0);
        assert_eq!(moved(5_100.0, 0.0, band, bounds), 5_000.0);
        assert_eq!(moved(20_000.0, 0.5, band, (5_000.0, -1.0)), 5_000.0);
    }

    #[test]
    fn bottom_of_max_p_falls_with_the_rate() {
        assert_eq!(adaptive(3_000_000, None).aimd.bottom, 0.01);
        assert!((adaptive(15_000_000, None).aimd.bottom - 0.0053).abs() < 5e-5);
    }

    #[test]
    fn one_step_an_interval_however_long_the_silence() {
        let mut ared = adaptive(3_000_000, Some((0.005, 0.010)));
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        for (ms, max_p, min_th) in [(400, 0.1, 20_000.0), (500, 0.1, 20_000.0), (501, 0.09, 19_000.0)] {
            ared.step(at(ms));
            assert!((ared.curve.max_p - max_p).abs() < 1e-12, "at {ms} ms");
            assert_eq!((ared.curve.min_th, ared.curve.max_th), (min_th, min_th + 60_000.0));
        }
        ared.step(at(60_000));
        assert!((ared.curve.max_p - 0.081).abs() < 1e-12);
    }
}
