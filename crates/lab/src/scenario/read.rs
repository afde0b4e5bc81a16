//! Reads a TOML document as a [`Scenario`]: the top level, `[compare]` and `[report]`. A contender is a discipline that
//! `[compare]` lists, with its label.

use forebay_aqm::base::text::{BadValue, show_depth, show_span};
use forebay_aqm::base::time::Span;
use forebay_aqm::base::units::Depth;
use forebay_aqm::{ENTRIES, Spec};
use serde_json::{Value as Json, json};

use super::flows::{self, FlowGroup};
use super::own_figures;
use super::topology::{Topology, TopologyTable};
use crate::claims::exhibits::Figure;
use crate::declare::{
    AQM, Custom, Form, Key, Keys, Quantity, Setting, TIME, Table, may, name, names, need, reference, run_time, schema,
    table, table_of, text, whole_number,
};
use crate::document::{Node, Text, Value, list, quote};
use crate::figures::class_column::{ClassColumn, FIELDS};
use crate::figures::flow_column::{self, FlowColumn};
use crate::figures::metric::{METRICS, Metric};
use crate::input::{Found, InputError, did_you_mean, no_such_word};
use crate::own;

table! {
    /// A Forebay scenario: network, traffic and the disciplines to compare.
    pub struct Scenario {
        + need("version", || schema::whole(1, 1), "Version of the scenario format.");
        /// Title in reports; default the file name.
        title: String = TITLE, or_else |table| Ok(table.setting.title.to_string());
        /// Simulated time, such as 200s.
        duration: Span = Quantity(run_time, show_span);
        /// Time from which statistics are recorded; default 0s.
        warmup: Span = TIME, or Span::ZERO;
        /// Size of data packets in bytes on the wire; default 1500.
        packet: u32 = whole_number::<u32>(41, 65_535), or 1500;
        /// The network.
        topology: Topology = TopologyTable;
        + need("flows", flows::schema, "The traffic.");
        + may("compare", || schema::table("One run per entry, under the same seeds.", None, COMPARE), "The disciplines to compare; default the aqm of the first bottleneck.");
        + may("report", || table_of::<Report>("What reports show."), "What reports show.");
        + may(
            "vary",
            || json!({ "type": "object" }),
            "Keys that vary: each is a dotted path, or a name (used in other values as {name}), with a list of values.",
        );
        /// The traffic.
        - flows: Vec<FlowGroup> = |_: &Table<'_>| Ok(Vec::new());
        /// The disciplines compared, with the same seeds; at least one.
        - compare: Vec<Contender> = |_: &Table<'_>| Ok(Vec::new());
        /// Names of the links on which the compared disciplines run; at least one. There they replace the disciplines
        /// that the file gives for these links.
        - compared: Vec<String> = |_: &Table<'_>| Ok(Vec::new());
        /// What reports show.
        - report: Report = |_: &Table<'_>| Ok(Report::default());
        + may("figure", figures, "Figures of the report, in the notation of the figures of papers (docs/claims.md).");
        /// Figures of the report.
        - figures: Vec<Figure> = |_: &Table<'_>| Ok(Vec::new());
    }
    finish with_traffic;
}

/// A discipline and its label in reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// Label in reports, unique in its scenario; default the discipline as written.
    pub label: String,
    /// The discipline and its parameters.
    pub spec: Spec,
}

const COMPARE: &[Key] = &[
    need("aqm", texts, "Disciplines, such as raqm q0=50."),
    may("labels", texts, "Labels in reports, one per discipline; default the disciplines as written."),
    may("links", texts, "Links with these disciplines; default every bottleneck (graph: every link under study)."),
];

fn figures() -> Json {
    json!({ "type": "array", "items": { "type": "object" } })
}

fn texts() -> Json {
    schema::any_of(schema::text())
}

table! {
    /// What reports show.
    pub struct Report {
        /// Curves: queue; an internal variable of a discipline (probe) such as raqm.p; a counter of a service class
        /// such as class.1.dropped_pkts; cwnd, rtt, rate, delay or inflight of a group of flows, such as ftp.cwnd, or
        /// of one flow, such as ftp.0.cwnd; default queue.
        series: Vec<String> = SERIES, or Self::default().series;
        /// Target queue length, drawn in reports, such as 50p.
        reference: Option<Depth> = Quantity(reference, show_depth), optional;
        /// Models drawn over the runs: fluid over the queue against time; markov and mmpp over the queue
        /// distribution.
        theory: Vec<Overlay> = MODELS, or Vec::new() => |report: &Self| !report.theory.is_empty();
        /// Columns of the first table, by their names in summary.json, such as goodput_bps and wait_ms.p99; default the
        /// standard metrics that have values.
        columns: Vec<&'static Metric> = COLUMNS, or Vec::new() => |report: &Self| !report.columns.is_empty();
    }
}

impl Default for Report {
    fn default() -> Self {
        Self { series: vec!["queue".to_string()], reference: None, theory: Vec::new(), columns: Vec::new() }
    }
}

/// A model whose result is drawn over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// Fluid model of TCP, over the queue against time.
    Fluid,
    /// Markov chain of a queue with TCP traffic, over the queue distribution.
    Markov,
    /// Queue with MMPP or MAP datagrams, over the queue distribution.
    Mmpp,
}

impl Overlay {
    /// All models whose results can be drawn.
    pub const ALL: [Self; 3] = [Self::Fluid, Self::Markov, Self::Mmpp];

    /// Name in scenarios.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fluid => "fluid",
            Self::Markov => "markov",
            Self::Mmpp => "mmpp",
        }
    }
}

impl Scenario {
    /// The time series of flows that the scenario requests, with their names.
    pub(crate) fn flow_columns(&self) -> Vec<(&str, FlowColumn<'_>)> {
        let groups: Vec<&str> = self.flows.iter().map(|group| group.name.as_str()).collect();
        let column = |name| Some((name, FlowColumn::parse(name, &groups)?));
        self.report.series.iter().filter_map(|name| column(name.as_str())).collect()
    }

    /// Adds the opposite direction of each compared link to the compared links.
    ///
    /// # Errors
    /// A compared link has one direction only.
    pub(crate) fn compare_both_directions(&mut self) -> Result<(), InputError> {
        let links = self.topology.links();
        let mut both: Vec<String> = Vec::new();
        for name in &self.compared {
            let Some(at) = links.iter().position(|link| link.name == *name) else { continue };
            let reverse = links.get(at + 1).filter(|next| links[at].is_forward && !next.is_forward);
            let forward = at.checked_sub(1).map(|before| &links[before]).filter(|_| !links[at].is_forward);
            let Some(opposite) = reverse.or(forward) else {
                let found = Found::thing(format!("link {name} without a reverse direction (one_way = true)"));
                let error = InputError::new("--both-directions", "", found, "compared links with two directions");
                return Err(error.hint("compare.links names the links on which the disciplines run".to_string()));
            };
            for name in [name, &opposite.name] {
                if !both.contains(name) {
                    both.push(name.clone());
                }
            }
        }
        self.compared = both;
        Ok(())
    }

    /// Canonical TOML text, with all defaults; it reads back as an equal scenario.
    pub fn to_toml(&self) -> String {
        self.runs_to_toml() + &own_figures::text(self)
    }

    /// The canonical text without figures, which do not change the runs.
    pub(crate) fn runs_to_toml(&self) -> String {
        let mut out = Text::default();
        out.set("version", 1);
        self.write(&mut out);
        for group in &self.flows {
            flows::write(group, &self.topology, &mut out);
        }
        let specs: Vec<String> = self.compare.iter().map(|c| c.spec.canonical()).collect();
        out.table("compare", |out| {
            out.texts("aqm", specs.iter().map(String::as_str));
            out.texts("labels", self.compare.iter().map(|c| c.label.as_str()));
            out.texts("links", self.compared.iter().map(String::as_str));
        });
        out.table("report", |out| self.report.write(out));
        out.document()
    }
}

/// JSON Schema of a scenario file, made from the declarations that read it.
pub fn schema() -> Json {
    let mut schema = table_of::<Scenario>(Scenario::DOC);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Forebay scenario");
    schema
}

/// Reads the scenario of one case (combination of the values of the keys that vary). `name` is the default title.
pub(crate) fn scenario(root: &Node, name: &str) -> Result<Scenario, InputError> {
    let table = Table::bare(root, "", Setting { title: name, ..Setting::default() })?;
    version(&table)?;
    table.expect(&names(&Scenario::keys()), &["change"])?;
    Scenario::read(&table)
}

/// Adds the traffic, which depends on network and packet size, and the compared disciplines.
fn with_traffic(scenario: Scenario, table: &Table<'_>) -> Result<Scenario, InputError> {
    let Scenario { packet, topology, .. } = &scenario;
    if scenario.warmup >= scenario.duration {
        return Err(table.bad("warmup", BadValue::new("a time before the end of the run")));
    }
    let flows = flows::flows(table.node("flows", "one or more [[flows]] tables")?, *packet, topology)?;
    let (compare, compared) = match table.get("compare") {
        Some(node) => compare(node, topology)?,
        None => own(table.node("topology", "")?, topology),
    };
    let groups: Vec<&str> = flows.iter().map(|group| group.name.as_str()).collect();
    let setting = Setting { groups: &groups, ..table.setting };
    let report = table.get("report").map(|node| Table::whole_of(node, "report", setting)).transpose()?;
    let report: Report = report.unwrap_or_default();
    for name in &report.series {
        let Some(FlowColumn { group, flow: Some(n), .. }) = FlowColumn::parse(name, &groups) else { continue };
        let of = flows.iter().find(|known| known.name == group);
        if let Some(of) = of.filter(|of| of.kind.arrivals().is_none() && n >= of.count as usize) {
            let series = table.get("report").and_then(|report| report.get("series"));
            let place = &series.map_or(table.node("report", "")?, |series| series).place;
            let accepts = format!("a number below {}, the count of {group}", of.count);
            return Err(place.error("report.series", Found::text(name), accepts));
        }
    }
    Ok(Scenario { flows, compare, compared, report, ..scenario })
}

/// The title, default the file name.
const TITLE: Custom<String> = Custom {
    schema: schema::text,
    read: |_, node, path| name(node, path).map(str::to_string),
    show: |title| quote(title),
    accepts: "",
};

fn version(table: &Table<'_>) -> Result<(), InputError> {
    let accepts = "1, the version of the scenario format";
    let node = table.node("version", accepts).map_err(|error| error.hint("write version = 1".to_string()))?;
    match node.value {
        Value::Integer(1) => Ok(()),
        _ => Err(node.error("version", accepts)),
    }
}

/// The only contender and its link if there is no `[compare]`. The link is the first one that `[compare]` would apply
/// to. The contender is the discipline of that link, and its label is the discipline as written.
fn own(net: &Node, topology: &Topology) -> (Vec<Contender>, Vec<String>) {
    let (links, names) = (topology.links(), topology.to_compare());
    let first = links.iter().find(|l| names.first().is_some_and(|name| *name == l.name)).unwrap_or(&links[0]);
    let written = first.path.iter().try_fold(net, |at, key| at.step(key)).and_then(|link| link.get("aqm"));
    let label = tidy(written.and_then(Node::text).unwrap_or("droptail"));
    (vec![Contender { label, spec: first.link.discipline.clone() }], vec![first.name.clone()])
}

/// Collapses white space to single spaces.
fn tidy(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn compare(node: &Node, topology: &Topology) -> Result<(Vec<Contender>, Vec<String>), InputError> {
    const ACCEPTS: &str = "a list of disciplines, such as [\"raqm q0=50\", \"droptail\"]";
    let table = Table::bare(node, "compare", Setting::default())?;
    table.expect(&names(COMPARE), &[])?;
    let items = table.list("aqm", ACCEPTS)?;
    if items.is_empty() {
        return Err(table.bad("aqm", BadValue::new(ACCEPTS)));
    }
    let labels = table.list("labels", "a list of texts, one per discipline")?;
    if !labels.is_empty() && labels.len() != items.len() {
        return Err(table.bad("labels", BadValue::new(format!("{} labels, one per discipline", items.len()))));
    }
    let mut out: Vec<Contender> = Vec::with_capacity(items.len());
    for (i, (item, path)) in items.iter().enumerate() {
        let spec = AQM.read(&table, item, path)?;
        let label = match labels.get(i) {
            Some((label, path)) => name(label, path)?.to_string(),
            None => tidy(text(item, path)?),
        };
        out.push(Contender { label: unique(label, &out), spec });
    }
    Ok((out, links(&table, topology)?))
}

fn links(table: &Table<'_>, topology: &Topology) -> Result<Vec<String>, InputError> {
    let items = table.list("links", "a list of the names of links")?;
    let links = topology.links();
    let names: Vec<&str> = links.iter().map(|l| l.name.as_str()).collect();
    let mut out: Vec<String> = Vec::new();
    for (item, path) in items {
        let name = text(item, &path)?;
        if !names.contains(&name) {
            let bad = no_such_word(name, &names);
            return Err(item.error(path, bad.accepts).hint(bad.hint));
        }
        if out.iter().any(|other| other == name) {
            return Err(item.error(path, "each link once"));
        }
        out.push(name.to_string());
    }
    match table.get("links") {
        None => Ok(topology.to_compare()),
        Some(_) if out.is_empty() => Err(table.bad("links", BadValue::new("the names of one or more links"))),
        Some(_) => Ok(out),
    }
}

fn unique(label: String, others: &[Contender]) -> String {
    let taken = |label: &str| others.iter().any(|o| o.label == label);
    let numbered = (2..).map(|i| format!("{label} ({i})"));
    std::iter::once(label.clone()).chain(numbered).find(|l| !taken(l)).unwrap_or(label)
}

/// The items of a list of texts, each read by `read`.
fn each<T>(
    node: &Node,
    path: &str,
    accepts: &str,
    read: impl Fn(&Node, &str) -> Result<T, InputError>,
) -> Result<Vec<T>, InputError> {
    let Value::List(items) = &node.value else { return Err(node.error(path, accepts)) };
    items.iter().enumerate().map(|(i, item)| read(item, &format!("{path}[{i}]"))).collect()
}

/// The value of the key `theory`: names of models.
const MODELS: Custom<Vec<Overlay>> = Custom {
    schema: texts,
    read: |_, node, path| {
        each(node, path, "a list of models, such as [\"fluid\"]", |node, path| {
            let found = text(node, path)?;
            let words = Overlay::ALL.map(Overlay::word);
            let known = Overlay::ALL.into_iter().find(|model| model.word() == found);
            known.ok_or_else(|| node.error(path, words.join(", ")).hint(did_you_mean(found, words)))
        })
    },
    show: |models| list(models.iter().map(|model| quote(model.word()))),
    accepts: "",
};

/// The value of the key `columns`: names of metrics.
const COLUMNS: Custom<Vec<&'static Metric>> = Custom {
    schema: texts,
    read: |_, node, path| {
        each(node, path, "a list of metrics, such as [\"goodput_bps\", \"wait_ms.p99\"]", |node, path| {
            let found = text(node, path)?;
            let words = METRICS.map(|metric| metric.name);
            let known = Metric::named(found);
            known.ok_or_else(|| node.error(path, words.join(", ")).hint(did_you_mean(found, words)))
        })
    },
    show: |metrics| list(metrics.iter().map(|metric| quote(metric.name))),
    accepts: "",
};

/// The value of the key `series`: names of quantities that are recorded over time, such as `queue` or `raqm.p`.
const SERIES: Custom<Vec<String>> = Custom {
    schema: texts,
    read: |table, node, path| {
        let accepts = "a list of texts, such as [\"queue\", \"raqm.p\"]";
        each(node, path, accepts, |node, path| series(node, path, table.setting.groups))
    },
    show: |names| list(names.iter().map(|name| quote(name))),
    accepts: "",
};

/// Checks the name of a quantity that is recorded over time: `queue`, a counter of a service class, the state of flows
/// of one of `groups`, or an internal variable of a discipline (probe). Contenders without that probe record nothing
/// for it.
fn series(node: &Node, path: &str, groups: &[&str]) -> Result<String, InputError> {
    let name = text(node, path)?;
    if name == "queue" || ClassColumn::parse(name).is_some() || FlowColumn::parse(name, groups).is_some() {
        return Ok(name.to_string());
    }
    let fields = flow_column::FIELDS.map(|(field, ..)| field);
    let of_group = name.rsplit_once('.').filter(|(owner, _)| {
        groups.contains(owner) || owner.rsplit_once('.').is_some_and(|(group, _)| groups.contains(&group))
    });
    if let Some((owner, _)) = of_group.filter(|(owner, _)| own::entry(owner).is_none()) {
        let names = fields.map(|field| format!("{owner}.{field}"));
        let near = did_you_mean(name, names.iter().map(String::as_str));
        let accepts = format!("GROUP.FIELD or GROUP.NUMBER.FIELD with one of {}", fields.join(", "));
        return Err(node.error(path, accepts).hint(near));
    }
    if let Some((class, field)) = name.strip_prefix("class.").and_then(|rest| rest.split_once('.')) {
        let near = did_you_mean(field, FIELDS).filter(|_| class.parse::<u8>().is_ok());
        let accepts = format!("class.N.FIELD with a class from 0 to 255 and one of {}", FIELDS.join(", "));
        return Err(node.error(path, accepts).hint(near));
    }
    let known = name.split_once('.').and_then(|(owner, probe)| Some((own::entry(owner)?, probe)));
    if let Some((entry, probe)) = known.filter(|(entry, probe)| entry.probes.iter().all(|p| p.name != *probe)) {
        let probes: Vec<String> = entry.probes.iter().map(|p| format!("{}.{}", entry.name, p.name)).collect();
        let written = entry.probes.iter().filter_map(|p| Some(format!("{}.{}", entry.name, p.common_name()?)));
        let accepts = match written.collect::<Vec<_>>().as_slice() {
            [] => format!("another series, as {} has no probes", entry.name),
            written => format!("one of queue, {}", written.join(", ")),
        };
        let near = did_you_mean(&format!("{}.{probe}", entry.name), probes.iter().map(String::as_str));
        return Err(node.error(path, accepts).hint(near));
    }
    if known.is_none() {
        let all = ENTRIES.iter().flat_map(|e| e.probes.iter().map(|p| format!("{}.{}", e.name, p.name)));
        let of_flows = groups.iter().flat_map(|group| fields.map(|field| format!("{group}.{field}")));
        let all: Vec<String> = all.chain(of_flows).chain(["queue".to_string()]).collect();
        let near = did_you_mean(name, all.iter().map(String::as_str));
        let accepts = "queue, a discipline's probe such as raqm.p, or a group's cwnd, rtt, rate, delay or inflight";
        return Err(node.error(path, accepts).hint(near));
    }
    Ok(name.to_string())
}
