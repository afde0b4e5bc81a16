//! Links from their descriptions.

use forebay_aqm::base::rng::Rng;
use forebay_aqm::base::units;

use super::Link;
use crate::meter::{Meter, Window};
use crate::network::LinkSpec;
use crate::over_time::OverTime;
use crate::wire::Wire;

impl Link {
    /// The link that `spec` describes.
    pub(crate) fn of(spec: &LinkSpec, seed: u64, window: Window, over_time: Option<OverTime>) -> Self {
        let meter = spec.study.then(|| Box::new(Meter::new(window, over_time)));
        let wire = Wire::of(spec, seed, window);
        let (rate, delay) = (spec.rate, spec.delay.nanos());
        let Some(discipline) = &spec.discipline else { return Self::plain(rate, delay, spec.limit, meter, wire) };
        let facts = units::Link { rate, limit: spec.limit, mean_packet: spec.mean_packet };
        let rng = Rng::stream(seed, &format!("link/{}", spec.name));
        let queue = discipline.queue(facts, rng);
        Self::managed(rate, delay, queue, meter, wire)
    }
}
