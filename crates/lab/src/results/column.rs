//! Quantities of a recorded time series over a time span: of the queue, or of an internal variable of a discipline
//! (probe) such as `red_tail.q2`. Each is an expression such as `mean(queue)@50..150`.

use crate::figures::class_column::growth_per_s;
use crate::results::metrics;
use crate::results::record::{RunRecord, SeriesRecord};

/// `mean(COLUMN)`, `std(COLUMN)`, `growth(COLUMN)`, `share(COLUMN; LO..HI)` or `rate_std(COLUMN; SECONDS)`. `COLUMN` is
/// `queue` or the name of a probe. The suffix `@a..b` is a time span in seconds; the default is the complete run.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// `queue`, in packets, or a probe.
    name: String,
    asked: Asked,
    span: Option<(f64, f64)>,
}

/// Which number is computed from the values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Mean,
    Std,
    /// Last value minus the first.
    Growth,
    /// Fraction of the values in this range.
    Share(f64, f64),
    /// Standard deviation of a counter's growth per second, over intervals of this many seconds.
    RateStd(f64),
}

impl Column {
    /// Reads an expression as in [`Column`]; `None` if the text has another form.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let (call, span) = match text.split_once(")@") {
            Some((call, span)) => (Some(call), Some(metrics::parse_span(span)?)),
            None => (text.strip_suffix(')'), None),
        };
        let Some((word, inside)) = call.and_then(|call| call.split_once('(')) else { return Ok(None) };
        let (name, band) = inside.split_once(';').unwrap_or((inside, ""));
        let asked = match (word, band.trim()) {
            ("mean", "") => Asked::Mean,
            ("std", "") => Asked::Std,
            ("growth", "") => Asked::Growth,
            ("share", band) => {
                let (lo, hi) = metrics::parse_span(band)?;
                Asked::Share(lo, hi)
            }
            ("rate_std", over) => {
                let over = over.parse().ok().filter(|over: &f64| *over > 0.0);
                Asked::RateStd(over.ok_or_else(|| format!("'{text}': rate_std needs an interval in seconds"))?)
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { name: name.trim().to_string(), asked, span }))
    }

    /// Name of the series.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The value in `run`; NaN if the series was not recorded or has no value in the span.
    pub fn of(&self, run: &RunRecord) -> f64 {
        let (from, to) = self.span.unwrap_or((0.0, run.duration_s));
        self.asked.of(&self.values(&run.series, from, to))
    }

    fn values(&self, series: &SeriesRecord, from: f64, to: f64) -> Vec<f64> {
        let rows = known(series, &self.name);
        let rates = match self.asked {
            Asked::RateStd(over) => growth_per_s(&rows, over),
            _ => rows,
        };
        rates.into_iter().filter(|(time, _)| *time > from && *time <= to).filter_map(|(_, value)| value).collect()
    }
}

/// Times and values of the series `name`; empty if it was not recorded.
fn known(series: &SeriesRecord, name: &str) -> Vec<(f64, Option<f64>)> {
    let times = series.time_s.iter().copied();
    if name == "queue" {
        return times.zip(series.queue_pkts.iter().map(|queue| Some(*queue))).collect();
    }
    let column = series.probes.iter().find(|(probe, _)| probe == name).map_or(&[][..], |(_, column)| column);
    times.zip(column.iter().copied()).collect()
}

impl Asked {
    fn of(self, values: &[f64]) -> f64 {
        let (Some(first), Some(last)) = (values.first(), values.last()) else { return f64::NAN };
        let mean = |of: &dyn Fn(f64) -> f64| values.iter().map(|x| of(*x)).sum::<f64>() / values.len() as f64;
        let centre = mean(&|x| x);
        match self {
            Self::Mean => centre,
            Self::Std | Self::RateStd(_) => mean(&|x| (x - centre) * (x - centre)).sqrt(),
            Self::Growth => last - first,
            Self::Share(lo, hi) => mean(&|x| f64::from((lo..=hi).contains(&x))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> SeriesRecord {
        SeriesRecord {
            time_s: vec![1.0, 2.0, 3.0, 4.0],
            queue_pkts: vec![100.0, 10.0, 14.0, 50.0],
            queue_mean_pkts: Vec::new(),
            probes: vec![("red_tail.q2".into(), vec![Some(5.0), None, Some(7.0), Some(12.0)])],
        }
    }

    fn value(text: &str) -> f64 {
        let column = Column::parse(text).unwrap().unwrap();
        let (from, to) = column.span.unwrap_or((0.0, 4.0));
        column.asked.of(&column.values(&series(), from, to))
    }

    #[test]
    fn quantities_of_time_series_match_hand_calculation() {
        assert_eq!(value("mean(queue)@1..3"), 12.0);
        assert_eq!(value("std(queue)@1..3"), 2.0);
        assert_eq!(value("share(queue; 10..50)"), 0.75);
        assert_eq!(value("growth(red_tail.q2)"), 7.0);
        assert_eq!(value("mean(red_tail.q2)"), 8.0, "what is not known does not count");
        // From 5 at 1 s to 7 at 3 s and 12 at 4 s; values before the span are ignored.
        assert_eq!(value("rate_std(red_tail.q2; 1)@1..4"), 2.0);
        assert!(value("mean(red_tail.q2)@1..2").is_nan() && value("mean(pi.p)").is_nan());
    }

    #[test]
    fn malformed_expressions_fail_and_other_quantities_give_none() {
        for other in ["mean_pkts@1..2", "jain(class.0-1.goodput_bps)", "loss_ratio", "mean(queue; 1..2)"] {
            assert_eq!(Column::parse(other), Ok(None), "{other}");
        }
        for bad in ["share(queue)", "rate_std(queue)", "rate_std(queue; -1)", "share(queue; 5..1)", "mean(queue)@x"] {
            assert!(Column::parse(bad).is_err(), "{bad}");
        }
    }
}
