//! CHOKe: RED that also compares an arrival with a queued packet selected at random (Pan, Prabhakar, Psounis 2000).
//!
//! If both are of the same flow, both are dropped. The more of the buffer a flow holds, the more likely its arrivals
//! match. This limits unresponsive flows without per-flow state. The file `choke/linux.rs` has CHOKe in Linux's integers.

mod linux;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};

use crate::aqm::backlog::red::{Average, Rule, Spacing, tc_weight};
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{Aqm, Discipline};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::{MAIN, Port};
use crate::base::tc::{Form, Tail, Tc, sets};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Reason, Verdict};
use crate::parts::kernel_red::{KernelRed, Settings};
use crate::parts::red_tc;
use crate::queue::choke::linux::Linux;
use crate::{choice, params, probes};

choice! {
    /// How RED spaces its signals.
    pub enum Spread {
        /// A random number per arrival, compared with p_b/(1 - count p_b): the equations of RED.
        Each = "each",
        /// A random number per gap, compared with count p_b: the algorithm of RED's Fig. 17. All of CHOKe is then that of
        /// Linux 6.12 in the kernel's integers, packet by packet.
        Once = "once",
    }
}

params! {
    /// Parameters of CHOKe.
    pub struct Params {
        /// Up to this average all packets are accepted; auto: a third of max_th.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "tc choke";
        /// Above this average all packets are signalled; auto: a quarter of the buffer, or 3 min_th if min_th is at
        /// least a quarter of the buffer.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "tc choke";
        /// Probability at max_th.
        max_p: f64 = 0.02, in 0.0 ..= 1.0, "max_p", "tc choke: probability";
        /// Weight of a new queue sample in the average; auto: computed from burst as in tc. spacing=once rounds it to a
        /// power of 2.
        w_q: Auto<f64> = Auto::Auto, in 1e-9 ..= 1.0, "w_q", "tc choke";
        /// Burst size in packets that an automatic w_q accepts; auto: (2 min_th + max_th)/3.
        burst: Auto<u32> = Auto::Auto, in 0.0 ..= 1e6, "burst", "tc choke";
        /// How the signals are spaced; once: as Linux 6.12, in all of CHOKe.
        spacing: Spread = Spread::Each, in 0.0 ..= 1.0, "", "'as in RED': Floyd and Jacobson have both";
    }
}

/// Divisors for automatic thresholds, as in tc: max_th is the buffer / the first, min_th is max_th / the second.
const PARTS: (f64, f64) = (4.0, 3.0);

/// CHOKe's RED; lengths, thresholds and average in one unit.
struct Red {
    min_th: Depth,
    max_th: f64,
    max_p: f64,
    average: Average,
    spacing: Spacing,
    /// Base probability of the latest arrival.
    p: f64,
}

impl Red {
    /// max_p (avg - min)/(max - min) between the thresholds.
    fn base_probability(&self, avg: f64) -> f64 {
        let min_th = self.min_th.value();
        self.max_p * (avg - min_th) / (self.max_th - min_th)
    }

    /// Whether an arrival of `len` bytes at average `avg` is signalled; `u` is its random number.
    fn signals(&mut self, avg: f64, len: u32, u: f64) -> bool {
        if avg > self.max_th {
            self.p = 1.0;
            self.spacing.forced();
            return true;
        }
        let p_b = (avg > self.min_th.value()).then(|| self.base_probability(avg));
        self.p = p_b.unwrap_or(0.0);
        self.spacing.arrival(p_b, len, u)
    }
}

impl Aqm for Red {
    fn emptied(&mut self, cx: &mut Cx) {
        self.average.emptied(cx.now);
    }
}

/// State of CHOKe.
pub struct Choke {
    red: Red,
    /// The flows of the queued packets in FIFO order: the queue itself is a linked list without random access.
    flows: VecDeque<u32>,
    matched: u64,
    /// spacing=once: Linux's CHOKe, which then decides alone.
    linux: Option<Box<Linux>>,
}

impl Choke {
    /// Selects a queued packet at random. Drops it if it has the same flow as `packet`. Returns whether it was dropped.
    fn drops_its_like(&mut self, packet: &Packet, port: &mut Port, cx: &mut Cx) -> bool {
        let place = cx.rng.below(self.flows.len() as u64) as usize;
        if self.flows.get(place) != Some(&packet.flow) {
            return false;
        }
        self.flows.remove(place);
        port.drop_at(MAIN, place as u32, Reason::Early, &mut self.red, cx);
        self.matched += 1;
        true
    }
}

/// min_th and max_th, in the unit of the one that is given, or in packets if both are auto.
fn thresholds(params: &Params, link: &Link) -> (Depth, f64) {
    let unit = match (params.min_th, params.max_th) {
        (Auto::Given(depth), _) | (_, Auto::Given(depth)) => depth,
        _ => Depth::Packets(0.0),
    };
    let quarter = match unit {
        Depth::Packets(_) => link.limit_pkts() / PARTS.0,
        Depth::Bytes(_) => link.limit_bytes() / PARTS.0,
    };
    let auto_max = match params.min_th {
        Auto::Given(min) if min.value() >= quarter => PARTS.1 * min.value(),
        _ => quarter,
    };
    let max = params.max_th.or(unit.with(auto_max)).value();
    (params.min_th.or(unit.with(max / PARTS.1)), max)
}

/// The given value of a parameter.
const fn given<T: Copy>(value: Auto<T>) -> Option<T> {
    match value {
        Auto::Auto => None,
        Auto::Given(value) => Some(value),
    }
}

impl Design for Choke {
    type Params = Params;
    const ABOUT: About = About {
        summary: "RED, plus: an arrival and a random queued packet of the same flow are both dropped",
        source: "Pan, Prabhakar, Psounis: CHOKe, a Stateless Active Queue Management Scheme for Approximating Fair \
                 Bandwidth Allocation, INFOCOM 2000; Linux sch_choke",
        rule: "arrival:  avg = (1-w) avg + w q;  after m packet times idle  avg = (1-w)^m avg\n\
               \u{20}         avg <= min: accept, else select a queued packet:  same flow: drop both\n\
               \u{20}         avg > max: mark or drop;  p_b = max_p (avg - min)/(max - min)\n\
               \u{20}         each: if u < p_b/(1 - count p_b):  mark or drop, count = 0\n\
               \u{20}         once: if count p_b >= r:  mark or drop, count = 0, r = u",
        deviations: &[
            "spacing=each: random numbers are ours: two are drawn at every arrival, needed or not",
            "spacing=once: as Linux 6.12 packet by packet with thresholds in packets, a buffer in packets and tc's \
             parameters. It draws random numbers of 32 bits where the kernel does, above min_th and in this order: up to \
             three for a queued packet, each repeated if that needs an unbiased number; then one for RED if no packet \
             matches and a gap between signals begins",
            "signals above max_th differ from the paper: ECT packets are marked, as in Linux; the paper has no ECN \
             and drops",
            "a match does not change count, as in Linux; the paper does not say",
            "spacing=each differs from Linux: avg - min_th is not rounded to whole packets, idle time is exact, and every \
             queued packet is selected with the same probability",
            "spacing=once differs from Linux: the array of queued packets has no end. Linux loses packets if holes of \
             dropped packets fill it up",
            "spacing=each: automatic thresholds differ from tc: they are not rounded to whole packets",
            "burst differs from tc: a burst that tc rejects counts as min_th",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off min_th=100p max_th=200p max_p=0.02 w_q=0.002 spacing=each",
            source: "section III, for a buffer of 300 packets, as cited in the literature; not checked against the \
                     paper",
        },
        Preset {
            name: "linux",
            settings: "min_th=auto max_th=auto max_p=0.02 w_q=auto spacing=once",
            source: "tc choke ecn; without ecn Linux drops",
        },
    ];
    const TC: Option<Tc> = Some(Tc {
        defaults: "preset=linux ecn=off",
        groups: &[&[
            ("limit", sets(Form::Packets, "hard_limit").tail()),
            ("min", sets(Form::Packets, "min_th").but_zero()),
            ("max", sets(Form::Packets, "max_th").but_zero()),
            ("burst", sets(Form::Count, "burst").but_zero()),
            ("probability", sets(Form::Real, "max_p").tail()),
            ("avpkt", Tail::Ignored(Form::Size, "the link's mean packet")),
            ("bandwidth", Tail::Ignored(Form::Rate, "the link's rate")),
            ("ecn", Tail::Flag("ecn=on")),
        ]],
        needs: &["limit", "bandwidth"],
        together: Some(red_tc::choke),
        late: None,
    });

    fn check(params: &Params) -> Result<(), String> {
        match (params.min_th, params.max_th) {
            (Auto::Given(min), Auto::Given(max)) if min.with(0.0) != max.with(0.0) => {
                Err("min_th and max_th both in packets, or both in bytes".to_string())
            }
            (Auto::Given(min), Auto::Given(max)) if min >= max => Err("min_th below max_th".to_string()),
            _ => Ok(()),
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        let &Params { max_p, w_q, burst, spacing, .. } = params;
        let (min_th, max_th) = thresholds(params, link);
        let packet = match min_th {
            Depth::Packets(_) => 1.0,
            Depth::Bytes(_) => link.mean_packet.0 as f64,
        };
        let linux = (spacing == Spread::Once).then(|| {
            let settings = Settings {
                min: min_th.value() as u32,
                max: max_th as u32,
                packet: packet as u32,
                max_p,
                weight: given(w_q),
                burst: given(burst),
                mean: link.mean_packet,
                rate: link.rate,
            };
            Box::new(Linux::new(min_th, KernelRed::new(&settings)))
        });
        let (min, max) = (min_th.value() / packet, max_th / packet);
        let burst = match burst {
            Auto::Auto => (2.0 * min + max) / 3.0,
            Auto::Given(packets) => f64::from(packets),
        };
        let average = Average::new(w_q.or(tc_weight(burst, min)), link.pkts_per_sec());
        let red = Red { min_th, max_th, max_p, average, spacing: Spacing::new(Rule::Paper, false, None), p: 0.0 };
        Self { red, flows: VecDeque::new(), matched: 0, linux }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let linux = match (fresh.linux, &self.linux) {
            (Some(fresh), Some(before)) => Some(Box::new(fresh.after(before)?)),
            (None, None) => None,
            _ => return None,
        };
        let fresh = fresh.red;
        let (average, spacing) = (fresh.average.after(&self.red.average), fresh.spacing.after(&self.red.spacing));
        let same = fresh.min_th.is_like(self.red.min_th);
        let red = Red { average, spacing, p: self.red.p, ..fresh };
        same.then(|| Self { red, flows: self.flows.clone(), matched: self.matched, linux })
    }
}

impl Discipline for Choke {
    #[inline]
    fn enqueue(&mut self, packet: Packet, port: &mut Port, cx: &mut Cx) {
        if let Some(linux) = &mut self.linux {
            return linux.enqueue(packet, port, cx);
        }
        let u = cx.rng.uniform();
        let q = self.red.min_th.measure(&port.level(MAIN));
        let avg = self.red.average.arrival_or_decay(q, cx.now);
        let matches = if avg > self.red.min_th.value() {
            self.drops_its_like(&packet, port, cx)
        } else {
            cx.rng.bits();
            false
        };
        let verdict = if matches {
            Verdict::Drop
        } else if self.red.signals(avg, packet.len, u) {
            Verdict::Signal
        } else {
            Verdict::Accept
        };
        if let Fate::Queued { .. } = port.admit(MAIN, packet, verdict, &mut self.red, cx) {
            self.flows.push_back(packet.flow);
        }
        debug_assert_eq!(self.flows.len(), port.pkts() as usize);
    }

    #[inline]
    fn dequeue(&mut self, port: &mut Port, cx: &mut Cx) -> Option<Packet> {
        if let Some(linux) = &mut self.linux {
            return linux.dequeue(port, cx);
        }
        self.flows.pop_front();
        port.pop_judged(MAIN, &mut self.red, cx)
    }
}

probes! { Choke {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.linux.as_ref().map_or(s.red.average.value(), |linux| linux.red().avg());
    /// Base probability p_b of the latest arrival without a match.
    p ["1"] probability = |s| s.linux.as_ref().map_or(s.red.p, |linux| linux.p());
    /// Arrivals that were dropped together with a queued packet.
    matched ["packets"] = |s| s.linux.as_ref().map_or(s.matched, |linux| linux.matched()) as f64;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::rng::Rng;
    use crate::base::time::{Instant, Span};
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::params;
    use alloc::vec::Vec;

    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(300), mean_packet: Bytes(500) };

    fn queue(settings: &str) -> Queue<Choke> {
        Queue::new(Choke::build(&params(settings), &LINK), LINK, true, Rng::stream(1, "queue"))
    }

    fn packet(slot: u32, flow: u32) -> Packet {
        Packet { slot, flow, len: 500, ..Packet::default() }
    }

    fn dropped(queue: &mut Queue<Choke>) -> Vec<(u32, Reason)> {
        queue.port.discarded().drain(..).map(|(packet, reason)| (packet.slot, reason)).collect()
    }

    #[test]
    fn match_drops_arrival_and_queued_packet() {
        let mut queue = queue("min_th=2p max_th=200p w_q=1 max_p=0");
        // The average is the queue: the first three arrivals find at most two packets and are accepted.
        for slot in 0..3 {
            queue.arrive(packet(slot, 7), Instant::ZERO);
        }
        assert_eq!(dropped(&mut queue), []);
        queue.arrive(packet(3, 8), Instant::ZERO);
        assert_eq!((dropped(&mut queue), queue.port.pkts()), (alloc::vec![], 4), "no packet of flow 8 waits");
        queue.arrive(packet(4, 9), Instant::ZERO);
        queue.arrive(packet(5, 10), Instant::ZERO);
        queue.arrive(packet(6, 11), Instant::ZERO);
        // Three of seven are of flow 7: eventually an arrival matches one of them, and only these two are dropped.
        let mut slot = 7;
        while queue.discipline().matched == 0 && slot < 100 {
            queue.arrive(packet(slot, 7), Instant::ZERO);
            slot += 1;
        }
        let gone = dropped(&mut queue);
        assert!(gone.len() == 2 && gone.iter().all(|(_, reason)| *reason == Reason::Early), "{gone:?}");
        assert_eq!(gone[1].0, slot - 1, "the arrival");
        assert_eq!((queue.port.pkts(), queue.port.check()), (slot - 2, Ok(())));
        let order: Vec<u32> = core::iter::from_fn(|| queue.depart(Instant::ZERO)).map(|p| p.slot).collect();
        assert_eq!(order, (0..slot - 1).filter(|slot| *slot != gone[0].0).collect::<Vec<_>>());
    }

    #[test]
    fn each_queued_packet_is_selected_with_equal_probability() {
        // Ten queued packets, one of flow 1, at several places: a tenth of the arrivals of flow 1 match it.
        for place in [0, 4, 9] {
            let met = (0..4000).filter(|seed| {
                let choke = Choke::build(&params("min_th=5p max_th=200p w_q=1 max_p=0"), &LINK);
                let mut queue = Queue::new(choke, LINK, true, Rng::stream(*seed, "queue"));
                (0..10).for_each(|slot| {
                    queue.arrive(packet(slot, if slot == place { 1 } else { 20 + slot }), Instant::ZERO)
                });
                queue.arrive(packet(10, 1), Instant::ZERO);
                queue.discipline().matched == 1
            });
            // 400 expected, standard deviation 19; allow five.
            let met = met.count();
            assert!((305..=495).contains(&met), "place {place}: {met}");
        }
    }

    #[test]
    fn unresponsive_flow_gets_less_than_with_red() {
        // Flow 0 offers twice the link rate, ten others a tenth of it each. RED alone would give flow 0 two thirds.
        let mut queue = queue("min_th=20p max_th=200p max_p=0.02 w_q=0.002");
        let mut rng = Rng::stream(2, "traffic");
        let (mut now, mut sent) = (Instant::ZERO, [0_u64; 2]);
        for _ in 0..100_000 {
            now += Span::from_micros(400);
            for _ in 0..3 {
                let flow = (rng.below(30) as u32).saturating_sub(19);
                queue.arrive(packet(0, flow), now);
            }
            queue.port.discarded().clear();
            if let Some(packet) = queue.depart(now) {
                sent[usize::from(packet.flow > 0)] += 1;
            }
        }
        let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
        assert!(share < 0.4, "{share}");
    }

    /// Keeps 10 packets queued while 4000 packets arrive, each of a different flow. Returns the numbers of the arrivals
    /// that were signalled, and the number of marks.
    fn signals(settings: &str, ecn: Ecn) -> (Vec<u32>, u64) {
        let mut queue = queue(settings);
        for flow in 0..100 {
            if queue.port.pkts() < 10 {
                queue.arrive(packet(0, flow), Instant::ZERO);
            }
        }
        queue.port.discarded().clear();
        let mut out = Vec::new();
        for n in 0..4000 {
            let marked = queue.port.tally().marked.pkts;
            queue.arrive(Packet { ecn, ..packet(n, 1000 + n) }, Instant::ZERO);
            let signalled = !dropped(&mut queue).is_empty() || queue.port.tally().marked.pkts > marked;
            if signalled {
                out.push(n);
            }
            if queue.port.pkts() > 10 {
                queue.depart(Instant::ZERO);
            }
        }
        (out, queue.port.tally().marked.pkts)
    }

    #[test]
    fn signal_gaps_are_uniform_up_to_reciprocal() {
        // p_b = 0.1 x (10 - 5)/(15 - 5) = 1/20: gaps of 1..19 by the equations, of 1..20 with one number each.
        for (spacing, most) in [("each", 19), ("once", 20)] {
            let (at, _) =
                signals(&alloc::format!("min_th=5p max_th=15p max_p=0.1 w_q=1 spacing={spacing}"), Ecn::NotEct);
            let gaps: Vec<u32> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&most)), "{spacing}");
            let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
            // Standard deviation 5.8 over some 390 gaps: 0.29.
            assert!((mean - (f64::from(most) + 1.0) / 2.0).abs() < 1.5, "{spacing}: {mean}");
        }
    }

    #[test]
    fn average_at_a_threshold_counts_as_below_it() {
        // At exactly min_th all are accepted; at exactly max_th signals are still spaced.
        assert!(signals("min_th=10p max_th=11p max_p=1 w_q=1", Ecn::NotEct).0.is_empty());
        let at_max = signals("min_th=9p max_th=10p max_p=0.01 w_q=1", Ecn::NotEct).0.len();
        assert!((20..200).contains(&at_max), "{at_max}");
        assert_eq!(signals("min_th=8p max_th=9p max_p=0.01 w_q=1", Ecn::NotEct).0.len(), 4000);
    }

    #[test]
    fn red_marks_ect_but_matches_drop_ect() {
        let (at, marked) = signals("min_th=5p max_th=9p w_q=1", Ecn::Ect0);
        assert_eq!((at.len() as u64, marked), (4000, 4000), "above max_th too");
        let mut queue = queue("min_th=0p max_th=200p w_q=1");
        (0..2).for_each(|slot| queue.arrive(Packet { ecn: Ecn::Ect0, ..packet(slot, 1) }, Instant::ZERO));
        assert_eq!(dropped(&mut queue), [(0, Reason::Early), (1, Reason::Early)]);
    }

    #[test]
    fn default_thresholds_and_averaging_weight_match_tc() {
        let built = |settings, limit| {
            let red = Choke::build(&params(settings), &Link { limit, ..LINK }).red;
            (red.min_th, red.max_th)
        };
        let all = Limit::Packets(300);
        assert_eq!(built("", all), (Depth::Packets(25.0), 75.0));
        assert_eq!(built("", Limit::Bytes(150_000)), (Depth::Packets(25.0), 75.0));
        assert_eq!(built("max_th=30000b", all), (Depth::Bytes(10_000.0), 30_000.0));
        assert_eq!(built("min_th=10p", all), (Depth::Packets(10.0), 75.0));
        // A quarter of the buffer, or three times a min_th that is not below it.
        assert_eq!(built("min_th=75p", all), (Depth::Packets(75.0), 225.0));
        assert_eq!(built("min_th=10000b", all), (Depth::Bytes(10_000.0), 37_500.0));
        // min 8, burst 13: 6 <= (1 - (7/8)^13) 8 = 6.59, but not <= (1 - (3/4)^13) 4 = 3.90.
        let weight = |settings| Choke::build(&params(settings), &LINK).red.average;
        let same = |a, b| alloc::format!("{:?}", weight(a)) == alloc::format!("{:?}", weight(b));
        assert!(same("min_th=8p max_th=24p burst=13", "min_th=8p max_th=24p w_q=0.125"));
        // The automatic burst is (2 x 8 + 23)/3 = 13. For 52: 45 <= (1 - (255/256)^52) 256 = 47.1.
        assert!(same("min_th=8p max_th=23p", "min_th=8p max_th=23p w_q=0.125"));
        assert!(same("min_th=8p max_th=23p burst=52", "min_th=8p max_th=23p w_q=0.00390625"));
        assert!(same("min_th=4000b max_th=11500b", "min_th=8p max_th=23p"));
    }

    #[test]
    fn tc_arguments_are_parsed() {
        let tc = "choke limit 200 min 10 max 40 burst 20 avpkt 500 bandwidth 10mbit probability 0.05 ecn";
        let ours = "choke preset=linux hard_limit=200p min_th=10p max_th=40p burst=20 max_p=0.05 ecn=on";
        let canonical = |text| crate::Spec::parse(text).unwrap().canonical();
        assert_eq!(canonical(tc), canonical(ours));
        assert!(canonical("choke limit 200 bandwidth 25%").contains("ecn=off"));
    }

    #[test]
    fn contradicting_thresholds_are_rejected() {
        let refused = |settings| Choke::check(&params(settings)).is_err();
        assert!(refused("min_th=5p max_th=5p") && refused("min_th=5p max_th=15kb"));
        assert!(!refused("min_th=5p") && !refused("max_th=5p") && !refused("min_th=5p max_th=6p"));
    }
}
