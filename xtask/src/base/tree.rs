//! The files of the checkout, read once; Rust files also without comments and strings.

use std::fs;
use std::process::Stdio;

use crate::base::program;

/// Folders to leave out in a checkout without git.
const FOREIGN: [&str; 5] = [".git", ".venv", "node_modules", "runs", "target"];

/// One text file.
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// Unchanged.
    pub(crate) text: String,
    /// Rust with comments and the inside of strings blanked; empty for other files.
    pub(crate) code: String,
}

/// The project's text files in order of path.
pub(crate) struct Tree(Vec<File>);

impl Tree {
    /// The text files among [`paths`].
    pub(crate) fn read() -> Result<Self, String> {
        let root = program::root();
        // Files that are deleted but still tracked, and files that are not text, are left out.
        let read = |path: String| fs::read_to_string(root.join(&path)).ok().map(|text| File::new(path, text));
        Ok(Self(paths()?.into_iter().filter_map(read).collect()))
    }

    /// A tree with these files.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| File::new((*path).to_string(), (*text).to_string())).collect())
    }

    /// Every file.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.0.iter()
    }

    /// Every Rust file.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".rs"))
    }

    /// The file at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files().find(|file| file.path == path)
    }

    /// The file of this `name` in `folder`, which ends with `/`, or in a folder below it.
    pub(crate) fn below(&self, folder: &str, name: &str) -> Option<&File> {
        let is_it = |file: &&File| {
            let rest = file.path.strip_prefix(folder).and_then(|rest| rest.strip_suffix(name));
            rest.is_some_and(|folders| folders.is_empty() || folders.ends_with('/'))
        };
        self.files().find(is_it)
    }

    /// Is there a file at `path`, or a folder with files?
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files()
            .any(|file| file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }
}

impl File {
    fn new(path: String, text: String) -> Self {
        let code = if path.ends_with(".rs") { blank(&text) } else { String::new() };
        Self { path, text, code }
    }
}

/// Every file of the checkout, text or not: what git tracks or would track; without git, every file.
pub(crate) fn paths() -> Result<Vec<String>, String> {
    let mut git = program::at_root("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).stderr(Stdio::null());
    let listed = git.output().ok().filter(|out| out.status.success()).map(|out| out.stdout);
    let mut paths: Vec<String> = match listed {
        Some(out) => String::from_utf8_lossy(&out).split_terminator('\0').map(str::to_string).collect(),
        None => {
            let root = program::root();
            let all = program::files_below(&root).into_iter();
            let ours = all.filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_string_lossy().into_owned()));
            ours.filter(|path| !path.split('/').any(|part| FOREIGN.contains(&part))).collect()
        }
    };
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Rust with comments and the contents of strings and characters replaced by blanks; the number of lines stays.
pub(crate) fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_word) = (text, false);
    while let Some(first) = rest.chars().next() {
        let length = hidden(rest, in_word).map_or(0, |length| length.min(rest.len()));
        if length == 0 {
            out.push(first);
        }
        out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        // The prefix of a raw string belongs to it.
        in_word = length == 0 && (first.is_alphanumeric() || first == '_') && !matches!(first, 'b' | 'c');
        rest = &rest[length.max(first.len_utf8())..];
    }
    out
}

/// Length of the comment, string or character at the start of `text`; a lifetime is none of them.
fn hidden(text: &str, in_word: bool) -> Option<usize> {
    let up_to = |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let mut chars = text.chars();
    match (chars.next()?, chars.next(), chars.next()) {
        ('/', Some('/'), _) => Some(text.find('\n').unwrap_or(text.len())),
        ('/', Some('*'), _) => {
            let (mut depth, mut at) = (1, 2);
            while depth > 0 && at < text.len() {
                let step = [("/*", 1), ("*/", -1)].into_iter().find(|(mark, _)| text[at..].starts_with(mark));
                depth += step.map_or(0, |(_, step)| step);
                at += step.map_or_else(|| text[at..].chars().next().map_or(1, char::len_utf8), |_| 2);
            }
            Some(at)
        }
        ('"', ..) | ('\'', Some('\\'), _) => {
            let mut escaped = false;
            let is_end = |c: char| {
                let ends = !escaped && text.starts_with(c);
                escaped = c == '\\' && !escaped;
                ends
            };
            Some(text[1..].find(is_end).map_or(text.len(), |at| at + 2))
        }
        ('\'', Some(one), Some('\'')) => Some(2 + one.len_utf8()),
        ('r', ..) if !in_word => {
            let hashes = text[1..].chars().take_while(|c| *c == '#').count();
            let opens = text[1 + hashes..].starts_with('"');
            opens.then(|| up_to(&format!("\"{}", "#".repeat(hashes)), 2 + hashes))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_comments_and_strings_become_blanks() {
        for (text, want) in [
            ("a // {\nb", "a     \nb"),
            ("a /* { /* } */ \n */ b", "a              \n    b"),
            (r#"f("{ \" }") + 1"#, "f(        ) + 1"),
            ("f(b\"{\", '{', '\\'', '\\u{7d}')", "f(b   ,    ,     ,         )"),
            ("fn f<'a>(x: &'a str) -> &'a str { x }", "fn f<'a>(x: &'a str) -> &'a str { x }"),
            ("let s = r##\"a \"# { \n\"##; }", "let s =            \n   ; }"),
            ("for r in 0..2 {}", "for r in 0..2 {}"),
        ] {
            assert_eq!(blank(text), want, "{text}");
        }
    }

    #[test]
    fn a_file_is_found_below_a_folder() {
        let tree = Tree::of(&[("a/x_b.rs", ""), ("a/c/b.rs", ""), ("b.rs", ""), ("d.rs", "")]);
        assert_eq!(tree.below("a/", "b.rs").map(|file| file.path.as_str()), Some("a/c/b.rs"));
        assert!(tree.below("a/", "d.rs").is_none());
    }

    #[test]
    fn unclosed_rust_strings_end_with_the_file() {
        for text in ["a \"b", "a /* b", "a r#\"b\"", "'\\"] {
            assert_eq!(blank(text).chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn tree_knows_which_files_and_folders_exist() {
        let tree = Tree::of(&[("crates/aqm/src/lib.rs", ""), ("README.md", "")]);
        assert!(tree.has("crates/aqm") && tree.has("crates/aqm/") && tree.has("README.md"));
        assert!(!tree.has("crates/a") && !tree.has("README"));
    }
}
