//! Transcribed listings of disciplines with one queue, with which tests compare the disciplines.

mod adaptive;
mod avq;
mod blue;
pub(crate) mod cobalt;
pub(crate) mod codel;
mod droptail;
mod fred;
mod msvb;
mod pi2;
pub(crate) mod pie;
pub(crate) mod red;
mod rio;
mod sfb;
mod sio;
mod svb;
