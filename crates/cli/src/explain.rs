//! `forebay explain`: all there is to know about a name.

use std::collections::BTreeSet;

use forebay_aqm::base::common::Common;
use forebay_aqm::base::design::{Entry, Preset, ProbeSpec, Rung};
use forebay_aqm::base::markers::{MARKERS, MarkerEntry};
use forebay_aqm::base::nearest::nearest;
use forebay_aqm::base::params::{ParamSet, ParamSpec};
use forebay_aqm::base::tc::{self, Tc};
use forebay_lab::own;
use forebay_lab::scenario::{Found, InputError};
use serde_json::{Value, json};

use crate::args::ExplainArgs;
use crate::catalogue;
use crate::failure::{Exit, Failure};
use crate::output::{Tone, Ui};
use crate::table::Table;
use crate::text::{titled, wrap};

/// Explains a discipline, a marker, a congestion control or a kind of traffic.
pub(crate) fn command(args: &ExplainArgs, ui: &Ui) -> Result<Exit, Failure> {
    let name = args.name.as_str();
    if let Some(entry) = own::entry(name) {
        show(ui, || discipline_document(entry), || discipline_text(ui, entry))?;
    } else if let Some(marker) = MARKERS.iter().find(|marker| marker.name == name) {
        show(ui, || marker_document(marker), || marker_text(ui, marker))?;
    } else if let Some((alias, ours, tc)) = tc::aliases().find(|(alias, ..)| *alias == name) {
        show(ui, || alias_document(alias, ours, &tc), || alias_text(ui, alias, ours, &tc))?;
    } else if let Some(schema) = catalogue::flow_kinds().iter().find(|schema| catalogue::kind(schema) == name) {
        show(ui, || traffic_document(schema), || traffic_text(ui, schema))?;
    } else if let Some(found) = catalogue::congestion().into_iter().find(|found| found.name == name) {
        let document = || json!({ "version": 1, "kind": "congestion", "name": name, "summary": found.summary });
        let text = || titled(ui, name, &found.summary) + &format!("in a scenario: tcp = \"{name}\"\n");
        show(ui, document, text)?;
    } else {
        return Err(unknown(name).into());
    }
    Ok(Exit::Done)
}

fn show(ui: &Ui, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if ui.json() { ui.print_json(&json()) } else { ui.print(&text()) }
}

fn unknown(name: &str) -> InputError {
    let known =
        [catalogue::disciplines(), catalogue::markers(), catalogue::congestion(), catalogue::traffic()].concat();
    let mut names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
    // A congestion control may be a kind of traffic too.
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let names: Vec<&str> = names.into_iter().chain(tc::aliases().map(|(alias, ..)| alias)).collect();
    let near = || nearest(name, names.iter().copied()).map(|near| format!("did you mean {near}?"));
    let near = tc::elsewhere(name).or_else(near);
    InputError::new("explain", "NAME", Found::text(name), format!("one of {}", names.join(", "))).hint(near)
}

/// The parameters of a discipline, the ones common to all last.
fn params(entry: &Entry) -> impl Iterator<Item = &'static ParamSpec> {
    entry.params.iter().chain(Common::SPECS)
}

/// The value without further settings; a variant has its own.
fn default(entry: &Entry, param: &ParamSpec) -> String {
    let spec = own::parse(entry.name).ok();
    spec.and_then(|spec| spec.get(param.name)).unwrap_or_else(param.default)
}

fn tc_document(name: &str, tc: &Tc) -> Value {
    json!({ "synopsis": tc.synopsis(name), "defaults": tc.defaults, "notes": tc::notes(name, tc) })
}

/// A name that only tc has.
fn alias_document(name: &str, ours: &str, tc: &Tc) -> Value {
    let tc = json!({ "synopsis": tc.synopsis(name), "defaults": tc.defaults });
    json!({ "version": 1, "kind": "alias", "name": name, "discipline": ours, "tc": tc })
}

fn alias_text(ui: &Ui, name: &str, ours: &str, tc: &Tc) -> String {
    let mut out = titled(ui, name, &format!("tc(8)'s name for {ours} {}", tc.defaults));
    out += &heading(ui, "as tc(8) writes it", "");
    out += &wrap("  ", &tc.synopsis(name));
    out + &format!("\nforebay explain {ours} says the rest\n")
}

fn meaning(words: &str) -> &str {
    words.trim()
}

fn param_document(param: &ParamSpec, default: &str) -> Value {
    let words = param.words().map(Iterator::collect::<Vec<_>>);
    let unit = words.is_none().then_some(param.unit);
    let range = param.range_in.map(|_| [param.range.0, param.range.1]);
    json!({
        "name": param.name,
        "default": (!default.is_empty()).then_some(default),
        "unit": unit,
        "range": range,
        "words": words,
        "accepts": param.accepted(),
        "symbol": param.symbol,
        "source": param.source,
        "meaning": meaning(param.doc),
    })
}

fn presets_document(presets: &[Preset]) -> Vec<Value> {
    let one = |p: &Preset| json!({ "name": p.name, "settings": p.settings, "source": p.source });
    presets.iter().map(one).collect()
}

fn probes_document(owner: &str, probes: &[ProbeSpec]) -> Vec<Value> {
    let one = |probe: &ProbeSpec| {
        let name = format!("{owner}.{}", probe.name);
        json!({ "name": name, "unit": probe.unit, "meaning": meaning(probe.doc) })
    };
    probes.iter().map(one).collect()
}

fn discipline_document(entry: &Entry) -> Value {
    json!({
        "version": 1,
        "kind": "discipline",
        "name": entry.name,
        "summary": entry.summary(),
        "source": entry.about.source,
        "rung": entry.rung.word(),
        "variant_of": entry.variant_of.map(|(base, preset)| json!({ "name": base, "preset": preset })),
        "rule": entry.about.rule,
        "parameters": params(entry).map(|param| param_document(param, &default(entry, param))).collect::<Vec<_>>(),
        "presets": presets_document(entry.presets),
        "tc": entry.tc.map(|tc| tc_document(entry.name, &tc)),
        "probes": probes_document(entry.name, entry.probes),
        "deviations": entry.about.deviations,
    })
}

fn discipline_text(ui: &Ui, entry: &Entry) -> String {
    let rung = match entry.rung {
        Rung::Law => "a control law: it sees counters, never a packet",
        Rung::Aqm => "an opinion on each packet: it holds none",
        Rung::Queue => "it owns its queues",
    };
    let mut out = titled(ui, entry.name, &entry.summary());
    out += &wrap("source  ", entry.about.source);
    out += &format!("kind    {rung}\n");
    out += &heading(ui, "rule", "");
    out += &entry.about.rule.lines().map(|line| format!("  {}\n", line.trim_end())).collect::<String>();
    out += &heading(ui, "parameters", &format!("as in --aqm \"{} {}\"", entry.name, example(entry)));
    out += &params_text(ui, &params(entry).map(|param| (param, default(entry, param))).collect::<Vec<_>>());
    out += &presets_text(ui, entry.presets);
    if let Some(tc) = entry.tc {
        out += &heading(ui, "as tc(8) writes it", &format!("without key=value; starts from {}", tc.defaults));
        out += &wrap("  ", &tc.synopsis(entry.name));
        out += &tc::notes(entry.name, &tc).iter().map(|note| wrap("  ", note)).collect::<String>();
    }
    out += &probes_text(ui, entry.name, entry.probes);
    out + &deviations_text(ui, entry.about.deviations)
}

fn deviations_text(ui: &Ui, deviations: &[&str]) -> String {
    let mut out = String::new();
    if !deviations.is_empty() {
        out += &heading(ui, "differences from the source", "");
    }
    for (i, deviation) in deviations.iter().enumerate() {
        out += &wrap(&format!("{:>3}. ", i + 1), deviation);
    }
    out
}

fn marker_document(marker: &MarkerEntry) -> Value {
    json!({
        "version": 1,
        "kind": "marker",
        "name": marker.name,
        "summary": marker.about.summary,
        "source": marker.about.source,
        "rule": marker.about.rule,
        "written": marker.written.lines().collect::<Vec<_>>(),
        "parameters": marker.params().map(|param| param_document(param, &(param.default)())).collect::<Vec<_>>(),
        "presets": presets_document(marker.presets),
        "probes": probes_document(marker.name, marker.probes),
        "deviations": marker.about.deviations,
    })
}

fn marker_text(ui: &Ui, marker: &MarkerEntry) -> String {
    let indented = |text: &str| text.lines().map(|line| format!("  {}\n", line.trim_end())).collect::<String>();
    let mut out = titled(ui, marker.name, marker.about.summary);
    out += &wrap("source  ", marker.about.source);
    out += &heading(ui, "rule", "");
    out += &indented(marker.about.rule);
    out += &heading(ui, "written as", "");
    out += &indented(marker.written);
    out += &heading(ui, "parameters", "");
    out += &params_text(ui, &marker.params().map(|param| (param, (param.default)())).collect::<Vec<_>>());
    out += &presets_text(ui, marker.presets);
    out += &probes_text(ui, marker.name, marker.probes);
    out + &deviations_text(ui, marker.about.deviations)
}

/// A setting that may be copied.
fn example(entry: &Entry) -> String {
    let is_number = |param: &&ParamSpec| default(entry, param).starts_with(|c: char| c.is_ascii_digit());
    let param = params(entry).find(is_number).unwrap_or(&Common::SPECS[0]);
    format!("{}={}", param.name, default(entry, param))
}

fn heading(ui: &Ui, title: &str, remark: &str) -> String {
    let remark = if remark.is_empty() { String::new() } else { ui.tone(Tone::Faint, &format!("  {remark}")) };
    format!("\n{}{remark}\n", ui.tone(Tone::Strong, title))
}

/// A unit, where there is one.
fn unit(unit: &str) -> &str {
    if unit == "1" { "" } else { unit }
}

/// Each parameter with its default, which is nothing where one has to be given.
fn params_text(ui: &Ui, params: &[(&ParamSpec, String)]) -> String {
    let mut table = Table::new(&["name", "default", "symbol"]).words(&[1, 2]);
    for (param, default) in params {
        let default = if default.is_empty() { "needed" } else { default };
        table.row(vec![param.name.to_string(), default.to_string(), param.symbol.to_string()]);
    }
    let mut lines = table.render(ui, "  ").lines().map(|line| format!("{line}\n")).collect::<Vec<_>>().into_iter();
    let mut out = lines.next().unwrap_or_default();
    for (line, (param, _)) in lines.zip(params) {
        out += &line;
        out += &wrap("      ", &param.accepted());
        let source = if param.source.is_empty() { String::new() } else { format!(" [{}]", param.source) };
        let text = wrap("      ", &format!("{}{source}", meaning(param.doc)));
        out += &text.lines().map(|line| format!("{}\n", ui.tone(Tone::Faint, line))).collect::<String>();
    }
    out
}

/// Where there is nothing to list.
const NONE: &str = "  none\n";

fn presets_text(ui: &Ui, presets: &[Preset]) -> String {
    if presets.is_empty() {
        return heading(ui, "presets", "") + NONE;
    }
    let mut out = heading(ui, "presets", "preset=NAME goes before other settings");
    for preset in presets {
        let settings = if preset.settings.is_empty() { "the defaults" } else { preset.settings };
        out += &wrap(&format!("  {:<8} ", preset.name), settings);
        let source = wrap(&" ".repeat(11), preset.source);
        out += &source.lines().map(|line| format!("{}\n", ui.tone(Tone::Faint, line))).collect::<String>();
    }
    out
}

fn probes_text(ui: &Ui, owner: &str, probes: &[ProbeSpec]) -> String {
    if probes.is_empty() {
        return heading(ui, "probes", "") + NONE;
    }
    let mut table = Table::of_words(3);
    for probe in probes {
        let name = format!("{owner}.{}", probe.name);
        table.row(vec![name, unit(probe.unit).to_string(), meaning(probe.doc).to_string()]);
    }
    heading(ui, "probes", "for series = [...] in [report]") + &table.render(ui, "  ")
}

/// Its keys, the needed ones first.
fn keys(schema: &Value) -> Vec<(&str, bool, &str)> {
    let needed = schema.get("required").and_then(Value::as_array);
    let is_needed = |key: &str| needed.is_some_and(|needed| needed.iter().any(|n| n == key));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let others = properties.filter(|(key, _)| *key != "kind");
    let mut keys: Vec<_> = others.map(|(key, it)| (key.as_str(), is_needed(key), catalogue::description(it))).collect();
    keys.sort_by_key(|(_, needed, _)| !needed);
    keys
}

fn traffic_document(schema: &Value) -> Value {
    json!({
        "version": 1,
        "kind": "traffic",
        "name": catalogue::kind(schema),
        "summary": catalogue::description(schema),
        "schema": schema,
    })
}

fn traffic_text(ui: &Ui, schema: &Value) -> String {
    let name = catalogue::kind(schema);
    let mut out = titled(ui, name, catalogue::description(schema));
    out += &format!("in a scenario: [[flows]] with kind = \"{name}\"\n");
    out += &heading(ui, "keys", "");
    let mut table = Table::of_words(3);
    for (key, needed, doc) in keys(schema) {
        table.row(vec![key.to_string(), if needed { "needed" } else { "" }.to_string(), doc.to_string()]);
    }
    out + &table.render(ui, "  ")
}
