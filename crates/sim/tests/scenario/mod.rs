//! Random small networks: a pure function of the seed.

mod shapes;

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Bytes, Limit, Rate};
use forebay_aqm::{ENTRIES, Spec};
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::draw::Draw;
use forebay_sim::network::{Attachment, FlowSpec, MarkerSpec, Network, Traffic};
use forebay_sim::rtp::{Control, Frames, Rtp, Synthetic};
use forebay_sim::source::recording::{Recording, Replay};
use forebay_sim::source::{Pattern, Sizes};
use forebay_sim::tcp::{Ns2Rules, TcpOptions, Variant};

use crate::common::RECORDED;
use shapes::Shape;

/// Approximate number of packets that the bottleneck can send in a run: enough for losses, marks, timeouts and
/// recovery.
const PACKETS: f64 = 250.0;

/// Random choices.
struct Dice(Rng);

impl Dice {
    /// A whole number in lo..=hi.
    fn whole(&mut self, lo: u64, hi: u64) -> u64 {
        lo + self.0.below(hi - lo + 1)
    }

    /// A number in lo..hi with a uniform logarithm.
    fn scale(&mut self, lo: f64, hi: f64) -> f64 {
        lo * libm::exp(self.0.uniform() * libm::log(hi / lo))
    }

    fn span(&mut self, lo: f64, hi: f64) -> Span {
        Span::from_secs(self.scale(lo, hi))
    }

    /// The largest processing time of a host.
    fn jitter(&mut self) -> Span {
        if self.once_in(4) { Span::ZERO } else { self.span(1e-6, 1e-3) }
    }

    /// True with probability 1/n.
    fn once_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    fn discipline(&mut self) -> Spec {
        Spec::parse(ENTRIES[self.0.below(ENTRIES.len() as u64) as usize].name).unwrap()
    }

    /// A buffer of 1 to 60 packets, one time in ten of 10,000; one time in five in bytes, for at least one packet.
    fn limit(&mut self, packet: u16) -> Limit {
        let packets = if self.once_in(10) { 10_000 } else { self.scale(1.0, 60.0) as u32 };
        if self.once_in(5) { Limit::Bytes(u64::from(packets) * u64::from(packet)) } else { Limit::Packets(packets) }
    }
}

/// The random network of `seed`, to be run with the same seed.
pub(crate) fn network(seed: u64) -> Network {
    let mut dice = Dice(Rng::stream(seed, "scenario"));
    let packet = dice.whole(41, 1500) as u16;
    let rate = Rate(dice.scale(2e5, 2e8) as u64);
    let shape = Shape::draw(&mut dice, rate, packet);
    // A multiple of 4 ns, so that the last of four samples is at the end.
    let service = rate.time_for(u32::from(packet)).secs();
    let duration = Span::from_nanos(Span::from_secs((PACKETS * service).clamp(0.05, 10.0)).nanos() / 4 * 4);
    let warmup = if dice.once_in(2) { Span::ZERO } else { Span::from_secs(duration.secs() * dice.0.uniform() * 0.5) };
    let mut net = shape.network(duration, warmup, Span::from_nanos(duration.nanos() / 4));
    let (tcp, datagrams) = (dice.whole(0, 6), dice.whole(0, 4));
    for i in 0..tcp + datagrams {
        let traffic = if i < tcp { Traffic::Tcp(options(&mut dice)) } else { datagrams_or_video(&mut dice, service) };
        let at = shape.attach(&mut dice, &mut net, i as usize);
        let flow = flow(&mut dice, i as usize, at, traffic, packet, duration);
        // Two bundles for each class.
        let bundle = flow.class + 8 * (i % 2) as u8;
        net.flows.push(FlowSpec { bundle, ..flow });
    }
    shapes::spoil(&mut dice, &mut net);
    markers(&mut dice, &mut net, rate);
    applications(&mut dice, &mut net, service);
    net
}

fn flow(dice: &mut Dice, i: usize, at: Attachment, traffic: Traffic, packet: u16, duration: Span) -> FlowSpec {
    let start = Instant::ZERO + Span::from_secs(duration.secs() * 0.3 * dice.0.uniform());
    FlowSpec {
        group: 0,
        name: format!("flow/{i}"),
        from: at.from,
        to: at.to,
        forward: at.forward,
        back: at.back,
        start,
        stop: dice.once_in(4).then(|| start + Span::from_secs(duration.secs() * dice.0.uniform())),
        ecn: traffic.codepoint(),
        packet: if dice.once_in(4) { dice.whole(41, 1500) as u16 } else { packet },
        traffic: answered(traffic, dice.whole(40, 80) as u16),
        class: dice.whole(0, 7) as u8,
        dscp: [0, 8, 46, 34][i % 4],
        bundle: 0,
        pair: dice.whole(0, 5) as u32,
        marker: None,
    }
}

/// The same traffic with acknowledgements or reports of `bytes`.
fn answered(mut traffic: Traffic, bytes: u16) -> Traffic {
    match &mut traffic {
        Traffic::Tcp(options) | Traffic::Application(options, _) => options.ack = bytes,
        Traffic::Rtp(rtp) => rtp.report_size = bytes,
        Traffic::Datagrams(_) => {}
    }
    traffic
}

/// Datagrams, rarely video.
fn datagrams_or_video(dice: &mut Dice, service: f64) -> Traffic {
    if !dice.once_in(4) {
        return Traffic::Datagrams(pattern(dice, service));
    }
    let every = dice.span(service * 2.0, service * 20.0);
    let frames = if dice.once_in(2) {
        Frames::Recorded(replay(dice, every, (0, 6000)))
    } else {
        let (gop, mean) = (dice.whole(1, 15) as u32, dice.scale(50.0, 5000.0));
        Frames::Synthetic(Synthetic { every, gop, mean, sigma: dice.scale(0.01, 2.0) })
    };
    let (report, floor) = (dice.span(service * 5.0, service * 100.0), dice.scale(0.01, 1.0));
    Traffic::Rtp(Rtp { control: Control::ReceiverReports { frames, floor }, report, report_size: 80 })
}

/// Applications over half of the connections.
fn applications(dice: &mut Dice, net: &mut Network, service: f64) {
    for flow in &mut net.flows {
        let Traffic::Tcp(options) = flow.traffic else { continue };
        if dice.once_in(2) {
            flow.traffic = Traffic::Application(options, work(dice, flow.packet, service));
        }
    }
}

/// Files of a few packets, rarely of many, with pauses of some packet times; or single packets.
fn work(dice: &mut Dice, packet: u16, service: f64) -> Work {
    if dice.once_in(4) {
        return Work::Written(pattern(dice, service));
    }
    let bytes = f64::from(packet) * dice.scale(0.5, 20.0);
    let pause = service * dice.scale(0.1, 100.0);
    Work::Files(Files {
        size: match dice.whole(0, 2) {
            0 => Draw::Constant(bytes),
            1 => Draw::Pareto { least: bytes / 4.0, shape: 1.3, most: 100.0 * bytes },
            _ => Draw::Lognormal { median: bytes, sigma: 1.0, most: f64::INFINITY },
        },
        think: if dice.once_in(4) { Draw::Constant(0.0) } else { Draw::Exponential(pause) },
        count: dice.once_in(2).then(|| dice.whole(0, 9) as u32),
        fresh: dice.once_in(2),
        request: dice.once_in(2).then(|| dice.whole(40, 1500) as u16),
        opening: if dice.once_in(2) { Opening::Handshake } else { Opening::Established },
    })
}

/// Token buckets shared by some of the flows.
fn markers(dice: &mut Dice, net: &mut Network, rate: Rate) {
    let count = dice.whole(0, 2) as usize;
    net.markers.extend((0..count).map(|_| MarkerSpec {
        cir: Rate((rate.0 as f64 * dice.0.uniform()) as u64 + 1),
        cbs: Bytes(dice.whole(0, 20_000)),
    }));
    for flow in &mut net.flows {
        flow.marker = (dice.once_in(2) && count > 0).then(|| dice.0.below(count as u64) as usize);
    }
}

fn options(dice: &mut Dice) -> TcpOptions {
    TcpOptions {
        variant: Variant::WORDS[dice.0.below(RECORDED as u64) as usize].1,
        initial_window: dice.whole(1, 12) as u32,
        window: dice.once_in(3).then(|| dice.whole(1, 30) as u32),
        delayed_ack: dice.once_in(3),
        limited_transmit: dice.once_in(2),
        min_rto: dice.span(1e-3, 1.0),
        tick: dice.span(1e-5, 1e-1),
        ecn: dice.once_in(2),
        // The default when the fingerprints were recorded.
        ect_retransmissions: Some(true),
        max_rto: dice.span(1.0, 60.0),
        pacing: dice.once_in(3),
        idle_restart: dice.once_in(2),
        ns2: Ns2Rules { cwr: dice.once_in(4), sack1: dice.once_in(4) },
        initial_rto: dice.once_in(2).then(|| dice.span(1e-2, 3.0)),
        ..TcpOptions::default()
    }
}

/// A load of a tenth to twice the bottleneck's rate.
fn pattern(dice: &mut Dice, service: f64) -> Pattern {
    let every = dice.span(service / 2.0, service * 10.0);
    match dice.whole(0, 5) {
        0 => Pattern::Constant { every },
        1 => Pattern::OnOff { every, on: every * dice.whole(1, 30), off: every * dice.whole(1, 30) },
        2 => {
            let (on, off) = (every * dice.whole(1, 30), every * dice.whole(1, 30));
            Pattern::Pareto { every, on, off, shape: dice.scale(1.05, 3.0) }
        }
        3 => Pattern::Replay(replay(dice, every, (40, 1500))),
        4 => Pattern::Poisson { every, sizes: Sizes::Constant },
        _ => Pattern::Poisson { every, sizes: Sizes::Exponential },
    }
}

/// Some items of these sizes at about this interval, some at the same time, replayed from any position, once or
/// repeatedly.
fn replay(dice: &mut Dice, every: Span, (least, most): (u64, u64)) -> Replay {
    let mut at = Span::ZERO;
    let mut item = || {
        at = at + if dice.once_in(3) { Span::ZERO } else { dice.span(every.secs() / 10.0, every.secs() * 10.0) };
        (at, dice.whole(least, most) as u32)
    };
    let items = (0..20).map(|_| item()).collect();
    let recording = Recording::new(items).expect("times in order");
    let from = Span::from_secs(recording.period().secs() * dice.0.uniform());
    Replay {
        recording: Arc::new(recording),
        from: if dice.once_in(2) { Span::ZERO } else { from },
        repeat: dice.once_in(2),
    }
}
