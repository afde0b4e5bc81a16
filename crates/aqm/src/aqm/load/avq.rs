//! AVQ: a virtual queue whose capacity adapts until the arrival rate is a share gamma of the link (Kunniyur, Srikant
//! 2001). ns-2 calls it Vq; the details follow ns-2.
//!
//! The same packets arrive at the virtual queue, which is served slower than the real one. A packet that would overflow
//! the virtual queue is signalled. AVQ uses the arrival rate, not the queue length, so the real queue stays short.

use alloc::boxed::Box;

use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::{Aqm, BareLaw, Fluid, Sample};
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::time::Instant;
use crate::base::units::{Depth, Link};
use crate::base::verdict::Verdict;
use crate::{choice, params, probes};

choice! {
    /// What a signal does to a not-ECT packet while ECN is on.
    pub enum NonEct {
        /// Drops it.
        Drop = "drop",
        /// Accepts it; it counts as an arrival.
        Pass = "pass",
    }
}

params! {
    /// Parameters of AVQ.
    pub struct Params {
        /// Target arrival rate as a share of the link.
        gamma: f64 = 0.98, in 0.0 ..= 10.0, "gamma", "ns-2.35 gamma_; Kunniyur and Srikant section V";
        /// Adaptation speed of the virtual capacity, in 1/s.
        alpha: f64 = 0.15, in 0.0 ..= 1e6, "alpha", "ns-2.35, hard-coded there";
        /// Buffer of the virtual queue; auto: the real buffer. Packets and bytes are converted by the mean packet size.
        limit: Auto<Depth> = Auto::Auto, in 1.0 ..= 1e9, "B", "ns-2.35 buflim_ = 1";
        /// Initial virtual capacity as a share of the link.
        ecnlim: f64 = 0.8, in 0.0 ..= 1.0, "C~(0)/C", "ns-2.35 ecnlim_";
        /// Counts bytes; off: packets of the link's mean size.
        bytes: bool = true, in 0.0 ..= 1.0, "queue_in_bytes_", "ns-2.35 has it on since 2002";
        /// With ECN on: what a signal does to a not-ECT packet. With ECN off every signal is a drop.
        non_ect: NonEct = NonEct::Drop, in 0.0 ..= 0.0, "", "drop: RFC 3168 section 5; pass: ns-2.35 with markpkts_";
    }
}

/// State of AVQ, in bytes or in packets.
#[derive(Clone)]
pub struct Avq {
    unit: Depth,
    capacity: f64,
    limit: f64,
    alpha: f64,
    non_ect: NonEct,
    /// alpha gamma C: growth of the virtual capacity C~ without arrivals, per second.
    growth: f64,
    vq: f64,
    ct: f64,
    /// Times of the last updates of the virtual queue (vq) and the virtual capacity (ct); `None` before the first
    /// packet.
    vq_at: Option<Instant>,
    ct_at: Option<Instant>,
}

/// Returns the seconds from `last` to `now`, 0 if there is no `last`. Sets `last` to `now`.
fn elapsed(last: &mut Option<Instant>, now: Instant) -> f64 {
    now.since(last.replace(now).unwrap_or(now)).secs()
}

impl Avq {
    /// Adds `size` to the virtual queue if it fits; true if it overflows.
    fn overflows(&mut self, size: f64, now: Instant) -> bool {
        let dt = elapsed(&mut self.vq_at, now);
        self.vq = (self.vq - self.ct * dt).max(0.0) + size;
        let over = self.vq > self.limit;
        if over {
            self.vq -= size;
        }
        over
    }

    /// Changes the virtual capacity C~ at an arrival: adds alpha (gamma C dt - size), with dt the time since the last
    /// change, and clamps it to 0..C.
    fn adapt(&mut self, size: f64, now: Instant) {
        let dt = elapsed(&mut self.ct_at, now);
        self.ct = (self.ct + self.growth * dt - self.alpha * size).clamp(0.0, self.capacity);
    }
}

impl Design for Avq {
    type Params = Params;
    const ABOUT: About = About {
        summary: "adaptive virtual queue: signals packets that a slower virtual queue would drop",
        source: "Kunniyur, Srikant: Analysis and Design of an Adaptive Virtual Queue Algorithm for AQM, SIGCOMM 2001; \
                 ns-2.35 Queue/Vq",
        rule: "arrival:  VQ = max(0, VQ - C~ dt) + size\n\
               \u{20}         if VQ > limit:  VQ = VQ - size;  mark or drop\n\
               \u{20}         unless dropped here:  C~ = clamp(C~ + alpha (gamma C dt' - size), 0, C)\n\
               \u{20}         dt since the last arrival, dt' since C~ was last changed",
        deviations: &[
            "the bound of C~ differs from the paper: it applies after size is subtracted, as in ns-2.35; the paper \
             applies it before (we did not have its text)",
            "not-ECT packets with ECN on and non_ect=drop differ from ns-2.35: they are dropped; ns-2 in marking mode \
             accepts them",
            "limit differs from ns-2: it is the virtual buffer only; limit_ is both buffers, and both count bytes if \
             queue_in_bytes_ is on; to match it set hard_limit to the same size and unit",
            "the mean packet differs from ns-2: it is the link's; ns-2 always uses 1000 bytes",
            "alpha differs from ns-2: it is a parameter; ns-2 has 0.15 hard-coded",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "ns2",
            settings: "ecn=off gamma=0.98 alpha=0.15 limit=auto ecnlim=0.8 bytes=on non_ect=pass",
            source: "ns-2.35 defaults, drops instead of marks; ecn=on corresponds to markpkts_",
        },
        Preset {
            name: "aaqm",
            settings: "gamma=0.9 alpha=0.5",
            source: "experiments of the AAQM paper; its symbols are unreadable, we assigned values by range",
        },
        Preset {
            name: "msc",
            settings: "limit=20p non_ect=pass",
            source: "MSC paper, experiment 4, with ECN and without",
        },
    ];

    fn build(params: &Params, link: &Link) -> Self {
        let unit = if params.bytes { Depth::Bytes(0.0) } else { Depth::Packets(0.0) };
        let mean = link.mean_packet.0 as f64;
        let limit = match (params.limit, unit) {
            (Auto::Auto, Depth::Bytes(_)) => link.limit_bytes(),
            (Auto::Auto, Depth::Packets(_)) => link.limit_pkts(),
            (Auto::Given(Depth::Packets(n)), Depth::Bytes(_)) => n * mean,
            (Auto::Given(Depth::Bytes(n)), Depth::Packets(_)) => n / mean,
            (Auto::Given(depth), _) => depth.value(),
        };
        let &Params { gamma, alpha, ecnlim, non_ect, .. } = params;
        let capacity = unit.per_sec(link.rate, link.mean_packet);
        let (growth, ct) = (alpha * gamma * capacity, ecnlim * capacity);
        Self { unit, capacity, limit, alpha, non_ect, growth, vq: 0.0, ct, vq_at: None, ct_at: None }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let same = fresh.unit.is_like(self.unit);
        same.then_some(Self { vq: self.vq, ct: self.ct, vq_at: self.vq_at, ct_at: self.ct_at, ..fresh })
    }

    fn fluid(params: &Params, link: &Link) -> Option<Box<dyn BareLaw>> {
        let mut avq = Self { ct_at: Some(Instant::ZERO), ..Self::build(params, link) };
        let p = move |sample: &Sample| {
            // Marked packets count as arrivals for C~, dropped ones do not. The excess over C~ is signalled.
            let bytes = sample.period.accepted.bytes as f64;
            let size = if let Depth::Bytes(_) = avq.unit { bytes } else { bytes / sample.link.mean_packet.0 as f64 };
            avq.adapt(size, sample.now);
            let fits = avq.ct * sample.dt.secs();
            if size > fits { 1.0 - fits / size } else { 0.0 }
        };
        Some(Box::new(Fluid::new(p)))
    }
}

impl Aqm for Avq {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let size = self.unit.weigh(packet);
        // A packet dropped here does not count as an arrival for C~ and does not advance its clock; a marked one does.
        self.ct_at.get_or_insert(cx.now);
        let overflows = self.overflows(size, cx.now);
        let passes = !level.marks(packet) && level.is_marking() && self.non_ect == NonEct::Pass;
        let signal = overflows && !passes;
        if !signal || level.marks(packet) {
            self.adapt(size, cx.now);
        }
        if signal { Verdict::Signal } else { Verdict::Accept }
    }
}

probes! { Avq {
    /// Length of the virtual queue.
    vq ["packets|bytes"] = |s| s.vq;
    /// Virtual capacity as a share of the link's.
    ct ["1"] = |s| s.ct / s.capacity;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::packet::Ecn;
    use crate::base::rng::Rng;
    use crate::base::time::Span;
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::params;

    /// 10 Mb/s of 1000-byte packets: C = 1.25e6 bytes or 1250 packets a second.
    const LINK: Link = Link { rate: Rate(10_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Fifo<Avq>> {
        queue_with(settings, true)
    }

    fn queue_with(settings: &str, ecn: bool) -> Queue<Fifo<Avq>> {
        let params: Params = params(settings);
        Queue::new(Fifo::new(Avq::build(&params, &LINK)), LINK, ecn, Rng::stream(1, "queue"))
    }

    /// Offers a packet at `ms`. Returns whether it was dropped, the virtual queue, and the virtual capacity C~ in bytes
    /// or packets per second.
    fn offer(queue: &mut Queue<Fifo<Avq>>, ms: u64, len: u32, ecn: Ecn) -> (bool, f64, f64) {
        queue.arrive(Packet { len, ecn, ..Packet::default() }, Instant::ZERO + Span::from_millis(ms));
        let dropped = !core::mem::take(queue.port.discarded()).is_empty();
        let avq = queue.discipline().aqm();
        (dropped, avq.vq, avq.ct)
    }

    fn near((dropped, vq, ct): (bool, f64, f64), want: (bool, f64, f64)) {
        let close = (vq - want.1).abs() < 1e-6 && (ct - want.2).abs() < 1e-6;
        assert!(dropped == want.0 && close, "{:?} is not {want:?}", (dropped, vq, ct));
    }

    #[test]
    fn virtual_capacity_follows_the_arrivals() {
        // C~ starts at 1e6. The first packet subtracts 0.15 x 1000 at any time. In the next millisecond
        // 999.85 bytes drain; C~ gains 0.15 (0.98 x 1250 - 1000) = 33.75.
        let mut queue = queue("");
        near(offer(&mut queue, 700, 1000, Ecn::NotEct), (false, 1000.0, 999_850.0));
        near(offer(&mut queue, 701, 1000, Ecn::NotEct), (false, 1000.15, 999_883.75));
        // Ten seconds would add 1,837,500: the bound is C.
        near(offer(&mut queue, 10_701, 1000, Ecn::NotEct), (false, 1000.0, 1_250_000.0));
    }

    #[test]
    fn marks_count_as_arrivals_and_drops_do_not() {
        for (ecn, drops) in [(Ecn::NotEct, true), (Ecn::Ect0, false)] {
            let mut queue = queue("limit=2p");
            offer(&mut queue, 0, 1000, ecn);
            near(offer(&mut queue, 0, 1000, ecn), (false, 2000.0, 999_700.0));
            // 2000 - 999.7 + 1000 is above the limit of 2000, which two packets filled exactly.
            let third = offer(&mut queue, 1, 1000, ecn);
            // One millisecond later: the drop did not advance the clock of C~, the mark did.
            let fourth = offer(&mut queue, 2, 500, ecn);
            if drops {
                near(third, (true, 1000.3, 999_700.0));
                near(fourth, (false, 500.6, 999_700.0 + 0.15 * (0.98 * 2500.0 - 500.0)));
            } else {
                near(third, (false, 1000.3, 999_733.75));
                near(fourth, (false, 500.566_25, 999_733.75 + 0.15 * (0.98 * 1250.0 - 500.0)));
            }
            assert_eq!(queue.port.tally().marked.pkts, u64::from(!drops));
        }
    }

    /// With `non_ect=pass` Not-ECT packets that would be dropped are accepted, but only if the queue marks (ECN on).
    #[test]
    fn not_ect_packets_can_pass_only_with_ecn() {
        for (settings, ecn, passes) in [
            ("non_ect=pass", true, true),
            ("non_ect=drop", true, false),
            ("", true, false),
            ("non_ect=pass", false, false),
        ] {
            let mut queue = queue_with(&alloc::format!("limit=1p {settings}"), ecn);
            offer(&mut queue, 0, 1000, Ecn::NotEct);
            // The virtual queue is at its limit. An accepted packet leaves it unchanged and subtracts 150 from C~.
            let ct = if passes { 999_700.0 } else { 999_850.0 };
            near(offer(&mut queue, 0, 1000, Ecn::NotEct), (!passes, 1000.0, ct));
            assert_eq!(queue.port.tally().marked.pkts, 0);
        }
    }

    #[test]
    fn virtual_capacity_stays_between_0_and_link_rate() {
        let mut queue = queue("alpha=500 ecnlim=0.5");
        near(offer(&mut queue, 0, 1000, Ecn::NotEct), (false, 1000.0, 125_000.0));
        near(offer(&mut queue, 0, 1000, Ecn::NotEct), (false, 2000.0, 0.0));
        // 500 (0.98 x 3750 - 1000) = 1,337,500 is more than C.
        near(offer(&mut queue, 3, 1000, Ecn::NotEct), (false, 3000.0, 1_250_000.0));
    }

    #[test]
    fn parameter_bytes_off_counts_packets_instead() {
        let mut queue = queue("bytes=off limit=3000b");
        for (len, vq) in [(40, 1.0), (1500, 2.0), (1000, 3.0)] {
            near(offer(&mut queue, 0, len, Ecn::NotEct), (false, vq, 1000.0 - 0.15 * vq));
        }
        assert!(offer(&mut queue, 0, 40, Ecn::NotEct).0);
    }

    #[test]
    fn virtual_queue_limit_converts_between_bytes_and_packets() {
        let limit = |settings| queue(settings).discipline().aqm().limit;
        assert_eq!([limit(""), limit("bytes=off")], [100_000.0, 100.0]);
        assert_eq!([limit("limit=20p"), limit("limit=20p bytes=off")], [20_000.0, 20.0]);
        assert_eq!([limit("limit=20000b"), limit("limit=20000b bytes=off")], [20_000.0, 20.0]);
    }

    #[test]
    fn accepted_rate_settles_at_share_gamma_of_link() {
        // 1.1 C offered for 60 s, signals drop: the accepted rate tends to 0.98 C.
        let mut queue = queue("limit=20p");
        let gap = Span::from_secs(0.0008 / 1.1);
        let (mut now, mut seen) = (Instant::ZERO, 0);
        for n in 0..82_500 {
            now += gap;
            queue.arrive(Packet { len: 1000, ..Packet::default() }, now);
            queue.depart(now);
            queue.port.discarded().clear();
            if n == 41_250 {
                seen = queue.port.tally().accepted.pkts;
            }
        }
        let rate = (queue.port.tally().accepted.pkts - seen) as f64 / 30.0;
        assert!((rate / 1250.0 - 0.98).abs() < 0.005, "{rate}");
    }
}
