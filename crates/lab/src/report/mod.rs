//! `report.html`: a self-contained offline page, built from the data of a result directory. A result directory has the
//! runs of one scenario, or the experiments of one paper, or refers to those of several papers.

mod class_curves;
mod compact;
mod each_run;
mod exhibits;
mod figures;
mod finds;
pub(crate) mod live;
mod overview;
mod page;
mod plot;
mod printed;
mod real;
mod shapes;
mod summary_tables;
mod traffic;

use std::path::{Path, PathBuf};

use base64::Engine;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::build::description::description;
use crate::claims::exhibits::{Figure, Table};
use crate::disk;
use crate::disk::lock::{Wait, WriteLock};
use crate::results::meta::{Meta, PaperMeta, RunMeta, SectionMeta, SeedCount};
use crate::results::verdicts::Verdicts;
use crate::run::store::{self, StoreError};

use each_run::Runs;
use finds::Finds;
use overview::{advice, index, suite};
use page::{About, Page};
use real::Real;
use shapes::PageData;

pub(crate) use each_run::CASES_OVER_TIME;
pub use overview::advice::ADVICE;
pub use overview::index::{build as build_index, record as record_index};
pub use real::TIMING;

const TEMPLATE: &str = include_str!("../../assets/report.html.in");
const CSS: &str = include_str!("../../assets/report.css");
/// The script of the page, which has several source files.
const JS: &str = concat!(
    include_str!("../../assets/base.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/figure.js"),
    include_str!("../../assets/page.js")
);

/// Builds `DIR/report.html`, and `DIR/tables.json` if the paper has tables; returns the path of the page. For a
/// directory of several papers, builds every paper's report and the overview `DIR/index.html`, and returns the path of
/// the overview. `wait` is called if another process has locked the directory of one of the papers.
pub fn build(lock: &WriteLock, wait: &Wait<'_>) -> Result<PathBuf, StoreError> {
    let dir = lock.dir();
    let data = match Meta::read(dir)? {
        Meta::Papers(meta) => return index::build_all(lock, &meta, wait),
        Meta::Paper(meta) => {
            if meta.is_suite {
                suite::write_pages(dir, &meta)?;
            }
            let (data, printed) = reproduction(dir, &meta)?;
            if let Some(document) = printed {
                disk::write_json(&dir.join("tables.json"), &document)?;
            }
            data
        }
        Meta::Run(meta) => return build_run(lock, &meta),
    };
    write(dir, &data)
}

/// Builds `DIR/report.html` of the runs of one scenario.
pub(crate) fn build_run(lock: &WriteLock, meta: &RunMeta) -> Result<PathBuf, StoreError> {
    write(lock.dir(), &single(lock.dir(), meta)?)
}

/// Writes the page with this data into `dir`; returns its path.
fn write(dir: &Path, data: &PageData) -> Result<PathBuf, StoreError> {
    let path = dir.join("report.html");
    let html = render(&data.title, data).map_err(disk::damaged(&path))?;
    disk::write_whole(&path, html.as_bytes())?;
    Ok(path)
}

/// Data of the report of one scenario.
fn single(dir: &Path, meta: &RunMeta) -> Result<PageData, StoreError> {
    let mut finds = Finds::default();
    let own = &meta.provenance.facts.figures;
    own.iter().for_each(|figure| finds.ask_figure(figure));
    let links = Runs::read(dir, meta, |case, run| finds.look(case, run))?;
    let real = Real::read(dir, meta)?;
    let several = links.iter().any(Runs::are_several);
    let mut page = Page::new(&About::run(meta), real.as_ref(), several);
    // `forebay link` runs the user's command through an emulated link: its results have no scenario with traffic.
    if let Some(case) = store::read_case(dir, 0)?.filter(|_| meta.link().is_none() && meta.subtitle.is_none()) {
        page.setting(&description(&case.scenario), &links.first().map_or_else(String::new, Runs::sweep));
        page.scenario(case.scenario.to_toml());
    }
    page.overview(advice::overview(dir));
    page.links(&links);
    let [id, title] = ["results", "Results"].map(str::to_string);
    // Results of earlier versions have no classes.
    let summary = disk::text_if_there(&dir.join("summary.json"))?;
    let summary = summary.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    page.scenario_section(&SectionMeta { id, title, ..SectionMeta::default() }, &links, &summary);
    page.own_figures(own.iter().map(|figure| exhibits::draw(figure, &finds)).collect());
    Ok(page.finish(&[]))
}

/// Data of the report of a paper, and of `tables.json` if the paper has tables.
fn reproduction(dir: &Path, meta: &PaperMeta) -> Result<(PageData, Option<printed::Document>), StoreError> {
    let Verdicts { claims, .. } = disk::read_json(&dir.join("claims.json"))?;
    let suite = meta.is_suite;
    let mut page = Page::new(&About::paper(meta), None, meta.seeds != Some(SeedCount::Each(1)));
    let mut printed = Vec::new();
    if suite {
        page.overview(suite::overview(meta, &claims));
    }
    for section in &meta.sections {
        // A section is an experiment in `claims.toml`. It is shown if it has claims to report, or if its scenario has
        // runs: claims of another section may use the same scenario.
        let scenario = section.scenario.as_ref().filter(|name| dir.join(name).join("meta.json").exists());
        if scenario.is_none() && !claims.iter().any(|c| section.id == c.section) {
            continue;
        }
        let figures: Vec<&Figure> = meta.figures.iter().filter(|f| section.id == f.section).collect();
        let Some(name) = scenario else {
            let theory = figures.iter().filter(|figure| figure.is_theory());
            page.theory(section, theory.map(|figure| exhibits::draw(figure, &Finds::default())).collect());
            continue;
        };
        let tables: Vec<&Table> = meta.tables.iter().filter(|t| section.id == t.section).collect();
        let mut finds = Finds::default();
        figures.iter().for_each(|figure| finds.ask_figure(figure));
        tables.iter().for_each(|table| finds.ask_table(table));
        let dir = dir.join(name);
        let Meta::Run(meta) = Meta::read(&dir)? else {
            let reason = "does not describe a scenario of this paper".to_string();
            return Err(StoreError::Damaged { path: dir.join("meta.json"), reason });
        };
        let runs = Runs::read(&dir, &meta, |case, run| finds.look(case, run))?;
        let drawn = figures.iter().map(|figure| exhibits::draw(figure, &finds)).collect();
        let (shown, kept): (Vec<_>, Vec<_>) = tables.iter().map(|table| printed::tables(table, &finds)).unzip();
        printed.extend(kept);
        if suite {
            page.suite_section(section, drawn, shown, &format!("{name}/report.html"));
            continue;
        }
        page.paper_section(section, &runs, drawn, shown);
    }
    let (paper, level) = (meta.paper.clone(), meta.level.clone());
    let document = printed::Document { version: 1, paper, level, tables: printed };
    Ok((page.finish(&claims), Some(document).filter(|document| !document.tables.is_empty())))
}

/// A figure of a result directory, for [`plot`](crate::commands::plot).
pub(crate) struct Plottable {
    /// Name for `forebay plot --figure`: the title in lower-case words joined by hyphens; of a figure of a paper the
    /// name in the paper.
    pub(crate) name: String,
    /// Title of the figure.
    pub(crate) title: String,
    figure: shapes::Figure,
}

impl Plottable {
    /// The figure as an SVG picture, with sizes in points; the default height depends on the figure.
    pub(crate) fn svg(&self, width: f64, height: Option<f64>) -> String {
        plot::svg(&self.figure, width, height)
    }
}

/// The figures of the report of a run, a sweep or a paper; none for a directory of several papers.
pub(crate) fn plottable(dir: &Path) -> Result<Vec<Plottable>, StoreError> {
    let data = match Meta::read(dir)? {
        Meta::Papers(_) => PageData::default(),
        Meta::Paper(meta) => reproduction(dir, &meta)?.0,
        Meta::Run(meta) => single(dir, &meta)?,
    };
    let named = |figure: shapes::Figure| {
        let from = if figure.claims.is_some() { &figure.id } else { &figure.title };
        Plottable { name: slug(from), title: figure.title.clone(), figure }
    };
    let mut all: Vec<Plottable> = Vec::new();
    for mut figure in data.figures.into_iter().map(named) {
        let taken = |name: &str| all.iter().any(|other| other.name == name);
        let numbered = (2..).map(|n| format!("{}-{n}", figure.name));
        let free = std::iter::once(figure.name.clone()).chain(numbered).find(|name| !taken(name));
        figure.name = free.unwrap_or_default();
        all.push(figure);
    }
    Ok(all)
}

/// The words of `text` in lower case, joined by hyphens.
fn slug(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "figure".to_string() } else { slug }
}

/// Returns the HTML of a page with this title, in which the report's script draws `data`. The data need not be from a
/// result directory.
pub fn draw(title: &str, data: &impl Serialize) -> Result<String, String> {
    render(title, data).map_err(|e| e.to_string())
}

fn render(title: &str, data: &impl Serialize) -> Result<String, serde_json::Error> {
    let (css_hash, js_hash, data) = (hash(CSS), hash(JS), in_script(&serde_json::to_string(data)?));
    let title = in_html(title);
    let values: [(&str, &str); 6] =
        [("title", &title), ("css", CSS), ("js", JS), ("css_hash", &css_hash), ("js_hash", &js_hash), ("data", &data)];
    Ok(fill(TEMPLATE, &values))
}

/// The template with the values of its names: `{{ name }}` becomes the value as it is. A name without a value is left
/// out.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{ ");
    let mut page = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once(" }}").unwrap_or(("", part));
        page += values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        page += rest;
    }
    page
}

/// JSON as the content of a script element: `<` could end the element, even inside a string.
pub(crate) fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Text as the content of an HTML element or attribute.
fn in_html(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '&' => "&amp;".to_string(),
        '<' => "&lt;".to_string(),
        '>' => "&gt;".to_string(),
        '"' => "&quot;".to_string(),
        '\'' => "&#x27;".to_string(),
        '/' => "&#x2f;".to_string(),
        other => other.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Content-security-policy hash of an inline script or style.
pub(crate) fn hash(text: &str) -> String {
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text)))
}
