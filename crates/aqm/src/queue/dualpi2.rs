//! DualPI2: two coupled queues; the AQM of the Classic queue is PI2 (RFC 9332 Appendix A).
//!
//! Packets of scalable senders (L4S) enter a separate queue (L). It is served first. It stays short, because its
//! packets are marked as soon as it grows. A PI controller of the queuing delay computes p'. Packets of the Classic
//! queue (C) are signalled with probability p'^2, L packets with at least k p'. This makes the rates of Classic and
//! scalable flows about equal.

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Order, Preset};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::{ListId, Port};
use crate::base::tc::{Form, Tail, Tc, sets};
use crate::base::time::{Instant, Span};
use crate::base::units::{Bytes, Link};
use crate::base::verdict::Verdict;
use crate::parts::coupled::{Coupling, Overload, Toss, ramp};
use crate::parts::delay_pi::{Base, Gains};
use crate::parts::dual::priority::{CLASSIC, LOW, Priority, Scheduler, age};
use crate::parts::dual::signals::{Class, DualAqm};
use crate::parts::dual::tc;
use crate::parts::dual::{Classifier, Coupled, Dual};
use crate::{params, probes};

params! {
    /// Parameters of DualPI2.
    pub struct Params {
        /// Target delay of the Classic queue.
        target: Span = Span::from_millis(15), in 1e-9 ..= 1e3, "target", "RFC 9332 Figure 2";
        /// Largest expected RTT; the automatic tupdate, alpha and beta are computed from it.
        rtt_max: Span = Span::from_millis(100), in 1e-6 ..= 1e3, "RTT_max", "RFC 9332 Figure 2";
        /// Time between updates of p'; auto: min(target, rtt_max/3).
        tupdate: Auto<Span> = Auto::Auto, in 1e-6 ..= 1e3, "Tupdate", "RFC 9332 Figure 2";
        /// Integral gain in Hz; auto: 0.1 tupdate/rtt_max^2.
        alpha: Auto<f64> = Auto::Auto, in 0.0 ..= 1e6, "alpha", "RFC 9332 Figure 2";
        /// Proportional gain in Hz; auto: 0.3/rtt_max.
        beta: Auto<f64> = Auto::Auto, in 0.0 ..= 1e6, "beta", "RFC 9332 Figure 2";
        /// Coupling factor.
        k: f64 = 2.0, in 0.1 ..= 100.0, "k", "RFC 9332 section 2.5.1 and Figure 2";
        /// Sojourn time from which L packets are marked.
        min_th: Span = Span::from_micros(800), in 0.0 ..= 1e3, "minTh", "RFC 9332 Figure 2";
        /// Width of the ramp from min_th to certain marking of L packets; 0: a step.
        range: Span = Span::from_micros(400), in 0.0 ..= 1e3, "range", "RFC 9332 Figure 2";
        /// No marking by sojourn time while the L queue holds at most this many packets, the departing one included.
        th_len: u32 = 1, in 0.0 ..= 1000000.0, "Th_len", "RFC 9332 Figure 2 and Appendix A.2";
        /// How a probability is turned into signals.
        toss: Toss = Toss::Accumulate, in 0.0 ..= 1.0, "recur", "RFC 9332 Figure 4; Linux: at random";
        /// Reaction to overload, when marks alone cannot control the load.
        overload: Overload = Overload::Drop, in 0.0 ..= 1.0, "", "RFC 9332 section 4.2.3; Linux: drop_overload";
        /// overload=drop: Classic probability from which ECN is disabled in the C queue; auto: min(1/k^2, 1).
        p_cmax: Auto<f64> = Auto::Auto, in 0.0 ..= 1.0, "p_Cmax", "RFC 9332 Figure 2 and Appendix A.2";
        /// A packet is not signalled because of p' if both queues together hold fewer bytes than this after its
        /// departure.
        min_backlog: Bytes = Bytes(0), in 0.0 ..= 1e9, "2 MTU", "Linux; RFC 9332 Appendix A.1 mentions it";
        /// Scheduler that limits the L queue's priority.
        scheduler: Scheduler = Scheduler::Wrr, in 0.0 ..= 1.0, "", "RFC 9332 Appendix A.2 and section 4.2.2";
        /// scheduler=wrr: the C queue's share of the link while both queues hold packets.
        weight: f64 = 0.0625, in 0.0 ..= 1.0, "", "RFC 9332 section 4.2.2: 1/16";
        /// scheduler=ts-fifo: time shift in favour of the L queue.
        tshift: Span = Span::from_millis(50), in 0.0 ..= 1e3, "tshift", "RFC 9332 Appendix A.2";
        /// L4S support; off: all packets enter the C queue, and ECT(1) is treated as Not-ECT.
        l4s: bool = true, in 0.0 ..= 1.0, "", "RFC 9331 section 5.1";
        /// Class whose packets enter the L queue, independent of their ECN field.
        l_class: Class = Class::Off, in 0.0 ..= 255.0, "", "RFC 9332 sections 2.3 and 2.5.2.1: operator's classifier";
        /// Class whose packets enter the C queue, independent of their ECN field.
        c_class: Class = Class::Off, in 0.0 ..= 255.0, "", "RFC 9332 sections 2.3 and 2.5.2.1: operator's classifier";
        /// Another mechanism polices Not-ECT packets of the L queue: this AQM leaves them alone.
        protected: bool = false, in 0.0 ..= 1.0, "", "RFC 9332 section 2.5.1.1";
    }
}

/// Smallest automatic tupdate, so that time advances between updates: our choice.
const SHORTEST: Span = Span::from_micros(1);

/// State of DualPI2.
pub type DualPi2 = Dual<Pi>;

/// The PI controller of the queuing delay, and the coupled signals.
pub struct Pi {
    params: Params,
    period: Span,
    due: Instant,
    base: Base,
    aqm: DualAqm,
    /// Probability from the sojourn time of the latest L packet.
    native: f64,
}

impl Coupled for Pi {
    /// Figure 7: the verdict on `packet`, still the head of `list`.
    fn judge(&mut self, list: ListId, packet: &Packet, port: &Port, cx: &mut Cx) -> Verdict {
        let u = [cx.rng.uniform(), cx.rng.uniform()];
        let Params { min_backlog, th_len, min_th, range, .. } = self.params;
        let few = port.bytes() - u64::from(packet.len) < min_backlog.0;
        if list == LOW {
            let long = port.level(LOW).pkts() > th_len;
            self.native = if long { ramp(cx.now.since(packet.arrived), min_th, range) } else { 0.0 };
        }
        let p = if few { 0.0 } else { self.base.p() };
        self.aqm.verdict(list, packet, port.marks(packet), p, self.native, u)
    }

    fn due(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn tick(&mut self, port: &Port, now: Instant) {
        self.base.update(age(port, CLASSIC, now).max(age(port, LOW, now)).secs());
        self.due = now + self.period;
    }

    fn after(self, before: &Self) -> Self {
        let Self { due, native, .. } = *before;
        Self { base: self.base.after(&before.base), aqm: self.aqm.after(&before.aqm), due, native, ..self }
    }
}

impl Design for DualPi2 {
    type Params = Params;
    const ABOUT: About = About {
        summary: "two queues coupled by a square: a short one for scalable senders, PI2 for Classic senders",
        source: "De Schepper, Briscoe, White: RFC 9332, sections 2 and 4.2, Appendix A",
        rule: "arrival:        ECT(1) and CE to L, the rest to C\n\
               every tupdate:  delay = that of the older head;  p' += alpha (delay - target) + beta (delay - before)\n\
               departure:      L first, within the scheduler's limit\n\
               \u{20}               L: k p' < 1:  mark with max(ramp of its sojourn time, k p')\n\
               \u{20}                  else:      drop with p'^2, mark the rest\n\
               \u{20}               C: with p'^2:  mark if ECT and p'^2 < p_cmax, else drop",
        deviations: &[
            "the buffer differs from the RFC: it is the link's, and a packet is accepted if it fits; the RFC has 250 \
             ms and leaves room for one MTU",
            "p_CL differs from the RFC: it is at most 1; in the RFC k p' rises to k, and because drops and marks \
             share one accumulator, more than p'^2 of the L packets would be dropped: 47 % instead of 36 % at p' = \
             0.6",
            "p_cmax below 1/k^2, as in Figure 7: ECT packets of the C queue are dropped from p_cmax on, L4S packets \
             from k p' >= 1 on; the prose of section 2.5.1.1, Appendix A.2 and RFC 9331 section 5.1 starts both at \
             p_Cmax",
            "the delay of an L packet is its own sojourn time, as in Note a of Appendix A.1",
            "th_len is compared with the L queue including the departing packet, as the RFC's note on the last packet \
             of a burst implies",
            "ECN off: L packets cannot be marked and are dropped with (p_L/k)^2, like Not-ECT packets",
            "WRR is Linux's credit scheme, with the mean packet as MTU",
            "preset=linux differs from Linux: floating-point; Linux has 32-bit integers and gains in steps of 1/256",
            "preset=linux differs from Linux: the step marks at >=, not >",
            "preset=linux differs from Linux: not implemented are drops at arrival, the memory limit, GSO splitting \
             and a third packet class",
            "th_len differs from Linux's min_qlen_step, which sets it: th_len is the RFC's, tested at departure, and \
             exempts the last packet of a burst; Linux tests at arrival and exempts the first",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "rfc9332",
            settings: "target=15ms rtt_max=100ms tupdate=auto alpha=auto beta=auto k=2 min_th=800us range=400us \
                       th_len=1 toss=accumulate overload=drop p_cmax=auto min_backlog=0b scheduler=wrr weight=0.0625",
            source: "RFC 9332 Figures 2, 7 and 8; the weight of section 4.2.2",
        },
        Preset {
            name: "linux",
            settings: "hard_limit=10000p target=15ms tupdate=16ms alpha=0.16 beta=3.2 k=2 min_th=1ms range=0s th_len=0 \
                       toss=random overload=drop p_cmax=auto min_backlog=3028b scheduler=wrr weight=0.1",
            source: "Linux net/sched/sch_dualpi2.c on Ethernet: 2 x 1514 bytes",
        },
    ];
    const TC: Option<Tc> = Some(Tc {
        defaults: "preset=linux",
        groups: &[&[
            ("limit", sets(Form::DecimalPackets, "hard_limit").but_zero()),
            ("memlimit", Tail::Ignored(Form::DecimalBytes, "packets take their length in memory")),
            ("coupling_factor", sets(Form::Count, "k").up_to(255).tail()),
            ("step_thresh", Tail::Late(Form::TimeOrPackets)),
            ("min_qlen_step", Tail::Late(Form::DecimalPackets)),
            ("drop_on_overload", Tail::Flag("overload=drop")),
            ("overflow", Tail::Flag("overload=delay")),
            ("drop_dequeue", Tail::Moot("always so here")),
            ("drop_enqueue", Tail::Refused("p' is applied at departure")),
            ("l4s_ect", Tail::Moot("always so here")),
            ("any_ect", Tail::Refused("ECT(0) goes to the C queue; pi2 has scalable=ect")),
            ("split_gso", Tail::Moot("there is no GSO here")),
            ("no_split_gso", Tail::Moot("there is no GSO here")),
            ("classic_protection", sets(Form::Percent, "weight").over(100).tail()),
            ("max_rtt", Tail::Late(Form::Time)),
            ("typical_rtt", Tail::Late(Form::Time)),
            ("target", sets(Form::Time, "target").but_zero()),
            ("tupdate", sets(Form::Time, "tupdate").but_zero()),
            ("alpha", sets(Form::Gain, "alpha").tail()),
            ("beta", sets(Form::Gain, "beta").tail()),
        ]],
        needs: &[],
        together: Some(tc::together),
        late: Some(tc::late),
    });
    const ORDER: Order = Order::Lists(2);

    fn build(params: &Params, link: &Link) -> Self {
        let Params { target, rtt_max, k, overload, toss, .. } = *params;
        let third = Span::from_secs(rtt_max.secs() / 3.0);
        let period = params.tupdate.or(target.min(third).max(SHORTEST));
        let alpha = params.alpha.or(0.1 * period.secs() / (rtt_max.secs() * rtt_max.secs()));
        let beta = params.beta.or(0.3 / rtt_max.secs());
        let coupling = Coupling { k, curve: 1, p_cmax: params.p_cmax.or(Coupling::p_cmax(k, 1)), overload };
        let Params { l4s, l_class, c_class, .. } = *params;
        let rule = Pi {
            period,
            due: Instant::ZERO + period,
            base: Base::new(Gains::new(target, alpha, beta), coupling.most()),
            aqm: DualAqm::new(coupling, toss, l4s, params.protected),
            native: 0.0,
            params: params.clone(),
        };
        let priority = Priority::new(params.scheduler, params.weight, params.tshift, link.mean_packet);
        Self::new(rule, Classifier { l4s, l_class, c_class }, priority)
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self::build(params, link).after(self))
    }
}

probes! { DualPi2 {
    /// Base probability p'; Classic packets are subject to its square.
    p ["1"] probability = |s| s.rule().base.p();
    /// The longer of the two queuing delays at the last update.
    delay ["s"] = |s| s.rule().base.delay();
    /// Probability from the sojourn time of the latest L packet.
    p_l ["1"] probability = |s| s.rule().native;
    /// Probability for Classic packets.
    p_c ["1"] probability = |s| s.rule().base.p() * s.rule().base.p();
    /// Coupled probability for L packets.
    p_cl ["1"] probability = |s| s.rule().aqm.coupling.linear(s.rule().base.p());
    /// 1 in overload: L packets are dropped too.
    overload ["1"] switch = |s| f64::from(u8::from(s.rule().aqm.coupling.is_saturated(s.rule().base.p())));
    /// scheduler=wrr: credit of the C queue.
    credit ["bytes"] signed = |s| s.priority().credit();
    /// Amount accumulated towards the C queue's next signal.
    count_c ["1"] = |s| s.rule().aqm.counts()[0];
    /// Amount accumulated towards the L queue's next signal.
    count_l ["1"] = |s| s.rule().aqm.counts()[1];
} then Priority = |s| s.priority() }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::{self, us as at};

    /// 8 Mb/s: a packet of 1000 bytes takes 1 ms.
    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100_000), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<DualPi2> {
        by_hand::queue(settings, LINK, true)
    }

    fn packet(ecn: Ecn) -> Packet {
        Packet { len: 1000, ecn, ..Packet::default() }
    }

    #[test]
    fn default_pi_gains_follow_largest_expected_rtt() {
        // 0.1 x 15 ms/(100 ms)^2 = 0.15 Hz and 0.3/100 ms = 3 Hz: (35 - 15) ms and 35 ms.
        let p = |settings: &str| {
            let mut queue = queue(settings);
            queue.arrive(packet(Ecn::NotEct), at(0));
            queue.tick(at(35_000));
            (queue.discipline().rule().base.p(), queue.discipline().rule().period)
        };
        let (p_default, period) = p("");
        assert!((p_default - (0.15 * 0.020 + 3.0 * 0.035)).abs() < 1e-12 && period == Span::from_millis(15));
        let (p_short, period) = p("rtt_max=30ms"); // 10 ms: 1.11 Hz and 10 Hz
        assert!((p_short - (0.1 * 0.01 / 0.0009 * 0.020 + 10.0 * 0.035)).abs() < 1e-12);
        assert_eq!(period, Span::from_millis(10));
        assert!((p("alpha=1 beta=0 tupdate=16ms").0 - 0.020).abs() < 1e-12);
    }

    #[test]
    fn delay_follows_the_older_head_of_both_queues() {
        for (first, second) in [(Ecn::NotEct, Ecn::Ect1), (Ecn::Ect1, Ecn::NotEct)] {
            let mut queue = queue("");
            queue.arrive(packet(first), at(0));
            queue.arrive(packet(second), at(10_000));
            queue.tick(at(15_000));
            assert_eq!(queue.discipline().rule().base.delay(), 0.015);
        }
    }

    #[test]
    fn single_packet_is_never_marked_by_sojourn_time() {
        let marks = |settings: &str, n: u64| {
            let mut queue = queue(settings);
            (0..n).for_each(|_| queue.arrive(packet(Ecn::Ect1), at(0)));
            while queue.depart(at(2000)).is_some() {}
            queue.port.tally().marked.pkts
        };
        // The accumulator must exceed 1: the first packet with probability 1 is not marked.
        assert_eq!([marks("", 1), marks("", 2), marks("", 5)], [0, 0, 3], "the last of a burst is exempt");
        assert_eq!([marks("th_len=0", 1), marks("th_len=0", 5)], [0, 4]);
        assert_eq!(marks("th_len=0 toss=random", 5), 5);
    }

    #[test]
    fn below_min_backlog_only_sojourn_time_causes_marks() {
        let marks = |settings: &str| {
            let mut queue = queue(&alloc::format!("toss=random alpha=50 beta=0 {settings}"));
            (0..10).for_each(|_| queue.arrive(packet(Ecn::Ect1), at(0)));
            queue.tick(at(25_000)); // p' = 0.5
            while queue.depart(at(25_000)).is_some() {}
            queue.port.tally().marked.pkts + queue.port.tally().dropped_early.pkts
        };
        assert_eq!(marks("min_th=1s"), 10);
        assert_eq!(marks("min_th=1s min_backlog=3028b"), 6, "those that leave four packets or more");
        assert_eq!(marks("min_backlog=3028b th_len=0"), 10);
    }
}
