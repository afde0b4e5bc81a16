//! PIE compared with the text of RFC 8033: its requirements and its options.
//!
//! Comments of the form "RFC 8033 section X.Y (MUST, SHOULD or MAY): ..." are the source of the coverage table.
//! Lower-case key words count too: "can" of section 5 as MAY, "recommended" as SHOULD. Tests of text without a key
//! word are not in the table.
//!
//! Left out: RFC 8033 section 3 (SHOULD): simple, scalable, stable: design goals that a test cannot check.
//! Left out: RFC 8033 section 5.2 (MAY): a design triggered by arrivals only: here departures are visible.
//! Left out: RFC 8033 section 5.3 (SHOULD): activation by latency: the RFC itself uses the backlog.
//! Left out: RFC 8033 section 6 (MAY): one drop probability for several queues, scaled by their backlogs: FQ-PIE has
//! one per queue, which the RFC prefers.
//! Left out: RFC 8033 section 8 (SHOULD): no configuration at installation: the defaults suit the Internet; those of a
//! data centre must be set.

use forebay_aqm::base::cx::Cx;
use forebay_aqm::base::discipline::Discipline;
use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::port::Port;
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::{AnyDiscipline, Spec};

/// 8 Mb/s: a packet of 1000 bytes takes 1 ms.
const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(1000), mean_packet: Bytes(1000) };

struct Pie {
    queue: Queue<AnyDiscipline>,
    spec: Spec,
}

fn at(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6).round() as u64)
}

impl Pie {
    fn new(words: &str) -> Self {
        let spec = Spec::parse(&format!("pie {words}")).expect("a valid discipline");
        Self { queue: spec.queue(LINK, Rng::stream(1, "queue")), spec }
    }

    /// A congested queue: 100 packets arrived at 0, one left at 20 ms, and an update set p = alpha 10 ms.
    fn congested(p: f64, words: &str) -> Self {
        let alpha = p / 0.010;
        let burst = if words.contains("max_burst") { "" } else { "max_burst=0" };
        let fixed = "autotune=off beta=0 target=10ms tupdate=20ms";
        let mut pie = Self::new(&format!("{fixed} {burst} alpha={alpha} {words}"));
        pie.offer(100, 0.0, Ecn::NotEct);
        pie.queue.depart(at(20.0));
        pie.update(20.0);
        pie
    }

    /// Makes the next delay sample `delay` at time `ms` (both in ms): all packets leave, then `n` packets arrive
    /// `delay` before `ms`.
    fn then_delay(&mut self, n: u32, delay: f64, ms: f64) {
        while self.queue.depart(at(ms - delay)).is_some() {}
        (0..n).for_each(|_| self.queue.arrive(packet(Ecn::NotEct), at(ms - delay)));
        self.queue.depart(at(ms));
        self.update(ms);
    }

    fn update(&mut self, ms: f64) {
        assert_eq!(self.queue.next_tick(), Some(at(ms)), "an update is due");
        self.queue.tick(at(ms));
    }

    /// Offers `n` packets at time `ms`. Returns the numbers of early drops and marks.
    fn offer(&mut self, n: u32, ms: f64, ecn: Ecn) -> (u64, u64) {
        let before = self.queue.port.tally();
        (0..n).for_each(|_| self.queue.arrive(packet(ecn), at(ms)));
        let happened = self.queue.port.tally().since(&before);
        (happened.dropped_early.pkts, happened.marked.pkts)
    }

    fn get(&self, probe: &str) -> f64 {
        let index = self.spec.entry().probes.iter().position(|spec| spec.name == probe).expect("a probe");
        self.queue.discipline().probe(index)
    }
}

fn packet(ecn: Ecn) -> Packet {
    Packet { len: 1000, ecn, ..Packet::default() }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// Time in ms of the first signal when the offered load is twice the link's rate from 0 on.
fn first_signal(words: &str) -> f64 {
    let mut pie = Pie::new(words);
    for ms in 0..5000 {
        let now = f64::from(ms);
        while pie.queue.next_tick().is_some_and(|due| due <= at(now)) {
            pie.queue.tick(at(now));
        }
        let (dropped, marked) = pie.offer(2, now, Ecn::Ect0);
        if dropped + marked > 0 {
            return now;
        }
        pie.queue.depart(at(now));
    }
    f64::INFINITY
}

/// RFC 8033 section 4.1: a packet is dropped at random on arrival, with probability drop_prob_.
#[test]
fn rfc8033_4_1_drops_arrivals_at_random() {
    let mut pie = Pie::congested(0.3, "ecn=off");
    assert!(close(pie.get("p"), 0.3));
    let (dropped, _) = pie.offer(800, 20.0, Ecn::Ect0);
    // Binomial: 240, standard deviation 13.
    assert!((175..=305).contains(&dropped), "{dropped} of 800");
}

/// RFC 8033 section 4.1: no drop while the last sample is below half the target and p below 0.2.
#[test]
fn rfc8033_4_1_no_drop_at_low_delay_and_p() {
    let after = |p, delay| {
        let mut pie = Pie::congested(p, "ecn=off");
        pie.then_delay(50, delay, 40.0);
        (pie.get("p"), pie.offer(500, 40.0, Ecn::NotEct).0)
    };
    // alpha = p/10 ms: a delay of 4.9 ms reduces p by 0.51 p.
    let (p, dropped) = after(0.4, 4.9);
    assert!(close(p, 0.4 * 0.49) && dropped == 0, "p {p}");
    let (p, dropped) = after(0.38, 5.1);
    assert!(p < 0.2 && dropped > 0, "delay above half the target: p {p}");
    let (p, dropped) = after(0.42, 4.9);
    assert!(p > 0.2 && dropped > 0, "p too high: {p}");
}

/// RFC 8033 section 4.1: no drop while at most two mean packets are queued.
#[test]
fn rfc8033_4_1_no_drop_with_two_mean_packets_queued() {
    let mut pie = Pie::congested(1.0, "ecn=off");
    assert_eq!(pie.get("p"), 1.0);
    while pie.queue.port.pkts() > 0 {
        pie.queue.depart(at(39.0));
    }
    assert_eq!(pie.offer(3, 39.0, Ecn::NotEct), (0, 0), "0, 1 and 2 packets are queued");
    assert_eq!(pie.offer(3, 39.0, Ecn::NotEct), (3, 0));
}

/// RFC 8033 section 4.2: p changes by alpha times (delay - target) plus beta times the change of the delay.
#[test]
fn rfc8033_4_2_p_follows_delay_and_its_trend() {
    let mut pie = Pie::new("autotune=off alpha=2 beta=4 target=10ms tupdate=20ms");
    pie.offer(100, 0.0, Ecn::NotEct);
    pie.queue.depart(at(15.0));
    pie.update(20.0); // 2 x 5 ms + 4 x 15 ms
    assert!(close(pie.get("p"), 0.07));
    pie.queue.depart(at(35.0));
    pie.update(40.0); // 2 x 25 ms + 4 x 20 ms
    assert!(close(pie.get("p"), 0.07 + 0.13));
}

/// RFC 8033 section 4.2: p decays by 2 % per update while two successive samples are 0.
#[test]
fn rfc8033_4_2_p_decays_exponentially_without_delay() {
    let mut pie = Pie::new("beta=0");
    pie.offer(1000, 0.0, Ecn::NotEct);
    for n in 1..=100 {
        pie.queue.depart(at(15.0 * f64::from(n)));
        pie.update(15.0 * f64::from(n));
    }
    while pie.queue.port.pkts() > 0 {
        pie.queue.depart(at(1501.0));
    }
    pie.update(1515.0);
    let before = pie.get("p");
    assert!(before > 0.1, "{before}");
    pie.update(1530.0);
    assert!(close(pie.get("p"), (before - 0.125 * 0.015) * 0.98), "from {before} to {}", pie.get("p"));
}

/// RFC 8033 section 4.2 (MAY): T_UPDATE may be reduced on fast links.
#[test]
fn rfc8033_4_2_the_update_interval_may_be_reduced() {
    assert_eq!(Pie::new("").queue.next_tick(), Some(at(15.0)));
    let mut pie = Pie::new("tupdate=1ms");
    (1..100).for_each(|ms| pie.update(f64::from(ms)));
}

/// p after each pair of (update, delay of the packet that left last), both in ms.
fn driven(words: &str, delays: &[(f64, f64)]) -> Vec<f64> {
    let mut pie = Pie::new(&format!("autotune=off max_burst=0 latency=timestamp {words}"));
    pie.offer(200, 0.0, Ecn::NotEct);
    let mut step = |&(update, delay): &(f64, f64)| {
        pie.queue.depart(at(delay));
        pie.update(update);
        pie.get("p")
    };
    delays.iter().map(&mut step).collect()
}

/// RFC 8033 section 4.2 (SHOULD): alpha is halved with T_UPDATE, and beta becomes beta + alpha/4. They are separate
/// parameters, which do not follow T_UPDATE; set to these values, p follows a growing delay as before.
#[test]
fn rfc8033_4_2_scaled_gains_compensate_for_half_the_interval() {
    let delays =
        |step: usize| -> Vec<(f64, f64)> { (step..=60).step_by(step).map(|ms| ms as f64).map(|t| (t, t)).collect() };
    let whole = driven("target=10ms tupdate=20ms alpha=0.2 beta=0.4", &delays(20));
    let half = driven("target=10ms tupdate=10ms alpha=0.1 beta=0.45", &delays(10));
    for (n, p) in whole.iter().enumerate() {
        assert!(close(*p, half[2 * n + 1]), "{whole:?} {half:?}");
    }
    assert!(close(whole[0], 0.2 * 0.010 + 0.4 * 0.020));
}

/// RFC 8033 section 4.2 (SHOULD): alpha and beta grow as QDELAY_REF shrinks. They do not follow
/// the target; at twice the gains and half the target, half the delay gives the same p.
#[test]
fn rfc8033_4_2_doubled_gains_compensate_for_half_the_target() {
    let large = driven("target=10ms tupdate=20ms alpha=0.2 beta=0.4", &[(20.0, 20.0), (40.0, 30.0), (60.0, 40.0)]);
    let small = driven("target=5ms tupdate=20ms alpha=0.4 beta=0.8", &[(20.0, 10.0), (40.0, 15.0), (60.0, 20.0)]);
    assert!(large.iter().zip(&small).all(|(a, b)| close(*a, *b)), "{large:?} {small:?}");
    assert!(large[2] > 0.01);
}

/// RFC 8033 section 4.2 (SHOULD): the target delay is 15 ms.
#[test]
fn rfc8033_4_2_the_target_is_15_ms() {
    for words in ["", "preset=rfc8033", "preset=rfc8033-full", "preset=linux", "preset=ns3"] {
        assert_eq!(Pie::new(words).spec.get("target").as_deref(), Some("15ms"), "{words}");
    }
    // At a steady delay of 15 ms p does not change; slightly above 15 ms it grows.
    let grown = |ms: f64| {
        let mut pie = Pie::new("autotune=off beta=0 max_burst=0");
        pie.offer(100, 0.0, Ecn::NotEct);
        pie.queue.depart(at(ms));
        pie.queue.tick(at(30.0));
        pie.get("p")
    };
    assert_eq!(grown(15.0), 0.0);
    assert!(grown(15.1) > 0.0);
}

/// RFC 8033 section 4.3 (MAY): the delay may be a packet's sojourn time, measured with a timestamp.
#[test]
fn rfc8033_4_3_delay_may_come_from_a_timestamp() {
    let mut pie = Pie::new("latency=timestamp");
    pie.offer(3, 0.0, Ecn::NotEct);
    for (ms, delay) in [(1.0, 0.001), (7.0, 0.007), (9.0, 0.0)] {
        pie.queue.depart(at(ms));
        assert!(close(pie.get("delay"), delay), "{ms} ms; an empty queue has no delay");
    }
}

/// RFC 8033 section 4.4 (SHOULD): bursts of up to MAX_BURST = 150 ms are not signalled.
#[test]
fn rfc8033_4_4_the_burst_allowance_is_150_ms() {
    for words in ["", "preset=rfc8033", "preset=linux ecn=on"] {
        assert_eq!(Pie::new(words).spec.get("max_burst").as_deref(), Some("150ms"), "{words}");
    }
    // The queue grows by one packet per ms from 0, so the delay is half of the elapsed time. The burst starts at 15 ms,
    // when the two samples are no longer both below 7.5 ms. 150 ms are 10 updates of 15 ms.
    let gains = "alpha=10 beta=10 autotune=off";
    let first = first_signal(gains);
    assert!((165.0..195.0).contains(&first), "{first} ms");
    assert!(first_signal(&format!("{gains} max_burst=0")) < 60.0);
}

/// RFC 8033 section 4.4 (MAY): MAX_BURST may be rounded up to a multiple of T_UPDATE.
#[test]
fn rfc8033_4_4_the_burst_allowance_may_be_rounded_up() {
    let gains = "alpha=10 beta=10 autotune=off";
    let [first, rounded, more] = ["91ms", "105ms", "106ms"].map(|t| first_signal(&format!("{gains} max_burst={t}")));
    assert_eq!(first, rounded, "seven updates of 15 ms");
    assert!(more > rounded);
}

/// RFC 8033 section 4.4: the burst allowance is renewed at p = 0 with two samples below half the target.
#[test]
fn rfc8033_4_4_burst_allowance_is_renewed_after_congestion() {
    let mut pie = Pie::congested(0.1, "max_burst=150ms");
    assert_eq!(pie.get("burst"), 0.130);
    pie.then_delay(5, 4.0, 40.0);
    assert!(pie.get("p") > 0.0 && close(pie.get("burst"), 0.110));
    pie.then_delay(5, 4.0, 60.0);
    assert_eq!(pie.get("p"), 0.0);
    pie.offer(1, 60.0, Ecn::NotEct);
    assert_eq!(pie.get("burst"), 0.150);
}

/// RFC 8033 section 5.1 (MAY): ECN-capable packets may be marked instead of dropped.
#[test]
fn rfc8033_5_1_marks_ecn_capable_packets() {
    let mut pie = Pie::congested(0.09, "");
    for (ecn, is_new) in [(Ecn::Ect0, true), (Ecn::Ect1, true), (Ecn::Ce, false)] {
        let (dropped, marked) = pie.offer(200, 20.0, ecn);
        assert!(dropped == 0 && (marked > 0) == is_new, "{ecn:?}");
    }
    let (dropped, marked) = pie.offer(200, 20.0, Ecn::NotEct);
    assert!(dropped > 0 && marked == 0);
    let (dropped, marked) = Pie::congested(0.09, "ecn=off").offer(200, 20.0, Ecn::Ect0);
    assert!(dropped > 0 && marked == 0, "optional");
}

/// RFC 8033 section 5.1 (SHOULD): from p = mark_ecnth = 0.1 on, ECN-capable packets are dropped too.
#[test]
fn rfc8033_5_1_high_p_drops_ecn_capable_packets() {
    assert_eq!(Pie::new("").spec.get("ecn_cut").as_deref(), Some("0.1"));
    let (dropped, marked) = Pie::congested(0.101, "").offer(500, 20.0, Ecn::Ect0);
    assert!(dropped > 0 && marked == 0);
    let (dropped, marked) = Pie::congested(0.099, "").offer(500, 20.0, Ecn::Ect0);
    assert!(dropped == 0 && marked > 0);
    let (dropped, marked) = Pie::congested(0.3, "ecn_cut=0.5").offer(500, 20.0, Ecn::Ect0);
    assert!(dropped == 0 && marked > 0, "the threshold can be set");
}

/// A long queue after one departure per ms up to `ms`.
fn drained(words: &str, ms: u32) -> Pie {
    let mut pie = Pie::new(&format!("latency=rate {words}"));
    pie.offer(200, 0.0, Ecn::NotEct);
    for now in 0..=ms {
        pie.queue.depart(at(f64::from(now)));
        while pie.queue.next_tick().is_some_and(|due| due <= at(f64::from(now))) {
            pie.queue.tick(at(f64::from(now)));
        }
    }
    pie
}

/// RFC 8033 section 5.2 (MAY): the delay may be the backlog over the measured departure rate.
#[test]
fn rfc8033_5_2_delay_may_come_from_departure_rate() {
    // The 17 departures after the first are 17,000 >= 16,384 bytes, in 17 ms.
    let pie = drained("", 30);
    assert!((pie.get("rate") - 16_384.0 * 8.0 / 0.017).abs() < 1e-3);
    // The update at 30 ms saw 169 packets: 169,000 x 17 ms/16,384.
    assert!(close(pie.get("delay"), 169_000.0 * 0.017 / 16_384.0));
}

/// RFC 8033 section 5.2 (SHOULD): the departure rate is measured over 16 KB, and only while at least 16 KB are queued.
#[test]
fn rfc8033_5_2_the_rate_is_measured_over_16_kilobytes() {
    assert_eq!(Pie::new("").spec.get("dq_threshold").as_deref(), Some("16384b"));
    assert_eq!(drained("", 16).get("rate"), 0.0);
    assert!(drained("", 17).get("rate") > 0.0);
    let mut short = Pie::new("latency=rate");
    for ms in 0..100 {
        short.offer(if ms == 0 { 16 } else { 1 }, f64::from(ms), Ecn::NotEct);
        short.queue.depart(at(f64::from(ms)));
    }
    assert_eq!(short.get("rate"), 0.0, "never 16,384 bytes left after a departure");
}

/// RFC 8033 section 5.3 (MAY): PIE may become active only when the backlog reaches a third of the buffer.
#[test]
fn rfc8033_5_3_activates_at_a_third_of_the_buffer() {
    let mut pie = Pie::new("sleep=half");
    pie.offer(333, 0.0, Ecn::NotEct);
    assert_eq!(pie.get("awake"), 0.0);
    pie.update(15.0);
    assert_eq!((pie.get("p"), pie.get("burst")), (0.0, 0.150), "an inactive PIE does not update p");
    pie.offer(1, 16.0, Ecn::NotEct);
    assert_eq!((pie.get("awake"), pie.get("burst")), (1.0, 0.150));
    pie.queue.depart(at(29.0));
    pie.update(30.0);
    assert_eq!(pie.get("p"), 0.0, "active for less than an update period");
    pie.update(45.0);
    assert!(pie.get("p") > 0.0 && close(pie.get("burst"), 0.135));
    assert_eq!(Pie::new("").get("awake"), 1.0, "optional");
}

/// RFC 8033 section 5.3 (MAY): PIE becomes inactive at p = 0 with two samples below half the target.
#[test]
fn rfc8033_5_3_deactivates_when_congestion_is_over() {
    let mut pie = Pie::new("sleep=half beta=0");
    pie.offer(400, 0.0, Ecn::NotEct);
    for (n, delay, awake) in [(1.0, 8.0, 1.0), (2.0, 7.0, 1.0), (3.0, 7.0, 0.0)] {
        pie.then_delay(5, delay, 15.0 * n);
        assert_eq!((pie.get("p"), pie.get("awake")), (0.0, awake), "{delay} ms in update {n}");
    }
}

/// RFC 8033 section 5.4 (MAY): drops may be at least 0.85/p packets apart.
#[test]
fn rfc8033_5_4_drops_may_have_a_minimum_gap() {
    let gaps = |words: &str| {
        let mut pie = Pie::congested(0.05, &format!("ecn=off {words}"));
        let mut drops = vec![];
        for n in 0..20_000 {
            if pie.queue.port.pkts() > 900 {
                pie.queue.depart(at(20.0));
            }
            if pie.offer(1, 20.0, Ecn::NotEct).0 > 0 {
                drops.push(n);
            }
        }
        drops.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    let spaced = gaps("derandomise=on");
    assert_eq!(spaced.iter().min(), Some(&17));
    assert_eq!(gaps("derandomise=off").iter().min(), Some(&1), "independent drops may be adjacent");
}

/// RFC 8033 section 5.4 (MAY): a drop may be forced after 8.5/p packets without a drop.
#[test]
fn rfc8033_5_4_long_gap_may_force_a_drop() {
    let drops = |p: f64, words: &str| {
        let alpha = p / 0.010;
        let fixed = "ecn=off autotune=off beta=0 target=10ms tupdate=20ms max_burst=0";
        let mut pie =
            Spec::parse(&format!("pie {fixed} alpha={alpha} {words}")).expect("a valid discipline").build(&LINK);
        let mut port = Port::new(LINK, 1, false);
        // Its first number is the largest possible one, so a random drop never occurs.
        let never = || Rng::from_state([0, 1, 0, u64::MAX]);
        for slot in 0..200 {
            if slot == 100 {
                pie.dequeue(&mut port, &mut Cx::new(at(20.0), &mut never()));
                pie.tick(&mut port, &mut Cx::new(at(20.0), &mut never()));
            }
            let now = at(if slot < 100 { 0.0 } else { 20.0 });
            pie.enqueue(Packet { slot, ..packet(Ecn::NotEct) }, &mut port, &mut Cx::new(now, &mut never()));
        }
        port.discarded().drain(..).map(|(packet, _)| packet.slot - 99).collect::<Vec<_>>()
    };
    assert_eq!(drops(0.5, "derandomise=on"), [17, 34, 51, 68, 85]);
    assert_eq!(drops(0.25, "derandomise=on"), [34, 68]);
    assert_eq!(drops(0.5, "derandomise=off"), []);
}

/// RFC 8033 section 5.5 (MAY): from p = 0.1 on, an update may add at most 0.02.
#[test]
fn rfc8033_5_5_increases_may_be_capped() {
    let second = |words: &str| {
        let mut pie = Pie::congested(0.15, words);
        pie.queue.depart(at(40.0));
        pie.update(40.0);
        pie.get("p")
    };
    assert!(close(second("cap=on"), 0.17));
    assert!(close(second("cap=off"), 0.15 + 0.45), "15 x 30 ms");
}

/// RFC 8033 section 6 (MAY): alpha and beta may be rounded to powers of 2; the defaults are 1/8 and 1 + 1/4.
#[test]
fn rfc8033_6_gains_are_sums_of_powers_of_two() {
    let pie = Pie::new("");
    assert_eq!((pie.spec.get("alpha").as_deref(), pie.spec.get("beta").as_deref()), (Some("0.125"), Some("1.25")));
    assert!(Spec::parse("pie alpha=0.25 beta=1").is_ok());
}
