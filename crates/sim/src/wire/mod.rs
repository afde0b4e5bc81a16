//! The wires of links: what they do beside sending at a constant rate.

pub mod levels;
pub mod loss;
pub mod pace;
pub mod schedule;

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;

use crate::measure::meter::Window;
use levels::Levels;
use loss::{LossModel, Losses};
use pace::Pace;
use schedule::Schedule;

/// What the wire of a link does beside sending at its rate. By default nothing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Conditions {
    /// Losses of packets that it has sent.
    pub loss: Option<LossModel>,
    /// When it sends how much, if that changes; disciplines are told its rate all the same.
    pub schedule: Option<Arc<Schedule>>,
    /// A rate drawn by lot in place of a schedule, for each link by itself.
    pub levels: Option<Levels>,
}

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
    /// The wire of the link of this name, if its `conditions` ask for anything.
    pub(crate) fn new(conditions: &Conditions, name: &str, seed: u64, window: Window) -> Option<Box<Self>> {
        let losses = conditions.loss.map(|model| Losses::new(model, Rng::stream(seed, &format!("loss/{name}"))));
        let drawn = conditions.levels.as_ref().map(|levels| {
            let rng = Rng::stream(seed, &format!("rate/{name}"));
            Arc::new(levels.draw(rng, window.to))
        });
        let pace = drawn.or_else(|| conditions.schedule.clone()).map(|schedule| Pace::new(schedule, window));
        (losses.is_some() || pace.is_some()).then(|| Box::new(Self { losses, pace, lost: 0 }))
    }
}
