//! Which experiments of a paper are compared with ns-2, at which values of the keys that they vary.

use std::collections::BTreeSet;

use forebay_aqm::Spec;
use forebay_lab::claim_file;
use forebay_lab::claims::Section;
use forebay_lab::load;
use forebay_lab::papers::Paper;
use forebay_lab::scenario::{Case, Contender, Overrides};

use super::disciplines::is_opponent;

/// Largest number of combinations of varied values for each section of `claims.toml`: first, middle and last.
const POINTS: usize = 3;

/// Parameters whose value ns-2 fixes, as discipline, key and value: the adaptation speed of Vq, and the rule of Feng's
/// Adaptive RED.
const FIXED: [(&str, &str, &str); 2] = [("avq", "alpha", "0.15"), ("feng_red", "rule", "ns2")];

/// The main scenario of a section of `claims.toml`, at one combination of the values that it varies (a case).
pub(super) struct Experiment {
    /// Name of the scenario.
    pub(super) scenario: String,
    pub(super) case: Case,
    /// Compared disciplines that ns-2 has too; drop-tail if there are none.
    pub(super) opponents: Vec<Contender>,
}

impl Experiment {
    /// The disciplines that ns-2 has too, for a case of a scenario.
    pub(super) fn of(scenario: &str, case: Case) -> Result<Self, String> {
        let opponents = opponents(&case)?;
        Ok(Self { scenario: scenario.to_string(), case, opponents })
    }

    /// The experiment's name, such as `case-1 [flows.ftp.count=40]`: scenario and varied values.
    pub(super) fn name(&self) -> String {
        let axes: Vec<String> = self.case.axes.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        if axes.is_empty() { self.scenario.clone() } else { format!("{} [{}]", self.scenario, axes.join(", ")) }
    }
}

/// The experiments of a paper: for each section of `claims.toml` the cases that agree with its `point`; of these the
/// first, the middle and the last.
pub(super) fn experiments(paper: &Paper) -> Result<Vec<Experiment>, String> {
    let file = claim_file::parse(paper.claims)?;
    let mut all: Vec<Experiment> = Vec::new();
    for section in &file.sections {
        let Some(scenario) = &section.scenario else { continue };
        for case in chosen(cases(paper, scenario)?, section) {
            let known = |other: &Experiment| other.scenario == *scenario && other.case.axes == case.axes;
            if !all.iter().any(known) {
                all.push(Experiment::of(scenario, case)?);
            }
        }
    }
    Ok(all)
}

fn cases(paper: &Paper, scenario: &str) -> Result<Vec<Case>, String> {
    let text = paper.scenarios.iter().find(|(name, _)| *name == scenario).map(|(_, text)| *text);
    let text = text.ok_or_else(|| format!("there is no scenario '{scenario}'"))?;
    let file = format!("papers/{}/{scenario}.toml", paper.name);
    load::parse(&file, text, &Overrides::default()).map_err(|e| e.to_string())
}

fn chosen(mut cases: Vec<Case>, section: &Section) -> Vec<Case> {
    cases.retain(|case| case.axes.iter().all(|(axis, value)| section.point.get(axis).is_none_or(|at| at == value)));
    if cases.len() <= POINTS {
        return cases;
    }
    let wanted = [0, cases.len() / 2, cases.len() - 1];
    cases.into_iter().enumerate().filter(|(at, _)| wanted.contains(at)).map(|(_, case)| case).collect()
}

fn opponents(case: &Case) -> Result<Vec<Contender>, String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for contender in case.scenario.compare.iter().filter(|contender| is_opponent(&contender.spec)) {
        let contender = as_in_ns2(contender)?;
        if seen.insert(contender.spec.canonical()) {
            found.push(contender);
        }
    }
    if found.is_empty() {
        found.push(Contender { label: "droptail (added)".to_string(), spec: parsed("droptail")? });
    }
    Ok(found)
}

/// The compared discipline as ns-2 can run it: without the threshold marker in front of it, and with the values of
/// [`FIXED`]. The label names these changes.
fn as_in_ns2(contender: &Contender) -> Result<Contender, String> {
    let (text, mut label) = (contender.spec.canonical(), contender.label.clone());
    let marked = !contender.spec.common().th.is_off();
    if marked {
        label.push_str(", without th");
    }
    let word = |word: &str| {
        let key = word.split('=').next().unwrap_or_default();
        let fixed = FIXED.iter().find(|(name, fixed, _)| *name == contender.spec.name() && *fixed == key);
        fixed.map_or_else(|| word.to_string(), |(_, key, value)| format!("{key}={value}"))
    };
    let words: Vec<String> = text.split(' ').filter(|word| !marked || !word.starts_with("th=")).map(word).collect();
    for changed in words.iter().filter(|word| !text.split(' ').any(|old| old == *word)) {
        label.push_str(&format!(", {changed}"));
    }
    Ok(Contender { label, spec: parsed(&words.join(" "))? })
}

fn parsed(text: &str) -> Result<Spec, String> {
    Spec::parse(text).map_err(|error| format!("{text}: {error:?}"))
}
