//! RED: drops begin early and at random, by the average queue (Floyd and Jacobson 1993).
//!
//! A slow average lets bursts through and answers standing queues. Between two thresholds its excess
//! sets a probability, spread so that the gaps between drops come out even; above the upper one the
//! gentle form climbs on to 1 at twice that threshold. Details follow ns-2.35.

use alloc::string::String;

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::red_curve::{Average, Curve, spaced};
use crate::{params, probes};

params! {
    /// Knobs of RED.
    pub struct Params {
        /// Average below which nothing happens; auto is max(5, 5 ms of packets / 2), at most a third of a given max_th.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "ns-2.35 thresh_";
        /// Average at which the probability reaches max_p; auto is 3 min_th, at least a packet above min_th.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "ns-2.35 maxthresh_";
        /// Probability at max_th.
        max_p: f64 = 0.1, in 0.0 ..= 1.0, "max_p", "ns-2.35 1/linterm_";
        /// Weight of the queue met by an arrival in the average; auto remembers about 1 s of packets.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "ns-2.35 q_weight_ = -1";
        /// Above max_th, climb to 1 at 2 max_th instead of jumping there.
        gentle: bool = true, in 0.0 ..= 1.0, "gentle", "Floyd 2000; ns-2.35 default";
        /// After a drop, wait 1/p packets before the next may come.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default";
        /// Byte mode: a packet counts by its length over the mean.
        bytes: bool = false, in 0.0 ..= 1.0, "bytes", "ns-2.35 has it on since 2004, RFC 7141 advises off";
        /// ns-2's late rule: a high average forces no drop, and ECT packets are marked only below mark_p.
        use_mark_p: bool = false, in 0.0 ..= 1.0, "use_mark_p", "ns-2.35 has it on";
        /// Base probability from which ECT packets too are dropped, if use_mark_p.
        mark_p: f64 = 0.1, in 0.0 ..= 1.0, "mark_p", "ns-2.35 default";
    }
}

/// Queueing delay in seconds that the automatic thresholds aim at. ns-2.35 targetdelay_.
const TARGET_DELAY: f64 = 0.005;
/// Smallest automatic min_th, in packets.
const LEAST_MIN_TH: f64 = 5.0;

/// ns-2's w_q for `rate` packets a second: memory of ten round trips of 100 ms, or three packet times.
pub fn auto_weight(rate: f64) -> f64 {
    let rtt = (3.0 / rate).max(0.1);
    1.0 - libm::exp(-1.0 / (10.0 * rtt * rate))
}

/// ns-2's min_th in packets for `rate` packets a second.
pub fn auto_min_th(rate: f64) -> f64 {
    (TARGET_DELAY * rate / 2.0).max(LEAST_MIN_TH)
}

/// The thresholds, given or automatic, in one unit: that of the one given, else bytes in byte mode. An
/// automatic one keeps clear of the given one; ns-2 would let them cross.
pub fn thresholds(min_th: Auto<Depth>, max_th: Auto<Depth>, bytes: bool, link: &Link) -> (Depth, f64) {
    let auto = auto_min_th(link.pkts_per_sec());
    let unit = match (min_th, max_th) {
        (Auto::Given(depth), _) | (_, Auto::Given(depth)) => depth,
        _ if bytes => Depth::Bytes(0.0),
        _ => Depth::Packets(0.0),
    };
    let packet = match unit {
        Depth::Packets(_) => 1.0,
        Depth::Bytes(_) => link.mean_packet.0 as f64,
    };
    let auto_min = match max_th {
        Auto::Auto => auto * packet,
        Auto::Given(max) => (auto * packet).min(max.value() / 3.0),
    };
    let min = min_th.or(unit.with(auto_min));
    let auto_max = (3.0 * min.value()).max(min.value() + packet);
    (min, max_th.or(unit.with(auto_max)).value())
}

/// p_a in byte mode: `p_b` spread over the bytes since the last signal, in whole mean packets, then
/// times the packet's length over the mean.
fn spaced_bytes(p_b: f64, count_bytes: u64, len: u32, mean: u64, wait: bool) -> f64 {
    match spaced(p_b, (count_bytes / mean) as f64, wait) {
        p if p < 1.0 => p * f64::from(len) / mean as f64,
        certain => certain,
    }
}

/// State of RED. Queue, average and thresholds share one unit.
pub struct Red {
    params: Params,
    mean_packet: u64,
    min_th: Depth,
    curve: Curve,
    average: Average,
    p: f64,
    count: u64,
    count_bytes: u64,
    above: bool,
}

impl Red {
    /// Is the average so high that every packet is dropped, ECN-capable or not?
    fn is_forced(&self) -> bool {
        let Curve { max_th, gentle, .. } = self.curve;
        self.average.value() >= if gentle { 2.0 * max_th } else { max_th }
    }

    /// p_a for `packet`.
    fn probability(&self, packet: &Packet) -> f64 {
        let wait = self.params.wait;
        if self.params.bytes {
            spaced_bytes(self.p, self.count_bytes, packet.len, self.mean_packet, wait)
        } else {
            spaced(self.p, self.count as f64, wait)
        }
    }
}

impl Design for Red {
    type Params = Params;
    const ABOUT: About = About {
        summary: "random early detection: average queue between two thresholds sets p",
        source: "Floyd, Jacobson: Random Early Detection Gateways, IEEE/ACM ToN 1993; details of ns-2.35",
        rule: "arrival:  avg = (1-w)^(m+1) avg + w q,  m packet times idle;  count += 1\n\
               \u{20}         p_b = max_p (avg - min)/(max - min);  gentle: on to 1 at 2 max\n\
               \u{20}         p_a = p_b/(1 - count p_b);  wait: 0 while count p_b < 1, then p_b/(2 - count p_b)\n\
               \u{20}         avg < min or q <= 1: accept;  avg >= max (gentle: 2 max): drop;\n\
               \u{20}         first of these: count = 1, accept;  else if u < p_a: mark or drop\n\
               signal or overflow:  count = 0\n\
               use_mark_p:  never drop for avg alone;  signal: mark only if p_b < mark_p, else drop",
        deviations: &[
            "u < p for ns-2's u <= p; one u is drawn at every arrival",
            "mean packet is the link's; ns-2 has 500 bytes whatever the traffic",
            "automatic w_q takes round trips of 100 ms; ns-2 takes 3 link delays where those are longer",
            "an automatic min_th is at most a third of a given max_th, an automatic max_th at least a packet above \
             a given min_th; ns-2 lets them cross",
            "use_mark_p is off unless preset=ns2: a high average drops all, below it ECT packets are always marked",
            "an empty queue polled again stays idle since the first time; ns-2 restarts its idle time",
            "'q <= 1' is in the unit of the thresholds, as in ns-2: in bytes it means an empty queue",
        ],
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "ns2",
        settings: "ecn=off min_th=auto max_th=auto max_p=0.1 w_q=auto gentle=on wait=on bytes=on use_mark_p=on mark_p=0.1",
        source: "ns-2.35 defaults: queue and drops in bytes, drops instead of marks",
    }];

    fn check(params: &Params) -> Result<(), String> {
        match (params.min_th, params.max_th) {
            (Auto::Given(Depth::Packets(_)), Auto::Given(Depth::Bytes(_)))
            | (Auto::Given(Depth::Bytes(_)), Auto::Given(Depth::Packets(_))) => {
                Err("min_th and max_th both in packets, or both in bytes".into())
            }
            (Auto::Given(min), Auto::Given(max)) if min.value() >= max.value() => Err("min_th below max_th".into()),
            (Auto::Auto, Auto::Given(max)) if max.value() <= 0.0 => Err("max_th above 0".into()),
            _ => Ok(()),
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        let &Params { max_p, w_q, gentle, bytes, .. } = params;
        let (min_th, max_th) = thresholds(params.min_th, params.max_th, bytes, link);
        let rate = link.pkts_per_sec();
        Self {
            params: params.clone(),
            mean_packet: link.mean_packet.0,
            min_th,
            curve: Curve { min_th: min_th.value(), max_th, max_p, gentle },
            average: Average::new(w_q.or(auto_weight(rate)), rate),
            p: 0.0,
            count: 0,
            count_bytes: 0,
            above: false,
        }
    }
}

impl Aqm for Red {
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let u = cx.rng.uniform();
        let q = self.min_th.measure(level);
        let avg = self.average.arrival(q, cx.now);
        self.count += 1;
        self.count_bytes += u64::from(packet.len);
        let Some(p_b) = self.curve.base_probability(avg).filter(|_| q > 1.0) else {
            (self.p, self.above) = (0.0, false);
            return Verdict::Accept;
        };
        self.p = p_b;
        if self.is_forced() && !self.params.use_mark_p {
            return Verdict::Drop;
        }
        if !self.above {
            // The average has just come above min_th: the spacing starts with this packet, which passes.
            (self.above, self.count, self.count_bytes) = (true, 1, u64::from(packet.len));
            return Verdict::Accept;
        }
        if u >= self.probability(packet) {
            Verdict::Accept
        } else if self.params.use_mark_p && p_b >= self.params.mark_p {
            Verdict::Drop
        } else {
            Verdict::Signal
        }
    }

    fn settled(&mut self, _: &Packet, fate: Fate, _: &mut Cx) {
        if let Fate::Dropped(_) | Fate::Queued { marked: true } = fate {
            (self.count, self.count_bytes) = (0, 0);
        }
    }

    fn emptied(&mut self, cx: &mut Cx) {
        self.average.emptied(cx.now);
    }
}

probes! { Red {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.average.value();
    /// Base probability p_b, before it is spread.
    p ["1"] = |s| s.p;
    /// Packets since the last signal.
    count ["packets"] = |s| s.count as f64;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::droptail::DropTail;
    use crate::base::params::ParamSet;
    use crate::base::port::{MAIN, Port};
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Rate};

    const fn link(mbit: u64, mean: u64) -> Link {
        Link { rate: Rate(mbit * 1_000_000), limit: Limit::Packets(100), mean_packet: Bytes(mean) }
    }

    fn near(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance, "{got} is not {want}");
    }

    #[test]
    fn automatic_values_are_ns2s() {
        for (mbit, mean, min, w, w_tol) in
            [(15, 500, 9.375, 2.67e-4, 5e-7), (3, 1000, 5.0, 2.66e-3, 5e-6), (10, 1000, 5.0, 8.0e-4, 5e-7)]
        {
            let red = Red::build(&Params::default(), &link(mbit, mean));
            assert_eq!((red.min_th, red.curve.max_th), (Depth::Packets(min), 3.0 * min));
            near(auto_weight(link(mbit, mean).pkts_per_sec()), w, w_tol);
        }
        // Below 30 packets a second three packet times are longer than 100 ms: the weight stops at 1/30.
        near(auto_weight(2.0), 1.0 - libm::exp(-1.0 / 30.0), 1e-15);
    }

    #[test]
    fn automatic_thresholds_take_the_unit_at_hand() {
        let link = link(15, 500);
        let given = |d| thresholds(d, Auto::Auto, false, &link);
        assert_eq!(given(Auto::Given(Depth::Bytes(20_000.0))), (Depth::Bytes(20_000.0), 60_000.0));
        assert_eq!(thresholds(Auto::Auto, Auto::Auto, true, &link), (Depth::Bytes(4687.5), 14_062.5));
        let max = Auto::Given(Depth::Bytes(40_000.0));
        assert_eq!(thresholds(Auto::Auto, max, false, &link), (Depth::Bytes(4687.5), 40_000.0));
    }

    #[test]
    fn an_automatic_threshold_keeps_clear_of_the_given_one() {
        use Auto::{Auto as Own, Given};
        let link = link(15, 500);
        let of = |min, max| thresholds(min, max, false, &link);
        // The rule's 9.375 packets would be above, or too near, a small max_th: a third of that instead.
        assert_eq!(of(Own, Given(Depth::Packets(9.0))), (Depth::Packets(3.0), 9.0));
        assert_eq!(of(Own, Given(Depth::Bytes(6_000.0))), (Depth::Bytes(2_000.0), 6_000.0));
        assert_eq!(of(Own, Given(Depth::Packets(30.0))), (Depth::Packets(9.375), 30.0));
        // Three times next to nothing is next to nothing: a packet more instead.
        assert_eq!(of(Given(Depth::Packets(0.0)), Own), (Depth::Packets(0.0), 1.0));
        assert_eq!(of(Given(Depth::Bytes(100.0)), Own), (Depth::Bytes(100.0), 600.0));
        assert_eq!(of(Given(Depth::Packets(0.5)), Own), (Depth::Packets(0.5), 1.5));
    }

    #[test]
    fn byte_mode_counts_whole_packets_and_weighs_lengths() {
        // p_b = 0.1, mean 500: 1249 bytes are two packets, so p_b/(1 - 0.2) = 1/8, half of it for 250 bytes.
        near(spaced_bytes(0.1, 1249, 500, 500, false), 0.125, 1e-15);
        near(spaced_bytes(0.1, 1249, 250, 500, false), 0.0625, 1e-15);
        assert_eq!(spaced_bytes(0.1, 5000, 40, 500, false), 1.0);
        assert_eq!(spaced_bytes(0.1, 4999, 1500, 500, true), 0.0);
    }

    /// Verdicts on three arrivals at a standing queue of `q` packets, thresholds 5 and 15, no memory.
    fn verdicts(q: u32, gentle: &str, use_mark_p: &str) -> [Verdict; 3] {
        let link = link(10, 500);
        let mut params = Params::default();
        let fixed = [("min_th", "5p"), ("max_th", "15p"), ("w_q", "1"), ("wait", "off")];
        for (key, text) in fixed.into_iter().chain([("gentle", gentle), ("use_mark_p", use_mark_p)]) {
            params.set(key, text).unwrap().unwrap();
        }
        let mut port = Port::new(link, 1, true);
        let packet = Packet { len: 500, ..Packet::default() };
        let mut rng = Rng::stream(1, "red");
        let mut cx = Cx { now: Instant::ZERO, rng: &mut rng };
        for _ in 0..q {
            port.admit(MAIN, packet, Verdict::Accept, &mut DropTail, &mut cx);
        }
        let mut red = Red::build(&params, &link);
        core::array::from_fn(|_| {
            red.count = 1000;
            red.arrival(&packet, &port.level(MAIN), &mut cx)
        })
    }

    #[test]
    fn first_arrival_above_min_th_passes_and_twice_max_th_forces() {
        use Verdict::{Accept, Drop, Signal};
        assert_eq!(verdicts(4, "on", "off"), [Accept; 3]);
        assert_eq!(verdicts(10, "on", "off"), [Accept, Signal, Signal]);
        assert_eq!(verdicts(15, "on", "off"), [Accept, Signal, Signal]);
        assert_eq!(verdicts(15, "off", "off"), [Drop; 3]);
        assert_eq!(verdicts(29, "on", "off"), [Accept, Signal, Signal]);
        assert_eq!(verdicts(30, "on", "off"), [Drop; 3]);
        // ns-2's late rule: the average never forces; from p_b = 0.1, reached at max_th, marks become drops.
        assert_eq!(verdicts(14, "on", "on"), [Accept, Signal, Signal]);
        assert_eq!(verdicts(15, "on", "on"), [Accept, Drop, Drop]);
        assert_eq!(verdicts(99, "off", "on"), [Accept, Drop, Drop]);
    }

    #[test]
    fn thresholds_that_contradict_each_other_are_refused() {
        let check = |min: &str, max: &str| {
            let mut params = Params::default();
            params.set("min_th", min).unwrap().unwrap();
            params.set("max_th", max).unwrap().unwrap();
            Red::check(&params)
        };
        assert!(check("5p", "15p").is_ok());
        assert!(check("15p", "5p").is_err());
        assert!(check("5p", "15kb").is_err());
        assert!(check("auto", "15kb").is_ok());
        assert!(check("auto", "0p").is_err());
        assert!(check("0p", "auto").is_ok());
    }
}
