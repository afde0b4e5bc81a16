//! `docs/book`: a page for each discipline and each marker from its declaration, with a picture of its behaviour.
//!
//! Everything below `docs/book/src` is written by `cargo xtask docs`; that it is current is a house rule for the
//! pages and a stage of the tests for the pictures, which are simulated.

mod behaviour;
mod marker;
mod marking;
mod page;
mod panel;
mod picture;
pub(crate) mod whole;

pub(crate) use page::REFERENCES;

use forebay_aqm::ENTRIES;
use forebay_aqm::base::markers::{MARKERS, MarkerEntry};

use crate::base::program;
use crate::base::tally::Tally;
use crate::base::tree::Tree;

const SOURCES: &str = "docs/book/src/";

fn picture_path(name: &str) -> String {
    format!("{SOURCES}pictures/{name}.svg")
}

/// The path of every picture.
fn picture_paths() -> impl Iterator<Item = String> {
    let disciplines = ENTRIES.iter().map(|entry| entry.name);
    disciplines.chain(MARKERS.iter().map(|marker| marker.name)).map(picture_path)
}

/// Every text of the book by its path.
fn pages(tree: &Tree) -> Vec<(String, String)> {
    let mut pages = vec![
        (format!("{SOURCES}SUMMARY.md"), page::summary(ENTRIES)),
        (format!("{SOURCES}disciplines.md"), page::index(ENTRIES)),
        (format!("{SOURCES}markers.md"), marker::index()),
    ];
    let of = |marker: &MarkerEntry| (format!("{SOURCES}markers/{}.md", marker.name), marker::page(marker, tree));
    pages.extend(MARKERS.iter().map(of));
    let of = |name: &str, text| (format!("{SOURCES}disciplines/{name}.md"), text);
    pages.extend(ENTRIES.iter().map(|entry| of(entry.name, page::discipline(entry, tree))));
    pages
}

/// Writes pages and pictures.
pub(crate) fn write() -> Result<(), String> {
    for folder in ["disciplines", "markers", "pictures"] {
        let folder = program::root().join(SOURCES).join(folder);
        let anew = if folder.exists() { std::fs::remove_dir_all(&folder) } else { Ok(()) };
        let made = anew.and_then(|()| std::fs::create_dir_all(&folder));
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    for (path, text) in pages(&Tree::read()?) {
        program::write(&path, &text)?;
    }
    for (name, svg) in picture::all()? {
        program::write(&picture_path(name), &svg)?;
    }
    println!("{SOURCES}: {} disciplines and {} markers, each with its picture", ENTRIES.len(), MARKERS.len());
    Ok(())
}

/// A house rule: the pages say what the code says, every one has its picture, and there are no others.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let pages = pages(tree);
    let stale = |path: &str| format!("{path} is stale: cargo xtask docs");
    let mut findings: Vec<String> = pages
        .iter()
        .filter(|(path, text)| tree.get(path).is_none_or(|file| file.text != *text))
        .map(|(path, _)| stale(path))
        .collect();
    let pictures: Vec<String> = picture_paths().collect();
    findings.extend(pictures.iter().filter(|path| tree.get(path).is_none()).map(|path| stale(path)));
    let known = |path: &str| pages.iter().any(|(page, _)| page == path) || pictures.iter().any(|own| own == path);
    let extra = tree.files().filter(|file| file.path.starts_with(SOURCES) && !known(&file.path));
    findings.extend(extra.map(|file| format!("{}: nothing has this name", file.path)));
    findings
}

/// A stage of the tests: the pictures are what the simulator gives now.
pub(crate) fn check_pictures(tally: &mut Tally) {
    let pictures = match picture::all() {
        Ok(pictures) => pictures,
        Err(what) => return tally.fail(what),
    };
    for (name, svg) in pictures {
        match program::read(&picture_path(name)) {
            Ok(old) if old == svg => tally.pass_all(1),
            Ok(_) => tally.fail(format!("{} is stale: cargo xtask docs", picture_path(name))),
            Err(what) => tally.fail(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_stale_missing_and_foreign_pages() {
        let mut files = pages(&Tree::of(&[]));
        files.extend(picture_paths().map(|path| (path, String::new())));
        let of = |files: &[(String, String)]| {
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            findings(&Tree::of(&files))
        };
        assert!(of(&files).is_empty());
        files[2].1.push('x');
        let last = files.pop().unwrap();
        files.push((format!("{SOURCES}disciplines/nonsense.md"), String::new()));
        let found = of(&files);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains(&files[2].0) && found[1].contains(&last.0) && found[2].contains("nonsense"));
    }
}
