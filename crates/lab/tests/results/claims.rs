//! The papers' claim files: complete, consistent with their scenarios, and decidable.

use std::fs;
use std::path::Path;

use crate::dumbbell::{self, SLOW};
use forebay_lab::claim_file;
use forebay_lab::claims::{Claim, Outcome, Point};
use forebay_lab::judge::Runs;
use forebay_lab::load;
use forebay_lab::papers::{self, PAPERS};
use forebay_lab::plan::Plan;
use forebay_lab::scenario::Overrides;
use forebay_lab::theorems;

#[test]
fn raqm_claim_ids_equal_the_fixed_list() {
    let file = claim_file::parse(papers::find("raqm").unwrap().claims).unwrap();
    let ids: Vec<&str> = file.claims.iter().map(|c| c.id.as_str()).collect();
    let fixed = [
        "RAQM-1a", "RAQM-1b", "RAQM-2a", "RAQM-2b", "RAQM-3a", "RAQM-3b", "RAQM-3c", "RAQM-3d", "RAQM-3e", "RAQM-4a",
        "RAQM-4b", "RAQM-5a", "RAQM-E5", "RAQM-E6", "RAQM-L1", "RAQM-L2", "RAQM-O1", "RAQM-TH1", "RAQM-TH2",
        "RAQM-TH3",
    ];
    assert_eq!(ids, fixed);
}

#[test]
fn red_tail_claim_ids_equal_the_fixed_list() {
    let file = claim_file::parse(papers::find("red-tail").unwrap().claims).unwrap();
    let ids: Vec<&str> = file.claims.iter().map(|c| c.id.as_str()).collect();
    let fixed = [
        "TAIL-F1",
        "TAIL-T1",
        "TAIL-E1",
        "TAIL-FA",
        "TAIL-T3",
        "TAIL-T4",
        "TAIL-U",
        "TAIL-F4",
        "TAIL-F9",
        "TAIL-F11",
        "TAIL-F12",
        "TAIL-F15",
        "TAIL-F15b",
        "TAIL-F16",
        "TAIL-F16b",
        "TAIL-F16c",
        "TAIL-F17",
        "TAIL-F18",
        "TAIL-F19",
        "TAIL-F20",
        "TAIL-F21",
        "TAIL-P61",
        "TAIL-P62",
        "TAIL-P62a",
        "TAIL-P62b",
        "TAIL-P63",
        "TAIL-E21",
    ];
    assert_eq!(ids, fixed);
}

#[test]
fn msvb_claim_ids_equal_the_fixed_list() {
    let file = claim_file::parse(papers::find("msvb").unwrap().claims).unwrap();
    let ids: Vec<&str> = file.claims.iter().map(|c| c.id.as_str()).collect();
    let fixed = [
        "MSVB-F2", "MSVB-F2n", "MSVB-F2f", "MSVB-F2s", "MSVB-T1", "MSVB-F3", "MSVB-F4", "MSVB-F5", "MSVB-F6",
        "MSVB-L31",
    ];
    assert_eq!(ids, fixed);
}

#[test]
fn msc_claim_ids_equal_the_fixed_list() {
    let file = claim_file::parse(papers::find("msc").unwrap().claims).unwrap();
    let ids: Vec<&str> = file.claims.iter().map(|c| c.id.as_str()).collect();
    let fixed = [
        "MSC-1a", "MSC-1b", "MSC-1c", "MSC-1d", "MSC-2a", "MSC-2b", "MSC-3a", "MSC-4a", "MSC-4b", "MSC-4c", "MSC-E3a",
        "MSC-E3b", "MSC-E3c", "MSC-E3d", "MSC-E3e", "MSC-C1",
    ];
    assert_eq!(ids, fixed);
}

#[test]
fn aaqm_claim_ids_equal_the_fixed_list() {
    let file = claim_file::parse(papers::find("aaqm").unwrap().claims).unwrap();
    let ids: Vec<&str> = file.claims.iter().map(|c| c.id.as_str()).collect();
    let fixed = [
        "AAQM-5", "AAQM-10", "AAQM-11", "AAQM-12", "AAQM-13", "AAQM-14", "AAQM-15", "AAQM-16", "AAQM-S5a", "AAQM-S5b",
        "AAQM-10b", "AAQM-E17", "AAQM-E18",
    ];
    assert_eq!(ids, fixed);
}

/// The report gives the reason of every verdict other than reproduced; the paper's README has the details.
#[test]
fn every_failed_claim_has_a_reason() {
    for paper in PAPERS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers").join(paper.name);
        let expected = fs::read_to_string(folder.join("expected-quick.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
        for claim in claim_file::parse(paper.claims).unwrap().claims {
            let holds = expected[&claim.id] == "reproduced";
            assert!(holds || claim.why.is_some() || claim.not_run.is_some(), "{}: why not?", claim.id);
        }
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.contains("\n## Findings\n"), "{}", paper.name);
    }
}

/// `why` gives the reason why a claim does not hold. It must have text, and it must not occur together with `not_run`.
#[test]
fn key_why_needs_text_and_excludes_not_run() {
    let text = papers::find("raqm").unwrap().claims;
    let theorem = "theorem = \"raqm-1\"";
    assert!(text.contains(theorem));
    for wrong in ["why = \" \"\ntheorem = \"raqm-1\"", "why = \"Because.\"\nnot_run = \"no time\""] {
        let error = claim_file::parse(&text.replace(theorem, wrong)).unwrap_err();
        assert!(error.starts_with("RAQM-TH1: why needs text"), "{error}");
    }
}

/// A check with `less_than` compares with another discipline's result; `times` is a factor on that result.
#[test]
fn claim_key_times_requires_key_less_than() {
    let text = papers::find("msc").unwrap().claims;
    for (right, wrong) in
        [("less_than = \"PI\", times = 1.2", "at_most = 1, times = 1.2"), ("times = 1.2", "times = 0")]
    {
        assert!(text.contains(right));
        let error = claim_file::parse(&text.replace(right, wrong)).unwrap_err();
        assert!(error.starts_with("MSC-1c: ") && error.contains("has times without"), "{error}");
    }
}

/// Every check of a claim is evaluated without runs: the disciplines and the values of varied keys that it names must
/// exist, so that it fails only because there are no runs.
#[test]
fn every_check_names_existing_disciplines_and_keys() {
    for paper in PAPERS {
        let file = claim_file::parse(paper.claims).unwrap();
        for claim in &file.claims {
            let section = file.sections.iter().find(|s| s.id == claim.section).unwrap();
            if let Some(theorem) = &claim.theorem {
                assert!(theorems::try_theorem(theorem).is_some(), "{}: {theorem}", claim.id);
                continue;
            }
            if claim.not_run.is_some() {
                continue;
            }
            for (i, scenario) in section.scenarios().enumerate() {
                let (_, text) = paper.scenarios.iter().find(|(name, _)| name == scenario).unwrap();
                let plan = Plan::new(load::parse(scenario, text, &Overrides::default()).unwrap(), 1, 1);
                // Other scenarios may lack an axis, or have only one contender.
                let own = i == 0;
                let point = if own { section.point.clone() } else { Point::new() };
                let runs = Runs::new(&plan, &[], false).at(&point);
                let variants = section.variants.iter().filter(|_| own);
                for subject in variants.chain([&section.subject]) {
                    let checks =
                        claim.checks.iter().filter(|check| own || runs.has_points_of(check)).cloned().collect();
                    no_runs_no_answer(&runs, &Claim { checks, ..claim.clone() }, subject);
                }
            }
        }
    }
}

/// `sentence` is the sentence of the paper that makes the claim; `by` says whether the paper prints what a check
/// requires or we chose it.
#[test]
fn every_claim_has_sentence_and_every_check_author() {
    for paper in PAPERS {
        let file: toml::Table = paper.claims.parse().unwrap();
        for claim in file["claim"].as_array().unwrap() {
            assert!(claim.get("sentence").is_some(), "{claim}");
            let checks = claim.get("check").and_then(toml::Value::as_array).into_iter().flatten();
            checks.for_each(|check| assert!(check.get("by").is_some(), "{check}"));
        }
    }
}

fn no_runs_no_answer(runs: &Runs, claim: &Claim, subject: &str) {
    for check in &claim.checks {
        let answers = runs.answer(check, subject).unwrap_or_else(|e| panic!("{}: {e}", claim.id));
        assert!(answers.iter().all(|a| a.outcome == Outcome::Fails && a.value.is_none()), "{}", claim.id);
    }
}

/// A misspelt quantity must not give a verdict.
#[test]
fn an_unknown_quantity_is_an_error() {
    let record = dumbbell::run(vec![dumbbell::case(&SLOW.with("[[flows]]\nkind = \"ftp\"")).unwrap()]);
    for wrong in ["queue_pkt.mean", "settling", "mean_pkts@5", "mean_pkts@1..0", "loss_ratio@0..1"] {
        assert!(forebay_lab::quantity::of(&record, wrong).is_err(), "{wrong}");
    }
    for right in [
        "queue_pkts.mean",
        "goodput_ratio",
        "settling_s",
        "mean_pkts@0..1",
        "settling_s@0..1",
        "resettling_s@0..1",
        "swing_pkts",
    ] {
        assert!(forebay_lab::quantity::of(&record, right).is_ok(), "{right}");
    }
}
