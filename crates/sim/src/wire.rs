//! The wires of links.

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;

use crate::loss::Losses;
use crate::meter::Window;
use crate::network::LinkSpec;
use crate::pace::Pace;

/// What the wire of some links does beside sending at a fixed rate. Others pay a pointer for it.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    /// Which packets it loses.
    pub losses: Option<Losses>,
    /// When it sends, if not all the time alike.
    pub pace: Option<Pace>,
    /// How many it has lost, in the whole run.
    pub lost: u64,
}

impl Wire {
    /// The wire of the link that `spec` describes, if it does anything beside.
    pub(crate) fn of(spec: &LinkSpec, seed: u64, window: Window) -> Option<Box<Self>> {
        let losses =
            spec.conditions.loss.map(|model| Losses::new(model, Rng::stream(seed, &format!("loss/{}", spec.name))));
        let drawn = spec.conditions.levels.as_ref().map(|levels| {
            let rng = Rng::stream(seed, &format!("rate/{}", spec.name));
            Arc::new(levels.draw(rng, Instant::from_nanos(window.to)))
        });
        let pace = drawn.or_else(|| spec.conditions.schedule.clone()).map(|schedule| Pace::new(schedule, window));
        (losses.is_some() || pace.is_some()).then(|| Box::new(Self { losses, pace, lost: 0 }))
    }
}
