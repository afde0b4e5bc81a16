//! The wires of links, and links from their descriptions.

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::Instant;
use forebay_aqm::base::units;

use crate::link::Link;
use crate::loss::Losses;
use crate::meter::{Meter, Window};
use crate::network::LinkSpec;
use crate::over_time::OverTime;
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

/// The link that `spec` describes.
pub(crate) fn link(spec: &LinkSpec, seed: u64, window: Window, over_time: Option<OverTime>) -> Link {
    let meter = spec.study.then(|| Box::new(Meter::new(window, over_time)));
    let wire = wire(spec, seed, window);
    let (rate, delay) = (spec.rate, spec.delay.nanos());
    let Some(discipline) = &spec.discipline else { return Link::plain(rate, delay, spec.limit, meter, wire) };
    let facts = units::Link { rate, limit: spec.limit, mean_packet: spec.mean_packet };
    let rng = Rng::stream(seed, &format!("link/{}", spec.name));
    let queue = discipline.queue(facts, rng);
    Link::managed(rate, delay, queue, meter, wire)
}

fn wire(spec: &LinkSpec, seed: u64, window: Window) -> Option<Box<Wire>> {
    let losses =
        spec.conditions.loss.map(|model| Losses::new(model, Rng::stream(seed, &format!("loss/{}", spec.name))));
    let drawn = spec.conditions.levels.as_ref().map(|levels| {
        let rng = Rng::stream(seed, &format!("rate/{}", spec.name));
        Arc::new(levels.draw(rng, Instant::from_nanos(window.to)))
    });
    let pace = drawn.or_else(|| spec.conditions.schedule.clone()).map(|schedule| Pace::new(schedule, window));
    (losses.is_some() || pace.is_some()).then(|| Box::new(Wire { losses, pace, lost: 0 }))
}
