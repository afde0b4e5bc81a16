//! MSVB and RED+Tail against literal transcriptions of their rules: the same random traces, the same
//! uniforms, and then the same verdict on every packet, the same order, the same state.

mod reference_more;

use std::collections::BTreeMap;

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet, Proto};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::base::verdict::Reason;
use forebay_aqm::{AnyDiscipline, Spec};
use reference_more::{Net, Outcome, Pkt, Rule, msvb, red_tail};

const TRACES: u64 = 400;
const ARRIVALS: u32 = 3000;
/// A branch that all traces together take less often than this is not tested.
const ENOUGH: u64 = 50;
/// Relative difference that the order of additions may make.
const ROUNDING: f64 = 1e-9;

/// One step of random choice.
struct Dice(Rng);

impl Dice {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.0.uniform()
    }

    /// Every order of magnitude equally likely.
    fn scale(&mut self, lo: f64, hi: f64) -> f64 {
        lo * (hi / lo).powf(self.0.uniform())
    }

    fn odds(&mut self, p: f64) -> bool {
        self.0.uniform() < p
    }
}

/// The two sides of the comparison.
struct Sides {
    spec: Spec,
    queue: Queue<AnyDiscipline>,
    rule: Box<dyn Rule>,
    chance: Rng,
}

impl Sides {
    fn new(text: &str, net: &Net, rule: Box<dyn Rule>, seed: u64) -> Self {
        let spec = Spec::parse(&format!("{text} ecn={}", if net.ecn { "on" } else { "off" })).expect("legal settings");
        let limit = if net.limit_in_bytes { Limit::Bytes(net.limit) } else { Limit::Packets(net.limit as u32) };
        let link = Link { rate: Rate(net.bandwidth), limit, mean_packet: Bytes(net.mean_pktsize) };
        let chance = Rng::stream(seed, "chance");
        let queue = Queue::new(spec.build(&link), link, net.ecn, chance.clone());
        Self { spec, queue, rule, chance }
    }

    fn arrive(&mut self, pkt: Pkt, now: u64) {
        let (ecn, proto) =
            (if pkt.ect { Ecn::Ect0 } else { Ecn::NotEct }, if pkt.udp { Proto::Udp } else { Proto::Tcp });
        let Pkt { id, size, class, flow, pair, .. } = pkt;
        let marked = self.queue.port.tally().marked.pkts;
        let packet = Packet { slot: id, len: size, class, flow, pair, ecn, proto, ..Packet::default() };
        self.queue.arrive(packet, Instant::from_nanos(now));
        let got = match self.queue.port.discarded().pop() {
            Some((_, Reason::Early)) => Outcome::Early,
            Some((_, Reason::Overflow)) => Outcome::Overflow,
            None if self.queue.port.tally().marked.pkts > marked => Outcome::Marked,
            None => Outcome::Queued,
        };
        let want = self.rule.enque(pkt, now, self.chance.uniform());
        assert_eq!(got, want, "{pkt:?} at {now} ns: {}", self.spec.canonical());
        self.compare(now);
    }

    fn depart(&mut self, now: u64) -> Option<Packet> {
        let sent = self.queue.depart(Instant::from_nanos(now));
        let want = self.rule.deque(now, sent.map(|packet| packet.slot));
        assert_eq!(sent.map(|packet| packet.slot), want, "departure at {now} ns: {}", self.spec.canonical());
        self.compare(now);
        sent
    }

    fn compare(&self, now: u64) {
        let probes = self.spec.entry().probes;
        for (name, want, scale) in self.rule.shown() {
            let index = probes.iter().position(|probe| probe.name == name).expect("a probe of that name");
            let got = self.queue.discipline().probe(index);
            let allowed = ROUNDING * want.abs().max(scale);
            assert!((got - want).abs() <= allowed, "{name} at {now} ns: {got} {want}: {}", self.spec.canonical());
        }
        assert_eq!(self.queue.port.pkts() as usize, self.rule.backlog(), "backlog at {now} ns");
    }
}

fn net(dice: &mut Dice) -> Net {
    let (bandwidth, mean_pktsize) = (dice.scale(5e5, 5e7) as u64, dice.pick(&[500, 1000]));
    let limit_in_bytes = dice.odds(0.5);
    let packets = dice.scale(2.0, 300.0) as u64;
    Net {
        bandwidth,
        limit: if limit_in_bytes { packets * mean_pktsize } else { packets },
        limit_in_bytes,
        mean_pktsize,
        ecn: dice.odds(0.5),
    }
}

/// Steady, bursts at one instant, silences of up to 10 s; the link sends whenever it can.
fn drive(sides: &mut Sides, net: &Net, dice: &mut Dice) {
    let packet_time = net.mean_pktsize as f64 * 8e9 / net.bandwidth as f64;
    let (flows, ect, one_size) = (dice.pick(&[1, 3, 12, 40]), dice.pick(&[0.0, 0.5, 1.0]), dice.odds(0.5));
    let (mut now, mut free, mut idle) = (0, 0, true);
    let (mut left, mut gap) = (0, 0.0);
    for id in 0..ARRIVALS {
        if left == 0 {
            let silence = if dice.odds(0.2) { dice.scale(1e6, 1e10) } else { 0.0 };
            let burst = dice.odds(0.2);
            now += silence as u64;
            left = if burst { dice.scale(2.0, 100.0) } else { dice.scale(20.0, 800.0) } as u64;
            gap = if burst { 0.0 } else { packet_time / dice.between(0.4, 2.5) };
        }
        left -= 1;
        now += dice.0.exponential(gap) as u64;
        while !idle && free <= now {
            idle = !send(sides, net, dice, &mut free);
        }
        let flow = dice.0.below(flows) as u32;
        let size = if one_size { net.mean_pktsize as u32 } else { dice.scale(40.0, 1500.0) as u32 };
        let class = if flow == 12 { 40 } else { (flow % 13) as u8 };
        let pkt = Pkt { id, size, class, flow, pair: flow / 3, udp: flow % 7 == 6, ect: dice.odds(ect) };
        sides.arrive(pkt, now);
        if idle {
            free = now;
            idle = !send(sides, net, dice, &mut free);
        }
    }
    while !idle {
        idle = !send(sides, net, dice, &mut free);
    }
}

/// One packet at `free`, which moves on by about its time on the wire.
fn send(sides: &mut Sides, net: &Net, dice: &mut Dice, free: &mut u64) -> bool {
    let sent = sides.depart(*free);
    let time = sent.map_or(0.0, |packet| f64::from(packet.len) * 8e9 / net.bandwidth as f64);
    *free += (time * dice.between(0.9, 1.2)) as u64;
    sent.is_some()
}

/// Runs all traces; every branch that the rule names must have been taken often enough.
fn run(name: &str, mut make: impl FnMut(&Net, &mut Dice) -> (String, Box<dyn Rule>)) {
    let mut seen = BTreeMap::new();
    for seed in 0..TRACES {
        let mut dice = Dice(Rng::stream(seed, name));
        let net = net(&mut dice);
        let (text, rule) = make(&net, &mut dice);
        let mut sides = Sides::new(&text, &net, rule, seed);
        drive(&mut sides, &net, &mut dice);
        for (what, times) in &sides.rule.seen().0 {
            *seen.entry(*what).or_insert(0) += times;
        }
    }
    let rare: Vec<_> = seen.iter().filter(|(_, times)| **times < ENOUGH).collect();
    assert!(rare.is_empty(), "{name}: hardly ever seen: {rare:?}");
}

fn per_class(dice: &mut Dice, lo: f64, hi: f64) -> (String, [f64; msvb::CLASSES]) {
    let given: Vec<f64> = (0..dice.pick(&[1, 1, 4, 10])).map(|_| dice.between(lo, hi)).collect();
    let text = given.iter().map(f64::to_string).collect::<Vec<_>>().join("/");
    (text, std::array::from_fn(|class| given[class % given.len()]))
}

#[test]
fn msvb_follows_eq_2() {
    run("msvb", |net, dice| {
        let (alpha_text, alpha) = per_class(dice, 0.05, 1.5);
        let (phi_text, phi) = per_class(dice, 0.0, 0.4);
        let offered = dice.odds(0.3);
        let mut text = format!(
            "msvb alpha={alpha_text} phi={phi_text} rate_basis={}",
            if offered { "offered" } else { "accepted" }
        );
        let (mut bytes, unit) = dice.pick(&[(false, "p"), (true, "b")]);
        let buffer = net.buffer(bytes);
        let (mut cap, mut init, mut floor) = (dice.between(0.05, 1.5) * buffer, 0.0, 0.0);
        let mut given = false;
        if dice.odds(0.7) {
            text += &format!(" b_cap={cap}{unit}");
            given = true;
        }
        if dice.odds(0.5) {
            init = dice.between(0.0, if given { cap } else { 0.5 * buffer });
            text += &format!(" b_init={init}{unit}");
            if !given {
                cap = 0.5 * buffer;
            }
            given = true;
        } else if given {
            init = cap;
        }
        if !given {
            bytes = net.limit_in_bytes;
            (cap, init) = (0.5 * net.buffer(bytes), 0.5 * net.buffer(bytes));
        }
        if dice.odds(0.3) {
            text += " b_floor=auto";
            floor = 0.1 * cap;
            init = init.max(floor);
        }
        (text, Box::new(msvb::Msvb::new(*net, msvb::Settings { alpha, phi, cap, init, floor, bytes, offered })))
    });
}

#[test]
fn red_tail_follows_sections_3_and_5() {
    run("red_tail", |net, dice| {
        let c = net.capacity(true);
        let (bytes1, bytes2) = (dice.odds(0.7), dice.odds(0.7));
        let (minth1, maxth1) =
            (dice.between(0.0, 0.1) * net.buffer(bytes1), (dice.between(0.11, 0.6) * net.buffer(bytes1)).max(1.0));
        let (minth2, maxth2) =
            (dice.between(0.02, 0.2) * net.buffer(bytes2), (dice.between(0.21, 0.6) * net.buffer(bytes2)).max(1.0));
        let unit = |bytes| if bytes { "b" } else { "p" };
        let (u1, u2) = (unit(bytes1), unit(bytes2));
        let (n, t) = (dice.pick(&[0, 1, 5, 20, 64]), dice.scale(1e7, 1e10) as u64);
        let mut text = format!(
            "red_tail n={n} t={t}ns min_th1={minth1}{u1} max_th1={maxth1}{u1} min_th2={minth2}{u2} max_th2={maxth2}{u2}"
        );
        let c1_max = match dice.0.below(3) {
            0 => 0.75 * c,
            1 => {
                let fraction = dice.pick(&[0.3, 0.6, 1.0]);
                text += &format!(" c1_max={fraction}");
                fraction * c
            }
            _ => {
                let rate = (dice.between(0.1, 1.5) * net.bandwidth as f64) as u64;
                text += &format!(" c1_max={rate}bit");
                (rate as f64 / 8.0).min(c)
            }
        };
        let c1_min = match dice.0.below(2) {
            0 => minth1 / maxth1 * c,
            _ => {
                let fraction = dice.pick(&[0.0, 0.1, 0.3]);
                text += &format!(" c1_min={fraction}");
                fraction * c
            }
        };
        let (p_l, p_u) = if dice.odds(0.5) { (dice.scale(1e-4, 0.01), dice.scale(0.01, 0.1)) } else { (0.0, 0.0) };
        text += &format!(" p_l={p_l} p_u={p_u}");
        let (drr, by_flow) = (dice.odds(0.3), dice.odds(0.3));
        text += if drr { " scheduler=drr" } else { " scheduler=clocks" };
        text += if by_flow { " key=flow" } else { " key=pair" };
        let c1_min = c1_min.min(c1_max);
        let set = red_tail::Settings {
            n,
            t,
            c1_min,
            c1_max,
            bytes1,
            minth1,
            maxth1,
            bytes2,
            minth2,
            maxth2,
            p_l,
            p_u,
            drr,
            by_flow,
        };
        (text, Box::new(red_tail::RedTail::new(*net, set)))
    });
}
