//! RAQM: Fig. 1 of its paper, with eqs. (3), (12) and (13), once for each sub-aggregate (a group of service classes;
//! section 4).

use crate::reference::harness::*;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Basis {
    Offered,
    PostDrop,
    Accepted,
}

/// Settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Expected rate of each sub-aggregate, as a part of r0.
    phi: Vec<f64>,
    /// None: queue-independent.
    q0: Option<f64>,
    q0_in: Unit,
    /// m = alpha r0, or None: adaptive.
    m: Option<f64>,
    eps: f64,
    /// Nanoseconds.
    period: u64,
    f: f64,
    /// The filter starts with the first sample.
    first_sample: bool,
    /// Bits per second.
    r0: f64,
    p_init: f64,
    p_min: f64,
    c_max: f64,
    kappa: f64,
    /// The queue target of the kappa term, also in the queue-independent mode.
    pull_to: f64,
    basis: Basis,
}

pub(crate) struct Raqm {
    net: Net,
    set: Settings,
    buffer: Buffer,
    seen: Seen,
    /// Bytes that arrived in this period, for each sub-aggregate (group of classes).
    i: Vec<u64>,
    /// Filtered rate of each, bytes per second.
    r: Vec<f64>,
    p: Vec<f64>,
    periods: u64,
    next: u64,
}

impl Raqm {
    pub(crate) fn new(net: Net, set: Settings) -> Self {
        let (buffer, seen) = Default::default();
        let n = set.phi.len();
        let (i, r, p, next) = (vec![0; n], vec![0.0; n], vec![set.p_init; n], set.period);
        Self { net, set, buffer, seen, i, r, p, periods: 0, next }
    }

    /// Eq. (13) times r0, x = r/r0: 2 ln((2-x)/x)/(1-x), by its series within 0.1 of 1; c_max where it is undefined.
    fn c(&mut self, x: f64) -> f64 {
        let undefined = x <= 0.0 || x >= 2.0;
        self.seen.note("alpha_hat undefined", undefined);
        self.seen.note("alpha_hat by its series", (x - 1.0).abs() < 0.1);
        let c = if undefined {
            f64::INFINITY
        } else if (x - 1.0).abs() < 0.1 {
            4.0 + 4.0 * (x - 1.0).powi(2) / 3.0 + 4.0 * (x - 1.0).powi(4) / 5.0
        } else {
            2.0 * ((2.0 - x) / x).ln() / (1.0 - x)
        };
        self.seen.note("alpha_hat capped", c > self.set.c_max);
        if c > self.set.c_max { self.set.c_max } else { c }
    }

    /// InputRateMeasure() for sub-aggregate `j`.
    fn measure(&mut self, j: usize) {
        let set = self.set.clone();
        let t = set.period as f64 / SECOND;
        let sample = self.i[j] as f64 / t;
        if self.periods == 0 && set.first_sample {
            self.r[j] = sample;
        }
        self.r[j] = (1.0 - set.f) * sample + set.f * self.r[j];
        self.i[j] = 0;
        // The term with kappa adds a queue to a rate, so the rate has the unit of q0: packets of mean size, or bytes.
        let per_unit = match set.q0_in {
            Unit::Pkts => self.net.mean_pktsize as f64,
            Unit::Bytes => 1.0,
        };
        let (r, r0) = (self.r[j] / per_unit, set.phi[j] * set.r0 / 8.0 / per_unit);
        let alpha = match set.m {
            Some(m) => m / r0,
            None if self.periods == 0 => 2.0 / r0,
            None => set.eps * self.c(r / r0) / r0,
        };
        let q = self.buffer.length(set.q0_in);
        let mut mismatch = alpha * (r - r0 - set.phi[j] * set.kappa * (set.pull_to - q));
        self.seen.note("exponent limited", mismatch.abs() > 5.0);
        if mismatch > 5.0 {
            mismatch = 5.0;
        }
        if mismatch < -5.0 {
            mismatch = -5.0;
        }
        self.p[j] *= mismatch.exp();
        self.seen.note("p at its floor", self.p[j] < set.p_min);
        self.seen.note("p at 1", self.p[j] > 1.0);
        if self.p[j] < set.p_min {
            self.p[j] = set.p_min;
        }
        if self.p[j] > 1.0 {
            self.p[j] = 1.0;
        }
    }
}

impl Listing for Raqm {
    usual!(seen, backlog = buffer, deque = buffer, next_timer = next);

    fn enque(&mut self, pkt: Pkt, _: u64, uniform: &mut dyn FnMut() -> f64) -> Outcome {
        let j = usize::from(pkt.class) % self.set.phi.len();
        self.seen.note("later sub-aggregate", j > 0);
        let mut p_use = self.p[j];
        if let Some(q0) = self.set.q0 {
            p_use = self.p[j] * self.buffer.length(self.set.q0_in) / q0;
            self.seen.note("p q/q0 above 1", p_use > 1.0);
        }
        let random = uniform();
        let enqueue = random >= p_use;
        let outcome = self.buffer.finish(&self.net, pkt, !enqueue);
        let counted = match self.set.basis {
            Basis::Offered => true,
            Basis::PostDrop => outcome != Outcome::Early,
            Basis::Accepted => matches!(outcome, Outcome::Queued | Outcome::Marked),
        };
        if counted {
            self.i[j] += u64::from(pkt.size);
        }
        outcome
    }

    fn timer(&mut self) {
        self.next += self.set.period;
        (0..self.set.phi.len()).for_each(|j| self.measure(j));
        self.periods += 1;
    }

    fn shown(&self) -> Vec<(&'static str, f64, f64)> {
        vec![("p", self.p[0], 0.0), ("r", self.r[0] * 8.0, 0.0)]
    }
}

/// Random settings, as text for the library and as settings of the listing.
pub(crate) fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let q0_in = dice.pick(&UNITS);
    let q0 = threshold(dice, &trace.net, q0_in, 1.0, 60.0).max(1.0);
    let dependent = dice.odds(0.7);
    let (basis_word, basis) =
        dice.pick(&[("offered", Basis::Offered), ("post_drop", Basis::PostDrop), ("accepted", Basis::Accepted)]);
    let (c, gamma) = (trace.net.bandwidth as f64, dice.pick(&[1.0, 1.0, 0.95, 0.7]));
    let phi: Vec<f64> = match dice.odds(0.3) {
        true => (0..dice.upto(1, 4)).map(|_| dice.between(0.1, 0.6)).collect(),
        false => Vec::new(),
    };
    let phi_text = match phi.is_empty() {
        true => "off".to_string(),
        false => phi.iter().map(f64::to_string).collect::<Vec<_>>().join("/"),
    };
    let set = Settings {
        phi: if phi.is_empty() { vec![1.0] } else { phi },
        q0: dependent.then_some(q0),
        q0_in,
        m: dice.odds(0.4).then(|| dice.between(0.1, 4.0)),
        eps: dice.between(0.1, 1.0),
        period: if trace.grid { dice.pick(&[10, 20, 100]) * MS } else { dice.scale(2e6, 1e9) as u64 },
        f: dice.pick(&[0.0, 0.1, 0.5]),
        first_sample: dice.odds(0.3),
        r0: if gamma < 1.0 { gamma * c } else { (c * dice.pick(&[1.0, 0.9, 0.5])).floor() },
        p_init: dice.pick(&[2e-4, 0.01, 0.5]),
        p_min: dice.pick(&[0.0, 1e-6, 1e-3]),
        c_max: dice.pick(&[8.0, 5.0]),
        kappa: dice.pick(&[0.0, 0.0, 5.0]),
        pull_to: q0,
        basis,
    };
    let words = format!(
        "q0={} mode={} alpha={} eps={} period={}ns f={} r_init={} r0={} phi={phi_text} gamma={gamma} p_init={} p_min={} c_max={} kappa={} rate_basis={}",
        depth(q0, q0_in),
        if dependent { "queue-dependent" } else { "queue-independent" },
        set.m.map_or("adaptive".to_string(), |m| m.to_string()),
        set.eps,
        set.period,
        set.f,
        if set.first_sample { "sample" } else { "zero" },
        if gamma < 1.0 { "auto".to_string() } else { format!("{}bit", set.r0) },
        set.p_init,
        set.p_min,
        set.c_max,
        set.kappa,
        basis_word,
    );
    (words, Box::new(Raqm::new(trace.net, set)))
}

#[test]
fn raqm_handles_packets_as_its_paper() {
    let branches = [
        "p q/q0 above 1",
        "alpha_hat undefined",
        "alpha_hat by its series",
        "alpha_hat capped",
        "exponent limited",
        "p at its floor",
        "p at 1",
        "later sub-aggregate",
    ];
    differ("raqm", case, &branches);
}
