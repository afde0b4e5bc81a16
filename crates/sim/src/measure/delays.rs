//! End-to-end delay, jitter and completion times by class.

use forebay_aqm::base::time::Span;

use crate::measure::histogram::Histogram;
use crate::measure::outcome::EndToEnd;

/// Indexed by class, up to the highest class seen.
#[derive(Default)]
pub(crate) struct Delays(Vec<ClassDelay>);

#[derive(Default)]
struct ClassDelay {
    owd: Histogram,
    completion: Histogram,
    jitter_sum: Span,
    jitter_n: u64,
}

impl Delays {
    /// A packet of `class` had this one-way `delay`. `last`: the delay of its flow's previous packet, updated to this
    /// one.
    #[inline]
    pub(crate) fn note(&mut self, class: u8, delay: Span, last: &mut Option<Span>) {
        let entry = self.of(class);
        entry.owd.add(delay);
        if let Some(last) = *last {
            entry.jitter_sum = entry.jitter_sum + delay.abs_diff(last);
            entry.jitter_n += 1;
        }
        *last = Some(delay);
    }

    /// A file of `class` took the time `took` to arrive.
    pub(crate) fn completed(&mut self, class: u8, took: Span) {
        self.of(class).completion.add(took);
    }

    #[inline]
    fn of(&mut self, class: u8) -> &mut ClassDelay {
        let class = usize::from(class);
        if class >= self.0.len() {
            self.0.resize_with(class + 1, ClassDelay::default);
        }
        &mut self.0[class]
    }

    /// Results of the classes that carried data.
    pub(crate) fn outcomes(&self) -> Vec<EndToEnd> {
        let seen = self.0.iter().enumerate().filter(|(_, class)| class.owd.count() > 0);
        seen.map(|(class, d)| EndToEnd {
            class: class as u8,
            completion_s: d.completion.summary().map(|s| s.scaled(1e-9)),
            files: d.completion.count(),
            owd_s: d.owd.summary().map(|s| s.scaled(1e-9)),
            jitter_s: (d.jitter_n > 0).then(|| d.jitter_sum.nanos() as f64 * 1e-9 / d.jitter_n as f64),
        })
        .collect()
    }
}
