//! The page: facts, claims, sections, in the shape that the script in `assets/` draws.

use serde_json::{Value, json};

use super::real::Real;
use super::runs::Runs;
use super::tables::{self, significant};
use crate::claims::{CheckResult, ClaimResult};

/// A page being put together.
pub(super) struct Page {
    head: Value,
    sections: Vec<Value>,
    figures: Vec<Value>,
    tables: Vec<Value>,
}

impl Page {
    /// A page without sections yet. `real`: the real runs among those that it shows; `several`: some contender has several
    /// runs.
    pub(super) fn new(meta: &Value, title: &str, real: Option<&Real>, several: bool) -> Self {
        let subtitle = match meta["subtitle"].as_str() {
            Some(subtitle) => subtitle,
            None if several => "Means carry 95 % confidence intervals over seeds; differences are paired by seed.",
            None => "One run of each: nothing is known of how far another would be from it.",
        };
        let mut page = Self { head: Value::Null, sections: Vec::new(), figures: Vec::new(), tables: Vec::new() };
        page.head = json!({
            "title": title,
            "subtitle": subtitle,
            "version": format!("forebay {}", meta["forebay"].as_str().unwrap_or("?")),
            "command": meta["command"],
            "facts": facts(meta, real),
        });
        if let Some(real) = real {
            page.head["real"] = real.notice();
            page.add("timing", "Timing", &Value::Null, Vec::new(), vec![real.table()]);
        }
        page
    }

    /// Says which links the figures are of, where they need a name.
    pub(super) fn links(&mut self, links: &[Runs]) {
        let names: Vec<&str> = links.iter().filter_map(Runs::link).collect();
        let word = if names.len() == 1 { "Link" } else { "Links" };
        if let Some(facts) = self.head["facts"].as_array_mut().filter(|_| !names.is_empty()) {
            facts.insert(0, json!([word, names.join(", ")]));
        }
    }

    /// Adds a section without runs, with the figures that models give.
    pub(super) fn theory(&mut self, about: &Value, figures: Vec<Value>) {
        let title = about["title"].as_str().unwrap_or_default();
        self.add(about["id"].as_str().unwrap_or("section"), title, &about["text"], figures, Vec::new());
    }

    /// Adds an experiment with its figures and tables at each link. The links after the first have the curves over time
    /// and the tables, each link under a heading of its own.
    pub(super) fn section(&mut self, about: &Value, links: &[Runs]) {
        let id = about["id"].as_str().unwrap_or("section");
        let (figures, tables) =
            links.first().map_or_else(Default::default, |first| (first.figures(id), tables::tables(first, id)));
        let title = about["title"].as_str().unwrap_or_default();
        let place = links.first().map_or_else(String::new, Runs::place);
        self.add(id, &format!("{title}{place}"), &about["text"], figures, tables);
        self.further_links(about, links);
    }

    /// An experiment with the figures and tables of its paper. They take the place of those of the same runs that
    /// every scenario has; what no paper shows stays.
    pub(super) fn paper_section(&mut self, about: &Value, links: &[Runs], own: Vec<Value>, printed: Vec<Value>) {
        let Some(first) = links.first().filter(|_| !own.is_empty() || !printed.is_empty()) else {
            return self.section(about, links);
        };
        let id = about["id"].as_str().unwrap_or("section");
        let others = if own.is_empty() { first.figures(id) } else { first.inner_figures(id) };
        let figures = own.into_iter().chain(others).collect();
        let mut tables = printed;
        tables.extend(tables::tables(first, id));
        let title = format!("{}{}", about["title"].as_str().unwrap_or_default(), first.place());
        self.add(id, &title, &about["text"], figures, tables);
        self.further_links(about, links);
    }

    fn further_links(&mut self, about: &Value, links: &[Runs]) {
        let id = about["id"].as_str().unwrap_or("section");
        let title = about["title"].as_str().unwrap_or_default();
        for (i, link) in links.iter().enumerate().skip(1) {
            let id = format!("{id}-link{}", i + 1);
            let (figures, tables) = (link.curves(&id), tables::tables(link, &id));
            self.add(&id, &format!("{title}{}", link.place()), &Value::Null, figures, tables);
        }
    }

    fn add(&mut self, id: &str, title: &str, text: &Value, figures: Vec<Value>, tables: Vec<Value>) {
        let ids = |list: &[Value]| list.iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
        self.sections.push(json!({
            "id": id,
            "title": title,
            "text": text,
            "figures": ids(&figures),
            "tables": ids(&tables),
        }));
        self.figures.extend(figures);
        self.tables.extend(tables);
    }

    pub(super) fn finish(mut self, claims: &[ClaimResult]) -> Value {
        let shown = |id: &str| -> Vec<Value> {
            let has = |it: &&Value| it["claims"].as_array().is_some_and(|all| all.iter().any(|claim| claim == id));
            let of = |list: &[Value], kind: &str| -> Vec<Value> {
                list.iter().filter(has).map(|it| json!({ "kind": kind, "id": it["id"] })).collect()
            };
            [of(&self.figures, "figure"), of(&self.tables, "table")].concat()
        };
        self.head["claims"] = claims.iter().map(|c| claim(c, &shown(&c.id))).collect();
        self.head["sections"] = self.sections.into();
        self.head["figures"] = self.figures.into();
        self.head["tables"] = self.tables.into();
        self.head
    }
}

/// How the runs were made, by name.
fn facts(meta: &Value, real: Option<&Real>) -> Vec<Value> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: Option<String>| facts.extend(value.map(|v| json!([name, v])));
    let seeds = match &meta["seeds"] {
        Value::Array(seeds) => Some(seeds.len().to_string()),
        Value::String(words) => Some(words.clone()),
        count => count.as_u64().map(|n| n.to_string()),
    };
    let length = meta["duration_s"].as_f64().zip(meta["warmup_s"].as_f64());
    let jitter = meta["jitter_us"]
        .as_f64()
        .map(|us| format!("uniform, 0 to {} µs", significant(us).trim_end_matches('0').trim_end_matches('.')));
    match real {
        Some(real) if !real.mixed => {
            fact("Length", length.map(|(duration, _)| format!("{} s on this machine's clock", significant(duration))));
        }
        _ => {
            fact("Seeds of each run", seeds);
            let [name, jittered] = match real {
                Some(_) => ["Length of each run", "Processing jitter of simulated hosts"],
                None => ["Simulated", "Processing jitter of hosts"],
            };
            fact(name, length.map(|(duration, warmup)| format!("{duration} s, the first {warmup} s discarded")));
            fact(jittered, jitter);
        }
    }
    fact("Authors of the paper", meta["authors"].as_str().map(str::to_string));
    fact("Version", meta["revision"].as_str().map(str::to_string));
    fact("Machine", meta["machine"]["cpu"].as_str().map(str::to_string));
    facts
}

fn claim(c: &ClaimResult, shown: &[Value]) -> Value {
    let variants: Vec<Value> = c
        .evidence
        .variants
        .iter()
        .map(|v| json!({ "name": v.name, "verdict": v.verdict.word(), "checks": checks(&v.checks) }))
        .collect();
    json!({
        "id": c.id,
        "claim": c.claim,
        "verdict": c.verdict.word(),
        "provisional": c.provisional,
        "why": c.why,
        "printed": c.evidence.printed,
        "checks": checks(&c.evidence.checks),
        "variants": variants,
        "note": note(c),
        "section": c.section,
        "shown": shown,
    })
}

fn note(c: &ClaimResult) -> Option<String> {
    let detail = c.evidence.detail.as_object()?;
    let lines = detail.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {}", rounded(other)),
    });
    let text = lines.collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then_some(text)
}

/// JSON with numbers of four significant digits.
fn rounded(value: &Value) -> String {
    match value {
        Value::Number(n) if n.is_f64() => significant(n.as_f64().unwrap_or(f64::NAN)),
        Value::Array(items) => format!("[{}]", items.iter().map(rounded).collect::<Vec<_>>().join(", ")),
        Value::Null => "never".to_string(),
        other => other.to_string(),
    }
}

fn checks(checks: &[CheckResult]) -> Vec<Value> {
    let all = checks.iter().map(|c| {
        let interval = match (c.low, c.high) {
            (Some(low), Some(high)) if low < high => Some(format!("{} .. {}", significant(low), significant(high))),
            _ => None,
        };
        json!({
            "what": match &c.note { None => c.what.clone(), Some(note) => format!("{}: {note}", c.what) },
            "value": c.value.map_or_else(|| "none".to_string(), significant),
            "interval": interval,
            "bound": c.bound,
            "outcome": c.outcome,
        })
    });
    all.collect()
}
