//! Output for people: on terminals of 80 and 200 columns, with and without colours, and in a pipe.

use std::process::{Command, Stdio};

use crate::common::Place;
use crate::skips::skip;
use forebay_aqm::ENTRIES;

/// A shell command on a terminal with this number of columns.
fn on_terminal(columns: usize, line: &str) -> Command {
    let mut script = Command::new("script");
    script.args(["-qec", &format!("stty cols {columns} rows 50; {line}"), "/dev/null"]);
    script.env("SHELL", "/bin/sh").env("TERM", "xterm").stdin(Stdio::null());
    script
}

/// Whether no pseudo-terminal is available.
fn without_terminals() -> bool {
    let size = on_terminal(80, "stty size").output();
    let without = !size.is_ok_and(|size| String::from_utf8_lossy(&size.stdout).trim() == "50 80");
    if without {
        skip("script(1) and stty(1) make no terminal of 80 columns");
    }
    without
}

/// Output of `forebay WORDS` on a terminal.
fn shown(place: &Place, columns: usize, words: &[&str], colours: bool) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("exec '{}' {}", env!("CARGO_BIN_EXE_forebay"), quoted.join(" "));
    let mut script = on_terminal(columns, &line);
    let out = script.current_dir(&place.dir).env("NO_COLOR", if colours { "" } else { "1" }).output().unwrap();
    assert!(out.status.success(), "{words:?}: {out:?}");
    String::from_utf8(out.stdout).unwrap().replace("\r\n", "\n")
}

/// The lines without colours; an overwritten line counts as a separate one.
fn lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            // A control sequence, up to its final letter (ECMA-48, 5.4).
            '\x1b' => drop(rest.by_ref().skip(1).find(|c| ('@'..='~').contains(c))),
            letter => plain.push(letter),
        }
    }
    plain.split(['\n', '\r']).map(str::to_string).collect()
}

/// Whether it selects a colour or weight (ECMA-48, 8.3.117).
fn is_coloured(text: &str) -> bool {
    text.split("\x1b[")
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

/// The lines of a page that are running text; rules of disciplines have their own layout.
fn running(text: &str) -> Vec<String> {
    let (before, rest) = text.split_once("\u{1b}[1mrule").unwrap_or((text, ""));
    [lines(before), lines(rest.split_once("\n\n").map_or("", |(_, after)| after))].concat()
}

#[test]
fn running_text_fits_the_terminal() {
    if without_terminals() {
        return;
    }
    let place = Place::new("fits");
    let disciplines = ENTRIES.iter().map(|entry| vec!["explain", entry.name]);
    let others = ["th", "token-bucket", "ftp", "cubic", "pfifo"].map(|name| vec!["explain", name]);
    let lists = [vec!["list"], vec!["-h"], vec!["--help"]];
    for words in disciplines.chain(others).chain(lists) {
        for columns in [80, 200] {
            for line in running(&shown(&place, columns, &words, true)) {
                assert!(line.chars().count() <= columns, "{words:?} in {columns} columns: {line}");
            }
        }
    }
    // In a pipe a row is one line, for grep.
    let list = place.run(&["list", "disciplines"]).good().stdout;
    assert_eq!(list.lines().count(), 1 + ENTRIES.len(), "{list}");
}

#[test]
fn help_fits_terminal_and_examples_are_one_line() {
    if without_terminals() {
        return;
    }
    let place = Place::new("helps");
    let helps = crate::common::helps(&place);
    assert!(helps.len() >= 17, "{}", helps.len());
    for (words, piped) in helps {
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["-h"]).collect();
        for (columns, widest) in [(80, 80), (200, 100)] {
            let all = lines(&shown(&place, columns, &words, true));
            assert!(all.iter().all(|line| line.chars().count() <= widest), "{words:?} in {columns} columns: {all:#?}");
            let examples = |lines: &[String]| -> Vec<String> {
                let from = lines.iter().position(|line| line == "Examples:").unwrap();
                lines[from + 1..].iter().take_while(|line| !line.is_empty()).cloned().collect()
            };
            let shown = examples(&all);
            assert_eq!(shown, examples(&lines(&piped)), "{words:?} in {columns} columns");
            let broken = shown.windows(2).find(|two| !two[1].starts_with("  forebay ") && !two[0].ends_with('\\'));
            assert_eq!(broken, None, "{words:?}");
        }
    }
}

#[test]
fn colours_appear_only_on_terminals_or_on_request() {
    if without_terminals() {
        return;
    }
    let place = Place::new("colours");
    let words = |place| ["run", "short.toml", "--runs", "2", "-o", place];
    let [coloured, plain] = [("one", true), ("two", false)].map(|(dir, on)| shown(&place, 80, &words(dir), on));
    assert!(is_coloured(&coloured) && !is_coloured(&plain), "{coloured}{plain}");
    let piped = place.run(&words("three")).good();
    assert!(!(piped.stdout + &piped.stderr).contains('\x1b'));
    // The same results in both, except for their place.
    let results = |text: &str| -> Vec<String> {
        let all = lines(text);
        let first = all.iter().position(|line| line.starts_with("raqm q0=50")).unwrap();
        all[first..].iter().take_while(|line| !line.starts_with("results")).cloned().collect()
    };
    assert_eq!(results(&coloured), results(&plain));
    // The progress bar stays on its line too.
    for text in [coloured, plain] {
        let all = lines(&text);
        // The first draw can come after the last run.
        let mut bars = all.iter().filter(|line| line.contains(['╌', '━'])).peekable();
        assert!(bars.peek().is_some() && bars.all(|line| line.chars().count() <= 80), "{all:#?}");
    }
}
