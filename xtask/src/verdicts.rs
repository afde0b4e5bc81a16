//! A paper's quick reproduction, and the verdicts on record for it.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

use crate::program;
use crate::readme;
use crate::tally::Tally;

/// The verdicts on record: id to verdict.
pub(crate) const EXPECTED: &str = "papers/raqm/expected-quick.json";

/// Verdicts by id, in the order of the paper's claims.
type Verdicts = Map<String, Value>;

/// The README's main command, quick, with its results in `dir`.
fn command(dir: &Path) -> Command {
    let mut words = readme::MAIN.split_whitespace();
    let mut command = match words.next() {
        Some("cargo") => program::cargo(),
        other => program::at_root(other.unwrap_or_default()),
    };
    command.args(words).args(["--quick", "--json", "-o"]).arg(dir);
    command
}

/// Runs it; the verdicts that it gives.
pub(crate) fn reproduce(dir: &Path) -> Result<Verdicts, String> {
    let (status, out) = program::output(command(dir))?;
    if !status.success() {
        return Err(format!("{} --quick: {status}: {}", readme::MAIN, program::last_lines(&out, 5)));
    }
    parse(&out)
}

/// Id and verdict of every claim in what `reproduce --json` prints.
fn parse(document: &str) -> Result<Verdicts, String> {
    let document: Value =
        serde_json::from_str(document).map_err(|error| format!("stdout is not one JSON document: {error}"))?;
    let claims = document.get("claims").and_then(Value::as_array).ok_or("no claims in the document")?;
    let verdict = |claim: &Value| Some((claim.get("id")?.as_str()?.to_string(), claim.get("verdict")?.clone()));
    claims.iter().map(|claim| verdict(claim).ok_or_else(|| format!("a claim without id or verdict: {claim}"))).collect()
}

/// Each id is one check: it must have the verdict on record.
pub(crate) fn compare(found: &Verdicts, tally: &mut Tally) {
    let recorded = program::read(EXPECTED)
        .and_then(|text| serde_json::from_str::<Verdicts>(&text).map_err(|error| format!("{EXPECTED}: {error}")));
    match recorded {
        Err(what) => tally.fail(format!("{what}; cargo xtask bless writes it")),
        Ok(recorded) => compare_with(&recorded, found, tally),
    }
}

fn compare_with(recorded: &Verdicts, found: &Verdicts, tally: &mut Tally) {
    for (id, verdict) in found {
        tally.check(
            id,
            match recorded.get(id) {
                Some(known) if known == verdict => Ok(()),
                Some(known) => Err(format!("the verdict was {known} and is {verdict}")),
                None => Err(format!("the verdict {verdict} is not in {EXPECTED}")),
            },
        );
    }
    let lost = recorded.keys().filter(|id| !found.contains_key(*id));
    lost.for_each(|id| tally.fail(format!("{id}: has a verdict on record and was not tried")));
}

/// Puts `verdicts` on record.
pub(crate) fn record(verdicts: &Verdicts) -> Result<(), String> {
    let text = serde_json::to_string_pretty(verdicts).map_err(|error| error.to_string())?;
    program::write(EXPECTED, &(text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(pairs: &[(&str, &str)]) -> Verdicts {
        pairs.iter().map(|(id, verdict)| ((*id).to_string(), Value::from(*verdict))).collect()
    }

    fn line(recorded: &[(&str, &str)], found: &[(&str, &str)]) -> String {
        let mut tally = Tally::default();
        compare_with(&verdicts(recorded), &verdicts(found), &mut tally);
        tally.line()
    }

    #[test]
    fn reads_what_reproduce_prints() {
        let text = r#"{"version":1,"claims":[{"id":"X-1","verdict":"refuted","runs":3}],"summary":{}}"#;
        assert_eq!(parse(text), Ok(verdicts(&[("X-1", "refuted")])));
        for bad in ["", "{}", r#"{"claims":[{"id":"X-1"}]}"#, "progress\n{}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_verdict_that_changes_appears_or_disappears_is_a_failure() {
        let known = [("X-1", "reproduced"), ("X-2", "refuted")];
        assert_eq!(line(&known, &known), "2 passed, 0 failed, 0 skipped");
        assert_eq!(line(&known, &[("X-1", "reproduced"), ("X-2", "reproduced")]), "1 passed, 1 failed, 0 skipped");
        assert_eq!(line(&known, &[("X-1", "reproduced")]), "1 passed, 1 failed, 0 skipped");
        assert_eq!(line(&known[..1], &known), "1 passed, 1 failed, 0 skipped");
    }
}
