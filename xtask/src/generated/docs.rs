//! `cargo xtask docs`: every page that is written from the code, and a check that the committed ones are current.

use forebay_aqm::ENTRIES;
use forebay_aqm::base::design::Entry;
use serde_json::json;

use super::{book, coverage, scenario_page};
use crate::base::program;
use crate::base::rules;
use crate::base::tree::Tree;
use crate::supply::licences;
use pages::page;

pub(crate) const README: &str = "README.md";
/// The lines before and after the README's list of disciplines.
const BEGIN: &str = "<!-- disciplines: written by `cargo xtask docs` -->";
const END: &str = "<!-- /disciplines -->";

/// Writes the pages and the pictures of the book.
pub(crate) fn run() -> Result<(), String> {
    let pages = pages(&Tree::read()?)?;
    book::clear()?;
    for (path, text) in &pages {
        program::write(path, text)?;
    }
    licences::write()?;
    book::write_pictures()?;
    println!("{} pages, {} disciplines with their pictures", pages.len() + 1, ENTRIES.len());
    Ok(())
}

/// Every page with its path, except that of licences, which needs cargo.
fn pages(tree: &Tree) -> Result<Vec<(String, String)>, String> {
    let readme = tree.get(README).ok_or_else(|| format!("{README} is missing"))?;
    let mut pages = book::pages(tree)?;
    for (path, text) in [
        (README, renewed(tree, &readme.text)?),
        (coverage::PAGE, coverage::page(tree)?),
        (scenario_page::PAGE, scenario_page::page()?),
    ] {
        pages.push((path.to_string(), text));
    }
    Ok(pages)
}

/// A lint: every page is current, every picture of the book exists, and their folders have no other files.
pub(crate) fn findings(tree: &Tree) -> Vec<String> {
    let pages = match pages(tree) {
        Ok(pages) => pages,
        Err(what) => return vec![what],
    };
    let stale = pages.iter().filter(|(path, text)| tree.get(path).is_none_or(|file| file.text != *text));
    let stale = stale.map(|(path, _)| format!("{path} is stale: cargo xtask docs"));
    stale.chain(book::strays(tree, &pages)).chain(coverage::unread(tree)).collect()
}

/// The families of the README's list: description, and folder of `crates/aqm/src`.
const FAMILIES: [[&str; 2]; 5] = [
    ["control laws, which set a drop probability once a period", "law/"],
    ["AQMs that act on the backlog", "aqm/backlog/"],
    ["AQMs that act on load, losses or a virtual queue", "aqm/load/"],
    ["AQMs that act on the delay", "aqm/delay/"],
    ["disciplines that own their queues: several queues, one per flow, or drops from within a queue", "queue/"],
];

/// The text `readme` with the current list of disciplines, by family.
fn renewed(tree: &Tree, readme: &str) -> Result<String, String> {
    let missing = |marker: &str| format!("{README}: no line '{marker}'");
    let (before, rest) = readme.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    let is_in = |entry: &Entry, folder: &str| {
        let base = entry.variant_of.map_or(entry.name, |(base, _)| base);
        rules::file(tree, base).is_some_and(|file| file.contains(&format!("/src/{folder}")))
    };
    let family = |[words, folder]: [&str; 2]| {
        let names: Vec<&str> = ENTRIES.iter().filter(|entry| is_in(entry, folder)).map(|entry| entry.name).collect();
        json!({ "words": words, "names": names })
    };
    let list = page!("readme.md.jinja", json!({ "families": FAMILIES.map(family) }))?;
    Ok(format!("{before}{BEGIN}\n{list}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updating_readme_changes_only_its_discipline_list() {
        let tree = Tree::read().unwrap();
        let new = renewed(&tree, &format!("above\n{BEGIN}\nold\n{END}\nbelow\n")).unwrap();
        assert!(new.starts_with("above\n") && new.ends_with("\nbelow\n") && !new.contains("old\n"));
        assert_eq!(renewed(&tree, &new).unwrap(), new);
        assert!(ENTRIES.iter().all(|entry| new.contains(&format!("disciplines/{}.md)", entry.name))), "{new}");
        assert!(renewed(&tree, "no list").is_err_and(|what| what.contains(BEGIN)));
    }

    #[test]
    fn finds_stale_missing_and_unexpected_pages() {
        let readme = renewed(&Tree::of(&[]), &format!("{BEGIN}\n{END}\n")).unwrap();
        let mut files = pages(&Tree::of(&[(README, &readme)])).unwrap();
        files.extend(book::picture_paths().map(|path| (path, String::new())));
        let of = |files: &[(String, String)]| {
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            findings(&Tree::of(&files))
        };
        assert_eq!(of(&files), [""; 0]);
        files[2].1.push('x');
        let last = files.pop().unwrap();
        files.push(("docs/book/src/disciplines/nonsense.md".to_string(), String::new()));
        let found = of(&files);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains(&files[2].0) && found[1].contains(&last.0) && found[2].contains("nonsense"));
        assert_eq!(findings(&Tree::of(&[])), ["README.md is missing"]);
    }
}
