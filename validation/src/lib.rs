//! Comparisons with ns-2 and ns-3: the pages `docs/validation.md` and `docs/validation-ns3.md`, and their tests;
//! the experiments of papers in ns-2; the comparison with the TCP of Linux: the page `docs/sim-to-real.md`.

mod figures;
pub mod ns2;
pub mod ns3;
pub mod papers;
#[cfg(test)]
mod patches;
#[cfg(test)]
mod proofs;
pub mod real;
#[cfg(test)]
#[path = "../../crates/cli/tests/skips/mod.rs"]
mod skips;
pub mod statements;
