//! `cargo xtask tidy`: rustfmt, and rules that no tool checks. Each rule is a function from the files of the checkout
//! to its findings, and has a test with a fault.

mod claims;
mod floors;
mod invariants;
mod links;
mod manifests;
#[cfg(test)]
mod planted;
mod registry;
mod words;

use std::process::{Command, ExitCode};

use crate::base::program;
use crate::base::tally::Tally;
use crate::base::tree::Tree;
use crate::generated::docs;
use crate::mutants;

/// A rule: name, what it requires, function that returns its findings.
type Rule = (&'static str, &'static str, fn(&Tree) -> Vec<String>);

const RULES: &[Rule] = &[
    ("arrows", "each crate uses only the permitted crates of the workspace, and few external ones", manifests::arrows),
    ("floors", "a folder uses only folders before it in ARCHITECTURE.md", floors::check),
    ("sizes", "no file over 800 lines, in crates/sim over 450; no folder of more than 15 source files", words::sizes),
    ("notes", "no notes of open work in Rust files", words::notes),
    ("places", "no absolute path of a machine", words::places),
    ("lints", "every crate takes the workspace's lints; unsafe code only in modules `sys`", manifests::lints),
    ("doctests", "a crate has doctest = false exactly if it has no documentation tests", manifests::doctests),
    ("registry", "every discipline and marker has its golden trace and its reference", registry::files),
    ("mutants", "every discipline and marker has enough deliberate faults, which fit its source", mutants::findings),
    ("docs", "generated tables, pages and the book are up to date", docs::findings),
    ("claims", "every claim has a quick verdict on record", claims::check),
    ("links", "files that the documents name exist", links::check),
    ("glossary", "no phrase of the left column of CONTRIBUTING.md's glossary", words::glossary),
    ("invariants", "every invariant of ARCHITECTURE.md names a check that exists", invariants::check),
];

/// Runs all rules and rustfmt, and prints how many checks passed, failed and were skipped.
pub(crate) fn run() -> ExitCode {
    let mut tally = Tally::default();
    tally.stage("tidy", "rules of the repository, format", rules);
    tally.finish()
}

/// Runs all rules and rustfmt.
pub(crate) fn rules(tally: &mut Tally) {
    let tree = match Tree::read() {
        Ok(tree) => tree,
        Err(what) => return tally.fail(what),
    };
    for (name, what, check) in RULES {
        let findings = check(&tree);
        println!("   {name:<11} {:<7} {what}", if findings.is_empty() { "ok" } else { "FAILED" });
        if findings.is_empty() {
            tally.pass();
        }
        findings.into_iter().for_each(|what| tally.fail(format!("{name}: {what}")));
    }
    format(&tree, tally);
}

/// Runs rustfmt on every file by name, because it does not find the modules that the registry's macro declares.
fn format(tree: &Tree, tally: &mut Tally) {
    if program::find(&["rustfmt"]).is_none() {
        return tally.skip("rustfmt is not installed: rustup component add rustfmt");
    }
    let mut rustfmt = program::at_root("rustfmt");
    rustfmt.args(["--check", "--files-with-diff", "--edition", "2024"]).args(tree.rust().map(|file| &file.path));
    tally.check("rustfmt writes these files otherwise", quiet(rustfmt));
}

/// Runs clippy with the workspace's lints, and on `forebay-aqm` for a processor without an operating system, which has
/// no std.
pub(crate) fn lints(tally: &mut Tally) {
    const BARE: &str = "thumbv7em-none-eabihf";
    if program::works(program::cargo(&["clippy", "--version"])) {
        let words = ["--quiet", "--all-targets", "--", "-D", "warnings"];
        tally.check("clippy", program::shown(program::cargo_workspace("clippy", &words)));
        let mut stacks = program::cargo(&["clippy", "-p", program::STACKS]);
        stacks.args(words);
        tally.check("clippy: forebay-net", program::shown(stacks));
    } else {
        tally.skip("clippy is not installed: rustup component add clippy");
    }
    let mut rustc = program::at_root("rustc");
    rustc.args(["--print", "target-libdir", "--target", BARE]);
    if quiet(rustc).is_err_and(|folder| std::path::Path::new(folder.trim()).is_dir()) {
        tally.check(BARE, quiet(program::cargo(&["check", "--quiet", "-p", "forebay-aqm", "--target", BARE])));
    } else {
        tally.skip(format!("no library for {BARE}: rustup target add {BARE}"));
    }
}

/// Runs a program that must succeed without output.
fn quiet(command: Command) -> Result<(), String> {
    let out = program::said(command)?;
    if out.is_empty() { Ok(()) } else { Err(out) }
}
