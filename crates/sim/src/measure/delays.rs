//! End-to-end delay, jitter, round-trip and completion times by bundle, a group of flows that are measured together.

use std::collections::{BTreeMap, BTreeSet};

use forebay_aqm::base::time::Span;

use crate::measure::bundles::Bundles;
use crate::measure::histogram::Histogram;
use crate::measure::outcome::{BundleEnds, EndToEnd};

/// Measurements of each bundle. The index is the number of the bundle. The last one is the highest bundle seen.
#[derive(Default)]
pub struct Delays(Vec<Ends>);

#[derive(Default)]
struct Ends {
    owd: Histogram,
    rtt: Histogram,
    completion: Histogram,
    jitter_sum: Span,
    jitter_n: u64,
}

impl Ends {
    fn absorb(&mut self, other: &Self) {
        self.owd.absorb(&other.owd);
        self.rtt.absorb(&other.rtt);
        self.completion.absorb(&other.completion);
        self.jitter_sum = self.jitter_sum + other.jitter_sum;
        self.jitter_n += other.jitter_n;
    }

    /// Mean difference between the delays of consecutive packets of a flow, in seconds.
    fn jitter_s(&self) -> Option<f64> {
        (self.jitter_n > 0).then(|| self.jitter_sum.nanos() as f64 * 1e-9 / self.jitter_n as f64)
    }

    fn outcome(&self, bundle: u8) -> BundleEnds {
        let seconds = |of: &Histogram| of.summary().map(|s| s.scaled(1e-9));
        BundleEnds {
            bundle,
            rtt_s: seconds(&self.rtt),
            trimmed_rtt_s: self.rtt.mean_of_shortest(0.95).map(|ns| ns * 1e-9),
            owd_s: seconds(&self.owd).map(|delay| delay.mean),
            jitter_s: self.jitter_s(),
            files: self.completion.count(),
            completion_s: seconds(&self.completion),
        }
    }
}

impl Delays {
    /// Counts the one-way `delay` of a packet of `bundle`, and its difference from `last`, the delay of the flow's
    /// previous packet. Sets `last` to `delay`.
    #[inline]
    pub fn note(&mut self, bundle: u8, delay: Span, last: &mut Option<Span>) {
        let entry = self.of(bundle);
        entry.owd.add(delay);
        if let Some(last) = *last {
            entry.jitter_sum = entry.jitter_sum + delay.abs_diff(last);
            entry.jitter_n += 1;
        }
        *last = Some(delay);
    }

    /// A sender of `bundle` measured this round-trip time.
    pub fn round_trip(&mut self, bundle: u8, rtt: Span) {
        self.of(bundle).rtt.add(rtt);
    }

    /// A file of `bundle` took the time `took` to arrive.
    pub fn completed(&mut self, bundle: u8, took: Span) {
        self.of(bundle).completion.add(took);
    }

    #[inline]
    fn of(&mut self, bundle: u8) -> &mut Ends {
        let bundle = usize::from(bundle);
        if bundle >= self.0.len() {
            self.0.resize_with(bundle + 1, Ends::default);
        }
        &mut self.0[bundle]
    }

    /// The bundles that carried data.
    fn seen(&self) -> impl Iterator<Item = (u8, &Ends)> {
        self.0.iter().enumerate().filter(|(_, ends)| ends.owd.count() > 0).map(|(bundle, ends)| (bundle as u8, ends))
    }

    /// Results of the bundles that carried data.
    pub fn of_bundles(&self) -> Vec<BundleEnds> {
        self.seen().map(|(bundle, ends)| ends.outcome(bundle)).collect()
    }

    /// Results of all `bundles` together. The field `bundle` of the result is 0.
    pub fn of_all(&self, bundles: &BTreeSet<u8>) -> BundleEnds {
        let mut all = Ends::default();
        self.seen().filter(|(bundle, _)| bundles.contains(bundle)).for_each(|(_, ends)| all.absorb(ends));
        all.outcome(0)
    }

    /// Results of the service classes that carried data.
    pub fn of_classes(&self, bundles: &Bundles) -> Vec<EndToEnd> {
        let mut classes: BTreeMap<u8, Ends> = BTreeMap::new();
        for (bundle, ends) in self.seen() {
            classes.entry(bundles.class(bundle)).or_default().absorb(ends);
        }
        let class = |(class, d): (u8, Ends)| EndToEnd {
            class,
            completion_s: d.completion.summary().map(|s| s.scaled(1e-9)),
            files: d.completion.count(),
            owd_s: d.owd.summary().map(|s| s.scaled(1e-9)),
            jitter_s: d.jitter_s(),
        };
        classes.into_iter().map(class).collect()
    }
}
