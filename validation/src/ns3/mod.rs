//! `cargo xtask validate-ns3`: compares our PIE, CoDel and FQ-CoDel with ns-3's, and writes `docs/validation-ns3.md`. A
//! row of the comparison is one network, discipline, TCP and number of flows.
//!
//! With ns-3 installed, the scripts in `validation/ns3` measure its figures again; otherwise the committed figures
//! are used. Our simulator always runs.

mod closed;
mod open;
mod outside;
mod page;

use std::env;
use std::ffi::OsString;

use rayon::prelude::*;

use crate::figures;
use runner::program;

/// The runs of a row in both simulators.
struct Comparison<R> {
    row: R,
    ours: figures::Runs,
    ns3: figures::Runs,
}

/// Runs our simulator, and ns-3 if it is installed, and writes the page.
///
/// # Errors
/// A run fails, a file cannot be read or written, or other rows than those in `outside.rs` are outside the tolerances.
pub fn run() -> Result<(), String> {
    match python() {
        Some(python) => renew(&python)?,
        None => println!("no python has ns-3 (package ns3; NS3_PYTHON names one): its committed figures are used"),
    }
    let (closed, open) = compare()?;
    program::write(page::FILE, &page::page(&closed, &open)?)?;
    println!("{}", page::FILE);
    match outside::faults(&closed, &open).as_slice() {
        [] => Ok(()),
        faults => Err(format!("validation/src/ns3/outside.rs lists other rows:\n{}", faults.join("\n"))),
    }
}

type Compared = (Vec<Comparison<closed::Row>>, Vec<open::Compared>);

/// Every row: ns-3's committed figures, and new runs of ours.
fn compare() -> Result<Compared, String> {
    let figures = program::read(closed::FILE)?;
    let row = |row: closed::Row| Ok::<_, String>(Comparison { row, ours: row.ours()?, ns3: row.ns3(&figures)? });
    let closed = closed::rows().into_par_iter().map(row).collect::<Result<_, _>>()?;
    let figures = program::read(open::FILE)?;
    let open = open::CASES.into_par_iter().map(|case| case.compare(&figures)).collect::<Result<_, _>>()?;
    Ok((closed, open))
}

/// Compares the committed page with new runs of ours: minutes of CPU time.
///
/// # Errors
/// The page is stale, or other rows than those listed in `outside.rs` are outside the tolerances.
pub fn check() -> Result<(), String> {
    let (closed, open) = compare()?;
    let faults = outside::faults(&closed, &open);
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    let is_current = program::read(page::FILE)? == page::page(&closed, &open)?;
    if is_current { Ok(()) } else { Err(format!("{} is stale: cargo xtask validate-ns3", page::FILE)) }
}

/// The Python interpreter that can import ns-3.
fn python() -> Option<OsString> {
    let python = env::var_os("NS3_PYTHON").unwrap_or_else(|| "python3".into());
    let mut try_it = program::at_root(&python);
    try_it.args(["-c", "from ns import ns"]);
    program::works(try_it).then_some(python)
}

/// Runs ns-3 on all cores, and rewrites both files with its results.
fn renew(python: &OsString) -> Result<(), String> {
    println!("ns-3: {} and {}", closed::FILE, open::FILE);
    let rows = closed::rows();
    let closed: Vec<_> = rows.iter().flat_map(|row| (1..=closed::SEEDS).map(|seed| row.arguments(seed))).collect();
    let open: Vec<_> = open::CASES.iter().flat_map(|case| case.seeds().map(|seed| case.arguments(seed))).collect();
    for (script, file, columns, runs) in
        [("case.py", closed::FILE, closed::COLUMNS, closed), ("open.py", open::FILE, open::COLUMNS, open)]
    {
        let lines: Vec<String> = runs.par_iter().map(|run| line(python, script, run)).collect::<Result<_, _>>()?;
        program::write(file, &format!("{columns}\n{}\n", lines.join("\n")))?;
    }
    Ok(())
}

fn line(python: &OsString, script: &str, arguments: &[String]) -> Result<String, String> {
    let mut command = program::at_root(python);
    command.arg(format!("validation/ns3/{script}")).args(arguments);
    Ok(program::said(command)?.trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patches;

    /// `rules.patch`, with which our CoDel and FQ-CoDel follow ns-3's, still applies: the lines that it removes exist.
    #[test]
    fn patch_with_rules_of_ns3_applies() {
        patches::assert_applies("validation/ns3/rules.patch");
    }

    #[test]
    fn committed_figures_have_line_per_row_and_seed() {
        let lines = |file| program::read(file).unwrap().lines().count();
        assert_eq!(lines(closed::FILE), 1 + closed::rows().len() * closed::SEEDS as usize);
        assert_eq!(lines(open::FILE), 1 + open::CASES.iter().map(|case| case.seeds().count()).sum::<usize>());
    }
}
