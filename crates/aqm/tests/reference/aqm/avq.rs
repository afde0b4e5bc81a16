//! AVQ, as in ns-2.35: `Vq::enque` with `checkPacketForECN`, `markPacketForECN` and `dropPacketForECN`.
//!
//! Deliberate differences from ns-2: the virtual buffer may differ from the real one; a packet that cannot be marked is
//! dropped where others are marked; a drop at a full buffer always counts as overflow.

use crate::reference::harness::*;

struct Vq {
    net: Net,
    qib: Unit,
    /// In the unit of the queue.
    limit: f64,
    ecnlim: f64,
    gamma: f64,
    alpha2: f64,
    buffer: Buffer,
    seen: Seen,
    c: f64,
    ctilde: f64,
    vq_len: f64,
    firstpkt: bool,
    prev_time: u64,
    vqprev_time: u64,
    pktdrp: bool,
}

impl Listing for Vq {
    usual!(seen, backlog = buffer, deque = buffer);

    fn enque(&mut self, pkt: Pkt, now: u64, _: &mut dyn FnMut() -> f64) -> Outcome {
        let full = self.buffer.full(&self.net, &pkt);
        let qib = if self.qib == Unit::Bytes { 1.0 } else { 0.0 };
        let size = f64::from(pkt.size);
        if self.firstpkt {
            self.c = self.net.capacity(self.qib);
            self.firstpkt = false;
            self.ctilde = self.c * self.ecnlim;
            self.prev_time = now;
            self.vqprev_time = now;
        }

        self.vq_len -= self.ctilde * ((now - self.vqprev_time) as f64 / SECOND);
        self.vqprev_time = now;
        self.seen.note("virtual queue empty", self.vq_len < 0.0);
        if self.vq_len < 0.0 {
            self.vq_len = 0.0;
        }
        self.vq_len = self.vq_len + qib * size + (1.0 - qib);

        let mut ce = false;
        if self.vq_len > self.limit {
            self.vq_len = self.vq_len - qib * size - (1.0 - qib);
            if self.vq_len < 0.0 {
                self.vq_len = 0.0;
            }
            if self.net.setbit && pkt.ect {
                ce = true;
            } else {
                self.pktdrp = true;
            }
        }

        let dropped = self.pktdrp;
        if !self.pktdrp {
            let dt = (now - self.prev_time) as f64 / SECOND;
            self.ctilde = self.ctilde + self.alpha2 * self.gamma * self.c * dt
                - self.alpha2 * (1.0 - qib)
                - self.alpha2 * qib * size;
            self.seen.note("above C", self.ctilde > self.c);
            if self.ctilde > self.c {
                self.ctilde = self.c;
            }
            self.seen.note("below 0", self.ctilde < 0.0);
            if self.ctilde < 0.0 {
                self.ctilde = 0.0;
            }
            self.prev_time = now;
        } else {
            self.pktdrp = false;
        }

        self.seen.note("dropped for the virtual queue", dropped && !full);
        self.seen.note("marked for the virtual queue", ce && !full);
        self.seen.note("overflow", full && !dropped);
        if full {
            return Outcome::Overflow;
        }
        if dropped {
            return Outcome::Early;
        }
        self.buffer.q.push_back(pkt);
        if ce { Outcome::Marked } else { Outcome::Queued }
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        let share = if self.firstpkt { self.ecnlim } else { self.ctilde / self.c };
        vec![("vq", self.vq_len, self.limit), ("ct", share, 1.0)]
    }
}

/// Random settings, as text for the library and as settings of the listing.
fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let net = trace.net;
    let (qib, limit_in) = (dice.pick(&UNITS), dice.pick(&UNITS));
    let mean = net.mean_pktsize as f64;
    let packets = dice.between(1.0, 60.0);
    let auto = dice.odds(0.3);
    let limit = match (auto, qib) {
        (true, _) => net.room(qib),
        (false, Unit::Pkts) => packets,
        (false, Unit::Bytes) => packets * mean,
    };
    let word = match (auto, limit_in) {
        (true, _) => "auto".to_string(),
        (false, Unit::Pkts) => depth(packets, Unit::Pkts),
        (false, Unit::Bytes) => depth(packets * mean, Unit::Bytes),
    };
    let (gamma, ecnlim) = (dice.pick(&[0.98, 0.9, 0.5, 1.0]), dice.pick(&[0.8, 0.2, 1.0, 0.0]));
    let alpha2 = dice.scale(0.05, 50.0);
    let bytes = on(qib == Unit::Bytes);
    let words = format!("gamma={gamma} alpha={alpha2} limit={word} ecnlim={ecnlim} bytes={bytes}");
    let (buffer, seen) = Default::default();
    let vq = Vq {
        net,
        qib,
        limit,
        ecnlim,
        gamma,
        alpha2,
        buffer,
        seen,
        c: 0.0,
        ctilde: 0.0,
        vq_len: 0.0,
        firstpkt: true,
        prev_time: 0,
        vqprev_time: 0,
        pktdrp: false,
    };
    (words, Box::new(vq))
}

#[test]
fn avq_handles_packets_as_ns2() {
    let branches = [
        "virtual queue empty",
        "above C",
        "below 0",
        "dropped for the virtual queue",
        "marked for the virtual queue",
        "overflow",
    ];
    differ("avq", case, &branches);
}
