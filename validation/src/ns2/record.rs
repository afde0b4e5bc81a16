//! The record of our runs: the page is made from it, and the test simulates one seed of each of its rows again.

use std::collections::BTreeMap;

use super::ours::{self, Wanted};
use crate::figures::{QUANTITIES, Run, Runs};
use runner::program;

const FILE: &str = "validation/ns2/figures-ours.csv";

/// Our runs, by the columns that name them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Record(BTreeMap<String, Runs>);

/// The first columns of a run: the row, the rate of the clients' links, the rules of ns-2.
fn columns(Wanted { row, rules, lines, .. }: &Wanted) -> String {
    format!("{},{lines},{},{}", row.columns(), u8::from(rules.sack1), u8::from(rules.cwr))
}

impl Record {
    pub(super) fn read() -> Result<Self, String> {
        Self::parse(&program::read(FILE)?).map_err(|what| format!("{FILE}: {what}"))
    }

    pub(super) fn write(&self) -> Result<(), String> {
        program::write(FILE, &self.text())
    }

    pub(super) fn add(&mut self, wanted: &[Wanted], runs: &[Runs]) {
        self.0.extend(wanted.iter().map(columns).zip(runs.iter().cloned()));
    }

    /// The recorded runs of every wanted row. It is an error if a row or a seed is missing.
    pub(super) fn runs(&self, wanted: &[Wanted]) -> Result<Vec<Runs>, String> {
        let of = |wanted: &Wanted| {
            let runs = self.0.get(&columns(wanted)).filter(|runs| runs.0.len() == wanted.seeds);
            runs.cloned().ok_or_else(|| format!("{FILE} does not have {} seeds of {}", wanted.seeds, columns(wanted)))
        };
        wanted.iter().map(of).collect()
    }

    /// Simulates one seed of every wanted row again: of the first row seed 1, of the next one seed 2, and so on. It is an
    /// error if a figure is not the recorded one, to the last bit.
    pub(super) fn verify(&self, wanted: &[Wanted]) -> Result<(), String> {
        let seed = |at: usize| at % wanted[at].seeds;
        let again = ours::some(wanted, |at, job| job == seed(at) as u64 + 1)?;
        let recorded = self.runs(wanted)?;
        let differs = |at: &usize| again[*at].0 != [recorded[*at].0[seed(*at)]];
        let other: Vec<String> = (0..wanted.len()).filter(differs).map(|at| columns(&wanted[at])).collect();
        if other.is_empty() { Ok(()) } else { Err(format!("{FILE}: other figures now: {}", other.join("; "))) }
    }

    fn text(&self) -> String {
        let names: Vec<&str> = QUANTITIES.iter().map(|quantity| quantity.column).collect();
        let mut text = format!("case,aqm,ecn,tcp,n,access,sack1,cwr,seed,{}\n", names.join(","));
        for (columns, runs) in &self.0 {
            for (at, run) in runs.0.iter().enumerate() {
                let figures: Vec<String> = run.iter().map(f64::to_string).collect();
                text += &format!("{columns},{},{}\n", at + 1, figures.join(","));
            }
        }
        text
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut record = Self::default();
        for line in text.lines().skip(1) {
            let wrong = || format!("not a run: {line}");
            let fields: Vec<&str> = line.split(',').collect();
            let (columns, rest) = fields.split_at_checked(8).ok_or_else(wrong)?;
            let (seed, figures) = rest.split_first().ok_or_else(wrong)?;
            let figures = figures.iter().map(|field| field.parse().map_err(|_| wrong()));
            let run = Run::try_from(figures.collect::<Result<Vec<f64>, _>>()?).map_err(|_| wrong())?;
            let runs = record.0.entry(columns.join(",")).or_default();
            runs.0.push(run);
            if seed.parse() != Ok(runs.0.len()) {
                return Err(format!("not seed {}: {line}", runs.0.len()));
            }
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid;
    use super::*;

    /// The row that takes the least time.
    fn row() -> Wanted {
        Wanted::plain(grid::rows()[0], 2)
    }

    #[test]
    fn record_gives_same_runs_when_read_again() {
        let mut record = Record::default();
        record.add(&[row()], &[Runs(vec![[0.1 + 0.2, 1e-9, 0.0, 1.0, 1.0 / 3.0], [70.0; 5]])]);
        assert_eq!(Record::parse(&record.text()).unwrap(), record);
        assert!(record.runs(&[row()]).is_ok());
        assert!(record.runs(&[Wanted { seeds: 3, ..row() }]).unwrap_err().contains("3 seeds"));
    }

    #[test]
    fn figure_that_differs_in_last_bit_is_found() {
        let mut record = Record::default();
        let mut runs = ours::run(&[row()]).unwrap();
        record.add(&[row()], &runs);
        record.verify(&[row()]).unwrap();
        runs[0].0[0][0] = runs[0].0[0][0].next_up();
        record.add(&[row()], &runs);
        assert!(record.verify(&[row()]).unwrap_err().contains("DropTail"));
    }

    #[test]
    fn damaged_record_is_refused() {
        let good = "case,aqm,ecn,tcp,n,access,sack1,cwr,seed,q\n1,RED,0,Reno,40,10mbit,0,0,1,1,2,3,4,5\n";
        assert!(Record::parse(good).is_ok());
        for (from, to, want) in
            [("0,0,1,1", "0,0,2,1", "not seed 1"), ("4,5", "4,x", "not a run"), (",4,5", ",4", "not a run")]
        {
            assert!(Record::parse(&good.replace(from, to)).is_err_and(|what| what.contains(want)), "{to}");
        }
    }
}
