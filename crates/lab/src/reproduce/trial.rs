//! Decides one claim from finished runs. A contender is a discipline that a scenario compares; the axes of a scenario
//! are the keys that vary between its runs. A claim belongs to a section, an experiment of the paper. The verdict is
//! that of the section's subject (a contender) at the section's point (values of axes). The evidence also has verdicts
//! for other contenders, points and scenarios.

use serde_json::json;

use crate::claims::{Claim, Evidence, NOT_RUN, Point, Section, VariantResult, Verdict, detail};
use crate::reproduce::judge::{self, Runs};
use crate::results::record::{self, RunRecord};
use crate::run::plan::Plan;

/// A scenario that was run: its name, its plan and the records of its runs.
pub type Finished<'a> = (&'a str, &'a Plan, Vec<RunRecord>);

/// Verdict and evidence of a claim that cannot be tested; the evidence has `reason`.
pub fn not_run(reason: &str) -> (Verdict, Evidence) {
    (Verdict::NotRun, Evidence { detail: detail(json!({ NOT_RUN: reason })), ..Evidence::default() })
}

/// Verdict and evidence of a claim of `section`. `None` if the section has no scenario, or if its scenario was not run.
/// `provisional`: the mean decides if a confidence interval straddles its bound.
pub fn on_runs(
    claim: &Claim,
    section: &Section,
    finished: &[Finished<'_>],
    provisional: bool,
) -> Result<Option<(Verdict, Evidence)>, String> {
    let find = |name: &str| finished.iter().find(|(scenario, ..)| *scenario == name);
    let Some(own) = section.scenario.as_deref().and_then(find) else { return Ok(None) };
    let here = runs(own, &section.point, provisional);
    let checks = answer_all(&here, claim, &section.subject)?;
    let mut variants = Vec::new();
    for name in &section.variants {
        variants.push(variant(name.clone(), answer_all(&here, claim, name)?));
    }
    for point in other_points(own.1, &section.point) {
        let name = format!("{}, {}", section.subject, record::point_name(words(&point)));
        variants.push(variant(name, answer_all(&runs(own, &point, provisional), claim, &section.subject)?));
    }
    for scenario in &section.also {
        let Some(other) = find(scenario) else { continue };
        let there = runs(other, &known(other.1, &section.point), provisional);
        // This scenario may lack values of axes that a check names. Such checks are left out.
        let checks = claim.checks.iter().filter(|check| there.has_points_of(check)).cloned().collect();
        let answers = answer_all(&there, &Claim { checks, ..claim.clone() }, &section.subject)?;
        variants.push(variant(format!("{}, scenario {scenario}", section.subject), answers));
    }
    Ok(Some((judge::verdict(&checks), Evidence { checks, variants, ..Evidence::default() })))
}

fn runs<'a>((_, plan, records): &'a Finished<'_>, point: &Point, provisional: bool) -> Runs<'a> {
    Runs::new(plan, records, provisional).at(point)
}

type Answers = Vec<crate::claims::CheckResult>;

fn answer_all(runs: &Runs, claim: &Claim, subject: &str) -> Result<Answers, String> {
    let answers = claim.checks.iter().map(|check| runs.answer(check, subject));
    Ok(answers.collect::<Result<Vec<_>, _>>().map_err(|e| format!("{}: {e}", claim.id))?.concat())
}

fn variant(name: String, checks: Answers) -> VariantResult {
    VariantResult { name, verdict: judge::verdict(&checks), checks }
}

fn words(point: &Point) -> impl Iterator<Item = (&str, &str)> {
    point.iter().map(|(axis, value)| (axis.as_str(), value.as_str()))
}

/// All combinations of values of those axes that `point` has, except `point` itself, in the order of the runs.
fn other_points(plan: &Plan, point: &Point) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for case in &plan.cases {
        let of_case: Point = case.axes.iter().filter(|(axis, _)| point.contains_key(axis)).cloned().collect();
        if of_case != *point && !points.contains(&of_case) {
            points.push(of_case);
        }
    }
    points
}

/// The values in `point` of those axes that the scenario of `plan` has. An axis of one scenario may be missing in
/// another.
fn known(plan: &Plan, point: &Point) -> Point {
    let has = |axis: &str| plan.cases.first().is_some_and(|case| case.axes.iter().any(|(name, _)| name == axis));
    point.iter().filter(|(axis, _)| has(axis)).map(|(axis, value)| (axis.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::level::Seeds;
    use crate::load;

    use crate::claims::{Check, Outcome};
    use crate::scenario::Overrides;

    const SCENARIO: &str = include_str!("../../tests/data/cbr.toml");

    fn plan(text: &str) -> Plan {
        Plan::new(load::parse("x", text, &Overrides::default()).unwrap(), 1, 1)
    }

    fn records(plan: &Plan) -> Vec<RunRecord> {
        plan.jobs().iter().map(|job| plan.run(*job, &mut ()).unwrap().unwrap()).collect()
    }

    fn point(pairs: &[(&str, &str)]) -> Point {
        pairs.iter().map(|(axis, value)| ((*axis).to_string(), (*value).to_string())).collect()
    }

    fn section(point: Point) -> Section {
        let [id, title, text] = ["s", "", ""].map(str::to_string);
        let (scenario, subject, also) = (Some("own".to_string()), "droptail".to_string(), vec!["single".to_string()]);
        Section {
            id,
            title,
            text,
            scenario,
            subject,
            variants: Vec::new(),
            point,
            also,
            seeds: Seeds::default(),
            quick: true,
        }
    }

    #[test]
    fn verdict_uses_only_runs_at_point_of_section() {
        let (own, single) = (plan(SCENARIO), plan(&SCENARIO.replace("\"flows.cbr.count\" = [1, 2]", "")));
        let finished = [("own", &own, records(&own)), ("single", &single, records(&single))];
        let check = Check { quantity: "loss_ratio".into(), at_most: Some(0.0), ..Check::default() };
        let slow = Check { at_points: point(&[("rate", "500kbit")]), ..check };
        let claim = Claim { id: "X".into(), section: "s".into(), checks: vec![slow], ..Claim::default() };
        let chosen = section(point(&[("flows.cbr.count", "1")]));
        let (verdict, evidence) = on_runs(&claim, &chosen, &finished, true).unwrap().unwrap();
        assert_eq!(verdict, Verdict::Reproduced);
        assert_eq!(evidence.checks.len(), 1, "one point of the axes");
        let found: Vec<_> = evidence.variants.iter().map(|v| (v.name.as_str(), v.verdict)).collect();
        // Two flows of 500 kbit/s fill the link, one does not.
        let beside =
            [("droptail, cbr count = 2", Verdict::Reproduced), ("droptail, scenario single", Verdict::Reproduced)];
        assert_eq!(found, beside);
        let everywhere = Claim { checks: vec![Check { at_points: Point::new(), ..claim.checks[0].clone() }], ..claim };
        let (verdict, evidence) = on_runs(&everywhere, &chosen, &finished, true).unwrap().unwrap();
        assert_eq!(verdict, Verdict::NotReproduced, "at 2 Mb/s half is lost");
        assert_eq!(evidence.checks.iter().filter(|c| c.outcome == Outcome::Fails).count(), 1);
        assert_eq!(evidence.checks.len(), 3);
        assert!(on_runs(&everywhere, &section(point(&[("count", "1")])), &finished, true).is_err(), "no such axis");
        let none = Section { scenario: None, ..chosen };
        assert!(on_runs(&everywhere, &none, &finished, true).unwrap().is_none());
    }
}
