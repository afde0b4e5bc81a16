//! Results of pytest, one per test: passed, failed or skipped. `outcomes.py` writes them.

use std::collections::BTreeMap;

use crate::base::tally::Tally;

/// Counts lines `outcome TAB test TAB why`; `ended_well`: pytest's exit status is 0.
pub(super) fn tell(outcomes: &str, ended_well: bool, tally: &mut Tally) {
    let mut worst: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for line in outcomes.lines() {
        let mut parts = line.splitn(3, '\t');
        let (outcome, test, why) = (parts.next(), parts.next().unwrap_or("?"), parts.next().unwrap_or_default());
        // A test that passes and then fails in its teardown has failed.
        let known = worst.entry(test).or_insert(("passed", ""));
        match outcome {
            Some("passed") => {}
            Some("skipped") if known.0 == "passed" => *known = ("skipped", why),
            Some("skipped") => {}
            _ => *known = ("failed", why),
        }
    }
    if worst.is_empty() || !ended_well && worst.values().all(|(outcome, _)| *outcome != "failed") {
        tally.fail("pytest ended badly, or without a test");
    }
    for (test, (outcome, why)) in worst {
        match outcome {
            "passed" => tally.pass(),
            "skipped" => tally.skip(format!("{test}: {why}")),
            _ => tally.fail(format!("{test}: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_one_outcome() {
        let fine = "passed\ta.py::x\t\npassed\ta.py::y[a b]\t\nskipped\ta.py::z\tno root\n";
        let broken = format!("{fine}failed\ta.py::v\twhy\nfailed\ta.py::x\tin its fixture\n");
        for (outcomes, ended_well, line) in [
            (fine, true, "2 passed, 0 failed, 1 skipped"),
            (fine, false, "2 passed, 1 failed, 1 skipped"),
            (&broken, false, "1 passed, 2 failed, 1 skipped"),
            ("", true, "0 passed, 1 failed, 0 skipped"),
        ] {
            let mut tally = Tally::default();
            tell(outcomes, ended_well, &mut tally);
            assert_eq!(tally.line(), line, "{outcomes}");
        }
    }
}
