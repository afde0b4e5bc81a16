//! `forebay explain`: describes one queue discipline, marker (it marks or colours packets, e.g. a token bucket),
//! congestion control or kind of traffic.

use forebay_aqm::base::common::Common;
use forebay_aqm::base::design::{DisciplineKind, Entry, Preset, ProbeSpec};
use forebay_aqm::base::markers::MarkerEntry;
use forebay_aqm::base::params::{ParamSet, ParamSpec};
use forebay_aqm::base::tc::{self, Tc};
use forebay_lab::commands::explain::{self, Subject, default, params};
use forebay_lab::commands::list::Kind;
use forebay_lab::commands::tc_line::{self, Differs, Rounded, WithoutEffect};
use forebay_lab::render::look::Tone;
use forebay_lab::render::text_table::Table;

use crate::args::ExplainArgs;
use crate::failure::{Exit, Failure};
use crate::render::output::Ui;

/// Explains a discipline, a marker, a congestion control or a kind of traffic.
pub(crate) fn command(args: &ExplainArgs, ui: &Ui) -> Result<Exit, Failure> {
    if let Some(spec) = &args.tc {
        return as_tc(spec, ui);
    }
    let name = args.name.as_deref().unwrap_or_default();
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix("linux:") {
        return qdisc(name, ui);
    }
    let subject = explain::find(name)?;
    if ui.json() {
        ui.print_json(&subject.document())?;
        return Ok(Exit::Done);
    }
    ui.print(&match &subject {
        Subject::Discipline(entry) => discipline_text(ui, entry),
        Subject::Marker(marker) => marker_text(ui, marker),
        Subject::Alias(alias, ours, tc) => alias_text(ui, alias, ours, tc),
        Subject::Traffic(kind) => traffic_text(ui, kind),
        Subject::Congestion(found) => {
            ui.look().titled(&found.name, &found.summary) + &format!("in a scenario: tcp = \"{}\"\n", found.name)
        }
    })?;
    Ok(Exit::Done)
}

/// Prints the command of tc for a discipline.
fn as_tc(spec: &str, ui: &Ui) -> Result<Exit, Failure> {
    let found = tc_line::line(spec)?;
    if ui.json() {
        ui.print_json(&found)?;
        return Ok(Exit::Done);
    }
    let mut out = format!("{}\n", found.command);
    if !found.rounded.is_empty() {
        out += &heading(ui, "rounded by the kernel", "");
        let milliseconds = |ns: u64| format!("{} ms", ns as f64 / 1e6);
        let row = |it: &Rounded| [it.argument.to_string(), milliseconds(it.asked_ns), milliseconds(it.used_ns)];
        out += &table(ui, ["argument", "asked", "used"], found.rounded.iter().map(row));
    }
    if !found.differs.is_empty() {
        out += &heading(ui, "differs in Linux", "tc has no argument for these values");
        let row = |it: &Differs| [it.key.to_string(), it.here.clone(), it.linux.clone()];
        out += &table(ui, ["parameter", "here", "Linux"], found.differs.iter().map(row));
    }
    if !found.without_effect.is_empty() {
        out += &heading(ui, "without effect here", "the simulation does not have them");
        let row = |it: &WithoutEffect| [it.argument.clone(), it.why.to_string()];
        out += &table(ui, ["argument", "why"], found.without_effect.iter().map(row));
    }
    ui.print(&out)?;
    Ok(Exit::Done)
}

/// Explains a qdisc of Linux: the parameters that `linux:NAME` takes.
#[cfg(target_os = "linux")]
fn qdisc(name: &str, ui: &Ui) -> Result<Exit, Failure> {
    let parameters = forebay_linux::tc::parameters(name).map_err(Failure::unavailable)?;
    if ui.json() {
        ui.print_json(&serde_json::json!({ "name": format!("linux:{name}"), "parameters": parameters }))?;
        return Ok(Exit::Done);
    }
    let mut out = ui.look().titled(&format!("linux:{name}"), "a qdisc of Linux, for run --on linux");
    out += &heading(ui, "parameters", "in the words of tc(8), with the same required ones");
    out += &ui.look().wrap("  ", &parameters.join(", "));
    out += "\ndefault of limit: the buffer of the link; of the others: those of the kernel\n";
    ui.print(&out)?;
    Ok(Exit::Done)
}

fn alias_text(ui: &Ui, name: &str, ours: &str, tc: &Tc) -> String {
    let mut out = ui.look().titled(name, &format!("tc(8)'s name for {ours} {}", tc.defaults));
    out += &heading(ui, "as tc(8) writes it", "");
    out += &ui.look().wrap("  ", &tc.synopsis(name));
    out + &format!("\nfor parameters and rule: forebay explain {ours}\n")
}

fn discipline_text(ui: &Ui, entry: &Entry) -> String {
    let kind = match entry.kind {
        DisciplineKind::Law => "control law: sees counters, not packets",
        DisciplineKind::Aqm => "per-packet AQM: decides at enqueue/dequeue, does not own the queue",
        DisciplineKind::Queue => "queue discipline: owns its queues",
    };
    let mut out = ui.look().titled(entry.name, &entry.summary());
    out += &ui.look().wrap("source  ", entry.about.source);
    out += &format!("kind    {kind}\n");
    out += &heading(ui, "rule", "");
    out += &entry.about.rule.lines().map(|line| format!("  {}\n", line.trim_end())).collect::<String>();
    out += &heading(ui, "parameters", &format!("as in --aqm \"{} {}\"", entry.name, example(entry)));
    out += &params_text(ui, &params(entry).map(|param| (param, default(entry, param))).collect::<Vec<_>>());
    out += &presets_text(ui, entry.presets);
    if let Some(tc) = entry.tc {
        out += &heading(ui, "as tc(8) writes it", &format!("without key=value; starts from {}", tc.defaults));
        out += &ui.look().wrap("  ", &tc.synopsis(entry.name));
        out += &tc::notes(entry.name, &tc).iter().map(|note| ui.look().wrap("  ", note)).collect::<String>();
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
        out += &ui.look().wrap(&format!("{:>3}. ", i + 1), deviation);
    }
    out
}

fn marker_text(ui: &Ui, marker: &MarkerEntry) -> String {
    let indented = |text: &str| text.lines().map(|line| format!("  {}\n", line.trim_end())).collect::<String>();
    let mut out = ui.look().titled(marker.name, marker.about.summary);
    out += &ui.look().wrap("source  ", marker.about.source);
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

/// A table of texts with three columns.
fn table<const N: usize>(ui: &Ui, head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::new(&head).words(&(1..N).collect::<Vec<_>>());
    rows.for_each(|row| table.row(row.into()));
    table.render(ui.look(), "  ")
}

/// An example of how a parameter is set, `name=value`: the first parameter with a numeric default.
fn example(entry: &Entry) -> String {
    let is_number = |param: &&ParamSpec| default(entry, param).starts_with(|c: char| c.is_ascii_digit());
    let param = params(entry).find(is_number).unwrap_or(&Common::SPECS[0]);
    format!("{}={}", param.name, default(entry, param))
}

fn heading(ui: &Ui, title: &str, remark: &str) -> String {
    let remark = if remark.is_empty() { String::new() } else { ui.tone(Tone::Faint, &format!("  {remark}")) };
    format!("\n{}{remark}\n", ui.tone(Tone::Strong, title))
}

/// The unit as printed; empty for dimensionless values, whose unit is `1`.
fn unit(unit: &str) -> &str {
    if unit == "1" { "" } else { unit }
}

/// Table of parameters with their defaults; a parameter without a default has the word `needed`.
fn params_text(ui: &Ui, params: &[(&ParamSpec, String)]) -> String {
    let mut table = Table::new(&["name", "default", "symbol"]).words(&[1, 2]);
    for (param, default) in params {
        let default = if default.is_empty() { "needed" } else { default };
        table.row(vec![param.name.to_string(), default.to_string(), param.symbol.to_string()]);
    }
    let mut lines =
        table.render(ui.look(), "  ").lines().map(|line| format!("{line}\n")).collect::<Vec<_>>().into_iter();
    let mut out = lines.next().unwrap_or_default();
    for (line, (param, _)) in lines.zip(params) {
        out += &line;
        out += &ui.look().wrap("      ", &param.accepted());
        let source = if param.source.is_empty() { String::new() } else { format!(" [{}]", param.source) };
        let text = ui.look().wrap("      ", &format!("{}{source}", param.doc.trim()));
        out += &text.lines().map(|line| format!("{}\n", ui.tone(Tone::Faint, line))).collect::<String>();
    }
    out
}

/// Printed in place of an empty list.
const NONE: &str = "  none\n";

fn presets_text(ui: &Ui, presets: &[Preset]) -> String {
    if presets.is_empty() {
        return heading(ui, "presets", "") + NONE;
    }
    let mut out = heading(ui, "presets", "write preset=NAME before other settings");
    for preset in presets {
        let settings = if preset.settings.is_empty() { "the defaults" } else { preset.settings };
        out += &ui.look().wrap(&format!("  {:<8} ", preset.name), settings);
        let source = ui.look().wrap(&" ".repeat(11), preset.source);
        out += &source.lines().map(|line| format!("{}\n", ui.tone(Tone::Faint, line))).collect::<String>();
    }
    out
}

fn probes_text(ui: &Ui, owner: &str, probes: &[ProbeSpec]) -> String {
    if probes.is_empty() {
        return heading(ui, "probes", "") + NONE;
    }
    let mut table = Table::of_words(3);
    for (name, probe) in probes.iter().filter_map(|probe| Some((probe.common_name()?, probe))) {
        let name = format!("{owner}.{name}");
        table.row(vec![name, unit(probe.unit).to_string(), probe.doc.trim().to_string()]);
    }
    heading(ui, "probes", "for series = [...] in [report]") + &table.render(ui.look(), "  ")
}

fn traffic_text(ui: &Ui, kind: &Kind) -> String {
    let name = &kind.name;
    let mut out = ui.look().titled(name, kind.summary);
    out += &format!("in a scenario: [[flows]] with kind = \"{name}\"\n");
    out += &heading(ui, "keys", "");
    let mut table = Table::of_words(3);
    for &(key, needed, doc) in &kind.keys {
        table.row(vec![key.to_string(), if needed { "needed" } else { "" }.to_string(), doc.to_string()]);
    }
    out + &table.render(ui.look(), "  ")
}
