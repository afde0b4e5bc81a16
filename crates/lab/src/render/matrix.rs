//! Verdicts on the claims of a suite as a matrix: a row for each claim, a column for each discipline.

use super::digits::short;
use crate::claims::{CheckResult, ClaimResult, Verdict, deciding};

/// What the cells of a [`Matrix`] mean.
pub const LEGEND: &str = "+: every check holds. -: a check fails. ?: the 95 % interval of a check straddles its bound. \
                          The number is that of the check that decides, in the unit of its claim; rates are in bit/s, M: 10^6.";

/// Heading of the verdicts on claims that are about a discipline of their own.
const VERDICT: &str = "verdict";

/// Verdicts by claim and discipline.
pub struct Matrix {
    /// The disciplines that are tested; a single column `verdict` if each claim is about its own discipline.
    pub contenders: Vec<String>,
    /// Whether claims are tested for several disciplines.
    pub is_for_several: bool,
    /// A row for each claim.
    pub rows: Vec<Row>,
}

/// The verdicts on a claim.
pub struct Row {
    /// Id of the claim.
    pub id: String,
    /// The claim in words.
    pub claim: String,
    /// A cell for each discipline: `+ 0.95`.
    pub cells: Vec<String>,
}

impl Matrix {
    /// Numbers of claims that hold for the discipline in this column, that fail, and that are undecided.
    pub fn counts(&self, column: usize) -> [usize; 3] {
        let count = |sign: char| {
            self.rows.iter().filter(|row| row.cells.get(column).is_some_and(|cell| cell.starts_with(sign))).count()
        };
        ['+', '-', '?'].map(count)
    }
}

/// The verdicts of a suite. If the claims have variants, each is a column.
pub fn of(claims: &[ClaimResult]) -> Matrix {
    let several = claims.iter().any(|claim| claim.evidence.subject.is_some());
    let mut contenders: Vec<String> = Vec::new();
    if several {
        for claim in claims {
            let variants = claim.evidence.variants.iter().map(|variant| &variant.name);
            for name in claim.evidence.subject.iter().chain(variants) {
                if !contenders.contains(name) {
                    contenders.push(name.clone());
                }
            }
        }
    }
    // Claims about a discipline of their own.
    let own = |claim: &&ClaimResult| claim.evidence.subject.is_none() && claim.verdict != Verdict::NotRun;
    if !several || claims.iter().any(|claim| own(&claim)) {
        contenders.push(VERDICT.to_string());
    }
    let row = |claim: &ClaimResult| {
        let own = || cell(claim.verdict, &claim.evidence.checks);
        let of = |name: &String| {
            let is_own = claim.evidence.subject.is_none() && name == VERDICT;
            if is_own || claim.verdict == Verdict::NotRun || claim.evidence.subject.as_ref() == Some(name) {
                return own();
            }
            let variant = claim.evidence.variants.iter().find(|variant| variant.name == *name);
            variant.map_or_else(String::new, |variant| cell(variant.verdict, &variant.checks))
        };
        Row { id: claim.id.clone(), claim: claim.claim.clone(), cells: contenders.iter().map(of).collect() }
    };
    let rows = claims.iter().map(row).collect();
    Matrix { rows, contenders, is_for_several: several }
}

/// A number; a large one, such as a rate in bit/s, in millions with three decimal places at most.
fn number(value: f64) -> String {
    if value.abs() < 1e5 {
        return short(value);
    }
    let millions = format!("{:.3}", value * 1e-6);
    format!("{} M", millions.trim_end_matches('0').trim_end_matches('.'))
}

/// The text of a bound with its large numbers in millions.
fn bound(text: &str) -> String {
    let word =
        |word: &str| word.parse::<f64>().ok().filter(|x| x.abs() >= 1e5).map_or_else(|| word.to_string(), number);
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The verdict as a sign, and the value of the check that decides it, with its bound.
fn cell(verdict: Verdict, checks: &[CheckResult]) -> String {
    let sign = match verdict {
        Verdict::Reproduced => "+",
        Verdict::NotReproduced | Verdict::Refuted => "-",
        Verdict::Inconclusive => "?",
        Verdict::NotRun => return "not run".to_string(),
    };
    let value = deciding(checks).map(|check| match check.value {
        Some(value) => format!(" {} ({})", number(value), bound(&check.bound)),
        None => format!(" not measured ({})", bound(&check.bound)),
    });
    format!("{sign}{}", value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_in_millions() {
        assert_eq!([number(3_214_444.0), number(4_497_156.0)], ["3.214 M", "4.497 M"]);
        assert_eq!([number(0.5), number(99_999.0)], [short(0.5), short(99_999.0)]);
        assert_eq!(bound("difference >= 4500000"), "difference >= 4.5 M");
        assert_eq!(bound("quotient 2 .. 4"), "quotient 2 .. 4");
    }
}
