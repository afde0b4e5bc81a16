//! The program `forebay`, called as in a shell. `kernel_link`, `kernel_packets` and `kernel_device` need real packets:
//! `cargo xtask test live attach`. `in_guest_runs` and `in_guest_device` need the kernel of `cargo xtask linux`.

#[cfg(target_os = "linux")]
mod actors;
mod advise;
mod bad_input;
#[cfg(target_os = "linux")]
mod behind_link;
mod common;
mod evaluate;
mod exports;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod in_guest_device;
#[cfg(target_os = "linux")]
mod in_guest_runs;
#[cfg(unix)]
mod interrupt;
#[cfg(target_os = "linux")]
mod kernel_device;
#[cfg(target_os = "linux")]
mod kernel_link;
#[cfg(target_os = "linux")]
mod kernel_packets;
#[cfg(unix)]
mod kills;
#[cfg(target_os = "linux")]
mod offline;
mod packetdrill;
mod pictures;
mod reproduce;
mod runs;
mod skips;
mod slurm;
mod surfaces;
mod sweep;
mod tc;
#[cfg(target_os = "linux")]
mod terminal;
mod theory;
mod tune;
mod verdict;
mod wire;
#[cfg(unix)]
mod writers;
