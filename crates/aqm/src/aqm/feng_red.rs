//! The self-configuring RED gateway: max_p is divided when the average falls below min_th and multiplied when it
//! rises above max_th, once a crossing (Feng, Kandlur, Saha, Shin 1999).
//!
//! The first RED to find its own max_p: too little signalling lets the queue overflow, too much empties it, and the
//! average tells which of the two is happening. Adaptive RED (ared) replaced its large steps.

use alloc::string::{String, ToString};

use crate::aqm::red::consistent;
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::time::Span;
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::early::{Config, Early};
use crate::parts::max_p::{Crossings, Status};
use crate::parts::red_auto::{AutoWeight, Known, TARGET_DELAY};
use crate::parts::spacing::Rule;
use crate::{params, probes};

params! {
    /// Knobs of the self-configuring gateway.
    pub struct Params {
        /// Divisor of max_p when the average falls below min_th.
        alpha: f64 = 3.0, in 1.0 ..= 1e3, "alpha", "Feng et al. 1999, as ns-2.35 quotes it";
        /// Factor of max_p when the average rises above max_th.
        beta: f64 = 2.0, in 1.0 ..= 1e3, "beta", "Feng et al. 1999, as ns-2.35 quotes it";
        /// max_p does not sink below this.
        bottom: f64 = 1e-6, in 0.0 ..= 1.0, "", "ours: neither the paper nor ns-2 has an end";
        /// max_p does not rise above this.
        top: f64 = 1.0, in 0.0 ..= 1.0, "", "ours: a probability";
        /// ns-2 to the letter: the average begins above max_th, and the gentle part keeps its first slope.
        quirk: bool = false, in 0.0 ..= 1.0, "", "ns-2.35 red.cc: status is not set, v_c and v_d once";
        /// Whose RED; see red.
        rule: Rule = Rule::Ns2, in 0.0 ..= 1.0, "", "ns-2.35";
        /// Average below which nothing happens; auto: as red has it.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "ns-2.35 thresh_";
        /// Average at which the probability reaches max_p; auto is 3 min_th.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "ns-2.35 maxthresh_";
        /// Probability at max_th, to begin with.
        max_p: f64 = 0.1, in 0.0 ..= 1.0, "max_p", "ns-2.35 1/linterm_";
        /// Weight of the queue met by an arrival in the average; auto: by auto_w.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "ns-2.35 q_weight_";
        /// rule=ns2: what an automatic w_q remembers.
        auto_w: AutoWeight = AutoWeight::Rtts, in 0.0 ..= 1.0, "", "ns-2.35 q_weight_ = -1, 0, -2";
        /// rule=ns2: the link's propagation delay, for auto_w=rtts.
        delay: Span = Span::ZERO, in 0.0 ..= 10.0, "delay", "ns-2.35 has the link's own";
        /// Packet size that turns bytes into packets; auto is the scenario's packet.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize_", "ns-2.35 has 500 whatever the traffic";
        /// Above max_th, climb to 1 at 2 max_th instead of jumping there.
        gentle: bool = false, in 0.0 ..= 1.0, "gentle", "younger than the paper; ns-2.35 has it on";
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

/// State of the self-configuring gateway.
pub struct FengRed {
    early: Early,
    crossings: Crossings,
}

impl Design for FengRed {
    type Params = Params;
    const ABOUT: About = About {
        summary: "self-configuring RED: max_p/3 when the average falls below min_th, times 2 when it rises above max_th",
        source: "Feng, Kandlur, Saha, Shin: A Self-Configuring RED Gateway, INFOCOM 1999; from ns-2.35 updateMaxPFeng",
        rule: "arrival:  avg as red;  min < avg < max: between\n\
               \u{20}         avg < min, not yet below:  max_p /= alpha, below\n\
               \u{20}         avg > max, not yet above:  max_p *= beta, above\n\
               \u{20}         then as red",
        deviations: &[
            "from ns-2.35's function and comment: the paper was not at hand",
            "it begins below, not above, so that the first packet does not divide max_p; quirk=on: as ns-2, whose status \
             is not set and in practice says above",
            "max_p stays within bottom and top; without them a queue that swings around max_th doubles it each time",
            "the gentle part follows max_p; quirk=on: it keeps its first slope, as in ns-2",
            "an average on a threshold changes nothing, as in ns-2",
            "RED itself is ns-2.35's; what differs from it is listed under red",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "rule=paper ecn=off alpha=3 beta=2 quirk=off min_th=5p max_th=15p max_p=0.02 w_q=0.002 gentle=off \
                       wait=off bytes=off use_mark_p=off",
            source: "the RED of 1993 with Feng's factors; the thresholds are that paper's",
        },
        Preset {
            name: "ns2",
            settings: "rule=ns2 ecn=off alpha=3 beta=2 bottom=0 top=1 quirk=on min_th=auto max_th=auto max_p=0.1 w_q=auto \
                       auto_w=rtts mean_packet=500b gentle=on wait=on bytes=on use_mark_p=on mark_p=0.1",
            source: "ns-2.35 defaults with adaptive_ 1, feng_adaptive_ 1, alpha_ 3, beta_ 2",
        },
    ];

    fn check(params: &Params) -> Result<(), String> {
        let &Params { min_th, max_th, rule, wait, bytes, use_mark_p, .. } = params;
        consistent((min_th, max_th), rule, (wait, bytes, use_mark_p))?;
        if (params.bottom..=params.top).contains(&params.max_p) {
            Ok(())
        } else {
            Err("max_p from bottom to top".to_string())
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        let &Params { rule, min_th, max_th, bytes, w_q, auto_w, delay, quirk, .. } = params;
        let (target, burst) = (TARGET_DELAY, Auto::Auto);
        let mean_packet = params.mean_packet.or(link.mean_packet);
        let known = Known { rule, min_th, max_th, bytes, target, w_q, auto_w, delay, burst, mean_packet };
        let &Params { max_p, gentle, wait, alpha, beta, bottom, top, .. } = params;
        let mark_p = params.use_mark_p.then_some(params.mark_p);
        // The paper marks what its average forces; ns-2 drops it.
        let harddrop = rule == Rule::Ns2;
        let config = Config { known, max_p, gentle, wait, idle: true, harddrop, nodrop: false, mark_p };
        let mut early = Early::new(config, link);
        if quirk {
            early.freeze_gentle();
        }
        let status = if quirk { Status::Above } else { Status::Below };
        Self { early, crossings: Crossings { alpha, beta, bottom, top, status } }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let Self { early, crossings } = Self::build(params, link);
        let mut early = early.after(&self.early)?;
        early.curve.max_p = self.early.curve.max_p;
        Some(Self { early, crossings: Crossings { status: self.crossings.status, ..crossings } })
    }
}

impl Aqm for FengRed {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let crossings = &mut self.crossings;
        self.early.arrival(packet, level, cx, |curve, avg| curve.max_p = crossings.step(curve, avg))
    }

    #[inline]
    fn settled(&mut self, _: &Packet, fate: Fate, _: &mut Cx) {
        self.early.settled(fate);
    }

    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        self.early.emptied(cx.now);
    }
}

probes! { FengRed {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.early.average().value();
    /// Base probability p_b, before it is spread.
    p ["1"] = |s| s.early.p();
    /// Probability at max_th.
    max_p ["1"] = |s| s.early.curve.max_p;
    /// Packets since the last signal.
    count ["packets"] = |s| s.early.count();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Limit, Rate};

    const LINK: Link = Link { rate: Rate(4_000_000), limit: Limit::Packets(200), mean_packet: Bytes(1000) };

    fn params(settings: &str) -> Params {
        let mut params = Params::default();
        for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
            params.set(key, value).unwrap().unwrap();
        }
        params
    }

    /// max_p after the queue, from empty, has been brought to each of these lengths; thresholds 5 and 15, no memory.
    fn course(lengths: &[u32], settings: &str) -> f64 {
        let params =
            params(&alloc::format!("min_th=5p max_th=15p w_q=1 gentle=on use_mark_p=on mark_p=1 max_p=0.1 {settings}"));
        let mut queue = Queue::new(Fifo::new(FengRed::build(&params, &LINK)), LINK, true, Rng::stream(1, "feng"));
        for &length in lengths {
            while queue.port.pkts() > length {
                queue.depart(Instant::ZERO);
            }
            // The last arrival meets `length` packets, or one less where it overshoots none.
            while queue.port.pkts() <= length {
                queue.arrive(
                    Packet { len: 1000, ecn: crate::base::packet::Ecn::Ect0, ..Packet::default() },
                    Instant::ZERO,
                );
            }
        }
        queue.discipline().aqm().early.curve.max_p
    }

    #[test]
    fn max_p_moves_once_a_crossing() {
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-12, "{got} is not {want}");
        near(course(&[4], ""), 0.1);
        near(course(&[4, 10], ""), 0.1);
        near(course(&[15], ""), 0.1);
        near(course(&[16], ""), 0.2);
        near(course(&[29], ""), 0.2);
        near(course(&[16, 10, 16], ""), 0.4);
        near(course(&[16, 10, 5], ""), 0.2);
        near(course(&[16, 4], ""), 0.2 / 3.0);
        near(course(&[16, 4, 3, 4], ""), 0.2 / 3.0);
        near(course(&[16, 4, 10, 4], "alpha=2 beta=3"), 0.3 / 4.0);
    }

    #[test]
    fn max_p_has_its_ends_and_ns2_begins_above() {
        assert_eq!(course(&[16], "top=0.15"), 0.15);
        assert_eq!(course(&[16, 4], "bottom=0.09"), 0.09);
        assert!((course(&[0], "quirk=on") - 0.1 / 3.0).abs() < 1e-12);
        let check = |settings| FengRed::check(&params(settings));
        assert!(check("bottom=0.2").is_err() && check("top=0.05").is_err() && check("").is_ok());
    }
}
