//! RED as in Linux 6.12, in integers: `red_enqueue` and `red_dequeue` of sch_red.c, with `shared/kernel_red.rs`.
//!
//! Linux checks its child FIFO last; an arrival that it drops leaves RED as it is. Here it counts as overflow, also if
//! RED would drop it.

use super::auto;
use crate::reference::harness::*;
use crate::reference::shared::kernel_red::{Red, Tc};

struct Sch {
    net: Net,
    unit: Unit,
    red: Red,
    harddrop: bool,
    nodrop: bool,
    buffer: Buffer,
    seen: Seen,
}

impl Listing for Sch {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let Self { red, seen, buffer, .. } = self;
        red.calc_qavg(buffer.length(self.unit) as u64, now, seen);
        let (mut signal, mut hard) = (false, false);
        if red.against(red.min()).is_lt() {
            red.qcount = -1;
        } else if red.against(red.max()).is_ge() {
            red.qcount = -1;
            (signal, hard) = (true, true);
        } else {
            signal = red.counts_to_mark(uniform, seen);
        }
        seen.note("hard", hard);
        let ecn = self.net.setbit && !(hard && self.harddrop);
        let queued = signal && ecn && !pkt.ect && self.nodrop;
        seen.note("queued although not ECT", queued);
        let outcome = if buffer.full(&self.net, &pkt) {
            seen.note("full", true);
            Outcome::Overflow
        } else if !signal || queued {
            Outcome::Queued
        } else if ecn && pkt.ect {
            Outcome::Marked
        } else {
            Outcome::Early
        };
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            buffer.q.push_back(pkt);
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        if self.buffer.q.is_empty() {
            self.red.poll_empty(now);
        }
        self.buffer.plain_deque()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("avg", self.red.avg(), 0.0), ("p", self.red.p(), 0.0), ("count", self.red.qcount as f64, 0.0)]
    }
}

/// Random arguments of tc: thresholds in bytes or packets, or automatic.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (min_auto, max_auto) = (dice.odds(0.3), dice.odds(0.3));
    let unit = if min_auto && max_auto { Unit::Bytes } else { dice.pick(&UNITS) };
    let mean = if dice.odds(0.7) { net.mean_pktsize } else { 800 };
    let avpkt = if unit == Unit::Bytes { mean } else { 1 };
    let given = threshold(dice, &net, unit, 1.0, 20.0).floor();
    let (min, max) = (given, (given * dice.between(1.1, 4.0)).ceil());
    let real_max = match (min_auto, max_auto) {
        (true, true) => net.room(unit) / 4.0,
        (false, true) => 3.0 * min,
        _ => max,
    };
    let real_min = if min_auto { (real_max / 3.0).floor() } else { min };
    let real_max =
        if max_auto { real_max.max(if min_auto { real_max / 3.0 } else { min } + avpkt as f64) } else { max };
    let burst = if dice.odds(0.6) { 0 } else { dice.upto(1, 100) };
    let wlog = dice.odds(0.3).then(|| dice.upto(1, 12) as u32);
    let probability = dice.pick(&[0.02, 0.1, 0.5]);
    let tc = Tc { min: real_min as u64, max: real_max as u64, avpkt, mean, burst, wlog, probability };
    let red = Red::new(&tc, net.bandwidth);
    let (harddrop, nodrop) = (dice.odds(0.4), dice.odds(0.4));
    let words = format!(
        "preset=linux min_th={} max_th={} max_p={probability} burst={} w_q={} mean_packet={mean}b harddrop={} nodrop={}",
        auto(min_auto, depth(min, unit)),
        auto(max_auto, depth(max, unit)),
        auto(burst == 0, burst.to_string()),
        wlog.map_or("auto".to_string(), |wlog| 0.5_f64.powi(wlog as i32).to_string()),
        on(harddrop),
        on(nodrop),
    );
    let (buffer, seen) = Default::default();
    (words, Box::new(Sch { net, unit, red, harddrop, nodrop, buffer, seen }))
}

#[test]
fn red_handles_packets_as_linux() {
    let branches =
        ["idle, shifted", "idle, linear", "hard", "a gap is drawn", "a gap ends", "full", "queued although not ECT"];
    differ("red", case, &branches);
}
