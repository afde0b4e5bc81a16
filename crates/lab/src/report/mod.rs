//! `report.html`: built from the data in a run or reproduction directory, self-contained, offline.

mod figures;
mod page;
mod tables;

use std::path::{Path, PathBuf};

use base64::Engine;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::claims::ClaimResult;
use crate::store::{self, StoreError};

use figures::Runs;

const TEMPLATE: &str = include_str!("../../assets/report.html.j2");
const CSS: &str = include_str!("../../assets/report.css");
/// One script in three parts.
const JS: &str = concat!(
    include_str!("../../assets/base.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/page.js")
);

/// Builds `DIR/report.html` anew; gives its path.
pub fn build(dir: &Path) -> Result<PathBuf, StoreError> {
    let meta = store::read_meta(dir)?;
    let data = if meta["kind"] == "reproduction" { reproduction(dir, &meta)? } else { single(dir, &meta)? };
    let path = dir.join("report.html");
    let html = render(&data).map_err(|e| StoreError::Damaged { path: path.clone(), reason: e.to_string() })?;
    store::write_whole(&path, html.as_bytes())?;
    Ok(path)
}

/// The page for one scenario.
fn single(dir: &Path, meta: &Value) -> Result<Value, StoreError> {
    let links = Runs::read(dir, meta)?;
    let mut page = page::Page::new(meta, meta["title"].as_str().unwrap_or_default());
    page.links(&links);
    page.section(&json!({ "id": "results", "title": "Results", "text": "" }), &links);
    Ok(page.finish(&[]))
}

/// The page for a paper: claims first, then each experiment.
fn reproduction(dir: &Path, meta: &Value) -> Result<Value, StoreError> {
    let path = dir.join("claims.json");
    let damaged = |e: serde_json::Error| StoreError::Damaged { path: path.clone(), reason: e.to_string() };
    let claims = store::read_json(&path)?["claims"].take();
    let claims: Vec<ClaimResult> = serde_json::from_value(claims).map_err(damaged)?;
    let mut page = page::Page::new(meta, meta["title"].as_str().unwrap_or_default());
    for section in meta["sections"].as_array().into_iter().flatten() {
        // A scenario that claims of another section look at too has runs and no claims.
        let has_runs = section["scenario"].as_str().is_some_and(|name| dir.join(name).join("meta.json").exists());
        if !has_runs && !claims.iter().any(|c| section["id"] == c.section.as_str()) {
            continue;
        }
        let runs = match section["scenario"].as_str() {
            None => Vec::new(),
            Some(name) => {
                let dir = dir.join(name);
                Runs::read(&dir, &store::read_meta(&dir)?)?
            }
        };
        page.section(section, &runs);
    }
    Ok(page.finish(&claims))
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
