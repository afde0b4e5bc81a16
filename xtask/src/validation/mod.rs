//! Our simulator beside others: the pages `docs/validation.md` and `docs/validation-ns3.md`, and the tests that hold them.

mod figures;
pub(crate) mod ns2;
pub(crate) mod ns3;
