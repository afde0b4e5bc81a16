//! The reproductions of the papers with few seeds (`--quick`), and the recorded verdicts on the papers' claims.

use std::path::Path;

use serde_json::{Map, Value};

use crate::base::{program, tally::Tally, tree};

/// The files of recorded verdicts (id of the claim to verdict), one per paper. A pattern for git.
pub(crate) const EXPECTED: &str = "papers/*/expected-quick.json";
/// Verdicts by id of the claim, in the order of the paper's claims.
type Verdicts = Map<String, Value>;

fn expected(paper: &str) -> String {
    EXPECTED.replace('*', paper)
}

/// Every paper that has claims, by name.
pub(crate) fn papers() -> Result<Vec<String>, String> {
    let paper = |path: &String| Some(path.strip_prefix("papers/")?.strip_suffix("/claims.toml")?.to_string());
    Ok(tree::paths()?.iter().filter_map(paper).collect())
}

/// The verdicts of the quick reproduction of `paper` by the program of the tests. Results go to `dir`.
pub(crate) fn reproduce(paper: &str, dir: &Path) -> Result<Verdicts, String> {
    let mut command = program::at_root(program::built("forebay")?);
    command.args(["reproduce", paper, "--quick", "--json", "-o"]).arg(dir);
    // It runs at the same time as tests that measure time.
    parse(&program::said(program::idle(command))?)
}

/// Reproduces every paper in its folder below `dir`, and compares with the recorded verdicts.
pub(crate) fn check(dir: &Path, tally: &mut Tally) {
    match papers() {
        Err(what) => tally.fail(what),
        Ok(papers) => papers.iter().for_each(|paper| check_one(paper, &dir.join(paper), tally)),
    }
}

/// Reproduces one paper, compares with the recorded verdicts, and checks that its report is below 3 MB.
pub(crate) fn check_one(paper: &str, dir: &Path, tally: &mut Tally) {
    let path = expected(paper);
    let read = |text: String| serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"));
    let recorded = program::read(&path).and_then(read).map_err(|what| format!("{what}; cargo xtask bless writes it"));
    match reproduce(paper, dir).and_then(|found| Ok((found, recorded?))) {
        Ok((found, recorded)) => compare(&recorded, &found, tally),
        Err(what) => tally.fail(what),
    }
    let bytes = std::fs::metadata(dir.join("report.html")).map_or(u64::MAX, |file| file.len());
    let size = if bytes < 3_000_000 { Ok(()) } else { Err(format!("{bytes} bytes, above 3 MB")) };
    tally.check(&format!("{paper}: report.html"), size);
}

/// Id and verdict of every claim in the output of `reproduce --json`.
fn parse(document: &str) -> Result<Verdicts, String> {
    let document: Value =
        serde_json::from_str(document).map_err(|error| format!("stdout is not one JSON document: {error}"))?;
    let claims = document.get("claims").and_then(Value::as_array).ok_or("no claims in the document")?;
    let verdict = |claim: &Value| Some((claim.get("id")?.as_str()?.to_string(), claim.get("verdict")?.clone()));
    claims.iter().map(|claim| verdict(claim).ok_or_else(|| format!("a claim without id or verdict: {claim}"))).collect()
}

/// One check per claim: the verdict equals the recorded one.
fn compare(recorded: &Verdicts, found: &Verdicts, tally: &mut Tally) {
    for (id, verdict) in found {
        tally.check(
            id,
            match recorded.get(id) {
                Some(known) if known == verdict => Ok(()),
                Some(known) => Err(format!("the verdict was {known} and is {verdict}")),
                None => Err(format!("the verdict {verdict} is not on record")),
            },
        );
    }
    let lost = recorded.keys().filter(|id| !found.contains_key(*id));
    lost.for_each(|id| tally.fail(format!("{id}: has a verdict on record and was not tried")));
}

/// Records `verdicts` of `paper`.
pub(crate) fn record(paper: &str, verdicts: &Verdicts) -> Result<(), String> {
    let text = serde_json::to_string_pretty(verdicts).map_err(|error| error.to_string())?;
    program::write(&expected(paper), &(text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(pairs: &[(&str, &str)]) -> Verdicts {
        pairs.iter().map(|(id, verdict)| ((*id).to_string(), Value::from(*verdict))).collect()
    }

    #[test]
    fn reads_verdicts_from_json_output_of_reproduce() {
        let text = r#"{"version":1,"claims":[{"id":"X-1","verdict":"refuted","runs":3}],"summary":{}}"#;
        assert_eq!(parse(text), Ok(verdicts(&[("X-1", "refuted")])));
        for bad in ["", "{}", r#"{"claims":[{"id":"X-1"}]}"#, "progress\n{}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(papers().unwrap().contains(&"raqm".to_string()) && expected("raqm").starts_with("papers/raqm/"));
    }

    #[test]
    fn changed_new_and_lost_verdicts_are_failures() {
        let known = [("X-1", "reproduced"), ("X-2", "refuted")];
        let changed = [("X-1", "reproduced"), ("X-2", "reproduced")];
        for (recorded, found, line) in [
            (&known[..], &known[..], "2 passed, 0 failed, 0 skipped"),
            (&known, &changed, "1 passed, 1 failed, 0 skipped"),
            (&known, &known[..1], "1 passed, 1 failed, 0 skipped"),
            (&known[..1], &known, "1 passed, 1 failed, 0 skipped"),
        ] {
            let mut tally = Tally::default();
            compare(&verdicts(recorded), &verdicts(found), &mut tally);
            assert_eq!(tally.line(), line, "{found:?}");
        }
    }
}
