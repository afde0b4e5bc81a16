//! Adaptive RED: RED that finds its own max_p (Floyd, Gummadi, Shenker 2001).
//!
//! RED's average queue depends on the load, since more load takes a larger p. Moving max_p slowly, up by addition
//! and down by a factor, until the average is in the middle of the thresholds makes the queueing delay predictable;
//! thresholds and weight follow from the link.

use alloc::string::{String, ToString};

use crate::aqm::red::consistent;
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::tc::{Form, Tail, Tc, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::adaptive::{AIMD, Adaptive, Clock, INTERVAL, MAX_P, Steering, TOP, bottom};
use crate::parts::early::Config;
use crate::parts::max_p::Aimd;
use crate::parts::red_auto::{AutoWeight, Known, TARGET_DELAY};
use crate::parts::red_tc;
use crate::parts::spacing::Rule;
use crate::{params, probes};

params! {
    /// Knobs of Adaptive RED.
    pub struct Params {
        /// Queueing delay that an automatic min_th aims at: it is max(5, target C/2) packets.
        target: Span = TARGET_DELAY, in 0.0 ..= 1e3, "target delay", "section 5.2; ns-2.35 targetdelay_";
        /// Time between two steps of max_p.
        interval: Span = INTERVAL, in 1e-3 ..= 1e6, "interval", "Fig. 2";
        /// Largest step up; a quarter of max_p if that is less.
        alpha: f64 = AIMD.0, in 0.0 ..= 1.0, "alpha", "Fig. 2: min(0.01, max_p/4)";
        /// Factor of a step down.
        beta: f64 = AIMD.1, in 0.0 ..= 1.0, "beta", "Fig. 2";
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

/// State of Adaptive RED.
pub struct Ared {
    adaptive: Adaptive,
}

impl Params {
    fn config(&self, link: &Link) -> Config {
        let &Self { rule, min_th, max_th, bytes, target, w_q, auto_w, delay, burst, .. } = self;
        let mean_packet = self.mean_packet.or(link.mean_packet);
        let known = Known { rule, min_th, max_th, bytes, target, w_q, auto_w, delay, burst, mean_packet };
        let &Self { max_p, gentle, wait, harddrop, nodrop, .. } = self;
        let mark_p = self.use_mark_p.then_some(self.mark_p);
        Config { known, max_p, gentle, wait, idle: true, harddrop, nodrop, mark_p }
    }

    fn steering(&self, link: &Link) -> Steering {
        let &Self { alpha, beta, top, interval, clock, quirk, .. } = self;
        let aimd = Aimd { alpha, beta, bottom: bottom(self.bottom, link), top, inclusive: !quirk };
        Steering { aimd, interval, clock, frozen: quirk }
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
        words: &[
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
            ("qevent", Tail::Refused("there are no filters that packets could be handed to")),
            ("adaptive", Tail::Flag("clock=timer")),
            ("adaptative", Tail::Flag("clock=timer")),
        ],
        needs: &["limit", "avpkt"],
        together: Some(red_tc::red),
    });

    fn check(params: &Params) -> Result<(), String> {
        let &Params { min_th, max_th, rule, wait, bytes, use_mark_p, .. } = params;
        consistent((min_th, max_th), rule, (wait, bytes, use_mark_p))?;
        match params.bottom {
            Auto::Given(bottom) if bottom > params.top => Err("bottom at most top".to_string()),
            _ => Ok(()),
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        Self { adaptive: Adaptive::new(params.config(link), params.steering(link), None, link) }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { adaptive: Self::build(params, link).adaptive.after(&self.adaptive)? })
    }
}

impl Aqm for Ared {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.adaptive.arrival(packet, level, cx)
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, cx: &mut Cx) {
        self.adaptive.settled(packet, fate, cx);
    }

    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        self.adaptive.emptied(cx);
    }

    #[inline]
    fn next_tick(&self) -> Option<Instant> {
        self.adaptive.next_tick()
    }

    fn tick(&mut self, level: &Level, cx: &mut Cx) {
        self.adaptive.tick(level, cx);
    }
}

probes! { Ared {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.adaptive.early().average().value();
    /// Base probability p_b, before it is spread.
    p ["1"] = |s| s.adaptive.early().p();
    /// Probability at max_th.
    max_p ["1"] = |s| s.adaptive.early().curve.max_p;
    /// Packets since the last signal.
    count ["packets"] = |s| s.adaptive.early().count();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::params::ParamSet;
    use crate::base::rng::Rng;
    use crate::base::units::{Limit, Rate};

    const LINK: Link = Link { rate: Rate(4_000_000), limit: Limit::Packets(200), mean_packet: Bytes(1000) };

    fn params(settings: &str) -> Params {
        let mut params = Params::default();
        for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
            params.set(key, value).unwrap().unwrap();
        }
        params
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    /// max_p after steps at a standing queue of `q` packets, thresholds 20 and 40, no memory.
    fn steps(q: u32, settings: &str, steps: u64) -> f64 {
        let params = params(&alloc::format!("min_th=20p max_th=40p w_q=1 {settings}"));
        let mut queue = Queue::new(Fifo::new(Ared::build(&params, &LINK)), LINK, false, Rng::stream(1, "ared"));
        while queue.port.pkts() < q {
            queue.arrive(Packet { len: 1000, ..Packet::default() }, at(0));
        }
        // One more, which meets q packets and is the last before the steps.
        queue.arrive(Packet { len: 1000, ..Packet::default() }, at(0));
        (1..=steps).for_each(|n| queue.tick(at(500 * n)));
        queue.discipline().aqm().adaptive.early().curve.max_p
    }

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-12, "{got} is not {want}");
    }

    #[test]
    fn max_p_follows_the_average_outside_the_middle_fifth() {
        // The middle fifth is 28 to 32.
        near(steps(27, "", 1), 0.09);
        near(steps(27, "", 3), 0.1 * 0.9 * 0.9 * 0.9);
        near(steps(28, "", 3), 0.1);
        near(steps(32, "", 3), 0.1);
        near(steps(33, "", 1), 0.11);
        near(steps(33, "", 3), 0.13);
        near(steps(33, "max_p=0.02", 1), 0.025);
        near(steps(33, "alpha=0.02", 1), 0.12);
        near(steps(27, "beta=0.5", 1), 0.05);
    }

    #[test]
    fn max_p_stays_between_bottom_and_top() {
        // The last step begins at or inside the end: 0.01 and 0.5 themselves are inside, for ns-2 they are not.
        near(steps(33, "max_p=0.5", 9), 0.51);
        near(steps(33, "max_p=0.5 quirk=on", 9), 0.5);
        near(steps(27, "max_p=0.01", 9), 0.009);
        near(steps(27, "max_p=0.01 quirk=on", 9), 0.01);
        near(steps(27, "max_p=0.2 bottom=0.19", 9), 0.18);
        assert!(params("bottom=0.6").bottom == Auto::Given(0.6) && Ared::check(&params("bottom=0.6")).is_err());
    }

    #[test]
    fn arrivals_leave_max_p_to_the_timer_however_late_it_is() {
        for (clock, want) in [("timer", 0.1), ("arrival", 0.09), ("change", 0.09)] {
            let params = params(&alloc::format!("clock={clock}"));
            let mut queue = Queue::new(Fifo::new(Ared::build(&params, &LINK)), LINK, false, Rng::stream(1, "ared"));
            queue.arrive(Packet { len: 1000, ..Packet::default() }, at(2_000));
            near(queue.discipline().aqm().adaptive.early().curve.max_p, want);
        }
    }

    #[test]
    fn thresholds_aim_at_the_target_delay() {
        let min_th = |settings: &str| {
            let link = Link { rate: Rate(40_000_000), ..LINK };
            Ared::build(&params(settings), &link).adaptive.early().curve.min_th
        };
        // 5000 packets a second: 5 ms of them are 25, 20 ms are 100.
        assert_eq!([min_th(""), min_th("target=20ms"), min_th("target=0s")], [12.5, 50.0, 5.0]);
    }
}
