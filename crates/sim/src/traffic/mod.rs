//! Traffic of flows: packet sources, applications on a connection, and video.

pub mod app;
pub(crate) mod arrived;
pub(crate) mod call;
pub mod draw;
pub(crate) mod encoder;
pub(crate) mod frames;
pub(crate) mod nada;
pub mod page;
pub mod rtp;
pub(crate) mod session;
pub mod source;
pub mod video;
