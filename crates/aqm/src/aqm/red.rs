//! RED: drops begin early and at random, by the average queue (Floyd and Jacobson 1993).
//!
//! A slow average lets bursts through and answers standing queues. Between two thresholds its excess
//! sets a probability, spread so that the gaps between drops come out even; above the upper one the
//! gentle form climbs on to 1 at twice that threshold. The details
//! are ns-2.35's, or those of the paper, or Linux's.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::ladder::{Aqm, BareLaw, Fluid, Sample};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::tc::{Form, Tail, Tc, sets};
use crate::base::time::Span;
use crate::base::units::{Bytes, Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::early::{Config, Early};
use crate::parts::red_auto::{AutoWeight, Known, TARGET_DELAY};
use crate::parts::red_tc;
use crate::parts::spacing::Rule;
use crate::{params, probes};

params! {
    /// Knobs of RED.
    pub struct Params {
        /// Whose listing, where they differ: idle time, the count, what an automatic value is.
        rule: Rule = Rule::Ns2, in 0.0 ..= 1.0, "", "ns-2.35; the paper, section IV; Linux net/red.h";
        /// Average below which nothing happens; auto: ns-2's max(5, 5 ms of packets / 2), paper's 5, tc's max_th/3.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "ns-2.35 thresh_; tc min";
        /// Average at which the probability reaches max_p; auto is 3 min_th, at least a packet above min_th; tc: limit/4.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "ns-2.35 maxthresh_; tc max";
        /// Probability at max_th.
        max_p: f64 = 0.1, in 0.0 ..= 1.0, "max_p", "ns-2.35 1/linterm_; tc probability";
        /// Weight of the queue met by an arrival in the average; auto: by auto_w, paper's 0.002, tc's by burst.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "ns-2.35 q_weight_";
        /// rule=ns2: what an automatic w_q remembers.
        auto_w: AutoWeight = AutoWeight::Rtts, in 0.0 ..= 1.0, "", "ns-2.35 q_weight_ = -1, 0, -2";
        /// rule=ns2: the link's propagation delay, which makes the round trips of auto_w=rtts longer than 100 ms.
        delay: Span = Span::ZERO, in 0.0 ..= 10.0, "delay", "ns-2.35 has the link's own";
        /// rule=linux: packets of a burst that an automatic w_q lets through; auto is (2 min_th + max_th)/3.
        burst: Auto<u32> = Auto::Auto, in 0.0 ..= 1e6, "burst", "tc burst";
        /// Packet size that turns bytes into packets; auto is the scenario's packet.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize_", "ns-2.35 has 500 whatever the traffic; tc avpkt";
        /// Above max_th, climb to 1 at 2 max_th instead of jumping there.
        gentle: bool = true, in 0.0 ..= 1.0, "gentle", "Floyd 2000; ns-2.35 default";
        /// After a drop, wait 1/p packets before the next may come.
        wait: bool = true, in 0.0 ..= 1.0, "wait", "ns-2.35 default";
        /// Byte mode: a packet counts by its length over the mean.
        bytes: bool = false, in 0.0 ..= 1.0, "bytes", "ns-2.35 has it on since 2004, RFC 7141 advises off";
        /// An idle link lets the average decay.
        idle: bool = true, in 0.0 ..= 1.0, "m", "the paper, section IV; ns-2.35, Linux";
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

/// What RED and its relatives refuse: thresholds that contradict each other, and options that a listing has not.
pub fn consistent(
    (min_th, max_th): (Auto<Depth>, Auto<Depth>),
    rule: Rule,
    (wait, bytes, use_mark_p): (bool, bool, bool),
) -> Result<(), String> {
    match (min_th, max_th) {
        (Auto::Given(Depth::Packets(_)), Auto::Given(Depth::Bytes(_)))
        | (Auto::Given(Depth::Bytes(_)), Auto::Given(Depth::Packets(_))) => {
            return Err("min_th and max_th both in packets, or both in bytes".to_string());
        }
        (Auto::Given(min), Auto::Given(max)) if min.value() >= max.value() => {
            return Err("min_th below max_th".to_string());
        }
        (Auto::Auto, Auto::Given(max)) if max.value() <= 0.0 => return Err("max_th above 0".to_string()),
        _ => {}
    }
    match rule {
        Rule::Linux if wait || bytes => Err("rule=linux with wait=off and bytes=off: preset=linux".to_string()),
        Rule::Linux | Rule::Paper if use_mark_p => Err("use_mark_p=off unless rule=ns2".to_string()),
        _ => Ok(()),
    }
}

/// State of RED.
pub struct Red {
    early: Early,
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
               use_mark_p:  never drop for avg alone;  signal: mark only if p_b < mark_p, else drop\n\
               paper:    idle: avg = (1-w)^m avg;  avg < min: count = -1;  else count += 1, u < p_a: mark or drop\n\
               linux:    idle and count like that;  count = 0: r = u;  count p_b >= r: mark or drop, count = 0, r = u",
        deviations: &[
            "u < p for ns-2's u <= p; one u is drawn at every arrival",
            "an automatic w_q takes a delay of 0 unless it is given",
            "an automatic min_th is at most a third of a given max_th, an automatic max_th at least a packet above \
             a given min_th; ns-2 lets them cross",
            "use_mark_p is off unless preset=ns2: a high average drops all, below it ECT packets are always marked",
            "an empty queue polled again stays idle since the first time; ns-2 restarts its idle time",
            "'q <= 1' is in the unit of the thresholds, as in ns-2: in bytes it means an empty queue",
            "ns-2's experiments cautious_ and idle_pktsize_ are left out, and so are drop_front_ and drop_rand_: \
             the arriving packet is dropped",
            "ns-2's buffer in bytes takes a packet while anything is free of it; here it must fit",
            "rule=paper: an idle time is one without anything to send, the packet in transmission counted; \
             byte mode weighs by the mean packet, not the largest",
            "rule=linux: exact numbers; the kernel's average, thresholds and random numbers are integers",
            "rule=linux: an idle average decays by (1-w)^m; the kernel looks m up in 256 steps of whole powers of 2, \
             and tc fills that table in its own units of time",
            "rule=linux: adaptive is ared's; bandwidth is the link's; limit is the link's buffer, or hard_limit; \
             a burst that tc refuses is taken as min_th",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns2",
            settings: "rule=ns2 ecn=off min_th=auto max_th=auto max_p=0.1 w_q=auto auto_w=rtts mean_packet=500b gentle=on \
                       wait=on bytes=on idle=on harddrop=on nodrop=off use_mark_p=on mark_p=0.1",
            source: "ns-2.35 defaults: queue and drops in bytes, drops instead of marks",
        },
        Preset {
            name: "paper",
            settings: "rule=paper ecn=off min_th=5p max_th=15p max_p=0.02 w_q=0.002 gentle=off wait=off bytes=off idle=on \
                       harddrop=off nodrop=off use_mark_p=off",
            source: "Floyd, Jacobson 1993: Fig. 2, sections IV and VIII",
        },
        Preset {
            name: "linux",
            settings: "rule=linux ecn=off min_th=auto max_th=auto max_p=0.02 w_q=auto burst=auto gentle=off wait=off \
                       bytes=off idle=on harddrop=off nodrop=off use_mark_p=off",
            source: "Linux sch_red.c and red.h, tc's defaults; ecn=on, harddrop=on, nodrop=on are tc's words",
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
        ],
        needs: &["limit", "avpkt"],
        together: Some(red_tc::red),
    });

    fn check(params: &Params) -> Result<(), String> {
        let &Params { min_th, max_th, rule, wait, bytes, use_mark_p, .. } = params;
        consistent((min_th, max_th), rule, (wait, bytes, use_mark_p))
    }

    fn build(params: &Params, link: &Link) -> Self {
        let &Params { rule, min_th, max_th, bytes, w_q, auto_w, delay, burst, .. } = params;
        let mean_packet = params.mean_packet.or(link.mean_packet);
        let known = Known { rule, min_th, max_th, bytes, target: TARGET_DELAY, w_q, auto_w, delay, burst, mean_packet };
        let &Params { max_p, gentle, wait, idle, harddrop, nodrop, .. } = params;
        let mark_p = params.use_mark_p.then_some(params.mark_p);
        let config = Config { known, max_p, gentle, wait, idle, harddrop, nodrop, mark_p };
        Self { early: Early::new(config, link) }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { early: Self::build(params, link).early.after(&self.early)? })
    }

    fn fluid(params: &Params, link: &Link) -> Option<Box<dyn BareLaw>> {
        let mut early = Self::build(params, link).early;
        let p = move |sample: &Sample| early.flow(sample.backlog(early.unit()), sample.period.offered.pkts);
        Some(Box::new(Fluid::new(p)))
    }
}

impl Aqm for Red {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.early.arrival(packet, level, cx, |_, _| ())
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

probes! { Red {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.early.average().value();
    /// Base probability p_b, before it is spread.
    p ["1"] = |s| s.early.p();
    /// Packets since the last signal.
    count ["packets"] = |s| s.early.count();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::droptail::DropTail;
    use crate::base::packet::Ecn;
    use crate::base::params::ParamSet;
    use crate::base::port::{MAIN, Port};
    use crate::base::rng::Rng;
    use crate::base::time::Instant;
    use crate::base::units::{Limit, Rate};

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };

    fn params(settings: &str) -> Params {
        let mut params = Params::default();
        for (key, value) in settings.split_whitespace().filter_map(|word| word.split_once('=')) {
            params.set(key, value).unwrap().unwrap();
        }
        params
    }

    /// Verdicts on arrivals of ECN-capable and other packets, in turn, at a standing queue of `q` packets, with ECN,
    /// thresholds 5 and 15, no memory. From p_b = 0.5 on, at q = 10, every packet but the first is signalled.
    fn verdicts<const N: usize>(q: u32, settings: &str) -> [Verdict; N] {
        let params = params(&alloc::format!("min_th=5p max_th=15p max_p=1 w_q=1 wait=off {settings}"));
        Red::check(&params).unwrap();
        let mut port = Port::new(LINK, 1, true);
        let packet = Packet { len: 500, ..Packet::default() };
        let mut rng = Rng::stream(1, "red");
        let mut cx = Cx { now: Instant::ZERO, rng: &mut rng };
        for _ in 0..q {
            port.admit(MAIN, packet, Verdict::Accept, &mut DropTail, &mut cx);
        }
        let mut red = Red::build(&params, &LINK);
        core::array::from_fn(|i| {
            let ecn = if i % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            red.arrival(&Packet { ecn, ..packet }, &port.level(MAIN), &mut cx)
        })
    }

    use Verdict::{Accept, Drop, Signal};

    #[test]
    fn first_arrival_above_min_th_passes_and_twice_max_th_forces() {
        assert_eq!(verdicts(4, ""), [Accept; 3]);
        assert_eq!(verdicts(10, ""), [Accept, Signal, Signal]);
        assert_eq!(verdicts(15, ""), [Accept, Signal, Signal]);
        assert_eq!(verdicts(15, "gentle=off"), [Drop; 3]);
        assert_eq!(verdicts(29, ""), [Accept, Signal, Signal]);
        assert_eq!(verdicts(30, ""), [Drop; 3]);
        assert_eq!(verdicts(1, "min_th=0p max_th=1p"), [Accept; 3], "nothing happens to one that meets one packet");
        // ns-2's late rule: the average never forces; from p_b = 0.9, at 14 packets, marks become drops.
        assert_eq!(verdicts(13, "use_mark_p=on mark_p=0.9"), [Accept, Signal, Signal]);
        assert_eq!(verdicts(14, "use_mark_p=on mark_p=0.9"), [Accept, Drop, Drop]);
        assert_eq!(verdicts(99, "use_mark_p=on mark_p=0.9 gentle=off"), [Accept, Drop, Drop]);
    }

    #[test]
    fn tcs_words_decide_what_a_signal_is() {
        assert_eq!(verdicts(10, "nodrop=on"), [Accept, Accept, Signal, Accept, Signal], "only marks");
        assert_eq!(verdicts(30, "nodrop=on"), [Drop; 3]);
        assert_eq!(verdicts(30, "harddrop=off"), [Signal; 3]);
        assert_eq!(verdicts(30, "harddrop=off nodrop=on"), [Signal, Accept, Signal]);
    }

    #[test]
    fn the_paper_and_linux_do_not_average_the_arrival_that_ends_an_idle_time() {
        for rule in ["paper", "linux"] {
            let forced = alloc::format!("rule={rule} harddrop=off gentle=off");
            assert_eq!(verdicts(15, &forced), [Accept, Signal, Signal, Signal], "{rule}");
            assert_eq!(
                verdicts(1, &alloc::format!("{forced} min_th=0p max_th=1p")),
                [Accept, Signal, Signal],
                "{rule}"
            );
        }
        // 14 packets, p_b = 0.9: the first draws the gap, which is over after at most two more.
        let [_, first, a, b, ..] = verdicts::<5>(14, "rule=linux");
        assert_eq!((first, [a, b].contains(&Signal)), (Accept, true));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let check = |settings: &str| Red::check(&params(settings));
        assert!(check("min_th=5p max_th=15p").is_ok());
        assert!(check("min_th=15p max_th=5p").is_err());
        assert!(check("min_th=5p max_th=15kb").is_err());
        assert!(check("min_th=auto max_th=15kb").is_ok());
        assert!(check("min_th=auto max_th=0p").is_err());
        assert!(check("min_th=0p max_th=auto").is_ok());
        assert!(check("rule=linux wait=off").is_ok());
        assert!(check("rule=linux wait=on").is_err() && check("rule=linux wait=off bytes=on").is_err());
        assert!(check("rule=paper bytes=on").is_ok() && check("rule=paper use_mark_p=on").is_err());
    }

    #[test]
    fn tcs_words_are_read() {
        let words =
            "red limit 120000 min 10000 max 30000 avpkt 500 burst 20 probability 0.05 bandwidth 10mbit ecn harddrop";
        let ours = "red preset=linux hard_limit=120000b min_th=10000b max_th=30000b mean_packet=500b burst=20 max_p=0.05 \
                    ecn=on harddrop=on";
        let canonical = |text| crate::Spec::parse(text).unwrap().canonical();
        assert_eq!(canonical(words), canonical(ours));
        assert!(canonical("ared limit 120000 avpkt 500 adaptive ecn nodrop").contains("nodrop=on"));
    }
}
