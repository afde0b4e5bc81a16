//! PI: proportional-integral control of the queue (Hollot, Misra, Towsley, Gong 2002).
//!
//! The integral of (q - q_ref) sets p, so the queue settles at q_ref whatever the load; how soon
//! depends on gains that were designed for one link, one N and one RTT.

use crate::base::design::{About, Design, Preset};
use crate::base::ladder::{Actuation, Law, Sample};
use crate::base::time::Span;
use crate::base::units::{Depth, Link};
use crate::{params, probes};

params! {
    /// Knobs of PI.
    pub struct Params {
        /// Queue length that the integral action holds, in the unit of q; in bytes p goes by packet size too.
        q_ref: Depth = Depth::Packets(50.0), in 0.0 ..= 1e9, "q_ref", "ns-2.35 default";
        /// Gain on the present error, per packet (per byte if q_ref is in bytes).
        a: f64 = 1.822e-5, in 0.0 ..= 1e3, "a", "Hollot et al. section V; ns-2.35 default";
        /// Gain on the previous error.
        b: f64 = 1.816e-5, in 0.0 ..= 1e3, "b", "Hollot et al. section V; ns-2.35 default";
        /// Updates per second.
        w: f64 = 170.0, in 1e-3 ..= 1e6, "w", "ns-2.35 default";
    }
}

/// State of PI.
pub struct Pi {
    params: Params,
    /// Byte mode: the mean that packet sizes are measured by.
    per_byte: Option<f64>,
    p: f64,
    q_old: f64,
}

/// One step: p + a (q - q_ref) - b (q_old - q_ref), kept a probability.
fn step(p: f64, q: f64, q_old: f64, params: &Params) -> f64 {
    let q_ref = params.q_ref.value();
    (params.a * (q - q_ref) - params.b * (q_old - q_ref) + p).clamp(0.0, 1.0)
}

impl Pi {
    const fn actuation(&self) -> Actuation {
        Actuation { per_byte: self.per_byte, ..Actuation::bernoulli(self.p) }
    }
}

impl Design for Pi {
    type Params = Params;
    const ABOUT: About = About {
        summary: "proportional-integral controller of the queue length",
        source: "Hollot, Misra, Towsley, Gong: Analysis and Design of Controllers for AQM Routers, IEEE TAC 2002",
        rule: "every 1/w s:  p = clamp(p + a (q - q_ref) - b (q_old - q_ref), 0, 1);  q_old = q\n\
               arrival:      if u < p: mark or drop;  q_ref in bytes: u < p size/mean",
        deviations: &[
            "ns-2.35's rule, with u < p for its u <= p",
            "q_ref in bytes is ns-2's queue_in_bytes_ and bytes_ in one",
            "mean packet is the link's; ns-2 has 500 bytes whatever the traffic",
        ],
    };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "ns2",
        settings: "ecn=off q_ref=50 a=1.822e-5 b=1.816e-5 w=170",
        source: "ns-2.35 defaults, drops instead of marks",
    }];

    fn build(params: &Params, link: &Link) -> Self {
        let per_byte = matches!(params.q_ref, Depth::Bytes(_)).then_some(link.mean_packet.0 as f64);
        Self { params: params.clone(), per_byte, p: 0.0, q_old: 0.0 }
    }
}

impl Law for Pi {
    fn period(&self, _: usize) -> Span {
        Span::from_secs(1.0 / self.params.w)
    }

    fn initial(&self) -> Actuation {
        self.actuation()
    }

    fn update(&mut self, _: usize, sample: &Sample) -> Actuation {
        let q = sample.backlog(self.params.q_ref);
        self.p = step(self.p, q, self.q_old, &self.params);
        self.q_old = q;
        self.actuation()
    }
}

probes! { Pi {
    /// Signal probability.
    p ["1"] = |s| s.p;
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturated_error_moves_p_by_five_ten_thousandths_a_second() {
        // A full 100-packet buffer at q_ref 50: (a - b) x 50 x 170 Hz = 5.1e-4 per second.
        let params = Params::default();
        let one_second = (0..170).fold(0.1, |p, _| step(p, 100.0, 100.0, &params));
        assert!((one_second - 0.1 - 5.1e-4).abs() < 1e-9);
    }

    #[test]
    fn p_stays_a_probability() {
        let params = Params::default();
        assert_eq!(step(0.0, 0.0, 100.0, &params), 0.0);
        assert_eq!(step(1.0, 1e9, 0.0, &params), 1.0);
    }
}
