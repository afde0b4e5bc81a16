//! Every discipline against a literal transcription of its published listing: the same random traces,
//! the same uniforms, and then the same verdict on every packet, the same order, the same state.

mod reference;

use std::collections::BTreeMap;

use forebay_aqm::base::host::Queue;
use forebay_aqm::base::packet::{Ecn, Packet};
use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units::{Bytes, Limit, Link, Rate};
use forebay_aqm::base::verdict::Reason;
use forebay_aqm::{AnyDiscipline, Spec};
use reference::{Departure, Listing, Net, Outcome, Pkt, SECOND, Unit};

const TRACES: u64 = 240;
const ARRIVALS: usize = 2500;
/// A branch that the traces take less often than this is not tested.
const ENOUGH: u64 = 20;

const MS: u64 = 1_000_000;

/// One step of random choice.
struct Dice(Rng);

impl Dice {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    fn upto(&mut self, lo: u64, hi: u64) -> u64 {
        lo + self.0.below(hi - lo + 1)
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

/// Who arrives when, in front of which link.
struct Trace {
    net: Net,
    /// Everything happens at multiples of half a millisecond, a packet takes one.
    grid: bool,
    arrivals: Vec<(u64, u32, Ecn)>,
    departures_first: bool,
    /// Service time of each packet over its nominal one: from, to.
    service: (f64, f64),
}

fn net(dice: &mut Dice, grid: bool) -> Net {
    let (bandwidth, mean_pktsize) = match grid {
        true => (8_000_000, 1000),
        false => (dice.scale(3e5, 5e7) as u64, dice.pick(&[500, 1000, 1500])),
    };
    let packets = match dice.upto(0, 9) {
        0 => dice.upto(1, 3),
        1..4 => dice.upto(4, 30),
        _ => dice.upto(30, 300),
    };
    let limit_in = dice.pick(&[Unit::Pkts, Unit::Pkts, Unit::Bytes]);
    let limit = if limit_in == Unit::Pkts { packets } else { packets * mean_pktsize };
    Net { bandwidth, limit, limit_in, mean_pktsize, setbit: dice.odds(0.5) }
}

/// Random traffic: steady, bursts at one instant, regular, silences of up to 10 s, long overload.
fn trace(dice: &mut Dice, one_size: bool) -> Trace {
    let grid = dice.odds(0.25);
    let net = net(dice, grid);
    let packet_time = net.mean_pktsize as f64 * 8.0 * SECOND / net.bandwidth as f64;
    let ect = dice.pick(&[0.0, 0.5, 1.0]);
    let mut arrivals = vec![];
    let mut t = 0.0;
    while arrivals.len() < ARRIVALS {
        let kind = dice.upto(0, 9);
        let load = dice.between(0.3, 3.0);
        let (mut packets, gap) = match kind {
            0..4 => (dice.upto(20, 600), packet_time / load),
            4..6 => (dice.upto(1, 100), 0.0),
            6 => (dice.upto(10, 200), dice.pick(&[1.0, 2.0, 5.0, 10.0]) * MS as f64),
            7 => (0, 0.0),
            _ => (dice.upto(300, 1500), packet_time / dice.between(1.02, 1.5)),
        };
        if kind == 7 {
            t += dice.scale(1e-3, 10.0) * SECOND;
        }
        if kind == 6 {
            t = (t / MS as f64).ceil() * MS as f64;
        }
        while packets > 0 {
            packets -= 1;
            t += if kind == 6 { gap } else { dice.0.exponential(gap) };
            let size = match dice.upto(0, 3) {
                _ if grid || one_size => net.mean_pktsize as u32,
                0 => dice.upto(40, 1500) as u32,
                _ => dice.pick(&[40, 500, 1000, 1500]),
            };
            let codepoint = if dice.odds(ect) { dice.pick(&[Ecn::Ect0, Ecn::Ect1, Ecn::Ce]) } else { Ecn::NotEct };
            let at = if grid { (t / (0.5 * MS as f64)).ceil() as u64 * (MS / 2) } else { t as u64 };
            arrivals.push((at, size, codepoint));
        }
    }
    let service = if grid || dice.odds(0.6) { (1.0, 1.0) } else { dice.pick(&[(0.5, 2.0), (0.3, 0.3), (2.0, 3.0)]) };
    Trace { net, grid, arrivals, departures_first: dice.odds(0.5), service }
}

/// Both sides of the comparison.
struct Pair<'a> {
    spec: &'a Spec,
    queue: Queue<AnyDiscipline>,
    listing: Box<dyn Listing>,
    chance: Rng,
    /// Index of each compared probe.
    probes: Vec<usize>,
    events: u64,
}

impl<'a> Pair<'a> {
    fn new(spec: &'a Spec, net: &Net, listing: Box<dyn Listing>, seed: u64) -> Self {
        let limit = match net.limit_in {
            Unit::Pkts => Limit::Packets(net.limit as u32),
            Unit::Bytes => Limit::Bytes(net.limit),
        };
        let link = Link { rate: Rate(net.bandwidth), limit, mean_packet: Bytes(net.mean_pktsize) };
        let chance = Rng::stream(seed, "chance");
        let all = spec.entry().probes;
        let index = |name| all.iter().position(|probe| probe.name == name).expect("a probe of that name");
        let probes = listing.shown().iter().map(|(name, ..)| index(*name)).collect();
        let queue = Queue::new(spec.build(&link), link, spec.ecn(), chance.clone());
        Self { spec, queue, listing, chance, probes, events: 0 }
    }

    fn arrive(&mut self, now: u64, id: u32, size: u32, ecn: Ecn) {
        let packet = Packet { slot: id, len: size, ecn, ..Packet::default() };
        let marked = self.queue.port.tally().marked.pkts;
        self.queue.arrive(packet, Instant::from_nanos(now));
        let dropped = self.queue.port.discarded().pop();
        let got = match dropped {
            Some((_, Reason::Early)) => Outcome::Early,
            Some((_, Reason::Overflow)) => Outcome::Overflow,
            None if self.queue.port.tally().marked.pkts > marked => Outcome::Marked,
            None => Outcome::Queued,
        };
        let pkt = Pkt { id, size, ect: ecn != Ecn::NotEct, tstamp: now };
        let want = self.listing.enque(pkt, now, &mut || self.chance.uniform());
        assert_eq!(got, want, "packet {id} at {now} ns: {}", self.spec.canonical());
        assert!(dropped.is_none_or(|(packet, _)| packet.slot == id));
        self.compare(now);
    }

    fn depart(&mut self, now: u64) -> Option<Packet> {
        let marked = self.queue.port.tally().marked.pkts;
        let sent = self.queue.depart(Instant::from_nanos(now));
        let marked = self.queue.port.tally().marked.pkts > marked;
        let dropped = self.queue.port.discarded().drain(..).map(|(packet, _)| packet.slot).collect();
        let got = Departure { dropped, sent: sent.map(|packet| (packet.slot, marked)) };
        let want = self.listing.deque(now, &mut || self.chance.uniform());
        assert_eq!(got, want, "departure at {now} ns: {}", self.spec.canonical());
        self.compare(now);
        sent
    }

    /// Runs the timers due up to `now`, ticks before whatever else happens then.
    fn tick(&mut self, now: u64) {
        loop {
            let due = self.queue.next_tick().map(Instant::nanos);
            assert_eq!(due, self.listing.next_timer(), "timer: {}", self.spec.canonical());
            let Some(due) = due.filter(|due| *due <= now) else { return };
            self.queue.tick(Instant::from_nanos(due));
            self.listing.timer();
            self.compare(due);
        }
    }

    fn compare(&mut self, now: u64) {
        self.events += 1;
        for ((name, want, scale), &index) in self.listing.shown().into_iter().zip(&self.probes) {
            let got = self.queue.discipline().probe(index);
            let size = got.abs().max(want.abs()).max(scale);
            assert!((got - want).abs() <= 1e-12 * size, "{name} at {now} ns: {got} {want}: {}", self.spec.canonical());
        }
        let port = &self.queue.port;
        assert_eq!((u64::from(port.pkts()), port.bytes()), self.listing.backlog(), "backlog at {now} ns");
        assert_eq!(port.check(), Ok(()));
    }
}

/// Sends `trace` through both; a link that falls idle asks again at the next arrival.
fn drive(pair: &mut Pair, trace: &Trace, dice: &mut Dice) {
    let mut free_at: Option<u64> = None;
    let mut arrivals = trace.arrivals.iter().enumerate().peekable();
    loop {
        let next_arrival = arrivals.peek().map(|(_, (at, ..))| *at);
        let departs = match (free_at, next_arrival) {
            (None, None) => return,
            (Some(free), Some(at)) => free < at || (free == at && trace.departures_first),
            (free, _) => free.is_some(),
        };
        let now = if departs { free_at } else { next_arrival }.expect("one of them");
        pair.tick(now);
        if departs {
            free_at = None;
        } else if let Some((id, &(_, size, ecn))) = arrivals.next() {
            pair.arrive(now, id as u32, size, ecn);
        }
        if free_at.is_none() {
            free_at = pair.depart(now).map(|packet| {
                let nominal = Rate(trace.net.bandwidth).time_for(packet.len).nanos();
                now + (nominal as f64 * dice.between(trace.service.0, trace.service.1)).round() as u64
            });
        }
    }
}

type Case = fn(&mut Dice, &Trace) -> (String, Box<dyn Listing>);

/// All traces of one discipline; `branches` of its listing must have been taken often enough.
fn differ(name: &str, one_size: bool, case: Case, branches: &[&str]) {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let mut events = 0;
    for seed in 0..TRACES {
        let mut dice = Dice(Rng::stream(seed, name));
        let trace = trace(&mut dice, one_size);
        let (words, listing) = case(&mut dice, &trace);
        let ecn = if trace.net.setbit { "on" } else { "off" };
        let spec = Spec::parse(&format!("{name} {words} ecn={ecn}")).expect("a valid discipline");
        let mut pair = Pair::new(&spec, &trace.net, listing, seed);
        drive(&mut pair, &trace, &mut dice);
        events += pair.events;
        for (branch, times) in &pair.listing.seen().0 {
            *seen.entry(branch).or_default() += times;
        }
    }
    assert!(events > TRACES * 2 * ARRIVALS as u64 * 9 / 10, "{events} events");
    for branch in branches {
        assert!(seen.get(branch).is_some_and(|times| *times >= ENOUGH), "{branch}: {seen:?}");
    }
    assert_eq!(seen.len(), branches.len(), "{seen:?}");
}

fn depth(n: f64, unit: Unit) -> String {
    format!("{n}{}", if unit == Unit::Pkts { "p" } else { "b" })
}

fn on(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}

/// A threshold of about `lo..hi` packets in either unit.
fn threshold(dice: &mut Dice, net: &Net, unit: Unit, lo: f64, hi: f64) -> f64 {
    let packets = dice.between(lo, hi);
    if unit == Unit::Pkts { packets } else { packets * net.mean_pktsize as f64 }
}

const UNITS: [Unit; 2] = [Unit::Pkts, Unit::Bytes];

#[test]
fn droptail() {
    differ(
        "droptail",
        false,
        |_, trace| (String::new(), Box::new(reference::droptail::DropTail::new(trace.net))),
        &["full", "empty"],
    );
}

fn raqm_case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    use reference::raqm::{Basis, Raqm, Settings};
    let q0_in = dice.pick(&UNITS);
    let q0 = threshold(dice, &trace.net, q0_in, 1.0, 60.0).max(1.0);
    let dependent = dice.odds(0.7);
    let (basis_word, basis) =
        dice.pick(&[("offered", Basis::Offered), ("post_drop", Basis::PostDrop), ("accepted", Basis::Accepted)]);
    let set = Settings {
        q0: dependent.then_some(q0),
        q0_in,
        m: dice.odds(0.4).then(|| dice.between(0.1, 4.0)),
        eps: dice.between(0.1, 1.0),
        period: if trace.grid { dice.pick(&[10, 20, 100]) * MS } else { dice.scale(2e6, 1e9) as u64 },
        f: dice.pick(&[0.0, 0.1, 0.5]),
        r0: (trace.net.bandwidth as f64 * dice.pick(&[1.0, 0.9, 0.5])) as u64,
        p_init: dice.pick(&[2e-4, 0.01, 0.5]),
        p_min: dice.pick(&[0.0, 1e-6, 1e-3]),
        c_max: dice.pick(&[8.0, 5.0]),
        kappa: dice.pick(&[0.0, 0.0, 5.0]),
        pull_to: q0,
        basis,
    };
    let words = format!(
        "q0={} mode={} alpha={} eps={} period={}ns f={} r0={}bit p_init={} p_min={} c_max={} kappa={} rate_basis={}",
        depth(q0, q0_in),
        if dependent { "queue-dependent" } else { "queue-independent" },
        set.m.map_or("adaptive".to_string(), |m| m.to_string()),
        set.eps,
        set.period,
        set.f,
        set.r0,
        set.p_init,
        set.p_min,
        set.c_max,
        set.kappa,
        basis_word,
    );
    (words, Box::new(Raqm::new(trace.net, set)))
}

#[test]
fn raqm() {
    let branches = [
        "p q/q0 above 1",
        "alpha_hat undefined",
        "alpha_hat by its series",
        "alpha_hat capped",
        "exponent limited",
        "p at its floor",
        "p at 1",
    ];
    differ("raqm", false, raqm_case, &branches);
}

#[test]
fn pi() {
    let case: Case = |dice, trace| {
        let qib = dice.pick(&UNITS);
        let qref = threshold(dice, &trace.net, qib, 1.0, 60.0);
        let unit = if qib == Unit::Pkts { 1.0 } else { trace.net.mean_pktsize as f64 };
        let a = dice.scale(1e-5, 1e-2) / unit;
        let b = a * dice.between(0.5, 1.0);
        let w: f64 = if trace.grid { dice.pick(&[100.0, 200.0, 1000.0]) } else { dice.scale(1.0, 500.0) };
        let words = format!("q_ref={} a={a} b={b} w={w}", depth(qref, qib));
        let interval = (SECOND / w).round() as u64;
        let (buffer, seen, v_prob, qold) = Default::default();
        let net = trace.net;
        (
            words,
            Box::new(reference::pi::Pi { net, qref, qib, a, b, interval, buffer, seen, v_prob, qold, next: interval }),
        )
    };
    differ("pi", false, case, &["p below 0", "p above 1"]);
}

fn rem_case(dice: &mut Dice, trace: &Trace, qib: bool) -> (String, Box<dyn Listing>) {
    let own_mean = !qib && dice.odds(0.3);
    let pktsize = if own_mean { dice.pick(&[500, 1000]) } else { trace.net.mean_pktsize };
    let b_in = dice.pick(&UNITS);
    let p_bo = dice.between(1.0, 60.0);
    let b = if b_in == Unit::Pkts { p_bo } else { p_bo * pktsize as f64 };
    let rem = reference::rem::Rem {
        net: trace.net,
        p_bo,
        p_gamma: dice.scale(1e-3, 1.0),
        p_phi: dice.pick(&[1.001, 1.01, 1.1]),
        alpha: dice.pick(&[0.1, 0.1, 0.5]),
        p_updtime: if trace.grid { dice.pick(&[2, 5, 10]) * MS } else { dice.scale(2e6, 1e8) as u64 },
        p_pktsize: pktsize as f64,
        qib,
        buffer: Default::default(),
        seen: Default::default(),
        v_count: 0.0,
        v_pl: 0.0,
        v_prob: 0.0,
        next: 0,
    };
    let words = format!(
        "b={} gamma={} phi={} alpha={} interval={}ns mean_packet={} bytes={}",
        depth(b, b_in),
        rem.p_gamma,
        rem.p_phi,
        rem.alpha,
        rem.p_updtime,
        if own_mean { pktsize.to_string() } else { "auto".into() },
        on(qib),
    );
    (words, Box::new(reference::rem::Rem { next: rem.p_updtime, ..rem }))
}

#[test]
fn rem() {
    let branches = ["price below 0", "marked at departure"];
    differ("rem", false, |dice, trace| rem_case(dice, trace, false), &branches);
}

#[test]
fn rem_in_bytes() {
    // Packets of one size: the library does not scale p by the length as ns-2's byte mode does.
    let branches = ["price below 0", "marked at departure"];
    differ("rem", true, |dice, trace| rem_case(dice, trace, true), &branches);
}

fn msc_case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let qref_in = dice.pick(&UNITS);
    let msc = reference::msc::Msc {
        net: trace.net,
        qref: threshold(dice, &trace.net, qref_in, 1.0, 60.0).max(1.0),
        qref_in,
        alpha: dice.pick(&[0.02, 0.1, 0.3, 1.0]),
        gamma: dice.pick(&[1.0, 0.95, 0.8]),
        ts_s: if trace.grid { 10 * MS } else { dice.scale(1e6, 1e8) as u64 },
        ts_l: if trace.grid { dice.pick(&[10, 50, 200]) * MS } else { dice.scale(1e7, 1e9) as u64 },
        r_w: dice.pick(&[0.5, 0.1, 1.0]),
        p_floor: dice.pick(&[0.01, 0.0, 0.05]),
        smooth_switch: dice.odds(0.3),
        buffer: Default::default(),
        seen: Default::default(),
        a: trace.net.bandwidth as f64,
        rho: 1.0,
        p_a: 0.0,
        p_d: 0.0,
        smpl_bytes: 0,
        lastset_q: 0,
        lastset_r: 0,
    };
    let words = format!(
        "q_ref={} alpha={} gamma={} ts_s={}ns ts_l={}ns r_w={} p_floor={} smooth_switch={}",
        depth(msc.qref, qref_in),
        msc.alpha,
        msc.gamma,
        msc.ts_s,
        msc.ts_l,
        msc.r_w,
        msc.p_floor,
        on(msc.smooth_switch),
    );
    (words, Box::new(reference::msc::Msc { p_a: msc.p_floor, ..msc }))
}

#[test]
fn msc() {
    differ("msc", false, msc_case, &["p_d below 0", "p_d above 1", "load above gamma", "both at one arrival"]);
}

fn red_case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    use reference::red::{Red, Settings};
    let (min_auto, max_auto, bytes) = (dice.odds(0.2), dice.odds(0.3), dice.odds(0.4));
    // Nothing given: byte mode also says how the queue is measured.
    let qib = match (min_auto && max_auto, bytes) {
        (true, true) => Unit::Bytes,
        (true, false) => Unit::Pkts,
        _ => dice.pick(&UNITS),
    };
    let th_min = threshold(dice, &trace.net, qib, 0.5, 20.0);
    let th_max = th_min * dice.between(1.1, 4.0);
    let set = Settings {
        qib,
        th_min: if min_auto { 0.0 } else { th_min },
        th_max: if max_auto { 0.0 } else { th_max },
        max_p_inv: dice.pick(&[10.0, 50.0, 2.0, 1.0]),
        q_w: if dice.odds(0.2) { 0.0 } else { dice.scale(1e-3, 1.0) },
        gentle: dice.odds(0.6),
        wait: dice.odds(0.5),
        bytes,
    };
    let auto = |is_auto, text: String| if is_auto { "auto".to_string() } else { text };
    let words = format!(
        "min_th={} max_th={} max_p={} w_q={} gentle={} wait={} bytes={}",
        auto(min_auto, depth(th_min, qib)),
        auto(max_auto, depth(th_max, qib)),
        1.0 / set.max_p_inv,
        auto(set.q_w == 0.0, set.q_w.to_string()),
        on(set.gentle),
        on(set.wait),
        on(bytes),
    );
    (words, Box::new(Red::new(trace.net, set)))
}

#[test]
fn red() {
    let branches = [
        "idle for packets",
        "short queue saves a packet",
        "forced by the average",
        "first above min_th",
        "gentle part",
        "certain by count",
    ];
    differ("red", false, red_case, &branches);
}

fn codel_case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    use reference::codel::{CoDel, Settings};
    let (target, interval) = match trace.grid {
        true => dice.pick(&[(5, 100), (5, 20), (10, 10)]),
        false => dice.pick(&[(5, 100), (1, 10), (20, 50)]),
    };
    let set = Settings {
        target: target * MS,
        interval: interval * MS,
        mtu: dice.odds(0.3).then(|| dice.pick(&[0, 1514, 5000])),
        linux: dice.odds(0.3),
    };
    let words = format!(
        "target={target}ms interval={interval}ms mtu={} inv_sqrt={}",
        set.mtu.map_or("auto".to_string(), |mtu| mtu.to_string()),
        if set.linux { "newton" } else { "exact" },
    );
    (words, Box::new(CoDel::new(trace.net, set)))
}

#[test]
fn codel() {
    let branches = [
        "sojourn exactly target",
        "saved by a short queue",
        "exactly one interval above",
        "exactly at drop_next",
        "left the dropping state",
        "good packet behind a drop",
        "bad packet behind a drop",
        "several drops at once",
        "marked after a drop",
        "bad packet passes behind the first drop",
        "last cycle long ago",
        "last cycle's count taken over",
    ];
    differ("codel", false, codel_case, &branches);
}
