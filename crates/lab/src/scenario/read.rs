//! The document as a [`Scenario`]: the top level, `[compare]` and `[report]`.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::text::BadValue;
use forebay_aqm::base::time::Span;
use serde_json::{Value as Json, json};

use crate::class_column::{ClassColumn, FIELDS};
use crate::own;

use super::doc::{Node, Value};
use super::error::{InputError, did_you_mean, no_such_word};
use super::flows::{self, flows};
use super::limits;
use super::model::{Contender, Overlay, Report, Scenario};
use super::net::Topology;
use super::shape::{Kind, Shape, may, need};
use super::table::{self, Table, text};
use super::topology::{self, topology};
use super::values::{reference, run_time, spec, time};

static ROOT: Shape = Shape {
    doc: "A Forebay scenario: network, traffic, and the disciplines to compare.",
    tag: None,
    groups: &[&[
        need("version", Kind::Whole(1, 1), "The version of this format."),
        may("title", Kind::Text, "What reports call it; default the file's name."),
        need("duration", Kind::Quantity, "Simulated time, such as 200s."),
        may("warmup", Kind::Quantity, "Statistics begin here; default 0s."),
        may("packet", Kind::Whole(41, 65_535), "Data packets in bytes on the wire; default 1500."),
        need("topology", Kind::OneOf(topology::KINDS), "The network."),
        need("flows", Kind::Many(flows::KINDS), "The traffic."),
        may("compare", Kind::Table(&COMPARE), "The disciplines to compare; default the bottleneck's own."),
        may("report", Kind::Table(&REPORT), "What to show."),
        may("vary", Kind::Axes, "Axes: a name used as {name} in texts, or a dotted path, each with a list of values."),
    ]],
    later: &["change"],
};

static COMPARE: Shape = Shape {
    doc: "One run per entry, under the same seeds.",
    tag: None,
    groups: &[&[
        need("aqm", Kind::Texts, "Disciplines, such as raqm q0=50."),
        may("labels", Kind::Texts, "What reports call them; default as written."),
        may(
            "links",
            Kind::Texts,
            "The links that have them; default every bottleneck, in a graph every link under study.",
        ),
    ]],
    later: &[],
};

static REPORT: Shape = Shape {
    doc: "What to show.",
    tag: None,
    groups: &[&[
        may(
            "series",
            Kind::Texts,
            "Curves: queue, a probe such as raqm.p, or of a class class.1.dropped_pkts; default queue.",
        ),
        may("reference", Kind::Quantity, "The queue that the experiment aims at, such as 50p."),
        may(
            "theory",
            Kind::Texts,
            "What models say, laid over the runs: fluid, on the queue against time; markov and mmpp, on its distribution.",
        ),
    ]],
    later: &[],
};

/// The JSON Schema of a scenario file, made from the declarations that the reader checks keys against.
pub fn schema() -> Json {
    let mut schema = ROOT.schema();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Forebay scenario");
    schema
}

/// Reads one case; `name` is what it is called if it has no title.
pub(crate) fn scenario(root: &Node, name: &str) -> Result<Scenario, InputError> {
    let table = Table::bare(root, "")?;
    version(&table)?;
    table.expect(&ROOT)?;
    table.get("vary");
    let duration = table.need("duration", run_time)?;
    let warmup = table.or("warmup", Span::ZERO, time)?;
    if warmup >= duration {
        return Err(table.bad("warmup", BadValue::new("a time before the end of the run")));
    }
    let packet = table.whole("packet", 1500, 41..=65_535)?;
    let net = table.node("topology", "a [topology] table")?;
    let topology = topology(net)?;
    let flows = flows(table.node("flows", "one or more [[flows]] tables")?, packet, &topology)?;
    let (compare, compared) = match table.get("compare") {
        Some(node) => compare(node, &topology)?,
        None => own(net, &topology),
    };
    let report = match table.get("report") {
        Some(node) => report(node)?,
        None => Report { series: vec!["queue".to_string()], reference: None, theory: Vec::new() },
    };
    let title = table.get("title").map_or(Ok(name), |node| table::name(node, "title"))?.to_string();
    table.done(&ROOT);
    let scenario = Scenario { title, duration, warmup, packet, topology, flows, compare, compared, report };
    limits::check(root, &scenario)?;
    Ok(scenario)
}

fn version(table: &Table<'_>) -> Result<(), InputError> {
    let accepts = "1, the version of the scenario format";
    let node = table.node("version", accepts).map_err(|error| error.hint("write version = 1".to_string()))?;
    match node.value {
        Value::Integer(1) => Ok(()),
        _ => Err(node.error("version", accepts)),
    }
}

/// The own discipline of the first link that `compare` would be about, under the words of the file; the others keep
/// theirs.
fn own(net: &Node, topology: &Topology) -> (Vec<Contender>, Vec<String>) {
    let (links, names) = (topology.links(), topology.to_compare());
    let first = links.iter().find(|l| names.first().is_some_and(|name| *name == l.name)).unwrap_or(&links[0]);
    let written = first.path.iter().try_fold(net, |at, key| at.step(key)).and_then(|link| link.get("aqm"));
    let label = tidy(written.and_then(Node::text).unwrap_or("droptail"));
    (vec![Contender { label, spec: first.link.aqm.clone() }], vec![first.name.clone()])
}

/// Single spaces.
fn tidy(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn compare(node: &Node, topology: &Topology) -> Result<(Vec<Contender>, Vec<String>), InputError> {
    const ACCEPTS: &str = "a list of disciplines, such as [\"raqm q0=50\", \"droptail\"]";
    let table = Table::open(node, "compare", &COMPARE)?;
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
        let spec = spec(item, path)?;
        let label = match labels.get(i) {
            Some((label, path)) => table::name(label, path)?.to_string(),
            None => tidy(text(item, path)?),
        };
        out.push(Contender { label: unique(label, &out), spec });
    }
    let links = links(&table, topology)?;
    table.done(&COMPARE);
    Ok((out, links))
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

fn report(node: &Node) -> Result<Report, InputError> {
    let table = Table::open(node, "report", &REPORT)?;
    let series = table
        .list("series", "a list of texts, such as [\"queue\", \"raqm.p\"]")?
        .into_iter()
        .map(|(item, path)| series(item, &path))
        .collect::<Result<Vec<_>, _>>()?;
    let series = if table.get("series").is_some() { series } else { vec!["queue".to_string()] };
    let models = table.list("theory", "a list of models, such as [\"fluid\"]")?;
    let theory = models.iter().map(|(item, path)| model(item, path)).collect::<Result<_, _>>()?;
    let report = Report { series, reference: table.maybe("reference", reference)?, theory };
    table.done(&REPORT);
    Ok(report)
}

fn model(node: &Node, path: &str) -> Result<Overlay, InputError> {
    let found = text(node, path)?;
    let words = Overlay::ALL.map(Overlay::word);
    let known = Overlay::ALL.into_iter().find(|model| model.word() == found);
    known.ok_or_else(|| node.error(path, words.join(", ")).hint(did_you_mean(found, words)))
}

/// The queue, what happened to a class, or a probe that some discipline has; a contender without it leaves it empty.
fn series(node: &Node, path: &str) -> Result<String, InputError> {
    let name = text(node, path)?;
    if name == "queue" || ClassColumn::parse(name).is_some() {
        return Ok(name.to_string());
    }
    if let Some((class, field)) = name.strip_prefix("class.").and_then(|rest| rest.split_once('.')) {
        let near = did_you_mean(field, FIELDS).filter(|_| class.parse::<u8>().is_ok());
        let accepts = format!("class.N.FIELD with a class from 0 to 255 and one of {}", FIELDS.join(", "));
        return Err(node.error(path, accepts).hint(near));
    }
    let known = name.split_once('.').and_then(|(owner, probe)| Some((own::entry(owner)?, probe)));
    if let Some((entry, probe)) = known.filter(|(entry, probe)| entry.probes.iter().all(|p| p.name != *probe)) {
        let probes: Vec<String> = entry.probes.iter().map(|p| format!("{}.{}", entry.name, p.name)).collect();
        let accepts = match probes.as_slice() {
            [] => format!("another series: {} has no probes", entry.name),
            _ => format!("one of queue, {}", probes.join(", ")),
        };
        let near = did_you_mean(&format!("{}.{probe}", entry.name), probes.iter().map(String::as_str));
        return Err(node.error(path, accepts).hint(near));
    }
    if known.is_none() {
        let all = ENTRIES.iter().flat_map(|e| e.probes.iter().map(|p| format!("{}.{}", e.name, p.name)));
        let all: Vec<String> = all.chain(["queue".to_string()]).collect();
        let near = did_you_mean(name, all.iter().map(String::as_str));
        return Err(node.error(path, "queue, or a discipline's probe such as raqm.p").hint(near));
    }
    Ok(name.to_string())
}
