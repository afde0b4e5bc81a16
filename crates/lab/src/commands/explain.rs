//! `forebay explain NAME`: documentation of a discipline, marker, kind of traffic or congestion control. A marker is
//! code in front of a discipline that signals congestion or colours packets.

use std::collections::BTreeSet;

use forebay_aqm::base::common::Common;
use forebay_aqm::base::design::{Entry, Preset, ProbeSpec};
use forebay_aqm::base::markers::{MARKERS, MarkerEntry};
use forebay_aqm::base::nearest::{nearest, one_of};
use forebay_aqm::base::params::{ParamSet, ParamSpec};
use forebay_aqm::base::tc::{self, Tc};
use serde::Serialize;
use serde_json::Value;

use super::list::{self, Kind, Named};
use crate::own;
use crate::scenario::{Found, InputError};

/// What a name refers to.
pub enum Subject {
    /// A discipline.
    Discipline(&'static Entry),
    /// A marker.
    Marker(&'static MarkerEntry),
    /// A qdisc name that only tc uses: the name, our discipline for it, and the syntax of tc.
    Alias(&'static str, &'static str, Tc),
    /// A kind of traffic.
    Traffic(Kind),
    /// A congestion control.
    Congestion(Named),
}

/// Finds what a name refers to.
///
/// # Errors
/// The name is unknown. The hint in the error has the nearest known name.
pub fn find(name: &str) -> Result<Subject, InputError> {
    if let Some(entry) = own::entry(name) {
        return Ok(Subject::Discipline(entry));
    }
    let marker = MARKERS.iter().find(|marker| marker.name == name).map(Subject::Marker);
    let alias =
        || tc::aliases().find(|(alias, ..)| *alias == name).map(|(name, ours, tc)| Subject::Alias(name, ours, tc));
    let traffic = || list::flow_kinds().into_iter().find(|kind| kind.name == name).map(Subject::Traffic);
    let congestion = || list::congestion().into_iter().find(|found| found.name == name).map(Subject::Congestion);
    marker.or_else(alias).or_else(traffic).or_else(congestion).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> InputError {
    let known = [list::disciplines(), list::markers(), list::congestion(), list::traffic()].concat();
    let mut names: Vec<&str> = known.iter().map(|known| &*known.name).collect();
    // A congestion control and a kind of traffic may have the same name.
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let names: Vec<&str> = names.into_iter().chain(tc::aliases().map(|(alias, ..)| alias)).collect();
    let near = || nearest(name, names.iter().copied()).map(|near| format!("did you mean {near}?"));
    let near = tc::elsewhere(name).or_else(near);
    InputError::new("explain", "NAME", Found::text(name), one_of(name, &names)).hint(near)
}

/// The parameters of a discipline, followed by the parameters that all disciplines have.
pub fn params(entry: &Entry) -> impl Iterator<Item = &'static ParamSpec> {
    entry.params.iter().chain(Common::SPECS)
}

/// Default of a parameter, as text. A discipline that is a variant of another one, with a preset of it, may have its
/// own defaults.
pub fn default(entry: &Entry, param: &ParamSpec) -> String {
    let spec = own::parse(entry.name).ok();
    spec.and_then(|spec| spec.get(param.name)).unwrap_or_else(param.default)
}

/// The keys of the JSON document of `forebay explain --json` that depend on what the name refers to.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum About {
    Discipline {
        name: &'static str,
        summary: String,
        source: &'static str,
        implements: &'static str,
        variant_of: Option<Variant>,
        rule: &'static str,
        parameters: Vec<Parameter>,
        presets: Vec<PresetDocument>,
        tc: Option<TcDocument>,
        probes: Vec<Probe>,
        deviations: &'static [&'static str],
    },
    Marker {
        name: &'static str,
        summary: &'static str,
        source: &'static str,
        rule: &'static str,
        written: Vec<&'static str>,
        parameters: Vec<Parameter>,
        presets: Vec<PresetDocument>,
        probes: Vec<Probe>,
        deviations: &'static [&'static str],
    },
    Alias {
        name: &'static str,
        discipline: &'static str,
        tc: TcDocument,
    },
    Traffic {
        name: &'static str,
        summary: &'static str,
        schema: Value,
    },
    Congestion {
        name: String,
        summary: String,
    },
}

/// The JSON document of `forebay explain --json`.
#[derive(Serialize)]
pub struct Document {
    version: u32,
    #[serde(flatten)]
    about: About,
}

#[derive(Serialize)]
struct Variant {
    name: &'static str,
    preset: &'static str,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    default: Option<String>,
    unit: Option<&'static str>,
    range: Option<[f64; 2]>,
    words: Option<Vec<&'static str>>,
    accepts: String,
    symbol: &'static str,
    source: &'static str,
    meaning: &'static str,
}

#[derive(Serialize)]
struct PresetDocument {
    name: &'static str,
    settings: &'static str,
    source: &'static str,
}

#[derive(Serialize)]
struct TcDocument {
    synopsis: String,
    defaults: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<String>>,
}

#[derive(Serialize)]
struct Probe {
    name: String,
    unit: &'static str,
    meaning: &'static str,
}

impl Subject {
    /// The JSON document about what the name refers to.
    pub fn document(&self) -> Document {
        let about = match self {
            Self::Discipline(entry) => discipline(entry),
            Self::Marker(marker) => of_marker(marker),
            Self::Alias(name, discipline, tc) => {
                let tc = TcDocument { synopsis: tc.synopsis(name), defaults: tc.defaults, notes: None };
                About::Alias { name, discipline, tc }
            }
            Self::Traffic(kind) => {
                let Kind { name, summary, schema, .. } = kind.clone();
                About::Traffic { name, summary, schema }
            }
            Self::Congestion(Named { name, summary }) => {
                About::Congestion { name: name.clone(), summary: summary.clone() }
            }
        };
        Document { version: 1, about }
    }
}

fn discipline(entry: &'static Entry) -> About {
    About::Discipline {
        name: entry.name,
        summary: entry.summary(),
        source: entry.about.source,
        implements: entry.kind.word(),
        variant_of: entry.variant_of.map(|(name, preset)| Variant { name, preset }),
        rule: entry.about.rule,
        parameters: params(entry).map(|param| parameter(param, default(entry, param))).collect(),
        presets: presets(entry.presets),
        tc: entry.tc.map(|tc| {
            let notes = tc::notes(entry.name, &tc);
            TcDocument { synopsis: tc.synopsis(entry.name), defaults: tc.defaults, notes: Some(notes) }
        }),
        probes: probes(entry.name, entry.probes),
        deviations: entry.about.deviations,
    }
}

fn of_marker(marker: &'static MarkerEntry) -> About {
    About::Marker {
        name: marker.name,
        summary: marker.about.summary,
        source: marker.about.source,
        rule: marker.about.rule,
        written: marker.written.lines().collect(),
        parameters: marker.params().map(|param| parameter(param, (param.default)())).collect(),
        presets: presets(marker.presets),
        probes: probes(marker.name, marker.probes),
        deviations: marker.about.deviations,
    }
}

fn parameter(param: &'static ParamSpec, default: String) -> Parameter {
    let words = param.words().map(Iterator::collect::<Vec<_>>);
    Parameter {
        name: param.name,
        default: (!default.is_empty()).then_some(default),
        unit: words.is_none().then_some(param.unit),
        range: param.range_in.map(|_| [param.range.0, param.range.1]),
        words,
        accepts: param.accepted(),
        symbol: param.symbol,
        source: param.source,
        meaning: param.doc.trim(),
    }
}

fn presets(presets: &[Preset]) -> Vec<PresetDocument> {
    let one = |p: &Preset| PresetDocument { name: p.name, settings: p.settings, source: p.source };
    presets.iter().map(one).collect()
}

fn probes(owner: &str, probes: &[ProbeSpec]) -> Vec<Probe> {
    let one = |probe: &ProbeSpec| {
        let name = format!("{owner}.{}", probe.name);
        Probe { name, unit: probe.unit, meaning: probe.doc.trim() }
    };
    probes.iter().map(one).collect()
}
