//! Finds the source file of a discipline, a marker or a shared part.

use crate::base::tree::Tree;

const CRATE: &str = "crates/aqm/src/";
/// The folders of `forebay-aqm` with disciplines, markers and shared parts.
const FOLDERS: [&str; 5] = ["law/", "aqm/", "queue/", "parts/", "base/"];

/// The file of the discipline, marker or shared part called `name`.
pub(crate) fn file<'a>(tree: &'a Tree, name: &str) -> Option<&'a str> {
    let file = format!("{name}.rs");
    let is_it = |path: &str, folder: &str| {
        let below = path.strip_prefix(CRATE).and_then(|path| path.strip_prefix(folder));
        below.is_some_and(|rest| rest.rsplit('/').next() == Some(&file))
    };
    FOLDERS.iter().find_map(|folder| tree.rust().map(|file| file.path.as_str()).find(|path| is_it(path, folder)))
}

/// The module path of a file, with which the names of its tests begin.
pub(crate) fn module(file: &str) -> Option<String> {
    Some(file.strip_prefix(CRATE)?.strip_suffix(".rs")?.replace('/', "::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_source_file_of_a_discipline_by_name() {
        let tree = Tree::of(&[
            ("crates/aqm/src/aqm/backlog/red.rs", ""),
            ("crates/aqm/src/aqm/backlog/ared.rs", ""),
            ("crates/aqm/src/queue/drr.rs", ""),
            ("crates/aqm/tests/reference/pi.rs", ""),
        ]);
        assert_eq!(file(&tree, "red"), Some("crates/aqm/src/aqm/backlog/red.rs"));
        assert_eq!(file(&tree, "drr"), Some("crates/aqm/src/queue/drr.rs"));
        assert_eq!((file(&tree, "pi"), file(&tree, "ed")), (None, None));
        assert_eq!(file(&tree, "red").and_then(module).as_deref(), Some("aqm::backlog::red"));
    }
}
