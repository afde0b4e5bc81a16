//! Transcribed listings of control laws, with which tests compare the disciplines.

mod aaqm;
mod msc;
mod pi;
mod raqm;
mod rem;
