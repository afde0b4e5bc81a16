//! REM: a price grows while rate or queue exceed their targets; the price sets p (Athuraliya, Low, Li, Yin 2001).

use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{ActOn, Actuation, Law, Sample, Signal};
use crate::base::params::Auto;
use crate::base::time::Span;
use crate::base::units::{Bytes, Depth, Link};
use crate::{params, probes};

params! {
    /// Parameters of REM.
    pub struct Params {
        /// Target queue in packets (of mean_packet bytes).
        b: Depth = Depth::Packets(20.0), in 0.0 ..= 1e9, "b*", "ns-2.35 pbo_";
        /// Step size of the price.
        gamma: f64 = 0.001, in 0.0 ..= 1e3, "gamma", "ns-2.35 default";
        /// Base of the exponential from price to probability.
        phi: f64 = 1.001, in 1.0 ..= 1e3, "phi", "ns-2.35 default";
        /// Weight of the queue error relative to the rate error.
        alpha: f64 = 0.1, in 0.0 ..= 1e3, "alpha", "ns-2.35, hard-coded there";
        /// Time between price updates.
        interval: Span = Span::from_millis(2), in 1e-6 ..= 1e3, "T", "ns-2.35 default";
        /// Packet size that converts the capacity to packets; auto: the scenario's packet size.
        mean_packet: Auto<Bytes> = Auto::Auto, in 1.0 ..= 1e6, "mean_pktsize", "ns-2.35 always uses 1000";
        /// Counts bytes / mean_packet instead of packets, and scales p by packet size / mean_packet.
        bytes: bool = false, in 0.0 ..= 1.0, "qib", "ns-2.35 queue-in-bytes";
    }
}

/// State of REM.
#[derive(Clone)]
pub struct Rem {
    params: Params,
    mean_packet: f64,
    ln_phi: f64,
    price: f64,
    p: f64,
}

/// The new price: max(0, price + gamma (x + alpha (q - b) - c)) for x arrivals, queue q, target queue b and c
/// transmissions at the link rate, all in packets.
fn step(price: f64, x: f64, q: f64, c: f64, b: f64, params: &Params) -> f64 {
    (price + params.gamma * (x + params.alpha * (q - b) - c)).max(0.0)
}

/// 1 - phi^-price, without cancellation at small prices.
fn probability(price: f64, ln_phi: f64) -> f64 {
    -libm::expm1(-price * ln_phi)
}

impl Rem {
    fn actuation(&self) -> Actuation {
        let per_byte = self.params.bytes.then_some(self.mean_packet);
        Actuation { signal: Signal::Bernoulli(self.p), per_byte, act_on: ActOn::Departure }
    }
}

impl Design for Rem {
    type Params = Params;
    const ABOUT: About = About {
        summary: "random exponential marking: a price on rate and queue mismatch sets p",
        source: "Athuraliya, Low, Li, Yin: REM: Active Queue Management, IEEE Network 2001",
        rule: "every interval:  price = max(0, price + gamma (x + alpha (q - b) - c))\n\
               \u{20}                p = 1 - phi^-price      x arrivals, c capacity in packets an interval\n\
               arrival:         if not ECT and u < p: drop\n\
               departure:       if ECT and u < p: mark",
        deviations: &[
            "the buffer differs from ns-2.35: ns-2 holds one packet less than its limit; compare with queue = limit - \
             1",
            "not-ECT packets with ECN on differ from ns-2.35: they are dropped on arrival; ns-2 in marking mode \
             accepts them",
            "arrivals x differ from ns-2.35: they are those of one interval; ns-2's averaging weight inw_ is not \
             implemented (its default 1 averages nothing)",
            "the signal test differs from ns-2.35: u < p, not u <= p, which also drops at p = 0 when u is 0",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns2",
            settings: "ecn=off b=20 gamma=0.001 phi=1.001 alpha=0.1 interval=2ms mean_packet=1000 bytes=off",
            source: "ns-2.35 defaults, drops instead of marks",
        },
        Preset {
            name: "msc",
            settings: "ecn=off b=40 gamma=0.001 phi=1.001 alpha=0.1 interval=2ms bytes=off",
            source: "MSC paper, section 4; it does not say whether mean_packet was ns-2's 1000",
        },
        Preset {
            name: "raqm",
            settings: "ecn=off b=50 gamma=0.001 phi=1.001 alpha=0.1 interval=2ms bytes=off",
            source: "RAQM paper, section 3; it does not say whether mean_packet was ns-2's 1000",
        },
    ];

    fn build(params: &Params, link: &Link) -> Self {
        let mean_packet = params.mean_packet.or(link.mean_packet).0 as f64;
        Self { params: params.clone(), mean_packet, ln_phi: libm::log(params.phi), price: 0.0, p: 0.0 }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        Some(Self { price: self.price, p: self.p, ..Self::build(params, link) })
    }
}

impl Law for Rem {
    fn period(&self, _: usize) -> Span {
        self.params.interval
    }

    fn initial(&self) -> Actuation {
        self.actuation()
    }

    fn update(&mut self, _: usize, sample: &Sample) -> Actuation {
        let offered = sample.period.offered;
        let (x, q) = if self.params.bytes {
            (offered.bytes as f64 / self.mean_packet, sample.backlog_bytes / self.mean_packet)
        } else {
            (offered.pkts as f64, sample.backlog_pkts)
        };
        let b = match self.params.b {
            Depth::Packets(n) => n,
            Depth::Bytes(n) => n / self.mean_packet,
        };
        let c = sample.link.rate.bytes_per_sec() * sample.dt.secs() / self.mean_packet;
        self.price = step(self.price, x, q, c, b, &self.params);
        self.p = probability(self.price, self.ln_phi);
        self.actuation()
    }
}

probes! { Rem {
    /// Signal probability.
    p ["1"] probability = |s| s.p;
    /// Price from which p is computed.
    price ["1"] = |s| s.price;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::port::{Count, Tally};
    use crate::base::time::Instant;
    use crate::base::units::{Limit, Rate};
    use crate::testing::by_hand::params;

    /// A link that sends five 500-byte packets in 2 ms, the default time between price updates.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(500) };

    fn rem(settings: &str) -> Rem {
        let params: Params = params(settings);
        Rem::build(&params, &LINK)
    }

    /// The price after 2 ms in which `x` packets of `len` bytes arrived and 2 of them were dropped; `q` are queued.
    fn price_after(rem: &mut Rem, x: u64, q: f64, len: u64) -> f64 {
        let count = |pkts| Count { pkts, bytes: pkts * len };
        let sample = Sample {
            now: Instant::ZERO,
            dt: Span::from_millis(2),
            link: LINK,
            backlog_pkts: q,
            backlog_bytes: q * len as f64,
            period: Tally { offered: count(x), accepted: count(x.saturating_sub(2)), ..Tally::default() },
        };
        rem.update(0, &sample);
        rem.price
    }

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{got} is not {want}");
    }

    #[test]
    fn probability_is_five_percent_at_price_51_3() {
        // Worked by hand in the specification: p = 0.05 needs price 51.3.
        let ln_phi = libm::log(1.001);
        assert!((probability(51.3, ln_phi) - 0.05).abs() < 1e-4);
        assert_eq!(probability(0.0, ln_phi), 0.0);
    }

    #[test]
    fn wrong_mean_packet_size_moves_the_equilibrium() {
        // 500 B packets at 10 Mb/s are 5 per 2 ms; with mean_packet=1000 REM assumes 2.5: the equilibrium
        // is 5 + 0.1 (q - 50) = 2.5, at q = 25.
        let params = Params::default();
        assert_eq!(step(7.0, 5.0, 25.0, 2.5, 50.0, &params), 7.0);
        assert!(step(7.0, 5.0, 26.0, 2.5, 50.0, &params) > 7.0);
    }

    #[test]
    fn price_includes_dropped_arrivals_and_queue_error() {
        // 9 arrivals including dropped ones, c = 5; (40 - 20)/10 for the queue: 0.001 x (9 + 2 - 5).
        let mut rem = rem("");
        near(price_after(&mut rem, 9, 40.0, 500), 0.006);
        near(price_after(&mut rem, 5, 20.0, 500), 0.006);
        assert_eq!(price_after(&mut rem, 0, 0.0, 500), 0.0, "0.006 - 0.007: never below 0");
        near(rem.p, 0.0);
    }

    #[test]
    fn queue_bytes_count_as_packets_of_mean_size() {
        let after = |settings, len| price_after(&mut rem(settings), 6, 50.0, len);
        near(after("bytes=on", 500), after("", 500));
        // 250-byte packets are half of one each: 0.001 x (3 + (25 - 20)/10 - 5) and not x (6 + 3 - 5).
        assert_eq!(after("bytes=on gamma=1", 250), 0.0);
        near(after("bytes=on gamma=1", 1000), 12.0 + 8.0 - 5.0);
        // The mean is the link's unless given: with 1000 bytes, q is half and c is 2.5.
        near(after("bytes=on gamma=1 mean_packet=1000", 1000), 6.0 + 3.0 - 2.5);
        // b in bytes is the same queue.
        near(after("bytes=on b=10000b", 500), after("bytes=on b=20p", 500));
        near(after("b=10000b", 500), after("b=20p", 500));
    }

    /// With bytes=on p is multiplied by the length of the packet, divided by mean_packet.
    #[test]
    fn signals_come_at_departure_byte_mode_scales_p() {
        let of = |settings| rem(settings).initial();
        assert_eq!((of("").per_byte, of("bytes=on").per_byte), (None, Some(500.0)));
        assert_eq!(of("bytes=on mean_packet=1000").per_byte, Some(1000.0));
        assert_eq!(of("").act_on, ActOn::Departure);
    }
}
