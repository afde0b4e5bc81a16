//! Self-configuring RED: ns-2's `updateMaxPFeng` in its RED; see `red.rs`.

use crate::reference::aqm::red::{Adaptation, BRANCHES, Red, settings};
use crate::reference::harness::*;

fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (words, mut set) = settings(dice, trace);
    let max_p = 1.0 / set.max_p_inv;
    let (alpha, beta) = (dice.pick(&[3.0, 2.0, 1.5]), dice.pick(&[2.0, 3.0, 1.5]));
    let (bottom, top) = (max_p / dice.pick(&[1.0, 10.0, 1e3]), (max_p * dice.pick(&[1.0, 4.0, 100.0])).min(1.0));
    let quirk = dice.odds(0.4);
    set.adaptation = Adaptation::Feng { alpha, beta, bottom, top, quirk };
    let words = format!("{words} alpha={alpha} beta={beta} bottom={bottom} top={top} quirk={}", on(quirk));
    (words, Box::new(Red::new(trace.net, set)))
}

#[test]
fn self_configuring_red_handles_packets_as_ns2() {
    let own = ["max_p down", "max_p up", "max_p at its bottom", "max_p at its top"];
    differ("feng_red", case, &[&BRANCHES[..], &own].concat());
}
