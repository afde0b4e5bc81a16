//! A manifest of a result directory as an RO-Crate 1.1 (<https://w3id.org/ro/crate/1.1>), which archives such as Zenodo
//! and WorkflowHub read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::failure::Failure;
use crate::disk::{self, io_error, lock};
use crate::results::meta::{Meta, Provenance};
use crate::run::store::StoreError;

/// File of the manifest.
pub const FILE: &str = "ro-crate-metadata.json";
const PROFILE: &str = "https://w3id.org/ro/crate/1.1";

/// What the files of a result directory are: name or end of the name, media type, description.
const KINDS: [(&str, &str, &str); 11] = [
    ("meta.json", "application/json", "How the results were made: scenario, seeds, program, command, machine."),
    ("scenario.toml", "application/toml", "The scenario with all defaults; of several combinations the first."),
    ("summary.json", "application/json", "Results of all runs and their comparison."),
    ("summary.parquet", "application/vnd.apache.parquet", "A row for each run and link."),
    ("traffic.parquet", "application/vnd.apache.parquet", "A row for each run and class of traffic."),
    ("series.parquet", "application/vnd.apache.parquet", "Time series of queues and of internal variables."),
    ("flows.parquet", "application/vnd.apache.parquet", "A row for each run and flow."),
    ("completions.parquet", "application/vnd.apache.parquet", "A row for each file or page that arrived."),
    ("claims.json", "application/json", "The verdict on each claim, with its checks."),
    ("report.html", "text/html", "The report."),
    (".json", "application/json", ""),
];
/// What the folders are.
const FOLDERS: [(&str, &str); 6] = [
    ("runs", "The complete results of each run, each with its SHA-256 in the file."),
    ("cases", "The scenario of each combination of the values that vary."),
    ("shards", "The summary of each run as a Parquet file."),
    ("pcapng", "The packets at the first link under study of each run, for Wireshark."),
    ("flent", "A data file of flent for each run."),
    ("csv", "The tables as CSV."),
];

/// Writes `ro-crate-metadata.json` into a result directory and returns its path. `today`: the date as `2026-11-30`.
///
/// # Errors
/// The directory has no results, or a file cannot be read or written.
pub fn write(dir: &Path, today: &str) -> Result<PathBuf, Failure> {
    super::report::expect_results(dir, "report")?;
    let (title, forebay, provenance) = match Meta::read(dir)? {
        Meta::Run(meta) => (meta.title, meta.forebay, meta.provenance),
        Meta::Paper(meta) => (meta.title, meta.forebay, meta.provenance),
        Meta::Papers(meta) => ("Reproductions".to_string(), meta.forebay, meta.provenance),
    };
    let parts = parts(dir, "")?;
    let document = document((&title, &forebay, &provenance), &parts, today);
    let path = dir.join(FILE);
    disk::write_json(&path, &document)?;
    Ok(path)
}

/// An entity for each file and folder in a folder of the directory, and in its folders. `folder`: its path, with `/` at the
/// end; empty for the directory itself.
fn parts(dir: &Path, folder: &str) -> Result<Vec<Value>, StoreError> {
    let mut entities = Vec::new();
    for name in names(&dir.join(folder))? {
        let id = format!("{folder}{name}");
        if !dir.join(&id).is_dir() {
            entities.push(file(dir, &id)?);
            continue;
        }
        let id = format!("{id}/");
        let inner = parts(dir, &id)?;
        entities.push(dataset(&name, &id, &inner));
        entities.extend(inner);
    }
    Ok(entities)
}

/// References to the entities that are directly in a folder.
fn direct(parts: &[Value], folder: &str) -> Vec<Value> {
    let ids = parts.iter().filter_map(|part| part["@id"].as_str());
    let is_direct = |id: &&str| !id[folder.len()..].trim_end_matches('/').contains('/');
    ids.filter(is_direct).map(|id| json!({ "@id": id })).collect()
}

/// The names in a directory that are results.
fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .map_err(io_error(dir))?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name != FILE && name != lock::NAME && !disk::is_temporary(name))
        .collect();
    names.sort();
    Ok(names)
}

fn file(dir: &Path, name: &str) -> Result<Value, StoreError> {
    let path = dir.join(name);
    let bytes = fs::read(&path).map_err(io_error(&path))?;
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut entity = json!({
        "@id": name, "@type": "File", "name": name, "contentSize": bytes.len().to_string(), "sha256": hash,
    });
    if let Some((_, media, what)) = KINDS.iter().find(|(known, ..)| name.ends_with(known)) {
        entity["encodingFormat"] = json!(media);
        if !what.is_empty() {
            entity["description"] = json!(what);
        }
    }
    Ok(entity)
}

fn dataset(name: &str, id: &str, inner: &[Value]) -> Value {
    let what = FOLDERS.iter().find(|(known, _)| *known == name);
    let what = what.map_or("The results of one scenario.", |(_, what)| what);
    json!({ "@id": id, "@type": "Dataset", "name": name, "description": what, "hasPart": direct(inner, id) })
}

fn document((title, forebay, provenance): (&str, &str, &Provenance), parts: &[Value], today: &str) -> Value {
    let link = |id: &str| json!({ "@id": id });
    let ids = direct(parts, "");
    let of = |is_input: bool| -> Vec<Value> {
        let mine = |id: &&Value| (id["@id"] == "scenario.toml" || id["@id"] == "cases/") == is_input;
        ids.iter().filter(mine).cloned().collect()
    };
    let version = match provenance.origin.revision() {
        Some(revision) => format!("{forebay} ({revision})"),
        None => forebay.to_string(),
    };
    let command = provenance.origin.command.clone().unwrap_or_else(|| "forebay".to_string());
    let mut graph = vec![
        json!({ "@id": FILE, "@type": "CreativeWork", "conformsTo": link(PROFILE), "about": link("./") }),
        json!({
            "@id": "./", "@type": "Dataset", "name": title, "datePublished": today, "hasPart": ids,
            "description": format!("Results of Forebay, a laboratory for Active Queue Management: {command}"),
            "mentions": link("#run"),
        }),
        json!({ "@id": "#forebay", "@type": "SoftwareApplication", "name": "Forebay", "version": version }),
        json!({
            "@id": "#run", "@type": "CreateAction", "name": command, "instrument": link("#forebay"),
            "object": of(true), "result": of(false),
        }),
    ];
    graph.extend(parts.iter().cloned());
    json!({ "@context": [format!("{PROFILE}/context"), { "sha256": "https://schema.org/sha256" }], "@graph": graph })
}
