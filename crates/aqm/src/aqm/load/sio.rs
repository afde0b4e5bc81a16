//! SIO: SVB for packets within their profile, a threshold on the real queue for the others (section 3.3 of the MSVB
//! paper).
//!
//! A marker at the edge of the network colours packets IN or OUT. IN packets have their own virtual queue Q_in with the
//! full link rate and a threshold B_in, so they are signalled only if they alone exceed the link. OUT packets are
//! signalled with probability (q - B_out)/q if the real queue q is above the threshold B_out. A loss of an IN packet
//! halves B_out, so that OUT packets occupy less of the buffer.

use alloc::string::{String, ToString};

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::{Colour, Packet};
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::time::{Instant, Span};
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::parts::depths::Given;
use crate::parts::virtual_buffer::{Bounds, Odds, RateBasis, Threshold, VirtualBuffer};
use crate::{params, probes};

params! {
    /// Parameters of SIO.
    pub struct Params {
        /// Gain of the threshold of IN packets: dB_in/dt = alpha (C - rate of IN packets).
        alpha: f64 = 0.5, in 0.0 ..= 100.0, "alpha_in", "ours: Lemma 3.1 bounds it, no number is printed";
        /// Largest threshold of IN packets; its unit is that of Q_in; auto: half the buffer.
        b_cap: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "", "ours: the paper leaves B unbounded";
        /// Initial threshold of IN packets; auto: b_cap.
        b_init: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "B_v,in(0)", "ours: not in the paper";
        /// Smallest threshold of IN packets; auto: a tenth of b_cap.
        b_floor: Auto<Depth> = Auto::Given(Depth::Packets(0.0)), in 0.0 ..= 1e9, "", "eq. (4) has 0";
        /// Initial B_out, the threshold of OUT packets: they are signalled only while the real queue is longer.
        b_out: Depth = Depth::Packets(20.0), in 0.0 ..= 1e9, "B_out", "section 4.1";
        /// Smallest B_out, the threshold of OUT packets; auto: one packet, or b_out if smaller; the paper has 0.
        b_out_floor: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "", "ours: otherwise it falls to 0 and stays there";
        /// Time after a halving of B_out, the threshold of OUT packets, in which further losses of IN packets do not
        /// halve it.
        hold: Span = Span::ZERO, in 0.0 ..= 1e4, "", "not in the paper, where it is 0; we suggest one RTT";
        /// Raises B_out by one packet per second without a loss of an IN packet, up to its initial value.
        recover: bool = false, in 0.0 ..= 1.0, "", "ours: in the paper it never recovers";
        /// Which IN packets count in Q_in and B_in.
        rate_basis: RateBasis = RateBasis::Accepted, in 0.0 ..= 1.0, "", "ours: with drops, offered starves IN";
    }
}

/// Share of the link rate at which the virtual queue of IN packets drains. Section 3.3.
const PHI_IN: f64 = 1.0;
/// Factor of B_out per loss of an IN packet. Section 3.3.
const LEFT: f64 = 0.5;
/// Recovery: B_out rises by one packet per this time without a loss: our choice.
const STEP: Span = Span::from_millis(1000);

/// B_out, the threshold of OUT packets, and its recovery. Lengths are in the unit of `first`, its initial value.
struct Out {
    first: Depth,
    least: f64,
    /// Length of a packet: the threshold B_out rises by it in each recovery step.
    step: f64,
    hold: Span,
    recover: bool,
    b: f64,
    halved: Option<Instant>,
    /// Time of the last loss of an IN packet, or of the last recovery step.
    since: Instant,
}

impl Out {
    /// Halves B_out for an IN packet lost at `now`.
    fn lost(&mut self, now: Instant) {
        self.recovered(now);
        self.since = now;
        if self.halved.is_none_or(|last| now.since(last) >= self.hold) {
            self.halved = Some(now);
            self.b = (LEFT * self.b).max(self.least);
        }
    }

    /// Raises B_out by one packet per full second without a loss.
    fn recovered(&mut self, now: Instant) {
        if self.recover && now.since(self.since) >= STEP {
            let steps = now.since(self.since).nanos() / STEP.nanos();
            self.since += STEP * steps;
            self.b = (self.b + self.step * steps as f64).min(self.first.value());
        }
    }
}

/// State of SIO.
pub struct Sio {
    rate_basis: RateBasis,
    buffer: VirtualBuffer,
    threshold: Threshold,
    out: Out,
    odds: Odds,
}

fn bounds(params: &Params) -> Bounds<'_> {
    Bounds { cap: params.b_cap.given(), init: params.b_init, floor: params.b_floor, target: Auto::Auto }
}

impl Design for Sio {
    type Params = Params;
    const ABOUT: About = About {
        summary: "two colours: SVB for IN packets; for OUT packets a threshold on the real queue, halved by losses of \
                  IN",
        source: "SVB with In and Out (SIO), section 3.3 and eq. (4) of the MSVB paper",
        rule: "arrival IN:   Q_in = max(0, Q_in - C dt) + size\n\
               \u{20}             B_in = max(b_floor, min(b_cap, B_in + alpha C dt) - alpha size)\n\
               \u{20}             p = max(0, (Q_in - B_in)/Q_in)\n\
               arrival OUT:  p = max(0, (q - B_out)/q),  q the real queue\n\
               both:         if u < p: mark or drop\n\
               IN dropped:   B_out = max(b_out_floor, B_out/2), once per hold\n\
               \u{20}             rate_basis=accepted: size is taken back from Q_in and B_in\n\
               recover:      every second without a loss of IN: B_out += 1 packet, up to b_out",
        deviations: &[
            "eq. (4) is reconstructed: the denominator of p_out is unreadable; the text says 'the real queue length'",
            "integration differs from the paper: the differential equations are integrated exactly for impulse \
             arrivals; the paper updates from 'the current rate'",
            "b_cap, b_init and b_floor are ours: the paper gives neither an initial value nor bounds for B_in",
            "rate_basis differs from the paper: accepted by default, for IN packets; offered is the literal rule",
            "b_out_floor differs from the paper: auto keeps B_out at one packet or more; the paper's B_out \
             (b_out_floor=0) never recovers, so after a few losses every OUT packet that finds a queue is signalled",
            "hold is ours; off by default",
            "recover is ours; off by default",
            "a loss of an IN packet: an early or overflow drop; marks do not halve B_out",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off alpha=0.5 b_cap=auto b_init=auto b_floor=0 b_out=20 b_out_floor=0 hold=0 recover=off \
                       rate_basis=accepted",
            source: "sections 3.3 and 4.1; alpha, the bounds of B_in and rate_basis are ours",
        },
        Preset {
            name: "literal",
            settings: "b_floor=0 b_out=20 b_out_floor=0 hold=0 recover=off rate_basis=offered",
            source: "eq. (4) as printed, for ECN-capable senders",
        },
        Preset {
            name: "recovering",
            settings: "hold=100ms recover=on",
            source: "ours: one halving per RTT, and recovery",
        },
    ];

    fn check(params: &Params) -> Result<(), String> {
        bounds(params).check()?;
        let Auto::Given(least) = params.b_out_floor else { return Ok(()) };
        let b_out = params.b_out;
        if least.value() > 0.0 && least.with(0.0) != b_out.with(0.0) {
            return Err("b_out and b_out_floor in the same unit, packets or bytes".to_string());
        }
        if least.value() > b_out.value() {
            return Err("b_out_floor at most b_out".to_string());
        }
        Ok(())
    }

    fn build(params: &Params, link: &Link) -> Self {
        let bounds = bounds(params);
        let buffer = VirtualBuffer::new(bounds.unit(link), link);
        let threshold = Threshold::new(params.alpha, PHI_IN, buffer.capacity(), bounds.of(0, link));
        let step = match params.b_out {
            Depth::Packets(_) => 1.0,
            Depth::Bytes(_) => link.mean_packet.0 as f64,
        };
        let out = Out {
            first: params.b_out,
            least: params.b_out_floor.or(params.b_out.with(step.min(params.b_out.value()))).value(),
            step,
            hold: params.hold,
            recover: params.recover,
            b: params.b_out.value(),
            halved: None,
            since: Instant::ZERO,
        };
        Self { rate_basis: params.rate_basis, buffer, threshold, out, odds: Odds::default() }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let (buffer, threshold) = (fresh.buffer.after(&self.buffer)?, fresh.threshold.after(&self.threshold));
        let Out { b, halved, since, .. } = self.out;
        let most = fresh.out.first.value();
        let out = Out { b: b.clamp(fresh.out.least.min(most), most), halved, since, ..fresh.out };
        Some(Self { buffer, threshold, out, odds: self.odds, ..fresh })
    }
}

impl Aqm for Sio {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        self.odds = if packet.colour == Colour::In {
            self.buffer.arrival(&mut self.threshold, packet, cx.now)
        } else {
            self.out.recovered(cx.now);
            Odds::new(self.out.first.measure(level), self.out.b)
        };
        if self.odds.signal(cx.rng.uniform()) { Verdict::Signal } else { Verdict::Accept }
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, cx: &mut Cx) {
        if packet.colour != Colour::In {
            return;
        }
        if self.rate_basis.counts(fate) {
            self.buffer.count(&mut self.threshold, packet);
        }
        if let Fate::Dropped(_) = fate {
            self.out.lost(cx.now);
        }
    }
}

probes! { Sio {
    /// Signal probability of the latest arrival.
    p ["1"] probability = |s| s.odds.p();
    /// Threshold of OUT packets on the real queue.
    b_out ["packets|bytes"] = |s| s.out.b;
    /// Virtual queue after the latest IN packet.
    q_in ["packets|bytes"] = |s| s.buffer.value();
    /// Threshold of IN packets after the latest IN packet.
    b_in ["packets|bytes"] = |s| s.threshold.value();
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{self, ms as at, params};

    /// 10 Mb/s of 1000-byte packets: C = 1250 packets a second, a buffer of 100.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Fifo<Sio>> {
        by_hand::fifo(settings, LINK, true)
    }

    fn sio(queue: &Queue<Fifo<Sio>>) -> &Sio {
        queue.discipline().aqm()
    }

    fn packet(colour: Colour) -> Packet {
        Packet { len: 1000, colour, ecn: Ecn::Ect0, ..Packet::default() }
    }

    #[test]
    fn in_packets_follow_svb_at_link_rate() {
        let mut queue = queue("alpha=0.5 b_cap=4p");
        let state = |queue: &Queue<_>| (sio(queue).buffer.value(), sio(queue).threshold.value(), sio(queue).odds.p());
        // Three at once: Q_in 1, 2, 3 and B_in 3.5, 3, 2.5, so p = 0, 0, 0.5/3.
        (0..3).for_each(|_| queue.arrive(packet(Colour::In), at(0)));
        assert_eq!(state(&queue), (3.0, 2.5, 0.5 / 3.0));
        // OUT packets change neither; 8 ms at 1250 packets a second are ten, so Q_in is 0 and B_in at its cap again.
        queue.arrive(packet(Colour::Out), at(4));
        assert_eq!(state(&queue), (3.0, 2.5, 0.0));
        queue.arrive(packet(Colour::In), at(8));
        assert_eq!(state(&queue), (1.0, 3.5, 0.0));
    }

    #[test]
    fn out_packets_use_the_real_queue() {
        let mut queue = queue("b_out=20 b_cap=1000p");
        let p = |queue: &mut Queue<_>| {
            queue.arrive(packet(Colour::Out), at(0));
            sio(queue).odds.p()
        };
        (0..20).for_each(|_| queue.arrive(packet(Colour::In), at(0)));
        // 20 are queued: exactly the threshold. Then 21, 22, 23: (q - 20)/q.
        assert_eq!([(); 4].map(|()| p(&mut queue)), [0.0, 1.0 / 21.0, 2.0 / 22.0, 3.0 / 23.0]);
        while queue.depart(at(0)).is_some() {}
        assert_eq!(p(&mut queue), 0.0, "an empty queue has room for all");
    }

    #[test]
    fn only_dropped_in_packets_halve_b_out() {
        let mut queue = queue("b_out=20 b_cap=1000p b_out_floor=1");
        let b_out = |queue: &Queue<_>| sio(queue).out.b;
        let full = |colour| Packet { ecn: Ecn::NotEct, ..packet(colour) };
        (0..100).for_each(|_| queue.arrive(packet(Colour::In), at(0)));
        queue.arrive(full(Colour::Out), at(0));
        assert_eq!((b_out(&queue), queue.port.discarded().len()), (20.0, 1), "an OUT packet is lost");
        for want in [10.0, 5.0, 2.5, 1.25, 1.0, 1.0] {
            queue.arrive(full(Colour::In), at(0));
            assert_eq!(b_out(&queue), want);
        }
        // Marks: a tiny b_cap signals every IN packet; ECT ones are marked and queued.
        let mut queue = self::queue("b_out=20 b_cap=1e-9p");
        queue.arrive(packet(Colour::In), at(0));
        assert_eq!((sio(&queue).odds.p(), b_out(&queue), queue.port.tally().marked.pkts), (1.0, 20.0, 1));
        queue.arrive(full(Colour::In), at(0));
        assert_eq!((b_out(&queue), queue.port.tally().dropped_early.pkts), (10.0, 1), "an early drop");
    }

    /// Loses an IN packet at each time of `losses`, in ms. Returns B_out at the arrival of an OUT packet at `look` ms.
    fn after(settings: &str, losses: &[u64], look: u64) -> f64 {
        let mut queue = queue(&alloc::format!("b_out=20 b_out_floor=0 b_cap=1e-9p {settings}"));
        for &ms in losses {
            queue.arrive(Packet { ecn: Ecn::NotEct, ..packet(Colour::In) }, at(ms));
        }
        queue.arrive(packet(Colour::Out), at(look));
        sio(&queue).out.b
    }

    #[test]
    fn b_out_is_halved_once_per_hold_time() {
        assert_eq!(after("", &[0, 50, 99, 100], 100), 1.25);
        assert_eq!(after("hold=100ms", &[0, 50, 99], 100), 10.0);
        assert_eq!(after("hold=100ms", &[0, 50, 100, 199], 199), 5.0);
    }

    #[test]
    fn b_out_recovers_by_one_packet_per_second() {
        assert_eq!(after("", &[0], 1_000_000), 10.0, "the paper's never recovers");
        let recovered = |losses: &[u64], look| after("recover=on", losses, look);
        assert_eq!([999, 1000, 1999, 2500, 60_000].map(|look| recovered(&[0], look)), [10.0, 11.0, 11.0, 12.0, 20.0]);
        // At 1500 ms one packet has recovered: 11 become 5.5, and the second restarts.
        assert_eq!([1500, 2499, 2500].map(|look| recovered(&[0, 1500], look)), [5.5, 5.5, 6.5]);
        // A loss within hold does not halve B_out but restarts the second.
        assert_eq!(after("recover=on hold=10s", &[0, 900], 1800), 10.0);
        // In bytes one packet has the mean size.
        let mut queue = queue("b_out=20000b b_out_floor=0 b_cap=1e-9p recover=on");
        queue.arrive(Packet { ecn: Ecn::NotEct, ..packet(Colour::In) }, at(0));
        queue.arrive(packet(Colour::Out), at(3000));
        assert_eq!(sio(&queue).out.b, 13_000.0);
    }

    #[test]
    fn contradictory_parameters_are_rejected() {
        let refused = |settings| Sio::check(&params(settings)).is_err();
        assert!(refused("b_out=20kb b_out_floor=1p") && refused("b_out=0.5 b_out_floor=1p"));
        assert!(refused("b_cap=50 b_floor=60"));
        assert!(!refused("b_out=20kb b_out_floor=0") && !refused("b_cap=50kb b_out=1"));
    }

    /// The default of `b_out_floor`, the smallest B_out, is one packet, or `b_out`, the initial B_out, if that is less.
    #[test]
    fn default_b_out_floor_never_exceeds_b_out() {
        let least = |settings| {
            let params = params(settings);
            assert_eq!(Sio::check(&params), Ok(()), "{settings}");
            Sio::build(&params, &LINK).out.least
        };
        assert_eq!([least(""), least("b_out=0"), least("b_out=0.5p"), least("b_out_floor=0")], [1.0, 0.0, 0.5, 0.0]);
        let packet = LINK.mean_packet.0 as f64;
        assert_eq!([least("b_out=20kb"), least("b_out=200b")], [packet, 200.0]);
        assert_eq!(least("b_out=20kb b_out_floor=3000b"), 3000.0);
    }
}
