//! Comparisons with ns-2 and ns-3: the pages `docs/validation.md` and `docs/validation-ns3.md`, and their tests.

mod figures;
pub mod ns2;
pub mod ns3;
pub mod papers;
