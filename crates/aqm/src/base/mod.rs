//! What every discipline uses, in four folders. Each folder uses only those before it: `value`, `traits`, `declare`,
//! `build`.

mod build;
mod declare;
mod traits;
mod value;

pub mod prelude;

pub use build::{adapters, host, own, registry};
pub use declare::{accepted, common, design, markers, params, settings, tc, threshold};
pub use traits::{cx, discipline, port, verdict};
pub use value::{dscp, nearest, packet, rng, text, time, units};
