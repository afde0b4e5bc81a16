//! What the search of readings found for the claims of a paper: `papers/PAPER/found.json`, written by `forebay
//! readings`. A reading is a combination of values for the settings that the paper does not state.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Verdict;
use super::grade::{Checks, ReadingFound, Searched};

/// The keys of `found.json` that grades of claims use.
#[derive(Deserialize)]
struct Found {
    version: u32,
    tried: usize,
    #[serde(default)]
    again: usize,
    best: Vec<Best>,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Best {
    settings: BTreeMap<String, String>,
    #[serde(default)]
    differs: Vec<String>,
    confirmed: Option<Confirmed>,
}

#[derive(Deserialize)]
struct Confirmed {
    seeds: u64,
    verdicts: Vec<Confirmation>,
}

#[derive(Deserialize)]
struct Confirmation {
    id: String,
    verdict: Verdict,
    checks: Checks,
}

#[derive(Deserialize)]
struct Claim {
    id: String,
    share: f64,
    share_printed: f64,
    found: usize,
}

/// The result of the search for each claim, by the claim's id. `text` is the content of `found.json`; `{}`, which means
/// that there was no search, gives no results.
///
/// # Errors
/// The text is not a result of `forebay readings`.
pub fn searched(text: &str) -> Result<BTreeMap<String, Searched>, String> {
    if text.trim() == "{}" {
        return Ok(BTreeMap::new());
    }
    let file: Found = serde_json::from_str(text).map_err(|error| format!("found.json: {error}"))?;
    if file.version != 1 {
        return Err(format!("version {} of found.json is not 1", file.version));
    }
    let of = |claim: &Claim| {
        // Readings under which more claims hold come first. The first reading that `serves` accepts is used.
        let others = || file.best.iter().filter(|best| !best.settings.is_empty());
        let first = |plausible: bool, share: f64, serves: &dyn Fn(&Confirmation) -> bool| {
            others().filter(|best| best.differs.is_empty() == plausible).find_map(|best| {
                let confirmed = best.confirmed.as_ref()?;
                let own = confirmed.verdicts.iter().find(|own| own.id == claim.id)?;
                serves(own).then(|| ReadingFound {
                    settings: best.settings.clone(),
                    found_with: file.tried,
                    confirmed_with_seeds: confirmed.seeds,
                    share_of_plausible: share,
                })
            })
        };
        let all = |own: &Confirmation| own.verdict == Verdict::Reproduced;
        let holds = first(true, claim.share, &all);
        let direction = first(true, claim.share_printed, &|own| own.checks.printed_hold());
        let differing = first(false, 0.0, &all).map(|reading| reading.settings);
        let Claim { found, .. } = *claim;
        (claim.id.clone(), Searched { tried: file.tried, found, again: file.again, holds, direction, differing })
    };
    Ok(file.claims.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best readings were run again (confirmed) with seeds that the search did not use. Of the plausible ones the first
    /// is reported under which all checks of the claim hold, and the first under which its printed checks hold; of those
    /// that differ from what the paper prints the first under which all checks hold.
    #[test]
    fn first_confirmed_reading_supporting_a_claim_is_reported() {
        let verdict = |verdict: &str, printed_held: usize| {
            let checks = serde_json::json!({
                "held": printed_held, "asked": 3, "printed": 2, "ours": 1, "printed_held": printed_held, "ours_held": 0
            });
            serde_json::json!({ "seeds": 30, "from": 1001,
                "verdicts": [{ "id": "A", "verdict": verdict, "checks": checks }] })
        };
        let best = |tcp: &str, confirmed| serde_json::json!({ "settings": { "tcp": tcp }, "confirmed": confirmed });
        let mut differing = best("tahoe", verdict("reproduced", 2));
        differing["differs"] = serde_json::json!(["packet = 1000"]);
        let text = serde_json::json!({
            "version": 1, "tried": 2000,
            "best": [differing, best("sack", verdict("not-reproduced", 2)), best("reno", verdict("reproduced", 2))],
            "claims": [{ "id": "A", "share": 0.1, "share_printed": 0.3, "found": 200 }],
        });
        let found = searched(&text.to_string()).unwrap();
        let tcp = |reading: &Option<ReadingFound>| reading.as_ref().unwrap().settings["tcp"].clone();
        assert_eq!((tcp(&found["A"].holds), tcp(&found["A"].direction)), ("reno".to_string(), "sack".to_string()));
        assert_eq!(found["A"].differing.as_ref().unwrap()["tcp"], "tahoe");
        let share = |reading: &Option<ReadingFound>| reading.as_ref().unwrap().share_of_plausible;
        assert_eq!((share(&found["A"].holds), share(&found["A"].direction)), (0.1, 0.3));
        assert!(searched("{}").unwrap().is_empty() && searched("[]").is_err());
    }
}
