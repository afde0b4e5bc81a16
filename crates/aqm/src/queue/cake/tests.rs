//! CAKE as a whole: rates that Linux 6.12.117 had, and the rules that several parts implement together.

use alloc::vec::Vec;

use super::*;
use crate::base::host::Queue;
use crate::base::packet::{Ack, Hosts};
use crate::base::rng::Rng;
use crate::base::units::Limit;
use crate::testing::by_hand::{ms, params, us};

/// A link that is faster than every shaper here.
const LINK: Link = Link { rate: Rate(1_000_000_000), limit: Limit::Packets(10_000), mean_packet: Bytes(1000) };

fn queue(settings: &str) -> Queue<Cake> {
    let params: Params = params(settings);
    Queue::new(Cake::build(&params, &LINK), LINK, true, Rng::stream(1, "cake"))
}

/// A packet of 1042 bytes, as Linux sees a frame with 1000 bytes of UDP payload.
const FRAME: Packet = Packet {
    arrived: Instant::ZERO,
    slot: 0,
    len: 1042,
    flow: 0,
    pair: 0,
    hosts: Hosts { source: 0, destination: 0 },
    ack: Ack::from_bits(0),
    class: 0,
    colour: crate::base::packet::Colour::In,
    proto: crate::base::packet::Proto::Udp,
    dscp: 0,
    ecn: crate::base::packet::Ecn::NotEct,
};

fn of(flow: u32, source: u16, destination: u16) -> Packet {
    Packet { flow, hosts: Hosts { source, destination }, ..FRAME }
}

fn in_class(flow: u32, dscp: u8) -> Packet {
    Packet { flow, dscp, ..FRAME }
}

/// Packets per second of each flow, each of which always has a backlog of 20 packets. Flow i has the number i.
fn rates(settings: &str, flows: &[Packet]) -> Vec<f64> {
    let mut queue = queue(&alloc::format!("hash=exact {settings}"));
    let (mut waiting, mut sent) = (alloc::vec![0; flows.len()], alloc::vec![0; flows.len()]);
    let (mut now, begin, end) = (Instant::ZERO, ms(2_000), ms(22_000));
    while now < end {
        for (packet, waiting) in flows.iter().zip(&mut waiting) {
            while *waiting < 20 {
                queue.arrive(*packet, now);
                *waiting += 1;
            }
        }
        let packet = queue.depart(now);
        for (packet, _) in queue.port.discarded().drain(..).collect::<Vec<_>>() {
            waiting[packet.flow as usize] -= 1;
        }
        match packet {
            Some(packet) => {
                waiting[packet.flow as usize] -= 1;
                sent[packet.flow as usize] += i32::from(now >= begin);
            }
            None => now = queue.held_until().expect("packets wait"),
        }
    }
    sent.iter().map(|sent| f64::from(*sent) / 20.0).collect()
}

fn assert_rates(settings: &str, flows: &[Packet], linux: &[f64]) {
    let ours = rates(settings, flows);
    // Linux was measured over some seconds: 0.15 packets/s, and 0.1 %.
    let near = ours.iter().zip(linux).all(|(a, b)| (a - b).abs() < 0.15 + 1e-3 * b);
    assert!(near && ours.len() == linux.len(), "{settings}: {ours:?}, Linux {linux:?}");
}

/// One flow at 10 Mb/s with frames of Ethernet.
#[test]
fn overheads_give_the_rates_of_linux() {
    let small = Packet { len: 60, ..FRAME };
    for (overhead, packet, rate) in [
        ("raw", FRAME, 1199.6),
        ("0", FRAME, 1216.0),
        ("atm/40", FRAME, 1025.4),
        ("pppoe-ptm", FRAME, 1162.8),
        ("ethernet", small, 14_880.9),
    ] {
        let settings = alloc::format!("bandwidth=10mbit header=14b overhead={overhead}");
        assert_rates(&settings, &[packet], &[rate]);
    }
}

/// A tin has strict priority up to its threshold, and the rest of the link if the others leave it.
#[test]
fn tins_share_the_link_as_in_linux() {
    let offered = |codepoints: &[u8]| -> Vec<Packet> {
        codepoints.iter().enumerate().map(|(flow, dscp)| in_class(flow as u32, *dscp)).collect()
    };
    let (cs0, cs1, cs4, ef) = (0, 8, 32, 46);
    for (tins, codepoints, linux) in [
        ("diffserv3", &[cs0, ef][..], &[899.7, 299.9][..]),
        ("diffserv3", &[cs0, cs1], &[1124.5, 75.1]),
        ("diffserv3", &[ef], &[1199.7]),
        ("diffserv4", &[cs0, cs1, cs4, ef], &[824.5, 75.1, 150.0, 150.0]),
        ("diffserv8", &[cs0, cs1, cs4, ef], &[661.2, 0.0, 269.2, 269.2]),
        ("precedence", &[cs0, cs1, cs4, ef], &[0.0, 0.0, 584.3, 615.3]),
    ] {
        let ours = rates(&alloc::format!("bandwidth=10mbit tins={tins} hash=exact"), &offered(codepoints));
        let near = ours.iter().zip(linux).all(|(a, b)| (a - b).abs() < 1.0);
        assert!(near, "{tins} {codepoints:?}: {ours:?}, Linux {linux:?}");
    }
}

/// One flow of host A, four of host B, equal packets at 10 Mb/s.
#[test]
fn hosts_share_the_link_as_in_linux() {
    let same: Vec<Packet> = (0..5).map(|flow| of(flow, u16::from(flow > 0), 9)).collect();
    let apart: Vec<Packet> = (0..5).map(|flow| of(flow, u16::from(flow > 0), 10 + flow as u16)).collect();
    for (flows, [together, separate]) in [
        ("flows", [[240.0, 239.9]; 2]),
        ("dual-srchost", [[599.7, 150.0]; 2]),
        ("dual-dsthost", [[240.0, 239.9]; 2]),
        ("triple-isolate", [[240.0, 239.9], [599.7, 150.0]]),
        ("hosts", [[599.9, 149.9], [240.0, 239.9]]),
    ] {
        for (packets, [a, b]) in [(&same, together), (&apart, separate)] {
            let ours = rates(&alloc::format!("bandwidth=10mbit tins=besteffort flows={flows}"), packets);
            // Flows of B in one queue share it by their order.
            let all = ours[1..].iter().sum::<f64>() / 4.0;
            assert!((ours[0] - a).abs() < 0.8 && (all - b).abs() < 0.4, "{flows}: {ours:?}, Linux {a} and {b}");
        }
    }
}

#[test]
fn flows_share_the_link_in_bytes() {
    let flows = [Packet { len: 1442, ..FRAME }, Packet { len: 142, flow: 1, ..FRAME }];
    let ours = rates("bandwidth=10mbit tins=besteffort", &flows);
    assert!((ours[0] - 433.5).abs() < 1.0 && (ours[1] - 4400.9).abs() < 10.0, "{ours:?}");
}

#[test]
fn without_shaper_tins_share_in_bytes() {
    // Quanta of 1024 and 64.
    let mut queue = queue("hash=exact memory=wire");
    let mut sent = [0_i32; 2];
    let mut waiting = [0; 2];
    for n in 0..4000 {
        for flow in 0..2 {
            while waiting[flow] < 10 {
                queue.arrive(in_class(flow as u32, [0, 8][flow]), ms(n / 100));
                waiting[flow] += 1;
            }
        }
        let packet = queue.depart(ms(n / 100)).expect("packets wait");
        sent[packet.flow as usize] += 1;
        waiting[packet.flow as usize] -= 1;
        queue.port.discarded().drain(..).for_each(|(packet, _)| waiting[packet.flow as usize] -= 1);
    }
    assert!((sent[0] - 16 * sent[1]).abs() < 64, "{sent:?}");
}

#[test]
fn packet_of_a_new_flow_leaves_next() {
    let mut queue = queue("bandwidth=1mbit tins=besteffort hash=exact");
    (0..20).for_each(|slot| queue.arrive(Packet { slot, ..of(1, 0, 0) }, ms(0)));
    let first = queue.depart(ms(0)).map(|packet| packet.slot);
    assert_eq!((first, queue.depart(ms(1))), (Some(0), None));
    let held = queue.held_until();
    assert_eq!(held.map(Instant::nanos), Some(8_336_000), "1042 bytes at 125000 bytes/s");
    queue.arrive(Packet { slot: 99, ..of(2, 0, 0) }, ms(2));
    assert_eq!(held.and_then(|at| queue.depart(at)).map(|packet| packet.slot), Some(99));
}

#[test]
fn bandwidth_link_is_the_rate_of_the_link() {
    let pace = |settings: &str, rate| {
        let link = Link { rate: Rate(rate), ..LINK };
        let cake = Cake::build(&params(settings), &link);
        (cake.rate(), cake.tins[0].quantum)
    };
    let own = pace("bandwidth=link tins=besteffort", 2_000_000);
    assert_eq!(own, pace("bandwidth=2mbit tins=besteffort", 1_000_000_000));
    assert_eq!(own, (250_000, 300), "2 Mbit/s: the least quantum");
}

/// 1 Mb/s, packets of 1250 bytes. The second is due at 10 ms and asked for at 14 ms.
#[test]
fn late_service_leaves_the_clock_as_it_was() {
    let mut queue = queue("bandwidth=1mbit");
    let packet = Packet { len: 1250, ..FRAME };
    (0..2).for_each(|_| queue.arrive(packet, ms(0)));
    assert!(queue.depart(ms(0)).is_some() && queue.depart(ms(9)).is_none() && queue.depart(ms(14)).is_some());
    queue.arrive(packet, ms(15));
    assert!(queue.depart(ms(15)).is_none());
    assert_eq!(queue.held_until(), Some(ms(20)), "not 24");
    assert!(queue.depart(ms(20)).is_some());
    queue.arrive(packet, ms(35));
    assert!(queue.depart(ms(35)).is_some(), "an idle clock begins at the arrival");
}

/// Flows 1024, 2048... belong to one set of eight ways.
#[test]
fn ninth_flow_of_a_set_collides() {
    let mut queue = queue("hash=exact tins=besteffort flows=flows");
    for flow in 1..=9 {
        queue.arrive(of(1024 * flow, 0, 0), ms(0));
    }
    let ways = queue.discipline().tins[0].seen.ways;
    assert_eq!((ways.hits, ways.misses, ways.collisions), (0, 8, 1));
    queue.arrive(of(1024 * 3, 0, 0), ms(0));
    assert_eq!(queue.discipline().tins[0].seen.ways.hits, 1);
    // The first flow has lost its queue to the ninth: it collides too.
    queue.arrive(of(1024, 0, 0), ms(0));
    assert_eq!(queue.discipline().tins[0].seen.ways.collisions, 2);
    assert!((0..11).all(|_| queue.depart(ms(0)).is_some()));
}

#[test]
fn overflow_drops_from_the_longest_queue_of_all_tins() {
    let mut queue = queue("hash=exact memory=wire memlimit=4000b bandwidth=1mbit");
    for (slot, dscp) in [(0, 0), (1, 0), (2, 46), (3, 46)] {
        let len = if dscp == 46 { 900 } else { 1000 };
        queue.arrive(Packet { slot, len, ..in_class(u32::from(dscp), dscp) }, ms(0));
    }
    queue.arrive(Packet { slot: 4, len: 500, ..in_class(7, 8) }, ms(20));
    let dropped: Vec<(u32, Reason)> = queue.port.discarded().drain(..).map(|(p, reason)| (p.slot, reason)).collect();
    assert_eq!(dropped, [(0, Reason::Early)], "the head of 2000 bytes");
    let best_effort = &queue.discipline().tins[0].flows.cobalt[0];
    assert!(best_effort.is_blue() && queue.discipline().tins[0].seen.unresponsive == 1);
    assert_eq!(queue.discipline().shared.memory[..2], [3300, 3800]);
}

#[test]
fn too_long_arrival_is_dropped_itself() {
    let mut queue = queue("memory=wire memlimit=1000b");
    queue.arrive(Packet { len: 1001, ..FRAME }, ms(0));
    assert_eq!((queue.port.discarded().len(), queue.port.pkts(), queue.depart(ms(0))), (1, 0, None));
}

/// With ingress, a dropped packet takes its time on the link too.
#[test]
fn ingress_charges_dropped_packets() {
    let next = |ingress: &str| {
        let settings = alloc::format!("bandwidth=1mbit memory=wire memlimit=1500b hash=exact ingress={ingress}");
        let mut queue = queue(&settings);
        let packet = Packet { len: 1250, ..FRAME };
        (0..2).for_each(|_| queue.arrive(packet, ms(0)));
        assert!(queue.depart(ms(0)).is_none() == (ingress == "on"));
        queue.held_until()
    };
    assert_eq!(next("off"), None);
    // The clock is at 10 ms, but the failsafe at 0: it does not hold the packet back.
    let mut queue = queue("bandwidth=1mbit memory=wire memlimit=1500b hash=exact ingress=on");
    (0..2).for_each(|_| queue.arrive(Packet { len: 1250, ..FRAME }, ms(0)));
    assert!(queue.depart(ms(0)).is_some());
    queue.arrive(FRAME, ms(1));
    assert_eq!((queue.depart(ms(1)), queue.held_until()), (None, Some(ms(15))), "failsafe: 1.5 packets");
}

#[test]
fn filter_keeps_the_last_two_acknowledgements() {
    let mut queue = queue("ack_filter=on hash=exact");
    let proto = crate::base::packet::Proto::Tcp;
    for slot in 0..10 {
        queue.arrive(Packet { slot, len: 40, ack: Ack::pure(slot), proto, ..FRAME }, ms(0));
    }
    let left: Vec<u32> = core::iter::from_fn(|| queue.depart(ms(0))).map(|packet| packet.slot).collect();
    assert_eq!((left, queue.discipline().tins[0].seen.acks, queue.port.discarded().len()), (alloc::vec![8, 9], 8, 8));
    assert_eq!(queue.discipline().shared.memory[0], 0);
}

#[test]
fn wash_clears_the_codepoint_after_selecting_the_tin() {
    for (wash, left) in [("on", 0), ("off", 46)] {
        let mut queue = queue(&alloc::format!("wash={wash}"));
        queue.arrive(in_class(0, 46), ms(0));
        assert_eq!(queue.discipline().tins[2].waiting, 1);
        assert_eq!(queue.depart(ms(0)).map(|packet| packet.dscp), Some(left));
    }
}

/// A queue that becomes empty decays for an interval. An arrival in this time makes its flow sparse again.
#[test]
fn empty_queues_decay_before_they_are_idle() {
    let mut queue = queue("hash=exact tins=besteffort");
    let counts = |queue: &Queue<Cake>| {
        let flows = &queue.discipline().tins[0].flows;
        (flows.sparse, flows.bulk, flows.decay)
    };
    queue.arrive(of(1, 0, 0), ms(0));
    queue.arrive(of(2, 0, 0), ms(0));
    assert!(queue.depart(ms(0)).is_some() && counts(&queue) == (2, 0, 0));
    assert!(queue.depart(ms(0)).is_some() && counts(&queue) == (1, 0, 1), "the first queue was found empty");
    queue.arrive(of(1, 0, 0), ms(50));
    assert_eq!(counts(&queue), (2, 0, 0));
    assert!(queue.depart(ms(50)).is_some());
    queue.arrive(of(3, 0, 0), ms(400));
    assert!(queue.depart(ms(400)).is_some());
    queue.arrive(of(3, 0, 0), ms(400));
    queue.arrive(of(3, 0, 0), ms(400));
    assert!(queue.depart(ms(401)).is_some() && queue.depart(ms(402)).is_some());
    assert!(counts(&queue).2 <= 1, "{:?}", counts(&queue));
}

#[test]
fn autorate_follows_the_arrivals() {
    let mut queue = queue("autorate=on bandwidth=1mbit tins=besteffort");
    let mut now = Instant::ZERO;
    for n in 0..3000_u64 {
        // 10 Mb/s with gaps of different lengths.
        now += Span::from_micros(if n % 2 == 0 { 500 } else { 1_167 });
        queue.arrive(FRAME, now);
        while queue.depart(now).is_some() {}
    }
    let rate = 8.0 * queue.discipline().rate() as f64;
    assert!((7e6..20e6).contains(&rate), "{rate}");
}

#[test]
fn retuning_keeps_packets_and_refuses_other_tins() {
    let mut queue = queue("bandwidth=1mbit salt=7");
    (0..5).for_each(|_| queue.arrive(FRAME, ms(0)));
    let faster = queue.discipline().retuned(&params("bandwidth=100mbit salt=7 rtt=10ms"), &LINK).unwrap();
    *queue.discipline_mut() = faster;
    assert!((0..5).all(|n| queue.depart(us(100 * n)).is_some()));
    let refused = |settings: &str| queue.discipline().retuned(&params(settings), &LINK).is_none();
    assert!(refused("tins=besteffort") && refused("salt=8") && refused("flows=hosts") && refused("memory=wire"));
}

/// Without collisions the packets of a flow leave in order.
#[test]
fn packets_of_a_flow_stay_in_order() {
    let mut queue = queue("bandwidth=5mbit hash=exact tins=besteffort memlimit=60kb");
    let (mut rng, mut now) = (Rng::stream(3, "order"), Instant::ZERO);
    let mut last = [0; 40];
    for slot in 1..20_000 {
        now += Span::from_micros(rng.below(1000));
        let flow = rng.below(40) as u32;
        queue.arrive(Packet { slot, len: 100 + rng.below(1400) as u32, ..of(flow, flow as u16 % 5, 0) }, now);
        if let Some(packet) = queue.depart(now) {
            let last = &mut last[packet.flow as usize];
            assert!(packet.slot > *last);
            *last = packet.slot;
        }
        queue.port.discarded().clear();
        let cake = queue.discipline();
        let waiting: u32 = cake.tins.iter().map(|tin| tin.waiting).sum();
        assert_eq!(waiting, queue.port.pkts());
    }
    assert!(queue.discipline().tins[0].seen.drops > 100);
}

/// The probe called `name`.
fn probe(queue: &Queue<Cake>, name: &str) -> f64 {
    let index = Cake::PROBES.iter().position(|probe| probe.name == name).expect(name);
    queue.discipline().probe(index)
}

#[test]
fn each_tin_has_the_statistics_of_tc() {
    let mut queue = queue("bandwidth=10mbit tins=diffserv4");
    // DSCP 0 is in tin 0 (best effort), 8 in tin 1 (bulk), 24 in tin 2 (video), 46 in tin 3 (voice).
    for (flow, dscp) in [(0, 0), (1, 8), (2, 24), (3, 46), (3, 46)] {
        queue.arrive(in_class(flow, dscp), Instant::ZERO);
    }
    let all = |name: &str| [0, 1, 2, 3, 4].map(|tin| probe(&queue, &alloc::format!("{name}_{tin}")));
    assert_eq!(all("pkts"), [1.0, 1.0, 1.0, 2.0, 0.0]);
    assert_eq!(all("backlog"), [1042.0, 1042.0, 1042.0, 2084.0, 0.0]);
    assert_eq!(all("bytes"), all("backlog"));
    assert_eq!(all("sp_flows"), [1.0, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(all("max_len"), [1042.0, 1042.0, 1042.0, 1042.0, 0.0]);
    // Best effort has the whole rate, bulk a sixteenth, video a half, voice a quarter.
    let thresholds = [10e6, 625e3, 5e6, 2.5e6, 0.0];
    assert!(all("thresh").iter().zip(thresholds).all(|(a, b)| (a - b).abs() < 10.0), "{:?}", all("thresh"));
    let quanta = all("quantum");
    queue.depart(ms(8));
    let delays = ["pk_delay_3", "delay_3", "sp_delay_3"].map(|name| probe(&queue, name));
    assert_eq!(delays.map(|s| (s * 1e9) as u64), [2_000_000, 31_250, 31_250]);
    assert_eq!(quanta, [305.0, 300.0, 300.0, 300.0, 0.0]);
}

#[test]
fn probes_in_use_are_those_of_existing_tins() {
    let of = |tins: &str| crate::Spec::parse(&alloc::format!("cake tins={tins}")).expect("settings").probes();
    let last = |tins| of(tins).last().map(|probe| probe.name);
    assert_eq!(last("besteffort"), Some("quantum_0"));
    assert_eq!(last("diffserv3"), Some("quantum_2"));
    assert_eq!(last("diffserv8"), Some("quantum_7"));
    assert_eq!(of("diffserv8").len(), Cake::PROBES.len());
    assert_eq!(Cake::PROBES[WITHOUT_TINS].name, "backlog_0");
}
