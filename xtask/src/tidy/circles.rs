//! No two files of a crate need each other, be it through others.
//!
//! A file needs another if a path leads there that begins with `crate`, `super`, `self` or a child module. A name that a
//! module hands on leads to the one file below it that defines the name. A child may use its direct parent. Re-exports
//! and code for tests tie nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::tree::Tree;

/// By file, the files that it needs.
type Needs<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;
/// By the path of a module, its file and the tokens of its code.
type Modules<'a> = BTreeMap<Vec<&'a str>, (&'a str, Vec<&'a str>)>;

/// The circles of every crate: which file needs which.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    for file in tree.rust() {
        let Some((folder, path)) = file.path.split_once("/src/") else { continue };
        let is_crate = folder == "xtask" || folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/'));
        // A program in the package of a library uses it as another crate does.
        if is_crate && !(path == "main.rs" && tree.has(&format!("{folder}/src/lib.rs"))) {
            crates.entry(folder).or_default().insert(module(path), (path, tokens(&file.code)));
        }
    }
    let of = |(folder, modules): (&&str, &Modules)| {
        circles(&needs(modules)).iter().map(|circle| format!("{folder}/src: {circle}")).collect::<Vec<_>>()
    };
    crates.iter().flat_map(of).collect()
}

/// The path of the module that a file is.
fn module(file: &str) -> Vec<&str> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(path, "lib" | "main" | "mod") { Vec::new() } else { path.split('/').collect() }
}

fn needs<'a>(modules: &Modules<'a>) -> Needs<'a> {
    let mut needs = Needs::new();
    for (here, (file, tokens)) in modules {
        let own = needs.entry(*file).or_default();
        for path in paths(tokens) {
            let Some(at) = find(modules, here, &path) else { continue };
            let is_parent = here.split_last().is_some_and(|(_, parent)| parent == at);
            if at != *here && !is_parent {
                own.extend(modules.get(&at).map(|(file, _)| *file));
            }
        }
    }
    needs
}

/// The module that a path leads to, seen from the module `here`; none for another crate's.
fn find<'a>(modules: &Modules<'a>, here: &[&'a str], path: &[&'a str]) -> Option<Vec<&'a str>> {
    let (mut at, mut rest) = (here.to_vec(), path);
    while let [first @ ("crate" | "super" | "self"), more @ ..] = rest {
        let length = if *first == "crate" { 0 } else { at.len() - usize::from(*first == "super" && !at.is_empty()) };
        at.truncate(length);
        rest = more;
    }
    if rest.len() == path.len() && !modules.contains_key(&[here, &path[..1]].concat()) {
        return None;
    }
    for name in rest {
        let child = [at.as_slice(), &[*name]].concat();
        let defines = |tokens: &[&str]| tokens.windows(2).any(|pair| pair[1] == *name && DEFINING.contains(&pair[0]));
        let own = modules.get(&at).is_some_and(|(_, tokens)| defines(tokens));
        let below = modules.iter().filter(|(module, _)| module.starts_with(&at) && module.len() > at.len());
        let mut handed_on = below.filter(|(module, (_, tokens))| module.last() == Some(name) || defines(tokens));
        match (modules.contains_key(&child), own, handed_on.next(), handed_on.next()) {
            (true, ..) => at = child,
            (false, false, Some((one, _)), None) => at = one.clone(),
            _ => break,
        }
    }
    Some(at)
}

/// Words before the name that an item defines; `!` is that of `macro_rules!`.
const DEFINING: [&str; 9] = ["struct", "enum", "trait", "fn", "const", "static", "type", "union", "!"];

/// Every path of two words or more, those of imports without their braces; not what is handed on or is for tests.
fn paths<'a>(tokens: &[&'a str]) -> Vec<Vec<&'a str>> {
    let (mut found, mut open, mut at) = (Vec::new(), Vec::<Vec<&str>>::new(), 0);
    while at < tokens.len() {
        match &tokens[at..] {
            ["#", "[", "cfg", "(", "test", ")", "]", item @ ..] => at += 6 + length(item),
            ["pub", "use", rest @ ..] => at += 1 + length(rest),
            ["pub", "(", _, ")", "use", rest @ ..] => at += 4 + length(rest),
            ["{", ..] => open.push(Vec::new()),
            ["}", ..] => drop(open.pop()),
            ["::", word, ..] if is_word(word) => at += 1,
            [word, ..] if is_word(word) => {
                let mut path = open.last().cloned().unwrap_or_default();
                path.push(*word);
                while let ["::", word, ..] = &tokens[at + 1..]
                    && is_word(word)
                {
                    path.push(*word);
                    at += 2;
                }
                match &tokens[at + 1..] {
                    ["::", "{", ..] => (at, _) = (at + 2, open.push(path)),
                    _ if path.len() > 1 => found.push(path),
                    _ => {}
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// How many tokens an item has, up to its `;` or its last brace.
fn length(item: &[&str]) -> usize {
    let mut depth = 0;
    let is_end = |token: &&str| {
        depth += i32::from(*token == "{") - i32::from(*token == "}");
        depth == 0 && matches!(*token, ";" | "}")
    };
    item.iter().position(is_end).map_or(item.len(), |at| at + 1)
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::`, and other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut rest) = (Vec::new(), code.trim_start());
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

/// Sets of files that all need one another, in words.
fn circles(needs: &Needs) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = needs.keys().map(|file| (*file, reach(needs, file))).collect();
    let mut circles = BTreeSet::new();
    for (file, all) in &reached {
        let circle: BTreeSet<&str> = all.iter().copied().filter(|other| reached[other].contains(file)).collect();
        let pairs = circle.iter().flat_map(|a| needs[a].intersection(&circle).map(move |b| format!("{a} needs {b}")));
        circles.insert(pairs.collect::<Vec<_>>().join("; "));
    }
    circles.into_iter().filter(|circle| !circle.is_empty()).collect()
}

/// What `file` needs, and all that this needs.
fn reach<'a>(needs: &Needs<'a>, file: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::new(), vec![file]);
    while let Some(file) = open.pop() {
        open.extend(needs.get(file).into_iter().flatten().filter(|next| found.insert(**next)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::check;

    #[test]
    fn finds_circles_of_two_and_of_several() {
        let [lib, a, b, c] = ["lib", "a", "b", "c"].map(|name| format!("crates/x/src/{name}.rs"));
        let modules = (lib.as_str(), "pub mod a; pub mod b; pub use b::B;");
        for text in [
            "use crate::b::B;\npub struct A(B);",
            "use super::{c::{self, D}, b::{B as Other}};",
            "use crate::b;\nfn f() -> b::B {}",
            "fn f() { let x = crate::b::B; }",
            "mod inner { fn f(b: crate::b::B) {} }",
            "use crate::B;",
        ] {
            let files = [modules, (&a, text), (&b, "use crate::a::A;\npub struct B(A);")];
            finds(check, &files, "crates/x/src: a.rs needs b.rs; b.rs needs a.rs");
        }
        let three = [(a.as_str(), "use crate::b::B;"), (&b, "use crate::c::f;"), (&c, "use crate::{a::A, d::D};")];
        finds(check, &three, "a.rs needs b.rs; b.rs needs c.rs; c.rs needs a.rs");
        let makes = "#[macro_export]\nmacro_rules! make { () => { $crate::b::B } }";
        finds(check, &[modules, (&a, makes), (&b, "use crate::make;\npub struct B;")], "a.rs needs b.rs");
        let grandchild = ("crates/x/src/a/b/c.rs", "use super::super::A;");
        finds(check, &[(&a, "use b::B;"), ("crates/x/src/a/b.rs", "use c::C;"), grandchild], "a.rs needs a/b.rs");
    }

    #[test]
    fn parents_tests_and_re_exports_tie_nothing() {
        let (a, b) = ("crates/x/src/a.rs", ("crates/x/src/b.rs", "use crate::a::A;\nuse std::fmt;"));
        finds(check, &[(a, "use b::B;"), ("crates/x/src/a/b.rs", "use super::A;\nuse crate::a::A as B;")], "");
        for text in [
            "// crate::b::B\n#[cfg(test)]\nmod tests { use crate::b::B; }\nconst A: &str = \"crate::b::B\";",
            "use serde::b::B;\nfn f() { other::b::B; <A as T>::b::c() }",
            "pub use crate::b::B;\npub struct A;",
        ] {
            finds(check, &[(a, text), b], "");
        }
    }
}
