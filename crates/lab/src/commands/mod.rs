//! The commands as functions, which take typed arguments and return a document.
//!
//! The command line prints the documents; Python returns them. [`host::Host`] is what a command needs from its
//! caller while it runs: stop flag, receiver of messages, build of the program.

pub mod advise;
pub mod claims;
pub mod compare;
pub mod explain;
pub mod failure;
pub mod host;
pub mod list;
pub mod map;
pub mod merge;
pub mod plot;
pub mod report;
pub mod ro_crate;
pub mod run;
pub mod tc_line;
pub mod theory;
pub mod tune;
