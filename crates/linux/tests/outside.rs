//! Links outside of the kernel: the simulator's links, joined to the guest's devices.

use std::sync::atomic::AtomicBool;

use forebay_linux::outside;

use crate::{bulk, kernel};

#[test]
fn first() {
    let Some(kernel) = kernel() else { return };
    let net = bulk("droptail", 4, 10);
    let begun = std::time::Instant::now();
    let found = outside::run(&kernel, &net, 1, 0, &AtomicBool::new(false)).unwrap();
    println!("{:?} {:?} {:?}", found.cost, begun.elapsed(), found.faults);
    let mut out = found.outcome;
    out.links[0].series = Default::default();
    out.links[0].queue_shares.clear();
    println!("{:#?}", out.links);
    println!("{:#?}", out.flows);
    println!("{:#?}", out.bundles);
    let inside = crate::run(&kernel, &net, 1).unwrap();
    println!("{:?}", inside.cost);
    println!("{:#?}", inside.outcome.flows);
}
