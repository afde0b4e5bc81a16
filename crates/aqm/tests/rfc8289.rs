//! CoDel against the text of RFC 8289: what it asks for.
//!
//! Comments of the form "RFC 8289 section X.Y (MUST, SHOULD or MAY): ..." make the table of what is covered. Words in
//! lower case that ask something of the queue count too, though the RFC binds by capitals alone; it has no MUST. Tests
//! of what it says without such a word are not in the table.
//!
//! Left out: RFC 8289 section 4.5 (MAY): an initial drop spacing of 1.0 to 1.2 intervals: it is the interval, as on the
//! Internet.
//! Left out: RFC 8289 section 5.7 (SHOULD): a resolution that leaves 32 bits of time enough range, counters of 32 bits:
//! times have 64 bits of nanoseconds here, counters of bytes 64 too.
//! Left out: RFC 8289 section 6 (MAY): settings for special networks: each is a parameter.

use forebay_aqm::base::design::Rung;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, ENTRIES, Spec};

/// 8 Mb/s: a packet of 1000 bytes takes 1 ms.
const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(1000), mean_packet: Bytes(1000) };

fn at(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6).round() as u64)
}

fn packet(len: u32) -> Packet {
    Packet { len, ecn: Ecn::NotEct, ..Packet::default() }
}

/// A queue under `words` with `n` packets of `len` bytes that arrived at 0.
fn backlog(words: &str, n: u32, len: u32) -> Queue<AnyDiscipline> {
    let mut queue = Spec::parse(words).expect("a valid discipline").queue(LINK, Rng::stream(1, "queue"));
    (0..n).for_each(|_| queue.arrive(packet(len), at(0.0)));
    queue
}

/// Drops at the departure at `ms`.
fn drops(queue: &mut Queue<AnyDiscipline>, ms: f64) -> u64 {
    let before = queue.port.tally();
    queue.depart(at(ms));
    queue.port.tally().since(&before).dropped_early.pkts
}

/// Is `codel` in its drop state?
fn is_dropping(queue: &Queue<AnyDiscipline>) -> bool {
    let probes = Spec::parse("codel").unwrap().entry().probes;
    let index = probes.iter().position(|probe| probe.name == "dropping").expect("a probe");
    queue.discipline().probe(index) == 1.0
}

/// Times in whole milliseconds up to `until` of the drops of a queue that is asked every millisecond from 5 on.
fn times_of_drops(queue: &mut Queue<AnyDiscipline>, until: u32) -> Vec<u32> {
    (5..until).filter(|&ms| drops(queue, f64::from(ms)) > 0).collect()
}

fn default(name: &str, key: &str) -> String {
    Spec::parse(name).unwrap().get(key).unwrap()
}

/// RFC 8289 section 1 (SHOULD): where there can be many queues the approach of fq_codel is to be used.
#[test]
fn rfc8289_1_the_multiple_queue_form_is_there() {
    assert!(ENTRIES.iter().any(|entry| entry.name == "fq_codel" && entry.rung == Rung::Queue));
}

/// RFC 8289 section 1 (MAY): packets are marked where CoDel indicates a drop, if ECN allows it.
#[test]
fn rfc8289_1_marks_can_replace_drops() {
    let signals = |words: &str| {
        let mut queue = backlog(words, 0, 0);
        (0..100).for_each(|_| queue.arrive(Packet { ecn: Ecn::Ect0, ..packet(1000) }, at(0.0)));
        let dropped: u64 = [5.0, 105.0, 205.0].iter().map(|ms| drops(&mut queue, *ms)).sum();
        (dropped, queue.port.tally().marked.pkts)
    };
    assert_eq!((signals("codel"), signals("codel ecn=off")), ((0, 2), (2, 0)));
}

/// RFC 8289 section 3.1 (SHOULD): the interval of the minimum is at least a round trip, so that a queue that drains
/// within one is not taken for persistent, and not a lot more.
#[test]
fn rfc8289_3_1_queue_that_drains_within_interval_is_not_persistent() {
    for (interval, round_trip) in [(100, 100), (20, 20), (300, 300)] {
        // A burst that leaves at the link's rate: the last of its packets has waited for less than a round trip.
        let mut queue = backlog(&format!("codel interval={interval}ms"), round_trip, 1000);
        let dropped: u64 = (0..round_trip).map(|ms| drops(&mut queue, f64::from(ms))).sum();
        assert_eq!(dropped, 0, "interval {interval} ms");
        // What stays for longer is found within one interval.
        let mut queue = backlog(&format!("codel interval={interval}ms"), 3 * round_trip, 1000);
        assert_eq!(times_of_drops(&mut queue, 2 * interval)[0], interval + 5);
    }
}

/// RFC 8289 section 3.3 (SHOULD): the initial drop spacing is the estimator's interval.
#[test]
fn rfc8289_3_3_the_second_drop_comes_one_interval_after_the_first() {
    for interval in [50, 100, 200] {
        let mut queue = backlog(&format!("codel interval={interval}ms"), 900, 1000);
        let times = times_of_drops(&mut queue, 4 * interval);
        assert_eq!(times[1] - times[0], interval);
    }
}

/// RFC 8289 section 4 (SHOULD): the next drop is set one INTERVAL away when the drop state begins; if the delay falls
/// below TARGET it is cancelled.
#[test]
fn rfc8289_4_next_drop_after_an_interval_is_cancelled_below_target() {
    let mut queue = backlog("codel", 400, 1000);
    assert_eq!(times_of_drops(&mut queue, 205), [105]);
    assert_eq!(drops(&mut queue, 205.0), 1);
    // The same until 205, when the packets of 204 are at the head: below target, no drop, none scheduled.
    let mut queue = backlog("codel", 201, 1000);
    (0..200).for_each(|_| queue.arrive(packet(1000), at(204.0)));
    assert_eq!(times_of_drops(&mut queue, 205), [105]);
    assert!(is_dropping(&queue));
    assert_eq!(drops(&mut queue, 205.0), 0);
    assert!(!is_dropping(&queue), "the drop state is left");
    assert_eq!((206..300).map(|ms| drops(&mut queue, f64::from(ms))).sum::<u64>(), 0);
}

/// RFC 8289 section 4.1 (SHOULD): no packet is dropped unless an MTU's worth of bytes remains behind it; with less the
/// drop state is left.
#[test]
fn rfc8289_4_1_no_drop_with_backlog_below_one_mtu() {
    // Two packets: 1000 bytes behind the first one, which is no more than the largest packet seen.
    let mut queue = backlog("codel", 4, 1000);
    assert_eq!(drops(&mut queue, 10.0), 0);
    assert_eq!(drops(&mut queue, 500.0), 1, "2000 bytes behind it: dropped, and the next one passes");
    assert!(is_dropping(&queue));
    assert_eq!(drops(&mut queue, 900.0), 0);
    assert!(!is_dropping(&queue));
    // The same with an MTU given.
    let mut queue = backlog("codel mtu=1500b", 4, 1000);
    assert_eq!(drops(&mut queue, 10.0), 0);
    assert_eq!(drops(&mut queue, 500.0), 1);
    let mut queue = backlog("codel mtu=2000b", 4, 1000);
    assert_eq!([10.0, 500.0, 900.0, 2000.0].map(|ms| drops(&mut queue, ms)), [0; 4]);
}

/// RFC 8289 section 4.2 (SHOULD): INTERVAL is 100 ms for the terrestrial Internet.
#[test]
fn rfc8289_4_2_interval_is_100_ms() {
    assert_eq!(
        ["codel", "codel preset=rfc8289", "codel preset=linux"].map(|name| default(name, "interval")),
        ["100ms"; 3]
    );
}

/// RFC 8289 section 4.3 (SHOULD): TARGET is 5 ms for normal Internet traffic.
#[test]
fn rfc8289_4_3_target_is_5_ms() {
    assert_eq!(["codel", "codel preset=rfc8289", "codel preset=linux"].map(|name| default(name, "target")), ["5ms"; 3]);
}

/// RFC 8289 section 4.3 (SHOULD): TARGET is not raised for lower layers that send in bursts: it does not depend on how
/// the link serves the queue.
#[test]
fn rfc8289_4_3_target_does_not_depend_on_the_link() {
    for rate in [100_000, 8_000_000, 10_000_000_000] {
        let link = Link { rate: Rate(rate), ..LINK };
        let mut queue = Spec::parse("codel").unwrap().queue(link, Rng::stream(1, "queue"));
        (0..40).for_each(|_| queue.arrive(packet(1000), at(0.0)));
        // Bursts of ten every 52.5 ms: the first packet above 5 ms starts the interval, the third burst ends it.
        let mut burst = |ms| (0..10).map(|_| drops(&mut queue, ms)).sum::<u64>();
        assert_eq!([4.999, 5.0, 105.0].map(&mut burst), [0, 0, 1], "{rate} bit/s");
    }
}

/// RFC 8289 section 4.3 (MAY): INTERVAL is adjusted where the path's intrinsic round trip is another.
#[test]
fn rfc8289_4_3_interval_can_be_adjusted() {
    let mut queue = backlog("codel interval=600ms target=30ms", 900, 1000);
    assert_eq!(times_of_drops(&mut queue, 640), [630]);
}

/// RFC 8289 section 4.4 (SHOULD): with several queues the occupancy of all that share the link decides whether a drop
/// would starve it.
#[test]
fn rfc8289_4_4_the_occupancy_of_all_queues_counts() {
    // Two flows: one with two packets, which alone would be spared, the other with many that keep the link busy.
    let run = |others: u32| {
        let mut queue = backlog("fq_codel hash=exact", 0, 0);
        let offer = |queue: &mut Queue<AnyDiscipline>, flow, n| {
            (0..n).for_each(|_| queue.arrive(Packet { flow, ..packet(1500) }, at(0.0)));
        };
        offer(&mut queue, 1, 3);
        offer(&mut queue, 2, others);
        let mut dropped = Vec::new();
        for ms in [10.0, 10.0, 200.0, 200.0, 200.0] {
            queue.depart(at(ms));
            dropped.extend(queue.port.discarded().drain(..).map(|(packet, _)| packet.flow));
        }
        dropped.contains(&1)
    };
    assert!(run(20), "1500 bytes of its own are behind it, but 15,000 of others");
    assert!(!run(0));
}

/// RFC 8289 section 4.5 (SHOULD): a device that can be configured has the Internet's values as its defaults.
#[test]
fn rfc8289_4_5_defaults_suit_the_internet() {
    for key in ["target", "interval", "mtu", "inv_sqrt"] {
        assert_eq!(default("codel", key), default("codel preset=rfc8289", key), "{key}");
    }
    assert_eq!(default("codel", "ce_threshold"), "off");
}

/// RFC 8289 section 4.5 (MAY): other environments have other values, INTERVAL in microseconds and TARGET at 5 to 10 %
/// of it.
#[test]
fn rfc8289_4_5_microseconds_can_be_had() {
    let mut queue = backlog("codel interval=500us target=50us", 100, 1000);
    assert_eq!([0.05, 0.5499].map(|ms| drops(&mut queue, ms)), [0, 0]);
    assert_eq!(drops(&mut queue, 0.55), 1);
}

/// RFC 8289 section 5.3 (SHOULD): maxpacket is the interface's MTU: mtu=... or preset=linux sets it; the default is the
/// largest packet seen, as in the listing.
#[test]
fn rfc8289_5_3_maxpacket_can_be_the_mtu() {
    // Packets of 100 bytes; the second one is judged with 1000 bytes behind it, or with 1600.
    let dropped = |words: &str, n: u32| {
        let mut queue = backlog(words, n, 100);
        drops(&mut queue, 10.0) + drops(&mut queue, 500.0)
    };
    for words in ["codel mtu=1514b", "codel preset=linux", "codel mtu=1599b"] {
        assert_eq!([12, 18].map(|n| dropped(words, n)), [0, 1], "{words}: less than an MTU, more than one");
    }
    assert_eq!([12, 18].map(|n| dropped("codel", n)), [1, 1], "more than the largest packet");
}

/// RFC 8289 section 5.4, no key word: drops at a full buffer are not counted towards CoDel's computations.
#[test]
fn rfc8289_5_4_overflows_are_not_counted() {
    let mut full = backlog("codel hard_limit=10p", 100, 1000);
    let mut fits = backlog("codel", 10, 1000);
    assert_eq!(full.port.tally().dropped_overflow.pkts, 90);
    for ms in [5.0, 105.0, 205.0, 300.0] {
        assert_eq!(drops(&mut full, ms), drops(&mut fits, ms), "{ms} ms");
    }
}

/// RFC 8289 section 5.5, the listing: a new drop state that begins within 16 intervals of the last one takes its rate over.
#[test]
fn rfc8289_5_5_drop_rate_of_a_recent_cycle_is_reused() {
    let gap_after = |pause: f64| {
        let mut queue = backlog("codel", 400, 1000);
        // Drops at 105, 205, 276, 334, 384: the first cycle ends at 5; then all leaves, and a new backlog comes.
        assert_eq!(times_of_drops(&mut queue, 385).len(), 5);
        while queue.depart(at(385.0)).is_some() {}
        (0..900).for_each(|_| queue.arrive(packet(1000), at(385.0 + pause)));
        let begin = 390.0 + pause;
        let times: Vec<f64> =
            (0..400).map(|ms| begin + f64::from(ms)).filter(|&ms| drops(&mut queue, ms) > 0).collect();
        (times[0] - begin, times[1] - times[0])
    };
    assert_eq!(gap_after(0.0), (100.0, 50.0), "count 4: interval/2");
    assert_eq!(gap_after(1700.0), (100.0, 100.0));
}
