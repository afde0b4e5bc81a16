//! Models compared with direct simulation and with other people's tools.

mod mmpp;
mod oracle;
