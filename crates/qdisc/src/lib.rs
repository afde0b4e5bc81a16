//! The disciplines of `forebay-aqm` as C functions, for a qdisc in a User Mode Linux kernel.
//!
//! [`queue::KernelQueue`] is a queue under a discipline. The module [`sys::exports`] has its functions for C, and the
//! module `sys::runtime` (feature `kernel`) what Rust needs in a kernel: memory and the end after a panic. The C side
//! is `kernel/sch_forebay.c`. `crates/linux` builds both into a kernel.
#![no_std]
#![deny(clippy::print_stdout, clippy::print_stderr)]

extern crate alloc;

pub mod queue;
pub mod sys;
