//! The imports for a custom discipline: `use forebay_aqm::base::prelude::*;`.

pub use super::cx::Cx;
pub use super::design::{About, Design, Preset, Probes};
pub use super::discipline::{Actuation, Aqm, Discipline, Law, Sample};
pub use super::own::Own;
pub use super::packet::Packet;
pub use super::params::Auto;
pub use super::port::{Level, MAIN, Port};
pub use super::time::{Instant, Span};
pub use super::units::{Bytes, Depth, Link, Rate};
pub use super::verdict::{Fate, Verdict};
pub use crate::{choice, params, probes};
