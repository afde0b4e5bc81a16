//! FRED: the listing of Lin and Morris, from descriptions of it.
//!
//! Details that the descriptions leave open are as in the library: avgcq is computed at each arrival; the average at a
//! departure is over the remaining queue; idle time counts once; with many flows, a flow with fewer than two packets is
//! not signalled.

use std::collections::BTreeMap;

use crate::reference::harness::*;

#[derive(Clone, Copy, Default)]
struct Flow {
    qlen: f64,
    strike: u32,
}

struct Fred {
    net: Net,
    unit: Unit,
    minth: f64,
    maxth: f64,
    maxp: f64,
    wq: f64,
    /// Minimum queue of a flow, in packets or bytes; `one` is one packet in the same unit.
    minq: f64,
    one: f64,
    many_flows: bool,
    places: u32,
    buffer: Buffer,
    seen: Seen,
    /// Flows with queued packets; their number is Nactive.
    flows: BTreeMap<u32, Flow>,
    avg: f64,
    count: i64,
    /// Time when the queue became empty, or of the last arrival at the empty queue.
    q_time: u64,
    pa: f64,
}

impl Fred {
    fn avgcq(&self) -> f64 {
        let nactive = self.flows.len();
        let avgcq = if nactive > 0 { self.avg / nactive as f64 } else { self.avg };
        if avgcq < self.one { self.one } else { avgcq }
    }

    fn size(&self, pkt: &Pkt) -> f64 {
        if self.unit == Unit::Bytes { f64::from(pkt.size) } else { 1.0 }
    }

    /// None: accepted. Some(false): signalled at random, with a drop or a mark. Some(true): dropped.
    fn judge(&mut self, place: u32, u: f64) -> Option<bool> {
        let Flow { qlen, strike } = self.flows.get(&place).copied().unwrap_or_default();
        let avgcq = self.avgcq();
        self.pa = 0.0;
        // Identify and manage non-adaptive flows.
        let mut maxq = self.minth;
        if self.many_flows && self.avg >= self.maxth {
            maxq = 2.0 * self.one;
        }
        let too_long = qlen >= maxq;
        let too_much = self.avg >= self.maxth && qlen > 2.0 * avgcq;
        let too_often = qlen >= avgcq && strike > 1;
        if too_long || too_much || too_often {
            self.seen.note("as long as min_th", too_long && !self.many_flows);
            self.seen.note("two packets of many", too_long && self.many_flows && self.avg >= self.maxth);
            self.seen.note("twice its share", too_much && !too_long);
            self.seen.note("too many strikes", too_often && !too_long && !too_much);
            if let Some(flow) = self.flows.get_mut(&place) {
                flow.strike += 1;
            }
            return Some(true);
        }
        if self.minth <= self.avg && self.avg < self.maxth {
            // Random drop mode.
            self.count += 1;
            let robust = qlen >= self.minq && qlen >= avgcq;
            self.seen.note("a fragile flow is spared", !robust);
            if robust {
                let pb = self.maxp * (self.avg - self.minth) / (self.maxth - self.minth);
                let done = self.count as f64 * pb;
                self.pa = if done < 1.0 { pb / (1.0 - done) } else { 1.0 };
                if self.pa > 1.0 {
                    self.pa = 1.0;
                }
                if u < self.pa {
                    self.seen.note("by chance", true);
                    self.count = 0;
                    return Some(false);
                }
            }
            None
        } else if self.avg < self.minth {
            // No drop mode.
            self.count = -1;
            None
        } else if self.many_flows {
            self.seen.note("fewer than two of many", true);
            None
        } else {
            // Drop-tail mode.
            self.seen.note("drop-tail mode", true);
            self.count = 0;
            Some(true)
        }
    }
}

impl Listing for Fred {
    usual!(seen, backlog = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let u = uniform();
        let place = pkt.flow % self.places;
        let q = self.buffer.length(self.unit);
        if self.buffer.q.is_empty() {
            let m = (now - self.q_time) as f64 / SECOND * self.net.capacity(Unit::Pkts);
            self.seen.note("empty for packets", m > 1.0);
            self.avg *= (1.0 - self.wq).powf(m);
            self.q_time = now;
        }
        let verdict = self.judge(place, u);
        let size = self.size(&pkt);
        let outcome = match verdict {
            Some(true) if !self.buffer.full(&self.net, &pkt) => Outcome::Early,
            _ => self.buffer.finish(&self.net, pkt, verdict.is_some()),
        };
        if matches!(outcome, Outcome::Queued | Outcome::Marked) {
            if q > 0.0 {
                self.avg = (1.0 - self.wq) * self.avg + self.wq * q;
            }
            self.flows.entry(place).or_default().qlen += size;
        }
        outcome
    }

    fn deque(&mut self, now: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        let head = self.buffer.q.front().copied();
        let departure = self.buffer.plain_deque();
        if let Some(pkt) = head {
            let (place, size) = (pkt.flow % self.places, self.size(&pkt));
            let flow = self.flows.get_mut(&place).expect("it has a packet waiting");
            flow.qlen -= size;
            if flow.qlen == 0.0 {
                self.flows.remove(&place);
            }
            self.avg = (1.0 - self.wq) * self.avg + self.wq * self.buffer.length(self.unit);
            if self.buffer.q.is_empty() {
                self.q_time = now;
            }
        }
        departure
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![
            ("avg", self.avg, self.minth),
            ("p", self.pa, 0.01),
            ("avgcq", self.avgcq(), 0.0),
            ("active", self.flows.len() as f64, 0.0),
            ("count", self.count as f64, 0.0),
        ]
    }
}

fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (min_auto, max_auto) = (dice.odds(0.3), dice.odds(0.3));
    let unit = if min_auto && max_auto { Unit::Pkts } else { dice.pick(&UNITS) };
    let one = if unit == Unit::Bytes { net.mean_pktsize as f64 } else { 1.0 };
    let (mut minth, minq) = (threshold(dice, &net, unit, 1.0, 20.0), dice.pick(&[0, 1, 2, 4]));
    let mut maxth = minth * dice.between(1.1, 3.0);
    let auto = |is_auto, n| if is_auto { "auto".to_string() } else { depth(n, unit) };
    let thresholds = format!("min_th={} max_th={}", auto(min_auto, minth), auto(max_auto, maxth));
    if min_auto {
        minth = if max_auto { net.room(unit) / 4.0 } else { maxth / 2.0 };
    }
    if max_auto {
        maxth = 2.0 * minth;
        if maxth < minth + one {
            maxth = minth + one;
        }
    }
    let fred = Fred {
        net,
        unit,
        minth,
        maxth,
        maxp: dice.pick(&[0.02, 0.1, 0.5, 1.0]),
        wq: dice.scale(1e-3, 1.0),
        minq: f64::from(minq) * one,
        one,
        many_flows: dice.odds(0.4),
        places: dice.pick(&[4096, 4096, 10, 3]),
        buffer: Buffer::default(),
        seen: Seen::default(),
        flows: BTreeMap::new(),
        avg: 0.0,
        count: -1,
        q_time: 0,
        pa: 0.0,
    };
    let words = format!(
        "{thresholds} max_p={} w_q={} min_q={minq} many_flows={} flows={}",
        fred.maxp,
        fred.wq,
        on(fred.many_flows),
        fred.places,
    );
    (words, Box::new(fred))
}

#[test]
fn fred_handles_packets_as_its_paper() {
    let branches = [
        "as long as min_th",
        "two packets of many",
        "twice its share",
        "too many strikes",
        "a fragile flow is spared",
        "by chance",
        "fewer than two of many",
        "drop-tail mode",
        "empty for packets",
    ];
    differ("fred", case, &branches);
}
