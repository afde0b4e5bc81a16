//! `cargo xtask tidy`: the house rules that no compiler checks. Each rule is a function from the files of the
//! checkout to what is wrong with them, and its test plants the fault that it must find.

mod arrows;
mod circles;
mod claims;
mod format;
mod indent;
mod invariants;
mod links;
mod lints;
mod readmes;
mod registry;
mod safety;
mod shell;
mod sizes;
mod words;

use std::process::ExitCode;

use crate::base::tally::Tally;
use crate::base::tree::Tree;
use crate::generated::{book, coverage, scenario_page};
use crate::mutants;

/// A rule: its name, what it asks for, and what it finds.
struct Rule {
    name: &'static str,
    what: &'static str,
    check: fn(&Tree) -> Vec<String>,
}

const RULES: &[Rule] = &[
    Rule { name: "arrows", what: "crates depend on each other as designed, and on few others", check: arrows::check },
    Rule { name: "circles", what: "no two files of a crate need each other", check: circles::check },
    Rule { name: "sizes", what: "no file over 800 lines, no function over 80", check: sizes::check },
    Rule { name: "words", what: "nothing left to do, nothing printed by libraries", check: words::leftovers },
    Rule { name: "places", what: "no path of somebody's machine", check: words::machine_paths },
    Rule { name: "order", what: "nothing that is iterated in hash order in aqm and sim", check: words::hash_order },
    Rule { name: "no_std", what: "forebay-aqm stays without std", check: lints::no_std },
    Rule {
        name: "lints",
        what: "every crate obeys the workspace's lints, unsafe code is forbidden",
        check: lints::inherited,
    },
    Rule {
        name: "safety",
        what: "unsafe code in its folder alone, each piece with why it is sound",
        check: safety::check,
    },
    Rule {
        name: "registry",
        what: "every discipline and marker has its golden trace and its reference",
        check: registry::files,
    },
    Rule {
        name: "mutants",
        what: "deliberate faults of a discipline or marker are enough and fit its source",
        check: mutants::findings,
    },
    Rule { name: "docs", what: "the table of disciplines in README.md is current", check: registry::table },
    Rule { name: "book", what: "the book says what the code says", check: book::findings },
    Rule {
        name: "coverage",
        what: "docs/rfc-coverage.md lists the tests of RFC requirements",
        check: coverage::findings,
    },
    Rule { name: "scenario", what: "docs/scenario.md has the keys of the schema", check: scenario_page::findings },
    Rule { name: "claims", what: "every claim has a quick verdict on record", check: claims::check },
    Rule { name: "links", what: "files that the documents name exist", check: links::check },
    Rule {
        name: "readmes",
        what: "what READMEs say of crates and of Python is what manifests say",
        check: readmes::check,
    },
    Rule { name: "shell", what: "commands of the documents run in every shell", check: shell::check },
    Rule { name: "indent", what: "code within braces is indented, in macros too", check: indent::check },
    Rule {
        name: "invariants",
        what: "every invariant of ARCHITECTURE.md names a check that exists",
        check: invariants::check,
    },
];

/// The rule that asks rustfmt.
const FORMAT: &str = "format";

/// Every rule's name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name).chain([FORMAT])
}

/// Every rule, with its own last line.
pub(crate) fn run() -> ExitCode {
    let mut tally = Tally::default();
    format(&mut tally);
    tally.stage("tidy", "house rules", rules);
    tally.finish()
}

/// The stage that asks rustfmt.
pub(crate) fn format(tally: &mut Tally) {
    tally.stage(FORMAT, "every Rust file as rustfmt writes it, those that a macro declares included", |tally| {
        match Tree::read() {
            Err(what) => tally.fail(what),
            Ok(tree) => format::check(&tree, tally),
        }
    });
}

/// All other rules.
pub(crate) fn rules(tally: &mut Tally) {
    match Tree::read() {
        Err(what) => tally.fail(what),
        Ok(tree) => RULES.iter().for_each(|rule| apply(rule, &tree, tally)),
    }
}

fn apply(rule: &Rule, tree: &Tree, tally: &mut Tally) {
    let findings = (rule.check)(tree);
    let word = if findings.is_empty() { "ok" } else { "FAILED" };
    println!("   {:<11} {word:<7} {}", rule.name, rule.what);
    if findings.is_empty() {
        tally.pass();
    }
    findings.into_iter().for_each(|what| tally.fail(format!("{}: {what}", rule.name)));
}
