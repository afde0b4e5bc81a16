//! RAQM case 1 by hand: `case1 N "aqm string" LIMIT SEED [JITTER_US] [RTT]`.
use forebay_aqm::Spec;
use forebay_aqm::base::time::{Instant, Span};
use forebay_aqm::base::units::{Limit, Rate};
use forebay_sim::dumbbell::{Direction, Dumbbell};
use forebay_sim::network::{FlowSpec, Traffic};
use forebay_sim::tcp::{Recovery, TcpOptions};
use forebay_sim::world::World;

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: usize = a[1].parse().unwrap();
    let jitter: u64 = a.get(5).map_or(10, |s| s.parse().unwrap());
    let reno = a.get(6).is_some_and(|s| s == "reno");
    let bell = Dumbbell {
        rate: Rate(10_000_000),
        delay: Span::from_millis(10),
        limit: Limit::Packets(a[3].parse().unwrap()),
        discipline: Spec::parse(&a[2]).unwrap(),
        reverse_limit: Limit::Packets(100),
        reverse_discipline: Spec::parse("droptail").unwrap(),
        hosts: 5,
        access_rate: Rate(10_000_000),
        access_delays: vec![Span::from_millis(10)],
        access_limit: Limit::Packets(10000),
        jitter: Span::from_micros(jitter),
        egress_rate: Rate(10_000_000),
        egress_delay: Span::from_millis(10),
        packet: 500,
    };
    for seed in 1..=a[4].parse::<u64>().unwrap() {
        let t0 = std::time::Instant::now();
        let mut net = bell.network(Span::from_millis(200_000), Span::from_millis(20_000), Span::from_millis(100));
        for i in 0..n {
            let at = bell.attach(i, Direction::Forward);
            let mut rng = forebay_aqm::base::rng::Rng::stream(seed, &format!("start/{i}"));
            net.flows.push(FlowSpec {
                group: 0,
                name: format!("ftp/{i}"),
                from: at.from,
                to: at.to,
                forward: at.forward,
                back: at.back,
                start: Instant::ZERO + Span::from_secs(rng.uniform()),
                stop: None,
                traffic: Traffic::Tcp(TcpOptions {
                    recovery: if reno { Recovery::Reno } else { Recovery::NewReno },
                    ..TcpOptions::default()
                }),
                packet: 500,
                ack: 40,
                class: 0,
                pair: i as u32,
            });
        }
        let out = World::new(&net, seed).unwrap().run(&mut ()).unwrap();
        let dt = t0.elapsed().as_secs_f64();
        let l = &out.links[0];
        let c = out.flows.iter().fold((0, 0, 0, 0), |t, f| {
            (
                t.0 + f.sender.sent,
                t.1 + f.sender.retransmitted,
                t.2 + f.sender.fast_retransmits,
                t.3 + f.sender.timeouts,
            )
        });
        let good: u64 = out.flows.iter().map(|f| f.goodput_bytes).sum();
        println!(
            "mean {:.2} sd {:.2} util {:.4} drop {:.4} good {:.4} served {} events {} sent {} rtx {} fr {} to {} fp {:016x} {:.3}s {:.2} Mpkt/s",
            l.queue_pkts.mean,
            l.queue_pkts.std,
            l.utilisation,
            (l.dropped_early + l.dropped_overflow) as f64 / l.offered_pkts as f64,
            good as f64 * 8.0 / 180.0 / 1e7,
            l.served_pkts,
            out.events,
            c.0,
            c.1,
            c.2,
            c.3,
            out.fingerprint,
            dt,
            l.served_pkts as f64 / dt / 1e6
        );
    }
}
