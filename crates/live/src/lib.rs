//! Forebay between real TCP stacks: the emulated link between network namespaces.
//!
//! A [`fabric`] is a network of the simulator's links, driven by [`frame`]s as they come, of which a [`journal`] is kept if asked.
//! An [`emulator`] moves them between two interfaces by the clock of this machine; [`namespaces`] are what these lead to, through [`port`]s, where [`offload`] does what was left to hardware; [`traffic`] are the flows of a scenario over them. Linux only; elsewhere the crate is empty. All that talks to the kernel is in [`sys`].

#![cfg(target_os = "linux")]

#[cfg(feature = "attach")]
pub mod attach;
pub mod doctor;
pub mod emulator;
pub mod fabric;
pub mod frame;
pub mod journal;
pub mod namespaces;
pub mod offload;
pub mod port;
pub mod sys;
pub mod traffic;
