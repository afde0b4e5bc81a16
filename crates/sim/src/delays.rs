//! End-to-end delay and its variation, by class.

use crate::histogram::Histogram;
use crate::outcome::EndToEnd;

/// By class, as far as classes were seen.
#[derive(Default)]
pub(crate) struct Delays(Vec<ClassDelay>);

#[derive(Default)]
struct ClassDelay {
    owd: Histogram,
    completion: Histogram,
    jitter_sum: u64,
    jitter_n: u64,
}

impl Delays {
    /// A packet of `class` took `delay` nanoseconds; `last` is that of its flow's packet before it, or `u64::MAX`,
    /// and becomes this one.
    #[inline]
    pub(crate) fn note(&mut self, class: u8, delay: u64, last: &mut u64) {
        let entry = self.of(class);
        entry.owd.add(delay);
        if *last != u64::MAX {
            entry.jitter_sum += delay.abs_diff(*last);
            entry.jitter_n += 1;
        }
        *last = delay;
    }

    /// A file of `class` took so many nanoseconds to arrive.
    pub(crate) fn completed(&mut self, class: u8, nanos: u64) {
        self.of(class).completion.add(nanos);
    }

    #[inline]
    fn of(&mut self, class: u8) -> &mut ClassDelay {
        let class = usize::from(class);
        if class >= self.0.len() {
            self.0.resize_with(class + 1, ClassDelay::default);
        }
        &mut self.0[class]
    }

    /// Of the classes that carried data.
    pub(crate) fn outcomes(&self) -> Vec<EndToEnd> {
        let seen = self.0.iter().enumerate().filter(|(_, class)| class.owd.count() > 0);
        seen.map(|(class, d)| EndToEnd {
            class: class as u8,
            completion_s: d.completion.summary().map(|s| s.scaled(1e-9)),
            files: d.completion.count(),
            owd_s: d.owd.summary().map(|s| s.scaled(1e-9)),
            jitter_s: (d.jitter_n > 0).then(|| d.jitter_sum as f64 * 1e-9 / d.jitter_n as f64),
        })
        .collect()
    }
}
