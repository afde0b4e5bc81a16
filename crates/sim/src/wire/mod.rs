//! What happens on a link's wire: random losses, and a rate or a delay that varies over time.

pub mod delay;
pub mod levels;
pub mod loss;
pub mod pace;
pub mod schedule;

use std::sync::Arc;

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::time::{Instant, Span};

use crate::measure::meter::Window;
use delay::{DelayModel, Delays};
use levels::Levels;
use loss::{LossModel, Losses};
use pace::Pace;
use schedule::Schedule;

/// Losses, variable rate and variable delay of a wire. Default: no losses, constant rate and delay.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Conditions {
    /// Loss of packets after transmission.
    pub loss: Option<LossModel>,
    /// Variable rate; disciplines still see the link's constant `rate`.
    pub schedule: Option<Arc<Schedule>>,
    /// Random rates instead of a schedule, drawn per link.
    pub levels: Option<Levels>,
    /// Variable delay.
    pub delay: DelayModel,
}

impl Conditions {
    /// The losses of the link with this name in the run with this seed.
    pub fn losses(&self, name: &str, seed: u64) -> Option<Losses> {
        self.loss.map(|model| Losses::new(model, Rng::stream(seed, &format!("loss/{name}"))))
    }

    /// The rates of the link with this name in the run with this seed, which ends at `end`; `None`: constant.
    pub fn drawn_rates(&self, name: &str, seed: u64, end: Instant) -> Option<Arc<Schedule>> {
        let drawn = self.levels.as_ref().map(|levels| {
            let rng = Rng::stream(seed, &format!("rate/{name}"));
            Arc::new(levels.draw(rng, end))
        });
        drawn.or_else(|| self.schedule.clone())
    }
}

/// Losses, variable rate and variable delay at run time. Boxed, because most links have none.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    /// Loss process; `None`: the wire loses no packets.
    pub losses: Option<Losses>,
    /// Position in the schedule, for a variable rate.
    pub pace: Option<Pace>,
    /// The delays; `None`: constant.
    pub delays: Option<Delays>,
    /// Packets lost in the complete run.
    pub lost: u64,
}

impl Wire {
    /// The wire of the link with this name; `None` if `conditions` are the default.
    pub(crate) fn new(conditions: &Conditions, name: &str, seed: u64, window: Window) -> Option<Box<Self>> {
        let losses = conditions.losses(name, seed);
        let pace = conditions.drawn_rates(name, seed, window.to).map(|schedule| Pace::new(schedule, window));
        let draws = || Delays::new(conditions.delay.clone(), Rng::stream(seed, &format!("delay/{name}")));
        let delays = (!conditions.delay.is_constant()).then(draws);
        let varies = losses.is_some() || pace.is_some() || delays.is_some();
        varies.then(|| Box::new(Self { losses, pace, delays, lost: 0 }))
    }

    /// When a packet whose transmission ends at `end` arrives; `delay`: the link's constant delay.
    pub(crate) fn arrival(&mut self, end: Instant, delay: Span) -> Instant {
        self.delays.as_mut().map_or_else(|| end.plus(delay), |delays| delays.arrival(end, delay))
    }
}
