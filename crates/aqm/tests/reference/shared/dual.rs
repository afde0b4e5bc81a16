//! The two queues of RFC 9332 and their schedulers, for DualPI2 and Curvy RED.
//!
//! WRR: Linux's `dequeue_packet`. TS-FIFO: `scheduler()` of Figure 10; if one queue is empty, the other one.

use crate::reference::harness::*;

/// Scheduler and classifier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharing {
    wrr: bool,
    /// The classic queue's weight.
    wc: f64,
    /// Nanoseconds.
    tshift: u64,
    l_class: Option<u8>,
    c_class: Option<u8>,
    /// False: L4S treatment is disabled (RFC 9331 section 5.1).
    l4s: bool,
}

impl Sharing {
    /// Random settings with their text. Weights are sums of powers of 2, so that credits are exact.
    pub(crate) fn random(dice: &mut Dice, wrr: bool) -> (Self, String) {
        let (wc, tshift) = (dice.pick(&[0.0625, 0.25, 0.5, 0.0, 1.0]), dice.pick(&[0, 1_000_000, 20_000_000]));
        let class = |dice: &mut Dice| dice.odds(0.2).then(|| dice.upto(0, 12) as u8);
        let (l_class, c_class) = (class(dice), class(dice));
        let l4s = !dice.odds(0.1);
        let show = |class: Option<u8>| class.map_or("off".to_string(), |class| class.to_string());
        let words = format!(
            "scheduler={} weight={wc} tshift={tshift}ns l_class={} c_class={} l4s={}",
            if wrr { "wrr" } else { "ts-fifo" },
            show(l_class),
            show(c_class),
            on(l4s),
        );
        (Self { wrr, wc, tshift, l_class, c_class, l4s }, words)
    }
}

pub(crate) struct Dual {
    net: Net,
    set: Sharing,
    pub(crate) cq: Buffer,
    pub(crate) lq: Buffer,
    pub(crate) credit: f64,
}

impl Dual {
    pub(crate) fn new(net: Net, set: Sharing) -> Self {
        let mut dual = Self { net, set, cq: Buffer::default(), lq: Buffer::default(), credit: 0.0 };
        dual.reset();
        dual
    }

    fn reset(&mut self) {
        let wl = 1.0 - self.set.wc;
        self.credit = self.net.mean_pktsize as f64 * (self.set.wc - wl);
    }

    /// Figure 3, with additional classifiers by class.
    pub(crate) fn enqueue(&mut self, pkt: Pkt, seen: &mut Seen) -> Outcome {
        if self.net.full(self.backlog(), &pkt) {
            return Outcome::Overflow;
        }
        let mut to_lq = pkt.l4s;
        if self.set.l_class == Some(pkt.class) {
            seen.note("steered to the L queue", !to_lq);
            to_lq = true;
        }
        if self.set.c_class == Some(pkt.class) {
            seen.note("steered to the C queue", to_lq);
            to_lq = false;
        }
        if !self.set.l4s {
            seen.note("L4S disabled", to_lq);
            to_lq = false;
        }
        if to_lq {
            self.lq.q.push_back(pkt)
        } else {
            self.cq.q.push_back(pkt)
        }
        Outcome::Queued
    }

    /// Seconds that the head has waited; 0 for an empty queue.
    pub(crate) fn time(queue: &Buffer, now: u64) -> f64 {
        queue.q.front().map_or(0, |head| now - head.tstamp) as f64 / SECOND
    }

    /// Whether lq is served next. None: both queues are empty.
    pub(crate) fn scheduler(&mut self, now: u64, seen: &mut Seen) -> Option<bool> {
        if self.cq.q.is_empty() && self.lq.q.is_empty() {
            self.reset();
            return None;
        }
        if self.cq.q.is_empty() || self.lq.q.is_empty() {
            return Some(self.cq.q.is_empty());
        }
        let lq = if self.set.wrr {
            self.credit <= 0.0
        } else {
            now - self.lq.q[0].tstamp + self.set.tshift >= now - self.cq.q[0].tstamp
        };
        seen.note("both wait, L is served", lq);
        seen.note("both wait, C is served", !lq);
        Some(lq)
    }

    pub(crate) fn dequeue(&mut self, lq: bool) -> Pkt {
        let queue = if lq { &mut self.lq } else { &mut self.cq };
        queue.q.pop_front().expect("the scheduler's choice")
    }

    pub(crate) fn sent(&mut self, lq: bool, size: u32) {
        if lq && !self.cq.q.is_empty() {
            self.credit += self.set.wc * f64::from(size);
        }
        if !lq && !self.lq.q.is_empty() {
            self.credit -= (1.0 - self.set.wc) * f64::from(size);
        }
    }

    /// With L4S disabled, ECT(1) is treated as Not-ECT.
    pub(crate) fn ecn(&self, pkt: &Pkt) -> bool {
        self.net.setbit && pkt.ect && (self.set.l4s || !pkt.ect1)
    }

    pub(crate) fn l4s(&self, pkt: &Pkt) -> bool {
        self.ecn(pkt) && self.set.l4s && pkt.l4s
    }

    pub(crate) fn backlog(&self) -> (u64, u64) {
        let [(pkts_c, bytes_c), (pkts_l, bytes_l)] = [self.cq.backlog(), self.lq.backlog()];
        (pkts_c + pkts_l, bytes_c + bytes_l)
    }
}
