//! The time in which a queue of `dq_threshold` bytes drains: RFC 8033 section 4.3, `estimate_rate` of Appendix B.

use crate::reference::harness::*;

#[derive(Default)]
pub(crate) struct DrainTime {
    pub(crate) in_measurement: bool,
    pub(crate) measurement_start: u64,
    pub(crate) dq_count: u64,
    /// Seconds; 0: unknown.
    pub(crate) avg_dq_time: f64,
}

impl DrainTime {
    /// `size` bytes have left, and `waiting` remain. Returns the duration in nanoseconds of a measurement that ends
    /// with it.
    pub(crate) fn process(
        &mut self,
        size: u32,
        waiting: u64,
        dq_threshold: u64,
        now: u64,
        seen: &mut Seen,
    ) -> Option<u64> {
        let mut took = None;
        if self.in_measurement {
            self.dq_count += u64::from(size);
            if self.dq_count >= dq_threshold {
                let dtime = now - self.measurement_start;
                let dq_time = dtime as f64 / SECOND;
                if self.avg_dq_time == 0.0 {
                    self.avg_dq_time = dq_time;
                } else {
                    seen.note("departure rate averaged", true);
                    let weight = dq_threshold as f64 / 65536.0;
                    self.avg_dq_time = dq_time * weight + self.avg_dq_time * (1.0 - weight);
                }
                self.in_measurement = false;
                took = Some(dtime);
            }
        }
        if waiting >= dq_threshold && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0;
        }
        took
    }

    /// Seconds in which these bytes drain.
    pub(crate) fn delay(&self, bytes: u64, dq_threshold: u64) -> f64 {
        bytes as f64 * self.avg_dq_time / dq_threshold as f64
    }
}
