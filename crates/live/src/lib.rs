//! Forebay between real TCP stacks: the emulated link between network namespaces.
//!
//! A lane is one direction of a link: the simulator's link, driven by packets as they come and by the clock of this
//! machine. Linux only; elsewhere the crate is empty. All that talks to the kernel is in `sys`.

#![cfg(target_os = "linux")]

pub mod sys;
