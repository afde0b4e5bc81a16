//! The self-configuring RED gateway: max_p is divided when the average falls below min_th and multiplied when it
//! rises above max_th, once per crossing (Feng, Kandlur, Saha, Shin 1999).
//!
//! It was the first RED that adapts max_p. Too few signals let the queue overflow, too many empty it; the average shows
//! which. Adaptive RED (ared) uses smaller steps instead.

use alloc::string::{String, ToString};

use crate::aqm::backlog::red::{self, AutoWeight, Curve, Gateway, Rule, Steer, TARGET_DELAY, consistent};
use crate::base::design::{About, Design, Preset};
use crate::base::params::Auto;
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Link};
use crate::{params, probes};

params! {
    /// Parameters of the self-configuring RED gateway.
    pub struct Params {
        /// Divisor of max_p when the average falls below min_th.
        alpha: f64 = 3.0, in 1.0 ..= 1e3, "alpha", "Feng et al. 1999, as ns-2.35 quotes it";
        /// Factor of max_p when the average rises above max_th.
        beta: f64 = 2.0, in 1.0 ..= 1e3, "beta", "Feng et al. 1999, as ns-2.35 quotes it";
        /// Lower bound of max_p.
        bottom: f64 = 1e-6, in 0.0 ..= 1.0, "", "ours: neither the paper nor ns-2 has a bound";
        /// Upper bound of max_p.
        top: f64 = 1.0, in 0.0 ..= 1.0, "", "ours: a probability";
        /// As ns-2: the average counts as above max_th at the start, and above max_th the initial max_p applies.
        quirk: bool = false, in 0.0 ..= 1.0, "", "ns-2.35 red.cc: status is not set, v_c and v_d only once";
        /// Source whose RED is used: ns-2.35, the paper of 1993 or Linux; see red.
        rule: Rule = Rule::Ns2, in 0.0 ..= 1.0, "", "ns-2.35";
        /// Below this average nothing is signalled; auto: as in red.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "ns-2.35 thresh_";
        /// Average at which the probability is max_p; auto: 3 min_th.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "ns-2.35 maxthresh_";
        /// Initial probability at max_th.
        max_p: f64 = 0.1, in 0.0 ..= 1.0, "max_p", "ns-2.35 1/linterm_";
        /// Weight of a new queue sample in the average; auto: from auto_w.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "ns-2.35 q_weight_";
        /// rule=ns2: averaging time of an automatic w_q.
        auto_w: AutoWeight = AutoWeight::Rtts, in 0.0 ..= 1.0, "", "ns-2.35 q_weight_ = -1, 0, -2";
        /// rule=ns2: the link's propagation delay, used by auto_w=rtts.
        delay: Span = Span::ZERO, in 0.0 ..= 10.0, "delay", "ns-2.35 uses the link's";
        /// Packet size that converts bytes to packets; auto: the scenario's packet size.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize_", "ns-2.35 always uses 500";
        /// Above max_th the probability rises to 1 at 2 max_th; off: it jumps to 1.
        gentle: bool = false, in 0.0 ..= 1.0, "gentle", "later than the paper; ns-2.35 has it on";
        /// After a drop, at least 1/p packets pass before the next drop.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default";
        /// Byte mode: a packet counts as its length divided by the mean packet size.
        bytes: bool = false, in 0.0 ..= 1.0, "bytes", "ns-2.35 has it on since 2004, RFC 7141 advises off";
        /// ns-2's newer rule: a high average does not force drops; ECT packets are marked only while p_b < mark_p.
        use_mark_p: bool = false, in 0.0 ..= 1.0, "use_mark_p", "ns-2.35 has it on";
        /// use_mark_p=on: base probability from which ECT packets are dropped, not marked.
        mark_p: f64 = 0.1, in 0.0 ..= 1.0, "mark_p", "ns-2.35 default";
    }
}

/// Position of the average relative to the thresholds; unchanged while it equals a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Below min_th.
    Below,
    /// Between the thresholds.
    Between,
    /// Above max_th.
    Above,
}

/// Multiplies or divides max_p once per crossing of a threshold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossings {
    alpha: f64,
    beta: f64,
    bottom: f64,
    top: f64,
    status: Status,
}

impl Steer for Crossings {
    #[inline]
    fn steer(&mut self, curve: &mut Curve, avg: f64, _: Instant) {
        let Curve { min_th, max_th, max_p, .. } = *curve;
        if min_th < avg && avg < max_th {
            self.status = Status::Between;
        } else if avg < min_th && self.status != Status::Below {
            self.status = Status::Below;
            curve.max_p = (max_p / self.alpha).max(self.bottom);
        } else if avg > max_th && self.status != Status::Above {
            self.status = Status::Above;
            curve.max_p = (max_p * self.beta).min(self.top);
        }
    }

    fn resume(&mut self, before: &Self, curve: &mut Curve, steered: &Curve) {
        curve.max_p = steered.max_p;
        self.status = before.status;
    }
}

/// State of the self-configuring RED gateway.
pub type FengRed = Gateway<Crossings>;

impl Params {
    /// The parameters of the underlying RED.
    fn red(&self) -> red::Params {
        let &Self { rule, min_th, max_th, max_p, w_q, auto_w, delay, mean_packet, .. } = self;
        let &Self { gentle, wait, bytes, use_mark_p, mark_p, .. } = self;
        // If the average forces a signal, the paper marks and ns-2 drops.
        let harddrop = rule == Rule::Ns2;
        let given = red::Params { rule, min_th, max_th, max_p, w_q, auto_w, delay, ..red::Params::default() };
        red::Params { mean_packet, gentle, wait, bytes, harddrop, use_mark_p, mark_p, ..given }
    }
}

impl Design for FengRed {
    type Params = Params;
    const ABOUT: About = About {
        summary: "self-configuring RED: max_p/3 when the average falls below min_th, times 2 when it rises above \
                  max_th",
        source: "Feng, Kandlur, Saha, Shin: A Self-Configuring RED Gateway, INFOCOM 1999; from ns-2.35 updateMaxPFeng",
        rule: "arrival:  avg as red;  min < avg < max: between\n\
               \u{20}         avg < min, not yet below:  max_p /= alpha, below\n\
               \u{20}         avg > max, not yet above:  max_p *= beta, above\n\
               \u{20}         then as red",
        deviations: &[
            "source: ns-2.35's function and its comment; the paper was not available",
            "the initial status differs from ns-2: it is below min_th, so that the first packet does not divide max_p; \
             ns-2's (quirk=on) is not initialised and in practice above max_th",
            "bottom and top are ours: without them a queue that oscillates around max_th doubles max_p each time",
            "the gentle part differs from ns-2: it follows max_p; in ns-2 (quirk=on) it keeps its initial slope",
            "an average equal to a threshold changes nothing, as in ns-2",
            "RED itself is ns-2.35's, with the differences listed under red",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "rule=paper ecn=off alpha=3 beta=2 quirk=off min_th=5p max_th=15p max_p=0.02 w_q=0.002 \
                       gentle=off wait=off bytes=off use_mark_p=off",
            source: "the RED of 1993 and its thresholds, with Feng's factors",
        },
        Preset {
            name: "ns2",
            settings: "rule=ns2 ecn=off alpha=3 beta=2 bottom=0 top=1 quirk=on min_th=auto max_th=auto max_p=0.1 \
                       w_q=auto auto_w=rtts mean_packet=500b gentle=on wait=on bytes=on use_mark_p=on mark_p=0.1",
            source: "ns-2.35 defaults with adaptive_ 1, feng_adaptive_ 1, alpha_ 3, beta_ 2",
        },
    ];
    fn spares_empty(params: &Params) -> bool {
        // ns-2's rule accepts an arrival at a queue of at most one packet.
        params.rule == Rule::Ns2
    }

    fn check(params: &Params) -> Result<(), String> {
        consistent(&params.red())?;
        if (params.bottom..=params.top).contains(&params.max_p) {
            Ok(())
        } else {
            Err("max_p from bottom to top".to_string())
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        let &Params { alpha, beta, bottom, top, quirk, .. } = params;
        let status = if quirk { Status::Above } else { Status::Below };
        let red = Self::new(&params.red(), TARGET_DELAY, Crossings { alpha, beta, bottom, top, status }, link);
        if quirk { red.with_frozen_gentle() } else { red }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Self::build(params, link).after(self)
    }
}

probes! { FengRed {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.average();
    /// Base probability p_b of the latest arrival, before the spacing of signals.
    p ["1"] probability = |s| s.p();
    /// Probability at max_th.
    max_p ["1"] probability = |s| s.curve().max_p;
    /// Packets since the last signal.
    count ["packets"] signed = |s| s.count();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::{Ecn, Packet};
    use crate::base::rng::Rng;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::{near, packet, params};

    const LINK: Link = Link { rate: Rate(4_000_000), limit: Limit::Packets(200), mean_packet: Bytes(1000) };

    /// max_p after the queue, initially empty, has had each of these lengths; thresholds 5 and 15, w_q = 1.
    fn trajectory(lengths: &[u32], settings: &str) -> f64 {
        let params =
            params(&alloc::format!("min_th=5p max_th=15p w_q=1 gentle=on use_mark_p=on mark_p=1 max_p=0.1 {settings}"));
        let mut queue = Queue::new(Fifo::new(FengRed::build(&params, &LINK)), LINK, true, Rng::stream(1, "feng"));
        for &length in lengths {
            while queue.port.pkts() > length {
                queue.depart(Instant::ZERO);
            }
            // The last arrival finds `length` packets.
            while queue.port.pkts() <= length {
                queue.arrive(Packet { ecn: Ecn::Ect0, ..packet() }, Instant::ZERO);
            }
        }
        queue.discipline().aqm().curve().max_p
    }

    #[test]
    fn max_p_changes_once_per_threshold_crossing() {
        near(trajectory(&[4], ""), 0.1);
        near(trajectory(&[4, 10], ""), 0.1);
        near(trajectory(&[15], ""), 0.1);
        near(trajectory(&[16], ""), 0.2);
        near(trajectory(&[29], ""), 0.2);
        near(trajectory(&[16, 10, 16], ""), 0.4);
        near(trajectory(&[16, 10, 5], ""), 0.2);
        near(trajectory(&[16, 4], ""), 0.2 / 3.0);
        near(trajectory(&[16, 4, 3, 4], ""), 0.2 / 3.0);
        near(trajectory(&[16, 4, 10, 4], "alpha=2 beta=3"), 0.3 / 4.0);
    }

    #[test]
    fn max_p_stays_between_its_bounds() {
        assert_eq!(trajectory(&[16], "top=0.15"), 0.15);
        assert_eq!(trajectory(&[16, 4], "bottom=0.09"), 0.09);
        let check = |settings| FengRed::check(&params(settings));
        assert!(check("bottom=0.2").is_err() && check("top=0.05").is_err() && check("").is_ok());
    }

    #[test]
    fn ns2_quirk_places_first_average_above_max_th() {
        assert!((trajectory(&[0], "quirk=on") - 0.1 / 3.0).abs() < 1e-12, "max_p is divided at once");
    }

    #[test]
    fn average_equal_to_threshold_keeps_max_p() {
        let mut curve = Curve::new(5.0, 15.0, 0.1, true);
        let mut feng = Crossings { alpha: 3.0, beta: 2.0, bottom: 0.01, top: 0.3, status: Status::Below };
        let mut after = |avg| {
            feng.steer(&mut curve, avg, Instant::ZERO);
            curve.max_p
        };
        assert_eq!([after(1.0), after(10.0), after(15.0)], [0.1; 3], "it began below; on a threshold nothing happens");
        assert_eq!([after(15.1), after(20.0)], [0.2; 2]);
        assert_eq!([after(10.0), after(16.0), after(5.0)], [0.2, 0.3, 0.3], "again, up to the top; 5 is not below 5");
        near(after(4.9), 0.1);
        near(after(0.0), 0.1);
        near(after(20.0), 0.2); // from below to above at once
        near(after(1.0), 0.2 / 3.0);
        near(after(6.0), 0.2 / 3.0);
        near(after(1.0), 0.2 / 9.0);
        near(after(6.0), 0.2 / 9.0);
        assert_eq!(after(1.0), 0.01);
    }
}
