//! MSC: the listing of section 3.3, both updates tested at arrivals, the queue's before the rate's.

use super::{Buffer, Departure, Listing, Net, Outcome, Pkt, SECOND, Seen, Unit};

pub(crate) struct Msc {
    pub(crate) net: Net,
    pub(crate) qref: f64,
    pub(crate) qref_in: Unit,
    pub(crate) alpha: f64,
    pub(crate) gamma: f64,
    /// Nanoseconds.
    pub(crate) ts_s: u64,
    /// Nanoseconds.
    pub(crate) ts_l: u64,
    pub(crate) r_w: f64,
    pub(crate) p_floor: f64,
    pub(crate) smooth_switch: bool,
    pub(crate) buffer: Buffer,
    pub(crate) seen: Seen,
    /// A(t), bits per second.
    pub(crate) a: f64,
    pub(crate) rho: f64,
    pub(crate) p_a: f64,
    pub(crate) p_d: f64,
    pub(crate) smpl_bytes: u64,
    pub(crate) lastset_q: u64,
    pub(crate) lastset_r: u64,
}

impl Msc {
    fn queue_update(&mut self, arv_time: u64) {
        self.lastset_q = arv_time;
        let q = self.buffer.length(self.qref_in);
        let p_q = self.alpha * (q - self.qref) / self.qref;
        self.p_d = self.p_a + p_q;
        self.seen.note("p_d below 0", self.p_d < 0.0);
        self.seen.note("p_d above 1", self.p_d > 1.0);
        if self.p_d > 1.0 {
            self.p_d = 1.0;
        }
        if self.p_d < 0.0 {
            self.p_d = 0.0;
        }
    }

    fn rate_update(&mut self, arv_time: u64) {
        let elapsed = (arv_time - self.lastset_r) as f64 / SECOND;
        let r = 8.0 * self.smpl_bytes as f64 / elapsed;
        self.a = r * self.r_w + self.a * (1.0 - self.r_w);
        self.rho = self.a / self.net.bandwidth as f64;
        self.seen.note("load above gamma", self.rho > self.gamma);
        if self.rho <= self.gamma {
            self.p_a = self.p_floor;
        } else {
            self.p_a = 1.0 - self.gamma / self.rho;
            if self.smooth_switch && self.p_a < self.p_floor {
                self.p_a = self.p_floor;
            }
        }
        self.smpl_bytes = 0;
        self.lastset_r = arv_time;
    }
}

impl Listing for Msc {
    fn enque(&mut self, pkt: Pkt, arv_time: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let (short, long) = (arv_time - self.lastset_q >= self.ts_s, arv_time - self.lastset_r >= self.ts_l);
        self.seen.note("both at one arrival", short && long);
        if short {
            self.queue_update(arv_time);
        }
        if long {
            self.rate_update(arv_time);
        }
        self.smpl_bytes += u64::from(pkt.size);
        let u = uniform();
        self.buffer.finish(&self.net, pkt, u < self.p_d)
    }

    fn deque(&mut self, _: u64, _: &mut dyn FnMut() -> f64) -> Departure {
        self.buffer.plain_deque()
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.p_d, 0.01), ("p_a", self.p_a, 0.01), ("rho", self.rho, 0.0)]
    }

    fn seen(&self) -> &Seen {
        &self.seen
    }

    fn backlog(&self) -> (u64, u64) {
        (self.buffer.q.len() as u64, self.buffer.bytes())
    }
}
