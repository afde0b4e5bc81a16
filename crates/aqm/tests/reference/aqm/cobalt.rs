//! COBALT: Linux's `sch_cake.c` (cobalt_cache_init, cobalt_control, cobalt_queue_full, cobalt_queue_empty,
//! cobalt_should_drop, the times of cake_set_rate), on one queue as in ns-3's CobaltQueueDisc: an overflow drops the
//! arrival, and a dequeue from an empty queue calls cobalt_queue_empty.
//!
//! Times are signed, like ktime_t.

use std::collections::VecDeque;

use crate::reference::harness::*;

#[derive(Clone, Copy)]
pub(crate) struct Params {
    interval: i64,
    target: i64,
    mtu_time: i64,
    p_inc: f64,
    p_dec: f64,
    kernel_start: bool,
}

impl Params {
    /// CAKE's arguments: the times in nanoseconds.
    pub(crate) const fn of(target: i64, interval: i64, mtu_time: i64) -> Self {
        Self { interval, target, mtu_time, p_inc: 1.0 / 256.0, p_dec: 1.0 / 4096.0, kernel_start: true }
    }

    /// Random arguments of cake_set_rate: its results, and the text for the library.
    pub(crate) fn random(dice: &mut Dice, trace: &Trace) -> (Self, String) {
        let (target, rtt) = match trace.grid {
            true => dice.pick(&[(5, 100), (5, 20), (10, 10)]),
            false => dice.pick(&[(5, 100), (1, 10), (20, 50)]),
        };
        let mtu = dice.pick(&[0, 500, 1514]);
        let (p_inc, p_dec) = dice.pick(&[(1.0 / 256.0, 1.0 / 4096.0), (1.0 / 16.0, 1.0 / 32.0), (0.5, 0.125)]);
        let kernel_start = dice.odds(0.3);
        let byte_target_ns = (f64::from(mtu) * 8.0 * SECOND / trace.net.bandwidth as f64).round() as i64;
        let (target_ns, rtt_est_ns) = (target * MS as i64, rtt * MS as i64);
        let stretched = (byte_target_ns * 3 / 2).max(target_ns);
        let interval = (rtt_est_ns + stretched - target_ns).max(stretched * 2);
        let set = Self { interval, target: stretched, mtu_time: byte_target_ns, p_inc, p_dec, kernel_start };
        let start = if kernel_start { "kernel" } else { "interval" };
        let words = format!("target={target}ms interval={rtt}ms mtu={mtu}b p_inc={p_inc} p_dec={p_dec} start={start}");
        (set, words)
    }
}

#[derive(Clone, Default)]
pub(crate) struct Vars {
    count: u32,
    rec_inv_sqrt: u32,
    drop_next: i64,
    blue_timer: i64,
    p_drop: f64,
    dropping: bool,
}

const INV_SQRT_CACHE: [u32; 16] = [
    !0, !0, 3037000500, 2479700525, 2147483647, 1920767767, 1753413056, 1623345051, 1518500250, 1431655765, 1358187914,
    1294981364, 1239850263, 1191209601, 1147878294, 1108955788,
];

fn newton_step(invsqrt: u32, count: u32) -> u32 {
    let invsqrt2 = ((u64::from(invsqrt) * u64::from(invsqrt)) >> 32) as u32;
    let mut val = (3_u64 << 32).wrapping_sub(u64::from(count) * u64::from(invsqrt2));
    val >>= 2;
    val = val.wrapping_mul(u64::from(invsqrt)) >> (32 - 2 + 1);
    val as u32
}

impl Vars {
    pub(crate) fn new(p: &Params) -> Self {
        Self { rec_inv_sqrt: if p.kernel_start { 0 } else { !0 }, ..Self::default() }
    }

    fn invsqrt(&mut self) {
        if self.count >= 16 {
            self.rec_inv_sqrt = newton_step(self.rec_inv_sqrt, self.count);
            return;
        }
        self.rec_inv_sqrt = INV_SQRT_CACHE[self.count as usize];
    }

    fn control(&self, t: i64, p: &Params) -> i64 {
        t + ((p.interval as u128 * u128::from(self.rec_inv_sqrt)) >> 32) as i64
    }

    pub(crate) fn queue_full(&mut self, p: &Params, now: i64, seen: &mut Seen) {
        let moves = now - self.blue_timer > p.target;
        seen.note("BLUE waits", !moves);
        if moves {
            self.p_drop += p.p_inc;
            seen.note("BLUE at its largest", self.p_drop >= 1.0);
            if self.p_drop > 1.0 {
                self.p_drop = 1.0;
            }
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    pub(crate) fn queue_empty(&mut self, p: &Params, now: i64, seen: &mut Seen) {
        if self.p_drop > 0.0 && now - self.blue_timer > p.target {
            seen.note("BLUE lowered", true);
            if self.p_drop < p.p_dec {
                self.p_drop = 0.0;
            } else {
                self.p_drop -= p.p_dec;
            }
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now - self.drop_next >= 0 {
            seen.note("let go when empty", true);
            self.count -= 1;
            self.invsqrt();
            self.drop_next = self.control(self.drop_next, p);
        }
    }

    /// Whether the state has decayed to rest.
    pub(crate) fn rests(&self, now: i64) -> bool {
        self.p_drop == 0.0 && self.count == 0 && now >= self.drop_next
    }

    pub(crate) fn should_drop(
        &mut self,
        p: &Params,
        now: i64,
        sojourn: i64,
        may_mark: bool,
        sides: (&mut dyn FnMut() -> f64, &mut Seen),
    ) -> (bool, bool) {
        self.should_drop_above(0, p, now, sojourn, may_mark, sides)
    }

    /// Returns whether to drop the packet, and whether it was marked. `may_mark`: it is ECN-capable. `least`: the time of
    /// two packets of each bulk flow.
    pub(crate) fn should_drop_above(
        &mut self,
        least: i64,
        p: &Params,
        now: i64,
        sojourn: i64,
        may_mark: bool,
        (uniform, seen): (&mut dyn FnMut() -> f64, &mut Seen),
    ) -> (bool, bool) {
        let mut schedule = now - self.drop_next;
        let over_target = sojourn > p.target && sojourn > least && sojourn > p.mtu_time * 4;
        seen.note("saved by the MTU's time", sojourn > p.target && !over_target);
        let mut next_due = self.count > 0 && schedule >= 0;
        let (mut drop, mut ecn_marked) = (false, false);
        if over_target {
            if !self.dropping {
                seen.note("above target", true);
                self.dropping = true;
                self.drop_next = self.control(now, p);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        if next_due && self.dropping {
            seen.note("exactly at drop_next", schedule == 0);
            ecn_marked = may_mark;
            drop = !ecn_marked;
            self.count += 1;
            self.invsqrt();
            self.drop_next = self.control(self.drop_next, p);
            schedule = now - self.drop_next;
        } else {
            let mut steps = 0;
            while next_due {
                steps += 1;
                self.count -= 1;
                self.invsqrt();
                self.drop_next = self.control(self.drop_next, p);
                schedule = now - self.drop_next;
                next_due = self.count > 0 && schedule >= 0;
            }
            seen.note("let go one step", steps == 1);
            seen.note("let go several steps", steps > 1);
        }
        if self.p_drop > 0.0 {
            let blue = uniform() < self.p_drop;
            seen.note("BLUE drops a marked packet", blue && ecn_marked);
            drop |= blue;
        }
        if self.count == 0 {
            self.drop_next = now + p.interval;
        } else if schedule > 0 && !drop {
            seen.note("schedule brought up to now", true);
            self.drop_next = now;
        }
        seen.note("count above the cache", self.count >= 16);
        (drop, ecn_marked)
    }
}

/// The packet to send from `q`, if any, and whether it is marked; the last one is never dropped.
pub(crate) fn dequeue(
    (q, vars): (&mut VecDeque<Pkt>, &mut Vars),
    (p, net): (&Params, &Net),
    now: u64,
    uniform: &mut dyn FnMut() -> f64,
    (dropped, seen): (&mut Vec<u32>, &mut Seen),
) -> Option<(Pkt, bool)> {
    loop {
        let Some(pkt) = q.pop_front() else {
            vars.queue_empty(p, now as i64, seen);
            return None;
        };
        let (sojourn, may_mark) = ((now - pkt.tstamp) as i64, net.setbit && pkt.ect);
        let (drop, ecn_marked) = vars.should_drop(p, now as i64, sojourn, may_mark, (&mut *uniform, &mut *seen));
        seen.note("the last packet spared", drop && q.is_empty());
        if !drop || q.is_empty() {
            return Some((pkt, ecn_marked));
        }
        dropped.push(pkt.id);
    }
}

pub(crate) struct Cobalt {
    net: Net,
    p: Params,
    buffer: Buffer,
    vars: Vars,
    seen: Seen,
}

impl Listing for Cobalt {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        let outcome = self.buffer.finish(&self.net, Pkt { tstamp: now, ..pkt }, false);
        if outcome == Outcome::Overflow {
            self.vars.queue_full(&self.p, now as i64, &mut self.seen);
        }
        outcome
    }

    fn deque(&mut self, now: u64, uniform: &mut dyn FnMut() -> f64) -> Departure {
        let mut dropped = vec![];
        let queue = (&mut self.buffer.q, &mut self.vars);
        let sent = dequeue(queue, (&self.p, &self.net), now, uniform, (&mut dropped, &mut self.seen));
        Departure { dropped, sent: sent.map(|(pkt, marked)| (pkt.id, marked)) }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.vars.p_drop, 0.0), ("count", f64::from(self.vars.count), 0.0)]
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (p, words) = Params::random(dice, trace);
    let (buffer, seen) = Default::default();
    (words, Box::new(Cobalt { net: trace.net, p, buffer, vars: Vars::new(&p), seen }))
}

/// The branches of COBALT.
pub(crate) const BRANCHES: [&str; 13] = [
    "BLUE waits",
    "BLUE at its largest",
    "BLUE lowered",
    "let go when empty",
    "saved by the MTU's time",
    "above target",
    "exactly at drop_next",
    "let go one step",
    "let go several steps",
    "BLUE drops a marked packet",
    "schedule brought up to now",
    "count above the cache",
    "the last packet spared",
];

#[test]
fn cobalt_handles_packets_as_linux() {
    differ("cobalt", case, &BRANCHES);
}
