//! No two files of a crate need each other, be it through others.
//!
//! A file needs another if it names what that one defines, through whatever re-export; what it only hands on it does not
//! need. A module and its children are one: a child may use what its direct parent defines. Modules for tests tie nothing.
//! No types are worked out: who calls a method does not need the file that has it, and `*` stands for itself.

mod modules;
mod paths;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::tree::Tree;
use modules::Modules;

/// By file, the files that it needs, and the names for which it does.
type Needs = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The circles of every crate: who needs whom, and what for.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for file in tree.rust() {
        let parts = file.path.split_once("/src/").filter(|(folder, _)| *folder == "xtask" || is_crate(folder));
        if let Some((folder, path)) = parts {
            crates.entry(folder).or_default().push((path, &file.code));
        }
    }
    let findings = |(folder, files): (&&str, &Vec<(&str, &str)>)| {
        let needs = Modules::of(files).needs();
        circles(&needs).iter().map(|circle| format!("{folder}/src: {}", words(&needs, circle))).collect::<Vec<_>>()
    };
    crates.iter().flat_map(findings).collect()
}

fn is_crate(folder: &str) -> bool {
    folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/'))
}

/// Sets of files that all need one another.
fn circles(needs: &Needs) -> Vec<BTreeSet<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = needs.keys().map(|file| (&**file, reach(needs, file))).collect();
    let circle = |file: &str| -> BTreeSet<&str> {
        let needs_it = |other: &&str| reached.get(other).is_some_and(|back| back.contains(file));
        reached[file].iter().copied().filter(needs_it).collect()
    };
    // Every file of a circle has the same one: it is told of at the first.
    let told = |file: &&str| Some(circle(file)).filter(|all| all.first() == Some(file));
    reached.keys().filter_map(told).collect()
}

/// What `file` needs, and all that this needs.
fn reach<'a>(needs: &'a Needs, file: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = vec![file];
    while let Some(file) = open.pop() {
        let next = needs.get(file).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.map(String::as_str).filter(|next| found.insert(*next)));
    }
    found
}

/// `a.rs needs b.rs (B); b.rs needs a.rs (A)`.
fn words(needs: &Needs, circle: &BTreeSet<&str>) -> String {
    let mut words = Vec::new();
    for file in circle {
        for (other, names) in needs[*file].iter().filter(|(other, _)| circle.contains(other.as_str())) {
            words.push(format!("{file} needs {other} ({})", names.iter().cloned().collect::<Vec<_>>().join(", ")));
        }
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        check(&Tree::of(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>()))
    }

    #[test]
    fn finds_two_files_that_need_each_other() {
        let b = "use crate::a::A;\npub struct B(A);";
        for a in [
            "use crate::b::B;\npub struct A(B);",
            "use super::{b::{B as Other}};",
            "use crate::b;\nfn f() -> b::B {}",
            "fn f() { let x = crate::b::B; }",
            "mod inner { use super::super::b::B; }",
            "mod inner { fn f(b: crate::b::B) {} }",
        ] {
            assert_eq!(
                of(&[("a.rs", a), ("b.rs", b)]),
                ["crates/x/src: a.rs needs b.rs (B); b.rs needs a.rs (A)"],
                "{a}"
            );
        }
    }

    #[test]
    fn finds_a_circle_of_several_and_names_only_what_ties_it() {
        let files = [
            ("lib.rs", "pub mod a; pub mod b; pub mod c; pub use b::B;"),
            ("a.rs", "use crate::B; use crate::d::D;"),
            ("b.rs", "use crate::c::{self, C};\nfn f() { c::g() }"),
            ("c.rs", "use crate::a::A as First;"),
            ("d.rs", "pub struct D;"),
        ];
        assert_eq!(of(&files), ["crates/x/src: a.rs needs b.rs (B); b.rs needs c.rs (C, g); c.rs needs a.rs (A)"]);
    }

    #[test]
    fn a_child_and_its_parent_are_one() {
        let parent = "mod b;\nuse b::B;\npub struct A(B);";
        for child in ["use super::A;", "use crate::a::A;"] {
            assert!(of(&[("a.rs", parent), ("a/b.rs", child)]).is_empty());
            assert!(of(&[("a/mod.rs", parent), ("a/b.rs", child)]).is_empty());
        }
        let through_another = [("a.rs", parent), ("a/b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
        assert_eq!(
            of(&through_another),
            ["crates/x/src: a.rs needs a/b.rs (B); a/b.rs needs c.rs (C); c.rs needs a.rs (A)"]
        );
        let grandchild = [("a.rs", parent), ("a/b.rs", "mod c;\nuse c::C;"), ("a/b/c.rs", "use super::super::A;")];
        assert_eq!(of(&grandchild).len(), 1);
    }

    #[test]
    fn what_a_file_hands_on_it_needs_only_if_it_uses_it() {
        let b = ("b.rs", "use crate::a::A;\npub struct B(A);");
        assert!(of(&[("a.rs", "pub use crate::b::B;\npub struct A;"), b]).is_empty());
        assert_eq!(of(&[("a.rs", "pub use crate::b::B;\npub struct A(B);"), b]).len(), 1);
    }

    #[test]
    fn a_macro_for_all_is_needed_where_it_is_defined() {
        let a = "#[macro_export]\nmacro_rules! make { () => { $crate::b::B } }";
        let found = of(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", "use crate::make;\npub struct B;")]);
        assert_eq!(found, ["crates/x/src: a.rs needs b.rs (B); b.rs needs a.rs (make)"]);
    }

    #[test]
    fn tests_comments_strings_and_other_crates_tie_nothing() {
        let b = ("b.rs", "use crate::a::A;\nuse std::fmt;");
        let a = "// crate::b::B\n#[cfg(test)]\nmod tests { use crate::b::B; }\nconst A: &str = \"crate::b::B\";";
        assert!(of(&[("a.rs", a), b]).is_empty());
        assert!(of(&[("a.rs", "use serde::b::B;\nfn f() { other::b::B }"), b]).is_empty());
        let elsewhere = [("crates/x/src/a.rs", "use crate::b::B;"), ("crates/y/src/b.rs", "use crate::a::A;")];
        assert!(check(&Tree::of(&elsewhere)).is_empty());
    }
}
