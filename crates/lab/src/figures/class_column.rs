//! Recorded time series of a service class, such as `class.1.dropped_pkts` in `[report] series`.

use forebay_sim::over_time::{Service, Tally};

/// Quantities of a class by name: counters since the start of the run, and the sojourn time since the previous row.
pub const FIELDS: [&str; 5] = ["offered_pkts", "dropped_pkts", "delivered_pkts", "delivered_bytes", "sojourn_ms"];

/// A time series of one service class at a link whose results are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassColumn {
    /// Number of the service class.
    pub class: u8,
    /// Name of the quantity, one of [`FIELDS`].
    field: &'static str,
}

impl ClassColumn {
    /// Reads `class.N.FIELD`; `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (class, field) = text.strip_prefix("class.")?.split_once('.')?;
        let class = class.parse().ok().filter(|n: &u8| n.to_string() == class)?;
        Some(Self { class, field: FIELDS.into_iter().find(|known| *known == field)? })
    }

    /// What the counter counts, and the unit of its growth. `None` for the sojourn time, which is not a counter.
    pub fn counts(&self) -> Option<(&'static str, &'static str)> {
        self.field.rsplit_once('_').filter(|_| self.field != "sojourn_ms").map(|(what, unit)| match unit {
            "pkts" => (what, "packets/s"),
            _ => (what, "bytes/s"),
        })
    }

    /// Values by row. Only the sojourn time can be `None`: in rows without delivered packets.
    pub fn values(&self, rows: &[Tally]) -> Vec<Option<f64>> {
        let count: fn(&Tally) -> u64 = match self.field {
            "offered_pkts" => |row| u64::from(row.offered),
            "dropped_pkts" => |row| u64::from(row.dropped),
            "delivered_pkts" => |row| u64::from(row.served.pkts),
            "delivered_bytes" => |row| row.served.bytes,
            _ => return rows.iter().map(|row| wait_ms(&row.served)).collect(),
        };
        let mut sum = 0;
        let so_far = |row| {
            sum += count(row);
            Some(sum as f64)
        };
        rows.iter().map(so_far).collect()
    }
}

/// Mean sojourn time of the packets that left, in milliseconds, rounded to microseconds.
pub fn wait_ms(row: &Service) -> Option<f64> {
    let mean_us = row.sojourn.nanos() as f64 * 1e-3 / f64::from(row.pkts);
    (row.pkts > 0).then(|| mean_us.round() * 1e-3)
}

/// Tolerance in seconds when times are compared. Recorded times are rounded to microseconds.
const SLACK_S: f64 = 1e-5;

/// Growth per second of a counter that starts at 0, at the end of each interval. A row is a time (s) and a count.
/// An interval ends at the first row at or after a multiple of `over` seconds; the next one starts there.
pub fn growth_per_s(rows: &[(f64, Option<f64>)], over: f64) -> Vec<(f64, Option<f64>)> {
    let (mut from, mut had, mut due) = (0.0, 0.0, over);
    let span = |&(time, value): &(f64, Option<f64>)| {
        let value = value?;
        if time + SLACK_S < due {
            return None;
        }
        let growth = (value - had) / (time - from);
        (from, had, due) = (time, value, (((time + SLACK_S) / over).floor() + 1.0) * over);
        Some((time, Some(growth)))
    };
    rows.iter().filter_map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::base::time::Span;

    /// The growth of a counter is computed from its values at the ends of intervals of at least the given length, a
    /// second in the first two checks.
    #[test]
    fn counter_growth_covers_complete_intervals() {
        let rows = [(0.5, Some(2.0)), (1.0, Some(3.0)), (1.5, None), (2.0, Some(3.0)), (2.5, Some(9.0))];
        assert_eq!(growth_per_s(&rows, 1.0), [(1.0, Some(3.0)), (2.0, Some(0.0))]);
        let late = [(0.6, Some(1.0)), (1.2, Some(3.0)), (1.8, Some(4.0)), (2.4, Some(9.0))];
        assert_eq!(growth_per_s(&late, 1.0).iter().map(|(time, _)| *time).collect::<Vec<_>>(), [1.2, 2.4]);
        assert_eq!(growth_per_s(&rows, 0.1)[3], (2.5, Some(12.0)));
        assert_eq!(growth_per_s(&[(1.0, Some(5.0))], 1.0), [(1.0, Some(5.0))], "counters begin at 0");
    }

    /// A counter has the packets or bytes since the start of the run. The sojourn time is the mean since the previous
    /// row.
    #[test]
    fn counters_accumulate_and_sojourn_time_covers_one_interval() {
        let served = |pkts| Service { pkts, bytes: 1000, sojourn: Span::from_millis(5) };
        let row = |pkts| Tally { offered: 3, dropped: 1, served: served(pkts) };
        let rows = [row(2), Tally::default(), row(4)];
        let of = |field: &str| ClassColumn::parse(&format!("class.7.{field}")).unwrap().values(&rows);
        assert_eq!(of("offered_pkts"), [3.0, 3.0, 6.0].map(Some));
        assert_eq!(of("dropped_pkts"), [1.0, 1.0, 2.0].map(Some));
        assert_eq!(of("delivered_pkts"), [2.0, 2.0, 6.0].map(Some));
        assert_eq!(of("delivered_bytes"), [1000.0, 1000.0, 2000.0].map(Some));
        assert_eq!(of("sojourn_ms"), [Some(2.5), None, Some(1.25)]);
    }

    #[test]
    fn names_of_class_series_are_parsed() {
        let counts = |text: &str| ClassColumn::parse(text).unwrap().counts();
        assert_eq!(counts("class.0.dropped_pkts"), Some(("dropped", "packets/s")));
        assert_eq!(counts("class.255.delivered_bytes"), Some(("delivered", "bytes/s")));
        assert_eq!(counts("class.3.sojourn_ms"), None);
        for bad in ["class.1", "class.1.loss_ratio", "class.256.offered_pkts", "class.01.offered_pkts", "raqm.p"] {
            assert_eq!(ClassColumn::parse(bad), None, "{bad}");
        }
    }
}
