//! Words that must not stand where they stand.

use crate::base::tree::{File, Tree};

/// Crates that are libraries: they hand back what they have to say.
const LIBRARIES: [&str; 4] = ["crates/aqm/", "crates/sim/", "crates/theory/", "crates/lab/"];
/// Notes to oneself, split so that this file has none.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const PRINTING: [&str; 5] = ["dbg!", "print!", "println!", "eprint!", "eprintln!"];
const HASHED: [&str; 2] = ["HashMap", "HashSet"];
/// Where machines keep things that no other machine has.
const FOLDERS: [&str; 5] = ["root", "tmp", "work", "home", "Users"];

/// Notes to oneself anywhere in Rust, printing in the sources of libraries.
pub(super) fn leftovers(tree: &Tree) -> Vec<String> {
    let is_library =
        |f: &&File| LIBRARIES.iter().any(|l| f.path.strip_prefix(l).is_some_and(|p| p.starts_with("src/")));
    let notes = tree.rust().flat_map(|file| words(&file.path, &file.text, &NOTES));
    let printing = tree.rust().filter(is_library).flat_map(|file| words(&file.path, &file.code, &PRINTING));
    notes.chain(printing).collect()
}

/// Collections whose order differs from run to run, where order is behaviour.
pub(super) fn hash_order(tree: &Tree) -> Vec<String> {
    let ordered = ["crates/aqm/src/", "crates/sim/src/"];
    let files = tree.rust().filter(|file| ordered.iter().any(|folder| file.path.starts_with(folder)));
    files.flat_map(|file| words(&file.path, &file.code, &HASHED)).collect()
}

/// Absolute paths of a machine.
pub(super) fn machine_paths(tree: &Tree) -> Vec<String> {
    let paths: Vec<String> = FOLDERS.iter().map(|folder| format!("/{folder}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    tree.files().flat_map(|file| words(&file.path, &file.text, &paths)).collect()
}

/// `path:line: 'word'` for every place where one of `words` stands by itself.
fn words(path: &str, text: &str, words: &[&str]) -> Vec<String> {
    let found = |line: &str| words.iter().copied().filter(|word| stands(line, word)).collect::<Vec<_>>();
    let lines = text.lines().enumerate();
    lines.flat_map(|(n, line)| found(line).into_iter().map(move |word| format!("{path}:{}: '{word}'", n + 1))).collect()
}

/// Does `word` stand in `line`, not as a part of a longer word or path?
fn stands(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let begins = if word.starts_with('/') {
            before.ends_with("://") || !before.ends_with(|c| part(c) || "./})>*~-".contains(c))
        } else {
            !before.ends_with(part)
        };
        begins && !after.starts_with(|c: char| part(c) || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "crates/sim/src/x.rs";

    fn one(check: fn(&Tree) -> Vec<String>, path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn finds_notes_in_any_rust_file() {
        for note in NOTES {
            let text = format!("fn f() {{}}\n// {note}: later\n");
            assert_eq!(one(leftovers, "crates/cli/src/x.rs", &text), [format!("crates/cli/src/x.rs:2: '{note}'")]);
            assert!(one(leftovers, "docs/x.md", &text).is_empty());
        }
    }

    #[test]
    fn finds_printing_in_libraries_only() {
        for word in PRINTING {
            let text = format!("fn f() {{ {word}(\"x\") }}");
            assert_eq!(one(leftovers, LIBRARY, &text), [format!("{LIBRARY}:1: '{word}'")]);
            assert!(one(leftovers, "crates/cli/src/x.rs", &text).is_empty());
            assert!(one(leftovers, "crates/sim/examples/x.rs", &text).is_empty());
            assert!(one(leftovers, LIBRARY, &format!("// {word} is not for us")).is_empty());
        }
    }

    #[test]
    fn finds_hash_order_where_order_is_behaviour() {
        for word in HASHED {
            let text = format!("use std::collections::{word};");
            assert_eq!(one(hash_order, "crates/aqm/src/x.rs", &text).len(), 1);
            assert!(one(hash_order, "crates/lab/src/x.rs", &text).is_empty());
        }
    }

    #[test]
    fn finds_machine_paths_and_lets_urls_and_relative_paths_be() {
        for folder in FOLDERS {
            for text in [
                format!("cd /{folder}/x"),
                format!("\"/{folder}\""),
                format!("file:///{folder}/x"),
                format!("=/{folder}/"),
            ] {
                assert_eq!(one(machine_paths, "docs/x.md", &text).len(), 1, "{text}");
            }
            for text in [
                format!("https://x.org/{folder}/x"),
                format!("$HOME/{folder}"),
                format!("./{folder}"),
                format!("/{folder}s"),
            ] {
                assert!(one(machine_paths, "docs/x.md", &text).is_empty(), "{text}");
            }
        }
    }
}
