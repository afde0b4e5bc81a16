//! Adaptive RED: RED that adapts max_p (Floyd, Gummadi, Shenker 2001).
//!
//! RED's average queue depends on the load, because more load needs a larger p. Adaptive RED moves max_p slowly
//! (additive increase, multiplicative decrease) until the average is midway between the thresholds, which makes the
//! queueing delay predictable. Thresholds and weight are computed from the link.

use alloc::string::{String, ToString};

use crate::aqm::backlog::red::{self, AutoWeight, Curve, Gateway, Rule, Steer, TARGET_DELAY, consistent};
use crate::base::design::{About, Design, Preset};
use crate::base::params::Auto;
use crate::base::tc::{Tail, Tc};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Link};
use crate::parts::red_tc;
use crate::{choice, params, probes};

choice! {
    /// When max_p is adapted.
    pub enum Clock {
        /// By a timer, as in the paper and Linux. While the link is idle the average decays, as in Linux.
        Timer = "timer",
        /// At the first arrival more than an interval after the last step, even if that step did not change max_p.
        Arrival = "arrival",
        /// At the first arrival more than an interval after max_p last changed, as in ns-2.
        Change = "change",
    }
}

params! {
    /// Parameters of Adaptive RED.
    pub struct Params {
        /// Target queueing delay; an automatic min_th is max(5, target C/2) packets, with the link rate C in packets/s.
        target: Span = TARGET_DELAY, in 0.0 ..= 1e3, "target delay", "section 5.2; ns-2.35 targetdelay_";
        /// Time between steps of max_p.
        interval: Span = INTERVAL, in 1e-3 ..= 1e6, "interval", "Fig. 2";
        /// Largest increase of max_p per step; at most max_p/4.
        alpha: f64 = ALPHA, in 0.0 ..= 1.0, "alpha", "Fig. 2: min(0.01, max_p/4)";
        /// Factor of max_p per decrease.
        beta: f64 = BETA, in 0.0 ..= 1.0, "beta", "Fig. 2";
        /// No decrease of max_p below this; auto: min(0.01, 80000/C), with the link rate C in bit/s.
        bottom: Auto<f64> = Auto::Auto, in 0.0 ..= 1.0, "bottom", "Fig. 2: 0.01; ns-2.35";
        /// No increase of max_p above this.
        top: f64 = TOP, in 0.0 ..= 1.0, "top", "Fig. 2";
        /// When max_p is adapted.
        clock: Clock = Clock::Timer, in 0.0 ..= 1.0, "", "Fig. 2: every interval seconds; ns-2.35: change";
        /// As ns-2: above max_th the initial max_p applies; max_p = top does not rise, max_p = bottom does not fall.
        quirk: bool = false, in 0.0 ..= 1.0, "", "ns-2.35 red.cc: v_c and v_d are computed only once";
        /// Source whose RED is used: ns-2.35, the paper of 1993 or Linux; see red.
        rule: Rule = Rule::Ns2, in 0.0 ..= 1.0, "", "ns-2.35; Linux net/red.h";
        /// Below this average nothing is signalled; auto: from target; rule=linux: max_th/3.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "section 5.2";
        /// Average at which the probability is max_p; auto: 3 min_th; rule=linux: a quarter of the buffer.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "section 5.2";
        /// Initial probability at max_th.
        max_p: f64 = MAX_P, in 0.0 ..= 1.0, "max_p", "ns-2.35 1/linterm_";
        /// Weight of a new queue sample in the average; auto: from auto_w; rule=linux: from burst.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "section 5.1: 1 - exp(-1/C)";
        /// rule=ns2: averaging time of an automatic w_q.
        auto_w: AutoWeight = AutoWeight::Second, in 0.0 ..= 1.0, "", "section 5.1; ns-2.35 q_weight_ = -1, 0, -2";
        /// rule=ns2: the link's propagation delay, used by auto_w=rtts.
        delay: Span = Span::ZERO, in 0.0 ..= 10.0, "delay", "ns-2.35 uses the link's";
        /// rule=linux: burst size in packets that an automatic w_q accepts; auto: (2 min_th + max_th)/3.
        burst: Auto<u32> = Auto::Auto, in 0.0 ..= 1e6, "burst", "tc burst";
        /// Packet size that converts bytes to packets; auto: the scenario's packet size.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize_", "ns-2.35 always uses 500; tc avpkt";
        /// Above max_th the probability rises to 1 at 2 max_th; off: it jumps to 1.
        gentle: bool = true, in 0.0 ..= 1.0, "gentle", "section 3; ns-2.35 default";
        /// After a drop, at least 1/p packets pass before the next drop.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default";
        /// Byte mode: a packet counts as its length divided by the mean packet size.
        bytes: bool = false, in 0.0 ..= 1.0, "bytes", "ns-2.35 has it on since 2004, RFC 7141 advises off";
        /// ECT packets are dropped, not marked, while the average is so high that every packet is signalled.
        harddrop: bool = true, in 0.0 ..= 1.0, "harddrop", "ns-2.35; tc harddrop";
        /// With ECN on, packets that cannot be marked are queued instead of dropped.
        nodrop: bool = false, in 0.0 ..= 1.0, "nodrop", "tc nodrop";
        /// ns-2's newer rule: a high average does not force drops; ECT packets are marked only while p_b < mark_p.
        use_mark_p: bool = false, in 0.0 ..= 1.0, "use_mark_p", "ns-2.35 has it on";
        /// use_mark_p=on: base probability from which ECT packets are dropped, not marked.
        mark_p: f64 = 0.1, in 0.0 ..= 1.0, "mark_p", "ns-2.35 default";
    }
}

/// Initial max_p. ns-2.35.
pub const MAX_P: f64 = 0.1;
/// Increase of max_p per step: Floyd, Gummadi, Shenker 2001, Fig. 2.
pub const ALPHA: f64 = 0.01;
/// Factor of max_p per decrease: Fig. 2.
pub const BETA: f64 = 0.9;
/// Upper bound of max_p: Fig. 2.
const TOP: f64 = 0.5;
/// Time between steps: Fig. 2.
pub const INTERVAL: Span = Span::from_millis(500);
/// Lower bound of max_p: Fig. 2.
const BOTTOM: f64 = 0.01;
/// The automatic lower bound of max_p is this divided by the link rate in bit/s, on links above 8 Mb/s. ns-2.35.
const BOTTOM_RATE: f64 = 80_000.0;
/// Target range of the average: the middle fifth between the thresholds.
const TARGET: (f64, f64) = (0.4, 0.6);

/// Lower bound of max_p: the parameter if it is a number; if it is auto, the bound that ns-2 computes.
fn bottom(given: Auto<f64>, link: &Link) -> f64 {
    given.or(BOTTOM.min(BOTTOM_RATE / link.rate.0 as f64))
}

/// The adaptation of max_p: additive increase, multiplicative decrease. Fig. 2 of the paper.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aimd {
    /// Largest increase of max_p per step; at most max_p/4.
    pub alpha: f64,
    /// Factor of max_p per decrease.
    pub beta: f64,
    /// Below this, max_p is not decreased.
    pub bottom: f64,
    /// Above this, max_p is not increased.
    pub top: f64,
    /// Allows a step while max_p is exactly `bottom` or `top`: the paper and Linux. ns-2 does not.
    pub inclusive: bool,
    /// Time between steps; above 0.
    pub interval: Span,
    /// When a step is due.
    pub clock: Clock,
    /// Clock::Timer: time of the next step. Clock::Arrival: of the last step. Clock::Change: when max_p last changed.
    at: Instant,
}

impl Aimd {
    /// The adaptation for `params` on `link`.
    pub fn new(params: &Params, link: &Link) -> Self {
        let &Params { alpha, beta, top, interval, clock, quirk, .. } = params;
        let at = match clock {
            Clock::Timer => Instant::ZERO + interval,
            Clock::Arrival | Clock::Change => Instant::ZERO,
        };
        Self { alpha, beta, bottom: bottom(params.bottom, link), top, inclusive: !quirk, interval, clock, at }
    }

    /// The new max_p: larger if the average is above its target range, smaller if below; `None`: no step.
    fn adapted(&self, curve: &Curve, avg: f64) -> Option<f64> {
        let Curve { min_th, max_th, max_p, .. } = *curve;
        let at = |fraction| min_th + fraction * (max_th - min_th);
        let may = |inside: bool, end: f64| inside || (self.inclusive && max_p == end);
        if avg > at(TARGET.1) && may(max_p < self.top, self.top) {
            Some((max_p + self.alpha.min(max_p / 4.0)).min(1.0))
        } else if avg < at(TARGET.0) && may(max_p > self.bottom, self.bottom) {
            Some(max_p * self.beta)
        } else {
            None
        }
    }

    /// Whether an arrival at `now` makes a step.
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        self.clock != Clock::Timer && now.since(self.at) > self.interval
    }

    /// Adapts max_p to the average `avg`. Records the time: with Clock::Arrival always, else only if max_p was adapted.
    pub fn step(&mut self, curve: &mut Curve, avg: f64, now: Instant) {
        let max_p = self.adapted(curve, avg);
        curve.max_p = max_p.unwrap_or(curve.max_p);
        if max_p.is_some() || self.clock == Clock::Arrival {
            self.at = now;
        }
    }
}

impl Steer for Aimd {
    #[inline]
    fn steer(&mut self, curve: &mut Curve, avg: f64, now: Instant) {
        if self.is_due(now) {
            self.step(curve, avg, now);
        }
    }

    #[inline]
    fn due(&self) -> Option<Instant> {
        (self.clock == Clock::Timer).then_some(self.at)
    }

    fn tick(&mut self, curve: &mut Curve, avg: f64, now: Instant) {
        self.step(curve, avg, now);
        self.at = now + self.interval;
    }

    fn resume(&mut self, before: &Self, curve: &mut Curve, steered: &Curve) {
        curve.max_p = steered.max_p;
        self.at = before.at;
    }
}

/// State of Adaptive RED.
pub type Ared = Gateway<Aimd>;

impl Params {
    /// The parameters of the underlying RED.
    fn red(&self) -> red::Params {
        let &Self { rule, min_th, max_th, max_p, w_q, auto_w, delay, burst, mean_packet, .. } = self;
        let &Self { gentle, wait, bytes, harddrop, nodrop, use_mark_p, mark_p, .. } = self;
        let given = red::Params { rule, min_th, max_th, max_p, w_q, auto_w, delay, burst, ..red::Params::default() };
        red::Params { mean_packet, gentle, wait, bytes, harddrop, nodrop, use_mark_p, mark_p, ..given }
    }
}

impl Design for Ared {
    type Params = Params;
    const ABOUT: About = About {
        summary: "adaptive RED: max_p moves until the average is midway between the thresholds",
        source: "Floyd, Gummadi, Shenker: Adaptive RED: An Algorithm for Increasing the Robustness of RED's AQM, 2001",
        rule: "arrival:         red's, with min_th = max(5, target C/2), max_th = 3 min_th, w_q = 1 - exp(-1/C)\n\
               every interval:  avg > min + 0.6 (max - min), max_p <= top:     max_p += min(alpha, max_p/4)\n\
               \u{20}                avg < min + 0.4 (max - min), max_p >= bottom:  max_p *= beta",
        deviations: &[
            "an idle link differs from the paper: the timer uses the decayed average, as in Linux; in the paper the \
             last average before idle time would keep raising max_p",
            "bottom differs from the paper and Linux (0.01): auto is ns-2's min(0.01, 80000/C)",
            "max_p is limited to 1, for any alpha and top",
            "RED itself is ns-2.35's, which the paper's authors used, with the differences listed under red",
            "the interval differs from ns-2.35: there (clock=change, quirk=on) the 0.5 s restart only when max_p \
             changes",
            "rule=linux differs from Linux: alpha, beta, interval, bottom and top are parameters, not constants; see \
             red for more",
            "rule=linux differs from Linux: the target range is not rounded to whole bytes",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off target=5ms interval=500ms alpha=0.01 beta=0.9 bottom=0.01 top=0.5 clock=timer quirk=off \
                       rule=ns2 min_th=auto max_th=auto max_p=0.1 w_q=auto auto_w=second gentle=on wait=on bytes=off \
                       harddrop=on nodrop=off use_mark_p=off",
            source: "Floyd, Gummadi, Shenker 2001: Fig. 2 and section 5",
        },
        Preset {
            name: "ns2",
            settings: "ecn=off target=5ms interval=500ms alpha=0.01 beta=0.9 bottom=auto top=0.5 clock=change \
                       quirk=on rule=ns2 min_th=auto max_th=auto max_p=0.1 w_q=auto auto_w=rtts mean_packet=500b \
                       gentle=on wait=on bytes=on harddrop=on nodrop=off use_mark_p=on mark_p=0.1",
            source: "ns-2.35 defaults with adaptive_ 1",
        },
        Preset {
            name: "linux",
            settings: "ecn=off interval=500ms alpha=0.01 beta=0.9 bottom=0.01 top=0.5 clock=timer quirk=off \
                       rule=linux min_th=auto max_th=auto max_p=0.02 w_q=auto burst=auto gentle=off wait=off bytes=off \
                       harddrop=off nodrop=off use_mark_p=off",
            source: "Linux red.h, red_adaptative_algo: tc red adaptive",
        },
        Preset {
            name: "msc",
            settings: "ecn=off min_th=20p max_th=60p",
            source: "MSC paper, experiment 3; its thresholds are unreadable; the middle of these is its reference \
                     queue, 40",
        },
        Preset {
            name: "tail",
            settings: "ecn=off min_th=20000b max_th=80000b alpha=0.01 beta=0.9 gentle=on",
            source: "RED+Tail, Table II; use a buffer of 160000b",
        },
        Preset {
            name: "aaqm",
            settings: "w_q=0.003 max_p=0.5",
            source: "AAQM paper, its values for 125-175 s; its symbols are unreadable, we assigned values by magnitude",
        },
    ];

    const TC: Option<Tc> = Some(Tc {
        defaults: "preset=linux",
        groups: &[red_tc::WORDS, &[("adaptive", Tail::Flag("clock=timer")), ("adaptative", Tail::Flag("clock=timer"))]],
        needs: &["limit", "avpkt"],
        together: Some(red_tc::red),
        late: None,
    });
    fn spares_empty(params: &Params) -> bool {
        // ns-2's rule accepts an arrival at a queue of at most one packet.
        params.rule == Rule::Ns2
    }

    fn check(params: &Params) -> Result<(), String> {
        consistent(&params.red())?;
        match params.bottom {
            Auto::Given(bottom) if bottom > params.top => Err("bottom at most top".to_string()),
            _ => Ok(()),
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        let red = Self::new(&params.red(), params.target, Aimd::new(params, link), link);
        if params.quirk { red.with_frozen_gentle() } else { red }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Self::build(params, link).after(self)
    }
}

probes! { Ared {
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
mod tests;
