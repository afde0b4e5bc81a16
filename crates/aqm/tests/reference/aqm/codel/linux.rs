//! CoDel with the integers of Linux 6.12: net/codel.h and net/codel_impl.h in our own words.
//!
//! All times are counts of 1024 ns, modulo 2^32. `Vars` also has the variables of the RFC's listing, of which this one
//! uses count, lastcount, dropping and rec_inv_sqrt.

use super::Codel;
use crate::reference::harness::*;

/// Length of a time that may be negative: the difference of two counts modulo 2^32.
fn signed(later: u32, earlier: u32) -> i64 {
    let difference = i64::from(later) - i64::from(earlier);
    let wrapped = difference.rem_euclid(1 << 32);
    if wrapped >= 1 << 31 { wrapped - (1 << 32) } else { wrapped }
}

fn count_of(ns: u64) -> u32 {
    (ns / 1024 % (1 << 32)) as u32
}

impl Codel<'_> {
    fn linux_control_law(&self, t: u32) -> u32 {
        let gap = u64::from(count_of(self.set.interval)) * u64::from(self.vars.rec_inv_sqrt) / 65_536;
        ((u64::from(t) + gap) % (1 << 32)) as u32
    }

    /// The next packet, and whether it has been above target for more than an interval.
    fn linux_head(&mut self, now_ns: u64) -> (Option<Pkt>, bool) {
        let Some(pkt) = self.q.pop_front() else {
            self.vars.above_until = None;
            return (None, false);
        };
        let now = count_of(now_ns);
        *self.maxpacket = (*self.maxpacket).max(u64::from(pkt.size));
        let backlog = self.elsewhere + self.q.iter().map(|pkt| u64::from(pkt.size)).sum::<u64>();
        self.vars.waited = now.wrapping_sub(count_of(pkt.tstamp));
        let low = signed(self.vars.waited, count_of(self.set.target)) < 0;
        let short = backlog <= self.set.mtu.unwrap_or(*self.maxpacket);
        self.seen.note("saved by a short queue", short && !low);
        if low || short {
            self.vars.above_until = None;
            return (Some(pkt), false);
        }
        let bad = match self.vars.above_until {
            None => {
                let end = now.wrapping_add(count_of(self.set.interval));
                // The kernel's 0 means that the delay is not above target.
                self.vars.above_until = (end > 0).then_some(end);
                false
            }
            Some(end) => signed(now, end) > 0,
        };
        (Some(pkt), bad)
    }

    /// The packet to send, if any, and whether it is marked.
    pub(super) fn linux_dequeue(&mut self, now_ns: u64, dropped: &mut Vec<u32>) -> Option<(Pkt, bool)> {
        let now = count_of(now_ns);
        let (mut head, mut bad) = self.linux_head(now_ns);
        let mut marked = false;
        if self.vars.dropping && bad {
            let mut drops = 0;
            while bad && !marked && signed(now, self.vars.next_drop) >= 0 {
                self.vars.count += 1;
                self.codel_newton_step();
                marked = self.set_ce(head);
                self.seen.note("marked after a drop", marked && drops > 0);
                if !marked {
                    drops += 1;
                    dropped.extend(head.map(|pkt| pkt.id));
                    (head, bad) = self.linux_head(now_ns);
                    self.seen.note("good packet behind a drop", !bad);
                    self.seen.note("bad packet behind a drop", bad);
                }
                if bad {
                    self.vars.next_drop = self.linux_control_law(self.vars.next_drop);
                }
            }
            self.seen.note("several drops at once", drops > 1);
            self.vars.dropping = bad;
        } else if self.vars.dropping {
            self.seen.note("left the dropping state", true);
            self.vars.dropping = false;
        } else if bad {
            marked = self.set_ce(head);
            if !marked {
                dropped.extend(head.map(|pkt| pkt.id));
                (head, bad) = self.linux_head(now_ns);
                self.seen.note("bad packet passes behind the first drop", bad);
            }
            self.linux_start(now);
        }
        let ect = head.is_some_and(|pkt| pkt.ect);
        let late = ect && self.set.ce_threshold.is_some_and(|most| signed(self.vars.waited, count_of(most)) > 0);
        self.seen.note("marked without ECN", late && !self.net.setbit);
        self.seen.note("marked for being late alone", late && !marked);
        head.map(|pkt| (pkt, marked || late))
    }

    /// The start of a dropping state.
    fn linux_start(&mut self, now: u32) {
        self.vars.dropping = true;
        let delta = self.vars.count.wrapping_sub(self.vars.lastcount);
        let since = now.wrapping_sub(self.vars.next_drop);
        let recent = signed(since, count_of(self.set.interval).wrapping_mul(16)) < 0;
        self.seen.note("last cycle long ago", delta > 1 && !recent);
        self.seen.note("last cycle's count taken over", delta > 1 && recent);
        if delta > 1 && recent {
            self.vars.count = delta;
            self.codel_newton_step();
        } else {
            self.vars.count = 1;
            self.vars.rec_inv_sqrt = u16::MAX;
        }
        self.vars.lastcount = self.vars.count;
        self.vars.next_drop = self.linux_control_law(now);
    }
}
