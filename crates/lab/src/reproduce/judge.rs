//! Decides claims from finished runs. A contender is a discipline that a scenario compares; the axes of a scenario are
//! the keys that vary between its runs, and a case is a combination of their values. A check of a claim compares a
//! quantity of one contender with a bound. A check of a curve uses pairs (x, y) of two quantities, one pair for each
//! case.

use forebay_aqm::base::nearest::nearest;

use crate::claims::{Check, CheckResult, Outcome, Point, Verdict};
use crate::figures::stats::{Interval, interpolate, mean};
use crate::results::record::{self, RunRecord};
use crate::run::compare::{Group, groups};
use crate::run::plan::Plan;

/// Number of x values at which two curves are compared.
const CURVE_POINTS: usize = 21;

/// The finished runs of a scenario, from which checks are decided.
pub struct Runs<'a> {
    plan: &'a Plan,
    groups: Vec<Group<'a>>,
    /// Values of axes that select the cases of a check. Values in the check itself take precedence.
    point: Point,
    /// Whether the mean decides if the confidence interval straddles the bound.
    provisional: bool,
}

/// A range of accepted values.
struct Bound {
    lo: f64,
    hi: f64,
    /// Whether the ends are excluded.
    strict: bool,
    words: String,
}

impl Bound {
    fn outcome(&self, interval: &Interval) -> Outcome {
        let above = |x: f64| if self.strict { x > self.lo } else { x >= self.lo };
        let below = |x: f64| if self.strict { x < self.hi } else { x <= self.hi };
        if above(interval.lo()) && below(interval.hi()) {
            Outcome::Holds
        } else if !above(interval.hi()) || !below(interval.lo()) {
            Outcome::Fails
        } else {
            Outcome::Straddles
        }
    }

    /// Distance of `value` from the nearer end of the range, relative to the largest of the absolute values of `value`,
    /// of the ends of the range and of `scale`. Negative outside the range; -1 to 1.
    fn margin(&self, value: f64, scale: f64) -> f64 {
        let inside = (value - self.lo).min(self.hi - value);
        let ends = [self.lo, self.hi, value, scale].into_iter().filter(|x| x.is_finite()).map(f64::abs);
        let margin = inside / ends.fold(f64::MIN_POSITIVE, f64::max);
        if margin.is_nan() { -1.0 } else { margin.clamp(-1.0, 1.0) }
    }
}

impl Check {
    fn bound(&self) -> Result<Bound, String> {
        let (below, above) = (f64::NEG_INFINITY, f64::INFINITY);
        let loose = |lo, hi, words| Bound { lo, hi, strict: false, words };
        let strict = |lo, hi, words| Bound { lo, hi, strict: true, words };
        let times = if self.relative_to.is_some() { "quotient " } else { "" };
        let from = self.times.map_or_else(String::new, |times| format!(" from {times} times the other's"));
        Ok(match self {
            Self { less_than: Some(_), margin, .. } => {
                strict(below, -margin, format!("difference{from} < {}", 0.0 - margin))
            }
            Self { more_than: Some(_), margin, .. } => strict(*margin, above, format!("difference{from} > {margin}")),
            Self { within: Some([lo, hi]), .. } => loose(*lo, *hi, format!("{times}{lo} .. {hi}")),
            Self { at_least: Some(lo), .. } => loose(*lo, above, format!("{times}>= {lo}")),
            Self { at_most: Some(hi), .. } => loose(below, *hi, format!("{times}<= {hi}")),
            _ => return Err(format!("the check '{}' has no bound", self.what)),
        })
    }
}

/// The verdict on a claim from the results of its checks, without those that were written only after the claim's first
/// simulation.
pub fn verdict(results: &[CheckResult]) -> Verdict {
    let any = |outcome| results.iter().any(|r| r.outcome == outcome && !r.added);
    if any(Outcome::Fails) {
        Verdict::NotReproduced
    } else if any(Outcome::Straddles) {
        Verdict::Inconclusive
    } else {
        Verdict::Reproduced
    }
}

impl<'a> Runs<'a> {
    /// All runs of `plan`: those of every contender in every case. `provisional`: the mean decides if the confidence
    /// interval straddles the bound.
    pub fn new(plan: &'a Plan, records: &'a [RunRecord], provisional: bool) -> Self {
        Self { plan, groups: groups(plan, records), point: Point::new(), provisional }
    }

    /// Restricts checks to the runs with these values of the axes. Values in a check take precedence.
    pub fn at(self, point: &Point) -> Self {
        Self { point: point.clone(), ..self }
    }

    /// Whether the scenario has the values of axes that the check names.
    pub fn has_points_of(&self, check: &Check) -> bool {
        [&check.at_points, &check.there, &check.plus].into_iter().all(|point| self.cases(point).is_ok())
    }

    /// Checks that the scenario compares the contenders which a check names, before anything is run.
    pub fn has_contenders_of(&self, check: &Check, subject: &str) -> Result<(), String> {
        let template = |name: Option<&str>| template(name, subject).to_string();
        let there = if check.there.is_empty() { &check.at_points } else { &check.there };
        let own = (&check.at_points, template(check.of.as_deref()));
        for (point, name) in std::iter::once(own).chain(check.other().map(|name| (there, template(Some(name))))) {
            for case in self.cases(point).unwrap_or_default() {
                self.contender(case, &name)?;
            }
        }
        Ok(())
    }

    /// Results of a check, one for each case that the check covers; one in all for a check of a curve. The contender
    /// `subject` is checked unless the check names another one.
    pub fn answer(&self, check: &Check, subject: &str) -> Result<Vec<CheckResult>, String> {
        let bound = check.bound()?;
        let template = |name: Option<&str>| template(name, subject).to_string();
        let own = template(check.of.as_deref());
        let other = check.other().map(|name| template(Some(name)));
        if let Some(against) = &check.against {
            return Ok(vec![self.answer_curve(check, &bound, against, &own, other.as_deref())?]);
        }
        let cases = self.cases(&check.at_points)?;
        cases.into_iter().map(|case| self.answer_at(check, &bound, case, &own, other.as_deref())).collect()
    }

    fn answer_at(
        &self,
        check: &Check,
        bound: &Bound,
        case: usize,
        own: &str,
        other: Option<&str>,
    ) -> Result<CheckResult, String> {
        let mut samples = self.group(case, own)?.values(&check.quantity)?;
        let mut scale = 0.0;
        if let Some(other) = other {
            let there = if check.there.is_empty() { case } else { self.cases(&check.there)?[0] };
            let mut values = self.group(there, other)?.values(&check.quantity)?;
            if !check.plus.is_empty() {
                let more = self.group(self.cases(&check.plus)?[0], other)?.values(&check.quantity)?;
                values = sums(&values, &more);
            }
            if check.relative_to.is_none() {
                scale = mean(&samples).abs().max(mean(&values).abs());
            }
            samples = if check.relative_to.is_some() {
                samples.iter().zip(&values).map(|(a, b)| a / b).collect()
            } else {
                differences(&samples, &values, check.times.unwrap_or(1.0))
            };
        }
        // The text of the result leaves out axes that have one value only.
        let differs = |axis: &&(String, String)| self.plan.cases.iter().any(|other| !other.axes.contains(axis));
        let axes = self.plan.cases[case].axes.iter().filter(differs).map(|(k, v)| (k.as_str(), v.as_str()));
        let result = self.result(check, &record::point_name(axes), bound, samples, "no run finished");
        let margin = result.value.map_or(-1.0, |value| bound.margin(value, scale));
        Ok(CheckResult { margin, ..result })
    }

    fn result(&self, check: &Check, at: &str, bound: &Bound, samples: Vec<f64>, if_empty: &str) -> CheckResult {
        let what = if at.is_empty() { check.what.clone() } else { format!("{} ({at})", check.what) };
        let interval = Interval::of(&samples);
        let mut outcome = bound.outcome(&interval);
        let mut note = None;
        if samples.is_empty() {
            outcome = Outcome::Fails;
            note = Some(if_empty.to_string());
        } else if samples.iter().all(|sample| sample.is_nan()) {
            outcome = Outcome::Fails;
            note = Some("no run measured this".to_string());
        } else if self.provisional && outcome == Outcome::Straddles {
            outcome = bound.outcome(&Interval { half: 0.0, ..interval });
            let why = match samples.len() {
                1 => "one seed, so no interval; decided by the value",
                _ => "the interval straddles the bound; decided by the mean",
            };
            note = Some(why.to_string());
        }
        let known = |x: f64| x.is_finite().then_some(x);
        CheckResult {
            what,
            value: known(interval.mean),
            low: known(interval.lo()),
            high: known(interval.hi()),
            n: samples.len(),
            bound: bound.words.clone(),
            outcome,
            by: check.by,
            added: check.added,
            superseded: check.superseded,
            note,
            margin: known(interval.mean).map_or(-1.0, |value| bound.margin(value, 0.0)),
        }
    }

    /// Result of a check of the curve of contender `own`, with the quantity `against` on the x axis. Each seed gives
    /// one value: that of the curve at `check.at`, or the mean difference from the curve of the contender `other` over
    /// their common x range. The check fails if any seed has no such value.
    fn answer_curve(
        &self,
        check: &Check,
        bound: &Bound,
        against: &str,
        own: &str,
        other: Option<&str>,
    ) -> Result<CheckResult, String> {
        let curves = self.curves(check, against, own)?;
        let mut reach = self.reach(check, against, own)?;
        let samples: Vec<Option<f64>> = if let Some(other) = other {
            reach = format!("{reach}; the other's: {}", self.reach(check, against, other)?);
            let others = self.curves(check, against, other)?;
            let overlap = check.overlap.unwrap_or(0.0);
            curves.iter().zip(&others).map(|(a, b)| distance(a, b, overlap)).collect()
        } else {
            let at = check.at.ok_or_else(|| format!("the check '{}' needs at or another contender", check.what))?;
            curves.iter().map(|curve| interpolate(curve, at)).collect()
        };
        let asked = samples.len();
        let known: Vec<f64> = samples.into_iter().flatten().collect();
        let reached = known.len();
        let mut result = self.result(check, "", bound, known, &reach);
        if reached < asked {
            result.outcome = Outcome::Fails;
            result.note = Some(format!("{reached} of {asked} seeds reach there: {reach}"));
        }
        Ok(result)
    }

    /// Text with the x range of a contender's curve, for a check that needs a value outside this range.
    fn reach(&self, check: &Check, against: &str, own: &str) -> Result<String, String> {
        let mut means = Vec::new();
        for case in self.cases(&check.at_points)? {
            let group = self.group(case, own)?;
            means.push((mean(&group.values(against)?), mean(&group.values(&check.quantity)?)));
        }
        means.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(first), Some(last)) = (means.first(), means.last()) else { return Ok("no run finished".into()) };
        let near = if check.at.is_some_and(|at| at > last.0) { last } else { first };
        Ok(format!(
            "{against} runs from {:.1} to {:.1}; {} is {:.4} at {:.1}",
            first.0, last.0, check.quantity, near.1, near.0
        ))
    }

    /// The curves of a contender by seed: points (x, y) over all cases of the check.
    fn curves(&self, check: &Check, x: &str, template: &str) -> Result<Vec<Vec<(f64, f64)>>, String> {
        let y = &check.quantity;
        let mut curves = vec![Vec::new(); self.plan.seeds.len()];
        for case in self.cases(&check.at_points)? {
            let group = self.group(case, template)?;
            for (curve, (x, y)) in curves.iter_mut().zip(group.values(x)?.into_iter().zip(group.values(y)?)) {
                curve.push((x, y));
            }
        }
        Ok(curves)
    }

    /// The indices of the cases that have the values of axes in `point`, and on other axes those in `self.point`. No
    /// such case is an error.
    fn cases(&self, point: &Point) -> Result<Vec<usize>, String> {
        let mut whole = self.point.clone();
        whole.extend(point.clone());
        let point = &whole;
        let agrees = |axes: &[(String, String)]| point.iter().all(|(k, v)| axes.iter().any(|(a, b)| a == k && b == v));
        let cases = self.plan.cases.iter().enumerate().filter(|(_, c)| agrees(&c.axes)).map(|(i, _)| i);
        let cases: Vec<usize> = cases.collect();
        if cases.is_empty() { Err(format!("no case of the scenario has {point:?}")) } else { Ok(cases) }
    }

    /// The index of the contender that the scenario writes as `template`, in one case, and its text. `{AXIS}` in
    /// `template` is replaced by the value of the axis.
    fn contender(&self, case: usize, template: &str) -> Result<(usize, String), String> {
        let it = &self.plan.cases[case];
        let text = it.axes.iter().fold(template.to_string(), |text, (k, v)| text.replace(&format!("{{{k}}}"), v));
        match it.scenario.compare.iter().position(|c| c.label == text) {
            Some(at) => Ok((at, text)),
            None => {
                let known: Vec<&str> = it.scenario.compare.iter().map(|c| c.label.as_str()).collect();
                let near = nearest(&text, known.iter().copied())
                    .map_or(String::new(), |near| format!("; did you mean {near}?"));
                Err(format!("the scenario does not compare '{text}', but {}{near}", known.join(", ")))
            }
        }
    }

    /// The runs of the contender that the scenario writes as `template`, in one case.
    fn group(&self, case: usize, template: &str) -> Result<&Group<'a>, String> {
        let (contender, text) = self.contender(case, template)?;
        let group = self.groups.iter().find(|g| g.case == case && g.contender == contender);
        group.ok_or_else(|| format!("'{text}' was not run"))
    }
}

/// The contender that a check names; without a name, or with `subject`, that is `subject`.
fn template<'a>(name: Option<&'a str>, subject: &'a str) -> &'a str {
    name.filter(|name| *name != "subject").unwrap_or(subject)
}

/// The sum of the values at each position that both have.
fn sums(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// Each value of `a`, minus `times` the value of `b` at the same position.
fn differences(a: &[f64], b: &[f64], times: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - times * b).collect()
}

/// Mean of a(x) - b(x) over the x range that both curves have. `None` if this range is shorter than `overlap` times the
/// longer of the two curves' x ranges.
fn distance(a: &[(f64, f64)], b: &[(f64, f64)], overlap: f64) -> Option<f64> {
    let range = |curve: &[(f64, f64)]| {
        let xs = curve.iter().map(|p| p.0);
        (xs.clone().fold(f64::INFINITY, f64::min), xs.fold(f64::NEG_INFINITY, f64::max))
    };
    let ((a_lo, a_hi), (b_lo, b_hi)) = (range(a), range(b));
    let (lo, hi) = (a_lo.max(b_lo), a_hi.min(b_hi));
    if lo >= hi || hi - lo < overlap * (a_hi - a_lo).max(b_hi - b_lo) {
        return None;
    }
    let step = (hi - lo) / (CURVE_POINTS - 1) as f64;
    let at = |i: usize| if i + 1 == CURVE_POINTS { hi } else { lo + step * i as f64 };
    let gaps: Vec<f64> =
        (0..CURVE_POINTS).filter_map(|i| Some(interpolate(a, at(i))? - interpolate(b, at(i))?)).collect();
    Some(mean(&gaps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::By;

    fn outcome(bound: &Check, samples: &[f64]) -> Outcome {
        bound.bound().unwrap().outcome(&Interval::of(samples))
    }

    #[test]
    fn confidence_interval_and_bound_decide_outcome_of_check() {
        let within = Check { within: Some([40.0, 60.0]), ..Check::default() };
        assert_eq!(outcome(&within, &[49.0, 50.0, 51.0]), Outcome::Holds);
        assert_eq!(outcome(&within, &[9.0, 10.0, 11.0]), Outcome::Fails);
        assert_eq!(outcome(&within, &[38.0, 40.0, 42.0]), Outcome::Straddles);
        assert_eq!(outcome(&within, &[50.0]), Outcome::Straddles, "one run decides nothing");
    }

    #[test]
    fn check_less_than_fails_for_equal_values() {
        let less = Check { less_than: Some("pi".into()), ..Check::default() };
        assert_eq!(outcome(&less, &[0.0, 0.0, 0.0]), Outcome::Fails);
        assert_eq!(outcome(&less, &[-3.0, -2.0, -4.0]), Outcome::Holds);
        let no_worse = Check { more_than: Some("subject".into()), margin: -0.002, ..Check::default() };
        assert_eq!(outcome(&no_worse, &[-0.001, -0.001, -0.001]), Outcome::Holds);
        assert_eq!(outcome(&no_worse, &[-0.003, -0.003, -0.003]), Outcome::Fails);
    }

    #[test]
    fn key_times_multiplies_value_of_other_contender() {
        let twice = Check { more_than: Some("pi".into()), times: Some(2.0), ..Check::default() };
        assert_eq!(outcome(&twice, &differences(&[3.0, 5.0], &[1.0, 2.0], 2.0)), Outcome::Holds);
        assert_eq!(outcome(&twice, &differences(&[1.9, 3.9], &[1.0, 2.0], 2.0)), Outcome::Fails);
        assert_eq!(twice.bound().unwrap().words, "difference from 2 times the other's > 0");
    }

    #[test]
    fn key_relative_to_compares_quotients() {
        let twice = Check { relative_to: Some("pi".into()), within: Some([2.0, 4.0]), ..Check::default() };
        assert_eq!((twice.other(), outcome(&twice, &[2.9, 3.0, 3.1])), (Some("pi"), Outcome::Holds));
        assert_eq!(twice.bound().unwrap().words, "quotient 2 .. 4");
        let bare = Check { relative_to: Some("pi".into()), ..Check::default() };
        assert!(bare.bound().is_err(), "a quotient needs its bound");
    }

    #[test]
    fn key_plus_adds_values_of_a_second_point() {
        let values = sums(&[1.0, 2.0, 3.0], &[0.5, 0.25]);
        assert_eq!(values, [1.5, 2.25]);
        let most = Check { relative_to: Some("subject".into()), at_most: Some(1.2), ..Check::default() };
        let quotients = |own: &[f64]| own.iter().zip(&values).map(|(a, b)| a / b).collect::<Vec<f64>>();
        assert_eq!(outcome(&most, &quotients(&[1.5, 2.25])), Outcome::Holds);
        assert_eq!(outcome(&most, &quotients(&[3.0, 4.5])), Outcome::Fails);
    }

    #[test]
    fn distance_from_bound_is_relative_to_compared_numbers() {
        let within = Check { within: Some([40.0, 60.0]), ..Check::default() }.bound().unwrap();
        assert_eq!([50.0, 30.0, 120.0].map(|x| within.margin(x, 0.0)), [10.0 / 60.0, -10.0 / 60.0, -0.5]);
        let less = Check { less_than: Some("pi".into()), ..Check::default() }.bound().unwrap();
        assert_eq!((less.margin(2.0, 10.0), less.margin(-2.0, 10.0)), (-0.2, 0.2), "12 and 10 packets");
    }

    #[test]
    fn curves_are_compared_on_their_common_range() {
        let a = [(0.0, 1.0), (10.0, 2.0)];
        let b = [(5.0, 0.0), (20.0, 0.0)];
        assert!((distance(&a, &b, 0.0).unwrap() - 1.75).abs() < 1e-12);
        assert_eq!(distance(&a, &[(11.0, 0.0), (12.0, 0.0)], 0.0), None);
        // Both reach 5 to 10: a third of the longer range.
        assert!(distance(&a, &b, 0.33).is_some() && distance(&a, &b, 0.34).is_none());
    }

    #[test]
    fn verdict_on_claim_combines_results_of_checks() {
        let result = |outcome| CheckResult {
            what: String::new(),
            value: None,
            low: None,
            high: None,
            n: 0,
            bound: String::new(),
            outcome,
            by: By::Printed,
            added: false,
            superseded: false,
            note: None,
            margin: 0.0,
        };
        use Outcome::{Fails, Holds, Straddles};
        assert_eq!(verdict(&[result(Holds)]), Verdict::Reproduced);
        assert_eq!(verdict(&[result(Holds), result(Straddles)]), Verdict::Inconclusive);
        assert_eq!(verdict(&[result(Straddles), result(Fails)]), Verdict::NotReproduced);
        let added = CheckResult { added: true, ..result(Fails) };
        assert_eq!(verdict(&[result(Holds), added]), Verdict::Reproduced, "the first reading does not have it");
    }
}
