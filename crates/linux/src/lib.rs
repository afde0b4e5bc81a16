//! Real Linux TCP in virtual time: runs a network of the simulator in a User Mode Linux kernel whose clock advances only
//! when it is idle. The same network and seed give the same packets, on an idle and on a loaded machine.
//!
//! - [`build`]: builds the kernel with Forebay's disciplines as qdiscs.
//! - [`place`]: finds the built kernel.
//! - [`network`], `qdiscs`, `tc`, `traffic`: a network as orders for the guest agent (package `forebay-agent`).
//! - `initramfs`, [`machine`]: starts the kernel with its orders.
//! - [`oracle`]: qdiscs of Linux and disciplines of Forebay with the same packets.
//! - [`records`], [`measure`]: what it writes, and the results of a run from it.
//! - [`outside`]: runs in which the links are those of the simulator, outside of the kernel.

#![cfg(target_os = "linux")]

mod arrivals;
pub mod build;
pub mod capture;
mod initramfs;
pub mod machine;
pub mod measure;
mod netlink;
pub mod network;
pub mod oracle;
pub mod outside;
pub mod place;
mod qdiscs;
pub mod records;
mod round_trips;
pub mod run;
mod sys;
pub mod tc;
mod traffic;

pub use forebay_agent::orders;
