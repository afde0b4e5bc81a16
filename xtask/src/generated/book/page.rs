//! The pages of the book on disciplines and markers (signals or colours in front of a queue), from their declarations.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::common::Common;
use forebay_aqm::base::design::{Entry, Preset, ProbeSpec};
use forebay_aqm::base::markers::{MARKERS, MarkerEntry};
use forebay_aqm::base::params::{ParamSet, ParamSpec};
use forebay_aqm::base::tc;
use serde_json::{Value, json};

use super::marking;
use crate::base::rules;
use crate::base::tree::Tree;
use pages::page;

/// The book's table of contents, as mdBook reads it.
pub(super) fn summary() -> Result<String, String> {
    let disciplines: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    let markers: Vec<&str> = MARKERS.iter().map(|marker| marker.name).collect();
    page!("summary.md.jinja", json!({ "disciplines": disciplines, "markers": markers }))
}

pub(super) fn disciplines() -> Result<String, String> {
    let all: Vec<_> = ENTRIES.iter().map(|entry| [entry.name.to_string(), entry.summary()]).collect();
    page!("index.md.jinja", json!({ "all": all }))
}

pub(super) fn markers() -> Result<String, String> {
    let all: Vec<_> = MARKERS.iter().map(|marker| [marker.name, marker.about.summary]).collect();
    page!("markers.md.jinja", json!({ "all": all }))
}

pub(super) fn discipline(entry: &Entry, tree: &Tree) -> Result<String, String> {
    let about = entry.about;
    let rule = entry.variant_of.map_or(entry.name, |(base, _)| base);
    let variant = entry.variant_of.map(|(base, preset)| {
        let preset = entry.presets.iter().find(|known| known.name == preset);
        [base, preset.map_or("", |preset| preset.settings)]
    });
    let tc = entry.tc.map(|tc| {
        json!({ "synopsis": tc.synopsis(entry.name), "defaults": tc.defaults, "notes": tc::notes(entry.name, &tc) })
    });
    let deviations = about.deviations.iter().map(|text| sentence(text.trim_end_matches('.'), entry.params));
    page!(
        "rule.md.jinja",
        json!({
            "name": entry.name,
            "variant": variant,
            "summary": sentence(about.summary, entry.params),
            "source": about.source,
            "rule": about.rule,
            "picture": format!("Queue and state of {} against time", entry.name),
            "caption": "",
            "params": parameters(entry.params.iter().chain(Common::SPECS)),
            "presets": presets(entry.presets),
            "tc": tc,
            "probes": probes(entry.probes),
            "deviations": deviations.collect::<Vec<_>>(),
            "code": rules::file(tree, rule).unwrap_or(rule),
            "published": "listing",
            "reference": reference(rule, tree),
            "golden": entry.name,
            "faults": faults(rule, tree),
            "file": rule,
        })
    )
}

pub(super) fn marker(marker: &MarkerEntry, tree: &Tree) -> Result<String, String> {
    let (about, rule) = (marker.about, marker.rule());
    let deviations = about.deviations.iter().map(|deviation| sentence(deviation, &[]));
    page!(
        "rule.md.jinja",
        json!({
            "name": marker.name,
            "variant": null,
            "summary": sentence(about.summary, &[]),
            "source": about.source,
            "rule": about.rule,
            "picture": format!("{} at work", marker.name),
            "caption": marking::caption(marker),
            "written": marker.written,
            "params": parameters(marker.params()),
            "presets": presets(marker.presets),
            "tc": null,
            "probes": probes(marker.probes),
            "deviations": deviations.collect::<Vec<_>>(),
            "code": marker.code,
            "published": "rule",
            "reference": reference(rule, tree),
            "golden": rule,
            "faults": faults(rule, tree),
            "file": rule,
        })
    )
}

/// The rows of a page's table of parameters; without a default a parameter is required.
fn parameters<'a>(params: impl Iterator<Item = &'a ParamSpec>) -> Vec<Value> {
    params.map(|p| json!([p.name, (p.default)(), p.accepted(), p.symbol, p.doc, p.source])).collect()
}

fn presets(presets: &[Preset]) -> Vec<[&str; 3]> {
    presets.iter().map(|preset| [preset.name, preset.settings, preset.source]).collect()
}

fn probes(probes: &[ProbeSpec]) -> Vec<[String; 3]> {
    let row = |probe: &ProbeSpec| Some([probe.common_name()?, probe.unit.to_string(), probe.doc.to_string()]);
    probes.iter().filter_map(row).collect()
}

/// Number of deliberate faults in the discipline or marker `rule`, all of which its tests must find.
fn faults(rule: &str, tree: &Tree) -> usize {
    let file = tree.get(&format!("crates/aqm/mutants/{rule}.txt"));
    file.map_or(0, |file| file.text.split("\n\n").filter(|block| !block.trim().is_empty()).count())
}

/// The folder (with subfolders) of the literal transcriptions of the disciplines' published listings.
pub(crate) const REFERENCES: &str = "crates/aqm/tests/reference/";

/// File with the transcribed listing of the discipline or marker `rule`.
fn reference(rule: &str, tree: &Tree) -> String {
    let name = format!("{rule}.rs");
    tree.below(REFERENCES, &name).map_or(format!("{REFERENCES}{name}"), |file| file.path.clone())
}

/// `text` with an upper-case first letter, unless it begins with the name of a parameter, a setting or a version.
fn sentence(text: &str, params: &[ParamSpec]) -> String {
    let first = text.split(char::is_whitespace).next().unwrap_or_default();
    let word = first.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_param = params.iter().chain(Common::SPECS).any(|param| param.name == word);
    if is_param || first.contains(|c: char| matches!(c, '_' | '=') || c.is_ascii_digit()) {
        return text.to_string();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_aqm::Spec;

    #[test]
    fn parameter_names_at_sentence_start_stay_lower_case() {
        let of = |text: &str| sentence(text, Spec::parse("aaqm").unwrap().entry().params);
        for text in ["dt, p1 and p2 are lost", "rate_basis=accepted by default", "ns-2.35 has it", "th: a share"] {
            assert_eq!(of(text), text);
        }
        assert_eq!(["dtx is none", "the paper", ""].map(of), ["Dtx is none", "The paper", ""]);
    }

    #[test]
    fn pages_list_parameters_and_deviations_from_published_source() {
        let tree = Tree::of(&[("crates/aqm/mutants/token_bucket.txt", "a\n\nb")]);
        let complete = |page: &str, name: &str, rows: &[(String, bool)], deviations: usize| {
            for (row, is_probe) in rows {
                let row = if *is_probe { format!("\n| `{name}.{row}` | ") } else { format!("\n| `{row}` | ") };
                assert!(page.contains(&row), "{name}: no {row}");
            }
            (1..=deviations).for_each(|n| assert!(page.contains(&format!("\n{n}. ")), "{name}: no difference {n}"));
        };
        for entry in ENTRIES {
            let page = discipline(entry, &tree).unwrap();
            let mut rows: Vec<_> =
                entry.params.iter().chain(Common::SPECS).map(|p| (p.name.to_string(), false)).collect();
            rows.extend(entry.presets.iter().map(|preset| (preset.name.to_string(), false)));
            rows.extend(entry.probes.iter().filter_map(|probe| Some((probe.common_name()?, true))));
            complete(&page, entry.name, &rows, entry.about.deviations.len());
            let nones = usize::from(entry.presets.is_empty()) + usize::from(entry.probes.is_empty());
            assert_eq!(page.matches("\n\nNone.\n").count(), nones, "{}", entry.name);
        }
        for one in MARKERS {
            let page = marker(one, &tree).unwrap();
            let rows: Vec<_> = one.params().map(|param| (param.name.to_string(), false)).collect();
            complete(&page, one.name, &rows, one.about.deviations.len());
            assert_eq!(page.contains("2 deliberate faults"), one.name == "token-bucket");
        }
        let rio = discipline(Spec::parse("rio").unwrap().entry(), &tree).unwrap();
        assert!(rio.contains("| `in` | `40p/80p/0.02` | min/max/max_p such as 20p/40p/0.1"), "{rio}");
        let bucket = marker(&MARKERS[1], &tree).unwrap();
        assert!(bucket.contains("| `cir` | needed | a rate such as 15mbit, from 1 to 1e15 bit/s | CIR |"), "{bucket}");
    }
}
