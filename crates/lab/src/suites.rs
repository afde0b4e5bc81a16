//! Suites of experiments for `forebay evaluate`: folders of scenarios and claims in the format of the papers. Those of the
//! folder `suites` are compiled in; the folder of a user is read from disk.
//!
//! `claims.toml`, and every other file whose name begins with `claims` or is `exhibits.toml`, has claims and figures. Every
//! other `.toml` file is a scenario.

use std::path::{Path, PathBuf};

use forebay_aqm::base::nearest::{nearest, one_of};
use include_dir::{Dir, include_dir};

use crate::claims::papers::Paper;
use crate::claims::registration::{self, Registration};
use crate::disk;
use crate::document::toml_error;
use crate::figures::class_column::ClassColumn;
use crate::figures::flow_column::FlowColumn;
use crate::input::{Found, InputError};
use crate::load;
use crate::own;
use crate::reproduce::claim_file;
use crate::results::over_time::OF_TRAFFIC;
use crate::results::quantity::Quantity;
use crate::results::traffic::ALL;
use crate::scenario::Overrides;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../suites");

/// File with the title, the sections and the claims of a suite.
const CLAIMS: &str = "claims.toml";

/// Name and text of the files of a folder.
type Files = Vec<(String, String)>;

/// The names of the built-in suites, with their titles.
pub fn built_in() -> Vec<(&'static str, String)> {
    let title =
        |folder: &Dir<'_>| claim_file::parse(&claims(&files(folder))).map_or_else(|_| String::new(), |file| file.title);
    BUILT_IN.dirs().filter_map(|folder| Some((name(folder)?, title(folder)))).collect()
}

/// The built-in suite of this name, or that of the folder with this path. It is never freed: its results refer to it.
///
/// # Errors
/// There is neither, or the claims are invalid.
pub fn find(asked: &str) -> Result<&'static Paper, InputError> {
    let known = BUILT_IN.dirs().find(|folder| name(folder).is_some_and(|name| name.eq_ignore_ascii_case(asked)));
    let path = Path::new(asked);
    let (name, folder, files) = match known {
        Some(folder) => {
            let name = name(folder).unwrap_or_default().to_string();
            (name.clone(), format!("suites/{name}"), files(folder))
        }
        None if path.join(CLAIMS).is_file() => (stem(path), asked.to_string(), read(path)?),
        None => return Err(unknown(asked)),
    };
    check(&folder, &files)?;
    let registered = if known.is_some() { None } else { registration(path)?.map(|made| made.of(&files)) };
    let claims = claims(&files);
    let scenarios: Vec<(&str, &str)> = files
        .into_iter()
        .filter(|(file, _)| !has_claims(file))
        .map(|(file, text)| (keep(file.trim_end_matches(".toml").to_string()), keep(text)))
        .collect();
    Ok(Box::leak(Box::new(Paper {
        name: keep(name),
        summary: "",
        folder: keep(folder),
        claims: keep(claims),
        scenarios: Vec::leak(scenarios),
        readings: "",
        found: "{}",
        is_suite: true,
        registered: registered.map(|registered| &*Box::leak(Box::new(registered))),
        arithmetic: "",
    })))
}

/// The registration in the folder of a suite; `None` without one.
fn registration(folder: &Path) -> Result<Option<Registration>, InputError> {
    let path = folder.join(registration::FILE);
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
    let read: Option<Registration> = serde_json::from_str(&text).ok().filter(Registration::is_sound);
    let found = Found::thing("a damaged registration");
    let wrong =
        || InputError::new(path.display().to_string(), "", found, "the file that forebay claims register wrote");
    read.map(Some).ok_or_else(wrong)
}

/// Registers the claims of a suite in a folder: writes the hashes of its files to `registration.json`. If they are
/// registered already, that registration is returned.
///
/// # Errors
/// It is not the folder of a valid suite, its files changed after a registration, or the file cannot be written.
pub fn register(asked: &str, now: String) -> Result<(PathBuf, Registration), InputError> {
    let folder = Path::new(asked);
    if !folder.join(CLAIMS).is_file() {
        let accepts =
            format!("a folder with {CLAIMS}; built-in suites and papers are in the history of the repository");
        return Err(InputError::new("claims register", "SUITE", Found::text(asked), accepts));
    }
    let files = read(folder)?;
    check(asked, &files)?;
    let path = folder.join(registration::FILE);
    if let Some(made) = registration(folder)? {
        let of = made.of(&files);
        if of.changed.is_empty() {
            return Ok((path, made));
        }
        let found = Found::thing(format!("claims that are {}", of.text()));
        let accepts = "the registered files, or no registration.json: delete it to register again";
        return Err(InputError::new(path.display().to_string(), "", found, accepts));
    }
    let made = Registration::new(&files, now);
    disk::write_json(&path, &made).map_err(|error| {
        InputError::new(path.display().to_string(), "", Found::thing(error.to_string()), "a folder that can be written")
    })?;
    Ok((path, made))
}

fn keep(text: String) -> &'static str {
    String::leak(text)
}

fn name<'a>(folder: &'a Dir<'_>) -> Option<&'a str> {
    folder.path().file_name()?.to_str()
}

fn stem(path: &Path) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    full.file_name().map_or_else(|| "suite".to_string(), |name| name.to_string_lossy().into_owned())
}

fn has_claims(file: &str) -> bool {
    file.starts_with("claims") || file == "exhibits.toml"
}

/// The text of the files with claims and figures, `claims.toml` first.
fn claims(files: &Files) -> String {
    let first = files.iter().filter(|(file, _)| file == CLAIMS);
    let others = files.iter().filter(|(file, _)| file != CLAIMS && has_claims(file));
    first.chain(others).map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
}

/// Checks the claims of a suite, and that it has the scenarios which they name. An error has the file and the line.
fn check(folder: &str, files: &Files) -> Result<(), InputError> {
    for (file, text) in files.iter().filter(|(file, _)| has_claims(file)) {
        let path = format!("{folder}/{file}");
        claim_file::check_keys(text, file == CLAIMS).map_err(|error| misread(&path, text, &error))?;
    }
    let invalid = |id: &str, found: Found, accepts: &str| {
        let (file, line) = place(files, id);
        let error = InputError::new(format!("{folder}/{file}"), id, found, accepts);
        line.map_or(error.clone(), |line| error.at(line, 1))
    };
    let suite = claim_file::parse(&claims(files)).map_err(|reason| {
        let (id, reason) = reason.split_once(": ").unwrap_or(("", reason.as_str()));
        invalid(id, Found::thing("an invalid suite"), ACCEPTS).hint(reason.to_string())
    })?;
    for spec in suite.aqm.iter().chain(&suite.baseline) {
        if let Err(error) = own::parse(spec) {
            let quoted = format!("\"{spec}\"");
            let line = |text: &str| text.lines().position(|line| line.contains(&quoted)).map(|line| line + 1);
            let text = files.iter().find(|(file, _)| file == CLAIMS).map_or("", |(_, text)| text);
            let path = format!("{folder}/{CLAIMS}");
            let wrong = InputError::new(path, "aqm or baseline", Found::text(spec), error.to_string()).hint(error.hint);
            return Err(line(text).map_or(wrong.clone(), |line| wrong.at(line, 1)));
        }
    }
    let scenarios: Vec<&str> =
        files.iter().filter(|(file, _)| !has_claims(file)).map(|(file, _)| file.trim_end_matches(".toml")).collect();
    let named = suite.sections.iter().flat_map(|section| section.scenarios().map(|name| (&section.id, name)));
    let mut missing = named.filter(|(_, name)| !scenarios.contains(&name.as_str()));
    if let Some((id, name)) = missing.next() {
        let accepts = format!("a scenario of the folder, {}", one_of(name, &scenarios));
        let near = nearest(name, scenarios.iter().copied()).map(|near| format!("did you mean {near}?"));
        return Err(invalid(id, Found::text(name), &accepts).hint(near));
    }
    for calibration in &suite.calibrations {
        let named = calibration.scenarios.iter().filter_map(|name| Some((name, text_of(files, name)?)));
        for (name, text) in named {
            let overrides = Overrides { sets: vec![format!("{}=1", calibration.key)], ..Overrides::default() };
            // An error in the scenario itself is reported when it is planned.
            if load::parse(name, text, &Overrides::default()).is_ok()
                && let Err(error) = load::parse(name, text, &overrides)
            {
                return Err(invalid(&calibration.key, error.found.clone(), &error.accepts).hint(error.hint.clone()));
            }
        }
    }
    for claim in &suite.claims {
        let section = suite.sections.iter().filter(|section| section.id == claim.section);
        let scenarios = section.flat_map(|section| section.scenarios());
        let groups: Vec<String> = scenarios.flat_map(|scenario| groups(files, scenario)).collect();
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let quantities = claim.checks.iter().flat_map(|check| std::iter::once(&check.quantity).chain(&check.against));
        for quantity in quantities.filter_map(|text| Quantity::parse(text).ok()) {
            if let Some(name) = quantity.traffic().find(|name| !is_traffic(name, &groups)) {
                let accepts = format!("a group of flows of its scenario, {}", one_of(name, &groups));
                let near = nearest(name, groups.iter().copied()).map(|near| format!("did you mean {near}?"));
                return Err(invalid(&claim.id, Found::text(&format!("traffic.{name}")), &accepts).hint(near));
            }
            if let Some(name) = quantity.series().find(|name| !is_series(name, &groups)) {
                let accepts = "a series: queue, class.N.FIELD, GROUP.FIELD, or a discipline's probe such as raqm.p";
                return Err(invalid(&claim.id, Found::text(name), accepts));
            }
        }
    }
    Ok(())
}

/// Whether a run can have the class of traffic `name`: one of these groups, a service class by number, or all.
fn is_traffic(name: &str, groups: &[&str]) -> bool {
    name == ALL || name.parse::<u8>().is_ok() || groups.contains(&name)
}

/// Whether a run can have the series `name`: the queue, a column of a class or of one of these groups, a probe, or a series of a class of traffic.
fn is_series(name: &str, groups: &[&str]) -> bool {
    let is_probe = name.split_once('.').and_then(|(owner, probe)| Some((own::entry(owner)?, probe)));
    let of_traffic = name.rsplit_once('.').filter(|(_, field)| OF_TRAFFIC.contains(field));
    name == "queue"
        || ClassColumn::parse(name).is_some()
        || FlowColumn::parse(name, groups).is_some()
        || of_traffic.is_some_and(|(name, _)| is_traffic(name, groups))
        || is_probe.is_some_and(|(entry, probe)| entry.probes.iter().any(|known| known.name == probe))
}

/// The text of a scenario.
fn text_of<'a>(files: &'a Files, scenario: &str) -> Option<&'a str> {
    files.iter().find(|(file, _)| file.trim_end_matches(".toml") == scenario).map(|(_, text)| text.as_str())
}

/// Names of the groups of flows of a scenario; empty if it cannot be read, which is an error later.
fn groups(files: &Files, scenario: &str) -> Vec<String> {
    let table: Option<toml::Table> = text_of(files, scenario).and_then(|text| toml::from_str(text).ok());
    let flows = table.as_ref().and_then(|table| table.get("flows")?.as_array());
    let names = flows.into_iter().flatten().filter_map(|group| group.get("name")?.as_str());
    names.map(str::to_string).collect()
}

const ACCEPTS: &str = "claims as docs/claims.md describes";

/// The file that has the section, claim, figure or table with this id, and its line. Without one: `claims.toml`.
fn place<'a>(files: &'a Files, id: &str) -> (&'a str, Option<usize>) {
    let id = id.strip_prefix("calibrate ").unwrap_or(id);
    let is_its = |line: &str| {
        let (key, value) = line.split_once('=').unwrap_or_default();
        ["id", "key"].contains(&key.trim()) && value.split('"').nth(1) == Some(id)
    };
    let line = |text: &str| text.lines().position(is_its).map(|line| line + 1);
    let found = files.iter().filter(|(file, _)| has_claims(file)).find_map(|(file, text)| Some((file, line(text)?)));
    found.map_or((CLAIMS, None), |(file, line)| (file.as_str(), Some(line)))
}

/// The error for a file of claims with this content. The message of an unknown key has the known ones in backquotes.
fn misread(path: &str, text: &str, error: &toml::de::Error) -> InputError {
    let located = toml_error(path, text, error);
    let mut names = error.message().split('`').skip(1).step_by(2);
    match names.next().filter(|_| error.message().starts_with("unknown field")) {
        Some(key) => {
            let known: Vec<&str> = names.collect();
            let near = nearest(key, known.iter().copied()).map(|near| format!("did you mean {near}?"));
            let mut unknown = InputError::new(path, &located.key, Found::text(key), one_of(key, &known)).hint(near);
            (unknown.line, unknown.column) = (located.line, located.column);
            unknown
        }
        None => located,
    }
}

/// The `.toml` files of a built-in suite, by name.
fn files(folder: &Dir<'_>) -> Files {
    let text = |file: &include_dir::File<'_>| {
        let name = file.path().file_name()?.to_str()?.to_string();
        Some((name, file.contents_utf8()?.to_string())).filter(|(name, _)| name.ends_with(".toml"))
    };
    let mut files: Files = folder.files().filter_map(text).collect();
    files.sort();
    files
}

/// The `.toml` files of a folder, by name.
fn read(path: &Path) -> Result<Files, InputError> {
    let unreadable = |at: &Path, error: &std::io::Error| {
        InputError::new(at.display().to_string(), "", Found::thing(error.to_string()), "a readable file")
    };
    let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    let text = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        Ok((path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()), text))
    };
    paths.iter().map(text).collect()
}

fn unknown(asked: &str) -> InputError {
    let known: Vec<&str> = BUILT_IN.dirs().filter_map(name).collect();
    let accepted = format!("{}, or a folder with {CLAIMS}", one_of(asked, &known));
    let near = nearest(asked, known.iter().copied()).map(|near| format!("did you mean {near}?"));
    InputError::new("evaluate", "SUITE", Found::text(asked), &accepted).hint(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::level::Level;
    use crate::reproduce::Reproduction;

    /// Every scenario of every built-in suite is read and planned.
    #[test]
    fn built_in_suites_are_sound() {
        let names: Vec<&str> = built_in().into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"l4s"), "{names:?}");
        for name in names {
            let suite = find(name).unwrap();
            let all = Reproduction::new(suite, Level::Full, |_| true).unwrap();
            assert!(all.runs() > 0, "{name}");
        }
    }

    #[test]
    fn unknown_suite_names_the_nearest_one() {
        let error = find("l4").unwrap_err().to_string();
        assert!(error.contains("l4s") && error.contains("a folder with claims.toml"), "{error}");
    }
}
