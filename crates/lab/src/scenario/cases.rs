//! Checks on the cases of a scenario, which are the combinations of the values of the keys that `[vary]` varies (axes):
//! what all cases must share, and what must differ between them.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::Case;
use super::read::Scenario;
use crate::document::vary::Axis;
use crate::document::{Node, paths};
use crate::input::{Found, InputError};

/// Refuses cases whose results do not fit into one table, and two cases that are identical runs under different labels.
pub(crate) fn check(root: &Node, axes: &[Axis], cases: &[Case]) -> Result<(), InputError> {
    same_links(axes, cases)?;
    own_disciplines(root, axes, cases)?;
    other_runs(axes, cases)
}

/// Refuses cases that measure other links than the first case: a table shows one link, with one row per case.
fn same_links(axes: &[Axis], cases: &[Case]) -> Result<(), InputError> {
    let studied = |case: &Case| -> Vec<String> {
        let links = case.scenario.topology.links();
        links.into_iter().filter(|l| l.link.study).map(|l| l.name).collect()
    };
    let Some(first) = cases.first() else { return Ok(()) };
    let links = studied(first);
    let Some(other) = cases.iter().find(|case| studied(case) != links) else { return Ok(()) };
    let Some((axis, _)) = moved(axes, first, other) else { return Ok(()) };
    let found = Found::text(&studied(other).join(", "));
    let accepts = format!("the same links under study in every case; the first case has {}", links.join(", "));
    Err(axis.place.error(axis.key(), found, accepts).hint("measure them all in every case".to_string()))
}

/// The first axis whose value differs between two cases.
fn moved<'a>(axes: &'a [Axis], one: &'a Case, other: &'a Case) -> Option<(&'a Axis, [&'a str; 2])> {
    let values = one.axes.iter().zip(&other.axes).map(|((_, a), (_, b))| [a.as_str(), b.as_str()]);
    axes.iter().zip(values).find(|(_, [a, b])| a != b)
}

/// Refuses the `aqm` key of a link as an axis when `[compare]` replaces the discipline of that link.
fn own_disciplines(root: &Node, axes: &[Axis], cases: &[Case]) -> Result<(), InputError> {
    let is_written = root.get("compare").is_some() || axes.iter().any(|axis| axis.name.starts_with("compare."));
    let Some(first) = cases.first().filter(|_| is_written) else { return Ok(()) };
    let links = first.scenario.topology.links();
    for axis in axes.iter().filter(|axis| axis.is_path()) {
        let steps = paths::steps(root, &axis.name);
        let [top, path @ .., last] = steps.as_slice() else { continue };
        let Some(link) = links.iter().find(|link| link.path == path && top == "topology" && last == "aqm") else {
            continue;
        };
        if cases.iter().all(|case| case.scenario.compared.contains(&link.name)) {
            let accepts = "compare.aqm or --aqm, where {q} is replaced by the value of an axis q";
            let error = axis.place.error(axis.key(), Found::text(&axis.name), accepts);
            return Err(error.hint(not_run(&link.name)));
        }
    }
    Ok(())
}

fn not_run(link: &str) -> String {
    format!("[compare] replaces the discipline of {link}")
}

/// Refuses two cases with identical runs, unless the key `title` varies and differs between them.
fn other_runs(axes: &[Axis], cases: &[Case]) -> Result<(), InputError> {
    // Writing a scenario takes as long as reading it.
    if cases.len() < 2 {
        return Ok(());
    }
    let mut seen = BTreeMap::new();
    for case in cases {
        let title = case.axes.iter().find(|(axis, _)| axis == "title");
        let Some(twin) = seen.insert((title, essence(&case.scenario)), case) else { continue };
        let Some((axis, [one, other])) = moved(axes, twin, case) else { continue };
        let found = Found::thing(format!("'{one}' and '{other}', which give identical runs"));
        let error = axis.place.error(axis.key(), found, "each value to change the runs");
        return Err(error.hint(overruled(&twin.scenario, &case.scenario).map(|link| not_run(&link))));
    }
    Ok(())
}

/// SHA-256 of everything that affects the runs of a scenario and their results: not titles and labels, nor
/// disciplines that `[compare]` replaces.
fn essence(scenario: &Scenario) -> [u8; 32] {
    let mut bare = Scenario { title: String::new(), ..scenario.clone() };
    bare.compare.iter_mut().for_each(|contender| contender.label.clear());
    let is_compared: Vec<bool> =
        scenario.topology.links().iter().map(|l| scenario.compared.contains(&l.name)).collect();
    for (link, _) in bare.topology.links_mut().into_iter().zip(is_compared).filter(|(_, is_compared)| *is_compared) {
        link.discipline = scenario.compare[0].spec.clone();
    }
    Sha256::digest(bare.runs_to_toml()).into()
}

/// The first link whose discipline differs between two scenarios, although `[compare]` replaces the discipline of that
/// link in both.
fn overruled(one: &Scenario, other: &Scenario) -> Option<String> {
    let pairs = one.topology.links().into_iter().zip(other.topology.links());
    let found = pairs.into_iter().find(|(a, b)| {
        a.link.discipline != b.link.discipline && [one, other].iter().all(|s| s.compared.contains(&a.name))
    });
    found.map(|(a, _)| a.name)
}
