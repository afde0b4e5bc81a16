//! Qdiscs of Linux at a link.

use forebay_linux::machine::Fault;
use forebay_linux::place::Kernel;
use forebay_linux::tc;
use forebay_sim::network::Network;

use crate::{bulk, kernel, run};

/// Four connections over a link with this qdisc.
fn over(words: &str) -> Network {
    let mut net = bulk("droptail", 4, 5);
    net.links[0].lane.discipline = crate::words::parse(&format!("linux:{words}")).unwrap().unwrap();
    net
}

/// The parameters without which tc(8) refuses a qdisc, and others that change what it does.
fn parameters(name: &str) -> &'static str {
    match name {
        "red" => "limit 150000 avpkt 1500",
        "choke" => "limit 100 bandwidth 10mbit",
        "cake" => "rtt 50ms diffserv4 dual-dsthost overhead 18 mpu 64 ack-filter",
        "sfq" => "quantum 3000 depth 100 headdrop",
        _ => "",
    }
}

/// The first two numbers of a kernel's version.
fn version(kernel: &Kernel) -> (u32, u32) {
    let mut numbers = kernel.version().split('.').map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[test]
fn every_qdisc_of_linux_sends_packets() {
    let Some(kernel) = kernel() else { return };
    let has_dualpi2 = version(&kernel) >= (6, 17);
    if !has_dualpi2 {
        let Err(Fault::Failed(why)) = run(&kernel, &over("dualpi2"), 1) else { panic!("Linux has it since 6.17") };
        assert!(why.contains("dualpi2"), "{why}");
    }
    for name in tc::names().into_iter().filter(|name| *name != "dualpi2" || has_dualpi2) {
        let net = over(&format!("{name} {}", parameters(name)));
        let found = run(&kernel, &net, 1).unwrap();
        let link = &found.outcome.links[0];
        println!("{name}: {:.3} of the link, {} drops", link.utilisation, link.dropped_early + link.dropped_overflow);
        assert_eq!(found.faults, [""; 0], "{name}");
        assert!(link.utilisation > 0.8, "{name}: {}", link.utilisation);
    }
}

/// CAKE shapes to its own bandwidth, below that of the link.
#[test]
fn bandwidth_of_cake_limits_the_throughput() {
    let Some(kernel) = kernel() else { return };
    let utilisation = |words: &str| run(&kernel, &over(words), 1).unwrap().outcome.links[0].utilisation;
    let [half, whole] = ["cake bandwidth 5mbit", "cake unlimited"].map(utilisation);
    assert!((0.45..0.52).contains(&half) && whole > 0.95, "{half} {whole}");
}
