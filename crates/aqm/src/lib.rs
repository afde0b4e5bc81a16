//! Active Queue Management disciplines.
//!
//! A discipline implements the first of three traits that fits ([`base::discipline`]): a [`Law`](base::discipline::Law) reads
//! counters, an [`Aqm`](base::discipline::Aqm) decides about packets, a [`Discipline`](base::discipline::Discipline) owns order
//! and storage. Time and random numbers are arguments of each call. Nothing here reads a clock, logs, or allocates per
//! packet in steady state.
#![no_std]
#![deny(clippy::print_stdout, clippy::print_stderr)]

/// Used in the expansion of the macros, because the crate that calls them may lack `extern crate alloc`.
#[doc(hidden)]
pub extern crate alloc;

pub mod base;
pub mod parts;
pub mod testing;

// One name per discipline. Adding a discipline needs its file and a name here. An `aqm` is in the folder of what it
// measures: backlog, load (losses, idle time, a virtual queue), or delay.
registry! {
    law { raqm: Raqm, pi: Pi, rem: Rem, msc: Msc, aaqm: Aaqm }
    aqm {
        backlog {
            droptail: TailOrFront,
            red: Red, ared: Ared, feng_red: FengRed, dynamic_red: DynamicRed, rio: Rio, fred: Fred,
        }
        load { svb: Svb, msvb: Msvb, sio: Sio, avq: Avq, blue: Blue, sfb: Sfb }
        delay { codel: CoDel, cobalt: Cobalt, pie: Pie, pi2: Pi2 }
    }
    queue {
        red_tail: RedTail, wrr: Wrr, choke: Choke,
        drr: Drr, fq_codel: FqCodel, fq_pie: FqPie, cake: Cake, dualpi2: DualPi2, curvy_red: CurvyRed,
    }
    variants { raqm_plus: raqm "plus" }
}

/// The default discipline: drop-tail with its default parameters.
impl Default for Spec {
    fn default() -> Self {
        Self { name: "droptail", common: Default::default(), params: AnyParams::droptail(Default::default()) }
    }
}
