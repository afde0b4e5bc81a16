//! FRED: Flow Random Early Drop, RED with per-flow accounting of the buffer (Lin and Morris 1997).
//!
//! RED drops from all flows alike: fragile flows with one or two packets suffer, unresponsive flows gain. FRED drops at
//! random only from flows above their fair share of the buffer, and limits unresponsive flows to the average share. An
//! arrival beyond the backlog limit of its flow is a strike; a flow with more than one strike is limited to the average
//! share.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::aqm::backlog::red::{Average, Curve, spaced};
use crate::base::cx::Cx;
use crate::base::design::{About, Design, Preset};
use crate::base::discipline::Aqm;
use crate::base::packet::Packet;
use crate::base::params::Auto;
use crate::base::port::Level;
use crate::base::units::{Depth, Link};
use crate::base::verdict::{Fate, Verdict};
use crate::{params, probes};

params! {
    /// Parameters of FRED.
    pub struct Params {
        /// No random drop below this average; also the backlog limit of a flow; auto: max_th/2 if given, else buffer/4.
        min_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "min_th", "the paper: min(buffer/4, RTT)";
        /// From this average on all arrivals are dropped (see many_flows); auto: 2 min_th.
        max_th: Auto<Depth> = Auto::Auto, in 0.0 ..= 1e9, "max_th", "the paper: 2 min_th";
        /// Probability at max_th.
        max_p: f64 = 0.02, in 0.0 ..= 1.0, "max_p", "the paper";
        /// Weight of a new queue sample in the average.
        w_q: f64 = 0.002, in 1e-9 ..= 1.0, "w_q", "the paper";
        /// Backlog in packets below which a flow is not dropped at random.
        min_q: u32 = 2, in 0.0 ..= 1e6, "min_q", "the paper: 2 for small buffers, 4 for large ones";
        /// Many flows: from max_th on, arrivals of flows with fewer than two queued packets are accepted.
        many_flows: bool = false, in 0.0 ..= 1.0, "", "the paper's two-packet buffers";
        /// Number of entries of the table of flows; flow ids are taken modulo this.
        flows: u32 = 4096, in 1.0 ..= 1048576.0, "", "ours: a router's memory is finite";
    }
}

/// A flow with more strikes (arrivals beyond its limit) than this is limited to the average queue per flow. The paper.
const STRIKES: u32 = 1;
/// many_flows=on: queued packets that each flow may have while the average is at least max_th. The paper.
const TWO: f64 = 2.0;

/// Queued packets, strikes and queued bytes of one flow. All are 0 while no packet of the flow is queued.
#[derive(Clone, Copy, Default)]
struct Flow {
    pkts: u32,
    strikes: u32,
    bytes: u64,
}

/// State of FRED. Queues, average and thresholds share one unit.
pub struct Fred {
    unit: Depth,
    /// Size of one packet in `unit`: 1, or the mean packet size in bytes.
    packet: f64,
    min_q: f64,
    many_flows: bool,
    curve: Curve,
    average: Average,
    /// The queue at the latest arrival.
    q: f64,
    /// Arrivals that `draw`, RED's decision for flows within their limits, counted since its last signal while the
    /// average was between the thresholds. -1: the average was below min_th.
    count: i64,
    flows: Vec<Flow>,
    active: u32,
    p: f64,
}

/// Index of the flow in a table of `len` entries.
const fn place(flow: u32, len: usize) -> usize {
    (flow % len as u32) as usize
}

impl Fred {
    /// Backlog of `flow`, in the unit of the thresholds.
    fn waiting(&self, flow: &Flow) -> f64 {
        match self.unit {
            Depth::Packets(_) => f64::from(flow.pkts),
            Depth::Bytes(_) => flow.bytes as f64,
        }
    }

    /// avgcq: the average queue per active flow, at least one packet.
    fn fair(&self) -> f64 {
        (self.average.value() / f64::from(self.active.max(1))).max(self.packet)
    }

    /// Whether the flow exceeds its limit, or is above its share and has too many strikes.
    fn is_greedy(&self, waiting: f64, strikes: u32, fair: f64) -> bool {
        let high = self.average.value() >= self.curve.max_th;
        let most = if high && self.many_flows { TWO * self.packet } else { self.curve.min_th };
        waiting >= most || (high && waiting > 2.0 * fair) || (waiting >= fair && strikes > STRIKES)
    }

    /// RED's decision for a flow within its limits.
    fn draw(&mut self, waiting: f64, fair: f64, u: f64) -> Verdict {
        let avg = self.average.value();
        if avg < self.curve.min_th {
            self.count = -1;
            return Verdict::Accept;
        }
        if avg >= self.curve.max_th {
            if self.many_flows {
                return Verdict::Accept;
            }
            self.count = 0;
            return Verdict::Drop;
        }
        self.count += 1;
        if waiting < self.min_q.max(fair) {
            return Verdict::Accept;
        }
        let p_b = self.curve.base_probability(avg).unwrap_or(0.0);
        self.p = spaced(p_b, self.count as f64, false).p();
        if u < self.p {
            self.count = 0;
            return Verdict::Signal;
        }
        Verdict::Accept
    }
}

impl Design for Fred {
    type Params = Params;
    const ABOUT: About = About {
        summary: "flow RED: random drops only from flows above their fair share of the buffer",
        source: "Lin, Morris: Dynamics of Random Early Detection, SIGCOMM 1997",
        rule: "avg:      (1-w) avg + w q at departures and accepted arrivals;  (1-w)^m avg after m packet times empty\n\
               \u{20}         avgcq = max(1, avg/active flows)\n\
               arrival:  of a flow with n queued:\n\
               \u{20}         n >= min_th, or avg >= max_th and n > 2 avgcq, or n >= avgcq and strikes > 1:  strikes += 1, drop\n\
               \u{20}         min_th <= avg < max_th:  count += 1;  n >= max(min_q, avgcq), u < p_b/(1 - count p_b):\n\
               \u{20}                                  count = 0, mark or drop\n\
               \u{20}         avg < min_th:  count = -1;   avg >= max_th:  count = 0, drop\n\
               a flow with nothing queued is forgotten, with its strikes",
        deviations: &[
            "source: descriptions of the paper's listing, not the paper; all of them agree on the order of the tests \
             and the constants, most on when avg is updated",
            "min_th differs from the paper: it is a quarter of the buffer; the paper uses the RTT in packets if that \
             is less, which a router does not know",
            "the share avgcq differs from the listing: it is computed at each arrival; the listing computes it with \
             each average",
            "the average at a departure: the sample is the queue left behind",
            "the average of an empty queue: its idle time counts once",
            "many_flows is our reading: the listing says 'two packets'; we accept flows with fewer at any average, \
             because otherwise the option would only change strikes",
            "the flow table differs from the paper: flow ids are taken modulo flows; the paper has an entry per flow",
            "ECN is ours: random signals are marks where ECN allows; drops for a flow's own backlog are not",
            "thresholds in bytes are ours: each flow's bytes count, and one packet is the scenario's packet size",
        ],
    };
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "paper",
            settings: "ecn=off min_th=auto max_th=auto max_p=0.02 w_q=0.002 min_q=2 many_flows=off",
            source: "Lin, Morris 1997: constants of the listing",
        },
        Preset {
            name: "msvb",
            settings: "ecn=off min_th=20p max_th=40p max_p=0.1 w_q=0.002 min_q=2 many_flows=off",
            source: "ours: for MSVB's comparison, which gives no values for FRED; these are its values for RIO's OUT \
                     packets",
        },
    ];

    fn check(params: &Params) -> Result<(), String> {
        match (params.min_th, params.max_th) {
            (Auto::Given(min), Auto::Given(max)) if min.with(0.0) != max.with(0.0) => {
                Err("min_th and max_th both in packets, or both in bytes".to_string())
            }
            (Auto::Given(min), Auto::Given(max)) if min >= max => Err("min_th below max_th".to_string()),
            (Auto::Given(depth), _) | (_, Auto::Given(depth)) if depth.value() <= 0.0 => {
                Err("min_th and max_th above 0".to_string())
            }
            _ => Ok(()),
        }
    }

    fn build(params: &Params, link: &Link) -> Self {
        let (min_th, max_th) = thresholds(params.min_th, params.max_th, link);
        let packet = match min_th {
            Depth::Packets(_) => 1.0,
            Depth::Bytes(_) => link.mean_packet.0 as f64,
        };
        Self {
            unit: min_th,
            packet,
            min_q: f64::from(params.min_q) * packet,
            many_flows: params.many_flows,
            curve: Curve::new(min_th.value(), max_th, params.max_p, false),
            average: Average::new(params.w_q, link.pkts_per_sec()),
            q: 0.0,
            count: -1,
            flows: alloc::vec![Flow::default(); params.flows.max(1) as usize],
            active: 0,
            p: 0.0,
        }
    }

    fn retuned(&self, params: &Params, link: &Link) -> Option<Self> {
        let fresh = Self::build(params, link);
        let same = fresh.unit.is_like(self.unit) && fresh.flows.len() == self.flows.len();
        let (average, flows) = (fresh.average.clone().after(&self.average), self.flows.clone());
        let Self { q, count, active, p, .. } = *self;
        same.then_some(Self { average, flows, q, count, active, p, ..fresh })
    }
}

/// min_th and max_th, in the unit of the one that is given, in packets if both are auto. Automatic min_th: half of a
/// given max_th, otherwise a quarter of the buffer. Automatic max_th: twice min_th, at least min_th plus one packet.
fn thresholds(min_th: Auto<Depth>, max_th: Auto<Depth>, link: &Link) -> (Depth, f64) {
    let unit = match (min_th, max_th) {
        (Auto::Given(depth), _) | (_, Auto::Given(depth)) => depth,
        _ => Depth::Packets(0.0),
    };
    let (buffer, packet) = match unit {
        Depth::Packets(_) => (link.limit_pkts(), 1.0),
        Depth::Bytes(_) => (link.limit_bytes(), link.mean_packet.0 as f64),
    };
    let auto_min = match max_th {
        Auto::Auto => buffer / 4.0,
        Auto::Given(max) => max.value() / 2.0,
    };
    let min = min_th.or(unit.with(auto_min)).value();
    (unit.with(min), max_th.or(unit.with((2.0 * min).max(min + packet))).value())
}

impl Aqm for Fred {
    #[inline]
    fn arrival(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let u = cx.rng.uniform();
        self.q = self.unit.measure(level);
        if level.pkts() == 0 {
            // The average decays for the time since the queue became empty; idle time restarts now.
            self.average.arrival_or_decay(0.0, cx.now);
            self.average.emptied(cx.now);
        }
        self.p = 0.0;
        let place = place(packet.flow, self.flows.len());
        let (flow, fair) = (self.flows[place], self.fair());
        let waiting = self.waiting(&flow);
        if self.is_greedy(waiting, flow.strikes, fair) {
            if flow.pkts > 0 {
                self.flows[place].strikes = flow.strikes.saturating_add(1);
            }
            return Verdict::Drop;
        }
        self.draw(waiting, fair, u)
    }

    #[inline]
    fn settled(&mut self, packet: &Packet, fate: Fate, _: &mut Cx) {
        if !matches!(fate, Fate::Queued { .. }) {
            return;
        }
        let place = place(packet.flow, self.flows.len());
        let flow = &mut self.flows[place];
        self.active += u32::from(flow.pkts == 0);
        flow.pkts += 1;
        flow.bytes += u64::from(packet.len);
        self.average.forget_idle();
        if self.q > 0.0 {
            self.average.sample(self.q);
        }
    }

    #[inline]
    fn departure(&mut self, packet: &Packet, level: &Level, cx: &mut Cx) -> Verdict {
        let place = place(packet.flow, self.flows.len());
        let flow = &mut self.flows[place];
        flow.pkts -= 1;
        flow.bytes -= u64::from(packet.len);
        if flow.pkts == 0 {
            *flow = Flow::default();
            self.active -= 1;
        }
        self.average.sample(self.unit.measure(level));
        if level.pkts() == 0 {
            self.average.emptied(cx.now);
        }
        Verdict::Accept
    }
}

probes! { Fred {
    /// Average queue, in the unit of the thresholds.
    avg ["packets|bytes"] = |s| s.average.value();
    /// Probability of a random signal at the latest arrival; 0 if it was not subject to random signals.
    p ["1"] probability = |s| s.p;
    /// Average queue per active flow.
    avgcq ["packets|bytes"] = |s| s.fair();
    /// Flows with queued packets.
    active ["1"] = |s| f64::from(s.active);
    /// Packets since the last random signal.
    count ["packets"] signed = |s| s.count as f64;
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::adapters::Fifo;
    use crate::base::host::Queue;
    use crate::base::time::{Instant, Span};
    use crate::base::units::{Bytes, Limit, Rate};
    use crate::testing::by_hand::{self, params};

    const LINK: Link = Link { rate: Rate(8_000_000), limit: Limit::Packets(100), mean_packet: Bytes(1000) };

    fn queue(settings: &str) -> Queue<Fifo<Fred>> {
        by_hand::fifo(settings, LINK, false)
    }

    /// Offers packets of `flow`; returns how many were accepted.
    fn offer(queue: &mut Queue<Fifo<Fred>>, flow: u32, packets: u32) -> u32 {
        let before = queue.port.pkts();
        (0..packets).for_each(|_| queue.arrive(Packet { len: 1000, flow, ..Packet::default() }, Instant::ZERO));
        queue.port.pkts() - before
    }

    fn fred(queue: &Queue<Fifo<Fred>>) -> &Fred {
        queue.discipline().aqm()
    }

    #[test]
    fn arrival_beyond_backlog_limit_of_flow_is_strike() {
        let mut queue = queue("w_q=0.000001");
        assert_eq!(
            (fred(&queue).curve.min_th, fred(&queue).curve.max_th),
            (25.0, 50.0),
            "a quarter of 100, twice that"
        );
        assert_eq!(offer(&mut queue, 1, 30), 25);
        assert_eq!((fred(&queue).flows[1].strikes, fred(&queue).active), (5, 1));
        // Other flows have no strikes and are accepted. With strikes even the fair share of one packet is too much.
        assert_eq!(offer(&mut queue, 2, 3), 3);
        for _ in 0..24 {
            queue.depart(Instant::ZERO);
        }
        assert_eq!((fred(&queue).flows[1].pkts, offer(&mut queue, 1, 1)), (1, 0));
        // After its last packet has left, its strikes are gone.
        queue.depart(Instant::ZERO);
        assert_eq!((fred(&queue).flows[1].strikes, fred(&queue).active), (0, 1));
        assert_eq!(offer(&mut queue, 1, 2), 2);
    }

    #[test]
    fn random_drops_only_above_the_fair_share() {
        // w_q = 1, average between 5 and 15: with max_p = 1 a packet subject to random drops is soon dropped.
        let mut queue = queue("min_th=5p max_th=15p max_p=1 w_q=1 min_q=2");
        (0..8).for_each(|flow| assert_eq!(offer(&mut queue, flow, 1), 1, "fragile: nothing of it is queued"));
        assert_eq!((fred(&queue).average.value(), fred(&queue).fair()), (7.0, 1.0));
        assert_eq!(offer(&mut queue, 0, 1), 1, "one waits, fewer than min_q");
        let taken = offer(&mut queue, 0, 10);
        assert!(taken < 5, "two wait: {taken} of 10 were taken");
    }

    /// With many_flows=on each flow may have two packets in the queue while the average is at least max_th.
    #[test]
    fn parameter_many_flows_admits_two_packets_per_flow() {
        for (many, taken) in [("off", 0), ("on", 2)] {
            let mut queue = queue(&alloc::format!("min_th=5p max_th=15p max_p=0 w_q=1 many_flows={many}"));
            for flow in 0..8 {
                offer(&mut queue, flow, 2);
            }
            assert_eq!((queue.port.pkts(), fred(&queue).average.value()), (16, 15.0));
            assert_eq!(offer(&mut queue, 99, 3), taken, "many_flows={many}");
        }
    }

    /// If the average is at least max_th, a flow with more than twice the fair share in the queue gets a strike.
    #[test]
    fn high_average_limits_flows_to_twice_fair_share() {
        let mut queue = queue("min_th=40p max_th=41p max_p=0 w_q=1");
        (0..3).for_each(|flow| assert_eq!(offer(&mut queue, flow, 14), 14));
        // The average is 41, the share 41/3.
        assert_eq!(
            (offer(&mut queue, 0, 1), fred(&queue).flows[0].strikes),
            (0, 0),
            "all are dropped, without a strike"
        );
        let mut fred = Fred::build(&params("min_th=40p max_th=41p"), &LINK);
        fred.average = Average::new(1.0, 1.0);
        fred.average.sample(41.0);
        assert!(!fred.is_greedy(20.0, 0, 10.0) && fred.is_greedy(21.0, 0, 10.0));
        assert!(!fred.is_greedy(9.0, 2, 10.0) && fred.is_greedy(10.0, 2, 10.0) && !fred.is_greedy(10.0, 1, 10.0));
        fred.average.sample(40.0);
        assert!(!fred.is_greedy(39.0, 0, 10.0) && fred.is_greedy(40.0, 0, 10.0));
    }

    #[test]
    fn average_samples_departures_and_decays_when_idle() {
        let mut queue = queue("w_q=0.5");
        offer(&mut queue, 1, 2);
        assert_eq!(fred(&queue).average.value(), 0.5, "the second met one");
        queue.depart(Instant::ZERO);
        assert_eq!(fred(&queue).average.value(), 0.75, "it left one behind");
        queue.depart(Instant::ZERO);
        assert_eq!(fred(&queue).average.value(), 0.375);
        // 1000 packets a second: 2 ms without packets are two of them.
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        queue.arrive(Packet { len: 1000, ..Packet::default() }, at(2));
        assert_eq!(fred(&queue).average.value(), 0.375 / 4.0);
    }

    #[test]
    fn flow_ids_wrap_around_the_table() {
        let mut queue = queue("flows=4 w_q=0.000001");
        offer(&mut queue, 1, 20);
        assert_eq!((offer(&mut queue, 5, 30), fred(&queue).active), (5, 1));
        assert_eq!(offer(&mut queue, 6, 5), 5);
    }

    #[test]
    fn invalid_thresholds_are_rejected_and_missing_ones_computed() {
        let refused = |settings| Fred::check(&params(settings)).is_err();
        assert!(refused("min_th=5p max_th=5p") && refused("min_th=5p max_th=9000b") && refused("max_th=0p"));
        assert!(refused("min_th=0p") && !refused("max_th=10p") && !refused(""));
        assert_eq!(
            thresholds(Auto::Auto, Auto::Given(Depth::Bytes(30_000.0)), &LINK),
            (Depth::Bytes(15_000.0), 30_000.0)
        );
        assert_eq!(thresholds(Auto::Given(Depth::Packets(0.5)), Auto::Auto, &LINK), (Depth::Packets(0.5), 1.5));
    }
}
