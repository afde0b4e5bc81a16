//! Speed of other simulators in scenarios of `forebay bench`: ns-2 if installed, and earlier measurements of others.

use crate::base::program;

/// A scenario of `forebay bench`, and the arguments that make it for `validation/ns2/case.tcl`.
const CASES: [(&str, &str); 4] = [
    ("raqm-1-n40", "-case 1 -n 40"),
    ("raqm-1-n400", "-case 1 -n 400"),
    ("1g-n1000", "-case fast -n 1000 -limit 3500 -stop 10 -warmup 0.01"),
    ("10g-n1000", "-case faster -n 1000 -limit 10000 -stop 2 -warmup 0.01"),
];

/// Packets per CPU second of simulators that are not run here, by scenario in the order of [`CASES`]: on two virtual
/// Xeon cores of 2.6 GHz, medians of five runs (ns-3: one to three), with set-up.
pub(crate) const ELSEWHERE: [(&str, [Option<f64>; 4]); 2] = [
    ("csg-htsim", [Some(1.04e6), Some(0.83e6), Some(0.84e6), Some(0.77e6)]),
    ("ns-3, optimised build", [Some(49e3), Some(42e3), Some(25e3), None]),
];

/// Speed of ns-2's event loop in one scenario.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) case: &'static str,
    /// Packets that the bottleneck sent, per second.
    pub(crate) packets_per_second: f64,
}

/// One run of each scenario; empty without ns-2.
pub(crate) fn ns2() -> Result<Vec<Peer>, String> {
    if program::find(&["ns"]).is_none() {
        return Ok(Vec::new());
    }
    CASES.iter().map(|(case, arguments)| Ok(Peer { case, packets_per_second: speed(arguments)? })).collect()
}

fn speed(arguments: &str) -> Result<f64, String> {
    let mut ns = program::at_root("ns");
    ns.arg("validation/ns2/case.tcl").args(["-loop", "1", "-sample", "0"]).args(arguments.split(' '));
    let out = program::said(ns)?;
    let numbers: Vec<f64> = out.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [packets, seconds] if *seconds > 0.0 => Ok(packets / seconds),
        _ => Err(format!("ns-2 {arguments}: {out}")),
    }
}
