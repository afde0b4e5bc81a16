//! `report.html`: built from the data in a run or reproduction directory, self-contained, offline.

mod class_curves;
mod exhibits;
mod figures;
mod finds;
mod index;
mod page;
mod printed;
mod real;
mod runs;
mod tables;

use std::path::{Path, PathBuf};

use base64::Engine;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::claims::ClaimResult;
use crate::disk;
use crate::exhibits::{Figure, Table};
use crate::lock::{Wait, WriteLock};
use crate::store::{self, StoreError};

use finds::Finds;
use real::Real;
use runs::Runs;

pub use index::{build as build_index, record as record_index};
pub use real::TIMING;
pub(crate) use runs::CASES_OVER_TIME;

const TEMPLATE: &str = include_str!("../../assets/report.html.j2");
const CSS: &str = include_str!("../../assets/report.css");
/// One script in three parts.
const JS: &str = concat!(
    include_str!("../../assets/base.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/page.js")
);

/// Builds `DIR/report.html` anew, and `DIR/tables.json` where the paper has tables; gives the path of the page. Of a
/// directory of several papers it builds every paper's page and `DIR/index.html`, whose path it gives; `wait` says what to
/// do if another writer has one of these papers.
pub fn build(lock: &WriteLock, wait: &Wait<'_>) -> Result<PathBuf, StoreError> {
    let dir = lock.dir();
    let meta = store::read_meta(dir)?;
    if meta["kind"] == index::KIND {
        return index::build_all(lock, &meta, wait);
    }
    let data = if meta["kind"] == "reproduction" { reproduction(dir, &meta)? } else { single(dir, &meta)? };
    let path = dir.join("report.html");
    let html = render(&data).map_err(|e| StoreError::Damaged { path: path.clone(), reason: e.to_string() })?;
    disk::write_whole(&path, html.as_bytes())?;
    Ok(path)
}

/// The page for one scenario.
fn single(dir: &Path, meta: &Value) -> Result<Value, StoreError> {
    let links = Runs::read(dir, meta, |_, _| ())?;
    let real = Real::read(dir, meta);
    let several = links.iter().any(Runs::are_several);
    let mut page = page::Page::new(meta, meta["title"].as_str().unwrap_or_default(), real.as_ref(), several);
    page.links(&links);
    page.section(&json!({ "id": "results", "title": "Results", "text": "" }), &links);
    Ok(page.finish(&[]))
}

/// The page for a paper: claims first, then each experiment.
fn reproduction(dir: &Path, meta: &Value) -> Result<Value, StoreError> {
    let path = dir.join("claims.json");
    let damaged = |e: serde_json::Error| StoreError::Damaged { path: path.clone(), reason: e.to_string() };
    let claims = disk::read_json(&path)?["claims"].take();
    let claims: Vec<ClaimResult> = serde_json::from_value(claims).map_err(damaged)?;
    let figures: Vec<Figure> = definitions(dir, meta, "figures")?;
    let tables: Vec<Table> = definitions(dir, meta, "tables")?;
    let mut page = page::Page::new(meta, meta["title"].as_str().unwrap_or_default(), None, meta["seeds"] != 1);
    let mut printed = Vec::new();
    for section in meta["sections"].as_array().into_iter().flatten() {
        // A scenario that claims of another section look at too has runs and no claims.
        let has_runs = section["scenario"].as_str().is_some_and(|name| dir.join(name).join("meta.json").exists());
        if !has_runs && !claims.iter().any(|c| section["id"] == c.section.as_str()) {
            continue;
        }
        let figures: Vec<&Figure> = figures.iter().filter(|f| section["id"] == f.section.as_str()).collect();
        let Some(name) = section["scenario"].as_str().filter(|_| has_runs) else {
            let theory = figures.iter().filter(|figure| figure.is_theory());
            page.theory(section, theory.map(|figure| exhibits::draw(figure, &Finds::default())).collect());
            continue;
        };
        let tables: Vec<&Table> = tables.iter().filter(|t| section["id"] == t.section.as_str()).collect();
        let mut finds = Finds::default();
        figures.iter().for_each(|figure| finds.ask_figure(figure));
        tables.iter().for_each(|table| finds.ask_table(table));
        let dir = dir.join(name);
        let runs = Runs::read(&dir, &store::read_meta(&dir)?, |case, run| finds.look(case, run))?;
        let drawn = figures.iter().map(|figure| exhibits::draw(figure, &finds)).collect();
        let (shown, kept): (Vec<_>, Vec<_>) = tables.iter().map(|table| printed::tables(table, &finds)).unzip();
        printed.extend(kept);
        page.paper_section(section, &runs, drawn, shown);
    }
    if !printed.is_empty() {
        let document = json!({ "version": 1, "paper": meta["paper"], "level": meta["level"], "tables": printed });
        disk::write_json(&dir.join("tables.json"), &document)?;
    }
    Ok(page.finish(&claims))
}

/// The paper's figures or tables as the directory has them.
fn definitions<T: serde::de::DeserializeOwned>(dir: &Path, meta: &Value, key: &str) -> Result<Vec<T>, StoreError> {
    // Directories of before there were figures have none.
    let all = meta.get(key).cloned().unwrap_or_else(|| json!([]));
    let damaged = |e: serde_json::Error| StoreError::Damaged { path: dir.join("meta.json"), reason: e.to_string() };
    serde_json::from_value(all).map_err(damaged)
}

/// The page that shows this data, whatever made it.
pub fn draw(data: &Value) -> Result<String, String> {
    render(data).map_err(|e| e.to_string())
}

fn render(data: &Value) -> Result<String, minijinja::Error> {
    let mut env = minijinja::Environment::new();
    env.add_template("report.html.j2", TEMPLATE)?;
    // `<` inside a script element could end it, whatever the string it stands in.
    let text = data.to_string().replace('<', "\\u003c");
    env.get_template("report.html.j2")?.render(minijinja::context! {
        title => data["title"].as_str(),
        css => CSS,
        js => JS,
        css_hash => hash(CSS),
        js_hash => hash(JS),
        data => text,
    })
}

/// The content-security-policy token of an inline script or style.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text)))
}
