//! The complete book: every page below `docs` as sources for mdBook, the build, and a check of its links.
//!
//! The repository keeps pages where GitHub shows them; the book has them in one folder. Links between pages are
//! rewritten; links to other files of the repository use its address.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::links::{join, map};
use crate::base::program;
use crate::base::tally::Tally;
use crate::base::tree::Tree;
use crate::web;
use forebay_lab::studio::library::EXPERIMENTS;

/// The address of the sources: `repository` of the workspace, empty if there is none.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
/// Folders with files of the book, the inner one first.
const PLACES: [&str; 2] = ["docs/book/src/", "docs/"];
const CONFIG: &str = "docs/book/book.toml";
/// The table of contents.
const CONTENTS: &str = "docs/book/src/SUMMARY.md";

/// Converts the path of a file of the repository to that in the book; `None` if the file is not in the book.
fn place(path: &str) -> Option<&str> {
    let is_page = path.ends_with(".md") || path.ends_with(".svg") || path.ends_with(".json");
    // ADRs are for developers.
    PLACES.iter().find_map(|place| path.strip_prefix(place)).filter(|place| is_page && !place.starts_with("adr/"))
}

/// The text of a page, with its links rewritten for the book.
fn moved(path: &str, text: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let depth = place(path).unwrap_or_default().matches('/').count();
    map(text, |link| {
        let (file, anchor) = link.split_once('#').map_or((link, String::new()), |(file, at)| (file, format!("#{at}")));
        let target = join(folder, file);
        match place(&target) {
            Some(target) => Some(format!("{}{target}{anchor}", "../".repeat(depth))),
            None => (!REPOSITORY.is_empty()).then(|| format!("{REPOSITORY}/blob/main/{target}{anchor}")),
        }
    })
}

/// Writes the sources of the book into the folder `into`.
fn lay_out(tree: &Tree, into: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", into.display());
    let config = program::read(CONFIG)?;
    fs::create_dir_all(into).and_then(|()| fs::write(into.join("book.toml"), config)).map_err(failed)?;
    for file in tree.files() {
        let Some(place) = place(&file.path) else { continue };
        let path = into.join("src").join(place);
        let text = if place.ends_with(".md") { moved(&file.path, &file.text) } else { file.text.clone() };
        let folder = path.parent().unwrap_or(into);
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).map_err(failed)?;
    }
    Ok(())
}

/// The page of the laboratory in the book; the address `#f=NAME` selects an experiment.
const LABORATORY: &str = "forebay.html";

/// `cargo xtask book`: builds the book with its experiments and returns its first page.
pub(crate) fn build() -> Result<PathBuf, String> {
    let index = compile()?;
    match web::has_target() {
        Ok(()) => {
            let page = index.with_file_name(LABORATORY);
            program::at(&page, fs::copy(web::build(web::Build::Full)?.file, &page))?;
        }
        Err(why) => println!("the experiments are missing: {why}"),
    }
    Ok(index)
}

/// Builds the book without the page of the laboratory.
fn compile() -> Result<PathBuf, String> {
    let home = program::build_dir().join("book");
    let _ = fs::remove_dir_all(&home);
    lay_out(&Tree::read()?, &home)?;
    let mdbook = program::find(&["mdbook"]).ok_or("mdbook is not installed: cargo install mdbook --version 0.5.4")?;
    let mut command = program::at_root(&mdbook);
    command.arg("build").arg(&home);
    program::said(command)?;
    Ok(home.join("book").join("index.html"))
}

/// The pages that the table of contents lacks. mdBook builds only the pages that it lists.
fn unlisted(contents: &str, pages: &[&str]) -> Vec<String> {
    let is_listed = |page: &&&str| contents.contains(&format!("]({page})")) || page.ends_with("SUMMARY.md");
    pages.iter().filter(|page| !is_listed(page)).map(|page| format!("{page} is not in {CONTENTS}")).collect()
}

/// Checks that the book has every page and can be built, and that its links exist.
pub(crate) fn check(tally: &mut Tally) {
    let listed = Tree::read().and_then(|tree| {
        let contents = moved(CONTENTS, &program::read(CONTENTS)?);
        let pages: Vec<&str> = tree.files().filter_map(|file| place(&file.path)).collect();
        let unlisted = unlisted(&contents, &pages.into_iter().filter(|it| it.ends_with(".md")).collect::<Vec<_>>());
        if unlisted.is_empty() { Ok(()) } else { Err(unlisted.join("\n")) }
    });
    tally.check("the table of contents has every page", listed);
    if program::find(&["mdbook"]).is_none() {
        return tally
            .skip("mdbook is not installed: cargo install mdbook --version 0.5.4; its links are checked as text");
    }
    let index = match compile() {
        Ok(index) => index,
        Err(what) => return tally.fail(what),
    };
    tally.pass();
    let mut pages = program::files_below(index.parent().unwrap_or(Path::new(".")));
    // print.html repeats all pages.
    pages.retain(|page| page.extension().is_some_and(|end| end == "html") && !page.ends_with("print.html"));
    let lost: Vec<String> = pages.iter().flat_map(|page| lost(page)).collect();
    let followed = if lost.is_empty() { Ok(()) } else { Err(lost.join("\n")) };
    tally.check(&format!("every link of {} pages leads somewhere", pages.len()), followed);
}

/// Links of a page to files and anchors that do not exist.
fn lost(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap_or_default();
    let folder = page.parent().unwrap_or(page);
    let targets = text.split(" href=\"").skip(1).chain(text.split(" src=\"").skip(1));
    let local =
        targets.filter_map(|rest| rest.split('"').next()).filter(|to| !to.contains(':') && !to.starts_with("//"));
    let nowhere = local.filter(|to| {
        let (file, anchor) = to.split_once('#').unwrap_or((to, ""));
        if file == LABORATORY {
            return !EXPERIMENTS.iter().any(|one| anchor.strip_prefix("f=") == Some(one.name));
        }
        let target = folder.join(file);
        match (file, anchor) {
            (_, "") => !target.exists(),
            ("", anchor) => !has_place(&text, anchor),
            (_, anchor) => !fs::read_to_string(target).is_ok_and(|text| has_place(&text, anchor)),
        }
    });
    nowhere.map(|to| format!("{}: there is no {to}", page.display())).collect()
}

/// Whether a page has an anchor of that name.
fn has_place(text: &str, anchor: &str) -> bool {
    text.contains(&format!(" id=\"{anchor}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_rewritten_for_folders_of_the_book() {
        let of = |path: &str, text: &str| moved(path, text);
        let outside = |file: &str| match REPOSITORY {
            "" => "a".to_string(),
            address => format!("[a]({address}/blob/main/{file})"),
        };
        assert_eq!(of("docs/tcp.md", "[a](book/src/disciplines/red.md#x)"), "[a](disciplines/red.md#x)");
        assert_eq!(of("docs/book/src/disciplines/red.md", "![a](../pictures/red.svg)"), "![a](../pictures/red.svg)");
        assert_eq!(of("docs/tcp.md", "[a](adr/0001.md)"), outside("docs/adr/0001.md"));
        assert_eq!(of("docs/tcp.md", "[a](../README.md)"), outside("README.md"));
        assert_eq!(of("docs/tcp.md", "[a](https://x.org/y) [b](#c)"), "[a](https://x.org/y) [b](#c)");
    }

    #[test]
    fn finds_pages_missing_from_the_contents() {
        let contents = "# Summary\n- [A](a.md)\n  - [B](disciplines/b.md)\n";
        assert_eq!(unlisted(contents, &["SUMMARY.md", "a.md", "disciplines/b.md"]), [""; 0]);
        assert_eq!(unlisted(contents, &["b.md"]), ["b.md is not in docs/book/src/SUMMARY.md"]);
    }

    #[test]
    fn finds_links_to_missing_pages_and_anchors() {
        let home = program::scratch("book-links").unwrap();
        fs::write(home.join("a.html"), "<h2 id=\"why\">Why</h2>").unwrap();
        let of = |link: &str| {
            let page = home.join("page.html");
            fs::write(&page, format!("<p id=\"here\"><a href=\"{link}\">x</a>")).unwrap();
            lost(&page).len()
        };
        for fine in ["a.html", "a.html#why", "#here", "#", "", "https://x.org/y#z", "//x.org/y"] {
            assert_eq!(of(fine), 0, "{fine}");
        }
        for broken in ["b.html", "a.html#how", "#there", "b.html#why"] {
            assert_eq!(of(broken), 1, "{broken}");
        }
        fs::remove_dir_all(home).unwrap();
    }
}
