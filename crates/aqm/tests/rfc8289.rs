//! CoDel compared with the requirements of RFC 8289.
//!
//! Comments of the form "RFC 8289 section X.Y (MUST, SHOULD or MAY): ..." are the source of the coverage table.
//! Lower-case key words count too, although only capitals are normative; the RFC has no MUST. Tests of text without
//! a key word are not in the table.
//!
//! Left out: RFC 8289 section 4.5 (MAY): an initial drop spacing of 1.0 to 1.2 intervals: here it is one interval, as
//! recommended for the Internet.
//! Left out: RFC 8289 section 5.7 (SHOULD): 32-bit times of sufficient range, and 32-bit counters: here both have
//! 64 bits, and times are in nanoseconds.
//! Left out: RFC 8289 section 6 (MAY): settings for special networks: each is a parameter.

use forebay_aqm::base::design::DisciplineKind;
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

/// A queue with the discipline `words`, and `n` packets of `len` bytes that arrived at 0.
fn backlog(words: &str, n: u32, len: u32) -> Queue<AnyDiscipline> {
    let mut queue = Spec::parse(words).expect("a valid discipline").queue(LINK, Rng::stream(1, "queue"));
    (0..n).for_each(|_| queue.arrive(packet(len), at(0.0)));
    queue
}

/// Number of early drops at the departure at `ms`.
fn drops(queue: &mut Queue<AnyDiscipline>, ms: f64) -> u64 {
    let before = queue.port.tally();
    queue.depart(at(ms));
    queue.port.tally().since(&before).dropped_early.pkts
}

/// Whether `codel` is in its drop state.
fn is_dropping(queue: &Queue<AnyDiscipline>) -> bool {
    let probes = Spec::parse("codel").unwrap().entry().probes;
    let index = probes.iter().position(|probe| probe.name == "dropping").expect("a probe");
    queue.discipline().probe(index) == 1.0
}

/// Times of drops in ms, below `until`, with one departure per ms from 5 on.
fn times_of_drops(queue: &mut Queue<AnyDiscipline>, until: u32) -> Vec<u32> {
    (5..until).filter(|&ms| drops(queue, f64::from(ms)) > 0).collect()
}

fn default(name: &str, key: &str) -> String {
    Spec::parse(name).unwrap().get(key).unwrap()
}

/// RFC 8289 section 1 (SHOULD): where several queues are possible, the approach of fq_codel is used.
#[test]
fn rfc8289_1_fq_codel_is_available() {
    assert!(ENTRIES.iter().any(|entry| entry.name == "fq_codel" && entry.kind == DisciplineKind::Queue));
}

/// RFC 8289 section 1 (MAY): where CoDel requests a drop, an ECN-capable packet is marked instead.
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

/// RFC 8289 section 3.1 (SHOULD): the interval for the minimum is at least one round trip, so that a queue that
/// drains within a round trip is not persistent, and not much longer.
#[test]
fn rfc8289_3_1_no_drop_if_queue_drains_within_interval() {
    for (interval, round_trip) in [(100, 100), (20, 20), (300, 300)] {
        // A burst drains at the link's rate, and its last packet waits for less than a round trip.
        let mut queue = backlog(&format!("codel interval={interval}ms"), round_trip, 1000);
        let dropped: u64 = (0..round_trip).map(|ms| drops(&mut queue, f64::from(ms))).sum();
        assert_eq!(dropped, 0, "interval {interval} ms");
        // A longer queue has its first drop one interval after the sojourn time reaches the target of 5 ms.
        let mut queue = backlog(&format!("codel interval={interval}ms"), 3 * round_trip, 1000);
        assert_eq!(times_of_drops(&mut queue, 2 * interval)[0], interval + 5);
    }
}

/// RFC 8289 section 3.3 (SHOULD): the initial drop spacing is the estimator's interval.
#[test]
fn rfc8289_3_3_second_drop_comes_one_interval_later() {
    for interval in [50, 100, 200] {
        let mut queue = backlog(&format!("codel interval={interval}ms"), 900, 1000);
        let times = times_of_drops(&mut queue, 4 * interval);
        assert_eq!(times[1] - times[0], interval);
    }
}

/// RFC 8289 section 4 (SHOULD): when the drop state begins, the next drop is scheduled one INTERVAL later; it is
/// cancelled if the delay falls below TARGET.
#[test]
fn rfc8289_4_next_drop_is_cancelled_below_target() {
    let mut queue = backlog("codel", 400, 1000);
    assert_eq!(times_of_drops(&mut queue, 205), [105]);
    assert_eq!(drops(&mut queue, 205.0), 1);
    // As before until 205 ms, when the packets that arrived at 204 ms reach the head: their delay is below target.
    let mut queue = backlog("codel", 201, 1000);
    (0..200).for_each(|_| queue.arrive(packet(1000), at(204.0)));
    assert_eq!(times_of_drops(&mut queue, 205), [105]);
    assert!(is_dropping(&queue));
    assert_eq!(drops(&mut queue, 205.0), 0);
    assert!(!is_dropping(&queue), "not in the drop state");
    assert_eq!((206..300).map(|ms| drops(&mut queue, f64::from(ms))).sum::<u64>(), 0);
}

/// RFC 8289 section 4.1 (SHOULD): no packet is dropped unless at least an MTU of bytes remains queued behind it; with
/// less, the drop state ends.
#[test]
fn rfc8289_4_1_no_drop_with_backlog_below_one_mtu() {
    // With two packets queued, 1000 bytes are behind the first: not more than the largest packet seen.
    let mut queue = backlog("codel", 4, 1000);
    assert_eq!(drops(&mut queue, 10.0), 0);
    assert_eq!(drops(&mut queue, 500.0), 1, "2000 bytes behind it: dropped, and the next packet is sent");
    assert!(is_dropping(&queue));
    assert_eq!(drops(&mut queue, 900.0), 0);
    assert!(!is_dropping(&queue));
    // With a given MTU instead of the largest packet seen.
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

/// RFC 8289 section 4.3 (SHOULD): TARGET is not raised for lower layers that send in bursts: it is independent of how
/// the link serves the queue.
#[test]
fn rfc8289_4_3_target_does_not_depend_on_the_link() {
    for rate in [100_000, 8_000_000, 10_000_000_000] {
        let link = Link { rate: Rate(rate), ..LINK };
        let mut queue = Spec::parse("codel").unwrap().queue(link, Rng::stream(1, "queue"));
        (0..40).for_each(|_| queue.arrive(packet(1000), at(0.0)));
        // Three bursts of ten departures: at 4.999 ms below target, at 5 ms the interval starts, at 105 ms it ends.
        let mut burst = |ms| (0..10).map(|_| drops(&mut queue, ms)).sum::<u64>();
        assert_eq!([4.999, 5.0, 105.0].map(&mut burst), [0, 0, 1], "{rate} bit/s");
    }
}

/// RFC 8289 section 4.3 (MAY): INTERVAL may be adjusted to another round-trip time of the path.
#[test]
fn rfc8289_4_3_interval_can_be_adjusted() {
    let mut queue = backlog("codel interval=600ms target=30ms", 900, 1000);
    assert_eq!(times_of_drops(&mut queue, 640), [630]);
}

/// RFC 8289 section 4.4 (SHOULD): with several queues, the backlog of all queues that share the link decides whether a
/// drop could leave the link idle.
#[test]
fn rfc8289_4_4_other_queues_backlog_permits_drops() {
    // Flow 1 has three packets, and has no drop when it is alone. Flow 2 adds packets that keep the link busy.
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
    assert!(run(20), "more than an MTU of the other flow is queued");
    assert!(!run(0));
}

/// RFC 8289 section 4.5 (SHOULD): a configurable device has the values for the Internet as its defaults.
#[test]
fn rfc8289_4_5_defaults_are_the_internet_values() {
    for key in ["target", "interval", "mtu", "inv_sqrt"] {
        assert_eq!(default("codel", key), default("codel preset=rfc8289", key), "{key}");
    }
    assert_eq!(default("codel", "ce_threshold"), "off");
}

/// RFC 8289 section 4.5 (MAY): other environments may use other values, such as an INTERVAL in microseconds and a
/// TARGET of 5 to 10 % of it.
#[test]
fn rfc8289_4_5_interval_may_be_in_microseconds() {
    let mut queue = backlog("codel interval=500us target=50us", 100, 1000);
    assert_eq!([0.05, 0.5499].map(|ms| drops(&mut queue, ms)), [0, 0]);
    assert_eq!(drops(&mut queue, 0.55), 1);
}

/// RFC 8289 section 5.3 (SHOULD): maxpacket is the interface's MTU: mtu=... or preset=linux sets it; the default is the
/// largest packet seen, as in the listing.
#[test]
fn rfc8289_5_3_maxpacket_can_be_the_mtu() {
    // Packets of 100 bytes; 1000 or 1600 bytes are queued behind the second one.
    let dropped = |words: &str, n: u32| {
        let mut queue = backlog(words, n, 100);
        drops(&mut queue, 10.0) + drops(&mut queue, 500.0)
    };
    for words in ["codel mtu=1514b", "codel preset=linux", "codel mtu=1599b"] {
        assert_eq!([12, 18].map(|n| dropped(words, n)), [0, 1], "{words}: below and above one MTU");
    }
    assert_eq!([12, 18].map(|n| dropped("codel", n)), [1, 1], "both above the largest packet");
}

/// RFC 8289 section 5.4, no key word: drops at a full buffer are not counted towards CoDel's computations.
#[test]
fn rfc8289_5_4_overflow_drops_do_not_change_early_drops() {
    let mut full = backlog("codel hard_limit=10p", 100, 1000);
    let mut fits = backlog("codel", 10, 1000);
    assert_eq!(full.port.tally().dropped_overflow.pkts, 90);
    for ms in [5.0, 105.0, 205.0, 300.0] {
        assert_eq!(drops(&mut full, ms), drops(&mut fits, ms), "{ms} ms");
    }
}

/// RFC 8289 section 5.5, the listing: a drop state that begins within 16 intervals of the last one reuses its
/// drop rate.
#[test]
fn rfc8289_5_5_recent_drop_rate_is_reused() {
    let gap_after = |pause: f64| {
        let mut queue = backlog("codel", 400, 1000);
        // Drops at 105, 205, 276, 334 and 384 ms: five in the first cycle. Then the queue is emptied, and refilled.
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
