//! Recorded time series of chosen flows, such as `ftp.cwnd` or `ftp.0.rtt` in `[report] series`.

use forebay_sim::outcome::TrackRow;

/// Quantities that are recorded of a group of flows, or of one of its flows: name, description, unit, and how values
/// are averaged or counted.
pub const FIELDS: [(&str, &str, &str, &str); 5] = [
    ("cwnd", "congestion window", "packets", "Mean of the senders."),
    ("rtt", "round-trip time", "ms", "Mean of the round trips that senders measured since the previous row."),
    ("rate", "rate", "bit/s", "Bits that reached the receivers since the previous row, headers included."),
    ("delay", "one-way delay", "ms", "Mean of the data packets that arrived since the previous row."),
    (
        "inflight",
        "in flight",
        "packets",
        "Mean of the senders; packets sent, not acknowledged and not considered lost.",
    ),
];

/// A series of a group of flows, or of one of its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowColumn<'a> {
    /// Name of the group.
    pub group: &'a str,
    /// Number of the flow in its group, from 0; `None`: all flows of the group.
    pub flow: Option<usize>,
    /// Index of the quantity in [`FIELDS`].
    field: usize,
}

impl<'a> FlowColumn<'a> {
    /// Reads `GROUP.FIELD` or `GROUP.NUMBER.FIELD` of one of `groups`; `None` if the text has another form.
    pub fn parse(text: &'a str, groups: &[&str]) -> Option<Self> {
        let (owner, field) = text.rsplit_once('.')?;
        let field = FIELDS.iter().position(|(known, ..)| *known == field)?;
        if groups.contains(&owner) {
            return Some(Self { group: owner, flow: None, field });
        }
        let (group, number) = owner.rsplit_once('.')?;
        let flow = number.parse().ok().filter(|n: &usize| n.to_string() == number)?;
        groups.contains(&group).then_some(Self { group, flow: Some(flow), field })
    }

    /// The quantity of the series, its unit, and how its values are averaged or counted.
    pub fn about(&self) -> (&'static str, &'static str, &'static str) {
        let (_, what, unit, how) = FIELDS[self.field];
        (what, unit, how)
    }

    /// Values by row, for rows that end at these times in seconds; `None` without senders, measurements or packets.
    pub fn values(&self, rows: &[TrackRow], times_s: &[f64]) -> Vec<Option<f64>> {
        let value: fn(&TrackRow, f64) -> Option<f64> = match FIELDS[self.field].0 {
            "cwnd" => |row, _| mean(row.cwnd_pkts, row.senders),
            "inflight" => |row, _| mean(row.inflight_pkts as f64, row.senders),
            "rtt" => |row, _| mean(row.rtt.nanos() as f64 * 1e-6, row.rtts),
            "delay" => |row, _| mean(row.delay.nanos() as f64 * 1e-6, row.pkts),
            _ => |row, span_s| Some(row.bytes as f64 * 8.0 / span_s),
        };
        let spans = times_s.iter().scan(0.0, |before, at| Some(at - core::mem::replace(before, *at)));
        rows.iter().zip(spans).map(|(row, span_s)| value(row, span_s).map(thousandths)).collect()
    }
}

/// A mean of `n` values; `None` without values.
fn mean(sum: f64, n: u32) -> Option<f64> {
    (n > 0).then(|| sum / f64::from(n))
}

/// Rounds to thousandths, so that files stay small.
fn thousandths(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::base::time::Span;

    #[test]
    fn series_names_select_a_group_or_one_flow() {
        let groups = ["ftp", "a.1", "pi"];
        let of = |text| FlowColumn::parse(text, &groups).map(|column| (column.group, column.flow));
        assert_eq!(of("ftp.cwnd"), Some(("ftp", None)));
        assert_eq!(of("ftp.12.rtt"), Some(("ftp", Some(12))));
        assert_eq!(of("a.1.rate"), Some(("a.1", None)), "a group whose name ends like a number");
        assert_eq!(of("a.1.0.rate"), Some(("a.1", Some(0))));
        for bad in ["web.cwnd", "ftp.window", "ftp.01.cwnd", "ftp.-1.cwnd", "pi.p", "cwnd"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    /// `cwnd` and `inflight` are means over the senders of a group, `rtt` over the measured round trips, `delay` over
    /// the packets that arrived. `rate` is a number of bits, divided by the time.
    #[test]
    fn cwnd_averages_senders_and_delay_averages_packets() {
        let row = TrackRow {
            senders: 2,
            cwnd_pkts: 30.0,
            inflight_pkts: 25,
            rtts: 4,
            rtt: Span::from_millis(200),
            pkts: 10,
            bytes: 15_000,
            delay: Span::from_millis(300),
        };
        let of = |field: &str| {
            let name = format!("g.{field}");
            FlowColumn::parse(&name, &["g"]).unwrap().values(&[row, TrackRow::default()], &[0.1, 0.2])
        };
        assert_eq!(of("cwnd"), [Some(15.0), None]);
        assert_eq!(of("inflight"), [Some(12.5), None]);
        assert_eq!(of("rtt"), [Some(50.0), None]);
        assert_eq!(of("delay"), [Some(30.0), None]);
        assert_eq!(of("rate"), [Some(1.2e6), Some(0.0)]);
    }
}
