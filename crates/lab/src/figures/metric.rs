//! The metrics of a class of traffic: their names in `summary.json`, and how tables show them.

use forebay_sim::histogram::RESOLUTION;

use super::stats::Interval;

/// Which values are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Larger ones.
    High,
    /// Smaller ones.
    Low,
    /// Neither.
    Neither,
}

/// A metric of a class of traffic, with its heading and unit in tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Metric {
    /// Name in `summary.json`, `[report] columns` and `--columns`.
    pub name: &'static str,
    /// Heading of its column in tables.
    pub head: &'static str,
    /// Unit in tables.
    pub unit: &'static str,
    /// Unit of differences in tables.
    pub points: &'static str,
    /// Tables show the value times this.
    pub factor: f64,
    /// Which values are better.
    pub better: Better,
    /// On a narrow terminal, columns with the largest rank are omitted first. `None`: shown only on request.
    pub rank: Option<u8>,
    /// Definition, for legends. Metrics of one kind share it, such as all quantiles of the RTT.
    pub about: &'static str,
    /// Largest error of a value, as a fraction of it: 0 for exact values, 0.8 % ([`RESOLUTION`]) for
    /// quantiles of histograms.
    pub error: f64,
}

const THROUGHPUT: &str = "throughput: bytes that arrived for the first time, headers included / time";
const GOODPUT: &str = "goodput: payload that arrived for the first time (RFC 2647) / time";
const WAIT: &str = "wait: queueing delay of every packet at the link, without transmission and propagation";
const RTT: &str =
    "RTT: round-trip time that TCP senders measure; fewer samples than packets, so wait can have a higher percentile";
const DONE: &str = "done: completion time of files and pages, from the request or the first packet on";
const LOSS: &str = "loss: packets dropped at the queue / packets offered; without losses on the wire";
const MARKS: &str = "marks: packets marked CE at the queue / packets offered";
const JAIN: &str = "Jain: fairness index of the goodput of flows that may send all the time; 1 is equal goodput";

const MOS: &str = "MOS: mean opinion score of calls (kind voip), 1 to 4.5, by the E-model (ITU-T G.107) from the loss at the queue \
                   and the mean one-way delay plus twice the mean jitter";
const RPM: &str = "RPM: round trips per minute of TCP connections, 60 s / mean of their shortest 95 % round trips \
                   (draft-ietf-ippm-responsiveness, loaded connections)";
const STARTUP: &str =
    "start-up: mean time from the start of a viewer (kind video) to the start of the playback, warm-up included";
const STALL: &str = "stalled: mean time that a viewer (kind video) spends in stalls, without the start-up";
const STALLS: &str = "stalls: stalls in an hour of a viewer (kind video)";
const BITRATE: &str = "bitrate: mean bitrate of the segments that arrived (kind video)";
const QOE: &str = "QoE: per segment of a video (kind video), bitrate in Mbit/s - 4.3 x seconds in stalls - change of the bitrate in \
                   Mbit/s (Yin et al. 2015, Pensieve 2017)";

const fn metric(name: &'static str, (head, unit): (&'static str, &'static str), about: &'static str) -> Metric {
    Metric { name, head, unit, points: unit, factor: 1.0, better: Better::Low, rank: None, about, error: 0.0 }
}

/// A quantile of a histogram.
const fn quantile(name: &'static str, heads: (&'static str, &'static str), about: &'static str) -> Metric {
    Metric { error: RESOLUTION, ..metric(name, heads, about) }
}

impl Metric {
    const fn ranked(self, rank: u8) -> Self {
        Self { rank: Some(rank), ..self }
    }

    const fn better(self, better: Better) -> Self {
        Self { better, ..self }
    }

    /// A rate in bit/s, shown in Mb/s.
    const fn rate(self) -> Self {
        Self { factor: 1e-6, better: Better::High, ..self }
    }

    /// A ratio, shown in percent.
    const fn percent(self) -> Self {
        Self { factor: 100.0, points: "points", ..self }
    }

    /// The mean of these values. The half-width is that of the 95 % confidence interval plus the error of the values.
    pub fn interval(&self, values: &[f64]) -> Interval {
        let found = Interval::of(values);
        Interval { half: found.half + self.error * found.mean.abs(), ..found }
    }

    /// The metric with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}

/// All metrics, in the order of tables.
pub const METRICS: [Metric; 24] = [
    metric("throughput_bps", ("throughput", "Mb/s"), THROUGHPUT).rate().ranked(10),
    metric("goodput_bps", ("goodput", "Mb/s"), GOODPUT).rate().ranked(1),
    metric("wait_ms.mean", ("wait mean", "ms"), WAIT),
    quantile("wait_ms.p50", ("wait p50", "ms"), WAIT).ranked(2),
    quantile("wait_ms.p95", ("wait p95", "ms"), WAIT),
    quantile("wait_ms.p99", ("wait p99", "ms"), WAIT).ranked(0),
    metric("rtt_ms.mean", ("RTT mean", "ms"), RTT),
    quantile("rtt_ms.p50", ("RTT p50", "ms"), RTT).ranked(8),
    quantile("rtt_ms.p95", ("RTT p95", "ms"), RTT),
    quantile("rtt_ms.p99", ("RTT p99", "ms"), RTT).ranked(7),
    quantile("fct_s.p50", ("done p50", "s"), DONE).ranked(4),
    quantile("fct_s.p95", ("done p95", "s"), DONE).ranked(3),
    quantile("fct_s.p99", ("done p99", "s"), DONE),
    metric("fct_s.n", ("done", "files"), DONE).better(Better::High),
    metric("loss_ratio", ("loss", "%"), LOSS).percent().ranked(5),
    metric("mark_ratio", ("marks", "%"), MARKS).percent().better(Better::Neither).ranked(9),
    metric("jain", ("Jain", ""), JAIN).better(Better::High).ranked(6),
    metric("mos", ("MOS", ""), MOS).better(Better::High),
    metric("rpm", ("RPM", "/min"), RPM).better(Better::High),
    metric("startup_s", ("start-up", "s"), STARTUP),
    metric("stall_s", ("stalled", "s"), STALL),
    metric("stalls_per_hour", ("stalls", "/h"), STALLS),
    metric("video_bps", ("bitrate", "Mb/s"), BITRATE).rate(),
    metric("qoe", ("QoE", "Mb/s"), QOE).better(Better::High),
];
