//! A link under study that is observed, not simulated: another program reports what happens to its packets, in order of
//! time. The results are those of a simulated link.

use forebay_aqm::base::design::ProbeSpec;
use forebay_aqm::base::packet::Colour;
use forebay_aqm::base::time::{Instant, Span};

use super::bundles::Bundles;
use super::meter::{Loss, Meter, Window};
use super::outcome::{LinkOutcome, Series};
use super::over_time::OverTime;

/// The measurements of an observed link. All times are since the start of the run.
pub struct ObservedLink {
    meter: Meter,
    bundles: Bundles,
    series: Series,
    sample: Span,
    /// Time of the next row of the time series.
    next: Instant,
    /// End of the last transmission that has begun.
    sending: Instant,
}

/// When a link is measured.
#[derive(Clone, Debug)]
pub struct Schedule<'a> {
    /// Time at the start of the run that is not measured.
    pub warmup: Span,
    /// Duration of the run.
    pub duration: Span,
    /// Time between rows of the time series.
    pub sample: Span,
    /// Service classes whose packets the time series count.
    pub classes: &'a [u8],
}

impl ObservedLink {
    /// A link without packets. `probes`: the internal variables of its discipline.
    pub fn new(schedule: &Schedule<'_>, probes: &[ProbeSpec], bundles: &Bundles) -> Self {
        let Schedule { warmup, duration, sample, classes } = *schedule;
        let sample = sample.max(Span::from_nanos(1));
        let over_time = (!classes.is_empty()).then(|| OverTime::new(classes, bundles.clone(), duration, sample));
        Self {
            meter: Meter::new(Window::new(warmup, duration), sample, over_time),
            bundles: bundles.clone(),
            series: Series::new(probes),
            sample,
            next: Instant::ZERO + sample,
            sending: Instant::ZERO,
        }
    }

    /// Adds the rows of the time series before `now`.
    fn advance(&mut self, now: Instant) {
        while self.next < now {
            let (queue, mean) = self.meter.look(self.next);
            self.series.time_s.push(self.next.nanos() as f64 * 1e-9);
            self.series.queue_pkts.push(f64::from(queue));
            self.series.queue_mean_pkts.push(mean);
            self.next += self.sample;
        }
    }

    /// A packet of `bundle` arrives.
    pub fn offer(&mut self, now: Instant, bundle: u8) {
        self.advance(now);
        self.meter.offer(now, (bundle, Colour::In));
    }

    /// `pkts` packets wait from now on.
    pub fn queue_is(&mut self, now: Instant, pkts: u32) {
        self.advance(now);
        self.meter.queue_is(now, pkts);
    }

    /// A packet is dropped.
    pub fn lose(&mut self, now: Instant, bundle: u8, loss: Loss) {
        self.advance(now);
        self.meter.lose(now, (bundle, Colour::In), loss);
    }

    /// A packet leaves the queue with a mark that it did not have at its arrival.
    pub fn mark(&mut self, now: Instant, bundle: u8) {
        self.advance(now);
        self.meter.mark(now, bundle);
    }

    /// The transmission of a packet of `len` bytes begins, which takes the time `busy`. It waited for `sojourn`.
    pub fn serve(&mut self, now: Instant, bundle: u8, (len, busy): (u16, Span), sojourn: Span) {
        self.advance(now);
        self.sending = now.plus(busy);
        self.meter.serve(now, (len, busy), sojourn, (bundle, Colour::In));
    }

    /// The values of the internal variables at the next sampling time, one call for each sampling time.
    pub fn probes(&mut self, values: &[f64]) {
        for ((_, column), value) in self.series.probes.iter_mut().zip(values) {
            column.push(*value);
        }
    }

    /// Ends the measurement. `utilisation` replaces the measured one on a link with a variable rate. Rows without values
    /// of internal variables get NaN.
    pub fn finish(mut self, name: &str, end: Instant, utilisation: Option<f64>) -> LinkOutcome {
        self.advance(end.plus(Span::from_nanos(1)));
        self.meter.end(end, self.sending);
        let rows = self.series.time_s.len();
        self.series.probes.iter_mut().for_each(|(_, column)| column.resize(rows, f64::NAN));
        LinkOutcome::of(&self.meter, &self.bundles, utilisation, name.to_string(), self.series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observed_packets_give_results_of_simulated_ones() {
        let at = Instant::from_nanos;
        let span = Span::from_nanos;
        let schedule = Schedule { warmup: span(0), duration: span(100), sample: span(50), classes: &[] };
        let mut link = ObservedLink::new(&schedule, &[], &Bundles::classes());
        link.offer(at(10), 0);
        link.queue_is(at(10), 1);
        link.serve(at(20), 0, (1000, span(40)), span(10));
        link.queue_is(at(20), 0);
        link.offer(at(70), 0);
        link.lose(at(70), 0, Loss::Overflow);
        let found = link.finish("b", at(100), None);
        assert_eq!((found.offered_pkts, found.delivered_pkts, found.dropped_overflow), (2, 1, 1));
        assert!((found.utilisation - 0.4).abs() < 1e-12);
        assert!((found.queue_pkts.mean - 0.1).abs() < 1e-12);
        assert_eq!(found.series.queue_mean_pkts, [0.2, 0.0]);
    }
}
