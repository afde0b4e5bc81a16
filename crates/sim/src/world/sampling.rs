//! Measurement events: the end of the warm-up, rows of time series, and the outcome of the run.

use std::collections::BTreeSet;

use forebay_aqm::base::time::{Instant, Span};

use super::World;
use crate::link::Link;
use crate::measure::bundles::Bundles;
use crate::measure::outcome::{LinkOutcome, Outcome, Series};
use crate::network::{LinkId, Network};

/// A link under study.
struct Studied {
    id: LinkId,
    name: String,
    series: Series,
}

/// Time series of the links under study.
pub(super) struct Sampling {
    /// Time between rows.
    pub(super) every: Span,
    studied: Vec<Studied>,
    bundles: Bundles,
    /// For each link under study, the bundles (groups of flows that are measured together) whose data crosses it.
    across: Vec<BTreeSet<u8>>,
}

impl Sampling {
    /// Time series without rows.
    pub(super) fn new(net: &Network) -> Self {
        let studied = net.links.iter().enumerate().filter(|(_, link)| link.lane.study);
        let studied =
            studied.map(|(id, link)| Studied { id, name: link.name.clone(), series: Series::new(link.probes()) });
        Self { every: net.sample, studied: studied.collect(), bundles: net.bundles(), across: net.bundles_across() }
    }
}

impl World {
    /// Begins the measurement window at the end of the warm-up.
    pub(super) fn window_event(&mut self) {
        self.agenda.set(self.sources.window(), None);
        for flow in &mut self.ends.flows {
            flow.before_window.get_or_insert(flow.received());
        }
    }

    /// A row of the time series is due.
    pub(super) fn sample_event(&mut self) {
        let next = self.now + self.sampling.every;
        self.agenda.set(self.sources.sampler(), (next <= self.window.to).then_some(next));
        for studied in &mut self.sampling.studied {
            let link = &mut self.fabric.links[studied.id];
            link.settle(self.now);
            link.look(self.now, self.now, &mut studied.series);
        }
        self.tracking.look(self.now, &self.ends.flows);
    }

    /// Ends the run and returns its outcome.
    pub(super) fn finish(mut self) -> Outcome {
        let end = self.window.to;
        for link in &mut self.fabric.links {
            link.settle(end);
            if let Some(meter) = &mut link.meter {
                meter.close(end);
            }
            debug_assert_eq!(link.check(), Ok(()));
        }
        let rows = self.window.to.since(Instant::ZERO).nanos() / self.sampling.every.nanos().max(1);
        let fabric = &self.fabric;
        let dropped: u64 = fabric.links.iter().map(|link| link.dropped).sum();
        let lost: u64 = fabric.links.iter().map(Link::lost).sum();
        let queued = fabric.managed().iter().map(|&link| fabric.links[link].queued() as u64).sum();
        let on_the_way = fabric.pipes.iter().map(|pipe| pipe.len() as u64).sum();
        self.record.counters.balance(dropped + lost, queued, on_the_way, self.ends.blocks.len());
        // Some arrivals are computed ahead of time.
        self.ends.completions.sort_by_key(|file| (file.at, file.flow));
        Outcome {
            links: self.link_outcomes(),
            flows: self.ends.flows.iter().map(|flow| flow.outcome(self.window)).collect(),
            classes: self.ends.delays.of_classes(&self.sampling.bundles),
            bundles: self.ends.delays.of_bundles(),
            all: self.sampling.across.iter().map(|bundles| self.ends.delays.of_all(bundles)).collect(),
            completions: core::mem::take(&mut self.ends.completions),
            tracks: self.tracking.tracks.finish(rows as usize, self.sampling.every),
            events: self.record.events,
            fingerprint: self.record.fingerprint,
        }
    }

    fn link_outcomes(&mut self) -> Vec<LinkOutcome> {
        let studied = core::mem::take(&mut self.sampling.studied).into_iter();
        let bundles = &self.sampling.bundles;
        studied
            .filter_map(|Studied { id, name, series }| self.fabric.links[id].outcome(bundles, name, series))
            .collect()
    }
}
