//! Runs `validation/theory/oracle.py` (SciPy, python-control) and compares with the recorded values.

use crate::base::program;
use crate::base::tally::Tally;

const SCRIPT: &str = "validation/theory/oracle.py";
const RECORD: &str = include_str!("../../../validation/theory/oracle.txt");
/// Allowed relative difference: other versions solve and round slightly differently.
const SAME: f64 = 1e-5;

/// One check per line of recorded values; one skip without SciPy and python-control.
pub(crate) fn check(tally: &mut Tally) {
    let python = |words: &[&str]| {
        let mut python = program::at_root("python3");
        python.args(words);
        python
    };
    if !program::works(python(&["-c", "import numpy, scipy, control"])) {
        return tally.skip("python3 has no scipy and control: pip install scipy control; the figures on record count");
    }
    let out = match program::said(python(&[SCRIPT])) {
        Ok(out) => out,
        Err(what) => return tally.fail(what),
    };
    let lines: Vec<&str> = out.lines().collect();
    for (i, line) in RECORD.lines().enumerate() {
        tally.check(line, same(line, lines.get(i).copied().unwrap_or_default()));
    }
}

fn same(want: &str, found: &str) -> Result<(), String> {
    let agree = |(want, found): (&str, &str)| match (want.parse::<f64>(), found.parse::<f64>()) {
        (Ok(want), Ok(found)) => (found - want).abs() <= SAME * want.abs(),
        _ => want == found,
    };
    let alike = want.split(' ').count() == found.split(' ').count() && want.split(' ').zip(found.split(' ')).all(agree);
    if alike { Ok(()) } else { Err(format!("now {found}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_agree_within_tolerance_and_words_exactly() {
        assert!(same("queue a 1.000000000e0 2e-3", "queue a 1.000000001e0 2e-3").is_ok());
        for other in ["queue a 1.0001 2e-3", "queue b 1 2e-3", "queue a 1", ""] {
            assert!(same("queue a 1.000000000e0 2e-3", other).is_err(), "{other}");
        }
    }
}
