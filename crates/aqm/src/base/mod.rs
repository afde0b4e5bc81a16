//! The foundation of all disciplines, in folders from bottom to top: `value`, `traits`, `declare`, `build`.

mod build;
mod declare;
mod traits;
mod value;

pub mod prelude;

pub use build::{adapters, host, own, registry};
pub use declare::{accepted, common, design, markers, params, settings, tc, threshold};
pub use traits::{cx, ladder, port, verdict};
pub use value::{nearest, packet, rng, text, time, units};
