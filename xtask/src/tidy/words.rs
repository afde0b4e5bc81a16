//! Words, commands and shapes that must not stand in files, and that no tool looks for.

use crate::base::tree::Tree;

/// Notes to oneself, split so that this file has none. clippy sees macros, not comments.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// Where machines keep things that no other machine has.
const FOLDERS: [&str; 5] = ["/root", "/tmp", "/work", "/home", "/Users"];
/// Lines of a file that people write, and of a source file of the simulator.
const LINES: usize = 800;
const SIM_LINES: usize = 450;
const WRITTEN: [&str; 6] = ["rs", "js", "css", "md", "toml", "tcl"];
/// Source files of a folder, those in folders below it not counted.
const FILES: usize = 15;
/// The file whose tests have such words.
const HERE: &str = "xtask/src/tidy/words.rs";

/// `path:line: what` for every line of files that `of` names in which `wrong` finds something.
fn lines(tree: &Tree, of: impl Fn(&str) -> bool, wrong: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| of(&file.path) && file.path != HERE) {
        let found = file.text.lines().enumerate().filter_map(|(n, line)| Some((n + 1, wrong(line)?)));
        findings.extend(found.map(|(n, what)| format!("{}:{n}: {what}", file.path)));
    }
    findings
}

/// Notes to oneself in Rust.
pub(super) fn notes(tree: &Tree) -> Vec<String> {
    lines(
        tree,
        |path| path.ends_with(".rs"),
        |line| NOTES.into_iter().find(|note| stands(line, note)).map(str::to_string),
    )
}

/// Absolute paths of a machine.
pub(super) fn places(tree: &Tree) -> Vec<String> {
    lines(tree, |_| true, |line| FOLDERS.into_iter().find(|folder| stands(line, folder)).map(str::to_string))
}

/// Does `word` stand in `line`, not as a part of a longer word or path?
fn stands(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let begins = match word.starts_with('/') {
            true => before.ends_with("://") || !before.ends_with(|c| part(c) || "./})>*~-".contains(c)),
            false => !before.ends_with(part),
        };
        begins && !after.starts_with(|c: char| part(c) || c == '-')
    })
}

/// `pip install` with a square bracket outside of quotes: zsh takes it for a pattern and refuses the command.
pub(super) fn shell(tree: &Tree) -> Vec<String> {
    let is_bare = |words: &str| {
        let mut quote = None;
        for letter in words.chars().take_while(|letter| *letter != '`') {
            match (letter, quote) {
                ('[', None) => return true,
                ('\'' | '"', None) => quote = Some(letter),
                (_, Some(open)) if letter == open => quote = None,
                _ => {}
            }
        }
        false
    };
    let wrong = |line: &str| line.split("pip install").skip(1).any(is_bare).then(|| "quote the bracket".to_string());
    lines(tree, |_| true, wrong)
}

/// Code that begins in the first column within something that is open: rustfmt leaves the bodies of macros as they are.
pub(super) fn indent(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let mut open = 0_i64;
        for (n, line) in file.code.lines().enumerate() {
            // A string that goes on is blank here up to its closing quote.
            if open > 0 && line.starts_with(|letter: char| !letter.is_whitespace() && !")]}\"".contains(letter)) {
                findings.push(format!("{}:{}: not indented", file.path, n + 1));
            }
            let step = |letter| i64::from("([{".contains(letter)) - i64::from(")]}".contains(letter));
            open += line.chars().map(step).sum::<i64>();
        }
    }
    findings
}

/// Long files, and folders with many source files. Functions are clippy's: `too_many_lines`.
pub(super) fn sizes(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    let mut folders = std::collections::BTreeMap::<&str, usize>::new();
    for file in tree.files() {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let is_written = name.rsplit_once('.').is_some_and(|(_, end)| WRITTEN.contains(&end));
        let most = if file.path.starts_with("crates/sim/src/") { SIM_LINES } else { LINES };
        let count = file.text.lines().count();
        if is_written && count > most {
            findings.push(format!("{}: {count} lines, the limit is {most}", file.path));
        }
        if name.ends_with(".rs") && format!("{folder}/").contains("/src/") {
            *folders.entry(folder).or_default() += 1;
        }
    }
    let full = folders.into_iter().filter(|(_, count)| *count > FILES);
    findings.extend(full.map(|(folder, count)| format!("{folder}: {count} source files, the limit is {FILES}")));
    findings
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::*;

    #[test]
    fn finds_notes_and_paths_of_machines() {
        for note in NOTES {
            let text = format!("fn f() {{}}\n// {note}: later\n");
            finds(notes, &[("crates/cli/src/x.rs", &text)], &format!("crates/cli/src/x.rs:2: {note}"));
            finds(notes, &[("docs/x.md", &text)], "");
        }
        for folder in FOLDERS {
            for before in ["cd ", "\"", "file://", "="] {
                finds(places, &[("docs/x.md", &format!("{before}{folder}/x"))], &format!("docs/x.md:1: {folder}"));
            }
            for (before, after) in [("https://x.org", "/x"), ("$HOME", ""), (".", ""), ("", "s")] {
                finds(places, &[("docs/x.md", &format!("{before}{folder}{after}"))], "");
            }
        }
    }

    #[test]
    fn finds_brackets_outside_of_quotes() {
        for (text, want) in [
            ("`pip install './python[plot]'` and [a link](x)", ""),
            ("\"source\": [\"!pip install \\\"./python[plot]\\\"\\n\"]", ""),
            ("`pip install ./python` [1]", ""),
            ("with `forebay[plot]`, without a command", ""),
            ("`pip install ./python[plot]`", "README.md:1: quote the bracket"),
            ("python -m pip install 'a' forebay[plot]", "README.md:1: quote the bracket"),
        ] {
            finds(shell, &[("README.md", text)], want);
        }
    }

    #[test]
    fn finds_what_is_not_indented() {
        for (text, want) in [
            ("fn a() {\n    b(\n    );\n    let b = \"\nc\n{\";\n    '{'\n}\n// }\nfn d() {}\n", ""),
            (
                "macro_rules! a {\n    () => {\n        #[b]\nfn c() {}\n    };\n}\n",
                "crates/x/src/lib.rs:4: not indented",
            ),
        ] {
            finds(indent, &[("crates/x/src/lib.rs", text)], want);
        }
    }

    #[test]
    fn finds_long_files_and_full_folders() {
        for (path, lines, want) in [
            ("docs/a.md", LINES, ""),
            ("docs/a.md", LINES + 1, "docs/a.md: 801 lines, the limit is 800"),
            ("docs/a.csv", LINES + 1, ""),
            ("crates/sim/src/a/b.rs", SIM_LINES, ""),
            ("crates/sim/src/a/b.rs", SIM_LINES + 1, "crates/sim/src/a/b.rs: 451 lines, the limit is 450"),
            ("crates/sim/tests/a.rs", SIM_LINES + 1, ""),
        ] {
            finds(sizes, &[(path, &"x\n".repeat(lines))], want);
        }
        for (files, want) in [(FILES, ""), (FILES + 1, "crates/x/src/a: 16 source files, the limit is 15")] {
            let paths: Vec<String> = (0..files).map(|n| format!("crates/x/src/a/{n}.rs")).collect();
            let all = paths.iter().map(String::as_str).chain(["crates/x/src/a/b/c.rs"]).map(|path| (path, ""));
            finds(sizes, &all.collect::<Vec<_>>(), want);
        }
    }
}
