//! Adaptive RED: RED that finds its own max_p (Floyd, Gummadi, Shenker 2001).
//!
//! RED's average queue depends on the load, since more load takes a larger p. Moving max_p slowly, up by addition
//! and down by a factor, until the average is in the middle of the thresholds makes the queueing delay predictable;
//! thresholds and weight follow from the link.

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
    /// When max_p is looked at.
    pub enum Clock {
        /// By a timer: the paper, Linux. While the link is idle the average counts as decayed, as in Linux.
        Timer = "timer",
        /// At the first arrival more than an interval after the last step.
        Arrival = "arrival",
        /// At the first arrival more than an interval after the last change: ns-2.
        Change = "change",
    }
}

params! {
    /// Knobs of Adaptive RED.
    pub struct Params {
        /// Queueing delay that an automatic min_th aims at: it is max(5, target C/2) packets.
        target: Span = TARGET_DELAY, in 0.0 ..= 1e3, "target delay", "section 5.2; ns-2.35 targetdelay_";
        /// Time between two steps of max_p.
        interval: Span = INTERVAL, in 1e-3 ..= 1e6, "interval", "Fig. 2";
        /// Largest step up; a quarter of max_p if that is less.
        alpha: f64 = ALPHA, in 0.0 ..= 1.0, "alpha", "Fig. 2: min(0.01, max_p/4)";
        /// Factor of a step down.
        beta: f64 = BETA, in 0.0 ..= 1.0, "beta", "Fig. 2";
        /// max_p does not sink below this; auto is min(0.01, 80000/C), C in bit/s.
        bottom: Auto<f64> = Auto::Auto, in 0.0 ..= 1.0, "bottom", "Fig. 2 has 0.01; ns-2.35";
        /// max_p does not rise above this.
        top: f64 = TOP, in 0.0 ..= 1.0, "top", "Fig. 2";
        /// What measures the interval.
        clock: Clock = Clock::Timer, in 0.0 ..= 1.0, "", "Fig. 2: every interval seconds; ns-2.35: change";
        /// ns-2 to the letter: the gentle part keeps its first slope, and max_p no step at bottom and top themselves.
        quirk: bool = false, in 0.0 ..= 1.0, "", "ns-2.35 red.cc: v_c and v_d are worked out once";
        /// Whose RED; see red.
        rule: Rule = Rule::Ns2, in 0.0 ..= 1.0, "", "ns-2.35; Linux net/red.h";
        /// Average below which nothing happens; auto: by target, or as tc has it.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "section 5.2";
        /// Average at which the probability reaches max_p; auto is 3 min_th, or as tc has it.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "section 5.2";
        /// Probability at max_th, to begin with.
        max_p: f64 = MAX_P, in 0.0 ..= 1.0, "max_p", "ns-2.35 1/linterm_";
        /// Weight of the queue met by an arrival in the average; auto: by auto_w, or tc's by burst.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "section 5.1: 1 - exp(-1/C)";
        /// rule=ns2: what an automatic w_q remembers.
        auto_w: AutoWeight = AutoWeight::Second, in 0.0 ..= 1.0, "", "section 5.1; ns-2.35 q_weight_ = -1, 0, -2";
        /// rule=ns2: the link's propagation delay, for auto_w=rtts.
        delay: Span = Span::ZERO, in 0.0 ..= 10.0, "delay", "ns-2.35 has the link's own";
        /// rule=linux: packets of a burst that an automatic w_q lets through; auto is (2 min_th + max_th)/3.
        burst: Auto<u32> = Auto::Auto, in 0.0 ..= 1e6, "burst", "tc burst";
        /// Packet size that turns bytes into packets; auto is the scenario's packet.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize_", "ns-2.35 has 500 whatever the traffic; tc avpkt";
        /// Above max_th, climb to 1 at 2 max_th instead of jumping there.
        gentle: bool = true, in 0.0 ..= 1.0, "gentle", "section 3; ns-2.35 default";
        /// After a drop, wait 1/p packets before the next may come.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default";
        /// Byte mode: a packet counts by its length over the mean.
        bytes: bool = false, in 0.0 ..= 1.0, "bytes", "ns-2.35 has it on since 2004, RFC 7141 advises off";
        /// A high average drops ECT packets too, instead of marking them.
        harddrop: bool = true, in 0.0 ..= 1.0, "harddrop", "ns-2.35; tc harddrop";
        /// With ECN on, packets that cannot be marked are queued instead of dropped.
        nodrop: bool = false, in 0.0 ..= 1.0, "nodrop", "tc nodrop";
        /// ns-2's late rule: a high average forces no drop, and ECT packets are marked only below mark_p.
        use_mark_p: bool = false, in 0.0 ..= 1.0, "use_mark_p", "ns-2.35 has it on";
        /// Base probability from which ECT packets too are dropped, if use_mark_p.
        mark_p: f64 = 0.1, in 0.0 ..= 1.0, "mark_p", "ns-2.35 default";
    }
}

/// max_p at the start. ns-2.35.
pub const MAX_P: f64 = 0.1;
/// The step of max_p up: Floyd, Gummadi, Shenker 2001.
pub const ALPHA: f64 = 0.01;
/// The factor of max_p down: the same.
pub const BETA: f64 = 0.9;
/// No increase from here on: the same.
const TOP: f64 = 0.5;
/// Time between two steps: the same.
pub const INTERVAL: Span = Span::from_millis(500);
/// max_p does not sink below this: the same.
const BOTTOM: f64 = 0.01;
/// On links faster than 8 Mb/s it may sink to this over C in bits per second. ns-2.35.
const BOTTOM_RATE: f64 = 80_000.0;
/// The average is steered into the middle fifth of the thresholds' distance.
const TARGET: (f64, f64) = (0.4, 0.6);

/// ns-2's bottom of max_p, unless it is given.
fn bottom(given: Auto<f64>, link: &Link) -> f64 {
    given.or(BOTTOM.min(BOTTOM_RATE / link.rate.0 as f64))
}

/// Fig. 2: additive increase, multiplicative decrease of max_p.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aimd {
    /// Largest increase of one step; a quarter of max_p if that is less.
    pub alpha: f64,
    /// Factor of a decrease.
    pub beta: f64,
    /// No decrease below this.
    pub bottom: f64,
    /// No increase above this.
    pub top: f64,
    /// One more step at `bottom` and `top` themselves: the paper and Linux. ns-2 has none.
    pub inclusive: bool,
    /// Time between two steps; above 0.
    pub interval: Span,
    /// What measures it.
    pub clock: Clock,
    /// By the timer: the next step. Else: the last step, or change.
    at: Instant,
}

impl Aimd {
    /// With the authors' ends and ns-2's bottom, as the parameters say.
    pub fn new(params: &Params, link: &Link) -> Self {
        let &Params { alpha, beta, top, interval, clock, quirk, .. } = params;
        let at = match clock {
            Clock::Timer => Instant::ZERO + interval,
            Clock::Arrival | Clock::Change => Instant::ZERO,
        };
        Self { alpha, beta, bottom: bottom(params.bottom, link), top, inclusive: !quirk, interval, clock, at }
    }

    /// Every interval: max_p grows while the average is above its target range, falls while below. None: no step.
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

    /// An arrival looks at the clock: is it time for a step?
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        self.clock != Clock::Timer && now.since(self.at) > self.interval
    }

    /// A step at an arrival.
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
    /// The RED that is steered.
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
        summary: "adaptive RED: max_p moves until the average is half-way between the thresholds",
        source: "Floyd, Gummadi, Shenker: Adaptive RED: An Algorithm for Increasing the Robustness of RED's AQM, 2001",
        rule: "arrival:         red's, with min_th = max(5, target C/2), max_th = 3 min_th, w_q = 1 - exp(-1/C)\n\
               every interval:  avg > min + 0.6 (max - min), max_p <= top:     max_p += min(alpha, max_p/4)\n\
               \u{20}                avg < min + 0.4 (max - min), max_p >= bottom:  max_p *= beta",
        deviations: &[
            "while the link is idle the timer takes the average as decayed, as Linux does; in the paper the last \
             average before an idle time would raise max_p all through it",
            "bottom is ns-2's min(0.01, 80000/C) unless it is given; the paper and Linux have 0.01",
            "max_p never passes 1, whatever alpha and top are",
            "RED itself is ns-2.35's, which the paper's authors used; what differs from it is listed under red",
            "clock=change, quirk=on: ns-2.35, whose 0.5 s begin anew only when max_p changes",
            "rule=linux: what differs from the kernel is listed under red; alpha, beta, interval, bottom and top are \
             constants there, and its target range is in whole bytes",
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
            settings: "ecn=off target=5ms interval=500ms alpha=0.01 beta=0.9 bottom=auto top=0.5 clock=change quirk=on \
                       rule=ns2 min_th=auto max_th=auto max_p=0.1 w_q=auto auto_w=rtts mean_packet=500b gentle=on wait=on \
                       bytes=on harddrop=on nodrop=off use_mark_p=on mark_p=0.1",
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
            source: "MSC paper, experiment 3; its thresholds are lost, the middle of these is its reference queue of 40",
        },
        Preset {
            name: "tail",
            settings: "ecn=off min_th=20000b max_th=80000b alpha=0.01 beta=0.9 gentle=on",
            source: "RED+Tail, Table II; give it a buffer of 160000b",
        },
        Preset {
            name: "aaqm",
            settings: "w_q=0.003 max_p=0.5",
            source: "AAQM paper, its values in 125-175 s; its symbols are lost, the magnitudes tell which is which",
        },
    ];

    const TC: Option<Tc> = Some(Tc {
        defaults: "preset=linux",
        groups: &[red_tc::WORDS, &[("adaptive", Tail::Flag("clock=timer")), ("adaptative", Tail::Flag("clock=timer"))]],
        needs: &["limit", "avpkt"],
        together: Some(red_tc::red),
    });
    fn spares_empty(params: &Params) -> bool {
        // ns-2's rule lets an arrival pass that meets at most one packet.
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
    /// Base probability p_b, before it is spread.
    p ["1"] probability = |s| s.p();
    /// Probability at max_th.
    max_p ["1"] probability = |s| s.curve().max_p;
    /// Packets since the last signal.
    count ["packets"] signed = |s| s.count();
} }

#[cfg(test)]
mod tests;
