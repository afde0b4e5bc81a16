//! Files that documents name exist.

use crate::base::links::join;
use crate::base::tree::{File, Tree};

/// A word in backticks that begins with one of these is a path from the root.
const FOLDERS: [&str; 7] = ["crates/", "docs/", "examples/", "papers/", "validation/", "xtask/", ".ci/"];
/// A word with one of these is a pattern, not a path.
const PATTERN: [char; 8] = ['<', '>', '*', '{', '}', ' ', '$', '…'];

/// Links to files, and paths in backticks, that do not exist.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    tree.files().filter(|file| file.path.ends_with(".md")).flat_map(|file| lost(tree, file)).collect()
}

fn lost(tree: &Tree, file: &File) -> Vec<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    for (n, line) in file.text.lines().enumerate() {
        let links = links(line).into_iter().map(|link| (link, join(folder, link)));
        let paths = paths(line).into_iter().map(|path| (path, path.to_string()));
        for (written, path) in links.chain(paths) {
            if !tree.has(&path) {
                findings.push(format!("{}:{}: there is no {written}", file.path, n + 1));
            }
        }
    }
    findings
}

/// Targets of links to files: `](target)`, without `#` and the rest.
fn links(line: &str) -> Vec<&str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:")).collect()
}

/// Paths from the root in backticks, without `::test`.
fn paths(line: &str) -> Vec<&str> {
    let quoted = line.split('`').skip(1).step_by(2);
    let paths = quoted.map(|word| word.split("::").next().unwrap_or_default());
    paths.filter(|path| FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.contains(PATTERN)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::check;

    #[test]
    fn finds_links_and_paths_to_missing_files() {
        for (path, text, want) in [
            ("README.md", "[a](docs/adr/0001-x.md#why), [b](https://x.org/y), [c](#here)", ""),
            (
                "README.md",
                "see `crates/aqm/src/lib.rs::test` and `crates/aqm`, or `crates/<name>/src`, `papers/*/x`",
                "",
            ),
            ("README.md", "`cargo run` and `aqm/none`", ""),
            ("crates/aqm/README.md", "[up](../../docs/adr/0001-x.md), [in](src/lib.rs)", ""),
            ("README.md", "a\n[x](docs/none.md)", "README.md:2: there is no docs/none.md"),
            ("README.md", "`crates/sim/src`", "README.md:1: there is no crates/sim/src"),
            ("crates/aqm/README.md", "[x](docs/adr/0001-x.md)", "there is no docs/adr/0001-x.md"),
        ] {
            finds(check, &[(path, text), ("crates/aqm/src/lib.rs", ""), ("docs/adr/0001-x.md", "")], want);
        }
    }
}
