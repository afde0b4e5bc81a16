//! The options of RED, CHOKe and SFB, which are structures, and what tc(8) computes for them.

use std::collections::BTreeMap;

/// Numbers of parameters in [`Given`]; ours.
pub(super) const LIMIT: u16 = 1;
pub(super) const MIN: u16 = 2;
pub(super) const MAX: u16 = 3;
pub(super) const AVPKT: u16 = 4;
pub(super) const BURST: u16 = 5;
pub(super) const PROBABILITY: u16 = 6;
pub(super) const BANDWIDTH: u16 = 7;
pub(super) const ECN: u16 = 8;
pub(super) const HARDDROP: u16 = 9;
pub(super) const NODROP: u16 = 10;
pub(super) const REHASH: u16 = 11;
pub(super) const DB: u16 = 12;
pub(super) const TARGET: u16 = 13;
pub(super) const INCREMENT: u16 = 14;
pub(super) const DECREMENT: u16 = 15;
pub(super) const PENALTY_RATE: u16 = 16;
pub(super) const PENALTY_BURST: u16 = 17;

pub(super) const QUANTUM: u16 = 18;
pub(super) const PERTURB: u16 = 19;
pub(super) const DIVISOR: u16 = 20;
pub(super) const FLOWS: u16 = 21;
pub(super) const DEPTH: u16 = 22;
pub(super) const HEADDROP: u16 = 23;

/// The given parameters.
pub(super) type Given = BTreeMap<u16, u32>;
/// Attributes with their bytes.
pub(super) type Options = Vec<(u16, Vec<u8>)>;

/// tc's ticks per second: 64 ns each.
const TICKS: f64 = 15_625_000.0;
/// Cells in the table of idle time.
const CELLS: usize = 256;
/// tc's default of `probability`, 0.02, as a part of 2^32.
const PROBABILITY_DEFAULT: u32 = 85_899_345;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The smallest n for which an average with weight 2^-n stays below `min` packets in a burst.
fn weight(min: f64, burst: u32) -> Option<u8> {
    let above = f64::from(burst) + 1.0 - min;
    let fits = |n: &u8| {
        let weight = 0.5f64.powi(i32::from(*n));
        above <= (1.0 - (1.0 - weight).powf(f64::from(burst))) / weight
    };
    if above < 1.0 { None } else { (1..32).find(fits) }
}

/// The power of 2 that `probability` per unit between the thresholds needs to pass 1.
fn slope(between: u32, probability: f64) -> Option<u8> {
    (0..32).find(|n| probability / f64::from(between) * 2f64.powi(i32::from(*n)) > 1.0)
}

/// How far the average is shifted after idle time, for each cell, and the logarithm of a cell's length.
fn idle(weight: u8, avpkt: u32, bandwidth: u32) -> Option<(u8, [u8; CELLS])> {
    let microseconds = (1e6 * f64::from(avpkt) / f64::from(bandwidth)).trunc();
    let packet = (microseconds * TICKS / 1e6).trunc();
    let per_tick = -(1.0 - 0.5f64.powi(i32::from(weight))).ln() / packet;
    let log = (0..32).find(|log| 31.0 / per_tick / f64::from(1u32 << log) < 512.0)?;
    let mut cells = [31; CELLS];
    for (i, cell) in (0u32..).zip(&mut cells[..CELLS - 1]) {
        *cell = ((f64::from(i << log) * per_tick) as u64 as u8).min(31);
    }
    Some((log, cells))
}

/// The parameters that tc's RED and CHOKe have in common, with their thresholds in units of `unit` bytes.
struct Red {
    limit: u32,
    min: u32,
    max: u32,
    avpkt: u32,
    /// Bytes in the unit of the thresholds.
    unit: u32,
    bandwidth: u32,
}

impl Red {
    /// Structure, table and probability.
    fn options(&self, name: &str, given: &Given, flags: u8) -> Result<Options, String> {
        let Self { limit, min, max, avpkt, unit, bandwidth } = *self;
        if min >= max || max > limit {
            return Err(format!("{name}: min {min} < max {max} <= limit {limit} does not hold"));
        }
        let of_packet = avpkt / unit;
        let burst = given.get(&BURST).copied().unwrap_or((2 * min + max) / (3 * of_packet));
        let probability = given.get(&PROBABILITY).copied().unwrap_or(PROBABILITY_DEFAULT);
        let refused = |what: &str| format!("{name}: tc refuses {what}");
        let weight = weight(f64::from(min) / f64::from(of_packet), burst).ok_or_else(|| refused("this burst"))?;
        let between = (max - min) * unit;
        let slope = slope(between, f64::from(probability) / 4_294_967_296.0).ok_or_else(|| refused("probability"))?;
        let (log, cells) = idle(weight, avpkt, bandwidth).ok_or_else(|| refused("this bandwidth"))?;
        let parameters = [words(&[limit, min, max]), vec![weight, slope, log, flags]].concat();
        Ok(vec![(1, parameters), (2, cells.to_vec()), (3, words(&[probability]))])
    }
}

fn flag(given: &Given, parameter: u16, bit: u8) -> u8 {
    if given.get(&parameter).is_some_and(|on| *on > 0) { bit } else { 0 }
}

fn needed(given: &Given, parameter: u16, name: &str) -> Result<u32, String> {
    given.get(&parameter).copied().filter(|value| *value > 0).ok_or_else(|| format!("{name} is missing"))
}

/// `tc qdisc add ... red`.
pub(super) fn red(given: &Given) -> Result<Options, String> {
    let (limit, avpkt) = (needed(given, LIMIT, "red: limit")?, needed(given, AVPKT, "red: avpkt")?);
    let max = given.get(&MAX).copied().unwrap_or(given.get(&MIN).map_or(limit / 4, |min| 3 * min));
    let min = given.get(&MIN).copied().unwrap_or(max / 3);
    let bandwidth = given.get(&BANDWIDTH).copied().unwrap_or(1_250_000);
    let flags = flag(given, ECN, 1) | flag(given, HARDDROP, 2) | flag(given, NODROP, 8);
    let mut options = Red { limit, min, max, avpkt, unit: 1, bandwidth }.options("red", given, 0)?;
    // The flags, and those that are set or cleared.
    options.push((4, words(&[u32::from(flags), 15])));
    Ok(options)
}

/// `tc qdisc add ... choke`.
pub(super) fn choke(given: &Given) -> Result<Options, String> {
    let (limit, bandwidth) = (needed(given, LIMIT, "choke: limit")?, needed(given, BANDWIDTH, "choke: bandwidth")?);
    let max = given.get(&MAX).copied().unwrap_or(limit / 4);
    let min = given.get(&MIN).copied().unwrap_or(max / 3);
    let avpkt = given.get(&AVPKT).copied().unwrap_or(1000);
    Red { limit, min, max, avpkt, unit: avpkt, bandwidth }.options("choke", given, flag(given, ECN, 1))
}

/// `tc qdisc add ... sfb`.
pub(super) fn sfb(given: &Given) -> Result<Options, String> {
    let value = |parameter: u16, default: u32| given.get(&parameter).copied().unwrap_or(default);
    let (max, target) = match (given.get(&MAX).copied(), given.get(&TARGET).copied()) {
        (None, None) => (25, 20),
        (None, Some(target)) => ((5 * target + 1) / 4, target),
        (Some(max), target) => (max, target.unwrap_or((4 * max + 3) / 5)),
    };
    let parameters = words(&[
        value(REHASH, 600_000),
        value(DB, 60_000),
        max,
        target,
        value(INCREMENT, 33),
        value(DECREMENT, 3),
        value(LIMIT, 0),
        value(PENALTY_RATE, 10),
        value(PENALTY_BURST, 20),
    ]);
    Ok(vec![(1, parameters)])
}

/// `tc qdisc add ... sfq`, without RED: `struct tc_sfq_qopt_v1`.
pub(super) fn sfq(given: &Given) -> Vec<u8> {
    let value = |parameter: &u16| given.get(parameter).copied().unwrap_or(0);
    let mut fields: Vec<u32> = [QUANTUM, PERTURB, LIMIT, DIVISOR, FLOWS, DEPTH, HEADDROP].iter().map(value).collect();
    // Parameters and counts of RED.
    fields.resize(18, 0);
    words(&fields)
}

#[cfg(test)]
mod tests {
    use super::super::attributes;
    use super::*;

    /// The options of a qdisc, with tables as lengths of runs of equal cells.
    fn options(words: &str) -> Vec<(u16, Vec<u8>)> {
        let (kind, found) = attributes(words).unwrap();
        let super::super::Form::Struct(options) = kind.form else { panic!("{words}") };
        let run = |(kind, bytes): (u16, Vec<u8>)| match bytes.len() {
            CELLS => (kind, bytes.chunk_by(|a, b| a == b).map(|run| run.len() as u8).collect()),
            _ => (kind, bytes),
        };
        options(&super::super::given(&found)).unwrap().into_iter().map(run).collect()
    }

    // Messages of tc 6.1.0, as strace(1) shows them.
    #[test]
    fn options_of_red_equal_those_of_tc() {
        let given = "red limit 300000 min 15000 max 75000 avpkt 1000 burst 40 bandwidth 10Mbit probability 0.05 ecn";
        let parameters = [words(&[300_000, 15_000, 75_000]), vec![6, 21, 16, 0]].concat();
        let table = [13, 12, 12, 12, 12, 12, 12, 12, 13, 12, 12, 12, 12, 12, 12, 12, 12, 13, 12, 12, 12, 1];
        let all = [(1, parameters), (2, table.to_vec()), (3, words(&[214_748_364])), (4, words(&[1, 15]))];
        assert_eq!(options(given), all);
        let parameters = [words(&[400_000, 33_333, 100_000]), vec![5, 22, 12, 0]].concat();
        let table =
            [10, 10, 9, 10, 10, 9, 10, 9, 10, 10, 9, 10, 9, 10, 10, 9, 10, 10, 9, 10, 9, 10, 10, 9, 10, 9, 5, 1];
        let all = [(1, parameters), (2, table.to_vec()), (3, words(&[85_899_345])), (4, words(&[9, 15]))];
        assert_eq!(options("red limit 400000 avpkt 1000 nodrop ecn bandwidth 100Mbit"), all);
    }

    #[test]
    fn options_of_choke_equal_those_of_tc() {
        let parameters = [words(&[300, 20, 60]), vec![4, 21, 14, 1]].concat();
        let table = [12, 12, 12, 12, 12, 11, 12, 12, 12, 12, 12, 11, 12, 12, 12, 12, 11, 12, 12, 12, 12, 6, 1];
        let all = [(1, parameters), (2, table.to_vec()), (3, words(&[85_899_345]))];
        assert_eq!(options("choke limit 300 bandwidth 10Mbit min 20 max 60 burst 30 avpkt 1000 ecn"), all);
    }

    #[test]
    fn options_of_sfb_equal_those_of_tc() {
        let given = "sfb rehash 0ms db 0ms limit 300 target 20 increment 0.005 decrement 0.0005";
        assert_eq!(options(given), [(1, words(&[0, 0, 25, 20, 328, 33, 300, 10, 20]))]);
    }

    #[test]
    fn thresholds_out_of_order_are_refused() {
        let refused = |words| super::super::check(words).unwrap_err();
        assert!(refused("red limit 30000 min 20000 max 10000 avpkt 1000").contains("min 20"));
        assert!(refused("choke limit 30").contains("bandwidth"));
        assert!(refused("red limit 30000").contains("avpkt"));
    }
}
