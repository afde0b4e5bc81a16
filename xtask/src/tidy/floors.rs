//! A folder uses only folders before it in the map of ARCHITECTURE.md, so folders have no dependency cycles.
//!
//! The map has groups: a row with "each of which uses only earlier ones", and the rows below it of the same crate. A
//! file uses another if a path in its code starts with `crate`. Re-exports and code for tests do not count.

use crate::base::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const MARK: &str = "each of which uses only earlier ones";

/// Uses of a later folder.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for folders in tree.get(MAP).map(|map| groups(&map.text)).unwrap_or_default() {
        // The longest folder of a group that contains the file.
        let of = |path: &str| {
            let within = folders.iter().enumerate().filter(|(_, folder)| path.starts_with(folder.as_str()));
            within.max_by_key(|(_, folder)| folder.len()).map(|(at, _)| at)
        };
        for file in tree.rust() {
            let (Some(here), Some((root, _))) = (of(&file.path), file.path.split_once("/src/")) else { continue };
            let uses =
                |path: &[&str]| module(tree, root, path).filter(|used| of(used).is_some_and(|there| there > here));
            let paths = paths(&file.code);
            let wrong = paths.iter().filter_map(|path| uses(path));
            findings.extend(wrong.map(|used| format!("{}: uses {used}, which is in a later folder", file.path)));
        }
    }
    findings
}

/// The folders of each group, in the order of the map, each with a final `/`.
fn groups(map: &str) -> Vec<Vec<String>> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for row in map.lines().filter_map(|line| line.strip_prefix("| `")) {
        let cell = row.split(" |").next().unwrap_or_default();
        let folders = cell.split('`').step_by(2).map(|folder| format!("{folder}/"));
        match groups.last_mut() {
            _ if row.contains(MARK) => groups.push((cell.trim_end_matches('`').to_string() + "/", Vec::new())),
            Some((head, group)) if cell.starts_with(head.as_str()) => group.extend(folders),
            _ => {}
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The file that a path leads to in the crate at `root`: each name is a file of the folder reached so far, or the only
/// file of this name below it, which the folder re-exports.
fn module<'a>(tree: &'a Tree, root: &str, path: &[&str]) -> Option<&'a str> {
    let (mut at, mut found) = (format!("{root}/src/"), None);
    for name in path {
        let ends = [format!("{name}.rs"), format!("{name}/mod.rs")];
        let direct = ends.iter().find_map(|end| tree.get(&format!("{at}{end}"))).map(|file| file.path.as_str());
        let is_below = |path: &str| path.starts_with(&at) && ends.iter().any(|end| path.ends_with(&format!("/{end}")));
        let mut below = tree.rust().map(|file| file.path.as_str()).filter(|path| is_below(path));
        let only = below.next().filter(|_| below.next().is_none());
        let Some(next) = direct.or(only) else { break };
        found = Some(next);
        at = next.trim_end_matches("/mod.rs").trim_end_matches(".rs").to_string() + "/";
    }
    found
}

/// The paths in the code that start with `crate`, without it; each name in braces ends a path.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let product = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let private = product.lines().filter(|line| !line.trim_start().starts_with("pub "));
    let mut found = Vec::new();
    for path in private.flat_map(|line| line.split("crate::").skip(1)) {
        let (path, names) = path.split_once('{').unwrap_or((path, ""));
        let end = path.find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(path.len());
        let stem: Vec<&str> = path[..end].split("::").filter(|name| !name.is_empty()).collect();
        let names = names.split(['{', '}', ',', ' ', ';']).filter_map(|name| name.split("::").next());
        found.extend(names.filter(|name| !name.is_empty()).map(|name| [&stem[..], &[name]].concat()));
        found.push(stem);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::*;

    const ROWS: &str = "| `crates/x` | folders, each of which uses only earlier ones |\n| `crates/x/src/a` | |\n\
                        | `crates/x/src/b`, `crates/x/src/b/c` | |\n| `crates/y/src/d` | |\n";

    #[test]
    fn finds_a_folder_that_uses_a_later_one() {
        let [a, b, c] = ["a/one", "b/two", "b/c/three"].map(|name| format!("crates/x/src/{name}.rs"));
        for (file, text, want) in [
            (&a, "use crate::b::two::Two;", "crates/x/src/a/one.rs: uses crates/x/src/b/two.rs"),
            (&a, "use crate::two::Two;", "uses crates/x/src/b/two.rs"),
            (&a, "use crate::b::{two, c};", "uses crates/x/src/b/two.rs"),
            (&a, "fn f() { crate::three::g() }", "uses crates/x/src/b/c/three.rs"),
            (&b, "use crate::b::c::three::g;", "uses crates/x/src/b/c/three.rs"),
            (&a, "pub use crate::two::Two;\n#[cfg(test)]\nmod tests { use crate::two::Two; }", ""),
            (&b, "use crate::one::One;\nuse other::three;\n// crate::three", ""),
            (&c, "use crate::{one, two};", ""),
        ] {
            let (mods, others) =
                (["crates/x/src/b/mod.rs", "crates/x/src/b/c/mod.rs"], [&a, &b, &c].map(String::as_str));
            let others = mods.into_iter().chain(others).filter(|other| other != file).map(|path| (path, ""));
            finds(check, &[(MAP, ROWS), (file, text)].into_iter().chain(others).collect::<Vec<_>>(), want);
        }
    }
}
