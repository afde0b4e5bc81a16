//! Adaptive RED: ns-2's `updateMaxP` in its RED, also run by a timer as in the paper, and the kernel's
//! `red_adaptative_algo`. As in their sources, both are part of RED: `red.rs` and `red/linux.rs`.

use crate::reference::aqm::red::{Adaptation, BRANCHES, Clock, Floyd, Linux, Red, linux_settings, settings};
use crate::reference::harness::*;

fn case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (words, mut set) = settings(dice, trace);
    let (bottom_auto, target) = (dice.odds(0.5), dice.upto(1, 50));
    let (clock_word, clock) =
        dice.pick(&[("timer", Clock::Timer), ("arrival", Clock::Step), ("change", Clock::Change)]);
    let usual = 80_000.0 / trace.net.bandwidth as f64;
    let floyd = Floyd {
        alpha: dice.pick(&[0.01, 0.02, 0.2]),
        beta: dice.pick(&[0.9, 0.5]),
        bottom: if bottom_auto { if usual < 0.01 { usual } else { 0.01 } } else { dice.pick(&[0.01, 0.05]) },
        top: dice.pick(&[0.5, 0.2, 1.0]),
        // Never at the time of an arrival on the grid: the listing does not define the order of simultaneous events.
        interval: dice.pick(&[20, 100, 500]) * MS + 12_345,
        clock,
        quirk: dice.odds(0.3),
    };
    set.targetdelay = target as f64 / 1e3;
    set.adaptation = Adaptation::Floyd(floyd);
    let words = format!(
        "{words} target={target}ms interval={}ns alpha={} beta={} bottom={} top={} clock={clock_word} quirk={}",
        floyd.interval,
        floyd.alpha,
        floyd.beta,
        if bottom_auto { "auto".to_string() } else { floyd.bottom.to_string() },
        floyd.top,
        on(floyd.quirk),
    );
    (words, Box::new(Red::new(trace.net, set)))
}

fn tc_case(dice: &mut Dice, trace: &Trace) -> (String, Box<dyn Listing>) {
    let (words, tc) = linux_settings(dice, &trace.net, true);
    (words, Box::new(Linux::new(trace.net, tc)))
}

#[test]
fn adaptive_red_handles_packets_as_ns2() {
    let own = ["max_p down", "max_p up", "a quarter of max_p is less", "a step on a decayed average"];
    differ("ared", case, &[&BRANCHES[..], &own].concat());
}

#[test]
fn adaptive_red_handles_packets_as_linux() {
    let branches =
        ["idle", "hard", "a gap is drawn", "a gap ends", "full", "queued although not ECT", "max_p up", "max_p down"];
    differ("ared", tc_case, &branches);
}
