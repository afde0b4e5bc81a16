//! The crates' manifests: dependencies between crates, and lints.

use toml::{Table, Value};

use crate::base::tree::Tree;

/// A crate of this repository, those that it may depend on, and the largest number of other crates.
const ARROWS: &[(&str, &[&str], usize)] = &[
    ("forebay-aqm", &[], 1),
    ("forebay-sim", &["forebay-aqm"], 3),
    ("forebay-net", &["forebay-aqm", "forebay-sim"], 0),
    ("forebay-packetdrill", &["forebay-aqm", "forebay-sim"], 0),
    ("forebay-theory", &[], 3),
    ("forebay-lab", &["forebay-aqm", "forebay-sim", "forebay-theory", "pages"], usize::MAX),
    ("forebay-live", &["forebay-aqm", "forebay-sim"], 3),
    ("forebay-qdisc", &["forebay-aqm"], 0),
    ("forebay-agent", &[], 1),
    ("forebay-linux", &["forebay-agent", "forebay-aqm", "forebay-live", "forebay-sim"], 2),
    (
        "forebay",
        &["forebay-aqm", "forebay-sim", "forebay-packetdrill", "forebay-lab", "forebay-linux", "forebay-live"],
        usize::MAX,
    ),
    ("forebay-py", &["forebay-aqm", "forebay-sim", "forebay-lab"], usize::MAX),
    ("forebay-wheel", &["forebay", "forebay-py"], 1),
    ("forebay-web", &["forebay-lab"], 0),
    ("forebay-fuzz", &["forebay-aqm", "forebay-sim", "forebay-packetdrill", "forebay-lab", "forebay-live"], 0),
    ("forebay-fuzz-targets", &["forebay-fuzz"], 1),
    ("pages", &[], 2),
    ("runner", &[], 0),
    ("validation", &["forebay-aqm", "forebay-sim", "forebay-lab", "forebay-linux", "pages", "runner"], usize::MAX),
    (
        "xtask",
        &["forebay-aqm", "forebay-sim", "forebay-theory", "forebay-lab", "pages", "runner", "validation"],
        usize::MAX,
    ),
];
/// The only files and folders that may have unsafe code.
const SYS: [&str; 3] = ["/src/sys/", "/src/sys.rs", "/src/guest/sys.rs"];
/// Crates that must not print.
const LIBRARIES: [&str; 6] = ["aqm", "sim", "net", "packetdrill", "theory", "lab"];
const NO_PRINTING: &str = "#![deny(clippy::print_stdout, clippy::print_stderr)]";

/// Every manifest with its path. An invalid one is empty here; cargo reports it.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, Table)> {
    let all = tree.files().filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"));
    all.map(|file| (file.path.as_str(), toml::from_str(&file.text).unwrap_or_default()))
}

fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}

/// Every table of dependencies, also for one platform, with the crates' real names.
fn dependencies<'a>(table: &'a Table) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut found = Vec::new();
    for (key, value) in table.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_table()?))) {
        if key == "target" {
            found.extend(value.values().filter_map(Value::as_table).flat_map(dependencies));
        } else if key.ends_with("dependencies") {
            let name =
                |(key, value): (&'a String, &'a Value)| value.get("package").and_then(Value::as_str).unwrap_or(key);
            found.push((key, value.iter().map(name).collect()));
        }
    }
    found
}

fn is_ours(name: &str) -> bool {
    ARROWS.iter().any(|(ours, ..)| *ours == name)
}

/// Dependencies of a crate that the table [`ARROWS`] does not permit.
pub(super) fn arrows(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, table) in manifests(tree).filter(|(path, _)| *path != "Cargo.toml") {
        let name = at(&table, &["package", "name"]).and_then(Value::as_str).unwrap_or_default();
        let Some((_, ours, most)) = ARROWS.iter().find(|(known, ..)| *known == name) else {
            findings.push(format!("{path}: '{name}' is not in the table of xtask/src/tidy/manifests.rs"));
            continue;
        };
        for (kind, names) in dependencies(&table) {
            let (own, others): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_ours(name));
            let wrong = own.iter().filter(|one| !ours.contains(one));
            findings.extend(wrong.map(|one| format!("{path}: {name} may not depend on {one} ({kind})")));
            if kind == "dependencies" && others.len() > *most {
                findings.push(format!("{path}: {} crates from elsewhere, the limit is {most}", others.len()));
            }
            if kind == "dependencies" && name == "forebay-aqm" && others.iter().any(|one| *one != "libm") {
                findings.push(format!("{path}: {name} may use libm and nothing else"));
            }
        }
    }
    findings
}

/// A crate has `doctest = false` exactly if it has no documentation tests. Without the setting rustdoc compiles the crate
/// to look for them.
pub(super) fn doctests(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, table) in manifests(tree) {
        let Some(folder) = path.strip_suffix("Cargo.toml") else { continue };
        if tree.get(&format!("{folder}src/lib.rs")).is_none() {
            continue;
        }
        let source = format!("{folder}src/");
        let tested = tree.rust().find(|file| file.path.starts_with(&source) && has_doctest(&file.text));
        let is_off = at(&table, &["lib", "doctest"]).and_then(Value::as_bool) == Some(false);
        match tested {
            Some(file) if is_off => findings.push(format!("{}: not run: {path} has doctest = false", file.path)),
            None if !is_off => findings.push(format!("{path}: no documentation tests; add `doctest = false` to [lib]")),
            _ => {}
        }
    }
    findings
}

/// Has a Rust file a documentation test: a code block without a language, or in Rust?
fn has_doctest(text: &str) -> bool {
    let mut is_open = false;
    text.lines().any(|line| {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(kind) = comment.and_then(|comment| comment.trim_start().strip_prefix("```")) else { return false };
        is_open = !is_open;
        is_open && (kind.is_empty() || kind.starts_with("rust") || kind.starts_with("no_run"))
    })
}

/// Every crate takes the workspace's lints, unsafe code has one folder, libraries do not print.
pub(super) fn lints(tree: &Tree) -> Vec<String> {
    let takes = |table: &Table| at(table, &["lints", "workspace"]).and_then(Value::as_bool) == Some(true);
    let others = manifests(tree).filter(|(path, it)| !["Cargo.toml", "fuzz/Cargo.toml"].contains(path) && !takes(it));
    let mut findings: Vec<String> = others.map(|(path, _)| format!("{path}: no [lints] workspace = true")).collect();
    let is_sys = |path: &str| path.starts_with("crates/") && SYS.iter().any(|place| path.contains(place));
    let elsewhere = tree.rust().filter(|file| !is_sys(&file.path) && file.code.contains("unsafe_code"));
    findings.extend(elsewhere.map(|file| format!("{}: unsafe code outside of {SYS:?}", file.path)));
    let roots = LIBRARIES.iter().filter_map(|name| tree.get(&format!("crates/{name}/src/lib.rs")));
    let prints = roots.filter(|file| !file.text.lines().any(|line| line == NO_PRINTING));
    findings.extend(prints.map(|file| format!("{}: no {NO_PRINTING}", file.path)));
    findings
}

/// The level of a lint of rustc or clippy for the whole workspace, and `deny` for those of libraries.
pub(super) fn level(tree: &Tree, lint: &str) -> Option<String> {
    let (_, root) = manifests(tree).find(|(path, _)| *path == "Cargo.toml")?;
    let of = |tool| at(&root, &["workspace", "lints", tool, lint]).and_then(Value::as_str).map(str::to_string);
    of("rust").or(of("clippy")).or(NO_PRINTING.contains(&format!("clippy::{lint}")).then(|| "deny".to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::planted::finds;
    use super::*;

    #[test]
    fn finds_forbidden_dependencies_between_crates() {
        for (name, rest, want) in [
            ("lab", "[dependencies]\nforebay-sim.workspace = true\nserde = \"1\"", ""),
            ("aqm", "[dependencies]\nlibm = \"0.2\"\n[dev-dependencies]\nproptest = \"1\"", ""),
            ("aqm", "[dependencies]\nforebay-sim.workspace = true", "may not depend on forebay-sim"),
            ("theory", "[dev-dependencies]\nforebay-aqm.workspace = true", "may not depend on forebay-aqm"),
            ("lab", "[build-dependencies]\nxtask = { path = \"x\" }", "may not depend on xtask (build"),
            ("sim", "[dependencies]\nx = { package = \"forebay-lab\", path = \"y\" }", "on forebay-lab"),
            ("sim", "[target.'cfg(unix)'.dependencies]\nforebay-lab.workspace = true", "on forebay-lab"),
            ("aqm", "[dependencies]\nrand = \"1\"", "may use libm and nothing else"),
            ("sim", "[dependencies]\na=\"1\"\nb=\"1\"\nc=\"1\"\nd=\"1\"", "4 crates from elsewhere"),
            ("new", "", "not in the table"),
        ] {
            let text = format!("[package]\nname = \"forebay-{name}\"\n{rest}");
            finds(arrows, &[("crates/x/Cargo.toml", &text)], want);
        }
    }

    #[test]
    fn finds_missing_lints_and_misplaced_unsafe_blocks() {
        let syscalls = "#![expect(unsafe_code, reason = \"syscalls\")]";
        for (path, text, want) in [
            ("crates/x/Cargo.toml", "[lints]\nworkspace = true", ""),
            ("crates/x/Cargo.toml", "[package]", "no [lints] workspace"),
            ("crates/live/src/sys/ring.rs", syscalls, ""),
            ("crates/live/src/lane.rs", syscalls, "unsafe code outside"),
            ("crates/sim/src/lib.rs", NO_PRINTING, ""),
            ("crates/sim/src/lib.rs", "//! Words.", "no #![deny"),
        ] {
            finds(lints, &[(path, text)], want);
        }
    }

    #[test]
    fn documentation_tests_and_manifests_agree() {
        let (on, off) = ("[package]\nname = \"a\"", "[package]\nname = \"a\"\n[lib]\ndoctest = false");
        let (none, some) = ("/// ```text\n/// a\n/// ```\nfn a() {}", "/// ```\n/// a();\n/// ```\nfn a() {}");
        let crates = |manifest, source| [("a/Cargo.toml", manifest), ("a/src/lib.rs", ""), ("a/src/b.rs", source)];
        finds(doctests, &crates(off, none), "");
        finds(doctests, &crates(on, some), "");
        finds(doctests, &crates(on, none), "no documentation tests");
        finds(doctests, &crates(off, some), "a/src/b.rs: not run");
    }
}
