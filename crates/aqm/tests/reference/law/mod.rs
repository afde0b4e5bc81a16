//! Listings of control laws.

mod aaqm;
mod msc;
mod pi;
mod raqm;
mod rem;
