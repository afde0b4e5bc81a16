//! Drop-tail: no opinion; the port drops what does not fit.

use crate::base::design::{About, Design, Preset, Probes};
use crate::base::ladder::Aqm;
use crate::base::tc::{Tail, Tc};
use crate::base::units::Link;
use crate::params;

params! {
    /// Drop-tail has no knobs.
    pub struct Params {}
}

/// Accepts whatever fits.
pub struct DropTail;

impl Design for DropTail {
    type Params = Params;
    const ABOUT: About = About {
        summary: "drop an arrival only when the buffer is full",
        source: "RFC 7567 section 2, as the default to compare with",
        rule: "arrival: if it does not fit: drop, else enqueue",
        deviations: &["ns-2's drop-tail holds one packet less than its limit: compare with queue = limit - 1"],
    };
    const PRESETS: &'static [Preset] =
        &[Preset { name: "ns2", settings: "ecn=off", source: "ns-2.35 drop-tail; give it one packet less" }];
    const TC: Option<Tc> =
        Some(Tc { defaults: "ecn=off hard_limit=1000p", words: &[("limit", Tail::Packets("hard_limit"))] });

    fn build(_: &Params, _: &Link) -> Self {
        Self
    }
}

impl Aqm for DropTail {}
impl Probes for DropTail {}
