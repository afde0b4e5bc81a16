//! What the commands of the program do, as functions: typed arguments in, a document out.
//!
//! The terminal prints the documents, Python hands them over. What a command needs of its caller while it works (who can stop
//! it, who hears its notes, which build of the program runs) is a [`host::Host`].

pub mod explain;
pub mod failure;
pub mod host;
pub mod list;
pub mod map;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod theory;
pub mod tune;
