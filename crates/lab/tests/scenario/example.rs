//! The published example of a scenario file, and every key of the format: read, varied, overridden and written back.

use std::sync::Arc;

use forebay_aqm::Spec;
use forebay_aqm::base::packet::Ecn;
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::{Depth, Limit, Rate};
use forebay_lab::load;
use forebay_lab::plan::Plan;
use forebay_lab::scenario::{
    Adapt, Arrivals, Begin, Bursts, Case, Cbr, Chain, Class, Codec, Control, Direction, Dumbbell, Ect, File, FlowGroup,
    FlowKind, Frames, Ftp, InputError, Item, Lengths, OnOff, Overrides, Pareto, Play, Recorded, Rtp, Scenario, Spacing,
    Synthetic, TcpOptions, TcpVariant, Topology, Uniform, Video, Voip, Web,
};
use forebay_sim::app::Opening;
use forebay_sim::draw::Draw;
use forebay_sim::source::Sizes;

const EXAMPLE: &str = include_str!("../data/example.toml");
const EVERYTHING: &str = include_str!("../data/everything.toml");
const LOT: &str = include_str!("../data/everything-lot.toml");
const GRAPH: &str = include_str!("../data/everything-graph.toml");

fn read(text: &str, sets: &[&str], aqm: &[&str]) -> Result<Vec<Case>, InputError> {
    let own = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    load::parse("scenario.toml", text, &Overrides { sets: own(sets), aqm: own(aqm), ..Overrides::default() })
}

fn only(text: &str, sets: &[&str]) -> Scenario {
    let mut cases = read(text, sets, &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(cases.len(), 1);
    cases.remove(0).scenario
}

fn dumbbell(scenario: &Scenario) -> &Dumbbell {
    match &scenario.topology {
        Topology::Dumbbell(dumbbell) => dumbbell,
        other => panic!("{other:?}"),
    }
}

fn uniform(lo: u64, hi: u64) -> Uniform {
    Uniform { lo: Span::from_millis(lo), hi: Span::from_millis(hi) }
}

#[test]
fn example_file_has_the_expected_values() {
    let scenario = only(EXAMPLE, &[]);
    assert_eq!(scenario.title, "RAQM case 1");
    assert_eq!((scenario.duration, scenario.warmup), (Span::from_millis(200_000), Span::from_millis(20_000)));
    assert_eq!(scenario.packet, 500);
    let net = dumbbell(&scenario);
    assert_eq!(net.bottleneck.forward.rate, Rate(10_000_000));
    assert_eq!(net.bottleneck.forward.delay, Span::from_millis(10));
    assert_eq!(net.bottleneck.forward.limit, Limit::Packets(100));
    assert_eq!(net.bottleneck.forward.discipline, Spec::parse("raqm q0=50").unwrap());
    assert_eq!(
        (net.bottleneck.reverse.limit, net.bottleneck.reverse.discipline.name()),
        (Limit::Packets(100), "droptail")
    );
    assert_eq!((net.hosts[0].access.hosts, net.hosts[0].access.rate), (5, Rate(10_000_000)));
    assert_eq!(net.hosts[0].access.delays, [Span::from_millis(10)]);
    assert_eq!(
        (net.hosts[0].access.queue, net.hosts[0].access.jitter),
        (Limit::Packets(10_000), Span::from_micros(10))
    );
    assert_eq!((net.hosts[0].egress.rate, net.hosts[0].egress.delay), (Rate(10_000_000), Span::from_millis(10)));
    let flows = &scenario.flows[0];
    assert_eq!((flows.name.as_str(), flows.kind.word(), flows.count), ("ftp", "ftp", 40));
    assert_eq!((flows.direction, flows.ecn, flows.class), (Direction::Forward, Ect::Off, Class::Fixed(0)));
    assert_eq!((flows.start, flows.active.as_slice()), (Some(uniform(0, 1000)), [(Span::ZERO, None)].as_slice()));
    assert_eq!(
        flows.kind,
        FlowKind::Ftp(Ftp { packet: None, handshake: Opening::Established, tcp: TcpOptions::default() })
    );
    let labels: Vec<&str> = scenario.compare.iter().map(|c| c.label.as_str()).collect();
    assert_eq!(labels, ["raqm q0=50", "pi preset=ns2 q_ref=50", "rem preset=ns2 b=50 mean_packet=500", "droptail"]);
    assert_eq!(scenario.report.series, ["queue", "raqm.p"]);
    assert_eq!(scenario.report.reference, None);
}

#[test]
fn tcp_options_have_the_expected_defaults() {
    let tcp = TcpOptions::default();
    assert_eq!((tcp.variant, tcp.initial_window, tcp.delayed_ack), (TcpVariant::NEWRENO, 2, false));
    assert_eq!((tcp.min_rto, tcp.tick), (Span::from_millis(200), Span::from_millis(10)));
    assert_eq!((tcp.ack, tcp.window, tcp.limited_transmit), (40, None, true));
}

#[test]
fn every_scenario_key_is_read_with_its_value() {
    let scenario = only(EVERYTHING, &[]);
    let net = dumbbell(&scenario);
    assert_eq!(net.bottleneck.forward.limit, Limit::Bytes(163_840));
    assert_eq!((net.bottleneck.reverse.limit, net.bottleneck.reverse.discipline.name()), (Limit::Packets(30), "pi"));
    assert_eq!(net.hosts[0].access.hosts, 3);
    assert_eq!(net.hosts[0].egress.rate, Rate(20_000_000));
    let [ftp, short, cbr, random, peak, mean, rest @ ..] = scenario.flows.as_slice() else { panic!("groups") };
    let (files, rest) = rest.split_at(3);
    let (rest, chains) = rest.split_at(8);
    let (chains, scalable) = chains.split_at(3);
    let [scalable @ .., viewers] = scalable else { panic!("viewers") };
    let [sctp, pareto, written, too, voip, trace, rtp, made_up] = rest else { panic!("eight groups") };
    assert_eq!(
        (ftp.name.as_str(), ftp.direction, ftp.ecn, ftp.class),
        ("bulk", Direction::Reverse, Ect::Own, Class::Host)
    );
    assert_eq!((ftp.start, short.start), (Some(uniform(2000, 2000)), None));
    let options = tcp(ftp);
    assert_eq!((options.variant, options.window), (TcpVariant::RENO, Some(20)));
    assert!(options.delayed_ack && !options.limited_transmit);
    assert_eq!(short.kind.arrivals(), Some(Arrivals { rate: 10.0, lifetime: uniform(1000, 2000) }));
    assert_eq!(short.active, [(Span::from_millis(50_000), Some(Span::from_millis(150_000)))]);
    let constant = Cbr { rate: Rate(160_000), packet: 1000, spacing: Spacing::Constant, sizes: Sizes::Constant };
    assert_eq!(cbr.kind, FlowKind::Cbr(constant));
    let (spacing, sizes) = (Spacing::Poisson, Sizes::Exponential);
    assert_eq!(random.kind, FlowKind::Cbr(Cbr { rate: Rate(1_000_000), packet: 400, spacing, sizes }));
    assert_eq!(cbr.active[1], (Span::from_millis(75_000), None));
    let second = Span::from_millis(1000);
    let bursts = Bursts { rate: Rate(80_000), on: second, off: second, packet: 500 };
    for group in [peak, mean] {
        assert_eq!(group.kind, FlowKind::OnOff(OnOff { bursts: bursts.clone(), tcp: None }));
    }
    let options = tcp(sctp);
    assert_eq!((options.variant, options.initial_window, options.delayed_ack), (TcpVariant::SCTP, 4, false));
    every_key_of_pareto_is_read([pareto, written, too]);
    let (talk, pause) = (Span::from_millis(1500), Span::from_millis(2000));
    assert_eq!(voip.kind, FlowKind::Voip(Voip { codec: Codec::G729, talk, pause }));
    let random = Play { repeat: true, begin: Begin::Random };
    assert_eq!(trace.kind.packet(1500), 500);
    assert!(matches!(&trace.kind, FlowKind::Trace(trace) if trace.play == random));
    let items = |group: &FlowGroup| group.kind.recorded().unwrap().items.clone();
    assert_eq!(items(trace)[1], Item { at: Span::from_millis(20), size: 40, tag: 7 });
    assert_eq!(items(rtp)[0], Item { at: Span::ZERO, size: 5000, tag: b'I' });
    let frames = Frames::Recorded(recorded(rtp), random);
    assert_eq!(
        rtp.kind,
        FlowKind::Rtp(Rtp {
            packet: 500,
            report: second,
            report_size: 90,
            control: Control::ReceiverReports { floor: 0.25, frames }
        })
    );
    let frames = Frames::Synthetic(Synthetic { rate: Rate(500_000), fps: 30.0, gop: 15, sigma: 0.5 });
    let report = Span::from_millis(900);
    assert_eq!(
        made_up.kind,
        FlowKind::Rtp(Rtp {
            packet: 500,
            report,
            report_size: 80,
            control: Control::ReceiverReports { floor: 0.1, frames }
        })
    );
    assert_eq!((peak.name.as_str(), mean.name.as_str()), ("onoff", "onoff-2"));
    every_key_of_files_is_read(files);
    every_key_of_video_is_read(viewers);
    every_key_of_chains_is_read(chains);
    every_codepoint_is_read(&scenario.flows, scalable);
    assert_eq!(scenario.compare[0].label, "ours");
    assert_eq!(scenario.report.reference, Some(Depth::Packets(50.0)));
}

fn tcp(group: &FlowGroup) -> TcpOptions {
    group.kind.tcp().unwrap()
}

fn recorded(group: &FlowGroup) -> Arc<Recorded> {
    Arc::new(group.kind.recorded().unwrap().clone())
}

fn every_key_of_pareto_is_read([bare, written, too]: [&FlowGroup; 3]) {
    let half = Span::from_millis(500);
    let pareto = |group: &FlowGroup| match &group.kind {
        FlowKind::Pareto(pareto) => pareto.clone(),
        other => panic!("{other:?}"),
    };
    let bursts = Bursts { rate: Rate(640_000), on: half, off: half, packet: 210 };
    assert_eq!(pareto(bare), Pareto { bursts, shape: 1.2, tcp: None });
    let bursts = Bursts { rate: Rate(128_000), on: half, off: half, packet: 500 };
    assert_eq!((pareto(written).bursts, pareto(written).shape, written.ecn), (bursts, 1.5, Ect::Own));
    assert_eq!(tcp(written).variant, TcpVariant::SACK);
    assert!(too.kind.tcp().is_some());
}

fn every_key_of_chains_is_read(groups: &[FlowGroup]) {
    let [three, two, map] = groups else { panic!("three groups") };
    let lengths_and_chain = |group: &FlowGroup| match &group.kind {
        FlowKind::Mmpp(mmpp) => (mmpp.lengths.clone(), Chain::clone(&mmpp.chain.0)),
        FlowKind::Map(map) => (map.lengths.clone(), Chain::clone(&map.chain.0)),
        other => panic!("{other:?}"),
    };
    let chain = |group: &FlowGroup| lengths_and_chain(group).1;
    let lengths = |group: &FlowGroup| lengths_and_chain(group).0;
    assert_eq!((lengths(three), three.count), (Lengths { packet: 480, erlang: Some(2) }, 4));
    let bits = 500_000.0 / (8.0 * 480.0);
    let moves = vec![vec![0.0, 1.5, 0.5], vec![2.0, 0.0, 0.0], vec![1e-3, 0.0, 0.0]];
    let packets = vec![vec![260.0, 0.0, 0.0], vec![0.0, bits, 0.0], vec![0.0, 0.0, 0.0]];
    assert_eq!(chain(three), Chain { moves, packets });
    assert_eq!(lengths(two), Lengths { packet: 500, erlang: None });
    let (moves, packets) = (vec![vec![0.0, 1.25], vec![5.0, 0.0]], vec![vec![250.0, 0.0], vec![0.0, 0.0]]);
    assert_eq!(chain(two), Chain { moves, packets });
    assert_eq!((chain(two).mean_rate(), chain(map).shares()), (200.0, vec![0.5, 0.5]));
    assert_eq!((lengths(map), map.kind.word()), (Lengths { packet: 480, erlang: Some(1) }, "map"));
    let (moves, packets) = (vec![vec![0.0, 20.0], vec![0.0, 0.0]], vec![vec![0.0, 0.0], vec![20.0, 0.0]]);
    assert_eq!(chain(map), Chain { moves, packets });
}

fn every_codepoint_is_read(all: &[FlowGroup], scalable: &[FlowGroup]) {
    let of =
        |name: &str| all.iter().find(|group| group.name == name).map(|group| (group.ecn, group.codepoint())).unwrap();
    assert_eq!(of("bulk"), (Ect::Own, Ecn::Ect0));
    assert_eq!([of("mice"), of("written-scalable")], [(Ect::Off, Ecn::Ect1); 2], "DCTCP with l4s");
    assert_eq!((of("users"), of("written-too")), ((Ect::Own, Ecn::Ect1), (Ect::Ect0, Ecn::Ect0)));
    assert_eq!(["cbr", "onoff", "scalable", "voip", "rtp"].map(of), [(Ect::Ect1, Ecn::Ect1); 5]);
    assert_eq!(["pareto", "mmpp"].map(of), [(Ect::Ect0, Ecn::Ect0); 2]);
    assert_eq!((of("trace"), of("map")), ((Ect::Own, Ecn::Ect0), (Ect::Own, Ecn::Ect0)));
    assert_eq!(["random", "mail", "streams", "made-up"].map(of), [(Ect::Off, Ecn::NotEct); 4]);
    assert!(scalable.iter().all(|group| tcp(group).l4s && tcp(group).variant == TcpVariant::DCTCP));
}

fn every_key_of_video_is_read(viewers: &FlowGroup) {
    let secs = |secs: u64| Span::from_millis(1000 * secs);
    let video = Video {
        bitrates: vec![Rate(500_000), Rate(1_500_000)],
        segment: secs(2),
        buffer: secs(21),
        startup: secs(3),
        resume: secs(20),
        adapt: Adapt::Buffer,
        reservoir: Some(secs(5)),
        cushion: Some(secs(10)),
        packet: Some(400),
        handshake: true,
        request: 300,
        tcp: tcp(viewers),
    };
    assert_eq!((&viewers.kind, viewers.ecn, viewers.dscp), (&FlowKind::Video(video), Ect::Own, Some(34)));
}

fn every_key_of_files_is_read(groups: &[FlowGroup]) {
    let [users, mail, back] = groups else { panic!("three groups") };
    let web = FlowKind::Web(Web {
        packet: None,
        objects: 1,
        connections: 1,
        size: Draw::Pareto { least: 2300.0, shape: 1.3, most: 1_048_576.0 },
        think: Draw::Exponential(50.0),
        repeat: None,
        persistent: false,
        request: 300,
        handshake: Opening::Handshake,
        tcp: tcp(users),
    });
    assert_eq!((&users.kind, users.ecn, users.class), (&web, Ect::Own, Class::Fixed(1)));
    let letters = File {
        packet: None,
        size: Draw::Lognormal { median: 8000.0, sigma: 1.5, most: f64::INFINITY },
        think: Draw::Uniform(1.0, 5.0),
        repeat: Some(10),
        persistent: false,
        handshake: Opening::Ns2,
        tcp: tcp(mail),
    };
    assert_eq!((&mail.kind, tcp(mail).variant), (&FlowKind::File(letters.clone()), TcpVariant::SACK));
    let (size, think) = (Draw::Constant(30.0 * 500.0), Draw::Constant(0.0));
    let copies = File { size, think, repeat: None, handshake: Opening::Established, tcp: tcp(back), ..letters };
    assert_eq!((&back.kind, back.direction), (&FlowKind::File(copies), Direction::Reverse));
}

#[test]
fn written_scenario_is_read_back_unchanged() {
    for text in [EXAMPLE, EVERYTHING, LOT, GRAPH] {
        let scenario = only(text, &[]);
        let written = scenario.to_toml();
        assert_eq!(only(&written, &[]), scenario, "{written}");
        assert_eq!(only(&written, &[]).to_toml(), written);
    }
}

#[test]
fn scenario_hash_depends_on_values_not_notation() {
    let hash = |text: &str, sets: &[&str]| Plan::new(read(text, sets, &[]).unwrap(), 1, 1).hash();
    let first = hash(EXAMPLE, &[]);
    assert!(first.len() == 12 && first.chars().all(|c| c.is_ascii_hexdigit()));
    assert_eq!(first, hash(&EXAMPLE.replace("10mbit", "10000kbit"), &[]));
    assert_ne!(first, hash(EXAMPLE, &["flows.ftp.count=41"]));
}

#[test]
fn without_compare_the_bottleneck_discipline_runs() {
    let text = EXAMPLE.split("[compare]").next().unwrap();
    let scenario = only(text, &[]);
    assert_eq!(scenario.compare.len(), 1);
    assert_eq!((scenario.compare[0].label.as_str(), scenario.compare[0].spec.name()), ("raqm q0=50", "raqm"));
    assert_eq!(scenario.report.series, ["queue"]);
}

#[test]
fn aqm_arguments_replace_disciplines_and_labels_stay_unique() {
    let cases = read(EXAMPLE, &[], &["pi", "droptail", "pi", "pi  q_ref=20", "pi"]).unwrap();
    let labels: Vec<&str> = cases[0].scenario.compare.iter().map(|c| c.label.as_str()).collect();
    assert_eq!(labels, ["pi", "droptail", "pi (2)", "pi q_ref=20", "pi (3)"]);
}

#[test]
fn set_arguments_change_keys_of_every_table() {
    let sets = [
        "duration=30s",
        "topology.bottleneck.rate = 20mbit",
        "topology.access.delays=[\"1ms\", \"2ms\"]",
        "topology.access.delays.1=3ms",
        "topology.bottleneck.reverse.queue=7",
        "flows.ftp.count=7",
        "flows.0.ecn=true",
        "flows.ftp.start={ uniform = [\"1s\", \"2s\"] }",
        "report.reference=50p",
    ];
    let scenario = only(EXAMPLE, &sets);
    let net = dumbbell(&scenario);
    assert_eq!(scenario.duration, Span::from_millis(30_000));
    assert_eq!(net.bottleneck.forward.rate, Rate(20_000_000));
    assert_eq!(net.hosts[0].access.delays, [Span::from_millis(1), Span::from_millis(3)]);
    assert_eq!(net.bottleneck.reverse.limit, Limit::Packets(7));
    assert_eq!((scenario.flows[0].count, scenario.flows[0].ecn), (7, Ect::Own));
    assert_eq!(scenario.flows[0].start, Some(uniform(1000, 2000)));
    assert_eq!(scenario.report.reference, Some(Depth::Packets(50.0)));
}

#[test]
fn boundary_values_of_constraints_between_keys_are_accepted() {
    let table: [&[&str]; 6] = [
        &["topology.bottleneck.rate=100gbit", "topology.access.rate=100gbit", "topology.egress.rate=100gbit"],
        &["topology.bottleneck.queue=500b", "topology.access.queue=500b"],
        &["topology.bottleneck.reverse.queue=40b"],
        &["topology.access.hosts=256", "flows.ftp.class=host"],
        &["topology.access.hosts=257", "flows.ftp.class=255"],
        &["flows.ftp.count=1000000"],
    ];
    for sets in table {
        only(EXAMPLE, sets);
    }
    only(EVERYTHING, &["flows.cbr.rate=8gbit", "flows.mice.arrivals=9990/s", "flows.bulk.count=800"]);
    // Without flows there are no packets: the group of 1000-byte datagrams is empty.
    only(EVERYTHING, &["topology.bottleneck.queue=500b"]);
}

#[test]
fn varied_keys_give_all_combinations_in_file_order() {
    let text = format!(
        "{}\n[vary]\nq = [20, 30]\nflows.ftp.count = [5, 50, 150]\n",
        EXAMPLE.replace("aqm = [\"raqm q0=50\"", "aqm = [\"raqm q0={q}\"")
    );
    let cases = read(&text, &[], &[]).unwrap();
    let axes: Vec<String> =
        cases.iter().map(|c| c.axes.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(axes[0], "q=20 flows.ftp.count=5");
    assert_eq!(axes[1], "q=20 flows.ftp.count=50");
    assert_eq!(axes[5], "q=30 flows.ftp.count=150");
    assert_eq!(cases.len(), 6);
    assert_eq!(cases[5].scenario.compare[0].label, "raqm q0=30");
    assert_eq!(cases[5].scenario.flows[0].count, 150);

    let held = read(&text, &["flows.ftp.count=40", "vary.q=[60]"], &[]).unwrap();
    assert_eq!(held.len(), 1);
    assert_eq!((held[0].scenario.flows[0].count, held[0].axes[0].1.as_str()), (40, "60"));

    let quoted = format!("{EXAMPLE}\n[vary]\n\"topology.access.delays\" = [[\"10ms\"], [\"10ms\", \"50ms\"]]\n");
    let cases = read(&quoted, &[], &[]).unwrap();
    assert_eq!(cases[1].axes[0].1, "[\"10ms\", \"50ms\"]");
    assert_eq!(dumbbell(&cases[1].scenario).hosts[0].access.delays.len(), 2);

    let swept = read(EXAMPLE, &["vary.flows.ftp.count=[1, 2]", "vary.title=[\"a\", \"b\"]"], &[]).unwrap();
    assert_eq!(swept.len(), 4);
    assert_eq!((swept[3].scenario.title.as_str(), swept[3].scenario.flows[0].count), ("b", 2));
}

/// `{q}` stands for the value of the key `q`, which varies.
#[test]
fn placeholders_in_set_and_aqm_options_are_replaced() {
    let cases = read(&format!("{EXAMPLE}\n[vary]\nq = [20, 30]"), &["title=at {q}"], &["raqm q0={q}"]).unwrap();
    assert_eq!(cases[1].scenario.title, "at 30");
    assert_eq!(cases[1].scenario.compare[0].spec.get("q0").as_deref(), Some("30p"));
}

#[test]
fn scenario_without_title_is_titled_by_file_name() {
    let text = EXAMPLE.replace("title    = \"RAQM case 1\"", "");
    let cases = load::parse("dir/case1.toml", &text, &Overrides::default()).unwrap();
    assert_eq!(cases[0].scenario.title, "case1");
}

#[test]
fn scenario_file_and_its_text_are_read_equally() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/example.toml");
    let cases = load::file(&path, &Overrides::default()).unwrap();
    assert_eq!(cases, read(EXAMPLE, &[], &[]).unwrap());
}
