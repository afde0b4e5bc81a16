//! Active Queue Management disciplines, one file each, readable beside their papers.
//!
//! Implement the lowest of three traits that fits ([`base::ladder`]): a [`Law`](base::ladder::Law)
//! never sees a packet, an [`Aqm`](base::ladder::Aqm) holds none, a
//! [`Discipline`](base::ladder::Discipline) owns order and storage. Time and chance come in through
//! the call; nothing here reads a clock, allocates per packet in steady state, or logs.
#![no_std]
#![deny(clippy::print_stdout, clippy::print_stderr)]

/// For the macros: a user's crate has none of its own in reach.
#[doc(hidden)]
pub extern crate alloc;

pub mod base;
pub mod parts;
pub mod testing;

// One name per discipline. This is the only other place that adding one touches. What an `aqm` decides by is its folder: the
// backlog at the port, the load (losses, idle time, a virtual queue), or the delay.
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
        drr: Drr, fq_codel: FqCodel, fq_pie: FqPie, dualpi2: DualPi2, curvy_red: CurvyRed,
    }
    variants { raqm_plus: raqm "plus" }
}

/// Drop-tail.
impl Default for Spec {
    fn default() -> Self {
        Self { name: "droptail", common: Default::default(), params: AnyParams::droptail(Default::default()) }
    }
}
