//! FQ-CoDel compared with the text of RFC 8290: its requirements and its description of FQ-CoDel.
//!
//! Comments of the form "RFC 8290 section X.Y (MUST, SHOULD or MAY): ..." are the source of the coverage table.
//! Lower-case key words count too, although only capitals are normative and the RFC has three of them. Tests of text
//! without a key word are not in the table.
//!
//! Left out: RFC 8290 section 3 (SHOULD): care with a hash over other bytes: the hash is over the 5-tuple, or over
//! addresses and protocol; no other hash is available.
//! Left out: RFC 8290 section 4.1.1 (SHOULD): care with other definitions of a flow: the only other one is key=pair.
//! Left out: RFC 8290 section 6 (SHOULD): when to use another discipline: advice to operators.

use forebay_aqm::base::discipline::Discipline;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, Spec};

/// 8 Mb/s: a packet of 1000 bytes takes 1 ms.
const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(1000), mean_packet: Bytes(1000) };

fn at(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6).round() as u64)
}

struct Fq {
    queue: Queue<AnyDiscipline>,
}

impl Fq {
    fn new(words: &str) -> Self {
        Self::seeded(words, 1)
    }

    fn seeded(words: &str, seed: u64) -> Self {
        Self { queue: Spec::parse(words).expect("a valid discipline").queue(LINK, Rng::stream(seed, "queue")) }
    }

    /// Offers `n` packets of `flow` at `ms`, numbered in order of arrival.
    fn offer(&mut self, flow: u32, n: u32, len: u32, ms: f64) {
        for _ in 0..n {
            let slot = self.queue.port.tally().offered.pkts as u32;
            self.queue.arrive(Packet { slot, flow, pair: flow, len, ..Packet::default() }, at(ms));
        }
    }

    /// Sends up to `n` packets at `ms` and returns their flows.
    fn sent(&mut self, n: usize, ms: f64) -> Vec<u32> {
        (0..n).map_while(|_| self.queue.depart(at(ms))).map(|packet| packet.flow).collect()
    }

    /// Numbers of the packets dropped since the last call.
    fn dropped(&mut self) -> Vec<u32> {
        self.queue.port.discarded().drain(..).map(|(packet, _)| packet.slot).collect()
    }

    /// Numbers of queues in the lists of new and old queues.
    fn lists(&self) -> (f64, f64) {
        (self.queue.discipline().probe(0), self.queue.discipline().probe(1))
    }
}

fn default(key: &str) -> String {
    Spec::parse("fq_codel").unwrap().get(key).unwrap()
}

/// Section 1.3: with one queue FQ-CoDel behaves as CoDel.
#[test]
fn rfc8290_1_3_with_one_queue_equals_codel() {
    let (mut fq, mut codel) = (Fq::new("fq_codel flows=1"), Fq::new("codel"));
    let mut rng = Rng::stream(1, "traffic");
    let mut ms = 0.0;
    for _ in 0..20_000 {
        ms += rng.exponential(0.5);
        if rng.uniform() < 0.55 && codel.queue.port.pkts() < 900 {
            let (flow, len) = (rng.below(10) as u32, 40 + rng.below(1460) as u32);
            fq.offer(flow, 1, len, ms);
            codel.offer(flow, 1, len, ms);
        } else {
            let [a, b] = [&mut fq, &mut codel].map(|queue| queue.queue.depart(at(ms)).map(|packet| packet.slot));
            assert_eq!(a, b, "{ms} ms");
        }
        assert_eq!(fq.dropped(), codel.dropped());
    }
    assert!(codel.queue.port.tally().dropped_early.pkts > 50);
}

/// Section 3: three packets of a third of the quantum are sent for each packet of a quantum.
#[test]
fn rfc8290_3_rounds_are_fair_in_bytes() {
    let mut fq = Fq::new("fq_codel hash=exact quantum=900b");
    fq.offer(1, 9, 300, 0.0);
    fq.offer(2, 9, 900, 0.0);
    assert_eq!(fq.sent(8, 0.0), [1, 1, 1, 2, 1, 1, 1, 2]);
}

/// Section 4.1: a queue that becomes active is added to the end of the list of new queues, with a quantum of credits;
/// an active queue stays in its list.
#[test]
fn rfc8290_4_1_new_queues_are_served_before_old_queues() {
    let mut fq = Fq::new("fq_codel hash=exact quantum=1000b");
    for flow in [1, 2] {
        fq.offer(flow, 5, 1000, 0.0);
    }
    assert_eq!(fq.lists(), (2.0, 0.0));
    assert_eq!(fq.sent(2, 0.0), [1, 2]);
    for flow in [5, 4, 1] {
        fq.offer(flow, 1, 400, 0.0);
    }
    assert_eq!(fq.sent(6, 0.0), [5, 4, 1, 2, 1, 2], "5 and 4 in order of arrival, then the old queues");
}

/// RFC 8290 section 8 (SHOULD): hash collisions cannot be predicted: the hash is salted with a random number drawn at
/// the start (section 4.1).
#[test]
fn rfc8290_4_1_the_hash_is_salted() {
    for name in ["fq_codel", "fq_codel preset=linux", "fq_pie", "drr hash=salted"] {
        let probes = Spec::parse(name).unwrap().entry().probes;
        let active = probes.iter().position(|probe| ["new", "active"].contains(&probe.name)).expect("queues in turn");
        let colliding = |words: &str, seed| {
            let meets_flow_1 = |flow: &u32| {
                let mut fq = Fq::seeded(&format!("{name} {words}"), seed);
                fq.offer(*flow, 1, 100, 0.0);
                fq.offer(1, 1, 100, 0.0);
                fq.queue.discipline().probe(active) == 1.0
            };
            (2..4000).filter(meets_flow_1).collect::<Vec<_>>()
        };
        let [first, second] = [1, 2].map(|seed| colliding("", seed));
        assert!(!first.is_empty() && !second.is_empty() && first != second, "{name}: depends on the seed");
        assert_eq!(first, colliding("", 1), "{name}: the same collisions with the same seed");
        assert_eq!(colliding("salt=5", 1), colliding("salt=5", 2), "{name}: a given salt does not depend on the seed");
        assert_ne!(colliding("salt=5", 1), colliding("salt=6", 1), "{name}");
    }
}

/// Section 4.1: an overflow drops half of the packets of the queue with the most bytes from its head, at most 64.
#[test]
fn rfc8290_4_1_overflow_drops_half_of_fattest_queue() {
    let run = |limit: u32, fat: u32| {
        let mut fq = Fq::new(&format!("fq_codel hash=exact hard_limit={limit}p"));
        fq.offer(1, fat, 1000, 0.0);
        fq.offer(2, limit - fat, 100, 0.0);
        assert!(fq.dropped().is_empty());
        fq.offer(3, 1, 100, 0.0);
        fq.dropped()
    };
    assert_eq!(run(20, 10), (0..5).collect::<Vec<_>>());
    assert_eq!(run(6, 1), [0], "half of one packet is one");
    assert_eq!(run(900, 600), (0..64).collect::<Vec<_>>());
    // Bytes count, not packets, and the arrival counts as part of its queue.
    let mut fq = Fq::new("fq_codel hash=exact hard_limit=6p");
    fq.offer(1, 4, 100, 0.0);
    fq.offer(2, 2, 300, 0.0);
    fq.offer(1, 1, 250, 0.0);
    assert_eq!(fq.dropped(), [0, 1], "650 bytes exceed 600: half of five packets");
}

/// RFC 8290 section 4.1.1 (SHOULD): without ports, the addresses and the protocol are hashed: packets with the same
/// addresses and protocol share a queue.
#[test]
fn rfc8290_4_1_1_hash_may_ignore_ports() {
    let queues = |key: &str, protocols: &[Proto]| {
        let mut fq = Fq::new(&format!("fq_codel key={key}"));
        for flow in 0..20 {
            let proto = protocols[flow as usize % protocols.len()];
            fq.queue.arrive(Packet { flow, pair: 7, proto, len: 100, ..Packet::default() }, at(0.0));
        }
        fq.lists().0
    };
    assert_eq!(
        [&[Proto::Tcp][..], &[Proto::Udp], &[Proto::Tcp, Proto::Udp]].map(|all| queues("pair", all)),
        [1.0, 1.0, 2.0]
    );
    assert!(queues("flow", &[Proto::Tcp]) > 15.0);
}

/// Section 4.2 and figure 1: a new queue becomes old when its credits are used up or it is empty. An old queue becomes
/// inactive when it is empty, and goes to the end of the old queues when its credits are used up.
#[test]
fn rfc8290_4_2_queues_change_lists_as_in_figure_1() {
    let mut fq = Fq::new("fq_codel hash=exact quantum=1000b");
    fq.offer(1, 2, 1000, 0.0);
    fq.offer(2, 1, 100, 0.0);
    assert_eq!(fq.lists(), (2.0, 0.0), "arrival: new");
    assert_eq!((fq.sent(2, 0.0), fq.lists()), (vec![1, 2], (1.0, 1.0)), "credits used up: old");
    assert_eq!((fq.sent(1, 0.0), fq.lists()), (vec![1], (0.0, 2.0)), "empty: old, behind queue 1");
    assert_eq!((fq.sent(1, 0.0), fq.lists()), (vec![], (0.0, 0.0)), "empty: inactive");
}

/// RFC 8290 section 8 (MUST): an emptied new queue goes to the end of the old queues (section 4.2), so that it cannot
/// starve them with any timing of its packets.
#[test]
fn rfc8290_4_2_returning_queue_does_not_starve_others() {
    let mut fq = Fq::new("fq_codel hash=exact quantum=1000b");
    fq.offer(1, 300, 1000, 0.0);
    fq.offer(2, 300, 1000, 0.0);
    // At each request flow 3 has one packet waiting.
    let (mut counts, mut offered) = ([0_u32; 4], 0);
    for _ in 0..300 {
        if counts[3] == offered {
            fq.offer(3, 1, 300, 0.0);
            offered += 1;
        }
        fq.sent(1, 0.0).iter().for_each(|&flow| counts[flow as usize] += 1);
    }
    // Equal bytes for each flow, within a quantum plus a packet.
    let bytes = [counts[1] * 1000, counts[2] * 1000, counts[3] * 300];
    assert!(bytes.iter().all(|b| b.abs_diff(bytes[0]) <= 2000), "{bytes:?}");
}

/// RFC 8290 section 5.2.1 (SHOULD): interval is of the order of the longest round trip: 100 ms, configurable.
#[test]
fn rfc8290_5_2_1_interval_is_100_ms_unless_set() {
    assert_eq!((default("interval"), default("target")), ("100ms".to_string(), "5ms".to_string()));
    for interval in [20.0, 100.0, 300.0] {
        let mut fq = Fq::new(&format!("fq_codel hash=exact interval={interval}ms"));
        fq.offer(1, 900, 1000, 0.0);
        assert_eq!([5.0, 4.9 + interval].map(|ms| (fq.sent(1, ms).len(), fq.dropped().len())), [(1, 0); 2]);
        assert_eq!((fq.sent(1, 5.0 + interval).len(), fq.dropped().len()), (1, 1));
    }
}

/// RFC 8290 section 5.2.2 (SHOULD): on slow links target is at least the transmission time of an MTU. Here target
/// does not depend on the rate and must be set; then packets that wait for one another are not a standing queue.
#[test]
fn rfc8290_5_2_2_larger_target_avoids_drops_on_slow_links() {
    // 1 Mb/s: 1514 bytes take 12.1 ms. Each packet waits for the transmission of two others.
    let dropped = |words: &str| {
        let mut fq = Fq::new(words);
        fq.offer(1, 2, 1514, 0.0);
        for n in 1..1000 {
            let ms = 12.112 * f64::from(n);
            fq.offer(1, 1, 1514, ms);
            fq.sent(1, ms);
        }
        fq.queue.port.tally().dropped_early.pkts
    };
    assert!(dropped("fq_codel") > 0);
    assert_eq!(dropped("fq_codel target=25ms"), 0, "more than two transmission times");
}

/// RFC 8290 section 5.2.2 (SHOULD): target is 5 to 10 % of the interval.
#[test]
fn rfc8290_5_2_2_target_is_a_twentieth_of_the_interval() {
    for words in ["fq_codel", "fq_codel preset=rfc8290", "fq_codel preset=linux"] {
        let spec = Spec::parse(words).unwrap();
        assert_eq!(["target", "interval"].map(|key| spec.get(key).unwrap()), ["5ms", "100ms"], "{words}");
    }
    // At the interval of 100 ms, a delay of 4.9 ms is not a standing queue, and one of 5 ms is.
    for (delay, drops) in [(4.9, 0), (5.0, 1)] {
        let mut fq = Fq::new("fq_codel hash=exact");
        fq.offer(1, 900, 1000, 0.0);
        fq.sent(1, delay);
        fq.sent(1, 105.0);
        assert_eq!(fq.dropped().len(), drops);
    }
}

/// RFC 8290 section 5.2.3 (MUST): the limit applies to the packets of all queues together; a single queue has no
/// limit.
#[test]
fn rfc8290_5_2_3_limit_applies_to_the_sum_of_queues() {
    assert!(Spec::parse("fq_codel preset=linux").unwrap().canonical().contains("hard_limit=10240p"));
    let mut fq = Fq::new("fq_codel hard_limit=100p");
    fq.offer(1, 100, 1000, 0.0);
    assert_eq!((fq.queue.port.pkts(), fq.dropped().len()), (100, 0), "one queue may use the complete limit");
    for flow in 0..1000 {
        fq.offer(flow, 3, 1000, 0.0);
        assert!(fq.queue.port.pkts() <= 100);
    }
}

/// Sections 5.2.4 to 5.2.7: defaults of quantum, flows, ECN and ce_threshold.
#[test]
fn rfc8290_5_2_defaults_are_those_of_the_rfc() {
    let defaults = ["quantum", "flows", "ecn", "ce_threshold", "drop_batch"].map(default);
    assert_eq!(defaults, ["1514b", "1024", "on", "off", "64"]);
    assert_eq!(Spec::parse("fq_codel").unwrap().build(&LINK).lists(), 1024);
}

/// Section 5.2.6: ECT packets are marked by default, and dropped with ecn=off.
#[test]
fn rfc8290_5_2_6_ecn_can_be_switched_off() {
    for (words, fates) in [("fq_codel", (1, 0)), ("fq_codel ecn=off", (0, 1))] {
        let mut fq = Fq::new(words);
        for _ in 0..10 {
            fq.queue.arrive(Packet { len: 1000, ecn: Ecn::Ect0, ..Packet::default() }, at(0.0));
        }
        fq.sent(1, 5.0);
        fq.sent(1, 105.0);
        let tally = fq.queue.port.tally();
        assert_eq!((tally.marked.pkts, tally.dropped_early.pkts), fates);
    }
}

/// Section 5.2.7: above ce_threshold ECT packets are marked, although the delay is below target.
#[test]
fn rfc8290_5_2_7_ce_threshold_marks_below_target() {
    let mut fq = Fq::new("fq_codel ce_threshold=1ms");
    for ecn in [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect0] {
        fq.queue.arrive(Packet { len: 1000, ecn, ..Packet::default() }, at(0.0));
    }
    let leaves = [1.0, 1.1, 1.2, 1.3].map(|ms| fq.queue.depart(at(ms)).unwrap().ecn);
    assert_eq!(leaves, [Ecn::Ect0, Ecn::Ce, Ecn::NotEct, Ecn::Ce]);
}

/// Section 5.3: with 100 flows a flow has no collision with a probability of 90.78 %.
#[test]
fn rfc8290_5_3_hash_collisions_match_theory() {
    let shares_with_flow_0 = |salt, flow| {
        let mut fq = Fq::new(&format!("fq_codel salt={salt}"));
        fq.offer(0, 1, 100, 0.0);
        fq.offer(flow, 1, 100, 0.0);
        fq.lists().0 == 1.0
    };
    let salts = 400;
    let alone = (0..salts).filter(|&salt| (1..100).all(|flow| !shares_with_flow_0(salt, flow))).count();
    // The standard error of a proportion of 0.9078 in 400 trials is 0.0145.
    assert!((alone as f64 / f64::from(salts) - 0.9078).abs() < 3.0 * 0.0145, "{alone}");
}
