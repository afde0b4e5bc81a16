//! `cargo xtask test NAME` for a discipline or a congestion control.

use std::fs;

use runner::cargo_tests;
use runner::program;
use runner::tally::Tally;

/// What the name NAME stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// A discipline or marker, with the module of its unit tests: for a preset of another discipline, the latter's.
    Discipline {
        /// Its name in scenario files.
        name: String,
        /// Name of the module.
        module: String,
    },
    /// A congestion control.
    Control,
}

/// The discipline, marker or control of this name, found by its files: this program does not link the registry.
pub(crate) fn subject(name: &str) -> Option<Subject> {
    let is_file = |path: String| program::root().join(path).is_file();
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_word {
        return None;
    }
    if is_file(format!("crates/aqm/golden/{name}.txt")) {
        let registry = program::read("crates/aqm/src/lib.rs").ok()?;
        let module = base(&registry, name).unwrap_or(name).to_string();
        return Some(Subject::Discipline { name: name.to_string(), module });
    }
    is_file(format!("crates/sim/src/tcp/control/{name}.rs")).then_some(Subject::Control)
}

/// The discipline of which `name` is a preset: `NAME: BASE "PRESET"` in the registry.
fn base<'a>(registry: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = registry.split_once("variants {")?;
    let (_, rest) = rest.split_once(&format!("{name}: "))?;
    rest.split_whitespace().next()
}

/// Runs the tests of `subject`. Those of a control leave out long-range dependence, a property of sources.
pub(crate) fn run(subject: &Subject, tally: &mut Tally) {
    match subject {
        Subject::Discipline { name, module } => discipline(name, module, tally),
        Subject::Control => {
            let tests = ["test", "-p", "forebay-sim", "--lib", "--test=all", "--", "--skip=long_range::"];
            cargo_tests::run(program::cargo(&tests), tally);
        }
    }
}

/// Runs a discipline's tests: unit tests, published listing, golden trace (recorded events), conformance suite, and the
/// RFCs that name it.
fn discipline(name: &str, module: &str, tally: &mut Tally) {
    let mut tests = program::cargo(&["test", "-p", "forebay-aqm", "--lib", "--test=all", "--"]);
    tests.args([&format!("::{module}::"), "golden::", "conformance::every_"]).args(rfcs(module));
    tests.env("FOREBAY_ONLY", name);
    cargo_tests::run(tests, tally);
}

/// The test modules of RFCs that name a discipline.
fn rfcs(discipline: &str) -> Vec<String> {
    let files = fs::read_dir(program::root().join("crates/aqm/tests")).into_iter().flatten().flatten();
    let rfc = |file: fs::DirEntry| {
        let module = file.file_name().to_str()?.strip_suffix(".rs")?.to_string();
        let text = fs::read_to_string(file.path()).ok()?;
        (module.starts_with("rfc") && text.contains(discipline)).then(|| format!("{module}::"))
    };
    files.filter_map(rfc).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_selects_discipline_or_congestion_control() {
        let discipline =
            |name: &str, module: &str| Some(Subject::Discipline { name: name.into(), module: module.into() });
        assert_eq!(subject("codel"), discipline("codel", "codel"));
        assert_eq!(subject("raqm_plus"), discipline("raqm_plus", "raqm"));
        assert_eq!(subject("cubic"), Some(Subject::Control));
        for other in ["raqm-plus", "red-tail", "rde", "tests", "../lib", ""] {
            assert_eq!(subject(other), None, "{other}");
        }
        assert!(rfcs("pie").contains(&"rfc8033::".to_string()) && rfcs("raqm").is_empty());
    }
}
