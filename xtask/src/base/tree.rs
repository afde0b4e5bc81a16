//! The files of the checkout, read once, and the tokens of Rust.

use std::fs;
use std::process::Stdio;

use proc_macro2::{Delimiter, LineColumn, Spacing, Span, TokenStream, TokenTree};

use crate::base::program;

/// Folders that are never part of the project, for checkouts without git.
const FOREIGN: [&str; 5] = [".git", ".venv", "node_modules", "runs", "target"];

/// One text file.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// As it is.
    pub(crate) text: String,
    /// Of Rust; none for other files.
    pub(crate) tokens: Vec<Token>,
}

/// A word, `::` or another character of Rust; a literal is `0`, for what stands in it is no code.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// How many brackets and braces it is in.
    pub(crate) depth: usize,
}

pub(crate) fn words(tokens: &[Token]) -> Vec<&str> {
    tokens.iter().map(|token| token.text.as_str()).collect()
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

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.0.iter()
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".rs"))
    }

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
        let tokens = if path.ends_with(".rs") { tokens(&text) } else { Vec::new() };
        Self { path, text, tokens }
    }
}

/// Every file of the checkout, text or not: what git tracks or would track; without git, what lies there.
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

/// The tokens of some Rust; none if it is not.
fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    flatten(text.parse().unwrap_or_default(), 0, &mut out);
    out
}

fn flatten(stream: TokenStream, depth: usize, out: &mut Vec<Token>) {
    let token = |text: &str, depth: usize, span: Span| {
        let LineColumn { line, column } = span.start();
        Token { text: text.to_string(), line, column, depth }
    };
    let mut is_half = false;
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::Brace | Delimiter::None => ["{", "}"],
                };
                out.push(token(open, depth, group.span_open()));
                flatten(group.stream(), depth + 1, out);
                out.push(token(close, depth, group.span_close()));
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' && is_half => {
                out.iter_mut().next_back().into_iter().for_each(|half| half.text.push(':'));
                is_half = false;
                continue;
            }
            TokenTree::Punct(punct) => {
                is_half = punct.as_char() == ':' && punct.spacing() == Spacing::Joint;
                out.push(token(&punct.to_string(), depth, punct.span()));
                continue;
            }
            TokenTree::Ident(ident) => out.push(token(&ident.to_string(), depth, ident.span())),
            TokenTree::Literal(literal) => out.push(token("0", depth, literal.span())),
        }
        is_half = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_no_comments_and_no_inside_of_strings() {
        for (text, want) in [
            ("a // {\nb /* { /* } */ \n */ ::c", "a b :: c"),
            ("f(b\"{\", '{', '\\'', r##\"a \"# { \"##) + 1", "f ( 0 , 0 , 0 , 0 ) + 0"),
            ("fn f<'a>(x: &'a str) { $x::y }", "fn f < ' a > ( x : & ' a str ) { $ x :: y }"),
            ("not \" Rust", ""),
        ] {
            assert_eq!(words(&tokens(text)).join(" "), want, "{text}");
        }
        let places: Vec<_> = tokens("a {\n b\n}").iter().map(|t| (t.line, t.column, t.depth)).collect();
        assert_eq!(places, [(1, 0, 0), (1, 2, 0), (2, 1, 1), (3, 0, 0)]);
    }

    #[test]
    fn a_file_is_found_below_a_folder() {
        let tree = Tree::of(&[("a/x_b.rs", ""), ("a/c/b.rs", ""), ("b.rs", ""), ("d.rs", "")]);
        assert_eq!(tree.below("a/", "b.rs").map(|file| file.path.as_str()), Some("a/c/b.rs"));
        assert!(tree.below("a/", "d.rs").is_none());
    }

    #[test]
    fn a_tree_knows_files_and_folders() {
        let tree = Tree::of(&[("crates/aqm/src/lib.rs", ""), ("README.md", "")]);
        assert!(tree.has("crates/aqm") && tree.has("crates/aqm/") && tree.has("README.md"));
        assert!(!tree.has("crates/a") && !tree.has("README"));
    }
}
