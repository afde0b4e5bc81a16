//! The files of the checkout, read once, and what is left of Rust without comments and strings.

use std::fs;
use std::path::Path;

use crate::base::program;

/// Folders that are never part of the project, for checkouts without git.
const FOREIGN: [&str; 5] = [".git", ".venv", "node_modules", "runs", "target"];

/// One text file.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// As it is.
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
        // What is deleted but still tracked, and what is no text, is none of our business.
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

/// Every file of the checkout, text or not: what git tracks or would track; without git, what lies there.
pub(crate) fn paths() -> Result<Vec<String>, String> {
    let mut git = program::at_root("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut paths: Vec<String> = match program::output(git) {
        Ok((status, out)) if status.success() => out.split_terminator('\0').map(str::to_string).collect(),
        _ => {
            let mut found = Vec::new();
            walk(&program::root(), "", &mut found).map_err(|error| error.to_string())?;
            found
        }
    };
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type()?.is_dir() {
            found.push(path);
        } else if !FOREIGN.contains(&name.as_str()) {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}

/// `text`, some Rust, with comments and the inside of strings and characters turned into blanks; lines stay.
pub(crate) fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match comment(&chars, at).or_else(|| literal(&chars, at)) {
            Some(end) => end.min(chars.len()),
            None => {
                out.push(chars[at]);
                at += 1;
                continue;
            }
        };
        out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// Where the comment that begins at `at` ends.
fn comment(chars: &[char], at: usize) -> Option<usize> {
    let pair = |i: usize| (chars.get(i).copied(), chars.get(i + 1).copied());
    match pair(at) {
        (Some('/'), Some('/')) => Some(chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| at + n)),
        (Some('/'), Some('*')) => {
            let (mut depth, mut i) = (1, at + 2);
            while depth > 0 && i < chars.len() {
                match pair(i) {
                    (Some('/'), Some('*')) => (depth, i) = (depth + 1, i + 2),
                    (Some('*'), Some('/')) => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
            }
            Some(i)
        }
        _ => None,
    }
}

/// Where the string or character that begins at `at` ends; a lifetime is neither.
fn literal(chars: &[char], at: usize) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    match chars[at] {
        '"' => Some(closing(chars, at + 1, '"')),
        '\'' if chars.get(at + 1) == Some(&'\\') => Some(closing(chars, at + 1, '\'')),
        '\'' if chars.get(at + 2) == Some(&'\'') => Some(at + 3),
        'r' if at == 0 || !is_word(chars[at - 1]) || matches!(chars[at - 1], 'b' | 'c') => {
            let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
            let open = at + 1 + hashes;
            (chars.get(open) == Some(&'"')).then(|| {
                let ends =
                    |i: usize| chars[i] == '"' && chars[i + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
                (open + 1..chars.len()).find(|i| ends(*i)).map_or(chars.len(), |i| i + 1 + hashes)
            })
        }
        _ => None,
    }
}

/// The place after the next `quote` that no backslash hides.
fn closing(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_become_blanks_and_lines_stay() {
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
    fn what_never_closes_ends_with_the_file() {
        for text in ["a \"b", "a /* b", "a r#\"b\"", "'\\"] {
            assert_eq!(blank(text).chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn a_tree_knows_files_and_folders() {
        let tree = Tree::of(&[("crates/aqm/src/lib.rs", ""), ("README.md", "")]);
        assert!(tree.has("crates/aqm") && tree.has("crates/aqm/") && tree.has("README.md"));
        assert!(!tree.has("crates/a") && !tree.has("README"));
    }
}
