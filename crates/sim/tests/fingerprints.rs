//! Runs with recorded fingerprints, which must be equal in debug and release builds, on all machines and instruction
//! sets, and in later versions. `FOREBAY_BLESS=1` rewrites them.

use std::fmt::Write;

use crate::common::{case1, dumbbell, run};
use forebay_aqm::ENTRIES;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::Rate;
use forebay_sim::app::{Files, Opening, Work};
use forebay_sim::draw::Draw;
use forebay_sim::loss::LossModel;
use forebay_sim::network::{Network, Traffic};
use forebay_sim::schedule::Schedule;
use forebay_sim::source::Pattern;
use forebay_sim::tcp::{Stack, TcpOptions, Variant};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints.txt");

const VARIANTS: [(&str, Variant); 7] = [
    ("tahoe", Variant::TAHOE),
    ("reno", Variant::RENO),
    ("newreno", Variant::NEWRENO),
    ("sack", Variant::SACK),
    ("cubic", Variant::CUBIC),
    ("dctcp", Variant::DCTCP),
    ("bbr", Variant::BBR),
];

fn network(aqm: &str, variant: Variant) -> Network {
    case1(&dumbbell(aqm, 100, Span::from_micros(10)), 20, 20, TcpOptions { variant, ..TcpOptions::default() }, 1)
}

/// With ECN, delayed acknowledgements and pacing.
fn marked(aqm: &str, variant: Variant) -> Network {
    let options =
        TcpOptions { variant, ecn: true, delayed_ack: true, pacing: true, ..as_recorded(TcpOptions::default()) };
    case1(&dumbbell(aqm, 100, Span::from_micros(10)), 20, 20, options, 1)
}

/// Retransmissions are ECN-capable on the RFC stack, which was the default at the first recording.
fn as_recorded(options: TcpOptions) -> TcpOptions {
    TcpOptions { ect_retransmissions: (options.stack() == Stack::Rfc).then_some(true), ..options }
}

/// Senders that were added after the first recording: with defaults under RED, and with ECN under CoDel as `marked`. Each
/// control is on its default stack; some have an amending rule, such as ABE.
fn later() -> Vec<(&'static str, TcpOptions)> {
    let of = |variant| as_recorded(TcpOptions::of(variant, None));
    let linux = |variant| TcpOptions::of(variant, Some(Stack::Linux));
    vec![
        ("prague", of(Variant::PRAGUE)),
        ("prague low_rate", TcpOptions { low_rate: true, ..of(Variant::PRAGUE) }),
        ("linux", of(Variant::LINUX)),
        ("l4s-linux", of(Variant::L4SLINUX)),
        ("bbr3", of(Variant::BBR3)),
        ("sack linux", linux(Variant::SACK)),
        ("cubic linux", linux(Variant::CUBIC)),
        ("dctcp linux", linux(Variant::DCTCP)),
        ("bbr linux", linux(Variant::BBR)),
        ("newreno ecn_beta", TcpOptions { ecn_beta: Some(0.8), ..of(Variant::NEWRENO) }),
        ("cubic ecn_beta", TcpOptions { ecn_beta: Some(0.85), ..of(Variant::CUBIC) }),
        ("reno byte_counting", TcpOptions { byte_counting: Some(2), ..of(Variant::RENO) }),
        ("newreno hystart++", TcpOptions { hystart: true, ..of(Variant::NEWRENO) }),
        ("cubic linux hystart++", TcpOptions { hystart: true, ..linux(Variant::CUBIC) }),
        ("newreno rfc7661", TcpOptions { pipe_ack: true, ..of(Variant::NEWRENO) }),
        ("linux rfc7661", TcpOptions { pipe_ack: true, ..of(Variant::LINUX) }),
        ("reno rfc3168", TcpOptions::of(Variant::RENO, None)),
        ("newreno rfc3168", TcpOptions::of(Variant::NEWRENO, None)),
        ("sack rfc3168", TcpOptions::of(Variant::SACK, None)),
        ("cubic rfc3168", TcpOptions::of(Variant::CUBIC, None)),
        ("ledbat", TcpOptions::of(Variant::LEDBAT, None)),
    ]
}

/// Files on new connections, and a source of packets below the rate of the link: the application limits sending.
fn limited(options: TcpOptions) -> Network {
    let mut net = case1(&dumbbell("red", 100, Span::from_micros(10)), 20, 20, options, 1);
    let files = Files {
        size: Draw::Constant(20_000.0),
        think: Draw::Constant(0.3),
        count: None,
        fresh: true,
        request: None,
        opening: Opening::Established,
    };
    for flow in net.flows.iter_mut().skip(5) {
        flow.traffic = Traffic::Application(options, Work::Files(files));
    }
    for flow in net.flows.iter_mut().skip(15) {
        flow.traffic = Traffic::Application(options, Work::Written(Pattern::Constant { every: Span::from_millis(60) }));
    }
    net
}

/// Bursts of losses, and a changing rate.
fn weather() -> Network {
    let mut net = network("raqm", Variant::SACK);
    let step = |secs: u64, rate| (Instant::ZERO + Span::from_millis(1000 * secs), Rate(rate));
    let steps = vec![step(0, 10_000_000), step(5, 3_333_333), step(8, 0), step(9, 30_000_000)];
    let conditions = &mut net.links[0].lane.conditions;
    conditions.loss = Some(LossModel::GilbertElliott { p: 0.003, r: 0.3, bad: 0.7, good: 0.0001 });
    conditions.schedule = Some(Schedule::steps(steps).unwrap().into());
    net
}

/// One fingerprint of the random networks of `seeds`, which cover every topology, source, transport, loss and marker.
fn networks(seeds: std::ops::Range<u64>) -> u64 {
    let of = |seed| run(&crate::scenario::network(seed), seed).fingerprint;
    seeds.map(of).fold(0, |all: u64, one| all.rotate_left(1) ^ one)
}

#[test]
fn fingerprints_match_the_record() {
    let mut found = String::new();
    let mut line = |name: &str, net: &Network| {
        writeln!(found, "{name:<23} {:016x}", run(net, 1).fingerprint).unwrap();
    };
    for entry in ENTRIES {
        line(&format!("newreno {}", entry.name), &network(entry.name, Variant::NEWRENO));
    }
    for (name, variant) in VARIANTS {
        line(&format!("{name} red"), &network("red", variant));
        line(&format!("{name} codel ecn"), &marked("codel", variant));
    }
    for (name, options) in later() {
        let bell = |aqm| dumbbell(aqm, 100, Span::from_micros(10));
        line(&format!("{name} red"), &case1(&bell("red"), 20, 20, options, 1));
        line(&format!("{name} codel ecn"), &case1(&bell("codel"), 20, 20, TcpOptions { ecn: true, ..options }, 1));
        line(&format!("{name} files"), &limited(options));
    }
    line("weather", &weather());
    for first in (0..1000).step_by(100) {
        let name = format!("networks {first}-{}", first + 99);
        writeln!(found, "{name:<24}{:016x}", networks(first..first + 100)).unwrap();
    }
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(RECORD, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(RECORD).unwrap(), found);
}
