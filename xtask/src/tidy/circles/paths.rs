//! The paths that some Rust names, read word by word.

use std::collections::BTreeSet;

/// What an import stands for, under a name.
pub(super) struct Import {
    pub(super) name: String,
    pub(super) path: Vec<String>,
    /// Is it for others too?
    pub(super) is_public: bool,
}

/// What stands in one module and is not for tests alone.
#[derive(Default)]
pub(super) struct Named {
    pub(super) imports: Vec<Import>,
    /// Paths of two words or more, those of imports not among them.
    pub(super) paths: Vec<Vec<String>>,
    /// Every word, those of imports not among them.
    pub(super) words: BTreeSet<String>,
    /// The macros that it defines.
    pub(super) macros: Vec<String>,
    /// The modules within it that are no files.
    pub(super) inner: Vec<(String, Named)>,
}

impl Named {
    /// What stands in `code`, some Rust without comments and strings.
    pub(super) fn of(code: &str) -> Self {
        Self::read(&tokens(code))
    }

    fn read(tokens: &[&str]) -> Self {
        let mut named = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            at += match &tokens[at..] {
                ["use", first, ..] if *first != "<" => named.import(tokens, at),
                ["#", "[", "cfg", "(", "test", ")", "]", item @ ..] => 7 + length(item),
                ["macro_rules", "!", name, ..] => {
                    named.macros.push((*name).to_string());
                    3
                }
                ["mod", name, "{", within @ ..] => {
                    let end = closing(within);
                    named.inner.push(((*name).to_string(), Self::read(&within[..end])));
                    3 + end
                }
                [word, ..] if is_word(word) => named.path(&tokens[at..]),
                // What follows belongs to a type or to another crate.
                ["::", ..] => 2,
                _ => 1,
            };
        }
        named
    }

    /// Reads the import at `at`; how many tokens it has.
    fn import(&mut self, tokens: &[&str], at: usize) -> usize {
        let is_public = at > 0 && matches!(tokens[at - 1], "pub" | ")");
        let length = tokens[at..].iter().position(|token| *token == ";").unwrap_or(tokens.len() - at);
        for (name, path) in leaves(&tokens[at + 1..at + length], &[]) {
            self.imports.push(Import { name, path, is_public });
        }
        length
    }

    /// Reads the path, or the single word, that `tokens` begin with; how many tokens it has.
    fn path(&mut self, tokens: &[&str]) -> usize {
        let more = tokens[1..].chunks(2).take_while(|pair| pair[0] == "::" && pair.get(1).is_some_and(|w| is_word(w)));
        let length = 1 + 2 * more.count();
        let path: Vec<String> = tokens[..length].iter().step_by(2).map(|word| (*word).to_string()).collect();
        self.words.insert(path[0].clone());
        if path.len() > 1 {
            self.paths.push(path);
        }
        length
    }
}

/// Names and paths that a tree of imports ends in, below `prefix`.
fn leaves(tokens: &[&str], prefix: &[String]) -> Vec<(String, Vec<String>)> {
    let words = tokens.iter().take_while(|token| !matches!(**token, "{" | "as"));
    let path = words.filter(|token| !matches!(**token, "::" | "$")).map(|token| (*token).to_string());
    let mut path: Vec<String> = prefix.iter().cloned().chain(path).collect();
    if let Some(open) = tokens.iter().position(|token| *token == "{") {
        let within = &tokens[open + 1..open + 1 + closing(&tokens[open + 1..])];
        return branches(within).into_iter().flat_map(|branch| leaves(branch, &path)).collect();
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let alias = tokens.iter().position(|token| *token == "as").and_then(|at| tokens.get(at + 1));
    let name = alias.map(|alias| (*alias).to_string()).or_else(|| path.last().cloned());
    name.map(|name| (name, path)).into_iter().collect()
}

/// The parts between commas that no braces hide.
fn branches<'a, 'b>(tokens: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let mut depth = 0;
    let parts = tokens.split(|token| {
        depth += i32::from(*token == "{") - i32::from(*token == "}");
        depth == 0 && *token == ","
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Where the brace that closes what is open before `tokens` stands.
fn closing(tokens: &[&str]) -> usize {
    let mut depth = 1;
    let is_end = |token: &&str| {
        depth += i32::from(*token == "{") - i32::from(*token == "}");
        depth == 0
    };
    tokens.iter().position(is_end).unwrap_or(tokens.len())
}

/// How many tokens an item has.
fn length(item: &[&str]) -> usize {
    let end = item.iter().position(|token| matches!(*token, ";" | "{")).unwrap_or(item.len());
    if item.get(end) == Some(&"{") { end + 1 + closing(&item[end + 1..]) } else { end }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::`, and other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ':' if rest.starts_with("::") => 2,
            first if part(first) => rest.find(|c| !part(c)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(code: &str) -> Vec<(String, String, bool)> {
        Named::of(code).imports.into_iter().map(|i| (i.name, i.path.join("::"), i.is_public)).collect()
    }

    fn one(name: &str, path: &str, is_public: bool) -> (String, String, bool) {
        (name.to_string(), path.to_string(), is_public)
    }

    #[test]
    fn reads_trees_of_imports() {
        let found = imports("use super::{a::{self, B as C}, d::*, E};\npub(super) use crate::f::G;\nuse h as _;");
        let want = [
            one("a", "super::a", false),
            one("C", "super::a::B", false),
            one("*", "super::d::*", false),
            one("E", "super::E", false),
            one("G", "crate::f::G", true),
            one("_", "h", false),
        ];
        assert_eq!(found, want);
        assert!(imports("fn f(x: &X) -> impl Iterator<Item = u8> + use<'_> { g() }").is_empty());
    }

    #[test]
    fn reads_paths_but_not_what_belongs_to_types() {
        let named = Named::of("fn f() -> $crate::a::B<c::D> { <E as F>::g::h(i.j::<u8>()); ::k::l::m() }");
        assert_eq!(named.paths, [vec!["crate", "a", "B"], vec!["c", "D"]]);
        assert!(named.words.contains("E") && !named.words.contains("g"));
    }

    #[test]
    fn modules_within_are_apart_and_those_for_tests_left_out() {
        let code =
            "mod a { use super::b; mod c { use d::e; } }\n#[cfg(test)]\nmod tests { use f::g; }\nuse h::i;\nmod j;";
        let named = Named::of(code);
        let names = |named: &Named| named.inner.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&named), names(&named.inner[0].1)), (vec!["a".to_string()], vec!["c".to_string()]));
        assert_eq!((named.imports.len(), named.inner[0].1.imports.len()), (1, 1));
    }
}
