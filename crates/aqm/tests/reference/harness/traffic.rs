//! Random settings and random traffic for comparing disciplines with their transcribed listings.

use forebay_aqm::base::packet::{Ack, Colour, Ecn, Hosts, Packet, Proto};
use forebay_aqm::base::rng::Rng;

use super::listing::{Net, SECOND, Unit};

/// Smallest number of packets offered by one trace.
const ARRIVALS: usize = 3000;

/// Nanoseconds in a millisecond.
pub(crate) const MS: u64 = 1_000_000;

/// One step of random choice.
pub(crate) struct Dice(pub(crate) Rng);

impl Dice {
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len() as u64) as usize]
    }

    pub(crate) fn upto(&mut self, lo: u64, hi: u64) -> u64 {
        lo + self.0.below(hi - lo + 1)
    }

    pub(crate) fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.0.uniform()
    }

    /// A number with a uniform logarithm.
    pub(crate) fn scale(&mut self, lo: f64, hi: f64) -> f64 {
        lo * (hi / lo).powf(self.0.uniform())
    }

    pub(crate) fn odds(&mut self, p: f64) -> bool {
        self.0.uniform() < p
    }
}

/// Link and arrivals.
pub(crate) struct Trace {
    pub(crate) net: Net,
    /// All events are at multiples of 0.5 ms, and each packet takes 1 ms.
    pub(crate) grid: bool,
    pub(crate) arrivals: Vec<(u64, Packet)>,
    pub(crate) departures_first: bool,
    /// Smallest and largest ratio of a packet's service time to its nominal one.
    pub(crate) service: (f64, f64),
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
    let limit_in = dice.pick(&UNITS);
    let limit = if limit_in == Unit::Pkts { packets } else { packets * mean_pktsize };
    Net { bandwidth, limit, limit_in, mean_pktsize, setbit: dice.odds(0.5) }
}

/// Random traffic: Poisson arrivals, bursts at one time, regular arrivals, long overload, and pauses of up to 10 s.
pub(crate) fn trace(dice: &mut Dice) -> Trace {
    let grid = dice.odds(0.25);
    let net = net(dice, grid);
    let packet_time = net.mean_pktsize as f64 * 8.0 * SECOND / net.bandwidth as f64;
    let (flows, ect) = (dice.pick(&[1, 3, 12, 40]), dice.pick(&[0.0, 0.5, 1.0]));
    let size = (grid || dice.odds(0.3)).then_some(net.mean_pktsize as u32);
    let mut arrivals = vec![];
    let mut t = 0.0;
    while arrivals.len() < ARRIVALS {
        if dice.odds(0.4) {
            t += dice.scale(1e-3, 10.0) * SECOND;
        }
        let kind = dice.upto(0, 8);
        let (packets, gap) = match kind {
            0..4 => (dice.scale(20.0, 800.0) as u64, packet_time / dice.between(0.3, 3.0)),
            4..6 => (dice.upto(1, 100), 0.0),
            6 => (dice.upto(10, 200), dice.pick(&[1.0, 2.0, 5.0, 10.0]) * MS as f64),
            _ => (dice.upto(300, 1500), packet_time / dice.between(1.02, 1.5)),
        };
        if kind == 6 {
            t = (t / MS as f64).ceil() * MS as f64;
        }
        for _ in 0..packets {
            t += if kind == 6 { gap } else { dice.0.exponential(gap) };
            let at = if grid { (t / (0.5 * MS as f64)).ceil() as u64 * (MS / 2) } else { t as u64 };
            arrivals.push((at, packet(dice, arrivals.len() as u32, size, flows, ect)));
        }
    }
    let service = match grid || dice.odds(0.4) {
        true => (1.0, 1.0),
        false => dice.pick(&[(0.9, 1.2), (0.9, 1.2), (0.5, 2.0), (0.3, 0.3), (2.0, 3.0)]),
    };
    Trace { net, grid, arrivals, departures_first: dice.odds(0.5), service }
}

/// A packet of one of `flows` flows: three flows per pair, every seventh flow is UDP, every second flow is out of
/// profile, and flow 12 has class 40, above the 32 classes of MSVB.
fn packet(dice: &mut Dice, slot: u32, size: Option<u32>, flows: u64, ect: f64) -> Packet {
    let flow = dice.0.below(flows) as u32;
    let class = if flow == 12 { 40 } else { (flow % 13) as u8 };
    let proto = if flow % 7 == 6 { Proto::Udp } else { Proto::Tcp };
    let len = size.unwrap_or_else(|| match dice.upto(0, 2) {
        0 => dice.scale(40.0, 1500.0) as u32,
        _ => dice.pick(&[40, 500, 1000, 1500]),
    });
    let ecn = if dice.odds(ect) { dice.pick(&[Ecn::Ect0, Ecn::Ect1, Ecn::Ce]) } else { Ecn::NotEct };
    let colour = if flow % 2 == 1 { Colour::Out } else { Colour::In };
    // Without random numbers: hosts, DSCP and acknowledgements follow from the numbers of the packet and its flow.
    let hosts = Hosts { source: (flow % 4) as u16, destination: (flow / 2 % 5) as u16 };
    let dscp = [0, 8, 46, 34, 16, 48, 1, 2][(flow as usize + usize::from(slot.is_multiple_of(50))) % 8];
    let ack = Ack::pure(slot / 3).with_flags(slot.is_multiple_of(11), false).with_blocks(slot.is_multiple_of(17));
    let ack = if flow % 3 == 1 && len < 600 { ack } else { Ack::default() };
    Packet { slot, len, class, flow, pair: flow / 3, hosts, ack, proto, dscp, ecn, colour, ..Packet::default() }
}

pub(crate) fn depth(n: f64, unit: Unit) -> String {
    format!("{n}{}", if unit == Unit::Pkts { "p" } else { "b" })
}

pub(crate) fn on(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}

/// A threshold of `lo..hi` mean packets in `unit`.
pub(crate) fn threshold(dice: &mut Dice, net: &Net, unit: Unit, lo: f64, hi: f64) -> f64 {
    let packets = dice.between(lo, hi);
    if unit == Unit::Pkts { packets } else { packets * net.mean_pktsize as f64 }
}

pub(crate) const UNITS: [Unit; 2] = [Unit::Pkts, Unit::Bytes];
