//! Forebay between real TCP stacks: the emulated link between network namespaces.
//!
//! A [`lane`] is one direction of a link: the simulator's, driven by [`frame`]s as they come. An [`emulator`] moves them between
//! two interfaces by the clock of this machine; [`namespaces`] are what these interfaces lead to. Linux only; elsewhere the
//! crate is empty. All that talks to the kernel is in [`sys`].

#![cfg(target_os = "linux")]

pub mod emulator;
pub mod frame;
pub mod lane;
pub mod namespaces;
pub mod sys;
