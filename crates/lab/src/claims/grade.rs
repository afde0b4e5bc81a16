//! Grades of claims: how much of a claim holds, and under which reading of the paper. A reading is a combination of
//! values for the settings that the paper does not state; the first reading is that of our scenario files.
//!
//! The verdict of a claim is that under the first reading, fixed before the claim's first simulation. The grade also
//! uses what was added later: checks that require only what the paper says, and the search of other readings. The
//! search finds readings with some seeds and confirms the best ones with other seeds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{By, CheckResult, Claim, Outcome};

/// How much of a claim holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Every check holds under the first reading.
    Holds,
    /// Every check holds under another plausible reading, confirmed with seeds that the search did not use.
    HoldsUnderReading,
    /// Every check whose bound or comparison the paper prints holds; a check with a bound that we chose does not.
    DirectionHolds,
    /// The paper's own numbers contradict the claim.
    ContradictedByPaper,
    /// The claim holds neither under the first reading nor under another one that was confirmed.
    DoesNotHold,
    /// The claim cannot be decided with the data of the paper that are still available.
    Undecidable,
    /// Every discipline would meet the claim, drop-tail included.
    Vacuous,
}

impl Grade {
    /// All grades, in the order in which summaries list them.
    pub const ALL: [Self; 7] = [
        Self::Holds,
        Self::HoldsUnderReading,
        Self::DirectionHolds,
        Self::ContradictedByPaper,
        Self::DoesNotHold,
        Self::Undecidable,
        Self::Vacuous,
    ];

    /// Name of the grade in files, which never changes.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsUnderReading => "holds-under-reading",
            Self::DirectionHolds => "direction-holds",
            Self::ContradictedByPaper => "contradicted-by-paper",
            Self::DoesNotHold => "does-not-hold",
            Self::Undecidable => "undecidable",
            Self::Vacuous => "vacuous",
        }
    }
}

/// Numbers of checks that count for the grade: all, and those that hold.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Checks {
    /// Checks that hold.
    pub held: usize,
    /// Number of all checks that count for the grade.
    pub asked: usize,
    /// Checks whose bound or comparison the paper prints.
    pub printed: usize,
    /// Checks with a bound of our choice, or with a comparison that the paper does not state.
    pub ours: usize,
    /// Checks whose bound or comparison the paper prints, and that hold.
    pub printed_held: usize,
    /// Checks with a bound or comparison of our choice that hold.
    pub ours_held: usize,
}

impl Checks {
    /// Counts these results of checks.
    pub fn of(results: &[CheckResult]) -> Self {
        let mut counts = Self::default();
        for result in results.iter().filter(|result| !result.superseded) {
            let held = usize::from(result.outcome == Outcome::Holds);
            counts.asked += 1;
            counts.held += held;
            let (all, holding) = match result.by {
                By::Printed => (&mut counts.printed, &mut counts.printed_held),
                By::Ours => (&mut counts.ours, &mut counts.ours_held),
            };
            *all += 1;
            *holding += held;
        }
        counts
    }

    /// Whether every check holds.
    pub const fn all_hold(&self) -> bool {
        self.asked > 0 && self.held == self.asked
    }

    /// Whether there are checks whose bound or comparison the paper prints, and all of them hold.
    pub const fn printed_hold(&self) -> bool {
        self.printed > 0 && self.printed_held == self.printed
    }

    /// The number of checks that hold, of all, and of those whose bound the paper prints: `27 of 34 (printed 5 of 8)`.
    pub fn text(&self) -> String {
        let Self { held, asked, printed, ours, printed_held, .. } = *self;
        let all = format!("{held} of {asked}");
        if printed + ours > 0 { format!("{all} (printed {printed_held} of {printed})") } else { all }
    }
}

/// A reading under which a claim holds, found by the search after the claim's first simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadingFound {
    /// The settings that differ from the first reading.
    pub settings: BTreeMap<String, String>,
    /// Number of readings that the search tried in all.
    pub found_with: usize,
    /// Number of seeds with which it was confirmed; the search did not use them.
    pub confirmed_with_seeds: u64,
    /// Share of the plausible readings under which the claim holds, 0 to 1, estimated from a random sample of readings.
    pub share_of_plausible: f64,
}

/// What the search of other readings found for a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// Number of plausible readings that the search tried.
    pub tried: usize,
    /// Number of these readings under which every check of the claim held.
    pub found: usize,
    /// Number of readings that were run again with seeds that the search did not use, the first reading not counted.
    pub again: usize,
    /// A plausible reading under which every check holds, also with seeds that the search did not use.
    pub holds: Option<ReadingFound>,
    /// A plausible reading under which every check that the paper prints holds, also with seeds that the search did not
    /// use.
    pub direction: Option<ReadingFound>,
    /// The settings of a reading that differs from what the paper prints and under which every check holds, also with
    /// seeds that the search did not use.
    pub differing: Option<BTreeMap<String, String>>,
}

/// A grade with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Graded {
    /// The grade.
    pub grade: Grade,
    /// Reason of the grade in one sentence; empty if the claim holds under the first reading.
    pub reason: String,
    /// The reading found by the search, if the grade depends on one.
    pub reading: Option<ReadingFound>,
}

/// The grade of a claim, from the results of its checks and from `searched`, what the search of other readings found.
/// `searched` is `None` if there was no search.
pub fn grade(claim: &Claim, results: &[CheckResult], searched: Option<&Searched>) -> Graded {
    let of = |grade, reason: String| Graded { grade, reason, reading: None };
    if let Some(reason) = &claim.contradicted {
        return of(Grade::ContradictedByPaper, reason.clone());
    }
    if let Some(reason) = claim.undecidable.as_ref().or(claim.not_run.as_ref()) {
        return of(Grade::Undecidable, reason.clone());
    }
    if let Some(reason) = &claim.vacuous {
        return of(Grade::Vacuous, reason.clone());
    }
    let checks = Checks::of(results);
    if checks.all_hold() {
        return of(Grade::Holds, String::new());
    }
    if let Some(reading) = searched.and_then(|searched| searched.holds.clone()) {
        let reason = format!("found after the fact: {}", words(&reading.settings));
        return Graded { grade: Grade::HoldsUnderReading, reason, reading: Some(reading) };
    }
    if checks.printed_hold() {
        return of(Grade::DirectionHolds, "what the paper prints holds; a bound of ours does not".to_string());
    }
    if let Some(reading) = searched.and_then(|searched| searched.direction.clone()) {
        let reason =
            format!("what the paper prints holds under a reading found after the fact: {}", words(&reading.settings));
        return Graded { grade: Grade::DirectionHolds, reason, reading: Some(reading) };
    }
    let mut reasons = Vec::new();
    match searched {
        Some(Searched { tried, found: 0, .. }) => reasons.push(format!("in none of {tried} plausible readings")),
        Some(Searched { tried, found, again, .. }) => reasons.push(format!(
            "in {found} of {tried} plausible readings, but in none of the {again} that were run again with fresh seeds"
        )),
        None => {}
    }
    if let Some(settings) = searched.and_then(|searched| searched.differing.as_ref()) {
        reasons.push(format!("it holds under a reading that differs from what the paper prints: {}", words(settings)));
    }
    let open = results.iter().filter(|result| result.outcome == Outcome::Straddles).count();
    if open > 0 {
        reasons.push(format!("the interval of {open} of {} checks straddles the bound", checks.asked));
    }
    if reasons.is_empty() {
        reasons.extend(claim.why.clone());
    }
    of(Grade::DoesNotHold, reasons.join("; "))
}

fn words(settings: &BTreeMap<String, String>) -> String {
    let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    settings.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::yes_no;
    use super::*;

    fn result(by: By, holds: bool) -> CheckResult {
        CheckResult { by, ..yes_no("x", 1.0, "at least 1", holds) }
    }

    fn graded(results: &[CheckResult], searched: Option<&Searched>) -> Grade {
        grade(&Claim::default(), results, searched).grade
    }

    #[test]
    fn failed_bound_we_chose_gives_grade_direction_holds() {
        let results = [result(By::Printed, true), result(By::Ours, false)];
        assert_eq!(graded(&results, None), Grade::DirectionHolds);
        assert_eq!(graded(&[result(By::Printed, false), result(By::Ours, true)], None), Grade::DoesNotHold);
        assert_eq!(graded(&[result(By::Ours, false)], None), Grade::DoesNotHold, "nothing is printed");
        let counts = Checks::of(&results);
        assert_eq!((counts.held, counts.asked, counts.printed, counts.ours), (1, 2, 1, 1));
        assert_eq!(counts.text(), "1 of 2 (printed 1 of 1)");
    }

    #[test]
    fn reading_found_by_search_raises_grade_of_claim() {
        let reading = ReadingFound {
            settings: [("ecn".to_string(), "on".to_string())].into(),
            found_with: 2000,
            confirmed_with_seeds: 30,
            share_of_plausible: 0.2,
        };
        let none = Searched { tried: 2000, found: 0, again: 0, holds: None, direction: None, differing: None };
        let failed = [result(By::Printed, false)];
        assert_eq!(graded(&failed, Some(&none)), Grade::DoesNotHold);
        let differing = Searched { differing: Some(reading.settings.clone()), ..none.clone() };
        let own = grade(&Claim::default(), &failed, Some(&differing));
        assert_eq!(own.grade, Grade::DoesNotHold);
        assert!(own.reason.ends_with("differs from what the paper prints: ecn = on"), "{}", own.reason);
        let direction = Searched { direction: Some(reading.clone()), ..none.clone() };
        assert_eq!(graded(&failed, Some(&direction)), Grade::DirectionHolds);
        let holds = Searched { holds: Some(reading), ..none };
        assert_eq!(graded(&failed, Some(&holds)), Grade::HoldsUnderReading);
        let claim = Claim { contradicted: Some("Table I".into()), ..Claim::default() };
        assert_eq!(grade(&claim, &failed, Some(&holds)).grade, Grade::ContradictedByPaper);
    }
}
