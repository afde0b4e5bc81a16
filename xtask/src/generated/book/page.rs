//! The texts of the book, from the declarations of the disciplines.

use std::fmt::Write;

use forebay_aqm::base::common::Common;
use forebay_aqm::base::design::{Entry, Preset, ProbeSpec};
use forebay_aqm::base::markers::MARKERS;
use forebay_aqm::base::params::{ParamSet, ParamSpec};
use forebay_aqm::base::tc;

use crate::base::rules;
use crate::base::tree::Tree;

/// The table of contents, as mdBook reads it.
pub(super) fn summary(entries: &[Entry]) -> String {
    let mut out = String::from("# Summary\n\n");
    let chapters = |out: &mut String, all: &[(&str, &str)]| {
        for (title, file) in all {
            let _ = writeln!(out, "- [{title}](../../{file})");
        }
    };
    chapters(&mut out, BEFORE);
    out += "- [Disciplines](disciplines.md)\n";
    for entry in entries {
        let _ = writeln!(out, "  - [{0}](disciplines/{0}.md)", entry.name);
    }
    out += "- [Markers](markers.md)\n";
    for marker in MARKERS {
        let _ = writeln!(out, "  - [{0}](markers/{0}.md)", marker.name);
    }
    chapters(&mut out, AFTER);
    out
}

/// Chapters before those that are written from the code: titles and files of `docs`.
const BEFORE: &[(&str, &str)] = &[
    ("Quick start", "quick-start.md"),
    ("Choosing an AQM", "choosing.md"),
    ("From a paper to a discipline in an hour", "tutorial.md"),
];
/// And after them.
const AFTER: &[(&str, &str)] = &[
    ("Scenario reference", "scenario.md"),
    ("Networks", "networks.md"),
    ("Access networks", "access-networks.md"),
    ("TCP", "tcp.md"),
    ("SCTP", "sctp.md"),
    ("From Python", "python.md"),
    ("Real packets", "live.md"),
    ("A device under a law", "attach.md"),
    ("From simulation to real TCP", "sim-to-real.md"),
    ("Theory", "theory.md"),
    ("Fluid and packets", "fluid.md"),
    ("Queues and queueing theory", "queues.md"),
    ("Throughput and its formulas", "throughput.md"),
    ("Findings", "findings.md"),
    ("Claims as data", "claims.md"),
    ("Verdicts", "verdicts.md"),
    ("Validation: ns-2", "validation.md"),
    ("Validation: ns-3", "validation-ns3.md"),
    ("Requirements of RFCs", "rfc-coverage.md"),
    ("Performance", "performance.md"),
    ("Questions", "faq.md"),
    ("Licences", "licences.md"),
];

/// All disciplines, a line each.
pub(super) fn index(entries: &[Entry]) -> String {
    let mut out = String::from(
        "# Disciplines\n\nWritten by `cargo xtask docs` from the code; `forebay explain NAME` says the same.\n\n\
         | name | what it does |\n|---|---|\n",
    );
    for entry in entries {
        let _ = writeln!(out, "| [`{0}`](disciplines/{0}.md) | {1} |", entry.name, cell(&entry.summary()));
    }
    out + "\n" + COMMON
}

const COMMON: &str = "\
Every discipline is one file that reads beside its source, is compared with a literal transcription of the published
listing on random traffic, has a golden trace, and a list of deliberate faults that its tests must find. The pictures
show 20 long TCP flows through 20 Mb/s, and 40 more from 10 s to 20 s; drop-tail is drawn in grey. Parameters that every
discipline takes beside its own are `ecn`, `th` and `hard_limit`.
";

/// The page of one discipline.
pub(super) fn discipline(entry: &Entry, tree: &Tree) -> String {
    let about = entry.about;
    let mut out = format!("# {}\n\n", entry.name);
    if let Some((base, preset)) = entry.variant_of {
        let preset = entry.presets.iter().find(|known| known.name == preset);
        let settings = preset.map_or("", |preset| preset.settings);
        let _ = writeln!(out, "`{base} {settings}`. What follows is of [`{base}`]({base}.md).\n");
    }
    let _ = writeln!(out, "{}.\n\nSource: {}.\n", sentence(about.summary, entry.params), about.source);
    let _ = writeln!(out, "```text\n{}\n```\n", about.rule);
    let _ = writeln!(out, "![Queue and state of {0} against time](../pictures/{0}.svg)\n", entry.name);
    out += &parameters(entry.params.iter().chain(Common::SPECS));
    out += &presets(entry.presets);
    if let Some(tc) = entry.tc {
        let _ =
            writeln!(out, "\n## As tc(8) writes it\n\n`{}`\n\nstarts from `{}`.", tc.synopsis(entry.name), tc.defaults);
        for note in tc::notes(entry.name, &tc) {
            let _ = writeln!(out, "\n{note}.");
        }
    }
    out += &probes(entry.name, entry.probes);
    if !about.deviations.is_empty() {
        out += "\n## Differences from the source\n\n";
    }
    for (i, deviation) in about.deviations.iter().enumerate() {
        let _ = writeln!(out, "{}. {}.", i + 1, sentence(deviation.trim_end_matches('.'), entry.params));
    }
    out + &checks(entry, tree)
}

/// What can be set. No default: it has to be given.
pub(super) fn parameters<'a>(params: impl Iterator<Item = &'a ParamSpec>) -> String {
    let mut out = String::from(
        "## Parameters\n\n| name | default | accepted | symbol | meaning | source |\n|---|---|---|---|---|---|\n",
    );
    for param in params {
        let default = match (param.default)() {
            none if none.is_empty() => "needed".to_string(),
            default => format!("`{}`", cell(&default)),
        };
        let _ = writeln!(
            out,
            "| `{}` | {default} | {} | {} | {} | {} |",
            param.name,
            cell(&param.accepted()),
            cell(param.symbol),
            cell(param.doc.trim()),
            cell(param.source)
        );
    }
    out
}

/// Named settings, if there are any.
pub(super) fn presets(presets: &[Preset]) -> String {
    if presets.is_empty() {
        return "\n## Presets\n\nNone.\n".to_string();
    }
    let mut out = String::from("\n## Presets\n\n| name | settings | source |\n|---|---|---|\n");
    for preset in presets {
        let _ = writeln!(out, "| `{}` | `{}` | {} |", preset.name, cell(preset.settings), cell(preset.source));
    }
    out
}

/// What can be plotted, if there is anything.
pub(super) fn probes(owner: &str, probes: &[ProbeSpec]) -> String {
    if probes.is_empty() {
        return "\n## Probes\n\nNone.\n".to_string();
    }
    let mut out = String::from("\n## Probes\n\n| name | unit | meaning |\n|---|---|---|\n");
    for probe in probes {
        let _ = writeln!(out, "| `{owner}.{}` | {} | {} |", probe.name, cell(probe.unit), cell(probe.doc.trim()));
    }
    out
}

/// How many deliberate faults the tests must find.
pub(super) fn faults(rule: &str, tree: &Tree) -> usize {
    let file = tree.get(&format!("crates/aqm/mutants/{rule}.txt"));
    file.map_or(0, |file| file.text.split("\n\n").filter(|block| !block.trim().is_empty()).count())
}

/// Literal transcriptions of published listings, in this folder and those below it.
pub(crate) const REFERENCES: &str = "crates/aqm/tests/reference/";

/// Where the listing of `rule` is transcribed.
pub(super) fn reference(rule: &str, tree: &Tree) -> String {
    let name = format!("{rule}.rs");
    tree.below(REFERENCES, &name).map_or(format!("{REFERENCES}{name}"), |file| file.path.clone())
}

/// What guards the rule.
fn checks(entry: &Entry, tree: &Tree) -> String {
    let rule = entry.variant_of.map_or(entry.name, |(base, _)| base);
    let (faults, reference) = (faults(rule, tree), reference(rule, tree));
    format!(
        "\n## In the code\n\n\
         | what | where |\n|---|---|\n\
         | rule | `{}` |\n\
         | published listing, transcribed | `{reference}` |\n\
         | golden trace | `crates/aqm/golden/{}.txt` |\n\
         | {faults} deliberate faults | `crates/aqm/mutants/{rule}.txt` |\n",
        rules::file(tree, rule).unwrap_or(rule),
        entry.name
    )
}

/// `text` as a sentence begins, unless with something that is written as it is: a parameter, a setting, a name.
pub(super) fn sentence(text: &str, params: &[ParamSpec]) -> String {
    let first = text.split(char::is_whitespace).next().unwrap_or_default();
    let word = first.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_param = params.iter().chain(Common::SPECS).any(|param| param.name == word);
    if is_param || first.contains(|c: char| matches!(c, '_' | '=') || c.is_ascii_digit()) {
        return text.to_string();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `text` within a table.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::{ENTRIES, Spec};

    #[test]
    fn names_are_no_beginning_of_a_sentence() {
        let entry = Spec::parse("aaqm").unwrap().entry();
        let of = |text: &str| sentence(text, entry.params);
        for text in ["dt, p1 and p2 are lost", "rate_basis=accepted by default", "ns-2.35 has it", "th: a share"] {
            assert_eq!(of(text), text);
        }
        assert_eq!(of("dtx is none"), "Dtx is none");
        assert_eq!([of("the paper"), of("")], ["The paper".to_string(), String::new()]);
    }

    #[test]
    fn what_is_accepted_has_its_form() {
        let rio = discipline(Spec::parse("rio").unwrap().entry(), &Tree::of(&[]));
        assert!(rio.contains("| `in` | `40p/80p/0.02` | min/max/max_p such as 20p/40p/0.1"), "{rio}");
        assert!(rio.contains("0.95/125s:0.5/175s:0.95") && rio.contains("| auto, or "), "{rio}");
    }

    #[test]
    fn a_page_has_every_parameter_preset_probe_and_deviation() {
        for entry in ENTRIES {
            let page = discipline(entry, &Tree::of(&[]));
            let has = |text: String| assert!(page.contains(&text), "{}: no {text}", entry.name);
            entry.params.iter().chain(Common::SPECS).for_each(|p| has(format!("\n| `{}` | ", p.name)));
            entry.presets.iter().for_each(|p| has(format!("\n| `{}` | ", p.name)));
            entry.probes.iter().for_each(|p| has(format!("\n| `{}.{}` | ", entry.name, p.name)));
            (1..=entry.about.deviations.len()).for_each(|n| has(format!("\n{n}. ")));
            let says_none = |part: &str| page.contains(&format!("\n## {part}\n\nNone.\n"));
            assert_eq!(says_none("Presets"), entry.presets.is_empty(), "{}", entry.name);
            assert_eq!(says_none("Probes"), entry.probes.is_empty(), "{}", entry.name);
        }
    }
}
