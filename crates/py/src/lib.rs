//! Forebay for Python: what the package in `python/forebay` stands on.
//!
//! [`scenario`] reads files, [`runs`] runs them under [`watch`], which listens for Ctrl-C; [`results`] and [`table`] hand
//! out what was found. [`drive`] is a discipline by itself, [`own`] a discipline written in Python, [`env`] many
//! simulations stepped side by side; [`turn`] lets one call at a time use either. Everything else is a command of the laboratory,
//! whose document [`command`] gives. `forebay-wheel` puts all of it into the module `forebay._native`.

pub mod command;
pub mod drive;
pub mod env;
mod errors;
pub mod own;
pub mod results;
pub mod runs;
pub mod scenario;
pub mod seen;
pub mod table;
mod turn;
mod watch;
