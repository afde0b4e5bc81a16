//! PIE: a PI controller of the queuing delay sets the drop probability (RFC 8033).
//!
//! Gains shrink with p, because a sender's rate depends on the root of p: small p wants small steps. Bursts, short
//! queues and low delays are let pass. The rule and a queue's memory are in `parts/pie_rule.rs` and `pie_state.rs`.

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::tc::{Form, Tail, Tc, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::Verdict;
use crate::parts::delay_pi::Gains;
use crate::parts::pie_rule::{Burst, Decay, Empty, Latency, Rule, Sleep, Spare};
use crate::parts::pie_state::PieState;
use crate::{params, probes};

params! {
    /// Knobs of PIE.
    pub struct Params {
        /// Delay that is aimed at.
        target: Span = Span::from_millis(15), in 1e-9 ..= 1e3, "QDELAY_REF", "RFC 8033 section 4.2";
        /// Time between updates of p.
        tupdate: Span = Span::from_millis(15), in 1e-6 ..= 1e3, "T_UPDATE", "RFC 8033 section 4.2";
        /// Integral gain in Hz: probability per second of delay above the target, each update.
        alpha: f64 = 0.125, in 0.0 ..= 1e6, "alpha", "RFC 8033 Appendix A";
        /// Proportional gain in Hz, on the growth of the delay.
        beta: f64 = 1.25, in 0.0 ..= 1e6, "beta", "RFC 8033 Appendix A";
        /// Gains divided by up to 2048 at low p.
        autotune: bool = true, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2";
        /// Which low delay makes p decay.
        decay: Decay = Decay::Zero, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2; Appendix B has half";
        /// What a decay leaves of p.
        decay_to: f64 = 0.98, in 0.0 ..= 1.0, "", "RFC 8033 section 4.2; 1 - 1/64 suffices";
        /// Whose delay, if below target/2, spares arrivals while p < 0.2.
        spare: Spare = Spare::Sample, in 0.0 ..= 1.0, "", "RFC 8033 section 4.1; Linux has latest";
        /// Arrivals that meet no more than this are spared; auto is twice the mean packet.
        min_backlog: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "2 MEAN_PKTSIZE", "RFC 8033 section 4.1";
        /// Burst allowance: nothing is dropped for so long after a time without congestion; 0 is none.
        max_burst: Span = Span::from_millis(150), in 0.0 ..= 1e3, "MAX_BURST", "RFC 8033 section 4.4";
        /// What uses the allowance up.
        burst: Burst = Burst::Timer, in 0.0 ..= 1.0, "burst_allowance_", "RFC 8033 section 4.4; Linux has departure";
        /// ECT packets are dropped too once p is no longer below this; 0 drops always.
        ecn_cut: f64 = 0.1, in 0.0 ..= 1.0, "mark_ecnth", "RFC 8033 section 5.1";
        /// How the delay is known.
        latency: Latency = Latency::Timestamp, in 0.0 ..= 1.0, "current_qdelay", "RFC 8033 sections 4.3 and 5.2";
        /// latency=rate: bytes over which the departure rate is measured.
        dq_threshold: Bytes = Bytes(16_384), in 1.0 ..= 65536.0, "DQ_THRESHOLD", "RFC 8033 section 5.2";
        /// latency=timestamp: the delay once a departure leaves nothing behind.
        empty: Empty = Empty::Zero, in 0.0 ..= 1.0, "", "Linux, ns-3; Appendix A of RFC 8033 has last";
        /// When PIE goes to sleep.
        sleep: Sleep = Sleep::Off, in 0.0 ..= 1.0, "active_", "RFC 8033 section 5.3, optional";
        /// Share of the buffer that wakes it up.
        wake_at: f64 = 1.0 / 3.0, in 0.0 ..= 1.0, "", "RFC 8033 section 5.3";
        /// Drops are neither too close nor too far apart.
        derandomise: bool = false, in 0.0 ..= 1.0, "accu_prob_", "RFC 8033 section 5.4, optional";
        /// From p = 0.1 on an update adds at most 0.02.
        cap: bool = false, in 0.0 ..= 1.0, "", "RFC 8033 section 5.5, optional";
        /// A delay above 250 ms adds 0.02 to each update.
        boost: bool = false, in 0.0 ..= 1.0, "", "Linux";
        /// Packets shorter than mtu meet p in proportion to their length.
        bytes: bool = false, in 0.0 ..= 1.0, "bytemode", "RFC 8033 Appendix B, optional; Linux";
        /// bytes=on: length from which on a packet meets all of p; auto is the mean packet.
        mtu: Auto<Bytes> = Auto::Auto, in 1.0 ..= 65536.0, "psched_mtu", "ours: Appendix B asks for a bound; Linux has the MTU";
    }
}

impl Params {
    /// What follows from them on `link`: one for all queues.
    pub fn rule(&self, link: &Link) -> Rule {
        let mean = link.mean_packet.0 as f64;
        Rule {
            gains: Gains::new(self.target, self.alpha, self.beta),
            period: self.tupdate,
            max_burst: self.max_burst,
            burst: self.burst,
            spare: self.spare,
            min_backlog: self.min_backlog.or(Depth::Bytes(2.0 * mean)),
            autotune: self.autotune,
            decay: self.decay,
            decay_to: self.decay_to,
            cap: self.cap,
            boost: self.boost,
            ecn_cut: self.ecn_cut,
            derandomise: self.derandomise,
            sleep: self.sleep,
            wake_at: self.wake_at,
            per_byte: self.bytes.then_some(self.mtu.or(link.mean_packet).0 as f64),
            latency: self.latency,
            dq_threshold: self.dq_threshold.0,
            empty: self.empty,
        }
    }
}

/// PIE of one queue.
pub struct Pie {
    rule: Rule,
    state: PieState,
    due: Instant,
}

impl Design for Pie {
    type Params = Params;
    const ABOUT: About = About {
        summary: "proportional-integral controller of the queuing delay, with gains that grow with p",
        source: "Pan, Natarajan, Baker, White: RFC 8033, sections 4 and 5, Appendices A and B",
        rule: "every tupdate:  p += (alpha (delay - target) + beta (delay - before)) / (2048 .. 1, by p);  p in 0..1\n\
               \u{20}               p *= 0.98 if delay = before = 0;  burst -= tupdate;  before = delay\n\
               arrival:        burst = max_burst if p = 0 and delay and before < target/2\n\
               \u{20}               pass if burst > 0, or before < target/2 and p < 0.2, or backlog <= 2 mean packets\n\
               \u{20}               if u < p: mark if ECT and p < ecn_cut, else drop\n\
               departure:      delay = its stay, or backlog times the measured time per byte\n\
               derandomise:    a += p;  pass if a < 0.85, drop if a >= 8.5, else u < p;  a = 0 after a drop or mark",
        deviations: &[
            "defaults are the basic PIE of Appendix A with ECN of section 5.1; each option of section 5 has its switch",
            "a departure that leaves the queue empty makes the delay 0, as in Linux and ns-3; by the letter of Appendix A \
             (empty=last) an idle queue keeps its last delay, and p goes on rising if that was long",
            "section 5.3 with Appendix B: it looks whether to sleep at updates, from the first one with a known delay on. \
             Appendix B looks at each arrival, also at the one that wakes it, and would never stay awake",
            "section 5.3 compares two samples with target/2 (sleep=half), Appendix B with 0 (sleep=zero); \
             section 4.2 lets p decay at two delays of 0, Appendix B below target/2 (decay=half)",
            "accu_prob_ begins anew after a mark as after a drop; Appendix B's indentation leaves that open, Linux and \
             ns-3 go on after a forced mark",
            "the departure rate is measured as in Appendix B; the listing of section 5.2 would measure every other time",
            "alpha and beta stay as given: section 4.2 advises to scale both as target shrinks, and to give half of alpha \
             with beta + alpha/4 at half of tupdate",
            "section 5.2's design for platforms that see arrivals alone is left out",
            "of Linux not: its integers, the first update after 0.5 s, that p does not decay while a delay of 0 stands \
             against a backlog, its mean of departure rates, that a measurement of theirs counts the departure that begins it, \
             marks at p = ecn_cut exactly",
            "of ns-3 not: its burst state, which renews the allowance only after 1.5 s without congestion and holds p \
             at 0 meanwhile, byte mode by the buffer's unit, u <= p",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc8033",
            settings: "target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=150ms ecn_cut=0.1 latency=timestamp \
                       sleep=off derandomise=off cap=off",
            source: "RFC 8033 section 4 and Appendix A, with ECN of section 5.1",
        },
        Preset {
            name: "rfc8033-full",
            settings: "target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=150ms ecn_cut=0.1 latency=rate \
                       dq_threshold=16384b sleep=half derandomise=on cap=on decay=half",
            source: "RFC 8033 section 5 and Appendix B: every option",
        },
        Preset {
            name: "linux",
            settings: "ecn=off hard_limit=1000p target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=150ms \
                       burst=departure spare=latest min_backlog=3027b decay_to=0.984375 derandomise=on cap=on boost=on \
                       mtu=1514b",
            source: "Linux net/sched/sch_pie.c, include/net/pie.h on Ethernet: fewer than 2 x 1514 bytes are spared",
        },
        Preset {
            name: "ns3",
            settings: "ecn=off hard_limit=25p target=15ms tupdate=15ms alpha=0.125 beta=1.25 max_burst=15ms \
                       min_backlog=2p derandomise=off cap=on",
            source: "ns-3 pie-queue-disc.cc: MaxBurstAllowance, MaxSize, UseCapDropAdjustment",
        },
    ];
    const TC: Option<Tc> = Some(Tc::new(
        "preset=linux",
        &[
            ("limit", sets(Form::Packets, "hard_limit").but_zero()),
            ("target", sets(Form::Time, "target").but_zero()),
            ("tupdate", sets(Form::Time, "tupdate").but_zero()),
            ("alpha", sets(Form::Count, "alpha").up_to(32).over(16).but_zero()),
            ("beta", sets(Form::Count, "beta").up_to(32).over(16).but_zero()),
            ("ecn", Tail::Flag("ecn=on")),
            ("noecn", Tail::Flag("ecn=off")),
            ("bytemode", Tail::Flag("bytes=on")),
            ("nobytemode", Tail::Flag("bytes=off")),
            ("dq_rate_estimator", Tail::Flag("latency=rate")),
            ("no_dq_rate_estimator", Tail::Flag("latency=timestamp")),
        ],
    ));

    fn build(params: &Params, link: &Link) -> Self {
        let rule = params.rule(link);
        Self { state: PieState::new(&rule), due: Instant::ZERO + rule.period, rule }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { state: self.state.clone(), due: self.due, ..Self::build(params, link) })
    }
}

impl Aqm for Pie {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.state.arrival(&self.rule, packet, level, cx)
    }

    #[inline]
    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.state.departure(&self.rule, packet, level, cx.now);
        Verdict::Accept
    }

    fn next_tick(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn tick(&mut self, level: &Level, cx: &mut Cx) {
        self.state.update(&self.rule, level.bytes(), cx.now);
        self.due = cx.now + self.rule.period;
    }
}

probes! { Pie {
    /// Signal probability.
    p ["1"] = |s| s.state.p();
    /// The latest queuing delay known.
    delay ["s"] = |s| s.state.delay();
    /// What is left of the burst allowance.
    burst ["s"] = |s| s.state.burst().secs();
    /// Probability accumulated since the last drop or mark.
    spacing ["1"] = |s| s.state.spacing();
    /// 1 while active.
    awake ["1"] = |s| f64::from(u8::from(s.state.is_awake()));
    /// Measured departure rate, 0 while unknown.
    rate ["bit/s"] = |s| s.state.rate();
} }
