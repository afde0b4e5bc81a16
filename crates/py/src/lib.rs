//! The native part of the Python package in `python/forebay`.
//!
//! - [`scenario`] reads files, [`runs`] runs them under [`watch`], which handles Ctrl-C.
//! - [`results`] and [`table`] export results.
//! - [`drive`] is a single discipline, [`own`] a custom discipline written in Python, [`sender`] a custom
//!   congestion control, [`mod@env`] a set of
//!   simulations stepped in parallel; [`turn`] serializes calls to them.
//! - [`command`] has all other commands of Forebay; they return JSON documents.
//!
//! `forebay-wheel` builds the Python module `forebay._native` from this crate.

pub mod command;
pub mod drive;
pub mod env;
mod errors;
pub mod own;
pub mod results;
pub mod runs;
pub mod scenario;
pub mod seen;
pub mod sender;
pub mod table;
mod turn;
mod watch;
