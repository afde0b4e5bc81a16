//! `forebay compare`: the results of several directories in one table, and what differs between their scenarios. An
//! axis is a key whose values vary between runs.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::report;
use crate::results::meta::Meta;
use crate::results::named::Axes;
use crate::results::record::{self, RunRecord, RunSummary};
use crate::results::summary::{Shown, Summary};
use crate::run::compare::{self, Group};
use crate::run::store;
use crate::scenario::{Found, InputError};

/// Name of the axis whose values are the disciplines. The comparison has this axis if several directories have results
/// of the same discipline.
const DISCIPLINE: &str = "discipline";
/// Largest number of keys that are listed as different between the scenarios.
const MAX_KEYS: usize = 12;
/// Largest number of letters of a key's value that are shown.
const MAX_LETTERS: usize = 60;

/// A result directory with its runs.
struct Place {
    /// Name of the directory in the tables.
    name: String,
    runs: Vec<RunRecord>,
    /// Keys and values of the directory's scenario, with all defaults and with the values of the axes.
    keys: Vec<(String, String)>,
}

/// The comparison of directories, and the keys whose values differ between their scenarios.
pub struct Compared {
    /// The runs and their comparison. The directories are compared like disciplines of one scenario; if several
    /// directories have the same disciplines, these are an axis.
    pub summary: Summary,
    /// The differing keys with their values in each directory, such as `topology.bottleneck.queue: 100p in a, 50p in
    /// b`.
    pub differing: Vec<String>,
}

/// Compares the results of directories. Differences refer to the first directory and are paired by seed.
///
/// # Errors
/// A directory has no results of a scenario, or its files are damaged.
pub fn compare(dirs: &[PathBuf]) -> Result<Compared, Failure> {
    let real = |dir: &PathBuf| dir.canonicalize().unwrap_or_else(|_| dir.clone());
    if let Some(again) = (1..dirs.len()).find(|n| dirs[..*n].iter().any(|dir| real(dir) == real(&dirs[*n]))) {
        let found = Found::text(&dirs[again].display().to_string());
        return Err(Failure::Input(InputError::new("compare", "DIR", found, "each directory once")));
    }
    let places: Vec<Place> = dirs.iter().map(|dir| place(dir, dirs)).collect::<Result<_, _>>()?;
    let is_shared = places.iter().enumerate().any(|(n, place)| {
        let others = places.iter().skip(n + 1).flat_map(|other| &other.runs);
        others.into_iter().any(|run| place.runs.iter().any(|own| own.summary.contender() == run.summary.contender()))
    });
    let mut axes: Vec<&str> = Vec::new();
    for (axis, _) in places.iter().flat_map(|place| &place.runs).flat_map(|run| run.summary.axes.words()) {
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    let named: Vec<(Axes, RunRecord)> = places.iter().flat_map(|place| named(place, &axes, is_shared)).collect();
    let mut cases: Vec<(Axes, Vec<Group<'_>>)> = Vec::new();
    for (axes, run) in &named {
        let case = cases.iter().position(|(known, _)| known == axes).unwrap_or_else(|| {
            cases.push((axes.clone(), Vec::new()));
            cases.len() - 1
        });
        let groups = &mut cases[case].1;
        let label = &run.summary.label;
        let at = groups.iter().position(|group| group.label == *label).unwrap_or_else(|| {
            groups.push(Group { label: label.clone(), case, contender: groups.len(), runs: Vec::new() });
            groups.len() - 1
        });
        groups[at].runs.push(run);
    }
    let runs: Vec<RunSummary> = named.iter().map(|(_, run)| run.summary.clone()).collect();
    let title = places.iter().map(|place| place.name.as_str()).collect::<Vec<_>>().join(", ");
    let comparison = compare::of_groups(cases.into_iter());
    let summary = Summary::new(&title, runs, comparison, Shown::default());
    Ok(Compared { summary, differing: differing(&places) })
}

/// The runs of a directory, each with the directory's name and with a value for each of `axes`. With `is_shared`
/// (several directories have the same discipline) the discipline becomes the value of an axis; otherwise it is appended
/// to the name.
fn named(place: &Place, axes: &[&str], is_shared: bool) -> Vec<(Axes, RunRecord)> {
    let rename = |run: &RunRecord| {
        let summary = &run.summary;
        let value = |axis: &str| summary.axes.get(axis).map_or_else(|| "-".to_string(), String::clone);
        let own = axes.iter().map(|axis| (axis.to_string(), value(axis)));
        let discipline = is_shared.then(|| (DISCIPLINE.to_string(), summary.contender().to_string()));
        let axes: Axes = own.chain(discipline).collect();
        let name = match is_shared {
            true => place.name.clone(),
            false => format!("{}: {}", place.name, summary.contender()),
        };
        let label = name.clone() + &record::label_end(axes.words());
        // The name counts as the discipline of the link, so that the tables compare directories like disciplines.
        let summary = RunSummary { label, aqm: name, axes: axes.clone(), ..summary.clone() };
        (axes, RunRecord { summary, ..run.clone() })
    };
    place.runs.iter().map(rename).collect()
}

fn place(dir: &Path, dirs: &[PathBuf]) -> Result<Place, Failure> {
    report::expect_results(dir, "compare")?;
    if !matches!(Meta::read(dir)?, Meta::Run(_)) {
        let found = Found::thing(format!("results of papers in {}", dir.display()));
        return Err(Failure::Input(InputError::new("compare", "DIR", found, "the results of a scenario")));
    }
    let runs: Vec<RunRecord> = store::load(dir)?.runs.into_iter().map(|(_, _, run)| run).collect();
    if runs.is_empty() {
        let found = Found::thing(format!("no finished run in {}", dir.display()));
        return Err(Failure::Input(InputError::new("compare", "DIR", found, "the results of a scenario")));
    }
    let text = std::fs::read_to_string(dir.join("scenario.toml"));
    let table = text.ok().and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
    let mut keys = Vec::new();
    flatten("", &toml::Value::Table(table), &mut keys);
    keys.extend(vary(&runs));
    Ok(Place { name: short_name(dir, dirs), runs, keys })
}

/// The axes of a sweep (keys that vary) and their values, as keys.
fn vary(runs: &[RunRecord]) -> Vec<(String, String)> {
    let mut axes: Vec<(String, Vec<&str>)> = Vec::new();
    for (axis, value) in runs.iter().flat_map(|run| run.summary.axes.words()) {
        let key = format!("vary.{axis}");
        match axes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => axes.push((key, vec![value])),
        }
    }
    axes.into_iter().map(|(key, values)| (key, values.join(" "))).collect()
}

/// Name of a directory in the tables: the last component of its path, or the complete path if another directory has the
/// same last component.
fn short_name(dir: &Path, dirs: &[PathBuf]) -> String {
    let last = |dir: &Path| dir.file_name().map(|name| name.to_string_lossy().into_owned());
    let same = dirs.iter().filter(|other| last(other) == last(dir)).count();
    last(dir).filter(|_| same == 1).unwrap_or_else(|| dir.display().to_string())
}

/// Adds the keys and values of a TOML table to `out`, with dotted paths. In a path, a table of a list is its `name`, or
/// its number if it has none.
fn flatten(path: &str, value: &toml::Value, out: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(key, value)| flatten(&below(key), value, out)),
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            for (n, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(toml::Value::as_str).map_or_else(|| n.to_string(), str::to_string);
                flatten(&below(&name), item, out);
            }
        }
        toml::Value::String(text) => out.push((path.to_string(), text.clone())),
        other => out.push((path.to_string(), other.to_string())),
    }
}

/// The value, cut off after [`MAX_LETTERS`] letters.
fn shortened(value: &str) -> String {
    if value.chars().count() <= MAX_LETTERS {
        return value.to_string();
    }
    value.chars().take(MAX_LETTERS).chain("...".chars()).collect()
}

/// The keys whose values differ between the scenarios, as lines of text. Keys of disciplines are left out, because the
/// table of results shows the disciplines.
fn differing(places: &[Place]) -> Vec<String> {
    let mut all: Vec<&str> = Vec::new();
    for (key, _) in places.iter().flat_map(|place| &place.keys) {
        if !["compare.aqm", "compare.labels", "title"].contains(&key.as_str()) && !all.contains(&key.as_str()) {
            all.push(key);
        }
    }
    let value = |place: &Place, key: &str| {
        let found = place.keys.iter().find(|(known, _)| known == key);
        found.map_or_else(|| "not set".to_string(), |(_, value)| shortened(value))
    };
    let line = |key: &str| {
        let values: Vec<String> = places.iter().map(|place| value(place, key)).collect();
        let said = places.iter().zip(&values).map(|(place, value)| format!("{value} in {}", place.name));
        values
            .iter()
            .any(|other| *other != values[0])
            .then(|| format!("{key}: {}", said.collect::<Vec<_>>().join(", ")))
    };
    let mut lines: Vec<String> = all.into_iter().filter_map(line).collect();
    if lines.len() > MAX_KEYS {
        let more = lines.len() - MAX_KEYS;
        lines.truncate(MAX_KEYS);
        lines.push(format!("and {more} more keys"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, text: &str) -> Place {
        let mut keys = Vec::new();
        flatten("", &toml::Value::Table(text.parse().unwrap()), &mut keys);
        Place { name: name.to_string(), runs: Vec::new(), keys }
    }

    #[test]
    fn scenario_keys_that_differ_are_listed_with_values() {
        let a = place("a", "duration = \"5s\"\n[[flows]]\nname = \"ftp\"\ncount = 2\n[compare]\naqm = [\"pie\"]\n");
        let b =
            place("b", "duration = \"5s\"\n[[flows]]\nname = \"ftp\"\ncount = 3\nrtt = \"1ms\"\n[compare]\naqm = []\n");
        assert_eq!(differing(&[a, b]), ["flows.ftp.count: 2 in a, 3 in b", "flows.ftp.rtt: not set in a, 1ms in b"]);
    }

    #[test]
    fn directories_with_equal_names_are_shown_by_path() {
        let dirs = ["x/out", "y/out", "z"].map(PathBuf::from);
        assert_eq!(dirs.iter().map(|dir| short_name(dir, &dirs)).collect::<Vec<_>>(), ["x/out", "y/out", "z"]);
    }
}
