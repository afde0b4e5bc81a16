//! ns-2's results for each row (network, discipline, TCP, number of flows), which `validation/ns2/case.tcl` writes to
//! files in its folder.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rayon::prelude::*;

use super::SEEDS;
use super::grid::{Row, rows, with_faster_lines};
use crate::figures::{self, Runs};
use runner::program;

/// A file of results, and the options of `case.tcl` for its runs in addition to those of each row.
type File = (&'static str, &'static [&'static str]);

/// The files with every row. In the first one ns-2's hosts have the processing jitter of ours.
const FILES: [File; 2] = [("figures-jitter.csv", &["-jitter", "10e-6"]), ("figures.csv", &["-jitter", "0"])];
/// The file with some rows, with jitter and faster links of the clients.
const LINES: File = ("figures-access.csv", &["-jitter", "10e-6", "-access", "20e6"]);
const FOLDER: &str = "validation/ns2";

/// ns-2's results for every row, in the order of the rows.
pub(super) struct Figures {
    /// With the processing jitter that our hosts have.
    pub(super) jittered: Vec<Runs>,
    /// Without jitter.
    pub(super) plain: Vec<Runs>,
}

impl Figures {
    /// Number of seeds of `row`, whose index is `at`: more with few flows, and if the first seeds cannot show whether
    /// an equal simulator is within the tolerances. ns-2's own runs decide this, before ours are compared; in one row
    /// ours do.
    pub(super) fn seeds(&self, at: usize, row: &Row) -> usize {
        let [few, more] = SEEDS;
        let unclear = |runs: &Runs| runs.first(few).are_too_few();
        let few_flows = row.has_few_flows() || row.is_asked_again();
        if few_flows || unclear(&self.jittered[at]) || unclear(&self.plain[at]) { more } else { few }
    }

    /// Reads the results from the committed files.
    pub(super) fn read() -> Result<Self, String> {
        let [jittered, plain] = FILES.map(|(name, _)| read(name, &rows()));
        Ok(Self { jittered: jittered?, plain: plain? })
    }
}

/// The results for the rows that also ran with faster links of the clients.
pub(super) fn read_faster() -> Result<Vec<Runs>, String> {
    read(LINES.0, &with_faster_lines())
}

pub(super) fn is_installed() -> bool {
    program::find(&["ns"]).is_some()
}

/// Runs ns-2 on all cores and rewrites the files of every row.
pub(super) fn renew() -> Result<(), String> {
    let rows = rows();
    let [few, more] = SEEDS;
    let mut lines: Vec<Vec<Vec<String>>> = Vec::new();
    for file in FILES {
        lines.push(simulate(&rows, file, 1..=few)?);
        write(file, &lines[lines.len() - 1])?;
    }
    let figures = Figures::read()?;
    let unclear: Vec<usize> = (0..rows.len()).filter(|at| figures.seeds(*at, &rows[*at]) == more).collect();
    println!("{} of {} rows take {more} seeds", unclear.len(), rows.len());
    let unclear_rows: Vec<Row> = unclear.iter().map(|at| rows[*at]).collect();
    for (file, lines) in FILES.into_iter().zip(&mut lines) {
        for (row, further) in unclear.iter().zip(simulate(&unclear_rows, file, few + 1..=more)?) {
            lines[*row].extend(further);
        }
        write(file, lines)?;
    }
    renew_faster()
}

/// Runs ns-2 with faster links of the clients, and rewrites the file with these results.
pub(super) fn renew_faster() -> Result<(), String> {
    write(LINES, &simulate(&with_faster_lines(), LINES, 1..=SEEDS[1])?)
}

/// Runs ns-2 for these rows and seeds. Returns one line per row and seed.
fn simulate(rows: &[Row], (name, options): File, seeds: RangeInclusive<usize>) -> Result<Vec<Vec<String>>, String> {
    println!("ns-2 {}: {FOLDER}/{name}", options.join(" "));
    let one = |row: &Row, seed: usize| case(&row.arguments(), &[&["-seed", &seed.to_string()], options].concat());
    rows.par_iter().map(|row| seeds.clone().into_par_iter().map(|seed| one(row, seed)).collect()).collect()
}

fn case(arguments: &[String], further: &[&str]) -> Result<String, String> {
    let mut ns = program::at_root("ns");
    ns.arg(format!("{FOLDER}/case.tcl")).args(arguments).args(further);
    Ok(program::said(ns)?.trim_end().to_string())
}

fn write((name, _): File, lines: &[Vec<String>]) -> Result<(), String> {
    let head = case(&[], &["-header", "1"])?;
    let text = format!("{head}\n{}\n", lines.concat().join("\n"));
    program::write(&format!("{FOLDER}/{name}"), &text)
}

fn read(name: &str, rows: &[Row]) -> Result<Vec<Runs>, String> {
    parse(&program::read(&format!("{FOLDER}/{name}"))?, rows).map_err(|what| format!("{FOLDER}/{name}: {what}"))
}

/// The runs of every row, by seed from 1 on. It is an error if a row has no runs, or if the file has an unknown row.
fn parse(text: &str, rows: &[Row]) -> Result<Vec<Runs>, String> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let mut found: BTreeMap<String, Runs> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let (row, rest) = fields.split_at_checked(5).ok_or_else(|| format!("not a run: {line}"))?;
        let runs = found.entry(row.join(",")).or_default();
        if rest.first().and_then(|seed| seed.parse().ok()) != Some(runs.0.len() + 1) {
            return Err(format!("not seed {}: {line}", runs.0.len() + 1));
        }
        runs.0.push(figures::read(head, line)?);
    }
    let all = rows.iter().map(|row| found.remove(&row.columns()).ok_or_else(|| format!("no row {row}"))).collect();
    if let (Ok(_), Some(row)) = (&all, found.keys().next()) {
        return Err(format!("no such row: {row}"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_unknown_and_unreadable_result_rows_are_errors() {
        let file = |seeds: &str| {
            let line = |row: &Row| seeds.chars().map(|s| format!("{},{s},70,0.03,0,1,0.99\n", row.columns())).collect();
            let lines: Vec<String> = rows().iter().map(line).collect();
            format!("case,aqm,ecn,tcp,n,seed,mean_queue,drop_ratio,mark_ratio,utilisation,goodput\n{}", lines.concat())
        };
        let runs = parse(&file("123"), &rows()).unwrap();
        assert_eq!((runs.len(), &runs[0]), (rows().len(), &Runs(vec![[70.0, 0.03, 0.0, 1.0, 0.99]; 3])));
        for (text, want) in [
            (file("13"), "not seed 2"),
            (file("1").replace("1,PI,1,Reno,40,1", "1,PI,1,Tahoe,40,1"), "no row"),
            (file("1") + "1,PI,1,Tahoe,40,1,70,0.03,0,1,0.99\n", "no such row"),
            (file("1").replace("0.03", "-"), "no drop_ratio"),
        ] {
            assert!(parse(&text, &rows()).is_err_and(|what| what.contains(want)), "{want}");
        }
    }
}
