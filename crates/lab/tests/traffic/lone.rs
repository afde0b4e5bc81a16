//! A single link with the arrivals of a network's link gives the same results and time series.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};
use forebay_lab::load;
use forebay_lab::lower;
use forebay_lab::scenario::Overrides;
use forebay_sim::link::Tag;
use forebay_sim::lone::{LoneLink, Rows};
use forebay_sim::network::{Network, Traffic};
use forebay_sim::outcome::LinkOutcome;
use forebay_sim::segment::{Kind, Mark, Segment};
use forebay_sim::source::Source;
use forebay_sim::world::World;

const SEED: u64 = 3;

/// The network of one link with these keys under `aqm`.
fn network(link: &str, aqm: &str) -> Network {
    let text = format!(
        "version = 1\nduration = \"20s\"\npacket = 1000\n[topology]\nkind = \"graph\"\nnodes = [\"a\", \"b\"]\njitter = \"0s\"\n\
         [[topology.links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\ndelay = \"5ms\"\nqueue = \"60p\"\none_way = true\n\
         study = true\n{link}\n[[topology.links]]\nname = \"back\"\nfrom = \"b\"\nto = \"a\"\nrate = \"1gbit\"\ndelay = \"5ms\"\n\
         queue = \"60p\"\none_way = true\n[[flows]]\nname = \"f\"\nkind = \"onoff\"\nfrom = \"a\"\nto = \"b\"\n\
         rate = \"20mbit\"\non = \"55ms\"\noff = \"45ms\"\n[compare]\naqm = [\"{aqm}\"]\nlinks = [\"l\"]\n"
    );
    let cases = load::parse("lone", &text, &Overrides::default()).unwrap();
    lower::network(&cases[0].scenario, &cases[0].scenario.compare[0].spec, SEED)
}

/// The link alone, with the arrivals of the network's one flow.
fn alone(net: &Network, rows: Rows) -> LinkOutcome {
    let flow = &net.flows[0];
    let Traffic::Datagrams(pattern) = &flow.traffic else { panic!("{:?}", flow.traffic) };
    let mut source = Source::new(pattern.clone(), flow.packet, Rng::stream(SEED, &format!("flow/{}", flow.name)));
    let spec = &net.links[net.routes[flow.forward][0]];
    let mut link = LoneLink::new(spec, SEED, (net.warmup, rows), net.duration, net.bundles());
    source.start(flow.start);
    while let Some(at) = source.next().filter(|at| *at < Instant::ZERO + net.duration) {
        let len = source.send(at);
        let mark = Mark::data(Kind::Datagram, forebay_aqm::base::packet::Ecn::NotEct, false);
        let tag = Tag { pair: flow.pair, proto: forebay_aqm::base::packet::Proto::Udp, ..Tag::default() };
        link.arrive(Segment { len, mark, ..Segment::default() }, tag, at, &mut |_, _| ());
    }
    link.finish(Instant::ZERO + net.duration)
}

fn compare(link: &str, aqm: &str) {
    let net = network(link, aqm);
    let whole = World::new(&net, SEED).unwrap().run(&mut ()).unwrap();

    let alone = alone(&net, Rows::all(net.sample));
    let of = &whole.links[0];
    assert!(
        of.dropped_early + of.dropped_overflow + of.lost_pkts > 50,
        "{aqm} on {link_words}",
        link_words = alone.name
    );
    // NaN differs from itself: probes without a value are compared by their bits.
    let known = |of: &LinkOutcome| {
        let mut of = of.clone();
        of.series.probes.iter_mut().flat_map(|(_, column)| column).for_each(|value| *value = value.to_bits() as f64);
        of
    };
    assert_eq!(known(&alone), known(of), "{aqm}");
}

#[test]
fn lone_link_equals_the_link_of_a_network() {
    for aqm in ["red", "pi q_ref=20", "codel", "fq_codel", "pie", "wrr classes=2", "droptail th=0.5", "sfb"] {
        compare("rate = \"10mbit\"", aqm);
    }
    // Disciplines that hold packets back until a time.
    compare("rate = \"15mbit\"", "cake bandwidth=8mbit flows=flowblind memory=wire memlimit=30kb");
    compare("rate_trace = [1, 3, 7, 7, 8, 8, 8, 8, 12]", "cake bandwidth=5mbit flows=flowblind");
    compare("rate = \"10mbit\"\nloss = 0.01", "raqm");
    compare("rate_trace = [1, 3, 7, 7, 7, 7, 8, 8, 8, 8, 12]", "red");
    compare("rate = \"10mbit\"\nrate_steps = [[\"5s\", \"5mbit\"]]", "pi q_ref=20");
}

#[test]
fn time_series_beyond_the_row_limit_are_thinned() {
    let net = network("rate = \"10mbit\"", "pi q_ref=20");
    let every = Span::from_millis(1);
    // 20,000 rows: every second row is removed eight times.
    let kept = alone(&net, Rows { every, most: Some(101) }).series;
    let coarse = alone(&net, Rows::all(Span::from_nanos(every.nanos() << 8))).series;
    assert_eq!(kept.time_s.len(), 78);
    assert_eq!((&kept.time_s, &kept.queue_pkts, &kept.probes), (&coarse.time_s, &coarse.queue_pkts, &coarse.probes));
    for (kept, coarse) in kept.queue_mean_pkts.iter().zip(&coarse.queue_mean_pkts) {
        assert!((kept - coarse).abs() < 1e-9, "{kept} {coarse}");
    }
    assert_eq!(alone(&net, Rows { every, most: Some(0) }).series.time_s.len(), 1);
}
