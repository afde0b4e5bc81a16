//! CoDel: RFC 8289 sections 5.5 (`deque`) and 5.6 (`dodequeue`, `control_law`).
//!
//! Added to the RFC's listing, as in Linux's `codel_dequeue`:
//! - An ECN-capable packet is marked instead of dropped, and is then sent.
//! - A packet above ce_threshold is marked.
//! - With `newton`, the inverse square root is Linux's approximation.
//!
//! `codel/linux.rs` is the listing of Linux.
//!
//! A drop never empties a single queue: more than maxpacket bytes remain.

mod linux;

use std::collections::VecDeque;

use crate::reference::harness::*;

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Nanoseconds.
    target: u64,
    /// Nanoseconds.
    pub(crate) interval: u64,
    /// None: the largest packet seen.
    pub(crate) mtu: Option<u64>,
    newton: bool,
    /// Linux's listing, in integers.
    pub(crate) linux: bool,
    /// Nanoseconds; None: off.
    ce_threshold: Option<u64>,
}

struct DodequeueResult {
    p: Option<Pkt>,
    ok_to_drop: bool,
}

/// The variables of one queue.
#[derive(Clone, Default)]
pub(crate) struct Vars {
    /// 0: not above.
    first_above_time: u64,
    drop_next: u64,
    pub(crate) count: u32,
    lastcount: u32,
    dropping: bool,
    /// Q0.16.
    rec_inv_sqrt: u16,
    ldelay: u64,
    /// Linux's first_above_time; None: 0.
    above_until: Option<u32>,
    /// Linux's drop_next.
    next_drop: u32,
    /// Linux's ldelay.
    waited: u32,
}

/// CoDel for a dequeue from one queue.
pub(crate) struct Codel<'a> {
    pub(crate) net: &'a Net,
    pub(crate) set: &'a Settings,
    pub(crate) vars: &'a mut Vars,
    pub(crate) q: &'a mut VecDeque<Pkt>,
    /// Bytes in other queues of the same link.
    pub(crate) elsewhere: u64,
    pub(crate) maxpacket: &'a mut u64,
    pub(crate) seen: &'a mut Seen,
}

impl Codel<'_> {
    fn control_law(&self, t: u64, count: u32) -> u64 {
        if self.set.newton {
            let ep_ro = u128::from(self.vars.rec_inv_sqrt) << 16;
            return t + ((u128::from(self.set.interval) * ep_ro) >> 32) as u64;
        }
        t + (self.set.interval as f64 / f64::from(count).sqrt()).round() as u64
    }

    fn codel_newton_step(&mut self) {
        let invsqrt = u32::from(self.vars.rec_inv_sqrt) << 16;
        let invsqrt2 = ((u64::from(invsqrt) * u64::from(invsqrt)) >> 32) as u32;
        let mut val = (3_u64 << 32).wrapping_sub(u64::from(self.vars.count) * u64::from(invsqrt2));
        val >>= 2;
        val = val.wrapping_mul(u64::from(invsqrt)) >> (32 - 2 + 1);
        self.vars.rec_inv_sqrt = (val >> 16) as u16;
    }

    fn dodequeue(&mut self, now: u64) -> DodequeueResult {
        let p = self.q.pop_front();
        let mut r = DodequeueResult { p, ok_to_drop: false };
        let Some(pkt) = r.p else {
            self.vars.first_above_time = 0;
            return r;
        };
        if u64::from(pkt.size) > *self.maxpacket {
            *self.maxpacket = u64::from(pkt.size);
        }
        let maxpacket = self.set.mtu.unwrap_or(*self.maxpacket);
        let bytes = self.elsewhere + self.q.iter().map(|pkt| u64::from(pkt.size)).sum::<u64>();
        let sojourn_time = now - pkt.tstamp;
        self.vars.ldelay = sojourn_time;
        self.seen.note("sojourn exactly target", sojourn_time == self.set.target);
        self.seen.note("saved by a short queue", sojourn_time >= self.set.target && bytes <= maxpacket);
        if sojourn_time < self.set.target || bytes <= maxpacket {
            self.vars.first_above_time = 0;
        } else if self.vars.first_above_time == 0 {
            self.vars.first_above_time = now + self.set.interval;
        } else if now >= self.vars.first_above_time {
            self.seen.note("exactly one interval above", now == self.vars.first_above_time);
            r.ok_to_drop = true;
        }
        r
    }

    /// Sets CE instead of dropping, if ECN allows it.
    fn set_ce(&self, p: Option<Pkt>) -> bool {
        self.net.setbit && p.is_some_and(|pkt| pkt.ect)
    }

    /// The `while` loop of the dropping state; returns the packet to send and whether it is marked.
    fn drop_while_due(&mut self, mut r: DodequeueResult, now: u64, dropped: &mut Vec<u32>) -> (Option<Pkt>, bool) {
        let mut drops = 0;
        while now >= self.vars.drop_next && self.vars.dropping {
            self.seen.note("exactly at drop_next", now == self.vars.drop_next);
            if self.set_ce(r.p) {
                self.vars.count += 1;
                self.codel_newton_step();
                self.vars.drop_next = self.control_law(self.vars.drop_next, self.vars.count);
                self.seen.note("marked after a drop", drops > 0);
                return (r.p, true);
            }
            dropped.extend(r.p.map(|pkt| pkt.id));
            self.vars.count += 1;
            self.codel_newton_step();
            drops += 1;
            r = self.dodequeue(now);
            if !r.ok_to_drop {
                self.seen.note("good packet behind a drop", true);
                self.vars.dropping = false;
            } else {
                self.seen.note("bad packet behind a drop", true);
                self.vars.drop_next = self.control_law(self.vars.drop_next, self.vars.count);
            }
        }
        self.seen.note("several drops at once", drops > 1);
        (r.p, false)
    }

    /// Enters the dropping state; returns the packet to send and whether it is marked.
    fn enter(&mut self, r: DodequeueResult, now: u64, dropped: &mut Vec<u32>) -> (Option<Pkt>, bool) {
        let sent = if self.set_ce(r.p) {
            (r.p, true)
        } else {
            dropped.extend(r.p.map(|pkt| pkt.id));
            let r = self.dodequeue(now);
            self.seen.note("bad packet passes behind the first drop", r.ok_to_drop);
            (r.p, false)
        };
        self.vars.dropping = true;
        let delta = self.vars.count - self.vars.lastcount;
        self.vars.count = 1;
        let recent = i128::from(now) - i128::from(self.vars.drop_next) < 16 * i128::from(self.set.interval);
        self.seen.note("last cycle long ago", delta > 1 && !recent);
        if delta > 1 && recent {
            self.seen.note("last cycle's count taken over", true);
            self.vars.count = delta;
            self.codel_newton_step();
        } else {
            self.vars.rec_inv_sqrt = !0;
        }
        self.vars.drop_next = self.control_law(now, self.vars.count);
        self.vars.lastcount = self.vars.count;
        sent
    }

    /// The packet to send, if any, and whether it is marked.
    pub(crate) fn dequeue(&mut self, now: u64, dropped: &mut Vec<u32>) -> Option<(Pkt, bool)> {
        if self.set.linux {
            return self.linux_dequeue(now, dropped);
        }
        let r = self.dodequeue(now);
        let (p, marked) = if self.vars.dropping {
            if !r.ok_to_drop {
                self.seen.note("left the dropping state", true);
                self.vars.dropping = false;
            }
            self.drop_while_due(r, now, dropped)
        } else if r.ok_to_drop {
            self.enter(r, now, dropped)
        } else {
            (r.p, false)
        };
        // INET_ECN_set_ce, which does not depend on params->ecn.
        let ect = p.is_some_and(|pkt| pkt.ect);
        let late = self.set.ce_threshold.is_some_and(|ce_threshold| self.vars.ldelay > ce_threshold) && ect;
        self.seen.note("marked without ECN", late && !self.net.setbit);
        self.seen.note("marked for being late alone", late && !marked);
        p.map(|pkt| (pkt, marked || late))
    }
}

pub(crate) struct CoDel {
    net: Net,
    set: Settings,
    buffer: Buffer,
    seen: Seen,
    vars: Vars,
    maxpacket: u64,
}

impl Listing for CoDel {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        self.buffer.finish(&self.net, Pkt { tstamp: now, ..pkt }, false)
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let mut dropped = vec![];
        let Self { net, set, buffer, seen, vars, maxpacket } = self;
        let mut codel = Codel { net, set, vars, q: &mut buffer.q, elsewhere: 0, maxpacket, seen };
        let sent = codel.dequeue(now, &mut dropped);
        Departure { dropped, sent: sent.map(|(pkt, marked)| (pkt.id, marked)) }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("count", f64::from(self.vars.count), 0.0)]
    }
}

impl Settings {
    /// Random settings with their text.
    pub(crate) fn random(dice: &mut Dice, trace: &Trace) -> (Self, String) {
        let (target, interval) = match trace.grid {
            true => dice.pick(&[(5, 100), (5, 20), (10, 10)]),
            false => dice.pick(&[(5, 100), (1, 10), (20, 50)]),
        };
        let set = Self {
            target: target * MS,
            interval: interval * MS,
            mtu: dice.odds(0.3).then(|| dice.pick(&[0, 1514, 5000])),
            newton: dice.odds(0.3),
            linux: dice.odds(0.4),
            ce_threshold: dice.odds(0.3).then(|| dice.pick(&[0, 1, 3, 8]) * MS),
        };
        let words = format!(
            "target={target}ms interval={interval}ms mtu={} inv_sqrt={} ce_threshold={}",
            set.mtu.map_or("auto".to_string(), |mtu| mtu.to_string()),
            if set.newton { "newton" } else { "exact" },
            set.ce_threshold.map_or("off".to_string(), |ns| format!("{ns}ns")),
        );
        (set, words)
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (set, words) = Settings::random(dice, trace);
    let words = format!("{words} rules={}", if set.linux { "linux" } else { "rfc8289" });
    let (buffer, seen, vars, maxpacket) = Default::default();
    (words, Box::new(CoDel { net: trace.net, set, buffer, seen, vars, maxpacket }))
}

/// The branches of CoDel.
pub(crate) const BRANCHES: [&str; 14] = [
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
    "marked for being late alone",
    "marked without ECN",
];

#[test]
fn codel_handles_packets_as_rfc8289_and_linux() {
    differ("codel", case, &BRANCHES);
}
