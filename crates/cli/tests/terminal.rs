//! What people see: on a terminal of 80 columns and of 200, with colours and without them, and in a pipe.
#![cfg(target_os = "linux")]

mod common;
mod skips;

use std::process::{Command, Stdio};

use common::Place;
use skips::skip;

/// What `forebay WORDS` shows on a terminal of so many columns; none where script(1) cannot make one.
fn shown(place: &Place, columns: usize, words: &[&str], colours: bool) -> Option<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("stty cols {columns} rows 50; exec '{}' {}", env!("CARGO_BIN_EXE_forebay"), quoted.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(&place.dir).stdin(Stdio::null());
    script.env("TERM", "xterm").env("NO_COLOR", if colours { "" } else { "1" });
    let out = script.output().ok()?;
    assert!(out.status.success(), "{words:?}: {out:?}");
    Some(String::from_utf8(out.stdout).unwrap().replace("\r\n", "\n"))
}

/// The lines without colours; what was written over another one counts as a line of its own.
fn lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            // A control sequence, to the letter that ends it (ECMA-48, 5.4).
            '\x1b' => drop(rest.by_ref().skip(1).find(|c| ('@'..='~').contains(c))),
            letter => plain.push(letter),
        }
    }
    plain.split(['\n', '\r']).map(str::to_string).collect()
}

/// Does it choose a colour or a weight (ECMA-48, 8.3.117)?
fn is_coloured(text: &str) -> bool {
    text.split("\x1b[")
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

#[test]
fn running_text_fits_the_terminal() {
    let place = Place::new("fits");
    let commands = place.run(&["-h"]).good().stdout;
    let names = commands.split_once("Commands:\n").unwrap().1.split("\n\n").next().unwrap().to_string();
    let names = names.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let helps: Vec<[&str; 2]> =
        names.filter(|name| !name.is_empty() && *name != "help").map(|name| [name, "-h"]).collect();
    assert!(helps.len() >= 15, "{commands}");
    let others =
        [&["list"][..], &["explain", "raqm"], &["explain", "wrr"], &["explain", "ftp"], &["explain", "cubic"], &["-h"]];
    for words in helps.iter().map(|words| &words[..]).chain(others) {
        for columns in [80, 200] {
            let Some(text) = shown(&place, columns, words, true) else {
                return skip("running_text_fits_the_terminal", "no script(1)");
            };
            // A rule is set in columns of its own.
            let (before, rest) = text.split_once("\u{1b}[1mrule").unwrap_or((&text, ""));
            let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
            for line in [lines(before), lines(after)].concat() {
                assert!(line.chars().count() <= columns, "{words:?} in {columns} columns: {line}");
            }
        }
    }
    // In a pipe a row is a line, for grep.
    let list = place.run(&["list", "disciplines"]).good().stdout;
    assert_eq!(list.lines().count(), 1 + forebay_aqm::ENTRIES.len(), "{list}");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let place = Place::new("colours");
    let words = ["run", "short.toml", "--runs", "2"];
    let (Some(coloured), Some(plain)) = (shown(&place, 80, &words, true), shown(&place, 80, &words, false)) else {
        return skip("colours_are_for_terminals_and_for_those_who_want_them", "no script(1)");
    };
    assert!(is_coloured(&coloured) && !is_coloured(&plain), "{coloured}{plain}");
    let piped = place.run(&words).good();
    assert!(!(piped.stdout + &piped.stderr).contains('\x1b'));
    // The same results, whoever reads them.
    let results = |text: &str| -> Vec<String> {
        let all = lines(text);
        let first = all.iter().position(|line| line.starts_with("raqm q0=50")).unwrap();
        all[first..].to_vec()
    };
    assert_eq!(results(&coloured), results(&plain));
    // The bar, too, keeps to its line.
    assert!(lines(&coloured).iter().any(|line| line.contains('╌')), "{coloured}");
    assert!(lines(&coloured).iter().filter(|line| line.contains('╌')).all(|line| line.chars().count() <= 80));
}
