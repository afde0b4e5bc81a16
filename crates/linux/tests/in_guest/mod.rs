//! Tests in the guest; the stage `linux` of `cargo xtask test` runs them.

mod captures;
mod conditions;
mod controls;
mod faults;
mod keys;
mod oracle;
mod outside;
mod qdiscs;
mod runs;
