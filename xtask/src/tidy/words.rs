//! Text that must not be in files, and sizes of files and folders.

use crate::base::tree::{File, Tree};

/// Notes of open work, split so that this file has none. clippy checks macros, but not comments.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// Top-level folders of a machine.
const FOLDERS: [&str; 5] = ["/root", "/tmp", "/work", "/home", "/Users"];
/// Most lines of a file written by hand, and of a source file of the simulator.
const LINES: usize = 800;
const SIM_LINES: usize = 450;
const WRITTEN: [&str; 6] = ["rs", "js", "css", "md", "toml", "tcl"];
/// Most source files of a folder, without those in its subfolders.
const FILES: usize = 15;
/// The file with the glossary of forbidden phrases, and the head of its table.
const GUIDE: &str = "CONTRIBUTING.md";
const GLOSSARY: &str = "| not | but |";
/// Suffixes of files with prose.
const PROSE: [&str; 12] =
    [".md", ".jinja", ".j2", ".html.in", ".js", ".rs", ".toml", ".txt", ".py", ".pyi", ".tcl", ".ci/run"];
/// Inputs that a fuzzer found.
const CORPUS: &str = "fuzz/corpus/";
/// This file, whose tests contain text that must not be in files.
const HERE: &str = "xtask/src/tidy/words.rs";

/// `path:line: what` for every line in which `wrong` finds something, of files that `of` accepts.
fn lines(tree: &Tree, of: impl Fn(&str) -> bool, wrong: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| of(&file.path) && file.path != HERE) {
        let found = file.text.lines().enumerate().filter_map(|(n, line)| Some((n + 1, wrong(line)?)));
        findings.extend(found.map(|(n, what)| format!("{}:{n}: {what}", file.path)));
    }
    findings
}

/// Notes of open work in Rust files.
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

/// Whether `word` is in `line`, and not part of a longer word or path.
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

/// Long files, and folders with many source files. clippy checks functions: `too_many_lines`.
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

/// Phrases that CONTRIBUTING.md forbids in prose: in comments and strings of Rust, and in all text of other files.
pub(super) fn glossary(tree: &Tree) -> Vec<String> {
    let Some(guide) = tree.get(GUIDE) else { return Vec::new() };
    let rows = guide.text.split(GLOSSARY).nth(1).into_iter().flat_map(|table| table.lines().skip(2));
    let left = rows.map_while(|row| row.strip_prefix("| ")?.split(" |").next());
    let phrases: Vec<Vec<&str>> = left.map(|phrase| phrase.split(' ').collect()).collect();
    let mut findings = Vec::new();
    let is_prose = |path: &str| PROSE.iter().any(|end| path.ends_with(end)) && !path.starts_with(CORPUS);
    for file in tree.files().filter(|file| is_prose(&file.path)) {
        let prose = prose(file).to_lowercase();
        let words = words(&prose);
        for (at, (line, ..)) in words.iter().enumerate() {
            let found = phrases.iter().find(|phrase| begins(&words[at..], phrase));
            findings.extend(found.map(|phrase| format!("{}:{line}: {}", file.path, phrase.join(" "))));
        }
    }
    findings
}

/// The prose of a file: without the glossary, Rust code, and text in backticks. The number of lines stays.
fn prose(file: &File) -> String {
    let text = if file.path == GUIDE { file.text.split(GLOSSARY).next().unwrap_or_default() } else { &file.text };
    let mut prose: String = text.to_string();
    if file.path.ends_with(".rs") {
        let code = file.code.chars().zip(text.chars());
        prose = code.map(|(code, letter)| if code.is_whitespace() { letter } else { '\u{1}' }).collect();
    }
    let (mut out, mut is_block) = (String::new(), false);
    for line in prose.lines() {
        is_block ^= !file.path.ends_with(".rs") && line.trim_start().starts_with("```");
        let spans: Vec<&str> = if is_block { Vec::new() } else { line.split('`').step_by(2).collect() };
        out += &spans.join("\u{1}");
        out.push('\n');
    }
    out
}

/// Whether these words begin with `phrase`.
fn begins(words: &[(usize, &str, bool)], phrase: &[&str]) -> bool {
    let mut pairs = words.iter().zip(phrase).enumerate();
    words.len() >= phrase.len() && pairs.all(|(n, ((_, word, follows), part))| word == part && (n == 0 || *follows))
}

/// The words of a text: line, word, and whether only spaces and comment marks separate it from the word before. A
/// single word in quotes is a key, and is left out.
fn words(prose: &str) -> Vec<(usize, &str, bool)> {
    let is_part = |c: char| c.is_alphanumeric() || "_'".contains(c);
    let (mut words, mut line, mut start, mut end) = (Vec::new(), 1, 0, 0);
    for piece in prose.split_inclusive(|c| !is_part(c)) {
        let word = piece.trim_end_matches(|c| !is_part(c));
        let (before, after) = (&prose[..start], &prose[start + word.len()..]);
        let is_key = before.ends_with('"') && after.starts_with(['"', '\\']);
        if !word.is_empty() && !is_key {
            let between = &prose[end..start];
            words.push((line, word, between.chars().all(|c| c.is_whitespace() || "/!#>\\".contains(c))));
            end = start + word.len();
        }
        line += usize::from(piece.ends_with('\n'));
        start += piece.len();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::*;

    #[test]
    fn finds_todo_notes_and_absolute_paths() {
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
    fn finds_phrases_that_contributing_md_forbids() {
        let guide = "blue moon\n| not | but |\n|---|---|\n| blue moon | satellite |\n| cheese | x |\n";
        for (path, text, want) in [
            ("docs/a.md", "A Blue\nmoon.", "docs/a.md:1: blue moon"),
            ("docs/a.md", "A blue. Moon, `blue moon`, bluemoon, blue moons\n```\nblue moon\n```\n", ""),
            ("a.rs", "let cheese = json[\"cheese\"];\n/// A `cheese`.\nfn blue(moon: u8) {}\n", ""),
            ("a.rs", "let a = b\"cheese a\";\n", "a.rs:1: cheese"),
            ("a.rs", "\n/// A blue\n/// moon.\n", "a.rs:2: blue moon"),
            ("papers/x/claims.toml", "why = \"a blue moon\"\n", "papers/x/claims.toml:1: blue moon"),
            ("a.py", "# all cheese\n", "a.py:1: cheese"),
            ("a.csv", "cheese\n", ""),
        ] {
            finds(glossary, &[(path, text), (GUIDE, &guide[10..])], want);
        }
        finds(glossary, &[(GUIDE, guide)], "CONTRIBUTING.md:1: blue moon");
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
