//! `docs/book`: a page for each discipline and each marker from its declaration, with a picture of its behaviour.
//!
//! `cargo xtask docs` writes everything below `docs/book/src`. A lint of `cargo xtask tidy` checks that pages are
//! current; a stage of `cargo xtask test` checks the pictures, which show simulations.

mod behaviour;
mod marking;
mod page;
mod picture;
pub(crate) mod whole;

pub(crate) use page::REFERENCES;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::markers::MARKERS;

use crate::base::program;
use crate::base::tally::Tally;
use crate::base::tree::Tree;

const SOURCES: &str = "docs/book/src/";

fn picture_path(name: &str) -> String {
    format!("{SOURCES}pictures/{name}.svg")
}

pub(super) fn picture_paths() -> impl Iterator<Item = String> {
    let disciplines = ENTRIES.iter().map(|entry| entry.name);
    disciplines.chain(MARKERS.iter().map(|marker| marker.name)).map(picture_path)
}

pub(super) fn pages(tree: &Tree) -> Result<Vec<(String, String)>, String> {
    let mut pages = vec![
        ("SUMMARY".to_string(), page::summary()?),
        ("disciplines".to_string(), page::disciplines()?),
        ("markers".to_string(), page::markers()?),
    ];
    for marker in MARKERS {
        pages.push((format!("markers/{}", marker.name), page::marker(marker, tree)?));
    }
    for entry in ENTRIES {
        pages.push((format!("disciplines/{}", entry.name), page::discipline(entry, tree)?));
    }
    Ok(pages.into_iter().map(|(name, text)| (format!("{SOURCES}{name}.md"), text)).collect())
}

/// Empties the folders of pages and pictures.
pub(super) fn clear() -> Result<(), String> {
    let folders = ["disciplines", "markers", "pictures"].map(|folder| program::root().join(SOURCES).join(folder));
    folders.iter().try_for_each(|folder| program::empty(folder))
}

pub(super) fn write_pictures() -> Result<(), String> {
    picture::all()?.iter().try_for_each(|(name, svg)| program::write(&picture_path(name), svg))
}

/// Missing pictures, and files below the book's folder that are not generated.
pub(super) fn strays(tree: &Tree, pages: &[(String, String)]) -> Vec<String> {
    let missing = picture_paths().filter(|path| tree.get(path).is_none());
    let mut findings: Vec<String> = missing.map(|path| format!("{path} is missing: cargo xtask docs")).collect();
    let known = |path: &str| pages.iter().any(|(page, _)| page == path) || picture_paths().any(|own| own == path);
    let extra = tree.files().filter(|file| file.path.starts_with(SOURCES) && !known(&file.path));
    findings.extend(extra.map(|file| format!("{}: nothing has this name", file.path)));
    findings
}

/// A stage of the tests: simulates the pictures again and compares them.
pub(crate) fn check_pictures(tally: &mut Tally) {
    let pictures = match picture::all() {
        Ok(pictures) => pictures,
        Err(what) => return tally.fail(what),
    };
    for (name, svg) in pictures {
        let path = picture_path(name);
        let current = program::read(&path).and_then(|old| (old == svg).then_some(()).ok_or("cargo xtask docs".into()));
        tally.check(&format!("{path} is current"), current);
    }
}
