//! Assembles the data of `report.html`, which the script in `assets/` draws: facts about the runs (seeds, duration,
//! machine), claims of the paper with verdicts, and sections with figures and tables. A section is the runs of a
//! scenario, or an experiment of a paper. A link under study is one whose results are recorded.

use serde_json::Value;

use super::compact;
use super::each_run::Runs;
use super::real::Real;
use super::shapes::{Check, Claim, Figure, PageData, Section, Shown, Table, Variant};
use super::summary_tables::{self, significant};
use super::traffic;
use crate::claims::grade::Grade;
use crate::claims::registration::Registered;
use crate::claims::{By, CheckResult, ClaimResult};
use crate::render::answer;
use crate::results::meta::{PaperMeta, Provenance, RunMeta, SectionMeta};
use crate::results::summary::Summary;

/// What `meta.json` says about the results as a whole, for the head of the page.
pub(super) struct About<'a> {
    pub(super) title: &'a str,
    pub(super) subtitle: Option<&'a str>,
    /// The registration of the claims before the runs.
    pub(super) registered: Option<&'a Registered>,
    pub(super) forebay: &'a str,
    /// Number of seeds, as text.
    pub(super) seeds: Option<String>,
    pub(super) authors: Option<&'a str>,
    pub(super) provenance: &'a Provenance,
}

impl<'a> About<'a> {
    /// From the `meta.json` of the runs of one scenario.
    pub(super) fn run(meta: &'a RunMeta) -> Self {
        Self {
            registered: None,
            title: &meta.title,
            subtitle: meta.subtitle.as_deref(),
            forebay: &meta.forebay,
            seeds: Some(meta.seeds.len().to_string()),
            authors: None,
            provenance: &meta.provenance,
        }
    }

    /// From the `meta.json` of the reproduction of a paper.
    pub(super) fn paper(meta: &'a PaperMeta) -> Self {
        Self {
            registered: meta.registered.as_ref(),
            title: &meta.title,
            subtitle: meta.subtitle.as_deref(),
            forebay: &meta.forebay,
            seeds: meta.seeds.as_ref().map(ToString::to_string),
            authors: meta.authors.as_deref(),
            provenance: &meta.provenance,
        }
    }
}

/// A page under construction.
pub(super) struct Page(PageData);

impl Page {
    /// A page without sections. `real`: the runs whose packets were real and not simulated, if there are any;
    /// `several`: whether some discipline has runs with several seeds.
    pub(super) fn new(about: &About<'_>, real: Option<&Real>, several: bool) -> Self {
        let usual = match several {
            true => {
                let seeds = about.seeds.as_deref().map_or("seeds".to_string(), |n| format!("{n} seeds"));
                format!("Means over {seeds} have 95 % confidence intervals; differences are paired by seed.")
            }
            false => "One run each, so the spread is unknown.".to_string(),
        };
        let mut page = Self(PageData {
            title: about.title.to_string(),
            subtitle: about.subtitle.map_or(usual, str::to_string),
            version: format!("forebay {}", about.forebay),
            command: about.provenance.origin.command.clone(),
            facts: facts(about, real),
            real: real.map(Real::notice),
            ..PageData::default()
        });
        if let Some(real) = real {
            page.add("timing", "Timing", None, Vec::new(), vec![real.table()]);
        }
        page
    }

    /// Adds to the subtitle `sweep`, the keys that vary with their values, if there are any, and `setting`, a
    /// description of the scenario with the first of these values.
    pub(super) fn setting(&mut self, setting: &str, sweep: &str) {
        let sweep = if sweep.is_empty() { String::new() } else { format!("Sweep: {sweep}. At its first point: ") };
        self.0.subtitle = format!("{sweep}{setting} {}", self.0.subtitle);
    }

    /// Adds the text of the scenario file, with all defaults.
    pub(super) fn scenario(&mut self, text: String) {
        self.0.scenario = Some(text);
    }

    /// Adds the names of the links under study to the facts about the runs, if the links have names.
    pub(super) fn links(&mut self, links: &[Runs]) {
        let names: Vec<&str> = links.iter().filter_map(Runs::link).collect();
        let word = if names.len() == 1 { "Link" } else { "Links" };
        if !names.is_empty() {
            self.0.facts.insert(0, (word.to_string(), names.join(", ")));
        }
    }

    /// Adds a section with figures of models, which needs no runs.
    pub(super) fn theory(&mut self, about: &SectionMeta, figures: Vec<Figure>) {
        self.add(&about.id, &about.title, Some(&about.text), figures, Vec::new());
    }

    /// Adds an experiment with its standard figures and tables, for each link under study. Links after the first have
    /// only curves over time and tables, under their own headings.
    pub(super) fn section(&mut self, about: &SectionMeta, links: &[Runs]) {
        let SectionMeta { id, title, text, .. } = about;
        let (figures, tables) =
            links.first().map_or_else(Default::default, |first| (first.figures(id), summary_tables::tables(first, id)));
        let place = links.first().map_or_else(String::new, Runs::place);
        self.add(id, &format!("{title}{place}"), Some(text), figures, tables);
        self.in_folder(about);
        self.further_links(about, links);
    }

    /// Adds the runs of a scenario: the sentences that say which discipline is best, then the results of each class of
    /// traffic (a group of flows), then those of the queue.
    pub(super) fn scenario_section(&mut self, about: &SectionMeta, links: &[Runs], summary: &Summary) {
        let Some(first) = links.first() else { return };
        self.0.answer = answer::answer(summary);
        let SectionMeta { id, title, .. } = about;
        let figures = traffic::figures(first, id);
        let tables = traffic::tables(summary, id, first.are_several());
        if !tables.is_empty() {
            self.add(id, &format!("{title}{}", first.place()), None, Vec::new(), tables);
        }
        if !figures.is_empty() {
            self.add(
                &format!("{id}-delay"),
                &format!("Delay and throughput{}", first.place()),
                None,
                figures,
                Vec::new(),
            );
        }
        let (figures, tables) = (first.figures(&format!("{id}-queue")), summary_tables::tables(first, id));
        let text = first.curves_of_some_cases();
        self.add(&format!("{id}-queue"), &format!("The queue{}", first.place()), text.as_deref(), figures, tables);
        for (i, link) in links.iter().enumerate().skip(1) {
            let id = format!("{id}-link{}", i + 1);
            let mut tables = traffic::tables_of_link(link, &summary.shown, &id);
            tables.extend(summary_tables::tables(link, &id));
            self.add(&id, &format!("{title}{}", link.place()), None, link.curves(&id), tables);
        }
    }

    /// Adds the figures that the scenario declares.
    pub(super) fn own_figures(&mut self, figures: Vec<Figure>) {
        if !figures.is_empty() {
            self.add("figures", "Figures of the scenario", None, figures, Vec::new());
        }
    }

    /// Adds an experiment with `own`, the figures that the paper has of it, and `printed`, its tables with the paper's
    /// numbers. The figures replace the standard ones, except those of the disciplines' internal variables and of the
    /// queue distribution. The tables are above the standard ones.
    pub(super) fn paper_section(&mut self, about: &SectionMeta, links: &[Runs], own: Vec<Figure>, printed: Vec<Table>) {
        let Some(first) = links.first().filter(|_| !own.is_empty() || !printed.is_empty()) else {
            return self.section(about, links);
        };
        let id = &about.id;
        let others = if own.is_empty() { first.figures(id) } else { first.inner_figures(id) };
        let figures = own.into_iter().chain(others).collect();
        let mut tables = printed;
        tables.extend(summary_tables::tables(first, id));
        let title = format!("{}{}", about.title, first.place());
        self.add(id, &title, Some(&about.text), figures, tables);
        self.in_folder(about);
        self.further_links(about, links);
    }

    /// Adds a section of a suite: the figures that the suite declares, and a link to the page with all results.
    pub(super) fn suite_section(&mut self, about: &SectionMeta, figures: Vec<Figure>, printed: Vec<Table>, page: &str) {
        self.add(&about.id, &about.title, Some(&about.text), figures, printed);
        self.in_folder(about);
        if let Some(section) = self.0.sections.last_mut() {
            section.page = Some(page.to_string());
        }
    }

    /// Says where the scenario of the last section is.
    fn in_folder(&mut self, about: &SectionMeta) {
        if let Some(section) = self.0.sections.last_mut() {
            section.folder.clone_from(&about.scenario);
        }
    }

    /// Adds the tables at the top of a suite's report.
    pub(super) fn overview(&mut self, tables: Vec<Table>) {
        if !tables.is_empty() {
            self.add("summary", "Summary", None, Vec::new(), tables);
        }
    }

    fn further_links(&mut self, about: &SectionMeta, links: &[Runs]) {
        let SectionMeta { id, title, .. } = about;
        for (i, link) in links.iter().enumerate().skip(1) {
            let id = format!("{id}-link{}", i + 1);
            let (figures, tables) = (link.curves(&id), summary_tables::tables(link, &id));
            self.add(&id, &format!("{title}{}", link.place()), None, figures, tables);
        }
    }

    fn add(&mut self, id: &str, title: &str, text: Option<&str>, figures: Vec<Figure>, tables: Vec<Table>) {
        self.0.sections.push(Section {
            id: id.to_string(),
            title: title.to_string(),
            text: text.map(str::to_string),
            figures: figures.iter().map(|figure| figure.id.clone()).collect(),
            tables: tables.iter().map(|table| table.id.clone()).collect(),
            page: None,
            folder: None,
        });
        self.0.figures.extend(figures);
        self.0.tables.extend(tables);
    }

    pub(super) fn finish(mut self, claims: &[ClaimResult]) -> PageData {
        let figures = self.0.figures.iter().map(|figure| ("figure", &figure.id, &figure.claims));
        let tables = self.0.tables.iter().map(|table| ("table", &table.id, &table.claims));
        let all: Vec<_> = figures.chain(tables).collect();
        let shown = |claim: &str| -> Vec<Shown> {
            let has = |claims: &Option<Vec<String>>| claims.iter().flatten().any(|known| known == claim);
            let those = all.iter().filter(|(.., claims)| has(claims));
            those.map(|(kind, id, _)| Shown { kind, id: (*id).clone() }).collect()
        };
        self.0.claims = claims.iter().map(|c| self::claim(c, shown(&c.id))).collect();
        compact::compact(&mut self.0.figures);
        self.0
    }
}

/// Facts about the runs for the head of the page, such as the number of seeds: name and value.
fn facts(about: &About<'_>, real: Option<&Real>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| facts.extend(value.map(|value| (name.to_string(), value)));
    let length = about.provenance.facts.duration_s.zip(about.provenance.facts.warmup_s);
    let jitter = about.provenance.facts.jitter_us;
    let jitter =
        jitter.map(|us| format!("uniform, 0 to {} µs", significant(us).trim_end_matches('0').trim_end_matches('.')));
    match real {
        Some(real) if !real.mixed => {
            fact("Length", length.map(|(duration, _)| format!("{} s of real time", significant(duration))));
        }
        _ => {
            fact("Seeds of each run", about.seeds.clone());
            let [name, jittered] = match real {
                Some(_) => ["Length of each run", "Processing jitter of simulated hosts"],
                None => ["Simulated", "Processing jitter of hosts"],
            };
            fact(name, length.map(|(duration, warmup)| format!("{duration} s, the first {warmup} s discarded")));
            fact(jittered, jitter);
        }
    }
    fact("Claims", about.registered.map(Registered::text));
    fact("Authors of the paper", about.authors.map(str::to_string));
    let guest = about.provenance.facts.guest.as_deref().and_then(|parts| parts.first());
    fact("Guest kernel", guest.map(|version| format!("Linux, {version}, in virtual time")));
    fact("Version", about.provenance.origin.revision().map(str::to_string));
    fact("Machine", about.provenance.machine.cpu.clone());
    facts
}

fn claim(c: &ClaimResult, shown: Vec<Shown>) -> Claim {
    let variants = c.evidence.variants.iter().map(|v| Variant {
        name: v.name.clone(),
        verdict: v.verdict.word(),
        checks: checks(&v.checks),
    });
    Claim {
        id: c.id.clone(),
        claim: c.claim.clone(),
        verdict: c.verdict.word(),
        subject: c.evidence.subject.clone(),
        grade: c.grade.map(Grade::word),
        reason: c.reason.clone(),
        counts: if c.checks.asked > 0 { c.checks.text() } else { String::new() },
        provisional: c.provisional,
        why: c.why.clone(),
        printed: c.evidence.printed.clone(),
        sentence: c.evidence.sentence.clone(),
        checks: checks(&c.evidence.checks),
        variants: variants.collect(),
        note: note(c),
        section: c.section.clone(),
        shown,
    }
}

fn note(c: &ClaimResult) -> Option<String> {
    let lines = c.evidence.detail.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {}", rounded(other)),
    });
    let text = lines.collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then_some(text)
}

/// The value as JSON text, with numbers rounded to four significant digits.
fn rounded(value: &Value) -> String {
    match value {
        Value::Number(n) if n.is_f64() => n.as_f64().map_or_else(|| n.to_string(), significant),
        Value::Array(items) => format!("[{}]", items.iter().map(rounded).collect::<Vec<_>>().join(", ")),
        Value::Null => "never".to_string(),
        other => other.to_string(),
    }
}

fn checks(checks: &[CheckResult]) -> Vec<Check> {
    let all = checks.iter().map(|c| {
        let interval = match (c.low, c.high) {
            (Some(low), Some(high)) if low < high => Some(format!("{} .. {}", significant(low), significant(high))),
            _ => None,
        };
        Check {
            what: match &c.note {
                None => c.what.clone(),
                Some(note) => format!("{}: {note}", c.what),
            },
            by: match c.by {
                By::Printed => "printed",
                By::Ours => "ours",
            },
            added: c.added,
            superseded: c.superseded,
            value: c.value.map_or_else(|| "none".to_string(), significant),
            interval,
            bound: c.bound.clone(),
            outcome: c.outcome,
        }
    });
    all.collect()
}
