//! PI: proportional-integral control of the queue (Hollot, Misra, Towsley, Gong 2002).
//!
//! p integrates q - q_ref, so the queue settles at q_ref at any load. How fast depends on the gains. The default gains
//! were designed for one link, one number of flows and one RTT; `preset=tuned` designs them for the given link.

use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{Actuation, Law, Sample};
use crate::base::params::Auto;
use crate::base::time::Span;
use crate::base::units::{Depth, Link};
use crate::{params, probes};

params! {
    /// Parameters of PI.
    pub struct Params {
        /// Target queue length. If given in bytes, p is scaled by packet size too.
        q_ref: Depth = Depth::Packets(50.0), in 0.0 ..= 1e9, "q_ref", "ns-2.35 default";
        /// Gain on the current error, per packet; auto: designed from n, rtt, w_g and the link.
        a: Auto<f64> = Auto::Given(1.822e-5), in 0.0 ..= 1e3, "a", "Hollot et al. section V; ns-2.35 default";
        /// Gain on the previous error, per packet; auto: designed from n, rtt, w_g and the link.
        b: Auto<f64> = Auto::Given(1.816e-5), in 0.0 ..= 1e3, "b", "Hollot et al. section V; ns-2.35 default";
        /// Updates per second.
        w: f64 = 170.0, in 1e-3 ..= 1e6, "w", "ns-2.35 default";
        /// Design point: smallest number of connections with which the queue must be stable.
        n: u32 = 60, in 1.0 ..= 1000000.0, "N", "Hollot et al. section V";
        /// Design point: longest round-trip time with which the queue must be stable, including queuing delay.
        rtt: Span = Span::from_millis(246), in 1e-4 ..= 1e2, "R", "Hollot et al. section V";
        /// Design point: crossover frequency in rad/s; auto: 2 n/(rtt^2 C), at most 0.5/rtt.
        w_g: Auto<f64> = Auto::Auto, in 1e-6 ..= 1e6, "w_g", "Hollot et al. have 2N/(R^2 C); the bound is ours";
    }
}

/// Upper bound of w_g R, crossover frequency times RTT, if w_g is auto. It gives a phase margin of 34.8 degrees. It is
/// not in the paper.
const MAX_W_G_R: f64 = 0.5;

/// 2N/(R^2 C) for N flows with RTT R: the slow pole of TCP, which the controller's zero cancels. C, the link rate, is
/// in packets per second.
fn zero(n: f64, rtt: f64, c: f64) -> f64 {
    2.0 * n / (rtt * rtt * c)
}

/// The gains a and b for crossover at `w_g` and sampling period `ts` (bilinear transform).
fn gains(n: f64, rtt: f64, c: f64, w_g: f64, ts: f64) -> (f64, f64) {
    let z = zero(n, rtt, c);
    let k = w_g * z * libm::sqrt(w_g * w_g + 1.0 / (rtt * rtt)) * 2.0 * n / (c * c);
    (k * (1.0 / z + ts / 2.0), k * (1.0 / z - ts / 2.0))
}

/// The gains a and b: as given, or designed for `link` where the parameter is auto.
fn designed(params: &Params, link: &Link) -> (f64, f64) {
    let (n, rtt, c) = (f64::from(params.n), params.rtt.secs(), link.pkts_per_sec());
    let w_g = params.w_g.or(zero(n, rtt, c).min(MAX_W_G_R / rtt));
    let (a, b) = gains(n, rtt, c, w_g, 1.0 / params.w);
    (params.a.or(a), params.b.or(b))
}

/// State of PI.
#[derive(Clone)]
pub struct Pi {
    params: Params,
    /// The gains in use.
    gains: (f64, f64),
    /// Cached 1/w: otherwise LLVM hoists the division into every discipline's per-packet path.
    period: Span,
    /// Byte mode: mean packet size in bytes.
    per_byte: Option<f64>,
    p: f64,
    /// Previous error q - q_ref in packets; in byte mode, in packets of mean size.
    error_old: f64,
}

/// The new p after one update: p + a (q - q_ref) - b (q_old - q_ref), clamped to 0..1.
fn step(p: f64, error: f64, error_old: f64, (a, b): (f64, f64)) -> f64 {
    (a * error - b * error_old + p).clamp(0.0, 1.0)
}

impl Pi {
    const fn actuation(&self) -> Actuation {
        Actuation { per_byte: self.per_byte, ..Actuation::bernoulli(self.p) }
    }

    /// q - q_ref in packets.
    fn error(&self, q: f64) -> f64 {
        let q_ref = self.params.q_ref.value();
        match self.per_byte {
            None => q - q_ref,
            Some(mean) => (q - q_ref) / mean,
        }
    }
}

impl Design for Pi {
    type Params = Params;
    const ABOUT: About = About {
        summary: "proportional-integral controller of the queue length",
        source: "Hollot, Misra, Towsley, Gong: Analysis and Design of Controllers for AQM Routers, IEEE TAC 2002",
        rule: "every 1/w s:  p = clamp(p + a (q - q_ref) - b (q_old - q_ref), 0, 1);  q_old = q\n\
               arrival:      if u < p: mark or drop\n\
               in bytes:     q and q_ref over the mean packet;  u < p size/mean\n\
               auto gains:   z = 2N/(R^2 C);  K = w_g z sqrt(w_g^2 + 1/R^2) 2N/C^2\n\
               \u{20}             a = K (1/z + 1/2w);  b = K (1/z - 1/2w)",
        deviations: &[
            "the signal test differs from ns-2.35: u < p, not u <= p",
            "byte mode differs from ns-2: q_ref in bytes sets both queue_in_bytes_ and bytes_, and equals qref_ times \
             the mean packet",
            "the mean packet differs from ns-2: it is the link's; ns-2 always uses 500 bytes",
            "automatic gains differ from Hollot et al.: we derived them again from their loop; at their design point \
             they are 2 % above the printed ones",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns2",
            settings: "ecn=off q_ref=50 a=1.822e-5 b=1.816e-5 w=170",
            source: "ns-2.35 defaults, drops instead of marks",
        },
        Preset {
            name: "tuned",
            settings: "a=auto b=auto w=160",
            source: "Hollot et al.'s design rule for this link; set n and rtt",
        },
        Preset {
            name: "aaqm",
            settings: "q_ref=100 a=1.822e-5 b=1.816e-5 w=170",
            source: "AAQM paper, for its buffer of 101; it used the gains of Ryu et al., which we did not find: \
                     ns-2.35's",
        },
    ];

    fn build(params: &Params, link: &Link) -> Self {
        let per_byte = matches!(params.q_ref, Depth::Bytes(_)).then_some(link.mean_packet.0 as f64);
        let (gains, period) = (designed(params, link), Span::from_secs(1.0 / params.w));
        let mut pi = Self { params: params.clone(), gains, period, per_byte, p: 0.0, error_old: 0.0 };
        // At the start q_old is 0, so the old error is -q_ref.
        pi.error_old = pi.error(0.0);
        pi
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { p: self.p, error_old: self.error_old, ..Self::build(params, link) })
    }
}

impl Law for Pi {
    fn period(&self, _: usize) -> Span {
        self.period
    }

    fn initial(&self) -> Actuation {
        self.actuation()
    }

    fn update(&mut self, _: usize, sample: &Sample) -> Actuation {
        let error = self.error(sample.backlog(self.params.q_ref));
        self.p = step(self.p, error, self.error_old, self.gains);
        self.error_old = error;
        self.actuation()
    }
}

probes! { Pi {
    /// Signal probability.
    p ["1"] probability = |s| s.p;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::port::{Count, Tally};
    use crate::base::time::Instant;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::params;

    /// The default gains a and b, which are those of ns-2.
    const NS2: (f64, f64) = (1.822e-5, 1.816e-5);
    /// 15 Mb/s of 500-byte packets: C = 3750 packets a second.
    const LINK: Link = Link { rate: Rate(15_000_000), limit: Limit::Packets(800), mean_packet: Bytes(500) };

    fn pi(settings: &str, link: &Link) -> Pi {
        let params: Params = params(settings);
        Pi::build(&params, link)
    }

    /// Updates `pi` once with each queue length in `queues`, in packets of `len` bytes. Returns the last p.
    fn p_after(pi: &mut Pi, queues: &[f64], len: f64) -> f64 {
        for q in queues {
            let sample = Sample {
                now: Instant::ZERO,
                dt: Span::from_millis(6),
                link: LINK,
                backlog_pkts: *q,
                backlog_bytes: q * len,
                period: Tally { offered: Count::default(), ..Tally::default() },
            };
            pi.update(0, &sample);
        }
        pi.p
    }

    fn near(got: f64, want: f64, relative: f64) {
        assert!((got / want - 1.0).abs() <= relative, "{got} is not {want}");
    }

    #[test]
    fn full_buffer_raises_p_at_constant_rate() {
        // A full 100-packet buffer at q_ref 50: (a - b) x 50 x 170 Hz = 5.1e-4 per second.
        let one_second = (0..170).fold(0.1, |p, _| step(p, 50.0, 50.0, NS2));
        assert!((one_second - 0.1 - 5.1e-4).abs() < 1e-9);
    }

    #[test]
    fn p_stays_between_0_and_1() {
        assert_eq!(step(0.0, -50.0, 50.0, NS2), 0.0);
        assert_eq!(step(1.0, 1e9, -50.0, NS2), 1.0);
    }

    #[test]
    fn first_update_compares_with_an_empty_queue() {
        // 60 packets at q_ref 50: 10 a + 50 b; then 60 again: 10 (a - b) more.
        let mut pi = pi("", &LINK);
        near(p_after(&mut pi, &[60.0], 500.0), 10.0 * NS2.0 + 50.0 * NS2.1, 1e-12);
        near(p_after(&mut pi, &[60.0], 500.0), 20.0 * NS2.0 + 40.0 * NS2.1, 1e-12);
    }

    #[test]
    fn queue_bytes_count_as_packets_of_mean_size() {
        let queues = [10.0, 80.0, 120.0, 60.0];
        let packets = p_after(&mut pi("q_ref=50p", &LINK), &queues, 500.0);
        near(p_after(&mut pi("q_ref=25000b", &LINK), &queues, 500.0), packets, 1e-12);
        // 1500-byte packets are three each: 30, 240, 360, 180 of them.
        let tripled = queues.map(|q| 3.0 * q);
        let long = p_after(&mut pi("q_ref=25000b", &LINK), &queues, 1500.0);
        near(long, p_after(&mut pi("q_ref=50p", &LINK), &tripled, 500.0), 1e-12);
    }

    #[test]
    fn byte_mode_scales_p_by_packet_length() {
        assert_eq!(pi("q_ref=50p", &LINK).initial().per_byte, None);
        assert_eq!(pi("q_ref=25000b", &LINK).initial().per_byte, Some(500.0));
    }

    #[test]
    fn design_rule_gives_the_published_gains() {
        // Worked in the specification: z 0.529, a 1.857e-5, b 1.851e-5; printed are 1.822e-5 and 1.816e-5.
        near(zero(60.0, 0.246, 3750.0), 0.529, 5e-4);
        let (a, b) = gains(60.0, 0.246, 3750.0, 0.53, 1.0 / 160.0);
        near(a, 1.857e-5, 3e-4);
        near(b, 1.851e-5, 3e-4);
        near(a, 1.822e-5, 0.02);
        near(b, 1.816e-5, 0.02);
    }

    #[test]
    fn gains_set_to_auto_follow_design_rule() {
        // The published design point, where w_g is z = 0.5288; and one where 0.5/R = 4.17 is below z = 5.56.
        let slow = pi("a=auto b=auto w=160 n=60 rtt=246ms", &LINK).gains;
        assert_eq!(slow, gains(60.0, 0.246, 3750.0, zero(60.0, 0.246, 3750.0), 1.0 / 160.0));
        near(slow.0, 1.857e-5, 0.003);
        let link = Link { rate: Rate(10_000_000), ..LINK };
        let fast = pi("a=auto b=auto w=160 n=100 rtt=120ms", &link).gains;
        near(fast.0, 1.26e-3, 4e-3);
        // An integrator: a - b = K Ts, K = 6.901e-3.
        near(fast.0 - fast.1, 6.901e-3 / 160.0, 1e-3);
        // Given crossover; one given gain.
        assert_eq!(pi("a=auto b=auto w=160 n=100 rtt=120ms w_g=4.166666666666667", &link).gains, fast);
        assert_eq!(pi("a=auto b=0.001 w=160 n=100 rtt=120ms", &link).gains, (fast.0, 0.001));
    }
}
