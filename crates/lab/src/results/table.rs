//! Tables of results as Parquet: columns of numbers and texts, Snappy-compressed. A probe is an internal variable of a
//! discipline that is recorded as a time series. A class of traffic is a group of flows, or a service class.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::figures::metric::METRICS;
use crate::results::record::{ClassSummary, RunRecord, RunSummary};
use crate::results::traffic::TrafficSummary;

/// A column; a row without a value is null.
pub enum Column {
    /// Finite numbers.
    Number(Vec<Option<f64>>),
    /// Whole numbers.
    Count(Vec<Option<i64>>),
    /// Texts.
    Words(Vec<Option<String>>),
}

impl Column {
    /// Number of rows.
    pub const fn len(&self) -> usize {
        match self {
            Self::Number(values) => values.len(),
            Self::Count(values) => values.len(),
            Self::Words(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row as text; empty without a value.
    fn text(&self, row: usize) -> String {
        match self {
            Self::Number(values) => values[row].map_or_else(String::new, |x| x.to_string()),
            Self::Count(values) => values[row].map_or_else(String::new, |n| n.to_string()),
            Self::Words(values) => values[row].clone().unwrap_or_default(),
        }
    }
}

/// Named columns of equal length.
#[derive(Default)]
pub struct Table {
    columns: Vec<(String, Column)>,
}

impl FromIterator<(String, Column)> for Table {
    fn from_iter<I: IntoIterator<Item = (String, Column)>>(columns: I) -> Self {
        Self { columns: columns.into_iter().collect() }
    }
}

impl Table {
    fn number(mut self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        let finite = values.map(|x| x.filter(|x| x.is_finite()));
        self.columns.push((name.to_string(), Column::Number(finite.collect())));
        self
    }

    fn count(self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        self.some_count(name, values.map(Some))
    }

    fn some_count(mut self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Self {
        self.columns.push((name.to_string(), Column::Count(values.map(|n| n.map(|n| n as i64)).collect())));
        self
    }

    fn words(self, name: &str, values: impl Iterator<Item = String>) -> Self {
        self.some_words(name, values.map(Some))
    }

    fn some_words(mut self, name: &str, values: impl Iterator<Item = Option<String>>) -> Self {
        self.columns.push((name.to_string(), Column::Words(values.collect())));
        self
    }

    /// The columns by name.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(name, column)| (name.as_str(), column))
    }

    /// The names of the columns, as the first line of a CSV file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn csv_names<W: Write>(&self, out: &mut csv::Writer<W>) -> csv::Result<()> {
        out.write_record(self.columns.iter().map(|(name, _)| name))
    }

    /// The rows as lines of a CSV file; a row without a value has an empty field. Numbers read back are the same to the
    /// last bit.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn csv_rows<W: Write>(&self, out: &mut csv::Writer<W>) -> csv::Result<()> {
        for row in 0..self.columns.first().map_or(0, |(_, column)| column.len()) {
            out.write_record(self.columns.iter().map(|(_, column)| column.text(row)))?;
        }
        Ok(())
    }

    /// The table as the bytes of a Parquet file.
    pub fn to_parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let mut file = Parquet::new(Vec::new(), self)?;
        file.add(self)?;
        file.finish()
    }
}

/// A Parquet file under construction, with one row group per table, so that memory holds one table at a time.
pub struct Parquet<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> Parquet<W> {
    /// A file with the columns of `like`, without rows.
    pub fn new(out: W, like: &Table) -> Result<Self, ParquetError> {
        let fields = like.columns.iter().map(|(name, column)| field(name, column).map(Arc::new));
        let schema = Type::group_type_builder("forebay").with_fields(fields.collect::<Result<_, _>>()?).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        Ok(Self(SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?))
    }

    /// Appends the rows of `table`, as one row group.
    pub fn add(&mut self, table: &Table) -> Result<(), ParquetError> {
        let mut rows = self.0.next_row_group()?;
        for (_, column) in &table.columns {
            let Some(mut out) = rows.next_column()? else { break };
            match column {
                Column::Number(values) => {
                    let present: Vec<f64> = values.iter().flatten().copied().collect();
                    out.typed::<DoubleType>().write_batch(&present, Some(&levels(values)), None)?;
                }
                Column::Count(values) => {
                    let present: Vec<i64> = values.iter().flatten().copied().collect();
                    out.typed::<Int64Type>().write_batch(&present, Some(&levels(values)), None)?;
                }
                Column::Words(values) => {
                    let present: Vec<ByteArray> =
                        values.iter().flatten().map(|v| ByteArray::from(v.as_str())).collect();
                    out.typed::<ByteArrayType>().write_batch(&present, Some(&levels(values)), None)?;
                }
            }
            out.close()?;
        }
        rows.close()?;
        Ok(())
    }

    /// Ends the file.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.0.into_inner()
    }
}

/// Definition levels: 1 for a value, 0 for null.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|v| i16::from(v.is_some())).collect()
}

fn field(name: &str, column: &Column) -> Result<Type, ParquetError> {
    let builder = match column {
        Column::Number(_) => Type::primitive_type_builder(name, Physical::DOUBLE),
        Column::Count(_) => Type::primitive_type_builder(name, Physical::INT64),
        Column::Words(_) => {
            Type::primitive_type_builder(name, Physical::BYTE_ARRAY).with_converted_type(ConvertedType::UTF8)
        }
    };
    builder.with_repetition(Repetition::OPTIONAL).build()
}

/// The rows of a run: one per service class and colour, or a single one if it has no classes.
fn classes(run: &RunSummary) -> Vec<(&RunSummary, Option<&ClassSummary>)> {
    match run.classes.as_slice() {
        [] => vec![(run, None)],
        classes => classes.iter().map(|class| (run, Some(class))).collect(),
    }
}

/// `summary.parquet`: a row per run, link, service class and colour (IN or OUT of profile). The columns of the class
/// are null for a run without classes.
pub fn summary(records: &[RunRecord]) -> Table {
    let rows: Vec<(&RunSummary, Option<&ClassSummary>)> =
        records.iter().flat_map(RunRecord::summaries).flat_map(classes).collect();
    let run = |f: fn(&RunSummary) -> f64| rows.iter().map(move |(r, _)| Some(f(r)));
    let class = |f: fn(&ClassSummary) -> Option<f64>| rows.iter().map(move |(_, c)| c.and_then(f));
    Table::default()
        .words("label", rows.iter().map(|(r, _)| r.label.clone()))
        .words("aqm", rows.iter().map(|(r, _)| r.aqm.clone()))
        .words("axes", rows.iter().map(|(r, _)| serde_json::to_string(&r.axes).unwrap_or_default()))
        .count("seed", rows.iter().map(|(r, _)| r.seed))
        .words("link", rows.iter().map(|(r, _)| r.link.clone()))
        .number("queue_pkts_mean", run(|r| r.queue_pkts.mean))
        .number("queue_pkts_std", run(|r| r.queue_pkts.std))
        .number("queue_pkts_p50", run(|r| r.queue_pkts.p50))
        .number("queue_pkts_p99", run(|r| r.queue_pkts.p99))
        .number("queue_pkts_max", run(|r| r.queue_pkts.max))
        .number("utilisation", run(|r| r.utilisation))
        .number("loss_ratio", run(|r| r.loss_ratio))
        .number("mark_ratio", run(|r| r.mark_ratio))
        .number("goodput_bps", run(|r| r.goodput_bps))
        .number("received_bps", run(|r| r.received_bps))
        .number("jain", rows.iter().map(|(r, _)| r.jain))
        .number("settling_s", rows.iter().map(|(r, _)| r.settling_s))
        .number("overshoot_pkts", run(|r| r.overshoot_pkts))
        .count("offered_pkts", rows.iter().map(|(r, _)| r.offered_pkts))
        .count("delivered_pkts", rows.iter().map(|(r, _)| r.delivered_pkts))
        .count("dropped_early", rows.iter().map(|(r, _)| r.dropped.early))
        .count("dropped_overflow", rows.iter().map(|(r, _)| r.dropped.overflow))
        .count("wire_lost_pkts", rows.iter().map(|(r, _)| r.wire_lost_pkts))
        .some_count("class", rows.iter().map(|(_, c)| c.map(|c| u64::from(c.class))))
        .some_words("colour", rows.iter().map(|(_, c)| c.map(|c| c.colour.clone())))
        .number("class_loss_ratio", class(|c| Some(c.loss_ratio)))
        .number("class_goodput_bps", class(|c| Some(c.goodput_bps)))
        .number("class_received_bps", class(|c| Some(c.received_bps)))
        .number("sojourn_ms_mean", class(|c| c.sojourn_ms.map(|s| s.mean)))
        .number("sojourn_ms_p99", class(|c| c.sojourn_ms.map(|s| s.p99)))
        .number("owd_ms_mean", class(|c| c.owd_ms.map(|s| s.mean)))
        .number("owd_ms_p99", class(|c| c.owd_ms.map(|s| s.p99)))
        .number("jitter_ms", class(|c| c.jitter_ms))
        .number("fct_s_mean", class(|c| c.fct_s.map(|s| s.mean)))
        .number("fct_s_p50", class(|c| c.fct_s.map(|s| s.p50)))
        .number("fct_s_p95", class(|c| c.fct_s.map(|s| s.p95)))
        .number("fct_s_p99", class(|c| c.fct_s.map(|s| s.p99)))
        .words("fingerprint", rows.iter().map(|(r, _)| r.fingerprint.clone()))
}

/// `traffic.parquet`: a row per run, link and class of traffic, and one for all classes; the other columns are
/// the metrics by name ([`METRICS`]), with `_` in place of the dot.
pub fn traffic(records: &[RunRecord]) -> Table {
    let rows: Vec<(&RunSummary, &TrafficSummary)> = records
        .iter()
        .flat_map(RunRecord::summaries)
        .flat_map(|run| run.traffic.iter().map(move |traffic| (run, traffic)))
        .collect();
    let table = Table::default()
        .words("label", rows.iter().map(|(r, _)| r.label.clone()))
        .words("aqm", rows.iter().map(|(r, _)| r.aqm.clone()))
        .words("axes", rows.iter().map(|(r, _)| serde_json::to_string(&r.axes).unwrap_or_default()))
        .count("seed", rows.iter().map(|(r, _)| r.seed))
        .words("link", rows.iter().map(|(r, _)| r.link.clone()))
        .words("traffic", rows.iter().map(|(_, t)| t.name.clone()));
    METRICS.iter().fold(table, |table, metric| {
        table.number(&metric.name.replace('.', "_"), rows.iter().map(|(_, t)| t.metric(metric.name)))
    })
}

/// Names of all probes, in order of first occurrence.
pub fn probes(records: &[RunRecord]) -> Vec<&str> {
    let mut probes: Vec<&str> = Vec::new();
    for (name, _) in records.iter().flat_map(RunRecord::all_series).flat_map(|(_, series)| &series.probes) {
        if !probes.contains(&name.as_str()) {
            probes.push(name);
        }
    }
    probes
}

/// `series.parquet`: a row per run, link and sampling interval. Probes that a discipline lacks are null.
pub fn series(records: &[RunRecord], probes: &[&str]) -> Table {
    let links = || records.iter().flat_map(|r| r.all_series().map(move |(link, series)| (r, link, series)));
    let rows = || links().flat_map(|(r, link, series)| (0..series.time_s.len()).map(move |i| (r, link, series, i)));
    let mut table = Table::default()
        .words("label", rows().map(|(r, ..)| r.summary.label.clone()))
        .count("seed", rows().map(|(r, ..)| r.summary.seed))
        .words("link", rows().map(|(_, link, ..)| link.to_string()))
        .number("time_s", rows().map(|(_, _, series, i)| Some(series.time_s[i])))
        .number("queue_pkts", rows().map(|(_, _, series, i)| Some(series.queue_pkts[i])))
        .number("queue_mean_pkts", rows().map(|(_, _, series, i)| Some(series.queue_mean_pkts[i])));
    for probe in probes {
        let column = rows().map(|(_, _, series, i)| {
            let (_, values) = series.probes.iter().find(|(name, _)| name == *probe)?;
            values.get(i).copied().flatten()
        });
        table = table.number(probe, column);
    }
    table
}

/// `flows.parquet`: a row per run and flow.
pub fn flows(records: &[RunRecord]) -> Table {
    let rows = || records.iter().flat_map(|r| r.flows.iter().enumerate().map(move |(i, f)| (r, i, f)));
    Table::default()
        .words("label", rows().map(|(r, _, _)| r.summary.label.clone()))
        .count("seed", rows().map(|(r, _, _)| r.summary.seed))
        .count("flow", rows().map(|(_, i, _)| i as u64))
        .words("group", rows().map(|(_, _, f)| f.group.clone()))
        .count("class", rows().map(|(_, _, f)| u64::from(f.class)))
        .count("goodput_bytes", rows().map(|(_, _, f)| f.goodput_bytes))
        .count("received_bytes", rows().map(|(_, _, f)| f.received_bytes))
        .number("active_s", rows().map(|(_, _, f)| Some(f.active_s)))
        .count("sent_pkts", rows().map(|(_, _, f)| f.sent_pkts))
        .count("retransmitted_pkts", rows().map(|(_, _, f)| f.retransmitted_pkts))
        .count("timeouts", rows().map(|(_, _, f)| f.timeouts))
}

/// `completions.parquet`: a row per file or page that arrived.
pub fn completions(records: &[RunRecord]) -> Table {
    let rows = || records.iter().flat_map(|r| r.completions.iter().map(move |c| (r, c)));
    let flow = |r: &RunRecord, flow: u32| r.flows.get(flow as usize).map(|f| f.group.clone());
    Table::default()
        .words("label", rows().map(|(r, _)| r.summary.label.clone()))
        .count("seed", rows().map(|(r, _)| r.summary.seed))
        .count("flow", rows().map(|(_, c)| u64::from(c.flow)))
        .some_words("group", rows().map(move |(r, c)| flow(r, c.flow)))
        .number("at_s", rows().map(|(_, c)| Some(c.at_s)))
        .number("fct_s", rows().map(|(_, c)| Some(c.fct_s)))
}
